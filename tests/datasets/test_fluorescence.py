"""Brightness of the variants of a fluorescent protein."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from benchmarks.shared import common
from skmohn.datasets import load_fluorescence

N_SITES = 13


def test_each_variant_is_there_once() -> None:
    protein = load_fluorescence()
    assert protein.X.shape == (2**N_SITES, N_SITES)
    assert set(np.unique(protein.X)) == {0, 1}
    assert len(np.unique(protein.X, axis=0)) == len(protein.X)
    assert protein.y.dtype == np.float64
    assert len(set(protein.feature_names)) == N_SITES
    for ours, same in zip(
        (protein.X, protein.y), load_fluorescence(return_X_y=True), strict=True
    ):
        np.testing.assert_array_equal(ours, same)


def test_frames_have_the_same_values_and_names() -> None:
    pd = pytest.importorskip("pandas")
    protein, framed = load_fluorescence(), load_fluorescence(as_frame=True)
    assert framed.X.columns.tolist() == protein.feature_names
    assert framed.y.name == "brightness"
    np.testing.assert_array_equal(framed.X, protein.X)
    np.testing.assert_array_equal(framed.y, protein.y)
    pd.testing.assert_frame_equal(framed.frame, framed.X.assign(brightness=framed.y))
    X, y = load_fluorescence(return_X_y=True, as_frame=True)
    pd.testing.assert_frame_equal(X, framed.X)
    pd.testing.assert_series_equal(y, framed.y)
    assert "frame" not in protein


def test_variance_of_each_order_is_that_of_least_squares() -> None:
    # R2 of least squares on all products up to an order, of the table as it was read.
    X, y = load_fluorescence(return_X_y=True)
    squares = np.square(hadamard(len(y)) @ (y - y.mean()) / len(y))
    orders = X.sum(axis=1)
    explained = [squares[orders <= order].sum() / y.var() for order in (1, 2, 3)]
    np.testing.assert_allclose(explained, [0.137, 0.873, 0.937], atol=5e-4)


def test_it_is_the_table_from_which_it_was_made() -> None:
    path = common.data_folder() / "poelwijk2019_fluorescence.csv"
    if not path.exists():
        pytest.skip("the table is not there")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    X, y = load_fluorescence(return_X_y=True)
    np.testing.assert_array_equal(X, table[:, :-1])
    np.testing.assert_allclose(y, table[:, -1], rtol=1e-7)


@pytest.mark.parametrize("name", ["return_X_y", "as_frame"])
def test_a_flag_is_needed(name) -> None:
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        load_fluorescence(**{name: "yes"})  # pyright: ignore[reportArgumentType]
