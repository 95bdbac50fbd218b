"""What the scripts about S4's control experiments share: settings, runs, pictures."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.shared import common, control
from benchmarks.shared.report import Report, quartiles
from skmohn import BLMController, SearchOptions
from skmohn.blm import Stage
from skmohn.datasets import InvertedPendulum

# Without limits, simulations go on to the end whatever happens.
TO_THE_END = {"max_angle": np.inf, "max_position": np.inf}
# Two readings of S4, which does not say what follows a fall.
SIMULATIONS = {"to the end": TO_THE_END, "falls end": {}}
# A test error below this is a success.
GOOD = 0.1
# Evaluations of a run, fewer with --quick: S4 names no limit, its runs end at local
# minima. Published runs that reach this many are counted as cut.
BUDGET = 10_000, 200


class Whole(InvertedPendulum):
    """The pendulum without early ends: it simulates whatever there is to beat."""

    def __call__(self, policy, rng, incumbent):
        """Error of a policy."""
        return super().__call__(policy, rng)


class Run(NamedTuple):
    """A controller that was trained, and how it did."""

    policy: object
    validation: float
    error: float  # on 50 fresh starts of 1000 s, falls charged
    falls: int  # of these 50
    seconds: float
    evaluations: int
    restarts: int
    bits: int  # movable at the end
    cut: bool  # by the budget


class Counted:
    """An objective that counts its evaluations."""

    def __init__(self, objective):
        self.objective = objective
        self.n_inputs, self.n_outputs = objective.n_inputs, objective.n_outputs
        self.n_evaluations = 0

    def __call__(self, policy, rng, incumbent):
        """Return the loss of a policy."""
        self.n_evaluations += 1
        return self.objective(policy, rng, incumbent)


class StopAfter:
    """Callback that ends a fit after so many evaluations, those of restarts included.

    It looks whenever the validation objective has been called.
    """

    def __init__(self, budget, objectives):
        self.budget, self.objectives = budget, objectives

    @property
    def is_over(self):
        """Whether the budget is used."""
        used = sum(objective.n_evaluations for objective in self.objectives)
        return used >= self.budget

    def setup(self, estimator, context):
        """Do nothing."""

    def on_fit_task_begin(self, estimator, context):
        """Do nothing."""

    def on_fit_task_end(self, estimator, context):
        """Return whether to end."""
        return self.is_over

    def teardown(self, estimator, context):
        """Do nothing."""


def published(units, observe, n_bits=16, **changes):
    """Return a controller with S4's settings; positions alone mean a recurrent one."""
    settings = {
        "recurrent": observe == "positions",
        "n_bits": n_bits,
        "w_max": 10.0,
        "w_max_recurrent": 10.0,
        "search": "gray",
        "search_options": SearchOptions(
            w_init=0.01, telescopic="threshold", phi=0.1, eta=0.95, freeze="binary"
        ),
        "perturbation": 0,
        "validate_every": 100,
        "n_restarts": 1,
        # Runs end at local minima, or by StopAfter.
        "max_evaluations": 10**9,
    }
    return BLMController((units,), **{**settings, **changes})


def published_task(observe, simulation):
    """Return S4's pendulum with one of the readings of what a fall does."""
    return Whole(observe, starts="random", **SIMULATIONS[simulation])


def train(controller, objectives, observe, seed, budget):
    """Train for at most so many evaluations, and test."""
    first, *validation = objectives
    stages = first if isinstance(first, list) else [Stage(first)]
    counted = [replace(stage, objective=Counted(stage.objective)) for stage in stages]
    stop = StopAfter(budget, [stage.objective for stage in counted])
    controller.set_params(random_state=seed).set_callbacks(stop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spent, _ = common.timed(controller.fit, counted, *validation)
    error, falls = control.tested(controller.policy_, observe, seed)
    return Run(
        policy=controller.policy_,
        validation=controller.loss_,
        error=error,
        falls=falls,
        seconds=spent,
        evaluations=controller.n_evaluations_,
        restarts=controller.n_restarts_,
        bits=controller.history_[-1]["bits"],
        cut=stop.is_over,
    )


def train_all(make, objectives, observe, seeds, budget):
    """Return a run for each seed.

    Parameters
    ----------
    make : callable
        Returns a controller.
    objectives : tuple
        What it is fitted to.
    observe : {"all", "positions"}
    seeds : iterable of int
    budget : int
        Evaluations of each run, its restarts included.
    """
    return [train(make(), objectives, observe, seed, budget) for seed in seeds]


def keep(report, name, runs):
    """Add the runs, with their seeds, to the results."""
    for seed, run in zip(report.options.seeds, runs, strict=True):
        values = {k: v for k, v in run._asdict().items() if k != "policy"}
        report.run(name, seed, **values)


def best(runs):
    """Return the run that its own validation likes best."""
    return min(runs, key=lambda run: run.validation)


def n_good(runs):
    """Return how many tests have a small error."""
    return sum(run.error < GOOD for run in runs)


def seconds_per_success(runs):
    """Return what all runs took for each small error; NaN without any."""
    return sum(run.seconds for run in runs) / n_good(runs) if n_good(runs) else np.nan


class Case(NamedTuple):
    """A network of a figure.

    Parameters
    ----------
    name : str
        "" where there is one only.
    observe : {"all", "positions"}
    units, n_bits : int
        Of the published network.
    ours : callable
        Returns our controller.
    objectives : tuple
        What ours is fitted to.
    """

    name: str
    observe: str
    units: int
    n_bits: int
    ours: Callable
    objectives: tuple


def with_complete_feedback(n_bits, ours):
    """Return the network of Figures 16 and 17; ours is tried on wider starts."""
    objectives = (
        InvertedPendulum("all", 16, max_start=0.45),
        control.fresh("all", max_start=0.45),
    )
    return Case("", "all", 5, n_bits, ours, objectives)


def print_figure(published_error, cases, shown_seconds):
    """Print and draw the section of a figure that shows one controller.

    Parameters
    ----------
    published_error : str
    cases : sequence of Case
        The first one is drawn.
    shown_seconds : float
        Of the simulation that is drawn.
    """
    report = Report(
        instances=10,
        quick_instances=2,
        budget=BUDGET,
        unit="evaluations",
        paper={"instances": 1},
    )
    seeds, budget = report.options.seeds, report.options.budget
    common.warm_up(quiet=True)
    shown = {}

    def rows():
        yield "published", published_error, *[None] * (len(COLUMNS) - 2)
        for case in cases:
            for simulation in SIMULATIONS:
                task = published_task(case.observe, simulation)
                runs = train_all(
                    lambda case=case: published(case.units, case.observe, case.n_bits),
                    (task, task),
                    case.observe,
                    seeds,
                    budget,
                )
                name = f"{case.name}published algorithm, {simulation}"
                shown[name] = best(runs)
                keep(report, name, runs)
                yield row(name, runs)
            runs = train_all(case.ours, case.objectives, case.observe, seeds, budget)
            shown[f"{case.name}ours"] = best(runs)
            keep(report, f"{case.name}ours", runs)
            yield row(f"{case.name}ours", runs)

    report.table(COLUMNS, rows())
    # Not the first, which was simulated to the end.
    pair = dict(list(shown.items())[1:3])
    report.picture(
        draw(cases[0].observe, pair, shown_seconds),
        "behavior",
        f"Cart, angle and force over {shown_seconds:g} s, and phase spaces, of the "
        "published algorithm where falls end, and of ours",
    )


COLUMNS = (
    "",
    "test error, run validated best",
    "test error, median (quartiles)",
    f"runs below {GOOD}",
    "runs without a fall",
    "median seconds",
    "median evaluations",
    "cut",
)


def row(name, runs):
    """Return a row of results under `COLUMNS`."""
    return (
        name,
        f"{best(runs).error:.2e}",
        quartiles([run.error for run in runs]),
        f"{n_good(runs)} of {len(runs)}",
        f"{sum(not run.falls for run in runs)} of {len(runs)}",
        median(run.seconds for run in runs),
        int(median(run.evaluations for run in runs)),
        f"{sum(run.cut for run in runs)} of {len(runs)}",
    )


def draw(observe, runs, duration):
    """Draw runs side by side: positions and forces over time, phase spaces.

    Parameters
    ----------
    observe : {"all", "positions"}
    runs : dict of str to Run
        Two of them, by name.
    duration : float
        Seconds to show.

    Returns
    -------
    figure : matplotlib Figure
    """
    mosaic = [
        [f"{kind}{k}" for k in range(len(runs)) for kind in kinds]
        for kinds in (("places", "places"), ("force", "force"), ("cart", "angle"))
    ]
    figure, axes = plt.subplot_mosaic(
        mosaic, figsize=(5.5 * len(runs), 7.5), layout="constrained"
    )
    for k, (name, run) in enumerate(runs.items()):
        path = InvertedPendulum(observe).trace(run.policy, 0.3, duration)
        ax = axes[f"places{k}"]
        ax.plot(path.time, path.x, label="cart (m)", lw=0.9)
        ax.plot(path.time, path.angle, label="angle (rad)", lw=0.9)
        ax.set(title=f"{name}\ntest error {run.error:.1e}", xlabel="time (s)")
        ax = axes[f"force{k}"]
        ax.plot(path.time, path.force, color="tab:green", lw=0.6)
        ax.set(xlabel="time (s)", ylabel="force (N)")
        ax = axes[f"cart{k}"]
        ax.plot(path.x, path.velocity, lw=0.5)
        ax.set(xlabel="cart (m)", ylabel="velocity (m/s)")
        ax = axes[f"angle{k}"]
        ax.plot(path.angle, path.angular_velocity, color="tab:orange", lw=0.5)
        ax.set(xlabel="angle (rad)", ylabel="velocity (rad/s)")
    lines, labels = axes["places0"].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside upper center", ncols=2, frameon=False)
    return figure
