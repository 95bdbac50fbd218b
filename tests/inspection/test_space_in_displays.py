"""What is written beside a picture covers no data, no other text, and stays inside."""

import itertools

import numpy as np
import pytest

from skmohn.inspection import (
    DescriptionLengthDisplay,
    DiscoveryErrorDisplay,
    DiscoveryOrdersDisplay,
    GrowthDisplay,
    HypergraphDisplay,
    LikelihoodDisplay,
    WeightsDisplay,
)
from skmohn.inspection._labels import shorten

WIDTHS = [4.0, 8.0]
LONG = [f"temperature_of_reactor_{i:02}_in_degrees" for i in range(30)]


def axes_of_width(width):
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, 0.65 * width), layout="constrained")[1]


def finished(ax):
    """The figure of the axes, laid out as it is drawn."""
    ax.figure.draw_without_rendering()
    return ax.figure


def assert_inside(figure, boxes):
    """Boxes are in the figure, up to a pixel."""
    for box in boxes:
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y1 <= figure.bbox.y1 + 1


def assert_apart(boxes):
    for first, second in itertools.combinations(boxes, 2):
        assert not first.overlaps(second)


def labels_of(axis):
    return [label for label in axis.get_ticklabels() if label.get_text()]


# ------------------------------------------------------------------------- legends


@pytest.mark.slow_cases("GrowthDisplay-by_gamma-4.0")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("display", "fitted"),
    [
        (DescriptionLengthDisplay, "grown"),
        (DiscoveryErrorDisplay, "searched"),
        (DiscoveryOrdersDisplay, "searched"),
        (GrowthDisplay, "grown"),
        (GrowthDisplay, "by_gamma"),
        (LikelihoodDisplay, "monitored"),
    ],
)
def test_legend_covers_no_data(display, fitted, width, request):
    ax = axes_of_width(width)
    display.from_estimator(request.getfixturevalue(fitted), ax=ax)
    ax.set_title("a title")
    figure = finished(ax)
    (legend,) = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    box = legend.get_window_extent()
    assert_inside(figure, [box])
    for axes in figure.axes:
        for line in axes.lines:
            if line.get_transform() != axes.get_xaxis_transform():
                path = line.get_path().transformed(line.get_transform())
                assert not path.intersects_bbox(box, filled=False)


def test_panels_with_a_common_axis_make_room_once(searched):
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, sharey=True, layout="constrained")
    DiscoveryOrdersDisplay.from_estimator(searched, ax=left)
    top = left.get_ylim()[1]
    DiscoveryOrdersDisplay.from_estimator(searched, ax=right)
    assert left.get_ylim()[1] == pytest.approx(top, rel=0.1)


@pytest.mark.parametrize("display", [DiscoveryOrdersDisplay, HypergraphDisplay])
def test_subfigures_are_drawn_on(display, searched):
    import matplotlib.pyplot as plt

    part = plt.figure(layout="constrained").subfigures(1, 2)[0]
    drawn = display.from_estimator(searched, ax=part.subplots())
    assert drawn.figure_ is part


# ------------------------------------------------------------ layers and their numbers


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_of_layers_are_apart_from_lines_and_title(grown, width):
    ax = axes_of_width(width)
    display = DescriptionLengthDisplay.from_estimator(grown, ax=ax)
    title = ax.set_title("What layers are worth")
    figure = finished(ax)
    boxes = [text.get_window_extent() for text in display.texts_]
    assert_inside(figure, boxes)
    assert_apart([*boxes, title.get_window_extent(), ax.get_window_extent()])


@pytest.mark.parametrize("width", WIDTHS)
def test_names_of_layers_are_apart_from_title(monitored, width):
    ax = axes_of_width(width)
    LikelihoodDisplay.from_estimator(monitored, ax=ax)
    title = ax.set_title("Log-likelihood while two layers are trained")
    figure = finished(ax)
    (names,) = ax.child_axes
    boxes = [label.get_window_extent() for label in labels_of(names.xaxis)]
    assert len(boxes) == 2
    assert_inside(figure, boxes)
    assert_apart([*boxes, title.get_window_extent()])


def test_names_of_short_layers_are_apart():
    layer = np.repeat([0, 1, 2, 3], [100, 8, 8, 8])
    ax = axes_of_width(4.0)
    LikelihoodDisplay(np.arange(124), -np.ones(124), layer=layer).plot(ax=ax)
    finished(ax)
    labels = labels_of(ax.child_axes[0].xaxis)
    assert [label.get_text() for label in labels] == ["layer 0", "1", "2", "3"]
    assert_apart([label.get_window_extent() for label in labels])


# ----------------------------------------------------------------- names of variables


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n_variables", [6, 30])
def test_network_stays_inside_with_long_names(n_variables, width):
    terms = [(i, (i + 1) % n_variables) for i in range(n_variables)] + [(0, 2, 4)]
    ax = axes_of_width(width)
    display = HypergraphDisplay(terms, np.ones(len(terms)), LONG).plot(ax=ax)
    figure = finished(ax)
    boxes = [text.get_window_extent() for text in display.texts_]
    assert_apart(boxes)
    legend = ax.get_legend().get_window_extent()
    assert_inside(figure, [*boxes, legend])
    assert not any(legend.overlaps(box) for box in boxes)


def test_lines_of_a_network_end_beneath_its_names():
    terms, weights = [(0, 1), (1, 2), (2,)], [1.0, -1.0, 2.0]
    display = HypergraphDisplay(terms, weights, LONG).plot()
    fills = [text.get_bbox_patch().get_facecolor() for text in display.texts_]
    np.testing.assert_allclose(fills, display.nodes_.get_facecolors())
    assert min(text.get_zorder() for text in display.texts_) > 4
    # Names that fit into the circles need no box.
    short = HypergraphDisplay(terms, weights, ["a", "b", "c"]).plot()
    assert [text.get_bbox_patch() for text in short.texts_] == [None] * 3


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["acid", "temperature_1", "temperature_2"], ["acid", "tem…e_1", "tem…e_2"]),
        (["room_a_in_celsius", "room_b_in_celsius"], ["room_a", "room_b"]),
        (["temperature_1_kelvin", "temperature_2_kelvin"], ["tempe…1", "tempe…2"]),
        (["same_name", "same_name"], ["sam…ame"] * 2),
    ],
)
def test_names_that_are_cut_still_differ(names, expected):
    assert shorten(names, 7) == expected


@pytest.mark.slow_cases("60-4.0|6-8.0")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n_terms", [6, 60])
def test_names_of_the_heat_map_leave_room_for_it(n_terms, width):
    rng = np.random.default_rng(0)
    terms = {
        tuple(sorted(rng.choice(30, rng.integers(1, 4), replace=False).tolist()))
        for _ in range(n_terms)
    }
    ax = axes_of_width(width)
    WeightsDisplay(sorted(terms), np.ones(len(terms)), LONG).plot(ax=ax)
    figure = finished(ax)
    for axis in (ax.xaxis, ax.yaxis):
        boxes = [label.get_window_extent() for label in labels_of(axis)]
        assert_inside(figure, boxes)
        assert_apart(boxes)
    assert ax.get_window_extent().width > 0.3 * figure.bbox.width
