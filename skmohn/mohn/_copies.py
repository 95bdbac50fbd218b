"""Warning of copies: samples with equal inputs that agree more than chance allows."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import OneHotEncoder

from skmohn._core._fitting import warn_caller
from skmohn._core._units import power_of_two_scale
from skmohn.mohn._design.plane_design import Planes
from skmohn.mohn._models import Model
from skmohn.mohn._options import Report
from skmohn.mohn._sparse.exact_fit import equal_values
from skmohn.mohn._table.rows import EncodedRows, distinct_rows
from skmohn.mohn._training_data import TrainingData

# Probability up to which agreement is not due to chance: as for exact fits.
_LEAST_PROBABILITY: Final = 1e-3
# Numbers agree at least so many times as often as chance makes them.
_LEAST_RATIO: Final = 2.0
# Largest fraction of equal rows of copies that independent columns would have as well.
_LARGEST_EXPECTED: Final = 0.5
# Rows whose held-out predictions determine how often chance makes targets equal.
_MOST_PREDICTED: Final = 500


class Repeats(NamedTuple):
    """Samples with equal inputs, and which of these have equal targets."""

    row: NDArray[np.intp]  # (n_samples,); number of the distinct row of each
    first: NDArray[np.intp]  # (n_rows,); first sample of each distinct row
    value: NDArray[np.intp]  # (n_samples,); number of the distinct target of each
    copied: NDArray[np.intp]  # (n_samples,); number of the distinct row and target

    @classmethod
    def find(cls, rows: EncodedRows, value: NDArray[np.intp]) -> Self | None:
        """Compare all samples; None where no two agree in inputs and target."""
        if len(np.unique(value)) == len(value):
            return None
        row, first = distinct_rows(rows)
        pairs = np.column_stack([row, value])
        copied = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
        found = cls(row, first, value, copied)
        return found if found.n_copies else None

    @property
    def n_copies(self) -> int:
        """Number of samples that are equal to an earlier one."""
        return len(self.copied) - int(self.copied.max()) - 1

    def exceed(self, probability: float, least: float) -> bool:
        """Whether pairs agree more often than by a probability, and in a fraction."""
        in_row, in_copy = np.bincount(self.row), np.bincount(self.copied)
        fraction = float(in_copy @ (in_copy - 1.0) / (in_row @ (in_row - 1.0)))
        # A row is one observation of whether its samples agree, however many they are.
        n_repeated = np.sum(in_row > 1)
        n_agreeing = np.rint(fraction * n_repeated)
        by_chance = binom.sf(n_agreeing - 1.0, n_repeated, probability)
        return fraction >= least and bool(by_chance < _LEAST_PROBABILITY)

    def are_expected(self, samples: TrainingData) -> bool:
        """Whether samples drawn from independent columns would repeat about as much."""
        # A table that is there several times is no draw.
        if np.gcd.reduce(np.bincount(self.copied)) > 1:
            return False
        # Levels are those of columns that are inputs as well.
        rows, total, equal = samples.without_levels().rows, len(self.row), 1.0
        for column in (*rows.inputs.T, *rows.categories.T):
            count = np.unique(column, return_counts=True)[1]
            equal *= np.sum((count / total) ** 2)
        in_row = np.bincount(self.row)
        n_pairs = in_row @ (in_row - 1.0)
        return bool(equal * total * (total - 1.0) > _LARGEST_EXPECTED * n_pairs)


def warn_of_copies(samples: TrainingData, model: Model | None) -> None:
    """Warn where numbers of equal rows agree far better than their noise allows."""
    if model is None or isinstance(samples.inputs, Planes):
        return
    value = equal_values(samples.y / power_of_two_scale(samples.y))[1]
    repeats = Repeats.find(samples.rows, value)
    if repeats is None or repeats.are_expected(samples):
        return
    probability = _chance_of_equal(samples, repeats, model)
    if repeats.exceed(probability, _LEAST_RATIO * probability):
        _warn(repeats, "noise allows", "intervals too narrow")


def warn_of_copies_of_classes(
    samples: TrainingData,
    history: Sequence[Mapping[str, Any]],
    solve: Callable[[TrainingData, Report], object],
) -> None:
    """Warn where classes of equal rows agree far better than they can be predicted."""
    if isinstance(samples.inputs, Planes):
        return
    repeats = Repeats.find(samples.rows, samples.y)
    if repeats is None or repeats.are_expected(samples):
        return
    frequencies = np.bincount(samples.y) / len(samples.y)
    by_chance = float(frequencies @ frequencies)
    probability = max(by_chance, _agreement_of_neighbors(samples, repeats))
    if not repeats.exceed(probability, (1.0 + probability) / 2.0):
        return
    records = [record for record in history if "training_log_loss" in record]
    if not records and samples.folds is not None:
        # Folds that may part equal rows show nothing of others.
        return
    if not records:
        # All weights at once were validated by equal rows as well.
        apart = samples._replace(rows=replace(samples.rows, group=repeats.row))

        def keep(record: Mapping[str, Any], _: Any) -> bool:
            records.append(record)
            return False

        solve(apart, keep)
    losses = [record.get("validation_log_loss") for record in records]
    # How probable the class of a row is to the best model of others.
    probabilities = [math.exp(-loss) for loss in losses if loss is not None]
    probability = max(probability, *probabilities, 0.0)
    # Of what chance leaves to differ, more than half agrees.
    if repeats.exceed(probability, (1.0 + probability) / 2.0):
        _warn(repeats, "their probabilities allow", "probabilities too close to 0 or 1")


def _agreement_of_neighbors(samples: TrainingData, repeats: Repeats) -> float:
    """Fraction of repeats whose class is that of the nearest other row."""
    rows = samples.rows.take(repeats.first)
    label = samples.y[repeats.first]
    if len(rows) < 2:
        return 0.0
    table = rows.inputs.astype(float)
    if rows.categories.shape[1]:
        coded = OneHotEncoder(sparse_output=False).fit_transform(rows.categories)
        table = np.hstack([table, coded])
    nearest = NearestNeighbors(n_neighbors=1).fit(table)
    (index,) = nearest.kneighbors(return_distance=False).T
    n_repeats = np.bincount(repeats.row) - 1.0
    return float(np.average(label == label[index], weights=n_repeats))


def _warn(repeats: Repeats, limit: str, result: str) -> None:
    """Warn of copies, with the cure."""
    warn_caller(
        f"{repeats.n_copies} of {len(repeats.row)} rows are copies of others: their "
        f"inputs and targets are equal, far more often than {limit}. Each counts as "
        f"another observation, which makes {result}: drop them (drop_duplicates of "
        "pandas)"
    )


def _chance_of_equal(samples: TrainingData, repeats: Repeats, model: Model) -> float:
    """Probability that two targets of a row are equal, were they independent."""
    # The larger one of two estimates: that of normal noise as large as held-out
    # residuals are, rounded to the smallest step of targets; and how often those of
    # different rows are whose predictions are next to each other.
    y, chosen = samples.y, repeats.first
    if len(chosen) > _MOST_PREDICTED:
        chosen = np.random.default_rng(0).permutation(chosen)[:_MOST_PREDICTED]
    unit = power_of_two_scale(y)
    if model.has_posterior:
        left = model.leave_out(samples.rows, y, None, chosen, with_equals=True)
        residual = left.residual * model.y_std
        transform = model.transform
        predicted = transform.inverse(transform.forward(y[chosen]) - residual)
        is_known = left.count > 0.0
    else:
        predicted = model.predictive_mean(samples.rows.take(chosen))
        is_known = np.ones(len(chosen), dtype=bool)
    errors = (y[chosen] / unit - predicted / unit)[is_known]
    errors = errors[np.isfinite(errors)]
    # Where a fit reproduces each row, nothing is known of others.
    error = np.sqrt(np.mean(errors**2)) if len(errors) else np.std(y / unit)
    step = np.min(np.diff(equal_values(y / unit)[0]), initial=np.inf)
    by_rounding = step / (2.0 * np.sqrt(np.pi) * error) if error else 1.0
    ordered = repeats.value[chosen][np.argsort(predicted, kind="stable")]
    by_neighbors = np.mean(np.diff(ordered) == 0) if len(ordered) > 1 else 0.0
    return float(min(max(by_rounding, by_neighbors), 1.0))
