"""Formulas as queries in SQL."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from skmohn._core._names import unique_names
from skmohn.mohn._export.formula import Formula
from skmohn.mohn._export.text import Text, TextWriter

# Exponents beyond which powers of e are no floats.
_MAX_EXPONENT: Final = 700.0


class Dialect(NamedTuple):
    """Syntax that differs between databases."""

    quotes: str = '""'  # around names; the second one is doubled inside
    double: str = "DOUBLE PRECISION"  # the type of floats
    booleans: tuple[str, str] = ("FALSE", "TRUE")
    # Whether booleans become floats by way of integers alone.
    has_strict_booleans: bool = False
    has_backslashes: bool = False  # whether they begin an escape sequence in texts
    before_text: str = ""

    def name(self, name: str) -> str:
        """Quoted name of a column or a table."""
        if not isinstance(name, str) or not name or "\0" in name:
            raise ValueError(
                f"{name!r} is not a name in SQL: use text that is not empty and has no "
                "NUL"
            )
        first, last = self.quotes
        return first + name.replace(last, 2 * last) + last

    def literal(self, value: Any, owner: str) -> str:
        """Category, or label, of something."""
        if isinstance(value, bool):
            return self.booleans[int(value)]
        if isinstance(value, int | float):
            return repr(value)
        if not isinstance(value, str) or "\0" in value:
            raise ValueError(
                f"SQL has no literal for {value!r} of {owner}: convert it to text "
                "before fit, for instance with astype(str)"
            )
        if self.has_backslashes:
            value = value.replace("\\", "\\\\")
        return f"{self.before_text}'" + value.replace("'", "''") + "'"


DIALECTS = {
    "ansi": Dialect(has_strict_booleans=True),
    "mysql": Dialect("``", "DOUBLE", has_backslashes=True),
    "tsql": Dialect("[]", "FLOAT", ("0", "1"), before_text="N"),
}


class _SQLWriter(TextWriter):
    """Expressions of one SELECT."""

    def __init__(
        self,
        formula: Formula,
        dialect: Dialect,
        alias: str,  # of what is read
        codes: Sequence[str] = (),  # names of the columns that have them
        scores: Sequence[str] = (),
    ) -> None:
        self._formula, self._dialect = formula, dialect
        self._alias = dialect.name(alias)
        self._codes, self._scores = codes, scores

    def read(self, name: str) -> str:
        """Qualified column; without its table SQLite reads some names as text."""
        return f"{self._alias}.{self._dialect.name(name)}"

    def select(
        self, keys: Sequence[str], columns: Iterable[tuple[Text, str]], source: str
    ) -> str:
        """Write the statement."""
        named = [f"{self.read(key)} AS {self._dialect.name(key)}" for key in keys]
        named += [
            f"{text} AS {self._dialect.name(name)}" for (text, _), name in columns
        ]
        if not named:  # of a constant alone
            named = ["1 AS " + self._dialect.name("row")]
        listed = ",\n       ".join(named)
        return f"SELECT {listed}\nFROM {source} AS {self._alias}"

    def column(self, index: int) -> Text:
        """Column as a float."""
        column = self.read(self._formula.names[index])
        is_bool = self._formula.categories.kinds.get(index) == "bool"
        if is_bool and self._dialect.has_strict_booleans:
            column = f"CAST({column} AS INTEGER)"
        return Text(f"CAST({column} AS {self._dialect.double})")

    def code(self, index: int) -> Text:
        """Column of the inner query."""
        return Text(self.read(self._codes[index]))

    def score(self, index: int) -> Text:
        """Column of the inner query."""
        return Text(self.read(self._scores[index]))

    def power(self, base: Text, exponent: float) -> Text:
        """Power."""
        return self.call("POWER", base, self.number(exponent))

    def exp(self, exponent: Text) -> Text:
        """Exponential function, clipped where databases would overflow."""
        low, high = self.number(-_MAX_EXPONENT), self.number(_MAX_EXPONENT)
        cases = [(self.less(exponent, low), low), (self.less(high, exponent), high)]
        return self.call("EXP", self.piecewise(cases, exponent))

    def piecewise(self, cases: Sequence[tuple[Text, Text]], otherwise: Text) -> Text:
        """Case of the first condition that holds."""
        written = "".join(f" WHEN {when.text} THEN {then.text}" for when, then in cases)
        return Text(f"CASE{written} ELSE {otherwise.text} END")

    def is_missing(self, column: int) -> Text:
        """Whether there is a NULL."""
        return Text(f"{self.read(self._formula.names[column])} IS NULL")

    def is_category(self, column: int, number: int) -> Text:
        """Whether a column has a value."""
        name = self._formula.names[column]
        value = self._formula.categories.known()[column].tolist()[number]
        literal = self._dialect.literal(value, f"column {name!r}")
        return Text(f"{self.read(name)} = {literal}")

    def all(self, parts: Sequence[Text]) -> Text:
        """Conjunction."""
        return Text(" AND ".join(text for text, _ in parts))


def write_sql(
    formula: Formula,
    table: str | Sequence[str],
    keys: str | Sequence[str],
    dialect: Dialect,
) -> str:
    """Write a query for predictions: of codes, of polynomials, of outputs."""
    # Each is inside of the next, and hands on the keys.
    keys, parts = _read_names(keys, "keys"), _read_names(table, "table")
    if not parts:
        raise ValueError("table must have a name, or a schema and a name, got none")
    for key, count in Counter(keys).items():
        if count > 1:
            raise ValueError(f"keys has {key!r} {count} times: name each column once")
    taken = {key.casefold() for key in keys}
    codes = unique_names([f"code{k}" for k in range(len(formula.codes))], taken)
    scores = unique_names([f"score{k}" for k in range(len(formula.scores))], taken)
    writer = _SQLWriter(formula, dialect, "given")
    coded = formula.write_codes(writer)
    source = ".".join(map(dialect.name, parts))
    query = writer.select(keys, zip(coded, codes, strict=True), source)
    writer = _SQLWriter(formula, dialect, "coded", codes)
    outputs = formula.write_scores(writer)
    names = formula.output_names
    if not formula.is_plain:
        query = writer.select(keys, zip(outputs, scores, strict=True), _nest(query))
        writer = _SQLWriter(formula, dialect, "scored", scores=scores)
        outputs = formula.write_outputs(writer)
    if formula.classes is not None:
        labels = [Text(dialect.literal(label, "y")) for label in formula.classes]
        cases = formula.write_choices(writer)
        pairs = list(zip(cases, labels[:-1], strict=True))
        outputs.insert(0, writer.piecewise(pairs, labels[-1]))
        names = ["prediction", *(f"probability_{name}" for name in names)]
    return writer.select(
        keys, zip(outputs, unique_names(names, taken), strict=True), _nest(query)
    )


def _read_names(given: str | Sequence[str], parameter: str) -> list[str]:
    """One name or several."""
    found = [given] if isinstance(given, str) else given
    is_sequence = isinstance(found, Sequence) and not isinstance(found, bytes)
    if not is_sequence or not all(isinstance(name, str) for name in found):
        raise TypeError(
            f"{parameter} must be a name or a sequence of names, got {given!r}"
        )
    return list(found)


def _nest(query: str) -> str:
    """Query in parentheses."""
    # Its lines are not indented: names may have line breaks.
    return f"(\n{query}\n)"
