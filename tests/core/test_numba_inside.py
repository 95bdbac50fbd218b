"""Fits do not depend on numba's inside: each name that is read of it may go."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core.caching import FunctionCache

from skmohn._core import _numba

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

# Names that `_core/_numba.py` imports of modules, and attributes that it reads.
IMPORTS = {
    "FunctionCache": "numba.core.caching",
    "dumps": "numba.core.serialize",
    "cpu_target": "numba.core.registry",
}
ATTRIBUTES = {
    "_cache": "numba.core.dispatcher.Dispatcher",
    "_cache_file": "numba.core.caching.Cache",
    "_impl": "numba.core.caching.Cache",
    "cache_path": "numba.core.caching.Cache",
    "codegen": "numba.core.cpu.CPUContext",
    "filename_base": "numba.core.caching.CacheImpl",
    "fndesc": "numba.core.compiler.CompileResult",
    "get_call_template": "numba.core.dispatcher.Dispatcher",
    "get_pointer_to_function": "numba.core.codegen.JITCodeLibrary",
    "library": "numba.core.compiler.CompileResult",
    "llvm_cfunc_wrapper_name": "numba.core.funcdesc.FunctionDescriptor",
    "magic_tuple": "numba.core.codegen.JITCPUCodegen",
    "overloads": "numba.core.dispatcher.Dispatcher",
    "target_context": "numba.core.descriptors.TargetDescriptor",
}

# Calls by address and AVX2: without these no kernel is compiled anew.
FAST = ["library", "target_context"]

# Each name is hidden in a process of its own, and from that file alone: numba itself
# needs it. A fork has what takes long to import.
FITS = """
import builtins, importlib, json, os, sys, warnings
import numpy as np, scipy.linalg, scipy.stats, sklearn.linear_model, numba
import numba.core.serialize

READER = "skmohn._core._numba"


def hide_import(name, module):
    original = builtins.__import__

    def look(imported, globals=None, locals=None, names=(), level=0):
        if imported == module and (globals or {}).get("__name__") == READER:
            raise ImportError(f"cannot import name {name!r} from {module!r}")
        return original(imported, globals, locals, names, level)

    builtins.__import__ = look


def hide_attribute(name, owner):
    module, _, owner = owner.rpartition(".")
    owner = getattr(importlib.import_module(module), owner)
    original = owner.__getattribute__

    def look(self, read):
        if read == name and sys._getframe(1).f_globals.get("__name__") == READER:
            raise AttributeError(f"{owner.__name__!r} has no attribute {name!r}")
        return original(self, read)

    owner.__getattribute__ = look


def fit():
    from skmohn.blm import BLMClassifier, BLMRegressor
    from skmohn.energynet import EnergyNetTransformer
    from skmohn.mohn import MOHNRegressor

    X = 1.0 - 2.0 * ((np.arange(16)[:, None] >> np.arange(4)) & 1)
    y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2]
    own = BLMRegressor(
        (2,), max_flips=50, loss=lambda t, o: (t - o) ** 2, random_state=0
    )
    yield MOHNRegressor("full", max_order=2).fit(X, y).predict(X)
    yield BLMClassifier((2,), max_flips=50, random_state=0).fit(X, y > 0).coefs_[0]
    yield own.fit(X, y).predict(X)
    few = {"n_final_epochs": 1, "n_temperatures": 10, "random_state": 0}
    yield EnergyNetTransformer(None, [3], **few).fit(X).transform(X)
    from skmohn._core._numba import can_look_up

    can_look_up()


imports, attributes = map(json.loads, sys.argv[1:3])
for name in sys.argv[3:]:
    if os.fork():
        os.wait()
        continue
    if name in imports:
        hide_import(name, imports[name])
    elif name in attributes:
        hide_attribute(name, attributes[name])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = [np.asarray(part, float).ravel().tolist() for part in fit()]
    messages = [str(w.message) for w in caught]
    messages = [message for message in messages if "differs internally" in message]
    print(json.dumps([name, found, messages]), flush=True)
    os._exit(0)
"""


def fits_without(names, **settings):
    """What fits find and the warnings, by the name that is hidden; "": none."""
    settings |= {
        "PYTHONPATH": str(ROOT),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            FITS,
            json.dumps(IMPORTS),
            json.dumps(ATTRIBUTES),
            "",
            *names,
        ],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    found = {name: rest for name, *rest in map(json.loads, done.stdout.splitlines())}
    assert set(found) == {"", *names}, done.stderr
    return found


@pytest.mark.slow_cases("few")
@pytest.mark.parametrize(
    "names",
    [FAST, pytest.param([*IMPORTS, *ATTRIBUTES], marks=pytest.mark.slow)],
    ids=["few", "all"],
)
def test_fits_need_no_name_of_numbas_inside(names, tmp_path):
    # What others have compiled is not what is compiled without a name.
    own = {} if names is FAST else {"NUMBA_CACHE_DIR": str(tmp_path)}
    fits = fits_without(names, **own)
    expected, silence = fits.pop("")
    assert silence == []
    for name, (found, messages) in fits.items():
        # Once in a process, whatever is missing.
        (message,) = messages
        assert message.startswith(f"numba {numba.__version__} differs internally")
        assert name in message
        assert "Install a newer skmohn" in message
        # Where bits are counted instead, numbers may be added in another order.
        for one, other in zip(found, expected, strict=True):
            assert one == pytest.approx(other, rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize("method", ["load_overload", "save_overload"])
def test_kernels_need_neither_loading_nor_saving(method, monkeypatch, tmp_path):
    def fail(self, *variant):
        raise TypeError(f"{method} takes other arguments")

    monkeypatch.setattr(FunctionCache, method, fail)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_numba, "_changes", [])
    with pytest.warns(RuntimeWarning, match=method) as caught:
        assert [_numba.jit(add_one)(x) for x in (4, 4.5)] == [5, 5.5]
    assert len(caught) == 1


def test_kernels_are_cached_by_numba_where_its_cache_is_another(monkeypatch, tmp_path):
    def fail(function):
        raise AttributeError("no cache_path")

    monkeypatch.setattr(_numba, "_Cache", fail)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_numba, "_changes", [])
    with pytest.warns(RuntimeWarning, match="cache_path") as caught:
        kernel = _numba.jit(add_one)
    assert len(caught) == 1
    assert type(kernel._cache) is FunctionCache


def add_one(x):
    return x + 1


def test_every_import_of_numbas_inside_is_hidden_here():
    text = Path(_numba.__file__).read_text(encoding="utf-8")
    assert text.count("from numba.core") == len(IMPORTS)
