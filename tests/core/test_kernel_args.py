"""How kernels take arrays and numbers by one address."""

import copy
import pickle
import sys
from dataclasses import dataclass, make_dataclass
from types import GenericAlias
from typing import Annotated, Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from skmohn._core import _kernel_args
from skmohn._core._kernel_args import Borrowable, borrower_of
from skmohn._core._numba import jit

COUNTERS = np.dtype([("wide", np.bool_), ("calls", np.int64), ("total", np.float64)])


@dataclass(frozen=True, eq=False)
class Pair(Borrowable):
    """Two arrays, numbers, and a record of some."""

    numbers: NDArray[np.float64]
    table: NDArray[np.int8]
    n_columns: int
    counters: Annotated[np.recarray, COUNTERS]
    scale: np.float32
    shift: float = 0.0


_pair_at = borrower_of(Pair)


@jit
def add_row(pair, row):
    """Add a row of the table to the numbers."""
    pair = _pair_at(pair)
    for i in range(pair.n_columns):
        pair.numbers[i] += pair.scale * pair.table[row * pair.n_columns + i]
    pair.numbers[0] += pair.shift
    pair.counters.calls += 1
    pair.counters.total += pair.shift
    pair.counters.wide = pair.n_columns > 2
    return pair.numbers[0]


def new_counters():
    counters = np.recarray(1, COUNTERS)
    counters.fill(0)
    return counters


def new_pair(numbers=None, shift=0.0):
    numbers = np.zeros(3) if numbers is None else numbers
    return Pair(numbers, np.arange(6, dtype=np.int8), 3, new_counters(), 0.5, shift)


def test_what_is_borrowed_is_the_callers():
    pair = new_pair(shift=0.25)
    arrays = [pair.numbers, pair.table, pair.counters]
    n_references = [sys.getrefcount(array) for array in arrays]
    for times in range(1, 50):
        assert add_row(pair.address, 1) == times * 1.75
    assert [sys.getrefcount(array) for array in arrays] == n_references
    assert pair.numbers.tolist() == [49 * 1.75, 49 * 2.0, 49 * 2.5]
    assert pair.counters.tolist() == [(True, 49, 49 * 0.25)]


def test_nothing_need_be_compiled(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    monkeypatch.setitem(globals(), "_pair_at", borrower_of(Pair))
    pair = new_pair(shift=0.25)
    assert jit(add_row.py_func)(pair.address, 1) == 1.75
    assert pair.numbers.tolist() == [1.75, 2.0, 2.5]
    assert pair.counters.tolist() == [(True, 1, 0.25)]


def test_kernels_see_what_python_does():
    """Numbers of all widths, where C would place them, between pointers and records."""
    counted = np.dtype([("flag", np.int8), ("n", np.int16), ("mean", np.float64)])

    @dataclass
    class Mixed(Borrowable):
        small: np.int8
        words: NDArray[np.uint16]
        half: np.float32
        counters: Annotated[np.recarray, counted]
        last: np.int16
        wide: float
        n: int

    mixed_at = borrower_of(Mixed)

    @jit(is_cached=False)
    def read(address, numbers):
        mixed = mixed_at(address)
        numbers[0] = mixed.small
        numbers[1] = mixed.words[1]
        numbers[2] = mixed.half
        numbers[3] = mixed.counters.n
        numbers[4] = mixed.last
        numbers[5] = mixed.wide
        numbers[6] = mixed.n
        mixed.words[0] = 7
        mixed.counters.flag = -1
        mixed.counters.mean = 0.75

    counters = np.array([(3, -300, 0.5)], counted).view(np.recarray)
    words = np.array([60000, 50000], dtype=np.uint16)
    mixed = Mixed(-5, words, 0.5, counters, -400, 1e300, 2**40)
    numbers = np.empty(7)
    read(mixed.address, numbers)
    assert numbers.tolist() == [-5, 50000, 0.5, -300, -400, 1e300, 2**40]
    assert words.tolist() == [7, 50000]
    assert counters.tolist() == [(-1, -300, 0.75)]


@pytest.mark.parametrize(
    "wrong", [np.zeros(3, dtype=np.float32), np.zeros(6)[::2], np.zeros((3, 2)).T]
)
def test_only_arrays_of_the_type_that_was_promised_have_addresses(wrong):
    with pytest.raises(TypeError, match="numbers must be a C-contiguous array of flo"):
        _ = new_pair(wrong).address


@pytest.mark.parametrize("kind", [np.int8, np.uint32, np.float64])
@pytest.mark.parametrize(
    "alias",
    [
        lambda kind: NDArray[kind],
        # As numpy before 2.5, and since then, make the alias.
        lambda kind: np.ndarray[Any, np.dtype[kind]],
        lambda kind: GenericAlias(NDArray, (kind,)),
    ],
    ids=["here", "ndarray", "alias"],
)
def test_declared_types_are_read_of_every_numpy(alias, kind):
    declared = make_dataclass("Declared", [("numbers", alias(kind)), ("n", int)])
    fields, _ = _kernel_args._declared(declared)
    assert fields == (
        ("numbers", np.dtype(kind), False),
        ("n", np.dtype(np.int64), True),
    )


def test_copies_have_addresses_of_their_own():
    pair = new_pair()
    untouched = pickle.dumps(pair)
    add_row(pair.address, 1)
    pair.numbers[:] = 0.0
    pair.counters.fill(0)
    assert pickle.dumps(pair) == untouched
    for other in (copy.deepcopy(pair), pickle.loads(untouched)):
        assert add_row(other.address, 1) == 1.5
        assert other.counters.calls[0] == 1
    assert pair.numbers[0] == pair.counters.calls[0] == 0


def test_what_can_not_be_written_to_can_be_read():
    pair = new_pair()
    pair.table.flags.writeable = False
    assert add_row(pair.address, 1) == 1.5
