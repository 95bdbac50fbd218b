"""The report on the papers holds what its scripts say, and nothing else."""

import ast
import inspect
import re
import sys

import pytest

from benchmarks.papers import __main__ as papers
from benchmarks.shared import report
from benchmarks.shared.report import NO_DATA

SCRIPTS = {path.stem: path for path in sorted(papers.FOLDER.glob("s[1-4]_*.py"))}


def _docstring(path):
    return inspect.cleandoc(ast.get_docstring(ast.parse(path.read_text("utf-8"))))


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_script_has_its_section_with_the_text_of_its_docstring(name):
    section = papers.read_sections(papers.REPORT)[name]
    heading, _, text = _docstring(SCRIPTS[name]).partition("\n")
    assert section.startswith(f"### {heading.removesuffix('.')}\n")
    assert text.strip() in section


def test_the_report_has_no_section_without_a_script():
    assert set(papers.read_sections(papers.REPORT)) == set(SCRIPTS)


def test_the_report_shows_all_pictures_that_there_are_and_no_others():
    report = papers.REPORT.read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]+\]\((.*?)\)", report)
    there = [f"papers/{path.name}" for path in papers.PICTURES.iterdir()]
    assert sorted(shown) == sorted(there)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of scripts and an empty report, in the place of the project's."""
    scripts = tmp_path / "benchmarks" / "papers"
    scripts.mkdir(parents=True)
    for package in (scripts, scripts.parent):
        (package / "__init__.py").touch()
    monkeypatch.setattr(papers, "FOLDER", scripts)
    monkeypatch.setattr(papers, "REPORT", tmp_path / "report.md")
    monkeypatch.setattr(papers, "PICTURES", tmp_path / "pictures")
    # A script is written anew within the second that tells old bytecode from new.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    def write(**scripts_by_name):
        for name, code in scripts_by_name.items():
            (scripts / f"{name}.py").write_text(code, encoding="utf-8")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["papers", *arguments])
        papers.main()
        return papers.read_sections(papers.REPORT)

    return write, run


def test_a_run_replaces_the_sections_of_what_it_ran_and_keeps_the_others(folder):
    write, run = folder
    write(s1_a10="print('old')", s2_b="import sys; print('b', '--quick' in sys.argv)")
    assert run() == {"s1_a10": "old", "s2_b": "b False"}
    write(s1_a10="print('new')", s1_a9="print('nine')")
    assert run("s1_a10") == {"s1_a10": "new", "s2_b": "b False"}
    assert run("--quick") == {"s1_a9": "nine", "s1_a10": "new", "s2_b": "b True"}
    text = papers.REPORT.read_text(encoding="utf-8")
    places = [text.index(part) for part in ("Swingler 2016", "nine", "new", "2020")]
    assert places == sorted(places)


def test_options_of_a_script_are_handed_on_to_it(folder):
    write, run = folder
    write(s1_a="import sys; print(*sys.argv[3:])")
    assert run("s1_a", "--quick", "--seconds=2") == {"s1_a": "--seconds=2 --quick"}


def test_without_data_a_section_stays_and_a_failure_is_one(folder):
    write, run = folder
    write(s1_a="print('old')", s1_b="print('b')")
    run()
    write(s1_a=f"print('cut'); raise SystemExit({NO_DATA})")
    assert run() == {"s1_a": "old", "s1_b": "b"}
    write(s1_a="print('cut'); raise ValueError", s1_b="print('after')")
    with pytest.raises(SystemExit, match="s1_a"):
        run()
    assert papers.read_sections(papers.REPORT) == {"s1_a": "old", "s1_b": "after"}
    with pytest.raises(SystemExit):
        run("s9_none")


def test_counts_and_no_clock_end_the_runs_of_scripts():
    shared = ("traces", "spirals", "pendulum", "control", "secant", "bandits", "report")
    paths = [papers.FOLDER.parent / "shared" / f"{name}.py" for name in shared]
    for path in (*SCRIPTS.values(), *paths):
        tree = ast.parse(path.read_text("utf-8"))
        options = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        assert "--seconds" not in options, path
        assert "max_time" not in {
            node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)
        }, path
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                names = {
                    getattr(part, "attr", getattr(part, "id", None))
                    for part in ast.walk(node)
                }
                assert not names & {"clock", "perf_counter", "seconds", "began"}, path


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"instances": 5}, "5 repetitions; the paper's size"),
        ({"instances": 1}, "1 repetition; shorter than the paper: instances 1 of 5"),
        ({"rows": 10}, "5 repetitions; shorter than the paper: rows 10 of 60,000"),
        ({"sizes": [20]}, "5 repetitions; shorter than the paper: sizes without 30"),
    ],
)
def test_the_size_of_a_run_is_compared_with_that_of_the_paper(given, said):
    options = {"instances": 5, "rows": None, "sizes": [20, 30]} | given
    paper = {"instances": 5, "rows": 60_000, "sizes": [20, 30]}
    assert report.size(options, paper) == said
    assert report.size(options, None).endswith("; the paper prints no size")
