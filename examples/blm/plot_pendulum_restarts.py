"""
Restarts of a search for controllers
====================================

Networks whose inputs are positions alone balance a pendulum on a cart if their memory
replaces the velocities. A search for their weights often ends in a poor local minimum;
the remedy is to restart it. This is Figure 19 of Brunato and Battiti (2017): the best
error found in training beside the error in tests that are ten times as long.
"""

# %%
# Thirty searches
# ---------------
#
# Each goes through stages of 2, 5, 15 and 100 simulated seconds. One that misses a goal
# ends there, after a fraction of a second. The weights that do best in other
# simulations of 100 s are kept.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skmohn import BLMController
from skmohn.blm import Stage
from skmohn.datasets import InvertedPendulum


def task(duration, n_simulations, transient=1.0, starts="grid"):
    """Simulations in which the inputs are positions alone."""
    return InvertedPendulum(
        "positions", n_simulations, duration, transient=transient, starts=starts
    )


stages = [
    Stage(task(2.0, 16, transient=0.0), goal=0.1),
    Stage(task(5.0, 16, transient=0.0), goal=0.1),
    Stage(task(15.0, 32), goal=0.02),
    Stage(task(100.0, 16), goal=0.003),
]
validation, tested, falls = [], [], []
for seed in range(30):
    controller = BLMController(
        (10,), recurrent=True, max_evaluations=300, random_state=seed
    )
    with warnings.catch_warnings():
        # Most of them do not reach the last goal.
        warnings.simplefilter("ignore", ConvergenceWarning)
        controller.fit(stages, task(100.0, 50, starts="random"))
    errors, times = task(100.0, 50).test(controller.policy_, random_state=seed)
    validation.append(controller.loss_)
    tested.append(errors.mean())
    falls.append(np.isfinite(times).any())

# %%
# Errors in validation and in longer tests
# ----------------------------------------
#
# Most searches miss a goal early; their networks fall at once, all of them with the
# same error in the upper right corner. There is little between the good and the bad: a
# network that lets the cart drift has more time to do so in the longer test.

validation, tested, falls = (np.array(part) for part in (validation, tested, falls))
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
for fell, color, marker, label in (
    (False, "#2e6f95", "o", "stands for 1000 s in all tests"),
    (True, "#c8553d", "x", "falls"),
):
    axes.loglog(
        validation[falls == fell],
        tested[falls == fell],
        marker,
        color=color,
        label=label,
    )
ends = [5e-4, 10]
axes.plot(ends, ends, color="#333333", lw=0.8, ls=":")
axes.set(
    xlabel="best validation error, 100 s",
    ylabel="test error, 1000 s",
    xlim=ends,
    ylim=ends,
    title="Thirty searches: some good ends, many bad ones",
)
axes.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()
print(f"{np.sum(tested < 0.1)} of 30 searches end with a test error below 0.1")
