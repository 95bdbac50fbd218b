"""Categories on devices: by number in C, as ones and zeros in the table."""

import copy
import itertools
import re
import shutil
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skmohn import BLMClassifier, BLMController, BLMRegressor
from skmohn.blm._device.packing import Packing
from skmohn.blm._device.quantize import _ends

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O0"]
FLAGS += ["-fsanitize=undefined,address", "-fno-sanitize-recover"]
RNG = np.random.default_rng(3)
N = 240
KIND, BIT = RNG.choice(5, N, p=[0.4, 0.4, 0.1, 0.08, 0.02]), RNG.integers(0, 2, N)
Z = RNG.normal(size=(N, 2)) * [1.0, 20.0] + [0.0, 100.0]
ONES = np.eye(5)[KIND]
ONES[KIND == 3] = 0.0  # as an encoder makes of categories that it has not seen
X = np.column_stack([ONES[:, :2], Z[:, 0], ONES[:, 2:], Z[:, 1], BIT])
KINDS, NUMBERS, LAST = [0, 1, 3, 4, 5], [2, 6], 7
Y = Z[:, 0] + 2.0 * ONES[:, 2] - ONES[:, 0] + 0.01 * Z[:, 1] * BIT
MANY = np.array(["a", "b", "c"])[np.digitize(Y, [0.0, 1.5])]
ONE_HOT = [KINDS, [LAST]]
CALM = np.where(np.arange(8) == 6, X / 20.0 - 5.0, X)
UNIT = np.where(np.arange(8) == 6, 0.02, 1e-3)
QUICK = {"max_flips": 3000, "random_state": 0}
MODELS = {
    "many": (BLMClassifier((5,), n_bits=3, **QUICK), X, MANY, ONE_HOT),
    "plain": (BLMClassifier((5,), standardize=False, **QUICK), CALM, MANY, ONE_HOT),
    "pair": (BLMRegressor((4,), n_restarts=2, ensemble=2, **QUICK), X, Y, ONE_HOT),
    "fine": (BLMRegressor((), n_bits=12, **QUICK), X, Y, [[LAST], KINDS]),
    "steps": (
        BLMRegressor((4,), recurrent="steps", n_bits=6, **QUICK),
        X.reshape(24, 10, 8),
        Y.reshape(24, 10),
        ONE_HOT,
    ),
    "only": (BLMClassifier((6,), n_bits=4, **QUICK), X[:, KINDS], MANY, [range(5)]),
}
WAYS = {
    "whole": {"input_type": "int16"},
    "real": {"input_type": "float32"},
    "single": {"input_type": "float32", "arithmetic": "float32"},
    "mixed": {"input_type": "int16", "arithmetic": "float32"},
}


@pytest.fixture(scope="module")
def fitted():
    """All models."""
    found = {}
    for name, (model, rows, y, one_hot) in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found[name] = model.fit(rows, y), rows, one_hot
    return found


@pytest.fixture(scope="module")
def devices(fitted):
    """All models in all ways."""
    found = {}
    for (name, (model, rows, one_hot)), way in itertools.product(fitted.items(), WAYS):
        unit = 1.0
        if WAYS[way]["input_type"] != "float32":
            unit = UNIT if rows.shape[-1] == 8 and rows is not CALM else 1e-3
        options = {"X": rows, "one_hot": one_hot, "input_scale": unit, **WAYS[way]}
        found[f"{name}_{way}"] = model.to_c(f"{name}_{way}", n_tests=40, **options)
    return found


def built(folder, source, *flags):
    """Compile and run a program; return what it prints."""
    (folder / "all.c").write_text(source, encoding="ascii")
    command = ["gcc", *FLAGS, *flags, "all.c", "-o", "all", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([folder / "all"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
@needs_gcc
def test_c_equals_the_emulator(tmp_path, devices):
    source, calls = [], []
    for name, device in devices.items():
        (tmp_path / f"{name}.h").write_text(device.header, encoding="ascii")
        text = device.test.replace("int main(void)", f"static int test_{name}(void)")
        for array in ("inputs[", "outputs["):
            text = text.replace(f" {array}", f" {name}_{array}", 1)
            text = text.replace(f"{array}row]", f"{name}_{array}row]")
        source.append(text)
        calls.append(f"test_{name}();")
    main = f"int main(void) {{ {' '.join(calls)} return 0; }}"
    printed = built(tmp_path, "\n".join([*source, main]))
    assert printed.splitlines() == [f"{name}: 0 of 40 rows differ" for name in devices]


def test_answers_are_those_of_the_estimator(fitted, devices):
    for name, device in devices.items():
        _, rows, one_hot = fitted[name.split("_")[0]]
        if name.endswith(("single", "mixed")):
            # What is left is rounding to the unit, at the borders of classes.
            limit = 1e-5 if name.endswith("single") else 5e-3
            assert device.agreement is None or device.agreement > 0.98, name
            assert device.agreement or device.largest_error < limit, name
        else:
            assert device.agreement is None or device.agreement > 0.96, name
            assert device.agreement or device.largest_error < 0.02, name
        n_numbers = rows.shape[-1] - sum(map(len, one_hot))
        upper = name.upper()
        assert f"#define {upper}_INPUTS {n_numbers + len(one_hot)}\n" in device.header
        sizes = ", ".join(str(len(group)) for group in one_hot)
        assert f"#define {upper}_CATEGORIES {{{sizes}}}\n" in device.header
    assert devices["many_single"].agreement == 1.0


def test_categories_that_reach_far_leave_numbers_fine_steps(fitted):
    """The one of a rare category is not cut, nor does it cost precision."""
    model, rows, one_hot = fitted["pair"]
    far = copy.deepcopy(model)
    std = rows.std(axis=0)
    far.input_scaler_.scale_ = np.where(std > 0.0, std, 1.0)
    coarse = far.to_c("net", X=rows).largest_error
    fine = far.to_c("net", X=rows, one_hot=one_hot, input_type="float32")
    assert fine.largest_error < 0.5 * coarse


def test_rows_as_the_device_gets_them(devices):
    numbers = np.where(ONES.any(axis=1), ONES.argmax(axis=1), 5)
    raw = devices["many_whole"]._reader.read(X)
    wanted = np.rint(X[:, NUMBERS] / UNIT[NUMBERS])
    assert_array_equal(raw, np.column_stack([wanted, numbers, 1 - BIT]))
    # Groups come in the order that they are given in.
    assert_array_equal(devices["fine_whole"]._reader.read(X)[:, 3], numbers)
    assert_array_equal(devices["only_real"]._reader.read(X[:, KINDS])[:, 0], numbers)


def test_weights_of_other_categories_are_not_touched(devices):
    # Two numbers, whose weights fill a byte and a half each, and two categories: of
    # their six weights two are looked up.
    header = devices["fine_whole"].header
    assert "fine_whole_dot32(x, w, 1)" in header
    loop = "for (i = 0; i < 2; i++) {\n        const int16_t u = fine_whole_weight(w"
    assert loop in header
    assert devices["only_whole"].table_bytes < devices["many_whole"].table_bytes


@needs_gcc
@pytest.mark.parametrize("way", ["real", "whole"])
def test_numbers_that_are_no_categories(tmp_path, devices, way):
    device, rows = devices[f"many_{way}"], X[:1].repeat(9, axis=0)
    given = {
        "real": "-1.0f -0.5f 0.9f 1.7f 2.99f 5.0f 1e30f NAN -INFINITY",
        "whole": "-1 -32768 0 1 2 5 255 256 32767",
    }[way].split()
    rows[:, KINDS] = 0.0
    for row, kind in ((2, 0), (3, 1), (4, 2)):
        rows[row, KINDS[kind]] = 1.0
    rows[:, LAST] = 1.0
    raw, name = device._reader.read(rows), device.name
    lists = ", ".join(
        "{" + ", ".join([*map(str, row[:2].tolist()), kind, "0"]) + "}"
        for row, kind in zip(raw, given, strict=True)
    )
    (tmp_path / f"{name}.h").write_text(device.header, encoding="ascii")
    source = f"""#include <math.h>
#include <stdio.h>
#include "{name}.h"
static const {name}_input in[9][4] = {{{lists}}};
int main(void) {{
    int row, k;
    for (row = 0; row < 9; row++) {{
        {name}_output out[3];
        {name}_run(in[row], out);
        for (k = 0; k < 3; k++) printf("%d ", (int)out[k]);
    }}
    return 0; }}"""
    wanted = device.run(rows)
    found = np.array(built(tmp_path, source).split(), dtype=int).reshape(9, 3)
    assert_array_equal(found, wanted)
    assert len(np.unique(wanted, axis=0)) > 2


def test_a_pipeline_of_categories():
    table = pd.DataFrame({"kind": np.array(list("pqrst"))[KIND], "z": Z[:, 0]})
    coded = ColumnTransformer(
        [("kind", OneHotEncoder(handle_unknown="ignore"), ["kind"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    coded.set_params(kind__sparse_output=False)
    pipeline = make_pipeline(coded, BLMClassifier((4,), n_bits=4, **QUICK))
    pipeline.fit(table, MANY)
    rows = coded.transform(table)
    names = [column for column in rows if column.startswith("kind_")]
    device = pipeline[-1].to_c("net", X=rows, one_hot=[names])
    assert_array_equal(device._reader.read(rows.to_numpy())[:, 1], KIND)
    assert device.agreement > 0.97
    by_index = pipeline[-1].to_c("net", X=rows, one_hot=[range(5)])
    assert by_index.header == device.header


def test_rare_categories_and_fine_weights():
    # The one of a category that is seen once is 15 standard deviations away: where
    # finer steps would not fit 32 bits, coarser ones are taken.
    rare = np.arange(N) == 5
    rows = np.column_stack([Z[:, 0], rare, np.arange(N) % 2])
    model = BLMRegressor((), n_bits=22, w_max=1.0, **QUICK)
    model.fit(rows, np.where(rare, 9.0, Z[:, 0]))
    one_hot = {"X": rows, "one_hot": [[1], [2]]}
    assert model.to_c("net", activation_bits=8, **one_hot).largest_error < 0.02
    with pytest.raises(ValueError, match="which 32 bits cannot hold"):
        model.to_c("net", activation_bits=12, **one_hot)


def test_only_categories_and_no_rows(fitted):
    # Nothing is cut: the largest one has all the bits there are.
    model, rows, one_hot = fitted["only"]
    device = model.to_c("net", one_hot=one_hot)
    assert device._program.categories.factors.max() == 511
    assert np.mean(device.predict(rows) == model.predict(rows)) > 0.97


def test_controllers_of_categories():
    def rate(policy, rng, incumbent):
        state, action = policy.initial_state(), np.empty(1)
        policy.step(np.ones(8), state, action)
        return float((action[0] - 0.5) ** 2)

    model = BLMController((3,), n_inputs=8, n_outputs=1, max_evaluations=50)
    model.set_params(random_state=0).fit(rate)
    device = model.to_c("net", X=X, one_hot=ONE_HOT, arithmetic="float32")
    assert device.largest_error < 1e-5
    # Without rows categories are drawn for the test, and those of none among them.
    text = model.to_c("net", one_hot=ONE_HOT, input_type="int16", n_tests=200).test
    drawn = text[text.index("{{") : text.index("};")] if "{{" in text else text
    assert drawn.count(", 5, ") > 5


@pytest.mark.parametrize(
    ("one_hot", "message"),
    [
        ([[0, 8]], "one_hot has 8, which is not a column of X"),
        ([["kind"]], "one_hot has 'kind', which is not a column of X"),
        ([[0, 1], [1]], "one_hot repeats a column"),
        ([[0], []], "one_hot has a group without columns"),
        ([0, 1], "one_hot must have a sequence of columns for each input"),
        ([[[0, 1], [2]]], "one_hot must have a sequence of columns for each input"),
        ([{0, 1}], "one_hot must have a sequence of columns for each input"),
        (["x0"], "one_hot must have a sequence of columns for each input"),
        (None, "'one_hot' parameter of to_c must be an array-like"),
        (
            [[2]],
            r"columns \[2\] of one_hot must be 0, except for one that is 1; in row 0",
        ),
        ([[0, 1, 7]], r"columns \[0, 1, 7\] of one_hot must be 0, except for one"),
    ],
)
def test_groups_that_cannot_be(fitted, one_hot, message):
    with pytest.raises(ValueError, match=message):
        fitted["many"][0].to_c("net", X=X, one_hot=one_hot)


def test_more_categories_than_a_number_can_tell():
    rows = np.eye(300)
    model = BLMRegressor((), n_bits=4, max_flips=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, np.arange(300.0))
    with pytest.raises(ValueError, match="only 255 categories and none of them"):
        model.to_c("net", X=rows, one_hot=[range(256)], input_type="uint8")
    options = {"X": rows, "input_type": "uint8"}
    device = model.to_c("net", one_hot=[range(255), range(255, 300)], **options)
    assert "uint16_t picks[2];" in device.header
    with pytest.raises(ValueError, match="columns"):
        device.predict(np.ones((1, 300)))


# ----------------------------------------------------------------------------- pieces


@pytest.mark.parametrize("seed", range(20))
def test_sums_reach_their_bounds_and_no_further(seed):
    rng = np.random.default_rng(seed)
    groups = tuple(rng.integers(1, 4, rng.integers(0, 4)).tolist())
    n_numbers = int(rng.integers(0 if groups else 1, 3))
    n = n_numbers + sum(groups)
    codes = rng.integers(-8, 8, (3, n))
    high = rng.integers(0, 100, n)
    low = np.where(np.arange(n) < n_numbers, -high, 0)
    choices = [[(low[k],), (high[k],)] for k in range(n_numbers)]
    for start, size in zip(np.cumsum((0, *groups)), groups, strict=False):
        ones = high[n_numbers + start :][:size]
        choices.append([(0,) * size, *map(tuple, np.diag(ones))])
    rows = np.array([sum(parts, ()) for parts in itertools.product(*choices)])
    sums = rows @ codes.T
    ends = _ends(codes, low, high, groups)
    assert_array_equal(ends, [sums.min(axis=0), sums.max(axis=0)])


@pytest.mark.parametrize("n_bits", range(2, 25))
def test_a_weight_is_found_in_its_row(n_bits):
    codes = RNG.integers(-(2 ** (n_bits - 1)), 2 ** (n_bits - 1), (1, 21))
    packing = Packing(n_bits)
    packed = packing.pack(codes).tolist()
    lines, weight = packing.one()
    # The expressions of C are those of Python, but for casts and whole quotients.
    source = "\n".join([*lines, f"found = {weight}"]).replace("const uint8_t ", "")
    source = re.sub(r"\(u?int\d+_t\)|(?<=\d)L\b", "", source)
    source = source.replace(" / ", " // ").replace("@READ8", "packed.__getitem__")
    for k in range(21):
        names = {"k": k, "w": 0, "packed": packed}
        exec(source, names)
        # Python's integers have no sign as their eighth or sixteenth bit.
        wanted = codes[0, k] % 2**n_bits if packing.is_signed else codes[0, k]
        assert names["found"] == wanted


# ------------------------------------------------- categories that a network has read


COLORS = np.array(["blue", "green", "red"])[RNG.integers(0, 3, N)]
SEX = np.array(["f", "m"])[BIT]
AGE = np.where(RNG.random(N) < 0.2, np.nan, Z[:, 1])
ROWS = pd.DataFrame({"color": COLORS, "z": Z[:, 0], "sex": SEX, "age": AGE})
HAND = np.column_stack(
    [
        *(color == COLORS for color in ("blue", "green", "red")),
        Z[:, 0],
        SEX == "m",
        np.where(np.isnan(AGE), np.nanmean(AGE), AGE),
        np.isnan(AGE),
    ]
)


@pytest.mark.parametrize("way", WAYS)
def test_c_of_a_table_is_that_of_its_columns_by_hand(way):
    unit, by_hand = 1.0, 1.0
    if WAYS[way]["input_type"] != "float32":
        unit, by_hand = [9.0, 0.001, 9.0, 0.1], [1.0, 1.0, 1.0, 0.001, 1.0, 0.1, 1.0]
    wanted = BLMClassifier((4,), n_bits=6, **QUICK).fit(HAND, MANY)
    wanted = wanted.to_c(
        "net", X=HAND, one_hot=[[0, 1, 2]], input_scale=by_hand, **WAYS[way]
    )
    model = BLMClassifier((4,), n_bits=6, **QUICK).fit(ROWS, MANY)
    device = model.to_c("net", X=ROWS, input_scale=unit, **WAYS[way])
    assert device.header == wanted.header
    assert device.test == wanted.test
    assert_array_equal(device.predict(ROWS), wanted.predict(HAND))
    assert device.input_names == [
        *("z", "sex=m", "age", "age is missing"),
        "color=blue | color=green | color=red",
    ]
    raw = device._reader.read(model._rows_of(ROWS)[0])
    assert_array_equal(raw[:, 1], BIT)
    assert_array_equal(raw[:, 4], np.unique(COLORS, return_inverse=True)[1])
    # A category that fit has not seen has no number: it is as none of them.
    unseen = model._rows_of(ROWS.assign(color=None))[0]
    assert np.all(device._reader.read(unseen)[:, 4] == 3)


def test_missing_categories_that_fit_had_not_are_named():
    """More bits would not help: they are zeros on a device, at their means here."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.normal(size=90), "c": list("abc") * 30})
    y = X["n"] + X["c"].map({"a": 0.0, "b": 3.0, "c": 5.0})
    model = BLMRegressor((), max_flips=20_000, random_state=0).fit(X, y)
    some = X.assign(c=X["c"].where(X.index % 4 > 0))
    with pytest.warns(UserWarning, match="low: column c of X has missing categories, "):
        model.to_c("c", X=some)
    assert model.fit(some, y).to_c("c", X=some).agreement > 0.99


def test_indicators_are_exact_in_every_type():
    rows = ROWS.assign(z=128.0 + 40.0 * ROWS["z"], age=ROWS["age"] + 50.0)
    rows["rare"] = np.where(np.arange(N) < 9, "yes", "no")
    model = BLMClassifier((4,), n_bits=6, **QUICK).fit(rows, MANY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.to_c("net", input_type="uint8")


def test_a_device_of_both_kinds_of_categories():
    rows = ROWS.assign(**{f"kind{k}": ONES[:, k] for k in range(5)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = BLMClassifier((4,), n_bits=6, **QUICK).fit(rows, MANY)
    names = [f"kind{k}" for k in range(5)]
    device = model.to_c("net", X=rows, one_hot=[names])
    assert device.input_names[-2:] == [
        " | ".join(names),
        "color=blue | color=green | color=red",
    ]
    assert device.agreement > 0.97
    for column in ("color", "sex", "age"):
        with pytest.raises(ValueError, match=f"one_hot has column {column}, which"):
            model.to_c("net", X=rows, one_hot=[[column]])
    with pytest.raises(ValueError, match="one for each of the 9 inputs"):
        model.to_c("net", X=rows, input_scale=np.ones(13))
    many = pd.DataFrame({"k": [f"k{k % 300}" for k in range(900)]})
    options = {"n_bits": 4, "max_flips": 1, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        wide = BLMRegressor((), **options).fit(many, np.arange(900.0) % 300)
    with pytest.raises(ValueError, match="one input has 300 categories, but"):
        wide.to_c("net", X=many, input_type="uint8")
