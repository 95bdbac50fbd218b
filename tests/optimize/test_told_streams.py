"""What an optimizer knows of points that others have asked for."""

import numpy as np
import pytest

from skmohn.optimize import BlackBoxOptimizer
from skmohn.optimize._archive import Archive


def next_source(X, y, sources):
    """What asks for a point after these were told."""
    optimizer = BlackBoxOptimizer(14, noise=0, random_state=0)
    optimizer.tell(X, y, sources)
    optimizer.ask()
    return optimizer.pending_[0]["source"]


def test_sparse_models_are_learned_from_points_that_no_search_has_chosen():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (120, 14))
    spins = 2.0 * X - 1.0
    y = spins @ rng.normal(size=14) + 2.0 * spins[:, 0] * spins[:, 1] * spins[:, 2]
    assert next_source(X, y, None) == "verification"
    assert next_source(X, y, ["uniform"] * 120) == "verification"
    assert next_source(X, y, ["local_search"] * 120) != "verification"


def test_sources_of_another_optimizer_count_for_their_fractions():
    rng = np.random.default_rng(0)
    points = rng.choice(2**14, 80, replace=False)
    X, y = points[:, None] >> np.arange(14) & 1, rng.normal(size=80)
    assert next_source(X, y, None) == "uniform"
    assert next_source(X, y, ["uniform"] * 80) != "uniform"
    assert next_source(X, y, [*["uniform"] * 70, *["surrogate"] * 10]) == "local_search"


@pytest.mark.parametrize(
    "space",
    [{"a": (0, 9), "b": ["x", "y"]}, 5, np.eye(6), np.array([["a"], ["b"]] * 3)],
)
def test_what_is_asked_for_is_known_until_it_is_told(space):
    optimizer = BlackBoxOptimizer(space, random_state=0)

    def pending():
        return [repr(record["point"]) for record in optimizer.pending_]

    assert pending() == []
    points = optimizer.ask(3)
    assert pending() == list(map(repr, points))
    assert {record["source"] for record in optimizer.pending_} == {"uniform"}
    # Its own points have their own sources.
    optimizer.tell(points[:2], [0.0, 1.0], ["external", "local_search"])
    assert [record["source"] for record in optimizer.history_] == ["uniform"] * 2
    assert pending() == list(map(repr, points[2:]))
    optimizer.tell(points[2:], np.zeros(len(points[2:])))
    assert pending() == []


@pytest.mark.parametrize("sources", [["uniform"], ["uniform", "other"], "uniform"])
def test_bad_sources_are_named(sources):
    optimizer = BlackBoxOptimizer(3, random_state=0)
    with pytest.raises(ValueError, match="sources must have one of"):
        optimizer.tell([[0, 0, 1], [0, 1, 1]], [0.0, 1.0], sources)
    assert len(optimizer.history_) == 0


def test_telling_many_points_orders_them_no_more_often(monkeypatch):
    n_orders, order = [], Archive.order

    def counted(archive, deviation=0.0):
        n_orders.append(len(archive))
        return order(archive, deviation)

    monkeypatch.setattr(Archive, "order", counted)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 14))
    BlackBoxOptimizer(14, random_state=0).tell(X, rng.normal(size=300))
    assert len(n_orders) < 10
