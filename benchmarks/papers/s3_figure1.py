"""Figure 1: a network before and after a layer is added.

The paper draws a network with two inputs and one output at time t and at time t + 1,
with one layer of units more. Connections to the output are dotted, since there are none
while layers grow. It has no data and no numbers.

Here the same drawing is of a real fit: eight pixels of scikit-learn's digits as inputs,
layers by Algorithm 1 with a learning rate of 0.3, batches of one and Gamma = 0.9, which
keep the picture small. A line is the darker, the larger the weight is.

**Unexplained:** nothing; the paper's drawing has no numbers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from benchmarks.shared import energynet, results
from benchmarks.shared.report import Report, mean_sd
from skmohn import EnergyNetTransformer

PIXELS = slice(18, 26)
ROWS = 200


def main():
    """Grow two layers, and draw the network with one of them and with both."""
    report = Report(instances=10, quick_instances=1)
    X = (load_digits().data[:ROWS, PIXELS] > 6).astype(float)
    tried, nets = {}, []
    for seed in report.options.seeds:
        nets.append(grow(X, seed))
        ends = [record for record in nets[-1].history_ if record["stage"] == "layer"]
        for k, end in enumerate(ends, start=1):
            found = {name: end[name] for name in ("units", "description_length")}
            tried.setdefault(k, []).append(found)
            report.run(f"layer {k}", seed, **found, stays=k <= len(nets[-1].weights_))
    report.table(
        ("layer", "runs", "units", "description length", "stays"),
        (
            (
                k,
                len(found),
                mean_sd([one["units"] for one in found]),
                mean_sd([one["description_length"] for one in found]),
                f"{sum(k <= len(net.weights_) for net in nets)} of {len(nets)}",
            )
            for k, found in tried.items()
        ),
    )
    # The first that has both layers, as the paper's.
    net = max(nets, key=lambda net: len(net.weights_))
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
    for n_layers, ax in enumerate(axes, start=1):
        draw(ax, net.weights_[:n_layers])
    axes[0].set_title("time t")
    axes[1].set_title("time t + 1")
    report.picture(
        figure,
        "networks",
        "Two networks with inputs below and an output above, the second with "
        "one more row of units",
    )


def grow(X, seed):
    """Grow up to two layers by Algorithm 1."""
    net = EnergyNetTransformer(
        "infinite_rbm",
        max_layers=2,
        learning_rate=0.3,
        batch_size=1,
        n_final_epochs=0,
        random_state=seed,
    ).set_params(infinite_rbm_options__threshold=0.9)
    return energynet.fitted(net, X)[0]


def draw(ax, weights):
    """Draw units as rows of dots from the inputs up, and an output without weights."""
    rows = [places(weights[0].shape[1]), *(places(len(layer)) for layer in weights)]
    for height, layer in enumerate(weights):
        strength = np.abs(layer) / np.abs(layer).max()
        for j, i in np.ndindex(layer.shape):
            ends = rows[height][i], rows[height + 1][j]
            line = {"color": "black", "alpha": float(strength[j, i]), "lw": 0.8}
            ax.plot(ends, (height, height + 1), zorder=1, **line)
    top = len(weights)
    for place in rows[-1]:
        ax.plot((place, 0.5), (top, top + 1), ":", color="gray", lw=0.8, zorder=1)
    for height, row in enumerate([*rows, [0.5]]):
        color = "white" if height > top else f"C{height}"
        dots = {"s": 60, "zorder": 2, "color": color, "edgecolor": "black"}
        ax.scatter(row, np.full(len(row), height), **dots)
    names = ["inputs", *(f"layer {k + 1}" for k in range(top)), "output"]
    ax.set_yticks(range(top + 2), names)
    ax.set(xticks=[], xlim=(0, 1))
    ax.spines[:].set_visible(False)


def places(n_units):
    """Spread units over the width of the picture."""
    return (np.arange(n_units) + 0.5) / n_units


if __name__ == "__main__":
    results.record(main)
