"""Growth and description lengths: the drawn lines are the estimator's numbers."""

from copy import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skmohn import EnergyNetTransformer
from skmohn.inspection import DescriptionLengthDisplay, GrowthDisplay


def of_layer(net, layer, name):
    """Entries of the records of a layer that have one."""
    return [
        record[name]
        for record in net.history_
        if record["layer"] == layer and name in record and "steps" in record
    ]


@pytest.mark.parametrize("fitted", ["grown", "by_gamma"])
def test_units_are_drawn_by_step_layer_after_layer(fitted, request):
    net = request.getfixturevalue(fitted)
    display = GrowthDisplay.from_estimator(net)
    tried = sorted({record["layer"] for record in net.history_})
    assert len(tried) > 1
    assert len(display.lines_) == len(tried)
    before = 0
    for layer, line in zip(tried, display.lines_, strict=True):
        steps, units = line.get_data()
        assert_array_equal(units, of_layer(net, layer, "units"))
        assert_array_equal(steps, before + np.array(of_layer(net, layer, "steps")))
        assert np.all(np.diff(steps) >= 0)
        before = steps[-1]
    for layer, width in enumerate(net.n_components_per_layer_):
        assert display.lines_[layer].get_ydata()[-1] == width


def test_units_worth_their_price_are_drawn_at_decisions(grown):
    display = GrowthDisplay.from_estimator(grown)
    steps, paying = display.worthwhile_.get_data()
    decisions = [record for record in grown.history_ if "paying" in record]
    assert_array_equal(paying, [record["paying"] for record in decisions])
    first = [record["steps"] for record in decisions if record["layer"] == 0]
    assert_array_equal(steps[: len(first)], first)
    assert f"{decisions[0]['price']:.2g} nats" in display.worthwhile_.get_label()
    assert display.gamma_ax_ is None
    assert display.held_out_ax_ is None
    assert display.gamma_lines_ == display.held_out_lines_ == []


def test_what_held_out_samples_say_is_drawn_for_each_layer(bits):
    net = EnergyNetTransformer(
        max_layers=2, n_final_epochs=4, max_units=12, n_temperatures=50, n_draws=5,
        unit_cost=1e-3, density="layers", random_state=0,
    )  # fmt: skip
    net.fit(bits[:300])
    display = GrowthDisplay.from_estimator(net)
    tried = {record["layer"] for record in net.history_}
    assert len(display.held_out_lines_) == len(tried) == 2
    before = 0
    for layer, line in enumerate(display.held_out_lines_):
        nats = np.array(of_layer(net, layer, "held_out_log_likelihood"))
        assert_allclose(line.get_ydata(), nats.max() - nats)
        decisions = [
            record["steps"]
            for record in net.history_
            if record["layer"] == layer and "held_out_log_likelihood" in record
        ]
        assert_array_equal(line.get_xdata(), before + np.array(decisions))
        before = display.lines_[layer].get_xdata()[-1]
    legend = display.held_out_ax_.get_legend().get_texts()
    assert [text.get_text() for text in legend] == ["units", "held-out samples"]
    assert display.gamma_ax_ is None
    assert display.worthwhile_ is None


def test_gamma_is_drawn_with_its_threshold(by_gamma):
    display = GrowthDisplay.from_estimator(by_gamma)
    assert display.worthwhile_ is None
    for layer, line in enumerate(display.gamma_lines_):
        assert_array_equal(line.get_ydata(), of_layer(by_gamma, layer, "gamma"))
        growing = display.lines_[layer].get_xdata()[: len(line.get_xdata())]
        assert_array_equal(line.get_xdata(), growing)
    threshold = display.gamma_ax_.get_lines()[-1]
    assert set(threshold.get_ydata()) == {by_gamma.infinite_rbm_options.threshold}
    labels = [text.get_text() for text in display.gamma_ax_.get_legend().get_texts()]
    assert labels == ["units", "gamma", "threshold of gamma"]
    plain = copy(by_gamma).set_params(infinite_rbm_options=None)
    assert GrowthDisplay.from_estimator(plain).threshold == 0.1


def test_style_of_lines_is_the_callers(grown):
    display = GrowthDisplay.from_estimator(grown, color="black", lw=3)
    assert {line.get_color() for line in display.lines_} == {"black"}
    lengths = DescriptionLengthDisplay.from_estimator(grown, marker="s")
    assert lengths.total_line_.get_marker() == "s"


def test_nothing_that_grew_is_refused(given, grown, bits):
    with pytest.raises(ValueError, match=r"nothing grew.*growth=None"):
        GrowthDisplay.from_estimator(given)
    started = clone(given).partial_fit(bits)
    with pytest.raises(ValueError, match="nothing grew"):
        GrowthDisplay.from_estimator(started)
    with pytest.raises(ValueError, match="records must have at least one"):
        GrowthDisplay([]).plot()


@pytest.mark.parametrize("fitted", ["grown", "by_gamma"])
def test_description_lengths_are_the_estimators(fitted, request):
    net = request.getfixturevalue(fitted)
    display = DescriptionLengthDisplay.from_estimator(net)
    total, data = display.total_line_.get_ydata(), display.data_line_.get_ydata()
    n_layers = len(net.weights_)
    assert display.n_layers == n_layers
    assert_allclose(total[:n_layers], net.description_length_)
    assert_allclose((total - data)[:n_layers], net.complexity_)
    texts = [text.get_text() for text in display.texts_]
    assert texts[:n_layers] == [f"{mean:.2f}" for mean in net.log_likelihood_]


def test_layer_that_did_not_stay_is_hollow(grown):
    display = DescriptionLengthDisplay.from_estimator(grown)
    n_layers = len(grown.weights_)
    total = display.total_line_.get_ydata()
    assert len(total) == n_layers + 1
    assert total[-1] >= total[-2]
    assert_array_equal(display.gone_line_.get_data(), [[n_layers], [total[-1]]])


def test_all_layers_stay_unless_said_otherwise():
    display = DescriptionLengthDisplay([9.0, 8.0], [1.0, 2.0], [-4.0, -3.0]).plot()
    assert len(display.gone_line_.get_xdata()) == 0


def test_numbers_that_do_not_go_together_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DescriptionLengthDisplay([9.0, 8.0], [1.0], [-4.0, -3.0]).plot()


@pytest.mark.parametrize("n_layers", [0.5, "a", -1, 3])
def test_number_of_layers_is_checked(n_layers):
    lists = [9.0, 8.0], [1.0, 2.0], [-4.0, -3.0]
    with pytest.raises((TypeError, ValueError), match="n_layers"):
        DescriptionLengthDisplay(*lists, n_layers=n_layers).plot()


@pytest.mark.parametrize("records", [None, 3, "abc", [1], [{"layer": 0}], {0: 1}])
def test_what_are_no_records_is_refused(records):
    with pytest.raises(ValueError, match="records must"):
        GrowthDisplay(records).plot()


def test_threshold_is_a_number(grown):
    records = GrowthDisplay.from_estimator(grown).records
    with pytest.raises(TypeError, match="threshold"):
        GrowthDisplay(records, threshold="a").plot()


def test_missing_description_lengths_are_named(given, grown, bits):
    with pytest.raises(ValueError, match=r"no description lengths.*growth=None"):
        DescriptionLengthDisplay.from_estimator(given)
    further = clone(grown).set_params(max_layers=1, warm_start=True, n_final_epochs=1)
    further.fit(bits).partial_fit(bits)
    with pytest.raises(ValueError, match=r"no description lengths.*partial_fit"):
        DescriptionLengthDisplay.from_estimator(further)
    assert GrowthDisplay.from_estimator(further).records == further.history_[:-1]
    further.fit(bits)
    with pytest.raises(ValueError, match=r"no description lengths.*warm_start"):
        DescriptionLengthDisplay.from_estimator(further)
    with pytest.raises(ValueError, match=r"nothing grew.*warm_start"):
        GrowthDisplay.from_estimator(further)
