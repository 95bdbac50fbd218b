"""Expensive functions to be minimized, with known optima.

Each generated function is seen through a mask: some of its bits, drawn with the
instance, are flipped, so that no point that somebody may try first is an optimum. Spin
glasses (stored ones first), MaxSAT and measured functions are read from the folder that
SKMOHN_DATA names, else from shared/data next to the repository.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from benchmarks.shared import common
from skmohn._core._walsh import WalshPolynomial
from skmohn.datasets import make_bmda_quadratic, make_ising, make_mk_trap, make_nk
from skmohn.datasets._sampling import find_optima
from skmohn.optimize import minimize

# Weights of edges, capacities and the like are drawn with the instance's number; the
# number of a problem's mask is this far away.
MASKS = 1_000_000


class BlackBox(NamedTuple):
    """A function to minimize.

    Attributes
    ----------
    name : str
    instance : int
    space : int or dict
        So many variables of 0 and 1, or names and lists of their values.
    f : callable
        Of one point: an int array, or a dict.
    optimum : float
    rows : ndarray of shape (n_rows, n_variables), default=None
        The points that f is measured at, when these are not all.
    good : float, default=None
        Value that one point of a hundred has or is below.
    """

    name: str
    instance: int
    space: int | dict
    f: Callable
    optimum: float
    rows: np.ndarray | None = None
    good: float | None = None


def _data(name):
    return np.load(common.data_folder() / name)


def _masked(name, instance, n, f, optimum):
    mask = np.random.default_rng(MASKS + instance).integers(0, 2, n)
    return BlackBox(name, instance, n, lambda x: f(x ^ mask), float(optimum))


def _sum_of_products(pairs, weights):
    """Return f of bits: the sum of weights times products of two spins."""
    i, j = pairs.T
    return lambda x: float(weights @ (1 - 2 * (x[i] ^ x[j])))


def ising(side, name, instance):
    """Spin glass on a torus, couplings of -1 and +1."""
    stored = _data("bench_ising_torus.npz")
    key = f"pm_{side * side}_{instance}"
    if f"{key}_edges" in stored:
        edges, lowest = stored[f"{key}_edges"].astype(int), stored[f"{key}_energy"]
        pairs, weights = edges[:, :2], -edges[:, 2].astype(float)
    else:
        data = make_ising(
            (side, side), n_samples=1, optimum=True, random_state=instance
        )
        pairs, weights, lowest = np.array(data.terms), data.weights, data.minimum
    return _masked(name, instance, side**2, _sum_of_products(pairs, weights), lowest)


def ising_3d(side, name, instance):
    """Spin glass in three dimensions; its lowest energy is the best of 20 searches.

    No exact method reaches it: where it is not the lowest, hits are too many, not few.
    """
    data = make_ising((side,) * 3, n_samples=1, optimum=False, random_state=instance)
    pairs = np.array(data.terms)
    terms = dict(zip(data.terms, data.weights.tolist(), strict=True))
    lowest = minimize(terms, n_restarts=20, random_state=instance).fun
    return _masked(
        name, instance, side**3, _sum_of_products(pairs, data.weights), lowest
    )


def quadratic(n, name, instance):
    """The function that introduced BMDA: pairs of bits that should both be set."""
    data = make_bmda_quadratic(n, n_samples=1, random_state=instance)

    def f(x):
        a, b = x[data.blocks].T
        return float(-(0.9 - 0.9 * (a + b) + 1.9 * a * b).sum())

    return _masked(name, instance, n, f, -n / 2)


def trap(k, m, name, instance):
    """Sum of deceptive traps; bits are assigned to traps at random."""
    data = make_mk_trap(k, m, n_samples=1, shuffle=True, random_state=instance)

    def f(x):
        ones = x[data.blocks].sum(axis=1)
        return float(-np.where(ones == k, k, k - 1 - ones).sum())

    return _masked(name, instance, k * m, f, -k * m)


def nk(n, k, neighbors, name, instance, *, optimum=True):
    """NK landscape; its maximum is found by dynamic programming or enumeration."""
    data = make_nk(
        n, k, neighbors=neighbors, n_samples=1, optimum=optimum, random_state=instance
    )
    bits, rows = 2 ** np.arange(k + 1), np.arange(n)

    def f(x):
        return -float(data.tables[rows, x[data.blocks] @ bits].mean())

    lowest = -data.maximum if optimum else -np.inf
    return _masked(name, instance, n, f, lowest)


def max_sat(n, name, instance):
    """Number of unsatisfied clauses; all can be satisfied."""
    clauses = _data("bench_sat_satlib.npz")[
        f"uf{n}-0{instance % 20 + 1}_clauses"
    ].astype(int)
    variables, wanted = np.abs(clauses) - 1, clauses > 0

    def f(x):
        return float((x[variables] != wanted).all(axis=1).sum())

    return _masked(name, instance, n, f, 0)


def knapsack(n, name, instance):
    """Value of what is packed, with its sign changed; what is too heavy costs."""
    rng = np.random.default_rng(instance)
    values, weights = rng.integers(10, 100, n), rng.integers(10, 100, n)
    capacity = int(weights.sum()) // 2
    # What one unit too heavy costs is never less than the item that must go for it.
    dearest = values.max()

    def f(x):
        return float(dearest * max(0, weights @ x - capacity) - values @ x)

    best = _integer_program(-values, LinearConstraint(weights[None], ub=capacity))
    return _masked(name, instance, n, f, best)


def vertex_cover(n, n_edges, name, instance):
    """Number of vertices chosen; each edge that they leave uncovered costs two."""
    edges = _graph(n, n_edges, instance)
    i, j = edges.T

    def f(x):
        return float(x.sum() + 2 * ((x[i] == 0) & (x[j] == 0)).sum())

    # The solver of scipy 1.13 takes no longer indices.
    rows, columns = np.arange(n_edges, dtype=np.int32), edges.astype(np.int32)
    ends = np.ones(2 * n_edges), (rows.repeat(2), columns.ravel())
    covered = LinearConstraint(csr_array(ends, shape=(n_edges, n)), lb=1)
    return _masked(name, instance, n, f, _integer_program(np.ones(n), covered))


def max_cut(n, n_edges, name, instance):
    """Weights of the edges that are cut, with their sign changed."""
    edges = _graph(n, n_edges, instance)
    weights = np.random.default_rng(instance).integers(1, 11, n_edges) / 2
    function = WalshPolynomial.collect(zip(edges.tolist(), weights, strict=True))
    lowest = find_optima(function, n, optimum=True)[0][0]
    uncut = _sum_of_products(edges, weights)
    total = weights.sum()
    return _masked(name, instance, n, lambda x: float(uncut(x) - total), lowest - total)


def w_model(n, neutrality, epistasis, rugged, name, instance):
    """OneMax behind layers that make it hard, after Weise's W-model.

    Parameters
    ----------
    n : int
        Bits, a multiple of `neutrality`.
    neutrality : int
        So many bits, an odd number, stand for one: what most of them are.
    epistasis : int
        Blocks of so many, an even number, of these bits are mixed: one that changes
        changes all others of its block.
    rugged : bool
        Whether each number of ones but the highest changes places with its neighbor.
    name, instance : str, int
    """
    order = np.random.default_rng(instance).permutation(n)
    n_ones = n // neutrality
    mixed = n_ones - n_ones % epistasis if epistasis else 0

    def f(x):
        y = x[order].reshape(n_ones, neutrality).sum(axis=1) > neutrality // 2
        y = y.astype(int)
        if mixed:
            blocks = y[:mixed].reshape(-1, epistasis)
            y[:mixed] = (blocks ^ (blocks.sum(axis=1, keepdims=True) % 2)).ravel()
        ones = int(y.sum())
        if rugged and ones < n_ones:
            # Pairs are counted from below the highest, which keeps its place.
            from_top = n_ones - 1 - ones
            ones = max(0, ones - 1) if from_top % 2 == 0 else ones + 1
        return float(n_ones - ones)

    return _masked(name, instance, n, f, 0)


def _graph(n, n_edges, instance):
    rng = np.random.default_rng(instance)
    pairs = np.column_stack(np.triu_indices(n, 1))
    return pairs[rng.choice(len(pairs), n_edges, replace=False)]


def _integer_program(costs, constraint):
    result = milp(
        costs,
        integrality=np.ones(len(costs)),
        bounds=Bounds(0, 1),
        constraints=constraint,
    )
    if not result.success:
        raise RuntimeError(result.message)
    return round(result.fun)


@cache
def _table(file, sign):
    """Read points and values to be minimized; rows in random, fixed order."""
    values = np.loadtxt(common.data_folder() / file, delimiter=",", skiprows=1)
    values = np.random.default_rng(0).permutation(values)
    return values[:, :-1].astype(int), sign * values[:, -1]


def _good(y):
    """Return the value that one of a hundred of these has or is below."""
    return float(np.sort(y)[max(1, len(y) // 100) - 1])


def configuration(file, sign, name, instance):
    """Measured system: f is known at the rows alone."""
    X, y = _table(file, sign)
    values = dict(zip(map(tuple, X.tolist()), y.tolist(), strict=True))

    def f(x):
        return values[tuple(x.tolist())]

    return BlackBox(name, instance, X.shape[1], f, float(y.min()), X, _good(y))


def nearest(rows, x):
    """Return the row of 0 and 1 with the fewest differences, the first of them."""
    return rows[(rows != x).sum(axis=1).argmin()]


def landscape(file, name, instance):
    """Two-valued sites of a protein; variants that are not measured are the worst."""
    X, y = _table(file, -1)
    measured = dict(zip(map(bytes, X.astype(np.uint8)), y.tolist(), strict=True))
    worst = float(y.max())

    def f(x):
        return measured.get(bytes(np.asarray(x, dtype=np.uint8)), worst)

    return BlackBox(name, instance, X.shape[1], f, float(y.min()), good=_good(y))


@cache
def _letters(file):
    table = np.loadtxt(
        common.data_folder() / file, delimiter=",", skiprows=1, dtype="U24"
    )
    y = -table[:, -1].astype(float)
    return dict(zip(map("".join, table[:, :-1]), y.tolist(), strict=True))


def variants(file, name, instance):
    """Four sites of a protein with 20 letters each; what is not measured is worst."""
    measured = _letters(file)
    y = np.array(list(measured.values()))
    worst = float(y.max())
    alphabet = sorted({letter for variant in measured for letter in variant})
    space = {f"site {i + 1}": alphabet for i in range(4)}

    def f(point):
        return measured.get("".join(point.values()), worst)

    return BlackBox(name, instance, space, f, float(y.min()), good=_good(y))


_MADE = {
    "Ising 36": partial(ising, 6),
    "Ising 64": partial(ising, 8),
    "Ising 100": partial(ising, 10),
    "4-trap 40": partial(trap, 4, 10),
    "4-trap 80": partial(trap, 4, 20),
    "5-trap 25": partial(trap, 5, 5),
    "5-trap 50": partial(trap, 5, 10),
    "NK 30,3 nearest": partial(nk, 30, 3, "nearest"),
    "uf20": partial(max_sat, 20),
    "uf50": partial(max_sat, 50),
    "NK 20,5 random": partial(nk, 20, 5, "random"),
    "knapsack 40": partial(knapsack, 40),
    "vertex cover 50": partial(vertex_cover, 50, 100),
    "MaxCut 48": partial(max_cut, 48, 96),
    "W-model epistasis": partial(w_model, 40, 1, 4, False),
    "W-model neutrality": partial(w_model, 60, 3, 0, False),
    "W-model ruggedness": partial(w_model, 32, 1, 0, True),
}
_PUBLISHED = {
    "quadratic 120": partial(quadratic, 120),
    "Ising 100": _MADE["Ising 100"],
    "Ising 5x5x5": partial(ising_3d, 5),
    **{name: make for name, make in _MADE.items() if "trap" in name},
}
_REAL = {
    "x264": partial(configuration, "config_x264.csv", 1),
    "SQLite": partial(configuration, "config_sqlite.csv", 1),
    # The largest load that the server took, where the others are seconds.
    "Apache": partial(configuration, "config_apache.csv", -1),
    "Poelwijk": partial(landscape, "poelwijk2019_fluorescence.csv"),
    "CR6261": partial(landscape, "phillips2021_cr6261_h1.csv"),
    "GB1": partial(variants, "wu2016_gb1.csv.gz"),
}
# Makers of problems: of the instance's number.
MADE = {name: partial(make, name) for name, make in _MADE.items()}
PUBLISHED = {name: partial(make, name) for name, make in _PUBLISHED.items()}
REAL = {name: partial(make, name) for name, make in _REAL.items()}
STRUCTURED = tuple(MADE)[:8]
