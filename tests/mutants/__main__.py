"""Deliberate errors in the decision rules, and which of them no test notices.

Usage: python tests/mutants [OPTIONS] [MODULE[:LINE] ...]

One place of a module is changed at a time: a comparison turned round, a plus made a
minus, a number another number. The tests of the module that come by that place are run
until one of them fails; then the error is killed. Printed are the share that is killed
and the survivors, each of which is a rule that is not needed or not tested. Changes
that cannot matter are left out: equivalent.py lists them, with the reasons.

Errors are made in children of one warm process, so that nothing is imported twice. The
compiled kernels, on which a source has no influence any more, stay in it; where they
are what is changed, nothing is compiled at all.
"""

import argparse
import math
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT)]

from equivalent import EQUIVALENT  # noqa: E402
from places import find_mutants  # noqa: E402
from runs import Runs  # noqa: E402

# The modules with decision rules, and the tests that are meant to notice.
MODULES = {
    "mohn/_sparse/selection": "mohn/test_selection.py",
    "mohn/_sparse/pursuit": "mohn/test_pursuit.py mohn/test_message_passing.py",
    "mohn/_sparse/frontier": "mohn/test_frontier.py mohn/test_pursuit.py "
    "mohn/test_logistic.py",
    "mohn/_strategies": "mohn/test_auto.py",
    "mohn/_dense/evidence": "mohn/test_dense_kernel.py mohn/test_dense_posterior.py",
    "mohn/_dense/pair_kernels": "mohn/test_pair_kernels.py",
    "mohn/_dense/noise": "mohn/test_dense_noise.py",
    "mohn/_dense/levels": "mohn/test_levels.py",
    "mohn/_dense/classes": "mohn/test_dense_classes.py",
    "mohn/_dense/laplace": "mohn/test_dense_classes.py",
    "mohn/_pool": "mohn/test_dense_classes.py",
    "mohn/_sparse/logistic_selection": "mohn/test_logistic.py mohn/test_classifier.py",
    "energynet/_growth": "energynet/test_growth.py",
    "energynet/_training": "energynet/test_training.py",
    "energynet/_partition": "energynet/test_partition.py",
    "blm/_training": "blm/test_training.py",
    "blm/_search": "blm/test_search.py",
    "blm/_control": "blm/test_control.py blm/test_control_plan.py",
    "blm/_search_kernels": "blm/test_search.py",
}
# Every module is under these too.
COMMON_TESTS = ["test_defaults.py"]
# Of each module.
WANTED = 0.85


def main():
    """Break modules, print what nobody noticed; fail where that is too much."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "modules",
        nargs="*",
        metavar="MODULE[:LINE]",
        help="default: all modules, all of their lines",
    )
    parser.add_argument(
        "--sample", type=int, metavar="N", help="errors in each module; default: all"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--slowest",
        type=float,
        default=math.inf,
        metavar="SECONDS",
        help="of processor time: slower tests are left out, and so some errors survive",
    )
    arguments = parser.parse_args()
    lines = {}
    for asked in arguments.modules or MODULES:
        name, _, line = asked.partition(":")
        if name not in MODULES or not (line.isdigit() or not line):
            parser.error(f"{asked}: not one of {', '.join(MODULES)}, or no line of it")
        lines.setdefault(name, []).extend([int(line)] if line else [])
    shares = [share_killed(name, lines[name], arguments) for name in lines]
    return min(shares) < WANTED


def share_killed(name, lines, arguments):
    """Share of the errors in a module, or in some lines of it, that a test notices."""
    path = ROOT / "skmohn" / f"{name}.py"
    mutants = different(name, find_mutants(path.read_text(encoding="utf-8")))
    if lines:
        mutants = [mutant for mutant in mutants if mutant.place[0] in lines]
    if arguments.sample is not None and arguments.sample < len(mutants):
        drawn = random.Random(arguments.seed).sample(mutants, arguments.sample)
        mutants = sorted(drawn, key=lambda mutant: mutant.place)
    tests = [ROOT / "tests" / test for test in [*COMMON_TESTS, *MODULES[name].split()]]
    n_survivors = 0
    for mutant, why in Runs(path, tests).survivors(mutants, arguments.slowest):
        n_survivors += 1
        place = f"skmohn/{name}.py:{mutant.place[0]}: {mutant.where}"
        print(f"  {place}: {mutant.change}{why}", flush=True)
    n_killed = len(mutants) - n_survivors
    share = n_killed / max(len(mutants), 1)
    print(f"{name}: {n_killed} of {len(mutants)} killed, {share:.0%}", flush=True)
    return share


def different(name, mutants):
    """Leave out what makes no difference; refuse reasons that have lost their place."""
    reasons = EQUIVALENT.get(name, {})
    places = [(mutant.where, mutant.change) for mutant in mutants]
    if lost := set(reasons).difference(places):
        sys.exit(f"equivalent.py: {name} has no {lost}")
    pairs = zip(mutants, places, strict=True)
    return [mutant for mutant, place in pairs if place not in reasons]


if __name__ == "__main__":
    sys.exit(main())
