"""What every test may use."""

import contextlib
import dataclasses
import importlib
import os
import re
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from packaging.version import Version
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]

# The first call of a compiled function takes seconds, so examples have no deadline.
# On a server the examples are always the same ones: a failure there can be repeated.
# Where one takes long, a test names its fraction of the number given here.
settings.register_profile("local", deadline=None, max_examples=50)
ci = {"deadline": None, "derandomize": True, "print_blob": True}
settings.register_profile("ci", max_examples=50, **ci)
settings.register_profile("nightly", max_examples=100, **ci)
settings.load_profile("ci" if os.environ.get("CI") else "local")


class ReadmeFolder:
    """Have README's code, which is beside this folder, write its files elsewhere."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        """Run the code of README in a folder of its own."""
        if item.path != ROOT / "README.md":
            return (yield)
        with TemporaryDirectory() as folder, contextlib.chdir(folder):
            return (yield)


def pytest_configure(config):
    """Give each process one thread; compile for all in the one that starts the others.

    The matrices of tests are small: threads of BLAS would get into each other's way,
    and into that of the other processes of `pytest -n`. Loaded first are the libraries
    that bring threads, each its own. Kernels that are not cached yet would be compiled
    by every process that needs them: two compile all, no kernel twice.
    """
    config.pluginmanager.register(ReadmeFolder())
    config.addinivalue_line(
        "markers", "needs_sklearn(version, what): something that came with a version"
    )
    config.addinivalue_line(
        "markers", "slow_cases(names): a pattern of the cases of a test that are slow"
    )
    if not config.getoption("numprocesses", default=None):
        for library in ("scipy.linalg", "sklearn.utils"):
            importlib.import_module(library)
        threadpool_limits(1)
    elif not config.option.collectonly and not os.environ.get("NUMBA_DISABLE_JIT"):
        warm_up = importlib.import_module("skmohn._warm_up")
        with ProcessPoolExecutor(2) as processes:
            list(processes.map(warm_up.compile_family, warm_up.FAMILIES))


@pytest.hookimpl(tryfirst=True)  # before those marked as slow are left out
def pytest_collection_modifyitems(items):
    """Mark cases as slow; skip what this scikit-learn does not have yet."""
    mark_slow_cases(items)
    installed = version("scikit-learn")
    for item in items:
        for needed in item.iter_markers("needs_sklearn"):
            first, what = needed.args
            if Version(installed) < Version(first):
                reason = f"{what} came with scikit-learn {first}, this is {installed}"
                item.add_marker(pytest.mark.skip(reason=reason))


def mark_slow_cases(items):
    """Mark as slow each case whose name the pattern of its test matches as a whole."""
    cases = defaultdict(list)
    for item in items:
        if mark := item.get_closest_marker("slow_cases"):
            is_slow = re.fullmatch(*mark.args, item.callspec.id) is not None
            cases[item.nodeid.partition("[")[0]].append(is_slow)
            if is_slow:
                item.add_marker("slow")
    for test, are_slow in cases.items():
        # One case may have been asked for by its name.
        if len(are_slow) > 1 and len(set(are_slow)) == 1:
            which = "every case is" if are_slow[0] else "no case is"
            raise pytest.UsageError(f"{test}: {which} slow")


def pytest_addoption(parser):
    """Options of the search for inputs that break something, `make fuzz`."""
    group = parser.getgroup("fuzz")
    group.addoption(
        "--fuzz-seconds", type=float, default=0.0, help="time for all of tests/fuzz"
    )
    group.addoption(
        "--fuzz-examples", type=int, default=0, help="examples of each of its tests"
    )
    group.addoption(
        "--fuzz-seed", type=int, default=0, help="seed of the first examples"
    )


def pytest_ignore_collect(collection_path, config):
    """Leave tests/fuzz out, unless it is given time or a number of examples."""
    is_fuzz = collection_path == ROOT / "tests" / "fuzz"
    wanted = config.getoption("fuzz_seconds") or config.getoption("fuzz_examples")
    return True if is_fuzz and not wanted else None


@pytest.fixture(scope="session")
def real_data():
    """Folder of the real data sets, or a skip where there is none.

    The folder is named by the environment variable ``SKMOHN_DATA``; without it,
    ``../shared/data`` beside the repository is taken.
    """
    folder = Path(os.environ.get("SKMOHN_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is not a folder (set SKMOHN_DATA)")
    return folder


@pytest.fixture
def run_lines():
    """A function that runs another one up to a line, and returns the lines run.

    A keyboard interrupt arrives before the line number ``last``, if any. Lines of
    modules whose names start with ``within`` count.
    """

    def run(function, last=None, within="skmohn."):
        count = 0

        def trace(frame, event, _):
            nonlocal count
            if not frame.f_globals.get("__name__", "").startswith(within):
                return None
            if event == "line":
                count += 1
                if count == last:
                    raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            function()
        finally:
            sys.settrace(before)
        return count

    return run


@pytest.fixture
def replace_constants(monkeypatch):
    """A function that replaces fields of the constants that a module uses, by name.

    The module is given itself or by its name; the constants are the one dataclass among
    its attributes that has these fields. Other modules that use it keep theirs.
    """

    def replace_constants(module, *, patch=monkeypatch, **values):
        if isinstance(module, str):
            module = importlib.import_module(module)
        [(name, constants)] = [
            (name, found)
            for name, found in vars(module).items()
            if type(found).__name__.endswith("Constants")
            and all(hasattr(found, field) for field in values)
        ]
        patch.setattr(module, name, dataclasses.replace(constants, **values))

    return replace_constants


@pytest.fixture
def hide(monkeypatch):
    """A call from which on it is as if a package were not installed."""
    hidden = set()

    class Missing:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name.partition(".")[0] in hidden:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Missing, *sys.meta_path])

    def hide(package):
        hidden.add(package)
        for name in list(sys.modules):
            if name.partition(".")[0] == package:
                monkeypatch.delitem(sys.modules, name)

    return hide
