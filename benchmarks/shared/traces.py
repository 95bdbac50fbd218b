"""Networks trained on a table of S4, with their errors on the way."""

from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import blm, common
from benchmarks.shared.report import Report, mean_sd
from benchmarks.shared.secant import Network, one_step_secant
from skmohn import BLMClassifier, BLMRegressor

# Probabilities are kept this far from 0 and 1 where their logarithms count.
CLIP = 1e-3
# Times that a run is looked at.
LOOKS = 25
# S4 prints seconds of its own machine. Runs here have counts instead: a unit that is
# computed anew for a row is an update. On the spirals the paper's machine made 726,702
# steps in 1000 s; with 56 flips for each step, and a mean of 4.35 units of 2-20-20-1 on
# 194 rows for each flip, it made 34 million updates a second.
MILLIONS_PER_SECOND = 34
# Multiplications of a gradient that count as one update, whose tanh takes as long.
PER_UPDATE = 10
# Flips for each weight, of an epoch and of a fit by default.
OF_EPOCH, OF_OURS = 10, 500


class Table(NamedTuple):
    """Rows to train on and others; targets have a column for each output."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @classmethod
    def of(cls, X, y, seed):
        """Split and scale; classes become columns of 0 and 1."""
        X_train, X_test, y_train, y_test = blm.split(X, y, seed)
        columns = None if y.dtype.kind == "f" else np.unique(y)
        if columns is None:
            return cls(X_train, y_train[:, None], X_test, y_test[:, None])
        y_train, y_test = (
            (part[:, None] == columns).astype(float) for part in (y_train, y_test)
        )
        return cls(X_train, y_train, X_test, y_test)

    @property
    def target(self):
        """What estimators take: numbers, or columns of classes."""
        return self.y if self.y.shape[1] > 1 else self.y.ravel()


def cross_entropy(target, output):
    """Mean over the rows of the sum over all outputs, each a probability."""
    output = np.clip(output, CLIP, 1 - CLIP)
    parts = target * np.log(output) + (1 - target) * np.log(1 - output)
    return float(-parts.sum(axis=1).mean())


METRICS = {"squared": blm.rmse, "cross_entropy": cross_entropy}


@dataclass
class Trace:
    """Errors on the way.

    Parameters
    ----------
    table : Table
    loss : {"squared", "cross_entropy"}
        What is measured: the root mean squared error, or the cross-entropy.

    Attributes
    ----------
    seconds, train, test : list of float
    """

    table: Table
    loss: str
    seconds: list = field(default_factory=list)
    train: list = field(default_factory=list)
    test: list = field(default_factory=list)

    def __post_init__(self):
        self.began = common.clock()
        self.next = 0.0

    def look(self, outputs_of, share):
        """Measure, if it is time.

        Parameters
        ----------
        outputs_of : callable
            Takes inputs, returns outputs.
        share : float
            How much of its budget the run has used.
        """
        now = common.clock() - self.began
        if share >= self.next:
            self.next = share + 1 / LOOKS
            measure, table = METRICS[self.loss], self.table
            self.seconds.append(now)
            for X, y, errors in (
                (table.X, table.y, self.train),
                (table.X_test, table.y_test, self.test),
            ):
                errors.append(measure(y, outputs_of(X).reshape(y.shape)))
            # To look is not to train.
            self.began = common.clock() - now


def n_flips(table, units, budget):
    """Return how many flips of a network have so many million updates."""
    n_in, n_out = table.X.shape[1] + 1, table.y.shape[1]
    # A weight to a hidden unit changes that and all outputs, another one output.
    changed = n_in * (1 + n_out) + n_out
    mean = (changed + n_out / units) / (n_in + n_out + n_out / units)
    return round(budget * 1e6 / (len(table.X) * mean))


def n_gradients(table, units, budget):
    """Return how many gradients of a network have so many million updates."""
    n_in, n_out = table.X.shape[1] + 1, table.y.shape[1]
    n_weights = n_in * units + (units + 1) * n_out
    # Each weight is multiplied forward, backward and for its own derivative.
    each = units + n_out + 3 * n_weights / PER_UPDATE
    return round(budget * 1e6 / (len(table.X) * each))


def by_secant(table, units, size, seed, budget, loss="squared", out="identity"):
    """Train by one-step secant steps; return the trace and the weights.

    Parameters
    ----------
    table : Table
    units : int
        In the hidden layer.
    size : float
        Largest weight at the start.
    seed : int
    budget : int
        Million updates, see :func:`n_gradients`.
    loss : {"squared", "cross_entropy"}, default="squared"
    out : {"identity", "logistic"}, default="identity"
        Activation of the outputs.
    """
    net = Network((table.X.shape[1], units, table.y.shape[1]), out, loss)
    start = np.random.default_rng(seed).uniform(-size, size, net.n_weights)
    trace, used, most = Trace(table, loss), 0, n_gradients(table, units, budget)

    def gradient(weights):
        nonlocal used
        used += 1
        return net.loss_and_gradient(weights, table.X, table.y)

    for weights, _ in one_step_secant(gradient, start):
        trace.look(lambda X, weights=weights: net.outputs(weights, X), used / most)
        if used >= most:
            break
    trace.look(lambda X: net.outputs(weights, X), np.inf)
    return trace, weights


def by_fit(table, model, budget, loss="squared"):
    """Fit an estimator; return the trace and the estimator.

    One of ours (itself, or the `classifier` in it) is looked at on the way, others are
    once. The budget, in million updates, replaces a number of flips without bound.
    """
    trace, n_epochs = Trace(table, loss), 0
    learner = getattr(model, "classifier", model)
    if isinstance(learner, BLMClassifier | BLMRegressor):
        (units,) = learner.hidden_layer_sizes
        n_in, n_out = table.X.shape[1] + 1, table.y.shape[1]
        most = OF_OURS
        if learner.max_flips != "auto":
            learner.set_params(max_flips=n_flips(table, units, budget))
            most = learner.max_flips / (n_in * units + (units + 1) * n_out)

        def look(fitted):
            nonlocal n_epochs
            n_epochs += 1
            share = n_epochs * OF_EPOCH / most
            trace.look(lambda X: outputs_of(fitted, X), share)

        learner.set_callbacks(blm.Watch(look))
    blm.fitted(model, table.X, table.target)
    trace.look(lambda X: outputs_of(model, X), np.inf)
    return trace, model


def outputs_of(model, X):
    """Return probabilities, or predicted numbers."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return model.predict(X)


def with_scales(model):
    """Return a regressor with standardized inputs and targets."""
    model = make_pipeline(StandardScaler(), model)
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def begin(name, *, seconds, quick, widths, elm_widths, quick_share=1):
    """Begin the report on a table: read options and rows, print how long and on what.

    Parameters
    ----------
    name : str
        One of `blm.FILES`.
    seconds : int
        Of each of the paper's training runs.
    quick : int
        Million updates with --quick.
    widths, elm_widths : tuple of tuples of int
        Hidden units, and those of extreme learning machines, with --quick last.
    quick_share : int, default=1
        With --quick, one row in so many.

    Returns
    -------
    report : Report
        Its options have ``widths`` and ``elm_widths``, too.
    tables : list of Table
        A split for each repetition.
    """

    def add_arguments(parser):
        parser.add_argument("--widths", type=int, nargs="+", help="hidden units")
        parser.add_argument("--elm-widths", type=int, nargs="+", help="of the ELM")

    report = Report(
        instances=10,
        quick_instances=1,
        budget=(seconds * MILLIONS_PER_SECOND, quick),
        unit=f"million updates of units, {seconds * MILLIONS_PER_SECOND:,} of which "
        f"took the paper's machine about {seconds} s",
        paper={"instances": 5, "budget": seconds * MILLIONS_PER_SECOND},
        defaults={"widths": widths, "elm_widths": elm_widths},
        add_arguments=add_arguments,
    )
    options = report.options
    report.data(blm.FILES[name])
    step = quick_share if options.quick else 1
    X, y = (part[::step] for part in blm.load(name))
    blm.warm_up()
    tables = [Table.of(X, y, seed) for seed in options.seeds]
    of = f" of every {step}th row" if step > 1 else ""
    rows = f"{len(tables[0].X)} rows{of}"
    report.text(f"Trained on {rows}.")
    return report, tables


COLUMNS = ("method", "hidden units", "runs", "test", "lowest", "train", "seconds")


def sweep(report, methods, tables, kept):
    """Run each method with each of its widths on each table, and yield rows.

    Parameters
    ----------
    report : Report
        Gets each run.
    methods : list of (name, widths, run)
        `run` takes a table, a width (None for a method without) and a seed; it returns
        a trace and what it has trained.
    tables : list of Table
    kept : dict
        Gets by name and width what the first run returned and the mean of the test
        errors at the end.
    """
    seeds = report.options.seeds
    for name, widths, run in methods:
        for units in widths:
            runs = [
                run(table, units, k) for table, k in zip(tables, seeds, strict=True)
            ]
            traces = [trace for trace, _ in runs]
            ends = [trace.test[-1] for trace in traces]
            kept[name, units] = runs[0], float(np.mean(ends))
            for seed, trace in zip(seeds, traces, strict=True):
                report.run(
                    f"{name}, {units}",
                    seed,
                    test=trace.test[-1],
                    lowest=min(trace.test),
                    train=trace.train[-1],
                    seconds=trace.seconds[-1],
                )
            yield (
                name,
                units,
                len(runs),
                mean_sd(ends, 4),
                f"{np.mean([min(trace.test) for trace in traces]):.4f}",
                f"{np.mean([trace.train[-1] for trace in traces]):.4f}",
                median(trace.seconds[-1] for trace in traces),
            )


def draw_widths(ax, kept, score, names=None):
    """Draw the mean test error of methods by their widths.

    Parameters
    ----------
    ax : Axes
    kept : dict
        From :func:`sweep`.
    score : str
        What the error is.
    names : iterable of str, default=None
        None for all methods that have widths.
    """
    for name in names or dict.fromkeys(n for n, units in kept if units is not None):
        found = [(units, mean) for (n, units), (_, mean) in kept.items() if n == name]
        ax.plot(*np.array(found).T, "o-", label=name, markersize=4)
    ax.set(xscale="log", xlabel="hidden units", ylabel=f"test {score}")


def print_lowest(report, kept, score, published):
    """Print the lowest mean test error of each method of a sweep, and its width.

    Parameters
    ----------
    report : Report
    kept : dict
    score : str
    published : dict of str to float
        What the paper has, by method.
    """
    report.table(
        (f"lowest mean test {score}", "published", "here", "hidden units here"),
        (
            (name, published.get(name), f"{mean:.4f}", units)
            for name in dict.fromkeys(name for name, _ in kept)
            for units, mean in [best(kept, name)]
        ),
    )


def best(kept, name):
    """Return the width with the lowest mean test error, and that."""
    found = {units: mean for (other, units), (_, mean) in kept.items() if other == name}
    units = min(found, key=found.get)
    return units, found[units]
