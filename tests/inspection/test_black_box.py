"""Pictures of searches: what they draw, and of what."""

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmohn.inspection import (
    ImportancesDisplay,
    OptimizationHistoryDisplay,
    ParallelCoordinatesDisplay,
)
from skmohn.optimize import BlackBoxOptimizer, minimize_black_box

SPACE = {"size": (1, 5), "kind": ["a", "b", "c"], "idle": [None, "x"]}


def cost(point):
    return point["size"] + 4.0 * (point["kind"] == "b") * (point["size"] > 2)


@pytest.fixture(scope="module")
def result():
    return minimize_black_box(cost, SPACE, 25, noise=0, random_state=0)


def test_values_and_fractions(result):
    display = OptimizationHistoryDisplay.from_result(result, lw=3)
    assert_allclose(display.line_.get_ydata(), [r["best"] for r in result.history])
    assert display.line_.get_linewidth() == 3
    sources = [record["source"] for record in result.history]
    assert set(display.dots_) == set(display.bars_) == set(sources)
    for name, dots in display.dots_.items():
        assert len(dots.get_xdata()) == sources.count(name)
    neg_log10_p = [
        [bar.get_height() for bar in bars] for bars in display.bars_.values()
    ]
    assert_allclose(np.sum(neg_log10_p, axis=0), 1.0)
    assert np.shape(neg_log10_p)[1] == 5
    assert display.ax_.get_ylim()[1] > max(r["value"] for r in result.history)


def test_optimizers_are_drawn_as_their_results(result):
    optimizer = BlackBoxOptimizer(SPACE, maximize=True, random_state=0)
    X = [record["point"] for record in result.history]
    optimizer.tell(X, [record["value"] for record in result.history])
    display = ParallelCoordinatesDisplay.from_result(optimizer, n_points=3)
    assert display.value[0] == max(record["value"] for record in result.history)
    assert list(OptimizationHistoryDisplay.from_result(optimizer).dots_) == ["external"]
    assert len(ImportancesDisplay.from_result(optimizer).total_bars_) == 3


def test_importances_are_sobol_indices(result):
    display = ImportancesDisplay.from_result(result, n_variables=2)
    total = result.model.sobol_indices("uniform")["total"]
    expected = np.sort(total)[::-1][:2]
    assert_allclose([bar.get_width() for bar in display.total_bars_], expected)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == ["size", "kind"]
    assert np.all(np.array(display.first_order) <= np.array(display.total) + 1e-9)


def test_lines_of_the_best_points(result):
    display = ParallelCoordinatesDisplay.from_result(result, n_points=4, n_variables=2)
    assert list(display.variables) == ["size", "kind"]
    assert display.variables["kind"] == ["a", "b", "c"]
    assert display.value == sorted(display.value)
    assert display.points[0] == result.x
    neg_log10_p = display.lines_[0].get_ydata()
    kinds = {"a": 0.0, "b": 0.5, "c": 1.0}
    assert_allclose(neg_log10_p, [0.0, kinds[result.x["kind"]]], atol=0.06)
    shown = [text.get_text() for text in display.texts_]
    assert shown == ["1", "2", "3", "4", "5", "a", "b", "c"]


def test_lines_are_nearest_to_their_own_values():
    letters = list("ACDEFGHIKLMNPQRSTVWY")
    points = [{"site": letter} for letter in letters]
    display = ParallelCoordinatesDisplay(points, range(20), {"site": letters}).plot()
    neg_log10_p = [line.get_ydata()[0] for line in display.lines_]
    assert np.round(np.multiply(neg_log10_p, 19)).tolist() == list(range(20))
    assert len({height - k / 19 for k, height in enumerate(neg_log10_p)}) == 20


def test_names_and_values_are_no_formulas():
    names = ["US$ and $", "$x^$"]
    points = [dict.fromkeys(names, "$a_$"), dict.fromkeys(names, "b")]
    variables = {name: ["$a_$", "b"] for name in names}
    for display in (
        ImportancesDisplay(names, [0.1, 0.2], [0.3, 0.4]),
        ParallelCoordinatesDisplay(points, [1.0, 2.0], variables),
    ):
        display.plot().figure_.savefig(io.BytesIO())
        texts = display.ax_.get_xticklabels() + display.ax_.get_yticklabels()
        texts += getattr(display, "texts_", [])
        named = [text for text in texts if "$" in text.get_text()]
        assert named
        assert not any(text.get_parse_math() for text in named)


def test_points_that_violate_constraints_are_not_the_best():
    optimizer = BlackBoxOptimizer(3, constraints=lambda x: x.any(), random_state=0)
    optimizer.tell([[0, 0, 0], [1, 0, 0], [1, 1, 0]], [0.0, 1.0, 2.0])
    display = ParallelCoordinatesDisplay.from_result(optimizer)
    assert display.points[0] == {"x0": 1, "x1": 0, "x2": 0}
    assert display.value == [1.0, 2.0]


def test_arrays_have_numbered_variables():
    result = minimize_black_box(lambda x: x[1] - x[0], 3, 9, noise=0, random_state=0)
    display = ParallelCoordinatesDisplay.from_result(result)
    assert sorted(display.variables) == ["x0", "x1", "x2"]
    assert display.points[0]["x0"] == 1
    one = minimize_black_box(lambda p: 1.0, {"a": ["only"]}, 1)
    assert len(ParallelCoordinatesDisplay.from_result(one).lines_) == 1
    OptimizationHistoryDisplay.from_result(one)
    with pytest.raises(TypeError, match="estimator must be"):
        ImportancesDisplay.from_result(one)


@pytest.mark.parametrize(
    "display",
    [OptimizationHistoryDisplay, ImportancesDisplay, ParallelCoordinatesDisplay],
)
@pytest.mark.parametrize("other", [None, 3, {"x": 1}, "result"])
def test_what_is_no_result(display, other):
    with pytest.raises(TypeError, match="result must be what minimize_black_box"):
        display.from_result(other)


@pytest.mark.parametrize(
    ("display", "words"),
    [
        (
            OptimizationHistoryDisplay([], [], []),
            "of one length, at least 1: got 0 values",
        ),
        (OptimizationHistoryDisplay([1.0], [1.0], []), "got 1 values and 0 sources"),
        (ImportancesDisplay(["a"], [0.1, 0.2], [0.3, 0.4]), "got 1 for 2"),
        (ParallelCoordinatesDisplay([], [], {}), "at least one: got 0 for 0 points"),
    ],
)
def test_lengths_that_differ(display, words):
    with pytest.raises(ValueError, match=words):
        display.plot()
