"""Which network answers, beside scikit-learn's linear models and cross-validation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.sparse import csc_array, csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from skmohn import EnergyNetClassifier, EnergyNetRegressor, EnergyNetTransformer
from skmohn.energynet import _mlp
from skmohn.energynet._mlp import (
    candidates,
    choose,
    fit_silently,
    folds_of,
    initialized_mlp,
)

STACK = EnergyNetTransformer(None, 4, n_final_epochs=5)
CLASSES = MLPClassifier(solver="lbfgs", tol=3e-3, max_iter=2000, random_state=0)
NUMBERS = MLPRegressor(solver="lbfgs", tol=3e-3, max_iter=2000, random_state=0)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def chosen_of(mlps, X, y, weights=None):
    """What is chosen where all networks see the same."""
    rows, folds = folds_of(X, y, are_classes=y.dtype.kind != "f")
    if weights is not None:
        weights = weights[rows]
    return choose(mlps, lambda has_layers: X[rows], y[rows], weights, folds, ())


def test_linear_candidates_are_logistic_regression_and_ridge(iris):
    X, classes = iris
    numbers = X @ [1.0, 2.0, 3.0, 4.0]
    for mlp, y, oracle in (
        (CLASSES, classes, lambda alpha: LogisticRegression(C=1 / alpha, tol=1e-8)),
        (CLASSES, classes > 0, lambda alpha: LogisticRegression(C=1 / alpha, tol=1e-8)),
        (NUMBERS, numbers, lambda alpha: Ridge(alpha)),
    ):
        linear = [
            one for one in candidates(mlp, (4,), False) if not one.hidden_layer_sizes
        ]
        assert len(linear) >= 2
        for one in linear:
            found, theirs = one.fit(X, y), oracle(one.alpha).fit(X, y)
            if mlp is NUMBERS:
                assert_allclose(found.predict(X), theirs.predict(X), atol=5e-3)
            else:
                expected = theirs.predict_proba(X)
                assert_allclose(found.predict_proba(X), expected, atol=5e-3)


@pytest.mark.parametrize("kind", ["classes", "labels", "numbers", "several"])
@pytest.mark.parametrize(
    "is_weighted",
    [
        False,
        pytest.param(
            True,
            marks=pytest.mark.needs_sklearn("1.7", "weights of samples for networks"),
        ),
    ],
)
def test_losses_are_those_of_cross_validation(iris, kind, is_weighted):
    X, y = iris
    y = {
        "classes": np.array(["b", "c", "a"])[y],
        "labels": np.column_stack([y == 0, y > 1]).astype(int),
        "numbers": X[:, 0] - X[:, 1] ** 2,
        "several": np.column_stack([X[:, 0] - X[:, 1] ** 2, X[:, 2]]),
    }[kind]
    mlp = CLASSES if kind in ("classes", "labels") else NUMBERS
    mlps = candidates(mlp, (3,), is_found=False)[:2]
    weights = np.random.default_rng(0).random(len(y)) + 0.5 if is_weighted else None
    _, compared = chosen_of(mlps, X, y, weights)
    rows, folds = folds_of(X, y, are_classes=mlp is CLASSES)
    X, y = X[rows], y[rows]
    params = None if weights is None else {"sample_weight": weights[rows]}
    method = "predict_proba" if mlp is CLASSES else "predict"
    for one, tried in zip(mlps, compared, strict=True):
        if kind == "several":
            one = Ridge(one.alpha)
        theirs = cross_val_predict(
            one, X, y, cv=PredefinedSplit(folds), method=method, params=params
        )
        of_weights = params or {}
        if kind == "classes":
            expected = log_loss(y, theirs, **of_weights)
        elif kind == "labels":
            expected = sum(
                log_loss(y[:, j], theirs[:, j], **of_weights) for j in (0, 1)
            )
        else:
            squares = np.square(theirs - y).reshape(len(y), -1).mean(axis=1)
            expected = np.average(squares, weights=of_weights.get("sample_weight"))
        # scikit-learn's own network is not to be trusted with several numbers.
        exact = kind != "several"
        assert_allclose(tried["loss"], expected, rtol=1e-6 if exact else 1e-3)
        assert tried["hidden_layer_sizes"] == ()
        assert tried["alpha"] == one.alpha


def test_folds_are_balanced_and_follow_from_what_samples_say(iris):
    X, y = iris
    rows, folds = folds_of(X, y, are_classes=True)
    for label in range(3):
        assert np.ptp(np.bincount(folds[y[rows] == label])) <= 2
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(y)), 2))
    again, folds_again = folds_of(X[order], y[order], are_classes=True)
    of_sample = dict(zip(rows.tolist(), folds, strict=True))
    same = {tuple(X[k]): of_sample[k] for k in of_sample}
    assert all(
        same[tuple(X[order][k])] == fold
        for k, fold in zip(again, folds_again, strict=True)
    )


@pytest.mark.parametrize("are_classes", [False, True])
def test_folds_keep_copies_with_jitter_together(are_classes):
    rng, origin = np.random.default_rng(0), np.tile(np.arange(60), 5)
    X = rng.normal(size=(60, 4))[origin] + 1e-3 * rng.normal(size=(300, 4))
    y = rng.integers(0, 3, 60) if are_classes else rng.normal(size=60)
    rows, folds = folds_of(X, y[origin], are_classes)
    assert len(rows) == 300
    for k in range(5):
        held = rows[folds == k]
        assert not set(origin[held]) & set(np.delete(origin, held))


def test_of_many_samples_some_of_all_targets_are_compared(iris, replace_constants):
    X, y = iris
    replace_constants(_mlp, max_samples=60)
    rows, folds = folds_of(X, y, are_classes=True)
    assert 30 <= len(rows) <= 60
    assert np.bincount(y[rows]).min() >= 10
    assert set(folds) == set(range(5))


def noisy_line(seed, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] + rng.normal(size=n)


def test_simpler_networks_answer_where_others_are_not_clearly_better():
    simple = 0
    for seed in range(3):
        X, y = noisy_line(seed)
        mlp, compared = chosen_of(candidates(NUMBERS, (3,), is_found=False), X, y)
        sizes = [tried["hidden_layer_sizes"] for tried in compared]
        assert sizes == sorted(sizes)
        losses = np.array([tried["loss"] for tried in compared])
        errors = np.array([tried["error"] for tried in compared])
        near = losses - losses.min() <= errors / 2
        is_linear = np.array([size == () for size in sizes])
        is_best = losses == losses[is_linear].min()
        first = compared[np.flatnonzero(near & (is_best | ~is_linear))[0]]
        assert mlp.hidden_layer_sizes == first["hidden_layer_sizes"]
        assert mlp.alpha == first["alpha"]
        assert errors[losses.argmin()] == 0.0
        simple += mlp.hidden_layer_sizes == ()
    assert simple >= 2


def test_weaker_priors_are_tried_while_they_help(iris):
    X, y = iris
    # Without noise, and of noise alone.
    _, compared = chosen_of(candidates(CLASSES, (6,), False), X, y)
    tried = [one["alpha"] for one in compared if not one["hidden_layer_sizes"]]
    assert tried == [100.0, 30.0, 10.0, 3.0, 1.0]
    tried = {one["alpha"] for one in compared if one["hidden_layer_sizes"]}
    assert tried == {3.0, 1.0}
    noise = np.random.default_rng(0).normal(size=len(y))
    _, compared = chosen_of(candidates(NUMBERS, (6,), False), X, noise)
    tried = [one["alpha"] for one in compared if not one["hidden_layer_sizes"]]
    assert tried == [100.0, 30.0]


def test_classes_of_noise_are_as_probable_as_they_are_frequent():
    # Weights of a strong prior alone: a weaker one learns the noise of 16 columns.
    rng = np.random.default_rng(0)
    lost = []
    for _ in range(3):
        X, y = rng.normal(size=(300, 16)), rng.integers(2, size=300)
        mlp, _ = chosen_of(candidates(CLASSES, (3,), is_found=False), X, y)
        assert mlp.hidden_layer_sizes == ()
        new, labels = rng.normal(size=(2000, 16)), rng.integers(2, size=2000)
        proba = mlp.fit(X, y).predict_proba(new)
        lost.append(log_loss(labels, proba) - np.log(2.0))
    assert np.mean(lost) < 0.01


def test_few_samples_do_not_make_the_linear_model_constant():
    # The strongest prior is within half a standard error of the best one.
    rng, y = np.random.default_rng(1), np.arange(24) % 2
    X = rng.normal(size=(24, 4)) + np.where(y, 0.3, -0.3)[:, None] * [1, 1, 0, 0]
    linear = [
        one for one in candidates(CLASSES, (3,), False) if not one.hidden_layer_sizes
    ]
    mlp, compared = chosen_of(linear, X, y)
    best = min(compared, key=lambda one: one["loss"])
    strongest = compared[0]
    assert strongest["loss"] - best["loss"] <= strongest["error"] / 2
    assert strongest["alpha"] > best["alpha"] == mlp.alpha


def test_targets_get_the_units_that_they_need():
    # Nothing of the columns tells how many units the product of two of them takes.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(400, 4)) + rng.normal(scale=0.1, size=(400, 4))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    layers = EnergyNetTransformer(unit_cost=10.0, n_final_epochs=0, n_temperatures=100)
    net = EnergyNetClassifier(layers, random_state=0).fit(X[:200], y[:200])
    assert net.mlp_.hidden_layer_sizes == (100,)
    assert net.score(X[200:], y[200:]) > 0.95


def test_given_widths_stay(iris):
    for init in ("random", "generative"):
        net = EnergyNetClassifier(STACK, init=init, random_state=0).fit(*iris)
        sizes = {tried["hidden_layer_sizes"] for tried in net.candidates_}
        assert sizes == {(), (4,)}


@pytest.mark.needs_sklearn("1.7", "weights of samples for networks")
def test_several_numbers_are_learned_to_the_end(iris):
    X = iris[0]
    Y = np.column_stack([X[:, 0] - X[:, 1] ** 2, X[:, 2], X[:, 3] + X[:, 0]])
    weights = np.random.default_rng(0).random(len(X))
    linear = MLPRegressor(hidden_layer_sizes=(), solver="lbfgs", alpha=2.0, tol=1e-6)
    found = initialized_mlp(linear, ()).fit(X, Y, sample_weight=weights)
    expected = Ridge(2.0).fit(X, Y, sample_weight=weights)
    assert_allclose(found.coefs_[0].T, expected.coef_, atol=1e-4)
    gradients = []
    network = initialized_mlp(
        MLPRegressor(hidden_layer_sizes=3, activation="tanh", solver="lbfgs"), ()
    )
    loss_and_gradient = network._loss_grad_lbfgs

    def spied(w, *args):
        def loss(w):
            return loss_and_gradient(w, *args)[0]

        numerical = approx_fprime(w, loss, 1e-6)
        gradients.append((loss_and_gradient(w, *args)[1].copy(), numerical))
        raise RuntimeError("enough")

    network._loss_grad_lbfgs = spied
    with pytest.raises(RuntimeError, match="enough"):
        network.fit(X, Y, sample_weight=weights)
    assert_allclose(*gradients[0], atol=1e-5)


def test_five_samples_a_class_are_classified_as_well_as_by_a_line():
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    chosen = np.concatenate(
        [rng.choice(np.flatnonzero(y == c), 5, replace=False) for c in np.unique(y)]
    )
    rest = np.delete(np.arange(len(y)), chosen)
    scaler = StandardScaler().fit(X[chosen])
    line = LogisticRegression().fit(scaler.transform(X[chosen]), y[chosen])
    expected = line.score(scaler.transform(X[rest]), y[rest])
    net = EnergyNetClassifier(random_state=0).fit(X[chosen], y[chosen])
    assert net.score(X[rest], y[rest]) > expected - 0.02


def test_few_samples_are_predicted_as_well_as_by_a_line():
    X, y = load_diabetes(return_X_y=True)
    ours, theirs = [], []
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(y))
        few, rest = order[:40], order[40:]
        net = EnergyNetRegressor(STACK, random_state=seed).fit(X[few], y[few])
        ours.append(net.score(X[rest], y[rest]))
        scaler = StandardScaler().fit(X[few])
        line = Ridge(10.0).fit(scaler.transform(X[few]), y[few])
        theirs.append(line.score(scaler.transform(X[rest]), y[rest]))
    assert np.mean(ours) > np.mean(theirs) - 0.03


@pytest.mark.slow_cases("EnergyNetRegressor")
@pytest.mark.parametrize("estimator", [EnergyNetClassifier, EnergyNetRegressor])
def test_choice_does_not_depend_on_order_or_repetition(iris, estimator):
    X, y = iris
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    net = estimator(STACK, random_state=0)
    order = np.random.default_rng(1).permutation(weights.sum())
    repeated = clone(net).fit(
        X.repeat(weights, axis=0)[order], y.repeat(weights)[order]
    )
    weighted = clone(net).fit(X, y, weights)
    for one, two in zip(weighted.candidates_, repeated.candidates_, strict=True):
        assert one["hidden_layer_sizes"] == two["hidden_layer_sizes"]
        assert_allclose(one["loss"], two["loss"], rtol=1e-2)
    assert weighted.mlp_.hidden_layer_sizes == repeated.mlp_.hidden_layer_sizes
    assert weighted.mlp_.alpha == repeated.mlp_.alpha


def test_a_class_of_one_sample_and_a_single_class(iris):
    X, y = iris[0][:60], iris[1][:60] > 0
    y[0], y[50:] = True, False
    net = EnergyNetClassifier(STACK, random_state=0).fit(X, y)
    assert_array_equal(net.classes_, [False, True])
    assert all(np.isfinite(tried["loss"]) for tried in net.candidates_)
    net.fit(X, np.zeros(60))
    assert_array_equal(net.predict(X), np.zeros(60))


def test_two_samples():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 2.0])
    assert EnergyNetRegressor(STACK, random_state=0).fit(X, y).predict(X).shape == (2,)
    net = EnergyNetClassifier(STACK, random_state=0).fit(X, ["a", "b"])
    assert set(net.predict(X)) <= {"a", "b"}


def test_a_network_that_is_given_answers(iris):
    X, y = iris
    mlp = MLPClassifier(solver="lbfgs", alpha=3.0, tol=1e-2)
    net = EnergyNetClassifier(STACK, mlp, random_state=0).fit(X, y)
    assert net.candidates_ == []
    assert net.mlp_.hidden_layer_sizes == (4,)
    assert net.mlp_.alpha == 3.0


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_networks_that_are_compared_warn_of_nothing(iris, solver):
    X, y = iris
    short = clone(CLASSES).set_params(solver=solver, max_iter=3)
    mlps = candidates(short, (4,), False)
    _, compared = chosen_of(mlps, X, y)
    assert len(compared) >= 2


def test_networks_are_compared_long_before_they_come_to_rest(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.integers(2, size=(60, 10)) - 0.5, rng.integers(2, size=60)
    mlp = MLPClassifier(
        (30,), alpha=1.0, tol=1e-4, solver="lbfgs", max_iter=5000, random_state=0
    )
    to_the_end, watched = clone(mlp).fit(X, y), initialized_mlp(mlp, ())
    losses, evaluate = [], type(watched)._loss_grad_lbfgs

    def noted(network, *args):
        loss, gradient = evaluate(network, *args)
        losses.append(loss)
        return loss, gradient

    monkeypatch.setattr(type(watched), "_loss_grad_lbfgs", noted)
    fit_silently(watched, X, y, None)
    assert len(losses) < 0.5 * to_the_end.n_iter_
    assert to_the_end.loss_ < min(losses) < 1.05 * to_the_end.loss_


@pytest.mark.parametrize(
    ("estimator", "n_outputs"),
    [(EnergyNetRegressor, 2), (EnergyNetClassifier, 3)],
)
def test_sparse_targets_are_those_of_an_array(estimator, n_outputs):
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], np.eye(3)[y[::5]][:, :n_outputs].astype(int)
    layers = EnergyNetTransformer(None, 2, n_final_epochs=2, max_layers=1)
    model = estimator(layers, random_state=0)
    dense = clone(model).fit(X, y)
    for of_kind in (csr_matrix, csc_array):
        found = clone(model).fit(X, of_kind(y))
        assert_array_equal(found.predict(X), dense.predict(X))
