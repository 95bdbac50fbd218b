"""EnergyNetImputer: scikit-learn's interface of imputers, on a fitted transformer."""

from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.impute import MissingIndicator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from skmohn._core._categories import Categories
from skmohn._core._estimator import EstimatorMixin
from skmohn._core._fitting import all_or_nothing, table_is_read
from skmohn._core._long import say_when_long
from skmohn._core._names import input_names, name_columns, unique_names
from skmohn._core._rows import order_of
from skmohn._core._sklearn import StrOptions, fit_context
from skmohn._core._types import TableLike
from skmohn.energynet._coding import MINMAX, THERMOMETER
from skmohn.energynet._conditional import impute
from skmohn.energynet._factors import FACTORS, FactorBlend
from skmohn.energynet._table import in_container, read_columns, write_completed
from skmohn.energynet._transformer import EnergyNetTransformer

# Columns that notebooks name.
_MAX_COLUMNS: Final = 5
# What takes less time than to fill in many rows.
_TO_FEWER = "pass fewer incomplete rows at a time, or fit on fewer columns"


class EnergyNetImputer(EstimatorMixin, TransformerMixin, BaseEstimator):
    """Impute missing values in tables of numbers and categories with a learned density.

    An :class:`EnergyNetTransformer` learns the joint distribution of the columns, also
    from rows with missing values. Missing values are then imputed from the distribution
    given the known values of the row. Missing identifiers stay missing: text that
    differs in nearly every row is left out.

    If all columns are numbers and there are more columns than rows, a Gaussian with few
    factors is learned as well, and means are weighted means of both. The weight and the
    number of factors minimize the error on a held-out tenth of the known values, which
    a second fit of the transformer does not use either. Draws and modes come from the
    transformer.

    Parameters
    ----------
    transformer : EnergyNetTransformer, default=None
        Learns the distribution; imputation needs only one layer. None means
        ``EnergyNetTransformer(max_layers=1, whiten=True)``.
    strategy : {"mean", "mode"}, default="mean"
        Expected or most probable value. Categories are always the most probable ones.
    sample_posterior : bool, default=False
        Whether to draw values from their distribution instead, for multiple imputation.
        With ``random_state=None`` draws differ from call to call.
    add_indicator : bool, default=False
        Whether to append a column of 0 and 1 for each column with missing values in
        `fit`, 1 where the value was missing.
    random_state : int, RandomState instance or None, default=None
        Seed for the transformer and for draws; None keeps that of the transformer.

    Attributes
    ----------
    transformer_ : EnergyNetTransformer
        The fitted transformer.
    indicator_ : MissingIndicator or None
        Indicates the missing values.
    factor_weight_ : float
        Weight of the Gaussian with factors in means, 0 if none was learned.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    See Also
    --------
    EnergyNetTransformer.impute : The same of a fitted transformer, also with several
        draws.
    sklearn.impute.IterativeImputer : A regression for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from skmohn import EnergyNetImputer
    >>> bits = np.repeat([[0.0, 0, 0, 0], [1, 1, 1, 1]], 50, axis=0)
    >>> bits[::7, 2] = np.nan
    >>> imputer = EnergyNetImputer(strategy="mode", random_state=0).fit(bits)
    >>> imputer.transform([[1, 1, np.nan, 1], [0, np.nan, 0, 0]])
    array([[1., 1., 1., 1.],
           [0., 0., 0., 0.]])
    """

    transformer_: EnergyNetTransformer
    indicator_: MissingIndicator | None
    factor_weight_: float
    _factors: FactorBlend | None
    _n_missing: np.ndarray  # (n_features,), int; of the rows of `fit`
    _n_rows: int
    n_features_in_: int
    feature_names_in_: np.ndarray
    _categories: Categories

    _when_long = EnergyNetTransformer._when_long
    _parameter_constraints = {
        "transformer": [EnergyNetTransformer, None],
        "strategy": [StrOptions({"mean", "mode"})],
        "sample_posterior": ["boolean"],
        "add_indicator": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        transformer: EnergyNetTransformer | None = None,
        *,
        strategy: str = "mean",
        sample_posterior: bool = False,
        add_indicator: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.transformer = transformer
        self.strategy = strategy
        self.sample_posterior = sample_posterior
        self.add_indicator = add_indicator
        self.random_state = random_state

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: TableLike,
        y: object | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the distribution of the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            At least 2 samples, with NaN for missing values.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            As in :meth:`EnergyNetTransformer.fit`.

        Returns
        -------
        EnergyNetImputer
            The fitted imputer.
        """
        transformer: Any = clone(self._like())
        transformer.set_output(transform="default")
        if self.random_state is not None:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            transformer.set_params(random_state=seed)
        table = read_columns(self, X, reset=True, like=transformer)
        self._n_missing, self._n_rows = np.isnan(table).sum(axis=0), len(table)
        with table_is_read():
            self.transformer_ = transformer.fit(X, sample_weight=sample_weight)
            self._factors = self._learn_factors(X, sample_weight)
        self.factor_weight_ = self._factors.weight if self._factors else 0.0
        self.indicator_ = None
        if self.add_indicator:
            indicator = MissingIndicator(error_on_new=False)
            self.indicator_ = indicator.set_output(transform="default").fit(table)
        return self

    def transform(self, X: TableLike) -> Any:
        """Fill the missing values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples with NaN for missing values.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            The completed samples, of objects if some columns hold categories or times;
            then the indicators. Data frames set by ``set_output`` keep the column types
            of X, if X is a data frame of the same kind.
        """
        check_is_fitted(self)
        table = read_columns(self, X)
        with say_when_long(f"{type(self).__name__}.transform", _TO_FEWER):
            if self.sample_posterior:
                random_state = check_random_state(self.random_state)
                (filled,) = self.transformer_.impute(
                    X, n_draws=1, random_state=random_state
                )
            elif self.strategy == "mean" and self._factors is not None:
                filled = self._blend(self._factors, X)
            else:
                filled = self.transformer_.impute(X, strategy=self.strategy)
        if self.indicator_ is not None:
            missing = self.indicator_.transform(table).astype(table.dtype)
            filled = np.hstack([filled, missing])
        return in_container(filled, self, X, self.get_feature_names_out())

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray:
        """Name the columns of :meth:`transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Column names of X; None for those seen in `fit`.

        Returns
        -------
        ndarray of str
            Column names, then ``"missingindicator_"`` and the name of each indicated
            column.
        """
        check_is_fitted(self)
        names = input_names(self, input_features)
        if self.indicator_ is None:
            return names
        made = self.indicator_.get_feature_names_out(names)
        return np.concatenate([names, unique_names(list(made), list(names))])

    def _learn_factors(
        self, X: TableLike, sample_weight: ArrayLike | None
    ) -> FactorBlend | None:
        """Learn factors of numbers that are more than rows; None of other tables."""
        net: Any = self.transformer_
        table = net._read_table(X).repeat(sample_weight).drop_unknown(2)
        values = table.values.astype(np.float64)
        are_numbers = np.all(net.coding_.kind == THERMOMETER)
        # Each row would lose most of a few cells.
        has_rows = FACTORS.n_folds <= values.shape[0] < values.shape[1]
        if not (are_numbers and has_rows):
            return None
        # The same for rows in any order.
        values = values[order_of(values)]
        other: Any = clone(net)
        other.set_params(random_state=net._seed)
        learn = lambda masked: other.fit(masked).impute(masked)  # noqa: E731
        return FactorBlend.learn(values, learn, net._seed)

    def _blend(self, factors: FactorBlend, X: TableLike) -> Any:
        """Fill missing values with means of the transformer and of factors."""
        net = self.transformer_
        table, coding = net._read_table(X), net.coding_
        values = impute(net.layers_[0], coding, table, "mean", net._seed)
        mixed = factors.blend(table.values.astype(np.float64), values)
        mixed = np.where(np.isnan(table.values), coding.within_range(mixed), values)
        return write_completed(mixed.astype(values.dtype), table, net, X)

    def _list_facts(self) -> list[str]:
        """Missing values by column, and errors where some were held out."""
        names = name_columns(
            getattr(self, "feature_names_in_", None), self.n_features_in_
        )
        n_missing, n_values = int(self._n_missing.sum()), self._n_missing.size
        order = np.argsort(-self._n_missing, kind="stable").tolist()
        incomplete = [j for j in order if self._n_missing[j]]
        shown, others = incomplete[:_MAX_COLUMNS], incomplete[_MAX_COLUMNS:]
        listed = [f"{names[j]} {self._n_missing[j]:,}" for j in shown]
        if others:
            listed.append(f"others {self._n_missing[others].sum():,}")
        fraction = n_missing / (n_values * self._n_rows)
        facts = [
            f"missing values in fit: {n_missing:,} ({fraction:.2%}), in "
            f"{len(incomplete):,} of {n_values:,} columns"
        ]
        if listed:
            rows = f"of {self._n_rows:,} rows"
            facts.append(f"missing by column, {rows}: {', '.join(listed)}")
        if self._factors is not None:
            facts.append(
                f"error of means of held-out values: {self._factors.error:.2g} "
                "standard deviations of their columns; weight of factors "
                f"{self.factor_weight_:.0%}"
            )
        facts.append(
            "uncertainty of single values: the spread of "
            "transformer_.impute(X, n_draws=20)"
        )
        return facts

    def _like(self) -> EnergyNetTransformer:
        if self.transformer is None:
            return EnergyNetTransformer(max_layers=1, whiten=True)
        return self.transformer

    def __sklearn_tags__(self) -> Tags:
        """Describe the inputs that the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self._like().coding != MINMAX
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
