"""InteractionGraph and proportions of variance, against enumeration of all inputs."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from skmohn import GPOptions, MOHNRegressor
from skmohn.datasets import make_mk_trap, make_sparse_walsh
from skmohn.mohn import InteractionGraph


def bits(n_rows, n_columns, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (n_rows, n_columns))


# ------------------------------------------------------------------------ linkage


def test_linkage_of_known_terms():
    linkage = MOHNRegressor.from_terms(
        [(4,), (5, 6), (0, 1, 3), (3, 7), (2, 6)], np.ones(5), n_features=9
    ).interaction_graph_
    assert linkage.components == ((0, 1, 3, 7), (2, 5, 6), (4,))
    assert linkage.unused == (8,)
    assert linkage.is_decomposable
    assert linkage.neighbors(3) == (0, 1, 7)
    assert linkage.neighbors(4) == linkage.neighbors(8) == ()


SETS = st.sets(st.frozensets(st.integers(0, 7), min_size=1, max_size=4), max_size=9)


@given(sets=SETS)
def test_linkage_equals_that_of_a_walk(sets):
    linkage = InteractionGraph.of_terms([tuple(s) for s in sets], 8)
    for i in range(8):
        linked = set().union(*(s for s in sets if i in s)) - {i}
        assert linkage.neighbors(i) == tuple(sorted(linked))
        seen, border = {i}, {i}
        while border:
            border = set().union(*(linkage.neighbors(j) for j in border)) - seen
            seen |= border
        is_used = any(i in s for s in sets)
        assert (tuple(sorted(seen)) in linkage.components) == is_used
        assert (i in linkage.unused) != is_used
    sizes = list(map(len, linkage.components))
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) + len(linkage.unused) == 8


def test_components_of_learned_traps_are_the_traps():
    traps = make_mk_trap(4, 5, n_samples=800, random_state=0)
    linkage = MOHNRegressor().fit(traps.X, traps.y).interaction_graph_
    assert linkage.components == tuple(tuple(range(i, i + 4)) for i in range(0, 20, 4))
    assert linkage.is_decomposable


def test_no_column_with_a_share_of_the_variance_is_unused():
    # Each level of a numeric column has a weight, none of which need be significant.
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 4))
    y = 3 * X[:, 1] + rng.normal(scale=0.7, size=60)
    for kind in ("gp", "spike_slab"):
        model = MOHNRegressor(kind, random_state=0).fit(X, y)
        model.terms_, model.weights_ = [], np.empty(0)
        totals, unused = (
            model.feature_importances_,
            set(model.interaction_graph_.unused),
        )
        assert totals[1] > 0.3
        assert unused == set(np.flatnonzero(totals < 0.01).tolist())
        assert sum(model.interaction_graph_.components, ()).count(1) == 1
    few = MOHNRegressor.from_terms([(0,)], [1.0], n_features=2)
    assert few.interaction_graph_.unused == (1,)


def test_linkage_knows_names():
    model = MOHNRegressor.from_terms(
        [("dose", "sex"), ("age",)], [1.0, 2.0], feature_names=["age", "dose", "sex"]
    )
    assert model.interaction_graph_.neighbors("dose") == (2,)
    assert model.interaction_graph_.neighbors(2) == (1,)
    with pytest.raises(ValueError, match=r"column='day' is not a.*'age', 'dose'"):
        model.interaction_graph_.neighbors("day")
    with pytest.raises(ValueError, match=r"column=3 is not a column.*0 to 2"):
        model.interaction_graph_.neighbors(3)
    with pytest.raises(ValueError, match="column=-1 is not a column"):
        InteractionGraph.of_terms([(0, 1)], 2).neighbors(-1)


@pytest.mark.parametrize(
    ("term", "words"),
    [
        ((50_000_000,), "50000000 is not one of the 2 columns"),
        ((2,), "from 0 to 1"),
        ((1, -1), r"\(1, -1\), but -1 is not"),
        ((0.5,), r"0\.5 is not"),
        (("a",), "'a' is not"),
        ((), r"\(\), an empty set"),
        (([1],), r"\[1\] is not a feature"),
        ((True,), "True is not"),
    ],
)
def test_linkage_of_what_is_no_column_is_refused(term, words):
    with pytest.raises(ValueError, match=words):
        InteractionGraph.of_terms([(0,), term], 2)


def test_model_without_terms_is_unlinked():
    model = MOHNRegressor().fit(bits(30, 6), np.ones(30))
    assert model.interaction_graph_.components == ()
    assert model.interaction_graph_.unused == tuple(range(6))
    assert not model.interaction_graph_.is_decomposable


def test_weight_of_zero_does_not_link():
    model = MOHNRegressor.from_terms([(0, 1), (2,)], [0.0, 1.0])
    assert model.interaction_graph_.components == ((2,),)


def test_columns_of_a_one_hot_group_are_linked():
    rng = np.random.default_rng(0)
    categories = rng.integers(0, 4, 200)
    X = np.column_stack([np.eye(4)[categories], rng.integers(0, 2, (200, 2))])
    y = 3.0 * (categories == 2) * X[:, 4] + 0.1 * rng.standard_normal(200)
    model = MOHNRegressor("gp", gp_options=GPOptions(one_hot="auto", clip=False)).fit(
        X, y
    )
    assert model.one_hot_groups_ == [(0, 1, 2, 3)]
    model.terms_, model.weights_ = [(2, 4)], np.ones(1)
    assert model.interaction_graph_.components == ((0, 1, 2, 3, 4),)
    assert model.interaction_graph_.neighbors(4) == (2,)
    assert model.interaction_graph_.unused == (5,)
    model.terms_ = [(4, 5)]
    # The group explains most, and is a part of its own beside these.
    assert model.interaction_graph_.components == ((0, 1, 2, 3), (4, 5))


def test_unfitted_model_tells_nothing():
    for ask in (
        lambda m: m.interaction_graph_,
        lambda m: m.sobol_indices(),
        lambda m: m.explain([1]),
    ):
        with pytest.raises(NotFittedError):
            ask(MOHNRegressor())


# ------------------------------------------------------------------ Sobol indices


def by_definition(values):
    """Sobol indices of values on a grid of all inputs, by conditional variances."""
    axes = range(values.ndim)
    first = [values.mean(axis=tuple(a for a in axes if a != i)).var() for i in axes]
    total = [values.var(axis=i).mean() for i in axes]
    return np.array(first) / values.var(), np.array(total) / values.var()


def check_indices(model, axes, columns=None):
    """Compare with those of the predictions at all combinations of values."""
    rows = list(itertools.product(*axes))
    shape = [len(axis) for axis in axes]
    frame = np.array(rows) if columns is None else pd.DataFrame(rows, columns=columns)
    first, total = by_definition(model.predict(frame).reshape(shape))
    table = model.sobol_indices("uniform")
    assert_allclose(table["first_order"], first, rtol=1e-6, atol=1e-9)
    assert_allclose(table["total"], total, rtol=1e-6, atol=1e-9)


def test_indices_of_a_sparse_model():
    model = MOHNRegressor.from_terms(
        [(0,), (0, 1), (1, 2, 3), (5,)], [1.0, -2.0, 0.5, 3.0],
        intercept=7.0, n_features=6, low=0.0, high=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    )  # fmt: skip
    check_indices(model, [(0.0, float(high)) for high in range(1, 7)])
    table = model.sobol_indices()
    assert table["feature"].tolist() == [f"x{i}" for i in range(6)]
    assert table["total"][0] == pytest.approx(5 / 14.25)


def test_numeric_columns_are_uniform_over_their_range():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(2, 5, 200), rng.random(200), np.arange(200) % 2])
    X[:2, :2] = [[2, 0], [5, 1]]
    y = X[:, 0] + 3 * X[:, 1] * X[:, 2] + X[:, 2]
    model = MOHNRegressor("full").fit(X, y)
    # The mean of a polynomial of degree 2 at these two is its mean over the range.
    root = 3**-0.5
    middle = [(3.5 - 1.5 * root, 3.5 + 1.5 * root), (0.5 - root / 2, 0.5 + root / 2)]
    check_indices(model, [*middle, (0.0, 1.0)])
    table = model.terms_table()
    assert table["variance_share"].sum() == pytest.approx(1.0)
    place = table["term"].tolist().index("x1 x x2")
    rows = np.array(list(itertools.product(*middle, (0.0, 1.0))))
    share = (0.75 / 2) ** 2 * 4 / 3 / model.predict(rows).var()
    assert table["variance_share"][place] == pytest.approx(share)


def test_indices_of_all_weights():
    data = make_sparse_walsh(8, {1: 4, 2: 4}, n_samples=150, noise=0.3, random_state=0)
    model = MOHNRegressor("gp", gp_options=GPOptions(clip=False)).fit(data.X, data.y)
    check_indices(model, [(-1.0, 1.0)] * 8)


def test_indices_of_categories():
    categories = [["A", "C", "G", "T"], ["big", "mid", "tiny"], ["no", "yes"]]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {f"c{i}": rng.choice(part, 120) for i, part in enumerate(categories)}
    )
    frame["flag"] = rng.integers(0, 2, 120)
    y = 2.0 * (frame["c0"] == "G") * frame["flag"] + (frame["c1"] == "big")
    y += 0.1 * rng.standard_normal(120) - 1.0 * (frame["c2"] == "yes")
    model = MOHNRegressor("gp", gp_options=GPOptions(clip=False)).fit(frame, y)
    check_indices(model, [*categories, (0, 1)], frame.columns)


@pytest.mark.slow
def test_levels_belong_to_their_column():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 10, 200), rng.integers(0, 2, 200)])
    step = (X[:, 0] > 4) & (X[:, 0] < 7)
    y = 2.0 * step + 1.5 * step * X[:, 1] + 0.05 * rng.standard_normal(200)
    model = MOHNRegressor("gp", gp_options=GPOptions(clip=False)).fit(X, y)
    assert model.coding_.thresholds.keys() == {0}
    low, high = X[:, 0].min(), X[:, 0].max()
    dose = low + (high - low) * (np.arange(20_000) + 0.5) / 20_000
    rows = np.array(list(itertools.product(dose, (0.0, 1.0))))
    first, total = by_definition(model.predict(rows).reshape(20_000, 2))
    table = model.sobol_indices("uniform")
    assert_allclose(table["first_order"], first, atol=1e-3)
    assert_allclose(table["total"], total, atol=1e-3)
    assert model.interaction_graph_.components == ((0, 1),)
    shares = model.terms_table()["variance_share"]
    assert 0.3 < shares.sum() <= 1.0
    table = model.explain(X[7])
    assert np.sum(table["contribution"]) == pytest.approx(model.predict(X[7:8])[0])


def test_columns_of_a_one_hot_group_have_its_indices():
    rng = np.random.default_rng(0)
    categories = rng.integers(0, 3, 150)
    X = np.column_stack([np.eye(3)[categories], rng.integers(0, 2, 150), np.ones(150)])
    y = 1.0 * (categories == 1) + X[:, 3] + 0.1 * rng.standard_normal(150)
    model = MOHNRegressor("gp", gp_options=GPOptions(one_hot="auto", clip=False)).fit(
        X, y
    )
    table = model.sobol_indices("uniform")
    rows = [[*np.eye(3)[k], bit, 1.0] for k in range(3) for bit in (0, 1)]
    first, total = by_definition(model.predict(rows).reshape(3, 2))
    assert_allclose(table["first_order"], [*[first[0]] * 3, first[1], 0.0], atol=1e-9)
    assert_allclose(table["total"], [*[total[0]] * 3, total[1], 0.0], atol=1e-9)


def test_indices_of_a_constant_are_zero():
    table = MOHNRegressor().fit(bits(30, 5), np.full(30, 2.0)).sobol_indices()
    assert_allclose(table["total"], 0.0)
    assert_allclose(table["first_order"], 0.0)


def test_indices_of_known_terms():
    model = MOHNRegressor.from_terms([("a",), ("a", "b")], [3.0, 4.0],
                                     feature_names=["a", "b"])  # fmt: skip
    assert model.sobol_indices().to_dict("list") == {
        "feature": ["a", "b"],
        "first_order": pytest.approx([9 / 25, 0.0]),
        "total": pytest.approx([1.0, 16 / 25]),
    }


# -------------------------------------------------------------------- explanations


def total(table):
    return np.sum(table["contribution"])


def test_contributions_add_up_to_the_prediction():
    data = make_sparse_walsh(
        12, {1: 3, 2: 4, 3: 2}, heredity=None, n_samples=200, random_state=0
    )
    model = MOHNRegressor().fit(data.X, data.y)
    X = data.X[:5].astype(float)
    X[0, [0, 3]] = np.nan
    for row, prediction in zip(X, model.predict(X), strict=True):
        table = model.explain(row)
        assert total(table) == pytest.approx(prediction)
        assert table["term"][0] == "(constant)"
        assert len(table) == 1 + len(model.terms_)
        sizes = np.abs(table["contribution"][1:])
        assert np.all(np.diff(sizes) <= 0)
        for found in table[1:].itertuples():
            term = tuple(int(name[1:]) for name in found.term.split(" x "))
            coef = model.weights_[model.terms_.index(term)]
            parity = np.prod(row[list(term)])
            assert found.weight == coef
            assert found.value == (0.0 if np.isnan(parity) else parity)
            assert found.contribution == coef * found.value


@pytest.fixture(scope="module")
def with_categories():
    """All weights of a categorical of four categories, two text values and a number."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "base": rng.choice(["A", "C", "G", "T"], 120),
            "sex": rng.choice(["female", "male"], 120),
            "dose": rng.uniform(0, 3, 120),
        }
    )
    y = 2.0 * (frame["base"] == "G") * frame["dose"] + 1.0 * (frame["sex"] == "male")
    y += 0.05 * rng.standard_normal(120)
    return MOHNRegressor("gp", gp_options=GPOptions(clip=False)).fit(frame, y), frame


def test_contributions_of_categories(with_categories):
    model, frame = with_categories
    for place, prediction in enumerate(model.predict(frame[:20])):
        table = model.explain(frame.iloc[place])
        assert total(table) == pytest.approx(prediction)
        assert "(other weights of dose)" in set(table["term"])
        own = f"base={frame['base'][place]}"
        categories = table[table["term"].str.contains("base=")]
        assert len(categories) > 2
        has = categories["term"].str.contains(own)
        assert (categories["value"][~has] == 0).all()
        assert (categories["value"][has] != 0).all()
        by_name = table.set_index("term")
        sign = 1 if frame["sex"][place] == "male" else -1
        assert by_name.loc["sex=male", "value"] == sign
        if f"{own} x dose" in by_name.index:
            found = by_name.loc[f"{own} x dose"]
            weight, _ = model.weight_posterior([("base", frame["base"][place]), "dose"])
            assert found["weight"] == pytest.approx(weight)


def test_unknown_category_contributes_nothing(with_categories):
    model, frame = with_categories
    row = frame[:1].astype(object)
    row.loc[0, "base"] = None
    table = model.explain(row)
    assert total(table) == pytest.approx(model.predict(row)[0])
    categories = table[table["term"].str.contains("base=")]
    assert (categories["contribution"] == 0).all()


@pytest.mark.parametrize("row", [5, None, "ab", {"a": 1, "b": 1}])
def test_what_is_no_row_is_refused(row):
    model = MOHNRegressor.from_terms([("a", "b")], [1.0], feature_names=["a", "b"])
    with pytest.raises(ValueError, match="x must be one row, with a value for"):
        model.explain(row)
    with pytest.raises(ValueError, match="x must be one row, got parts"):
        model.explain([row, [1.0, 2.0]])


def test_what_clip_adds_is_listed():
    X = bits(60, 6).astype(float)
    y = np.maximum(2 * X[:, 0] + X[:, 1] * X[:, 2] - 1.0, 0.0)
    model = MOHNRegressor("gp").fit(X, y)
    tables = [model.explain(row) for row in X]
    clipped = [t["term"].iloc[-1] == "(clip)" for t in tables]
    assert any(clipped)
    assert not all(clipped)
    assert_allclose(list(map(total, tables)), model.predict(X), atol=1e-12)


def test_a_row_has_many_forms(with_categories):
    model, frame = with_categories
    expected = model.explain(frame[3:4])
    pd.testing.assert_frame_equal(model.explain(frame.iloc[3]), expected)
    with pytest.warns(UserWarning, match="valid feature names"):
        found = model.explain(frame.iloc[3].tolist())
    pd.testing.assert_frame_equal(found, expected)
    plain = MOHNRegressor.from_terms([(0, 1)], [2.0])
    for row in (
        [1, -1],
        (1.0, -1.0),
        np.array([1, -1]),
        np.array([[1, -1]]),
        [[1, -1]],
    ):
        assert total(plain.explain(row)) == -2.0
    with pytest.raises(ValueError, match="x must be one row, got 2"):
        plain.explain([[1, 1], [1, -1]])
    with pytest.raises(ValueError, match="3 features"):
        plain.explain([1, 1, 1])


def test_explanation_of_known_terms():
    model = MOHNRegressor.from_terms([(0, 1)], [2.0], intercept=1.0)
    assert model.explain([-1, 1]).to_dict("list") == {
        "term": ["(constant)", "x0 x x1"],
        "value": [1.0, -1.0],
        "weight": [1.0, 2.0],
        "contribution": [1.0, -2.0],
    }
