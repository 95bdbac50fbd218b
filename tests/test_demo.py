"""The tour of `make demo`: it needs matplotlib alone, and says what it waits for."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import skmohn

PATH = Path(__file__).resolve().parents[1] / "examples" / "demo.py"


class _Stop(Exception):  # noqa: N818
    """Ends the tour where a test has seen enough."""


@pytest.fixture
def demo(monkeypatch):
    """The module, anew; it sets the number of threads of a process of its own."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    spec = importlib.util.spec_from_file_location("demo", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_says_so_before_it_compiles(demo, monkeypatch, capsys):
    def stop():
        raise _Stop

    monkeypatch.setattr(skmohn, "warm_up", stop)
    with pytest.raises(_Stop):
        demo.main()
    assert "compiles them, which takes" in capsys.readouterr().out


def test_terms_are_printed_without_pandas(demo, hide, capsys):
    hide("pandas")
    model = skmohn.MOHNRegressor.from_terms([(0,), (0, 1), (2,)], [0.5, -2.0, 1.0])
    demo.print_structure(model, ["a", "b", "c"], n_rows=2)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["a", "x", "b", "-2.000", "0.000"], ["c", "1.000", "0.000"]]


def test_anomalies_need_no_pandas(demo, hide, monkeypatch, capsys):
    hide("pandas")
    tables = []

    def fit(net, X):
        tables.append(X)
        return net

    monkeypatch.setattr(skmohn.EnergyNetTransformer, "fit", fit)
    monkeypatch.setattr(
        skmohn.EnergyNetTransformer, "score_samples", lambda net, X: np.arange(len(X))
    )
    demo.anomalies()
    (known,) = tables
    assert known.shape == (331, 10)
    is_missing = known != known
    assert 0.05 < is_missing.mean() < 0.15
    assert set(known[~is_missing[:, 1], 1]) == {"female", "male"}
