"""
Effects, Sobol indices and reasons of a model
=============================================

A fitted :class:`~skmohn.MOHNRegressor` shows which factors interact, how much each of
them matters, why a prediction is what it is, and how far to trust all this. The data
are those of a simulated experiment.
"""

# %%
# An experiment with twelve factors
# ---------------------------------
#
# A process has twelve switches. Its yield depends on seven of them: two groups of
# interacting factors, and one factor alone. 200 settings of 4,096 were run.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skmohn import MOHNRegressor

FACTORS = [
    *("acid", "base", "salt", "heat", "light", "stir", "seed"),
    *("purge", "dry", "wash", "filter", "rest"),
]
rng = np.random.default_rng(0)
runs = pd.DataFrame(rng.integers(0, 2, (200, len(FACTORS))), columns=FACTORS)
sign = 2 * runs - 1
output = (
    50
    + 4 * sign["acid"] * sign["base"]
    + 2 * sign["salt"]
    - 3 * sign["acid"] * sign["base"] * sign["salt"]
    + 2.5 * sign["heat"] * sign["light"]
    + 1.5 * sign["light"] * sign["stir"]
    - 2 * sign["dry"]
    + rng.normal(scale=1.5, size=len(runs))
)
model = MOHNRegressor("pursuit", random_state=0).fit(runs, output)
model.terms_table().round(3)

# %%
# Acid and base matter only together, and much less where salt is added; neither has a
# main effect. In a notebook the model is displayed as a table:

model  # noqa: B018

# %%
# Which factors interact
# --------------------------
#
# ``interaction_graph_`` follows the weights. The function is a sum of three separate
# ones, and each group can be optimized on its own.

graph = model.interaction_graph_
for component in graph.components:
    print("together:", ", ".join(FACTORS[i] for i in component))
print("without a weight:", ", ".join(FACTORS[i] for i in graph.unused))
print("light interacts with:", [FACTORS[i] for i in graph.neighbors("light")])

# %%
# The heat map has a column for each weight, in the rows of the factors that it
# connects. Separate groups are separate blocks.

from skmohn.inspection import HypergraphDisplay, WeightsDisplay

display = WeightsDisplay.from_estimator(model)
display.ax_.set_title("Weights by the factors that they connect")
plt.show()

# %%
# As a network, a line is a weight of two factors and a square one of three or more.

display = HypergraphDisplay.from_estimator(model)
display.ax_.set_title("The factors as a network")
plt.show()

# %%
# How much each factor matters
# ----------------------------
#
# Sobol indices are proportions of the variance of the model over all settings. They are
# exact: nothing is sampled. Acid has hardly a first-order index, and a large total one.

indices = model.sobol_indices().set_index("feature")
indices = indices[indices["total"] > 0].sort_values("total")
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.barh(indices.index, indices["total"], color="#d8d4c8", label="total")
axes.barh(indices.index, indices["first_order"], color="#2e6f95", label="alone")
axes.set(xlabel="proportion of the variance", title="How much each factor matters")
axes.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()

# %%
# Why a prediction is what it is
# ------------------------------
#
# Contributions add up to the prediction. A term with a missing factor contributes
# nothing: the prediction is the mean over its values.

run = runs.iloc[0].astype(float)
run["stir"] = np.nan
explanation = model.explain(run)
print(f"sum: {explanation['contribution'].sum():.3f}")
explanation.round(3)

# %%
# Which terms to trust
# --------------------
#
# Standard errors are conditional on the terms. The stability of the terms themselves is
# the frequency with which a search on other rows selects them: those that it selects
# nearly every time are real.

from skmohn.inspection import selection_stability

stability = selection_stability(model, runs, output, n_resamples=20, random_state=0)
stability.head(9).round(3)

# %%
# How they were found
# -------------------
#
# ``history_`` has a record for each round. In the search of the papers, ``"msda"``,
# weights are learned, those that do not matter are removed, and the error rises by what
# they had explained.

from skmohn.datasets import make_ising
from skmohn.inspection import DiscoveryErrorDisplay, DiscoveryOrdersDisplay

glass = make_ising((8, 8), n_samples=2000, random_state=0)
search = MOHNRegressor("msda", "delta", early_stopping=True, random_state=0)
search.fit(glass.X, glass.y)
figure, panels = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
DiscoveryErrorDisplay.from_estimator(search, ax=panels[0])
DiscoveryOrdersDisplay.from_estimator(search, ax=panels[1])
panels[0].set_title("Errors, round by round")
panels[1].set_title("Weights, round by round")
plt.show()

# %%
# Other packages
# --------------
#
# ``skmohn.integrations`` converts a model: for dimod to a polynomial whose energies are
# the predictions, for networkx to a graph of variables and weights.

from skmohn.integrations import to_dimod, to_networkx

polynomial = to_dimod(model, "BINARY")
setting = runs.iloc[0].to_dict()
print(f"energy {polynomial.energy(setting):.6f}")
print(f"prediction {model.predict(runs[:1])[0]:.6f}")
print(to_networkx(model))
