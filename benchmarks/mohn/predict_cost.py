"""What predictions cost: many rows of wide tables, tables on disk, and single rows.

MOHNRegressor learns four terms of 3000 and of 10,000 bits. Printed are the microseconds
that a row takes in a table of bytes and in one of floats, and kilobytes of the pickle.
Aimed at are 0.5 us for bytes, 3 us for floats, all of which have to be finite, and 10
kB.

Then a table of 200,000 x 200 bytes is read from disk, in a fresh process for each
estimator. Printed are megabytes above those of the process before; aimed at are 100 and
the table.

Last come the median microseconds of a single row, of ten numbers, beside Ridge and a
random forest. Aimed at are 300.

BENCHMARK_CLOCK=cpu gives processor seconds.
"""

import pickle
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge

from benchmarks.shared import common, results
from skmohn import (
    BLMRegressor,
    EnergyNetRegressor,
    EnergyNetTransformer,
    GPOptions,
    MOHNClassifier,
    MOHNRegressor,
    MOHNTransformer,
)

TERMS = [(0, 1), (2,), (3,), (7,)]
WIDTHS = (3000, 10_000)
ROW_MICROSECONDS = {"int8": 0.5, "float64": 3.0}
KILOBYTES, MEGABYTES, MICROSECONDS = 10, 100, 300
N_WIDE, N_DISK, N_DISK_COLUMNS = 5000, 200_000, 200
ON_DISK = {
    "MOHN, terms": (MOHNRegressor(strategy="given", terms=TERMS), "predict"),
    "MOHN, gp": (
        MOHNRegressor(strategy="gp", gp_options=GPOptions(numeric="multilinear")),
        "predict",
    ),
    "BLM": (BLMRegressor((3,), max_flips=10), "predict"),
    "EnergyNet": (EnergyNetTransformer(n_components=2), "transform"),
}
SINGLE = {
    "MOHNRegressor": MOHNRegressor(random_state=0),
    "MOHNClassifier": MOHNClassifier(random_state=0),
    "pursuit": MOHNRegressor(strategy="pursuit", random_state=0),
    "MOHNTransformer": MOHNTransformer(random_state=0),
    "EnergyNetTransformer": EnergyNetTransformer(random_state=0),
    "EnergyNetRegressor": EnergyNetRegressor(random_state=0),
    "BLMRegressor": BLMRegressor((3,), max_flips=10, random_state=0),
    "Ridge": Ridge(),
    "forest": RandomForestRegressor(random_state=0),
}


def wide_tables(options):
    """Print a row for each width and type of numbers."""
    table = common.Table(
        f"Four terms of many bits, {N_WIDE} rows", "columns type us_a_row aim kB aim"
    )
    for n_columns in WIDTHS:
        rng = np.random.default_rng(options.seed)
        X = rng.integers(0, 2, (N_WIDE, n_columns), dtype=np.int8)
        signs = 2.0 * X[:600] - 1.0
        y = sum(signs[:, list(term)].prod(axis=1) for term in TERMS)
        model = MOHNRegressor(strategy="given", terms=TERMS).fit(X[:600], y)
        stored = len(pickle.dumps(model)) / 1e3
        for dtype, aim in ROW_MICROSECONDS.items():
            seconds, _ = common.timed(model.predict, X.astype(dtype), repeats=5)
            found = 1e6 * seconds / N_WIDE
            table.row(
                n_columns,
                dtype,
                f"{found:.2f}",
                aim if n_columns == WIDTHS[0] else None,
                f"{stored:.1f}",
                KILOBYTES,
                met=(found <= aim or n_columns > WIDTHS[0]) and stored <= KILOBYTES,
            )
    table.close()


def read_from_disk(name, path, n_rows):
    """Return the bytes that the process had at most before the table was read."""
    X = np.random.default_rng(0).integers(0, 2, (60, N_DISK_COLUMNS)).astype(np.int8)
    model, method = ON_DISK[name]
    model.fit(X, X[:, 0] + 1.0 * X[:, 1])
    read = getattr(model, method)
    read(X)
    before = common.peak_memory()
    read(np.memmap(path, np.int8, "r", shape=(n_rows, N_DISK_COLUMNS)))
    return before


def tables_on_disk(options):
    """Print a row for each estimator."""
    n_rows = N_DISK // 10 if options.quick else N_DISK
    table = common.Table(
        f"{n_rows} x {N_DISK_COLUMNS} bytes on disk", "estimator MB aim"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        with path.open("wb") as file:
            file.truncate(n_rows * N_DISK_COLUMNS)
        for name in ON_DISK:
            before, peak = common.in_fresh_process(read_from_disk, name, path, n_rows)
            found, aim = (
                (peak - before) / 1e6,
                MEGABYTES + n_rows * N_DISK_COLUMNS / 1e6,
            )
            table.row(name, f"{found:.0f}", f"{aim:.0f}", met=found <= aim)
    table.close()


def single_rows(options):
    """Print a row for each estimator."""
    X, y = make_friedman1(300, n_features=10, noise=1.0, random_state=options.seed)
    labels = y > np.median(y)
    table = common.Table("A single row", "estimator us aim")
    for name, model in SINGLE.items():
        common.timed_fit(model, X, labels if name == "MOHNClassifier" else y)
        read = getattr(model, "predict", None) or model.transform
        common.timed(read, X[:1], repeats=20)
        found = 1e6 * common.timed(read, X[:1], repeats=201)[0]
        aim = None if name in ("Ridge", "forest") else MICROSECONDS
        table.row(name, f"{found:.0f}", aim, met=aim is None or found <= aim)
    table.close()


def main():
    """Print the three tables."""
    options = common.parse_options(__doc__, instances=1, quick_instances=1)
    common.warm_up()
    wide_tables(options)
    tables_on_disk(options)
    single_rows(options)


if __name__ == "__main__":
    results.record(main)
