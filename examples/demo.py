"""A tour of skmohn: a spin glass, few bits, few labels and more; see `make demo`."""

import re
import time
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no screen is needed

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.neural_network import BernoulliRBM, MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)
from threadpoolctl import threadpool_limits

import skmohn
from skmohn.blm import Stage
from skmohn.datasets import (
    InvertedPendulum,
    make_ising,
    make_mk_trap,
    make_sparse_walsh,
    make_two_spirals,
)
from skmohn.energynet import independent_bits
from skmohn.inspection import FiltersDisplay, SamplesDisplay

SIDE, N_ENERGIES = 8, 400
PICTURE = Path(__file__).resolve().with_name("demo.png")
POSITIVE, NEGATIVE, FALSE = "#c8553d", "#2e6f95", "#a8a294"
ORDERS = ["#7a8450", "#2e6f95", "#c8553d", "#8d6a9f", "#e0a458"]


# ------------------------------------------------------------------ 1. real data


def pipelines():
    """Name pipelines, each with three settings for a grid search to choose from."""
    mohn = Pipeline(
        [
            ("spread", QuantileTransformer(n_quantiles=50)),
            ("model", skmohn.MOHNRegressor(random_state=0)),
        ]
    )
    lasso = Pipeline(
        [
            ("expand", PolynomialFeatures(include_bias=False)),
            ("scale", StandardScaler()),
            ("model", LassoCV(max_iter=20_000)),
        ]
    )
    blm = Pipeline([("model", skmohn.BLMRegressor((10,), random_state=0))])
    boosting = Pipeline([("model", HistGradientBoostingRegressor(random_state=0))])
    forest = Pipeline([("model", RandomForestRegressor(random_state=0))])
    expansions = [
        {"expand__degree": [1]},
        {"expand__degree": [2], "expand__interaction_only": [True, False]},
    ]
    return {
        "MOHNRegressor": (mohn, {"model__max_order": [1, 2, 3]}),
        "BLMRegressor": (blm, {"model__alpha": [3, 10, 30]}),
        "PolynomialFeatures + LassoCV": (lasso, expansions),
        "HistGradientBoosting": (boosting, {"model__max_leaf_nodes": [4, 8, 31]}),
        "RandomForest": (forest, {"model__min_samples_leaf": [1, 3, 10]}),
    }


def real_data():
    """Compare tuned pipelines on the diabetes data and show what was found."""
    data = load_diabetes()
    heading("1. Diabetes: 442 patients, 10 measurements, progression after a year")
    print("5-fold cross-validation; inside the training folds a grid search chooses")
    print("one of three settings for each pipeline.\n")
    print(f"{'pipeline':<30}{'R2':>7}{'+-':>7}{'seconds':>9}")
    for name, (pipeline, grid) in pipelines().items():
        inner = KFold(3, shuffle=True, random_state=1)
        started = time.perf_counter()
        scores = cross_validate(
            GridSearchCV(pipeline, grid, cv=inner, n_jobs=2),
            data.data,
            data.target,
            cv=KFold(5, shuffle=True, random_state=0),
        )["test_score"]
        seconds = time.perf_counter() - started
        error = scores.std(ddof=1) / len(scores) ** 0.5
        print(f"{name:<30}{scores.mean():>7.3f}{error:>7.3f}{seconds:>9.1f}")

    model = skmohn.MOHNRegressor("pursuit", selection="cv", random_state=0)
    model.fit(data.data, data.target)
    print("\nWhat one model, fitted to all patients, says (the strongest weights):\n")
    print_structure(model, data.feature_names, n_rows=8)
    print(f"\nIt stopped because of {model.stopping_reason_}.")


# ------------------------------------------------------------------ 2. a spin glass


def spin_glass():
    """Recover the couplings of a spin glass; return it and the couplings found."""
    glass = make_ising(
        (SIDE, SIDE), n_samples=N_ENERGIES + 2000, couplings="gaussian", random_state=0
    )
    X, y = glass.X[:N_ENERGIES], glass.y[:N_ENERGIES]
    n_pairs = X.shape[1] * (X.shape[1] - 1) // 2
    heading(f"2. A spin glass: {SIDE} x {SIDE} spins, {N_ENERGIES} measured energies")
    print(f"Of {n_pairs:,} pairs, {len(glass.terms)} interact. Which, and how much?")
    print("R2 is that of 2,000 further energies.\n")
    print(f"{'learner':<30}{'R2':>7}{'found':>7}{'false':>7}{'seconds':>9}")
    # Only the lasso is told that nothing beyond pairs is needed.
    expand = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    learners = {
        "MOHNRegressor": skmohn.MOHNRegressor(random_state=0),
        "PolynomialFeatures + LassoCV": Pipeline(
            [("expand", expand), ("model", LassoCV())]
        ),
        "HistGradientBoosting": HistGradientBoostingRegressor(random_state=0),
        "RandomForest": RandomForestRegressor(random_state=0),
    }
    found = {}
    for name, learner in learners.items():
        started = time.perf_counter()
        learner.fit(X, y)
        seconds = time.perf_counter() - started
        if name == "MOHNRegressor":
            found[name] = dict(zip(learner.terms_, learner.weights_, strict=True))
        elif name == "PolynomialFeatures + LassoCV":
            columns = [tuple(np.flatnonzero(row)) for row in learner[0].powers_]
            weights = zip(columns, learner[1].coef_, strict=True)
            found[name] = {term: weight for term, weight in weights if weight}
        score = learner.score(glass.X[N_ENERGIES:], glass.y[N_ENERGIES:])
        right, wrong = count_right(found.get(name), glass.terms)
        print(f"{name:<30}{score:>7.3f}{right:>7}{wrong:>7}{seconds:>9.1f}")
    model = learners["MOHNRegressor"]
    print("\nThe strongest interactions (s3_4 is the spin in row 3 and column 4):\n")
    print_structure(model, glass.feature_names, n_rows=5)
    print(f"\nIt stopped because the recovery is {model.stopping_reason_}.")
    return glass, found


def count_right(found, true):
    """Count the true and the false terms; dashes for learners without terms."""
    if found is None:
        return "-", "-"
    right = len(set(found) & set(true))
    return right, len(found) - right


# ---------------------------------------------------- 3. the search, round by round


def watch_search():
    """Run the articles' stochastic search with validation data; return its history."""
    heading("3. The published search on a 10 x 10 spin glass, 3,000 energies")
    glass = make_ising((10, 10), n_samples=3000, random_state=0)
    for name, options in {
        'strategy="msda"': {"strategy": "msda", "learning_rule": "lasso"},
        'strategy="pursuit"': {"strategy": "pursuit"},
    }.items():
        model = skmohn.MOHNRegressor(random_state=0, early_stopping=True, **options)
        model.fit(glass.X, glass.y)
        verdict = "all 200 right" if model.terms_ == glass.terms else "not all right"
        rounds, seconds = model.n_iter_, model.history_[-1]["seconds"]
        print(f"{name:<30}{verdict}, {rounds} rounds, {seconds:.1f} s")
        if "learning_rule" in options:
            history = model.history_
    return history


# ---------------------------------------------------- 4. networks of a few bits


def low_bits():
    """Train networks of few bits on digits; return accuracies by number of bits."""
    heading("4. Networks of a few bits: 1,797 handwritten digits, 20 hidden units")
    X, y = load_digits(return_X_y=True)
    mlp = make_pipeline(
        StandardScaler(), MLPClassifier((20,), alpha=1.0, max_iter=500, random_state=0)
    )
    learners = {"MLPClassifier, 64-bit floats": (mlp, 64)}
    for n_bits in (8, 4, 3, 2):
        model = skmohn.BLMClassifier((20,), n_bits=n_bits, random_state=0)
        learners[f"BLMClassifier, {n_bits} bits"] = model, n_bits
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    print(f"{'network':<30}{'accuracy':>9}{'+-':>7}{'bytes':>8}{'seconds':>9}")
    accuracies = {}
    for name, (model, n_bits) in learners.items():
        started = time.perf_counter()
        scores = cross_val_score(model, X, y, cv=folds, n_jobs=2)
        seconds = time.perf_counter() - started
        error = scores.std(ddof=1) / len(scores) ** 0.5
        n_bytes = (64 + 1) * 20 * n_bits // 8 + (20 + 1) * 10 * n_bits // 8
        row = f"{scores.mean():>9.3f}{error:>7.3f}{n_bytes:>8,}{seconds:>9.1f}"
        print(f"{name:<30}{row}")
        accuracies[n_bits] = scores.mean()
    return accuracies


def learn_spirals():
    """Learn the two spirals; return the points and the map that the network draws."""
    X, y = make_two_spirals(return_X_y=True)
    model = skmohn.BLMClassifier(
        (20, 20),
        loss="squared",
        alpha=0,
        search_control=skmohn.SearchControl(w_init=2.0),
        n_restarts=3,
        random_state=0,
    )
    # Half a million moves are enough to see the arms, not to end the search.
    model.set_params(max_flips=500_000, n_iter_no_change=1000)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    print(
        f"\nTwo spirals, 12 bits: {model.score(X, y):.1%} of 194 points are right",
        end="",
    )
    print(f" ({time.perf_counter() - started:.1f} s)")
    side = np.linspace(-7, 7, 161)
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(side, side)])
    return X, y, model.predict_proba(grid)[:, 1].reshape(len(side), len(side))


# ---------------------------------------------------- 5. layers that grow


def grow_layers():
    """Grow layers on digits without their labels; return them and the images."""
    heading("5. Layers that grow: the digits again, now without labels")
    X = (load_digits().data > 6).astype(float)
    X_train, X_test = train_test_split(X, test_size=360, random_state=0)
    started = time.perf_counter()
    net = skmohn.EnergyNetTransformer(random_state=0).fit(X_train)
    seconds = time.perf_counter() - started
    widths = " + ".join(map(str, net.n_components_per_layer_))
    print(
        f"Of black and white images, found in {seconds:.1f} s: {widths} hidden units."
    )
    print(f"No more layers, since {net.stopping_reason_}.")
    # Without hidden units the partition function is a product.
    pixels = independent_bits(X_train)
    log_z = np.logaddexp(0.0, pixels.visible_bias).sum()
    alone = -pixels.free_energy(X_test).mean() - log_z
    print("Log-likelihood of 360 images that were not seen, in nats per image:")
    print(f"  with the layers {net.score(X_test):.1f}, pixel by pixel {alone:.1f}")
    return net, X


def few_labels():
    """Classify digits from ten labels of each, on features learnt without labels."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=720, stratify=y, random_state=0
    )
    n_units = 200
    ours = skmohn.EnergyNetTransformer(None, n_units, random_state=0)
    # The best of twelve settings on these very images.
    theirs = BernoulliRBM(n_units, learning_rate=0.1, n_iter=100, random_state=0)
    layers = {
        "the pixels": StandardScaler(),
        "random units": clone(ours).set_params(polish=0),
        "BernoulliRBM": make_pipeline(FunctionTransformer(lambda X: X / 16), theirs),
        "EnergyNetTransformer": ours,
    }
    print(
        "\nTen labels of each digit, 1,077 images to learn features from; accuracy of"
    )
    print("LogisticRegression on 720 others, ten draws of labels:\n")
    print(f"{'features':<30}{'accuracy':>9}{'+-':>7}{'seconds':>9}")
    for name, layer in layers.items():
        started = time.perf_counter()
        inputs = layer.fit(X_train).transform(X_train)
        seconds, scores = time.perf_counter() - started, []
        for draw in range(10):
            labelled, _ = train_test_split(
                np.arange(len(y_train)),
                train_size=100,
                stratify=y_train,
                random_state=draw,
            )
            classifier = LogisticRegression(max_iter=1000)
            classifier.fit(inputs[labelled], y_train[labelled])
            scores.append(classifier.score(layer.transform(X_test), y_test))
        error = np.std(scores, ddof=1) / len(scores) ** 0.5
        print(f"{name:<30}{np.mean(scores):>9.3f}{error:>7.3f}{seconds:>9.1f}")


# ---------------------------------------------------- 6. everything matters a little


def dense_landscape():
    """Learn a protein-like landscape with all its weights, and say how sure it is."""
    n_sites, n_rows = 13, 400
    heading(f"6. A protein of {n_sites} sites: {n_rows} of 8,192 variants measured")
    print("The energy is a sum over sites and ten pairs, what is measured is the share")
    print("of folded molecules: every interaction of any order matters a little.\n")
    energy = make_sparse_walsh(
        n_sites,
        {1: n_sites, 2: 10},
        n_samples=n_rows + 2000,
        weight_distribution="gaussian",
        random_state=3,
    )
    X, folded = energy.X, expit(3 * energy.y / energy.y.std())
    rng = np.random.default_rng(0)
    y = folded + rng.normal(scale=folded.std() / 7, size=len(folded))
    X_train, X_test, y_train, y_test = X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:]
    expand = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    learners = {
        'MOHNRegressor("dense")': skmohn.MOHNRegressor("dense"),
        "PolynomialFeatures + LassoCV": make_pipeline(expand, LassoCV()),
        "HistGradientBoosting": HistGradientBoostingRegressor(random_state=0),
        "RandomForest": RandomForestRegressor(random_state=0),
    }
    print(f"{'learner':<30}{'R2':>7}{'seconds':>9}")
    for name, learner in learners.items():
        started = time.perf_counter()
        learner.fit(X_train, y_train)
        seconds = time.perf_counter() - started
        print(f"{name:<30}{learner.score(X_test, y_test):>7.3f}{seconds:>9.1f}")
    model = learners['MOHNRegressor("dense")']
    mean, std = model.predict(X_test, return_std=True)
    held = np.mean(np.abs(y_test - mean) < 1.645 * std)
    print(f"\nIts 90 % intervals hold {held:.0%} of 2,000 other measurements.")
    print("The sites that matter most:", end=" ")
    print(", ".join(f"x{i}" for i in np.argsort(-model.relevance_)[:4]) + ".")
    print("\nThe same with a tenth of all values unknown:\n")
    seen = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    for name in ('MOHNRegressor("dense")', "HistGradientBoosting"):
        score = learners[name].fit(seen[:n_rows], y_train).score(seen[n_rows:], y_test)
        print(f"{name:<30}{score:>7.3f}")


# ---------------------------------------------------------------- 7. read a model


def read_model():
    """Ask a learnt model for its parts, what matters, and why it predicts so."""
    heading("7. Read a model: four traps of five bits, shuffled among 24 columns")
    rng = np.random.default_rng(0)
    traps = make_mk_trap(5, 4, n_samples=800, shuffle=True, random_state=0)
    X = np.hstack([traps.X, rng.choice([-1, 1], (800, 4))])
    model = skmohn.MOHNRegressor().fit(X, traps.y)
    linkage = model.linkage_
    print(f"{len(model.terms_)} weights. Columns that act together:")
    for component in linkage.components:
        print("  " + ", ".join(f"x{i}" for i in component))
    print("Columns without a weight: " + ", ".join(f"x{i}" for i in linkage.unused))
    indices = model.sobol_indices()
    alone, total = indices["first_order"][0], indices["total"][0]
    print(f"Share of the variance that x0 has: {alone:.1%} alone, {total:.1%} in all.")
    table = model.explain(X[0])
    print(f"\nThe first row is worth {np.sum(table['contribution']):.2f}, because of")
    for row in range(4):
        print(f"  {table['term'][row]:<24}{table['contribution'][row]:>8.3f}")
    print(f"  and {len(table['term']) - 4} terms more.")


# ------------------------------------------------- 8. columns that tell classes apart


def columns_for_classes():
    """Tell odd digits from even ones by a few products of pixels."""
    heading("8. Odd or even? Few products of pixels in the place of all pairs")
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        (X >= 8).astype(float), y % 2, test_size=0.4, stratify=y, random_state=0
    )
    pairs = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    validated = LogisticRegressionCV(
        l1_ratios=(0,), scoring="accuracy", use_legacy_attributes=False, max_iter=1000
    )
    features = skmohn.MOHNTransformer(max_columns=208, random_state=0)
    learners = {
        "pixels + LogisticRegressionCV": make_pipeline(validated),
        "PolynomialFeatures + the same": make_pipeline(pairs, validated),
        "MOHNTransformer + LogisticRegression": make_pipeline(
            features, LogisticRegression(C=0.1)
        ),
    }
    print(f"{'learner':<38}{'accuracy':>9}{'columns':>9}{'seconds':>9}")
    for name, learner in learners.items():
        started = time.perf_counter()
        learner.fit(X_train, y_train)
        seconds = time.perf_counter() - started
        score, columns = learner.score(X_test, y_test), learner[-1].coef_.shape[1]
        print(f"{name:<38}{score:>9.3f}{columns:>9}{seconds:>9.1f}")


# ------------------------------------------------------------------- 9. controllers


def balance():
    """Train networks to balance a pendulum on a cart, also without velocities."""
    heading("9. A pendulum on a cart, balanced by networks of a few bits")
    print("A simulator judges the weights; there are no samples and no gradients.")
    print("Tested on 50 other starts for 1000 simulated seconds each.\n")
    print(f"{'network':<38}{'seconds':>8}{'runs':>6}{'error':>10}{'falls':>7}")
    everything = InvertedPendulum(n_simulations=16)
    stages = [
        Stage(InvertedPendulum("positions", n, duration, transient=silent), goal)
        for duration, n, silent, goal in (
            (2.0, 16, 0.0, 0.1),
            (5.0, 16, 0.0, 0.1),
            (15.0, 32, 1.0, 0.02),
            (100.0, 16, 1.0, 0.01),
        )
    ]
    limits = {"n_restarts": 100, "max_evaluations": 300, "random_state": 0}
    for name, controller, task in (
        (
            "all four numbers, 2 bits a weight",
            skmohn.BLMController((5,), n_bits=2, w_max=5.0, goal=0.01, **limits),
            everything,
        ),
        (
            "all four numbers, 16 bits",
            skmohn.BLMController((5,), goal=1e-3, **limits),
            everything,
        ),
        (
            "no velocities, recurrent, 16 bits",
            skmohn.BLMController((10,), recurrent=True, **limits),
            stages,
        ),
    ):
        started = time.perf_counter()
        controller.fit(task)
        seconds = time.perf_counter() - started
        system = stages[0].objective if task is stages else task
        errors, falls = system.test(controller.policy_, random_state=1)
        n_fallen = np.isfinite(falls).sum()
        runs = controller.n_restarts_
        print(f"{name:<38}{seconds:>8.1f}{runs:>6}{errors.mean():>10.1e}{n_fallen:>7}")


# ---------------------------------------------------------------------- the picture


def draw(glass, found, history, accuracies, spirals, net, images):
    """Draw lattices, the search, networks and layers, and save the picture."""
    plt.rcParams.update({"font.size": 10, "axes.titlesize": 11, "figure.dpi": 130})
    figure = plt.figure(figsize=(13, 16.8), layout="constrained")
    rows = figure.subfigures(4, 1, height_ratios=[1.15, 1, 1, 1.1])
    above, below, bits, last = rows
    draw_answers(above, glass, found)
    below.suptitle(
        "The published search on a 10 x 10 spin glass, round by round",
        fontweight="bold",
    )
    left, right = below.subplots(1, 2)
    draw_errors(left, history)
    draw_orders(right, history, n_true=200)
    bits.suptitle("Networks trained on the bits of their weights", fontweight="bold")
    left, right = bits.subplots(1, 2, width_ratios=[1.3, 1])
    draw_bits(left, accuracies)
    draw_spirals(right, *spirals)
    last.suptitle("A layer that has grown on digits without labels", fontweight="bold")
    figure.get_layout_engine().set(wspace=0.04)
    draw_layer(last.subplots(1, 3), net, images)
    figure.savefig(PICTURE)


def draw_answers(figure, glass, found):
    """Draw the true couplings beside those that each learner has found."""
    figure.suptitle(
        f"Which of 2,016 pairs of spins interact? Answers from {N_ENERGIES} energies",
        fontweight="bold",
    )
    true = dict(zip(glass.terms, glass.weights, strict=True))
    panels = {f"The truth\n{len(true)} couplings": true}
    for name, weights in found.items():
        right, wrong = count_right(weights, true)
        panels[f"{name}\n{right} of {len(true)} found, {wrong} false"] = weights
    for axes, (title, weights) in zip(
        figure.subplots(1, len(panels)), panels.items(), strict=True
    ):
        draw_lattice(axes, weights, true, side=SIDE)
        axes.set_title(title)
    styles = {
        "negative coupling": {"color": NEGATIVE, "lw": 2.5},
        "positive coupling": {"color": POSITIVE, "lw": 2.5},
        "not there in truth": {"color": FALSE, "lw": 1},
    }
    handles = [Line2D([], [], label=name, **style) for name, style in styles.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)


def draw_lattice(axes, weights, true, side):
    """Draw the couplings of a torus; those that are not there in grey."""
    for term, weight in weights.items():
        if len(term) != 2:
            continue
        (row, column), (row2, column2) = (divmod(spin, side) for spin in term)
        if term not in true:
            axes.plot([column, column2], [row, row2], color=FALSE, lw=0.6, zorder=1)
            continue
        color = POSITIVE if weight > 0 else NEGATIVE
        style = {"color": color, "lw": 0.8 + 1.6 * abs(weight), "zorder": 2}
        style["solid_capstyle"] = "round"
        if abs(row - row2) + abs(column - column2) == 1:
            axes.plot([column, column2], [row, row2], **style)
        else:  # around the torus: a stub at either end
            down, across = np.sign(row2 - row), np.sign(column2 - column)
            axes.plot([column, column - 0.5 * across], [row, row - 0.5 * down], **style)
            axes.plot(
                [column2, column2 + 0.5 * across], [row2, row2 + 0.5 * down], **style
            )
    spins = np.arange(side)
    axes.scatter(
        np.tile(spins, side), np.repeat(spins, side), s=22, color="#333333", zorder=3
    )
    axes.set(xlim=(-0.7, side - 0.3), ylim=(side - 0.3, -0.7), aspect="equal")
    axes.axis("off")


def draw_errors(axes, history):
    """Draw training and validation error by round."""
    rounds = [record["iteration"] for record in history]
    for name, color in (("training", NEGATIVE), ("validation", POSITIVE)):
        errors = [record[f"{name}_rmse"] for record in history]
        axes.plot(rounds, errors, "o-", color=color, ms=3.5, label=name)
    axes.set(title="root mean squared error", xlabel="round", ylim=(0, None))
    finish(axes)


def draw_orders(axes, history, n_true):
    """Draw the number of weights, all and per order, by round."""
    rounds = [record["iteration"] for record in history]
    totals = [record["n_weights"] for record in history]
    axes.plot(rounds, totals, color="#333333", lw=2.2, label="all")
    for order, color in enumerate(ORDERS, start=1):
        counts = [sum(r["weights_per_order"][order - 1 : order]) for r in history]
        axes.plot(rounds, counts, color=color, label=f"order {order}")
    axes.axhline(n_true, color="#333333", lw=0.8, ls=":", zorder=1)
    axes.annotate(f"true: {n_true}", (rounds[0], n_true), (0, 3), **POINTS, fontsize=9)
    axes.set(title="weights in the model", xlabel="round", ylim=(0, None))
    finish(axes)


def draw_bits(axes, accuracies):
    """Draw accuracy by bits, beside the network in double precision."""
    exact = accuracies[64]
    bits = sorted(set(accuracies) - {64})
    axes.axhline(exact, color="#333333", lw=0.8, ls=":", zorder=1)
    axes.annotate(
        "64-bit floats, by gradients", (2, exact), (0, 3), **POINTS, fontsize=9
    )
    axes.plot(
        bits, [accuracies[n] for n in bits], "o-", color=NEGATIVE, label="BLMClassifier"
    )
    axes.set(
        title="accuracy on digits that were not seen",
        xlabel="bits of a weight",
        xticks=bits,
        ylim=(0.8, 1.0),
    )
    finish(axes)


def draw_spirals(axes, X, y, values):
    """Draw the map of the network that has learnt the two spirals."""
    axes.imshow(
        values, extent=(-7, 7, -7, 7), origin="lower", cmap="RdBu_r", vmin=0, vmax=1
    )
    axes.scatter(*X.T, c=y, cmap="RdBu_r", s=12, edgecolors="white", linewidths=0.4)
    axes.set_title("two spirals: points and the network's map")
    axes.axis("off")


def draw_layer(panels, net, images):
    """Draw what the units of the first layer look for, and images and samples."""
    FiltersDisplay.from_estimator(net, shape=(8, 8), ax=panels[0])
    n_units = net.n_components_per_layer_[0]
    panels[0].set_title(f"what its {n_units} units look for")
    SamplesDisplay(images[:36].reshape(-1, 8, 8)).plot(ax=panels[1])
    panels[1].set_title("digits")
    SamplesDisplay.from_estimator(net, n_samples=36, random_state=0, ax=panels[2])
    panels[2].set_title("samples that it draws")


POINTS = {"textcoords": "offset points"}


def finish(axes):
    """Give a panel its legend and take away what carries no information."""
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.02)


# ------------------------------------------------------------------------- printing


def heading(text):
    """Print a heading."""
    print(f"\n{text}\n{'-' * len(text)}")


def print_structure(model, names, n_rows):
    """Print the first rows of a structure table, which needs no pandas."""
    table = model.structure_table()
    print(f"{'interaction':<24}{'order':>6}{'weight':>10}{'error':>9}{'share':>8}")
    for row in range(min(n_rows, len(table["term"]))):
        # Without column names the table says x0, x1, ...
        term = re.sub(r"x(\d+)", lambda m: names[int(m[1])], table["term"][row])
        weight, error = table["weight"][row], table["standard_error"][row]
        share, order = table["variance_share"][row], table["order"][row]
        print(f"{term:<24}{order:>6}{weight:>10.3f}{error:>9.3f}{share:>8.1%}")


def main():
    """Compile, then learn from real data, recover a spin glass, and draw."""
    started = time.perf_counter()
    print(f"skmohn {skmohn.__version__}, compiling ...", end=" ", flush=True)
    skmohn.warm_up()
    print(f"{time.perf_counter() - started:.1f} s")
    # Each fit has one thread; a grid search runs two fits at once.
    with threadpool_limits(limits=1):
        real_data()
        glass, found = spin_glass()
        history = watch_search()
        accuracies = low_bits()
        spirals = learn_spirals()
        net, images = grow_layers()
        few_labels()
        dense_landscape()
        read_model()
        columns_for_classes()
        balance()
    draw(glass, found, history, accuracies, spirals, net, images)
    print(f"\nDone in {time.perf_counter() - started:.0f} s. The picture is in")
    print(PICTURE)


if __name__ == "__main__":
    main()
