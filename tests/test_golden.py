"""Golden fits: what `tests/golden.py` sees and what it lets through."""

import runpy
from pathlib import Path

import numpy as np
import pytest

GOLDEN = runpy.run_path(str(Path(__file__).with_name("golden.py")))


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A file of two quick fits, and what they are made by."""
    names = ("regressor, ols", "data, spirals")
    fits = {name: GOLDEN["FITS"][name] for name in names}
    for function in ("record", "compare"):
        monkeypatch.setitem(GOLDEN[function].__globals__, "FITS", fits)
    path = tmp_path / "fits.npz"
    assert GOLDEN["record"](path) == 0
    return path, fits


def test_what_has_not_changed_passes(recorded, capsys):
    assert GOLDEN["compare"](recorded[0]) == 0
    assert "0 of 2 fits have changed" in capsys.readouterr().out


def test_a_change_of_one_bit_is_found(recorded, capsys):
    path, fits = recorded
    make = fits["regressor, ols"]

    def changed():
        found = make()
        predicted = found["predict"].copy()
        predicted[3] = np.nextafter(predicted[3], np.inf)
        return found | {"predict": predicted}

    fits["regressor, ols"] = changed
    assert GOLDEN["compare"](path) == 1
    printed = capsys.readouterr().out
    assert "regressor, ols: predict: differs by at most" in printed
    assert "1 of 2 fits have changed" in printed


def test_what_is_gone_new_or_fails_is_found(recorded, capsys):
    path, fits = recorded
    fits["data, new"] = fits.pop("data, spirals")
    fits["regressor, ols"] = lambda: 1 / 0
    assert GOLDEN["compare"](path) == 1
    printed = capsys.readouterr().out
    assert "regressor, ols: failure: ZeroDivisionError: division by zero" in printed
    assert "data, spirals: X is gone" in printed
    assert "data, new: X is new" in printed
    assert GOLDEN["record"](path) == 1


def test_an_attribute_that_is_renamed_is_the_same(recorded, monkeypatch):
    path, fits = recorded
    make = fits["regressor, ols"]

    def renamed():
        found = make()
        weights = found.pop("weights_")
        return {**found, "coef_": weights}

    fits["regressor, ols"] = renamed
    assert GOLDEN["compare"](path) == 1
    monkeypatch.setitem(GOLDEN["RENAMED"], "weights_", "coef_")
    assert GOLDEN["compare"](path) == 0


def test_some_of_the_fits_are_compared_with_the_same_ones(recorded, capsys):
    path, fits = recorded
    assert GOLDEN["record"](path, every=2) == 0
    fits["data, spirals"] = lambda: 1 / 0
    assert GOLDEN["compare"](path) == 0
    assert "0 of 1 fits have changed" in capsys.readouterr().out
    fits["regressor, ols"] = lambda: 1 / 0
    assert GOLDEN["compare"](path) == 1


def test_every_estimator_is_fitted():
    kinds = {name.partition(",")[0] for name in GOLDEN["FITS"]}
    assert kinds >= {"regressor", "classifier", "transformer", "stack", "imputer"}
    assert len(GOLDEN["FITS"]) > 120
