"""
The best of a trillion settings, with a proof
=============================================

A function of 40 switches was measured 600 times, of a trillion settings. Which setting
is best? Learn the function, then search the model: that costs no measurement, and
``optimal`` is True if the answer is proved.
"""

# %%
# Learn the function
# ------------------
#
# The black box is a sum of ten traps. Each depends on four switches and is best when
# all are on, but any other setting of the four is the better the more of them are off.
# So small improvements lead away from the best setting.

import time

import matplotlib.pyplot as plt
import numpy as np

from skmohn import MOHNRegressor
from skmohn.datasets import make_mk_trap
from skmohn.optimize import maximize

trap = make_mk_trap(k=4, m=10, n_samples=600, shuffle=True, random_state=0)
model = MOHNRegressor().fit(trap.X, trap.y)
print(f"{len(model.terms_)} terms up to order {max(map(len, model.terms_))}")
print(model.stopping_reason_)

# %%
# Search the model
# ----------------
#
# ``maximize`` searches each group of interacting switches on its own.

started = time.perf_counter()
result = maximize(model, random_state=0)
print(f"found {result.fun:.0f} in {time.perf_counter() - started:.2f} s")
print(f"proved to be the best: {result.optimal}")
print(f"best of the 600 measured: {trap.y.max():.0f}")

# %%
# Beside hill climbing
# --------------------
#
# Hill climbing flips one switch at a time while that helps. It ignores the groups, and
# ends in the traps.


def climb(x):
    """Flip the best switch until none helps; return the value."""
    flips = np.where(np.eye(len(x)), -1, 1)
    value = model.predict(x[None])[0]
    while True:
        values = model.predict(x * flips)
        if values.max() <= value + 1e-9:
            return value
        value, x = values.max(), x * flips[values.argmax()]


rng = np.random.default_rng(0)
ends = [climb(start) for start in rng.choice([-1.0, 1.0], (200, 40))]

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
bins = np.arange(trap.y.min(), result.fun + 1.5) - 0.5
for values, color, label in (
    (trap.y, "#b9b4a7", "600 measured settings"),
    (ends, "#2e6f95", "ends of 200 hill climbs"),
    ([result.fun], "#c8553d", "found by maximize"),
):
    weights = np.full(len(values), 100 / len(values))
    axes.hist(values, bins, weights=weights, color=color, label=label, rwidth=0.85)
axes.set(
    xlabel="value of the function",
    ylabel="share (%)",
    title="Only the search by groups finds the best setting",
)
axes.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()
