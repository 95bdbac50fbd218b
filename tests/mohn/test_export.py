"""Models in other languages: SQLite, gcc and others compute what predict does."""

import re
import shutil
import sqlite3
import subprocess
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support import random_terms

from skmohn import Genotypes, MOHNClassifier, MOHNRegressor
from skmohn.mohn import GPOptions
from skmohn.mohn._design.design import make_design
from skmohn.mohn._export.formula import Formula
from skmohn.mohn._sparse.model import SparseModel
from skmohn.mohn._table.rows import member_values

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings(r"ignore:[\s\S]*far from all other values"),
]
SOME = settings(max_examples=settings.default.max_examples // 10)
HOSTILE = [
    'quote"', "'; DROP TABLE data; --", "line\nbreak", "ä ∑ 中", "select", "a b",
    "a_b", "a-b", "code0", "score0", "*/ /* ??/", "%s\\{}$&#^_~", "`tick`", "[x]",
]  # fmt: skip
RNG = np.random.default_rng(0)
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O0"]
FLAGS += ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]


def make_column(kind, n, rng):
    """One column of a kind, with missing values but for bools."""
    values = {
        "bit": lambda: rng.integers(0, 2, n).astype(float),
        "sign": lambda: rng.choice([-1.0, 1.0], n),
        "rare": lambda: (rng.random(n) < 0.15).astype(float),
        "ends": lambda: rng.choice([0.1, 0.7], n),
        "bool": lambda: rng.integers(0, 2, n).astype(bool),
        "text": lambda: rng.choice(["it's", "ä\\\n"], n).astype(object),
        "flag": lambda: rng.choice([True, False], n).astype(object),
        "number": lambda: rng.normal(size=n),
        "far": lambda: 1e9 + rng.normal(size=n),
        "huge": lambda: 1.6e308 * rng.uniform(-1, 1, n),
        "count": lambda: rng.integers(3, 11, n).astype(float),
        # Repeats of settings that differ by jitter, which predict takes for equal.
        "setting": lambda: rng.integers(0, 5, n) / 4 + rng.uniform(-1e-6, 1e-6, n),
        "fill": lambda: np.where(rng.random(n) < 0.2, 1e30, rng.normal(size=n)),
        "lone": lambda: np.where(np.arange(n) == 1, 500.0, rng.normal(size=n)),
    }[kind]()
    if kind != "bool":
        is_missing = rng.random(n) < 0.1
        values[is_missing] = np.nan
    return values


KINDS = ["bit", "sign", "rare", "ends", "bool", "text", "flag", "number", "far"]
KINDS += ["huge", "count", "setting", "fill", "lone"]


def make_table(kinds, seed, n=60):
    """A table with columns of some kinds, by hostile names."""
    rng = np.random.default_rng(seed)
    columns = [make_column(kind, n, rng) for kind in kinds]
    return pd.DataFrame(dict(zip(HOSTILE, columns, strict=False)))


def text_columns(kinds):
    return [name for name, kind in zip(HOSTILE, kinds, strict=False)
            if kind in ("text", "flag", "three", "number category")]  # fmt: skip


def run_sql(query, X, table="data"):
    """Result of a query to SQLite, a table of which has the rows."""
    with closing(sqlite3.connect(":memory:")) as database:
        quoted = ['"' + str(name).replace('"', '""') + '"' for name in X.columns]
        table = '"' + table.replace('"', '""') + '"'
        database.execute(f"CREATE TABLE {table} ({', '.join(quoted)})")
        rows = [
            [None if v is None or v != v else v for v in row]
            for row in X.astype(object).to_numpy().tolist()
        ]
        marks = ", ".join("?" * len(quoted))
        database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        found = database.execute(query)
        names = [part[0] for part in found.description]
        return pd.DataFrame(found.fetchall(), columns=names)


def assert_same(found, wanted):
    """Equal but for rounding."""
    found, wanted = np.asarray(found, float), np.asarray(wanted, float)
    assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


@SOME
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=2, max_size=6),
    seed=st.integers(0, 2**32 - 1),
)
def test_sql_of_mixed_tables_predicts_what_the_model_does(kinds, seed):
    X = make_table(kinds, seed)
    rng = np.random.default_rng(seed)
    y = rng.normal(size=len(X))
    terms = random_terms(rng, len(kinds))
    categories = text_columns(kinds)
    model = MOHNRegressor(
        "given", terms=terms, categorical_features=categories, outliers="keep"
    )
    with np.errstate(over="ignore"):
        model.fit(X, y)
    assert_same(run_sql(model.to_sql(), X)["prediction"], model.predict(X))


@SOME
@given(
    n_classes=st.integers(2, 4),
    kinds=st.lists(st.sampled_from([*KINDS[:7], "three"]), min_size=1, max_size=4),
    seed=st.integers(0, 2**32 - 1),
)
def test_sql_of_classes_has_labels_and_probabilities(n_classes, kinds, seed):
    rng = np.random.default_rng(seed)
    X = make_table([kind.replace("three", "text") for kind in kinds], seed)
    for name, kind in zip(X, kinds, strict=True):
        if kind == "three":
            drawn = rng.choice(4, 60, p=[0.6, 0.1, 0.1, 0.2])
            X[name] = np.array(["a", "b'", "c", np.nan], object)[drawn]
    classes = np.array(["no", "it's", "ä", "-"])[rng.integers(0, n_classes, 60)]
    model = MOHNClassifier("full", 2, C=1.0, categorical_features=text_columns(kinds))
    model.fit(X, classes)
    found = run_sql(model.to_sql(), X)
    assert found["prediction"].tolist() == model.predict(X).tolist()
    assert list(found)[1:] == [f"probability_{label}" for label in model.classes_]
    assert_same(found.iloc[:, 1:], model.predict_proba(X))


def test_settings_are_equal_but_for_jitter():
    X = make_table(["setting", "bit"], 0).dropna()
    model = MOHNRegressor("given", terms=[(0,), (0, 1)], outliers="keep")
    model.fit(X, 1e6 * X.iloc[:, 0])
    assert 0 in model.coding_.settings
    found, wanted = run_sql(model.to_sql(), X)["prediction"], model.predict(X)
    assert_allclose(found, wanted, rtol=1e-12, atol=1e-6)


def test_numbers_far_out_are_bounded_as_predictions_are():
    X = pd.DataFrame(RNG.uniform(2.0, 6.0, (60, 3)), columns=list("abc"))
    y = X["a"] * X["b"] + 0.1 * RNG.normal(size=60)
    model = MOHNRegressor("pursuit", random_state=0).fit(X, y)
    inputs = model._to_rows(X.to_numpy()).inputs
    design = make_design(inputs)
    model.model_ = SparseModel.condition(model._listed_weights(), design, y.to_numpy())
    far = 30.0 * X - 100.0
    with_bounds = model.predict(far)
    model.model_ = SparseModel.point(model.model_.polynomial)
    assert not np.allclose(with_bounds, model.predict(far))
    model.model_ = SparseModel.condition(model._listed_weights(), design, y.to_numpy())
    assert_same(run_sql(model.to_sql(), far)["prediction"], with_bounds)


def test_an_unknown_category_is_the_mean_over_all_for_classes():
    X = pd.DataFrame({"c": ["r", "g", "b", None] * 20, "bit": [0, 1] * 40})
    model = MOHNClassifier("full", 2, C=1.0)
    model.fit(X, (X["c"] == "r") | (X["c"].isna() & (X["bit"] == 1)))
    assert len(model.terms_) > 3
    found = run_sql(model.to_sql(), X)["probability_True"]
    assert_same(found, model.predict_proba(X)[:, 1])


def fit_bits(n=80, **options):
    X = RNG.integers(0, 2, (n, 5)).astype(float)
    y = 1.5 - X[:, 0] + 2.0 * (X[:, 1] == X[:, 3])
    return MOHNRegressor(**options).fit(X, y), pd.DataFrame(X).add_prefix("x"), y


def test_keys_names_and_tables_are_quoted():
    model, X, _ = fit_bits()
    X["code0"], X["ke\"y'"] = range(len(X)), range(len(X))
    query = model.to_sql('my "data"; --', keys=["ke\"y'", "code0"])
    found = run_sql(query, X, 'my "data"; --')
    assert list(found) == ["ke\"y'", "code0", "prediction"]
    assert found["code0"].tolist() == X["code0"].tolist()
    assert_same(found["prediction"], model.predict(X.iloc[:, :5].to_numpy()))
    assert 'FROM "a"."b" AS' in model.to_sql(["a", "b"])


def test_a_missing_column_is_an_error_of_the_database():
    """SQLite takes a quoted name for a text where there is no such column."""
    model, X, _ = fit_bits()
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        run_sql(model.to_sql(), X.drop(columns="x1"))


def test_dialects_quote_in_their_own_way():
    X = pd.DataFrame({"a`]b": np.tile(["x\\", "y"], 20), "c": np.tile([0, 1], 20)})
    model = MOHNRegressor("given", terms=[("a`]b",)])
    model.fit(X, np.tile([1.0, 2.0], 20))
    query = model.to_sql(dialect="mysql")
    assert "`given`.`a``]b` = 'x\\\\'" in query
    # SQLite reads names in backticks, but no escape sequences.
    found = run_sql(query.replace("\\\\", "\\"), X)
    assert_same(found["prediction"], model.predict(X))
    assert "[given].[a`]]b] = N'x\\'" in model.to_sql(dialect="tsql")
    with pytest.raises(ValueError, match=r"dialect must be one of \['ansi'"):
        model.to_sql(dialect="sqlite")


def test_categories_not_seen_in_fit_are_missing():
    X = pd.DataFrame({"a": ["x", "y"] * 20, "b": [1, 2] * 20})
    options = {"handle_unknown": "missing", "categorical_features": ["a", "b"]}
    model = MOHNRegressor("given", terms=[("a",), ("a", "b")], **options)
    model.fit(X, np.arange(40.0))
    new = pd.DataFrame({"a": ["z", "x", None], "b": [1, 3, 2]})
    assert_same(run_sql(model.to_sql(), new)["prediction"], model.predict(new))


def test_names_are_texts():
    model, *_ = fit_bits()
    for odd in (5, None, b"x", ["a", 1], {"a"}):
        with pytest.raises(TypeError, match="keys must be a name or a sequence"):
            model.to_sql(keys=odd)
        with pytest.raises(TypeError, match="table must be a name or a sequence"):
            model.to_sql(odd)
    with pytest.raises(ValueError, match="table must have a name"):
        model.to_sql([])
    assert model.to_sql(keys="id") == model.to_sql(keys=["id"])
    with pytest.raises(ValueError, match="keys has 'id' 2 times"):
        model.to_sql(keys=["id", "date", "id"])
    with pytest.raises(ValueError, match="name must be a C identifier"):
        model.to_c(None)


def test_several_targets_have_a_column_each():
    _, X, y = fit_bits()
    targets = pd.DataFrame({"one": y, "two": X["x2"] * X["x1"] + 3.0})
    model = MOHNRegressor(outliers="keep").fit(X, targets)
    found = run_sql(model.to_sql(), X)
    assert list(found) == ["one", "two"]
    assert_same(found, model.predict(X))


def test_a_constant_has_neither_columns_nor_terms():
    X = pd.DataFrame({"a": [0, 1] * 10})
    model = MOHNRegressor("given", terms=[]).fit(X, np.arange(20.0))
    assert_same(run_sql(model.to_sql(), X)["prediction"], np.full(20, 9.5))


def test_many_terms_are_no_deep_expression():
    """SQLite refuses expressions of more than a thousand levels."""
    terms = [(j, k) for j in range(60) for k in range(j)]
    weights = RNG.normal(size=len(terms))
    model = MOHNRegressor.from_terms(terms, weights)
    X = pd.DataFrame(RNG.choice([-1.0, 1.0], (5, 60))).add_prefix("x")
    found = run_sql(model.to_sql(), X)["prediction"]
    assert_same(found, model.predict(X.to_numpy()))


# ------------------------------------------------------------------------------------ C


def numbered(model, X):
    """Rows as C, ONNX and sympy read them: categories are numbers."""
    return model._categories.encode(X, list(X))


def run_c(folder, cases, *flags):
    """Outputs of headers, given by name with rows and the number of outputs."""
    lines = ["#include <stdio.h>"]
    for name, (header, *_) in cases.items():
        (folder / f"{name}.h").write_text(header, encoding="ascii")
        lines.append(f'#include "{name}.h"')
    lines.append("int main(void) { int r;")
    for name, (header, rows, n) in cases.items():
        kind = "uint8_t" if rows.dtype == np.uint8 else "double"
        width = max(rows.shape[1], 1)
        call = f"{name}_predict(x, y);"
        if n == 1:
            call = f"y[0] = {name}_predict(x);"
        if f"{name}_probabilities" in header:
            call = f"y[0] = {name}_predict(x); {name}_probabilities(x, y + 1);"
        lines += [
            f"for (r = 0; r < {len(rows)}; r++) {{ {kind} x[{width}]; double y[{n}];",
            "if (fread(x, sizeof x, 1, stdin) != 1) return 1;",
            call,
            "fwrite(y, sizeof y, 1, stdout); }",
        ]
    (folder / "all.c").write_text("\n".join([*lines, "return 0; }"]))
    command = ["gcc", *FLAGS, *flags, "all.c", "-o", "all", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    raw = b"".join(rows.tobytes() for _, rows, _ in cases.values())
    done = subprocess.run([folder / "all"], input=raw, capture_output=True, check=True)
    values, found = np.frombuffer(done.stdout), {}
    for name, (_, rows, n) in cases.items():
        found[name], values = (
            values[: len(rows) * n].reshape(-1, n),
            values[len(rows) * n :],
        )
    return found


@needs_gcc
@pytest.mark.parametrize("flags", [(), ("-Ofast", "-march=native")])
def test_c_of_mixed_tables_predicts_what_the_model_does(tmp_path, flags):
    """Also where a compiler may assume that there is no NaN, and fuse operations."""
    cases, wanted = {}, {}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        kinds = rng.choice(KINDS, 6).tolist()
        X, y = make_table(kinds, seed), rng.normal(size=60)
        options = {"categorical_features": text_columns(kinds)}
        terms = random_terms(rng, 6)
        name, rows = f"m{seed}", None
        if seed % 3 == 0:
            model = MOHNClassifier("given", terms=terms, C=1.0, **options)
            model.fit(X, np.digitize(y, [0.0, 1.0][: 1 + seed % 2]))
            probabilities = model.predict_proba(X)
            wanted[name] = np.column_stack([model.predict(X), probabilities])
        else:
            targets = np.column_stack([y, X.isna().sum(axis=1)]) if seed % 3 == 1 else y
            model = MOHNRegressor("given", terms=terms, outliers="keep", **options)
            wanted[name] = model.fit(X, targets).predict(X).reshape(60, -1)
        rows = numbered(model, X)
        cases[name] = model.to_c(name), rows, wanted[name].shape[1]
    found = run_c(tmp_path, cases, *flags)
    for name, values in wanted.items():
        assert_same(found[name], values)


@needs_gcc
def test_integers_are_exact_where_weights_are_dyadic(tmp_path):
    """In 32 bits; rounded weights are as far off as the header states."""
    terms = [(0,), (1, 3), (0, 2, 3), (4,)]
    codes = RNG.choice([-1.0, 0.0, 1.0], (50, 5))
    bits = np.where(codes == 0.0, 2, codes > 0.0).astype(np.uint8)
    rows, cases, models = np.where(codes == 0.0, np.nan, codes), {}, {}
    for name, weights, accumulator in (
        ("dyadic", [0.5, -3.25, 2.0**-20, 100.0], 32),
        ("rounded", [0.1, -1 / 3, 1e-5, 7.7], 32),
        ("long", [0.1, -1 / 3, 1e-5, 7.7], 64),
        ("large", [1e30, -1.0, 3e29, 1e28], 32),
        ("small", [1e-310, -1e-309, 5e-324, 0.0], 32),
    ):
        models[name] = MOHNRegressor.from_terms(
            terms, weights, intercept=0.25 * weights[0]
        )
        header = models[name].to_c(
            name, arithmetic="integer", accumulator_bits=accumulator
        )
        assert "math.h" not in header
        cases[name] = header, bits, 1
    found = run_c(tmp_path, cases)
    for name, model in models.items():
        wanted, (header, *_) = model.predict(rows), cases[name]
        error = float(re.search(r"are at most ([-+.e\d]+)\.\n", header)[1])
        assert (error == 0.0) == (name == "dyadic")
        # The largest error of sums of such floats in double precision.
        rounding = 1e-15 * np.abs(model.weights_).sum()
        assert np.abs(found[name][:, 0] - wanted).max() <= error + rounding
    assert np.abs(found["rounded"][:, 0] - models["rounded"].predict(rows)).max() < 1e-7
    assert found["dyadic"][:, 0].tolist() == models["dyadic"].predict(rows).tolist()


@needs_gcc
def test_integers_classify_as_the_model_does(tmp_path):
    X = pd.DataFrame({"a": ["x", "y"] * 40, "b": RNG.integers(0, 2, 80)})
    y = np.where((X["a"] == "x") == (X["b"] == 1), "same", 'oth"er\\?@é')
    model = MOHNClassifier("logistic", random_state=0).fit(X, y)
    header = model.to_c("bits", arithmetic="integer")
    assert (
        '#define BITS_LABELS {"oth\\042er\\134\\077\\100\\303\\251", "same"}' in header
    )
    assert '"a", 0 for "x", 1 for "y"' in header
    bits = numbered(model, X).astype(np.uint8)
    found = run_c(tmp_path, {"bits": (header, bits, 3)})["bits"]
    assert model.classes_[found[:, 0].astype(int)].tolist() == model.predict(X).tolist()
    assert_allclose(found[:, 1:], model.predict_proba(X), atol=1e-6)


def test_integers_that_are_coarse_for_a_target_warn():
    """All sums are over one power of two, the largest as large as fits."""
    X = RNG.choice([-1.0, 1.0], (40, 2))
    Y = pd.DataFrame({"watts": 1e9 * X[:, 0], "hours": 0.3 * X[:, 0] * X[:, 1]})
    model = MOHNRegressor("given", terms=[(0,), (0, 1)]).fit(X, Y)
    with pytest.warns(UserWarning, match="coarse for hours: .*accumulator_bits=64"):
        model.to_c(arithmetic="integer")
    model.to_c(arithmetic="integer", accumulator_bits=64)
    far = MOHNRegressor("given", terms=[(0,)]).fit(X, 1e12 + X[:, 0])
    with pytest.warns(UserWarning, match="coarse for prediction"):
        far.to_c(arithmetic="integer")


def test_integers_need_columns_of_two_values():
    X = RNG.normal(size=(40, 2))
    model = MOHNRegressor("given", terms=[(1,)]).fit(X, X[:, 1])
    with pytest.raises(ValueError, match="column 'x1' has more: use arithmetic"):
        model.to_c(arithmetic="integer")
    with pytest.raises(ValueError, match='arithmetic must be "double"'):
        model.to_c(arithmetic="float")
    with pytest.raises(ValueError, match="accumulator_bits must be 32 or 64"):
        model.to_c(accumulator_bits=16)
    with pytest.raises(ValueError, match="name must be a C identifier"):
        model.to_c("Model")


# -------------------------------------------------------------------------------- LaTeX


def evaluate_latex(text, X):
    """Value of the first equation, of sums, products and fractions, for each row."""
    *_, body, _ = re.split(r"\\(?:begin|end)\{aligned\}", text)
    body = body.replace(" \\\\\n&\\quad", "").replace(r" \, ", "*")
    body = re.sub(r" \\times 10\^\{(-?\d+)\}", r"e\1", body)
    body = re.sub(r"z_\{(\d+)\}", r"z[\1]", body)
    body = re.sub(r"\\text\{(\w+)\}", r"x['\1']", body)
    body = re.sub(r"\\frac\{(.+)\}\{(.+)\}", r"(\1)/(\2)", body)
    (_, first), *codes = (line.split(" &= ") for line in body.strip().split(" \\\\\n"))
    x, z = {name: X[name].to_numpy() for name in X}, {}
    for name, code in codes:
        z[int(name[2:-1])] = eval(code, {"x": x})
    return eval(first, {"x": x, "z": z})


def test_latex_has_numbers_that_read_back():
    rng = np.random.default_rng(4)
    kinds = ["bit", "sign", "ends", "number", "huge", "count"]
    X = make_table(kinds, 4).fillna(1.0).set_axis(kinds, axis=1)
    terms = random_terms(rng, 6, 12)
    model = MOHNRegressor("given", terms=terms, outliers="keep")
    model.fit(X, 1e-7 * rng.normal(size=60))
    assert_same(evaluate_latex(model.to_latex(), X), model.predict(X))
    short = evaluate_latex(model.to_latex(digits=4), X)
    assert_allclose(short, model.predict(X), atol=1e-9)


def test_latex_of_a_tiny_model():
    X = pd.DataFrame({"a_b": ["x", "y"] * 20, "n": [1.0, 1.0, 3.0, 3.0] * 10})
    model = MOHNRegressor("given", terms=[(0,), (0, 1)])
    z = np.where(X["a_b"] == "y", 1.0, -1.0)
    model.fit(X, 0.5 - 2.0 * z + 3e-9 * z * (X["n"] - 2.0))
    expected = r"""
\begin{aligned}
\text{prediction} &= 0.5 - 2 \, z_{1} + 3 \times 10^{-9} \, z_{1} \, z_{2} \\
z_{1} &= \begin{cases} -1 & \text{if } \text{a\_b} = \text{x} \\ 1 & \text{if } \text{a\_b} = \text{y} \\ 0 & \text{otherwise} \end{cases} \\
z_{2} &= \text{n} - 2
\end{aligned}
"""  # noqa: E501
    assert model.to_latex(digits=3) == expected.strip()
    with pytest.raises(ValueError, match="digits must be None or from 1 to 17"):
        model.to_latex(digits=0)


@pytest.mark.parametrize("name", HOSTILE)
def test_latex_escapes_names(name):
    X = pd.DataFrame({name: [name, "y"] * 20, "n": np.arange(40.0)})
    model = MOHNClassifier("given", terms=[(0, 1)], C=1.0, categorical_features=[0])
    text = model.fit(X, [f"{name} no", name] * 20).to_latex()
    plain = re.sub(r"\\[\\{}$&#_%]", "", text)
    depths = np.cumsum([(c == "{") - (c == "}") for c in plain])
    assert depths.min() == depths[-1] == 0
    assert text.count(r"\begin{cases}") == text.count(r"\end{cases}")
    # What is not escaped is ours.
    assert not set("$#%").intersection(plain)
    assert plain.count("\n") == 6


# ---------------------------------------------------------------- models of all weights


def noisy_table(n=120, noise=1.5):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "n": rng.normal(size=n),
            "c": rng.choice(["r", "g", "b'"], n),
            "bit": rng.integers(0, 2, n),
        }
    )
    y = (
        3.0 * (X["c"] == "r")
        - 2.0 * X["bit"]
        + (X["n"] > 0)
        + noise * rng.normal(size=n)
    )
    X.loc[::7, "n"] = np.nan
    return X, y.to_numpy()


def listed_sum(model, X):
    """Sum of the listed terms, from the codes that the model reads."""
    listed, sums = model._listed_weights(), []
    for _, row in X.iterrows():
        rows = model._to_rows(model._categories.encode(row.to_frame().T, list(X)))
        codes = member_values(rows, model.term_names_.alphabets)
        parts = [
            w * np.prod(codes[list(t)])
            for t, w in zip(listed.terms, listed.weights, strict=True)
        ]
        sums.append(listed.intercept + sum(parts))
    return np.array(sums)


@pytest.mark.parametrize("numeric", ["multilinear", "thermometer"])
def test_terms_of_a_gaussian_process_are_written_and_their_loss_said(numeric, capsys):
    X, y = noisy_table()
    model = MOHNRegressor("gp", gp_options=GPOptions(numeric=numeric)).fit(X, y)
    assert any(isinstance(label, tuple) for term in model.terms_ for label in term)
    with pytest.warns(UserWarning, match="SQL: R2 is .* low: fit a sparse"):
        query = model.to_sql(X=X)
    wanted, sums = model.predict(X), listed_sum(model, X)
    clipped = np.clip(sums, model.model_.y_min, model.model_.y_max)
    assert_same(run_sql(query, X)["prediction"], clipped)
    r2 = 1.0 - np.mean((clipped - wanted) ** 2) / np.var(wanted)
    assert f"SQL: R2 is {r2:.5f} for 120 predictions" in capsys.readouterr().out
    # The range of predictions is that of the estimator, unless it is set free.
    model.set_params(gp_options=GPOptions(numeric=numeric, clip=False))
    with pytest.warns(UserWarning, match="R2"):
        assert_same(run_sql(model.to_sql(X=X), X)["prediction"], sums)


def test_groups_of_one_hot_columns_are_read_as_one():
    rng = np.random.default_rng(2)
    hot = np.eye(3)[rng.integers(0, 3, 90)]
    X = pd.DataFrame(hot, columns=["r", "g", "b"]).assign(n=rng.normal(size=90))
    y = hot @ [3.0, -2.0, 5.0] + X["n"] + rng.normal(size=90) * 0.05
    model = MOHNRegressor("gp", gp_options=GPOptions(one_hot=[[0, 1, 2]])).fit(X, y)
    new = X[:6].copy()
    new.iloc[0, :2] = np.nan
    new.iloc[1, :3] = [0, np.nan, 0]
    new.iloc[2, :3] = np.nan
    new.iloc[3, :3] = [np.nan, 1, 0]
    formula = Formula.read(model, X, "SQL")
    assert_same(formula.evaluate(new.to_numpy())[:, 0], listed_sum(model, new))
    assert_same(run_sql(model.to_sql(X=X), new)["prediction"], listed_sum(model, new))


@pytest.mark.parametrize("transform", ["log", "yeo-johnson"])
def test_transformed_targets_keep_the_mean_of_their_noise(transform, capsys):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (200, 4)).astype(float)
    y = np.exp(X @ [1.0, -1.0, 0.5, 0.0] + 0.2 * rng.normal(size=200))
    options = GPOptions(target_transform=transform, clip=False)
    model = MOHNRegressor("gp", gp_options=options, outliers="keep").fit(X, y)
    query = model.to_sql(X=X)
    r2 = float(re.search(r"R2 is ([\d.]+)", capsys.readouterr().out)[1])
    assert r2 > 0.99
    formula = Formula.read(model, X, "SQL")
    found = run_sql(query, pd.DataFrame(X).add_prefix("x"))["prediction"]
    assert_same(found, formula.evaluate(X)[:, 0])
    # Without the noise, the mean would be two percent lower.
    assert abs(found.mean() / model.predict(X).mean() - 1.0) < 0.01


# ----------------------------------------------------------------------------- refusals


def test_what_cannot_be_exported_is_refused_with_a_cure():
    X, y = noisy_table(60)
    model = MOHNRegressor("gp").fit(X, y)
    with pytest.raises(ValueError, match=r'pass X, .*"pursuit", after OneHotE'):
        model.to_sql()
    classifier = MOHNClassifier("gp").fit(X, y > 0)
    with pytest.raises(ValueError, match='strategy="logistic"'):
        classifier.to_sql(X=X)
    dates = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=40)})
    model = MOHNRegressor("given", terms=[(0,)]).fit(dates, np.arange(40.0))
    with pytest.raises(ValueError, match="column 'when' holds times"):
        model.to_sql()
    counts = RNG.integers(0, 3, (40, 3))
    model = MOHNRegressor("given", terms=[(0,)])
    packed = Genotypes.from_counts(counts)
    model.fit(packed, counts[:, 0] + 0.0)
    with pytest.raises(ValueError, match=r"to Genotypes.*X\[:, columns\].counts\(\)"):
        model.to_sql()
    assert model.fit(packed[:, [0]].counts(), counts[:, 0] + 0.0).to_sql()


def test_names_and_categories_that_sql_lacks_are_refused():
    model, *_ = fit_bits()
    for name in ("", "a\0b"):
        with pytest.raises(ValueError, match="is not a name in SQL"):
            model.to_sql(name)
        with pytest.raises(ValueError, match="is not a name in SQL"):
            model.to_sql(keys=[name])
    X = pd.DataFrame({"a": ["x\0z", "y"] * 10})
    model = MOHNRegressor("given", terms=[(0,)]).fit(X, np.arange(20.0))
    with pytest.raises(ValueError, match=r"no literal for .* of column 'a'"):
        model.to_sql()
