"""Outliers: single targets so far off that a fit without them describes all better."""

# A target is regular or, with a small probability, an outlier, which lies around its
# prediction as Cauchy's distribution does, in predictive standard deviations. Outliers
# are found by left-out residuals and left out of the next fit, until the same are
# found. They stay out if that shortens the description of all targets.
#
# Sources: Aitkin and Wilson, Mixture models, outliers, and the EM algorithm,
# Technometrics 22, 1980 (the mixture); Rousseeuw and Leroy, Robust regression and
# outlier detection, Wiley, 1987 (residuals in units of one of their quantiles).

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln
from scipy.stats import norm
from sklearn.model_selection import GroupKFold

from skmohn._core._fitting import History, table_is_read
from skmohn._core._sklearn import check_sample_weight
from skmohn._core._tuned import tuned
from skmohn._core._units import power_of_two_scale
from skmohn._core._validation import to_numpy
from skmohn.mohn._design.design import make_design
from skmohn.mohn._design.plane_design import Planes
from skmohn.mohn._genotypes import Genotypes, encode
from skmohn.mohn._gp.multitask import TaskView
from skmohn.mohn._gp.transform_selection import (
    choose_scale,
    choose_transform_and_levels,
)
from skmohn.mohn._models import FitResult, Model, count_and_precision
from skmohn.mohn._sparse.model import SparseModel
from skmohn.mohn._table.rows import members_of
from skmohn.mohn._table.tails import cauchy_log_density
from skmohn.mohn._training_data import Copies, TrainingData, read_training_data


@dataclass(frozen=True)
class OutlierConstants:
    """Outliers of the target."""

    # Standard deviations from which on a target may be an outlier: 0.06 of 100,000
    # normal ones are that far. The description decides.
    n_stds: float = tuned(5.0, "benchmarks/ablation.py")
    # The same of residuals that their own fit may have shortened.
    n_stds_fitted: float = tuned(3.0, "benchmarks/ablation.py")
    # Rows whose left-out residuals tell their spread.
    max_rows_spread: int = tuned(200, "cost")
    # Largest fraction of outliers: more are a distribution of their own.
    max_fraction: float = tuned(0.1, "benchmarks/ablation.py")
    # Distances whose squares are numbers.
    max_distance: float = tuned(1e150, "rounding")
    # Fewer distinct targets than this have no density: a fit could gain by their ties.
    min_values: int = tuned(10, "benchmarks/ablation.py")
    # Fits without outliers: the farthest hide others.
    max_rounds: int = tuned(3, "benchmarks/ablation.py")
    # Nats that leaving them out must save: "very strong" evidence.
    min_gain: float = tuned(5.0, "Kass and Raftery (1995), section 3")


_OUTLIERS = OutlierConstants()
# Those, the first, and two on skewed scales.
MAX_FITS = 1 + _OUTLIERS.max_rounds + 2


@dataclass(frozen=True)
class Fit:
    """Solution, the samples that it was learned from, and records of its steps."""

    samples: TrainingData
    solution: FitResult
    records: Sequence[dict] = ()
    squares_of_groups: np.ndarray | None = None  # see `squares_of_new_groups`

    @property
    def history(self) -> History:
        """Records, numbered from 1."""
        numbered = enumerate(self.records, 1)
        return History({**record, "iteration": k} for k, record in numbered)

    @cached_property
    def model(self) -> Model | None:
        """Model with a posterior; None where no noise was found."""
        # That of the terms where the solution has none.
        samples, model = self.samples, self.solution.model
        if self.solution.is_exact or np.ptp(samples.y) == 0.0:
            return None
        if model is None:
            design = make_design(samples.inputs, samples.sample_weight)
            model = SparseModel.condition(self.solution.graph, design, samples.y)
        if not (model.has_posterior and model.noise_variance):
            return None
        if self.has_planes:
            return model
        return model.with_missing_inputs(
            samples.rows, samples.y, samples.sample_weight, samples.coding
        )

    @property
    def has_planes(self) -> bool:
        """Whether inputs are bits, for which there are no variances."""
        return isinstance(self.samples.inputs, Planes)

    def length(self) -> float:
        """Description length, in nats."""
        return -np.inf if self.model is None else self.model.description_length()


class Targets:
    """All targets of a fit, and the rows that they were observed at."""

    def __init__(
        self,
        # As of :func:`~skmohn.mohn._training_data.read_training_data`.
        table: NDArray | Genotypes,
        y: NDArray,
        copies: Copies,  # rows of weight 0, and further copies of rows, are ignored
        how: dict[str, Any],  # other arguments of `read_training_data`
    ) -> None:
        self.y, self.copies = y, copies
        self.weight = check_sample_weight(
            to_numpy(copies.relative_weight), table, ensure_non_negative=True
        )
        self._table, self._how = table, how

    def read(
        self, without: NDArray | None = None, together: TaskView | None = None
    ) -> TrainingData:
        """Weigh, split and encode the samples but for those of a mask."""
        weight = self.weight if without is None else self.weight * ~without
        # Of the whole table all was said when it was read.
        with nullcontext() if without is None else table_is_read():
            data = read_training_data(
                self._table, self.y, weight, task="regression", **self._how
            )._replace(multitask=together)
        if without is not None and not isinstance(self._table, Genotypes):
            data = data._replace(coding=data.coding.admit(self._table[without]))
        if not self._how["strategy"].may_be_dense:
            return data
        return choose_transform_and_levels(data, self._how["settings"].gp_options)

    def on_skewed_scales(self, fit: Fit) -> Iterator[TrainingData]:
        """Samples on the likeliest other scales, if the target is on its own."""
        samples, control = fit.samples, self._how["settings"].gp_options
        is_open = (
            self._how["strategy"].may_be_dense and control.target_transform == "auto"
        )
        if not is_open or _posterior(fit).is_transformed or fit.has_planes:
            return
        names = ["yeo-johnson"] + ["log"] * bool(np.min(samples.y) > 0.0)
        for name in names:
            scale = choose_scale(
                name,
                samples.rows.as_float(),
                samples.term_names.alphabets,
                0,
                samples.y,
                samples.sample_weight,
                samples.seed,
            )
            yield samples._replace(target_transform=scale, multitask=None)

    def distances(self, fit: Fit) -> NDArray:
        """Residuals in standard deviations, leave-one-out where they are large."""
        # Where rows cannot be left out, since terms may reproduce them, the distance is
        # at least that from the median.
        samples, model, y = fit.samples, _posterior(fit), fit.samples.y
        with np.errstate(invalid="ignore"):
            plain = model.transform.forward(y) - model.fitted_mean(samples.rows)
        inside, around = _standardize(plain), _standardize(y)
        # Their own fit hides some; of the others it is enough to know the spread.
        suspects = (np.abs(inside) > _OUTLIERS.n_stds_fitted) | (
            np.abs(around) > _OUTLIERS.n_stds
        )
        if fit.has_planes:
            inside = np.where(np.abs(inside) > np.abs(around), inside, around)
        elif suspects.any():
            drawn = np.random.default_rng(0).permutation(len(y))[
                : _OUTLIERS.max_rows_spread
            ]
            chosen = np.union1d(np.flatnonzero(suspects), drawn)
            left, is_known = _left_out_distances(samples, model, chosen)
            left = _standardize(left, np.isin(chosen, drawn))
            inside[chosen] = np.where(is_known, left, around[chosen])
        apart = np.zeros(len(self.y))
        apart[samples.row_index] = inside
        others = self.weight > 0.0
        others[samples.row_index] = False
        if others.any():
            apart[others], _ = self.predict(others, fit)
        return apart

    def predict(self, others: NDArray, fit: Fit) -> tuple[NDArray, NDArray]:
        """Residuals of targets outside of a fit, and logarithms of deviations."""
        # Deviations are predictive standard deviations.
        model, y = _posterior(fit), self.y[others]
        table = self._table[np.flatnonzero(others)]
        rows = encode(fit.samples.coding, table, self._how["columns"])
        _, precision = count_and_precision(
            np.where(self.weight > 0.0, self.weight, 1.0), len(self.y)
        )
        precision = precision[others] / fit.samples.weight_scale
        std = np.full(len(y), model.y_std * np.sqrt(model.noise_variance))
        if not fit.has_planes:
            std = model.std_on_scale(rows, precision)
        with np.errstate(all="ignore"):
            apart = (model.transform.forward(y) - model.latent_mean(rows)) / std
            log_unit = np.log(std) - model.transform.log_slope(y)
        outside = np.isnan(apart)
        if outside.any():
            # Where a target has no value on the scale, distances are its own.
            rows, std = rows.take(outside), model.predictive_std(rows.take(outside))
            apart[outside] = (y[outside] - model.predictive_mean(rows)) / std
            log_unit[outside] = np.log(std)
        return apart, log_unit

    def far_off(self, fit: Fit, outliers: NDArray) -> NDArray:
        """Mask of the targets whose residuals make them likely outliers."""
        # It is that of the outliers which the fit leaves out if no other is better.
        observed = self.weight > 0.0
        apart, y = self.distances(fit)[observed], self.y[observed]
        far = np.abs(apart) > _OUTLIERS.n_stds
        if far.sum() > _OUTLIERS.max_fraction * len(y):
            return outliers
        if len(np.unique(y[~far])) < _OUTLIERS.min_values:
            far &= _is_far_apart(y, int(far.sum()))
        count, _ = count_and_precision(self.weight[observed], len(y))
        known = _saved_by(outliers[observed], apart, count)
        if _saved_by(far, apart, count) <= known:
            return outliers
        found = np.zeros(len(self.y), dtype=bool)
        found[observed] = far
        return found

    def length_of(self, outliers: NDArray, fit: Fit) -> float:
        """Description length, in nats, of which targets are outliers and how far."""
        # The probability of outliers is uniform a priori.
        if fit.model is None:
            return 0.0  # Beside an exact fit.
        apart, log_unit = self.predict(outliers, fit)
        observed = self.weight > 0.0
        count, _ = count_and_precision(self.weight[observed], int(observed.sum()))
        of_outliers = count[outliers[observed]]
        which = _length_of_mask(of_outliers.sum(), count.sum())
        return float(which + of_outliers @ (log_unit - cauchy_log_density(apart)))


def leave_outliers_out(
    first: Fit,  # of all targets
    solve: Callable[[TrainingData], Fit],
    targets: Targets,
) -> tuple[Fit, NDArray]:
    """Fit without the targets that are outliers; return the fit and their mask."""
    none = np.zeros(len(targets.y), dtype=bool)
    fit, outliers, length_of_first = first, none, math.inf
    known: dict[bytes, Fit] = {}
    for _ in range(_OUTLIERS.max_rounds):
        if fit.model is None or fit.solution.is_stopped:
            break
        found = targets.far_off(fit, outliers)
        if np.array_equal(found, outliers) or not found.any():
            break
        if fit is first:
            length_of_first = first.length()
        # A factor of many rows is large, and so are bits of many columns: those of
        # other fits are not kept meanwhile.
        fit.model.release()
        if fit.has_planes:
            known.clear()
        # Two fits may find the outliers of each other.
        fit, key = first, found.tobytes()
        if key not in known:
            known[key] = solve(targets.read(without=found))
        fit, outliers = known[key], found
    if fit is first or fit.solution.is_stopped:
        return first, none
    length = fit.length() + targets.length_of(outliers, fit) + _OUTLIERS.min_gain
    if length_of_first < length:
        return first, none
    for skewed in targets.on_skewed_scales(first):
        if solve(skewed).length() < length:
            # All are of one distribution, whose scale would cost accuracy.
            return first, none
    return fit, outliers


def _left_out_distances(
    samples: TrainingData, model: Model, chosen: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Residuals of left-out rows in standard deviations, and whether they are known."""
    # Left out are its equal rows, too, or the row alone if the target is then nearer:
    # equal rows, such as those of a rare category, support each other.
    data = samples.rows, samples.y, samples.sample_weight, chosen
    left, count = model.left_out_distances(*data, with_equals=True)
    alone, count_alone = model.left_out_distances(*data, with_equals=False)
    is_nearer = (count == 0.0) | (np.abs(alone) < np.abs(left))
    is_supported = (count_alone > 0.0) & is_nearer
    return np.where(is_supported, alone, left), is_supported | (count > 0.0)


def _posterior(fit: Fit) -> Model:
    """Model of a fit that is known to have a posterior."""
    return cast(Model, fit.model)


def _standardize(values: NDArray, some: NDArray | slice = slice(None)) -> NDArray:
    """Distances from the median in standard deviations, both of some of the values."""
    # The standard deviation is that of a normal distribution with as many values that
    # far off as there may be outliers. Where it is 0, or next to it, all values beyond
    # are infinitely far.
    n_stds = norm.isf(_OUTLIERS.max_fraction / 2.0)
    values = values - np.median(values[some])
    values = values / power_of_two_scale(values)
    sizes = np.abs(values)
    far = float(np.quantile(sizes[some], 1.0 - _OUTLIERS.max_fraction))
    if far * _OUTLIERS.max_distance > n_stds * float(sizes.max(initial=0.0)):
        return values * (n_stds / far)
    return np.where(sizes > far, _OUTLIERS.max_distance * np.sign(values), 0.0)


def _saved_by(far: NDArray, apart: NDArray, count: NDArray) -> float:
    """Nats saved if some distances are those of outliers and all others normal."""
    if not far.any():
        return 0.0
    # Where a fit reproduces targets, distances are 0, which has no logarithm.
    squares = (
        np.clip(np.abs(apart), 1.0 / _OUTLIERS.max_distance, _OUTLIERS.max_distance)
        ** 2
    )
    rest, number = count[~far], count[far].sum()
    std = np.sqrt(np.average(squares[~far], weights=rest))
    # Their ratio may be too large for a number.
    log_ratio = np.log(np.average(squares, weights=count)) - 2.0 * np.log(std)
    saved = count.sum() * log_ratio
    saved += number * np.log(2.0 * np.pi * np.e)
    saved = 0.5 * saved + count[far] @ cauchy_log_density(np.sqrt(squares[far]) / std)
    return float(saved - _length_of_mask(number, count.sum()))


def _length_of_mask(number: float, total: float) -> float:
    """Description length of a mask of outliers, of unknown probability, in nats."""
    return -float(betaln(number + 1.0, total - number + 1.0))


def _is_far_apart(y: NDArray, max_outliers: int) -> NDArray:
    """Mask of targets farther from all others than these are from one another."""
    order = np.argsort(-np.abs(y - np.median(y)), kind="stable")
    beyond = np.zeros(len(y), dtype=bool)
    for n_beyond in range(max_outliers, 0, -1):
        some, others = order[:n_beyond], y[order[n_beyond:]]
        low, high = others.min(), others.max()
        distances = np.maximum(y[some] - high, low - y[some])
        if np.min(distances) > high - low > 0.0:
            beyond[some] = True
            break
    return beyond


@dataclass(frozen=True)
class GroupConstants:
    """Fits without some groups."""

    # Fits, each without as large a part of the groups.
    n_folds: int = tuned(5, "benchmarks/ablation.py")


_GROUPS = GroupConstants()


def squares_of_new_groups(
    fit: Fit,
    solve: Callable[[TrainingData], Fit],
    targets: Targets,
    outliers: NDArray[np.bool_],
) -> NDArray[np.float64] | None:
    """Mean squared distance of each group, in predictive standard deviations."""
    # Terms and hyperparameters, too, are learned without the group: by those of all,
    # its own effect seems to be known. None where it is not known.
    samples = fit.samples
    group = samples.rows.group
    if group is None or fit.model is None or fit.has_planes:
        return None
    # Terms without a model have no intervals.
    if fit.solution.model is None:
        return None
    n_groups = len(np.unique(group))
    # Groups of one row are rows.
    if not 3 <= n_groups < len(group) or fit.solution.is_stopped:
        return None
    splitter: Any = GroupKFold(
        min(_GROUPS.n_folds, n_groups), shuffle=True, random_state=samples.seed
    )
    rows = cast(NDArray[np.intp], samples.row_index)
    squares = np.zeros(len(outliers))
    for _, test in splitter.split(rows, groups=group):
        new = np.zeros(len(outliers), dtype=bool)
        new[rows[test]] = True
        part = solve(targets.read(without=outliers | new))
        if part.model is None:
            return None
        squares[new] = targets.predict(new, part)[0] ** 2
    found = np.array([squares[rows[some]].mean() for some in members_of(group)])
    return found if np.all(np.isfinite(found)) else None
