"""What is shown of a fitted model: tables, and HTML inside scikit-learn's diagram."""

from collections import Counter
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skmohn._core._categories import column_names
from skmohn._core._optional import import_optional
from skmohn._core._sklearn import prepend_html
from skmohn._core._units import power_of_two_scale
from skmohn.mohn._base import (
    FittedClassifier,
    FittedRegressor,
    FittedTerms,
    Table,
)
from skmohn.mohn._table.coding import CATEGORIES, CONSTANT, NUMERIC, ONE_HOT, TWO_VALUED
from skmohn.mohn._table.rows import EncodedRows, member_values

if TYPE_CHECKING:
    import pandas as pd

_MOST_TERMS = 10
_MOST_CLASSES = 6
_HEADS = {
    "standard_error": "standard error",
    "variance_share": "proportion of variance (uniform columns)",
    "weight_share": "proportion of squared weights",
}
_FORMATS = {
    "order": "d",
    "standard_error": ".2g",
    "variance_share": ".1%",
    "weight_share": ".1%",
}
_KINDS = {
    TWO_VALUED: "with two values",
    NUMERIC: "numeric",
    CATEGORIES: "with categories",
    ONE_HOT: "one-hot",
    CONSTANT: "constant (ignored)",
}


def add_summary(
    model: FittedTerms, attributes: Any, tabulate: Callable[[Any], Table]
) -> Any:
    """Put a summary of terms above the HTML of a fitted model's attributes."""
    # There it is shown inside of a Pipeline or a search as well.
    try:
        check_is_fitted(model)
    except NotFittedError:
        return attributes
    return prepend_html(attributes, lambda: _summarize(model, tabulate))


def _summarize(model: FittedTerms, tabulate: Callable[[Any], Table]) -> str:
    """Show the terms of a model, or its targets."""
    if hasattr(model, "estimators_"):
        return _summarize_targets(model)
    table = tabulate(model)
    # Of many classes the weights would not fit.
    n_wide = sum(name.startswith("weight of ") for name in table)
    shown = [
        name
        for name in table
        if n_wide <= _MOST_CLASSES or not name.startswith("weight of ")
    ]
    rows = zip(*(list(table[name])[:_MOST_TERMS] for name in shown), strict=True)
    lines = ["".join(map(_cell, shown, row)) for row in rows]
    heads = "".join(f"<th>{escape(_HEADS.get(name, name))}</th>" for name in shown)
    n_terms = len(model.terms_)
    title = "all terms" if n_terms <= _MOST_TERMS else f"strongest of {n_terms:,} terms"
    facts = [_columns(model), _weights(model), model.stopping_reason_]
    return _details(title, facts, heads, lines)


def _details(title: str, facts: Sequence[str], heads: str, lines: Sequence[str]) -> str:
    """Format a list of facts and a table."""
    listed = "".join(f"<li>{escape(fact)}</li>" for fact in facts)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    table = f"<table><tr>{heads}</tr>{body}</table>" if lines else ""
    return (
        "<details class='skmohn-summary' open style='margin-top:.5em'>"
        f"<summary>What was learned: {title}</summary>"
        f"<ul>{listed}</ul>{table}</details>"
    )


def _summarize_targets(model: Any) -> str:
    """Summarize the weights, the constant and the noise of each target."""
    parts = list(zip(model.target_names_, model.estimators_, strict=True))
    lines = [
        f"<td>{escape(str(name))}</td><td>{len(part.terms_):,}</td>"
        f"<td>{part.intercept_:.4g}</td><td>{part.noise_std_:.2g}</td>"
        f"<td style='text-align:left'>{escape(part.stopping_reason_)}</td>"
        for name, part in parts[:_MOST_TERMS]
    ]
    shared = f"targets with the same hyperparameters: {len(model.shared_targets_):,}"
    title = f"{len(parts):,} targets"
    if len(parts) > _MOST_TERMS:
        title += f", the first {_MOST_TERMS} of them"
    heads = "target", "weights", "constant", "noise", "how"
    head = "".join(f"<th>{name}</th>" for name in heads)
    return _details(title, [_columns(model), shared], head, lines)


def _cell(name: str, value: Any) -> str:
    """Format a cell of the table of terms."""
    if name == "term":
        return f"<td style='text-align:left'>{escape(value)}</td>"
    return f"<td>{value:{_FORMATS.get(name, '.4g')}}</td>"


def _columns(model: FittedTerms) -> str:
    """Count columns by how they were coded."""
    counts = Counter(model.coding_.kind.tolist())
    parts = []
    for kind, words in _KINDS.items():
        if counts[kind]:
            parts.append(f"{counts[kind]:,} {words}")
    return f"columns: {', '.join(parts) or 'none'}"


def _weights(model: FittedTerms) -> str:
    """Count weights by order."""
    orders = Counter(map(len, model.terms_))
    parts = [f"{orders[order]:,} of order {order}" for order in sorted(orders)]
    listed = f"weights: {', '.join(parts) or 'none'}"
    if not model.model_.is_sparse:
        listed = f"significant {listed}"
    constants = np.atleast_1d(model.intercept_)[:_MOST_CLASSES]
    noun = "constant" if len(constants) == 1 else "constants"
    return f"{listed}; {noun} {', '.join(f'{value:.4g}' for value in constants)}"


def tabulate_terms(estimator: FittedRegressor) -> Table:
    """List the weights of a MOHNRegressor, the strongest first."""
    terms, weights = estimator.terms_, estimator.weights_
    term_names, model = estimator.term_names_, estimator.model_
    indices = term_names.indices(terms)
    names = term_names.name_terms(indices)
    scale = power_of_two_scale(weights)
    squares = (weights / scale) ** 2 * term_names.uniform_variances(indices)
    total = squares.sum()
    if not model.is_sparse:
        total = model.function_variance(term_names.variables())
        total *= (model.y_std / scale) ** 2
    order = np.argsort(-squares, kind="stable")
    return {
        "term": [names[j] for j in order],
        "order": [len(terms[j]) for j in order],
        "weight": weights[order].tolist(),
        "standard_error": estimator.standard_errors_[order].tolist(),
        "variance_share": (squares[order] / (total or 1.0)).tolist(),
    }


def tabulate_classes(estimator: FittedClassifier) -> Table:
    """List the weights of a MOHNClassifier, the strongest term first."""
    squares = np.sum(estimator.weights_**2, axis=0)
    order = np.argsort(-squares, kind="stable")
    terms = estimator.term_names_.indices(estimator.terms_)
    names = estimator.term_names_.name_terms(terms)
    labels = ["weight"]
    if len(estimator.classes_) > 2:
        labels = [f"weight of {label}" for label in estimator.classes_]
    return {
        "term": [names[j] for j in order],
        "order": [len(terms[j]) for j in order],
        "weight_share": (squares / max(squares.sum(), 1e-300))[order].tolist(),
        **{
            label: row[order].tolist()
            for label, row in zip(labels, estimator.weights_, strict=True)
        },
    }


def tabulate_parts(estimator: FittedRegressor, rows: EncodedRows, clip: bool) -> Table:
    """List contributions of terms to the prediction of one row, the largest first."""
    term_names, model = estimator.term_names_, estimator.model_
    weights, constant = estimator.weights_, estimator.intercept_
    terms = term_names.indices(estimator.terms_)
    codes = member_values(rows, term_names.alphabets)
    values = np.array([np.prod(codes[list(term)]) for term in terms])
    values += 0.0  # no zero has a sign
    parts = weights * values + 0.0
    names = term_names.name_terms(terms)
    found = list(zip(names, values, weights, parts, strict=True))
    whole = None
    if not model.is_sparse:
        (whole,) = model.latent_mean(rows)
        others = term_names.distribute_others(terms, parts, model.split(rows))
        found += list_others(estimator, others)
    found.sort(key=lambda row: -abs(row[-1]))
    table = [("(constant)", 1.0, constant, constant), *found]
    if whole is not None:
        (clipped,) = model.predictive_mean(rows, clip)
        if clipped != whole and not model.is_transformed:
            table.append(("(clip)", np.nan, np.nan, clipped - whole))
    terms, *numbers = zip(*table, strict=True)
    columns = (np.array(column, dtype=float).tolist() for column in numbers)
    titles = "value", "weight", "contribution"
    return {"term": list(terms)} | dict(zip(titles, columns, strict=True))


def list_others(
    estimator: FittedTerms, others: NDArray[np.float64], what: str = "weights"
) -> list[tuple[str, float, float, float]]:
    """List contributions of columns by unlisted weights, or by other models."""
    names = column_names(estimator)
    return [
        (f"(other {what} of {names[j]})", np.nan, np.nan, part)
        for j, part in enumerate(others.tolist())
        if part
    ]


def to_frame(table: Table, caller: str) -> "pd.DataFrame":
    """Make a DataFrame of columns, or say that `caller` needs pandas."""
    return import_optional("pandas", caller).DataFrame(table)


def join_tables(
    tables: Sequence["pd.DataFrame"], targets: Sequence[str | int], caller: str
) -> "pd.DataFrame":
    """Stack tables of several targets, with a first column that names the target."""
    joined: Table = {"target": []}
    for target, table in zip(targets, tables, strict=True):
        for name in table:
            joined.setdefault(name, []).extend(table[name])
        joined["target"] += [target] * len(table)
    return to_frame(joined, caller)
