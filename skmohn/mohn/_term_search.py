"""Search for the products of columns that predict a target: numbers or classes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skmohn._core._categories import Categories
from skmohn._core._fitting import warn_caller
from skmohn._core._rows import are_signs
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._validation import require_memory
from skmohn.mohn._design.design import make_design, product_columns
from skmohn.mohn._design.plane_design import Planes
from skmohn.mohn._design.terms import in_order, with_kept
from skmohn.mohn._models import FitResult
from skmohn.mohn._options import FitSettings, Report
from skmohn.mohn._sparse.exact_fit import ExactFitTest
from skmohn.mohn._sparse.logistic_selection import (
    choose_products,
    deal_folds,
    learn_on_folds,
)
from skmohn.mohn._sparse.model_selection import PATH
from skmohn.mohn._sparse.pursuit import Pursuit, PursuitControl
from skmohn.mohn._sparse.solve import solve_pursuit
from skmohn.mohn._table.coding import InputCoding, UncodedInputs
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._table.term_names import require_sets
from skmohn.mohn._training_data import Strategy, TrainingData, read_training_data

_REASONS = {
    "cv": "k-fold validation of the log loss chose how many products to keep",
    "ebic": "the extended BIC chose how many products to keep",
    "stopped": "a callback stopped the search",
}


_EXACT = "the classes are an exact function of these products"

# Of samples, settings and a function to report to.
TermSearch: TypeAlias = Callable[[TrainingData, FitSettings, Report], FitResult]
# The same, with terms of the start and most terms before the last.
_Search: TypeAlias = Callable[
    [TrainingData, FitSettings, list[Term], float, Report], FitResult
]


def expand(samples: TrainingData) -> TrainingData:
    """Samples with an input for each category, and without levels."""
    # Members of the term names keep their numbers.
    inputs = expand_rows(samples.rows, samples.coding)
    return samples._replace(
        rows=EncodedRows(
            inputs, np.empty((len(inputs), 0), dtype=int), group=samples.rows.group
        ),
        term_names=samples.term_names.without_levels(),
    )


def can_code_for_terms(coding: InputCoding) -> bool:
    """Whether no column is expanded, so that terms are products of coded columns."""
    return not coding.plain_alphabets


def expand_rows(rows: EncodedRows, coding: InputCoding) -> NDArray:
    """Inputs, and one of -1 and +1 for each category of each categorical."""
    # An unknown category is the mean over all that it could be. int8 when all are -1 or
    # +1.
    if isinstance(rows.inputs, Planes | UncodedInputs):  # in the place of an array
        return rows.inputs
    blocks = [rows.inputs]
    for categorical, alphabet in enumerate(coding.plain_alphabets):
        of_each = np.vstack([np.eye(alphabet.size), alphabet.probability])
        known = 2.0 * of_each - 1.0
        blocks.append(known[rows.categories[:, categorical]])
    inputs = np.hstack(blocks) if len(blocks) > 1 else rows.inputs
    if not coding.has_numeric and are_signs(inputs):
        inputs = inputs.astype(np.int8, copy=False)
    return inputs


def solve_terms(
    samples: TrainingData, settings: FitSettings, report: Report, *, find: TermSearch
) -> FitResult:
    """Find products of inputs and of categories."""
    return find(expand(samples), settings, report)


def find_by_kind(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Find products by pursuit for numbers, for classes by the logistic score."""
    find = find_by_pursuit if samples.classes is None else find_by_score
    return find(samples, settings, report)


def find_by_score(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Find products by forward search with the logistic score."""
    return _search(_by_score, samples, settings, report)


def find_exact_or_by_score(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Find products of which the classes are a function, else by forward search."""
    terms = _find_exact(samples, settings)
    if terms is None:
        return find_by_score(samples, settings, report)
    # Folds select nothing here: they show how large the weights should be.
    selection = learn_on_folds(samples, terms, "cv", settings.cv)
    if report({"n_terms": len(terms)}, terms):
        selection = selection._replace(how="stopped")
    return FitResult(terms, _EXACT, [], selection=selection, is_exact=True)


def find_by_pursuit(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Find products by pursuit of the target, or of the indicator of each class."""
    return _search(_by_pursuit, samples, settings, report)


def find_all(samples: TrainingData, settings: FitSettings, report: Report) -> FitResult:
    """All products up to `max_order`, none with two categories of a categorical."""
    return _take_terms(all_terms(samples, settings), samples, settings, report)


def find_given(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Terms of the parameter `terms`, which is required."""
    if settings.terms is None:
        raise ValueError('strategy="given" needs terms, a list of sets of columns')
    return _take_terms(read_terms(samples, settings), samples, settings, report)


def _search(
    find: _Search, samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Find products that are not in the start."""
    n_inputs = samples.inputs.shape[1]
    start = [(i,) for i in range(n_inputs)] if settings.include_inputs else []
    start = in_order({*start, *read_terms(samples, settings)})
    max_terms = _room(settings, len(start))
    if not n_inputs:
        return FitResult([], "no column of X varies: there are no products", [])
    return find(samples, settings, start, max_terms, report)


def _room(settings: FitSettings, n_start: int) -> float:
    """Number of products that may be found."""
    if settings.max_terms is None:
        return np.inf
    if settings.max_terms < n_start:
        raise ValueError(
            f"max_terms={settings.max_terms} is less than the {n_start} inputs of X "
            "and terms given: raise it, or leave the inputs out with "
            "include_inputs=False"
        )
    return settings.max_terms - n_start


# ----------------------------------------------------------------- requested


def _take_terms(
    terms: list[Term], samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Terms that the user lists, and models of classes on folds."""
    if settings.max_terms is not None and len(terms) > settings.max_terms:
        raise ValueError(
            f"strategy={settings.strategy!r} has {len(terms)} terms, more than "
            f"max_terms={settings.max_terms}"
        )
    selection = None
    if samples.classes is not None:
        n_models = 1 + len(deal_folds(samples, settings.selection, settings.cv))
        n_bytes = 8.0 * len(terms) * len(samples.inputs) * n_models
        if n_bytes > settings.memory_budget:
            raise MemoryError(
                f"the columns of {len(terms):,} terms on all folds need {n_bytes:.3g} "
                f"bytes, more than memory_budget={settings.memory_budget:.3g}: raise "
                'it, lower max_order or set selection="ebic", which needs no folds'
            )
        selection = learn_on_folds(samples, terms, settings.selection, settings.cv)
    report({"n_terms": len(terms)}, terms)
    return FitResult(terms, "the requested terms", [], selection=selection)


def all_terms(samples: TrainingData, settings: FitSettings) -> list[Term]:
    """All products up to `max_order`, none with two categories of a categorical."""
    term_names = samples.term_names
    n_categoricals = term_names.n_categoricals
    order = min(settings.max_order or n_categoricals, n_categoricals)
    n_terms = sum(term_names.count(k) for k in range(1, order + 1))
    require_memory(
        8.0 * n_terms * len(samples.inputs),
        f'strategy="full" with {n_terms:,} columns up to order {order}',
        "lower max_order or use a strategy that searches",
    )
    groups = term_names.groups
    return [
        term
        for k in range(1, order + 1)
        for term in combinations(range(len(groups)), k)
        if len(set(groups[list(term)])) == k
    ]


def read_terms(samples: TrainingData, settings: FitSettings) -> list[Term]:
    """Terms of the parameter `terms`, checked; none for None."""
    if settings.terms is None:
        return []
    found = [samples.term_names.find(given, "terms")[1] for given in settings.terms]
    require_sets(found, list(settings.terms), settings.max_order)
    return in_order(found)


# ------------------------------------------------------------------- searched


def _by_score(
    samples: TrainingData,
    settings: FitSettings,
    start: list[Term],
    max_terms: float,
    report: Report,
) -> FitResult:
    """Forward search by the logistic score."""
    if samples.classes is None:
        raise ValueError(
            'strategy="logistic" needs classes, but y holds numbers: use '
            'strategy="pursuit", or target_type="classes" if they are labels'
        )
    selection, coverage = choose_products(samples, settings, start, max_terms, report)
    reason, terms = _REASONS[selection.how], in_order(selection.terms)
    return FitResult(terms, reason, coverage, selection=selection)


def _find_exact(samples: TrainingData, settings: FitSettings) -> list[Term] | None:
    """Products that the classes are an exact function of, beyond chance."""
    inputs, labels, _ = samples.data
    # Of numbers and of missing values no polynomial has two values.
    is_two_valued = not isinstance(inputs, Planes) and inputs.dtype == np.int8
    if samples.is_wide or not is_two_valued:
        return None
    limits = settings.max_order, settings.work_budget, settings.memory_budget
    n_classes = len(samples.classes)
    terms = find_exact_products(inputs, labels, n_classes, *limits)
    groups = samples.term_names.groups
    if terms and any(len(set(groups[list(term)])) < len(term) for term in terms):
        return None  # products of categories of the same column
    return terms


def _by_pursuit(
    samples: TrainingData,
    settings: FitSettings,
    start: list[Term],
    max_terms: float,
    report: Report,
) -> FitResult:
    """Pursuit of the target, or of the indicator of each class."""
    inputs, target, weight = samples.data
    targets = [target]
    if samples.classes is not None:
        indicators = np.eye(len(samples.classes))[target].T
        # Of two classes one determines the other.
        targets = indicators[1:] if len(indicators) == 2 else indicators
    narrower = _for_pursuit(samples, settings)
    posed = read_training_data(
        inputs.astype(float),
        targets[0],
        weight,
        task="regression",
        strategy=Strategy({"regression": solve_pursuit}),
        settings=narrower,
        seed=check_random_state(samples.seed).randint(2**31),
        categories=Categories({}, "error"),
        unit=1.0,
        groups=samples.rows.group,
        is_coded=True,
    )
    weights = np.ones(len(inputs)) if weight is None else weight
    present = set(start)
    strength: dict[Term, float] = {}
    terms: list[Term] = []
    reasons, warnings, coverage = [], [], {}
    for values in targets:
        solution = solve_pursuit(posed._replace(y=values), narrower, _go_on)
        found = [posed.term_names.label(term) for term in solution.terms]
        reasons.append(solution.stopping_reason)
        warnings += filter(None, [solution.warning])
        for row in solution.coverage:
            coverage.setdefault(row["order"], row)
        scale = max(_deviations(values, weights), 1e-300)
        spread = _deviations(product_columns(inputs, found), weights)
        strengths = (np.abs(solution.coef) * spread / scale).tolist()
        for term, value in zip(found, strengths, strict=True):
            if term not in present:
                strength[term] = max(value, strength.get(term, 0.0))
        terms = _strongest(strength, start, max_terms)
        if report({"n_terms": len(terms)}, terms):
            break
    for warning in dict.fromkeys(warnings):
        warn_caller(warning, ConvergenceWarning)
    selection = None
    if samples.classes is not None:
        selection = learn_on_folds(samples, terms, settings.selection, settings.cv)
    coverage = with_kept(coverage.values(), terms)
    reason = "; ".join(dict.fromkeys(reasons))
    return FitResult(terms, reason, coverage, selection=selection)


def _for_pursuit(samples: TrainingData, settings: FitSettings) -> FitSettings:
    """Settings of the pursuit, where more is open to it."""
    selection, folds = settings.selection, samples.folds
    if selection == "auto":  # not the lasso, which keeps many
        few = len(np.unique(samples.inputs, axis=0)) < PATH.min_rows
        selection = "ebic" if few else "cv"
    return replace(
        settings,
        strategy="pursuit",
        terms=read_terms(samples, settings) or None,
        selection=selection,
        cv=settings.cv if folds is None else folds,
    )


def _go_on(*args: object) -> bool:
    """Report nothing, and do not stop."""
    return False


def _strongest(
    strength: dict[Term, float], start: list[Term], max_terms: float
) -> list[Term]:
    """Start and the products that hold the largest fractions of a target."""
    best = sorted(strength, key=lambda term: (-strength[term], len(term), term))
    return in_order(start + best[: int(min(max_terms, len(best)))])


def _deviations(columns: NDArray, weights: NDArray[np.float64]) -> Any:
    """Standard deviations of the columns of an array, or of a vector."""
    weights = weights / weights.sum()
    return np.sqrt(weights @ (columns - weights @ columns) ** 2)


@dataclass(frozen=True)
class ExactClassConstants:
    """Search for an exact description of classes."""

    # Rounds of the pursuit; those of functions that it finds are fewer than ten.
    max_rounds: int = tuned(50, "cost")


_EXACT_CLASSES = ExactClassConstants()


def find_exact_products(
    inputs: NDArray,  # (n_samples, n_features); -1 or +1
    labels: NDArray[np.intp],  # (n_samples,)
    n_classes: int,
    max_order: int | None,
    work_budget: float,
    memory_budget: float,
) -> list[Term] | None:
    """Find products whose sums are the indicators of all classes; None for none."""
    # Equal rows count once: of further ones with the same label nothing follows about
    # the function. With different labels there is none.
    rows, first, number = np.unique(
        inputs, axis=0, return_index=True, return_inverse=True
    )
    if not np.array_equal(labels[first][number.ravel()], labels):
        return None
    design = make_design(rows)
    n_features = design.n_features
    control = PursuitControl(
        max_order=min(max_order or n_features, n_features),
        max_rounds=_EXACT_CLASSES.max_rounds,
        work_budget=work_budget,
        memory_budget=memory_budget,
    )
    found: set[Term] = set()
    # Of two classes one indicator determines the other.
    for label in range(1 if n_classes == 2 else 0, n_classes):
        indicator = np.where(labels[first] == label, 1.0, -1.0)
        test = ExactFitTest(rows, indicator)
        # No model is shorter than that of one product of all inputs.
        if not test.is_significant([tuple(range(n_features))]):
            return None
        search = Pursuit(design, indicator, control)
        if search.run() != "exact":
            return None
        terms = [term for term in search.model.terms if term]
        if not test.is_significant(terms):
            return None
        found.update(terms)
    return in_order(found)
