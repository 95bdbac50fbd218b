"""From an estimator's parameters to a stack of layers."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.utils import gen_batches

from skmohn._core._fitting import one_blas_thread
from skmohn.energynet._growth import (
    NatsControl,
    given_width,
    width_by_gamma,
    width_by_nats,
)
from skmohn.energynet._irbm import OrderedPlan
from skmohn.energynet._rbm import ROWS_AT_ONCE
from skmohn.energynet._stack import StackControl, grow_stack, watched
from skmohn.energynet._training import Plan, epochs_at_once, new_machine

# The sum of the learning rates of a layer's last training.
_POLISH_CLOCK = 300.0
# What "auto" stands for: centred PCD, and the growth of the paper.
_RATE, _BATCH_SIZE = 0.2, 50
_PAPER_RATE, _PAPER_BATCH_SIZE = 0.01, 10
# Of weights with a normal prior of standard deviation 2.
_PRIOR_PRECISION = 0.25

GIVEN_DEPTH = "the layers were given"
STOPPED = "a callback asked to stop"


@dataclass(frozen=True)
class Built:
    """Layers and what is known of them.

    Parameters
    ----------
    rbms : list of RBM
        From the bottom to the top.
    reason : str
        Why there are no more.
    width_reasons : list of str
        Why each layer has its width.
    limits : list of {"max_units", "max_steps", None}
        What kept the growth of each layer from its own end.
    log_partitions : list of LogPartition or None
        None when they were not computed, as `descriptions`.
    descriptions : list of DescriptionLength or None
        Of the samples by the stack up to each layer.
    """

    rbms: list
    reason: str
    width_reasons: list
    limits: list
    log_partitions: list | None = None
    descriptions: list | None = None


class Builder:
    """How an estimator wants its layers.

    Parameters
    ----------
    estimator : EnergyNetTransformer
        Only its parameters are looked at.

    seed : int

    n_samples : int
        Number of samples in all, those of earlier calls included.

    thermometers : ndarray of int
        Number of visible units of each column.
    """

    def __init__(self, estimator, seed, n_samples, thermometers):
        self.parameters = estimator
        self.seed = seed
        self.n_samples = n_samples
        self.thermometers = thermometers

    def build(self, X):
        """Grow or train layers from nothing.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_units), float32
            In [0, 1].

        Yields
        ------
        record : dict

        rbms : list of RBM
            The stack as it is.

        Returns
        -------
        built : Built
        """
        if widths_of(self.parameters) is not None:
            return (yield from self._train(X, self._new_machines()))
        stack = yield from grow_stack(
            X, self._growing_layer, self._stack_control(), self.seed, self.thermometers
        )
        return Built(
            [layer.rbm for layer in stack.layers],
            stack.reason,
            [layer.grown.reason for layer in stack.layers],
            [layer.grown.limit for layer in stack.layers],
            [layer.log_partition for layer in stack.layers],
            [layer.description for layer in stack.layers],
        )

    def train_on(self, X, rbms):
        """Train layers further, each as long as one that has just got its width.

        The arguments, what is yielded and what is returned are those of :meth:`build`;
        the layers keep their widths.
        """
        return self._train(X, [lambda inputs, rbm=rbm: rbm for rbm in rbms])

    def n_records(self, X, rbms=None):
        """How many records there will be; None where layers grow.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_units), float32

        rbms : list of RBM, default=None
            Layers that are trained further.

        Returns
        -------
        n_records : int or None
        """
        layers = widths_of(self.parameters) if rbms is None else rbms
        if layers is None:
            return None
        plan = self._plan(X)
        n_epochs = self._n_epochs(plan, len(X))
        at_once = epochs_at_once(len(X), plan.batch_size)
        return len(layers) * -(-n_epochs // at_once)

    @one_blas_thread
    def train_epoch(self, X, rbms, seed):
        """Train each layer for an epoch.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_units), float32

        rbms : list of RBM or None
            None to begin with layers of the widths that are given.

        seed : int

        Returns
        -------
        rbms : list of RBM
        """
        starts = self._new_machines() if rbms is None else rbms
        trained, inputs = [], X
        for start in starts:
            rbm = start(inputs) if rbms is None else start
            plan = self._plan(inputs)
            run = plan.begin(inputs, rbm, plan.steps_of_epochs(1, len(inputs)), seed)
            plan.advance(run, inputs)
            trained.append(run.rbm)
            inputs = run.rbm.hidden_probabilities(inputs)
        return trained

    def _new_machines(self):
        """For each width that is given a function from inputs to a machine."""
        return [
            lambda inputs, width=width, depth=depth: new_machine(
                inputs, width, self.seed + depth, None if depth else self.thermometers
            )
            for depth, width in enumerate(widths_of(self.parameters))
        ]

    def _train(self, X, starts):
        """Train layers whose width does not change."""
        rbms, reasons, inputs = [], [], X
        for depth, start in enumerate(starts):
            plan = self._plan(inputs)
            growing = given_width(
                inputs, plan, start(inputs), self._n_epochs(plan, len(X)),
                self.seed + depth,
            )  # fmt: skip
            grown = yield from watched(growing, depth, rbms)
            rbms = [*rbms, grown.run.rbm]
            reasons.append(grown.reason)
            inputs = rbms[-1].hidden_probabilities(inputs)
        return Built(rbms, GIVEN_DEPTH, reasons, [None] * len(rbms))

    def _growing_layer(self, inputs, seed, thermometers):
        """The generator of a layer, as :func:`grow_stack` wants it."""
        parameters, plan = self.parameters, self._plan(inputs, thermometers)
        if parameters.growth == "paper":
            n_epochs = self._n_epochs(plan, len(inputs))
            ordered = self._ordered_plan(plan.resample, thermometers)
            return width_by_gamma(inputs, ordered, plan, n_epochs, seed)
        polish = _POLISH_CLOCK
        if parameters.polish != "auto":
            n_steps = plan.steps_of_epochs(parameters.polish, len(inputs))
            polish = plan.clock_of_steps(n_steps)
        control = NatsControl(
            kappa=parameters.kappa,
            polish=polish,
            max_units=parameters.max_units,
            max_steps=parameters.max_steps,
        )
        return width_by_nats(inputs, plan, control, seed)

    def _plan(self, inputs, thermometers=None):
        parameters = self.parameters
        return Plan(
            learning_rate=_unless_auto(parameters.learning_rate, _RATE),
            batch_size=_unless_auto(parameters.batch_size, _BATCH_SIZE),
            l2=_unless_auto(parameters.l2, _PRIOR_PRECISION / self.n_samples),
            resample=not are_bits(inputs),
            thermometers=thermometers,
        )

    def _ordered_plan(self, resample, thermometers):
        parameters = self.parameters
        return OrderedPlan(
            beta=parameters.beta,
            threshold=parameters.threshold,
            learning_rate=_unless_auto(parameters.learning_rate, _PAPER_RATE),
            batch_size=_unless_auto(parameters.batch_size, _PAPER_BATCH_SIZE),
            n_gibbs=parameters.n_gibbs,
            resample=resample,
            thermometers=thermometers,
            max_units=parameters.max_units,
            max_steps=parameters.max_steps,
        )

    def _n_epochs(self, plan, n_samples):
        """Epochs of a layer's last training."""
        if self.parameters.polish != "auto":
            return self.parameters.polish
        n_steps = plan.steps_of_clock(_POLISH_CLOCK)
        return -(-n_steps // plan.steps_of_epochs(1, n_samples))

    def _stack_control(self):
        parameters = self.parameters
        is_paper = parameters.growth == "paper"
        return StackControl(
            max_layers=parameters.max_layers,
            complexity="rademacher" if is_paper else "parameters",
            kappa=parameters.kappa,
            p=parameters.p,
            n_temperatures=parameters.n_temperatures,
            n_draws=parameters.n_draws,
        )


def widths_of(parameters):
    """The widths that are given; None when layers are to grow.

    Raises
    ------
    ValueError
        If there are none or they are no numbers of units.
    """
    widths = parameters.n_components
    if widths is None:
        if parameters.growth is None:
            raise ValueError("growth=None needs n_components, the width of each layer")
        return None
    widths = [widths] if isinstance(widths, Integral) else list(widths)
    if not widths or any(
        isinstance(width, bool) or not isinstance(width, Integral) or width < 1
        for width in widths
    ):
        raise ValueError(
            "n_components must be whole numbers of units, at least 1 each, got "
            f"{parameters.n_components!r}"
        )
    return [int(width) for width in widths]


def are_bits(X):
    """Whether all numbers are 0 or 1."""
    return all(
        np.all((X[rows] == 0.0) | (X[rows] == 1.0))
        for rows in gen_batches(len(X), ROWS_AT_ONCE)
    )


def _unless_auto(value, default):
    return default if isinstance(value, str) else value


@one_blas_thread
def run_through(building, loop):
    """Run a building to its end, or until a callback asks to stop.

    Parameters
    ----------
    building : generator
        Of :meth:`Builder.build` or :meth:`Builder.train_on`.

    loop : FitLoop

    Returns
    -------
    built : Built
    """
    while True:
        try:
            record, rbms = next(building)
        except StopIteration as end:
            return end.value
        if loop.step(record, rbms):
            building.close()
            n_layers = len(rbms)
            return Built(rbms, STOPPED, [STOPPED] * n_layers, [None] * n_layers)
