"""Parameters of MOHN that belong together; all that a strategy may read of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from inspect import signature
from numbers import Integral, Real
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._fitting import no_progress
from skmohn._core._options import Control, Nested, control_of
from skmohn._core._sklearn import Interval, StrOptions

_FRACTION = [Interval(Real, 0, 1, closed="both")]
_POSITIVE_FRACTION = [Interval(Real, 0, 1, closed="right")]
_COUNT = [Interval(Integral, 1, None, closed="left")]
_NOT_NEGATIVE = [Interval(Real, 0, None, closed="left")]
# What is learned: numbers, classes, which products matter for either, or means on a log
# scale.
Task: TypeAlias = Literal["regression", "classification", "terms", "glm"]
# Rows of STRATEGIES that have a solver for the task.
RegressionStrategy: TypeAlias = Literal[
    "auto", "pursuit", "gp", "spike_slab", "msda", "full", "given"
]
ClassificationStrategy: TypeAlias = Literal[
    "auto", "gp", "logistic", "pursuit", "full", "given"
]
GLMStrategy: TypeAlias = Literal["auto", "full", "given"]
TermsStrategy: TypeAlias = Literal["auto", "logistic", "pursuit", "full", "given"]
# Given a record and what was found so far; whether to stop.
Report: TypeAlias = Callable[..., bool]


@dataclass(kw_only=True, eq=False, repr=False)
class GPOptions(Control):
    """Options of the Gaussian process, ``strategy="gp"``.

    Parameters
    ----------
    noise : {"auto", "constant"}, default="auto"
        Whether noise may differ between rows and have heavy tails, those of Student's t
        distribution, if the residuals show that it does; otherwise it is normal with
        constant variance.
    clip : bool, default=True
        Whether to clip predictions to the range of the training targets. With up to
        1600 samples, the range is at most that of their leave-one-out predictions,
        widened by a standard deviation, so that a few extreme targets do not stretch
        it. Beyond the ranges of numeric columns, quantiles, densities and draws move
        with them.
    target_transform : {"auto", "log", "yeo-johnson"} or None, default="auto"
        Scale on which a skewed target is learned: its logarithm, a Yeo-Johnson power,
        or, with None, as it is. "auto" takes the one with the highest evidence, unless
        it costs accuracy. Predictions are means in the target's own unit; weights,
        noise and contributions refer to the transformed target.
    numeric : {"auto", "thermometer", "multilinear"}, default="auto"
        How numeric columns enter: as a line ("multilinear"), or also with up to 16
        levels of about equal size ("thermometer"), for steps and curves. "auto"
        compares the evidence of both.
    one_hot : "auto", sequence of sequences of int or str, or None, default=None
        Groups of 0/1 columns to treat as one categorical column: exactly one of them is
        1 in every row. "auto" detects runs of three or more adjacent columns; None
        detects none. `one_hot_groups_` lists them.

    See Also
    --------
    MOHNRegressor : The estimator that takes it as `gp_options`.

    Examples
    --------
    >>> from skmohn import GPOptions, MOHNRegressor
    >>> model = MOHNRegressor(gp_options=GPOptions(noise="constant"))
    >>> model.set_params(gp_options__clip=False).gp_options
    GPOptions(clip=False, noise='constant')
    """

    _parameter_constraints = {
        "noise": [StrOptions({"auto", "constant"})],
        "clip": ["boolean"],
        "target_transform": [StrOptions({"auto", "log", "yeo-johnson"}), None],
        "numeric": [StrOptions({"auto", "thermometer", "multilinear"})],
        "one_hot": ["array-like", StrOptions({"auto"}), None],
    }

    noise: str = "auto"
    clip: bool = True
    target_transform: str | None = "auto"
    numeric: str = "auto"
    one_hot: ArrayLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaOptions(Control):
    """Options of the delta rule, in `fit` and `partial_fit`.

    Parameters
    ----------
    learning_rate : float or "auto", default="auto"
        Step size. "auto" is ``1 / (n_terms + 1)``, divided by the largest sample weight
        if that exceeds 1: the largest step that never overshoots. `partial_fit`
        shortens only the steps of such samples, and takes no steps where the model has
        a posterior, which it conditions; msda's loop uses a fifth.
    tol : float, default=1e-4
        Stop when an epoch reduces the error by less than this fraction.
    n_iter_no_change : int, default=10
        Stop after this many epochs without a lower validation error.

    See Also
    --------
    MOHNRegressor : The estimator that takes it as `delta_options`.

    Examples
    --------
    >>> from skmohn import DeltaOptions, MOHNRegressor
    >>> model = MOHNRegressor(
    ...     "full", "delta", max_order=2, delta_options=DeltaOptions(tol=1e-3)
    ... )
    >>> model.fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]).terms_
    [(0,), (1,), (0, 1)]
    """

    _parameter_constraints = {
        "learning_rate": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto"}),
        ],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    }

    learning_rate: float | str = "auto"
    tol: float = 1e-4
    n_iter_no_change: int = 10


@dataclass(kw_only=True, eq=False, repr=False)
class MSDAOptions(Control):
    """Options of the stochastic search ``strategy="msda"``, with the papers' defaults.

    The highest order, the number of iterations and the lasso's penalty are parameters
    of :class:`MOHNRegressor`; the step of the delta rule is one of
    :class:`DeltaOptions`. Greek letters are the papers' symbols. :meth:`published`
    returns the search as printed by Swingler (2020); the defaults add `refit`.

    The recipe of Swingler (2016) is the delta rule with ``batch_size="n_features"`` and
    ``t_variance="target"``. It misses most terms of a sum of 5-bit traps, even after
    600 iterations; with the default batches and the residual variance it finds all.

    Parameters
    ----------
    order_share : float, default=0.6
        Fraction of the model's own orders in the next distribution over orders (alpha).
    mode_share : float, default=0.2
        Fraction of a Laplace distribution around the lowest order with untried terms
        (beta). The remainder is the weight of the previous distribution.
    order_width : float, default=1.0
        Width of that Laplace distribution (b).
    exploitation : float, default=0.5
        How to draw the first column of a new term, from -1 (columns without weights)
        through 0 (any) to 1 (columns with large weights) (rho). The papers leave it
        open. At 0.5, half of the draws follow the weights and no column gets less than
        half of an equal fraction.
    clique_share : float, default=0.8
        How strongly further columns are drawn from those that share terms with the
        columns drawn so far (delta).
    batch_size : {"third", "n_features"} or int, default="third"
        New terms per iteration: a third of the samples (Swingler 2020), the number of
        columns (Swingler 2016), or a number.
    max_weight_share : float, default=0.8
        Maximum number of terms, as a fraction of the distinct rows. The papers allow 1,
        at which least squares fits perfectly with any terms.
    discard_period : int, default=15
        Iterations after which removed terms may be tried again.
    mopping_threshold : float, default=0.9
        Fraction of an order's terms in use above which the rest are added at once.
    removal : {"auto", "zero", "t_test"}, default="auto"
        Which terms to remove: those with zero weight, or those a t-test finds
        insignificant. "auto" is "zero" for the lasso, else "t_test".
    p_critical : float, default=0.3
        Significance level of the t-test in the first iteration.
    p_decay : float, default=0.7
        Factor by which the level falls per iteration.
    p_minimum : float, default=0.001
        Lower bound of the level.
    t_variance : {"residual", "target"}, default="residual"
        Variance in the t-test: of the residuals over their degrees of freedom, or of
        the target over the number of samples (Swingler 2016, Eq 15 as printed, which
        misses small weights).
    initial_orders : array-like of shape (max_order,), default=None
        First distribution over orders, not necessarily normalized. None for the Laplace
        distribution around order 1.
    initial_inputs : array-like of shape (n_inputs,), default=None
        Prior distribution over columns that vary, not necessarily normalized. None for
        a uniform one.
    penalty_factor : float or sequence of float, default=2.5
        Penalty of the lasso with ``alpha="auto"``, in standard errors of a weight at
        the model's current error. With several, each iteration takes the one whose
        terms have the lowest validation error or, without validation samples, the
        lowest extended BIC.
    refit : bool, default=True
        Whether each iteration also solves least squares on the terms that it keeps.
        Their error then sets the lasso's penalty, and ends the search once it is zero;
        without validation samples the extended BIC compares the models. False, as
        printed: the penalty is that of the first iteration, the model has the weights
        that were learned, and the search ends when their error is zero, on validation
        samples if there are any. A lasso with a penalty shrinks its weights, so its
        error never reaches zero.
    n_epochs : int, default=20
        Epochs of the delta rule per iteration.
    n_iter_no_change : int or None, default=50
        Stop after this many iterations without improvement of the validation error or,
        without validation samples, the extended BIC. None, as printed: do not stop.
    tol : float, default=1e-4
        Smallest improvement that counts, as a fraction of the error.

    See Also
    --------
    MOHNRegressor : The estimator that takes it as `msda_options`.

    Examples
    --------
    >>> from skmohn import MOHNRegressor, MSDAOptions
    >>> from skmohn.datasets import make_sparse_walsh
    >>> problem = make_sparse_walsh(
    ...     12, {1: 2, 3: 1}, heredity=None, n_samples=100, random_state=0
    ... )
    >>> control = MSDAOptions(exploitation=0.2, discard_period=10)
    >>> model = MOHNRegressor(
    ...     strategy="msda", max_order=3, msda_options=control, random_state=0
    ... )
    >>> model.fit(problem.X, problem.y).terms_ == problem.terms
    True
    """

    _parameter_constraints = {
        "order_share": _FRACTION,
        "mode_share": _FRACTION,
        "order_width": [Interval(Real, 0, None, closed="neither")],
        "exploitation": [Interval(Real, -1, 1, closed="both")],
        "clique_share": _FRACTION,
        "batch_size": [*_COUNT, StrOptions({"third", "n_features"})],
        "max_weight_share": _POSITIVE_FRACTION,
        "discard_period": _COUNT,
        "mopping_threshold": _POSITIVE_FRACTION,
        "removal": [StrOptions({"auto", "zero", "t_test"})],
        "p_critical": _POSITIVE_FRACTION,
        "p_decay": _POSITIVE_FRACTION,
        "p_minimum": _POSITIVE_FRACTION,
        "t_variance": [StrOptions({"residual", "target"})],
        "initial_orders": ["array-like", None],
        "initial_inputs": ["array-like", None],
        "penalty_factor": [*_NOT_NEGATIVE, "array-like"],
        "refit": ["boolean"],
        "n_epochs": _COUNT,
        "n_iter_no_change": [*_COUNT, None],
        "tol": _NOT_NEGATIVE,
    }

    order_share: float = 0.6
    mode_share: float = 0.2
    order_width: float = 1.0
    exploitation: float = 0.5
    clique_share: float = 0.8
    batch_size: str | int = "third"
    max_weight_share: float = 0.8
    discard_period: int = 15
    mopping_threshold: float = 0.9
    removal: str = "auto"
    p_critical: float = 0.3
    p_decay: float = 0.7
    p_minimum: float = 0.001
    t_variance: str = "residual"
    initial_orders: Sequence[float] | None = None
    initial_inputs: Sequence[float] | None = None
    penalty_factor: float | Sequence[float] = 2.5
    refit: bool = True
    n_epochs: int = 20
    n_iter_no_change: int | None = 50
    tol: float = 1e-4

    @classmethod
    def published(cls) -> Self:
        """Return the options of the search as printed by Swingler (2020).

        As many terms as samples, no least squares in addition to the lasso, and no end
        before `max_iter` iterations except at an error of zero. The penalty is not
        printed: here it is a quarter of a standard error of a weight.

        Returns
        -------
        options : MSDAOptions
        """
        return cls(
            max_weight_share=1.0,
            penalty_factor=0.25,
            refit=False,
            n_iter_no_change=None,
        )

    def _validate_params(self) -> None:
        """Check the range of each parameter, then what concerns several."""
        super()._validate_params()
        for name in ("initial_orders", "initial_inputs"):
            if (given := getattr(self, name)) is not None:
                _check_prior(name, given)
        _check_penalties(self.penalty_factor)
        if not self.refit and np.size(self.penalty_factor) > 1:
            raise ValueError(
                "MSDAOptions with refit=False takes one penalty_factor, since several "
                f"are compared by least squares. Got {self.penalty_factor!r} instead."
            )
        if not 0.0 < self.order_share + self.mode_share <= 1.0:
            raise ValueError(
                "order_share + mode_share of MSDAOptions must be above 0 and at most "
                f"1, not {self.order_share} + {self.mode_share}"
            )


def _check_penalties(given: object) -> None:
    """Refuse everything but one factor or several."""
    factors = _as_numbers(given)
    is_list = factors.ndim <= 1 and factors.size
    if not is_list or not np.isfinite(factors).all() or (factors < 0.0).any():
        raise ValueError(
            "The 'penalty_factor' parameter of MSDAOptions must be a finite number "
            f">= 0 or a list of such numbers. Got {given!r} instead."
        )


def _as_numbers(given: Any) -> NDArray[np.float64]:
    """Convert to an array; an empty one if that is impossible."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


def _check_prior(name: str, given: object) -> None:
    """Refuse what cannot be normalized to a distribution."""
    prior = _as_numbers(given)
    # What is not finite has no finite sum.
    if prior.ndim != 1 or (prior < 0.0).any() or not 0.0 < prior.sum() < np.inf:
        raise ValueError(
            f"The {name!r} parameter of MSDAOptions must be None or a list of finite "
            f"numbers >= 0, not all of them 0. Got {given!r} instead."
        )


def _refuse_unused(estimator: Any) -> None:
    """Refuse parameters that an estimator's strategy would ignore."""
    defaults = signature(type(estimator)).parameters
    for name, strategies in estimator._used_by.items():
        value, usual = getattr(estimator, name), defaults[name].default
        is_usual = value is None if usual is None else value == usual
        if estimator.strategy not in strategies and not is_usual:
            others = ", ".join(f'"{strategy}"' for strategy in strategies)
            raise ValueError(
                f"{name}: strategy={estimator.strategy!r} takes none; leave it at "
                f"{usual!r}, or use one of {others}"
            )


def _refuse_unused_by_rule(params: Mapping[str, Any]) -> None:
    """Refuse parameters that the learning rule, which is known, would ignore."""
    rule, strategy = params["learning_rule"], params["strategy"]
    is_stopped = rule == "delta" or strategy not in ("full", "given")
    if params.get("early_stopping") and not is_stopped:
        raise ValueError(
            f"early_stopping: strategy={strategy!r} has nothing to stop but the delta "
            'rule: leave it at False, or set learning_rule="delta"'
        )


def reusable(cv: Any) -> Any:
    """Parameter `cv`, with folds of an iterator as a list."""
    is_plain = isinstance(cv, Iterable) and not hasattr(cv, "split")
    return list(cv) if is_plain else cv


@dataclass(frozen=True)
class FitSettings:
    """Parameters of a search, read from an estimator that has been checked."""

    # Parameters that an estimator has not are at the defaults of those that have them.

    strategy: str = "auto"
    learning_rule: str = "ols"
    max_order: int | None = None
    max_terms: int | None = None
    include_inputs: bool = True
    terms: Sequence[Any] | None = None
    alpha: float | str = "auto"
    C: float | str = "auto"
    max_iter: int = 200
    selection: str = "auto"
    cv: Any = 5
    early_stopping: bool = False
    validation_fraction: float = 0.1
    work_budget: float = 1e9
    memory_budget: float = 1e9
    n_jobs: int | None = None
    gp_options: GPOptions = field(default_factory=GPOptions)
    delta_options: DeltaOptions = field(default_factory=DeltaOptions)
    msda_options: MSDAOptions = field(default_factory=MSDAOptions)
    # Beside them, the observer of long work: called with its name and number of parts,
    # it is a context manager of what to call after each.
    watch: Callable[[str, int], AbstractContextManager[Callable[[], None]]] = (
        no_progress
    )

    @classmethod
    def of(cls, estimator: Nested) -> Self:
        """Read an estimator; controls that are None become the defaults."""
        _refuse_unused(estimator)
        given = estimator.get_params(deep=False)
        controls = {name: control_of(estimator, name) for name in estimator._controls}
        given |= controls
        if given["cv"] is None:
            given["cv"] = 5  # scikit-learn's default
        # Outliers are left out of folds that were read before.
        given["cv"] = reusable(given["cv"])
        if given.get("learning_rule", "auto") == "auto":
            # Swingler's search is by the lasso (2020); all others solve least squares.
            given["learning_rule"] = "lasso" if given["strategy"] == "msda" else "ols"
        _refuse_unused_by_rule(given)
        known = {part.name for part in fields(cls)}
        return cls(**{k: v for k, v in given.items() if k in known})
