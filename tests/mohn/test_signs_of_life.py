"""Reports of default fits, by counts: no long part of the work without one."""

import itertools

import numpy as np
import pytest

from skmohn.mohn import MOHNRegressor
from skmohn.mohn._sparse import model_selection, pursuit
from skmohn.mohn._spike_slab import fit as spike_slab


@pytest.fixture
def events(monkeypatch):
    """Names of parts of the work, and "tick" between them, in their order."""
    events = []
    for module in (pursuit, model_selection, spike_slab):
        monkeypatch.setattr(module, "tick", lambda: events.append("tick"))

    def log(owner, name):
        work = getattr(owner, name)

        def logged(*args, **kwargs):
            events.append(name)
            return work(*args, **kwargs)

        monkeypatch.setattr(owner, name, logged)

    log(pursuit.Pursuit, "_propose")
    log(model_selection, "lasso_cv")
    log(model_selection, "Lasso")
    log(spike_slab.Spectrum, "of")
    log(spike_slab, "Vamp")
    return events


@pytest.mark.parametrize("selection", ["cv", "lasso"])
def test_no_two_parts_of_a_fit_without_a_sign_of_life(events, selection):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (150, 6))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.standard_normal(150)
    MOHNRegressor(selection=selection, random_state=0).fit(X, y)
    assert events.count("_propose") > 5
    assert "Vamp" in events
    assert ("lasso_cv" in events) or selection == "cv"
    parts = [pair for pair in itertools.pairwise(events) if "tick" not in pair]
    assert not parts
