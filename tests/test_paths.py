"""Every file and module that a text names exists."""

import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import skmohn

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = {".py", ".md", ".rst", ".toml", ".cfg", ".yml", ".yaml", ".txt", ".h"}
WITHOUT_SUFFIX = {"Makefile", "run"}
# What is not there before somebody builds it (as environments are), and data beside the
# repository.
GENERATED = {"_build", "auto_examples", "generated"}
BESIDE = "shared/data"
OTHERS = {"__pycache__", ".git", "build", "dist"}
# The first tells what was, the second breaks rules with modules that it makes up.
FICTION = {"CHANGELOG.md", "test_architecture.py", "test_paths.py"}
# Folders that a path in a text may start from.
STARTS = ("", "skmohn", "skmohn/mohn", "tests", "benchmarks", "docs")

FILE_OR_FOLDER = re.compile(r"(?<![\w./~:$}-])(?:\.?[\w*-]+/)+[\w.*-]+(?![\w/{<])")
MODULE = re.compile(r"(?<![\w./-])(?:skmohn|benchmarks)(?:\.\w+)+")
BARE_FILE = re.compile(r"(?<![\w./*{}>-])_\w+\.py\b")


@cache
def files() -> list[Path]:
    """Every file of ours: what is built, and environments, apart."""
    found, folders = [], [ROOT]
    while folders:
        for path in folders.pop().iterdir():
            if path.name in GENERATED | OTHERS or path.name.startswith(".venv"):
                continue
            (folders if path.is_dir() else found).append(path)
    return sorted(found)


def texts() -> Iterator[tuple[Path, str]]:
    """Yield the files that people wrote, and what is in them."""
    for path in files():
        written = path.suffix in SUFFIXES or path.name in WITHOUT_SUFFIX
        if written and path.name not in FICTION:
            yield path, path.read_text(encoding="utf-8")


@cache
def file_exists(name: str) -> bool:
    """Whether a path leads to a file or a folder, a suffix or an attribute apart."""
    first, *_ = parts = name.split("/")
    if GENERATED & set(parts) or name == BESIDE or name.endswith(".png"):
        return True
    if first.startswith(".venv"):
        return True
    stem = re.sub(r"\.\w+$", "", name)  # of a module whose function is meant
    if "*" in name:
        return any(any((ROOT / start).glob(name)) for start in STARTS)
    names = {name, f"{stem}.py", *(f"{name}{suffix}" for suffix in SUFFIXES)}
    return any((ROOT / start / n).exists() for start in STARTS for n in names)


@cache
def starts_here(name: str) -> bool:
    """Whether a path is meant to lead to something of ours."""
    first = name.split("/")[0]
    return any((ROOT / start / first).is_dir() for start in STARTS)


@cache
def module_exists(name: str) -> bool:
    """Whether the modules of a dotted name exist; what the last of them has is open."""
    found, path = skmohn if name.startswith("skmohn.") else None, ROOT
    *parts, last = name.split(".")
    for part in parts:
        path /= part
        if not path.is_dir():  # a module: what follows is in it, or a public name
            return path.with_suffix(".py").is_file() or hasattr(found, part)
        if found and part != "skmohn":
            found = importlib.import_module(f"{found.__name__}.{part}")
    path /= last
    is_private = re.match("_[^_]", last)
    return not is_private or path.is_dir() or path.with_suffix(".py").is_file()


def missing(text: str) -> list[str]:
    """Return the paths and modules that a text names and nobody has."""
    paths = {name.rstrip(".") for name in FILE_OR_FOLDER.findall(text)}
    names = {path.name for path in files()}
    return sorted(
        {name for name in paths if starts_here(name) and not file_exists(name)}
        | {name for name in MODULE.findall(text) if not module_exists(name)}
        | {name for name in BARE_FILE.findall(text) if name not in names}
    )


def test_what_texts_name_exists():
    found = [
        f"{path.relative_to(ROOT)} names {name}, which is not there"
        for path, text in texts()
        for name in missing(text)
    ]
    assert not found, "\n".join(found)


def test_texts_are_read_everywhere():
    names = {path.relative_to(ROOT).as_posix() for path, _ in texts()}
    expected = {"README.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml", ".ci/run"}
    expected |= {".github/workflows/ci.yml", "docs/conf.py", "docs/index.rst"}
    expected |= {"skmohn/__init__.py", "tests/mutants/__main__.py"}
    assert expected <= names


def test_a_missing_path_is_seen():
    text = """`mohn/_pursuit:246`, skmohn/_core/_chest.py, tests/mohn/test_chest.py,
    docs/*.chest, benchmarks/chest.py. skmohn._core._chest.f, skmohn._chest,
    skmohn.attic.f, `_chest.py`"""
    assert missing(text) == [
        "_chest.py",
        "benchmarks/chest.py",
        "docs/*.chest",
        "mohn/_pursuit",
        "skmohn._chest",
        "skmohn._core._chest.f",
        "skmohn.attic.f",
        "skmohn/_core/_chest.py",
        "tests/mohn/test_chest.py",
    ]


def test_a_path_that_leads_somewhere_is_not_faulted():
    text = """mohn/_sparse/pursuit:246, `_gp/transform_selection.py`,
    `_fitting.py`,
    benchmarks/mohn/tables.py, mohn/tables.py, docs/*.rst, skmohn.MOHNRegressor.fit,
    python -m benchmarks.papers, https://a.org/docs/x.py, and/or, docs/_build/html."""
    assert missing(text) == []
