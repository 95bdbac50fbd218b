"""From an MLP of scikit-learn to a few bits a weight, and on from there."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skmohn import BLMClassifier, BLMRegressor
from skmohn.blm._conversion import _rounded

RNG = np.random.default_rng(3)
X = RNG.normal(size=(150, 4)) * [1.0, 0.1, 50.0, 5.0] + [0.0, 1.0, 100.0, -3.0]
Z = (X - X.mean(axis=0)) / X.std(axis=0)
Y = 100.0 + 20.0 * np.sin(Z[:, 0]) * Z[:, 1] + Z[:, 2]
TARGETS = {
    "many": np.array(["x", "y", "z"])[np.digitize(Y, [95, 105])],
    "two": Y > 100,
    "labels": np.column_stack([Y > 100, Z[:, 0] > 0, Z[:, 3] > 0]).astype(int),
    "one": Y,
    "both": np.column_stack([Y, 9.0 * Z[:, 0]]),
}


def trained(name, rows, activation="tanh", hidden=(6,), **options):
    of_numbers = name in ("one", "both")
    kind = MLPRegressor if of_numbers else MLPClassifier
    mlp = kind(
        hidden_layer_sizes=hidden,
        activation=activation,
        solver="lbfgs",
        random_state=0,
        **{"max_iter": 60, **options},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mlp.fit(rows, TARGETS[name])


def ours(mlp):
    return BLMRegressor if isinstance(mlp, MLPRegressor) else BLMClassifier


def answers(model, rows):
    return getattr(model, "predict_proba", model.predict)(rows)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize(
    ("activation", "hidden"), [("tanh", (6,)), ("relu", (5, 4)), ("logistic", ())]
)
def test_many_bits_change_nothing(name, standardize, activation, hidden):
    # Whatever its inputs are, also where nothing has scaled them.
    rows = Z if name != "two" else X
    mlp = trained(name, rows, activation, hidden)
    model = ours(mlp).from_mlp(mlp, rows, 20, standardize=standardize)
    assert model.n_bits == 20
    assert model.warm_start
    expected = answers(mlp, rows)
    assert answers(model, rows).shape == expected.shape
    spread = TARGETS[name].std(axis=0) if name in ("one", "both") else 1.0
    assert_allclose(answers(model, rows) / spread, expected / spread, atol=5e-3)
    if name not in ("one", "both"):
        assert_array_equal(model.classes_, mlp.classes_)
    assert_allclose(answers(model.to_mlp(), rows), answers(model, rows))


def test_the_range_is_the_best_of_ten():
    coefs = [RNG.normal(size=(4, 6)), RNG.normal(size=(6, 2))]
    intercepts = [RNG.normal(size=6), RNG.normal(size=2)]
    # What is far beyond all others is cut.
    coefs[0][0, 0] = 30.0
    (found, biases), ranges = _rounded(Z, coefs, intercepts, "tanh", 3)
    heard, wanted = Z, Z
    for layer in range(2):
        sums = wanted @ coefs[layer] + intercepts[layer]
        errors = {}
        top = max(abs(coefs[layer]).max(), abs(intercepts[layer]).max())
        for range_ in np.geomspace(0.05, 1, 10) * top:
            step = range_ / 3
            matrix = np.clip(np.round(coefs[layer] / step), -4, 3) * step
            bias = np.clip(np.round(intercepts[layer] / step), -4, 3) * step
            errors[range_] = np.square(heard @ matrix + bias - sums).sum()
        best = min(errors, key=errors.get)
        assert_allclose(ranges[layer], best)
        step = best / 3
        codes = np.clip(np.round(coefs[layer] / step), -4, 3)
        assert_array_equal(found[layer], codes)
        heard = np.tanh((heard @ codes + biases[layer]) * step)
        wanted = np.tanh(sums)


def test_fit_goes_on_from_there():
    mlp = trained("one", Z)
    model = BLMRegressor.from_mlp(mlp, Z, 3, random_state=0, max_flips=1)
    codes, before = model.codes_, mean_squared_error(Y, model.predict(Z))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(Z, Y)
        assert (model.codes_ != codes).sum() <= 1
        model.set_params(max_flips="auto").fit(Z, Y)
    assert mean_squared_error(Y, model.predict(Z)) < 0.8 * before
    classifier = BLMClassifier.from_mlp(trained("many", Z), Z, 2, random_state=0)
    before = log_loss(TARGETS["many"], classifier.predict_proba(Z))
    classifier.fit(Z, TARGETS["many"])
    assert log_loss(TARGETS["many"], classifier.predict_proba(Z)) < before
    classifier.partial_fit(Z[:20], TARGETS["many"][:20])


def test_what_is_made_is_an_estimator():
    table = pd.DataFrame(Z, columns=list("abcd"))
    mlp = trained("many", table)
    model = BLMClassifier.from_mlp(mlp, table, 4, alpha=1.0, n_restarts=2)
    assert model.alpha == 1.0
    assert model.feature_names_in_.tolist() == list("abcd")
    wanted = model.predict_proba(table)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(table), wanted)
    again = BLMClassifier.from_packed(model.to_packed())
    assert_allclose(again.predict_proba(table.to_numpy()), wanted)
    assert model.to_c("net", X=table).agreement > 0.97
    with pytest.raises(NotFittedError):
        clone(model).predict(table)
    assert clone(model).get_params() == model.get_params()
    # The network that it came from is as it was.
    assert_array_equal(mlp.predict(table), trained("many", table).predict(table))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"mlp": BLMRegressor()}, TypeError, "mlp must be a MLPClassifier, got BLM"),
        ({"mlp": trained("one", Z)}, TypeError, "mlp must be a MLPClassifier"),
        ({"mlp": MLPClassifier()}, NotFittedError, "is not fitted yet"),
        ({"X": Z[:, :3]}, ValueError, "X has 3 features"),
        ({"X": np.full((3, 4), np.nan)}, ValueError, "contains NaN"),
        ({"n_bits": 1}, ValueError, "'n_bits' parameter of BLMClassifier"),
        ({"recurrent": True}, ValueError, "recurrent must be False"),
        ({"alpha": -1}, ValueError, "'alpha' parameter of BLMClassifier"),
        ({"hidden_layer": 3}, TypeError, "unexpected keyword argument"),
    ],
)
def test_what_cannot_be_rounded(options, error, message):
    with pytest.raises(error, match=message):
        BLMClassifier.from_mlp(**{"mlp": trained("many", Z), "X": Z, **options})


@pytest.mark.needs_sklearn("1.7", "loss='poisson' of networks")
def test_counts_are_not_sums():
    data, _ = load_iris(return_X_y=True)
    mlp = MLPRegressor("poisson", max_iter=300).fit(data, data[:, 0])
    with pytest.raises(ValueError, match="output activation 'exp', but the outputs"):
        BLMRegressor.from_mlp(mlp, data)
