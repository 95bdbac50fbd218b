"""Algorithm 1: which settings give the published widths.

The paper grows a layer of an infinite machine by contrastive divergence: a unit may be
added at each step, gamma is the number of units divided by that of steps, and growth
ends when gamma is at most Gamma. Learning rate (0.01), beta (1.01) and Gamma (0.1, for
MNIST 0.8) are printed. Batch size, steps k of contrastive divergence, epochs, scaling
of inputs, initial weights and what AddNode asks are not.

Chosen here: a unit is added when the order drawn for a sample of the batch lies past
the last unit; weights begin at zero and visible biases at the log-odds of the data;
columns are scaled to [0, 1], and bits are drawn with these probabilities at every step;
training goes on until gamma is at Gamma. Steps are counted before gamma is looked at,
since the algorithm as printed divides by zero.

A row of the table changes what it says, and shows the units of the first layer, their
mean and standard deviation over seeds. A > marks growth that had not ended after the
units that are printed below. Two kinds of tries contradict another text: the penalty of
Eq 5 read as the constant 1.01, instead of 1.01 softplus(bias) as in the paper on
infinite machines; and orders that end at the last unit, against Eq 6, which asks for
another unit when it is drawn.

With batches of one sample, german comes out about as printed, diabetes too wide or,
with columns as thermometers, too narrow, and images far too narrow; CIFAR-10 needs
batches of about 3, MNIST larger ones than 32. No batch size gives all four widths: the
larger the batch, the more often a unit is asked for, so that gamma measures the batch
as much as the data. With batches of one, steps and persistence of the chains hardly
matter. Where orders end at the last unit, batches of 10 come near to three of the
widths at once, but not to that of MNIST. A constant penalty makes most layers narrow.

**Unexplained:** the published widths: no batch size, and nothing else that was tried,
gives all four.
"""

import numpy as np

from benchmarks.shared import energynet, results
from benchmarks.shared.report import Report, mean_sd
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._coding import UnitCoding
from skmohn.energynet._infinite_rbm import (
    InfiniteGrowthOptions,
    InfiniteRBM,
    InfiniteTraining,
)
from skmohn.energynet._stack_trainer import are_bits
from skmohn.energynet._training import Schedule

PUBLISHED = {"german": 122, "diabetes": 184, "mnist": 1525, "cifar-10": 101}
# Units after which growth is given up, fewer with --quick.
BUDGET = 2000, 400
# Rows that the paper has: all.
SIZES = {"instances": 1, "rows": 50_000, "sets": [*PUBLISHED]}


class ConstantPenalty(InfiniteRBM):
    """An infinite machine whose units all cost beta, whatever their biases."""

    @property
    def log_tail(self):
        log_r = np.log(2.0) - self.beta
        return float(log_r - np.log(-np.expm1(log_r)))

    def penalties(self):
        return np.full(self.n_hidden, self.beta)

    def visit(self, V, share, stream):
        hidden, (weights, _, visible), n_past = super().visit(V, share, stream)
        reach = self.order_probabilities(V)[:, ::-1].cumsum(axis=1)[:, :0:-1]
        active = 1.0 / (1.0 + np.exp(-(V @ self.weights.T + self.hidden_bias)))
        by_bias = (share * (reach * active).sum(axis=0)).astype(np.float32)
        return hidden, (weights, by_bias, visible), n_past


class FiniteOrders(InfiniteRBM):
    """An ordered machine whose last unit, where an order ends, asks for another."""

    @property
    def log_tail(self):
        return -np.inf

    def visit(self, V, share, stream):
        hidden, gradient, _ = super().visit(V, share, stream)
        last = self.order_probabilities(V)[:, -2:-1].astype(np.float32)
        drawn = np.empty_like(last)
        kernels.bernoulli(last, stream, drawn)
        return hidden, gradient, int(drawn.sum())


def unchanged(machine):
    return machine


def without_biases(machine):
    machine.visible_bias[:] = 0.0
    return machine


def constant_penalty(machine):
    return ConstantPenalty(**vars(machine))


def finite_orders(machine):
    machine = FiniteOrders(**vars(machine))
    machine.add_unit()
    return machine


# What a try changes: coding of the columns, epochs, the first machine, the plan.
TRIES = {
    "batches of 1": ("minmax", None, unchanged, {"batch_size": 1}),
    "batches of 3": ("minmax", None, unchanged, {"batch_size": 3}),
    "batches of 10": ("minmax", None, unchanged, {"batch_size": 10}),
    "batches of 32": ("minmax", None, unchanged, {"batch_size": 32}),
    "batches of 100": ("minmax", None, unchanged, {"batch_size": 100}),
    "1, k = 10": ("minmax", None, unchanged, {"batch_size": 1, "n_gibbs": 10}),
    "1, persistent chain": (
        "minmax", None, unchanged, {"batch_size": 1, "persistent": True},
    ),
    "10, persistent chains": (
        "minmax", None, unchanged, {"batch_size": 10, "persistent": True},
    ),
    "10, one epoch": ("minmax", 1, unchanged, {"batch_size": 10}),
    "10, ten epochs": ("minmax", 10, unchanged, {"batch_size": 10}),
    "1, columns as thermometers": ("auto", None, unchanged, {"batch_size": 1}),
    "1, visible biases begin at 0": (
        "minmax", None, without_biases, {"batch_size": 1},
    ),
    "1, constant penalty": ("minmax", None, constant_penalty, {"batch_size": 1}),
    "1, no orders past the last unit": (
        "minmax", None, finite_orders, {"batch_size": 1},
    ),
    "10, no orders past the last unit": (
        "minmax", None, finite_orders, {"batch_size": 10},
    ),
    "32, no orders past the last unit": (
        "minmax", None, finite_orders, {"batch_size": 32},
    ),
    "32, constant penalty": ("minmax", None, constant_penalty, {"batch_size": 32}),
}  # fmt: skip
QUICK = (
    "batches of 1",
    "batches of 3",
    "1, persistent chain",
    "10, no orders past the last unit",
)


def main():
    """Print the widths of each try."""
    report = Report(
        instances=10,
        quick_instances=1,
        budget=BUDGET,
        unit="units",
        paper=SIZES,
        defaults={
            "rows": (None, 1000),
            "sets": ([*PUBLISHED], [*PUBLISHED]),
            "tries": (range(len(TRIES)), [list(TRIES).index(name) for name in QUICK]),
        },
        add_arguments=_add_arguments,
    )
    options = report.options
    sets = {
        name: energynet.published_set(report, name, options.rows)[0]
        for name in options.sets
    }
    tries = [list(TRIES)[k] for k in options.tries]
    sizes = ", ".join(f"{name} {len(X)}" for name, X in sets.items())
    report.text(f"Rows: {sizes}.")

    def rows():
        yield "published", *(str(PUBLISHED[name]) for name in sets)
        for name in tries:
            yield name, *(try_on(sets[k], k, name, report) for k in sets)

    report.table(("batches and what else differs", *sets), rows())


def try_on(X, name, try_name, report):
    """Return in words the units of a layer over seeds."""
    coding, n_epochs, begin, parameters = TRIES[try_name]
    learned = UnitCoding.learn(X, coding, 8, None)
    units = learned.encode(X, None)
    max_steps = 100_000
    if n_epochs is not None:
        max_steps = n_epochs * -(-len(units) // parameters["batch_size"])
    growth = InfiniteGrowthOptions(
        threshold=energynet.GAMMA[name],
        max_units=report.options.budget,
        max_steps=max_steps,
        **parameters,
    )  # fmt: skip
    schedule = Schedule(resample=not are_bits(units), groups=learned.groups)
    training = InfiniteTraining(growth, schedule)
    widths = []
    for seed in report.options.seeds:
        run = training.begin(units, seed)
        run.rbm = begin(run.rbm)
        while run.reason is None:
            training.advance(run, units)
        report.run(f"{try_name}: {name}", seed, units=run.rbm.n_hidden)
        if run.reason == "max_units":
            # Other seeds would take as long, and show no more.
            return f">{run.rbm.n_hidden}"
        widths.append(run.rbm.n_hidden)
    return mean_sd(widths)


def _add_arguments(parser):
    parser.add_argument("--rows", type=int, help="images (all, quick 1000)")
    parser.add_argument("--sets", nargs="+", choices=[*PUBLISHED], help="data (all)")
    parser.add_argument("--tries", type=int, nargs="+", help="by number (all)")


if __name__ == "__main__":
    results.record(main)
