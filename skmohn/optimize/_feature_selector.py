"""MOHNFeatureSelector: the columns with which another estimator scores best."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import LinearConstraint, OptimizeResult
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv, cross_validate
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from skmohn._core._bad_values import name_bad_values, refuse_odd_tables
from skmohn._core._categories import as_table
from skmohn._core._estimator import EstimatorMixin
from skmohn._core._fitting import FitLoop, History, all_or_nothing, warn_caller
from skmohn._core._names import refuse_other_order, validate_data
from skmohn._core._sklearn import (
    N_JOBS,
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
    raise_for_params,
    safe_indexing,
    with_callbacks,
)
from skmohn._core._tables import read_targets
from skmohn._core._text import refuse_text
from skmohn._core._times import validate_columns
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn._core._unreadable import refuse_unreadable
from skmohn._core._validation import read_sets, to_numpy
from skmohn.mohn import MOHNRegressor
from skmohn.optimize._black_box import BlackBoxOptimizer


@dataclass(frozen=True)
class SelectorConstants:
    """How many subsets "auto" evaluates."""

    # Subsets for each column or group, and at least.
    n_subsets_per_column: int = tuned(10, "cost")
    min_subsets: int = tuned(100, "cost")


_SELECTOR = SelectorConstants()


class MOHNFeatureSelector(
    EstimatorMixin,
    CallbackSupportMixin,
    SelectorMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Select the columns with which an estimator scores best in cross-validation.

    It scores whole subsets, so it finds columns that are useful only together, and
    columns that replace each other. A :class:`~skmohn.optimize.BlackBoxOptimizer`
    chooses the subsets, and its model of the score shows how columns interact.

    Parameters
    ----------
    estimator : estimator
        Not fitted. It is cloned for each fit.
    n_evaluations : int or "auto", default="auto"
        Maximum number of subsets to score. "auto" means 10 per column or group of
        `feature_groups`, at least 100.
    n_features_to_select : int, default=None
        Number of columns to select. None means as many as give the best score.
    feature_groups : dict of str to list of int or str, default=None
        Columns that are selected together or not at all, by index or name, such as the
        dummy columns of a categorical one: ``{"city": ["city_a", "city_b"]}``. Other
        columns are selected individually.
    scoring : str or callable, default=None
        What to maximize, one of :func:`sklearn.metrics.get_scorer_names` or a scorer.
        None for the `score` of the estimator.
    cv : int, cross-validation generator or iterable, default=5
        Folds, the same for all subsets.
    random_state : int, RandomState instance or None, default=None
        Seed of the search. The same seed gives the same subsets for every `n_jobs`, if
        the estimator has a seed as well.
    n_jobs : int, default=None
        Folds to score at the same time, with joblib.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        Whether a column is selected. Among subsets with equal scores, the one with the
        fewest columns is selected.
    n_features_to_select_ : int
        Number of selected columns.
    best_score_ : float
        Mean score of the selected columns over the folds. As the best of many, it is
        optimistic: score a pipeline that contains the selector on other rows.
    scores_ : History
        A dict for each subset, in the order of scoring: ``"features"``, its columns and
        groups; ``"n_features"``; ``"mean_score"`` and ``"std_score"``, over the folds;
        ``"best_score"``, the best mean so far; ``"source"``, which proposed it.
        ``scores_.to_frame()`` returns a data frame.
    model_ : MOHNRegressor or None
        Fitted to the scores: inputs are columns and groups, 1 if selected and 0 if not.
        None if fewer than two subsets have a score.
    optimal_ : bool
        Whether it is proved that no subset is better: all were scored, and the best
        eight had the same score twice, or a sparse model of the score is exact and its
        optimum is proved; see :meth:`BlackBoxOptimizer.result`.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    See Also
    --------
    sklearn.feature_selection.SequentialFeatureSelector : Adds or drops one at a time.
    sklearn.feature_selection.RFECV : Drops the least important ones; needs
        importances.
    MOHNTransformer : Adds products of columns.

    Notes
    -----
    The empty subset is not scored. A subset whose score is not finite is not selected.
    Tables with text are passed to the estimator, and by `transform`, as they are.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skmohn import MOHNFeatureSelector
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> selector = MOHNFeatureSelector(GaussianNB(), n_evaluations=30, random_state=0)
    >>> selector.fit(X, y).best_score_ > 0.98
    True
    >>> len(selector.scores_)
    30
    """

    support_: np.ndarray
    n_features_to_select_: int
    best_score_: float
    scores_: History
    model_: MOHNRegressor | None
    optimal_: bool
    _has_text: bool  # columns are passed as they are
    n_features_in_: int
    feature_names_in_: np.ndarray

    _parameter_constraints = {
        "estimator": [HasMethods(["fit"])],
        "n_evaluations": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "feature_groups": [dict, None],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
        "n_jobs": [*N_JOBS],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        n_evaluations: int | str = "auto",
        n_features_to_select: int | None = None,
        feature_groups: Mapping[str, Any] | None = None,
        scoring: str | Callable | None = None,
        cv: Any = 5,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_evaluations = n_evaluations
        self.n_features_to_select = n_features_to_select
        self.feature_groups = feature_groups
        self.scoring = scoring
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=False)
    @with_callbacks
    def fit(self, X: TableLike, y: ArrayLike | None = None, **params: Any) -> Self:
        """Search for the best columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets, if the estimator needs them.
        **params : dict
            ``groups``, the groups of samples for `cv`. With metadata routing, what the
            estimator, the scorer and `cv` request.

        Returns
        -------
        estimator
            The fitted selector.

        Raises
        ------
        ValueError
            For invalid input, if columns hold text that the estimator cannot read, if
            no subset has `n_features_to_select` columns, or if no subset has a finite
            score.

        Warns
        -----
        FitFailedWarning
            If fits failed for some subsets, which are left out.
        """
        raise_for_params(params, self, allow=["groups"])
        X, y = self._read(X, y)
        members = self._read_groups()
        score = self._make_scorer(X, y, params)
        optimizer = self._make_optimizer(members)
        attributes = partial(self._fitted_attributes, members)
        loop = FitLoop(self, X, y, params, self._budget(members), attributes)
        result = self._search(optimizer, members, score, loop)
        self._expose(members, result, loop.history)
        return self

    def _read(self, X: TableLike, y: ArrayLike | None) -> tuple[Any, Any]:
        allow_nan = get_tags(self).input_tags.allow_nan
        options = {
            "accept_sparse": "csc",
            "ensure_all_finite": "allow-nan" if allow_nan else True,
        }
        X, y, self._has_text = as_table(to_numpy(X)), to_numpy(y), False
        try:
            _refuse_text(X)
        except ValueError:  # the estimator may read it
            self._has_text = True
        refuse_unreadable(X)
        refuse_odd_tables(X)
        numeric = is_regressor(self.estimator)
        if y is not None and (numeric or self._has_text):
            y = read_targets(y, several=True, numeric=numeric)
        if self._has_text:
            validate_data(self, X, skip_check_array=True)
            return X, y
        if y is None:
            with name_bad_values(X):
                return validate_data(self, X, y, **options), None
        reader: Any = self
        return validate_columns(reader, X, y, multi_output=True, **options)

    def _read_groups(self) -> dict[str, NDArray[np.integer]]:
        """Indices of the columns of each candidate: a single column or a group."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{i}" for i in range(self.n_features_in_)]
        index = {name: i for i, name in enumerate(names)}
        groups = self.feature_groups or {}
        found, grouped = {}, []
        read = read_sets(groups.values(), "feature_groups")
        for name, columns in zip(groups, read, strict=True):
            found[name] = np.array([self._index_of(c, index) for c in columns], int)
            grouped.extend(found[name])
            if not columns:
                raise ValueError(f"feature_groups has no column for {name!r}")
        if len(set(grouped)) < len(grouped):
            (twice, _), *_ = Counter(grouped).most_common(1)
            raise ValueError(f"feature_groups has the column {names[twice]!r} twice")
        single = set(index.values()).difference(grouped)
        alone = {name: np.array([i]) for name, i in index.items() if i in single}
        for name in found:
            if not isinstance(name, str) or name in alone:
                raise ValueError(
                    f"feature_groups has a group named {name!r}: names must be "
                    "strings, and not those of columns without a group"
                )
        return {**found, **alone}

    def _index_of(self, column: int | str, index: Mapping[str, int]) -> int:
        """Index of a column given by name or index."""
        if isinstance(column, str):
            if column in index:
                return index[column]
        elif 0 <= column < self.n_features_in_:
            return column
        raise ValueError(
            f"feature_groups has {column!r}, which is not a column of X: use names, if "
            f"X has them, or indices from 0 to {self.n_features_in_ - 1}"
        )

    def _make_optimizer(
        self, members: dict[str, NDArray[np.integer]]
    ) -> BlackBoxOptimizer:
        """Search for subsets of as many columns as are wanted."""
        sizes = np.array([len(columns) for columns in members.values()])
        wanted = self.n_features_to_select
        if wanted is not None and not _is_sum(wanted, sizes):
            raise ValueError(
                f"n_features_to_select={wanted}, but no subset has as many of the "
                f"{self.n_features_in_} columns"
                + (", given feature_groups" if self.feature_groups else "")
            )
        low, high = (1, np.inf) if wanted is None else (wanted, wanted)
        return BlackBoxOptimizer(
            {name: [0, 1] for name in members},
            maximize=True,
            constraints=LinearConstraint(sizes[None, :], low, high),
            random_state=self.random_state,
        )

    def _budget(self, members: dict[str, NDArray[np.integer]]) -> int:
        if not isinstance(self.n_evaluations, str):
            return self.n_evaluations
        return max(_SELECTOR.n_subsets_per_column * len(members), _SELECTOR.min_subsets)

    def _make_scorer(
        self, X: Any, y: Any, params: Mapping[str, Any]
    ) -> Callable[[NDArray[np.integer]], NDArray[np.float64]]:
        """Function that scores the estimator on some columns, fold by fold."""
        check_scoring(self.estimator, self.scoring)
        splitter: Any = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        if get_config()["enable_metadata_routing"]:
            routed: Any = process_routing(self, "fit", **params)
            of_splitter = routed.splitter.split
            used = self._scored_routing().consumes("fit", params)
        else:
            of_splitter, used = params, ()
        # Drawn once: scores of subsets differ by their columns alone.
        folds = list(splitter.split(X, y, **of_splitter))
        options = {
            "cv": folds,
            "scoring": self.scoring,
            "n_jobs": self.n_jobs,
            "params": {name: params[name] for name in used},
            "error_score": "raise",
        }

        def score(columns: NDArray[np.integer]) -> NDArray[np.float64]:
            found = cross_validate(
                self.estimator, safe_indexing(X, columns, axis=1), y, **options
            )
            return found["test_score"]

        if self._has_text:
            try:
                score(np.arange(self.n_features_in_))
            except Exception:  # of any estimator
                _refuse_text(X)
        return score

    def _search(
        self,
        optimizer: BlackBoxOptimizer,
        members: dict[str, NDArray[np.integer]],
        score: Callable[[NDArray[np.integer]], NDArray[np.float64]],
        loop: FitLoop,
    ) -> OptimizeResult:
        """Score subsets until none can be better, or the budget is spent."""
        deviations, errors = [], list[Exception]()

        def value_of(point: dict[str, int]) -> float:
            try:
                scores = score(_columns_of(point, members))
            except Exception as error:  # of any estimator
                errors.append(error)
                scores = np.array([np.nan])
            if not np.isfinite(scores).all():
                scores = np.array([np.nan])
            deviations.append(float(np.std(scores)))
            return float(np.mean(scores))

        def report(intermediate_result: OptimizeResult) -> None:
            last = optimizer.history_[-1]
            point = last["point"]
            record = {
                "features": tuple(name for name, is_in in point.items() if is_in),
                "n_features": len(_columns_of(point, members)),
                "mean_score": last["value"],
                "std_score": deviations[-1],
                "best_score": last["best"],
                "source": last["source"],
            }
            if loop.step(record, intermediate_result):
                raise StopIteration

        try:
            result = optimizer.run(value_of, self._budget(members), callback=report)
        except ValueError:
            values = [record["value"] for record in optimizer.history_]
            if not values or not np.isnan(values).all():
                raise
            why = "scoring gives no finite numbers"
            if errors:
                why = f"fits failed, the first with {errors[0]!r}"
            raise ValueError(
                f"none of {len(deviations)} subsets has a value: {why}"
            ) from next(iter(errors), None)
        if errors:
            warn_caller(
                f"{len(errors)} of {len(deviations)} subsets are left out because "
                f"their fits failed, the first with {errors[0]!r}",
                FitFailedWarning,
            )
        loop.finish(result)
        return result

    def _fitted_attributes(
        self, members: dict[str, NDArray[np.integer]], result: OptimizeResult
    ) -> dict[str, Any]:
        """Attributes that follow from the best subset."""
        support = np.zeros(self.n_features_in_, dtype=bool)
        support[_columns_of(result.x, members)] = True
        return {
            "support_": support,
            "n_features_to_select_": int(support.sum()),
            "best_score_": result.fun,
        }

    def _expose(
        self,
        members: dict[str, NDArray[np.integer]],
        result: OptimizeResult,
        history: History,
    ) -> None:
        """Set the fitted attributes."""
        level = [result.x, *_points_with_mean(result.history, result.fun)]
        # Of subsets that score the same, the smallest.
        result.x = min(level, key=lambda p: len(_columns_of(p, members)))
        vars(self).update(self._fitted_attributes(members, result))
        self.scores_ = history
        self.model_ = result.model
        self.optimal_ = result.optimal

    def transform(self, X: TableLike) -> Any:
        """Reduce X to the selected columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray, sparse matrix or data frame of shape (n_samples, n_selected_features)
            The selected columns; of a table with text as they are, a data frame of a
            data frame.
        """
        check_is_fitted(self)
        if not self._has_text:
            refuse_other_order(self, X)
            return super().transform(X)
        X = as_table(to_numpy(X))
        validate_data(self, X, reset=False, skip_check_array=True)
        return safe_indexing(X, self.get_support(indices=True), axis=1)

    def _get_support_mask(self) -> NDArray[np.bool_]:  # pyright: ignore[reportIncompatibleMethodOverride]
        check_is_fitted(self)
        return self.support_

    def _scored_routing(self) -> MetadataRouter:
        """Metadata requests of the methods that are called for each subset."""
        router = MetadataRouter(owner=self)
        router.add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )
        return router.add(
            scorer=check_scoring(self.estimator, self.scoring),
            method_mapping=MethodMapping().add(caller="fit", callee="score"),
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata that the estimator, the scorer and `cv` request.

        Returns
        -------
        MetadataRouter
            As for scikit-learn's meta-estimators.
        """
        return self._scored_routing().add(
            splitter=check_cv(self.cv, classifier=is_classifier(self.estimator)),
            method_mapping=MethodMapping().add(caller="fit", callee="split"),
        )

    def __sklearn_tags__(self) -> Tags:
        """Take what the estimator takes."""
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self.estimator)
        tags.input_tags.allow_nan = of_estimator.input_tags.allow_nan
        tags.input_tags.sparse = of_estimator.input_tags.sparse
        tags.target_tags = of_estimator.target_tags
        return tags


def _refuse_text(X: TableLike) -> None:
    """Refuse columns of text."""
    refuse_text(X, (), ", but numbers are needed: OneHotEncoder converts {it}")


def _points_with_mean(
    history: Sequence[Mapping[str, Any]], value: float
) -> list[Mapping[str, int]]:
    """Points whose evaluations have a mean value."""
    values: dict[tuple[Any, ...], list[float]] = {}
    for record in history:
        values.setdefault(tuple(record["point"].items()), []).append(record["value"])
    return [
        dict(point)
        for point, found in values.items()
        if math.isclose(np.mean(found), value, rel_tol=1e-12)
    ]


def _columns_of(
    point: Mapping[str, int], members: dict[str, NDArray[np.integer]]
) -> NDArray[np.integer]:
    """Indices of the selected columns, in their order."""
    chosen = [columns for name, columns in members.items() if point[name]]
    return np.sort(np.concatenate(chosen))


def _is_sum(total: int, sizes: NDArray[np.integer]) -> bool:
    """Whether some of the sizes add up to a total."""
    sums = {0}
    for size in sizes:
        sums |= {before + size for before in sums}
    return total in sums
