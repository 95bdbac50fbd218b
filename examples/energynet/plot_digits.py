"""
How many hidden units: an RBM that grows on digits
==================================================

:class:`~skmohn.EnergyNetTransformer` learns the distribution of images without labels
and finds by itself how many hidden units that takes.
"""

# %%
# Growth
# ------
#
# With ``growth="description_length"``, a layer has the fewest units that describe the
# data. Each costs half the logarithm of the number of samples for each parameter.
# A layer doubles while most of its units raise the log-likelihood by more than that,
# and then drops those that do not. With ``unit_cost=0.1`` units cost a tenth of it, and
# the layer becomes wider. The default growth uses held-out samples instead, and finds
# hundreds of units: better features, but too many to look at.

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from skmohn import EnergyNetTransformer
from skmohn.inspection import (
    DescriptionLengthDisplay,
    FiltersDisplay,
    GrowthDisplay,
    SamplesDisplay,
)

X = (load_digits().data > 6).astype(float)
net = EnergyNetTransformer("description_length", unit_cost=0.1, random_state=0).fit(X)
print("units:", net.n_components_per_layer_)
print("no more layers because", net.stopping_reason_)

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
GrowthDisplay.from_estimator(net, ax=axes)
axes.set_title("Units of the layers while they grow")
plt.show()

# %%
# Depth
# -----
#
# A further layer stays if it shortens the description of the data: minus the
# log-likelihood and the complexity together. The last one, a hollow dot, did not.

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
DescriptionLengthDisplay.from_estimator(net, ax=axes)
axes.set_title("Is one more layer worth it?")
plt.show()

# %%
# Filters
# -------
#
# The weights of a unit, as an image: red pixels switch it on, blue ones off. Most units
# detect pieces of strokes with no stroke beside them.

figure, axes = plt.subplots(figsize=(6, 6), layout="constrained")
FiltersDisplay.from_estimator(net, shape=(8, 8), ax=axes)
axes.set_title("What the units detect")
plt.show()

# %%
# Samples
# -------
#
# The model is one of whole images, so it can draw new ones. Their pixels are bits as
# those of the data; with ``probabilities=True`` the display shows how probable ink is.

figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
figure.get_layout_engine().set(wspace=0.08)
SamplesDisplay(X[:64].reshape(-1, 8, 8)).plot(ax=panels[0])
panels[0].set_title("digits")
for axes, probabilities in zip(panels[1:], (False, True), strict=True):
    SamplesDisplay.from_estimator(
        net, n_samples=64, probabilities=probabilities, random_state=0, ax=axes
    )
panels[1].set_title("samples")
panels[2].set_title("samples as probabilities")
plt.show()
