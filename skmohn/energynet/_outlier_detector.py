"""EnergyNetOutlierDetector: a trimmed density, and distances to neighbors."""

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils import Tags, check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skmohn._core._categories import Categories, as_table
from skmohn._core._estimator import EstimatorMixin
from skmohn._core._fitting import all_or_nothing, table_is_read
from skmohn._core._long import say_when_long
from skmohn._core._names import name_columns
from skmohn._core._optional import import_optional
from skmohn._core._sklearn import Interval, StrOptions, fit_context, safe_indexing
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn._core._validation import densify, to_numpy
from skmohn.energynet._anomaly_scores import (
    ANOMALY,
    NeighborDistances,
    TailProbabilities,
    alarm_threshold,
    gross_rows,
    trimming_scores,
)
from skmohn.energynet._coding import MINMAX
from skmohn.energynet._conditional import impute
from skmohn.energynet._table import Table, read_columns, unseen_categories
from skmohn.energynet._transformer import EnergyNetTransformer


@dataclass(frozen=True)
class DetectorConstants:
    """Density of rows among which there are anomalies."""

    # Units and penalty of the default transformer: too few, and too strong, to learn a
    # cluster of anomalies.
    n_units: int = tuned(8, "benchmarks/energynet/outliers.py")
    l2: float = tuned(0.1, "benchmarks/energynet/outliers.py")
    # Fits after the first one, without the least ordinary rows by the one before; all
    # but the last leave out more rows.
    n_refits: int = tuned(2, "benchmarks/energynet/outliers.py")
    # Rows by which it is known how likely values are ordinarily.
    n_typical: int = tuned(100, "cost")


_DETECTOR = DetectorConstants()
# Anomalies of `fit` that notebooks show.
_MAX_ANOMALIES: Final = 5


@dataclass(frozen=True, eq=False)
class AnomaliesOfFit:
    """How many rows of a fit are anomalies, and what sets the lowest ones apart."""

    n_rows: int
    n_anomalies: int
    rows: np.ndarray  # (n_shown,), numbers of the lowest ones
    scores: np.ndarray  # (n_shown,)
    columns: np.ndarray  # (n_shown,), those that are the farthest from neighbors
    fractions: np.ndarray  # (n_shown,), of the squared distance, by these columns
    values: np.ndarray  # (n_shown,), of these columns, as users write them


class EnergyNetOutlierDetector(EstimatorMixin, OutlierMixin, BaseEstimator):
    """Anomaly detection in rows of numbers and categories, including those of `fit`.

    An :class:`EnergyNetTransformer` of few units learns the joint density of the
    columns; two more fits leave out the rows that are the least likely under the
    previous one or farthest in the tails of single columns [1]_ (the first leaves out
    all that are either), so that anomalies are not learned. A row is an anomaly if its
    density is low, or its mean distance to the nearest of the remaining rows is large,
    as in [2]_. Both become probabilities of values as extreme, based on the bulk of the
    rows and an exponential tail; the score is the mean of their logarithms, not a log
    density.

    Parameters
    ----------
    transformer : EnergyNetTransformer, default=None
        Learns the density; None means ``EnergyNetTransformer(n_components=8, l2=0.1,
        whiten=True, density="layers", handle_unknown="missing")``, with the default
        `l2` if no column is whitened: relations of categories need larger weights.
    contamination : "auto" or float, default="auto"
        Fraction of the rows of `fit` that `predict` flags, in (0, 0.5]. "auto" sets the
        threshold by `false_alarm_rate` instead.
    false_alarm_rate : float, default=0.01
        With ``contamination="auto"``, about the fraction of clean new rows that are
        flagged as anomalies; with fewer clean rows in `fit` than its reciprocal, one in
        as many as there are. The threshold is the conformal quantile [3]_ of the scores
        of `fit` without gross anomalies: other anomalies make false alarms rarer, and
        heavy tails up to twice as frequent, or more in some tables.
    trimmed_fraction : float, default=0.2
        Fraction of the rows that refits leave out, at most 0.4. If there are more
        anomalies, they may be learned. Use 0 for rows that are known to be clean.
    n_neighbors : int, default=5
        Number of nearest neighbors. Numbers are standardized, and two categories are as
        far apart as numbers on average.
    random_state : int, RandomState instance or None, default=None
        Seed for the transformer; None keeps that of the transformer.

    Attributes
    ----------
    transformer_ : EnergyNetTransformer
        The transformer fitted last.
    support_ : ndarray of shape (n_samples,), bool
        Mask of the rows used in the last fit.
    offset_ : float
        Score below which a row is an anomaly.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    See Also
    --------
    EnergyNetTransformer.score_samples : The density alone, of clean rows.
    sklearn.ensemble.IsolationForest : Faster, by random splits of single columns.

    Notes
    -----
    A row gets the same score in `fit` and later: one row at distance 0 does not count
    as a neighbor. Missing values count as their expectations.

    References
    ----------
    .. [1] Li, Zhao, Hu, Botta, Ionescu and Chen, "ECOD: Unsupervised outlier detection
       using empirical cumulative distribution functions", IEEE TKDE (2022).
    .. [2] Ramaswamy, Rastogi and Shim, "Efficient algorithms for mining outliers from
       large data sets", SIGMOD (2000).
    .. [3] Laxhammar and Falkman, "Conformal prediction for distribution-independent
       anomaly detection in streaming vessel data", StreamKDD (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from skmohn import EnergyNetOutlierDetector
    >>> rng = np.random.default_rng(0)
    >>> height = rng.normal(170, 8, 200)
    >>> people = np.column_stack([height, 0.9 * height - 85 + rng.normal(0, 5, 200)])
    >>> detector = EnergyNetOutlierDetector(random_state=0).fit(people)
    >>> detector.predict([[170, 68], [160, 90]])
    array([ 1, -1])
    """

    transformer_: EnergyNetTransformer
    support_: np.ndarray
    offset_: float
    n_features_in_: int
    feature_names_in_: np.ndarray
    _categories: Categories
    _neighbors: NeighborDistances
    _tails: tuple[TailProbabilities, ...]  # of the density, of distances
    _typical: np.ndarray  # (n_typical, n_features); some rows that were learned from
    _found: AnomaliesOfFit
    _threshold_origin: str  # in a fact
    # An array of shape (n_features,), medians of the log densities of their values
    # given the others; none before they are needed.
    _usual: list[np.ndarray]

    _when_long = EnergyNetTransformer._when_long
    _parameter_constraints = {
        "transformer": [EnergyNetTransformer, None],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "false_alarm_rate": [Interval(Real, 0, 0.5, closed="right")],
        "trimmed_fraction": [Interval(Real, 0, 0.4, closed="both")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        transformer: EnergyNetTransformer | None = None,
        *,
        contamination: float | str = "auto",
        false_alarm_rate: float = 0.01,
        trimmed_fraction: float = 0.2,
        n_neighbors: int = 5,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.transformer = transformer
        self.contamination = contamination
        self.false_alarm_rate = false_alarm_rate
        self.trimmed_fraction = trimmed_fraction
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: object | None = None) -> Self:
        """Learn the density of ordinary rows from rows that may include anomalies.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            At least 2 samples, with NaN for missing values.
        y : None
            Not used.

        Returns
        -------
        EnergyNetOutlierDetector
            The fitted detector.
        """
        transformer: Any = clone(self._like())
        if self.random_state is not None:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            transformer.set_params(random_state=seed)
        values = read_columns(self, X, reset=True, like=transformer)
        # Rows that are left out may be all of a category.
        transformer.set_params(handle_unknown="missing")
        with table_is_read():
            self.transformer_, self.support_ = self._fit_trimmed(transformer, X, values)
            self._learn_scores(X)
        return self

    def score_samples(self, X: TableLike) -> NDArray[np.float64]:
        """Score rows; the lower, the more likely an anomaly.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Mean of two log tail probabilities: of a density as low, and of neighbors as
            distant. At most 0. The score of a sample does not depend on the others.
        """
        table, unseen, _ = self._read(X)
        return self._survival(*self._measure(table, unseen))

    def decision_function(self, X: TableLike) -> NDArray[np.float64]:
        """Score rows relative to the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            :meth:`score_samples` minus ``offset_``: negative for anomalies.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: TableLike) -> NDArray[np.int_]:
        """Find anomalies.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            -1 for anomalies, 1 for others.
        """
        return np.where(self.decision_function(X) < 0.0, -1, 1)

    def explain(self, X: TableLike) -> NDArray[np.float64]:
        """Compute by how much each column lowers the log density of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            In nats: how much lower the log density of the value is, given the others in
            its row, than its median over the training rows. 0 for missing values. If
            values contradict each other, each is unlikely given the others. Distances
            to neighbors are not explained.
        """
        with say_when_long(
            f"{type(self).__name__}.explain", "pass fewer rows at a time"
        ):
            table, unseen, missing = self._read(X)
            if not self._usual:
                typical = replace(table, values=self._typical)
                of_typical = self._log_conditionals(typical, np.isnan(self._typical))
                self._usual.append(np.median(of_typical, axis=0))
            found = self._usual[0] - self._log_conditionals(table, unseen)
        return np.where(missing, 0.0, found)

    def reasons_table(self, X: TableLike, max_reasons: int = 3) -> Any:
        """List the columns that lower the density of each row the most.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, such as those flagged by `predict`.
        max_reasons : int, default=3
            Maximum number of columns for each row.

        Returns
        -------
        DataFrame
            ``row``, from 0; ``column``, by name; ``value``; and ``nats`` from
            :meth:`explain`, if positive, the largest of each row first.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        check_scalar(max_reasons, "max_reasons", Integral, min_val=1)
        pandas = import_optional("pandas", "reasons_table")
        nats = self.explain(X)
        names = name_columns(
            getattr(self, "feature_names_in_", None), self.n_features_in_
        )
        given = np.asarray(_as_rows(X), dtype=object)
        order = np.argsort(-nats, axis=1, kind="stable")[:, :max_reasons]
        records = [
            (i, names[j], given[i, j], nats[i, j])
            for i, columns in enumerate(order.tolist())
            for j in columns
            if nats[i, j] > 0.0
        ]
        return pandas.DataFrame(records, columns=["row", "column", "value", "nats"])

    def __sklearn_tags__(self) -> Tags:
        """Describe the inputs that the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self._like().coding != MINMAX
        return tags

    def _like(self) -> EnergyNetTransformer:
        if self.transformer is None:
            return EnergyNetTransformer(
                n_components=_DETECTOR.n_units,
                l2=_DETECTOR.l2,
                whiten=True,
                density="layers",
                handle_unknown="missing",
            )
        return self.transformer

    def _fit_trimmed(
        self, transformer: Any, X: TableLike, values: NDArray
    ) -> tuple[EnergyNetTransformer, NDArray[np.bool_]]:
        """Fit to all rows, then without the least ordinary; mask of the rows left."""
        net: Any = clone(transformer)
        net.fit(X)
        if self.transformer is None and net.coding_.whitening is None:
            # A relation of numbers is that of many units with small weights each. One
            # of categories or flags takes large weights, which the penalty forbids.
            transformer.set_params(l2="auto")
            net = clone(transformer)
            net.fit(X)
        support = np.ones(len(values), bool)
        rows, n_refits = _as_rows(X), _DETECTOR.n_refits
        for k in range(n_refits if self.trimmed_fraction else 0):
            table, unseen, _ = _complete(net, X)
            # Ranks of rows, and of their values, that are equal but for rounding.
            table = table.round()
            density = net._score_table(table, unseen)
            scores = trimming_scores(density, table.values, net.coding_)
            kept = self._rows_to_keep(scores, is_last=k == n_refits - 1)
            if np.array_equal(kept, support) or not _can_be_learned(values[kept]):
                continue
            net, support = clone(transformer), kept
            net.fit(safe_indexing(rows, np.flatnonzero(kept)))
        return net, support

    def _rows_to_keep(
        self, scores: NDArray[np.float64], *, is_last: bool
    ) -> NDArray[np.bool_]:
        """Mask of the rows of a refit, by their scores of densities and of tails."""
        # Rows of equal scores stay together, in any order.
        fraction, n_rows = self.trimmed_fraction, scores.shape[1]
        if is_last:
            n_kept = max(n_rows - int(fraction * n_rows), 2)
            means = scores.mean(axis=0)
            return means >= np.sort(means)[-n_kept]
        # A dense cluster that has been learned has high densities, whose mean with its
        # tails is not low. So first what is low by either is left out, up to half.
        lowest = scores.min(axis=0)
        return lowest >= min(ndtri(fraction), np.median(lowest))

    def _learn_scores(self, X: TableLike) -> None:
        """Learn distances, tails of scores, and the threshold."""
        net: Any = self.transformer_
        table, unseen, _ = _complete(net, X)
        # Rows that are equal but for rounding have one score.
        table = table.round()
        self._neighbors = NeighborDistances.learn(
            table.values, self.support_, net.coding_, self.n_neighbors, net._seed
        )
        chosen = np.flatnonzero(self.support_)
        every = -(-len(chosen) // _DETECTOR.n_typical)
        self._typical, self._usual = table.values[chosen[::every]], []
        measured = self._measure(table, unseen)
        fraction = max(self.trimmed_fraction, ANOMALY.tail_fraction)
        density, distance = (TailProbabilities.learn(m, fraction) for m in measured)
        # Trimmed rows are beyond the kept ones, not among them. With few columns and
        # many rows clean ones are much farther than the bulk foretells.
        is_gross = gross_rows(density.log_survival(measured[0]))
        self._tails = density, distance.reach(measured[1][~is_gross])
        scores = self._survival(*measured)
        if isinstance(self.contamination, str):
            self.offset_ = alarm_threshold(scores, self.false_alarm_rate)
            rate = f"{self.false_alarm_rate:.2%}"
            self._threshold_origin = f"about {rate} of clean new rows are below"
        else:
            self.offset_ = float(np.quantile(scores, self.contamination))
            self._threshold_origin = f"contamination={self.contamination:.2g} set it"
        self._found = self._list_anomalies(table, scores)

    def _list_anomalies(
        self, table: Table, scores: NDArray[np.float64]
    ) -> AnomaliesOfFit:
        """List the anomalies of the fit, the lowest ones with a reason."""
        n_anomalies = int(np.sum(scores < self.offset_))
        n_shown = min(n_anomalies, _MAX_ANOMALIES)
        rows = np.argsort(scores, kind="stable")[:n_shown]
        fractions = self._neighbors.split(table.values[rows])
        columns = fractions.argmax(axis=1)
        each = np.arange(n_shown)
        values = self._categories.decode(table.values[rows].astype(np.float64))
        return AnomaliesOfFit(
            n_rows=len(scores),
            n_anomalies=n_anomalies,
            rows=rows,
            scores=scores[rows],
            columns=columns,
            fractions=fractions[each, columns],
            values=values[each, columns],
        )

    def _list_facts(self) -> list[str]:
        """Anomalies among the rows of `fit`, the threshold, and reasons."""
        found = self._found
        names = name_columns(
            getattr(self, "feature_names_in_", None), self.n_features_in_
        )
        fraction = found.n_anomalies / found.n_rows
        facts = [
            f"anomalies: {found.n_anomalies:,} of the {found.n_rows:,} rows of fit "
            f"({fraction:.2%})",
            f"threshold of the score: {self.offset_:.4g}; {self._threshold_origin}",
        ]
        n_shown = len(found.rows)
        if n_shown < found.n_anomalies:
            facts.append(f"the {n_shown} lowest, rows numbered from 0:")
        for row, score, column, part, value in zip(
            found.rows.tolist(),
            found.scores.tolist(),
            found.columns.tolist(),
            found.fractions.tolist(),
            found.values.tolist(),
            strict=True,
        ):
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            facts.append(
                f"row {row}: score {score:.4g}; {names[column]} = {shown} makes up "
                f"{part:.0%} of its squared distance to the nearest rows"
            )
        if found.n_anomalies:
            facts.append("reasons by the density: reasons_table(X)")
        return facts

    def _read(self, X: TableLike) -> tuple[Table, NDArray[np.bool_], NDArray[np.bool_]]:
        """Check rows, and fill unknown values."""
        check_is_fitted(self)
        read_columns(self, X)
        with table_is_read():
            return _complete(self.transformer_, X)

    def _measure(
        self, table: Table, unseen: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Minus log densities of rows, and their distances to neighbors."""
        density = self.transformer_._score_table(table, unseen)
        return -density, self._neighbors.measure(table.values)

    def _survival(self, *measured: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean log tail probability of the measured values."""
        parts = zip(self._tails, measured, strict=True)
        return np.mean([tail.log_survival(values) for tail, values in parts], axis=0)

    def _log_conditionals(
        self, table: Table, unseen: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Log density of each value given the others of its row."""
        score = self.transformer_._score_table
        found, of_all = np.zeros(table.values.shape), score(table, unseen)
        # A column that was constant in fit has no unit, and may have a new category.
        counts = (self.transformer_.coding_.n_units > 0) | unseen.any(axis=0)
        for j in np.flatnonzero(counts).tolist():
            values, others = table.values.copy(), unseen.copy()
            values[:, j], others[:, j] = np.nan, False
            found[:, j] = of_all - score(replace(table, values=values), others)
        return found


def _complete(
    net: EnergyNetTransformer, X: TableLike
) -> tuple[Table, NDArray[np.bool_], NDArray[np.bool_]]:
    """Read rows and fill unknown values; masks of unseen categories and of unknown."""
    # Densities of what is known are not comparable: they are of fewer columns, and in
    # the units of these. Unseen categories stay NaN.
    table = net._read_table(X)
    unseen = unseen_categories(table, X)
    missing = np.isnan(table.values) & ~unseen
    if not missing.any():
        return table, unseen, missing
    values = impute(net.layers_[0], net.coding_, table, "mean", net._seed)
    values = np.where(missing, values, table.values)
    return replace(table, values=values), unseen, missing


def _as_rows(X: TableLike) -> TableLike:
    """Data frames as they are, all else as dense arrays."""
    X = densify(as_table(to_numpy(X)))
    return X if hasattr(X, "columns") else np.asarray(X)


def _can_be_learned(values: NDArray) -> bool:
    """Whether two rows differ, and something is known of each column."""
    known = ~np.isnan(values)
    if known.any(axis=1).sum() < 2 or not known.any(axis=0).all():
        return False
    return bool(np.any(np.nanmin(values, axis=0) < np.nanmax(values, axis=0)))
