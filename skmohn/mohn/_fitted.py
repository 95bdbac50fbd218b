"""What a fitted estimator is made of, and how it names it."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skmohn._core._fitting import warn_caller
from skmohn._core._units import binary_unit
from skmohn.mohn._sparse.model import SparseModel
from skmohn.mohn._table.coding import ONE_HOT
from skmohn.mohn._table.columns import column_names
from skmohn.mohn._table.vocabulary import Members
from skmohn.mohn._walsh.hypergraph import tabulate


class NamedColumns:
    """Columns by their names and categories."""

    @property
    def categories_(self):
        """Categories of the categorical columns.

        Returns
        -------
        dict of int to ndarray
            By column, sorted. Of two categories the first is -1 and the second +1.
        """
        check_is_fitted(self)
        return self._categories.known()

    @property
    def is_categorical_(self):
        """Which columns are categorical.

        Returns
        -------
        ndarray of shape (n_features,), bool
        """
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[list(self._categories.encoders)] = True
        return mask

    def _names(self):
        return getattr(self, "feature_names_in_", None)

    def _members(self, coding=None):
        coding = self.coding_ if coding is None else coding
        return Members(coding, self._categories, column_names(self))


class FittedStructure(NamedColumns):
    """What a fit leaves, and what it says of its weights."""

    @property
    def one_hot_groups_(self):
        """Groups of columns that were taken for the categories of one categorical.

        Returns
        -------
        list of tuples of int
        """
        check_is_fitted(self)
        coding = self.coding_
        return [s for s in coding.categoricals if coding.kind[s[0]] == ONE_HOT]

    def structure_table(self):
        """List the weights, the strongest first.

        Returns
        -------
        DataFrame, or dict of lists without pandas
            ``term`` (feature names joined by " x "), ``order``, ``weight``,
            ``standard_error`` and ``variance_share``, the weight's part of the model's
            variance over uniform inputs: of inputs with two values its square over the
            sum of all squares. A weight counts a third for each numeric column in it,
            which is uniform over its range, and one over the number of categories for
            each category; levels of a numeric column count as categories of another
            one. Categories stand behind their column, as in ``"sex=male"``; of two, the
            one that is +1.
        """
        check_is_fitted(self)
        members = self._members()
        names = dict(zip(members.labels, members.names, strict=True))
        scale = binary_unit(self.weights_)
        squares = (self.weights_ / scale) ** 2
        squares *= members.share(members.places(self.terms_))
        total = None
        if not self.model_.is_listed:
            total = self.model_.function_variance(members.variables())
            total *= (self.model_.scale / scale) ** 2
        return tabulate(
            self.terms_, self.weights_, self.standard_errors_, names, total, squares
        )

    def _fitted_attributes(self, graph, coding, model):
        members = self._members(coding)
        return {
            "terms_": [members.label(term) for term in graph.terms],
            "weights_": graph.coef,
            "intercept_": graph.intercept,
            "coding_": coding,
            "model_": model() if callable(model) else model or SparseModel.point(graph),
        }

    def _expose(self, solution, task, coding, history):
        """Set what a fit leaves; warn once."""
        attributes = self._fitted_attributes(solution.graph, coding, solution.model)
        for name, value in attributes.items():
            setattr(self, name, value)
        self.standard_errors_ = solution.standard_errors
        self.noise_ = solution.noise
        self.stopping_reason_ = solution.reason
        self.search_coverage_ = solution.coverage
        self.history_ = history
        self.n_iter_ = max(len(history), 1)
        # What unknown inputs hide is part of the noise that was found.
        known = task.rows, task.y, task.sample_weight
        self.model_ = self.model_.with_gaps(*known, coding)
        self._weight_unit = 1.0 if self.model_.is_listed else task.weight_unit
        if solution.warning:
            warn_caller(solution.warning, ConvergenceWarning)
