"""Random targets, and how often they are called exact.

Each target is drawn without a look at the inputs: coins, dice, rare events, ranks and
normal numbers. A model that reproduces all of them has done so by chance, and "exact"
would be wrong. Printed are the fits of MOHNRegressor that claim so, and the smallest
noise that is found, as a fraction of the standard deviation of the target. Constant
targets are drawn again.
"""

import warnings

import numpy as np

from benchmarks.shared import common, results
from skmohn import MOHNRegressor

SHAPES = ((8, 3), (12, 5), (16, 4), (20, 10), (40, 8), (100, 20))
TARGETS = {
    "coin": lambda rng, n: rng.integers(0, 2, n),
    "die": lambda rng, n: rng.integers(1, 7, n),
    "rare": lambda rng, n: rng.random(n) < 0.1,
    "rank": lambda rng, n: rng.permutation(n),
    "normal": lambda rng, n: rng.standard_normal(n),
}


def draw(kind, rng, n_samples):
    """Return a target that varies."""
    y = np.zeros(n_samples)
    while np.ptp(y) == 0.0:
        y = TARGETS[kind](rng, n_samples).astype(float)
    return y


def options_of(parser):
    """Add the strategy."""
    parser.add_argument("--strategy", default="pursuit", help="of MOHNRegressor")


def main():
    """Print one row for each kind of target and each shape of the inputs."""
    options = common.parse_options(
        __doc__, instances=40, quick_instances=3, add_arguments=options_of
    )
    warnings.simplefilter("ignore")
    table = common.Table(
        f'Random targets, strategy="{options.strategy}"',
        "target rows inputs fits exact noise",
    )
    for kind in TARGETS:
        for n_samples, n_features in SHAPES:
            n_exact, noise = 0, []
            for i in range(options.instances):
                rng = np.random.default_rng(options.seed + i)
                X = rng.choice([-1.0, 1.0], (n_samples, n_features))
                y = draw(kind, rng, n_samples)
                model = MOHNRegressor(options.strategy, random_state=0).fit(X, y)
                n_exact += model.stopping_reason_.startswith("exact")
                noise.append(model.noise_std_ / np.std(y))
            table.row(
                kind,
                n_samples,
                n_features,
                options.instances,
                n_exact,
                min(noise),
                met=n_exact == 0,
            )
    table.close()


if __name__ == "__main__":
    results.record(main)
