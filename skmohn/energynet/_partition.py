"""Partition functions of restricted Boltzmann machines: exact or estimated."""

from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import check_scalar
from sklearn.utils._param_validation import Interval, validate_params

from skmohn._core._fitting import warn_caller
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._groups import list_states, log_state_sums, state_logits
from skmohn.energynet._rbm import (
    RBM,
    check_states,
    draw_stream,
    draw_visible,
    sides_of,
)
from skmohn.energynet._training import data_logits

# Beyond this many units on its smaller side a machine has too many states to list.
MOST_ENUMERATED = 20
# Up to this many states times units of the other side it takes no longer than sampling.
_CHEAP = 1e8
# States that are listed together: their exponentials stay in the processor's cache.
_FIRST_STATES = 256
# Twice as much is still less than what overflows.
_LARGEST_EXPONENT = 300.0
# Estimates by fewer effective chains say little; they are made again with so many times
# the temperatures.
LEAST_SIZE, _HARDER = 10.0, 4


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
        Number of independent chains worth as much; do not trust the estimate below
        about 10. Infinite if exact.

    Examples
    --------
    >>> from skmohn.energynet import LogPartition
    >>> LogPartition(2.0).standard_error
    0.0
    """

    value: float
    standard_error: float = 0.0
    effective_sample_size: float = np.inf

    def __post_init__(self):
        for name in ("value", "standard_error", "effective_sample_size"):
            check_scalar(getattr(self, name), name, Real)


@validate_params({"rbm": [RBM]}, prefer_skip_nested_validation=True)
def exact_log_partition(rbm):
    """Sum over all states of the smaller side of a machine.

    Parameters
    ----------
    rbm : RBM
        Machine with at most 20 units on one side.

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
    if min(outer.n_states, inner.n_states) > 2**MOST_ENUMERATED:
        raise ValueError(
            f"both sides have more than {2**MOST_ENUMERATED} states, too many to "
            "enumerate: use annealed_importance_sampling"
        )
    outer_bias, inner_bias = (
        bias.astype(np.float64) for bias in (rbm.visible_bias, rbm.hidden_bias)
    )
    if inner.n_states < outer.n_states:
        weights, outer, inner = weights.T, inner, outer
        outer_bias, inner_bias = inner_bias, outer_bias
    # A state is one of the first few columns and one of the others, whose logits add
    # up: each state of either is listed once.
    n_first = 1 + np.searchsorted(np.cumprod(outer.sizes + 1.0), _FIRST_STATES)
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
    return LogPartition(float(logsumexp(exponents)))


def _log_sums_of_pairs(first, others, groups, bounds):
    """What `log_state_sums` gives for the sum of each two rows of two tables.

    Where no exponential overflows, those of either table are taken once, and one
    logarithm of the product of many columns: a tenth of the time.

    Parameters
    ----------
    first : ndarray of shape (n_first, n_units)

    others : ndarray of shape (n_others, n_units)

    groups : Groups

    bounds : ndarray of shape (n_units,)
        No sum is larger.

    Returns
    -------
    ndarray of shape (n_others, n_first)
    """
    starts = groups.starts
    # A level has all units below it, too.
    largest = np.add.reduceat(bounds, starts) + np.log(groups.sizes + 1)
    if largest.max() > _LARGEST_EXPONENT:
        return np.array([log_state_sums(first + row, groups) for row in others])
    product = np.cumsum(largest) // _LARGEST_EXPONENT
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
    rbm, X, *, n_temperatures=10000, n_chains=100, random_state=None
):
    """Estimate the log partition function of a machine.

    Chains start from a machine without weights that has the means of the data, and are
    annealed to the given machine [1]_.

    Parameters
    ----------
    rbm : RBM
        Machine of any size.
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
        If X does not match the machine.

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
    stream = draw_stream(random_state)
    base_visible = data_logits(X, rbm.groups)
    # The activations at the mean of the data: with them, and not with zeros, the first
    # machines are close to the last ones.
    mean = X.mean(axis=0, dtype=np.float64)
    base_hidden = (rbm.weights @ mean + rbm.hidden_bias).astype(np.float32)
    slope = rbm.visible_bias - base_visible
    temperatures = np.linspace(0.0, 1.0, n_temperatures + 1, dtype=np.float32)

    visible, visible_logits = np.zeros((2, n_chains, rbm.n_visible), np.float32)
    hidden, hidden_logits = np.empty((2, n_chains, rbm.n_hidden), np.float32)
    draw_visible(visible_logits, base_visible, rbm.groups, stream, visible)
    log_weight = np.zeros(n_chains)
    for before, after in pairwise(temperatures):
        log_weight += float(after - before) * (visible @ slope)
        np.dot(visible, rbm.weights.T, out=hidden_logits)
        kernels.anneal(
            hidden_logits, rbm.hidden_bias, base_hidden, before, after, stream,
            log_weight, hidden,
        )  # fmt: skip
        np.dot(hidden, rbm.weights, out=visible_logits)
        visible_logits *= after
        bias = base_visible + after * slope
        draw_visible(visible_logits, bias, rbm.groups, stream, visible)
    start = log_state_sums(base_visible[None], sides_of(rbm)[0])[0]
    start += np.logaddexp(0.0, base_hidden, dtype=np.float64).sum()
    weight = np.exp(log_weight - log_weight.max())
    return LogPartition(
        float(start + log_weight.max() + np.log(weight.mean())),
        float(weight.std(ddof=1) / weight.mean() / np.sqrt(n_chains)),
        float(weight.sum() ** 2 / (weight**2).sum()),
    )


@validate_params({"rbm": [RBM]}, prefer_skip_nested_validation=False)
def log_partition(rbm, X, *, n_temperatures=10000, n_chains=100, random_state=None):
    """Compute the log partition function, exactly if that is fast.

    Parameters
    ----------
    rbm : RBM
        Machine of any size.
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
        Exact for about 16 units or fewer on the smaller side, else estimated.

    Raises
    ------
    ValueError
        If X does not match the machine.

    Examples
    --------
    >>> from skmohn.energynet import RBM, log_partition
    >>> log_partition(RBM([[0.0, 0.0]], [0.0], [0.0, 0.0]), [[0, 1]]).value
    2.0794
    """
    n_visible, n_hidden = (side.n_states for side in sides_of(rbm))
    least = min(n_visible * rbm.n_hidden, n_hidden * rbm.n_visible)
    if min(n_visible, n_hidden) <= 2**MOST_ENUMERATED and least <= _CHEAP:
        check_states(X, rbm.n_visible, "X")
        return exact_log_partition(rbm)
    return annealed_importance_sampling(
        rbm,
        X,
        n_temperatures=n_temperatures,
        n_chains=n_chains,
        random_state=random_state,
    )


def settled_log_partition(rbm, X, *, n_temperatures, n_chains=100, random_state=None):
    """As :func:`log_partition`, with more temperatures where these are too few.

    Parameters
    ----------
    rbm, X, n_temperatures
        Those of :func:`log_partition`.

    n_chains : int, default=100
        The same.

    random_state : int, RandomState instance or None, default=None
        The same.

    Returns
    -------
    LogPartition
        The effective sample size may still be less than `LEAST_SIZE`.
    """
    options = {"n_chains": n_chains, "random_state": random_state}
    found = log_partition(rbm, X, n_temperatures=n_temperatures, **options)
    if found.effective_sample_size >= LEAST_SIZE:
        return found
    harder = _HARDER * n_temperatures
    again = log_partition(rbm, X, n_temperatures=harder, **options)
    return max(found, again, key=lambda z: z.effective_sample_size)


def require_settled(log_partition, layer):
    """Warn where a log partition function is not known well.

    Parameters
    ----------
    log_partition : LogPartition

    layer : int
        Its number.
    """
    size = log_partition.effective_sample_size
    if size < LEAST_SIZE:
        warn_caller(
            f"the log-likelihood of layer {layer} may be wrong by nats: the effective "
            f"sample size of its log partition function is {size:.1f}, below "
            f"{LEAST_SIZE:g}; raise n_temperatures or use fewer units"
        )
