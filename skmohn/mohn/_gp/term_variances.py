"""Single weights that are stronger than the product prior expects."""

# A weight's score test asks how much the evidence would gain from a variance of its
# own: with ``q = u' alpha`` and ``s = u' K^-1 u``, ``z^2 = q^2 / s``, the best further
# variance is ``(q^2 - s) / s^2`` and gains ``(z^2 - 1 - log z^2) / 2``.
#
# Source: Tipping and Faul, Fast marginal likelihood maximization for sparse Bayesian
# models, AISTATS 2003, Eq 18 to 22.

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.terms import choice_length, log_comb
from skmohn.mohn._gp.exact import ExactPosterior, leave_groups_out
from skmohn.mohn._gp.weight_prior import Covariance, parity
from skmohn.mohn._models import (
    PRIOR,
    find_significant,
    fit_noise_factor,
    noise_df,
    standard_ratios,
)
from skmohn.mohn._table.rows import EncodedRows


@dataclass(frozen=True)
class TermVarianceConstants:
    """Terms with variances of their own."""

    # The noise is fitted again until its logarithm changes by less than this.
    max_refits: int = tuned(3, "rounding")
    max_rounds: int = tuned(50, "rounding")
    # Nats that the description length must fall by.
    min_gain: float = tuned(2.0, "benchmarks/ablation.py")
    # Candidates of each order whose score is computed, those with the largest |u'
    # alpha|.
    n_scored: int = tuned(20, "benchmarks/ablation.py")
    max_order: int = tuned(3, "benchmarks/ablation.py")
    # Weights of each order that may be called significant.
    max_listed: int = tuned(100, "cost")
    # With more, Student's t is normal.
    min_rows_normal: int = tuned(1000, "rounding")
    # Sets that are looked at; the highest order is left out where there are more.
    max_candidates: int = tuned(50_000, "cost")


_TERM_VARIANCES = TermVarianceConstants()
_SMALL_CHANGE = math.log(2.0)


def highest_order(
    n_inputs: int, wanted: int | None = None, n_groups: int | None = None
) -> int:
    """Highest order of which all sets can be screened; of each group they have one."""
    highest = min(
        wanted or _TERM_VARIANCES.max_order, n_inputs if n_groups is None else n_groups
    )
    while highest > 1 and math.comb(n_inputs, highest) > _TERM_VARIANCES.max_candidates:
        highest -= 1
    return highest


def screen(
    inputs: NDArray[np.float64],
    vector: NDArray[np.float64],
    order: int,
    n_terms: int,
    groups: NDArray[np.intp] | None = None,
) -> list[Term]:
    """Find the sets of one order whose parities best match a vector."""
    # The largest first; of each group of inputs, sets have one at most.
    n_inputs = inputs.shape[1]
    if order == 1:
        sums = np.abs(inputs.T @ vector)
        return [(int(i),) for i in np.argsort(-sums)[:n_terms]]
    groups = np.arange(n_inputs) if groups is None else groups
    sums, terms = [], []
    for stem in combinations(range(n_inputs), order - 2):
        if len(set(groups[list(stem)])) < len(stem):
            continue
        # The inputs of a group are neighbors: after it, all are of others.
        last = groups[stem[-1]] if stem else -1
        first = int(np.searchsorted(groups, last, side="right"))
        after = inputs[:, first:]
        products = after.T @ (after * (vector * parity(inputs, stem))[:, None])
        i, j = np.nonzero(groups[first:, None] < groups[first:])
        found = np.abs(products[i, j])
        best = np.argsort(-found)[:n_terms]
        sums.extend(found[best].tolist())
        terms.extend((*stem, int(i[k]) + first, int(j[k]) + first) for k in best)
    return [terms[k] for k in np.argsort(-np.array(sums))[:n_terms]]


def find_strong_terms(
    posterior: ExactPosterior, max_order: int | None = None
) -> ExactPosterior:
    """Add variance to single weights while the description length falls."""
    # Without `max_order` of three inputs at most, or fewer where inputs are many.
    extended = _PosteriorUpdate(posterior)
    for _ in range(_TERM_VARIANCES.max_rounds):
        found = _strongest(extended, max_order)
        if found is None:
            break
        extended.add(*found)
    if extended.covariance is posterior.covariance:
        return posterior
    # What a strong term explains was noise to the hyperparameters.
    refit: Any = extended
    for _ in range(_TERM_VARIANCES.max_refits):
        level = _noise_level(refit)
        prior = refit.covariance.prior
        prior = prior._replace(
            noise_variance=max(level * prior.noise_variance, PRIOR.min_noise_variance)
        )
        covariance = replace(refit.covariance, prior=prior)
        refit = ExactPosterior.condition(covariance, refit.sample)
        if abs(math.log(level)) < _SMALL_CHANGE:
            break
    return refit


class _PosteriorUpdate:
    """Posterior with further strong terms, by the lemma of Woodbury."""

    # Its inverse covariance is that of the posterior less ``less @ less.T``.

    def __init__(self, posterior: ExactPosterior) -> None:
        self.posterior, self.sample = posterior, posterior.sample
        self.covariance, self.alpha = posterior.covariance, posterior.alpha
        self.less = np.empty((len(posterior.sample), 0))

    def add(self, term: Term, variance: float) -> None:
        """Add further variance to a weight."""
        covariance = self.covariance
        self.covariance = replace(
            covariance,
            terms=(*covariance.terms, term),
            variances=(*covariance.variances, variance),
        )
        column = parity(self.sample.rows.inputs, term)
        solved = self.posterior.solve(column) - self.less @ (self.less.T @ column)
        solved /= math.sqrt(1.0 / variance + column @ solved)
        self.less = np.column_stack([self.less, solved])
        self.alpha = self.alpha - solved * (solved @ self.sample.target)

    def squares(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """``u' K^-1 u`` of columns."""
        own = self.less.T @ columns
        return self.posterior.squares(columns) - np.einsum("dj,dj->j", own, own)

    def leave_one_out(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Leave-one-out means and variances, see `ExactPosterior.leave_one_out`."""
        group = self.sample.rows.group
        if group is not None:
            root = self.posterior.factor.inverse()
            return leave_groups_out(self.alpha, group, root, self.less)
        precision = self.posterior.precisions - np.sum(self.less**2, axis=1)
        return self.alpha / precision, 1.0 / precision


def _noise_level(posterior: Any) -> float:
    """Factor of the noise by which held-out rows, and equal ones, are off."""
    prior, sample = posterior.covariance.prior, posterior.sample
    residual, variance = posterior.leave_one_out()
    noise = sample.noise(prior)
    repeats = np.flatnonzero(sample.count > 1.0)
    others = sample.count[repeats] - 1.0
    return fit_noise_factor(
        np.append(residual**2, sample.within[repeats] / others),
        np.append(np.maximum(variance - noise, 0.0), np.zeros(len(repeats))),
        np.append(noise, prior.noise_variance * sample.excess[repeats]),
        np.append(np.ones(len(noise)), others),
    )


def _strongest(
    posterior: _PosteriorUpdate, max_order: int | None
) -> tuple[Term, float] | None:
    """Term that shortens the description most, and its variance, or None."""
    inputs, alpha = posterior.sample.rows.inputs, posterior.alpha
    present, terms, prices, bars = posterior.covariance.terms, [], [], []
    for order in range(1, highest_order(inputs.shape[1], max_order) + 1):
        found = screen(inputs, alpha, order, _TERM_VARIANCES.n_scored + len(present))
        found = [term for term in found if term not in present]
        if not found:
            continue
        n_sets = math.comb(inputs.shape[1], order)
        n_present = sum(len(other) == order for other in present)
        price = log_comb(n_sets, n_present + 1) - log_comb(n_sets, n_present)
        terms += found
        prices += [price] * len(found)
        bars += [max(2.0 * math.log(n_sets), 1.0)] * len(found)
    if not terms:
        return None
    columns = np.stack([parity(inputs, term) for term in terms], axis=1)
    q, s = columns.T @ alpha, posterior.squares(columns)
    z_square = q**2 / np.maximum(s, 1e-300)
    gains = 0.5 * (z_square - 1.0 - np.log(np.maximum(z_square, 1.0))) - prices
    gains[z_square <= bars] = -np.inf
    j = int(np.argmax(gains))
    if gains[j] <= _TERM_VARIANCES.min_gain:
        return None
    return terms[j], float((q[j] ** 2 - s[j]) / s[j] ** 2)


class Scored(Protocol):
    """Model whose weights are tested, such as a `GPModel`."""

    @property
    def posterior(self) -> Any: ...

    @property
    def covariance(self) -> Covariance: ...

    def dual_coefficients(self) -> tuple[EncodedRows, NDArray[np.float64]]: ...

    def weights_of(
        self, terms: Sequence[Term], given: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def prior_stds(self, terms: Sequence[Term]) -> NDArray[np.float64]: ...


def find_significant_terms(
    model: Scored, max_order: int | None = None
) -> tuple[list[Term], NDArray[np.float64], NDArray[np.float64]]:
    """Significant weights, with their means and standard deviations."""
    # The test is Student's t of least squares, as for the terms of sparse models,
    # beside all other weights, which have their prior; see `find_significant` for the
    # bar.
    rows, alpha = model.dual_coefficients()
    base, columns, groups = model.covariance.screening(rows)
    n_members, n_groups = len(groups), len(np.unique(groups))
    df = _residual_df(model.posterior)
    terms, tried = [], []
    for order in range(1, highest_order(n_members, max_order, n_groups) + 1):
        found = screen(columns, alpha * base, order, _TERM_VARIANCES.max_listed, groups)
        # What hyperparameters leave open is how far weights are shrunk, which the test
        # does not ask.
        ratios = standard_ratios(
            *model.weights_of(found, True), model.prior_stds(found)
        )
        tried += found
        kept = find_significant(ratios, math.comb(n_members, order), df)
        terms += [found[j] for j in np.flatnonzero(kept)]
    terms += [term for term in model.covariance.terms if term not in tried]
    return terms, *model.weights_of(terms, False)


def _residual_df(posterior: ExactPosterior) -> float:
    """Degrees of freedom of the noise: what the fit leaves, and what its prior adds."""
    # Other posteriors are those of many rows.
    if (
        not isinstance(posterior, ExactPosterior)
        or len(posterior.sample) > _TERM_VARIANCES.min_rows_normal
    ):
        return math.inf
    sample = posterior.sample
    kept = sample.noise(posterior.covariance.prior) * posterior.precisions
    left = float(np.sum(kept) + np.sum(sample.count - 1.0))
    return noise_df(left, 0.0)


def description_length(
    covariance: Covariance, n_inputs: int, log_evidence: float
) -> float:
    """Nats that the data and the choice of the terms cost."""
    return choice_length(covariance.terms, n_inputs) - log_evidence
