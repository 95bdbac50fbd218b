"""What else is known of the terms that were found: what says the same, and p-values."""

import numpy as np

from skmohn._core._validation import is_pair_given
from skmohn.mohn._genotypes import encode, read_inputs
from skmohn.mohn._sparse.equivalents import find_equivalents
from skmohn.mohn._sparse.significance import p_values_of_terms
from skmohn.mohn._walsh.design import make_design


def equivalents_of(samples, terms):
    """For each term the sets that say nearly the same, as users call them.

    Parameters
    ----------
    samples : Samples

    terms : sequence of tuples of int

    Returns
    -------
    equivalents : list of list of (tuple, float)
    """
    design = make_design(samples.inputs, samples.weight)
    label, groups = samples.vocabulary.label, samples.vocabulary.groups
    return [
        [
            (label(other), correlation)
            for other, correlation in alike
            # None has two categories of one column.
            if len(set(groups[list(other)])) == len(other)
        ]
        for alike in find_equivalents(design, terms)
    ]


def findings_of(samples, terms):
    """Attributes of an estimator about its terms.

    Parameters
    ----------
    samples, terms
        As of :func:`equivalents_of`; targets are numbers.

    Returns
    -------
    attributes : dict
    """
    design = make_design(samples.inputs, samples.weight)
    return {
        "equivalents_": equivalents_of(samples, terms),
        "p_values_": p_values_of_terms(design, samples.y, terms),
    }


def no_findings(terms):
    """The same attributes where nothing is known about some terms."""
    return {
        "equivalents_": [[] for _ in terms],
        "p_values_": np.full(len(terms), np.nan),
    }


def tabulate_equivalents(estimator):
    """List sets that say nearly the same as terms.

    Parameters
    ----------
    estimator : MOHNRegressor or MOHNClassifier
        Fitted.

    Returns
    -------
    table : dict of lists
    """
    vocabulary = estimator.vocabulary_
    names = vocabulary.name_terms(vocabulary.places(estimator.terms_))
    others = {other for alike in estimator.equivalents_ for other, _ in alike}
    called = vocabulary.name_terms(vocabulary.places(others))
    called = dict(zip(others, called, strict=True))
    table = {"term": [], "equivalent": [], "correlation": []}
    for name, alike in zip(names, estimator.equivalents_, strict=True):
        for other, correlation in alike:
            table["term"].append(name)
            table["equivalent"].append(called[other])
            table["correlation"].append(correlation)
    return table


def tabulate_significance(estimator, X, y):
    """List terms with their p-values, the smallest first.

    Parameters
    ----------
    estimator : MOHNRegressor
        Fitted.

    X, y : array-like or None
        Rows to test on; None for what the fit has left.

    Returns
    -------
    table : dict of lists
    """
    vocabulary, terms = estimator.vocabulary_, estimator.terms_
    if is_pair_given(X, y, ""):
        p_values = _test_again(estimator, X, y)
        n_tried = np.full(len(terms), len(terms))
    else:
        p_values = estimator.p_values_
        tried = {row["order"]: row["tried"] for row in estimator.search_coverage_}
        # Nobody searched for those that are always there.
        chosen = set(terms).difference(always_of(estimator))
        n_tried = [tried.get(len(term), 1) if term in chosen else 1 for term in terms]
    names = vocabulary.name_terms(vocabulary.places(terms))
    order = np.argsort(p_values, kind="stable")
    return {
        "term": [names[j] for j in order],
        "order": [len(terms[j]) for j in order],
        "p_value": p_values[order].tolist(),
        "n_tried": [int(n_tried[j]) for j in order],
        "p_corrected": [min(float(p_values[j] * n_tried[j]), 1.0) for j in order],
    }


def always_of(estimator):
    """The terms that a search did not decide on, as of `terms_`."""
    if estimator.terms is None or estimator.strategy == "given":
        return []
    vocabulary = estimator.vocabulary_
    found = [vocabulary.find(term, "terms")[1] for term in estimator.terms]
    return [vocabulary.label(term) for term in found]


def _test_again(estimator, X, y):
    if not estimator.model_.is_listed:
        raise ValueError(
            "significance_table tests the terms of a sparse model, but this one has "
            'more weights than these: fit with strategy="pursuit"'
        )
    X, y = read_inputs(estimator, X, y)
    rows = encode(estimator.coding_, X, getattr(estimator, "feature_names_in_", None))
    places = estimator.vocabulary_.places(estimator.terms_)
    return p_values_of_terms(make_design(rows.inputs), y, places)
