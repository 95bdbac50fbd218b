"""What a fitted model tells: linkage, variance, reasons of a prediction."""

from collections.abc import Mapping, Set

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmohn._core._html import ComputedProperty
from skmohn._core._validation import to_numpy
from skmohn.mohn._fitted import FittedStructure
from skmohn.mohn._html import HTMLSummary
from skmohn.mohn._linkage import Linkage
from skmohn.mohn._sparse.sobol import column_of
from skmohn.mohn._table.columns import column_names, read_table
from skmohn.mohn._walsh.hypergraph import to_frame


class Reading(HTMLSummary, FittedStructure):
    """Ways to read a fitted model; for estimators that predict by `DenseMethods`."""

    @property
    def linkage_(self):
        """Which columns the weights tie together, and which parts they leave.

        Returns
        -------
        Linkage
            Of ``terms_`` whose weight is not 0. Of all weights (``"dense"``), which tie
            everything together a little, these are the significant ones. Columns of a
            one-hot group are tied together where one of them has a weight.
        """
        check_is_fitted(self)
        terms = [
            tuple({column_of(label): None for label in term})
            for term, coef in zip(self.terms_, self.weights_, strict=True)
            if coef
        ]
        used = {column for term in terms for column in term}
        terms += [group for group in self.one_hot_groups_ if used.intersection(group)]
        return Linkage.of_terms(terms, self.n_features_in_, self._names())

    @ComputedProperty
    def feature_importances_(self):
        """How much of the model's variance each column has to do with.

        Returns
        -------
        ndarray of shape (n_features,)
            The total indices of :meth:`sobol_indices`, which see interactions and add
            up to more than 1 where there are any. Tools that select features, such as
            :class:`~sklearn.feature_selection.RFE`, read them.
        """
        return np.array(self.sobol_indices()["total"])

    def sobol_indices(self):
        """Say how much of the model's variance each column has to do with.

        The variance is that over independent and uniform inputs: two values are as
        probable as each other, so are categories, and a numeric column is uniform over
        its range, its levels included. Indices ([1]_) are exact: sums over weights, and
        of all weights (``"dense"``) over pairs of rows. Predictions are taken without
        `DenseControl.clip`.

        Returns
        -------
        DataFrame, or dict of lists without pandas
            In the order of the columns: ``feature``; ``first_order``, the share of the
            variance that the column explains alone; ``total``, the share that is gone
            when all other columns are known. Their difference is the column's part of
            interactions. Columns of a one-hot group are one variable and have its
            indices. All are 0 where the model is constant.

        References
        ----------
        .. [1] Sobol, I. M. (2001). Global sensitivity indices for nonlinear
           mathematical models and their Monte Carlo estimates. Mathematics and
           Computers in Simulation 55.
        """
        check_is_fitted(self)
        members = self._members()
        variance, first, total = self.model_.shares(members)
        columns = members.columns()[1]
        shares = np.zeros((2, self.n_features_in_))
        for own, *part in zip(columns, first, total, strict=True):
            shares[:, own] = np.array(part)[:, None] / (variance or 1.0)
        return to_frame(
            {
                "feature": column_names(self),
                "first_order": shares[0].tolist(),
                "total": shares[1].tolist(),
            }
        )

    def explain(self, x):
        """List what made the prediction of one row, the largest contribution first.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row: a list or array, a row of a DataFrame, or a table of one row. NaN
            stands for an unknown value.

        Returns
        -------
        DataFrame, or dict of lists without pandas
            ``term`` (named as in :meth:`structure_table`), ``value`` (the product of
            the coded inputs; 0 where one of them is unknown or the row has another
            category), ``weight`` and ``contribution``, the product of the two.
            Contributions add up to the prediction. The first row is ``"(constant)"``.
            Of all weights (``"dense"``), ``"(all other weights)"`` are those that are
            not listed, and ``"(clip)"`` is what keeps the prediction in the range of
            the targets, if anything had to; they come last.

        Raises
        ------
        ValueError
            If there is not just one row, or for what `predict` refuses.
        """
        check_is_fitted(self)
        rows = self._to_rows(read_table(self, _one_row(x)))
        members = self._members()
        terms = members.places(self.terms_)
        codes = _codes(rows, members.alphabets)
        values = np.array([np.prod(codes[list(term)]) for term in terms])
        values += 0.0  # no zero has a sign
        parts = self.weights_ * values + 0.0
        names = [" x ".join(members.names[m] for m in term) for term in terms]
        order = np.argsort(-np.abs(parts), kind="stable")
        table = [("(constant)", 1.0, self.intercept_, self.intercept_)]
        table += [(names[j], values[j], self.weights_[j], parts[j]) for j in order]
        if not self.model_.is_listed:
            (whole,) = self.model_.mean(rows, clip=False)
            rest = whole - self.intercept_ - parts.sum()
            table.append(("(all other weights)", np.nan, np.nan, rest))
            (clipped,) = self.model_.mean(rows, self._control("dense_control").clip)
            if clipped != whole:
                table.append(("(clip)", np.nan, np.nan, clipped - whole))
        terms, *numbers = zip(*table, strict=True)
        columns = (np.array(column, dtype=float).tolist() for column in numbers)
        titles = "value", "weight", "contribution"
        return to_frame({"term": list(terms)} | dict(zip(titles, columns, strict=True)))


def _one_row(x):
    """A table of one row."""
    if isinstance(x, str | bytes | Mapping | Set) or not np.iterable(x):
        raise ValueError(
            "x must be one row, a list or array of one value for each column, got "
            f"{x!r}"
        )
    x = to_numpy(x)
    if hasattr(x, "to_frame") and len(x.shape) == 1:
        # Of columns of different types a row is one of objects.
        return x.to_frame().T.infer_objects()
    if not hasattr(x, "shape"):
        x = np.array(x, dtype=object)
        if x.ndim == 1 and any(isinstance(value, list | tuple) for value in x):
            raise ValueError(f"x must be one row, got parts of many lengths: {x!r}")
    if len(x.shape) == 1:
        x = x.reshape(1, -1)
    if x.shape[0] != 1:
        raise ValueError(f"x must be one row, got {x.shape[0]} of them")
    return x


def _codes(rows, alphabets):
    """What one row multiplies the weight of each member by."""
    hot = [
        np.arange(size) == category
        for (size, _), category in zip(
            alphabets, rows.categories[0].tolist(), strict=True
        )
    ]
    return np.concatenate([rows.inputs[0], *hot]).astype(float)
