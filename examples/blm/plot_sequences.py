"""
Time series prediction with a recurrent network
===============================================

The Mackey-Glass equation describes a quantity whose growth depends on its value some
time ago, which makes it chaotic. The input of a recurrent network is one value at a
time; it predicts the value six steps later.
"""

# %%
# The series
# ----------
#
# Cut into pieces of 100 steps: each piece is a sequence, and the network starts it with
# all its hidden units at rest.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score

from skmohn import BLMRegressor

AHEAD, LENGTH, DELAY = 6, 100, 17

series = np.full(2000 + 300, 1.2)
for t in range(DELAY, len(series) - 1):
    delayed = series[t - DELAY]
    series[t + 1] = 0.9 * series[t] + 0.2 * delayed / (1 + delayed**10)
series = series[300:]

n_pieces = (len(series) - AHEAD) // LENGTH
X = series[: n_pieces * LENGTH].reshape(n_pieces, LENGTH, 1)
y = series[AHEAD : AHEAD + n_pieces * LENGTH].reshape(n_pieces, LENGTH)
X_train, X_test, y_train, y_test = X[:8], X[8:], y[:8], y[8:]

# %%
# With and without a memory
# -------------------------
#
# Both networks have eight hidden units and weights of twelve bits, and the same search.
# The first steps of a piece do not enter the scores: there is nothing to remember yet.

models = {
    "recurrent": BLMRegressor(
        (8,), recurrent="steps", alpha=0.01, max_flips=25_000, random_state=0
    ),
    "no memory": BLMRegressor((8,), alpha=0.01, random_state=0),
}
known = slice(DELAY, None)
found = {}
# The recurrent one would go on getting better.
warnings.simplefilter("ignore", ConvergenceWarning)
for name, model in models.items():
    if model.recurrent:
        found[name] = model.fit(X_train, y_train).predict(X_test)
    else:
        model.fit(X_train.reshape(-1, 1), y_train.ravel())
        found[name] = model.predict(X_test.reshape(-1, 1)).reshape(y_test.shape)
    score = r2_score(y_test[:, known].ravel(), found[name][:, known].ravel())
    print(f"{name}: R2 {score:.3f} on pieces that were not seen")

figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
axes.plot(y_test[:3].ravel(), color="#333333", lw=1, label="six steps later")
for (name, outputs), color in zip(found.items(), ("#2e6f95", "#c8553d"), strict=True):
    axes.plot(outputs[:3].ravel(), color=color, lw=1, label=name)
for edge in range(0, 3 * LENGTH, LENGTH):
    axes.axvline(edge, color="#b9b4a7", lw=0.8, ls=":")
axes.set(xlabel="step of three pieces", ylabel="value")
axes.spines[["top", "right"]].set_visible(False)
axes.set_title("Forecasts six steps ahead, of held-out pieces")
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()
