"""Networks on an ATmega328P: program memory, RAM, cycles, and what rounding costs.

Headers written by `to_c` are compiled by avr-gcc (-Os -mrelax) and run by simavr. Flash
is that of a program that does nothing else, start-up code included; RAM counts its
variables, inputs among them, and the deepest stack below a main that never returns. "C"
is without the assembler that headers have for the product of an input and a weight.

- The digits, 64-20-10, on random 70 % of the rows: agreement of labels with the network
  in double precision, and both accuracies, on the rest; means over the splits.
- The diabetes table, 10-10-1, on random 70 %: the largest difference on the rest, in
  standard deviations of the targets.
- The inverted pendulum, 4-5-1, and from positions alone 2-10-1 recurrent: the compiled
  C balances 50 fresh starts of 1000 s. Printed are falls, and the error as a multiple
  of that of the network in double precision.
- One of 30 categories and four numbers, 34-8-1: as columns of ones and zeros, and by
  its number (`one_hot`).
- Peers on the first split of the digits, if they are there: emlearn's MLP (on an
  ATmega2560, whose RAM holds its weights) and forest, m2cgen's logistic regression,
  micromlgen's tree and forest (of 20 trees, on the same).

Code and weights of the digits with 4 bits on a Cortex-M3 are printed where
arm-none-eabi-gcc is, to be seen beside what interpreters publish. Without avr-gcc and
simavr only agreement is printed, without gcc no pendulum.
"""

import ctypes
import importlib.util
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.shared import avr, common, control, results
from benchmarks.shared.small_peers import by_emlearn, by_m2cgen, by_micromlgen
from skmohn import BLMClassifier, BLMController, BLMRegressor
from skmohn.datasets import InvertedPendulum
from skmohn.datasets._pendulum_kernels import accelerations

# What is aimed at: bytes of flash and RAM, cycles.
AIMS = {
    "digits 4 bit": (2150, 200, 31_000),
    "digits 4 bit, C": (2150, 200, 45_000),
    "digits 2 bit": (1840, 200, 30_000),
    "digits 2 bit, C": (1840, 200, 46_000),
    "digits 4 bit, float32": (4096, 700, 500_000),
    "diabetes 8 bit": (1230, 80, 6_500),
    "pendulum": (1130, 50, 3_200),
    "pendulum, recurrent": (1640, 90, 13_000),
}
# Labels that stay the same, loss of accuracy, standard deviations, factor of errors.
AGREEMENT, LOSS, LARGEST, WORSE = 0.995, 0.002, 0.005, 1.5
# A position reaches some metres, an angle less than three radians.
POSITIONS, VELOCITIES = [1e-3, 1e-4], [1e-3, 1e-3]


def cost_of(device, call=None, plain=False):
    """Flash, RAM and cycles of a device; None without the tools."""
    if avr.missing():
        return None
    name, macro = device.name, device.name.upper()
    is_recurrent = f"{name}_state;" in device.header
    call = call or f"{name}_run({'&state, ' * is_recurrent}in, out)"
    lines = [
        f"#define {macro}_PLAIN_C" if plain else "",
        f'#include "{name}.h"',
        f"static {name}_input in[{macro}_INPUTS];",
        f"static {name}_state state;" if is_recurrent else "",
        f"static {name}_output out[{macro}_OUTPUTS];" if "out)" in call else "",
        "static volatile uint8_t label;" if "label" in call else "",
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{name}.h").write_text(device.header, encoding="ascii")
        return avr.measure(folder, "\n".join(lines), call)


def cortex_bytes(device):
    """Code and weights on a Cortex-M3; None without the tools."""
    if shutil.which("arm-none-eabi-gcc") is None:
        return None
    text = '#include "net.h"\nint answer(net_input *in) { return net_predict(in); }\n'
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "net.h").write_text(device.header, encoding="ascii")
        (Path(folder) / "net.c").write_text(text, encoding="ascii")
        command = ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-Os", "-c"]
        subprocess.run([*command, "-ffreestanding", "net.c"], cwd=folder, check=True)
        command = ["arm-none-eabi-size", "net.o"]
        done = subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True
        )
    return int(done.stdout.splitlines()[1].split()[0])


def figures(name, cost):
    """Cells of a cost, and whether it is what is aimed at."""
    if cost is None:
        return [None] * 3, True
    cells = [cost.flash, cost.ram, cost.cycles]
    aims = AIMS.get(name, (np.inf,) * 3)
    return cells, all(cell <= aim for cell, aim in zip(cells, aims, strict=True))


def fitted(model, *data):
    """Fit without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


def split(X, y, seed):
    return train_test_split(X, y, test_size=0.3, random_state=seed)


def digits(table, options):
    """Rows of the digits."""
    X, y = load_digits(return_X_y=True)
    labels = "label = net_predict(in)"
    found = {}
    for i in range(options.instances):
        X_train, X_test, y_train, y_test = split(X, y, options.seed + i)
        for bits in (4, 2):
            model = BLMClassifier((20,), n_bits=bits, random_state=options.seed + i)
            fitted(model, X_train, y_train)
            wanted, accuracy = model.predict(X_test), model.score(X_test, y_test)
            ways = {"": {"activation_bits": 8}, ", float32": {"arithmetic": "float32"}}
            for suffix, way in ways.items():
                name = f"digits {bits} bit{suffix}"
                device = model.to_c("net", X=X_train, input_type="uint8", **way)
                answers = device.predict(X_test)
                scores = np.mean(answers == wanted), np.mean(answers == y_test)
                found.setdefault(name, []).append((*scores, accuracy))
                if i == 0:
                    found[f"{name} cost"] = cost_of(device, labels)
                    if name == "digits 4 bit":
                        found["cortex"] = cortex_bytes(device)
                    if not suffix:
                        found[f"{name}, C"] = found[name]
                        found[f"{name}, C cost"] = cost_of(device, labels, plain=True)
    for name in AIMS:
        if name not in found:
            continue
        cells, is_small = figures(name, found[f"{name} cost"])
        agreement, ours, whole = np.mean(found[name], axis=0)
        least = 1.0 if "float32" in name else AGREEMENT
        met = is_small and agreement >= least and ours >= whole - LOSS
        shown = (f"{value:.4f}" for value in (agreement, ours, whole))
        table.row(name, *cells, *shown, met=bool(met))

    if found["cortex"]:
        print(f"Code and weights with 4 bits on a Cortex-M3: {found['cortex']} bytes.")


def categories(table, options):
    """Rows of a category of many values."""
    rng = np.random.default_rng(options.seed)
    kinds, numbers = rng.integers(0, 30, 1000), rng.normal(size=(1000, 4))
    y = rng.normal(size=30)[kinds] + numbers[:, 0] > 0
    X = np.column_stack([numbers, np.eye(30)[kinds]])
    model = BLMClassifier((8,), n_bits=4, random_state=options.seed)
    X_train, X_test, y_train, y_test = split(X, y, options.seed)
    fitted(model, X_train, y_train)
    for name, one_hot in (("30 columns", ()), ("by number", [range(4, 34)])):
        units = {"input_type": "int16", "input_scale": 1e-3}
        device = model.to_c("net", X=X_train, one_hot=one_hot, **units)
        cells, _ = figures(name, cost_of(device, "label = net_predict(in)"))
        answers = device.predict(X_test)
        scores = np.mean(answers == model.predict(X_test)), np.mean(answers == y_test)
        shown = (f"{value:.4f}" for value in (*scores, model.score(X_test, y_test)))
        table.row(name, *cells, *shown)


def diabetes(table, options):
    """The row of the diabetes table."""
    X, y = load_diabetes(return_X_y=True)
    errors, cost = [], None
    for i in range(options.instances):
        X_train, X_test, y_train, _ = split(X, y, options.seed + i)
        model = BLMRegressor((10,), n_bits=8, random_state=options.seed + i)
        fitted(model, X_train, y_train)
        unit = {"input_type": "int16", "input_scale": 1e-5}
        device = model.to_c("net", X=X_train, **unit)
        gaps = np.abs(device.predict(X_test) - model.predict(X_test)) / y_train.std()
        errors.append(gaps.max())
        cost = cost or cost_of(device)
    cells, is_small = figures("diabetes 8 bit", cost)
    error = float(np.max(errors))
    met = is_small and error <= LARGEST
    table.row("diabetes 8 bit", *cells, None, error, None, met=met)


_DECIDE = """
#include "net.h"
void reset({state}int n) {{ {reset} }}
void decide({state}const net_input *in, float *force, int n)
{{
    int k;
    for (k = 0; k < n; k++) net_predict({own}in + k * NET_INPUTS, force + k);
}}
"""


def balance(device, system, seed):
    """Errors and falls of the compiled C, on 50 fresh starts of 1000 s."""
    cart = system._cart()
    angles = np.random.RandomState(10_000 + seed).uniform(-0.4, 0.4, 50)
    is_recurrent = "net_state;" in device.header
    parts = {
        "state": "net_state *state, " if is_recurrent else "",
        "own": "state + k, " if is_recurrent else "",
        "reset": "while (n--) net_reset(state + n);" if is_recurrent else "(void)n;",
    }
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "net.h").write_text(device.header, encoding="ascii")
        (folder / "decide.c").write_text(_DECIDE.format(**parts), encoding="ascii")
        flags = ["-std=c99", "-O2", "-shared", "-fPIC"]
        command = ["gcc", *flags, "decide.c", "-o", "decide.so"]
        subprocess.run(command, cwd=folder, check=True)
        library = ctypes.CDLL(str(folder / "decide.so"))
    memory = ctypes.create_string_buffer(4096 * len(angles))
    own = [memory] if is_recurrent else []
    library.reset(*own, len(angles))
    x, velocity, turning = np.zeros((3, len(angles)))
    angle, cost = angles.copy(), np.zeros(len(angles))
    stands, force = np.ones(len(angles), dtype=bool), np.zeros(len(angles), np.float32)
    n_steps = round(1000.0 / cart.time_step)
    for step in range(n_steps):
        if step % cart.hold == 0:
            seen = [x, angle, velocity, turning][: system.n_inputs]
            raw = device._reader.read(np.column_stack(seen))
            raw = np.ascontiguousarray(raw, dtype=np.int16)
            pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (raw, force)]
            library.decide(*own, *pointers, len(angles))
        if step >= cart.n_silent:
            error = angle**2 + cart.position_weight * x**2
            cost += np.where(stands, error, cart.fall_cost)
        push, spin = accelerations(cart, np.sin(angle), np.cos(angle), turning, force)
        x, angle = x + cart.time_step * velocity, angle + cart.time_step * turning
        velocity = velocity + cart.time_step * push
        turning = turning + cart.time_step * spin
        stands &= (np.abs(angle) <= cart.max_angle) & (np.abs(x) <= cart.max_position)
        # What has fallen stays where it is.
        for state in (x, angle, velocity, turning):
            state[~stands] = 0.0
    return float(cost.mean() / (n_steps - cart.n_silent)), int((~stands).sum())


def pendulums(table, options):
    """Rows of the pendulum."""
    rates = {
        "pendulum": (
            BLMController((5,), goal=1e-3, n_restarts=10, random_state=options.seed),
            (InvertedPendulum(n_simulations=16, max_start=0.45),),
        ),
        "pendulum, recurrent": (
            BLMController(
                (10,),
                recurrent=True,
                max_evaluations=500,
                n_restarts=40,
                validation_goal=0.02,
                random_state=options.seed,
            ),
            (control.curriculum("positions"), control.fresh("positions")),
        ),
    }
    for name, (model, objectives) in rates.items():
        fitted(model, *objectives)
        observe = "all" if name == "pendulum" else "positions"
        system = InvertedPendulum(observe)
        units = (POSITIONS + VELOCITIES)[: system.n_inputs]
        seen = []
        for start in (0.45, -0.45, 0.2, -0.1, 0.01):
            path = system.trace(model.policy_, start, duration=30.0)
            columns = path.x, path.angle, path.velocity, path.angular_velocity
            seen.append(np.column_stack(columns)[:: system.hold, : system.n_inputs])
        device = model.to_c(
            "net", X=np.concatenate(seen), input_type="int16", input_scale=units
        )
        whole, _ = control.tested(model.policy_, observe, options.seed)
        error, falls = balance(device, system, options.seed)
        cells, is_small = figures(name, cost_of(device))
        met = is_small and falls == 0 and error <= WORSE * whole
        table.row(name, *cells, falls, error / whole, whole, met=met)


# ------------------------------------------------------------------------------ peers


def peers(table, options):
    """Rows of other packages, on the first split of the digits."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = split(X, y, options.seed)
    ours = MLPClassifier((20,), alpha=1.0, max_iter=600, random_state=0)
    forest = RandomForestClassifier(20, max_leaf_nodes=80, random_state=0)
    linear = LogisticRegression(max_iter=5000)
    tree = DecisionTreeClassifier(max_leaf_nodes=80, random_state=0)
    for model in (ours, forest, linear, tree):
        fitted(model, X_train, y_train)
    rows = [
        ("emlearn MLP", "emlearn", ours, by_emlearn, "atmega2560"),
        ("emlearn forest", "emlearn", forest, by_emlearn, "atmega328p"),
        ("m2cgen linear", "m2cgen", linear, by_m2cgen, "atmega328p"),
        ("micromlgen tree", "micromlgen", tree, by_micromlgen, "atmega328p"),
        ("micromlgen forest", "micromlgen", forest, by_micromlgen, "atmega2560"),
    ]
    for name, package, model, write, mcu in rows:
        if importlib.util.find_spec(package) is None:
            results.leave_out(f"{name}: {package} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            before, call = write(model, Path(folder), X.shape[1])
            cost = avr.measure(folder, before, call, mcu)
        cells, _ = figures(name, cost)
        accuracy = f"{model.score(X_test, y_test):.4f}"
        table.row(name, *cells, None, None, accuracy)


def main():
    """Print the tables."""
    options = common.parse_options(__doc__, instances=5, quick_instances=1)
    common.warm_up()
    if reason := avr.missing():
        results.leave_out(f"flash, RAM and cycles: {reason}")
    table = common.Table(
        f"Labels, {options.instances} splits (categories: one)",
        "network flash RAM cycles agreement accuracy float64",
    )
    digits(table, options)
    categories(table, options)
    table.close()
    table = common.Table(
        "Largest error in standard deviations, or falls and factor of the error",
        "network flash RAM cycles falls error float64",
    )
    diabetes(table, options)
    if shutil.which("gcc"):
        pendulums(table, options)
    else:
        results.leave_out("the pendulum: gcc not found")
    table.close()
    if avr.missing() is None:
        table = common.Table(
            "Peers on the digits", "model flash RAM cycles agreement loss accuracy"
        )
        peers(table, options)
        table.close()


if __name__ == "__main__":
    results.record(main)
