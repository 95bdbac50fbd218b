"""From what a user passes to a question, and from its answer to a result."""

import time

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.utils import check_random_state

from skmohn._core._units import binary_unit
from skmohn.mohn._walsh.hypergraph import Hypergraph
from skmohn.optimize._dense_search import answer_dense
from skmohn.optimize._driver import Answer, Question, answer
from skmohn.optimize._methods import CALLBACK, DONE, EVALUATIONS, TIME, Budget
from skmohn.optimize._models import read_model
from skmohn.optimize._options import check_options, check_use
from skmohn.optimize._polynomial import fix_variables
from skmohn.optimize._product_sum import ProductSum

_MESSAGES = {
    DONE: "the search ended by itself",
    EVALUATIONS: "stopped at max_evaluations",
    TIME: "stopped at time_limit",
    CALLBACK: "stopped by the callback",
}


def find_best(
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
