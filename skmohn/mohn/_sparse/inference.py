"""Tests of the terms that a fit chose, and the sets that are collinear with them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import Design, make_design
from skmohn.mohn._models import FitResult
from skmohn.mohn._sparse.rank_scores import rank_scores
from skmohn.mohn._sparse.significance import correct_p_values, p_values_of_terms
from skmohn.mohn._training_data import TrainingData

# Of collinear columns a search keeps the best, which need not be the cause. So the
# others are listed: each member of a set is replaced by inputs that are correlated with
# it, and the products are compared with that of the set.


class TermTests(NamedTuple):
    """Tests of the terms of a model, one for each."""

    p_values: NDArray[np.float64]
    n_tried: NDArray[np.intp]
    corrected: NDArray[np.float64]

    @classmethod
    def unknown(cls, n_terms: int) -> Self:
        """Terms about which nothing is known."""
        nothing = np.full(n_terms, np.nan)
        return cls(nothing, np.ones(n_terms, dtype=int), nothing.copy())

    @classmethod
    def of_fit(
        cls, samples: TrainingData, result: FitResult, fixed: Collection[Term]
    ) -> Self:
        """Test on training rows, corrected for the search; `fixed` terms had none."""
        design, terms = make_design(samples.inputs, samples.sample_weight), result.terms
        y = rank_scores(samples.y) if result.on_scores else samples.y
        p_values = p_values_of_terms(design, y, terms, fixed)
        tested = design, y, terms, p_values, result.coverage, fixed
        return cls(p_values, *correct_p_values(*tested))

    @classmethod
    def of_further_rows(
        cls, design: Design, y: NDArray[np.float64], terms: Sequence[Term]
    ) -> Self:
        """Test on rows that took no part in the search."""
        p_values = p_values_of_terms(design, y, terms)
        n_tried = np.full(len(terms), len(terms))
        return cls(p_values, n_tried, np.minimum(p_values * n_tried, 1.0))


def label_collinear_terms(
    samples: TrainingData, terms: Sequence[Term]
) -> list[list[tuple[Any, float]]]:
    """Sets of columns that are collinear with each term, and their correlations."""
    design = make_design(samples.inputs, samples.sample_weight)
    label, groups = samples.term_names.label, samples.term_names.groups
    return [
        [
            (label(other), correlation)
            for other, correlation in alike
            # None has two categories of one column.
            if len(set(groups[list(other)])) == len(other)
        ]
        for alike in find_collinear_terms(design, terms)
    ]


# Least absolute correlation of inputs with a member, and of products.
MIN_CORRELATION: Final = 0.9
# Sets listed for each.
MAX_LISTED: Final = 50


@dataclass(frozen=True)
class CollinearConstants:
    """Search of collinear terms."""

    # Products that are made to find them.
    max_products: int = tuned(2**12, "cost")
    # Of unpacked columns at a time.
    n_bytes: int = tuned(2**25, "cost")


_COLLINEAR = CollinearConstants()

_Set = TypeVar("_Set", int, Term)


def find_collinear_terms(
    design: Design, terms: Sequence[Term]
) -> list[list[tuple[Term, float]]]:
    """Find sets collinear with each term, with correlations, the closest first."""
    members = sorted({i for term in terms for i in term})
    alike = dict(zip(members, _alike(design, members), strict=True))
    return [_find_collinear_sets(design, term, alike) for term in terms]


def _alike(design: Design, members: Sequence[int]) -> list[dict[int, float]]:
    """Inputs correlated with each of some, with correlations, the closest first."""
    found: list[dict[int, float]] = [{} for _ in members]
    for own_part in _blocks(design, len(members)):
        some = members[own_part]
        own = design.columns([(i,) for i in some])
        for part in _blocks(design, design.n_features):
            others = range(part.start, part.stop)
            correlations = _correlations(design, own, [(j,) for j in others])
            for row, column in np.argwhere(
                np.abs(correlations) >= MIN_CORRELATION
            ).tolist():
                if others[column] != some[row]:
                    correlation = float(correlations[row, column])
                    found[own_part.start + row][others[column]] = correlation
    return [dict(_closest_first(alike)) for alike in found]


def _find_collinear_sets(
    design: Design, term: Term, alike: dict[int, dict[int, float]]
) -> list[tuple[Term, float]]:
    """Sets of correlated inputs whose products are collinear with that of a term."""
    if len(term) == 1:
        found = {(j,): correlation for j, correlation in alike[term[0]].items()}
        return _closest_first(found)[:MAX_LISTED]
    max_alike = int(_COLLINEAR.max_products ** (1.0 / len(term)) + 1e-9)
    choices = [[i, *list(alike[i])[: max_alike - 1]] for i in term]
    sets = {tuple(sorted(chosen)) for chosen in product(*choices)}
    # Equal members would leave a smaller set.
    sets = sorted(s for s in sets - {term} if len(set(s)) == len(s))
    own, found = design.columns([term]), {}
    for part in _blocks(design, len(sets)):
        (correlations,) = _correlations(design, own, sets[part])
        found |= zip(sets[part], correlations.tolist(), strict=True)
    close = {s: r for s, r in found.items() if abs(r) >= MIN_CORRELATION}
    return _closest_first(close)[:MAX_LISTED]


def _closest_first(correlations: dict[_Set, float]) -> list[tuple[_Set, float]]:
    # Differences by rounding are ties.
    return sorted(
        correlations.items(), key=lambda item: (-round(abs(item[1]), 9), item[0])
    )


def _correlations(
    design: Design, left: Any, sets: Sequence[Term]
) -> NDArray[np.float64]:
    """Correlations of columns with the products of sets; 0 where one is constant."""
    right: Any = design.columns(sets)
    ones = np.ones(design.n_samples)
    sums = [design.project(columns, ones) for columns in (left, right)]
    spreads = [design.spread(columns) for columns in (left, right)]
    inner = design.gram(left, right) - np.outer(*sums) / design.weight_sum
    return np.clip(inner / np.sqrt(np.outer(*spreads)), -1.0, 1.0)


def _blocks(design: Design, n: int) -> Iterator[slice]:
    size = max(_COLLINEAR.n_bytes // (8 * design.n_samples), 1)
    return equal_slices(n, size)
