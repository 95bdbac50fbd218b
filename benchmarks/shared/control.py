"""What the scripts about controllers share: tasks, tests, and peers on weights.

Peers search the same networks: they see the same compiled objective as a function of
the weights, without the incumbent, which they have no use for.
"""

import warnings

import numpy as np

from benchmarks.shared import common
from skmohn.blm import Stage, make_policy
from skmohn.blm._network import Layout
from skmohn.datasets import InvertedPendulum

# A net that has not fallen, on 50 fresh starts of 1000 simulated seconds.
SUCCESS = 0.05


def curriculum(
    observe, goal=0.003, limits=(200, 150, 200, 500), make=InvertedPendulum, **rules
):
    """Return stages of 2, 5, 10 and 100 simulated seconds.

    Parameters
    ----------
    observe : {"all", "positions"}
    goal : float
        Of the last stage.
    limits : tuple of int
        Most evaluations of each stage.
    make : callable
        Makes the pendulums, and gets further rules.
    """
    # Duration, goal, seconds that do not count.
    rows = [(2.0, 0.1, 0.0), (5.0, 0.1, 0.0), (10.0, 0.05, 1.0), (100.0, goal, 1.0)]
    return [
        Stage(make(observe, 8, duration, transient=silent, **rules), aim, most)
        for (duration, aim, silent), most in zip(rows, limits, strict=True)
    ]


def fresh(observe, max_start=0.4):
    """Return simulations of 1000 s from random starts, to choose weights by."""
    return InvertedPendulum(observe, 50, 1000.0, starts="random", max_start=max_start)


def tested(policy, observe, seed):
    """Return the mean error and the number of falls on fresh starts of 1000 s."""
    errors, falls = InvertedPendulum(observe).test(policy, random_state=10_000 + seed)
    return float(errors.mean()), int(np.isfinite(falls).sum())


def timed_fit(controller, *objectives):
    """Fit without warnings about goals; return the seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return common.timed(controller.fit, *objectives)[0]


class Black:
    """An objective as a function of weights alone.

    Parameters
    ----------
    objective : callable
        As :class:`skmohn.BLMController` takes it.
    sizes : tuple of int
    recurrent : bool
    seed : int
    """

    def __init__(self, objective, sizes, recurrent, seed=0):
        self.objective = objective
        self.layout = Layout(sizes, recurrent)
        weights = np.zeros(self.layout.n_weights)
        self.policy = make_policy(sizes, weights, recurrent=recurrent)
        self.seed = seed
        self.evaluations = 0

    def __call__(self, weights):
        """Return the loss of these weights."""
        self.evaluations += 1
        self.policy.weights[:] = weights
        loss = self.objective(self.policy, np.random.default_rng(self.seed), np.inf)
        # Peers compare by differences.
        return float(min(loss, 1e30)) if np.isfinite(loss) else 1e30
