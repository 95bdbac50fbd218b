"""What a comparison of estimators found: scores, tests, tables and sentences."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from itertools import combinations
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._estimator import format_summary
from skmohn._core._fitting import History
from skmohn._core._optional import import_optional
from skmohn._core._sklearn import Interval, validate_parameter_constraints
from skmohn._core._types import TableLike
from skmohn._core._units import refuse_huge
from skmohn._core._validation import read_names, read_vector, to_numpy
from skmohn.model_selection._pair_tests import (
    PairTest,
    corrected_t,
    friedman,
    nemenyi,
    rounding_unit,
    signed_rank,
)

CONSTRAINTS: dict[str, list[Any]] = {
    "rope": [Interval(Real, 0, None, closed="left")],
    "confidence_level": [Interval(Real, 0, 1, closed="neither")],
}


class DataSetScores(NamedTuple):
    """Scores of all estimators on the same splits of one data set."""

    scores: NDArray[np.float64]  # (n_splits, n_estimators)
    test_ratio: float  # test rows by training rows
    fit_seconds: NDArray[np.float64]  # (n_estimators,), of one fit
    score_seconds: NDArray[np.float64]
    calibration_errors: NDArray[np.float64]


class Comparison:
    """Comparison of estimators by scores on the same data.

    The result of :func:`~skmohn.model_selection.compare_estimators`,
    :func:`~skmohn.model_selection.compare_on` or :meth:`from_scores`. ``print`` shows
    it in sentences.

    Parameters
    ----------
    names : sequence of str
        Names of the estimators.
    results : dict of str to DataSetScores
        Scores by data set.
    rope : float
        Region of practical equivalence: differences in score of at most this size.
    confidence_level : float
        Confidence of intervals; tests are at one minus this level.
    seed : int
        Seed of the draws of the Bayesian signed-rank test.

    Attributes
    ----------
    names : list of str
        Names of the estimators.
    datasets : list of str
        Names of the data sets.
    rope, confidence_level : float
        The parameters.
    best : str
        The estimator with the highest mean score; over several data sets, with the
        lowest mean rank.
    scores : ndarray of shape (n_datasets, n_estimators)
        Mean scores.
    split_scores : dict of str to ndarray of shape (n_splits, n_estimators)
        Scores of each split, by data set.
    pairs : History
        A record for each pair of estimators, with the columns of :meth:`to_frame`;
        ``pairs.to_frame()`` returns a DataFrame.
    mean_ranks : ndarray of shape (n_estimators,)
        Mean ranks over the data sets, 1 for the best.
    friedman_statistic, friedman_p_value : float
        Friedman's test of all estimators being equally good over the data sets. NaN
        for a single one.
    critical_difference : float
        Mean ranks that differ by more are different by Nemenyi's test. NaN for a
        single data set.

    See Also
    --------
    compare_estimators : Compare on one data set.
    compare_on : Compare on several data sets.
    skmohn.inspection.DifferencesDisplay : Differences with intervals.
    skmohn.inspection.CriticalDifferenceDisplay : Mean ranks of several data sets.

    Examples
    --------
    >>> from skmohn.model_selection import Comparison
    >>> comparison = Comparison.from_scores(
    ...     {"A": [0.9, 0.8, 0.7, 0.9, 0.8, 0.6], "B": [0.8, 0.7, 0.5, 0.7, 0.6, 0.3]}
    ... )
    >>> print(comparison)
    A has the lowest mean rank over 6 data sets, 1.
    A scores higher than B: by 0.2, 95% interval 0.1 to 0.3, p = 0.031.
    """

    def __init__(
        self,
        names: Sequence[str],
        results: Mapping[str, DataSetScores],
        rope: float,
        confidence_level: float,
        seed: int,
    ) -> None:
        self.names = list(names)
        self.datasets = list(results)
        self.rope, self.confidence_level = rope, confidence_level
        self._results, self._seed = dict(results), seed
        self.scores = np.stack([each.scores.mean(axis=0) for each in results.values()])
        self.mean_ranks, statistic, p_value = friedman(self.scores)
        self._nemenyi_p, self.critical_difference = nemenyi(
            self.mean_ranks, len(self.datasets), confidence_level
        )
        if not self._is_over_datasets:
            statistic = p_value = self.critical_difference = np.nan
        self.friedman_statistic, self.friedman_p_value = statistic, p_value
        means = self.scores.mean(axis=0)
        # By rank, then by score, which differ in order over several data sets.
        ranks = self.mean_ranks if self._is_over_datasets else np.zeros(len(means))
        self._order = np.lexsort((-means, ranks)).tolist()

    @classmethod
    def from_scores(
        cls,
        scores: Mapping[str, ArrayLike] | TableLike,
        *,
        datasets: Sequence[str] | None = None,
        rope: float = 0.01,
        confidence_level: float = 0.95,
        random_state: int = 0,
    ) -> Self:
        """Compare estimators by known scores on several data sets.

        Parameters
        ----------
        scores : dict of str to array-like of shape (n_datasets,), or DataFrame
            Scores of each estimator by data set, the higher the better.
        datasets : sequence of str, default=None
            Names of the data sets. None means numbers from 0.
        rope : float, default=0.01
            Region of practical equivalence.
        confidence_level : float, default=0.95
            Confidence of intervals.
        random_state : int, default=0
            Seed of the draws of the Bayesian signed-rank test.

        Returns
        -------
        Comparison
            The comparison.
        """
        given = {"rope": rope, "confidence_level": confidence_level}
        validate_parameter_constraints(CONSTRAINTS, given, caller_name="from_scores")
        table: Any = scores if isinstance(scores, Mapping) else to_numpy(scores)
        # Data frames of polars have values to go through, not names.
        columns: Any = {name: table[name] for name in getattr(table, "columns", table)}
        names = require_two(read_names(columns, "names of scores"), "scores")
        read = [read_vector(column, f"scores of {n}") for n, column in columns.items()]
        if len({len(column) for column in read}) > 1 or len(read[0]) < 2:
            lengths = ", ".join(str(len(column)) for column in read)
            raise ValueError(
                "scores must have a number of each estimator for each of the same data "
                f"sets, of which there are at least two, got {lengths} numbers"
            )
        for name, column in zip(names, read, strict=True):
            refuse_huge(column, f"scores of {name!r}")
        n_datasets = len(read[0])
        labels = [str(k) for k in range(n_datasets)] if datasets is None else datasets
        labels = read_names(labels, "datasets")
        if len(set(labels)) != n_datasets:
            raise ValueError(
                f"datasets must be {n_datasets} different names, one for each row of "
                f"scores, got {labels}"
            )
        unknown = np.full(len(names), np.nan)
        results = {
            label: DataSetScores(row[None, :], np.nan, unknown, unknown, unknown)
            for label, row in zip(labels, np.stack(read, axis=1), strict=True)
        }
        return cls(names, results, rope, confidence_level, random_state)

    @property
    def _is_over_datasets(self) -> bool:
        return len(self.datasets) > 1

    @property
    def best(self) -> str:
        """Name of the best estimator."""
        return self.names[self._order[0]]

    @property
    def split_scores(self) -> dict[str, NDArray[np.float64]]:
        """Scores of each split, by data set."""
        return {name: each.scores for name, each in self._results.items()}

    def select_dataset(self, dataset: str) -> "Comparison":
        """Select the comparison on one of the data sets.

        Parameters
        ----------
        dataset : str
            Its name.

        Returns
        -------
        Comparison
            Comparison on the splits of this data set.
        """
        if dataset not in self._results:
            raise ValueError(f"dataset must be one of {self.datasets}, got {dataset!r}")
        result = self._results[dataset]
        if len(result.scores) < 2:
            raise ValueError(
                f"dataset {dataset!r} has only one score for each estimator, from "
                "which nothing can be inferred about this data set: use "
                "compare_estimators, which scores splits"
            )
        level = self.confidence_level
        return Comparison(self.names, {dataset: result}, self.rope, level, self._seed)

    @cached_property
    def _tests(self) -> dict[tuple[int, int], PairTest]:
        """Tests of all pairs, the better of each first; p-values are adjusted."""
        # Bonferroni over all pairs, since the data choose which one is the best; the
        # intervals are wider by the same rule, and so agree with the p-values.
        n_pairs = len(self.names) * (len(self.names) - 1) // 2
        level = 1.0 - (1.0 - self.confidence_level) / n_pairs
        found, unit = {}, rounding_unit(self.scores)
        for i, j in combinations(self._order, 2):
            if self._is_over_datasets:
                differences = self.scores[:, i] - self.scores[:, j]
                differences[np.abs(differences) <= unit] = 0.0
                test = signed_rank(differences, level, self.rope, self._seed)
            else:
                (result,) = self._results.values()
                differences = result.scores[:, i] - result.scores[:, j]
                test = corrected_t(differences, result.test_ratio, level, self.rope)
            found[i, j] = test._replace(p_value=min(n_pairs * test.p_value, 1.0))
        return found

    @cached_property
    def pairs(self) -> History:
        """A record for each pair of estimators."""
        return History(
            {
                "first": self.names[i],
                "second": self.names[j],
                **self._describe(i, j, self._tests[i, j]),
            }
            for i, j in self._tests
        )

    def _describe(self, i: int, j: int, test: PairTest | None) -> dict[str, Any]:
        """Columns of the difference of two estimators, those without a test NaN."""
        means = self.scores.mean(axis=0)
        found: dict[str, Any] = {"mean_difference": float(means[i] - means[j])}
        values = test or PairTest(*[np.nan] * 7)
        if self._is_over_datasets:
            found["median_difference"] = values.location if test else 0.0
        found |= {
            "ci_low": values.low,
            "ci_high": values.high,
            "p_value": values.p_value,
        }
        if self._is_over_datasets:
            found["nemenyi_p_value"] = float(self._nemenyi_p[i, j]) if test else np.nan
        probabilities = values.prob_worse, values.prob_equivalent, values.prob_better
        titles = "prob_worse", "prob_equivalent", "prob_better"
        return found | dict(zip(titles, probabilities, strict=True))

    def records(self) -> History:
        """List a record for each estimator, the best first.

        Returns
        -------
        History
            Dictionaries with the columns of :meth:`to_frame`, without pandas.
        """
        best, *_ = self._order
        results = self._results.values()
        columns = {
            title: np.mean([getattr(each, field) for each in results], axis=0)
            for title, field in (
                ("calibration_error", "calibration_errors"),
                ("fit_seconds", "fit_seconds"),
                ("score_seconds", "score_seconds"),
            )
        }
        records = History()
        for i in self._order:
            record = {"estimator": self.names[i]}
            record["mean_score"] = float(self.scores[:, i].mean())
            if self._is_over_datasets:
                record["mean_rank"] = float(self.mean_ranks[i])
            test = None if i == best else _reverse(self._tests[best, i])
            record |= self._describe(i, best, test)
            record |= {title: float(column[i]) for title, column in columns.items()}
            records.append(record)
        return records

    def to_frame(self) -> Any:
        """Make a table with a row for each estimator, the best first.

        Differences are from the best one: negative if an estimator is worse.

        Returns
        -------
        DataFrame
            Indexed by estimator: ``mean_score``; ``mean_difference`` from the best,
            with an interval from ``ci_low`` to ``ci_high`` and ``p_value``;
            probabilities ``prob_worse``, ``prob_equivalent`` and ``prob_better`` of the
            difference being below, in, or above the region of practical equivalence;
            ``calibration_error`` (NaN if an estimator predicts neither probabilities
            nor standard deviations); ``fit_seconds`` of one fit and ``score_seconds``
            of one scoring. Intervals and p-values are adjusted for all pairs of
            estimators (Bonferroni), since the best is chosen on the same data.

            Over several data sets there are also ``mean_rank``; ``median_difference``,
            the Hodges-Lehmann estimate, to which the interval belongs; and
            ``nemenyi_p_value``.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        pandas = import_optional("pandas", "to_frame")
        return pandas.DataFrame(list(self.records())).set_index("estimator")

    def sentences(self) -> list[str]:
        """Describe the result in sentences.

        Returns
        -------
        list of str
            The best estimator, and one sentence for each pair of estimators.
        """
        found = [
            self._describe_best(),
            *(self._describe_pair(i, j) for i, j in self._tests),
        ]
        needed = self._min_datasets()
        if needed > len(self.datasets):
            found.append(
                f"With {len(self.datasets)} data sets no difference can be "
                f"significant: {needed} are needed."
            )
        return found

    def _describe_best(self) -> str:
        best = self._order[0]
        if self._is_over_datasets:
            return (
                f"{self.best} has the lowest mean rank over {len(self.datasets)} data "
                f"sets, {self.mean_ranks[best]:.3g}."
            )
        mean = self.scores[0, best]
        return f"{self.best} has the highest mean score, {mean:.3g}."

    def _min_datasets(self) -> int:
        """Data sets from which on a signed-rank test can be significant; 0 for one."""
        # All signs are equal with probability two to the power of minus n, twice.
        alpha = (1.0 - self.confidence_level) / len(self._tests)
        needed = int(np.ceil(1.0 - np.log2(alpha * (1.0 + 1e-12))))
        return needed if self._is_over_datasets else 0

    def _describe_pair(self, i: int, j: int) -> str:
        test, (first, second) = self._tests[i, j], (self.names[i], self.names[j])
        is_significant = test.p_value <= 1.0 - self.confidence_level
        if is_significant:
            # Over data sets the one with the lower mean rank may lose to the other.
            if test.location < 0.0:
                first, second, test = second, first, _reverse(test)
            text = f"{first} scores higher than {second}: by {test.location:.2g}"
        else:
            text = (
                f"{first} and {second} cannot be told apart by these data: difference "
                f"{test.location:.2g}"
            )
        p = f"p = {test.p_value:.2g}" if test.p_value >= 1e-4 else "p < 0.0001"
        text += (
            f", {100.0 * self.confidence_level:.3g}% interval {test.low:.2g} to "
            f"{test.high:.2g}, {p}."
        )
        if test.prob_equivalent > self.confidence_level:
            text += (
                f" They are practically equivalent: the difference is at most "
                f"{self.rope:.2g} with probability {test.prob_equivalent:.2g}."
            )
        return text

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def _repr_html_(self) -> str:
        titles = ["mean score"] + ["mean rank"] * self._is_over_datasets
        means = self.scores.mean(axis=0)
        rows = [
            [self.names[i], f"{means[i]:.4g}"]
            + [f"{self.mean_ranks[i]:.3g}"] * self._is_over_datasets
            for i in self._order
        ]
        facts = [self._describe_best()]
        # Draws of many pairs over data sets take seconds.
        if not self._is_over_datasets or "_tests" in vars(self):
            best, *others = self._order
            facts += [self._describe_pair(best, j) for j in others]
        else:
            facts.append("differences with intervals and p-values: print or to_frame()")
        heads = "".join(f"<th>{title}</th>" for title in ["estimator", *titles])
        cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
        lines = "".join(f"<tr>{line}</tr>" for line in cells)
        table = f"<table><tr>{heads}</tr>{lines}</table>"
        return format_summary(facts, self._describe_size(), table)

    def _describe_size(self) -> str:
        return (
            f"{len(self.names)} estimators on {len(self.datasets)} data "
            f"set{'s' * self._is_over_datasets}"
        )

    def __repr__(self) -> str:
        return (
            f"<Comparison of {', '.join(self.names)} on {len(self.datasets)} data "
            f"set{'s' * self._is_over_datasets}>"
        )


def _reverse(test: PairTest) -> PairTest:
    """The same test with the estimators exchanged."""
    return PairTest(
        *(-test.location, -test.high, -test.low, test.p_value),
        *(test.prob_better, test.prob_equivalent, test.prob_worse),
    )


def require_two(names: list[str], name: str) -> list[str]:
    """Refuse fewer than two estimators."""
    if len(names) < 2:
        raise ValueError(
            f"{name} must have at least two estimators to compare, got {names}; "
            "cross_val_score scores a single one"
        )
    return names
