"""Few columns in the place of all pairs, for logistic regression.

MOHNTransformer and LogisticRegression(C=0.1) beside PolynomialFeatures(2) and
LogisticRegressionCV, on the same stratified folds and the same columns of 0 and 1:

- digits, of which a pixel is 1 at 8 and above;
- breast cancer, each measurement in four quantile bins;
- german credit, categories one by one and numbers in four quantile bins;
- mushrooms, generated: 22 attributes with categories, edible by a few rules that join
  two attributes, a twentieth of the labels wrong.

Also shown are LogisticRegressionCV on the columns themselves, MOHNTransformer without
the columns that do not matter (``include_inputs=False``) and MOHNClassifier. Printed
are the mean test accuracy with the standard error of its difference to all pairs, the
median number of columns that the classifier gets and the median seconds of a fit.
Aimed at are, for MOHNTransformer, an accuracy no more than that error below all pairs,
at most a tenth of their columns, and less time.

The table of german credit is read from the folder named by the environment variable
SKMOHN_DATA, else from shared/data next to the repository. --quick takes three folds.
"""

import csv
import warnings
from statistics import median

import numpy as np
from scipy.stats import sem
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
)

from benchmarks.shared import common, results
from skmohn import MOHNClassifier, MOHNTransformer

MIN_REDUCTION = 10  # of the number of columns
PAIRS, OURS = "all pairs, CV", "MOHNTransformer"


def bins():
    """Columns of 0 and 1, one for each quarter of a column's values."""
    return KBinsDiscretizer(
        4,
        encode="onehot-dense",
        strategy="quantile",
        quantile_method="averaged_inverted_cdf",
    )


def categories():
    """Columns of 0 and 1, one for each category."""
    return OneHotEncoder(drop="if_binary", handle_unknown="ignore", sparse_output=False)


def digits():
    """Return pixels, digits, and nothing to prepare."""
    X, y = load_digits(return_X_y=True)
    return (X >= 8).astype(float), y, FunctionTransformer()


def breast_cancer():
    """Return measurements, diagnoses and bins."""
    return *load_breast_cancer(return_X_y=True), bins()


def german():
    """Return the table of 20 columns, classes and encoders; None if missing."""
    path = common.find_data("german_categorical.csv")
    if path is None:
        return None
    with open(path, newline="", encoding="utf-8") as file:
        rows = np.array(list(csv.reader(file))[1:], dtype=object)
    X, y = rows[:, :-1], rows[:, -1].astype(int)
    is_number = [all(value.isdigit() for value in column) for column in X.T]
    numbers = np.flatnonzero(is_number)
    X[:, numbers] = X[:, numbers].astype(float)
    return (
        X,
        y,
        make_column_transformer(
            (bins(), numbers), (categories(), np.flatnonzero(~np.array(is_number)))
        ),
    )


def mushrooms(n_rows=2000, seed=0):
    """Return generated attributes, whether edible, and an encoder."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 10, size=22)
    X = np.stack([rng.choice(size, n_rows, p=shares(size, rng)) for size in sizes], 1)
    odor, spores, ring, gill = (X[:, j] for j in np.argsort(sizes)[-4:])
    poisonous = ((odor < 3) & (spores > 2)) | ((ring == 0) ^ (gill == 1))
    wrong = rng.random(n_rows) < 0.05
    return (
        X.astype(str),
        np.where(poisonous ^ wrong, "poisonous", "edible"),
        categories(),
    )


def shares(size, rng):
    """Uneven frequencies of the categories of an attribute."""
    return rng.dirichlet(np.full(size, 3.0))


DATA = {
    "digits": digits,
    "breast cancer": breast_cancer,
    "german": german,
    "mushrooms": mushrooms,
}


def make_learners(most):
    """Return the last steps of pipelines, unfitted, by name."""
    pairs = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    few = {"max_terms": most, "random_state": 0}
    last = LogisticRegression(C=0.1, max_iter=1000)
    validated = LogisticRegressionCV(
        l1_ratios=(0,), scoring="accuracy", use_legacy_attributes=False, max_iter=1000
    )
    return {
        PAIRS: [pairs, validated],
        "inputs, CV": [validated],
        OURS: [MOHNTransformer(**few), last],
        "  found ones only": [MOHNTransformer(**few, include_inputs=False), last],
        "MOHNClassifier": [MOHNClassifier(**few)],
    }


def compare(X, y, prepare, n_folds, seed):
    """Return accuracies, columns and seconds by learner, one for each fold."""
    found = {}
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    for train, test in list(folds.split(X, y))[:n_folds]:
        n_inputs = prepare.fit_transform(X[train]).shape[1]
        most = (n_inputs + n_inputs * (n_inputs - 1) // 2) // MIN_REDUCTION
        for name, steps in make_learners(most).items():
            learner = make_pipeline(prepare, *steps)
            seconds = common.timed_fit(learner, X[train], y[train])
            score = learner.score(X[test], y[test])
            n_columns = learner[:-1].transform(X[test]).shape[1]
            found.setdefault(name, []).append((score, n_columns, seconds))
    return {name: np.array(rows).T for name, rows in found.items()}


def main():
    """Print one table for each data set."""
    options = common.parse_options(__doc__, instances=10, quick_instances=3)
    common.warm_up()
    # Some quarters of german credit are empty, as many of its numbers are equal.
    warnings.filterwarnings("ignore", "Bins whose width are too small")
    for name, read in DATA.items():
        data = read()
        if data is None:
            continue
        found = compare(*data, options.instances, options.seed)
        table = common.Table(name, "learner accuracy error columns seconds", width=18)
        theirs = found[PAIRS]
        for learner, (scores, columns, seconds) in found.items():
            differences = scores - theirs[0]
            error = 0.0 if learner == PAIRS else sem(differences)
            met = (
                differences.mean() >= -error
                and np.all(MIN_REDUCTION * columns <= theirs[1])
                and median(seconds) < median(theirs[2])
            )
            table.row(
                learner,
                f"{scores.mean():.4f}",
                None if learner == PAIRS else f"{error:.4f}",
                int(median(columns)),
                median(seconds),
                met=met or learner != OURS,
            )
        table.close()


if __name__ == "__main__":
    results.record(main)
