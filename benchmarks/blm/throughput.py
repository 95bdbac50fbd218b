"""How many flips of weight bits a second, and what the time of a flip depends on.

First table: a search on networks of tanh units with 12-bit weights, squared loss and
random data. Printed are the flips evaluated in a second (accepted ones included), the
full evaluations of the same network by the same kernels in a second, and their ratio:
what the stored rows of the units save. Aimed at are 1.3 million, 400,000 and 70,000
flips a second, and ratios of 20, 60 and 230.

Second table: the microseconds of a flip in the first layer. In each group of rows one
quantity varies, the number of samples, the fan-out (units of the next layer) or the
number of weights, and the other two are fixed. The last row of a group has the fitted
exponent: the slope of the logarithms over its upper half, where what a flip costs
anyway no longer counts. Aimed at are 1 for samples and fan-out and 0 for weights, all
within 0.15. --plot draws the second table (needs matplotlib).
"""

from statistics import median

import numpy as np
from numba import njit

from benchmarks.shared import common, results
from skmohn.blm import _kernels as kernels
from skmohn.blm._codec import auto_bound, grid_step
from skmohn.blm._local_search import Trainer
from skmohn.blm._network import DatasetProblem, Layout, refresh
from skmohn.blm._search import InitOptions, MoveOptions

# Sizes, samples, flips a second aimed at, ratio aimed at.
NETWORKS = (
    ((2, 20, 20, 1), 194, 1.3e6, 20),
    ((10, 40, 1), 2923, 4e5, 60),
    ((16, 100, 1), 15948, 7e4, 230),
)
SAMPLES, FAN_OUT, HIDDEN, WEIGHTS = 1000, 8, 10, 2520
TOLERANCE = 0.15


def make_trainer(sizes, n_samples, seed=0):
    """Random data and how a network of these sizes is trained on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, sizes[0])).astype(np.float32)
    y = rng.standard_normal((n_samples, sizes[-1])).astype(np.float32)
    weights = np.ones(n_samples, dtype=np.float32)
    layout = Layout(tuple(sizes))
    problem = DatasetProblem(
        layout=layout,
        step=layout.spread(grid_step(12, np.full(len(sizes) - 1, 6.0))),
        activation="tanh",
        loss=kernels.SQUARED,
        X=X,
        y=y,
        sample_weight=weights,
    )
    return Trainer(
        problem=problem,
        validation=None,
        moves=MoveOptions(),
        init=InitOptions(layout.spread(auto_bound(sizes[:-1]))),
        perturbation=0.0,
        epoch=10 * layout.n_weights,
        max_flips=10**9,
        tol=1e-4,
        n_iter_no_change=10,
    )


def flips_per_second(trainer, seconds, repeats):
    """Return the flips and the full evaluations a second, medians."""
    flips, full = [], []
    for seed in range(repeats):
        search, problem = trainer.begin([seed]).search, trainer.problem
        net = problem.connect(search.codes * problem.step)
        refresh(net)
        # The rate of the first flips gives how many fill the time.
        spent, _ = common.timed(problem.search, search, net, 100)
        n_flips = int(100 * seconds / spent)
        before = search.state[0].tried
        spent, _ = common.timed(problem.search, search, net, n_flips)
        flips.append((search.state[0].tried - before) / spent)
        n_full = max(int(10 * seconds / common.timed(_evaluate, net, 10)[0]), 3)
        full.append(n_full / common.timed(_evaluate, net, n_full)[0])
    return median(flips), median(full)


def _evaluate(net, times):
    total = 0.0
    for _ in range(times):
        total += refresh(net)
    return total


@njit
def _try_each(network, weights, n_weights, times):
    """Change weights of the first layer, and take it back."""
    total = 0.0
    for i in range(times):
        j = i * 7919 % n_weights
        total += kernels._try_weight(network, j, weights[j] + 0.5)
    return total


def seconds_of_flip(sizes, n_samples, seconds, repeats):
    """Return the median seconds of a flip in the first layer."""
    trainer = make_trainer(sizes, n_samples)
    problem = trainer.problem
    net = problem.connect(trainer.begin([0]).search.codes * problem.step)
    refresh(net)
    n_first = (sizes[0] + 1) * sizes[1]
    change = _try_each, net.address, net.weights, n_first
    _try_each(*change[1:], 10)
    times = max(int(100 * seconds / common.timed(*change, 100)[0]), 10)
    spent, _ = common.timed(*change, times, repeats=repeats)
    return spent / times


def series():
    """Name, values, and for each the sizes and the number of samples."""
    inputs = (WEIGHTS - FAN_OUT * (HIDDEN + 1)) // HIDDEN - 1
    values = [125 * 2**k for k in range(8)]
    yield "samples", values, [((inputs, HIDDEN, FAN_OUT), n) for n in values], 1
    values = [2**k for k in range(8)]
    # Fewer inputs make up for more weights to the next layer.
    shapes = [((WEIGHTS - k * (HIDDEN + 1)) // HIDDEN - 1, HIDDEN, k) for k in values]
    yield "fan-out", values, [(shape, SAMPLES) for shape in shapes], 1
    shapes = [(n, HIDDEN, FAN_OUT) for n in (5, 10, 20, 40, 80, 160, 320, 640)]
    values = [Layout(shape).n_weights for shape in shapes]
    yield "weights", values, [(shape, SAMPLES) for shape in shapes], 0


def slope(values, seconds):
    """Return the exponent over the upper half of the values."""
    half = len(values) // 2
    return np.polyfit(np.log(values[half:]), np.log(seconds[half:]), 1)[0]


def draw(lines, path):
    """Draw the time of a flip against each quantity."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("No plot: matplotlib is not installed.")
        return
    figure = Figure(figsize=(10, 3.3), layout="constrained")
    panels = figure.subplots(1, len(lines), sharey=True)
    for panel, (name, (values, seconds)) in zip(panels, lines.items(), strict=True):
        panel.loglog(values, 1e6 * np.array(seconds), "o-")
        panel.set(xlabel=name, title=f"exponent {slope(values, seconds):.2f}")
        panel.grid(True, which="both", alpha=0.3)
    panels[0].set_ylabel("microseconds of a flip")
    figure.savefig(path)
    print(f"Plot written to {path}.")


def main():
    """Print both tables."""
    options = common.parse_options(
        __doc__,
        instances=5,
        quick_instances=3,
        add_arguments=lambda parser: parser.add_argument(
            "--plot", metavar="FILE", help="draw what the time of a flip depends on"
        ),
    )
    seconds = 0.2 if options.quick else 1.0
    common.warm_up()
    table = common.Table(
        "Flips evaluated per second",
        "network samples flips/s aim full/s ratio aim",
    )
    flips_per_second(make_trainer((2, 2, 2, 1), 20), 0.01, 1)
    for sizes, n_samples, aim, ratio_aim in NETWORKS:
        trainer = make_trainer(sizes, n_samples)
        flips, full = flips_per_second(trainer, seconds, options.instances)
        table.row(
            "-".join(map(str, sizes)),
            n_samples,
            f"{flips:,.0f}",
            f"{aim:,.0f}",
            f"{full:,.0f}",
            flips / full,
            ratio_aim,
            met=flips >= aim and flips / full >= ratio_aim,
        )
    table.close()
    table = common.Table(
        "Time of a flip in the first layer",
        "varied value network samples weights us exponent aim",
        width=10,
    )
    lines = {}
    for name, values, cases, aim in series():
        spent = []
        for value, (sizes, n_samples) in zip(values, cases, strict=True):
            spent.append(
                seconds_of_flip(sizes, n_samples, seconds / 4, options.instances)
            )
            exponent = slope(values, spent) if len(spent) == len(values) else None
            table.row(
                name,
                value,
                "-".join(map(str, sizes)),
                n_samples,
                Layout(sizes).n_weights,
                1e6 * spent[-1],
                None if exponent is None else f"{exponent:.2f}",
                None if exponent is None else aim,
                met=exponent is None or abs(exponent - aim) <= TOLERANCE,
            )
        lines[name] = values, spent
    table.close()
    if options.plot:
        draw(lines, options.plot)


if __name__ == "__main__":
    results.record(main)
