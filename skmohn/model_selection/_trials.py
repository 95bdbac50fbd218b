"""Trials of settings: which folds are run, and which settings are given up."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.pipeline import Pipeline

from skmohn._core._sklearn import FoldScorer
from skmohn._core._tuned import tuned
from skmohn.model_selection._param_space import Setting


@dataclass(frozen=True)
class RaceConstants:
    """When a setting is given up."""

    # Folds before the first test: the spread of differences needs two.
    min_folds: int = tuned(2, "benchmarks/model_selection/search_cv.py")
    # Probability of the best mean below which a setting is given up.
    max_probability: float = tuned(0.05, "benchmarks/model_selection/search_cv.py")
    # Larger scores count as those of fits that failed: their squares would be infinite.
    max_score: float = tuned(1e149, "rounding")


_RACE = RaceConstants()
Outcomes = list[dict[str, Any]]  # scores and times of a setting, by fold


def winning_probability(
    scores: NDArray[np.float64],  # of the folds so far
    best: NDArray[np.float64],  # of the best setting, in all folds
) -> float:
    """Predictive probability that the mean over all folds becomes at least the best."""
    # Of paired differences in n of N exchangeable folds, the mean over all N is
    # distributed as Student's t with n - 1 degrees of freedom, at the mean so far and
    # with its standard error times sqrt(1 - n / N), the finite population correction.
    # To stop once it is unlikely is Kuhn's futility analysis (2014, arXiv:1405.6974).
    n, n_folds = len(scores), len(best)
    differences = scores - best[:n]
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) * np.sqrt((1.0 - n / n_folds) / n)
    if error == 0.0:
        return float(mean >= 0.0)
    return float(student.cdf(mean / error, n - 1))


def expected_mean(scores: NDArray[np.float64], best: NDArray[np.float64]) -> float:
    """Mean over all folds as expected from some, which may be harder than others."""
    return float(best.mean() + np.mean(scores - best[: len(scores)]))


@dataclass
class Trials:
    """Settings that were tried, and their results."""

    scorer: FoldScorer
    metric: str | None  # that is maximized; None: the only one, or the first
    is_raced: bool
    settings: list[Setting] = field(default_factory=list)
    outcomes: list[Outcomes] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    # Scores of the best setting so far in all folds.
    best: NDArray[np.float64] | None = None

    def run(self, settings: Sequence[Setting]) -> None:
        """Try settings, all in the first folds, then those that may win in others."""
        n_folds = len(self.scorer.folds)
        outcomes: list[Outcomes] = [[] for _ in settings]
        left = list(range(len(settings)))
        first = min(_RACE.min_folds, n_folds) if self.is_raced else n_folds
        for stop in range(first, n_folds + 1):
            start = 0 if stop == first else stop - 1
            tasks = [(i, k) for i in left for k in range(start, stop)]
            found = self.scorer.evaluate((settings[i], k) for i, k in tasks)
            for (i, _), outcome in zip(tasks, found, strict=True):
                outcomes[i].append(outcome)
            if stop < n_folds:
                left = [i for i in left if self._may_win(outcomes[i])]
            if not left:
                break
        for setting, row in zip(settings, outcomes, strict=True):
            self.add(setting, row)

    def add(self, setting: Setting, outcomes: Outcomes) -> None:
        """Record the result of a setting."""
        scores = self._scores(outcomes)
        is_finished = len(scores) == len(self.scorer.folds)
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(np.mean(scores))
            if not is_finished and self.best is not None:
                value = expected_mean(scores, self.best)
        if not abs(value) <= _RACE.max_score:
            value = np.nan
        elif is_finished and (self.best is None or value > self.best.mean()):
            self.best = scores
        self.settings.append(setting)
        self.outcomes.append(outcomes)
        self.values.append(value)

    def _may_win(self, outcomes: Outcomes) -> bool:
        """Whether further folds could make a setting the best one."""
        scores = self._scores(outcomes)
        if not np.isfinite(scores).all():
            return False
        if self.best is None:
            return True
        return winning_probability(scores, self.best) >= _RACE.max_probability

    def _scores(self, outcomes: Outcomes) -> NDArray[np.float64]:
        """Scores of the metric that is maximized, by fold."""
        scores = []
        for outcome in outcomes:
            score = outcome["test_scores"]
            if isinstance(score, Mapping):
                metric = next(iter(score)) if self.metric is None else self.metric
                if metric not in score:
                    raise ValueError(
                        f"refit={metric!r} is not a metric of scoring: {list(score)}"
                    )
                score = score[metric]
            scores.append(float(score))
        return np.array(scores)


class SearchResults(dict[str, Any]):
    """`cv_results_`, and what its scores are, of which the keys have no name."""

    # skops makes an empty one and sets its keys: what the scores are is then unknown,
    # as it is of the results of another search.
    def __init__(
        self, results: Mapping[str, Any] | None = None, scoring: str | None = None
    ) -> None:
        super().__init__(results or {})
        self.scoring = scoring

    def __reduce__(self) -> tuple[Any, ...]:
        return SearchResults, (dict(self), self.scoring)


def describe_scoring(scoring: Any, estimator: Any) -> str:
    """Name of the objective, the same for a scorer and its name."""
    if scoring is None:
        while isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        own = getattr(type(estimator), "score", None)
        is_usual = getattr(own, "__module__", "").startswith("sklearn.")
        if not is_usual or hasattr(estimator, "scoring"):
            return "None"
        if is_classifier(estimator):
            return "accuracy"
        return "r2" if is_regressor(estimator) else "None"
    if isinstance(scoring, Mapping):
        parts = (
            f"{name}={describe_scoring(scoring[name], estimator)}"
            for name in sorted(scoring, key=str)
        )
        return ", ".join(parts)
    if not callable(scoring):
        if isinstance(scoring, str):
            return scoring
        return ", ".join(f"{name}={name}" for name in sorted(scoring))
    known = {repr(get_scorer(name)): name for name in get_scorer_names()}
    # Another process has functions at other addresses.
    shown = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(scoring))
    return known.get(shown, shown)


def _require_scoring(results: Mapping[Any, Any], scoring: str) -> None:
    """Refuse scores of another scoring."""
    known = results.scoring if isinstance(results, SearchResults) else None
    if known not in (None, scoring):
        raise ValueError(
            f"initial_results has scores of scoring={known!r}, but this search has "
            f"{scoring!r}: pass cv_results_ of a search with the same scoring, or "
            "initial_results=None to start anew"
        )


def read_results(
    results: Mapping[Any, Any],
    scorer: FoldScorer,
    return_train_score: bool,
    scoring: str,
) -> Iterator[tuple[Setting, Outcomes]]:
    """Settings of an earlier `cv_results_`, and their results."""
    n_folds = len(scorer.folds)
    keys = [key for key in results if isinstance(key, str)]
    names = [key[12:] for key in keys if key.startswith("split0_test_")]
    splits = {key.partition("_test_")[0] for key in keys if "_test_" in key}
    if {split for split in splits if split.startswith("split")} != {
        f"split{k}" for k in range(n_folds)
    }:
        raise ValueError(
            f"initial_results must have the scores of {n_folds} folds: pass "
            "cv_results_ of a search with the same cv"
        )
    if scorer.metrics is not None and scorer.metrics != {*names}:
        raise ValueError(
            f"initial_results has scores named {sorted(names)}, but this search has "
            f"{sorted(scorer.metrics)}: pass cv_results_ of a search with the same "
            "scoring"
        )
    _require_scoring(results, scoring)
    parts = ("test", "train") if return_train_score else ("test",)
    if not all(f"split0_{part}_{names[0]}" in results for part in parts):
        raise ValueError(
            "initial_results has no scores of training rows: pass those of a search "
            "with return_train_score=True"
        )
    settings = _read_settings(results)
    times, scores = (
        {key: _read_column(results, key, len(settings)) for key in keys}
        for keys in (
            ("mean_fit_time", "mean_score_time"),
            [
                f"split{k}_{part}_{name}"
                for k in range(n_folds)
                for part in parts
                for name in names
            ],
        )
    )
    n_run = _read_n_run(results, len(settings), n_folds)
    for i, setting in enumerate(settings):
        outcomes: Outcomes = []
        for k in range(n_run[i]):
            outcome: dict[str, Any] = {
                "fit_error": None,
                "fit_time": times["mean_fit_time"][i],
                "score_time": times["mean_score_time"][i],
                "n_test_samples": len(scorer.folds[k][1]),
            }
            for part in parts:
                found = {n: float(scores[f"split{k}_{part}_{n}"][i]) for n in names}
                is_single = names == ["score"]
                outcome[f"{part}_scores"] = found["score"] if is_single else found
            outcomes.append(outcome)
        yield setting, outcomes


def _read_settings(results: Mapping[Any, Any]) -> list[Setting]:
    """Settings of an earlier search."""
    try:
        settings: list[Any] = list(results["params"])
    except (KeyError, TypeError):
        settings = [None]
    if not all(isinstance(setting, Mapping) for setting in settings):
        raise ValueError(
            "initial_results must have 'params', a list of dicts as in cv_results_; if "
            "they are text, parse them with ast.literal_eval"
        )
    return [dict(setting) for setting in settings]


def _read_column(
    results: Mapping[Any, Any], key: str, n_settings: int
) -> NDArray[np.float64]:
    """Numbers of an earlier search, one for each setting."""
    try:
        column = np.asarray(results.get(key), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        column = np.empty(0)
    if column.shape != (n_settings,):
        raise ValueError(
            f"initial_results must have {key!r}, a number for each of the {n_settings} "
            "settings in 'params': pass all of cv_results_"
        )
    return column


def _read_n_run(results: Mapping[Any, Any], n_settings: int, n_folds: int) -> list[int]:
    """How many folds of each setting were run; all of them in GridSearchCV."""
    if "n_splits_run" not in results:
        return [n_folds] * n_settings
    n_run = _read_column(results, "n_splits_run", n_settings)
    if not np.isin(n_run, np.arange(1, n_folds + 1)).all():
        raise ValueError(
            f"initial_results has 'n_splits_run' that are not 1 to {n_folds} folds: "
            "pass all of cv_results_"
        )
    return n_run.astype(int).tolist()
