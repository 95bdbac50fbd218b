"""Helpers of the tests of several folders."""

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
