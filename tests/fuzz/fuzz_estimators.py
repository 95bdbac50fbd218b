"""Every public estimator, in settings small enough for hundreds of fits a minute."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skmohn import (
    BLMClassifier,
    BLMRegressor,
    EnergyNetClassifier,
    EnergyNetImputer,
    EnergyNetOutlierDetector,
    EnergyNetRegressor,
    EnergyNetTransformer,
    GPOptions,
    MOHNClassifier,
    MOHNDensity,
    MOHNGLMRegressor,
    MOHNRegressor,
    MOHNTransformer,
    SearchOptions,
)

_SMALL_MOHN = {"cv": 2, "max_iter": 20, "work_budget": 1e6, "random_state": 0}
_SMALL_BLM = {"n_bits": 4, "max_flips": 300, "random_state": 0}
_SMALL_STACK = EnergyNetTransformer(
    max_layers=1,
    max_units=4,
    max_steps=300,
    n_final_epochs=2,
    n_temperatures=20,
    n_draws=5,
    random_state=0,
)
_GIVEN_STACK = EnergyNetTransformer(
    None, [3, 2], n_final_epochs=2, n_temperatures=20, n_draws=5, random_state=0
)

ESTIMATORS = {
    "auto": MOHNRegressor(**_SMALL_MOHN),
    "auto, missing": MOHNRegressor(handle_unknown="missing", **_SMALL_MOHN),
    "pursuit": MOHNRegressor("pursuit", max_order=2, **_SMALL_MOHN),
    "ebic": MOHNRegressor("pursuit", selection="ebic", **_SMALL_MOHN),
    "full ols": MOHNRegressor("full", max_order=1, **_SMALL_MOHN),
    "full lasso": MOHNRegressor("full", "lasso", max_order=1, **_SMALL_MOHN),
    "full delta": MOHNRegressor("full", "delta", max_order=1, **_SMALL_MOHN),
    "msda": MOHNRegressor("msda", max_order=2, **_SMALL_MOHN),
    "gp": MOHNRegressor("gp", **_SMALL_MOHN),
    "dense, constant": MOHNRegressor(
        "gp",
        gp_options=GPOptions(noise="constant", clip=False, one_hot="auto"),
        **_SMALL_MOHN,
    ),
    "dense, thermometer": MOHNRegressor(
        "gp", gp_options=GPOptions(numeric="thermometer"), **_SMALL_MOHN
    ),
    "held out": MOHNRegressor(early_stopping=True, **_SMALL_MOHN),
    "MOHNClassifier": MOHNClassifier(**_SMALL_MOHN),
    "MOHNClassifier, logistic": MOHNClassifier("logistic", 2, **_SMALL_MOHN),
    "MOHNClassifier, levels": MOHNClassifier(
        "gp", handle_unknown="missing",
        gp_options=GPOptions(numeric="thermometer"), **_SMALL_MOHN,
    ),
    "MOHNClassifier, C": MOHNClassifier(
        "full", 1, C=1.0, class_weight="balanced", **_SMALL_MOHN
    ),
    "MOHNGLMRegressor": MOHNGLMRegressor(**_SMALL_MOHN),
    "MOHNGLMRegressor, negative binomial": MOHNGLMRegressor(
        loss="negative_binomial", max_order=2, handle_unknown="missing", **_SMALL_MOHN
    ),
    "MOHNGLMRegressor, gamma": MOHNGLMRegressor(
        "full", "gamma", max_order=1, C=1.0, **_SMALL_MOHN
    ),
    "MOHNGLMRegressor, tweedie": MOHNGLMRegressor(
        "full", "tweedie", max_order=1, power=1.3, C=1.0, **_SMALL_MOHN
    ),
    "MOHNTransformer": MOHNTransformer(max_order=2, max_terms=5, **_SMALL_MOHN),
    "MOHNTransformer, pursuit": MOHNTransformer(
        "pursuit", handle_unknown="missing", include_inputs=False, **_SMALL_MOHN
    ),
    "MOHNDensity": MOHNDensity(random_state=0),
    "MOHNDensity, levels": MOHNDensity(
        2, max_levels=2, ebic_gamma=0.0, random_state=0
    ),
    "BLMRegressor": BLMRegressor((3,), **_SMALL_BLM),
    "BLMRegressor, huber": BLMRegressor(
        (2, 2), "relu", loss="huber", ensemble=2, n_restarts=2, **_SMALL_BLM
    ),
    "BLMRegressor, pinball": BLMRegressor((), loss="pinball", **_SMALL_BLM),
    "BLMClassifier": BLMClassifier((3,), **_SMALL_BLM),
    "BLMClassifier, squared": BLMClassifier(
        (3,), loss="squared", class_weight="balanced",
        search_options=SearchOptions(telescopic="threshold"), **_SMALL_BLM,
    ),
    "BLMClassifier, held out": BLMClassifier(
        (3,), "step", loss="hinge", early_stopping=True, **_SMALL_BLM
    ),
    "EnergyNetTransformer": _SMALL_STACK,
    "EnergyNetTransformer, held out": EnergyNetTransformer(
        "held_out", max_layers=1, max_units=4, max_steps=300, n_final_epochs=2,
        handle_unknown="missing", n_temperatures=20, random_state=0,
    ),
    "EnergyNetTransformer, paper": EnergyNetTransformer(
        "infinite_rbm", max_layers=1, max_units=3, max_steps=300, n_final_epochs=2,
        coding="minmax", random_state=0,
    ),
    "EnergyNetTransformer, given": EnergyNetTransformer(
        None, [3, 2], n_final_epochs=2, layer="all", passthrough=True, random_state=0
    ),
    "EnergyNetImputer": EnergyNetImputer(_GIVEN_STACK, add_indicator=True),
    "EnergyNetImputer, draws": EnergyNetImputer(
        _SMALL_STACK, sample_posterior=True, random_state=0
    ),
    "EnergyNetOutlierDetector": EnergyNetOutlierDetector(_GIVEN_STACK),
    "EnergyNetOutlierDetector, whitened": EnergyNetOutlierDetector(
        EnergyNetTransformer(
            n_components=2, n_final_epochs=2, whiten=True, n_temperatures=20,
            random_state=0,
        ),
        contamination=0.1,
    ),
    "EnergyNetClassifier": EnergyNetClassifier(
        _GIVEN_STACK, MLPClassifier((3,), max_iter=5, random_state=0), random_state=0
    ),
    "EnergyNetClassifier, generative": EnergyNetClassifier(
        _GIVEN_STACK,
        MLPClassifier(activation="logistic", max_iter=5, random_state=0),
        init="generative",
        random_state=0,
    ),
    "EnergyNetRegressor": EnergyNetRegressor(
        _GIVEN_STACK,
        MLPRegressor(hidden_layer_sizes=(3,), max_iter=5, random_state=0),
        random_state=0,
    ),
}  # fmt: skip
FAMILIES = {
    "mohn": [n for n, e in ESTIMATORS.items() if "MOHNRegressor" in type(e).__name__],
    "products": [
        n
        for n, e in ESTIMATORS.items()
        if isinstance(e, MOHNClassifier | MOHNTransformer)
    ],
    "densities": [n for n in ESTIMATORS if n.startswith("MOHNDensity")],
    "glm": [n for n, e in ESTIMATORS.items() if isinstance(e, MOHNGLMRegressor)],
    "blm": [n for n in ESTIMATORS if n.startswith("BLM")],
    "energynet": [n for n in ESTIMATORS if n.startswith("EnergyNet")],
}
assert sum(map(len, FAMILIES.values())) == len(ESTIMATORS)

_USES = {
    "predict": lambda model, X: model.predict(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "decision_function": lambda model, X: model.decision_function(X),
    "transform": lambda model, X: model.transform(X),
    "score_samples": lambda model, X: model.score_samples(X),
    "impute": lambda model, X: model.impute(X),
    "sample_y": lambda model, X: model.sample_y(X, 2),
}


def fine_targets(estimator):
    """Kinds of targets that an estimator is meant for."""
    if is_classifier(estimator):
        return ("two", "three", "words", "truth")
    if isinstance(
        estimator,
        EnergyNetTransformer
        | EnergyNetImputer
        | EnergyNetOutlierDetector
        | MOHNDensity,
    ):
        return ("none", "plain", "two")
    if isinstance(estimator, MOHNGLMRegressor):
        return ("positive", "whole", "bits", "constant", "far")
    return ("plain", "whole", "bits", "constant", "large", "small", "far", "column")


def outputs(model):
    """Functions of rows that a fitted estimator offers, by name."""
    found = {
        name: lambda X, use=use: use(model, X)
        for name, use in _USES.items()
        if hasattr(model, name)
    }
    if isinstance(model, EnergyNetOutlierDetector):
        # That of MOHNs takes one row.
        found["explain"] = model.explain
    if isinstance(model, MOHNRegressor):
        found["return_std"] = lambda X: model.predict(X, return_std=True)
    return found


def reference():
    """Rows and targets, of numbers and of classes, that every estimator can learn."""
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.choice([-1.0, 1.0], (40, 2)), rng.normal(size=40)])
    y = X[:, 0] + 0.3 * rng.standard_normal(40)
    return X, y, np.where(y > 0, "yes", "no").astype(object)
