"""Categorical columns of MOHNRegressor: categories, unknown values, one-hot groups."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from skmohn import EnergyNetTransformer, GPOptions, MOHNRegressor
from skmohn._core._categories import Categories
from skmohn.mohn._gp.model import fit_gp
from skmohn.mohn._gp.term_variances import screen
from skmohn.mohn._table.rows import Categorical, EncodedRows
from skmohn.mohn._table.term_names import TermNames

SITES = {"base": ["A", "C", "G", "T"], "size": ["big", "mid", "tiny"]}


def make_frame(n_rows=140, seed=0, noise=0.1):
    """Columns of 4, 3 and 2 categories, and a column of two numbers."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "base": rng.choice(SITES["base"], n_rows),
            "flag": rng.integers(0, 2, n_rows),
            "size": rng.choice(SITES["size"], n_rows),
            "sex": rng.choice(["female", "male"], n_rows),
        }
    )
    is_g, is_big = frame["base"] == "G", frame["size"] == "big"
    y = 3.0 + 2.0 * is_g + 1.5 * (is_g & is_big) - 1.0 * is_big + 0.7 * frame["flag"]
    y += 0.8 * (frame["sex"] == "male") * (1 - 2 * frame["flag"])
    return frame, y.to_numpy() + noise * rng.standard_normal(n_rows)


def whole_frame():
    """Every combination once, the flag and the sex as in `make_frame`."""
    rows = itertools.product(*SITES.values(), [0, 1], ["female", "male"])
    frame = pd.DataFrame(list(rows), columns=["base", "size", "flag", "sex"])
    return frame[["base", "flag", "size", "sex"]]


@pytest.fixture(scope="module")
def fitted():
    return MOHNRegressor("gp", gp_options=GPOptions(clip=False)).fit(*make_frame())


# ------------------------------------------------------------------- two categories


def two_categories(n_rows=120):
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (n_rows, 5))
    y = 1 + signs[:, 0] - 2 * signs[:, 1] * signs[:, 2] + signs[:, 3] * signs[:, 4]
    text = pd.DataFrame(
        {
            "a": np.where(signs[:, 0] > 0, "yes", "no"),
            "b": np.where(signs[:, 1] > 0, "x86", "arm"),
            "c": signs[:, 2],
            "d": np.where(signs[:, 3] > 0, "on", "off"),
            "e": signs[:, 4],
        }
    )
    return signs, text, y + 0.1 * rng.standard_normal(n_rows)


@pytest.fixture(
    scope="module",
    params=[
        MOHNRegressor("pursuit"),
        MOHNRegressor("gp"),
        MOHNRegressor("msda", random_state=0, max_iter=30),
        MOHNRegressor("full", max_order=2),
        MOHNRegressor("given", terms=[(0,), (1, 2), (3, 4)]),
    ],
    ids=lambda model: model.strategy,
)
def on_signs(request):
    """A model of the same table with signs in the place of categories."""
    signs, _, y = two_categories()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return request.param.fit(signs, y)


# Each strategy reads one kind of table, and one strategy all kinds.
@pytest.mark.slow_cases("(?!(pursuit-.*|.*-frame)$).*")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame,
        lambda frame: frame.astype({"a": "category", "b": "string", "d": object}),
        lambda frame: frame.to_numpy(dtype=object),
        lambda frame: frame.to_numpy(dtype=object).tolist(),
        pl.from_pandas,
    ],
    ids=["frame", "dtypes", "objects", "lists", "polars"],
)
def test_two_categories_are_an_input_of_minus_and_plus_one(on_signs, convert):
    signs, text, y = two_categories()
    table = convert(text)
    model = clone(on_signs).fit(table, y)
    assert model.terms_ == on_signs.terms_
    assert_array_equal(model.weights_, on_signs.weights_)
    assert_array_equal(model.predict(table), on_signs.predict(signs))
    assert {j: v.tolist() for j, v in model.categories_.items()} == {
        0: ["no", "yes"],
        1: ["arm", "x86"],
        3: ["off", "on"],
    }
    assert model.is_categorical_.tolist() == [True, True, False, True, False]


def test_table_says_which_category_is_plus_one():
    _, text, y = two_categories()
    model = MOHNRegressor("gp").fit(text, y)
    assert {"a=yes", "b=x86 x c", "d=on x e"} <= set(model.terms_table()["term"])
    mean, std = model.weight_posterior(["b", "c"])
    assert mean == pytest.approx(-2, abs=0.1)
    assert model.weight_posterior([("b", "x86"), "c"]) == (mean, std)
    assert model.weight_posterior([("b", "arm"), "c"]) == (-mean, std)


# ------------------------------------------------------------------------ oracles


def test_equals_the_core_on_categories_numbered_by_hand():
    X, y = make_frame()
    T, _ = make_frame(seed=1)

    def to_rows(frame):
        categories = np.stack(
            [[SITES[name].index(v) for v in frame[name]] for name in SITES], axis=1
        )
        signs = np.stack([2 * frame["flag"] - 1, 2 * (frame["sex"] == "male") - 1])
        return EncodedRows(signs.T.astype(float), categories)

    # Choosing a scale would begin the climb elsewhere.
    control = GPOptions(clip=False, target_transform=None)
    fitted = MOHNRegressor("gp", gp_options=control).fit(X, y)
    model = fit_gp(to_rows(X), y, alphabets=(Categorical(4), Categorical(3)), seed=0)
    assert_allclose(
        fitted.predict(T), model.predictive_mean(to_rows(T), clip=False), rtol=1e-12
    )


def test_numbers_named_as_categories_equal_text(fitted):
    X, y = make_frame()
    coded = X.copy()
    coded[["base", "size", "sex"]] = (
        OrdinalEncoder().fit_transform(X[["base", "size", "sex"]]) * 10 + 5
    )
    expected = fitted.predict(X)
    for wanted in (["base", "size", "sex"], [0, 2, 3], [True, False, True, True]):
        model = MOHNRegressor(
            "gp", gp_options=GPOptions(clip=False), categorical_features=wanted
        )
        assert_allclose(model.fit(coded, y).predict(coded), expected, rtol=1e-12)
        assert_array_equal(model.categories_[0], [5, 15, 25, 35])


def test_prediction_is_that_of_a_gaussian_process_with_a_kernel_per_categorical():
    X, y = make_frame()
    model = MOHNRegressor("gp", gp_options=GPOptions(noise="constant", clip=False)).fit(
        X, y
    )
    prior = model.model_.prior
    b = {"base": prior.category_rates[:4], "size": prior.category_rates[4:]}
    assert model.model_.covariance.terms == ((0, 1),)
    (strong,) = model.model_.covariance.variances

    def kernel(left, right):
        product = prior.signal_variance * np.ones((len(left), len(right)))
        linear, parity = np.zeros_like(product), np.ones_like(product)
        for tau, column in zip(prior.tau, ("flag", "sex"), strict=True):
            same = left[column].to_numpy()[:, None] == right[column].to_numpy()
            product *= np.where(same, 1.0, (1 - tau) / (1 + tau))
            parity *= np.where(same, 1.0, -1.0)
            linear += tau * np.where(same, 1.0, -1.0)
        for name, categories in SITES.items():
            plain = np.exp(-b[name][:, None] - b[name])
            np.fill_diagonal(plain, 1.0)
            center = np.eye(len(categories)) - 1.0 / len(categories)
            at = [[categories.index(v) for v in side[name]] for side in (left, right)]
            product *= plain[np.ix_(*at)]
            linear += (center @ plain @ center / plain.mean())[np.ix_(*at)]
        return product + prior.main_effect_variance * linear + 1.0 + strong * parity

    T, _ = make_frame(seed=1)
    z = (y - y.mean()) / y.std()
    K = kernel(X, X) + prior.noise_variance * np.eye(len(X))
    expected = y.mean() + y.std() * kernel(T, X) @ np.linalg.solve(K, z)
    assert_allclose(model.predict(T), expected, rtol=1e-8)


def test_weights_are_the_parts_of_the_function(fitted):
    frame = whole_frame()
    values = fitted.predict(frame)
    mean = values.mean()
    assert fitted.weight_posterior(())[0] == pytest.approx(mean, rel=1e-9)
    assert fitted.intercept_ == pytest.approx(mean, rel=1e-9)

    def average(**categories):
        keep = np.all([frame[k] == v for k, v in categories.items()], axis=0)
        return values[keep].mean()

    g, big = average(base="G") - mean, average(size="big") - mean
    assert fitted.weight_posterior([("base", "G")])[0] == pytest.approx(g, rel=1e-8)
    both = average(base="G", size="big") - mean - g - big
    pair = [("size", "big"), ("base", "G")]
    assert fitted.weight_posterior(pair)[0] == pytest.approx(both, rel=1e-8)
    half = (average(base="G", flag=1) - average(base="G", flag=0)) / 2
    half -= (average(flag=1) - average(flag=0)) / 2
    assert fitted.weight_posterior(["flag", ("base", "G")])[0] == pytest.approx(
        half, abs=1e-8
    )


def test_significant_categories_and_their_share_of_the_variance(fitted):
    assert ((0, "G"),) in fitted.terms_
    assert ((0, "G"), (2, "big")) in fitted.terms_
    assert (1, 3) in fitted.terms_
    for term, coef, error in zip(
        fitted.terms_, fitted.weights_, fitted.standard_errors_, strict=True
    ):
        assert fitted.weight_posterior(term) == pytest.approx((coef, error))
    table = fitted.terms_table().set_index("term")
    assert {"base=G", "base=G x size=big", "flag x sex=male"} <= set(table.index)
    values = fitted.predict(whole_frame())
    share = fitted.weight_posterior([("base", "G"), ("size", "big")])[0] ** 2 / 12
    expected = share / values.var()
    assert table.loc["base=G x size=big", "variance_share"] == pytest.approx(expected)
    assert 0.9 < table["variance_share"].sum() <= 1.0
    assert "2 inputs and 2 categorical columns" in fitted.stopping_reason_


def test_names_of_categories_and_order_of_columns_do_not_matter(fitted):
    X, y = make_frame()
    T, _ = make_frame(seed=1)

    def rename(frame):
        return frame.assign(
            base=frame["base"].map(dict(zip("ACGT", "zxyw", strict=True)))
        ).iloc[:, [3, 2, 0, 1]]

    model = MOHNRegressor("gp", gp_options=GPOptions(clip=False)).fit(rename(X), y)
    assert_allclose(model.predict(rename(T)), fitted.predict(T), atol=2e-3)
    assert ((1, "big"), (2, "y")) in model.terms_


def test_all_categories_of_a_categorical_share_a_function_that_sums_to_zero(fitted):
    weights = [fitted.weight_posterior([("base", v)])[0] for v in SITES["base"]]
    assert sum(weights) == pytest.approx(0, abs=1e-10)


def test_relevance_of_categoricals_and_of_a_column_that_does_not_matter():
    X, y = make_frame(seed=3)
    X["noise"] = np.random.default_rng(0).choice(["p", "q", "r"], len(X))
    relevance = MOHNRegressor("gp").fit(X, y).relevance_
    assert relevance.shape == (5,)
    assert relevance[4] < min(relevance[0], relevance[2])
    assert (relevance > 0).all()
    assert (relevance < 1).all()


def test_relevance_of_a_categorical_is_that_of_an_input_as_alike():
    X, y = make_frame()
    covariance = MOHNRegressor("gp").fit(X, y).model_.covariance
    rates = covariance.prior.category_rates[:4]
    pairs = [np.exp(-a - b) for a, b in itertools.combinations(rates, 2)]
    tau = covariance.categorical_tau()[0]
    assert (1 - tau) / (1 + tau) == pytest.approx(np.mean(pairs))


# ------------------------------------------------------------------ unknown values


@pytest.mark.parametrize("unknown", [None, np.nan, pd.NA])
def test_an_unknown_category_is_averaged_over(fitted, unknown):
    T, _ = make_frame(n_rows=10, seed=1)
    each = [fitted.predict(T.assign(base=category)) for category in SITES["base"]]
    hidden = T.astype({"base": object}).assign(base=unknown)
    assert_allclose(fitted.predict(hidden), np.mean(each, axis=0), rtol=1e-9)
    each = [fitted.predict(T.assign(sex=category)) for category in ("female", "male")]
    hidden = T.astype({"sex": object}).assign(sex=unknown)
    assert_allclose(fitted.predict(hidden), np.mean(each, axis=0), rtol=1e-9)


@pytest.mark.parametrize("strategy", ["pursuit", "gp"])
def test_new_categories_are_an_error_or_unknown(strategy):
    X, y = make_frame()
    X = X.drop(columns=["base", "size"])
    T = X.assign(sex="robot")
    model = MOHNRegressor(strategy).fit(X, y)
    with pytest.raises(ValueError, match=r"column sex has 'robot', which was not"):
        model.predict(T)
    model.set_params(handle_unknown="missing").fit(X, y)
    hidden = X.astype({"sex": object}).assign(sex=None)
    assert_array_equal(model.predict(T), model.predict(hidden))


@pytest.mark.parametrize("handle_unknown", ["error", "missing"])
def test_categories_read_as_another_type_are_refused(handle_unknown):
    codes = np.tile([1, 2, 3], 20)
    numbers = pd.DataFrame({"code": pd.Categorical(codes), "x": np.arange(60.0)})
    text = numbers.assign(code=codes.astype(str))
    model = MOHNRegressor("gp", handle_unknown=handle_unknown)
    model.fit(numbers, codes)
    with pytest.raises(ValueError, match=r"code has '1'.* not text .* 1: .*to_numeric"):
        model.predict(text)
    # Numbers of another type are the same categories.
    assert_array_equal(
        model.predict(numbers.assign(code=codes.astype(float))), model.predict(numbers)
    )
    model.set_params(categorical_features=["code"]).fit(text, codes)
    with pytest.raises(ValueError, match=r"code has 1, .* text .* '1': astype\(str\)"):
        model.predict(numbers)
    # In a column without any category nothing is of another type.
    empty = text.assign(code=pd.Series([None] * 60, dtype=object))
    model.fit(empty, codes)
    if handle_unknown == "missing":
        assert_array_equal(model.predict(numbers), model.predict(empty))


def test_a_new_category_of_a_categorical_is_an_error_or_unknown(fitted):
    T = make_frame(n_rows=10, seed=1)[0].assign(base="Z")
    with pytest.raises(ValueError, match=r"column base has 'Z'.*handle_unknown"):
        fitted.predict(T)
    model = MOHNRegressor("gp", handle_unknown="missing").fit(*make_frame())
    hidden = T.astype({"base": object}).assign(base=None)
    assert_array_equal(model.predict(T), model.predict(hidden))


def test_unknown_categories_in_fit():
    X, y = make_frame(n_rows=300)
    hidden = X.astype(object).where(
        np.random.default_rng(0).random(X.shape) > 0.1, other=None
    )
    hidden["flag"] = hidden["flag"].astype(float)
    model = MOHNRegressor("gp").fit(hidden, y)
    assert [categories.tolist() for categories in model.categories_.values()] == [
        SITES["base"],
        SITES["size"],
        ["female", "male"],
    ]
    T, t = make_frame(seed=1)
    assert model.score(T, t) > 0.95


# ------------------------------------------------------------------ one-hot groups


def one_hot_frame(X):
    encoder = OneHotEncoder(sparse_output=False)
    hot = encoder.fit_transform(X[["base", "size"]])
    names = encoder.get_feature_names_out()
    hot = pd.DataFrame(hot, columns=names)
    return pd.concat([hot.iloc[:, :4], X[["flag"]], hot.iloc[:, 4:]], axis=1)


def test_a_one_hot_group_equals_a_categorical_column():
    X, y = make_frame()
    hot = one_hot_frame(X)
    text = MOHNRegressor("gp").fit(X[["flag", "base", "size"]], y)
    groups = [list(hot.columns[:4]), [5, 6, 7]]
    for wanted in (groups, "auto"):
        model = MOHNRegressor("gp", gp_options=GPOptions(one_hot=wanted)).fit(hot, y)
        assert model.one_hot_groups_ == [(0, 1, 2, 3), (5, 6, 7)]
        assert_allclose(model.predict(hot), text.predict(X[["flag", "base", "size"]]))
        assert len(model.terms_) == len(text.terms_)
        pair = model.weight_posterior(["base_G", "size_big"])
        assert pair == pytest.approx(
            text.weight_posterior([("base", "G"), ("size", "big")])
        )
        assert "base_G x size_big" in set(model.terms_table()["term"])
        assert "2 categorical columns" in model.stopping_reason_
    assert MOHNRegressor("gp").fit(hot, y).one_hot_groups_ == []


def test_unknown_columns_of_a_one_hot_group():
    X, y = make_frame()
    hot = one_hot_frame(X)
    model = MOHNRegressor("gp", gp_options=GPOptions(one_hot="auto", clip=False)).fit(
        hot, y
    )
    T = hot.iloc[:5].copy()
    T.iloc[:, :4] = np.nan
    each = []
    for category in range(4):
        known = T.copy()
        known.iloc[:, :4] = np.eye(4)[category]
        each.append(model.predict(known))
    assert_allclose(model.predict(T), np.mean(each, axis=0), rtol=1e-9)
    # One 1 or all other 0 say what it is.
    T.iloc[:, 2] = 1
    assert_allclose(model.predict(T), each[2])
    T.iloc[:, :4] = [0, 0, np.nan, 0]
    assert_allclose(model.predict(T), each[2])


def test_only_runs_that_sum_to_one_are_recognized():
    rng = np.random.default_rng(0)
    group = np.eye(3)[rng.integers(0, 3, 60)]
    free = rng.integers(0, 2, (60, 3))
    X = np.hstack([free[:, :1], 1 - free[:, :1], group, free[:, 1:], np.zeros((60, 1))])
    model = MOHNRegressor("gp", gp_options=GPOptions(one_hot="auto")).fit(
        X, rng.standard_normal(60)
    )
    assert model.one_hot_groups_ == [(2, 3, 4)]


@pytest.mark.parametrize(
    ("one_hot", "message"),
    [
        ([[0, 1, 9]], "one_hot has 9, which is not a column"),
        ([["base_A", "nope"]], "one_hot has 'nope'"),
        ([[0, 1, 2]], r"columns \['base_A', 'base_C', 'base_G'\], but row"),
        ([[0, 1, 2, 3], [3, 4]], "in two groups"),
        ([[0, 0]], "repeats a column"),
        ([[0]], "at least two columns"),
    ],
)
def test_bad_one_hot_groups(one_hot, message):
    X, y = make_frame()
    with pytest.raises(ValueError, match=message):
        MOHNRegressor("gp", gp_options=GPOptions(one_hot=one_hot)).fit(
            one_hot_frame(X), y
        )


def test_rows_that_are_not_one_hot_are_refused():
    X, y = make_frame()
    hot = one_hot_frame(X)
    model = MOHNRegressor("gp", gp_options=GPOptions(one_hot="auto")).fit(hot, y)
    hot.iloc[7, :4] = 1
    with pytest.raises(ValueError, match="one-hot group, but row 7"):
        model.predict(hot)


# ----------------------------------------------------------------------- estimator


@pytest.mark.parametrize("strategy", ["pursuit", "msda", "full", "given"])
def test_sparse_strategies_take_two_categories(strategy):
    X, y = make_frame()
    model = MOHNRegressor(strategy, terms=[(0,)] if strategy == "given" else None)
    with pytest.raises(ValueError, match=r'column base.* has 4 categories.*="gp"'):
        model.fit(X, y)
    assert not hasattr(model, "terms_")


def test_bad_input_leaves_a_fitted_model_as_it_was():
    X, y = make_frame()
    model = MOHNRegressor("gp").fit(X, y)
    before = model.predict(X)
    mixed = X.assign(base=["a", 1] * (len(X) // 2), sex=[2, "b"] * (len(X) // 2))
    with pytest.raises(TypeError, match=r"column base: .* column sex: "):
        model.fit(mixed, y)
    assert_array_equal(model.predict(X), before)


@pytest.mark.slow
def test_any_number_of_categories():
    rng = np.random.default_rng(0)
    code, z = rng.permutation(np.arange(600) % 300), rng.integers(0, 2, 600)
    effects = rng.normal(size=300)
    y = 2.0 * z + effects[code] + 0.3 * rng.normal(size=600)
    X = pd.DataFrame({"code": code, "z": z})
    model = MOHNRegressor(
        "gp",
        categorical_features=["code"],
        gp_options=GPOptions(target_transform=None),
        random_state=0,
    ).fit(X, y)
    assert len(model.categories_[0]) == 300
    new = pd.DataFrame({"code": np.arange(300), "z": 1})
    assert np.corrcoef(model.predict(new), effects)[0, 1] > 0.9
    with pytest.raises(ValueError, match="column code has 300, which was not seen"):
        model.predict(new + 1)


def test_all_columns_that_are_wrong_are_named():
    X, y = make_frame()
    X = X.assign(day="2024-1-31", number=[str(i) for i in range(len(X))])
    expected = (
        "column base holds text, '[A-Z]', column size holds text, '\\w+', column sex "
        "holds text, '(fe)?male', column day holds text, '2024-1-31', but are not "
        "among categorical_features: add them there; pandas.to_datetime converts"
    )
    with pytest.raises(ValueError, match=expected):
        MOHNRegressor("gp", categorical_features=None).fit(X, y)
    X, y = make_frame()
    X["count"] = np.arange(len(X)) % 5
    model = MOHNRegressor("gp").fit(X, y)
    new = X.assign(base="new", sex="other")
    with pytest.raises(
        ValueError,
        match="column base has 'new', column sex has 'other', which were not seen",
    ):
        model.predict(new)
    wrong = X.assign(flag="b", count="c")
    expected = (
        "column flag holds text, 'b', column count holds text, 'c', where numbers"
    )
    with pytest.raises(ValueError, match=expected):
        model.predict(wrong)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(wrong[wrong.columns[::-1]])
    # More of them than anybody reads.
    many = pd.DataFrame({f"c{j}": ["a", "b"] * 10 for j in range(20)})
    with pytest.raises(ValueError, match="column c7 holds text, 'a' and 12 more, but"):
        MOHNRegressor("gp", categorical_features=[]).fit(many, np.arange(20.0))


@pytest.mark.parametrize("dtype", [object, "str", "string[python]"])
def test_text_that_has_an_order_is_warned_of(dtype):
    y = np.arange(30.0)
    X = pd.DataFrame(
        {
            "day": [f"2024-01-{1 + i % 9:02d}" for i in range(30)],
            "time": [f"{1 + i % 9}.2.2024 12:30" for i in range(30)],
            "weight": [f"{i % 4}.5" for i in range(30)],
            "code": [f"{i % 4}" for i in range(30)],
            "word": [f"w{i % 4}" for i in range(30)],
            "two": [f"{i % 2}.5" for i in range(30)],
        },
        dtype=dtype,
    )
    message = (
        r"column day \('2024-01-01', ...\) is text of dates: pandas.to_datetime "
        r"converts it to times, column time \('1.2.2024 12:30', ...\) is text of "
        r"dates: .*, "
        r"column weight \('0.5', ...\) is text of numbers: pandas.to_numeric "
        r"converts it to numbers; they are read as categories"
    )
    with pytest.warns(UserWarning, match=message):
        model = MOHNRegressor("gp").fit(X, y)
    assert model.is_categorical_.all()
    with pytest.warns(UserWarning, match=message):
        EnergyNetTransformer(None, 2, n_final_epochs=1, n_temperatures=10).fit(X)
    # Where it is meant, and of types that are for categories.
    MOHNRegressor("gp", categorical_features=list(X.columns)).fit(X, y)
    MOHNRegressor("gp").fit(X.astype("category"), y)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ([True, False], "mask of shape"),
        ([0, 7], "categorical_features has 7, which is not a column"),
        (["base", "sise"], "categorical_features has 'sise'"),
        ([0.5], "must be"),
        ([0, 0], "repeats a column"),
        (["base", "size"], "column sex holds text, '(fe)?male', but is not among"),
        (None, "holds text"),
    ],
)
def test_bad_categorical_features(wanted, message):
    X, y = make_frame()
    with pytest.raises(ValueError, match=message):
        MOHNRegressor("gp", categorical_features=wanted).fit(X, y)


def test_names_need_a_frame_and_categories_one_type():
    X, y = make_frame()
    with pytest.raises(ValueError, match="columns have no names"):
        MOHNRegressor("gp", categorical_features=["base"]).fit(X.to_numpy(), y)
    X = X.astype({"base": object})
    X.iloc[0, 0] = 3
    with pytest.raises(TypeError, match=r"column base: .*strings or numbers"):
        MOHNRegressor("gp").fit(X, y)


def test_lists_of_rows_may_have_categories():
    X = np.array([[0, 1], [1, 1], [2, 1], [2, 0]] * 8, dtype=float)
    y = X[:, 0] ** 2 - X[:, 1]
    model = MOHNRegressor("gp", categorical_features=[0])
    expected = model.fit(X, y).predict(X)
    given = [tuple(row) for row in X.tolist()]
    assert_allclose(model.fit(given, y.tolist()).predict(X.tolist()), expected)
    with pytest.raises(ValueError, match="inhomogeneous"):
        model.predict([[1.0, 0.0], [1.0]])


def test_sparse_tables_have_no_categories():
    X = csr_matrix(np.eye(4)[np.arange(40) % 4])
    model = MOHNRegressor("gp", categorical_features=[0])
    with pytest.raises(ValueError, match="categorical_features needs a dense table"):
        model.fit(X, np.arange(40.0))


def test_numbers_in_objects_and_digits_in_text():
    X, y = make_frame()
    numbers = X[["flag"]].assign(other=np.arange(len(X)) % 3).astype(object)
    model = MOHNRegressor("gp").fit(numbers, y)
    assert model.categories_ == {}
    digits = numbers.astype(str)
    model = MOHNRegressor("gp", categorical_features=None).fit(digits, y)
    assert model.categories_ == {}
    model = MOHNRegressor("gp").fit(digits, y)
    assert model.categories_[1].tolist() == ["0", "1", "2"]


@pytest.mark.slow_cases("object|category")
@pytest.mark.parametrize(
    "dtype",
    [
        "category",
        "string[pyarrow]",
        "string[python]",
        object,
        # Tables with names are compared.
        pytest.param(
            pl.Categorical, marks=pytest.mark.needs_sklearn("1.9", "names of polars 2")
        ),
    ],
)
def test_types_of_text(fitted, dtype):
    X, y = make_frame()
    names = ["base", "size", "sex"]
    if dtype is pl.Categorical:
        table = pl.from_pandas(X).with_columns(pl.col(names).cast(dtype))
    else:
        table = X.astype(dict.fromkeys(names, dtype))
    model = MOHNRegressor("gp", gp_options=GPOptions(clip=False)).fit(table, y)
    assert_array_equal(model.predict(table), fitted.predict(X))
    assert_array_equal(model.predict(X), fitted.predict(X))


@pytest.mark.parametrize(
    "convert",
    [lambda frame: frame, lambda frame: frame.to_numpy(dtype=object), pl.from_pandas],
    ids=["frame", "objects", "polars"],
)
def test_tables_of_numbers_are_written_as_they_were(convert):
    times = [np.datetime64("2024-01-02"), np.datetime64("1969-12-31T00:00:00.5")]
    times += [None, np.datetime64("2024-02-01T00:00:07")]
    frame = pd.DataFrame(
        {
            "text": ["b", "a", None, "b"],
            "flag": [True, False, True, True],
            "whole": [3, 1, 2, 7],
            "day": pd.to_datetime(times),
            "wait": pd.to_timedelta([1.5, 0.25, 3.0, None], unit="s"),
            "share": [0.5, 1.0, np.nan, 2.0],
        }
    )
    table = convert(frame)
    names = list(frame.columns)
    categories = Categories.learn(table, [0], names, "error")
    numbers = categories.encode(table, names)
    written = categories.decode(numbers)
    assert_array_equal(written[[0, 1, 3], 0], ["b", "a", "b"])
    assert np.isnan(written[2, 0])
    assert written[:, 1].tolist() == [True, False, True, True]
    assert [*map(type, written[0, 1:3])] == [bool, int]
    assert written[:, 2].tolist() == [3, 1, 2, 7]
    again = categories.encode(pd.DataFrame(written, columns=names), names)
    assert_array_equal(again, numbers)
    for j, value in enumerate(frame.iloc[0]):
        assert categories.number(j, value) == numbers[0, j]
    for value in ["c", None, np.nan, pd.NA, ["a"], 0]:
        assert np.isnan(categories.number(0, value))
    assert np.isnan(categories.number(3, pd.NaT))
    # A whole column between two of its numbers.
    assert categories.decode(np.array([[0, 1, 2.5, 0, 0, 0.0]]))[0, 2] == 2.5


def test_objects_of_several_types_are_written_as_floats():
    rows = [["a", True, None, 1], ["b", 2, None, 2.5], ["a", False, None, np.nan]]
    table = np.array(rows, dtype=object)
    categories = Categories.learn(table, [0], list("abcd"), "error")
    assert categories.kinds == {}
    assert categories.decode(np.ones((1, 4))).tolist() == [["b", 1.0, 1.0, 1.0]]


def test_categories_without_rows_are_no_categories():
    X, y = make_frame()
    X["base"] = pd.Categorical(X["base"], categories=[*SITES["base"], "N"])
    model = MOHNRegressor("gp").fit(X, y)
    assert model.categories_[0].tolist() == SITES["base"]


@pytest.fixture(scope="module")
def beside_a_constant():
    X, y = make_frame()
    return MOHNRegressor("gp", max_iter=3).fit(X.assign(same="A"), y)


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (["base"], r"not one of its categories: use pairs with one of \['A'"),
        ([("base", "Z")], "not one of its categories"),
        ([("sex", "robot")], r"pairs with one of \['female', 'male'\]"),
        ([("flag", 1)], "has no categories"),
        ([("base", "A"), ("base", "C")], "repeats a feature"),
        ([("nope", "A")], "not a feature"),
        ([("same", "A")], "constant"),
    ],
)
def test_terms_that_are_none(beside_a_constant, term, message):
    with pytest.raises(ValueError, match=message):
        beside_a_constant.weight_posterior(term)


def test_later_rows_draws_warm_starts_and_copies(fitted):
    X, y = make_frame()
    model = MOHNRegressor("gp", gp_options=GPOptions(noise="constant", clip=False))
    model.fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert model.score(*make_frame(seed=1)) > 0.95
    with pytest.raises(ValueError, match="column base has 'Z'"):
        model.partial_fit(X.assign(base="Z"), y)
    draws = fitted.sample_y(X[:5], 300)
    assert_allclose(draws.mean(axis=1), fitted.predict(X[:5]), atol=0.1)
    # Choosing a scale would begin the climb of the first fit.
    control = GPOptions(target_transform=None)
    again = MOHNRegressor("gp", warm_start=True, gp_options=control).fit(X, y)
    n_steps = len(again.history_)
    assert len(again.fit(X, y).history_) < n_steps
    assert again.fit(X.drop(columns="base"), y).categories_.keys() == {1, 2}
    copy = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(copy.predict(X), fitted.predict(X))


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_validation_rows_callbacks_and_cross_validation():
    from sklearn.callback import ScoringMonitor

    X, y = make_frame()
    T, t = make_frame(seed=1)
    monitor = ScoringMonitor(scoring="r2")
    model = MOHNRegressor("gp", gp_options=GPOptions(noise="constant"))
    model.set_callbacks(monitor).fit(X, y, X_val=T, y_val=t)
    expected = np.sqrt(np.mean((model.predict(T) - t) ** 2))
    assert model.history_[-1]["validation_rmse"] == pytest.approx(expected)
    scores = [row["r2"] for row in monitor.get_logs().data]
    assert scores[-1] == pytest.approx(model.score(X, y))
    scores = cross_val_score(MOHNRegressor("gp", early_stopping=True), X, y, cv=3)
    assert scores.min() > 0.9
    model.set_callbacks()
    with pytest.raises(ValueError, match="column base has 'Z'"):
        model.fit(X, y, X_val=T.assign(base="Z"), y_val=t)


def test_columns_must_be_those_of_fit(fitted):
    X, y = make_frame()
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(X.rename(columns={"base": "place"}))
    X = X.to_numpy()
    model = MOHNRegressor("gp", max_iter=3).fit(X, y)
    with pytest.raises(ValueError, match="4 features"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="2D array"):
        model.predict(X[0])


def test_many_rows_go_through_inducing_rows(replace_constants):
    replace_constants("skmohn.mohn._gp.model", max_left_out=400)
    replace_constants("skmohn.mohn._gp.model", max_rows_exact=100)
    replace_constants("skmohn.mohn._gp.model", max_inducing=350)
    X, y = make_frame(n_rows=700)
    X["other"] = np.random.default_rng(0).random(len(X))
    model = MOHNRegressor("gp", gp_options=GPOptions(noise="constant"), max_iter=5).fit(
        X, y
    )
    assert model.history_[-1]["way"] == "nystroem"
    # G is 2 more than the others, 2.5 where the size is big.
    assert model.weight_posterior([("base", "G")])[0] == pytest.approx(
        2.5 * 0.75, abs=0.05
    )
    assert ((0, "G"), (2, "big")) in model.terms_


# --------------------------------------------------------------------------- parts


@pytest.mark.parametrize("order", [1, 2, 3])
def test_sets_are_counted_and_screened_with_one_category_of_a_categorical(
    fitted, order
):
    term_names = fitted.term_names_
    groups = term_names.groups
    sets = [
        term
        for term in itertools.combinations(range(len(groups)), order)
        if len(set(groups[list(term)])) == order
    ]
    assert term_names.count(order) == len(sets)
    rng = np.random.default_rng(0)
    columns, vector = rng.standard_normal((30, len(groups))), rng.standard_normal(30)
    sums = [abs(vector @ columns[:, list(term)].prod(axis=1)) for term in sets]
    best = [sets[k] for k in np.argsort(sums)[::-1]]
    assert screen(columns, vector, order, 7, groups) == best[:7]


def test_screening_columns_are_covariances_with_weights(fitted):
    covariance, rows = fitted.model_.covariance, fitted.model_.posterior.sample.rows
    base, columns, groups = covariance.screening(rows)
    term_names = fitted.term_names_
    assert isinstance(term_names, TermNames)
    assert_array_equal(groups, term_names.groups)
    term = (1, 2 + 3, 2 + 4 + 1)
    assert covariance.split(term) == ((1,), ((0, 3), (1, 1)))
    expected = covariance.with_weight(rows, *covariance.split(term))
    found = base * columns[:, list(term)].prod(axis=1)
    assert_allclose(found / np.linalg.norm(found), expected / np.linalg.norm(expected))


def test_tables_of_categories_are_made_once_and_not_stored(fitted):
    covariance = fitted.model_.covariance
    assert covariance.tables is covariance.tables
    copy = pickle.loads(pickle.dumps(covariance))
    assert "tables" not in vars(copy)
    for own, expected in zip(copy.tables, covariance.tables, strict=True):
        assert_array_equal(own, expected)


def test_pairs_with_variances_of_their_own_are_named_by_their_columns():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (200, 3))
    on, idle = rng.choice([-1, 1], (2, 200))
    f = rng.standard_normal((4, 4))[codes[:, 0], codes[:, 1]]
    f = f + on * np.array([2.0, -2.0, 1.0, -1.0])[codes[:, 2]]
    letters = np.array(list("abcd"))[codes]
    X = pd.DataFrame(letters, columns=["site", "drug", "day"]).assign(on=on, idle=idle)
    X = pd.get_dummies(X, columns=["day"], dtype=int)
    options = GPOptions(one_hot="auto")
    model = MOHNRegressor("gp", gp_options=options)
    model.fit(X, f + 0.2 * rng.standard_normal(200))
    _, pairs = model.stopping_reason_.split("; joint effects of ")
    pairs = pairs.removesuffix(" have their own variances").split(", ")
    day = "day_a/day_b/day_c/day_d"
    assert set(pairs) == {"site x drug", f"on x {day}"}
