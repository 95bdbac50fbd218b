"""Small fits by which `benchmarks/ablation.py` measures what constants are worth.

A workload takes a seed and returns a loss and the counted work.
"""

import contextlib
import io
from functools import partial

import numpy as np
import optuna
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from skmohn import (
    BlackBoxOptimizer,
    BLMClassifier,
    BLMController,
    BLMRegressor,
    EnergyNetClassifier,
    EnergyNetImputer,
    EnergyNetRegressor,
    EnergyNetTransformer,
    Genotypes,
    MOHNClassifier,
    MOHNRegressor,
    datasets,
)
from skmohn.integrations import MOHNSampler
from skmohn.optimize import maximize, minimize_black_box


def bits():
    return (load_digits().data[:, 18:46] >= 8.0).astype(float)


def grays():
    return load_digits().data[:, 18:46] / 16.0


def with_holes(X, seed, fraction=0.2):
    """A copy with some values missing."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(X.shape) < fraction, np.nan, X)


def density(load, seed, *, n_rows=200, is_incomplete=False, **parameters):
    """Held-out log-likelihood of a stack; its hidden units."""
    train, test = train_test_split(load(), random_state=seed)
    train, test = train[:n_rows], test[:100]
    if is_incomplete:
        train, test = with_holes(train, seed), with_holes(test, seed + 1)
    options = {"n_temperatures": 300, "max_layers": 2} | parameters
    net = EnergyNetTransformer(random_state=seed, **options).fit(train)
    return -np.mean(net.score_samples(test)), sum(net.n_components_per_layer_)


def imputation(seed):
    """Error of imputed numbers in standard deviations."""
    X = load_wine().data[::2, :6]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    holes = with_holes(X, seed)
    imputer = EnergyNetImputer(random_state=seed)
    error = (imputer.fit_transform(holes) - X)[np.isnan(holes)]
    return np.sqrt(np.mean(error**2)), 1


def draws(seed):
    """Mean pinball loss of the quartiles of imputed draws; hidden units."""
    X = load_wine().data[::2, :6]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    holes = with_holes(X, seed)
    net = EnergyNetTransformer(whiten=True, random_state=seed).fit(holes)
    drawn = np.array(
        net.impute(holes, strategy="sample", n_draws=20, random_state=seed)
    )
    unknown, losses = np.isnan(holes), []
    for q in (0.25, 0.75):
        over = X[unknown] - np.quantile(drawn, q, axis=0)[unknown]
        losses.append(np.mean(np.maximum(q * over, (q - 1.0) * over)))
    return np.mean(losses), sum(net.n_components_per_layer_)


def classes(seed):
    """Log loss of a classifier of wine."""
    X, y = load_wine(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=seed, stratify=y)
    model = EnergyNetClassifier(random_state=seed).fit(X, y)
    return log_loss(y_test, model.predict_proba(X_test)), 1


def numbers(seed):
    """Error of a regressor of diabetes, in standard deviations."""
    X, y = load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=seed)
    model = EnergyNetRegressor(random_state=seed).fit(X, y)
    return np.std(model.predict(X_test) - y_test) / np.std(y_test), 1


def black_box(make, n_evaluations, seed, *, noise=0.0, **more):
    """Best value found of a landscape in its standard deviations; when it was found."""
    function, space = make(seed)
    rng = np.random.default_rng(seed)
    values, true = [], []

    def f(point):
        exact = function(point)
        true.append(exact)
        values.append(exact + noise * rng.normal())
        return values[-1]

    result = minimize_black_box(f, space, n_evaluations, random_state=seed, **more)
    best = function(result.x) if noise else min(true)
    sample = np.random.default_rng(0)
    spread = np.std([function(p) for p in sampled(space, sample)])
    return best / spread, 1 + int(np.argmin(true))


def sampled(space, rng, n=200):
    """Random points of a space."""
    if isinstance(space, int):
        return rng.integers(0, 2, (n, space))
    lists = {
        name: list(range(v[0], v[1] + 1)) if isinstance(v, tuple) else v
        for name, v in space.items()
    }
    return [
        {name: v[rng.integers(len(v))] for name, v in lists.items()} for _ in range(n)
    ]


def nk(n, k, seed):
    """An NK landscape, to be minimized."""
    made = datasets.make_nk(n, k, n_samples=1, optimum=False, random_state=seed)

    def f(point):
        indices = np.asarray(point)[made.blocks] @ (1 << np.arange(k + 1))
        return -float(np.mean(made.tables[np.arange(n), indices]))

    return f, n


def sparse(n, seed):
    """Sum of a few products of some of the bits."""
    rng = np.random.default_rng(seed)
    sets = [rng.choice(n, rng.integers(1, 4), replace=False) for _ in range(n)]
    weights = rng.normal(size=n)

    def f(point):
        signs = 2.0 * np.asarray(point) - 1.0
        parts = zip(sets, weights, strict=True)
        return float(sum(w * np.prod(signs[of]) for of, w in parts))

    return f, n


def settings(seed):
    """A smooth function of integers, and of categories."""
    rng = np.random.default_rng(seed)
    center, effects = rng.integers(0, 12, 3), rng.normal(size=(2, 4))
    space = {f"x{k}": (0, 11) for k in range(3)} | {
        f"c{k}": list("abcd") for k in (0, 1)
    }

    def f(point):
        at = np.array([point[f"x{k}"] for k in range(3)])
        labels = ["abcd".index(point[f"c{k}"]) for k in (0, 1)]
        far = (at - center) / 4.0
        return float(far @ far + far[0] * far[1] + effects[[0, 1], labels].sum())

    return f, space


def tailed(n, seed):
    """A sparse function, far worse where a constraint of an objective is violated."""
    f, _ = sparse(n, seed)

    def penalized(point):
        excess = max(0, int(np.sum(point)) - n // 2)
        return f(point) + 50.0 * excess**2

    return penalized, n


def optimum(method, n, seed, *, n_terms=4, max_evaluations=20_000):
    """Optimum of a random polynomial, negative, in its standard deviations."""
    rng = np.random.default_rng(seed)
    sets = {tuple(sorted(rng.choice(n, 3, replace=False))) for _ in range(n_terms * n)}
    weights = rng.normal(size=len(sets))
    polynomial = dict(zip(sorted(sets), weights, strict=True))
    result = maximize(
        polynomial, method, max_evaluations=max_evaluations, random_state=seed
    )
    return -result.fun / np.sqrt(weights @ weights), result.nfev


def asked(n, n_evaluations, seed):
    """Best value of a search by ask and tell, and when it was found."""
    f, _ = sparse(n, seed)
    search, values = BlackBoxOptimizer(n, random_state=seed), []
    for _ in range(n_evaluations):
        points = search.ask()
        values += [f(point) for point in points]
        search.tell(points, values[-len(points) :])
    points = sampled(n, np.random.default_rng(0))
    spread = np.std([f(point) for point in points])
    return min(values) / spread, 1 + int(np.argmin(values))


def as_many(point):
    """Whether half of the bits are 1."""
    return 2 * int(np.sum(point)) == len(point)


def model_optimum(strategy, seed):
    """Optimum of a fitted model, in standard deviations of its target."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (150, 30))
    f, _ = sparse(30, seed)
    y = np.array([f(row) for row in X]) + 0.1 * rng.normal(size=len(X))
    model = MOHNRegressor(strategy, max_order=2, random_state=seed).fit(X, y)
    result = maximize(model, random_state=seed)
    return -float(result.fun) / np.std(y), getattr(result, "nfev", 1)


def device(seed, *, n_bits=4):
    """Disagreement of integer code with its network, on wine; bytes of the code."""
    X, y = load_wine(return_X_y=True)
    X, X_test, y, _ = train_test_split(X, y, random_state=seed, stratify=y)
    model = BLMClassifier((6,), n_bits=n_bits, max_flips=5000, random_state=seed)
    with contextlib.redirect_stdout(io.StringIO()):
        code = model.fit(X, y).to_c("net", X=X)
    return np.mean(code.predict(X_test) != model.predict(X_test)), len(code.header)


def device_numbers(seed, **options):
    """Error of integer code, in standard deviations of predictions; bytes of it."""
    X, y = load_diabetes(return_X_y=True)
    X, X_test, y, _ = train_test_split(X, y, random_state=seed)
    model = BLMRegressor((6,), max_flips=5000, random_state=seed).fit(X, y)
    with contextlib.redirect_stdout(io.StringIO()):
        code = model.to_c("net", X=X, **options)
    expected = model.predict(X_test)
    error = np.std(code.predict(X_test) - expected) / np.std(expected)
    return error, len(code.header)


def control(seed, *, noise=0.0):
    """Error of a controller of a pendulum; its evaluations."""
    task = datasets.InvertedPendulum(n_simulations=2, duration=2.0)
    rng, errors = np.random.default_rng(seed), []

    def objective(policy, generator, incumbent):
        errors.append(task(policy, generator, incumbent))
        return errors[-1] + noise * rng.normal()

    model = BLMController(
        (3,),
        n_inputs=task.n_inputs,
        n_outputs=task.n_outputs,
        max_evaluations=300,
        noisy=noise > 0.0,
        random_state=seed,
    )
    model.fit(objective)
    return (model.loss_ if noise else min(errors)), len(errors)


def repeats(seed):
    """Negative log density of a Gaussian process of rows copied with a jitter."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(30, 2)), 3, axis=0)
    y = np.repeat(np.sin(2.0 * X[::3, 0]) + X[::3, 1] + rng.normal(size=30) / 2.0, 3)
    X_test = rng.normal(size=(200, 2))
    truth = np.sin(2.0 * X_test[:, 0]) + X_test[:, 1] + rng.normal(size=200) / 2.0
    model = MOHNRegressor("gp", random_state=seed)
    model.fit(X + 1e-6 * rng.normal(size=X.shape), y)
    mean, std = model.predict(X_test, return_std=True)
    return np.mean(np.log(std) + ((truth - mean) / std) ** 2 / 2.0), 1


def copies(seed, *, n_rows=40, jitter=1e-3, n_copies=5):
    """Negative log density of a regressor of rows copied with a jitter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + 300, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X))
    table = np.repeat(X[:n_rows], n_copies, axis=0)
    table += jitter * rng.normal(size=table.shape)
    model = MOHNRegressor(random_state=seed)
    model.fit(table, np.repeat(y[:n_rows], n_copies))
    return surprise(model, X[n_rows:], y[n_rows:]), 1


def ties(seed, *, n_rows=120):
    """Negative log density of a regressor of a target that is zero in most rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + 300, 3))
    y = np.maximum(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=len(X)) / 2.0 - 0.5, 0.0)
    model = MOHNRegressor(random_state=seed).fit(X[:n_rows], y[:n_rows])
    return surprise(model, X[n_rows:], y[n_rows:]), 1


def copied_labels(seed, *, n_rows=40, jitter=1e-3, n_copies=5):
    """Log loss of a classifier of rows copied with a jitter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + 400, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=len(X)) > 0.0).astype(int)
    table = np.repeat(X[:n_rows], n_copies, axis=0)
    table += jitter * rng.normal(size=table.shape)
    model = MOHNClassifier(random_state=seed)
    model.fit(table, np.repeat(y[:n_rows], n_copies))
    return log_loss(y[n_rows:], model.predict_proba(X[n_rows:])), 1


def signs(n_rows, n_columns, seed):
    """Columns of -1 and +1."""
    return np.random.default_rng(seed).choice([-1.0, 1.0], (n_rows, n_columns))


def sum_of_products(X, seed, *, orders=(1, 2, 3), n_terms=6):
    """A sum of products of some columns, of unit variance, and its terms."""
    rng = np.random.default_rng(seed)
    sizes = [orders[i % len(orders)] for i in range(n_terms)]
    terms = {tuple(sorted(rng.choice(X.shape[1], k, replace=False))) for k in sizes}
    weights = rng.choice([-1.0, 1.0], len(terms)) * rng.uniform(0.5, 1.5, len(terms))
    parts = zip(weights, sorted(terms), strict=True)
    y = sum(w * np.prod(X[:, list(term)], axis=1) for w, term in parts)
    return y / np.sqrt(weights @ weights), terms


def products(strategy, seed, *, n_rows=100, n_columns=16, noise=0.5, **parameters):
    """Error of a sum of products in its standard deviations, and the listed terms."""
    X = signs(n_rows + 500, n_columns, seed)
    y, _ = sum_of_products(X, seed)
    train = slice(n_rows)
    noisy = y[train] + noise * np.random.default_rng(seed + 1).normal(size=n_rows)
    model = MOHNRegressor(strategy, random_state=seed, **parameters)
    model.fit(X[train], noisy)
    error = model.predict(X[n_rows:]) - y[n_rows:]
    return np.sqrt(np.mean(error**2)), 1 + len(model.terms_)


def listed(strategy, seed, *, n_rows=100, n_columns=16, noise=0.5):
    """Terms missed and falsely listed, as a fraction of those of the function."""
    X = signs(n_rows, n_columns, seed)
    y, terms = sum_of_products(X, seed)
    noisy = y + noise * np.random.default_rng(seed + 1).normal(size=n_rows)
    model = MOHNRegressor(strategy, random_state=seed).fit(X, noisy)
    found = {tuple(term) for term in model.terms_ if term}
    return len(found ^ terms) / len(terms), 1 + len(found)


def surprise(model, X, y):
    """Mean negative log density of targets."""
    mean, std = model.predict(X, return_std=True)
    return np.mean(np.log(std) + ((y - mean) / std) ** 2 / 2.0)


def smooth(seed, *, n_rows=80, kind="even", **parameters):
    """Negative log density of a Gaussian process of a smooth function of numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + 300, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    spread = np.exp(X[:, 0]) if kind == "uneven" else 1.0
    y += 0.3 * spread * rng.normal(size=len(y))
    if kind == "skewed":
        y = np.exp(y)
    elif kind == "steps":
        y = np.where(X[:, 0] > 0.3, y, y + 3.0)
    elif kind == "missing":
        X = with_holes(X, seed)
    elif kind == "categories":
        X[:, 2] = rng.integers(0, 5, len(X))
        y += X[:, 2] == 2.0
        parameters["categorical_features"] = [2]
    elif kind == "outliers":
        far = rng.random(n_rows) < 0.04
        y[:n_rows][far] += 15.0 * rng.choice([-1.0, 1.0], far.sum())
    elif kind == "two values":
        y = np.where(y > 0.5, 1.0, 0.0)
    model = MOHNRegressor(random_state=seed, **parameters)
    model.fit(X[:n_rows], y[:n_rows])
    return surprise(model, X[n_rows:], y[n_rows:]), 1


def weak(seed, *, n_rows=80, n_columns=8, r2=0.0):
    """Squared error of the function, in variances of a target of mostly noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + 300, n_columns))
    f = np.sqrt(r2 / n_columns) * X.sum(axis=1)
    y = f[:n_rows] + np.sqrt(1.0 - r2) * rng.normal(size=n_rows)
    model = MOHNRegressor(random_state=seed).fit(X[:n_rows], y)
    return np.mean((model.predict(X[n_rows:]) - f[n_rows:]) ** 2), 1


def heavy(seed, *, n_rows=100, n_columns=12):
    """Error of a sum of products in its standard deviations, with heavy tails."""
    X = signs(n_rows + 500, n_columns, seed)
    y, _ = sum_of_products(X, seed, orders=(1, 2))
    noise = np.random.default_rng(seed + 1).standard_t(1.5, size=n_rows)
    model = MOHNRegressor("pursuit", random_state=seed)
    model.fit(X[:n_rows], y[:n_rows] + 0.5 * noise)
    error = model.predict(X[n_rows:]) - y[n_rows:]
    return np.sqrt(np.mean(error**2)), 1 + len(model.terms_)


def collinear(seed, *, n_rows=80):
    """Error of a spike-and-slab model of columns that are copies with some flips."""
    X = signs(n_rows + 300, 12, seed)
    rng = np.random.default_rng(seed + 1)
    flips = rng.choice([-1.0, 1.0], (len(X), 6), p=[0.05, 0.95])
    X[:, 6:] = X[:, :6] * flips
    y = X[:, 0] + X[:, 7] * X[:, 2] + 0.5 * X[:, 3]
    noisy = y[:n_rows] + 0.7 * rng.normal(size=n_rows)
    model = MOHNRegressor("spike_slab", max_order=2, random_state=seed)
    model.fit(X[:n_rows], noisy)
    return np.std(model.predict(X[n_rows:]) - y[n_rows:]), 1 + len(model.terms_)


def labels(strategy, seed, *, n_rows=120, n_columns=12, n_classes=2, **parameters):
    """Log loss of classes by the sign of a noisy sum of products."""
    X = signs(n_rows + 400, n_columns, seed)
    y, _ = sum_of_products(X, seed, orders=(1, 2), n_terms=4)
    y += 0.4 * np.random.default_rng(seed + 1).normal(size=len(y))
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    model = MOHNClassifier(strategy, random_state=seed, **parameters)
    model.fit(X[:n_rows], y[:n_rows])
    proba = model.predict_proba(X[n_rows:])
    return log_loss(y[n_rows:], proba, labels=range(n_classes)), 1


def wines(seed, strategy="auto", **parameters):
    """Log loss of a classifier of wine by some of its columns."""
    X, y = load_wine(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X[:, :5], y, random_state=seed, stratify=y, train_size=80
    )
    model = MOHNClassifier(strategy, random_state=seed, **parameters).fit(X, y)
    return log_loss(y_test, model.predict_proba(X_test)), 1


def variants(seed, *, n_rows=200):
    """Error of a function of allele counts, in standard deviations."""
    rng = np.random.default_rng(seed)
    counts = rng.binomial(2, rng.uniform(0.2, 0.5, 20), (n_rows + 300, 20)).astype(
        float
    )
    y = (counts[:, 1] == 2) * (counts[:, 4] > 0) * 2.0 + counts[:, 7] - 1.0
    noisy = y[:n_rows] + 0.5 * rng.normal(size=n_rows)
    genotypes = partial(Genotypes.from_counts, coding="both")
    model = MOHNRegressor("pursuit", random_state=seed)
    model.fit(genotypes(counts[:n_rows]), noisy)
    error = np.std(model.predict(genotypes(counts[n_rows:])) - y[n_rows:])
    return error / np.std(y), 1 + len(model.terms_)


def new_groups(seed, *, n_rows=60):
    """Negative log density of targets of groups that were not seen."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + 200, 3))
    group = np.arange(len(X)) // 5
    y = X[:, 0] + 0.7 * rng.normal(size=group.max() + 1)[group]
    y += 0.3 * rng.normal(size=len(X))
    model = MOHNRegressor(random_state=seed)
    model.fit(X[:n_rows], y[:n_rows], groups=group[:n_rows])
    return surprise(model, X[n_rows:], y[n_rows:]), 1


def cube(seed, *, n_rows=2500, n_inputs=11):
    """Negative log density of a Gaussian process of all sets of two-valued columns."""
    X = signs(n_rows + 200, n_inputs, seed)
    y, _ = sum_of_products(X, seed, n_terms=20)
    y += 0.5 * np.random.default_rng(seed + 1).normal(size=len(y))
    model = MOHNRegressor("gp", random_state=seed)
    model.fit(X[:n_rows], y[:n_rows])
    return surprise(model, X[n_rows:], y[n_rows:]), 1


def study(seed, *, n_random=60, n_trials=20):
    """Best value of a study that begins with random trials, in standard deviations."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    f, n = sparse(16, seed)
    rng = np.random.default_rng(seed)
    names = [f"x{k}" for k in range(n)]
    switch = optuna.distributions.CategoricalDistribution([0, 1])
    values = []

    def objective(trial):
        point = [trial.suggest_categorical(name, [0, 1]) for name in names]
        values.append(f(point))
        return values[-1]

    search = optuna.create_study(sampler=MOHNSampler(seed=seed))
    for point in rng.integers(0, 2, (n_random, n)).tolist():
        values.append(f(point))
        search.add_trial(
            optuna.create_trial(
                params=dict(zip(names, point, strict=True)),
                distributions=dict.fromkeys(names, switch),
                value=values[-1],
            )
        )
    spread = np.std(values)
    search.optimize(objective, n_trials=n_trials)
    return search.best_value / spread, 1 + int(np.argmin(values))


WORKLOADS = {
    "_core": {
        "repeats": repeats,
        "copies": copies,
        "copies, jitter 0.02": partial(copies, jitter=0.02),
        "copied classes": copied_labels,
        "copied classes, 0.01": partial(copied_labels, jitter=0.01),
        "150 copied classes": partial(copied_labels, n_rows=150, jitter=0.01),
        "ties": ties,
    },
    "blm": {
        "device": device,
        "device, 8 bits": partial(device, n_bits=8),
        "device, numbers": device_numbers,
        "device, int16": partial(device_numbers, input_type="int16"),
        "control": control,
        "noisy control": partial(control, noise=0.05),
    },
    "energynet": {
        "held-out": partial(density, bits),
        "description": partial(density, bits, growth="description_length"),
        "infinite RBM": partial(
            density, bits, growth="infinite_rbm", max_layers=1, max_units=30
        ),
        "probabilities": partial(density, grays),
        "missing bits": partial(density, bits, n_rows=100, is_incomplete=True),
        "missing, description": partial(
            density, bits, n_rows=100, is_incomplete=True, growth="description_length"
        ),
        "missing, 30 units": partial(
            density, bits, n_rows=100, is_incomplete=True, n_components=30
        ),
        "60 units": partial(density, bits, n_components=60),
        "whitened": partial(
            density, lambda: load_breast_cancer().data[:, :5], whiten=True
        ),
        "whitened, missing": partial(
            density, lambda: load_wine().data[:, :6], whiten=True, is_incomplete=True
        ),
        "imputation": imputation,
        "draws": draws,
        "classes": classes,
        "numbers": numbers,
    },
    "integrations": {"study": study},
    "mohn": {
        "pursuit": partial(products, "pursuit"),
        "pursuit, clear": partial(products, "pursuit", n_rows=200, noise=0.1),
        "pursuit, exact": partial(products, "pursuit", noise=0.0, n_columns=10),
        "pursuit, terms": partial(listed, "pursuit"),
        "spike_slab": partial(products, "spike_slab", n_columns=10),
        "spike_slab, terms": partial(listed, "spike_slab", n_columns=10),
        "collinear": collinear,
        "auto": partial(products, "auto", n_columns=10),
        "msda": partial(products, "msda", noise=0.0, n_columns=10, max_iter=40),
        "tails": partial(heavy, n_rows=100),
        "smooth": smooth,
        "smooth, 15 rows": partial(smooth, n_rows=15),
        "uneven": partial(smooth, kind="uneven", strategy="gp"),
        "skewed": partial(smooth, kind="skewed", strategy="gp"),
        "steps": partial(smooth, kind="steps", strategy="gp"),
        "missing": partial(smooth, kind="missing", strategy="gp"),
        "categories": partial(smooth, kind="categories", strategy="gp"),
        "outliers": partial(smooth, kind="outliers"),
        "two values": partial(smooth, kind="two values"),
        "noise": weak,
        "weak": partial(weak, r2=0.2),
        "gp": partial(cube, n_rows=100),
        "cube": cube,
        "new groups": new_groups,
        "classes": partial(labels, "auto"),
        "logistic": partial(labels, "logistic"),
        "logistic, three": partial(labels, "logistic", n_classes=3),
        "gp classes": partial(labels, "gp"),
        "wine": wines,
        "variants": variants,
    },
    "optimize": {
        "NK 20": partial(black_box, partial(nk, 20, 3), 80),
        "NK 10": partial(black_box, partial(nk, 10, 3), 60),
        "NK 20, few": partial(black_box, partial(nk, 20, 3), 16),
        "sparse 24, few": partial(black_box, partial(sparse, 24), 16),
        "settings, few": partial(black_box, settings, 16),
        "sparse 24": partial(black_box, partial(sparse, 24), 100),
        "sparse 12, long": partial(black_box, partial(sparse, 12), 300),
        "noise": partial(black_box, partial(sparse, 12), 80, noise=1.0),
        "settings": partial(black_box, settings, 60),
        "sparse 16, long": partial(black_box, partial(sparse, 16), 400),
        "constraint": partial(black_box, partial(sparse, 30), 40, constraints=as_many),
        "asked": partial(asked, 12, 60),
        "annealing": partial(optimum, "annealing", 60),
        "many products": partial(optimum, "auto", 60),
        "penalty": partial(black_box, partial(tailed, 20), 100),
        "pursuit optimum": partial(model_optimum, "pursuit"),
        "gp optimum": partial(model_optimum, "gp"),
    },
}
