"""What columns do to classes: against predictions at all rows that they could make."""

import functools
import itertools
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from sklearn.inspection import permutation_importance

from skmohn import Genotypes, GPOptions, MOHNClassifier
from skmohn.mohn._effects import _change
from skmohn.mohn._gp.classification import MemberFit
from skmohn.mohn._gp.laplace import LaplaceEvidence
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._sparse.classes import LogisticModel
from skmohn.mohn._spike_slab.posterior import NormalPosterior
from skmohn.mohn._spike_slab.vamp import Spectrum
from skmohn.mohn._stacking import StackedClassModel
from skmohn.mohn._table.rows import EncodedRows


def make_table(n_rows=120, seed=0):
    """A lognormal column of few values, a rare flag, categories and a bit."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": np.exp(rng.normal(size=n_rows)).round(1) + 0.1,
            "rare": rng.random(n_rows) < 0.15,
            "kind": rng.choice(["a", "b", "c"], n_rows, p=[0.6, 0.3, 0.1]),
            "bit": rng.integers(0, 2, n_rows),
        }
    )
    y = X.income + 3.0 * X.rare + 2.0 * (X.kind == "b") * X.bit
    return X, y + rng.normal(scale=0.3, size=n_rows)


def enumerate_rows(X):
    """All rows of the columns' values, and how often each value is there."""
    values = [X[name].value_counts(normalize=True).sort_index() for name in X]
    rows = itertools.product(*(own.index for own in values))
    return pd.DataFrame(list(rows), columns=X.columns), [
        own.to_numpy() for own in values
    ]


STRATEGIES = ["auto", "gp", "logistic", "full"]


@pytest.fixture(scope="module")
def table():
    return make_table(100)


def classes_of(y, n_classes):
    ends = np.linspace(0.0, 1.0, n_classes + 1)[1:-1]
    return np.array(["low", "mid", "high"])[-n_classes:][
        np.digitize(y, np.quantile(y, ends))
    ]


@functools.cache
def fit_to_table(strategy, n_classes):
    X, y = make_table(100)
    more = {"max_order": 2} if strategy == "full" else {}
    if strategy == "gp":
        more = {"gp_options": GPOptions(numeric="multilinear")}
    model = MOHNClassifier(strategy, random_state=0, **more)
    return model.fit(X, classes_of(y, n_classes))


@pytest.mark.parametrize(
    ("strategy", "n_classes"),
    [
        *((strategy, 2) for strategy in STRATEGIES),
        ("gp", 3),
        *(pytest.param(s, 3, marks=pytest.mark.slow) for s in STRATEGIES[::2]),
    ],
)
def test_effects_are_differences_of_predictions(strategy, n_classes, table):
    X, model = table[0], fit_to_table(strategy, n_classes)
    effects = model.effects_table()
    n_shown = 1 if n_classes == 2 else 3
    assert len(effects) == 5 * n_shown
    assert set(effects["class"]) == set(model.classes_[-n_shown:])
    assert effects["total"].is_monotonic_decreasing
    names = effects.groupby("feature")["total"].first()
    assert_allclose(names[list(X)], model.feature_importances_)
    for row in effects.to_dict("records"):
        others, chances = enumerate_rows(X.drop(columns=row["feature"]))
        joint = functools.reduce(np.multiply.outer, chances).ravel()
        k = model.classes_.tolist().index(row["class"])
        start, end = (
            model.predict_proba(others.assign(**{row["feature"]: x})[list(X)])[:, k]
            for x in (row["from"], row["to"])
        )
        # 256 rows stand for all of them.
        assert row["effect"] == pytest.approx(joint @ (end - start), abs=0.02)
        expected = joint @ (logit(end) - logit(start))
        assert 0.0 < row["standard_error"] < 0.35
        off = abs(row["log_odds"] - expected)
        assert off < 0.05 + 0.1 * row["log_odds_error"]
    by_move = effects.groupby(["feature", "from", "to"])["effect"].sum()
    assert n_classes == 2 or np.abs(by_move).max() < 1e-9


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_importances_are_those_of_predictions(strategy, table):
    """No column that predictions need is missing, nor one that they do not need."""
    X, y = table
    model = fit_to_table(strategy, 2)
    spoiled = permutation_importance(
        model, X, classes_of(y, 2), scoring="neg_log_loss", n_repeats=2, random_state=0
    ).importances_mean
    found = model.feature_importances_
    assert found.argmax() == spoiled.argmax() == 0
    assert np.all(found[spoiled > 0.1] > 0.05)
    # By their definition: half the mean square of a change of one column.
    rng = np.random.default_rng(0)
    X, shuffled = (
        X.apply(lambda x: x.to_numpy()[rng.integers(0, len(x), 1000)]) for _ in range(2)
    )
    score = model.decision_function(X)
    for j, name in enumerate(X):
        moved = model.decision_function(X.assign(**{name: shuffled[name]}))
        expected = np.mean((moved - score) ** 2) / (2.0 * np.var(score))
        assert found[j] == pytest.approx(expected, abs=0.1)


def test_a_pool_has_columns_that_its_listed_model_has_not():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (80, 3))
    y = rng.random(80) < expit(2.0 * X[:, 0] + X[:, 1])
    model = MOHNClassifier("given", terms=[(0,)]).fit(X, y)
    other = MOHNClassifier("given", terms=[(0,), (1,)]).fit(X, y)
    shares = np.array([0.6, 0.4])
    members = model.model_, other.model_
    gaps = SimpleNamespace(imputations=lambda *_: [])
    model.model_ = StackedClassModel(
        members, shares, gaps, members[0].readable, None, None
    )
    importances = model.feature_importances_
    assert importances[0] > importances[1] > 0.01
    assert importances[2] == 0.0
    effects, alone = model.effects_table(), other.effects_table()
    # An ensemble's chances are sums.
    assert effects["effect"][1] == pytest.approx(0.4 * alone["effect"][1])
    # Within the second model, and between the two, of which one says 0.
    std, apart = alone[["standard_error", "effect"]].loc[1]
    expected = (0.4 * std**2 + 0.6 * 0.4 * apart**2) ** 0.5
    assert effects["standard_error"][1] == pytest.approx(expected, rel=0.1)


def test_weights_of_zero_and_constant_columns_change_nothing():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([-1.0, 1.0], (80, 3)), np.ones(80)])
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, "yes", "no")
    model = MOHNClassifier("given", terms=[(0,)]).fit(X, y)
    effects = model.effects_table().set_index("feature")
    assert effects.loc["x0", "effect"] > 0.5
    numbers = ["total", "effect", "standard_error", "log_odds", "log_odds_error"]
    assert_array_equal(effects.loc[["x1", "x2", "x3"], numbers], 0.0)
    assert effects.loc["x3", ["from", "to"]].isna().all()


def test_errors_of_many_weights_are_not_known(monkeypatch):
    monkeypatch.setattr("skmohn.mohn._sparse.classes.MOST_JOINT", 2)
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (80, 3))
    model = MOHNClassifier("given", terms=[(0,), (1,)])
    effects = model.fit(X, X[:, 0] + rng.normal(size=80) > 0).effects_table()
    assert effects["standard_error"].isna().tolist() == [True, True, False]
    assert effects["effect"].notna().all()


def test_errors_of_sparse_models_are_those_of_maximum_likelihood():
    """A 2 x 2 table, whose log odds ratio has the variance sum(1 / count)."""
    counts = np.array([30, 12, 9, 41])
    X = np.repeat([[-1.0], [-1.0], [1.0], [1.0]], counts, axis=0)
    y = np.repeat([0, 1, 0, 1], counts)
    model = MOHNClassifier("given", terms=[(0,)], C=1e6).fit(X, y)
    (effect,) = model.effects_table().to_dict("records")
    assert effect["log_odds"] == pytest.approx(np.log(30 * 41 / (12 * 9)), abs=1e-3)
    # Of a hundred draws.
    assert effect["log_odds_error"] == pytest.approx(np.sum(1 / counts) ** 0.5, rel=0.2)
    assert effect["effect"] == pytest.approx(41 / 50 - 12 / 42, abs=1e-3)
    expected = (0.82 * 0.18 / 50 + 30 * 12 / 42**3) ** 0.5
    assert effect["standard_error"] == pytest.approx(expected, rel=0.2)


def test_covariances_of_classes_are_the_inverse_curvature():
    """Of three classes, all weights together: by differences of the penalized loss."""
    rng = np.random.default_rng(0)
    columns, C = rng.choice([-1.0, 1.0], (60, 2)), 0.7
    y, weight = rng.integers(0, 3, 60), rng.integers(1, 3, 60).astype(float)

    class Data:
        data, classes = (columns, y, weight), np.arange(3)

    model = LogisticModel.learn(Data, [(0,), (1,)], C)

    def loss(flat):
        weights = flat.reshape(3, 3)
        scores = np.column_stack([columns, np.ones(60)]) @ weights.T
        fit = scores[np.arange(60), y] - np.logaddexp.reduce(scores, axis=1)
        return -weight @ fit + 0.5 * np.sum(weights[:, :2] ** 2) / C

    at = np.column_stack([model.weights, model.constants]).ravel()
    steps = 1e-3 * np.eye(9)
    curvature = [
        [loss(at + a + b) - loss(at + a) - loss(at + b) + loss(at) for b in steps]
        for a in steps
    ]
    expected = np.linalg.pinv(np.array(curvature) / 1e-6, rcond=1e-4)
    assert_allclose(model.root @ model.root.T, expected, atol=2e-3)


def test_roots_of_normal_posteriors():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(6, 4))
    posterior = NormalPosterior(np.zeros(6), Spectrum.of(columns), 2.0, 0.3)
    expected = np.linalg.inv(2.0 * np.eye(6) + columns @ columns.T / 0.3)
    root = posterior.root(6)
    assert_allclose(root @ root.T, expected)
    assert_allclose(posterior.root(5), np.sqrt(np.diagonal(expected)))


def test_changes_are_those_of_chances_and_log_odds():
    proba = np.array([[0.2, 0.3, 0.5], [0.4, 0.3, 0.3]])
    expected = np.stack([np.diff(proba, axis=0)[0], np.diff(logit(proba), axis=0)[0]])
    assert_allclose(_change(np.log(proba)), expected.T, atol=1e-12)


@pytest.mark.parametrize("strategy", ["auto", "gp", "logistic"])
def test_draws_are_centered_at_predictions(strategy):
    X, model = make_table(100)[0], fit_to_table(strategy, 3)
    rows = model._to_rows(X[:4])
    for member in model.model_.members:
        draws = member.sampler()(rows, 400, np.random.default_rng(0))
        center, spread = draws.mean(axis=1), draws.std(axis=1)
        expected = member.log_odds(rows)
        assert np.all(np.abs(center - expected) < 5.0 * spread / 20.0 + 1e-9)


def test_tables_survive_pickling(table):
    model = fit_to_table("gp", 2)
    again = pickle.loads(pickle.dumps(model))
    assert again.effects_table().equals(model.effects_table())


def test_genotypes_have_effects():
    counts = np.random.default_rng(0).integers(0, 3, (120, 8))
    y = counts[:, 2] + np.random.default_rng(1).normal(size=120) > 1
    model = MOHNClassifier("given", terms=[(2,), (5,)])
    model.fit(Genotypes.from_counts(counts), y)
    effects = model.effects_table()
    assert effects["effect"][0] > 3.0 * effects["standard_error"][0] > 0.0
    assert len(effects) == 8


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["auto", "gp", "logistic"])
def test_standard_errors_hold_what_they_say(strategy):
    """Effects of fresh samples are as far off as their standard errors say."""
    rng = np.random.default_rng(0)
    grid = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1).T

    def chance(X):
        return expit(1.2 * X[:, 0] - 0.8 * X[:, 1] + 0.8 * X[:, 2] * X[:, 3])

    def move(j):
        ends = (np.where(np.arange(4) == j, end, grid) for end in (-1.0, 1.0))
        start, end = map(chance, ends)
        return np.mean(end - start)

    truth, ratios = [move(j) for j in range(4)], []
    for _ in range(20):
        X = rng.choice([-1.0, 1.0], (300, 4))
        y = rng.random(300) < chance(X)
        effects = MOHNClassifier(strategy, random_state=0).fit(X, y).effects_table()
        effects = effects.set_index("feature").loc[[f"x{j}" for j in range(4)]]
        ratios.append((effects["effect"] - truth) / effects["standard_error"])
    assert 0.6 < np.sqrt(np.mean(np.square(ratios))) < 1.5


def test_dense_members_keep_the_posterior_of_their_latent_functions():
    rng = np.random.default_rng(0)
    rows = EncodedRows(rng.choice([-1.0, 1.0], (40, 8)), np.zeros((40, 0), int))
    label = rng.integers(0, 2, 40)
    lesson = MemberFit.read(
        rows, (label, 2), (), (), "lines", memory_budget=1e9, seed=0
    )
    squares, _ = lesson.learn("least squares")
    prior = squares.covariance.prior
    logistic, _ = lesson.learn("logistic", prior, prior._replace(scale=5.0))
    (posterior,), known = logistic.posteriors, lesson.labels.sample.rows
    mode = LaplaceEvidence(known, lesson.labels.counts).mode(
        0, Covariance(prior._replace(scale=5.0)).between(known, known)
    )
    assert_allclose(posterior.variance(known), mode.variance, rtol=1e-6)
    for member in (squares, logistic):
        draws = member.sampler()(known, 4000, np.random.default_rng(0))
        log_odds = draws[..., 1] - draws[..., 0]
        widths = np.ptp(member.axes, axis=1) * member.link.slope
        expected = widths * np.sqrt(member.posteriors[0].variance(known))
        assert_allclose(log_odds.std(axis=1), expected, rtol=0.1)
