"""
Fractional factorial design: effects and the next runs
======================================================

Six settings of a process are varied at two levels each. All combinations would be 64
runs; a quarter of them, a fractional factorial, is 16. What can 16 runs tell you about
interactions, and which runs should come next?
"""

# %%
# The design
# ----------
#
# Four settings take all 16 combinations. The other two follow from generators:
# ``speed = temperature x pressure x time`` and ``acid = pressure x time x catalyst``.

import warnings
from collections import defaultdict
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import halfnorm
from sklearn.exceptions import ConvergenceWarning

from skmohn import MOHNRegressor, MOHNTransformer

COLORS = "#2e6f95", "#c8553d", "#b9b4a7"
LOW = {"temperature": 160, "pressure": 1.0, "time": 20, "catalyst": 0.5}
HIGH = {"temperature": 180, "pressure": 1.5, "time": 40, "catalyst": 1.0}
LOW |= {"speed": 100, "acid": 2}
HIGH |= {"speed": 200, "acid": 4}
NAMES = list(LOW)


def settings(signs):
    """Return runs as a table of settings."""
    low, high = (np.array(list(ends.values())) for ends in (LOW, HIGH))
    return pd.DataFrame(np.where(signs > 0, high, low), columns=NAMES)


base = np.array(list(product([-1, 1], repeat=4)))
speed = base[:, 0] * base[:, 1] * base[:, 2]
acid = base[:, 1] * base[:, 2] * base[:, 3]
signs = np.column_stack([base, speed, acid])
runs = settings(signs)
print(runs.head())

# %%
# Aliases of the design
# ---------------------
#
# Products whose columns are equal are aliases. ``MOHNTransformer("full", 2)`` builds
# the columns of all settings and pairs by name.

columns = MOHNTransformer("full", max_order=2, target_type="continuous")
columns.set_output(transform="pandas")
built = columns.fit_transform(runs, np.arange(16.0))
aliases = defaultdict(list)
for name in built:
    column = built[name].to_numpy()
    aliases[tuple(column * column[0])].append(name)
for group in aliases.values():
    if len(group) > 1:
        print("  =  ".join(group))

# %%
# No setting is the alias of a pair, but pairs are aliases of one another.
#
# The effects
# -----------
#
# The yield of the process is made up here: temperature, catalyst and a pair of them
# matter. The runs have an error of 0.5. Sixteen runs are few for a search, which warns.

warnings.simplefilter("ignore", ConvergenceWarning)
rng = np.random.default_rng(2)


def measure(signs):
    """Return the yield of runs."""
    temperature, catalyst = signs[:, 0], signs[:, 3]
    value = 60 + 4 * temperature + 2.5 * catalyst + 3 * temperature * catalyst
    return value + rng.normal(0, 0.5, len(signs))


first = measure(signs)
model = MOHNRegressor("pursuit", max_order=2, selection="ebic").fit(runs, first)
print(model.stopping_reason_)
print(model.terms_table().round(2).to_string(index=False))

# %%
# Weights are half of what the field calls effects: the yield moves by twice the weight
# from the low to the high level. The picture has the 13 columns of settings and pairs
# that differ, against quantiles of normal noise (Daniel, 1959): effects far from the
# line are real.

effects = {
    group[0]: np.mean(first * np.array(column)) * 2 for column, group in aliases.items()
}
order = sorted(effects, key=lambda name: abs(effects[name]))
values = np.abs([effects[name] for name in order])
quantiles = (np.arange(len(order)) + 0.5) / len(order)
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
expected = halfnorm.ppf(quantiles)
found = {" x ".join(NAMES[i] for i in term) for term in model.terms_}
is_found = np.array([name in found for name in order])
for chosen, color in ((is_found, COLORS[1]), (~is_found, COLORS[2])):
    axes.scatter(expected[chosen], values[chosen], color=color, zorder=3)
for x, y, name in zip(expected, values, order, strict=True):
    if name in found:
        label = " = ".join(next(g for g in aliases.values() if g[0] == name))
        axes.annotate(label, (x, y), (-6, 4), textcoords="offset points", ha="right")
axes.set(xlabel="half-normal quantile", ylabel="size of the effect", ylim=(0, None))
axes.set_title("Half-normal plot of the effects")
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The runs to follow
# ------------------
#
# One effect has two names: is it temperature with catalyst, or speed with acid? Sixteen
# more runs with the sign of one setting changed tell them apart.

flipped = signs * np.where(np.array(NAMES) == "acid", -1, 1)
both = np.vstack([signs, flipped])
second = np.concatenate([first, measure(flipped)])
model = MOHNRegressor("pursuit", max_order=2, selection="ebic")
model.fit(settings(both), second)
print(model.terms_table().round(2).to_string(index=False))
