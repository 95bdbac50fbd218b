"""What the scripts about S4's control experiments share: settings, runs, pictures."""

import warnings
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.shared import common, control
from benchmarks.shared.report import Report
from skmohn import BLMController, SearchOptions
from skmohn.datasets import InvertedPendulum

# Without limits, simulations go on to the end whatever happens.
TO_THE_END = {"max_angle": np.inf, "max_position": np.inf}
# Two readings of S4, which does not say what follows a fall.
SIMULATIONS = {"to the end": TO_THE_END, "falls end": {}}
# A test error below this is a success.
GOOD = 0.1
# Seconds of a run of one figure, for which S4 names none; fewer with --quick.
LIMITS = 100.0, 5.0


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


class StopAfter:
    """Callback that ends a fit once its seconds are over, by the clock of the scripts.

    It looks whenever the validation objective has been called.
    """

    def __init__(self, seconds):
        self.seconds = seconds

    def setup(self, estimator, context):
        """Start the clock."""
        self.start = common.clock()

    def on_fit_task_begin(self, estimator, context):
        """Do nothing."""

    def on_fit_task_end(self, estimator, context):
        """Return whether the time is over."""
        return common.clock() - self.start >= self.seconds

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
        # Runs end at local minima or by the clock.
        "max_evaluations": 10**9,
    }
    return BLMController((units,), **{**settings, **changes})


def published_task(observe, simulation):
    """Return S4's pendulum with one of the readings of what a fall does."""
    return Whole(observe, starts="random", **SIMULATIONS[simulation])


def train(controller, objectives, observe, seed, seconds):
    """Train for at most so many seconds, and test."""
    controller.set_params(random_state=seed).set_callbacks(StopAfter(seconds))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spent, _ = common.timed(controller.fit, *objectives)
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
    )


def train_all(make, objectives, observe, seeds, seconds):
    """Return a run for each seed.

    Parameters
    ----------
    make : callable
        Returns a controller.
    objectives : tuple
        What it is fitted to.
    observe : {"all", "positions"}
    seeds : iterable of int
    seconds : float
        Limit of each run.
    """
    return [train(make(), objectives, observe, seed, seconds) for seed in seeds]


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
    report = Report(instances=10, quick_instances=2, seconds=LIMITS)
    seeds, seconds = report.options.seeds, report.options.seconds
    common.warm_up(quiet=True)
    report.text(f"Each run has a limit of {seconds:g} s.")
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
                    seconds,
                )
                name = f"{case.name}published algorithm, {simulation}"
                shown[name] = best(runs)
                yield row(name, runs)
            runs = train_all(case.ours, case.objectives, case.observe, seeds, seconds)
            shown[f"{case.name}ours"] = best(runs)
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
    "median test error",
    f"runs below {GOOD}",
    "runs without a fall",
    "median seconds",
    "median evaluations",
)


def row(name, runs):
    """Return a row of results under `COLUMNS`."""
    return (
        name,
        f"{best(runs).error:.2e}",
        f"{median(run.error for run in runs):.2e}",
        f"{n_good(runs)} of {len(runs)}",
        f"{sum(not run.falls for run in runs)} of {len(runs)}",
        median(run.seconds for run in runs),
        int(median(run.evaluations for run in runs)),
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
