"""Posterior means of all weights, written out as sums of products."""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from skmohn.mohn._design.products import ProductSum
from skmohn.mohn._gp.pairs import Member, PairVariances
from skmohn.mohn._gp.weight_prior import Covariance, parity
from skmohn.mohn._models import PRIOR
from skmohn.mohn._table.rows import Categorical, EncodedRows


def write_products(
    covariance: Covariance, rows: EncodedRows, alpha: NDArray[np.float64]
) -> ProductSum:
    """Write out the mean: products of training rows and strong terms, and lines."""
    # Rows have the factors ``(1 + tau x_i x) / (1 + tau)`` for their ``x_i``, and for a
    # category those of the product prior; strong terms have ``x_i``.
    tau, linear = covariance.prior.tau, covariance.prior.main_effect_variance
    strong = covariance.terms
    weights = [
        variance * (parity(rows.inputs, term) @ alpha)
        for term, variance in zip(strong, covariance.variances, strict=True)
    ]
    paired = [
        written for pair in covariance.pairs for written in _write(pair, rows, alpha)
    ]
    columns = tau[:, None] * rows.inputs.T
    low, high = np.ones((2, len(tau), len(alpha) + len(strong) + len(paired)))
    low[:, : len(alpha)] = (1.0 - columns) / (1.0 + tau[:, None])
    high[:, : len(alpha)] = (1.0 + columns) / (1.0 + tau[:, None])
    for k, term in enumerate(strong, len(alpha)):
        low[list(term), k] = -1.0
    tables, steps = [], []
    for of_rows, (factors, centered) in zip(
        rows.categories.T, covariance.tables, strict=True
    ):
        # The last place of a table is the mean of all.
        tables.append(np.ones((len(factors) - 1, low.shape[1])))
        tables[-1][:, : len(alpha)] = factors[:-1, of_rows]
        steps.append(linear * (centered[:-1, of_rows] @ alpha))
    for k, factors_of in enumerate(paired, len(alpha) + len(strong)):
        for member, factor in factors_of:
            if member.size:
                tables[member.number][:, k] = factor
            else:
                low[member.number, k] = -1.0
    ones = np.ones(len(paired))
    return ProductSum(
        np.concatenate([covariance.prior.signal_variance * alpha, weights, ones]),
        low,
        high,
        tables,
        linear * (columns @ alpha),
        steps,
        PRIOR.constant_variance * float(alpha.sum()),
    )


def _write(
    pair: PairVariances, rows: EncodedRows, alpha: NDArray[np.float64]
) -> list[list[tuple[Member, NDArray[np.float64]]]]:
    """Write out the part of a pair: factors of both members in each product."""
    (first, second), joint = pair.members, pair.joint(rows, alpha)
    if not first.size:
        return [[(first, np.ones(1)), (second, second.table @ joint[0])]]
    # A product for each category of the first.
    by_category = first.table[:-1] @ joint @ second.table.T
    alphabet = cast(Categorical, first.alphabet)
    indicators = np.column_stack([np.eye(first.size), alphabet.probability])
    return [
        [(first, indicator), (second, factor)]
        for indicator, factor in zip(indicators, by_category, strict=True)
    ]
