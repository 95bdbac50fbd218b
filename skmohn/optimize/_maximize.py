"""The public searches: from a model and its user's values to a result."""

import re
import time
from numbers import Integral, Real

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from skmohn._core._units import binary_unit
from skmohn.mohn._walsh.hypergraph import Hypergraph
from skmohn.optimize._dense import ProductSum, answer_dense
from skmohn.optimize._driver import Answer, Question, answer
from skmohn.optimize._methods import (
    CALLBACK,
    DONE,
    EVALUATIONS,
    METHODS,
    TIME,
    Budget,
    check_options,
    check_use,
)
from skmohn.optimize._models import read_model
from skmohn.optimize._polynomial import fix_variables

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
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
}
_MESSAGES = {
    DONE: "the search ended by itself",
    EVALUATIONS: "stopped at max_evaluations",
    TIME: "stopped at time_limit",
    CALLBACK: "stopped by the callback",
}
# Where the description of the one search differs from that of the other.
_MIRRORED = {
    "maximize": "minimize",
    "minimize": "maximize",
    "is largest": "is smallest",
    "smallest value": "largest value",
    "[ 1, -1, -1]": "[-1, -1,  1]",
    "3.5": "-3.5",
    "1.5": "-1.5",
}


@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def maximize(
    model,
    method="auto",
    *,
    fixed=None,
    x0=None,
    n_restarts=None,
    max_evaluations=None,
    time_limit=None,
    return_optima=False,
    options=None,
    callback=None,
    random_state=None,
    n_jobs=None,
):
    """Find the input at which a model is largest.

    Parameters
    ----------
    model : MOHNRegressor, Hypergraph, dict, BinaryPolynomial or BinaryQuadraticModel
        The function: a fitted estimator; weights over variables that are -1 or +1, as
        a dict from tuples of variables to numbers, ``()`` for the constant; or one of
        dimod's models. Variables of a dict are names, or the whole numbers from 0 on.

    method : {"auto", "hill_climb", "annealing", "tabu", "weight_satisfaction", \
            "exact"}, default="auto"
        How to search.

        - ``"auto"``: parts of the function that share no variable one by one; a part
          is solved exactly where that is cheap, else by annealing and moves of many
          variables at once ([3]_), or tabu search where weights are too many for them.
        - ``"hill_climb"``: set variables in random order to what their weights ask for
          until none changes ([1]_ Equations 9 and 10).
        - ``"annealing"``: Metropolis sweeps at falling temperatures.
        - ``"tabu"``: the best flip that does not undo a recent one, over and over.
        - ``"weight_satisfaction"``: the best setting of the variables of one weight
          after the other, until nothing changes ([1]_ Algorithm 2).
        - ``"exact"``: eliminate one variable after the other ([2]_); refuses when the
          weights are too entangled.

    fixed : dict, default=None
        Variables that keep a value: names or indices, and values as in the data.

    x0 : array-like of shape (n_variables,), default=None
        Where the first restart begins, coded as in the data; for annealing, what it
        competes with. None for a random point, as for all other restarts.

    n_restarts : int, default=None
        Searches from different points. None for as many as the time limit allows, and
        10 without one. Of "auto", for each part that is not solved exactly.

    max_evaluations : int, default=None
        Most partial evaluations, shared equally among the restarts: see `nfev` below.
        A restart ends with the pass or sweep in which its share is used up; annealing
        cools down faster instead. None sets no limit.

    time_limit : float, default=None
        Seconds after which no more is done than to end a pass, some sweeps or the
        elimination of a part. None sets no limit.

    return_optima : bool, default=False
        Whether to return the distinct points at which restarts ended; not for "auto"
        and "exact", which search parts and not the whole.

    options : dict, default=None
        Further parameters of the method; None for their defaults.

        - ``"annealing"``: ``n_sweeps`` (1000); ``temperatures``, the first and the
          last, in units of the function. By default the first is twice the largest
          root of the sum of squares of a variable's weights, and at the last a loss of
          twice the typical smallest weight is accepted once in a hundred times.
        - ``"tabu"``: ``n_steps`` (100 for each variable); ``tenure``, the typical
          number of steps for which a flip is forbidden (10, and 1 more for each 20
          variables), at most half the number of variables.
        - ``"weight_satisfaction"``: ``max_order`` (12); the variables of longer weights
          are flipped one by one.
        - ``"exact"``: ``max_width`` (24), the variables that a table may have besides
          the one eliminated. Tables have 2 to that power entries.
        - ``"auto"``: ``max_width`` as for "exact"; ``n_sweeps`` (1000) of the first
          restart, the later ones being 2, 3, ... times as long.

    callback : callable, default=None
        Called as ``callback(intermediate_result)`` after every restart, with an
        OptimizeResult of the best so far: `x`, `fun`, `nfev`, `nit`. Raising
        StopIteration ends the search.

    random_state : int, RandomState instance or None, default=None
        Determines starts and moves. The same seed gives the same result for every
        `n_jobs`, unless there is a time limit.

    n_jobs : int, default=None
        Restarts run at once, by joblib's threads.

    Returns
    -------
    OptimizeResult
        With the fields

        x : ndarray of shape (n_variables,)
            The best point, coded as in the data. Variables that have no weight are as
            in `x0`, and else low.
        fun : float
            Its value.
        nfev : int
            Partial evaluations: variables looked at (hill climb, annealing), flips
            (tabu), settings tried (weight satisfaction), table entries (exact).
        nit : int
            Restarts.
        success : bool
            Whether the search ended by itself, not by a limit or a callback.
        status : int
            0 for that, 1 for the limit of evaluations, 2 for that of time, 3 for the
            callback.
        message : str
            The same in words.
        optimal : bool
            Whether it is proved that no point is better.
        variables : list
            Names of the variables, in the order of `x`.
        local_optima : ndarray of shape (n_optima, n_variables)
            With `return_optima`: where restarts ended, the best first.
        local_optima_fun : ndarray of shape (n_optima,)
            With `return_optima`: their values.

    Raises
    ------
    ValueError
        For bad input, and when "exact" would take too wide tables; the message has the
        width found.

    TypeError
        If the model is none of these.

    NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    minimize : The same for the smallest value.

    Notes
    -----
    What every flip would change is kept up to date, so that a step costs as much as
    the weights that it touches, however many variables there are ([1]_ section 3.2).
    A column of numbers is searched at its two ends, which is where a multilinear
    function has its optima; unlike start points, fixed values may lie between them.
    A model of all weights is searched by "exact", all points, "tabu", "hill_climb", or
    "auto": all points where they are few, else tabu search.

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
    model,
    method="auto",
    *,
    fixed=None,
    x0=None,
    n_restarts=None,
    max_evaluations=None,
    time_limit=None,
    return_optima=False,
    options=None,
    callback=None,
    random_state=None,
    n_jobs=None,
):
    """Find the input at which a model is smallest, as maximize does the largest."""
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


minimize.__doc__ = re.sub(
    "|".join(map(re.escape, _MIRRORED)),
    lambda found: _MIRRORED[found[0]],
    maximize.__doc__ or "",
)


def _find_best(
    model,
    sign,
    method,
    *,
    fixed,
    x0,
    n_restarts,
    max_evaluations,
    time_limit,
    return_optima,
    options,
    callback,
    random_state,
    n_jobs,
):
    """Read the model, fix variables, search the rest, and say what was found.

    Parameters
    ----------
    sign : float
        1 to maximize, -1 to minimize.

    model, method, fixed, ... : as of :func:`skmohn.optimize.maximize`

    Returns
    -------
    result : OptimizeResult
    """
    deadline = np.inf if time_limit is None else time.time() + time_limit
    looks = np.inf if max_evaluations is None else max_evaluations
    options = check_options(method, options)
    check_use(
        method,
        x0=x0,
        n_restarts=n_restarts,
        return_optima=return_optima,
        n_jobs=n_jobs,
    )
    model = read_model(model)
    codes = _read_start(model, x0)
    constants, fixed_codes = _read_fixed(model, fixed)
    codes[list(constants)] = list(fixed_codes.values())
    used, function = _of_free_variables(model.graph, fixed_codes, sign)

    def result_of(found):
        x, fun = _values_at(model, codes, constants, used, found.spins[None])
        return OptimizeResult(x=x[0], fun=float(fun[0]), nfev=found.nfev, nit=found.nit)

    def tell(found):
        if callback is None:
            return False
        try:
            callback(result_of(found))
        except StopIteration:
            return True
        return False

    if used.size:
        question = Question(
            graph=function,
            start=None if x0 is None else codes[used].astype(np.int8),
            seed=int(check_random_state(random_state).randint(2**31)),
            n_restarts=n_restarts,
            budget=Budget(looks, deadline),
            n_jobs=n_jobs,
            keep_optima=return_optima,
            tell=tell,
        )
        ask = answer_dense if isinstance(function, ProductSum) else answer
        found = ask(question, method, options)
    else:
        found = Answer(np.empty(0), 0, 0, DONE, True, [np.empty(0)])
    result = result_of(found)
    result.success = found.status == DONE
    result.status = found.status
    proof = "; no point is better" if found.optimal else ""
    result.message = _MESSAGES[found.status] + proof
    result.optimal = found.optimal
    result.variables = list(model.names)
    if return_optima:
        optima = np.unique(np.array(found.optima), axis=0)
        x, fun = _values_at(model, codes, constants, used, optima)
        order = np.argsort(-sign * fun, kind="stable")
        result.local_optima, result.local_optima_fun = x[order], fun[order]
    return result


def _values_at(model, codes, constants, used, spins):
    """Points in the user's coding, and values, for rows of spins of some variables."""
    points = np.tile(codes, (len(spins), 1))
    points[:, used] = spins
    return model.decode(points, constants), model.graph.predict(points)


def _of_free_variables(graph, fixed_codes, sign):
    """Variables that matter when some are fixed, and the function of them, signed.

    In units in which squares of weights are within range.
    """
    if isinstance(graph, ProductSum):
        function = graph.fix(fixed_codes)
        used = function.used()
        return used, function.take(used, sign / binary_unit(function.coef))
    graph = fix_variables(graph, fixed_codes)
    used = np.unique(graph.members)
    if not used.size:
        return used, None
    return used, _count_anew(graph, used, sign / binary_unit(graph.coef))


def _count_anew(graph, used, factor):
    """The function times a factor, its variables numbered without gaps."""
    place = np.empty(used[-1] + 1, dtype=int)
    place[used] = np.arange(len(used))
    terms = tuple(tuple(place[list(term)].tolist()) for term in graph.terms)
    return Hypergraph(terms, factor * graph.coef, 0.0)


def _read_start(model, x0):
    """Codes of the start point: -1 or +1, the nearer end where values are a range."""
    if x0 is None:
        return np.full(model.n_variables, -1.0)
    x0 = np.asarray(x0)
    if x0.shape != (model.n_variables,):
        raise ValueError(
            f"x0 must have shape ({model.n_variables},), one value for each variable, "
            f"got {x0.shape}"
        )
    codes = [model.encode(i, value, "x0") for i, value in enumerate(x0.tolist())]
    return np.where(np.array(codes) < 0, -1.0, 1.0)


def _read_fixed(model, fixed):
    """Values and codes of the variables that keep one, by their places."""
    index = {name: i for i, name in enumerate(model.names)}
    constants, codes = {}, {}
    for name, value in (fixed or {}).items():
        i = model.find(name, index)
        if i in constants:
            raise ValueError(
                f"fixed holds {name!r}, variable {i}, twice: by name and by index"
            )
        codes[i] = model.encode(i, value, "fixed")
        constants[i] = float(value)
    return constants, codes
