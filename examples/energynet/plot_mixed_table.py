"""
Anomalies and imputation in a table of mixed columns
====================================================

:class:`~skmohn.EnergyNetTransformer` learns the joint density of a table of numbers and
categories, missing values included. It then finds unusual rows, imputes missing values,
and draws new rows.
"""

# %%
# A table with missing values
# ---------------------------
#
# 442 people with diabetes: age, sex, body mass index, blood pressure and six values of
# blood serum. The sex is a category, and a tenth of all cells is unknown.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from skmohn import EnergyNetImputer, EnergyNetTransformer

people = load_diabetes(as_frame=True, scaled=False).data
people["sex"] = people["sex"].map({1: "female", 2: "male"})
rng = np.random.default_rng(0)
holes = rng.random(people.shape) < 0.1
table = people.mask(holes)
print(table.head().round(1).to_string())

# %%
# Unusual rows
# ------------
#
# Serum values are strongly correlated, so numbers are whitened. A person whose values
# are all common, but not in combination, has a low density: here the total cholesterol
# s1 of one in fifty people is swapped for that of another.

net = EnergyNetTransformer(whiten=True, random_state=0).fit(table)
swapped = people.copy()
odd = np.sort(rng.choice(len(people), len(people) // 50, replace=False))
swapped.loc[odd, "s1"] = people.loc[odd[::-1], "s1"].to_numpy()
density = net.score_samples(swapped)
print(
    "anomalies among the 20 least likely:", np.isin(odd, density.argsort()[:20]).sum()
)

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
points = axes.scatter(swapped["s1"], swapped["s2"], c=density, s=12, cmap="viridis")
axes.scatter(swapped["s1"][odd], swapped["s2"][odd], s=80, fc="none", ec="tab:red")
figure.colorbar(points, label="log density (nats)")
axes.set(
    xlabel="total cholesterol (s1)", ylabel="LDL (s2)", title="Swapped: red circles"
)
plt.show()

# %%
# Missing values
# --------------
#
# An imputer with the same kind of RBM fills the missing values with means, or with
# draws, whose spread shows the uncertainty.

imputer = EnergyNetImputer(random_state=0).set_output(transform="pandas").fit(table)
filled = imputer.transform(table)
draws = imputer.transformer_.impute(table, n_draws=50, random_state=0)

figure, panels = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for axes, name in zip(panels, ["s1", "bp"], strict=True):
    j = people.columns.get_loc(name)
    is_missing = holes[:, j]
    values = np.array([draw[is_missing, j].astype(float) for draw in draws])
    low, high = np.quantile(values, [0.05, 0.95], axis=0)
    truth, guess = people[name][is_missing], filled[name][is_missing].astype(float)
    axes.vlines(truth, low, high, color="tab:gray", lw=0.8, alpha=0.7)
    axes.scatter(truth, guess, s=14, zorder=2)
    axes.axline((truth.mean(), truth.mean()), slope=1, color="black", lw=0.8)
    held = np.mean((low <= truth) & (truth <= high))
    axes.set(xlabel=f"{name}, true", ylabel=f"{name}, filled")
    axes.set_title(f"90 % intervals hold {held:.0%}")
plt.show()

# %%
# Draws
# -----
#
# New rows have the types of the table and the same dependences among columns.

new = net.sample(442, random_state=0)
names = list(people.columns)
figure, panels = plt.subplots(1, 2, figsize=(8, 3.8), sharex=True, sharey=True)
for axes, rows, title in zip(
    panels, (people.to_numpy(), new), ("people", "draws"), strict=True
):
    for sex in ("female", "male"):
        of_sex = rows[rows[:, names.index("sex")] == sex]
        axes.scatter(
            of_sex[:, names.index("s3")].astype(float),
            of_sex[:, names.index("s5")].astype(float),
            s=8, label=sex,
        )  # fmt: skip
    axes.set(title=title, xlabel="HDL (s3)")
panels[0].set_ylabel("log of triglycerides (s5)")
panels[0].legend()
plt.show()
