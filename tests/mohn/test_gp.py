"""Fits of all weights: routes, noise, strong terms, real data."""

import itertools
import math
import warnings
from dataclasses import replace
from functools import partial
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import eye_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from support import traced_memory

from skmohn._core._walsh import walsh_transform
from skmohn.mohn._gp import covariance_function, marginal_likelihood, weight_prior
from skmohn.mohn._gp import hyperparameter_uncertainty as _uncertainty
from skmohn.mohn._gp import model as _gp_model
from skmohn.mohn._gp import term_variances as _terms
from skmohn.mohn._gp.covariance_function import Prior
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.heteroscedastic_noise import fit_noise_model
from skmohn.mohn._gp.marginal_likelihood import Evidence, join_equal_rows, log_density
from skmohn.mohn._gp.model import choose_inference, fit_gp
from skmohn.mohn._gp.pairs import Member
from skmohn.mohn._gp.term_variances import (
    find_significant_terms,
    find_strong_terms,
    screen,
)
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._table.rows import Categorical, EncodedRows


def plain(inputs):
    return EncodedRows(np.asarray(inputs, float), np.empty((len(inputs), 0), dtype=int))


def dense_function(n, rng, decay=0.5):
    """All values on the cube of a function whose weights fall with their order."""
    orders = np.array([index.bit_count() for index in range(1 << n)])
    return walsh_transform(decay**orders * rng.standard_normal(1 << n))


def make_data(n, n_rows, noise, seed=0):
    rng = np.random.default_rng(seed)
    values = dense_function(n, rng)
    at = rng.integers(0, 1 << n, n_rows)
    inputs = 1.0 - 2.0 * ((at[:, None] >> np.arange(n)) & 1)
    return inputs, values[at] + noise * rng.standard_normal(n_rows), values


# -------------------------------------------------------------------------- a model


def test_mean_std_and_weights_are_in_the_units_of_the_target():
    inputs, y, values = make_data(7, 200, 0.1)
    model = fit_gp(plain(inputs), 50.0 + 10.0 * y, noise="constant")
    index = np.arange(128)[:, None]
    cube = plain(1.0 - 2.0 * ((index >> np.arange(7)) & 1))
    truth = 50.0 + 10.0 * values
    mean = model.predictive_mean(cube, clip=False)
    assert r2_score(truth, mean) > 0.9
    own = model.y_std * np.sqrt(model.latent_variance(cube))
    z = (truth - mean) / own
    assert 0.4 < np.sqrt(np.mean(z**2)) < 1.6
    assert np.all(model.predictive_std(cube) > own)
    weights = walsh_transform(mean) / 128
    for term in [(), (0,), (2, 5), tuple(range(7))]:
        place = sum(1 << i for i in term)
        found, std = model.weight_posterior(term)
        assert found == pytest.approx(weights[place], abs=1e-7)
        assert std > 0
    variance = np.sum((weights[1:] / model.y_std) ** 2)
    assert model.function_variance() == pytest.approx(variance)
    draws = model.sample_latent(cube, 200, np.random.default_rng(0))
    assert_allclose(draws.mean(axis=1), mean, atol=1.0)
    noisy = model.sample(cube, 200, np.random.default_rng(0))
    assert np.mean(noisy.var(axis=1)) > np.mean(draws.var(axis=1))


@pytest.mark.parametrize("route", ["cholesky", "hadamard", "nystroem"])
def test_products_sum_to_the_mean(route, replace_constants):
    if route != "cholesky":
        replace_constants(_gp_model, min_rows_hadamard=10)
        replace_constants(_gp_model, max_rows_exact=10)
    if route == "nystroem":
        replace_constants(_gp_model, max_inputs_hadamard=1)
    inputs, y, _ = make_data(6, 150, 0.3)
    y = 50.0 + 10.0 * y + 60.0 * inputs[:, 1] * inputs[:, 2] * inputs[:, 4]
    model = fit_gp(plain(inputs), y, noise="constant")
    assert model.inference == route
    assert model.covariance.terms == ((1, 2, 4),)
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (9, 6))
    products = model.to_product_sum()
    half = 0.5 * (1.0 + points[:, :, None])
    factors = (1.0 - half) * products.low + half * products.high
    values = factors.prod(axis=1) @ products.coef + products.constant
    values += points @ products.slopes
    assert_allclose(values, model.predictive_mean(plain(points), clip=False), rtol=1e-6)


def test_products_of_categories_sum_to_the_mean():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (80, 3))
    alphabets = Categorical(4), Categorical(3, is_ordered=True)
    categories = np.column_stack([rng.integers(0, size, 80) for size, *_ in alphabets])
    y = inputs[:, 0] * (categories[:, 0] == 2) + categories[:, 1] + inputs[:, 1]
    categories[0] = 4, 3  # unknown
    model = fit_gp(EncodedRows(inputs, categories), y, alphabets=alphabets)
    points, chosen = rng.choice([-1.0, 1.0], (9, 3)), categories[1:10]
    products = model.to_product_sum()
    factors = np.where(points[:, :, None] < 0, products.low, products.high).prod(axis=1)
    values = products.constant + points @ products.slopes
    for table, steps, seen in zip(
        products.tables, products.steps, chosen.T, strict=True
    ):
        factors, values = factors * table[seen], values + steps[seen]
    mean = model.predictive_mean(EncodedRows(points, chosen), clip=False)
    assert_allclose(values + factors @ products.coef, mean, rtol=1e-6)


def make_pairs(n_rows, sizes, rng):
    """Inputs, categories, and effects of two categoricals, and of one by an input."""
    inputs = rng.choice([-1.0, 1.0], (n_rows, 2))
    categories = rng.integers(0, sizes, (n_rows, len(sizes)))
    first, second, third = categories.T
    f = rng.standard_normal(sizes[:2])[first, second]
    return inputs, categories, f + inputs[:, 0] * rng.standard_normal(sizes[2])[third]


def test_pairs_of_columns_that_matter_are_found_and_written_as_products():
    rng = np.random.default_rng(0)
    inputs, categories, f = make_pairs(250, (4, 5, 4), rng)
    y = f + 0.2 * rng.standard_normal(250)
    alphabets = (
        Categorical(4, False, (0.7, 0.1, 0.1, 0.1)),
        Categorical(5),
        Categorical(4),
    )
    model = fit_gp(
        EncodedRows(inputs[:200], categories[:200]), y[:200], alphabets=alphabets
    )
    found = {pair.members for pair in model.covariance.pairs}
    first, second, third = (Member(k, alphabet) for k, alphabet in enumerate(alphabets))
    assert found == {(first, second), (Member(0), third)}
    rows = EncodedRows(inputs[200:], categories[200:])
    mean = model.predictive_mean(rows, clip=False)
    assert np.mean((mean - f[200:]) ** 2) < 0.05 * np.var(f)
    rows.categories[:20, 0], rows.categories[10:30, 1] = 4, 5  # unknown
    rows = EncodedRows(rows.inputs, rows.categories)
    mean = model.predictive_mean(rows, clip=False)
    products = model.to_product_sum()
    factors = np.where(rows.inputs[:, :, None] < 0, products.low, products.high)
    factors, values = factors.prod(axis=1), rows.inputs @ products.slopes
    for table, steps, seen in zip(
        products.tables, products.steps, rows.categories.T, strict=True
    ):
        factors, values = factors * table[seen], values + steps[seen]
    values += factors @ products.coef + products.constant
    assert_allclose(values, mean, rtol=1e-6)


def test_description_names_the_pairs():
    rng = np.random.default_rng(0)
    inputs, categories, f = make_pairs(200, (4, 5, 4), rng)
    alphabets = Categorical(4), Categorical(5), Categorical(4)
    rows = EncodedRows(inputs, categories)
    model = fit_gp(
        rows, f + 0.2 * rng.standard_normal(200), max_order=2, alphabets=alphabets
    )
    assert len(model.covariance.pairs) == 2
    evidence = model.log_evidence() + model.log_occam_factor
    without = _terms.description_length(model.covariance, 2, evidence)
    # Of two inputs and three categoricals, nine pairs have one of the latter.
    expected = math.log(math.comb(9, 2)) + 2 * 2.0
    assert model.description_length() - without == pytest.approx(expected)


def test_levels_have_no_pairs():
    rng = np.random.default_rng(0)
    inputs, categories, _ = make_pairs(200, (4, 5, 4), rng)
    f = rng.standard_normal((4, 5))[categories[:, 0], categories[:, 1]]
    alphabets = Categorical(4, is_ordered=True), Categorical(5), Categorical(4)
    y = f + 0.2 * rng.standard_normal(200)
    model = fit_gp(EncodedRows(inputs, categories), y, alphabets=alphabets)
    levels = Member(0, Categorical(4))
    assert not any(levels in pair.members for pair in model.covariance.pairs)


def test_no_pair_is_found_among_columns_that_add():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        inputs, categories, _ = make_pairs(150, (4, 5, 4), rng)
        y = sum(
            rng.standard_normal(size)[seen]
            for size, seen in zip((4, 5, 4), categories.T, strict=True)
        )
        y = y + 0.5 * rng.standard_normal(150)
        alphabets = Categorical(4), Categorical(5), Categorical(4)
        model = fit_gp(EncodedRows(inputs, categories), y, alphabets=alphabets)
        assert model.covariance.pairs == ()


def test_predictions_stay_in_the_range_of_the_targets():
    inputs, y, _ = make_data(6, 30, 0.0)
    model = fit_gp(plain(inputs), np.maximum(y, 0.0))
    cube = plain(list(itertools.product([-1, 1], repeat=6)))
    assert model.predictive_mean(cube).min() == 0.0
    assert model.predictive_mean(cube, clip=False).min() < 0.0


def test_constant_target_and_single_distinct_row():
    inputs, _, _ = make_data(4, 20, 0.0)
    model = fit_gp(plain(inputs), np.full(20, 3.0))
    assert_allclose(model.predictive_mean(plain(inputs)), 3.0)
    model = fit_gp(plain(np.ones((5, 3))), np.arange(5.0))
    assert_allclose(model.predictive_mean(plain(np.ones((1, 3)))), 2.0, atol=0.2)


def test_evidence_is_no_worse_than_that_of_a_gaussian_process():
    inputs, y, _ = make_data(8, 120, 0.3)
    y = (y - y.mean()) / y.std()
    kernel = ConstantKernel() * RBF(np.full(8, 2.0)) + WhiteKernel(0.1)
    with warnings.catch_warnings():
        # It warns of length scales at their bounds.
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer = GaussianProcessRegressor(kernel, alpha=0.0).fit(inputs, y)
    ours = fit_gp(plain(inputs), y, noise="constant", strong_terms=False)
    # Its hyperparameters are no better than ours by the density that is climbed.
    scaled, noise = peer.kernel_.k1, peer.kernel_.k2
    rates = 1.0 / scaled.k2.length_scale**2
    prior = Prior(rates, np.empty(0), scaled.k1.constant_value, 1e-8, noise.noise_level)
    evidence = Evidence(join_equal_rows(plain(inputs), y))
    theirs = evidence.value(prior)
    # The constant, which the peer holds to be as good as known, costs up to a nat.
    assert theirs == pytest.approx(peer.log_marginal_likelihood_value_, abs=1.5)
    theirs += log_density(prior.to_logs(), 8)[0]
    assert ours.log_evidence() + log_density(ours.prior.to_logs(), 8)[0] >= theirs


def test_means_at_training_rows_need_no_covariances():
    rng = np.random.default_rng(0)
    inputs, y, _ = make_data(7, 90, 0.3)
    rows, weight = plain(np.vstack([inputs, inputs[:10]])), rng.uniform(0.5, 2.0, 100)
    model = fit_gp(rows, 50.0 + 10.0 * np.append(y, y[:10] + 1.0), weight)
    expected = model.latent_mean(rows)
    with mock.patch.object(Covariance, "between") as between:
        found = model.fitted_mean(rows)
    assert not between.called
    assert_allclose(found, expected, rtol=1e-10)
    others = plain(rng.uniform(-1.0, 1.0, (5, 7)))
    assert_allclose(model.fitted_mean(others), model.latent_mean(others), rtol=0)


def test_covariances_with_many_rows_are_computed_some_rows_at_a_time(replace_constants):
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((800, 3))
    inputs[:, 0] = rng.choice([-1.0, 0.0, 1.0], 800)
    sample = join_equal_rows(plain(inputs), rng.standard_normal(800))
    prior = Prior(np.full(3, 0.5), np.empty(0), 1.0, 1.0, 0.1)
    covariance = Covariance(prior, terms=((0, 1),), variances=(0.5,))
    posterior, rows = ExactPosterior.condition(covariance, sample), plain(-inputs)

    def predict():
        return posterior.latent_mean(rows), posterior.latent_variance(rows)

    def measure(compute):
        with traced_memory() as peak:
            return compute(), peak()

    once, most = measure(predict)
    replace_constants("skmohn.mohn._table.rows", n_pairs=64 * 800)
    found, peak = measure(predict)
    assert_allclose(found, once, rtol=1e-12)
    # Four matrices of 64 of the rows, not of 800.
    assert peak < 4 * 8 * 64 * 800 < 8 * 800**2 < most
    # What is added to a matrix of all is no matrix of all.
    _, peak = measure(lambda: covariance.between(sample.rows, rows))
    assert peak < 1.3 * 8 * 800**2


# ------------------------------------------------------------------------- routes


def test_route_follows_rows_inputs_and_memory():
    rng = np.random.default_rng(0)

    def route(n_inputs, n_rows, memory=1e9, change=None):
        inputs = rng.choice([-1.0, 1.0], (n_rows, n_inputs))
        if change is not None:
            inputs[0, 0] = change
        sample = join_equal_rows(plain(inputs), np.zeros(n_rows))
        return choose_inference(sample, (), memory)[0]

    assert route(30, 1000) == "cholesky"
    assert route(30, 4000) == "cholesky"
    assert route(30, 10_000) == "cholesky"
    assert route(30, 10_001) == "nystroem"
    assert route(16, 12_000) == "hadamard"
    assert route(12, 6000) == "hadamard"
    assert route(13, 2000) == "hadamard"
    assert route(13, 2000, change=0.0) == "cholesky"
    assert route(16, 12_000, change=0.5) == "nystroem"
    assert route(30, 4000, memory=1.6e8) == "cholesky"
    assert route(30, 4000, memory=1.5e8) == "nystroem"


def test_memory_is_refused_with_the_figure():
    sample = join_equal_rows(plain(np.eye(30)), np.zeros(30))
    with pytest.raises(
        MemoryError, match=r"30 rows needs [\d.]+ KiB .* memory_budget is 100 bytes"
    ):
        choose_inference(sample, (), 100.0)


@pytest.mark.slow_cases("11-850-400-hadamard")
@pytest.mark.parametrize(
    ("n", "n_rows", "max_rows_exact", "route"),
    [(11, 850, 400, "hadamard"), (9, 450, 60, "nystroem"), (9, 450, 250, "subset")],
)
def test_every_route_learns(replace_constants, n, n_rows, max_rows_exact, route):
    replace_constants(_gp_model, max_left_out=400)
    replace_constants(_gp_model, max_rows_exact=max_rows_exact)
    replace_constants(_gp_model, max_inducing=225)
    inputs, y, values = make_data(n, 2 * n_rows, 0.2)
    if route != "hadamard":
        inputs[0, 0] = 0.0
    model = fit_gp(plain(inputs), y)
    assert model.inference == route
    index = np.arange(1 << n)[:, None]
    cube = plain(1.0 - 2.0 * ((index >> np.arange(n)) & 1))
    assert r2_score(values, model.predictive_mean(cube)) > 0.85
    more = model.update(plain(inputs[:5]), y[:5] + 1.0)
    assert more.n_observed == model.n_observed + 5
    assert (
        more.predictive_mean(plain(inputs[:5])).mean()
        > model.predictive_mean(plain(inputs[:5])).mean()
    )
    if route == "hadamard":
        with pytest.raises(ValueError, match="fit again on all rows"):
            model.update(plain(np.zeros((1, 11))), np.zeros(1))


@pytest.mark.slow_cases("subset")
@pytest.mark.parametrize("route", ["subset", "nystroem"])
def test_roughness_says_whether_a_part_of_the_rows_is_better(replace_constants, route):
    replace_constants(_gp_model, max_rows_exact=300)
    replace_constants(_gp_model, max_inducing=40)
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (1000, 12))
    y = inputs @ rng.standard_normal(12)
    if route == "subset":
        y = y + 6.0 * inputs[:, :4].prod(axis=1) * (inputs[:, 4] - inputs[:, 5])
    else:
        y = y + 3.0 * rng.standard_normal(1000)
    replace_constants(_gp_model, max_inputs_hadamard=1)
    learn = partial(fit_gp, plain(inputs), y, noise="constant", strong_terms=False)
    model = learn()
    assert model.inference == route
    # What is told of the evidence is that of the part, for as many as there are.
    covariance, n_all = model.covariance, len(np.unique(inputs, axis=0))
    again = learn(covariance=covariance)
    assert again.log_evidence() == pytest.approx(model.log_evidence())
    sample = join_equal_rows(plain(inputs), (y - model.y_mean) / model.y_std)
    drawn = np.random.default_rng(0).permutation(n_all)[:300]
    part = sample.take(drawn)
    rate = ExactPosterior.condition(covariance, part).log_evidence() / part.count.sum()
    assert model.log_evidence() == pytest.approx(1000 * (rate - np.log(model.y_std)))
    if route == "subset":
        exact = ExactPosterior.condition(covariance, part)
        assert_allclose(
            model.posterior.latent_mean(part.rows), exact.latent_mean(part.rows)
        )
    # With hardly more rows than can be had, there is nothing to weigh.
    few = fit_gp(plain(inputs[:350]), y[:350], noise="constant")
    assert few.inference == "subset"
    assert len(few.posterior.sample) == 300


def test_precisions_of_a_part_count_as_in_all(replace_constants):
    rng = np.random.default_rng(0)
    inputs, weight = rng.uniform(-1.0, 1.0, (800, 3)), rng.uniform(0.2, 3.0, 800)
    y = inputs.sum(axis=1) + 0.3 * rng.standard_normal(800) / np.sqrt(weight)
    learn = partial(
        fit_gp, plain(inputs), y, weight, noise="constant", strong_terms=False
    )
    whole = learn()
    replace_constants(_gp_model, max_rows_exact=700)
    part = learn(covariance=whole.covariance)
    assert part.inference == "subset"
    assert part.log_evidence() == pytest.approx(whole.log_evidence(), abs=15)


# -------------------------------------------------------------------- noise, terms


def test_noise_of_a_region_is_found():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (300, 6))
    std = np.where(inputs[:, 0] > 0, 1.0, 0.05)
    y = (
        2.0 * inputs[:, 0] * inputs[:, 1]
        + inputs[:, 2]
        + std * rng.standard_normal(300)
    )
    model = fit_gp(plain(inputs), y)
    cube = np.array(list(itertools.product([-1.0, 1.0], repeat=6)))
    found = model.predictive_std(plain(cube))
    assert 0.6 < np.median(found[cube[:, 0] > 0]) < 1.6
    assert np.median(found[cube[:, 0] < 0]) < 0.3
    constant = fit_gp(plain(inputs), y, noise="constant")
    assert constant.noise_map is None
    assert (
        model.log_evidence() > constant.log_evidence() + 20 or not model.noise_exponent
    )


def test_noise_of_one_level_stays_so():
    found = []
    for seed in range(4):
        inputs, y, _ = make_data(7, 150, 0.5, seed=seed)
        found.append(fit_gp(plain(inputs), y).noise_map is None)
    assert sum(found) >= 2


def test_noise_map_tells_left_out_rows():
    inputs, y, _ = make_data(6, 60, 0.3)
    y = np.where(inputs[:, 0] > 0, y + 2 * np.random.default_rng(2).normal(size=60), y)
    model = fit_gp(plain(inputs), (y - y.mean()) / y.std(), noise="constant")
    noise_map, share = fit_noise_model(model.posterior)
    assert noise_map is not None
    assert noise_map.known.shape == (len(model.posterior.sample),)
    assert share in (0.0, 0.5, 1.0)


def test_rows_are_weighed_by_the_share_of_noise_that_predicts_best():
    rng = np.random.default_rng(5)
    inputs, y, _ = make_data(6, 120, 0.3)
    y += np.where(inputs[:, 0] > 0, 2.0, 0.0) * rng.normal(size=120)
    model = fit_gp(plain(inputs), (y - y.mean()) / y.std(), noise="constant")
    posterior = model.posterior
    noise_map, share = fit_noise_model(posterior)
    assert share > 0
    errors = {}
    for other in (0.0, 0.5, 1.0):
        sample = replace(posterior.sample, excess=noise_map.known**other)
        again = ExactPosterior.condition(posterior.covariance, sample)
        errors[other] = np.mean(again.leave_one_out()[0] ** 2)
    assert share == min(errors, key=errors.get)


def test_screening_finds_the_largest_products():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 0.0, 1.0], (40, 7))
    vector = rng.standard_normal(40)
    for order in (1, 2, 3, 4):
        every = list(itertools.combinations(range(7), order))
        sums = [abs(inputs[:, term].prod(axis=1) @ vector) for term in every]
        expected = [every[j] for j in np.argsort(-np.array(sums))[:5]]
        assert screen(inputs, vector, order, 5) == expected


def test_significant_terms_are_those_of_the_function():
    """A wrong one may come along in one of twenty fits for each order."""
    n_right = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        inputs = rng.choice([-1.0, 1.0], (300, 12))
        y = inputs[:, 3] - inputs[:, 0] * inputs[:, 5] + 0.3 * rng.standard_normal(300)
        model = fit_gp(plain(inputs), y)
        terms, means, stds = find_significant_terms(model)
        assert {(3,), (0, 5)} <= set(terms)
        found = dict(zip(terms, means, strict=True))
        assert found[(3,)] == pytest.approx(1.0, abs=0.1)
        assert found[(0, 5)] == pytest.approx(-1.0, abs=0.1)
        assert np.all(stds > 0)
        n_right += len(terms) == 2
    assert n_right >= 4
    only_first = find_significant_terms(model, max_order=1)[0]
    assert all(len(term) == 1 for term in only_first)


def test_dense_functions_have_no_strong_terms():
    for seed in range(3):
        inputs, y, _ = make_data(10, 300, 0.1, seed=seed)
        assert fit_gp(plain(inputs), y).covariance.terms == ()


@pytest.mark.parametrize(("n", "n_rows"), [(12, 400), (40, 300)])
def test_a_strong_weight_beside_small_ones_is_learned(n, n_rows):
    """By the rates of its inputs, or by a variance of its own."""
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (n_rows, n))
    y = inputs @ rng.standard_normal(n) + 3.0 * inputs[:, [1, 4, 7]].prod(axis=1)
    model = fit_gp(plain(inputs), y + 0.5 * rng.standard_normal(n_rows))
    mean, std = model.weight_posterior((1, 4, 7))
    assert mean == pytest.approx(3.0, abs=min(4 * std, 0.5))


def test_a_strong_term_raises_the_evidence_by_what_the_score_says():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (200, 8))
    y = inputs[:, 0] * inputs[:, 3] * inputs[:, 5] + 0.5 * rng.standard_normal(200)
    model = fit_gp(plain(inputs), y / y.std(), noise="constant", strong_terms=False)
    # As if nothing were known of the strong weight.
    prior = model.prior._replace(
        ard_rates=np.full(8, 0.1), signal_variance=0.1, noise_variance=0.5
    )
    before = ExactPosterior.condition(Covariance(prior), model.posterior.sample)
    found = find_strong_terms(before).covariance
    assert found.terms[0] == (0, 3, 5)
    gains = []
    for factor in (0.8, 1.0, 1.25):
        one = Covariance(prior, (), found.terms[:1], (factor * found.variances[0],))
        posterior = ExactPosterior.condition(one, before.sample)
        gains.append(posterior.log_evidence() - before.log_evidence())
    # The variance that the score gives is the best one.
    assert max(gains) == gains[1] > 2.0


def test_further_strong_terms_are_as_in_a_factor_of_their_own():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (90, 7))
    y = rng.standard_normal(90) + 2.0 * inputs[:, 0] * inputs[:, 1]
    weight = rng.integers(1, 3, 90).astype(float)
    sample = join_equal_rows(plain(inputs), y, weight)
    sample = replace(sample, excess=rng.uniform(0.5, 2.0, len(sample)))
    prior = Prior(np.full(7, 0.2), np.empty(0), 0.7, 0.5, 0.3)
    given = Covariance(prior, (), ((2,),), (0.4,))
    extended = _terms._PosteriorUpdate(ExactPosterior.condition(given, sample))
    extended.add((0, 1), 1.5)
    extended.add((3, 4, 5), 0.02)
    whole = Covariance(prior, (), ((2,), (0, 1), (3, 4, 5)), (0.4, 1.5, 0.02))
    assert extended.covariance == whole
    posterior = ExactPosterior.condition(whole, sample)
    assert_allclose(extended.alpha, posterior.alpha, atol=1e-10)
    columns = rng.standard_normal((len(sample), 4))
    expected = np.diag(columns.T @ posterior.solve(columns))
    assert_allclose(extended.squares(columns), expected, rtol=1e-10)
    assert_allclose(posterior.squares(columns), expected, rtol=1e-10)
    found, expected = extended.leave_one_out(), posterior.leave_one_out()
    assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


# ------------------------------------------------------------------------- uncertainty


def test_variance_grows_by_what_the_hyperparameters_leave_open():
    """Against draws of hyperparameters weighed by their posterior density."""
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (60, 3))
    y = 2 * inputs[:, 0] + inputs[:, 1] * inputs[:, 2] + 0.5 * rng.standard_normal(60)
    model = fit_gp(plain(inputs), y, noise="constant", strong_terms=False)
    cube = plain(list(itertools.product([-1.0, 1.0], repeat=3)))
    best, sample = model.prior.to_logs(), model.posterior.sample
    evidence = Evidence(sample)
    means, heights = [], []
    # The proposal is wide: t with 3 degrees of freedom around the maximum.
    draws = 1.5 * rng.standard_t(3, (1000, len(best)))
    for shift in draws:
        logs = best + shift
        prior = Prior.from_logs(np.clip(logs, -15, 9), 3)
        heights.append(evidence.value(prior) + log_density(logs, 3)[0])
        means.append(
            ExactPosterior.condition(Covariance(prior), sample).latent_mean(cube)
        )
    heights = np.array(heights) + 2.0 * np.sum(np.log1p(draws**2 / 6.75), axis=1)
    weight = np.exp(heights - heights.max())
    center = np.average(means, axis=0, weights=weight)
    expected = np.average((means - center) ** 2, axis=0, weights=weight)
    found = model.hyperparameter_uncertainty.variance(cube)
    assert 0.3 < np.mean(found) / np.mean(expected) < 3.0
    bare = model.posterior.latent_variance(cube)
    assert_allclose(model.latent_variance(cube), bare + found)


def test_uncertainty_of_a_function_is_that_of_its_weights():
    """Products of -1 and +1 are orthogonal over all rows."""
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (25, 4))
    y = 2 * inputs[:, 0] + inputs[:, 1] * inputs[:, 2] + rng.standard_normal(25)
    model = fit_gp(plain(inputs), y, noise="constant", strong_terms=False)
    cube = plain(list(itertools.product([-1.0, 1.0], repeat=4)))
    stds = [
        model.weight_posterior(term)[1]
        for order in range(5)
        for term in itertools.combinations(range(4), order)
    ]
    variance = np.mean(model.latent_variance(cube)) * model.y_std**2
    assert np.sum(np.square(stds)) == pytest.approx(variance)
    assert (
        variance
        > 1.05 * np.mean(model.posterior.latent_variance(cube)) * model.y_std**2
    )


def test_axes_that_change_the_function_most_are_found_by_slopes(replace_constants):
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (40, 60))
    y = inputs[:, :9].sum(axis=1) + rng.standard_normal(40)
    posterior = fit_gp(plain(inputs), y, noise="constant").posterior
    replace_constants(_uncertainty, max_axes=6)
    some, log_occam_factor = _uncertainty.marginalize_hyperparameters(posterior, 40)
    replace_constants(_uncertainty, n_tried_per_axis=99)
    every, same = _uncertainty.marginalize_hyperparameters(posterior, 40)
    cube = plain(rng.choice([-1.0, 1.0], (30, 60)))
    assert_allclose(some.variance(cube), every.variance(cube))
    assert (len(some.pairs), log_occam_factor) == (6, same)


def test_slopes_of_fitted_values_equal_finite_differences():
    rng = np.random.default_rng(0)
    inputs = np.hstack([rng.choice([-1.0, 1.0], (30, 2)), rng.uniform(-1, 1, (30, 2))])
    alphabets = (Categorical(3), Categorical(4, True))
    rows = EncodedRows(inputs, np.stack([rng.integers(0, k, 30) for k in (4, 5)], 1))
    y = inputs[:, 0] * inputs[:, 2] + (rows.categories[:, 0] == 1)
    sample = join_equal_rows(rows, y + 0.1 * rng.standard_normal(30))
    logs = rng.uniform(-2.0, -0.5, 14)

    def fitted(logs):
        prior = Prior.from_logs(logs, 4)
        covariance = Covariance(prior, alphabets, ((0, 2),), (0.4,))
        return ExactPosterior.condition(covariance, sample)

    found, step = _uncertainty._fitted_slopes(fitted(logs)), 1e-5
    for j, shift in enumerate(step * np.eye(14)[:-1]):
        change = fitted(logs + shift).fitted() - fitted(logs - shift).fitted()
        assert_allclose(found[:, j], change / (2.0 * step), atol=1e-8)


@pytest.mark.parametrize("longer", [0.1, -0.1])
def test_long_descriptions_are_not_asked_for_predictions(longer):
    rng = np.random.default_rng(0)
    rows, y = plain(rng.choice([-1.0, 1.0], (30, 4))), rng.standard_normal(30)
    full = fit_gp(rows, y)
    at_most = full.description_length() - longer
    model = fit_gp(rows, y, at_most=at_most)
    assert model.description_length() == full.description_length()
    # The range is that of the targets, or of their left-out predictions.
    assert (model.y_max == y.max() > full.y_max) == (longer > 0.0)


def test_directions_that_change_little_are_not_looked_along(replace_constants):
    rng = np.random.default_rng(1)
    inputs = rng.choice([-1.0, 1.0], (60, 90))
    y = inputs[:, :3].sum(axis=1) + inputs[:, 3] * inputs[:, 4]
    y += rng.standard_normal(60)
    posterior = fit_gp(plain(inputs), y, noise="constant").posterior
    replace_constants(_uncertainty, max_directions=999)
    every, expected = _uncertainty.marginalize_hyperparameters(posterior, 60)
    replace_constants(_uncertainty, max_directions=30)
    some, log_occam_factor = _uncertainty.marginalize_hyperparameters(posterior, 60)
    # As an integral over those looked along it would be ten less.
    assert log_occam_factor == pytest.approx(expected, abs=1.2)
    cube = plain(rng.choice([-1.0, 1.0], (50, 90)))
    own = posterior.latent_variance(cube)
    ratio = (own + some.variance(cube)) / (own + every.variance(cube))
    assert ratio.min() > 0.94
    assert ratio.max() < 1.07
    kept, others = _uncertainty._split_directions(
        posterior, eye_array(93, format="csr")
    )
    assert (len(kept), others.shape[0]) == (30, 63)
    # Inputs that matter, and scale, linear part and noise.
    assert kept[:, [0, 1, 2, -3, -2, -1]].any(axis=0).all()


def mixed_posterior(n_signs):
    """Posterior of signs, then two fractions, unknown values, and categories."""
    rng = np.random.default_rng(2)
    inputs = rng.choice([-1.0, 1.0], (40, n_signs))
    inputs = np.hstack([inputs, rng.uniform(-1.0, 1.0, (40, 2))])
    inputs[rng.random(inputs.shape) < 0.05] = 0.0
    alphabets = (Categorical(3), Categorical(4, True))
    rows = EncodedRows(inputs, np.stack([rng.integers(0, k, 40) for k in (4, 5)], 1))
    y = inputs[:, 0] * inputs[:, -1] + (rows.categories[:, 0] == 1)
    sample = join_equal_rows(rows, y + 0.3 * rng.standard_normal(40))
    logs = np.append(np.full(n_signs + 2, -3.0), rng.uniform(-2.0, -0.5, 10))
    prior = Prior.from_logs(logs, n_signs + 2)
    return ExactPosterior.condition(
        Covariance(prior, alphabets, ((0, 2),), (0.4,)), sample
    )


def test_inputs_whose_rates_stay_are_as_good_as_all():
    posterior = mixed_posterior(8)
    covariance, sample = posterior.covariance, posterior.sample
    best, rng = covariance.prior.to_logs(), np.random.default_rng(3)
    evidence = Evidence(sample, covariance.alphabets)
    # The rates of a sign, of a fraction, of categories, and the last three differ.
    chosen = [1, 9, *range(10, 20)]
    near = _uncertainty.Neighborhood(posterior, np.eye(20)[chosen])
    assert near.logs.tolist() == chosen
    logs = best.copy()
    logs[chosen] += rng.uniform(-1.0, 1.0, len(chosen))
    there = replace(covariance, prior=Prior.from_logs(logs, 10))
    gram = near.gram(there, sample.rows)
    assert_allclose(gram, there.between(sample.rows, sample.rows), rtol=1e-12)
    value, slope = near.evidence.value_and_slope(Prior.from_logs(logs[chosen], 2))
    expected, whole = evidence.value_and_slope(there.prior)
    assert value == pytest.approx(expected, rel=1e-12)
    assert_allclose(slope, whole[chosen], rtol=1e-9, atol=1e-10)


def test_hyperparameters_of_a_wide_table_are_marginalized_by_few_inputs(monkeypatch):
    widths = []

    class Watched(covariance_function.GramMatrix):
        def covariance(self, prior):
            widths.append(len(self.signs) + len(self.reals))
            return super().covariance(prior)

    posterior = mixed_posterior(98)
    for module in (
        _uncertainty,
        covariance_function,
        weight_prior,
        marginal_likelihood,
    ):
        monkeypatch.setattr(module, "GramMatrix", Watched, raising=False)
    some, _ = _uncertainty.marginalize_hyperparameters(posterior, 40)
    assert len(widths) == 2 * 2 * _uncertainty.UNCERTAINTY.max_axes
    assert max(widths) <= _uncertainty.UNCERTAINTY.max_directions
    up, _ = some.pairs[0]
    again = ExactPosterior.condition(up.covariance, posterior.sample)
    assert_allclose(up.alpha, again.alpha, rtol=1e-9, atol=1e-9)


def test_many_rows_leave_no_uncertainty():
    inputs, y, _ = make_data(9, 400, 0.3)
    assert fit_gp(plain(inputs), y).hyperparameter_uncertainty is None


# ----------------------------------------------------------------------- real data

R2_AT_LEAST = [
    ("phillips2021_cr6261_h1.csv", 188, 0.92),
    ("config_x264.csv", 115, 0.999),
    ("config_apache.csv", 57, 0.93),
]


@pytest.mark.parametrize(("file", "n_train", "least"), R2_AT_LEAST)
def test_measured_functions(real_data, file, n_train, least):
    table = np.loadtxt(real_data / file, delimiter=",", skiprows=1)
    scores = []
    for seed in range(3):
        X, T, y, t = train_test_split(
            2 * table[:, :-1] - 1, table[:, -1], train_size=n_train, random_state=seed
        )
        scores.append(r2_score(t, fit_gp(plain(X), y).predictive_mean(plain(T))))
    assert np.mean(scores) > least
