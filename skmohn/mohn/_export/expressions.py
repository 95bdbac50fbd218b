"""Expressions of which formulas are made, and their evaluation by numpy."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from skmohn._core._walsh import WalshPolynomial

T = TypeVar("T")


# Equal expressions have equal values, so that each is written once.


@dataclass(frozen=True)
class Number:
    """Finite number."""

    value: float


@dataclass(frozen=True)
class Column:
    """Value of a column of the table; of categories, their number."""

    index: int


@dataclass(frozen=True)
class Code:
    """Coded input of a formula."""

    index: int


@dataclass(frozen=True)
class Score:
    """Polynomial of a formula."""

    index: int


@dataclass(frozen=True)
class Sum:
    """Sum of two expressions or more."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True)
class Product:
    """Product of two expressions or more."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True)
class Quotient:
    """Quotient of two expressions."""

    numerator: "Expression"
    denominator: "Expression"


@dataclass(frozen=True)
class Power:
    """Power of a nonnegative expression."""

    base: "Expression"
    exponent: float


@dataclass(frozen=True)
class Exponential:
    """Exponential function of an expression."""

    exponent: "Expression"


@dataclass(frozen=True)
class Piecewise:
    """Expression of the first condition that holds."""

    cases: tuple[tuple["Condition", "Expression"], ...]
    otherwise: "Expression"


@dataclass(frozen=True)
class IsMissing:
    """Whether the value of a column is missing."""

    column: int


@dataclass(frozen=True)
class Less:
    """Whether one expression is less than another; false where one is missing."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True)
class LessEqual:
    """Whether one expression is at most another; false where one is missing."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True)
class IsCategory:
    """Whether a column has the category of a number."""

    column: int
    number: int


@dataclass(frozen=True)
class All:
    """Whether all conditions hold."""

    parts: tuple["Condition", ...]


Expression: TypeAlias = (
    Number
    | Column
    | Code
    | Score
    | Sum
    | Product
    | Quotient
    | Power
    | Exponential
    | Piecewise
)
Condition: TypeAlias = IsMissing | Less | LessEqual | IsCategory | All


class Writer(Protocol[T]):
    """Translation of each kind of expression to a language or a library."""

    def number(self, value: float) -> T: ...

    def column(self, index: int) -> T: ...

    def code(self, index: int) -> T: ...

    def score(self, index: int) -> T: ...

    def add(self, parts: Sequence[T]) -> T: ...

    def multiply(self, parts: Sequence[T]) -> T: ...

    def divide(self, numerator: T, denominator: T) -> T: ...

    def power(self, base: T, exponent: float) -> T: ...

    def exp(self, exponent: T) -> T: ...

    def piecewise(self, cases: Sequence[tuple[T, T]], otherwise: T) -> T: ...

    def is_missing(self, column: int) -> T: ...

    def less(self, left: T, right: T) -> T: ...

    def less_equal(self, left: T, right: T) -> T: ...

    def is_category(self, column: int, number: int) -> T: ...

    def all(self, parts: Sequence[T]) -> T: ...


def write(node: Expression | Condition, writer: Writer[T]) -> T:
    """Write an expression or a condition, its parts first."""
    match node:
        case Number(value):
            return writer.number(value)
        case Column(index):
            return writer.column(index)
        case Code(index):
            return writer.code(index)
        case Score(index):
            return writer.score(index)
        case Sum(parts):
            return writer.add([write(part, writer) for part in parts])
        case Product(parts):
            return writer.multiply([write(part, writer) for part in parts])
        case Quotient(numerator, denominator):
            return writer.divide(write(numerator, writer), write(denominator, writer))
        case Power(base, exponent):
            return writer.power(write(base, writer), exponent)
        case Exponential(exponent):
            return writer.exp(write(exponent, writer))
        case Piecewise(cases, otherwise):
            written = [
                (write(when, writer), write(then, writer)) for when, then in cases
            ]
            return writer.piecewise(written, write(otherwise, writer))
        case IsMissing(column):
            return writer.is_missing(column)
        case Less(left, right):
            return writer.less(write(left, writer), write(right, writer))
        case LessEqual(left, right):
            return writer.less_equal(write(left, writer), write(right, writer))
        case IsCategory(column, number):
            return writer.is_category(column, number)
        case All(parts):
            return writer.all([write(part, writer) for part in parts])


def columns_of(node: object) -> set[int]:
    """Columns that an expression or a condition reads."""
    match node:
        case Column(column) | IsMissing(column) | IsCategory(column, _):
            return {column}
        case tuple():
            return set().union(*map(columns_of, node))
        case _:
            return set().union(*map(columns_of, getattr(node, "__dict__", {}).values()))


def expand_polynomial(polynomial: WalshPolynomial) -> Expression:
    """Sum of weighted products of codes."""
    parts: list[Expression] = [Number(polynomial.intercept)]
    if polynomial.intercept == 0.0 and polynomial.terms:
        parts = []
    weights = polynomial.weights.tolist()
    for term, weight in zip(polynomial.terms, weights, strict=True):
        parts.append(Product((Number(weight), *map(Code, term))))
    return add(parts)


def add(parts: Sequence[Expression]) -> Expression:
    """Sum of parts, a lone one as it is."""
    return Sum(tuple(parts)) if len(parts) > 1 else parts[0]


def subtract(left: Expression, right: Expression) -> Expression:
    """Difference of two expressions."""
    return Sum((left, Product((Number(-1.0), right))))


class Evaluator:
    """Values of expressions for the rows of a table, by numpy."""

    def __init__(
        self,
        table: NDArray[np.float64],  # (n_rows, n_columns); NaN where missing
        codes: NDArray[np.float64] | None = None,  # (n_rows, n_codes)
        scores: NDArray[np.float64] | None = None,  # (n_rows, n_scores)
    ) -> None:
        self._table, self._codes, self._scores = table, codes, scores

    def number(self, value: float) -> NDArray:
        """Number for all rows."""
        return np.full(len(self._table), value)

    def column(self, index: int) -> NDArray:
        """Column of the table."""
        return self._table[:, index]

    def code(self, index: int) -> NDArray:
        """Coded input."""
        assert self._codes is not None
        return self._codes[:, index]

    def score(self, index: int) -> NDArray:
        """Value of a polynomial."""
        assert self._scores is not None
        return self._scores[:, index]

    def add(self, parts: Sequence[NDArray]) -> NDArray:
        """Sum, from left to right."""
        return reduce(np.add, parts)

    def multiply(self, parts: Sequence[NDArray]) -> NDArray:
        """Product, from left to right."""
        return reduce(np.multiply, parts)

    def divide(self, numerator: NDArray, denominator: NDArray) -> NDArray:
        """Quotient."""
        return numerator / denominator

    def power(self, base: NDArray, exponent: float) -> NDArray:
        """Power; of pieces that do not count, too."""
        with np.errstate(all="ignore"):
            return base**exponent

    def exp(self, exponent: NDArray) -> NDArray:
        """Exponential function; of pieces that do not count, too."""
        with np.errstate(over="ignore"):
            return np.exp(exponent)

    def piecewise(
        self, cases: Sequence[tuple[NDArray, NDArray]], otherwise: NDArray
    ) -> NDArray:
        """Value of the first case that holds."""
        conditions, values = zip(*cases, strict=True)
        return np.select(conditions, values, otherwise)

    def is_missing(self, column: int) -> NDArray:
        """Whether a column is NaN."""
        return np.isnan(self._table[:, column])

    def less(self, left: NDArray, right: NDArray) -> NDArray:
        """Comparison, false of NaN."""
        return left < right

    def less_equal(self, left: NDArray, right: NDArray) -> NDArray:
        """Comparison, false of NaN."""
        return left <= right

    def is_category(self, column: int, number: int) -> NDArray:
        """Whether a column is the number of a category."""
        return self._table[:, column] == number

    def all(self, parts: Sequence[NDArray]) -> NDArray:
        """Conjunction."""
        return np.logical_and.reduce(parts)
