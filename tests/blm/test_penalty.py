"""Penalty that the default chooses: its parts beside brute force, and what it does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.metrics import log_loss
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

from skmohn import BLMClassifier, BLMRegressor
from skmohn.blm import _kernels as kernels
from skmohn.blm._network import DatasetProblem, Layout
from skmohn.blm._penalty import _ALPHAS, _PENALTY, _Groups, choose_alpha


def problem(X, y, weights=None, *, loss="squared", hidden=(5,)):
    y = np.reshape(y, (len(X), -1)).astype(np.float32)
    layout = Layout((X.shape[1], *hidden, y.shape[1]))
    return DatasetProblem(
        layout=layout,
        step=np.ones(layout.n_weights),
        activation="tanh",
        loss=getattr(kernels, loss.upper()),
        X=X.astype(np.float32),
        y=y,
        sample_weight=np.asarray(
            np.ones(len(X)) if weights is None else weights, np.float32
        ),
    )


def table(n_rows=60, n_columns=4, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + noise * rng.normal(size=n_rows)


def alpha_of(X, y, weights=None, *, are_classes=False, **options):
    return choose_alpha(problem(X, y, weights, **options), are_classes=are_classes)


@pytest.mark.parametrize("seed", range(3))
def test_error_is_that_of_models_without_a_sample_and_those_like_it(seed):
    rng = np.random.default_rng(seed)
    distinct = rng.normal(size=(25, 3))
    groups = rng.integers(0, 25, 60)
    weights = rng.integers(1, 4, 60).astype(float)
    # Copies differ by less than the resolution, and are drawn as one.
    X = distinct[groups]
    targets = np.column_stack([X[:, 0] ** 2, X[:, 1] - X[:, 2]])
    targets += rng.normal(size=targets.shape)
    found = _Groups.of(X + 1e-7 * rng.random(X.shape), targets, weights)
    assert len(found.X) == len(np.unique(groups))

    # Models of means of groups; errors of the samples themselves.
    bases = [X]
    for gamma in _PENALTY.gammas:
        kernel = Nystroem(gamma=gamma / 3, n_components=len(found.X), random_state=0)
        bases.append(kernel.fit(found.X).transform(X))
    errors = []
    for basis in bases:
        for alpha in _ALPHAS:
            model = Ridge(alpha * weights.sum() / len(found.X))
            predicted = cross_val_predict(
                model, basis, targets, groups=groups, cv=LeaveOneGroupOut(),
                params={"sample_weight": weights},
            )  # fmt: skip
            errors.append(
                np.average((targets - predicted) ** 2, axis=0, weights=weights).mean()
            )
    assert found.left_out_error() == pytest.approx(min(errors), rel=1e-4)


def test_rank_is_that_of_principal_components():
    rng = np.random.default_rng(0)
    values, vectors = (
        np.array([4.0, 2.0, 1.0]),
        np.linalg.qr(rng.normal(size=(9, 3)))[0],
    )
    groups = _Groups(vectors * np.sqrt(values), np.zeros((9, 1)), np.ones(9), 0.0)
    assert groups.effective_rank() == pytest.approx(49 / 21)


def test_more_noise_makes_the_penalty_larger():
    alphas = [
        alpha_of(*table(200, noise=noise)) for noise in (0.0, 0.3, 1.0, 3.0, 30.0)
    ]
    assert np.all(np.diff(alphas) > 0)


def test_what_is_nothing_but_noise_is_not_learned():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 10)), rng.normal(size=100)
    model = BLMRegressor(random_state=0).fit(X, y)
    assert model.score(X, y) < 0.05
    assert BLMRegressor(alpha=3.0, random_state=0).fit(X, y).score(X, y) > 0.5


def test_noisy_lines_are_predicted_about_as_by_ridge_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 20))
    y = X[:, :3].sum(axis=1) + 3 * rng.normal(size=1100)
    train, test = slice(100), slice(100, None)
    ridge = RidgeCV(np.logspace(-2, 4, 20)).fit(X[train], y[train])
    ours = BLMRegressor(random_state=0).fit(X[train], y[train])
    assert ours.score(X[test], y[test]) > ridge.score(X[test], y[test]) - 0.05


def test_functions_without_noise_are_learned():
    X, y = table(600, noise=0.0)
    model = BLMRegressor(random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.97


def test_products_of_classes_are_learned_and_noise_is_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1150, 5))
    train, test = slice(150), slice(150, None)
    losses = {}
    for name, is_high in {
        "product": X[:, 0] * X[:, 1] > 0,
        "noise": rng.random(len(X)) < 0.5,
    }.items():
        model = BLMClassifier(random_state=0).fit(X[train], is_high[train])
        losses[name] = log_loss(is_high[test], model.predict_proba(X[test]))
    assert losses["product"] < 0.4
    assert losses["noise"] < np.log(2) + 0.02


def test_no_larger_penalty_for_more_than_a_thousand_samples():
    # What is noise to these need not be to more.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    y = X[:, 0] + 2.0 * rng.normal(size=4000)
    few, many = alpha_of(X[:1000], y[:1000]), alpha_of(X, y)
    assert many == pytest.approx(few, rel=0.1)
    assert few > 1.3 * alpha_of(X[:500], y[:500])


def test_repeated_samples_are_weights():
    X, y = table()
    counts = np.random.default_rng(0).integers(1, 4, len(X))
    rows = np.repeat(np.arange(len(X)), counts)
    assert_allclose(alpha_of(X, y, counts), alpha_of(X[rows], y[rows]), rtol=1e-6)


def test_units_of_weights_do_not_matter():
    X, y = table()
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(X))
    # Penalties are divided by the sum of the weights.
    assert alpha_of(X, y, 8 * weights) == pytest.approx(8 * alpha_of(X, y, weights))


@pytest.mark.parametrize("jitter", [1e-6, 1e-3, 1e-2])
@pytest.mark.parametrize("are_classes", [False, True])
def test_copies_do_not_make_noise_look_small(jitter, are_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.normal(size=60)
    y = y > 0 if are_classes else y
    twice = np.concatenate([X, X + jitter * rng.normal(size=X.shape)])
    found = alpha_of(twice, np.tile(y, 2), are_classes=are_classes)
    assert found > alpha_of(X, y, are_classes=are_classes)


def test_units_of_columns_and_targets():
    X, y = table()
    alpha = alpha_of(X, y)
    assert alpha_of(10 * X, y) == pytest.approx(10 * alpha, rel=1e-4)
    assert alpha_of(X, 10 * y) == pytest.approx(10 * alpha, rel=1e-4)
    linear = alpha_of(X, y, hidden=())
    assert alpha_of(X, 10 * y, hidden=()) == pytest.approx(linear, rel=1e-4)
    assert alpha_of(10 * X, y, hidden=()) == pytest.approx(100 * linear, rel=1e-4)


def test_penalty_of_a_linear_network_is_that_of_ridge_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20))
    y = X @ rng.normal(size=20) / np.sqrt(20) + 2 * rng.normal(size=400)
    best = RidgeCV(np.logspace(0, 4, 100)).fit(X, y).alpha_
    assert best / 2 < alpha_of(X, y, hidden=()) < 2 * best


def test_constant_columns_do_not_count():
    X, y = table()
    one, constant = alpha_of(X, y), np.full(len(X), 7.0)
    assert alpha_of(np.column_stack([X, constant]), y) == pytest.approx(one)
    assert alpha_of(X, np.column_stack([y, constant])) == pytest.approx(one / 2)


def test_copies_of_columns_count_as_half_of_the_logarithm():
    """Of the number of inputs, effective rank has the other half and stays."""
    X, y = table()
    one, four = (alpha_of(np.tile(X, (1, n)), y) for n in (1, 4))
    assert four == pytest.approx(one * 4**0.25, rel=1e-3)


def test_noisy_classes_of_one_factor_are_predicted_as_by_logistic_regression():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=2080)
    X = factor[:, None] + 0.33 * rng.normal(size=(2080, 15))
    is_high = factor + rng.normal(size=2080) > 0
    train, test = slice(80), slice(80, None)
    models = [BLMClassifier(random_state=0)]
    models += [LogisticRegression(C=10.0**k) for k in range(-3, 2)]
    ours, *logistic = (
        log_loss(
            is_high[test], model.fit(X[train], is_high[train]).predict_proba(X[test])
        )
        for model in models
    )
    assert ours < min(logistic) + 0.05


def test_equal_outputs_are_one():
    X, y = table()
    one = alpha_of(X, y)
    # The loss is a mean of outputs, and its penalty is not.
    assert alpha_of(X, np.column_stack([y, y])) == pytest.approx(one / 2)


def test_losses():
    X, y = table(200)
    squared = alpha_of(X, y)
    # Slopes of absolute errors do not shrink with these.
    assert alpha_of(X, y, loss="absolute") > 1.2 * squared
    assert alpha_of(X, y, loss="huber") == squared
    is_high = y > 0
    entropy = alpha_of(X, is_high, loss="cross_entropy", are_classes=True)
    published = alpha_of(X, is_high, loss="logistic_squared", are_classes=True)
    assert published == pytest.approx(entropy / 4)


@pytest.mark.parametrize("constant", ["X", "y"])
def test_nothing_varies(constant):
    X, y = table()
    if constant == "X":
        X = np.full_like(X, 3.0)
    else:
        y = np.full_like(y, 1e6)
    assert alpha_of(X, y) == _PENALTY.default


def test_sequences_have_a_fixed_penalty():
    X, y = table(60)
    model = BLMRegressor((3,), recurrent="steps", random_state=0)
    assert model.fit(X.reshape(6, 10, 4), y.reshape(6, 10)).alpha_ == _PENALTY.default


def test_a_given_penalty_is_taken():
    X, y = table()
    assert BLMRegressor((3,), alpha=0.7, random_state=0).fit(X, y).alpha_ == 0.7


def test_fits_that_go_on_keep_the_penalty():
    X, y = table()
    model = BLMRegressor((3,), warm_start=True, random_state=0).fit(X, y)
    alpha = model.alpha_
    model.fit(X, y + np.random.default_rng(0).normal(0, 9, len(y)))
    assert model.alpha_ == alpha
    model.set_params(alpha=2.0).fit(X, y)
    assert model.alpha_ == 2.0
    # A number is no choice of an earlier fit.
    assert model.set_params(alpha="auto").fit(X, y).alpha_ == pytest.approx(alpha)
    part = BLMClassifier((3,), random_state=0).partial_fit(
        X, y > 0, classes=[False, True]
    )
    alpha = part.alpha_
    part.partial_fit(X, np.random.default_rng(0).random(len(X)) > 0.5)
    assert part.alpha_ == alpha


def test_many_samples_are_drawn():
    X, y = table(2 * _PENALTY.max_samples)
    groups = _Groups.of(X, y[:, None], np.ones(len(X))).sample(_PENALTY.max_samples)
    assert len(groups.X) == len(groups.targets) == _PENALTY.max_samples
    # The order of the samples does not matter.
    shuffled = np.random.default_rng(1).permutation(len(X))
    assert alpha_of(X[shuffled], y[shuffled]) == pytest.approx(alpha_of(X, y), rel=1e-5)


@pytest.mark.parametrize("alpha", ["none", -1.0, None])
def test_penalties_that_are_none(alpha):
    with pytest.raises(ValueError, match="'alpha' parameter"):
        BLMRegressor(alpha=alpha).fit(*table())
