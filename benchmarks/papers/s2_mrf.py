"""Section 5: the model as a Markov random field, sampled.

The paper says that its structure discovery could learn the structure of a Markov random
field, as in DEUM, with little change, and runs nothing. DEUM learns the logarithm of
the fitness, so that sampling its model draws an input with a probability in proportion
to its fitness. Here the stochastic search learns both, the fitness and its logarithm,
from the paper's numbers of samples of a sum of 4-traps over 40 bits and of 10 x 10 spin
glasses with couplings of -1 or +1. Both models are searched as before and sampled by
Gibbs sampling.

The paper leaves everything else open. Chosen here: fitness is what is maximized, moved
so that its lowest sample is 1 before the logarithm is taken; 500 chains of 100 sweeps
from random points, either at temperature 1, as the Boltzmann distribution has it, or
cooled from 1 to 0.01, each the same factor below the last. Searched is by weight
satisfaction (traps) or annealing (spin glasses). Evaluations are the samples and the
ends, of 500 chains or 20 searches, that are tested until one is the optimum; where none
is, all count and the trial is not solved.

The logarithm of a sum is no sum: a function of few weights gets small weights of high
orders beside them. The search ends without an exact model, sometimes without some of
the function's terms. At temperature 1 the draws of such a model are little better than
random, as good inputs are rare; cooled, they are good, and some are optima. The model
of the fitness itself is exact, and its optimum a search or a few away. So nothing is
won here by the logarithm, nor by sampling; both serve an algorithm that samples and
learns again and again.

**Unexplained:** nothing; the paper runs no such experiment.
"""

from functools import partial
from statistics import mean

import numpy as np

from benchmarks.shared import common, results
from benchmarks.shared.gibbs import gibbs
from benchmarks.shared.problems import function_of
from benchmarks.shared.report import Report, mean_sd
from skmohn import MOHNRegressor
from skmohn.datasets import make_ising, make_mk_trap
from skmohn.optimize import maximize

CHAINS, SEARCHES = 500, 20
SWEEPS = 100
PROBLEMS = {
    "4-trap, 40 bits": (
        partial(make_mk_trap, 4, 10, shuffle=True, n_samples=2000),
        "weight_satisfaction",
    ),
    "Ising 10 x 10": (partial(make_ising, optimum=True, n_samples=3000), "annealing"),
}
COOLED = np.geomspace(1.0, 0.01, SWEEPS)
USES = {
    "searched": None,
    "sampled at 1": np.ones(SWEEPS),
    "sampled, cooled": COOLED,
}
COLUMNS = (
    "model, use",
    "terms right",
    "wrong",
    "solved",
    "evaluations",
    "mean of the ends",
    "best end",
    "optimum",
)


def main():
    """Print a table for each problem."""
    report = Report(instances=10, quick_instances=2)
    common.warm_up(quiet=True)
    for name, (make, method) in PROBLEMS.items():
        report.text(f"**{name}**")
        report.table(COLUMNS, rows(name, make, method, report))


def rows(name, make, method, report):
    """Yield a row for each model and use."""
    n, found_by = report.options.instances, {}
    for seed in report.options.seeds:
        data = make(random_state=seed)
        for key, result in run(data, method, seed):
            found_by.setdefault(key, []).append(result)
            right, wrong, solved, evaluations, *_ = result
            report.run(
                *(f"{name}: {key}", seed),
                **{"right": right, "wrong": wrong},
                **{"solved": bool(solved), "evaluations": evaluations},
            )
    for key, found in found_by.items():
        right, wrong, solved, evaluations, means, bests, optima = zip(
            *found, strict=True
        )
        yield (
            key,
            f"{mean_sd(right)} of {len(data.terms)}",
            mean_sd(wrong),
            f"{sum(solved)} of {n}",
            mean_sd(evaluations, 5),
            mean_sd(means),
            mean_sd(bests),
            mean(optima),
        )


def run(data, method, seed):
    """Learn an instance in both ways and use each model in all; yield the results."""
    sign = -1.0 if data.direction == "minimize" else 1.0
    optimum = max(sign * data.minimum, sign * data.maximum)
    fitness, function = sign * data.y, function_of(data)
    targets = {
        "fitness": fitness,
        "log-fitness": np.log(fitness - fitness.min() + 1.0),
    }
    for learned, target in targets.items():
        model = MOHNRegressor("msda", random_state=seed)
        common.timed_fit(model, data.X, target)
        right = len(set(model.terms_) & set(data.terms))
        for use, temperatures in USES.items():
            ends = ends_of(model, method, temperatures, data.X.shape[1], seed)
            values = sign * function(ends)
            hits = np.flatnonzero(values > optimum - common.WEIGHT_TOLERANCE)
            tested = hits[0] + 1 if len(hits) else len(ends)
            yield (
                f"{learned}, {use}",
                (
                    right,
                    len(model.terms_) - right,
                    len(hits) > 0,
                    len(data.X) + int(tested),
                    float(values.mean()),
                    float(values.max()),
                    optimum,
                ),
            )


def ends_of(model, method, temperatures, n_features, seed):
    """Where searches or chains end."""
    if temperatures is None:
        return np.array(
            [
                maximize(model, method, n_restarts=1, random_state=i).x
                for i in range(SEARCHES)
            ]
        )
    return gibbs(
        model.terms_,
        model.weights_,
        n_features,
        temperatures=temperatures,
        n_chains=CHAINS,
        rng=np.random.default_rng(seed),
    )


if __name__ == "__main__":
    results.record(main)
