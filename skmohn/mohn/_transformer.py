"""MOHNTransformer: columns for the interactions that matter."""

from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_y,
    check_consistent_length,
    check_is_fitted,
)

from skmohn._core._fitting import FitLoop, History, all_or_nothing
from skmohn.mohn._base import BaseMOHN
from skmohn.mohn._controls import MSDAControl, Wishes
from skmohn.mohn._products import (
    FINDERS,
    code_inputs,
    discover,
    pose_samples,
    product_columns,
)
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.columns import read_table
from skmohn.mohn._table.vocabulary import Vocabulary


class ProductFinder(BaseMOHN):
    """What the estimators on found products share."""

    _controls = {"msda_control": MSDAControl}

    _parameter_constraints = {
        "strategy": [StrOptions(set(FINDERS))],
        "max_order": [Interval(Integral, 1, None, closed="left"), None],
        "max_columns": [Interval(Integral, 1, None, closed="left"), None],
        "include_inputs": ["boolean"],
        "terms": ["array-like", None],
        "selection": [StrOptions({"auto", "cv", "ebic"})],
        "cv": ["cv_object"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "work_budget": [Interval(Real, 0, None, closed="left")],
        "memory_budget": [Interval(Real, 0, None, closed="left")],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "handle_unknown": [StrOptions({"error", "missing"})],
        "msda_control": [MSDAControl, None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def _find(self, X, y, sample_weight, params, read_target, attributes):
        """Read the samples of a fit and search; set what a search leaves.

        Parameters
        ----------
        X, y, sample_weight, params : as for `fit`

        read_target : callable
            Of y; returns the target and the classes.

        attributes : callable
            Of the samples and the terms; returns the fitted attributes.

        Returns
        -------
        samples : Samples

        found : Found
        """
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but "
                "the target y is None."
            )
        table = X
        X = read_table(self, X, reset=True)
        check_consistent_length(X, y)
        target = read_target(y)
        wishes = Wishes.of(self)
        samples = pose_samples(
            X,
            target,
            sample_weight,
            wishes=wishes,
            seed=check_random_state(self.random_state).randint(2**31),
            categories=self._categories,
            columns=self._names(),
            split_params=self._split_params(params),
        )
        self._check_order()
        loop = FitLoop(
            self,
            table,
            y,
            None if sample_weight is None else {"sample_weight": sample_weight},
            None,
            lambda terms: attributes(samples, terms),
        )
        found = discover(samples, wishes, loop.step)
        loop.finish(found.terms)
        self.stopping_reason_ = found.reason
        self.search_coverage_ = found.coverage
        self.history_ = loop.history
        self.n_iter_ = max(len(loop.history), 1)
        return samples, found

    def _structure(self, samples, terms):
        """The attributes that say which products there are."""
        return {
            "terms_": [samples.vocabulary.label(term) for term in terms],
            "coding_": samples.coding,
            "_terms": terms,
        }

    def _products(self, X):
        """Columns of the products of a table."""
        check_is_fitted(self)
        X = read_table(self, X)
        inputs = code_inputs(self.coding_, X, self._names())
        return product_columns(inputs, self._terms)

    def _term_names(self, names=None):
        """Names of the products; `names` are those of the columns."""
        vocabulary = self.vocabulary_
        if names is not None:
            vocabulary = Vocabulary(self.coding_, self._categories, names)
        return [" x ".join(vocabulary.names[m] for m in term) for term in self._terms]

    def __sklearn_tags__(self):
        """Say what the estimator can take."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def read_classes(y):
    """Class labels as numbers, and the classes."""
    y = _check_y(y)
    check_classification_targets(y)
    classes, numbers = np.unique(y, return_inverse=True)
    return numbers, classes


def _holds_floats(y):
    """Whether targets are numbers that measure: whole ones of type float, too."""
    return np.asarray(y).dtype.kind == "f"


class MOHNTransformer(
    CallbackSupportMixin, ProductFinder, TransformerMixin, BaseEstimator
):
    """Polynomial features, but for the interactions that matter only.

    Looks in `fit` for the products of columns that say most about the target, and
    builds these in `transform`: a few columns in the place of the many of
    :class:`~sklearn.preprocessing.PolynomialFeatures`, of any order, for linear models.

    Parameters
    ----------
    strategy : {"auto", "logistic", "pursuit", "dense", "msda", "full", "given"}, \
            default="auto"
        How products are found.

        - ``"auto"``: "logistic" for classes and "pursuit" for numbers.
        - ``"logistic"``: forward search for all classes together. The products that go
          best with the residuals of logistic regression on the products so far are
          added, a few at a time; the log loss of left-out samples says when to stop.
        - ``"pursuit"``, ``"dense"``, ``"msda"``: :class:`MOHNRegressor` with this
          strategy on the target, or on the indicator of each class; of all their
          `terms_` the union. "pursuit" is the default for numbers as it takes what
          helps to predict, while "dense" has the weights that are certain: with ridge
          regression on their columns the test R2 is .940 and .915 on Poelwijk's
          protein (819 rows), .941 and .935 on CR6261 (566), 1.000 and .993 on x264
          (115), .249 and .110 on SQLite (455).
        - ``"full"``: all products up to `max_order`.
        - ``"given"``: those in `terms`.

    max_order : int, default=None
        Largest number of columns in a product. None sets no limit: orders one and two
        and what extends products found are always searched, higher orders where
        nothing stands out and `work_budget` allows.

    max_columns : int, default=None
        Most columns to build: what is found first (or, but for "logistic", is
        strongest) stays. None leaves it to `selection`.

    include_inputs : bool, default=True
        Whether all single columns are built too, as by `PolynomialFeatures`: linear
        models with a penalty need those that matter a little as well. False builds
        those that were found, which is what to read, and what to take of many columns.

    terms : sequence of sequences of int, str or (column, category), default=None
        The products of ``strategy="given"``, in indices or names.

    target_type : {"auto", "continuous", "classes"}, default="auto"
        What `y` is. "auto" goes by its type: floats are numbers; integers, text and
        bools are classes. Integers that count or measure need "continuous".

    selection : {"auto", "cv", "ebic"}, default="auto"
        How the number of products is chosen: by k-fold validation of the whole search,
        or by the extended Bayesian information criterion. "auto" is "ebic" below 40
        distinct rows, else "cv". Of "logistic" the validated loss is the log loss;
        products that chance could explain are kept where they lower it beyond doubt.

    cv : int, cross-validation generator or iterable, default=5
        The folds of that validation. With a number, equal rows share a fold, and
        classes are dealt evenly. Splitters that need groups get them by scikit-learn's
        metadata routing.

    max_iter : int, default=200
        Most rounds of a search.

    work_budget : float, default=1e9
        What the exhaustive screening of orders three and up may cost, roughly in
        nanoseconds but from counts; what was not searched is in `search_coverage_`.

    memory_budget : float, default=1e9
        Bytes that the columns of "logistic" on all folds, the candidates of "pursuit"
        or all weights of "dense" may take.

    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
            default="from_dtype"
        The columns whose values are categories, as for :class:`MOHNRegressor`. Two
        categories are an input of -1 and +1; each of more categories is one.

    handle_unknown : {"error", "missing"}, default="error"
        Whether a category that was not there in `fit` is an error or an unknown value.

    msda_control : MSDAControl, default=None
        Control parameters of ``strategy="msda"``; None for the defaults.

    random_state : int, RandomState instance or None, default=None
        Deals folds and drives msda.

    n_jobs : int, default=None
        Folds searched at once by joblib. The result does not depend on it.

    Attributes
    ----------
    terms_ : list of tuples of int
        Feature indices of each column that is built, ordered by size and then by index.
        A category of a column that has more than two is a pair ``(index, category)``.

    classes_ : ndarray of shape (n_classes,) or None
        Labels; None when the target is numbers.

    stopping_reason_ : str
        Why the search ended, in plain words.

    coding_ : InputCoding
        How each column became an input: its ``kind``, and the values ``low`` and
        ``high`` that stand for -1 and +1.

    search_coverage_ : list of dict
        Per order: how many sets there are (``possible``), how many were scored
        (``tried``) and how many are built (``kept``).

    history_ : History
        One record per model: ``n_terms`` and, of "logistic", ``training_log_loss`` and
        ``validation_log_loss`` (None without folds).

    n_iter_ : int
        Number of these records.

    n_features_in_ : int
        Number of columns seen in `fit`.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when all are strings.

    See Also
    --------
    MOHNClassifier : The same search with logistic regression on its columns.
    MOHNRegressor : The model whose weights are these columns.
    sklearn.preprocessing.PolynomialFeatures : All products up to a degree.

    Notes
    -----
    Columns are coded as by :class:`MOHNRegressor`: two values become -1 and +1, other
    numbers are scaled to [-1, 1], constant columns are ignored, NaN is 0: the mean of a
    product over what an unknown input could be. So no product of -1 and +1 needs a
    scaler. Products of columns of many values are multilinear; where more than slopes
    matter, put :class:`~sklearn.preprocessing.KBinsDiscretizer` in front.

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

    terms_: list[tuple]
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
        strategy="auto",
        max_order=None,
        max_columns=None,
        *,
        include_inputs=True,
        terms=None,
        target_type="auto",
        selection="auto",
        cv: object = 5,
        max_iter=200,
        work_budget=1e9,
        memory_budget=1e9,
        categorical_features: ArrayLike | None = "from_dtype",
        handle_unknown="error",
        msda_control=None,
        random_state=None,
        n_jobs=None,
    ):
        self.strategy = strategy
        self.max_order = max_order
        self.max_columns = max_columns
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
        self.msda_control = msda_control
        self.random_state = random_state
        self.n_jobs = n_jobs

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y, sample_weight=None, **params) -> Self:
        """Find the products to build.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            NaN stands for an unknown value. Sparse input is made dense.

        y : array-like of shape (n_samples,)
            Numbers or class labels, see `target_type`.

        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 equals a row that stands there twice.

        **params : dict
            For the splitter `cv`, such as ``groups``; takes
            ``sklearn.set_config(enable_metadata_routing=True)``.

        Returns
        -------
        MOHNTransformer
            The fitted transformer itself.

        Raises
        ------
        ValueError
            For bad input; the message names the parameter or column.

        MemoryError
            When columns are asked for that cannot fit in memory.

        Warns
        -----
        ConvergenceWarning
            When :class:`MOHNRegressor` warns that the samples are too few, or that a
            search ended before it was done.
        """
        samples, found = self._find(
            X, y, sample_weight, params, self._read_target, self._fitted_attributes
        )
        vars(self).update(self._fitted_attributes(samples, found.terms))
        return self

    def transform(self, X):
        """Build the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            NaN stands for an unknown value.

        Returns
        -------
        ndarray of shape (n_samples, n_terms)
            Products of the coded columns, in the order of `terms_`.
        """
        return self._products(X)

    def get_feature_names_out(self, input_features=None):
        """Name the columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X; None for those seen in `fit`, or x0, x1, ...

        Returns
        -------
        ndarray of shape (n_terms,)
            Names of the columns of a product, joined by " x ". Categories stand behind
            their column, as in ``"sex=male"``; of two, the one that is +1.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array(self._term_names([str(name) for name in names]), dtype=object)

    def _read_target(self, y):
        kind = self.target_type
        if kind == "auto":
            kind = "continuous" if _holds_floats(y) else "classes"
        if kind == "classes":
            return read_classes(y)
        return _check_y(y, y_numeric=True, estimator=self).astype(float), None

    def _fitted_attributes(self, samples, terms):
        return {**self._structure(samples, terms), "classes_": samples.classes}
