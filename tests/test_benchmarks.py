"""Scripts write what they find as data, and pages and README state nothing else."""

import ast
import hashlib
import json
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from benchmarks import fetch, paired
from benchmarks.energynet import few_labels_tables
from benchmarks.shared import page, results

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "benchmarks" / "mohn" / "parities.py"
FILES = sorted(results.FOLDER.glob("*.json"))
# Imported where a script begins, and installed with the group "bench" alone.
PEERS = {"skopt"}
IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(name, error.name)
"""


def test_every_script_imports() -> None:
    paths = sorted((ROOT / "benchmarks").rglob("*.py"))
    paths = [p.relative_to(ROOT).with_suffix("") for p in paths]
    names = [".".join(p.parts) for p in paths if not p.stem.startswith("__")]
    assert len(names) > 100
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    failed = [line.split() for line in done.stdout.splitlines()]
    assert [name for name, missing in failed if missing not in PEERS] == []


def test_every_script_records_its_results() -> None:
    paths = (ROOT / "benchmarks").rglob("*.py")
    scripts = [p.read_text("utf-8") for p in paths if p.parent.name != "shared"]
    scripts = [
        text for text in scripts if "parse_options(" in text or "Report(" in text
    ]
    assert len(scripts) > 75
    assert all("\n    results.record(main)\n" in text for text in scripts)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a script's main function with arguments; return the files that it wrote."""
    monkeypatch.setattr(results, "FOLDER", tmp_path / "benchmarks" / "results")

    def run(*arguments, main):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
        options = Namespace(quick="--quick" in arguments, save="--save" in arguments)

        def begun():
            results.begin(options)
            main()

        results.record(begun)
        return sorted(path.name for path in results.FOLDER.glob("*"))

    return run


def show(value):
    results.add(title="Parities", columns=["order", "R2"], rows=[[3, value]], missed=[])


def test_a_full_run_writes_its_rows_and_where_they_are_from(run) -> None:
    assert run(main=lambda: show(0.123456789)) == ["mohn_parities.json"]
    found = results.read(results.FOLDER / "mohn_parities.json")
    assert found["script"] == "mohn/parities.py"
    assert found["parts"][0]["rows"] == [[3, 0.123457]]
    assert {"numpy", "scikit-learn"} <= found["packages"].keys()
    assert {"commit", "date", "processor", "clock", "python"} <= found.keys()
    assert 0 < found["processor_hours"] < 1


def test_a_part_never_replaces_the_whole(run) -> None:
    def without_peer():
        results.leave_out("celer: not installed")
        show(2.0)

    whole = ["mohn_parities.json"]
    assert run(main=lambda: show(1.0)) == whole
    assert run("--quick", main=lambda: show(2.0)) == whole
    assert run("--only", "3", main=lambda: show(2.0)) == whole
    assert run(main=without_peer) == whole
    parts = ["mohn_parities--only-3.json", "mohn_parities--part.json"]
    assert run("--only", "3", "--save", main=lambda: show(2.0)) == [parts[0], *whole]
    assert run("--save", main=without_peer) == [*parts, *whole]
    assert results.read(results.FOLDER / whole[0])["parts"][0]["rows"] == [[3, 1.0]]
    left_out = results.read(results.FOLDER / parts[1])["left_out"]
    assert left_out == ["celer: not installed"]


def test_what_changes_no_result_leaves_a_run_full(run) -> None:
    keep = "--keep", "somewhere", "--pictures=here", "--save"
    assert run(*keep, main=lambda: show(1.0)) == ["mohn_parities.json"]


def test_where_a_result_is_written_is_no_result(run, capsys) -> None:
    run(main=lambda: print("row"))
    run("--quick", main=lambda: print("row"))
    printed = capsys.readouterr()
    assert printed.out == "row\nrow\n"
    assert "Written to benchmarks/results/mohn_parities.json." in printed.err
    assert "Not a full run: --save would write it to" in printed.err


def test_a_run_that_fails_writes_nothing(run) -> None:
    def fail():
        show(1.0)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        run(main=fail)
    assert not results.FOLDER.exists()


def test_measured_rows_are_shown_with_their_origin(run) -> None:
    def main():
        show(0.5)
        results.add(
            title="Seconds", columns=["a_b:c"], rows=[[None], ["|x|"]], missed=["b"]
        )

    run(main=main)
    text = page.section(["mohn/parities.py"])
    assert text.startswith("`mohn/parities.py`; 20")
    assert re.search(r"; 0\.\d\d processor hours\.\n", text)
    assert "**Parities**\n\n| order | R2 |\n| :-- | --: |\n| 3 | 0.5 |\n" in text
    assert "| a b: c |\n| :-- |\n| - |\n| \\|x\\| |\n\n**Missed:** b.\n" in text


def test_transcribed_rows_are_shown_in_one_table(run) -> None:
    row = {"problem": "p", "figure": "0.5", "commit": None, "date": "2026-01-02"}
    for arguments in ("", "--held"):
        result = {"script": "mohn/tables.py", "arguments": arguments, "rows": [row]}
        path = results.path_of("mohn/tables.py", arguments)
        results.write(path, result | {"transcribed": True})
    assert page.section(["mohn/tables.py"]) == page.HEADING + (
        "* - p\n  - 0.5\n  - `mohn/tables.py`; 2026-01-02\n"
        "* - p\n  - 0.5\n  - `mohn/tables.py --held`; 2026-01-02\n```\n"
    )


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of a script, what it imports and what it does not."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    monkeypatch.setattr(results, "ROOT", tmp_path)
    files = {
        "skmohn/__init__.py": '_HOMES = {"A": "skmohn.mohn"}\nfrom skmohn import blm\n',
        "skmohn/mohn/__init__.py": "from skmohn.mohn._base import A\n",
        "skmohn/mohn/_base.py": '"""Text."""\ndef A(x):\n    return x\n',
        "skmohn/blm/__init__.py": "y = 1\n",
        "benchmarks/start_up.py": "from skmohn import A\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    git = "git", "-c", "user.name=a", "-c", "user.email=a@a.org"
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    commit = page.git("rev-parse", "HEAD").strip()

    def is_old(name, text, commit=commit):
        (tmp_path / name).write_text(text, encoding="utf-8")
        for function in (page.is_older_than_code, page.measured_files, page.imported):
            function.cache_clear()
        page.homes.cache_clear()
        return page.is_older_than_code(commit, "start_up.py")

    yield is_old
    page.homes.cache_clear()
    page.imported.cache_clear()


def test_a_result_is_old_when_code_that_its_script_runs_has_changed(repository) -> None:
    module = "skmohn/mohn/_base.py"
    assert repository("skmohn/blm/__init__.py", "y = 2\n") is False
    same = '"""Other."""\n\n\ndef A(x: int) -> int:\n    return x  # why\n'
    assert repository(module, same) is False
    assert repository(module, "def A(x):\n    return 2 * x\n") is True
    assert repository(module, same) is False
    assert repository("skmohn/mohn/_models.py", "z = 1\n") is False
    assert (
        repository("skmohn/mohn/__init__.py", "from skmohn.mohn import _models\n")
        is True
    )


def test_where_git_knows_no_commit_nothing_is_marked(repository) -> None:
    assert repository("skmohn/blm/__init__.py", "y = 2\n", commit=40 * "a") is None
    assert repository("skmohn/blm/__init__.py", "y = 2\n", commit=None) is None
    assert (
        repository("skmohn/blm/__init__.py", "y = 2\n", commit=f"{40 * 'a'}-dirty")
        is True
    )


def test_results_of_other_runs_are_no_change_of_the_code(monkeypatch, tmp_path) -> None:
    def git(*command):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *command], cwd=tmp_path, check=True)

    code, result = tmp_path / "code.py", tmp_path / "benchmarks" / "results" / "a.json"
    result.parent.mkdir(parents=True)
    git("init", "--quiet")
    for file in (code, result):
        file.write_text("1\n", encoding="utf-8")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    monkeypatch.setattr(results, "ROOT", tmp_path)
    clean = results.state_of_code()["commit"]
    assert re.fullmatch("[0-9a-f]{40}", clean)
    result.write_text("2\n", encoding="utf-8")
    assert results.state_of_code()["commit"] == clean
    code.write_text("2\n", encoding="utf-8")
    assert results.state_of_code()["commit"] == f"{clean}-dirty"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_result_is_named_as_its_script_and_complete(path) -> None:
    result = results.read(path)
    assert results.source_of(result["script"]).is_file()
    expected = results.path_of(result["script"], result["arguments"])
    assert path in {expected, results.path_of(result["script"], "part")}
    if result.get("transcribed"):
        keys = {"problem", "figure", "commit", "date"}
        assert all(row.keys() == keys for row in result["rows"])
    else:
        assert result["parts"]
        # Folders are of a machine, and no part of what was found.
        assert not {"save", "keep", "pictures"} & result["options"].keys()


def test_features_of_peers_stand_beside_the_columns_too() -> None:
    rng = np.random.default_rng(0)
    train = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"])
    found = few_labels_tables.features(train, 0)
    expected = found["raw"].fit_transform(train)
    for name in ("PCA", "Nystroem", "trees", "BernoulliRBM"):
        columns = found[name].fit_transform(train)
        columns = columns.toarray() if hasattr(columns, "toarray") else columns
        assert columns.shape[1] > 3
        np.testing.assert_allclose(columns[:, :3], expected)


def test_the_page_shows_every_result_once(monkeypatch) -> None:
    monkeypatch.setattr(page, "is_older_than_code", lambda commit, script: None)
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```\{results\}\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    scripts = list(chain(*(part.split() for part in shown)))
    assert len(scripts) == len(set(scripts))
    # Those on the papers have a page of their own, see test_papers.py.
    found = {results.read(path)["script"] for path in FILES}
    assert set(scripts) == {script for script in found if "papers/" not in script}
    assert page.section(scripts)


UNITS = {"thousand": 1000.0, "KB": 1000.0, "million": 1e6}
NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"


def figures(text: str) -> list[tuple[float, float]]:
    """Numbers of a text, and half a unit of their last digits."""
    found = []
    for number, unit in re.findall(rf"({NUMBER})(?: (thousand|KB|million)\b)?", text):
        scale = UNITS.get(unit, 1.0)
        decimals = len(number.partition(".")[2])
        value = float(number.replace(",", "")) * scale
        found.append((value, 0.5 * scale / 10**decimals))
    return found


def values(script: str) -> list[float]:
    """Every number in the results of a script."""
    found = page.results_of(script)
    rows = [row for result in found for row in result.get("rows", ())]
    text = [row["problem"] + "\n" + row["figure"] for row in rows]
    text += [str(result["parts"]) for result in found if "parts" in result]
    return [value for value, _ in figures("\n".join(text))]


def claims(path: str, heading: str) -> list[tuple[str, str]]:
    """Scripts that a section names, and its words with their figures."""
    text = (ROOT / path).read_text(encoding="utf-8")
    text = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\|[^|]*\|(.*)\| `([\w/]+\.py)` \|$", text, re.MULTILINE)
    prose = "".join(line for line in text.splitlines(True) if line[:1] not in "|<")
    for sentence in re.findall(r"[^()]*\(`[\w/]+\.py`", prose):
        words, script = sentence.split("(`")
        # What "2" is in the name of a score is no figure.
        rows.append((words.replace("R2", "R"), script.rstrip("`")))
    return [(script, words) for words, script in rows]


README = claims("README.md", "Figures")
SUMMARY = claims("docs/benchmarks.md", "At a glance")


def test_claims_of_the_readme_and_the_summary_are_read() -> None:
    black_boxes = [words for script, words in README if "black_box_real" in script]
    assert len(black_boxes) == 6
    assert "| 6 (10) | 7 (8) |" in black_boxes[0]
    assert "Defaults on 22 small tables" in dict(README)["mohn/tables.py"]
    found = dict(SUMMARY)
    assert len(found) > 8
    assert "27 times as long" in found["mohn/lasso_peers.py"]
    assert "Defaults on 22 real tables" in found["mohn/tables.py"]


def missing_figures(script: str, words: str) -> list[float]:
    """Figures of a text that are not, rounded, in the results of a script."""
    there = values(script)
    return [
        number
        for number, half in figures(words)
        if not any(abs(number - value) <= half * (1 + 1e-9) for value in there)
    ]


@pytest.mark.parametrize(("script", "words"), README + SUMMARY)
def test_figures_of_the_readme_are_in_the_results(script: str, words: str) -> None:
    assert missing_figures(script, words) == []


# What has a number as its name is no figure.
NAMES = r"(Figures?|Tables?|Equations?|Eq) [\dIV]+(( to|,| and) \d+)*|\bof 2016\b"
PAPERS = sorted(
    {results.read(path)["script"] for path in FILES if "papers_" in path.stem}
)


@pytest.mark.parametrize("script", PAPERS)
def test_figures_of_what_is_unexplained_are_in_the_results(script: str) -> None:
    assert missing_figures(script, re.sub(NAMES, "", page.unexplained(script))) == []


def test_a_figure_may_be_rounded_but_not_another_one() -> None:
    assert figures("1.7 KB, 28,000; -0.25") == [
        (1700.0, 50.0),
        (28000.0, 0.5),
        (-0.25, 0.005),
    ]


DATA_SETS = {data_set["file"]: data_set for data_set in fetch.read_list()}


def test_every_data_set_that_scripts_name_is_listed() -> None:
    named = set()
    for path in (ROOT / "benchmarks").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        named |= set(re.findall(r'"([\w/]+\.(?:csv|csv\.gz|npz))"', text))
    assert len(named) > 15
    assert named <= DATA_SETS.keys()
    tables = [name for name in DATA_SETS if name.startswith("tables/")]
    assert len(tables) == 22 + 17  # of mohn/tables.py and of mohn/class_tables.py


@pytest.mark.parametrize("name", DATA_SETS)
def test_data_set_has_source_license_and_checksum(name) -> None:
    data_set = DATA_SETS[name]
    assert data_set["license"]
    assert data_set["prepared"]
    assert (data_set["source"] or "https://").startswith("https://")
    assert re.fullmatch("[0-9a-f]{64}", data_set["sha256"])


def test_data_that_are_there_are_the_listed_ones(real_data) -> None:
    states = {n: fetch.state_of(real_data / n, d) for n, d in DATA_SETS.items()}
    assert [n for n, state in states.items() if state == "different"] == []


@pytest.fixture
def fetched(tmp_path, monkeypatch, capsys):
    """Run benchmarks.fetch with a list of one file; return status and output."""
    source = tmp_path / "source.csv"
    source.write_text("1,2\n", encoding="utf-8")
    monkeypatch.setenv("SKMOHN_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(fetch, "FILES", "file://")

    def run(*arguments, sha256, address=None):
        data_set = {"file": "a.csv", "what": "a", "license": "MIT", "prepared": "b"}
        data_set |= {"source": address or source.as_uri(), "sha256": sha256}
        monkeypatch.setattr(fetch, "read_list", lambda: [data_set])
        monkeypatch.setattr(sys, "argv", ["fetch", *arguments])
        return fetch.main(), capsys.readouterr().out

    return run


def test_data_are_loaded_when_asked_for_and_checked(fetched, tmp_path) -> None:
    right = hashlib.sha256(b"1,2\n").hexdigest()
    assert "a.csv: missing" in fetched(sha256=right)[1]
    assert "1 of 1 are there" in fetched("--download", sha256=right)[1]
    assert (tmp_path / "data" / "a.csv").read_text(encoding="utf-8") == "1,2\n"
    status, text = fetched("a.csv", sha256=64 * "0")
    assert status == 1
    assert "a.csv: different" in text


def test_a_source_to_be_prepared_does_not_take_the_place_of_data(
    fetched, tmp_path
) -> None:
    text = fetched("--download", sha256=64 * "0")[1]
    assert "loaded as a.csv.source, to be prepared" in text
    assert [p.name for p in (tmp_path / "data").iterdir()] == ["a.csv.source"]
    page_of_a_package = {"sha256": 64 * "0", "address": "https://a.org"}
    assert "its source is no file" in fetched("--download", **page_of_a_package)[1]


class _Counting:
    """A checkout that takes the same time always, and notes the order of calls."""

    calls: ClassVar[list[str]] = []

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self.seconds = name, seconds

    def ask(self, request: str, method: str) -> float:
        self.calls.append(self.name)
        return self.seconds


def test_two_checkouts_take_turns_in_being_first(capsys) -> None:
    old, new = _Counting("old", 2.0), _Counting("new", 1.0)
    pairs = paired.compare(old, new, "time_fit", 4)
    assert pairs == [(2.0, 1.0)] * 4
    assert _Counting.calls == ["old", "new", "new", "old"] * 2
    assert paired.show("SpinGlass.time_fit", pairs) == 0.5
    assert capsys.readouterr().out.split() == (
        ["SpinGlass.time_fit", "2.0000", "1.0000", "0.500", "0.500", "to", "0.500"]
    )


@pytest.mark.slow
def test_workloads_run_in_two_checkouts(capsys, monkeypatch) -> None:
    arguments = ["--only", "FewBitsRegression", "--repeats", "1"]
    monkeypatch.setattr(sys, "argv", ["paired", str(ROOT), str(ROOT), *arguments])
    paired.main()
    lines = capsys.readouterr().out.splitlines()
    workloads = [line.split()[0] for line in lines[1:-1]]
    assert workloads == ["FewBitsRegression.time_fit", "FewBitsRegression.time_predict"]
    assert lines[-1].startswith("geometric mean of ratios: ")


def test_workloads_of_asv_are_timed() -> None:
    folder = ROOT / "benchmarks" / "asv"
    settings = json.loads((folder / "asv.conf.json").read_text(encoding="utf-8"))
    assert (folder / settings["benchmark_dir"]) == paired.WORKLOADS.parent
    assert (folder / settings["repo"]).resolve() == ROOT
    tree = ast.parse(paired.WORKLOADS.read_text(encoding="utf-8"))
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name[0] != "_"]
    assert len(classes) > 11
    for node in classes:
        methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        is_fit = [ast.unparse(base) for base in node.bases] == ["_Fit"]
        assert is_fit or any(name.startswith("time_") for name in methods), node.name
