"""Where `tests/mutants` makes errors, and the tests that it runs for them."""

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("mutants")
PACKAGE = FOLDER.parents[1] / "skmohn"
PLACES = runpy.run_path(str(FOLDER / "places.py"))
EQUIVALENT = runpy.run_path(str(FOLDER / "equivalent.py"))["EQUIVALENT"]
SOURCE = """
@dataclass(frozen=True)
class SearchConstants:
    max_steps: int = tuned(20, "cost")
    tolerance: float = tuned(0.5, "rounding")

{name} = SearchConstants()
_LEVELS: Final = 3

def search(x):
    for _ in range({name}.max_steps):
        x = halve(x, {name}.tolerance)
    return x + _LEVELS
"""


def mutants_at(source, where):
    return [
        mutant for mutant in PLACES["find_mutants"](source) if mutant.where == where
    ]


@pytest.mark.parametrize(
    ("where", "name", "line"),
    [
        ("SearchConstants.max_steps", "_SEARCH", 11),
        ("SearchConstants.tolerance", "_SEARCH", 12),
        ("_LEVELS", "_LEVELS", 13),
    ],
)
def test_an_error_of_a_constant_is_where_it_is_used(where, name, line):
    (mutant,) = mutants_at(SOURCE.format(name="_SEARCH"), where)
    assert mutant.constants == {name}
    assert mutant.lines == {line}
    assert not mutant.on_import


def test_what_other_modules_may_read_is_changed_on_import():
    (mutant,) = mutants_at(SOURCE.format(name="SEARCH"), "SearchConstants.tolerance")
    assert mutant.on_import
    source = SOURCE.format(name="_SEARCH") + "BOUND = 2.0 * _SEARCH.tolerance\n"
    (mutant,) = mutants_at(source, "SearchConstants.tolerance")
    assert mutant.on_import
    (mutant,) = mutants_at(source, "SearchConstants.max_steps")
    assert not mutant.on_import


@pytest.mark.parametrize("module", EQUIVALENT)
def test_what_makes_no_difference_is_still_there(module):
    source = (PACKAGE / f"{module}.py").read_text(encoding="utf-8")
    assert PLACES["find_changes"](source).issuperset(EQUIVALENT[module])
