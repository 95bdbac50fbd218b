"""A function of n inputs as a sum of weighted products."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._types import Term
from skmohn.mohn._design import product_kernels as _kernels
from skmohn.mohn._design.design import flatten_sets
from skmohn.mohn._design.plane_design import Planes


@dataclass(frozen=True)
class WalshPolynomial:
    """The immutable set of weights: ``f(x) = intercept + sum_j coef_j prod_i x_i``.

    Parameters
    ----------
    terms : sequence of tuples of int
        The inputs that each weight connects; none is empty.

    coef : ndarray of shape (n_terms,)

    intercept : float

    Attributes
    ----------
    indptr, members : ndarrays
        The terms in compressed form.
    """

    terms: tuple
    coef: np.ndarray
    intercept: float
    indptr: np.ndarray = field(init=False, repr=False)
    members: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        indptr, members = flatten_sets(self.terms)
        object.__setattr__(self, "indptr", indptr)
        object.__setattr__(self, "members", members)

    @classmethod
    def sort(
        cls, terms: Sequence[Term], coef: NDArray[np.float64], intercept: float
    ) -> Self:
        """Make one with terms ordered by size, then by their inputs.

        The empty set among the terms is added to the intercept.
        """
        order = sorted(range(len(terms)), key=lambda j: (len(terms[j]), terms[j]))
        order = [j for j in order if terms[j]]
        constant = math.fsum(coef[j] for j in range(len(terms)) if not terms[j])
        return cls(
            tuple(tuple(terms[j]) for j in order),
            np.asarray(coef, dtype=float)[order],
            float(intercept + constant),
        )

    def times(self, factor: float) -> "WalshPolynomial":
        """The function times a number."""
        return WalshPolynomial(self.terms, factor * self.coef, factor * self.intercept)

    @property
    def n_variables(self) -> int:
        """One more than the largest variable in a term."""
        return int(self.members.max(initial=-1)) + 1

    def predict(self, inputs: NDArray | Planes) -> NDArray[np.float64]:
        """Evaluate rows of inputs; an input of 0 averages over its two values."""
        values = np.full(len(inputs), self.intercept)
        used, members = np.unique(self.members, return_inverse=True)
        _kernels.evaluate(
            np.ascontiguousarray(inputs[:, used], dtype=np.float64),
            self.indptr,
            members.astype(np.int32),
            self.coef,
            values,
        )
        return values
