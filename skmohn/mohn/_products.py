"""Which products of columns say most about a target: numbers or classes."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from skmohn._core._fitting import gather_warnings, warn_caller
from skmohn._core._validation import require_memory
from skmohn.mohn._controls import DenseControl
from skmohn.mohn._regressor import MOHNRegressor
from skmohn.mohn._samples import positive_weights, wanted_folds
from skmohn.mohn._sparse.logistic import LogisticControl
from skmohn.mohn._sparse.logistic_selection import (
    choose_products,
    deal_folds,
    learn_on_folds,
)
from skmohn.mohn._sparse.selection import FEWEST_ROWS
from skmohn.mohn._table.coding import NUMERIC, InputCoding
from skmohn.mohn._table.vocabulary import Vocabulary
from skmohn.mohn._walsh.design import make_design
from skmohn.mohn._walsh.terms import with_kept

_REASONS = {
    "cv": "k-fold validation of the log loss chose how many products to keep",
    "ebic": "the extended BIC chose how many products to keep",
    "stopped": "a callback stopped the search",
}


class Problem(NamedTuple):
    """What products are searched on; terms are sets of columns of `inputs`.

    Attributes
    ----------
    inputs : ndarray of shape (n_samples, n_inputs)
        Coded columns, then one of -1 and +1 for each category of each categorical.

    target : ndarray of shape (n_samples,)
        Numbers, or numbers of classes.

    sample_weight : ndarray of shape (n_samples,) or None

    classes : ndarray of shape (n_classes,) or None
        Labels; None when the target is numbers.

    folds : list of (train, test) or None
        The folds that the user wants; None for a number of them.

    seed : int

    coding : InputCoding

    vocabulary : Vocabulary
        How inputs are called.
    """

    inputs: np.ndarray
    target: np.ndarray
    sample_weight: np.ndarray | None
    classes: np.ndarray | None
    folds: list | None
    seed: int
    coding: InputCoding
    vocabulary: Vocabulary

    @property
    def samples(self):
        """Inputs, targets and weights."""
        return self.inputs, self.target, self.sample_weight


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


def pose_problem(params, X, y, sample_weight, names, *, split_params=None):
    """Weigh and code the samples of a fit.

    Parameters
    ----------
    params : MOHNTransformer or MOHNClassifier
        Its parameters and categories are read.

    X : ndarray of shape (n_samples, n_features)

    y : tuple of (target, classes)
        Classes are None for numbers.

    sample_weight : array-like of shape (n_samples,) or None

    names : sequence of str or None
        Of the columns.

    split_params : dict, default=None
        What the splitter `cv` asks for beside, such as groups.

    Returns
    -------
    problem : Problem
    """
    target, classes = y
    seed = check_random_state(params.random_state).randint(2**31)
    sample_weight, rows, _ = positive_weights(sample_weight, X)
    folds = wanted_folds(
        params.cv,
        X,
        target,
        rows,
        classifier=classes is not None,
        split_params=split_params,
    )
    if len(rows) < len(X):
        X, target = X[rows], target[rows]
    if classes is not None:
        classes, target = _occurring(classes, target)
    known = params._categories.known()
    coding = InputCoding.learn(X, {j: len(part) for j, part in known.items()})
    vocabulary = Vocabulary(coding, params._categories, names)
    return Problem(
        code_inputs(coding, X),
        target,
        sample_weight,
        classes,
        folds,
        seed,
        coding,
        vocabulary,
    )


def _occurring(classes, target):
    """The classes that there are samples of, and their numbers."""
    present, target = np.unique(target, return_inverse=True)
    if len(present) < 2:
        raise ValueError(
            f"y has one class only, {classes[present[0]]}: there is nothing to tell "
            "apart"
        )
    return classes[present], target


def code_inputs(coding, X, names=None):
    """Coded columns, and a column of -1 and +1 for each category of each categorical.

    Parameters
    ----------
    coding : InputCoding

    X : ndarray of shape (n_samples, n_features)

    names : sequence of str, default=None
        Column names for a warning of new values.

    Returns
    -------
    inputs : ndarray of shape (n_samples, n_inputs)
        An unknown category is the mean over all that it could be. int8 when all are -1
        or +1.
    """
    rows = coding.encode(X, names)
    blocks = [rows.inputs]
    for categorical, (size, _) in enumerate(coding.alphabets):
        known = np.vstack([2.0 * np.eye(size) - 1.0, np.full(size, 2.0 / size - 1.0)])
        blocks.append(known[rows.categories[:, categorical]])
    inputs = np.hstack(blocks)
    if np.all(np.abs(inputs) == 1) and np.all(coding.kind != NUMERIC):
        inputs = inputs.astype(np.int8)
    return inputs


def product_columns(inputs, terms):
    """Products of inputs, shape (n_samples, n_terms)."""
    if not terms or not len(inputs):
        return np.empty((len(inputs), len(terms)))
    design = make_design(inputs)
    return design.unpack(design.columns(terms), np.float64).T


def discover(params, problem, report):
    """Find products.

    Parameters
    ----------
    params : MOHNTransformer or MOHNClassifier
        Only its parameters are read.

    problem : Problem

    report : callable
        Called with a record and the terms so far; a true return value ends the search.

    Returns
    -------
    found : Found
    """
    strategy = params.strategy
    if strategy == "auto":
        strategy = "pursuit" if problem.classes is None else "logistic"
    if strategy in ("full", "given"):
        find = _all_terms if strategy == "full" else _given_terms
        return _ask_for(params, problem, find(params, problem), report)
    n_inputs = problem.inputs.shape[1]
    start = [(i,) for i in range(n_inputs)] if params.include_inputs else []
    most = _room(params, len(start))
    if not n_inputs:
        return Found([], "no column of X varies: there are no products", [])
    if strategy == "logistic":
        return _by_score(params, problem, start, most, report)
    return _by_regression(params, problem, strategy, start, most, report)


def _room(params, n_start):
    """How many products may be found."""
    if params.max_columns is None:
        return np.inf
    if params.max_columns < n_start:
        raise ValueError(
            f"max_columns={params.max_columns} is less than the {n_start} inputs that "
            "X has: raise it, or leave inputs out with include_inputs=False"
        )
    return params.max_columns - n_start


# ----------------------------------------------------------------- asked for


def _ask_for(params, problem, terms, report):
    if params.max_columns is not None and len(terms) > params.max_columns:
        raise ValueError(
            f"strategy={params.strategy!r} has {len(terms)} terms, more than "
            f"max_columns={params.max_columns}"
        )
    choice = None
    if problem.classes is not None:
        n_models = 1 + len(deal_folds(problem, params.selection, params.cv))
        n_bytes = 8.0 * len(terms) * len(problem.inputs) * n_models
        if n_bytes > params.memory_budget:
            raise MemoryError(
                f"the columns of {len(terms):,} terms on all folds need {n_bytes:.3g} "
                f"bytes, more than memory_budget={params.memory_budget:.3g}: raise it, "
                'lower max_order or set selection="ebic", which needs no folds'
            )
        choice = learn_on_folds(problem, terms, params.selection, params.cv)
    report({"n_terms": len(terms)}, terms)
    return Found(terms, "the terms that were asked for", [], choice)


def _all_terms(params, problem):
    """All products up to `max_order`, none with two categories of a categorical."""
    vocabulary = problem.vocabulary
    order = min(
        params.max_order or vocabulary.n_categoricals, vocabulary.n_categoricals
    )
    n_terms = sum(vocabulary.count(k) for k in range(1, order + 1))
    require_memory(
        8.0 * n_terms * len(problem.inputs),
        f'strategy="full" with {n_terms:,} columns up to order {order}',
        "lower max_order or search for the products that matter",
    )
    groups = vocabulary.groups
    return [
        term
        for k in range(1, order + 1)
        for term in combinations(range(len(groups)), k)
        if len(set(groups[list(term)])) == k
    ]


def _given_terms(params, problem):
    """The parameter `terms`, checked."""
    if params.terms is None:
        raise ValueError('strategy="given" needs terms, a list of sets of features')
    terms = [problem.vocabulary.find(term)[1] for term in params.terms]
    if not all(terms):
        raise ValueError("terms holds an empty set")
    if len(set(terms)) < len(terms):
        raise ValueError("terms holds a set more than once")
    return _in_order(terms)


# ------------------------------------------------------------------- searched


def _by_score(params, problem, start, most, report):
    """Forward search by the logistic score."""
    if problem.classes is None:
        raise ValueError(
            'strategy="logistic" tells classes apart, and y holds numbers: use '
            'strategy="pursuit", or target_type="classes" if they are labels'
        )
    n_categoricals = problem.vocabulary.n_categoricals
    control = LogisticControl(
        max_order=min(params.max_order or n_categoricals, n_categoricals),
        most=most,
        work_budget=params.work_budget,
        groups=problem.vocabulary.groups,
        start=tuple(start),
    )

    def tell(path, position, loss):
        record = {
            "n_terms": path.sizes[position],
            "training_log_loss": path.deviances[position],
            "validation_log_loss": loss,
        }
        return report(record, _in_order(path.model(position)))

    choice = choose_products(
        problem,
        control,
        selection=params.selection,
        cv=5 if params.cv is None else params.cv,
        max_rounds=params.max_iter,
        memory_budget=params.memory_budget,
        n_jobs=params.n_jobs,
        report=tell,
    )
    reason = _REASONS[choice.how]
    return Found(_in_order(choice.terms), reason, choice.coverage, choice)


def _by_regression(params, problem, strategy, start, most, report):
    """MOHNRegressor on the target, or on the indicator of each class."""
    inputs, target, sample_weight = problem.samples
    targets = [target]
    if problem.classes is not None:
        indicators = np.eye(len(problem.classes))[target].T
        # Of two classes one says it all.
        targets = indicators[1:] if len(indicators) == 2 else indicators
    selection = params.selection
    if selection == "auto":  # not the lasso, which keeps many
        few = len(np.unique(inputs, axis=0)) < FEWEST_ROWS
        selection = "ebic" if few else "cv"
    weights = np.ones(len(inputs)) if sample_weight is None else sample_weight
    present = set(start)
    strength, reasons, coverage = {}, [], {}
    with gather_warnings() as gathered:
        for values in targets:
            model = MOHNRegressor(
                strategy,
                max_order=params.max_order,
                max_iter=params.max_iter,
                selection=selection,
                cv=params.cv if problem.folds is None else problem.folds,
                work_budget=params.work_budget,
                memory_budget=params.memory_budget,
                dense_control=DenseControl(numeric="multilinear"),
                msda_control=params.msda_control,
                categorical_features=None,
                random_state=problem.seed,
                n_jobs=params.n_jobs,
            ).fit(inputs, values, sample_weight)
            reasons.append(model.stopping_reason_)
            for row in model.search_coverage_:
                coverage.setdefault(row["order"], row)
            spread = _deviations(product_columns(inputs, model.terms_), weights)
            scale = _deviations(values, weights)
            shares = np.abs(model.weights_) * spread / max(scale, 1e-300)
            for term, share in zip(model.terms_, shares.tolist(), strict=True):
                if term not in present:
                    strength[term] = max(share, strength.get(term, 0.0))
            terms = _strongest(strength, start, most)
            if report({"n_terms": len(terms)}, terms):
                break
    for warning in {str(warning): warning for warning in gathered}.values():
        warn_caller(warning)
    choice = None
    if problem.classes is not None:
        choice = learn_on_folds(problem, terms, params.selection, params.cv)
    coverage = with_kept(coverage.values(), terms)
    return Found(terms, "; ".join(dict.fromkeys(reasons)), coverage, choice)


def _strongest(strength, start, most):
    """The start and the products that hold the largest shares of a target."""
    best = sorted(strength, key=lambda term: (-strength[term], len(term), term))
    return _in_order(start + best[: int(min(most, len(best)))])


def _deviations(columns, weights):
    """Standard deviations of the columns of an array."""
    weights = weights / weights.sum()
    return np.sqrt(weights @ (columns - weights @ columns) ** 2)


def _in_order(terms):
    return sorted(terms, key=lambda term: (len(term), term))
