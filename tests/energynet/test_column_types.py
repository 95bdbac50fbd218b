"""Column types of a table whose missing values are filled: what goes in comes out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from sklearn.ensemble import HistGradientBoostingRegressor

from skmohn import EnergyNetImputer, EnergyNetTransformer, MOHNDensity

N = 60
FILLS = [{}, {"strategy": "mode"}, {"sample_posterior": True}]


def times(rng):
    return pd.Timestamp("2020-01-01 00:00:00.123456") + pd.to_timedelta(
        rng.integers(0, 10**9, N), unit="s"
    )


def whole():
    rng = np.random.default_rng(0)
    moments = times(rng)
    return pd.DataFrame(
        {
            "code": pd.Categorical(rng.integers(0, 5, N)),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], N),
                categories=["low", "mid", "high", "never"],
                ordered=True,
            ),
            "moment": moments,
            "zoned": moments.tz_localize("Europe/Berlin", ambiguous=True),
            "duration": pd.to_timedelta(rng.integers(0, 10**6, N), unit="s"),
            "nullable": pd.array(rng.random(N) < 0.8, dtype="boolean"),
            "truth": (rng.random(N) < 0.8).astype(object),
            "count": pd.array(rng.integers(0, 100, N), dtype="Int64"),
            "number": pd.array(rng.integers(0, 10, N) + 2**60, dtype="Int64"),
            "short": rng.normal(size=N).astype(np.float32),
            "size": rng.normal(size=N),
            "text": rng.choice(["x", "y"], N),
            "always": rng.integers(0, 9, N),
            "flag": rng.random(N) < 0.5,
        }
    )


def with_missing_inputs(frame):
    frame = frame.copy()
    for k, name in enumerate(frame):
        if name not in ("always", "flag"):
            frame.loc[k % 7 :: 9, name] = None
    return frame


def imputer(**options):
    # Types are those of the table, however its numbers were scaled: one way will do.
    layers = EnergyNetTransformer(
        n_components=3, n_final_epochs=5, max_layers=1, whiten=not options
    )
    return EnergyNetImputer(layers, random_state=0, **options)


@pytest.mark.slow_cases("names0-fill0")
@pytest.mark.filterwarnings("ignore:column number has integers above")
@pytest.mark.filterwarnings("ignore:column grade has ordered categories")
@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize(
    "names",
    [
        slice(None),
        ["moment", "zoned", "duration", "nullable", "truth", "count", "short"],
        ["nullable", "truth", "count", "size"],
        ["short", "size"],
    ],
)
def test_frames_keep_the_types_of_their_columns(names, fill):
    expected = whole().loc[:, names]
    missing = with_missing_inputs(expected)
    model = imputer(**fill).set_output(transform="pandas")
    filled = model.fit_transform(missing)
    assert not filled.isna().any().any()
    assert_array_equal(filled.dtypes, missing.dtypes)
    # What was known is there to the last digit.
    assert_frame_equal(filled.where(missing.notna()), missing.where(missing.notna()))
    for name in set(filled).intersection(["nullable", "truth"]):
        assert {type(value) for value in filled[name]} <= {bool, np.bool_}
    if "sample_posterior" in fill:
        again = model.set_params(add_indicator=True).fit_transform(missing)
        assert_array_equal(again.dtypes.iloc[: missing.shape[1]], missing.dtypes)


def test_next_step_takes_codes_for_categories():
    missing = with_missing_inputs(whole()[["code", "size"]])
    filled = imputer().set_output(transform="pandas").fit_transform(missing)
    model = HistGradientBoostingRegressor(max_iter=2, categorical_features="from_dtype")
    found = model.fit(filled, np.arange(N)).is_categorical_
    assert_array_equal(found, [True, False])
    assert filled["code"].isin(range(5)).all()


@pytest.mark.filterwarnings("ignore:column grade has ordered categories")
def test_rows_of_other_frames_have_their_own_types():
    """Categories in another order, or fewer of them; one that was not there in fit."""
    missing = with_missing_inputs(whole()[["grade", "size"]])
    layers = EnergyNetTransformer(
        n_components=3, n_final_epochs=5, max_layers=1, handle_unknown="missing"
    )
    model = EnergyNetImputer(layers, random_state=0).set_output(transform="pandas")
    model.fit(missing)
    grade = pd.Categorical([None, "other"], categories=["other"])
    filled = model.transform(pd.DataFrame({"grade": grade, "size": [0.0, 1.0]}))
    assert isinstance(filled["grade"].dtype, pd.CategoricalDtype)
    assert filled["grade"].isin(["low", "mid", "high"]).all()
    nothing = pd.DataFrame({"grade": [np.nan, np.nan], "size": [0.0, 1.0]})
    assert model.transform(nothing)["grade"].isin(["low", "mid", "high"]).all()


@pytest.mark.needs_sklearn("1.9", "names of polars 2")
@pytest.mark.parametrize("fill", FILLS)
def test_polars_frames_keep_the_types_of_their_columns(fill):
    frame = with_missing_inputs(whole()).drop(columns=["code", "grade"])
    missing = pl.from_pandas(frame.astype({"truth": "boolean"})).with_columns(
        pl.col("text").cast(pl.Enum(["x", "y"])),
        pl.col("moment").cast(pl.Date).alias("day"),
        pl.col("count").cast(pl.UInt8),
    )
    filled = imputer(**fill).set_output(transform="polars").fit_transform(missing)
    assert filled.schema == missing.schema
    assert filled.null_count().sum_horizontal().item() == 0
    for name in missing.columns:
        known = missing[name].is_not_null()
        assert filled[name].filter(known).equals(missing[name].filter(known))


@pytest.mark.parametrize("fill", FILLS)
def test_arrays_keep_what_they_hold(fill):
    """Times stay times also without categories, and booleans booleans."""
    frame = with_missing_inputs(whole())
    moments = frame[["moment"]].assign(other=frame["moment"] + pd.Timedelta(days=1))
    as_array = moments.to_numpy()
    assert as_array.dtype.kind == "M"
    filled = imputer(**fill).fit_transform(as_array)
    assert filled.dtype == as_array.dtype
    assert not np.isnat(filled).any()
    assert filled.min() >= moments.min().min()
    assert filled.max() <= moments.max().max()
    mixed = imputer(**fill).fit_transform(frame[["moment", "count", "size"]])
    assert {type(value) for value in mixed[:, 0]} == {np.datetime64}
    assert {type(value) for value in mixed[:, 1]} == {int}
    objects = frame[["truth", "size"]].astype(object).to_numpy()
    assert {type(value) for value in imputer(**fill).fit_transform(objects)[:, 0]} == {
        bool
    }
    numbers = imputer(**fill).fit_transform(frame[["nullable", "count", "size"]])
    assert numbers.dtype == float
    assert set(numbers[:, 0]) == {0.0, 1.0}
    assert_array_equal(numbers[:, 1], np.rint(numbers[:, 1]))


def test_bits_that_are_numbers_have_their_probability():
    rng = np.random.default_rng(0)
    bits = np.repeat(rng.integers(0, 2, (100, 1)), 3, axis=1)
    bits[::5, 0] = 1 - bits[::5, 0]
    layers = EnergyNetTransformer(n_components=3, n_final_epochs=50, random_state=0)
    (found,) = layers.fit(bits).impute([[np.nan, 1.0, 1.0]])
    assert 0.1 < found[0] < 0.9


def test_times_come_back_from_a_model_of_times():
    moments = whole()[["moment", "duration"]]
    layers = EnergyNetTransformer(n_components=2, n_final_epochs=5, max_layers=1)
    layers.fit(moments)
    back = layers.inverse_transform(layers.transform(moments))
    for table in (layers.sample(5, 5, random_state=0), back):
        assert isinstance(table[0, 0], np.datetime64)
        assert isinstance(table[0, 1], np.timedelta64)


@pytest.mark.parametrize("whiten", [False, True])
def test_single_precision_stays_single(whiten):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    net = EnergyNetTransformer(
        n_components=2, n_final_epochs=5, whiten=whiten, random_state=0
    )
    net.fit(X)
    filled = [net.impute(X), *net.impute(X, n_draws=2, random_state=0)]
    for values in (net.transform(X), *filled):
        assert values.dtype == np.float32
    for values in filled:
        assert_array_equal(values[~np.isnan(X)], X[~np.isnan(X)])
    for options in ({}, {"strategy": "mode"}, {"sample_posterior": True}):
        imputer = EnergyNetImputer(net, add_indicator=True, random_state=0, **options)
        assert imputer.fit_transform(X).dtype == np.float32


@pytest.mark.parametrize(
    "density",
    [
        MOHNDensity(max_order=1),
        EnergyNetTransformer(n_components=2, n_final_epochs=5, max_layers=1),
    ],
    ids=["field", "layers"],
)
def test_booleans_are_drawn_as_such(density):
    rng = np.random.default_rng(0)
    flags = rng.random((60, 3)) < 0.3
    numbers = rng.normal(size=60)
    for X in (flags, pd.DataFrame(flags), pd.DataFrame(flags).astype("boolean")):
        drawn = density.fit(X).sample(4, random_state=0)
        assert drawn.dtype == bool
        assert_array_equal(
            density.score_samples(drawn), density.score_samples(drawn * 1.0)
        )
    mixed = pd.DataFrame({"flag": flags[:, 0], "number": numbers})
    for X in (mixed, mixed.astype({"flag": "boolean"}), mixed.astype(object)):
        drawn = density.fit(X).sample(4, random_state=0)
        assert drawn.dtype == np.float64
        assert set(drawn[:, 0]) <= {0.0, 1.0}
    # Rows without weight may hold something else.
    other = pd.DataFrame(flags).astype(object)
    other.iloc[0, 0] = 2.5
    if isinstance(density, MOHNDensity):
        weight = np.r_[0.0, np.ones(59)]
        drawn = density.fit(other, sample_weight=weight).sample(4, random_state=0)
        assert drawn.dtype == bool
    for X in (flags * 1.0, flags * 1, numbers[:, None], mixed.astype(float)):
        assert density.fit(X).sample(4, random_state=0).dtype == np.float64
