"""The one decorator of kernels, its cache and how kernels take what they need."""

import copy
import gc
import pickle
import runpy
import shutil
import sys
from dataclasses import dataclass, make_dataclass
from types import GenericAlias
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.compiler import Flags
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from skmohn._core import _jit
from skmohn._core._jit import (
    CACHE_VARIABLE,
    Borrowable,
    borrower_of,
    int64s,
    jit,
    reader_of,
)

# A kernel in a file of its own, so that its cache folder is beside that file.
KERNEL = """
from skmohn._core._jit import jit

@jit
def double(x):
    return 2 * x

assert double(4) == 8
"""


@pytest.fixture
def run_kernel(tmp_path, monkeypatch):
    """Run the kernel as a process with an environment would; return its cache."""

    def run(**environment):
        script = tmp_path / "kernel.py"
        script.write_text(KERNEL)
        monkeypatch.delenv(CACHE_VARIABLE, raising=False)
        # Numba reads it once.
        folder = environment.pop("NUMBA_CACHE_DIR", "")
        monkeypatch.setattr(numba.config, "CACHE_DIR", folder)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return type(runpy.run_path(str(script))["double"]._cache).__name__

    return run


def cache_files(tmp_path):
    return list(tmp_path.rglob("*.nbc"))


def test_kernels_are_cached_on_disk(run_kernel, tmp_path):
    assert run_kernel(NUMBA_CACHE_DIR=str(tmp_path / "cache")) == "_Cache"
    assert cache_files(tmp_path)


def test_switch_turns_the_cache_off(run_kernel, tmp_path):
    folder = str(tmp_path / "cache")
    kind = run_kernel(NUMBA_CACHE_DIR=folder, **{CACHE_VARIABLE: "0"})
    assert kind == "NullCache"
    assert not cache_files(tmp_path)


def test_unwritable_folders_fall_back_to_no_cache(run_kernel, tmp_path):
    # A path below a file can be made by nobody, not even by root.
    blocker = tmp_path / "file"
    blocker.write_text("")
    (tmp_path / "__pycache__").write_text("")
    nowhere = str(blocker / "folder")
    kind = run_kernel(HOME=nowhere, XDG_CACHE_HOME=nowhere, LOCALAPPDATA=nowhere)
    assert kind == "NullCache"
    assert not cache_files(tmp_path)


def test_variants_saved_by_several_processes_are_told_apart(tmp_path):
    ours, theirs = (_jit._CacheFiles([tmp_path], "double", "source") for _ in range(2))
    keys = [(kind, "machine", "bytecode") for kind in ("int", "float")]
    # Both have seen an empty folder: numba's own files would both be number 1.
    assert [files.load(key) for files in (ours, theirs) for key in keys] == [None] * 4
    ours.save(keys[0], "code for int")
    theirs.save(keys[1], "code for float")
    for files in (ours, theirs):
        assert [files.load(key) for key in keys] == ["code for int", "code for float"]


def test_what_an_older_source_gave_is_neither_loaded_nor_kept(tmp_path):
    key = "int", "machine", "bytecode"
    old, new = (_jit._CacheFiles([tmp_path], "double", source) for source in (1, 2))
    old.save(key, "old code")
    assert new.load(key) is None
    assert old.load((*key[:2], "other bytecode")) is None
    new.save(key, "new code")
    assert (old.load(key), new.load(key)) == (None, "new code")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("n_bytes", [0, 5, 20, -1])
def test_a_damaged_file_counts_as_never_saved(n_bytes, tmp_path):
    key, files = (
        ("int", "machine", "bytecode"),
        _jit._CacheFiles([tmp_path], "double", 1),
    )
    files.save(key, "code")
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:n_bytes])
    assert files.load(key) is None
    files.save(key, "code")
    assert files.load(key) == "code"


def test_a_folder_that_may_only_be_read_serves_too(tmp_path):
    folders = [tmp_path / name for name in ("mine", "theirs")]
    for folder in folders:
        folder.mkdir()
    key = "int", "machine", "bytecode"
    _jit._CacheFiles(folders[1:], "double", "source").save(key, "code")
    files = _jit._CacheFiles(folders, "double", "source")
    assert files.load(key) == "code"
    files.save(key, "other code")
    assert files.load(key) == "other code"
    assert [len(list(folder.iterdir())) for folder in folders] == [1, 1]


def test_an_edit_of_any_kernel_of_the_folder_counts(tmp_path):
    # Numba looks at the file of a function alone, not at those of what it calls.
    (tmp_path / "_search_kernels.py").write_text("")
    before = _jit._stamps.__wrapped__(tmp_path)
    (tmp_path / "_search_kernels.py").write_text("# Edited.")
    assert _jit._stamps.__wrapped__(tmp_path) != before


def add_one(x):
    return x + 1


def test_a_cache_that_cannot_be_written_any_more_costs_nothing_else(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    kernel = jit(add_one)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("A file where the folder was.")
    assert kernel(4) == 5
    assert not cache_files(tmp_path)


def test_numba_may_be_switched_off_to_debug(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert jit(cache_files) is cache_files
    assert jit(fastmath=True)(cache_files) is cache_files


def test_kernels_called_by_kernels_have_one_variant_for_all_integers(monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, "0")
    inner = jit(add_one)

    @jit
    def outer(numbers):
        total = inner(0)
        for number in numbers:
            total += inner(number)
        return inner(total)

    largest = np.array([2**32 - 1], np.uint32)
    assert outer(largest) == outer(largest.astype(np.int64)) == 2**32 + 2
    assert inner.signatures == [(numba.int64,)]


def test_options_compare_as_those_of_numba_do():
    kinds = (Flags, _jit._Flags)
    for first in kinds:
        for second in kinds:
            one, other = first(), second()
            assert one == other
            assert hash(one) == hash(other)
            # At its default, but set.
            one.fastmath = other.options["fastmath"].default
            assert one == other
            one.nrt = True
            assert one != other
            assert hash(one) == hash(other)
            other.nrt = True
            assert one == other
    changed = one.copy()
    changed.forceinline = True
    assert type(changed) is _jit._Flags
    assert changed != one
    assert one != "options"


def test_tests_have_one_thread_each():
    assert {library["num_threads"] for library in threadpool_info()} == {1}


@pytest.mark.parametrize("options", [{}, {"fastmath": True}])
def test_options_reach_numba(options, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, "0")

    def half(x):
        return x / 0.0

    kernel = jit(half) if not options else jit(**options)(half)
    assert kernel.targetoptions["nogil"]
    assert kernel.targetoptions["error_model"] == "numpy"
    assert kernel.targetoptions.get("fastmath", False) == options.get("fastmath", False)
    if not options:
        assert kernel(1.0) == np.inf


@dataclass(frozen=True)
class Pair(Borrowable):
    """Two arrays and a number."""

    numbers: NDArray[np.float64]
    table: NDArray[np.int8]
    n_columns: int


_pair_at = borrower_of(Pair)


@jit
def add_row(pair, row):
    """Add a row of the table to the numbers."""
    pair = _pair_at(pair)
    for i in range(pair.n_columns):
        pair.numbers[i] += pair.table[row * pair.n_columns + i]
    return pair.numbers[0]


def test_borrowed_arrays_are_those_of_the_caller():
    pair = Pair(np.zeros(3), np.arange(6, dtype=np.int8), 3)
    arrays = [pair.numbers, pair.table]
    n_references = [sys.getrefcount(array) for array in arrays]
    for times in range(1, 50):
        assert add_row(pair.addresses, 1) == times * 3
    assert [sys.getrefcount(array) for array in arrays] == n_references
    assert pair.numbers.tolist() == [49 * 3, 49 * 4, 49 * 5]


@pytest.mark.parametrize(
    "wrong", [np.zeros(3, dtype=np.float32), np.zeros(6)[::2], np.zeros((3, 2)).T]
)
def test_only_arrays_of_the_type_that_was_promised_have_addresses(wrong):
    with pytest.raises(TypeError, match="numbers must be a C-contiguous array of flo"):
        _ = Pair(wrong, np.arange(6, dtype=np.int8), 3).addresses


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
    assert _jit._declared(declared) == (("numbers", np.dtype(kind)), ("n", None))


def test_copies_have_addresses_of_their_own():
    pair = Pair(np.zeros(3), np.arange(6, dtype=np.int8), 3)
    untouched = pickle.dumps(pair)
    add_row(pair.addresses, 1)
    pair.numbers[:] = 0.0
    assert pickle.dumps(pair) == untouched
    for other in (copy.deepcopy(pair), pickle.loads(untouched)):
        assert add_row(other.addresses, 1) == 3.0
    assert pair.numbers[0] == 0.0


def test_what_can_not_be_written_to_can_be_read():
    table = np.arange(6, dtype=np.int8)
    table.flags.writeable = False
    assert add_row(Pair(np.zeros(3), table, 3).addresses, 1) == 3.0


@jit
def _halve(x):
    return x / 2


@jit
def quarter(x):
    return _halve(_halve(x))


def test_kernels_for_other_kernels_are_stored_with_those_that_call_them():
    assert quarter(4.0) == 1.0
    assert quarter.stats.cache_path is not None
    assert _halve.stats.cache_path is None


def test_inner_kernels_that_reorder_sums_are_part_of_those_that_call_them():
    # A call could end up in the kernel as it is by itself, though only before it was
    # loaded from the disk: sums would not be the same to the last digit.
    def _inner(x):
        return x + x

    assert jit(_inner, fastmath=True).targetoptions["forceinline"]
    assert not jit(_inner).targetoptions["forceinline"]
    assert not jit(sum_in_room, fastmath=True).targetoptions["forceinline"]


def sum_in_room(x):
    room = np.empty(1)
    room[0] = x
    return room[0]


def test_only_kernels_that_say_so_make_arrays(monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, "0")
    assert jit(allocates=True)(sum_in_room)(2.0) == 2.0
    with pytest.raises(numba.core.errors.NumbaError, match="array passed"):
        jit(sum_in_room)(2.0)


@pytest.mark.parametrize("on", [True, False])
def test_collector_of_garbage_is_left_as_it_was(on):
    def fail(x):
        return x.nothing

    was_on = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        assert jit(lambda x: x + 1)(1) == 2
        assert gc.isenabled() == on
        with pytest.raises(numba.TypingError):
            jit(fail)(1)
        assert gc.isenabled() == on
    finally:
        (gc.enable if was_on else gc.disable)()


RECORD = np.dtype([("total", np.float64), ("numbers", np.int64), ("n", np.int64)])
record_at = reader_of(RECORD)


@jit
def add_numbers(address):
    """Add numbers that a record knows the address of."""
    record = record_at(address)
    for k in range(record.n):
        record.total += int64s(record.numbers)[k]


@pytest.mark.parametrize("compiled", [True, False])
def test_records_and_arrays_are_read_by_their_address(compiled, monkeypatch):
    add = add_numbers
    if not compiled:
        monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
        add = add_numbers.py_func
        monkeypatch.setitem(add.__globals__, "record_at", reader_of(RECORD))
        monkeypatch.setitem(add.__globals__, "int64s", reader_of(np.int64))
    numbers = np.arange(5)
    record = np.array([(0.5, numbers.ctypes.data, 5)], dtype=RECORD)
    add(record.ctypes.data)
    assert record["total"][0] == 10.5
