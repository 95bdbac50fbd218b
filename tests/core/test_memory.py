"""Limits of memory, of the machine and of control groups."""

import os

import numpy as np
import pytest
from scipy.sparse import csr_array
from support import traced_memory

from skmohn import BLMClassifier, BLMRegressor, EnergyNetTransformer, MOHNRegressor
from skmohn._core import _memory
from skmohn._core._validation import require_memory

PHYSICAL = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


@pytest.fixture
def groups(monkeypatch, tmp_path):
    """Write files of control groups; the process is in those that are told."""
    own = tmp_path / "own"
    monkeypatch.setattr(_memory, "_GROUPS", tmp_path / "fs" / "groups")
    monkeypatch.setattr(_memory, "_OWN_GROUPS", own)

    def write(member, files):
        own.write_text(member)
        for name, text in files.items():
            path = tmp_path / "fs" / "groups" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


@pytest.mark.parametrize(
    ("member", "files", "limit"),
    [
        ("0::/\n", {"memory.max": "1000000\n"}, 1e6),
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "5000\n"}, 5e3),
        ("0::/a/b\n", {"a/b/memory.max": "300\n", "a/memory.max": "5000\n"}, 300),
        ("0::/seen/from/outside\n", {"memory.max": "700\n"}, 700),
        (
            "5:cpu,memory:/job\n1:name=systemd:/x\n",
            {"memory/job/memory.limit_in_bytes": "800\n", "memory.max": "1\n"},
            800,
        ),
        ("0::/a:b\n", {"a:b/memory.max": "300\n", "memory.max": "5000\n"}, 300),
        (
            "4:cpu:/job\n3:memory:/job\n0::/\n",
            {"memory/job/memory.limit_in_bytes": "800\n"},
            800,
        ),
        # Files of other file systems, above those of groups, are none of them.
        ("0::/a\n", {"../memory.max": "1\n", "../../memory.max": "1\n"}, PHYSICAL),
        ("0::/\n", {"memory.max": "max\n"}, PHYSICAL),
        ("0::/\n", {"memory.max": "9223372036854771712\n"}, PHYSICAL),
        ("3:cpu:/job\n", {"memory.max": "1\n"}, PHYSICAL),
    ],
)
def test_limit_is_the_least_of_all(groups, member, files, limit):
    groups(member, files)
    assert _memory.memory_limit() == limit


def test_systems_without_groups(groups, monkeypatch):
    assert _memory.memory_limit() == PHYSICAL
    monkeypatch.delattr(os, "sysconf")
    assert _memory.memory_limit() == float("inf")


def test_what_there_is_room_for_is_granted(groups):
    require_memory(1e3, "a thimble", "drink it")
    groups("0::/\n", {"memory.max": "1000000\n"})
    require_memory(9e5, "a cup", "drink it")


def test_what_there_is_no_room_for_is_refused_with_the_figure(groups):
    with pytest.raises(MemoryError) as caught:
        require_memory(2.0**60, "The model", "use fewer weights")
    message = str(caught.value)
    assert "The model needs 1,073,741,824.0 GiB of memory" in message
    assert f"this process may use only {PHYSICAL / 2**30:,.1f} GiB" in message
    assert message.endswith("use fewer weights")
    groups("0::/\n", {"memory.max": "1000000\n"})
    with pytest.raises(MemoryError, match="a bucket needs"):
        require_memory(2e6, "a bucket", "drink less")


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [
        (0, "0 bytes"),
        (1023, "1,023 bytes"),
        (1024, "1.0 KiB"),
        (1.5 * 2**20, "1.5 MiB"),
        (2.0**41, "2,048.0 GiB"),
        (float("inf"), "inf GiB"),
    ],
)
def test_sizes_are_said_in_a_fitting_unit(n_bytes, words):
    assert _memory.format_bytes(n_bytes) == words


@pytest.mark.parametrize(
    "kind", [BLMClassifier, BLMRegressor, EnergyNetTransformer, MOHNRegressor]
)
def test_sparse_table_that_is_too_large_when_dense(kind):
    huge = csr_array(([1.0], ([0], [0])), shape=(2_000_000, 4_000_000))
    y = np.arange(2_000_000) % 2
    with traced_memory() as peak:
        with pytest.raises(MemoryError, match=r"2000000 x 4000000.*select columns"):
            kind().fit(huge, y)
        assert peak() < 200e6
