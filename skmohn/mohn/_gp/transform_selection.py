"""Selection of the target transform and of the levels of numeric columns."""

# The evidence says both. It is that of a Gaussian process with the Jacobian of the
# scale.
#
# Source: Snelson, Rasmussen and Ghahramani, Warped Gaussian processes, NIPS 16, 2004.

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skmohn._core._fitting import one_blas_thread
from skmohn._core._powers import YeoJohnson
from skmohn._core._tuned import tuned
from skmohn._core._units import power_of_two_scale
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.marginal_likelihood import (
    EVIDENCE_SEARCH,
    AggregatedData,
    EvidenceOptimum,
    index_of_rows,
    join_equal_rows,
    learn_prior,
)
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._options import GPOptions
from skmohn.mohn._table.rows import (
    Categorical,
    EncodedRows,
    count_observations,
    standardize,
)
from skmohn.mohn._table.target import (
    Logarithm,
    Transform,
    Unchanged,
    moments,
    require_domain,
)
from skmohn.mohn._training_data import TrainingData


@dataclass(frozen=True)
class TransformConstants:
    """Choice of the transform of the target, and of levels."""

    # Distinct rows that are asked; where a line does not do, they tell by tens of nats.
    max_rows: int = tuned(400, "cost")
    # Fewer rows tell little: of more than 250 columns not even 400 are within
    # `max_products`.
    min_rows: int = tuned(100, "cost")
    # Rows by which scales are compared: a few large targets have most of the error.
    max_rows_compared: int = tuned(1600, "cost")
    # Fraction of the sum of squares of the targets that one row has. Of 100 normal ones
    # it is 0.07.
    max_row_fraction: float = tuned(0.1, "benchmarks/ablation.py")
    # Fraction of the variance that is noise from which signals are weak.
    # Hyperparameters then follow the noise, as left-out errors at them do: of a table
    # of arrests, levels that seemed no less accurate had 0.08 less R2.
    min_weak_noise: float = tuned(0.5, "benchmarks/ablation.py")
    # Folds for cross-validation with refitted hyperparameters.
    n_folds: int = tuned(3, "benchmarks/ablation.py")
    # Fewer distinct targets than this have no density: a scale could gain by distances.
    min_values: int = tuned(10, "benchmarks/ablation.py")
    # Nats that a scale must gain: its power is the best of some.
    min_gain: float = tuned(3.0, "benchmarks/ablation.py")
    # How much larger the squared error of held-out rows may be. Steps look like
    # skewness to the evidence, but not to them.
    max_error_ratio: float = tuned(1.03, "benchmarks/ablation.py")
    # Where it is larger, the ratio in refitted folds below which a scale is taken all
    # the same, and the nats a sample by which any ratio below 1 does. Of two tables
    # with ratios of 0.94 and 0.96, and 0.19 and 0.36 nats, R2 was 0.42 and -0.75, and
    # 0.62 and 0.14 on the target's own scale; of a logarithm with 0.94 and 0.92 nats,
    # the density is 0.7 nats higher.
    max_refit_error_ratio: float = tuned(0.9, "benchmarks/mohn/weak_signals.py")
    min_gain_by_sample: float = tuned(0.5, "benchmarks/mohn/weak_signals.py")


TRANSFORMS = TransformConstants()
# Powers that are tried; 1 changes nothing.
_POWERS = np.linspace(0.0, 2.0, 21)


class Scale(NamedTuple):
    """Choice of a transform and of levels."""

    transform: Unchanged | Logarithm | YeoJohnson  # of the target
    has_levels: bool  # whether numbers have levels, where that was chosen
    # Optimum for a part of the rows with both; None: no choice.
    maximize_evidence: EvidenceOptimum | None = None


class _Trial(NamedTuple):
    """Hyperparameters on a scale, with evidence and errors of the rows."""

    transform: Transform
    has_levels: bool
    maximize_evidence: EvidenceOptimum
    posterior: ExactPosterior
    evidence: float

    @property
    def is_weak(self) -> bool:
        """Whether most of the variance is noise."""
        return (
            self.posterior.covariance.prior.noise_variance > TRANSFORMS.min_weak_noise
        )


@one_blas_thread
def choose_scale(
    wanted: str | None,
    rows: EncodedRows,
    alphabets: tuple[Categorical, ...],
    n_levels: int,
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    seed: int,
) -> Scale:
    """Choose the scale of the target, and whether numbers have levels on it."""
    # Another scale is taken for its evidence, and unless it costs accuracy. The last
    # `n_levels` categoricals are levels; it is chosen whether they are used. For
    # several targets, (n_rows, n_targets), levels alone are chosen. `wanted` is the
    # transform; None for the target as it is.
    first = Logarithm() if wanted == "log" else Unchanged()
    is_chosen = wanted in ("auto", "yeo-johnson") and y.ndim == 1
    if not (is_chosen or n_levels):
        return Scale(first, False)
    data = rows, y, sample_weight, seed
    part = _Part.draw(*data)
    is_open = is_chosen and wanted == "auto"
    if is_open and not part.has_density():
        # The target is on its own scale.
        return choose_scale(None, rows, alphabets, n_levels, y, sample_weight, seed)
    n_others = len(alphabets) - n_levels
    plain = [part.learn(first, alphabets[:n_others])]
    if n_levels:
        plain.append(part.learn(first, alphabets, has_levels=True))
    lines, best = plain[0], max(plain, key=attrgetter("evidence"))
    if best is not lines and y.ndim == 1:
        compared = _Part.draw(*data, TRANSFORMS.max_rows_compared)
        if _costs_accuracy(best, lines, part, compared):
            plain, best = [lines], lines
    others = []
    if is_chosen:
        powers = _powers(y, sample_weight)
        for trial in plain:
            heights, _ = part.evaluate(powers, trial.posterior)
            power = powers[int(np.argmax(heights))]
            # The scale of the target is among the powers.
            contenders: list[Transform] = []
            if not (is_open and power.power == 1.0):
                contenders.append(power)
            if is_open and np.min(y) > 0.0:
                contenders.append(Logarithm())
            others += [part.learn_again(transform, trial) for transform in contenders]
    if is_open:
        min_evidence = best.evidence + TRANSFORMS.min_gain
        others = [other for other in others if other.evidence > min_evidence]
    if is_open and others:
        compared = _Part.draw(*data, TRANSFORMS.max_rows_compared)
        best = _likeliest_accurate(best, others, part, compared)
    else:
        best = max(others, key=attrgetter("evidence"), default=best)
    return Scale(best.transform, best.has_levels, best.maximize_evidence)


_Data = TypeVar("_Data", bound=TrainingData)


def choose_transform_and_levels(samples: _Data, options: GPOptions) -> _Data:
    """Choose the scale of the target, and between lines and levels of numbers."""
    # Before the first solver, so that its reports are encoded like the data. Targets
    # that are learned together have the coding of all. The scale alone is chosen by
    # `solve_gp`, which not all strategies end with.
    shared = None if samples.multitask is None else samples.multitask.coding
    if shared is not None:
        return samples if shared.thresholds else samples.without_levels()
    if options.numeric != "auto" or not samples.coding.thresholds:
        return samples
    scale = choose_scale(
        options.target_transform,
        samples.rows,
        samples.coding.alphabets,
        len(samples.coding.thresholds),
        samples.y,
        samples.sample_weight,
        samples.seed,
    )
    chosen = samples if scale.has_levels else samples.without_levels()
    return chosen._replace(target_transform=scale)


def _costs_accuracy(
    levels: _Trial, lines: _Trial, part: _Part, compared: _Part
) -> bool:
    """Whether the error of held-out rows is larger with levels than without."""
    # Levels can reproduce single rows, and noise. Where one row has a large fraction of
    # the sum of squares, or signals are weak, refitted folds must agree.
    if compared.error(levels) > TRANSFORMS.max_error_ratio * compared.error(lines):
        return True
    is_doubtful = (
        levels.is_weak or part.largest_fraction() > TRANSFORMS.max_row_fraction
    )
    return is_doubtful and part.error_of_refits(levels) > part.error_of_refits(lines)


def _likeliest_accurate(
    own: _Trial, others: list[_Trial], part: _Part, compared: _Part
) -> _Trial:
    """Trial of highest evidence that costs no accuracy; `own` where all do."""
    # Leave-one-out errors at hyperparameters of all rows are optimistic where these
    # reproduce a large target. Where one row has a large fraction of the sum of
    # squares, a trial that seems to cost accuracy is taken if its error in refitted
    # folds is clearly smaller, since such a row has most of that, too.
    max_error, error_of_refits = TRANSFORMS.max_error_ratio * compared.error(own), None
    for other in sorted(others, key=attrgetter("evidence"), reverse=True):
        if compared.error(other) <= max_error:
            return other
        if part.largest_fraction() <= TRANSFORMS.max_row_fraction:
            continue
        if error_of_refits is None:
            error_of_refits = part.error_of_refits(own)
        gain = (other.evidence - own.evidence) / part.counts.sum()
        is_clear = gain > TRANSFORMS.min_gain_by_sample
        ratio = 1.0 if is_clear else TRANSFORMS.max_refit_error_ratio
        if part.error_of_refits(other) < ratio * error_of_refits:
            return other
    return own


def keep_scale(
    covariance: Covariance,
    rows: EncodedRows,
    targets: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    seed: int,
) -> NDArray[np.bool_]:
    """Mask of targets that no other scale explains better with the same covariance."""
    # The covariance is that of the targets as they are.
    part, own, keeps = _Part.draw(rows, targets, sample_weight, seed), None, []
    for y, asked in zip(targets.T, part.y.T, strict=True):
        one = part._replace(y=asked)
        if not one.has_density():
            keeps.append(True)
            continue
        if own is None:
            # What is asked of it depends on no target.
            own = one.condition(Unchanged(), covariance)
        trials = [Unchanged(), *_powers(y, sample_weight)]
        if np.min(y) > 0.0:
            trials.append(Logarithm())
        heights, errors = one.evaluate(trials, own)
        is_better = heights - heights[0] > TRANSFORMS.min_gain
        is_better &= errors <= TRANSFORMS.max_error_ratio * errors[0]
        keeps.append(not is_better.any())
    return np.array(keeps, dtype=bool)


def _powers(
    y: NDArray[np.float64], sample_weight: NDArray[np.float64] | None
) -> list[YeoJohnson]:
    _, center, deviation = standardize(y, sample_weight)
    return [YeoJohnson(power, center, deviation) for power in _POWERS.tolist()]


class _Part(NamedTuple):
    """Samples at some distinct rows."""

    rows: EncodedRows
    y: np.ndarray  # (n_samples,); targets
    weight: np.ndarray  # (n_samples,); sample weights
    counts: np.ndarray  # (n_samples,); number of observations that each stands for

    @classmethod
    def draw(
        cls,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        seed: int,
        n_rows: int | None = None,
    ) -> Self:
        """Draw distinct rows; all where there are no more."""
        # By default as many as hyperparameters are learned from: fewer of wide tables.
        if n_rows is None:
            n_columns = rows.inputs.shape[1] + rows.categories.shape[1]
            most = math.isqrt(EVIDENCE_SEARCH.max_products // max(n_columns, 1))
            n_rows = max(min(TRANSFORMS.max_rows, most), TRANSFORMS.min_rows)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        index = index_of_rows(rows)
        shuffled = np.random.default_rng(seed).permutation(index.max() + 1)
        chosen = np.flatnonzero(np.isin(index, shuffled[:n_rows]))
        rows = rows.take(chosen)
        counts = count_observations(weight)[chosen]
        return cls(rows, y[chosen], weight[chosen], counts)

    def has_density(self) -> bool:
        """Whether the targets have more than a few values."""
        return len(np.unique(self.y)) >= TRANSFORMS.min_values

    def largest_fraction(self) -> float:
        """Largest fraction of the targets' sum of squares that one row has."""
        standard, _, _ = standardize(self.y, self.weight)
        return float(np.max(standard**2) / self.weight.sum())

    def learn(
        self,
        transform: Transform,
        alphabets: tuple[Categorical, ...],
        has_levels: bool = False,
        first: EvidenceOptimum | None = None,
    ) -> _Trial:
        """Learn the hyperparameters on a scale."""
        # A sum on one scale is a product on another, so that hyperparameters differ.
        sample = self._observe(transform, alphabets)
        optimum = learn_prior(sample, alphabets, first=first)
        covariance = Covariance(optimum.prior, alphabets)
        posterior = ExactPosterior.condition(covariance, sample)
        evidence = posterior.log_evidence()
        if self.y.ndim == 1:
            (evidence,), _ = self.evaluate([transform], posterior)
        return _Trial(transform, has_levels, optimum, posterior, evidence)

    def error(self, trial: _Trial) -> float:
        """Mean square of what rows are off that all others predict, on a scale."""
        own = self.condition(trial.transform, trial.posterior.covariance)
        return float(self.evaluate([trial.transform], own)[1][0])

    def error_of_refits(self, trial: _Trial) -> float:
        """Mean squared error of cross-validation with refitted hyperparameters."""
        # In the unit of :meth:`error`. Folds do not depend on the order of the rows.
        alphabets, transform = trial.posterior.covariance.alphabets, trial.transform
        index = self.rows.group
        if index is None:
            index = index_of_rows(self.rows)
        folds = np.random.default_rng(0).permutation(index.max() + 1)
        folds %= TRANSFORMS.n_folds
        unit, squares = power_of_two_scale(self.y), np.empty(len(self.y))
        for fold in range(TRANSFORMS.n_folds):
            test = folds[index] == fold
            train, held = self._take(~test), self._take(test)
            posterior = train.learn(transform, alphabets).posterior
            _, center, size = standardize(transform.forward(train.y), train.weight)
            rows = held._rows_of(alphabets)
            noise_variance = posterior.covariance.prior.noise_variance
            variance = posterior.latent_variance(rows) + noise_variance
            mean = center + size * posterior.latent_mean(rows)
            mean, _ = moments(transform, mean, size * np.sqrt(variance))
            mean = np.clip(mean, np.min(train.y), np.max(train.y))
            squares[test] = ((held.y - mean) / unit) ** 2
        return float(np.average(squares, weights=self.weight))

    def _take(self, index: NDArray[np.bool_]) -> _Part:
        """Some of the samples."""
        return _Part(self.rows.take(index), *(part[index] for part in self[1:]))

    def condition(self, transform: Transform, covariance: Covariance) -> ExactPosterior:
        """Condition known hyperparameters on the rows."""
        sample = self._observe(transform, covariance.alphabets)
        return ExactPosterior.condition(covariance, sample)

    def _observe(
        self, transform: Transform, alphabets: tuple[Categorical, ...]
    ) -> AggregatedData:
        require_domain(transform, self.y)
        standard, _, _ = standardize(transform.forward(self.y), self.weight)
        return join_equal_rows(self._rows_of(alphabets), standard, self.weight)

    def _rows_of(self, alphabets: tuple[Categorical, ...]) -> EncodedRows:
        """Rows without levels, if they are not among the alphabets."""
        # Then an unknown number is equal to the mean of its column.
        categories = self.rows.categories[:, : len(alphabets)]
        return replace(self.rows, categories=categories, unknown=None)

    def learn_again(self, transform: Transform, trial: _Trial) -> _Trial:
        """Learn on another scale, beginning with what was learned on a first."""
        alphabets = trial.posterior.covariance.alphabets
        return self.learn(
            transform, alphabets, trial.has_levels, trial.maximize_evidence
        )

    def evaluate(
        self, transforms: Sequence[Transform], posterior: ExactPosterior
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Log densities of the targets on scales, and leave-one-out errors."""
        # One of each for every scale: the log density but for a constant; the mean
        # square of residuals, each predicted from all other rows. The covariance is
        # taken as that on each scale, but for a factor.
        y, weight = self.y, self.weight
        index = index_of_rows(self._rows_of(posterior.covariance.alphabets))
        shape = len(posterior.sample), len(y)
        rows = csr_array((weight, (index, np.arange(len(y)))), shape)
        total = rows.sum(axis=1)
        parts = [standardize(scale.forward(y), weight) for scale in transforms]
        standard = np.column_stack([part[0] for part in parts])
        means = (rows @ standard) / total[:, None]
        left, variance = posterior.leave_one_out(means)
        noise = total * posterior.sample.noise(posterior.covariance.prior)
        squares = np.sum(means * left / variance[:, None], axis=0)
        squares += (weight / noise[index]) @ (standard - means[index]) ** 2
        n_observed = self.counts.sum()
        # Targets may be all equal here.
        spread = np.maximum(squares / n_observed, np.finfo(float).tiny)
        # Log determinant: of the rows, and of what samples differ by in each.
        level = -posterior.factor.half_log_determinant()
        level -= 0.5 * (posterior.sample.count - 1.0) @ np.log(noise)
        of_rows = (rows @ y) / total
        unit = power_of_two_scale(of_rows)
        evidence, errors = [], []
        scales = zip(transforms, parts, strict=True)
        for k, (scale, (_, center, size)) in enumerate(scales):
            value = level - n_observed * (0.5 * math.log(spread[k]) + math.log(size))
            evidence.append(value + float(self.counts @ scale.log_slope(y)))
            mean = center + size * (means[:, k] - left[:, k])
            mean, _ = moments(scale, mean, size * np.sqrt(spread[k] * variance))
            mean = np.clip(mean, np.min(y), np.max(y))
            errors.append(np.average(((of_rows - mean) / unit) ** 2, weights=total))
        return np.array(evidence), np.array(errors)
