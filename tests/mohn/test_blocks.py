"""Predictions read some rows at a time, and columns of terms alone if sparse."""

import pickle
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmohn import GPOptions, MOHNClassifier, MOHNRegressor, MOHNTransformer
from skmohn.mohn._table import rows as blocks
from skmohn.mohn._table.coding import InputCoding

N_WIDE = 10_000
RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (300, 12)).astype(np.int8)
SIGNS = 2.0 * BITS - 1.0
Y = SIGNS[:, 0] * SIGNS[:, 1] + 0.5 * SIGNS[:, 2] + 0.1 * RNG.standard_normal(300)
NUMBERS = np.where(RNG.uniform(size=BITS.shape) < 0.1, np.nan, BITS + RNG.normal())
NUMBERS[:, 3] = RNG.standard_normal(300)
# More than two blocks.
MANY = np.tile(BITS, (18, 1))
MANY_NUMBERS = np.tile(NUMBERS, (18, 1))


@pytest.fixture
def small_blocks(replace_constants):
    """Make blocks of rows as small as they may be: 2048 rows."""
    replace_constants(blocks, n_coded_values=1)


def in_one_block(replace_constants, predict, X):
    with pytest.MonkeyPatch.context() as context:
        replace_constants(blocks, patch=context, n_coded_values=2**40)
        return predict(X)


@pytest.fixture(scope="module")
def wide():
    """Model of a few of many columns, and rows for it."""
    X = RNG.integers(0, 2, (200, N_WIDE)).astype(np.int8)
    signs = 2.0 * X[:, :4] - 1.0
    y = signs[:, 0] * signs[:, 1] + 2.0 * signs[:, 2]
    terms = [(0, 1), (2,)]
    return MOHNRegressor(strategy="given", terms=terms).fit(X, y), X, y


def coded_columns(predict, X):
    """Columns that a prediction codes."""
    plain, found = InputCoding.encode_columns, set()

    def encode_columns(coding, X, columns, *rest):
        found.update(columns.tolist())
        return plain(coding, X, columns, *rest)

    with mock.patch.object(InputCoding, "encode_columns", encode_columns):
        predict(X)
    return found


def test_sparse_models_code_the_columns_of_their_terms(wide):
    model, X, y = wide
    assert np.abs(model.predict(X) - y).max() < 1e-9
    assert coded_columns(model.predict, X) == {0, 1, 2}
    several = MOHNRegressor(strategy="given", terms=[(0, 1), (2,)])
    several.fit(X, np.column_stack([y, -y]))
    assert coded_columns(several.predict, X) == {0, 1, 2}


def test_classes_and_products_code_the_columns_of_their_terms(wide):
    _, X, y = wide
    X = X[:, :50]
    options = {"strategy": "given", "terms": [(0, 1), (2,)]}
    classifier = MOHNClassifier(**options).fit(X, y > 0)
    transformer = MOHNTransformer(**options).fit(X, y)
    for method in (classifier.predict_proba, transformer.transform):
        assert coded_columns(method, X) == {0, 1, 2}
    whole = np.asarray(X, dtype=float)
    assert_array_equal(
        transformer.transform(X)[:, 1], (2 * whole[:, 0] - 1) * (2 * whole[:, 1] - 1)
    )


def test_pickle_of_many_columns_that_are_coded_alike_is_small(wide):
    model, X, _ = wide
    before = model.predict(X)
    stored = pickle.dumps(model)
    assert len(stored) < 10_000
    assert_array_equal(pickle.loads(stored).predict(X), before)


def test_pickled_coding_has_the_same_bits():
    X = np.array(
        [[0.0, -0.0, 1.5, np.nan, 3.0, 0.0], [1.0, 1.0, 2.5, np.nan, 9.0, 0.0]]
    )
    for table in (X, np.tile(X, 3), np.repeat(X, 5, axis=1), X[:, :0]):
        coding = InputCoding.learn(table)
        coding.encode(table)
        again = pickle.loads(pickle.dumps(coding))
        for name in ("kind", "low", "high"):
            one, other = getattr(coding, name), getattr(again, name)
            assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes())
        assert_array_equal(again.usable, coding.usable)


def regressors():
    gp = {"strategy": "gp", "gp_options": GPOptions(numeric="multilinear")}
    yield MOHNRegressor(strategy="pursuit").fit(BITS[:100], Y[:100]), MANY
    yield MOHNRegressor(**gp).fit(BITS[:60], Y[:60]), MANY
    yield MOHNRegressor(strategy="spike_slab").fit(BITS[:100], Y[:100]), MANY
    yield MOHNRegressor(strategy="spike_slab").fit(NUMBERS[:100], Y[:100]), MANY_NUMBERS
    both = np.column_stack([Y, Y**2])[:60]
    yield MOHNRegressor(**gp).fit(BITS[:60], both), MANY


def test_predictions_by_blocks_have_the_bits_of_all_rows_at_once(
    small_blocks, replace_constants
):
    for model, X in regressors():
        n_targets = 1 if model.weights_.ndim == 1 else 2
        y = np.tile(Y, 18) if n_targets == 1 else np.tile(Y, (2, 18)).T
        methods = [model.predict]
        if model.model_.has_posterior:
            methods += [
                lambda X, model=model: np.stack(model.predict(X, return_std=True)),
                model.predict_quantiles,
                lambda X, model=model, y=y: model.log_density(X, y),
            ]
        for method in methods:
            assert_array_equal(method(X), in_one_block(replace_constants, method, X))


def test_classes_by_blocks_have_the_bits_of_all_rows_at_once(
    small_blocks, replace_constants
):
    labels = np.where(Y > 0.5, 2, Y > -0.5)[:100]
    for strategy in ("logistic", "gp"):
        model = MOHNClassifier(strategy=strategy).fit(BITS[:100], labels)
        for method in (model.predict, model.predict_proba, model.decision_function):
            assert_array_equal(
                method(MANY), in_one_block(replace_constants, method, MANY)
            )


@pytest.mark.parametrize("dtype", ["float16", "float32", "int16", "int64", "uint8"])
def test_numbers_of_all_types_are_predicted_as_floats_are(dtype):
    model = MOHNRegressor(strategy="spike_slab").fit(BITS.astype(float), Y)
    own = model.predict(BITS.astype(dtype))
    assert_array_equal(own, model.predict(BITS.astype(float)))


@pytest.mark.parametrize("strategy", ["pursuit", "spike_slab"])
def test_further_values_are_warned_of_once(small_blocks, strategy):
    model = MOHNRegressor(strategy=strategy).fit(BITS, Y)
    X = MANY.astype(float)
    X[[5, 3000], 0] = 3.0, 4.0
    X[4500, 1] = 5.0
    words = "column 0 has 3; column 1 has 5"
    with pytest.warns(UserWarning, match=words) as caught:
        model.predict(X)
    assert len(caught) == 1


def test_refusal_counts_the_rows_of_all_blocks(small_blocks):
    hot = np.eye(3)[RNG.integers(0, 3, 60)]
    y = hot @ [0.0, 1.0, 3.0] + 0.1 * RNG.standard_normal(60)
    options = GPOptions(one_hot=[[0, 1, 2]])
    model = MOHNRegressor(strategy="gp", gp_options=options).fit(hot, y)
    X = np.tile(hot, (40, 1))
    X[2100] = 0.0
    with pytest.raises(ValueError, match="row 2100 has"):
        model.predict(X)


# Rows of tables on disk, and how much more than them and the fitted model may be used.
_PREDICT = """
import resource, sys
import numpy as np
from skmohn import GPOptions, MOHNRegressor

megabytes = int(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.integers(0, 2, (40, 200)).astype(np.int8)
gp = {"strategy": "gp", "gp_options": GPOptions(numeric="multilinear")}
terms = {"strategy": "given", "terms": [(0, 1)]}
models = {}
for kind, options in (("gp", gp), ("terms", terms)):
    models[kind] = MOHNRegressor(**options).fit(X, X[:, 0] + 1.0 * X[:, 1])
    models[kind].predict(X)
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
for case in sys.argv[2:]:
    kind, n_rows, dtype, path = case.split(",", 3)
    table = np.memmap(path, np.dtype(dtype), "r", shape=(int(n_rows), 200))
    status = open("/proc/self/status").read()
    used = 1024 * int(status.split("VmSize:")[1].split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 10**6, hard))
    try:
        print(len(models[kind].predict(table)))
    except MemoryError:
        print("too much memory for", case)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    del table
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_tables_on_disk_are_predicted_in_a_hundred_megabytes(tmp_path):
    """In one process, which takes longer to start than to predict."""
    cases = [
        ("gp", 100_000, "int8"),
        ("terms", 500_000, "int8"),
        ("terms", 100_000, "int64"),
    ]
    command = [sys.executable, "-c", _PREDICT, "100"]
    for kind, n_rows, dtype in cases:
        path = tmp_path / f"{kind}-{dtype}"
        with path.open("wb") as file:
            file.truncate(n_rows * 200 * np.dtype(dtype).itemsize)
        command.append(f"{kind},{n_rows},{dtype},{path}")
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.stdout.split("\n")[:-1] == [str(n) for _, n, _ in cases], found.stderr
