"""Dirty tables of strangers, from the text of a file to what its owner decides.

Each docstring says what an owner expects who knows the table and not this package: that
nothing is misread without a word, that one message names all columns that are wrong
and the cure, and that the cure leads to the right answer.
"""

import io
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.neural_network import MLPRegressor

from skmohn import (
    BLMClassifier,
    BLMRegressor,
    EnergyNetClassifier,
    EnergyNetImputer,
    EnergyNetRegressor,
    EnergyNetTransformer,
    GPOptions,
    MOHNClassifier,
    MOHNRegressor,
)
from skmohn.optimize import maximize

N = 32
RNG = np.random.default_rng(0)
DOSE = RNG.permutation(np.arange(N) % 8 + 1)
OTHER = RNG.normal(size=N).round(2)
EFFECT = (3.0 * DOSE + RNG.normal(scale=0.1, size=N)).round(3)
LAYER = EnergyNetTransformer(None, 2, max_layers=1, n_final_epochs=1, n_temperatures=10)


MLP_OF_NUMBERS = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=50)


def mohn():
    """Without a search for what takes the time of most fits here."""
    options = GPOptions(target_transform=None)
    return MOHNRegressor("gp", gp_options=options, random_state=0)


def blm():
    return BLMRegressor((4,), max_flips=20_000, random_state=0)


def energynet():
    return EnergyNetRegressor(LAYER, MLP_OF_NUMBERS, random_state=0)


FAMILIES = pytest.mark.parametrize("family", [mohn, blm, energynet])


def read(*columns, **options):
    """Read columns as a file: each a name and the values as they are written."""
    rows = zip(*(values for _, values in columns), strict=True)
    header = [",".join(name for name, _ in columns)]
    lines = [",".join(f'"{v}"' if "," in str(v) else str(v) for v in r) for r in rows]
    return pd.read_csv(io.StringIO("\n".join(header + lines)), **options)


def warned(model, X, y, *parts):
    """Fit a model, whose one warning has all parts."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model.fit(X, y)
    messages = [str(w.message) for w in record if w.category is UserWarning]
    assert len(messages) == 1, messages
    for part in parts:
        assert part in messages[0]
    return model


def refused(model, X, y, *parts, error=ValueError):
    """Refuse a fit by an error with all parts."""
    with pytest.raises(error) as raised:
        model.fit(X, y)
    for part in parts:
        assert part in str(raised.value)


def decided(X, y, column):
    """The column that matters, and predictions by it, of the model that names them."""
    model = MOHNRegressor(random_state=0).fit(X, y)
    importances = dict(zip(X.columns, model.feature_importances_, strict=True))
    assert max(importances, key=importances.get) == column
    assert model.score(X, y) > 0.99
    return model


# ---------------------------------------------------------------------- ids


IDS = read(("id", [f"P{i:04d}" for i in range(N)]), ("dose", DOSE), ("other", OTHER))


@FAMILIES
def test_ids(family):
    """The id of a patient predicts nothing: it is left out, whatever it is later."""
    model = warned(family(), IDS, EFFECT, "column id ('P0000', ...)", "left out, since")
    without = family().fit(IDS.drop(columns="id"), EFFECT)
    expected = without.predict(IDS.drop(columns="id"))
    for ids in (IDS["id"], "new", None, 7):
        predicted = model.predict(IDS.assign(id=ids))
        # A constant input of the final network changes what it starts from.
        np.testing.assert_allclose(predicted, expected, rtol=1e-4)
    # As it may be meant, in a few rows by chance, and where ids repeat.
    few = IDS.iloc[:9].assign(id=list("abcdefghi"))
    mohn().fit(few, EFFECT[:9])
    mohn().fit(IDS.assign(id=[f"P{i // 6}" for i in range(N)]), EFFECT)
    named = mohn().set_params(categorical_features=["id"]).fit(IDS, EFFECT)
    assert len(named.categories_[0]) == N
    # A few names occur twice.
    ids = [f"P{i}" for i in range(20)]
    with pytest.warns(UserWarning, match="left out"):
        once = mohn().fit(IDS[:20].assign(id=ids[:1] + ids[:19]), EFFECT[:20])
    twice = mohn().fit(IDS[:20].assign(id=ids[:2] + ids[:18]), EFFECT[:20])
    assert (once.is_categorical_[0], twice.is_categorical_[0]) == (False, True)
    assert mohn().fit(IDS.astype({"id": "category"}), EFFECT).is_categorical_[0]
    assert decided(IDS.drop(columns="id"), EFFECT, "dose").terms_


def test_ids_are_written_as_they_were():
    """Of ids nothing is drawn, best or imputed; those that were given stay."""
    with pytest.warns(UserWarning, match="left out"):
        model = MOHNRegressor(random_state=0).fit(IDS, EFFECT)
    best = maximize(model, fixed={"id": "P0007", "other": 0.0})
    assert np.isnan(best.x[0])
    assert best.x[1] == 8
    gaps = IDS.assign(id=IDS["id"].mask(np.arange(N) == 3), dose=DOSE.astype(float))
    gaps.loc[5, "dose"] = np.nan
    with pytest.warns(UserWarning, match="left out"):
        imputer = EnergyNetImputer(LAYER).fit(gaps)
    written = [imputer.transform(gaps)]
    for container in ("pandas", "polars"):
        written.append(imputer.set_output(transform=container).transform(gaps))
    for table in written:
        ids = np.asarray(table)[:, 0]
        assert pd.isna(ids[3])
        assert list(np.delete(ids, 3)) == list(IDS["id"].drop(3))
        assert not pd.isna(np.asarray(table)[:, 1:].astype(float)).any()
    net = imputer.transformer_
    assert pd.isna(net.sample(2, random_state=0)[:, 0]).all()
    assert np.isfinite(net.score_samples(gaps.assign(id="new"))).all()


# ---------------------------------------------------------------------- dates


DAYS = pd.Timestamp("2024-01-31") + pd.to_timedelta(DOSE, unit="D")


@pytest.mark.parametrize(
    "pattern",
    ["%Y-%m-%d", "%m/%d/%Y %H:%M", "%d.%m.%y", "%b %d, %Y", "%d-%b-%y", "%d %B %Y"],
)
def test_dates_as_text(pattern):
    """Sales grow by the day: dates are an order, however they are written."""
    X = read(("day", DAYS.strftime(pattern)), ("other", OTHER))
    for model in (mohn(), blm()):
        warned(model, X, EFFECT, "column day", "is text of dates: pandas.to_datetime")
    numeric = blm().set_params(categorical_features=None)
    cure = "pandas.to_datetime converts day to times"
    refused(numeric, X, EFFECT, "column day holds", cure)


def test_dates():
    """As dates they are an order, for each family."""
    X = read(("day", DAYS.strftime("%Y-%m-%d")), ("other", OTHER))
    X["day"] = pd.to_datetime(X["day"])
    decided(X, EFFECT, "day")
    assert blm().fit(X, EFFECT).score(X, EFFECT) > 0.9


def test_times_of_day_and_months():
    """Clocks and months are orders, too."""
    clock = read(("at", [f"{d:02d}:30" for d in DOSE]), ("other", OTHER))
    warned(mohn(), clock, EFFECT, "is text of times of day: pandas.to_timedelta")
    clock["at"] = pd.to_timedelta(clock["at"] + ":00")
    decided(clock, EFFECT, "at")
    month = read(("in", [f"20{10 + d}-07" for d in DOSE]), ("other", OTHER))
    warned(mohn(), month, EFFECT, "is text of dates")


# ---------------------------------------------------------------------- units


UNITS = (
    ("weight", [f"{d} kg" for d in DOSE]),
    ("income", [f"{1000 * d:,}.5" for d in DOSE]),
    ("share", [f"{d}%" for d in DOSE]),
    ("price", [f"${d}.50" for d in DOSE]),
    ("length", [f"{d},5" for d in DOSE]),
    ("speed", [f"{d} km/h" for d in DOSE]),
    ("dose", [f"{d} {'mg' if d % 2 else 'g'}" for d in DOSE]),
)


@FAMILIES
def test_numbers_with_units_are_warned_of(family):
    """Measurements with units are numbers: all columns of them are named at once."""
    table = read(*UNITS)
    cures = [
        "column weight ('1 kg', ...) is text of numbers with the unit 'kg': "
        "pandas.to_numeric converts it to numbers once 'kg' is removed",
        "column income ('1,000.5', ...) is text of numbers: "
        "pandas.read_csv(thousands=',')",
        "column share ('1%', ...) is text of numbers with the unit '%'",
        "column price ('$1.50', ...) is text of numbers with the unit '$'",
        "column length ('1,5', ...) is text of numbers: pandas.read_csv(decimal=',')",
        "column speed ('1 km/h', ...) is text of numbers with the unit 'km/h'",
        "converts it to numbers once 'g' and 'mg' are removed and all are in one unit",
    ]
    warned(family(), table, EFFECT, *cures)
    table = read(
        ("rent", [f"{d}.000,5" for d in DOSE]),
        ("people", [f"{d} 000" for d in DOSE]),
        ("area", [f"{d}\u00a0000.5" for d in DOSE]),
        ("loss", [f"\u2212{d}" for d in DOSE]),
    )
    cures = [
        "pandas.read_csv(thousands='.', decimal=',')",
        "column people ('1 000', ...) is text of numbers: pandas.to_numeric converts "
        "it to numbers once ' ' is removed",
        "once '\\xa0' is removed",
        "with '-' in place of '\u2212'",
    ]
    warned(family(), table, EFFECT, *cures)


def test_numbers_with_units_are_refused_by_column():
    """Who needs numbers says which columns are none, and how they become such."""
    table = read(*UNITS[:2], ("other", OTHER))
    cures = "weight to numbers once 'kg' is removed", "read_csv(thousands=',') converts"
    numeric = blm().set_params(categorical_features=None)
    refused(numeric, table, EFFECT, "column weight holds text", *cures)
    table = read(*UNITS[:2], ("other", OTHER), thousands=",")
    table["weight"] = pd.to_numeric(table["weight"].str.removesuffix(" kg"))
    assert table["income"].dtype == float
    assert blm().fit(table, EFFECT).score(table, EFFECT) > 0.9
    decided(table.drop(columns="income"), EFFECT, "weight")


def test_codes_are_no_numbers():
    """Products, flats and classes are called by numbers and letters, without order."""
    codes = [
        "7a 7b 7c 7a",
        "7a 8b 9c 6d",
        "A1 A2 B1 B2",
        "4x4 2x4 4x2 2x2",
        "12 7 3 1",
        "x y z -",
        "1.0.3 10.2.1 3.11.2 3.9.10",
    ]
    columns = [(f"c{j}", np.array(t.split())[DOSE % 4]) for j, t in enumerate(codes)]
    table = read(*columns, dtype=str)
    assert mohn().fit(table, EFFECT).is_categorical_.all()


# ---------------------------------------------------------------------- missing


MISSING = np.arange(N) % 8 == 3


@FAMILIES
@pytest.mark.parametrize("marker", ["-", "unknown"])
def test_text_for_missing_values(family, marker):
    """A dash among numbers is a value that nobody measured, not a category."""
    X = read(("dose", np.where(MISSING, marker, DOSE)), ("other", OTHER))
    cure = f"beside {marker!r}: pandas.to_numeric converts it to numbers, after "
    warned(family(), X, EFFECT, cure + f"pandas.read_csv(na_values=[{marker!r}])")


def test_markers_are_read_as_missing():
    """Read as missing, the rows that are known are predicted as without the others."""
    columns = ("dose", np.where(MISSING, "-", DOSE)), ("other", OTHER)
    X = read(*columns, na_values=["-"])
    known = X[~MISSING]
    for model in (mohn(), blm()):
        predicted = model.fit(X, EFFECT).predict(known)
        np.testing.assert_allclose(predicted, EFFECT[~MISSING], atol=1.5)
    filled = EnergyNetImputer(LAYER, random_state=0).fit_transform(X)
    assert blm().fit(filled, EFFECT).score(filled[~MISSING], EFFECT[~MISSING]) > 0.9


@FAMILIES
@pytest.mark.parametrize("marker", [-999, -9, 9999])
def test_numbers_for_missing_values(family, marker):
    """-999 is no dose: read as a number it would outweigh all doses there are."""
    X = read(("dose", np.where(MISSING, marker, DOSE)), ("other", OTHER))
    expected = f"column dose has {marker} in 4 of {N} rows", f"na_values=[{marker}])"
    warned(family(), X, EFFECT, *expected)


def test_a_number_for_missing_values_within_a_wide_range():
    """An income of -99 is not far from 0, beside those that are thousands."""
    X = read(("income", np.where(MISSING, -99, 10_000 * DOSE)), ("other", OTHER))
    warned(blm(), X, EFFECT, "column income has -99 in 4 of 32 rows")
    X["income"] = np.where(MISSING, -99, 10_000 * (DOSE - 4))
    blm().fit(X, EFFECT)


@pytest.mark.parametrize(
    "fill", [np.float32(9.96921e36), 1e20, np.float32(-3.4028235e38)]
)
def test_a_fill_value_of_a_file(fill):
    """Files of grids have numbers where nothing was measured: netCDF, CMIP, GDAL."""
    X = read(("dose", np.where(MISSING, float(fill), DOSE)), ("other", OTHER))
    # Readers of text differ in the last digit.
    read_as = float(X["dose"].abs().max()) * float(np.sign(fill))
    expected = f"column dose has {fill:g} in 4 of {N} rows", f"na_values=[{read_as}"
    warned(blm(), X, EFFECT, *expected)


@FAMILIES
def test_a_missing_target(family):
    """Rows without a target are to be left out, and -999 is none."""
    X = read(("dose", DOSE), ("other", OTHER))
    y = pd.Series(EFFECT)
    refused(family(), X, y.where(~MISSING), "y contains NaN in 4 of 32 rows: drop")
    warned(family(), X, y.where(~MISSING, -999.0), "y has -999 in 4 of 32 rows")


def test_numbers_that_are_no_markers():
    """A loss of 99 is one among others, and 999 the end of a range."""
    X = read(("loss", np.where(MISSING, -99, -8 * DOSE)), ("n", 120 * DOSE + 39))
    assert X["n"].max() == 999
    blm().fit(X, EFFECT)
    blm().fit(read(("flag", np.where(MISSING, -9, 1)), ("other", OTHER)), EFFECT)


# ---------------------------------------------------------------------- mixed types


@FAMILIES
def test_columns_of_several_types(family):
    """Text among numbers, as of spreadsheets: all columns are named, with cures."""
    X = read(("dose", DOSE), ("other", OTHER)).assign(
        a=pd.Series([1, 2.5, 3, "n.a."] * 8, dtype=object),
        b=pd.Series([1, "two", "three", "four"] * 8, dtype=object),
    )
    cures = (
        "column a: ",
        "converts it to numbers, after pandas.read_csv(na_values=['n.a",
        "column b: ",
        "astype(str) converts all its values to text",
    )
    refused(family(), X, EFFECT, *cures, error=TypeError)


# ---------------------------------------------------------------------- order


@FAMILIES
def test_ordered_categories(family):
    """Small, medium and large are an order, which the type of the column says."""
    sizes = ["small", "medium", "large"]
    X = read(("size", np.array(sizes)[DOSE % 3]), ("other", OTHER))
    family().fit(X, EFFECT)
    X["size"] = pd.Categorical(X["size"], sizes, ordered=True)
    warned(family(), X, EFFECT, "column size has ordered categories", "cat.codes")
    X["size"] = X["size"].cat.codes
    decided(X, 2.0 * X["size"], "size")


# ---------------------------------------------------------------------- constants


def test_spellings_of_a_category():
    """Forms are filled in by hand; alleles are not, and differ by case."""
    words = np.array(["yes", "Yes ", "no", "No"])[DOSE % 4]
    X = pd.DataFrame({"salt": words, "allele": np.array(["a", "A"])[DOSE % 2]})
    alike = "column salt has 'No' and 'no', which differ only in case or spaces"
    with pytest.warns(UserWarning, match=re.escape(alike)) as record:
        mohn().fit(X, EFFECT)
    assert "allele" not in str(record[0].message)
    clean = X.assign(salt=X["salt"].str.strip().str.lower())
    assert len(mohn().fit(clean, EFFECT).categories_[0]) == 2


def test_constant_and_empty_columns():
    """What never varies does no harm; what is empty is named, all columns at once."""
    X = read(("dose", DOSE), ("site", ["Bonn"] * N), ("one", [1] * N), ("no", [""] * N))
    decided(X, EFFECT, "dose")
    X["nor"] = np.nan
    empty = "NaN in all samples of columns 'no', 'nor': ", "drop them"
    refused(energynet(), X, EFFECT, *empty)
    assert blm().fit(X, EFFECT).score(X, EFFECT) > 0.9


@FAMILIES
def test_infinities(family):
    """A division by zero left infinities: their columns are named."""
    X = read(("a", DOSE), ("b", np.where(MISSING, "inf", OTHER)))
    X["c"] = -X["b"]
    refused(
        family(),
        X,
        EFFECT,
        "infinity",
        "in columns 'b', 'c': replace such values with NaN",
    )


# ---------------------------------------------------------------------- copies


def test_near_copies_of_rows():
    """A table joined five times by mistake, with a rounding between, has one answer."""
    X = read(("dose", DOSE[:16]), ("other", OTHER[:16]))
    once = mohn().fit(X, EFFECT[:16])
    five = pd.concat([X + 1e-9 * k for k in range(5)], ignore_index=True)
    model = decided(five, np.tile(EFFECT[:16], 5), "dose")
    np.testing.assert_allclose(model.predict(X), once.predict(X), atol=0.5)


# ---------------------------------------------------------------------- leaks


def test_a_leak_of_the_target():
    """A column that was computed of the target shows as all there is in the model."""
    X = read(("dose", DOSE), ("invoice", 1.19 * EFFECT), ("other", OTHER))
    model = decided(X, EFFECT, "invoice")
    assert model.terms_ == [(1,)]
    decided(X.drop(columns="invoice"), EFFECT, "dose")


# ---------------------------------------------------------------------- names


@FAMILIES
def test_columns_of_one_name(family):
    """Columns of one name cannot be told apart: they are named, not mixed up."""
    X = read(("dose", DOSE), ("other", OTHER), ("dose", DOSE[::-1]))
    assert list(X.columns) == ["dose", "other", "dose.1"]  # by pandas
    twins = X.set_axis(["dose", "other", "dose"], axis=1)
    refused(family(), twins, EFFECT, "X has several columns named 'dose': give each a ")
    family().fit(X, EFFECT)
    with pytest.raises(ValueError, match=r"feature names|several columns"):
        family().fit(X, EFFECT).predict(twins)


# ---------------------------------------------------------------------- truth


@pytest.mark.parametrize("words", [("no", "yes"), ("N", "Y"), ("FALSE", "TRUE")])
def test_booleans(words):
    """Yes and no are two values, by which the target differs as much as it does."""
    flag = DOSE % 2
    X = read(("flag", np.array(words)[flag]), ("other", OTHER))
    y = 10.0 * flag + 0.01 * OTHER
    model = decided(X, y, "flag")
    rows = pd.DataFrame({"flag": X["flag"].unique(), "other": 0.0})
    assert abs(np.diff(model.predict(rows))[0]) == pytest.approx(10.0, abs=0.1)
    network = blm().fit(X, y)
    assert network.score(X, y) > 0.9
    if X["flag"].dtype != bool:
        numbers = {word: number for number, word in enumerate(words)}
        numeric = blm().set_params(categorical_features=None)
        refused(numeric, X, y, f"map({numbers}) converts flag to numbers")
        X["flag"] = X["flag"].map(numbers)
        np.testing.assert_array_equal(blm().fit(X, y).codes_, network.codes_)


# ---------------------------------------------------------------------- time zones


@FAMILIES
def test_time_zones(family):
    """The same moment has many names; a time without a zone is no moment."""
    moments = DAYS.tz_localize("Europe/Berlin")
    text = [moment.isoformat(sep=" ") for moment in moments]
    X = read(("at", text), ("other", OTHER))
    X["at"] = pd.to_datetime(X["at"], utc=True)
    model = family().fit(X, EFFECT)
    there = X.assign(at=X["at"].dt.tz_convert("Asia/Tokyo"))
    np.testing.assert_array_equal(model.predict(there), model.predict(X))
    naive = X.assign(at=X["at"].dt.tz_localize(None))
    with pytest.raises(
        ValueError, match=r"column 'at' has times without a zone, .*tz_"
    ):
        model.predict(naive)


# ---------------------------------------------------------------------- targets


@FAMILIES
def test_targets_of_text(family):
    """A target with units is refused by a message that has the cure."""
    X = read(("dose", DOSE), ("other", OTHER))
    for y, cure in (
        ([f"{v} kg" for v in EFFECT], "in y: pandas.to_numeric converts it to numbers"),
        ([f"{1000 * v:,.1f}" for v in EFFECT], "in y: pandas.read_csv(thousands=',')"),
        (DAYS.strftime("%Y-%m-%d"), "in y: pandas.to_datetime converts it to times"),
        (np.array(["low", "high"])[DOSE % 2], "in y: classifiers take text"),
    ):
        for form in (pd.Series, list, lambda values: np.array(list(values))):
            refused(family(), X, form(y), "could not convert string to float", cure)
    as_bytes = [b"low"] * len(EFFECT)
    refused(family(), X, as_bytes, "could not convert string to float", "decode bytes")


@pytest.mark.parametrize(
    "model",
    [
        MOHNClassifier(random_state=0),
        BLMClassifier((2,), tol=1.0, random_state=0),
        EnergyNetClassifier(LAYER, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classes_of_text(model):
    """Classes are words, some of them missing; measurements are no classes."""
    X = read(("dose", DOSE), ("other", OTHER))
    y = pd.Series(np.where(DOSE > 4, "high", "low"))
    refused(model, X, y.where(~MISSING), "contains NaN in 4 of 32 rows: drop these")
    refused(model, X, pd.Series(EFFECT), re.escape("continuous"))
    model.fit(X, y)
    assert set(model.predict(X)) <= {"high", "low"}
