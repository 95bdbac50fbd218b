"""Pipelines, data and grids of hyperparameters, each grid with the scores of all folds.

Data are those of scikit-learn, and tables of `SKMOHN_DATA`. A grid is computed once and
kept in a file, so that ways to search it can be compared without fitting anything.
"""

import warnings
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.base import clone, is_classifier
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ParameterGrid,
    StratifiedKFold,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.shared import common
from benchmarks.shared.tables import read_table

N_FOLDS = 5
MAX_ROWS = 300
TOYS = {
    "breast_cancer": datasets.load_breast_cancer,
    "diabetes": datasets.load_diabetes,
    "digits": datasets.load_digits,
    "wine": datasets.load_wine,
}
NUMERIC = {"bdims", "births14", "evals", "Housing", "hprice2", "wage1"}
SCALERS = [StandardScaler(), MinMaxScaler(), QuantileTransformer(n_quantiles=50)]
POWERS = np.logspace


def _svc():
    steps = [("scale", StandardScaler()), ("model", SVC(max_iter=10_000))]
    return Pipeline(steps), {
        "scale": SCALERS,
        "model__C": POWERS(-2, 3, 9),
        "model__gamma": POWERS(-4, 1, 9),
        "model__class_weight": [None, "balanced"],
    }


def _svc_kernels():
    pipeline, _ = _svc()
    C = {"model__C": POWERS(-2, 3, 9)}
    gamma = {"model__gamma": POWERS(-4, 1, 9)}
    degree = {"model__degree": [2, 3], "model__coef0": [0.0, 1.0]}
    return pipeline, [
        {"model__kernel": ["linear"], **C},
        {"model__kernel": ["rbf"], **C, **gamma},
        {"model__kernel": ["poly"], **C, **degree, "model__gamma": POWERS(-3, 0, 5)},
    ]


def _neighbors(model):
    steps = [("scale", StandardScaler()), ("reduce", PCA()), ("model", model)]
    return Pipeline(steps), {
        "scale": ["passthrough", *SCALERS],
        "reduce": ["passthrough", PCA(0.8), PCA(0.95)],
        "model__n_neighbors": [1, 2, 3, 5, 8, 12, 20, 35],
        "model__weights": ["uniform", "distance"],
        "model__p": [1, 2],
    }


def _forest(model):
    return model.set_params(n_estimators=15, random_state=0), {
        "max_features": [0.1, 0.2, 0.4, 0.7, 1.0],
        "min_samples_leaf": [1, 2, 4, 8, 16],
        "max_depth": [2, 4, 8, None],
        "bootstrap": [True, False],
    }


def _boosting(model):
    return model.set_params(random_state=0), {
        "learning_rate": [0.01, 0.03, 0.1, 0.3, 1.0],
        "n_estimators": [10, 25, 60],
        "max_depth": [1, 2, 3, 5],
        "subsample": [0.4, 0.7, 1.0],
        "max_features": [0.3, 1.0],
    }


def _tree(model, criteria):
    return model.set_params(random_state=0), {
        "criterion": criteria,
        "max_depth": [2, 3, 4, 6, 9, None],
        "min_samples_leaf": [1, 2, 4, 8, 16, 32],
        "max_features": [0.3, 0.6, 1.0],
        "ccp_alpha": [0.0, 0.001, 0.01],
    }


def _logistic():
    steps = [
        ("scale", StandardScaler()),
        ("select", SelectKBest()),
        ("expand", PolynomialFeatures()),
        ("model", LogisticRegression(max_iter=200)),
    ]
    return Pipeline(steps), {
        "scale": SCALERS[:2],
        "select__k": [2, 4, 6, "all"],
        "expand": ["passthrough", PolynomialFeatures(2), Nystroem(50, random_state=0)],
        "model__C": POWERS(-3, 3, 9),
        "model__class_weight": [None, "balanced"],
    }


def _discriminant():
    steps = [("reduce", PCA()), ("model", LinearDiscriminantAnalysis(solver="lsqr"))]
    return Pipeline(steps), {
        "reduce": ["passthrough", *(PCA(k) for k in (5, 10, 20, 30))],
        "model__shrinkage": [None, "auto", *np.linspace(0.0, 0.9, 10).tolist()],
        "model__priors": [None, np.full(10, 0.1)],
    }


def _elastic():
    steps = [
        ("scale", StandardScaler()),
        ("expand", PolynomialFeatures()),
        ("model", ElasticNet(max_iter=300)),
    ]
    splines = [SplineTransformer(k) for k in (3, 6)]
    return Pipeline(steps), {
        "scale": SCALERS[:2],
        "expand": ["passthrough", PolynomialFeatures(2), *splines],
        "model__alpha": POWERS(-4, 1, 9),
        "model__l1_ratio": [0.01, 0.1, 0.5, 0.9, 1.0],
    }


def _svr():
    steps = [("scale", StandardScaler()), ("model", SVR())]
    return Pipeline(steps), {
        "scale": SCALERS[:2],
        "model__C": POWERS(-2, 3, 8),
        "model__gamma": POWERS(-4, 1, 8),
        "model__epsilon": [0.01, 0.1, 0.5],
    }


def _kernel_ridge():
    steps = [("scale", StandardScaler()), ("model", KernelRidge())]
    alpha = {"model__alpha": POWERS(-4, 2, 7)}
    gamma = {"model__gamma": POWERS(-4, 0, 7)}
    degree = {"model__degree": [2, 3]}
    return Pipeline(steps), [
        {"model__kernel": ["linear"], **alpha},
        {"model__kernel": ["rbf", "laplacian"], **alpha, **gamma},
        {"model__kernel": ["poly"], **alpha, **gamma, **degree},
    ]


def _ridge():
    steps = [
        ("scale", StandardScaler()),
        ("select", SelectKBest()),
        ("expand", SplineTransformer()),
        ("model", Ridge()),
    ]
    return Pipeline(steps), {
        "scale": ["passthrough", QuantileTransformer(n_quantiles=50)],
        "select__k": [2, 4, 6, "all"],
        "expand__n_knots": [2, 3, 5, 8],
        "expand__degree": [1, 2, 3],
        "model__alpha": POWERS(-4, 3, 8),
    }


# Name: data, pipeline and grid.
PAIRS = {
    "SVC, breast cancer": ("breast_cancer", _svc),
    "SVC, pima": ("pima", _svc),
    "SVC kernels, digits": ("digits", _svc_kernels),
    "SVC kernels, contraceptive": ("contraceptive", _svc_kernels),
    "neighbors, segment": ("segment", lambda: _neighbors(KNeighborsClassifier())),
    "neighbors, libras": (
        "movement_libras",
        lambda: _neighbors(KNeighborsClassifier()),
    ),
    "neighbors, bdims": ("bdims", lambda: _neighbors(KNeighborsRegressor())),
    "forest, satimage": ("satimage", lambda: _forest(RandomForestClassifier())),
    "extra trees, tae": ("tae", lambda: _forest(ExtraTreesClassifier())),
    "forest, hprice2": ("hprice2", lambda: _forest(RandomForestRegressor())),
    "boosting, pima": ("pima", lambda: _boosting(GradientBoostingClassifier())),
    "boosting, diabetes": ("diabetes", lambda: _boosting(GradientBoostingRegressor())),
    "boosting, Housing": ("Housing", lambda: _boosting(GradientBoostingRegressor())),
    "tree, ring": (
        "ring",
        lambda: _tree(DecisionTreeClassifier(), ["gini", "entropy"]),
    ),
    "tree, births14": (
        "births14",
        lambda: _tree(DecisionTreeRegressor(), ["squared_error", "absolute_error"]),
    ),
    "logistic, wine": ("wine", _logistic),
    "logistic, contraceptive": ("contraceptive", _logistic),
    "discriminant, digits": ("digits", _discriminant),
    "elastic net, wage1": ("wage1", _elastic),
    "SVR, diabetes": ("diabetes", _svr),
    "kernel ridge, Housing": ("Housing", _kernel_ridge),
    "ridge, evals": ("evals", _ridge),
}


def load(name):
    """Return numeric columns and a target of some rows; None without the data."""
    if name in TOYS:
        X, y = TOYS[name](return_X_y=True)
    else:
        kind = "regression" if name in NUMERIC else "classification"
        path = common.find_data(f"tables/{kind}/{name}.csv")
        if path is None:
            return None
        X, y = read_table(path)
        X = X.select_dtypes("number")
        X, y = X.fillna(X.median()).to_numpy(float), y.to_numpy()
    kept = np.random.default_rng(0).permutation(len(X))[:MAX_ROWS]
    return X[kept], y[kept]


def search(name):
    """Return estimator, grid, folds and data of a pair; None where data are missing."""
    data, make = PAIRS[name]
    table = load(data)
    if table is None:
        return None
    estimator, grid = make()
    folds = (StratifiedKFold if is_classifier(estimator) else KFold)(
        N_FOLDS, shuffle=True, random_state=0
    )
    return clone(estimator), grid, folds, *table


def scores(name, folder):
    """Return the settings of a grid and their scores by fold, kept in a folder."""
    found = search(name)
    if found is None:
        return None
    estimator, grid, folds, X, y = found
    settings = list(ParameterGrid(grid))
    path = Path(folder) / f"{name.replace(', ', '-').replace(' ', '_')}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = GridSearchCV(estimator, grid, cv=folds, refit=False)
            table = results.fit(X, y).cv_results_
        columns = [table[f"split{k}_test_score"] for k in range(N_FOLDS)]
        np.save(path, np.transpose(columns))
    return grid, settings, np.load(path)
