"""Tests of the terms that a fit chose, and the sets that are collinear with them."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._types import Term
from skmohn.mohn._design.design import Design, make_design
from skmohn.mohn._models import FitResult
from skmohn.mohn._sparse.collinear import find_collinear_terms
from skmohn.mohn._sparse.rank_scores import rank_scores
from skmohn.mohn._sparse.significance import correct_p_values, p_values_of_terms
from skmohn.mohn._training_data import TrainingData


class TermTests(NamedTuple):
    """Tests of the terms of a model, one for each."""

    p_values: NDArray[np.float64]
    n_tried: NDArray[np.intp]
    corrected: NDArray[np.float64]

    @classmethod
    def unknown(cls, n_terms: int) -> Self:
        """Terms about which nothing is known."""
        nothing = np.full(n_terms, np.nan)
        return cls(nothing, np.ones(n_terms, dtype=int), nothing.copy())

    @classmethod
    def of_fit(
        cls, samples: TrainingData, result: FitResult, fixed: Collection[Term]
    ) -> Self:
        """Test on training rows, corrected for the search; `fixed` terms had none."""
        design, terms = make_design(samples.inputs, samples.sample_weight), result.terms
        y = rank_scores(samples.y) if result.on_scores else samples.y
        p_values = p_values_of_terms(design, y, terms)
        tested = design, y, terms, p_values, result.coverage, fixed
        return cls(p_values, *correct_p_values(*tested))

    @classmethod
    def of_further_rows(
        cls, design: Design, y: NDArray[np.float64], terms: Sequence[Term]
    ) -> Self:
        """Test on rows that took no part in the search."""
        p_values = p_values_of_terms(design, y, terms)
        n_tried = np.full(len(terms), len(terms))
        return cls(p_values, n_tried, np.minimum(p_values * n_tried, 1.0))


def label_collinear_terms(
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
