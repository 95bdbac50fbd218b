"""Search for the terms of a Markov random field by the extended BIC."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._field.layout import FieldData, multiply
from skmohn.mohn._field.pseudo_likelihood import (
    FieldFit,
    fit_pseudo_likelihood,
    sandwich,
)


@dataclass(frozen=True)
class FieldSearchConstants:
    """Search for the terms of a field."""

    # Terms that may join in a round, at least and for each that there is, and those
    # that are scored exactly for each that may join.
    min_joining: int = tuned(16, "cost")
    growth: float = tuned(0.5, "cost")
    n_scored: int = tuned(3, "cost")
    # Part of the threshold that the approximate score of these must reach.
    min_screened: float = tuned(0.5, "cost")
    # Of a term's information, what must be left beside the other terms'.
    min_information: float = tuned(1e-6, "rounding")


_SEARCH = FieldSearchConstants()


@dataclass(frozen=True)
class TermCriterion:
    """Extended BIC: by how much a term must raise the pseudo-likelihood."""

    # By order, from 0 on. Scores are squares of standard normals where a weight is 0.
    thresholds: tuple[float, ...]

    @classmethod
    def of(cls, data: FieldData, max_order: int, ebic_gamma: float) -> "TermCriterion":
        """Chen and Chen (2008): all orders are as likely, and all terms of an order."""
        counts = np.maximum(data.layout.count(max_order), 1)
        prior = np.log(counts) + np.log(max(max_order - 1, 1))
        thresholds = np.log(data.n_observations) + 2.0 * ebic_gamma * prior
        return cls(tuple(thresholds.tolist()))

    def excess(
        self, terms: Sequence[Term], scores: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Scores less their thresholds."""
        return scores - np.array([self.thresholds[len(term)] for term in terms])


def search_terms(
    data: FieldData, max_order: int, ebic_gamma: float, l2: float
) -> FieldFit:
    """Find terms of orders 2 and up; main effects are always among them."""
    criterion = TermCriterion.of(data, max_order, ebic_gamma)
    terms = [(i,) for i in range(data.signs.shape[1])]
    fit = fit_pseudo_likelihood(data, terms, np.zeros(len(terms)), l2)
    removed: set[Term] = set()
    while True:
        while found := _find_joining(fit, criterion, removed, l2):
            start = np.append(fit.weights, np.zeros(len(found)))
            fit = fit_pseudo_likelihood(data, fit.terms + found, start, l2)
        n_removed = len(removed)
        fit = _remove_terms(fit, criterion, removed, l2)
        if len(removed) == n_removed:
            return fit


def _find_joining(
    fit: FieldFit, criterion: TermCriterion, removed: set[Term], l2: float
) -> list[Term]:
    """Terms that are worth their cost, each after those before it."""
    n_joining = max(_SEARCH.min_joining, int(_SEARCH.growth * len(fit.terms)))
    terms = _screen(fit, criterion, removed, _SEARCH.n_scored * n_joining)
    if not terms:
        return []
    scores, information = _project(fit, terms, l2)
    sums, squares = (
        fit.data.weight @ scores,
        scores.T @ (fit.data.weight[:, None] * scores),
    )
    found = list[int]()
    min_information = _SEARCH.min_information * information.diagonal()
    while len(found) < min(n_joining, len(terms)):
        # A square of the sum over one of squares: at most the number of rows.
        spread = np.maximum(squares.diagonal(), np.finfo(float).tiny)
        excess = criterion.excess(terms, sums**2 / spread)
        excess[information.diagonal() <= min_information] = -np.inf
        excess[found] = -np.inf
        best = int(np.argmax(excess))
        if excess[best] <= 0.0:
            break
        found.append(best)
        # A Newton step of the best term, and what all others are beside it.
        slope = information[best] / information[best, best]
        sums = sums - sums[best] * slope
        squares = squares - np.outer(squares[best], slope)
        squares = squares - np.outer(slope, squares[best])
        information = information - np.outer(information[best], slope)
    return [terms[j] for j in found]


def _project(
    fit: FieldFit, terms: list[Term], l2: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores of rows and information of new terms, beside those that there are."""
    n_known, both = len(fit.terms), fit.terms + terms
    products = np.hstack([fit.products, multiply(fit.data.signs, terms)])
    scores, information = fit.scores(both, products), fit.information(both, products)
    known, cross = information[:n_known, :n_known], information[:n_known, n_known:]
    known[np.diag_indices_from(known)] += l2
    slopes = cho_solve(cho_factor(known), cross)
    information = information[n_known:, n_known:] - cross.T @ slopes
    return scores[:, n_known:] - scores[:, :n_known] @ slopes, information


def _screen(
    fit: FieldFit, criterion: TermCriterion, removed: set[Term], n_terms: int
) -> list[Term]:
    """Terms of the highest scores, as if columns were independent, the best first."""
    known, terms, scores = {*fit.terms, *removed}, list[Term](), list[float]()
    for some, found in _score_all(fit.data, fit.residuals, criterion):
        terms += some
        scores += found.tolist()
    excess = criterion.excess(terms, np.array(scores))
    order = np.argsort(-excess, kind="stable").tolist()
    chosen = (terms[j] for j in order if terms[j] not in known)
    return [term for term, _ in zip(chosen, range(n_terms), strict=False)]


def _score_all(
    data: FieldData, residuals: NDArray[np.float64], criterion: TermCriterion
) -> Iterator[tuple[list[Term], NDArray[np.float64]]]:
    """Yield pairs and triples of high scores, by products of centered inputs."""
    # Of independent columns the gradient by a term is the order times a product of
    # centered inputs.
    max_order = len(criterion.thresholds) - 1
    if max_order == 1:
        return
    n, means, group = data.n_observations, data.means, data.layout.group_of
    centered, variance = data.signs - means, np.maximum(1.0 - means**2, 1.0 / n)
    weighed = data.weight[:, None] * residuals
    half = weighed.T @ centered
    differs = group[:, None] != group
    scores = (half + half.T) ** 2 / (4.0 * n * np.outer(variance, variance))
    yield _keep_high(np.triu(np.where(differs, scores, 0.0)), (), criterion)
    if max_order == 2:
        return
    for i in range(len(means)):
        later = np.flatnonzero(group > group[i])
        own = centered[:, later]
        of_pair = (centered[:, [i]] * weighed[:, later]).T @ own
        total = (weighed[:, [i]] * own).T @ own + of_pair + of_pair.T
        spread = 9.0 * n * variance[i] * np.outer(variance[later], variance[later])
        scores = np.zeros((len(means), len(means)))
        scores[np.ix_(later, later)] = total**2 / spread
        yield _keep_high(np.triu(np.where(differs, scores, 0.0)), (i,), criterion)


def _keep_high(
    scores: NDArray[np.float64], first: Term, criterion: TermCriterion
) -> tuple[list[Term], NDArray[np.float64]]:
    """Terms of high scores by their last two inputs, and the scores."""
    min_score = _SEARCH.min_screened * criterion.thresholds[len(first) + 2]
    index = np.nonzero(scores > min_score)
    pairs = zip(*(part.tolist() for part in index), strict=True)
    return [(*first, *pair) for pair in pairs], scores[index]


def _remove_terms(
    fit: FieldFit, criterion: TermCriterion, removed: set[Term], l2: float
) -> FieldFit:
    """Take out terms that are not worth their cost beside all others, one by one."""
    while True:
        scores = fit.scores(fit.terms, fit.products)
        information = fit.information(fit.terms, fit.products)
        information[np.diag_indices_from(information)] += l2
        errors = sandwich(scores, fit.data.weight, information)
        squares = (fit.weights / np.maximum(errors, np.finfo(float).tiny)) ** 2
        excess = criterion.excess(fit.terms, squares)
        excess[[len(term) == 1 for term in fit.terms]] = np.inf
        if not np.any(excess < 0.0):
            return fit
        weakest = int(np.argmin(excess))
        removed.add(fit.terms[weakest])
        others = np.delete(np.arange(len(fit.terms)), weakest).tolist()
        fit = fit_pseudo_likelihood(
            fit.data, [fit.terms[j] for j in others], fit.weights[others], l2
        )
