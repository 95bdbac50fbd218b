"""Unknown inputs: all weights under the product prior beside boosting.

Of two protein landscapes 30 % of the rows are for training. A fraction of all values is
hidden, independently, in training and test rows. MOHNRegressor(strategy="gp") takes
an unknown input as the mean over its values; HistGradientBoosting and LightGBM (300
trees, leaves of 5) send it down the better branch. Printed are the mean test R2 of
each, the mean of the paired differences to the better peer with its standard error, and
the fraction of test targets in our 90 % intervals. Aimed at is to be above the peers.
"""

import numpy as np
from sklearn.metrics import r2_score

from benchmarks.shared import common, measured, results

NAMES = ("Poelwijk", "CR6261-H1")
FRACTIONS = (0.0, 0.05, 0.2)
PEERS = ("boosting", "LightGBM")
TRAIN_SHARE = 0.3


def hide(data, share):
    """Yield splits in which a fraction of the inputs is NaN."""
    for seed, X_train, X_test, y_train, y_test in data:
        rng = np.random.default_rng(seed)
        hidden = (
            np.where(rng.random(X.shape) < share, np.nan, X) for X in (X_train, X_test)
        )
        yield seed, *hidden, y_train, y_test


def main():
    """Print one row for each landscape and fraction of unknown inputs."""
    options, peers = measured.begin(__doc__, peers=PEERS)
    table = common.Table(
        f"Test R2 with unknown inputs, means over {options.instances} splits",
        f"data rows unknown ours coverage {' '.join(peers)} best gain error",
        width=10,
    )
    for name in options.only or NAMES:
        if measured.read_measured(name) is None:
            continue
        n_train = int(TRAIN_SHARE * len(measured.read_measured(name)[1]))
        for share in FRACTIONS[1:] if options.quick else FRACTIONS:
            data = measured.splits(name, n_train, options.instances, options.seed)
            scores, seconds, coverage = measured.compare(
                hide(data, share), measured.ours, peers, r2_score
            )
            best, gain, error = measured.gain_over_best(scores)
            ours, *others = (f"{values.mean():.3f}" for values in scores.values())
            table.row(
                name,
                n_train,
                f"{share:.0%}",
                ours,
                f"{coverage:.2f}",
                *others,
                best,
                f"{gain:+.3f}",
                f"{error:.3f}",
                met=not gain <= 0,
                details=[measured.seconds_line(seconds)],
            )
    table.close()


if __name__ == "__main__":
    results.record(main)
