"""MOHNRegressor: validate, encode, discover, expose, answer."""

from functools import partial
from numbers import Integral, Real
from typing import Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skmohn._core._control import control_of
from skmohn._core._fitting import FitLoop, History, all_or_nothing, warn_caller
from skmohn._core._html import ComputedProperty
from skmohn._core._units import binary_unit
from skmohn._core._validation import read_sets, validate_held_out
from skmohn.mohn._base import BaseMOHN
from skmohn.mohn._controls import DeltaControl, DenseControl, MSDAControl, Wishes
from skmohn.mohn._dense.model import DenseModel
from skmohn.mohn._from_terms import read_known
from skmohn.mohn._linkage import Linkage
from skmohn.mohn._model import NoPosteriorError
from skmohn.mohn._samples import positive_weights, read_samples
from skmohn.mohn._show import add_summary, tabulate, to_frame
from skmohn.mohn._sparse.model import SparseModel
from skmohn.mohn._sparse.sobol import column_of
from skmohn.mohn._strategies import STRATEGIES
from skmohn.mohn._table.coding import ONE_HOT, InputCoding
from skmohn.mohn._table.columns import Categories, column_names, one_row, read_table
from skmohn.mohn._table.rows import member_values


class MOHNRegressor(BaseMOHN, CallbackSupportMixin, RegressorMixin, BaseEstimator):
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
        strategy, wishes = STRATEGIES[self.strategy], Wishes.of(self)
        data = X, y, sample_weight, X_val, y_val
        samples, given = self._read(strategy, wishes, *data, params)
        attributes = partial(self._fitted_attributes, samples.coding)
        loop = FitLoop(self, *given, strategy.most_steps(wishes), attributes)
        solution = strategy.solve(samples, wishes, loop.step)
        loop.finish(solution.graph, solution.model)
        self._expose(solution, samples, loop.history)
        return self

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None) -> Self:
        """Learn from more samples.

        The first call finds the structure as `fit` does. Later calls keep structure and
        coding and correct the weights by the delta rule (Swingler 2016, Eq 4), in one
        pass over the samples in their order. After ``strategy="dense"`` they condition
        all weights on the samples exactly, at the hyper-parameters of the first call;
        the order of the calls does not matter then.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        y : array-like of shape (n_samples,)
            Target values.

        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies the learning rate, at most up to the step that meets the target
            of its row if that is "auto"; with ``strategy="dense"`` precisions in the
            unit of the first call, whose mean is 1, so that batches make no difference.

        Returns
        -------
        MOHNRegressor
            The fitted estimator itself.
        """
        if not hasattr(self, "terms_"):
            return self.fit(X, y, sample_weight)
        X, y = read_table(self, X, y)
        control = control_of(self, "delta_control")
        control._validate_params()
        weights = positive_weights(sample_weight, X, unit=self._weight_unit)
        sample_weight, rows, _ = weights
        new = self._to_rows(X[rows])
        model = self.model_.update(new, y[rows], sample_weight, control)
        graph, self.standard_errors_ = model.listed(self.max_order)
        vars(self).update(self._fitted_attributes(self.coding_, graph, model))
        self.noise_ = model.noise_std()
        self.n_iter_ += 1
        return self

    @classmethod
    def from_terms(
        cls,
        terms,
        weights,
        *,
        intercept=0.0,
        n_features=None,
        feature_names=None,
        low: ArrayLike = -1.0,
        high: ArrayLike = 1.0,
    ) -> Self:
        """Make a fitted model of known weights, without data.

        Parameters
        ----------
        terms : sequence of sequences of int or str
            The features that each weight connects, as indices or names.

        weights : array-like of shape (n_terms,)
            The weights, for features coded as -1 and +1.

        intercept : float, default=0.0
            The constant.

        n_features : int, default=None
            None for as many as there are names or, without names, for one more than the
            largest index.

        feature_names : sequence of str, default=None
            Names of the columns.

        low, high : float or array-like of shape (n_features,), default=-1.0 and 1.0
            The values of each column that are coded as -1 and +1.

        Returns
        -------
        MOHNRegressor
            With ``strategy="given"`` and these terms; its standard errors and noise are
            0, as those of an exact recovery.

        Raises
        ------
        ValueError
            If a term holds an unknown feature, the same one twice or none, if terms or
            names repeat, if there is no feature, or if numbers do not fit together or
            are not finite.
        """
        terms = read_sets(terms, "terms")
        graph, coding, names = read_known(
            terms, weights, intercept, n_features, feature_names, low, high
        )
        model = cls(strategy="given", terms=terms)
        model.terms_, model.weights_ = list(graph.terms), graph.coef
        model.intercept_ = graph.intercept
        model.coding_ = coding
        model._categories = Categories({}, model.handle_unknown)
        model._weight_unit = 1.0
        model.model_ = SparseModel.certain(graph)
        model.standard_errors_ = np.zeros(len(graph.terms))
        model.noise_ = 0.0
        model.stopping_reason_ = "none: made from known terms"
        model.search_coverage_ = []
        model.history_ = History()
        model.n_iter_ = 0
        model.n_features_in_ = len(coding.kind)
        if names is not None:
            model.feature_names_in_ = names
        return model

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
        mean = self.model_.mean(rows, control_of(self, "dense_control").clip)
        return (mean, self._posterior("return_std").std(rows)) if return_std else mean

    def sample_y(self, X, n_samples=1, random_state=0):
        """Draw observations from the posterior, jointly for all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)

        n_samples : int, default=1
            Number of draws.

        random_state : int, RandomState instance or None, default=0
            As in scikit-learn's Gaussian processes, the same draws in every call.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            One draw in each column, with noise.

        Raises
        ------
        AttributeError
            After a strategy other than ``"auto"`` and ``"dense"``.
        """
        model = self._posterior("sample_y")
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        seed = check_random_state(random_state).randint(2**31)
        rng = np.random.default_rng(seed)
        return model.draw(self._to_rows(read_table(self, X)), n_samples, rng)

    def weight(self, term):
        """Posterior of one weight, whether or not it is among `terms_`.

        After ``strategy="auto"`` chose the sparse model, others are 0 for certain.

        Parameters
        ----------
        term : sequence of int, str or pairs of them and a category
            The features that it connects, as indices or names; empty for the constant.
            Of a categorical column, the column with a category: ``[("base", "G")]``.

        Returns
        -------
        mean : float
            Posterior mean.

        std : float
            Posterior standard deviation.

        Raises
        ------
        ValueError
            When something in `term` is not a feature, is there twice, is constant, or
            lacks a category.

        AttributeError
            After a strategy other than ``"auto"`` and ``"dense"``.
        """
        model = self._posterior("weight")
        sign, term = self.vocabulary_.find(term)
        mean, std = model.weight(term)
        return sign * mean, std

    @property
    def relevance_(self):
        """Share of a weight's variance that each further input leaves: tau.

        Returns
        -------
        ndarray of shape (n_features,)
            From 0, does not matter, to 1; 0 for constant columns. Of a categorical with
            categories or levels, that of an input whose two values are as much alike as
            two of its categories are on average. Only where all weights were fitted.
        """
        of_inputs, of_categoricals = self._posterior("relevance_").relevance()
        relevance = np.zeros(self.n_features_in_)
        coding = self.coding_
        relevance[coding.usable] = of_inputs
        for columns, tau in zip(coding.categoricals, of_categoricals, strict=True):
            # A numeric column is an input as well.
            relevance[list(columns)] = np.maximum(relevance[list(columns)], tau)
        return relevance

    @property
    def log_marginal_likelihood_(self):
        """Log density of the targets under the prior, at the hyper-parameters found.

        Returns
        -------
        float
            In nats; after a fit with ``strategy="dense"`` or ``"auto"``. Infinite for
            an exact model.
        """
        return self._posterior("log_marginal_likelihood_").log_evidence()

    @property
    def one_hot_groups_(self):
        """Groups of columns that were taken for the categories of one categorical.

        Returns
        -------
        list of tuples of int
        """
        check_is_fitted(self)
        coding = self.coding_
        return [s for s in coding.categoricals if coding.kind[s[0]] == ONE_HOT]

    def structure_table(self):
        """List the weights, the strongest first.

        Returns
        -------
        DataFrame, or dict of lists without pandas
            ``term`` (feature names joined by " x "), ``order``, ``weight``,
            ``standard_error`` and ``variance_share``, the weight's part of the model's
            variance over uniform inputs: of inputs with two values its square over the
            sum of all squares. A weight counts a third for each numeric column in it,
            which is uniform over its range, and one over the number of categories for
            each category; levels of a numeric column count as categories of another
            one. Categories stand behind their column, as in ``"sex=male"``; of two, the
            one that is +1.
        """
        check_is_fitted(self)
        vocabulary = self.vocabulary_
        names = dict(zip(vocabulary.labels, vocabulary.names, strict=True))
        scale = binary_unit(self.weights_)
        squares = (self.weights_ / scale) ** 2
        squares *= vocabulary.share(vocabulary.places(self.terms_))
        total = None
        if not self.model_.is_listed:
            total = self.model_.function_variance(vocabulary.variables())
            total *= (self.model_.scale / scale) ** 2
        return tabulate(
            self.terms_, self.weights_, self.standard_errors_, names, total, squares
        )

    def explain(self, x):
        """List what made the prediction of one row, the largest contribution first.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row: a list or array, a row of a DataFrame, or a table of one row. NaN
            stands for an unknown value.

        Returns
        -------
        DataFrame, or dict of lists without pandas
            ``term`` (named as in :meth:`structure_table`), ``value`` (the product of
            the coded inputs; 0 where one of them is unknown or the row has another
            category), ``weight`` and ``contribution``, the product of the two.
            Contributions add up to the prediction. The first row is ``"(constant)"``.
            Of all weights (``"dense"``), ``"(all other weights)"`` are those that are
            not listed, and ``"(clip)"`` is what keeps the prediction in the range of
            the targets, if anything had to; they come last.

        Raises
        ------
        ValueError
            If there is not just one row, or for what `predict` refuses.
        """
        check_is_fitted(self)
        rows = self._to_rows(read_table(self, one_row(x)))
        vocabulary = self.vocabulary_
        terms = vocabulary.places(self.terms_)
        codes = member_values(rows, vocabulary.alphabets)
        values = np.array([np.prod(codes[list(term)]) for term in terms])
        values += 0.0  # no zero has a sign
        parts = self.weights_ * values + 0.0
        names = [" x ".join(vocabulary.names[m] for m in term) for term in terms]
        order = np.argsort(-np.abs(parts), kind="stable")
        table = [("(constant)", 1.0, self.intercept_, self.intercept_)]
        table += [(names[j], values[j], self.weights_[j], parts[j]) for j in order]
        if not self.model_.is_listed:
            (whole,) = self.model_.mean(rows, clip=False)
            rest = whole - self.intercept_ - parts.sum()
            table.append(("(all other weights)", np.nan, np.nan, rest))
            (clipped,) = self.model_.mean(rows, control_of(self, "dense_control").clip)
            if clipped != whole:
                table.append(("(clip)", np.nan, np.nan, clipped - whole))
        terms, *numbers = zip(*table, strict=True)
        columns = (np.array(column, dtype=float).tolist() for column in numbers)
        titles = "value", "weight", "contribution"
        return to_frame({"term": list(terms)} | dict(zip(titles, columns, strict=True)))

    @property
    def linkage_(self):
        """Which columns the weights tie together, and which parts they leave.

        Returns
        -------
        Linkage
            Of ``terms_`` whose weight is not 0. Of all weights (``"dense"``), which tie
            everything together a little, these are the significant ones. Columns of a
            one-hot group are tied together where one of them has a weight.
        """
        check_is_fitted(self)
        terms = [
            tuple({column_of(label): None for label in term})
            for term, coef in zip(self.terms_, self.weights_, strict=True)
            if coef
        ]
        used = {column for term in terms for column in term}
        terms += [group for group in self.one_hot_groups_ if used.intersection(group)]
        return Linkage.of_terms(terms, self.n_features_in_, self._names())

    @ComputedProperty
    def feature_importances_(self):
        """How much of the model's variance each column has to do with.

        Returns
        -------
        ndarray of shape (n_features,)
            The total indices of :meth:`sobol_indices`, which see interactions and add
            up to more than 1 where there are any. Tools that select features, such as
            :class:`~sklearn.feature_selection.RFE`, read them.
        """
        return np.array(self.sobol_indices()["total"])

    def sobol_indices(self):
        """Say how much of the model's variance each column has to do with.

        The variance is that over independent and uniform inputs: two values are as
        probable as each other, so are categories, and a numeric column is uniform over
        its range, its levels included. Indices ([1]_) are exact: sums over weights, and
        of all weights (``"dense"``) over pairs of rows. Predictions are taken without
        `DenseControl.clip`.

        Returns
        -------
        DataFrame, or dict of lists without pandas
            In the order of the columns: ``feature``; ``first_order``, the share of the
            variance that the column explains alone; ``total``, the share that is gone
            when all other columns are known. Their difference is the column's part of
            interactions. Columns of a one-hot group are one variable and have its
            indices. All are 0 where the model is constant.

        References
        ----------
        .. [1] Sobol, I. M. (2001). Global sensitivity indices for nonlinear
           mathematical models and their Monte Carlo estimates. Mathematics and
           Computers in Simulation 55.
        """
        check_is_fitted(self)
        vocabulary = self.vocabulary_
        variance, first, total = self.model_.shares(vocabulary)
        columns = vocabulary.columns()[1]
        shares = np.zeros((2, self.n_features_in_))
        for own, *part in zip(columns, first, total, strict=True):
            shares[:, own] = np.array(part)[:, None] / (variance or 1.0)
        return to_frame(
            {
                "feature": column_names(self),
                "first_order": shares[0].tolist(),
                "total": shares[1].tolist(),
            }
        )

    def _get_fitted_attr_html(self, doc_link=""):
        return add_summary(self, super()._get_fitted_attr_html(doc_link))

    def _read(self, strategy, wishes, X, y, sample_weight, X_val, y_val, params):
        """Check what `fit` is given; also say what of it callbacks are to see."""
        split_params = self._split_params(params)
        table, y = read_table(self, X, y, reset=True)
        held = validate_held_out(self, X_val, y_val, read_table)
        earlier = None
        if self.warm_start and hasattr(self, "terms_"):
            earlier = self.terms_, self.model_
        samples = read_samples(
            table,
            y,
            sample_weight,
            held,
            strategy=strategy,
            wishes=wishes,
            seed=check_random_state(self.random_state).randint(2**31),
            categories=self._categories,
            columns=self._names(),
            earlier=earlier,
            split_params=split_params,
        )
        self._check_order()
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        return samples, (X if self._categories.encoders else table, y, metadata)

    def _fitted_attributes(self, coding, graph, model=None):
        vocabulary = self._vocabulary(coding)
        return {
            "terms_": [vocabulary.label(term) for term in graph.terms],
            "weights_": graph.coef,
            "intercept_": graph.intercept,
            "coding_": coding,
            "model_": model() if callable(model) else model or SparseModel.point(graph),
        }

    def _expose(self, solution, samples, history):
        """Set what a fit leaves; warn once."""
        found = solution.graph, solution.model
        vars(self).update(self._fitted_attributes(samples.coding, *found))
        self.standard_errors_ = solution.standard_errors
        self.noise_ = solution.noise
        self.stopping_reason_ = solution.reason
        self.search_coverage_ = solution.coverage
        self.history_ = history
        self.n_iter_ = max(len(history), 1)
        # What unknown inputs hide is part of the noise that was found.
        known = samples.rows, samples.y, samples.weight
        self.model_ = self.model_.with_gaps(*known, samples.coding)
        self._weight_unit = 1.0 if self.model_.is_listed else samples.weight_unit
        if solution.warning:
            warn_caller(solution.warning, ConvergenceWarning)

    def _posterior(self, what):
        check_is_fitted(self)
        if not self.model_.has_posterior:
            why = f'strategy="{self.strategy}" has none'
            if STRATEGIES[self.strategy].finds_all:
                why = "columns that do not vary, and partial_fit after the sparse "
                why += "model was chosen, leave none"
            raise NoPosteriorError(
                f"{what} needs a posterior, and {why}: fit with "
                'strategy="dense" or "auto" on columns that vary'
            )
        return self.model_

    def _to_rows(self, X):
        return self.coding_.encode(X, self._names())


def require_regressor(model, parameter):
    """Refuse all but a fitted MOHNRegressor.

    Parameters
    ----------
    model : object

    parameter : str
        What the model is given as, for the message.

    Raises
    ------
    TypeError
        If it is something else.

    NotFittedError
        If it has not been fitted.
    """
    if not isinstance(model, MOHNRegressor):
        raise TypeError(
            f"{parameter} must be a MOHNRegressor, got {type(model).__name__}; of a "
            "Pipeline or a search pass the fitted step, such as pipeline[-1]"
        )
    check_is_fitted(model)
