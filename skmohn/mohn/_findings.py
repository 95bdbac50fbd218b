"""What else is known of the terms that were found: what says the same, and p-values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._types import TableLike, Term
from skmohn._core._validation import is_pair_given
from skmohn.mohn._base import FittedRegressor, FittedTerms, Table
from skmohn.mohn._design.design import make_design
from skmohn.mohn._genotypes import encode, read_inputs
from skmohn.mohn._models import FitResult, NoPosteriorError
from skmohn.mohn._sparse.collinear import find_collinear_terms
from skmohn.mohn._sparse.rank_scores import rank_scores
from skmohn.mohn._sparse.significance import correct_p_values, p_values_of_terms
from skmohn.mohn._strategies import STRATEGIES
from skmohn.mohn._training_data import TrainingData


def find_collinear_sets(
    samples: TrainingData, terms: Sequence[Term]
) -> list[list[tuple[Any, float]]]:
    """Sets of columns that are collinear with each term, and their correlations."""
    design = make_design(samples.inputs, samples.sample_weight)
    label, groups = samples.term_names.label, samples.term_names.groups
    return [
        [
            (label(other), correlation)
            for other, correlation in alike
            # None has two categories of one column.
            if len(set(groups[list(other)])) == len(other)
        ]
        for alike in find_collinear_terms(design, terms)
    ]


def findings_of(
    estimator: FittedRegressor, samples: TrainingData, solution: FitResult
) -> dict[str, Any]:
    """Attributes of an estimator about its terms."""
    terms = solution.terms
    if not estimator.model_.is_sparse:
        return no_findings(terms)
    design = make_design(samples.inputs, samples.sample_weight)
    y = rank_scores(samples.y) if solution.on_scores else samples.y
    p_values = p_values_of_terms(design, y, terms)
    tested = design, y, terms, p_values
    given = always_of(estimator)
    n_tried, corrected = correct_p_values(*tested, solution.coverage, given)
    return {
        "collinear_terms_": find_collinear_sets(samples, terms),
        "p_values_": p_values,
        "_n_tried": n_tried,
        "_corrected_p_values": corrected,
    }


def require_posterior(estimator: FittedRegressor, what: str) -> Any:
    """Return the model of an estimator, or refuse one without a posterior."""
    if not estimator.model_.has_posterior:
        why = f'strategy="{estimator.strategy}" has none'
        if STRATEGIES[estimator.strategy].may_be_dense:
            why = "there is none without a column that varies, or after "
            why += "partial_fit of a sparse model"
        raise NoPosteriorError(
            f"{what} needs a posterior, but {why}: fit with "
            'strategy="gp" or "auto" on columns that vary'
        )
    return estimator.model_


def no_findings(terms: Sequence[object]) -> dict[str, Any]:
    """The same attributes where nothing is known about the terms."""
    return {
        "collinear_terms_": [[] for _ in terms],
        "p_values_": np.full(len(terms), np.nan),
        "_n_tried": np.ones(len(terms), dtype=int),
        "_corrected_p_values": np.full(len(terms), np.nan),
    }


def tabulate_collinear_terms(estimator: FittedTerms) -> Table:
    """List sets that are collinear with terms."""
    term_names = estimator.term_names_
    names = term_names.name_terms(term_names.indices(estimator.terms_))
    others = {other for alike in estimator.collinear_terms_ for other, _ in alike}
    called = term_names.name_terms(term_names.indices(others))
    called = dict(zip(others, called, strict=True))
    table = {"term": [], "equivalent": [], "correlation": []}
    for name, alike in zip(names, estimator.collinear_terms_, strict=True):
        for other, correlation in alike:
            table["term"].append(name)
            table["equivalent"].append(called[other])
            table["correlation"].append(correlation)
    return table


def tabulate_significance(
    estimator: FittedRegressor, X: TableLike | None, y: ArrayLike | None
) -> Table:
    """List terms with their p-values, the smallest first."""
    # X and y are rows to test on; None for the p-values of the fit.
    term_names, terms = estimator.term_names_, estimator.terms_
    if is_pair_given(X, y, ""):
        p_values = _test_again(estimator, X, y)
        n_tried = np.full(len(terms), len(terms))
        corrected = np.minimum(p_values * n_tried, 1.0)
    else:
        p_values, n_tried = estimator.p_values_, estimator._n_tried
        corrected = estimator._corrected_p_values
    names = term_names.name_terms(term_names.indices(terms))
    order = np.argsort(p_values, kind="stable")
    return {
        "term": [names[j] for j in order],
        "order": [len(terms[j]) for j in order],
        "p_value": p_values[order].tolist(),
        "n_tried": n_tried[order].tolist(),
        "p_corrected": corrected[order].tolist(),
    }


def always_of(estimator: FittedRegressor) -> list[Term]:
    """Terms that the search left fixed, as sets of members."""
    if estimator.terms is None or estimator.strategy == "given":
        return []
    find = estimator.term_names_.find
    return [tuple(sorted(find(term, "terms")[1])) for term in estimator.terms]


def _test_again(
    estimator: FittedRegressor, X: TableLike | None, y: ArrayLike | None
) -> NDArray[np.float64]:
    """P-values of the terms on further rows."""
    if not estimator.model_.is_sparse:
        raise ValueError(
            "significance_table tests the terms of a sparse model, but this one has "
            'more weights than these: fit with strategy="pursuit"'
        )
    table, target = read_inputs(estimator, X, y)
    rows = encode(
        estimator.coding_, table, getattr(estimator, "feature_names_in_", None)
    )
    indices = estimator.term_names_.indices(estimator.terms_)
    return p_values_of_terms(make_design(rows.inputs), target, indices)
