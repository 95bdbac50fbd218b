"""
Telescopic search: two spirals, bit by bit
==========================================

A telescopic search begins with the two highest bits of every weight and releases one
more bit at each local minimum. So it first models the large structure and then finer
and finer details: the maps below are those of the network at the end of each number of
bits, as in Figure 9 of Brunato and Battiti (2017).
"""

# %%
# A picture at every bit
# ----------------------
#
# A callback gets the network after each epoch. It stores the map of its outputs by the
# number of released bits.

import matplotlib.pyplot as plt
import numpy as np

from skmohn import BLMClassifier, SearchOptions
from skmohn.datasets import make_two_spirals

X, y = make_two_spirals(return_X_y=True)
side = np.linspace(-7, 7, 141)
grid = np.column_stack([axis.ravel() for axis in np.meshgrid(side, side)])


class MapOfEachBit:
    """Keeps the last map before a bit was added."""

    def __init__(self):
        self.maps = {}

    def setup(self, estimator, context):
        """Nothing has to be prepared."""

    def teardown(self, estimator, context):
        """Nothing has to be cleared away."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing happens before an epoch."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        """Keep the map that the network draws now."""
        if fitted_estimator is not None:
            bits = fitted_estimator.n_movable_bits_
            outputs = fitted_estimator.predict_proba(grid)[:, 1]
            self.maps[bits] = outputs.reshape(len(side), len(side))


maps = MapOfEachBit()
model = BLMClassifier(
    (20, 20),
    loss="squared",
    search_options=SearchOptions(telescopic="local_minimum", w_init=1.0),
    alpha=0,
    max_flips=4_000_000,
    n_iter_no_change=10_000,
    random_state=0,
)
model.set_callbacks(maps).fit(X, y)
print(f"{model.score(X, y):.0%} of the points are right: {model.stopping_reason_}")

# %%
# The maps
# --------

figure, panels = plt.subplots(3, 4, figsize=(10, 7.6), layout="constrained")
for axes in panels.flat:
    axes.axis("off")
for axes, (bits, values) in zip(panels.flat, sorted(maps.maps.items()), strict=False):
    axes.imshow(
        values,
        extent=(-7, 7, -7, 7),
        origin="lower",
        cmap="RdBu_r",
        vmin=0,
        vmax=1,
        interpolation="bicubic",
    )
    axes.scatter(*X.T, c=y, cmap="RdBu_r", s=5, edgecolors="white", linewidths=0.3)
    axes.set_title(f"{bits} bits")
figure.suptitle("Output of the network by the number of released bits")
plt.show()

# %%
# Error and effort
# ----------------
#
# The fraction of the neighborhood that is evaluated until a move improves rises as such
# moves become rare, and falls with each new bit, which makes the error fall again.

history = model.history_
flips = [record["flips"] for record in history]
figure, (left, right) = plt.subplots(2, 1, figsize=(8, 5), sharex=True)
left.semilogy(flips, [record["rmse"] for record in history], color="#2e6f95")
left.set_ylabel("RMSE")
right.semilogy(flips, [record["explored"] for record in history], color="#c8553d")
right.set(xlabel="moves tried", ylabel="fraction of moves\ntried per success")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
figure.suptitle("Error and effort while bits are added")
figure.tight_layout()
plt.show()
