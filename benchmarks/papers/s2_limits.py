"""Sections 3.2 and 4.4: what a model saves, and where it does not pay.

The paper has no figures for two of its remarks. A model gives the mean of a function
over a schema, an input some of whose variables are unknown, in one evaluation: terms
that contain an unknown variable drop out. The function itself takes an evaluation for
each completion. And some functions are expensive to model but easy to search, so that
a model never pays.

The first table is of a sum of five traps over 25 bits, learned from 1000 samples. The
second is of leading ones, the number of ones before the first zero: its best input
takes few steps of a hill climber, which flips bits in random order and keeps what is no
worse, but all initial sets of variables have a weight. Models learn from as many
samples as the climber takes on average, or from ten times as many; then their best
input is evaluated.

**Unexplained:** nothing; the paper has no figures to compare with.
"""

import numpy as np

from benchmarks.shared import common, results
from benchmarks.shared.report import Report, mean_sd
from skmohn import MOHNRegressor
from skmohn._core._walsh import WalshPolynomial
from skmohn.datasets import make_mk_trap
from skmohn.optimize import maximize

SAMPLES, UNKNOWN = 1000, (1, 5, 10, 15)
VARIABLES = 20


def main():
    """Print a table for each remark."""
    report = Report(instances=10, quick_instances=2)
    common.warm_up(quiet=True)
    columns = "unknown", "evaluations of the function", "of the model", "largest error"
    report.table(columns, schema_rows(report))
    columns = "way", "evaluations", "solved", "terms of the model"
    report.table(columns, climb_rows(report))


def schema_rows(report):
    """Yield how many evaluations a mean takes, and how far the model's is off."""
    errors = {n: [] for n in UNKNOWN}
    for seed in report.options.seeds:
        data = make_mk_trap(5, 5, shuffle=True, n_samples=SAMPLES, random_state=seed)
        model = MOHNRegressor(random_state=seed)
        common.timed_fit(model, data.X, data.y)
        rng = np.random.default_rng(seed)
        for n in UNKNOWN:
            x = rng.choice([-1.0, 1.0], data.X.shape[1])
            places = rng.choice(len(x), n, replace=False)
            completions = np.tile(x, (2**n, 1))
            bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
            completions[:, places] = 2.0 * bits - 1.0
            x[places] = 0.0
            parts = data.terms, data.weights, data.intercept
            mean = WalshPolynomial.sort(*parts).predict(completions).mean()
            parts = model.terms_, model.weights_, model.intercept_
            (found,) = WalshPolynomial.sort(*parts).predict(x[None])
            errors[n].append(float(abs(found - mean)))
            report.run(f"{n} unknown", seed, error=errors[n][-1])
    for n in UNKNOWN:
        yield n, f"{2**n:,}", 1, f"{max(errors[n]):.0e}"


def climb_rows(report):
    """Yield evaluations of the climber, then how often models are right."""
    climbs = [climb(np.random.default_rng(seed)) for seed in report.options.seeds]
    n = len(climbs)
    for seed, evaluations in zip(report.options.seeds, climbs, strict=True):
        report.run("hill climbing", seed, evaluations=evaluations)
    yield "hill climbing of the function", mean_sd(climbs), f"{n} of {n}", None
    average = round(np.mean(climbs))
    for samples in (average, 10 * average):
        for name, strategy in {"published search": "msda", "ours": "auto"}.items():
            solved, n_terms = [], []
            for seed in report.options.seeds:
                rng = np.random.default_rng(seed)
                X = rng.choice([-1.0, 1.0], (samples, VARIABLES))
                model = MOHNRegressor(strategy, random_state=seed)
                common.timed_fit(model, X, leading_ones(X))
                best = maximize(model, random_state=seed).x
                solved.append(bool(np.all(best == 1)))
                n_terms.append(len(model.terms_))
                report.run(f"{name}, {samples}", seed, solved=solved[-1])
            yield name, samples + 1, f"{sum(solved)} of {n}", mean_sd(n_terms)


def leading_ones(X):
    """Count the ones before the first -1 of each row."""
    return np.cumprod(X > 0, axis=1).sum(axis=1).astype(float)


def climb(rng):
    """Climb from a random input; return the evaluations until all are ones."""
    x = rng.choice([-1.0, 1.0], VARIABLES)
    value, evaluations = leading_ones(x[None])[0], 1
    while value < VARIABLES:
        for place in rng.permutation(VARIABLES):
            changed = x.copy()
            changed[place] *= -1
            new = leading_ones(changed[None])[0]
            evaluations += 1
            if new >= value:
                x, value = changed, new
            if value == VARIABLES:
                break
    return evaluations


if __name__ == "__main__":
    results.record(main)
