"""The words of docs/glossary.md: those that it replaces do not occur."""

import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "skmohn"
# Subpackages that are written in these words throughout.
DONE = (
    *("_core", "blm", "datasets", "energynet", "inspection"),
    *("integrations", "model_selection", "mohn", "optimize"),
)
# And those of tests and benchmarks.
TESTS = (
    *("blm", "datasets", "energynet", "inspection", "integrations"),
    *("model_selection", "optimize"),
)
BENCHMARKS = ("blm", "energynet", "model_selection", "optimize")
# Parameters of the papers, columns of tables, an attribute of a display, and terms of
# other fields.
ALLOWED = {
    "shares_ax_",
    *("order_share", "mode_share", "clique_share", "max_weight_share"),
}
ALLOWED_PROSE = (
    *("machine learning", "learning machine"),
    *("Boltzmann machine", "support vector machine"),
)
# Words that are verbs as well, or parts of idioms, in prose.
NAMES_ONLY = {"share", "place"}


@cache
def replaced_words() -> tuple[str, ...]:
    """Words and phrases with an asterisk in the last table of the glossary."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    table = text.partition("## Words that are not used")[2]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    words = re.sub(r"\(.*?\)", "", ",".join(cells)).split(",")
    return tuple(word.strip(" *") for word in words if word.rstrip().endswith("*"))


def tokens_of(source: str) -> list[tuple[int, str, int]]:
    """Line, text and kind of the tokens of a file."""
    stream = tokenize.generate_tokens(io.StringIO(source).readline)
    return [(token.start[0], token.string, token.type) for token in stream]


def words_of(name: str) -> set[str]:
    """Words of an identifier in snake or camel case, in the singular."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")
    return {part.removesuffix("s") for part in parts}


def offences(source: str) -> list[str]:
    """Replaced words of a file, in identifiers, strings and comments, by line."""
    single = {word.removesuffix("s") for word in replaced_words() if " " not in word}
    found = []
    for line, text, kind in tokens_of(source):
        if kind == tokenize.NAME:
            if text not in ALLOWED and words_of(text) & single:
                found.append(f"{line}: {text}")
        elif kind in (tokenize.STRING, tokenize.COMMENT):
            found += [f"{line}: {word}" for word in offences_of_prose(text)]
    return found


def offences_of_prose(text: str) -> list[str]:
    """Replaced words of a text."""
    words = "|".join(sorted(set(replaced_words()) - NAMES_ONLY)).replace(" ", r"\s+")
    for allowed in ALLOWED_PROSE:
        text = re.sub(allowed.replace(" ", r"\s+"), "", text, flags=re.IGNORECASE)
    return re.findall(rf"\b(?:{words})\w{{0,3}}\b", text, flags=re.IGNORECASE)


def offences_of_page(text: str) -> list[str]:
    """Replaced words of a page, and code that speaks or knows."""
    # On pages a machine is the user's computer, and a pool one of threads.
    text = re.sub(r"\b(?:machine|pool)s?\b", "", text, flags=re.IGNORECASE)
    speech = r"`[\w.()]+`+\s+(?:always\s+|then\s+)?(?:says|tells|knows|answers)\b"
    return offences_of_prose(text) + re.findall(speech, text)


def test_the_glossary_lists_words():
    assert {"gap", "pool", "place", "stands out", "share"} <= set(replaced_words())


@pytest.mark.parametrize(
    "folder",
    [
        *(PACKAGE / name for name in DONE),
        *(ROOT / "tests" / name for name in TESTS),
        *(ROOT / "benchmarks" / name for name in BENCHMARKS),
    ],
    ids=lambda folder: folder.relative_to(ROOT).as_posix(),
)
def test_replaced_words_do_not_occur(folder):
    found = {
        path.relative_to(ROOT).as_posix(): lines
        for path in sorted(folder.rglob("*.py"))
        if (lines := offences(path.read_text(encoding="utf-8")))
    }
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        "n_gaps = 1",
        "class PairPool: ...",
        "def f(place): ...",
        '"""Nothing stands out."""',
        "# Whole numbers.",
        "x = 1  # learnt",
        '"""Standardise columns."""',
    ],
)
def test_a_replaced_word_is_found(source):
    assert len(offences(source)) == 1


@pytest.mark.parametrize(
    "source",
    ["replace = 1", "shared = order_share", '"""Machine learning on a share."""'],
)
def test_other_words_are_not(source):
    assert not offences(source)


PAGES = [
    *(ROOT / "README.md", ROOT / "CHANGELOG.md"),
    *sorted((ROOT / "docs").glob("*.rst")),
    *sorted((ROOT / "docs").glob("*/*.rst")),
    *sorted((ROOT / "examples").glob("*/plot_*.py")),
]


def test_replaced_words_do_not_occur_on_pages():
    found = {
        path.relative_to(ROOT).as_posix(): words
        for path in PAGES
        if "generated" not in path.parts and "auto_examples" not in path.parts
        if (words := offences_of_page(path.read_text(encoding="utf-8")))
    }
    assert not found


@pytest.mark.parametrize(
    "text",
    ["``stopping_reason_`` says why.", "What stands out.", "`x_` then tells it."],
)
def test_a_replaced_word_of_a_page_is_found(text):
    assert len(offences_of_page(text)) == 1
