"""Depth of a stack: layers while they shorten the description of the data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import sem

from skmohn._core._tuned import tuned
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._groups import Groups
from skmohn.energynet._growth import GrowthResult, Report
from skmohn.energynet._likelihood import (
    DescriptionLength,
    complexity_of,
    independent_bits,
    known_log_likelihoods,
    likelihood_weight,
)
from skmohn.energynet._missing import MissingMask
from skmohn.energynet._partition import (
    LogPartition,
    converged_log_partition,
    log_partition,
)
from skmohn.energynet._rbm import RBM, random_stream


@dataclass(frozen=True)
class DepthConstants:
    """The first estimate of what a further layer is worth."""

    # It takes one sample, and one temperature, of so many, but the next number of
    # samples.
    n_rows_per_pilot: int = tuned(10, "cost")
    min_pilot_rows: int = tuned(200, "cost")
    # Standard errors that a layer must lack to be rejected by it.
    n_errors_rejected: float = tuned(3.0, "benchmarks/ablation.py")


_DEPTH = DepthConstants()

MakeStack: TypeAlias = Callable[[], list[RBM]]
StackReport: TypeAlias = Callable[[dict[str, Any], MakeStack], None]
# How wide a layer becomes, by its inputs, a seed, and what only the first one has.
GrowLayer: TypeAlias = Callable[
    [NDArray, int, Report, Groups | None, MissingMask | None], GrowthResult
]

DEEP_ENOUGH = "another layer does not shorten the description"
ALL_LAYERS = "max_layers"


@dataclass(frozen=True)
class StackOptions:
    """Options that decide whether a layer stays."""

    max_layers: int = 10
    complexity: str = "parameters"  # "parameters" or "rademacher": cost of layers
    # "total" or "mean": log-likelihood to compare with the cost, of all samples or
    # their mean.
    likelihood: str = "total"
    # A second layer requires that the first describes the data better than independent
    # columns do.
    beats_nothing: bool = True
    unit_cost: float = 1.0  # factor of the price of parameters
    p: float = 2.0  # norm in the Rademacher bound
    n_temperatures: int = 10_000  # of annealed importance sampling
    n_chains: int = 100  # of annealed importance sampling
    n_draws: int = 300  # of the hidden units for the likelihood of a stack
    # Most samples whose likelihood is estimated; their mean stands for all.
    n_samples: int = 2000


@dataclass(frozen=True)
class StackedLayer:
    """Layer, with the description of the data by the stack up to it."""

    grown: GrowthResult
    log_partition: LogPartition
    description: DescriptionLength

    @property
    def rbm(self) -> RBM:
        """RBM of this layer."""
        return self.grown.run.rbm


@dataclass(frozen=True)
class Stack:
    """Layers from the bottom to the top."""

    layers: list[StackedLayer]  # at least one
    without: DescriptionLength  # description of the data as independent bits
    reason: str  # why there are no more


def grow_stack(
    # (n_samples, n_visible), float32; in [0, 1]; numbers between are probabilities.
    X: NDArray,
    # ``grow_layer(inputs, seed, report, groups, missing)`` returns a layer, as the
    # functions of :mod:`skmohn.energynet._growth` do. The inputs of the first are X,
    # those of the others the hidden probabilities of the layer below, all of them bits.
    grow_layer: GrowLayer,
    options: StackOptions,
    seed: int,
    # Called as ``report(record, make_rbms)``. Records are those of the layers with
    # their ``layer``, from 0; when one is complete also ``log_likelihood`` (mean over
    # samples), ``complexity`` and ``description_length``. ``make_rbms()`` returns the
    # RBMs of the stack as it is.
    report: StackReport,
    # Units of each column of X; None where each is a column.
    groups: Groups | None = None,
    missing: MissingMask | None = None,  # of X, in which their states are replaced
) -> Stack:
    """Grow layers on layers: BuildNetwork of EnergyNet."""
    # The first layer always stays, since a stack without layers has no features:
    # compare its description with that of independent bits. A further one that is
    # clearly not worth it is detected with a tenth of the effort.
    judge = _Judge(X, options, seed, missing)
    best = nothing = judge.measure([independent_bits(X, groups)], X)
    layers, reason, inputs = [], ALL_LAYERS, X
    for depth in range(options.max_layers):
        below = [layer.rbm for layer in layers]
        tell = of_layer(report, depth, below)
        of_first = (None, None) if layers else (groups, missing)
        grown = grow_layer(inputs, seed + depth, tell, *of_first)
        rbms = [*below, grown.run.rbm]
        found = judge.look(rbms, inputs, best) if layers else None
        if found is None:
            found = judge.measure(rbms, inputs, grown.reference_rbm)
        report(judge.record(depth, rbms[-1], found.description), lambda r=rbms: r)
        better = found.description.total < best.description.total
        if better or not layers:
            layers.append(StackedLayer(grown, found.log_partition, found.description))
        if not better and (depth or options.beats_nothing):
            reason = DEEP_ENOUGH
            break
        best, inputs = found, rbms[-1].hidden_probabilities(inputs)
    return Stack(layers, nothing.description, reason)


def of_layer(
    report: StackReport,
    depth: int,  # number of the layer, from 0
    below: list[RBM],
) -> Report:
    """Report for a layer that ends a stack."""
    # The result takes a record and a function that returns the RBM of the layer;
    # `report` takes one that returns the RBMs of the stack.

    def tell(record: dict[str, Any], make_rbm: Callable[[], RBM]) -> None:
        report({"layer": depth} | record, lambda: [*below, make_rbm()])

    return tell


@dataclass(frozen=True)
class _Measured:
    """Measurements of a stack."""

    log_partition: LogPartition  # of the top RBM
    log_likelihood: np.ndarray  # (n_rows,); of the measured samples
    description: DescriptionLength


class _Judge:
    """Samples by which stacks are compared, always the same ones."""

    def __init__(
        self,
        X: NDArray,
        options: StackOptions,
        seed: int,
        missing: MissingMask | None = None,
    ) -> None:
        self.X, self.options, self.seed = X, options, seed
        self.weight = likelihood_weight(options.likelihood, len(X))
        rows = np.random.default_rng(seed).permutation(len(X))[: options.n_samples]
        self.rows, self.missing = rows, missing and missing.take(rows)
        self.bits = np.empty_like(X[rows])
        kernels.bernoulli(X[rows], random_stream(seed), self.bits)

    def measure(
        self, rbms: Sequence[RBM], inputs: NDArray, reference_rbm: RBM | None = None
    ) -> _Measured:
        """Measure a stack whose top RBM has these inputs."""
        # `reference_rbm` is an RBM of the same inputs that helps to find the log
        # partition function.
        z = converged_log_partition(
            rbms[-1], inputs, n_temperatures=self.options.n_temperatures,
            n_chains=self.options.n_chains, random_state=self.seed,
            reference_rbm=reference_rbm,
        )  # fmt: skip
        log_likelihood = self._log_likelihood(rbms, z, len(self.bits))
        counted = float(log_likelihood.mean() * self.weight)
        description = DescriptionLength(counted, self._complexity(rbms))
        return _Measured(z, log_likelihood, description)

    def look(
        self,
        rbms: Sequence[RBM],
        inputs: NDArray,  # of the top RBM
        best: _Measured,  # without the top RBM
    ) -> _Measured | None:
        """Measure a stack with little effort if that is enough to reject it."""
        # Few temperatures make a partition function too small rather than too large, so
        # that the estimate is optimistic; samples are compared one by one with the best
        # stack.
        part = _DEPTH.n_rows_per_pilot
        n_rows = max(len(self.bits) // part, _DEPTH.min_pilot_rows)
        z = log_partition(
            rbms[-1], inputs,
            n_temperatures=max(self.options.n_temperatures // part, 1),
            n_chains=self.options.n_chains, random_state=self.seed,
        )  # fmt: skip
        log_likelihood = self._log_likelihood(rbms, z, n_rows)
        gains = log_likelihood - best.log_likelihood[: len(log_likelihood)]
        error = np.hypot(sem(gains, ddof=0), z.standard_error)
        cost = self._complexity(rbms)
        lacking = (cost - best.description.complexity) / self.weight - gains.mean()
        if lacking <= _DEPTH.n_errors_rejected * error:
            return None
        gain = float(gains.mean() * self.weight)
        description = DescriptionLength(best.description.log_likelihood + gain, cost)
        return _Measured(z, log_likelihood, description)

    def _log_likelihood(
        self, rbms: Sequence[RBM], z: LogPartition, n_rows: int
    ) -> NDArray[np.float64]:
        """Log-likelihoods of some rows, by the log partition function of the top."""
        missing = self.missing and self.missing.take(slice(n_rows))
        return known_log_likelihoods(
            rbms,
            self._completed()[:n_rows],
            missing,
            z,
            self.options.n_draws,
            self.seed,
        )

    def _completed(self) -> NDArray:
        """Bits of the samples, with the current states of missing values."""
        if self.missing is None:
            return self.bits
        at, bits = self.missing.rows, self.bits.copy()
        unknown = self.missing.unknown_at(at)
        bits[at] = np.where(unknown, self.X[self.rows[at]], bits[at])
        return bits

    def _complexity(self, rbms: Sequence[RBM]) -> float:
        options = self.options
        return complexity_of(
            rbms, self.X, options.complexity, unit_cost=options.unit_cost, p=options.p
        )

    def record(
        self, depth: int, rbm: RBM, description: DescriptionLength
    ) -> dict[str, Any]:
        return {
            "layer": depth,
            "stage": "layer",
            "units": rbm.n_hidden,
            "log_likelihood": description.log_likelihood / self.weight,
            "complexity": description.complexity,
            "description_length": description.total,
        }
