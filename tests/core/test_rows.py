"""Distinct rows and signs, against NumPy's own answers."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmohn._core import _rows


@pytest.mark.parametrize("n_columns", [1, 3, 8, 9, 70])
@pytest.mark.parametrize("dtype", [np.int8, float])
def test_distinct_rows_of_signs_are_in_order(n_columns, dtype, replace_constants):
    replace_constants(_rows, max_values=40)
    rng = np.random.default_rng(n_columns)
    distinct = rng.choice(np.array([-1, 1], dtype=dtype), (20, n_columns))
    # Rows whose last bytes are zeros, too.
    distinct[:3] = -1
    table = distinct[rng.integers(20, size=60)]
    first, place = _rows.distinct_rows(table)
    rows, at, of = np.unique(table, axis=0, return_index=True, return_inverse=True)
    assert_array_equal(first, at)
    assert_array_equal(place, of)
    assert_array_equal(table[first][place], table)
    assert len(first) == len(rows)


@pytest.mark.parametrize("n_alike", [0, 63, 64, 200])
def test_rows_of_wide_tables_are_told_apart_by_few_columns(n_alike, monkeypatch):
    rng = np.random.default_rng(n_alike)
    table = rng.integers(-1, 2, (30, 300)).astype(float)
    # The last row has the first columns of another one.
    table[-1, :n_alike] = table[4, :n_alike]
    expected = np.unique(table, axis=0, return_index=True, return_inverse=True)
    widths, unique = [], np.unique
    monkeypatch.setattr(
        _rows.np, "unique", lambda t, **k: widths.append(t.shape[1]) or unique(t, **k)
    )
    first, place = _rows.distinct_rows(table)
    assert_array_equal(first, expected[1])
    assert_array_equal(place, expected[2])
    assert widths == ([64] if n_alike < 64 else [64, 300])


def test_bytes_that_are_no_signs_stay_apart():
    table = np.array([[0, 3], [0, 5], [-1, -2], [0, 3]], dtype=np.int8)
    first, place = _rows.distinct_rows(table)
    assert_array_equal(first, [2, 0, 1])
    assert_array_equal(place, [1, 2, 0, 1])
    assert not _rows.are_signs(table)


@pytest.mark.parametrize("dtype", [np.int8, np.float32, float])
def test_distinct_rows_are_counted(dtype):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, (60, 4)).astype(dtype)
    for part in (table, table[:, ::2], table[:1]):
        expected = len({tuple(row) for row in part.tolist()})
        assert _rows.n_distinct_rows(part) == expected


def test_no_columns_are_one_row():
    first, place = _rows.distinct_rows(np.empty((3, 0)))
    assert_array_equal(first, [0])
    assert_array_equal(place, [0, 0, 0])


def test_one_value_makes_signs_numbers(replace_constants):
    replace_constants(_rows, max_values=10)
    table = np.ones((40, 5))
    assert _rows.are_signs(table)
    table[39, 4] = np.nan
    assert not _rows.are_signs(table)
