"""Representation of an optimizer of black boxes; its evaluations as a table."""

import reprlib
from collections import Counter
from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn._core._fitting import History
from skmohn.optimize._space import Space


def describe(
    space: Space, maximize: bool, history: History, x: Any, fun: float
) -> list[tuple[str, str]]:
    """Names and values of facts on what is searched and what was found."""
    parts = [f"{space.n_variables:,} variables"]
    parts += [f"{len(space.fixed):,} fixed"] if space.fixed else []
    parts += ["constrained"] if space.is_constrained else []
    counts = Counter(record["source"] for record in history)
    asked = ", ".join(f"{count:,} {source}" for source, count in counts.items())
    facts = [
        ("space", ", ".join(parts)),
        ("goal", "the highest value" if maximize else "the lowest value"),
        ("evaluations", f"{len(history):,} ({asked})" if asked else "0"),
    ]
    if x is not None:
        point = x if space.names_points else x.tolist()
        facts += [("best value", f"{fun:.6g}"), ("best point", reprlib.repr(point))]
    return facts


def to_html(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """Show facts as a table."""
    left = "style='text-align:left'"
    rows = "".join(
        f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(fact)}</td></tr>"
        for name, fact in facts
    )
    return f"<table><caption>{title}</caption>{rows}</table>"


def as_table(space: Space, states: NDArray[np.integer]) -> NDArray:
    """Points as rows that a regressor reads: numbers as such, the rest as text."""
    columns = [
        np.array(
            [v if variable.is_number else str(v) for v in variable.values],
            dtype=float if variable.is_number else object,
        )[column]
        for variable, column in zip(space.variables, states.T, strict=True)
    ]
    return np.stack(columns, axis=1)
