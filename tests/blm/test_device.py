"""Networks as C: numpy's emulator beside what gcc compiles, bit by bit.

Many networks share an executable: it reads inputs and writes outputs as bytes.
"""

import pickle
import re
import runpy
import shutil
import subprocess
import warnings
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skmohn import BLMClassifier, BLMController, BLMRegressor
from skmohn._core._c_names import validate_name
from skmohn.blm._device import calibrate, render
from skmohn.blm._device.calibrate import calibrated
from skmohn.blm._device.emulate_float import in_single, run_float
from skmohn.blm._device.emulate_int import run_int
from skmohn.blm._device.export import OutputDecoder
from skmohn.blm._device.fixed_point import (
    POWERS,
    exponential,
    make_rescale,
    make_shift,
    tanh_curve,
)
from skmohn.blm._device.inputs import RANGES, InputSpec, float_inputs, int_inputs
from skmohn.blm._device.network import Network, split_codes
from skmohn.blm._device.packing import Packing
from skmohn.blm._device.quantize import quantize
from skmohn.blm._labels import Labels
from skmohn.blm._network import Layout

ROOT = Path(__file__).resolve().parents[2]
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
# What is undefined ends the program: to say what it was would take twice as long.
FLAGS = [
    "-std=c99",
    "-pedantic",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-O0",
    "-fsanitize=undefined",
    "-fsanitize-undefined-trap-on-error",
    # All pointers are into arrays of the test, whose size is not known here: to check
    # them would find nothing, and take two seconds.
    "-fno-sanitize=null,alignment,pointer-overflow,object-size",
]
TYPES = {"uint8": np.uint8, "int16": np.int16, "float32": np.float32}
HIDDEN = ["tanh", "logistic", "relu", "step", "identity"]


def compiled(folder, headers, mains, *flags, compiler=("gcc", *FLAGS)):
    """Compile headers with a main function; return the path of the executable."""
    for name, text in headers.items():
        (folder / f"{name}.h").write_text(text, encoding="ascii")
    source = ["#include <stdio.h>"]
    source += [f'#include "{name}.h"' for name in headers]
    source += ["int main(void) {", *mains, "return 0; }"]
    (folder / "all.c").write_text("\n".join(source), encoding="ascii")
    command = [*compiler, *flags, "all.c", "-o", "all", "-lm"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    return folder / "all"


def run_of(name, network, raw):
    """C that runs a network on rows from the input, and writes its outputs."""
    (n_rows, n_in), n_out = raw.shape, network.layout.sizes[-1]
    recurrent = network.layout.recurrent and network.n_layers > 1
    state, reset = "", ""
    if recurrent:
        state, reset = "&state, ", f"{name}_state state; {name}_reset(&state);"
    return f"""{{ int row; {reset}
    for (row = 0; row < {n_rows}; row++) {{
        {name}_input in[{n_in}]; {name}_output out[{n_out}];
        if (fread(in, sizeof in[0], {n_in}, stdin) != {n_in}) return 1;
        {name}_run({state}in, out);
        fwrite(out, sizeof out[0], {n_out}, stdout);
    }} }}"""


def answers_of_c(folder, cases, **options):
    """Outputs of compiled programs on the rows of each, given by name."""
    headers = {
        name: render.header(name, program, OutputDecoder(None))
        for name, (program, _) in cases.items()
    }
    mains = [
        run_of(name, program.network, raw) for name, (program, raw) in cases.items()
    ]
    executable = compiled(folder, headers, mains, **options)
    given = b"".join(
        raw.astype(TYPES[program.kind]).tobytes() for program, raw in cases.values()
    )
    done = subprocess.run([executable], input=given, capture_output=True, check=True)
    assert done.stderr == b"", done.stderr[:2000]
    found, start = {}, 0
    for name, (program, raw) in cases.items():
        kind = np.float32
        if hasattr(program, "output_bits"):
            kind = np.int16 if program.output_bits == 16 else np.int32
        n = len(raw) * program.network.layout.sizes[-1]
        found[name] = np.frombuffer(done.stdout, kind, n, start).reshape(len(raw), -1)
        start += n * np.dtype(kind).itemsize
    assert start == len(done.stdout)
    return found


# ------------------------------------------------------------------- random networks


def random_network(rng, *, of_classes=None):
    """A network of random codes, from shallow to deep and of every kind."""
    of_classes = bool(rng.integers(2)) if of_classes is None else of_classes
    most = int(rng.choice([12, 12, 12, 12, 48]))
    sizes = tuple(rng.integers(1, most, rng.integers(2, 6)).tolist())
    n_bits = int(rng.choice([2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24]))
    layout = Layout(sizes, bool(rng.integers(2)))
    low, high = -(2 ** (n_bits - 1)), 2 ** (n_bits - 1)
    n_members = int(rng.choice([1, 1, 3])) if of_classes else int(rng.choice([1, 2]))
    out_activation = "identity"
    if of_classes:
        out_activation = str(rng.choice(["identity", "logistic", "softmax"]))
    elif n_members == 1:
        out_activation = str(rng.choice(HIDDEN))
    n_layers = len(sizes) - 1
    mean, scale = rng.normal(0.0, 3.0, sizes[0]), 10.0 ** rng.uniform(-2, 2, sizes[0])
    if rng.integers(3) == 0:
        mean, scale = np.full(sizes[0], rng.choice([0.0, mean[0]])), scale[:1]
        scale = np.tile(scale, sizes[0])
    steps = rng.uniform(0.3, 3.0, n_layers) / high
    return Network(
        layout=layout,
        n_bits=n_bits,
        members=[
            split_codes(layout, rng.integers(low, high, layout.n_weights))
            for _ in range(n_members)
        ],
        steps=steps,
        own_steps=steps * rng.choice([0.1, 0.35]),
        activation=str(rng.choice(HIDDEN)),
        out_activation=out_activation,
        input_mean=mean,
        input_scale=scale,
        output_mean=rng.normal(size=sizes[-1]),
        output_scale=rng.uniform(0.1, 10.0, sizes[-1]),
        is_standardized=True,
        tie=float(rng.choice([0.0, 1e-5])),
        labels=Labels(np.arange(max(sizes[-1], 2)), False) if of_classes else None,
        groups=random_groups(rng, sizes[0]),
    )


def random_groups(rng, n_inputs):
    """Sizes of categories: mostly none, some or all of the inputs."""
    if rng.integers(3):
        return ()
    cuts = rng.choice(n_inputs + 1, min(n_inputs + 1, rng.integers(2, 5)), False)
    return tuple(np.diff(np.sort(cuts)).tolist())


def reader_of(rng, network, kind, units):
    """Numbers for a network, of one unit or of several."""
    unit = 10.0 ** rng.uniform(*units, network.n_numbers)
    if rng.integers(3) == 0:
        unit[:] = unit[:1]
    return InputSpec(kind, unit, np.arange(network.layout.sizes[0]), network.groups)


def rows_for(rng, network, reader):
    """Ordinary inputs, then the ends of the type, also against each of the weights."""
    z = rng.normal(0.0, 2.0, (6, network.layout.sizes[0]))
    rows = reader.read_drawn(z * network.input_scale + network.input_mean, rng)
    ends = RANGES.get(reader.kind, (np.float32(-1e12), np.float32(1e12)))
    flat = [np.full((1, rows.shape[1]), end) for end in ends]
    numbers, *ones = np.split(
        network.members[0][0].weights[:4],
        network.n_numbers + np.cumsum((0, *network.groups[:-1])),
        axis=1,
    )
    found = [rows, *flat]
    for sign in (1, -1):
        # Numbers and categories that make the sum of a unit largest, and smallest.
        far = np.where(sign * numbers > 0, ends[1], ends[0])
        picked = [np.argmax(sign * one, axis=1) for one in ones[: len(network.groups)]]
        found.append(np.column_stack([far, *picked]).astype(rows.dtype))
    return np.concatenate(found)


def random_program(rng):
    """A program and rows for it, of either arithmetic."""
    network = random_network(rng)
    kind = str(rng.choice(["uint8", "int16", "float32"]))
    reader = reader_of(rng, network, kind, (-2.0, 1.0))
    raw = rows_for(rng, network, reader)
    if rng.integers(5) == 0:
        return in_single(network, reader), raw
    bits = int(rng.choice([4, 6, 8, 8, 8, 9, 10, 12, 12, 14, 16]))
    peaks = rng.uniform(0.5, 5.0, network.n_layers)
    reach = rng.uniform(1.0, 9.0)
    if rng.integers(2) and network.n_numbers:
        # Steps that are a unit of the first input, or some halves or doubles of it.
        reach = reader.unit[0] / network.input_scale[0] * (2 ** (bits - 1) - 1)
        reach *= 2.0 ** rng.integers(-3, 4)
    by_shifts = bool(rng.integers(2))
    return quantize(network, reader, bits, reach, peaks, by_shifts), raw


def emulated(program, raw):
    run = run_int if hasattr(program, "output_bits") else run_float
    return run(program, raw, np.array([len(raw)]))


@pytest.mark.slow_cases("2-120")
@needs_gcc
@pytest.mark.parametrize(
    ("seed", "n_programs"), [(2, 120), pytest.param(0, 300, marks=pytest.mark.slow)]
)
def test_emulator_equals_c_in_every_bit(tmp_path, seed, n_programs):
    rng = np.random.default_rng(seed)
    cases, widths, loops = {}, set(), set()
    while len(cases) < n_programs:
        try:
            program, raw = random_program(rng)
        except ValueError as error:
            # Only what cannot fit is refused.
            if "32 bits" not in str(error):
                raise
            continue
        cases[f"net{len(cases)}"] = program, raw
        if hasattr(program, "layers"):
            widths.update(layer.accumulator_bits for layer in program.layers)
            writer = render.writer_of(program)
            loops.add((program.network.n_bits, writer.is_small, writer.at_once))
    assert widths == {16, 32}
    for n_bits in (2, 4, 8):
        assert {(n_bits, True), (n_bits, False)} < {loop[:2] for loop in loops}
    assert {loop[2] for loop in loops} == {1, 2}
    found = answers_of_c(tmp_path, cases)
    for name, (program, raw) in cases.items():
        assert_array_equal(found[name], emulated(program, raw), err_msg=name)


# ------------------------------------------------------------------------------ floats

# Compilers of the language with its extensions, which by default fuse what they can.
FUSING = {
    # No integer is made of what it cannot hold, as NaN.
    "gcc": [
        "gcc",
        "-O2",
        "-fsanitize=float-cast-overflow",
        "-fsanitize-undefined-trap-on-error",
    ],
    "gcc fast": ["gcc", "-Ofast"],
    "g++": ["g++", "-x", "c++", "-O2"],
    "clang": ["clang", "-O2"],
}


def wild_rows(rng, rows):
    """Rows, and others with what a table has not: NaN, infinity, the largest floats."""
    rows = rows.astype(np.float32)
    most = np.finfo(np.float32).max
    wild = np.array([np.nan, np.inf, -np.inf, most, -most], dtype=np.float32)
    mixed = np.where(rng.random(rows.shape) < 0.3, rng.choice(wild, rows.shape), rows)
    full = np.repeat(wild[:, None], rows.shape[1], axis=1)
    # Networks with a state go on with ordinary rows.
    return np.concatenate([rows, mixed, full, rows])


def float_cases(rng, n_programs):
    """Programs that read floats, most in single precision, and wild rows for them."""
    cases = {}
    while len(cases) < n_programs:
        network = random_network(rng)
        reader = reader_of(rng, network, "float32", (-2.0, 1.0))
        raw = wild_rows(rng, rows_for(rng, network, reader))
        program = in_single(network, reader)
        if rng.integers(4) == 0:
            peaks = np.ones(network.n_layers)
            try:
                program = quantize(network, reader, 8, 4.0, peaks)
            except ValueError:  # what does not fit 32 bits
                continue
        cases[f"net{len(cases)}"] = program, raw
    return cases


@pytest.mark.slow_cases(r"gcc fast|g\+\+|clang")
@pytest.mark.parametrize("way", FUSING)
def test_floats_equal_c_in_every_bit_whatever_the_input(tmp_path, way):
    compiler = FUSING[way]
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"{compiler[0]} is not there")
    rng = np.random.default_rng(len(way))
    cases = float_cases(rng, 16)
    # The test's own processor may fuse; where the compiler knows none, nothing does.
    help_text = subprocess.run(
        [*compiler[:1], "-mfma", "-E", "-xc", "/dev/null"],
        capture_output=True,
        check=False,
    )
    flags = ["-mfma"] if help_text.returncode == 0 and can_fuse() else []
    found = answers_of_c(
        tmp_path, cases, compiler=[*compiler, *flags, "-Wall", "-Wextra", "-Werror"]
    )
    kinds = set()
    for name, (program, raw) in cases.items():
        wanted = emulated(program, raw)
        assert np.isfinite(wanted).all(), name
        assert_array_equal(found[name], wanted, err_msg=name)
        kinds.add((type(program).__name__, program.network.activation))
    assert len(kinds) >= 6


def can_fuse():
    """Whether this processor has fused products and sums."""
    try:
        return " fma " in Path("/proc/cpuinfo").read_text(encoding="ascii")
    except OSError:
        return False


def test_what_is_not_a_number_counts_as_the_mean():
    rng = np.random.default_rng(1)
    for _ in range(30):
        network = random_network(rng)
        network = replace(network, groups=())
        reader = reader_of(rng, network, "float32", (-1.0, 1.0))
        rows = rows_for(rng, network, reader)[:6].astype(np.float32)
        lost = rng.random(rows.shape) < 0.4
        mean = (network.input_mean / reader.unit).astype(np.float32)
        for program in programs_of(network, reader):
            found = emulated(program, np.where(lost, np.float32(np.nan), rows))
            assert_array_equal(found, emulated(program, np.where(lost, mean, rows)))


def programs_of(network, reader):
    """A network in both kinds of arithmetic, as far as it fits."""
    yield in_single(network, reader)
    with suppress(ValueError):
        yield quantize(network, reader, 8, 4.0, np.ones(network.n_layers))


def test_states_that_would_grow_without_end_are_cut(tmp_path):
    network = random_network(np.random.default_rng(0), of_classes=False)
    layout = Layout((1, 1, 1), recurrent=True)
    for activation in ("identity", "relu"):
        network = replace(
            network,
            layout=layout,
            n_bits=8,
            # Of a unit: bias, input, own; each step doubles the state.
            members=[split_codes(layout, np.array([0, 1, 2, 0, 1]))],
            steps=np.ones(2),
            own_steps=np.ones(2),
            activation=activation,
            out_activation="identity",
            **{
                f"input_{what}": np.full(1, n)
                for what, n in (("mean", 0.0), ("scale", 1.0))
            },
            output_mean=np.zeros(1),
            output_scale=np.ones(1),
            labels=None,
            groups=(),
        )
        program = in_single(network, InputSpec("float32", np.ones(1), np.arange(1)))
        raw = np.ones((300, 1), dtype=np.float32)
        found = emulated(program, raw)[:, 0]
        assert found[:5].tolist() == [1.0, 3.0, 7.0, 15.0, 31.0]
        assert found[-1] == program.limit > 1e30
        if activation == "identity":
            assert emulated(program, -raw)[-1, 0] == -program.limit
        if shutil.which("gcc"):
            cases = {"net": (program, np.vstack([raw, -raw]))}
            wanted = emulated(*cases["net"])
            assert_array_equal(answers_of_c(tmp_path, cases)["net"], wanted)


def test_weights_that_overflow_single_precision_are_refused():
    network = random_network(np.random.default_rng(0), of_classes=False)
    network = replace(network, groups=())
    n_inputs = network.layout.sizes[0]
    reader = InputSpec("float32", np.ones(n_inputs), np.arange(n_inputs))
    limits = []
    for size in (1e-3, 1.0, 1e20, 1e30):
        program = in_single(replace(network, steps=network.steps * size), reader)
        limits.append(program.limit)
        # Powers of two are exact in C; even the largest input leaves sums finite.
        assert np.log2(program.limit) % 1 == 0
        raw = np.full((2, n_inputs), np.float32(3e38)) * np.float32([[1], [-1]])
        assert np.isfinite(emulated(program, raw)).all()
    assert limits == sorted(limits, reverse=True)
    with pytest.raises(ValueError, match="sums overflow single precision: use a small"):
        in_single(replace(network, steps=network.steps * 1e38), reader)


AVR_MAIN = """
#include <avr/io.h>
#include <avr/interrupt.h>
#include <avr/sleep.h>
static int put(char c, FILE *file) {{ (void)file; UDR0 = c; return 0; }}
static FILE serial = FDEV_SETUP_STREAM(put, NULL, _FDEV_SETUP_WRITE);
int main(void)
{{
    stdout = &serial;
    {calls}
    printf("end\\n");
    cli();
    sleep_mode();
    return 0;
}}
"""


def on_avr(folder, tests, *flags):
    """What tests of several headers print on a simulated ATmega328P."""
    source = [
        text.replace("int main(void)", f"static int test_{name}(void)")
        .replace(" inputs[", f" {name}_inputs[", 1)
        .replace(" outputs[", f" {name}_outputs[", 1)
        .replace("inputs[row]", f"{name}_inputs[row]")
        .replace("outputs[row]", f"{name}_outputs[row]")
        for name, text in tests.items()
    ]
    calls = " ".join(f"test_{name}();" for name in tests)
    source.append(AVR_MAIN.format(calls=calls))
    (folder / "all.c").write_text("\n".join(source), encoding="ascii")
    command = ["avr-gcc", "-std=gnu99", "-Wall", "-Werror", "-Os", *flags]
    command += ["-mmcu=atmega328p", "all.c", "-o", "all.elf"]
    subprocess.run(command, cwd=folder, check=True)
    command = ["simavr", "-m", "atmega328p", "-f", "16000000", "all.elf"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout + done.stderr


@pytest.mark.skipif(
    shutil.which("avr-gcc") is None or shutil.which("simavr") is None,
    reason="avr-gcc or simavr is not there",
)
@pytest.mark.parametrize("n_bits", [2, 3, 4, 8, 12, 16])
def test_assembler_equals_the_emulator(tmp_path, n_bits):
    rng, tests, plain = np.random.default_rng(n_bits), {}, set()
    for bits in (4, 8, 12):
        base = random_network(rng, of_classes=False)
        layout = Layout((5, 4, 2), recurrent=bits == 12)
        half = 2 ** (n_bits - 1)
        codes = rng.integers(-half, half, layout.n_weights)
        steps = np.full(2, 2.0 / half)
        network = replace(
            base,
            layout=layout,
            n_bits=n_bits,
            members=[split_codes(layout, codes)],
            steps=steps,
            own_steps=steps / 10.0,
            activation="tanh",
            out_activation="identity",
            input_mean=rng.normal(size=5),
            input_scale=np.ones(5),
            output_mean=np.zeros(2),
            output_scale=np.ones(2),
            groups=(2, 1) if bits == 8 else (),
        )
        unit = np.full(network.n_numbers, 1e-3)
        reader = InputSpec("int16", unit, np.arange(5), network.groups)
        name = f"net{bits}"
        program = quantize(network, reader, bits, 4.0, np.ones(1))
        raw = rows_for(rng, network, reader)
        header = render.header(name, program, OutputDecoder(None))
        (tmp_path / f"{name}.h").write_text(header, encoding="ascii")
        tests[name] = render.test_file(name, program, raw, emulated(program, raw))
        plain.add(f"-D{name.upper()}_PLAIN_C")
        assert "__asm__" in header
    for flags in (plain, ()):
        printed = on_avr(tmp_path, tests, *flags)
        assert printed.count(": 0 of ") == 3, printed
        assert "end" in printed


# ------------------------------------------------------------------------- estimators


RNG = np.random.default_rng(7)
X = RNG.normal(size=(90, 4)) * [1.0, 0.2, 30.0, 5.0] + [0.0, 1.0, 100.0, -3.0]
UNIT = np.array([1e-3, 1e-4, 0.02, 2e-3])
Y = X[:, 0] + 3 * X[:, 1] - 0.02 * X[:, 2]
CLASSES = np.array(["a", 'say "b"', "ä@?"])[np.digitize(Y, [0.5, 1.5])]
LABELS = np.column_stack([Y > 1, X[:, 0] > 0, X[:, 3] > -3]).astype(int)
CALM = (X - X.mean(axis=0)) / X.std(axis=0)
SEQUENCES = X.reshape(18, 5, 4)
QUICK = {"n_bits": 8, "max_flips": 3000, "alpha": 0.0, "random_state": 0}
MODELS = {
    "many": (BLMClassifier((5,)), X, CLASSES),
    "two": (BLMClassifier((5,)), X, Y > 1),
    "squared": (BLMClassifier((5,), loss="squared"), X, CLASSES),
    "hinge": (BLMClassifier((5, 4), loss="hinge", activation="relu"), X, CLASSES),
    "labels": (BLMClassifier((5,), activation="logistic"), X, LABELS),
    "together": (BLMClassifier((4,), n_restarts=3, ensemble=3), X, CLASSES),
    "pair": (BLMClassifier((4,), n_restarts=2, ensemble=2), X, Y > 1),
    "steps": (BLMClassifier((9,), activation="step"), X, CLASSES),
    "linear": (BLMClassifier(()), X, CLASSES),
    "one": (BLMRegressor((5,)), X, Y),
    "both": (BLMRegressor((5,), n_restarts=2, ensemble=2), X, X[:, :2] * [1.0, 9.0]),
    "deep": (BLMRegressor((4, 3, 3), activation="relu"), X, Y),
    "own": (BLMRegressor((5,), standardize=False), CALM, Y),
    "by_step": (BLMRegressor((5,), recurrent="steps"), SEQUENCES, Y.reshape(18, 5)),
    "by_end": (
        BLMClassifier((5,), recurrent="sequences", n_restarts=2, ensemble=2),
        SEQUENCES,
        CLASSES[::5],
    ),
}


def rate(policy, rng, incumbent):
    """A loss for controllers: be near the mean of what was seen."""
    state, action, total = policy.initial_state(), np.empty(2), 0.0
    for row in CALM:
        policy.step(row, state, action)
        total += (action[0] - 0.3 * row[0]) ** 2 + (action[1] + 0.2 * row[1]) ** 2
    return total


@pytest.fixture(scope="module")
def fitted():
    """All models, and what they are used on."""
    found = {}
    for name, (model, rows, y) in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found[name] = model.set_params(**QUICK).fit(rows, y), rows
    options = {"n_inputs": 4, "n_outputs": 2, "max_evaluations": 300, "random_state": 0}
    found["steers"] = BLMController((3,), **options).fit(rate), CALM
    model = BLMController((3,), True, out_activation="tanh", **options)
    found["recalls"] = model.fit(rate), CALM
    return found


def made(fitted, arithmetic, input_type, **options):
    """All models as devices."""
    found = {}
    for name, (model, rows) in fitted.items():
        unit = UNIT if rows is X or rows is SEQUENCES else 1e-3
        found[name] = model.to_c(
            name,
            arithmetic=arithmetic,
            X=rows,
            input_type=input_type,
            input_scale=1.0 if input_type == "float32" else unit,
            **options,
        )
    return found


def predict_of(device, rows):
    """C that predicts rows and writes answers and probabilities; how many of both."""
    name, answers, network = device.name, device._answers, device._program.network
    n_in, n_out = network.layout.sizes[0], network.layout.sizes[-1]
    n_steps = rows.shape[1] if rows.ndim == 3 else len(rows)
    state = kept = reset = proba = ""
    if network.layout.recurrent:
        state, kept = "&state, ", f"{name}_state state, before;"
        # Probabilities are asked for at the same step.
        reset = f"if (row % {n_steps} == 0)\n{name}_reset(&state);\nbefore = state;"
    many = answers.labels is None or answers.labels.multilabel
    kind = "float" if answers.labels is None else "uint8_t"
    n_all = n_out if many else 1
    call = f"{name}_predict({state}in, all)"
    if not many:
        call = f"all[0] = {name}_predict({state}in)"
    n_proba = 0
    if answers.has_probabilities:
        n_proba = n_out if many else len(answers.labels.classes)
        proba = f"""{name}_run({state.replace("state", "before")}in, out);
            {name}_probabilities(out, p);"""
    return (
        n_all + n_proba,
        f"""{{ int row; {kept}
    for (row = 0; row < {len(rows.reshape(-1, n_in))}; row++) {{
        {name}_input in[{n_in}]; {name}_output out[{n_out}];
        {kind} all[{n_all}]; float p[{max(n_proba, 1)}]; int k;
        if (fread(in, sizeof in[0], {n_in}, stdin) != {n_in}) return 1;
        {reset}
        {call};
        for (k = 0; k < {n_all}; k++) {{
            float f = all[k]; fwrite(&f, 4, 1, stdout); }}
        {proba}
        fwrite(p, 4, {n_proba}, stdout); (void)out; {kept and "(void)before;"}
    }} }}""",
    )


def answers_of(tmp_path, devices, fitted):
    """What compiled devices answer to rows: values or classes, and probabilities."""
    pairs = {
        name: predict_of(device, fitted[name][1]) for name, device in devices.items()
    }
    headers = {
        name: f"#define {name.upper()}_WITH_PROBABILITIES\n{device.header}"
        for name, device in devices.items()
    }
    executable = compiled(tmp_path, headers, [text for _, text in pairs.values()])
    given = b""
    for name, device in devices.items():
        raw = device._reader.read(fitted[name][1].reshape(-1, 4))
        given += raw.astype(TYPES[device._program.kind]).tobytes()
    done = subprocess.run([executable], input=given, capture_output=True, check=True)
    found, start = {}, 0
    for name, (width, _) in pairs.items():
        n = fitted[name][1].reshape(-1, 4).shape[0]
        table = np.frombuffer(done.stdout, np.float32, n * width, start)
        found[name], start = table.reshape(n, width), start + 4 * n * width
    return found


@pytest.mark.slow_cases("integer-float32")
@needs_gcc
@pytest.mark.parametrize(
    ("arithmetic", "input_type"),
    [("integer", "int16"), ("integer", "float32"), ("float32", "float32")],
)
def test_devices_answer_as_estimators_do(tmp_path, fitted, arithmetic, input_type):
    bits = {"activation_bits": 12} if arithmetic == "integer" else {}
    devices = made(fitted, arithmetic, input_type, **bits)
    found = answers_of(tmp_path, devices, fitted)
    is_float = arithmetic == "float32"
    for name, device in devices.items():
        model, rows = fitted[name]
        predicted, answers = device.predict(rows), device._answers
        assert predicted.shape == model.predict(rows).shape
        ends = slice(4, None, 5) if name == "by_end" else slice(None)
        if answers.labels is None:
            values = predicted.reshape(len(found[name]), -1)
            assert_array_equal(found[name], values.astype(np.float32), err_msg=name)
            # Controllers have large weights that take much of each other.
            most = 0.05 if isinstance(model, BLMController) else 0.02
            assert device.largest_error < (1e-5 if is_float else most), name
            continue
        assert device.agreement >= (1.0 if is_float else 0.97), name
        n = 3 if name == "labels" else 1
        classes = found[name][ends, :n].astype(int)
        wanted = predicted if n == 3 else model.classes_[classes[:, 0]]
        assert_array_equal(classes if n == 3 else wanted, predicted, err_msg=name)
        if answers.has_probabilities:
            proba = found[name][ends, n:]
            tolerance = 2e-5 if is_float else 0.02
            assert_allclose(proba, model.predict_proba(rows), atol=tolerance)


def build_and_run(folder, name):
    """Compile a test that was written to a folder; return how many rows differ."""
    command = ["gcc", *FLAGS, f"{name}_test.c", "-o", name]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([folder / name], capture_output=True, text=True, check=False)
    assert f"{name}: {done.returncode} of " in done.stdout
    return done.returncode


@needs_gcc
@pytest.mark.parametrize("arithmetic", ["integer", "float32"])
@pytest.mark.parametrize("name", ["many", "recalls"])
def test_written_test_finds_what_differs(tmp_path, fitted, name, arithmetic):
    model, rows = fitted[name]
    options = {"input_type": "int16", "input_scale": 1e-2, "arithmetic": arithmetic}
    device = model.to_c(name, tmp_path, X=rows, **options)
    assert (tmp_path / f"{name}.h").read_text() == device.header
    assert build_and_run(tmp_path, name) == 0
    sound = "return s < 0 ? -y : y;" if arithmetic == "integer" else "x * p / q"
    broken = device.header.replace(sound, "return y;" if "s < 0" in sound else "p / q")
    assert broken != device.header
    (tmp_path / f"{name}.h").write_text(broken)
    assert build_and_run(tmp_path, name) > 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not there")
def test_headers_are_in_one_program_also_in_cpp(tmp_path, fitted):
    devices = made(fitted, "integer", "int16")
    for name, device in devices.items():
        text = f"#define {name.upper()}_WITH_PROBABILITIES\n{device.header}"
        (tmp_path / f"{name}.h").write_text(text, encoding="ascii")
    source = "".join(f'#include "{name}.h"\n' for name in devices)
    for file, rest in (("one", "int one(void) { return 0; }"), ("all", "")):
        rest = rest or "int one(void); int main(void) { return one(); }"
        (tmp_path / f"{file}.cpp").write_text(source + rest, encoding="ascii")
    command = ["g++", "-std=c++17", "-O0", "-Wall", "-Wextra", "-Wconversion"]
    command += ["-Werror", "one.cpp", "all.cpp", "-o", "all"]
    subprocess.run(command, cwd=tmp_path, check=True)


ON_ARM = """
#include "net.h"
static const net_input inputs[N][NET_INPUTS] = INPUTS;
static const net_output outputs[N][NET_OUTPUTS] = OUTPUTS;
/* A call to the debugger, which the emulator answers. */
static void call(int number, const void *value)
{
    register int r0 __asm__("r0") = number;
    register const void *r1 __asm__("r1") = value;
    __asm__ volatile ("bkpt 0xab" : "+r" (r0) : "r" (r1) : "memory");
}
void reset(void)
{
    int row, k, wrong = 0;
    for (row = 0; row < N; row++) {
        net_output output[NET_OUTPUTS];
        net_run(inputs[row], output);
        for (k = 0; k < NET_OUTPUTS; k++) wrong += output[k] != outputs[row][k];
    }
    call(4, wrong ? "differ\\n" : "equal\\n");
    for (;;) call(0x18, (const void *)0x20026);
}
__attribute__((section(".vectors"), used))
static const void *const vectors[2] = {(void *)0x20010000, (void *)reset};
"""
ARM_LINKING = """
SECTIONS { .text 0 : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } }
"""


# Arithmetic, and what the compiler has to know; one of them has units that fuse.
CORTEX = {
    "cortex-m0plus": ("integer", []),
    "cortex-m4": ("integer", []),
    "cortex-m4 with floats": ("float32", ["-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]),
}
# Floats have to be allowed first.
ALLOW_FLOATS = '*(volatile unsigned *)0xE000ED88 |= 15u << 20; __asm volatile("isb");'


@pytest.mark.slow_cases("cortex-m0plus")
@pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None
    or shutil.which("qemu-system-arm") is None,
    reason="arm-none-eabi-gcc or qemu-system-arm is not there",
)
@pytest.mark.parametrize("cpu", CORTEX)
def test_cortex_equals_the_emulator(tmp_path, fitted, cpu):
    arithmetic, flags = CORTEX[cpu]
    for name in ("many", "deep", "labels"):
        model, rows = fitted[name]
        device = model.to_c(
            "net",
            tmp_path,
            X=rows,
            input_type="int16",
            input_scale=UNIT,
            arithmetic=arithmetic,
        )
        raw, found = device._reader.read(rows), device.run(rows)
        lists = [
            "{" + ",".join("{" + ",".join(map(str, row)) + "}" for row in table) + "}"
            for table in (raw.tolist(), found.tolist())
        ]
        text = ON_ARM.replace("INPUTS;", f"{lists[0]};", 1)
        text = text.replace("OUTPUTS;", f"{lists[1]};", 1)
        if flags:
            text = text.replace("void reset(void)\n{", "static void go(void)\n{")
            text = text.replace(
                "__attribute__((section",
                f"void reset(void) {{ {ALLOW_FLOATS} go(); }}\n__attribute__((section",
                1,
            )
        (tmp_path / "main.c").write_text(f"#define N {len(rows)}\n{text}")
        (tmp_path / "map.ld").write_text(ARM_LINKING)
        command = ["arm-none-eabi-gcc", f"-mcpu={cpu.split()[0]}", "-mthumb", "-Os"]
        command += ["-Wall", *flags]
        command += ["-ffreestanding", "-nostdlib", "-T", "map.ld", "main.c"]
        command += ["-o", "main.elf", "-lgcc"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        command = ["qemu-system-arm", "-M", "mps2-an386", "-nographic"]
        command += ["-semihosting-config", "enable=on,target=native"]
        done = subprocess.run(
            [*command, "-kernel", "main.elf"],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        printed = done.stdout + done.stderr
        assert "equal" in printed, printed
        assert "differ" not in printed


def test_files_that_are_not_asked_for(tmp_path, fitted):
    model, rows = fitted["many"]
    device = model.to_c("net", tmp_path, X=rows, n_tests=0)
    assert device.test == ""
    assert [path.name for path in tmp_path.iterdir()] == ["net.h"]
    assert "net_test" in model.to_c("net").test.replace("net.h", "net_test")


def test_bits_of_activations(fitted):
    model, rows = fitted["many"]
    assert model.to_c("x").activation_bits == 10
    assert model.to_c("x", X=rows).activation_bits == 8
    # Integers this coarse lose labels, whatever the activations.
    coarse = {"input_type": "int16", "input_scale": [3.0, 0.3, 90.0, 9.0]}
    with pytest.warns(UserWarning, match=r"which is low: input_scale is 3\.\d sta"):
        device = model.to_c("x", X=rows, **coarse)
    assert device.activation_bits == 10
    assert device.agreement < 0.995
    assert model.to_c("x", activation_bits=14).activation_bits == 14
    for name in ("one", "by_step", "by_end", "steers"):
        model, rows = fitted[name]
        assert model.to_c("x", X=rows).activation_bits == 12
    assert model.to_c("x", X=rows, arithmetic="float32").activation_bits is None


def test_a_device_keeps_its_network(fitted):
    model, rows = fitted["two"]
    model = pickle.loads(pickle.dumps(model))
    device = model.to_c("x", X=rows)
    before = device.predict(rows)
    model.set_params(random_state=3, n_bits=2).fit(rows, Y < 1)
    assert_array_equal(device.predict(rows), before)
    assert_array_equal(pickle.loads(pickle.dumps(device)).predict(rows), before)
    assert repr(device) == (
        f"<x.h: {device.weight_bytes} bytes of weights, {device.table_bytes} of "
        f"tables; {device.agreement:.2%} of 90 labels are those of the estimator>"
    )
    device = model.to_c("x")
    assert repr(device).endswith(f"{device.table_bytes} of tables>")


def test_inputs_beyond_the_range_are_cut(fitted):
    model, rows = fitted["one"]
    device = model.to_c("x", X=rows)
    far = rows.mean(axis=0) + 1e3 * rows.std(axis=0)
    assert_array_equal(device.run([far]), device.run([far * 1e6]))
    with pytest.warns(UserWarning, match=r"'uint8' cannot hold, in \['x2'\]"):
        model.to_c("x", X=np.array([[0.0, 255.4, 255.6, -0.4]]), input_type="uint8")
    with (
        pytest.warns(UserWarning, match=r"'uint8' cannot hold, in \['x0', 'x3'\]"),
        pytest.warns(UserWarning, match=r"is 5\.9 standard deviations of column 'x1'"),
    ):
        device = model.to_c("x", X=rows, input_type="uint8")
    assert_array_equal(device.run([[300.0] * 4]), device.run([[255.0] * 4]))
    assert_array_equal(device.run([[-9.0] * 4]), device.run([[0.0] * 4]))


@pytest.mark.parametrize(
    "name", ["", "1st", "a-b", "a b", "_x", "ä", "a.h", "x" * 32, "a\n", "Net", "nET"]
)
def test_names_that_c_does_not_know(fitted, name):
    with pytest.raises(ValueError, match="name must be a C identifier of at most 31"):
        fitted["one"][0].to_c(name)


@pytest.mark.parametrize(
    "name",
    ["stdint", "stdio", "math", "stddef", "stdarg", "features", "newlib", "poll"],
)
def test_names_of_headers_of_libraries(fitted, name):
    with pytest.raises(
        ValueError, match=f"would include this {name}.h instead: choose"
    ):
        fitted["one"][0].to_c(name)


@pytest.mark.parametrize("name", ["aux", "con", "nul", "com1", "lpt9"])
def test_names_that_are_no_files_on_windows(fitted, name):
    with pytest.raises(ValueError, match="is a device on Windows"):
        fitted["one"][0].to_c(name)


@needs_gcc
@pytest.mark.slow
def test_headers_of_this_computer_may_be_in_one_folder(tmp_path):
    # Whatever name is allowed, the compiler's own headers find each other.
    probe = subprocess.run(
        ["gcc", "-E", "-v", "-xc", "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
    )
    folders = re.search(r"starts here:\n( .*?)End of", probe.stderr, re.DOTALL)[1]
    names = {
        path.stem
        for folder in folders.replace("#include <...> search starts here:", "").split()
        for path in Path(folder).glob("*.h")
        if re.fullmatch(r"[a-z][a-z0-9_]{0,30}", path.stem)
    }
    included = [
        "stdio",
        "stdlib",
        "string",
        "math",
        "stdint",
        "stddef",
        "float",
        "limits",
    ]
    source = "".join(f"#include <{name}.h>\n" for name in included)
    allowed = []
    for name in sorted(names):
        try:
            validate_name(name)
        except ValueError:
            continue
        allowed.append(name)
        (tmp_path / f"{name}.h").write_text("typedef int lost;\n")
    (tmp_path / "all.c").write_text(f"{source}int main(void) {{ return 0; }}")
    command = ["gcc", "-I.", "-c", "all.c"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert len(names) > len(allowed) > 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": np.full((2, 4), np.inf)}, "contains infinity"),
        ({"X": np.zeros((2, 3))}, "X has 3 features"),
        ({"input_scale": 0.0}, "input_scale must be a positive number"),
        ({"input_scale": [1.0, 2.0]}, "one for each of the 4 inputs"),
        (
            {"input_scale": [1.0, 2.0, -1.0, 1.0]},
            "input_scale must be a positive number",
        ),
        ({"input_scale": np.nan}, "input_scale contains NaN"),
        ({"input_scale": 1e-300}, "input_scale must be of the order of the numbers"),
        (
            {"input_scale": 1e300, "arithmetic": "float32"},
            "input_scale must be of the order of the numbers",
        ),
        (
            {"X": X * 1e9},
            r"X is up to .*e\+\d\d standard deviations away from the mean .*"
            r"in columns \[0, 1, 2, 3\]",
        ),
        ({"X": X * [1.0, 1.0, 1e9, 1.0]}, r"in columns \[2\], so that integers cannot"),
        ({"input_type": "int8"}, "'input_type' parameter of to_c must be a str among"),
        ({"arithmetic": "float16"}, "'arithmetic' parameter of to_c must be"),
        (
            {"activation_bits": 3},
            r"'activation_bits' parameter .* in the range \[4, 16\]",
        ),
        ({"activation_bits": 17}, "'activation_bits' parameter"),
        ({"n_tests": -1}, "'n_tests' parameter"),
        (
            {"arithmetic": "float32", "activation_bits": 8},
            "activation_bits=8 is for integers",
        ),
        ({"path": 3}, "'path' parameter"),
    ],
)
def test_parameters_that_cannot_be(fitted, options, message):
    with pytest.raises(ValueError, match=message):
        fitted["one"][0].to_c("net", **options)


def test_only_fitted_networks_are_written():
    for model in (BLMRegressor(), BLMClassifier(), BLMController()):
        with pytest.raises(NotFittedError):
            model.to_c("net")


def test_ranges_that_nothing_tells(fitted):
    controller, own = fitted["steers"][0], fitted["own"][0]
    for model in (controller, own):
        with pytest.raises(ValueError, match="range of the inputs is not known"):
            model.to_c("net")
        device = model.to_c("net", input_type="int16", input_scale=1e-4)
        assert device.predict(CALM[:3]).shape[0] == 3
    model = BLMRegressor((3,), recurrent="steps", activation="relu", **QUICK)
    model.set_params(max_flips=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(SEQUENCES, Y.reshape(18, 5))
    with pytest.raises(ValueError, match="depends on the sequences"):
        model.to_c("net")
    assert model.to_c("net", X=SEQUENCES).largest_error < 0.1


def test_rows_that_do_not_differ(fitted):
    for name in ("one", "many"):
        model = fitted[name][0]
        device = model.to_c("net", X=model.input_scaler_.mean_[None])
        near = model.input_scaler_.mean_ + 0.5 * model.input_scaler_.scale_
        answers = device.predict([near]) == model.predict([near])
        difference = (
            0.0 if name == "many" else device.predict([near]) - model.predict([near])
        )
        assert answers.all() or abs(difference) < 0.02


def quickly(model, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.set_params(**{**QUICK, "max_flips": 300, **options}).fit(*data)


def test_targets_that_differ_less_than_single_precision():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    targets = np.column_stack([y, (1.0 + 1e-12) * y])
    header = quickly(BLMRegressor((2,)), X, targets).to_c("net", X=X).header
    used = set(re.findall(r"\bNET_(?:SCALE|OFFSET)S?\b", header))
    defined = set(re.findall(r"#define (NET_(?:SCALE|OFFSET)S?)\b", header))
    assert used == defined == {"NET_SCALE", "NET_OFFSET"}


@pytest.mark.parametrize("arithmetic", ["integer", "float32"])
@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_targets_that_single_precision_does_not_hold(arithmetic, unit):
    model = quickly(BLMRegressor((3,)), X, Y * unit)
    with pytest.raises(ValueError, match=r"targets are of the order of .*e.60, which"):
        model.to_c("net", X=X, arithmetic=arithmetic)


@pytest.mark.parametrize("name", ["many", "one", "deep"])
def test_a_row_far_away_does_not_decide(fitted, name):
    model, rows = fitted[name]
    far = rows.mean(axis=0) + 1e5 * rows.std(axis=0)
    # Its own answer is lost.
    is_moved = name == "deep"
    low = r"which is low: raise activation_bits=12, .* drop rows of X"
    expect = pytest.warns(UserWarning, match=low) if is_moved else nullcontext()
    with expect:
        device = model.to_c("net", X=np.vstack([rows, far]))
    found, wanted = device.predict(rows), model.predict(rows)
    if name == "many":
        assert np.mean(found == wanted) > 0.97
    else:
        most = 0.1 if is_moved else 0.05
        assert np.abs(found - wanted).max() < most * wanted.std()


def test_units_that_are_never_active():
    network = random_network(np.random.default_rng(3), of_classes=False)
    layout, codes = Layout((4, 1, 1, 1)), np.array([-3, 0, 0, 0, 0, 3, -3, 3, 3])
    network = replace(
        network,
        layout=layout,
        n_bits=8,
        members=[split_codes(layout, codes)],
        steps=np.full(3, 0.1),
        own_steps=np.full(3, 0.01),
        activation="relu",
        out_activation="identity",
        input_mean=np.zeros(4),
        input_scale=np.ones(4),
        output_mean=np.zeros(1),
        output_scale=np.ones(1),
        groups=(),
    )
    reader = InputSpec("float32", np.ones(4), np.arange(4))
    rows = RNG.normal(size=(20, 4))
    program = calibrated(network, reader, 12, rows, np.array([20]))
    found = run_int(program, rows, np.array([20])) * program.output_scale
    wanted = run_float(in_single(network, reader), rows, np.array([20]))
    assert_allclose(found, wanted, atol=0.01)


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ([0, 2**40, -(2**40)], "{(-1099511627776LL), 0LL, 1099511627776LL}"),
        (
            np.array([1, 2, 2**63], dtype=np.uint64),
            "{1ULL, 2ULL, 9223372036854775808ULL}",
        ),
        ([-1, 5, 9], "{(-1), 5, 9}"),
        ([0.0, 1.0, 2.0], "{0.0, 1.0, 2.0}"),
        (["\\", "??/", "é"], r'{"\077\077\057", "\134", "\303\251"}'),
    ],
)
def test_labels_are_of_one_type(labels, wanted):
    y = np.asarray(labels)[np.arange(len(X)) % 3]
    model = quickly(BLMClassifier((2,)), X, y)
    device = model.to_c("net", n_tests=0)
    assert f"#define NET_LABELS {wanted}\n" in device.header


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_errors_where_answers_do_not_differ(unit):
    # In standard deviations of the targets; those of the answers are of rounding.
    model = quickly(BLMRegressor((3,)), X, Y * unit)
    rows = np.repeat(X[:1], 9, axis=0) * (1.0 + 1e-15 * np.arange(9)[:, None])
    error = model.to_c("net", X=rows).largest_error
    differences = model.to_c("net", X=rows).predict(rows) - model.predict(rows)
    assert_allclose(error, np.abs(differences).max() / (Y.std() * unit), rtol=1e-6)


@needs_gcc
def test_falls_of_sums_are_up_to_twice_as_large_as_sums(tmp_path):
    # One class at the largest sum, another one at its negative: what stands for e^-d is
    # not proven for half of that difference alone.
    base, layout = (
        random_network(np.random.default_rng(0), of_classes=True),
        Layout((2, 3)),
    )
    codes = np.array([0, 127, 127, 0, -127, -127, 0, 5, 1])
    cases = {}
    for nats in (0.5, 3.0, 6.0, 8.0, 10.0, 12.0, 30.0):
        network = replace(
            base,
            layout=layout,
            n_bits=8,
            members=[split_codes(layout, codes)] * 2,
            steps=np.full(1, nats / 254.0),
            own_steps=np.full(1, 0.1),
            out_activation="softmax",
            input_mean=np.zeros(2),
            input_scale=np.ones(2),
            output_mean=np.zeros(3),
            output_scale=np.ones(3),
            labels=Labels(np.arange(3), False),
            groups=(),
        )
        reader = InputSpec("int16", np.full(2, 1e-3), np.arange(2))
        program = quantize(network, reader, 8, 1.0, np.zeros(0))
        rescale, largest = program.layers[0].rescale, 2 * 254 * 127
        falls = np.arange(largest + 1)
        below = falls if rescale.limit is None else falls[falls < rescale.limit]
        sizes = below >> rescale.pre
        assert sizes.max() < 2**16
        assert (sizes * rescale.factor + ((1 << rescale.shift) >> 1)).max() < 2**32
        assert rescale(falls).max() < 2**16
        raw = np.array([[1, 1], [1000, 1000], [-1000, 1000], [700, 500], [-999, -1000]])
        cases[f"net{len(cases)}"] = program, raw
    found = answers_of_c(tmp_path, cases)
    for name, (program, raw) in cases.items():
        assert_array_equal(found[name], emulated(program, raw))


@pytest.mark.parametrize(
    ("worse", "is_worth"), [(1.0, 1), (1.19, 1), (1.21, 0), (2, 0)]
)
def test_shorter_code_may_cost_a_fifth_of_the_squared_error(
    monkeypatch, worse, is_worth
):
    network = random_network(np.random.default_rng(3), of_classes=True)
    layout = Layout((2, 2, 3))
    network = replace(
        network,
        layout=layout,
        n_bits=4,
        members=[split_codes(layout, np.ones(layout.n_weights, dtype=int))],
        steps=np.ones(2),
        own_steps=np.ones(2),
        activation="relu",
        out_activation="softmax",
        input_mean=np.full(2, 0.1),
        input_scale=np.ones(2),
        output_mean=np.zeros(3),
        output_scale=np.ones(3),
        labels=Labels(np.arange(3), False),
        groups=(),
    )
    reader, made = InputSpec("float32", np.ones(2), np.arange(2)), []
    rows = RNG.uniform(-1.0, 1.0, (30, 2))
    exact = run_float(in_single(network, reader), reader.read(rows), np.array([30]))

    def quantized(*given):
        made.append((quantize(*given), given[-1] is True))
        return made[-1][0]

    def with_errors(program, raw, lengths):
        by_shifts = made[-1][1]
        difference = 1e-3 * np.sqrt(worse if by_shifts else 1.0)
        return (exact + difference - program.output_offset) / program.output_scale

    monkeypatch.setattr(calibrate, "quantize", quantized)
    monkeypatch.setattr(calibrate, "run_int", with_errors)
    best = calibrated(network, reader, 8, rows, np.array([30]))
    assert [by_shifts for program, by_shifts in made if program is best] == [
        bool(is_worth)
    ]
    assert {by_shifts for _, by_shifts in made} == {True, False}


def test_networks_that_do_not_fit():
    model = BLMRegressor((30,), **{**QUICK, "n_bits": 24, "max_flips": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y)
    with pytest.raises(ValueError, match="which 32 bits cannot hold: lower activation"):
        model.to_c("net")
    assert model.to_c("net", X=X, arithmetic="float32").largest_error < 1e-5


# ----------------------------------------------------------------------------- pieces


def without_casts(expression):
    return re.sub(r"\(u?int\d+_t\)|(?<=\d)L\b|;", "", expression)


@pytest.mark.parametrize("n_bits", range(2, 25))
@pytest.mark.parametrize("n", [1, 8, 13])
def test_packed_codes_are_found_again(n_bits, n):
    codes = RNG.integers(-(2 ** (n_bits - 1)), 2 ** (n_bits - 1), (3, n))
    packing = Packing(n_bits)
    packed = packing.pack(codes)
    assert len(packed) == 3 * packing.row_bytes(n)
    lines, fields = packing.unpacked()
    assert len(lines) == packing.bytes_of_group
    found = []
    for start in range(0, len(packed), packing.bytes_of_group):
        group = [int(byte) for byte in packed[start:][: packing.bytes_of_group]]
        names = {f"c{k}": byte for k, byte in enumerate(group)}
        # The expressions of C are those of Python, but for the casts.
        for stored, after in fields:
            found.append(eval(without_casts(packing.code(stored)), names))
            for line in after:
                exec(without_casts(line), names)
    found = np.reshape(found, (3, -1))
    if packing.is_signed:
        found = (found + 2 ** (n_bits - 1)) % 2**n_bits - 2 ** (n_bits - 1)
    assert_array_equal(found[:, :n], codes)
    assert not found[:, n:].any()
    assert packing.row_bytes(8) == n_bits


@pytest.mark.parametrize("bits", range(4, 17))
def test_table_of_the_hyperbolic_tangent(bits):
    top = 2 ** (bits - 1) - 1
    curve = tanh_curve(top)
    positions = np.arange(curve.end + 1)
    exact = top * np.tanh(positions * curve.step / 256)
    # Rounded are the points and what is between them; finer steps are not to be had
    # with more than 13 bits.
    most = 1.5 if bits < 14 else 2.7
    assert np.abs(curve(positions) - exact).max() < most
    assert curve(np.array([0, curve.end])).tolist() == [0, top]
    assert np.all(np.diff(curve(positions)) >= 0)


def test_powers():
    positions = np.arange(2**16)
    exact = (2**15 - 1) * np.exp(-positions * POWERS.step / 256)
    assert np.abs(exponential(positions) - exact).max() < 10


@pytest.mark.parametrize("seed", range(40))
def test_sizes_in_other_units(seed):
    rng = np.random.default_rng(seed)
    ratio = 10 ** rng.uniform(-6, 3)
    largest = int(10 ** rng.uniform(2, 9))
    top = int(rng.choice([127, 2047, 20000, 65535]))
    rescale = make_rescale(ratio, largest, top, 256)
    sizes = np.unique(rng.integers(0, largest + 1, 2000))
    found = rescale(sizes)
    wanted = np.minimum(sizes * ratio, top)
    # Factors have eight bits at least, unless what they scale has fewer.
    assert np.abs(found - wanted).max() <= 1 + top / 256
    below = sizes if rescale.limit is None else sizes[sizes < rescale.limit]
    products = (below >> rescale.pre) * rescale.factor + ((1 << rescale.shift) >> 1)
    assert products.max(initial=0) < 2**32
    assert (below >> rescale.pre).max(initial=0) < 2**16


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["uint8", "int16", "float32"])
def test_inputs_are_rounded_to_codes(seed, kind):
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    network, top = replace(network, groups=()), int(rng.choice([7, 127, 2047]))
    reader = reader_of(rng, network, kind, (-3.0, 1.0))
    prepare = float_inputs if kind == "float32" else int_inputs
    inputs = prepare(reader, network, scale := rng.uniform(1.0, 9.0) / top, top)
    raw = rows_for(rng, network, reader)[:8]
    z = (raw * reader.unit - network.input_mean) / network.input_scale
    # A unit may be so large that its inputs are beyond all codes but for zero.
    fine = reader.unit / (network.input_scale * scale) < top
    wanted = np.clip(z / scale - inputs.offset, -top, top)
    differences = np.abs(inputs.codes(raw) - wanted)[:, fine]
    # Rounding moves a code by a half, that of a factor by one at most.
    assert differences.max(initial=0.0) <= 1.51


@pytest.mark.parametrize("power", [-6, -1, 0, 1, 5, 18, 30])
@pytest.mark.parametrize("top", [7, 127, 32767])
def test_sizes_that_are_shifted(power, top):
    largest = 2**31 - 1
    rescale = make_shift(power, largest, top)
    sizes = np.unique((2.0 ** RNG.uniform(0.0, 31.0, 2000)).astype(int))
    # Halves are rounded up.
    wanted = np.floor(sizes * 2.0**-power + 0.5)
    assert_array_equal(rescale(sizes), np.minimum(wanted, top))


def test_ratios_that_are_too_large():
    with pytest.raises(ValueError, match="cannot be scaled in 32 bits"):
        make_rescale(1e9, 2**30, 2**31 - 1, 256)


@pytest.mark.slow
@needs_gcc
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not there")
def test_example_project(tmp_path, monkeypatch):
    project = ROOT / "examples" / "device"
    for path in project.iterdir():
        if path.suffix in (".c", ".py") or path.name == "Makefile":
            shutil.copy(path, tmp_path)
    # A shorter search makes the same programs.
    script = (tmp_path / "write.py").read_text(encoding="utf-8")
    shorter = script.replace(
        "tol=0.03, n_iter_no_change=2", "tol=0.3, n_iter_no_change=1"
    )
    assert shorter != script
    (tmp_path / "write.py").write_text(shorter, encoding="utf-8")
    # Here, where all is imported and compiled, it takes half as long as in a process.
    monkeypatch.chdir(tmp_path)
    runpy.run_path("write.py")
    Path("written").touch()
    done = subprocess.run(["make"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "digits: 0 of 16 rows differ" in done.stdout
    assert "largest angle in the last 50 s: 0.00" in done.stdout
    if shutil.which("avr-gcc"):
        subprocess.run(["make", "avr"], cwd=tmp_path, capture_output=True, check=True)
        assert (tmp_path / "digits.hex").exists()
