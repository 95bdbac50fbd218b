"""Partition functions of restricted Boltzmann machines: exact or estimated."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, softmax
from sklearn.utils import check_scalar

from skmohn._core._fitting import warn_caller
from skmohn._core._rows import equal_slices
from skmohn._core._sklearn import Interval, validate_params
from skmohn._core._tuned import tuned
from skmohn.energynet._annealing import AnnealingPath, anneal
from skmohn.energynet._groups import Groups, list_states, log_state_sums, state_logits
from skmohn.energynet._rbm import (
    RBM,
    RBM_LIMITS,
    check_states,
    draw_stream,
    draw_visible,
    sides_of,
)
from skmohn.energynet._training import data_logits


@dataclass(frozen=True)
class PartitionConstants:
    """Partition functions: enumeration, and how annealing is checked."""

    # Beyond so many units on its smaller side an RBM has too many states to list.
    max_enumerated_units: int = tuned(20, "cost")
    # Up to this many states times units of the other side, enumeration takes no longer
    # than sampling.
    max_exact_cost: float = tuned(1e8, "cost")
    # States that are listed together: their exponentials stay in the cache.
    n_states_per_block: int = tuned(256, "cost")
    # Twice as much does not overflow.
    max_exponent: float = tuned(300.0, "rounding")
    # Estimates of fewer effective chains are unreliable; they are repeated with so many
    # times the temperatures.
    min_effective_size: float = tuned(10.0, "benchmarks/ablation.py")
    n_times_temperatures: int = tuned(4, "benchmarks/ablation.py")
    # Fractions of the temperatures that are tried first, as divisors.
    temperature_divisors: tuple[int, ...] = tuned((64, 16, 4, 1), "cost")
    # Standard error in nats that is small enough, and standard errors by which two
    # estimates may differ.
    max_standard_error: float = tuned(0.05, "benchmarks/ablation.py")
    max_errors_apart: float = tuned(2.0, "benchmarks/ablation.py")


PARTITION = PartitionConstants()


@dataclass(frozen=True)
class LogPartition:
    """Value or estimate of a log partition function.

    Parameters
    ----------
    value : float
        Logarithm of the sum of exp(c.v + b.h + h.Wv) over all states, in nats.
    standard_error : float, default=0.0
        Standard error of the value, in nats, from the spread of the chains; 0 if exact.
    effective_sample_size : float, default=inf
        Equivalent number of independent chains; below about 10, do not trust the
        estimate. Infinite if exact.

    Examples
    --------
    >>> from skmohn.energynet import LogPartition
    >>> LogPartition(2.0).standard_error
    0.0
    """

    value: float
    standard_error: float = 0.0
    effective_sample_size: float = np.inf

    def __post_init__(self) -> None:
        for name in ("value", "standard_error", "effective_sample_size"):
            check_scalar(getattr(self, name), name, Real)


@validate_params({"rbm": [RBM]}, prefer_skip_nested_validation=True)
def exact_log_partition(rbm: RBM) -> LogPartition:
    """Sum over all states of the smaller side of an RBM.

    Parameters
    ----------
    rbm : RBM
        RBM with at most 20 units on one side.

    Returns
    -------
    LogPartition
        Exact up to rounding in double precision.

    Raises
    ------
    ValueError
        If both sides are larger.

    Examples
    --------
    >>> from skmohn.energynet import RBM, exact_log_partition
    >>> exact_log_partition(RBM([[0.0, 0.0]], [0.0], [0.0, 0.0])).value
    2.0794
    """
    weights = rbm.weights.astype(np.float64)
    outer, inner = sides_of(rbm)
    if min(outer.n_states, inner.n_states) > 2**PARTITION.max_enumerated_units:
        raise ValueError(
            f"both sides have more than {2**PARTITION.max_enumerated_units} states, "
            "too many to enumerate: use annealed_importance_sampling"
        )
    outer_bias, inner_bias = (
        bias.astype(np.float64) for bias in (rbm.visible_bias, rbm.hidden_bias)
    )
    if inner.n_states < outer.n_states:
        weights, outer, inner = weights.T, inner, outer
        outer_bias, inner_bias = inner_bias, outer_bias
    # A state is one of the first few columns and one of the others, whose logits add
    # up: each state of either is listed once.
    n_first = 1 + np.searchsorted(
        np.cumprod(outer.sizes + 1.0), PARTITION.n_states_per_block
    )
    split = outer.sizes[:n_first].sum()
    parts = outer.take(slice(n_first)), outer.take(slice(n_first, None))
    first, others = (list_states(part, 0, part.n_states) for part in parts)
    bounds = np.maximum(weights, 0.0).sum(axis=1) + np.maximum(inner_bias, 0.0)
    exponents = _log_sums_of_pairs(
        first @ weights[:, :split].T,
        others @ weights[:, split:].T + inner_bias,
        inner,
        bounds,
    )
    exponents += first @ outer_bias[:split]
    exponents += (others @ outer_bias[split:])[:, None]
    total: Any = logsumexp(exponents)
    return LogPartition(float(total))


def _log_sums_of_pairs(
    first: NDArray,
    others: NDArray,
    groups: Groups,
    bounds: NDArray[np.float64],  # (n_units,); no sum is larger
) -> NDArray[np.float64]:
    """`log_state_sums` of the sum of each two rows of two tables."""
    # Where no exponential overflows, those of either table are taken once, and one
    # logarithm of the product of many columns: a tenth of the time.
    starts = groups.starts
    # A level has all units below it, too.
    largest = np.add.reduceat(bounds, starts) + np.log(groups.sizes + 1)
    if largest.max() > PARTITION.max_exponent:
        return np.array([log_state_sums(first + row, groups) for row in others])
    product = np.cumsum(largest) // PARTITION.max_exponent
    product_starts = np.unique(product, return_index=True)[1]
    # A row for each unit: products of rows are quick.
    first = np.exp(state_logits(first, groups).T)
    found = np.empty((len(others), first.shape[1]))
    for k, other in enumerate(np.exp(state_logits(others, groups))):
        totals = first * other[:, None]
        if len(starts) < len(bounds):
            totals = np.add.reduceat(totals, starts, axis=0)
        totals += 1.0
        products = np.multiply.reduceat(totals, product_starts, axis=0)
        found[k] = np.log(products).sum(axis=0)
    return found


@validate_params(
    {
        "rbm": [RBM],
        "X": ["array-like"],
        "n_temperatures": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def annealed_importance_sampling(
    rbm: RBM,
    X: ArrayLike,
    *,
    n_temperatures: int = 10000,
    n_chains: int = 100,
    random_state: int | np.random.RandomState | None = None,
) -> LogPartition:
    """Estimate the log partition function of an RBM.

    Chains start from an RBM without weights that has the means of the data, and are
    annealed to the given RBM [1]_.

    Parameters
    ----------
    rbm : RBM
        RBM of any size.
    X : array-like of shape (n_samples, n_visible)
        Training data in [0, 1], whose means the chains start from.
    n_temperatures : int, default=10000
        Number of intermediate distributions. Too few overestimate the likelihood, by
        several nats with hundreds of units.
    n_chains : int, default=100
        Number of independent chains; their spread gives the standard error.
    random_state : int, RandomState instance or None, default=None
        Pass an int for a reproducible estimate.

    Returns
    -------
    LogPartition
        With its standard error and effective sample size.

    Raises
    ------
    ValueError
        If X does not match the RBM.

    References
    ----------
    .. [1] Salakhutdinov and Murray, "On the quantitative analysis of deep belief
       networks", ICML 2008.

    Examples
    --------
    >>> from skmohn.energynet import RBM, annealed_importance_sampling
    >>> rbm = RBM([[1.0, -1.0]], [0.0], [0.0, 0.0])
    >>> ais = annealed_importance_sampling(rbm, [[0, 1], [1, 0]], random_state=0)
    >>> f"{ais.value:.1f}"
    '2.2'
    """
    X = check_states(X, rbm.n_visible, "X")
    weights = _log_weights(
        _independent(rbm, X), rbm, X, n_temperatures, n_chains, random_state
    )
    return _from_weights(weights)


def annealed_weights(
    rbm: RBM,
    X: NDArray,
    *,
    # With few hidden units, whose states are listed: half of the chains start from its
    # own samples. None where there is no such RBM.
    reference_rbm: RBM | None,
    n_temperatures: int,
    n_chains: int = 100,
    random_state: int | np.random.RandomState | None = None,
) -> list[NDArray[np.float64]]:
    """Anneal chains with two kinds of starts to an RBM."""
    # Where modes are far apart, chains from independent columns all miss the same ones,
    # and by their spread seem certain of a value that is too small. Chains from an RBM
    # that has modes of the data reveal it: few of their weights are then larger by far.
    # Returned are the log-weights of each kind. The mean of their exponentials is an
    # unbiased estimate of the partition function, which is hardly ever too large by
    # nats, but often too small. See :func:`annealed_importance_sampling` for the other
    # parameters.
    starts = [_independent(rbm, X)]
    if reference_rbm is not None:
        starts.append(reference_rbm)
    n_each = -(-n_chains // len(starts))
    return [
        _log_weights(start, rbm, X, n_temperatures, n_each, random_state)
        for start in starts
    ]


def log_partition_of(
    log_weights: Sequence[NDArray[np.float64]],  # of :func:`annealed_weights`
) -> LogPartition:
    """Estimate by all chains where both kinds agree, else the larger estimate."""
    found = [_from_weights(of_start) for of_start in log_weights]
    if _are_apart(found[0], found[-1]):
        return max(found, key=lambda z: z.value)
    return _from_weights(np.concatenate(log_weights))


def conservative_log_z(
    log_weights: Sequence[NDArray[np.float64]],  # of :func:`annealed_weights`
) -> float:
    """Logarithm of the mean of weights whose logarithms are normal."""
    # Where few chains count it is rather too large than too small, by more the wider
    # they spread. So where both kinds agree it is that of the narrower one, else the
    # larger.
    kinds = sorted(log_weights, key=np.var)
    if not _are_apart(*(_from_weights(kinds[at]) for at in (0, -1))):
        kinds = kinds[:1]
    return float(max(kind.mean() + kind.var() / 2.0 for kind in kinds))


def _independent(rbm: RBM, X: NDArray) -> RBM:
    """RBM without hidden units that has the means of X."""
    nothing = np.zeros((0, rbm.n_visible)), np.zeros(0)
    return RBM(*nothing, data_logits(X, rbm.groups), rbm.groups)


def _log_weights(
    start: RBM,  # with at most 12 hidden units
    rbm: RBM,
    X: NDArray,  # (n_samples, n_visible); read if the first RBM has no hidden units
    n_temperatures: int,
    n_chains: int,
    random_state: int | np.random.RandomState | None,
) -> NDArray[np.float64]:
    """Anneal chains from one RBM to another."""
    # On the way hidden units of both are there; those of the first fade as those of the
    # second come. The mean of the exponentials of the log-weights, (n_chains,), is the
    # partition function of the second. See :func:`annealed_importance_sampling` for the
    # other parameters.
    # Where all begins with independent columns, hidden units have the logits at the
    # mean of the data: with them, and not with zeros, the first distributions are close
    # to the last ones. But modes are far from the mean: those that both RBMs have would
    # vanish on the way.
    hidden_start = np.zeros(rbm.n_hidden, np.float32)
    if start.n_hidden == 0:
        mean = X.mean(axis=0, dtype=np.float64)
        hidden_start = (rbm.weights @ mean + rbm.hidden_bias).astype(np.float32)
    path = AnnealingPath(
        rbm=rbm,
        hidden_bias=rbm.hidden_bias[None],
        visible_start=start.visible_bias[None],
        hidden_start=hidden_start[None],
        reference_rbm=start if start.n_hidden else None,
    )
    log_weight = anneal(path, n_chains, n_temperatures, draw_stream(random_state))
    known = exact_log_partition(start).value
    known += np.logaddexp(0.0, hidden_start, dtype=np.float64).sum()
    return known - start.n_hidden * np.log(2.0) + log_weight


def _from_weights(log_weights: NDArray[np.float64]) -> LogPartition:
    """Mean of weights, as an estimate of a partition function."""
    top = log_weights.max()
    weight = np.exp(log_weights - top)
    return LogPartition(
        float(top + np.log(weight.mean())),
        float(weight.std(ddof=1) / weight.mean() / np.sqrt(len(weight))),
        float(weight.sum() ** 2 / (weight**2).sum()),
    )


@validate_params({"rbm": [RBM]}, prefer_skip_nested_validation=False)
def log_partition(
    rbm: RBM,
    X: ArrayLike,
    *,
    n_temperatures: int = 10000,
    n_chains: int = 100,
    random_state: int | np.random.RandomState | None = None,
) -> LogPartition:
    """Compute the log partition function, exactly if that is fast.

    Parameters
    ----------
    rbm : RBM
        RBM of any size.
    X : array-like of shape (n_samples, n_visible)
        Data for :func:`annealed_importance_sampling`.
    n_temperatures : int, default=10000
        For :func:`annealed_importance_sampling`.
    n_chains : int, default=100
        For :func:`annealed_importance_sampling`.
    random_state : int, RandomState instance or None, default=None
        Pass an int for a reproducible estimate.

    Returns
    -------
    LogPartition
        Exact for about 16 units or fewer on the smaller side, otherwise estimated.

    Raises
    ------
    ValueError
        If X does not match the RBM.

    Examples
    --------
    >>> from skmohn.energynet import RBM, log_partition
    >>> log_partition(RBM([[0.0, 0.0]], [0.0], [0.0, 0.0]), [[0, 1]]).value
    2.0794
    """
    if is_enumerable(rbm):
        check_states(X, rbm.n_visible, "X")
        return exact_log_partition(rbm)
    return annealed_importance_sampling(
        rbm,
        X,
        n_temperatures=n_temperatures,
        n_chains=n_chains,
        random_state=random_state,
    )


def is_enumerable(rbm: RBM) -> bool:
    """Whether it takes no longer to list the states of an RBM than to sample."""
    n_visible, n_hidden = (side.n_states for side in sides_of(rbm))
    cost = min(n_visible * rbm.n_hidden, n_hidden * rbm.n_visible)
    return (
        min(n_visible, n_hidden) <= 2**PARTITION.max_enumerated_units
        and cost <= PARTITION.max_exact_cost
    )


def draw_enumerated(
    rbm: RBM, n_samples: int, random_state: np.random.RandomState
) -> NDArray:
    """Draw visible units of an RBM whose states are listed, (n_samples, n_visible)."""
    # Chains do not meet modes that are far apart by their probabilities.
    visible, hidden = sides_of(rbm)
    is_hidden = hidden.n_states <= visible.n_states
    side = hidden if is_hidden else visible
    log_weights = []
    for rows in equal_slices(side.n_states, RBM_LIMITS.max_rows):
        states = list_states(side, rows.start, rows.stop).astype(np.float32)
        log_weights.append(
            rbm.log_hidden_marginal(states) if is_hidden else -rbm.free_energy(states)
        )
    p = softmax(np.concatenate(log_weights))
    numbers, which = np.unique(
        random_state.choice(len(p), n_samples, p=p), return_inverse=True
    )
    listed = [list_states(side, number, number + 1) for number in numbers.tolist()]
    drawn = np.concatenate(listed).astype(np.float32)[which]
    if not is_hidden:
        return drawn
    logits = drawn @ rbm.weights
    V = np.empty_like(logits)
    stream = draw_stream(random_state)
    draw_visible(logits, rbm.visible_bias, rbm.groups, stream, V)
    return V


def converged_log_partition(
    rbm: RBM,
    X: NDArray,
    *,
    n_temperatures: int,
    n_chains: int = 100,
    random_state: int | np.random.RandomState | None = None,
    reference_rbm: RBM | None = None,
) -> LogPartition:
    """Log partition function with as many temperatures as it needs."""
    # Begins with few, and takes more until an estimate is certain and the one before it
    # agrees, or `n_temperatures` are too few and more of them have been taken. The
    # effective sample size may still be less than `PARTITION.min_effective_size`.
    # Parameters are those of :func:`log_partition` and :func:`annealed_weights`.
    if is_enumerable(rbm):
        return exact_log_partition(rbm)

    def estimate(number: int) -> LogPartition:
        weights = annealed_weights(
            rbm, X, reference_rbm=reference_rbm, n_temperatures=number,
            n_chains=n_chains, random_state=random_state,
        )  # fmt: skip
        return log_partition_of(weights)

    first, *others = sorted(
        {-(-n_temperatures // divisor) for divisor in PARTITION.temperature_divisors}
    )
    found = estimate(first)
    for number in others:
        before, found = found, estimate(number)
        is_certain = found.standard_error <= PARTITION.max_standard_error
        if is_certain and not _are_apart(before, found):
            return found
    if found.effective_sample_size >= PARTITION.min_effective_size:
        return found
    again = estimate(PARTITION.n_times_temperatures * n_temperatures)
    return max(found, again, key=lambda z: z.effective_sample_size)


def _are_apart(one: LogPartition, other: LogPartition) -> bool:
    """Whether two estimates differ by more than their errors."""
    error = np.hypot(one.standard_error, other.standard_error)
    return abs(one.value - other.value) > PARTITION.max_errors_apart * error


def warn_if_unreliable(log_partition: LogPartition, layer: int) -> None:
    """Warn where the estimate of a log partition function is uncertain."""
    size = log_partition.effective_sample_size
    if size < PARTITION.min_effective_size:
        warn_caller(
            f"the log-likelihood of layer {layer} may be wrong by nats: the effective "
            f"sample size of its log partition function is {size:.1f}, below "
            f"{PARTITION.min_effective_size:g}; raise n_temperatures or use fewer units"
        )
