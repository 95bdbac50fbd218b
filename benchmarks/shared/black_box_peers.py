"""Other ways to minimize a black box, behind one interface.

A peer is called as ``peer(f, space, n_evaluations, seed, start=())``: it evaluates the
points in `start` first, and goes on until `f` raises `FinishedError`, or, where a
library needs a number, for `n_evaluations` calls.
"""

import warnings
from functools import partial
from importlib import import_module

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from skmohn import integrations


class FinishedError(Exception):
    """The target is reached, or the evaluations are used up."""


class Codes:
    """Points as int arrays: for each variable, the number of its value.

    Parameters
    ----------
    space : int or dict
        So many variables of 0 and 1, or names and lists of their values or
        ``(low, high)``.
    """

    def __init__(self, space):
        self.names = None if isinstance(space, int) else list(space)
        self.values = (
            [[0, 1]] * space
            if isinstance(space, int)
            else [self._values(values) for values in space.values()]
        )
        self.sizes = np.array([len(values) for values in self.values])

    @staticmethod
    def _values(values):
        if isinstance(values, tuple):
            low, high = values
            return list(range(low, high + 1))
        return list(values)

    def point(self, code):
        """Return the point as `f` takes it."""
        if self.names is None:
            return np.array(code)
        values = (v[c] for v, c in zip(self.values, code, strict=True))
        return dict(zip(self.names, values, strict=True))

    def code(self, point):
        """Return the numbers of the values of a point."""
        if self.names is None:
            return np.array(point)
        return np.array(
            [v.index(point[n]) for n, v in zip(self.names, self.values, strict=True)]
        )

    def random(self, rng):
        return rng.integers(0, self.sizes)

    def others(self, rng, old, variables):
        """Return other values of some variables, each as likely."""
        drawn = rng.integers(0, self.sizes[variables] - 1)
        return drawn + (drawn >= old)


class _Search:
    """What all of our own peers need: the function of codes, and the start."""

    def __init__(self, f, space, seed, start):
        self.codes = Codes(space)
        self.rng = np.random.default_rng(seed)
        self.f = lambda code: f(self.codes.point(code))
        self.start = [(self.f(code), code) for code in map(self.codes.code, start)]

    def best_or_random(self):
        """Return the best point of the start, or a random one, and its value."""
        if self.start:
            value, code = min(self.start, key=lambda pair: pair[0])
            return code.copy(), value
        code = self.codes.random(self.rng)
        return code, self.f(code)

    def climb(self, code, value):
        """First improvement: changes of one variable in random order, until none helps.

        A change that has been tried since the last improvement is not tried again.
        """
        changes = [
            (i, c) for i, size in enumerate(self.codes.sizes) for c in range(size)
        ]
        tried = set()
        while len(tried) < len(changes):
            for k in self.rng.permutation(len(changes)):
                variable, new = changes[k]
                if k in tried:
                    continue
                tried.add(k)
                old = code[variable]
                if new == old:
                    continue
                code[variable] = new
                found = self.f(code)
                if found < value:
                    value, tried = found, {k}
                else:
                    code[variable] = old
        return code, value


def hill_climb(f, space, n_evaluations, seed, start=()):
    """First-improvement hill climbing, again and again from random points."""
    search = _Search(f, space, seed, start)
    search.climb(*search.best_or_random())
    while True:
        code = search.codes.random(search.rng)
        search.climb(code, search.f(code))


def fast_ga(f, space, n_evaluations, seed, start=(), beta=1.5):
    """(1+1) with heavy-tailed mutation (Doerr, Le, Makhmara and Nguyen, 2017).

    The strength of each mutation, up to half of the variables, is drawn from a power
    law with exponent `beta`; a variable takes another value, each as likely, with
    probability strength / variables. Points that are not worse are accepted.
    """
    search = _Search(f, space, seed, start)
    rng, codes = search.rng, search.codes
    n = len(codes.sizes)
    strengths = np.arange(1, max(1, n // 2) + 1)
    law = np.cumsum(strengths**-beta)
    code, value = search.best_or_random()
    while True:
        strength = strengths[np.searchsorted(law, rng.random() * law[-1])]
        changed = np.flatnonzero(rng.random(n) < strength / n)
        if not len(changed):
            continue
        new = code.copy()
        new[changed] = codes.others(rng, code[changed], changed)
        found = search.f(new)
        if found <= value:
            code, value = new, found


class Population:
    """A level of the pyramid: its points, and the clusters of variables they suggest.

    Parameters
    ----------
    sizes : ndarray of shape (n_variables,)
        Values of each variable.
    """

    def __init__(self, sizes):
        self.first = np.concatenate([[0], np.cumsum(sizes)])
        self.points = []
        # How many points have a value of one variable and a value of another.
        self.counts = np.zeros((self.first[-1], self.first[-1]))

    def add(self, code):
        self.points.append(code.copy())
        columns = self.first[:-1] + code
        self.counts[np.ix_(columns, columns)] += 1

    def distances(self):
        """Return two minus the ratio of separate to joint entropy of all pairs.

        In [0, 1]: 0 where a variable determines the other one, 1 where nothing.
        """
        p = self.counts / len(self.points)
        parts = np.where(p > 0, -p * np.log(np.where(p > 0, p, 1.0)), 0.0)
        joint = np.add.reduceat(
            np.add.reduceat(parts, self.first[:-1], axis=0), self.first[:-1], axis=1
        )
        single = np.diag(joint)
        known = joint > 0
        separate = np.add.outer(single, single)
        ratio = np.divide(separate, joint, out=np.full_like(joint, 2.0), where=known)
        return np.clip(2.0 - ratio, 0.0, 1.0)

    def clusters(self, rng):
        """Return the clusters of the linkage tree, the smallest first.

        The tree joins clusters by their average distance. Those that only occur as
        part of one at distance 0 are left out, as is the cluster of all variables.
        """
        n = len(self.first) - 1
        if n == 1:
            return []
        # Ties are broken at random, by the order that the variables are shown in.
        order = rng.permutation(n)
        distances = self.distances()[np.ix_(order, order)]
        np.fill_diagonal(distances, 0.0)
        tree = linkage(squareform(distances, checks=False), "average")
        clusters = [[order[i]] for i in range(n)]
        kept = [True] * n
        for left, right, distance, _ in tree:
            left, right = int(left), int(right)
            clusters.append(clusters[left] + clusters[right])
            kept.append(True)
            if distance <= 1e-12:
                kept[left] = kept[right] = False
        found = [c for c, keep in zip(clusters[:-1], kept, strict=False) if keep]
        ranks = rng.permutation(len(found))
        order = sorted(range(len(found)), key=lambda i: (len(found[i]), ranks[i]))
        return [np.array(found[i]) for i in order]


def p3(f, space, n_evaluations, seed, start=()):
    """Parameter-less population pyramid (Goldman and Punch, 2014).

    A random point is climbed and added to the lowest level; it is then mixed with each
    level in turn, and added to the next one whenever that has improved it. Mixing goes
    through the clusters of the level and copies each from a random point of the level
    that differs there; a copy that is not worse is kept.
    """
    search = _Search(f, space, seed, start)
    rng, sizes = search.rng, search.codes.sizes
    pyramid, seen = [], set()

    def add(code, level):
        if code.tobytes() in seen:
            return
        seen.add(code.tobytes())
        if level == len(pyramid):
            pyramid.append(Population(sizes))
        pyramid[level].add(code)

    def mix(code, value, population):
        for cluster in population.clusters(rng):
            for donor in rng.permutation(len(population.points)):
                genes = population.points[donor][cluster]
                if (genes != code[cluster]).any():
                    old = code[cluster]
                    code[cluster] = genes
                    found = search.f(code)
                    if found <= value:
                        value = found
                    else:
                        code[cluster] = old
                    break
        return value

    waiting = [(value, code) for value, code in search.start]
    while True:
        if waiting:
            value, code = waiting.pop()
        else:
            code = search.codes.random(rng)
            value = search.f(code)
        code, value = search.climb(code.copy(), value)
        add(code, 0)
        # A level that this point adds is not mixed with before the next point.
        for level in range(len(pyramid)):
            before, value = value, mix(code, value, pyramid[level])
            if value < before:
                add(code, level + 1)


def nevergrad(f, space, n_evaluations, seed, start=(), optimizer="NGOpt"):
    """A method of nevergrad, on its choices with transitions."""
    ng = import_module("nevergrad")
    codes = Codes(space)
    n = len(codes.sizes)
    if len(set(codes.sizes)) == 1:
        # One parameter for all is many times faster than one for each.
        values = list(range(codes.sizes[0]))
        space = ng.p.TransitionChoice(values, repetitions=n)
    else:
        space = ng.p.Tuple(
            *(ng.p.TransitionChoice(list(range(size))) for size in codes.sizes)
        )
    space.random_state.seed(seed)
    with warnings.catch_warnings():
        # It says which of its methods it takes, and that it was told of a point before.
        warnings.simplefilter("ignore")
        method = ng.optimizers.registry[optimizer](space, budget=n_evaluations)
        for point in start:
            method.suggest(tuple(int(c) for c in codes.code(point)))
        while True:
            asked = method.ask()
            method.tell(asked, f(codes.point(asked.value)))


def tpe(f, space, n_evaluations, seed, start=(), multivariate=True):
    """Optuna's tree-structured Parzen estimator."""
    optuna = import_module("optuna")
    with warnings.catch_warnings():
        # The multivariate form is experimental.
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=multivariate)
    _run_study(sampler, f, space, start)


def ours_by_optuna(f, space, n_evaluations, seed, start=()):
    """Ours, as the sampler of a study of Optuna."""
    _run_study(integrations.MOHNSampler(seed=seed), f, space, start)


def _run_study(sampler, f, space, start):
    optuna = import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=sampler)
    codes = Codes(space)
    names = [f"x{i}" for i in range(len(codes.sizes))]
    for point in start:
        code = map(int, codes.code(point))
        study.enqueue_trial(dict(zip(names, code, strict=True)))
    choices = [list(range(size)) for size in codes.sizes]
    while True:
        trial = study.ask()
        code = [
            trial.suggest_categorical(name, values)
            for name, values in zip(names, choices, strict=True)
        ]
        study.tell(trial, f(codes.point(code)))


PEERS = {
    "hill climb": hill_climb,
    "fast GA": fast_ga,
    "P3": p3,
    "NGOpt": nevergrad,
    "Discrete(1+1)": partial(nevergrad, optimizer="DiscreteOnePlusOne"),
    "TPE": partial(tpe, multivariate=False),
    "TPE joint": tpe,
    "ours, Optuna": ours_by_optuna,
}
