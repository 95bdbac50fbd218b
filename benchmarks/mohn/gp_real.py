"""Measured functions: all weights under the product prior beside the strongest peers.

MOHNRegressor(strategy="gp") and the peers learn the same random training rows and
are scored on all others. Printed are the mean test R2 of each, the aim, the mean of the
paired differences to the best peer with its standard error, the fraction of test
targets in our 90 % intervals, and the median seconds of a fit. Aimed at are the R2
printed, to be the best or within one standard error of the best, and a coverage of 85
to 95 %.

Take a part with --only (data) and --peers (none: ours alone). EBM takes most of the
time: about 10 s a fit, on SQLite minutes.
"""

from sklearn.metrics import r2_score

from benchmarks.shared import common, measured, results

ROWS = (
    ("Poelwijk", 819, 0.962),
    ("Poelwijk", 2457, 0.976),
    ("CR6261-H1", 188, 0.94),
    ("CR6261-H1", 566, 0.975),
    ("CR6261-H1", 943, 0.98),
    ("x264", 115, 1.0),
    ("Apache", 19, 0.92),
    ("Apache", 57, 0.96),
    ("SQLite", 455, 0.37),
    ("SQLite", 1365, 0.487),
    ("SQLite", 3500, 0.59),
)
COVERAGE = 0.85, 0.95


def main():
    """Print one row for each table and number of training rows."""
    options, peers = measured.begin(__doc__)
    table = common.Table(
        f"Test R2, means over {options.instances} splits",
        f"data rows aim ours coverage {' '.join(peers)} best gain error",
        width=10,
    )
    for name, n_train, aim in ROWS:
        if options.only and name not in options.only:
            continue
        if options.quick and (name == "SQLite" or n_train > 1000):
            continue
        if measured.read_measured(name) is None:
            continue
        scores, seconds, coverage = measured.compare(
            measured.splits(name, n_train, options.instances, options.seed),
            measured.ours,
            peers,
            r2_score,
        )
        best, gain, error = measured.gain_over_best(scores)
        mean, spread = scores["ours"].mean(), scores["ours"].std()
        missed = {
            f"R2 (spread over splits {spread:.4f})": round(mean, 3) < aim,
            f"worse than {best}": not measured.is_no_worse(gain, error),
            "coverage": not COVERAGE[0] <= round(coverage, 2) <= COVERAGE[1],
        }
        reasons = [reason for reason, is_missed in missed.items() if is_missed]
        ours, *others = (f"{values.mean():.4f}" for values in scores.values())
        table.row(
            name,
            n_train,
            aim,
            ours,
            f"{coverage:.2f}",
            *(text.replace("nan", "-") for text in others),
            best,
            f"{gain:+.5f}",
            f"{error:.5f}",
            met=not reasons,
            details=[
                measured.seconds_line(seconds),
                *([f"missed: {', '.join(reasons)}"] if reasons else []),
            ],
        )
    table.close()


if __name__ == "__main__":
    results.record(main)
