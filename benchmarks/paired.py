"""Whether a change of the structure costs time: the same workloads in two checkouts.

    python -m benchmarks.paired OLD NEW                    folders of two checkouts
    python -m benchmarks.paired OLD NEW --only SpinGlass   these classes alone

The workloads are those for asv, as they are in this checkout. A process for each
checkout stays alive; both do each workload in turn, first one and then the other, so
that what else the machine does meets both. Seconds are of the processor, and medians;
the ratio is new to old, below 1 where the new one is faster, with the lowest and the
highest of all repetitions.
"""

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from statistics import fmean, median

WORKLOADS = Path(__file__).parent / "asv" / "speed" / "workloads.py"
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)


def main():
    """Print a row for each workload."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs=2, type=Path, metavar=("OLD", "NEW"))
    parser.add_argument("--only", nargs="+", metavar="CLASS")
    parser.add_argument("--repeats", type=int, default=6)
    options = parser.parse_args()
    old, new = (Checkout(folder.resolve()) for folder in options.checkouts)
    print(f"{'workload':38}{'old s':>9}{'new s':>9}{'ratio':>8}  lowest to highest")
    ratios = []
    for name in options.only or old.ask("classes"):
        methods = [checkout.ask("set up", name) for checkout in (old, new)]
        if None in methods:
            print(f"{name:38}fails in {'old' if methods[0] is None else 'new'}")
            continue
        for method in methods[1]:
            pairs = compare(old, new, method, options.repeats)
            ratios.append(show(f"{name}.{method}", pairs))
    if ratios:
        print(f"geometric mean of ratios: {math.exp(fmean(map(math.log, ratios))):.3f}")


def compare(old, new, method, repeats):
    """Seconds of old and new, in turn; every second time the new one is first."""
    pairs = []
    for i in range(repeats):
        order = (old, new) if i % 2 == 0 else (new, old)
        seconds = {checkout: checkout.ask("time", method) for checkout in order}
        pairs.append((seconds[old], seconds[new]))
    return pairs


def show(name, pairs):
    """Print a row; return the median ratio."""
    ratios = [new / old for old, new in pairs]
    ratio = median(ratios)
    seconds = "".join(f"{median(side):9.4f}" for side in zip(*pairs, strict=True))
    print(
        f"{name:38}{seconds}{ratio:8.3f}  {min(ratios):.3f} to {max(ratios):.3f}",
        flush=True,
    )
    return ratio


class Checkout:
    """A process that runs workloads with the package of a checkout."""

    def __init__(self, folder):
        environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(folder)}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work", folder],
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, *request):
        """Have the process do something; return its answer."""
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args[-1]}: the process died, see above")
        return json.loads(answer)


def work(folder):
    """Answer requests, one a line, until there are no more."""
    warnings.simplefilter("ignore")
    spec = importlib.util.spec_from_file_location("workloads", WORKLOADS)
    workloads = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(workloads)
    package = sys.modules["skmohn"].__file__
    if not Path(package).is_relative_to(folder):
        raise RuntimeError(f"{package} is not in {folder}")
    # What workloads print must not be taken for answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    current = None
    for line in sys.stdin:
        request, *arguments = json.loads(line)
        if request == "classes":
            answer = [
                name
                for name, value in vars(workloads).items()
                if getattr(value, "__module__", None) == "workloads"
                and isinstance(value, type)
                and not name.startswith("_")
            ]
        elif request == "set up":
            current, answer = set_up(workloads, *arguments)
        else:
            start = time.process_time()
            getattr(current, *arguments)()
            answer = time.process_time() - start
        print(json.dumps(answer), file=answers, flush=True)


def set_up(workloads, name):
    """A workload that is ready and its timed methods; None for both if it fails."""
    workload = getattr(workloads, name)()
    try:
        workload.setup()
    except Exception as error:
        print(f"{name}: {error!r}", file=sys.stderr)
        return None, None
    return workload, [n for n in dir(workload) if n.startswith("time_")]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(Path(sys.argv[2]))
    else:
        main()
