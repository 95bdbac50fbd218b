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

path, make, method, n_rows, n_columns, megabytes = sys.argv[1:]
n_rows, n_columns, megabytes = int(n_rows), int(n_columns), int(megabytes)
X = np.random.default_rng(0).integers(0, 2, (60, n_columns)).astype(np.int8)
model = eval(make).fit(X, X[:, 0])
read = getattr(model, method)
read(X)
table = np.memmap(path, np.int8, "r", shape=(n_rows, n_columns))
status = open("/proc/self/status").read()
used = 1024 * int(status.split("VmSize:")[1].split()[0])
resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 10**6,) * 2)
print(len(read(table)))
"""
ENERGY_NET = "EnergyNetTransformer(n_components=2)"


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
@pytest.mark.parametrize(
    ("make", "method"),
    [
        ("BLMClassifier((3,), max_flips=10)", "predict"),
        ("BLMRegressor((3,), max_flips=10)", "predict"),
        (ENERGY_NET, "transform"),
        (ENERGY_NET, "score_samples"),
    ],
)
def test_rows_are_read_in_a_hundred_megabytes(tmp_path, make, method):
    path = tmp_path / "table"
    with path.open("wb") as file:
        file.truncate(N_ROWS * N_COLUMNS)
    numbers = map(str, (N_ROWS, N_COLUMNS, MEGABYTES))
    command = [sys.executable, "-W", "ignore", "-c", _READ, path, make, method]
    found = subprocess.run(
        [*command, *numbers], capture_output=True, text=True, check=False
    )
    assert found.stdout.strip() == str(N_ROWS), found.stderr


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
