"""InteractionGraph: which variables a model ties together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Final, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_scalar

from skmohn._core._validation import is_integer, read_names, read_sets
from skmohn.mohn._base import FittedRegressor
from skmohn.mohn._effects import tabulate_sobol
from skmohn.mohn._sparse.sobol import column_of

# Total Sobol index from which a column is not called unused: 1 %, as it shows in a
# table of whole percents.
_MIN_TOTAL: Final = 0.01


@dataclass(frozen=True)
class InteractionGraph:
    """Which columns of a model interact, and which do not.

    Two columns are linked if a term contains both. A sparse model is a sum of one
    function per component, so that components can be optimized separately; for a
    Gaussian process, this holds for its significant terms.

    Parameters
    ----------
    links : tuple of tuples of int
        For each column, the columns it shares a term with, in increasing order.
    components : tuple of tuples of int
        Columns of each separate part of the model, the largest first. Unused columns
        are in none.
    unused : tuple of int
        Columns without a term. For a Gaussian process, those without a significant term
        that explain less than 1 % of its variance (total Sobol index).
    names : tuple of str or None
        Column names, if there are any.

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> model = MOHNRegressor.from_terms([(0, 1), (1, 2), (4,)], [1.0, 2.0, 0.5])
    >>> model.interaction_graph_.components
    ((0, 1, 2), (4,))
    >>> model.interaction_graph_.unused
    (3,)
    >>> model.interaction_graph_.neighbors(1)
    (0, 2)
    >>> model.interaction_graph_.is_decomposable
    True
    """

    links: tuple[tuple[int, ...], ...]
    components: tuple[tuple[int, ...], ...]
    unused: tuple[int, ...]
    names: tuple[str, ...] | None = None

    @classmethod
    def of_terms(
        cls, terms: Any, n_features: int, names: Iterable[str] | None = None
    ) -> Self:
        """Compute the linkage of given terms.

        Parameters
        ----------
        terms : sequence of sequences of int
            Column indices of each term.
        n_features : int
            Number of columns.
        names : sequence of str, default=None
            Column names.

        Returns
        -------
        InteractionGraph
            Links, components and unused columns.

        Raises
        ------
        ValueError
            If a term is empty or contains anything but column indices.
        """
        check_scalar(n_features, "n_features", Integral, min_val=0)
        terms = read_sets(terms, "terms")
        _check_columns(terms, n_features)
        sizes = [len(term) for term in terms]
        members = np.array([i for term in terms for i in term], dtype=np.int64)
        indptr = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        incidence = csr_array(
            (np.ones(len(members)), members, indptr), shape=(len(terms), n_features)
        )
        together = (incidence.T @ incidence).tocsr()
        together.sort_indices()
        rows = np.split(together.indices, together.indptr[1:-1])
        links = tuple(
            tuple(i for i in row.tolist() if i != column)
            for column, row in enumerate(rows)
        )
        _, labels = connected_components(together, directed=False)
        used = np.zeros(n_features, dtype=bool)
        used[members] = True
        parts = {}
        for i in np.flatnonzero(used).tolist():
            parts.setdefault(labels[i], []).append(i)
        components = sorted(map(tuple, parts.values()), key=lambda p: (-len(p), p))
        unused = tuple(np.flatnonzero(~used).tolist())
        names = None if names is None else tuple(read_names(names, "names"))
        return cls(links, tuple(components), unused, names)

    @property
    def is_decomposable(self) -> bool:
        """Whether the model is a sum of functions of separate columns.

        Returns
        -------
        bool
            True if there are at least two components; unused columns do not count.
        """
        return len(self.components) > 1

    def neighbors(self, column: int | str) -> tuple[int, ...]:
        """List the columns that share a term with one column.

        Parameters
        ----------
        column : int or str
            Index or name of the column.

        Returns
        -------
        tuple of int
            Their indices, in increasing order.

        Raises
        ------
        ValueError
            If there is no such column.
        """
        known = () if self.names is None else self.names
        index = known.index(column) if column in known else column
        if not is_integer(index) or not 0 <= index < len(self.links):
            names = f" or one of the names {list(known)}" if known else ""
            raise ValueError(
                f"column={column!r} is not a column: use an index from 0 to "
                f"{len(self.links) - 1}{names}"
            )
        return self.links[index]


def link_columns(
    parts: Sequence[FittedRegressor], n_features: int, names: Sequence[str] | None
) -> InteractionGraph:
    """Interaction graph of the columns in the models of all targets."""
    terms = [term for part in parts for term in _list_sets(part)]
    return InteractionGraph.of_terms(terms, n_features, names)


def _list_sets(estimator: FittedRegressor) -> list[tuple[int, ...]]:
    """Columns of each term of a model, and of those that matter beside."""
    terms = [
        tuple({column_of(label): None for label in term})
        for term, coef in zip(estimator.terms_, estimator.weights_, strict=True)
        if coef
    ]
    used = {column for term in terms for column in term}
    if not estimator.model_.is_sparse:
        totals = tabulate_sobol(estimator)["total"]
        used.update(i for i, total in enumerate(totals) if total >= _MIN_TOTAL)
        terms += [(column,) for column in sorted(used)]
    return terms + [g for g in estimator.one_hot_groups_ if used.intersection(g)]


def _check_columns(terms: Sequence[tuple[Any, ...]], n_features: int) -> None:
    """Refuse indices for which scipy would read or write outside of its arrays."""
    for term in terms:
        if not term:
            raise ValueError(f"terms has {term!r}, an empty set")
        for i in term:
            if not is_integer(i) or not 0 <= i < n_features:
                raise ValueError(
                    f"terms has {term!r}, but {i!r} is not one of the {n_features} "
                    f"columns: use indices from 0 to {n_features - 1}"
                )
