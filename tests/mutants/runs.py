"""Tests, run on a module that has an error, in children of a process that is warm."""

import atexit
import contextlib
import functools
import gc
import importlib.util
import io
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import types
from collections import defaultdict

import numba
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor

# A child is given several times what the tests take without an error.
PATIENCE = 5.0
LEAST_SECONDS = 20.0
MOST_BYTES = 6e9
# Their threads are not in a child, which would wait for them for ever.
WITH_THREADS = {"polars"}
# What numpy says of infinities and of integers that go round.
LOUD = np.geterr()
QUIET = dict.fromkeys(LOUD, "ignore")
OPTIONS = [
    "-q", "-x", "-o", "addopts=", "--import-mode=importlib", "-p", "no:cacheprovider",
    "-p", "no:xdist", "-m", "not slow",
]  # fmt: skip


class Watch:
    """A plugin of pytest: which lines of a file each test comes by, and its time."""

    def __init__(self, path):
        self.path = str(path)
        self.lines = defaultdict(set)
        self.seconds = defaultdict(float)
        self.failed = []
        self.with_threads = set()
        self._test = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Watch a test, with what is made for it."""
        self._test = item.nodeid
        self.lines[self._test] = set()
        start = time.process_time()
        threading.settrace(self._call)
        sys.settrace(self._call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            self.seconds[item.nodeid] += time.process_time() - start

    def pytest_runtest_logreport(self, report):
        """Remember what fails without any error of ours."""
        if report.failed:
            self.failed.append(report.nodeid)

    def _call(self, frame, event, argument):
        if frame.f_globals.get("__name__", "").partition(".")[0] in WITH_THREADS:
            self.with_threads.add(self._test)
        if frame.f_code.co_filename == self.path:
            return self._line(frame, event, argument)
        return None

    def _line(self, frame, event, argument):
        self.lines[self._test].add(frame.f_lineno)
        return self._line


class Only:
    """A plugin of pytest: some tests alone, the fastest first."""

    def __init__(self, seconds):
        self.seconds = seconds

    def pytest_collection_modifyitems(self, items):
        """Leave the others out."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self.seconds),
            key=lambda item: self.seconds[item.nodeid],
        )


class ModuleWithError:
    """A finder of modules that hands out one of them with an error."""

    def __init__(self, name, path, tree):
        self.name = name
        self.path = str(path)
        self.tree = tree

    def find_spec(self, name, path=None, target=None):
        """Say that the module is here."""
        if name != self.name:
            return None
        return importlib.util.spec_from_loader(name, self, origin=self.path)

    def create_module(self, spec):
        """Have it made as usual."""

    def exec_module(self, module):
        """Fill it."""
        module.__file__ = self.path
        exec(compile(self.tree, self.path, "exec"), vars(module))


def exchange(module, code, constants):
    """Give the functions of a module, and some constants, what other code has there.

    The functions stay the same ones, wherever they are held.
    """
    codes, left = {}, [code]
    while left:
        for part in left.pop().co_consts:
            if isinstance(part, types.CodeType):
                codes[part.co_qualname, part.co_firstlineno] = part
                left.append(part)
    for found in gc.get_objects():
        if isinstance(found, types.FunctionType):
            old = found.__code__
            if old.co_filename == code.co_filename:
                found.__code__ = codes[old.co_qualname, old.co_firstlineno]
        elif isinstance(found, functools._lru_cache_wrapper) and is_ours(found):
            found.cache_clear()
    if constants:
        others = {"__name__": module.__name__, "__file__": module.__file__}
        exec(code, others)
        vars(module).update((name, others[name]) for name in constants)


class Runs:
    """The tests of one module.

    Parameters
    ----------
    path : Path
        Of the module, inside the package.

    tests : list of Path
        Of the tests.
    """

    def __init__(self, path, tests):
        self.path = path
        package = next(p for p in path.parents if not (p / "__init__.py").exists())
        self.name = ".".join(path.relative_to(package).with_suffix("").parts)
        self.is_kernel = self.name.endswith("_kernels")
        if "_core" in path.parts and "numba" in path.read_text(encoding="utf-8"):
            # What compiles with an error must not leave its code to later processes.
            numba.config.CACHE_DIR = tempfile.mkdtemp()
            atexit.register(shutil.rmtree, numba.config.CACHE_DIR)
        os.environ["CI"] = "true"  # the same examples every time
        forget(compiled=True)
        # As plain functions kernels can be watched, and changed at no cost.
        numba.config.DISABLE_JIT = self.is_kernel
        # Compiled ones never say it.
        np.seterr(**QUIET if self.is_kernel else LOUD)
        self.watch = Watch(path)
        with quiet():
            pytest.main([*OPTIONS[:1], *OPTIONS[2:], *map(str, tests)], [self.watch])
        if self.watch.failed:
            sys.exit(f"fail without any error: {', '.join(self.watch.failed)}")

        # Children would wait in vain for the workers of this process.
        get_reusable_executor().shutdown(wait=True)

    def survivors(self, mutants, slowest):
        """Yield those that no test fails on, and why, if none comes by.

        Tests that take more seconds than `slowest` are left out.
        """
        for mutant in mutants:
            seconds = {
                test: self.watch.seconds[test]
                for test, seen in self.watch.lines.items()
                # What is done on import is not seen.
                if (mutant.on_import or seen & mutant.lines)
                and self.watch.seconds[test] <= slowest
                and test not in self.watch.with_threads
            }
            if not seconds:
                yield mutant, "  (no test comes by)"
            elif self._survives(mutant, seconds):
                yield mutant, ""

    def _survives(self, mutant, seconds):
        child = os.fork()
        if not child:
            status = 1
            try:
                status = self._run(mutant, seconds)
            finally:
                os._exit(status)
        status = os.waitpid(child, 0)[1]
        if status == pytest.ExitCode.NO_TESTS_COLLECTED << 8:
            sys.exit(f"no test was run for {mutant.where}: {mutant.change}")
        return status == 0

    def _run(self, mutant, seconds):
        """Run tests in this process, which ends with it; 0 if none has failed."""
        limit = int(PATIENCE * sum(seconds.values()) + LEAST_SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        resource.setrlimit(resource.RLIMIT_AS, (int(MOST_BYTES), int(MOST_BYTES)))
        # Should it wait for ever, which takes no processor time.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10 * limit)
        if mutant.on_import:
            forget(compiled=self.is_kernel or self.name in kernels_and_compiler())
            sys.meta_path.insert(0, ModuleWithError(self.name, self.path, mutant.tree))
        else:
            code = compile(mutant.tree, self.path, "exec")
            exchange(sys.modules[self.name], code, mutant.constants)
        files = sorted({test.partition("::")[0] for test in seconds})
        with quiet():
            return int(pytest.main([*OPTIONS, *files], [Only(seconds)]))


@contextlib.contextmanager
def quiet():
    """Print nothing."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


# Modules that hold what is compiled, and what it is told apart by.
KEPT = "_kernels", "_numba", "_kernel_args"


def forget(compiled):
    """Forget the package and its tests, so that they are imported again.

    Unless `compiled`, kernels are kept, with all that is compiled of them.
    """
    kept = set() if compiled else kernels_and_compiler()
    for name, module in list(sys.modules.items()):
        if is_ours(module) and name not in kept:
            del sys.modules[name]


def kernels_and_compiler():
    """Names of the loaded kernels, and of the modules of ours that they import from."""
    left = [name for name in sys.modules if name.endswith("_kernels")]
    found = set()
    while left:
        found.add(name := left.pop())
        values = vars(sys.modules[name]).values()
        names = {getattr(value, "__module__", None) for value in values}
        left += [
            n for n in names - found if n in sys.modules and n.startswith("skmohn.")
        ]
    return found


def is_ours(thing):
    """Whether a module or a function is of the package or of its tests."""
    name = getattr(thing, "__module__", None) or thing.__name__
    return name.partition(".")[0] in ("skmohn", "tests", "conftest")
