"""What must hold for every fit of all weights: symmetries, repeats, order."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skmohn.mohn._gp.covariance_function import Prior
from skmohn.mohn._gp.marginal_likelihood import Evidence, join_equal_rows
from skmohn.mohn._gp.model import fit_gp
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._table.rows import Categorical, EncodedRows

FEW = settings(max_examples=settings.default.max_examples // 20)
MANY = settings(max_examples=settings.default.max_examples * 3 // 10)
N_INPUTS = 6
ALPHABETS = (Categorical(3),)
seeds = st.integers(0, 2**32 - 1)


def problem(seed, n_rows=50):
    """Rows of signs, unknown values and categories, targets, and rows to predict."""
    rng = np.random.default_rng(seed)
    inputs = rng.choice([-1.0, 1.0], (n_rows + 20, N_INPUTS))
    inputs[rng.uniform(size=inputs.shape) < 0.05] = 0.0
    categories = rng.integers(0, 3, (n_rows + 20, 1))
    y = inputs[:, 0] * inputs[:, 1] + inputs[:, 2] + (categories[:, 0] == 1)
    y = y + 0.3 * rng.standard_normal(len(y))
    rows = EncodedRows(inputs, categories)
    part = slice(0, n_rows)
    return rng, rows.take(part), y[part], rows.take(slice(n_rows, None))


def fitted(rows, y, sample_weight=None, noise="constant"):
    return fit_gp(rows, y, sample_weight, alphabets=ALPHABETS, noise=noise)


def assert_same(one, other, rows, others, scale=1.0, shift=0.0):
    """Equal predictions, within what the optimizer leaves open."""
    tolerance = 2e-3 * abs(scale)
    assert_allclose(
        other.predictive_mean(others),
        scale * one.predictive_mean(rows) + shift,
        atol=10 * tolerance,
    )
    assert_allclose(
        other.predictive_std(others),
        abs(scale) * one.predictive_std(rows),
        atol=10 * tolerance,
    )


@FEW
@given(seed=seeds)
def test_relabeling_inputs_and_categories_changes_nothing(seed):
    rng, rows, y, fresh = problem(seed)
    place, name = rng.permutation(N_INPUTS), np.append(rng.permutation(3), 3)

    def relabeled(rows):
        return EncodedRows(rows.inputs[:, place], name[rows.categories])

    one = fitted(rows, y)
    other = fitted(relabeled(rows), y)
    assert_same(one, other, fresh, relabeled(fresh))


@FEW
@given(seed=seeds, flips=st.sets(st.integers(0, N_INPUTS - 1), min_size=1))
def test_flipping_inputs_flips_the_weights_that_contain_them(seed, flips):
    _, rows, y, fresh = problem(seed)
    signs = np.array([-1.0 if i in flips else 1.0 for i in range(N_INPUTS)])
    one = fitted(rows, y)
    other = fitted(EncodedRows(rows.inputs * signs, rows.categories), y)
    assert_same(one, other, fresh, EncodedRows(fresh.inputs * signs, fresh.categories))
    for term in [(0,), (0, 1), (2, 3, 5)]:
        sign = np.prod(signs[list(term)])
        assert_allclose(
            other.weight_posterior(term)[0],
            sign * one.weight_posterior(term)[0],
            atol=1e-2,
        )


@FEW
@given(
    seed=seeds,
    exponent=st.integers(-6, 6),
    sign=st.sampled_from([-1.0, 1.0]),
    shift=st.floats(-100, 100),
)
def test_scaling_the_target_scales_predictions(seed, exponent, sign, shift):
    _, rows, y, fresh = problem(seed)
    scale = sign * 10.0**exponent
    one = fitted(rows, y)
    other = fitted(rows, scale * (y + shift))
    assert_same(one, other, fresh, fresh, scale, scale * shift)
    gap = one.log_evidence() - other.log_evidence()
    assert_allclose(gap, len(y) * np.log(abs(scale)), atol=0.1)


@FEW
@given(seed=seeds)
def test_repeated_rows_equal_weights(seed):
    rng, rows, y, fresh = problem(seed)
    counts = rng.integers(1, 4, len(y))
    index = np.repeat(np.arange(len(y)), counts)
    weighted = fitted(rows, y, counts.astype(float))
    repeated = fitted(rows.take(index), y[index])
    assert_same(weighted, repeated, fresh, fresh)
    assert_allclose(weighted.log_evidence(), repeated.log_evidence(), atol=0.05)


@FEW
@given(seed=seeds)
def test_order_of_updates_is_irrelevant(seed):
    rng, rows, y, fresh = problem(seed)
    model = fitted(rows.take(slice(0, 30)), y[:30], noise="auto")
    order = rng.permutation(np.arange(30, 50))
    one = model.update(rows.take(slice(30, 50)), y[30:])
    other = model
    for part in np.array_split(order, 4):
        other = other.update(rows.take(part), y[part])
    assert_allclose(other.predictive_mean(fresh), one.predictive_mean(fresh), atol=1e-8)
    assert_allclose(other.predictive_std(fresh), one.predictive_std(fresh), atol=1e-8)
    assert_allclose(other.log_evidence(), one.log_evidence(), atol=1e-6)
    assert other.n_observed == one.n_observed == 50


@MANY
@given(seed=seeds, sizes=st.lists(st.integers(1, 5), max_size=3))
def test_covariances_are_positive(seed, sizes):
    rng = np.random.default_rng(seed)
    inputs = rng.choice([-1.0, 0.0, 0.3, 1.0], (25, 4))
    categories = [rng.integers(0, size + 1, 25) for size in sizes]
    rows = EncodedRows(
        inputs, np.array(categories, dtype=int).T.reshape(25, len(sizes))
    )
    prior = Prior(
        10.0 ** rng.uniform(-4, 1, 4),
        10.0 ** rng.uniform(-4, 1, sum(sizes)),
        *10.0 ** rng.uniform(-3, 2, 3),
    )
    K = Covariance(prior, tuple(map(Categorical, sizes))).between(rows, rows)
    assert_allclose(K, K.T, rtol=1e-12, atol=1e-13 * np.trace(K))
    assert np.linalg.eigvalsh(K).min() > -1e-10 * np.trace(K)


@MANY
@given(seed=seeds)
def test_joining_equal_rows_keeps_the_evidence(seed):
    """The density of a repeated row is that of the row times that of the rest."""
    rng = np.random.default_rng(seed)
    rows = EncodedRows(rng.choice([-1.0, 1.0], (20, 2)), np.empty((20, 0), int))
    y = rng.standard_normal(20)
    prior = Prior(rng.uniform(0.1, 1, 2), np.empty(0), 1.0, 0.5, 0.3)
    joined = join_equal_rows(rows, y)
    apart = join_equal_rows(rows.take([0]), y[:1])
    for d in range(1, 20):
        apart = apart.join(join_equal_rows(rows.take([d]), y[d : d + 1]))
    assert len(joined) <= 4
    assert len(apart) == 20
    assert_allclose(Evidence(joined).value(prior), Evidence(apart).value(prior))
