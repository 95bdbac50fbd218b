"""Learning from further samples."""

from typing import Self

from sklearn.base import _fit_context

from skmohn._core._fitting import all_or_nothing
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
        control = self._control("delta_control")
        control._validate_params()
        weights = positive_weights(sample_weight, X, unit=self._weight_unit)
        sample_weight, rows, _ = weights
        new = self._to_rows(X[rows])
        model = self.model_.update(new, y[rows], sample_weight, control)
        graph, self.standard_errors_ = model.listed(self.max_order)
        for name, value in self._fitted_attributes(graph, self.coding_, model).items():
            setattr(self, name, value)
        self.noise_ = model.noise_std()
        self.n_iter_ += 1
        return self
