"""Deliberate errors in the decision rules, and which of them no test notices.

Usage: python tests/mutants [--sample N] [--seed SEED] [MODULE ...]

One place of a module is changed at a time: a comparison turned round, a plus made a
minus, a number another number. The tests of the module that come by that place are run
until one of them fails; then the error is killed. Printed are the share that is killed
and the survivors, each of which is a rule that is not needed or not tested.

Errors are made in children of one warm process, so that nothing is imported twice. The
compiled kernels, on which a source has no influence any more, stay in it: a module of
kernels is slow, because each of its children compiles them anew.
"""

import argparse
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT)]

from places import find_mutants  # noqa: E402
from runs import Runs  # noqa: E402

# The modules with decision rules, and the tests that are meant to notice.
MODULES = {
    "mohn/_selection": "mohn/test_selection.py mohn/test_regressor.py",
    "mohn/_pursuit": "mohn/test_pursuit.py mohn/test_message_passing.py",
    "mohn/_auto": "mohn/test_auto.py",
    "mohn/_dense/evidence": "mohn/test_dense.py mohn/test_dense_posterior.py "
    "mohn/test_dense_estimator.py",
    "mohn/_dense/noise": "mohn/test_dense_posterior.py mohn/test_dense_estimator.py",
    "mohn/_dense/levels": "mohn/test_levels.py",
    "mohn/_logistic_selection": "mohn/test_logistic.py mohn/test_classifier.py",
    "energynet/_growth": "energynet/test_growth.py",
    "energynet/_training": "energynet/test_training.py energynet/test_growth.py",
    "energynet/_partition": "energynet/test_partition.py",
    "blm/_training": "blm/test_estimators.py",
    "blm/_search": "blm/test_search.py",
    "blm/_control": "blm/test_control.py",
    "blm/_search_kernels": "blm/test_search.py",
}
WANTED = 0.85


def main():
    """Break modules, print what nobody noticed; fail where that is too much."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="default: all")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="errors in each module; default: all"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    arguments = parser.parse_args()
    if unknown := set(arguments.modules) - set(MODULES):
        parser.error(f"{', '.join(unknown)}: not one of {', '.join(MODULES)}")
    killed = total = 0
    for name in arguments.modules or MODULES:
        path = ROOT / "skmohn" / f"{name}.py"
        mutants = find_mutants(path.read_text(encoding="utf-8"))
        if arguments.sample is not None and arguments.sample < len(mutants):
            drawn = random.Random(arguments.seed).sample(mutants, arguments.sample)
            mutants = sorted(drawn, key=lambda mutant: mutant.place)
        tests = [ROOT / "tests" / test for test in MODULES[name].split()]
        n_survivors = 0
        for mutant, why in Runs(path, tests).survivors(mutants):
            n_survivors += 1
            place = f"skmohn/{name}.py:{mutant.place[0]}"
            print(f"  {place}: {mutant.change}{why}", flush=True)
        n_killed = len(mutants) - n_survivors
        share = n_killed / max(len(mutants), 1)
        print(f"{name}: {share:.0%} of {len(mutants)} killed", flush=True)
        killed += n_killed
        total += len(mutants)
    print(f"all: {killed / max(total, 1):.0%} of {total} killed")
    return killed < WANTED * total


if __name__ == "__main__":
    sys.exit(main())
