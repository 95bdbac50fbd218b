"""Table 1: a searched network and the architecture that is found.

The paper searches a network by 30 candidates of Gaussian-process bandits, over learning
rates from 0.0001 to 0.5, batches of 16, 32, 64 or 128 and ReLU units, and grows one
with at most 10 layers, learning rate 0.01, beta 1.01, dual norm 2 and Gamma 0.1 (MNIST
0.8), which is then trained and tuned over the same ranges. Data are MNIST, CIFAR-10,
german and diabetes.

It leaves open what Algorithm 1 and Equation 7 in this report try, the batch size above
all; the splits and the versions of the tables; the layers and widths that are searched;
the optimizer; and what candidates are judged on. Chosen here: layers that grow on
columns scaled to [0, 1], by contrastive divergence of one step and until gamma is at
Gamma, where the total log-likelihood counts; five stratified folds, drawn twice, of
german (24 numbers) and diabetes (pima), with one to three searched layers of 16 to 64
units; the first images of MNIST and of a sample of CIFAR-10, with up to 2048 units a
layer; standardized inputs, Adam with early stopping, candidates judged by accuracy on a
fifth of the training rows. The tuner, `gp_minimize` of scikit-optimize with expected
improvement, gets equally many candidates for all that are tuned. Ours is
`EnergyNetClassifier`, untuned as scikit-learn's MLP is; the 3072 colors of CIFAR-10
enter as numbers (`coding="minmax"`), not by their levels.

Accuracies and widths have standard deviations, over folds of tables and over seeds on
images; parameters and seconds are medians, with all the search in them. The published
accuracies are those of other rows and splits. On german and diabetes they lie far above
all that is reached here, the searched network included, and on images they were learned
from many times as many rows, so that models can be compared within these rows only.

**Unexplained:** the published accuracies on german and diabetes, above all that is
reached here, the searched network included. The splits and the versions of the tables
are not printed.
"""

from itertools import islice
from statistics import median

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import bandits, common, energynet, results
from benchmarks.shared.report import Report, mean_sd
from skmohn import EnergyNetClassifier, EnergyNetTransformer

# Architecture and accuracy of the searched network, then of EnergyNet.
PUBLISHED = {
    "german": (((16, 32), 0.8677, 0.010), ((122,), 0.8851, 0.0079)),
    "diabetes": (((32, 16), 0.8433, 0.011), ((184,), 0.8593, 0.0078)),
    "mnist": (((2048, 512, 1024), 0.9862, 0.0003), ((1525, 239), 0.9873, 0.0002)),
    "cifar-10": (((256, 1024), 0.6024, 0.0031), ((101, 257), 0.5856, 0.0011)),
}
LARGEST = {"german": 64, "diabetes": 64, "mnist": 2048, "cifar-10": 2048}
N_TEST = 2000
# By default, and with --quick: CIFAR-10 is no matter of a minute.
DEFAULTS = {
    "sets": ([*PUBLISHED], ["german", "diabetes", "mnist"]),
    "candidates": (30, 4),
    "image_candidates": (None, 4),
    "batches": ([1, 10, 32], [1]),
    "rows": (None, 500),
    "largest": (2048, 128),
}


def main():
    """Print a table for each data set."""
    report = Report(
        instances=10,
        quick_instances=1,
        paper={"instances": 1, "sets": [*PUBLISHED], "candidates": 30, "rows": 50_000},
        defaults=DEFAULTS,
        add_arguments=_add_arguments,
    )
    options = report.options
    for name in options.sets:
        if name in energynet.IMAGES:
            options.candidates = options.image_candidates or options.candidates
            options.batches = options.image_batches or options.batches
        folds = list(splits(report, name))
        n_train = len(folds[0][0])
        report.text(
            f"**{name}**: {n_train} training rows, {options.candidates} candidates, "
            f"{len(folds)} run{'s' * (len(folds) > 1)}, searched layers of up to "
            f"{min(LARGEST[name], options.largest)} units."
        )
        columns = "model", "layers", "accuracy", "parameters", "seconds"
        report.table(columns, rows(name, folds, report))


def rows(name, folds, report):
    """Yield the rows of a table, the published ones first."""
    for label, published in zip(("DNN", "EnergyNet"), PUBLISHED[name], strict=True):
        layers, accuracy, error = published
        yield (
            *(f"published {label}", energynet.as_layers(layers)),
            *(f"{accuracy:.4f} ± {error:.2g} (of the mean)", None, None),
        )
    for label, fit in models(name, report.options).items():
        found = []
        for seed, (X, y, X_test, y_test) in zip(
            report.options.seeds, folds, strict=True
        ):
            seconds, (model, mlp) = common.timed(fit, X, y, seed)
            found.append(
                {
                    "accuracy": float((model.predict(X_test) == y_test).mean()),
                    "layers": [int(n) for n in np.atleast_1d(mlp.hidden_layer_sizes)],
                    "parameters": n_parameters(mlp),
                    "seconds": seconds,
                }
            )
            report.run(f"{name}: {label}", seed, **found[-1])
        yield (
            label,
            layers_of([run["layers"] for run in found]),
            mean_sd([run["accuracy"] for run in found], 4),
            *(median(run[key] for run in found) for key in ("parameters", "seconds")),
        )


def layers_of(runs):
    """Write mean and standard deviation of the widths of each layer, and how often."""
    text = []
    for depth in range(max(map(len, runs))):
        widths = [layers[depth] for layers in runs if len(layers) > depth]
        often = f" in {len(widths)} of {len(runs)}" * (len(widths) < len(runs))
        text.append(mean_sd(widths) + often)
    return ", ".join(text) or "none"


def models(name, options):
    """Return by their names functions that fit a model and return its network, too."""
    n_candidates, largest = options.candidates, min(LARGEST[name], options.largest)

    def searched(X, y, seed):
        model = bandits.tuned_network(X, y, n_candidates, seed, largest=largest)
        return model, model[-1]

    def published(batch_size):
        def fit(X, y, seed):
            net = energynet.published_growth(name, batch_size, seed, n_draws=100)
            net, _ = energynet.fitted(net, X)
            layers = tuple(net.n_components_per_layer_)
            model = bandits.tuned_network(X, y, n_candidates, seed, layers=layers)
            return model, model[-1]

        return fit

    # Elsewhere the default, but for the coding of colors.
    transformer = None
    if name == "cifar-10":
        transformer = EnergyNetTransformer(
            "description_length", unit_cost=0.3, coding="minmax"
        )

    def ours(X, y, seed):
        model = EnergyNetClassifier(transformer, random_state=seed)
        model, _ = energynet.fitted(model, X, y)
        return model, model.mlp_

    def plain(X, y, seed):
        model = make_pipeline(StandardScaler(), MLPClassifier(random_state=seed))
        model, _ = energynet.fitted(model, X, y)
        return model, model[-1]

    return {
        "DNN searched here": searched,
        **{
            f"published algorithm here, batches of {n}": published(n)
            for n in options.batches
        },
        "ours": ours,
        "scikit-learn: MLPClassifier()": plain,
    }


def splits(report, name):
    """Yield training rows and labels, test rows and labels of each run."""
    options = report.options
    if name in energynet.TABLES:
        X, y = energynet.published_set(report, name)
        folds = RepeatedStratifiedKFold(n_splits=5, random_state=options.seed)
        for train, test in islice(folds.split(X, y), options.instances):
            yield X[train], y[train], X[test], y[test]
    else:
        X, y = energynet.published_set(report, name, options.rows)
        test = energynet.published_set(report, name, N_TEST, "test")
        yield from [(X, y, *test)] * options.instances


def n_parameters(mlp):
    """Number of weights and biases."""
    return sum(a.size for a in (*mlp.coefs_, *mlp.intercepts_))


def _add_arguments(parser):
    text = "data (all, quick without cifar-10)"
    parser.add_argument("--sets", nargs="+", choices=list(PUBLISHED), help=text)

    def add(name, text, **options):
        parser.add_argument(name, type=int, help=text, **options)

    add("--candidates", "of a search (30, quick 4)")
    add("--image-candidates", "the same for images")
    add("--batches", "of the growth (1 10 32, quick 1)", nargs="+")
    add("--image-batches", "the same for images", nargs="+")
    add("--rows", "training images (all, quick 500)")
    add("--largest", "widest layer that is searched (2048, quick 128)")


if __name__ == "__main__":
    results.record(main)
