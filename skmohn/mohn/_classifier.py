"""MOHNClassifier: logistic regression on the interactions that matter."""

from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from skmohn._core._fitting import History, all_or_nothing
from skmohn._core._html import ComputedProperty
from skmohn._core._validation import to_numpy
from skmohn.mohn._products import product_columns
from skmohn.mohn._show import to_frame
from skmohn.mohn._sparse.logistic import SEARCH_C
from skmohn.mohn._sparse.sobol import shares_of_products
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._transformer import ProductFinder, read_classes

# Of the logistic regression: many small steps are cheap on few columns.
_TOLERANCE = 1e-6
_MOST_STEPS = 1000


class MOHNClassifier(
    CallbackSupportMixin,
    ProductFinder,
    ClassifierMixin,
    BaseEstimator,
):
    """Logistic regression on the interactions that tell classes apart.

    The products of columns that go best with the classes are found as by
    :class:`MOHNTransformer`, and the model is

    .. math:: \\log p_k(x) = w_{k0} + \\sum_j w_{kj} \\prod_{i \\in Q_j} x_i + c(x)

    with inputs coded as -1 and +1 and weights that can be read.

    Parameters
    ----------
    strategy : {"auto", "logistic", "pursuit", "dense", "msda", "full", "given"}, \
            default="auto"
        How products are found.

        - ``"auto"``, ``"logistic"``: forward search for all classes together. The
          products that go best with the residuals of logistic regression on the
          products so far are added, a few at a time; the log loss of left-out samples
          says when to stop.
        - ``"pursuit"``, ``"dense"``, ``"msda"``: :class:`MOHNRegressor` with this
          strategy on the indicator of each class; of all their `terms_` the union.
        - ``"full"``: all products up to `max_order`.
        - ``"given"``: those in `terms`.

    max_order : int, default=None
        Largest number of columns in a product. None sets no limit: orders one and two
        and what extends products found are always searched, higher orders where
        nothing stands out and `work_budget` allows.

    max_columns : int, default=None
        Most products in the model: what is found first (or, but for "logistic", is
        strongest) stays. None leaves it to `selection`.

    include_inputs : bool, default=True
        Whether all single columns are in the model, those too that matter a little.
        False keeps those that were found, for a model that is short to read.

    terms : sequence of sequences of int, str or (column, category), default=None
        The products of ``strategy="given"``, in indices or names.

    C : float or "auto", default="auto"
        Inverse strength of the penalty, as in
        :class:`~sklearn.linear_model.LogisticRegression`. "auto" takes what has the
        least log loss on the left-out samples of the folds, each with the products that
        were found without them, among .01, .03, .1, .3, 1 and 10; without folds .1, as
        in the search: a standard deviation of .3 for weights of columns of -1 and +1.

    class_weight : dict, "balanced" or None, default=None
        Weights of classes, in the search as in the model, as in
        :class:`~sklearn.linear_model.LogisticRegression`.

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
        Bytes that the columns of "logistic", "full" and "given" on all folds, the
        candidates of "pursuit" or all weights of "dense" may take.

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
        Feature indices of each product, ordered by size and then by index.
        A category of a column that has more than two is a pair ``(index, category)``.

    weights_ : ndarray of shape (1, n_terms) or (n_classes, n_terms)
        Weights of the products, a row for each class; of two classes one row, for the
        second.

    intercept_ : ndarray of shape (1,) or (n_classes,)
        Constants.

    classes_ : ndarray of shape (n_classes,)
        Labels.

    C_ : float
        The inverse penalty of the model.

    stopping_reason_ : str
        Why the search ended, in plain words.

    coding_ : InputCoding
        How each column became an input: its ``kind``, and the values ``low`` and
        ``high`` that stand for -1 and +1.

    search_coverage_ : list of dict
        Per order: how many sets there are (``possible``), how many were scored
        (``tried``) and how many are in the model (``kept``).

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
    MOHNTransformer : The products as columns, for any model.
    MOHNRegressor : The model of numbers.
    sklearn.linear_model.LogisticRegression : The same on the columns as they are.

    Notes
    -----
    Columns are coded as by :class:`MOHNTransformer`. NaN is 0: the log-odds are then
    the mean over all that the unknown inputs could be.

    References
    ----------
    .. [1] Swingler, K. (2020). Learning and searching pseudo-Boolean surrogate
       functions from small samples. Evolutionary Computation 28(2).
    .. [2] Lozano, A., Swirszcz, G. and Abe, N. (2011). Group orthogonal matching
       pursuit for logistic regression. AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from skmohn import MOHNClassifier
    >>> X = np.random.default_rng(0).integers(2, size=(300, 20))
    >>> y = np.where((X[:, 3] + X[:, 5] + X[:, 11]) % 2, "odd", "even")
    >>> model = MOHNClassifier(include_inputs=False).fit(X, y)
    >>> model.terms_
    [(3, 5, 11)]
    >>> model.score(X, y)
    1.0
    """

    terms_: list[tuple]
    weights_: np.ndarray
    intercept_: np.ndarray
    classes_: np.ndarray
    C_: float
    stopping_reason_: str
    coding_: InputCoding
    search_coverage_: list[dict]
    history_: History
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    _parameter_constraints = {
        **ProductFinder._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        strategy="auto",
        max_order=None,
        max_columns=None,
        *,
        include_inputs=True,
        terms=None,
        C: float | str = "auto",
        class_weight=None,
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
        self.C = C
        self.class_weight = class_weight
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
        """Find the products and learn their weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            NaN stands for an unknown value. Sparse input is made dense.

        y : array-like of shape (n_samples,)
            Class labels.

        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 equals a row that stands there twice.

        **params : dict
            For the splitter `cv`, such as ``groups``; takes
            ``sklearn.set_config(enable_metadata_routing=True)``.

        Returns
        -------
        MOHNClassifier
            The fitted estimator itself.

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
            X,
            y,
            self._weigh(X, y, sample_weight),
            params,
            read_classes,
            self._fitted_attributes,
        )
        C = SEARCH_C if self.C == "auto" else float(self.C)
        if self.C == "auto" and found.choice is not None:
            C = found.choice.best_penalty()
        vars(self).update(self._fitted_attributes(samples, found.terms, C))
        return self

    def decision_function(self, X):
        """Predict how much speaks for each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            NaN stands for an unknown value.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes the log-odds of the second; of more, the logarithm of each
            one's probability, up to a constant for each row.
        """
        scores = self._products(X) @ self.weights_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X):
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            NaN stands for an unknown value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return softmax(self._log_odds(X), axis=1)

    def predict_log_proba(self, X):
        """Predict the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            NaN stands for an unknown value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return log_softmax(self._log_odds(X), axis=1)

    def predict(self, X):
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            NaN stands for an unknown value.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        best = self._log_odds(X).argmax(axis=1)
        return self.classes_[best]

    @ComputedProperty
    def feature_importances_(self):
        """How much of the log-odds each column has to do with.

        Returns
        -------
        ndarray of shape (n_features,)
            Total Sobol indices over independent and uniform inputs, as of
            :meth:`MOHNRegressor.sobol_indices`: the share of the variance of
            `decision_function` that is gone when all other columns are known. With more
            than two classes it is the share of the sum of the variances of all classes,
            so that a class that nothing speaks for or against counts little. Tools that
            select features, such as :class:`~sklearn.feature_selection.RFE`, read them.
        """
        check_is_fitted(self)
        coding = self.coding_
        columns = [
            *coding.usable.tolist(),
            *(categorical[0] for categorical in coding.categoricals),
        ]
        importances = np.zeros(self.n_features_in_)
        importances[columns] = shares_of_products(
            self._terms, self.weights_, self.vocabulary_
        )
        return importances

    def structure_table(self):
        """List the products, those of the largest weights first.

        Returns
        -------
        DataFrame, or dict of lists without pandas
            ``term`` (feature names joined by " x "), ``order``, ``weight_share`` (its
            part of the sum of all squared weights) and ``weight``, for the second
            of two classes, or of more a ``weight of`` each.
        """
        check_is_fitted(self)
        squares = np.sum(self.weights_**2, axis=0)
        order = np.argsort(-squares, kind="stable")
        names = self._term_names()
        labels = ["weight"]
        if len(self.classes_) > 2:
            labels = [f"weight of {label}" for label in self.classes_]
        return to_frame(
            {
                "term": [names[j] for j in order],
                "order": [len(self._terms[j]) for j in order],
                "weight_share": (squares / max(squares.sum(), 1e-300))[order].tolist(),
                **{
                    label: row[order].tolist()
                    for label, row in zip(labels, self.weights_, strict=True)
                },
            }
        )

    def _log_odds(self, X):
        """A column for each class, also of two."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return scores
        return np.column_stack([np.zeros_like(scores), scores])

    def _weigh(self, X, y, sample_weight):
        """Weights of rows times those of their classes."""
        if self.class_weight is None or y is None:
            return sample_weight
        check_consistent_length(X, y)
        numbers, classes = read_classes(y)
        weights = _check_sample_weight(to_numpy(sample_weight), numbers)
        # Of rows of weight 0 no class counts.
        kept = weights != 0
        present = np.unique(numbers[kept])
        by_class = np.ones(len(classes))
        by_class[present] = compute_class_weight(
            self.class_weight,
            classes=classes[present],
            y=classes[numbers[kept]],
            sample_weight=weights[kept],
        )
        return weights * by_class[numbers]

    def _fitted_attributes(self, samples, terms, C=SEARCH_C):
        coef, intercept = _learn(samples, terms, C)
        return {
            **self._structure(samples, terms),
            "classes_": samples.classes,
            "weights_": coef,
            "intercept_": intercept,
            "C_": C,
        }


def _learn(samples, terms, C):
    """Weights and constants of logistic regression; constants alone without terms."""
    inputs, labels, sample_weight = samples.data
    n_classes = len(samples.classes)
    n_rows = 1 if n_classes == 2 else n_classes
    if not terms:
        shares = np.bincount(labels, sample_weight, n_classes)
        log_shares = np.log(shares / shares.sum())
        if n_rows == 1:
            log_shares = log_shares[1:] - log_shares[:1]
        return np.zeros((n_rows, 0)), log_shares
    model = LogisticRegression(C=C, tol=_TOLERANCE, max_iter=_MOST_STEPS)
    model.fit(product_columns(inputs, terms), labels, sample_weight=sample_weight)
    return model.coef_, model.intercept_
