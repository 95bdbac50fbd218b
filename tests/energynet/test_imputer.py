"""Imputation of missing values by means, modes and draws."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare, kstest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skmohn import EnergyNetImputer, EnergyNetTransformer
from skmohn.energynet import _conditional
from skmohn.energynet._coding import UnitCoding

NAN = np.nan
RNG = np.random.default_rng(0)


def net(n_components=6, **parameters):
    options = {"n_final_epochs": 60, "random_state": 0, **parameters}
    return EnergyNetTransformer(n_components=n_components, **options)


def numbers(n=400):
    """Two numbers that hang together, and a bit that says their sign."""
    common = np.random.default_rng(0).normal(size=n)
    other = common + 0.3 * np.random.default_rng(1).normal(size=n)
    return np.column_stack([common, other, common > 0])


X = numbers()


@pytest.fixture(scope="module")
def fitted():
    return net(n_final_epochs=200).fit(X)


def test_modes_are_the_most_probable_states(fitted):
    row = X[:6].copy()
    row[:, 1] = NAN
    found = fitted.impute(row, strategy="mode")
    levels = fitted.coding_.levels[1]
    for k in range(6):
        every = np.repeat(X[k : k + 1], len(levels), axis=0)
        every[:, 1] = levels
        units = fitted.coding_.encode(every)
        best = np.argmin(fitted.layers_[0].free_energy(units))
        assert found[k, 1] == pytest.approx(levels[best])
    row[:, 2], row[:, 1] = NAN, X[:6, 1]
    likely = fitted.impute(row)[:, 2]
    assert_array_equal(fitted.impute(row, strategy="mode")[:, 2], np.rint(likely))
    assert np.any((likely > 0.01) & (likely < 0.99))


@pytest.mark.parametrize("most_listed", [12, 1])
def test_draws_have_the_probabilities_given_what_is_known(
    most_listed, replace_constants
):
    """Exact ones, and chains."""
    replace_constants(_conditional, max_enumerated_units=most_listed)
    bits = RNG.integers(0, 2, (300, 3)).astype(float)
    bits = np.column_stack([bits, bits[:, 0], bits[:, 1] != bits[:, 2]])
    model = net(4).fit(bits)
    row = np.array([[1.0, NAN, NAN, NAN, 0.0]])
    bit = (0.0, 1.0)
    every = np.array([[1.0, *three, 0.0] for three in product(bit, bit, bit)])
    p = np.exp(model.score_samples(every))
    drawn = np.array(model.impute(row, n_draws=4000, random_state=0))[:, 0]
    counts = [np.sum(np.all(drawn == state, axis=1)) for state in every]
    assert sum(counts) == 4000
    assert chisquare(counts, 4000 * p / p.sum()).pvalue > 1e-3
    # Draws of alike samples are independent.
    both = np.array(model.impute(np.repeat(row, 2, axis=0), n_draws=2000))
    assert abs(np.corrcoef(both[:, 0, 1], both[:, 1, 1])[0, 1]) < 0.08


def test_numbers_are_drawn_from_their_density():
    model = net(1, n_final_epochs=40, n_bins=4).fit(X)
    row = np.array([[NAN, X[0, 1], X[0, 2]]])
    drawn = np.ravel([t[:, 0] for t in model.impute(row, n_draws=4000, random_state=0)])
    grid = np.linspace(-6, 6, 4001)
    every = np.column_stack([grid, np.tile(row[0, 1:], (4001, 1))])
    density = np.exp(model.score_samples(every))
    distribution = np.cumsum(density) / density.sum()
    assert kstest(drawn, lambda x: np.interp(x, grid, distribution)).pvalue > 1e-3


def test_values_of_few_kinds_are_drawn_as_they_are():
    grades = RNG.integers(1, 5, (200, 2)).astype(float)
    coding = UnitCoding.learn(grades, "auto", 8)
    units = coding.encode(grades)
    assert_allclose(coding.draw(units, np.random.default_rng(0)), grades)
    merged = UnitCoding.learn(grades, "auto", 2)
    drawn = merged.draw(merged.encode(grades), np.random.default_rng(0))
    assert len(np.unique(drawn)) > 300
    assert_array_equal(merged.encode(drawn), merged.encode(grades))


def test_draws_are_calibrated(fitted):
    missing = RNG.random(X.shape) < 0.2
    missing[:, 2] = False
    holes = np.where(missing, NAN, X)
    model = net(n_final_epochs=200).fit(holes)
    drawn = np.array(model.impute(holes, n_draws=60, random_state=0))
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    inside = ((low <= X) & (high >= X))[missing]
    assert 0.8 < inside.mean() < 0.97
    assert_array_equal(drawn[:, ~missing], np.tile(X[~missing], (60, 1)))
    assert np.all(low[missing] < high[missing])


def test_what_cannot_be_drawn(fitted):
    for n_draws in (0, 2.5, "many"):
        with pytest.raises((ValueError, TypeError), match="n_draws"):
            fitted.impute(X, n_draws=n_draws)
    with pytest.raises(ValueError, match='strategy must be "mean" or "mode"'):
        fitted.impute(X, strategy="median")
    with pytest.raises(MemoryError, match=r"completed tables.*draw fewer"):
        fitted.impute(X, n_draws=10**12)


# --------------------------------------------------------------------------- imputer


def table():
    rng = np.random.default_rng(0)
    color = rng.integers(0, 3, 300)
    frame = pd.DataFrame(
        {
            "color": pd.Categorical(np.array(["red", "green", "blue"])[color]),
            "size": rng.normal(2.0 * color, 0.3),
            "switch": rng.integers(0, 2, 300).astype(float),
        }
    )
    return frame, frame.mask(rng.random(frame.shape) < 0.2)


def test_imputer_fills_as_its_transformer():
    whole, missing = table()
    imputer = EnergyNetImputer(net(), random_state=7).fit(missing)
    seed = np.random.RandomState(7).randint(2**31 - 1)
    expected = net(random_state=seed).fit(missing)
    assert_array_equal(imputer.transform(missing), expected.impute(missing))
    modes = EnergyNetImputer(net(), strategy="mode", random_state=7).fit(missing)
    assert_array_equal(
        modes.transform(missing), expected.impute(missing, strategy="mode")
    )
    rows = missing["color"].isna() & missing["size"].notna()
    right = imputer.transform(missing)[:, 0] == whole["color"]
    assert right[rows].mean() > 0.9
    assert_array_equal(imputer.feature_names_in_, missing.columns)
    assert imputer.get_feature_names_out().tolist() == list(missing.columns)


def test_posterior_samples():
    _, missing = table()
    imputer = EnergyNetImputer(net(), sample_posterior=True, random_state=0).fit(
        missing
    )
    first = imputer.transform(missing)
    assert_array_equal(first, imputer.transform(missing))
    seed = np.random.RandomState(0)
    (expected,) = imputer.transformer_.impute(missing, n_draws=1, random_state=seed)
    assert_array_equal(first, expected)
    imputer.set_params(random_state=1)
    known = missing.notna().to_numpy()
    other = imputer.transform(missing)
    assert np.any(first != other)
    assert_array_equal(first[known], other[known])


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_indicators_and_containers(container):
    pytest.importorskip(container)
    _, missing = table()
    missing["switch"] = 1.0 * (missing.index % 2)
    imputer = EnergyNetImputer(net(), add_indicator=True, random_state=0).fit(missing)
    names = [*missing.columns, "missingindicator_color", "missingindicator_size"]
    assert imputer.get_feature_names_out().tolist() == names
    plain = imputer.transform(missing)
    assert_array_equal(plain[:, 3].astype(bool), missing["color"].isna())
    assert_array_equal(plain[:, 4].astype(bool), missing["size"].isna())
    found = imputer.set_output(transform=container).transform(missing)
    assert list(found.columns) == names
    assert np.asarray(found["size"]).dtype == float
    assert_array_equal(np.asarray(found["color"]), plain[:, 0])
    with config_context(transform_output=container):
        again = EnergyNetImputer(net(), add_indicator=True, random_state=0)
        assert_array_equal(np.asarray(again.fit(missing).transform(missing)), plain)


def test_imputer_in_a_pipeline():
    missing = np.where(RNG.random((400, 2)) < 0.3, NAN, X[:, :2])
    model = make_pipeline(EnergyNetImputer(net(), random_state=0), LogisticRegression())
    known = ~np.isnan(missing).all(axis=1)
    assert model.fit(missing, X[:, 2]).score(missing[known], X[known, 2]) > 0.85


def test_missing_values_of_constant_columns_are_the_constant():
    constant = np.column_stack([X, np.full(400, 7.0)])
    constant[::3, 3] = constant[::5, 0] = NAN
    model = net().fit(constant)
    for filled in (
        model.impute(constant),
        model.impute(constant, strategy="mode"),
        *model.impute(constant, n_draws=2, random_state=0),
    ):
        assert_array_equal(filled[:, 3], np.full(400, 7.0))
        assert np.isfinite(filled).all()


def test_imputer_takes_the_coding_of_its_transformer():
    layers = net(coding="minmax")
    with pytest.raises(ValueError, match="Input X contains NaN, which coding"):
        EnergyNetImputer(layers).fit(np.where(X > 2, NAN, X))
    assert not EnergyNetImputer(layers).__sklearn_tags__().input_tags.allow_nan
    assert EnergyNetImputer().__sklearn_tags__().input_tags.allow_nan


def test_weights_are_repeated_samples():
    rng = np.random.default_rng(0)
    table = np.where(rng.random(X.shape) < 0.2, NAN, X)[:100]
    weights = np.arange(100) % 3
    imputer = EnergyNetImputer(net(3, whiten=True), random_state=0)
    weighted = imputer.fit(table, sample_weight=weights).transform(table)
    repeated = imputer.fit(table.repeat(weights, axis=0)).transform(table)
    assert_array_equal(weighted, repeated)
