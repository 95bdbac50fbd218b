"""What is remembered of a table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from skmohn._core._validation import name_dtype

BITS = np.array([[0, 1], [1, 0]])


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64"])
def test_tables_of_one_dtype(dtype):
    X = BITS.astype(dtype)
    for table in (X, pd.DataFrame(X), pl.DataFrame(X), csr_array(X)):
        assert name_dtype(table) == dtype


class OnlyAnArray:
    """Converts to an array, and knows nothing else."""

    def __array__(self, dtype=None, copy=None):
        return BITS.astype(np.int16)


def test_whatever_converts_to_an_array():
    assert name_dtype(OnlyAnArray()) == "int16"


def test_lists():
    assert name_dtype(BITS.tolist()) == BITS.dtype.name
    assert name_dtype([[True, False]]) == "bool"


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [0, 1], "b": [True, False]}),
        pd.DataFrame({"a": [0, 1], "b": [0.5, 1.0]}),
        np.array([["1", "2"]], dtype=object),
    ],
    ids=["int and bool", "int and float", "object"],
)
def test_others_are_float64(table):
    assert name_dtype(table) == "float64"
