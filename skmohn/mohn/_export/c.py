"""Formulas as headers in C."""

import json
import math
import textwrap
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn._core._c_names import validate_name
from skmohn._core._fitting import warn_caller
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._export.expressions import columns_of
from skmohn.mohn._export.formula import LEAST_R2, Formula
from skmohn.mohn._export.text import Text, TextWriter

_WIDTH: Final = 84
# Each operation is rounded, and NaN is seen, whatever the flags of the compiler.
_BEFORE = """\
#if defined(__clang__)
#pragma float_control(push)
#pragma float_control(precise, on)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize ("fp-contract=off", "no-fast-math")
#else
#pragma STDC FP_CONTRACT OFF
#endif
"""
_AFTER = """\
#if defined(__clang__)
#pragma float_control(pop)
#elif defined(__GNUC__)
#pragma GCC pop_options
#else
#pragma STDC FP_CONTRACT DEFAULT
#endif
"""
_SUM = """\
static inline @SCORE @sum(
    const @CODE *code, @SCORE constant, const @SCORE *weight,
    const uint16_t *order, const @INDEX *member, uint32_t n)
{
    @SCORE sum = 0;
    uint32_t k;
    uint16_t i;
    for (k = 0; k < n; k++) {
        @SCORE product = weight[k];
        for (i = 0; i < order[k]; i++) product *= code[*member++];
        sum += product;
    }
    return constant + sum;
}
"""


class _Integers(NamedTuple):
    """Weights as integers: the value of a polynomial is a sum over a power of two."""

    scores: list[WalshPolynomial]  # of integers, as floats
    shift: int  # the power of two
    error: float  # largest error of any polynomial by rounding


class _CWriter(TextWriter):
    """Expressions of columns ``x``, codes and scores in C."""

    def column(self, index: int) -> Text:
        """Entry of the row."""
        return Text(f"x[{index}]")

    def code(self, index: int) -> Text:
        """Entry of the codes."""
        return Text(f"code[{index}]")

    def score(self, index: int) -> Text:
        """Entry of the polynomials."""
        return Text(f"score[{index}]")

    def piecewise(self, cases: Sequence[tuple[Text, Text]], otherwise: Text) -> Text:
        """Conditional expression."""
        found = "".join(f"{when.text} ? {then.text} : " for when, then in cases)
        return Text(f"({found}{otherwise.text})")

    def is_missing(self, column: int) -> Text:
        """Whether there is a NaN."""
        return Text(f"x[{column}] != x[{column}]")

    def is_category(self, column: int, number: int) -> Text:
        """Whether there is the number of a category."""
        return Text(f"x[{column}] == {number}.0")

    def all(self, parts: Sequence[Text]) -> Text:
        """Conjunction."""
        return Text(" && ".join(text for text, _ in parts))


def write_c(formula: Formula, name: str, arithmetic: str, bits: int) -> str:
    """Write a header that depends on the standard library alone."""
    validate_name(name)
    integers = None if arithmetic == "double" else _round_weights(formula, bits)
    scores = formula.scores if integers is None else integers.scores
    types = {"CODE": "double", "SCORE": "double", "INPUT": "double"}
    if integers is not None:
        types = {"CODE": "int8_t", "SCORE": f"int{bits}_t", "INPUT": "uint8_t"}
    types["INDEX"] = "uint16_t" if len(formula.codes) < 2**16 else "uint32_t"
    lines = ["#ifndef @NAME@_H", "#define @NAME@_H", "", *_describe(formula, integers)]
    outputs = _write_outputs(formula, integers)
    if any("exp(" in line or "pow(" in line for line in outputs):
        lines += ["", "#include <math.h>"]
    lines += ["", "#include <stdint.h>", ""]
    lines += [f"#define @NAME@_{k} {v}" for k, v in _constants(formula, integers)]
    lines += ["", *_BEFORE.splitlines(), ""]
    for k, score in enumerate(scores):
        lines += _tabulate(k, score, integers is not None)
    if any(score.terms for score in scores):
        lines += [*_SUM.splitlines(), ""]
    lines += [*_write_scores(formula, scores, integers), ""]
    lines += [*outputs, *_AFTER.splitlines(), "", "#endif"]
    text = "\n".join(lines) + "\n"
    for kind, own in types.items():
        text = text.replace(f"@{kind}", own)
    return text.replace("@NAME@", name.upper()).replace("@", f"{name}_")


def _round_weights(formula: Formula, bits: int) -> _Integers:
    """Scale the weights to integers whose sums fit the accumulators."""
    several = [j for j in formula.columns if j not in formula.ends]
    if several:
        raise ValueError(
            'arithmetic="integer" needs columns of two values, but column '
            f'{formula.names[several[0]]!r} has more: use arithmetic="double"'
        )
    if len(formula.columns) < len(formula.codes):
        raise ValueError(
            'arithmetic="integer" needs columns that all targets code alike: export '
            "each of estimators_ separately"
        )
    weights = [np.append(score.weights, score.intercept) for score in formula.scores]
    exact = [Fraction(w).denominator for w in np.concatenate(weights).tolist()]
    # Denominators of floats are powers of two.
    shift, max_code = max(exact).bit_length() - 1, 2 ** (bits - 1) - 1
    largest = max(math.fsum(map(abs, part.tolist())) for part in weights)
    shift = min(shift, bits - math.frexp(largest)[1])
    while max(sum(map(abs, _scale(part, shift))) for part in weights) > max_code:
        shift -= 1
    scaled = [_scale(part, shift) for part in weights]
    errors = [
        sum(
            abs(Fraction(w) - k / Fraction(2) ** shift)
            for w, k in zip(p, q, strict=True)
        )
        for p, q in zip(weights, scaled, strict=True)
    ]
    _warn_of_rounding(formula, list(map(float, errors)), bits)
    scores = [
        WalshPolynomial(score.terms, np.array(own[:-1], dtype=object), own[-1])
        for score, own in zip(formula.scores, scaled, strict=True)
    ]
    return _Integers(scores, shift, float(max(errors)))


def _warn_of_rounding(formula: Formula, errors: list[float], bits: int) -> None:
    """Warn of polynomials whose terms are comparable to rounding errors."""
    cure = "pass accumulator_bits=64" if bits < 64 else 'use arithmetic="double"'
    for k, (score, error) in enumerate(zip(formula.scores, errors, strict=True)):
        # Of all rows that there may be, alike.
        spread = float(np.linalg.norm(score.weights))
        if score.terms and error**2 > (1.0 - LEAST_R2) * spread**2:
            what = "log-odds" if formula.classes else formula.output_names[k]
            warn_caller(
                f"integers of {bits} bits are coarse for {what}: rounding errors are "
                f"up to {error:.2g}, its standard deviation is {spread:.2g}: {cure}"
            )


def _scale(weights: NDArray[np.float64], shift: int) -> list[int]:
    """Integers nearest to weights times a power of two."""
    return [round(Fraction(w) * Fraction(2) ** shift) for w in weights.tolist()]


def _describe(formula: Formula, integers: _Integers | None) -> list[str]:
    """Comment on inputs and outputs."""
    lines = ["Written by skmohn. Inputs are the columns of the table in `fit`:"]
    known = formula.categories.known()
    for j in formula.columns:
        line = f"x[{j}]: {_quote(formula.names[j])}"
        if integers is not None:
            low, high = (_quote(end) for end in formula.ends[j])
            line += f", 0 for {low}, 1 for {high}"
        elif j in known:
            values = enumerate(known[j].tolist())
            line += ": " + ", ".join(f"{k} for {_quote(v)}" for k, v in values)
        lines.append(line)
    missing = "Other numbers" if integers is not None else "NaN and other categories"
    lines += [f"{missing} are missing values; other columns are not read."]
    if integers is not None:
        error = f"{1.005 * integers.error:.3g}"  # rounded up
        lines.append(
            f"Polynomials are integers over 2 to the power of {integers.shift}; no sum "
            f"overflows, and errors by rounding are at most {error}."
        )
    named = enumerate(map(_quote, formula.output_names))
    what = "Outputs" if formula.classes is None else "Classes"
    lines.append(f"{what}: " + ", ".join(f"{k} for {own}" for k, own in named))
    wrapped = [part for line in lines for part in textwrap.wrap(line, _WIDTH)]
    return ["/*", *(f" * {line}" for line in wrapped), " */"]


def _quote(value: object) -> str:
    """Text inside of a comment, which it does not end."""
    text = json.dumps(value if isinstance(value, str) else str(value))
    return text.replace("*/", "*\\/").replace("/*", "/\\*").replace("@", "\\u0040")


def _constants(
    formula: Formula, integers: _Integers | None
) -> Iterable[tuple[str, object]]:
    """Yield macros and their values."""
    yield "INPUTS", len(formula.names)
    if formula.classes is None:
        yield "OUTPUTS", len(formula.outputs)
    else:
        yield "CLASSES", len(formula.classes)
        yield "LABELS", "{" + ", ".join(map(_literal, formula.classes)) + "}"
    if integers is not None:
        yield "SHIFT", f"({integers.shift})"


def _literal(label: Any) -> str:
    """Label in C; text as bytes of UTF-8."""
    if isinstance(label, bool | int):
        return str(int(label))
    if isinstance(label, float):
        return repr(label)
    plain = set(range(32, 127)).difference(b'"\\?@')
    return (
        '"'
        + "".join(
            chr(byte) if byte in plain else f"\\{byte:03o}"
            for byte in str(label).encode("utf-8", "backslashreplace")
        )
        + '"'
    )


def _tabulate(k: int, score: WalshPolynomial, is_integer: bool) -> list[str]:
    """Arrays of the weights and the terms of a polynomial; none without terms."""
    if not score.terms:
        return []
    arrays = {
        f"static const @SCORE @weight{k}": map(_number, score.weights.tolist()),
        f"static const uint16_t @order{k}": map(str, map(len, score.terms)),
        f"static const @INDEX @member{k}": map(str, score.members.tolist()),
    }
    lines = []
    for head, values in arrays.items():
        found = list(values)
        body = textwrap.wrap(", ".join(found), _WIDTH)
        lines += [f"{head}[{len(found)}] = {{", *(f"    {row}" for row in body), "};"]
    return [*lines, ""]


def _number(value: float) -> str:
    """Weight: a float, or an integer of up to 64 bits."""
    if isinstance(value, float):
        return repr(value)
    return f"{value}" if abs(value) < 2**15 else f"{value}LL"


def _write_scores(
    formula: Formula, scores: Sequence[WalshPolynomial], integers: _Integers | None
) -> list[str]:
    """Function of the polynomials."""
    lines = ["static inline void @scores(const @INPUT *x, @SCORE *score)", "{"]
    if formula.codes:
        lines.append(f"    @CODE code[{len(formula.codes)}];")
    for i, (text, _) in enumerate(formula.write_codes(_CWriter())):
        if integers is not None:
            (column,) = columns_of(formula.codes[i])
            text = f"x[{column}] == 1 ? 1 : x[{column}] == 0 ? -1 : 0"
        lines.append(f"    code[{i}] = {text};")
    if not formula.codes:
        lines.append("    (void)x;")
    for k, score in enumerate(scores):
        text = _number(score.intercept)
        if score.terms:
            tables = f"@weight{k}, @order{k}, @member{k}, {len(score.terms)}"
            text = f"@sum(code, {text}, {tables})"
        lines.append(f"    score[{k}] = {text};")
    return [*lines, "}"]


def _write_outputs(formula: Formula, integers: _Integers | None) -> list[str]:
    """Functions of predictions and probabilities."""
    n = len(formula.scores)
    start = [f"    double score[{n}];", "    @scores(x, score);"]
    if integers is not None:
        unit = repr(2.0**-integers.shift)
        start = [
            start[0],
            f"    @SCORE sum[{n}];",
            "    int k;",
            "    @scores(x, sum);",
        ]
        start.append(f"    for (k = 0; k < {n}; k++) score[k] = sum[k] * {unit};")
    writer = _CWriter()
    values = [text for text, _ in formula.write_outputs(writer)]
    if formula.classes is None and len(values) == 1:
        head, body = "double @predict(const @INPUT *x)", [f"    return {values[0]};"]
    elif formula.classes is None:
        head = "void @predict(const @INPUT *x, double *prediction)"
        body = [f"    prediction[{k}] = {text};" for k, text in enumerate(values)]
    else:
        head = "int @predict(const @INPUT *x)"
        cases = [text for text, _ in formula.write_choices(writer)]
        body = [f"    if ({case}) return {k};" for k, case in enumerate(cases)]
        body.append(f"    return {len(cases)};")
    lines = [f"static inline {head}", "{", *start, *body, "}", ""]
    if formula.classes is not None:
        head = "void @probabilities(const @INPUT *x, double *probability)"
        body = [f"    probability[{k}] = {text};" for k, text in enumerate(values)]
        lines += [f"static inline {head}", "{", *start, *body, "}", ""]
    return lines
