"""Products that discriminate classes: a forward search by the logistic score."""

# A path of models that grow by the products with the highest score in ridge-penalized
# logistic regression on the products so far. For class k with probabilities ``p_k`` the
# score of a product u is ``g_k = sum_d u_d (1[y_d = k] - p_k(d))``; a weight for it
# would raise the penalized log-likelihood by about ``sum_k g_k^2 / (h_k + 1/C) / 2``,
# with ``h_k = sum_d p_k (1 - p_k) (u_d - mean u)^2``: one step of Newton's method.
#
# Sources: Rao, Proc. Cambridge Phil. Soc. 44 (1948), for the score; Lozano, Swirszcz
# and Abe, AISTATS (2011), for the greedy search.

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from skmohn._core._fitting import last_of, tick
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import Design
from skmohn.mohn._design.terms import in_order
from skmohn.mohn._sparse.pair_cache import PairCacheView
from skmohn.mohn._sparse.term_screening import (
    SCREENING,
    TermScreening,
    chance_thresholds,
)
from skmohn.mohn._sparse.variant_pairs import VARIANTS, VariantPairs


@dataclass(frozen=True)
class LogisticSearchConstants:
    """Search of products for classes."""

    # Penalty of the search. Products are -1 and +1: a standard deviation of 0.3 a
    # weight.
    C: float = tuned(0.1, "benchmarks/ablation.py")
    # Candidates per class and order that are scored exactly, for each that may be
    # added.
    n_scored_per_candidate: int = tuned(4, "benchmarks/ablation.py")
    min_scored: int = tuned(20, "benchmarks/ablation.py")
    # Products with a larger cosine are collinear to the next fit.
    max_cosine: float = tuned(0.9, "benchmarks/ablation.py")
    # With a larger cosine the model has the column, up to its sign.
    max_cosine_rounding: float = tuned(1 - 1e-9, "rounding")
    # Higher orders wait while the best score exceeds its chance threshold by this
    # factor.
    min_ratio_significant: float = tuned(1.5, "benchmarks/ablation.py")


LOGISTIC_SEARCH = LogisticSearchConstants()


@dataclass(frozen=True)
class LogisticControl:
    """Limits of a search."""

    max_order: int  # largest number of inputs in a product
    # Most products beside those that the search begins with, or infinite.
    max_weights: float
    work_budget: float  # nanoseconds, from counts, for screening orders three and up
    # (n_inputs,); inputs of one group are the categories of a categorical: no product
    # has two of them.
    groups: np.ndarray
    start: tuple[Term, ...]  # products of the first model


# Design, class indices and sample weights.
Validation: TypeAlias = tuple[Design, NDArray[np.integer], NDArray[np.float64] | None]


class ScorePath(ABC):
    """Models of growing size on one training set, with their losses on another."""

    n_free_outputs = 1  # weights of each product that are free

    def __init__(
        self,
        design: Design,  # unweighted: sample weights enter by the residuals
        weights: NDArray[np.float64],  # (n_samples,)
        control: LogisticControl,
        held_design: Design | None = None,  # of the validation samples
        pairs: PairCacheView | None = None,  # cached pairs of a wide table
    ) -> None:
        self.weights = weights
        self.control = control
        self.design = design
        # All products found so far, those of `control.start` first.
        self.terms = list(control.start)
        self.columns = self._columns(self.terms)
        # Targets and weights of the validation samples; None without.
        self.validation: Any = None
        self.held_design: Any = held_design
        self.sizes: list[int] = []  # number of these in each model
        # Mean log loss of the training samples by model.
        self.deviances: list[float] = []
        # By model, the score of the best product that it adds, relative to the chance
        # threshold of its rivals; inf of the first.
        self.ratios = [math.inf]
        self.is_full = False  # no product is left to add, or the size is at its limit
        self.frontier = TermScreening(
            design, control.max_order, control.work_budget, pairs=pairs
        )
        self.pairs = pairs
        # For one output products of two variants are joined; more have a score each.
        is_single = self.n_free_outputs == 1
        self.variant_pairs = VariantPairs.of(design) if is_single else None
        # Whether to make a pass over all pairs where no cached one is significant.
        self._is_thorough = True

    @abstractmethod
    def losses(self, position: int, temperature: float = 1.0) -> NDArray[np.float64]:
        """Validation log loss by sample of one model, weights times a temperature."""

    @abstractmethod
    def refit_losses(self, position: int, C: float) -> NDArray[np.float64]:
        """Validation log loss by sample of one model, refitted with penalty C."""

    @abstractmethod
    def _learn(self) -> None:
        """Fit the model of all products so far."""

    @abstractmethod
    def _unexplained(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Residuals and variances of the outputs, shape (n_samples, n_outputs)."""

    def n_observations(self) -> float:
        """Number of observations that tell weights."""
        return self.weights.sum()

    def _error(self) -> float:
        """Error of the last model, which is positive."""
        return self.deviances[-1]

    def extend(self, sizes: Sequence[int]) -> Self:
        """Grow to sizes beyond the start; return the path, for other processes."""
        last_of(self.steps(sizes))
        return self

    def steps(self, sizes: Sequence[int]) -> Generator[None, None, None]:
        """Grow as `extend` does; yield where a pass over all pairs is requested."""
        for size in sizes:
            if self.is_full:
                break
            n_found = len(self.terms) - len(self.control.start)
            # Terms within chance are searched for among the cached pairs, and among all
            # at the end of a stage.
            self._is_thorough |= size == sizes[-1]
            # Joined products of two variants may exceed the size; models are compared
            # by their position on the path.
            batch = min(max(size - n_found, 1), self.control.max_weights - n_found)
            added, ratio = yield from self._look(batch)
            if not added:
                self.is_full = True
                break
            self.terms += added
            self.ratios.append(ratio)
            self.columns = np.hstack([self.columns, self._columns(added)])
            self._learn()
            self.is_full = n_found + len(added) >= self.control.max_weights

    def model(self, position: int) -> list[Term]:
        """Products of one model; a path that ended early keeps its last one."""
        return self.terms[: self.sizes[min(position, len(self.sizes) - 1)]]

    def _columns(self, terms: Sequence[Term]) -> NDArray[np.float64]:
        return unpack_columns(self.design, terms)

    def _look(self, batch: int) -> Generator[None, None, tuple[list[Term], float]]:
        """Propose products, from all pairs if no cached one is significant."""
        residuals, spreads = self._unexplained()
        pairs = self.frontier.pairs
        if pairs is not None and pairs.is_empty:
            yield from self._rescan(pairs, residuals)
        chosen, ratio = self._propose(residuals, spreads, batch)
        if pairs is not None and ratio < 1 and self._is_thorough:
            yield from self._rescan(pairs, residuals)
            chosen, ratio = self._propose(residuals, spreads, batch)
            self._is_thorough = ratio >= 1
        return chosen, ratio

    def _rescan(
        self, pairs: PairCacheView, residuals: NDArray[np.float64]
    ) -> Generator[None, None, None]:
        """Request a pass over all pairs with the residuals."""
        pairs.request(*residuals.T)
        yield
        pairs.wait()

    def _propose(
        self, residuals: NDArray[np.float64], spreads: NDArray[np.float64], batch: int
    ) -> tuple[list[Term], float]:
        """Products to add, the best first, and the ratio of the best."""
        size = max(
            LOGISTIC_SEARCH.min_scored, LOGISTIC_SEARCH.n_scored_per_candidate * batch
        )
        if self.variant_pairs is not None:
            size = max(size, VARIANTS.n_screened)
        found = self.frontier.screen_low_orders(residuals.T, size)
        found += self.frontier.screen_children(residuals.T, self.terms, size)
        chosen, ratio = self._select(found, residuals, spreads, batch)
        if ratio < LOGISTIC_SEARCH.min_ratio_significant:
            min_gain = max(ratio, SCREENING.min_ratio)
            raised = self.frontier.raise_order(
                residuals.T, self._error(), size, terms=self.terms
            )
            for order, found in raised:
                higher = self._select(found, residuals, spreads, batch)
                if higher[1] > min_gain:
                    self.frontier.has_given(order)
                    return higher
        return chosen, ratio

    def _select(
        self,
        found: list[Term],
        residuals: NDArray[np.float64],
        spreads: NDArray[np.float64],
        batch: int,
    ) -> tuple[list[Term], float]:
        """Score candidates exactly; keep the best that are not collinear."""
        # Also returns the score of the best relative to the chance threshold of its
        # rivals.
        present = set(self.terms)
        # Of collinear candidates, the smallest set comes first.
        found = in_order(set(found) - present)
        groups = self.control.groups
        found = [term for term in found if len(set(groups[list(term)])) == len(term)]
        if not found or batch < 1:
            return [], 0.0
        columns = self._columns(found)
        spread = np.maximum(_centered_squares(columns, spreads), 0.0)
        scores = np.abs(residuals.T @ columns) / np.sqrt(spread + 1 / LOGISTIC_SEARCH.C)
        thresholds = chance_thresholds(
            found, present, self.design.n_features, n_rivals=len(scores)
        )
        gains, best = np.linalg.norm(scores, axis=0), np.max(scores / thresholds)
        if self.variant_pairs is not None:
            subsets, ratios = self.variant_pairs.join(
                found,
                gains / thresholds,
                self.terms,
                1.0,
                partial(self._weigh, residuals[:, 0], spreads[:, 0]),
            )
            leader = int(np.argmax(ratios))
            if len(subsets[leader]) > 1:
                return subsets[leader], float(ratios[leader])
        lengths, known = _lengths(columns), _lengths(self.columns)
        chosen, min_gain = [], 0.0
        centered = columns - columns.mean(axis=0)
        centered /= _lengths(centered)
        for j in np.argsort(-gains, kind="stable"):
            if len(chosen) == batch or not gains[j] > min_gain:
                break
            # A product with a flag that is nearly always the same is nearly the one
            # without, which has fewer rivals.
            is_like = np.abs(centered.T @ centered[:, j]) > LOGISTIC_SEARCH.max_cosine
            is_like[j] = True
            j = int(np.argmax(np.where(is_like, gains / thresholds, -np.inf)))
            cosines = np.abs(columns[:, j] @ self.columns) / (lengths[j] * known)
            if np.any(cosines > LOGISTIC_SEARCH.max_cosine_rounding):
                continue
            # The best that the model lacks.
            min_gain = min_gain or SCREENING.min_score_fraction * gains[j]
            alike = np.abs(columns[:, chosen].T @ columns[:, j])
            if not np.any(
                alike > LOGISTIC_SEARCH.max_cosine * lengths[chosen] * lengths[j]
            ):
                chosen.append(j)
        return [found[j] for j in chosen], float(best)

    def _weigh(
        self,
        residual: NDArray[np.float64],
        spread: NDArray[np.float64],
        columns: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores of columns and their information; see `VariantPairs.join`."""
        means = columns @ spread / max(spread.sum(), 1e-300)
        columns = columns - means[:, :, None]
        return columns @ residual, (columns * spread) @ columns.transpose(0, 2, 1)


class LogisticPath(ScorePath):
    """Models of classes."""

    def __init__(
        self,
        design: Design,
        labels: NDArray[np.integer],  # (n_samples,), int; class indices, from 0
        sample_weight: NDArray[np.float64] | None,  # (n_samples,)
        n_classes: int,
        control: LogisticControl,
        validation: Validation | None = None,
        pairs: PairCacheView | None = None,
    ) -> None:
        weights = np.ones(len(labels)) if sample_weight is None else sample_weight
        self.n_free_outputs = max(n_classes - 1, 1)
        held_design = None if validation is None else validation[0]
        super().__init__(design, weights, control, held_design, pairs)
        self.labels = labels
        self.indicators = np.eye(n_classes)[labels]
        if validation is not None:
            _, held_labels, held_weight = validation
            if held_weight is None:
                held_weight = np.ones(len(held_labels))
            self.validation = held_labels, held_weight
        # (n_validation, n_classes); log-probabilities of the classes of each validation
        # sample by model.
        self.held_chances: list[NDArray[np.float64]] = []
        self._learn()

    def losses(self, position: int, temperature: float = 1.0) -> NDArray[np.float64]:
        """Validation log loss by sample of one model, log odds times a temperature."""
        chances = self.held_chances[min(position, len(self.held_chances) - 1)]
        return _log_loss(log_softmax(temperature * chances, axis=1), self.validation[0])

    def refit_losses(self, position: int, C: float) -> NDArray[np.float64]:
        """Validation log loss by sample of one model, refitted with penalty C."""
        terms = self.model(position)
        chances = self._fit(len(terms), C)(unpack_columns(self.held_design, terms))
        return _log_loss(_log(chances), self.validation[0])

    def _fit(
        self, size: int, C: float
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Logistic regression on the first products, as a function of columns."""
        tick()
        present = np.unique(self.labels)
        if len(present) == 1 or not size:
            priors = np.average(self.indicators, axis=0, weights=self.weights)
            return lambda columns: np.tile(priors, (len(columns), 1))
        model = LogisticRegression(C=C, tol=1e-3, max_iter=200)
        model.fit(self.columns[:, :size], self.labels, sample_weight=self.weights)

        def probabilities(columns: NDArray[np.float64]) -> NDArray[np.float64]:
            found = np.zeros((len(columns), self.indicators.shape[1]))
            found[:, present] = model.predict_proba(columns)
            return found

        return probabilities

    def _learn(self) -> None:
        """Fit the model of all products so far."""
        predict = self._fit(len(self.terms), LOGISTIC_SEARCH.C)
        self.fitted = predict(self.columns)
        self.sizes.append(len(self.terms))
        loss = _log_loss(_log(self.fitted), self.labels)
        self.deviances.append(float(np.average(loss, weights=self.weights)))
        if self.validation is not None:
            held = predict(unpack_columns(self.held_design, self.terms))
            self.held_chances.append(_log(held))

    def _unexplained(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Residuals and variances of the classes, shape (n_samples, n_classes)."""
        # The residuals of two classes are opposite: one suffices.
        last = slice(1, None) if self.fitted.shape[1] == 2 else slice(None)
        fitted = self.fitted[:, last]
        residuals = self.weights[:, None] * (self.indicators[:, last] - fitted)
        return residuals, self.weights[:, None] * fitted * (1 - fitted)


def unpack_columns(design: Design, terms: Sequence[Term]) -> NDArray[np.float64]:
    """Columns of products, (n_samples, n_terms)."""
    if not terms:
        return np.empty((design.n_samples, 0))
    columns: Any = design.columns(terms)
    return design.unpack(columns, np.float64).T


def _log(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(np.maximum(probabilities, 1e-12))


def _log_loss(
    log_probabilities: NDArray[np.float64], labels: NDArray[np.integer]
) -> NDArray[np.float64]:
    return -log_probabilities[np.arange(len(labels)), labels]


def _lengths(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(np.linalg.norm(columns, axis=0), 1e-12)


def _centered_squares(
    columns: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted sums of squares about the weighted means, one row for each weighting."""
    sums = weights.T @ columns
    totals = np.maximum(weights.sum(axis=0), 1e-300)[:, None]
    return weights.T @ columns**2 - sums**2 / totals
