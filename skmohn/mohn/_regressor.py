"""MOHNRegressor: validate, encode and search in fit, then evaluate the model."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skmohn._core._categories import Categories, one_row, read_table
from skmohn._core._estimator import ComputedProperty
from skmohn._core._fitting import (
    FitLoop,
    History,
    all_or_nothing,
    blas_threads_for,
    warn_caller,
)
from skmohn._core._long import say_when_long
from skmohn._core._options import control_of
from skmohn._core._sklearn import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_parameters,
    fit_context,
    with_callbacks,
)
from skmohn._core._tables import validate_held_out
from skmohn._core._types import TableLike, Term
from skmohn._core._validation import (
    is_pair_given,
    read_quantiles,
    read_sets,
    require_fitted,
)
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn import _effects as effects
from skmohn.mohn._base import BaseMOHN, Table
from skmohn.mohn._design.design import make_design
from skmohn.mohn._export.methods import ExportMixin
from skmohn.mohn._from_terms import read_known
from skmohn.mohn._genotypes import encode, encode_blocks, read_inputs
from skmohn.mohn._gp.model import GPModel
from skmohn.mohn._gp.multitask import TaskView
from skmohn.mohn._gp.shared import remember
from skmohn.mohn._interaction_graph import InteractionGraph, link_columns
from skmohn.mohn._models import Model, NoPosteriorError
from skmohn.mohn._multioutput import (
    MultiTargetModel,
    fit_targets,
    for_each_target,
    forget,
    gather_attributes,
    index_of_target,
    is_several,
    read_observations,
    split_targets,
)
from skmohn.mohn._options import (
    DeltaOptions,
    FitSettings,
    GPOptions,
    MSDAOptions,
    RegressionStrategy,
)
from skmohn.mohn._outliers import (
    MAX_FITS,
    Fit,
    Targets,
    leave_outliers_out,
    squares_of_new_groups,
)
from skmohn.mohn._reports import (
    add_summary,
    join_tables,
    tabulate_collinear_terms,
    tabulate_parts,
    tabulate_significance,
    tabulate_terms,
    to_frame,
)
from skmohn.mohn._sparse.inference import TermTests, label_collinear_terms
from skmohn.mohn._sparse.model import SparseModel
from skmohn.mohn._spike_slab.model import SpikeSlabModel
from skmohn.mohn._strategies import STRATEGIES, strategies_for
from skmohn.mohn._table.coding import ONE_HOT, InputCoding
from skmohn.mohn._table.rows import coded_blocks
from skmohn.mohn._table.variables import Marginals
from skmohn.mohn._training_data import (
    Copies,
    Strategy,
    TrainingData,
    join_copies,
    positive_weights,
    read_groups,
)


class MOHNRegressor(
    ExportMixin, BaseMOHN, CallbackSupportMixin, RegressorMixin, BaseEstimator
):
    """Sparse regression that finds interactions of any order.

    A mixed order hyper network (MOHN) is the function

    .. math:: f(x) = w_0 + \\sum_j w_j \\prod_{i \\in Q_j} x_i

    of inputs coded as -1 and +1. Each term ``Q_j`` is a set of columns; its size is its
    order. The estimator finds the terms that matter from far fewer samples than there
    are candidate terms. Neither their order nor the noise level is a parameter.

    Parameters
    ----------
    strategy : {"auto", "pursuit", "gp", "spike_slab", "msda", "full", "given"}, \
            default="auto"
        How to find the terms. See the user guide, "Strategies".

        - ``"auto"``: pursuit and, unless that is exact, also ``"spike_slab"``, ridge
          regression by its evidence and ``"gp"``; keeps the one with the shortest
          description, and ridge regression among near ties. If nothing is significant,
          no term is listed, and predictions stay close to the mean.
        - ``"pursuit"``: sparse; propose, solve and prune, then screen higher orders.
        - ``"gp"``: Bayesian, with all :math:`2^n` weights, for noisy functions in which
          every term matters a little; `terms_` lists the significant ones.
        - ``"spike_slab"``: Bayesian, with the weights of all terms up to order 2 or 3,
          most of which are zero; predicts with their posterior mean. For noise and few
          rows; `terms_` lists those that are likely not zero, of which at most 2.5 %
          are expected to be false discoveries. If columns are collinear, such as
          products with a column of few ones, weights are sampled if that takes seconds;
          otherwise, one of these columns gets the weight.
        - ``"msda"``: the stochastic search of [1]_ and [2]_; see :class:`MSDAOptions`.
        - ``"full"``: all terms up to `max_order`.
        - ``"given"``: the terms listed in `terms`.
    learning_rule : {"auto", "ols", "lasso", "delta"}, default="auto"
        How to fit the weights: least squares, the lasso or the online delta rule
        ([1]_ Eq 4). "auto" is the lasso for "msda", as in [2]_, else least squares.
        Pursuit searches with least squares and applies the rule at the end; "msda"
        searches with the rule and solves least squares at the end.
    max_order : int, default=None
        Largest number of columns in a term; None, or a number above that of the
        columns, sets no limit. ``"gp"`` uses every order and lists terms up to
        `max_order`, by default 3 or fewer in wide tables; ``"spike_slab"`` tries orders
        up to 3, or fewer where sets are many.
    terms : sequence of sequences of int or str, default=None
        Terms of the model, as column indices or names, without the constant: all of
        them for "given"; for "pursuit" and "auto" those that are in every model, such
        as covariates, in addition to what the search finds. "auto" then stays sparse.
        Other strategies take none.
    alpha : float or "auto", default="auto"
        Penalty of the lasso. "auto" is the scaled lasso, the noise level times
        ``sqrt(2 log(n_terms) / n_samples)``; msda uses `MSDAOptions.penalty_factor`.
        Other learning rules have none.
    max_iter : int, default=200
        Maximum number of search rounds, delta rule epochs or evidence steps.
    selection : {"auto", "cv", "ebic", "lasso"}, default="auto"
        How pursuit chooses a model if none is exact: cross-validation of the whole
        search (the sparsest model within one standard error of the best), the extended
        BIC, or a lasso on all terms of orders 1 and 2 and those that are significant.
        "auto" is "ebic" below 40 distinct rows, else the better of "cv" and "lasso",
        unless the search on all rows finds a model with a shorter description.
        Strategies other than "pursuit" and "auto" take none.
    cv : int, cross-validation generator or iterable, default=5
        Cross-validation folds for `selection`. An int keeps identical rows in one fold.
    early_stopping : bool, default=False
        Whether to hold out samples that replace the folds (pursuit) or stop the search
        (msda) or the epochs (delta rule). Passing `X_val` and `y_val` to `fit` does the
        same; "gp" and "spike_slab" need neither and learn from all samples. "full" and
        "given" can stop only the delta rule.
    validation_fraction : float, default=0.1
        Fraction of the samples held out by `early_stopping`.
    work_budget : float, default=1e9
        Limit on the exhaustive screening of orders 3 and up, in operations of about a
        nanosecond each. If that is not enough for all of order 3, sets that contain a
        column of the model are screened. `search_coverage_` reports what was skipped.
    memory_budget : float, default=1e9
        Bytes for the candidates of message passing, which are cut to fit, or for all
        weights or sets, which are refused if they do not fit.
    outliers : {"auto", "keep"}, default="auto"
        Whether targets far from all others of their kind, such as entry errors, are
        left out if that makes the description of all targets clearly shorter; at most a
        tenth of them. See `outliers_` and the user guide, "Outliers". "msda", "full"
        and "given" learn from all targets in any case.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
            default="from_dtype"
        Columns that hold categories: a mask, indices or names. "from_dtype" takes text
        and categorical dtypes, but leaves out text that differs in at least ten rows
        and 95% of them, as IDs do. Two categories become -1 and +1; only "gp" handles
        more, and "auto" then uses it.
    handle_unknown : {"error", "missing"}, default="error"
        Whether to reject a category not seen in `fit` or treat it as missing.
    gp_options : GPOptions, default=None
        Options of "gp". None for the defaults, as for the other two options.
    delta_options : DeltaOptions, default=None
        Options of the delta rule, in `fit` and `partial_fit`.
    msda_options : MSDAOptions, default=None
        Options of "msda".
    warm_start : bool, default=False
        Whether `fit` starts from the terms or hyperparameters of the previous fit.
    random_state : int, RandomState instance or None, default=None
        Seed for folds, for the rows that hyperparameters are learned from, for weights
        of collinear columns, which "spike_slab" samples, for the row order of the delta
        rule, and for msda.
    n_jobs : int, default=None
        Number of folds to search in parallel. It does not affect the result.

    Attributes
    ----------
    terms_ : list of tuples of int
        Column indices of each term, sorted by order, then index, without the constant.
        A category is a pair ``(index, category)``, a level of a numeric column a pair
        ``(index, number)``; see the user guide, "Categorical columns".
    weights_ : ndarray of shape (n_terms,)
        Weight of each term, for inputs coded as -1 and +1.
    intercept_ : float
        The constant: the mean of the function over all inputs.
    standard_errors_ : ndarray of shape (n_terms,)
        Standard error of each weight: 0 for an exact model, NaN for lasso weights or
        without degrees of freedom. Posterior standard deviations for "auto",
        "gp" and "spike_slab".
    p_values_ : ndarray of shape (n_terms,)
        Two-sided p-value of each weight of a sparse model, before any correction for
        the search; see :meth:`significance_table`. NaN for a Gaussian process and after
        `partial_fit`.
    noise_std_ : float
        Estimated standard deviation of the noise; 0 for an exact model.
    model_ : SparseModel, SpikeSlabModel, GPModel or MultiTargetModel
        The fitted function of coded inputs, which the methods below evaluate; if y had
        two dimensions, those of all targets.
    stopping_reason_ : str
        Why the search ended, in a sentence.
    coding_ : InputCoding
        How each column became an input: its ``kind`` and the values ``low`` and
        ``high`` coded as -1 and +1.
    outliers_ : ndarray of shape (n_samples,), bool
        Mask of the targets that were left out as outliers. Of several targets, shape
        (n_samples, n_targets).
    search_coverage_ : list of dict
        For each order, the number of terms that are ``possible``, were ``tried``
        (scored) and were ``kept``.
    collinear_terms_ : list of list of (tuple, float)
        For each of `terms_` of a sparse model, the nearly collinear sets of as many
        columns, and their correlations with it on the training rows; see
        :meth:`collinear_terms_table`. Empty for a Gaussian process and after
        `partial_fit`.
    history_ : History
        One dict per round, epoch or evidence step, such as ``training_rmse``,
        ``validation_rmse``, ``n_weights`` and ``seconds``; "auto" adds the description
        lengths. ``history_.to_frame()`` returns a DataFrame.
    n_iter_ : int
        Number of rounds or epochs.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.
    estimators_ : list of MOHNRegressor
        Only if y had two dimensions: a fitted model of each target. `terms_` are then
        those of any target, `weights_` and `standard_errors_` have shape (n_targets,
        n_terms), `intercept_` and `noise_std_` shape (n_targets,), and records have a
        ``target``.
    target_names_ : list of str or int
        Names of the columns of such a y, or their numbers.
    shared_targets_ : list of int
        Targets that share one set of hyperparameters; empty if none.

    See Also
    --------
    sklearn.preprocessing.PolynomialFeatures : All interactions up to a degree.
    sklearn.linear_model.LassoCV : Sparse linear model on given columns.

    Notes
    -----
    Columns with two values become -1 and +1. Others are scaled to [-1, 1] and enter
    products as they are, so the model is multilinear unless `GPOptions.numeric` adds
    levels. Dates, times and durations count as seconds. Constant columns are ignored.
    NaN means missing: the prediction is averaged over the values of its column in
    `fit`.

    Models of noisy targets with products do not extrapolate far: beyond the ranges of
    numeric columns in `fit`, predictions stay within the bounds that the weights allow
    there, and those of a Gaussian process within the range set by `GPOptions.clip`.
    Quantiles, densities and draws are then centered on the bound, with the uncertainty
    of the function so far out; unless the target is transformed, their variance
    includes the squared distance from the bound to the unbounded function. Sums of main
    effects, exact models, and strategies that only use least squares ("pursuit",
    "msda", "full" and "given"), follow their terms anywhere.

    Entry errors: in ten rows or more, values of a numeric column that lie beyond all
    others by more than three times their range count as missing, up to one in 50 rows
    at each end, and at least one; up to one in ten if they are off by a hundred ranges,
    with a warning; at most five. If no value is negative, they must be far off on a log
    scale, too. In new rows, such values count as the nearer end of the range.

    Rounding: numbers within 1e-9 of the range of their column are equal; so are those
    within 1e-4 if the column has on average at least two rows per number, and numbers
    are a hundred times as far apart.

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

    terms_: list[tuple[Any, ...]]
    weights_: np.ndarray
    intercept_: float
    standard_errors_: np.ndarray
    p_values_: np.ndarray
    noise_std_: float
    model_: SparseModel | SpikeSlabModel | GPModel | MultiTargetModel
    stopping_reason_: str
    coding_: InputCoding
    outliers_: np.ndarray
    search_coverage_: list[dict]
    collinear_terms_: list[list]
    history_: History
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray
    estimators_: list
    target_names_: list
    shared_targets_: list[int]

    _parameter_constraints = {
        **BaseMOHN._parameter_constraints,
        "strategy": [StrOptions(set(strategies_for("regression")))],
        "learning_rule": [StrOptions({"auto", "ols", "lasso", "delta"})],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "selection": [StrOptions({"auto", "cv", "ebic", "lasso"})],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "outliers": [StrOptions({"auto", "keep"})],
        "gp_options": [GPOptions, None],
        "delta_options": [DeltaOptions, None],
        "msda_options": [MSDAOptions, None],
        "warm_start": ["boolean"],
    }

    _marginals: Marginals | None
    _tests: TermTests
    _weight_unit: float
    # Those that need no table of numbers.
    _genotype_strategies: tuple[str, ...] = ("pursuit", "given")
    _used_by = {
        "terms": ("auto", "pursuit", "given"),
        "learning_rule": ("auto", "pursuit", "msda", "full", "given"),
        "selection": ("auto", "pursuit"),
        "msda_options": ("msda",),
    }

    _controls = {
        "gp_options": GPOptions,
        "delta_options": DeltaOptions,
        "msda_options": MSDAOptions,
    }

    def __init__(
        self,
        strategy: RegressionStrategy = "auto",
        learning_rule: str = "auto",
        max_order: int | None = None,
        *,
        terms: Sequence[Any] | None = None,
        alpha: float | str = "auto",
        max_iter: int = 200,
        selection: str = "auto",
        cv: Any = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        work_budget: float = 1e9,
        memory_budget: float = 1e9,
        outliers: str = "auto",
        categorical_features: ArrayLike | None = "from_dtype",
        handle_unknown: str = "error",
        gp_options: GPOptions | None = None,
        delta_options: DeltaOptions | None = None,
        msda_options: MSDAOptions | None = None,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
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
        self.outliers = outliers
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.gp_options = gp_options
        self.delta_options = delta_options
        self.msda_options = msda_options
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        X_val: TableLike | None = None,
        y_val: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Find the terms and fit their weights.

        Parameters
        ----------
        X : {array-like, sparse matrix, Genotypes} of shape (n_samples, n_features)
            Training samples; NaN means missing. Sparse input is converted to dense.
            :class:`~skmohn.Genotypes` need `strategy` "pursuit" or "given".
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target values. Each of several targets has its own model; see the user
            guide.
        sample_weight : array-like of shape (n_samples,), default=None
            Integers count repeated samples: a weight of 2 equals the sample twice.
            Other weights are relative precisions, scaled to a mean of 1. With strategy
            "auto", "gp" or "spike_slab", numbers of copies are scaled as well, since
            copies carry no information on the noise. Samples of weight 0 are dropped.
        X_val : array-like of shape (n_val, n_features), default=None
            Validation samples; see `early_stopping`.
        y_val : array-like of shape (n_val,) or (n_val, n_targets), default=None
            Targets of the validation samples.
        groups : array-like of shape (n_samples,), default=None
            Labels of groups of samples that belong together, such as repeats of one
            subject: folds never separate them, and each is held out with its whole
            group when the model is evaluated. If a group has several samples, five more
            fits predict groups that they have not seen, which scales the intervals; a
            fit then takes about six times as long. Description lengths, p-values and
            standard errors still count rows as independent: if columns hardly vary
            within groups, fit the means of groups instead. None: only equal rows belong
            together.
        **params : dict
            Passed to the splitter `cv`; needs metadata routing.

        Returns
        -------
        MOHNRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            For invalid input; the message names the parameter or column.
        MemoryError
            If the requested model does not fit in memory.

        Warns
        -----
        ConvergenceWarning
            If the search ended early or there are too few samples; the best model so
            far is kept.
        UserWarning
            If "auto" or "gp" is fitted to a noisy target of two values.
        """
        data = X, y, sample_weight, X_val, y_val, groups
        if is_several(y):
            fit_targets(self, data, params)
            return self
        if hasattr(self, "estimators_"):
            forget(self)
        return self._fit(data, params)

    def _fit(
        self,
        data: tuple[Any, ...],
        params: Mapping[str, Any],
        together: TaskView | None = None,
        copies: Copies | None = None,  # those of all targets; None: of this one
    ) -> Self:
        """Fit a single target, which may learn with others."""
        strategy, settings = STRATEGIES[self.strategy], FitSettings.of(self)
        targets, given = self._read(strategy, settings, data, params, copies)
        samples = targets.read(together=together)
        # The number of passes over all pairs of a wide table is unknown.
        max_records = None
        if strategy.max_steps is not None and not samples.is_wide:
            max_records = MAX_FITS * strategy.max_steps(settings)
        loop = FitLoop(self, *given, max_iter=max_records)
        with blas_threads_for(len(samples.y)):
            fit, outliers = self._solve(samples, targets, strategy, settings, loop)
        self._expose(fit, outliers, targets.copies)
        loop.finish(fit.solution.graph, fit.solution.model)
        return self

    def _solve(
        self,
        samples: TrainingData,
        targets: Targets,
        strategy: Strategy,
        settings: FitSettings,
        loop: FitLoop,
    ) -> tuple[Fit, NDArray[np.bool_]]:
        """Fit all targets or, if some are outliers, the others; a `Fit` and a mask."""
        settings = replace(settings, watch=loop.watch)

        def solve(samples: TrainingData) -> Fit:
            loop.attributes = partial(self._fitted_attributes, samples.coding)
            n_before = len(loop.history)
            solution = strategy.solve["regression"](samples, settings, loop.step)
            return Fit(samples, solution, loop.history[n_before:])

        fit, outliers = solve(samples), np.zeros(len(targets.y), dtype=bool)
        if strategy.leaves_outliers_out:
            if self.outliers == "auto":
                fit, outliers = leave_outliers_out(fit, solve, targets)
            if control_of(self, "gp_options").noise == "auto":
                quiet = partial(_fit_quietly, strategy, settings)
                squares = squares_of_new_groups(fit, quiet, targets, outliers)
                fit = replace(fit, squares_of_groups=squares)
        loop.attributes = partial(self._fitted_attributes, fit.samples.coding)
        return fit, outliers

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Update the weights with more samples, without a new search.

        The first call is `fit`. Later calls condition the model on the samples exactly,
        so that batches and their order make no difference. Models without a posterior,
        and sparse ones if `delta_options` has a learning rate, are instead corrected by
        one pass of the delta rule (Swingler 2016, Eq 4) in sample order, by which they
        follow changes but, with noise, do not get as good as by `fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target values, as many as in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Precisions in the unit of the first call. For the delta rule, factors of the
            learning rate; if the rate is "auto", limited to the step that meets the
            target of a sample.

        Returns
        -------
        MOHNRegressor
            The fitted estimator.
        """
        if not hasattr(self, "terms_"):
            return self.fit(X, y, sample_weight)
        observed = read_observations(self, X, y, weights=[sample_weight])
        parts = self._targets()
        own = [(observed[0], target) for target in split_targets(observed[1])]
        names = getattr(self, "target_names_", None)
        with remember():
            for_each_target(names, lambda k: parts[k]._update(*own[k], sample_weight))
        if names is not None:
            vars(self).update(gather_attributes(parts, names))
        return self

    @classmethod
    def from_terms(
        cls,
        terms: Sequence[Sequence[int | str]],
        weights: ArrayLike,
        *,
        intercept: float = 0.0,
        n_features: int | None = None,
        feature_names: Iterable[str] | None = None,
        low: ArrayLike = -1.0,
        high: ArrayLike = 1.0,
    ) -> Self:
        """Make a fitted model from known weights, without data.

        Parameters
        ----------
        terms : sequence of sequences of int or str
            Column indices or names of each term.
        weights : array-like of shape (n_terms,)
            Weight of each term, for columns coded as -1 and +1.
        intercept : float, default=0.0
            The constant.
        n_features : int, default=None
            Number of columns. None means the number of names or the largest index plus
            one.
        feature_names : sequence of str, default=None
            Column names.
        low, high : float or array-like of shape (n_features,), default=-1.0 and 1.0
            Values of each column that are coded as -1 and +1.

        Returns
        -------
        MOHNRegressor
            With ``strategy="given"``, these terms, and zero standard errors and noise.

        Raises
        ------
        ValueError
            If terms, weights, names and bounds do not match, repeat or are not finite.
        """
        terms = read_sets(terms, "terms", are_ordered=True)
        graph, coding, names = read_known(
            terms, weights, intercept, n_features, feature_names, low, high
        )
        model = cls(strategy="given", terms=terms)
        model.terms_, model.weights_ = list(graph.terms), graph.weights
        model.intercept_ = graph.intercept
        model.coding_ = coding
        model._categories = Categories({}, model.handle_unknown)
        model._time_zones = {}
        model._weight_unit = 1.0
        model.model_ = SparseModel.certain(graph)
        model.standard_errors_ = np.zeros(len(graph.terms))
        model.noise_std_ = 0.0
        model.stopping_reason_ = "none: made from known terms"
        model.outliers_ = np.zeros(0, dtype=bool)
        model.search_coverage_ = []
        model._expose_inference(TermTests.unknown(len(terms)))
        model.history_ = History()
        model._marginals = None
        model.n_iter_ = 0
        model.n_features_in_ = len(coding.kind)
        if names is not None:
            model.feature_names_in_ = names
        return model

    @overload
    def predict(
        self, X: TableLike, return_std: Literal[False] = False
    ) -> NDArray[np.float64]: ...

    @overload
    def predict(
        self, X: TableLike, return_std: Literal[True]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def predict(self, X: TableLike, return_std: bool = False) -> Any:
        """Predict the target: the mean of new observations.

        Parameters
        ----------
        X : {array-like, sparse matrix, Genotypes} of shape (n_samples, n_features)
            Samples; NaN means missing.
        return_std : bool, default=False
            Whether to return standard deviations; needs "auto", "gp" or "spike_slab".

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predicted values.
        std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Standard deviation of a new observation of each sample, only with
            `return_std`.
        """
        require_fitted(self, "model_")
        table, model = read_inputs(self, X), self.model_
        clip = control_of(self, "gp_options").clip
        if not return_std:
            blocks = self._to_blocks(table, for_terms=model.mean_reads_terms)
            return np.concatenate([model.predictive_mean(b, clip) for b in blocks])
        posterior = self._posterior("return_std")
        parts = [
            (model.predictive_mean(rows, clip), posterior.predictive_std(rows, clip))
            for rows in self._to_blocks(table)
        ]
        mean, std = map(np.concatenate, zip(*parts, strict=True))
        return mean, std

    def predict_quantiles(
        self, X: TableLike, quantiles: ArrayLike = (0.05, 0.5, 0.95)
    ) -> NDArray[np.float64]:
        """Predict quantiles of new observations, such as the ends of an interval.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; NaN means missing.
        quantiles : array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Fractions of the observations that lie below, between 0 and 1; by default
            the ends of a 90 % interval and the median.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            Quantiles of a normal distribution or, if held-out samples show heavy tails,
            of Student's t; for a transformed target in its own unit. For samples with
            missing values, those of a mixture over their possible values.

        Raises
        ------
        ValueError
            If a quantile is not between 0 and 1.
        AttributeError
            Unless `strategy` was "auto", "gp" or "spike_slab".
        """
        model = self._posterior("predict_quantiles")
        probabilities = read_quantiles(quantiles)
        blocks = self._to_blocks(read_table(self, X, keep_dtype=True))
        clip = control_of(self, "gp_options").clip
        parts = [model.quantiles(rows, probabilities, clip) for rows in blocks]
        return np.concatenate(parts)

    def log_density(self, X: TableLike, y: ArrayLike) -> NDArray[np.float64]:
        """Log density of new observations, a proper score of predictions and spreads.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; NaN means missing.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their target values.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            In nats, for the target's own unit. Low values indicate outliers.

        Raises
        ------
        AttributeError
            Unless `strategy` was "auto", "gp" or "spike_slab".
        """
        model = self._posterior("log_density")
        table, y = read_observations(self, X, y)
        blocks = zip(coded_blocks(table.shape), self._to_blocks(table), strict=True)
        clip = control_of(self, "gp_options").clip
        parts = [model.log_density(rows, y[part], clip) for part, rows in blocks]
        return np.concatenate(parts)

    def sample_y(
        self,
        X: TableLike,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = 0,
    ) -> NDArray[np.float64]:
        """Draw observations from the posterior, jointly for all samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Samples; NaN means missing.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Seed; the default repeats the same draws, as Gaussian processes do.

        Returns
        -------
        ndarray of shape (n_rows, n_samples) or (n_rows, n_targets, n_samples)
            One draw per column, including noise.

        Raises
        ------
        AttributeError
            Unless `strategy` was "auto", "gp" or "spike_slab".
        """
        model = self._posterior("sample_y")
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        rows = self._to_rows(read_table(self, X))
        clip = control_of(self, "gp_options").clip
        rng = check_random_state(random_state)
        with say_when_long("MOHNRegressor.sample_y", "pass fewer rows at a time"):
            return model.sample(rows, n_samples, rng, clip)

    def weight_posterior(
        self, term: Any, target: int | str | None = None
    ) -> tuple[float, float]:
        """Return the posterior of one weight, in `terms_` or not.

        Needs "auto", "gp" or "spike_slab". Weights that are not in a sparse model are
        exactly 0.

        Parameters
        ----------
        term : sequence of int, str or pairs (column, category)
            Columns of the term, as indices or names, such as
            ``[("base", "G"), "dose"]``; empty for the constant. A column with several
            categories needs a category.
        target : int or str, default=None
            Which of several targets; None if y had one dimension.

        Returns
        -------
        mean : float
            Posterior mean.
        std : float
            Posterior standard deviation.

        Raises
        ------
        ValueError
            If `term` names a column that is unknown, repeated, constant or without
            category.
        AttributeError
            Unless `strategy` was "auto", "gp" or "spike_slab".
        """
        part = self._select_target(target)
        model = part._posterior("weight")
        sign, term = part.term_names_.find(term)
        mean, std = model.weight_posterior(term)
        return sign * mean, std

    @property
    def target_transform_(self) -> Any:
        """Scale of the target on which the function was learned.

        Returns
        -------
        Unchanged, Logarithm or YeoJohnson; of several targets, a list of them
            With ``forward(y)`` to the scale and ``inverse(values)`` back. Weights,
            `noise_std_` and contributions are in its unit. See `GPOptions`.
        """
        check_is_fitted(self)
        return self.model_.transform

    @property
    def relevance_(self) -> NDArray[np.float64]:
        """Relevance of each column to a Gaussian process, from 0 (none) to 1.

        Returns
        -------
        ndarray of shape (n_features,) or (n_targets, n_features)
            The factor (tau) by which a column shrinks the prior variance of each weight
            that contains it. For several categories or levels, the factor of a
            two-valued input whose values are as similar as two of them are on average.
            For "spike_slab", the probability that a term that contains it is not zero.
        """
        return self._posterior("relevance_").relevance_by_column(self.coding_)

    @property
    def log_marginal_likelihood_(self) -> float:
        """Log evidence of "auto", "gp" or "spike_slab", in nats.

        At the learned hyperparameters.

        Returns
        -------
        float
            Infinite for an exact model. The sum over several targets.
        """
        return self._posterior("log_marginal_likelihood_").log_evidence()

    @property
    def one_hot_groups_(self) -> list[tuple[int, ...]]:
        """Groups of 0/1 columns treated as one categorical column.

        Returns
        -------
        list of tuples of int
            Column indices of each group.
        """
        check_is_fitted(self)
        coding = self.coding_
        return [s for s in coding.categoricals if coding.kind[s[0]] == ONE_HOT]

    def terms_table(self) -> Any:
        """List the terms with their weights, the strongest first.

        Returns
        -------
        DataFrame
            ``term`` (such as ``"dose x sex=male"``), ``order``, ``weight``,
            ``standard_error`` and ``variance_share``, the term's fraction of the
            model's variance over uniform inputs. See the user guide, "Reading a model".
            With several targets, ``target`` comes first.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        tables = [part._tabulate_terms() for part in self._targets()]
        return self._to_frame(tables, "terms_table")

    def significance_table(
        self, X: TableLike | None = None, y: ArrayLike | None = None
    ) -> Any:
        """Test the terms of a sparse model against noise, the most significant first.

        A term's p-value is that of its weight in least squares on all terms: Student's
        t, two-sided, exact for independent normal noise of equal variance if the terms
        had been known in advance. They were not, and terms chosen together absorb noise
        from each other. So the corrected p-value is at least the p-value times the
        number of sets of its order that the search tried (Bonferroni), and that of
        steps down the table: each tests whether the target contains anything beyond the
        preceding terms, by the F test of the next few terms times the number of ways to
        choose as many. On pure noise, any term found is below 0.05 in at most 5 % of
        the fits, however the search chose. If residuals are clearly not normal, as
        with rare cases among controls, a p-value is at least that of Student's t with
        the kurtosis that the target's and the column's give a sum over rows: few rows
        that carry a rare allele are not significant by one outlier.

        Parameters
        ----------
        X : {array-like, Genotypes} of shape (n_samples, n_features), default=None
            Rows that were not used in `fit`. None for `p_values_`, on the training
            rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Their target values.

        Returns
        -------
        DataFrame
            ``term`` (as in :meth:`terms_table`), ``order``, ``p_value``,
            ``n_tried``, and ``p_corrected``, at least their product and at most 1. On
            further rows, and if everything tried is in the model, as with "given",
            ``n_tried`` is the number of terms, and the product is the only correction;
            for `terms` given in addition to a search, it is their number, and they are
            tested in the model of the significant terms. NaN for terms that are
            determined by others, after `partial_fit`, and for a Gaussian process. With
            several targets, ``target`` comes first, and each is corrected separately.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        ValueError
            If one of `X` and `y` is missing, or if they are given and the model is
            a Gaussian process.
        """
        parts = self._targets()
        tests = [part._tests for part in parts]
        if is_pair_given(X, y, ""):
            table, y = read_observations(self, X, y, read_inputs)
            tests = [
                part._test_terms(table, own)
                for part, own in zip(parts, split_targets(y), strict=True)
            ]
        tables = [
            tabulate_significance(part.term_names_, part.terms_, own)
            for part, own in zip(parts, tests, strict=True)
        ]
        return self._to_frame(tables, "significance_table")

    def collinear_terms_table(self) -> Any:
        """List sets of columns that are nearly collinear with the terms found.

        Among correlated columns, such as neighbors on a chromosome, a search keeps the
        best, which need not be the cause. This table lists the others: each member of a
        term is replaced by columns whose correlation with it is at least 0.9, and the
        products whose correlation with the term is at least 0.9 are listed, both in
        absolute value and on the training rows.

        Returns
        -------
        DataFrame
            ``term`` (as in :meth:`terms_table`), ``equivalent`` and
            ``correlation``, in the order of `terms_`; for each term the closest first,
            at most 50. `collinear_terms_` holds the same. With several targets,
            ``target`` comes first.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        tables = [
            tabulate_collinear_terms(p.term_names_, p.terms_, p.collinear_terms_)
            for p in self._targets()
        ]
        return self._to_frame(tables, "collinear_terms_table")

    def explain(self, x: TableLike, target: int | str | None = None) -> Any:
        """Split the prediction of one row into contributions, the largest first.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row, such as a list or a DataFrame's row; NaN means missing.
        target : int or str, default=None
            Which of several targets; None if y had one dimension.

        Returns
        -------
        DataFrame
            ``term``, ``value`` (product of the coded inputs, with missing values at the
            mean of their column; 0 if one has another category), ``weight`` and
            ``contribution``, their product. Contributions add up to the prediction; if
            the target is transformed, to the transformed median. ``"(constant)"`` comes
            first. A Gaussian process or spike-and-slab model has more weights than are
            listed: their contributions are in one line for each column, ``"(other
            weights of
            ...)"``, without value and weight; a weight of several columns is shared
            equally by them (Shapley values). ``"(clip)"``, if it applied, is at the
            end.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        ValueError
            If `x` is not exactly one row that `predict` accepts.
        """
        part = self._select_target(target)
        rows = part._to_rows(read_table(self, one_row(x)))
        clip = control_of(self, "gp_options").clip
        listed = part._listed_weights()
        found = tabulate_parts(part.model_, part.term_names_, listed, rows, clip)
        return to_frame(found, "explain")

    @ComputedProperty
    def interaction_graph_(self) -> InteractionGraph:
        """Which columns interact, and into which separate parts the model splits.

        Returns
        -------
        InteractionGraph
            Built from the nonzero terms, of any target; for a Gaussian process from the
            significant ones. Other columns that explain 1 % of its variance or more, by
            weights too small or too many to be listed, are separate parts.
        """
        return link_columns(self._targets(), self.n_features_in_, self._names())

    @ComputedProperty
    def feature_importances_(self) -> NDArray[np.float64]:
        """Total Sobol index of each column; see :meth:`sobol_indices`.

        Returns
        -------
        ndarray of shape (n_features,)
            Used by tools such as :class:`~sklearn.feature_selection.RFE`. The mean over
            several targets.
        """
        tables = [effects.tabulate_sobol(part) for part in self._targets()]
        return np.mean([table["total"] for table in tables], axis=0)

    def sobol_indices(self, distribution: str = "observed") -> Any:
        """Compute Sobol indices of the prediction for each column.

        They are those of [1]_ for columns that vary independently of each other, each
        distributed as in the rows of `fit`; if columns are correlated, proportions in
        those rows differ, see :func:`~sklearn.inspection.permutation_importance`. Sums
        over terms or pairs of training rows are exact for the model, except for the
        clipping of a Gaussian process. A transformed target has no such sum: its
        indices are estimated in its own unit, from predictions at quasi-random rows, to
        within a few hundredths.

        Parameters
        ----------
        distribution : {"observed", "uniform"}, default="observed"
            How each column varies: "observed", as in the rows of `fit`, or, without
            rows (:meth:`from_terms`), as "uniform": uniformly over its values,
            categories or range, as in a designed experiment or a search.

        Returns
        -------
        DataFrame
            ``feature``; ``first_order``, the proportion of the variance that the column
            explains alone; ``total``, its proportion including interactions. Columns of
            a one-hot group share one index. All are 0 for a constant model. With
            several targets, ``target`` comes first.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        ValueError
            If `distribution` is invalid.

        References
        ----------
        .. [1] Sobol, I. M. (2001). Global sensitivity indices for nonlinear
           mathematical models and their Monte Carlo estimates. Mathematics and
           Computers in Simulation 55.
        """
        parts = self._targets()
        tables = [effects.tabulate_sobol(part, distribution) for part in parts]
        return self._to_frame(tables, "sobol_indices")

    def effects_table(self) -> Any:
        """List the effect of each column on the target, the most important first.

        The effect is how far the prediction moves, in the target's own unit, when one
        column moves and all others vary as in :meth:`sobol_indices`. It is an average:
        a column that matters in interactions, or equally at both ends, may have no
        effect.

        Returns
        -------
        DataFrame
            ``feature``; ``first_order`` and ``total`` (Sobol indices); ``from`` and
            ``to``, between which the column moves; ``effect`` and its
            ``standard_error``. Two values are the ends of a move from the lower to the
            higher one; a numeric column moves from its lower to its upper quartile or,
            if these are equal, from its lowest to its highest value; each category
            replaces the most common one, in a separate row, and so does a column of a
            one-hot group, whose ``from`` and ``to`` are column names. Constant columns
            have neither, nor do variants of genotypes that are in no term. Standard
            errors take the terms of a sparse model as given. They are posterior
            standard deviations, except for sparse models without a posterior, whose
            weights are taken as independent; NaN if their standard errors are unknown.
            With several targets, ``target`` comes first.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        tables = [effects.tabulate_effects(part) for part in self._targets()]
        return self._to_frame(tables, "effects_table")

    def __sklearn_tags__(self) -> Tags:
        """Describe the inputs and targets that the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        return add_summary(
            self,
            super()._get_fitted_attr_html(doc_link),
            self._tabulate_terms,
            effects.describe_effects,
        )

    def _read(
        self,
        strategy: Strategy,
        settings: FitSettings,
        data: tuple[Any, ...],
        params: Mapping[str, Any],
        copies: Copies | None = None,
    ) -> tuple[Targets, tuple[Any, ...]]:
        """Check the arguments of `fit`; return targets, and data for callbacks."""
        X, y, sample_weight, X_val, y_val, groups = data
        split_params = self._split_params(params, groups)
        table, y = read_inputs(self, X, y, reset=True, weights=[sample_weight])
        held = validate_held_out(self, X_val, y_val, read_inputs)
        earlier = None
        if self.warm_start and hasattr(self, "terms_"):
            earlier = self.terms_, self.model_
        how = {
            "validation": held,
            "strategy": strategy,
            "settings": settings,
            "seed": check_random_state(self.random_state).randint(2**31),
            "categories": self._categories,
            "columns": self._names(),
            "earlier": earlier,
            "split_params": split_params,
            "groups": read_groups(groups, table),
        }
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        given = X if self._categories.of_text else table, y, metadata
        if copies is None:
            copies = join_copies(table, y, sample_weight, how["groups"], strategy)
        return Targets(table, y, copies, how), given

    def _fitted_attributes(
        self,
        coding: InputCoding,
        graph: WalshPolynomial,
        model: Model | Callable[[], Model] | None = None,
    ) -> dict[str, Any]:
        term_names = self._vocabulary(coding)
        return {
            "terms_": [term_names.label(term) for term in graph.terms],
            "weights_": graph.weights,
            "intercept_": graph.intercept,
            "coding_": coding,
            "model_": model() if callable(model) else model or SparseModel.point(graph),
        }

    def _expose(self, fit: Fit, outliers: NDArray[np.bool_], copies: Copies) -> None:
        """Set the attributes of a fit; warn once."""
        samples, solution = fit.samples, fit.solution
        found = self._fitted_attributes(samples.coding, solution.graph, solution.model)
        vars(self).update(found)
        self.standard_errors_ = solution.standard_errors
        self.noise_std_ = solution.noise_std
        # A target stands for all of its copies.
        self.outliers_, n_outliers = outliers[copies.first], int(outliers.sum())
        self.stopping_reason_ = solution.stopping_reason
        if n_outliers:
            left_out = f"{n_outliers} of {len(outliers)} targets"
            self.stopping_reason_ += f"; left out as outliers: {left_out}"
        self.search_coverage_ = solution.coverage
        self._expose_inference(TermTests.unknown(len(solution.terms)))
        if self._model.is_sparse:
            tests = TermTests.of_fit(samples, solution, self._fixed_terms())
            alike = label_collinear_terms(samples, solution.terms)
            self._expose_inference(tests, alike)
        self._marginals = effects.measure(samples, self._model, self.terms_)
        self.history_, self.n_iter_ = fit.history, max(len(fit.history), 1)
        # What unknown inputs hide is part of the noise that was found.
        known = samples.rows, samples.y, samples.sample_weight
        self.model_ = self._model.with_missing_inputs(*known, samples.coding)
        if control_of(self, "gp_options").noise == "auto":
            self.model_ = self._model.with_tails(
                *known, n_outliers, fit.squares_of_groups
            )
        unit = samples.weight_scale * (copies.unit or 1.0)
        self._weight_unit = 1.0 if self._model.is_sparse else unit
        if solution.warning:
            warn_caller(solution.warning, ConvergenceWarning)

    @property
    def _model(self) -> SparseModel | SpikeSlabModel | GPModel:
        """The model of a single target."""
        return cast(SparseModel | SpikeSlabModel | GPModel, self.model_)

    def _expose_inference(
        self, tests: TermTests, collinear: list[list] | None = None
    ) -> None:
        """Set what is known of the terms beside their weights."""
        self._tests, self.p_values_ = tests, tests.p_values
        self.collinear_terms_ = collinear or [[] for _ in tests.p_values]

    def _update(
        self, table: NDArray, y: NDArray[np.float64], sample_weight: ArrayLike | None
    ) -> None:
        """Update the model of a single target with more samples."""
        control = control_of(self, "delta_options")
        check_parameters(control)
        weights = positive_weights(sample_weight, table, unit=self._weight_unit)
        weight, rows, _ = weights
        new = self._to_rows(table[rows])
        model = self._model.update(new, y[rows], weight, control)
        graph, self.standard_errors_ = model.significant_terms(self.max_order)
        vars(self).update(self._fitted_attributes(self.coding_, graph, model))
        self._expose_inference(TermTests.unknown(len(self.terms_)))
        self.noise_std_ = model.noise_std()
        self.n_iter_ += 1

    def _targets(self) -> list[Self]:
        """Models of all targets with the parameters as they are now, or this one."""
        check_is_fitted(self)
        if not hasattr(self, "estimators_"):
            return [self]
        params = self.get_params(deep=False)
        del params["cv"], params["random_state"]
        return [copy.copy(part).set_params(**params) for part in self.estimators_]

    def _select_target(self, target: int | str | None) -> Self:
        """Model of one target, given its number or its name."""
        parts = self._targets()
        return parts[index_of_target(target, getattr(self, "target_names_", None))]

    def _listed_weights(self) -> WalshPolynomial:
        """Weights of `terms_` as a polynomial of inputs."""
        terms = tuple(self.term_names_.indices(self.terms_))
        return WalshPolynomial(terms, self.weights_, self.intercept_)

    def _tabulate_terms(self) -> Table:
        """List the terms of a single target."""
        listed = self._listed_weights()
        return tabulate_terms(
            self._model, self.term_names_, listed, self.standard_errors_
        )

    def _to_frame(self, tables: Sequence[Table], caller: str) -> Any:
        """Make a DataFrame of the tables of all targets."""
        names = getattr(self, "target_names_", None)
        return to_frame(join_tables(tables, names), caller)

    def _fixed_terms(self) -> list[Term]:
        """Terms that the search left fixed, as sets of members."""
        if self.terms is None or self.strategy == "given":
            return []
        find = self.term_names_.find
        return [tuple(sorted(find(term, "terms")[1])) for term in self.terms]

    def _test_terms(self, table: NDArray, y: NDArray[np.float64]) -> TermTests:
        """Test the terms of a single target on further rows."""
        if not self._model.is_sparse:
            raise ValueError(
                "significance_table tests the terms of a sparse model, but this model "
                'has other weights as well: fit with strategy="pursuit"'
            )
        design = make_design(self._to_rows(table).inputs)
        terms = self.term_names_.indices(self.terms_)
        return TermTests.of_further_rows(design, y, terms)

    def _posterior(self, what: str) -> Any:
        """The model, or an error where it has no posterior."""
        check_is_fitted(self)
        if self.model_.has_posterior:
            return self.model_
        why = f'strategy="{self.strategy}" has none'
        if STRATEGIES[self.strategy].may_be_dense:
            why = "there is none if no column varies, or after "
            why += "partial_fit of a sparse model by the delta rule"
        raise NoPosteriorError(
            f"{what} needs a posterior, but {why}: fit with "
            'strategy="gp" or "auto" on columns that vary'
        )

    def _to_rows(self, table: Any) -> Any:
        """Encode a table as the model reads it."""
        if isinstance(self.model_, MultiTargetModel):
            return self.model_.encode(table, self._names())
        return encode(self.coding_, table, self._names())

    def _to_blocks(self, table: Any, *, for_terms: bool = False) -> Iterator[Any]:
        """Encode some rows of a table at a time, as the model reads them."""
        if isinstance(self.model_, MultiTargetModel):
            return self.model_.encode_blocks(table, self._names(), for_terms=for_terms)
        return encode_blocks(self.coding_, table, self._names(), for_terms=for_terms)


def _fit_quietly(
    strategy: Strategy, settings: FitSettings, samples: TrainingData
) -> Fit:
    """Fit that is reported to no callback."""
    solve = strategy.solve["regression"]
    return Fit(samples, solve(samples, settings, lambda *_: False))
