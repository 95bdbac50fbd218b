"""What the scripts share: options, timing, memory, exactness and tables.

Seconds are those of the wall clock. On a machine that others use too, set the variable
BENCHMARK_CLOCK to "cpu": seconds are then the CPU time of the process.
"""

import argparse
import json
import multiprocessing
import os
import time
import warnings
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import benchmarks
import skmohn
from benchmarks.shared import results

WEIGHT_TOLERANCE = 1e-6
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = CLOCKS[os.environ.get("BENCHMARK_CLOCK", "wall")]


def data_folder():
    """Folder of real tables: SKMOHN_DATA, else shared/data beside the repository."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    return Path(os.environ.get("SKMOHN_DATA", beside))


def find_data(name):
    """Path of a file of the data folder; None, which is left out, without it."""
    path = data_folder() / name
    if path.exists():
        return path
    results.leave_out(f"no {name} in SKMOHN_DATA, see `python -m benchmarks.fetch`")
    return None


def parse_options(description, *, instances, quick_instances, add_arguments=None):
    """Read the command line.

    Parameters
    ----------
    description : str
        The docstring of the script.
    instances, quick_instances : int
        How many fresh problems make a row, by default and with --quick.
    add_arguments : callable, default=None
        Gets the parser to add the script's own options.

    Returns
    -------
    options : Namespace
        With ``instances``, ``seed`` and ``quick``.
    """
    if not benchmarks.IN_TIME:
        raise RuntimeError("numpy has read the number of threads before benchmarks was")
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instances", type=int, help=f"per row (default {instances})")
    parser.add_argument(
        "--seed", type=int, default=0, help="instance i is drawn with seed + i"
    )
    parser.add_argument("--quick", action="store_true", help="less than a minute")
    parser.add_argument(
        "--save", action="store_true", help="write the result of a part, too"
    )
    if add_arguments:
        add_arguments(parser)
    options = parser.parse_args()
    if options.instances is None:
        options.instances = quick_instances if options.quick else instances
    results.begin(options)
    return options


def add_keep(parser):
    """Add the option --keep: finished runs are stored, and not done again."""
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for finished runs")


def kept(folder, key, compute):
    """Return what was computed under a key before; compute and store it otherwise."""
    if folder is None:
        return compute()
    name = "_".join(str(part) for part in key)
    path = folder / ("".join(c if c.isalnum() else "-" for c in name) + ".json")
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    result = compute()
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result), encoding="utf-8")
    return result


def warm_up(quiet=False):
    """Compile all kernels, and print how long it took."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds, _ = timed(skmohn.warm_up)
    if not quiet:
        print(f"One thread. Kernels compiled before any timing: {seconds:.1f} s.\n")


def timed(function, *args, repeats=1, **kwargs):
    """Call a function; return the median of its seconds and its last result."""
    seconds = []
    for _ in range(repeats):
        start = clock()
        result = function(*args, **kwargs)
        seconds.append(clock() - start)
    return median(seconds), result


def timed_fit(estimator, X, y):
    """Fit without convergence warnings; return the seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return timed(estimator.fit, X, y)[0]


def is_exact(model, problem):
    """Whether the terms are equal and every weight is right to 1e-6."""
    return model.terms_ == problem.terms and bool(
        np.all(np.abs(model.weights_ - problem.weights) < WEIGHT_TOLERANCE)
        and abs(model.intercept_ - problem.intercept) < WEIGHT_TOLERANCE
    )


def what_differs(model, problem):
    """Return in words what keeps a model from being exact, and why it stopped."""
    missed = len(set(problem.terms) - set(model.terms_))
    wrong = len(set(model.terms_) - set(problem.terms))
    return (
        f"{missed} of {len(problem.terms)} terms missed, {wrong} wrong "
        f"({model.stopping_reason_})"
    )


def peak_memory():
    """Return the largest memory this process has had, in bytes."""
    try:
        # Not resource's figure, which on Linux a process inherits from its parent.
        with open("/proc/self/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    except OSError:
        import resource  # Windows has none

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def in_fresh_process(function, *args, time_limit=None):
    """Call a function of a module in a new process.

    Returns
    -------
    result : object
        None when the time was not enough.
    memory : float
        The peak of the process in bytes, NaN when the time was not enough.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_call_and_send, args=(sender, function, args))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(time_limit) else (None, float("nan"))
    except EOFError:
        raise RuntimeError(f"{function.__name__} died, see above") from None
    finally:
        process.terminate()
        process.join()


def _call_and_send(sender, function, args):
    result = function(*args)
    sender.send((result, peak_memory()))


class Table:
    """Rows printed as they come, added to the result, and the aims that were missed.

    Parameters
    ----------
    title : str
    columns : str
        Their names, with spaces between. The first one is aligned to the left.
    width : int
        Of the first column.
    """

    def __init__(self, title, columns, width=26):
        columns = columns.split()
        self.widths = [width, *(max(9, len(name)) for name in columns[1:])]
        self.missed = []
        self.result = results.add(
            title=title, columns=columns, rows=[], missed=self.missed
        )
        print(title)
        self._print(columns)
        print("-" * (sum(self.widths) + 2 * len(self.widths) - 2))

    def row(self, *cells, met=True, details=()):
        """Print one row; one that misses its aim gets a mark and the details."""
        self.result["rows"].append(cells)
        self._print(cells, "" if met else "  MISSED")
        for detail in details:
            print(f"    {detail}", flush=True)
        if not met:
            self.missed.append(str(cells[0]))

    def close(self):
        """Print whether all rows reached their aims."""
        if self.missed:
            print("Missed: " + ", ".join(self.missed) + "\n", flush=True)
        else:
            print("All aims reached.\n", flush=True)

    def _print(self, cells, mark=""):
        first, *rest = (results.as_text(cell) for cell in cells)
        line = [first.ljust(self.widths[0])]
        line += [c.rjust(w) for c, w in zip(rest, self.widths[1:], strict=True)]
        print("  ".join(line) + mark, flush=True)
