"""What takes long says so while it does, and what takes less."""

import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier

from skmohn import (
    BLMController,
    BLMRegressor,
    EnergyNetImputer,
    EnergyNetRegressor,
    EnergyNetTransformer,
    MOHNClassifier,
    MOHNGLMRegressor,
    MOHNRegressor,
    MOHNTransformer,
)
from skmohn._core import _long
from skmohn._core._fitting import all_or_nothing
from skmohn._core._long import say_when_long
from skmohn.optimize import BlackBoxOptimizer
from skmohn.optimize._portfolio import Portfolio


class Slow:
    """An estimator whose fit takes longer than is thought, and another one's inside."""

    _when_long = "pass fewer rows"

    def __init__(self, seconds, part=None):
        self.seconds, self.part = seconds, part

    def get_params(self):
        return vars(self)

    @all_or_nothing
    def fit(self):
        if self.part is not None:
            self.part.fit()
        time.sleep(self.seconds)
        return self


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(_long, "LONG", 0.05)


def test_a_long_fit_says_so_once_and_on_the_users_line():
    with pytest.warns(
        UserWarning,
        match=r"Slow.fit has taken 0.05 s and is still running: pass fewer rows, and "
        "callbacks, such as sklearn.callback.ProgressBar, show",
    ) as record:
        Slow(0.1, Slow(0.1)).fit()
    assert len(record) == 1
    assert record[0].filename == __file__


def test_a_long_tell_names_what_the_user_called(monkeypatch):
    """A search by ask and tell has no callbacks."""
    optimizer = BlackBoxOptimizer(3, random_state=0)
    tell = Portfolio.tell
    monkeypatch.setattr(
        Portfolio, "tell", lambda *given: time.sleep(0.1) or tell(*given)
    )
    message = (
        "BlackBoxOptimizer.tell has taken 0.05 s and is still running: pass fewer "
        "points at a time"
    )
    with pytest.warns(UserWarning, match=f"^{message}$"):
        optimizer.tell([[0, 1, 1]], [0.5])


def test_a_short_fit_says_nothing():
    Slow(0.0, Slow(0.0)).fit()
    with pytest.raises(ZeroDivisionError), say_when_long("work", "less"):
        raise ZeroDivisionError
    time.sleep(0.1)
    assert not [t for t in threading.enumerate() if isinstance(t, threading.Timer)]


def test_where_warnings_are_errors_the_fit_goes_on():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Slow(0.1).fit()


def test_where_there_are_no_threads(monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Timer, "start", start)
    monkeypatch.setattr(threading.Timer, "cancel", lambda self: None)
    Slow(0.0).fit()


@pytest.mark.parametrize(
    "estimator",
    [
        MOHNRegressor(),
        MOHNRegressor("pursuit"),
        MOHNClassifier(),
        MOHNGLMRegressor(),
        MOHNTransformer(),
        BLMRegressor(),
        BLMController(),
        EnergyNetTransformer(),
        EnergyNetImputer(),
        EnergyNetRegressor(),
    ],
    ids=str,
)
def test_each_family_knows_what_takes_less(estimator):
    parameters = estimator.get_params()
    if hasattr(estimator, "transformer"):
        parameters |= EnergyNetTransformer().get_params()
    cure = estimator._when_long
    named = {"strategy", "max_order", "max_time", "max_flips", "n_components", "growth"}
    named = {name for name in named if name in cure}
    assert named
    assert named <= parameters.keys()
    if "strategy" in named:
        # One that the estimator has, and not the one that is running.
        estimator.set_params(strategy="pursuit")
        estimator._validate_params()
        assert "strategy" not in estimator._when_long


def test_a_long_imputation_says_so(monkeypatch):
    layer = EnergyNetTransformer(
        None, 2, max_layers=1, n_final_epochs=1, n_temperatures=10
    )
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[0, 0] = np.nan
    monkeypatch.setattr(_long, "LONG", 30.0)
    model = EnergyNetImputer(layer, random_state=0).fit(X)
    monkeypatch.setattr(_long, "LONG", 0.05)
    impute = model.transformer_.impute
    monkeypatch.setattr(
        model.transformer_,
        "impute",
        lambda *args, **options: time.sleep(0.1) or impute(*args, **options),
    )
    with pytest.warns(UserWarning, match="EnergyNetImputer.transform has taken"):
        model.transform(X)


@pytest.mark.parametrize(
    ("model", "name", "read"),
    [
        (MOHNClassifier(), "effects_table", lambda model, X: model.effects_table()),
        (
            MOHNClassifier(),
            "feature_importances_",
            lambda model, X: model.feature_importances_,
        ),
        (MOHNRegressor("gp"), "sample_y", lambda model, X: model.sample_y(X)),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_takes_long_after_a_fit_says_so(monkeypatch, model, name, read):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (100, 12)) + 0.1 * rng.normal(size=(100, 12))
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=100)
    monkeypatch.setattr(_long, "LONG", 30.0)
    model.set_params(random_state=0).fit(X, y > 0.0 if is_classifier(model) else y)
    monkeypatch.setattr(_long, "LONG", 0.005)
    with pytest.warns(UserWarning, match=f"{name} has taken"):
        read(model, np.repeat(X, 6, axis=0))
