"""Restricted Boltzmann machine, and its distributions of visible and hidden units."""

from dataclasses import dataclass
from functools import cache
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state, check_scalar

from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import check_array
from skmohn._core._validation import to_numpy
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._groups import (
    Groups,
    list_states,
    log_state_sums,
    unit_probabilities,
)


def _is_checked(array: Any, ndim: int) -> bool:
    """Whether it is what a check returns, such as the weights of a fitted stack."""
    is_own = type(array) is np.ndarray and array.dtype == np.float32
    is_own = is_own and array.ndim == ndim and array.flags.c_contiguous
    return is_own and bool(np.isfinite(array).all())


@dataclass(frozen=True)
class RBMConstants:
    """Limits of sums over states, and of rows at once."""

    # Rows whose activations are in memory at once.
    max_rows: int = tuned(4096, "cost")
    # Most hidden units whose states are listed at every few steps.
    max_enumerated_units: int = tuned(12, "cost")


RBM_LIMITS = RBMConstants()


@dataclass(frozen=True, eq=False)
class RBM:
    """Restricted Boltzmann machine of binary units with given weights.

    The probability of visible units v and hidden units h, all 0 or 1, is proportional
    to exp(c.v + b.h + h.Wv).

    Parameters
    ----------
    weights : array-like of shape (n_hidden, n_visible)
        Weights W, called ``components_`` in
        :class:`sklearn.neural_network.BernoulliRBM`.
    hidden_bias : array-like of shape (n_hidden,)
        Biases b.
    visible_bias : array-like of shape (n_visible,)
        Biases c.
    groups : Groups or array-like of int of shape (n_columns,), default=None
        The visible units of each column, and their possible joint states; numbers of
        units mean ordered columns. None for one unit per column.

    Raises
    ------
    ValueError
        If shapes do not match or a number is not finite.

    Notes
    -----
    Weights and biases are stored in single precision.

    Examples
    --------
    >>> from skmohn.energynet import RBM
    >>> rbm = RBM([[2.0, -1.0]], [0.5], [0.0, 1.0])
    >>> rbm.free_energy([[1, 0]])
    array([-2.5789])
    """

    weights: np.ndarray
    hidden_bias: np.ndarray
    visible_bias: np.ndarray
    groups: Groups | None = None

    def __post_init__(self) -> None:
        for name, ndim in (("weights", 2), ("hidden_bias", 1), ("visible_bias", 1)):
            array = getattr(self, name)
            if _is_checked(array, ndim):
                continue
            array = check_array(
                to_numpy(array),
                dtype=np.float32,
                order="C",
                ensure_2d=False,
                allow_nd=True,
                ensure_min_samples=0,
                input_name=name,
            )
            if array.ndim != ndim:
                raise ValueError(
                    f"{name} must have {ndim} dimension(s), not {array.ndim}"
                )
            object.__setattr__(self, name, array)
        expected = (len(self.hidden_bias), len(self.visible_bias))
        if self.weights.shape != expected:
            raise ValueError(
                f"weights has shape {self.weights.shape}, but the biases need "
                f"{expected}"
            )
        if self.groups is not None:
            groups = self.groups
            if not isinstance(groups, Groups):
                groups = Groups(groups)
            if groups.n_units != expected[1]:
                raise ValueError(
                    f"groups must have {expected[1]} visible units in all, got "
                    f"{groups.n_units}"
                )
            object.__setattr__(self, "groups", None if groups.are_bits else groups)

    @property
    def n_hidden(self) -> int:
        """Number of hidden units."""
        return self.weights.shape[0]

    @property
    def n_visible(self) -> int:
        """Number of visible units."""
        return self.weights.shape[1]

    def free_energy(self, V: ArrayLike) -> NDArray[np.float64]:
        """Compute minus the logarithm of the sum over h of exp(c.v + b.h + h.Wv).

        Parameters
        ----------
        V : array-like of shape (n_samples, n_visible)
            Visible units in [0, 1]; only bits have a likelihood.

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats. The log-likelihood is its negative minus the log partition
            function.
        """
        V = check_states(V, self.n_visible, "V")
        return free_energies(self, V)

    def log_hidden_marginal(self, H: ArrayLike) -> NDArray[np.float64]:
        """Compute the logarithm of the sum over v of exp(c.v + b.h + h.Wv).

        Parameters
        ----------
        H : array-like of shape (n_samples, n_hidden)
            States of the hidden units, 0 or 1.

        Returns
        -------
        ndarray of shape (n_samples,)
            The log-probability of the states, plus the log partition function.
        """
        return log_hidden_marginals(self, check_states(H, self.n_hidden, "H"))

    def hidden_probabilities(self, V: ArrayLike) -> NDArray:
        """Compute the probability that each hidden unit is 1, given the visible units.

        Parameters
        ----------
        V : array-like of shape (n_samples, n_visible)
            Visible units in [0, 1].

        Returns
        -------
        ndarray of shape (n_samples, n_hidden), float32
            Hidden units are independent given V.
        """
        return hidden_means(self, check_states(V, self.n_visible, "V"))

    def visible_probabilities(self, H: ArrayLike) -> NDArray:
        """Compute the probability that each visible unit is 1, given the hidden units.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_hidden)
            Hidden units in [0, 1].

        Returns
        -------
        ndarray of shape (n_samples, n_visible), float32
            Columns are independent given H.
        """
        H = check_states(H, self.n_hidden, "H")
        if self.groups is None:
            return _probabilities(H, self.weights, self.visible_bias)
        active = H @ self.weights + self.visible_bias
        return unit_probabilities(active, self.groups)

    def sample(
        self,
        n_samples: int = 1,
        n_steps: int = 1000,
        V: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> NDArray:
        """Draw visible units by Gibbs sampling, one chain per sample.

        Parameters
        ----------
        n_samples : int, default=1
            Number of chains; ignored if V is given.
        n_steps : int, default=1000
            Steps per chain; each draws the hidden, then the visible units.
        V : array-like of shape (n_samples, n_visible), default=None
            Bits to start from; None for random bits.
        random_state : int, RandomState instance or None, default=None
            Pass an int for reproducible draws.

        Returns
        -------
        ndarray of shape (n_samples, n_visible), float32
            Visible units after the last step, 0 or 1.
        """
        random_state = check_random_state(random_state)
        check_scalar(n_steps, "n_steps", Integral, min_val=0)
        if V is None:
            check_scalar(n_samples, "n_samples", Integral, min_val=1)
            bits = random_state.randint(2, size=(int(n_samples), self.n_visible))
            V = _possible(bits, self.groups)
        V = check_states(V, self.n_visible, "V").copy()
        gibbs(self, V, n_steps, draw_stream(random_state))
        return V

    def transposed(self) -> "RBM":
        """Swap visible and hidden units.

        Returns
        -------
        RBM
            As a layer above this one, it leaves the model of the data unchanged.

        Raises
        ------
        ValueError
            If the RBM has groups of units, as hidden units are bits.
        """
        if self.groups is not None:
            raise ValueError(
                "an RBM with groups of units has no transpose: hidden units are bits"
            )
        return RBM(self.weights.T, self.visible_bias, self.hidden_bias)


def check_states(states: ArrayLike, n_columns: int | None, name: str) -> NDArray:
    """Check a table of numbers in [0, 1]; return it as contiguous float32."""
    checked: Any = check_array(
        to_numpy(states),
        dtype=np.float32,
        order="C",
        input_name=name,
        ensure_min_features=0,
    )
    if n_columns is not None and checked.shape[1] != n_columns:
        raise ValueError(
            f"{name} has {checked.shape[1]} columns instead of {n_columns}"
        )
    if checked.size and not (checked.min() >= 0 and checked.max() <= 1):
        raise ValueError(f"{name} must lie between 0 and 1")
    return checked


def random_stream(seed: int) -> NDArray:
    """Start a stream of random numbers for the kernels, from an integer."""
    return np.random.SeedSequence(seed).generate_state(1, np.uint64)


def draw_stream(random_state: int | np.random.RandomState | None) -> NDArray:
    """Start a stream of random numbers for the kernels, from a `random_state`."""
    return random_stream(check_random_state(random_state).randint(2**31 - 1))


def gibbs(
    rbm: RBM,
    V: NDArray,  # (n_chains, n_visible), float32
    n_steps: int,
    stream: NDArray[np.uint64],  # (1,); source of random numbers, moved on
) -> None:
    """Take steps of Gibbs sampling, in place."""
    H, hidden_logits = np.empty((2, len(V), rbm.n_hidden), np.float32)
    visible_logits = np.empty_like(V)
    for _ in range(n_steps):
        np.dot(V, rbm.weights.T, out=hidden_logits)
        kernels.sample(hidden_logits, rbm.hidden_bias, stream, H)
        np.dot(H, rbm.weights, out=visible_logits)
        draw_visible(visible_logits, rbm.visible_bias, rbm.groups, stream, V)


def _possible(bits: NDArray, groups: Groups | None) -> NDArray:
    """Bits with those of each group in a state that it can be in."""
    if groups is None:
        return bits
    first = np.cumsum(bits, axis=1) - bits
    before = first - groups.of_units(first[:, groups.starts])
    ordered = groups.of_units(groups.is_ordered)
    return np.where(ordered, before == groups.offsets, before == 0) * bits


def sides_of(rbm: RBM) -> tuple[Groups, Groups]:
    """Groups of the visible and of the hidden units."""
    return rbm.groups or Groups.bits(rbm.n_visible), Groups.bits(rbm.n_hidden)


def draw_hidden(rbm: RBM, n: int, rng: np.random.Generator) -> NDArray:
    """Draw hidden units of an RBM that has few of them, independently of chains."""
    # They are spread evenly: each state as often as its probability requires, to one.
    # The states of its at most 12 hidden units are listed.
    states = hidden_states(rbm.n_hidden)
    log_weight = log_hidden_marginals(rbm, states)
    cumulative = np.cumsum(np.exp(log_weight - log_weight.max()))
    position = (np.arange(n) + rng.random()) / n * cumulative[-1]
    return states[np.minimum(np.searchsorted(cumulative, position), len(states) - 1)]


@cache
def hidden_states(n_hidden: int) -> NDArray:
    """All states of a few hidden units, cached for many steps of training."""
    states = list_states(Groups.bits(n_hidden), 0, 2**n_hidden).astype(np.float32)
    states.flags.writeable = False
    return states


def draw_visible(
    logits: NDArray,
    bias: NDArray,
    groups: Groups | None,
    stream: NDArray[np.uint64],
    out: NDArray,
) -> None:
    """Draw visible units from logits (n_rows, n_visible) plus a bias, into `out`."""
    if groups is None:
        kernels.sample(logits, bias, stream, out)
    else:
        sizes, is_ordered = groups.sizes, groups.is_ordered
        scratch = np.empty((2, len(sizes)), np.float32)
        kernels.sample_states(logits, bias, sizes, is_ordered, stream, out, scratch)


# What the methods of an RBM give for tables that need no check: contiguous ones of
# float32 in [0, 1], with the right number of columns. Of several tables, arrays with a
# further axis, each is multiplied for itself.


def free_energies(rbm: RBM, V: NDArray) -> NDArray[np.float64]:
    """Free energies, as of :meth:`RBM.free_energy`."""
    return -_log_marginal(V, rbm.weights.T, rbm.hidden_bias, rbm.visible_bias)


def hidden_means(rbm: RBM, V: NDArray) -> NDArray:
    """Hidden probabilities, as of :meth:`RBM.hidden_probabilities`."""
    return _probabilities(V, rbm.weights.T, rbm.hidden_bias)


def log_hidden_marginals(rbm: RBM, H: NDArray) -> NDArray[np.float64]:
    """Log marginals, as of :meth:`RBM.log_hidden_marginal`."""
    if rbm.groups is None:
        return _log_marginal(H, rbm.weights, rbm.visible_bias, rbm.hidden_bias)
    total: np.ndarray = np.empty(H.shape[:-1])
    for rows in equal_slices(len(H), RBM_LIMITS.max_rows):
        active = H[rows] @ rbm.weights + rbm.visible_bias
        sums = log_state_sums(as_rows(active), rbm.groups)
        total[rows] = H[rows] @ rbm.hidden_bias.astype(np.float64)
        total[rows] += sums.reshape(total[rows].shape)
    return total


def _log_marginal(
    states: NDArray, weights: NDArray, other_bias: NDArray, bias: NDArray
) -> NDArray[np.float64]:
    """Sum one kind of units out, of rows of the other kind."""
    total: np.ndarray = np.empty(states.shape[:-1])
    sums: np.ndarray = np.empty_like(total)
    for rows in equal_slices(len(states), RBM_LIMITS.max_rows):
        total[rows] = states[rows] @ bias.astype(np.float64)
        active = as_rows(states[rows] @ weights)
        kernels.softplus_sums(active, other_bias, sums[rows].reshape(-1))
    return total + sums


def _probabilities(states: NDArray, weights: NDArray, bias: NDArray) -> NDArray:
    """Probabilities of one kind of units, given rows of the other kind."""
    logits = states @ weights
    probabilities = np.empty_like(logits)
    kernels.logistic(as_rows(logits), bias, as_rows(probabilities))
    return probabilities


def as_rows(tables: NDArray) -> NDArray:
    """View one table, or several in an array with a further axis, as their rows."""
    *shape, n_columns = tables.shape
    return tables.reshape(prod(shape), n_columns)
