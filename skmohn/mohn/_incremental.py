"""Learning from further samples."""

from typing import Self

import numpy as np
from sklearn.base import _fit_context

from skmohn._core._fitting import all_or_nothing
from skmohn._core._units import binary_unit
from skmohn.mohn._sparse.learning import delta_rule, longest_step
from skmohn.mohn._table.columns import read_table
from skmohn.mohn._task import positive_weights


class Incremental:
    """`partial_fit` of the estimators."""

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None) -> Self:
        """Learn from more samples.

        The first call finds the structure as `fit` does. Later calls keep structure and
        coding and correct the weights by the delta rule (Swingler 2016, Eq 4), in one
        pass over the samples in their order. After ``strategy="dense"`` they condition
        all weights on the samples exactly, at the hyper-parameters of the first call;
        the order of the calls does not matter then.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        y : array-like of shape (n_samples,)
            Target values.

        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies the learning rate, at most up to the step that meets the target
            of its row if that is "auto"; with ``strategy="dense"`` precisions in the
            unit of the first call, whose mean is 1, so that batches make no difference.

        Returns
        -------
        MOHNRegressor
            The fitted estimator itself.
        """
        if not hasattr(self, "terms_"):
            return self.fit(X, y, sample_weight)
        X, y = read_table(self, X, y)
        unit = 1.0 if self._dense is None else self._weight_unit
        sample_weight, rows, _ = positive_weights(sample_weight, X, unit=unit)
        if self._dense is not None:
            self._update_dense(X[rows], y[rows], sample_weight)
            return self
        graph = self._graph()
        unit = binary_unit(np.concatenate([y, graph.coef, [graph.intercept]]))
        control = self._control("delta_control")
        control._validate_params()
        rate, longest = control.learning_rate, np.inf
        if rate == "auto":
            # Later rows may weigh more: each is cut by itself, in whatever batch.
            rate = longest = longest_step(len(graph.coef))
        fit = delta_rule(
            self._to_rows(X[rows]).inputs,
            y[rows] / unit,
            graph.terms,
            graph.coef / unit,
            graph.intercept / unit,
            learning_rate=rate,
            longest=longest,
            sample_weight=sample_weight,
        )
        self.weights_, self.intercept_ = unit * fit.coef, unit * fit.intercept
        # Online corrections leave no Gram matrix to take them from.
        self.standard_errors_ = np.full(len(fit.coef), np.nan)
        self._sparse = None
        self.noise_ = unit * float(fit.rmse[-1])
        self.n_iter_ += 1
        return self
