"""Lasso on explicit columns, told the true degree, against a search that is not told.

The work is the same: from the samples to the true terms with weights right to 1e-6.
For scikit-learn's, skglm's and celer's Lasso that is PolynomialFeatures, which makes
every product of up to `degree` variables a column (float32, Fortran order), then a
penalty that falls over fixed fractions of its largest useful value with warm starts,
and after each fit least squares on the non-zero columns, until it is exact.
MOHNRegressor() gets the samples as they are. Each learner runs in a fresh process,
compiled kernels warm. Printed are whether each is exact, its seconds, how many of them
the Lasso itself took, the ratio to ours and the peak memory of its process. A peer that
still runs after the time limit is stopped.

Aimed at: exact wherever a peer is, and from degree 3 on 20 times faster than a peer
that is exact.
"""

from functools import partial
from itertools import combinations

import numpy as np
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.shared import common, results
from benchmarks.shared.problems import SEED_PROBLEMS
from skmohn import MOHNRegressor
from skmohn.datasets import make_sparse_walsh

FRACTIONS = (0.3, 0.1, 0.03, 0.01, 0.003)
SPEED_UP = 20
PEERS = ("scikit-learn", "skglm", "celer")


def _cubic(n_features, n_terms):
    return partial(
        make_sparse_walsh,
        n_features,
        {1: n_terms, 2: n_terms, 3: n_terms},
        weight_distribution="pm1",
        heredity="weak",
        optimum=False,
    )


def _seed_problem(name):
    return SEED_PROBLEMS[name].make


# Name, how to draw it, degree, samples, whether --quick has it.
ROWS = (
    ("Ising 10x10 pm1", _seed_problem("Ising 10x10 pm1"), 2, 3000, True),
    ("Ising 10x10 gauss", _seed_problem("Ising 10x10 gauss"), 2, 800, False),
    ("quadratic 120", _seed_problem("quadratic 120"), 2, 500, False),
    ("cubic n=50", _cubic(50, 30), 3, 1000, True),
    ("Ising 10x10 pm1", _seed_problem("Ising 10x10 pm1"), 3, 3000, False),
    ("cubic n=100", _cubic(100, 60), 3, 3000, False),
    ("4-trap 40", _seed_problem("4-trap 40"), 4, 800, False),
    ("4-trap 40", _seed_problem("4-trap 40"), 4, 2000, False),
)


def explicit_columns(X, degree):
    """Return all products of up to `degree` inputs as float32 columns."""
    products = PolynomialFeatures(degree, interaction_only=True, order="F")
    return products.fit_transform(X.astype(np.float32))


def terms_of_columns(n_features, degree):
    """Return the terms in the order of the columns."""
    orders = range(degree + 1)
    return [term for order in orders for term in combinations(range(n_features), order)]


def make_lasso(name, alpha):
    """Return a peer that starts from its former weights at each fit."""
    options = {"alpha": alpha, "fit_intercept": False, "warm_start": True}
    if name == "scikit-learn":
        from sklearn.linear_model import Lasso

        # The columns need not be copied: without an intercept they are left alone.
        return Lasso(**options, copy_X=False)
    if name == "skglm":
        from skglm import Lasso
    else:
        from celer import Lasso
    return Lasso(**options)


def refit_is_exact(columns, terms, kept, data):
    """Whether least squares on the columns kept finds the true terms and weights."""
    if not 0 < len(kept) < len(data.y):
        return False
    found = np.linalg.lstsq(columns[:, kept].astype(np.float64), data.y)[0]
    true = {(): data.intercept, **dict(zip(data.terms, data.weights, strict=True))}
    weights = {terms[place]: weight for place, weight in zip(kept, found, strict=True)}
    return all(
        abs(weights.get(term, 0.0) - true.get(term, 0.0)) < common.WEIGHT_TOLERANCE
        for term in weights.keys() | true.keys()
    )


def learn_by_lasso(name, make, degree, n_samples, seed):
    """Return whether a peer is exact, its seconds, and those of its Lasso alone."""
    data = make(n_samples=n_samples, random_state=seed)
    terms = terms_of_columns(data.X.shape[1], degree)
    seconds, columns = common.timed(explicit_columns, data.X, degree)
    y = (data.y - data.y.mean()).astype(np.float32)
    # A small fit of the same types compiles what skglm compiles.
    common.timed_fit(make_lasso(name, 0.1), np.asfortranarray(columns[:, :20]), y)
    largest = float(np.abs(y @ columns).max() / n_samples)
    lasso = make_lasso(name, largest)
    lasso_seconds = 0.0
    for share in FRACTIONS:
        lasso.set_params(alpha=share * largest)
        lasso_seconds += common.timed_fit(lasso, columns, y)
        # The constant is not penalised in the refit.
        kept = np.union1d(0, np.flatnonzero(lasso.coef_))
        refit_seconds, exact = common.timed(refit_is_exact, columns, terms, kept, data)
        seconds += refit_seconds
        if exact:
            break
    return exact, seconds + lasso_seconds, lasso_seconds


def learn(make, n_samples, seed):
    """Return whether MOHNRegressor() is exact, and its seconds."""
    data = make(n_samples=n_samples, random_state=seed)
    common.warm_up(quiet=True)
    model = MOHNRegressor()
    seconds = common.timed_fit(model, data.X, data.y)
    return common.is_exact(model, data), seconds


def main():
    """Print four rows for each problem."""
    options = common.parse_options(
        __doc__,
        instances=1,
        quick_instances=1,
        add_arguments=lambda parser: parser.add_argument(
            "--limit",
            type=float,
            default=100.0,
            help="seconds for a peer (default 100)",
        ),
    )
    print("One thread. Kernels compiled in each process before its timing.\n")
    table = common.Table(
        "Given the true degree (the peers) and given nothing (ours)",
        "problem degree samples learner exact seconds Lasso's ratio aim GB",
        width=18,
    )
    for name, make, degree, n_samples, in_quick in ROWS:
        if options.quick and not in_quick:
            continue
        for i in range(options.instances):
            compare(table, (name, degree, n_samples), make, options.seed + i, options)
    table.close()


def compare(table, head, make, seed, options):
    """Print ours and each peer on one instance."""
    _, degree, n_samples = head
    (we_are_exact, ours), memory = common.in_fresh_process(learn, make, n_samples, seed)
    answer = "yes" if we_are_exact else "no"
    table.row(*head, "skmohn", answer, ours, None, None, None, memory / 1e9)
    aim = SPEED_UP if degree >= 3 else None
    for peer in PEERS:
        result, memory = common.in_fresh_process(
            learn_by_lasso,
            peer,
            make,
            degree,
            n_samples,
            seed,
            time_limit=options.limit,
        )
        if result is None:
            exact, seconds, ratio = False, None, options.limit / ours
            cells = "-", f"> {options.limit:.0f}", None, f"> {ratio:.0f}"
        else:
            exact, seconds, lasso_seconds = result
            ratio = seconds / ours
            cells = "yes" if exact else "no", seconds, lasso_seconds, ratio
        table.row(
            *head,
            peer,
            *cells,
            aim,
            memory / 1e9,
            met=we_are_exact >= exact and not (exact and aim and ratio < aim),
        )


if __name__ == "__main__":
    results.record(main)
