"""Test errors on three tables, in a given time, beside networks trained by gradients.

Abalone (10-20-1, 5 s), yeast (8-20-10, one-of-ten outputs, squared loss, 10 s) and
house-16H (16-100-1, 60 s): our network is fitted within the seconds named (`max_time`)
on random 70 % of the rows and scored on the others; the runs of a fit predict together.
Inputs are scaled to [-1, 1], numeric targets to [0, 1]. Peers see the same rows:

- MLP: scikit-learn's network of the same size by lbfgs, inputs and numeric targets
  standardised, `alpha` by three-fold cross-validation (on house the candidates compete
  on a held-out fifth, tol=1e-10),
- ELM: a ridge regression on random tanh units, 1000 of them and on house 4000, the
  penalty by leave-one-out cross-validation,
- boosting: HistGradientBoosting with its defaults, and early stopping but on yeast.

Printed are the mean test RMSE (over all outputs), the accuracy for classes, the mean of
the paired differences ours - peer with its standard error, and the median seconds of a
fit. Aimed at is to be below each network's mean RMSE and, on yeast, an RMSE of at most
0.229 with an accuracy of at least 0.61, on house an RMSE of at most 0.0715; boosting is
there to compare with. --quick takes an eighth of the seconds and a fifth of house, so
that aims about it do not count.
"""

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.model_selection import GridSearchCV, ShuffleSplit, train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import blm, common
from skmohn import BLMClassifier, BLMRegressor

ALPHAS = (0.3, 1.0, 3.0, 10.0, 30.0)
# Hidden units, seconds, our parameters, units of the ELM, RMSE and accuracy aimed at.
TABLES = {
    "abalone": (20, 5.0, {"n_restarts": 8, "ensemble": 8}, 1000, None, None),
    "yeast": (
        20,
        10.0,
        {
            "loss": "squared",
            "alpha": 0.03,
            # Many networks that are left early: few samples for so many classes.
            "max_flips": 15_600,
            "n_restarts": 64,
            "ensemble": 64,
        },
        1000,
        0.229,
        0.61,
    ),
    "house": (100, 60.0, {"n_restarts": 3, "ensemble": 3}, 4000, 0.0715, None),
}


def models_for(name, seconds, seed):
    """Return our estimator and the peers, by name."""
    units, _, parameters, n_random, _, _ = TABLES[name]
    shared = {"activation": "tanh", "solver": "lbfgs", "random_state": seed}
    shared["hidden_layer_sizes"] = (units,)
    if name == "yeast":
        ours, boosting = BLMClassifier, HistGradientBoostingClassifier
        mlp = make_pipeline(StandardScaler(), MLPClassifier(max_iter=2000, **shared))
        grid, folds = {"mlpclassifier__alpha": ALPHAS}, 3
    else:
        ours, boosting = BLMRegressor, HistGradientBoostingRegressor
        limits = {"tol": 1e-10, "max_iter": 600} if name == "house" else {}
        mlp = MLPRegressor(**{"max_iter": 2000, **limits}, **shared)
        mlp = TransformedTargetRegressor(
            make_pipeline(StandardScaler(), mlp), transformer=StandardScaler()
        )
        grid = {"regressor__mlpregressor__alpha": ALPHAS}
        folds = 3
        if name == "house":
            folds = ShuffleSplit(1, test_size=0.2, random_state=seed)
    return {
        "ours": ours((units,), max_time=seconds, random_state=seed, **parameters),
        "MLP": GridSearchCV(mlp, grid, cv=folds),
        f"ELM-{n_random}": blm.ELM(n_random, seed),
        # Not on yeast, where a class may have one row.
        "boosting": boosting(random_state=seed, early_stopping=name != "yeast"),
    }


def outputs_of(model, X):
    """Return predicted numbers, or for classes the outputs of the network."""
    if isinstance(model, BLMClassifier):
        # Probabilities are these divided by their sum, which the loss knows nothing of.
        return model._outputs(X)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return model.predict(X)


def compare(name, X, y, seconds, options):
    """Return for each model the test RMSE, accuracies and seconds of all splits."""
    classes = np.unique(y) if name == "yeast" else None
    found = {}
    for i in range(options.instances if name != "house" else options.house_instances):
        seed = options.seed + i
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, train_size=0.7, random_state=seed
        )
        for label, model in models_for(name, seconds, seed).items():
            if options.models and label.split("-")[0] not in options.models:
                continue
            target, wanted = y_train, y_test
            if classes is not None:
                wanted = (y_test[:, None] == classes).astype(float)
                if label.startswith("ELM"):
                    target = (y_train[:, None] == classes).astype(float)
            model, spent = blm.fitted(model, X_train, target)
            outputs = outputs_of(model, X_test)
            accuracy = np.nan
            if classes is not None:
                accuracy = np.mean(classes[outputs.argmax(axis=1)] == y_test)
            found.setdefault(label, []).append(
                (blm.rmse(wanted, outputs), accuracy, spent)
            )
    return {label: np.array(values).T for label, values in found.items()}


def _add_arguments(parser):
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument(
        "--models", nargs="+", help="these only, of ours, MLP, ELM, boosting"
    )
    parser.add_argument(
        "--house-instances", type=int, help="splits of house (default 3, quick 1)"
    )


def main():
    """Print one table for each data set."""
    options = common.parse_options(
        __doc__, instances=10, quick_instances=2, add_arguments=_add_arguments
    )
    if options.house_instances is None:
        options.house_instances = 1 if options.quick else 3
    common.warm_up()
    for name in options.only:
        data = blm.load(name)
        if data is None:
            continue
        X, y = data
        units, seconds, parameters, _, rmse_aim, accuracy_aim = TABLES[name]
        if options.quick:
            seconds /= 8
            if name == "house":
                X, y = X[::5], y[::5]
        given = ", ".join(f"{key}={value}" for key, value in parameters.items())
        n_outputs = len(np.unique(y)) if name == "yeast" else 1
        table = common.Table(
            f"{name}, {X.shape[1]}-{units}-{n_outputs}, {seconds:g} s; ours: {given}",
            "model splits RMSE aim accuracy aim difference error seconds",
            width=12,
        )
        found = compare(name, X, y, seconds, options)
        ours = found.get("ours")
        for label, (errors, accuracies, spent) in found.items():
            aims, difference, met = (None, None), (None, None), True
            if label == "ours":
                aims = rmse_aim, accuracy_aim
                met = rmse_aim is None or bool(
                    errors.mean() <= rmse_aim
                    and (accuracy_aim is None or accuracies.mean() >= accuracy_aim)
                )
            elif ours is not None:
                *difference, mean = blm.with_error(ours[0] - errors)
                met = bool(mean < 0) or label == "boosting"
            table.row(
                label,
                len(errors),
                f"{errors.mean():.5f}",
                aims[0],
                None if np.isnan(accuracies[0]) else f"{accuracies.mean():.4f}",
                aims[1],
                *difference,
                float(np.median(spent)),
                met=met,
            )
        table.close()


if __name__ == "__main__":
    main()
