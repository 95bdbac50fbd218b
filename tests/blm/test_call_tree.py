"""The files that a fit goes through: it calls down, but for hooks and callbacks."""

import sys
from pathlib import Path

import numpy as np
import pytest

import skmohn
from skmohn import BLMClassifier, BLMRegressor

PACKAGE = str(Path(skmohn.__file__).parent)
# What an estimator says of itself, values that the base asks of it, and a callback.
HOOKS = {"__sklearn_tags__", "_loss_of", "_out_activation", "<lambda>"}
X = np.random.default_rng(0).normal(size=(40, 3))


def file_of(frame):
    """File of a frame inside of the package, from there on; else an empty string."""
    file = frame.f_code.co_filename
    return file.removeprefix(PACKAGE) if file.startswith(PACKAGE) else ""


def callers(frame):
    """Frames of the package below one, the latest first."""
    while frame := frame.f_back:
        if file_of(frame):
            yield frame


def calls_up(fit):
    """Names of functions of a family that were called while their file was running."""
    found = set()

    def watch(frame, event, _):
        file = file_of(frame)
        if event != "call" or not file or "_core" in file:
            return
        caller, *others = [*map(file_of, callers(frame)), ""]
        if caller != file and file in others:
            found.add(frame.f_code.co_name)

    sys.setprofile(watch)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.filterwarnings("ignore:the loss was still falling")
@pytest.mark.parametrize("options", [{}, {"early_stopping": True}])
def test_a_fit_calls_down_but_for_hooks_and_callbacks(options):
    brief = {"hidden_layer_sizes": (2,), "max_flips": 300, "random_state": 0, **options}
    for model in (BLMClassifier(**brief), BLMRegressor(**brief)):
        assert calls_up(lambda model=model: model.fit(X, X[:, 0] > 0)) == HOOKS
