"""Reports on a fitted model: tables, and HTML inside scikit-learn's diagram."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skmohn._core._estimator import format_summary
from skmohn._core._optional import import_optional
from skmohn._core._sklearn import prepend_html
from skmohn._core._units import power_of_two_scale
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._base import FittedTerms, Table
from skmohn.mohn._sparse.inference import TermTests
from skmohn.mohn._table.coding import (
    CATEGORIES,
    CONSTANT,
    NUMERIC,
    ONE_HOT,
    TWO_VALUED,
    InputCoding,
)
from skmohn.mohn._table.rows import EncodedRows, member_values
from skmohn.mohn._table.term_names import TermNames

if TYPE_CHECKING:
    import pandas as pd

# Terms as they are listed in `terms_`.
_Labels = Sequence[tuple[Any, ...]]

# Terms and classes in a report.
_MAX_TERMS: Final = 10
# Fraction of contributions that their sum may miss.
_ROUNDING: Final = 1e-9
_MAX_CLASSES: Final = 6
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


# ------------------------------------------------------------------------------ tables


def tabulate_terms(
    model: Any,
    term_names: TermNames,
    listed: WalshPolynomial,
    standard_errors: NDArray[np.float64],
) -> Table:
    """List the weights of a regression, the strongest first."""
    names = term_names.name_terms(listed.terms)
    scale = power_of_two_scale(listed.weights)
    squares = (listed.weights / scale) ** 2
    squares = squares * term_names.uniform_variances(listed.terms)
    total = squares.sum()
    if not model.is_sparse:
        total = model.function_variance(term_names.variables())
        total *= (model.y_std / scale) ** 2
    columns = {
        "weight": listed.weights,
        "standard_error": standard_errors,
        "variance_share": squares / (total or 1.0),
    }
    return _rank_terms(names, listed.terms, -squares, columns)


def tabulate_classes(
    term_names: TermNames,
    terms: _Labels,
    weights: NDArray[np.float64],
    classes: NDArray,
) -> Table:
    """List the weights of classes, the strongest term first."""
    squares = np.sum(weights**2, axis=0)
    names = term_names.name_terms(term_names.indices(terms))
    labels = ["weight"]
    if len(classes) > 2:
        labels = [f"weight of {label}" for label in classes]
    columns = {"weight_share": squares / max(squares.sum(), 1e-300)}
    columns |= dict(zip(labels, weights, strict=True))
    return _rank_terms(names, terms, -squares, columns)


def tabulate_rate_ratios_of_terms(
    term_names: TermNames,
    terms: _Labels,
    weights: NDArray[np.float64],
    standard_errors: NDArray[np.float64],
    interval: NDArray[np.float64],
) -> Table:
    """List the weights of a log mean, the largest first; an interval is in errors."""
    names = term_names.name_terms(term_names.indices(terms))
    with np.errstate(over="ignore"):
        ends = np.exp(2.0 * (weights + np.outer(interval, standard_errors)))
        ratios = np.exp(2.0 * weights)
    columns = {
        "weight": weights,
        "standard_error": standard_errors,
        "rate_ratio": ratios,
        "ci_low": ends[0],
        "ci_high": ends[1],
    }
    return _rank_terms(names, terms, -np.abs(weights), columns)


def tabulate_significance(
    term_names: TermNames, terms: _Labels, tests: TermTests
) -> Table:
    """List terms with their p-values, the smallest first."""
    names = term_names.name_terms(term_names.indices(terms))
    columns = {
        "p_value": tests.p_values,
        "n_tried": tests.n_tried,
        "p_corrected": tests.corrected,
    }
    return _rank_terms(names, terms, tests.p_values, columns)


def _rank_terms(
    names: Sequence[str],
    terms: _Labels,
    key: NDArray[np.float64],
    columns: Mapping[str, NDArray],
) -> Table:
    """Table of terms, those with the least key first."""
    order = np.argsort(key, kind="stable")
    return {
        "term": [names[j] for j in order],
        "order": [len(terms[j]) for j in order],
        **{title: values[order].tolist() for title, values in columns.items()},
    }


def tabulate_collinear_terms(
    term_names: TermNames, terms: _Labels, collinear: Sequence[Sequence[Any]]
) -> Table:
    """List sets that are collinear with terms."""
    names = term_names.name_terms(term_names.indices(terms))
    others = {other for alike in collinear for other, _ in alike}
    names_of_others = term_names.name_terms(term_names.indices(others))
    names_of_others = dict(zip(others, names_of_others, strict=True))
    table = {"term": [], "equivalent": [], "correlation": []}
    for name, alike in zip(names, collinear, strict=True):
        for other, correlation in alike:
            table["term"].append(name)
            table["equivalent"].append(names_of_others[other])
            table["correlation"].append(correlation)
    return table


def tabulate_parts(
    model: Any,
    term_names: TermNames,
    listed: WalshPolynomial,
    rows: EncodedRows,
    clip: bool,
) -> Table:
    """List contributions of terms to the prediction of one row, the largest first."""
    codes = member_values(rows, term_names.alphabets)
    values = np.array([np.prod(codes[list(term)]) for term in listed.terms])
    values += 0.0  # no zero has a sign
    parts = listed.weights * values + 0.0
    names = term_names.name_terms(listed.terms)
    found = list(zip(names, values, listed.weights, parts, strict=True))
    if not model.is_sparse:
        others = term_names.distribute_others(listed.terms, parts, model.split(rows))
        found += list_others(term_names, others)
    last = []
    if not model.is_transformed:
        contributions = [listed.intercept, *(part for *_, part in found)]
        apart = float(model.predictive_mean(rows, clip)[0]) - sum(contributions)
        if abs(apart) > _ROUNDING * np.sum(np.abs(contributions)):
            last = [("(clip)", apart)]
    return tabulate_contributions(listed.intercept, found, last)


def tabulate_contributions(
    constant: float,
    found: Sequence[tuple[str, float, float, float]],
    last: Sequence[tuple[str, float]],
) -> Table:
    """List contributions to a prediction: the constant, then the largest, then last."""
    table = [("(constant)", 1.0, constant, constant)]
    table += sorted(found, key=lambda row: -abs(row[-1]))
    table += [(name, np.nan, np.nan, part) for name, part in last]
    terms, *numbers = zip(*table, strict=True)
    columns = (np.array(column, dtype=float).tolist() for column in numbers)
    titles = "value", "weight", "contribution"
    return {"term": list(terms)} | dict(zip(titles, columns, strict=True))


def list_others(
    term_names: TermNames, others: NDArray[np.float64], what: str = "weights"
) -> list[tuple[str, float, float, float]]:
    """List contributions of columns by unlisted weights, or by other models."""
    return [
        (f"(other {what} of {name})", np.nan, np.nan, part)
        for name, part in zip(term_names.column_names, others.tolist(), strict=True)
        if part
    ]


def to_frame(table: Table, caller: str) -> "pd.DataFrame":
    """Make a DataFrame of columns, or raise that `caller` needs pandas."""
    return import_optional("pandas", caller).DataFrame(table)


def join_tables(tables: Sequence[Table], targets: Sequence[str | int] | None) -> Table:
    """Stack tables of targets, named in a first column; None for a single target."""
    if targets is None:
        return tables[0]
    joined: Table = {"target": []}
    for target, table in zip(targets, tables, strict=True):
        for name, column in table.items():
            joined.setdefault(name, []).extend(column)
        n_rows = len(next(iter(table.values())))
        joined["target"] += [target] * n_rows
    return joined


# -------------------------------------------------------------------------------- HTML


def add_summary(
    estimator: FittedTerms,
    attributes: Any,
    tabulate: Callable[[], Table],
    describe: Callable[[Any], list[str]] | None = None,
) -> Any:
    """Put effects and terms above the HTML of an estimator's fitted attributes."""
    # There it is shown inside of a Pipeline or a search as well.
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return attributes
    if hasattr(estimator, "estimators_"):
        return prepend_html(attributes, lambda: _summarize_targets(estimator))
    return prepend_html(
        attributes,
        lambda: _summarize(
            estimator, tabulate(), describe(estimator) if describe else []
        ),
    )


def _summarize(estimator: FittedTerms, table: Table, effects: Sequence[str]) -> str:
    """Show the effects and terms of a model."""
    # Of many classes the weights would not fit.
    wide = [name for name in table if name.startswith("weight of ")]
    shown = [name for name in table if len(wide) <= _MAX_CLASSES or name not in wide]
    rows = zip(*(list(table[name])[:_MAX_TERMS] for name in shown), strict=True)
    lines = ["".join(map(_cell, shown, row)) for row in rows]
    heads = "".join(f"<th>{escape(_HEADS.get(name, name))}</th>" for name in shown)
    n_terms = len(estimator.terms_)
    title = "all terms" if n_terms <= _MAX_TERMS else f"strongest of {n_terms:,} terms"
    # The lengths of all models that were compared are left to `stopping_reason_`.
    reason = re.sub(r" \(description lengths: [^)]*\)", "", estimator.stopping_reason_)
    facts = [*effects, describe_columns(estimator.coding_), _weights(estimator), reason]
    return _details(title, facts, heads, lines)


def _details(title: str, facts: Sequence[str], heads: str, lines: Sequence[str]) -> str:
    """Format a list of facts and a table."""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    style = "border-collapse:separate;border-spacing:1em 0"
    table = f"<table style='{style}'><tr>{heads}</tr>{body}</table>" if lines else ""
    return format_summary(facts, title, table)


def _summarize_targets(estimator: Any) -> str:
    """Summarize the weights, the constant and the noise of each target."""
    parts = list(zip(estimator.target_names_, estimator.estimators_, strict=True))
    lines = [
        f"<td>{escape(str(name))}</td><td>{len(part.terms_):,}</td>"
        f"<td>{part.intercept_:.4g}</td><td>{part.noise_std_:.2g}</td>"
        f"<td style='text-align:left'>{escape(part.stopping_reason_)}</td>"
        for name, part in parts[:_MAX_TERMS]
    ]
    n_shared = len(estimator.shared_targets_)
    shared = f"targets with the same hyperparameters: {n_shared:,}"
    title = f"{len(parts):,} targets"
    if len(parts) > _MAX_TERMS:
        title += f", the first {_MAX_TERMS} of them"
    heads = "target", "weights", "constant", "noise", "how"
    head = "".join(f"<th>{name}</th>" for name in heads)
    return _details(title, [describe_columns(estimator.coding_), shared], head, lines)


def _cell(name: str, value: Any) -> str:
    """Format a cell of the table of terms."""
    if name == "term":
        return f"<td style='text-align:left'>{escape(value)}</td>"
    return f"<td>{value:{_FORMATS.get(name, '.4g')}}</td>"


def describe_columns(coding: InputCoding) -> str:
    """Count columns by how they were coded."""
    counts = Counter(coding.kind.tolist())
    parts = [
        f"{counts[kind]:,} {noun}" for kind, noun in _KINDS.items() if counts[kind]
    ]
    return f"columns: {', '.join(parts) or 'none'}"


def count_orders(terms: _Labels) -> str:
    """Count terms by order."""
    orders = Counter(map(len, terms))
    parts = [f"{orders[order]:,} of order {order}" for order in sorted(orders)]
    return ", ".join(parts) or "none"


def _weights(estimator: FittedTerms) -> str:
    """Count weights by order."""
    listed = f"weights: {count_orders(estimator.terms_)}"
    if not estimator.model_.is_sparse:
        listed = f"significant {listed}"
    constants = np.atleast_1d(estimator.intercept_)[:_MAX_CLASSES]
    noun = "constant" if len(constants) == 1 else "constants"
    return f"{listed}; {noun} {', '.join(f'{value:.4g}' for value in constants)}"
