"""NUMBA_DISABLE_JIT=1, to debug kernels: every family fits, and finds the same."""

import contextlib
import io
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FITS = """
import json, sys, warnings

import numpy as np

from skmohn.blm import BLMClassifier, BLMController, BLMRegressor
from skmohn.datasets import InvertedPendulum
from skmohn.energynet import EnergyNetTransformer
from skmohn.mohn import MOHNClassifier, MOHNRegressor, MOHNTransformer
from skmohn.optimize import maximize

X = 1.0 - 2.0 * ((np.arange(16)[:, None] >> np.arange(4)) & 1)
y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2]
graded = X * np.linspace(0.5, 1.0, 16)[:, None]
pendulum = InvertedPendulum(n_simulations=2, duration=2.0)
few = {"max_flips": 50, "random_state": 0}
net = EnergyNetTransformer(
    None, [3], n_final_epochs=1, n_temperatures=10, random_state=0
)


def loss(target, output):
    return (target - output) ** 2


fits = {
    "pursuit": lambda: MOHNRegressor("pursuit", random_state=0).fit(X, y).predict(X),
    "gp": lambda: MOHNRegressor("gp").fit(graded, y).predict(graded),
    "terms": lambda: MOHNTransformer().fit(X, y).transform(X),
    "logistic": lambda: MOHNClassifier().fit(X, y > 0).predict_proba(X),
    "blm": lambda: BLMClassifier((2,), **few).fit(X, y > 0).predict_proba(X),
    "softmax": lambda: BLMClassifier((2,), **few).fit(X, 2.0 * y).predict_proba(X),
    "loss": lambda: BLMRegressor((2,), loss=loss, **few).fit(X, y).predict(X),
    "steps": lambda: BLMRegressor((2,), recurrent="steps", **few)
    .fit(X[:, :, None], X)
    .predict(X[:, :, None]),
    "controller": lambda: BLMController((2,), max_evaluations=2, random_state=0)
    .fit(pendulum)
    .predict(np.ones((1, 4))),
    "energynet": lambda: net.fit(X).transform(X),
    **{
        method: lambda method=method: maximize(
            {(0, 1, 2): 1.0, (0, 3): 0.5, (1,): 0.25}, method, random_state=0
        ).x
        for method in ("annealing", "tabu", "weight_satisfaction", "exact")
    },
}
warnings.simplefilter("ignore", UserWarning)  # so little is enough, not to converge
warnings.simplefilter("error", RuntimeWarning)
found = {name: np.asarray(fit(), float).ravel().tolist() for name, fit in fits.items()}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found():
    """What fits find compiled, as they are here, and not compiled."""
    done = subprocess.run(
        [sys.executable, "-c", FITS],
        env={**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    here = {}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as text:
        exec(FITS, here)
    return json.loads(text.getvalue()), json.loads(done.stdout)


def test_fits_need_not_be_compiled(found):
    compiled, uncompiled = found
    assert list(compiled) == list(uncompiled)
    # Sums of single precision are added in another order.
    differ = {
        name
        for name, values in compiled.items()
        if uncompiled[name] != pytest.approx(values, rel=1e-2, abs=1e-3)
    }
    assert not differ
