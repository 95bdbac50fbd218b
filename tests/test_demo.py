"""What `make demo` and `make demo-all` run: they print what they wait for."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import skmohn

FOLDER = Path(__file__).resolve().parents[1] / "examples"


class _Stop(Exception):  # noqa: N818
    """Ends the tour where a test has seen enough."""


def load(name, monkeypatch):
    """The module, anew; it sets the number of threads of a process of its own."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.syspath_prepend(FOLDER)
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def demo(monkeypatch):
    return load("demo", monkeypatch)


@pytest.fixture
def tour(monkeypatch):
    return load("tour", monkeypatch)


@pytest.mark.parametrize("name", ["demo", "tour"])
def test_it_says_so_before_it_compiles(name, monkeypatch, capsys):
    def stop():
        raise _Stop

    monkeypatch.setattr(skmohn, "warm_up", stop)
    with pytest.raises(_Stop):
        load(name, monkeypatch).main()
    assert "compiles them, which takes" in capsys.readouterr().out


def test_terms_are_printed_without_pandas(tour, hide, capsys):
    hide("pandas")
    model = skmohn.MOHNRegressor.from_terms([(0,), (0, 1), (2,)], [0.5, -2.0, 1.0])
    tour.print_structure(model, ["a", "b", "c"], n_rows=2)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["a", "x", "b", "-2.000", "0.000"], ["c", "1.000", "0.000"]]


def test_anomalies_need_no_pandas(tour, hide, monkeypatch, capsys):
    hide("pandas")
    tables = []

    def fit(net, X):
        tables.append(X)
        return net

    monkeypatch.setattr(skmohn.EnergyNetTransformer, "fit", fit)
    monkeypatch.setattr(
        skmohn.EnergyNetTransformer, "score_samples", lambda net, X: np.arange(len(X))
    )
    tour.anomalies()
    (known,) = tables
    assert known.shape == (331, 10)
    is_missing = known != known
    assert 0.05 < is_missing.mean() < 0.15
    assert set(known[~is_missing[:, 1], 1]) == {"female", "male"}


def test_methods_of_the_demo_measure_distinct_variants(demo, monkeypatch):
    monkeypatch.setattr(demo, "N_EVALUATIONS", 24)
    protein = demo.Protein()
    for method in (demo.draw_at_random, demo.climb, demo.ask_optimizer):
        values = method(protein, np.random.default_rng(0))
        assert len(set(values[:24])) == 24
        assert set(values) <= set(protein.brightness)


def test_the_demo_measures_the_variant_that_it_is_given(demo):
    protein = demo.Protein()
    for row in (0, 5, 8191):
        assert protein.measure(protein.X.to_numpy()[row]) == protein.y[row]
    assert protein.count_brighter(protein.y.max()) == 0
