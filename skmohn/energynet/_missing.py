"""Samples with unknown values: means over all that the values could be.

An unknown value could be any state of the visible units of its column: both of a bit,
each level of a thermometer. Given the known units of a sample, the first layer is a
machine of the unknown ones, whose hidden biases hold what the known ones say: means and
sums over all completions are those of this machine.
"""

from math import prod

import numpy as np
from scipy.special import softmax

from skmohn.energynet._levels import list_levels
from skmohn.energynet._partition import numbers_of_states, sizes_of
from skmohn.energynet._rbm import RBM

# Completions of a sample, or states of the hidden units, that are summed over.
MOST_COMPLETIONS = 4096
# Where there are more of both: chains, their steps before and between looks, and looks.
_CHAINS, _BURN_IN, _STEPS, _LOOKS = 100, 100, 10, 20


def unknown_units(coding, X):
    """Which visible units are not known.

    Parameters
    ----------
    coding : UnitCoding

    X : ndarray of shape (n_samples, n_features)
        With NaN for unknown values.

    Returns
    -------
    unknown : dict of int to ndarray of shape (n_units,), bool
        By incomplete sample. Constant columns have no units, and nothing to find out.
    """
    missing = np.isnan(X)
    rows = np.flatnonzero(missing[:, coding.n_units > 0].any(axis=1))
    return {row: np.repeat(missing[row], coding.n_units) for row in rows.tolist()}


def given_known(rbm, units, unknown):
    """The machine of the unknown visible units of a sample.

    Parameters
    ----------
    rbm : RBM
        The first layer.

    units : ndarray of shape (n_units,)
        What is in the place of unknown ones does not count.

    unknown : ndarray of shape (n_units,), bool

    Returns
    -------
    machine : RBM
    """
    known = np.where(unknown, 0.0, units)
    sizes = rbm.thermometers
    if sizes is not None:
        sizes = sizes[unknown[np.cumsum(sizes) - sizes]]
    return RBM(
        rbm.weights[:, unknown],
        rbm.hidden_bias + rbm.weights.astype(np.float64) @ known,
        rbm.visible_bias[unknown],
        sizes,
    )


def means_of(rbm, seed):
    """Means of the units of a machine.

    Parameters
    ----------
    rbm : RBM

    seed : int
        Of chains, where the states of both sides are too many for a sum.

    Returns
    -------
    visible : ndarray of shape (n_visible,), float64
    hidden : ndarray of shape (n_hidden,), float64
    """
    n_visible, n_hidden = numbers_of_states(rbm)
    sizes = sizes_of(rbm)
    if min(n_visible, n_hidden) > MOST_COMPLETIONS:
        visible = _draw(rbm, seed)
        hidden = rbm.hidden_probabilities(visible)
        weights = np.full(len(visible), 1.0 / len(visible))
    elif n_visible <= n_hidden:
        visible = list_levels(sizes[0], 0, n_visible)
        hidden = rbm.hidden_probabilities(visible)
        weights = softmax(-rbm.free_energy(visible))
    else:
        hidden = list_levels(sizes[1], 0, n_hidden)
        visible = rbm.visible_probabilities(hidden)
        weights = softmax(rbm.log_hidden_marginal(hidden))
    return weights @ visible, weights @ hidden


def _draw(rbm, seed):
    """Draw visible units."""
    random = np.random.RandomState(seed)
    drawn = [rbm.sample(_CHAINS, _BURN_IN, random_state=random)]
    for _ in range(_LOOKS):
        drawn.append(rbm.sample(n_steps=_STEPS, V=drawn[-1], random_state=random))
    return np.concatenate(drawn[1:])


def filled(rbm, coding, X, units, seed):
    """Put means over completions in the place of what is not known.

    Parameters
    ----------
    rbm : RBM
        The first layer.

    coding : UnitCoding

    X : ndarray of shape (n_samples, n_features)

    units : ndarray of shape (n_samples, n_units), float32

    seed : int
        As of :func:`means_of`; the same for each sample.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Without NaN; the same table if there was none.

    hidden : dict of int to ndarray of shape (n_hidden,)
        For each incomplete sample the mean hidden probabilities.
    """
    rows = np.isnan(X).any(axis=1)
    if not rows.any():
        return X, {}
    visible, hidden = units.astype(np.float64), {}
    for row, unknown in unknown_units(coding, X).items():
        machine = given_known(rbm, units[row], unknown)
        visible[row, unknown], hidden[row] = means_of(machine, seed)
    X = X.copy()
    X[rows] = np.where(np.isnan(X[rows]), coding.decode(visible[rows]), X[rows])
    return X, hidden


def completions(coding, units, unknown, row):
    """List what the visible units of an incomplete sample could be.

    Parameters
    ----------
    coding : UnitCoding

    units : ndarray of shape (n_units,), float32
        What is in the place of unknown ones does not count.

    unknown : ndarray of shape (n_units,), bool

    row : int
        Number of the sample, for errors.

    Returns
    -------
    states : ndarray of shape (n_completions, n_units), float32
        Its visible units, as often as there are completions.

    Raises
    ------
    ValueError
        If there are more than 4096 of them.
    """
    sizes = coding.thermometers
    sizes = sizes[unknown[np.cumsum(sizes) - sizes]]
    n_completions = prod((sizes + 1).tolist())
    if n_completions > MOST_COMPLETIONS:
        raise ValueError(
            f"sample {row} of X has NaN in {len(sizes)} columns that vary, which could "
            f"be completed in {n_completions} ways, but the likelihood of several "
            f"layers sums over at most {MOST_COMPLETIONS}: impute first or lower n_bins"
        )
    states = np.repeat(units[None], n_completions, axis=0)
    states[:, unknown] = list_levels(sizes, 0, n_completions)
    return states
