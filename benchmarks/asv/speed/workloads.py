"""Small fits and predictions of each family, and kernels, as asv wants them.

    asv run --python=same --quick     in benchmarks/asv: each once, as installed here
    asv continuous HEAD~1 HEAD        two commits, in environments of their own

Seconds are of the processor. Nothing here comes from other scripts: asv runs this file
with every commit of the package, and so does `python -m benchmarks.paired`.
"""

import importlib
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits

from skmohn import (
    BLMClassifier,
    BLMController,
    BLMRegressor,
    EnergyNetImputer,
    EnergyNetTransformer,
    MOHNClassifier,
    MOHNRegressor,
    minimize_black_box,
)
from skmohn.datasets import InvertedPendulum, make_ising
from skmohn.optimize import maximize

# Repetitions of a prediction, which takes less than a clock tells apart.
N_PREDICTIONS = 20


def bits(n_samples, n_columns, noise):
    """Inputs of -1 and +1; a target of five columns, ten pairs and a triple."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n_samples, n_columns))
    y = X[:, :5].sum(axis=1) + X[:, 5] * X[:, 6] * X[:, 7]
    y += sum(X[:, k] * X[:, k + 1] for k in range(10))
    return X, y + rng.normal(0.0, noise, n_samples)


def numbers(n_samples, n_columns):
    """Normal columns, a twentieth of the cells missing; a smooth target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_columns))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(0.0, 0.3, n_samples)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


class _Fit:
    """A fit and predictions; subclasses set what is fitted and to what."""

    timer = staticmethod(time.process_time)

    def setup(self):
        warnings.simplefilter("ignore")
        self.X, self.y = self.data()
        # Compiles, too.
        self.fitted = self.estimator.fit(self.X, self.y)

    def time_fit(self):
        clone(self.estimator).fit(self.X, self.y)

    def time_predict(self):
        for _ in range(N_PREDICTIONS):
            self.fitted.predict(self.X)

    def peakmem_fit(self):
        clone(self.estimator).fit(self.X, self.y)


class SpinGlass(_Fit):
    """An exact fit of 10 x 10 spins: pursuit without noise."""

    estimator = MOHNRegressor("pursuit")

    def data(self):
        return make_ising((10, 10), n_samples=1200, random_state=0, return_X_y=True)


class WideTable(_Fit):
    """Two passes over all pairs of 1000 columns."""

    estimator = MOHNRegressor("pursuit", max_order=2)

    def data(self):
        return bits(500, 1000, 1.0)


class DefaultFit(_Fit):
    """What "auto" compares: 150 rows of 15 bits."""

    estimator = MOHNRegressor()

    def data(self):
        return bits(150, 15, 1.0)


class SpikeAndSlab(_Fit):
    """Averages over all terms of order one and two."""

    estimator = MOHNRegressor("spike_slab", max_order=2, random_state=0)

    def data(self):
        return bits(200, 20, 1.0)


class GaussianProcess(_Fit):
    """All terms, numeric columns with missing values."""

    estimator = MOHNRegressor("gp")

    def data(self):
        return numbers(150, 6)


class Classes(_Fit):
    """Products for two classes."""

    estimator = MOHNClassifier("pursuit")

    def data(self):
        X, y = bits(300, 20, 1.0)
        return X, y > 0.0


class FewBits(_Fit):
    """A network of 8-bit weights on the digits, by counted flips."""

    estimator = BLMClassifier((10,), n_bits=8, max_flips=20_000, random_state=0)

    def data(self):
        return load_digits(return_X_y=True)


class FewBitsRegression(_Fit):
    """The same for numbers."""

    estimator = BLMRegressor((10,), n_bits=8, max_flips=200_000, random_state=0)

    def data(self):
        X, y = numbers(500, 6)
        return np.nan_to_num(X), y


class Controller:
    """A controller of a pole on a cart, by counted simulations."""

    timer = staticmethod(time.process_time)

    def setup(self):
        self.pendulum = InvertedPendulum()
        self.time_fit()

    def time_fit(self):
        BLMController((5,), max_evaluations=300, random_state=0).fit(self.pendulum)


class Density(_Fit):
    """A layer that grows on the digits as bits."""

    estimator = EnergyNetTransformer(max_layers=1, random_state=0)

    def data(self):
        return (load_digits().data[:150] > 7).astype(float), None

    def time_predict(self):
        self.fitted.score_samples(self.X)


class Imputation(_Fit):
    """Missing cells of a table of numbers."""

    estimator = EnergyNetImputer(
        EnergyNetTransformer(max_layers=1, random_state=0), random_state=0
    )

    def data(self):
        return numbers(100, 6)[0], None

    def time_predict(self):
        self.fitted.transform(self.X)


class BlackBox:
    """Evaluations of a spin glass as a black box."""

    timer = staticmethod(time.process_time)

    def setup(self):
        X, y = make_ising((4, 4), n_samples=200, random_state=0, return_X_y=True)
        self.model = MOHNRegressor("pursuit").fit(X, y)
        self.time_minimize()

    def time_minimize(self):
        def energy(x):
            return float(self.model.predict(2.0 * np.asarray(x)[None] - 1.0)[0])

        minimize_black_box(energy, 16, 60, random_state=0)


class Kernels:
    """Compiled kernels that many fits spend their time in."""

    timer = staticmethod(time.process_time)

    def setup(self):
        # Private, so that other commits may have it elsewhere: then this class fails.
        walsh = importlib.import_module("skmohn._core._walsh")
        self.walsh_transform = walsh.walsh_transform
        self.values = np.random.default_rng(0).normal(size=2**20)
        X, y = make_ising((10, 10), n_samples=1200, random_state=0, return_X_y=True)
        self.model = MOHNRegressor("pursuit").fit(X, y)
        self.rows = np.tile(X, (20, 1))
        for run in (self.time_walsh_transform, self.time_products, self.time_exact):
            run()

    def time_walsh_transform(self):
        self.walsh_transform(self.values)

    def time_products(self):
        self.model.predict(self.rows)

    def time_exact(self):
        maximize(self.model, "exact")
