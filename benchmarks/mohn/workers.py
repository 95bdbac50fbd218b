"""A wide table by one thread, two threads, and two workers of a dask cluster.

20,000 columns of 1000 rows, made as in `wide.py`. Printed are wall seconds of a pass
over all pairs, for six residuals at once, and of a fit; how many times as fast both are
as with one thread; and whether what they found is the same, bit by bit. The workers are
processes of this machine with a thread each. The aim is 1.8 times as fast a pass: what
a fit does between passes is serial. Client and scheduler share the cores with dask's
workers here, which have machines of their own elsewhere. Needs distributed (optional)
for dask's row.
"""

import logging
import time
from contextlib import ExitStack
from importlib.util import find_spec

import numpy as np
from joblib import parallel_config

from benchmarks.mohn.wide import make
from benchmarks.shared import common, results
from skmohn import MOHNRegressor
from skmohn.mohn._design.design import make_design
from skmohn.mohn._design.pair_screening import best_pairs

SIZE, N_RESIDUALS, N_KEPT, N_WORKERS = (20_000, 1000), 6, 2**12, 2
SPEED_UP = 1.8
QUICK_SIZE = (1500, 1000)


def in_wall_seconds(function, *args, **kwargs):
    """Call a function; return wall seconds and its result."""
    start = time.perf_counter()
    result = function(*args, **kwargs)
    return time.perf_counter() - start, result


def run(how, size, seed):
    """Return wall seconds of a pass and a fit, and what they found."""
    X, y, _ = make(*size, seed)
    design = make_design(X)
    rng = np.random.default_rng(seed)
    residuals = rng.standard_normal((N_RESIDUALS, len(y)))
    n_jobs = None if how == "one thread" else N_WORKERS
    with ExitStack() as stack:
        if how == "two dask workers":
            from distributed import Client, LocalCluster

            cluster = LocalCluster(
                n_workers=N_WORKERS,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.ERROR,
            )
            stack.enter_context(cluster)
            stack.enter_context(Client(cluster))
            stack.enter_context(parallel_config(backend="dask"))
        # Kernels are read from disk, also by workers.
        best_pairs(design, residuals, N_KEPT, n_jobs=n_jobs)
        of_pass, kept = in_wall_seconds(
            best_pairs, design, residuals, N_KEPT, n_jobs=n_jobs
        )
        model = MOHNRegressor("pursuit", max_order=2, n_jobs=n_jobs, random_state=0)
        of_fit = in_wall_seconds(common.timed_fit, model, X, y)[0]
    found = [part.tobytes() for one in kept for part in (one.pairs, one.scores)]
    found += [model.weights_.tobytes(), model.terms_]
    return of_pass, of_fit, found


def main():
    """Print one row for each kind of workers."""
    options = common.parse_options(__doc__, instances=1, quick_instances=1)
    size = QUICK_SIZE if options.quick else SIZE
    common.warm_up()
    table = common.Table(
        f"{size[0]} columns, {size[1]} rows, wall seconds",
        "workers instance pass times aim fit times equal",
    )
    kinds = ["one thread", "two threads"]
    if find_spec("distributed") is not None:
        kinds.append("two dask workers")
    for i in range(options.instances):
        one = None
        for how in kinds:
            of_pass, of_fit, found = run(how, size, options.seed + i)
            one = one or (of_pass, of_fit, found)
            faster, equal = one[0] / of_pass, found == one[2]
            table.row(
                how,
                i,
                of_pass,
                faster,
                None if how == kinds[0] else SPEED_UP,
                of_fit,
                one[1] / of_fit,
                "yes" if equal else "no",
                met=equal and (how == kinds[0] or faster >= SPEED_UP),
            )
    table.close()
    if len(kinds) == 2:
        results.leave_out("dask: distributed is not installed")


if __name__ == "__main__":
    results.record(main)
