"""What the first call in a fresh process costs, and the import.

Each measurement is a new process that has imported scikit-learn. Printed are medians of
the seconds that the first MOHNRegressor().fit takes on a small problem, with an empty
cache of compiled kernels and with a filled one, and that `import skmohn` takes, alone
and with the first look at skmohn.MOHNRegressor, which imports all the rest.
"""

import os
import subprocess
import sys
import tempfile
from statistics import median

import _common as common

PROBLEM = """
import numpy as np, sklearn.linear_model
rng = np.random.default_rng(0)
X = rng.choice([-1.0, 1.0], (300, 20))
y = X[:, 0] + X[:, 1] * X[:, 2] - 2 * X[:, 3] * X[:, 4] * X[:, 5]
"""
FIT = "from skmohn import MOHNRegressor; MOHNRegressor().fit(X, y)"
SKLEARN = "import sklearn.linear_model"
# Name, statement, what comes before it, seconds aimed at. The order matters: the first
# row fills the cache of the second.
ROWS = (
    ("first fit, empty cache", FIT, PROBLEM, 8.0),
    ("first fit, filled cache", FIT, PROBLEM, 1.5),
    ("import skmohn", "import skmohn", SKLEARN, 0.3),
    ("... and MOHNRegressor", "from skmohn import MOHNRegressor", SKLEARN, 0.3),
)


def seconds_of(statement, before, cache):
    """Return the seconds a statement takes in a new interpreter."""
    code = f"""{before}
from time import {common.clock.__name__} as clock
start = clock()
{statement}
print(clock() - start)
"""
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(answer.stdout)


def main():
    """Print one row for each measurement."""
    options = common.parse_options(__doc__, instances=5, quick_instances=2)
    seconds = {row: [] for row in ROWS}
    for _ in range(options.instances):
        with tempfile.TemporaryDirectory() as cache:
            for row in ROWS:
                seconds[row].append(seconds_of(*row[1:3], cache))
    table = common.Table("Fresh processes", "what repeats median max aim")
    for (name, _, _, aim), values in seconds.items():
        middle = median(values)
        table.row(name, options.instances, middle, max(values), aim, met=middle <= aim)
    table.close()


if __name__ == "__main__":
    main()
