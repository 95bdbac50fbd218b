"""
Prediction intervals by the pinball loss
========================================

The search needs no gradient, so any loss will do. The pinball loss has its minimum at a
quantile: two networks, one for the 5 % and one for the 95 % quantile, enclose nine of
ten new observations, also where the noise depends on the input.
"""

import matplotlib.pyplot as plt
import numpy as np

from skmohn import BLMRegressor

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, (1200, 1))
noise = 0.1 + 0.25 * np.abs(X[:, 0])
y = np.sin(2 * X[:, 0]) + noise * rng.standard_normal(len(X))
X_train, y_train, X_test, y_test = X[:600], y[:600], X[600:], y[600:]

bounds = {
    quantile: BLMRegressor(
        (10,), loss="pinball", quantile=quantile, alpha=0.3, random_state=0
    ).fit(X_train, y_train)
    for quantile in (0.05, 0.5, 0.95)
}
low, high = bounds[0.05].predict(X_test), bounds[0.95].predict(X_test)
print(f"{np.mean((low <= y_test) & (y_test <= high)):.1%} of the new points are inside")

# %%
# The interval follows the noise
# ------------------------------

line = np.linspace(-3, 3, 300)[:, None]
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
axes.scatter(X_test, y_test, s=6, color="#b9b4a7", label="new observations")
axes.fill_between(
    line[:, 0],
    bounds[0.05].predict(line),
    bounds[0.95].predict(line),
    color="#2e6f95",
    alpha=0.25,
    label="5 % to 95 %",
)
axes.plot(line, bounds[0.5].predict(line), color="#2e6f95", label="median")
axes.plot(line, np.sin(2 * line), color="#c8553d", lw=1, ls="--", label="without noise")
axes.spines[["top", "right"]].set_visible(False)
axes.set(xlabel="x", ylabel="y", title="The 90 % interval is wide where noise is large")
figure.legend(loc="outside lower center", ncols=4, frameon=False)
plt.show()
