"""What to_c says of answers that are not those of the estimator."""

import shutil
import subprocess
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import r2_score

from skmohn import BLMClassifier, BLMController, BLMRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(200, 3))
Y = X.sum(axis=1)
WORDS = np.array(["low", "middle", "high"])[np.digitize(Y, [1.2, 1.8])]
LABELS = np.column_stack([Y > 1.5, X[:, 0] > 0.5]).astype(int)
FAR = X * [1.0, 1.0, 10.0] + [0.0, 0.0, 1.7e9]
QUICK = {"hidden_layer_sizes": (4,), "max_flips": 2000, "random_state": 0}


def messages(call):
    """What a call returns, and the warnings that it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    return found, [str(one.message) for one in caught]


@pytest.mark.parametrize(
    "y", [WORDS, LABELS, WORDS == "low"], ids=["words", "labels", "two"]
)
def test_agreement_of_labels_is_printed(capsys, y):
    model = BLMClassifier(**QUICK).fit(X, y)
    device, said = messages(lambda: model.to_c("net", X=X))
    fraction = np.mean(device.predict(X) == model.predict(X))
    assert device.agreement == fraction >= 0.99
    printed = f"{fraction:.2%} of {y.size} labels are those of the estimator"
    assert capsys.readouterr().out == f"net.h: {printed}\n"
    assert printed in repr(device)
    assert said == []
    # A unit that was forgotten leaves 0 and 1 of all numbers.
    device, said = messages(lambda: model.to_c("net", X=X, input_type="uint8"))
    assert device.agreement < 0.99
    assert f"{device.agreement:.2%} of {y.size} labels" in capsys.readouterr().out
    assert len(said) == 1
    assert "which is low: input_scale is 3." in said[0]
    assert said[0].endswith("make it smaller")
    fine = {"input_type": "uint8", "input_scale": 1 / 255}
    assert messages(lambda: model.to_c("net", X=X, **fine))[1] == []


@pytest.mark.parametrize("is_multilabel", [False, True])
def test_a_rare_class_that_is_lost_is_missed(is_multilabel):
    # One row in 150 differs by a column of a small scale; all others are as before.
    rare = np.zeros((600, 2))
    rare[:, 0] = RNG.normal(size=600)
    rare[:4, 1] = 0.4
    y = rare[:, 1] > 0
    if is_multilabel:
        y = np.column_stack([rare[:, 0] > 0, y]).astype(int)
    weight = np.where(rare[:, 1] > 0, 150, 1)
    model = BLMClassifier(**QUICK).fit(rare, y, weight)
    assert np.all(model.predict(rare)[:4].reshape(4, -1)[:, -1])
    units = {"input_type": "int16", "input_scale": [1e-3, 1.0]}
    device, said = messages(lambda: model.to_c("net", X=rare, **units))
    assert device.agreement > 0.99
    assert "estimator; classes lost: 1, which is low: input_scale is" in said[0]
    fine = {**units, "input_scale": 1e-3}
    assert messages(lambda: model.to_c("net", X=rare, **fine))[1] == []


def test_agreement_of_numbers_is_printed(capsys):
    model = BLMRegressor(**QUICK).fit(X, np.column_stack([Y, -3.0 * X[:, 0]]))
    device, said = messages(lambda: model.to_c("net", X=X))
    wanted, found = model.predict(X), device.predict(X)
    r2 = r2_score(wanted, found, multioutput="raw_values").min()
    differences = np.abs(found - wanted) / wanted.std(axis=0)
    assert_allclose(device.agreement, r2)
    assert_allclose(device.largest_error, differences.max())
    assert r2 > 0.99
    assert said == []
    printed = capsys.readouterr().out
    assert printed.startswith(
        f"net.h: R2 is {r2:.5f} for 400 predictions of the estimator"
    )
    assert printed.endswith(f"error {differences.max():.2g} standard deviations\n")
    device, said = messages(lambda: model.to_c("net", X=X, activation_bits=4))
    assert device.agreement < 0.99
    assert 'raise activation_bits=4, or use arithmetic="float32"' in said[0]


def test_sequences_and_controllers_are_compared_too(capsys):
    sequences, y = X.reshape(20, 10, 3), Y.reshape(20, 10)
    model = BLMRegressor(**QUICK, recurrent="steps").fit(sequences, y)
    device = model.to_c("net", X=sequences)
    assert_allclose(
        device.agreement,
        r2_score(model.predict(sequences).ravel(), device.predict(sequences).ravel()),
    )
    assert "for 200 predictions" in capsys.readouterr().out

    def rate(policy, rng, incumbent):
        action = np.empty(1)
        policy.step(X[0], policy.initial_state(), action)
        return -action[0]

    options = {"n_inputs": 3, "n_outputs": 1, "max_evaluations": 100, "random_state": 0}
    model = BLMController((2,), **options).fit(rate)
    assert model.to_c("net", X=X).agreement > 0.99
    # Of a network that does not standardize nobody knows which column is too coarse.
    model = BLMRegressor(**QUICK, standardize=False).fit(X, Y)
    _, said = messages(lambda: model.to_c("net", X=X, input_type="int16"))
    assert 'use a smaller input_scale, or input_type="float32"' in said[0]


def test_integers_of_a_table_of_many_scales():
    # The area is in hundreds, the symmetry in hundredths.
    table, y = load_breast_cancer(return_X_y=True)
    model = BLMClassifier((4,), n_bits=8, max_flips=5000, random_state=0).fit(table, y)
    device, said = messages(lambda: model.to_c("net", X=table, input_type="int16"))
    assert device.agreement < 0.95
    assert any("make it smaller" in one for one in said)
    assert messages(lambda: model.to_c("net", X=table))[1] == []


@pytest.mark.parametrize("arithmetic", ["integer", "float32"])
def test_columns_far_from_zero(arithmetic):
    model = BLMRegressor(**QUICK).fit(FAR, Y)
    options = {"arithmetic": arithmetic}
    device, said = messages(lambda: model.to_c("net", X=FAR, **options))
    assert device.agreement < 0.9
    cure = "subtract a number near its mean, before fit and on the device"
    assert "float32 has steps of 4" in said[0]
    assert said[0].endswith(cure)
    # Nobody has to pass X to hear of it.
    _, said = messages(lambda: model.to_c("net", **options))
    assert len(said) == 1
    assert "'x2', which lies far from zero" in said[0]
    assert f"{cure}, or pass X to see what is lost" in said[0]
    near = FAR - [0.0, 0.0, 1.7e9]
    model = BLMRegressor(**QUICK).fit(near, Y)
    assert messages(lambda: model.to_c("net", X=near, **options))[1] == []
    assert messages(lambda: model.to_c("net", **options))[1] == []


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_steps_are_coarse_where_they_alone_cost_a_hundredth_of_r2(sign):
    # Rounding to steps of s adds s^2 / 12 to a variance of 1: 0.01 at s = 0.346.
    spread = X[:, 0].std()
    model = BLMRegressor(**QUICK).fit(X[:, :1] - X[:, 0].mean(), Y)
    for steps, is_coarse in ((0.34, False), (0.35, True)):
        units = {"input_type": "int16", "input_scale": steps * spread}
        said = messages(lambda u=units: model.to_c("net", **u))[1]
        assert ["input_scale is 0.35 standard" in one for one in said] == [
            True
        ] * is_coarse
    # Floats from 2^24 to 2^25 are 2 apart, on either side of zero.
    for size, is_coarse in ((6.0, False), (5.0, True)):
        column = size * (X[:, :1] - 0.5) / spread + sign * 2.0**24.5
        model = BLMRegressor(**QUICK).fit(column, Y)
        said = messages(lambda m=model: m.to_c("net"))[1]
        assert ["float32 has steps of" in one for one in said] == [True] * is_coarse


def test_types_reach_a_standard_deviation_on_either_side():
    spread = X[:, :1].std()
    centered = 100.0 * (X[:, :1] - X[:, :1].mean()) / spread
    for mean, is_cut in ((101.0, False), (99.0, True), (154.0, False), (156.0, True)):
        model = BLMRegressor(**QUICK).fit(centered + mean, Y)
        said = messages(lambda m=model: m.to_c("net", input_type="uint8"))[1]
        assert ["clips numbers of ['x0']" in one for one in said] == [True] * is_cut


def test_targets_far_from_zero():
    model = BLMRegressor(**QUICK).fit(X, Y + 1.7e9)
    cure = "subtract a number near its mean before fit, and add it to the predictions"
    for options in ({}, {"X": X}, {"X": X, "arithmetic": "float32"}):
        device, said = messages(lambda o=options: model.to_c("net", **o))
        assert len(said) == 1
        assert "standard deviations of y, which lies far from zero" in said[0]
        assert cure in said[0]
        assert device.agreement is None or device.agreement < 0.1
    # Steps of 2^-14 are fine for targets that are a thousandth apart, not for others.
    for size, is_coarse in ((1e-3, False), (1e-4, True)):
        model = BLMRegressor(**QUICK).fit(X, size * (Y - Y.mean()) / Y.std() - 700.0)
        said = messages(lambda m=model: m.to_c("net"))[1]
        assert ["standard deviations of y" in one for one in said] == [True] * is_coarse


def test_types_that_are_too_coarse_or_too_narrow_without_rows():
    model = BLMClassifier(**QUICK).fit(X * [1.0, 100.0, 1e5], WORDS)
    _, said = messages(lambda: model.to_c("net", input_type="uint8"))
    assert len(said) == 2
    assert "input_scale is 3.4 standard deviations of column 'x0'" in said[0]
    assert "clips numbers of ['x2'], which are within a standard deviation" in said[1]
    units = {"input_type": "uint8", "input_scale": [1 / 255, 0.4, 400.0]}
    assert messages(lambda: model.to_c("net", **units))[1] == []
    # Of a network that does not standardize nothing is known.
    model = BLMClassifier(**QUICK, standardize=False).fit(X, WORDS)
    assert messages(lambda: model.to_c("net", input_type="uint8"))[1] == []


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("activation", ["tanh", "relu", "step"])
def test_what_is_not_a_number_is_answered_alike(tmp_path, standardize, activation):
    options = {**QUICK, "activation": activation, "standardize": standardize}
    model = BLMClassifier(**options).fit(X, WORDS)
    rows = np.where(RNG.random(X.shape) < 0.4, np.nan, X)
    rows[0] = np.nan
    mean = X.mean(axis=0) if standardize else np.zeros(3)
    wanted = model.predict(np.where(np.isnan(rows), mean, rows))
    for arithmetic in ("integer", "float32"):
        device = model.to_c("net", tmp_path, X=X, arithmetic=arithmetic)
        found = device.predict(rows)
        assert np.mean(found == wanted) >= (0.97 if arithmetic == "integer" else 1.0)
        assert found[0] == wanted[0]
        assert np.isfinite(device.run(rows)).all()
        if shutil.which("gcc"):
            listed = ",".join(
                "NAN" if x != x else f"{np.float32(x)!s}f" for x in rows.flat
            )
            (tmp_path / "all.c").write_text(
                "#include <math.h>\n#include <stdio.h>\n"
                '#include "net.h"\n'
                f"static const float rows[{len(rows)}][3] = {{{listed}}};\n"
                f"int main(void) {{ int k; for (k = 0; k < {len(rows)}; k++)\n"
                'printf("%d ", net_predict(rows[k])); return 0; }'
            )
            command = ["gcc", "-O2", "-Wno-missing-braces", "all.c", "-o", "all"]
            subprocess.run(command, cwd=tmp_path, check=True)
            done = subprocess.run(
                [tmp_path / "all"], capture_output=True, text=True, check=True
            )
            classes = [int(word) for word in done.stdout.split()]
            assert_array_equal(model.classes_[classes], found)


def test_integers_are_always_numbers():
    model = BLMClassifier(**QUICK).fit(X, WORDS)
    device = model.to_c("net", X=X, input_type="int16", input_scale=1e-3)
    with pytest.raises(ValueError, match="contains infinity"):
        device.predict([[np.inf] * 3])
    # What is missing is the mean, as for the estimator.
    unknown = np.full((1, 3), np.nan)
    assert_array_equal(device.run(unknown), device.run(X.mean(axis=0, keepdims=True)))
    device = model.to_c("net", X=X)
    most = np.finfo(np.float32).max
    for sign in (1.0, -1.0):
        rows = [[sign * np.inf] * 3, [sign * most] * 3]
        assert_array_equal(*device.run(rows)[:, None])


def test_tables_that_an_avr_cannot_read(tmp_path):
    model = BLMClassifier((400,), n_bits=16, max_flips=1, random_state=0)
    wide = np.tile(X, (1, 14))
    model.fit(wide, WORDS)
    message = r"does not build on an AVR: an array has 3\d,\d+ bytes|an array has 3\d+"
    with pytest.warns(UserWarning, match=message):
        device = model.to_c("net", tmp_path, X=wide, n_tests=0)
    assert device.weight_bytes > 2**15
    assert '#ifdef __AVR__\n#error "an array has' in device.header
    (tmp_path / "all.c").write_text('#include "net.h"\nint main(void) { return 0; }\n')
    for compiler, is_built in (("gcc", True), ("avr-gcc", False)):
        if shutil.which(compiler):
            command = [compiler, "-c", "all.c"]
            if not is_built:
                command.insert(1, "-mmcu=atmega2560")
            done = subprocess.run(
                command, cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert (done.returncode == 0) == is_built
            assert is_built or "more than 32767" in done.stderr
    model = BLMClassifier((100,), n_bits=16, max_flips=1, random_state=0)
    assert "#error" not in model.fit(wide, WORDS).to_c("net").header
