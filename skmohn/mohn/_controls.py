"""Parameters of MOHN that belong together; all that a strategy may read of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from skmohn._core._control import Control, control_of

_SHARE = [Interval(Real, 0, 1, closed="both")]
_POSITIVE_SHARE = [Interval(Real, 0, 1, closed="right")]
_COUNT = [Interval(Integral, 1, None, closed="left")]
_NOT_NEGATIVE = [Interval(Real, 0, None, closed="left")]


@dataclass(kw_only=True, eq=False, repr=False)
class DenseControl(Control):
    """Control parameters of ``strategy="dense"``.

    Parameters
    ----------
    noise : {"auto", "constant"}, default="auto"
        Whether the noise may differ by row where residuals say so.

    clip : bool, default=True
        Whether predictions stay in the range of the targets.

    numeric : {"auto", "thermometer", "multilinear"}, default="auto"
        What becomes of numeric columns. Their line enters the products; with
        ``"thermometer"`` so do up to 16 levels of about equally many values, for steps
        and curves. "auto" has them where the evidence says so.

    one_hot : "auto", sequence of sequences of int or str, or None, default=None
        Groups of columns of 0 and 1 that are taken for the categories of one
        categorical, as one is 1 in every row. "auto" finds runs of three neighbours or
        more; None takes each column for itself. `one_hot_groups_` says what was found.

    See Also
    --------
    MOHNRegressor : The estimator that takes it as `dense_control`.

    Examples
    --------
    >>> from skmohn import DenseControl, MOHNRegressor
    >>> model = MOHNRegressor(dense_control=DenseControl(noise="constant"))
    >>> model.set_params(dense_control__clip=False).dense_control
    DenseControl(clip=False, noise='constant')
    """

    _parameter_constraints = {
        "noise": [StrOptions({"auto", "constant"})],
        "clip": ["boolean"],
        "numeric": [StrOptions({"auto", "thermometer", "multilinear"})],
        "one_hot": ["array-like", StrOptions({"auto"}), None],
    }

    noise: str = "auto"
    clip: bool = True
    numeric: str = "auto"
    one_hot: ArrayLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaControl(Control):
    """Control parameters of the delta rule, in `fit` and `partial_fit`.

    Parameters
    ----------
    learning_rate : float or "auto", default="auto"
        Step of the rule. "auto" is ``1 / (n_terms + 1)``, divided by the largest weight
        of a sample if that is more than 1: the largest step that never overshoots.
        `partial_fit` shortens the step of such a sample alone, and msda's loop takes a
        fifth.

    tol : float, default=1e-4
        The rule stops when an epoch improves its error by less than this share.

    n_iter_no_change : int, default=10
        Epochs without improvement of the validation error before it stops.

    See Also
    --------
    MOHNRegressor : The estimator that takes it as `delta_control`.

    Examples
    --------
    >>> from skmohn import DeltaControl, MOHNRegressor
    >>> model = MOHNRegressor(
    ...     "full", "delta", max_order=2, delta_control=DeltaControl(tol=1e-3)
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
class MSDAControl(Control):
    """Control parameters of the stochastic search, with the articles' defaults.

    They are those that only ``strategy="msda"`` has. The highest order, the number of
    iterations and the lasso's penalty are parameters of :class:`MOHNRegressor`, the
    step of the delta rule one of :class:`DeltaControl`.

    Parameters
    ----------
    order_share : float, default=0.6
        Share of the model's own orders in the new distribution over orders (alpha).

    mode_share : float, default=0.2
        Share of the Laplace around the lowest order with untried weights (beta).
        What is left to 1 is memory of the former distribution.

    order_width : float, default=1.0
        Width of that Laplace (b).

    exploitation : float, default=0.5
        How the first input of a new weight is drawn, from -1 (inputs without weights)
        over 0 (any) to 1 (inputs with large weights) (rho). The articles leave it
        open. At 0.5 half of the draws follow what was found, and no input ever has
        less than half of its fair share.

    clique_share : float, default=0.8
        How strongly the other inputs are drawn from the company of those drawn before
        (delta).

    batch_size : {"third", "n_features"} or int, default="third"
        New weights per iteration: a third of the number of samples [S2], the number
        of inputs [S1], or a number.

    max_weight_share : float, default=0.8
        Most weights in the model, as a share of the number of different rows. The
        articles go up to 1, where the least squares fit is perfect whatever the
        weights.

    discard_period : int, default=15
        Iterations after which the weights removed so far may be tried again.

    mopping_threshold : float, default=0.9
        Share of the weights of an order that have to be used for the rest to be added
        at once.

    removal : {"auto", "zero", "t_test"}, default="auto"
        Which weights leave the model: those that the lasso set to zero, or those that
        a t-test finds insignificant. "auto" is "zero" for the lasso and "t_test" for
        the other learning rules, which set nothing to zero.

    p_critical : float, default=0.3
        Significance level of the t-test in the first iteration.

    p_decay : float, default=0.7
        Factor of that level from one iteration to the next.

    p_minimum : float, default=0.001
        Where the level stops falling; it is the least level from the start.

    t_variance : {"residual", "target"}, default="residual"
        Variance in the t-test: that of the error the model leaves, over its degrees
        of freedom, or that of the target over the number of samples (Eq 15 as printed,
        with which small weights are missed).

    initial_orders : array-like of shape (max_order,), default=None
        First distribution over orders, up to a factor; None for the Laplace around
        order 1.

    initial_inputs : array-like of shape (n_inputs,), default=None
        Prior distribution over inputs, up to a factor; None for a uniform one. Constant
        columns are no inputs.

    penalty_factor : float, default=2.5
        The lasso's penalty under ``alpha="auto"``, in standard errors of a weight under
        the current error of the model.

    n_epochs : int, default=20
        Epochs of the delta rule per iteration.

    n_iter_no_change : int, default=50
        Stop when the model has not improved for so many iterations, judged by the
        error on validation samples or, without them, by the extended BIC.

    tol : float, default=1e-4
        Improvement that counts, as a share of the error (or what is worth it).

    See Also
    --------
    MOHNRegressor : The estimator that takes it as `msda_control`.

    Examples
    --------
    >>> from skmohn import MOHNRegressor, MSDAControl
    >>> from skmohn.datasets import make_sparse_walsh
    >>> problem = make_sparse_walsh(
    ...     n_features=12,
    ...     n_terms={1: 2, 3: 1},
    ...     heredity=None,
    ...     n_samples=100,
    ...     random_state=0,
    ... )
    >>> control = MSDAControl(exploitation=0.2, discard_period=10)
    >>> model = MOHNRegressor(
    ...     strategy="msda", max_order=3, msda_control=control, random_state=0
    ... )
    >>> model.fit(problem.X, problem.y).terms_ == problem.terms
    True
    """

    _parameter_constraints = {
        "order_share": _SHARE,
        "mode_share": _SHARE,
        "order_width": [Interval(Real, 0, None, closed="neither")],
        "exploitation": [Interval(Real, -1, 1, closed="both")],
        "clique_share": _SHARE,
        "batch_size": [*_COUNT, StrOptions({"third", "n_features"})],
        "max_weight_share": _POSITIVE_SHARE,
        "discard_period": _COUNT,
        "mopping_threshold": _POSITIVE_SHARE,
        "removal": [StrOptions({"auto", "zero", "t_test"})],
        "p_critical": _POSITIVE_SHARE,
        "p_decay": _POSITIVE_SHARE,
        "p_minimum": _POSITIVE_SHARE,
        "t_variance": [StrOptions({"residual", "target"})],
        "initial_orders": ["array-like", None],
        "initial_inputs": ["array-like", None],
        "penalty_factor": _NOT_NEGATIVE,
        "n_epochs": _COUNT,
        "n_iter_no_change": _COUNT,
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
    penalty_factor: float = 2.5
    n_epochs: int = 20
    n_iter_no_change: int = 50
    tol: float = 1e-4

    def _validate_params(self):
        """Check the range of each parameter, then what concerns several."""
        super()._validate_params()
        for name in ("initial_orders", "initial_inputs"):
            if (given := getattr(self, name)) is not None:
                _check_prior(name, given)
        if not 0.0 < self.order_share + self.mode_share <= 1.0:
            raise ValueError(
                "order_share + mode_share of MSDAControl must be above 0 and at most "
                f"1, not {self.order_share} + {self.mode_share}"
            )


def _check_prior(name, given):
    """Refuse what cannot be made a distribution."""
    try:
        prior = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        prior = np.empty(0)
    # What is not finite has no finite sum.
    if prior.ndim != 1 or (prior < 0.0).any() or not 0.0 < prior.sum() < np.inf:
        raise ValueError(
            f"The {name!r} parameter of MSDAControl must be None or a list of finite "
            f"numbers >= 0, not all of them 0. Got {given!r} instead."
        )


@dataclass(frozen=True)
class Wishes:
    """What a user asks of a search: parameters of an estimator that has been checked.

    Strategies read them in its place. Parameters that an estimator has not are at the
    defaults of those that have them.
    """

    strategy: str = "auto"
    learning_rule: str = "ols"
    max_order: int | None = None
    max_columns: int | None = None
    include_inputs: bool = True
    terms: Sequence | None = None
    alpha: float | str = "auto"
    max_iter: int = 200
    selection: str = "auto"
    cv: object = 5
    early_stopping: bool = False
    validation_fraction: float = 0.1
    work_budget: float = 1e9
    memory_budget: float = 1e9
    n_jobs: int | None = None
    dense_control: DenseControl = field(default_factory=DenseControl)
    delta_control: DeltaControl = field(default_factory=DeltaControl)
    msda_control: MSDAControl = field(default_factory=MSDAControl)

    @classmethod
    def of(cls, estimator):
        """Read an estimator; its controls, where they are None, are the defaults.

        Parameters
        ----------
        estimator : MOHNRegressor, MOHNTransformer or MOHNClassifier

        Returns
        -------
        wishes : Wishes
        """
        given = estimator.get_params(deep=False)
        controls = {name: control_of(estimator, name) for name in estimator._controls}
        known = {part.name for part in fields(cls)}
        return cls(**{k: v for k, v in (given | controls).items() if k in known})
