"""Sparse functions: strategy="auto", the default, beside strategy="pursuit".

The seed problems, each without noise and with two ratios of the variance of the
function to that of the noise, from the number of samples published but 3000 at most.
Printed are how often "auto" chose the sparse model, the mean R2 of both against the
true function at 2000 fresh rows, the mean loss of "auto" and its standard error, and
the mean seconds of a fit. Aimed at are a sparse choice and no loss: within one standard
error or 0.001. Take a part with --only.
"""

from statistics import fmean

import numpy as np
from scipy.stats import sem
from sklearn.metrics import r2_score

from benchmarks.shared import common, results
from benchmarks.shared.problems import SEED_PROBLEMS
from skmohn import MOHNRegressor

MAX_SAMPLES = 3000
N_TEST = 2000
RATIOS = (None, 10, 3)
MIN_LOSS = 1e-3


def add_arguments(parser):
    """Add the option by which a part of the table is computed."""
    names = list(SEED_PROBLEMS)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=names)


def measure(problem, snr, seed):
    """Return R2 and seconds of pursuit and auto, and whether auto's model is sparse."""
    n_samples = min(problem.published_samples, MAX_SAMPLES)
    data = problem.make(n_samples=n_samples, snr=snr, coding="pm1", random_state=seed)
    rng = np.random.default_rng(seed)
    X_test = rng.choice([-1.0, 1.0], (N_TEST, data.X.shape[1]))
    truth = MOHNRegressor.from_terms(
        data.terms, data.weights, intercept=data.intercept, n_features=data.X.shape[1]
    )
    y_test = truth.predict(X_test)
    scores, seconds = [], []
    for strategy in ("pursuit", "auto"):
        model = MOHNRegressor(strategy, random_state=0)
        seconds.append(common.timed_fit(model, data.X, data.y))
        scores.append(r2_score(y_test, model.predict(X_test)))
    return scores, seconds, "all weights" not in model.stopping_reason_


def main():
    """Print one row for each problem and ratio."""
    options = common.parse_options(
        __doc__, instances=3, quick_instances=1, add_arguments=add_arguments
    )
    common.warm_up()
    table = common.Table(
        "Sparse functions, auto beside pursuit",
        "problem snr instances sparse pursuit auto loss error seconds auto_seconds",
    )
    for problem in SEED_PROBLEMS.values():
        if options.only and problem.name not in options.only:
            continue
        for snr in RATIOS:
            found = [
                measure(problem, snr, options.seed + i)
                for i in range(options.instances)
            ]
            scores = np.array([scores for scores, _, _ in found])
            losses = scores[:, 0] - scores[:, 1]
            error = sem(losses) if len(losses) > 1 else 0.0
            n_sparse = sum(is_sparse for _, _, is_sparse in found)
            no_loss = losses.mean() <= max(error, MIN_LOSS)
            table.row(
                problem.name,
                snr,
                len(found),
                n_sparse,
                *scores.mean(axis=0),
                losses.mean(),
                error,
                *(fmean(part) for part in zip(*(s for _, s, _ in found), strict=True)),
                met=no_loss and n_sparse == len(found),
            )
    table.close()


if __name__ == "__main__":
    results.record(main)
