"""Terms that are always in the model, against regressing them out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmohn import (
    Genotypes,
    GPOptions,
    MOHNClassifier,
    MOHNRegressor,
    MOHNTransformer,
    MSDAOptions,
)
from skmohn.inspection import QQDisplay
from skmohn.mohn import _training_data
from skmohn.mohn._design.design import make_design
from skmohn.mohn._sparse.active_set import ActiveSet


def regress_out(columns, y):
    A = np.column_stack([np.ones(len(y)), *columns])
    return y - A @ np.linalg.lstsq(A, y)[0]


def weights_of(X, terms, y):
    columns = [X[:, list(term)].prod(axis=1) for term in terms]
    A = np.column_stack([np.ones(len(y)), *columns])
    return np.linalg.lstsq(A, y)[0][1:]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.choice([-1, 1], (300, 25))
    # Column 0 is a strong covariate, 1 one that does nothing, 2 x 3 an interaction.
    y = 4 * X[:, 0] + 2 * X[:, 2] * X[:, 3]
    y = y + X[:, 7] * X[:, 9] + 0.7 * X[:, 12] + rng.standard_normal(300)
    return X, y


ALWAYS = [(0,), (1,), (2, 3)]


@pytest.mark.parametrize("selection", ["auto", "ebic", "cv"])
@pytest.mark.parametrize("strategy", ["auto", "pursuit"])
def test_they_are_there_beside_what_is_found(data, strategy, selection):
    X, y = data
    model = MOHNRegressor(
        strategy, terms=ALWAYS, max_order=2, selection=selection, random_state=0
    ).fit(X, y)
    assert {(0,), (1,), (2, 3), (7, 9), (12,)} <= set(model.terms_)
    assert len(model.terms_) <= 6
    assert_allclose(model.weights_, weights_of(X, model.terms_, y), atol=0.02)
    table = model.significance_table()
    tried = dict(zip(table["term"], table["n_tried"], strict=True))
    assert [tried[name] for name in ("x0", "x1", "x2 x x3", "x12")] == [3, 3, 3, 25]
    assert tried["x7 x x9"] == 300


def test_what_is_found_is_as_with_them_regressed_out(data):
    X, y = data
    model = MOHNRegressor("pursuit", terms=ALWAYS, max_order=2, selection="ebic")
    others = set(model.fit(X, y).terms_) - set(ALWAYS)
    columns = [X[:, list(term)].prod(axis=1) for term in ALWAYS]
    plain = MOHNRegressor("pursuit", max_order=2, selection="ebic")
    assert set(plain.fit(X, regress_out(columns, y)).terms_) == others
    # Frisch and Waugh: weights are those of parts that covariates do not explain.
    parts = [
        regress_out(columns, X[:, list(term)].prod(axis=1)) for term in sorted(others)
    ]
    weights = np.linalg.lstsq(np.column_stack(parts), regress_out(columns, y))[0]
    known = dict(zip(model.terms_, model.weights_, strict=True))
    assert_allclose([known[term] for term in sorted(others)], weights)


@pytest.mark.slow_cases("signs")
@pytest.mark.parametrize("kind", ["signs", "genotypes"])
def test_wide_tables_have_them_in_each_fold(kind, replace_constants):
    replace_constants(_training_data, min_wide=100)
    rng = np.random.default_rng(1)
    if kind == "signs":
        X = values = rng.choice([-1, 1], (200, 120))
    else:
        counts = rng.binomial(2, 0.4, (200, 120))
        X, values = Genotypes.from_counts(counts), counts - counts.mean(axis=0)
    y = 6 * values[:, 0] + 2 * values[:, 30] * values[:, 110] + rng.standard_normal(200)
    model = MOHNRegressor(
        "pursuit", terms=[0, (5, 6)], max_order=2, selection="cv", cv=3, random_state=0
    ).fit(X, y)
    assert {(0,), (5, 6), (30, 110)} <= set(model.terms_)
    assert len(model.terms_) <= 4
    assert_allclose(model.weights_, weights_of(values, model.terms_, y))


def test_they_are_not_shrunken():
    # The lasso would be the best here.
    rng = np.random.default_rng(0)
    X = rng.choice([-1, 1], (60, 8))
    pairs = [(i, j) for j in range(8) for i in range(j)]
    y = X @ rng.normal(0, 0.4, 8) + 0.5 * rng.standard_normal(60)
    y += sum(rng.normal(0, 0.3) * X[:, i] * X[:, j] for i, j in pairs)
    plain = MOHNRegressor("pursuit", max_order=2, random_state=0).fit(X, y)
    assert "lasso" in plain.stopping_reason_
    model = plain.set_params(terms=[(0,)]).fit(X, y)
    assert (0,) in model.terms_
    assert_allclose(model.weights_, weights_of(X, model.terms_, y))


def test_sets_that_grow_and_shrink_keep_them():
    rng = np.random.default_rng(0)
    X, y = rng.choice([-1, 1], (50, 6)), rng.standard_normal(50)
    model = ActiveSet(make_design(X), y, [(0,), (1, 2)])
    model.add([(3,), (4,)])
    model.keep(np.zeros(5, dtype=bool))
    model.solve()
    assert model.terms == [(), (0,), (1, 2)]
    assert_allclose(model.coef[1:], weights_of(X, model.terms[1:], y))
    model.add([(3,)])
    model.clear()
    assert model.terms == [(), (0,), (1, 2)]
    assert_allclose(model.coef[1:], weights_of(X, model.terms[1:], y))


def test_higher_orders_numbers_names_and_refits(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    rng = np.random.default_rng(0)
    table = pd.DataFrame(X, columns=[f"v{j}" for j in range(25)])
    table["age"] = rng.uniform(20, 80, 300)
    y = y + 0.2 * table["age"]
    model = MOHNRegressor("pursuit", terms=["age"], random_state=0).fit(table, y)
    assert (25,) in model.terms_
    assert {(0,), (2, 3), (7, 9)} <= set(model.terms_)
    twice = model.set_params(warm_start=True).fit(table, y)
    assert len(set(twice.terms_)) == len(twice.terms_)
    assert (25,) in twice.terms_
    piped = make_pipeline(
        StandardScaler(), MOHNRegressor("pursuit", terms=[25], max_order=2)
    ).fit(table.to_numpy(), y)
    assert (25,) in piped[-1].terms_
    display = QQDisplay.from_estimator(model, table, y)
    assert np.isnan(display.columns[25])
    exact = MOHNRegressor("pursuit", terms=[(1,)]).fit(X, X[:, 3] * X[:, 4] * X[:, 5])
    assert exact.terms_ == [(1,), (3, 4, 5)]
    assert_allclose(exact.weights_, [0, 1], atol=1e-12)


def test_what_is_refused(data):
    X, y = data
    for strategy in ("gp", "msda", "full"):
        with pytest.raises(
            ValueError, match=f"terms: strategy='{strategy}' takes none"
        ):
            MOHNRegressor(strategy, terms=[0]).fit(X, y)
    for name in ("selection", "learning_rule"):
        with pytest.raises(ValueError, match=f'{name}="lasso" would shrink'):
            MOHNRegressor("pursuit", terms=[0], **{name: "lasso"}).fit(X, y)
    with pytest.raises(
        ValueError, match=r"terms has .*'age'.*, but 'age' is not a feature"
    ):
        MOHNRegressor("pursuit", terms=["age"]).fit(X, y)
    constant = X.copy()
    constant[:, 4] = 1
    with pytest.raises(ValueError, match="column 4 of X is constant"):
        MOHNRegressor("pursuit", terms=[4]).fit(constant, y)
    with pytest.raises(ValueError, match="column 4 of X is constant"):
        MOHNRegressor("pursuit", terms=[4]).fit(np.ones_like(X), y)
    constant[:, 4] = X[:, 5]
    model = MOHNRegressor("pursuit", terms=[4, 5], max_order=1)
    with pytest.warns(UserWarning, match="1 of 2 terms given cannot be told apart"):
        model.fit(constant, y)
    letters = np.array(list("abc") * 100, dtype=object)[:, None]
    with pytest.raises(ValueError, match="terms is for sparse models"):
        MOHNRegressor(terms=[0]).fit(np.hstack([X.astype(object), letters]), y)


@pytest.mark.slow_cases("False-auto|False-pursuit|True-auto|True-logistic|True-pursuit")
@pytest.mark.parametrize("strategy", ["auto", "logistic", "pursuit"])
@pytest.mark.parametrize("include_inputs", [False, True])
def test_classes_take_terms_too(data, strategy, include_inputs):
    X, y = data
    classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    options = {"max_order": 3, "include_inputs": include_inputs, "selection": "ebic"}
    for labels in (classes, classes > 0):
        found = [
            kind(strategy, terms=terms, **options).fit(X, labels).terms_
            for kind in (MOHNClassifier, MOHNTransformer)
            for terms in (None, [(1, 2, 4), 5])
        ]
        for plain, listed in (found[:2], found[2:]):
            assert (1, 2, 4) not in plain
            assert {(1, 2, 4), (5,)} <= set(listed)
            assert len(set(listed)) == len(listed)
    numbers = MOHNTransformer("pursuit", terms=[(1, 2, 4)], max_order=3).fit(X, y)
    assert (1, 2, 4) in numbers.terms_


@pytest.mark.slow
def test_terms_of_classes_are_there_where_columns_have_categories(data):
    X, y = data
    letters = np.random.default_rng(0).choice(list("abc"), len(X))
    table = np.hstack([X.astype(object), letters[:, None]])
    last = X.shape[1]
    for strategy in ("auto", "logistic", "pursuit"):
        model = MOHNClassifier(strategy, terms=[[(last, "c"), 1]], include_inputs=False)
        assert (1, (last, "c")) in model.fit(table, y > 0).terms_


def test_terms_count_as_columns_and_have_an_order(data):
    X, y = data
    model = MOHNClassifier("logistic", terms=[1, 2], max_terms=1)
    with pytest.raises(ValueError, match="of X and terms given"):
        model.set_params(include_inputs=False).fit(X, y > 0)
    model.set_params(max_terms=3).fit(X, y > 0)
    assert {(1,), (2,)} < set(model.terms_)
    assert len(model.terms_) == 3
    with pytest.raises(ValueError, match="above max_order=1"):
        MOHNClassifier("pursuit", max_order=1, terms=[(1, 2)]).fit(X, y > 0)


@pytest.mark.parametrize(
    ("kind", "strategy", "name", "value"),
    [
        *[(MOHNClassifier, s, "terms", [0]) for s in ("gp", "full")],
        (MOHNTransformer, "full", "terms", [0]),
        (MOHNClassifier, "gp", "max_terms", 5),
        (MOHNClassifier, "gp", "include_inputs", False),
        (MOHNClassifier, "gp", "C", 1.0),
        (MOHNClassifier, "gp", "selection", "cv"),
        (MOHNClassifier, "logistic", "gp_options", GPOptions()),
        (MOHNRegressor, "pursuit", "msda_options", MSDAOptions()),
        (MOHNRegressor, "gp", "learning_rule", "lasso"),
        (MOHNRegressor, "spike_slab", "learning_rule", "delta"),
        (MOHNRegressor, "given", "selection", "ebic"),
        (MOHNRegressor, "msda", "selection", "ebic"),
    ],
)
def test_no_parameter_is_ignored(data, kind, strategy, name, value):
    X, y = data
    model = kind(strategy, **{name: value})
    with pytest.raises(ValueError, match=f"{name}: strategy='{strategy}' takes none"):
        model.fit(X, y > 0)


@pytest.mark.parametrize("rule", ["ols", "lasso"])
def test_no_rows_are_held_out_for_nothing(data, rule):
    X, y = data
    for how in ({"strategy": "full"}, {"strategy": "given", "terms": [0]}):
        model = MOHNRegressor(**how, learning_rule=rule, max_order=1)
        with pytest.raises(ValueError, match="has nothing to stop but the delta rule"):
            model.set_params(early_stopping=True).fit(X, y)
        model.set_params(learning_rule="delta").fit(X, y)


@pytest.mark.parametrize("name", ["learning_rule", "selection"])
def test_categories_leave_no_choice_of_few_weights(data, name):
    X, y = data
    letters = np.array(list("abc") * 100, dtype=object)[:, None]
    table = np.hstack([X.astype(object), letters])
    with pytest.raises(ValueError, match=f"{name}='lasso' is for sparse models"):
        MOHNRegressor(**{name: "lasso"}).fit(table, y)
