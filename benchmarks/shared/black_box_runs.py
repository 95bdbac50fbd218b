"""Runs of ours and of the peers on black boxes: counted, kept and told.

Evaluations are distinct points: a point that is asked for again costs nothing, for no
method. Where only some points are measured, evaluations are distinct measured points.
With noise every call counts.
"""

import warnings
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.shared import black_box_peers as peers
from benchmarks.shared import common
from benchmarks.shared.black_box_peers import Codes, FinishedError
from benchmarks.shared.black_boxes import nearest
from skmohn.optimize import BlackBoxOptimizer

# A method that asks for known points alone is stopped some time.
CALLS_PER_EVALUATION = 20
TOLERANCE = 1e-9
OURS = "ours"
OURS_BY_OPTUNA = "ours, Optuna"


class Limits(NamedTuple):
    """What a method that takes long is given at most."""

    evaluations: int
    instances: int
    seeds: int


LIMITS = {
    "random": Limits(3000, 3, 2),
    "NGOpt": Limits(3000, 3, 2),
    "Discrete(1+1)": Limits(3000, 3, 2),
    "TPE": Limits(300, 3, 1),
    "TPE joint": Limits(300, 3, 2),
    OURS_BY_OPTUNA: Limits(2000, 3, 1),
}
NO_LIMITS = Limits(10**9, 10**9, 10**9)


class Counted:
    """A black box that counts, remembers, and stops the method that calls it.

    Parameters
    ----------
    problem : BlackBox
    n_evaluations : int
    noise : callable, default=None
        Returns what is added to the next value.

    Attributes
    ----------
    values : list of float
        Of each evaluation, without noise.
    seen : list of float
        With noise.
    codes : list of tuple
        Its points.
    """

    def __init__(self, problem, n_evaluations, noise=None):
        self.problem, self.n_evaluations, self.noise = problem, n_evaluations, noise
        self._codes = Codes(problem.space)
        self._known, self._nearest = {}, {}
        self.values, self.seen, self.codes, self.calls = [], [], [], 0

    def __call__(self, point):
        self.calls += 1
        if self.calls > CALLS_PER_EVALUATION * self.n_evaluations:
            raise FinishedError
        if self.problem.rows is not None:
            point = self._measured(point)
        key = tuple(self._codes.code(point).tolist())
        if self.noise is None and key in self._known:
            return self._known[key]
        value = self.problem.f(point)
        self.values.append(value)
        self.codes.append(key)
        if self.noise is not None:
            value += self.noise()
        self.seen.append(value)
        self._known[key] = value
        if self.done:
            raise FinishedError
        return value

    def _measured(self, point):
        """Return the nearest measured point; looking for it takes long."""
        key = point.tobytes()
        if key not in self._nearest:
            self._nearest[key] = nearest(self.problem.rows, point)
        return self._nearest[key]

    def point(self, k):
        """Return the point of an evaluation."""
        return self._codes.point(self.codes[k])

    @property
    def done(self):
        if len(self.values) >= self.n_evaluations:
            return True
        last = self.values[-1] if self.values else np.inf
        return self.noise is None and last <= self.problem.optimum + TOLERANCE


def first_at(values, target):
    """Return how many evaluations it took to reach a value; None: not reached."""
    reached = np.flatnonzero(np.asarray(values) <= target + TOLERANCE)
    return int(reached[0]) + 1 if len(reached) else None


def random_start(problem, n, seed):
    """Return n distinct points, of those that are measured."""
    if not n:
        return []
    rng = np.random.default_rng([seed, n])
    codes = Codes(problem.space)
    if problem.rows is not None:
        return list(problem.rows[rng.choice(len(problem.rows), n, replace=False)])
    found = {}
    while len(found) < n:
        code = codes.random(rng)
        found.setdefault(code.tobytes(), code)
    return [codes.point(code) for code in found.values()]


def evaluate(problem, method, seed, n_evaluations, start=(), noise=None):
    """Run a method; return the function that has counted, and the method's result."""
    counted = Counted(problem, n_evaluations, noise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = METHODS[method](counted, problem, n_evaluations, seed, start)
    return counted, told or {}


def run(problem, method, seed, n_evaluations, n_start=0, noise_of=None):
    """Run a method once; return what happened, as JSON can hold it."""
    noise = None
    if noise_of is not None:
        rng = np.random.default_rng([problem.instance, seed])
        noise = partial(rng.normal, 0.0, noise_of(problem))
    start = random_start(problem, n_start, seed)
    seconds, (counted, told) = common.timed(
        evaluate, problem, method, seed, n_evaluations, start, noise
    )
    values = np.array(counted.values)
    named = told.pop("x", None)
    if named is None:
        named = counted.point(np.argmin(counted.seen))
    good = problem.good
    best = np.minimum.accumulate(values)
    new = np.flatnonzero(np.diff(best, prepend=np.inf))
    return {
        "hit": first_at(values, problem.optimum),
        "good": None if good is None else first_at(values, good),
        "evaluations": len(values),
        "calls": counted.calls,
        "best": float(best[-1]),
        "named": problem.f(named),
        "optimum": problem.optimum,
        "improvements": [[int(i) + 1, float(best[i])] for i in new],
        "seconds": seconds,
        **told,
    }


def _run_random(counted, problem, n_evaluations, seed, start):
    """Distinct points, of those that are measured."""
    rows = problem.rows
    n = n_evaluations if rows is None else min(n_evaluations, len(rows))
    with suppress(FinishedError):
        for point in [*start, *random_start(problem, n, seed)]:
            counted(point)


def _run_peer(name, counted, problem, n_evaluations, seed, start):
    with suppress(FinishedError):
        peers.PEERS[name](counted, problem.space, n_evaluations, seed, start)


def _run_ours(counted, problem, n_evaluations, seed, start):
    optimizer = BlackBoxOptimizer(
        problem.space if problem.rows is None else problem.rows,
        noise=0.0 if counted.noise is None else "auto",
        random_state=seed,
    )
    if start:
        values = [_value(counted, point) for point in start]
        optimizer.tell(_stacked(problem, start), values)

    def stop(intermediate_result):
        # Raised here, the last value is told, and no time goes into a model of it all.
        if counted.done:
            raise FinishedError

    f, left = partial(_value, counted), n_evaluations - len(start)
    with suppress(FinishedError):
        if not counted.done:
            optimizer.run(f, left, callback=stop)
    return _what_ours_says(optimizer, counted)


def _value(counted, point):
    """Evaluate, also the point that ends the run."""
    try:
        return counted(point)
    except FinishedError:
        return counted.seen[-1]


def _what_ours_says(optimizer, counted):
    sources = [record["source"] for record in optimizer.history_]
    values = [record["value"] for record in optimizer.history_]
    what = {
        # Of the best value.
        "source": sources[int(np.argmin(values))],
        "sources": {name: sources.count(name) for name in dict.fromkeys(sources)},
    }
    # Elsewhere it is the best point; a result takes the time to fit a model.
    return what if counted.noise is None else {"x": optimizer.result().x, **what}


def _stacked(problem, points):
    return np.array(points) if isinstance(problem.space, int) else list(points)


METHODS = {
    "random": _run_random,
    **{name: partial(_run_peer, name) for name in peers.PEERS},
    OURS: _run_ours,
}


def parse_options(
    description,
    *,
    problems,
    quick_problems=None,
    methods=tuple(METHODS),
    quick_methods=None,
    instances=5,
    seeds=10,
    quick_seeds=2,
):
    """Read which part of a long table is wanted; compile the kernels if ours is.

    Parameters
    ----------
    description : str
        The docstring of the script.
    problems, methods : iterable of str
        What there is to choose from; there is no option where it is one.
    quick_problems, quick_methods : iterable of str, default=None
        What is run with --quick; None for all.
    instances, seeds : int
        Problems of each name, one with --quick, and runs of each method on each.
    quick_seeds : int
        The runs with --quick.

    Returns
    -------
    options : Namespace
        With ``problems``, ``methods``, ``instances``, ``seeds`` and ``keep``; with
        ``budget``, None unless it is given.
    """

    def add_arguments(parser):
        for name, all_of_them in (("--problems", problems), ("--methods", methods)):
            if len(all_of_them) > 1:
                parser.add_argument(
                    name, nargs="+", metavar="NAME", choices=list(all_of_them)
                )
        parser.add_argument("--seeds", type=int, help="runs on each instance")
        parser.add_argument("--budget", type=int, help="evaluations of a run, at most")
        common.add_keep(parser)
        parser.set_defaults(problems=None, methods=None)

    options = common.parse_options(
        description,
        instances=instances,
        quick_instances=1,
        add_arguments=add_arguments,
    )
    if options.quick:
        options.problems = options.problems or quick_problems
        options.methods = options.methods or quick_methods
    options.seeds = options.seeds or (quick_seeds if options.quick else seeds)
    options.problems = options.problems or list(problems)
    chosen = options.methods or methods
    # Ours is the last one, so that it is compared with all others.
    options.methods = [method for method in methods if method in chosen]
    if {OURS, OURS_BY_OPTUNA} & set(options.methods):
        common.warm_up()
    return options


def runs(
    make, name, method, options, budget, *, n_start=0, limits=LIMITS, noise_of=None
):
    """Run a method on all instances with all seeds, within its limits.

    Parameters
    ----------
    make : callable
        Of the instance's number.
    name, method : str
    options : Namespace
    budget : int
    n_start : int, default=0
    limits : dict of Limits
        Of the methods that take long.
    noise_of : callable, default=None
        Standard deviation of the noise on a problem.

    Returns
    -------
    results : list of dict
    budget : int
        What the method was given.
    """
    most = NO_LIMITS if options.budget else limits.get(method, NO_LIMITS)
    budget = min(budget, most.evaluations)
    results = []
    for instance in range(min(options.instances, most.instances)):
        problem = make(options.seed + instance)
        for seed in range(min(options.seeds, most.seeds)):
            compute = partial(run, problem, method, seed, budget, n_start, noise_of)
            key = name, problem.instance, method, seed, budget
            if noise_of is not None:
                key = *key, "noise"
            results.append(common.kept(options.keep, key, compute))
    return results, budget


def quartiles(evaluations):
    """Return lower quartile, median and upper quartile; inf: not reached.

    The quartiles are values of the list. The median of an even number of runs is the
    mean of the two in the middle, or inf if one of these was not reached.
    """
    ordered = sorted(np.inf if e is None else e for e in evaluations)
    last = len(ordered) - 1
    lower, upper = (ordered[round(share * last)] for share in (0.25, 0.75))
    return [lower, float(np.median(ordered)), upper]


def as_text(evaluations, budget):
    """Write a number of evaluations; one that is not known is above the budget."""
    return f">{budget}" if np.isinf(evaluations) else f"{evaluations:.0f}"


def as_cells(evaluations, budget):
    """Write how many of some runs were successful, and the quartiles of all."""
    n_hits = sum(e is not None for e in evaluations)
    hits = f"{n_hits}/{len(evaluations)}"
    return [hits, *(as_text(q, budget) for q in quartiles(evaluations))]


def against_peers(medians):
    """Compare ours with the peer whose median is the lowest.

    Parameters
    ----------
    medians : dict of tuple
        For each method, median evaluations and budget.

    Returns
    -------
    found : tuple or None
        Our median, the name of the best peer and its median, all in words, and the
        ratio of the two; None where one of them was not run.
    """
    theirs = {m: e for m, e in medians.items() if m not in (OURS, OURS_BY_OPTUNA)}
    if OURS not in medians or not theirs:
        return None
    ours = medians[OURS]
    # Where none has found it, the one that was given most.
    best = min(theirs, key=lambda method: (theirs[method][0], -theirs[method][1]))
    # Both may have been there when they began; where ours is not, it is no better.
    ratio = ours[0] / max(theirs[best][0], 1) if np.isfinite(ours[0]) else np.inf
    return as_text(*ours), best, as_text(*theirs[best]), ratio
