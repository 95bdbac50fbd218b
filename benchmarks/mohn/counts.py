"""Counts: MOHNGLMRegressor beside Poisson regression, boosting and least squares.

Rates of 12 two-valued columns depend on three main effects, two pairs and a triple,
which explain a standard deviation of 0.6 of their logarithm. Counts have these means
or, overdispersed, are negative binomial. Axes are training rows, the mean count and the
dispersion. The tables of --tables are counts of rings of abalones (4177 rows, two
thirds of which, or --rows, are learned from) and of interlocking directorates
(Ornstein, 248 rows). Printed are the mean Poisson deviance of 2000 fresh rows, or of
the other rows of a table, its standard error over --instances problems or splits, and
for ours, with weights of two standard errors or more, the precision and recall of true
terms. Penalties of Poisson regression are chosen by 5 folds from 7 values, those of
pairs, too. All others have their defaults; least squares is clipped at a tenth of the
smallest positive count. Lines of cases where ours is not within a standard error of the
best say so. Penalties and choice of MOHNGLMRegressor were set on such problems.
"""

import warnings
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import sem
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks.shared import common, results
from benchmarks.shared.tables import prepared
from skmohn import MOHNGLMRegressor, MOHNRegressor

TERMS = [(0,), (1,), (2,), (3, 4), (0, 5), (1, 2, 6)]
SIGNAL_STD = 0.6
N_COLUMNS = 12
N_TEST = 2000
N_ERRORS = 2.0
OURS = ("poisson", "negative_binomial")
# Rows, mean count and dispersion.
CASES = [
    *((n, 3.0, 0.0) for n in (50, 150, 500, 2000)),
    *((500, mean, 0.0) for mean in (0.3, 30.0)),
    *((500, mean, 0.5) for mean in (0.3, 3.0, 30.0)),
    (150, 3.0, 0.5),
    (50, 0.3, 0.0),
]


def penalized(*steps):
    """Return Poisson regression whose penalty is chosen by folds."""
    grid = {"poissonregressor__alpha": np.logspace(-4, 2, 7)}
    model = make_pipeline(*steps, StandardScaler(), PoissonRegressor(max_iter=1000))
    return GridSearchCV(model, grid, scoring="neg_mean_poisson_deviance")


LEARNERS = {
    "poisson": lambda seed: MOHNGLMRegressor(
        random_state=seed, handle_unknown="missing"
    ),
    "negative_binomial": lambda seed: MOHNGLMRegressor(
        loss="negative_binomial", random_state=seed, handle_unknown="missing"
    ),
    "mean": lambda seed: DummyRegressor(),
    "main": lambda seed: prepared(penalized()),
    "pairs": lambda seed: prepared(
        penalized(PolynomialFeatures(2, interaction_only=True, include_bias=False))
    ),
    "boosting": lambda seed: HistGradientBoostingRegressor(
        loss="poisson", random_state=seed, categorical_features="from_dtype"
    ),
    "squares": lambda seed: MOHNRegressor(random_state=seed, handle_unknown="missing"),
}


def sample_means(n_rows, mean, seed):
    """Draw training and test rows, and the means of their targets."""
    rng = np.random.default_rng(seed)
    X = rng.integers(2, size=(n_rows + N_TEST, N_COLUMNS)).astype(float)
    weights = rng.choice([-1.0, 1.0], len(TERMS)) * rng.uniform(0.5, 1.5, len(TERMS))
    weights *= SIGNAL_STD / np.linalg.norm(weights)
    signs = 2.0 * X - 1.0
    products = np.array([signs[:, list(term)].prod(axis=1) for term in TERMS]).T
    means = mean * np.exp(products @ weights - 0.5 * SIGNAL_STD**2)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(N_COLUMNS)]), means


def sample_problem(n_rows, mean, dispersion, seed):
    """Draw training and test rows, their counts, and the true means of the latter."""
    X, means = sample_means(n_rows, mean, seed)
    rng = np.random.default_rng([seed, 1])
    rates = means
    if dispersion:
        rates = means * rng.gamma(1.0 / dispersion, dispersion, len(means))
    y = rng.poisson(rates).astype(float)
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], means[n_rows:]


def compare_terms(model):
    """Return precision and recall of terms that differ from zero."""
    ratios = np.abs(model.weights_) / model.standard_errors_
    found = {t for t, z in zip(model.terms_, ratios, strict=True) if z >= N_ERRORS}
    right = len(found & set(TERMS))
    return right / len(found) if found else np.nan, right / len(TERMS)


def measure(name, seed, X, y, X_test, y_test):
    """Return the deviance, seconds, precision and recall of one learner."""
    learner = LEARNERS[name](seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds = common.timed_fit(learner, X, y)
        means = learner.predict(X_test)
    least = 0.1 * y[y > 0].min()
    if name == "squares":
        means = np.maximum(means, least)
    terms = compare_terms(learner) if name in OURS else (np.nan, np.nan)
    return [mean_poisson_deviance(y_test, means), seconds, *terms]


def run_simulated(case, seed, names, keep):
    """Return what `measure` does for each learner, and the deviance of the truth."""
    *data, means = sample_problem(*case, seed)
    while not data[1].any():  # nothing can be learned from zeros alone
        seed += 1_000_000
        *data, means = sample_problem(*case, seed)
    found = [
        common.kept(keep, (name, *case, seed), partial(measure, name, seed, *data))
        for name in names
    ]
    return found, mean_poisson_deviance(data[3], means)


def read_tables(n_rows):
    """Yield names, inputs, counts and numbers of training rows of public tables."""
    folder = common.data_folder()
    for name, path in (
        ("abalone", folder / "abalone.csv"),
        ("Ornstein", folder / "tables/regression/Ornstein.csv"),
    ):
        if not path.exists():
            results.leave_out(f"{name}: no such table in SKMOHN_DATA")
            continue
        table = pd.read_csv(path)
        y = table.pop(table.columns[-1]).to_numpy(dtype=float)
        for column in table.select_dtypes(exclude="number"):
            table[column] = table[column].astype("category")
        yield name, table, y, min(n_rows, int(2 / 3 * len(y)))


def report(table, label, names, runs, floor):
    """Print the deviances of one case, and by how much ours loses."""
    runs = np.array(runs)  # (n_instances, n_learners, 4)
    means, errors = runs[:, :, 0].mean(axis=0), np.zeros(len(names))
    if len(runs) > 1:
        errors = sem(runs[:, :, 0], axis=0)
    cells = [f"{m:.3f}({e:.3f})" for m, e in zip(means, errors, strict=True)]
    lost = []
    for ours in [k for k, name in enumerate(names) if name in OURS]:
        best = int(np.argmin(means))
        apart = runs[:, ours, 0] - runs[:, best, 0]
        error = sem(apart) if len(apart) > 1 else 0.0
        if names[best] not in OURS and apart.mean() > error:
            lost.append(f"{names[ours]} loses {apart.mean():.3f} to {names[best]}")
    table.row(*label, floor, *cells, details=lost)
    return runs[:, :, 1:]


def main():
    """Print deviances by case and table, then terms and seconds."""
    options = common.parse_options(
        __doc__,
        instances=4,
        quick_instances=2,
        add_arguments=lambda parser: (
            parser.add_argument("--rows", type=int, default=1000),
            parser.add_argument("--tables", action="store_true", help="these alone"),
            parser.add_argument("--methods", nargs="+", choices=LEARNERS),
            common.add_keep(parser),
        ),
    )
    common.warm_up()
    names = list(options.methods or LEARNERS)
    cases = CASES[:2] if options.quick else CASES
    seeds = range(options.seed, options.seed + options.instances)
    heads = " ".join(names)
    table = common.Table(
        "Mean Poisson deviance of test rows (standard error)",
        f"rows mean dispersion truth {heads}",
        width=17,
    )
    rest = {}
    for case in [] if options.tables else cases:
        runs, floors = zip(
            *(run_simulated(case, seed, names, options.keep) for seed in seeds),
            strict=True,
        )
        floor = f"{np.mean(floors):.3f}"
        rest[case] = report(table, case, names, runs, floor)
    for name, X, y, n_rows in [] if options.quick else read_tables(options.rows):
        runs = []
        for seed in seeds:
            parts = train_test_split(X, y, train_size=n_rows, random_state=seed)
            data = parts[0], parts[2], parts[1], parts[3]
            key = name, n_rows, seed
            runs.append(
                [
                    common.kept(
                        options.keep, (own, *key), partial(measure, own, seed, *data)
                    )
                    for own in names
                ]
            )
        case = n_rows, name, "?"
        rest[case] = report(table, case, names, runs, "?")
        rest[case][:, :, 1:] = np.nan  # the true terms are unknown
    ours = [name for name in names if name in OURS]
    terms = common.Table(
        "Precision and recall of true terms, and seconds of all",
        "rows mean dispersion "
        + " ".join(f"{name}:{what}" for name in ours for what in ("prec", "recall"))
        + " "
        + " ".join(f"s:{name}" for name in names),
        width=17,
    )
    for case, parts in rest.items():
        of_ours = [parts[:, names.index(name), 1:] for name in ours]
        found = [
            f"{np.nanmean(part):.2f}" if np.isfinite(part).any() else "-"
            for own in of_ours
            for part in own.T
        ]
        seconds = [f"{value:.2f}" for value in np.median(parts[:, :, 0], axis=0)]
        terms.row(*case, *found, *seconds)


if __name__ == "__main__":
    results.record(main)
