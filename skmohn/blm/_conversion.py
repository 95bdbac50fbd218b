"""Trained network in other forms: attributes, bytes, scikit-learn's MLP."""

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from skmohn._core._scaling import plain_scaler
from skmohn._core._sklearn import complete_mlp
from skmohn.blm import _codec
from skmohn.blm._network import Layout
from skmohn.blm._policy import make_policy
from skmohn.blm._serialization import read_controller, read_network

_MLP = TypeVar("_MLP", MLPClassifier, MLPRegressor)


def network_attributes(
    # (n_weights,), int; codes of the networks of an ensemble, the best first.
    members: list[NDArray[np.integer]],
    layout: Layout,
    n_bits: int,
    step: NDArray[np.float64],  # (n_weights,); weight of one unit of each code
) -> dict[str, Any]:
    """Fitted attributes that follow from the codes alone."""
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
        "nbytes_": -(-layout.n_weights * n_bits // 8),
        "n_layers_": len(layout.sizes),
        "n_outputs_": layout.sizes[-1],
    }


def make_fitted(
    model: Any,  # has its labels and the form of its samples; `w_max` are numbers
    layout: Layout,
    codes: NDArray[np.integer],  # (n_weights,)
    scalers: Iterable[StandardScaler | None],
) -> Any:
    """Set all fitted attributes that predictions need."""
    model.w_max_ = np.array(model.w_max)
    step = layout.spread(_codec.grid_step(model.n_bits, model.w_max_))
    attributes = network_attributes([codes], layout, model.n_bits, step)
    for name, value in attributes.items():
        setattr(model, name, value)
    model.input_scaler_, model.target_scaler_ = scalers
    model.n_features_in_, model.n_movable_bits_ = layout.sizes[0], model.n_bits
    model._made_with, model._n_continued = model._network_parameters(), 0
    model._loss, model.out_activation_ = model.loss, model._out_activation()
    return model


def restore_network(cls: Any, packed: bytes) -> Any:
    """Fitted classifier or regressor from its bytes."""
    header, layout, codes = read_network(cls, packed)
    model = cls(hidden_layer_sizes=layout.sizes[1:-1], **header["params"])
    model._per_step = header["per_step"]
    model._read_header(header)
    if header["columns"]:
        model.feature_names_in_ = np.array(header["columns"], dtype=object)
    return make_fitted(model, layout, codes, map(_scaler, header["scalers"]))


def _scaler(stored: NDArray[np.float64] | None) -> StandardScaler | None:
    if stored is None:
        return None
    scaler: Any = plain_scaler()
    scaler.mean_, scaler.scale_ = map(np.array, stored)
    scaler.var_, scaler.n_features_in_ = scaler.scale_**2, len(scaler.mean_)
    return scaler


def controller_attributes(
    codes: NDArray[np.integer], made_with: dict[str, Any]
) -> dict[str, Any]:
    """Fitted attributes of a controller that follow from the codes alone."""
    layout = Layout(made_with["layers"], made_with["recurrent"])
    weights = codes * made_with["w_max"]
    coefs, intercepts, own = layout.split(weights)
    kinds = {key: made_with[key] for key in ("activation", "out_activation")}
    return {
        "policy_": make_policy(
            layout.sizes, weights, recurrent=layout.recurrent, **kinds
        ),
        "codes_": codes,
        "coefs_": coefs,
        "intercepts_": intercepts,
        "recurrent_coefs_": own,
        "nbytes_": -(-layout.n_weights * made_with["n_bits"] // 8),
        "n_features_in_": layout.sizes[0],
        "_made_with": made_with,
    }


def restore_controller(cls: Any, packed: bytes) -> Any:
    """Fitted controller from its bytes."""
    codes, made_with = read_controller(cls, packed)
    layers, n_bits = made_with["layers"], made_with["n_bits"]
    layout = Layout(layers, made_with["recurrent"])
    # The largest code stands for the range.
    most = _codec.code_range(n_bits)[1]
    ranges, own = (steps * most for steps in layout.gather(made_with["w_max"]))
    is_tenth = np.allclose(own, ranges / 10.0, atol=0.0)
    model = cls(
        layers[1:-1],
        layout.recurrent,
        n_inputs=layers[0],
        n_outputs=layers[-1],
        w_max=ranges.tolist(),
        w_max_recurrent="auto" if is_tenth else float(own[0]),
        **{key: made_with[key] for key in ("activation", "out_activation", "n_bits")},
    )
    for name, value in controller_attributes(codes, made_with).items():
        setattr(model, name, value)
    return model


def fill_mlp(model: Any, mlp: _MLP, examples: NDArray | None = None) -> _MLP:
    """Set equal weights in scikit-learn's network, with the scales folded in."""
    # Classifiers need `examples`: labels as a user writes them, of every class.
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
    complete_mlp(mlp, examples)
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
