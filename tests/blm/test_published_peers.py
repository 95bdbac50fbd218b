"""The peers of S4 that no library has, against their formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad
from scipy.special import expit
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from benchmarks.shared.blm import RandomUnits, make_elm, split
from benchmarks.shared.secant import Network, one_step_secant, secant_direction


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_the_direction_is_that_of_the_memoryless_bfgs_matrix(rng):
    gradient, step, change = rng.normal(size=(3, 7))
    change *= np.sign(step @ change)
    curvature = step @ change
    half = np.eye(7) - np.outer(step, change) / curvature
    inverse = half @ half.T + np.outer(step, step) / curvature
    direction = secant_direction(gradient, step, change)
    assert_allclose(direction, -inverse @ gradient, rtol=1e-10)
    # Without a positive curvature there is no such matrix.
    assert_array_equal(secant_direction(gradient, step, -change), -gradient)


@pytest.mark.parametrize(
    ("out_activation", "loss"),
    [("identity", "squared"), ("logistic", "squared"), ("logistic", "cross_entropy")],
)
def test_the_gradient_is_that_of_the_loss(out_activation, loss, rng):
    net = Network((3, 5, 4, 2), out_activation, loss)
    X, y = rng.normal(size=(20, 3)), rng.integers(2, size=(20, 2)).astype(float)
    weights = rng.normal(size=net.n_weights)
    outputs = net.outputs(weights, X)
    if loss == "squared":
        expected = 0.5 * np.sum((outputs - y) ** 2)
    else:
        expected = 20 * sum(
            log_loss(y[:, k], outputs[:, k], labels=[0, 1]) for k in range(2)
        )
    assert_allclose(net.loss_and_gradient(weights, X, y)[0], expected)
    error = check_grad(
        lambda w: net.loss_and_gradient(w, X, y)[0],
        lambda w: net.loss_and_gradient(w, X, y)[1],
        weights,
    )
    assert error < 1e-5


def test_every_step_gains_and_the_minimum_of_a_quadratic_is_found(rng):
    root = rng.normal(size=(6, 6))
    matrix, center = root @ root.T + np.eye(6), rng.normal(size=6)

    def function(weights):
        difference = weights - center
        return 0.5 * difference @ matrix @ difference, matrix @ difference

    steps = list(one_step_secant(function, np.zeros(6)))
    values = [value for _, value in steps]
    assert np.all(np.diff(values) < 0)
    assert_allclose(steps[-1][0], center, atol=1e-5)


def test_the_elm_solves_the_normal_equations(rng):
    X, y = rng.uniform(-1, 1, (60, 3)), rng.normal(size=(60, 2))
    model = make_elm(12, penalty=2.5, random_state=1).fit(X, y)
    draws = np.random.default_rng(1)
    H = expit(X @ draws.uniform(-1, 1, (3, 12)) + draws.uniform(-1, 1, 12))
    assert_allclose(RandomUnits(12, 1).fit(X).transform(X), H)
    weights = np.linalg.solve(H.T @ H + 2.5 * np.eye(12), H.T @ y)
    assert_allclose(model.predict(X), H @ weights, rtol=1e-6)


def test_scales_are_learned_on_training_rows_alone(rng):
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    X_train, X_test, y_train, y_test = split(X, y, seed=3)
    assert (len(X_train), len(X_test)) == (35, 15)
    assert_allclose([X_train.min(axis=0), X_train.max(axis=0)], [[-1] * 3, [1] * 3])
    assert_allclose([y_train.min(), y_train.max()], [0, 1])
    # Other test rows change nothing of what is trained on.
    _, others = train_test_split(np.arange(50), train_size=0.7, random_state=3)
    row = others[0]
    X[row], y[row] = 100.0, 100.0
    again = split(X, y, seed=3)
    assert_allclose(again[0], X_train)
    assert_allclose(again[2], y_train)
    assert again[1].max() > X_test.max()
    assert again[3].max() > y_test.max()


def test_classes_are_not_scaled(rng):
    y = np.repeat(["a", "b"], 10)
    *_, y_train, y_test = split(rng.normal(size=(20, 2)), y, seed=0)
    assert set(y_train) | set(y_test) == {"a", "b"}
