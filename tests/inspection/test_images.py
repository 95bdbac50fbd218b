"""Filters and samples as images: the drawn pixels are the estimator's numbers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn import EnergyNetTransformer
from skmohn.inspection import FiltersDisplay, SamplesDisplay


def drawn_images(display, n_images, shape):
    """Cut the picture of a display into its images again, row by row."""
    picture = np.ma.filled(display.image_.get_array(), np.nan)
    height, width = shape
    return np.array(
        [
            picture[top : top + height, left : left + width]
            for top in range(0, picture.shape[0], height + 1)
            for left in range(0, picture.shape[1], width + 1)
        ]
    )[:n_images]


def gains(net, layer):
    """What units gain from the lowest to the highest value of each column.

    Exact for the lowest layer, by coding both; further up by products of weights.
    """
    coding = net.coding_
    low, high = (
        np.where(coding.kind == "thermometer", end, limit)
        for end, limit in ((-np.inf, coding.low), (np.inf, coding.high))
    )
    ends = np.array([np.where(np.eye(len(low)) > 0, high, low), [low] * len(low)])
    change = np.subtract(*(coding.encode(rows) for rows in ends))
    for weights in net.weights_[: layer + 1]:
        change = change @ weights.T
    return change.T


def test_filters_of_bits_are_the_weights(given):
    display = FiltersDisplay.from_estimator(given, (8, 8))
    expected = given.weights_[0].reshape(7, 8, 8)
    assert_array_equal(display.filters, expected)
    assert_allclose(drawn_images(display, 7, (8, 8)), expected)


@pytest.mark.parametrize("layer", [1, -1])
def test_filters_of_higher_layers_are_sums_of_those_below(layer, given):
    display = FiltersDisplay.from_estimator(given, layer=layer)
    expected = given.weights_[1] @ given.weights_[0]
    assert_allclose(display.filters.reshape(5, 64), expected)


def test_filters_of_coded_columns_are_gains(mixed):
    assert_array_equal(mixed.coding_.n_units, [7, 7, 0, 1, 1, 3])
    display = FiltersDisplay.from_estimator(mixed, (2, 3))
    assert_allclose(display.filters.reshape(4, 6), gains(mixed, 0), atol=1e-6)
    assert np.all(display.filters.reshape(4, 6)[:, 2] == 0)


def test_filters_are_of_the_units_asked_for_in_their_order(given):
    display = FiltersDisplay.from_estimator(given, units=[4, 0, -1])
    assert_array_equal(display.filters.reshape(3, 64), given.weights_[0][[4, 0, -1]])


def test_colors_of_filters_are_even_about_zero(given):
    display = FiltersDisplay.from_estimator(given)
    low, high = display.image_.get_clim()
    assert low == -high
    assert np.mean(np.abs(display.filters) <= high) == pytest.approx(0.995, abs=3e-3)
    given_style = FiltersDisplay.from_estimator(given, cmap="gray", vmin=-1, vmax=2)
    assert given_style.image_.get_clim() == (-1, 2)
    assert given_style.image_.get_cmap().name == "gray"


def test_filters_of_nothing_but_zeros_can_be_drawn():
    display = FiltersDisplay(np.zeros((3, 2, 2))).plot()
    assert display.image_.get_clim() == (-1, 1)


@pytest.mark.parametrize(
    ("n_images", "shape", "size"),
    [(1, (8, 8), (8, 8)), (7, (8, 8), (26, 26)), (4, (2, 8), (11, 8))],
)
def test_images_stand_in_a_square_apart(n_images, shape, size):
    images = np.random.default_rng(0).random((n_images, *shape))
    display = SamplesDisplay(images).plot()
    picture = display.image_.get_array()
    assert picture.shape == size
    assert np.isfinite(picture.filled(np.nan)).sum() == images.size
    assert_array_equal(drawn_images(display, n_images, shape), images)


def test_samples_are_those_of_the_estimator(given):
    display = SamplesDisplay.from_estimator(
        given, n_samples=6, n_steps=20, random_state=3
    )
    expected = given.sample(6, 20, random_state=3).reshape(6, 8, 8)
    assert_array_equal(display.samples, expected)
    assert_array_equal(drawn_images(display, 6, (8, 8)), expected)


def test_samples_as_probabilities_are_reconstructions(given):
    options = {"n_samples": 6, "n_steps": 20, "random_state": 3}
    display = SamplesDisplay.from_estimator(given, probabilities=True, **options)
    samples = given.sample(6, 20, random_state=3)
    expected = given.inverse_transform(given.transform(samples)).reshape(6, 8, 8)
    assert_allclose(display.samples, expected, atol=1e-5)


@pytest.mark.parametrize("display", [FiltersDisplay, SamplesDisplay])
def test_categories_are_no_pixels(display, bits):
    X = pd.DataFrame({"n": bits[:40, 0], "t": ["a", "b"] * 20})
    net = EnergyNetTransformer(None, 2, n_final_epochs=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="column t holds categories: fit"):
        display.from_estimator(net, (1, 2))


@pytest.mark.parametrize("kind", ["thermometer", "probability"])
def test_samples_of_named_columns_come_without_warnings(kind, bits):
    X = pd.DataFrame(bits[:, 20:32]).rename(columns=str)
    net = EnergyNetTransformer(
        None, 3, coding=kind, n_final_epochs=2, random_state=0
    ).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SamplesDisplay.from_estimator(net, (3, 4), n_samples=4, probabilities=True)


@pytest.mark.parametrize("display", [FiltersDisplay, SamplesDisplay])
@pytest.mark.parametrize(
    "shape", [(8, 7), (64,), 64, (4, 4, 4), (8.0, 8.0), (-8, -8), ("8", "8")]
)
def test_shape_that_does_not_fit_is_refused(display, shape, given):
    with pytest.raises(ValueError, match=r"shape=.*image of 64 pixels"):
        display.from_estimator(given, shape)


@pytest.mark.parametrize("display", [FiltersDisplay, SamplesDisplay])
def test_shape_is_asked_for_where_there_is_no_square(display, mixed):
    with pytest.raises(ValueError, match=r"6 columns do not make a square.*shape="):
        display.from_estimator(mixed)


@pytest.mark.parametrize("layer", [2, -3, "all", 0.0, True])
def test_layer_that_is_not_there_is_refused(layer, given):
    with pytest.raises(ValueError, match=r"layer=.*from -2 to 1"):
        FiltersDisplay.from_estimator(given, layer=layer)


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ([7], "units has 7, which must be from -7 to 6"),
        ([-8, 0], "units has -8"),
        ([], "at least one"),
        ([0.5], "numbers of units"),
        ([True] * 7, "numbers of units"),
        (3, "list of numbers"),
    ],
)
def test_units_that_are_not_there_are_refused(units, message, given):
    with pytest.raises(ValueError, match=message):
        FiltersDisplay.from_estimator(given, units=units)


def test_numbers_that_are_no_images_are_refused():
    with pytest.raises(ValueError, match=r"filters must have the shape.*\(3, 4\)"):
        FiltersDisplay(np.ones((3, 4))).plot()
    with pytest.raises(ValueError, match="samples contains NaN"):
        SamplesDisplay(np.full((1, 2, 2), np.nan)).plot()


def test_number_of_samples_is_checked(given):
    with pytest.raises(ValueError, match="n_samples"):
        SamplesDisplay.from_estimator(given, n_samples=0)
