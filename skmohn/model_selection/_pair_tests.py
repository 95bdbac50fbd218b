"""Tests of the difference between two estimators, on one data set or on several."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned


@dataclass(frozen=True)
class SignedRankConstants:
    """Signed-rank tests."""

    # Draws of the weights of data sets: the standard error of a probability is 0.002.
    n_draws: int = tuned(50_000, "cost")
    # Weight of the prior observation, which is a difference of zero.
    prior_weight: float = tuned(0.5, "Benavoli (2017), section 4")
    # Numbers that differ by less than this fraction of their median size are equal.
    rounding: float = tuned(1e-10, "rounding")
    # Entries of an array of draws at once.
    chunk_size: int = tuned(2_000_000, "cost")


_SIGNED_RANK = SignedRankConstants()


class PairTest(NamedTuple):
    """Difference between two estimators, positive if the first is better."""

    location: float
    low: float
    high: float
    p_value: float  # not adjusted
    prob_worse: float  # of the first being worse by more than the region
    prob_equivalent: float
    prob_better: float


def corrected_t(
    differences: NDArray[np.float64], test_ratio: float, level: float, rope: float
) -> PairTest:
    """Corrected resampled t-test, and the Bayesian correlated one."""
    # Nadeau and Bengio (2003): test rows of a split are training rows of others, so the
    # variance of the mean has a part that more splits do not lower. The posterior of
    # Corani and Benavoli (2015) is the same t distribution.
    n_splits = len(differences)
    mean = float(np.mean(differences))
    variance = (1.0 / n_splits + test_ratio) * np.var(differences, ddof=1)
    error = float(np.sqrt(variance))
    # Equal up to rounding: sums of scores differ in their last bits.
    if error <= 1e-12 * np.max(np.abs(differences), initial=0.0):
        is_zero = mean == 0.0
        ends = float(mean < -rope), float(mean > rope)
        return PairTest(
            mean, mean, mean, float(is_zero), ends[0], 1.0 - sum(ends), ends[1]
        )
    student = stats.t(n_splits - 1, mean, error)
    low, high = student.interval(level)
    p_value = 2.0 * float(stats.t.sf(abs(mean) / error, n_splits - 1))
    worse, better = float(student.cdf(-rope)), float(student.sf(rope))
    return PairTest(
        mean, float(low), float(high), p_value, worse, 1.0 - worse - better, better
    )


def signed_rank(
    differences: NDArray[np.float64], level: float, rope: float, seed: int
) -> PairTest:
    """Wilcoxon's signed-rank test, and the Bayesian one, over data sets."""
    differences = _round(differences)
    averages = _walsh_averages(differences)
    low, high = _signed_rank_interval(differences, averages, 1.0 - level)
    return PairTest(
        float(np.median(averages)),
        low,
        high,
        _wilcoxon(differences),
        *_bayesian_signed_rank(differences, rope, seed),
    )


def rounding_unit(values: NDArray[np.float64]) -> float:
    """Size up to which differences of numbers are rounding errors."""
    # A few numbers far out, such as R2 of fits that went wrong, do not matter.
    sizes = np.abs(values[values != 0.0])
    return _SIGNED_RANK.rounding * float(np.median(sizes)) if sizes.size else 0.0


def _round(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make numbers equal that differ by rounding, which would break ties."""
    unit = rounding_unit(values)
    return np.rint(values / unit) * unit if unit else values


def _wilcoxon(differences: NDArray[np.float64]) -> float:
    """Exact two-sided p-value of the signed-rank test, ties and zeros included."""
    # Zeros have ranks, but no signs (Pratt). Twice the ranks are integers, tied or not.
    # Its null distribution also gives the interval, so that both agree; scipy has no
    # exact one where there are ties.
    ranks = np.rint(2.0 * stats.rankdata(np.abs(differences))).astype(np.int64)
    ranks = ranks[differences != 0.0]
    positive = int(np.sum(ranks[differences[differences != 0.0] > 0.0]))
    smaller = min(positive, int(np.sum(ranks)) - positive)
    return float(min(2.0 * _null_distribution(ranks)[: smaller + 1].sum(), 1.0))


def _null_distribution(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probabilities of sums of the ranks with positive signs; signs are even."""
    probabilities = np.ones(1)
    for rank in ranks.tolist():
        shifted = np.zeros(len(probabilities) + rank)
        shifted[: len(probabilities)] += 0.5 * probabilities
        shifted[rank:] += 0.5 * probabilities
        probabilities = shifted
    return probabilities


def _walsh_averages(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sorted means of all pairs, each of a difference with itself among them."""
    first, second = np.triu_indices(len(differences))
    return np.sort((differences[first] + differences[second]) / 2.0)


def _signed_rank_interval(
    differences: NDArray[np.float64], averages: NDArray[np.float64], alpha: float
) -> tuple[float, float]:
    """Interval of the median difference: where the signed-rank test keeps it."""
    # The statistic is the number of averages above the tested value, so the interval
    # ends at two of them, as far from the ends of their list.
    n = len(differences)
    cumulative = 2.0 * np.cumsum(_null_distribution(np.arange(1, n + 1)))
    limit = alpha * (1.0 + 1e-12)
    outside = int(np.searchsorted(cumulative, limit, side="right")) - 1
    if outside < 0:
        return -np.inf, np.inf
    return float(averages[outside]), float(averages[-1 - outside])


def _bayesian_signed_rank(
    differences: NDArray[np.float64], rope: float, seed: int
) -> tuple[float, float, float]:
    """Probabilities that worse, equivalent and better are each the likeliest."""
    # Benavoli et al. (2017), section 4: a Dirichlet process with a prior observation
    # of zero; the weights of pairs of observations sum to the probability of each case.
    values = np.append(0.0, differences)
    sums = values[:, None] + values
    # A mean at the edge of the region, but for rounding, is inside.
    edge = 2.0 * (rope + rounding_unit(differences))
    is_worse, is_better = sums < -edge, sums > edge
    concentration = np.append(_SIGNED_RANK.prior_weight, np.ones(len(differences)))
    rng = np.random.default_rng(seed)
    counts = np.zeros(3)
    chunk = max(_SIGNED_RANK.chunk_size // len(values), 1)
    for part in equal_slices(_SIGNED_RANK.n_draws, chunk):
        weights = rng.dirichlet(concentration, part.stop - part.start)
        worse = np.sum((weights @ is_worse) * weights, axis=1)
        better = np.sum((weights @ is_better) * weights, axis=1)
        # Those that are equally likely count in parts: cases without any pair are none.
        cases = np.stack([worse, 1.0 - worse - better, better], axis=1)
        is_largest = cases >= cases.max(axis=1, keepdims=True)
        counts += np.sum(is_largest / is_largest.sum(axis=1, keepdims=True), axis=0)
    worse, equivalent, better = (counts / _SIGNED_RANK.n_draws).tolist()
    return worse, equivalent, better


def friedman(scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, float]:
    """Mean ranks of estimators over data sets, Friedman's statistic and p-value."""
    # The best of a data set has rank 1.
    scores = _round(scores)
    mean_ranks = stats.rankdata(-scores, axis=1).mean(axis=0)
    if np.ptp(scores, axis=1).max() == 0.0:
        return mean_ranks, 0.0, 1.0
    if scores.shape[1] == 2:
        # Two estimators: the square of the sign test's statistic.
        signs = np.sign(scores[:, 0] - scores[:, 1])
        statistic = float(signs.sum() ** 2 / np.count_nonzero(signs))
        return mean_ranks, statistic, float(stats.chi2.sf(statistic, 1))
    statistic, p_value = stats.friedmanchisquare(*scores.T)
    return mean_ranks, float(statistic), float(p_value)


def nemenyi(
    mean_ranks: NDArray[np.float64], n_datasets: int, level: float
) -> tuple[NDArray[np.float64], float]:
    """P-values of all pairs by their mean ranks, and the critical difference."""
    # Demsar (2006), section 3.2.2. They hold for all pairs together.
    n = len(mean_ranks)
    error = np.sqrt(n * (n + 1) / (6.0 * n_datasets))
    # The studentized range is of the errors of single means, not of differences.
    distances = np.abs(mean_ranks[:, None] - mean_ranks) * np.sqrt(2.0) / error
    p_values = stats.studentized_range.sf(distances, n, np.inf)
    critical = stats.studentized_range.ppf(level, n, np.inf) * error / np.sqrt(2.0)
    return np.asarray(p_values), float(critical)
