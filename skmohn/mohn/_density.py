"""MOHNDensity: a Markov random field of few terms that can be read."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skmohn._core._categories import (
    Categories,
    column_names,
    learn_kinds,
    one_row,
    read_table,
)
from skmohn._core._estimator import EstimatorMixin
from skmohn._core._fitting import all_or_nothing, one_blas_thread, warn_caller
from skmohn._core._rows import row_slices
from skmohn._core._sklearn import Interval, check_sample_weight, fit_context
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike, Term
from skmohn._core._units import power_of_two_scale
from skmohn._core._validation import refuse_dominant_weight
from skmohn.mohn._base import Table
from skmohn.mohn._effects import NORMAL_INTERVAL
from skmohn.mohn._field.enumeration import EnumeratedField, States, fit_likelihood
from skmohn.mohn._field.layout import FieldData, FieldLayout, multiply
from skmohn.mohn._field.pseudo_likelihood import FieldFit, sandwich
from skmohn.mohn._field.sampling import ANNEALING, FieldChains
from skmohn.mohn._field.term_search import search_terms
from skmohn.mohn._reports import (
    count_orders,
    describe_columns,
    tabulate_contributions,
    to_frame,
)
from skmohn.mohn._table.coding import CATEGORIES, InputCoding
from skmohn.mohn._table.rows import count_observations
from skmohn.mohn._table.term_names import TermNames

# Interactions that notebooks show.
_MAX_INTERACTIONS: Final = 5


@dataclass(frozen=True)
class ValueConstants:
    """Numbers that samples have within a level."""

    n_quantiles: int = tuned(200, "cost")


_VALUES = ValueConstants()


class MOHNDensity(EstimatorMixin, DensityMixin, BaseEstimator):
    """Joint probability of two-valued and categorical columns, with few terms.

    The log probability of a row is a sum of weighted products of its columns, coded as
    -1 and +1: ``log p(x) = sum_j w_j prod_{i in Q_j} x_i - log Z``, a Markov random
    field. Each column has a weight; the pairs and triples with a weight are found by
    the extended Bayesian information criterion (EBIC) [1]_ of the pseudo-likelihood
    [2]_, the probability of each column given all others, with one weight per term in
    all of them. Columns that no term connects are independent given the others.

    With at most about 20 columns, all states are enumerated: weights then maximize the
    likelihood, and ``log Z`` is exact. Otherwise weights maximize the
    pseudo-likelihood, and ``log Z`` is estimated by annealed importance sampling.

    Parameters
    ----------
    max_order : {1, 2, 3}, default=3
        Maximum number of columns in a term. The time of the search for triples is
        proportional to the cube of the number of columns.
    ebic_gamma : float, default=1.0
        Penalty for the number of candidate terms: 1 makes false discoveries rare; 0 is
        BIC, which finds weaker terms, some of them by chance.
    l2 : float, default=1.0
        Penalty of weights, ``l2 / 2`` times the sum of their squares, in nats. It keeps
        weights finite if columns determine each other.
    max_levels : int, default=4
        Maximum number of levels, by quantiles, of a column with more than two numbers.
        The probability is that of the level. Levels are categories.
    categorical_features : array-like or "from_dtype", default="from_dtype"
        Categorical columns: names, indices or a mask. "from_dtype" takes columns of
        text and of categorical types, but leaves out text that differs in at least ten
        rows and 95% of them, as IDs do: :meth:`sample` returns NaN there.
    random_state : int, RandomState instance or None, default=None
        Seed of annealed importance sampling, used if there are too many states to
        enumerate.

    Attributes
    ----------
    terms_ : list of tuple
        Columns that each weight connects, or pairs of column and category or level. The
        first are the main effects.
    weights_ : ndarray of shape (n_terms,)
        The weights.
    standard_errors_ : ndarray of shape (n_terms,)
        Their standard errors, from Godambe's sandwich estimator, which is also valid
        for distributions that are not such a field. They take the terms as given,
        although they were searched for.
    is_normalized_exactly_ : bool
        Whether all states were enumerated, so that weights maximize the likelihood and
        `log_partition_` is exact.
    log_partition_ : float
        Logarithm of the sum of all states, ``log Z``.
    log_partition_error_ : float
        Its standard error, 0 if it is exact.
    coding_ : InputCoding
        How each column was coded. Constant columns are ignored.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    See Also
    --------
    EnergyNetTransformer : Hidden units in the place of terms: closer to the data where
        relations are diffuse, for numbers and missing values as well.
    sklearn.neighbors.KernelDensity : Densities of numbers.

    Notes
    -----
    Missing values are refused: :class:`EnergyNetImputer` fills them. So are categories
    that were not seen in `fit`. In a column with one or two numbers, new ones are less
    likely than those seen in `fit`; see :meth:`score_samples`.

    References
    ----------
    .. [1] Chen, J. and Chen, Z. (2008). Extended Bayesian information criteria for
       model selection with large model spaces. Biometrika 95(3).
    .. [2] Besag, J. (1975). Statistical analysis of non-lattice data. The Statistician
       24(3).

    Examples
    --------
    >>> import numpy as np
    >>> from skmohn import MOHNDensity
    >>> X = np.random.default_rng(0).integers(2, size=(500, 6))
    >>> X[:, 2] = X[:, 0] ^ X[:, 1] ^ (X[:, 2] & X[:, 3])
    >>> model = MOHNDensity().fit(X)
    >>> [term for term in model.terms_ if len(term) > 1]
    [(0, 1, 2)]
    """

    terms_: list[tuple[Any, ...]]
    weights_: np.ndarray
    standard_errors_: np.ndarray
    is_normalized_exactly_: bool
    log_partition_: float
    log_partition_error_: float
    coding_: InputCoding
    n_features_in_: int
    feature_names_in_: np.ndarray
    _categories: Categories
    _input_dtype: str
    _time_zones: dict
    _means: np.ndarray  # (n_inputs,); within (-1, 1)
    # By column with levels, quantiles of the numbers in each, (n_levels, n_quantiles).
    _values: dict[int, np.ndarray]
    # Logarithm of the probability of a number as if seen half a time, as of the others.
    _log_unseen: float

    # What is unknown is refused as what is missing is, by `_read`.
    handle_unknown = "missing"
    _when_long = "use fewer rows or columns, or max_order=2"
    _parameter_constraints = {
        "max_order": [Interval(Integral, 1, 3, closed="both")],
        "ebic_gamma": [Interval(Real, 0, None, closed="left")],
        "l2": [Interval(Real, 0, None, closed="neither")],
        "max_levels": [Interval(Integral, 2, None, closed="left")],
        "categorical_features": ["array-like", str, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        max_order: int = 3,
        *,
        ebic_gamma: float = 1.0,
        l2: float = 1.0,
        max_levels: int = 4,
        categorical_features: ArrayLike | None = "from_dtype",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.max_order = max_order
        self.ebic_gamma = ebic_gamma
        self.l2 = l2
        self.max_levels = max_levels
        self.categorical_features = categorical_features
        self.random_state = random_state

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=True)
    @one_blas_thread
    def fit(
        self,
        X: TableLike,
        y: object | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Find the terms and learn their weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            At least 2 samples, without missing values.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of samples: if all are integers, the number of times each was
            observed; otherwise relative to their mean.

        Returns
        -------
        MOHNDensity
            The fitted estimator.
        """
        table = read_table(self, X, reset=True, weights=[sample_weight])
        learn_kinds(self, X, [sample_weight])
        data = self._read_data(table, sample_weight)
        fit = search_terms(data, self.max_order, self.ebic_gamma, self.l2)
        self._learn_weights(fit)
        self._normalize()
        return self

    def score_samples(self, X: TableLike) -> NDArray[np.float64]:
        """Compute the log probability of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats. For numeric columns with more than two values, the probability of
            their level. In a column with one or two numbers, a new one is at most half
            as likely as those seen in `fit`, given the other columns, and at most as
            likely as one seen half a time. Unless `is_normalized_exactly_`, all share
            the error `log_partition_error_`.

        Raises
        ------
        ValueError
            If a value is missing, or a category was not seen in `fit`.
        """
        check_is_fitted(self)
        signs, is_new = self._read(X)
        terms = self._terms()
        values = np.empty(len(signs))
        for part in row_slices((len(signs), max(len(terms), is_new.shape[1]))):
            values[part] = multiply(signs[part], terms) @ self.weights_
            values[part] += self._penalize(signs[part], is_new[part]).sum(axis=1)
        return values - self.log_partition_

    def score(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: TableLike, y: object | None = None
    ) -> float:
        """Compute the mean log probability of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : None
            Not used.

        Returns
        -------
        float
            Mean of :meth:`score_samples`, in nats per sample.
        """
        return float(self.score_samples(X).mean())

    @one_blas_thread
    def sample(
        self,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> NDArray:
        """Draw samples from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples.
        random_state : int, RandomState instance or None, default=None
            Pass an int for reproducible samples.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            In the units of X; numbers are drawn from those seen in the level in `fit`,
            with their frequencies. Booleans if all columns are; in a table with numbers
            they are 0.0 and 1.0. Exact if `is_normalized_exactly_`, otherwise each is
            the end of an annealed Gibbs chain.
        """
        check_is_fitted(self)
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        random_state = check_random_state(random_state)
        rng = np.random.default_rng(random_state.randint(2**31))
        states = States.of(self._layout())
        if self.is_normalized_exactly_:
            field = EnumeratedField.of(states, self._terms())
            probabilities, _ = field.distribute(self.weights_)
            signs = states.to_signs(
                rng.choice(len(probabilities), n_samples, p=probabilities)
            )
        else:
            signs = self._chains().sample(n_samples, rng)
        return self._write(signs, rng)

    def terms_table(self) -> Any:
        """List the terms, the largest weights of the highest order first.

        Returns
        -------
        DataFrame
            ``term``, ``order``, ``weight``, ``standard_error`` and ``odds_ratio``: the
            factor by which the odds of a column change when the product of the others
            turns from -1 to +1, ``exp(4 * weight)``; for a main effect ``exp(2 *
            weight)``, the odds if all other products cancel.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        check_is_fitted(self)
        orders, odds = self._odds_ratios()
        ranks = np.lexsort((-np.abs(self.weights_), -orders)).tolist()
        names = self._names_of_terms()
        table: Table = {
            "term": [names[j] for j in ranks],
            "order": orders[ranks].tolist(),
            "weight": self.weights_[ranks].tolist(),
            "standard_error": self.standard_errors_[ranks].tolist(),
            "odds_ratio": odds[ranks].tolist(),
        }
        return to_frame(table, "terms_table")

    def explain(self, x: TableLike) -> Any:
        """Split the log probability of one row into contributions, the largest first.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row, such as a list or a DataFrame's row.

        Returns
        -------
        DataFrame
            ``term``, ``value`` (product of the coded columns), ``weight`` and
            ``contribution``, their product, in nats. The first, ``"(constant)"``, is
            ``-log_partition_``; all add up to :meth:`score_samples`. A number not seen
            in `fit` counts in terms as the nearer one that was seen, and has a separate
            contribution.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        check_is_fitted(self)
        signs, is_new = self._read(one_row(x))
        (values,) = multiply(signs, self._terms())
        columns = self._names_of_terms(), values, self.weights_, values * self.weights_
        parts = list(zip(*columns, strict=True))
        (penalties,) = self._penalize(signs, is_new)
        for j in np.flatnonzero(penalties).tolist():
            name = f"({column_names(self)[j]} was not seen in fit)"
            parts.append((name, np.nan, np.nan, penalties[j]))
        return to_frame(
            tabulate_contributions(-self.log_partition_, parts, []), "explain"
        )

    @property
    def term_names_(self) -> TermNames:
        """Names of columns, categories and levels, and their internal numbers.

        Returns
        -------
        TermNames
            Translates between names, `terms_` and internal numbers.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return TermNames(self.coding_, self._categories, names)

    def __sklearn_tags__(self) -> Tags:
        """Describe the inputs that the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def _read_data(
        self, table: NDArray[np.float64], sample_weight: ArrayLike | None
    ) -> FieldData:
        """Weigh and encode the rows of a fit."""
        weight = check_sample_weight(sample_weight, table, ensure_non_negative=True)
        rows = np.flatnonzero(weight)
        refuse_dominant_weight(weight)
        table, weight = table[rows], weight[rows]
        counts = count_observations(weight)
        # Their sum may be more than a float, or less.
        weight = weight / power_of_two_scale(weight)
        weight = weight * (counts.sum() / weight.sum())
        self._log_unseen = -float(np.log(2.0 * counts.sum() + 1.0))
        self._refuse_missing(table, rows, "has NaN")
        n_categories = {j: len(own) for j, own in self._categories.known().items()}
        self.coding_ = InputCoding.learn(table, n_categories, (), self.max_levels)
        layout = self._layout()
        signs = layout.read_signs(self.coding_.encode(table))
        self._values = self._learn_values(table, signs, weight)
        return FieldData.of(layout, signs, weight)

    def _learn_values(
        self,
        table: NDArray[np.float64],
        signs: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> dict[int, NDArray[np.float64]]:
        """Quantiles of the numbers in each level of a column."""
        ranks = (np.arange(_VALUES.n_quantiles) + 0.5) / _VALUES.n_quantiles
        found = {}
        for column, group in self._columns_of_several():
            if self.coding_.kind[column] == CATEGORIES:
                continue
            level, numbers = signs[:, group].argmax(axis=1), table[:, column]
            by_level = (level == k for k in range(len(group)))
            how: Any = {"method": "inverted_cdf"}
            found[column] = np.array(
                [
                    np.quantile(numbers[own], ranks, weights=weight[own], **how)
                    for own in by_level
                ]
            )
        return found

    def _columns_of_several(self) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Columns of categories or levels, and the inputs of each."""
        groups = self._layout().several
        for (column,), group in zip(self.coding_.categoricals, groups, strict=True):
            yield column, group

    def _learn_weights(self, fit: FieldFit) -> None:
        """Learn the weights of terms, by the likelihood where states are few."""
        data, states = fit.data, States.of(fit.data.layout)
        self.is_normalized_exactly_ = states.are_few
        weights, scores = fit.weights, fit.scores(fit.terms, fit.products)
        information = fit.information(fit.terms, fit.products)
        if states.are_few:
            field = EnumeratedField.of(states, fit.terms)
            weights = fit_likelihood(data, field, fit.products, weights, self.l2)
            _, means, covariance = field.moments(weights)
            information = data.n_observations * covariance
            scores = fit.products - means
        information[np.diag_indices_from(information)] += self.l2
        self.standard_errors_ = sandwich(scores, data.weight, information)
        names, members = self.term_names_, data.layout.members
        self.terms_ = [names.label(tuple(members[[*t]].tolist())) for t in fit.terms]
        self.weights_ = weights
        n = data.n_observations
        self._means = n / (n + 1.0) * data.means

    def _normalize(self) -> None:
        """Compute or estimate the log partition function."""
        self.log_partition_error_ = 0.0
        if self.is_normalized_exactly_:
            field = EnumeratedField.of(States.of(self._layout()), self._terms())
            _, self.log_partition_ = field.distribute(self.weights_)
            return
        seed = check_random_state(self.random_state).randint(2**31)
        rng = np.random.default_rng(seed)
        value, error, effective = self._chains().estimate_log_partition(rng)
        self.log_partition_, self.log_partition_error_ = value, error
        if effective < ANNEALING.min_effective:
            warn_caller(
                "the effective number of chains for log_partition_ is only "
                f"{effective:.1f} of {ANNEALING.n_chains}: log probabilities share an "
                "error that may be larger than log_partition_error_",
                ConvergenceWarning,
            )

    def _list_facts(self) -> list[str]:
        """Columns, terms by order, the strongest interactions, and normalization."""
        facts = [describe_columns(self.coding_), f"terms: {count_orders(self.terms_)}"]
        orders, odds = self._odds_ratios()
        ranks = np.argsort(-np.abs(self.weights_), kind="stable").tolist()
        names = self._names_of_terms()
        connected = [j for j in ranks if orders[j] > 1]
        for j in connected[:_MAX_INTERACTIONS]:
            reach = NORMAL_INTERVAL * 4.0 * self.standard_errors_[j]
            low, high = odds[j] * np.exp(reach)
            facts.append(
                f"{names[j]}: odds ratio {odds[j]:.3g} (95% interval {low:.3g} to "
                f"{high:.3g})"
            )
        if not connected:
            facts.append("no interactions: the columns are independent")
        elif len(connected) > _MAX_INTERACTIONS:
            facts.append(f"all {len(connected):,} interactions: terms_table()")
        how = "exact, over all states"
        if not self.is_normalized_exactly_:
            how = f"estimated, with standard error {self.log_partition_error_:.2g}"
        return [*facts, f"log partition function: {self.log_partition_:.4g} ({how})"]

    def _odds_ratios(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Order and odds ratio of each term."""
        orders = np.array([len(term) for term in self.terms_], dtype=int)
        return orders, np.exp(np.where(orders > 1, 4.0, 2.0) * self.weights_)

    def _layout(self) -> FieldLayout:
        return FieldLayout.of(self.coding_)

    def _terms(self) -> list[Term]:
        """Terms as sets of inputs."""
        index = {m: i for i, m in enumerate(self._layout().members.tolist())}
        terms = self.term_names_.indices(self.terms_)
        return [tuple(index[m] for m in term) for term in terms]

    def _names_of_terms(self) -> list[str]:
        names = self.term_names_
        return names.name_terms(names.indices(self.terms_))

    def _chains(self) -> FieldChains:
        return FieldChains.of(self._layout(), self._terms(), self.weights_, self._means)

    def _read(self, X: TableLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Inputs of samples, (n_samples, n_inputs), and where numbers are new."""
        table = read_table(self, X)
        unknown = "has NaN, or a category that was not seen in fit,"
        self._refuse_missing(table, np.arange(len(table)), unknown)
        table, is_new = self.coding_.replace_new(table)
        names = getattr(self, "feature_names_in_", None)
        return self._layout().read_signs(self.coding_.encode(table, names)), is_new

    def _penalize(
        self, signs: NDArray[np.float64], is_new: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Log probabilities of new numbers, less those of the nearer ones."""
        penalties = np.zeros(is_new.shape)
        if not is_new.any():
            return penalties
        terms, layout = self._terms(), self._layout()
        inputs = {int(self.coding_.usable[layout.members[i]]): i for i in layout.single}
        for j in np.flatnonzero(is_new.any(axis=0)).tolist():
            rows = np.flatnonzero(is_new[:, j])
            if j not in inputs:
                penalties[rows, j] = self._log_unseen
                continue
            of_column = [k for k, term in enumerate(terms) if inputs[j] in term]
            products = multiply(signs[rows], [terms[k] for k in of_column])
            # Log odds of the other number that was seen.
            odds = -2.0 * (products @ self.weights_[of_column])
            half_as_likely = np.minimum(odds, 0.0) - np.log(2.0)
            half_seen = np.logaddexp(odds, 0.0) + self._log_unseen
            penalties[rows, j] = np.minimum(half_as_likely, half_seen)
        return penalties

    def _refuse_missing(
        self, table: NDArray[np.float64], rows: NDArray[np.intp], what: str
    ) -> None:
        """Refuse rows that are not known in all columns; `rows` are their numbers."""
        unknown = np.isnan(table)
        if unknown.any():
            row, column = np.argwhere(unknown)[0].tolist()
            raise ValueError(
                f"column {column_names(self)[column]} {what} in row {rows[row]}: "
                "MOHNDensity needs all values; EnergyNetImputer fills those that are "
                "missing"
            )

    def _write(self, signs: NDArray[np.float64], rng: np.random.Generator) -> NDArray:
        """Table of inputs, as users write it."""
        coding, layout = self.coding_, self._layout()
        table = np.tile(coding.low, (len(signs), 1))
        for i in layout.single.tolist():
            column = coding.usable[layout.members[i]]
            table[signs[:, i] > 0, column] = coding.high[column]
        for column, group in self._columns_of_several():
            chosen = signs[:, group].argmax(axis=1)
            if coding.kind[column] == CATEGORIES:
                table[:, column] = chosen
                continue
            ranks = rng.integers(_VALUES.n_quantiles, size=len(signs))
            table[:, column] = self._values[column][chosen, ranks]
        return self._categories.write_drawn(table)
