"""A trained network in other forms: attributes, bytes, scikit-learn's MLP."""

import json

import numpy as np

from skmohn._core._scaling import plain_scaler
from skmohn.blm import _codec
from skmohn.blm._network import Layout

_MAGIC = b"BLM1"


def network_attributes(members, layout, n_bits, step):
    """Fitted attributes that follow from the codes alone.

    Parameters
    ----------
    members : list of ndarrays of shape (n_weights,), int
        Codes of the networks that predict together, the best first.
    layout : Layout
    n_bits : int
    step : ndarray of shape (n_weights,)
        What one unit of each code stands for.

    Returns
    -------
    attributes : dict
    """
    networks = [layout.split(codes * step) for codes in members]
    own = {"recurrent_coefs_": networks[0][2]}
    if not layout.recurrent:
        own, networks = {}, [parts[:2] for parts in networks]
    return {
        **own,
        "codes_": members[0],
        "coefs_": networks[0][0],
        "intercepts_": networks[0][1],
        "members_": networks,
        "weight_bits_": _codec.gray_bits(members[0], n_bits),
        "nbytes_": -(-layout.n_weights * n_bits // 8),
        "n_layers_": len(layout.sizes),
        "n_outputs_": layout.sizes[-1],
    }


def write_network(model):
    """Bytes of a fitted network: magic, length of the header, header, Gray codes."""
    made_with = dict(model._made_with)
    hidden = made_with.pop("hidden_layer_sizes")
    header = {
        "class": type(model).__name__,
        "sizes": [model.n_features_in_, *hidden, model.n_outputs_],
        "params": {**made_with, "w_max": model.w_max_.tolist(), "loss": model._loss},
        "per_step": model._per_step,
        "columns": getattr(model, "feature_names_in_", np.array([])).tolist(),
        "scalers": [
            None if scaler is None else [scaler.mean_.tolist(), scaler.scale_.tolist()]
            for scaler in (model.input_scaler_, model.target_scaler_)
        ],
        **model._header(),
    }
    text = json.dumps(header).encode()
    size = len(text).to_bytes(4, "little")
    return _MAGIC + size + text + _codec.pack(model.codes_, made_with["n_bits"])


def read_network(cls, packed):
    """Fitted network from what :func:`write_network` has written."""
    if not isinstance(packed, bytes):
        raise TypeError(f"packed must be bytes from to_packed, got {type(packed)}")
    end = 8 + int.from_bytes(packed[4:8], "little")
    if packed[:4] != _MAGIC or len(packed) < end:
        raise ValueError("packed is not from to_packed, or it is incomplete")
    header = json.loads(packed[8:end])
    if header["class"] != cls.__name__:
        raise ValueError(f"packed holds a {header['class']}, not a {cls.__name__}")
    sizes = tuple(header["sizes"])
    layout = Layout(sizes, header["params"]["recurrent"])
    model = cls(hidden_layer_sizes=layout.sizes[1:-1], **header["params"])
    if 8 * (len(packed) - end) < layout.n_weights * model.n_bits:
        raise ValueError("packed ends before the last weight")
    codes = _codec.unpack(packed[end:], layout.n_weights, model.n_bits)
    model.w_max_ = np.array(model.w_max)
    step = layout.spread(_codec.grid_step(model.n_bits, model.w_max_))
    attributes = network_attributes([codes], layout, model.n_bits, step)
    for name, value in attributes.items():
        setattr(model, name, value)
    model.input_scaler_, model.target_scaler_ = map(_scaler, header["scalers"])
    model.n_features_in_, model.n_movable_bits_ = layout.sizes[0], model.n_bits
    if header["columns"]:
        model.feature_names_in_ = np.array(header["columns"], dtype=object)
    model._made_with, model._n_continued = model._network_parameters(), 0
    model._per_step, model._loss = header["per_step"], model.loss
    model._read_header(header)
    model.out_activation_ = model._out_activation()
    return model


def _scaler(stored):
    if stored is None:
        return None
    scaler = plain_scaler()
    scaler.mean_, scaler.scale_ = map(np.array, stored)
    scaler.var_, scaler.n_features_in_ = scaler.scale_**2, len(scaler.mean_)
    return scaler


def fill_mlp(model, mlp):
    """Give scikit-learn's network equal weights, with the scales folded in."""
    if model._made_with["recurrent"]:
        raise ValueError("scikit-learn has no recurrent networks")
    if model._made_with["activation"] == "step":
        raise ValueError('scikit-learn\'s networks have no activation="step"')
    if len(model.members_) > 1:
        raise ValueError(
            f"the model averages {len(model.members_)} networks, but an MLP is "
            "only one: fit with ensemble=1"
        )
    coefs = [coef.copy() for coef in model.coefs_]
    intercepts = [intercept.copy() for intercept in model.intercepts_]
    if model.input_scaler_ is not None:
        coefs[0] /= model.input_scaler_.scale_[:, None]
        intercepts[0] -= model.input_scaler_.mean_ @ coefs[0]
    if model.target_scaler_ is not None:
        coefs[-1] *= model.target_scaler_.scale_
        intercepts[-1] *= model.target_scaler_.scale_
        intercepts[-1] += model.target_scaler_.mean_
    mlp.set_params(
        hidden_layer_sizes=model._made_with["hidden_layer_sizes"],
        activation=model._made_with["activation"],
    )
    mlp.coefs_, mlp.intercepts_ = coefs, intercepts
    # What it goes on from in partial_fit: no sample has been seen.
    mlp.t_, mlp.loss_curve_, mlp.best_loss_ = 0, [], np.inf
    mlp.validation_scores_ = mlp.best_validation_score_ = None
    mlp._no_improvement_count = 0
    for name in (
        "n_features_in_",
        "feature_names_in_",
        "n_outputs_",
        "n_layers_",
        "out_activation_",
        "loss_",
        "n_iter_",
    ):
        if hasattr(model, name):
            setattr(mlp, name, getattr(model, name))
    return mlp
