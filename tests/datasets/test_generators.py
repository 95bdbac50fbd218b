"""What all generators promise, and the problems themselves in plain Python."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard

from skmohn._core import _validation
from skmohn.datasets import (
    make_bmda_quadratic,
    make_gwas,
    make_ising,
    make_mk_trap,
    make_nk,
    make_sparse_walsh,
    make_two_spirals,
)

# Small enough to enumerate.
SMALL = {
    "ising 2-D": partial(make_ising, (3, 3)),
    "ising 3-D": partial(make_ising, (3, 2, 2), couplings="gaussian"),
    "ising ring": partial(make_ising, [1, 7]),
    "trap": partial(make_mk_trap, 3, 3),
    "trap of one bit": partial(make_mk_trap, 1, 4),
    "trap shuffled": partial(make_mk_trap, 4, 2, shuffle=True),
    "quadratic": partial(make_bmda_quadratic, 10),
    "quadratic in order": partial(make_bmda_quadratic, 4, shuffle=False),
    "nk nearest": partial(make_nk, 9, 2),
    "nk random": partial(make_nk, 8, 3, neighbors="random"),
    "nk without neighbors": partial(make_nk, 4, 0),
    "nk of all": partial(make_nk, 6, 5),
    "sparse": partial(make_sparse_walsh, 9, 25, intercept=1.5),
    "sparse, no heredity": partial(make_sparse_walsh, 8, {3: 5}, heredity=None),
}
GENERATORS = [make_ising, make_mk_trap, make_bmda_quadratic, make_nk, make_sparse_walsh]

all_small = pytest.mark.parametrize("make", SMALL.values(), ids=SMALL)
all_generators = pytest.mark.parametrize("make", GENERATORS)


def everything(n_features):
    """All inputs; feature i of row v is bit i of v."""
    return 2 * (np.arange(2**n_features)[:, None] >> np.arange(n_features) & 1) - 1


def evaluate(X, terms, weights, intercept):
    """Values of a Walsh polynomial, from the definition."""
    products = [X[:, list(term)].prod(axis=1) for term in terms]
    return intercept + sum(map(np.multiply, weights, products), np.zeros(len(X)))


def plain_ising(data, x):
    return sum(
        w * x[i] * x[j] for (i, j), w in zip(data.terms, data.weights, strict=True)
    )


def plain_trap(data, x):
    total = 0
    for block in data.blocks:
        u = sum(1 for i in block if x[i] == 1)
        total += len(block) if u == len(block) else len(block) - 1 - u
    return total


def plain_quadratic(data, x):
    value = {(1, 1): 1.0, (-1, -1): 0.9, (1, -1): 0.0, (-1, 1): 0.0}
    return sum(value[x[i], x[j]] for i, j in data.blocks)


def plain_nk(data, x):
    parts = []
    for i, block in enumerate(data.blocks):
        column = 0
        for j, feature in enumerate(block):
            if x[feature] == 1:
                column += 2**j
        parts.append(data.tables[i, column])
    return sum(parts) / len(parts)


PLAIN = {
    make_ising: plain_ising,
    make_mk_trap: plain_trap,
    make_bmda_quadratic: plain_quadratic,
    make_nk: plain_nk,
}


@all_small
def test_problem_is_what_it_says(make):
    data = make(random_state=3)
    X = everything(data.X.shape[1])
    index = {tuple(x): v for v, x in enumerate(X.tolist())}
    if make.func in PLAIN:
        y = np.array([PLAIN[make.func](data, x) for x in X.tolist()], dtype=float)
    else:
        y = evaluate(X, data.terms, data.weights, data.intercept)

    # The samples are values of the function.
    rows = [index[tuple(x)] for x in data.X]
    np.testing.assert_allclose(data.y, y[rows], rtol=0, atol=1e-12)

    # The terms are exactly the non-zero entries of its Hadamard transform.
    size = np.array([v.bit_count() for v in range(len(X))])
    # The matrix is the Kronecker product of two smaller ones.
    square = y.reshape(2 ** (X.shape[1] // 2), -1)
    left, right = (hadamard(n) for n in square.shape)
    weights = (-1.0) ** size * (left @ square @ right).ravel() / len(X)
    expected = {
        tuple(i for i in range(X.shape[1]) if v >> i & 1): weights[v]
        for v in np.flatnonzero(np.abs(weights) > 1e-12).tolist()
    }
    assert expected.pop((), 0.0) == pytest.approx(data.intercept, abs=1e-12)
    assert data.terms == sorted(expected, key=lambda term: (len(term), term))
    np.testing.assert_allclose(
        data.weights, [expected[t] for t in data.terms], atol=1e-12
    )

    # The optima are those of enumeration.
    assert data.minimum == pytest.approx(y.min(), abs=1e-12)
    assert data.maximum == pytest.approx(y.max(), abs=1e-12)
    assert y[index[tuple(data.x_minimum)]] == pytest.approx(y.min(), abs=1e-12)
    assert y[index[tuple(data.x_maximum)]] == pytest.approx(y.max(), abs=1e-12)


@all_small
def test_optima_of_any_seed_are_those_of_enumeration(make):
    for seed in range(5):
        data = make(n_samples=1, random_state=seed)
        X = everything(data.X.shape[1])
        y = evaluate(X, data.terms, data.weights, data.intercept)
        optima = evaluate(
            np.array([data.x_minimum, data.x_maximum]),
            data.terms,
            data.weights,
            data.intercept,
        )
        np.testing.assert_allclose(optima, [y.min(), y.max()], rtol=0, atol=1e-12)
        np.testing.assert_allclose(optima, [data.minimum, data.maximum], atol=1e-12)


@all_small
def test_form_of_the_answer(make):
    data = make(n_samples=50, random_state=0)
    n_features = data.X.shape[1]
    assert data.X.dtype == data.y.dtype == data.weights.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert data.y.shape == (50,)
    assert all(type(i) is int for term in data.terms for i in term)
    assert len(set(data.feature_names)) == n_features
    assert data.direction in ("minimize", "maximize")
    assert data.noise == 0.0
    assert data.DESCR
    X, y = make(n_samples=50, random_state=0, return_X_y=True)
    np.testing.assert_array_equal(X, data.X)
    np.testing.assert_array_equal(y, data.y)


@all_small
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_codings_and_expansion_agree(make, seed):
    spins = make(n_samples=20, random_state=seed)
    bits = make(n_samples=20, random_state=seed, coding="binary")
    assert set(bits.X.ravel()) <= {0.0, 1.0}
    assert bits.terms == spins.terms
    for key in ("X", "x_minimum", "x_maximum"):
        np.testing.assert_array_equal(2 * bits[key] - 1, spins[key])
    np.testing.assert_array_equal(bits.y, spins.y)
    y = evaluate(2 * bits.X - 1, bits.terms, bits.weights, bits.intercept)
    np.testing.assert_allclose(bits.y, y, rtol=0, atol=1e-12)


@all_generators
def test_seed_fixes_the_problem_whatever_is_sampled(make):
    data = make(random_state=5)
    same = make(random_state=5)
    np.testing.assert_array_equal(same.X, data.X)
    np.testing.assert_array_equal(same.y, data.y)
    for options in ({"n_samples": 7}, {"snr": 3.0}, {"coding": "binary"}):
        other = make(random_state=5, **options)
        assert other.terms == data.terms
        np.testing.assert_array_equal(other.weights, data.weights)
    assert (make(random_state=6).X != data.X).any()


@all_generators
def test_inputs_are_uniform(make):
    X, _ = make(n_samples=20_000, random_state=0, return_X_y=True)
    # Six standard errors of the mean and of the correlation of two columns.
    assert np.abs(X.mean(axis=0)).max() < 6 / np.sqrt(len(X))
    assert np.abs(X.T @ X / len(X) - np.eye(X.shape[1])).max() < 6 / np.sqrt(len(X))


@all_generators
def test_noise_is_a_standard_deviation(make):
    clean = make(n_samples=20_000, random_state=0)
    noisy = make(n_samples=20_000, random_state=0, noise=0.3)
    np.testing.assert_array_equal(noisy.X, clean.X)
    assert noisy.noise == 0.3
    assert np.std(noisy.y - clean.y) == pytest.approx(0.3, rel=0.03)
    assert abs(np.mean(noisy.y - clean.y)) < 6 * 0.3 / np.sqrt(20_000)


@all_generators
def test_snr_is_a_ratio_of_variances(make):
    clean = make(n_samples=20_000, random_state=0)
    noisy = make(n_samples=20_000, random_state=0, snr=4.0)
    ratio = np.var(clean.y) / np.var(noisy.y - clean.y)
    assert ratio == pytest.approx(4.0, rel=0.1)
    assert noisy.noise == pytest.approx(
        np.sqrt(np.sum(clean.weights**2) / 4), rel=1e-12
    )
    assert noisy.minimum == clean.minimum


@all_generators
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0.1, "snr": 3.0}, "noise=0.1 and snr=3.0 both"),
        ({"noise": -1.0}, "'noise' parameter"),
        ({"noise": np.nan}, "'noise' parameter"),
        ({"snr": 0.0}, "'snr' parameter"),
        ({"snr": np.inf}, "'snr' parameter"),
        ({"n_samples": 0}, "'n_samples' parameter"),
        ({"n_samples": True}, "'n_samples' parameter"),
        ({"coding": "spin"}, "'coding' parameter"),
        ({"random_state": "x"}, "'random_state' parameter"),
    ],
)
def test_bad_sampling_is_refused(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_ising, {"shape": (3, 0)}, "shape must hold integers >= 1"),
        (make_ising, {"shape": (3, 2.5)}, "shape must hold integers >= 1"),
        (make_ising, {"shape": ()}, "shape needs a side longer than 1"),
        (make_ising, {"shape": (1, 1)}, "shape needs a side longer than 1"),
        (make_ising, {"shape": 10}, "'shape' parameter"),
        (make_ising, {"couplings": "cauchy"}, "'couplings' parameter"),
        (make_ising, {"optimum": "yes"}, "'optimum' parameter"),
        (make_mk_trap, {"k": 0}, "'k' parameter"),
        (make_mk_trap, {"k": 17}, "'k' parameter"),
        (make_mk_trap, {"m": 0}, "'m' parameter"),
        (make_bmda_quadratic, {"n_features": 7}, "n_features must be even"),
        (make_nk, {"n_features": 3, "k": 3}, "k must be below n_features=3"),
        (make_nk, {"neighbors": "far"}, "'neighbors' parameter"),
        (make_nk, {"k": 16}, "'k' parameter"),
    ],
)
def test_bad_problem_is_refused(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.parametrize(
    "shape", [(4, 4), (3, 5), (3, 4, 3), (2, 3), (2, 2), (1, 5, 2)]
)
def test_ising_has_the_edges_of_a_torus(shape):
    data = make_ising(shape, couplings="gaussian", random_state=0)
    categoricals = list(product(*map(range, shape)))
    steps = [
        [
            min(abs(p - q), side - abs(p - q))
            for p, q, side in zip(a, b, shape, strict=True)
        ]
        for a in categoricals
        for b in categoricals
    ]
    adjacent = {
        divmod(v, len(categoricals)) for v, step in enumerate(steps) if sum(step) == 1
    }
    assert set(data.terms) == {(i, j) for i, j in adjacent if i < j}
    expected = ["s" + "_".join(map(str, base)) for base in categoricals]
    assert data.feature_names == expected


@pytest.mark.parametrize(("shape", "n_edges"), [((10, 10), 200), ((5, 5, 5), 375)])
def test_ising_of_the_paper(shape, n_edges):
    data = make_ising(shape, random_state=0)
    assert len(data.terms) == n_edges
    assert set(data.weights) == {-1.0, 1.0}
    assert data.minimum is data.x_minimum is data.maximum is data.x_maximum is None


def test_ising_couplings_of_a_short_side_add_up():
    coef = np.concatenate(
        [make_ising((2, 2), random_state=seed).weights for seed in range(20)]
    )
    # Of two couplings of +-1 the sum is 0, which is no term, or +-2.
    assert set(coef) == {-2.0, 2.0}
    assert 20 < len(coef) < 60


def test_ising_optimum_on_demand():
    data = make_ising((9, 9), couplings="gaussian", optimum=True, random_state=0)
    assert evaluate(
        data.x_minimum[None], data.terms, data.weights, 0.0
    ) == pytest.approx(data.minimum)
    # No single flip improves a ground state, and none of the samples is as low.
    flipped = data.x_minimum * (1 - 2 * np.eye(81))
    assert evaluate(flipped, data.terms, data.weights, 0.0).min() >= data.minimum
    assert data.y.min() > data.minimum
    assert make_ising((4, 4), optimum=False).minimum is None


@given(seed=st.integers(0, 2**32 - 1), sides=st.lists(st.integers(1, 4), max_size=3))
def test_ising_energy_does_not_know_up_from_down(seed, sides):
    data = make_ising([*sides, 3], n_samples=10, optimum=False, random_state=seed)
    flipped = evaluate(-data.X, data.terms, data.weights, data.intercept)
    np.testing.assert_allclose(flipped, data.y, rtol=0, atol=1e-12)


def test_shuffling_deals_each_feature_once():
    for make in (make_mk_trap, make_bmda_quadratic):
        ordered = make(shuffle=False, random_state=0).blocks
        shuffled = make(shuffle=True, random_state=0).blocks
        assert ordered.ravel().tolist() == list(range(40))
        assert sorted(shuffled.ravel()) == list(range(40))
        assert (shuffled != ordered).any()


def test_known_optima_are_exact():
    trap = make_mk_trap(5, 10)
    assert (trap.minimum, trap.maximum) == (0.0, 50.0)
    quadratic = make_bmda_quadratic(1000, coding="binary")
    assert (quadratic.minimum, quadratic.maximum) == (0.0, 500.0)
    assert quadratic.x_maximum.tolist() == [1.0] * 1000


def test_nk_neighbors():
    ring = make_nk(6, 2, random_state=0).blocks
    assert ring.tolist() == [[i, (i + 1) % 6, (i + 2) % 6] for i in range(6)]
    drawn = np.array([make_nk(6, 2, neighbors="random").blocks for _ in range(50)])
    assert (drawn[:, :, 0] == np.arange(6)).all()
    assert all(len(set(block)) == 3 for block in drawn.reshape(-1, 3).tolist())
    # Every feature meets every other one, as first neighbor and as second.
    for index in (1, 2):
        met = set(zip(np.tile(range(6), 50), drawn[:, :, index].ravel(), strict=True))
        assert len(met) == 30


def test_nk_optimum_of_a_long_ring():
    data = make_nk(100, 3, random_state=0)
    assert plain_nk(data, data.x_maximum) == pytest.approx(data.maximum, abs=1e-12)
    assert plain_nk(data, data.x_minimum) == pytest.approx(data.minimum, abs=1e-12)
    assert data.minimum < data.y.min() < data.y.max() < data.maximum
    assert make_nk(60, 4, neighbors="random", random_state=0).maximum is None


# ---------------------------------------------------------------- what is refused

SIZES = {
    make_ising: {"shape": (2, 3)},
    make_mk_trap: {"k": 3, "m": 2},
    make_bmda_quadratic: {"n_features": 4},
    make_nk: {"n_features": 5, "k": 1},
    make_sparse_walsh: {"n_features": 6, "n_terms": 3},
    make_two_spirals: {},
    make_gwas: {"n_variants": 200},
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("make", "name"),
    [(make, name) for make in SIZES for name in ("noise", "snr") if make in GENERATORS]
    + [(make_two_spirals, "noise"), (make_sparse_walsh, "intercept")],
    ids=lambda part: getattr(part, "__name__", part),
)
@pytest.mark.parametrize("value", [1e308, 10**330, np.inf, True, np.nan])
def test_numbers_that_overflow_are_refused(make, name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {make.__name__}"):
        make(**{**SIZES[make], name: value})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [*GENERATORS, make_two_spirals])
def test_numbers_of_few_bytes(make):
    data = make(**SIZES[make], n_samples=np.int8(10), noise=np.float16(0.5))
    assert len(data.y) == 10


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (make, name)
        for make, sizes in SIZES.items()
        for name in ("n_samples", *sizes)
        if name != "shape"
    ]
    + [(make_sparse_walsh, "max_order"), (make_gwas, "block_size")]
    + [(make_gwas, "n_pairs"), (make_gwas, "n_main_effects")],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_true_is_no_number_of_anything(make, name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {make.__name__}"):
        make(**{**SIZES[make], name: True})


def test_true_is_no_side_and_no_order():
    with pytest.raises(ValueError, match="shape must hold integers >= 1"):
        make_ising((True, 2))
    with pytest.raises(ValueError, match="n_terms must map orders >= 1 to numbers"):
        make_sparse_walsh(5, {2: True})


def test_more_effects_than_blocks():
    for name in ("n_pairs", "n_main_effects"):
        with pytest.raises(ValueError, match="each needs a block of its own"):
            make_gwas(200, **{name: 10**330})


# Each needs a few megabytes, were it made; the last is a size that none has.
TOO_LARGE = {
    "bmda": lambda size: make_bmda_quadratic(2 * size, n_samples=1),
    "traps": lambda size: make_mk_trap(2, size, n_samples=1),
    "nk": lambda size: make_nk(size, 1, n_samples=1, optimum=False),
    "ising": lambda size: make_ising((size,), n_samples=1, optimum=False),
    "walsh": lambda size: make_sparse_walsh(size, 3, n_samples=1, optimum=False),
    "terms": lambda size: make_sparse_walsh(size, {1: size}, heredity=None,
                                            n_samples=1, optimum=False),
    "samples": lambda size: make_mk_trap(2, 1, n_samples=5 * size),
    "variants": lambda size: make_gwas(size, 20, n_pairs=0, n_main_effects=0),
    "people": lambda size: make_gwas(20, size, n_pairs=0, n_main_effects=0),
    "block": lambda size: make_gwas(size, 20, block_size=size, n_pairs=0,
                                    n_main_effects=0),
    "spirals": lambda size: make_two_spirals(5 * size),
}  # fmt: skip


@pytest.mark.parametrize("make", TOO_LARGE.values(), ids=TOO_LARGE)
def test_problems_without_room_are_refused_before_they_are_made(make, monkeypatch):
    monkeypatch.setattr(_validation, "memory_limit", lambda: 2.0**20)
    with pytest.raises(MemoryError, match=r"may use only 1\.0 MiB; lower"):
        make(20_000)
    monkeypatch.undo()
    with pytest.raises(MemoryError, match="GiB of memory, but this process may"):
        make(10**15)


def test_more_terms_than_sets_are_no_question_of_memory():
    with pytest.raises(ValueError, match=r"n_terms must be at most 10,"):
        make_sparse_walsh(4, 10**15, max_order=2)
