"""Right and wrong uses of the public names, for pyright and mypy; nothing here is run.

A wrong use has a comment that expects the report of each; mypy, which does not know the
bases of scikit-learn, reports no unknown attribute. Where there is no report any
longer, the comment is reported, as one without need.
"""

import numpy as np
from sklearn.model_selection import KFold

import skmohn
from skmohn import (
    BlackBoxOptimizer,
    BLMClassifier,
    BLMController,
    BLMRegressor,
    EnergyNetClassifier,
    EnergyNetTransformer,
    InfiniteRBMOptions,
    MOHNClassifier,
    MOHNRegressor,
    MOHNTransformer,
    MSDAOptions,
    SearchOptions,
    minimize_black_box,
)
from skmohn.datasets import InvertedPendulum, make_ising, make_sparse_walsh
from skmohn.inspection import FiltersDisplay, HypergraphDisplay, WeightsDisplay
from skmohn.integrations import from_dimod
from skmohn.mohn import InteractionGraph
from skmohn.optimize import maximize


def fitted_attributes_are_known(X: np.ndarray, y: np.ndarray) -> None:
    model = MOHNRegressor("pursuit", max_order=3).fit(X, y)
    terms: list[tuple[int | str, ...]] = model.terms_
    weights: np.ndarray = model.weights_
    linkage: InteractionGraph = model.interaction_graph_
    seconds = model.history_[-1]["seconds"]
    print(terms, weights.shape, linkage.neighbors(0), seconds, model.intercept_ + 1.0)
    classifier = MOHNClassifier(C=1.0, cv=KFold(3)).fit(X, y)
    print(classifier.classes_.shape, classifier.predict_proba(X)[:, 1])
    features = MOHNTransformer().fit(X, y)
    print(features.transform(X), features.get_feature_names_out(), features.terms_)
    network = BLMClassifier(5, n_bits=4, w_max=3.0, max_flips=9).fit(X, y)
    print(network.codes_.dtype, network.loss_ + 1.0, network.coefs_[0].shape)
    print(network.to_c("net", X=X, input_scale=0.1).header.upper())
    stack = EnergyNetTransformer().fit(X)
    print(stack.n_components_per_layer_[0], stack.stopping_reason_.upper())
    print(
        EnergyNetTransformer(
            infinite_rbm_options=InfiniteRBMOptions(beta=1.1)
        ).infinite_rbm_options
    )
    print(EnergyNetClassifier(stack).fit(X, y).transformer_.coding_)
    print(BLMController((2,)).fit(InvertedPendulum()).n_evaluations_)


def results_have_their_types(X: np.ndarray, y: np.ndarray) -> None:
    model: MOHNRegressor = MOHNRegressor().fit(X, y).partial_fit(X, y)
    print(model.predict(X).mean())
    mean, std = model.predict(X, return_std=True)
    print(mean + std)
    made: MOHNRegressor = MOHNRegressor.from_terms([(0, "a")], [1.0])
    print(made.score(X, y), from_dimod({}).terms_)
    print(BLMRegressor().fit(X, y).partial_fit(X, y).stopping_reason_)
    print(maximize(model).x, make_sparse_walsh(5).X, make_ising((3, 3)).maximum)
    print(minimize_black_box(len, {"a": [1, 2], "b": (0, 9)}, 20, noise=0).x)
    optimizer: BlackBoxOptimizer = BlackBoxOptimizer(30, maximize=True)
    optimizer.tell(optimizer.ask(), [1.0])
    print(optimizer.run(np.sum, 9, n_jobs=2).fun, optimizer.history_.to_frame())
    print(HypergraphDisplay.from_estimator(model).plot().ax_)
    print(BLMRegressor(search_options=SearchOptions(phi=0.2)).search_options)
    print(MSDAOptions(batch_size=10).batch_size, skmohn.__version__.split("."))
    skmohn.warm_up()


def mistakes_are_reported(model: MOHNRegressor, X: np.ndarray) -> None:
    MOHNRegressor(strategi="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    MOHNRegressor("nonsense")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    MOHNClassifier(alpha=1.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    BLMClassifier(hidden=(3,))  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    BLMController(n_bit=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    EnergyNetTransformer(n_layers=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    print(model.nonsense)  # pyright: ignore[reportAttributeAccessIssue]
    print(model.coef_)  # pyright: ignore[reportAttributeAccessIssue]
    model.fit(X)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    model.interaction_graph_.neighbours(0)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    MOHNTransformer().predict(X)  # pyright: ignore[reportAttributeAccessIssue]
    print(BLMRegressor().classes_)  # pyright: ignore[reportAttributeAccessIssue]
    print(EnergyNetTransformer().terms_)  # pyright: ignore[reportAttributeAccessIssue]
    WeightsDisplay(terms=[], weight=[])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    FiltersDisplay.of(model)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    minimize_black_box(len, 30)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    BlackBoxOptimizer(30, maximise=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    maximize(model, methods="tabu")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    skmohn.MOHNRegresor()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
