"""Gaussian with factors, beside scikit-learn's and the normal distribution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import FactorAnalysis

from skmohn import EnergyNetImputer, EnergyNetTransformer
from skmohn.energynet import _factors
from skmohn.energynet._factors import FactorBlend, GaussianFactors

NAN = np.nan


def rows_of_factors(n_rows, n_columns, rank, seed=0, noise_std=0.7):
    """Rows of a few factors, and the same with a fifth of the cells unknown."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_rows, rank))
    loadings = rng.normal(size=(rank, n_columns))
    X = 3.0 + factors @ loadings + noise_std * rng.normal(size=(n_rows, n_columns))
    return X, np.where(rng.random(X.shape) < 0.2, NAN, X)


def covariance(model):
    """Covariance of the columns."""
    return model.loadings @ model.loadings.T + np.diag(model.noise_variance)


def test_covariance_is_that_of_factor_analysis(replace_constants):
    X, _ = rows_of_factors(500, 10, 2)
    replace_constants(_factors, max_iter=1000, precision=0.0)
    found = GaussianFactors.learn(X, 2)
    expected = FactorAnalysis(2, tol=1e-7, max_iter=5000, svd_method="lapack").fit(X)
    assert_allclose(covariance(found), expected.get_covariance(), atol=2e-3)
    assert_allclose(found.mean, expected.mean_, atol=1e-6)


def test_unknown_values_are_expected_given_the_others():
    _, X = rows_of_factors(50, 6, 2)
    model = GaussianFactors.learn(X, 2)
    cov = covariance(model)
    for row, found in zip(X, model.expect(X), strict=True):
        a, b = np.isnan(row), ~np.isnan(row)
        slopes = np.linalg.solve(cov[np.ix_(b, b)], row[b] - model.mean[b])
        expected = model.mean[a] + cov[np.ix_(a, b)] @ slopes
        assert_allclose(found[a], expected, atol=1e-10)
        assert_array_equal(found[b], row[b])


def log_likelihood(model, X):
    """Of what is known, by the normal distribution."""
    total, cov = 0.0, covariance(model)
    for row in X:
        b = ~np.isnan(row)
        part, rest = cov[np.ix_(b, b)], row[b] - model.mean[b]
        total -= 0.5 * (np.linalg.slogdet(part)[1] + rest @ np.linalg.solve(part, rest))
    return total


def test_each_step_makes_what_is_known_likelier(replace_constants):
    _, X = rows_of_factors(40, 8, 2)
    models = []
    for n in (0, 1, 2, 5, 20):
        replace_constants(_factors, max_iter=n, precision=0.0)
        models.append(GaussianFactors.learn(X, 2))
    assert np.all(np.diff([log_likelihood(model, X) for model in models]) > 0.0)


def test_no_factors_are_column_means():
    _, X = rows_of_factors(40, 8, 2)
    means = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
    found = GaussianFactors.learn(X, 0).expect(X)
    assert_allclose(found, np.where(np.isnan(X), means, X))


@pytest.mark.parametrize("is_good", [True, False])
def test_the_better_imputer_has_the_weight(is_good):
    complete, X = rows_of_factors(24, 18, 1)

    def other(masked):
        return np.where(np.isnan(masked), complete if is_good else 50.0, masked)

    found = FactorBlend.learn(X, other, 0)
    assert found.weight == pytest.approx(0.0 if is_good else 1.0, abs=0.05)
    filled = found.blend(X, other(X))
    error = np.sqrt(np.mean((filled - complete)[np.isnan(X)] ** 2))
    assert error < (0.1 if is_good else 0.9)
    # Of held-out cells, in standard deviations.
    expected = error / complete.std()
    assert found.error == pytest.approx(expected, abs=0.01, rel=0.3)


def short():
    """Transformer of a short fit."""
    return EnergyNetTransformer(None, 2, whiten=True, n_final_epochs=5)


def test_wide_tables_are_filled_better_than_by_means(replace_constants):
    # Numbers of factors that the table does not have take the longest.
    replace_constants(_factors, ranks=(0, 1, 2))
    complete, X = rows_of_factors(18, 24, 1)
    imputer = EnergyNetImputer(short(), random_state=0).fit(X)
    assert imputer.factor_weight_ > 0.0
    filled, unknown = imputer.transform(X), np.isnan(X)
    assert_array_equal(filled[~unknown], X[~unknown])

    def error(values):
        return np.sqrt(
            np.mean(((values - complete) / complete.std(axis=0))[unknown] ** 2)
        )

    alone = imputer.transformer_.impute(X)
    means = np.where(unknown, np.nanmean(X, axis=0), X)
    assert error(filled) < min(error(alone), error(means) - 0.1)
    assert np.all(filled <= np.nanmax(X, axis=0) + 1e-9)
    # The same for rows in another order.
    again = EnergyNetImputer(short(), random_state=0).fit(X[::-1]).transform(X)
    assert_allclose(again, filled, rtol=1e-6)


@pytest.mark.parametrize("shape", [(40, 6), (4, 6)])
def test_tables_of_more_rows_or_few_have_no_factors(shape):
    _, X = rows_of_factors(*shape, 1)
    X[:2] = np.arange(12.0).reshape(2, 6)
    imputer = EnergyNetImputer(short(), random_state=0).fit(X)
    assert imputer.factor_weight_ == 0.0
    assert_array_equal(imputer.transform(X), imputer.transformer_.impute(X))


@pytest.mark.parametrize("constant", [7.0, 1 / 3, 1e6 + 0.1])
def test_constant_columns_of_wide_tables(constant):
    X = np.random.default_rng(0).normal(size=(20, 30))
    X[:, 3], X[:2, 3], X[0, 0] = constant, np.nan, np.nan
    X[2:, 4] = np.nan
    fill = lambda table: np.where(np.isnan(table), 0.0, table)  # noqa: E731
    blend = FactorBlend.learn(X, fill, 0)
    expected = blend.factors.expect((X - blend.mean) / blend.std)
    assert_allclose(expected[:, 3], 0.0, atol=1e-9)
    assert np.isfinite(blend.blend(X, fill(X))).all()
