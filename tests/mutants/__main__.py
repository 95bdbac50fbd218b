"""Deliberate errors in the decision rules, and which of them no test notices.

Usage: python tests/mutants [OPTIONS] [MODULE[:LINE] ...]

A MODULE is a path inside skmohn, such as mohn/_sparse/pursuit; a folder, such as _core,
is all of its modules.

One place of a module is changed at a time: a comparison turned round, a plus made a
minus, a number another number. The tests of the module that come by that place are run
until one of them fails, the slow ones apart; then the error is killed. Printed are the
share that is killed and the survivors, each of which is a rule that is not needed or
not tested. Changes that cannot matter are left out: equivalent.py lists them, with the
reasons.

Errors are made in children of one warm process, so that nothing is imported twice. The
compiled kernels, on which a source has no influence any more, stay in it; where they
are what is changed, nothing is compiled at all.
"""

import argparse
import ast
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

# The tests that are meant to notice, where they are not called as the module is.
TESTS = {
    "_core/_numba": "core/test_numba.py mohn/test_lookup.py",
    "mohn/_sparse/pursuit": "mohn/test_pursuit.py mohn/test_message_passing.py",
    "mohn/_sparse/term_screening": "mohn/test_frontier.py mohn/test_pursuit.py "
    "mohn/test_logistic.py",
    "mohn/_missing_inputs": "mohn/test_completions.py",
    "mohn/_strategies": "mohn/test_auto.py",
    "mohn/_effects": "mohn/test_effects.py mohn/test_explained_pools.py",
    "mohn/_gp/marginal_likelihood": (
        "mohn/test_gp_covariance.py mohn/test_gp_posterior.py"
    ),
    "mohn/_gp/heteroscedastic_noise": "mohn/test_gp_noise.py",
    "mohn/_gp/transform_selection": "mohn/test_levels.py mohn/test_target_transform.py",
    "mohn/_gp/multitask": "mohn/test_several.py",
    "mohn/_gp/classification": "mohn/test_gp_classes.py",
    "mohn/_gp/laplace": "mohn/test_gp_classes.py",
    "mohn/_stacking": "mohn/test_gp_classes.py mohn/test_pair_cache.py",
    "mohn/_sparse/logistic_selection": "mohn/test_logistic.py mohn/test_classifier.py",
    "blm/_curriculum": "blm/test_control.py blm/test_curriculum.py",
    "blm/_device/agreement": "blm/test_device_agreement.py integrations/test_onnx.py",
    "blm/_search_kernels": "blm/test_search.py",
}
# What is drawn at random, or needs a process of its own, is no test of a module.
NOT_MEANT = {"fuzz", "robustness", "typing"}
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
    modules = find_modules()
    lines = {}
    for asked in arguments.modules or modules:
        name, _, line = asked.partition(":")
        within = [m for m in modules if m == name or m.startswith(f"{name}/")]
        if not within or not (line.isdigit() or not line):
            parser.error(f"{asked}: no module or folder of skmohn, or no line of it")
        for module in within:
            lines.setdefault(module, []).extend([int(line)] if line else [])
    if untested := [name for name in lines if not modules[name]]:
        print(f"Not tried, as no test is meant for them: {', '.join(untested)}")
    shares = [
        share_killed(name, modules[name], lines[name], arguments)
        for name in lines
        if modules[name]
    ]
    return min(shares, default=0.0) < WANTED


def find_modules() -> dict[str, list[Path]]:
    """Find the modules of the package, and for each the tests that are meant for it.

    These are those that TESTS names, or the one called as the module is, or those that
    import it.
    """
    package, folder = ROOT / "skmohn", ROOT / "tests"
    paths = [p for p in package.rglob("*.py") if p.name != "__init__.py"]
    names = sorted(p.relative_to(package).with_suffix("").as_posix() for p in paths)
    if lost := set(TESTS).difference(names):
        sys.exit(f"TESTS: skmohn has no {', '.join(lost)}")
    tests = sorted(folder.rglob("test_*.py"))
    tests = [t for t in tests if t.relative_to(folder).parts[0] not in NOT_MEANT]
    imports = {test: imported_modules(test) for test in tests}
    found = {}
    for name in names:
        family, stem = (
            part.strip("_") for part in (name.split("/")[0], Path(name).name)
        )
        mirror = folder / family / f"test_{stem}.py"
        if name in TESTS:
            found[name] = [folder / test for test in TESTS[name].split()]
        elif mirror in tests:
            found[name] = [mirror]
        else:
            found[name] = [test for test in tests if name in imports[test]]
    return found


def imported_modules(test: Path) -> set[str]:
    """Return the modules of the package that a test imports by their names."""
    found = set()
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(
                {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
            )
    return {name.partition(".")[2].replace(".", "/") for name in found}


def share_killed(name, tests, lines, arguments):
    """Fraction of the errors in a module, or some lines of it, that a test detects."""
    path = ROOT / "skmohn" / f"{name}.py"
    mutants = different(name, find_mutants(path.read_text(encoding="utf-8")))
    if lines:
        mutants = [mutant for mutant in mutants if mutant.place[0] in lines]
    if arguments.sample is not None and arguments.sample < len(mutants):
        drawn = random.Random(arguments.seed).sample(mutants, arguments.sample)
        mutants = sorted(drawn, key=lambda mutant: mutant.place)
    common = [ROOT / "tests" / test for test in COMMON_TESTS]
    n_survivors = 0
    for mutant, why in Runs(path, [*common, *tests]).survivors(
        mutants, arguments.slowest
    ):
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
