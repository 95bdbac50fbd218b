"""What is installed, and what importing it costs."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import skmohn

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = [Requirement(line) for line in importlib.metadata.requires("skmohn")]


def test_version_is_the_installed_one():
    assert skmohn.__version__ == importlib.metadata.version("skmohn")


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_requirement_has_a_floor_and_no_cap(requirement):
    if requirement.name != "skmohn":
        assert [part.operator for part in requirement.specifier] == [">="]


def test_nothing_but_the_five_is_needed_at_run_time():
    needed = {r.name for r in REQUIREMENTS if r.marker is None}
    assert needed == {"scikit-learn", "numpy", "scipy", "numba", "joblib"}


def test_floors_are_the_tested_ones():
    lines = (ROOT / "constraints-minimum.txt").read_text(encoding="utf-8").splitlines()
    pinned = {
        pin.name: pin.specifier
        for pin in map(Requirement, (line for line in lines if line[:1].isalpha()))
    }
    for_users = (
        "plot",
        "frames",
        "progress",
        "integrations",
        "gymnasium",
        "onnx",
        "plink",
    )
    floors = {
        r.name: r.specifier
        for r in REQUIREMENTS
        if r.marker is None or any(r.marker.evaluate({"extra": e}) for e in for_users)
    }
    assert pinned.keys() == floors.keys()
    for name, pin in pinned.items():
        (exact,) = pin
        (floor,) = floors[name]
        assert (exact.operator, floor.operator) == ("==", ">=")
        assert Version(exact.version) == Version(floor.version)


def read_yaml(*path):
    return yaml.safe_load(ROOT.joinpath(*path).read_text(encoding="utf-8"))


def test_the_recipe_for_conda_asks_for_the_same():
    recipe = read_yaml("conda", "recipe.yaml")
    assert recipe["context"]["version"] == skmohn.__version__
    python, *others = map(Requirement, recipe["requirements"]["run"])
    metadata = importlib.metadata.metadata("skmohn")
    assert str(python.specifier) == metadata["Requires-Python"]
    needed = {str(r) for r in REQUIREMENTS if r.marker is None}
    assert {str(r) for r in others} == needed
    assert recipe["about"]["license"] == metadata["License-Expression"]
    assert recipe["about"]["summary"] == metadata["Summary"]


def test_who_cites_names_this_version():
    assert read_yaml("CITATION.cff")["version"] == skmohn.__version__


def test_every_python_that_is_named_is_tested():
    named = {
        classifier.rpartition(" ")[2]
        for classifier in importlib.metadata.metadata("skmohn").get_all("Classifier")
        if classifier.startswith("Programming Language :: Python :: 3.")
    }
    jobs = read_yaml(".github", "workflows", "ci.yml")["jobs"]
    assert named == set(jobs["test"]["strategy"]["matrix"]["python"])


def modules_after(statement):
    """Return the modules loaded in a fresh process that runs the statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_loads_nothing_heavy():
    loaded = modules_after("import skmohn")
    assert loaded.isdisjoint({"numba", "llvmlite", "pandas", "matplotlib"})


def test_types_are_marked_as_public():
    assert (Path(skmohn.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("name", skmohn.__all__)
def test_public_name_resolves(name):
    assert getattr(skmohn, name) is not None
    assert name in dir(skmohn)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_learner"):
        skmohn.no_such_learner  # noqa: B018
