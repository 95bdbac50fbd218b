"""Games: coalitions, and Walsh weights from the values of some of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from math import comb
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.sparse import csr_array
from scipy.special import bernoulli

from skmohn._core._fitting import gather_warnings
from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._units import refuse_huge
from skmohn._core._walsh import WalshPolynomial, walsh_transform
from skmohn.mohn import GPOptions, MOHNRegressor
from skmohn.mohn._engine import Covariance, EncodedRows

# A term is the product of signs, 1 for players in the coalition and -1 for others. By
# linearity, an index of a set S of players is a sum of c(|S|, |Q|) w_Q over the terms Q
# that contain S: the discrete derivative of such a term at S is 2^|S| times the product
# of the signs of the rest, which each index averages over the coalitions of others.


@dataclass(frozen=True)
class WeightConstants:
    """Which weights of a game are listed."""

    # Weights of all terms that are compared, in one block and together.
    max_block: int = tuned(1000, "cost")
    max_candidates: int = tuned(20_000, "cost")
    # Those listed of a Gaussian process, and the variance that others may have, as a
    # fraction of all.
    max_terms: int = tuned(2000, "cost")
    max_tail: float = tuned(1e-5, "benchmarks/inspection/walsh_explainer.py")
    # Noise of values that are met exactly, as fractions of the noise and of the signal.
    noise_ratio: float = tuned(1e-3, "rounding")
    min_noise: float = tuned(1e-10, "rounding")
    # Weights that are rounding errors, relative to the largest value.
    min_weight: float = tuned(1e-12, "rounding")


_WEIGHTS = WeightConstants()


class GameWeights(NamedTuple):
    """Weights of a game; the first is the constant's, which has the empty term."""

    terms: list[Term]
    weights: NDArray[np.float64]
    covariance: NDArray[np.float64] | None  # of their errors; None: exact
    kind: str  # "complete", "sparse" or "gp"

    def polynomial(self) -> WalshPolynomial:
        """The function of signs."""
        return WalshPolynomial.sort(self.terms, self.weights, 0.0)


def transform_game(values: NDArray[np.float64]) -> GameWeights:
    """Weights of a game from all coalitions, numbered by their bits."""
    n_players = len(values).bit_length() - 1
    # Bits of the transform are -1, and players in a coalition are 1.
    weights = walsh_transform(values[::-1].copy()) / len(values)
    limit = _WEIGHTS.min_weight * np.max(np.abs(values))
    kept = np.flatnonzero(np.abs(weights) > limit)
    kept = np.union1d(kept, [0])
    terms = [tuple(i for i in range(n_players) if k >> i & 1) for k in kept.tolist()]
    return _sort(terms, weights[kept], None, "complete")


def fit_game(
    coalitions: NDArray[np.bool_], values: NDArray[np.float64], n_met: int, seed: int
) -> GameWeights:
    """Fit weights to values of coalitions; the first `n_met` values are met exactly."""
    # A noisy game has none. If few terms reproduce all values, they are the game; if
    # not, a Gaussian process over all weights is more faithful than any few terms.
    signs = np.where(coalitions, 1.0, -1.0)
    if np.ptp(values) == 0.0:
        return GameWeights([()], values[:1].copy(), None, "sparse")
    # Warnings are of a search that found nothing exact, and of targets with two values.
    with gather_warnings():
        if n_met:
            sparse = MOHNRegressor(
                "pursuit", selection="ebic", outliers="keep", random_state=seed
            ).fit(signs, values)
            if sparse.noise_std_ == 0.0:
                weights = np.concatenate([[sparse.intercept_], sparse.weights_])
                return GameWeights([(), *sparse.terms_], weights, None, "sparse")
        # Weights add up to the game on its own scale alone.
        options = GPOptions(
            noise="constant", target_transform=None, numeric="multilinear", one_hot=None
        )
        gp = MOHNRegressor(
            "gp", outliers="keep", gp_options=options, random_state=seed
        ).fit(signs, values)
    return _list_posterior(gp, signs, values, n_met)


def _list_posterior(
    gp: MOHNRegressor,
    signs: NDArray[np.float64],
    values: NDArray[np.float64],
    n_met: int,
) -> GameWeights:
    """Largest weights of a Gaussian process, and the covariance of their errors."""
    model = cast("Any", gp.model_)
    prior: Covariance = model.covariance
    center, unit = model.y_mean, model.y_std
    rows = EncodedRows(signs, np.zeros((len(signs), 0), dtype=np.intp))
    covariance = prior.between(rows, rows)
    noise = np.full(len(values), max(model.noise_variance, _WEIGHTS.min_noise))
    floor = _WEIGHTS.min_noise * np.mean(np.diag(covariance))
    noise[:n_met] = np.maximum(_WEIGHTS.noise_ratio * noise[:n_met], floor)
    covariance[np.diag_indices_from(covariance)] += noise
    factor = cholesky(covariance, lower=True)
    target = (values - center) / unit
    terms = _choose_terms(prior, signs, cho_solve((factor, True), target))
    products = _multiply(signs, terms)
    variances = prior.weight_stds(terms) ** 2
    explained = solve_triangular(factor, products * variances, lower=True)
    weights = explained.T @ solve_triangular(factor, target, lower=True)
    errors = np.diag(variances) - explained.T @ explained
    if n_met:
        weights, errors = _meet(weights, errors, products[:n_met], target[:n_met])
    weights = unit * weights
    weights[0] += center
    return _sort(terms, weights, unit**2 * errors, "gp")


def _choose_terms(
    prior: Covariance, signs: NDArray[np.float64], dual: NDArray[np.float64]
) -> list[Term]:
    """The constant, all players, and the terms with the largest posterior means."""
    n_players = signs.shape[1]
    candidates: list[Term] = []
    means: list[NDArray[np.float64]] = []
    for block in _blocks(n_players):
        candidates += block
        variances = prior.weight_stds(block) ** 2
        means.append(variances * (dual @ _multiply(signs, block)))
    power = np.concatenate(means) ** 2
    order = np.argsort(-power, kind="stable")
    tail = np.cumsum(power[order][::-1])[::-1]
    is_large = tail > _WEIGHTS.max_tail * power.sum()
    chosen = [candidates[j] for j in order[is_large][: _WEIGHTS.max_terms].tolist()]
    singles: list[Term] = [(i,) for i in range(n_players)]
    return [(), *singles, *(term for term in chosen if len(term) > 1)]


def _blocks(n_players: int) -> Iterator[list[Term]]:
    """Blocks of all terms of as many orders as there is room for."""
    n_candidates = 0
    for order in range(1, n_players + 1):
        n_candidates += comb(n_players, order)
        if order > 1 and n_candidates > _WEIGHTS.max_candidates:
            return
        terms = list(combinations(range(n_players), order))
        for part in equal_slices(len(terms), _WEIGHTS.max_block):
            yield terms[part]


def _multiply(signs: NDArray[np.float64], terms: list[Term]) -> NDArray[np.float64]:
    """Product of the signs of each term, (n_rows, n_terms)."""
    return np.stack([signs[:, list(term)].prod(axis=1) for term in terms], axis=1)


def _meet(
    weights: NDArray[np.float64],
    errors: NDArray[np.float64],
    products: NDArray[np.float64],
    target: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Condition weights on values that their sums have exactly."""
    # Terms that are not listed leave small differences. The pseudoinverse: where errors
    # are all but zero, there is nothing to move.
    cross = errors @ products.T
    gain = cross @ np.linalg.pinv(products @ cross, hermitian=True)
    moved = weights + gain @ (target - products @ weights)
    return moved, errors - gain @ cross.T


def _sort(
    terms: list[Term],
    weights: NDArray[np.float64],
    covariance: NDArray[np.float64] | None,
    kind: str,
) -> GameWeights:
    """Sort terms by order, then by their players."""
    order = sorted(range(len(terms)), key=lambda j: (len(terms[j]), terms[j]))
    if covariance is not None:
        covariance = covariance[np.ix_(order, order)]
    return GameWeights([terms[j] for j in order], weights[order], covariance, kind)


@dataclass(frozen=True)
class CoalitionConstants:
    """How coalitions are drawn."""

    # Up to so many players, pairs are drawn from a list of all.
    max_players_listed: int = tuned(16, "cost")


_COALITIONS = CoalitionConstants()


def list_coalitions(n_players: int) -> NDArray[np.bool_]:
    """List all coalitions; player i is in those whose number has bit i."""
    return _decode(np.arange(1 << n_players), n_players)


def count_ends(n_players: int) -> int:
    """Coalitions that lack at most one player, or have at most one."""
    return 2 * n_players + 2


def sample_coalitions(
    n_players: int, n_coalitions: int, random: np.random.RandomState
) -> NDArray[np.bool_]:
    """Draw distinct coalitions: first the ends, then uniform ones in pairs."""
    # The ends are no player, all, each alone, and all but each. Shapley values give
    # them most weight, and uniform draws hardly contain them. A coalition is followed
    # by its complement: terms of odd and of even orders are then orthogonal.
    # Ends may cost R2 where they are unlike the rest: a vote of 13 players, 100 values,
    # fell from 0.49 to 0.30, and a sum of 30 unanimity games of 15 from 0.84 to 0.80.
    alone = np.eye(n_players, dtype=bool)
    halves = [np.zeros((1, n_players), dtype=bool), alone]
    n_pairs = (n_coalitions + 1) // 2 - n_players - 1
    if n_players <= _COALITIONS.max_players_listed:
        # One of each pair lacks the last player.
        codes = random.permutation(1 << (n_players - 1))
        drawn = _decode(codes, n_players)
        size = drawn.sum(axis=1)
        is_end = (size <= 1) | (size == n_players - 1)
        halves.append(drawn[~is_end][:n_pairs])
    else:
        halves.append(_draw_halves(n_players, n_pairs, random))
    half = np.concatenate(halves)
    pairs = np.stack([half, ~half], axis=1).reshape(-1, n_players)
    return pairs[:n_coalitions]


def _draw_halves(
    n_players: int, n_pairs: int, random: np.random.RandomState
) -> NDArray[np.bool_]:
    """Draw one coalition of each of some pairs that are no ends."""
    seen: set[bytes] = set()
    drawn: list[NDArray[np.bool_]] = []
    while len(drawn) < n_pairs:
        row = random.randint(2, size=n_players).astype(bool)
        keys = {row.tobytes(), (~row).tobytes()}
        if 1 < row.sum() < n_players - 1 and not keys & seen:
            seen |= keys
            drawn.append(row)
    return np.reshape(np.array(drawn, dtype=bool), (-1, n_players))


def _decode(codes: NDArray[np.integer], n_players: int) -> NDArray[np.bool_]:
    return (codes[:, None] >> np.arange(n_players) & 1).astype(bool)


def evaluate_game(
    game: Callable[[NDArray[np.bool_]], ArrayLike],
    coalitions: NDArray[np.bool_],
    name: str,
) -> NDArray[np.float64]:
    """Evaluate a game and check that there is a finite number for each coalition."""
    returned: Any = np.asarray(game(coalitions.copy()))
    if returned.shape != (len(coalitions),):
        raise ValueError(
            f"{name} must return one number for each row of its argument, shape "
            f"({len(coalitions)},), got shape {returned.shape}"
        )
    if returned.dtype.kind not in "biuf":
        raise ValueError(f"{name} must return numbers, got dtype {returned.dtype}")
    values = returned.astype(float)
    if not np.all(np.isfinite(values)):
        raise ValueError(
            f"{name} must return finite numbers, got {values[~np.isfinite(values)][0]}"
        )
    refuse_huge(values, f"numbers that {name} returns")
    return values


def read_coalitions(masks: ArrayLike, n_players: int) -> NDArray[np.bool_]:
    """Read coalitions as rows of True and False, or of 1 and 0."""
    array = np.asarray(masks)
    if array.ndim != 2 or array.shape[1] != n_players:
        raise ValueError(
            f"masks must have shape (n_masks, {n_players}), a column for each player, "
            f"got {array.shape}"
        )
    if array.dtype.kind not in "biuf" or not np.all((array == 0) | (array == 1)):
        raise ValueError("masks must have only True and False, or 1 and 0")
    return array.astype(bool)


INDICES: Final = ("SII", "k-SII", "STII", "BII", "Moebius")


@dataclass(frozen=True)
class IndexConstants:
    """How many sets of players a table of interactions may have."""

    max_sets: int = tuned(2_000_000, "cost")


_INDICES = IndexConstants()


def make_index_map(
    terms: Sequence[Term], index: str, max_order: int
) -> tuple[list[Term], csr_array]:
    """Sets of up to `max_order` players, and the map from weights to their index."""
    # The constant is the empty term; only Moebius values have a value of the empty set.
    first = 0 if index == "Moebius" else 1
    orders = [range(first, min(len(term), max_order) + 1) for term in terms]
    n_sets = sum(
        comb(len(term), size)
        for term, sizes in zip(terms, orders, strict=True)
        for size in sizes
    )
    if n_sets > _INDICES.max_sets:
        raise ValueError(
            f"max_order={max_order} needs {n_sets:,} subsets of terms, more than "
            f"{_INDICES.max_sets:,}: choose a smaller one"
        )
    coefficient = _COEFFICIENTS[index](max_order)
    rows, columns, entries = [], [], []
    numbers: dict[Term, int] = {}
    for j, (term, sizes) in enumerate(zip(terms, orders, strict=True)):
        for size in sizes:
            value = coefficient(size, len(term))
            if value:
                for players in combinations(term, size):
                    rows.append(numbers.setdefault(players, len(numbers)))
                    columns.append(j)
                    entries.append(value)
    sets = sorted(numbers, key=lambda players: (len(players), players))
    order = np.empty(len(sets), dtype=np.intp)
    order[[numbers[players] for players in sets]] = np.arange(len(sets))
    shape = len(sets), len(terms)
    index_map = csr_array((entries, (order[rows], columns)), shape=shape)
    return sets, index_map


# A function of the sizes of a set and of a term.
_Coefficient = Callable[[int, int], float]


def _moebius(size: int, order: int) -> float:
    """Part of a term in the Moebius value of a set: signs written as 2 b - 1."""
    return 2.0**size * (-1.0) ** (order - size)


def _banzhaf(size: int, order: int) -> float:
    """Mean over all coalitions of others: 0 but for the term of the set itself."""
    return 2.0**size * (size == order)


def _shapley(size: int, order: int) -> float:
    """Mean where others are present with probability t, over t from 0 to 1."""
    # The mean of (2 t - 1)^k; Grabisch and Roubens (1999), Theorem 2 as an integral.
    n_others = order - size
    return 0.0 if n_others % 2 else 2.0**size / (n_others + 1)


def _shapley_taylor(max_order: int, size: int, order: int) -> float:
    """Shapley-Taylor index of Sundararajan, Dhamdhere and Agarwal (2020)."""
    # Below the largest order it is the discrete derivative at the empty coalition.
    if size < max_order:
        return _moebius(size, order)
    return 2.0**size * _shapley_taylor_mean(max_order, order - size)


@cache
def _shapley_taylor_mean(max_order: int, n_others: int) -> float:
    """Mean of (2 t - 1)^n_others over t of density k (1 - t)^(k - 1), k the order."""
    # Exact for this polynomial, without differences of large numbers.
    n_nodes = (max_order + n_others) // 2 + 1
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    density = max_order * ((1.0 - nodes) / 2.0) ** (max_order - 1)
    return float(np.sum(weights * density * nodes**n_others) / 2.0)


def _k_shapley(max_order: int, size: int, order: int) -> float:
    """Shapley interactions that add up to the game: Bordt and von Luxburg (2023)."""
    numbers = bernoulli(max_order)
    return sum(
        comb(order - size, larger - size)
        * float(numbers[larger - size])
        * _shapley(larger, order)
        for larger in range(size, min(max_order, order) + 1)
    )


_COEFFICIENTS: dict[str, Callable[[int], _Coefficient]] = {
    "SII": lambda max_order: _shapley,
    "k-SII": lambda max_order: partial(_k_shapley, max_order),
    "STII": lambda max_order: partial(_shapley_taylor, max_order),
    "BII": lambda max_order: _banzhaf,
    "Moebius": lambda max_order: _moebius,
}
