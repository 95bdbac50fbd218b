"""Figure 18: the pendulum with position and angle alone.

A network that sees neither velocity needs a memory: its tanh units are recurrent. All
else is as in Figure 17. The paper shows one network, which keeps the pendulum up with
jittery forces. Its caption says 20 units and its text 10, so both are run here.

What is open in the paper, and chosen here, is as in Figures 16 and 17. Weights between
hidden units have the range of all others, and the memory is empty at each start.

Ours has a tenth of that range between hidden units, a curriculum of simulations from 2
to 100 s with goals, and restarts of runs that miss one; the search is adaptive.

**Unexplained:** how the published search learns this task with one range for all
weights: here it does not with either reading of a fall.
"""

from functools import partial

from benchmarks.shared import control, pendulum, results
from skmohn import BLMController

PUBLISHED = "2.28e-02"
SIZES = (10, 20)


def ours(units):
    """Return our controller."""
    return BLMController((units,), recurrent=True, validation_goal=4e-3, n_restarts=500)


def main():
    """Train by both algorithms; print and draw what comes of it."""
    objectives = control.curriculum("positions"), control.fresh("positions")
    cases = [
        pendulum.Case(
            f"{units} units: ", "positions", units, 16, partial(ours, units), objectives
        )
        for units in SIZES
    ]
    pendulum.print_figure(PUBLISHED, cases, 100.0)


if __name__ == "__main__":
    results.record(main)
