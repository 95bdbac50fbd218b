"""Columns of text: detection, and messages where they are refused."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skmohn._core._fitting import warn_of_table
from skmohn._core._meanings import (
    IT,
    MIN_ORDERED,
    find_cure,
    is_number,
    is_text,
    is_unknown,
    listed,
    read_meaning,
)
from skmohn._core._sklearn import safe_indexing
from skmohn._core._times import column_types, holds_numbers
from skmohn._core._types import TableLike

# Of pandas, polars and arrow, in small letters.
_CATEGORY_TYPES = ("categor", "enum", "dictionary")
_TEXT_TYPES = (*_CATEGORY_TYPES, "string", "large_string")
# Left out is text that differs in so many rows, or more: in fewer it may by chance.
_MIN_IDS: Final = 10
# Of the rows; of names and remarks a few occur twice.
_ID_FRACTION: Final = 0.95


def columns_of_text(X: TableLike) -> list[int]:
    """Columns of a categorical or text type, and of objects with text among them."""
    columns = []
    if holds_numbers(X):
        return columns
    for j, name in enumerate(column_types(X)):
        is_object = name.startswith("object")
        is_text_type = name == "str" or name.startswith(_TEXT_TYPES)
        if is_text_type or (is_object and any(map(is_text, column_values(X, j)))):
            columns.append(j)
    return columns


def refuse_text(X: TableLike, categorical: Iterable[int], why: str) -> None:
    """Name all columns of text, other than numbers, that are not categorical."""
    # `why` is what is wrong, and the cure; ``{is_}``, ``{it}`` in it stand for "is" and
    # "it" of one column, "are" and "them" of several.
    parts, cures = [], {}
    for j in sorted(set(columns_of_text(X)).difference(categorical)):
        values = column_values(X, j)
        text = next(itertools.filterfalse(is_number, filter(is_text, values)), None)
        if text is None:
            continue
        name = list(X.columns)[j] if hasattr(X, "columns") else j
        parts.append(f"column {name} holds text, {text!r}")
        cure = find_cure(values)
        if cure:
            cures.setdefault(cure, []).append(name)
    if parts:
        is_, it = ("is", "it") if len(parts) == 1 else ("are", "them")
        hints = (cure.replace(IT, listed(of)) for cure, of in cures.items())
        raise ValueError(
            "; ".join([listed(parts) + why.format(is_=is_, it=it), *hints])
        )


def screen_text(
    X: TableLike,
    columns: Sequence[int],
    names: Sequence[str],
    owner: str = "",  # of the parameter, see `Categories`
) -> list[int]:
    """Find text that differs in nearly all rows; warn of meanings that are lost."""
    # The columns are those that are read as categories although none were declared.
    types = column_types(X)
    ids, read, left_out = [], [], []  # columns, and messages on two kinds of them
    for j in columns:
        # A type of categories is a wish, but for the order that it may have.
        if types and types[j].startswith(_CATEGORY_TYPES):
            if _is_ordered(X, j):
                read.append(
                    f"column {names[j]} has ordered categories: their codes, such as "
                    "pandas' cat.codes, are numbers that keep the order"
                )
            continue
        known = [value for value in column_values(X, j) if not is_unknown(value)]
        if not known or not all(map(is_text, known)):
            continue
        texts = sorted(set(known))
        is_id = len(texts) >= max(_MIN_IDS, _ID_FRACTION * len(known))
        if is_id:
            ids.append(j)
        else:
            read += [f"column {names[j]} has {alike}" for alike in _spellings(texts)]
        # Two categories have an order.
        if len(texts) < MIN_ORDERED:
            continue
        what, cure, example = read_meaning(texts)
        found = left_out if is_id else read
        if what and cure:
            found.append(
                f"column {names[j]} ({example!r}, ...) is text of {what}: "
                + cure.replace(IT, "it")
            )
        elif is_id:
            found.append(
                f"column {names[j]} ({texts[0]!r}, ...) has a different text in nearly "
                "every row, as names and remarks do"
            )
    messages = []
    if left_out:
        is_, it = _agree(left_out)
        messages.append(
            f"{listed(left_out)}; {is_} left out, since nothing can be learned from "
            f"text that occurs once: name {it} in categorical_features{owner} to read "
            f"{it} as categories"
        )
    if read:
        is_, it = _agree(read)
        messages.append(
            f"{listed(read)}; {is_} read as categories, which have no order: name {it} "
            f"in categorical_features{owner} if that is intended"
        )
    if messages:
        warn_of_table("; ".join(messages))
    return ids


def _agree(columns: Sequence[str]) -> tuple[str, str]:
    """Pronouns of one column or of several."""
    return ("it is", "it") if len(columns) == 1 else ("they are", "them")


def _spellings(texts: Sequence[str]) -> list[str]:
    """Message on categories that are probably the same, if there are any."""
    by_letters = {}
    for text in texts:
        # Single letters may differ by case, as alleles do.
        word = " ".join(text.split())
        by_letters.setdefault(word.lower() if len(word) > 1 else word, []).append(text)
    alike = [group for group in by_letters.values() if len(group) > 1]
    if not alike:
        return []
    *others, last = map(repr, alike[0])
    return [
        f"{', '.join(others)} and {last}, which differ only in case or spaces: "
        "str.strip and str.lower make them one category"
    ]


def column_values(X: TableLike, j: int) -> NDArray[np.object_]:
    """Values of one column as an array of objects."""
    return np.asarray(safe_indexing(X, j, axis=1), dtype=object)


def _is_ordered(X: TableLike, j: int) -> bool:
    dtype = list(X.dtypes)[j]
    is_ordered = getattr(dtype, "ordered", False)
    return bool(is_ordered) and len(dtype.categories) >= MIN_ORDERED
