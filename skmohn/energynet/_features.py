"""Features of samples: probabilities of hidden units, and what standardizes them."""

from collections.abc import Iterator, Mapping, Sequence, Sized
from copy import deepcopy

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.preprocessing import StandardScaler

from skmohn._core._quantiles import ends_inside_fills
from skmohn._core._rows import equal_slices
from skmohn._core._scaling import plain_scaler
from skmohn.energynet._coding import UnitCoding
from skmohn.energynet._rbm import RBM, RBM_LIMITS


def feature_blocks(
    rbms: Sequence[RBM],
    units: NDArray,
    X: NDArray,
    incomplete: Mapping[int, NDArray] | None = None,
) -> list[NDArray]:
    """Probabilities of the hidden units of each layer, and a table X of numbers."""
    # They are computed in the precision of X: in double precision they do not depend on
    # which samples stand beside one another. `incomplete` has those of the first layer
    # of incomplete samples.
    blocks, states = [], units.astype(X.dtype)
    for rbm in rbms:
        active = states @ rbm.weights.T.astype(X.dtype) + rbm.hidden_bias
        states = expit(active, dtype=X.dtype)
        if incomplete and not blocks:
            states[list(incomplete)] = list(incomplete.values())
        blocks.append(states)
    return [*blocks, X]


def learn_scalers(
    rbms: Sequence[RBM],
    coding: UnitCoding,
    X: NDArray,
    units: NDArray,  # (n_samples, n_units); in the layout that was learned from
    # Scalers of earlier samples, which go on as copies.
    earlier: list[StandardScaler] | None = None,
) -> tuple[list[StandardScaler], list[NDArray]]:
    """Learn what standardizes each block of features; fills count as the nearer end."""
    # Returned are a scaler for each layer and one for the columns of X as numbers, and
    # the mean inputs of each layer.
    if earlier is None:
        scalers = [plain_scaler() for _ in range(len(rbms) + 1)]
    else:
        scalers = deepcopy(earlier)
    sums = [np.zeros(rbm.n_visible) for rbm in rbms]
    layout, ends = coding.layout, ends_inside_fills(X)
    # Half as many as elsewhere, since units are there twice.
    for rows in equal_slices(len(X), RBM_LIMITS.max_rows // 2):
        states = layout.restore(units[rows])
        values = np.clip(X[rows], *ends, dtype=X.dtype)
        blocks = feature_blocks(rbms, states, coding.numbers(values, states))
        for total, inputs in zip(sums, (states, *blocks[:-2]), strict=True):
            total += inputs.sum(axis=0, dtype=np.float64)
        for scaler, block in zip(scalers, blocks, strict=True):
            # Who needs variances refuses those that are beyond the range of numbers.
            with np.errstate(over="ignore", invalid="ignore"):
                scaler.partial_fit(block)
    return scalers, [total / len(X) for total in sums]


def batches(X: Sized) -> Iterator[slice]:
    """Rows that are coded at once: visible units take several times what values do."""
    return equal_slices(len(X), RBM_LIMITS.max_rows)


def check_layer(layer: int | str, n_layers: int) -> None:
    """Refuse a layer that is not there."""
    if not isinstance(layer, str) and not -n_layers <= layer < n_layers:
        raise ValueError(
            f"layer={layer} does not exist: the stack has {n_layers} "
            f"{'layer' if n_layers == 1 else 'layers'}, and the lowest is 0"
        )
