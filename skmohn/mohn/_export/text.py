"""Sums, products and quotients as the text of a programming language."""

from collections.abc import Sequence
from typing import Final, NamedTuple

# Terms of a sum without parentheses: programs limit the depth of expressions.
_MAX_TERMS: Final = 100
SUM, PRODUCT, ATOM = range(3)


class Text(NamedTuple):
    """Expression or condition, and its lowest operator precedence."""

    text: str
    binding: int = ATOM

    def within(self, binding: int) -> str:
        """Text as an operand, in parentheses where precedence asks for them."""
        return f"({self.text})" if self.binding < binding else self.text


class TextWriter:
    """Writer of the syntax that most languages share; see `Writer`."""

    times = " * "
    le = "<="

    def number(self, value: float) -> Text:
        """Shortest digits that read back as the same number."""
        return Text(repr(float(value)), SUM if value < 0.0 else ATOM)

    def add(self, parts: Sequence[Text]) -> Text:
        """Sum, of many parts a sum of sums."""
        while len(parts) > _MAX_TERMS:
            starts = range(0, len(parts), _MAX_TERMS)
            groups = [self.add(parts[k : k + _MAX_TERMS]) for k in starts]
            parts = [Text(f"({group.text})") for group in groups]
        found = parts[0].text
        for text, _ in parts[1:]:
            found += f" - {text[1:]}" if text.startswith("-") else f" + {text}"
        return Text(found, SUM)

    def multiply(self, parts: Sequence[Text]) -> Text:
        """Product, which may begin with a minus."""
        first, *others = parts
        if first == self.number(1.0):
            first, *others = others
        is_negative = first.text.startswith("-") and first.text[1:2] != "("
        if first == self.number(-1.0):
            first, *others = others
            start = f"-{first.within(PRODUCT)}"
        else:
            start = first.text if is_negative else first.within(PRODUCT)
        text = self.times.join([start, *(other.within(PRODUCT) for other in others)])
        return Text(text, SUM if is_negative else PRODUCT)

    def divide(self, numerator: Text, denominator: Text) -> Text:
        """Quotient."""
        top, bottom = numerator.within(PRODUCT), denominator.within(ATOM)
        return Text(f"{top} / {bottom}", PRODUCT)

    def power(self, base: Text, exponent: float) -> Text:
        """Power."""
        return self.call("pow", base, self.number(exponent))

    def exp(self, exponent: Text) -> Text:
        """Exponential function."""
        return self.call("exp", exponent)

    def less(self, left: Text, right: Text) -> Text:
        """Comparison."""
        return Text(f"{left.text} < {right.text}")

    def less_equal(self, left: Text, right: Text) -> Text:
        """Comparison."""
        return Text(f"{left.text} {self.le} {right.text}")

    def call(self, function: str, *arguments: Text) -> Text:
        """Call of a function."""
        return Text(f"{function}({', '.join(text for text, _ in arguments)})")
