"""Fields of constants, each with the source of its value."""

from dataclasses import field
from typing import TypeVar

_T = TypeVar("_T")


def tuned(value: _T, source: str) -> _T:
    """Field of a frozen dataclass of constants: a value, and where it comes from."""
    # The source is a script in ``benchmarks/`` that shows what other values cost, a
    # reference with its equation, "rounding" (numerical safety) or "cost" (memory or
    # time alone: results are the same, or only the amount of work changes). Numbers
    # that cannot be chosen, such as those of a format, are ``Final`` instead.
    return field(default=value, metadata={"source": source})
