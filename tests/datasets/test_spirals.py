"""The two spirals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn.datasets import make_two_spirals


def test_points_of_the_benchmark():
    """As the original program lists them, to the digits it prints."""
    spirals = make_two_spirals()
    assert_allclose(spirals.X[0], [0.0, 6.5], atol=1e-12)
    assert_allclose(spirals.X[1], [1.25589, 6.31380], atol=1e-5)
    assert_allclose(spirals.X[96], [0.0, 0.5], atol=1e-12)
    assert_array_equal(spirals.X[97:], -spirals.X[:97])
    assert_array_equal(spirals.y, np.repeat([1, 0], 97))
    for bunch, alone in zip(
        (spirals.X, spirals.y), make_two_spirals(return_X_y=True), strict=True
    ):
        assert_array_equal(bunch, alone)


@pytest.mark.parametrize("n_samples", [2, 7, 300])
def test_numbers_of_points(n_samples):
    spirals = make_two_spirals(n_samples)
    assert spirals.X.shape == (n_samples, 2)
    assert spirals.y.sum() == n_samples - n_samples // 2


def test_noise():
    exact = make_two_spirals(1000).X
    first, again, other = (
        make_two_spirals(1000, noise=0.3, random_state=seed).X for seed in (0, 0, 1)
    )
    assert (first - exact).std() == pytest.approx(0.3, rel=0.1)
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(("parameter", "value"), [("n_samples", 1), ("noise", -1.0)])
def test_impossible_parameters(parameter, value):
    with pytest.raises(ValueError, match=parameter):
        make_two_spirals(**{parameter: value})
