"""Configurable systems: mean relative error from as few rows as n to 5n, n options.

The yardstick of the literature on performance prediction: the mean of
|y - prediction| / y over all configurations that were not trained on, in percent, for
training sets of one to five times the number of options (columns of the table here).
MOHNRegressor(strategy="gp") and its peers learn the same random rows. Printed are
the mean errors, and the mean of the paired differences to the best peer (positive: ours
is smaller) with its standard error. Aimed at is to be the best or within one standard
error of the best.
"""

from sklearn.metrics import mean_absolute_percentage_error

from benchmarks.shared import common, measured, results

SYSTEMS = ("Apache", "x264", "SQLite")
MULTIPLES = (1, 2, 3, 4, 5)


def relative_error(y_test, predicted):
    """Mean relative error in percent."""
    return 100 * mean_absolute_percentage_error(y_test, predicted)


def main():
    """Print one row for each system and number of training rows."""
    options, peers = measured.begin(__doc__)
    table = common.Table(
        f"Mean relative error in percent, means over {options.instances} splits",
        f"data rows times ours coverage {' '.join(peers)} best gain error",
        width=10,
    )
    for name in options.only or SYSTEMS:
        if measured.read_measured(name) is None:
            continue
        n_options = measured.read_measured(name)[0].shape[1]
        for multiple in MULTIPLES:
            n_train = multiple * n_options
            data = measured.splits(name, n_train, options.instances, options.seed)
            scores, seconds, coverage = measured.compare(
                data, measured.ours, peers, relative_error
            )
            best, gain, error = measured.gain_over_best(scores, larger_is_better=False)
            ours, *others = (f"{values.mean():.2f}" for values in scores.values())
            table.row(
                name,
                n_train,
                f"{multiple}n",
                ours,
                f"{coverage:.2f}",
                *(text.replace("nan", "-") for text in others),
                best,
                f"{gain:+.3f}",
                f"{error:.3f}",
                met=measured.is_no_worse(gain, error),
                details=[measured.seconds_line(seconds)],
            )
    table.close()


if __name__ == "__main__":
    results.record(main)
