"""Faithfulness of explanations by the number of evaluations, in games of shapiq.

explain_game beside methods of shapiq, each with the same number of evaluations, in
games that shapiq defines, of which all values are known:

- sums of unanimity games of up to 5 of 15 players;
- models at one row, with columns masked: random forests on diabetes and on 14 columns
  of breast cancer, and a network on wine;
- the error of a forest over all rows, with columns masked; the uncertainty of a forest;
- columns to train a tree on; columns to cluster by; trees of a forest.

Printed are the R2 over all coalitions of what an explanation predicts, and errors of
Shapley values: root mean square, divided by the standard deviation of the exact ones;
means over seeds. What is predicted is, of ProxySPEX, the Fourier series that it fits;
of KernelSHAP-IQ (k-SII of order 2) and of permutation sampling (Shapley values), the
sum of the values of all subsets of a coalition; of faithful Banzhaf regression (FBII),
of orders up to 2, the same. Aims are a higher R2 than any of these, and smaller errors
of Shapley values.

The last table has other values of constants of explain_game.
"""

import argparse
import dataclasses
import time
import warnings
from unittest import mock

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import scale
from sklearn.tree import DecisionTreeRegressor

from benchmarks.shared import common, results
from skmohn._core._walsh import walsh_transform
from skmohn.inspection import _game_weights, explain_game

BUDGETS = (100, 400)
N_SEEDS = 2
OURS = "explain_game"
# Those of Butler et al. (2025), as shapiq has them.
GRID = {
    "max_depth": [3, 5],
    "n_estimators": [500, 1000],
    "learning_rate": [0.01, 0.1],
}
TAILS = (1e-3, 1e-4, 2e-5, 1e-5, 5e-6)


def bits(n):
    """All coalitions; player i is in those whose number has bit i."""
    return (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(bool)


class Tabulated:
    """Game whose values are all known."""

    def __init__(self, game, n):
        self.n = n
        self.coalitions = bits(n)
        self.values = np.concatenate(
            [np.asarray(game(part)) for part in np.array_split(self.coalitions, 16)]
        ).astype(float)
        self.n_evaluated = 0

    def __call__(self, coalitions):
        coalitions = np.atleast_2d(np.asarray(coalitions, dtype=bool))
        self.n_evaluated += len(coalitions)
        return self.values[coalitions @ (1 << np.arange(self.n))]

    def r2(self, predicted):
        """Fraction of the variance that predictions of all values explain."""
        return 1.0 - np.mean((predicted - self.values) ** 2) / np.var(self.values)


def shapley(values):
    """Exact Shapley values, by the sums of unanimity games (dividends)."""
    n = len(values).bit_length() - 1
    dividends, sizes = values.copy(), bits(n).sum(axis=1)
    for i in range(n):
        parts = dividends.reshape(-1, 2, 1 << i)
        parts[:, 1] -= parts[:, 0]
    per_player = dividends / np.maximum(sizes, 1)
    return per_player @ bits(n)


def make_games():
    """Yield names and games of shapiq."""
    import shapiq_games as games

    yield "unanimity", games.SOUM(15, 30, max_interaction_size=5, random_state=0), 15
    diabetes, target = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(random_state=0).fit(diabetes, target)
    local = games.TabularLocalExplanation
    options = {"sample_size": 20}
    yield "diabetes, forest", local(forest, diabetes, 0, **options), 10
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(random_state=0).fit(X[:, :14], y)
    yield "cancer, forest", local(model, X[:, :14], 0, **options), 14
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    model = MLPClassifier((30, 30), max_iter=500, random_state=0).fit(X, y)
    yield "wine, network", local(model, X, 70, **options), 13
    yield "diabetes, loss", games.TabularGlobalExplanation(forest, diabetes), 10
    model = RandomForestClassifier(random_state=0).fit(X, y)
    uncertain = games.TabularUncertaintyExplanation(model, X, 70, **options)
    yield "wine, uncertainty", uncertain, 13
    halves = diabetes[::2], target[::2], diabetes[1::2], target[1::2]
    tree = DecisionTreeRegressor(max_depth=4, random_state=0)
    yield "diabetes, columns", games.FeatureSelection(tree, *halves), 10
    yield "diabetes, clusters", games.ClusterExplanation(diabetes), 10
    forest = RandomForestRegressor(12, random_state=0).fit(*halves[:2])
    trees = games.RandomForestEnsembleSelection(forest, *halves[2:])
    yield "diabetes, trees", trees, 12


def sum_subsets(interactions, game):
    """Predict all values by sums of the values of subsets."""
    values = np.zeros(len(game.coalitions))
    for players, value in interactions.items():
        values += value * game.coalitions[:, list(players)].all(axis=1)
    return values


def ours(game, budget, seed):
    """Predictions and Shapley values of explain_game."""
    found = explain_game(game, game.n, n_evaluations=budget, random_state=seed)
    return found.predict(game.coalitions), found.shapley_values()


def proxy_spex(game, budget, seed):
    """Predictions and Shapley values of the Fourier series of ProxySPEX."""
    from lightgbm import LGBMRegressor
    from shapiq.approximator import ProxySPEX

    fourier = {}

    class Recorded(ProxySPEX):
        def fourier_to_moebius(self, four_dict):
            fourier.update(four_dict)
            return super().fourier_to_moebius(four_dict)

    booster = LGBMRegressor(verbose=-1, n_jobs=1, random_state=seed)
    proxy = GridSearchCV(booster, GRID, scoring="r2", cv=5)
    method = Recorded(n=game.n, proxy_model=proxy, random_state=seed)
    method.approximate(budget, game)
    series = np.zeros(len(game.coalitions))
    for players, weight in fourier.items():
        series[sum(1 << i for i in players)] += weight
    predicted = walsh_transform(series)
    return predicted, shapley(predicted)


def of_shapiq(kind, index, order, game, budget, seed):
    """Predictions of a method of shapiq, and its Shapley values, if it has any."""
    from shapiq import approximator

    options = {"n": game.n, "random_state": seed}
    options |= {} if index is None else {"index": index, "max_order": order}
    method = getattr(approximator, kind)(**options)
    found = dict(method.approximate(budget, game).dict_values)
    empty = found.setdefault((), float(game.values[0]))
    # Of some methods the value of nobody is that of the game, but is not listed.
    found[()] = empty or float(game.values[0])
    values = None
    if index in (None, "SV"):
        values = np.array([found.get((i,), 0.0) for i in range(game.n)])
    return sum_subsets(found, game), values


METHODS = {
    OURS: ours,
    "ProxySPEX": proxy_spex,
    "KernelSHAPIQ": lambda *run: of_shapiq("KernelSHAPIQ", "k-SII", 2, *run),
    "FBII": lambda *run: of_shapiq("RegressionFBII", "FBII", 2, *run),
    "Permutation": lambda *run: of_shapiq("PermutationSamplingSV", None, 1, *run),
    "KernelSHAP": lambda *run: of_shapiq("KernelSHAP", None, 1, *run),
    "LeverageSHAP": lambda *run: of_shapiq("LeverageSHAP", None, 1, *run),
}


def measure(run, game, budget, seeds):
    """Mean R2, error of Shapley values, seconds, and the most evaluations."""
    exact, rows, n_evaluated = shapley(game.values), [], 0
    for seed in range(seeds):
        game.n_evaluated, start = 0, time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted, values = run(game, budget, seed)
        seconds = time.process_time() - start
        n_evaluated = max(n_evaluated, game.n_evaluated)
        error = np.nan
        if values is not None:
            error = np.sqrt(np.mean((values - exact) ** 2)) / np.std(exact)
        rows.append((game.r2(predicted), error, seconds))
    return (*np.mean(rows, axis=0), n_evaluated)


def compare_tails(games, seeds):
    """Print what other fractions of the variance that is not listed change."""
    table = common.Table(
        f"explain_game with other values of max_tail, {max(BUDGETS)} evaluations",
        "max_tail mean_R2 mean_error",
        width=10,
    )
    for tail in sorted(TAILS):
        constants = dataclasses.replace(_game_weights._WEIGHTS, max_tail=tail)
        with mock.patch.object(_game_weights, "_WEIGHTS", constants):
            runs = [measure(ours, game, max(BUDGETS), seeds) for game in games]
        r2, error, _, _ = np.mean(runs, axis=0)
        table.row(f"{tail:.0e}", f"{r2:.4f}", f"{error:.4f}")
    print()


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--games", nargs="+", help="the beginnings of their names")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    results.begin(options)
    try:
        import lightgbm  # noqa: F401 - what ProxySPEX needs
        import shapiq  # noqa: F401
    except ImportError as error:
        results.leave_out(f"everything, which needs {error.name}")
        return
    chosen = tuple(options.games or [""])
    games = {
        name: Tabulated(game, n)
        for name, game, n in make_games()
        if name.startswith(chosen)
    }
    found = {
        (name, budget): {
            method: measure(METHODS[method], game, budget, options.seeds)
            for method in options.methods
        }
        for name, game in games.items()
        for budget in BUDGETS
    }
    aims = {"R2 over all coalitions": 0, "Errors of Shapley values": 1}
    for title, column in aims.items():
        table = common.Table(
            title, " ".join(["game", "evaluations", *options.methods]), width=20
        )
        for (name, budget), runs in found.items():
            cells = [run[column] for run in runs.values()]
            better = np.nanmin if column else np.nanmax
            met = cells[0] == better(cells)
            table.row(name, budget, *(f"{cell:.4f}" for cell in cells), met=met)
        table.close()
    table = common.Table(
        "Means over all runs", "method mean_R2 median_R2 seconds most", width=20
    )
    for method in options.methods:
        runs = np.array([each[method] for each in found.values()])
        table.row(
            method,
            f"{runs[:, 0].mean():.4f}",
            f"{np.median(runs[:, 0]):.4f}",
            f"{runs[:, 2].mean():.2f}",
            int(runs[:, 3].max()),
        )
    print()
    compare_tails(games.values(), options.seeds)


if __name__ == "__main__":
    results.record(main)
