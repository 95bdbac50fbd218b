"""
A small table: numbers, categories and missing values
=====================================================

A data frame of patients is used as it is. The results are predictions with intervals,
the columns and interactions that matter, and calibrated probabilities.
"""

# %%
# The table
# ---------
#
# 442 patients with diabetes: age, sex, measurements, and the progression of the disease
# in a year. The sex is a category, and one value in ten is missing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skmohn import MOHNClassifier, MOHNRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
rng = np.random.default_rng(0)
X = X.mask(rng.random(X.shape) < 0.1)
numbers = X.copy()
X["sex"] = X["sex"].map({1.0: "f", 2.0: "m"}).astype("category")
print(X.head(4))

# %%
# Predictions with intervals
# --------------------------
#
# The defaults need no tuning. A new patient lies within the 90 % interval nine times
# out of ten, and intervals are wider where more values are missing.

train, test = train_test_split(np.arange(len(X)), test_size=0.4, random_state=0)
model = MOHNRegressor(random_state=0).fit(X.iloc[train], y.iloc[train])
mean, std = model.predict(X.iloc[test], return_std=True)
half = 1.645 * std
within = np.mean(np.abs(y.iloc[test] - mean) < half)
print(f"R2 {r2_score(y.iloc[test], mean):.2f}, within the intervals {within:.0%}")

order = np.argsort(mean)
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
places = np.arange(len(order))
low, high = (mean - half)[order], (mean + half)[order]
axes.fill_between(places, low, high, color="#dbe6ee", label="90 % interval")
axes.plot(places, mean[order], color="#2e6f95", label="prediction")
axes.plot(places, y.iloc[test].to_numpy()[order], ".", color="#c8553d", label="patient")
axes.set(xlabel="patients, by prediction", ylabel="progression")
axes.legend(frameon=False, loc="upper left")
plt.show()

# %%
# What matters
# ------------
#
# Sobol indices: the proportion of the variance of the model that each column explains
# alone (first order), and with all interactions it takes part in (total).

indices = model.sobol_indices().sort_values("total")
figure, axes = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
axes.barh(indices["feature"], indices["total"], color="#dbe6ee", label="total")
axes.barh(indices["feature"], indices["first_order"], color="#2e6f95", label="alone")
axes.set(xlabel="proportion of the variance")
axes.legend(frameon=False, loc="lower right")
plt.show()

# %%
# Probabilities
# -------------
#
# Who is among the worse half? ``MOHNClassifier`` learns that from the same table. The
# curve of calibrated probabilities is the diagonal; a low log loss means that they are
# also informative.

is_worse = y > y.median()
classifiers = {
    "MOHNClassifier": MOHNClassifier(random_state=0),
    "forest": make_pipeline(SimpleImputer(), RandomForestClassifier(random_state=0)),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}
figure, axes = plt.subplots(figsize=(4.8, 4.2), layout="constrained")
axes.plot([0, 1], [0, 1], color="#b9b4a7", lw=1)
for name, classifier in classifiers.items():
    table = X if name == "MOHNClassifier" else numbers
    classifier.fit(table.iloc[train], is_worse.iloc[train])
    chance = classifier.predict_proba(table.iloc[test])[:, 1]
    loss = log_loss(is_worse.iloc[test], chance)
    observed, predicted = calibration_curve(is_worse.iloc[test], chance, n_bins=6)
    axes.plot(predicted, observed, ".-", label=f"{name}, log loss {loss:.2f}")
axes.set(xlabel="predicted probability", ylabel="observed frequency")
axes.legend(frameon=False, loc="upper left")
plt.show()
print(classifiers["MOHNClassifier"].stopping_reason_)
