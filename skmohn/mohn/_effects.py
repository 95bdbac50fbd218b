"""Effects of columns: Sobol indices, and changes in the target's unit."""

# Everything that is said of columns is read from here: Sobol indices, importances,
# unused columns and the table of effects. Columns vary independently of each other,
# each as it was distributed in the rows of the fit, or evenly where that is asked for.

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm, qmc

from skmohn._core._categories import column_names
from skmohn._core._options import control_of
from skmohn._core._tuned import tuned
from skmohn.mohn._base import Table
from skmohn.mohn._glm_solve import GLMModel
from skmohn.mohn._gp.classification import LINES
from skmohn.mohn._models import Model
from skmohn.mohn._sparse.sobol import contrast_rows
from skmohn.mohn._stacking import SparseClassModel, StackedClassModel
from skmohn.mohn._table.coding import CATEGORIES, NUMERIC, ONE_HOT, InputCoding
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._table.target import moments
from skmohn.mohn._table.term_names import TermNames
from skmohn.mohn._table.variables import Contrast, Marginals, Variable
from skmohn.mohn._training_data import TrainingData

OBSERVED, UNIFORM = "observed", "uniform"
# Ends of a 95 % interval, in standard errors.
NORMAL_INTERVAL: Final = norm.ppf([0.025, 0.975])
# Sentences on effects, and the least fraction of variance of their columns.
_MAX_SENTENCES: Final = 5
_MIN_FRACTION: Final = 0.01
# Of a column that changes no mean: ratio, its interval, change and its error.
_NO_RATIO: Final = (1.0, 1.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class EffectConstants:
    """Effects on a transformed target, of which nothing is a sum."""

    # Rows for which a mean is computed, which take n_rows^2 operations each.
    max_evaluations: int = tuned(2**14, "cost")
    min_evaluations: int = tuned(2**11, "cost")
    n_easy_rows: int = tuned(1000, "cost")
    # Sums over pairs of rows up to which HTML waits for effects.
    n_easy_operations: float = tuned(3e7, "cost")
    # Rows of a table of effects, and those whose draws are joint.
    n_rows_effects: int = tuned(256, "cost")
    # Of rates, whose averages depend on the few largest, and whose rows cost little.
    n_rows_rates: int = tuned(2048, "cost")
    n_rows_drawn: int = tuned(32, "cost")
    n_draws: int = tuned(100, "cost")
    # Nodes on the path to a row's log-odds, enough for probabilities of 1e-10.
    n_nodes: int = tuned(64, "rounding")


_EFFECTS = EffectConstants()
# A column, the number of its variable, and both ends of a move, as inputs and
# categories and as users write them.
_Move: TypeAlias = tuple[int, int, tuple[float, int], tuple[float, int], Any, Any]
# A column, both ends of a move as users write them, and its effect.
_Effect: TypeAlias = tuple[int, Any, Any, Sequence[Any]]


def measure(
    samples: TrainingData,
    model: Model | SparseClassModel | StackedClassModel | GLMModel,
    terms: Sequence[tuple[Any, ...]],
) -> Marginals:
    """Measure the distributions of columns of a fit: all, or those of the terms."""
    inputs = None
    # Other members of an ensemble have all columns.
    if model.is_sparse and len(getattr(model, "members", [model])) == 1:
        members = {m for term in samples.term_names.indices(terms) for m in term}
        n_inputs = samples.inputs.shape[1]
        inputs = np.array(sorted(m for m in members if m < n_inputs), dtype=int)
    known = samples.rows, samples.coding, samples.sample_weight, inputs
    # Of transformed targets, classes and log means more than moments is asked for.
    has_link = hasattr(model, "members") or isinstance(model, GLMModel)
    with_values = has_link or getattr(model, "is_transformed", False)
    return Marginals.of(*known, with_values=with_values)


def marginals_of(estimator: object, distribution: str) -> Marginals | None:
    """Marginals of columns; None for uniform ones, as of weights without data."""
    return getattr(estimator, "_marginals", None) if distribution == OBSERVED else None


def split_sobol(
    estimator: Any, distribution: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[tuple[int, ...]]]:
    """Sobol indices of each variable, and the columns of each."""
    marginals, model = marginals_of(estimator, distribution), estimator.model_
    variables, columns = estimator.term_names_.columns(marginals)
    if model.is_transformed:
        first, total = _MeanOfTarget(estimator, variables, marginals).indices()
    else:
        variance, *parts = model.sobol_variances(variables)
        first, total = (part / (variance or 1.0) for part in parts)
    return first, total, columns


def tabulate_sobol(estimator: Any, distribution: str = OBSERVED) -> Table:
    """List the Sobol indices of each column of a model of one target."""
    if distribution not in (OBSERVED, UNIFORM):
        raise ValueError(
            f"distribution={distribution!r} is neither 'observed' nor 'uniform'"
        )
    *parts, columns = split_sobol(estimator, distribution)
    indices = np.zeros((2, estimator.n_features_in_))
    for own, *part in zip(columns, *parts, strict=True):
        indices[:, own] = np.array(part)[:, None]
    return {
        "feature": column_names(estimator),
        "first_order": indices[0].tolist(),
        "total": indices[1].tolist(),
    }


def tabulate_effects(estimator: Any, n_columns: int | None = None) -> Table:
    """List what moving each column does to the target, the most important first."""
    # Of `n_columns` of them, the most important ones.
    table = tabulate_sobol(estimator)
    marginals = marginals_of(estimator, OBSERVED)
    variables, columns = estimator.term_names_.columns(marginals)
    moves = _list_moves(estimator, variables, columns, marginals)
    if n_columns is not None:
        kept = set(np.argsort(table["total"])[-n_columns:].tolist())
        moves = [move for move in moves if move[0] in kept]
    means, stds = _effects(
        estimator, variables, marginals, [move[1:4] for move in moves]
    )
    effects = np.transpose([means, stds])
    total = table["total"]
    rows = [
        (table["feature"][j], table["first_order"][j], total[j], start, end, *effect)
        for j, start, end, effect in _rank_moves(moves, effects, total, (0.0, 0.0))
    ]
    titles = "feature", "first_order", "total", "from", "to", "effect", "standard_error"
    return _to_table(titles, rows)


def describe_effects(estimator: Any) -> list[str]:
    """Sentences on what moving the most important columns does to the target."""
    # Where that would take seconds, and with several targets, there are none.
    model, n_rows = estimator.model_, len(estimator.outliers_)
    n_operations = 0 if model.is_sparse else n_rows**2 * estimator.n_features_in_
    if model.is_transformed or n_operations > _EFFECTS.n_easy_operations:
        return []
    table = tabulate_effects(estimator, _MAX_SENTENCES)
    rows = zip(*table.values(), strict=True)
    sentences = [
        _describe_effect(*row)
        for row in rows
        if row[2] > _MIN_FRACTION and row[3] is not None
    ]
    return sentences[:_MAX_SENTENCES]


def _describe_effect(
    feature: str,
    first: float,
    total: float,
    start: Any,
    end: Any,
    change: float,
    error: float,
) -> str:
    """Sentence on one move of a column, from a row of the table of effects."""
    low, high = (f"{x:g}" if isinstance(x, float) else x for x in (start, end))
    interacts = ", most of it in interactions" if first < total / 2.0 else ""
    spread = "" if math.isnan(error) else f" (standard error {error:.2g})"
    return (
        f"{feature} from {low} to {high}: {change:+.3g} on average{spread}; "
        f"{total:.0%} of the variance{interacts}"
    )


def importances_of_classes(estimator: Any) -> NDArray[np.float64]:
    """Total Sobol index of each column for the log-odds of the classes."""
    marginals, model = marginals_of(estimator, OBSERVED), estimator.model_
    if len(model.members) == 1:
        return model.importances(estimator.term_names_, marginals)
    variables, columns = estimator.term_names_.columns(marginals)
    _, total = _Classes(estimator, variables, marginals).indices()
    importances = np.zeros(estimator.n_features_in_)
    for own, value in zip(columns, total.tolist(), strict=True):
        importances[list(own)] = value
    return importances


def tabulate_class_effects(estimator: Any) -> Table:
    """List effects of moves on the probabilities, the most important column first."""
    total = importances_of_classes(estimator).tolist()
    names, labels = column_names(estimator), estimator.classes_.tolist()
    kept = range(len(labels))[1 if len(labels) == 2 else 0 :]
    nothing = np.zeros((len(labels), 4)).tolist()
    rows = [
        (names[j], total[j], start, end, labels[k], *effect[k])
        for j, start, end, effect in _rank_effects(estimator, _Classes, total, nothing)
        for k in kept
    ]
    titles = ["feature", "total", "from", "to", "class", "effect", "standard_error"]
    return _to_table([*titles, "log_odds", "log_odds_error"], rows)


def tabulate_rate_ratios(estimator: Any) -> Table:
    """List effects of moves on the mean of the target, the most important first."""
    total = estimator.feature_importances_.tolist()
    names = column_names(estimator)
    rows = [
        (names[j], total[j], start, end, *effect)
        for j, start, end, effect in _rank_effects(estimator, _Rates, total, _NO_RATIO)
    ]
    titles = ["feature", "total", "from", "to", "rate_ratio", "ci_low", "ci_high"]
    return _to_table([*titles, "effect", "standard_error"], rows)


def _rank_effects(
    estimator: Any,
    kind: "type[_Classes | _Rates]",
    total: Sequence[float],
    nothing: Sequence[Any],
) -> list[_Effect]:
    """Effects of moves on what a class of averages computes, ranked."""
    marginals = marginals_of(estimator, OBSERVED)
    variables, columns = estimator.term_names_.columns(marginals)
    moves = _list_moves(estimator, variables, columns, marginals)
    # Columns that the model has not change nothing.
    moved = [move[1:4] if total[move[0]] else None for move in moves]
    effects = kind(estimator, variables, marginals).effects(moved)
    return _rank_moves(moves, np.asarray(effects), total, nothing)


def _rank_moves(
    moves: Sequence[_Move],
    effects: NDArray[np.float64],
    total: Sequence[float],
    nothing: Sequence[Any],  # the effect of a column that has no move
) -> list[_Effect]:
    """Moves and their effects, those of the most important column first."""
    found: list[list[_Effect]] = [[] for _ in total]
    for (column, *_, start, end), effect in zip(moves, effects.tolist(), strict=True):
        found[column].append((column, start, end, effect))
    order = sorted(range(len(total)), key=lambda j: -total[j])
    return [one for j in order for one in found[j] or [(j, None, None, nothing)]]


def _to_table(titles: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Table:
    """Columns of rows by their titles."""
    return dict(zip(titles, map(list, zip(*rows, strict=True)), strict=True))


def split_ensemble(
    model: StackedClassModel,
    term_names: TermNames,
    rows: EncodedRows,
    classes: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float]:
    """Contributions of columns to a row's score by the other models of an ensemble."""
    # The score is no sum over members, but along the straight path from log-odds of 0
    # to theirs each of its steps is: their slopes, averaged over the path, are weights
    # of their log-odds, whose parts are then those of the score (integrated gradients:
    # Sundararajan, Taly and Yan, Axiomatic attribution for deep networks, ICML 2017).
    log_odds = np.array([member.log_odds(rows)[0] for member in model.members])
    slopes, score = _average_slopes(log_odds, model.ensemble_weights, classes)
    changes = -_split_member(model.shown or model.gp, term_names, rows, classes)
    for member, slope in zip(model.members, slopes, strict=True):
        changes += _split_member(member, term_names, rows, slope)
    return changes, score


def _average_slopes(
    log_odds: NDArray[np.float64],
    ensemble_weights: NDArray[np.float64],
    classes: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float]:
    """Mean slopes of an ensemble's score by its members' log-odds, and the score."""
    # Slopes are (n_members, n_classes), averaged over a path to these log-odds.
    nodes, lengths = np.polynomial.legendre.leggauss(_EFFECTS.n_nodes)
    path = np.append((nodes + 1.0) / 2.0, 1.0)[:, None, None] * log_odds
    log_proba = log_softmax(path, axis=2)
    with np.errstate(divide="ignore"):
        joint = log_proba + np.log(ensemble_weights)[:, None]
    averaged: Any = logsumexp(joint, axis=1, keepdims=True)
    parts = classes * np.exp(joint - averaged)
    slopes = parts - np.exp(log_proba) * parts.sum(axis=2, keepdims=True)
    mean: Any = np.tensordot(lengths / 2.0, slopes[:-1], 1)
    return mean, float(averaged[-1, 0] @ classes)


def _split_member(
    member: Any, term_names: TermNames, rows: EncodedRows, classes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Contributions of columns to a sum of one member's log-odds, (n_features,)."""
    if getattr(member, "is_sparse", False):
        values, _ = member.parts(rows, term_names)
        terms, weights = member.listed_model.terms, member.listed_model.weights
        # Of two classes the first has the log-odds 0.
        parts = values * (classes[-len(weights) :] @ weights)
        nothing = np.zeros(len(term_names.variables()))
        return term_names.distribute_others(terms, -parts, nothing)
    if hasattr(member, "whole"):
        term_names = term_names.without_levels()
        contributions = member.split(rows, term_names, classes)
    else:
        if member.numeric == LINES:
            term_names = term_names.without_levels()
        contributions = member.split(rows, classes)
    return term_names.distribute_others([], np.zeros(0), contributions)


def _list_moves(
    estimator: Any,
    variables: list[Variable],
    columns: list[tuple[int, ...]],
    marginals: Marginals | None,
) -> list[_Move]:
    """Moves of columns, from which value to which."""
    # Returned are the column, its variable, and both ends, as inputs and categories and
    # as values of the table.
    coding, names = estimator.coding_, column_names(estimator)
    kind, moves, ends = coding.kind, [], np.full((2, len(coding.kind)), np.nan)
    measured = {} if marginals is None else marginals.ends
    # Genotypes are coded less their means, and not by their ends.
    is_table = getattr(estimator, "_variants", None) is None
    for number, (variable, own) in enumerate(zip(variables, columns, strict=True)):
        column = own[0]
        if kind[column] in (CATEGORIES, ONE_HOT):
            common, second, *_ = np.argsort(-variable.frequency, kind="stable").tolist()
            labels = [names[j] for j in own]
            if kind[column] == CATEGORIES:
                labels = estimator.categories_[column].tolist()
            for category, label in enumerate(labels):
                other = common
                if category == common:
                    if kind[column] == CATEGORIES:
                        continue
                    other = second
                index = own[category] if kind[column] == ONE_HOT else column
                move = (0.0, other), (0.0, category)
                moves.append((index, number, *move, labels[other], label))
        elif is_table or variable.input in measured:
            low, high = _ends(coding, column, variable, measured)
            ends[:, column] = _decode(coding, column, np.array([low[0], high[0]]))
            moves.append((column, number, low, high, None, None))
    written = estimator._categories.decode(ends)
    for k, (column, number, low, high, start, _) in enumerate(moves):
        if start is None:
            moves[k] = column, number, low, high, *written[:, column].tolist()
    return moves


def _ends(
    coding: InputCoding,
    column: int,
    variable: Variable,
    measured: Mapping[int | None, NDArray[np.float64]],
) -> list[tuple[float, int]]:
    """Ends of an input's move, with their levels."""
    ends = measured.get(variable.input, np.array([-1.0, 1.0]))
    levels = [0, 0]
    if variable.categorical is not None:
        edges = coding.coded_thresholds(column)
        levels = np.searchsorted(edges, ends, side="right").tolist()
    return list(zip(ends.tolist(), levels, strict=True))


def _decode(
    coding: InputCoding, column: int, inputs: NDArray[np.float64]
) -> list[float]:
    """Values of a column that inputs are coded from, but for rounding."""
    low, high = coding.low[column], coding.high[column]
    values = low * (0.5 - 0.5 * inputs) + high * (0.5 + 0.5 * inputs)
    # Rounding errors are in proportion to the ends of the line.
    size = math.floor(math.log10(max(abs(low), abs(high))))
    n_digits = np.finfo(float).precision - 1 - size
    # No zero has a sign.
    return [round(value, n_digits) + 0.0 for value in values.tolist()]


def _effects(
    estimator: Any,
    variables: list[Variable],
    marginals: Marginals | None,
    wanted: Sequence[Contrast],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and standard errors of what moves do, in the target's unit."""
    model = estimator.model_
    if model.is_transformed:
        return _MeanOfTarget(estimator, variables, marginals).effects(wanted)
    means, stds = model.contrasts(variables, wanted)
    if model.is_sparse and not model.has_posterior:
        stds = _independent_errors(estimator, variables, wanted)
    return means, stds


def _independent_errors(
    estimator: Any, variables: list[Variable], wanted: Sequence[Contrast]
) -> NDArray[np.float64]:
    """Standard errors of effects where those of weights are known, one by one."""
    graph, errors = estimator.model_.polynomial, estimator.standard_errors_
    rows = contrast_rows(graph.n_variables, variables, wanted)
    squares = np.zeros(len(wanted))
    for term, error in zip(graph.terms, errors.tolist(), strict=True):
        start, end = (part[:, list(term)].prod(axis=1) for part in rows)
        # An unknown error is none of those that do not move.
        moved = end != start
        squares[moved] += (error * (end - start)[moved]) ** 2
    return np.sqrt(squares)


class _Averages(ABC):
    """Function of rows whose effects no sum over terms or rows gives."""

    # It is averaged over rows with low discrepancy, whose columns are independent: the
    # Sobol indices are estimated as Saltelli et al. do, Variance based sensitivity
    # analysis of model output, Computer Physics Communications 181, 2010, Table 2 (b,
    # f).

    def __init__(
        self, estimator: Any, variables: list[Variable], marginals: Marginals | None
    ) -> None:
        self.model, self.variables = estimator.model_, variables
        self.marginals = marginals
        coding = estimator.coding_
        self.shape = len(coding.usable), len(coding.categoricals)
        self.edges = {
            k: coding.coded_thresholds(own[0])
            for k, own in enumerate(coding.categoricals)
            if own[0] in coding.thresholds
        }
        kinds = coding.kind[coding.usable]
        self.is_numeric = (kinds == NUMERIC).tolist()

    @abstractmethod
    def _values(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the function at points of the unit cube."""

    @abstractmethod
    def _n_observed(self) -> float:
        """Number of observations on which the cost of an evaluation depends."""

    def indices(self) -> Any:
        """First-order and total indices of each variable."""
        n_variables = len(self.variables)
        if not n_variables:
            return np.zeros((2, 0))
        n_easy = _EFFECTS.n_easy_rows / max(self._n_observed(), _EFFECTS.n_easy_rows)
        n_points = max(_EFFECTS.max_evaluations * n_easy**2, _EFFECTS.min_evaluations)
        n_rows = 2 ** max(int(math.log2(n_points / (n_variables + 2))), 4)
        points = self._points(n_rows, 2 * n_variables)
        one, other = points[:, :n_variables], points[:, n_variables:]
        values, others = self._values(one), self._values(other)
        variance = float(np.var(np.concatenate([values, others]), axis=0).sum())
        first, total = np.zeros((2, n_variables))
        if not variance:
            return first, total
        for i in range(n_variables):
            mixed = one.copy()
            mixed[:, i] = other[:, i]
            moved = self._values(mixed)
            first[i] = np.mean(others * (moved - values), axis=0).sum() / variance
            total[i] = np.mean((moved - values) ** 2, axis=0).sum() / (2.0 * variance)
        return np.clip(first, 0.0, total), total

    def _points(self, n_rows: int, n_columns: int) -> NDArray[np.float64]:
        """Points of low discrepancy in the unit cube, moved by one draw."""
        rng = np.random.default_rng(0)
        if n_columns > qmc.Sobol.MAXDIM:
            return rng.random((n_rows, n_columns))
        points = qmc.Sobol(n_columns, scramble=False).random(n_rows)
        return (points + rng.random(n_columns)) % 1.0

    def _rows(self, points: NDArray[np.float64]) -> EncodedRows:
        """Rows whose variables are at quantiles of their distributions."""
        n_inputs, n_categoricals = self.shape
        inputs = np.zeros((len(points), n_inputs))
        categories = np.zeros((len(points), n_categoricals), dtype=int)
        for variable, column in zip(self.variables, points.T, strict=True):
            i, k, frequency, mean, _ = variable
            level = np.searchsorted(np.cumsum(frequency)[:-1], column, side="right")
            if i is None:
                categories[:, k] = level
            elif not self.is_numeric[i]:
                inputs[:, i] = np.where(column < 0.5 - 0.5 * mean[0], -1.0, 1.0)
            else:
                inputs[:, i] = 2.0 * column - 1.0
                # Inputs that the model does not have are not measured.
                if self.marginals is not None and i in self.marginals.values:
                    values = self.marginals.values[i]
                    inputs[:, i] = values[(column * len(values)).astype(int)]
                if k is not None:
                    edges = self.edges[k]
                    categories[:, k] = np.searchsorted(edges, inputs[:, i], "right")
        return EncodedRows(inputs, categories)


class _MeanOfTarget(_Averages):
    """Mean of a transformed target."""

    def __init__(
        self, estimator: Any, variables: list[Variable], marginals: Marginals | None
    ) -> None:
        super().__init__(estimator, variables, marginals)
        self.clip = control_of(estimator, "gp_options").clip

    def effects(
        self, wanted: Sequence[Contrast]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means of what moves do, and standard deviations by draws of the function."""
        model, rng = self.model, np.random.default_rng(0)
        rows = self._rows(self._points(_EFFECTS.n_rows_effects, len(self.variables)))
        few = rows.take(slice(_EFFECTS.n_rows_drawn))
        noise_std = model.noise_std()
        means, stds = np.empty((2, len(wanted)))
        for k, (number, *ends) in enumerate(wanted):
            variable = self.variables[number]
            start, end = (
                model.predictive_mean(_moved(rows, variable, index), self.clip)
                for index in ends
            )
            means[k] = np.mean(end - start)
            both = _moved(few, variable, ends[0]).join(_moved(few, variable, ends[1]))
            draws = model.sample_latent(both, _EFFECTS.n_draws, rng).ravel()
            draws, _ = moments(model.transform, draws, np.full(len(draws), noise_std))
            start, end = draws.reshape(2, len(few), _EFFECTS.n_draws)
            stds[k] = np.std(np.mean(end - start, axis=0))
        return means, stds

    def _n_observed(self) -> float:
        # A sum of lines costs the same however many rows it was learned from.
        return getattr(self.model, "n_observed", 0.0)

    def _values(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.model.predictive_mean(self._rows(points), self.clip)


class _Classes(_Averages):
    """Log-odds and probabilities of classes, by one model or by an ensemble."""

    def effects(self, wanted: Sequence[Contrast | None]) -> NDArray[np.float64]:
        """Effects of moves on probabilities and log-odds, with standard errors."""
        # In an ensemble one member is right: these are standard deviations of draws of
        # a member and of its function.
        members, ensemble_weights = self.model.members, self.model.ensemble_weights
        rows = self._rows(self._points(_EFFECTS.n_rows_effects, len(self.variables)))
        few = rows.take(slice(_EFFECTS.n_rows_drawn))
        samplers = [member.sampler() for member in members]
        found: list[Any] = [np.zeros((self.n_classes, 4))] * len(wanted)
        for k, move in enumerate(wanted):
            if move is None:
                continue
            both = self._both(rows, move)
            log_proba = np.array([member.log_proba(both) for member in members])
            mean, apart = _change(self._average(log_proba)), _change(log_proba)
            both, variance = self._both(few, move), np.zeros_like(mean)
            rng = np.random.default_rng(0)
            for sampler, weight, own in zip(
                samplers, ensemble_weights, apart, strict=True
            ):
                draws = log_softmax(sampler(both, _EFFECTS.n_draws, rng), axis=2)
                spread = np.var(_change(draws.swapaxes(0, 1)), axis=0)
                variance += weight * (spread + (own - mean) ** 2)
            found[k] = np.stack([mean, np.sqrt(variance)], axis=2).reshape(-1, 4)
        return np.reshape(found, (len(wanted), self.n_classes, 4))

    @property
    def n_classes(self) -> int:
        """Number of classes, of which one may have no weights of its own."""
        n_outputs = self.model.listed_model.weights.shape[0]
        return max(n_outputs, 2)

    def _both(self, rows: EncodedRows, move: Contrast) -> EncodedRows:
        """Rows before a move, then after it."""
        number, *ends = move
        start, end = (_moved(rows, self.variables[number], index) for index in ends)
        return start.join(end)

    def _average(self, log_proba: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log probabilities by all members, from those by each."""
        joint = log_proba + np.log(self.model.ensemble_weights)[:, None, None]
        return np.asarray(logsumexp(joint, axis=0))

    def _n_observed(self) -> float:
        members = self.model.members
        return sum(len(getattr(member, "rows", ())) for member in members)

    def _values(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log-odds: of the second of two classes, or log probabilities of all."""
        log_odds = self.model.log_odds(self._rows(points))
        if self.n_classes > 2:
            return log_odds
        return log_odds[:, 1:] - log_odds[:, :1]


class _Rates(_Averages):
    """Mean of a target with a log link, for an exposure of 1."""

    def effects(
        self, wanted: Sequence[Contrast | None]
    ) -> list[tuple[float, float, float, float, float]]:
        """Ratios of averages by moves, with intervals, and changes, with errors."""
        rows = self._rows(self._points(_EFFECTS.n_rows_rates, len(self.variables)))
        return [
            _NO_RATIO if move is None else self._compare(rows, move) for move in wanted
        ]

    def _compare(
        self, rows: EncodedRows, move: Contrast
    ) -> tuple[float, float, float, float, float]:
        """Ratio and change of the average rate by one move, by the delta method."""
        number, *ends = move
        means, slopes = [], []
        for end in ends:
            moved = _moved(rows, self.variables[number], end)
            log_rates = self.model.log_rates(moved)
            rates = np.exp(log_rates - log_rates.max())
            means.append(float(log_rates.max() + np.log(rates.mean())))
            slopes.append(rates / rates.sum() @ self.model.columns(moved))
        log_ratio, start, end = means[1] - means[0], *np.exp(means)
        errors = np.full(2, np.nan)
        if self.model.root is not None:
            gradients = [slopes[1] - slopes[0], end * slopes[1] - start * slopes[0]]
            errors = np.linalg.norm(gradients @ self.model.root, axis=1)
        low, high = np.exp(log_ratio + NORMAL_INTERVAL * errors[0])
        return float(np.exp(log_ratio)), low, high, float(end - start), float(errors[1])

    def _n_observed(self) -> float:
        return 0.0

    def _values(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(self.model.log_rates(self._rows(points)))


def _change(log_proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean change of probabilities, and of one-against-all log-odds, by a move."""
    rest = [
        logsumexp(np.delete(log_proba, k, axis=-1), axis=-1)
        for k in range(log_proba.shape[-1])
    ]
    both = np.stack([np.exp(log_proba), log_proba - np.stack(rest, axis=-1)], axis=-1)
    start, end = np.split(both, 2, axis=-3)
    return np.mean(end - start, axis=-3)


def _moved(
    rows: EncodedRows, variable: Variable, index: tuple[float, int]
) -> EncodedRows:
    """Copy of rows with one variable at one value."""
    inputs, categories = rows.inputs.copy(), rows.categories.copy()
    if variable.input is not None:
        inputs[:, variable.input] = index[0]
    if variable.categorical is not None:
        categories[:, variable.categorical] = index[1]
    return EncodedRows(inputs, categories)
