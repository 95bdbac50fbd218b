"""Cholesky factors in panels: LAPACK's results, in half of a matrix's memory."""

import itertools
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn.mohn._gp import cholesky, exact
from skmohn.mohn._gp.cholesky import CholeskyFactor
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.marginal_likelihood import join_equal_rows, start_prior
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._table.rows import EncodedRows

SIZES = [1, 6, 7, 8, 14, 20]


@pytest.fixture
def narrow(monkeypatch):
    """Panels of seven columns."""
    panels = replace(cholesky._PANELS, max_rows_single=7, n_columns=7)
    monkeypatch.setattr(cholesky, "_PANELS", panels)


def positive(n_rows, seed=0):
    """Return a positive definite matrix."""
    root = np.random.default_rng(seed).standard_normal((n_rows, n_rows + 3))
    return root @ root.T


def factor_of(matrix, dtype=np.float64):
    """Return its factor."""
    return CholeskyFactor.factorize(
        len(matrix), lambda part: np.array(matrix[part.start :, part], dtype, order="C")
    )


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("n_rows", SIZES)
def test_a_factor_in_panels_is_that_of_numpy(n_rows):
    matrix, rng = positive(n_rows), np.random.default_rng(1)
    factor, lower = factor_of(matrix), np.linalg.cholesky(matrix)
    assert len(factor.panels) == -(-n_rows // 7)
    assert len(factor) == n_rows
    columns = rng.standard_normal((n_rows, 4))
    before = columns.copy()
    for some in (columns, columns[:, 0]):
        assert_allclose(factor.whiten(some), np.linalg.solve(lower, some))
        assert_allclose(
            factor.solve(some), np.linalg.solve(matrix, some), rtol=1e-6, atol=1e-9
        )
    assert_array_equal(columns, before)
    inverse = np.linalg.inv(lower)
    assert_allclose(factor.inverse(), inverse, atol=1e-10)
    assert_allclose(factor.inverse_diagonal(), np.sum(inverse**2, axis=0))
    assert_allclose(
        factor.half_log_determinant(), 0.5 * np.linalg.slogdet(matrix)[1], atol=1e-10
    )


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("n_old", SIZES)
@pytest.mark.parametrize("n_new", [1, 5, 9])
def test_rows_can_be_appended(n_old, n_new):
    matrix = positive(n_old + n_new)
    old = factor_of(matrix[:n_old, :n_old])
    link = old.whiten(matrix[:n_old, n_old:])
    longer = old.extend(link, matrix[n_old:, n_old:] - link.T @ link)
    assert len(longer) == n_old + n_new
    assert_allclose(longer.inverse(), factor_of(matrix).inverse(), atol=1e-9)


@pytest.mark.usefixtures("narrow")
def test_rows_that_come_one_by_one_share_panels():
    matrix = positive(20)
    factor = factor_of(matrix[:3, :3])
    for n_rows in range(3, 20):
        link = factor.whiten(matrix[:n_rows, n_rows : n_rows + 1])
        corner = matrix[n_rows : n_rows + 1, n_rows : n_rows + 1] - link.T @ link
        factor = factor.extend(link, corner)
    assert [len(panel.corner) for panel in factor.panels] == [7, 7, 6]
    assert_allclose(factor.inverse(), factor_of(matrix).inverse(), atol=1e-9)


@pytest.mark.usefixtures("narrow")
def test_no_two_products_of_panels_without_a_sign_of_life(monkeypatch):
    events = []
    monkeypatch.setattr(cholesky, "tick", lambda: events.append("tick"))
    for name in ("_subtract_product", "_factorize_panel"):
        work = getattr(cholesky, name)

        def logged(*args, name=name, work=work):
            events.append(name)
            return work(*args)

        monkeypatch.setattr(cholesky, name, logged)
    factor = factor_of(positive(35))
    assert events.count("_subtract_product") == 10
    assert events.count("_factorize_panel") == 5
    pairs = list(itertools.pairwise(events))
    assert ("_subtract_product", "_subtract_product") not in pairs
    assert ("_factorize_panel", "_subtract_product") not in pairs
    assert events[0] == "tick"
    events.clear()
    factor.inverse_diagonal()
    # Of each panel, and of the panels below that it is carried through.
    assert len(events) == 5 + 10


def process(n_rows, noise, seed=0):
    """Return covariance and sample of a smooth function of six numbers."""
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1.0, 1.0, (n_rows, 6))
    y = np.sin(3.0 * inputs[:, 0]) + inputs[:, 1] * inputs[:, 2]
    y = y + np.sqrt(noise) * rng.standard_normal(n_rows)
    sample = join_equal_rows(EncodedRows(inputs, np.zeros((n_rows, 0), int)), y)
    return Covariance(start_prior(6)._replace(noise_variance=noise)), sample


@pytest.fixture
def single(monkeypatch, narrow):
    """Single precision from eight rows on."""
    monkeypatch.setattr(exact, "_SINGLE", replace(exact._SINGLE, max_rows_double=7))


def test_single_precision_has_the_means_of_double_precision(monkeypatch):
    covariance, sample = process(300, 0.05)
    _, new = process(50, 0.05, seed=1)
    double = ExactPosterior.condition(covariance, sample)
    assert not double.factor.is_single
    monkeypatch.setattr(exact, "_SINGLE", replace(exact._SINGLE, max_rows_double=7))
    half = ExactPosterior.condition(covariance, sample)
    assert half.factor.is_single
    means, variances = half.latent_mean(new.rows), half.latent_variance(new.rows)
    assert_allclose(half.alpha, double.alpha, rtol=1e-5, atol=1e-5)
    assert_allclose(means, double.latent_mean(new.rows), rtol=1e-6, atol=1e-6)
    assert_allclose(variances, double.latent_variance(new.rows), rtol=2e-3)
    assert_allclose(half.log_evidence(), double.log_evidence(), atol=1e-2)
    assert_allclose(half.leave_one_out()[1], double.leave_one_out()[1], rtol=1e-3)


@pytest.mark.usefixtures("single")
def test_rows_are_appended_in_single_precision():
    covariance, sample = process(40, 0.05)
    whole = ExactPosterior.condition(covariance, sample)
    part = ExactPosterior.condition(covariance, sample.take(slice(0, 30)))
    assert part.factor.is_single
    joined = part.update(sample.take(slice(30, 40)))
    assert joined.factor.is_single
    assert_allclose(joined.alpha, whole.alpha, rtol=1e-5, atol=1e-5)
    assert_allclose(joined.log_evidence(), whole.log_evidence(), atol=1e-3)


@pytest.mark.usefixtures("single")
def test_little_noise_takes_double_precision():
    assert ExactPosterior.condition(*process(40, 1e-2)).factor.is_single
    assert not ExactPosterior.condition(*process(40, 1e-5)).factor.is_single


@pytest.mark.parametrize(("noise", "n_bytes"), [(0.05, 4), (1e-5, 8)])
def test_a_factor_takes_half_a_matrix_and_no_copy(noise, n_bytes):
    covariance, sample = process(3000, noise)
    tracemalloc.start()
    try:
        posterior = ExactPosterior.condition(covariance, sample)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert posterior.factor.is_single == (n_bytes == 4)
    # Three panels of 3000, 2000 and 1000 rows.
    panels = 6_000_000 * n_bytes
    assert kept < 1.05 * panels
    # What panels are computed by is smaller than the least of them.
    assert peak < 1.3 * panels


@pytest.mark.usefixtures("narrow")
def test_each_panel_of_a_substitution_is_reported(monkeypatch):
    factor, reports = factor_of(positive(20)), []
    monkeypatch.setattr(cholesky, "tick", lambda: reports.append(True))
    factor.whiten(np.ones((20, 2)))
    assert len(reports) == len(factor.panels)
