"""Classes by all weights: posteriors, held-out predictions, links, ensembles."""

import pickle

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from support import Callback

from skmohn import GPOptions, MOHNClassifier
from skmohn.mohn._gp import classification, covariance_function, laplace
from skmohn.mohn._gp.classification import (
    CalibrationLink,
    EnsembleMember,
    Labels,
    MemberFit,
    stacking_weights,
)
from skmohn.mohn._gp.covariance_function import GramMatrix, Prior
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.laplace import LaplaceEvidence, find_mode, leave_one_out
from skmohn.mohn._gp.nystroem import NystroemPosterior
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._options import FitSettings
from skmohn.mohn._table.rows import Categorical, EncodedRows
from skmohn.mohn._training_data import _max_levels

LEVELS = Categorical(3), Categorical(4, True)


def signs(n_rows, n_inputs, seed=0):
    inputs = np.random.default_rng(seed).choice([-1.0, 1.0], (n_rows, n_inputs))
    return EncodedRows(inputs, np.empty((n_rows, 0), dtype=int))


def mixed(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.choice([-1.0, 1.0], (n_rows, 4))
    inputs[:, 1] = rng.uniform(-1.0, 1.0, n_rows)
    return EncodedRows(
        inputs, np.stack([rng.integers(0, k + 1, n_rows) for k in (3, 4)], 1)
    )


def prior_of(rows, alphabets=(), seed=0):
    rng = np.random.default_rng(seed)
    n_categories = sum(alphabet.size for alphabet in alphabets)
    return Prior(
        rng.uniform(0.1, 0.6, rows.inputs.shape[1]),
        rng.uniform(0.1, 0.6, n_categories),
        3.0,
        2.0,
        0.3,
    )


# ------------------------------------------------------------------ logistic likelihood


@pytest.fixture
def tight(replace_constants):
    replace_constants(laplace, tolerance=1e-15)


def test_two_classes_are_those_of_a_gaussian_process(tight):
    rows = signs(60, 5)
    order = np.argsort(rows.inputs @ [1.0, -2.0, 0.5, 0.0, 0.3], kind="stable")
    labels = np.zeros(60, dtype=int)
    labels[order[30:]] = 1  # as many of each: the prior means are 0, as theirs
    _, first = np.unique(rows.inputs, axis=0, return_index=True)
    rates = np.array([0.5, 0.3, 0.2, 0.1, 0.4])
    kernel = ConstantKernel(4.0) * RBF(1.0 / np.sqrt(rates)) + ConstantKernel(1.0)
    theirs = GaussianProcessClassifier(kernel, optimizer=None).fit(rows.inputs, labels)
    ours = LaplaceEvidence(rows, np.eye(2)[labels])
    prior = Prior(rates, np.empty(0), 4.0, 1e-12, 0.1)
    value, slope = ours.value_and_slope(prior)
    expected, gradient = theirs.log_marginal_likelihood(
        kernel.theta, eval_gradient=True
    )
    assert value == pytest.approx(expected, abs=1e-6)
    # By the logarithm of the scale, then of the lengths: rates are their squares.
    assert slope[5] == pytest.approx(gradient[0], abs=1e-4)
    assert_allclose(-2.0 * slope[:5], gradient[1:6], atol=1e-4)
    mode = ours.mode(0, ours.pairs.covariance(prior))
    assert_allclose(mode.probability, theirs.base_estimator_.pi_, atol=1e-6)
    assert len(first) < 60


def test_variance_of_rows_that_are_certain_or_not():
    rows = signs(12, 5)
    covariance = GramMatrix(rows, rows).covariance(
        prior_of(rows)._replace(signal_variance=9.0)
    )
    successes = np.where(np.arange(12) < 6, [1.0, 1e9] * 6, 0.0)
    totals = np.full(12, 1.0) + successes
    mode = find_mode(covariance, successes, totals, 18.0)
    curvature = totals * mode.probability * (1.0 - mode.probability)
    assert curvature.min() < 1e-7
    assert curvature.max() > 1e-3
    root = np.sqrt(curvature)
    scaled = root[:, None] * covariance * root + np.eye(12)
    gain = (covariance * root) @ np.linalg.solve(scaled, root[:, None] * covariance)
    assert_allclose(mode.variance, np.diagonal(covariance - gain), rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_slope_equals_finite_differences(n_classes, tight):
    rows, rng = mixed(30), np.random.default_rng(1)
    counts = rng.integers(0, 3, (30, n_classes)) + rng.uniform(0.1, 1.0, (30, 1))
    evidence = LaplaceEvidence(rows, counts, LEVELS)
    logs = prior_of(rows, LEVELS).to_logs()
    _, slope = evidence.value_and_slope(Prior.from_logs(logs, 4))
    for j, step in enumerate(1e-4 * np.eye(len(logs))):
        up, down = (
            evidence.value_and_slope(Prior.from_logs(logs + sign * step, 4))[0]
            for sign in (1, -1)
        )
        assert slope[j] == pytest.approx((up - down) / 2e-4, rel=1e-5, abs=1e-4)
    assert slope[-1] == 0.0


def test_each_of_several_classes_says_its_part():
    rows, rng = signs(30, 4), np.random.default_rng(1)
    evidence = LaplaceEvidence(rows, np.eye(4)[rng.integers(4, size=30)])
    prior = prior_of(rows)
    value, _ = evidence.value_and_slope(prior)
    covariance = evidence.pairs.covariance(prior)
    # Three classes say what the fourth is.
    whole = sum(evidence.mode(k, covariance).evidence for k in range(4))
    assert value == pytest.approx(0.75 * whole)


def test_mode_is_the_most_likely_function(tight):
    rng = np.random.default_rng(0)
    rows = signs(25, 4)
    covariance = GramMatrix(rows, rows).covariance(prior_of(rows)) + 1e-6 * np.eye(25)
    totals = rng.integers(1, 4, 25).astype(float)
    successes = rng.binomial(totals.astype(int), 0.4).astype(float)
    mode = find_mode(covariance, successes, totals, 0.3)
    precision = np.linalg.inv(covariance)

    def loss(f):
        chances = successes * np.logaddexp(0, -f - 0.3)
        chances += (totals - successes) * np.logaddexp(0, f + 0.3)
        return chances.sum() + 0.5 * f @ precision @ f

    found = minimize(loss, mode.latent + 0.1, method="BFGS", options={"gtol": 1e-9})
    assert loss(mode.latent) <= found.fun + 1e-9
    weights = totals * mode.probability * (1 - mode.probability)
    posterior = np.linalg.inv(precision + np.diag(weights))
    assert_allclose(mode.variance, np.diagonal(posterior), rtol=1e-6)


def test_latent_function_without_an_observation_is_nearly_that_of_the_others():
    rng = np.random.default_rng(2)
    rows = signs(80, 6)
    labels = (rows.inputs[:, 0] + 0.8 * rng.standard_normal(80) > 0).astype(float)
    covariance = GramMatrix(rows, rows).covariance(prior_of(rows))
    ones = np.ones(80)
    mode = find_mode(covariance, labels, ones, 0.0)
    found = leave_one_out(mode, np.arange(80), labels == 1, ones)
    for i in range(0, 80, 7):
        others = np.delete(np.arange(80), i)
        part = find_mode(
            covariance[np.ix_(others, others)], labels[others], ones[others], 0.0
        )
        expected = covariance[i, others] @ part.alpha
        assert found[i] == pytest.approx(expected, abs=0.03 * np.ptp(mode.latent))


def test_no_mode_is_no_evidence():
    rows = signs(6, 3)
    evidence = LaplaceEvidence(rows, np.eye(2)[[0, 1, 0, 1, 0, 1]])
    covariance = -10.0 * np.eye(6)
    assert find_mode(covariance, np.ones(6), np.ones(6), 0.0) is None
    evidence.pairs.join = lambda prior, product: covariance
    assert evidence.value_and_slope(prior_of(rows)) == (-np.inf, None)


@pytest.mark.parametrize("weight", [1e-30, 1e30])
def test_a_class_of_next_to_no_weight_has_an_offset(weight):
    counts = np.eye(2)[[0, 1, 0, 1, 0, 1]] * [1.0, weight]
    evidence = LaplaceEvidence(signs(6, 3), counts)
    sign = np.sign(np.log(weight))
    assert_allclose(evidence.offsets, sign * np.log(1e12), rtol=1e-4)


# ------------------------------------------------------------------------ least squares


@pytest.mark.parametrize("weights", [None, "repeats", "precisions"])
def test_left_out_means_are_those_of_a_fit_to_the_others(weights):
    rng = np.random.default_rng(0)
    rows = mixed(20).take(rng.integers(20, size=35))
    label = rng.integers(3, size=35)
    sample_weight = {
        "repeats": rng.integers(1, 4, 35).astype(float),
        "precisions": rng.uniform(0.5, 1.5, 35),
    }.get(weights)
    labels = Labels.join(rows, label, 3, sample_weight)
    covariance = Covariance(prior_of(rows, LEVELS), LEVELS)
    posterior = ExactPosterior.condition(covariance, labels.sample)
    found = labels.leave_out(
        covariance.prior.noise_variance, *posterior.leave_one_out()
    )
    targets = labels.codes[label]
    for i in range(35):
        weight = labels.weight.copy()
        weight[i] -= labels.unit[i]
        kept = weight > 1e-12
        K = covariance.between(rows.take(kept), rows.take(kept))
        K += np.diag(covariance.prior.noise_variance / weight[kept])
        cross = covariance.between(rows.take([i]), rows.take(kept))[0]
        expected = cross @ np.linalg.solve(K, targets[kept])
        assert_allclose(found[i], expected, atol=1e-10)


def test_labels_have_noise_and_latent_functions_vary_widely():
    rows = signs(60, 5)
    label = (rows.inputs[:, 0] > 0).astype(int)
    member_fit = MemberFit.read(
        rows, (label, 2), (), (), "lines", memory_budget=1e9, seed=0
    )
    squares, _ = member_fit.learn("least squares")
    logistic, _ = member_fit.learn("logistic", squares.covariance.prior)
    assert squares.covariance.prior.noise_variance == pytest.approx(0.05)
    ratio = (
        logistic.covariance.prior.signal_variance
        / squares.covariance.prior.signal_variance
    )
    assert ratio > 10


def test_coordinates_are_those_of_the_indicators():
    rng = np.random.default_rng(0)
    label = rng.choice(4, 50, p=[0.1, 0.2, 0.3, 0.4])
    weight = rng.uniform(0.5, 2.0, 50)
    labels = Labels.join(signs(50, 5), label, 4, weight)
    shares = np.bincount(label, weight) / weight.sum()
    assert_allclose(labels.class_priors, shares)
    assert_allclose(labels.codes @ labels.axes, np.eye(4) - shares, atol=1e-12)
    codes = labels.codes[label]
    assert_allclose(np.average(codes, axis=0, weights=weight), 0, atol=1e-12)
    assert_allclose((codes.T * weight) @ codes / weight.sum(), np.eye(3), atol=1e-12)
    assert_allclose(labels.counts.sum(), weight.sum())


def test_scores_are_sums_of_independent_coordinates():
    rows = signs(30, 4)
    labels = Labels.join(rows, np.arange(30) % 3, 3)
    posterior = ExactPosterior.condition(Covariance(prior_of(rows)), labels.sample)
    axis = np.array([3.0, 4.0])
    means, deviations = classification._Scores(posterior, axis).weights_of(
        [(0,), (1, 2)], True
    )
    each, variances = posterior.weights_of([(0,), (1, 2)])
    assert_allclose(means, 3.0 * each[:, 0] + 4.0 * each[:, 1])
    assert_allclose(deviations, 5.0 * np.sqrt(variances))


def test_inducing_rows_that_are_all_rows_are_exact():
    rng = np.random.default_rng(0)
    rows, label = mixed(40), rng.integers(3, size=40)
    labels = Labels.join(rows, label, 3)
    covariance = Covariance(prior_of(rows, LEVELS), LEVELS)
    exact = ExactPosterior.condition(covariance, labels.sample)
    through = NystroemPosterior.condition(covariance, labels.sample, 40)
    for found, expected in zip(
        through.leave_one_out(labels.sample), exact.leave_one_out(), strict=True
    ):
        assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    terms = [(), (0,), (1, 2), (4,)]
    for found, expected in zip(
        through.weights_of(terms), exact.weights_of(terms), strict=True
    ):
        assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    assert through.log_evidence() == pytest.approx(exact.log_evidence(), rel=1e-4)


def test_many_rows_go_through_some(replace_constants):
    rng = np.random.default_rng(0)
    rows = signs(400, 12)
    score = 2 * rows.inputs[:, 0] + rows.inputs[:, 1] * rows.inputs[:, 2]
    label = (score + rng.logistic(size=400) > 0).astype(int)
    losses = []
    for budget in (1e9, 8.0 * 5.0 * 200**2):
        replace_constants(classification, max_work=0.0)
        replace_constants("skmohn.mohn._gp.model", max_left_out=200)
        member_fit = MemberFit.read(
            rows, (label, 2), (), (), "lines", memory_budget=budget, seed=0
        )
        member, left_out = member_fit.learn("least squares")
        assert member_fit.learn("logistic", member.covariance.prior) is None
        losses.append(-left_out.mean())
    n_inducing = len(member.rows)
    assert n_inducing < 200
    assert losses[1] == pytest.approx(losses[0], abs=0.03)
    # Variances are stored in half the bytes, and drawn alike.
    compact, new = member.compact(), signs(5, 12, seed=1)
    stored = [len(pickle.dumps(m.posteriors[0])) for m in (member, compact)]
    assert stored[0] - stored[1] == pytest.approx(2 * n_inducing**2, rel=0.02)
    drawn = [m.sampler()(new, 9, np.random.default_rng(0)) for m in (member, compact)]
    assert_allclose(*drawn, rtol=1e-4)
    assert_array_equal(member.log_odds(new), compact.log_odds(new))


def test_ensembles_of_many_rows_keep_variances_in_single_precision(replace_constants):
    replace_constants("skmohn.mohn._gp.model", max_rows_inverted=100, max_inducing=40)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (300, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    model = MOHNClassifier("gp", random_state=0).fit(X, y)
    members = [m for m in model.model_.members if isinstance(m, EnsembleMember)]
    through = [m for m in members if isinstance(m.posteriors[0], NystroemPosterior)]
    assert through
    assert all(m.posteriors[0].root.dtype == np.float32 for m in through)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.model_.gp.posteriors[0].root.dtype == np.float32


# --------------------------------------------------------------------- links and pools


@pytest.mark.parametrize("n_rows", [12, 200])
def test_link_is_the_most_likely_one(n_rows):
    rng = np.random.default_rng(0)
    label = rng.integers(3, size=n_rows)
    means = np.eye(3)[label] + rng.standard_normal((n_rows, 3)) + [0.0, 0.0, 1.0]
    weight = rng.uniform(0.5, 2.0, n_rows)
    labels = Labels.join(signs(n_rows, 8), label, 3, weight)
    link = CalibrationLink.learn(means, labels)

    def loss(parameters):
        moved = parameters[1:]
        scores = np.exp(parameters[0]) * means + np.log(labels.class_priors) + moved
        chances = log_softmax(scores, axis=1)[np.arange(n_rows), label]
        prior = (parameters[0] - 1.0) ** 2 / 200 + moved @ moved / 4
        return prior - labels.weight @ chances

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-7}).x
    assert link.slope == pytest.approx(np.exp(best[0]), rel=1e-3)
    assert_allclose(link.constants, np.log(labels.class_priors) + best[1:], atol=1e-3)


def test_shares_are_the_most_likely_ones():
    rng = np.random.default_rng(0)
    left_out = np.log(rng.uniform(0.05, 1.0, (300, 3)) * [1.0, 0.9, 0.5])
    weight = rng.uniform(0.5, 2.0, 300)
    pseudo_counts = np.array([1.0, 10.0, 3.0])
    shares = stacking_weights(left_out, pseudo_counts, weight)

    def loss(free):
        logs = log_softmax(np.append(free, 0.0))
        # Further observations of each member: a Dirichlet density.
        fit = weight @ logsumexp(left_out + logs, axis=1)
        return -fit - pseudo_counts @ logs

    best = softmax(np.append(minimize(loss, np.zeros(2)).x, 0.0))
    assert_allclose(shares, best, atol=1e-3)
    equal = np.repeat(left_out[:, :1], 2, axis=1)
    assert_allclose(stacking_weights(equal, np.ones(2)), 0.5)


# -------------------------------------------------------------------------- estimator


def curved(n_rows=300, seed=0):
    """Classes that a circle tells apart, and a column that says nothing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n_rows, 3))
    odds = 12.0 * (X[:, 0] ** 2 + X[:, 1] ** 2 - 0.6)
    return X, np.where(odds + rng.logistic(size=n_rows) > 0, "out", "in")


@pytest.fixture(scope="module")
def circle():
    return MOHNClassifier("gp", random_state=0).fit(*curved())


def test_curves_are_learned_by_levels(circle):
    X, y = curved(1000, seed=1)
    assert circle.score(X, y) > 0.85
    assert log_loss(y, circle.predict_proba(X)) < 0.4
    by_levels = sum(
        v for name, v in circle.ensemble_weights_.items() if "levels" in name
    )
    assert by_levels > 0.9
    assert_allclose(sum(circle.ensemble_weights_.values()), 1.0)
    shares = list(circle.ensemble_weights_.values())
    assert shares == sorted(shares, reverse=True)
    assert circle.relevance_[:2].min() > 2 * circle.relevance_[2]
    assert circle.feature_importances_[:2].min() > 4 * circle.feature_importances_[2]


def test_probabilities_are_those_of_the_members(circle):
    X, _ = curved(50, seed=2)
    rows, model = circle.coding_.encode(X), circle.model_
    expected = sum(
        share * np.exp(member.log_proba(rows))
        for share, member in zip(model.ensemble_weights, model.members, strict=True)
    )
    proba = circle.predict_proba(X)
    assert_allclose(proba, expected, rtol=1e-9)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_allclose(
        circle.decision_function(X), np.log(proba[:, 1] / proba[:, 0]), atol=1e-9
    )
    assert_array_equal(circle.predict(X), circle.classes_[proba.argmax(axis=1)])


def test_members_take_their_rows_apart_once(circle, monkeypatch):
    """Of a single row it takes longer than to compare it with all of them."""
    X, _ = curved(5, seed=3)
    expected, taken = circle.predict_proba(X)[0], []
    init = covariance_function._Side.__init__

    def counted(side, rows, *args):
        taken.append(len(rows))
        init(side, rows, *args)

    monkeypatch.setattr(covariance_function._Side, "__init__", counted)
    assert_allclose(circle.predict_proba(X[:1])[0], expected)
    ways = {m.numeric for m in circle.model_.members if hasattr(m, "numeric")}
    assert taken == [1] * len(ways)
    # What was made for the rows is not stored with them.
    stored = pickle.loads(pickle.dumps(circle)).model_
    assert not any(m.rows.prepared for m in stored.members if hasattr(m, "rows"))


def test_values_out_of_range_are_those_at_its_end(circle):
    X, _ = curved(5, seed=3)
    far = np.where(X > 0, 9.0, X)
    ends = np.where(X > 0, circle.coding_.high, X)
    assert_allclose(circle.predict_proba(far), circle.predict_proba(ends))


def test_gaps_are_averaged_over_what_they_could_be():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(200, 4)).astype(float)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(200) > 0.8).astype(int)
    model = MOHNClassifier("gp", random_state=0).fit(X, y)
    missing = np.array([[np.nan, 1, 1, 0], [1, np.nan, np.nan, 1]])
    each = [[0, 1], [0, 1]]
    first = [[a, 1, 1, 0] for a in each[0]]
    second = [[1, a, b, 1] for a in each[0] for b in each[1]]
    expected = [model.predict_proba(part).mean(axis=0) for part in (first, second)]
    assert_allclose(model.predict_proba(missing), expected)


def test_rows_with_gaps_teach():
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    train, test = train_test_split(np.arange(len(X)), stratify=y, random_state=0)
    model = MOHNClassifier("gp", random_state=0).fit(X[train], y[train])
    assert log_loss(y[test], model.predict_proba(X[test])) < 0.4


@pytest.mark.slow_cases("(?!(class_weight2)$).*")
@pytest.mark.parametrize(
    "class_weight", [None, {"in": 2, "out": 1}, {"in": 1.3, "out": 0.4}]
)
def test_repeated_rows_count_as_weights_do(class_weight):
    X, y = curved(80)
    repeats = np.random.default_rng(0).integers(1, 4, 80)
    model = MOHNClassifier("gp", class_weight=class_weight, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=repeats)
    repeated = clone(model).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_weights_of_classes_and_copies_do_not_predict_themselves():
    X, y = curved(80)
    model = MOHNClassifier("gp", random_state=0)
    twice = clone(model).set_params(class_weight={"in": 2, "out": 2}).fit(X, y)
    left_out = [record["validation_log_loss"] for record in twice.history_]
    repeated = clone(model).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    of_repeats = [record["validation_log_loss"] for record in repeated.history_]
    assert_allclose(min(left_out), min(of_repeats), rtol=0.01)


def test_two_columns_of_categories():
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(300, 3)).astype(float)
    effect = np.array([[2.0, -2.0, 0.0, 1.0], [-1.0, 1.0, 2.0, -2.0]])
    odds = effect[0][X[:, 0].astype(int)] * effect[1][X[:, 1].astype(int)]
    y = (odds + rng.logistic(size=300) > 0).astype(int)
    model = MOHNClassifier("gp", categorical_features=[0, 1, 2], random_state=0)
    model.fit(X[:200], y[:200])
    linear = LogisticRegression().fit(X[:200], y[:200])
    ours = log_loss(y[200:], model.predict_proba(X[200:]))
    assert ours < 0.85 * log_loss(y[200:], linear.predict_proba(X[200:]))
    assert list(model.ensemble_weights_) == [
        name for name in model.ensemble_weights_ if name.endswith("lines")
    ]


def test_terms_are_those_that_stand_out():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (600, 8))
    odds = 1.5 * X[:, 2] - 2.0 * X[:, 0] * X[:, 5]
    y = (odds + rng.logistic(size=600) > 0).astype(int)
    model = MOHNClassifier("gp", random_state=0).fit(X, y)
    assert model.terms_ == [(2,), (0, 5)]
    assert_allclose(model.weights_[0], [1.5, -2.0], rtol=0.3)
    assert model.C_ is None
    table = model.terms_table()
    assert table["term"].tolist() == ["x0 x x5", "x2"]
    three = MOHNClassifier("gp", random_state=0).fit(X, y + (X[:, 7] > 0))
    assert three.weights_.shape == (3, len(three.terms_))
    assert {(7,), (0, 5)} <= set(three.terms_)
    # Where all inputs are unknown, constants are all there is.
    nothing = EncodedRows(np.zeros((1, 8)), np.empty((1, 0), dtype=int))
    scores = model.model_.gp.log_odds(nothing)[0]
    assert_allclose(model.intercept_, scores[1] - scores[0])
    assert_allclose(three.intercept_, three.model_.gp.log_odds(nothing)[0])


def test_few_weights_are_a_member_by_default():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(900, 20))
    y = X[:, [2, 5, 9, 11]].sum(axis=1) % 2
    model = MOHNClassifier(random_state=0).fit(X[:300], y[:300])
    assert next(iter(model.ensemble_weights_)) == "sparse"
    assert (2, 5, 9, 11) in model.terms_
    assert model.score(X[300:], y[300:]) == 1.0
    dense = MOHNClassifier("gp", random_state=0).fit(X[:300], y[:300])
    assert "sparse" not in dense.ensemble_weights_
    assert dense.score(X[300:], y[300:]) < 0.7


@pytest.mark.slow_cases("(?!(asked1)$).*")
@pytest.mark.parametrize(
    "asked", [{"max_order": 2}, {"max_terms": 5}, {"include_inputs": False}]
)
def test_who_asks_for_few_weights_gets_them(asked):
    X, y = curved(60)
    model = MOHNClassifier(random_state=0, **asked).fit(X, y)
    few = MOHNClassifier("logistic", random_state=0, **asked).fit(X, y)
    assert_array_equal(model.predict_proba(X), few.predict_proba(X))
    (name,) = asked
    said = f"the sparse model, because {name} requires it; {few.stopping_reason_}"
    assert model.stopping_reason_ == said
    assert model.ensemble_weights_ == {"sparse": 1.0}
    with pytest.raises(AttributeError, match="relevance_ needs a Gaussian process"):
        _ = model.relevance_


def test_numeric_columns_are_taken_as_wanted():
    X, y = curved(60)
    for numeric, expected in (("multilinear", "lines"), ("thermometer", "levels")):
        control = GPOptions(numeric=numeric)
        model = MOHNClassifier("gp", gp_options=control).fit(X, y)
        assert all(name.endswith(expected) for name in model.ensemble_weights_)
        kept = {part.rows.categories.shape[1] for part in model.model_.members}
        assert kept == {3 if expected == "levels" else 0}
    # Without a numeric column there are no levels to take.
    model = MOHNClassifier("gp", gp_options=control).fit(X > 0, y)
    assert all(name.endswith("lines") for name in model.ensemble_weights_)


@pytest.mark.parametrize("is_product", [False, True])
def test_one_logistic_likelihood_must_do_where_two_take_long(
    is_product, replace_constants
):
    X, y = curved(80)
    if is_product:
        y = X[:, 0] * X[:, 1] * X[:, 2] > 0
    replace_constants(classification, max_work_together=2 * 6.0 * 79**3)
    model = MOHNClassifier("gp", random_state=0)
    names = [
        name for name in clone(model).fit(X, y).ensemble_weights_ if "logistic" in name
    ]
    assert names == ["logistic, lines" if is_product else "logistic, levels"]
    replace_constants(classification, max_work_together=2 * 6.0 * 80**3)
    assert len(clone(model).fit(X, y).ensemble_weights_) == 4


@pytest.mark.parametrize("wrong", [{"noise": "constant"}, {"clip": False}])
def test_what_concerns_numbers_is_refused(wrong, circle):
    X, y = curved(40)
    model = pickle.loads(pickle.dumps(circle))
    model.set_params(gp_options=GPOptions(**wrong))
    with pytest.raises(ValueError, match="concerns numeric targets"):
        model.fit(X, y)
    assert_array_equal(model.predict_proba(X), circle.predict_proba(X))


def test_one_hot_groups_are_one_column():
    rng = np.random.default_rng(0)
    category = rng.integers(3, size=150)
    X = np.hstack([np.eye(3)[category], rng.normal(size=(150, 1))])
    y = (category == 1).astype(int)
    control = GPOptions(one_hot=[[0, 1, 2]])
    model = MOHNClassifier("gp", gp_options=control, random_state=0).fit(X, y)
    assert model.coding_.categoricals[0] == (0, 1, 2)
    assert model.score(X, y) == 1.0


def test_threads_find_the_same(circle):
    X, y = curved()
    model = MOHNClassifier("gp", random_state=0, n_jobs=2)
    with parallel_config(backend="threading"):
        model.fit(X, y)
    assert_array_equal(model.predict_proba(X), circle.predict_proba(X))


def test_history_has_a_record_for_each_member(circle):
    members = [record["member"] for record in circle.history_]
    assert sorted(members) == sorted(circle.ensemble_weights_)
    assert all(0 < r["validation_log_loss"] < 1 for r in circle.history_)


@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.parametrize("n_records", [1, 3])
def test_a_callback_stops_between_members(n_records, circle):
    class Stop(Callback):
        n_left = n_records

        def on_fit_task_end(self, estimator, context):
            self.n_left -= context.task_name == "iteration"
            return self.n_left <= 0

    X, y = curved(60)
    model = MOHNClassifier("gp", random_state=0).set_callbacks(Stop()).fit(X, y)
    assert len(model.ensemble_weights_) == len(model.history_) == n_records
    said = "a callback stopped the search: an ensemble of "
    assert model.stopping_reason_.startswith(said)
    assert circle.stopping_reason_.startswith("an ensemble of 4 models: ")
    assert "an ensemble of 1 models" not in model.stopping_reason_


def test_rows_that_no_fold_leaves_out_do_not_judge():
    X, y = curved(100)
    folds = [(np.arange(40, 100), np.arange(40))]
    model = MOHNClassifier(cv=folds, random_state=0).fit(X, y)
    assert_allclose(sum(model.ensemble_weights_.values()), 1.0)
    # It has a part, but not most: the terms are not its.
    assert 0.02 < model.ensemble_weights_["sparse"] < 0.5
    assert model.C_ is None


def test_few_weights_that_nothing_judges_are_left_out():
    X, y = curved(60)
    model = MOHNClassifier(selection="ebic", random_state=0).fit(X, y)
    assert len(model.ensemble_weights_) == 6
    assert "sparse" not in model.ensemble_weights_


def test_a_table_without_a_column_that_varies_has_the_shares_of_the_classes():
    X, y = np.ones((20, 2)), np.repeat([0, 1], [5, 15])
    for strategy in ("auto", "gp"):
        model = MOHNClassifier(strategy).fit(X, y)
        assert_allclose(model.predict_proba(X[:1]), [[0.25, 0.75]])
        assert "no column of X varies" in model.stopping_reason_


def test_rare_classes_are_learned():
    X, y = curved(120)
    y = y.astype(object)
    y[0], y[1] = "rare", "rarer"
    model = MOHNClassifier(random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (120, 4)
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.slow_cases("3-(auto|gp)|2-logistic")
@pytest.mark.parametrize("strategy", ["auto", "gp", "logistic"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_add_up_to_the_score(strategy, n_classes):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (160, 6))
    odds = 1.5 * X[:, 2] - 2.0 * X[:, 0] * X[:, 5]
    y = (odds + rng.logistic(size=160) > 0).astype(int)
    y = np.array(["a", "b", "c"])[y + (X[:, 4] > 0) * (n_classes - 2)]
    model = MOHNClassifier(strategy, random_state=0).fit(X, y)
    scores = model.decision_function(X[:1])[0]
    for k, label in enumerate(model.classes_):
        table = model.explain(X[0], label)
        expected = scores[k] if n_classes > 2 else (2 * k - 1) * scores
        assert_allclose(table["contribution"].sum(), expected, atol=1e-9)
        parts = dict(zip(table["term"], table["contribution"], strict=True))
        sign = 1 if n_classes > 2 else 2 * k - 1
        row = k if n_classes > 2 else 0
        weights = dict(zip(model.terms_, model.weights_[row], strict=True))
        found = sign * weights[0, 5] * X[0, 0] * X[0, 5]
        assert_allclose(parts["x0 x x5"], found)
    assert ("(other models)" in parts) == (strategy != "logistic")
    best = model.explain(X[0])["contribution"].sum()
    assert_allclose(best, scores.max() if n_classes > 2 else abs(scores))
    for wrong in ("d", ["a", "b"]):
        with pytest.raises(ValueError, match="is not among the classes"):
            model.explain(X[0], wrong)


@pytest.mark.parametrize(("n_rows", "expected"), [(60, 16), (600, 30), (2000, 64)])
def test_more_rows_have_more_levels(n_rows, expected):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    X[:20, 1] = np.nan
    repeated = np.repeat(X, 2, axis=0)
    assert _max_levels(repeated, "classification", FitSettings()) == expected
