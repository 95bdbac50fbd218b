"""
Structure discovery in a spin glass, round by round
===================================================

A spin glass of 10 x 10 spins has 200 couplings among 4,950 pairs, and among 2^100 sets
of spins that could interact. From 3,000 energies two searches find the 200 and nothing
else. This page follows them round by round, as Figures 2 and 3 of Swingler (2020) do
for the first of them.
"""

# %%
# Two searches
# ------------
#
# ``strategy="msda"`` is the papers' stochastic search: it draws new weights at random,
# learns them together with those it has, here by the lasso, and drops those that are
# zero. ``strategy="pursuit"`` compares all pairs and adds those that best explain the
# residuals. ``early_stopping=True`` holds out a tenth of the samples, so that both
# report a validation error.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt

from skmohn import MOHNRegressor
from skmohn.datasets import make_ising

glass = make_ising((10, 10), n_samples=3000, random_state=0)
options = {"early_stopping": True, "random_state": 0}
searches = {
    'strategy="msda"': MOHNRegressor("msda", **options),
    'strategy="pursuit"': MOHNRegressor("pursuit", **options),
}
for name, model in searches.items():
    model.fit(glass.X, glass.y)
    print(f"{name}: {model.n_iter_} rounds, {model.stopping_reason_}")
    print(f"  the true couplings and no others: {model.terms_ == glass.terms}")

# %%
# The error, round by round
# -------------------------
#
# ``history_`` has a record per round. While weights are missing, the validation error
# is above the training error; when the model is right, both are zero.

from skmohn.inspection import DiscoveryErrorDisplay, DiscoveryOrdersDisplay

figure, panels = plt.subplots(
    1, 2, figsize=(10, 3.8), layout="constrained", sharey=True
)
for axes, (name, model) in zip(panels, searches.items(), strict=True):
    DiscoveryErrorDisplay.from_estimator(model, ax=axes)
    axes.set_title(name)
figure.suptitle("Errors, round by round")
plt.show()

# %%
# The weights, round by round
# ---------------------------
#
# The stochastic search tries every order. It soon learns that pairs improve the fit;
# once they are nearly complete it tries other orders, and each false weight that it
# adds explains a little of the residuals. Every 15 rounds, rejected sets may be tried
# again. When the last true weight is found, all false discoveries are dropped at once.
# Pursuit has none. The dotted line is the true number.

figure, panels = plt.subplots(
    1, 2, figsize=(10, 3.8), layout="constrained", sharey=True
)
for axes, (name, model) in zip(panels, searches.items(), strict=True):
    DiscoveryOrdersDisplay.from_estimator(model, ax=axes)
    axes.axhline(len(glass.terms), color="#333333", linewidth=0.8, linestyle=":")
    axes.set_title(name)
figure.suptitle("Weights of each order, round by round")
plt.show()

# %%
# What was searched
# -----------------
#
# ``search_coverage_`` lists how much of each order was searched, and so what may have
# been missed.

for name, model in searches.items():
    print(name)
    for row in model.search_coverage_[:4]:
        print(
            f"  order {row['order']}: {row['possible']:,} sets, "
            f"{row['tried']:,} tried, "
            f"{row['kept']} kept"
        )

# %%
# **Reference**: K. Swingler, "Learning and searching pseudo-Boolean surrogate functions
# from small samples", Evolutionary Computation 28(2), 2020, section 4.2.1.
