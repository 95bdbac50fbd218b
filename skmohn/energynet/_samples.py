"""Weights of samples as repeated rows, in an order that does not depend on theirs.

Training draws rows, chains and bits one after another, so that the same samples in
another order would train another RBM. Rows are therefore put in an order that
follows from what they say: a fit depends on which rows there are and how often, and not
on their order, nor on whether a row is repeated or has an integer as its weight.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._rows import order_of
from skmohn._core._sklearn import check_sample_weight
from skmohn._core._validation import as_counts, require_memory
from skmohn.energynet._coding import UnitCoding
from skmohn.energynet._missing import MissingMask


def read_weights(
    sample_weight: ArrayLike | None, X: NDArray
) -> NDArray[np.float64] | None:
    """Check weights; return them as numbers of samples.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None

    X : ndarray of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples,), float64, or None
        As :func:`~skmohn._core._validation.as_counts` has them; None for None.

    Raises
    ------
    ValueError
        If weights are negative, no numbers, or all zero.
    """
    if sample_weight is None:
        return None
    weights = check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return as_counts(weights)


def rows_of(weights: NDArray[np.float64]) -> NDArray[np.intp]:
    """Number of each row, as often as its weight says.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,), float64
        As :func:`read_weights` returns them.

    Returns
    -------
    ndarray of int
        Whole weights are kept. Others are rounded up or down so that any rows that
        follow one another are as many as their weights together, to one.
    """
    ends = np.floor(np.cumsum(weights) + 0.5)
    counts = np.diff(ends, prepend=0.0)
    require_memory(
        8.0 * ends[-1],
        f"sample_weight as {ends[-1]:.3g} repeated rows",
        "divide the weights by what they have in common",
    )
    return np.repeat(np.arange(len(weights)), counts.astype(np.int64))


def known_samples(X: NDArray, n_needed: int) -> NDArray:
    """The samples of which anything is known; the others say nothing."""
    known = ~np.isnan(X).all(axis=1)
    if known.sum() < min(n_needed, len(X)):
        raise ValueError(
            f"Input X contains NaN alone in all but {known.sum()} of {len(X)} samples, "
            f"but training needs at least {n_needed} of which something is known"
        )
    return X if known.all() else X[known]


def put_in_order(
    X: NDArray,
    coding: UnitCoding,
    names: Sequence[str] | None,
    seed: int,
    are_new: bool = False,
) -> tuple[NDArray, NDArray, MissingMask | None]:
    """Put samples in an order of their own; code them and fill missing values.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)

    coding : UnitCoding

    names : sequence of str or None
        Of the columns, for errors.

    seed : int
        Of what is put at missing values at first.

    are_new : bool, default=False
        Whether the coding was learned from other samples.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        With draws in the place of unknown whitened numbers, which spread as those of
        other samples do.

    units : ndarray of shape (n_samples, n_units), float32
        In the layout to learn from, with values of other samples at missing values.

    missing : MissingMask or None
        In this layout.
    """
    X, layout = coding.prepared(X, seed, are_new), coding.layout

    def encode() -> tuple[NDArray, MissingMask | None]:
        missing = layout.arrange_missing(MissingMask.of(X, coding.n_units))
        return layout.arrange(coding.encode(X, names)), missing

    units, missing = encode()
    if missing is not None:
        # What could be there is in no order.
        units[missing.rows] = np.where(
            missing.unknown, np.float32(2.0), units[missing.rows]
        )
    X = X[order_of(units)]
    # Coded again, since the units in two orders would take the most memory of all.
    del units
    units, missing = encode()
    if missing is not None:
        missing.fill_from_donors(units, layout.groups, np.random.default_rng(seed))
    return X, units, missing
