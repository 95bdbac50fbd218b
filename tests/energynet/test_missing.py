"""Unknown values: means over completions, against lists of all of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from support import all_states

from skmohn import EnergyNetTransformer
from skmohn.energynet import RBM, _conditional, exact_log_partition
from skmohn.energynet._coding import UnitCoding
from skmohn.energynet._conditional import (
    _CONDITIONAL,
    condition_on,
    enumerate_completions,
    enumerate_means,
)
from skmohn.energynet._missing import MissingMask

NAN = np.nan
RNG = np.random.default_rng(0)


def net_of(X, widths=4, **parameters):
    parameters = {"n_final_epochs": 60, "random_state": 0, **parameters}
    return EnergyNetTransformer(None, widths, **parameters).fit(X)


@pytest.fixture(scope="module")
def bits():
    """Six bits of which two pairs are alike."""
    X = RNG.integers(2, size=(300, 6)).astype(float)
    X[:, 3], X[:, 5] = X[:, 0], 1 - X[:, 1]
    return X


@pytest.fixture(scope="module")
def mixed():
    """A bit, two thermometers of 4 levels, a constant column and a probability."""
    common = RNG.normal(size=300)
    return np.column_stack(
        [
            common > 0,
            10 + common,
            np.round(3 * common + RNG.normal(size=300)),
            np.full(300, 7.0),
            np.clip(0.5 + 1.5 * common, 0, 1),
        ]
    )


def with_holes(X, fraction=0.3):
    return np.where(RNG.random(X.shape) < fraction, NAN, X)


# --------------------------------------------------------------- lists of completions


def listed_of(coding, X):
    units, missing = coding.encode(X), MissingMask.of(X, coding.n_units)
    return {
        row: enumerate_completions(coding, units[row], unknown, row)
        for row, unknown in zip(missing.rows.tolist(), missing.unknown, strict=True)
    }


def test_completions_are_all_that_the_values_could_be(mixed):
    found = UnitCoding.learn(mixed, "auto", 4)
    assert found.n_units.tolist() == [1, 3, 3, 0, 1]
    X = mixed[:4].copy()
    X[1, [1, 2, 3]] = X[3, 0] = NAN
    listed = listed_of(found, X)
    assert list(listed) == [1, 3]
    # From values of each level, coded as any sample is.
    levels = found.levels[1], found.levels[2]
    full = np.array(
        [[X[1, 0], a, b, 7.0, X[1, 4]] for b in levels[1] for a in levels[0]]
    )
    assert_array_equal(
        np.unique(listed[1], axis=0), np.unique(found.encode(full), axis=0)
    )
    assert len(listed[1]) == 16
    full = np.array([[bit, *X[3, 1:]] for bit in (0.0, 1.0)])
    assert_array_equal(listed[3], found.encode(full))


def test_most_completions():
    n = int(np.log2(_CONDITIONAL.max_completions))
    found = UnitCoding.learn(all_states(1).repeat(n + 1, axis=1), "auto", 8)
    X = np.full((1, n + 1), NAN)
    with pytest.raises(ValueError, match=f"sample 0 .* {n + 1} columns.*impute first"):
        listed_of(found, X)
    X[0, 0] = 1
    assert listed_of(found, X)[0].shape == (_CONDITIONAL.max_completions, n + 1)


# ---------------------------------------------------------------------------- oracles


def by_listing(net, X):
    """Hidden means, visible means and log-likelihoods of samples of bits."""
    (rbm,) = net.layers_
    V = all_states(X.shape[1])
    log_p = -rbm.free_energy(V) - exact_log_partition(rbm).value
    hidden, visible, log_likelihood = [], [], []
    for row in X:
        fits = np.all(np.isnan(row) | (row == V), axis=1)
        log_likelihood.append(logsumexp(log_p[fits]))
        p = np.exp(log_p[fits] - log_likelihood[-1])
        hidden.append(p @ rbm.hidden_probabilities(V[fits]))
        visible.append(p @ V[fits])
    return np.array(hidden), np.array(visible), np.array(log_likelihood)


@pytest.mark.parametrize("sparsely", [False, True])
def test_bits_against_all_states(bits, sparsely):
    net = net_of(bits, standardize=False)
    X = with_holes(bits[:40])
    # One sample of which nothing is known.
    X[0] = NAN
    given = sparse.csr_array(X) if sparsely else X
    hidden, visible, log_likelihood = by_listing(net, X)
    assert_allclose(net.transform(given), hidden, atol=1e-5)
    assert_allclose(net.impute(given), visible, atol=1e-5)
    assert_allclose(net.score_samples(given), log_likelihood, atol=1e-4)
    assert net.score_samples(given)[0] == pytest.approx(0, abs=1e-4)
    assert net.score(X) == pytest.approx(net.score_samples(X).mean())


def test_few_completions_are_summed_up_beside_many_hidden_units(bits):
    net = net_of(bits, 16)
    X = with_holes(bits[:40])
    _, _, log_likelihood = by_listing(net, X)
    assert_allclose(net.score_samples(X), log_likelihood, atol=1e-4)


def test_draws_of_few_completions_are_as_frequent_as_these_are_likely():
    """Chains meet the rarer of two modes that are far apart too often."""
    rng = np.random.default_rng(0)
    is_rare = rng.random((800, 1)) < 0.1
    bits = (is_rare ^ (rng.random((800, 10)) < 0.02)).astype(float)
    net = net_of(bits, 50, n_final_epochs="auto")
    X = np.full((2, 10), NAN)
    X[1, 0] = 1.0
    drawn = np.mean(net.impute(X, n_draws=3000, random_state=0), axis=0)
    assert_allclose(drawn, net.impute(X), atol=0.03)


def test_many_unknown_bits_against_all_states():
    """More completions than are listed, but few hidden units."""
    common = RNG.random((300, 1)) < 0.5
    bits = np.where(RNG.random((300, 14)) < 0.9, common, ~common).astype(float)
    net = net_of(bits, standardize=False)
    X = bits[:3].copy()
    X[0, 1:] = X[1] = NAN
    hidden, visible, log_likelihood = by_listing(net, X)
    assert_allclose(net.transform(X), hidden, atol=1e-5)
    assert_allclose(net.impute(X), visible, atol=1e-5)
    assert_allclose(net.score_samples(X), log_likelihood, atol=1e-4)
    # Several layers would have to be summed over all of them.
    deep = net_of(bits, [4, 2], n_final_epochs=1)
    assert np.isfinite(deep.impute(X)).all()
    with pytest.raises(
        ValueError, match=r"8192 ways, .* several layers sums over at most 4096"
    ):
        deep.score_samples(X)


@pytest.mark.parametrize("groups", [None, [1, 2, 3, 1, 1, 1, 1]])
def test_means_of_chains_are_those_of_all_states(groups, replace_constants):
    rbm = RBM(RNG.normal(size=(5, 10)), RNG.normal(size=5), np.zeros(10), groups)
    units = (RNG.random((4, 10)) < 0.5).astype(np.float32)
    unknown = np.ones((4, 10), bool)
    unknown[1:, [0, 8]] = False
    units = np.where(unknown, np.float32(0), units)
    expected = _conditional._means_of_missing(rbm, units, unknown, 0)
    for row in range(4):
        conditional = condition_on(rbm, units[row], unknown[row])
        visible, hidden = enumerate_means(conditional)
        assert_allclose(expected[0][row, unknown[row]], visible, atol=1e-5)
        assert_allclose(expected[1][row], hidden, atol=1e-5)
    # By lists of the missing values, then by chains.
    replace_constants(_conditional, max_enumerated_units=1)
    listed = _conditional._means_of_missing(rbm, units, unknown, 0)
    replace_constants(_conditional, max_completions=4)
    replace_constants(_conditional, n_averaged=100)
    drawn = _conditional._means_of_missing(rbm, units, unknown, 0)
    for means, same, exact in zip(drawn, listed, expected, strict=True):
        known = ~unknown if means.shape == unknown.shape else np.zeros_like(means, bool)
        assert np.abs(np.where(known, 0, same - exact)).max() < 1e-5
        off = np.abs(np.where(known, 0, means - exact))
        assert 0.0 < off.max() < 0.06
    # Which do not depend on the samples beside.
    alone = _conditional._means_of_missing(rbm, units[2:3], unknown[2:3], 0)
    assert_array_equal(alone[0][0], drawn[0][2])


def test_columns_that_are_alike_impute_one_another(bits):
    net = net_of(bits, 8, n_final_epochs="auto")
    X = bits[:50].copy()
    X[:, [3, 5]] = NAN
    assert_allclose(net.impute(X), bits[:50], atol=0.1)
    # The features then say nearly what those of the whole samples say.
    whole = net.transform(bits[:50])
    assert np.abs(net.transform(X) - whole).mean() < 0.1
    back = net.inverse_transform(net.transform(X))
    assert_array_equal(back[:, 3] > 0.5, bits[:50, 3] == 1)


def test_thermometers_against_levels(mixed):
    net = net_of(mixed, standardize=False, n_bins=4)
    (rbm,) = net.layers_
    X = mixed[:1].copy()
    X[0, 1] = NAN
    every = X.repeat(4, axis=0)
    every[:, 1] = net.coding_.levels[1]
    units = net.coding_.encode(every)
    log_p = -rbm.free_energy(units)
    p = np.exp(log_p - logsumexp(log_p))
    assert_allclose(net.transform(X)[0], p @ net.transform(every), atol=1e-5)
    assert net.impute(X)[0, 1] == pytest.approx(p @ every[:, 1], rel=1e-5)
    expected = X.copy()
    expected[0, 1] = p @ every[:, 1]
    assert_allclose(net.impute(X), expected, rtol=1e-5)


def test_score_of_a_sample_with_probabilities_is_the_mean_over_their_bits(mixed):
    net = net_of(mixed, n_bins=4)
    X = mixed[:3].copy()
    X[:, 0] = NAN
    # The numbers that stand for draws of a unit are the same with and without it.
    both = [net.score_samples(np.column_stack([[b] * 3, X[:, 1:]])) for b in (0, 1)]
    found = net.score_samples(X)
    assert np.all(found > np.max(both, axis=0))
    assert_allclose(found, np.logaddexp(*both), atol=0.3)


def test_likelihood_of_a_stack_against_all_states(bits):
    net = net_of(bits, [4, 3], n_draws=3000)
    V = all_states(6)
    log_p = net.score_samples(V)
    X = bits[:5].copy()
    X[:, [0, 2]] = NAN
    expected = [
        logsumexp(log_p[np.all(np.isnan(row) | (row == V), axis=1)]) for row in X
    ]
    assert_allclose(net.score_samples(X), expected, atol=1e-9)
    nothing = net.score_samples(np.full((1, 6), NAN))
    assert nothing == pytest.approx(0, abs=0.1)


def test_layers_above_see_the_means_of_the_first(bits):
    net = net_of(bits, [4, 3], standardize=False, layer="all")
    X = with_holes(bits[:30])
    found = net.transform(X)
    upper = net.layers_[1].hidden_probabilities(found[:, :4])
    assert_allclose(found[:, 4:], upper, atol=1e-5)


# -------------------------------------------------------------------- what surrounds it


def test_complete_samples_are_as_without_incomplete_ones(mixed):
    net = net_of(mixed, passthrough=True)
    X = np.vstack([mixed[:60], with_holes(mixed[:20])])
    for call in (net.transform, net.impute, net.score_samples):
        found = call(X)
        assert_allclose(found[:60], call(mixed[:60]), rtol=1e-12)
        assert np.isfinite(found).all()
    assert_array_equal(net.impute(mixed), mixed)


def test_constant_columns_say_nothing(mixed):
    net = net_of(mixed)
    X = mixed[:9].copy()
    X[:, 3] = NAN
    assert_allclose(net.transform(X), net.transform(mixed[:9]), rtol=1e-6)
    assert_allclose(net.impute(X), mixed[:9], rtol=1e-6)
    # However many there are.
    wide = np.column_stack([mixed, np.full((300, 100), 7.0)])
    net = net_of(wide)
    wide[:, 5:] = NAN
    assert_allclose(net.impute(wide)[:, 5:], 7.0)


def test_appended_columns_are_complete(mixed):
    net = net_of(mixed, passthrough=True, standardize=False)
    X = with_holes(mixed[:50])
    assert_array_equal(net.transform(X)[:, -5:], net.impute(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision(bits, dtype):
    net = net_of(bits)
    X = with_holes(bits[:50]).astype(dtype)
    assert net.transform(X).dtype == net.impute(X).dtype == dtype
    assert_allclose(net.transform(X), net.transform(X.astype(float)), atol=1e-4)


@pytest.mark.parametrize(("coding", "allowed"), [("auto", True), ("minmax", False)])
def test_tags_say_so(coding, allowed):
    net = EnergyNetTransformer(coding=coding)
    assert net.__sklearn_tags__().input_tags.allow_nan is allowed


def test_pipeline_with_unknown_values(bits):
    net = EnergyNetTransformer(None, 8, random_state=0).fit(bits)
    X, y = with_holes(bits, 0.2), bits[:, 0]
    features = net.transform(X)
    model = LogisticRegression().fit(features, y)
    known = ~np.isnan(X[:, 0]) | ~np.isnan(X[:, 3])
    # Either of two columns that are alike tells the class.
    assert model.score(features[known], y[known]) > 0.95
    pipeline = make_pipeline(clone(net), LogisticRegression())
    pipeline.fit(X, y)
    assert pipeline.score(X[known], y[known]) > 0.95


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_imputed_samples_come_in_the_container_that_is_asked_for(bits, container):
    library = pytest.importorskip(container)
    X = with_holes(bits[:9])
    net = net_of(bits)
    expected = net.impute(X)
    net.set_output(transform=container)
    found = net.impute(X)
    assert isinstance(found, library.DataFrame)
    assert list(found.columns) == [f"x{j}" for j in range(6)]
    assert_array_equal(np.asarray(found), expected)
