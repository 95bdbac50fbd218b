"""The product prior against sums over all weights, and its gradients."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm
from support import traced_memory

from skmohn.mohn._gp import marginal_likelihood as _evidence
from skmohn.mohn._gp.covariance_function import GramMatrix, Prior
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.marginal_likelihood import (
    Evidence,
    density_curvature,
    first_steps,
    join_equal_rows,
    learn_prior,
    log_density,
    maximize_evidence,
    start_prior,
)
from skmohn.mohn._gp.pairs import Member, PairVariances
from skmohn.mohn._gp.weight_prior import Covariance, parity
from skmohn.mohn._models import occam_factor
from skmohn.mohn._table.rows import Categorical, EncodedRows, sizes_of

N_INPUTS = 5
CATEGORIES = (Categorical(3), Categorical(4))
LEVELS = (Categorical(3), Categorical(4, True))
# Categoricals that are alike have another between them.
ALIKE = (Categorical(3, True), Categorical(4), Categorical(3, True))
FREQUENT = (Categorical(3, False, (0.8, 0.15, 0.05)), Categorical(3))
OF_SITES = {
    "categories": CATEGORIES,
    "levels": LEVELS,
    "alike": ALIKE,
    "frequent": FREQUENT,
}
KINDS = ["signs", "unknown", "fractional", *OF_SITES]


def all_sets(n):
    return [
        term
        for order in range(n + 1)
        for term in itertools.combinations(range(n), order)
    ]


def make_rows(kind, n_rows=30, seed=0):
    """Rows of a kind and the numbers of categories of their categoricals."""
    rng = np.random.default_rng([seed, n_rows])
    inputs = rng.choice([-1.0, 1.0], (n_rows, N_INPUTS))
    categories, alphabets = np.empty((n_rows, 0), dtype=int), ()
    if kind != "signs":
        inputs[rng.uniform(size=inputs.shape) < 0.2] = 0.0
    if kind in ("fractional", *OF_SITES):
        inputs[:, 1] = rng.uniform(-1, 1, n_rows)
    if kind in OF_SITES:
        alphabets = OF_SITES[kind]
        columns = [rng.integers(0, size + 1, n_rows) for size in sizes_of(alphabets)]
        categories = np.stack(columns, 1)
    return EncodedRows(inputs, categories), alphabets


def make_prior(alphabets=(), n_inputs=N_INPUTS, seed=0):
    rng = np.random.default_rng(seed)
    return Prior(
        rng.uniform(0.1, 1.0, n_inputs),
        rng.uniform(0.1, 1.0, sum(sizes_of(alphabets))),
        1.3,
        0.7,
        0.2,
    )


def make_sample(kind, seed=0, weighted=False):
    rows, alphabets = make_rows(kind, seed=seed)
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(len(rows))
    weight = rng.uniform(0.5, 2.0, 2 * len(rows)) if weighted else None
    return join_equal_rows(rows.join(rows), np.append(y, y + 0.3), weight), alphabets


# ----------------------------------------------------------------------- covariance


@pytest.mark.parametrize("kind", ["signs", "unknown", "fractional"])
def test_covariance_is_the_sum_over_all_weights(kind):
    rows, _ = make_rows(kind)
    others, _ = make_rows("fractional", n_rows=7, seed=1)
    prior = make_prior()
    covariance = Covariance(prior, terms=((0, 2),), variances=(0.4,))
    sets = all_sets(N_INPUTS)
    variances = np.array([covariance.of_weight(term) for term in sets])
    share = [
        1.3 * np.prod(prior.tau[list(term)]) / np.prod(1 + prior.tau) for term in sets
    ]
    expected = np.array(share)
    for j, term in enumerate(sets):
        expected[j] += {0: 1.0, 1: 0.7 * prior.tau[list(term)].sum()}.get(len(term), 0)
        expected[j] += 0.4 * (term == (0, 2))
    assert_allclose(variances, expected, rtol=1e-12)
    left = np.stack([parity(rows.inputs, term) for term in sets], 1)
    right = np.stack([parity(others.inputs, term) for term in sets], 1)
    assert_allclose(
        covariance.between(rows, others), left * variances @ right.T, atol=1e-12
    )
    assert_allclose(
        covariance.between(rows, rows), left * variances @ left.T, atol=1e-12
    )
    assert_allclose(covariance.own(rows), left**2 @ variances, atol=1e-12)
    for j in (0, 1, 7, 12, len(sets) - 1):
        assert_allclose(
            covariance.with_weight(rows, sets[j]), left[:, j] * variances[j], atol=1e-12
        )
    places = [sum(1 << i for i in term) for term in sets]
    assert_allclose(covariance.all_weights()[places], variances, rtol=1e-12)


@pytest.mark.parametrize("pairs", [False, True])
def test_an_unknown_category_is_the_mean_by_frequencies(pairs):
    rows, alphabets = make_rows("frequent")
    members = [Member(k, alphabet) for k, alphabet in enumerate(alphabets)]
    own = (PairVariances((Member(0), members[0]), 0.6), PairVariances((*members,), 0.8))
    covariance = Covariance(
        make_prior(alphabets), alphabets, pairs=own if pairs else ()
    )
    for k, alphabet in enumerate(alphabets):
        categories = np.repeat(rows.categories[:1], 4, axis=0)
        categories[:, 1 - k] = 1
        categories[:, k] = [0, 1, 2, 3]
        each = EncodedRows(np.repeat(rows.inputs[:1], 4, axis=0), categories)
        *known, unknown = covariance.between(each, rows)
        assert_allclose(unknown, alphabet.probability @ known, rtol=1e-12)


def test_two_valued_inputs_make_an_exponential():
    rows, _ = make_rows("signs")
    prior = make_prior()
    differences = 1.0 - rows.inputs[:, None] * rows.inputs
    assert_allclose(
        GramMatrix(rows, rows).product(prior),
        np.exp(-differences @ prior.ard_rates),
        rtol=1e-12,
    )


PAIRS = (
    PairVariances((Member(0), Member(0, Categorical(3))), 0.6),
    PairVariances((Member(0, Categorical(3)), Member(1, Categorical(4))), 0.8),
)


@pytest.mark.parametrize("pairs", [(), PAIRS])
def test_unknown_categories_are_averages_over_all_categories(pairs):
    """Unknown categoricals and weights are means and contrasts of full rows."""
    prior, alphabets = make_prior(CATEGORIES, n_inputs=1), CATEGORIES
    covariance = Covariance(prior, alphabets, pairs=pairs)
    cells = np.array(list(itertools.product([-1, 1], range(3), range(4))))
    full = EncodedRows(cells[:, :1].astype(float), cells[:, 1:])
    K = covariance.between(full, full)
    b = prior.category_rates
    factor = prior.signal_variance * np.exp(
        -prior.ard_rates[0] * (1 - np.outer(*[cells[:, 0]] * 2))
    )
    factor = factor * np.where(
        cells[:, 1][:, None] == cells[:, 1],
        1.0,
        np.exp(-b[cells[:, 1]][:, None] - b[cells[:, 1]]),
    )
    other = b[3 + cells[:, 2]]
    factor = factor * np.where(
        cells[:, 2][:, None] == cells[:, 2], 1.0, np.exp(-other[:, None] - other)
    )
    plain = Covariance(prior._replace(main_effect_variance=0.0), alphabets)
    assert_allclose(plain.between(full, full), factor + 1.0, rtol=1e-12)
    patterns = list(itertools.product([-1, 0, 1], range(4), range(5)))
    schemas = EncodedRows(
        np.array([[x] for x, _, _ in patterns], dtype=float),
        np.array([(k, m) for _, k, m in patterns]),
    )
    mean = np.array(
        [
            np.all(
                [
                    (given == unknown) | (cells[:, c] == given)
                    for c, (given, unknown) in enumerate(
                        zip(pattern, (0, 3, 4), strict=True)
                    )
                ],
                axis=0,
            )
            for pattern in patterns
        ],
        dtype=float,
    )
    mean /= mean.sum(axis=1, keepdims=True)
    assert_allclose(covariance.between(schemas, full), mean @ K, atol=1e-12)
    assert_allclose(covariance.between(schemas, schemas), mean @ K @ mean.T, atol=1e-12)
    assert_allclose(covariance.own(schemas), np.diagonal(mean @ K @ mean.T), atol=1e-12)

    def at(*pattern):
        return mean[patterns.index(pattern)]

    contrasts = {
        ((), ()): at(0, 3, 4),
        ((0,), ()): (at(1, 3, 4) - at(-1, 3, 4)) / 2,
        ((), ((1, 2),)): at(0, 3, 2) - at(0, 3, 4),
        ((0,), ((0, 1),)): (at(1, 1, 4) - at(-1, 1, 4) - at(1, 3, 4) + at(-1, 3, 4))
        / 2,
        ((), ((0, 1), (1, 3))): at(0, 1, 3) - at(0, 1, 4) - at(0, 3, 3) + at(0, 3, 4),
    }
    for (term, categories), contrast in contrasts.items():
        assert_allclose(
            covariance.with_weight(full, term, categories), K @ contrast, atol=1e-12
        )
        assert covariance.of_weight(term, categories) == pytest.approx(
            contrast @ K @ contrast
        )


def test_two_categories_are_a_two_valued_input():
    rows, _ = make_rows("unknown")
    prior = make_prior()
    as_categories = EncodedRows(
        rows.inputs[:, :3],
        np.where(rows.inputs[:, 3:] == 0, 2, rows.inputs[:, 3:] > 0).astype(int),
    )
    other = prior._replace(
        ard_rates=prior.ard_rates[:3], category_rates=np.repeat(prior.ard_rates[3:], 2)
    )
    assert_allclose(
        Covariance(other, (Categorical(2), Categorical(2))).between(
            as_categories, as_categories
        ),
        Covariance(prior).between(rows, rows),
        atol=1e-12,
    )


def test_levels_are_a_thermometer_code_of_inputs():
    """One input for each step from a level to the next one, -1 below and +1 above."""
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 5, (20, 1))
    steps = np.where(levels > np.arange(4), 1.0, -1.0)
    b = rng.uniform(0.1, 1.0, 5)
    prior = Prior((b[:-1] + b[1:]) / 2, np.empty(0), 1.3, 0.7, 0.2)
    as_levels = EncodedRows(np.empty((20, 0)), levels)
    as_steps = EncodedRows(steps, np.empty((20, 0), dtype=int))
    assert_allclose(
        GramMatrix(as_levels, as_levels, (Categorical(5, True),)).product(
            prior._replace(ard_rates=np.empty(0), category_rates=b)
        ),
        GramMatrix(as_steps, as_steps).product(prior),
        rtol=1e-12,
    )


def test_an_unknown_level_is_the_mean_of_all():
    rng = np.random.default_rng(0)
    prior = Prior(np.array([0.3]), rng.uniform(0.1, 1.0, 5), 1.3, 0.7, 0.2)
    covariance = Covariance(prior, (Categorical(5, True),))
    rows = EncodedRows(rng.choice([-1.0, 1.0], (9, 1)), rng.integers(0, 5, (9, 1)))
    unknown = EncodedRows(np.array([[1.0]]), np.array([[5]]))
    each = EncodedRows(np.ones((5, 1)), np.arange(5)[:, None])
    assert_allclose(
        covariance.between(unknown, rows)[0], covariance.between(each, rows).mean(0)
    )
    assert covariance.own(unknown) == pytest.approx(
        covariance.between(each, each).mean()
    )


def test_categoricals_that_are_alike_may_be_anywhere():
    rows, alphabets = make_rows("alike")
    prior, order = make_prior(alphabets), [2, 0, 1]
    b = np.split(prior.category_rates, [3, 7])
    moved = Covariance(
        prior._replace(category_rates=np.concatenate([b[i] for i in order])),
        tuple(alphabets[i] for i in order),
    )
    elsewhere = EncodedRows(rows.inputs, rows.categories[:, order])
    expected = moved.between(elsewhere, elsewhere)
    found = Covariance(prior, alphabets)
    assert_allclose(found.between(rows, rows), expected, rtol=1e-12)
    assert_allclose(found.own(rows), np.diagonal(expected), rtol=1e-12)
    cross = found.with_weight(rows, (1,), ((1, 2),))
    assert_allclose(cross, moved.with_weight(elsewhere, (1,), ((2, 2),)), rtol=1e-12)


@pytest.mark.parametrize("weights", [None, "repeats", "precisions"])
def test_several_targets_add_up(weights):
    rng = np.random.default_rng(3)
    rows, alphabets = make_rows("levels")
    rows = rows.join(rows)
    targets = rng.normal(size=(60, 3))
    sample_weight = {
        "repeats": rng.integers(1, 4, 60).astype(float),
        "precisions": rng.uniform(0.5, 1.5, 60),
    }.get(weights)
    prior = make_prior(alphabets)
    joint = Evidence(join_equal_rows(rows, targets, sample_weight), alphabets)
    singles = [
        Evidence(join_equal_rows(rows, y, sample_weight), alphabets) for y in targets.T
    ]
    value, slope = joint.value_and_slope(prior)
    values, slopes = zip(*(e.value_and_slope(prior) for e in singles), strict=True)
    assert_allclose(value, np.sum(values))
    assert_allclose(slope, np.sum(slopes, axis=0), atol=1e-9)
    assert_allclose(joint.value(prior), value)


def test_values_outside_the_range_are_multilinear():
    rows, _ = make_rows("signs", n_rows=1)
    inputs = np.repeat(rows.inputs, 3, axis=0)
    inputs[:, 2] = [-1.0, 1.0, 3.0]
    line = Covariance(make_prior()).between(
        EncodedRows(inputs, np.empty((3, 0), int)), rows
    )
    assert line[2, 0] == pytest.approx(2 * line[1, 0] - line[0, 0])


# ------------------------------------------------------------------------ gradients


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_equals_finite_differences(kind, weighted):
    sample, alphabets = make_sample(kind, weighted=weighted)
    assert len(sample) < 60
    evidence = Evidence(sample, alphabets)
    prior = make_prior(alphabets)
    value, slope = evidence.value_and_slope(prior)
    assert value == pytest.approx(evidence.value(prior), rel=1e-12)
    logs, step = prior.to_logs(), 1e-5
    for j in range(len(logs)):
        shift = np.where(np.arange(len(logs)) == j, step, 0.0)
        up, down = (
            evidence.value(Prior.from_logs(logs + sign * shift, N_INPUTS))
            for sign in (1, -1)
        )
        assert slope[j] == pytest.approx((up - down) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("kind", ["signs", "unknown", "numbers", "categories"])
def test_gradients_of_products_are_those_of_their_pairs(kind):
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (20, 5))
    # Equal columns are compared once.
    inputs[:, 3] = inputs[:, 1]
    if kind == "unknown":
        inputs[:4, 2] = 0.0
    if kind == "numbers":
        inputs[:, 2] = rng.uniform(-1.0, 1.0, 20)
    alphabets = (Categorical(3, False),) * (kind == "categories")
    categories = rng.integers(0, 3, (20, len(alphabets)))
    rows, n_rates = EncodedRows(inputs, categories), 3 * len(alphabets)
    rates = rng.uniform(0.1, 1.0, 5), rng.uniform(0.1, 1.0, n_rates)
    prior = Prior(*rates, 0.7, 1.3, 0.2)
    pairs = GramMatrix(rows, rows, alphabets)
    product = pairs.product(prior)
    weights, alpha = rng.standard_normal((3, 20)), rng.standard_normal(20)
    found = pairs.slopes(prior, product, weights, alpha)
    outers = (np.outer(row, alpha) for row in weights)
    expected = [pairs.slope(prior, product, outer) for outer in outers]
    assert_allclose(found, expected, atol=1e-12)


def test_gradient_where_factors_vanish():
    rng = np.random.default_rng(0)
    rows = EncodedRows(np.empty((80, 0)), rng.integers(64, size=(80, 1)))
    sample = join_equal_rows(rows, rng.standard_normal(80))
    evidence = Evidence(sample, (Categorical(64, True),))
    # Levels that are far apart have covariances that are too small for a number.
    prior = Prior(np.empty(0), np.full(64, 8.0), 1.0, 1.0, 0.1)
    assert (evidence.pairs.product(prior) == 0).any()
    slope = evidence.value_and_slope(prior)[1]
    logs, shift = prior.to_logs(), np.append(np.full(64, 1e-4), np.zeros(3))
    up, down = (
        evidence.value(Prior.from_logs(logs + sign * shift, 0)) for sign in (1, -1)
    )
    assert slope[:64].sum() == pytest.approx((up - down) / 2e-4, abs=1e-6)


@pytest.mark.parametrize("kind", ["numbers", *KINDS])
def test_gradients_at_once_are_those_one_by_one(kind):
    sample, alphabets = make_sample("signs" if kind == "numbers" else kind)
    if kind == "numbers":
        numbers = np.random.default_rng(0).uniform(-1, 1, sample.rows.inputs.shape)
        sample = replace(sample, rows=EncodedRows(numbers, sample.rows.categories))
    evidence, logs = Evidence(sample, alphabets), make_prior(alphabets).to_logs()
    # Rates that all have in common, that some have, and that one has alone.
    moves = [np.eye(len(logs))[j] for j in (0, 1, 1, 3, -2, -1)]
    priors = [Prior.from_logs(logs + 0.3 * move, N_INPUTS) for move in moves]
    # One of them is no covariance.
    slopes, left = evidence.slopes([*priors, priors[0]._replace(signal_variance=-9.0)])
    assert not slopes[-1].any()
    assert not left[-1].any()
    for prior, slope, apart in zip(priors, slopes[:-1], left[:-1], strict=True):
        assert_allclose(slope, evidence.value_and_slope(prior)[1], rtol=1e-9, atol=1e-9)
        fitted = ExactPosterior.condition(Covariance(prior, alphabets), sample).fitted()
        assert_allclose(apart, sample.target - fitted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("alphabets", [CATEGORIES, LEVELS])
def test_gradient_of_the_density_equals_finite_differences(alphabets):
    logs = np.random.default_rng(0).normal(size=2 + 7 + 3)
    density, slope = log_density(logs, 2, alphabets)
    assert density < 0
    for j in range(len(logs)):
        shift = np.where(np.arange(len(logs)) == j, 1e-5, 0.0)
        up = log_density(logs + shift, 2, alphabets)[0]
        down = log_density(logs - shift, 2, alphabets)[0]
        assert slope[j] == pytest.approx((up - down) / 2e-5, abs=1e-8)


@pytest.mark.parametrize(
    ("alphabet", "center"), [(Categorical(4), 0.0), (Categorical(4, True), -np.log(3))]
)
def test_density_of_categories_is_that_of_their_categorical(alphabet, center):
    """Rates are normal around a mean that is normal itself, shared by all steps."""
    spread = 0.3**2 * np.eye(4) + (1.0**2 - 0.3**2 / 4) * np.ones((4, 4))
    x = np.random.default_rng(0).normal(size=(2, 4))
    ends = [0.0, 0.0, -1.0]
    found = [log_density(np.append(row + center, ends), 0, (alphabet,))[0] for row in x]
    expected = [-0.5 * row @ np.linalg.solve(spread, row) for row in x]
    assert_allclose(found, expected)


def test_density_of_inputs_is_normal():
    logs = np.random.default_rng(0).normal(size=5 + 3)
    # Around one over their number; those of scale and noise; `linear` is flat.
    apart = logs - [*[-np.log(5)] * 5, 0.0, logs[6], -1.0]
    assert log_density(logs, 5)[0] == pytest.approx(-0.5 * apart @ apart)


def test_climbs_begin_at_one_over_the_number_of_categoricals():
    prior = start_prior(3, (Categorical(2), Categorical(4, True)))
    assert_allclose(prior.ard_rates, 1 / 5)
    assert_allclose(prior.category_rates, np.repeat([1 / 5, 1 / 15], [2, 4]))
    assert (
        prior.signal_variance,
        prior.main_effect_variance,
        prior.noise_variance,
    ) == (1.0, 1.0, 0.1)
    assert_allclose(start_prior(0).ard_rates, np.empty(0))


@pytest.mark.parametrize("alphabets", [(), (Categorical(3), Categorical(4, True))])
def test_curvature_of_the_density_is_that_of_its_values(alphabets):
    curvature = density_curvature(2, alphabets).toarray()
    logs = np.random.default_rng(0).normal(size=(2, 2 + sum(sizes_of(alphabets)) + 3))
    # The density of `linear` is flat; its curvature stands for its height.
    logs[:, -2] = 0.0
    (one, slope), (other, _) = (log_density(row, 2, alphabets) for row in logs)
    step = logs[1] - logs[0]
    assert other - one == pytest.approx(slope @ step - 0.5 * step @ curvature @ step)
    height = norm(0.0, curvature[-2, -2] ** -0.5).pdf(0.0)
    assert height == pytest.approx(1 / np.log(1e4 / 1e-8))


def test_occam_factor_is_exact_where_all_is_normal():
    rng = np.random.default_rng(0)
    prior, data = (part @ part.T for part in rng.standard_normal((2, 3, 3)))
    best = rng.standard_normal(3)
    # The likelihood is exp(-(x - peak)' data (x - peak) / 2), the mode is `best`.
    peak = best + np.linalg.solve(data, prior @ best)
    whole = multivariate_normal(np.zeros(3), np.linalg.inv(prior) + np.linalg.inv(data))
    alone = multivariate_normal(np.zeros(3), np.linalg.inv(data))
    integral = whole.logpdf(peak) - alone.logpdf(np.zeros(3))
    likelihood = -0.5 * (best - peak) @ data @ (best - peak)
    factor = occam_factor(-0.5 * best @ prior @ best, prior, data)
    assert likelihood + factor == pytest.approx(integral)
    # Where the data curve the other way, they say nothing.
    assert occam_factor(0.0, prior, -data) == 0.0


def test_single_precision_is_close():
    sample, alphabets = make_sample("categories")
    prior = make_prior(alphabets)
    value, slope = Evidence(sample, alphabets).value_and_slope(prior)
    single = Evidence(sample, alphabets, np.float32)
    found = single.value_and_slope(prior)
    assert single.pairs.product(prior).dtype == np.float32
    assert found[0] == pytest.approx(value, abs=1e-3)
    assert_allclose(found[1], slope, atol=1e-3)


def test_climb_ends_at_a_maximum_and_says_how_it_goes():
    sample, alphabets = make_sample("categories")
    evidence, heights = Evidence(sample, alphabets), []
    found = maximize_evidence(
        evidence,
        start_prior(N_INPUTS, alphabets),
        max_iter=300,
        tol=1e-12,
        report=lambda height, prior: heights.append(height),
    )
    assert heights == sorted(heights)
    assert found.n_evaluations >= len(heights)
    again = maximize_evidence(evidence, found.prior, max_iter=300, tol=1e-12)
    assert_allclose(again.prior.to_logs(), found.prior.to_logs(), atol=0.02)
    stopped = maximize_evidence(
        evidence, start_prior(N_INPUTS, alphabets), report=lambda height, prior: True
    )
    assert stopped.n_evaluations < found.n_evaluations


@pytest.mark.parametrize("min_noise_variance", [1e-6, 0.05])
@pytest.mark.parametrize("rates", [(1e-8, 8.0), (0.1, 0.3)])
def test_climbs_end_as_high_as_in_the_logarithms_themselves(
    rates, min_noise_variance, monkeypatch
):
    """Where noise or rates are at their bounds, too: half of these are laws."""
    monkeypatch.setitem(_evidence._BOUNDS, "rate", rates)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        inputs = rng.choice([-1.0, 1.0], (60, 4))
        y = inputs[:, 0] + inputs[:, 1] * inputs[:, 2]
        y = y + (seed % 2) * rng.standard_normal(60)
        sample = join_equal_rows(
            EncodedRows(inputs, np.empty((60, 0), int)), y / y.std()
        )
        evidence, start = Evidence(sample), start_prior(4)

        def loss(logs, evidence=evidence):
            value, slope = evidence.value_and_slope(Prior.from_logs(logs, 4))
            density, pull = log_density(logs, 4)
            return -value - density, -slope - pull

        bounds = [rates] * 4 + [(1e-6, 1e4), (1e-8, 1e4), (min_noise_variance, 1e4)]
        bounds = [*map(tuple, np.log(bounds))]
        plain = minimize(loss, start.to_logs(), jac=True, bounds=bounds, tol=1e-12)
        found = maximize_evidence(
            evidence, start, 200, 1e-7, min_noise_variance=min_noise_variance
        )
        assert -loss(found.prior.to_logs())[0] > -plain.fun - 0.01
        inside = np.clip(found.prior.to_logs(), *np.transpose(bounds))
        assert_allclose(inside, found.prior.to_logs(), atol=1e-12)
        assert seed % 2 or found.prior.noise_variance == pytest.approx(
            min_noise_variance
        )


def test_first_steps_are_standard_deviations():
    steps = first_steps(2, LEVELS).toarray()
    curvature = density_curvature(2, LEVELS).toarray() + np.eye(len(steps))
    assert_allclose(steps.T @ curvature @ steps, np.eye(len(steps)), atol=1e-12)


def test_climbs_in_learned_steps_are_short():
    sample, alphabets = make_sample("levels")
    evidence, start = Evidence(sample, alphabets), start_prior(N_INPUTS, alphabets)
    first = maximize_evidence(evidence, start, tol=1e-7)
    found = first.learned_steps()
    learned = found.toarray()
    values, vectors = np.linalg.eigh(first.inverse.todense())
    # Along some directions the evidence hardly curves.
    assert values[-1] > 4.0
    vectors = first.steps @ vectors
    expected = vectors * np.clip(values, 1e-3, 4.0) @ vectors.T
    assert_allclose(learned @ learned.T, expected, atol=1e-8)
    # The last coordinate alone moves the noise.
    assert_allclose(learned[-1, :-1], 0.0, atol=1e-12)
    assert learned[-1, -1] > 0.0
    again = maximize_evidence(evidence, start, steps=found)
    n_evaluations = maximize_evidence(evidence, start).n_evaluations
    assert again.n_evaluations < 0.8 * n_evaluations
    assert evidence.value(again.prior) == pytest.approx(
        evidence.value(first.prior), abs=0.05
    )


def test_a_climb_that_has_not_moved_has_learned_nothing():
    sample, _ = make_sample("signs")
    first = maximize_evidence(Evidence(sample), start_prior(N_INPUTS), max_iter=0)
    found, expected = first.learned_steps().toarray(), first.steps.toarray()
    assert_allclose(found, expected, atol=1e-15)


def test_steps_are_a_matrix():
    rng = np.random.default_rng(0)
    steps = first_steps(2, LEVELS)
    for _ in range(2):
        n_logs = len(steps.left)
        directions, _ = np.linalg.qr(rng.standard_normal((n_logs, 3)))
        change = rng.standard_normal((3, 3))
        before = steps.toarray()
        steps = steps.along(directions, change)
        whole, x = steps.toarray(), rng.standard_normal(n_logs)
        change = np.eye(n_logs) + directions @ (change - np.eye(3)) @ directions.T
        # But for a mirror.
        expected = before @ change @ change.T @ before.T
        assert_allclose(whole @ whole.T, expected, atol=1e-10)
        assert_allclose(whole[-1, :-1], 0.0, atol=1e-12)
        assert whole[-1, -1] > 0.0
        assert steps.of_noise == pytest.approx(whole[-1, -1])
        assert_allclose(steps @ x, whole @ x, atol=1e-12)
        assert_allclose(steps.gather(x), x @ whole, atol=1e-12)
        assert_allclose(steps.scaled(3.0).toarray(), 3.0 * whole, atol=1e-12)


def test_levels_of_many_columns_take_little_memory():
    rng = np.random.default_rng(0)
    n_rows, n_columns = 30, 250
    levels = np.array([rng.permutation(16)[np.arange(n_rows) % 16] for _ in range(250)])
    rows = EncodedRows(np.empty((n_rows, 0)), levels.T)
    sample = join_equal_rows(rows, rng.standard_normal(n_rows))
    alphabets = (Categorical(16, True),) * n_columns
    evidence, start = Evidence(sample, alphabets), start_prior(0, alphabets)
    maximize_evidence(evidence, start, max_iter=1)
    n_logs = 16 * n_columns + 3
    with traced_memory() as peak:
        first = maximize_evidence(evidence, start, max_iter=3)
        steps = first.steps_for(n_rows)
        maximize_evidence(evidence, first.prior, max_iter=1, steps=steps)
        assert peak() < 8 * n_logs**2 / 4


def test_stages_find_what_all_rows_find(replace_constants):
    replace_constants("skmohn.mohn._gp.marginal_likelihood", max_rows_all=200)
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (500, 11))
    y = 2 * inputs[:, 0] * inputs[:, 1] + inputs[:, 2] + 0.5 * rng.standard_normal(500)
    rows = EncodedRows(inputs, np.empty((500, 0), int))
    sample = join_equal_rows(rows, (y - y.mean()) / y.std())
    assert len(sample) > 400
    staged = learn_prior(sample, seed=1).prior
    full = maximize_evidence(Evidence(sample), start_prior(11)).prior
    assert staged.noise_variance == pytest.approx(full.noise_variance, rel=0.1)
    assert set(np.argsort(-staged.ard_rates)[:3]) == {0, 1, 2}


@pytest.mark.slow
def test_an_earlier_climb_is_a_first_stage():
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1.0, 1.0, (700, 11))
    y = 2 * inputs[:, 0] * inputs[:, 1] + inputs[:, 2] + 0.5 * rng.standard_normal(700)
    rows = EncodedRows(inputs, np.empty((700, 0), int))
    sample = join_equal_rows(rows, (y - y.mean()) / y.std())
    part = sample.take(slice(0, 300))
    first = learn_prior(part)
    # On the same rows there is little left to learn, and what is known is kept.
    again = learn_prior(part, first=first)
    assert again.n_evaluations - first.n_evaluations < 6
    known, more = (
        Evidence(part).value(found.prior) + log_density(found.prior.to_logs(), 11)[0]
        for found in (first, again)
    )
    assert known - 0.01 < more < known + 0.3
    evidence, anew = Evidence(sample), learn_prior(sample)
    found = learn_prior(sample, first=first)
    assert found.n_rows == anew.n_rows == 700
    assert evidence.value(found.prior) == pytest.approx(
        evidence.value(anew.prior), abs=0.3
    )
    # One that has ended elsewhere is left behind.
    astray = first._replace(prior=start_prior(11))
    found = learn_prior(sample, first=astray)
    assert evidence.value(found.prior) == pytest.approx(
        evidence.value(anew.prior), abs=0.3
    )


@pytest.mark.parametrize(("most", "dtype"), [(600, "float64"), (599, "float32")])
def test_many_products_of_few_rows_are_in_single_precision(
    most, dtype, monkeypatch, replace_constants
):
    replace_constants(_evidence, max_products=most)
    rng, dtypes = np.random.default_rng(0), []
    rows = EncodedRows(rng.uniform(-1.0, 1.0, (10, 6)), np.empty((10, 0), dtype=int))
    sample = join_equal_rows(rows, rng.standard_normal(10))
    first = learn_prior(sample)

    class Recorded(Evidence):
        def __init__(self, *args):
            super().__init__(*args)
            dtypes.append(self.dtype)

    monkeypatch.setattr(_evidence, "Evidence", Recorded)
    learn_prior(sample, first=first)
    assert dtypes == [dtype]


def test_a_climb_ends_where_rounding_hides_what_is_left():
    class Rough(Evidence):
        def value_and_slope(self, prior):
            value, slope = super().value_and_slope(prior)
            return float(np.round(value)), slope

    sample, alphabets = make_sample("levels")
    start = start_prior(N_INPUTS, alphabets)
    best = maximize_evidence(Evidence(sample, alphabets), start, tol=1e-7)
    found = maximize_evidence(Rough(sample, alphabets), best.prior, tol=0.0)
    # Two line searches at most, after the last step that gained.
    assert found.n_evaluations < 25


# ------------------------------------------------------------------------ equal rows


def test_equal_rows_are_joined():
    inputs = np.array([[1.0], [2.0], [1.0], [1.0]])
    y = np.array([1.0, 5.0, 2.0, 6.0])
    sample = join_equal_rows(EncodedRows(inputs, np.empty((4, 0), int)), y)
    assert_allclose(sample.rows.inputs, [[1.0], [2.0]])
    assert_allclose(sample.target, [3.0, 5.0])
    assert_allclose(sample.count, [3.0, 1.0])
    assert_allclose(sample.within, [14.0, 0.0])


@pytest.mark.parametrize("weighted", [False, True])
def test_joining_keeps_the_density(weighted):
    rng = np.random.default_rng(0)
    rows, _ = make_rows("signs", n_rows=12)
    rows = rows.take(rng.integers(0, 12, 40))
    y = rng.standard_normal(40)
    weight = rng.uniform(0.5, 2.0, 40) if weighted else np.ones(40)
    prior = make_prior()
    K = Covariance(prior).between(rows, rows) + np.diag(prior.noise_variance / weight)
    expected = -0.5 * (y @ np.linalg.solve(K, y) + np.linalg.slogdet(K)[1])
    expected -= 20 * np.log(2 * np.pi)
    sample = join_equal_rows(rows, y, weight)
    assert len(sample) < 13
    assert Evidence(sample).value(prior) == pytest.approx(expected)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_targets", [1, 3])
def test_evaluations_share_memory_and_nothing_else(n_targets, dtype):
    rng = np.random.default_rng(0)
    inputs = np.column_stack(
        [rng.choice([-1.0, 0.0, 1.0], (40, 3)), rng.uniform(-1.0, 1.0, (40, 2))]
    )
    rows = EncodedRows(inputs, rng.integers(0, 3, (40, 1)))
    alphabets = (Categorical(3, False),)
    y = rng.standard_normal((40, n_targets)).squeeze()
    sample = join_equal_rows(rows, y)
    priors = [
        Prior(*np.split(rng.uniform(0.1, 0.5, 8), [5]), 1.0, 0.5, noise)
        for noise in (0.1, 0.4)
    ]
    shared = Evidence(sample, alphabets, dtype)
    for prior in (*priors, *priors):
        value, slope = shared.value_and_slope(prior)
        alone = Evidence(sample, alphabets, dtype)
        expected = alone.value_and_slope(prior)
        assert value == expected[0] == shared.value(prior)
        assert_array_equal(slope, expected[1])
        assert_array_equal(shared.slopes([prior])[0][0], slope)


@pytest.mark.parametrize("unknown", [False, True])
def test_equal_columns_are_compared_once(unknown):
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (30, 4))
    if unknown:
        inputs[rng.uniform(size=inputs.shape) < 0.2] = 0.0
    inputs = np.column_stack([inputs[:, [0, 1, 0, 2, 3, 1, 1]], rng.uniform(size=30)])
    rows = EncodedRows(inputs, np.empty((30, 0), dtype=int))
    prior = Prior(rng.uniform(0.1, 0.5, 8), np.empty(0), 0.7, 0.5, 0.2)
    pairs = GramMatrix(rows, rows)
    assert pairs.left.signs.shape == (30, 4)
    # Of other rows, columns are compared as they are.
    other = rows.take(np.arange(30))
    plain = GramMatrix(rows, other)
    assert plain.left.signs.shape == (30, 7)
    product = pairs.product(prior)
    assert_allclose(product, plain.product(prior), rtol=1e-12)
    assert_allclose(pairs.covariance(prior), plain.covariance(prior), rtol=1e-12)
    outer = rng.standard_normal((30, 30))
    slope, logs = pairs.slope(prior, product, outer), prior.to_logs()

    def height(k, step):
        moved = Prior.from_logs(logs + step * (np.arange(len(logs)) == k), 8)
        return np.sum(outer * plain.covariance(moved))

    numeric = [(height(k, 1e-5) - height(k, -1e-5)) / 2e-5 for k in range(10)]
    assert_allclose(slope, numeric, rtol=1e-6, atol=1e-6)
