"""MOHNClassifier: classes by all weights, by few, or by an ensemble of both."""

from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skmohn._core._categories import one_row, read_table
from skmohn._core._estimator import ComputedProperty
from skmohn._core._fitting import History, all_or_nothing, blas_threads_for
from skmohn._core._long import say_when_long
from skmohn._core._options import control_of
from skmohn._core._sklearn import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_parameters,
    check_partial_fit_first_call,
    check_sample_weight,
    class_weights,
    fit_context,
    with_callbacks,
)
from skmohn._core._types import TableLike, available_if
from skmohn._core._validation import require_fitted
from skmohn.mohn._base import Table
from skmohn.mohn._effects import (
    importances_of_classes,
    measure,
    split_ensemble,
    tabulate_class_effects,
)
from skmohn.mohn._export.methods import ExportMixin
from skmohn.mohn._genotypes import encode, encode_blocks, read_inputs
from skmohn.mohn._models import NoPosteriorError
from skmohn.mohn._options import ClassificationStrategy, FitSettings, GPOptions
from skmohn.mohn._reports import (
    add_summary,
    list_others,
    tabulate_classes,
    tabulate_collinear_terms,
    tabulate_contributions,
    to_frame,
)
from skmohn.mohn._sparse.inference import label_collinear_terms
from skmohn.mohn._stacking import (
    Observed,
    SparseClassModel,
    StackedClassModel,
    learn_further,
    list_sparse_parameters,
)
from skmohn.mohn._strategies import STRATEGIES, strategies_for
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._term_search import can_code_for_terms, expand
from skmohn.mohn._training_data import TrainingData, positive_weights, read_encoded
from skmohn.mohn._transformer import ProductFinder, read_classes


def _learns_further(estimator: "MOHNClassifier") -> bool:
    """Whether the fit has Gaussian processes, which keep their samples."""
    strategy, sparse = estimator.strategy, list_sparse_parameters(estimator)
    if not STRATEGIES[strategy].may_be_dense:
        why = f'strategy="{strategy}" does not keep them'
    elif strategy == "auto" and sparse:
        why = f"{sparse[0]} requires a sparse model, which does not keep them"
    else:
        return True
    raise AttributeError(
        f'partial_fit needs all samples, but {why}: use strategy="gp", or fit again '
        "on all samples"
    )


class MOHNClassifier(
    ExportMixin, CallbackSupportMixin, ProductFinder, ClassifierMixin, BaseEstimator
):
    """Classification by all interactions, the few that matter, or an ensemble of both.

    The default needs no tuning. It combines up to seven models and weights them by
    their held-out predictions: least squares and logistic likelihoods on all
    interactions at once, with numeric columns as lines and as levels; logistic
    regression on the products of columns that separate classes, and on only the
    columns, with the penalty averaged by its evidence; and the posterior mean over all
    pairs of columns, most of which have no weight.

    Parameters
    ----------
    strategy : {"auto", "gp", "logistic", "pursuit", "full", "given"}, default="auto"
        What to learn.

        - ``"auto"``: the ensemble of "gp", "logistic", ridge logistic regression on the
          columns ([5]_) and a spike-and-slab model of pairs with a probit link
          ([6]_), the last two if they take only seconds. If few products of two-valued
          columns predict every class exactly, beyond chance, they get all the weight.
          If you set `max_order`, `max_terms`, `include_inputs` or `terms`, which
          concern products, it is "logistic".
        - ``"gp"``: all interactions under the product prior of
          :class:`MOHNRegressor`, in up to four ways that are combined ([2]_, [3]_).
        - ``"logistic"``: forward search for all classes together. Each step adds the
          products that best match the residuals of logistic regression ([4]_), until
          the log loss of held-out samples stops falling.
        - ``"pursuit"``: the union of the terms that :class:`MOHNRegressor` finds for
          the indicator of each class.
        - ``"full"``: all products up to `max_order`.
        - ``"given"``: the products listed in `terms`.

        For "logistic" and those below it, the model is logistic regression on the
        products.
    max_order : int, default=None
        Largest number of columns in a product. None sets no limit: orders 1 and 2 and
        extensions of products found are always searched, higher orders if nothing
        is significant and `work_budget` allows. A number above that of the columns sets
        no limit either.
    max_terms : int, default=None
        Maximum number of products: the first ones found, or the strongest unless the
        strategy is "logistic". None leaves it to `selection`.
    include_inputs : bool, default=True
        Whether to keep every single column as well, which helps if many matter a
        little. False keeps only what was found, for a short, readable model. For "full"
        and "given", columns are included only as products; "gp" uses all.
    terms : sequence of sequences of int, str or (column, category), default=None
        Products, as column indices or names: all of them for "given"; for "auto",
        "logistic" and "pursuit" those that are always in the model, such as covariates,
        in addition to what the search finds. Other strategies take none.
    C : float or "auto", default="auto"
        Inverse strength of the L2 penalty, as in
        :class:`~sklearn.linear_model.LogisticRegression`. "auto" takes the one of 0.01,
        0.03, 0.1, 0.3, 1 and 10 with the lowest log loss on held-out samples, for
        products found without them. Without folds it is 0.1, as in the search.
    class_weight : dict, "balanced" or None, default=None
        Class weights for search and model, as in
        :class:`~sklearn.linear_model.LogisticRegression`.
    selection : {"auto", "cv", "ebic"}, default="auto"
        How to choose the number of products: cross-validation of the whole search (by
        log loss for "logistic") or the extended BIC. "auto" is "ebic" below 40 distinct
        rows, else "cv". Products that could be due to chance stay only if they clearly
        lower the validation loss.
    cv : int, cross-validation generator or iterable, default=5
        Cross-validation folds for `selection`. An int keeps identical rows in one fold
        and stratifies by class.
    max_iter : int, default=200
        Maximum number of search rounds.
    work_budget : float, default=1e9
        Limit on the exhaustive screening of orders 3 and up, in operations of about a
        nanosecond each. If that is not enough for all of order 3, sets that contain a
        column of the model are screened. `search_coverage_` reports what was skipped.
    memory_budget : float, default=1e9
        Bytes for the columns of "logistic", "full" and "given" on all folds, the
        candidates of "pursuit" or the covariances of "gp", which uses inducing rows if
        there are more (above 5000 rows by default).
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
            default="from_dtype"
        Columns that hold categories, as for :class:`MOHNRegressor`. Two categories are
        one input, coded as -1 and +1; otherwise, each category is an input.
    handle_unknown : {"error", "missing"}, default="error"
        Whether to reject a category not seen in `fit` or treat it as missing.
    gp_options : GPOptions, default=None
        Options of "auto" and "gp": ``numeric`` ("auto" combines lines and levels) and
        ``one_hot``; None for the defaults.
    random_state : int, RandomState instance or None, default=None
        Seed for folds and for the rows that hyperparameters are learned from.
    n_jobs : int, default=None
        Number of folds to search, and of Gaussian processes to learn, in parallel. It
        does not affect the result.

    Attributes
    ----------
    terms_ : list of tuples of int
        Column indices of each product, sorted by order, then index. A category of a
        column with more than two is a pair ``(index, category)``. If a model of all
        terms counts most in the ensemble, those that are significant or, for a
        spike-and-slab model, likely not zero.
    weights_ : ndarray of shape (1, n_terms) or (n_classes, n_terms)
        Weights of the products in the log-odds: one row per class or, with two classes,
        one row for the second class. A Gaussian process has many more.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Constants.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    C_ : float or None
        Inverse strength of the penalty used; None if `terms_` come from a model of all
        weights, which has none.
    model_ : SparseClassModel or StackedClassModel
        The fitted model.
    stopping_reason_ : str
        Why the search ended, in a sentence.
    coding_ : InputCoding
        How each column became an input: its ``kind`` and the values ``low`` and
        ``high`` coded as -1 and +1.
    search_coverage_ : list of dict
        For each order, the number of products that are ``possible``, were ``tried``
        (scored) and were ``kept``.
    collinear_terms_ : list of list of (tuple, float)
        For each of `terms_` of a sparse model, the sets of as many columns that are
        nearly collinear, and their correlations with it on the training rows; see
        :meth:`collinear_terms_table`. Empty if `terms_` come from a Gaussian process.
    history_ : History
        One dict per model tried: ``n_terms`` and, for "logistic", ``training_log_loss``
        and ``validation_log_loss`` (None without folds); for the ensemble, ``member``
        and ``validation_log_loss``.
    n_iter_ : int
        Number of models tried.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    See Also
    --------
    MOHNTransformer : The products as columns, for any model.
    MOHNRegressor : The model for numeric targets.
    sklearn.linear_model.LogisticRegression : The same on single columns.

    Notes
    -----
    Columns are coded as by :class:`MOHNRegressor`. NaN means missing: an ensemble
    averages its probabilities over the possible values, a sparse model its log-odds.

    References
    ----------
    .. [1] Swingler, K. (2020). Learning and searching pseudo-Boolean surrogate
       functions from small samples. Evolutionary Computation 28(2).
    .. [2] Rasmussen, C. E. and Williams, C. K. I. (2006). Gaussian Processes for
       Machine Learning, Algorithms 3.1 and 5.1. MIT Press.
    .. [3] Sundararajan, S. and Keerthi, S. S. (2001). Predictive approaches for
       choosing hyperparameters in Gaussian processes. Neural Computation 13.
    .. [4] Lozano, A., Swirszcz, G. and Abe, N. (2011). Group orthogonal matching
       pursuit for logistic regression. AISTATS.
    .. [5] MacKay, D. J. C. (1992). The evidence framework applied to classification
       networks. Neural Computation 4.
    .. [6] Schniter, P., Rangan, S. and Fletcher, A. K. (2016). Vector approximate
       message passing for the generalized linear model. arXiv:1612.01186.
    .. [7] Sundararajan, M., Taly, A. and Yan, Q. (2017). Axiomatic attribution for deep
       networks. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from skmohn import MOHNClassifier
    >>> X = np.random.default_rng(0).integers(2, size=(200, 12))
    >>> y = np.where((X[:, 3] + X[:, 5] + X[:, 11]) % 2, "odd", "even")
    >>> model = MOHNClassifier(random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).round(2)
    array([[0., 1.],
           [1., 0.]])
    >>> MOHNClassifier(include_inputs=False).fit(X, y).terms_
    [(3, 5, 11)]
    """

    terms_: list[tuple[Any, ...]]
    weights_: np.ndarray
    intercept_: np.ndarray
    classes_: np.ndarray
    C_: float | None
    model_: SparseClassModel | StackedClassModel
    stopping_reason_: str
    coding_: InputCoding
    search_coverage_: list[dict]
    collinear_terms_: list[list]
    history_: History
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    _parameter_constraints = {
        **ProductFinder._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "strategy": [StrOptions(set(strategies_for("classification")))],
        "gp_options": [GPOptions, None],
    }

    _used_by = {
        **ProductFinder._used_by,
        **dict.fromkeys(
            ("max_terms", "include_inputs", "C", "selection"),
            tuple(name for name in strategies_for("classification") if name != "gp"),
        ),
        "gp_options": ("auto", "gp"),
    }

    _controls = {"gp_options": GPOptions}

    def __init__(
        self,
        strategy: ClassificationStrategy = "auto",
        max_order: int | None = None,
        max_terms: int | None = None,
        *,
        include_inputs: bool = True,
        terms: Sequence[Any] | None = None,
        C: float | str = "auto",
        class_weight: Mapping[Any, float] | str | None = None,
        selection: str = "auto",
        cv: Any = 5,
        max_iter: int = 200,
        work_budget: float = 1e9,
        memory_budget: float = 1e9,
        categorical_features: ArrayLike | None = "from_dtype",
        handle_unknown: str = "error",
        gp_options: GPOptions | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.strategy = strategy
        self.max_order = max_order
        self.max_terms = max_terms
        self.include_inputs = include_inputs
        self.terms = terms
        self.C = C
        self.class_weight = class_weight
        self.selection = selection
        self.cv = cv
        self.max_iter = max_iter
        self.work_budget = work_budget
        self.memory_budget = memory_budget
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.gp_options = gp_options
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
        groups: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Learn the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, Genotypes} of shape (n_samples, n_features)
            Training samples; NaN means missing. Sparse input is converted to dense.
            :class:`~skmohn.Genotypes` need `strategy` "logistic" or "given".
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 equals the sample twice.
        groups : array-like of shape (n_samples,), default=None
            Labels of groups of samples that belong together, such as repeats of one
            subject: folds never separate them, and each is held out with its whole
            group when the model is evaluated. None: only equal rows belong together.
        **params : dict
            Passed to the splitter `cv`; needs metadata routing.

        Returns
        -------
        MOHNClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            For invalid input; the message names the parameter or column.
        MemoryError
            If the requested columns do not fit in memory.

        Warns
        -----
        ConvergenceWarning
            If the search ended early or there are too few samples.
        """
        samples, found = self._find(
            X,
            y,
            sample_weight,
            groups,
            params,
            "classification",
            read_classes,
            self._fitted_attributes,
            self._class_factors(X, y, sample_weight),
        )
        self._expose(samples, found.model)
        return self

    @available_if(_learns_further)
    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: TableLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more samples, without choosing hyperparameters anew.

        The first call is `fit`. After later calls the ensemble is that of a fit to all
        samples with the coding, hyperparameters, products and penalty of the first
        call; only the held-out predictions of the sparse model are not recomputed.
        Batches and their order make no difference. Needs strategy "auto" or "gp".

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes; required in the first call, which must have samples of each.
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`, for the samples of all calls together.

        Returns
        -------
        MOHNClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            For invalid input, unknown classes, or more distinct rows than exact models
            can have.
        """
        if check_partial_fit_first_call(self, classes):
            _require_all(self.classes_, X, y, sample_weight)
            return self.fit(X, y, sample_weight)
        samples, observed = self._read_more(X, y, sample_weight)
        with blas_threads_for(len(samples.y)):
            ensemble = cast(StackedClassModel, self.model_)
            found = learn_further(ensemble, observed, samples, FitSettings.of(self))
        self._expose(samples, found.model)
        self.stopping_reason_ = found.stopping_reason
        return self

    def decision_function(self, X: TableLike) -> NDArray[np.float64]:
        """Compute the log-odds of the second of two classes, or a score per class.

        Parameters
        ----------
        X : {array-like, sparse matrix, Genotypes} of shape (n_samples, n_features)
            Samples; NaN means missing.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With more than two classes, log probabilities up to a constant per row.
        """
        scores = self._log_odds(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix, Genotypes} of shape (n_samples, n_features)
            Samples; NaN means missing.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: TableLike) -> NDArray[np.float64]:
        """Predict log probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, Genotypes} of shape (n_samples, n_features)
            Samples; NaN means missing.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        blocks = self._to_blocks(X)
        return np.concatenate([self.model_.log_proba(rows) for rows in blocks])

    def predict(self, X: TableLike) -> NDArray:
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, Genotypes} of shape (n_samples, n_features)
            Samples; NaN means missing.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        best = self._log_odds(X).argmax(axis=1)
        return self.classes_[best]

    @ComputedProperty
    def feature_importances_(self) -> NDArray[np.float64]:
        """Total Sobol index of each column, for the log-odds.

        Returns
        -------
        ndarray of shape (n_features,)
            As in :meth:`MOHNRegressor.sobol_indices`, for the log-odds. With more than
            two classes, a proportion of the variance summed over classes. For an
            ensemble of several models, whose log-odds are not a sum, estimated to
            within a few hundredths. Used by tools such as
            :class:`~sklearn.feature_selection.RFE`.
        """
        check_is_fitted(self)
        with say_when_long("MOHNClassifier.feature_importances_", self._when_long):
            return importances_of_classes(self)

    @property
    def relevance_(self) -> NDArray[np.float64]:
        """Relevance of each column to the Gaussian processes, from 0 (none) to 1.

        Returns
        -------
        ndarray of shape (n_features,)
            As in :class:`MOHNRegressor`, for the least-squares member with the largest
            weight.

        Raises
        ------
        AttributeError
            Unless `strategy` was "auto" or "gp" and the model has Gaussian processes.
        """
        check_is_fitted(self)
        found = self.model_.relevance()
        if found is None:
            raise NoPosteriorError(
                "relevance_ needs a Gaussian process, but this model is sparse: fit "
                'with strategy="gp"'
            )
        return self.coding_.by_column(*found)

    @property
    def ensemble_weights_(self) -> dict[str, float]:
        """Fraction of each model in the probabilities, the largest first.

        Returns
        -------
        dict of str to float
            A single sparse model has a fraction of 1.
        """
        check_is_fitted(self)
        return self.model_.weights_by_name()

    def terms_table(self) -> Any:
        """List the products of `terms_` with their weights, the largest first.

        Returns
        -------
        DataFrame
            ``term`` (such as ``"dose x sex=male"``), ``order``, ``weight_share`` (share
            of the sum of squared weights) and ``weight``, for the second of two
            classes, or a ``weight of`` each class.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        check_is_fitted(self)
        return to_frame(self._tabulate_terms(), "terms_table")

    def effects_table(self) -> Any:
        """List the effect of each column on the classes, the most important first.

        One column moves and all others vary as in :attr:`feature_importances_`,
        independently of each other: effects are average changes: a column that matters
        in interactions, or equally at both ends, may have no effect.

        Returns
        -------
        DataFrame
            ``feature``; ``total`` (its total Sobol index, for the log-odds); ``from``
            and ``to``, between which it moves as in
            :meth:`MOHNRegressor.effects_table`; ``class``, the second of two, or each;
            ``effect``, the change of its probability, and its ``standard_error``;
            ``log_odds``, the change of its log-odds against all other classes, and
            their ``log_odds_error``. Averages over 256 quasi-random rows. Standard
            errors are standard deviations of posterior draws, with terms,
            hyperparameters and penalties taken as known. For an ensemble they include
            the disagreement between its models. Beyond 1000 weights, those of a sparse
            model are unknown (NaN); those of single columns and of spike-and-slab
            models are taken as independent.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        check_is_fitted(self)
        with say_when_long("MOHNClassifier.effects_table", self._when_long):
            return to_frame(tabulate_class_effects(self), "effects_table")

    def collinear_terms_table(self) -> Any:
        """List sets of columns that are nearly collinear with the products.

        See :meth:`MOHNRegressor.collinear_terms_table`.

        Returns
        -------
        DataFrame
            ``term`` (as in :meth:`terms_table`), ``equivalent`` and
            ``correlation``, in the order of `terms_`, for each the closest first.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        check_is_fitted(self)
        table = tabulate_collinear_terms(
            self.term_names_, self.terms_, self.collinear_terms_
        )
        return to_frame(table, "collinear_terms_table")

    def explain(self, x: TableLike, label: object = None) -> Any:
        """Split the score of one row for a class into contributions, the largest first.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row, such as a list or a DataFrame's row; NaN means missing.
        label : object, default=None
            The class, one of `classes_`. None for the one predicted.

        Returns
        -------
        DataFrame
            ``term``, ``value`` (product of the coded inputs), ``weight`` and
            ``contribution``, their product. Contributions add up to the log-odds of the
            class against the other one or, with more than two, to its column of
            `decision_function`. ``"(constant)"`` comes first; a Gaussian process adds
            ``"(other weights of ...)"`` for each column, as in
            :meth:`MOHNRegressor.explain`. An ensemble adds ``"(other models of ...)"``,
            the contribution of its other models for each column, by their average
            slopes on the way from even odds to theirs (integrated gradients, the last
            reference of the class); then ``"(missing values)"`` if there are any, and
            last ``"(other models)"``, the contribution of their constants. A single
            Gaussian process of more than two classes ends with ``"(normalization)"``,
            which makes probabilities sum to 1.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        ValueError
            If `x` is not exactly one row that `predict` accepts, or `label` is not one
            of `classes_`.
        """
        check_is_fitted(self)
        rows = self._to_rows(one_row(x))
        whole = self.model_.log_odds(rows)[0]
        k = int(np.argmax(whole)) if label is None else self._index_of(label)
        values, own = self.model_.parts(rows, self.term_names_)
        classes = np.eye(len(self.classes_))[k]
        weights, constant = self.weights_[-1], self.intercept_[-1]
        if len(classes) > 2:
            weights, constant = self.weights_[k], self.intercept_[k]
        else:
            classes = 2.0 * classes - 1.0
            weights, constant = classes[1] * weights, classes[1] * constant
        contributions = weights * values + 0.0  # no zero has a sign
        names = self._term_names()
        # Where there are other weights or models.
        ensemble = cast(StackedClassModel, self.model_)
        found = list(zip(names, values, weights, contributions, strict=True))
        if self.C_ is None:
            others = ensemble.distribute_other_weights(
                rows, self.term_names_, contributions, classes
            )
            found += list_others(self.term_names_, others)
        last = []
        if len(self.ensemble_weights_) > 1:
            changes, score = split_ensemble(ensemble, self.term_names_, rows, classes)
            found += list_others(self.term_names_, changes, "models")
            last = [("(other models)", score - own @ classes - changes.sum())]
            if any(ensemble.missing_inputs.imputations(rows, 1)):
                last.insert(0, ("(missing values)", whole @ classes - score))
        elif len(classes) > 2 and self.C_ is None:
            last = [("(normalization)", (whole - own) @ classes)]
        return to_frame(tabulate_contributions(constant, found, last), "explain")

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        return add_summary(
            self, super()._get_fitted_attr_html(doc_link), self._tabulate_terms
        )

    def _tabulate_terms(self) -> Table:
        """List the products of `terms_`, the largest first."""
        return tabulate_classes(
            self.term_names_, self.terms_, self.weights_, self.classes_
        )

    def _index_of(self, label: object) -> int:
        """Index of a class among all."""
        classes = self.classes_.tolist()
        # Lists and arrays are no labels.
        if np.ndim(label) or label not in classes:
            raise ValueError(f"label={label!r} is not among the classes {classes}")
        return classes.index(label)

    def _class_factors(
        self, X: TableLike, y: Any, sample_weight: ArrayLike | None
    ) -> NDArray[np.float64] | None:
        """Weight of the class of each row; None for 1."""
        if self.class_weight is None or y is None:
            return None
        check_consistent_length(X, y)
        numbers, classes = read_classes(y)
        weights = check_sample_weight(sample_weight, numbers)
        # Of rows of weight 0 no class counts.
        kept = weights != 0
        present = np.unique(numbers[kept])
        by_class = np.ones(len(classes))
        by_class[present] = class_weights(
            self.class_weight, classes[present], classes[numbers[kept]], weights[kept]
        )
        return by_class[numbers]

    def _read_more(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[TrainingData, Observed]:
        """Check further samples; return all, weighed, and as they were observed."""
        check_parameters(self)
        table = read_table(self, X, weights=[sample_weight])
        check_consistent_length(table, y)
        observed = getattr(self.model_, "observed", None)
        if observed is not None and observed.rows.group is not None:
            raise ValueError(
                "partial_fit takes no groups, but the first samples had some: fit "
                "again on all samples, with the groups of all"
            )
        if observed is None:
            raise ValueError(
                "partial_fit needs all samples, but the model did not keep them "
                f"({self.stopping_reason_}): fit again on all samples"
            )
        _, kept, _ = positive_weights(sample_weight, table)
        given = check_sample_weight(sample_weight, table)[kept]
        numbers, found = read_classes(y)
        numbers = numbers[kept]
        known = self.classes_.tolist()
        _refuse_others(known, found[np.unique(numbers)].tolist())
        # Others have no weight.
        indices = [known.index(c) if c in known else -1 for c in found.tolist()]
        rows = self.coding_.encode(table[kept], self._names())
        observed = observed.join(rows, np.array(indices)[numbers], given)
        labels = self.classes_[observed.label]
        factor = self._class_factors(labels, labels, observed.weight)
        samples = read_encoded(
            observed.rows,
            observed.label,
            observed.weight,
            factor,
            strategy=STRATEGIES[self.strategy],
            classes=self.classes_,
            coding=self.coding_,
            term_names=self.term_names_,
        )
        lost = np.setdiff1d(np.arange(len(known)), samples.y)
        if lost.size:
            raise ValueError(
                f"class_weight gives no weight to {known[lost[0]]!r}, which had weight "
                "in the first call: restore class_weight, or fit again on all samples"
            )
        return samples, observed.take(samples.row_index)

    def _fitted_attributes(self, samples: TrainingData, model: Any) -> dict[str, Any]:
        model = model() if callable(model) else model
        listed = model.listed_model
        return {
            "terms_": [samples.term_names.label(term) for term in listed.terms],
            "weights_": listed.weights,
            "intercept_": listed.constants,
            "C_": listed.C,
            "classes_": samples.classes,
            "coding_": samples.coding,
            "model_": model,
            "_terms": listed.terms,
        }

    def _expose(
        self, samples: TrainingData, model: SparseClassModel | StackedClassModel
    ) -> None:
        vars(self).update(self._fitted_attributes(samples, model))
        self._marginals = measure(samples, model, self.terms_)
        self.collinear_terms_ = [[] for _ in self._terms]
        if model.is_sparse:
            self.collinear_terms_ = label_collinear_terms(expand(samples), self._terms)

    def _check_options(self) -> None:
        if not STRATEGIES[self.strategy].may_be_dense:
            return
        control = control_of(self, "gp_options")
        check_parameters(control)
        for name in ("noise", "clip", "target_transform"):
            if getattr(control, name) != getattr(GPOptions(), name):
                raise ValueError(
                    f"gp_options has {name}={getattr(control, name)!r}, which "
                    "concerns numeric targets: leave it at its default"
                )

    def _to_rows(self, X: TableLike) -> EncodedRows:
        check_is_fitted(self)
        return encode(self.coding_, read_inputs(self, X), self._names())

    def _to_blocks(self, X: TableLike) -> Iterator[EncodedRows]:
        """Encode some rows of a table at a time."""
        require_fitted(self, "model_")
        # Other members of an ensemble that shows a sparse one read all inputs.
        is_sparse = isinstance(self.model_, SparseClassModel)
        for_terms = is_sparse and can_code_for_terms(self.coding_)
        return encode_blocks(
            self.coding_, read_inputs(self, X), self._names(), for_terms=for_terms
        )

    def _log_odds(self, X: TableLike) -> NDArray[np.float64]:
        """Log probabilities of classes up to a constant for each row."""
        blocks = self._to_blocks(X)
        return np.concatenate([self.model_.log_odds(rows) for rows in blocks])


def _require_all(
    classes: NDArray, X: TableLike, y: Any, sample_weight: ArrayLike | None
) -> None:
    """Refuse first samples that lack a class, or have others."""
    if y is None:
        return
    check_consistent_length(X, y)
    numbers, found = read_classes(y)
    weights = check_sample_weight(sample_weight, numbers)
    shown = found[np.unique(numbers[weights != 0])].tolist()
    wanted = classes.tolist()
    _refuse_others(wanted, shown)
    missing = [label for label in wanted if label not in shown]
    if missing:
        raise ValueError(
            f"classes has {missing[0]!r}, but the first samples have none of it: they "
            "must include samples of every class; add some"
        )


def _refuse_others(classes: Sequence[object], labels: Sequence[object]) -> None:
    """Refuse labels that are none of the classes."""
    for label in labels:
        if label not in classes:
            raise ValueError(
                f"y has {label!r}, which is not among the classes {classes}"
            )
