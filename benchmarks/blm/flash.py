"""Accuracy for bytes of flash on an ATmega328P, beside emlearn, m2cgen, micromlgen.

Of the rows of a table 56 % train, 14 % choose and 30 % test. Each family has models
from small to large, compiled by avr-gcc (-Os -mrelax); a size is what they add to an
empty program. For each limit of the size the model of a family that is best on the rows
that choose is printed, by its accuracy on those that test, with its cycles (simavr,
inputs of zero). Inputs are integers of 16 bits, 4000 steps over the range of a
column. Aimed at is to be the best, or within half a per cent of it, up to 4000 bytes.

- "ours": BLM networks of one hidden layer or none, 2 and 4 bits a weight, relu or tanh;
  the header of `to_c`. Small ones also without standardizing: inputs are then shifted
  alone, which takes no tables.
- "mlp": MLPClassifier by emlearn, in single precision (an ATmega2560: weights are in
  RAM).
- "forest": RandomForestClassifier and single trees by emlearn, on integers.
- "m2cgen": the same, and LogisticRegression, by m2cgen; "micromlgen": trees and forests
  by micromlgen; both in single precision.

The digits are those of scikit-learn; satimage, segment and magic are tables of the KEEL
repository (`tables/classification` in the folder of the data).
"""

import importlib.util
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks.shared import avr, common, results
from benchmarks.shared.small_peers import by_emlearn, by_m2cgen, by_micromlgen
from skmohn import BLMClassifier

LIMITS = (500, 1000, 1500, 2000, 3000, 4000, 8000)
# Bytes up to which ours is to be the best, or so near to it.
AIMED_AT, LEVEL = 4000, 0.005
TABLES = ("digits", "satimage", "segment", "magic")
LAYERS = ((), (2,), (4,), (8,), (16,), (32,), (64,))
UNITS = (2, 4, 8, 16, 32, 64)
# Range of inputs that are not standardized.
RANGE = 3.0
SECONDS = 4.0


def read(name):
    """Return integers and classes; None if the table is missing."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X.astype(int), y
    path = common.find_data(f"tables/classification/{name}.csv")
    if path is None:
        return None
    table = pd.read_csv(path)
    X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy()
    low, spread = X.min(axis=0), np.maximum(np.ptp(X, axis=0), 1e-9)
    return np.rint((X - low) / spread * 4000.0).astype(int), np.unique(
        y, return_inverse=True
    )[1]


def networks(seed):
    """Our networks, from small to large."""
    options = {"alpha": 1.0, "max_time": SECONDS, "random_state": seed}
    for layers in LAYERS:
        for n_bits, activation in ((2, "relu"), (4, "relu"), (4, "tanh")):
            yield BLMClassifier(layers, activation, n_bits=n_bits, **options)
    options["standardize"] = False
    for layers in LAYERS[:-2]:
        for n_bits in (2, 4):
            yield BLMClassifier(layers, "relu", n_bits=n_bits, **options)


class OnDevice:
    """A network as the C answers, for integers.

    Parameters
    ----------
    model : BLMClassifier
    X : ndarray of integers
    y : ndarray
    """

    def __init__(self, model, X, y):
        self.unit = 1.0 if model.standardize else RANGE / X.max()
        rows, options = X * self.unit, {"input_type": "int16", "activation_bits": 8}
        model.fit(rows, y)
        self.device = model.to_c("net", X=rows, input_scale=self.unit, **options)

    def predict(self, X):
        """Classes of integers."""
        return self.device.predict(X * self.unit)


def mlps(seed):
    """MLPs with the scales of the inputs folded in."""
    for units in UNITS:
        mlp = MLPClassifier((units,), alpha=1.0, max_iter=400, random_state=seed)
        yield make_pipeline(StandardScaler(), mlp)


def trees(seed):
    """Trees and forests."""
    for leaves in (4, 8, 16, 32, 64):
        yield DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed)
    for n_trees in (3, 6, 12, 25):
        for leaves in (6, 12, 25, 50, 100):
            yield RandomForestClassifier(
                n_trees, max_leaf_nodes=leaves, random_state=seed
            )


def folded(pipeline):
    """The MLP or linear model of a pipeline, for the inputs themselves."""
    scaler, model = pipeline[0], pipeline[-1]
    if isinstance(model, LogisticRegression):
        model.coef_ = model.coef_ / scaler.scale_
        model.intercept_ = model.intercept_ - model.coef_ @ scaler.mean_
        return model
    model.coefs_[0] = model.coefs_[0] / scaler.scale_[:, None]
    model.intercepts_[0] = model.intercepts_[0] - scaler.mean_ @ model.coefs_[0]
    return model


def cost(write, model, n_inputs, mcu="atmega328p"):
    """What a model of a peer takes; None where it does not fit or compile."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            before, call = write(model, Path(folder), n_inputs)
            return avr.measure(folder, before, call, mcu)
        except (avr.DoesNotFitError, RuntimeError):
            return None


def our_cost(device):
    """What a network of ours takes."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "net.h").write_text(device.header, encoding="ascii")
        before = '#include "net.h"\nstatic net_input in[NET_INPUTS];\n'
        before += "static volatile uint8_t label;"
        return avr.measure(folder, before, "label = net_predict(in)")


def empty(mcu):
    """Flash of a program that does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        return avr.measure(folder, "", "", mcu).flash


def found(X, y, seed):
    """Of each family its models: bytes, cycles, accuracy to choose by and on test."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
    X, X_val, y, y_val = train_test_split(X, y, test_size=0.2, random_state=seed)
    bare = {mcu: empty(mcu) for mcu in ("atmega328p", "atmega2560")}
    families = {}

    def keep(family, price, model, mcu="atmega328p"):
        if price is not None:
            scores = (np.mean(model.predict(A) == b) for A, b in judges)
            row = price.flash - bare[mcu], price.cycles, *scores
            families.setdefault(family, []).append(row)

    judges = (X_val, y_val), (X_test, y_test)
    for model in networks(seed):
        ours = OnDevice(model, X, y)
        keep("ours", our_cost(ours.device), ours)
    n = X.shape[1]
    has = {
        name: importlib.util.find_spec(name) is not None
        for name in ("emlearn", "m2cgen", "micromlgen")
    }
    for name in (name for name in has if not has[name]):
        results.leave_out(f"{name}: not installed")
    for model in mlps(seed) if has["emlearn"] else ():
        model.fit(X, y)
        mlp, mcu = folded(model), "atmega2560"
        keep("mlp", cost(by_emlearn, mlp, n, mcu), mlp, mcu)
    for model in trees(seed):
        model.fit(X, y)
        if has["emlearn"]:
            keep("forest", cost(by_emlearn, model, n), model)
        if has["m2cgen"]:
            keep("m2cgen", cost(by_m2cgen, model, n), model)
        if has["micromlgen"]:
            keep("micromlgen", cost(by_micromlgen, model, n), model)
    if has["m2cgen"]:
        linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000))
        linear = folded(linear.fit(X, y))
        keep("m2cgen", cost(by_m2cgen, linear, n), linear)
    return families


def _best(rows, limit):
    """The row of up to so many bytes that is best on what chooses; None of none."""
    return max(
        (row for row in rows if row[0] <= limit), key=lambda r: r[2], default=None
    )


def main():
    """Print a table for each set."""
    options = common.parse_options(__doc__, instances=1, quick_instances=1)
    if reason := avr.missing():
        results.leave_out(f"all: {reason}")
        return
    common.warm_up()
    for name in TABLES[:1] if options.quick else TABLES:
        if (data := read(name)) is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            families = found(*data, options.seed)
        table = common.Table(
            f"{name}: accuracy and thousands of cycles of the best up to a size",
            " ".join(["bytes", *families, *(f"{family}_k" for family in families)]),
        )
        for limit in LIMITS:
            best = [_best(rows, limit) for rows in families.values()]
            scores = [None if row is None else row[3] for row in best]
            cycles = [None if row is None else row[1] / 1000.0 for row in best]
            shown = (None if score is None else f"{score:.3f}" for score in scores)
            spent = (None if count is None else f"{count:.1f}" for count in cycles)
            peers = [score for score in scores[1:] if score is not None]
            least = max(peers, default=0.0) - LEVEL
            is_best = scores[0] is not None and scores[0] >= least
            table.row(limit, *shown, *spent, met=bool(is_best or limit > AIMED_AT))
        table.close()


if __name__ == "__main__":
    results.record(main)
