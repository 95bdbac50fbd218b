"""Files of a program: a header, and a test of it."""

import string
import textwrap
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skmohn import __version__
from skmohn.blm._device.c_float import FloatWriter
from skmohn.blm._device.c_int import IntWriter
from skmohn.blm._device.c_literals import (
    Array,
    counter,
    fill,
    int_literals,
    literal,
    number,
)
from skmohn.blm._device.c_writer import Program, Writer
from skmohn.blm._device.network import OutputDecoder
from skmohn.blm._device.quantize import IntProgram

_INPUT_TYPES = {"uint8": "uint8_t", "int16": "int16_t", "float32": "float"}


# An AVR counts the bytes of an array with a sign, and without one all that it can read
# of its program memory as here, both in 16 bits.
_MAX_ARRAY_BYTES: Final = 2**15 - 1
_MAX_TABLE_BYTES: Final = 2**16 - 1


def writer_of(program: Program) -> Writer:
    """Writer of a program of either arithmetic."""
    if isinstance(program, IntProgram):
        return IntWriter(program)
    return FloatWriter(program)


def too_large_for_avr(program: Program) -> str:
    """Reason why an AVR cannot have the tables of a program; empty if it can."""
    sizes = [array.nbytes for array in writer_of(program).arrays()]
    if max(sizes) > _MAX_ARRAY_BYTES:
        return f"an array has {max(sizes)} bytes, more than {_MAX_ARRAY_BYTES}"
    if sum(sizes) > _MAX_TABLE_BYTES:
        return f"tables have {sum(sizes)} bytes, more than {_MAX_TABLE_BYTES}"
    return ""


def header(name: str, program: Program, answers: OutputDecoder) -> str:
    """Text of the header."""
    writer = writer_of(program)
    declarations = [line for array in writer.arrays() for line in array.declaration()]
    lines = [
        *_title(name, program, writer),
        "#ifndef @H",
        "#define @H",
        "",
        "#include <stdint.h>",
        "",
        *fill("memory"),
        *_refusal(too_large_for_avr(program)),
        "",
        *_macros(program, writer, answers),
        "",
        *_kinds(program, writer),
        "",
        *declarations,
        "",
        *_rounded(
            [
                *writer.functions(),
                *_predict(program, writer, answers),
                *_probabilities(program, answers),
            ]
        ),
        "#endif",
    ]
    return _named("\n".join(lines) + "\n", name)


def _rounded(functions: list[str]) -> list[str]:
    """Functions in which each operation on floats is rounded, if there are any."""
    if not any("float" in line for line in functions):
        return functions
    # A product that is fused with a sum is not rounded, and gives other bits. GCC fuses
    # wherever a processor can, and knows no standard pragma; its own is for all that
    # is compiled after it, as clang's is: hence both begin and end.
    return fill("float_rounding", functions=functions)


def _named(text: str, name: str) -> str:
    """Replace the marks by the name of the program."""
    parts = text.split("@")
    return parts[0] + "".join(
        (name.upper() if part[:1].isupper() else name) + "_" + part
        for part in parts[1:]
    )


def _title(name: str, program: Program, writer: Writer) -> list[str]:
    sizes = "-".join(str(n) for n in program.network.layout.sizes)
    kind, cut = "in single precision", "of which sums would overflow"
    if isinstance(program, IntProgram):
        kind = f"in integers, activations of {program.bits} bits"
        cut = "beyond the range that the network was made for"
    many = f", mean of {writer.n_members}" if writer.n_members > 1 else ""
    text = (
        f"{name}: a {sizes} network{many}, weights of {program.network.n_bits} bits, "
        f"{kind}. Written by skmohn {__version__}."
    )
    notes = [
        "@run computes the outputs, @predict what they stand for. Inputs "
        f"{cut} are cut."
    ]
    if program.kind == "float32":
        notes.append("What is not a number counts as the mean.")
    if writer.is_recurrent:
        notes.append("A state belongs to one sequence; @reset begins the next one.")
    body = textwrap.wrap(text, 84) + textwrap.wrap(" ".join(notes), 84)
    return ["/*", *(f" * {line}" for line in body), " */"]


def _refusal(reason: str) -> list[str]:
    """Stop a compiler for an AVR with a reason, if there is one."""
    return ["#ifdef __AVR__", f'#error "{reason}"', "#endif"] if reason else []


def _macros(program: Program, writer: Writer, answers: OutputDecoder) -> list[str]:
    lines = [
        f"#define @INPUTS {writer.n_inputs}",
        f"#define @OUTPUTS {writer.sizes[-1]}",
    ]
    if groups := program.network.groups:
        lines.append("/* The last inputs are numbers of categories, below these: */")
        lines.append(f"#define @CATEGORIES {{{', '.join(map(str, groups))}}}")
    if answers.labels is None or answers.has_probabilities:
        lines.append("/* An output stands for output * scale + offset. */")
        for what in ("scale", "offset"):
            # Equal or not in single precision, as in the function that reads them.
            values = getattr(program, f"output_{what}").astype(np.float32)
            macro = f"#define @{what.upper()}"
            if np.all(values == values[0]):
                lines.append(f"{macro} {number(values[0])}")
            else:
                listed = ", ".join(number(value) for value in values)
                lines.append(f"{macro}S {{{listed}}}")
    if answers.labels is not None and not answers.labels.multilabel:
        classes = answers.labels.classes
        lines.append(f"#define @CLASSES {len(classes)}")
        lines.append("/* Labels of the classes that @predict numbers. */")
        lines.append(f"#define @LABELS {{{', '.join(_labels(classes.tolist()))}}}")
    return lines


def _labels(labels: list[Any]) -> list[str]:
    """Labels in C, all of one type: numbers, or texts in quotation marks."""
    if all(isinstance(label, bool | int) for label in labels):
        return int_literals(labels)
    if all(isinstance(label, float) for label in labels):
        return [repr(label) for label in labels]
    return [_text(label) for label in labels]


def _text(label: object) -> str:
    # Others in octal: no character has a meaning of its own in a macro or a string.
    plain = f"{string.ascii_letters}{string.digits} _-+.,:;()[]=".encode()
    text = "".join(
        chr(byte) if byte in plain else f"\\{byte:03o}" for byte in str(label).encode()
    )
    return f'"{text}"'


def _threshold(answers: OutputDecoder) -> str:
    """Threshold of labels in C."""
    return number(answers.threshold) if answers.threshold else "0"


def _kinds(program: Program, writer: Writer) -> list[str]:
    lines = [f"typedef {_INPUT_TYPES[program.kind]} @input;"]
    if writer.is_recurrent:
        size = sum(writer.state_sizes) * writer.n_members
        lines.append(f"typedef struct {{ {writer.code} units[{size}]; }} @state;")
    return [*lines, f"typedef {writer.output} @output;"]


def _predict(program: Program, writer: Writer, answers: OutputDecoder) -> list[str]:
    """Code that decodes outputs."""
    n = writer.sizes[-1]
    state = "state, " if writer.is_recurrent else ""
    run = [f"@output output[{n}];", f"@run({state}input, output);"]
    index = counter(n)
    kind, argument, last = "void", "", []
    if answers.labels is None:
        argument = ", float *values"
        what = "Compute the outputs in the units of the targets."
        scales, offsets = (
            Array(what, getattr(program, f"output_{what}").astype(np.float32))
            for what in ("scale", "offset")
        )
        tables = [
            f"static const float {array.name}s[{n}] = @{array.name.upper()}S;"
            for array in (scales, offsets)
            if array.is_table
        ]
        scale, offset = (
            f"{array.name}s[i]" if array.is_table else f"@{array.name.upper()}"
            for array in (scales, offsets)
        )
        run = [*tables, f"{index} i;", *run]
        last = [
            f"for (i = 0; i < {n}; i++)",
            f"    values[i] = (float)output[i] * {scale} + {offset};",
        ]
    elif answers.labels.multilabel:
        argument = ", uint8_t *labels"
        what = "Compute for each label whether it applies, 0 or 1."
        run = [f"{index} i;", *run]
        last = [
            f"for (i = 0; i < {n}; i++)",
            f"    labels[i] = output[i] > {_threshold(answers)};",
        ]
    elif n == 1:
        kind, what = "uint8_t", "Compute the number of the class, 0 or 1."
        last = [f"return output[0] > {_threshold(answers)};"]
    else:
        kind, what = index, "Compute the number of the class."
        run = [f"{index} i, best = 0;", *run[:1], "@output most;", *run[1:]]
        last = fill("best_class", n=n)
    lines = fill(
        "predict",
        what=what,
        type=kind,
        state=writer.own_state(),
        argument=argument,
        body=[*run, *last],
    )
    return [*lines, ""]


def _probabilities(program: Program, answers: OutputDecoder) -> list[str]:
    """Probabilities of classes; compiled if a macro requests them."""
    labels = answers.labels
    if labels is None or not answers.has_probabilities:
        return []
    n, activation = program.network.layout.sizes[-1], program.network.out_activation
    value = "(float)output[i] * @SCALE + @OFFSET"
    if program.network.answers_raw and activation == "logistic":
        value = f"1.0f / (1.0f + expf(-({value})))"
    index = counter(n + 1)
    lines = []
    if activation == "softmax" and program.network.answers_raw:
        lines += fill("exponentials", n=n)
    else:
        lines.append(f"for (i = 0; i < {n}; i++) probabilities[i] = {value};")
        if labels.one_of_many:
            lines += fill("normalize", n=n)
    if n == 1 and not labels.multilabel:
        lines += [
            "probabilities[1] = probabilities[0];",
            "probabilities[0] = 1.0f - probabilities[1];",
        ]
    return [*fill("probabilities", counter=index, body=lines), ""]


def test_file(
    name: str,
    program: Program,
    # (n_tests, n_inputs); inputs of the device; of recurrent networks one sequence.
    raw: NDArray,
    expected: NDArray,  # (n_tests, n_outputs)
) -> str:
    """Text of a program that compares outputs with those of the emulator."""
    writer = writer_of(program)
    tables = []
    for what, values in (("input", raw), ("output", expected)):
        entry = number if values.dtype.kind == "f" else literal
        tables.append(
            f"static const @{what} {what}s[{len(raw)}][{values.shape[1]}] = {{"
        )
        for row in values:
            listed = ", ".join(entry(value) for value in row)
            tables += textwrap.wrap(
                f"{{{listed}}},", 84, initial_indent="    ", subsequent_indent="     "
            )
        tables.append("};")
    is_recurrent = writer.is_recurrent
    lines = fill(
        "test",
        name=name,
        tables=tables,
        state=["@state state;"] if is_recurrent else [],
        reset=["@reset(&state);"] if is_recurrent else [],
        argument="&state, " if is_recurrent else "",
        n_rows=len(raw),
        n=writer.sizes[-1],
    )
    return _named("\n".join(lines) + "\n", name)
