"""Products of which the classes are an exact function."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import make_design
from skmohn.mohn._design.terms import in_order
from skmohn.mohn._sparse.exact_fit import ExactFitTest
from skmohn.mohn._sparse.pursuit import Pursuit, PursuitControl


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
    # Of two classes one indicator says it all.
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
