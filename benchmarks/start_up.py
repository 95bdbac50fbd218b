"""What the first call in a fresh process costs, and the import.

Each measurement is a new process that has imported scikit-learn; seconds are those of
the processor. Printed are medians: of `warm_up()` and the first fit of each family on a
small problem with an empty cache of compiled kernels, of the same fits with a filled
one, and of `import skmohn`, alone and with the first look at skmohn.MOHNRegressor,
which imports all the rest.
"""

import os
import subprocess
import sys
import tempfile
from statistics import median

from benchmarks.shared import common, results

PROBLEM = """
import numpy as np, sklearn.linear_model
rng = np.random.default_rng(0)
X = rng.choice([-1.0, 1.0], (300, 20))
y = X[:, 0] + X[:, 1] * X[:, 2] - 2 * X[:, 3] * X[:, 4] * X[:, 5]
"""
FITS = (
    ("MOHN", "from skmohn import MOHNRegressor as M; M().fit(X, y)"),
    ("BLM", "from skmohn import BLMClassifier as B; B(max_flips=1000).fit(X, y > 0)"),
    ("EnergyNet", "from skmohn import EnergyNetTransformer as E; E().fit(X > 0)"),
)
WARM_UP = "import skmohn; skmohn.warm_up()"
SKLEARN = "import sklearn.linear_model"
# Name, statement, what comes before it, seconds aimed at, and whether in a cache of its
# own. The order matters: the first row fills the cache of those that have none.
ROWS = (
    ("warm_up, empty cache", WARM_UP, SKLEARN, 20.0, False),
    *((f"{name}, empty cache", fit, PROBLEM, 5.0, True) for name, fit in FITS),
    *((f"{name}, filled cache", fit, PROBLEM, 1.5, False) for name, fit in FITS),
    ("import skmohn", "import skmohn", SKLEARN, 0.3, False),
    ("... and MOHNRegressor", "from skmohn import MOHNRegressor", SKLEARN, 0.3, False),
)


def seconds_of(statement, before, cache):
    """Return the seconds a statement takes in a new interpreter."""
    code = f"""{before}
from time import process_time as clock
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
    options = common.parse_options(__doc__, instances=3, quick_instances=1)
    seconds = {row: [] for row in ROWS}
    for _ in range(options.instances):
        with tempfile.TemporaryDirectory() as folder:
            for number, row in enumerate(ROWS):
                cache = f"{folder}/{number if row[-1] else 0}"
                seconds[row].append(seconds_of(*row[1:3], cache))
    table = common.Table("Fresh processes", "what repeats median max aim")
    for (name, _, _, aim, _), values in seconds.items():
        middle = median(values)
        table.row(name, options.instances, middle, max(values), aim, met=middle <= aim)
    table.close()


if __name__ == "__main__":
    results.record(main)
