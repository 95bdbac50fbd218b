"""Repeated cross-validation of several estimators on the same splits."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
    cross_validate,
)
from sklearn.utils import check_random_state, indexable
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed

from skmohn._core._long import say_when_long
from skmohn._core._sklearn import (
    N_JOBS,
    Interval,
    InvalidParameterError,
    safe_indexing,
    validate_params,
)
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn._core._units import refuse_huge
from skmohn._core._validation import is_integer, read_names
from skmohn.model_selection._comparison import (
    CONSTRAINTS,
    Comparison,
    DataSetScores,
    require_two,
)

# Folds of a cross-validation, and how often it is repeated, unless the user decides.
_N_FOLDS: Final = 5
_N_REPEATS: Final = 10
_Split = tuple[NDArray[np.intp], NDArray[np.intp]]

_CONSTRAINTS: dict[str, list[Any]] = {
    "estimators": [dict],
    "cv": ["cv_object"],
    "n_repeats": [Interval(Integral, 1, None, closed="left"), None],
    "scoring": [str, callable, None],
    "n_jobs": [*N_JOBS],
    "random_state": ["random_state"],
    **CONSTRAINTS,
}


# By |, as Sphinx reads no ** in decorators, and would leave out the page of the source.
@validate_params(
    _CONSTRAINTS
    | {
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "groups": ["array-like", None],
        "params": [dict, None],
    },
    prefer_skip_nested_validation=False,
)
def compare_estimators(
    estimators: Mapping[str, BaseEstimator],
    X: TableLike,
    y: ArrayLike,
    *,
    cv: Any = None,
    n_repeats: int | None = None,
    scoring: Any = None,
    groups: ArrayLike | None = None,
    params: Mapping[str, Any] | None = None,
    rope: float = 0.01,
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Comparison:
    """Compare estimators by repeated cross-validation on the same splits.

    Differences are tested by the corrected resampled t-test ([1]_): scores of splits
    are correlated, since they share training rows, and an ordinary t-test on them finds
    differences where there are none. The Bayesian correlated t-test ([2]_) adds the
    probability that two estimators are practically equivalent. Intervals and p-values
    are adjusted for all pairs of estimators (Bonferroni).

    An estimator that is itself a search, such as
    :class:`~sklearn.model_selection.GridSearchCV`, searches anew on each training set:
    nested cross-validation.

    Parameters
    ----------
    estimators : dict of str to estimator
        Two or more estimators by name. They are cloned.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Targets.
    cv : int, cross-validation generator or iterable, default=None
        An integer is the number of shuffled folds (stratified for classifiers, grouped
        with `groups`) in each of `n_repeats` repetitions. None means 5. Any other value
        makes the splits itself, once.
    n_repeats : int, default=None
        Repetitions of an integer `cv`. None means 10.
    scoring : str or callable, default=None
        Score, the higher the better, as in
        :func:`~sklearn.model_selection.cross_val_score`. None means the `score` of the
        estimators.
    groups : array-like of shape (n_samples,), default=None
        Groups of samples, such as subjects, that no split divides; by default those in
        `params`. Estimators get them if metadata routing is enabled and they request
        them.
    params : dict, default=None
        Arguments of ``fit``, such as ``{"sample_weight": weights}``; with metadata
        routing, also those that the scorer requests.
    rope : float, default=0.01
        Region of practical equivalence: a difference in score of at most this size does
        not matter. The default is for scores such as accuracy and R2.
    confidence_level : float, default=0.95
        Confidence of intervals; tests are at one minus this level.
    n_jobs : int, default=None
        Number of fits in parallel. It does not affect the result.
    random_state : int, RandomState instance or None, default=None
        Seed for the splits, and for every `random_state` of the estimators that is
        None: these differ by split, so that scores vary as they do in practice.

    Returns
    -------
    Comparison
        Scores, tests, tables and sentences.

    See Also
    --------
    compare_on : Compare on several data sets.

    References
    ----------
    .. [1] Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error.
       Machine Learning 52.
    .. [2] Benavoli, A., Corani, G., Demsar, J. and Zaffalon, M. (2017). Time for a
       change: a tutorial for comparing multiple classifiers through Bayesian analysis.
       Journal of Machine Learning Research 18.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skmohn.model_selection import compare_estimators
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = compare_estimators(
    ...     {"bayes": GaussianNB(), "dummy": DummyClassifier()}, X, y, random_state=0
    ... )
    >>> print(comparison)
    bayes has the highest mean score, 0.953.
    bayes scores higher than dummy: by 0.62, 95% interval 0.58 to 0.65, p < 0.0001.
    """
    names = _read_estimators(estimators)
    settings = _Settings(cv, n_repeats, scoring, n_jobs)
    data = X, y, groups, params
    with say_when_long("compare_estimators", "lower n_repeats to save time"):
        result, seed = _score_all(estimators, data, settings, random_state)
    return Comparison(names, {"data": result}, rope, confidence_level, seed)


@validate_params(
    _CONSTRAINTS | {"datasets": [dict]}, prefer_skip_nested_validation=False
)
def compare_on(
    estimators: Mapping[str, BaseEstimator],
    datasets: Mapping[str, tuple[TableLike, ArrayLike]],
    *,
    cv: Any = None,
    n_repeats: int | None = None,
    scoring: Any = None,
    rope: float = 0.01,
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Comparison:
    """Compare estimators over several data sets.

    The mean scores of each data set are the observations, so that the result applies to
    data sets like these. Pairs are tested by Wilcoxon's signed-rank test, whose
    p-values and intervals are adjusted for all pairs (Bonferroni), and by the Bayesian
    signed-rank test with a region of practical equivalence ([2]_). All estimators are
    tested together by Friedman's test, and pairs of mean ranks by Nemenyi's ([1]_).

    Parameters
    ----------
    estimators : dict of str to estimator
        Two or more estimators by name. They are cloned.
    datasets : dict of str to tuple (X, y)
        Two or more data sets by name.
    cv : int, cross-validation generator or iterable, default=None
        As in :func:`compare_estimators`.
    n_repeats : int, default=None
        As in :func:`compare_estimators`.
    scoring : str or callable, default=None
        As in :func:`compare_estimators`. It must be comparable between data sets:
        accuracy or R2, not an error in the unit of a target.
    rope : float, default=0.01
        Region of practical equivalence.
    confidence_level : float, default=0.95
        Confidence of intervals; tests are at one minus this level.
    n_jobs : int, default=None
        Number of fits in parallel. It does not affect the result.
    random_state : int, RandomState instance or None, default=None
        Seed, as in :func:`compare_estimators`.

    Returns
    -------
    Comparison
        Scores, tests, tables and sentences.

    See Also
    --------
    compare_estimators : Compare on one data set.
    Comparison.from_scores : Compare scores that are known already.

    References
    ----------
    .. [1] Demsar, J. (2006). Statistical comparisons of classifiers over multiple data
       sets. Journal of Machine Learning Research 7.
    .. [2] Benavoli, A., Corani, G., Demsar, J. and Zaffalon, M. (2017). Time for a
       change: a tutorial for comparing multiple classifiers through Bayesian analysis.
       Journal of Machine Learning Research 18.

    Examples
    --------
    >>> from sklearn.datasets import load_iris, load_wine
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skmohn.model_selection import compare_on
    >>> datasets = {
    ...     "iris": load_iris(return_X_y=True),
    ...     "wine": load_wine(return_X_y=True),
    ... }
    >>> comparison = compare_on(
    ...     {"bayes": GaussianNB(), "dummy": DummyClassifier()},
    ...     datasets,
    ...     n_repeats=2,
    ...     random_state=0,
    ... )
    >>> print(comparison.sentences()[-1])
    With 2 data sets no difference can be significant: 6 are needed.
    """
    names, pairs = _read_estimators(estimators), _read_datasets(datasets)
    settings = _Settings(cv, n_repeats, scoring, n_jobs)
    results, random = {}, check_random_state(random_state)
    seed = 0
    with say_when_long("compare_on", "lower n_repeats to save time"):
        for name, (X, y) in pairs.items():
            with _named(f"on data set {name!r}"):
                scored = _score_all(estimators, (X, y, None, None), settings, random)
                results[name], seed = scored
    return Comparison(names, results, rope, confidence_level, seed)


class _Settings(NamedTuple):
    """Parameters of a cross-validation."""

    cv: Any
    n_repeats: int | None
    scoring: Any
    n_jobs: int | None


# X, y, groups and arguments of `fit`.
_Data = tuple[TableLike, ArrayLike, ArrayLike | None, Mapping[str, Any] | None]


@contextlib.contextmanager
def _named(where: str) -> Iterator[None]:
    """Note in errors where they happened."""
    try:
        yield
    except InvalidParameterError as error:
        # Scikit-learn says that the parameter is one of the function that was called.
        named = ValueError(str(error).replace(" of cross_validate", ""))
        named.add_note(where)
        raise named from error
    except Exception as error:
        error.add_note(where)
        raise


def _read_estimators(estimators: Mapping[str, Any]) -> list[str]:
    """Check estimators; return their names."""
    names: Any = estimators
    names = require_two(read_names(list(names), "names of estimators"), "estimators")
    for name, estimator in estimators.items():
        if not hasattr(estimator, "fit") or isinstance(estimator, type):
            raise TypeError(
                f"estimators must be objects with a method fit, but {name!r} is "
                f"{estimator!r}; pass an instance instead of a class"
            )
    kinds = {is_classifier(estimator) for estimator in estimators.values()}
    if len(kinds) > 1:
        classifiers = [name for name in names if is_classifier(estimators[name])]
        raise ValueError(
            f"estimators must all be classifiers or none, but only {classifiers} are: "
            "compare them separately"
        )
    return names


def _read_datasets(datasets: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Check data sets; return them as pairs."""
    names: Any = datasets
    read_names(list(names), "names of datasets")
    if len(datasets) < 2:
        raise ValueError(
            f"datasets must have at least two data sets, got {list(datasets)}; "
            "compare_estimators compares on one"
        )
    for name, pair in datasets.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"datasets must be tuples (X, y), but {name!r} is a "
                f"{type(pair).__name__}; with scikit-learn's loaders, set "
                "return_X_y=True"
            )
    return {name: tuple(pair) for name, pair in datasets.items()}


def _score_all(
    estimators: Mapping[str, BaseEstimator],
    data: _Data,
    settings: _Settings,
    random_state: int | np.random.RandomState | None,
) -> tuple[DataSetScores, int]:
    """Score all estimators on the same splits; also draw a seed of later tests."""
    random = check_random_state(random_state)
    X, y, groups, params = data
    params = dict(params or {})
    groups = params.get("groups") if groups is None else groups
    X, y, groups = indexable(X, y, groups)
    splits = _make_splits(estimators, X, y, groups, settings, random)
    seeds = random.randint(2**31 - 1, size=len(splits) + 1).tolist()
    runs: Any = Parallel(n_jobs=settings.n_jobs)(
        delayed(_score_split)(
            name,
            estimator,
            (X, y, _requested(estimator, params, groups)),
            split,
            settings,
            seed,
        )
        for split, seed in zip(splits, seeds[1:], strict=True)
        for name, estimator in estimators.items()
    )
    n_estimators = len(estimators)
    parts = [
        [run.calibration for run in runs[k::n_estimators]] for k in range(n_estimators)
    ]
    ratios = [_n_rows(test) / _n_rows(train) for train, test in splits]
    figures = np.array([run[:3] for run in runs]).reshape(len(splits), n_estimators, 3)
    return DataSetScores(
        scores=figures[:, :, 0],
        test_ratio=float(np.mean(ratios)),
        fit_seconds=figures[:, :, 1].mean(axis=0),
        score_seconds=figures[:, :, 2].mean(axis=0),
        calibration_errors=np.array([calibration_error(each) for each in parts]),
    ), seeds[0]


def _n_rows(part: Any) -> int:
    """Number of rows of a part, given by indices or by a mask."""
    part = np.asarray(part)
    return int(part.sum()) if part.dtype == bool else len(part)


def _make_splits(
    estimators: Mapping[str, BaseEstimator],
    X: TableLike,
    y: Any,
    groups: Any,
    settings: _Settings,
    random: np.random.RandomState,
) -> list[_Split]:
    """Rows of the training and test part of each split."""
    cv, n_repeats = settings.cv, settings.n_repeats
    is_number = cv is None or is_integer(cv)
    if n_repeats is not None and not is_number:
        raise ValueError(
            f"n_repeats must be None if cv makes the splits, got {n_repeats} and "
            f"cv={cv!r}: pass a number of folds, or a splitter such as RepeatedKFold "
            "without n_repeats"
        )
    if not is_number:
        splitter: Any = check_cv(cast(Any, cv))
        splits = list(splitter.split(X, y, groups))
        if len(splits) < 2:
            raise ValueError(
                f"cv must make at least two splits, got {len(splits)}: the variance "
                "between splits is needed"
            )
        return splits
    is_stratified = all(map(is_classifier, estimators.values())) and type_of_target(
        y
    ) in ("binary", "multiclass")
    kind: Any = {
        (False, False): KFold,
        (True, False): StratifiedKFold,
        (False, True): GroupKFold,
        (True, True): StratifiedGroupKFold,
    }[is_stratified, groups is not None]
    n_folds = _N_FOLDS if cv is None else cv
    splits: list[_Split] = []
    for _ in range(_N_REPEATS if n_repeats is None else n_repeats):
        seed = random.randint(2**31 - 1)
        splits += kind(n_folds, shuffle=True, random_state=seed).split(X, y, groups)
    return splits


class _Run(NamedTuple):
    """Result of one estimator on one split."""

    score: float
    fit_seconds: float
    score_seconds: float
    calibration: NDArray | None


def _requested(
    estimator: BaseEstimator, params: dict[str, Any], groups: Any
) -> dict[str, Any]:
    """Arguments of ``fit``; where metadata are routed, groups if they are requested."""
    if not get_config()["enable_metadata_routing"]:
        return params
    others = {key: value for key, value in params.items() if key != "groups"}
    routing: Any = get_routing_for_object(estimator)
    takes_groups = groups is not None and routing.consumes("fit", ["groups"])
    return {**others, "groups": groups} if takes_groups else others


def _score_split(
    name: str,
    estimator: BaseEstimator,
    data: tuple[TableLike, Any, Mapping[str, Any] | None],
    split: _Split,
    settings: _Settings,
    seed: int,
) -> _Run:
    """Fit and score one estimator on one split."""
    X, y, params = data
    seeded: Any = clone(estimator)
    validate: Any = cross_validate  # whose types are guessed from defaults
    free = [
        key
        for key, value in seeded.get_params().items()
        if value is None and key.split("__")[-1] == "random_state"
    ]
    seeded.set_params(**dict.fromkeys(free, seed))
    with _named(f"of estimator {name!r}"):
        found = validate(
            seeded,
            X,
            y,
            cv=[split],
            scoring=settings.scoring,
            params=params,
            error_score="raise",
            return_estimator=True,
        )
    if "test_score" not in found:
        names = [key.removeprefix("test_") for key in found if key.startswith("test_")]
        raise ValueError(
            f"scoring must return one number, but returns {names}: pass a scorer of a "
            "single metric"
        )
    score = float(found["test_score"][0])
    if not np.isfinite(score):
        raise ValueError(
            f"scoring must give finite numbers, got {score} of {name!r} on a test part "
            f"of {len(split[1])} rows: use fewer folds or another score"
        )
    refuse_huge(found["test_score"], f"scores of {name!r}")
    test = safe_indexing(X, split[1]), np.asarray(safe_indexing(y, split[1]))
    fit_seconds, score_seconds = found["fit_time"][0], found["score_time"][0]
    calibration = read_calibration(found["estimator"][0], *test)
    return _Run(score, float(fit_seconds), float(score_seconds), calibration)


@dataclass(frozen=True)
class CalibrationConstants:
    """Bins of probabilities."""

    n_bins: int = tuned(15, "Guo (2017), table 1")


_CALIBRATION = CalibrationConstants()


def read_calibration(estimator: Any, X: TableLike, y: NDArray) -> NDArray | None:
    """Read the inputs of the calibration error of test rows; None without any."""
    # Of classifiers (confidence, whether it was right), of regressors the values of
    # the predictive distribution at the targets.
    if hasattr(estimator, "predict_proba"):
        probabilities = np.asarray(estimator.predict_proba(X))
        # Several outputs have a list of them.
        if probabilities.ndim != 2 or y.ndim != 1:
            return None
        predicted = np.asarray(estimator.classes_)[probabilities.argmax(axis=1)]
        return np.stack([probabilities.max(axis=1), predicted == y], axis=1)
    if y.ndim != 1 or hasattr(estimator, "classes_"):
        return None
    # Pipelines pass the argument on, so their signatures do not show it.
    try:
        mean, std = estimator.predict(X, return_std=True)
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None
    # Standard deviations may be zero, as those of a constant are.
    with np.errstate(over="ignore"):
        scaled = (y - np.asarray(mean)) / np.maximum(std, np.finfo(float).tiny)
    return stats.norm.cdf(scaled)


def calibration_error(parts: list[NDArray | None]) -> float:
    """Calibration error over the test rows of all splits; NaN where there is none."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return np.nan
    values = np.concatenate(known)
    if values.ndim == 1:
        # Area between the distribution function of these values and the uniform one.
        expected = (np.arange(len(values)) + 0.5) / len(values)
        return float(np.mean(np.abs(np.sort(values) - expected)))
    confidence, is_right = values.T
    bins = (confidence * _CALIBRATION.n_bins).astype(int)
    bins = np.minimum(bins, _CALIBRATION.n_bins - 1)
    differences = np.bincount(bins, is_right - confidence)
    return float(np.abs(differences).sum() / len(values))
