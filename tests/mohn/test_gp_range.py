"""Where predictions of the Gaussian process stay: near those of held-out rows."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmohn import MOHNRegressor
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.marginal_likelihood import join_equal_rows
from skmohn.mohn._gp.model import GPModel, fit_gp
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._table.target import Logarithm, Unchanged, moments


def make_rows(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n_rows, 4))
    return EncodedRows(X, np.empty((n_rows, 0), dtype=int)), rng


def make_target(rows, rng):
    """A sum with noise, and one extreme value."""
    y = 5.0 + rows.inputs @ [1.0, 0.5, 0.0, 0.0] + rng.standard_normal(len(rows))
    y += 1.0 - y.min()
    y[7] = 40.0
    return y


def leave_out(model, rows, values, i):
    """Mean and deviation of the function at a row that the others predict."""
    others = np.delete(np.arange(len(rows)), i)
    standard = (values[others] - model.y_mean) / model.y_std
    sample = join_equal_rows(rows.take(others), standard)
    posterior, one = ExactPosterior.condition(model.covariance, sample), rows.take([i])
    mean = model.y_mean + model.y_std * posterior.latent_mean(one)
    return mean, model.y_std * np.sqrt(posterior.latent_variance(one))


@pytest.mark.parametrize("scale", [Unchanged(), Logarithm()])
def test_ends_are_those_of_left_out_rows(scale):
    rows, rng = make_rows(40)
    y = make_target(rows, rng)
    model = fit_gp(rows, y, noise="constant", strong_terms=False, transform=scale)
    ends = []
    for i in range(len(y)):
        mean, hyperparameter_uncertainty = leave_out(model, rows, scale.forward(y), i)
        for end in (
            mean - hyperparameter_uncertainty,
            mean + hyperparameter_uncertainty,
        ):
            if scale != Unchanged():
                end, _ = moments(
                    scale, end, np.hypot(hyperparameter_uncertainty, model.noise_std())
                )
            ends.append(end.item())
    low, high = max(min(ends), y.min()), min(max(ends), y.max())
    assert_allclose([model.y_min, model.y_max], [low, high], rtol=1e-6)
    assert model.y_max < 0.9 * y.max()
    far = replace(model, y_min=-np.inf, y_max=np.inf)
    T, _ = make_rows(200, seed=5)
    T = replace(T, inputs=3.0 * T.inputs)
    assert_allclose(
        model.predictive_mean(T), np.clip(far.predictive_mean(T), low, high)
    )


@pytest.mark.parametrize("n_missing", [0, 20])
def test_equal_rows_support_each_other(n_missing):
    # The category with the largest targets is known by its own rows alone.
    rng = np.random.default_rng(0)
    means = dict(a=0.0, b=0.3, c=0.4, d=1.0, e=3.0)
    names = np.repeat([*means], 20)
    y = np.array([means[name] for name in names]) + 0.01 * rng.standard_normal(100)
    X = names.astype(object)[:, None]
    X[rng.permutation(100)[:n_missing]] = None
    model = MOHNRegressor(random_state=0).fit(X, y)
    predicted = model.predict(np.array([[name] for name in means], dtype=object))
    assert_allclose(predicted, [*means.values()], atol=0.1)


def test_an_extreme_target_says_little_of_other_rows():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (100, 5))
    y = X[:, 0] + 0.5 * rng.standard_normal(100)
    y[0] = 100.0
    model = MOHNRegressor("gp", random_state=0).fit(X, y)
    T = rng.uniform(-1.0, 1.0, (2000, 5))
    assert model.predict(T).max() < 50.0


def test_left_out_errors_are_relative_to_those_of_the_mean():
    rows, rng = make_rows(40)
    y = make_target(rows, rng)
    scale = Logarithm()
    model = fit_gp(rows, y, noise="constant", strong_terms=False, transform=scale)
    squares = []
    for i in range(len(y)):
        mean, hyperparameter_uncertainty = leave_out(model, rows, scale.forward(y), i)
        mean, _ = moments(
            scale, mean, np.hypot(hyperparameter_uncertainty, model.noise_std())
        )
        squares.append((y[i] - np.clip(mean.item(), model.y_min, model.y_max)) ** 2)
    expected = np.mean(squares) / np.var(y)
    assert model.left_out_error(rows, y, None) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("on_scale", "plain", "min_gain", "is_kept"),
    [
        (0.99, 0.5, 9.0, True),
        (1.2, 1.1, 9.0, False),
        (1.2, 1.3, 9.0, True),
        # The logarithm gains more than that a sample.
        (1.2, 1.1, 0.3, True),
        (1.2, 1.07, 0.3, False),
    ],
)
def test_a_scale_whose_means_are_worse_than_the_mean_is_given_up(
    on_scale, plain, min_gain, is_kept, monkeypatch, replace_constants
):
    replace_constants("skmohn.mohn._gp.solve", min_gain_by_sample=min_gain)
    monkeypatch.setattr(
        GPModel,
        "left_out_error",
        lambda self, *_: on_scale if self.is_transformed else plain,
    )
    rows, rng = make_rows(60)
    y = np.exp(2.0 * rows.inputs[:, 0] + 0.3 * rng.standard_normal(60))
    model = MOHNRegressor("gp", random_state=0).fit(rows.inputs, y)
    assert model.model_.is_transformed is is_kept


def test_of_many_rows_it_is_the_range_of_the_targets(replace_constants):
    replace_constants("skmohn.mohn._models", max_left_out=39)
    rows, rng = make_rows(40)
    y = make_target(rows, rng)
    model = fit_gp(rows, y, noise="constant", strong_terms=False)
    assert (model.y_min, model.y_max) == (y.min(), y.max())


def test_functions_without_noise_are_not_cut_short():
    def function(rows):
        x = rows.inputs
        return x[:, 0] * x[:, 1] + x[:, 2]

    rows, _ = make_rows(60)
    y = function(rows)
    model, (T, _) = fit_gp(rows, y), make_rows(1000, seed=1)
    truth = np.clip(function(T), y.min(), y.max())
    assert np.abs(model.predictive_mean(T) - truth).max() < 0.1
