"""Settings that a search of hyperparameters tries until one is as good as the grid's.

Pipelines and data of scikit-learn and of `SKMOHN_DATA` (in benchmarks/shared), whose
grids are scored in five folds once, and kept in the folder of --grids; searches
look these scores up. Printed are, by pair, medians over the seeds of the settings tried
until a mean score is within 1 % of the best one's distance from the median of the grid
("hard"), and within 1 % of the best score itself ("easy"); a run that finds none counts
as its budget. For "folds" the fits until then are counted, in units of the folds of a
setting: races save some. Aimed at are half of RandomizedSearchCV's settings, and no
more than those of Optuna's TPE and of SMAC3, which `pip install smac` builds where SWIG
is installed.

The first table is of races alone, of settings in random order: the fraction of folds
that are run, the fraction of runs that give the best setting up, and the mean loss of
score by that.
"""

import argparse
import importlib.util
import tempfile
import warnings
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator

from benchmarks.shared import common, results, search_grids
from skmohn import BlackBoxSearchCV
from skmohn.model_selection._trials import winning_probability

N_EVALUATIONS = 100
N_FOLDS = search_grids.N_FOLDS
ONE_PERCENT = 0.01
RACES = [(2, 0.01), (2, 0.05), (2, 0.2), (3, 0.05)]


def key_of(setting):
    """Return what identifies a setting."""
    return tuple(sorted((name, repr(value)) for name, value in setting.items()))


class Lookup(BaseEstimator):
    """Estimator whose scores are in a table; a row of X is the index of its fold."""

    def __init__(self, scores=None, index=None):
        self.scores = scores
        self.index = index

    def __sklearn_clone__(self):
        return Lookup(self.scores, self.index)

    def set_params(self, **params):
        self.setting = params
        return self

    def fit(self, X, y=None):
        return self

    def score(self, X, y=None):
        return float(self.scores[self.index[key_of(self.setting)], int(X[0, 0])])


def random_search(grid, settings, scores, seed, n):
    """Return indices of settings in the order of trial, and the folds of each."""
    order = np.random.default_rng(seed).permutation(len(settings))[:n]
    return order, np.full(n, N_FOLDS)


def ours(racing, grid, settings, scores, seed, n):
    """Try settings by BlackBoxSearchCV."""
    index = {key_of(setting): i for i, setting in enumerate(settings)}
    folds = np.arange(N_FOLDS)
    splits = [(folds[folds != k], folds[folds == k]) for k in folds]
    search = BlackBoxSearchCV(
        Lookup(np.nan_to_num(scores, nan=-1.0), index),
        grid,
        n_evaluations=n,
        racing=racing,
        cv=splits,
        refit=False,
        random_state=seed,
    )
    found = search.fit(folds[:, None].astype(float)).cv_results_
    order = [index[key_of(setting)] for setting in found["params"]]
    return np.array(order), found["n_splits_run"]


def number_grids(grid, settings):
    """Return the number of grids, the index of settings, and the parameters.

    A parameter is known by the number of its grid and its name, and has an order if all
    its values are numbers.
    """
    grids = [grid] if isinstance(grid, dict) else grid
    index = {key_of(setting): i for i, setting in enumerate(settings)}
    parameters = {
        f"{g} {name}": (g, name, [*values], all(map(is_number, values)))
        for g, each in enumerate(grids)
        for name, values in each.items()
    }
    return len(grids), index, parameters


def is_number(value):
    """Return whether a value is a number."""
    return isinstance(value, int | float)


def tpe(grid, settings, scores, seed, n):
    """Try settings by Optuna's TPE, with numbers by their rank in the grid."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    n_grids, index, parameters = number_grids(grid, settings)
    order = []

    def suggest(trial, where, values, is_ordered):
        if is_ordered:
            return values[trial.suggest_int(where, 0, len(values) - 1)]
        return values[trial.suggest_categorical(where, list(range(len(values))))]

    def objective(trial):
        which = trial.suggest_categorical("which", list(range(n_grids)))
        setting = {
            name: suggest(trial, where, values, is_ordered)
            for where, (g, name, values, is_ordered) in parameters.items()
            if g == which
        }
        i = index[key_of(setting)]
        order.append(i)
        return float(np.nan_to_num(scores[i].mean(), nan=-1.0))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True)
        optuna.create_study(direction="maximize", sampler=sampler).optimize(
            objective, n_trials=n
        )
    # What was known already costs nothing.
    order = list(dict.fromkeys(order))
    return np.array(order), np.full(len(order), N_FOLDS)


def smac(grid, settings, scores, seed, n):
    """Try settings by SMAC3 for hyperparameters, with numbers by their rank."""
    from ConfigSpace import Categorical, ConfigurationSpace, EqualsCondition, Integer
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    n_grids, index, parameters = number_grids(grid, settings)
    space = ConfigurationSpace(seed=seed)
    which = Categorical("which", range(n_grids))
    space.add(which)
    for where, (g, _, values, is_ordered) in parameters.items():
        # A range of one number is refused.
        if is_ordered and len(values) > 1:
            rank = Integer(where, (0, len(values) - 1))
        else:
            rank = Categorical(where, range(len(values)))
        space.add(rank)
        if n_grids > 1:
            space.add(EqualsCondition(rank, which, g))
    order = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scenario = Scenario(
            space, deterministic=True, n_trials=n, seed=seed, output_directory=folder
        )
        facade = HyperparameterOptimizationFacade
        # By default it ends where most of a small grid is known.
        selector = facade.get_config_selector(scenario, retries=1000)
        search = facade(
            scenario,
            lambda config, seed: None,
            config_selector=selector,
            overwrite=True,
            logging_level=50,
        )
        for _ in range(n):
            trial = search.ask()
            setting = {
                name: values[trial.config[where]]
                for where, (_, name, values, _) in parameters.items()
                if where in trial.config
            }
            i = index[key_of(setting)]
            order.append(i)
            cost = -float(np.nan_to_num(scores[i].mean(), nan=-1.0))
            search.tell(trial, TrialValue(cost=cost))
    return np.array(order), np.full(len(order), N_FOLDS)


METHODS = {
    "RandomizedSearchCV": random_search,
    "TPE": tpe,
    "SMAC3": smac,
    "ours, no races": partial(ours, False),
    "ours": partial(ours, True),
}


def trials_until(target, order, n_run, means, budget):
    """Return settings tried, and folds run in units of settings, until a mean."""
    good = (means[order] >= target) & (n_run == N_FOLDS)
    if not good.any():
        return budget, max(budget, n_run.sum() / N_FOLDS)
    first = int(np.argmax(good))
    return first + 1, n_run[: first + 1].sum() / N_FOLDS


def race(scores, min_folds, max_probability, order):
    """Race settings in an order; return the fraction of folds run, and the best."""
    best, n_run = order[0], N_FOLDS
    for i in order[1:]:
        n = min_folds
        while (
            n < N_FOLDS
            and winning_probability(scores[i, :n], scores[best]) >= max_probability
        ):
            n += 1
        n_run += n
        if n == N_FOLDS and scores[i].mean() > scores[best].mean():
            best = i
    return n_run / (N_FOLDS * len(order)), best


def compare_races(tables, n_seeds):
    """Print what races save and lose, by their parameters."""
    table = common.Table(
        "Races of 60 settings in random order",
        "min_folds max_probability folds best_lost mean_loss",
        width=16,
    )
    for min_folds, max_probability in RACES:
        rows = []
        for _, _, scores in tables.values():
            scores = np.nan_to_num(scores, nan=-1.0)
            means = scores.mean(axis=1)
            for seed in range(n_seeds):
                order = np.random.default_rng(seed).permutation(len(means))[:60]
                used, best = race(scores, min_folds, max_probability, order)
                loss = means[order].max() - means[best]
                rows.append((used, loss > 0.0, loss))
        used, lost, loss = np.mean(rows, axis=0)
        table.row(
            min_folds, max_probability, f"{used:.3f}", f"{lost:.3f}", f"{loss:.5f}"
        )
    print()


def compare(name, found, options):
    """Print the medians of a pair; return them by method."""
    grid, settings, scores = found
    means = np.nan_to_num(scores, nan=-1.0).mean(axis=1)
    budget = min(N_EVALUATIONS, len(means) - 1)
    best, middle = means.max(), np.median(means)
    targets = best - ONE_PERCENT * (best - middle), best - ONE_PERCENT * abs(best)
    table = common.Table(
        f"{name}: {len(means)} settings, best {best:.4f}, median {middle:.4f}",
        "method hard easy hard_folds easy_folds",
        width=20,
    )
    medians = {}
    for method in options.methods:
        rows = []
        for seed in range(options.seeds):
            order, n_run = METHODS[method](grid, settings, scores, seed, budget)
            hard, easy = (
                trials_until(target, order, n_run, means, budget) for target in targets
            )
            rows.append((hard[0], easy[0], hard[1], easy[1]))
        medians[method] = np.median(rows, axis=0)
        table.row(method, *(f"{value:.1f}" for value in medians[method]))
    print()
    return medians


def main():
    """Print a table for each pair, and the geometric means of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--grids", default="search_grids", help="folder of the scores")
    parser.add_argument("--pairs", nargs="+", default=list(search_grids.PAIRS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    results.begin(options)
    if importlib.util.find_spec("smac") is None:
        options.methods = [name for name in options.methods if name != "SMAC3"]
        results.leave_out("SMAC3: not installed")
    found = {name: search_grids.scores(name, options.grids) for name in options.pairs}
    found = {name: table for name, table in found.items() if table is not None}
    compare_races(found, options.seeds)
    medians = {name: compare(name, table, options) for name, table in found.items()}
    peer = options.methods[0]
    table = common.Table(
        f"Geometric mean of the ratio to {peer}, {len(medians)} pairs",
        "method hard easy hard_folds easy_folds",
        width=20,
    )
    for method in options.methods[1:]:
        ratios = [np.log(each[method] / each[peer]) for each in medians.values()]
        table.row(method, *(f"{r:.2f}" for r in np.exp(np.mean(ratios, axis=0))))


if __name__ == "__main__":
    results.record(main)
