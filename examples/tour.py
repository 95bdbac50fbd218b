"""A tour of the rest of skmohn, in about a minute: `make demo-all`.

It predicts two small tables, finds the interactions of a spin glass and of a black box,
searches the model, optimizes an expensive function, trains low-precision networks and a
controller, grows a layer, and ends with a problem on which others win. It needs nothing
but skmohn and matplotlib.
"""

import math
import time
from pathlib import Path

import common
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from scipy.special import expit
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_friedman1,
)
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV, LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import (
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import skmohn
from skmohn.datasets import (
    InvertedPendulum,
    make_ising,
    make_mk_trap,
    make_sparse_walsh,
)
from skmohn.inspection import FiltersDisplay, SamplesDisplay
from skmohn.optimize import maximize, minimize_black_box

SIDE, N_ENERGIES = 8, 400
# Variance of a function to that of the noise.
RATIO, NOISIER = 100.0, (1000.0, 30.0, 10.0, 3.0)
LASSO = "PolynomialFeatures + LassoCV"
PICTURE = Path(__file__).resolve().with_name("tour.png")
SERUM_CHOLESTEROL = 4  # column of load_diabetes
POSITIVE, NEGATIVE, FALSE = common.RED, common.BLUE, common.GRAY


# ------------------------------------------------------------------ the sections


def small_tables():
    """Predict numbers and classes of tables with missing values, by defaults."""
    common.heading("Small tables, as they are")
    print(
        "442 patients: how far did their diabetes go? 178 wines: from which grower? One"
    )
    print("cell in ten is empty. Defaults, half of the rows to learn from.\n")
    print(f"{'':<30}{'R2':>8}{'log loss':>10}{'seconds':>9}")
    numbers = halves_with_missing_values(load_diabetes)
    classes = halves_with_missing_values(load_wine)
    learners = {
        "MOHN": (
            skmohn.MOHNRegressor(random_state=0),
            skmohn.MOHNClassifier(random_state=0),
        ),
        "RandomForest": (
            make_pipeline(SimpleImputer(), RandomForestRegressor(random_state=0)),
            make_pipeline(SimpleImputer(), RandomForestClassifier(random_state=0)),
        ),
        "HistGradientBoosting": (
            HistGradientBoostingRegressor(random_state=0),
            HistGradientBoostingClassifier(random_state=0),
        ),
    }
    for name, (regressor, classifier) in learners.items():
        X, X_test, y, y_test = numbers
        _, seconds = timed(regressor.fit, X, y)
        score = regressor.score(X_test, y_test)
        X, X_test, y, y_test = classes
        _, more = timed(classifier.fit, X, y)
        loss = log_loss(y_test, classifier.predict_proba(X_test))
        print(f"{name:<30}{score:>8.3f}{loss:>10.3f}{seconds + more:>9.1f}")


def halves_with_missing_values(load):
    """Load a table, empty some cells, and split it in halves."""
    X, y = load(return_X_y=True)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    return train_test_split(X, y, test_size=0.5, random_state=0)


def spin_glass():
    """Recover the couplings of a noisy spin glass; return it and those found."""
    glass = make_ising(
        (SIDE, SIDE), n_samples=N_ENERGIES + 2000, couplings="gaussian", random_state=0
    )
    X, y = glass.X[:N_ENERGIES], measure(glass, RATIO)
    n_pairs = X.shape[1] * (X.shape[1] - 1) // 2
    common.heading("Find the interactions")
    print(f"{SIDE * SIDE} spins, {N_ENERGIES} measured energies, noise a hundredth of")
    print(f"their variance. Of {n_pairs:,} pairs, {len(glass.terms)} interact. Which")
    print("ones? R2 is on 2,000 new energies without noise.\n")
    print(f"{'':<30}{'found':>7}{'false':>7}{'R2':>8}{'seconds':>9}")
    learners = learners_of_products()
    found = {}
    for name, learner in learners.items():
        _, seconds = timed(learner.fit, X, y)
        if name == "MOHNRegressor":
            found[name] = dict(zip(learner.terms_, learner.weights_, strict=True))
        elif name == LASSO:
            columns = [tuple(np.flatnonzero(row)) for row in learner[0].powers_]
            weights = zip(columns, learner[1].coef_, strict=True)
            found[name] = {term: weight for term, weight in weights if weight}
        score = learner.score(glass.X[N_ENERGIES:], glass.y[N_ENERGIES:])
        right, wrong = count_right(found.get(name), glass.terms)
        print(f"{name:<30}{right:>7}{wrong:>7}{score:>8.3f}{seconds:>9.1f}")
    model = learners["MOHNRegressor"]
    print("\nThe strongest of them (s3_4 is the spin in row 3 and column 4):\n")
    print_structure(model, glass.feature_names, n_rows=3)
    return glass, found


def measure(glass, ratio):
    """Energies with noise, of which the function has `ratio` times the variance."""
    rng = np.random.default_rng(1)
    noise = math.sqrt(np.sum(np.square(glass.weights)) / ratio)
    return glass.y[:N_ENERGIES] + noise * rng.standard_normal(N_ENERGIES)


def along_noise(glass):
    """Learn the glass from noisier energies; return R2 of each learner."""
    print("\nThe same with more noise, R2:\n")
    ratios = ", ".join(f"{ratio:g}" for ratio in NOISIER)
    print(f"{'variance of function to noise':<30}" + ratios.replace(", ", "       "))
    scores = {}
    for name in learners_of_products():
        scores[name] = []
        for ratio in NOISIER:
            learner = learners_of_products()[name]
            learner.fit(glass.X[:N_ENERGIES], measure(glass, ratio))
            score = learner.score(glass.X[N_ENERGIES:], glass.y[N_ENERGIES:])
            scores[name].append(score)
        print(f"{name:<30}" + "".join(f"{score:<9.2f}" for score in scores[name]))
    return scores


def learners_of_products():
    """Name learners; only the lasso knows that pairs are all it needs."""
    expand = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    return {
        "MOHNRegressor": skmohn.MOHNRegressor(random_state=0),
        LASSO: make_pipeline(expand, LassoCV()),
        "HistGradientBoosting": HistGradientBoostingRegressor(random_state=0),
        "RandomForest": RandomForestRegressor(random_state=0),
    }


def read_and_search():
    """Read the model of a black box of deceptive traps, and find its maximum."""
    common.heading("Read the model, and search it")
    print("A black box of 24 switches, 800 measurements. What is inside?\n")
    rng = np.random.default_rng(0)
    traps = make_mk_trap(5, 4, n_samples=800, shuffle=True, random_state=0)
    X = np.hstack([traps.X, rng.choice([-1, 1], (800, 4))])
    model = skmohn.MOHNRegressor().fit(X, traps.y)
    graph = model.interaction_graph_
    print("Switches that interact:")
    for component in graph.components:
        print("  " + ", ".join(f"x{i}" for i in component))
    print("Switches in no term: " + ", ".join(f"x{i}" for i in graph.unused))
    best = maximize(model, random_state=0)
    print(f"\nBest of the 800 measured: {traps.y.max():.0f}.")
    print(f"Best that a search of the model finds: {best.fun:.0f}, the true maximum.")


def ask_little():
    """Find the best settings of an expensive function, with few evaluations."""
    common.heading("Ask an expensive function as little as possible")
    space = {
        "optimization": ["-O1", "-O2", "-O3", "-Os"],
        "allocator": ["system", "jemalloc", "mimalloc"],
        "unroll": [False, True],
        "vectorize": [False, True],
        "threads": [1, 2, 4, 8, 16],
        "inline": list(range(10)),
    }

    def seconds(setting):
        speed = {"-O1": 0, "-O2": 3, "-O3": 4, "-Os": 2}[setting["optimization"]]
        speed += 3 * setting["unroll"] * setting["vectorize"] - setting["unroll"]
        speed += np.log2(setting["threads"]) * (setting["allocator"] != "system")
        return 20 - speed + 0.1 * (setting["inline"] - 6) ** 2

    n_settings = math.prod(map(len, space.values()))
    print(f"A program with {n_settings:,} settings. How fast can it be?\n")
    result = minimize_black_box(seconds, space, 60, noise=0, random_state=0)
    for n_runs in (10, 20, 40, 60):
        best = result.history[n_runs - 1]["best"]
        print(f"after {n_runs} runs: {best:.1f} seconds")
    chosen = ", ".join(f"{name} {value}" for name, value in result.x.items())
    print(f"\nBest setting: {chosen}.")


def everything_matters():
    """Learn all weights of a protein-like landscape; return predictions."""
    n_sites, n_rows = 13, 400
    common.heading("Know the uncertainty of a prediction")
    print("A protein with 13 sites, where every interaction matters a little.")
    print(f"{n_rows} of 8,192 variants are measured; R2 is on 2,000 others.\n")
    energy = make_sparse_walsh(
        n_sites,
        {1: n_sites, 2: 10},
        n_samples=n_rows + 2000,
        weight_distribution="gaussian",
        random_state=3,
    )
    folded = expit(3 * energy.y / energy.y.std())
    rng = np.random.default_rng(0)
    y = folded + rng.normal(scale=folded.std() / 7, size=len(folded))
    X, X_test, y, y_test = energy.X[:n_rows], energy.X[n_rows:], y[:n_rows], y[n_rows:]
    learners = learners_of_products()
    print(f"{'':<30}{'R2':>8}{'seconds':>9}")
    for name, learner in learners.items():
        _, seconds = timed(learner.fit, X, y)
        print(f"{name:<30}{learner.score(X_test, y_test):>8.3f}{seconds:>9.1f}")
    mean, std = learners["MOHNRegressor"].predict(X_test, return_std=True)
    held = np.mean(np.abs(y_test - mean) < 1.645 * std)
    print(f"\nIts 90 % intervals hold {held:.0%} of the 2,000 measurements.")
    return mean[:60], std[:60], y_test[:60]


def low_precision():
    """Train low-precision networks; return the accuracy of each."""
    common.heading("Train low-precision networks")
    print("Breast cancer: 569 patients, 30 measurements, 10 hidden units.")
    print("Accuracy over five folds, and its standard error.\n")
    X, y = load_breast_cancer(return_X_y=True)
    mlp = MLPClassifier((10,), alpha=1.0, max_iter=1000, random_state=0)
    learners = {"MLPClassifier, 64 bits": (make_pipeline(StandardScaler(), mlp), 64)}
    for n_bits in (8, 4, 2):
        model = skmohn.BLMClassifier((10,), n_bits=n_bits, random_state=0)
        learners[f"BLMClassifier, {n_bits} bits"] = model, n_bits
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    print(f"{'':<30}{'accuracy':>9}{'+-':>7}{'bytes':>7}{'seconds':>9}")
    accuracies = {}
    for name, (model, n_bits) in learners.items():
        scores, seconds = timed(cross_val_score, model, X, y, cv=folds)
        n_bytes = ((30 + 1) * 10 + 10 + 1) * n_bits // 8
        error = scores.std(ddof=1) / len(scores) ** 0.5
        row = f"{scores.mean():>9.3f}{error:>7.3f}{n_bytes:>7,}{seconds:>9.1f}"
        print(f"{name:<30}{row}")
        accuracies[n_bits] = scores.mean(), error
    return accuracies


def balance():
    """Train a controller of two-bit weights on a simulator; return a path."""
    common.heading("Control without gradients")
    print("A pole on a cart; the controller has weights of two bits.")
    pendulum = InvertedPendulum(n_simulations=16)
    controller = skmohn.BLMController(
        (5,), n_bits=2, w_max=5.0, goal=0.01, n_restarts=100, max_evaluations=300,
        random_state=0,
    )  # fmt: skip
    _, seconds = timed(controller.fit, pendulum)
    _, falls = pendulum.test(controller.policy_, random_state=1)
    print(f"Trained in {seconds:.1f} s. It keeps the pole upright in", end=" ")
    print(f"{np.isinf(falls).sum()} of {len(falls)} tests of 1,000 seconds.")
    return pendulum.trace(controller.policy_, start=0.4, duration=30.0)


def grow_layer():
    """Grow layers on digits without their labels; return them and the images."""
    common.heading("Let layers grow")
    print("1,797 handwritten digits, without labels.")
    X = (load_digits().data > 6).astype(float)
    net = skmohn.EnergyNetTransformer("description_length", random_state=0)
    _, seconds = timed(net.fit, X)
    widths = " + ".join(map(str, net.n_components_per_layer_))
    print(f"Found in {seconds:.1f} s: {widths} hidden units are worth their cost.")
    return net, X


def few_labels():
    """Classify digits from ten labels of each, on features learned without labels."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=720, stratify=y, random_state=0
    )
    layer = skmohn.EnergyNetTransformer(None, 200, random_state=0)
    inputs = {"the pixels": StandardScaler(), "200 hidden units": layer}
    print("\nLogisticRegression with ten labels of each digit, ten draws of labels;")
    print("the features are learned from 1,077 images without labels.\n")
    print(f"{'':<30}{'accuracy':>9}{'+-':>7}{'seconds':>9}")
    for name, features in inputs.items():
        Z, seconds = timed(features.fit_transform, X)
        Z_test, scores = features.transform(X_test), []
        for draw in range(10):
            labeled, _ = train_test_split(
                np.arange(len(y)), train_size=100, stratify=y, random_state=draw
            )
            classifier = LogisticRegression(max_iter=1000).fit(Z[labeled], y[labeled])
            scores.append(classifier.score(Z_test, y_test))
        error = np.std(scores, ddof=1) / len(scores) ** 0.5
        print(f"{name:<30}{np.mean(scores):>9.3f}{error:>7.3f}{seconds:>9.1f}")


def anomalies():
    """Detect anomalies in a table of numbers and categories by their density."""
    age, sex, *others = load_diabetes(scaled=False).data.T
    sex = np.where(sex == 1, "female", "male")
    people = np.stack([age, sex.astype(object), *others], axis=1)
    rng = np.random.default_rng(0)
    known, new = train_test_split(people, random_state=0)
    known[rng.random(known.shape) < 0.1] = np.nan
    # All values are common, but not beside one another.
    swapped = new.copy()
    swapped[:, SERUM_CHOLESTEROL] = rng.permutation(new[:, SERUM_CHOLESTEROL])
    net = skmohn.EnergyNetTransformer(whiten=True, random_state=0)
    _, seconds = timed(net.fit, known)
    density = np.concatenate([net.score_samples(new), net.score_samples(swapped)])
    area = roc_auc_score(np.repeat([1, 0], len(new)), density)
    print("\n331 people with ten values each; a tenth is missing. Of 111 others one")
    print("value is swapped for that of another person. How well does the density")
    print(f"detect it? Area under the ROC curve {area:.3f}, in {seconds:.1f} s.")


def where_others_win():
    """Compare on a smooth function of numbers."""
    common.heading("Where others win")
    print("Friedman's problem: 200 rows of 10 numbers, of which five matter, smoothly.")
    print("R2 is on 2,000 new rows. Gaussian processes are made for this.\n")
    X, y = make_friedman1(2200, noise=1.0, random_state=0)
    # Length scales without an upper end, for numbers that do not matter.
    scales = RBF(np.ones(10), length_scale_bounds=(1e-2, 1e15))
    kernel = ConstantKernel() * scales + WhiteKernel()
    learners = {
        "GaussianProcessRegressor": GaussianProcessRegressor(kernel, normalize_y=True),
        "MOHNRegressor": skmohn.MOHNRegressor(random_state=0),
        "BLMRegressor": skmohn.BLMRegressor((20,), random_state=0),
        "HistGradientBoosting": HistGradientBoostingRegressor(random_state=0),
        "RandomForest": RandomForestRegressor(random_state=0),
    }
    print(f"{'':<30}{'R2':>8}{'seconds':>9}")
    for name, learner in learners.items():
        _, seconds = timed(learner.fit, X[:200], y[:200])
        print(f"{name:<30}{learner.score(X[200:], y[200:]):>8.3f}{seconds:>9.1f}")
    print("\nThe page Benchmarks of the documentation has more losses, and more wins.")


# ---------------------------------------------------------------------- the picture


def draw(glass, found, scores, intervals, accuracies, path, net, images):
    """Draw lattices, intervals, networks and layers, and save the picture."""
    plt.rcParams.update({"font.size": 10, "axes.titlesize": 11, "figure.dpi": 130})
    figure = plt.figure(figsize=(15, 14), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12)
    above, middle, below = figure.subfigures(3, 1, height_ratios=[1.3, 1, 1.1])
    draw_answers(above, glass, found)
    panels = middle.subplots(1, 4)
    draw_noise(panels[0], scores)
    draw_intervals(panels[1], *intervals)
    draw_bits(panels[2], accuracies)
    draw_path(panels[3], path)
    below.suptitle("A layer that has grown on digits, without labels", weight="bold")
    draw_layer(below.subplots(1, 3), net, images)
    figure.savefig(PICTURE)


def draw_answers(figure, glass, found):
    """Draw the true couplings beside those that each learner has found."""
    figure.suptitle(
        f"Which of 2,016 pairs of spins interact? Answers from {N_ENERGIES} energies, "
        "noise 1 % of their variance",
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


def draw_noise(axes, scores):
    """Draw R2 along noise."""
    colors = POSITIVE, NEGATIVE, FALSE, common.BLACK
    for (name, values), color in zip(scores.items(), colors, strict=True):
        axes.plot(NOISIER, values, "o-", color=color, label=name.split(" + ")[-1])
    axes.set(
        xscale="log",
        xlabel="variance of function to noise",
        ylabel="R2 on new energies",
    )
    axes.set_xticks(NOISIER, [f"{ratio:g}" for ratio in NOISIER])
    axes.set_xticks([], minor=True)
    axes.invert_xaxis()
    axes.set_ylim(-0.12, 1.05)
    axes.set_title(f"{N_ENERGIES} energies, more noise", fontweight="bold")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 0.13), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def draw_lattice(axes, weights, true, side):
    """Draw the couplings of a torus; those that are not there in gray."""
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
        np.tile(spins, side), np.repeat(spins, side), s=22, color=common.BLACK, zorder=3
    )
    axes.set(xlim=(-0.7, side - 0.3), ylim=(side - 0.3, -0.7), aspect="equal")
    axes.axis("off")


def draw_intervals(axes, mean, std, y):
    """Draw predictions with their intervals, and what was measured."""
    order = np.argsort(mean)
    places, half = np.arange(len(mean)), 1.645 * std[order]
    bars = {"fmt": "none", "ecolor": NEGATIVE, "elinewidth": 3, "alpha": 0.5}
    axes.errorbar(places, mean[order], half, label="90 % interval", **bars)
    axes.scatter(places, y[order], s=10, color=common.BLACK, label="measured", zorder=3)
    axes.set(xlabel="60 held-out variants", ylabel="fraction folded", xticks=[])
    finish(axes, "The uncertainty of predictions")


def draw_bits(axes, accuracies):
    """Draw accuracy by bits."""
    names = [f"{n_bits} bits" for n_bits in accuracies]
    means, errors = zip(*accuracies.values(), strict=True)
    style = {"fmt": "o", "capsize": 4}
    axes.errorbar(
        0, means[0], errors[0], color=common.BLACK, label="MLPClassifier", **style
    )
    places = range(1, len(names))
    axes.errorbar(
        places, means[1:], errors[1:], color=NEGATIVE, label="BLMClassifier", **style
    )
    axes.set_xticks(range(len(names)), names)
    axes.set(xlabel="size of a weight", ylabel="accuracy", ylim=(0.9, 1.0))
    axes.margins(x=0.15)
    finish(axes, "Breast cancer, by low-precision networks")


def draw_path(axes, path):
    """Draw how the controller brings the pole upright and the cart back."""
    axes.plot(path.time, path.x, color=NEGATIVE, label="position (m)")
    axes.plot(path.time, path.angle, color=POSITIVE, label="angle (rad)")
    axes.set(xlabel="time (s)", ylabel="position, angle")
    finish(axes, "A pole on a cart, by weights of two bits")


def draw_layer(panels, net, images):
    """Draw what the units of the first layer look for, and images and samples."""
    FiltersDisplay.from_estimator(net, shape=(8, 8), ax=panels[0])
    n_units = net.n_components_per_layer_[0]
    panels[0].set_title(f"what its {n_units} units look for")
    SamplesDisplay(images[:36].reshape(-1, 8, 8)).plot(ax=panels[1])
    panels[1].set_title("digits")
    SamplesDisplay.from_estimator(net, n_samples=36, random_state=0, ax=panels[2])
    panels[2].set_title("new ones that it draws")


def finish(axes, title):
    """Give a panel its title, and its legend below the axes."""
    axes.set_title(title, fontweight="bold")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


# ------------------------------------------------------------------------- printing


def timed(function, *args, **kwargs):
    """Call a function; return what it returns, and seconds."""
    started = time.perf_counter()
    result = function(*args, **kwargs)
    return result, time.perf_counter() - started


def count_right(found, true):
    """Count the true and the false terms; dashes for learners without terms."""
    if found is None:
        return "-", "-"
    right = len(set(found) & set(true))
    return right, len(found) - right


def print_structure(model, names, n_rows):
    """Print the terms of the largest weights; `terms_table` needs pandas."""
    print(f"{'interaction':<24}{'weight':>10}{'standard error':>18}")
    for i in np.argsort(-np.abs(model.weights_))[:n_rows]:
        term = " x ".join(names[spin] for spin in model.terms_[i])
        weight, error = model.weights_[i], model.standard_errors_[i]
        print(f"{term:<24}{weight:>10.3f}{error:>18.3f}")


def main():
    """Compile, go through the sections, and draw."""
    started = common.begin()
    small_tables()
    glass, found = spin_glass()
    scores = along_noise(glass)
    read_and_search()
    ask_little()
    intervals = everything_matters()
    accuracies = low_precision()
    path = balance()
    net, images = grow_layer()
    few_labels()
    anomalies()
    where_others_win()
    draw(glass, found, scores, intervals, accuracies, path, net, images)
    print(f"\nDone in {time.perf_counter() - started:.0f} s. The picture is in")
    print(PICTURE)


if __name__ == "__main__":
    main()
