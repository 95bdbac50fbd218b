"""Networks of 2, 3, 4 and 8 bits on larger tables, beside quantization-aware training.

Rows to train on: 5000 of letter (16-30-26), 5000 of MNIST (784-20-10), 70 % of satimage
(36-30-6); the others test, 5000 of them at most. `alpha` is 3 for all.

- "ours" is BLMClassifier, which trains these by gradients through the rounding of the
  weights first, then on the bits, with twenty moves a weight;
- "random" is the same from random weights, with 1.3 times as many moves: about as many
  seconds;
- "straight" is quantization-aware training alone, by the straight-through estimator,
  with learned ranges: it goes on from a network in float64, whose seconds are not
  counted, for as many seconds as ours took.

Printed are mean test accuracies, the gain of ours over "straight" in points with its
standard error, and the median seconds of both. Aimed at is a gain of zero or above,
within a standard error. With --ablate half and twice each constant of the start is
printed instead: loss of the start, its accuracy, its seconds.
"""

import csv
from dataclasses import fields

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks.blm.low_bits import rounded
from benchmarks.shared import blm, common, results
from skmohn import BLMClassifier, SearchOptions
from skmohn.blm import _start
from skmohn.blm._network import forward

BITS = 2, 3, 4, 8
ALPHA, MOVES, RATE = 3.0, 20, 0.01
MAX_TEST = 5000
# Hidden units, rows to train on or their fraction.
TABLES = {"letter": (30, 5000), "satimage": (30, 0.7), "mnist": (20, 5000)}
FILES = {
    "letter": "letter.csv",
    "satimage": "tables/classification/satimage.csv",
    "mnist": "mnist.npz",
}


def read(name):
    """Return inputs and classes; None when the table is missing."""
    path = common.find_data(FILES[name])
    if path is None:
        return None
    if name == "mnist":
        with np.load(path) as images:
            n_rows = 2 * MAX_TEST
            X = images["X_train"][:n_rows].reshape(n_rows, -1) / 255.0
            return X, images["y_train"][:n_rows].astype(str)
    with open(path, newline="", encoding="utf-8") as file:
        rows = np.array(list(csv.reader(file))[1:])
    return rows[:, :-1].astype(float), rows[:, -1]


def split(name, seed):
    """Return standardized parts, the units; None when the table is missing."""
    data = read(name)
    if data is None:
        return None
    units, size = TABLES[name]
    X_train, X_test, y_train, y_test = train_test_split(
        *data, train_size=size, random_state=seed
    )
    scaler = StandardScaler().fit(X_train)
    X_test, y_test = X_test[:MAX_TEST], y_test[:MAX_TEST]
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test, units


def accuracy(classes, coefs, intercepts, X, y):
    """Accuracy of a network."""
    outputs = forward(X, coefs, intercepts, "tanh", "identity")
    return float(np.mean(classes[outputs.argmax(axis=1)] == y))


def make_ours(units, n_bits, n_columns, n_classes, seed, init="auto", moves=MOVES):
    """Make our estimator, with so many moves a weight."""
    n_weights = (n_columns + 1) * units + (units + 1) * n_classes
    return BLMClassifier(
        (units,),
        n_bits=n_bits,
        alpha=ALPHA,
        max_flips=int(moves * n_weights),
        search_options=SearchOptions(init=init),
        random_state=seed,
    )


def straight_through(mlp, n_bits, X, y, seconds, seed):
    """Train through the rounding for so many seconds; return weights and seconds."""
    _, steps = rounded("digits", mlp, n_bits, X, y)
    trainer = blm.StraightThrough(n_bits, ALPHA, RATE, 2, seed)
    spent, _ = common.timed(trainer.fit, X, y, mlp, steps)
    trainer.n_epochs = max(int(2 * seconds / spent), 1)
    spent, run = common.timed(trainer.fit, X, y, mlp, steps)
    return run.coefs_, run.intercepts_, spent


def compare(name, n_splits, seed):
    """Accuracies of ours, random and straight, seconds of the first and last."""
    found = {n_bits: [] for n_bits in BITS}
    for index in range(seed, seed + n_splits):
        X_train, X_test, y_train, y_test, units = split(name, index)
        mlp = MLPClassifier(
            (units,), "tanh", alpha=ALPHA, max_iter=50, random_state=index
        )
        # Classes are numbers for straight-through training.
        classes, labels = np.unique(y_train, return_inverse=True)
        mlp, _ = blm.fitted(mlp, X_train, labels)
        sizes = X_train.shape[1], len(classes)
        for n_bits in BITS:
            ours = make_ours(units, n_bits, *sizes, index)
            ours, seconds = blm.fitted(ours, X_train, y_train)
            # A move costs the same from any start.
            random = make_ours(units, n_bits, *sizes, index, "bounded", 1.3 * MOVES)
            random, _ = blm.fitted(random, X_train, y_train)
            coefs, intercepts, spent = straight_through(
                mlp, n_bits, X_train, labels, seconds, index
            )
            straight = accuracy(classes, coefs, intercepts, X_test, y_test)
            scores = ours.score(X_test, y_test), random.score(X_test, y_test), straight
            found[n_bits].append((*scores, seconds, spent))
    return {n_bits: np.array(values).T for n_bits, values in found.items()}


def ablate(names, seed):
    """Print half and twice each constant of the start."""
    table = common.Table(
        "Constants of the start: half and twice, 4 bits",
        "data constant value loss accuracy seconds",
        width=20,
    )
    constants = _start.StraightThroughConstants()
    tried = [(None, None)]
    for each in fields(constants):
        if each.name != "time_fraction":
            value = getattr(constants, each.name)
            tried += [(each.name, type(value)(value * k)) for k in (0.5, 2)]
    for name in names:
        parts = split(name, seed)
        if parts is None:
            continue
        X_train, X_test, y_train, y_test, units = parts
        sizes = X_train.shape[1], len(np.unique(y_train))
        for constant, value in tried:
            changed = {} if constant is None else {constant: value}
            _start._TRAINING = type(constants)(**changed)
            # The start alone.
            model = make_ours(units, 4, *sizes, seed).set_params(max_flips=1)
            model, seconds = blm.fitted(model, X_train, y_train)
            score = model.score(X_test, y_test)
            table.row(name, constant, value, model.loss_, score, seconds)
        _start._TRAINING = constants
    table.close()


def main():
    """Print a row for each table and number of bits."""

    def add_arguments(parser):
        names = list(TABLES)
        parser.add_argument("--only", nargs="+", choices=names, default=names)
        parser.add_argument("--ablate", action="store_true")

    options = common.parse_options(
        __doc__, instances=5, quick_instances=1, add_arguments=add_arguments
    )
    common.warm_up()
    if options.ablate:
        ablate(options.only, options.seed)
        return
    table = common.Table(
        "Test accuracy at equal seconds, and points gained over straight-through",
        "data bits splits ours random straight gain error ours_s straight_s",
        width=10,
    )
    for name in options.only:
        if (options.quick and name == "mnist") or read(name) is None:
            continue
        found = compare(name, options.instances, options.seed)
        for n_bits, (ours, random, straight, *seconds) in found.items():
            gain, error, mean = blm.with_error(100 * (ours - straight))
            least = 0.0 if error == "-" else -float(error)
            table.row(
                name,
                n_bits,
                options.instances,
                *(f"{values.mean():.4f}" for values in (ours, random, straight)),
                gain,
                error,
                *(float(np.median(values)) for values in seconds),
                met=bool(mean >= least),
            )
    table.close()


if __name__ == "__main__":
    results.record(main)
