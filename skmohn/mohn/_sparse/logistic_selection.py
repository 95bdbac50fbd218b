"""Number of products that classes, counts or positive targets support."""

# A path on all samples and one on each fold grow side by side; the out-of-fold log loss
# determines the size. With too few samples for folds, the extended BIC does (Chen and
# Chen, Biometrika 95 (2008), gamma 1).

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from skmohn._core._copies import join_near_rows
from skmohn._core._rows import row_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import (
    BitPlanes,
    Design,
    find_equal,
    make_design,
    number_rows,
)
from skmohn.mohn._design.terms import choice_length, in_order, with_kept
from skmohn.mohn._models import Folds, SelectedModel
from skmohn.mohn._options import FitSettings
from skmohn.mohn._sparse.glm import GLMPath, Response
from skmohn.mohn._sparse.logistic import (
    LOGISTIC_SEARCH,
    LogisticControl,
    LogisticPath,
    ScorePath,
    Validation,
)
from skmohn.mohn._sparse.model_selection import PATH, sparsest_of_the_best
from skmohn.mohn._sparse.pair_cache import PairCache, Search, run_together
from skmohn.mohn._training_data import TrainingData


@dataclass(frozen=True)
class LogisticSelectionConstants:
    """Choice of a model of classes by validation."""

    # Penalties that are compared for C="auto".
    penalties: tuple[float, ...] = tuned(
        (0.01, 0.03, 0.1, 0.3, 1.0, 10.0), "benchmarks/ablation.py"
    )
    # Ratio of the sizes of consecutive models.
    growth: float = tuned(1.25, "benchmarks/ablation.py")
    # Models in a stage.
    n_models_per_stage: int = tuned(5, "benchmarks/ablation.py")
    # Standard errors by which products within chance must lower the loss.
    n_errors_better: float = tuned(2.0, "benchmarks/ablation.py")
    # Standard errors by which the last model is worse than the best where a search
    # ends.
    n_errors_worse: float = tuned(3.0, "benchmarks/ablation.py")
    # Models after the best at which it ends in any case.
    patience: int = tuned(12, "benchmarks/ablation.py")
    # Factors of the log odds: shrinkage common to all models is no difference.
    temperatures: tuple[float, ...] = tuned(
        (0.5, 1.0, 2.0, 4.0, 8.0), "benchmarks/ablation.py"
    )
    # Digits of projections of rows that are compared: more would show rounding errors.
    n_digits: int = tuned(9, "rounding")
    # Nats of loss that are negligible: 1 in 1000 for a class that is certain.
    min_loss: float = tuned(1e-3, "benchmarks/ablation.py")
    # Products per sample at the end of the path.
    max_weights_fraction: float = tuned(0.3, "benchmarks/ablation.py")


LOGISTIC_SELECTION = LogisticSelectionConstants()


def held_out_losses(
    selection: SelectedModel, n_samples: int, C: float
) -> NDArray[np.float64]:
    """Out-of-fold log loss of each sample at a penalty; NaN in no fold."""
    losses = np.full(n_samples, np.nan)
    for (_, test), path in zip(selection.folds or [], selection.paths, strict=True):
        losses[test] = path.refit_losses(selection.position, C)
    return losses


def best_penalty(selection: SelectedModel) -> float:
    """C with the least out-of-fold log loss; the search's without folds."""
    if not selection.paths:
        return LOGISTIC_SEARCH.C
    weights = np.concatenate([path.validation[1] for path in selection.paths])
    losses = [
        np.concatenate(
            [path.refit_losses(selection.position, C) for path in selection.paths]
        )
        for C in LOGISTIC_SELECTION.penalties
    ]
    return LOGISTIC_SELECTION.penalties[
        int(np.argmin(np.average(losses, axis=1, weights=weights)))
    ]


def choose_products(
    samples: TrainingData,
    settings: FitSettings,
    start: Sequence[Term],
    max_weights: float,
    report: Callable[[dict[str, Any], list[Term]], bool],
) -> tuple[SelectedModel, list[dict[str, Any]]]:
    """Search for products and choose their number."""
    # `start` are products of all models, with at most `max_weights` beside them, or as
    # many as there are where that is infinite.
    # A path has at most `max_iter` models after the first; the columns on all paths
    # take at most `memory_budget` bytes. `report` is called after each model with a
    # record and its products; True ends the search. Returned are what was selected,
    # and the coverage of the search.
    control = _control(samples, settings, start, max_weights)
    n_jobs, watch = settings.n_jobs, settings.watch
    design = make_design(samples.inputs)
    pair_cache = PairCache(design, n_jobs, watch) if samples.is_wide else None
    path = _path(design, samples, control, pair_cache)
    folds = deal_folds(samples, settings.selection, settings.cv)
    room = settings.memory_budget / (8.0 * len(samples.inputs) * (len(folds) + 1))
    longest = min(
        LOGISTIC_SELECTION.max_weights_fraction * path.n_observations(),
        room - len(control.start),
    )
    largest = int(min(control.max_weights, max(longest, 1)))
    sizes = _sizes_up_to(largest)[: settings.max_iter]
    parts = [_fold(design, samples, control, *fold, pair_cache) for fold in folds]
    # Log densities, unlike probabilities, have no end.
    min_loss = -np.inf if samples.classes is None else LOGISTIC_SELECTION.min_loss
    shown = chosen = 0
    for first in range(0, max(len(sizes), 1), LOGISTIC_SELECTION.n_models_per_stage):
        stage = sizes[first : first + LOGISTIC_SELECTION.n_models_per_stage]
        if pair_cache is None:
            path.extend(stage)
            for part in parts:
                # Orders that were not productive in all samples are skipped.
                part.frontier.max_screened = path.frontier.highest_productive_order
            workers: Any = Parallel(n_jobs=n_jobs)
            parts = workers(delayed(part.extend)(stage) for part in parts)
        else:
            searches = [(p.pairs, p.steps(stage)) for p in (path, *parts)]
            run_together(cast(list[Search], searches))
        ended = path.is_full
        if parts:
            losses, weights = _losses_of(parts, len(path.sizes), min_loss)
            chosen, best = _judge(path, losses, weights)
            means = np.average(losses, axis=1, weights=weights).tolist()
            ended |= (
                _in_errors(losses[-1] - losses[best], weights)
                > LOGISTIC_SELECTION.n_errors_worse
            )
        else:
            scores = [_ebic(path, position) for position in range(len(path.sizes))]
            chosen = best = int(np.argmin(scores))
            means = [None] * len(path.sizes)
        while shown < len(path.sizes):
            record = {
                "n_terms": path.sizes[shown],
                "training_log_loss": path.deviances[shown],
                "validation_log_loss": means[shown],
            }
            if report(record, in_order(path.model(shown))):
                return _settle(path, parts, shown, "stopped", folds)
            shown += 1
        if ended or best < shown - LOGISTIC_SELECTION.patience:
            break
    return _settle(path, parts, chosen, "cv" if parts else "ebic", folds)


def _control(
    samples: TrainingData,
    settings: FitSettings,
    start: Sequence[Term],
    max_weights: float,
) -> LogisticControl:
    """Limits of a search, by the settings and columns of a fit."""
    n_categoricals = samples.term_names.n_categoricals
    return LogisticControl(
        max_order=min(settings.max_order or n_categoricals, n_categoricals),
        max_weights=max_weights,
        work_budget=settings.work_budget,
        groups=samples.term_names.groups,
        start=tuple(start),
    )


def deal_folds(samples: TrainingData, selection: str, cv: int) -> Folds:
    """Stratified folds that keep equal rows and groups together; none for the EBIC."""
    inputs, labels, sample_weight = samples.data
    if isinstance(inputs, np.ndarray):
        values = np.unique(labels, return_inverse=True)[1]
        inputs = join_near_rows(inputs, values, samples.classes is not None)
    groups = number_rows(inputs)
    n_rows = groups.max() + 1
    if samples.rows.group is not None:
        groups = samples.rows.group
    if selection == "ebic" or (selection == "auto" and n_rows < PATH.min_rows):
        return []
    if samples.folds is not None:
        return samples.folds
    n_classes = 2
    if samples.classes is None:
        # Of counts there are zeros and others, of positive targets small and large.
        middle = np.average(labels, weights=sample_weight)
        labels = labels > (0.0 if np.any(labels == 0.0) else middle)
        labels = labels.astype(int)
    else:
        n_classes = len(samples.classes)
    if samples.rows.group is None:
        groups = _number_in_any_order(groups, inputs, labels, sample_weight)
    # The class of a group is the weighted majority.
    votes = np.zeros((groups.max() + 1, n_classes))
    np.add.at(votes, (groups, labels), 1.0 if sample_weight is None else sample_weight)
    votes = votes.argmax(axis=1)
    n_folds = int(min(cv, np.bincount(votes).max()))
    if n_folds < 2:
        return []
    dealer = StratifiedKFold(n_folds, shuffle=True, random_state=samples.seed)
    return [
        (np.flatnonzero(np.isin(groups, train)), np.flatnonzero(np.isin(groups, test)))
        for train, test in dealer.split(votes, _with_rare_ones_joined(votes, n_folds))
    ]


def _number_in_any_order(
    groups: NDArray[np.intp],  # numbers of equal rows
    inputs: NDArray | BitPlanes,
    y: NDArray,
    sample_weight: NDArray[np.float64] | None,
) -> NDArray[np.intp]:
    """Number equal rows by what the order and signs of columns and of y leave alone."""
    if not isinstance(inputs, np.ndarray):
        return groups
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    weight = weight / weight.sum()
    away = y / (np.abs(y).max() or 1.0)
    factors = np.stack([weight, weight * (away - weight @ away)])
    # Once each, however often a column is there.
    used = np.unique(find_equal(inputs.T))
    slices = list(row_slices(inputs.shape))
    sums = np.zeros((2, len(used)))
    for rows in slices:
        sums += factors[:, rows] @ inputs[rows][:, used]
    projections = np.concatenate([inputs[rows][:, used] @ sums.T for rows in slices])
    keys = np.round(projections / len(used), LOGISTIC_SELECTION.n_digits)
    first = np.unique(groups, return_index=True)[1]
    order = np.lexsort([np.abs(keys[first, 1]), keys[first, 0]])
    return np.argsort(order)[groups]


def _with_rare_ones_joined(labels: NDArray[np.intp], n_folds: int) -> NDArray[np.intp]:
    """Join classes that have no member for each fold, if need be with the largest."""
    # A class that is too rare for all folds is absent from some.
    counts = np.bincount(labels)
    is_rare = counts[labels] < n_folds
    is_enough = is_rare.sum() >= n_folds
    return np.where(is_rare, -1 if is_enough else counts.argmax(), labels)


def learn_on_folds(
    samples: TrainingData, terms: list[Term], selection: str, cv: int
) -> SelectedModel:
    """Fit models of given products on each fold, to compare penalties."""
    control = LogisticControl(1, 0, 0.0, np.arange(0), tuple(terms))
    folds = deal_folds(samples, selection, cv)
    design = make_design(samples.inputs)
    parts = [_fold(design, samples, control, *fold) for fold in folds]
    return SelectedModel(terms, "given", folds, paths=parts)


def _path(
    design: Design,
    samples: TrainingData,
    control: LogisticControl,
    pair_cache: PairCache | None,
) -> ScorePath:
    """Path of all samples."""
    if samples.classes is None:
        whole = pair_cache and pair_cache.whole
        return GLMPath(design, Response.of(samples), control, pairs=whole)
    return LogisticPath(
        design,
        samples.y,
        samples.sample_weight,
        len(samples.classes),
        control,
        pairs=pair_cache and pair_cache.whole,
    )


def _fold(
    design: Design,
    samples: TrainingData,
    control: LogisticControl,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    pair_cache: PairCache | None = None,
) -> ScorePath:
    """Path of a fold's training samples, validated on its held-out samples."""

    def take(rows: NDArray[np.intp]) -> Validation:
        weight = None if samples.sample_weight is None else samples.sample_weight[rows]
        return design.take(rows), samples.y[rows], weight

    if samples.classes is None:
        own, response = design.take(train), Response.of(samples)
        view = pair_cache and pair_cache.view(own, train)
        held = design.take(test), response.take(test)
        return GLMPath(own, response.take(train), control, held, view)
    own, labels, weight = take(train)
    view = pair_cache and pair_cache.view(own, train)
    return LogisticPath(
        own, labels, weight, len(samples.classes), control, take(test), view
    )


def _losses_of(
    parts: Sequence[ScorePath],
    length: int,
    min_loss: float = LOGISTIC_SELECTION.min_loss,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Out-of-fold log losses by model, at the best temperature; sample weights."""
    weights = np.concatenate([part.validation[1] for part in parts])
    losses = np.array(
        [
            [
                np.concatenate([part.losses(position, t) for part in parts])
                for position in range(length)
            ]
            for t in LOGISTIC_SELECTION.temperatures
        ]
    )
    smallest = np.average(losses, axis=2, weights=weights).min(axis=1)
    return np.maximum(losses[smallest.argmin()], min_loss), weights


def _judge(
    path: ScorePath, losses: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[int, int]:
    """Positions of the model to take and of the one with the least loss."""
    # Where products within chance lower the loss significantly, the function is dense,
    # and the best model is taken. Otherwise the sparsest that is within a standard
    # error of it, without such products.
    sparsest, best = sparsest_of_the_best(losses, weights)
    beyond = _last_beyond_chance(path)
    if beyond < best:
        gain = losses[beyond] - losses[best]
        if _in_errors(gain, weights) > LOGISTIC_SELECTION.n_errors_better:
            return best, best
    return min(sparsest, beyond), best


def _last_beyond_chance(path: ScorePath) -> int:
    """Position of the last model before the first that adds a product within chance."""
    by_chance = np.flatnonzero(np.array(path.ratios) < 1)
    return int(by_chance[0]) - 1 if by_chance.size else len(path.ratios) - 1


def _in_errors(differences: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Mean of differences in standard errors."""
    mean = np.average(differences, weights=weights)
    variance = np.average((differences - mean) ** 2, weights=weights) / weights.sum()
    return mean / np.sqrt(max(variance, 1e-300))


def _ebic(path: ScorePath, position: int) -> float:
    """Extended BIC of one model, without terms common to all models."""
    n = path.weights.sum()
    found = path.model(position)[len(path.control.start) :]
    n_weights = len(found) * path.n_free_outputs
    code = choice_length(found, path.design.n_features, path.design.variants)
    return 2 * n * path.deviances[position] + n_weights * np.log(n) + 2 * code


def _settle(
    path: ScorePath, parts: list[ScorePath], position: int, how: str, folds: Folds
) -> tuple[SelectedModel, list[dict[str, Any]]]:
    terms = path.model(position)
    selection = SelectedModel(terms, how, folds, paths=parts, position=position)
    return selection, with_kept(path.frontier.coverage(), terms)


def _sizes_up_to(largest: int) -> list[int]:
    """Sizes of the models on a path, from 1 on."""
    sizes = [0]
    while sizes[-1] < largest:
        larger = max(sizes[-1] + 1, int(LOGISTIC_SELECTION.growth * sizes[-1]))
        sizes.append(min(larger, largest))
    return sizes[1:]
