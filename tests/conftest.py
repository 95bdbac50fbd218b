"""What every test may use."""

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import settings

import skmohn

ROOT = Path(__file__).resolve().parents[1]

# The first call of a compiled function takes seconds, so examples have no deadline.
# On a server the examples are always the same ones: a failure there can be repeated.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

# numba's cache folder is not safe for two processes that compile the same function
# at the same moment, so each process of `pytest -n` has its own.
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".pytest_cache" / "numba" / worker)


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


def pytest_configure():
    """Drop compiled kernels that are older than any kernel's source.

    Numba looks at the file of a function, not at those of the functions that it calls:
    tests would go on with what has been edited since.
    """
    package = Path(skmohn.__file__).parent
    newest = max(path.stat().st_mtime for path in package.rglob("*_kernels.py"))
    caches = package, ROOT / ".pytest_cache" / "numba"
    for compiled in (path for cache in caches for path in cache.rglob("*.nb[ci]")):
        # Another process of a parallel run may have been faster.
        with contextlib.suppress(FileNotFoundError):
            if compiled.stat().st_mtime < newest:
                compiled.unlink()
