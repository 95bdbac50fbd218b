"""Likelihoods by epoch: the drawn lines are the estimator's numbers."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from skmohn.inspection import LikelihoodDisplay


def names_above(ax):
    """Names at the upper edge of the axes, and where they are."""
    (axis,) = ax.child_axes
    names = [label.get_text() for label in axis.get_xticklabels()]
    return dict(zip(names, axis.get_xticks(), strict=True))


def test_lines_are_the_records(monitored):
    display = LikelihoodDisplay.from_estimator(monitored)
    records = [r for r in monitored.history_ if "log_likelihood" in r]
    for line, name in (
        (display.line_, "log_likelihood"),
        (display.validation_line_, "validation_log_likelihood"),
    ):
        epochs, values = line.get_data()
        assert_array_equal(epochs, [3, 6, 9, 12, 15, 18])
        assert_array_equal(values, [record[name] for record in records])
    # The second layer is measured at the 12th epoch for the first time.
    assert names_above(display.ax_) == {"layer 0": 0, "layer 1": 12}
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["training samples", "validation samples"]


def test_records_of_growth_are_drawn_too(bits):
    from skmohn import EnergyNetTransformer

    net = EnergyNetTransformer(
        max_layers=1, n_final_epochs=0, monitor=20, max_steps=1300, n_temperatures=50,
        density="layers", random_state=0,
    )  # fmt: skip
    with pytest.warns(match="still growing"):
        net.fit(bits[:300])
    display = LikelihoodDisplay.from_estimator(net)
    assert display.validation_line_ is None
    n_epochs = max(record.get("epoch", 0) for record in net.history_)
    assert_array_equal(display.epoch, np.arange(20, n_epochs + 1, 20))


def test_style_of_lines_is_the_callers(monitored):
    display = LikelihoodDisplay.from_estimator(monitored, marker="s")
    assert display.line_.get_marker() == display.validation_line_.get_marker() == "s"


def test_single_layer_needs_no_name():
    display = LikelihoodDisplay([1, 2], [-4.0, -3.0]).plot()
    assert list(names_above(display.ax_)) == ["layer 0"]


def test_numbers_that_do_not_go_together_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LikelihoodDisplay([1, 2], [-4.0]).plot()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LikelihoodDisplay([1, 2], [-4.0, -3.0], validation=[-4.0]).plot()


@pytest.mark.parametrize("name", ["epoch", "log_likelihood", "validation", "layer"])
@pytest.mark.parametrize("odd", [2, "a", ["a", "b"]])
def test_what_is_no_list_of_numbers_is_refused(name, odd):
    lists = {"epoch": [1, 2], "log_likelihood": [-4.0, -3.0], name: odd}
    with pytest.raises(ValueError, match=f"{name} must be a list of numbers"):
        LikelihoodDisplay(**lists).plot()


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="epoch is empty"):
        LikelihoodDisplay([], []).plot()


def test_missing_records_are_named(given, bits):
    with pytest.raises(ValueError, match=r"has recorded no .*monitor=1"):
        LikelihoodDisplay.from_estimator(given)
    rare = clone(given).set_params(monitor=1000).fit(bits)
    with pytest.raises(ValueError, match="at most the number of epochs"):
        LikelihoodDisplay.from_estimator(rare)
