"""Random sparse Walsh functions."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skmohn._core._sklearn import StrOptions, validate_params
from skmohn._core._types import Term
from skmohn._core._validation import is_integer
from skmohn._core._walsh import WalshPolynomial
from skmohn.datasets._sampling import (
    OPTIMUM_CONSTRAINT,
    SAMPLING_CONSTRAINTS,
    Count,
    Number,
    find_optima,
    require_room,
    sample,
)

# A term is a sorted tuple of features. All functions return sorted lists of distinct
# terms, so that what a seed gives does not depend on the order of a set.


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
                    "heredity: raise the former or lower the latter."
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
                f"{order - 1}, as weak heredity requires."
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


WEIGHT_DISTRIBUTIONS = {
    "gaussian": lambda rng, size: rng.standard_normal(size),
    "pm1": lambda rng, size: rng.choice([-1.0, 1.0], size=size),
    "uniform": lambda rng, size: rng.uniform(-1.0, 1.0, size=size),
}


@validate_params(
    SAMPLING_CONSTRAINTS
    | {
        "n_features": [Count(1)],
        "n_terms": [Count(1), dict],
        "max_order": [Count(1)],
        "heredity": [None, StrOptions({"strong", "weak"})],
        "weight_distribution": [StrOptions(set(WEIGHT_DISTRIBUTIONS))],
        "intercept": [Number(-1e150)],
        "optimum": OPTIMUM_CONSTRAINT,
    },
    prefer_skip_nested_validation=True,
)
def make_sparse_walsh(
    n_features: int = 50,
    n_terms: int | dict[int, int] = 20,
    *,
    n_samples: int = 1000,
    max_order: int = 3,
    heredity: str | None = "strong",
    weight_distribution: str = "gaussian",
    intercept: float = 0.0,
    noise: float = 0.0,
    snr: float | None = None,
    coding: str = "pm1",
    optimum: bool | str = "auto",
    random_state: int | np.random.RandomState | None = None,
    return_X_y: bool = False,
) -> Any:
    """Generate a random sparse polynomial in two-valued features.

    ``y = intercept + sum_j weights_j prod_{i in terms_j} x_i`` with random terms of
    several orders. By default, as in real data, higher-order terms come with their
    lower-order parts (heredity).

    Parameters
    ----------
    n_features : int, default=50
        Number of features.
    n_terms : int or dict of int to int, default=20
        Number of terms, spread over the orders as described in Notes, or the number for
        each order, such as ``{3: 5}`` for five products of three features. The constant
        does not count.
    n_samples : int, default=1000
        Number of samples, uniform over all inputs.
    max_order : int, default=3
        Largest order, at most `n_features`. Ignored if `n_terms` is a dict.
    heredity : {"strong", "weak"} or None, default="strong"
        Which terms of the next lower order a term of order 2 or more requires: all that
        it contains, at least one, or none.
    weight_distribution : {"gaussian", "pm1", "uniform"}, default="gaussian"
        Distribution of the weights: standard normal, -1 and +1 with equal
        probability, or uniform between -1 and 1. Only "pm1" avoids weights too small to
        find.
    intercept : float, default=0.0
        Mean of the function over all inputs.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise on `y`, in units of `y`.
    snr : float, default=None
        Signal-to-noise ratio, instead of `noise`: the variance of the function over all
        inputs, which is the sum of the squared weights, divided by that of the noise.
    coding : {"pm1", "binary"}, default="pm1"
        Values of `X`: -1 and +1, or 0 and 1 with 1 for +1.
    optimum : {"auto", True, False}, default="auto"
        Whether to find the exact lowest and highest value: "auto" if that takes no time
        (up to 20 features, or little entanglement), True also if it takes a second
        (more is refused), False never.
    random_state : int, RandomState instance or None, default=None
        Seed for terms and weights, the samples and the noise, in this order: the same
        integer gives the same function if `n_samples` or the noise change.
    return_X_y : bool, default=False
        Whether to return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the fields

        X : ndarray of shape (n_samples, n_features)
            The inputs, float64.
        y : ndarray of shape (n_samples,)
            The values, with noise.
        terms : list of tuple of int
            Feature indices of each true Walsh weight, sorted by order.
        weights : ndarray of shape (len(terms),)
            The weights, for -1/+1 inputs whatever the coding.
        intercept : float
            As given.
        noise : float
            Standard deviation of the noise used.
        minimum, maximum : float or None
            Lowest and highest value without noise; None if not found.
        x_minimum, x_maximum : ndarray of shape (n_features,) or None
            Inputs with that value, coded like `X`.
        direction : str
            "maximize".
        feature_names : list of str
            ``x0``, ``x1``, ...
        DESCR : str
            Description of the problem.
    (X, y) : tuple if ``return_X_y=True``
        Only inputs and targets.

    Raises
    ------
    ValueError
        If a parameter is out of range, there are too few possible terms, heredity needs
        more terms of some order than a dict allows, both `noise` and `snr` are given,
        or ``optimum=True`` needs more than about 2**26 steps.

    Notes
    -----
    An integer number of terms is spent on towers: with strong heredity, a random set of
    `max_order` features and all its subsets; with weak heredity, the prefixes of a
    random sequence of `max_order` features; without heredity, one random set of random
    order. Terms left over because towers overlap go to the lowest order that is not
    full.

    Examples
    --------
    >>> from skmohn.datasets import make_sparse_walsh
    >>> data = make_sparse_walsh(10, {1: 3, 2: 2}, random_state=0)
    >>> data.terms
    [(2,), (3,), (6,), (2, 3), (3, 6)]
    >>> make_sparse_walsh(1000, 3000, random_state=0).X.shape
    (1000, 1000)
    """
    counts = n_terms.values() if isinstance(n_terms, dict) else [n_terms]
    n_all = sum(max(int(count), 0) for count in counts if is_integer(count))
    # More terms than there are sets are refused below.
    n_all = min(n_all, 2 ** min(int(n_features), 64))
    require_room(n_samples, int(n_features), n_all)
    rng = check_random_state(random_state)
    if isinstance(n_terms, dict):
        terms = terms_by_order(rng, n_features, n_terms, heredity)
    else:
        terms = terms_by_tower(rng, n_features, n_terms, max_order, heredity)
    weights = WEIGHT_DISTRIBUTIONS[weight_distribution](rng, len(terms))
    polynomial = WalshPolynomial.collect(zip(terms, weights, strict=True), intercept)
    return sample(
        polynomial,
        n_features,
        rng,
        n_samples=n_samples,
        noise=noise,
        snr=snr,
        coding=coding,
        return_X_y=return_X_y,
        optima=find_optima(
            polynomial, n_features, optimum=False if return_X_y else optimum
        ),
        direction="maximize",
        descr=(
            f"Random function of {n_features} features with {len(terms)} Walsh terms "
            f"(heredity: {heredity}, weights: {weight_distribution})."
        ),
    )
