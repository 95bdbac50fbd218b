"""MOHNRegressor: validate, encode, discover, expose."""

from numbers import Integral, Real
from typing import Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skmohn._core._control import Nested
from skmohn._core._fitting import FitLoop, History, all_or_nothing
from skmohn._core._validation import validate_held_out
from skmohn.mohn._controls import DeltaControl, DenseControl, MSDAControl
from skmohn.mohn._dense.model import DenseModel
from skmohn.mohn._dense.strategy import DenseMethods
from skmohn.mohn._from_terms import FromTerms
from skmohn.mohn._incremental import Incremental
from skmohn.mohn._reading import Reading
from skmohn.mohn._routing import FoldsRouting
from skmohn.mohn._sparse.model import SparseModel
from skmohn.mohn._strategies import STRATEGIES
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.columns import read_table
from skmohn.mohn._task import make_task


class MOHNRegressor(
    DenseMethods,
    Incremental,
    Reading,
    FromTerms,
    FoldsRouting,
    Nested,
    CallbackSupportMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Sparse Walsh model that discovers which interactions matter.

    A mixed order hyper network is the function

    .. math:: f(x) = w_0 + \\sum_j w_j \\prod_{i \\in Q_j} x_i

    of inputs coded as -1 and +1. Each weight connects a set of inputs ``Q_j`` of any
    size, its order. The estimator finds the sets whose weights are not zero, from far
    fewer samples than there are sets, and needs not be told their order nor whether the
    data are noisy.

    Parameters
    ----------
    strategy : {"auto", "pursuit", "dense", "msda", "full", "given"}, default="auto"
        How the structure is found.

        - ``"auto"``: by pursuit and, where that is not exact, also by ``"dense"``. The
          shortest description wins, unless the sparse model predicts left-out rows
          better; neither where nothing stands out. Sparse when `max_order` or another
          `learning_rule` asks for it.
        - ``"pursuit"``: propose, solve and prune, with exhaustive screening of higher
          orders and message passing over all candidates when nothing stands out.
        - ``"dense"``: all :math:`2^n` weights, independent a priori with variances that
          fall by a factor for each input they connect; the factors by maximum evidence.
          For noisy functions in which everything matters a little. Every prediction
          and weight has a standard deviation; `terms_` are the significant weights.
        - ``"msda"``: the stochastic algorithm of [1]_ and [2]_, controlled by
          `msda_control`.
        - ``"full"``: all weights up to `max_order`.
        - ``"given"``: the weights listed in `terms`.

    learning_rule : {"ols", "lasso", "delta"}, default="ols"
        How weights are learnt: least squares, the lasso by coordinate descent on the
        Gram matrix, or the online delta rule ([1]_ Eq 4). Pursuit searches with least
        squares and applies the rule to what it found; msda uses the rule in its loop
        and solves least squares at the end.

    max_order : int, default=None
        Largest number of inputs in a weight. None sets no limit; ``"full"`` then takes
        all :math:`2^n` weights. ``"dense"`` has all, and lists them up to this order,
        by default 3 or what is quickly looked at.

    terms : sequence of sequences of int or str, default=None
        The weights of ``strategy="given"``, each a set of feature indices or names. The
        constant is always in the model and is not listed.

    alpha : float or "auto", default="auto"
        Penalty of the lasso, as in :class:`~sklearn.linear_model.Lasso`. "auto" is the
        scaled lasso: the noise level times ``sqrt(2 log(n_terms) / n_samples)``, the
        noise estimated together with the weights; in msda's loop, see
        `MSDAControl.penalty_factor`.

    max_iter : int, default=200
        Most rounds of discovery, epochs of the delta rule or steps of the evidence.

    selection : {"auto", "cv", "ebic", "lasso"}, default="auto"
        How pursuit settles on a model when no model reproduces the data exactly.

        - ``"cv"``: least squares on the weights that stand out, how far being chosen by
          k-fold validation of the whole search; the sparsest model within one standard
          error of the best.
        - ``"ebic"``: the same by the extended Bayesian information criterion.
        - ``"lasso"``: shrunken weights on all sets of order one and two and those that
          stand out, the penalty by k-fold validation; for dense functions.
        - ``"auto"``: "ebic" below 40 distinct rows, else whichever of "cv" and "lasso"
          predicts better.

    cv : int, cross-validation generator or iterable, default=5
        The folds of that validation. With a number, equal rows share a fold.
        Splitters that need groups get them by scikit-learn's metadata routing.

    early_stopping : bool, default=False
        Whether to hold out a part of the data that takes the place of the folds
        (pursuit), ends the search (msda) or the epochs (delta rule). Passing `X_val`
        and `y_val` to `fit` has the same effect. ``"dense"`` needs none and learns
        from all rows.

    validation_fraction : float, default=0.1
        Share of the samples held out by `early_stopping`.

    work_budget : float, default=1e9
        What the exhaustive screening of orders three and up may cost, roughly in
        nanoseconds but from counts; what was not searched is in `search_coverage_`.

    memory_budget : float, default=1e9
        Bytes that the candidates of message passing, or all weights, may take. More are
        left out, or by ``"dense"`` refused.

    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
            default="from_dtype"
        The columns whose values are categories, as a mask, indices or names;
        "from_dtype" takes those of categorical or text type, and those of objects with
        text among them. Two categories are an input of -1 and +1; more are a
        categorical of ``"dense"``, which has a weight for each and which ``"auto"``
        then is; others refuse it.

    handle_unknown : {"error", "missing"}, default="error"
        Whether a category that was not there in `fit` is an error or an unknown value.

    dense_control : DenseControl, default=None
        Control parameters of ``"dense"``: its noise, what it makes of numeric columns
        and of groups of columns. None for the defaults.

    delta_control : DeltaControl, default=None
        Control parameters of the delta rule, in `fit` and `partial_fit`; None for the
        defaults.

    msda_control : MSDAControl, default=None
        Control parameters of ``strategy="msda"``; None for the defaults.

    warm_start : bool, default=False
        Whether `fit` begins with the terms, or the hyper-parameters, of the previous
        fit and searches on.

    random_state : int, RandomState instance or None, default=None
        Deals folds, shuffles the delta rule's rows and drives msda. Exact recoveries
        by pursuit do not depend on it.

    n_jobs : int, default=None
        Folds searched at once by joblib. The result does not depend on it.

    Attributes
    ----------
    terms_ : list of tuples of int
        Feature indices of each weight, ordered by size and then by index. The constant
        is not among them. The category of a categorical is a pair ``(index,
        category)``, the level of a numeric column ``(index, number)``, counted from the
        lowest: such a weight is the part of the function that depends on all its
        members and on nothing else, at that category.

    weights_ : ndarray of shape (n_terms,)
        The weights, aligned with `terms_`, for inputs coded as -1 and +1.

    intercept_ : float
        The constant: the mean of the function over all inputs.

    standard_errors_ : ndarray of shape (n_terms,)
        Of least squares weights: 0 when the recovery is exact, NaN for shrunken weights
        and when there are no degrees of freedom left. Of ``"auto"`` and ``"dense"``:
        posterior standard deviations, as of :meth:`weight`.

    noise_ : float
        Estimated standard deviation of the noise; 0 when the recovery is exact.

    model_ : SparseModel or DenseModel
        The function found, in coded inputs: ``mean``, ``std`` and ``draw`` of rows,
        with its noise and what unknown inputs hide (``gaps``), ``weight`` of a set,
        ``shares`` of the variance, ``update`` by further rows. Methods of the estimator
        ask it; it has a ``graph`` of all weights, or ``is_listed`` is False.

    stopping_reason_ : str
        Why the search ended, in plain words.

    coding_ : InputCoding
        How each column became an input: its ``kind``, and the values ``low`` and
        ``high`` that stand for -1 and +1.

    search_coverage_ : list of dict
        Per order: how many sets there are (``possible``), how many were scored
        (``tried``) and how many are in the model (``kept``).

    history_ : History
        One record per round or epoch: ``training_rmse``, ``learned_rmse`` (before
        weights were removed), ``validation_rmse`` (None without validation data),
        ``n_weights``, ``weights_per_order``, ``proposed``, ``removed``, ``discarded``,
        ``seconds``. ``history_.to_frame()`` needs pandas.
        Of ``"dense"``: ``log_posterior`` and ``noise`` of each step; at the end the log
        evidence, ``validation_rmse``, ``n_weights`` and the ``way`` taken. ``"auto"``
        adds ``description_length_sparse``, ``_dense`` and ``_nothing``, and which was
        ``chosen``.

    n_iter_ : int
        Rounds or epochs run.

    n_features_in_ : int
        Number of columns seen in `fit`.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when all are strings.

    See Also
    --------
    sklearn.preprocessing.PolynomialFeatures : All interactions up to a degree.
    sklearn.linear_model.LassoCV : Sparse linear model on given columns.

    Notes
    -----
    Two-valued columns of any kind become -1 and +1. Others are scaled to [-1, 1] and
    enter the products as they are: the model is multilinear, but for the levels of
    `DenseControl.numeric`. Dates, times and durations are seconds. Constant columns are
    ignored. NaN means unknown: it is coded as 0, and the prediction is the exact mean
    over the values the input could have.

    References
    ----------
    .. [1] Swingler, K. (2016). Structure discovery in mixed order hyper networks. Big
       Data Analytics 1:8.
    .. [2] Swingler, K. (2020). Learning and searching pseudo-Boolean surrogate
       functions from small samples. Evolutionary Computation 28(2).

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.datasets import make_sparse_walsh
    >>> problem = make_sparse_walsh(
    ...     30, {1: 2, 3: 2}, heredity=None, n_samples=200, random_state=0
    ... )
    >>> model = MOHNRegressor().fit(problem.X, problem.y)
    >>> model.terms_ == problem.terms
    True
    >>> model.stopping_reason_
    'exact: the model reproduces every sample'
    """

    terms_: list[tuple]
    weights_: np.ndarray
    intercept_: float
    standard_errors_: np.ndarray
    noise_: float
    model_: SparseModel | DenseModel
    stopping_reason_: str
    coding_: InputCoding
    search_coverage_: list[dict]
    history_: History
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    _parameter_constraints = {
        "strategy": [StrOptions(set(STRATEGIES))],
        "learning_rule": [StrOptions({"ols", "lasso", "delta"})],
        "max_order": [Interval(Integral, 1, None, closed="left"), None],
        "terms": ["array-like", None],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "selection": [StrOptions({"auto", "cv", "ebic", "lasso"})],
        "cv": ["cv_object"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "work_budget": [Interval(Real, 0, None, closed="left")],
        "memory_budget": [Interval(Real, 0, None, closed="left")],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "handle_unknown": [StrOptions({"error", "missing"})],
        "dense_control": [DenseControl, None],
        "delta_control": [DeltaControl, None],
        "msda_control": [MSDAControl, None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    _controls = {
        "dense_control": DenseControl,
        "delta_control": DeltaControl,
        "msda_control": MSDAControl,
    }

    def __init__(
        self,
        strategy="auto",
        learning_rule="ols",
        max_order=None,
        *,
        terms=None,
        alpha: float | str = "auto",
        max_iter=200,
        selection="auto",
        cv: object = 5,
        early_stopping=False,
        validation_fraction=0.1,
        work_budget=1e9,
        memory_budget=1e9,
        categorical_features: ArrayLike | None = "from_dtype",
        handle_unknown="error",
        dense_control=None,
        delta_control=None,
        msda_control=None,
        warm_start=False,
        random_state=None,
        n_jobs=None,
    ):
        self.strategy = strategy
        self.learning_rule = learning_rule
        self.max_order = max_order
        self.terms = terms
        self.alpha = alpha
        self.max_iter = max_iter
        self.selection = selection
        self.cv = cv
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.work_budget = work_budget
        self.memory_budget = memory_budget
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.dense_control = dense_control
        self.delta_control = delta_control
        self.msda_control = msda_control
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y, sample_weight=None, X_val=None, y_val=None, **params) -> Self:
        """Discover the structure and learn its weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            NaN stands for an unknown value. Sparse input is made dense.

        y : array-like of shape (n_samples,)
            Target values.

        sample_weight : array-like of shape (n_samples,), default=None
            Whole numbers count repeated rows: a weight of 2 equals a row that stands
            there twice. Other weights are relative precisions and are scaled to a mean
            of 1. Rows of weight 0 are left out.

        X_val : array-like of shape (n_val, n_features), default=None
            Validation samples, see `early_stopping`.

        y_val : array-like of shape (n_val,), default=None
            Their targets.

        **params : dict
            For the splitter `cv`, such as ``groups``; takes
            ``sklearn.set_config(enable_metadata_routing=True)``.

        Returns
        -------
        MOHNRegressor
            The fitted estimator itself.

        Raises
        ------
        ValueError
            For bad input; the message names the parameter or column.

        MemoryError
            When a model is asked for that cannot fit in memory.

        Warns
        -----
        ConvergenceWarning
            When the search ended before it was done or the samples are too few; the
            model is then the best one found.
        """
        strategy, split_params = STRATEGIES[self.strategy], self._split_params(params)
        table, y = read_table(self, X, y, reset=True)
        validation = validate_held_out(self, X_val, y_val, read_table)
        task, coding = make_task(
            self,
            strategy,
            table,
            y,
            sample_weight,
            validation,
            self._names(),
            split_params=split_params,
        )
        loop = FitLoop(
            self,
            X if self._categories.encoders else table,
            y,
            None if sample_weight is None else {"sample_weight": sample_weight},
            strategy.most_steps(self),
            lambda graph, model=None: self._fitted_attributes(graph, coding, model),
        )
        solution = strategy.solve(self, task, self._members(coding), loop)
        loop.finish(solution.graph, solution.model)
        self._expose(solution, task, coding, loop.history)
        return self

    @overload
    def predict(self, X, return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict(
        self, X, return_std: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...

    def predict(self, X, return_std=False):
        """Evaluate the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            NaN stands for an unknown value: the prediction is the mean over all that it
            could be.

        return_std : bool, default=False
            Whether ``"auto"`` or ``"dense"`` says how far new observations may be off.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted values.

        std : ndarray of shape (n_samples,)
            Of new observations; only with `return_std`.
        """
        check_is_fitted(self)
        rows = self._to_rows(read_table(self, X))
        mean = self.model_.mean(rows, self._control("dense_control").clip)
        return (mean, self._posterior("return_std").std(rows)) if return_std else mean

    def __sklearn_tags__(self):
        """Say what the estimator can take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags
