"""Losses and units without gradients, each on its own metric, beside smooth networks.

On random 70 % of the rows ours minimizes what is then measured on the others:

- absolute: mean absolute error, abalone; the peer is MLPRegressor (squared loss),
- pinball: pinball loss at 0.9, abalone; the peer is the same MLPRegressor plus the 0.9
  quantile of its training residuals. The coverage (targets at or below the prediction)
  is to be within two points of 0.9,
- step: accuracy of a network of step units, breast cancer and digits; the peer is
  MLPClassifier with tanh units,
- zero-one: accuracy after BLMClassifier, fitted with cross-entropy, goes on
  (`warm_start`) with the error rate as its loss and without a penalty, which would
  shrink the margins; the peers are MLPClassifier and BLMClassifier before that. "train"
  is the change of the training errors in points.

The first three average four networks of ours (`n_restarts`, `ensemble`), the last is
one network.

Peers are of the same size, by lbfgs, `alpha` by three-fold cross-validation. Printed
are the means, and the mean paired gain over the peer (above zero where ours is better)
with its standard error; beside it, the median seconds of ours. Aimed at is a gain for
absolute and pinball; at most two points of accuracy lost by step units; no more
training errors, and at most half a point of accuracy lost, by zero-one.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import mean_absolute_error, mean_pinball_loss
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import blm, common, results
from skmohn import BLMClassifier, BLMRegressor

UNITS, QUANTILE = 20, 0.9
ALPHAS = (0.3, 1.0, 3.0, 10.0)
MAX_COVERAGE_ERROR = 0.02
AVERAGE = {"n_restarts": 4, "ensemble": 4}
TABLES = {
    "abalone": lambda: blm.load("abalone"),
    "cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
}


def splits(X, y, options):
    """Seeds and standardized parts."""
    for seed in range(options.seed, options.seed + options.instances):
        X_train, X_test, y_train, y_test = blm.split(X, y, seed)
        scaler = StandardScaler().fit(X_train)
        yield seed, scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


def by_gradients(kind, X, y, seed):
    """Fit the smooth network."""
    mlp = kind(
        hidden_layer_sizes=(UNITS,),
        activation="tanh",
        solver="lbfgs",
        max_iter=1000,
        random_state=seed,
    )
    return blm.fitted(GridSearchCV(mlp, {"alpha": ALPHAS}, cv=3), X, y)[0]


def regressions(X, y, options):
    """Return name, metrics of ours and the peer, seconds and coverages, by loss."""
    found = {
        "absolute": lambda y, p: mean_absolute_error(y, p),
        "pinball": lambda y, p: mean_pinball_loss(y, p, alpha=QUANTILE),
    }
    rows = {loss: [] for loss in found}
    for seed, X_train, X_test, y_train, y_test in splits(X, y, options):
        center, spread = y_train.mean(), y_train.std()
        mlp = by_gradients(MLPRegressor, X_train, (y_train - center) / spread, seed)
        plain = mlp.predict(X_test) * spread + center
        residuals = y_train - (mlp.predict(X_train) * spread + center)
        shifts = {"absolute": 0.0, "pinball": np.quantile(residuals, QUANTILE)}
        for loss, metric in found.items():
            model = BLMRegressor(
                (UNITS,), loss=loss, quantile=QUANTILE, random_state=seed, **AVERAGE
            )
            model, spent = blm.fitted(model, X_train, y_train)
            ours = model.predict(X_test)
            peer = metric(y_test, plain + shifts[loss])
            coverage = np.mean(y_test <= ours)
            rows[loss].append((metric(y_test, ours), peer, spent, coverage))
    return {loss: np.array(values).T for loss, values in rows.items()}


def classifications(X, y, options):
    """Return the accuracies and seconds, and the change of training errors."""
    step, fine = [], []
    for seed, X_train, X_test, y_train, y_test in splits(X, y, options):
        mlp = by_gradients(MLPClassifier, X_train, y_train, seed)
        peer = mlp.score(X_test, y_test)
        model = BLMClassifier((UNITS,), activation="step", random_state=seed, **AVERAGE)
        model, spent = blm.fitted(model, X_train, y_train)
        step.append((model.score(X_test, y_test), peer, spent))
        model, spent = blm.fitted(
            BLMClassifier((UNITS,), random_state=seed), X_train, y_train
        )
        before = model.score(X_train, y_train), model.score(X_test, y_test)
        model.set_params(loss="zero_one", alpha=0, warm_start=True)
        model, more = blm.fitted(model, X_train, y_train)
        fewer = model.score(X_train, y_train) - before[0]
        accuracy = model.score(X_test, y_test)
        fine.append((accuracy, peer, spent + more, before[1], fewer))
    return np.array(step).T, np.array(fine).T


def main():
    """Print one row for each loss and table."""
    options = common.parse_options(
        __doc__,
        instances=10,
        quick_instances=2,
        add_arguments=lambda parser: parser.add_argument(
            "--only", nargs="+", choices=list(TABLES), default=list(TABLES)
        ),
    )
    common.warm_up()
    table = common.Table(
        f"Own metrics, {UNITS} hidden units, {options.instances} splits",
        "loss data metric ours peer gain error coverage train seconds",
        width=20,
    )
    for name in options.only:
        data = TABLES[name]()
        if data is None:
            continue
        if name == "abalone":
            for loss, values in regressions(*data, options).items():
                ours, peer, seconds, coverage = values
                # Errors: the smaller the better.
                gain, error, mean = blm.with_error(peer - ours)
                close = abs(coverage.mean() - QUANTILE) <= MAX_COVERAGE_ERROR
                table.row(
                    f"{loss}, MLP",
                    name,
                    "MAE" if loss == "absolute" else "pinball",
                    f"{ours.mean():.5f}",
                    f"{peer.mean():.5f}",
                    gain,
                    error,
                    f"{coverage.mean():.3f}" if loss == "pinball" else None,
                    None,
                    float(np.median(seconds)),
                    met=bool(mean > 0 and (loss == "absolute" or close)),
                )
            continue
        step, fine = classifications(*data, options)
        better = 100 * fine[4].mean()
        for label, values, peer, lost, change in (
            ("step units, MLP", step, step[1], -0.02, None),
            ("zero-one, MLP", fine, fine[1], -0.02, better),
            ("zero-one, before", fine, fine[3], -0.005, better),
        ):
            gain, error, mean = blm.with_error(values[0] - peer)
            table.row(
                label,
                name,
                "accuracy",
                f"{values[0].mean():.4f}",
                f"{peer.mean():.4f}",
                gain,
                error,
                None,
                None if change is None else f"{-change:+.2f}",
                float(np.median(values[2])),
                met=bool(mean >= lost and (change is None or change >= 0)),
            )
    table.close()


if __name__ == "__main__":
    results.record(main)
