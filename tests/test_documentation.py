"""The check of the built pages; `docs/conftest.py` runs the code on the pages."""

import ast
import re
import runpy
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import skmohn

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def complaints():
    return runpy.run_path(str(DOCS / "check.py"))["complaints"]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<script src="https://a.org/b.js"></script>', "https://a.org/b.js from anoth"),
        ('<link rel="stylesheet" href="//a.org/b.css">', "//a.org/b.css from another"),
        ('<img src="other.html">', "other.html has no alternative text"),
        ('<a href="nobody.html">there</a>', "nobody.html leads nowhere"),
        ('<a href="other.html#below">there</a>', "other.html#below names no anchor"),
        ('<a href="#below">there</a>', "#below names no anchor"),
    ],
)
def test_a_fault_of_a_page_is_found(complaints, tmp_path, body, fault):
    (tmp_path / "page.html").write_text(body, encoding="utf-8")
    (tmp_path / "other.html").write_text("<p id='above'></p>", encoding="utf-8")
    (found,) = complaints(tmp_path)
    assert found.startswith("page.html: ")
    assert fault in found


@pytest.mark.parametrize(
    "body",
    [
        '<a href="https://a.org">elsewhere</a>',
        '<link rel="canonical" href="https://a.org/page.html">',
        '<a href="other.html?x=1#above">there</a>',
        '<img src="other.html" alt="">',
        '<a href="mailto:a@a.org">write</a>',
    ],
)
def test_a_sound_page_is_not_faulted(complaints, tmp_path, body):
    (tmp_path / "page.html").write_text(body, encoding="utf-8")
    (tmp_path / "other.html").write_text("<p id='above'></p>", encoding="utf-8")
    assert complaints(tmp_path) == []


def test_the_gallery_has_an_order_of_all_examples():
    tree = ast.parse((DOCS / "conf.py").read_text(encoding="utf-8"))
    (order,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EXAMPLES"
    )
    found = {}
    for path in (DOCS.parent / "examples").glob("*/plot_*.py"):
        found.setdefault(path.parent.name, set()).add(path.stem.removeprefix("plot_"))
    assert found == {name: set(names) for name, names in order.items()}


def test_decorators_unpack_no_dictionaries():
    # Sphinx 9.2 cannot read these: the page of the source is then missing.
    found = [
        f"{path.relative_to(DOCS.parent)}:{decorator.lineno}"
        for path in (DOCS.parent / "skmohn").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for decorator in getattr(node, "decorator_list", ())
        for part in ast.walk(decorator)
        if isinstance(part, ast.Dict) and None in part.keys
    ]
    assert not found


# Functions, and an explainer, that do a job of their own.
JOBS = {
    *("analyze_imputations", "compare_estimators", "maximize", "minimize"),
    *("minimize_black_box", "BlackBoxOptimizer", "WalshExplainer"),
}


def test_the_chooser_has_every_estimator_and_its_text_the_same():
    public = {name: getattr(skmohn, name) for name in skmohn.__all__}
    estimators = {
        name
        for name, item in public.items()
        if isinstance(item, type)
        and issubclass(item, BaseEstimator)
        and not name.endswith("Options")
    }
    picture = (DOCS / "chooser.svg").read_text(encoding="utf-8")
    drawn = re.findall(
        r'<a href="generated/skmohn\.(?:\w+\.)?(\w+)\.html"><text[^>]*>(\w+)</text>',
        picture,
    )
    assert [linked for linked, _ in drawn] == [name for _, name in drawn]
    assert {name for _, name in drawn} >= estimators | JOBS
    text = re.findall(r"<desc[^>]*>(.*)</desc>", picture)[0]
    assert {name for _, name in drawn} <= set(re.findall(r"\w+", text))
    whys = re.findall(r'<text class="why"[^>]*>(.*?)</text>', picture)
    assert [why for why in whys if why not in text] == []
