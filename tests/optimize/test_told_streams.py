"""What an optimizer knows of points that others have asked for."""

import numpy as np
import pytest

from skmohn.optimize import BlackBoxOptimizer


def next_stream(X, y, streams):
    """What asks for a point after these were told."""
    optimizer = BlackBoxOptimizer(14, noise=0, random_state=0)
    optimizer.tell(X, y, streams)
    optimizer.ask()
    return optimizer.asked_[0]["stream"]


def test_sparse_models_are_learnt_from_points_that_no_search_has_chosen():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (120, 14))
    spins = 2.0 * X - 1.0
    y = spins @ rng.normal(size=14) + 2.0 * spins[:, 0] * spins[:, 1] * spins[:, 2]
    assert next_stream(X, y, None) == "check"
    assert next_stream(X, y, ["uniform"] * 120) == "check"
    assert next_stream(X, y, ["climb"] * 120) != "check"


def test_streams_of_another_optimizer_count_for_their_shares():
    rng = np.random.default_rng(0)
    points = rng.choice(2**14, 80, replace=False)
    X, y = points[:, None] >> np.arange(14) & 1, rng.normal(size=80)
    assert next_stream(X, y, None) == "uniform"
    assert next_stream(X, y, ["uniform"] * 80) != "uniform"
    assert next_stream(X, y, [*["uniform"] * 70, *["surrogate"] * 10]) == "climb"


def test_what_is_asked_for_is_known_until_it_is_told():
    optimizer = BlackBoxOptimizer({"a": (0, 9), "b": ["x", "y"]}, random_state=0)
    assert optimizer.asked_ == []
    points = optimizer.ask(3)
    assert [record["point"] for record in optimizer.asked_] == points
    assert {record["stream"] for record in optimizer.asked_} == {"uniform"}
    # Its own points have their own streams.
    optimizer.tell(points[:2], [0.0, 1.0], ["told", "climb"])
    assert [record["stream"] for record in optimizer.history_] == ["uniform"] * 2
    assert [record["point"] for record in optimizer.asked_] == points[2:]


@pytest.mark.parametrize("streams", [["uniform"], ["uniform", "other"], "uniform"])
def test_bad_streams_are_named(streams):
    optimizer = BlackBoxOptimizer(3, random_state=0)
    with pytest.raises(ValueError, match="streams must have one of"):
        optimizer.tell([[0, 0, 1], [0, 1, 1]], [0.0, 1.0], streams)
    assert len(optimizer.history_) == 0
