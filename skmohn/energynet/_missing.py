"""Samples with unknown values: means over all that the values could be.

An unknown value could be any state of the visible units of its column: both of a bit,
each level of a thermometer. The first layer says how probable each completion of a
sample is, p(completion | the known values), in proportion to exp(-F).
"""

from math import prod

import numpy as np
from scipy.special import expit, softmax

# Completions of a sample that are summed over.
MOST_COMPLETIONS = 4096


def completions(coding, X, units):
    """List what the visible units of incomplete samples could be.

    Parameters
    ----------
    coding : UnitCoding

    X : ndarray of shape (n_samples, n_features)
        With NaN for unknown values.

    units : ndarray of shape (n_samples, n_units), float32
        Their visible units; those of unknown values do not count.

    Yields
    ------
    row : int
        An incomplete sample.

    states : ndarray of shape (n_completions, n_units), float32
        Its visible units, as often as there are completions.

    Raises
    ------
    ValueError
        If there are more than 4096 of them.
    """
    unknown, ends = np.isnan(X), np.cumsum(coding.n_units)
    for row in np.flatnonzero(unknown.any(axis=1)):
        # Constant columns have no thresholds, and nothing to find out.
        columns = np.flatnonzero(unknown[row] & (coding.n_units > 0))
        counts = [int(coding.n_units[j]) + 1 for j in columns]
        n_completions = prod(counts)
        if n_completions > MOST_COMPLETIONS:
            raise ValueError(
                f"sample {row} of X has NaN in {len(columns)} columns that vary: there "
                f"are {n_completions} states that these could be in, and at most "
                f"{MOST_COMPLETIONS} are summed over; impute first, for instance with "
                "sklearn.impute.KNNImputer, or lower n_bins"
            )
        states = np.repeat(units[[row]], n_completions, axis=0)
        # One index for each column, as in a number of digits of different bases.
        rest = np.arange(n_completions)
        for j, count in zip(columns, counts, strict=True):
            rest, state = np.divmod(rest, count)
            states[:, ends[j] - coding.n_units[j] : ends[j]] = coding.states(j)[state]
        yield row, states


def means_over(rbm, states):
    """Means of visible and hidden units over completions of a sample.

    Parameters
    ----------
    rbm : RBM
        The first layer.

    states : ndarray of shape (n_completions, n_units), float32

    Returns
    -------
    visible : ndarray of shape (n_units,), float64
    hidden : ndarray of shape (n_hidden,), float64
    """
    states = states.astype(np.float64)
    active = states @ rbm.weights.T.astype(np.float64) + rbm.hidden_bias
    minus_energy = states @ rbm.visible_bias + np.logaddexp(0.0, active).sum(axis=1)
    probability = softmax(minus_energy)
    return probability @ states, probability @ expit(active)


def filled(rbm, coding, X, units):
    """Put means over completions in the place of what is not known.

    Parameters
    ----------
    rbm : RBM
        The first layer.

    coding : UnitCoding

    X : ndarray of shape (n_samples, n_features)

    units : ndarray of shape (n_samples, n_units), float32

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Without NaN; the same table if there was none.

    hidden : dict of int to ndarray of shape (n_hidden,)
        For each incomplete sample the mean hidden probabilities.
    """
    unknown = np.isnan(X)
    if not unknown.any():
        return X, {}
    visible, hidden = units.astype(np.float64), {}
    for row, states in completions(coding, X, units):
        visible[row], hidden[row] = means_over(rbm, states)
    expected = coding.decode(visible).astype(X.dtype)
    return np.where(unknown, expected, X), hidden
