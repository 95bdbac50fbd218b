"""BlackBoxSearchCV: a search of hyperparameters that learns from the scores."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from numbers import Integral, Real
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import qmc
from sklearn.base import BaseEstimator
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmohn._core._estimator import ComputedProperty, EstimatorMixin
from skmohn._core._fitting import (
    FitLoop,
    History,
    all_or_nothing,
    gather_warnings,
    warn_caller,
)
from skmohn._core._sklearn import (
    N_JOBS,
    BaseSearchCV,
    CallbackSupportMixin,
    FoldScorer,
    HasMethods,
    Interval,
    StrOptions,
    conclude_search,
    fit_context,
    tabulate_folds,
    with_callbacks,
)
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn.model_selection._param_space import ParamSpace, Setting
from skmohn.model_selection._trials import (
    Outcomes,
    SearchResults,
    Trials,
    describe_scoring,
    read_results,
)
from skmohn.mohn import MOHNRegressor
from skmohn.optimize import BlackBoxOptimizer

_COUNT = Interval(Integral, 1, None, closed="left")
# Parameters and pairs that notebooks show.
_MAX_PARTS: Final = 3


class BlackBoxSearchCV(EstimatorMixin, BaseSearchCV, CallbackSupportMixin):
    """Hyperparameter search that learns from the scores what to try next.

    It replaces :class:`~sklearn.model_selection.GridSearchCV`, with the same grids,
    folds, scores and attributes, but fewer fits. A
    :class:`~skmohn.optimize.BlackBoxOptimizer` proposes settings, and those that can no
    longer win are dropped after a few folds.

    Parameters
    ----------
    estimator : estimator
        Not fitted. It is cloned for each setting and fold.
    param_grid : dict or list of dict
        Values of each parameter by its name, as a list or as a frozen distribution of
        :mod:`scipy.stats` such as ``randint(1, 100)``, ``uniform(0, 1)`` and
        ``loguniform(1e-3, 1e3)``, of which 32 quantiles are tried. Numbers are ordered,
        and neighbors are assumed to be similar; lists with other values are categories.
        Unless all settings are tried, a parameter may have up to 256 values. With a
        list of dicts, each setting has the parameters of one of them; if there are more
        than 4096 settings, 4096 are drawn.
    n_evaluations : int, default=60
        Maximum number of settings to try. If there are no more, all are tried, in the
        order of GridSearchCV.
    scoring : str, callable, list, tuple or dict, default=None
        What to maximize, as in GridSearchCV. With several metrics, the one named by
        `refit`, or else the first.
    n_jobs : int, default=None
        Fits to run at the same time, with joblib: of a batch of settings, and of the
        folds of each. It does not affect the result.
    refit : bool, str or callable, default=True
        Whether to fit the best setting to all rows, as in GridSearchCV: with several
        metrics, the name of one; or a function of `cv_results_` that returns the index
        of the best setting.
    cv : int, cross-validation generator or iterable, default=None
        Folds, drawn once and the same for all settings.
    racing : bool, default=True
        Whether to drop settings that are unlikely to become the best: after two folds
        and after each further one, the probability that the mean over all folds will
        reach the best one is computed from paired differences, and must be at least 5
        %. If `refit` is a function, so that the best setting need not have the best
        mean, or if no metric is named, all folds are run.
    batch_size : int, default=1
        Settings to propose at a time. Small batches are better, but keep fewer workers
        busy.
    initial_results : dict, default=None
        `cv_results_` of an earlier search with the same data, folds and scoring. The
        search continues from there: those settings are not tried again, and do not
        count toward `n_evaluations`. Settings that are not in `param_grid` are ignored.
    verbose : int, default=0
        The higher, the more messages, as in GridSearchCV.
    pre_dispatch : int or str, default="2*n_jobs"
        Fits that are dispatched in advance; see :class:`joblib.Parallel`.
    error_score : "raise" or number, default=nan
        Score of a fit that fails, or whether to raise its error.
    return_train_score : bool, default=False
        Whether to include scores of the training rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the search. The same seed gives the same result for every `n_jobs`, if
        the estimator has a seed as well.

    Attributes
    ----------
    cv_results_ : dict of ndarray
        As in GridSearchCV, in the order of evaluation, with ``"n_splits_run"``, the
        number of folds that were run for a setting. Scores are NaN for other folds, and
        means and deviations are over the folds that were run; such settings rank after
        all that have scores for every fold.
    best_estimator_ : estimator
        Fitted with the best setting, if `refit` is not False.
    best_score_ : float
        Mean score of the best setting over all folds.
    best_params_ : dict
        The best setting.
    best_index_ : int
        Its index in `cv_results_`.
    scorer_ : callable or dict
        Scorer of the estimator, or scorers by metric.
    n_splits_ : int
        Number of folds.
    refit_time_ : float
        Seconds of the last fit, if `refit` is not False.
    multimetric_ : bool
        Whether there are several metrics.
    stopping_reason_ : str
        Why no further setting was tried.
    classes_ : ndarray of shape (n_classes,)
        Labels, if the best estimator is a classifier.
    n_features_in_ : int
        Number of columns seen in `fit`, if the best estimator has it.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the best estimator has them.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : Tries all settings.
    sklearn.model_selection.RandomizedSearchCV : Tries settings drawn at random.
    skmohn.optimize.BlackBoxOptimizer : The optimizer, for other functions.

    Notes
    -----
    Settings are dropped by the futility analysis of [1]_: differences from the best
    setting in the folds so far predict the mean difference over all folds, with a
    Student's t distribution and the finite population correction.

    References
    ----------
    .. [1] Kuhn, M. (2014). Futility analysis in the cross-validation of machine
       learning models. arXiv:1405.6974.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from skmohn import BlackBoxSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> search = BlackBoxSearchCV(
    ...     make_pipeline(StandardScaler(), SVC()),
    ...     {"svc__C": loguniform(1e-2, 1e3), "svc__gamma": loguniform(1e-4, 1e1)},
    ...     n_evaluations=20,
    ...     random_state=0,
    ... )
    >>> bool(search.fit(X, y).best_score_ > 0.97)
    True
    >>> len(search.cv_results_["params"])
    20
    """

    cv_results_: dict[str, Any]
    best_estimator_: Any
    best_score_: float
    best_params_: dict[str, Any]
    best_index_: int
    scorer_: Any
    n_splits_: int
    refit_time_: float
    multimetric_: bool
    stopping_reason_: str
    feature_names_in_: Any

    _parameter_constraints = {
        "estimator": [HasMethods(["fit"])],
        "param_grid": [dict, list],
        "n_evaluations": [_COUNT],
        "scoring": [
            StrOptions(set(get_scorer_names())),
            *(callable, list, tuple, dict, None),
        ],
        "n_jobs": [*N_JOBS],
        "refit": ["boolean", str, callable],
        "cv": ["cv_object"],
        "racing": ["boolean"],
        "batch_size": [_COUNT],
        "initial_results": [dict, None],
        "verbose": ["verbose"],
        "pre_dispatch": [Integral, str],
        "error_score": [StrOptions({"raise"}), Real],
        "return_train_score": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        param_grid: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        n_evaluations: int = 60,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[[dict[str, Any]], int] = True,
        cv: Any = None,
        racing: bool = True,
        batch_size: int = 1,
        initial_results: Mapping[str, Any] | None = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: float | str = np.nan,
        return_train_score: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        # What the base would set has types by its defaults alone.
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_evaluations = n_evaluations
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit: Any = refit
        self.cv = cv
        self.racing = racing
        self.batch_size = batch_size
        self.initial_results = initial_results
        self.verbose = verbose
        self.pre_dispatch: Any = pre_dispatch
        self.error_score: Any = error_score
        self.return_train_score = return_train_score
        self.random_state = random_state

    @property
    def n_features_in_(self) -> int:
        """Number of columns that the best estimator was fitted to."""
        # The base refers to a glossary that is scikit-learn's.
        return super().n_features_in_

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=False)
    @with_callbacks
    def fit(self, X: TableLike, y: ArrayLike | None = None, **params: Any) -> Self:
        """Search for the best setting, and fit the estimator with it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as the estimator reads them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets, if the estimator needs them.
        **params : dict
            ``groups``, the groups of samples for `cv`, and what `fit` of the estimator
            takes. With metadata routing, what the estimator, the scorer and `cv`
            request.

        Returns
        -------
        estimator
            The fitted search.

        Raises
        ------
        ValueError
            For invalid grids, if all fits have failed, or if `initial_results` has
            different folds or scores, or already has all settings.
        """
        scorer = FoldScorer(self, X, y, params)
        seed = int(check_random_state(self.random_state).randint(2**31))
        space = ParamSpace(self.param_grid, seed)
        trials = self._begin(scorer, space)
        loop = FitLoop(self, X, y, params, self.n_evaluations)
        with scorer.parallel:
            reason = self._search(space, trials, seed, loop)
        self._expose(space, trials, reason, seed)
        loop.finish()
        return self

    def _begin(self, scorer: FoldScorer, space: ParamSpace) -> Trials:
        """Trials of an earlier search, or none."""
        metric = self.refit if isinstance(self.refit, str) else None
        is_single = metric is not None or scorer.metric == "score"
        is_raced = self.racing and is_single and not callable(self.refit)
        trials = Trials(scorer, metric, is_raced)
        if self.initial_results is not None:
            scoring = describe_scoring(self.scoring, self.estimator)
            data = self.initial_results, scorer, self.return_train_score, scoring
            # Of a setting that is there twice, what has more folds.
            known: dict[Any, tuple[Setting, Outcomes]] = {}
            for setting, outcomes in read_results(*data):
                key = space.key(setting)
                is_more = key not in known or len(outcomes) > len(known[key][1])
                if space.has(setting) and is_more:
                    known[key] = setting, outcomes
            for setting, outcomes in known.values():
                trials.add(setting, outcomes)
        if len(trials.settings) >= space.n_settings:
            raise ValueError(
                f"initial_results has all {len(trials.settings)} settings of param_grid"
                ": nothing is left to try"
            )
        return trials

    def _search(
        self, space: ParamSpace, trials: Trials, seed: int, loop: FitLoop
    ) -> str:
        """Try settings until none or no budget is left; return why it ended."""
        n_earlier = len(trials.settings)
        is_exhaustive = space.n_settings - n_earlier <= self.n_evaluations
        propose = _list_settings if is_exhaustive else _ask_optimizer
        batches = propose(space, trials, seed, self.batch_size, self.n_evaluations)
        for settings in batches:
            trials.run(settings)
            for i in range(len(trials.settings) - len(settings), len(trials.settings)):
                record = {
                    "params": trials.settings[i],
                    "score": trials.values[i],
                    "n_splits_run": len(trials.outcomes[i]),
                }
                if loop.step(record):
                    return "a callback requested it"
        is_all = len(trials.settings) >= space.n_settings
        return "every setting was tried" if is_all else "n_evaluations were made"

    def _expose(
        self, space: ParamSpace, trials: Trials, reason: str, seed: int
    ) -> None:
        """Set the fitted attributes."""
        self._report_failures([o for row in trials.outcomes for o in row])
        scorer, outcomes = trials.scorer, trials.outcomes
        results = SearchResults(
            tabulate_folds(self, trials.settings, outcomes, len(scorer.folds)),
            describe_scoring(self.scoring, self.estimator),
        )
        vars(self).update(conclude_search(self, scorer, results))
        self.stopping_reason_ = reason
        self._analyzed = None
        self._evidence = space, trials.settings, np.array(trials.values), seed

    def _list_facts(self) -> list[str]:
        """The best setting and its score, fits, and parts of the variance if known."""
        results, n_splits = self.cv_results_, self.n_splits_
        n_settings = len(results["params"])
        n_run = int(np.sum(results["n_splits_run"]))
        facts = []
        if hasattr(self, "best_params_"):
            shown = (f"{name}={value!r}" for name, value in self.best_params_.items())
            facts.append(f"best setting: {', '.join(shown)}")
        deviations = f"std_test_{self.refit if self.multimetric_ else 'score'}"
        if hasattr(self, "best_score_") and deviations in results:
            std = results[deviations][self.best_index_]
            facts.append(
                f"best score: {self.best_score_:.4g}, the mean of {n_splits} folds "
                f"(standard deviation over folds {std:.2g})"
            )
        facts.append(
            f"{n_settings:,} settings in {n_run:,} fits; without racing "
            f"{n_settings * n_splits:,}"
        )
        facts.append(f"end of the search: {self.stopping_reason_}")
        # Computed where the user has asked for it.
        parts = (self._analyzed or [])[:_MAX_PARTS]
        listed = (
            f"{' x '.join(part['parameters'])} {part['variance_fraction']:.0%}"
            for part in parts
        )
        return facts + ([f"variance of the score: {', '.join(listed)}"] * bool(parts))

    def _report_failures(self, outcomes: Sequence[dict[str, Any]]) -> None:
        """Warn of fits that failed; refuse if all have."""
        errors = Counter(o["fit_error"] for o in outcomes if o["fit_error"] is not None)
        if not errors:
            return
        n_failed, n_fits = errors.total(), len(outcomes)
        details = "\n".join(f"{n} fits:\n{error}" for error, n in errors.items())
        if n_failed == n_fits:
            raise ValueError(
                f'all {n_fits} fits failed: error_score="raise" raises the first '
                f"error.\n{details}"
            )
        warn_caller(
            f"{n_failed} of {n_fits} fits failed: their scores are "
            f"{self.error_score}.\n{details}",
            FitFailedWarning,
        )

    @ComputedProperty
    def interactions_(self) -> History:
        """Which hyperparameters matter, and which interact.

        A functional analysis of variance of a Gaussian process that is fitted to the
        mean scores: a dict for each parameter that varies and each pair, the largest
        proportion first. ``"parameters"`` are their names, ``"grid"`` for the choice
        among several dicts, and ``"variance_fraction"`` is the proportion of the
        variance of the score over all settings that they explain, for a pair beyond
        what each explains alone; higher orders explain the rest. It is estimated to
        within a few hundredths. Empty if all scores are equal.
        ``interactions_.to_frame()`` returns a data frame.
        """
        check_is_fitted(self, "cv_results_")
        if self._analyzed is None:
            space, settings, values, seed = self._evidence
            has_score = np.isfinite(values)
            kept = [s for s, known in zip(settings, has_score, strict=True) if known]
            self._analyzed = analyze_variance(space, kept, values[has_score], seed)
        return self._analyzed


def _list_settings(
    space: ParamSpace, trials: Trials, seed: int, batch_size: int, n_settings: int
) -> Iterator[list[Setting]]:
    """Batches of all settings that were not tried, in the order of `GridSearchCV`."""
    known = {space.key(setting) for setting in trials.settings}
    left = (s for s in space.settings() if space.key(s) not in known)
    while batch := list(islice(left, batch_size)):
        yield batch


def _ask_optimizer(
    space: ParamSpace, trials: Trials, seed: int, batch_size: int, n_settings: int
) -> Iterator[list[Setting]]:
    """Batches of settings that an optimizer proposes, given earlier results."""
    # The folds are the same each time: no setting is tried twice.
    optimizer = BlackBoxOptimizer(
        space.variables, maximize=True, noise=0, random_state=seed
    )
    n_told, stop = 0, len(trials.settings) + n_settings
    while True:
        if n_told < len(trials.settings):
            told = [space.encode(setting) for setting in trials.settings[n_told:]]
            optimizer.tell(told, trials.values[n_told:])
            n_told = len(trials.settings)
        points = optimizer.ask(min(batch_size, stop - n_told)) if n_told < stop else []
        if not len(points):
            return
        yield [space.decode(point) for point in points]


@dataclass(frozen=True)
class InteractionConstants:
    """Estimate of the parts of the variance."""

    # Quasi-random settings, twice so many for each part.
    n_settings: int = tuned(1024, "cost")


_INTERACTIONS = InteractionConstants()


def analyze_variance(
    space: ParamSpace,
    settings: Sequence[Setting],
    scores: NDArray[np.float64],
    seed: int,
) -> History:
    """Parts of the variance of a score that parameters and their pairs explain."""
    # Functional analysis of variance of a Gaussian process that is fitted to the
    # scores (Hutter, Hoos and Leyton-Brown, 2014), with Sobol indices by pick and
    # freeze (Saltelli et al., 2010): of the settings drawn twice, some parameters of
    # the second ones are those of the first.
    names = [space.grid_name, *(p.name for p in space.varying)]
    sizes = [len(space.grids), *(len(p.values) for p in space.varying)]
    free = [j for j, size in enumerate(sizes) if size > 1]
    if len(settings) < 2 or not free or np.ptp(scores) == 0.0:
        return History()
    model = MOHNRegressor("gp", outliers="keep", random_state=seed)
    with gather_warnings():
        model.fit(space.encode_rows(settings)[:, free], scores)
    n, d = _INTERACTIONS.n_settings, len(names)
    drawn = qmc.Sobol(2 * d, scramble=False).random(n)
    first, second = np.split(drawn, 2, axis=1)

    def predict(quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
        return model.predict(space.rows_at(quantiles)[:, free])

    base = predict(first)
    variance = float(base.var())
    if variance == 0.0:
        return History()

    def explained(frozen: Sequence[int]) -> float:
        mixed = second.copy()
        mixed[:, frozen] = first[:, frozen]
        return float(np.cov(base, predict(mixed), bias=True)[0, 1]) / variance

    main = {j: explained([j]) for j in free}
    parts: dict[tuple[str, ...], float] = {(names[j],): main[j] for j in free}
    for i, j in combinations(free, 2):
        parts[names[i], names[j]] = explained([i, j]) - main[i] - main[j]
    records = [
        {"parameters": of, "variance_fraction": min(max(part, 0.0), 1.0)}
        for of, part in parts.items()
    ]
    return History(sorted(records, key=lambda r: -r["variance_fraction"]))
