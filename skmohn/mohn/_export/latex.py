"""Formulas in LaTeX."""

from collections.abc import Sequence
from typing import Final

from skmohn.mohn._export.expressions import Expression, Sum, expand_polynomial, write
from skmohn.mohn._export.formula import Formula
from skmohn.mohn._export.text import PRODUCT, Text, TextWriter

# Terms in a line.
_MAX_TERMS: Final = 6
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "{}$&#_%"},
}


class _LaTeXWriter(TextWriter):
    """Expressions in the math mode of amsmath; missing values are left out."""

    times = r" \, "
    le = r"\le"

    def __init__(self, formula: Formula, digits: int | None) -> None:
        self._formula, self._digits = formula, digits

    def number(self, value: float) -> Text:
        """Digits, and the power of ten as such."""
        text = repr(value) if self._digits is None else f"{value:.{self._digits}g}"
        digits, _, exponent = text.removesuffix(".0").partition("e")
        if not exponent:
            return super().number(value)._replace(text=digits)
        return Text(rf"{digits} \times 10^{{{int(exponent)}}}", PRODUCT)

    def column(self, index: int) -> Text:
        """Name of a column."""
        return Text(quote(self._formula.names[index]))

    def code(self, index: int) -> Text:
        """Symbol of a coded input."""
        return Text(f"z_{{{index + 1}}}")

    def score(self, index: int) -> Text:
        """Symbol of a polynomial."""
        return Text(f"f_{{{index + 1}}}")

    def divide(self, numerator: Text, denominator: Text) -> Text:
        """Fraction."""
        return Text(rf"\frac{{{numerator.text}}}{{{denominator.text}}}")

    def power(self, base: Text, exponent: float) -> Text:
        """Power."""
        return Text(rf"\left({base.text}\right)^{{{self.number(exponent).text}}}")

    def exp(self, exponent: Text) -> Text:
        """Exponential function."""
        return Text(rf"\exp\left({exponent.text}\right)")

    def piecewise(self, cases: Sequence[tuple[Text, Text]], otherwise: Text) -> Text:
        """Cases, but for those of missing values."""
        lines = [
            rf"{then.text} & \text{{if }} {when.text}"
            for when, then in cases
            if when.text
        ]
        if not lines:
            return otherwise
        lines.append(rf"{otherwise.text} & \text{{otherwise}}")
        body = r" \\ ".join(lines)
        return Text(rf"\begin{{cases}} {body} \end{{cases}}")

    def is_missing(self, column: int) -> Text:
        """Condition that is left out."""
        return Text("")

    def is_category(self, column: int, number: int) -> Text:
        """Whether a column has a value."""
        value = self._formula.categories.known()[column].tolist()[number]
        return Text(f"{self.column(column).text} = {quote(str(value))}")

    def all(self, parts: Sequence[Text]) -> Text:
        """Conjunction, left out if a part is."""
        found = [text for text, _ in parts]
        return Text(r" \text{ and } ".join(found) if all(found) else "")


def write_latex(formula: Formula, digits: int | None) -> str:
    """Write equations of the outputs, of the polynomials and of the codes."""
    writer = _LaTeXWriter(formula, digits)
    scores = [_break(expand_polynomial(score), writer) for score in formula.scores]
    outputs = [_break(output, writer) for output in formula.outputs]
    names = [quote(name) for name in formula.output_names]
    if formula.classes is not None:
        names = [rf"\Pr({name})" for name in names]
    if formula.is_plain:
        equations = list(zip(names, scores, strict=True))
    else:
        equations = list(zip(names, outputs, strict=True))
        symbols = [writer.score(k).text for k in range(len(scores))]
        equations += zip(symbols, scores, strict=True)
    codes = enumerate(formula.write_codes(writer))
    equations += [(writer.code(i).text, text) for i, (text, _) in codes]
    lines = " \\\\\n".join(f"{left} &= {right}" for left, right in equations)
    return f"\\begin{{aligned}}\n{lines}\n\\end{{aligned}}"


def _break(node: Expression, writer: _LaTeXWriter) -> str:
    """Write an expression, a long sum in lines."""
    if not isinstance(node, Sum):
        return write(node, writer).text
    starts = range(0, len(node.parts), _MAX_TERMS)
    groups = [node.parts[k : k + _MAX_TERMS] for k in starts]
    lines = [write(Sum(group), writer).text for group in groups]
    signed = [f"- {line[1:]}" if line[0] == "-" else f"+ {line}" for line in lines[1:]]
    return " \\\\\n&\\quad ".join([lines[0], *signed])


def quote(name: str) -> str:
    """Name as upright text."""
    # Line breaks and control characters are no part of a line.
    printable = "".join(c if c.isprintable() else " " for c in name)
    return rf"\text{{{''.join(_ESCAPES.get(c, c) for c in printable)}}}"
