"""How deep a stack becomes: layers while they shorten the description of the data."""

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
    """When a layer stays, and how that is measured.

    Parameters
    ----------
    max_layers : int, default=10
    complexity : {"parameters", "rademacher"}, default="parameters"
        What layers cost.
    likelihood : {"total", "mean"}, default="total"
        What counts against the cost: the log-likelihood of all samples or their mean.
    beats_nothing : bool, default=True
        Whether there is a second layer only if the first describes the data better than
        independent columns do.
    unit_cost : float, default=1.0
        Factor of the price of parameters.
    p : float, default=2.0
        Norm in the Rademacher bound.
    n_temperatures : int, default=10000
        Of annealed importance sampling.
    n_chains : int, default=100
        Of annealed importance sampling.
    n_draws : int, default=300
        Draws of the hidden units for the likelihood of a stack.
    n_samples : int, default=2000
        Most samples whose likelihood is estimated; their mean stands for all.
    """

    max_layers: int = 10
    complexity: str = "parameters"
    likelihood: str = "total"
    beats_nothing: bool = True
    unit_cost: float = 1.0
    p: float = 2.0
    n_temperatures: int = 10_000
    n_chains: int = 100
    n_draws: int = 300
    n_samples: int = 2000


@dataclass(frozen=True)
class StackedLayer:
    """A layer and how well the stack up to it describes the data.

    Parameters
    ----------
    grown : GrowthResult
    log_partition : LogPartition
    description : DescriptionLength
    """

    grown: GrowthResult
    log_partition: LogPartition
    description: DescriptionLength

    @property
    def rbm(self) -> RBM:
        """The RBM of this layer."""
        return self.grown.run.rbm


@dataclass(frozen=True)
class Stack:
    """Layers from the bottom to the top.

    Parameters
    ----------
    layers : list of StackedLayer
        At least one.
    without : DescriptionLength
        Of the data as independent bits.
    reason : str
        Why there are no more.
    """

    layers: list[StackedLayer]
    without: DescriptionLength
    reason: str


def grow_stack(
    X: NDArray,
    grow_layer: GrowLayer,
    options: StackOptions,
    seed: int,
    report: StackReport,
    groups: Groups | None = None,
    missing: MissingMask | None = None,
) -> Stack:
    """Grow layers on layers: BuildNetwork of EnergyNet.

    The first layer always stays, since a stack without layers has no features: compare
    its description with that of independent bits. A further one that is clearly not
    worth it is found out by a tenth of the effort.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_visible), float32
        In [0, 1]. Numbers that are not bits are taken for probabilities.

    grow_layer : callable
        ``grow_layer(inputs, seed, report, groups, missing)`` returns a layer, as the
        functions of :mod:`skmohn.energynet._growth` do. The inputs of the first are X,
        those of the others the hidden probabilities of the layer below, all of them
        bits.

    report : callable
        Called as ``report(record, make_rbms)``. Records are those of the layers with
        their ``layer``, from 0; when one is complete also ``log_likelihood`` (mean over
        samples), ``complexity`` and ``description_length``. ``make_rbms()`` returns the
        RBMs of the stack as it is.

    groups : Groups, default=None
        The units of each column of X; None where each is a column.

    missing : MissingMask, default=None
        What is unknown of X, in which its states are replaced.
    """
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


def of_layer(report: StackReport, depth: int, below: list[RBM]) -> Report:
    """Report of a layer as of the stack that ends with it.

    Parameters
    ----------
    report : callable
        Takes a record and a function that returns the RBMs of the stack.

    depth : int
        Number of the layer, from 0.

    Returns
    -------
    report : callable
        Takes a record and a function that returns the RBM of the layer.
    """

    def tell(record: dict[str, Any], make_rbm: Callable[[], RBM]) -> None:
        report({"layer": depth} | record, lambda: [*below, make_rbm()])

    return tell


@dataclass(frozen=True)
class _Measured:
    """What is known of a stack.

    Parameters
    ----------
    log_partition : LogPartition
        Of the top RBM.
    log_likelihood : ndarray of shape (n_rows,)
        Of the samples that it was measured on.
    description : DescriptionLength
    """

    log_partition: LogPartition
    log_likelihood: np.ndarray
    description: DescriptionLength


class _Judge:
    """The samples by which stacks are compared, always the same ones."""

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
        """Measure a stack whose top RBM sees these inputs.

        The log partition function is found with the help of a `reference_rbm` RBM that
        sees the same.
        """
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
        self, rbms: Sequence[RBM], inputs: NDArray, best: _Measured
    ) -> _Measured | None:
        """Measure a stack with little effort if that shows it to be the worse one.

        Few temperatures make a partition function too small rather than too large, so
        that a stack is flattered; samples are compared one by one with the best stack.

        Parameters
        ----------
        inputs : ndarray
            Of the top RBM.

        best : _Measured
            Without the top RBM.

        Returns
        -------
        found : _Measured or None
            None if it could be the better one.
        """
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
        """Of some rows, by the log partition function of the top."""
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
        """The bits of the samples, with the current states of missing values."""
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
