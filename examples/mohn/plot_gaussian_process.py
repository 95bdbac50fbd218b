"""
Gaussian process over all interactions
======================================

In many measured functions all interactions matter a little, those of high order less
than those of low order.
``MOHNRegressor(strategy="gp")`` keeps all :math:`2^n` weights, with a prior variance
that falls by a factor for each input that a weight connects. The factors are learned.
Every prediction then has a standard deviation, and every input a relevance.
"""

# %%
# A protein that folds or does not
# --------------------------------
#
# Thirteen sites have two amino acids each. Every site adds to the protein's energy, and
# so do some pairs: few weights. What is measured is the fraction of the molecules that
# are folded, a logistic function of the energy, which has weights of all orders. The
# noise has a fiftieth of the variance of the signal.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import r2_score

from skmohn import MOHNRegressor
from skmohn.datasets import make_sparse_walsh

N_SITES, SNR = 13, 50
COLORS = "#2e6f95", "#7a8450", "#c8553d"
energy = make_sparse_walsh(
    N_SITES,
    {1: N_SITES, 2: 10},
    n_samples=1,
    weight_distribution="gaussian",
    random_state=3,
)
variants = 1.0 - 2.0 * ((np.arange(2**N_SITES)[:, None] >> np.arange(N_SITES)) & 1)
energies = sum(
    weight * np.prod(variants[:, list(term)], axis=1)
    for term, weight in zip(energy.terms, energy.weights, strict=True)
)
folded = expit(3 * energies / energies.std())
rng = np.random.default_rng(0)
measured = folded + folded.std() / np.sqrt(SNR) * rng.standard_normal(len(folded))
order = rng.permutation(len(folded))

learners = {
    'MOHNRegressor("gp")': lambda: MOHNRegressor("gp"),
    'MOHNRegressor("pursuit")': lambda: MOHNRegressor("pursuit", random_state=0),
    "random forest": lambda: RandomForestRegressor(random_state=0),
}
sizes = [60, 120, 240, 480]
scores = {name: [] for name in learners}
for n_rows in sizes:
    train, rest = order[:n_rows], order[n_rows:]
    for name, make in learners.items():
        model = make().fit(variants[train], measured[train])
        scores[name].append(r2_score(folded[rest], model.predict(variants[rest])))

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, values), color in zip(scores.items(), COLORS, strict=True):
    axes.plot(sizes, values, "o-", color=color, label=name)
axes.set(
    xlabel=f"measured variants, of {len(folded):,}",
    ylabel="R2 on the true fraction, all others",
    ylim=(None, 1),
    title="Predictions from few measured variants",
)
axes.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# How sure is a prediction?
# -------------------------
#
# ``predict(X, return_std=True)`` gives the standard deviation of a new measurement. The
# intervals below should contain nine of ten.

n_rows = 240
train, rest = order[:n_rows], order[n_rows:]
model = MOHNRegressor("gp").fit(variants[train], measured[train])
mean, std = model.predict(variants[rest], return_std=True)
half = 1.645 * std
inside = np.abs(measured[rest] - mean) < half
print(f"90 % intervals contain {inside.mean():.1%} of {len(rest):,} measurements")

shown = np.argsort(mean[:60])
figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
axes.errorbar(
    range(60),
    mean[shown],
    half[shown],
    fmt="none",
    ecolor=COLORS[0],
    elinewidth=3,
    alpha=0.5,
    label="90 % interval",
)
for is_inside, color, name in ((True, "#333333", ""), (False, COLORS[2], "not ")):
    chosen = np.flatnonzero(inside[shown] == is_inside)
    axes.scatter(
        chosen,
        measured[rest][shown][chosen],
        color=color,
        s=14,
        zorder=3,
        label=f"measured, {name}in it",
    )
axes.set(xlabel="60 variants, by prediction", ylabel="fraction folded", xticks=[])
axes.set_title("Intervals of 60 held-out variants")
axes.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# Which sites matter?
# -------------------
#
# ``relevance_`` is the fraction of a weight's prior variance that is left when one more
# input joins: near 0, the site does nothing. The truth beside it is the fraction of the
# variance that the site takes part in, which here can be counted: all variants are
# known. ``terms_`` are the weights that are significant, and
# ``stopping_reason_`` has the proportion of the variance that they explain.

flipped = [np.arange(len(folded)) ^ (1 << site) for site in range(N_SITES)]
taking_part = [np.mean((folded - folded[f]) ** 2) / 4 / folded.var() for f in flipped]
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
panels[0].bar(range(N_SITES), model.relevance_, color=COLORS[0])
panels[0].set(title="relevance found", xlabel="site", ylabel="relevance")
panels[0].set_xticks(range(N_SITES))
panels[1].bar(range(N_SITES), taking_part, color="#b9b4a7")
panels[1].set(
    title="proportion of the variance, true", xlabel="site", ylabel="fraction"
)
panels[1].set_xticks(range(N_SITES))
for axes in panels:
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

print(model.stopping_reason_)
table = model.terms_table()
for row in range(5):
    print(
        f"{table['term'][row]:<10}{table['weight'][row]:>8.3f}"
        f" +- {table['standard_error'][row]:.3f}"
    )

# %%
# Any weight has an estimate, whether or not it is significant:

weight, error = model.weight_posterior([0, 1, 2])
truth = np.mean(folded * variants[:, 0] * variants[:, 1] * variants[:, 2])
print(f"sites 0, 1 and 2: {weight:.4f} +- {error:.4f}, in truth {truth:.4f}")

# %%
# Missing amino acids
# -------------------
#
# NaN is a missing value: the prediction is the mean over the amino acids that the site
# could have. Below, values are missing in training and test rows alike, so that the
# estimated noise contains their effects, and intervals keep their coverage. Boosting
# takes NaN, too, and learns the branch for it.

print("missing     R2   boosting   coverage of 90 % intervals")
for fraction in (0.0, 0.05, 0.2):
    seen = np.where(rng.random(variants.shape) < fraction, np.nan, variants)
    model = MOHNRegressor("gp").fit(seen[train], measured[train])
    boosting = HistGradientBoostingRegressor(random_state=0)
    boosting.fit(seen[train], measured[train])
    mean, std = model.predict(seen[rest], return_std=True)
    inside = np.abs(measured[rest] - mean) < 1.645 * std
    print(
        f"{fraction:>6.0%}{r2_score(folded[rest], mean):>8.3f}"
        f"{r2_score(folded[rest], boosting.predict(seen[rest])):>11.3f}"
        f"{inside.mean():>22.1%}"
    )
