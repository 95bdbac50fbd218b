"""Trained network in other forms: attributes, bytes, scikit-learn's MLP."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from skmohn._core._categories import Categories, column_names
from skmohn._core._quantiles import pull_in
from skmohn._core._scaling import (
    fitted_input_scaler,
    fitted_scaler,
    plain_scaler,
)
from skmohn._core._sklearn import check_parameters, complete_mlp
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn.blm import _codec
from skmohn.blm._codec import encode, grid_step
from skmohn.blm._inputs import InputCoding
from skmohn.blm._network import Layout, activate
from skmohn.blm._policy import make_policy
from skmohn.blm._samples import read_numbers
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
    inputs: InputCoding,
) -> Any:
    """Set all fitted attributes that predictions need."""
    model.w_max_ = np.array(model.w_max)
    step = layout.spread(_codec.grid_step(model.n_bits, model.w_max_))
    attributes = network_attributes([codes], layout, model.n_bits, step)
    for name, value in attributes.items():
        setattr(model, name, value)
    model.input_scaler_, model.target_scaler_ = scalers
    model._inputs, model.n_features_in_ = inputs, len(inputs.n_levels)
    model.n_movable_bits_ = model.n_bits
    model._made_with, model._n_continued = model._network_parameters(), 0
    model._loss, model.out_activation_ = model.loss, model._out_activation()
    return model


def restore_network(cls: Any, packed: bytes) -> Any:
    """Fitted classifier or regressor from its bytes."""
    header, layout, codes = read_network(cls, packed)
    model = cls(hidden_layer_sizes=layout.sizes[1:-1], **header["params"])
    model._per_step = header["per_step"]
    model._set_targets(model._target_type.from_plain(header))
    if header["columns"]:
        model.feature_names_in_ = np.array(header["columns"], dtype=object)
    model._categories, inputs = header["categories"], header["coding"]
    if inputs.is_plain:
        stored = header["scalers"][0]
        unknown = np.full(layout.sizes[0], np.nan)
        inputs = InputCoding.plain(unknown if stored is None else np.array(stored[0]))
    return make_fitted(model, layout, codes, map(_scaler, header["scalers"]), inputs)


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
    max_code = _codec.code_range(n_bits)[1]
    ranges, own = (steps * max_code for steps in layout.gather(made_with["w_max"]))
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
    coding, names = model._inputs, column_names(model)
    if not coding.is_plain:
        j = int(np.argmax((coding.n_levels > 0) | coding.has_missing))
        raise ValueError(
            f"column {names[j]} holds categories, or had missing values in fit, but an "
            "MLP takes known numbers: encode and impute in front of the network, in a "
            "Pipeline, for instance by OneHotEncoder and SimpleImputer"
        )
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


# Ranges of the weights of a layer that are tried, as fractions of its largest weight.
_RANGE_FRACTIONS = np.geomspace(0.05, 1.0, 10)


@dataclass(frozen=True)
class RoundingConstants:
    """Choice of the range of rounded weights."""

    # Rows that decide.
    max_rows: int = tuned(1000, "cost")


_ROUNDING = RoundingConstants()


def round_mlp(
    cls: Any,  # BLMClassifier or BLMRegressor
    mlp: Any,
    X: TableLike,  # (n_samples, n_features)
    n_bits: int,
    parameters: dict[str, Any],  # others of the estimator
) -> Any:
    """Fitted classifier or regressor whose weights are those of an MLP, rounded."""
    model = cls(**parameters, n_bits=n_bits, warm_start=True)
    kind = MLPClassifier if is_classifier(model) else MLPRegressor
    if not isinstance(mlp, kind):
        raise TypeError(f"mlp must be a {kind.__name__}, got {mlp!r}")
    check_is_fitted(mlp)
    if mlp.out_activation_ not in ("identity", "logistic", "softmax"):
        raise ValueError(
            f"mlp has the output activation {mlp.out_activation_!r}, but the outputs "
            f'of {cls.__name__} are sums: fit it with loss="squared_error"'
        )
    sizes = [len(mlp.coefs_[0]), *(coef.shape[1] for coef in mlp.coefs_)]
    model.set_params(hidden_layer_sizes=tuple(sizes[1:-1]), activation=mlp.activation)
    check_parameters(model)
    if model.recurrent:
        raise ValueError("recurrent must be False: an MLP has no memory")
    if not isinstance(model.categorical_features, str | None):
        raise ValueError(
            "categorical_features must be None: an MLP takes numbers alone"
        )
    # The MLP checks the columns, and their names.
    answers = mlp.predict(X)
    X = read_numbers(model, X, reset=True, dtype=np.float64)
    model._categories = Categories({}, model.handle_unknown)
    scalers = None, None
    if model.standardize:
        outputs = np.reshape(answers, (len(X), -1))
        scalers = (
            fitted_input_scaler(pull_in(X)),
            fitted_scaler(pull_in(outputs), "y") if model._scales_targets else None,
        )
    of_numbers: Any = scalers[0]
    if of_numbers is None:
        unknown = InputCoding.plain(np.full(X.shape[1], np.nan))
        inputs = unknown.with_means_of(X, np.ones(len(X)))
    else:
        inputs = InputCoding.plain(of_numbers.mean_)
    coefs, intercepts = _unscaled(mlp, *scalers)
    if scalers[0] is not None:
        X = scalers[0].transform(X)
    X = X[:: -(-len(X) // _ROUNDING.max_rows)]
    (coefs, intercepts), w_max = _rounded(X, coefs, intercepts, mlp.activation, n_bits)
    model.set_params(w_max=w_max.tolist())
    model._per_step, layout = None, Layout(tuple(sizes))
    codes = layout.join(coefs, intercepts, []).astype(np.int32)
    model._read_mlp(mlp)
    return make_fitted(model, layout, codes, scalers, inputs)


def _unscaled(
    mlp: MLPClassifier | MLPRegressor, input_scaler: Any, target_scaler: Any
) -> tuple[list[NDArray], list[NDArray]]:
    """Weights for standardized inputs and outputs: what `fill_mlp` undoes."""
    coefs = [coef.copy() for coef in mlp.coefs_]
    intercepts = [intercept.copy() for intercept in mlp.intercepts_]
    if input_scaler is not None:
        intercepts[0] += input_scaler.mean_ @ coefs[0]
        coefs[0] *= input_scaler.scale_[:, None]
    if target_scaler is not None:
        intercepts[-1] -= target_scaler.mean_
        intercepts[-1] /= target_scaler.scale_
        coefs[-1] /= target_scaler.scale_
    return coefs, intercepts


def _rounded(
    X: NDArray[np.float64],
    coefs: list[NDArray],
    intercepts: list[NDArray],
    activation: str,
    n_bits: int,
) -> tuple[list[Any], NDArray[np.float64]]:
    """Codes of all layers, and the range of each."""
    # The range of a layer is that whose sums, on the outputs of the rounded layers
    # before, are nearest to those of the network itself.
    inputs, wanted, found, ranges = X, X, [], []
    for coef, intercept in zip(coefs, intercepts, strict=True):
        wanted = wanted @ coef + intercept
        largest = max(np.abs(coef).max(), np.abs(intercept).max()) or 1.0
        tried = []
        for w_max in largest * _RANGE_FRACTIONS:
            codes = encode(coef, n_bits, w_max), encode(intercept, n_bits, w_max)
            sums = (inputs @ codes[0] + codes[1]) * grid_step(n_bits, w_max)
            tried.append((np.mean((sums - wanted) ** 2), w_max, codes, sums))
        _, w_max, codes, sums = min(tried, key=lambda one: one[0])
        found.append(codes)
        ranges.append(w_max)
        inputs, wanted = activate(sums, activation), activate(wanted, activation)
    return list(zip(*found, strict=True)), np.array(ranges)
