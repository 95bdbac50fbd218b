"""
Directed evolution of a protein, in batches
===========================================

Which amino acids at four sites make a protein brightest, if the laboratory can make and
measure 24 variants a week? With twenty amino acids there are 160,000 variants. The
protein here is made up: each site has favorites, and in two pairs of sites it matters
which amino acids meet. Variants are proposed in batches, and measurements have noise.
"""

# %%
# The protein
# -----------

import matplotlib.pyplot as plt
import numpy as np

from skmohn.inspection import (
    ImportancesDisplay,
    OptimizationHistoryDisplay,
    ParallelCoordinatesDisplay,
)
from skmohn.optimize import BlackBoxOptimizer

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
SITES = ["39", "40", "41", "54"]
rng = np.random.default_rng(0)
own = rng.normal(size=(4, 20))
pairs = {(0, 2): rng.normal(size=(20, 20)), (1, 3): rng.normal(size=(20, 20))}
places = np.indices((20,) * 4).reshape(4, -1).T
brightness = sum(own[i][places[:, i]] for i in range(4))
brightness += sum(table[places[:, i], places[:, j]] for (i, j), table in pairs.items())


def measure(variant):
    """Brightness with the noise of an experiment."""
    place = [LETTERS.index(variant[site]) for site in SITES]
    return brightness[np.ravel_multi_index(place, (20,) * 4)] + rng.normal(scale=0.2)


# %%
# Ten weeks in the laboratory
# ---------------------------
#
# ``ask`` proposes the variants of the week; ``tell`` takes their measurements.

optimizer = BlackBoxOptimizer(
    {site: list(LETTERS) for site in SITES}, maximize=True, random_state=0
)
for _ in range(10):
    variants = optimizer.ask(24)
    optimizer.tell(variants, [measure(variant) for variant in variants])
result = optimizer.result()
place = [LETTERS.index(result.x[site]) for site in SITES]
true = brightness[np.ravel_multi_index(place, (20,) * 4)]
print(f"best variant: {''.join(result.x.values())}, brightness {true:.2f}")
print(f"variants that are brighter: {np.sum(brightness > true)} of {len(brightness)}")

# %%
# History of the search
# ---------------------
#
# Dots are measurements, colored by the source that proposed them.

OptimizationHistoryDisplay.from_result(result)
plt.show()

# %%
# Which sites matter, and what the best variants have in common
# -------------------------------------------------------------
#
# The dark part of a bar is what a site explains alone, according to the model; the pale
# part is what it explains together with others.

ImportancesDisplay.from_result(result)
plt.show()

# %%
# Each line is a variant, the best one in red.

ParallelCoordinatesDisplay.from_result(result, n_points=15)
plt.show()
