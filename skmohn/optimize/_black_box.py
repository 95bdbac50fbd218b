"""Public optimizer of black boxes: ask and tell, and the loop around both."""

import copy
import functools
import reprlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import compress
from numbers import Integral, Real
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult
from sklearn.utils import check_random_state

from skmohn._core._bad_values import mark_unknown_cells
from skmohn._core._fitting import History, all_or_nothing, gather_warnings, warn_caller
from skmohn._core._names import unique_names
from skmohn._core._sklearn import (
    N_JOBS,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike, effective_n_jobs
from skmohn._core._validation import read_vector, refuse_set
from skmohn.mohn import MOHNRegressor
from skmohn.optimize._methods import CALLBACK, DONE, EVALUATIONS, TIME
from skmohn.optimize._portfolio import EXTERNAL, SOURCES, Portfolio
from skmohn.optimize._space import ConstraintsLike, Points, Space, SpaceLike, keys_of

_Optimizer = TypeVar("_Optimizer", bound="BlackBoxOptimizer")
_P = ParamSpec("_P")
_T = TypeVar("_T")
_COUNT = Interval(Integral, 1, None, closed="left")
_CONSTRAINTS = {
    "maximize": ["boolean"],
    "noise": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    "random_state": ["random_state"],
}
_RUN_CONSTRAINTS = {
    "f": [callable],
    "n_evaluations": [_COUNT],
    "batch_size": [_COUNT],
    "n_jobs": [*N_JOBS],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    "callback": [callable, None],
}


@dataclass(frozen=True)
class ValueConstants:
    """Values of the objective."""

    # The squares of larger values would be infinite.
    max_value: float = tuned(1e150, "rounding")


_VALUES = ValueConstants()
_MESSAGES = {
    EVALUATIONS: "stopped at n_evaluations",
    TIME: "stopped at time_limit",
    CALLBACK: "stopped by the callback",
}


def _atomic(
    method: Callable[Concatenate[_Optimizer, _P], _T],
) -> Callable[Concatenate[_Optimizer, _P], _T]:
    """Lock a method, and make it happen as a whole or not at all."""
    # The sources are copied first. After an error or an interrupt the optimizer has the
    # former ones.

    @functools.wraps(method)
    def guarded(self: _Optimizer, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self._lock:
            return changing(self, *args, **kwargs)

    @all_or_nothing
    @functools.wraps(method)
    def changing(self: _Optimizer, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        self._portfolio = self._portfolio.copy()
        self.history_ = History(self.history_)
        return method(self, *args, **kwargs)

    return guarded


class BlackBoxOptimizer:
    """Find the best point of an expensive function of few-valued variables.

    For functions that take seconds to months to evaluate, such as the speed of a
    program under given compiler flags or the brightness of a protein with given
    mutations. Ask for points, evaluate them wherever you like, and tell their values,
    in any order; or let :meth:`run` do it.

    Parameters
    ----------
    space : int, mapping or table
        The points that may be proposed.

        - An int: the number of 0/1 variables. Points are arrays.
        - A mapping of names to lists of values, or to ``(low, high)`` for all integers
          from low to high. Points are dicts. Numbers in increasing order count as
          levels, whose neighbors are similar; other values count as categories.
        - A table, as a data frame or an array of two dimensions: its rows are the only
          points. They are dicts or arrays.
    maximize : bool, default=False
        Whether high values are good.
    constraints : callable, LinearConstraint or list of these, default=None
        What points must satisfy. A callable gets a point and returns True or False. A
        :class:`scipy.optimize.LinearConstraint` is over the coded columns: one for each
        numeric variable, with its own values, or two-valued variable, whose first value
        is 0 and second is 1; for other variables, a 0/1 column for each value.
        ``LinearConstraint(np.ones((1, n)), k, k)`` asks for subsets of exactly k.
    fixed : dict, default=None
        Variables to hold at a value, by name or index.
    noise : float or "auto", default="auto"
        Standard deviation of the noise in the values. 0: there is none, and no point is
        asked twice. "auto" asks for one of the best points again after 8, 16, 32, ...
        evaluations and, once every point has a value, for the eight best; if values
        differ, they determine the noise, and promising points are repeated.
    random_state : int, RandomState instance or None, default=None
        Seed. The same seed and values give the same points.

    Attributes
    ----------
    history_ : History
        A dict for each evaluation: ``"point"``, ``"value"``, ``"best"``, the best value
        so far, and ``"source"``, which proposed it: ``"uniform"``, ``"surrogate"``,
        ``"local_search"``, ``"verification"`` (the best point of a sparse model),
        ``"replicate"``, or ``"external"`` if you did.
    pending_ : list of dict
        ``"point"`` and ``"source"`` of points that were asked for and not yet told.

    See Also
    --------
    minimize_black_box : The same as one call.
    skmohn.optimize.minimize : The best point of a model, which costs nothing to ask.

    Notes
    -----
    Three sources share the evaluations. One samples uniformly and learns a sparse model
    by pursuit ([1]_): as soon as it is exact, its optimum is proposed; if the value is
    as predicted, and enough points were drawn to check the model, the search is over.
    One proposes the point with the largest expected improvement under the product
    prior. One climbs to local optima and first tries the neighbors that the prior
    expects to be good. The better the prior predicts uniform samples, the fewer are
    drawn; the other two earn their evaluations by the improvements they find.

    References
    ----------
    .. [1] Swingler, K. (2020). Learning and searching pseudo-Boolean surrogate
       functions from small samples. Evolutionary Computation 28(2), section 5.1.

    Examples
    --------
    >>> from skmohn.optimize import BlackBoxOptimizer
    >>> space = {"flag": [False, True], "level": (0, 9), "unit": ["a", "b", "c"]}
    >>> optimizer = BlackBoxOptimizer(space, noise=0, random_state=0)
    >>> def cost(point):
    ...     return (
    ...         (point["level"] - 7) ** 2 + 3 * point["flag"] + (point["unit"] != "b")
    ...     )
    >>> for _ in range(30):
    ...     points = optimizer.ask()
    ...     optimizer.tell(points, [cost(point) for point in points])
    >>> optimizer.result().x
    {'flag': False, 'level': 7, 'unit': 'b'}
    """

    history_: History

    _when_long = "pass fewer points at a time"

    def __init__(
        self,
        space: SpaceLike,
        *,
        maximize: bool = False,
        constraints: ConstraintsLike = None,
        fixed: Mapping | None = None,
        noise: float | str = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        validate_parameter_constraints(
            _CONSTRAINTS,
            {"maximize": maximize, "noise": noise, "random_state": random_state},
            caller_name="BlackBoxOptimizer",
        )
        if isinstance(noise, bool):
            raise ValueError(
                f'noise is a standard deviation, not {noise}: use "auto" if there may '
                "be noise, or 0 for none"
            )
        self.maximize = maximize
        self._sign = -1.0 if maximize else 1.0
        self._space = Space(space, constraints, fixed)
        seed = int(check_random_state(random_state).randint(2**31))
        self._portfolio = Portfolio(self._space, noise, seed)
        self.history_ = History()
        # Asked for by `run`, which may be interrupted while they are evaluated, and the
        # values of the first of them.
        self._running = np.empty((0, self._space.n_variables), dtype=np.int64)
        self._arrived = []
        self._n_run = 0
        # The last model of a result, and the number of evaluations it was fitted to.
        self._fitted: tuple[int, MOHNRegressor] | None = None
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_lock": None, "_fitted": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    def __repr__(self) -> str:
        facts = "; ".join(f"{name}: {fact}" for name, fact in self._facts())
        return f"<{type(self).__name__}: {facts}>"

    def _repr_html_(self) -> str:
        return to_html(type(self).__name__, self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        x, fun = self._best()
        return describe(self._space, self.maximize, self.history_, x, fun)

    def ask(self, n: int = 1) -> Points:
        """Return the points to be evaluated next.

        Parameters
        ----------
        n : int, default=1
            Number of points.

        Returns
        -------
        list of dict, or ndarray of shape (n, n_variables)
            Fewer than `n` if no more are left. Points that were asked for and not yet
            told are not among them.
        """
        validate_parameter_constraints({"n": [_COUNT]}, {"n": n}, caller_name="ask")
        return self._space.decode(self._ask(int(n)))

    @_atomic
    def _ask(self, n: int) -> NDArray[np.integer]:
        return self._portfolio.ask(n)

    @property
    def pending_(self) -> list[dict[str, Any]]:
        """Points that were asked for and not told yet."""
        pending = self._portfolio.pending
        states = [np.frombuffer(key, dtype=np.int64) for key in pending]
        states = np.array(states, dtype=np.int64).reshape(-1, self._space.n_variables)
        points = self._space.decode(states)
        return [
            {"point": point, "source": source}
            for point, (source, _) in zip(points, pending.values(), strict=True)
        ]

    def tell(
        self, X: TableLike, y: ArrayLike, sources: Sequence[str] | None = None
    ) -> None:
        """Learn the values of points, asked for or not.

        Parameters
        ----------
        X : list of dict, data frame or array-like of shape (n_points, n_variables)
            The points. Numbers may differ from those of the space by rounding.
        y : array-like of shape (n_points,)
            Their values; NaN, or NA of pandas, for points that cannot be evaluated,
            which are not asked for again. The surrogate treats them as being as bad as
            the worst value, so that it tries few points like them.
        sources : sequence of str, default=None
            What proposed the points, as in the `history_` of another optimizer whose
            search continues here. Points that this one proposed keep their sources.
            None means "external": not from a search, so that they may be learned from.

        Raises
        ------
        ValueError
            For points outside the space, and for values that are infinite or, with
            ``noise=0``, differ from an earlier value of the same point. Nothing is
            learned then.
        """
        states = self._space.encode(X)
        # Of pandas, whose columns from a file may hold NA.
        y = mark_unknown_cells(np.asarray(y, dtype=object)) if hasattr(y, "isna") else y
        values = read_vector(y, "y", ensure_all_finite=False)
        if len(values) != len(states):
            raise ValueError(
                f"y must have one value for each point of X: got {len(values)} values "
                f"for {len(states)} points"
            )
        for i in np.flatnonzero(np.abs(values) > _VALUES.max_value):
            _refuse_size(values[i], self._space.decode(states[[i]])[0])
        refuse_set(sources, "sources")
        sources = [EXTERNAL] * len(states) if sources is None else list(sources)
        if len(sources) != len(states) or not SOURCES.issuperset(sources):
            raise ValueError(
                f"sources must have one of {sorted(SOURCES)} for each point of X, got "
                f"{sources!r}"
            )
        self._tell(states, values, sources)

    @_atomic
    def _tell(
        self,
        states: NDArray[np.integer],
        values: NDArray[np.float64],
        origins: Sequence[str],
    ) -> None:
        self._refuse(states, values)
        best = self.history_[-1]["best"] if self.history_ else np.nan
        better = np.fmax if self.maximize else np.fmin
        pending = self._portfolio.pending
        sources = [
            pending.get(key, (origin, None))[0]
            for key, origin in zip(keys_of(states), origins, strict=True)
        ]
        feasible = self._space.is_feasible(states)
        self._portfolio.tell(states, self._sign * values, feasible, sources)
        points = self._space.decode(states)
        for point, value, source, is_feasible in zip(
            points, values.tolist(), sources, feasible, strict=True
        ):
            if is_feasible:
                best = float(better(best, value))
            self.history_.append(
                {"point": point, "value": value, "best": best, "source": source}
            )
        # Whose values are known by now need not be evaluated.
        is_left = [key in self._portfolio.pending for key in keys_of(self._running)]
        self._arrived = list(compress(self._arrived, is_left))
        self._running = self._running[is_left]

    def _refuse(self, states: NDArray[np.integer], values: NDArray[np.float64]) -> None:
        """Raise if evaluations contradict those told before."""
        archive, known = self._portfolio.archive, {}
        for i, state in self._space.fixed.items():
            if np.any(states[:, i] != state):
                variable = self._space.variables[i]
                raise ValueError(
                    f"X has points with other values of {variable.name!r}, which is "
                    f"fixed at {variable.values[state]!r}: drop them"
                )
        if self._portfolio.noise != 0.0:
            return
        values = self._sign * values
        for state, key, value in zip(states, keys_of(states), values, strict=True):
            if key in archive.index:
                known.setdefault(key, archive.values[archive.index[key]])
            before = known.setdefault(key, value)
            if before != value and not np.isnan([before, value]).any():
                raise ValueError(
                    f"{self._space.decode(state[None])[0]} had the value "
                    f"{self._sign * before} before and has {self._sign * value} now: "
                    'with noise=0 values must not differ; use noise="auto"'
                )

    # ----------------------------------------------------------------------- the loop

    def run(
        self,
        f: Callable[[Any], Any],
        n_evaluations: int,
        *,
        batch_size: int = 1,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callable[[OptimizeResult], object] | None = None,
    ) -> OptimizeResult:
        """Evaluate a function until its optimum is proved, or the budget is spent.

        May be called again, to continue. After an interrupt or an error in `f`, it
        begins with the points that were being evaluated, except those with known
        values, and continues as if nothing had happened.

        Parameters
        ----------
        f : callable
            Takes a point, a dict or an array, and returns a number; NaN if the point
            cannot be evaluated.
        n_evaluations : int
            Calls of `f`, at most.
        batch_size : int, default=1
            Points to ask for before their values are known. Small batches are better,
            but keep fewer workers busy.
        n_jobs : int, default=None
            Points of a batch to evaluate at the same time, with joblib. It does not
            affect the result.
        time_limit : float, default=None
            Seconds after which no further batch begins.
        callback : callable, default=None
            Called as ``callback(intermediate_result)`` after each batch, with `x`,
            `fun` and `nfev` so far; None and NaN while no point has a value. Raising
            StopIteration ends the run.

        Returns
        -------
        OptimizeResult
            As in :meth:`result`.

        Raises
        ------
        ValueError
            If `f` returns anything but a finite number or NaN, or if no evaluation of
            it has succeeded.
        """
        validate_parameter_constraints(
            _RUN_CONSTRAINTS,
            {
                "f": f,
                "n_evaluations": n_evaluations,
                "batch_size": batch_size,
                "n_jobs": n_jobs,
                "time_limit": time_limit,
                "callback": callback,
            },
            caller_name="run",
        )
        if effective_n_jobs(n_jobs) > 1 and batch_size == 1:
            warn_caller(
                f"n_jobs={n_jobs} needs several points at a time, but batch_size=1: "
                "raise batch_size"
            )
        deadline = np.inf if time_limit is None else time.monotonic() + time_limit
        batch_size, left, status = int(batch_size), int(n_evaluations), EVALUATIONS
        with Parallel(n_jobs=n_jobs, return_as="generator") as parallel:
            while left:
                if not (is_settled := self._portfolio.is_settled()):
                    self._ask_to_run(batch_size, left)
                if is_settled or not len(self._running):
                    status = DONE
                    break
                left -= self._evaluate(f, left, parallel)
                if callback is not None and self._is_stopped(callback):
                    status = CALLBACK
                    break
                if time.monotonic() >= deadline:
                    status = TIME
                    break
        return self._make_result(status)

    @_atomic
    def _ask_to_run(self, batch_size: int, left: int) -> None:
        if not len(self._running):
            budget = len(self.history_) + left
            self._running = self._portfolio.ask(min(batch_size, left), budget)

    def _evaluate(self, f: Callable[[Any], Any], limit: int, parallel: Parallel) -> int:
        """Evaluate the points asked for; tell them once all values are known."""
        points = self._space.decode(self._running[len(self._arrived) :][:limit])
        for value in parallel(delayed(_evaluate)(f, point) for point in points):
            self._arrived.append(value)
            self._n_run += 1
        states = self._running[: len(self._arrived)]
        self._tell(states, np.array(self._arrived), [EXTERNAL] * len(states))
        return len(points)

    def _is_stopped(self, callback: Callable[[OptimizeResult], object]) -> bool:
        x, fun = self._best()
        try:
            callback(OptimizeResult(x=x, fun=fun, nfev=self._n_run))
        except StopIteration:
            return True
        return False

    # --------------------------------------------------------------------- the result

    def result(self) -> OptimizeResult:
        """Return what has been found so far.

        Returns
        -------
        OptimizeResult
            With the fields

            x : dict or ndarray of shape (n_variables,)
                The best point. With noise, the point with the best mean, where each
                mean is made worse by its standard error.
            fun : float
                Its value, or the mean of its values.
            nfev : int
                Number of calls of the function by :meth:`run`.
            success : bool
                Whether the search ended by itself or used its whole budget; False if
                the callback stopped it.
            status : int
                0 if it ended by itself; 1 for the number of evaluations, 2 for the time
                limit, 3 for the callback.
            message : str
                The same in words.
            optimal : bool
                Whether `x` is the optimum, as far as evaluations can prove it. Either
                every point was evaluated, and values are known to have no noise, by
                ``noise=0`` or because the best points had the same value twice. Or a
                sparse model reproduces all values, none of its points is better, and
                enough points were drawn uniformly to reveal a further weight, up to one
                order above the model's, at odds of a thousand to one.
            maximize : bool
                Whether high values are good.
            model : MOHNRegressor or None
                Fitted to all evaluations; None if there are fewer than two. With the
                weights of the sparse model if that is exact; otherwise with all weights
                or, if there is noise, by "auto".
            history : History
                `history_`.

        Raises
        ------
        ValueError
            If no point has a value yet.
        """
        return self._make_result(EVALUATIONS)

    def _best(self) -> tuple[Any, float]:
        """Best point and its value; None and NaN where there is none."""
        best = self._portfolio.best()
        if best is None:
            return None, np.nan
        archive = self._portfolio.archive
        x = self._space.decode(archive.states[[best]])[0]
        return x, float(self._sign * archive.values[best])

    def _make_result(self, status: int) -> OptimizeResult:
        portfolio = self._portfolio
        x, fun = self._best()
        if x is None:
            raise ValueError(
                f"none of {len(self.history_)} evaluations has a value and satisfies "
                "the constraints"
            )
        n_points = len(portfolio.archive)
        optimal, sparse_candidate = False, portfolio.sparse_candidate
        if not portfolio.is_settled():
            message = _MESSAGES.get(status, "no further point was found")
        elif portfolio.is_verified and sparse_candidate is not None:
            status, optimal = DONE, sparse_candidate.is_proved
            n_terms = len([term for term in sparse_candidate.graph.terms if term])
            message = f"a model of {n_terms} weights is exact" + (
                ", and none of its points is better" if optimal else ""
            )
        else:
            status, optimal = DONE, True
            message = "every point was evaluated"
        return OptimizeResult(
            x=x,
            fun=fun,
            nfev=self._n_run,
            success=status != CALLBACK,
            status=status,
            message=message,
            optimal=optimal,
            maximize=self.maximize,
            model=self._copy_model() if n_points > 1 else None,
            history=self.history_,
        )

    def _copy_model(self) -> MOHNRegressor:
        """Copy of the model, which is fitted once for the same evaluations."""
        n_evaluations, fitted = len(self._portfolio.archive.outcomes), self._fitted
        if fitted is None or fitted[0] != n_evaluations:
            fitted = self._fitted = n_evaluations, self._fit_model()
        return copy.copy(fitted[1])

    def _fit_model(self) -> MOHNRegressor:
        """Regressor of all evaluations; with the weights of a model that is exact."""
        portfolio, space = self._portfolio, self._space
        X = as_table(space, portfolio.archive.observed)
        y = self._sign * portfolio.archive.observations
        # Without noise a sparse model would have been exact: all weights matter.
        strategy = "auto" if portfolio.deviation() else "gp"
        # The best points may be far off the others.
        model = MOHNRegressor(strategy, outliers="keep", random_state=portfolio.seed)
        if portfolio.is_verified and portfolio.sparse_candidate is not None:
            free = space.free.tolist()
            terms = [
                [free[i] for i in term]
                for term in portfolio.sparse_candidate.graph.terms
            ]
            model.set_params(strategy="given", terms=[term for term in terms if term])
        with gather_warnings():
            model.fit(X, y)
        if space.names_points:
            names = unique_names([str(variable.name) for variable in space.variables])
            model.feature_names_in_ = np.array(names, dtype=object)
        return model


def _evaluate(f: Callable[[Any], Any], point: Any) -> float:
    """Number that a black box returns."""
    value = f(point)
    try:
        number = np.asarray(value)
        if number.ndim or number.dtype.kind not in "biufO":
            raise TypeError
        number = float(number)
    except (TypeError, ValueError):
        raise ValueError(f"f must return a number, got {value!r} for {point}") from None
    except OverflowError:
        number = np.inf
    if abs(number) > _VALUES.max_value:
        _refuse_size(number, point)
    return number


def _refuse_size(value: float, point: Any) -> NoReturn:
    raise ValueError(
        f"the value of {point} is {value}, which is not finite or too large: pass nan "
        "for points that cannot be evaluated"
    )


def minimize_black_box(
    f: Callable[[Any], Any],
    space: SpaceLike,
    n_evaluations: int,
    *,
    maximize: bool = False,
    constraints: ConstraintsLike = None,
    fixed: Mapping | None = None,
    noise: float | str = "auto",
    batch_size: int = 1,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[OptimizeResult], object] | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> OptimizeResult:
    """Minimize an expensive function of few-valued variables.

    Parameters
    ----------
    f : callable
        Takes a point, a dict or an array, and returns a number; NaN if the point cannot
        be evaluated.
    space : int, mapping or table
        The number of 0/1 variables; names of variables with lists of values, or with
        ``(low, high)`` for integers; or the rows to choose among. See
        :class:`BlackBoxOptimizer`.
    n_evaluations : int
        Calls of `f`, at most.
    maximize : bool, default=False
        Whether to look for the highest value instead.
    constraints : callable, LinearConstraint or list of these, default=None
        What points must satisfy. See :class:`BlackBoxOptimizer`.
    fixed : dict, default=None
        Variables to hold at a value, by name or index.
    noise : float or "auto", default="auto"
        Standard deviation of the noise in the values; 0 if there is none. "auto"
        evaluates a few points twice to find out.
    batch_size : int, default=1
        Points to ask for before their values are known.
    n_jobs : int, default=None
        Points of a batch to evaluate at the same time, with joblib. It does not affect
        the result.
    time_limit : float, default=None
        Seconds after which no further batch begins.
    callback : callable, default=None
        Called as ``callback(intermediate_result)`` after each batch, with `x`, `fun`
        and `nfev` so far. Raising StopIteration ends the search.
    random_state : int, RandomState instance or None, default=None
        Seed. The same seed gives the same result for every `n_jobs`.

    Returns
    -------
    OptimizeResult
        With the lowest (or highest) value found, `fun`, and its point, `x`; `nfev`,
        `success`, `status`, `message`, `optimal`, `model` and `history`. See
        :meth:`BlackBoxOptimizer.result`.

    See Also
    --------
    BlackBoxOptimizer : To evaluate points elsewhere, and to go on later.

    Examples
    --------
    >>> from skmohn.optimize import minimize_black_box
    >>> def cost(x):
    ...     return abs(x.sum() - 3) + 2 * x[0] * x[1]
    >>> result = minimize_black_box(cost, 8, n_evaluations=40, random_state=0)
    >>> result.fun
    0.0
    """
    optimizer = BlackBoxOptimizer(
        space,
        maximize=maximize,
        constraints=constraints,
        fixed=fixed,
        noise=noise,
        random_state=random_state,
    )
    return optimizer.run(
        f,
        n_evaluations,
        batch_size=batch_size,
        n_jobs=n_jobs,
        time_limit=time_limit,
        callback=callback,
    )


def describe(
    space: Space, maximize: bool, history: History, x: Any, fun: float
) -> list[tuple[str, str]]:
    """Names and values of facts on the search and its result."""
    parts = [f"{space.n_variables:,} variables"]
    parts += [f"{len(space.fixed):,} fixed"] if space.fixed else []
    parts += ["constrained"] if space.is_constrained else []
    counts = Counter(record["source"] for record in history)
    asked = ", ".join(f"{count:,} {source}" for source, count in counts.items())
    facts = [
        ("space", ", ".join(parts)),
        ("goal", "the highest value" if maximize else "the lowest value"),
        ("evaluations", f"{len(history):,} ({asked})" if asked else "0"),
    ]
    if x is not None:
        point = x if space.names_points else x.tolist()
        facts += [("best value", f"{fun:.6g}"), ("best point", reprlib.repr(point))]
    return facts


def to_html(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """Show facts as a table."""
    left = "style='text-align:left'"
    rows = "".join(
        f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(fact)}</td></tr>"
        for name, fact in facts
    )
    return f"<table><caption>{title}</caption>{rows}</table>"


def as_table(space: Space, states: NDArray[np.integer]) -> NDArray:
    """Points as rows that a regressor reads: numbers as such, the rest as text."""
    columns = [
        np.array(
            variable.values
            if variable.is_number
            else unique_names(list(map(str, variable.values))),
            dtype=float if variable.is_number else object,
        )[column]
        for variable, column in zip(space.variables, states.T, strict=True)
    ]
    return np.stack(columns, axis=1)
