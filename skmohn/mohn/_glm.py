"""MOHNGLMRegressor: counts and positive targets, by products on a log scale."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_random_state, check_scalar
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skmohn._core._categories import one_row, read_table
from skmohn._core._estimator import ComputedProperty
from skmohn._core._fitting import History, all_or_nothing
from skmohn._core._quantiles import mask_lone_totals
from skmohn._core._sklearn import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    with_callbacks,
)
from skmohn._core._tables import read_targets
from skmohn._core._types import TableLike
from skmohn._core._validation import read_quantiles, read_vector, to_numpy
from skmohn.mohn._base import BaseMOHN, Table
from skmohn.mohn._design.plane_design import Planes
from skmohn.mohn._effects import NORMAL_INTERVAL, measure, tabulate_rate_ratios
from skmohn.mohn._genotypes import encode, encode_blocks, read_inputs
from skmohn.mohn._glm_solve import GLMModel
from skmohn.mohn._missing_inputs import MissingInputs
from skmohn.mohn._options import GLMStrategy
from skmohn.mohn._reports import (
    add_summary,
    tabulate_contributions,
    tabulate_rate_ratios_of_terms,
    to_frame,
)
from skmohn.mohn._sparse.distributions import DISTRIBUTIONS, Distribution, bounded_exp
from skmohn.mohn._sparse.inference import label_collinear_terms
from skmohn.mohn._sparse.tweedie import Tweedie
from skmohn.mohn._strategies import strategies_for
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.rows import EncodedRows, coded_blocks
from skmohn.mohn._table.variables import Marginals
from skmohn.mohn._term_search import expand
from skmohn.mohn._training_data import TrainingData
from skmohn.mohn._transformer import ProductFinder

_Floats = NDArray[np.float64]


class MOHNGLMRegressor(
    CallbackSupportMixin, ProductFinder, RegressorMixin, BaseEstimator
):
    """Regression of counts and positive targets on few interactions, on a log scale.

    A generalized linear model that finds its terms: the logarithm of the mean is a sum
    of products of columns,

    .. math:: \\log E[y] = \\log(\\text{exposure}) + w_0
              + \\sum_j w_j \\prod_{i \\in Q_j} x_i

    of inputs coded as -1 and +1, so that each term multiplies the mean by a rate ratio.

    Parameters
    ----------
    strategy : {"auto", "full", "given"}, default="auto"
        What to learn.

        - ``"auto"``: forward search. Each step adds the products that best match the
          residuals (the score test of [1]_), until the likelihood of held-out samples
          stops rising. The products found compete with the mean alone, with all single
          columns, and with both together; among models that predict held-out samples
          about equally, the one with the fewest terms is kept.
        - ``"full"``: all products up to `max_order`.
        - ``"given"``: the products listed in `terms`.
    loss : {"poisson", "negative_binomial", "gamma", "tweedie"}, default="poisson"
        Negative log likelihood that is minimized, and the distribution of new targets.

        - ``"poisson"``: counts whose variance is their mean. If the mean is right,
          predictions of other nonnegative targets are right as well, but not intervals
          and standard errors.
        - ``"negative_binomial"``: counts with variance
          ``mean + dispersion * mean**2``.
        - ``"gamma"``: positive targets with variance ``dispersion * mean**2``.
        - ``"tweedie"``: positive targets and zeros, totals of a Poisson number of gamma
          amounts, such as rain or claims; variance ``dispersion * mean**power``.
    max_order : int, default=None
        Largest number of columns in a product. None sets no limit: orders 1 and 2 and
        extensions of products found are always searched, higher orders if nothing
        is significant and `work_budget` allows.
    max_terms : int, default=None
        Maximum number of products. None leaves it to held-out samples.
    terms : sequence of sequences of int, str or (column, category), default=None
        Products, as column indices or names: all of them for "given"; for "auto" those
        that are always in the model, such as covariates. "full" takes none.
    C : float or "auto", default="auto"
        Inverse strength of the L2 penalty: the prior variance of a weight, and four
        times that of the weight of a category if a column has more than two. "auto"
        takes the one of 0.001, 0.01, 0.03, 0.1, 0.3, 1 and 10 with the highest
        likelihood of held-out samples. The constant has no penalty.
    cv : int, cross-validation generator or iterable, default=5
        Cross-validation folds. An int keeps identical rows in one fold, and spreads
        zeros evenly.
    max_iter : int, default=200
        Maximum number of search rounds.
    work_budget : float, default=1e9
        Limit on the exhaustive screening of orders 3 and up, in operations of about a
        nanosecond each. `search_coverage_` reports what was skipped.
    memory_budget : float, default=1e9
        Bytes for the columns of the products on all folds.
    power : float, default=None
        For ``loss="tweedie"``, between 1 (counts times a unit) and 2 (gamma); None
        means 1.5, for which the coefficient of variation of an amount is 1. Other
        losses take none. :meth:`log_density` of held-out samples compares powers.
    outliers : {"auto", "keep"}, default="auto"
        Whether the few targets far above all others for their exposure, such as entry
        errors, are left out: up to one in 50 samples, at least one and at most five.
        See `outliers_`.
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
    weights_ : ndarray of shape (n_terms,)
        Weights of the products in the log mean.
    intercept_ : float
        The constant: the log mean if all products are 0.
    standard_errors_ : ndarray of shape (n_terms,)
        Standard error of each weight by Laplace's approximation, with terms, penalty
        and dispersion taken as known. NaN beyond 1000 weights.
    dispersion_ : float
        Dispersion of the distribution, adjusted for the number of weights ([2]_); 0 for
        the Poisson distribution; for Tweedie's, at an exposure of 1.
    C_ : float
        Inverse strength of the penalty used.
    model_ : GLMModel
        The fitted function of coded inputs.
    stopping_reason_ : str
        Which model was chosen, in a sentence.
    coding_ : InputCoding
        How each column became an input: its ``kind`` and the values ``low`` and
        ``high`` coded as -1 and +1.
    outliers_ : ndarray of shape (n_samples,), bool
        Mask of the targets that were left out as outliers.
    search_coverage_ : list of dict
        For each order, the number of products that are ``possible``, were ``tried``
        (scored) and were ``kept``.
    collinear_terms_ : list of list of (tuple, float)
        For each of `terms_`, the sets of as many columns that are nearly collinear, and
        their correlations with it on the training rows.
    history_ : History
        One dict per model tried: ``n_terms``, ``training_log_loss`` and
        ``validation_log_loss``; then, for each model that was compared, ``model`` and
        ``validation_log_loss``.
    n_iter_ : int
        Number of models tried.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    See Also
    --------
    MOHNRegressor : The model for targets whose noise is normal.
    sklearn.linear_model.PoissonRegressor : The same on single columns.
    sklearn.ensemble.HistGradientBoostingRegressor : Trees with these losses.

    Notes
    -----
    Columns are coded as by :class:`MOHNRegressor`. Numeric columns are lines on the log
    scale; beyond their ranges in `fit`, log means stay within the bounds that the
    weights allow there. Rates that a model with products predicts are at most four
    times the largest, and at least a quarter of the smallest, of the rows of `fit`. NaN
    means missing: the mean is averaged over the possible values; in `fit`, while
    products and `C` are being chosen, it counts as the mean of its column. Missing
    genotypes always do.

    References
    ----------
    .. [1] Rao, C. R. (1948). Large sample tests of statistical hypotheses concerning
       several parameters. Proceedings of the Cambridge Philosophical Society 44.
    .. [2] Cox, D. R. and Reid, N. (1987). Parameter orthogonality and approximate
       conditional inference. Journal of the Royal Statistical Society B 49.

    Examples
    --------
    >>> import numpy as np
    >>> from skmohn import MOHNGLMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(2, size=(300, 10))
    >>> years = rng.uniform(0.5, 2.0, size=300)
    >>> y = rng.poisson(years * np.exp(1 + X[:, 2] - X[:, 2] * X[:, 7]))
    >>> model = MOHNGLMRegressor(random_state=0).fit(X, y, exposure=years)
    >>> model.terms_
    [(2,), (7,), (2, 7)]
    >>> model.predict(X[:2]).round(1)  # for a year each
    array([7.1, 2.6])
    """

    terms_: list[tuple[Any, ...]]
    weights_: np.ndarray
    intercept_: float
    standard_errors_: np.ndarray
    dispersion_: float
    C_: float
    model_: GLMModel
    stopping_reason_: str
    coding_: InputCoding
    outliers_: np.ndarray
    search_coverage_: list[dict]
    collinear_terms_: list[list]
    history_: History
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    _marginals: Marginals | None
    _genotype_strategies: tuple[str, ...] = ("given",)

    _parameter_constraints = {
        **BaseMOHN._parameter_constraints,
        "max_terms": ProductFinder._parameter_constraints["max_terms"],
        "strategy": [StrOptions(set(strategies_for("glm")))],
        "loss": [StrOptions({*DISTRIBUTIONS, "tweedie"})],
        "power": [Interval(Real, 1, 2, closed="neither"), None],
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "outliers": [StrOptions({"auto", "keep"})],
    }

    _used_by = {"terms": ("auto", "given"), "max_terms": ("auto",)}

    def __init__(
        self,
        strategy: GLMStrategy = "auto",
        loss: str = "poisson",
        max_order: int | None = None,
        *,
        max_terms: int | None = None,
        terms: Sequence[Any] | None = None,
        C: float | str = "auto",
        cv: Any = 5,
        max_iter: int = 200,
        work_budget: float = 1e9,
        memory_budget: float = 1e9,
        power: float | None = None,
        outliers: str = "auto",
        categorical_features: ArrayLike | None = "from_dtype",
        handle_unknown: str = "error",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.strategy = strategy
        self.loss = loss
        self.max_order = max_order
        self.max_terms = max_terms
        self.terms = terms
        self.C = C
        self.cv = cv
        self.max_iter = max_iter
        self.work_budget = work_budget
        self.memory_budget = memory_budget
        self.power = power
        self.outliers = outliers
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
        exposure: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Find the products and fit their weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing. Sparse input is converted to dense.
        y : array-like of shape (n_samples,)
            Targets: nonnegative and not all 0 or, for "gamma", positive. Counts need
            not be integers, as in :class:`~sklearn.linear_model.PoissonRegressor`.
        sample_weight : array-like of shape (n_samples,), default=None
            Integers count repeated samples: a weight of 2 equals the sample twice.
            Other weights are relative, scaled to a mean of 1. Samples of weight 0 are
            dropped.
        exposure : array-like of shape (n_samples,), default=None
            What the targets are proportional to, such as the time observed or the area
            searched; 1 by default. The targets are totals, not rates: rates with
            exposures as `sample_weight`, as for PoissonRegressor, have the same
            likelihood only for "poisson" and integer exposures. For "tweedie" units are
            independent, so that the dispersion of totals is multiplied by
            ``exposure**(1 - power)``.
        groups : array-like of shape (n_samples,), default=None
            Labels of groups of samples that belong together, which folds never
            separate. None: only equal rows belong together.
        **params : dict
            Passed to the splitter `cv`; needs metadata routing.

        Returns
        -------
        MOHNGLMRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            For invalid input; the message names the parameter or column.
        MemoryError
            If the requested columns do not fit in memory.
        """
        given = None if exposure is None else _read_exposure(exposure, X)
        samples, found = self._find(
            X,
            y,
            sample_weight,
            groups,
            params,
            "glm",
            _read_numbers,
            self._fitted_attributes,
            leave_out=partial(self._find_outliers, given, sample_weight),
            complete=partial(self._complete, given),
            metadata={"exposure": exposure},
        )
        model = self._complete_model(samples, found.model)
        self._expose(samples, model.learn_beside_missing(samples))
        return self

    def predict(
        self, X: TableLike, exposure: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Predict the mean.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; NaN means missing.
        exposure : array-like of shape (n_samples,), default=None
            Exposure of each sample; 1 by default, for rates.

        Returns
        -------
        ndarray of shape (n_samples,)
            Expected targets.
        """
        found = [self.model_.log_rates(rows) for rows in self._to_blocks(X)]
        return bounded_exp(np.concatenate(found)) * _read_exposure(exposure, X)

    def predict_quantiles(
        self,
        X: TableLike,
        quantiles: ArrayLike = (0.05, 0.5, 0.95),
        exposure: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Predict quantiles of new targets, such as the ends of an interval.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; NaN means missing.
        quantiles : array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Fractions of the targets that lie below, between 0 and 1; by default the
            ends of a 90 % interval and the median.
        exposure : array-like of shape (n_samples,), default=None
            Exposure of each sample; 1 by default.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles)
            For counts, integers. The uncertainty of the mean, as from missing values,
            is part of the distribution, as dispersion with the same moments.

        Raises
        ------
        ValueError
            If a quantile is not between 0 and 1.
        """
        probabilities = read_quantiles(quantiles)
        found = [
            part.ppf(probabilities[:, None]).T
            for _, part in self._predictive(X, exposure)
        ]
        return np.concatenate(found)

    def log_density(
        self, X: TableLike, y: ArrayLike, exposure: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Log density of new targets, or log probability of counts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Their targets; for counts, integers.
        exposure : array-like of shape (n_samples,), default=None
            Exposure of each sample; 1 by default.

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats. A proper score, which can compare losses for counts. For "tweedie",
            the log probability of zeros.

        Raises
        ------
        ValueError
            If a count is not an integer, whose probability is 0.
        """
        check_is_fitted(self)
        targets, _ = _read_numbers(y)
        check_consistent_length(X, targets)
        distribution = self.model_.distribution
        _require_valid(targets, distribution)
        if distribution.is_discrete:
            odd = np.flatnonzero(targets != np.rint(targets))
            if odd.size:
                raise ValueError(
                    f"y has {targets[odd[0]]}, but only integers have a probability "
                    "under a distribution of counts: pass totals, and their exposure"
                )
        log = "logpmf" if distribution.is_discrete else "logpdf"
        found = [
            getattr(part, log)(targets[block])
            for block, part in self._predictive(X, exposure)
        ]
        return np.concatenate(found)

    def sample_y(
        self,
        X: TableLike,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = 0,
        exposure: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Draw targets from the posterior, jointly for all samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Samples; NaN means missing.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Seed; the default repeats the same draws, as Gaussian processes do.
        exposure : array-like of shape (n_rows,), default=None
            Exposure of each sample; 1 by default.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            One draw per column.
        """
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        check_is_fitted(self)
        rows = self._to_rows(X)
        rng = check_random_state(random_state)
        return self.model_.sample(rows, _read_exposure(exposure, X), n_samples, rng)

    def score(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> float:
        """Compute D2, the fraction of the deviance that is explained.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.
        exposure : array-like of shape (n_samples,), default=None
            Exposure of each sample; 1 by default.

        Returns
        -------
        float
            At most 1, and 0 for the constant rate that fits best; see
            :func:`~sklearn.metrics.d2_tweedie_score`. The deviance of the negative
            binomial distribution uses the fitted dispersion. Like R2, it is 0 if the
            observed rates are all equal, and 1 if they are predicted exactly.
        """
        rates = self.predict(X)
        given = np.broadcast_to(_read_exposure(exposure, X), rates.shape)
        targets, _ = _read_numbers(y)
        check_consistent_length(rates, targets)
        _require_valid(targets, self.model_.distribution)
        weight = check_sample_weight(sample_weight, rates)
        of_samples = (targets / given)[weight > 0.0]
        if np.ptp(of_samples) == 0.0:
            return float(np.array_equal(of_samples, rates[weight > 0.0]))
        constant = (weight @ targets) / (weight @ given)
        distribution = self.model_.distribution
        weight = weight / distribution.dispersion_factor(np.log(given))
        own, whole = (
            distribution.deviance(targets, rate * given, self.dispersion_)
            for rate in (rates, constant)
        )
        return float(1.0 - (weight @ own) / (weight @ whole))

    @ComputedProperty
    def feature_importances_(self) -> NDArray[np.float64]:
        """Total Sobol index of each column, for the log mean.

        Returns
        -------
        ndarray of shape (n_features,)
            As in :meth:`MOHNRegressor.sobol_indices`. Used by tools such as
            :class:`~sklearn.feature_selection.RFE`.
        """
        check_is_fitted(self)
        return self.model_.importances(self.term_names_, self._marginals)

    def terms_table(self) -> Any:
        """List the products of `terms_` with their rate ratios, the largest first.

        Returns
        -------
        DataFrame
            ``term`` (such as ``"dose x sex=male"``), ``order``, ``weight`` and its
            ``standard_error``; ``rate_ratio``, the factor of the mean if the product is
            +1 instead of -1, and ``ci_low`` and ``ci_high``, its 95 % interval.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        check_is_fitted(self)
        return to_frame(self._tabulate_terms(), "terms_table")

    def effects_table(self) -> Any:
        """List the effect of each column on the mean, the most important first.

        One column moves and all others vary as in :attr:`feature_importances_`,
        independently of each other; the mean of the target, for an exposure of 1, is
        averaged over these.

        Returns
        -------
        DataFrame
            ``feature``; ``total`` (its total Sobol index, for the log mean); ``from``
            and ``to``, between which it moves as in
            :meth:`MOHNRegressor.effects_table`; ``rate_ratio``, the factor of the mean,
            with ``ci_low`` and ``ci_high``, its 95 % interval; ``effect``, the change
            of the mean, and its ``standard_error``. Averages over 2048 quasi-random
            rows; errors by the delta method, with terms, penalty and dispersion taken
            as known, NaN beyond 1000 weights.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        check_is_fitted(self)
        return to_frame(tabulate_rate_ratios(self), "effects_table")

    def explain(self, x: TableLike) -> Any:
        """Split the log mean of one row into contributions, the largest first.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row, such as a list or a DataFrame's row; NaN means missing.

        Returns
        -------
        DataFrame
            ``term``, ``value`` (product of the coded inputs), ``weight`` and
            ``contribution``, their product. Contributions add up to the log mean for an
            exposure of 1, before its limits; if values are missing, to its average over
            these. ``"(constant)"`` comes first.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        ValueError
            If `x` is not exactly one row that `predict` accepts.
        """
        check_is_fitted(self)
        rows = self._to_rows(one_row(x))
        values = self.model_.columns(rows)[0, :-1]
        parts = self.weights_ * values + 0.0  # no zero has a sign
        found = zip(self._term_names(), values, self.weights_, parts, strict=True)
        table = tabulate_contributions(self.intercept_, list(found), [])
        return to_frame(table, "explain")

    def __sklearn_tags__(self) -> Tags:
        """Describe the inputs and targets that the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        return add_summary(
            self, super()._get_fitted_attr_html(doc_link), self._tabulate_terms
        )

    def _tabulate_terms(self) -> Table:
        """List the products of `terms_`, the largest first."""
        return tabulate_rate_ratios_of_terms(
            self.term_names_,
            self.terms_,
            self.weights_,
            self.standard_errors_,
            NORMAL_INTERVAL,
        )

    def _find_outliers(
        self, exposure: _Floats | None, sample_weight: Any, y: _Floats
    ) -> NDArray[np.bool_]:
        """Find targets that are far above all others of positive weight; keep them."""
        found = np.zeros(len(y), dtype=bool)
        rows = np.flatnonzero(check_sample_weight(sample_weight, y) > 0.0)
        if self.outliers == "auto" and np.all(y[rows] >= 0.0):
            rates = y if exposure is None else y / exposure
            found[rows] = mask_lone_totals(rates[rows])
        self.outliers_ = found
        return found

    def _complete(
        self, exposure: _Floats | None, samples: TrainingData
    ) -> TrainingData:
        """Training data with exposures and a distribution; refuse invalid targets."""
        distribution = self._distribution()
        _require_valid(samples.y, distribution)
        if not samples.y.any():
            raise ValueError(
                f"y is 0 for every sample, and loss={self.loss!r} needs a mean above "
                "it: add samples with events"
            )
        if exposure is not None:
            exposure = exposure[samples.row_index]
        y = samples.y.astype(np.float64)
        return samples._replace(y=y, exposure=exposure, distribution=distribution)

    def _distribution(self) -> Distribution:
        """Distribution of the targets about their means."""
        if self.loss == "tweedie":
            return Tweedie(1.5 if self.power is None else float(self.power))
        if self.power is not None:
            raise ValueError(
                f"power: loss={self.loss!r} takes none; leave it at None, or use "
                'loss="tweedie"'
            )
        return DISTRIBUTIONS[self.loss]

    def _complete_model(self, samples: TrainingData, model: Any) -> GLMModel:
        """Model that knows what unknown inputs could be."""
        if isinstance(samples.inputs, Planes):  # these keep no mask of unknown ones
            return model
        known = samples.rows, samples.coding, samples.sample_weight
        return replace(model, missing_inputs=MissingInputs.of(*known))

    def _fitted_attributes(self, samples: TrainingData, model: Any) -> dict[str, Any]:
        model = self._complete_model(samples, model() if callable(model) else model)
        return {
            "terms_": [samples.term_names.label(term) for term in model.terms],
            "weights_": model.weights,
            "intercept_": model.constant,
            "standard_errors_": model.standard_errors(),
            "dispersion_": model.dispersion,
            "C_": model.C,
            "coding_": samples.coding,
            "model_": model,
            "_terms": model.terms,
        }

    def _expose(self, samples: TrainingData, model: GLMModel) -> None:
        vars(self).update(self._fitted_attributes(samples, model))
        if self.outliers_.any():
            left_out = f"{self.outliers_.sum()} of {len(self.outliers_)} targets"
            self.stopping_reason_ += f"; left out as outliers: {left_out}"
        self._marginals = measure(samples, model, self.terms_)
        self.collinear_terms_ = label_collinear_terms(expand(samples), self._terms)

    def _to_rows(self, X: TableLike) -> EncodedRows:
        return encode(self.coding_, read_table(self, X), self._names())

    def _to_blocks(self, X: TableLike) -> Iterator[EncodedRows]:
        """Encode some rows of a table at a time."""
        check_is_fitted(self)
        return encode_blocks(self.coding_, read_inputs(self, X), self._names())

    def _predictive(
        self, X: TableLike, exposure: ArrayLike | None
    ) -> Iterator[tuple[slice, Any]]:
        """Yield rows, some at a time, and the distribution of their targets."""
        check_is_fitted(self)
        table = read_inputs(self, X)
        given = np.broadcast_to(_read_exposure(exposure, X), len(table))
        blocks = encode_blocks(self.coding_, table, self._names())
        for block, rows in zip(coded_blocks(table.shape), blocks, strict=True):
            yield block, self.model_.predictive(rows, given[block])


def _require_valid(y: _Floats, distribution: Distribution) -> None:
    """Refuse targets that a distribution has not."""
    invalid = np.flatnonzero(~distribution.is_valid(y))
    if invalid.size:
        raise ValueError(
            "Some value(s) of y are out of the valid range of the loss, first "
            f"{y[invalid[0]]}: {distribution.requirement}; drop these samples, or use "
            "MOHNRegressor"
        )


def _read_numbers(y: Any) -> tuple[NDArray[np.float64], None]:
    """Targets, checked but for their range; there are no classes."""
    return np.asarray(read_targets(y, numeric=True), dtype=np.float64), None


def _read_exposure(exposure: ArrayLike | None, X: Any) -> Any:
    """Check exposures: a positive number for each row, or 1 for all by default."""
    if exposure is None:
        return 1.0
    found = read_vector(to_numpy(exposure), "exposure")
    check_consistent_length(X, found)
    invalid = np.flatnonzero(~(found > 0.0))
    if invalid.size:
        raise ValueError(
            f"exposure must be positive, but sample {invalid[0]} has "
            f"{found[invalid[0]]}: drop samples that were not observed"
        )
    return found
