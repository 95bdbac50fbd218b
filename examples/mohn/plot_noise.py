"""
Precision and recall of interactions in noisy data
==================================================

No parameter sets the noise: if no small model reproduces every sample, the estimator
chooses how many weights the data support. This page counts true and false interactions
as the number of samples grows.
"""

# %%
# Precision and recall
# --------------------
#
# A spin glass of 5 x 5 spins has 50 couplings of -1 or +1, and the noise has a tenth of
# the variance of the function. LassoCV gets all pairs as columns; a weight counts as
# found when it is not zero.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.preprocessing import PolynomialFeatures

from skmohn import MOHNRegressor
from skmohn.datasets import make_ising


def all_pairs_lasso(X, y):
    """Terms that LassoCV finds among all inputs and pairs."""
    expand = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    lasso = LassoCV().fit(expand.fit_transform(X), y)
    return [tuple(np.flatnonzero(row)) for row in expand.powers_[lasso.coef_ != 0]]


learners = {
    "pursuit": lambda X, y: MOHNRegressor("pursuit").fit(X, y).terms_,
    'pursuit, selection="cv"': (
        lambda X, y: MOHNRegressor("pursuit", selection="cv").fit(X, y).terms_
    ),
    "all pairs + LassoCV": all_pairs_lasso,
}
sizes = [150, 200, 250, 300, 400, 500]
precision = {name: [] for name in learners}
recall = {name: [] for name in learners}
for n_samples in sizes:
    glass = make_ising((5, 5), n_samples=n_samples, snr=10, random_state=1)
    for name, find_terms in learners.items():
        found = find_terms(glass.X, glass.y)
        right = len(set(found) & set(glass.terms))
        precision[name].append(right / max(len(found), 1))
        recall[name].append(right / len(glass.terms))

# %%
# The default is made for predictions. With few samples, these are best with shrunken
# weights of many sets, true ones and others, much like the lasso's, as
# ``stopping_reason_`` reports. With more samples it lists the true weights and hardly
# any others. If you want the structure rather than predictions, set ``selection="cv"``:
# with few samples it lists hardly any term.

figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
titles = (
    "precision: found weights that are true",
    "recall: true weights that are found",
)
for axes, title, values in zip(panels, titles, (precision, recall), strict=True):
    for name, color, style in zip(
        learners, ("#2e6f95", "#7a8450", "#c8553d"), ("o-", "s--", "^-"), strict=True
    ):
        axes.plot(sizes, values[name], style, color=color, label=name, clip_on=False)
    axes.set(title=title, xlabel="samples", ylim=(0, 1.05))
    axes.spines[["top", "right"]].set_visible(False)
handles, names = panels[0].get_legend_handles_labels()
figure.legend(handles, names, frameon=False, ncols=3, loc="outside lower center")
plt.show()

# %%
# Standard errors
# ---------------
#
# ``noise_std_`` estimates the standard deviation of the noise, and ``standard_errors_``
# that of each weight. Most weights lie within two standard errors of the truth.

model = MOHNRegressor("pursuit", selection="cv").fit(glass.X, glass.y)
print(model.stopping_reason_)
print(f"noise: {model.noise_std_:.2f} estimated, {glass.noise:.2f} in truth")
true = dict(zip(glass.terms, glass.weights, strict=True))
truth = np.array([true.get(term, 0.0) for term in model.terms_])
within = np.abs(model.weights_ - truth) < 2 * model.standard_errors_
print(f"within two standard errors: {within.mean():.0%}")
