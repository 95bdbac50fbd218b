"""What a run of a script found, as a JSON file in benchmarks/results.

The guard of each script calls `record(main)`. Tables that are printed meanwhile are
added by `add`, and what a run could not do, for want of a package or of data, by
`leave_out`. A full run, one without options and without anything left out, writes
`<folder>_<script>.json`. Any other run writes only if it is asked to by --save, and
then a file whose name has its options, so that a part never replaces the whole.

Needs the standard library alone: the documentation is made from these files.
"""

import datetime
import importlib.metadata
import json
import math
import os
import platform
import re
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks" / "results"
# Options that change nothing of what is computed; the value of --save is none.
NEUTRAL = re.compile(r"(^| )--(save|(keep|pictures)[ =]\S+)(?= |$)")

_parts: list[dict] = []
_left_out: list[str] = []
_options: dict[str, object] = {}


def record(main):
    """Run the main function of a script, and write what it found.

    A run that fails writes nothing.
    """
    script, start = script_name(sys.argv[0]), state_of_code()
    for kept in (_parts, _left_out, _options):
        kept.clear()
    main()
    given = NEUTRAL.sub("", " ".join(sys.argv[1:])).strip()
    path = path_of(script, given or ("part" if _left_out else ""))
    is_full = not given and not _left_out
    shown = path.relative_to(path.parents[2]).as_posix()
    if not is_full and not _options.get("save"):
        say(f"Not a full run: --save would write it to {shown}.")
        return
    result = {"script": script, "arguments": given} | start | environment()
    places = {"save", "keep", "pictures"}
    options = {k: v for k, v in _options.items() if k not in places}
    result |= {"processor_hours": time.process_time() / 3600, "options": options}
    result |= {"left_out": [*_left_out], "parts": [*_parts]}
    write(path, result)
    say(f"Written to {shown}.")


def say(message):
    """Print beside the results, all of which the report on the papers takes."""
    print(message, file=sys.stderr, flush=True)


def begin(options):
    """Keep the options of the run."""
    _options.update(vars(options))


def add(**part):
    """Add what is shown next: a table, a text or a picture, by names of its fields."""
    _parts.append(part)
    return part


def leave_out(message):
    """Print what the run does without, and why: it is then less than a full one."""
    _left_out.append(message)
    print(f"Left out: {message}.\n", flush=True)


def shorter(options, paper):
    """Return in which sizes options are below those of a paper, each as text.

    None is all there is. The options that the paper has no number for are not compared.
    """
    found = []
    for name, size in paper.items():
        value, named = options.get(name), name.replace("_", " ")
        if isinstance(size, list):
            missing = [str(part) for part in size if value and part not in value]
            found += [f"{named} without {', '.join(missing)}"] * bool(missing)
        elif value is not None and value < size:
            found.append(f"{named} {value:,} of {size:,}")
    return found


def often(options):
    """Return how many repetitions were run as text."""
    n = options["instances"]
    return f"{n} repetition{'s' * (n > 1)}"


def size(options, paper):
    """Return how large a run was, beside the paper's, as text."""
    if paper is None:
        return f"{often(options)}; the paper prints no size"
    below = shorter(options, paper)
    return f"{often(options)}; " + (
        f"shorter than the paper: {'; '.join(below)}" if below else "the paper's size"
    )


def script_name(file):
    """Path of a script below benchmarks, or of a test below the repository."""
    path = Path(file).resolve()
    below = ROOT / "benchmarks"
    return path.relative_to(below if below in path.parents else ROOT).as_posix()


def source_of(script):
    """File of a script by its name."""
    path = ROOT / "benchmarks" / script
    return path if path.exists() else ROOT / script


def path_of(script, arguments=""):
    """Where the result of a script is, or of a part that its arguments choose."""
    name = script.removesuffix(".py").replace("/", "_")
    part = re.sub(r"[^\w.]+", "-", arguments).strip("-")
    return FOLDER / f"{name}{'--' * bool(part)}{part}.json"


def write(path, result):
    """Write a result: readable, and one line for each row."""
    text = json.dumps(_plain(result), indent=1, ensure_ascii=False)
    # Lists without any inside, the rows of tables, are easier to compare in one line.
    text = re.sub(r"\[\n\s+[^\[\]{}]*?\n\s+\]", _in_one_line, text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


def _in_one_line(found):
    return re.sub(r"\n\s+", " ", found[0]).replace("[ ", "[").replace(" ]", "]")


def read(path):
    """Read a result."""
    return json.loads(path.read_text(encoding="utf-8"))


def _plain(value):
    """The value in types that JSON has, floats to six digits, NaN as None."""
    if isinstance(value, dict):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):  # of numpy
        return _plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)


def state_of_code():
    """The commit checked out, "-dirty" if its code has changed since, and the date."""
    # Results of other runs are no code.
    code = ".", ":!benchmarks/results"
    changed = _git("diff", "HEAD", "--name-only", "--", *code)
    commit = _git("rev-parse", "HEAD") + ("-dirty" if changed else "")
    now = datetime.datetime.now(datetime.UTC)
    return {"commit": commit or None, "date": now.date().isoformat()}


def _git(*command):
    """What git prints about the repository, empty if there is none."""
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def environment():
    """Processor, clock, and versions of Python, of what we need and of the peers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named = project["project"]["dependencies"] + project["dependency-groups"]["bench"]
    packages = {}
    for requirement in named:
        name = re.split(r"[\[>=]", requirement)[0]
        with suppress(importlib.metadata.PackageNotFoundError):
            packages[name] = importlib.metadata.version(name)
    return {
        "processor": processor(),
        "clock": os.environ.get("BENCHMARK_CLOCK", "wall"),
        "python": platform.python_version(),
        "packages": packages,
    }


def processor():
    """Name of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def as_text(cell):
    """A cell of a table as it is printed."""
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return (
            "-" if math.isnan(cell) else f"{cell:.3g}" if cell < 100 else f"{cell:.0f}"
        )
    return str(cell)
