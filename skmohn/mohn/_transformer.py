"""MOHNTransformer: columns for the interactions that matter."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skmohn._core._bad_values import check_labels
from skmohn._core._fitting import FitLoop, History, all_or_nothing, blas_threads_for
from skmohn._core._names import input_names
from skmohn._core._rows import join_blocks
from skmohn._core._sklearn import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    with_callbacks,
)
from skmohn._core._tables import read_targets
from skmohn._core._types import TableLike, Term
from skmohn._core._validation import to_numpy
from skmohn.mohn._base import BaseMOHN
from skmohn.mohn._design.design import product_columns
from skmohn.mohn._genotypes import encode_blocks, read_inputs
from skmohn.mohn._models import FitResult
from skmohn.mohn._options import FitSettings, Task, TermsStrategy
from skmohn.mohn._strategies import STRATEGIES, strategies_for
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.term_names import TermNames
from skmohn.mohn._term_search import can_code_for_terms, expand_rows
from skmohn.mohn._training_data import (
    TrainingData,
    join_copies,
    read_groups,
    read_training_data,
)


class ProductFinder(BaseMOHN):
    """Base of estimators on products that were found."""

    # Strategies that read a parameter, of those that not all read.
    _used_by = {"terms": ("auto", "logistic", "pursuit", "given")}
    _terms: list[Term]
    stopping_reason_: str
    search_coverage_: list[dict]
    history_: History
    n_iter_: int
    # Those that need no table of numbers.
    _genotype_strategies: tuple[str, ...] = ("logistic", "given")

    _parameter_constraints = {
        **BaseMOHN._parameter_constraints,
        "strategy": [StrOptions(set(strategies_for("terms")))],
        "max_terms": [Interval(Integral, 1, None, closed="left"), None],
        "include_inputs": ["boolean"],
        "selection": [StrOptions({"auto", "cv", "ebic"})],
    }

    def _find(
        self,
        X: TableLike,
        y: Any,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        params: Mapping[str, Any],
        task: Task,
        read_target: Callable[[Any], tuple[NDArray, NDArray | None]],
        attributes: Callable[
            [TrainingData, Any], Mapping[str, Any]
        ],  # of what is reported
        factor: NDArray[np.float64] | None = None,  # weights of the classes of samples
        # Mask of the targets that are left out.
        leave_out: Callable[[NDArray], NDArray[np.bool_]] | None = None,
        # Adds what the training data have beside targets.
        complete: Callable[[TrainingData], TrainingData] = lambda samples: samples,
        metadata: Mapping[str, Any] | None = None,  # of callbacks that score
    ) -> tuple[TrainingData, FitResult]:
        """Read the samples of a fit and search; set the attributes of the search."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but "
                "the target y is None."
            )
        table = X
        X = read_inputs(self, X, reset=True, weights=[sample_weight, factor])
        check_consistent_length(X, to_numpy(y))
        target, classes = read_target(y)
        settings = FitSettings.of(self)
        self._check_options()
        strategy, group = STRATEGIES[self.strategy], read_groups(groups, X)
        weight = _weigh(sample_weight, target, leave_out)
        of_classes = classes is not None
        copies = join_copies(X, target, weight, group, strategy, task, of_classes)
        samples = read_training_data(
            X,
            target,
            copies.sample_weight,
            task=task,
            strategy=strategy,
            settings=settings,
            seed=check_random_state(self.random_state).randint(2**31),
            categories=self._categories,
            columns=self._names(),
            split_params=self._split_params(params, groups),
            groups=group,
            unit=copies.unit,
            classes=classes,
            class_factor=factor,
        )
        samples = complete(samples)
        metadata = {"sample_weight": sample_weight, **(metadata or {})}
        metadata = {k: part for k, part in metadata.items() if part is not None} or None
        make_attributes = partial(attributes, samples)
        loop = FitLoop(self, table, y, metadata, attributes=make_attributes)
        with blas_threads_for(len(samples.y)):
            settings = replace(settings, watch=loop.watch)
            found = strategy.solve[task](samples, settings, loop.step)
        loop.finish(found.terms if found.model is None else found.model)
        self._expose_search(found, loop.history)
        return samples, found

    def _expose_search(self, found: FitResult, history: History) -> None:
        """Set the attributes of a search."""
        self.stopping_reason_ = found.stopping_reason
        self.search_coverage_ = found.coverage
        self.history_, self.n_iter_ = history, max(len(history), 1)

    def _check_options(self) -> None:
        """Refuse options that concern none of the estimator's targets."""

    def _term_names(self, names: Sequence[str] | None = None) -> list[str]:
        """Names of the products; `names` are those of the columns."""
        term_names = self.term_names_
        if names is not None:
            term_names = TermNames(self.coding_, self._categories, names)
        return term_names.name_terms(self._terms)

    def __sklearn_tags__(self) -> Tags:
        """Describe the inputs and targets that the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _weigh(
    sample_weight: ArrayLike | None,
    y: NDArray,
    leave_out: Callable[[NDArray], NDArray[np.bool_]] | None,
) -> ArrayLike | None:
    """Weights of samples, 0 for those that are left out."""
    if leave_out is None or not (outliers := leave_out(y)).any():
        return sample_weight
    return check_sample_weight(sample_weight, y) * ~outliers


def read_classes(y: Any) -> tuple[NDArray, NDArray]:
    """Class labels as numbers, and the classes."""
    y = read_targets(y)
    check_labels(y)
    classes, numbers = np.unique(y, return_inverse=True)
    return numbers, classes


def _holds_floats(y: Any) -> bool:
    """Whether targets are measurements: integers of type float, too."""
    try:
        return np.asarray(to_numpy(y)).dtype.kind == "f"
    except ValueError:  # of lists of different lengths
        return False


class MOHNTransformer(
    CallbackSupportMixin, ProductFinder, TransformerMixin, BaseEstimator
):
    """Polynomial features of any order, but only the interactions that matter.

    `fit` searches for the products of columns that best predict the target, and
    `transform` builds them: a few columns for a linear model, instead of the many of
    :class:`~sklearn.preprocessing.PolynomialFeatures`.

    Parameters
    ----------
    strategy : {"auto", "logistic", "pursuit", "full", "given"}, default="auto"
        How to find the products.

        - ``"auto"``: "logistic" for classes and "pursuit" for numeric targets.
        - ``"logistic"``: forward search for all classes together. Each step adds the
          products that best match the residuals of logistic regression ([2]_), until
          the log loss of held-out samples stops falling.
        - ``"pursuit"``: the terms that :class:`MOHNRegressor` finds for the target, or
          their union for the indicators of all classes.
        - ``"full"``: all products up to `max_order`.
        - ``"given"``: the products listed in `terms`.
    max_order : int, default=None
        Largest number of columns in a product. None sets no limit: orders 1 and 2 and
        extensions of products found are always searched, higher orders if nothing
        is significant and `work_budget` allows. A number above that of the columns sets
        no limit either.
    max_terms : int, default=None
        Maximum number of columns to build: the first ones found, or the strongest
        unless the strategy is "logistic". None leaves it to `selection`.
    include_inputs : bool, default=True
        Whether to build every single column as well, which penalized linear models need
        if many matter a little. False builds only what was found. For "full" and
        "given", columns are included only as products.
    terms : sequence of sequences of int, str or (column, category), default=None
        Products, as column indices or names: all of them for "given"; for "auto",
        "logistic" and "pursuit" those that are always built, in addition to what the
        search finds. Other strategies take none.
    target_type : {"auto", "continuous", "classes"}, default="auto"
        What `y` is. "auto" depends on the dtype: floats are numbers; integers, text and
        bools are classes. Integers that count or measure need "continuous".
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
        Bytes for the columns of "logistic" on all folds or the candidates of "pursuit".
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
            default="from_dtype"
        Columns that hold categories, as for :class:`MOHNRegressor`. Two categories are
        one input, coded as -1 and +1; otherwise, each category is an input.
    handle_unknown : {"error", "missing"}, default="error"
        Whether to reject a category not seen in `fit` or treat it as missing.
    random_state : int, RandomState instance or None, default=None
        Seed for folds.
    n_jobs : int, default=None
        Number of folds to search in parallel. It does not affect the result.

    Attributes
    ----------
    terms_ : list of tuples of int
        Column indices of each product, sorted by order, then index. A category of a
        column with more than two is a pair ``(index, category)``.
    classes_ : ndarray of shape (n_classes,) or None
        Class labels; None for a numeric target.
    stopping_reason_ : str
        Why the search ended, in a sentence.
    coding_ : InputCoding
        How each column became an input: its ``kind`` and the values ``low`` and
        ``high`` coded as -1 and +1.
    search_coverage_ : list of dict
        For each order, the number of products that are ``possible``, were ``tried``
        (scored) and were ``kept``.
    history_ : History
        One dict per model tried: ``n_terms`` and, for "logistic", ``training_log_loss``
        and ``validation_log_loss`` (None without folds).
    n_iter_ : int
        Number of models tried.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    See Also
    --------
    MOHNClassifier : The same search with logistic regression on its columns.
    MOHNRegressor : The model whose terms are these columns.
    sklearn.preprocessing.PolynomialFeatures : All products up to a degree.

    Notes
    -----
    Columns are coded as by :class:`MOHNRegressor`: two values become -1 and +1, other
    numbers are scaled to [-1, 1], constant columns are ignored and NaN becomes 0.
    Products of -1 and +1 need no scaler. Products of numeric columns are multilinear;
    if more than slopes matter, put :class:`~sklearn.preprocessing.KBinsDiscretizer` in
    front.

    References
    ----------
    .. [1] Swingler, K. (2020). Learning and searching pseudo-Boolean surrogate
       functions from small samples. Evolutionary Computation 28(2).
    .. [2] Lozano, A., Swirszcz, G. and Abe, N. (2011). Group orthogonal matching
       pursuit for logistic regression. AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from skmohn import MOHNTransformer
    >>> X = np.random.default_rng(0).integers(2, size=(300, 20))
    >>> y = (X[:, 3] + X[:, 5] + X[:, 11]) % 2
    >>> features = MOHNTransformer(include_inputs=False).fit(X, y)
    >>> features.get_feature_names_out()
    array(['x3 x x5 x x11'], dtype=object)
    >>> model = make_pipeline(MOHNTransformer(), LogisticRegression()).fit(X, y)
    >>> model.score(X, y)
    1.0
    """

    terms_: list[tuple[Any, ...]]
    classes_: np.ndarray | None
    stopping_reason_: str
    coding_: InputCoding
    search_coverage_: list[dict]
    history_: History
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    _parameter_constraints = {
        **ProductFinder._parameter_constraints,
        "target_type": [StrOptions({"auto", "continuous", "classes"})],
    }

    def __init__(
        self,
        strategy: TermsStrategy = "auto",
        max_order: int | None = None,
        max_terms: int | None = None,
        *,
        include_inputs: bool = True,
        terms: Sequence[Any] | None = None,
        target_type: str = "auto",
        selection: str = "auto",
        cv: Any = 5,
        max_iter: int = 200,
        work_budget: float = 1e9,
        memory_budget: float = 1e9,
        categorical_features: ArrayLike | None = "from_dtype",
        handle_unknown: str = "error",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.strategy = strategy
        self.max_order = max_order
        self.max_terms = max_terms
        self.include_inputs = include_inputs
        self.terms = terms
        self.target_type = target_type
        self.selection = selection
        self.cv = cv
        self.max_iter = max_iter
        self.work_budget = work_budget
        self.memory_budget = memory_budget
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
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
        """Find the products to build.

        Parameters
        ----------
        X : {array-like, sparse matrix, Genotypes} of shape (n_samples, n_features)
            Training samples; NaN means missing. Sparse input is converted to dense.
            :class:`~skmohn.Genotypes` need `strategy` "logistic" or "given".
        y : array-like of shape (n_samples,)
            Numbers or class labels; see `target_type`.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 equals the sample twice.
        groups : array-like of shape (n_samples,), default=None
            Labels of groups of samples that belong together, such as repeats of one
            subject: folds never separate them. None: only equal rows belong together.
        **params : dict
            Passed to the splitter `cv`; needs metadata routing.

        Returns
        -------
        MOHNTransformer
            The fitted transformer.

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
            "terms",
            self._read_target,
            self._fitted_attributes,
        )
        vars(self).update(self._fitted_attributes(samples, found.terms))
        return self

    def transform(self, X: TableLike) -> NDArray[np.float64]:
        """Build the products.

        Parameters
        ----------
        X : {array-like, sparse matrix, Genotypes} of shape (n_samples, n_features)
            Samples; NaN means missing.

        Returns
        -------
        ndarray of shape (n_samples, n_terms)
            Products of the coded columns, in the order of `terms_`.
        """
        check_is_fitted(self)
        for_terms = can_code_for_terms(self.coding_)
        table = read_inputs(self, X)
        blocks = encode_blocks(self.coding_, table, self._names(), for_terms=for_terms)
        products = (
            product_columns(expand_rows(rows, self.coding_), self._terms)
            for rows in blocks
        )
        return join_blocks(products, len(table))

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[np.object_]:
        """Name the products.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Column names of X. None for those seen in `fit`, or x0, x1, ...

        Returns
        -------
        ndarray of shape (n_terms,)
            Such as ``"dose x sex=male"``; for two categories, the one coded as +1.
        """
        check_is_fitted(self)
        names = input_names(self, input_features)
        return np.array(self._term_names([str(name) for name in names]), dtype=object)

    def _read_target(self, y: Any) -> tuple[NDArray, NDArray | None]:
        kind = self.target_type
        if kind == "auto":
            kind = "continuous" if _holds_floats(y) else "classes"
        if kind == "classes":
            return read_classes(y)
        return read_targets(y, estimator=self, numeric=True).astype(float), None

    def _fitted_attributes(
        self, samples: TrainingData, terms: Sequence[Term]
    ) -> dict[str, Any]:
        return {
            "terms_": [samples.term_names.label(term) for term in terms],
            "coding_": samples.coding,
            "classes_": samples.classes,
            "_terms": terms,
        }
