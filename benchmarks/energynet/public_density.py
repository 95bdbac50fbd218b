"""Densities of public binary tables, beside published figures and a mixture.

Six tables of the suite DEBD, which papers on density estimation share: the training
rows train, and the mean log-likelihood of the test rows is in nats. The rows for
validation are not used. The folder `suites` of the data folder has them, as bits that
`np.packbits` made.

Ours: `EnergyNetTransformer` with one layer and else the defaults, and by the same fit
its members alone, the layers, the hidden tree and the mixture of trees; beside them the
weights of the two last, the number of trees of the mixture, and the standard error of
the log partition function with the number of effective chains, where the layers count.
Peers of the same run: independent columns, and a mixture of products of Bernoulli
distributions with 16 components. The column `published` is the best of figures that
papers print for these tables, none of which is computed here: hidden Chow-Liu trees
(Liu and Van den Broeck 2021), ID-SPN, LearnSPN, EiNet and RAT-SPN for the first five
tables, and MADE for mushrooms.

Aimed at is that ours is no more than half a nat below what is published, and no more
than 0.1 below the best of its members.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.shared import common, energynet, results
from skmohn import EnergyNetTransformer
from skmohn.energynet._portfolio import MIXTURE, TREE, read_states
from skmohn.energynet._table import Encoded

PUBLISHED = {
    "nltcs": -6.00,
    "dna": -79.05,
    "mushrooms": -9.68,
    "accidents": -26.74,
    "plants": -12.54,
    "baudio": -39.77,
}
# Components of the mixtures.
PEERS = {"independent": 1, "mixture": 16}
MAX_DIFFERENCE, MAX_LOSS = 0.5, 0.1


def read(data, name):
    """Training and test rows of a table."""
    n_columns = int(data[f"{name}_columns"])
    return [
        np.unpackbits(data[f"{name}_{part}"], axis=1)[:, :n_columns].astype(np.float32)
        for part in ("train", "test")
    ]


def densities(train, test, seed):
    """Mean log-likelihoods of test rows, and what is shown beside them."""
    net = EnergyNetTransformer(max_layers=1, random_state=seed)
    seconds, _ = common.timed(net.fit, train)
    weights, z = net.ensemble_weights_, net.log_partition_[0]
    mean, error = net.score(test, return_std=True)
    found = {"ours": mean, "layers": net.set_params(density="layers").score(test)}
    found |= {name: of_trees(net, name, test) for name in (TREE, MIXTURE)}
    known, new = (part.astype(int) for part in (train, test))
    for name, n_components in PEERS.items():
        n_levels = np.full(train.shape[1], 2)
        mixture = energynet.CategoricalMixture(n_components, n_levels, seed).fit(known)
        found[name] = mixture.score_samples(new).mean()
    mixture = net._portfolio.trees.get(MIXTURE)
    shown = [f"{weights.get(name, 0.0):.2f}" for name in (TREE, MIXTURE)]
    shown += [0 if mixture is None else len(mixture.trees), f"{error:.3f}"]
    shown += [f"{z.effective_sample_size:.0f}", net.n_components_per_layer_[0]]
    return found, [*shown, f"{seconds:.1f}"]


def of_trees(net, name, test):
    """Mean log-likelihood of bits by trees of a fit; NaN where they have no weight."""
    trees = net._portfolio.trees.get(name)
    if trees is None:
        return np.nan
    encoded = Encoded.of(test, net.coding_).arrange(net.coding_)
    states = read_states(encoded.units, None, encoded.groups)
    return trees.log_likelihood(states).mean()


def main():
    """Print a line for each table."""
    options = common.parse_options(
        __doc__,
        instances=1,
        quick_instances=1,
        add_arguments=lambda parser: parser.add_argument(
            "--tables", nargs="*", default=[*PUBLISHED], help="these tables alone"
        ),
    )
    common.clock = common.CLOCKS["cpu"]
    common.warm_up()
    warnings.simplefilter("ignore", ConvergenceWarning)
    path = common.find_data("suites/debd.npz")
    if path is None:
        return
    data = np.load(path)
    shown = common.Table(
        "mean log-likelihood of test rows, nats",
        "table published ours layers tree tree_mixture "
        + " ".join(PEERS)
        + " tree_weight mixture_weight trees log_Z_error chains units seconds",
    )
    for name in options.tables[: 1 if options.quick else None]:
        found, others = densities(*read(data, name), options.seed)
        members = np.nanmax([found[member] for member in ("layers", TREE, MIXTURE)])
        met = found["ours"] >= members - MAX_LOSS
        met = met and found["ours"] >= PUBLISHED[name] - MAX_DIFFERENCE
        means = [f"{mean:.2f}" for mean in found.values()]
        shown.row(name, f"{PUBLISHED[name]:.2f}", *means, *others, met=met)
    shown.close()


if __name__ == "__main__":
    results.record(main)
