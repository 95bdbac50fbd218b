"""What is installed, and what importing it costs."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import skmohn

ROOT = Path(__file__).resolve().parents[1]
METADATA = importlib.metadata.metadata("skmohn")
REQUIREMENTS = [Requirement(line) for line in importlib.metadata.requires("skmohn")]
EXTRAS = set(METADATA.get_all("Provides-Extra"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = PROJECT["dependency-groups"]


def test_version_is_the_installed_one():
    assert skmohn.__version__ == importlib.metadata.version("skmohn")


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_requirement_has_a_floor_and_no_cap(requirement):
    if requirement.name != "skmohn":
        assert [part.operator for part in requirement.specifier] == [">="]


@pytest.mark.parametrize("group", GROUPS)
def test_group_asks_for_floors_of_other_packages(group: str) -> None:
    requirements = [Requirement(line) for line in GROUPS[group]]
    assert [r.name for r in requirements if r.name == "skmohn"] == []
    capped = [
        str(r) for r in requirements if [p.operator for p in r.specifier] != [">="]
    ]
    assert capped == []


def test_extras_are_for_users() -> None:
    assert EXTRAS.isdisjoint(GROUPS)
    (everything,) = map(Requirement, PROJECT["project"]["optional-dependencies"]["all"])
    assert everything.name == "skmohn"
    assert everything.extras == EXTRAS - {"all"}


def test_nothing_but_the_five_is_needed_at_run_time():
    needed = {r.name for r in REQUIREMENTS if r.marker is None}
    assert needed == {"scikit-learn", "numpy", "scipy", "numba", "joblib"}


def test_floors_are_the_tested_ones():
    lines = read("constraints-minimum.txt").splitlines()
    pinned = {
        pin.name: pin.specifier
        for pin in map(Requirement, (line for line in lines if line[:1].isalpha()))
    }
    floors = {
        r.name: r.specifier
        for r in REQUIREMENTS
        if r.name != "skmohn"
        and (r.marker is None or any(r.marker.evaluate({"extra": e}) for e in EXTRAS))
    }
    assert pinned.keys() == floors.keys()
    for name, pin in pinned.items():
        (exact,) = pin
        (floor,) = floors[name]
        assert (exact.operator, floor.operator) == ("==", ">=")
        assert Version(exact.version) == Version(floor.version)


def read(*path: str) -> str:
    """Text of a file of the repository."""
    return ROOT.joinpath(*path).read_text(encoding="utf-8")


def read_yaml(*path: str) -> dict:
    """A file of the repository as dictionaries and lists."""
    return yaml.safe_load(read(*path))


REPOSITORY = PROJECT["project"]["urls"]["Repository"]
OWNER_AND_NAME = REPOSITORY.removeprefix("https://github.com/")
# Where links of the README lead that are about a file of the repository, and the files.
RAW = f"https://raw.githubusercontent.com/{OWNER_AND_NAME}/main/"
FILES = f"{REPOSITORY}/blob/main/"
FOLDERS = f"{REPOSITORY}/tree/main/"
PAGES = f"{PROJECT['project']['urls']['Documentation']}/en/latest/"


def links(text: str) -> list[str]:
    """Addresses of pictures and links in Markdown, in the order of their kinds."""
    inline = re.findall(r"\]\(([^)\s]*)[^)]*\)", text)
    return [*inline, *re.findall(r"""\b(?:src|href)=["']([^"']*)""", text)]


def file_behind(link: str) -> Path | None:
    """The file or folder of the repository that a link shows; None: another site."""
    for start in (RAW, FILES, FOLDERS):
        if link.startswith(start):
            return ROOT / link.removeprefix(start).partition("#")[0]
    if not link.startswith(PAGES):
        return None
    page = link.removeprefix(PAGES).partition("#")[0]
    if page == "auto_examples/index.html":  # made of the headers of the examples
        return ROOT / "examples" / "GALLERY_HEADER.rst"
    sources = [ROOT / "docs" / page.replace(".html", end) for end in (".rst", ".md")]
    return next(filter(Path.is_file, sources), sources[0])


def test_readme_leads_to_what_exists() -> None:
    found = links(read("README.md"))
    assert found
    assert [link for link in found if not link.startswith("https://")] == []
    behind = {link: file_behind(link) for link in found}
    assert [link for link, file in behind.items() if file and not file.exists()] == []


def test_readme_links_to_pages_that_are_rendered() -> None:
    """GitHub shows what Sphinx reads, MyST and reStructuredText, as markup."""
    found = links(read("README.md"))
    assert [link for link in found if link.startswith(f"{FILES}docs/")] == []


def test_readme_shows_pictures_on_every_site() -> None:
    pictures = re.findall(r"""<img[^>]*src=["']([^"']*)""", read("README.md"))
    assert pictures
    assert [link for link in pictures if not link.startswith(RAW)] == []
    assert "![" not in read("README.md")


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[a](b/c.md)", "b/c.md"),
        ('[a](https://b.org "c")', "https://b.org"),
        ("![a](b.png)", "b.png"),
        ('<img width="3" src="b.png">', "b.png"),
    ],
)
def test_links_are_read(text: str, link: str) -> None:
    assert links(text) == [link]


def test_changelog_begins_with_this_version() -> None:
    (first, *_) = re.findall(r"^## (\S+) \((.+)\)$", read("CHANGELOG.md"), re.MULTILINE)
    version = Version(skmohn.__version__)
    assert first[0] == version.base_version
    assert (first[1] == "unreleased") == version.is_devrelease


def test_who_cites_names_this_version():
    assert read_yaml("CITATION.cff")["version"] == skmohn.__version__


SYSTEMS = {
    "ubuntu-latest": "POSIX :: Linux",
    "macos-latest": "MacOS",
    "windows-latest": "Microsoft :: Windows",
}


def classified(topic: str) -> set[str]:
    """What the classifiers say of a topic."""
    start = f"{topic} :: "
    found = METADATA.get_all("Classifier")
    return {line.removeprefix(start) for line in found if line.startswith(start)}


def pythons_claimed() -> set[str]:
    """Versions of Python that the classifiers name."""
    return {v for v in classified("Programming Language :: Python") if "." in v}


def matrix_of(workflow: str, job: str) -> dict[str, list[str]]:
    """The axes of a job, of which every combination runs."""
    jobs = read_yaml(".github", "workflows", f"{workflow}.yml")["jobs"]
    matrix = jobs[job]["strategy"]["matrix"]
    assert matrix.keys().isdisjoint({"exclude", "include"})
    return matrix


def test_what_is_claimed_is_what_is_tested() -> None:
    matrix = matrix_of("ci", "test")
    assert pythons_claimed() == set(matrix["python"])
    systems = {SYSTEMS[name] for name in matrix["os"]}
    assert classified("Operating System") == systems


def test_what_is_published_was_tried_on_every_python() -> None:
    assert pythons_claimed() == set(matrix_of("publish", "try")["python"])


def test_pythons_are_consecutive_from_the_floor() -> None:
    minors = sorted(int(v.removeprefix("3.")) for v in pythons_claimed())
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert METADATA["Requires-Python"] == f">=3.{minors[0]}"


def test_commands_of_workflows_are_targets_of_make() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    named = {
        target
        for path in sorted(ROOT.glob(".github/workflows/*.yml"))
        for target in re.findall(r"\bmake ([a-z-]+)", path.read_text(encoding="utf-8"))
    }
    assert named
    assert named <= targets


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
