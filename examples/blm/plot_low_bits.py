"""
Neural networks with weights of two to four bits
================================================

A network whose weights have two bits takes a sixteenth of the memory of one in single
precision. Rounding a trained network to so few bits destroys it; a search on the bits
themselves finds weights that work together.
"""

# %%
# The same network, trained in three ways
# ---------------------------------------
#
# Handwritten digits, 20 hidden units: trained by gradients in double precision, the
# same weights rounded afterwards, and weights found by flipping bits.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmohn import BLMClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.6, stratify=y, random_state=0
)
float_model = make_pipeline(
    StandardScaler(), MLPClassifier((20,), alpha=1.0, max_iter=1000, random_state=0)
)
float_model.fit(X_train, y_train)
float_score = float_model.score(X_test, y_test)


def rounded_score(n_bits):
    """Accuracy when each layer's weights are rounded to a grid of its own."""
    scaler, mlp = float_model
    exact = mlp.coefs_, mlp.intercepts_
    layers = []
    for coef, intercept in zip(*exact, strict=True):
        top = 2 ** (n_bits - 1) - 1
        step = max(np.abs(coef).max(), np.abs(intercept).max()) / top
        layers.append([np.rint(part / step) * step for part in (coef, intercept)])
    mlp.coefs_, mlp.intercepts_ = map(list, zip(*layers, strict=True))
    score = mlp.score(scaler.transform(X_test), y_test)
    mlp.coefs_, mlp.intercepts_ = exact
    return score


bits = [2, 3, 4, 8]
rounded = [rounded_score(n_bits) for n_bits in bits]
found, n_bytes = [], []
for n_bits in bits:
    model = BLMClassifier(n_bits=n_bits, random_state=0).fit(X_train, y_train)
    found.append(model.score(X_test, y_test))
    n_bytes.append(len(model.to_packed()))

# %%
# Accuracy by bits
# ----------------

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
exact = {"color": "#333333", "lw": 0.9, "ls": ":"}
axes.axhline(float_score, label="64-bit floats, by gradients", **exact)
axes.plot(bits, found, "o-", color="#2e6f95", label="BLMClassifier")
axes.plot(bits, rounded, "s--", color="#c8553d", label="floats, rounded afterwards")
axes.set(xlabel="bits of a weight", ylabel="accuracy on held-out digits", xticks=bits)
axes.spines[["top", "right"]].set_visible(False)
axes.set_title("Accuracy by the number of bits")
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# On disk
# -------
#
# ``to_packed`` writes the weights at just so many bits, behind what is needed to
# predict: here mostly the means and scales of the 64 inputs, which ``single=True``
# would halve.

for n_bits, size in zip(bits, n_bytes, strict=True):
    print(f"{n_bits} bits: {size:5} bytes in all")
