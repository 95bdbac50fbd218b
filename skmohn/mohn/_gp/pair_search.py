"""Search of pairs of columns whose joint effects need a variance of their own."""

# A pair of features U has the score ``|U' alpha|^2 - tr S`` of variance ``2 tr S^2``,
# where ``S = U' K^-1 U`` (Lin, Variance component testing in generalised linear models
# with random effects, Biometrika 84, 1997). The variances of all parts, which had to
# explain it before, are then learned again.

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from skmohn._core._fitting import tick
from skmohn._core._tuned import tuned
from skmohn._core._types import lapack
from skmohn.mohn._design.terms import log_comb
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.marginal_likelihood import HYPERPRIOR, AggregatedData
from skmohn.mohn._gp.pairs import Member, PairVariances
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._models import PRIOR


@dataclass(frozen=True)
class PairSearchConstants:
    """Search of pairs."""

    # Nats that the description length must fall by with each pair, beside the choice.
    min_gain: float = tuned(2.0, "benchmarks/mohn/new_functions.py")
    # Nats above the shortest description at which the search gives up: a first pair may
    # gain nothing before another one is known.
    max_behind: float = tuned(6.0, "benchmarks/mohn/new_functions.py")
    max_pairs: int = tuned(10, "cost")
    # Rows by which pairs are chosen, and features of a pair.
    max_rows: int = tuned(600, "cost")
    max_features: int = tuned(400, "cost")
    # Steps of learning, more than it takes: a further pair would else gain by what was
    # left to learn of the others.
    max_iter: int = tuned(100, "cost")
    # Variance at which learning begins, and the largest logarithm.
    first_variance: float = tuned(0.1, "rounding")
    max_log_variance: float = tuned(5.0, "rounding")


PAIRS = PairSearchConstants()


class _Found(NamedTuple):
    """Covariance with some pairs, and its description length."""

    covariance: Covariance
    length: float


def find_pairs(covariance: Covariance, sample: AggregatedData) -> Covariance:
    """Add variance to pairs with a categorical while the description gets shorter."""
    candidates = _candidates(covariance, min(PAIRS.max_features, len(sample)))
    if not candidates or sample.n_targets > 1:
        return covariance
    best = found = _Found(
        covariance, -ExactPosterior.condition(covariance, sample).log_evidence()
    )
    while len(found.covariance.pairs) < min(PAIRS.max_pairs, len(candidates)):
        tick()
        longer = _add_pair(found.covariance, sample, candidates)
        if longer is None:
            break
        found = longer
        best = min(best, found, key=lambda one: one.length)
        if found.length > best.length + PAIRS.max_behind:
            break
    return best.covariance


def _candidates(
    covariance: Covariance, max_features: float
) -> list[tuple[Member, Member]]:
    """Pairs of unordered categoricals, and of an input with one."""
    inputs = [Member(i) for i in range(len(covariance.prior.ard_rates))]
    categoricals = [
        Member(k, alphabet)
        for k, alphabet in enumerate(covariance.alphabets)
        if not alphabet.is_ordered and alphabet.size > 1
    ]
    pairs = [*itertools.product(inputs, categoricals)]
    pairs += itertools.combinations(categoricals, 2)
    return [(a, b) for a, b in pairs if max(a.size, 1) * b.size <= max_features]


def _add_pair(
    covariance: Covariance,
    sample: AggregatedData,
    candidates: Sequence[tuple[Member, Member]],
) -> _Found | None:
    """Add the pair that gains most, and learn all variances again."""
    posterior = ExactPosterior.condition(covariance, sample)
    present = {pair.members for pair in covariance.pairs}
    free = [members for members in candidates if members not in present]
    scores = [_score(posterior, members) for members in free]
    j = int(np.argmax(scores))
    if scores[j] <= 0.0:
        return None
    pair = PairVariances(free[j], PAIRS.first_variance)
    covariance = replace(covariance, pairs=(*covariance.pairs, pair))
    covariance, log_evidence = _learn_variances(covariance, sample)
    return _Found(covariance, length_of_pairs(covariance) - log_evidence)


def length_of_pairs(covariance: Covariance) -> float:
    """Nats that the choice of pairs costs."""
    n_pairs = len(covariance.pairs)
    if not n_pairs:
        return 0.0
    candidates = _candidates(covariance, math.inf)
    return log_comb(len(candidates), n_pairs) + n_pairs * PAIRS.min_gain


def _score(posterior: ExactPosterior, members: tuple[Member, Member]) -> float:
    """Slope of the evidence in the variance of a pair, in its standard errors."""
    first, second = (m.features(posterior.sample.rows) for m in members)
    columns = (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
    known = posterior.factor.whiten(columns)
    information = known.T @ known
    score = np.sum((columns.T @ posterior.alpha) ** 2) - np.trace(information)
    return float(score / math.sqrt(2.0 * np.sum(information**2) + 1e-300))


def _learn_variances(
    covariance: Covariance, sample: AggregatedData
) -> tuple[Covariance, float]:
    """Learn the variances of products, of single columns, of pairs and of the noise."""
    parts = _parts(covariance, sample)
    noise = sample.excess / sample.weight
    rest = np.sum(sample.within / sample.excess), np.sum(sample.count - 1.0)

    def loss(logs: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        # Minus the log evidence but for constants, and its gradient.
        *sizes, level = np.exp(logs)
        K = PRIOR.constant_variance + np.tensordot(sizes, parts, axes=1)
        K.ravel()[:: len(K) + 1] += level * noise
        factor, info = lapack.dpotrf(K, lower=1)
        if info:
            return math.inf, np.zeros(len(logs))
        alpha, _ = lapack.dpotrs(factor, sample.target, lower=1)
        inverse, _ = lapack.dpotri(factor, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        value = np.sum(np.log(np.diagonal(factor))) + 0.5 * float(sample.target @ alpha)
        value += 0.5 * (rest[0] / level + rest[1] * math.log(level))
        outer = np.outer(alpha, alpha) - inverse
        slopes = [
            size * np.vdot(outer, part) for size, part in zip(sizes, parts, strict=True)
        ]
        of_noise = level * float(np.diagonal(outer) @ noise) + rest[0] / level - rest[1]
        slope = -0.5 * np.array([*slopes, of_noise])
        for k, (center, deviation) in densities.items():
            apart = (logs[k] - center) / deviation
            value += 0.5 * apart**2
            slope[k] += apart / deviation
        return value, slope

    # Those of the search of all hyperparameters.
    densities = {0: PRIOR.log_signal_variance, -1: PRIOR.log_noise_variance}
    prior = covariance.prior
    min_log_variance = math.log(HYPERPRIOR.min_signal_variance)
    bounds = [(min_log_variance, PAIRS.max_log_variance)] * (len(parts) + 1)
    pairs = [pair.variance for pair in covariance.pairs]
    start = [prior.signal_variance, prior.main_effect_variance, *pairs]
    start = np.clip(
        np.log([*np.maximum(start, 1e-300), prior.noise_variance]), *bounds[0]
    )
    found: Any = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": PAIRS.max_iter},
    )
    signal, main, *variances, level = np.exp(found.x).tolist()
    prior = prior._replace(
        signal_variance=signal, main_effect_variance=main, noise_variance=level
    )
    learned = [
        replace(pair, variance=variance)
        for pair, variance in zip(covariance.pairs, variances, strict=True)
    ]
    covariance = replace(covariance, prior=prior, pairs=tuple(learned))
    return covariance, ExactPosterior.condition(covariance, sample).log_evidence()


def _parts(covariance: Covariance, sample: AggregatedData) -> NDArray[np.float64]:
    """Covariances of rows by each variance, where it is 1."""
    rows, prior = sample.rows, covariance.prior
    plain = replace(covariance, terms=(), variances=(), pairs=())
    parts = []
    for signal, main in ((1.0, 0.0), (0.0, 1.0)):
        own = prior._replace(signal_variance=signal, main_effect_variance=main)
        K = replace(plain, prior=own).between(rows, rows)
        parts.append(K - PRIOR.constant_variance)
    for pair in covariance.pairs:
        K = np.zeros((len(rows), len(rows)))
        replace(pair, variance=1.0).add_to(K, rows, rows)
        parts.append(K)
    return np.array(parts)
