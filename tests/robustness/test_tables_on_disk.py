"""Tables on disk are read some rows at a time, within a limit of memory."""

import subprocess
import sys

import numpy as np
import pytest

# As floats they take 160 MB.
N_ROWS, N_COLUMNS, MEGABYTES = 100_000, 200, 100
_READ = """
import resource, sys
import numpy as np
from skmohn import BLMClassifier, BLMRegressor, EnergyNetTransformer

path, n_rows, n_columns, megabytes = sys.argv[1:5]
n_rows, n_columns, megabytes = int(n_rows), int(n_columns), int(megabytes)
X = np.random.default_rng(0).integers(0, 2, (60, n_columns)).astype(np.int8)
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
for made in sys.argv[5:]:
    make, _, method = made.rpartition(".")
    read = getattr(eval(make).fit(X, X[:, 0]), method)
    read(X)
    table = np.memmap(path, np.int8, "r", shape=(n_rows, n_columns))
    status = open("/proc/self/status").read()
    used = 1024 * int(status.split("VmSize:")[1].split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 10**6, hard))
    try:
        print(len(read(table)))
    except MemoryError:
        print("too much memory for", made)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    del table
"""
ENERGY_NET = "EnergyNetTransformer(n_components=2)"


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_rows_are_read_in_a_hundred_megabytes(tmp_path):
    """In one process, which takes longer to start than to read."""
    path = tmp_path / "table"
    with path.open("wb") as file:
        file.truncate(N_ROWS * N_COLUMNS)
    reads = [
        "BLMClassifier((3,), max_flips=10).predict",
        "BLMRegressor((3,), max_flips=10).predict",
        f"{ENERGY_NET}.transform",
        f"{ENERGY_NET}.score_samples",
    ]
    numbers = map(str, (N_ROWS, N_COLUMNS, MEGABYTES))
    command = [sys.executable, "-W", "ignore", "-c", _READ, path, *numbers, *reads]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.stdout.split("\n")[:-1] == [str(N_ROWS)] * 4, found.stderr


class LazyFrame:
    """Table of which no row is computed yet."""

    def collect_schema(self):
        return {}

    def collect(self):
        return np.zeros((3, 2))


@pytest.mark.parametrize("name", ["MOHNRegressor", "BLMRegressor", "EnergyNetImputer"])
def test_what_is_still_to_be_computed_is_refused(name):
    import skmohn

    y = np.arange(3.0)
    with pytest.raises(TypeError, match=r"LazyFrame.*pass its \.collect\(\)"):
        getattr(skmohn, name)().fit(LazyFrame(), y)
