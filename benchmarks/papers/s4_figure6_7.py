"""Figures 6 and 7: two spirals, learned by the one-step secant method.

The paper trains the 2-20-20-1 network of tanh units with a logistic output by one-step
secant steps (Battiti 1992): about 2000 iterations that hardly gain anything, then the
error falls to zero. It shows the error over time and two maps, one at 2000 iterations
with an RMSE of 0.02, and the last one, in which it sees stripes of overfitting.

**Left open:** the initial weights, the scaling of the inputs, the line search, and when
the training ends. Here weights start uniformly between -0.5 and 0.5, inputs are run as
published (-6.5 to 6.5) and scaled to [-1, 1], the line search is backtracking with a
parabola, and a run ends at an RMSE of 0.005 or after as many iterations as are printed
below. A third row starts within 0.001, as the telescopic search does. *Ours* is the
default search of `BLMClassifier`, with the limits of Figures 8 to 10.

**Unexplained:** nothing for the published method. How many iterations pass before the
error falls depends on the initial weights, which are not printed.
"""

from itertools import islice
from statistics import median

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.shared import blm, common, results
from benchmarks.shared import spirals as data
from benchmarks.shared.report import Report, quartiles
from benchmarks.shared.secant import Network, one_step_secant

SIZES, LOWEST = (2, 20, 20, 1), 0.005
# Name, what inputs are divided by, largest initial weight; the first is drawn.
ROWS = (
    ("one-step secant, raw inputs", 1.0, 0.5),
    ("one-step secant, scaled inputs", data.EDGE, 0.5),
    ("one-step secant, raw inputs, start within .001", 1.0, 0.001),
)
PUBLISHED = ("published: one run", 1, None, "about 2000", None, None, None)
# RMSE of the first map.
MIDDLE = 0.02
# Ten times the iterations after which the paper's error falls; fewer with --quick.
BUDGET = 20_000, 4_000


def main():
    """Print a row for each start, and draw error and maps of the first one."""
    report = Report(
        instances=10,
        quick_instances=2,
        budget=BUDGET,
        unit="iterations",
        paper={"instances": 1, "budget": 2000},
    )
    budget, seeds = report.options.budget, report.options.seeds
    blm.warm_up()
    runs = {}

    def rows():
        yield PUBLISHED
        for name, edge, size in ROWS:
            runs[name] = [train(edge, size, seed, budget) for seed in seeds]
            for seed, run in zip(seeds, runs[name], strict=True):
                ends = {"iterations": len(run["errors"]), "rmse": run["errors"][-1]}
                report.run(name, seed, right=run["right"], **ends)
            yield summary(name, runs[name])
        X, y = data.spirals()
        limit = data.BUDGET[report.options.quick]
        starts = [data.train(X, y, data.OURS, seed, limit) for seed in seeds]
        data.keep(report, "ours", starts)
        yield (
            "ours",
            len(starts),
            sum(start.learned for start in starts),
            None,
            median(start.seconds[-1] for start in starts),
            sum(start.right for start in starts),
            quartiles([start.errors[-1] for start in starts]),
        )

    report.table(
        (
            "method",
            "runs",
            "RMSE < 0.05",
            "iterations until then, median (quartiles)",
            "median seconds until then",
            "all right",
            "RMSE at the end, median (quartiles)",
        ),
        rows(),
    )
    name, edge, _ = ROWS[0]
    figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
    for run in runs[name]:
        ax.plot(run["seconds"], run["errors"], color="#a3202c", alpha=0.6)
    ax.set(xscale="log", xlabel="seconds", ylabel="RMSE", ylim=(0, None))
    report.picture(
        figure, "trace", "The error of each run stays high for a time, then falls to 0"
    )
    run, net = runs[name][0], Network(SIZES, "logistic")
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 4), layout="constrained")
    titles = (f"{k} iterations" for k in (run["middle_at"], len(run["errors"])))
    for ax, title, weights in zip(
        axes, titles, (run["middle"], run["weights"]), strict=True
    ):
        image = data.draw_map(
            ax, lambda plane, weights=weights: net.outputs(weights, plane / edge)
        )
        ax.set_title(title)
    figure.colorbar(image, ax=axes, label="output")
    report.picture(
        figure, "maps", "Maps of the plane with the training points, during and after"
    )


def train(edge, size, seed, budget):
    """Train one network; return errors, seconds and weights."""
    X, y = data.spirals(edge)
    y = y[:, None].astype(float)
    net = Network(SIZES, "logistic")
    start = np.random.default_rng(seed).uniform(-size, size, net.n_weights)
    run, began = {"seconds": [], "errors": []}, common.clock()
    steps = one_step_secant(lambda w: net.loss_and_gradient(w, X, y), start)
    for weights, loss in steps:
        run["seconds"].append(common.clock() - began)
        run["errors"].append(float(np.sqrt(2 * loss / len(X))))
        run["weights"] = weights
        if run["errors"][-1] < MIDDLE and "middle" not in run:
            run["middle"], run["middle_at"] = weights, len(run["errors"])
        if run["errors"][-1] < LOWEST or len(run["errors"]) >= budget:
            break
    run.setdefault("middle", weights)
    run.setdefault("middle_at", len(run["errors"]))
    run["right"] = bool(np.all((net.outputs(run["weights"], X) > 0.5) == y))
    return run


def summary(name, runs):
    """Return a row of the table."""
    firsts = []
    for run in runs:
        below = (k for k, error in enumerate(run["errors"]) if error < data.ENOUGH)
        firsts += [(k + 1, run["seconds"][k]) for k in islice(below, 1)]
    return (
        name,
        len(runs),
        len(firsts),
        quartiles([k for k, _ in firsts], digits=4) if firsts else None,
        median(seconds for _, seconds in firsts) if firsts else None,
        sum(run["right"] for run in runs),
        quartiles([run["errors"][-1] for run in runs]),
    )


if __name__ == "__main__":
    results.record(main)
