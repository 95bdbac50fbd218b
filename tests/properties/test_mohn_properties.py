"""What must hold for every data set: symmetries of the model and of its kernels."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skmohn import MOHNRegressor
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._design.design import DenseDesign, PackedDesign

FEW = settings(max_examples=settings.default.max_examples // 16)
MANY = settings(max_examples=settings.default.max_examples * 3 // 5)

N_FEATURES = 7
# Those whose result the data decide alone: which rows meet in a fold, or in which order
# the delta rule and msda draw, is not symmetric.
ESTIMATORS = {
    "pursuit": MOHNRegressor("pursuit", random_state=0, selection="ebic", max_order=3),
    "full": MOHNRegressor("full", max_order=2),
    "lasso": MOHNRegressor("full", "lasso", max_order=2),
}
any_way = pytest.mark.parametrize("name", ESTIMATORS)
seeds = st.integers(0, 2**32 - 1)


def problem(seed, noise):
    """Rows of signs and a random sparse function of them with noise."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (120, N_FEATURES))
    y = np.full(120, rng.normal())
    for order in (1, 1, 2, 2, 3):
        chosen = rng.choice(N_FEATURES, order, replace=False)
        y += rng.choice([-1, 1]) * rng.uniform(1, 2) * X[:, chosen].prod(axis=1)
    return rng, X, y + noise * rng.standard_normal(120)


def fitted(name, X, y, sample_weight=None):
    """Fit; return the model and its weights as a dict from sets to numbers."""
    model = clone(ESTIMATORS[name]).fit(X, y, sample_weight)
    weights = {
        frozenset(term): coef
        for term, coef in zip(model.terms_, model.weights_, strict=True)
    }
    return model, weights


def assert_same(found, expected, scale=1.0):
    """Compare weights; those that are nothing but rounding may come and go."""
    tolerance = 1e-7 * scale
    for term in set(found) | set(expected):
        assert found.get(term, 0.0) == pytest.approx(
            expected.get(term, 0.0), abs=tolerance
        )


@any_way
@FEW
@given(seed=seeds, noise=st.sampled_from([0.0, 0.3]))
def test_relabeling_variables_permutes_terms(name, seed, noise):
    rng, X, y = problem(seed, noise)
    model, weights = fitted(name, X, y)
    place = rng.permutation(N_FEATURES)
    moved = np.empty_like(X)
    moved[:, place] = X
    other, found = fitted(name, moved, y)
    expected = {frozenset(place[i] for i in t): w for t, w in weights.items()}
    assert_same(found, expected)
    assert other.intercept_ == pytest.approx(model.intercept_, abs=1e-7)


@any_way
@FEW
@given(
    seed=seeds,
    noise=st.sampled_from([0.0, 0.3]),
    flips=st.sets(st.integers(0, N_FEATURES - 1), min_size=1),
)
def test_flipping_columns_flips_the_weights_that_contain_them(name, seed, noise, flips):
    _, X, y = problem(seed, noise)
    model, weights = fitted(name, X, y)
    signs = np.array([-1.0 if i in flips else 1.0 for i in range(N_FEATURES)])
    other, found = fitted(name, X * signs, y)
    expected = {t: w * (-1) ** len(t & flips) for t, w in weights.items()}
    assert_same(found, expected)
    assert_allclose(other.predict(X * signs), model.predict(X), atol=1e-7)


@any_way
@FEW
@given(seed=seeds, noise=st.sampled_from([0.0, 0.3]), constant=st.floats(-1e3, 1e3))
def test_adding_a_constant_moves_only_the_intercept(name, seed, noise, constant):
    _, X, y = problem(seed, noise)
    model, weights = fitted(name, X, y)
    other, found = fitted(name, X, y + constant)
    assert_same(found, weights, scale=10)
    assert other.intercept_ == pytest.approx(model.intercept_ + constant, abs=1e-6)


@any_way
@FEW
@given(
    seed=seeds,
    noise=st.sampled_from([0.0, 0.3]),
    exponent=st.integers(-6, 6),
    sign=st.sampled_from([-1.0, 1.0]),
)
def test_scaling_the_target_scales_everything(name, seed, noise, exponent, sign):
    _, X, y = problem(seed, noise)
    scale = sign * 10.0**exponent
    model, weights = fitted(name, X, y)
    other, found = fitted(name, X, scale * y)
    assert_same(found, {t: w * scale for t, w in weights.items()}, abs(scale))
    assert other.intercept_ == pytest.approx(
        scale * model.intercept_, abs=1e-7 * abs(scale)
    )
    assert other.noise_std_ == pytest.approx(abs(scale) * model.noise_std_, rel=1e-6)


@pytest.mark.slow_cases("pursuit")
@any_way
@FEW
@given(seed=seeds, noise=st.sampled_from([0.0, 0.3]))
def test_repeated_rows_equal_weights(name, seed, noise):
    rng, X, y = problem(seed, noise)
    counts = rng.integers(0, 4, len(y))
    weighted, weights = fitted(name, X, y, counts)
    repeated, found = fitted(name, np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_same(found, weights)
    assert repeated.intercept_ == pytest.approx(weighted.intercept_, abs=1e-7)
    assert repeated.noise_std_ == pytest.approx(weighted.noise_std_, abs=1e-7)
    assert_allclose(
        np.sort(repeated.standard_errors_),
        np.sort(weighted.standard_errors_),
        atol=1e-7,
    )


@FEW
@given(seed=seeds, noise=st.sampled_from([0.0, 0.3]))
def test_order_of_the_rows_is_irrelevant(seed, noise):
    rng, X, y = problem(seed, noise)
    shuffled = rng.permutation(len(y))
    for name in ESTIMATORS:
        _, weights = fitted(name, X, y)
        _, found = fitted(name, X[shuffled], y[shuffled])
        assert_same(found, weights)


@FEW
@given(
    seed=seeds,
    ends=st.lists(
        st.tuples(
            st.floats(-1e6, 1e6, allow_subnormal=False),
            st.floats(1e-3, 1e6, allow_subnormal=False),
        ),
        min_size=N_FEATURES,
        max_size=N_FEATURES,
    ),
)
def test_values_that_stand_for_the_signs_are_irrelevant(seed, ends):
    _, X, y = problem(seed, 0.3)
    low, width = np.array(ends).T
    coded = np.where(X < 0, low, low + width)
    assume(np.all(low < low + width))
    for name in ("pursuit", "full"):
        model, _ = fitted(name, X, y)
        other, _ = fitted(name, coded, y)
        assert other.terms_ == model.terms_
        assert_array_equal(other.weights_, model.weights_)
        assert_array_equal(other.predict(coded), model.predict(X))


# ------------------------------------------------------------------------- kernels


@st.composite
def sets_of_inputs(draw, n_features):
    """A list of sets, each as a sorted tuple; the empty one may be among them."""
    one = st.sets(st.integers(0, n_features - 1), max_size=n_features)
    return [
        tuple(sorted(members))
        for members in draw(st.lists(one, min_size=1, max_size=8))
    ]


@MANY
@given(
    n_samples=st.integers(1, 200) | st.integers(500, 530),
    seed=seeds,
    sets=sets_of_inputs(6),
)
def test_packed_kernels_equal_dense_ones(n_samples, seed, sets):
    rng = np.random.default_rng(seed)
    inputs = rng.choice([-1.0, 1.0], (n_samples, 6))
    packed, dense = PackedDesign(inputs), DenseDesign(inputs)
    left, right = packed.columns(sets), dense.columns(sets)
    assert_array_equal(packed.unpack(left, np.float64), right)
    assert_array_equal(packed.gram(left, left), dense.gram(right, right))
    vector = rng.standard_normal(n_samples)
    assert_allclose(
        packed.project(left, vector), dense.project(right, vector), atol=1e-11
    )
    coef = rng.standard_normal(len(sets))
    assert_allclose(packed.combine(left, coef), dense.combine(right, coef), atol=1e-11)


@MANY
@given(seed=seeds, sets=sets_of_inputs(5), n_samples=st.integers(1, 70))
def test_model_is_linear_in_each_input(seed, sets, n_samples):
    """A value between two others gives what lies between their predictions."""
    rng = np.random.default_rng(seed)
    graph = WalshPolynomial.sort(sets, rng.standard_normal(len(sets)), rng.normal())
    low = rng.uniform(-1, 1, (n_samples, 5))
    high, middle = low.copy(), low.copy()
    i, share = rng.integers(5), rng.uniform()
    high[:, i] = rng.uniform(-1, 1, n_samples)
    middle[:, i] = (1 - share) * low[:, i] + share * high[:, i]
    assert_allclose(
        graph.predict(middle),
        (1 - share) * graph.predict(low) + share * graph.predict(high),
        atol=1e-11,
    )


@MANY
@given(seed=seeds, sets=sets_of_inputs(6))
def test_order_of_the_sets_is_irrelevant(seed, sets):
    rng = np.random.default_rng(seed)
    coef = rng.standard_normal(len(sets))
    inputs = rng.uniform(-1, 1, (20, 6))
    order = rng.permutation(len(sets))
    one = WalshPolynomial.sort(sets, coef, 0.5)
    other = WalshPolynomial.sort([sets[j] for j in order], coef[order], 0.5)
    assert one.terms == other.terms
    assert () not in one.terms
    assert_allclose(one.predict(inputs), other.predict(inputs), atol=1e-12)
    expected = 0.5 + coef @ np.array([inputs[:, list(s)].prod(axis=1) for s in sets])
    assert_allclose(one.predict(inputs), expected, atol=1e-12)
