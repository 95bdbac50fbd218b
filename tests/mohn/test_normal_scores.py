"""Searches of skewed and contaminated targets go by normal scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from skmohn import Genotypes, MOHNRegressor
from skmohn.mohn._genotypes import encode, learn_coding
from skmohn.mohn._sparse.normal_scores import (
    is_closer_to_normal,
    may_mislead,
    normal_scores,
)
from skmohn.mohn._sparse.significance import p_values_of_terms
from skmohn.mohn._walsh.design import make_design

SAID = "by normal scores of the target"


def test_scores_are_blom_s():
    y = np.array([3.0, 1.0, 1e9, 2.0, 2.0])
    ranks = np.array([4.0, 1.0, 5.0, 2.5, 2.5])
    assert_allclose(normal_scores(y), norm.ppf((ranks - 0.375) / 5.25))
    others = normal_scores(y, np.array([1.5, 0.0, 2e9]))
    known = normal_scores(y)
    assert_allclose(others, [(known[1] + known[3]) / 2, known[1], known[2]])


def test_what_may_mislead():
    rng = np.random.default_rng(0)
    normal, skewed = rng.standard_normal(300), rng.lognormal(size=300)
    assert may_mislead(skewed, skewed)
    assert not may_mislead(normal, normal)
    assert not may_mislead(skewed > 1.0, skewed)  # Two values have no other scale.
    assert not may_mislead(skewed, np.zeros(300))
    assert is_closer_to_normal(normal, skewed)


def scan(noise, n=400, seed=2):
    """Genotypes, and a target that is a pair and noise."""
    rng = np.random.default_rng(seed)
    counts = rng.binomial(2, 0.4, (n, 30))
    product = np.prod(counts[:, [4, 9]] - counts[:, [4, 9]].mean(axis=0), axis=1)
    y = product / product.std() * 0.6 + rng.standard_normal(n)
    if noise == "skewed":
        y = np.exp(1.5 * y)
    elif noise == "contaminated":
        y += 15.0 * rng.standard_normal(n) * (rng.random(n) < 0.05)
    return Genotypes.from_counts(counts), y


def search(X, y, **parameters):
    model = MOHNRegressor(
        "pursuit", max_order=2, selection="ebic", outliers="keep", **parameters
    )
    return model.fit(X, y)


@pytest.mark.parametrize("noise", ["skewed", "contaminated"])
def test_far_targets_mislead_no_more(noise):
    X, y = scan(noise)
    model = search(X, y)
    assert model.terms_ == [(4, 9)]
    assert SAID in model.stopping_reason_
    # Weights are those of the target itself, p-values those of its scores.
    design = make_design(encode(learn_coding(X), X).inputs)
    column = np.column_stack([np.ones(len(y)), design.columns([(4, 9)])[0]])
    assert_allclose([model.intercept_, *model.weights_], np.linalg.lstsq(column, y)[0])
    assert_allclose(
        model.p_values_, p_values_of_terms(design, normal_scores(y), [(4, 9)])
    )


def test_normal_noise_is_left_alone():
    model = search(*scan("normal"))
    assert model.terms_ == [(4, 9)]
    assert SAID not in model.stopping_reason_


def test_a_monotone_change_of_scale_finds_the_same():
    X, y = scan("skewed")
    assert search(X, y).terms_ == search(X, np.log(y)).terms_ == search(X, y**3).terms_


def test_held_out_targets_are_scored_among_the_others():
    X, y = scan("skewed", n=600)
    model = MOHNRegressor("pursuit", max_order=2, outliers="keep")
    model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    assert (4, 9) in model.terms_
    assert SAID in model.stopping_reason_


def test_other_rules_learn_from_the_target_itself():
    X, y = scan("skewed")
    assert SAID not in search(X, y, learning_rule="lasso").stopping_reason_
