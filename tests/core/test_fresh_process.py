"""What a new process finds: one is started, and asked about all of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import importlib, json, pkgutil, sys
import skmohn

names = [m.name for m in pkgutil.walk_packages(skmohn.__path__, "skmohn.")]
# Kernels without an underscore are called from Python or by their address; what they
# call comes with them.
kernels = {
    f"{name}.{kernel}": compiled
    for name in names
    if name.endswith("kernels")
    for kernel, compiled in vars(importlib.import_module(name)).items()
    if hasattr(compiled, "signatures") and not kernel.startswith("_")
}
compiled_by_import = [name for name, kernel in kernels.items() if kernel.signatures]
loaded = list(sys.modules)
skmohn.warm_up()
never_compiled = [name for name, kernel in kernels.items() if not kernel.signatures]
from skmohn._core._numba import can_look_up

# Pairs are compared by tables or by counts of bits, as the machine can.
walsh = "skmohn.mohn._design"
lookup = [name for name in kernels if name.startswith(f"{walsh}.lookup_kernels.")]
lookup += [f"{walsh}.product_kernels.packed_scores"]
lookup += [f"{walsh}.plane_kernels.plane_scores"]
counting = [f"{walsh}.product_kernels.packed_pairs"]
counting += [f"{walsh}.plane_kernels.plane_pairs"]
needless = counting if can_look_up() else lookup
never_compiled = sorted(set(never_compiled) ^ set(needless))
print(json.dumps([list(kernels), loaded, compiled_by_import, never_compiled]))
"""


@pytest.fixture(scope="module")
def found():
    """Kernels, modules of an import, and kernels that it compiled or nobody did."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_import_loads_no_library_that_is_optional(found):
    _, loaded, _, _ = found
    assert {"skmohn.inspection", "skmohn.integrations"} <= set(loaded)
    optional = {"matplotlib", "dimod", "networkx", "gymnasium"}
    assert optional.isdisjoint(loaded)


def test_import_compiles_nothing_and_warm_up_everything(found):
    kernels, _, compiled_by_import, never_compiled = found
    assert len(kernels) > 50
    assert not compiled_by_import
    assert not never_compiled
