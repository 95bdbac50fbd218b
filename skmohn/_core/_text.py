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
# Warned of are categories that differ in all rows: in fewer they may by chance.
_MIN_IDS: Final = 10


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


def warn_of_text(
    X: TableLike,
    columns: Sequence[int],
    names: Sequence[str],
    owner: str = "",  # of the parameter, see `Categories`
) -> None:
    """Warn of text whose meaning categories lose: dates, numbers, names of rows."""
    # The columns are those that are read as categories although none were declared.
    types, found = column_types(X), []
    for j in columns:
        # A type of categories is a wish, but for the order that it may have.
        if types and types[j].startswith(_CATEGORY_TYPES):
            if _is_ordered(X, j):
                found.append(
                    f"column {names[j]} has ordered categories: their codes, such as "
                    "pandas' cat.codes, are numbers that keep the order"
                )
            continue
        values = column_values(X, j)
        known = [value for value in values if not is_unknown(value)]
        texts = sorted(set(filter(is_text, known)))
        # Two categories have an order.
        if len(texts) < MIN_ORDERED or not all(map(is_text, known)):
            continue
        what, cure, example = read_meaning(texts)
        if what and cure:
            found.append(
                f"column {names[j]} ({example!r}, ...) is text of {what}: "
                + cure.replace(IT, "it")
            )
        elif len(texts) == len(known) >= _MIN_IDS:
            found.append(
                f"column {names[j]} ({texts[0]!r}, ...) has another text in each row, "
                "as names and remarks have, from which nothing follows for other rows: "
                "leave it out"
            )
    if found:
        warn_of_table(
            f"{listed(found)}; it is read as categories, which have no order: name "
            f"it in categorical_features{owner} where that is meant"
        )


def column_values(X: TableLike, j: int) -> NDArray[np.object_]:
    """Values of one column as an array of objects."""
    return np.asarray(safe_indexing(X, j, axis=1), dtype=object)


def _is_ordered(X: TableLike, j: int) -> bool:
    dtype = list(X.dtypes)[j]
    is_ordered = getattr(dtype, "ordered", False)
    return bool(is_ordered) and len(dtype.categories) >= MIN_ORDERED
