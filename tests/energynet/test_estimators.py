"""EnergyNetClassifier and EnergyNetRegressor: scikit-learn's MLP on what was found."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support import traced_memory

from skmohn import EnergyNetClassifier, EnergyNetRegressor, EnergyNetTransformer
from skmohn.energynet._growth import PAYING_REASON

# Networks as narrow as those here take long to train to the end.
pytestmark = pytest.mark.filterwarnings(
    "ignore:lbfgs failed to converge:sklearn.exceptions.ConvergenceWarning"
)

STACK = EnergyNetTransformer(None, [6, 4], n_final_epochs=20)
LOGISTIC = MLPClassifier(activation="logistic", solver="lbfgs", max_iter=20)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16, y[:600]


@pytest.fixture(scope="module")
def diabetes():
    return tuple(part[:240] for part in load_diabetes(return_X_y=True, scaled=False))


def hidden_layers(mlp, X):
    """States of the hidden layers of a network with logistic units."""
    found = []
    for weights, bias in zip(mlp.coefs_[:-1], mlp.intercepts_[:-1], strict=True):
        X = 1 / (1 + np.exp(-(X @ weights + bias)))
        found.append(X)
    return found


@pytest.mark.parametrize("task", ["classes", "numbers", "labels"])
def test_generative_start_is_the_forward_pass_of_the_stack(digits, task):
    X, y = digits
    # A step so small that the network stays where it starts.
    still = {"activation": "logistic", "solver": "sgd", "learning_rate_init": 1e-12,
             "max_iter": 1, "batch_size": 600}  # fmt: skip
    estimator, mlp = EnergyNetClassifier, MLPClassifier
    if task == "numbers":
        estimator, mlp = EnergyNetRegressor, MLPRegressor
    elif task == "labels":
        y = np.eye(10, dtype=int)[y]
    net = estimator(STACK, mlp(**still), init="generative", random_state=0)
    with pytest.warns(match="Maximum iterations"):
        net.fit(X, y)
    assert net.mlp_.hidden_layer_sizes == (6, 4)
    stack = net.transformer_.set_params(standardize=False, layer="all")
    expected = stack.transform(X)
    assert_allclose(np.hstack(hidden_layers(net.mlp_, X)), expected, atol=1e-8)
    assert isinstance(net.mlp_, mlp)


@pytest.mark.slow_cases("False-adam")
@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_generative_start_is_trained_by_every_solver(digits, solver, early_stopping):
    X, y = digits
    mlp = MLPClassifier(
        activation="logistic", solver=solver, max_iter=2000,
        learning_rate_init=0.01, n_iter_no_change=50,
        early_stopping=early_stopping and solver == "adam",
    )  # fmt: skip
    net = EnergyNetClassifier(
        EnergyNetTransformer(None, 100, n_final_epochs=30), mlp, init="generative",
        random_state=0,
    ).fit(X, y)  # fmt: skip
    assert not np.allclose(net.mlp_.coefs_[0], net.transformer_.weights_[0].T)
    assert net.score(X, y) > 0.95


def test_random_start_is_that_of_scikit_learn(digits):
    X, y = digits
    mlp = MLPClassifier(solver="lbfgs", alpha=10.0, tol=3e-3)
    net = EnergyNetClassifier(STACK, mlp, random_state=0).fit(X, y)
    assert type(net.mlp_) is MLPClassifier
    assert net.mlp_.hidden_layer_sizes == (6, 4)
    peer = clone(net.mlp_)
    scaled = StandardScaler().fit_transform(X)
    assert_array_equal(peer.fit(scaled, y).predict(scaled), net.predict(X))
    assert_allclose(peer.predict_proba(scaled), net.predict_proba(X))
    assert_array_equal(net.classes_, np.arange(10))


@pytest.fixture(scope="module")
def grown(digits):
    X, y = digits
    return EnergyNetClassifier(random_state=0).fit(X[:60, 16:48], y[:60] % 3)


@pytest.mark.slow
def test_architecture_is_the_one_found(digits, grown):
    X, y = digits[0][:60, 16:48], digits[1][:60] % 3
    net = grown
    found = net.transformer_.n_components_per_layer_
    assert (found[0],) in {tried["hidden_layer_sizes"] for tried in net.candidates_}
    given = clone(net).set_params(mlp=MLPClassifier(solver="lbfgs", alpha=1.0))
    assert given.fit(X, y).mlp_.hidden_layer_sizes[0] == found[0]
    assert net.transformer_.width_reasons_ == [PAYING_REASON] * len(found)
    assert net.transformer_.unit_cost == 0.3
    again = EnergyNetClassifier(random_state=0).fit(X, y)
    assert_array_equal(again.predict_proba(X), net.predict_proba(X))


def test_layers_get_their_last_training_where_their_weights_are_used(digits):
    def stages(net):
        return {record["stage"] for record in net.transformer_.history_}

    X, y = digits[0][:60, 16:48], digits[1][:60] % 3
    mlp = MLPClassifier(activation="logistic", solver="lbfgs", max_iter=5)
    net = EnergyNetClassifier(mlp=mlp, random_state=0)
    assert "final" not in stages(net.fit(X, y))
    assert "final" in stages(net.set_params(init="generative").fit(X, y))


def few_of_each(load, n, seed):
    """Some samples of each class, and the others."""
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(seed)
    chosen = [
        rng.choice(np.flatnonzero(y == c), n, replace=False) for c in np.unique(y)
    ]
    train = np.isin(np.arange(len(y)), chosen)
    return X[train], y[train], X[~train], y[~train]


@pytest.mark.slow
@pytest.mark.parametrize(("load", "n"), [(load_iris, 5), (load_wine, 2)])
def test_few_samples_are_classified_about_as_well_as_without_layers(load, n):
    ours, theirs = [], []
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    for seed in range(2):
        X, y, X_test, y_test = few_of_each(load, n, seed)
        ours.append(EnergyNetClassifier(random_state=0).fit(X, y).score(X_test, y_test))
        theirs.append(linear.fit(X, y).score(X_test, y_test))
    assert np.mean(ours) > np.mean(theirs) - 0.05


@pytest.mark.parametrize("inits", [("random", "generative"), ("generative", "random")])
@pytest.mark.parametrize("mlp", [None, LOGISTIC])
def test_parameters_set_after_a_fit_change_no_prediction(inits, mlp):
    X, y = load_iris(return_X_y=True)
    net = EnergyNetClassifier(STACK, mlp, init=inits[0], random_state=0)
    expected = net.fit(X[::3], y[::3]).predict_proba(X)
    net.set_params(init=inits[1])
    assert_array_equal(net.predict_proba(X), expected)


@pytest.mark.slow_cases("generative")
@pytest.mark.parametrize("init", ["random", "generative"])
def test_columns_without_structure_have_as_many_units(init):
    X = np.random.default_rng(0).random((200, 6)) * 10
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 10
    activation = "relu" if init == "random" else "logistic"
    mlp = MLPRegressor(activation=activation, solver="lbfgs", alpha=1.0, tol=1e-2)
    net = EnergyNetRegressor(mlp=mlp, init=init, random_state=0).fit(X, y)
    assert net.transformer_.n_components_per_layer_ == [1]
    assert net.mlp_.hidden_layer_sizes == (6,)
    # What is given is taken.
    one = EnergyNetTransformer(n_components=1, n_final_epochs=5)
    net.set_params(transformer=one).fit(X, y)
    assert net.mlp_.hidden_layer_sizes == (1,)


@pytest.mark.parametrize(
    ("widths", "sizes"),
    [
        ([5], (5,)), ([2], (4,)), ([5, 4], (5, 4)), ([5, 3, 9], (5,)), ([2, 1], (4,)),
        ([1], (30,)),
    ],
)  # fmt: skip
def test_layers_are_no_narrower_than_the_outputs(widths, sizes):
    net = EnergyNetClassifier()
    net.transformer_ = EnergyNetTransformer()
    net.transformer_.n_components_per_layer_ = widths
    assert net._sizes(np.array([0, 1, 2, 3, 3]), 30) == sizes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("init", "load"), [("generative", load_iris), ("random", load_wine)]
)
def test_classes_on_held_out_samples(init, load):
    X, y = load(return_X_y=True)
    net = EnergyNetClassifier(init=init, random_state=0)
    X, held_out, y, truth = train_test_split(X, y, stratify=y, random_state=0)
    assert net.fit(X, y).score(held_out, truth) >= 0.93


@pytest.mark.slow_cases("generative")
@pytest.mark.parametrize("init", ["random", "generative"])
def test_numbers_of_any_size(diabetes, init):
    X, y = diabetes
    net = EnergyNetRegressor(
        EnergyNetTransformer(None, 15, n_final_epochs=20), init=init, random_state=0
    )
    third = len(y) // 3
    expected = net.fit(X[:third], y[:third]).predict(X[third:])
    assert net.score(X[third:], y[third:]) > 0.25
    for scale in (2.0**-10, 2.0**13):
        found = net.fit(X[:third], scale * y[:third]).predict(X[third:])
        assert_allclose(found, scale * expected, rtol=1e-4)


def test_several_outputs_and_labels(diabetes):
    X, y = (part[::3] for part in diabetes)
    both = np.column_stack([y, -2 * y])
    net = EnergyNetRegressor(STACK, random_state=0).fit(X, both)
    found = net.predict(X)
    assert found.shape == both.shape
    assert net.score(X, both) > 0.5
    labels = (both > np.median(both, axis=0)).astype(int)
    net = EnergyNetClassifier(STACK, random_state=0).fit(X, labels)
    assert net.predict(X).shape == labels.shape
    assert net.predict_proba(X).shape == labels.shape


@pytest.mark.needs_sklearn("1.7", "loss='poisson' of networks")
def test_counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = rng.poisson(np.exp(1 + X[:, 0]))
    mlp = MLPRegressor(loss="poisson", solver="lbfgs", max_iter=200)
    net = EnergyNetRegressor(STACK, mlp, random_state=0).fit(X, y)
    assert net.target_scaler_ is None
    assert np.all(net.predict(X) > 0)
    assert net.score(X, y) > 0.5


def test_words_as_classes_and_columns_with_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    words = load_iris().target_names[y]
    net = EnergyNetClassifier(STACK, random_state=0).fit(X, words)
    assert_array_equal(net.feature_names_in_, X.columns)
    assert set(net.predict(X)) == set(words)
    with pytest.raises(ValueError, match="feature names"):
        net.predict(X.rename(columns=str.upper))
    assert isinstance(X, pd.DataFrame)


def test_parameters_of_both_parts_can_be_searched():
    X, y = load_iris(return_X_y=True)
    net = EnergyNetClassifier(
        STACK, MLPClassifier(solver="lbfgs", max_iter=500), random_state=0
    )
    grid = {"mlp__alpha": [0.1, 1.0], "transformer__n_components": [3, [4, 4]]}
    search = GridSearchCV(make_pipeline(net), {
        f"energynetclassifier__{name}": values for name, values in grid.items()
    }, cv=2).fit(X, y)  # fmt: skip
    assert search.best_score_ > 0.9
    assert "energynetclassifier__mlp__alpha" in search.best_params_


def test_parts_are_not_changed(diabetes):
    X, y = diabetes
    stack, mlp = clone(STACK), MLPRegressor(max_iter=500, solver="lbfgs", alpha=3.0)
    net = EnergyNetRegressor(stack, mlp, random_state=0).fit(X, y)
    assert not hasattr(stack, "weights_")
    assert not hasattr(mlp, "coefs_")
    assert mlp.hidden_layer_sizes == (100,)
    assert net.mlp_.alpha == 3.0
    # The states of the parts count when there is none of the whole.
    parts = EnergyNetRegressor(clone(stack).set_params(random_state=1),
                               clone(mlp).set_params(random_state=2))  # fmt: skip
    one, two = clone(parts).fit(X, y), clone(parts).fit(X, y)
    assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.slow_cases("random")
@pytest.mark.parametrize("init", ["random", "generative"])
def test_pickles(digits, init):
    X, y = (part[:150] for part in digits)
    net = EnergyNetClassifier(STACK, init=init, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(net))
    assert_array_equal(copy.predict_proba(X), net.predict_proba(X))
    assert not any(name == "_start" for name in vars(net.mlp_))


@pytest.mark.parametrize("container", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("estimator", "mlp"),
    [(EnergyNetClassifier, MLPClassifier), (EnergyNetRegressor, MLPRegressor)],
)
def test_container_of_features_does_not_matter_inside(container, estimator, mlp):
    pytest.importorskip(container)
    X, y = (part[::3] for part in load_iris(return_X_y=True))
    frame = pd.DataFrame(X, columns=list("abcd"))
    net = estimator(STACK, mlp(solver="lbfgs", max_iter=50), random_state=0)
    expected = clone(net).fit(X, y).predict(X)
    with config_context(transform_output=container):
        for table in (X, frame):
            found = clone(net).fit(table, y).predict(table)
            assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.slow_cases(
    "(?!(random-EnergyNetClassifier|generative-EnergyNetRegressor)$).*"
)
@pytest.mark.parametrize("estimator", [EnergyNetClassifier, EnergyNetRegressor])
@pytest.mark.parametrize("init", ["random", "generative"])
def test_whole_weights_are_repeated_rows(estimator, init):
    X, y = (part[::3] for part in load_iris(return_X_y=True))
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    net = estimator(STACK, init=init, random_state=0)
    weighted = clone(net).fit(X, y, weights)
    repeated = clone(net).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-4)
    for one, two in zip(
        weighted.transformer_.weights_, repeated.transformer_.weights_, strict=True
    ):
        assert_array_equal(one, two)


@pytest.mark.needs_sklearn("1.7", "weights of samples for networks")
def test_other_weights_have_no_scale():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).random(len(y))
    mlp = MLPClassifier(solver="lbfgs", alpha=3.0, tol=3e-3)
    net = EnergyNetClassifier(STACK, mlp, random_state=0)
    one, two = (clone(net).fit(X, y, weights * scale) for scale in (1.0, 1e-3))
    assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-6)
    plain = clone(net).fit(X, y)
    even = clone(net).fit(X, y, np.full(len(y), 1 / len(y)))
    assert_allclose(even.predict_proba(X), plain.predict_proba(X), atol=1e-6)


# Of copies there is structure to find. Within [0, 1] the layers have a unit for it.
# Both estimators have one path to their networks.
@pytest.mark.parametrize(
    ("estimator", "n_copies", "constant"),
    [
        (EnergyNetClassifier, 1, 0.0), (EnergyNetRegressor, 1, 1.0),
        (EnergyNetRegressor, 1, -3.0), (EnergyNetClassifier, 3, -3.0),
    ],
)  # fmt: skip
def test_constant_columns_change_nothing(estimator, constant, n_copies):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 2)), n_copies, axis=1)
    X += 0.1 * rng.normal(size=X.shape)
    y = X[:, 0] * X[:, 1] > 0
    more = np.insert(X, 1, constant, axis=1)
    net = estimator(EnergyNetTransformer("description_length", n_final_epochs=0))
    net.set_params(random_state=0)
    found, expected = clone(net).fit(more, y), clone(net).fit(X, y)
    assert found.candidates_ == expected.candidates_
    assert_array_equal(found.predict(more), expected.predict(X))


def test_the_network_of_the_user_sees_constant_columns():
    X = np.insert(np.random.default_rng(0).normal(size=(60, 2)), 1, -3.0, axis=1)
    mlp = MLPRegressor(solver="lbfgs", max_iter=2)
    net = EnergyNetRegressor(STACK, mlp, random_state=0).fit(X, X[:, 0])
    assert net.mlp_.n_features_in_ == 3


def test_networks_of_constant_columns_and_one_that_varies():
    X = np.zeros((40, 3))
    X[:, 1] = np.arange(40.0)
    net = EnergyNetRegressor(random_state=0).fit(X, X[:, 1])
    assert net.mlp_.n_features_in_ == 1
    assert net.score(X, X[:, 1]) > 0.9


@pytest.mark.parametrize("kind", [EnergyNetClassifier, EnergyNetRegressor])
def test_predictions_read_a_table_some_samples_at_a_time(kind):
    X = np.random.default_rng(0).normal(size=(100_000, 10)).astype(np.float32)
    net = kind(random_state=0).fit(X[:60], X[:60, 0] > 0.0)
    numbers = np.round(X).astype(np.int8)
    methods = [
        net.predict,
        *([net.predict_proba] if kind is EnergyNetClassifier else []),
    ]
    for method in methods:
        for table in (X, numbers):
            with traced_memory() as peak:
                answers = method(table)
                most = peak()
            assert most < X.nbytes + 2 * answers.nbytes
            assert_allclose(answers[-50:], method(table[-50:].astype(float)), atol=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_names_cost_about_what_they_cost_ridge_regression(seed):
    """Rare categories are -1 and +1 to the network, not far out."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(750, 2)), columns=["x", "z"])
    X["name"] = [f"n{k}" for k in rng.integers(0, 60, 750)]
    y = X["x"] + 0.7 * rng.normal(size=750)
    train, test = slice(0, 150), slice(150, 750)
    layers = EnergyNetTransformer(None, 2, n_final_epochs=5, handle_unknown="missing")
    model = EnergyNetRegressor(layers, random_state=0).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > 0.6
    assert_array_equal(model.scaler_.scale_[2:], 0.5)
    constant = X.assign(name="n0")
    model.fit(constant[train], y[train])
    assert np.isfinite(model.predict(constant[test])).all()
