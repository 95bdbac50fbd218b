"""Log-likelihoods and description lengths of stacks of RBMs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, logsumexp
from sklearn.utils import check_scalar

from skmohn._core._rows import equal_slices
from skmohn._core._sklearn import Interval, StrOptions, validate_params
from skmohn._core._tuned import tuned
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._groups import Groups, state_probabilities
from skmohn.energynet._missing import MissingMask, known_free_energies
from skmohn.energynet._partition import LogPartition
from skmohn.energynet._rbm import (
    RBM,
    RBM_LIMITS,
    as_rows,
    check_states,
    draw_stream,
    free_energies,
    hidden_means,
    hidden_states,
    log_hidden_marginals,
)
from skmohn.energynet._training import data_logits


@dataclass(frozen=True)
class LikelihoodConstants:
    """Sums over enumerated states."""

    # Terms that are in memory at once.
    max_terms: int = tuned(2**20, "cost")


_LIKELIHOOD = LikelihoodConstants()


def independent_bits(X: ArrayLike, groups: Groups | None = None) -> RBM:
    """Make the RBM without hidden units that has the means of the data."""
    # A column that never varies gets odds of one half to the number of samples, so that
    # no sample is impossible.
    X = check_states(X, None, "X")
    nothing = RBM(np.zeros((0, X.shape[1])), np.zeros(0), np.zeros(X.shape[1]), groups)
    return replace(nothing, visible_bias=data_logits(X, nothing.groups))


@validate_params(
    {
        "log_partition": [LogPartition, Interval(Real, None, None, closed="neither")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def dbn_log_likelihood(
    layers: Iterable[RBM],
    X: ArrayLike,
    log_partition: LogPartition | float,
    *,
    n_draws: int = 300,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[np.float64]:
    """Estimate the log-likelihood of each sample under a deep belief network.

    The top RBM is the prior of the layer below it, and so on down to the data
    [1]_.

    Parameters
    ----------
    layers : sequence of RBM
        From bottom to top; each sees the hidden units of the one below.
    X : array-like of shape (n_samples, n_visible)
        Samples, as bits.
    log_partition : LogPartition or float
        Log partition function of the top RBM.
    n_draws : int, default=300
        Draws of the hidden units per sample. More draws reduce the downward bias of the
        logarithm. A single layer needs none, nor do layers of at most 12 units, whose
        states are all summed.
    random_state : int, RandomState instance or None, default=None
        Pass an int for a reproducible estimate.

    Returns
    -------
    ndarray of shape (n_samples,)
        In nats.

    Raises
    ------
    ValueError
        If the layers do not match one another, or X the first.

    References
    ----------
    .. [1] Theis, Gerwinn, Sinz and Bethge, "In all likelihood, deep belief is not
       enough", JMLR 12 (2011).

    Examples
    --------
    >>> from skmohn.energynet import RBM, dbn_log_likelihood, exact_log_partition
    >>> bottom = RBM([[1.0, -1.0]], [0.0], [0.0, 0.0])
    >>> top = bottom.transposed()
    >>> z = exact_log_partition(top)
    >>> dbn_log_likelihood([bottom, top], [[0, 1]], z, random_state=0)
    array([-1.8935])
    """
    layers = check_layers(layers)
    stream = draw_stream(random_state)
    X = check_states(X, layers[0].n_visible, "X")
    if isinstance(log_partition, LogPartition):
        log_partition = log_partition.value
    return stack_log_likelihood(layers, X, log_partition, n_draws, stream)


def stack_log_likelihood(
    layers: Sequence[RBM],
    X: NDArray,  # (n_samples, n_visible), float32; contiguous bits
    log_z: float,
    n_draws: int,
    stream: NDArray[np.uint64],  # (1,); source of random numbers, moved on
    # Whether each sample of several layers gets the same random numbers, and the same
    # estimate whatever samples stand beside it; the stream then does not move.
    common_random_numbers: bool = False,
) -> NDArray[np.float64]:
    """Log-likelihood as of :func:`dbn_log_likelihood`, for checked arguments."""
    if len(layers) == 1:
        return -free_energies(layers[0], X) - log_z
    if layers[0].n_hidden <= RBM_LIMITS.max_enumerated_units:
        return _of_listed(layers, X, log_z, n_draws, stream, common_random_numbers)
    found = np.empty(len(X))
    n_rows = max(RBM_LIMITS.max_rows // n_draws, 1)
    for rows in equal_slices(len(X), n_rows):
        # A table for each sample: products of tables of one size are rounded alike.
        samples = X[rows, None]
        streams = stream.repeat(len(samples)) if common_random_numbers else stream
        found[rows] = _of_draws(layers, samples, n_draws, streams)
    return found - log_z


def _of_listed(
    layers: Sequence[RBM],
    X: NDArray,
    log_z: float,
    n_draws: int,
    stream: NDArray[np.uint64],
    common_random_numbers: bool,
) -> NDArray[np.float64]:
    """Log-likelihood of a stack, summed over all states of its small first layer."""
    # The layers above are evaluated once for each state, not for each sample.
    lower, *upper = layers
    states = hidden_states(lower.n_hidden)
    known = stack_log_likelihood(
        upper, states, log_z, n_draws, stream, common_random_numbers
    )
    known += states @ lower.hidden_bias.astype(np.float64)
    known -= log_hidden_marginals(lower, states)
    found, n_rows = np.empty(len(X)), max(_LIKELIHOOD.max_terms // len(states), 1)
    weights = lower.weights.astype(np.float64)
    for rows in equal_slices(len(X), n_rows):
        bits = X[rows].astype(np.float64)
        found[rows] = logsumexp(bits @ weights.T @ states.T + known, axis=1)
        found[rows] += bits @ lower.visible_bias
    return found


def _of_draws(
    layers: Sequence[RBM], states: NDArray, n_draws: int, stream: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Log-likelihood of bits, (n_samples, 1, n_visible), but for log Z."""
    log_weight = -free_energies(layers[0], states)
    for lower, upper in pairwise(layers):
        probabilities = hidden_means(lower, states)
        states = np.empty((len(states), n_draws, lower.n_hidden), np.float32)
        kernels.bernoulli(as_rows(probabilities), stream, as_rows(states))
        # The log probability by the upper RBM replaces that by the lower one.
        log_weight = log_weight - free_energies(upper, states)
        log_weight -= log_hidden_marginals(lower, states)
    return logsumexp(log_weight, axis=1) - np.log(n_draws)


def known_log_likelihoods(
    rbms: Sequence[RBM],
    # (n_samples, n_visible), float32; complete: missing values are draws by the first
    # RBM.
    bits: NDArray,
    missing: MissingMask | None,
    log_partition: LogPartition,
    n_draws: int,  # as of :func:`dbn_log_likelihood`, with `seed`
    seed: int,
) -> NDArray[np.float64]:
    """Estimate the log-likelihood of the known values of samples."""
    # In nats, (n_samples,). The gain of the RBMs above the first is taken at the draws.
    found = dbn_log_likelihood(
        rbms, bits, log_partition, n_draws=n_draws, random_state=seed
    )
    if missing is not None:
        found += free_energies(rbms[0], bits)
        found -= known_free_energies(rbms[0], bits, missing, seed)
    return found


# ------------------------------------------------------------------- complexities


def rademacher_complexity(
    layers: Iterable[RBM], X: ArrayLike, *, p: float = 2.0
) -> float:
    """Bound the Rademacher complexity of the k layers as a feed-forward network."""
    # Kristiansen and Gonzalvo 2017, Eq 2: 2^(k-1) r prod_j(L_j n_{j-1}^(1/q)) sqrt(2
    # log(2 n_0) / m), with m samples of n_0 columns, r the largest absolute input, L_j
    # the largest p-norm of a unit of layer j and 1/p + 1/q = 1. It is 0 for a layer
    # without units.
    layers = check_layers(layers)
    X = check_states(X, layers[0].n_visible, "X")
    exponent = 0.0 if p == 1 else 1.0 - 1.0 / p
    bound = 2.0 ** (len(layers) - 1) * np.abs(X).max()
    for layer in layers:
        norms = np.linalg.norm(layer.weights.astype(np.float64), ord=p, axis=1)
        bound *= norms.max(initial=0.0) * layer.n_visible**exponent
    return float(bound * np.sqrt(2.0 * np.log(2.0 * X.shape[1]) / len(X)))


def unit_price(
    X: NDArray,  # (n_samples, n_visible); inputs of the unit, in [0, 1]
    unit_cost: float = 1.0,
    # The units of each column, which has the entropy of its states.
    groups: Groups | None = None,
) -> float:
    """Price of a hidden unit: half the logarithm of the samples for each parameter."""
    # In nats per sample. A column counts as much as its entropy in bits: the weight of
    # one that hardly varies is hardly seen in the data.
    groups = groups or Groups.bits(X.shape[1])
    mean = X.mean(axis=0, dtype=np.float64)
    at, _, first = state_probabilities(mean, groups)
    probabilities = np.append(at, first)
    n_bits = float(entr(np.clip(probabilities, 0.0, 1.0)).sum() / np.log(2.0))
    return float(unit_cost * (n_bits + 1.0) / 2.0 * np.log(len(X)) / len(X))


def parameter_complexity(
    layers: Iterable[RBM], X: ArrayLike, *, unit_cost: float = 1.0
) -> float:
    """Cost of the hidden units of all layers, in nats."""
    # Each unit costs unit_cost (D + 1) / 2 log(n_samples), where D is the sum of the
    # entropies of its inputs in bits; 1 is the cost of Rissanen's two-part code. Inputs
    # of upper layers are hidden probabilities.
    layers = check_layers(layers)
    inputs, total = check_states(X, layers[0].n_visible, "X"), 0.0
    for layer in layers:
        price = unit_price(inputs, unit_cost, layer.groups)
        total += layer.n_hidden * price * len(inputs)
        inputs = layer.hidden_probabilities(inputs)
    return float(total)


def complexity_of(
    layers: Iterable[RBM], X: ArrayLike, complexity: str, *, unit_cost: float, p: float
) -> float:
    """Compute the complexity that is named, in nats."""
    if complexity == "parameters":
        return parameter_complexity(layers, X, unit_cost=unit_cost)
    return rademacher_complexity(layers, X, p=p)


# ------------------------------------------------------------- description length


def likelihood_weight(likelihood: str, n_samples: int) -> float:
    """Factor of the mean log-likelihood in a description length."""
    return {"total": n_samples, "mean": 1}[likelihood]


@dataclass(frozen=True)
class DescriptionLength:
    """Length of a description that states the model, then the data.

    Parameters
    ----------
    log_likelihood : float
        Log-likelihood of all samples together, or their mean, in nats.
    complexity : float
        Length of the description of the model, in nats.

    Examples
    --------
    >>> from skmohn.energynet import DescriptionLength
    >>> DescriptionLength(-100.0, 20.0).total
    120.0
    """

    log_likelihood: float
    complexity: float

    def __post_init__(self) -> None:
        for name in ("log_likelihood", "complexity"):
            check_scalar(getattr(self, name), name, Real)

    @property
    def total(self) -> float:
        """Complexity minus log-likelihood: the lower, the better the model."""
        return self.complexity - self.log_likelihood


@validate_params(
    {
        "complexity": [StrOptions({"parameters", "rademacher"})],
        "likelihood": [StrOptions({"total", "mean"})],
        "unit_cost": [Interval(Real, 0, None, closed="left")],
        "p": [Interval(Real, 1, None, closed="both")],
    },
    # The parts check what is theirs.
    prefer_skip_nested_validation=False,
)
def description_length(
    layers: Iterable[RBM],
    X: ArrayLike,
    log_partition: LogPartition | float,
    *,
    complexity: str = "parameters",
    likelihood: str = "total",
    unit_cost: float = 1.0,
    p: float = 2.0,
    n_draws: int = 300,
    random_state: int | np.random.RandomState | None = None,
) -> DescriptionLength:
    """Compute the description length of data under layers.

    Parameters
    ----------
    layers : sequence of RBM
        From bottom to top, at least one.
    X : array-like of shape (n_samples, n_visible)
        Samples, as bits.
    log_partition : LogPartition or float
        Log partition function of the top RBM.
    complexity : {"parameters", "rademacher"}, default="parameters"
        Cost of the layers: half the logarithm of the number of samples for each
        parameter, or the Rademacher bound of EnergyNet.
    likelihood : {"total", "mean"}, default="total"
        Log-likelihood to set against the cost: that of all samples, or their mean.
    unit_cost : float, default=1.0
        Factor of the cost of the parameters.
    p : float, default=2.0
        Norm in the Rademacher bound.
    n_draws : int, default=300
        Draws of the hidden units per sample, as in :func:`dbn_log_likelihood`.
    random_state : int, RandomState instance or None, default=None
        Pass an int for a reproducible estimate.

    Returns
    -------
    DescriptionLength
        Its ``total`` compares models.

    Raises
    ------
    ValueError
        If the layers do not match one another or X the first, or `complexity` or
        `likelihood` is unknown.

    Examples
    --------
    >>> from skmohn.energynet import RBM, description_length, exact_log_partition
    >>> X = [[0, 0], [1, 0], [0, 1], [1, 1]]
    >>> rbm = RBM([[0.0, 0.0]], hidden_bias=[0.0], visible_bias=[0.0, 0.0])
    >>> description_length([rbm], X, exact_log_partition(rbm)).total
    7.6246
    """
    cost = complexity_of(layers, X, complexity, unit_cost=unit_cost, p=p)
    log_likelihood = dbn_log_likelihood(
        layers, X, log_partition, n_draws=n_draws, random_state=random_state
    )
    weight = likelihood_weight(likelihood, len(log_likelihood))
    return DescriptionLength(float(weight * log_likelihood.mean()), cost)


def check_layers(layers: object) -> list[RBM]:
    """Check that RBMs stand on one another; return them as a list."""
    if not isinstance(layers, Iterable):
        raise TypeError(f"layers must be a sequence of RBMs, got {layers!r}")
    layers = list(layers)
    if not layers:
        raise ValueError("layers is empty: it must have at least one RBM")
    for layer in layers:
        if not isinstance(layer, RBM):
            raise TypeError(f"layers must be RBMs, got a {type(layer).__name__}")
    for k, (lower, upper) in enumerate(pairwise(layers)):
        if lower.n_hidden != upper.n_visible:
            raise ValueError(
                f"layer {k + 1} sees {upper.n_visible} units, but the layer below it "
                f"has {lower.n_hidden}"
            )
    return layers
