"""Public searches: from a model and its user's values to a result."""

import time
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult
from sklearn.utils import check_random_state

from skmohn._core._fitting import warn_caller
from skmohn._core._names import index_names
from skmohn._core._sklearn import N_JOBS, Interval, StrOptions, validate_params
from skmohn._core._units import power_of_two_scale
from skmohn._core._validation import has_read_inputs, to_numpy
from skmohn._core._walsh import WalshPolynomial
from skmohn.optimize._methods import (
    CALLBACK,
    DONE,
    EVALUATIONS,
    METHODS,
    TIME,
    Budget,
    MethodName,
    check_options,
    check_use,
)
from skmohn.optimize._models import Columns, Model, read_model
from skmohn.optimize._polynomial import fix_variables
from skmohn.optimize._product_sums import DiscreteProductSum, solve_product_sum
from skmohn.optimize._solve import SearchProblem, SearchResult, solve_polynomial

_CONSTRAINTS = {
    "method": [StrOptions(set(METHODS))],
    "fixed": [dict, None],
    "x0": ["array-like", None],
    "n_restarts": [Interval(Integral, 1, None, closed="left"), None],
    "max_evaluations": [Interval(Integral, 1, None, closed="left"), None],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    "return_optima": ["boolean"],
    "options": [dict, None],
    "callback": [callable, None],
    "random_state": ["random_state"],
    "n_jobs": [*N_JOBS],
}
_MESSAGES = {
    DONE: "the search ended by itself",
    EVALUATIONS: "stopped at max_evaluations",
    TIME: "stopped at time_limit",
    CALLBACK: "stopped by the callback",
}
# Names of columns in a message.
_N_LISTED: Final = 8


@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def maximize(
    model: Any,
    method: MethodName = "auto",
    *,
    fixed: Mapping | None = None,
    x0: ArrayLike | None = None,
    n_restarts: int | None = None,
    max_evaluations: int | None = None,
    time_limit: float | None = None,
    return_optima: bool = False,
    options: Mapping[str, Any] | None = None,
    callback: Callable[[OptimizeResult], object] | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> OptimizeResult:
    """Find the input that maximizes a model.

    Parameters
    ----------
    model : MOHNRegressor, MOHNClassifier, WalshPolynomial, dict, BinaryPolynomial or \
            BinaryQuadraticModel
        A fitted estimator, one of dimod's models, or a dict from tuples of variables
        that are -1 or +1 to weights, with ``()`` for the constant. Variables of a dict
        are names, or integers from 0. For a classifier, which must have two classes and
        a strategy that lists its products, such as "logistic", the log-odds of the
        second class.
    method : {"auto", "hill_climb", "annealing", "tabu", "weight_satisfaction", \
            "exact"}, default="auto"
        How to search. See the user guide, "Finding the best input".

        - ``"auto"``: searches parts that share no variable one by one, exactly if that
          is cheap, otherwise by annealing, moves of many variables at once ([3]_),
          unless there are too many weights for these, and tabu search.
        - ``"hill_climb"``: flips variables in random order while that helps
          ([1]_ Equations 9 and 10).
        - ``"annealing"``: Metropolis sweeps at falling temperatures.
        - ``"tabu"``: repeats the best flip that does not undo a recent one.
        - ``"weight_satisfaction"``: sets the variables of one weight after another to
          their best values until nothing changes ([1]_ Algorithm 2).
        - ``"exact"``: eliminates one variable after another ([2]_), unless the weights
          are too entangled.
    fixed : dict, default=None
        Variables to hold at a value: names or indices, and values as in the data. All
        others are free. For an estimator fitted on a data frame, None warns about the
        columns that the search moves, since some, such as an age, cannot be set; ``{}``
        means that all can be set.
    x0 : array-like of shape (n_variables,), default=None
        Start of the first restart, with values as in the data; annealing compares it
        with its result. None means a random point, as for all other restarts.
    n_restarts : int, default=None
        Number of searches from different points; with "auto", of each part not solved
        exactly. None means 10 or, with `time_limit`, as many as it allows.
    max_evaluations : int, default=None
        Maximum number of partial evaluations (see `nfev`), split equally among the
        restarts. A restart that exceeds its share finishes its pass or sweep; annealing
        cools faster instead. None for no limit.
    time_limit : float, default=None
        Seconds after which the search finishes its pass, sweeps or elimination and
        stops. None for no limit.
    return_optima : bool, default=False
        Whether to return the distinct end points of the restarts; not for "auto" and
        "exact", which search parts.
    options : dict, default=None
        More options of the method, with these defaults:

        - ``"annealing"``: ``n_sweeps`` (1000); ``temperatures``, first and last, in
          units of the function. By default, the first is twice the largest root sum of
          squares of a variable's weights; the last accepts a loss of twice the typical
          smallest weight once in a hundred times.
        - ``"tabu"``: ``n_steps`` (100 per variable); ``tenure``, the typical number of
          steps for which a flip is forbidden (10, plus 1 per 20 variables), at most
          half the number of variables.
        - ``"weight_satisfaction"``: ``max_order`` (12); variables of higher-order
          weights are flipped one by one.
        - ``"exact"``: ``max_width`` (24); the largest table has ``2 ** max_width``
          entries.
        - ``"auto"``: ``max_width`` as for "exact"; ``n_sweeps`` (1000) of the first
          restart, of which later ones take 2, 3, ... times as many.
    callback : callable, default=None
        Called as ``callback(intermediate_result)`` after each restart, with the best
        `x`, `fun`, `nfev` and `nit` so far. Raising StopIteration ends the search.
    random_state : int, RandomState instance or None, default=None
        Seed for starts and moves. Without a time limit, the same seed gives the same
        result for every `n_jobs`.
    n_jobs : int, default=None
        Number of restarts to run in parallel, in threads.

    Returns
    -------
    OptimizeResult
        With the fields

        x : ndarray of shape (n_variables,)
            The best point, with values as in the data; an object array if some are
            categories or times. Variables without a weight are as in `x0`, or low.
        fun : float
            Its value. For a Gaussian process with a transformed target, such as
            logarithms, the search is over the median; `predict` returns the mean, which
            also depends on the uncertainty of each point.
        nfev : int
            Partial evaluations: variables visited (hill climb, annealing), flips
            (tabu), settings tried (weight satisfaction) or table entries (exact). For a
            Gaussian process, moves compared (hill climb), moves (tabu) or points
            (exact).
        nit : int
            Number of restarts.
        success : bool
            Whether the search ended by itself or used its whole budget; False if the
            callback stopped it, or if "exact" had too little time.
        status : int
            0 if it ended by itself; 1 for the limit of evaluations, 2 for the time
            limit, 3 for the callback.
        message : str
            The same in words.
        optimal : bool
            Whether `x` is proven to be optimal.
        variables : list
            Names of the variables, in the order of `x`.
        local_optima : ndarray of shape (n_optima, n_variables)
            End points of the restarts, the best first; only with `return_optima`.
        local_optima_fun : ndarray of shape (n_optima,)
            Their values; only with `return_optima`.

    Raises
    ------
    ValueError
        For invalid input, or if "exact" needs tables that are too wide; the message
        states the width.
    TypeError
        If `model` is of another type.
    NotFittedError
        If the estimator is not fitted.

    Warns
    -----
    UserWarning
        If columns of a data frame are moved and `fixed` is None.

    See Also
    --------
    minimize : The same for the smallest value.

    Notes
    -----
    The gain of every flip is kept up to date, so that the cost of a step depends on the
    weights it touches, not on the number of variables ([1]_ section 3.2). Gaussian
    processes take "exact" (all points), "tabu", "hill_climb", or "auto", which is
    "exact" for few points and otherwise "tabu"; a variable with several categories or
    levels can move to any other one.

    Numeric columns are searched at their two ends or, if a Gaussian process has levels
    of them, at both ends of each level: in between, the function is linear. Fixed
    values may lie in between. The ends are those of the rows that were not left out as
    outliers (``outliers_`` of the model). For columns of integers or days, the ends are
    integers or days, too. In one-hot columns that the model treats as one column,
    exactly one is 1.

    References
    ----------
    .. [1] Swingler, K. (2020). Learning and searching pseudo-Boolean surrogate
       functions from small samples. Evolutionary Computation 28(2).
    .. [2] Bertele, U. and Brioschi, F. (1972). Nonserial dynamic programming.
    .. [3] Hamze, F. and de Freitas, N. (2004). From fields to trees. UAI.

    Examples
    --------
    >>> from skmohn.optimize import maximize
    >>> weights = {("a",): 1.0, ("a", "b"): -2.0, ("b", "c"): 0.5}
    >>> result = maximize(weights)
    >>> result.x, result.fun, result.optimal
    (array([ 1, -1, -1], dtype=int8), 3.5, True)
    >>> maximize(weights, fixed={"b": 1}).fun
    1.5
    """
    return _find_best(
        model,
        1.0,
        method,
        fixed=fixed,
        x0=x0,
        n_restarts=n_restarts,
        max_evaluations=max_evaluations,
        time_limit=time_limit,
        return_optima=return_optima,
        options=options,
        callback=callback,
        random_state=random_state,
        n_jobs=n_jobs,
    )


@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def minimize(
    model: Any,
    method: MethodName = "auto",
    *,
    fixed: Mapping | None = None,
    x0: ArrayLike | None = None,
    n_restarts: int | None = None,
    max_evaluations: int | None = None,
    time_limit: float | None = None,
    return_optima: bool = False,
    options: Mapping[str, Any] | None = None,
    callback: Callable[[OptimizeResult], object] | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> OptimizeResult:
    """Find the input that minimizes a model.

    Parameters
    ----------
    model : MOHNRegressor, MOHNClassifier, WalshPolynomial, dict, BinaryPolynomial or \
            BinaryQuadraticModel
        The model to search, as in :func:`maximize`.
    method : {"auto", "hill_climb", "annealing", "tabu", "weight_satisfaction", \
            "exact"}, default="auto"
        How to search, as in :func:`maximize`.
    fixed : dict, default=None
        Variables to hold at a value.
    x0 : array-like of shape (n_variables,), default=None
        Start of the first restart.
    n_restarts, max_evaluations : int, default=None
        Number of searches from different points, and maximum number of partial
        evaluations.
    time_limit : float, default=None
        Seconds after which the search stops.
    return_optima : bool, default=False
        Whether to return the distinct end points of the restarts.
    options : dict, default=None
        More options of the method.
    callback : callable, default=None
        Called after each restart.
    random_state : int, RandomState instance or None, default=None
        Seed for starts and moves.
    n_jobs : int, default=None
        Number of restarts to run in parallel, in threads.

    Returns
    -------
    OptimizeResult
        With the fields of :func:`maximize`; `fun` is the smallest value found.

    Raises
    ------
    ValueError, TypeError, NotFittedError
        As in :func:`maximize`.

    Warns
    -----
    UserWarning
        If columns of a data frame are moved and `fixed` is None.

    See Also
    --------
    maximize : The same for the largest value, with all parameters explained.

    Examples
    --------
    >>> from skmohn.optimize import minimize
    >>> result = minimize({("a",): 1.0, ("a", "b"): -2.0, ("b", "c"): 0.5})
    >>> result.x, result.fun, result.optimal
    (array([-1, -1,  1], dtype=int8), -3.5, True)
    """
    return _find_best(
        model,
        -1.0,
        method,
        fixed=fixed,
        x0=x0,
        n_restarts=n_restarts,
        max_evaluations=max_evaluations,
        time_limit=time_limit,
        return_optima=return_optima,
        options=options,
        callback=callback,
        random_state=random_state,
        n_jobs=n_jobs,
    )


class _Points(NamedTuple):
    """Points of a model, searched over its free variables."""

    model: Model
    # (n_variables,); values of all variables, among them those that are held.
    start: NDArray
    used: NDArray[np.integer]  # (n_free,), int; searched ones
    are_spins: bool  # the search has spins; if not, states

    def coded_start(self) -> NDArray:
        """Start of the search."""
        chosen = self.start[self.used]
        return np.where(chosen, 1, -1).astype(np.int8) if self.are_spins else chosen

    def values_at(self, found: NDArray) -> tuple[NDArray, NDArray[np.float64]]:
        """Points in the user's coding, and values, for rows of what was searched."""
        points = np.tile(self.start, (len(found), 1))
        points[:, self.used] = found > 0 if self.are_spins else found
        return self.model.write(points), self.model.predict(points)

    def result_of(self, found: SearchResult) -> OptimizeResult:
        """Point of a search, its value, and what it took."""
        x, fun = self.values_at(found.spins[None])
        return OptimizeResult(x=x[0], fun=float(fun[0]), nfev=found.nfev, nit=found.nit)


def _find_best(
    model: Any,
    sign: float,
    method: str,
    *,
    fixed: Mapping | None,
    x0: ArrayLike | None,
    n_restarts: int | None,
    max_evaluations: int | None,
    time_limit: float | None,
    return_optima: bool,
    options: Mapping[str, Any] | None,
    callback: Callable[[OptimizeResult], object] | None,
    random_state: int | np.random.RandomState | None,
    n_jobs: int | None,
) -> OptimizeResult:
    """Maximize (`sign` = 1) or minimize (-1): fix variables, search the rest."""
    deadline = np.inf if time_limit is None else time.time() + time_limit
    n_evaluations = np.inf if max_evaluations is None else max_evaluations
    options = check_options(method, options)
    check_use(
        method, x0=x0, n_restarts=n_restarts, return_optima=return_optima, n_jobs=n_jobs
    )
    estimator, model = model, read_model(model)
    model = model.hold(_read_fixed(model.columns, fixed))
    start = _read_start(model, x0)
    used, function = _of_free_variables(model, sign)
    if fixed is None and has_read_inputs(estimator):
        _warn_of_moves(model, used)
    points = _Points(model, start, used, isinstance(function, WalshPolynomial))

    def report(found: SearchResult) -> bool:
        if callback is None:
            return False
        try:
            callback(points.result_of(found))
        except StopIteration:
            return True
        return False

    found = SearchResult(np.empty(0), 0, 0, DONE, True, [np.empty(0)])
    if used.size:
        problem = SearchProblem(
            graph=function,
            start=None if x0 is None else points.coded_start(),
            seed=int(check_random_state(random_state).randint(2**31)),
            n_restarts=n_restarts,
            budget=Budget(n_evaluations, deadline),
            n_jobs=n_jobs,
            keep_optima=return_optima,
            report=report,
        )
        solve = solve_polynomial if points.are_spins else solve_product_sum
        found = solve(problem, method, options)
    result = points.result_of(found)
    _describe_end(result, found, method)
    result.variables = list(model.columns.names)
    if return_optima:
        x, fun = points.values_at(np.unique(np.array(found.optima), axis=0))
        order = np.argsort(-sign * fun, kind="stable")
        result.local_optima, result.local_optima_fun = x[order], fun[order]
    return result


def _describe_end(result: OptimizeResult, found: SearchResult, method: str) -> None:
    """Write how a search ended into its result."""
    is_broken_off = method == "exact" and found.status == TIME
    result.success = found.status != CALLBACK and not is_broken_off
    result.status = found.status
    proof = "; no point is better" if found.optimal else ""
    result.message = _MESSAGES[found.status] + proof
    result.optimal = found.optimal


def _warn_of_moves(model: Model, used: NDArray[np.integer]) -> None:
    """Warn of named columns that are moved, though they may be out of control."""
    columns = np.flatnonzero(np.isin(model.owner, used))
    names = [model.columns.names[j] for j in columns]
    if not names or not isinstance(names[0], str):
        return
    more = ", ..." if len(names) > _N_LISTED else ""
    warn_caller(
        f"every column may be moved: {', '.join(map(repr, names[:_N_LISTED]))}{more}. "
        "Fix those that nobody can set, with fixed={name: value}, or pass fixed={} if "
        "all can be set"
    )


def _of_free_variables(
    model: Model, sign: float
) -> tuple[NDArray[np.integer], WalshPolynomial | DiscreteProductSum]:
    """Free variables that matter, and the function of them, signed."""
    # In units in which squares of weights are within range.
    function = model.function
    if isinstance(function, WalshPolynomial):
        is_held = model.sizes == 1
        codes = model.codes[model.first[is_held]]
        held = zip(np.flatnonzero(is_held).tolist(), codes.tolist(), strict=True)
        graph = fix_variables(function, dict(held))
        used = np.unique(graph.members)
        if not used.size:
            return used, graph
        return used, _count_anew(graph, used, sign / power_of_two_scale(graph.weights))
    used = function.used()
    return used, function.take(used, sign / power_of_two_scale(model.graph.weights))


def _count_anew(
    graph: WalshPolynomial, used: NDArray[np.integer], factor: float
) -> WalshPolynomial:
    """Function times a factor, its variables numbered from 0."""
    index = np.empty(used[-1] + 1, dtype=int)
    index[used] = np.arange(len(used))
    terms = tuple(tuple(index[list(term)].tolist()) for term in graph.terms)
    return WalshPolynomial(terms, factor * graph.weights, 0.0)


def _read_start(model: Model, x0: ArrayLike | None) -> NDArray[np.integer]:
    """States of the start point; where they are values of a range, the nearest."""
    if x0 is None:
        return np.zeros(len(model.sizes), dtype=int)
    x0, columns = np.array(to_numpy(x0), dtype=object), model.columns
    if x0.shape != (len(columns.names),):
        raise ValueError(
            f"x0 must have shape ({len(columns.names)},), one value for each variable, "
            f"got {x0.shape}"
        )
    numbers = [columns.read(j, value, "x0") for j, value in enumerate(x0.tolist())]
    return model.nearest(np.array(numbers, dtype=float))


def _read_fixed(columns: Columns, fixed: Mapping | None) -> dict[int, float]:
    """Numbers of the columns that keep one, by their indices."""
    index = index_names(columns.names)
    numbers = {}
    for name, value in (fixed or {}).items():
        j = columns.find(name, index)
        if j in numbers:
            raise ValueError(
                f"fixed has {name!r}, variable {j}, twice: by name and by index"
            )
        numbers[j] = columns.read(j, value, "fixed")
    return numbers
