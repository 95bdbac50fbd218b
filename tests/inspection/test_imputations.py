"""Rubin's rules, against their formulas and by the coverage of intervals."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skmohn import EnergyNetImputer, EnergyNetTransformer
from skmohn.inspection import analyze_imputations, combine_estimates


def test_formulas():
    q, u, complete = np.array([1.1, 0.9, 1.3]), np.array([0.04, 0.05, 0.03]), 20.0
    found = combine_estimates(q, u, complete_df=complete)
    within, between = 0.04, 0.04
    total = within + (4 / 3) * between
    r = (4 / 3) * between / within
    lam = (4 / 3) * between / total
    old = 2 * (1 + 1 / r) ** 2
    observed = (complete + 1) / (complete + 3) * complete * (1 - lam)
    df = old * observed / (old + observed)
    assert_allclose(found.estimates, 1.1)
    assert_allclose([found.within_variance[0], found.between_variance[0]], 0.04)
    assert_allclose(found.standard_errors, np.sqrt(total))
    assert_allclose(found.degrees_of_freedom, df)
    assert_allclose(found.missing_information, (r + 2 / (df + 3)) / (r + 1))
    assert_allclose(combine_estimates(q, u).degrees_of_freedom, old)
    low, high = found.confidence_interval(0.9)
    expected = stats.t(df, 1.1, np.sqrt(total))
    assert_allclose([low[0], high[0]], expected.ppf([0.05, 0.95]))
    assert_allclose(found.p_values(1.5), 2 * expected.cdf(2 * 1.1 - 1.5))
    frame = found.to_frame()
    assert frame.shape == (1, 7)
    assert frame.ci_low[0] == pytest.approx(found.confidence_interval()[0][0])


def test_nothing_missing():
    found = combine_estimates(np.ones((4, 2)), np.full((4, 2), 0.25))
    assert_array_equal(found.standard_errors, 0.5)
    assert_array_equal(found.degrees_of_freedom, np.inf)
    assert_array_equal(found.missing_information, 0.0)
    assert_allclose(found.p_values(), 2 * stats.norm.sf(2.0))
    certain = combine_estimates(np.ones(4), np.zeros(4))
    assert_array_equal([certain.p_values(0.0), certain.p_values(1.0)], [[0.0], [1.0]])


def impute_normal(x, y, n_draws, rng):
    """Draw missing y given x, with coefficients from their posterior."""
    known = ~np.isnan(y)
    design = np.column_stack([np.ones(len(x)), x])
    A, b = design[known], y[known]
    inverse = np.linalg.inv(A.T @ A)
    best = inverse @ A.T @ b
    free = len(b) - 2
    squares = np.sum((b - A @ best) ** 2)
    for _ in range(n_draws):
        variance = squares / rng.chisquare(free)
        coef = rng.multivariate_normal(best, variance * inverse)
        drawn = design @ coef + rng.normal(0.0, np.sqrt(variance), len(x))
        yield np.where(known, y, drawn)


def analyze(x, y):
    """Mean of y and slope of y on x, with variances."""
    fit = stats.linregress(x, y)
    return (y.mean(), fit.slope), (y.var(ddof=1) / len(y), fit.stderr**2)


@pytest.mark.slow
@pytest.mark.parametrize("is_mar", [False, True], ids=["MCAR", "MAR"])
def test_coverage(is_mar):
    covered, n_tables = np.zeros(2), 1000
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=60)
        y = 1.0 + 0.7 * x + rng.normal(size=60)
        chance = 1.0 / (1.0 + np.exp(-2.0 * x)) if is_mar else 0.4
        y[rng.random(60) < 0.8 * chance] = np.nan
        q, u = zip(*(analyze(x, t) for t in impute_normal(x, y, 10, rng)), strict=True)
        low, high = combine_estimates(q, u, complete_df=58).confidence_interval()
        covered += (low < [1.0, 0.7]) & (high > [1.0, 0.7])
    assert np.all(covered >= 0.93 * n_tables)
    assert np.all(covered <= 0.97 * n_tables)


def some_table():
    """Two correlated columns, a third of one of them missing."""
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([0.0, 1.0], [[1.0, 0.8], [0.8, 1.0]], 100)
    X[rng.random(100) < 0.3, 1] = np.nan
    return X


def mean_of_second(table):
    """Mean of a column, and its variance."""
    return table[:, 1].mean(), table[:, 1].var(ddof=1) / len(table)


@pytest.mark.parametrize(
    "imputer",
    [
        IterativeImputer(sample_posterior=True),
        make_pipeline(FunctionTransformer(), IterativeImputer(sample_posterior=True)),
        EnergyNetImputer(
            EnergyNetTransformer(None, 2, n_final_epochs=5), sample_posterior=True
        ),
    ],
    ids=lambda imputer: type(imputer).__name__,
)
def test_imputers(imputer):
    X, given = some_table(), {"n_imputations": 3, "random_state": 0}
    found = analyze_imputations(mean_of_second, imputer, X, **given)
    again = analyze_imputations(mean_of_second, imputer, X, **given)
    assert_array_equal(found.estimates, again.estimates)
    assert found.n_imputations == 3
    assert found.between_variance[0] > 0.0
    same = analyze_imputations(mean_of_second, imputer, X, bootstrap=False, **given)
    assert same.estimates[0] != found.estimates[0]
    assert abs(found.estimates[0] - 1.0) < 0.5


def test_bad_input():
    with pytest.raises(ValueError, match="sample_posterior=True"):
        analyze_imputations(mean_of_second, SimpleImputer(), some_table())
    scaled = make_pipeline(FunctionTransformer(), IterativeImputer())
    with pytest.raises(ValueError, match="sample_posterior=True"):
        analyze_imputations(mean_of_second, scaled, some_table())
    with pytest.raises(ValueError, match="one for each of the estimates"):
        combine_estimates([1.0, 2.0], [[1.0, 2.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="at least 0"):
        combine_estimates([1.0, 2.0], [1.0, -2.0])
    with pytest.raises(ValueError, match="minimum of 2"):
        combine_estimates([1.0], [1.0])
    with pytest.raises(ValueError, match="level"):
        combine_estimates([1.0, 2.0], [1.0, 2.0]).confidence_interval(1.0)


@pytest.mark.parametrize("seed", range(3))
def test_imputers_know_all_categories_of_the_table(seed):
    """A category that occurs once is missing from a third of bootstrap samples."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"c": rng.choice(["a", "b"], 60), "x": rng.normal(size=60)})
    X["g"] = pd.Categorical(rng.choice([1, 2, 3], 60))
    X["rare"] = np.nan
    X.loc[3, "c"], X.loc[5, "rare"], X.loc[::7, "x"] = "rare", 2.0, np.nan
    X.loc[4, "c"] = None
    fitted = []

    class Imputer(BaseEstimator):
        sample_posterior = True

        def __init__(self, random_state=None):
            self.random_state = random_state

        def fit(self, X):
            fitted.append(X)
            return self

        def transform(self, X):
            return X

    analyze_imputations(lambda table: (1.0, 0.1), Imputer(), X, random_state=seed)
    for rows in fitted:
        assert set(rows.c.dropna()) == {"a", "b", "rare"}
        assert set(rows.g) == {1, 2, 3}
        assert rows.rare.notna().any()
        # No row for each number.
        assert 60 <= len(rows) <= 63


def test_tables_with_a_category_that_occurs_once():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice(["a", "b"], 50), "x": rng.normal(size=50)})
    X.loc[3, "c"], X.loc[::7, "x"] = "rare", np.nan
    network = EnergyNetTransformer(None, 2, n_final_epochs=5)
    imputer = EnergyNetImputer(network, sample_posterior=True)
    mean = lambda table: (np.mean(table[:, 1].astype(float)), 0.01)  # noqa: E731
    found = analyze_imputations(mean, imputer, X, n_imputations=4, random_state=0)
    assert np.isfinite(found.estimates).all()


@pytest.mark.parametrize("unit", [2.0**-500, 2.0**900])
def test_the_unit_of_estimates_does_not_matter(unit):
    found, errors = np.array([[1.0], [2.0], [4.0]]), np.array([[0.5], [1.0], [0.7]])
    small = unit < 1.0  # the squares of large errors would be infinite
    given = np.square(errors * unit) if small else np.zeros((3, 1))
    wanted = combine_estimates(found, given / unit / unit)
    moved = combine_estimates(found * unit, given)
    assert moved.estimates == unit * wanted.estimates
    assert moved.standard_errors == unit * wanted.standard_errors
    assert moved.degrees_of_freedom == wanted.degrees_of_freedom
    assert moved.missing_information == wanted.missing_information
