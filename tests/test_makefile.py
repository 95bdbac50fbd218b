"""The environments that make installs into."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).resolve().parents[1] / "Makefile"
# A Python of another version that installs nothing. In the environments that it makes
# it stands for their interpreters as well.
INTERPRETER = """#!/bin/sh
case "$1 $2" in
    "-c "*) exec '{python}' -c "import sys; sys.version_info = {version}; $2" ;;
    "-m venv")
        for folder; do :; done
        rm -rf "$folder" && mkdir -p "$folder/bin" && cp "$0" "$folder/bin/python" ;;
esac
"""

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with what make needs to install, and interpreters of all versions."""
    (tmp_path / "skmohn").mkdir()
    for name in "pyproject.toml", "skmohn/__init__.py", "constraints-minimum.txt":
        (tmp_path / name).touch()
    for name, version in {
        "python3": (3, 11, 4),
        "python3.10": (3, 10, 9),
        "python3.11": (3, 11, 7),
        "python3.12": (3, 12, 1),
    }.items():
        interpreter = tmp_path / name
        script = INTERPRETER.format(python=sys.executable, version=version)
        interpreter.write_text(script, encoding="utf-8")
        interpreter.chmod(0o755)
    return tmp_path


def make(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--file", MAKEFILE, *arguments],
        cwd=project,
        env={"PATH": f"{project}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("target", "choice"),
    [
        (".venv/installed-lint", "PYTHON"),
        (".venv-sklearn-1.8/installed", "PYTHON"),
        (".venv-minimum/installed", "PYTHON_MINIMUM"),
    ],
)
def test_environment_is_of_the_interpreter_that_was_named(
    project: Path, target: str, choice: str
) -> None:
    def lines(*named: str) -> list[str]:
        done = make(project, target, *named)
        assert done.returncode == 0, done.stderr
        return [line.split()[0] for line in done.stdout.splitlines()]

    assert lines(f"{choice}=python3.11") == ["Making", "Installing"]
    # Nobody names another one, or another build of the same version.
    assert lines() == []
    assert lines(f"{choice}=python3.11") == []
    assert lines(f"{choice}={project}/python3") == []
    assert lines(f"{choice}=python3.12") == ["Making", "Installing"]
    assert "(3, 12, 1)" in (project / target).parent.joinpath("bin/python").read_text()
    # What was made by choice stays, too.
    assert lines() == []


@pytest.mark.parametrize("name", ["python3.10", "none-of-this-name"])
def test_environment_stays_where_its_successor_cannot_be_made(
    project: Path, name: str
) -> None:
    assert make(project, ".venv/installed-lint").returncode == 0
    done = make(project, ".venv/installed-lint", f"PYTHON={name}")
    assert done.returncode != 0
    assert f"'{name}' is not that" in done.stderr
    assert make(project, ".venv/installed-lint").stdout == ""
