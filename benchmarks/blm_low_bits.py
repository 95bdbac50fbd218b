"""Networks of 2, 3, 4 and 8 bits a weight beside the same network in double precision.

On random 70 % of the rows of abalone (10-20-1), the digits (64-20-10) and house-16H
(16-100-1, with --quick left out) scikit-learn's MLP learns by lbfgs, `alpha` by
cross-validation. "rounded" is this network with its weights rounded to so many bits,
each layer to the range, of ten, that is best for the training rows; "ours" is trained
on the bits themselves with the default parameters: one network, the best for the
training rows of some starts (30 on abalone, 3 on the digits, 1 on house). Printed are
the means over the splits of the test errors (RMSE of targets in [0, 1]) or accuracies,
and how much worse, in per cent of the float64 figure, ours and the rounded network are.
Aimed at for ours are at most 4, 3, 2 and 1 %.
"""

import _blm as blm
import _common as common
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, ShuffleSplit, train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from skmohn import BLMClassifier, BLMRegressor
from skmohn.blm._network import forward

# Per cent worse than float64 that are aimed at.
AIMS = {2: 4.0, 3: 3.0, 4: 2.0, 8: 1.0}
SHARES = np.geomspace(0.05, 1.0, 10)
# Hidden units, starts, most splits.
TABLES = {"abalone": (20, 30, 10), "digits": (20, 3, 10), "house": (100, 1, 2)}


def read(name):
    """Return inputs and target; None when the table is missing."""
    return load_digits(return_X_y=True) if name == "digits" else blm.load(name)


def in_float64(name, X, y, units, seed):
    """Fit the network by gradients."""
    shared = {"activation": "tanh", "solver": "lbfgs", "random_state": seed}
    shared |= {"hidden_layer_sizes": (units,), "max_iter": 600, "tol": 1e-6}
    network = MLPClassifier if name == "digits" else MLPRegressor
    folds = ShuffleSplit(1, test_size=0.2, random_state=seed) if name == "house" else 3
    search = GridSearchCV(network(**shared), {"alpha": (1.0, 3.0, 10.0)}, cv=folds)
    return blm.fitted(search, X, y)[0].best_estimator_


def score_of(name, coefs, intercepts, X, y):
    """Return the accuracy, or the negative RMSE."""
    outputs = forward(X, coefs, intercepts, "tanh", "identity")
    if name == "digits":
        return np.mean(outputs.argmax(axis=1) == y)
    return -blm.rmse(y, outputs.ravel())


def rounded(name, mlp, n_bits, X, y):
    """Round the weights of each layer to the grid that is best for these rows."""
    coefs, intercepts = list(mlp.coefs_), list(mlp.intercepts_)
    for layer, (coef, intercept) in enumerate(zip(coefs, intercepts, strict=True)):
        top = max(np.abs(coef).max(), np.abs(intercept).max())
        tried = []
        for share in SHARES:
            grid = _rounder(n_bits, share * top)
            coefs[layer], intercepts[layer] = grid(coef), grid(intercept)
            score = score_of(name, coefs, intercepts, X, y)
            tried.append((score, share, coefs[layer], intercepts[layer]))
        _, _, coefs[layer], intercepts[layer] = max(tried, key=lambda item: item[0])
    return coefs, intercepts


def _rounder(n_bits, w_max):
    highest = 2 ** (n_bits - 1) - 1
    step = w_max / highest
    return lambda w: np.clip(np.rint(w / step), -highest - 1, highest) * step


def compare(name, X, y, n_splits, seed):
    """Return the scores of float64 and, by bits, of ours and the rounded network."""
    units, n_restarts, _ = TABLES[name]
    exact, ours, plain = [], {b: [] for b in AIMS}, {b: [] for b in AIMS}
    seconds = []
    for i in range(n_splits):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, train_size=0.7, random_state=seed + i
        )
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
        # Peers see what BLMRegressor makes of the target for itself.
        center, spread = 0.0, 1.0
        if name != "digits":
            center, spread = y_train.mean(), y_train.std()
        target, wanted = y_train, y_test
        if name != "digits":
            target, wanted = (y_train - center) / spread, (y_test - center) / spread
        mlp = in_float64(name, X_train, target, units, seed + i)
        exact.append(
            spread * score_of(name, mlp.coefs_, mlp.intercepts_, X_test, wanted)
        )
        network = BLMClassifier if name == "digits" else BLMRegressor
        for n_bits in AIMS:
            weights = rounded(name, mlp, n_bits, X_train, target)
            plain[n_bits].append(spread * score_of(name, *weights, X_test, wanted))
            model = network(
                (units,), n_bits=n_bits, n_restarts=n_restarts, random_state=seed + i
            )
            model, spent = blm.fitted(model, X_train, y_train)
            seconds.append(spent)
            if name == "digits":
                ours[n_bits].append(model.score(X_test, y_test))
            else:
                ours[n_bits].append(-blm.rmse(y_test, model.predict(X_test)))
    return np.mean(exact), ours, plain, float(np.median(seconds))


def main():
    """Print a row for each table and number of bits."""
    options = common.parse_options(
        __doc__,
        instances=5,
        quick_instances=2,
        add_arguments=lambda parser: parser.add_argument(
            "--only", nargs="+", choices=list(TABLES), default=list(TABLES)
        ),
    )
    common.warm_up()
    table = common.Table(
        "Test RMSE (accuracy of the digits) and per cent worse than float64",
        "data bits splits float64 ours rounded ours% aim rounded% seconds",
        width=8,
    )
    for name in options.only:
        if options.quick and name == "house":
            continue
        data = read(name)
        if data is None:
            continue
        n_splits = min(TABLES[name][-1], options.instances)
        exact, ours, plain, seconds = compare(name, *data, n_splits, options.seed)
        for n_bits, aim in AIMS.items():
            means = exact, np.mean(ours[n_bits]), np.mean(plain[n_bits])
            # Scores are negative errors or accuracies: lower is worse in both.
            worse = [100 * (exact - mean) / abs(exact) for mean in means[1:]]
            table.row(
                name,
                n_bits,
                n_splits,
                *(f"{abs(mean):.5f}" for mean in means),
                f"{worse[0]:+.2f}",
                aim,
                f"{worse[1]:+.2f}",
                seconds,
                met=bool(worse[0] <= aim),
            )
    table.close()


if __name__ == "__main__":
    main()
