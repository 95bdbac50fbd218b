"""Categories and missing values in BLM: as encoded by scikit-learn in front of it."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import OneHotEncoder

from skmohn import BLMClassifier, BLMRegressor
from skmohn.blm import _serialization

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
N = 200
KIND = RNG.choice(["red", "blue", "green"], N, p=[0.5, 0.4, 0.1])
SEX = RNG.choice(["f", "m"], N)
Z = RNG.normal(size=(N, 2)) * [1.0, 20.0] + [0.0, 100.0]
AGE = np.where(RNG.random(N) < 0.2, np.nan, Z[:, 1])
ROOM = np.where(RNG.random(N) < 0.1, None, RNG.choice(["hall", "attic"], N))
TABLE = pd.DataFrame({"kind": KIND, "z": Z[:, 0], "age": AGE, "sex": SEX, "room": ROOM})
Y = Z[:, 0] + 2.0 * (KIND == "red") - (SEX == "m") + 0.5 * np.isnan(AGE)
WORDS = np.array(["low", "mid", "high"])[np.digitize(Y, [0.0, 1.5])]
TARGETS = {BLMRegressor: Y, BLMClassifier: WORDS}
QUICK = {"hidden_layer_sizes": (3,), "max_flips": 1000, "random_state": 0}
NAMES = [
    *("kind=blue", "kind=green", "kind=red", "z", "age", "sex=m"),
    *("room=attic", "room=hall", "room is missing", "age is missing"),
]


def by_hand(table):
    """Inputs that scikit-learn makes of the table."""
    one_hot = OneHotEncoder(drop="if_binary", sparse_output=False)
    kind, sex, room = (
        one_hot.fit_transform(table[[name]].fillna(np.nan))
        for name in ("kind", "sex", "room")
    )
    age = SimpleImputer().fit_transform(table[["age"]])
    is_missing = MissingIndicator().fit_transform(table[["age"]])
    return np.hstack([kind, table[["z"]], age, sex, room, is_missing])


@pytest.fixture(params=[BLMRegressor, BLMClassifier])
def network(request):
    """One of the two classes."""
    return request.param


@pytest.fixture(scope="module")
def fitted():
    """A network of the table."""
    return BLMRegressor(**QUICK).fit(TABLE, Y)


# ------------------------------------------------------------------------- the oracle


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"standardize": False},
        {"early_stopping": True},
        {"n_restarts": 2, "ensemble": 2, "activation": "step"},
    ],
)
def test_a_network_is_that_of_columns_encoded_by_hand(network, options):
    y, hand = TARGETS[network], by_hand(TABLE)
    weight = RNG.integers(1, 3, N)
    for more in ((), (weight,)):
        if more:  # the mean of an imputer has no weights
            known = ~np.isnan(AGE)
            hand[~known, 4] = np.average(AGE[known], weights=weight[known])
        wanted = network(**QUICK, **options).fit(hand, y, *more)
        model = network(**QUICK, **options).fit(TABLE, y, *more)
        assert_array_equal(model.codes_, wanted.codes_)
        assert model.score(TABLE, y) == pytest.approx(wanted.score(hand, y))
        found = [model.predict(TABLE), wanted.predict(hand)]
        if network is BLMClassifier:
            assert_array_equal(*found)
        else:  # means are sums in another order
            assert_allclose(*found, rtol=1e-9)
    assert model.n_features_in_ == 5
    assert model.coefs_[0].shape[0] == len(NAMES)


def test_so_are_validation_samples(network):
    y, hand = TARGETS[network], by_hand(TABLE)
    hand[np.isnan(AGE), 4] = np.nanmean(AGE[:150])
    models = [
        network(**QUICK).fit(rows[:150], y[:150], None, rows[150:], y[150:])
        for rows in (hand, TABLE)
    ]
    assert_array_equal(models[0].codes_, models[1].codes_)
    assert models[0].loss_ == models[1].loss_
    with pytest.raises(ValueError, match="column kind has 'pink', which was not seen"):
        network(**QUICK).fit(TABLE, y, None, TABLE.replace("red", "pink"), y)


def test_partial_fit_and_warm_start_go_on(network):
    y, hand = TARGETS[network], by_hand(TABLE)
    classes = {"classes": np.unique(WORDS)} if network is BLMClassifier else {}
    models = [network(**QUICK), network(**QUICK)]
    for model, rows in zip(models, (TABLE, hand), strict=True):
        for _ in range(2):
            model.partial_fit(rows, y, **classes)
        model.set_params(warm_start=True).fit(rows, y)
    assert_array_equal(models[0].codes_, models[1].codes_)
    # Categories stay those of the first samples.
    other = TABLE[:20].assign(kind="pink")
    for call in (models[0].fit, models[0].partial_fit):
        with pytest.raises(ValueError, match="column kind has 'pink', which was not"):
            call(other, y[:20])
    models[0].set_params(handle_unknown="missing").fit(other, y[:20])
    assert models[0].predict(other).shape == (20,)
    with pytest.raises(ValueError, match="categorical_features changed since the fit"):
        models[0].set_params(categorical_features=["kind"]).fit(TABLE, y)


def test_numbers_alone_are_inputs_as_they_are(network):
    y, rows = TARGETS[network], Z
    model = network(**QUICK).fit(rows, y)
    wanted = network(**QUICK, categorical_features=None).fit(rows, y)
    assert_array_equal(model.codes_, wanted.codes_)
    assert model.to_packed() == wanted.to_packed()
    assert model._inputs.encode(rows) is rows
    assert model.coefs_[0].shape[0] == 2


@pytest.mark.parametrize(
    ("cls", "packed", "wanted"),
    [
        (
            BLMRegressor,
            "424c4d33ec0c378cc53a0e75000401300802020101333333333333f33fb81e85eb51b8ee3f"
            "abaaaaaaaaaafa3f555555555555fd3f344675cff4d9f73fc1a3d7a9d57ff53fabaaaaaaaa"
            "aafa3f344675cff4d9f73f0f00a0",
            [0.99794446, 1.85150062, 2.42158811],
        ),
        (
            BLMClassifier,
            "424c4d330e65f6f4aeb8e877010401042002020101333333333333f33f333333333333f33f"
            "115b223c5531222c5b2261222c2262225d5d3b1020",
            ["b", "a", "a"],
        ),
    ],
)
def test_bytes_of_earlier_networks_are_read_and_written(cls, packed, wanted):
    rows = np.arange(12.0).reshape(6, 2) % 5
    model = cls.from_packed(bytes.fromhex(packed))
    assert model.to_packed().hex() == packed
    if cls is BLMRegressor:
        assert_allclose(model.predict(rows[:3]), wanted, rtol=1e-8)
    else:
        assert model.predict(rows[:3]).tolist() == wanted


# ------------------------------------------------------------- order, weights, frames


def test_rows_in_another_order_or_repeated_make_the_same_network(network):
    y, order = TARGETS[network], RNG.permutation(N)
    model = network(**QUICK).fit(TABLE, y)
    other = network(**QUICK).fit(TABLE.iloc[order], y[order])
    assert_array_equal(other.codes_, model.codes_)
    weight = RNG.integers(0, 4, N)
    weighted = network(**QUICK).fit(TABLE, y, weight)
    rows = np.repeat(order, weight[order])
    repeated = network(**QUICK).fit(TABLE.iloc[rows], y[rows])
    assert_array_equal(weighted.codes_, repeated.codes_)
    assert_array_equal(weighted.predict(TABLE), repeated.predict(TABLE))


@pytest.mark.parametrize("kind", ["polars", "objects", "category", "Int64", "list"])
def test_containers(fitted, kind):
    options, table = {}, TABLE
    if kind == "polars":
        table = pl.from_pandas(TABLE, nan_to_null=True)
    elif kind == "objects":
        table = TABLE.to_numpy(object)
    elif kind == "list":
        table = TABLE.to_numpy(object).tolist()
    elif kind == "category":
        table = TABLE.astype({"kind": "category", "sex": "category"})
    else:
        table = TABLE.convert_dtypes()
    model = BLMRegressor(**QUICK, **options).fit(table, Y)
    assert_array_equal(model.codes_, fitted.codes_)
    assert_array_equal(model.predict(table), fitted.predict(TABLE))


def test_numbers_and_booleans_that_are_declared_categories():
    rows = pd.DataFrame({"z": Z[:, 0], "n": np.arange(N) % 3, "b": SEX == "m"})
    hand = np.column_stack([Z[:, 0], np.eye(3)[np.arange(N) % 3], SEX == "m"])
    wanted = BLMRegressor(**QUICK).fit(hand, Y)
    for given in (["n", "b"], [1, 2], [False, True, True]):
        model = BLMRegressor(**QUICK, categorical_features=given).fit(rows, Y)
        assert_array_equal(model.codes_, wanted.codes_)
        assert_array_equal(model.predict(rows), wanted.predict(hand))
    # Not declared, booleans are numbers.
    assert BLMRegressor(**QUICK).fit(rows, Y).coefs_[0].shape[0] == 3


def test_sparse_tables_have_missing_values_but_no_categories():
    rows = np.where(RNG.random((N, 3)) < 0.5, 0.0, RNG.normal(size=(N, 3)))
    rows[::7, 1] = np.nan
    dense = BLMRegressor(**QUICK).fit(rows, Y)
    model = BLMRegressor(**QUICK).fit(sparse.csr_array(rows), Y)
    assert_array_equal(model.codes_, dense.codes_)
    assert_array_equal(model.predict(sparse.csr_array(rows)), dense.predict(rows))
    model.set_params(categorical_features=[0])
    with pytest.raises(ValueError, match="categorical_features needs a dense table"):
        model.fit(sparse.csr_array(rows), Y)


def test_rows_are_predicted_one_by_one_and_in_blocks_alike(fitted):
    wanted = fitted.predict(TABLE)
    found = [fitted.predict(TABLE[k : k + 1])[0] for k in range(10)]
    assert_allclose(found, wanted[:10], rtol=1e-12)
    many = pd.concat([TABLE] * 200, ignore_index=True)
    assert_allclose(fitted.predict(many), np.tile(wanted, 200), rtol=1e-12)


# --------------------------------------------------------- what is missing or unknown


def test_a_category_that_was_not_seen(network):
    y, rows = TARGETS[network], TABLE.assign(kind="pink")
    model = network(**QUICK).fit(TABLE, y)
    for call in (model.predict, lambda X: model.score(X, y)):
        with pytest.raises(ValueError, match=r'pink.*set handle_unknown="missing"'):
            call(rows)
    model.set_params(handle_unknown="missing")
    with pytest.raises(ValueError, match="pink"):  # until the next fit
        model.predict(rows)
    model.fit(TABLE, y)
    # Without missing ones in fit, its indicators are at their means.
    hand, wanted = by_hand(TABLE), network(**QUICK).fit(by_hand(TABLE), y)
    hand[:, :3] = hand[:, :3].mean(axis=0)
    assert_array_equal(model.predict(rows), wanted.predict(hand))
    assert_array_equal(model.predict(TABLE.assign(kind=None)), wanted.predict(hand))
    hand = by_hand(TABLE)
    hand[:, 5] = hand[:, 5].mean()
    assert_array_equal(model.predict(TABLE.assign(sex="x")), wanted.predict(hand))
    # With missing ones it is as these.
    hand = by_hand(TABLE)
    hand[:, 6:9] = [0.0, 0.0, 1.0]
    assert_array_equal(model.predict(TABLE.assign(room="roof")), wanted.predict(hand))


@pytest.mark.parametrize("standardize", [True, False])
def test_numbers_missing_where_fit_had_all_are_the_mean(network, standardize):
    y = TARGETS[network]
    model = network(**QUICK, standardize=standardize).fit(Z, y)
    rows = Z.copy()
    rows[::2, 0], rows[1, :] = np.nan, np.nan
    wanted = model.predict(np.where(np.isnan(rows), Z.mean(axis=0), rows))
    if network is BLMRegressor:
        assert_allclose(model.predict(rows), wanted, rtol=1e-9)
    else:
        assert_array_equal(model.predict(rows), wanted)
    assert_array_equal(model.predict(rows.astype(object)), model.predict(rows))


def test_what_is_missing_may_tell_of_the_target():
    rows = RNG.normal(size=(400, 1))
    is_missing = RNG.random(400) < 0.5
    rows[is_missing] = np.nan
    model = BLMRegressor(**QUICK).fit(rows, 3.0 * is_missing)
    assert model.score(rows, 3.0 * is_missing) > 0.99


def test_a_wild_value_does_not_set_the_mean():
    rows = np.column_stack([AGE, Z[:, 0]])
    rows[np.flatnonzero(~np.isnan(AGE))[0], 0] = 1e9
    with pytest.warns(UserWarning, match="column 0 has 1e\\+09, far from all"):
        model = BLMRegressor(**QUICK).fit(rows, Y)
    assert abs(model._inputs.means[0] - 100.0) < 20.0


def test_columns_that_tell_nothing():
    wanted = BLMRegressor(**QUICK).fit(TABLE, Y)
    rows = TABLE.assign(empty=np.nan, none=None, constant="a")
    model = BLMRegressor(**QUICK).fit(rows, Y)
    assert_array_equal(model.codes_, wanted.codes_)
    assert model.n_features_in_ == 8
    other = rows.assign(empty=7.0)
    assert_array_equal(model.predict(other), wanted.predict(TABLE))
    with pytest.raises(ValueError, match="column constant has 'b', which was not seen"):
        model.predict(rows.assign(constant="b"))
    with pytest.raises(ValueError, match="X has no column to learn from"):
        BLMRegressor(**QUICK).fit(rows[["empty", "constant"]], Y)


def test_names_of_rows_are_left_out():
    rows = TABLE.assign(name=[f"person {k}" for k in range(N)])
    with pytest.warns(UserWarning, match=r"column name .* it is left out"):
        model = BLMRegressor(**QUICK).fit(rows, Y)
    assert_array_equal(model.codes_, BLMRegressor(**QUICK).fit(TABLE, Y).codes_)
    found = model.predict(rows.assign(name="another"))
    assert_array_equal(found, model.predict(rows))
    restored = BLMRegressor.from_packed(model.to_packed(names=True))
    assert_array_equal(restored.predict(rows), found)
    declared = ["kind", "sex", "room", "name"]
    model = BLMRegressor(**QUICK, categorical_features=declared).fit(rows, Y)
    assert model.coefs_[0].shape[0] == len(NAMES) + N


def test_times_beside_categories():
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N) % 50, unit="D")
    model = BLMRegressor(**QUICK).fit(TABLE.assign(day=days), Y)
    assert model.coefs_[0].shape[0] == len(NAMES) + 1
    assert np.isfinite(model.predict(TABLE.assign(day=days))).all()
    with pytest.raises(ValueError, match="day"):
        model.predict(TABLE.assign(day=np.arange(N)))


def test_columns_in_another_order_are_refused(fitted):
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(TABLE[TABLE.columns[::-1]])
    with pytest.raises(ValueError, match="column z"):
        fitted.predict(TABLE.assign(z="much"))


def test_text_that_is_no_category_is_refused(network):
    model = network(**QUICK, categorical_features=["kind"])
    message = "column sex holds text, '[fm]', .* not among categorical_features"
    with pytest.raises(ValueError, match=message):
        model.fit(TABLE, TARGETS[network])
    with pytest.raises(ValueError, match="categorical_features has 'color'"):
        model.set_params(categorical_features=["color"]).fit(TABLE, TARGETS[network])
    with pytest.raises(ValueError, match="handle_unknown"):
        clone(model).set_params(handle_unknown="ignore").fit(TABLE, TARGETS[network])


def test_rows_without_weight_have_no_say(network):
    y, weight = TARGETS[network], (np.arange(N) % 5 > 0).astype(float)
    rows = TABLE.copy()
    rows.loc[weight == 0.0, ["kind", "z"]] = "pink", np.nan
    model = network(**QUICK).fit(rows, y, weight)
    wanted = network(**QUICK).fit(TABLE[weight > 0.0], y[weight > 0.0])
    assert_array_equal(model.codes_, wanted.codes_)
    with pytest.raises(ValueError, match=r"zero for every sample|one non-zero"):
        network(**QUICK).fit(TABLE, y, np.zeros(N))


def test_values_of_classes_without_weight_are_not_missing():
    is_low = WORDS == "low"
    rows = TABLE.assign(z=np.where(is_low, np.nan, TABLE["z"]))
    weight = {"low": 0.0, "mid": 1.0, "high": 1.0}
    model = BLMClassifier(**QUICK, class_weight=weight).fit(rows, WORDS)
    assert model._input_names() == NAMES


def test_sequences_have_neither():
    rows = Z.reshape(20, 10, 2)
    model = BLMRegressor(**QUICK, recurrent="steps")
    with pytest.raises(ValueError, match=r"categorical_features=.* is for tables"):
        clone(model).set_params(categorical_features=[0]).fit(rows, Y.reshape(20, 10))
    holes = np.where(rows > 120.0, np.nan, rows)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(holes, Y.reshape(20, 10))
    model.fit(rows, Y.reshape(20, 10))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict(holes)
    words = TABLE[["kind", "z"]]
    with pytest.raises(ValueError, match=r"column kind holds text.*OneHotEncoder"):
        model.fit([words[:100], words[100:]], [Y[:100], Y[100:]])
    # After a table, too.
    model = BLMRegressor(**QUICK).fit(TABLE, Y)
    model.set_params(recurrent="steps").fit(rows, Y.reshape(20, 10))
    assert len(model.predict(rows)) == 20


# ------------------------------------------------------------------------ other forms


def test_parameters_pickles_and_searches(fitted):
    model = BLMRegressor(categorical_features=["kind"], handle_unknown="missing")
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict(TABLE), fitted.predict(TABLE))
    assert np.isfinite(cross_val_score(BLMRegressor(**QUICK), TABLE, Y, cv=3)).all()
    tags = model.__sklearn_tags__().input_tags
    assert tags.allow_nan
    assert tags.categorical
    assert not BLMRegressor(recurrent=True).__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_bytes_hold_categories_and_means(network, names, single):
    rows = TABLE.assign(
        n=np.array([-1, 1.5, 2**63 + 1], object)[np.arange(N) % 3],
        b=SEX == "f",
        empty=np.nan,
        none=None,
        one="a",
    )
    wanted = ["kind", "sex", "room", "n", "b", "none", "one"]
    model = network(**QUICK, categorical_features=wanted, handle_unknown="missing")
    model.fit(rows, TARGETS[network])
    packed = model.to_packed(names=names, single=single)
    restored = network.from_packed(packed)
    assert restored.to_packed(names=names, single=single) == packed
    assert restored.n_features_in_ == 10
    assert hasattr(restored, "feature_names_in_") == names
    odd = rows.assign(kind="pink", z=np.nan)
    for given in (rows, odd):
        found = restored.predict(given if names else given.to_numpy(object))
        if single and network is BLMRegressor:
            assert_allclose(found, model.predict(given), atol=1e-5)
        else:
            assert_array_equal(found, model.predict(given))


def test_bytes_refuse_what_they_cannot_hold():
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "datetime64[D]")
    rows = pd.DataFrame({"day": days[np.arange(N) % 3].astype(object), "z": Z[:, 0]})
    model = BLMRegressor(**QUICK, categorical_features=["day"]).fit(rows, Y)
    with pytest.raises(ValueError, match=r"column day has the category datetime\.date"):
        model.to_packed()
    # Without scales there are no means in the bytes of plain numbers.
    model = BLMRegressor(**QUICK, standardize=False).fit(Z, Y)
    restored = BLMRegressor.from_packed(model.to_packed())
    assert_array_equal(restored.predict(Z), model.predict(Z))
    with pytest.raises(ValueError, match="NaN in column 1, but to_packed stores no"):
        restored.predict([[1.0, np.nan]])


def test_bytes_have_few_columns_of_categories(network, monkeypatch):
    """Bytes from anywhere are read in seconds, and each such column takes time."""
    table = TABLE[["kind", "sex", "z"]]
    model = network(**QUICK).fit(table, TARGETS[network])
    packed = model.to_packed()
    few = replace(_serialization._PACKING, max_categorical=1)
    monkeypatch.setattr(_serialization, "_PACKING", few)
    with pytest.raises(ValueError, match="2 categorical columns, but bytes hold at mo"):
        model.to_packed()
    with pytest.raises(ValueError, match=r"packed .* too many columns of categories"):
        network.from_packed(packed)
    one = network(**QUICK).fit(table[["kind", "z"]], TARGETS[network])
    assert network.from_packed(one.to_packed()).to_packed() == one.to_packed()


def test_an_mlp_takes_known_numbers(fitted):
    with pytest.raises(ValueError, match=r"column kind holds categories.*Pipeline"):
        fitted.to_mlp()
    model = BLMRegressor(**QUICK).fit(np.column_stack([Z[:, 0], AGE]), Y)
    with pytest.raises(ValueError, match="column x1 holds categories, or had missing"):
        model.to_mlp()
    mlp = MLPRegressor(hidden_layer_sizes=(2,), max_iter=5, random_state=0)
    mlp.fit(Z, Y)
    with pytest.raises(ValueError, match="categorical_features must be None"):
        BLMRegressor.from_mlp(mlp, Z, categorical_features=[0])
    for standardize in (True, False):
        model = BLMRegressor.from_mlp(mlp, Z, 12, standardize=standardize)
        found = model.predict(np.full((1, 2), np.nan))
        assert_allclose(found, model.predict(Z.mean(axis=0, keepdims=True)), rtol=1e-9)
