"""Half of and twice each tuned constant of a module, on small fixed workloads.

Usage: python -m benchmarks.ablation energynet._growth_held_out [--fields min_gain]

Constants are the fields of the classes `...Constants` of a module. Those whose source
is "rounding", "cost" or a reference are left out, unless they are named. Each workload
of the family runs once to find the constants that it reads, and then with each of these
at half and at twice its value: in tuples all numbers; a fraction above a half gets half
of its distance to 1. Seeds are paired. Printed are the changes of the loss from that at
the value itself, with their standard errors over the seeds, and the factor by which the
counted work changes; changes of more than two standard errors have a mark.

Losses are nats a sample of held-out rows, standard deviations of imputed or predicted
numbers, log loss, and standard deviations of the objective. Work is hidden units,
evaluations of a search, or those until the best point. The results are kept in
benchmarks/results/ablation/results.json.
"""

import argparse
import contextlib
import dataclasses
import importlib
import json
import platform
import subprocess
import sys
import warnings
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.shared import common
from benchmarks.shared.ablation_workloads import WORKLOADS

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "ablation" / "results.json"
HALF, TWICE = 0.5, 2.0


def constants_of(module):
    """Instances of classes of constants that a module makes, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if type(value).__name__.endswith("Constants")
        and type(value).__module__ == module.__name__
    }


def is_tuned(field):
    """Whether a field has a source that a run can confirm."""
    return field.metadata["source"].startswith("benchmarks/")


def scaled(value, factor):
    """Half of or twice a number, or all numbers of a tuple."""
    if isinstance(value, tuple):
        return tuple(scaled(part, factor) for part in value)
    if isinstance(value, int):
        return max(round(factor * value), 1)
    is_fraction = 0.5 < value <= 1.0 and factor > 1.0
    return 1.0 - (1.0 - value) / factor if is_fraction else factor * value


@contextlib.contextmanager
def replaced(old, new):
    """Have all loaded modules use other constants."""
    holders = [
        (vars(module), name)
        for key, module in list(sys.modules.items())
        if key.startswith("skmohn.")
        for name, value in list(vars(module).items())
        if value is old
    ]
    for attributes, name in holders:
        attributes[name] = new
    try:
        yield
    finally:
        for attributes, name in holders:
            attributes[name] = old


def recording(constants, read):
    """The same constants, which add the names of those that are read to a set."""

    class Recorded(type(constants)):
        def __getattribute__(self, name):
            read.add(name)
            return super().__getattribute__(name)

    values = {f.name: getattr(constants, f.name) for f in dataclasses.fields(constants)}
    return Recorded(**values)


def run(workload, seeds):
    """Losses and counted work of a workload, a row for each seed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([workload(seed) for seed in seeds], dtype=float)


def difference(found, base):
    """Mean difference of the losses, its standard error, and the factor of the work."""
    losses = found[:, 0] - base[:, 0]
    error = losses.std(ddof=1) / np.sqrt(len(losses)) if len(losses) > 1 else np.nan
    return losses.mean(), error, found[:, 1].sum() / max(base[:, 1].sum(), 1.0)


def ablate(constants, names, workloads, seeds, row):
    """Run all workloads with changed constants; call `row` for each comparison."""
    seen = set()
    for name, workload in workloads.items():
        read = set()
        with replaced(constants, recording(constants, read)):
            base = run(workload, seeds)
        for field in sorted(read & set(names)):
            seen.add(field)
            for factor in (HALF, TWICE):
                value = scaled(getattr(constants, field), factor)
                if value == getattr(constants, field):
                    continue
                with replaced(
                    constants, dataclasses.replace(constants, **{field: value})
                ):
                    try:
                        found = run(workload, seeds)
                    except (ValueError, IndexError, ZeroDivisionError) as error:
                        row(field, name, value, None, type(error).__name__)
                        continue
                row(field, name, value, difference(found, base), "")
    return set(names) - seen


def keep(module, rows, n_seeds):
    """Store the rows of a module beside those of the others."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    old = kept.get(module, {}).get("rows", [])
    fields = {row["field"] for row in rows}
    kept[module] = {
        "commit": commit,
        "date": date.today().isoformat(),
        "processor": platform.machine(),
        "numpy": np.__version__,
        "seeds": n_seeds,
        "rows": [*(row for row in old if row["field"] not in fields), *rows],
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(dict(sorted(kept.items())), indent=1)
    RESULTS.write_text(f"{text}\n", encoding="utf-8")


def parse_arguments():
    """Read the module, and which fields, workloads and seeds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("module", help="such as energynet._growth_held_out")
    parser.add_argument("--fields", nargs="+", help="all that are tuned by default")
    parser.add_argument("--workloads", nargs="+", help="all of the family by default")
    parser.add_argument("--instances", type=int, default=5, help="seeds")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    return parser.parse_args()


def main():
    """Print a row for each field, workload and value."""
    options = parse_arguments()
    module = importlib.import_module(f"skmohn.{options.module}")
    workloads = WORKLOADS[options.module.split(".")[0]]
    if options.workloads:
        workloads = {name: workloads[name] for name in options.workloads}
    seeds = range(options.seed, options.seed + options.instances)
    columns = "field workload value change error work"
    table, rows = common.Table(options.module, columns, width=26), []
    table.widths[1] = 20

    def row(field, name, value, found, failure):
        cells = found or (failure, None, None)
        is_clear = bool(found) and abs(found[0]) > 2.0 * found[1]
        table.row(field, name, str(value), *cells, *(["*"] if is_clear else [""]))
        numbers = dict(zip(("change", "error", "work"), found or (), strict=False))
        rows.append({"field": field, "workload": name, "value": value} | numbers)

    table.widths.append(1)
    for constants in constants_of(module).values():
        names = [
            field.name
            for field in dataclasses.fields(constants)
            if (field.name in options.fields if options.fields else is_tuned(field))
        ]
        unread = ablate(constants, names, workloads, seeds, row)
        for field in sorted(unread):
            table.row(field, "none reads it", "", None, None, None, "")
            rows.append({"field": field, "workload": None})
    keep(options.module, rows, options.instances)


if __name__ == "__main__":
    main()
