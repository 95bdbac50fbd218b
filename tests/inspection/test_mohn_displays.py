"""Displays of MOHNRegressor: what is drawn is the model and its history."""

import io
import itertools
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import SymLogNorm
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmohn import MOHNRegressor
from skmohn.datasets import make_ising, make_mk_trap
from skmohn.inspection import (
    DiscoveryErrorDisplay,
    DiscoveryOrdersDisplay,
    FiltersDisplay,
    HypergraphDisplay,
    WeightsDisplay,
)
from skmohn.inspection._hypergraph import position_components
from skmohn.mohn import InteractionGraph

STRUCTURE = [WeightsDisplay, HypergraphDisplay]
DISCOVERY = [DiscoveryErrorDisplay, DiscoveryOrdersDisplay]


def known():
    terms = [(0, 1), (1,), (1, 2, 4), (5, 6), (8,)]
    return MOHNRegressor.from_terms(
        terms, [1.0, -2.0, 0.5, -0.25, 1.5],
        feature_names=list("abcdefghij"),
    )  # fmt: skip


# ------------------------------------------------------------------ what all share


@pytest.mark.parametrize("display", STRUCTURE + DISCOVERY)
def test_axes_are_those_given_or_new(display, searched):
    import matplotlib.pyplot as plt

    figure, (_, ax) = plt.subplots(1, 2)
    drawn = display.from_estimator(searched, ax=ax)
    assert isinstance(drawn, display)
    assert drawn.ax_ is ax
    assert drawn.figure_ is figure
    assert drawn.plot() is drawn
    assert drawn.ax_ is not ax
    drawn.figure_.canvas.draw()


@pytest.mark.parametrize("display", STRUCTURE + DISCOVERY)
def test_other_estimators_are_refused(display):
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    with pytest.raises(TypeError, match=r"a MOHNRegressor, got Pipeline.*\[-1\]"):
        display.from_estimator(pipeline)
    with pytest.raises(NotFittedError):
        display.from_estimator(MOHNRegressor())


@pytest.mark.parametrize("display", STRUCTURE)
def test_nothing_to_draw_is_refused(display):
    X = np.random.default_rng(0).integers(0, 2, (30, 3))
    model = MOHNRegressor().fit(X, np.ones(30))
    with pytest.raises(ValueError, match="terms must have at least one weight"):
        display.from_estimator(model)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        display([(0,)], [1.0, 2.0], ["a"]).plot()


@pytest.mark.parametrize("display", STRUCTURE)
@pytest.mark.parametrize("name", ["terms", "weights", "names"])
@pytest.mark.parametrize("odd", [None, 2, 0.5, object])
def test_weights_of_no_lists_are_refused(display, name, odd):
    lists = {"terms": [(0,)], "weights": [1.0], "names": ["a"], name: odd}
    with pytest.raises((TypeError, ValueError), match=name):
        display(**lists).plot()


@pytest.mark.parametrize(
    ("display", "name"),
    [
        (DiscoveryErrorDisplay, "rounds"),
        (DiscoveryErrorDisplay, "training"),
        (DiscoveryErrorDisplay, "validation"),
        (DiscoveryOrdersDisplay, "rounds"),
        (DiscoveryOrdersDisplay, "weights_per_order"),
    ],
)
@pytest.mark.parametrize("odd", [2, "a", [None], {0: 1.0}])
def test_rounds_of_no_lists_are_refused(display, name, odd):
    own = "training" if display is DiscoveryErrorDisplay else "weights_per_order"
    lists = {"rounds": [1], own: [1.0] if own == "training" else [[1]], name: odd}
    with pytest.raises((TypeError, ValueError), match=name):
        display(**lists).plot()


@pytest.mark.parametrize("display", STRUCTURE)
def test_names_are_no_formulas(display):
    drawn = display([(0, 1), (2,)], [1.0, -2.0], ["US$ and $", "$x^$", "a_b"]).plot()
    drawn.figure_.savefig(io.BytesIO())


@pytest.mark.parametrize("display", STRUCTURE + DISCOVERY)
def test_what_is_no_axes_is_refused(display, searched):
    with pytest.raises(TypeError, match=r"ax must be matplotlib Axes.*got 3"):
        display.from_estimator(searched, ax=3)


def test_short_names_of_arguments_are_known(searched):
    drawn = HypergraphDisplay.from_estimator(searched, c="green", size=3)
    assert {text.get_color() for text in drawn.texts_} == {"green"}
    for display in DISCOVERY:
        line, *_ = display.from_estimator(searched, c="green", lw=4).ax_.lines
        assert (line.get_color(), line.get_linewidth()) == ("green", 4)


def test_norm_that_is_none_is_refused():
    with pytest.raises(TypeError, match=r"norm must be .* got 2\.5"):
        WeightsDisplay.from_estimator(known(), norm=2.5)
    image = WeightsDisplay.from_estimator(known(), norm="symlog").image_
    assert type(image.norm).__name__.startswith("Sym")


def test_norm_replaces_limits():
    norm = SymLogNorm(0.1, vmin=-9, vmax=9)
    assert WeightsDisplay.from_estimator(known(), norm=norm).image_.norm is norm
    filters = FiltersDisplay(np.ones((2, 3, 3))).plot(norm=norm)
    assert filters.image_.norm is norm


@pytest.mark.parametrize("max_order", [-1, 0, 2.5, "all"])
def test_largest_order_is_a_number(searched, max_order):
    with pytest.raises(ValueError, match="max_order must be a positive integer, got"):
        DiscoveryOrdersDisplay.from_estimator(searched, max_order=max_order)


# ------------------------------------------------------------------------- weights


@pytest.mark.parametrize("display", STRUCTURE)
@pytest.mark.parametrize("term", [(5,), (-1,), ()])
def test_term_without_a_name_is_refused(display, term):
    with pytest.raises(ValueError, match=re.escape(f"terms has {term!r}")):
        display([(0,), term], [1.0, 2.0], ["a", "b"]).plot()


def test_heat_map_has_each_weight_at_its_variables():
    model = known()
    display = WeightsDisplay.from_estimator(model)
    image = display.image_.get_array()
    assert sorted(display.rows_) == [0, 1, 2, 4, 5, 6, 8]
    assert sorted(display.columns_) == list(range(5))
    for column, j in enumerate(display.columns_):
        for row, variable in enumerate(display.rows_):
            if variable in model.terms_[j]:
                assert image[row, column] == model.weights_[j]
            else:
                assert image.mask[row, column]
    names = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert names == ["abcdefghij"[i] for i in display.rows_]
    orders = [int(tick.get_text()) for tick in display.ax_.get_xticklabels()]
    assert orders == [len(model.terms_[j]) for j in display.columns_]
    assert "3 more" in display.ax_.get_ylabel()
    assert display.image_.norm.vmin == -display.image_.norm.vmax == -2.0


def test_components_are_blocks_with_lines_between_them():
    traps = make_mk_trap(4, 3, n_samples=10, shuffle=True, random_state=1)
    model = MOHNRegressor.from_terms(traps.terms, traps.weights)
    display = WeightsDisplay.from_estimator(model)
    mask = display.image_.get_array().mask
    for block in range(3):
        own = slice(4 * block, 4 * block + 4), slice(15 * block, 15 * block + 15)
        outside = mask.copy()
        outside[own] = True
        assert not mask[own].all(axis=0).any()
        assert outside[own[0]].all()
    lines = [line.get_xdata()[0] for line in display.ax_.get_lines()[::2]]
    assert lines == [14.5, 29.5]
    orders = [len(model.terms_[j]) for j in display.columns_[:15]]
    assert orders == sorted(orders)


@pytest.mark.slow_cases("2000")
@pytest.mark.parametrize("n_terms", [5, 200, 2000])
def test_any_number_of_weights_is_drawn(n_terms):
    rng = np.random.default_rng(0)
    terms = {
        tuple(sorted(rng.choice(300, 3, replace=False).tolist()))
        for _ in range(n_terms)
    }
    terms = sorted(terms)
    model = MOHNRegressor.from_terms(terms, rng.standard_normal(len(terms)))
    for display in STRUCTURE:
        drawn = display.from_estimator(model)
        drawn.figure_.canvas.draw()
        assert len(drawn.ax_.get_yticklabels()) <= 60
        assert drawn.figure_.get_size_inches().max() <= 16


def test_categories_have_rows_of_their_own():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"base": rng.choice(["A", "C", "G"], 90), "flag": rng.integers(0, 2, 90)}
    )
    y = 2.0 * (frame["base"] == "G") * frame["flag"] + 0.05 * rng.standard_normal(90)
    display = WeightsDisplay.from_estimator(MOHNRegressor("gp").fit(frame, y))
    names = {tick.get_text() for tick in display.ax_.get_yticklabels()}
    assert {"base=G", "flag"} <= names <= {"base=A", "base=C", "base=G", "flag"}


# ---------------------------------------------------------------------- hypergraph


def test_network_has_a_mark_for_each_weight():
    from matplotlib.colors import to_rgba

    display = HypergraphDisplay.from_estimator(known())
    assert display.variables_ == [0, 1, 2, 4, 5, 6, 8]
    position = dict(zip(display.variables_, display.positions_, strict=True))
    assert_allclose(display.nodes_.get_offsets(), display.positions_)
    assert [text.get_text() for text in display.texts_] == list("abcefgi")
    ends = [[position[0], position[1]], [position[5], position[6]]]
    assert_allclose(display.pairs_.get_segments(), ends)
    first, second = display.pairs_.get_colors()
    assert_array_equal(first, to_rgba("#c8553d"))
    assert_array_equal(second, to_rgba("#2e6f95"))
    widths = display.pairs_.get_linewidths()
    assert widths[0] > widths[1]
    center = (position[1] + position[2] + position[4]) / 3
    assert_allclose(display.squares_.get_offsets(), [center])
    white = (display.nodes_.get_facecolors() == 1.0).all(axis=1)
    filled = [i for i, w in zip(display.variables_, white, strict=True) if not w]
    assert filled == [1, 8]


@pytest.mark.parametrize("length", [3, 25, 120])
def test_long_names_do_not_overlap(length):
    terms = [(i, (i + 1) % 30) for i in range(30)]
    names = [f"{'n' * length}{i:02}" for i in range(30)]
    texts = HypergraphDisplay(terms, np.ones(30), names).plot().texts_
    texts[0].figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in texts]
    for first, second in itertools.combinations(boxes, 2):
        assert not first.overlaps(second)
    assert [text.get_text()[-2:] for text in texts] == [name[-2:] for name in names]
    assert min(text.get_fontsize() for text in texts) >= 4.0


def test_lines_between_components_hide_no_weight():
    # Eighty components of five weights each.
    terms = [(2 * i, 2 * i + 1) for i in range(80)] + [(i,) for i in range(160)] * 2
    display = WeightsDisplay(terms, np.ones(400), [f"x{i}" for i in range(160)]).plot()
    display.figure_.draw_without_rendering()
    cell = display.ax_.get_window_extent().width / 400 * 72.0 / display.figure_.dpi
    assert {line.get_linewidth() < 0.25 * cell for line in display.ax_.lines} == {True}


def test_positions_are_apart_and_near_their_neighbors():
    glass = make_ising((5, 6), n_samples=10, random_state=0)
    terms = [*glass.terms, (30, 31), (31, 32), (40,)]
    positions = position_components(InteractionGraph.of_terms(terms, 41))
    points = np.array(list(positions.values()))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    assert distances[np.triu_indices(len(points), 1)].min() > 0.2
    linked = [np.linalg.norm(positions[i] - positions[j]) for i, j in glass.terms]
    inside = [
        np.linalg.norm(positions[i] - positions[j]) for i in range(30) for j in range(i)
    ]
    assert np.mean(linked) < 0.6 * np.mean(inside)
    # Boxes of components do not overlap.
    glass_box = np.array([positions[i] for i in range(30)])
    for i in (30, 31, 32, 40):
        is_inside = (positions[i] > glass_box.min(axis=0)) & (
            positions[i] < glass_box.max(axis=0)
        )
        assert not is_inside.all()


def test_positions_of_a_clique_are_a_regular_polygon():
    positions = position_components(InteractionGraph.of_terms([(0, 1, 2, 3, 4)], 5))
    points = np.array([positions[i] for i in range(5)])
    radius = np.linalg.norm(points - points.mean(axis=0), axis=1)
    assert_allclose(radius, radius[0])
    assert np.linalg.norm(points[0] - points[1]) == pytest.approx(1.0)


def test_large_component_is_a_circle(replace_constants):
    chain = InteractionGraph.of_terms([(i, i + 1) for i in range(9)], 10)
    replace_constants("skmohn.inspection._hypergraph", max_nodes=9)
    points = np.array(list(position_components(chain).values()))
    radius = np.linalg.norm(points - points.mean(axis=0), axis=1)
    assert_allclose(radius, radius[0])


# ----------------------------------------------------------------------- discovery


def test_errors_are_those_of_the_history(searched):
    display = DiscoveryErrorDisplay.from_estimator(searched)
    history = searched.history_
    rounds, errors = display.training_line_.get_data()
    assert_array_equal(rounds, np.repeat([r["iteration"] for r in history], 2))
    assert_array_equal(errors[::2], [r["learned_rmse"] for r in history])
    assert_array_equal(errors[1::2], [r["training_rmse"] for r in history])
    rounds, errors = display.validation_line_.get_data()
    assert_array_equal(errors, [r["validation_rmse"] for r in history])
    # Removing weights costs something.
    assert any(r["learned_rmse"] < r["training_rmse"] for r in history[:-1])


def test_errors_without_validation_or_jumps():
    glass = make_ising((4, 4), n_samples=300, random_state=0)
    model = MOHNRegressor("pursuit").fit(glass.X, glass.y)
    history = [
        {k: v for k, v in r.items() if k[:7] != "learned"} for r in model.history_
    ]
    display = DiscoveryErrorDisplay.from_history(history, color="black")
    assert_array_equal(
        display.training_line_.get_ydata(), [r["training_rmse"] for r in history]
    )
    assert display.validation_line_ is None
    assert display.training_line_.get_color() == "black"


def test_orders_are_those_of_the_history(searched):
    display = DiscoveryOrdersDisplay.from_estimator(searched, max_order=2)
    counts = [r["weights_per_order"] for r in searched.history_]
    totals = display.total_line_.get_ydata()
    assert_array_equal(totals, [r["n_weights"] for r in searched.history_])
    labels = [line.get_label() for line in display.lines_]
    assert labels == ["order 1", "order 2", "order 3 and above"]
    expected = [
        [sum(c[:1]) for c in counts],
        [sum(c[1:2]) for c in counts],
        [sum(c[2:]) for c in counts],
    ]
    assert_array_equal([line.get_ydata() for line in display.lines_], expected)


@pytest.mark.parametrize("display", DISCOVERY)
def test_history_without_rounds_is_refused(display):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (40, 4))
    model = MOHNRegressor("gp").fit(X, X[:, 0] + 0.1 * rng.standard_normal(40))
    with pytest.raises(ValueError, match="no rounds of discovery"):
        display.from_estimator(model)
    with pytest.raises(ValueError, match="no rounds of discovery"):
        display.from_estimator(known())


@pytest.mark.parametrize("display", DISCOVERY)
def test_gaussian_process_of_auto_has_no_rounds(display):
    X = pd.DataFrame({"base": list("ACGT") * 10})
    model = MOHNRegressor().fit(X, np.tile([0.0, 1.0, 2.0, 4.0], 10))
    words = 'no rounds of discovery.*so does "auto", unless categories'
    with pytest.raises(ValueError, match=words):
        display.from_estimator(model)


@pytest.mark.parametrize("display", STRUCTURE)
def test_sets_do_not_say_which_weight_is_whose(display):
    for terms, names in (({(0,), (0, 1)}, ["a", "b"]), ([(0,), (0, 1)], {"a", "b"})):
        with pytest.raises(ValueError, match="must have an order, but a set has none"):
            display(terms, [1.0, 2.0], names).plot()
