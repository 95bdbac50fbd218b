"""Helpers of the tests of several folders."""

import contextlib
import tracemalloc

import numpy as np


class Callback:
    """A callback of scikit-learn's that does nothing, to be derived from."""

    def setup(self, estimator, context):
        """Nothing to set up."""

    def teardown(self, estimator, context):
        """Nothing to take down."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to begin."""


class StopAfter(Callback):
    """Ask to stop after some iterations; keep the shapes of features after each."""

    def __init__(self, n):
        self.n, self.shapes = n, []

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        if context.task_name == "iteration":
            self.shapes.append(fitted_estimator.transform(X).shape)
        return len(self.shapes) >= self.n


def replaced(values, index, value):
    """Copy numbers, but for one."""
    values = np.array(values, dtype=float)
    values[index] = value
    return values


def all_states(n):
    """All states of n units, 0 or 1; that of the first changes fastest."""
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.float64)


def all_points(n_variables):
    """Every row of -1 and +1."""
    shifts = np.arange(n_variables)[::-1]
    return 2 * (np.arange(2**n_variables)[:, None] >> shifts & 1) - 1


def multiply_columns(inputs, terms):
    """Products of columns, (n_samples, n_terms)."""
    columns = [inputs[:, list(term)].prod(axis=1) for term in terms]
    return np.stack(columns, axis=1).astype(float)


def random_terms(rng, n_columns, n_terms=4):
    """Sets of one to three columns, each once."""
    terms = {
        tuple(sorted(rng.permutation(n_columns)[: rng.integers(1, 4)].tolist()))
        for _ in range(n_terms)
    }
    return sorted(terms)


@contextlib.contextmanager
def traced_memory():
    """Yield a function of the most bytes that Python and numpy have held at once."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
