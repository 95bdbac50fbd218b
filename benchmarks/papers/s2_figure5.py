"""Figure 5: the interactions of a 5-trap function, seen in a heat map.

The paper shows the weights of two 5-traps side by side, as a matrix of variables, after
the stochastic search has learned them: each trap is a block, and nothing joins the two.
It leaves the number of samples open; 400 are drawn here. A cell has the sum of the
absolute weights of all terms that join two variables, the diagonal has each variable's
own weight.

**Unexplained:** nothing: the blocks are those of the paper. Its number of samples is
not printed.
"""

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.shared import common, results
from benchmarks.shared.report import Report, mean_sd
from skmohn import MOHNRegressor
from skmohn.datasets import make_mk_trap

SAMPLES = 400


def main():
    """Learn the function by both searches, and draw what joins its variables."""
    report = Report(instances=10, quick_instances=1, paper={"instances": 1})
    seeds, rows, joined = report.options.seeds, [], {}
    for name, strategy in {"published search": "msda", "default": "auto"}.items():
        exact, n_terms = [], []
        for seed in seeds:
            data = make_mk_trap(5, 2, n_samples=SAMPLES, random_state=seed)
            model = MOHNRegressor(strategy, random_state=seed)
            common.timed_fit(model, data.X, data.y)
            exact.append(common.is_exact(model, data))
            n_terms.append(len(model.terms_))
            report.run(name, seed, exact=exact[-1], terms=n_terms[-1])
            joined.setdefault(name, joint_weights(model, data.X.shape[1]))
        rows.append((name, f"{sum(exact)} of {len(seeds)}", mean_sd(n_terms)))
    report.table(("search", "exact", "terms"), rows)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for ax, (name, matrix) in zip(axes, joined.items(), strict=True):
        image = ax.imshow(matrix, cmap="viridis", vmin=0.0)
        ax.set(title=name, xlabel="variable", ylabel="variable")
        figure.colorbar(image, ax=ax, label="sum of absolute weights")
    report.picture(
        figure, "blocks", "Two heat maps, each with two square blocks, zero elsewhere"
    )


def joint_weights(model, n_features):
    """Sum the absolute weights of the terms that hold both variables of each pair."""
    matrix = np.zeros((n_features, n_features))
    for term, weight in zip(model.terms_, np.abs(model.weights_), strict=True):
        if len(term) == 1:
            matrix[term[0], term[0]] = weight
        for i in term:
            for j in term:
                if i != j:
                    matrix[i, j] += weight
    return matrix


if __name__ == "__main__":
    results.record(main)
