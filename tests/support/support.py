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


def all_states(n):
    """All states of n units, 0 or 1; that of the first changes fastest."""
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.float64)
