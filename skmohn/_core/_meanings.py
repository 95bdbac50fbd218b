"""Meaning of text in a column, such as dates or numbers with a unit."""

import itertools
import re
from collections.abc import Sequence
from datetime import date, timedelta
from numbers import Real
from typing import Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from skmohn._core._sklearn import is_pandas_na, is_scalar_nan

# What arrays of objects may hold; the first of them includes pandas' Timestamp.
TIMES = (date, timedelta, np.datetime64, np.timedelta64)
# Columns in a message.
_N_LISTED: Final = 8
# Warned of are values that may stand for what is not known, among numbers or dates, if
# there are at most so many; ...
_MAX_MARKERS: Final = 2
# ... orders of at least so many values, since fewer have no order to lose; ...
MIN_ORDERED: Final = 3
# ... and units of one column, such as grams and kilograms: more of them are codes.
_MAX_UNITS: Final = 3

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_GROUPED = r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?\.?"
)
# Between thousands: a space, two that do not break, and Switzerland's apostrophe.
_SPACES = (" ", "\u00a0", "\u202f", "'")
_MINUS = "\u2212"  # not the hyphen that numbers are read with
# The column, in a cure.
IT = "{it}"
_TO_NUMBERS = "pandas.to_numeric converts {it} to numbers"
_TO_TIMES = "pandas.to_datetime converts {it} to times"
# What text can be, with the cure: the first that all of it is.
_KINDS = (
    # Days as numbers with marks between, and what may follow; months by their names.
    (
        rf"(\d{{4}}([-/.]){_DAY}\2{_DAY}|{_DAY}([-/.]){_DAY}\3(\d\d){{1,2}})([T ].*)?",
        "dates",
        _TO_TIMES,
    ),
    (r"\d{4}-(0[1-9]|1[0-2])", "dates", _TO_TIMES),
    (
        rf"(\w+,? )?(\d{{1,2}}[- ]{_MONTH}|{_MONTH}[- ]\d{{1,2}},?)[- ]\d{{2,4}}( .*)?",
        "dates",
        _TO_TIMES,
    ),
    (
        r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?",
        "times of day",
        "pandas.to_timedelta converts {it} to durations if written as '08:30:00'",
    ),
    (_NUMBER, "numbers", _TO_NUMBERS),
    (
        rf"{_GROUPED}|{_NUMBER}",
        "numbers",
        "pandas.read_csv(thousands=',') converts {it} to numbers",
    ),
    (
        r"[-+]?\d+,\d+|[-+]?\d+",
        "numbers",
        "pandas.read_csv(decimal=',') converts {it} to numbers",
    ),
    (
        r"[-+]?\d{1,3}(\.\d{3})+(,\d+)?|[-+]?\d+(,\d+)?",
        "numbers",
        "pandas.read_csv(thousands='.', decimal=',') converts {it} to numbers",
    ),
    *(
        (
            rf"[-+]?\d{{1,3}}({space}\d{{3}})+([.,]\d+)?|{_NUMBER}",
            "numbers",
            f"{_TO_NUMBERS} once {space!r} is removed",
        )
        for space in _SPACES
    ),
    (
        rf"{_MINUS}?{_NUMBER}",
        "numbers",
        f"{_TO_NUMBERS} with '-' in place of {_MINUS!r}",
    ),
)
# Of a number, what stands before it, if it is a currency, or behind it.
_WITH_UNIT = re.compile(
    rf"(?P<before>-?[$€£¥]?) ?(?P<number>{_GROUPED}|{_NUMBER}) ?"
    r"(?P<behind>[^\W\d_/]*|[%‰°€$£¥]|°[CF]|[^\W\d_]+[/^][\w^/]+)"
)
# In lower case, the false one first.
_TRUTHS = (("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on"))


def find_cure(values: Sequence[object] | NDArray) -> str | None:
    """Code that converts text to numbers or times; ``{it}`` in it is the column."""
    known = [value for value in values if not is_unknown(value)]
    texts = sorted(set(itertools.filterfalse(is_number, filter(is_text, known))))
    for truths in _TRUTHS:
        if sorted(text.strip().lower() for text in texts) == sorted(truths):
            by_truth = sorted(
                texts, key=lambda text: truths.index(text.strip().lower())
            )
            numbers = {text: number for number, text in enumerate(by_truth)}
            return f"map({numbers}) converts {IT} to numbers"
    _, cure, _ = read_meaning(texts, min_count=1)
    return cure or read_meaning(sorted({str(value) for value in known}))[1]


def read_meaning(
    texts: Sequence[str], min_count: int = MIN_ORDERED
) -> tuple[str, str, str] | tuple[None, None, None]:
    """Kind of some different texts, the cure, and one of them; None where unknown."""
    # All but a few must be of one kind: those may stand for missing values.
    for pattern, what, cure in _KINDS:
        fits = [t for t in texts if re.fullmatch(pattern, t.strip(), re.IGNORECASE)]
        if _are_most(fits, texts, min_count):
            # Digits alone may be codes, which are written as text to be categories.
            if what == "numbers" and fits == texts and all(map(str.isdecimal, fits)):
                return None, None, None
            return _beside_markers(what, cure, fits, texts)
    found = ((text, _WITH_UNIT.fullmatch(text.strip())) for text in texts)
    matches = {text: match for text, match in found if match}
    fits = list(matches)
    numbers = {matches[text]["number"] for text in fits}
    parts = {matches[text][part] for text in fits for part in ("before", "behind")}
    units = sorted(parts.difference(["", "-"]))
    # Codes such as 7a and 7b have more letters than numbers.
    is_measured = len(numbers) >= min_count and 0 < len(units) <= _MAX_UNITS
    if _are_most(fits, texts, min_count) and is_measured:
        unit = " and ".join(map(repr, units))
        what = f"numbers with the unit {unit}"
        are = "is" if len(units) == 1 else "are"
        cure = f"{_TO_NUMBERS} once {unit} {are} removed"
        if len(units) > 1:
            cure += " and all are in one unit"
        return _beside_markers(what, cure, fits, texts)
    return None, None, None


def _are_most(fits: Sequence[str], texts: Sequence[str], min_count: int) -> bool:
    """Whether all texts are of one kind but those that may mark unknown values."""
    n_others = len(texts) - len(fits)
    return len(fits) >= min_count and (
        n_others == 0 or (n_others <= _MAX_MARKERS and len(fits) >= MIN_ORDERED)
    )


def _beside_markers(
    what: str, cure: str, fits: Sequence[str], texts: Sequence[str]
) -> tuple[str, str, str]:
    """Meaning of texts, and of those of another kind."""
    markers = sorted(set(texts).difference(fits))
    if markers:
        what += f" beside {' and '.join(map(repr, markers))}"
        cure += f", after pandas.read_csv(na_values={markers})"
    return what, cure, fits[0]


def listed(parts: Sequence[object]) -> str:
    """List for a message, the first of many."""
    more = f" and {len(parts) - _N_LISTED} more" if len(parts) > _N_LISTED else ""
    return ", ".join(map(str, parts[:_N_LISTED])) + more


def is_text(value: object) -> TypeGuard[str]:
    """Whether a value is text."""
    return isinstance(value, str)


def is_number(text: str | bytes) -> bool:
    """Whether text reads as a number, or as NaN."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_unknown(value: object) -> bool:
    if value is None or is_pandas_na(value):
        return True
    if isinstance(value, Real):
        return is_scalar_nan(value)
    # NaN among decimals, and NaT, differ from themselves.
    differs = value != value
    return isinstance(differs, bool | np.bool_) and bool(differs)
