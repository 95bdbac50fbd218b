"""Say in architecture.md in which lines the names that it sends readers to are.

``python docs/lines.py`` brings the lines up to date; ``make docs`` calls it first, and
a test fails while one is wrong.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
# As in: `STRATEGIES` (`skmohn/mohn/_strategies.py:97`)
PLACE = re.compile(r"`(?P<name>\w+)`\s+\(`(?P<file>[\w/]+\.py):\d+`\)")


def line_of(name, file):
    """Line in which a file defines a class, function or constant."""
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        defined = [getattr(node, "name", None)]
        if isinstance(node, ast.Assign):
            defined = [ast.unparse(target) for target in node.targets]
        if name in defined:
            return node.lineno
    raise LookupError(f"{file} does not define {name}")


def with_lines(text):
    """Put the lines of today in a text."""
    return PLACE.sub(
        lambda place: re.sub(r"\d+`\)$", f"{line_of(*place.group(1, 2))}`)", place[0]),
        text,
    )


if __name__ == "__main__":
    PAGE.write_text(with_lines(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
