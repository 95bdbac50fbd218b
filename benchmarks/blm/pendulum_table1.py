"""Table I of Brunato and Battiti (2017): single runs on the position-only pendulum.

Recurrent layers of 5, 10, 20 and 40 units, 30 runs each without restarts, through the
curriculum of the other scripts with 10 evaluations for each weight in each stage. The
error is that on 50 fresh starts of 1000 s. Beside them what the paper reports; its best
is .023, in 13 of 30 runs below .1 with 20 units.
"""

from statistics import median

import numpy as np

from benchmarks.shared import common, control
from skmohn import BLMController
from skmohn.blm._network import Layout

# Units: least error, first quartile, runs below .1, median seconds.
PUBLISHED = {
    5: ("1.205", "1.205", "0/30", "42"),
    10: ("0.023", "0.130", "7/30", "97"),
    20: ("0.037", "0.052", "13/30", "222"),
    40: ("0.028", "0.382", "4/30", "568"),
}
GOOD = 0.1
# Evaluations in each stage, at most, as multiples of the number of weights.
PER_WEIGHT = 10


def main():
    """Print one row for each number of units."""
    options = common.parse_options(__doc__, instances=30, quick_instances=4)
    common.warm_up()
    table = common.Table(
        f"Position-only pendulum, {options.instances} runs each, and S4's",
        "units least quartile below_.1 seconds S4:least quartile below_.1 seconds",
        width=6,
    )
    for units, published in PUBLISHED.items():
        errors, times = [], []
        for seed in range(options.seed, options.seed + options.instances):
            controller = BLMController((units,), recurrent=True, random_state=seed)
            limit = PER_WEIGHT * Layout((2, units, 1), recurrent=True).n_weights
            stages = control.curriculum("positions", limits=(limit,) * 4)
            times.append(control.timed_fit(controller, stages))
            errors.append(control.tested(controller.policy_, "positions", seed)[0])
        table.row(
            units,
            f"{min(errors):.4f}",
            f"{np.quantile(errors, 0.25):.4f}",
            f"{sum(error < GOOD for error in errors)}/{len(errors)}",
            median(times),
            *published,
        )
    table.close()


if __name__ == "__main__":
    main()
