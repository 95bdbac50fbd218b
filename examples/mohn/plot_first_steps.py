"""
First steps: from a table to the best recipe
============================================

A bakery has tried twelve ways to change its bread. Which changes help, which only help
together, and which recipe should it bake tomorrow? This page goes from a table to that
decision: fit, check, read, search.
"""

# %%
# The table
# ---------
#
# Each row is a loaf and each column a change, 1 where it was made. ``height`` is what
# came out of the oven, in millimeters. Your own table would come from
# ``pd.read_csv("trials.csv")``; this one is made up, so that the answer is known: dry
# yeast costs height unless the dough rests overnight, and steam helps in a hot oven
# only.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score

from skmohn import MOHNRegressor
from skmohn.optimize import maximize

CHANGES = [
    *("dry_yeast", "overnight_rest", "hot_oven", "steam", "coarse_flour", "late_salt"),
    *("tepid_water", "machine", "long_tin", "oil", "malt", "late_cut"),
]
rng = np.random.default_rng(0)


def bake(recipes):
    """Return the heights of loaves, each with an error of three millimeters."""
    height = 90.0 - 14.0 * recipes["dry_yeast"] * (1 - recipes["overnight_rest"])
    height += 12.0 * recipes["hot_oven"] * recipes["steam"]
    height -= 6.0 * recipes["coarse_flour"]
    return (height + rng.normal(0, 3, len(recipes))).round(1)


trials = pd.DataFrame(rng.integers(0, 2, (150, len(CHANGES))), columns=CHANGES)
height = bake(trials).rename("height")
trials.join(height).iloc[:5, [0, 1, 2, 3, -1]]

# %%
# Fit and check
# -------------
#
# Cross-validation measures how well the model predicts new loaves: an R2 of 1 would be
# perfect, 0 no better than the mean.

model = MOHNRegressor(random_state=0)
scores = cross_val_score(model, trials, height, cv=5)
print(f"R2 on new loaves: {scores.mean():.2f} +- {scores.std() / 5**0.5:.2f}")

# %%
# Read the model
# --------------
#
# One row for each term. A term with several columns is an interaction: its columns
# matter together. Nothing else is significant.

model.fit(trials, height)
table = model.terms_table()
table[["term", "weight", "standard_error", "variance_share"]].round(2)

# %%
# Means of the trials show the same: dry yeast costs height after a short rest, and
# steam helps in a hot oven.

pairs = ("overnight_rest", "dry_yeast"), ("hot_oven", "steam")
figure, panels = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", sharey=True)
for axes, (first, second) in zip(panels, pairs, strict=True):
    for value, color in ((0, "#2e6f95"), (1, "#c8553d")):
        groups = height[trials[second] == value].groupby(trials[first])
        style = {"marker": "o", "capsize": 4, "color": color}
        style["label"] = f"{second} = {value}"
        axes.errorbar([0, 1], groups.mean(), groups.sem(), **style)
    axes.set(xlabel=first, xticks=[0, 1], xlim=(-0.3, 1.3))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, frameon=False)
panels[0].set_ylabel("mean height (mm)")
figure.suptitle("Mean height of loaves by two changes at a time")
plt.show()

# %%
# Decide
# ------
#
# ``maximize`` finds the best of all 4,096 recipes by the model; ``fixed={}`` means that
# every column can be set. Only columns with a weight are shown: the others do not
# matter.

best = maximize(model, fixed={}, random_state=0)
recipe = pd.DataFrame([best.x], columns=CHANGES)
matters = sorted({i for term in model.terms_ for i in term})
print(recipe.iloc[0, matters].astype(int).to_string())

mean, std = model.predict(recipe, return_std=True)
print(f"\npredicted: {mean[0]:.0f} mm, give or take {1.645 * std[0]:.0f} (90 %)")
baked = bake(pd.concat([recipe] * 20))
print(f"twenty loaves by this recipe: {baked.mean():.0f} mm on average")
print(f"the 150 trials: {height.mean():.0f} mm on average")
