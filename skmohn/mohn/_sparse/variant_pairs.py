"""Interactions of two variants: up to four products of columns, tested together."""

# A variant that is coded both by its counts and by heterozygotes has two columns, and
# two variants have four products. An effect of the 3 x 3 genotypes may spread over all
# four, so that none is significant although they are together. Products of one pair of
# variants enter and leave a model together: the most significant subset, by the score
# test with as many degrees of freedom as it has products.

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Final, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term, lapack
from skmohn.mohn._design.design import Design
from skmohn.mohn._sparse.active_set import ActiveSet

# Products of two columns of each variant.
_N_PRODUCTS: Final = 4


@dataclass(frozen=True)
class VariantConstants:
    """Joint tests of the products of two variants."""

    # Single products among which a search joins those of the same variants.
    n_screened: int = tuned(2**10, "benchmarks/ablation.py")
    # Pairs of variants whose products are computed at a time, and at most, the best
    # first.
    n_pairs_per_block: int = tuned(64, "cost")
    max_pairs: int = tuned(256, "benchmarks/ablation.py")
    # Ridge of correlations, which keeps subsets of dependent products from being
    # singular.
    ridge: float = tuned(1e-9, "rounding")


VARIANTS = VariantConstants()
_SUBSETS = [
    list(subset)
    for size in range(1, _N_PRODUCTS + 1)
    for subset in combinations(range(_N_PRODUCTS), size)
]


# Given columns, (n_pairs, n_products, n_samples), their inner products with what is
# left to explain, (n_pairs, n_products), and with each other, (n_pairs, n_products,
# n_products), in the variance of the noise.
Weigh: TypeAlias = Callable[
    [NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]
]


class VariantPairs:
    """All pairs of variants whose columns have several products."""

    def __init__(
        self,
        design: Design,  # `variants` are the variant that each column codes
    ) -> None:
        self.design, self.variants = design, cast(NDArray, design.variants)
        self._n = int(self.variants.max()) + 1
        self._columns: dict[int, list[int]] = {}
        for column, variant in enumerate(self.variants.tolist()):
            self._columns.setdefault(variant, []).append(column)

    @classmethod
    def of(cls, design: Design) -> Self | None:
        """Pairs of a design's variants; None where each variant has one column."""
        variants = design.variants
        if variants is None or len(np.unique(variants)) == len(variants):
            return None
        return cls(design)

    @cached_property
    def bars(self) -> NDArray[np.float64]:
        """Chance thresholds of the best subset of each size: explained squares."""
        # In the variance of the noise, with the probability of the squared threshold of
        # a single product among as many rivals.
        bars = [2.0 * math.log(max(math.comb(len(self.variants), 2), 10))]
        n_pairs = max(math.comb(len(self._columns), 2), 10)
        for size in range(2, _N_PRODUCTS + 1):
            z = math.sqrt(2.0 * math.log(n_pairs * math.comb(_N_PRODUCTS, size)))
            bars.append(float(chi2.isf(2.0 * norm.sf(z), size)))
        return np.array(bars)

    def _ratio(self, explained: Any, size: int) -> Any:
        """Root of what a subset explains relative to its chance threshold."""
        return np.sqrt(np.maximum(explained, 0.0) / self.bars[size - 1])

    def join(
        self,
        found: list[Term],
        ratios: NDArray[np.float64],
        terms: Sequence[Term],
        min_ratio: float,
        moments: Weigh,
        may_enter: Callable[[Term], bool] | None = None,
        known: dict[int, Any] | None = None,
    ) -> tuple[list[list[Term]], NDArray[np.float64]]:
        """Replace products of one pair by the best subset; return subsets, ratios."""
        # `ratios` are the scores of the candidates `found` relative to chance. Pairs of
        # variants in the model's `terms` are not joined, nor those below the ratio
        # `min_ratio`, nor products that may not enter. `known` caches subsets between
        # calls that differ only in `found` and `min_ratio`.
        keys, ratios = self._keys(found), np.asarray(ratios)
        is_open = (keys >= 0) & ~np.isin(keys, self._keys(terms))
        pairs, owners = np.unique(keys[is_open], return_inverse=True)
        squares, best = ratios[is_open] ** 2, np.zeros(len(pairs))
        np.maximum.at(best, owners, squares)
        # Of four products that are significant together one explains a quarter or more.
        enough = min_ratio**2 * self.bars[-1] / (_N_PRODUCTS * self.bars[0])
        ranked = np.argsort(-np.bincount(owners, squares), kind="stable")
        joined = pairs[ranked[best[ranked] >= enough][: VARIANTS.max_pairs]].tolist()
        if may_enter is None:
            may_enter = bool
        known = {} if known is None else known
        new = [key for key in joined if key not in known]
        for block in equal_slices(len(new), VARIANTS.n_pairs_per_block):
            part = {key: self._products(key) for key in new[block]}
            known |= dict.fromkeys(part)
            known |= self._best_of(
                {
                    key: products
                    for key, products in part.items()
                    if len(products) == _N_PRODUCTS and all(map(may_enter, products))
                },
                moments,
            )
        best = {key: known[key] for key in joined if known[key] is not None}
        alone = np.flatnonzero(~np.isin(keys, list(best)))
        subsets = [[found[j]] for j in alone] + [subset for subset, _ in best.values()]
        return subsets, np.append(ratios[alone], [ratio for _, ratio in best.values()])

    def _keys(self, terms: Sequence[Term]) -> NDArray[np.intp]:
        """Number for the pair of variants of each product; -1 of other terms."""
        keys = np.full(len(terms), -1)
        at = [j for j, term in enumerate(terms) if len(term) == 2]
        if at:
            columns = np.array([terms[j] for j in at])
            first, second = np.sort(self.variants[columns], axis=1).T
            keys[at] = np.where(first < second, first * self._n + second, -1)
        return keys

    def _products(self, key: int) -> list[Term]:
        """All products of two variants."""
        first, second = (self._columns[variant] for variant in divmod(key, self._n))
        return [tuple(sorted((i, j))) for i in first for j in second]

    def _best_of(
        self, products: Mapping[int, list[Term]], moments: Weigh
    ) -> dict[int, tuple[list[Term], float]]:
        """Best subset of each pair's products, if it has several, and its ratio."""
        if not products:
            return {}
        columns: Any = self.design.columns(
            [t for own in products.values() for t in own]
        )
        inner, gram = moments(columns.reshape(len(products), _N_PRODUCTS, -1))
        length = np.sqrt(np.maximum(np.einsum("ikk->ik", gram), 0.0))
        length[length <= 0.0] = np.inf
        inner = inner / length
        gram = gram / (
            length[:, :, None] * length[:, None, :]
        ) + VARIANTS.ridge * np.eye(_N_PRODUCTS)
        ratios = np.empty((len(products), len(_SUBSETS)))
        for j, subset in enumerate(_SUBSETS):
            part, own = gram[:, subset][:, :, subset], inner[:, subset]
            explained = own * np.linalg.solve(part, own[:, :, None])[:, :, 0]
            ratios[:, j] = self._ratio(explained.sum(axis=1), len(subset))
        return {
            pair: ([own[k] for k in _SUBSETS[j]], row[j])
            for (pair, own), row, j in zip(
                products.items(), ratios.tolist(), ratios.argmax(axis=1), strict=True
            )
            if len(_SUBSETS[j]) > 1
        }

    def joint_ratios(
        self, model: ActiveSet, errors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Test weights together with the others of their pair of variants."""
        # `errors` are standard errors. Returned are ratios of what the subsets explain
        # to their chance thresholds, 0 of single products, and whether the others of a
        # subset are as significant without this one.
        subsets, keys = {}, self._keys(model.terms)
        for j in range(model.n_fixed, len(keys)):
            subsets.setdefault(int(keys[j]), []).append(j)
        subsets.pop(-1, None)
        ratios = np.zeros(len(errors))
        is_spare = np.zeros(len(errors), dtype=bool)
        subsets = [np.array(own) for own in subsets.values() if len(own) > 1]
        if not subsets:
            return ratios, is_spare
        inverse, _ = lapack.dtrtri(model.factor, lower=1)
        for own in subsets:
            part, weights = inverse[:, own], model.coef[own]
            square = weights @ np.linalg.solve(part.T @ part, weights) / model.noise**2
            ratios[own] = self._ratio(square, len(own))
            sizes = np.abs(weights / errors[own])
            weakest = int(np.argmin(sizes))
            without = self._ratio(square - sizes[weakest] ** 2, len(own) - 1)
            is_spare[own[weakest]] = without >= ratios[own[weakest]]
        return ratios, is_spare
