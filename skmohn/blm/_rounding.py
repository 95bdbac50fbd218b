"""Rounding of scikit-learn's MLP to a network of a few bits a weight."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils.validation import check_is_fitted

from skmohn._core._scaling import fitted_scaler
from skmohn._core._sklearn import check_parameters
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn.blm._codec import encode, grid_step
from skmohn.blm._conversion import make_fitted
from skmohn.blm._network import Layout, activate
from skmohn.blm._samples import read_table

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
            f"the outputs of mlp are of an activation {mlp.out_activation_!r}, but "
            f'those of {cls.__name__} are sums: fit it with loss="squared_error"'
        )
    sizes = [len(mlp.coefs_[0]), *(coef.shape[1] for coef in mlp.coefs_)]
    model.set_params(hidden_layer_sizes=tuple(sizes[1:-1]), activation=mlp.activation)
    check_parameters(model)
    if model.recurrent:
        raise ValueError("recurrent must be False: an MLP has no memory")
    # The MLP checks the columns, and their names.
    answers = mlp.predict(X)
    X = read_table(model, X, reset=True)
    scalers = None, None
    if model.standardize:
        outputs = np.reshape(answers, (len(X), -1))
        scalers = (
            fitted_scaler(X, "X"),
            fitted_scaler(outputs, "y") if model._scales_targets else None,
        )
    coefs, intercepts = _unscaled(mlp, *scalers)
    if scalers[0] is not None:
        X = scalers[0].transform(X)
    X = X[:: -(-len(X) // _ROUNDING.max_rows)]
    (coefs, intercepts), w_max = _rounded(X, coefs, intercepts, mlp.activation, n_bits)
    model.set_params(w_max=w_max.tolist())
    model._per_step, layout = None, Layout(tuple(sizes))
    codes = layout.join(coefs, intercepts, []).astype(np.int32)
    model._read_mlp(mlp)
    return make_fitted(model, layout, codes, scalers)


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
