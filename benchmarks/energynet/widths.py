"""Widths that growth finds: what they depend on, and what they do not.

Of the shortest description:

- digits: scikit-learn's 8 x 8 images in [0, 1], learning rates 0.01, 0.03 and 0.1 by
  batches of 16, 64 and 256. Aimed at is that all nine widths are within 25 % of their
  middle, and a coefficient of variation below 0.15 over ten seeds at the defaults.
- independent: 2000 rows of 20 bits that are drawn one by one. Aimed at is 1 unit.
- clusters: 2000 rows of 64 bits, each one of k random rows with 5 % of its bits
  flipped, k = 2 to 32. Aimed at is that the width rises with k.
- MNIST: the first 6000 ones, as bits, and 6000 images of all digits. Aimed at is that
  the ones need fewer units.

And of held-out samples, with the defaults: three quarters of the rows of digits as bits
and of the categories of german, ten seeds. Aimed at is a coefficient of variation below
0.2.

Layers of the shortest description do not get their final training
(n_final_epochs=0), which does not change the width.
The peer is EnergyNet as published (growth="infinite_rbm", at most 1000 units), whose
widths are shown for the same settings of the digits; --no-paper leaves them out, which
take most of the time. BernoulliRBM finds none.
"""

import itertools
import warnings
from argparse import BooleanOptionalAction

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.energynet.real_density import categories
from benchmarks.shared import common, energynet, results
from skmohn import EnergyNetTransformer

RATES = (0.01, 0.03, 0.1)
BATCHES = (16, 64, 256)
CLUSTERS = (2, 4, 8, 16, 32)
SPREAD = 0.25
VARIATION, HELD_OUT_VARIATION = 0.15, 0.2


def width(X, **parameters):
    """Return the units of the first layer and the seconds it took."""
    options = {"growth": "description_length", "n_final_epochs": 0} | parameters
    net = EnergyNetTransformer(max_layers=1, n_temperatures=1, **options)
    with warnings.catch_warnings():
        # One temperature is enough for widths, but not for the likelihood of a layer.
        warnings.simplefilter("ignore", UserWarning)
        seconds, _ = common.timed(net.fit, X)
    return net.n_components_per_layer_[0], seconds


def spread(widths):
    """How far the widths are from their middle, as a fraction of it."""
    return (max(widths) - min(widths)) / (max(widths) + min(widths))


def variation(widths):
    """Their standard deviation, as a fraction of their mean."""
    return float(np.std(widths, ddof=1) / np.mean(widths))


def independent_rows(seed):
    """Draw 20 columns of bits, each with odds of its own."""
    rng = np.random.default_rng(seed)
    return (rng.random((2000, 20)) < rng.uniform(0.2, 0.8, 20)).astype(np.float32)


def clusters(k, seed):
    """Draw rows around k centers."""
    rng = np.random.default_rng(seed)
    centers = rng.integers(2, size=(k, 64))
    rows = centers[rng.integers(k, size=2000)]
    return (rows ^ (rng.random(rows.shape) < 0.05)).astype(np.float32)


def show_digits(options):
    """Print the widths over settings, of ours and of the paper's growth."""
    X = load_digits().data.astype(np.float32) / 16
    table = common.Table("digits: units", "rate batch ours seconds paper", width=6)
    settings = list(itertools.product(RATES, BATCHES))
    if options.quick:
        settings = settings[-2:]
    widths, published = [], []
    for rate, batch in settings:
        given = {"learning_rate": rate, "batch_size": batch, "random_state": 0}
        units, seconds = width(X, **given)
        paper = None
        if options.paper:
            paper, _ = width(X, growth="infinite_rbm", max_units=1000, **given)
            published.append(paper)
        table.row(str(rate), batch, units, seconds, paper)
        widths.append(units)
    found = spread(widths)
    table.close()
    seeds = range(options.seed, options.seed + 2 * options.instances)
    over_seeds = [width(X, random_state=seed)[0] for seed in seeds]
    table = common.Table("digits: spread", "over fits least most spread aim", width=10)
    row = ("settings", len(widths), min(widths), max(widths), float(found), SPREAD)
    table.row(*row, met=found <= SPREAD)
    if published:
        least, most = min(published), max(published)
        table.row("paper", len(published), least, most, spread(published), None)
    varies = variation(over_seeds)
    row = ("seeds", len(over_seeds), min(over_seeds), max(over_seeds), varies)
    table.row(*row, VARIATION, met=varies < VARIATION)
    table.close()


def show_held_out(options):
    """Print how widths vary over seeds where held-out samples decide."""
    table = common.Table(
        "Held out: spread", "rows split fits least most variation aim", width=10
    )
    tables = {"digits": load_digits().data >= 8, "german": categories()}
    for name, X in tables.items():
        if X is None:
            continue
        for split in range(options.seed, options.seed + options.instances):
            train, _ = train_test_split(X, test_size=0.25, random_state=split)
            widths = [
                width(
                    train, growth="held_out", n_final_epochs="auto", random_state=seed
                )[0]
                for seed in range(3 if options.quick else 10)
            ]
            varies = variation(widths)
            row = (name, split, len(widths), min(widths), max(widths), varies)
            table.row(*row, HELD_OUT_VARIATION, met=varies < HELD_OUT_VARIATION)
    table.close()


def show_synthetic(options):
    """Print the widths of rows whose structure is known."""
    table = common.Table("Known structure", "rows units seconds aim", width=16)
    for seed in range(options.seed, options.seed + options.instances):
        units, seconds = width(independent_rows(seed), random_state=seed)
        table.row(f"independent {seed}", units, seconds, 1, met=units == 1)
    for seed in range(options.seed, options.seed + options.instances):
        before = 0
        for k in CLUSTERS[:3] if options.quick else CLUSTERS:
            units, seconds = width(clusters(k, seed), random_state=seed)
            aim = "-" if before == 0 else f"> {before}"
            table.row(f"{k} clusters {seed}", units, seconds, aim, met=units > before)
            before = units
    table.close()


def show_mnist(options):
    """Print the widths of ones and of all digits."""
    data = energynet.mnist(60_000, 1)
    if data is None:
        return
    n_rows = 1500 if options.quick else 6000
    X, y = data[:2]
    rng = np.random.default_rng(options.seed)
    table = common.Table(f"MNIST, {n_rows} rows", "rows units seconds aim", width=12)
    found = {}
    for name, rows in (("ones", X[y == 1][:n_rows]), ("all digits", X[:n_rows])):
        bits = (rng.random(rows.shape, np.float32) < rows).astype(np.float32)
        found[name], seconds = width(bits, random_state=options.seed)
        is_met = name == "ones" or found["ones"] < found[name]
        aim = None if name == "ones" else f"> {found['ones']}"
        table.row(name, found[name], seconds, aim, met=is_met)
    table.close()


def main():
    """Print a table for each kind of rows."""
    options = common.parse_options(
        __doc__,
        instances=5,
        quick_instances=1,
        add_arguments=lambda parser: parser.add_argument(
            "--paper", action=BooleanOptionalAction, help="the paper's widths, too"
        ),
    )
    if options.paper is None:
        options.paper = not options.quick
    common.warm_up()
    show_digits(options)
    show_held_out(options)
    show_synthetic(options)
    show_mnist(options)


if __name__ == "__main__":
    results.record(main)
