"""Random sets of terms, with and without heredity."""

# A term is a sorted tuple of features. All functions return sorted lists of distinct
# terms, so that what a seed gives does not depend on the order of a set.

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from math import comb

import numpy as np

from skmohn._core._types import Term
from skmohn._core._validation import is_integer


def terms_by_order(
    rng: np.random.RandomState,
    n_features: int,
    counts: Mapping[int, int],
    heredity: str | None,
) -> list[Term]:
    """Draw numbers of terms by order."""
    numbers = [*counts.keys(), *counts.values()]
    if not all(is_integer(number) for number in numbers) or not (
        min(counts, default=0) >= 1 and min(counts.values()) >= 0
    ):
        raise ValueError(
            f"n_terms must map orders >= 1 to numbers of terms >= 0, got {counts!r}."
        )
    orders = range(1, max(counts) + 1)
    wanted = {order: counts.get(order, 0) for order in orders}
    features = range(n_features)
    terms = set()
    if heredity is None:
        for order in orders:
            terms |= _draw(rng, features, order, wanted[order])
    elif heredity == "weak":
        level = {()}
        for order in orders:
            level = _draw_children(rng, features, level, order, wanted[order])
            terms |= level
    else:
        # From the top down, so that each order first has what the one above needs.
        # Its features are those that have a term of their own.
        features = sorted(f for (f,) in _draw(rng, features, 1, wanted[1]))
        level = set()
        for order in reversed(orders):
            level = {
                term[:i] + term[i + 1 :] for term in level for i in range(order + 1)
            }
            if len(level) > wanted[order]:
                raise ValueError(
                    f"n_terms has {wanted[order]} terms of order {order}, but its "
                    f"terms of order {order + 1} need {len(level)} for strong "
                    "heredity: ask for more of the former or fewer of the latter."
                )
            level |= _draw(rng, features, order, wanted[order] - len(level), level)
            terms |= level
    return sorted(terms)


def terms_by_tower(
    rng: np.random.RandomState,
    n_features: int,
    n_terms: int,
    max_order: int,
    heredity: str | None,
) -> list[Term]:
    """Draw terms of orders up to max_order, in groups that satisfy heredity."""
    if max_order > n_features:
        raise ValueError(
            f"max_order must be at most n_features={n_features}, got {max_order}."
        )
    possible = sum(comb(n_features, order) for order in range(1, max_order + 1))
    if n_terms > possible:
        raise ValueError(
            f"n_terms must be at most {possible}, the number of terms of up to "
            f"{max_order} of {n_features} features, got {n_terms}."
        )
    # Towers are as high as n_terms allows: one of height h has 2**h - 1 terms under
    # strong heredity, h under weak heredity.
    if heredity == "strong":
        height = min(max_order, (int(n_terms) + 1).bit_length() - 1)
        size = 2**height - 1
    elif heredity == "weak":
        height = size = min(max_order, n_terms)
    else:
        height = size = 1  # the height of each is drawn below
    terms: set[Term] = set()
    for _ in range(n_terms // size):
        if heredity is None:
            height = rng.randint(1, max_order + 1)
        features = rng.choice(n_features, height, replace=False).tolist()
        if heredity == "strong":
            features.sort()
            for order in range(1, height + 1):
                terms.update(combinations(features, order))
        elif heredity == "weak":
            terms.update(tuple(sorted(features[:end])) for end in range(1, height + 1))
        else:
            terms.add(tuple(sorted(features)))
    # Towers overlap. An order is filled up before the next one is touched, which keeps
    # both kinds of heredity.
    for order in range(1, max_order + 1):
        level = {term for term in terms if len(term) == order}
        room = comb(n_features, order) - len(level)
        count = min(n_terms - len(terms), room)
        terms |= _draw(rng, range(n_features), order, count, level)
    return sorted(terms)


def _draw(
    rng: np.random.RandomState,
    features: Sequence[int],
    order: int,
    count: int,
    taken: AbstractSet[Term] = frozenset(),
) -> set[Term]:
    """Draw `count` terms of one order that are not among those taken (same order)."""
    possible = comb(len(features), order)
    if count > possible - len(taken):
        raise ValueError(
            f"n_terms asks for {count + len(taken)} terms of order {order}, but "
            f"{len(features)} features make only {possible}."
        )
    # Rejection is quick as long as half of what it may hit is free; beyond that, the
    # list of all terms is at most twice as long as what is asked for.
    if 2 * (count + len(taken)) > possible:
        return _pick(rng, sorted(set(combinations(features, order)) - taken), count)
    terms = set()
    while len(terms) < count:
        chosen = rng.choice(len(features), order, replace=False)
        terms.add(tuple(sorted(features[i] for i in chosen)))
        terms -= taken
    return terms


def _draw_children(
    rng: np.random.RandomState,
    features: Sequence[int],
    parents: AbstractSet[Term],
    order: int,
    count: int,
) -> set[Term]:
    """Draw `count` terms of one order that contain a parent of one order less."""
    # A term has at most `order` parents.
    possible = len(parents) * (len(features) - order + 1) // order
    if 2 * count > possible:
        terms = sorted(
            {
                tuple(sorted((*parent, feature)))
                for parent in parents
                for feature in set(features).difference(parent)
            }
        )
        if count > len(terms):
            raise ValueError(
                f"n_terms asks for {count} terms of order {order}, but only "
                f"{len(terms)} contain one of the {len(parents)} terms of order "
                f"{order - 1}, as weak heredity wants."
            )
        return _pick(rng, terms, count)
    ordered = sorted(parents)
    terms = set()
    while len(terms) < count:
        parent = ordered[rng.randint(len(ordered))]
        feature = features[rng.randint(len(features))]
        if feature not in parent:
            terms.add(tuple(sorted((*parent, feature))))
    return terms


def _pick(rng: np.random.RandomState, terms: Sequence[Term], count: int) -> set[Term]:
    return {terms[i] for i in rng.choice(len(terms), count, replace=False)}
