"""Searches of skewed and contaminated targets go by scores of their ranks."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from scipy.stats import t as student

from skmohn import Genotypes, MOHNRegressor
from skmohn.mohn._design.design import make_design
from skmohn.mohn._genotypes import encode, learn_coding
from skmohn.mohn._sparse import solve
from skmohn.mohn._sparse.rank_scores import (
    is_closer_to_normal,
    may_mislead,
    normal_scores,
    rank_scores,
    tail_of,
)
from skmohn.mohn._sparse.significance import p_values_of_terms

SAID = "of the target, whose residuals are closer to normal"


def test_scores_are_blom_s():
    y = np.array([3.0, 1.0, 1e9, 2.0, 2.0])
    ranks = np.array([4.0, 1.0, 5.0, 2.5, 2.5])
    assert_allclose(normal_scores(y), norm.ppf((ranks - 0.375) / 5.25))


def test_others_are_scored_among_targets():
    y = np.random.default_rng(0).standard_t(2, 400)
    known, order = rank_scores(y), np.argsort(y)
    low, high = order[200:202]
    others = rank_scores(y, np.array([(y[low] + y[high]) / 2, -1e9, 1e9]))
    expected = [(known[low] + known[high]) / 2, known[order[0]], known[order[-1]]]
    assert_allclose(others, expected)


@pytest.mark.parametrize("dof", [1.0, 2.0, 4.0])
def test_the_tails_are_those_of_quantiles(dof):
    places = (np.arange(2000) + 0.5) / 2000
    y = student.ppf(places, dof)
    assert 1.0 / tail_of(y) == pytest.approx(1.0 / dof, abs=0.04)
    # Neither units nor an exponential scale have to do with noise.
    assert tail_of(-3.0 * y + 1.0) == tail_of(y)
    assert 1.0 / tail_of(np.exp(0.1 * y)) == pytest.approx(1.0 / dof, abs=0.08)


def test_normal_tails_on_any_exponential_scale():
    z = norm.ppf((np.arange(2000) + 0.5) / 2000)
    for y in (z, np.exp(z), -np.exp(-2.0 * z), np.arcsinh(z)):
        assert tail_of(y) == math.inf
        assert_allclose(rank_scores(y), normal_scores(y))


def test_targets_without_a_middle_have_normal_scores():
    y = np.random.default_rng(0).poisson(0.3, 500).astype(float)
    assert tail_of(y) == math.inf
    assert tail_of(np.array([1.0, 2.0, 3.0])) == math.inf


def test_scores_are_those_that_test_a_shift_best():
    y = np.random.default_rng(0).standard_t(2, 3000)
    scores, dof = rank_scores(y), tail_of(y)
    quantiles = student.ppf(norm.cdf(normal_scores(y)), dof)
    step = 1e-5
    slope = student.logpdf(quantiles + step, dof)
    slope -= student.logpdf(quantiles - step, dof)
    assert_allclose(scores, -slope / (2 * step), atol=1e-6)
    # Student's t of 2 degrees of freedom says 0.6 of a shift by its own scores.
    x = np.random.default_rng(1).choice([-1.0, 1.0], 3000)
    shifted = y + 0.3 * x
    known, plain = (
        np.corrcoef(of(shifted), x)[0, 1] ** 2 for of in (rank_scores, normal_scores)
    )
    assert known > 1.15 * plain


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
    tails = "Student's t with" if noise == "contaminated" else "normal scores"
    assert tails in model.stopping_reason_
    # Weights are those of the target itself, p-values those of its scores.
    design = make_design(encode(learn_coding(X), X).inputs)
    column = np.column_stack([np.ones(len(y)), design.columns([(4, 9)])[0]])
    assert_allclose([model.intercept_, *model.weights_], np.linalg.lstsq(column, y)[0])
    assert_allclose(
        model.p_values_, p_values_of_terms(design, rank_scores(y), [(4, 9)])
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


def test_no_model_is_chosen_that_scores_replace(monkeypatch):
    n_chosen, choose_model = [], solve.choose_model

    def spy(*args, **options):
        n_chosen.append(1)
        return choose_model(*args, **options)

    monkeypatch.setattr(solve, "choose_model", spy)
    for noise in ("normal", "skewed"):
        n_chosen.clear()
        search(*scan(noise))
        assert len(n_chosen) == 1
