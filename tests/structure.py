"""Figures of the structure, by subpackage: sizes, docstrings, types, long functions.

Usage: python tests/structure.py
"""

import ast
import io
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "skmohn"
LONGEST = 60
NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
COLUMNS = (
    *("files", "code lines", "public docs", "private docs", "module docs"),
    *("arguments", "typed", "results", "typed results", "long functions"),
)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache
def code_lines(source: str) -> frozenset[int]:
    """Lines with code on them: no docstring, comment or blank line."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Definition | ast.Module) and (text := docstring(node)):
            lines.difference_update(range(text.lineno, (text.end_lineno or 0) + 1))
    return frozenset(lines)


def docstring(node: Definition | ast.Module) -> ast.stmt | None:
    """The statement of a docstring."""
    if node.body and isinstance(node.body[0], ast.Expr):
        value = node.body[0].value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return node.body[0]
    return None


def n_lines(text: ast.stmt | None) -> int:
    """Number of lines of a docstring."""
    return 0 if text is None else (text.end_lineno or 0) - text.lineno + 1


def measure(path: Path) -> Counter[str]:
    """Figures of one file."""
    source = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(source), code_lines(source)
    found: Counter[str] = Counter({"files": 1, "code lines": len(lines)})
    found["module docs"] = n_lines(docstring(tree))
    for node in ast.walk(tree):
        if not isinstance(node, Definition):
            continue
        kind = "private" if node.name.startswith("_") else "public"
        found[f"{kind} docs"] += n_lines(docstring(node))
        if isinstance(node, ast.ClassDef) or path.stem.endswith("_kernels"):
            continue
        signature = node.args
        named = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs]
        named = [a for a in named if a.arg not in {"self", "cls"}]
        found["arguments"] += len(named)
        found["typed"] += sum(a.annotation is not None for a in named)
        found["results"] += 1
        found["typed results"] += node.returns is not None
        own = lines.intersection(range(node.lineno, (node.end_lineno or 0) + 1))
        found["long functions"] += len(own) > LONGEST
    return found


def figures() -> dict[str, Counter[str]]:
    """Figures of each subpackage, and of all together."""
    found: dict[str, Counter[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE).parts
        name = inside[0] if len(inside) > 1 else "skmohn"
        found.setdefault(name, Counter()).update(measure(path))
    return found | {"all": sum(found.values(), Counter())}


if __name__ == "__main__":
    print("".join(f"{title:>15}" for title in ("", *COLUMNS)))
    for name, row in figures().items():
        print("".join(f"{cell!s:>15}" for cell in (name, *(row[c] for c in COLUMNS))))
