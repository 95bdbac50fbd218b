"""Rows that belong together: `groups` of fit, respected wherever rows are left out."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline

from skmohn import GPOptions, MOHNClassifier, MOHNRegressor
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn import _regressor
from skmohn.mohn._design.design import make_design
from skmohn.mohn._gp.covariance_function import Prior
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.laplace import find_mode, leave_groups_out, leave_one_out
from skmohn.mohn._gp.marginal_likelihood import join_equal_rows
from skmohn.mohn._gp.model import fit_gp
from skmohn.mohn._gp.nystroem import NystroemPosterior
from skmohn.mohn._gp.transform_selection import _Part
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._sparse.model import SparseModel
from skmohn.mohn._spike_slab.fit import fit_additive
from skmohn.mohn._table.rows import EncodedRows, group_distinct_rows
from skmohn.mohn._table.target import Unchanged
from skmohn.mohn._training_data import read_groups


def make_subjects(n_subjects=20, n_each=4, seed=0):
    """Rows of subjects, each with an effect of its own on the target."""
    rng = np.random.default_rng(seed)
    subject = np.repeat(np.arange(n_subjects), n_each)
    X = rng.choice([-1.0, 1.0], (n_subjects, 6))[subject]
    X[:, 5] = rng.choice([-1.0, 1.0], len(subject))
    X[:, 4] = rng.uniform(-1.0, 1.0, len(subject))
    y = X[:, 0] + 2.0 * rng.normal(size=n_subjects)[subject]
    return X, y + 0.1 * rng.normal(size=len(subject)), subject


def rows_of(X, group=None):
    return EncodedRows(X, np.empty((len(X), 0), dtype=int), group=group)


def test_a_row_that_several_groups_have_is_a_group_of_its_own():
    number, group = np.array([0, 1, 1, 2, 3, 4, 4]), np.array([5, 5, 2, 2, 1, 0, 0])
    assert_array_equal(group_distinct_rows(number, group), [5, 7, 2, 1, 0])


PRIOR = Prior(np.array([0.5, 0.2, 0.9]), np.empty(0), 0.8, 0.3, 0.4)


def test_groups_are_left_out_of_the_exact_posterior_at_once():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1.0, 1.0, (9, 3)), rng.normal(size=9)
    X[4] = X[1]
    group = np.array([0, 0, 1, 1, 1, 2, 2, 3, 0])
    sample = join_equal_rows(rows_of(X, group), y)
    covariance = Covariance(PRIOR)
    residual, variance = ExactPosterior.condition(covariance, sample).leave_one_out()
    # Of equal rows, one is in group 0 and one in group 1: these are a fifth.
    assert len(np.unique(sample.rows.group)) == 5
    for unit in np.unique(sample.rows.group):
        own = sample.rows.group == unit
        rest = ExactPosterior.condition(covariance, sample.take(~own))
        rows = sample.rows.take(own)
        assert_allclose(
            residual[own], sample.target[own] - rest.latent_mean(rows), atol=1e-10
        )
        noise = sample.noise(PRIOR)[own]
        assert_allclose(variance[own], rest.latent_variance(rows) + noise, rtol=1e-8)


@pytest.mark.parametrize("n_inducing", [2, 8])
def test_groups_are_left_out_of_inducing_rows_at_once(n_inducing):
    """Those with fewer members than inducing rows, and those with more."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1.0, 1.0, (30, 3)), rng.normal(size=30)
    weight = rng.integers(1, 4, 30).astype(float)
    group = rng.permutation(np.repeat([0, 1, 2, 3], [1, 5, 9, 15]))
    sample = join_equal_rows(rows_of(X, group), y, weight)
    posterior = NystroemPosterior.condition(Covariance(PRIOR), sample, n_inducing)
    residual, variance = posterior.leave_groups_out(sample, sample.rows.group)
    # Nothing learned, from the same inducing rows.
    nothing = replace(
        posterior,
        root=np.eye(n_inducing),
        projection=np.zeros_like(posterior.projection),
    )
    for unit in range(4):
        own = sample.rows.group == unit
        rest = nothing.update(sample.take(~own))
        rows = sample.rows.take(own)
        mean = rest.latent_mean(rows)
        assert_allclose(residual[own], sample.target[own] - mean, atol=1e-6)
        # What the inducing rows do not explain is not noise of the targets.
        explained = rest.latent_variance(rows) - prior_variance_left(nothing, rows)
        expected = explained + sample.noise(PRIOR)[own]
        assert_allclose(variance[own], expected, rtol=1e-6)


def prior_variance_left(posterior, rows):
    """Variance of the function given its values at the inducing rows."""
    K = posterior.covariance.between(posterior.inducing, posterior.inducing)
    cross = posterior.covariance.between(posterior.inducing, rows)
    explained = np.sum(cross * np.linalg.solve(K, cross), axis=0)
    return posterior.covariance.own(rows) - explained


def test_links_of_many_rows_are_learned_from_left_out_groups(replace_constants):
    """With inducing rows as with all: probabilities are of new subjects."""
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(60), 5)
    X = rng.uniform(-1.0, 1.0, (60, 4))[subject] + 0.2 * rng.normal(size=(300, 4))
    y = X[:, 0] + rng.normal(size=60)[subject] > 0
    ranges = {}
    for groups in (None, subject):
        for n_exact in (10**6, 100):
            replace_constants(
                "skmohn.mohn._gp.model", max_rows_inverted=n_exact, max_inducing=90
            )
            model = MOHNClassifier("gp", random_state=0).fit(X, y, groups=groups)
            member = model.model_.gp
            is_exact = isinstance(member.posteriors[0], ExactPosterior)
            assert is_exact == (n_exact == 10**6)
            ranges[groups is None, n_exact] = np.ptp(model.predict_log_proba(X)[:, 1])
    for n_exact in (10**6, 100):
        assert ranges[False, n_exact] < 0.7 * ranges[True, n_exact]


def test_groups_are_left_out_of_classes_at_once():
    """By the definition of the normal approximation, and one by one as before."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(7, 7))
    covariance = root @ root.T + np.eye(7)
    successes = rng.integers(0, 2, 7).astype(float)
    totals = np.ones(7)
    mode = find_mode(covariance, successes, totals, 0.1)
    alone = leave_groups_out(mode, totals, np.arange(7))
    expected = leave_one_out(mode, np.arange(7), successes == 1.0, totals)
    assert_allclose(alone, expected, rtol=1e-6)
    group = np.array([0, 0, 0, 1, 1, 2, 3])
    found = leave_groups_out(mode, totals, group)
    curvature = mode.probability * (1.0 - mode.probability)
    pretended = mode.latent + mode.alpha / curvature
    for unit in range(4):
        own, rest = np.flatnonzero(group == unit), np.flatnonzero(group != unit)
        known = covariance[np.ix_(rest, rest)] + np.diag(1.0 / curvature[rest])
        mean = covariance[np.ix_(own, rest)] @ np.linalg.solve(known, pretended[rest])
        assert_allclose(found[own], mean, rtol=1e-6)


def test_rows_of_certain_classes_are_left_out_with_their_group():
    """Their curvature rounds to zero, which made the equations singular."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(8, 8))
    covariance = 9.0 * (root @ root.T + np.eye(8))
    # Copies are weights.
    totals = np.full(8, 5.0)
    successes = totals * np.array([0, 1, 1, 1, 0, 1, 1, 1])
    mode = find_mode(covariance, successes, totals, 60.0)
    curvature = totals * mode.probability * (1.0 - mode.probability)
    assert np.sum(curvature == 0.0) >= 2
    group = np.array([0, 0, 1, 1, 2, 2, 2, 2])
    found = leave_groups_out(mode, totals, group)
    for unit in range(3):
        own, rest = np.flatnonzero(group == unit), np.flatnonzero(group != unit)
        scaled = np.eye(len(rest)) + curvature[rest, None] * covariance[rest][:, rest]
        pull = curvature[rest] * mode.latent[rest] + mode.alpha[rest]
        mean = covariance[np.ix_(own, rest)] @ np.linalg.solve(scaled, pull)
        assert_allclose(found[own], mean, rtol=1e-5, atol=1e-5)


def make_crossed(n_subjects=8, seed=0):
    """Each subject sees all of eight conditions: equal rows are of other groups."""
    rng = np.random.default_rng(seed)
    conditions = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    X = np.tile(conditions, (n_subjects, 1))
    subject = np.repeat(np.arange(n_subjects), 8)
    y = X[:, 0] + rng.normal(size=n_subjects)[subject]
    return X, y + 0.1 * rng.normal(size=len(subject)), subject


@pytest.mark.filterwarnings("ignore:the samples are too few")
def test_subjects_that_see_the_same_conditions_are_groups():
    X, y, subject = make_crossed()
    model = MOHNRegressor(selection="cv", random_state=0).fit(X, y, groups=subject)
    assert (0,) in model.terms_
    labels = y > np.median(y)
    classes = MOHNClassifier("logistic", selection="cv", random_state=0)
    classes.fit(X, labels, groups=subject)
    # Folds were dealt.
    assert classes.history_[0]["validation_log_loss"] is not None


def test_conditions_of_all_subjects_are_left_out_one_by_one():
    """If subjects that share conditions were one group, nothing would be left."""
    X, y, subject = make_crossed()
    sample = join_equal_rows(rows_of(X, subject), y)
    residual, _ = ExactPosterior.condition(Covariance(PRIOR), sample).leave_one_out()
    apart = join_equal_rows(rows_of(X), y)
    expected, _ = ExactPosterior.condition(Covariance(PRIOR), apart).leave_one_out()
    assert_allclose(residual, expected)


def test_folds_of_refits_keep_groups_together(monkeypatch):
    """Subjects of the same conditions are several folds."""
    X, y, subject = make_crossed()
    part = _Part(rows_of(X, subject), y, np.ones(len(y)), np.ones(len(y)))
    taken = []

    def take(self, index):
        taken.append(index)
        return _Part(self.rows.take(index), *(values[index] for values in self[1:]))

    monkeypatch.setattr(_Part, "_take", take)
    assert part.error_of_refits(part.learn(Unchanged(), ())) > 0.0
    folds = np.reshape(taken[1::2], (-1, 8, 8))
    assert len(folds) > 1
    # Each subject is all in a fold or not.
    assert np.all(folds.all(axis=2) == folds.any(axis=2))
    assert_array_equal(folds.all(axis=2).sum(axis=0), 1)


@pytest.mark.parametrize("X", [make_crossed()[0], make_crossed()[0][:, :2]])
def test_equal_rows_of_other_groups_stay(X):
    """By the definition: the model of the other groups, at its hyperparameters."""
    _, y, subject = make_crossed()
    model = fit_gp(rows_of(X), y, noise="constant", strong_terms=False)
    found = model.leave_out(rows_of(X, subject), y, None, np.arange(len(y)))
    prior, scale = model.posterior.covariance.prior, model.y_std
    K = model.posterior.covariance.between(rows_of(X), rows_of(X))
    target = (y - model.y_mean) / scale
    for one in (0, 5):
        own, rest = np.flatnonzero(subject == one), np.flatnonzero(subject != one)
        known = K[np.ix_(rest, rest)] + prior.noise_variance * np.eye(len(rest))
        gain = np.linalg.solve(known, K[np.ix_(rest, own)]).T
        expected = target[own] - gain @ target[rest]
        assert_allclose(found.residual[own], expected, atol=1e-6)
        around = K[np.ix_(own, own)] - gain @ K[np.ix_(rest, own)]
        assert_allclose(found.variance[own], np.diagonal(around), atol=1e-6)
        assert_allclose(found.noise[own], prior.noise_variance)


def dense(X, y):
    return fit_gp(rows_of(X), y, noise="constant", strong_terms=False)


def sparse(X, y):
    graph = WalshPolynomial(((0,), (0, 1)), np.zeros(2), 0.0)
    return SparseModel.condition(graph, make_design(X), y)


def additive(X, y):
    return fit_additive(X, y, None)


@pytest.mark.parametrize("make", [dense, sparse, additive])
def test_models_leave_groups_out_as_single_rows(make):
    """Groups of one are rows; those of several leave more of the variance."""
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 1.0], (30, 4))
    X[:, 3] = rng.uniform(-1.0, 1.0, 30)
    y = X[:, 0] + 0.5 * rng.normal(size=30)
    model, everyone = make(X, y), np.arange(30)
    single = model.leave_out(rows_of(X), y, None, everyone)
    same = model.leave_out(rows_of(X, everyone), y, None, everyone)
    assert_allclose(same.residual, single.residual, rtol=1e-6)
    assert_allclose(same.variance, single.variance, rtol=1e-5)
    assert_allclose(same.noise, single.noise)
    assert_array_equal(same.count, single.count)
    several = model.leave_out(rows_of(X, everyone // 6), y, None, everyone)
    assert np.all(several.variance >= single.variance - 1e-9)
    assert several.variance.mean() > 1.05 * single.variance.mean()


def test_left_out_groups_are_those_of_a_model_without_them():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (24, 3))
    X[5] = X[4]
    y, group = X[:, 0] + 0.3 * rng.normal(size=24), np.arange(24) // 4
    model = dense(X, y)
    chosen = np.array([4, 5, 7, 20])
    found = model.leave_out(rows_of(X, group), y, None, chosen)
    sample = join_equal_rows(rows_of(X), (y - model.y_mean) / model.y_std)
    for j, i in enumerate(chosen):
        own = [X[k].tolist() for k in np.flatnonzero(group == group[i])]
        rest = [row.tolist() not in own for row in sample.rows.inputs]
        without = ExactPosterior.condition(model.covariance, sample.take(rest))
        mean = without.latent_mean(rows_of(X[[i]]))[0]
        assert found.residual[j] == pytest.approx(
            (y[i] - model.y_mean) / model.y_std - mean, abs=1e-8
        )
        variance = without.latent_variance(rows_of(X[[i]]))[0]
        assert found.variance[j] == pytest.approx(variance, rel=1e-6)
        assert found.noise[j] == pytest.approx(model.noise_variance)


@pytest.mark.slow_cases("auto")
@pytest.mark.parametrize("strategy", ["gp", "auto"])
def test_quantiles_are_those_of_fits_without_the_group(strategy, monkeypatch):
    """By the definition: Student's t of the mean squares of groups."""
    X, y, subject = make_subjects(15)
    # The range of a column of numbers would be another without some.
    X = np.sign(X)
    model = MOHNRegressor(strategy, random_state=0).fit(X, y, groups=subject)
    seed = np.random.RandomState(0).randint(2**31)
    squares = np.zeros(len(y))
    # Intervals of the parts would need fits without some of their groups in turn.
    monkeypatch.setattr(_regressor, "squares_of_new_groups", lambda *_: None)
    for train, test in GroupKFold(5, shuffle=True, random_state=seed).split(
        X, y, subject
    ):
        part = MOHNRegressor(strategy, random_state=0)
        part.fit(X[train], y[train], groups=subject[train])
        found, rows = part.model_, part._to_rows(X[test])
        off = found.transform.forward(y[test]) - found.latent_mean(rows)
        squares[test] = off / found.std_on_scale(rows)
    squares = squares**2
    assert squares.mean() > 1.2
    tails = model.model_.residual_distribution
    assert tails.df == 14
    assert tails.scale == pytest.approx(np.sqrt(squares.mean()), rel=1e-3)


@pytest.mark.parametrize(
    ("strategy", "noise", "n_fits"),
    [("gp", "auto", 5), ("gp", "constant", 0), ("pursuit", "auto", 0)],
)
def test_groups_are_predicted_where_intervals_need_it(
    monkeypatch, strategy, noise, n_fits
):
    calls = []

    def fit_quietly(*given):
        calls.append(given)
        return own(*given)

    own = _regressor._fit_quietly
    monkeypatch.setattr(_regressor, "_fit_quietly", fit_quietly)
    X, y, subject = make_subjects(15)
    model = MOHNRegressor(strategy, gp_options=GPOptions(noise=noise), random_state=0)
    model.fit(np.sign(X), y, groups=subject)
    assert len(calls) == n_fits


@pytest.mark.slow
def test_intervals_hold_for_new_groups():
    """Without groups, rows of new subjects are outside far more often."""
    covered = {}
    for name in (False, True):
        inside = []
        for seed in range(2):
            X, y, subject = make_subjects(24, seed=seed)
            new, targets, _ = make_subjects(60, seed=100 + seed)
            groups = subject if name else None
            model = MOHNRegressor("gp", random_state=0).fit(X, y, groups=groups)
            low, high = model.predict_quantiles(new, [0.05, 0.95]).T
            inside.append(np.mean((low <= targets) & (targets <= high)))
        covered[name] = np.mean(inside)
    assert covered[True] > covered[False] + 0.1


@pytest.mark.slow_cases("auto|gp|spike_slab")
@pytest.mark.parametrize("strategy", ["auto", "pursuit", "gp", "spike_slab"])
def test_labels_and_order_of_groups_do_not_matter(strategy):
    X, y, subject = make_subjects(12)
    one = MOHNRegressor(strategy, random_state=0).fit(X, y, groups=subject)
    names = np.array([f"s{99 - k}" for k in subject])
    other = MOHNRegressor(strategy, random_state=0)
    other.fit(X, y, groups=pd.Series(names, dtype="category"))
    assert_allclose(one.predict(X), other.predict(X))
    if strategy != "pursuit":
        assert_allclose(one.predict(X, True)[1], other.predict(X, True)[1])


def test_groups_of_one_row_are_no_groups():
    X, y, _ = make_subjects(12)
    X = np.random.default_rng(5).uniform(-1.0, 1.0, X.shape)
    none = MOHNRegressor("gp", random_state=0).fit(X, y)
    single = MOHNRegressor("gp", random_state=0).fit(X, y, groups=np.arange(len(y)))
    assert_allclose(single.predict(X), none.predict(X), rtol=1e-6)
    stds = [model.predict(X, return_std=True)[1] for model in (single, none)]
    assert_allclose(*stds, rtol=1e-3)


def test_folds_of_the_search_keep_groups_together():
    """As if they had been passed, by a splitter that takes groups."""
    X, y, subject = make_subjects(12, 5)
    model = MOHNRegressor("pursuit", selection="cv", random_state=3)
    model.fit(X, y, groups=subject)
    seed = np.random.RandomState(3).randint(2**31)
    folds = GroupKFold(5, shuffle=True, random_state=seed).split(X, y, subject)
    given = MOHNRegressor("pursuit", selection="cv", random_state=3, cv=list(folds))
    assert given.fit(X, y).terms_ == model.terms_


def test_held_out_rows_are_of_other_groups():
    X, y, subject = make_subjects(12, 5)
    model = MOHNRegressor("pursuit", early_stopping=True, random_state=0)
    model.fit(X, y, groups=subject)
    assert model.history_[-1]["validation_rmse"] > 0.5


@pytest.mark.slow_cases("auto")
@pytest.mark.parametrize("strategy", ["auto", "logistic"])
def test_classes_of_new_groups_are_as_uncertain_as_they_are(strategy):
    X, y, subject = make_subjects(20)
    classes = np.where(y > np.median(y), "high", "low")
    model = MOHNClassifier(strategy, random_state=0)
    certain = model.fit(X, classes).predict_proba(X).max(axis=1)
    found = model.fit(X, classes, groups=subject).predict_proba(X).max(axis=1)
    assert found.mean() < certain.mean() + 0.02
    if strategy == "auto":
        with pytest.raises(ValueError, match="partial_fit takes no groups"):
            model.partial_fit(X, classes)


def test_several_targets_and_weights_have_groups():
    X, y, subject = make_subjects(12)
    targets = np.column_stack([y, X[:, 1] - y])
    weight = np.ones(len(y))
    weight[::7] = 0.0
    options = {"groups": subject, "sample_weight": weight}
    simple = GPOptions(numeric="multilinear", target_transform=None)
    model = MOHNRegressor("gp", gp_options=simple, random_state=0)
    plain = clone(model).fit(X, targets, sample_weight=weight)
    model.fit(X, targets, **options)
    assert model.predict(X, return_std=True)[1].shape == targets.shape
    wider = model.predict(X, return_std=True)[1].mean(axis=0)
    assert np.all(wider > plain.predict(X, return_std=True)[1].mean(axis=0))


BAD = [
    (np.zeros(48), "a single group"),
    (np.arange(47), r"shape \(47,\), but X has 48 samples"),
    (np.where(np.arange(48) == 7, np.nan, 1.0), "missing value, first for sample 7"),
    ([None, *"abc" * 15, "a", "b"], "missing value, first for sample 0"),
    (pd.Series([1, 2, 3, pd.NA] * 12, dtype="Int64"), "missing value.*sample 3"),
    (np.ma.array(np.arange(48), mask=np.arange(48) == 5), "missing value.*sample 5"),
    (np.zeros((48, 2)), r"shape \(48, 2\)"),
]


@pytest.mark.parametrize(("groups", "message"), BAD)
@pytest.mark.parametrize("estimator", [MOHNRegressor("pursuit"), MOHNClassifier()])
def test_bad_groups_are_refused(estimator, groups, message):
    X, y, _ = make_subjects(12)
    with pytest.raises(ValueError, match=f"groups has .*{message}"):
        estimator.fit(X, y > 0, groups=groups)


def test_groups_may_be_of_any_type():
    labels = [1, "1", 1.5, (2, 3), 1.0]
    table = np.zeros((5, 1))
    assert_array_equal(read_groups(pd.Series(labels), table), [0, 1, 2, 3, 0])
    times = pd.date_range("2020-01-01", periods=5)
    assert_array_equal(read_groups(times, table), np.arange(5))


def test_groups_are_routed():
    X, y, subject = make_subjects(12)
    X = np.sign(X)
    options = {"gp_options": GPOptions(target_transform=None), "random_state": 0}
    alone = MOHNRegressor("gp", **options).fit(X, y, groups=subject)
    with config_context(enable_metadata_routing=True):
        model = MOHNRegressor("gp", **options).set_fit_request(groups=True)
        pipeline = make_pipeline(model).fit(X, y, groups=subject)
        assert_allclose(pipeline.predict(X), alone.predict(X))
        _, std = pipeline[-1].predict(X, return_std=True)
        assert_allclose(std, alone.predict(X, return_std=True)[1])
        scores = cross_validate(
            model, X, y, cv=GroupKFold(2), params={"groups": subject}
        )
    assert len(scores["test_score"]) == 2
