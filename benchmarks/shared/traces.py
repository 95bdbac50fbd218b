"""Networks trained for some seconds on a table of S4, with their errors on the way."""

from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import blm, common
from benchmarks.shared.report import Report
from benchmarks.shared.secant import Network, one_step_secant
from skmohn import BLMClassifier, BLMRegressor

# Probabilities are kept this far from 0 and 1 where their logarithms count.
CLIP = 1e-3
# Times that a run is looked at.
LOOKS = 25


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
    limit : float
        Seconds of training.

    Attributes
    ----------
    seconds, train, test : list of float
    """

    table: Table
    loss: str
    limit: float
    seconds: list = field(default_factory=list)
    train: list = field(default_factory=list)
    test: list = field(default_factory=list)

    def __post_init__(self):
        self.began = common.clock()

    def look(self, outputs_of, last=False):
        """Measure, if it is time; return whether the time is over.

        Parameters
        ----------
        outputs_of : callable
            Takes inputs, returns outputs.
        last : bool, default=False
            Measure in any case.
        """
        now = common.clock() - self.began
        over = now >= self.limit
        due = self.seconds[-1] + self.limit / LOOKS if self.seconds else 0.0
        if last or over or now >= due:
            measure, table = METRICS[self.loss], self.table
            self.seconds.append(now)
            for X, y, errors in (
                (table.X, table.y, self.train),
                (table.X_test, table.y_test, self.test),
            ):
                errors.append(measure(y, outputs_of(X).reshape(y.shape)))
            # To look is not to train.
            self.began = common.clock() - now
        return over


def by_secant(table, units, size, seed, limit, loss="squared", out="identity"):
    """Train by one-step secant steps; return the trace and the weights.

    Parameters
    ----------
    table : Table
    units : int
        In the hidden layer.
    size : float
        Largest weight at the start.
    seed : int
    limit : float
        Seconds.
    loss : {"squared", "cross_entropy"}, default="squared"
    out : {"identity", "logistic"}, default="identity"
        Activation of the outputs.
    """
    net = Network((table.X.shape[1], units, table.y.shape[1]), out, loss)
    start = np.random.default_rng(seed).uniform(-size, size, net.n_weights)
    trace = Trace(table, loss, limit)
    for weights, _ in one_step_secant(
        lambda weights: net.loss_and_gradient(weights, table.X, table.y), start
    ):
        if trace.look(lambda X, weights=weights: net.outputs(weights, X)):
            return trace, weights
    trace.look(lambda X: net.outputs(weights, X), last=True)
    return trace, weights


def by_fit(table, model, limit, loss="squared"):
    """Fit an estimator; return the trace and the estimator.

    One of ours (itself, or the `classifier` in it) is looked at on the way, and ends
    when its time is over; others are looked at once.
    """
    trace = Trace(table, loss, limit)
    learner = getattr(model, "classifier", model)
    if isinstance(learner, BLMClassifier | BLMRegressor):
        learner.set_callbacks(
            blm.Watch(lambda model: trace.look(lambda X: outputs_of(model, X)))
        )
    blm.fitted(model, table.X, table.target)
    trace.look(lambda X: outputs_of(model, X), last=True)
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


def begin(name, *, seconds, widths, elm_widths, quick_share=1):
    """Begin the report on a table: read options and rows, say how long and on what.

    Parameters
    ----------
    name : str
        One of `blm.FILES`.
    seconds : tuple of float
        Of each training run, by default and with --quick; so are the widths.
    widths, elm_widths : tuple of tuples of int
        Hidden units, and those of extreme learning machines.
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
        instances=5, quick_instances=1, seconds=seconds, add_arguments=add_arguments
    )
    options = report.options
    options.widths = options.widths or widths[options.quick]
    options.elm_widths = options.elm_widths or elm_widths[options.quick]
    report.data(blm.FILES[name])
    step = quick_share if options.quick else 1
    X, y = (part[::step] for part in blm.load(name))
    blm.warm_up()
    tables = [Table.of(X, y, seed) for seed in options.seeds]
    of = f" of every {step}th row" if step > 1 else ""
    rows = f"{len(tables[0].X)} rows{of}"
    report.text(f"Training runs of {options.seconds:g} s on {rows}.")
    return report, tables


COLUMNS = ("method", "hidden units", "runs", "test", "±", "lowest", "train", "seconds")


def sweep(methods, tables, seed, kept):
    """Run each method with each of its widths on each table, and yield rows.

    Parameters
    ----------
    methods : list of (name, widths, run)
        `run` takes a table, a width (None for a method without) and a seed; it returns
        a trace and what it has trained.
    tables : list of Table
    seed : int
    kept : dict
        Gets by name and width what the first run returned and the mean of the test
        errors at the end.
    """
    for name, widths, run in methods:
        for units in widths:
            runs = [run(table, units, seed + i) for i, table in enumerate(tables)]
            traces = [trace for trace, _ in runs]
            ends = np.array([trace.test[-1] for trace in traces])
            kept[name, units] = runs[0], ends.mean()
            error = ends.std(ddof=1) / np.sqrt(len(ends)) if len(ends) > 1 else np.nan
            yield (
                name,
                units,
                len(runs),
                f"{ends.mean():.4f}",
                f"{error:.4f}" if len(ends) > 1 else None,
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
