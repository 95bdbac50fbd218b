"""Number of weights that noisy data support."""

# A pursuit with a falling threshold, the bar, gives a path of models, from the few
# weights that are significant among all their rivals to the many that barely are. The
# bar is chosen by k-fold validation of the whole search, or by the extended BIC where
# samples are too few to hold some out.
#
# Source of the criterion: Chen and Chen, Biometrika 95 (2008), with gamma = 1 and the
# models of each order counted separately.

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Self, TypeAlias, cast

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import sem
from sklearn.linear_model import Lasso
from sklearn.model_selection import GroupKFold

from skmohn._core._fitting import last_of, tick
from skmohn._core._sklearn import lasso_cv
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._design.design import Design, find_equal, make_design, number_rows
from skmohn.mohn._design.terms import choice_length
from skmohn.mohn._models import Folds, SelectedModel
from skmohn.mohn._sparse.active_set import ActiveSet
from skmohn.mohn._sparse.exact_fit import rounding_variance
from skmohn.mohn._sparse.model import SparseModel
from skmohn.mohn._sparse.pair_cache import (
    PairCache,
    PairCacheView,
    Search,
    run_together,
)
from skmohn.mohn._sparse.pursuit import Pursuit, PursuitControl
from skmohn.mohn._training_data import TrainingData


@dataclass(frozen=True)
class PathConstants:
    """Choice of a model on the path of bars."""

    # Bars in stages: the next stage is searched when the last bar so far is the best.
    # Within the first, a function is sparse.
    n_bars_per_stage: int = tuned(4, "benchmarks/ablation.py")
    # Weights per sample at the end of the path.
    max_weights_fraction: float = tuned(0.3, "benchmarks/ablation.py")
    # Below this many distinct rows folds are too small to compare models.
    min_rows: int = tuned(40, "benchmarks/ablation.py")
    # Entries of the columns of all pairs up to which the lasso costs little.
    max_cheap_lasso: float = tuned(4e5, "cost")
    # The same for dense functions: some ten seconds.
    max_dense_lasso: float = tuned(5e6, "cost")
    # The models of the highest bars give their weights above order two to the lasso.
    n_first_models: int = tuned(3, "benchmarks/ablation.py")
    # Nats by which a description must be shorter to be preferred to the lasso. On dense
    # functions of few rows it saves up to 8 and predicts worse, on sparse ones 50 and
    # more.
    min_gain_over_lasso: float = tuned(10.0, "benchmarks/ablation.py")


PATH = PathConstants()
# Below a hundredth of the largest penalty noisy data gain little, and aliased columns
# make the descent slow: the path is rough and its choice refined. Both run to
# convergence, since scikit-learn would warn otherwise.
_LASSO_PATH = {"n_alphas": 40, "eps": 1e-2, "max_iter": 100_000, "tol": 1e-4}


# Design, targets and sample weights.
Validation: TypeAlias = tuple[Design, NDArray[np.float64], NDArray[np.float64] | None]


class RegularizationPath:
    """Models of falling bars on one training set, each with its validation errors."""

    def __init__(
        self,
        design: Design,  # of the training set
        y: NDArray[np.float64],  # (n_samples,)
        control: PursuitControl,
        validation: Validation | None = None,
        pairs: PairCacheView | None = None,  # cached pairs of a wide table
        # Without validation, paths that have gone as far and validate lower bars.
        guides: Sequence["RegularizationPath"] = (),
    ) -> None:
        self.data = design, y
        self.control = control
        self.validation: Any = validation
        self.pairs = pairs
        self.guides = guides if validation is None else [self]
        self.terms: list[list[Term]] = []
        self.errors: list[NDArray[np.float64]] = []
        self.is_full = False

    def extend(self, bars: NDArray[np.float64]) -> Self:
        """Search on with lower bars; return the path itself, for other processes."""
        last_of(self.steps(bars))
        return self

    def steps(self, bars: NDArray[np.float64]) -> Generator[float, None, None]:
        """Extend in parts; yields costs."""
        if self.is_full:
            return
        start = self.terms[-1] if self.terms else ()
        search = Pursuit(*self.data, self.control, start=start, pairs=self.pairs)
        search.max_weights = max(
            1, int(PATH.max_weights_fraction * search.design.weight_sum)
        )
        for bar in bars:
            # Terms within chance are searched for among the cached pairs, and among all
            # at the end of a stage, unless lower bars only fit noise.
            is_thorough = bar == 1 or (bar == bars[-1] and self._gains())
            terms = yield from search.descend(bar, is_thorough)
            self.terms.append(terms)
            if self.validation is not None:
                self.errors.append(self._squared_errors(search.model))
            self.is_full = len(search.model) >= search.max_weights or search.is_exact()
            if self.is_full:
                break

    def _gains(self) -> bool:
        """Whether no bar predicts validation samples better than the last one."""
        length = max((len(path.errors) for path in self.guides), default=0)
        means = [sum(path.mean_error(k) for path in self.guides) for k in range(length)]
        return not means or means[-1] == min(means)

    def error(self, position: int) -> NDArray[np.float64]:
        """Squared error of each validation sample at one bar."""
        # A path that ended early keeps its last model for the lower bars.
        return self.errors[min(position, len(self.errors) - 1)]

    def mean_error(self, position: int) -> float:
        """Mean squared validation error at one bar."""
        return np.average(self.error(position), weights=self.validation[2])

    def _squared_errors(self, model: ActiveSet) -> NDArray[np.float64]:
        design, y, _ = self.validation
        return (y - design.combine(design.columns(model.terms), model.coef)) ** 2


class PathValidation:
    """Paths of models that are compared on held-out samples."""

    def __init__(
        self,
        design: Design,
        samples: TrainingData,
        control: PursuitControl,  # may be replaced until they begin
        *,
        selection: str = "auto",  # {"auto", "cv", "ebic", "lasso"}
        cv: Any = 5,  # number of folds, unless the samples bring their own
        # Of a wide table; folds compare its pairs in shared passes.
        pair_cache: PairCache | None = None,
    ) -> None:
        self.design, self.samples, self.control = design, samples, control
        self.selection, self.cv, self.pair_cache = selection, cv, pair_cache
        self._begun: list[Search] | None = None

    @cached_property
    def paths(self) -> tuple[str, list[RegularizationPath], Folds | None]:
        """Scorer of the paths, the paths, and the folds of a cross-validation."""
        design, samples = self.design, self.samples
        groups = number_rows(samples.inputs)
        n_rows = groups.max() + 1
        if samples.rows.group is not None:
            groups = samples.rows.group
        if samples.validation is not None:
            inputs, y, weight = samples.validation.data
            held = make_design(inputs, weight), y, weight
            own = self.pair_cache and self.pair_cache.view(
                design, np.arange(design.n_samples)
            )
            path = RegularizationPath(design, samples.y, self.control, held, pairs=own)
            return "validation", [path], None
        is_small = self.selection == "auto" and n_rows < PATH.min_rows
        if is_small or self.selection == "ebic":
            return "ebic", [], None
        folds = samples.folds
        if folds is None:
            # Equal rows stay together unless they are of different groups: a copy of a
            # training row tests nothing.
            dealer = GroupKFold(
                min(self.cv, groups.max() + 1), shuffle=True, random_state=samples.seed
            )
            folds = list(dealer.split(samples.inputs, groups=groups))
        return "cv", [self._fold(*fold) for fold in folds], folds

    def _fold(
        self, train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> RegularizationPath:
        samples, weight = self.samples, self.samples.sample_weight
        part, held = self.design.take(train), self.design.take(test)
        held = held, samples.y[test], None if weight is None else weight[test]
        view = self.pair_cache and self.pair_cache.view(part, train)
        return RegularizationPath(
            part, samples.y[train], self.control, held, pairs=view
        )

    def begin(self) -> list[Search]:
        """Searches of the first stage, each with its view of the pairs."""
        self._begun = self.searches(_stages()[0])
        return self._begun

    def searches(self, bars: NDArray[np.float64]) -> list[Search]:
        """Searches down to some bars, which may have begun already."""
        begun, self._begun = self._begun, None
        if begun:
            return begun
        return cast(
            list[Search], [(path.pairs, path.steps(bars)) for path in self.paths[1]]
        )


def _stages() -> NDArray[np.float64]:
    """Bars of three stages, shape (3, n_bars_per_stage)."""
    stages = 0.9 ** np.arange(3 * PATH.n_bars_per_stage).reshape(3, -1)
    return stages.astype(np.float64)


def choose_model(
    path_validation: PathValidation, *, n_jobs: int | None = None
) -> SelectedModel:
    """Choose the model that noisy data support; folds are searched in parallel."""
    design, samples, control = (
        path_validation.design,
        path_validation.samples,
        path_validation.control,
    )
    how, parts, folds = path_validation.paths
    whole = path_validation.pair_cache and path_validation.pair_cache.whole
    path = RegularizationPath(design, samples.y, control, pairs=whole, guides=parts)
    chosen = best = 0
    for bars in _stages():
        if path_validation.pair_cache is None:
            path.extend(bars)
            workers: Any = Parallel(n_jobs=n_jobs)
            parts = workers(delayed(part.extend)(bars) for part in parts)
        else:
            run_together(path_validation.searches(bars))
            run_together(cast(list[Search], [(whole, path.steps(bars))]))
        if how == "ebic":
            scores = [_ebic(design, samples.y, terms) for terms in path.terms]
            chosen = best = int(np.argmin(scores))
        else:
            chosen, best = sparsest_of_the_best(*_errors_of(parts))
        if best < len(path.terms) - 1 or path.is_full:
            break
    errors = np.array([part.mean_error(chosen) for part in parts])
    chosen = min(chosen, len(path.terms) - 1)
    limited = path.is_full and chosen == len(path.terms) - 1
    terms = path.terms[chosen]
    if how != "ebic" and best < PATH.n_bars_per_stage:
        # A sparse function: the folds, which see fewer samples, lower the bar to keep
        # true weights that are significant in all samples.
        terms = Pursuit(design, samples.y, control, start=terms).significant_terms()
    choice = SelectedModel(terms, how, limited=limited)
    if how == "ebic":
        return choice
    choice = choice._replace(errors=errors)
    if how == "validation":
        return choice
    choice = choice._replace(folds=folds)
    # The lasso would shrink the fixed terms as well.
    if path_validation.selection == "cv" or control.always:
        return choice
    if path_validation.selection == "lasso" or _worth_shrinking(design, best):
        shrunken = _shrink(design, samples.y, path, folds, n_jobs)
        gains = errors - shrunken.errors
        # Of models that predict about as well the sparse one is interpretable. The gain
        # on a single fold has no standard error.
        is_clear = len(gains) > 1 and gains.mean() > sem(gains)
        if path_validation.selection == "lasso" or is_clear:
            return shrunken
    return choice


def _worth_shrinking(design: Design, best: int) -> bool:
    """Whether the lasso is cheap, or the function dense and the lasso affordable."""
    # The function is dense where the best model has weights that are not significant
    # among their rivals.
    work = design.n_samples * math.comb(design.n_features + 1, 2)
    dense = best >= PATH.n_bars_per_stage
    return work < (PATH.max_dense_lasso if dense else PATH.max_cheap_lasso)


def _shrink(
    design: Design,
    y: NDArray[np.float64],
    path: RegularizationPath,
    folds: Folds | None,
    n_jobs: int | None,
) -> SelectedModel:
    """Lasso on the sets of order one and two and the most significant higher ones."""
    tick()
    n = design.n_features
    terms: list[Term] = [(i,) for i in range(n)]
    if path.control.max_order > 1:
        terms += combinations(range(n), 2)
    found = {term for model in path.terms[: PATH.n_first_models] for term in model}
    terms += sorted(term for term in found if len(term) > 2)
    columns: Any = design.columns(terms)
    # After the first of equal columns, the others fit rounding errors.
    distinct = np.unique(find_equal(columns))
    terms = [terms[j] for j in distinct]
    columns = design.unpack(columns[distinct], np.float64).T
    # Cyclic descent draws nothing, but would advance numpy's global generator.
    fixed: dict[str, Any] = {"random_state": 0}
    search = lasso_cv(**_LASSO_PATH, **fixed, cv=folds, n_jobs=n_jobs)
    search.fit(columns, y, sample_weight=design.weights)
    tick()
    options: dict[str, Any] = {"tol": 1e-10, "warm_start": True}
    options["max_iter"] = _LASSO_PATH["max_iter"]
    final = Lasso(search.alpha_, **options, **fixed)
    final.coef_ = search.coef_
    final.fit(columns, y, sample_weight=design.weights)
    kept = np.flatnonzero(final.coef_)
    return SelectedModel(
        [terms[j] for j in kept],
        "lasso",
        coef=final.coef_[kept],
        intercept=float(final.intercept_),
        folds=folds,
        errors=search.mse_path_[np.argmin(np.abs(search.alphas_ - search.alpha_))],
    )


def sparsest_of_the_best(
    errors: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[int, int]:
    """Positions of the sparsest model near the best, and of the best."""
    # Near is within a standard error of the differences by sample. Errors are those of
    # held-out samples, (n_models, n_samples), by models from the sparsest on.
    means = np.average(errors, axis=1, weights=weights)
    best = int(np.argmin(means))
    differences = errors - errors[best]
    excess = means - means[best]
    variance = np.average((differences - excess[:, None]) ** 2, axis=1, weights=weights)
    spread = np.sqrt(variance / weights.sum())
    sparsest = int(np.flatnonzero(excess <= spread)[0])
    return sparsest, best


def _errors_of(
    parts: Sequence[RegularizationPath],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Squared errors of held-out samples by model, and sample weights."""
    length = max(len(part.errors) for part in parts)
    errors = np.concatenate(
        [[part.error(position) for position in range(length)] for part in parts], axis=1
    )
    weights = np.concatenate(
        [
            np.ones(len(y)) if weights is None else weights
            for _, y, weights in (part.validation for part in parts)
        ]
    )
    return errors, weights


def _ebic(design: Design, y: NDArray[np.float64], terms: list[Term]) -> float:
    """Extended BIC of the least squares model with these terms."""
    model = ActiveSet.of(design, y, terms)
    n = design.weight_sum
    variance = max(model.rms**2, rounding_variance(y), np.finfo(float).tiny)
    fit = n * np.log(variance)
    return (
        fit
        + len(model) * np.log(n)
        + 2 * choice_length(terms, design.n_features, design.variants)
    )


def shorter(chosen: SelectedModel, search: Pursuit) -> SelectedModel:
    """Prefer the significant terms of the search of all samples, if shorter."""
    # Folds have fewer samples. Where these are too few to recover a function that all
    # samples recover, no model of the folds predicts anything, and validation keeps few
    # terms. The description is that of the data by the terms and their weights.
    design, y = search.design, search.model.y
    found = [term for term in search.model.terms if term]
    found = Pursuit(design, y, search.control, start=found).significant_terms()
    if set(found) == set(chosen.terms):
        return chosen

    def length(terms: list[Term]) -> float:
        graph = WalshPolynomial.sort(terms, np.zeros(len(terms)), 0.0)
        return SparseModel.condition(graph, design, y).description_length()

    # Shrunken weights predict better than the same terms without a penalty.
    margin = PATH.min_gain_over_lasso if chosen.how == "lasso" else 0.0
    if length(found) + margin >= length(chosen.terms):
        return chosen
    errors = None
    if chosen.folds is not None:
        errors = fold_errors(design, y, found, chosen.folds)
    return SelectedModel(found, "whole", folds=chosen.folds, errors=errors)


def fold_errors(
    design: Design, y: NDArray[np.float64], terms: list[Term], folds: Folds
) -> NDArray[np.float64]:
    """Out-of-fold mean squared errors of known terms, by fold."""
    return np.array([_fold_error(design, y, terms, *fold) for fold in folds])


def _fold_error(
    design: Design,
    y: NDArray[np.float64],
    terms: list[Term],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> float:
    """Mean squared error on held-out samples of known terms."""
    part, held = design.take(train), design.take(test)
    model = ActiveSet.of(part, y[train], terms)
    columns: Any = held.columns(model.terms)
    fitted = held.combine(columns, model.coef)
    return np.average((y[test] - fitted) ** 2, weights=held.weights)
