"""Pieces of C that both kinds of arithmetic need."""

import textwrap
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

TYPES = {8: "int8_t", 16: "int16_t", 32: "int32_t"}


def counter(n: int) -> str:
    """Smallest type that counts so far."""
    return "uint8_t" if n < 2**8 else "uint16_t" if n < 2**16 else "uint32_t"


def smallest_type(values: NDArray) -> str:
    """Smallest type of integers that holds all values."""
    kinds = [f"{sign}int{bits}_t" for bits in (8, 16, 32) for sign in ("u", "")]
    return next(
        kind
        for kind in kinds
        if np.iinfo(kind[:-2]).min <= np.min(values)
        and np.max(values) <= np.iinfo(kind[:-2]).max
    )


def number(value: float | np.floating) -> str:
    """Float in C that reads back as the same number in single precision."""
    text = np.format_float_scientific(np.float32(value), unique=True)
    return f"{text}f"


class Array:
    """Constant table in the program memory, or one constant where all are equal."""

    def __init__(
        self,
        name: str,
        values: ArrayLike,  # integers, or floats in single precision
        always: bool = False,  # a table even if all values are equal
    ) -> None:
        self.name, self.values = name, np.ravel(values)
        self.is_float = self.values.dtype.kind == "f"
        self.kind = "float" if self.is_float else smallest_type(self.values)
        self.is_table = always or bool(np.any(self.values != self.values[0]))

    @property
    def nbytes(self) -> int:
        """Bytes in the program memory."""
        if not self.is_table:
            return 0
        width = 32 if self.is_float else np.iinfo(self.kind[:-2]).bits
        return len(self.values) * width // 8

    def at(self, index: str) -> str:
        """Expression of an entry."""
        if not self.is_table:
            return self._text(self.values[0])
        if self.is_float:
            return f"@READ_FLOAT({self.name} + {index})"
        width = np.iinfo(self.kind[:-2]).bits
        cast = "" if self.kind[0] == "u" else f"({self.kind})"
        return f"{cast}@READ{width}({self.name} + {index})"

    def declaration(self) -> list[str]:
        """Table, no lines if there is none."""
        if not self.is_table:
            return []
        values = ", ".join(self._text(value).strip("()") for value in self.values)
        head = f"static const {self.kind} {self.name}[{len(self.values)}] @ROM = {{"
        return [
            head,
            *textwrap.wrap(values, 84, initial_indent="    ", subsequent_indent="    "),
            "};",
        ]

    def _text(self, value: Any) -> str:
        return number(value) if self.is_float else literal(value)


def literal(value: int | np.integer) -> str:
    """Integer literal in C that also fits targets with a 16-bit int."""
    value = int(value)
    if value == -(2**31):
        return "(-2147483647L - 1)"
    suffix = "" if -(2**15) < value < 2**15 else "L" if value < 2**31 else "UL"
    text = f"{value}{suffix}"
    return text if value >= 0 else f"({text})"


def int_literals(values: Iterable[int]) -> list[str]:
    """Integers of up to 64 bits in C, all of one type where 32 are too few."""
    values = [int(value) for value in values]
    if all(-(2**31) <= value < 2**31 for value in values):
        return [literal(value) for value in values]
    suffix = "LL" if max(values) < 2**63 else "ULL"
    return [
        f"{value}{suffix}" if value >= 0 else f"({value}{suffix})" for value in values
    ]


@cache
def _read(name: str) -> tuple[str, ...]:
    """Lines of a file of `c/`."""
    path = files("skmohn.blm._device") / "c" / f"{name}.h"
    return tuple(path.read_text(encoding="ascii").splitlines())


def fill(name: str, /, **values: object) -> list[str]:
    """Lines of a file of `c/`, with values in place of ``$names``."""
    # A list of lines replaces a line that is its name, with the same indentation.
    found = []
    for line in _read(name):
        text = line.lstrip()
        block = values.get(text[1:]) if text.startswith("$") else None
        if isinstance(block, list):
            found += indent(block, (len(line) - len(text)) // 4)
        else:
            found.append(Template(line).substitute(values))
    return found


def indent(lines: Iterable[str], depth: int = 1) -> list[str]:
    """Indent lines."""
    return [f"{'    ' * depth}{line}" if line else "" for line in lines]
