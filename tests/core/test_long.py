"""What takes long says so while it does, and what takes less."""

import threading
import time
import warnings

import numpy as np
import pytest

from skmohn import (
    BLMController,
    BLMRegressor,
    EnergyNetImputer,
    EnergyNetRegressor,
    EnergyNetTransformer,
    MOHNClassifier,
    MOHNRegressor,
    MOHNTransformer,
)
from skmohn._core import _long
from skmohn._core._fitting import all_or_nothing
from skmohn._core._long import say_when_long


class Slow:
    """An estimator whose fit takes longer than is thought, and another one's inside."""

    _when_long = "fewer rows take less"

    def __init__(self, seconds, part=None):
        self.seconds, self.part = seconds, part

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
        match=r"Slow.fit has taken 0.05 s and goes on: fewer rows take less, and "
        "callbacks, such as sklearn.callback.ProgressBar, show",
    ) as record:
        Slow(0.1, Slow(0.1)).fit()
    assert len(record) == 1
    assert record[0].filename == __file__


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
        MOHNClassifier(),
        MOHNTransformer(),
        BLMRegressor(),
        BLMController(),
        EnergyNetTransformer(),
        EnergyNetImputer(),
        EnergyNetRegressor(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_each_family_knows_what_takes_less(estimator):
    parameters = estimator.get_params()
    if hasattr(estimator, "transformer"):
        parameters |= EnergyNetTransformer().get_params()
    cure = estimator._when_long
    named = {"strategy", "max_time", "max_flips", "n_components", "growth"}
    named = {name for name in named if name in cure}
    assert named
    assert named <= parameters.keys()


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
