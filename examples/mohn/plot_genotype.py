"""
Epistasis in a fluorescent protein
==================================

Which mutations make a protein bright, and which only together? Thirteen sites of a
fluorescent protein have two amino acids each, and Poelwijk, Socolich and Ranganathan
(2019) measured all 8192 variants.
"""

# %%
# A twentieth of the variants
# ---------------------------

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from skmohn import MOHNClassifier, MOHNRegressor, MOHNTransformer
from skmohn.datasets import load_fluorescence

COLORS = "#2e6f95", "#c8553d", "#b9b4a7"
protein = load_fluorescence()
variants, brightness = 2 * protein.X - 1, protein.y
X, X_rest, y, y_rest = train_test_split(
    variants, brightness, train_size=410, random_state=0
)
print(f"{len(X)} of {len(variants)} variants")

# %%
# Columns for the interactions that matter
# ----------------------------------------
#
# A linear model needs the interactions as columns. ``PolynomialFeatures`` builds all of
# them, ``MOHNTransformer`` selects those that matter, of any order. ``RidgeCV`` learns
# from either; ``MOHNRegressor`` chooses a Gaussian process, in which all weights matter
# a little.


def all_up_to(order):
    """Return a builder of all products up to an order."""
    return PolynomialFeatures(order, interaction_only=True, include_bias=False)


penalties = np.logspace(-3, 4, 15)
learners = {
    "sites alone": RidgeCV(penalties),
    "all pairs": make_pipeline(all_up_to(2), RidgeCV(penalties)),
    "all triples": make_pipeline(all_up_to(3), RidgeCV(penalties)),
    "MOHNTransformer": make_pipeline(
        MOHNTransformer(random_state=0), RidgeCV(penalties)
    ),
}
scores, n_columns = {}, {}
for name, learner in learners.items():
    learner.fit(X, y)
    scores[name] = r2_score(y_rest, learner.predict(X_rest))
    last = learner[-1] if hasattr(learner, "steps") else learner
    n_columns[name] = len(last.coef_)
model = MOHNRegressor(random_state=0).fit(X, y)
scores["MOHNRegressor"] = r2_score(y_rest, model.predict(X_rest))

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
names = list(scores)
bars = axes.barh(names, scores.values(), color=[COLORS[2]] * 3 + [COLORS[0]] * 2)
labels = [
    f"{scores[name]:.3f}"
    + (f", {n_columns[name]} columns" if name in n_columns else ", all weights")
    for name in names
]
axes.bar_label(bars, labels, padding=4)
axes.set(xlabel="R2 on the other variants", xlim=(0, 1.35), xticks=[0, 0.5, 1])
axes.set_title("Brightness from a twentieth of the variants")
axes.invert_yaxis()
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Which sites interact?
# ---------------------
#
# The columns have names. The map shows the selected pairs, and the proportion of the
# variance of their weights.

features = learners["MOHNTransformer"][0]
weights = learners["MOHNTransformer"][1].coef_
names = features.get_feature_names_out(protein.feature_names)
for j in np.argsort(-np.abs(weights))[:6]:
    print(f"{names[j]:<30}{weights[j]:>8.3f}")

shares = np.zeros((13, 13))
for term, weight in zip(features.terms_, weights, strict=True):
    if len(term) <= 2:
        i, j = term[0], term[-1]
        shares[i, j] = shares[j, i] = weight**2 / np.var(y)
figure, axes = plt.subplots(figsize=(5.4, 4.6), layout="constrained")
image = axes.imshow(np.sqrt(shares), cmap="Blues")
axes.set(xticks=range(13), yticks=range(13), xlabel="site", ylabel="site")
axes.set_title("Sites, and pairs of sites, that matter")
axes.set_xticklabels(range(1, 14))
axes.set_yticklabels(range(1, 14))
figure.colorbar(image, label="root of the proportion of the variance")
plt.show()

# %%
# Bright or dark?
# ---------------
#
# Often all that is known of a variant is whether it works. ``MOHNClassifier`` combines
# models of all interactions with one of the few that matter. The log loss measures the
# quality of its probabilities; lower is better.

is_bright = brightness > np.quantile(brightness, 0.7)
train, rest = train_test_split(np.arange(len(variants)), train_size=410, random_state=0)
ours = MOHNClassifier(random_state=0).fit(variants[train], is_bright[train])
pairs = make_pipeline(
    all_up_to(2),
    LogisticRegressionCV(
        l1_ratios=(0,),
        scoring="neg_log_loss",
        use_legacy_attributes=False,
        max_iter=1000,
    ),
).fit(variants[train], is_bright[train])
for name, classifier in (("MOHNClassifier", ours), ("all pairs", pairs)):
    accuracy = accuracy_score(is_bright[rest], classifier.predict(variants[rest]))
    loss = log_loss(is_bright[rest], classifier.predict_proba(variants[rest]))
    print(f"{name:<16}accuracy {accuracy:.3f}, log loss {loss:.3f}")
print(
    "weights of the ensemble:",
    {name: round(v, 2) for name, v in ours.ensemble_weights_.items()},
)
