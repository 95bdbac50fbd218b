"""
Feature selection in groups of pixels
=====================================

A classifier of handwritten digits has 64 pixels. If it may use six small blocks of four
pixels each, which should they be? What a block adds depends on the others, so
``MOHNFeatureSelector`` scores whole subsets, and learns from the scores which to try
next.
"""

# %%
# Six of sixteen blocks
# ---------------------
#
# Pixels of a block are selected together: they are groups of columns. The score is the
# accuracy in cross-validation, and 80 subsets of the 8008 are tried.

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from skmohn import MOHNFeatureSelector

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

pixels = np.arange(64).reshape(8, 8)
blocks = {
    f"row {i}, column {j}": pixels[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].ravel()
    for i in range(4)
    for j in range(4)
}
classifier = GaussianNB(var_smoothing=0.01)
selector = MOHNFeatureSelector(
    classifier,
    n_evaluations=80,
    n_features_to_select=24,
    feature_groups=blocks,
    cv=3,
    random_state=0,
)
selector.fit(X, y)
print(f"{len(selector.scores_)} subsets, best accuracy {selector.best_score_:.3f}")

# %%
# The selected pixels
# -------------------

support = selector.get_support().reshape(8, 8)
figure, axes = plt.subplots(2, 5, figsize=(7, 3.2), layout="constrained")
for digit in range(5):
    image = X_test[y_test == digit][0].reshape(8, 8)
    shown = axes[0, digit].imshow(image, cmap="gray_r", vmin=0, vmax=16)
    masked = np.where(support, image, np.nan)
    axes[1, digit].imshow(np.full((8, 8), 0.2), cmap="Blues", vmin=0, vmax=1)
    axes[1, digit].imshow(masked, cmap="gray_r", vmin=0, vmax=16)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("all pixels")
axes[1, 0].set_ylabel("six blocks")
figure.suptitle("Digits, and their selected pixels")
plt.show()

# %%
# Accuracy on held-out digits, in percent:

few, few_test = selector.transform(X), selector.transform(X_test)
print(f"24 pixels: {100 * classifier.fit(few, y).score(few_test, y_test):.1f}")
print(f"64 pixels: {100 * classifier.fit(X, y).score(X_test, y_test):.1f}")

# %%
# Which blocks interact?
# ----------------------
#
# The scores are a function of the blocks, and ``model_`` is its surrogate. The weight
# of a block is its average contribution. If the weight of a pair is negative, the two
# are redundant; if it is positive, each needs the other. The standard errors show how
# uncertain that is after so few subsets.

model = selector.model_
pairs = {pair: model.weight_posterior(pair) for pair in combinations(blocks, 2)}
strongest = sorted(pairs, key=lambda pair: -abs(pairs[pair][0]))[:4]
for pair in strongest:
    weight, error = pairs[pair]
    print(f"{' and '.join(pair)}: {weight:+.4f}, standard error {error:.4f}")

weights = np.array([model.weight_posterior([name])[0] for name in blocks])
frame = selector.scores_.to_frame()
random = frame[frame["source"] == "uniform"]["mean_score"]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.2), layout="constrained")
most = np.abs(weights).max()
image = left.imshow(
    weights.reshape(4, 4), cmap="RdBu_r", vmin=-most, vmax=most, extent=(0, 4, 4, 0)
)
chosen = np.argwhere(support[::2, ::2])
left.plot(chosen[:, 1] + 0.5, chosen[:, 0] + 0.5, "o", color="black", mfc="white")
left.set(title="Weight of each block; six selected", xticks=[], yticks=[])
figure.colorbar(image, ax=left, shrink=0.8)
right.plot(frame["iteration"], frame["mean_score"], ".", color="#b9b4a7", label="tried")
right.plot(
    frame["iteration"], frame["best_score"], color="#2e6f95", label="best so far"
)
right.axhline(random.mean(), color="#c8553d", ls="--", label="mean of random subsets")
right.set(xlabel="subsets scored", ylabel="accuracy", title="The search")
right.legend(frameon=False, loc="lower right")
right.spines[["top", "right"]].set_visible(False)
plt.show()
