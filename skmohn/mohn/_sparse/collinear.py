"""Sets of inputs that are nearly collinear with the terms of a model."""

# Of collinear columns a search keeps the best, which need not be the cause. So the
# others are listed: each member of a set is replaced by inputs that are correlated with
# it, and the products are compared with that of the set.

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import Design

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
    most = int(_COLLINEAR.max_products ** (1.0 / len(term)) + 1e-9)
    choices = [[i, *list(alike[i])[: most - 1]] for i in term]
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
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
