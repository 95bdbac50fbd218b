"""What columns do: against enumeration of all rows that columns could make together."""

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

from skmohn import Genotypes, GPOptions, MOHNClassifier, MOHNRegressor
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._design.products import ProductSum
from skmohn.mohn._effects import _change, _decode, _independent_errors, _MeanOfTarget
from skmohn.mohn._gp.classification import MemberFit
from skmohn.mohn._gp.laplace import LaplaceEvidence
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._sparse import sobol
from skmohn.mohn._sparse.classes import LogisticModel
from skmohn.mohn._sparse.sobol import split_variance
from skmohn.mohn._spike_slab.posterior import NormalPosterior
from skmohn.mohn._spike_slab.vamp import Spectrum
from skmohn.mohn._stacking import StackedClassModel
from skmohn.mohn._table.coding import NUMERIC, TWO_VALUED
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._table.target import Unchanged
from skmohn.mohn._table.variables import Variable, make_input

UNCLIPPED = GPOptions(clip=False)


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


def by_definition(values, chances):
    """First-order and total Sobol indices on a grid of independent columns."""
    joint = functools.reduce(np.multiply.outer, chances)

    def mean(values, axes):
        return np.sum(values * joint, axes, keepdims=True) / joint.sum(
            axes, keepdims=True
        )

    axes = tuple(range(values.ndim))
    variance = mean((values - mean(values, axes)) ** 2, axes).item()
    first, total = [], []
    for i in axes:
        others = axes[:i] + axes[i + 1 :]
        alone = mean(values, others)
        first.append(
            mean((alone - mean(values, axes)) ** 2 * np.ones_like(values), axes)
        )
        total.append(mean((values - mean(values, (i,))) ** 2, axes))
    return np.ravel(first) / variance, np.ravel(total) / variance


def move(model, X, column, start, end):
    """What a move does, by predictions at all rows of the other columns."""
    rows, chances = enumerate_rows(X.drop(columns=column))
    joint = functools.reduce(np.multiply.outer, chances).ravel()
    ends = [model.predict(rows.assign(**{column: x})[list(X)]) for x in (start, end)]
    return joint @ (ends[1] - ends[0])


@pytest.fixture(scope="module")
def table():
    return make_table(80)


@pytest.mark.parametrize("strategy", ["gp", "spike_slab", "pursuit"])
def test_indices_and_effects_are_those_of_the_columns_as_they_are(strategy, table):
    X, y = table
    if strategy != "gp":
        X = X.drop(columns="kind")
    control = None if strategy == "pursuit" else UNCLIPPED
    more = {} if control is None else {"gp_options": control}
    model = MOHNRegressor(strategy, max_order=2, random_state=0, **more).fit(X, y)
    rows, chances = enumerate_rows(X)
    values = model.predict(rows).reshape(list(map(len, chances)))
    first, total = by_definition(values, chances)
    found = model.sobol_indices()
    assert_allclose(found["first_order"], first, atol=1e-9)
    assert_allclose(found["total"], total, atol=1e-9)
    assert_allclose(model.feature_importances_, total, atol=1e-9)
    effects = model.effects_table()
    assert effects["total"].is_monotonic_decreasing
    assert set(effects["feature"]) == set(X)
    assert len(effects) == len(X.columns) + (strategy == "gp")
    for row in effects.to_dict("records"):
        expected = move(model, X, row["feature"], row["from"], row["to"])
        assert row["effect"] == pytest.approx(expected, abs=1e-9)
    effects = effects.set_index("feature")
    income = effects.loc["income"]
    quartiles = X["income"].quantile([0.25, 0.75], interpolation="lower")
    assert_allclose([income["from"], income["to"]], quartiles, atol=0.11)
    assert not effects.loc["rare", "from"]
    for name in ("rare", "income"):
        truth = 3.0 if name == "rare" else income["to"] - income["from"]
        gap = abs(effects.loc[name, "effect"] - truth)
        assert 0 < effects.loc[name, "standard_error"] < 0.3
        assert gap < 4 * effects.loc[name, "standard_error"] + 0.1


def test_uniform_columns_are_another_population():
    flags = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [45, 45, 5, 5], axis=0)
    model = MOHNRegressor("pursuit").fit(flags, 3.0 * flags[:, 0] + flags[:, 1])
    variances = np.array([9.0 * 0.09, 0.25])
    found = [model.sobol_indices(way)["total"] for way in ("observed", "uniform")]
    assert_allclose(found, [variances / variances.sum(), [0.9, 0.1]])
    with pytest.raises(ValueError, match="distribution='even' is neither 'observed'"):
        model.sobol_indices("even")
    known = MOHNRegressor.from_terms([(0,), (0, 1)], [3.0, 4.0])
    pd.testing.assert_frame_equal(known.sobol_indices(), known.sobol_indices("uniform"))
    effects = known.effects_table().set_index("feature")
    assert effects["effect"].to_dict() == {"x0": 6.0, "x1": 0.0}
    assert (effects["standard_error"] == 0).all()


def test_rows_that_count_twice_are_two_rows(table):
    X, y = table
    twice = np.arange(len(y)) % 3 == 0
    weight = 1.0 + twice
    order = np.r_[np.arange(len(y)), np.flatnonzero(twice)]
    once = MOHNRegressor("gp", gp_options=UNCLIPPED).fit(X, y, weight)
    again = MOHNRegressor("gp", gp_options=UNCLIPPED).fit(X.iloc[order], y.iloc[order])
    found, expected = once.effects_table(), again.effects_table()
    pd.testing.assert_frame_equal(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_effects_of_a_transformed_target_are_in_its_own_unit():
    X, y = make_table(60)
    y = np.exp(0.25 * y)
    control = GPOptions(clip=False, target_transform="log")
    model = MOHNRegressor("gp", gp_options=control).fit(X, y)
    rows, chances = enumerate_rows(X)
    values = model.predict(rows).reshape(list(map(len, chances)))
    first, total = by_definition(values, chances)
    found = model.sobol_indices()
    assert_allclose(found["total"], total, atol=0.05)
    assert_allclose(found["first_order"], first, atol=0.05)
    for row in model.effects_table().to_dict("records"):
        expected = move(model, X, row["feature"], row["from"], row["to"])
        assert row["effect"] == pytest.approx(expected, rel=0.1, abs=0.05)
        assert 0 < row["standard_error"] < 0.4 * abs(expected) + 0.2


def test_a_one_hot_column_takes_the_place_of_the_commonest():
    rng = np.random.default_rng(0)
    kinds = rng.choice(3, 150, p=[0.2, 0.5, 0.3])
    X = np.column_stack([np.eye(3)[kinds], rng.integers(0, 2, 150), np.ones(150)])
    y = np.array([1.0, 2.0, 5.0])[kinds] + X[:, 3] + 0.1 * rng.standard_normal(150)
    control = GPOptions(one_hot="auto", clip=False)
    model = MOHNRegressor("gp", gp_options=control).fit(X, y)
    effects = model.effects_table().set_index("feature")
    assert effects["from"].to_dict() == {
        "x0": "x1", "x1": "x2", "x2": "x1", "x3": 0.0, "x4": None,
    }  # fmt: skip
    assert_allclose(
        effects.loc[["x0", "x1", "x2", "x3", "x4"], "effect"],
        [-1.0, -3.0, 3.0, 1.0, 0.0],
        atol=0.15,
    )


def test_effects_of_several_targets(table):
    X, y = table
    Y = pd.DataFrame({"one": y, "two": -2.0 * y})
    model = MOHNRegressor("pursuit", random_state=0, max_order=1).fit(
        X.drop(columns="kind"), Y
    )
    effects = model.effects_table()
    assert effects.columns[0] == "target"
    by_target = dict(iter(effects.groupby("target")["effect"]))
    assert_allclose(by_target["two"], -2.0 * by_target["one"].to_numpy(), rtol=1e-6)


@pytest.mark.slow
def test_no_column_above_its_threshold_is_missing():
    rng = np.random.default_rng(0)
    # The age is a bow that no line sees, and what is correlated with it does nothing.
    X = pd.DataFrame({"age": rng.lognormal(3.5, 0.4, 100)})
    X["near"] = X["age"] + rng.normal(scale=10, size=100)
    X["flag"] = rng.random(100) < 0.1
    X["none"] = rng.normal(size=100)
    apart = np.log(X["age"]) - 3.5
    y = 8.0 * apart**2 + 1.5 * X["flag"] + rng.normal(scale=0.3, size=100)
    for strategy in ("gp", "auto"):
        model = MOHNRegressor(strategy, random_state=0).fit(X, y)
        found = permutation_importance(model, X, y, n_repeats=2, random_state=0)
        # Twice the variance that a column has a part in, of that of the target.
        needed = {X.columns[i] for i in np.flatnonzero(found.importances_mean > 0.05)}
        assert needed == {"age", "flag"}
        assert needed <= {
            X.columns[i] for p in model.interaction_graph_.components for i in p
        }
        effects = model.effects_table().set_index("feature")
        assert (effects.loc[list(needed), "total"] > 0.02).all()
        assert effects.index[0] == "age"


def test_genotypes_count_what_is_known():
    rng = np.random.default_rng(0)
    counts = rng.binomial(2, [0.05, 0.3, 0.4, 0.5], (300, 4)).astype(float)
    y = counts[:, 0] + counts[:, 1] + 0.1 * rng.standard_normal(300)
    counts[rng.random(counts.shape) < 0.1] = np.nan
    packed = Genotypes.from_counts(counts)
    model = MOHNRegressor("given", terms=[(0,), (1,)]).fit(packed, y)
    variances = np.nanvar(counts[:, :2], axis=0)
    assert model._marginals.inputs.tolist() == [0, 1]
    assert_allclose(model._marginals.square, variances)
    expected = model.weights_**2 * variances
    assert_allclose(
        model.sobol_indices()["total"], [*expected / expected.sum(), 0.0, 0.0]
    )


# ------------------------------------------------------------------ sums of terms


@pytest.mark.parametrize("way", ["subsets", "pairs"])
def test_sums_of_terms_over_skewed_inputs(way, replace_constants):
    if way == "pairs":
        replace_constants(sobol, max_subsets=0.0)
    rng = np.random.default_rng(0)
    chances = [0.9, 0.5, 0.2, 0.35, 0.7]
    terms = [(0,), (3,), (0, 1), (1, 2), (0, 2, 3), (0, 1, 2, 3)]
    graph = WalshPolynomial.sort(terms, rng.standard_normal(6), 1.0)
    variables = [
        Variable(i, None, np.ones(1), np.array([2 * p - 1]), np.ones(1))
        for i, p in enumerate(chances)
    ]
    cube = np.array(list(itertools.product([-1.0, 1.0], repeat=5)))
    values = graph.predict(cube).reshape([2] * 5)
    first, total = by_definition(values, [np.array([1 - p, p]) for p in chances])
    variance, *parts = split_variance(graph, variables)
    assert_allclose(parts[0] / variance, first, atol=1e-12)
    assert_allclose(parts[1] / variance, total, atol=1e-12)


@pytest.mark.parametrize("order", [18, 60])
def test_subsets_of_many_skewed_columns_are_not_enumerated(order, monkeypatch):
    monkeypatch.setattr(sobol, "standardize_terms", None)
    rng = np.random.default_rng(0)
    X = (rng.random((300, 60)) < 0.6).astype(float)
    model = MOHNRegressor("given", terms=[tuple(range(order)), (0, 1)])
    model.fit(X, X[:, 0] + rng.standard_normal(300))
    total = model.feature_importances_
    assert total[:2].min() > 0.5
    assert_allclose(total[2:order], total[2], rtol=1.0)
    assert_allclose(total[order:], 0.0)


def test_classes_of_very_many_skewed_columns_take_no_time():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 40)) < 0.7).astype(float)
    model = MOHNClassifier("given", terms=[list(range(40)), [0, 1]])
    model.fit(X, (X[:, 0] + rng.standard_normal(300)) > 0.5)
    assert model.feature_importances_[:2].min() > 0.5


# -------------------------------------------------------------------- explanations


def test_shared_weights_are_shapley_values():
    rng = np.random.default_rng(0)
    low, high = rng.uniform(0.2, 1.0, (2, 3, 7))
    low[1, 6], high[1, 6] = -1.0, 1.0
    table, step = rng.uniform(0.2, 1, (3, 7)), rng.standard_normal(3)
    # The last place is that of an unknown category, here the mean.
    tables, steps = (
        [np.concatenate([part, [part.mean(axis=0)]])] for part in (table, step)
    )
    products = ProductSum(
        rng.standard_normal(7), low, high, tables, rng.standard_normal(3), steps, 0.5
    )
    row = EncodedRows(np.array([[0.4, -1.0, 1.0]]), np.array([[2]]))

    def value(known):
        whole = products.coef.copy()
        for i, x in enumerate(row.inputs[0] * [j in known for j in range(3)]):
            whole *= (low[i] + high[i] + x * (high[i] - low[i])) / 2
        whole *= table[2] if 3 in known else table.mean(axis=0)
        lines = sum(products.slopes[i] * row.inputs[0, i] for i in known if i < 3)
        return whole.sum() + lines + (step[2] if 3 in known else step.mean())

    expected = np.zeros(4)
    orders = list(itertools.permutations(range(4)))
    for order in orders:
        for k, player in enumerate(order):
            expected[player] += value(order[: k + 1]) - value(order[:k])
    assert_allclose(products.split(row), expected / len(orders))
    nothing = EncodedRows(np.zeros((1, 3)), np.array([[3]]))
    assert_allclose(products.split(nothing), 0.0, atol=1e-12)


@pytest.mark.parametrize("strategy", ["gp", "spike_slab"])
def test_explanations_leave_nothing_without_a_name(strategy, table):
    X, y = table
    if strategy == "spike_slab":
        X = X.drop(columns="kind")
    model = MOHNRegressor(strategy, gp_options=UNCLIPPED, max_order=2).fit(X, y)
    X = X.astype(object)
    X.iloc[1, 0] = X.iloc[2, -1] = None
    columns = {"(constant)", *(f"(other weights of {name})" for name in X)}
    for i, prediction in enumerate(model.predict(X[:4])):
        explained = model.explain(X[i : i + 1])
        assert explained["contribution"].sum() == pytest.approx(prediction)
        others = explained[explained["weight"].isna()]
        assert set(others["term"]) <= columns
        assert np.all(np.diff(explained["contribution"][1:].abs()) <= 0)


def test_many_columns_are_shared_exactly():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (40, 150))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    model = MOHNRegressor("gp", gp_options=UNCLIPPED).fit(X, y)
    explained = model.explain(X[0])
    assert explained["contribution"].sum() == pytest.approx(model.predict(X[:1])[0])


def test_explanations_of_classes_name_every_column(table):
    X, y = table
    classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    for target in (classes, classes > 0):
        model = MOHNClassifier("gp", random_state=0).fit(X[:60], target[:60])
        score = model.decision_function(X[:1])[0]
        label = model.classes_[-1]
        explained = model.explain(X[:1], label)
        expected = score[-1] if np.ndim(score) else score
        assert explained["contribution"].sum() == pytest.approx(expected)
        assert "(all other weights)" not in set(explained["term"])
        assert "(other weights of income)" in set(explained["term"])


# ---------------------------------------- transformed targets, by averages over rows


class _Line:
    """A target that is 1 + 2 x0 + x1 b, b a bit; a draw adds to the slope of x0."""

    transform, n_observed = Unchanged(), 100.0

    def predictive_mean(self, rows, clip):
        return 1.0 + 2.0 * rows.inputs[:, 0] + rows.inputs[:, 1] * rows.inputs[:, 2]

    def sample_latent(self, rows, n_draws, rng):
        slopes = 0.5 * rng.standard_normal(n_draws)
        return self.predictive_mean(rows, False)[:, None] + rows.inputs[:, :1] * slopes

    def noise_std(self):
        return 0.1


def mean_of_target(model, marginals=None):
    coding = SimpleNamespace(
        usable=np.arange(3),
        categoricals=[],
        thresholds={},
        kind=np.array([NUMERIC, NUMERIC, TWO_VALUED]),
    )
    estimator = MOHNRegressor(gp_options=GPOptions())
    estimator.model_, estimator.coding_ = model, coding
    variables = [make_input(0, 1 / 3), make_input(1, 1 / 3), make_input(2)]
    return _MeanOfTarget(estimator, variables, marginals)


def test_indices_by_averages_are_those_of_the_function():
    """Variances 4/3 of x0, 1/3 of the product."""
    first, total = mean_of_target(_Line()).indices()
    assert_allclose(first, [0.8, 0.0, 0.0], atol=0.01)
    assert_allclose(total, [0.8, 0.2, 0.2], atol=0.01)


@pytest.mark.parametrize(
    ("n_observed", "n_rows"), [(100.0, 2048), (2000.0, 512), (1e5, 256)]
)
def test_averages_take_fewer_rows_where_each_takes_longer(n_observed, n_rows):
    model, seen = _Line(), []
    model.n_observed = n_observed
    model.predictive_mean = lambda rows, clip: (
        seen.append(len(rows)) or rows.inputs[:, 0]
    )
    mean_of_target(model).indices()
    # Two tables of rows, and one with each column of the other.
    assert seen == 5 * [n_rows]


def test_a_constant_has_no_indices():
    model = _Line()
    model.predictive_mean = lambda rows, clip: np.ones(len(rows))
    assert_array_equal(mean_of_target(model).indices(), np.zeros((2, 3)))


def test_effects_by_averages_have_the_errors_of_draws():
    ends = (-1.0, 0), (1.0, 0)
    means, stds = mean_of_target(_Line()).effects([(0, *ends), (2, *ends)])
    assert_allclose(means, [4.0, 0.0], atol=0.02)
    # The slope's is 0.5, over a way of 2; no draw moves the bit.
    assert stds[0] == pytest.approx(1.0, abs=0.2)
    assert stds[1] < 0.2


def test_rows_are_quantiles_of_their_columns():
    """Evenly where nothing is known, else values as they were; bits by their mean."""
    values = {0: np.array([-0.5, 0.0, 0.0, 1.0]), 1: np.array([0.25])}
    points = np.array([[0.1, 0.9, 0.3], [0.6, 0.2, 0.7], [0.9, 0.5, 0.9]])
    even = mean_of_target(_Line())._rows(points).inputs
    assert_allclose(even, [[-0.8, 0.8, -1], [0.2, -0.6, 1], [0.8, 0.0, 1]])
    known = mean_of_target(_Line(), SimpleNamespace(values=values))
    known.variables[2] = known.variables[2]._replace(mean=np.array([-0.6]))
    found = known._rows(points).inputs
    # Four of five bits are -1.
    assert_allclose(found, [[-0.5, 0.25, -1], [0.0, 0.25, -1], [1.0, 0.25, 1]])


def test_categories_are_drawn_by_their_probabilities():
    target = mean_of_target(_Line())
    shares, nothing = np.array([0.2, 0.3, 0.5]), np.zeros(3)
    target.shape = 3, 1
    target.variables = [Variable(None, 0, shares, nothing, nothing)]
    points = np.array([[0.1], [0.4], [0.6], [0.95]])
    assert target._rows(points).categories[:, 0].tolist() == [0, 1, 2, 2]


def test_nothing_that_varies_has_no_indices():
    target = mean_of_target(_Line())
    target.variables = []
    assert np.shape(target.indices()) == (2, 0)


def test_inputs_are_decoded_to_values():
    coding = SimpleNamespace(low=np.array([2.0]), high=np.array([6.0]))
    assert _decode(coding, 0, np.array([-1.0, 0.0, 0.5, 1.0])) == [2.0, 4.0, 5.0, 6.0]


def test_errors_of_independent_weights_add_up_in_squares():
    graph = WalshPolynomial.sort([(0,), (0, 1), (1,)], [1.0, 1.0, 1.0], 0.0)
    errors = dict(zip([(0,), (0, 1), (1,)], [3.0, 4.0, 5.0], strict=True))
    estimator = SimpleNamespace(
        model_=SimpleNamespace(polynomial=graph),
        standard_errors_=np.array([errors[term] for term in graph.terms]),
    )
    half = Variable(1, None, np.ones(1), np.full(1, 0.5), np.ones(1))
    move = 0, (-1.0, 0), (1.0, 0)
    found = _independent_errors(estimator, [make_input(0), half], [move])
    # Over a way of 2, with the other input at its mean.
    assert_allclose(found, [np.hypot(2 * 3.0, 2 * 4.0 * 0.5)])


# ------------------------------------------------------------------------- classes

STRATEGIES = ["auto", "gp", "logistic", "full"]


@pytest.fixture(scope="module")
def hundred_rows():
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
def test_effects_are_differences_of_predictions(strategy, n_classes, hundred_rows):
    X, model = hundred_rows[0], fit_to_table(strategy, n_classes)
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
def test_importances_are_those_of_predictions(strategy, hundred_rows):
    """No column that predictions need is missing, nor one that they do not need."""
    X, y = hundred_rows
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
    missing = SimpleNamespace(imputations=lambda *_: [])
    model.model_ = StackedClassModel(
        members, shares, missing, members[0].listed_model, None, None
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


def test_errors_of_many_weights_are_not_known(replace_constants):
    replace_constants("skmohn.mohn._sparse.classes", max_joint=2)
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
    X, model = make_table(100)[0], fit_to_table(strategy, 2)
    rows = model._to_rows(X[:4])
    for member in model.model_.members:
        draws = member.sampler()(rows, 400, np.random.default_rng(0))
        center, spread = draws.mean(axis=1), draws.std(axis=1)
        expected = member.log_odds(rows)
        assert np.all(np.abs(center - expected) < 5.0 * spread / 20.0 + 1e-9)


def test_tables_survive_pickling(hundred_rows):
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


@pytest.mark.parametrize(("coding", "highest"), [("additive", 2.0), ("dominance", 1.0)])
def test_variants_move_between_values_that_they_have(coding, highest):
    rng = np.random.default_rng(0)
    counts = rng.binomial(2, [0.1, 0.5, 0.1], (300, 3))
    values = counts if coding == "additive" else (counts == 1).astype(int)
    y = 2.0 * values[:, 0] + values[:, 1] + 0.1 * rng.normal(size=300)
    model = MOHNRegressor("given", terms=[[0], [1]])
    table = model.fit(Genotypes.from_counts(counts, coding=coding), y).effects_table()
    moves = table.set_index("feature")
    assert moves.loc[["x0", "x1"], ["from", "to"]].to_numpy().tolist() == [
        [0.0, highest],
        np.quantile(values[:, 1], [0.25, 0.75]).tolist(),
    ]
    assert_allclose(moves["effect"]["x0"], 2.0 * highest, atol=0.1)
    # In no term: nothing is measured of it.
    assert moves.loc["x2", ["from", "to"]].isna().all()
    assert moves["effect"]["x2"] == 0.0


def test_errors_of_effects_are_those_of_the_weights():
    """In a balanced table the effect of a column is twice its weight."""
    bits = np.array(list(itertools.product([0, 1], repeat=6)) * 2)
    signs = 2.0 * bits - 1.0
    y = signs[:, 0] * signs[:, 1] - signs[:, 2] / 2.0
    y += 0.5 * np.random.default_rng(0).normal(size=128)
    model = MOHNRegressor("spike_slab", random_state=0).fit(bits, y)
    table = model.effects_table().set_index("feature")
    weights = np.array([model.weight_posterior([j]) for j in range(6)])
    effects = table.loc[[f"x{j}" for j in range(6)], ["effect", "standard_error"]]
    assert_allclose(effects, 2.0 * weights, rtol=1e-6, atol=1e-12)
    # That of a weight of least squares is the noise over the root of the rows.
    assert_allclose(effects["standard_error"]["x2"], 2.0 * 0.5 / 128**0.5, rtol=0.2)


def test_ends_of_moves_are_numbers_of_the_table():
    X = np.array([-4.0, *[-1.2] * 3, *[0.0] * 8, 0.4])[:, None]
    model = MOHNRegressor("given", terms=[[0]]).fit(X, X[:, 0] + np.arange(13) % 2)
    assert model.effects_table().loc[0, ["from", "to"]].tolist() == [-1.2, 0.0]


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
    member_fit = MemberFit.read(
        rows, (label, 2), (), (), "lines", memory_budget=1e9, seed=0
    )
    squares, _ = member_fit.learn("least squares")
    prior = squares.covariance.prior
    logistic, _ = member_fit.learn(
        "logistic", prior, prior._replace(signal_variance=5.0)
    )
    (posterior,), known = logistic.posteriors, member_fit.labels.sample.rows
    mode = LaplaceEvidence(known, member_fit.labels.counts).mode(
        0, Covariance(prior._replace(signal_variance=5.0)).between(known, known)
    )
    assert_allclose(posterior.latent_variance(known), mode.variance, rtol=1e-6)
    for member in (squares, logistic):
        draws = member.sampler()(known, 4000, np.random.default_rng(0))
        log_odds = draws[..., 1] - draws[..., 0]
        widths = np.ptp(member.axes, axis=1) * member.link.slope
        expected = widths * np.sqrt(member.posteriors[0].latent_variance(known))
        assert_allclose(log_odds.std(axis=1), expected, rtol=0.1)
