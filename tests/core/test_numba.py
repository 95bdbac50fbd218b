"""The one decorator of kernels, its cache, and calls by address."""

import os
import runpy
import shutil
from pathlib import Path

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info

from skmohn._core import _numba
from skmohn._core._numba import (
    CACHE_VARIABLE,
    TABLES_AT_ONCE,
    add_found,
    address_of,
    call_address,
    can_look_up,
    jit,
)

# A kernel in a file of its own, so that its cache folder is beside that file.
KERNEL = """
from skmohn._core._numba import jit

@jit
def double(x):
    return 2 * x

assert double(4) == 8
"""


@pytest.fixture
def run_kernel(tmp_path, monkeypatch):
    """Run the kernel as a process with an environment would; return its cache."""

    def run(more="", **environment):
        script = tmp_path / "kernel.py"
        script.write_text(KERNEL + more)
        _numba._stamp.cache_clear()  # as in a new process
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
    ours, theirs = (
        _numba._CacheFiles([tmp_path], "double", "source") for _ in range(2)
    )
    keys = [(kind, "machine", "bytecode") for kind in ("int", "float")]
    # Both have seen an empty folder: numba's own files would both be number 1.
    assert [files.load(key) for files in (ours, theirs) for key in keys] == [None] * 4
    ours.save(keys[0], "code for int")
    theirs.save(keys[1], "code for float")
    for files in (ours, theirs):
        assert [files.load(key) for key in keys] == ["code for int", "code for float"]


def test_what_an_older_source_gave_is_neither_loaded_nor_kept(tmp_path):
    key = "int", "machine", "bytecode"
    old, new = (_numba._CacheFiles([tmp_path], "double", source) for source in (1, 2))
    old.save(key, "old code")
    assert new.load(key) is None
    assert old.load((*key[:2], "other bytecode")) is None
    new.save(key, "new code")
    assert (old.load(key), new.load(key)) == (None, "new code")
    assert len(list(tmp_path.iterdir())) == 1


KEY = "int", "machine", "bytecode"


@pytest.fixture
def saved(tmp_path):
    """Files of a kernel, with a variant in them, and the path of that."""
    files = _numba._CacheFiles([tmp_path], "double", "source")
    files.save(KEY, {"code": bytes(300), "names": ["a", "b"]})
    (path,) = tmp_path.iterdir()
    return files, path


def is_never_saved_and_replaced(files, path):
    assert files.load(KEY) is None
    files.save(KEY, "new code")
    assert files.load(KEY) == "new code"
    return True


@pytest.mark.parametrize("n_bytes", [0, 5, 20, 31, 32, 33, -1])
def test_what_is_left_of_a_file_counts_as_never_saved(n_bytes, saved):
    files, path = saved
    path.write_bytes(path.read_bytes()[:n_bytes])
    assert is_never_saved_and_replaced(files, path)


def test_any_flipped_bit_counts_as_never_saved(saved, monkeypatch):
    files, path = saved
    whole = path.read_bytes()
    # What is damaged is not even unpickled: that may call anything.
    monkeypatch.setattr(_numba.pickle, "loads", pytest.fail)
    # The digest, and of the rest each bit somewhere: it is one number of all bytes.
    digest = range(_numba._DIGEST_SIZE)
    bits = [(place, bit) for place in digest for bit in range(8)]
    bits += [(place, place % 8) for place in range(len(digest), len(whole), 5)]
    for place, bit in bits:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        assert files.load(KEY) is None
    monkeypatch.undo()
    assert is_never_saved_and_replaced(files, path)


@pytest.mark.parametrize("more", [b"\0", b"more" * 1000])
def test_what_is_appended_counts_as_damage(more, saved):
    files, path = saved
    path.write_bytes(path.read_bytes() + more)
    assert is_never_saved_and_replaced(files, path)


def test_random_bytes_count_as_never_saved(saved):
    files, path = saved
    rng = np.random.default_rng(0)
    for n_bytes in rng.integers(0, 1000, 100):
        path.write_bytes(rng.bytes(n_bytes))
        assert files.load(KEY) is None
    assert is_never_saved_and_replaced(files, path)


def test_a_file_of_another_name_counts_as_never_saved(saved):
    files, path = saved
    other = "float", *KEY[1:]
    path.rename(path.with_name(files._file_name(other)))
    assert files.load(KEY) is None
    assert files.load(other) is None


@pytest.mark.parametrize(
    ("version", "source"), [("0.1.2", "source"), (numba.__version__, "other source")]
)
def test_another_version_counts_as_never_saved(version, source, saved, monkeypatch):
    _, path = saved
    monkeypatch.setattr(numba, "__version__", version)
    files = _numba._CacheFiles([path.parent], "double", source)
    assert is_never_saved_and_replaced(files, path)


def test_a_folder_where_the_file_was_counts_as_never_saved(saved):
    files, path = saved
    path.unlink()
    path.mkdir()
    assert files.load(KEY) is None
    with pytest.raises(OSError, match=path.name):
        files.save(KEY, "code")
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError, OSError])
def test_what_may_not_be_read_counts_as_never_saved(error, saved, monkeypatch):
    def fail(path):
        raise error

    files, _ = saved
    monkeypatch.setattr(Path, "read_bytes", fail)
    assert files.load(KEY) is None


def test_a_folder_that_may_only_be_read_serves_too(tmp_path):
    folders = [tmp_path / name for name in ("mine", "theirs")]
    for folder in folders:
        folder.mkdir()
    key = "int", "machine", "bytecode"
    _numba._CacheFiles(folders[1:], "double", "source").save(key, "code")
    files = _numba._CacheFiles(folders, "double", "source")
    assert files.load(key) == "code"
    files.save(key, "other code")
    assert files.load(key) == "other code"
    assert [len(list(folder.iterdir())) for folder in folders] == [1, 1]


def test_an_edit_of_any_kernel_of_the_folder_counts(tmp_path):
    # Numba looks at the file of a function alone, not at those of what it calls.
    file, stamps = tmp_path / "_search_kernels.py", set()
    for text in ("x = 1", "x = 2", "y = 2"):
        file.write_text(text)
        # All files of a wheel may have the same time; here they have the same size.
        os.utime(file, (1e9, 1e9))
        stamps.add(_numba._stamp.__wrapped__(file))
    (tmp_path / "other_kernels.py").write_text("")
    stamps.add(_numba._stamp.__wrapped__(file))
    assert len(stamps) == 4
    (tmp_path / "estimator.py").write_text("")
    assert _numba._stamp.__wrapped__(file) in stamps


@pytest.mark.parametrize("name", ["_numba", "_kernel_args"])
def test_an_edit_of_what_makes_kernels_counts(name, tmp_path, monkeypatch):
    core = tmp_path / "core"
    core.mkdir()
    for other in ("_numba", "_kernel_args"):
        (core / f"{other}.py").write_text("x = 1")
    kernel = tmp_path / "_search_kernels.py"
    kernel.write_text("x = 1")
    monkeypatch.setattr(_numba, "__file__", str(core / "_numba.py"))
    before = _numba._stamp.__wrapped__(kernel)
    (core / f"{name}.py").write_text("x = 2")
    assert _numba._stamp.__wrapped__(kernel) != before


def test_an_edit_of_the_file_of_a_kernel_counts(run_kernel, tmp_path):
    folder = tmp_path / "cache"
    run_kernel(NUMBA_CACHE_DIR=str(folder))
    (file,) = cache_files(folder)
    before = file.read_bytes()
    run_kernel(NUMBA_CACHE_DIR=str(folder))
    assert file.read_bytes() == before
    run_kernel("# Edited.\n", NUMBA_CACHE_DIR=str(folder))
    assert cache_files(folder) == [file]
    assert file.read_bytes() != before


def add_one(x):
    return x + 1


def damage(path):
    code = bytearray(path.read_bytes())
    code[len(code) // 2] ^= 1
    path.write_bytes(code)


def is_root(path):
    """Whether what nobody may read can be read."""
    return path.stat().st_mode & 0o777 == 0 and os.access(path, os.R_OK)


def put_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "spoil",
    [
        damage,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:1000]),
        lambda path: path.chmod(0),
        put_folder,
    ],
    ids=["flip", "empty", "cut", "permissions", "folder"],
)
def test_a_damaged_cache_costs_a_user_nothing(spoil, tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    assert jit(add_one)(4) == 5
    (path,) = cache_files(tmp_path)
    spoil(path)
    kernel = jit(add_one)
    assert kernel(4) == 5
    # It was compiled again; root reads what nobody may.
    assert kernel.stats.cache_hits.total() == int(path.is_file() and is_root(path))
    if path.is_file():
        path.chmod(0o600)
        # And replaced, so that the next process need not. Its size may differ: numba
        # numbers what it compiles.
        kernel = jit(add_one)
        assert kernel(4) == 5
        assert kernel.stats.cache_hits.total() == 1


def test_a_cache_that_cannot_be_written_any_more_costs_nothing_else(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    kernel = jit(add_one)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("A file where the folder was.")
    assert kernel(4) == 5
    assert not cache_files(tmp_path)


@pytest.mark.parametrize("options", [{}, {"fastmath": True}])
def test_numba_may_be_switched_off_to_debug(options, monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    kernel = jit(add_one, **options)
    assert kernel.__wrapped__ is add_one
    # Silently, as compiled code.
    with np.errstate(all="raise"):
        assert kernel(np.uint64(2**64 - 1)) == 0


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
    assert not jit(add_one, fastmath=True).targetoptions["forceinline"]


# ---------------------------------------------------------------- calls by address

PRODUCT = numba.float64(numba.float64, numba.int64)


def product(x, n):
    """Multiply."""
    return x * n


@pytest.mark.parametrize("compiled", [True, False])
def test_functions_are_called_by_their_address(compiled, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, "0")
    call = call_address
    if not compiled:
        monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
        call = _numba._call_uncompiled

    kernel = jit(product, no_cfunc_wrapper=False)

    @jit
    def twice(address, x):
        return 2.0 * call(address, (x, 3))

    address = address_of(kernel, PRODUCT)
    assert address == address_of(kernel, PRODUCT)
    assert twice(address, 1.5) == 9.0


def test_functions_are_called_where_numbas_inside_has_changed(monkeypatch):
    monkeypatch.setattr(_numba, "_changes", [])
    kernel = jit(is_cached=False, no_cfunc_wrapper=False)(lambda x, n: x / n)
    monkeypatch.setattr(kernel, "compile", None)
    with pytest.warns(RuntimeWarning, match="numba .* differs internally") as told:
        address = address_of(kernel, PRODUCT)
    # Divided as kernels do it.
    call = jit(is_cached=False)(lambda place: call_address(place, (1.0, 0)))
    assert call(address) == np.inf
    # Once in a process.
    _numba._warn_of_change(LookupError("another"))
    assert len(told) == 1


# ------------------------------------------------------------------ tables of bytes


@pytest.mark.skipif(not can_look_up(), reason="this machine has no such instruction")
def test_tables_are_looked_up_as_numpy_does():
    @jit(is_cached=False)
    def add(tables, codes, sums):
        add_found(tables, n_before, codes, n_codes_before, sums)

    rng = np.random.default_rng(0)
    n_before, n_codes_before = 32, 64
    # Of each byte, half of it, table and value of four bits.
    tables = rng.integers(16, size=(8, 2, TABLES_AT_ONCE, 16), dtype=np.uint8)
    codes = rng.integers(256, size=(8, 64), dtype=np.uint8)
    sums = rng.integers(2**16, size=(TABLES_AT_ONCE, 2, 2, 16), dtype=np.uint16)
    expected = sums.copy()
    for table in range(TABLES_AT_ONCE):
        found = np.zeros(64, dtype=np.uint16)
        for of_byte, code in zip(tables[:, :, table], codes, strict=True):
            found += of_byte[0, code & 15]
            found += of_byte[1, code >> 4]
        even, odd = found.reshape(2, 16, 2).transpose(2, 0, 1)
        expected[table, :, 0] += even + 256 * odd
        expected[table, :, 1] += odd
    before = np.full(n_before, 99, dtype=np.uint8)
    codes_before = np.full(n_codes_before, 255, dtype=np.uint8)
    add(
        np.concatenate([before, tables.ravel()]),
        np.concatenate([codes_before, codes.ravel()]),
        sums,
    )
    assert_array_equal(sums, expected)
