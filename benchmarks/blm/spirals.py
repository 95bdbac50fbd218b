"""Two spirals: how long until a 2-20-20-1 network has learnt all 194 points.

Each seed trains BLMClassifier networks from new random starts, one after the other,
until one of them tells all points apart with a root mean squared error of less than
0.05; the seconds of all starts count, and a start that does not get there within its
flips is given up. Printed are the seeds that reached this, the median and the longest
seconds, and the medians of starts and flips. First row: the default search, aimed at in
all seeds and, for the median, in less than a second. The other rows: the telescopic
Gray-bit search of the paper, with its two ways to freeze bits and settings of ours,
aimed at within 120 s in nine of ten seeds; its authors give about 1000 s for one start
(Brunato and Battiti 2017).
"""

from statistics import median

import numpy as np

from benchmarks.shared import blm, common
from skmohn import BLMClassifier, SearchControl
from skmohn.datasets import make_two_spirals

NET = {"hidden_layer_sizes": (20, 20), "loss": "squared", "alpha": 0, "n_bits": 12}
TELESCOPIC = {
    **NET,
    "standardize": False,
    "search": "gray",
    "w_max": 6.0,
    "perturbation": 0,
    "max_flips": 40_000_000,
    # Starts that get stuck are left early.
    "tol": 1e-3,
}
# Name, parameters, seconds for each seed, share of the seeds, median seconds.
ROWS = (
    (
        "default search",
        {
            **NET,
            "search_control": SearchControl(w_init=2.0),
            "max_flips": 600_000,
            "n_iter_no_change": 1000,
        },
        20,
        1.0,
        1.0,
    ),
    (
        "telescopic, gray",
        {
            **TELESCOPIC,
            "search_control": SearchControl(
                telescopic="local_minimum", freeze="gray", w_init=0.001
            ),
            "n_iter_no_change": 500,
        },
        120,
        0.9,
        120.0,
    ),
    (
        "telescopic, binary",
        {
            **TELESCOPIC,
            "search_control": SearchControl(
                telescopic="threshold", phi=0.02, w_init=0.5
            ),
            "n_iter_no_change": 50,
        },
        120,
        0.9,
        120.0,
    ),
)
ENOUGH = 0.05


def spirals():
    """Return the 194 points, scaled to [-1, 1], and their classes."""
    X, y = make_two_spirals(return_X_y=True)
    return X / 6.5, y


class Watch:
    """Stops a fit that has learnt all points, or that has no time left."""

    def __init__(self, X, y, seconds):
        self.X, self.y = X, y
        self.end = common.clock() + seconds
        self.reached = False

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do before an epoch."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        """Say whether to stop."""
        model = fitted_estimator
        if np.sqrt(2 * model.loss_) < ENOUGH:
            self.reached = model.score(self.X, self.y) == 1
        return self.reached or common.clock() > self.end


def learn(X, y, parameters, seed, limit):
    """Train from new starts until all is learnt; return that, starts and flips."""
    watch = Watch(X, y, limit)
    starts = flips = 0
    while not watch.reached and common.clock() < watch.end:
        model = BLMClassifier(**parameters, random_state=1000 * seed + starts)
        model.set_callbacks(watch)
        blm.fitted(model, X, y)
        starts += 1
        flips += model.history_[-1]["flips"]
    return watch.reached, starts, flips


def main():
    """Print one row for each search."""
    options = common.parse_options(__doc__, instances=10, quick_instances=3)
    X, y = spirals()
    common.warm_up()
    learn(X, y, ROWS[0][1], 0, 0.01)
    table = common.Table(
        "Two spirals, until the RMSE is below 0.05 and all points are right",
        "search reached median max aim starts flips",
        width=20,
    )
    for name, parameters, limit, share, aim in ROWS:
        limit = min(limit, 5) if options.quick else limit
        seconds, runs = [], []
        for seed in range(options.seed, options.seed + options.instances):
            spent, run = common.timed(learn, X, y, parameters, seed, limit)
            seconds.append(spent)
            runs.append(run)
        reached, starts, flips = zip(*runs, strict=True)
        n_reached = sum(reached)
        table.row(
            name,
            f"{n_reached}/{options.instances}",
            median(seconds),
            max(seconds),
            aim,
            int(median(starts)),
            f"{median(flips):,.0f}",
            met=n_reached >= share * options.instances and median(seconds) < aim,
        )
    table.close()


if __name__ == "__main__":
    main()
