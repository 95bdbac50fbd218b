"""
Performance tuning of a configurable program
============================================

A video encoder has switches, and some of them interact. How long does it take with each
setting, and which is the fastest, if you can only measure a few? If the folder named by
``SKMOHN_DATA`` has the measurements of x264 by Siegmund et al. (2012), this page uses
them; otherwise it generates a similar system, with independent switches, a choice of
one of three, and a few interacting pairs.
"""

# %%
# The measurements
# ----------------

import csv
import os
import warnings
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_absolute_percentage_error
from sklearn.pipeline import make_pipeline

from skmohn import MOHNRegressor, MOHNTransformer
from skmohn.inspection import OptimizationHistoryDisplay
from skmohn.optimize import minimize, minimize_black_box

COLORS = "#2e6f95", "#c8553d", "#b9b4a7", "#7a8450"
path = Path(os.environ.get("SKMOHN_DATA", ".")) / "config_x264.csv"


def measured():
    """Return configurations of 0 and 1, seconds, and names of the columns."""
    if path.exists():
        with open(path, newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        table = np.array(rows, dtype=float)
        return table[:, :-1], table[:, -1], header[:-1]
    names = ["no_asm", "no_8x8dct", "no_cabac", "no_deblock", "no_fast_pskip"]
    names += ["no_mbtree", "no_mixed_refs", "no_weightb"]
    names += ["rc_lookahead_20", "rc_lookahead_40", "rc_lookahead_60"]
    switches = np.array(list(product([0.0, 1.0], repeat=8)))
    choices = np.tile(np.eye(3), (len(switches), 1))
    X = np.hstack([np.repeat(switches, 3, axis=0), choices])
    x = dict(zip(names, X.T, strict=True))
    seconds = 300 + 260 * x["no_asm"] - 40 * x["no_cabac"] - 30 * x["no_deblock"]
    seconds += 12 * x["no_mbtree"] * (x["rc_lookahead_60"] - x["rc_lookahead_20"])
    seconds += 25 * x["no_asm"] * x["no_deblock"] - 18 * x["no_asm"] * x["no_cabac"]
    seconds -= 22 * x["no_mixed_refs"]
    noise = np.random.default_rng(0).normal(0, 2.0, len(X))
    return X, seconds + noise, names


X, seconds, names = measured()
print(f"{len(X)} configurations of {X.shape[1]} columns")

# %%
# How many must be measured?
# --------------------------
#
# The mean relative error on the other configurations, of
# ``MOHNRegressor``, of ridge regression on the columns that ``MOHNTransformer`` builds,
# and of a random forest. With few rows, the search warns that they are few.

warnings.simplefilter("ignore", ConvergenceWarning)
learners = {
    "MOHNRegressor": lambda: MOHNRegressor(random_state=0),
    "MOHNTransformer + RidgeCV": lambda: make_pipeline(
        MOHNTransformer(random_state=0), RidgeCV(np.logspace(-4, 2, 13))
    ),
    "random forest": lambda: RandomForestRegressor(random_state=0),
}
sizes = [20, 40, 80, 160]
errors = {name: [] for name in learners}
for n_rows in sizes:
    found = {name: [] for name in learners}
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(X))
        train, rest = order[:n_rows], order[n_rows:]
        for name, make in learners.items():
            model = make().fit(X[train], seconds[train])
            predicted = model.predict(X[rest])
            error = mean_absolute_percentage_error(seconds[rest], predicted)
            found[name].append(100 * error)
    for name in learners:
        errors[name].append(np.mean(found[name]))

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, values), color in zip(errors.items(), COLORS, strict=False):
    axes.plot(sizes, values, "o-", color=color, label=name)
axes.set(xlabel="configurations measured", ylabel="error (%)", ylim=(0, None))
axes.set_title("Error on other configurations")
axes.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# What takes the time?
# --------------------
#
# A weight is the change of the time, up or down from the middle, by a switch or by two
# together. Red is slower when a switch is on or, of a pair, when both are equal.
# Columns of a choice of one of several are collinear, as ``stopping_reason_`` reports:
# other weights would fit as well.

order = np.random.default_rng(0).permutation(len(X))
train = order[:160]
model = MOHNRegressor("pursuit", random_state=0).fit(X[train], seconds[train])
print(model.stopping_reason_)
table = model.terms_table()
n_shown = min(10, len(model.terms_))
shown = [
    " x ".join(names[i] for i in model.terms_[j])
    for j in np.argsort(-np.abs(model.weights_))[:n_shown]
]
strongest = np.sort(np.abs(model.weights_))[::-1][:n_shown]
signs = np.sign(model.weights_[np.argsort(-np.abs(model.weights_))[:n_shown]])

figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
axes.barh(
    shown,
    2 * strongest,
    color=[COLORS[1] if sign > 0 else COLORS[0] for sign in signs],
)
axes.set_xscale("log")
axes.set(
    xlabel="effect (s)", title="What takes the time: slower in red, faster in blue"
)
axes.invert_yaxis()
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The fastest configuration
# -------------------------
#
# Searching the model costs no measurement. Columns that must keep their values, such as
# the choice of one of three, are fixed: here at those of the fastest one measured so
# far.

best = train[np.argmin(seconds[train])]
counts = X.sum(axis=0)
choices = [j for j in range(X.shape[1]) if counts[j] != len(X) / 2]
found = minimize(model, fixed={j: X[best, j] for j in choices}, random_state=0)
same = np.flatnonzero((found.x == X).all(axis=1))
print(f"fastest of {len(train)} measured: {seconds[best]:.0f} s")
print(f"found: {found.fun:.0f} s predicted", end="")
print(f", {seconds[same[0]]:.0f} s measured" if len(same) else ", never measured")
print(f"fastest of all: {seconds.min():.0f} s")

# %%
# Fewer measurements
# ------------------
#
# If you only need the fastest configuration, let the search choose what to measure. The
# table lists the valid configurations; their times are measured one by one.

time_of = {tuple(row): second for row, second in zip(X, seconds, strict=True)}
result = minimize_black_box(
    lambda row: time_of[tuple(row)], X, n_evaluations=60, noise=0, random_state=0
)
print(f"found: {result.fun:.0f} s, with {result.nfev} measurements")

OptimizationHistoryDisplay.from_result(result)
plt.show()
