"""The page on the papers shows what its scripts found, and nothing else."""

import ast
import re
import sys

import pytest

from benchmarks.papers import __main__ as papers
from benchmarks.shared import page, report, results
from benchmarks.shared.report import NO_DATA

SCRIPTS = {path.stem: path for path in sorted(papers.FOLDER.glob("s[1-4]_*.py"))}
PAGE = papers.FOLDER.parents[1] / "docs" / "papers_report.md"
FILES = sorted(results.FOLDER.glob("papers_*.json"))


def test_the_page_has_each_script_once_below_its_title():
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"^### (.*)\n\n```\{papers\} (.*)\n```$", text, re.MULTILINE)
    assert text.count("{papers}") == len(shown)
    titles = [page.docstring(script).split("\n")[0] for _, script in shown]
    assert [title for title, _ in shown] == [t.removesuffix(".") for t in titles]
    assert sorted(script for _, script in shown) == sorted(
        f"papers/{name}.py" for name in SCRIPTS
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_script_shows_its_results_and_what_is_unexplained(name, monkeypatch):
    monkeypatch.setattr(page, "is_older_than_code", lambda commit, script: None)
    text = page.papers([f"papers/{name}.py"])
    assert text.startswith("**Unexplained:** ")
    is_stored = bool(page.found_files(f"papers/{name}.py"))
    assert ("\n| " in text) == is_stored
    assert ("No run of " in text) != is_stored
    for line in re.findall(r"^`p.*; .*$", text, re.MULTILINE):
        assert re.search(r"; \d+ repetitions?[;,] (the paper|short|of which)", line)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_stored_run_has_its_runs_and_seeds_and_a_size_that_fits_them(path):
    result = results.read(path)
    if not any("paper" in part for part in result["parts"]):
        # Printed before runs were kept: never called the paper's size.
        assert page.size_of(result).endswith("only the table was kept")
        return
    seeds = {part["seed"] for part in result["parts"] if "run" in part}
    options = result["options"]
    allowed = range(options["seed"], options["seed"] + options["instances"])
    assert seeds <= set(allowed)
    is_full = page.size_of(result).endswith("the paper's size")
    paper = next(part["paper"] for part in result["parts"] if "paper" in part) or {}
    if is_full and seeds:
        assert len(seeds) >= paper.get("instances", 1)


def test_all_pictures_that_there_are_belong_to_results():
    parts = [part for path in FILES for part in results.read(path)["parts"]]
    shown = [part["picture"] for part in parts if "picture" in part]
    there = [f"papers/{path.name}" for path in papers.PICTURES.iterdir()]
    assert sorted(set(shown)) == sorted(there)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run scripts that are written to a folder; return what they printed."""
    scripts = tmp_path / "benchmarks" / "papers"
    scripts.mkdir(parents=True)
    for package in (scripts, scripts.parent):
        (package / "__init__.py").touch()
    monkeypatch.setattr(papers, "FOLDER", scripts)
    monkeypatch.setattr(papers, "PICTURES", "pictures")

    def run(*arguments, capfd, **scripts_by_name):
        for name, code in scripts_by_name.items():
            (scripts / f"{name}.py").write_text(code, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["papers", *arguments])
        try:
            papers.main()
        finally:
            printed = capfd.readouterr().out
        return printed.split()

    return run


def test_scripts_run_in_order_with_the_options_given(run, capfd):
    said = "import sys; print(__spec__.name[-3:], *sys.argv[1:])"
    all_of_them = {"s1_a10": said, "s1_a9": said, "s2_b": said}
    assert run("--quick", capfd=capfd, **all_of_them) == (
        ["_a9", "--quick", "a10", "--quick", "2_b", "--quick"]
    )
    assert run("s2_b", "--instances=2", capfd=capfd) == (
        ["2_b", "--instances=2", "--pictures", "pictures"]
    )


def test_without_data_a_script_is_skipped_and_a_failure_is_one(run, capfd):
    assert run(capfd=capfd, s1_a=f"raise SystemExit({NO_DATA})") == []
    with pytest.raises(SystemExit, match="s1_b"):
        run(capfd=capfd, s1_b="raise ValueError", s1_c="print('after')")
    with pytest.raises(SystemExit):
        run("s9_none", capfd=capfd)


def test_spreads_are_read_without_exponents():
    assert report.mean_sd([8000.0, 7000.0], 4) == "7500 ± 707"
    assert report.mean_sd([0.25, 0.24], 4) == "0.245 ± 0.0071"
    assert report.mean_sd([0.25]) == "0.25"
    assert report.quartiles([1, 2, 3, 4, 5]) == "3 (2 to 4)"


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
    assert results.size(options, paper) == said
    assert results.size(options, None).endswith("; the paper prints no size")
