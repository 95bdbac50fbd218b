"""What must hold for every space, constraint and order of asks and tells."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint

from skmohn._core._walsh import WalshPolynomial
from skmohn.optimize import BlackBoxOptimizer
from skmohn.optimize._polynomial import combine, make_polynomial
from skmohn.optimize._space import Space

SOME = settings(max_examples=settings.default.max_examples // 12)
MANY = settings(max_examples=settings.default.max_examples * 3 // 5)

seeds = st.integers(0, 2**32 - 1)
values = st.one_of(
    st.lists(
        st.sampled_from(["a", "b", "c", None, 2.5]), min_size=1, max_size=4, unique=True
    ),
    st.sets(st.integers(-3, 9), min_size=1, max_size=4).map(sorted),
    st.tuples(st.integers(-2, 0), st.integers(0, 3)),
    st.just([False, True]),
)
spaces = st.one_of(
    st.integers(1, 14),
    st.dictionaries(
        st.text("xyz", min_size=1, max_size=3), values, min_size=1, max_size=6
    ),
    st.integers(2, 30).flatmap(
        lambda n: seeds.map(
            lambda seed: np.random.default_rng(seed).integers(0, 3, (n, 4))
        )
    ),
)


def value_of(point):
    """A number for each point, the same each time, with equal ones among them."""
    parts = point.values() if isinstance(point, dict) else point.tolist()
    numbers = [zlib.crc32(str(part).encode()) % 5 for part in parts]
    return float(np.arange(1, len(numbers) + 1) @ numbers % 7)


def key_of(point):
    return repr(point if isinstance(point, dict) else point.tolist())


@SOME
@given(space=spaces, seed=seeds, data=st.data())
def test_nothing_is_evaluated_twice_without_noise(space, seed, data):
    """Batches of any size, told in any order, not at all, or unasked."""
    optimizer = BlackBoxOptimizer(space, noise=0, random_state=seed)
    n_points = Space(space).listed
    n_points = 2**14 if n_points is None else len(n_points)
    asked, waiting = set(), []
    for _ in range(data.draw(st.integers(1, 5))):
        n = data.draw(st.integers(1, 9))
        points = optimizer.ask(n)
        keys = [key_of(point) for point in points]
        assert not asked.intersection(keys)
        assert len(set(keys)) == len(keys)
        asked.update(keys)
        assert len(points) == n or len(asked) == n_points
        waiting.extend(points)
        order = data.draw(st.permutations(range(len(waiting))))
        order = order[: data.draw(st.integers(0, len(order)))]
        optimizer.tell(
            [waiting[i] for i in order], [value_of(waiting[i]) for i in order]
        )
        waiting = [waiting[i] for i in set(range(len(waiting))).difference(order)]
        for point in waiting[:1]:
            optimizer.tell([point], [np.nan if seed % 2 else value_of(point)])
        waiting = waiting[1:]
    told = [key_of(record["point"]) for record in optimizer.history_]
    assert len(set(told)) == len(told) == len(asked) - len(waiting)


@st.composite
def constrained(draw):
    """A space, its constraints and fixed values, and whether a point keeps them."""
    n = draw(st.integers(3, 16))
    kind = draw(st.sampled_from(["bits", "levels", "table"]))
    rng = np.random.default_rng(draw(seeds))
    space = {"bits": n, "levels": {f"v{i}": (0, 2) for i in range(n)}}.get(
        kind, rng.integers(0, 2, (40, n))
    )
    row = rng.integers(-2, 3, (1, n)).astype(float)
    feasible = (space if kind == "table" else rng.integers(0, 2, (1, n)))[0]
    total = float((row @ feasible)[0])
    form = draw(st.sampled_from(["equality", "inequality", "exactly k", "predicate"]))
    if form == "exactly k":
        row, total = np.ones((1, n)), float(feasible.sum())
    low = -np.inf if form == "inequality" else total

    def keeps(point):
        x = np.array(list(point.values()) if isinstance(point, dict) else point)
        return low - 1e-9 <= float((row @ x)[0]) <= total + 1e-9

    constraint = keeps if form == "predicate" else LinearConstraint(row, low, total)
    i = draw(st.integers(0, n - 1))
    name = f"v{i}" if kind == "levels" else i
    fixed = draw(st.sampled_from([None, {name: int(feasible[i])}]))
    return space, constraint, fixed, keeps


@SOME
@given(problem=constrained(), seed=seeds, noise=st.sampled_from([0, "auto", 0.5]))
def test_every_constraint_and_fixed_value_is_kept(problem, seed, noise):
    space, constraint, fixed, keeps = problem
    optimizer = BlackBoxOptimizer(
        space, constraints=constraint, fixed=fixed, noise=noise, random_state=seed
    )
    for _ in range(3):
        points = optimizer.ask(7)
        for point in points:
            assert keeps(point)
            assert all(point[name] == value for name, value in (fixed or {}).items())
        optimizer.tell(points, [value_of(point) for point in points])
    best = optimizer.result()
    assert keeps(best.x)
    seen = [
        r["value"] for r in optimizer.history_ if key_of(r["point"]) == key_of(best.x)
    ]
    assert best.fun == pytest.approx(np.mean(seen))


@SOME
@given(n=st.integers(2, 6), seed=seeds, maximize=st.booleans())
def test_an_optimum_that_is_called_so_is_one(n, seed, maximize):
    """Of sparse functions, of others, and of such with equal values."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-4, 5, 2**n) * (rng.random(2**n) < rng.choice([0.1, 1.0]))
    if rng.random() < 0.5:  # three weights
        x = np.indices((2,) * n).reshape(n, -1)
        table = sum(w * np.prod(1 - 2 * x[rng.integers(0, n, 2)], 0) for w in (1, 2, 4))
    place = 2 ** np.arange(n)[::-1]
    optimizer = BlackBoxOptimizer(n, maximize=maximize, noise=0, random_state=seed)
    result = optimizer.run(lambda x: table[place @ x], 24, batch_size=3)
    best = table.max() if maximize else table.min()
    assert result.fun == table[place @ result.x]
    if result.optimal:
        assert result.fun == best
    assert result.optimal or result.nfev < 2**n


@MANY
@given(seed=seeds, n=st.integers(1, 12), even=st.booleans())
def test_partition_crossover_is_never_worse_than_both_parents(seed, n, even):
    """On the model; nor than any point that takes each group from one of the two."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, rng.integers(0, 2 * n + 1))
    sets = {
        tuple(sorted(rng.choice(n, min(size, n), replace=False).tolist()))
        for size in sizes
    }
    terms = sorted(term for term in sets if not even or len(term) % 2 == 0)
    graph = WalshPolynomial.sort(terms, rng.normal(size=len(terms)), 0.0)
    one, other = rng.choice([-1, 1], (2, n)).astype(np.int8)
    child, gain = combine(make_polynomial(graph, n), one, other)
    worth = graph.predict(np.array([one, other, child], dtype=float))
    assert worth[2] >= max(worth[:2]) - 1e-9
    assert gain == pytest.approx(worth[2] - worth[0], abs=1e-9)
    # Where all orders are even, the opposite of a point is as good as the point.
    all_even = all(len(term) % 2 == 0 for term in terms)
    assert np.all((child == one) | (child == other)) or all_even
