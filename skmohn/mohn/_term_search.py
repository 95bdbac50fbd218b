"""Which products of columns say most about a target: numbers or classes."""

from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skmohn._core._categories import Categories
from skmohn._core._fitting import warn_caller
from skmohn._core._names import name_columns
from skmohn._core._rows import are_signs
from skmohn._core._validation import require_memory
from skmohn.mohn._design.design import product_columns
from skmohn.mohn._design.plane_design import Planes
from skmohn.mohn._design.terms import in_order, with_kept
from skmohn.mohn._genotypes import encode, learn_coding
from skmohn.mohn._sparse.logistic import LogisticControl
from skmohn.mohn._sparse.logistic_selection import (
    choose_products,
    deal_folds,
    learn_on_folds,
)
from skmohn.mohn._sparse.model_selection import FEWEST_ROWS
from skmohn.mohn._strategies import STRATEGIES
from skmohn.mohn._table.coding import NUMERIC
from skmohn.mohn._table.columns import find_one_hot
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._table.term_names import TermNames, require_sets
from skmohn.mohn._training_data import (
    TrainingData,
    read_samples,
    require_groups,
    wanted_folds,
    weigh_classes,
)

# Of numeric columns for Gaussian processes of classes: steps that are narrower show
# where few classes meet, and cost little.
_FEWEST_LEVELS, _MOST_LEVELS = 16, 64
_ROWS_PER_LEVEL = 20

_REASONS = {
    "cv": "k-fold validation of the log loss chose how many products to keep",
    "ebic": "the extended BIC chose how many products to keep",
    "stopped": "a callback stopped the search",
}


class Found(NamedTuple):
    """Products that were found.

    Attributes
    ----------
    terms : list of tuples of int
        Sorted by size, then by inputs.

    reason : str
        Why these, in plain words.

    coverage : list of dict

    choice : LogisticChoice or None
        What is known of logistic models on folds.
    """

    terms: list
    reason: str
    coverage: list
    choice: object = None

    @property
    def result(self):
        """What a search reports last."""
        return self.terms


def code_samples(
    X,
    y,
    weight,
    *,
    settings,
    seed,
    categories,
    columns=None,
    split_params=None,
    groups=None,
    has_levels=False,
    one_hot=None,
    factor=None,
):
    """Weigh and code the samples of a fit.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), or Genotypes
        Numbers of categories in categorical columns; NaN where unknown.

    y : tuple of (target, classes)
        Classes are None for numbers.

    weight : array-like of shape (n_samples,) or None

    settings : Wishes

    seed : int

    categories : Categories
        Of the categorical columns.

    columns : sequence of str, default=None
        Their names, where they have any.

    split_params : dict, default=None
        What the splitter `cv` asks for beside, such as groups.

    groups : ndarray of shape (n_samples,), int, default=None
        Numbers of groups of samples that belong together.

    has_levels : bool, default=False
        Whether numeric columns have levels, the more the more rows there are.

    one_hot : "auto", sequence of sequences, or None, default=None
        Groups of columns that are one categorical, see `find_one_hot`.

    factor : ndarray of shape (n_samples,), default=None
        Weight of the class of each sample.

    Returns
    -------
    samples : Samples
    """
    target, classes = y
    names = name_columns(columns, X.shape[1])
    weight, count, given, rows = weigh_classes(weight, factor, X)
    is_classes = classes is not None
    folds = wanted_folds(settings.cv, X, target, rows, is_classes, split_params, groups)
    if groups is not None:
        groups = groups[rows]
        require_groups(groups)
    if len(rows) < len(X):
        X, target = X[rows], target[rows]
    one_hot = find_one_hot(X, one_hot, categories.encoders, names)
    if is_classes:
        classes, target = _occurring(classes, target)
    n_categories = {j: len(part) for j, part in categories.known().items()}
    most_levels = _most_levels(X) if has_levels else 1
    coding = learn_coding(X, n_categories, one_hot, most_levels)
    return TrainingData(
        # All weights at once are learned from numbers.
        replace(encode(coding, X, as_bytes=not has_levels), group=groups),
        target,
        weight,
        count,
        given,
        classes,
        folds=folds,
        seed=seed,
        coding=coding,
        term_names=TermNames(coding, categories, columns),
    )


def _most_levels(X):
    """Levels of a numeric column; repeated rows are one, as weights are."""
    # Missing values are equal.
    n_rows = len(np.unique(np.nan_to_num(X, nan=np.inf), axis=0))
    return int(np.clip(n_rows // _ROWS_PER_LEVEL, _FEWEST_LEVELS, _MOST_LEVELS))


def _occurring(classes, target):
    """The classes that there are samples of, and their numbers."""
    present, target = np.unique(target, return_inverse=True)
    if len(present) < 2:
        raise ValueError(
            f"y has only one class, {classes[present[0]]}; at least two are needed"
        )
    return classes[present], target


def expand(samples):
    """The samples with an input for each category, and without levels.

    Parameters
    ----------
    samples : Samples
        From :func:`code_samples`.

    Returns
    -------
    samples : Samples
        Members of its vocabulary have the numbers that they had.
    """
    inputs = expand_rows(samples.rows, samples.coding)
    return samples._replace(
        rows=EncodedRows(
            inputs, np.empty((len(inputs), 0), dtype=int), group=samples.rows.group
        ),
        term_names=samples.term_names.without_levels(),
    )


def expand_rows(rows, coding):
    """Inputs, and one of -1 and +1 for each category of each categorical.

    Parameters
    ----------
    rows : Rows

    coding : InputCoding

    Returns
    -------
    inputs : ndarray of shape (n_samples, n_inputs), or Planes
        An unknown category is the mean over all that it could be. int8 when all are -1
        or +1.
    """
    if isinstance(rows.inputs, Planes):
        return rows.inputs
    blocks = [rows.inputs]
    for categorical, (size, _) in enumerate(coding.without_levels().alphabets):
        known = np.vstack([2.0 * np.eye(size) - 1.0, np.full(size, 2.0 / size - 1.0)])
        blocks.append(known[rows.categories[:, categorical]])
    inputs = np.hstack(blocks) if len(blocks) > 1 else rows.inputs
    if np.all(coding.kind != NUMERIC) and are_signs(inputs):
        inputs = inputs.astype(np.int8, copy=False)
    return inputs


def discover(samples, settings, report):
    """Find products by the strategy that is wished for.

    Parameters
    ----------
    samples : Samples

    settings : Wishes

    report : callable
        Called with a record and the terms so far; a true return value ends the search.

    Returns
    -------
    found : Found
    """
    return FINDERS[settings.strategy](samples, settings, report)


def _by_kind(samples, settings, report):
    """The default strategy for numbers, or for classes."""
    kind = "pursuit" if samples.classes is None else "logistic"
    return discover(samples, replace(settings, strategy=kind), report)


def _search(find, samples, settings, report):
    """Find products that are not in the start."""
    n_inputs = samples.inputs.shape[1]
    start = [(i,) for i in range(n_inputs)] if settings.include_inputs else []
    start = in_order({*start, *_read_terms(samples, settings)})
    most = _room(settings, len(start))
    if not n_inputs:
        return Found([], "no column of X varies: there are no products", [])
    return find(samples, settings, start, most, report)


def _room(settings, n_start):
    """How many products may be found."""
    if settings.max_terms is None:
        return np.inf
    if settings.max_terms < n_start:
        raise ValueError(
            f"max_terms={settings.max_terms} is less than the {n_start} inputs of X "
            "and terms given: raise it, or leave the inputs out with "
            "include_inputs=False"
        )
    return settings.max_terms - n_start


# ----------------------------------------------------------------- asked for


def _ask_for(find, samples, settings, report):
    terms = find(samples, settings)
    if settings.max_terms is not None and len(terms) > settings.max_terms:
        raise ValueError(
            f"strategy={settings.strategy!r} has {len(terms)} terms, more than "
            f"max_terms={settings.max_terms}"
        )
    choice = None
    if samples.classes is not None:
        n_models = 1 + len(deal_folds(samples, settings.selection, settings.cv))
        n_bytes = 8.0 * len(terms) * len(samples.inputs) * n_models
        if n_bytes > settings.memory_budget:
            raise MemoryError(
                f"the columns of {len(terms):,} terms on all folds need {n_bytes:.3g} "
                f"bytes, more than memory_budget={settings.memory_budget:.3g}: raise "
                'it, lower max_order or set selection="ebic", which needs no folds'
            )
        choice = learn_on_folds(samples, terms, settings.selection, settings.cv)
    report({"n_terms": len(terms)}, terms)
    return Found(terms, "the requested terms", [], choice)


def _all_terms(samples, settings):
    """All products up to `max_order`, none with two categories of a categorical."""
    term_names = samples.term_names
    most = term_names.n_categoricals
    order = min(settings.max_order or most, most)
    n_terms = sum(term_names.count(k) for k in range(1, order + 1))
    require_memory(
        8.0 * n_terms * len(samples.inputs),
        f'strategy="full" with {n_terms:,} columns up to order {order}',
        "lower max_order or search for the products that matter",
    )
    groups = term_names.groups
    return [
        term
        for k in range(1, order + 1)
        for term in combinations(range(len(groups)), k)
        if len(set(groups[list(term)])) == k
    ]


def _given_terms(samples, settings):
    """The parameter `terms`, which has to be there."""
    if settings.terms is None:
        raise ValueError('strategy="given" needs terms, a list of sets of columns')
    return _read_terms(samples, settings)


def _read_terms(samples, settings):
    """The parameter `terms`, checked; none where there is none."""
    if settings.terms is None:
        return []
    found = [samples.term_names.find(given, "terms")[1] for given in settings.terms]
    require_sets(found, list(settings.terms), settings.max_order)
    return in_order(found)


# ------------------------------------------------------------------- searched


def _by_score(samples, settings, start, most, report):
    """Forward search by the logistic score."""
    if samples.classes is None:
        raise ValueError(
            'strategy="logistic" needs classes, but y holds numbers: use '
            'strategy="pursuit", or target_type="classes" if they are labels'
        )
    n_categoricals = samples.term_names.n_categoricals
    control = LogisticControl(
        max_order=min(settings.max_order or n_categoricals, n_categoricals),
        most=most,
        work_budget=settings.work_budget,
        groups=samples.term_names.groups,
        start=tuple(start),
    )

    def tell(path, position, loss):
        record = {
            "n_terms": path.sizes[position],
            "training_log_loss": path.deviances[position],
            "validation_log_loss": loss,
        }
        return report(record, in_order(path.model(position)))

    choice = choose_products(
        samples,
        control,
        selection=settings.selection,
        cv=settings.cv,
        max_rounds=settings.max_iter,
        memory_budget=settings.memory_budget,
        n_jobs=settings.n_jobs,
        watch=settings.watch,
        report=tell,
    )
    reason = _REASONS[choice.how]
    return Found(in_order(choice.terms), reason, choice.coverage, choice)


def _by_regression(samples, settings, start, most, report):
    """A strategy of MOHNRegressor on the target, or on the indicator of each class."""
    inputs, target, weight = samples.data
    targets = [target]
    if samples.classes is not None:
        indicators = np.eye(len(samples.classes))[target].T
        # Of two classes one says it all.
        targets = indicators[1:] if len(indicators) == 2 else indicators
    strategy, narrower = (
        STRATEGIES[settings.strategy],
        _for_regression(samples, settings),
    )
    posed = read_samples(
        inputs.astype(float),
        targets[0],
        weight,
        None,
        strategy=strategy,
        settings=narrower,
        seed=check_random_state(samples.seed).randint(2**31),
        categories=Categories({}, "error"),
        unit=1.0,
        groups=samples.rows.group,
    )
    weights = np.ones(len(inputs)) if weight is None else weight
    present = set(start)
    strength, reasons, warnings, coverage = {}, [], [], {}
    for values in targets:
        solution = strategy.solve(posed._replace(y=values), narrower, _go_on)
        graph = solution.graph
        found = [posed.term_names.label(term) for term in graph.terms]
        reasons.append(solution.reason)
        warnings += filter(None, [solution.warning])
        for row in solution.coverage:
            coverage.setdefault(row["order"], row)
        scale = max(_deviations(values, weights), 1e-300)
        spread = _deviations(product_columns(inputs, found), weights)
        strengths = (np.abs(graph.coef) * spread / scale).tolist()
        for term, value in zip(found, strengths, strict=True):
            if term not in present:
                strength[term] = max(value, strength.get(term, 0.0))
        terms = _strongest(strength, start, most)
        if report({"n_terms": len(terms)}, terms):
            break
    for warning in dict.fromkeys(warnings):
        warn_caller(warning, ConvergenceWarning)
    choice = None
    if samples.classes is not None:
        choice = learn_on_folds(samples, terms, settings.selection, settings.cv)
    coverage = with_kept(coverage.values(), terms)
    return Found(terms, "; ".join(dict.fromkeys(reasons)), coverage, choice)


def _for_regression(samples, settings):
    """What is asked of the regression, where more is open to it."""
    selection, folds = settings.selection, samples.folds
    if selection == "auto":  # not the lasso, which keeps many
        few = len(np.unique(samples.inputs, axis=0)) < FEWEST_ROWS
        selection = "ebic" if few else "cv"
    return replace(
        settings,
        terms=_read_terms(samples, settings) or None,
        selection=selection,
        cv=settings.cv if folds is None else folds,
    )


def _go_on(*args):
    """Report to nobody, and do not stop."""
    return False


def _strongest(strength, start, most):
    """The start and the products that hold the largest fractions of a target."""
    best = sorted(strength, key=lambda term: (-strength[term], len(term), term))
    return in_order(start + best[: int(min(most, len(best)))])


def _deviations(columns, weights):
    """Standard deviations of the columns of an array."""
    weights = weights / weights.sum()
    return np.sqrt(weights @ (columns - weights @ columns) ** 2)


# What each strategy calls: of `TrainingData`, `FitSettings` and a function to report
# to.
FINDERS = {
    "auto": _by_kind,
    "logistic": partial(_search, _by_score),
    "pursuit": partial(_search, _by_regression),
    "full": partial(_ask_for, _all_terms),
    "given": partial(_ask_for, _given_terms),
}
