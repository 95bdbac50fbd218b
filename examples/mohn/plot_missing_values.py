"""
Predictions with missing values
===============================

NaN is a missing value. No imputer is needed: a missing input is coded as
0, halfway between -1 and +1, and because the model is a sum of products the prediction
is then exactly the mean over all values the input could have.
"""

# %%
# The mean over all completions
# -----------------------------
#
# The function below is learned exactly. Then two of twelve values of an input are
# hidden, and the prediction is compared with the mean of the four ways to fill them in.

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from skmohn import MOHNRegressor
from skmohn.datasets import make_sparse_walsh

problem = make_sparse_walsh(
    12, {1: 6, 2: 8, 3: 4}, heredity=None, n_samples=2500, random_state=0
)
X, y = problem.X[:500], problem.y[:500]
X_test, y_test = problem.X[500:], problem.y[500:]
model = MOHNRegressor().fit(X, y)
print("exact:", model.terms_ == problem.terms)

hidden = [2, 7]
row = X_test[:1].copy()
row[:, hidden] = np.nan
completions = np.repeat(row, 4, axis=0)
completions[:, hidden] = list(product([-1, 1], repeat=2))
print("prediction with two values hidden:", model.predict(row))
print("mean over the four completions:   ", model.predict(completions).mean())

# %%
# Error by the fraction of missing values
# ---------------------------------------
#
# No prediction from the other values has a smaller squared error than that mean, if the
# values are independent and uniform. A forest that was trained on complete rows, with
# the most frequent values for missing ones, has larger errors.

forest = make_pipeline(
    SimpleImputer(strategy="most_frequent"), RandomForestRegressor(random_state=0)
)
forest.fit(X, y)
rng = np.random.default_rng(0)
fractions = np.linspace(0, 0.6, 7)
errors = {"MOHNRegressor": [], "imputer + random forest": []}
for fraction in fractions:
    X_hidden = np.where(rng.random(X_test.shape) < fraction, np.nan, X_test)
    for name, learner in zip(errors, (model, forest), strict=True):
        residual = learner.predict(X_hidden) - y_test
        errors[name].append(np.sqrt(np.mean(residual**2)) / y_test.std())

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, values), color in zip(errors.items(), ("#2e6f95", "#c8553d"), strict=True):
    axes.plot(fractions, values, "o-", color=color, label=name)
mean = {"color": "#333333", "linewidth": 0.8, "linestyle": ":"}
axes.axhline(1, label="always the mean", **mean)
axes.set(
    xlabel="fraction of the test values that are hidden",
    ylabel="error / standard deviation of y",
    ylim=(0, None),
    title="Errors grow with the fraction of unknown values",
)
axes.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# Missing values in the training data
# -----------------------------------
#
# They are allowed, too. Such a row is a sample of the function averaged over the
# missing inputs; their contribution acts as noise.

for fraction in (0.0, 0.02, 0.05):
    X_missing = np.where(rng.random(X.shape) < fraction, np.nan, X)
    learner = MOHNRegressor(random_state=0).fit(X_missing, y)
    right = len(set(learner.terms_) & set(problem.terms))
    print(
        f"{fraction:.0%} hidden: {right} of {len(problem.terms)} weights found, "
        f"{len(learner.terms_) - right} false, R2 {learner.score(X_test, y_test):.3f}"
    )
