"""How deep a stack becomes: layers while they shorten the description of the data."""

from dataclasses import dataclass

import numpy as np

from skmohn.energynet import _kernels as kernels
from skmohn.energynet._growth import Grown
from skmohn.energynet._likelihood import (
    DescriptionLength,
    complexity_of,
    dbn_log_likelihood,
    independent_bits,
)
from skmohn.energynet._partition import LogPartition, log_partition
from skmohn.energynet._rbm import random_stream

DEEP_ENOUGH = "another layer does not shorten the description"
ALL_LAYERS = "max_layers"


@dataclass(frozen=True)
class StackControl:
    """When a layer stays, and how that is measured.

    Parameters
    ----------
    max_layers : int, default=10
    complexity : {"parameters", "rademacher"}, default="parameters"
        What layers cost.
    kappa : float, default=1.0
        Factor of the price of parameters.
    p : float, default=2.0
        Norm in the Rademacher bound.
    n_temperatures, n_chains : int, default=10000 and 100
        Of annealed importance sampling.
    n_draws : int, default=300
        Draws of the hidden units for the likelihood of a stack.
    n_samples : int, default=2000
        Most samples whose likelihood is estimated; their mean stands for all.
    """

    max_layers: int = 10
    complexity: str = "parameters"
    kappa: float = 1.0
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
    grown : Grown
    log_partition : LogPartition
    description : DescriptionLength
        Of all samples.
    """

    grown: Grown
    log_partition: LogPartition
    description: DescriptionLength

    @property
    def rbm(self):
        """The machine of this layer."""
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

    layers: list
    without: DescriptionLength
    reason: str


def grow_stack(X, grow_layer, control, seed):
    """Grow layers on layers: BuildNetwork of EnergyNet.

    The first layer always stays, since a stack without layers has no features: compare
    its description with that of independent bits.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_visible), float32
        In [0, 1]. Numbers that are not bits are taken for probabilities.

    grow_layer : callable
        ``grow_layer(inputs, seed)`` returns the generator of a layer, as those of
        :mod:`skmohn.energynet._growth`. The inputs of the first are X, those of the
        others the hidden probabilities of the layer below.

    control : StackControl

    seed : int

    Yields
    ------
    record : dict
        That of the layer with its ``layer``, from 0; when it is complete also
        ``log_likelihood`` (mean over samples), ``complexity`` and
        ``description_length``.

    layers : list of RBM
        The stack as it is.

    Returns
    -------
    stack : Stack
    """
    judge = _Judge(X, control, seed)
    nothing = independent_bits(X)
    without = judge.describe([nothing], log_partition(nothing, X))
    best, layers, reason, inputs = without, [], ALL_LAYERS, X
    for depth in range(control.max_layers):
        below = [layer.rbm for layer in layers]
        grown = yield from watched(grow_layer(inputs, seed + depth), depth, below)
        rbm = grown.run.rbm
        z = log_partition(
            rbm, inputs, n_temperatures=control.n_temperatures,
            n_chains=control.n_chains, random_state=seed,
        )  # fmt: skip
        description = judge.describe([*below, rbm], z)
        yield judge.record(depth, rbm, description), [*below, rbm]
        better = description.total < best.total
        if better or not layers:
            layers.append(StackedLayer(grown, z, description))
        if not better:
            reason = DEEP_ENOUGH
            break
        best, inputs = description, rbm.hidden_probabilities(inputs)
    return Stack(layers, without, reason)


def watched(growing, depth, below):
    """Pass on what a layer yields, with what is below it."""
    while True:
        try:
            record, rbm = next(growing)
        except StopIteration as end:
            return end.value
        yield {"layer": depth} | record, [*below, rbm]


class _Judge:
    """The samples by which stacks are compared, always the same ones."""

    def __init__(self, X, control, seed):
        self.X, self.control, self.seed = X, control, seed
        rows = np.random.default_rng(seed).permutation(len(X))[: control.n_samples]
        probabilities = X[np.sort(rows)]
        self.bits = np.empty_like(probabilities)
        kernels.bernoulli(probabilities, random_stream(seed), self.bits)

    def describe(self, rbms, z):
        """The description length of all samples, from that of some."""
        control = self.control
        log_likelihood = dbn_log_likelihood(
            rbms, self.bits, z, n_draws=control.n_draws, random_state=self.seed
        )
        total = float(log_likelihood.mean() * len(self.X))
        cost = complexity_of(
            rbms, self.X, control.complexity, kappa=control.kappa, p=control.p
        )
        return DescriptionLength(total, cost)

    def record(self, depth, rbm, description):
        return {
            "layer": depth,
            "stage": "layer",
            "units": rbm.n_hidden,
            "log_likelihood": description.log_likelihood / len(self.X),
            "complexity": description.complexity,
            "description_length": description.total,
        }
