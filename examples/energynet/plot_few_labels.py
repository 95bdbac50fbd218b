"""
Semi-supervised learning: few labels, many digits
=================================================

Labels are expensive, images are not. Features of a layer that has learned from many
images without labels improve a linear classifier that is trained with few labels.
"""

# %%
# A layer from images, a classifier from a few labels
# ---------------------------------------------------
#
# Of the digits, 1077 are used without labels, and 720 are held out for the test. A wide
# layer of given width has better features than one that grows by description length.
# Gray levels from 0 to 16 are encoded as thermometers: each visible unit means "at
# least this dark".

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from skmohn import EnergyNetTransformer

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=720, stratify=y, random_state=0
)
layer = EnergyNetTransformer(growth=None, n_components=200, random_state=0)
layer.fit(X_train)


def visible_units(X):
    """The thermometers without the layer."""
    return layer.coding_.encode(X)


inputs = {
    "pixels": (X_train / 16, X_test / 16),
    "thermometers": (visible_units(X_train), visible_units(X_test)),
    "hidden units": (layer.transform(X_train), layer.transform(X_test)),
}

# %%
# Ten draws of labels
# -------------------
#
# The same images get labels for all three.

n_draws, n_labels = 10, (10, 30)
accuracy = {}
for n in n_labels:
    for name, (Z_train, Z_test) in inputs.items():
        scores = []
        for draw in range(n_draws):
            labeled, _ = train_test_split(
                np.arange(len(y_train)),
                train_size=10 * n,
                stratify=y_train,
                random_state=draw,
            )
            classifier = LogisticRegression(max_iter=2000)
            classifier.fit(Z_train[labeled], y_train[labeled])
            scores.append(classifier.score(Z_test, y_test))
        accuracy[n, name] = np.array(scores)

for n in n_labels:
    gain = accuracy[n, "hidden units"] - accuracy[n, "pixels"]
    error = gain.std(ddof=1) / np.sqrt(n_draws)
    means = [f"{name} {accuracy[n, name].mean():.3f}" for name in inputs]
    print(f"{n} labels of each digit: {', '.join(means)}")
    print(f"    hidden units over pixels: {gain.mean():.3f} +- {error:.3f}")

# %%
# Each line is a draw, and the thick one their mean. On these small images the gain is
# one or two percentage points. Thermometers alone do not bring it: it comes from the
# dependences among pixels that the layer has learned.

figure, panels = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for axes, n in zip(panels, n_labels, strict=True):
    draws = np.array([accuracy[n, name] for name in inputs])
    axes.plot(list(inputs), draws, color="#b9b4a7", lw=0.8)
    axes.plot(list(inputs), draws.mean(axis=1), "o-", color="#2e6f95", lw=2.5)
    axes.set_title(f"{n} labels of each digit")
    axes.margins(x=0.2)
    axes.spines[["top", "right"]].set_visible(False)
figure.suptitle("Accuracy with few labels, by the inputs of the classifier")
panels[0].set_ylabel("accuracy on 720 held-out digits")
plt.show()
