"""Coding of columns of a table as visible units, and back."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn._core._meanings import listed
from skmohn._core._quantiles import pull_in, quantile_thresholds
from skmohn._core._rows import equal_slices
from skmohn._core._settings import find_settings
from skmohn._core._tuned import tuned
from skmohn._core._units import binary_units
from skmohn._core._validation import require_memory
from skmohn.energynet._groups import Groups
from skmohn.energynet._layout import Layout, sort_categories, sort_columns
from skmohn.energynet._rbm import RBM_LIMITS
from skmohn.energynet._whitening import Whitening

PROBABILITY = "probability"
MINMAX = "minmax"
THERMOMETER = "thermometer"
CATEGORY = "category"


@dataclass(frozen=True)
class CodingConstants:
    """What columns of fractions are probabilities, and rows coded together."""

    # Fraction of the variance of a bit that its probability must explain.
    min_known_variance: float = tuned(0.4, "benchmarks/ablation.py")
    # Largest fraction of the values that are neither 0 nor 1.
    max_between: float = tuned(2 / 3, "benchmarks/ablation.py")
    # Rows whose values are compared with levels at once.
    n_rows_per_batch: int = tuned(256, "cost")
    # A value loses at most so many nats by its distance: sums stay finite.
    max_distance_nats: float = tuned(1e100, "rounding")
    # Positions closer to an end than this are there: bits with noise are bits.
    rounding: float = tuned(1e-9, "rounding")


_CODING = CodingConstants()


@dataclass(frozen=True)
class UnitCoding:
    """Coding of columns as visible units."""

    # (n_features,), str; ``"probability"`` (a number in [0, 1], one unit), ``"minmax"``
    # (its range becomes [0, 1], one unit), ``"thermometer"`` (a unit for each
    # threshold, 1 where the value reaches it; none when the column is constant) or
    # ``"category"`` (a unit for each category but one, 1 where the value is that).
    kind: np.ndarray
    # (n_features,); `low` becomes 0 and `high` 1; else the ends of the range.
    low: np.ndarray
    high: np.ndarray
    seen: np.ndarray  # (2, n_features); the ends of what was seen
    # Thresholds of each column; empty except for thermometers.
    thresholds: list[np.ndarray]
    # Of thermometers the mean value of each level, one more than there are thresholds;
    # of categories their numbers, the one without a unit first; else empty.
    levels: list[np.ndarray]
    # Of thermometers, a value of each level, and the fraction of its samples that have
    # it, 0 if it is not most of them; else empty.
    atoms: list[np.ndarray]
    atom_fractions: list[np.ndarray]
    strict: bool  # whether numbers outside [0, 1] are refused instead of clipped
    # (n_features,); logarithm of the probability of a category that was not seen: as if
    # one had been seen half a time, as of the others.
    log_unseen: np.ndarray
    # (n_features,); order in which columns are learned from, see `sort_columns`.
    order: np.ndarray
    sign: np.ndarray  # (n_features,); see `sort_columns`
    # Makes thermometers of uncorrelated coordinates; all other fields are then of
    # these.
    whitening: Whitening | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Set the derived fields."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @classmethod
    def learn(
        cls,
        X: NDArray,  # (n_samples, n_features); NaN: unknown
        coding: str,
        n_bins: int,  # most levels of a thermometer
        # Column names for errors; None for their numbers.
        names: Sequence[str] | None = None,
        # Of the columns that hold numbers of categories, from 0.
        n_categories: Mapping[int, int] | None = None,
        # Seed of a whitening of the thermometers with more values than levels, none of
        # them in most samples; None for none.
        whiten: int | None = None,
    ) -> "UnitCoding":
        """Learn the coding of each column."""
        # ValueError is raised if columns leave [0, 1] and are meant for probabilities,
        # or none varies; or if there are no levels to whiten.
        if whiten is not None and coding in (MINMAX, PROBABILITY):
            raise ValueError(
                f"whiten=True needs levels, but coding={coding!r} has none: use "
                'coding="auto" or "thermometer"'
            )
        _require_known(X, names)
        low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
        if not np.any(low < high):
            raise ValueError(
                "no column of X varies in these samples: there is nothing to learn"
            )
        strict = coding == PROBABILITY
        is_number = np.ones(X.shape[1], bool)
        is_number[list(n_categories or ())] = False
        if strict:
            _require_probabilities(X, is_number, names)
        kind = np.full(X.shape[1], THERMOMETER if coding == "auto" else coding)
        if coding == "auto":
            are_bits = _are_bits_or_likely(X, low, high, is_number)
            if whiten is not None:
                # Whitening is for measurements, and fractions are such.
                are_bits &= ~_are_graded(X)
            kind[are_bits] = PROBABILITY
        kind = np.where(is_number, kind, CATEGORY)
        seen = np.stack([low, high])
        low = np.where(kind == PROBABILITY, 0.0, low)
        high = np.where(kind == PROBABILITY, 1.0, high)
        nothing = [np.zeros(0)] * len(kind)
        parts = list(nothing), list(nothing), list(nothing), list(nothing)
        n_known = np.sum(~np.isnan(X), axis=0)
        log_unseen = -np.log(2.0 * n_known + 1.0)
        layout = sort_columns(X, is_number)
        found = cls(kind, low, high, seen, *parts, strict, log_unseen, *layout)
        for j in np.flatnonzero(kind == THERMOMETER).tolist():
            found._learn_levels(j, X[:, j], n_bins)
        for j, categories in sort_categories(X, n_categories or {}).items():
            # The most frequent one needs no unit.
            found.levels[j] = categories.astype(float)
        return found if whiten is None else found._whitened(X, n_bins, whiten)

    def _learn_levels(self, j: int, values: NDArray, n_bins: int) -> None:
        """Cut the values of a thermometer into levels."""
        known = values[~np.isnan(values)]
        # The same levels of the same values with another sign.
        sign = self.sign[j]
        thresholds = sign * quantile_thresholds(sign * known, n_bins)
        self.thresholds[j] = thresholds[:: int(sign)]
        level = np.searchsorted(self.thresholds[j], known, side="right")
        sums = np.bincount(level, pull_in(known / self.scale[j]))
        means = sums / np.bincount(level) * self.scale[j]
        distinct, counts = np.unique(known, return_counts=True)
        at = np.searchsorted(self.thresholds[j], distinct, side="right")
        commonest = np.lexsort((counts, at))[np.cumsum(np.bincount(at)) - 1]
        fractions = counts[commonest] / np.bincount(at, counts)
        self.atoms[j] = distinct[commonest]
        self.atom_fractions[j] = np.where(fractions > 0.5, fractions, 0.0)
        # Values that were pulled in may be those of another level. Of a single value it
        # is that to the last digit, which means lose.
        first = np.searchsorted(at, np.arange(len(means)))
        last = np.append(first[1:], len(distinct)) - 1
        self.levels[j] = np.clip(means, distinct[first], distinct[last])

    def _whitened(self, X: NDArray, n_bins: int, seed: int) -> "UnitCoding":
        """Coding with levels of uncorrelated coordinates, where there are any."""
        measured = np.flatnonzero(self.kind == THERMOMETER).tolist()
        columns = [j for j in measured if self._is_smooth(j, X)]
        if len(columns) < 2:
            return self
        columns = self.order[np.isin(self.order, columns)]
        whitening = Whitening.learn(X, columns, seed, self.sign[columns])
        X = whitening.forward(
            whitening.spread(self._without_missing(whitening, X, seed))
        )
        for ends, of_columns in ((self.low, X.min(axis=0)), (self.high, X.max(axis=0))):
            ends[columns] = of_columns[columns]
        sign = self.sign.copy()
        # Coordinates have the sign that their columns were given.
        sign[columns] = 1.0
        found = replace(self, whitening=whitening, sign=sign)
        for j in columns:
            found._learn_levels(j, X[:, j], n_bins)
        return found

    def _without_missing(self, whitening: Whitening, X: NDArray, seed: int) -> NDArray:
        """Table with draws at missing values of whitened columns."""
        sign = self.sign.copy()
        sign[whitening.columns] = np.sign(whitening.unit)
        table = X * sign
        for j in np.flatnonzero(self.kind == CATEGORY).tolist():
            # Their numbers follow from their names.
            known, ranks = ~np.isnan(X[:, j]), np.argsort(self.levels[j])
            table[known, j] = ranks[X[known, j].astype(int)]
        return whitening.fill(X, seed, table[:, self.order])

    def _is_smooth(self, j: int, X: NDArray) -> bool:
        """Whether a thermometer is nearly continuous."""
        # It has more values than levels, or so many that they hardly repeat, none of
        # them in most samples.
        _, counts = np.unique(X[~np.isnan(X[:, j]), j], return_counts=True)
        n_levels, n_known = len(self.levels[j]), counts.sum()
        # Few rows have few values of a measurement, too.
        many = len(counts) > n_levels or len(counts) > max(n_known / 2, 2)
        return bool(many and n_levels > 1 and 2 * counts.max() <= n_known)

    @property
    def whitened_columns(self) -> NDArray[np.intp]:
        """Columns that are whitened."""
        if self.whitening is None:
            return np.zeros(0, np.intp)
        return self.whitening.columns

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """Power of two near the ends of each column: differences do not overflow."""
        return binary_units(np.stack([self.low, self.high]).astype(np.float64))

    def within_range(self, X: NDArray) -> NDArray:
        """Table with values clipped to the range seen in `fit`."""
        return np.clip(X, *self.seen.astype(X.dtype))

    @property
    def n_levels(self) -> NDArray[np.intp]:
        """Values of each column that units tell apart, at least two, (n_features,)."""
        return np.array([max(len(levels), 2) for levels in self.levels])

    @cached_property
    def n_units(self) -> NDArray[np.intp]:
        """Visible units of each column, ndarray of shape (n_features,)."""
        n_levels = np.array([len(levels) for levels in self.levels])
        return np.where(self.is_single, 1, n_levels - 1)

    @cached_property
    def is_single(self) -> NDArray[np.bool_]:
        """Mask of columns with one unit between 0 and 1, (n_features,)."""
        return (self.kind == PROBABILITY) | (self.kind == MINMAX)

    @cached_property
    def groups(self) -> Groups:
        """Units of the columns that have any, as an RBM takes them."""
        has_units = self.n_units > 0
        is_ordered = self.kind[has_units] != CATEGORY
        return Groups(self.n_units[has_units], is_ordered)

    @property
    def layout(self) -> Layout:
        """Layout in which the units are learned from."""
        is_ordered = self.kind != CATEGORY
        return Layout.of(self.n_units, is_ordered, self.order, self.sign)

    def prepare(
        self,
        X: NDArray,
        seed: int,
        # Rows are not those of `learn`, whose whitened columns spread too little.
        are_new: bool = False,
    ) -> NDArray:
        """Fill the missing values of whitened columns with draws."""
        # Returned is the same table where nothing is whitened.
        if self.whitening is None:
            return X
        X = self._without_missing(self.whitening, X, seed)
        return X if are_new else self.whitening.spread(X)

    def encode(
        self,
        X: NDArray,
        names: Sequence[str] | None = None,  # column names for errors
    ) -> NDArray:
        """Encode values as states of visible units, (n_samples, n_units), in [0, 1]."""
        # Units of NaN have no meaning.
        if self.strict:
            _require_probabilities(X, self.is_single, names)
        if self.whitening is not None:
            X = self.whitening.forward(X)
        ends = np.cumsum(self.n_units)
        require_memory(
            4.0 * len(X) * ends[-1],
            f"X as visible units, {len(X)} x {ends[-1]},",
            "lower n_bins or select columns first",
        )
        units = np.empty((len(X), ends[-1]), np.float32)
        single = np.flatnonzero(self.is_single)
        for rows in equal_slices(len(X), RBM_LIMITS.max_rows):
            position = self._on_line(X[rows][:, single], single)
            # Rows are ordered by bytes, and those of -0 are others than those of 0.
            end = np.rint(position) + 0.0
            is_end = np.abs(position - end) <= _CODING.rounding
            position = np.where(is_end, end, position)
            units[rows, ends[single] - 1] = np.clip(position, 0.0, 1.0)
        for compare, columns, marks, at in self._comparisons:
            # Of some rows, so that what is written stays in the processor's cache.
            for rows in equal_slices(len(X), _CODING.n_rows_per_batch):
                units[rows, at] = compare(X[rows].take(columns, axis=1), marks)
        return units

    @cached_property
    def _comparisons(self) -> list[tuple[np.ufunc, NDArray, NDArray, Any]]:
        """Comparisons of columns with marks, which set units."""
        comparisons = []
        for kind, compare, of_columns in (
            (THERMOMETER, np.greater_equal, self.thresholds),
            (CATEGORY, np.equal, [levels[1:] for levels in self.levels]),
        ):
            is_kind = self.kind == kind
            if not is_kind.any():
                continue
            # What each unit is compared with.
            columns = np.repeat(np.arange(len(self.kind)), self.n_units * is_kind)
            marks = np.concatenate(
                [of_columns[j] for j in np.flatnonzero(is_kind).tolist()]
            )
            at = np.flatnonzero(np.repeat(is_kind, self.n_units))
            at = slice(None) if len(at) == self.n_units.sum() else at
            comparisons.append((compare, columns, marks, at))
        return comparisons

    def log_density(
        self,
        X: NDArray,  # (n_samples, n_features)
    ) -> NDArray[np.float64]:
        """Log-density of values, given the states of their visible units."""
        # Between two thresholds it is uniform. Below the first and above the last it
        # falls exponentially, from the mean distance of the values seen there. Beyond
        # [0, 1] a value on the line of a single unit loses its distance in nats.
        # Categories are counted: theirs are probabilities. Of thermometers it is in
        # nats, in the units of X; NaN adds nothing.
        single = np.flatnonzero(self.is_single)
        total = np.zeros(len(X))
        if self.whitening is not None:
            total += self.whitening.log_slope(X)
            X = self.whitening.forward(X)
        for rows in equal_slices(len(X), RBM_LIMITS.max_rows):
            position = self._on_line(X[rows][:, single], single)
            beyond = np.minimum(
                np.abs(position - np.clip(position, 0.0, 1.0)),
                _CODING.max_distance_nats,
            )
            total[rows] -= np.nansum(beyond, axis=1)
        for j in np.flatnonzero(self.n_units * (self.kind == THERMOMETER)).tolist():
            total += self._log_density_of(j, X[:, j])
        return total

    def _log_density_of(self, j: int, values: NDArray) -> NDArray[np.float64]:
        """Log-density of values of a thermometer, given its level."""
        scale = self.scale[j]
        with np.errstate(over="ignore"):
            x = values / scale
        edges, tails, widths = self._density_of(j)
        level = np.searchsorted(edges, x, side="right")
        found = -np.log(np.concatenate([tails[:1], widths, tails[1:]]))[level]
        with np.errstate(over="ignore"):
            below, above = (edges[0] - x) / tails[0], (x - edges[-1]) / tails[1]
        beyond = np.where(level == 0, below, np.where(level == len(edges), above, 0.0))
        found -= np.minimum(beyond, _CODING.max_distance_nats) + np.log(scale)
        return np.where(np.isnan(x), 0.0, found)

    def _density_of(
        self, j: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Scaled edges of a thermometer, mean distances of its tails, and widths."""
        scale = self.scale[j]
        edges, levels = self.thresholds[j] / scale, self.levels[j] / scale
        # Of the outermost levels the mean distance from the threshold, which is 0
        # where all values are at it.
        ends = levels[[0, -1]]
        tails = np.maximum(np.abs(ends - edges[[0, -1]]), np.spacing(np.abs(ends)))
        widths = np.maximum(np.diff(edges), np.finfo(np.float64).tiny)
        return edges, tails, widths

    def decode(
        self,
        units: NDArray,  # (n_samples, n_units); in [0, 1]
    ) -> NDArray[np.float64]:
        """Decode states or probabilities of visible units as values."""
        # Units are taken for probabilities: of a thermometer the mean level, of
        # categories the number of the most probable one.
        return self._inverse(self._means_of(units))

    def _means_of(self, units: NDArray) -> NDArray[np.float64]:
        """Mean values, or coordinates, of units taken for probabilities."""
        ends = np.cumsum(self.n_units)
        X = np.zeros((len(units), len(self.kind)))
        single = np.flatnonzero(self.is_single)
        low, high = (end[single] / self.scale[single] for end in (self.low, self.high))
        X[:, single] = low + units[:, ends[single] - 1] * (high - low)
        for j in np.flatnonzero(self.kind == THERMOMETER).tolist():
            reached = units[:, ends[j] - self.n_units[j] : ends[j]]
            levels = self.levels[j] / self.scale[j]
            means = levels[0] + reached @ np.diff(levels)
            level = np.rint(reached.sum(axis=1)).astype(int)
            is_state = np.all((reached == 0.0) | (reached == 1.0), axis=1)
            X[:, j] = np.where(is_state, levels[level], means)
        X *= self.scale
        for j in np.flatnonzero(self.kind == CATEGORY).tolist():
            probabilities = self._category_probabilities(j, units)
            X[:, j] = self.levels[j][probabilities.argmax(axis=1)]
        return X

    def draw(
        self,
        units: NDArray,  # (n_samples, n_units); bits
        rng: np.random.Generator | np.random.RandomState,
    ) -> NDArray[np.float64]:
        """Draw values from the density of each state of visible units."""
        # Of a level with a value that most samples had, such as zero, it is that one as
        # often as there, else a number from the density of :meth:`log_density`.
        X, ends = self._means_of(units), np.cumsum(self.n_units)
        for j in np.flatnonzero(self.n_units * (self.kind == THERMOMETER)).tolist():
            level = units[:, ends[j] - self.n_units[j] : ends[j]].sum(axis=1)
            level = level.astype(int)
            edges, tails, widths = self._density_of(j)
            position, fraction = rng.random(len(X)), self.atom_fractions[j][level]
            is_atom = position < fraction
            position = np.where(is_atom, 0.0, position - fraction)
            position /= np.where(is_atom, 1.0, 1.0 - fraction)
            far = -np.log1p(-position)
            low = np.concatenate([edges[:1], edges])[level]
            values = low + position * np.concatenate([[0.0], widths, [0.0]])[level]
            values = np.where(level == 0, edges[0] - far * tails[0], values)
            values = np.where(level == len(edges), edges[-1] + far * tails[1], values)
            values *= self.scale[j]
            X[:, j] = np.where(is_atom, self.atoms[j][level], values)
        return self._inverse(X)

    def modes(self, units: NDArray) -> NDArray:
        """Most probable state of each column, by probabilities of the units."""
        modes, ends = np.rint(units), np.cumsum(self.n_units)
        for j in np.flatnonzero(self.n_units * ~self.is_single).tolist():
            columns = slice(ends[j] - self.n_units[j], ends[j])
            reached, offsets = units[:, columns], np.arange(self.n_units[j])
            if self.kind[j] == CATEGORY:
                state = self._category_probabilities(j, units).argmax(axis=1)
                modes[:, columns] = state[:, None] == offsets + 1
            else:
                steps = np.diff(reached, axis=1, prepend=1.0, append=0.0)
                modes[:, columns] = (-steps).argmax(axis=1)[:, None] > offsets
        return modes

    def complete(
        self,
        X: NDArray,
        units: NDArray,  # (n_samples, n_units); see :meth:`decode`
    ) -> NDArray:
        """Replace NaN in a table by the values that units decode to."""
        # Returned is the same table if there was no NaN.
        rows = np.isnan(X).any(axis=1)
        if not rows.any():
            return X
        X = X.copy()
        X[rows] = np.where(np.isnan(X[rows]), self.decode(units[rows]), X[rows])
        return X

    def numbers(
        self,
        X: NDArray,  # (n_samples, n_features); without NaN, but for categories
        # (n_samples, n_units); in [0, 1]; indicators are probabilities where units are.
        units: NDArray,
    ) -> NDArray:
        """Replace categories in a table by an indicator of each."""
        # Returned is X itself where it has no categories.
        if not np.any(self.kind == CATEGORY):
            return X
        blocks = []
        for j, kind in enumerate(self.kind):
            if kind == CATEGORY:
                order = np.argsort(self.levels[j])
                blocks.append(
                    self._category_probabilities(j, units)[:, order].astype(X.dtype)
                )
            else:
                blocks.append(X[:, [j]])
        return np.hstack(blocks)

    def indicators(self) -> list[slice]:
        """Columns of :meth:`numbers` that are the categories of one column, each."""
        is_category = self.kind == CATEGORY
        counts = np.where(is_category, [len(levels) for levels in self.levels], 1)
        ends = np.cumsum(counts)
        starts = ends - counts
        return list(map(slice, starts[is_category], ends[is_category]))

    def _inverse(self, X: NDArray) -> NDArray[np.float64]:
        return X if self.whitening is None else self.whitening.inverse(X)

    def _category_probabilities(self, j: int, units: NDArray) -> NDArray[np.float64]:
        """Probabilities of the categories of a column, in the order of its levels."""
        end = np.cumsum(self.n_units)[j]
        others = units[:, end - self.n_units[j] : end]
        first = np.maximum(1.0 - others.sum(axis=1, keepdims=True), 0.0)
        return np.hstack([first, others])

    def _on_line(self, X: NDArray, columns: NDArray[np.intp]) -> NDArray[np.float64]:
        """Values of columns on the lines through their ends; 0 of constant ones."""
        scale = self.scale[columns]
        low, high = self.low[columns] / scale, self.high[columns] / scale
        with np.errstate(over="ignore"):
            position = (X / scale - low) / np.where(low < high, high - low, 1.0)
        return np.where((low < high) | np.isnan(X), position, 0.0)


def _are_bits_or_likely(
    X: NDArray, low: NDArray, high: NDArray, is_number: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Mask of columns that are bits, or numbers within [0, 1] as good as bits."""
    # A bit drawn with a probability x has the variance m (1 - m), m the mean of x, of
    # which that of x is known. It is known by 0.8 of the gray levels of MNIST, 0.5 of
    # the digits, and 1/3 of numbers that are uniform: where it is less than 0.4, units
    # would learn the chance of the draw. Nor are those bits of which more than two
    # thirds are neither 0 nor 1: measurements near the ends are still measurements.
    # Columns within [0, 1] are of one kind and are decided together.
    inside = is_number & (low >= 0.0) & (high <= 1.0)
    between = (X > 0.0) & (X < 1.0)
    graded = inside & _are_graded(X)
    mean, variance = np.nanmean(X[:, graded], axis=0), np.nanvar(X[:, graded], axis=0)
    known = variance.sum() >= _CODING.min_known_variance * (mean * (1.0 - mean)).sum()
    at_ends = between[:, graded].sum() <= _CODING.max_between * graded.sum() * len(X)
    return inside if known and at_ends else inside & ~graded


def _are_graded(X: NDArray) -> NDArray[np.bool_]:
    """Mask of columns with numbers between 0 and 1."""
    return np.any((X > 0.0) & (X < 1.0), axis=0)


def with_settings(X: NDArray, of_categories: Collection[int]) -> NDArray:
    """Table whose numbers are equal where they were but for rounding or jitter."""
    # Thresholds would otherwise split them, elsewhere with each rounding.
    found = find_settings(X)
    columns = [j for j in found if j not in of_categories]
    if not columns:
        return X
    X = X.copy()
    for j in columns:
        X[:, j] = found[j].round(X[:, j])
    return X


def _require_known(X: NDArray, names: Sequence[str] | None) -> None:
    nothing = np.flatnonzero(np.isnan(X).all(axis=0)).tolist()
    if nothing:
        columns = [j if names is None else repr(str(names[j])) for j in nothing]
        several = len(columns) > 1
        raise ValueError(
            f"Input X contains NaN in all samples of column{'s' * several} "
            f"{listed(columns)}: nothing can be learned from "
            f"{'them: drop them' if several else 'it: drop it'}"
        )


def _require_probabilities(
    X: NDArray, which: NDArray, names: Sequence[str] | None
) -> None:
    outside = np.flatnonzero(((X < 0.0) | (X > 1.0)).any(axis=0) & which)
    if len(outside):
        j = outside[0]
        column = f"column {j if names is None else repr(str(names[j]))}"
        further = f" and {len(outside) - 1} more columns" if len(outside) > 1 else ""
        worst = X[np.nanargmax(np.abs(X[:, j] - 0.5)), j]
        raise ValueError(
            f'coding="probability" needs numbers from 0 to 1, but {column} has '
            f'{worst:g}{further}; use coding="auto", "thermometer" or "minmax"'
        )
