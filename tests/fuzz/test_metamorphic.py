"""Changes of the data of which it is known what they do to an estimator."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fuzz_estimators import ESTIMATORS, FAMILIES, fine_targets, outputs
from fuzz_rules import attempt, same
from fuzz_tables import SEEDS, Table, Target, Weights
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.neural_network import MLPRegressor
from sklearn.utils.validation import has_fit_parameter
from skops.io import dumps, get_untrusted_types, loads

from skmohn import (
    BLMClassifier,
    BLMRegressor,
    EnergyNetImputer,
    EnergyNetOutlierDetector,
    EnergyNetRegressor,
    EnergyNetTransformer,
    MOHNClassifier,
    MOHNDensity,
    MOHNGLMRegressor,
    MOHNRegressor,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
KINDS = ["sign", "bit", "genotype", "grade", "normal", "share"]
# What the data alone decide: no folds, no draws, no order of columns.
SYMMETRIC = {
    "full ols": MOHNRegressor("full", max_order=1),
    "full lasso": MOHNRegressor("full", "lasso", max_order=1, alpha=0.01),
    "pursuit": MOHNRegressor("pursuit", selection="ebic", max_order=2, max_iter=20),
    "gp": MOHNRegressor("gp"),
}


@st.composite
def problems(draw, names):
    """The name of an estimator, a table without flaws, and a target."""
    name = draw(st.sampled_from(names))
    columns = tuple(draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=5)))
    table = Table(draw(st.sampled_from([30, 60])), columns, seed=draw(SEEDS))
    return name, table, draw(SEEDS)


def target_for(estimator, table, seed):
    """A target of the kind that an estimator learns."""
    kind = fine_targets(estimator)[0]
    return Target(kind, seed=seed).build(table.n_rows)


def fit(estimator, X, y, **weights):
    """Fit a clone; it must work."""
    model = clone(estimator)
    assert attempt(model.fit, X, y, **weights) is model
    return model


@pytest.mark.parametrize("family", FAMILIES)
def test_round_trips_keep_every_output(family, campaign):
    def check(name, table, seed):
        X, estimator = table.build(), ESTIMATORS[name]
        model = fit(estimator, X, target_for(estimator, table, seed))
        file = dumps(model)
        copies = (
            pickle.loads(pickle.dumps(model)),
            loads(file, trusted=get_untrusted_types(data=file)),
        )
        for use, of_model in outputs(model).items():
            expected = attempt(of_model, X)
            for copied in copies:
                found = attempt(outputs(copied)[use], X)
                if not isinstance(expected, Exception):
                    assert same(found, expected), f"{use} differs"

    campaign(check, problems(FAMILIES[family]))


def assert_same_predictions(model, other, X, of_other, scale=1.0, shift=0.0):
    """Compare predictions, and what is said of their spread."""
    expected = scale * model.predict(X) + shift
    size = np.abs(expected - expected.mean()).max() + abs(scale)
    assert_allclose(other.predict(of_other) / size, expected / size, atol=1e-5)


def test_relabeled_columns(campaign):
    def check(name, table, seed):
        X, y = table.build(), target_for(SYMMETRIC[name], table, seed)
        model = fit(SYMMETRIC[name], X, y)
        order = np.random.default_rng(seed).permutation(X.shape[1])
        other = fit(SYMMETRIC[name], X[:, order], y)
        assert_same_predictions(model, other, X, X[:, order])
        frame = replace(table, container="pandas").build()
        frame.columns = [f"column {name}" for name in frame]
        assert_same_predictions(model, fit(SYMMETRIC[name], frame, y), X, frame)

    campaign(check, problems(list(SYMMETRIC)))


# With the parameters that nobody chose; of classes, folds and draws follow the order of
# columns, as do the initial weights of networks.
DEFAULTS = {
    "MOHNRegressor": (MOHNRegressor(random_state=0), "predict"),
    "MOHNRegressor, gp": (MOHNRegressor("gp"), "predict"),
    "EnergyNetTransformer": (EnergyNetTransformer(random_state=0), "score_samples"),
}


def mixed_table(n_rows, seed):
    """Flags, a number, and words, each of them in another number of rows."""
    rng = np.random.default_rng(seed)
    words = np.repeat(["low", "mid", "top"], [n_rows // 2, n_rows // 3, n_rows])[
        :n_rows
    ]
    columns = {
        "flag": rng.choice([0.0, 1.0], n_rows),
        "number": rng.normal(size=n_rows),
        "word": rng.permutation(words),
        "sign": rng.choice([-1.0, 1.0], n_rows),
    }
    return pd.DataFrame(columns)


def test_columns_in_another_order_turned_and_relabeled(campaign):
    def check(name, n_rows, seed):
        estimator, use = DEFAULTS[name]
        X = mixed_table(n_rows, seed)
        noise = np.random.default_rng(seed + 1).normal(size=n_rows)
        y = X["flag"] + X["number"] * X["sign"] + (X["word"] == "mid") + 0.3 * noise
        labels = dict(zip(["low", "mid", "top"], ["z", "y", "x"], strict=True))
        other = X.assign(
            flag=1.0 - X["flag"], sign=-X["sign"], word=X["word"].map(labels)
        )
        other = other[["word", "sign", "number", "flag"]]
        expected = getattr(fit(estimator, X, y), use)(X)
        found = getattr(fit(estimator, other, y), use)(other)
        assert_allclose(found, expected, rtol=1e-5, atol=1e-5)

    tables = st.tuples(
        st.sampled_from(list(DEFAULTS)), st.sampled_from([30, 60]), SEEDS
    )
    campaign(check, tables)


# Networks as trained here are few steps from their start; searches end early.
_SHORT_STACK = EnergyNetTransformer(
    None, [3, 2], n_final_epochs=2, n_temperatures=20, random_state=0
)
# By default, but for what takes long.
LEARNERS = {
    "MOHNRegressor": (MOHNRegressor(random_state=0), "predict"),
    "MOHNClassifier": (MOHNClassifier(random_state=0), "predict_proba"),
    "BLMRegressor": (BLMRegressor(max_flips=300, random_state=0), "predict"),
    "BLMClassifier": (BLMClassifier(max_flips=300, random_state=0), "predict_proba"),
    "EnergyNetTransformer": (_SHORT_STACK, "score_samples"),
    "EnergyNetTransformer, whiten": (
        clone(_SHORT_STACK).set_params(whiten=True),
        "score_samples",
    ),
    "EnergyNetRegressor": (
        EnergyNetRegressor(
            _SHORT_STACK,
            MLPRegressor(hidden_layer_sizes=(3,), max_iter=5, random_state=0),
            random_state=0,
        ),
        "predict",
    ),
}
# The same numbers in other memory and other types of tables.
FORMS = {
    "columns": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "big endian": lambda X: X.astype(">f8"),
    "objects": lambda X: X.astype(object),
    "masked": np.ma.asarray,
    "list": lambda X: X.tolist(),
    "read only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "pandas": pd.DataFrame,
    "nullable": lambda X: pd.DataFrame(X).convert_dtypes(),
    "polars": pl.DataFrame,
    "arrow": lambda X: pa.table(list(X.T), [f"x{j}" for j in range(X.shape[1])]),
}


def numbers_and_target(name, n_rows, seed):
    """Flags, counts and numbers, and a target of the kind that is learned."""
    rng = np.random.default_rng(seed)
    flags, counts = rng.choice([0.0, 1.0], (n_rows, 2)), rng.poisson(3, n_rows)
    X = np.column_stack([flags, counts, rng.normal(size=(n_rows, 2)).round(6)])
    y = X[:, 0] * X[:, 3] + X[:, 4] + 0.3 * rng.normal(size=n_rows)
    return X, y > np.median(y) if is_classifier(LEARNERS[name][0]) else y


LEARNED = st.tuples(st.sampled_from(list(LEARNERS)), st.sampled_from([30, 80]), SEEDS)


def test_the_same_numbers_in_other_memory(campaign):
    def check(problem, form):
        estimator, use = LEARNERS[problem[0]]
        X, y = numbers_and_target(*problem)
        other = FORMS[form](X)
        expected = getattr(fit(estimator, X, y), use)(X)
        assert_array_equal(getattr(fit(estimator, other, y), use)(other), expected)

    campaign(check, st.tuples(LEARNED, st.sampled_from(list(FORMS))))


def test_columns_in_other_units(campaign):
    def check(problem, scale, shift):
        estimator, use = LEARNERS[problem[0]]
        X, y = numbers_and_target(*problem)
        other = X.copy()
        other[:, 2:] = scale * (X[:, 2:] + shift)
        expected = getattr(fit(estimator, X, y), use)(X)
        found = getattr(fit(estimator, other, y), use)(other)
        if use == "score_samples":
            found = found + 3.0 * np.log(scale)
        # Message passing ends where means change by 1e-4 of their length.
        assert_allclose(found, expected, rtol=1e-3, atol=1e-3)

    scales, shifts = st.sampled_from([1.0, 0.001, 60.0]), st.sampled_from([0.0, 1e4])
    campaign(check, st.tuples(LEARNED, scales, shifts))


def test_numbers_that_rounding_has_changed(campaign):
    """Flags and counts are still such, as are the rows that were equal."""

    def check(problem, size):
        estimator, use = LEARNERS[problem[0]]
        X, y = numbers_and_target(*problem)
        rng = np.random.default_rng(problem[2])
        other = X + size * (1.0 + np.abs(X)) * rng.normal(size=X.shape)
        expected = getattr(fit(estimator, X, y), use)(X)
        found = getattr(fit(estimator, other, y), use)(other)
        assert_allclose(found, expected, rtol=1e-3, atol=1e-3)

    # Gaussian processes take a hundred times as long.
    quick = st.sampled_from([name for name in LEARNERS if not name.startswith("MOHN")])
    problems = st.tuples(quick, st.sampled_from([30, 80]), SEEDS)
    campaign(check, st.tuples(problems, st.sampled_from([1e-15, 1e-12])))


# By default, but for what takes long. A duplicated column counts twice in densities,
# distances and weights of networks, and the order of columns is that of searches.
UNSHUFFLED = {
    "MOHNGLMRegressor": (MOHNGLMRegressor(random_state=0), "predict"),
    "MOHNDensity": (MOHNDensity(random_state=0), "score_samples"),
    "EnergyNetImputer": (
        EnergyNetImputer(clone(_SHORT_STACK).set_params(whiten=True)),
        "transform",
    ),
    "EnergyNetOutlierDetector": (
        EnergyNetOutlierDetector(clone(_SHORT_STACK).set_params(whiten=True)),
        "score_samples",
    ),
}


def test_rows_in_another_order_rounded_and_copied(campaign):
    def check(name, n_rows, seed, size):
        estimator, use = UNSHUFFLED[name]
        rng = np.random.default_rng(seed)
        X = rng.choice([0.0, 1.0], (n_rows, 5))
        if name != "MOHNDensity":
            X[:, 2:4] = rng.poisson(3, (n_rows, 2))
            X[:, 4] = rng.normal(size=n_rows).round(6)
        y = rng.poisson(np.exp(1.0 + 0.5 * X[:, 0] * X[:, 4])).astype(float)
        if name == "EnergyNetImputer":
            X[::3, 0] = X[1::3, 4] = np.nan

        def learned(rows, is_rounded):
            noise = size * rng.normal(size=(len(rows), 5)) if is_rounded else 0.0
            model = fit(estimator, X[rows] * (1.0 + noise), y[rows])
            return getattr(model, use)(X)

        rows = np.arange(n_rows)
        expected = learned(rows, False)
        for order in (rows, rng.permutation(rows)):
            assert_allclose(learned(order, True), expected, rtol=1e-3, atol=1e-3)
        copies = rows.repeat(2)
        expected = learned(copies, False)
        assert_allclose(learned(copies, True), expected, rtol=1e-3, atol=1e-3)

    tables = st.sampled_from(list(UNSHUFFLED)), st.sampled_from([30, 60]), SEEDS
    campaign(check, st.tuples(*tables, st.sampled_from([1e-15, 1e-12])))


def test_one_wild_cell_or_target_is_as_any_other(campaign):
    """No sign and no size of it moves what is learned of the other rows."""

    def check(problem, row, column, sizes):
        estimator, use = LEARNERS[problem[0]]
        X, y = numbers_and_target(*problem)
        others = np.arange(len(X)) != row
        is_target = column is None
        if is_target and (is_classifier(estimator) or use != "predict"):
            return
        found = []
        for size in sizes:
            table, targets = X.copy(), y.copy()
            if is_target:
                targets[row] = size
            else:
                table[row, column] = size
            model = fit(estimator, table, targets)
            found.append(getattr(model, use)(X[others]))
        assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-9)

    sizes = st.sampled_from([(1e4, -1e7), (-1e5, 1e12), (1e9, 1e5)])
    columns = st.sampled_from([2, 3, 4, None])
    campaign(check, st.tuples(LEARNED, st.integers(0, 29), columns, sizes))


def test_columns_without_information(campaign):
    """A constant column is none."""

    def check(problem, constant):
        name, table, seed = problem
        X, y = table.build(), target_for(SYMMETRIC[name], table, seed)
        other = np.insert(X, seed % (X.shape[1] + 1), constant, axis=1)
        model = fit(SYMMETRIC[name], X, y)
        assert_same_predictions(model, fit(SYMMETRIC[name], other, y), X, other)

    constants = st.sampled_from([0.0, 1.0, -1e300, np.nan])
    campaign(check, st.tuples(problems(list(SYMMETRIC)), constants))


def test_scaled_and_shifted_targets(campaign):
    def check(problem, exponent, sign, shift):
        name, table, seed = problem
        X, y = table.build(), target_for(SYMMETRIC[name], table, seed)
        model = fit(SYMMETRIC[name], X, y)
        scale = sign * 10.0**exponent
        estimator = clone(SYMMETRIC[name])
        if name == "full lasso":
            estimator.set_params(alpha=0.01 * abs(scale))
        other = fit(estimator, X, scale * (y + shift))
        assert_same_predictions(model, other, X, X, scale, scale * shift)

    exponents = st.sampled_from([-150, -100, -20, -3, 0, 3, 20, 100, 150])
    shifts = st.sampled_from([0.0, -1.0, 100.0])
    campaign(
        check,
        st.tuples(
            problems(list(SYMMETRIC)), exponents, st.sampled_from([1, -1]), shifts
        ),
    )


def test_scaled_and_shifted_columns(campaign):
    def check(problem, exponent, shift):
        name, table, seed = problem
        X, y = table.build(), target_for(SYMMETRIC[name], table, seed)
        model = fit(SYMMETRIC[name], X, y)
        moved = 10.0**exponent * (X + shift)
        assert_same_predictions(model, fit(SYMMETRIC[name], moved, y), X, moved)

    exponents = st.sampled_from([-150, -20, -3, 0, 3, 20, 150])
    shifts = st.sampled_from([0.0, -1.0, 100.0])
    campaign(check, st.tuples(problems(list(SYMMETRIC)), exponents, shifts))


def test_repeated_rows_are_weights(campaign):
    def check(name, table, seed):
        X, y = table.build(), target_for(SYMMETRIC[name], table, seed)
        times = Weights("whole", seed=seed).build(table.n_rows)
        weighed = fit(SYMMETRIC[name], X, y, sample_weight=times)
        repeated = fit(SYMMETRIC[name], X.repeat(times, axis=0), y.repeat(times))
        assert_same_predictions(weighed, repeated, X, X)

    # The noise that dense weights assume is one of each row, repeated or not.
    campaign(check, problems(["full ols", "full lasso"]))


def test_scaled_weights(campaign):
    def check(problem, exponent):
        name, table, seed = problem
        estimator = ESTIMATORS[name]
        X, y = table.build(), target_for(estimator, table, seed)
        weights = Weights("fractional", seed=seed).build(table.n_rows)
        one = fit(estimator, X, y, sample_weight=weights)
        other = fit(estimator, X, y, sample_weight=weights * 2.0**exponent)
        for name, use in outputs(one).items():
            expected, found = attempt(use, X), attempt(outputs(other)[name], X)
            if np.asarray(expected).dtype.kind == "f":
                assert_allclose(found, expected, rtol=1e-7, atol=1e-9)

    weighable = [
        name for name, e in ESTIMATORS.items() if has_fit_parameter(e, "sample_weight")
    ]
    exponents = st.sampled_from([-900, -40, -7, 3, 30, 900])
    campaign(check, st.tuples(problems(weighable), exponents))


def test_batches_of_partial_fit(campaign):
    def check(name, table, seed):
        X, y = table.build(), target_for(SYMMETRIC[name], table, seed)
        whole, batches = clone(SYMMETRIC[name]), clone(SYMMETRIC[name])
        assert attempt(whole.partial_fit, X, y) is whole
        assert attempt(batches.partial_fit, X, y) is batches
        half = table.n_rows // 2
        other = 2 - y
        assert attempt(whole.partial_fit, X, other) is whole
        for part in (slice(half), slice(half, None)):
            assert attempt(batches.partial_fit, X[part], other[part]) is batches
        assert_same_predictions(whole, batches, X, X)

    campaign(check, problems(["gp"]))


ON_LINE = {
    family: [name for name in names if hasattr(ESTIMATORS[name], "partial_fit")]
    for family, names in FAMILIES.items()
}


@pytest.mark.parametrize("family", [family for family in ON_LINE if ON_LINE[family]])
def test_partial_fit_that_fails_changes_nothing(family, campaign):
    def check(name, table, seed, odd, kind):
        estimator = ESTIMATORS[name]
        X, y = table.build(), target_for(estimator, table, seed)
        extra = {"classes": np.unique(y)} if is_classifier(estimator) else {}
        model = clone(estimator)
        attempt(model.partial_fit, X, y, **extra)
        if not hasattr(model, "n_features_in_"):
            return
        before = vars(model).copy()
        said = [attempt(use, X) for use in outputs(model).values()]
        outcome = attempt(
            model.partial_fit, odd.build(), Target(kind, seed=seed).build(odd.n_rows)
        )
        if isinstance(outcome, Exception):
            assert vars(model).keys() == before.keys()
            assert all(vars(model)[key] is before[key] for key in before)
            for expected, use in zip(said, outputs(model).values(), strict=True):
                found = attempt(use, X)
                assert isinstance(expected, Exception) or same(found, expected)

    campaign(check, partial_fits(ON_LINE[family]))


@st.composite
def partial_fits(draw, names):
    """A first batch, and another that is odd."""
    name, table, seed = draw(problems(names))
    odd = replace(
        table,
        n_rows=draw(st.sampled_from([1, 5])),
        columns=draw(
            st.sampled_from(
                [
                    table.columns,
                    (*table.columns, "normal"),
                    (*table.columns[:-1], "category"),
                    (*table.columns[:-1], "infinite"),
                    (*table.columns[:-1], "missing"),
                ]
            )
        ),
        seed=seed + 1,
    )
    kinds = ["plain", "two", "three", "words", "nan", "too_short", "one_class"]
    return name, table, seed, odd, draw(st.sampled_from(kinds))


def test_jobs_equal_serial(campaign):
    def check(problem, backend):
        name, table, seed = problem
        estimator = ESTIMATORS[name]
        X, y = table.build(), target_for(estimator, table, seed)
        serial = fit(estimator, X, y)
        with parallel_config(backend=backend):
            parallel = fit(clone(estimator).set_params(n_jobs=2), X, y)
        for use, of_serial in outputs(serial).items():
            expected, found = attempt(of_serial, X), attempt(outputs(parallel)[use], X)
            assert isinstance(expected, Exception) or same(found, expected)

    with_jobs = [n for n, e in ESTIMATORS.items() if "n_jobs" in e.get_params()]
    # Processes take their time.
    backends = st.sampled_from(["threading"] * 19 + ["loky"])
    campaign(check, st.tuples(problems(with_jobs), backends))
