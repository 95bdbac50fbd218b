"""Whether numeric columns need levels beside their lines: the evidence says."""

from dataclasses import replace

import numpy as np

from skmohn._core._fitting import one_blas_thread
from skmohn.mohn._dense.evidence import Evidence, join_equal_rows, learn_prior
from skmohn.mohn._table.rows import Rows, standardise

# Rows that are asked; where a line does not do, they tell by tens of nats.
_ROWS_ASKED = 400
# Nats that the evidence must gain: weights of lines and levels say less each.
_LEAST_GAIN = 5.0


@one_blas_thread
def levels_pay(rows, alphabets, n_levels, y, sample_weight, seed):
    """Whether all weights explain a part of the rows better with levels than without.

    Parameters
    ----------
    rows : Rows
        With the categories of levels behind those of other categoricals.

    alphabets : tuple of Alphabet
        Of all categoricals.

    n_levels : int
        How many of the categoricals are levels.

    y : ndarray of shape (n_rows,)

    sample_weight : ndarray of shape (n_rows,) or None

    seed : int
        Draws the rows.

    Returns
    -------
    pay : bool
    """
    y, _, _ = standardise(y, sample_weight)
    sample = join_equal_rows(rows, y, sample_weight)
    drawn = np.random.default_rng(seed).permutation(len(sample))[:_ROWS_ASKED]
    sample = sample.take(drawn)
    n_others = len(alphabets) - n_levels
    plain = Rows(sample.rows.inputs, sample.rows.categories[:, :n_others])
    lines = _evidence(replace(sample, rows=plain), alphabets[:n_others])
    return _evidence(sample, alphabets) > lines + _LEAST_GAIN


def _evidence(sample, alphabets):
    """Log evidence at the best hyper-parameters."""
    prior = learn_prior(sample, alphabets).prior
    return Evidence(sample, alphabets).value(prior)
