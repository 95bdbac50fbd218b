"""What a command runs imports only what the command installs."""

import ast
import doctest
import re
import sys
import textwrap
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]

# What each target of the Makefile runs.
FILES = {
    "demo": ["examples/common.py", "examples/demo.py", "examples/tour.py"],
    "test": ["tests/**/*.py", "skmohn/**/*.py", "README.md"],
    "test-docs": ["docs/**/*.rst", "docs/**/*.md", "docs/conftest.py"],
    "docs": ["docs/*.py", "examples/**/*.py"],
    "papers": ["benchmarks/**/*.py"],
}
# Run by pytest alone, so that `make docs` need not install it.
NOT_RUN = {"docs": {"docs/conftest.py"}}
# Installed for none of these: scripts and tests go on without.
OPTIONAL = {
    "ConfigSpace": ("papers", "comes with smac"),
    "nevergrad": ("test", "its peers in benchmarks have tests, skipped without it"),
    "shapiq": ("test", "needs Python 3.12; a test beside it is skipped without it"),
    "smac": ("papers", "its forest has no wheels, and SWIG to build it may be missing"),
    "stable_baselines3": ("papers", "brings torch, 2 GB, for one row of one table"),
}
# Distributions of modules that may not be installed here, where names differ.
DISTRIBUTIONS = {
    "PIL": "pillow",
    "array_api_strict": "array-api-strict",
    "bed_reader": "bed-reader",
    "dwave": "dwave-samplers",
    "interpret": "interpret-core",
    "llvmlite": "numba",  # numba pins the one that it works with
    "mlflow": "mlflow-skinny",  # all of mlflow that saves a model
    "shapiq_games": "shapiq",
    "sklearn": "scikit-learn",
    "skopt": "scikit-optimize",
    "sphinx_gallery": "sphinx-gallery",
    "xdist": "pytest-xdist",
    "yaml": "pyyaml",
}
# What a command or an option on a line of the Makefile is installed by.
COMMANDS = {
    "sphinx-build": "sphinx",
    "--numprocesses": "pytest-xdist",
    "--cov": "pytest-cov",
}
# The importing functions of importlib and pytest, called with a name.
BY_NAME = {"import_module", "importorskip", "find_spec"}


# ----------------------------------------------------------------- what is declared


@cache
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def declared(name: str) -> set[str]:
    """Names of the distributions that an extra or a group names, directly."""
    extras = project()["project"]["optional-dependencies"]
    lines = extras.get(name, project().get("dependency-groups", {}).get(name))
    assert lines is not None, f"pyproject.toml has no extra or group {name!r}"
    found = set()
    for line in lines:
        if isinstance(line, dict):
            found |= declared(line["include-group"])
            continue
        requirement = Requirement(line)
        if requirement.name == "skmohn":
            found |= set().union(*map(declared, requirement.extras))
        else:
            found.add(canonicalize_name(requirement.name))
    return found


def needed_by_skmohn() -> set[str]:
    """Names of the distributions that every installation brings."""
    lines = project()["project"]["dependencies"]
    return {canonicalize_name(Requirement(line).name) for line in lines}


def makefile() -> str:
    return (ROOT / "Makefile").read_text(encoding="utf-8")


@cache
def recipes() -> dict[str, tuple[list[str], str]]:
    """What the stamps before each target of the Makefile install, and its lines."""
    text = makefile().replace("\\\n", "")
    rule = re.compile(r"^([\w-]+):(.*)\n((?:\t.*\n)*)", re.MULTILINE)
    stamp = re.compile(r"/installed-(\w+)")
    return {
        target: (stamp.findall(before), lines)
        for target, before, lines in rule.findall(text)
    }


@cache
def stamp_variables() -> dict[tuple[str, str], str]:
    """What stamps of the Makefile install: variables by the stamp, "%" for the rest."""
    line = re.compile(r"^((?:\$\(VENV\)/installed-[\w%]+ ?)+): (\w+) =(.*)$", re.M)
    return {
        (stamp.rpartition("-")[2], variable): value
        for stamps, variable, value in line.findall(makefile())
        for stamp in stamps.split()
    }


def installed_with(stamp: str) -> set[str]:
    """Names of the distributions that a stamp installs: an extra or a group of them."""
    variables = stamp_variables()
    default = {name: value for (of, name), value in variables.items() if of == "%"}
    own = {name: value for (of, name), value in variables.items() if of == stamp}
    options = " ".join((default | own).values()).replace("$*", stamp)
    extras = ",".join(re.findall(r"\.\[([\w,]+)\]", options)).split(",")
    names = [*filter(None, extras), *re.findall(r"--group (\w+)", options)]
    assert names, f"installed-{stamp} installs nothing"
    return set().union(*map(declared, names))


def installed_by(target: str) -> set[str]:
    """Names of the distributions that a target of the Makefile installs by name."""
    stamps, _ = recipes()[target]
    assert stamps, f"make {target} installs nothing"
    return needed_by_skmohn().union(*map(installed_with, stamps))


# ----------------------------------------------------------------- what is imported


@cache
def imported(source: str) -> set[str]:
    """Names of the modules of other packages that some code imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module)
        elif isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0]
            if name in BY_NAME and isinstance(first, ast.Constant):
                found.add(first.value)
    tops = {name.partition(".")[0] for name in found}
    return tops - set(sys.stdlib_module_names) - {"skmohn", "benchmarks"}


@cache
def pieces_of_code(path: Path) -> list[str]:
    """A module and its doctests, or the doctests and code blocks of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        documented = ast.Module | ast.ClassDef | ast.FunctionDef
        # To walk through every test would take long.
        nodes = ast.walk(ast.parse(text)) if ">>>" in text else ()
        nodes = (node for node in nodes if isinstance(node, documented))
        texts = [ast.get_docstring(node) or "" for node in nodes]
        pieces = [text]
    else:
        block = re.compile(r"^( *)\.\. code-block:: python\n((?:\1 .*\n|\n)+)", re.M)
        pieces = [textwrap.dedent(code) for _, code in block.findall(text)]
        texts = [text]
    parse = doctest.DocTestParser().get_examples
    return pieces + [example.source for text in texts for example in parse(text)]


@cache
def neighbors(folder: Path) -> set[str]:
    """Modules beside a script, which it may import by their names."""
    return {other.stem for other in folder.glob("*.py")} | {
        other.stem
        for folder in ("support", "fuzz")
        for other in (ROOT / "tests" / folder).glob("*.py")
    }


def distributions(module: str) -> set[str]:
    """Names of the distributions that bring a module."""
    if module in DISTRIBUTIONS:
        return {DISTRIBUTIONS[module]}
    return {canonicalize_name(name) for name in installed_here().get(module, [module])}


@cache
def installed_here() -> Mapping[str, list[str]]:
    return packages_distributions()


@cache
def importers(target: str) -> dict[str, set[str]]:
    """Files that a target runs, by the modules that they import."""
    found = {}
    for path in sorted({p for glob in FILES[target] for p in ROOT.glob(glob)}):
        name = path.relative_to(ROOT).as_posix()
        is_built = {"_build", "auto_examples", "generated"}.intersection(path.parts)
        if is_built or name in NOT_RUN.get(target, ()):
            continue
        for module in set().union(*map(imported, pieces_of_code(path))):
            if module not in neighbors(path.parent):
                found.setdefault(module, set()).add(name)
    return found


@pytest.mark.parametrize("target", FILES)
def test_imports_are_installed(target):
    installed = installed_by(target)
    missing = {
        module: files
        for module, files in importers(target).items()
        if distributions(module).isdisjoint(installed)
        and OPTIONAL.get(module, ("",))[0] != target
    }
    assert not missing


def test_readme_needs_what_it_installs():
    path = ROOT / "README.md"
    before, _, _ = path.read_text(encoding="utf-8").partition(">>>")
    (extra,) = re.findall(r'`pip install "\.\[(\w+)\]"`', before)
    (source,) = {"\n".join(pieces_of_code(path))}
    for module in imported(source):
        there = needed_by_skmohn() | declared(extra)
        assert not distributions(module).isdisjoint(there)


@pytest.mark.parametrize("module", OPTIONAL)
def test_optional_packages_are_imported_and_not_installed(module):
    target, _ = OPTIONAL[module]
    everywhere = {name for other in FILES for name in importers(other)}
    assert module in everywhere
    assert distributions(module).isdisjoint(installed_by(target))


@pytest.mark.parametrize("target", [t for t, (names, _) in recipes().items() if names])
def test_commands_are_installed(target):
    _, lines = recipes()[target]
    variables = dict(re.findall(r"^(\w+) :?= (.*)$", makefile(), re.MULTILINE))
    for _ in range(2):  # BIN is in VENV
        lines = re.sub(r"\$\((\w+)\)", lambda m: variables.get(m[1], m[0]), lines)
    run = set(re.findall(r"\.venv/bin/([\w-]+)", lines)) - {"python"}
    run |= set(re.findall(r"/python -m ([\w-]+)", lines)) - {"benchmarks"}
    run |= {option for option in COMMANDS if f" {option} " in lines}
    assert run or "/python " in lines
    for command in run:
        assert COMMANDS.get(command, command) in installed_by(target)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import a.b, os", {"a"}),
        ("def f():\n    from a.b import c", {"a"}),
        ("from . import a", set()),
        ("import_module('a.b'), pytest.importorskip('c')", {"a", "c"}),
        ("find_spec(name)", set()),
    ],
)
def test_imports_are_seen(source, expected):
    assert imported(source) == expected


def test_code_of_a_page_is_seen(tmp_path):
    page = tmp_path / "page.rst"
    block = ".. code-block:: python\n\n   import b\n\n   import c\n\n"
    page.write_text(f"Text\n\n>>> import a\n\n{block}import d\n", encoding="utf-8")
    found = set().union(*map(imported, pieces_of_code(page)))
    assert found == {"a", "b", "c"}
