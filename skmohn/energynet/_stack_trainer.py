"""Training of a stack of layers, by an estimator's parameters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from skmohn._core._fitting import one_blas_thread, warn_caller
from skmohn._core._options import Control, control_of
from skmohn._core._rows import equal_slices
from skmohn._core._sklearn import Interval, StrOptions
from skmohn._core._tuned import tuned
from skmohn._core._validation import is_integer, refuse_set
from skmohn.energynet._groups import Groups
from skmohn.energynet._growth import (
    DescriptionLengthOptions,
    GrowthResult,
    Report,
    given_width,
    grow_by_description_length,
)
from skmohn.energynet._growth_held_out import HeldOutOptions, grow_by_held_out
from skmohn.energynet._infinite_rbm import InfiniteGrowthOptions, grow_infinite_rbm
from skmohn.energynet._likelihood import DescriptionLength, likelihood_weight
from skmohn.energynet._missing import MISSING, MissingMask
from skmohn.energynet._partition import LogPartition
from skmohn.energynet._rbm import RBM, RBM_LIMITS, random_stream
from skmohn.energynet._stack import (
    MakeStack,
    StackOptions,
    StackReport,
    grow_stack,
    of_layer,
)
from skmohn.energynet._table import Encoded
from skmohn.energynet._training import Schedule, epochs_at_once, new_rbm


@dataclass(frozen=True)
class TrainingConstants:
    """Values of "auto", and the last training of a layer."""

    # The sum of the learning rates of a layer's last training.
    final_clock: float = tuned(300.0, "benchmarks/ablation.py")
    # Centered PCD of a table of so many columns.
    learning_rate: float = tuned(0.2, "benchmarks/ablation.py")
    batch_size: int = tuned(50, "benchmarks/ablation.py")
    n_columns: int = tuned(100, "benchmarks/ablation.py")
    # Growth as an infinite RBM.
    infinite_learning_rate: float = tuned(
        0.01, "Kristiansen and Gonzalvo (2017), section 4"
    )
    infinite_batch_size: int = tuned(10, "benchmarks/ablation.py")
    # Of normal priors of weights: their standard deviation is 1, or 2 where units have
    # a cost as well.
    weight_precision: float = tuned(1.0, "benchmarks/ablation.py")
    costly_weight_precision: float = tuned(0.25, "benchmarks/ablation.py")


_DEFAULTS = TrainingConstants()

_T = TypeVar("_T")

GIVEN_DEPTH = "the layers were given"
STOPPED = "a callback stopped the fit"


@dataclass(kw_only=True, eq=False, repr=False)
class InfiniteRBMOptions(Control):
    """Options of ``growth="infinite_rbm"``, with the paper's defaults.

    Learning rate, batch size and limits are parameters of
    :class:`EnergyNetTransformer`.

    Parameters
    ----------
    beta : float, default=1.01
        Penalty of a unit of the infinite RBM, above 1 ([2]_).
    threshold : float, default=0.1
        New units per step (gamma of [1]_) at which a layer stops growing.
    p : float, default=2.0
        Norm of a unit's weights in the Rademacher bound ([1]_).
    n_gibbs : int, default=1
        Steps k of contrastive divergence while a layer grows.
    persistent : bool, default=False
        Whether the chains of contrastive divergence continue from step to step instead
        of starting at the data.
    likelihood : {"total", "mean"}, default="total"
        Log-likelihood to set against the Rademacher bound in the description length (Eq
        7 of [1]_, which leaves it open): that of all samples, or their mean.

    See Also
    --------
    EnergyNetTransformer : The estimator that takes it as `infinite_rbm_options`.

    References
    ----------
    .. [1] Kristiansen and Gonzalvo, "EnergyNet: energy-based adaptive structural
       learning of artificial neural network architectures" (2017).
    .. [2] Côté and Larochelle, "An infinite restricted Boltzmann machine", Neural
       Computation 28 (2016).

    Examples
    --------
    >>> from skmohn import EnergyNetTransformer, InfiniteRBMOptions
    >>> net = EnergyNetTransformer(
    ...     "infinite_rbm", infinite_rbm_options=InfiniteRBMOptions(threshold=0.5)
    ... )
    >>> net.set_params(infinite_rbm_options__beta=1.1).infinite_rbm_options
    InfiniteRBMOptions(beta=1.1, threshold=0.5)
    """

    _parameter_constraints = {
        "beta": [Interval(Real, 1, None, closed="neither")],
        "threshold": [Interval(Real, 0, None, closed="neither")],
        "p": [Interval(Real, 1, None, closed="left")],
        "n_gibbs": [Interval(Integral, 1, None, closed="left")],
        "persistent": ["boolean"],
        "likelihood": [StrOptions({"total", "mean"})],
    }

    beta: float = 1.01
    threshold: float = 0.1
    p: float = 2.0
    n_gibbs: int = 1
    persistent: bool = False
    likelihood: str = "total"


@dataclass(frozen=True)
class TrainedStack:
    """Layers, the reasons for their widths, and their descriptions of the data."""

    rbms: list[RBM]  # from the bottom to the top
    reason: str  # why there are no more
    width_reasons: list[str]  # why each layer has its width
    # "max_units", "max_steps", "max_work" or None: the limit that ended the growth of
    # each layer early.
    limits: list[str | None]
    # Empty when they were not computed, as `descriptions`.
    log_partitions: list[LogPartition] | None = None
    # Of the samples by the stack up to each layer.
    descriptions: list[DescriptionLength] | None = None
    weight: float = 1.0  # factor of the mean log-likelihood in the descriptions
    # Log-likelihoods of held-out samples; see :class:`GrowthResult`.
    held_out: np.ndarray | None = None

    def measured(
        self,
        within: float,  # mean over samples of the log-densities within levels
    ) -> tuple[list[float], list[float], list[float]]:
        """Log-likelihoods in nats per sample, complexities and lengths, by layer."""
        # Of the stack up to each layer, in the units of the columns.
        found = self.descriptions or []
        return (
            [float(one.log_likelihood / self.weight + within) for one in found],
            [one.complexity for one in found],
            [float(one.total - self.weight * within) for one in found],
        )


class _Stopped(Exception):  # noqa: N818
    """Request of a callback to stop, which ends all loops; holds the layers so far."""


class StackTrainer:
    """Trainer of the layers of an estimator."""

    def __init__(
        self,
        estimator: Any,  # only its parameters are read
        seed: int,
        n_samples: int,  # in all, those of earlier calls included
    ) -> None:
        self.parameters = estimator
        self.infinite_rbm_options = control_of(estimator, "infinite_rbm_options")
        self.is_paper = estimator.growth == "infinite_rbm"
        self.likelihood = "total"
        if self.is_paper:
            self.likelihood = self.infinite_rbm_options.likelihood
        self.weight = likelihood_weight(self.likelihood, n_samples)
        self.seed = seed
        self.n_samples = n_samples
        self._copies: NDArray[np.intp] | None = None  # as of :class:`Encoded`

    @one_blas_thread
    def build(
        self,
        encoded: Encoded,
        report: Callable[..., bool],
        rbms: Sequence[RBM] | None = None,
    ) -> TrainedStack:
        """Grow or train layers, to their end or until a callback requests to stop."""
        # The states of missing values are as good as any, and are replaced.
        # ``report(record, make_rbms)`` is called after every epoch, decision and layer,
        # with a dictionary and a function that returns the stack as it is; it returns
        # whether to stop, and that stack is then the result. `rbms` keep their widths
        # and are trained further, each as long as one whose growth has just ended; None
        # to begin from nothing.

        def tell(record: dict[str, Any], make_rbms: MakeStack) -> None:
            if report(record, make_rbms):
                raise _Stopped(make_rbms())

        starts = self._starts(encoded, rbms)
        self._burn_in(encoded, rbms)
        try:
            if starts is None:
                return self._grow(encoded, tell)
            return self._train(encoded, starts, tell)
        except _Stopped as stop:
            (reached,) = stop.args
            n = len(reached)
            return TrainedStack(reached, STOPPED, [STOPPED] * n, [None] * n)

    def n_records(
        self, encoded: Encoded, rbms: Sequence[RBM] | None = None
    ) -> int | None:
        """Expected number of records; None where layers grow."""
        widths = widths_of(self.parameters)
        if rbms is not None:
            widths = [rbm.n_hidden for rbm in rbms]
        if widths is None:
            return None
        n_records, n_samples = 0, len(encoded)
        for n_columns in (len(encoded.groups.sizes), *widths[:-1]):
            schedule = self._paced(n_columns, n_samples, self.parameters.n_final_epochs)
            at_once = epochs_at_once(n_samples, schedule.batch_size)
            n_records += -(-self._n_epochs(schedule, n_samples) // at_once)
        return n_records

    @one_blas_thread
    def train_epoch(
        self, encoded: Encoded, rbms: Sequence[RBM] | None, seed: int
    ) -> list[RBM]:
        """Train each layer for an epoch; None begins with layers of given widths."""
        trained, inputs = [], encoded.units
        self._burn_in(encoded, rbms)
        for start in self._starts(encoded, rbms) or ():
            of_columns = (None, None) if trained else (encoded.groups, encoded.missing)
            schedule = self._schedule(inputs, *of_columns, n_epochs=1)
            n_steps = schedule.steps_of_epochs(1, len(inputs))
            run = schedule.begin(inputs, start(inputs), n_steps, seed)
            schedule.advance(run, inputs)
            trained.append(run.rbm)
            inputs = run.rbm.hidden_probabilities(inputs)
        return trained

    def _burn_in(self, encoded: Encoded, rbms: Sequence[RBM] | None) -> None:
        """Resample missing values given the existing layers."""
        if rbms and encoded.missing is not None:
            stream = random_stream(self.seed)
            encoded.missing.burn_in(rbms[0], encoded.units, MISSING.n_burn_in, stream)

    def _starts(
        self, encoded: Encoded, rbms: Sequence[RBM] | None
    ) -> list[Callable[[NDArray], RBM]] | None:
        """Functions from the inputs of each layer to the RBM that it begins as."""
        # None where layers grow.
        if rbms is not None:
            return [lambda inputs, rbm=rbm: rbm for rbm in rbms]
        widths = widths_of(self.parameters)
        if widths is None:
            return None
        return [
            lambda inputs, width=width, depth=depth: new_rbm(
                inputs, width, self.seed + depth, None if depth else encoded.groups
            )
            for depth, width in enumerate(widths)
        ]

    def _train(
        self,
        encoded: Encoded,
        starts: Sequence[Callable[[NDArray], RBM]],
        report: StackReport,
    ) -> TrainedStack:
        """Train layers whose width does not change."""
        rbms, reasons, inputs = [], [], encoded.units
        for depth, start in enumerate(starts):
            of_columns = (None, None) if depth else (encoded.groups, encoded.missing)
            schedule = self._schedule(inputs, *of_columns)
            grown = given_width(
                inputs, schedule, start(inputs), self._n_epochs(schedule, len(inputs)),
                self.seed + depth, of_layer(report, depth, rbms),
            )  # fmt: skip
            rbms = [*rbms, grown.run.rbm]
            reasons.append(grown.reason)
            inputs = rbms[-1].hidden_probabilities(inputs)
        return TrainedStack(rbms, GIVEN_DEPTH, reasons, [None] * len(rbms))

    def _grow(self, encoded: Encoded, report: StackReport) -> TrainedStack:
        """Find how many layers there are, and how wide they are."""
        self._copies = encoded.copies
        stack = grow_stack(
            encoded.units, self._grow_layer, self._stack_options(), self.seed, report,
            encoded.groups, encoded.missing,
        )  # fmt: skip
        return TrainedStack(
            [layer.rbm for layer in stack.layers],
            stack.reason,
            [layer.grown.reason for layer in stack.layers],
            [layer.grown.limit for layer in stack.layers],
            [layer.log_partition for layer in stack.layers],
            [layer.description for layer in stack.layers],
            self.weight,
            stack.layers[0].grown.held_out,
        )

    def _grow_layer(
        self,
        inputs: NDArray,
        seed: int,
        report: Report,
        groups: Groups | None,
        missing: MissingMask | None,
    ) -> GrowthResult:
        """Grow a layer, as a function for :func:`grow_stack`."""
        schedule = self._schedule(inputs, groups, missing)
        growth = self.parameters.growth
        if growth == "infinite_rbm":
            options = self._infinite_growth_options(schedule, len(inputs))
            return grow_infinite_rbm(inputs, schedule, options, seed, report)
        limits = self._growth_limits(schedule, len(inputs))
        if growth == "description_length":
            unit_cost = self.parameters.unit_cost
            options = DescriptionLengthOptions(unit_cost=unit_cost, **limits)
            return grow_by_description_length(inputs, schedule, options, seed, report)
        # Only the first layer has groups; there hardly ever is a second one that is
        # wider, for which most of the time would be spent.
        below = inputs.shape[1] if groups is None else np.inf
        options = HeldOutOptions(below=below, copies=self._copies, **limits)
        return grow_by_held_out(inputs, schedule, options, seed, report)

    def _growth_limits(self, schedule: Schedule, n_samples: int) -> dict[str, Any]:
        """Options of growths that end with a training at a settled width."""
        parameters, final_clock = self.parameters, _DEFAULTS.final_clock
        if parameters.n_final_epochs != "auto":
            n_steps = schedule.steps_of_epochs(parameters.n_final_epochs, n_samples)
            final_clock = schedule.clock_of_steps(n_steps)
        return {
            "final_clock": final_clock,
            "max_units": parameters.max_units,
            "max_steps": parameters.max_steps,
        }

    def _schedule(
        self,
        inputs: NDArray,
        groups: Groups | None = None,
        missing: MissingMask | None = None,
        n_epochs: int | None = None,
    ) -> Schedule:
        """Schedule of training on these inputs, of columns if there are groups."""
        n_columns = inputs.shape[1] if groups is None else len(groups.sizes)
        paced = self._paced(
            n_columns, len(inputs), n_epochs or self.parameters.n_final_epochs
        )
        resample = not are_bits(inputs)
        return replace(paced, resample=resample, groups=groups, missing=missing)

    def _paced(self, n_columns: int, n_samples: int, n_epochs: int | str) -> Schedule:
        """Schedule of training for so many columns, and so many epochs or "auto"."""
        # The error of a step's gradient moves the energy of a state by a sum over
        # columns, whose variance is as the learning rate times their number, by the
        # batch size. Where it is large an RBM has modes that its chains never visit. So
        # it is the same for all numbers beyond some, unless a set number of epochs ends
        # sooner.
        parameters, finer = self.parameters, n_columns / _DEFAULTS.n_columns
        if not isinstance(n_epochs, str):
            n_steps = n_epochs * n_samples / _DEFAULTS.batch_size
            clock = n_steps * _DEFAULTS.learning_rate / 2
            finer = min(finer, clock / _DEFAULTS.final_clock)
        root = max(finer, 1.0) ** (1 / 3)
        rate = _DEFAULTS.learning_rate / root
        batch_size = round(_DEFAULTS.batch_size * root**2)
        is_priced = parameters.growth != "held_out" and widths_of(parameters) is None
        precision = _DEFAULTS.weight_precision
        if is_priced:
            precision = _DEFAULTS.costly_weight_precision
        return Schedule(
            learning_rate=_unless_auto(parameters.learning_rate, rate),
            batch_size=_unless_auto(parameters.batch_size, batch_size),
            l2=_unless_auto(parameters.l2, precision / self.n_samples),
            n_samples=self.n_samples if parameters.l2 == "auto" else None,
        )

    def _infinite_growth_options(
        self, schedule: Schedule, n_samples: int
    ) -> InfiniteGrowthOptions:
        parameters, options = self.parameters, self.infinite_rbm_options
        return InfiniteGrowthOptions(
            beta=options.beta,
            threshold=options.threshold,
            learning_rate=_unless_auto(
                parameters.learning_rate, _DEFAULTS.infinite_learning_rate
            ),
            batch_size=_unless_auto(
                parameters.batch_size, _DEFAULTS.infinite_batch_size
            ),
            n_gibbs=options.n_gibbs,
            persistent=options.persistent,
            max_units=parameters.max_units,
            max_steps=parameters.max_steps,
            n_final_epochs=self._n_epochs(schedule, n_samples),
        )

    def _n_epochs(self, schedule: Schedule, n_samples: int) -> int:
        """Epochs of a layer's last training."""
        if self.parameters.n_final_epochs != "auto":
            return self.parameters.n_final_epochs
        n_steps = schedule.steps_of_clock(_DEFAULTS.final_clock)
        return -(-n_steps // schedule.steps_of_epochs(1, n_samples))

    def _stack_options(self) -> StackOptions:
        parameters = self.parameters
        return StackOptions(
            max_layers=parameters.max_layers,
            complexity="rademacher" if self.is_paper else "parameters",
            likelihood=self.likelihood,
            # The paper has no network without layers.
            beats_nothing=not self.is_paper,
            unit_cost=parameters.unit_cost,
            p=self.infinite_rbm_options.p,
            n_temperatures=parameters.n_temperatures,
            n_draws=parameters.n_draws,
        )


def widths_of(parameters: Any) -> list[int] | None:
    """Widths that the user sets; None when layers are to grow."""
    # ValueError is raised if there are none or they are no numbers of units.
    widths = parameters.n_components
    if widths is None:
        if parameters.growth is None:
            raise ValueError("growth=None needs n_components, the width of each layer")
        return None
    refuse_set(widths, "n_components")
    widths = [widths] if isinstance(widths, Integral) else list(widths)
    if not widths or any(not is_integer(width) or width < 1 for width in widths):
        raise ValueError(
            "n_components must be integers of units, at least 1 each, got "
            f"{parameters.n_components!r}"
        )
    return [int(width) for width in widths]


def warn_of_limits(parameters: Any, limits: Sequence[str | None]) -> None:
    """Warn of layers whose growth did not come to its own end."""
    prices = {
        "infinite_rbm": "infinite_rbm_options__threshold",
        "description_length": "unit_cost",
    }
    price = prices.get(parameters.growth)
    advice = f", or raise the cost of a unit by {price}" if price else ""
    for k, limit in enumerate(limits):
        if limit == "max_work":
            warn_caller(
                f"layer {k} was still growing, but wider ones would take many minutes: "
                "for a wider one, set n_components, the width of each layer",
                ConvergenceWarning,
            )
        elif limit is not None:
            warn_caller(
                f"layer {k} was still growing at {limit}={getattr(parameters, limit)}: "
                f"raise {limit}{advice}",
                ConvergenceWarning,
            )


def are_bits(X: NDArray) -> bool:
    """Whether all numbers are 0 or 1."""
    return all(
        np.all((X[rows] == 0.0) | (X[rows] == 1.0))
        for rows in equal_slices(len(X), RBM_LIMITS.max_rows)
    )


def _unless_auto(value: _T | str, default: _T) -> _T:
    return default if isinstance(value, str) else value
