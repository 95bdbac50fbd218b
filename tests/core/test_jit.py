"""The cache switch, in fresh processes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from skmohn._core._jit import CACHE_VARIABLE, borrow, jit

ROOT = Path(__file__).resolve().parents[2]

# A kernel in a file of its own, so that its cache folder is beside that file.
KERNEL = """
from skmohn._core._jit import jit

@jit
def double(x):
    return 2 * x

assert double(4) == 8
print(type(double._cache).__name__, double.stats.cache_path)
"""


def run_kernel(tmp_path, **environment):
    """Run the kernel in a new process; return the name of its cache and its folder."""
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NUMBA_CACHE_DIR", CACHE_VARIABLE)
    }
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**clean, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kind, _, folder = done.stdout.strip().partition(" ")
    return kind, folder


def cache_files(tmp_path):
    return list(tmp_path.rglob("*.nbi"))


def test_kernels_are_cached_on_disk(tmp_path):
    kind, _ = run_kernel(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert kind == "FunctionCache"
    assert cache_files(tmp_path)


def test_switch_turns_the_cache_off(tmp_path):
    kind, _ = run_kernel(
        tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"), **{CACHE_VARIABLE: "0"}
    )
    assert kind == "NullCache"
    assert not cache_files(tmp_path)


def test_unwritable_folders_fall_back_to_no_cache(tmp_path):
    # A path below a file can be made by nobody, not even by root.
    blocker = tmp_path / "file"
    blocker.write_text("")
    (tmp_path / "__pycache__").write_text("")
    nowhere = str(blocker / "folder")
    kind, _ = run_kernel(
        tmp_path, HOME=nowhere, XDG_CACHE_HOME=nowhere, LOCALAPPDATA=nowhere
    )
    assert kind == "NullCache"
    assert not cache_files(tmp_path)


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


WARM_UP = """
import skmohn
from skmohn.blm import _kernels as network_kernels, _policy_kernels as policies
from skmohn.datasets import _pendulum_kernels as pendulum
from skmohn.mohn import _kernels, _learning_kernels

kernels = {
    name: kernel
    for module in (_kernels, _learning_kernels, network_kernels, policies, pendulum)
    for name, kernel in vars(module).items()
    if hasattr(kernel, "signatures")
}
assert len(kernels) > 10
assert not any(kernel.signatures for kernel in kernels.values())
skmohn.warm_up()
print([name for name in ENTRIES if not kernels[name].signatures])
"""
# Those that are called from Python; what they call comes with them.
ENTRIES = [
    "packed_columns",
    "packed_gram",
    "packed_project",
    "packed_combine",
    "dense_columns",
    "screen_packed",
    "screen_order_packed",
    "screen_order_dense",
    "screen_dense",
    "mixture_posterior",
    "evaluate",
    "lasso_descent",
    "delta_epoch",
    "refresh",
    "run",
    "step",
    "initial_state",
    "simulate",
    "trace",
]


def test_import_compiles_nothing_and_warm_up_everything():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"ENTRIES = {ENTRIES}\n{WARM_UP}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


class Pair(NamedTuple):
    """Two arrays."""

    numbers: np.ndarray
    table: np.ndarray


@jit
def add_rows(pair):
    """Add the rows of the table to the numbers."""
    pair = borrow(pair)
    for row in pair.table:
        for i in range(len(row)):
            pair.numbers[i] += row[i]
    return pair.numbers.sum()


def test_borrowed_arrays_are_those_of_the_caller():
    pair = Pair(np.zeros(3), np.arange(6).reshape(2, 3))
    n_references = [sys.getrefcount(array) for array in pair]
    for times in range(1, 50):
        assert add_rows(pair) == times * 15
    assert [sys.getrefcount(array) for array in pair] == n_references
    assert pair.numbers.tolist() == [49 * 3, 49 * 5, 49 * 7]
