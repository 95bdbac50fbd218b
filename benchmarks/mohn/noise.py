"""Noise: which of the true weights are found, and how many that are not there.

Ising 10x10 with couplings -1 and +1 from 3000 samples, at two ratios of the variance of
the function to that of the noise. Printed are precision and recall of the terms and the
seconds, means over fresh instances, for MOHNRegressor() without any tuning, for the
published algorithm (strategy="msda", first instances only), and, on the first instance,
for scikit-learn's LassoCV, which is told that 2 is the highest order: it gets all 5050
explicit columns (some minutes; left out by --quick).
"""

from statistics import fmean

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.shared import common, results
from skmohn import MOHNRegressor
from skmohn.datasets import make_ising

N_SAMPLES = 3000
AIMS = {10: (0.97, 0.97), 3: (0.95, 0.85)}


def search(strategy, data):
    """Return the terms that a strategy finds, and the seconds."""
    model = MOHNRegressor(strategy, random_state=0)
    seconds = common.timed_fit(model, data.X, data.y)
    return model.terms_, seconds


def lasso_cv(data):
    """Return the terms that LassoCV keeps, and the seconds."""
    products = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    columns = products.fit_transform(data.X)
    lasso = LassoCV()
    seconds = common.timed_fit(lasso, columns, data.y)
    powers = products.powers_[lasso.coef_ != 0]
    return [tuple(np.flatnonzero(power).tolist()) for power in powers], seconds


def row(table, snr, name, learn, problems, aims=(None, None)):
    """Print precision and recall of one learner, and its seconds."""
    precision, recall, seconds = [], [], []
    for data in problems:
        terms, elapsed = learn(data)
        hits = len(set(terms) & set(data.terms))
        precision.append(hits / max(1, len(terms)))
        recall.append(hits / len(data.terms))
        seconds.append(elapsed)
    means = fmean(precision), fmean(recall)
    met = all(aim is None or mean >= aim for mean, aim in zip(means, aims, strict=True))
    table.row(
        f"SNR {snr} {name}",
        len(problems),
        means[0],
        min(precision),
        aims[0],
        means[1],
        min(recall),
        aims[1],
        fmean(seconds),
        met=met,
    )


def main():
    """Print three rows for each signal-to-noise ratio."""
    options = common.parse_options(__doc__, instances=10, quick_instances=1)
    n_msda = 1 if options.quick else 3
    common.warm_up()
    table = common.Table(
        f"Ising 10x10, {N_SAMPLES} samples with noise",
        "learner instances precision lowest aim recall lowest aim seconds",
    )
    for snr, aims in AIMS.items():
        problems = [
            make_ising(n_samples=N_SAMPLES, snr=snr, random_state=options.seed + i)
            for i in range(options.instances)
        ]
        row(table, snr, "MOHNRegressor", lambda d: search("pursuit", d), problems, aims)
        row(table, snr, "msda", lambda d: search("msda", d), problems[:n_msda])
        if not options.quick:
            row(table, snr, "LassoCV", lasso_cv, problems[:1])
    table.close()


if __name__ == "__main__":
    results.record(main)
