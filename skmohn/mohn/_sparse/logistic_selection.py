"""How many products the classes support.

A path on all samples and one on each fold grow side by side; the log loss on the
samples that a fold leaves out says how far to go. Where samples are too few to set some
aside, the extended BIC does (Chen and Chen, Biometrika 95 (2008), gamma 1).
"""

from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold

from skmohn._core._fitting import no_progress
from skmohn.mohn._design.design import make_design, number_rows
from skmohn.mohn._design.terms import choice_length, with_kept
from skmohn.mohn._sparse.logistic import SEARCH_C, LogisticControl, LogisticPath
from skmohn.mohn._sparse.model_selection import FEWEST_ROWS, sparsest_of_the_best
from skmohn.mohn._sparse.pair_cache import PairCache, run_together
from skmohn.mohn._table.rows import join_groups

# Penalties that are compared when the logistic regression is to choose its own.
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 10.0)
# Each model has this many times the products of the one before.
_GROWTH = 1.25
# Models in a stage.
_STAGE = 5
# Standard errors by which products that chance could explain must lower the loss.
_CLEARLY = 2.0
# Standard errors by which the last model is worse than the best where a search ends.
_HOPELESS = 3.0
# Models after the best where it ends in any case.
_PATIENCE = 12
# Log-odds times these: what the penalty shrinks alike in all models is no difference.
_TEMPERATURES = (0.5, 1.0, 2.0, 4.0, 8.0)
# Nats that make no difference: 1 in 1000 for a class that is certain.
_NEGLIGIBLE = 1e-3
# Products per sample at the end of the path.
_LONGEST_PATH = 0.3


class LogisticChoice(NamedTuple):
    """Products that separate classes.

    Attributes
    ----------
    terms : list of tuples of int
        Those of the start first, the others as they were found.

    how : {"cv", "ebic", "stopped", "given"}
        What chose them.

    coverage : list of dict
        Per order: how many sets there are, were scored and are kept.

    folds : list of LogisticPath
        One for each fold, for further questions; empty without validation.

    position : int
        Of the model on the paths.

    held : list of ndarray, int
        The samples that each fold leaves out.
    """

    terms: list
    how: str
    coverage: list
    folds: list
    position: int
    held: list

    def losses_left_out(self, n_samples, C):
        """Log loss of each sample by the model of the fold that leaves it out.

        Parameters
        ----------
        n_samples : int

        C : float
            The penalty of these models.

        Returns
        -------
        losses : ndarray of shape (n_samples,)
            NaN of samples that no fold leaves out.
        """
        losses = np.full(n_samples, np.nan)
        for rows, path in zip(self.held, self.folds, strict=True):
            losses[rows] = path.refit_losses(self.position, C)
        return losses

    def best_penalty(self):
        """The C of the least log loss on held-out samples; the search's without."""
        if not self.folds:
            return SEARCH_C
        weights = np.concatenate([path.validation[1] for path in self.folds])
        losses = [
            np.concatenate([path.refit_losses(self.position, C) for path in self.folds])
            for C in PENALTIES
        ]
        return PENALTIES[int(np.argmin(np.average(losses, axis=1, weights=weights)))]


def choose_products(
    samples,
    control,
    *,
    selection="auto",
    cv=5,
    max_rounds=200,
    memory_budget=1e9,
    n_jobs=None,
    watch=no_progress,
    report,
):
    """Search for products and decide how many of them to keep.

    Parameters
    ----------
    samples : Samples
        With classes.

    control : LogisticControl

    selection : {"auto", "cv", "ebic"}, default="auto"

    cv : int, default=5
        Number of folds, unless the samples bring their own.

    max_rounds : int, default=200
        Most models of a path, beside the first.

    memory_budget : float, default=1e9
        Bytes that the columns on all paths may take.

    n_jobs : int, default=None
        Folds searched at once; parts of the pairs of a wide table.

    watch : callable, default=unwatched
        Hears of passes over all pairs, see `FitSettings`.

    report : callable
        Called with the path, the position of a model on it and its mean validation
        loss, or None, after each model; a true return value ends the search.

    Returns
    -------
    choice : LogisticChoice
    """
    design = make_design(samples.inputs)
    pair_cache = PairCache(design, n_jobs, watch) if samples.is_wide else None
    path = _path(design, samples, control, pair_cache)
    folds = deal_folds(samples, selection, cv)
    room = memory_budget / (8.0 * len(samples.inputs) * (len(folds) + 1))
    longest = min(_LONGEST_PATH * path.weights.sum(), room - len(control.start))
    sizes = _sizes_up_to(int(min(control.most, max(longest, 1))))[:max_rounds]
    parts = [_fold(design, samples, control, *fold, pair_cache) for fold in folds]
    held = [test for _, test in folds]
    shown = 0
    for start in range(0, max(len(sizes), 1), _STAGE):
        stage = sizes[start : start + _STAGE]
        if pair_cache is None:
            path.extend(stage)
            for part in parts:
                # Orders in which all samples show nothing are left alone.
                part.frontier.max_screened = path.frontier.highest_productive_order
            workers = Parallel(n_jobs=n_jobs)
            parts = workers(delayed(part.extend)(stage) for part in parts)
        else:
            run_together([(p.pairs, p.steps(stage)) for p in (path, *parts)])
        ended = path.is_full
        if parts:
            losses, weights = _losses_of(parts, len(path.sizes))
            chosen, best = _judge(path, losses, weights)
            means = np.average(losses, axis=1, weights=weights).tolist()
            ended |= _in_errors(losses[-1] - losses[best], weights) > _HOPELESS
        else:
            scores = [_ebic(path, position) for position in range(len(path.sizes))]
            chosen = best = int(np.argmin(scores))
            means = [None] * len(path.sizes)
        while shown < len(path.sizes):
            if report(path, shown, means[shown]):
                return _settle(path, parts, shown, "stopped", held)
            shown += 1
        if ended or best < shown - _PATIENCE:
            break
    return _settle(path, parts, chosen, "cv" if parts else "ebic", held)


def deal_folds(samples, selection, cv):
    """Folds with the same fraction of each class in which equal rows stay together.

    Parameters
    ----------
    samples : Samples

    selection : {"auto", "cv", "ebic"}

    cv : int

    Returns
    -------
    folds : list of (train, test)
        None at all where the extended BIC is to judge.
    """
    inputs, labels, sample_weight = samples.data
    groups = number_rows(inputs)
    n_rows = groups.max() + 1
    groups = join_groups(groups, samples.rows.group)
    if selection == "ebic" or (selection == "auto" and n_rows < FEWEST_ROWS):
        return []
    if samples.folds is not None:
        return samples.folds
    # A group has the class that most of its weight has.
    votes = np.zeros((groups.max() + 1, len(samples.classes)))
    np.add.at(votes, (groups, labels), 1.0 if sample_weight is None else sample_weight)
    votes = votes.argmax(axis=1)
    n_folds = min(cv, np.bincount(votes).max())
    if n_folds < 2:
        return []
    dealer = StratifiedKFold(n_folds, shuffle=True, random_state=samples.seed)
    return [
        tuple(np.flatnonzero(np.isin(groups, part)) for part in fold)
        for fold in dealer.split(votes, _with_rare_ones_joined(votes, n_folds))
    ]


def _with_rare_ones_joined(labels, n_folds):
    """Join classes that have no member for each fold, if need be with the largest.

    A class that is too rare for all folds is left out of some.
    """
    counts = np.bincount(labels)
    is_rare = counts[labels] < n_folds
    is_enough = is_rare.sum() >= n_folds
    return np.where(is_rare, -1 if is_enough else counts.argmax(), labels)


def learn_on_folds(samples, terms, selection, cv):
    """Models with given products on each fold, to compare penalties.

    Parameters
    ----------
    samples : Samples

    terms : list of tuples of int

    selection, cv : as for :func:`choose_products`

    Returns
    -------
    choice : LogisticChoice
    """
    control = LogisticControl(1, 0, 0.0, np.arange(0), tuple(terms))
    folds = deal_folds(samples, selection, cv)
    design = make_design(samples.inputs)
    parts = [_fold(design, samples, control, *fold) for fold in folds]
    return LogisticChoice(terms, "given", [], parts, 0, [test for _, test in folds])


def _path(design, samples, control, pair_cache):
    """The path of all samples."""
    return LogisticPath(
        design,
        samples.y,
        samples.weight,
        len(samples.classes),
        control,
        pairs=pair_cache and pair_cache.whole,
    )


def _fold(design, samples, control, train, test, pair_cache=None):
    (own, *data), held = (
        (
            design.take(rows),
            samples.y[rows],
            None if samples.weight is None else samples.weight[rows],
        )
        for rows in (train, test)
    )
    view = pair_cache and pair_cache.view(own, train)
    return LogisticPath(own, *data, len(samples.classes), control, held, view)


def _losses_of(parts, length):
    """Log losses of the held-out samples by model, and weights of the samples.

    All at the temperature with the least of all losses.
    """
    weights = np.concatenate([part.validation[1] for part in parts])
    losses = np.array(
        [
            [
                np.concatenate([part.losses(position, t) for part in parts])
                for position in range(length)
            ]
            for t in _TEMPERATURES
        ]
    )
    least = np.average(losses, axis=2, weights=weights).min(axis=1)
    return np.maximum(losses[least.argmin()], _NEGLIGIBLE), weights


def _judge(path, losses, weights):
    """Which model to take, and which has the least loss.

    Where products that chance could explain lower the loss significantly, everything
    matters a little: the best model is taken. Otherwise the sparsest that is within a
    standard error of it, without such products.
    """
    sparsest, best = sparsest_of_the_best(losses, weights)
    beyond = _last_beyond_chance(path)
    if beyond < best:
        gain = losses[beyond] - losses[best]
        if _in_errors(gain, weights) > _CLEARLY:
            return best, best
    return min(sparsest, beyond), best


def _last_beyond_chance(path):
    """The last model before the first that adds what chance could explain."""
    by_chance = np.flatnonzero(np.array(path.ratios) < 1)
    return int(by_chance[0]) - 1 if by_chance.size else len(path.ratios) - 1


def _in_errors(differences, weights):
    """Mean of differences in standard errors."""
    mean = np.average(differences, weights=weights)
    variance = np.average((differences - mean) ** 2, weights=weights) / weights.sum()
    return mean / np.sqrt(max(variance, 1e-300))


def _ebic(path, position):
    """Extended BIC of one model; what all models have costs nothing."""
    n = path.weights.sum()
    found = path.model(position)[len(path.control.start) :]
    n_weights = len(found) * max(path.indicators.shape[1] - 1, 1)
    code = choice_length(found, path.design.n_features, path.design.variants)
    return 2 * n * path.deviances[position] + n_weights * np.log(n) + 2 * code


def _settle(path, parts, position, how, held):
    terms = path.model(position)
    coverage = with_kept(path.frontier.coverage(), terms)
    return LogisticChoice(terms, how, coverage, parts, position, held)


def _sizes_up_to(most):
    """Numbers of products that models are learned with, from 1 on."""
    sizes = [0]
    while sizes[-1] < most:
        sizes.append(min(max(sizes[-1] + 1, int(_GROWTH * sizes[-1])), most))
    return sizes[1:]
