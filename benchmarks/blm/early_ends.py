"""Evaluations that end as soon as they cannot win any more: what they save.

The pendulum with all four numbers fed back to 5 units with weights of 16 bits, the same
fits with and without the exact early end: weights must be equal, and the time a third.
Where a fall ends a simulation, most hopeless ones are short without it too.
"""

import numpy as np

from benchmarks.shared import common, control, results
from benchmarks.shared.pendulum import TO_THE_END, Whole
from skmohn import BLMController
from skmohn.datasets import InvertedPendulum

# How many times as long fits take without early ends, at least.
GAIN = 3
# Name, search, rules of the pendulum.
ROWS = (
    ("gray, falls do not end", "gray", TO_THE_END),
    ("gray", "gray", {}),
    ("adaptive", "adaptive", {}),
)


def main():
    """Print the time of fits with and without early ends."""
    options = common.parse_options(__doc__, instances=4, quick_instances=1)
    common.warm_up()
    table = common.Table(
        "Seconds with and without early ends",
        "search fits same with without ratio",
        width=24,
    )
    for name, search, rules in ROWS:
        spent, same = {InvertedPendulum: 0.0, Whole: 0.0}, 0
        for seed in range(options.seed, options.seed + options.instances):
            codes = []
            for kind in spent:
                controller = BLMController((5,), search=search, max_evaluations=1000)
                controller.set_params(random_state=seed)
                spent[kind] += control.timed_fit(controller, kind(**rules))
                codes.append(controller.codes_)
            same += np.array_equal(*codes)
        early, late = spent.values()
        is_met = same == options.instances and late / early >= GAIN
        table.row(name, options.instances, same, early, late, late / early, met=is_met)
    table.close()


if __name__ == "__main__":
    results.record(main)
