"""Compiled products over columns and their sums, against the same in plain numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmohn.mohn._gp.covariance_function import (
    GramMatrix,
    Prior,
    PriorTables,
    find_alike,
)
from skmohn.mohn._gp.covariance_kernels import multiply_means
from skmohn.mohn._models import PRIOR
from skmohn.mohn._table.rows import Categorical, EncodedRows, sizes_of

# Categoricals with the same alphabet are computed together.
LEVELS = Categorical(7, True)
ALPHABETS = (Categorical(3), LEVELS, Categorical(3), Categorical(2), LEVELS)
# Signs, numbers and alphabets; columns of numbers are taken in twos.
KINDS = {
    "one number": (0, 1, ()),
    "numbers": (0, 4, ()),
    "signs": (4, 0, ()),
    "signs and numbers": (3, 5, ()),
    "categories": (0, 0, ALPHABETS),
    "levels": (0, 3, ALPHABETS),
    "all": (2, 3, ALPHABETS),
}
# Blocks are of 32 rows, tiles of 256.
SIZES = [1, 2, 31, 33, 290]
# Entries of float32 are off by 1e-7 each, and sums by that of their largest terms.
TOLERANCES = {"float64": 1e-12, "float32": 2e-4}


def make_rows(kind, n_rows, seed=0):
    n_signs, n_numbers, alphabets = KINDS[kind]
    rng = np.random.default_rng([seed, n_rows])
    signs = rng.choice([-1.0, 0.0, 1.0], (n_rows, n_signs), p=[0.4, 0.2, 0.4])
    numbers = rng.uniform(-1.0, 1.0, (n_rows, n_numbers))
    # The last of its places is that of an unknown category.
    categories = [rng.integers(0, size + 1, n_rows) for size in sizes_of(alphabets)]
    return EncodedRows(
        np.hstack([signs, numbers]),
        np.reshape(categories, (len(alphabets), n_rows)).T.astype(int),
    )


@pytest.mark.parametrize(("first", "n_left", "n_right"), [(0, 40, 40), (17, 9, 26)])
def test_means_multiply_as_they_do_in_numpy(first, n_left, n_right):
    rng = np.random.default_rng(0)
    categories = rng.integers(0, 5, 40).astype(np.uint32)
    lines, means = rng.standard_normal(40), rng.standard_normal((3, 5, 5))
    out = rng.standard_normal((n_left, n_right))
    left, right = slice(first, first + n_left), slice(n_right)
    flat, tilted, curved = means[:, categories[left, None], categories[right]]
    tilted = tilted * (lines[left, None] + lines[right])
    curved = curved * lines[left, None] * lines[right]
    expected = out * (flat + tilted + curved)
    multiply_means(categories, lines, means, first, np.empty((2, 5)), out)
    assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


def make_prior(kind, seed=0):
    n_signs, n_numbers, alphabets = KINDS[kind]
    rng = np.random.default_rng(seed)
    return Prior(
        rng.uniform(0.05, 1.0, n_signs + n_numbers),
        rng.uniform(0.05, 0.5, sum(sizes_of(alphabets))),
        1.3,
        0.7,
        0.2,
    )


def tables_of(kind, prior):
    alphabets = KINDS[kind][2]
    tables = PriorTables(prior, find_alike(alphabets))
    return tables.by_categorical()


def plain_parts(kind, prior, left, right):
    """Factors and lines of each column, (n_columns, n_left, n_right) arrays."""
    tau = prior.tau[:, None, None]
    pairs = left.inputs.T[:, :, None] * right.inputs.T[:, None, :]
    factors, lines = [*((1.0 + tau * pairs) / (1.0 + tau))], [*(tau * pairs)]
    for i, (factor, centered) in enumerate(tables_of(kind, prior)):
        places = np.ix_(left.categories[:, i], right.categories[:, i])
        factors.append(factor[places])
        lines.append(centered[places])
    return np.array(factors), np.array(lines)


def plain_covariance(kind, prior, left, right):
    factors, lines = plain_parts(kind, prior, left, right)
    product = np.prod(factors, axis=0)
    covariance = (
        prior.signal_variance * product + prior.main_effect_variance * lines.sum(axis=0)
    )
    return product, covariance + PRIOR.constant_variance


def plain_slope(kind, prior, rows, outer):
    """Gradient of ``sum(outer * covariance)``: whole matrices, column by column."""
    factors, lines = plain_parts(kind, prior, rows, rows)
    weighted = prior.signal_variance * outer * np.prod(factors, axis=0)
    fall = 1.0 - prior.tau**2
    slope = []
    for j, (tau, rate) in enumerate(zip(prior.tau, prior.ard_rates, strict=True)):
        pairs = np.multiply.outer(rows.inputs[:, j], rows.inputs[:, j])
        by_tau = pairs / (1.0 + tau * pairs) - 1.0 / (1.0 + tau)
        by_tau = np.sum(weighted * by_tau) + prior.main_effect_variance * np.sum(
            outer * pairs
        )
        slope.append(rate * fall[j] * by_tau)
    # Tables are differentiated by shifting each rate.
    step, n_inputs = 1e-5, len(prior.ard_rates)
    for k in range(len(prior.category_rates)):
        moved = []
        for shift in (step, -step):
            rates = prior.category_rates.copy()
            rates[k] *= np.exp(shift)
            moved.append(tables_of(kind, prior._replace(category_rates=rates)))
        total = 0.0
        for i, (up, down) in enumerate(zip(*moved, strict=True)):
            places = np.ix_(rows.categories[:, i], rows.categories[:, i])
            change = [(a - b)[places] for a, b in zip(up, down, strict=True)]
            total += np.sum(weighted * change[0] / factors[n_inputs + i])
            total += prior.main_effect_variance * np.sum(outer * change[1])
        slope.append(total / (2.0 * step))
    return [*slope, weighted.sum(), prior.main_effect_variance * np.sum(outer * lines)]


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_products_of_columns_are_those_of_numpy(kind, n_rows, dtype):
    rows, others = make_rows(kind, n_rows), make_rows(kind, 270, seed=1)
    prior, alphabets = make_prior(kind), KINDS[kind][2]
    for left, right in ((rows, rows), (rows, others), (others, rows)):
        pairs = GramMatrix(left, right, alphabets, dtype)
        product, covariance = plain_covariance(kind, prior, left, right)
        found = pairs.product(prior)
        assert found.dtype == dtype
        tolerance = TOLERANCES[dtype]
        assert_allclose(found, product, rtol=tolerance, atol=1e-30)
        assert_allclose(pairs.join(prior, found), covariance, atol=10 * tolerance)
        assert pairs.join(prior, found).dtype == dtype


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_slopes_of_columns_are_those_of_numpy(kind, n_rows, dtype):
    rows, prior = make_rows(kind, n_rows), make_prior(kind)
    # Only the sum with the transpose matters.
    outer = np.random.default_rng(1).standard_normal((n_rows, n_rows))
    pairs = GramMatrix(rows, rows, KINDS[kind][2], dtype)
    product = pairs.product(prior)
    expected = np.array(plain_slope(kind, prior, rows, outer))
    n_inputs, size = len(prior.ard_rates), np.abs(outer).sum()
    for given in (outer, outer.T, 0.5 * (outer + outer.T)):
        found = pairs.slope(prior, product, given.astype(dtype))
        # Finite differences have errors of their own.
        rates = np.r_[:n_inputs, -2, -1]
        atol = TOLERANCES[dtype] * size / 10
        assert_allclose(found[rates], expected[rates], atol=atol)
        assert_allclose(found, expected, atol=max(atol, 1e-9 * size))
