"""``strategy="dense"``: from a prepared task to all weights and what they tell."""

import math
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skmohn.mohn._dense.covariance import Covariance
from skmohn.mohn._dense.evidence import MAX_ITER
from skmohn.mohn._dense.model import fit_dense
from skmohn.mohn._dense.terms import highest_order
from skmohn.mohn._model import NoPosteriorError, Solution
from skmohn.mohn._table.columns import read_table
from skmohn.mohn._walsh.hypergraph import Hypergraph

_WAYS = {
    "cholesky": "a Cholesky factor of all rows",
    "walsh": "conjugate gradients with Walsh-Hadamard products",
    "nystroem": "inducing rows",
}
_NOTHING = Hypergraph((), np.empty(0), 0.0)


def solve_dense(params, task, members, loop):
    """Learn all weights under the product prior.

    Parameters
    ----------
    params : MOHNRegressor
        Only its parameters are read.

    task : Task

    members : Members

    loop : FitLoop

    Returns
    -------
    solution : Solution
        Its graph has the significant weights.
    """
    if params.learning_rule != "ols":
        raise ValueError(
            f'strategy="dense" has no use for learning_rule={params.learning_rule!r}: '
            "weights follow from the prior and the data; leave it at its default"
        )
    fit = partial(
        fit_dense,
        task.rows.as_float(),
        task.y,
        task.sample_weight,
        alphabets=members.alphabets,
        max_order=params.max_order,
        memory_budget=params.memory_budget,
        seed=task.seed,
    )

    def report(height, prior):
        record = {"log_posterior": height, "noise": math.sqrt(prior.noise)}
        # Only a callback that wants to predict has the posterior computed.
        return loop.step(
            record, _NOTHING, partial(_settle, fit, members.alphabets, prior)
        )

    model = fit(
        noise=params._control("dense_control").noise,
        start=_earlier_prior(params, task.inputs.shape[1], members.alphabets),
        max_iter=min(params.max_iter, MAX_ITER),
        report=report,
    )
    graph, errors = model.listed(params.max_order)
    terms = list(graph.terms)
    held = float(np.sum((graph.coef / model.scale) ** 2 * members.share(terms)))
    share = held / max(model.function_variance(members.variables()), 1e-300)
    record = {
        "log_posterior": model.log_evidence(),
        "noise": math.sqrt(model.prior.noise),
        "validation_rmse": _validation_rmse(model, task),
        "way": model.route,
        "n_weights": len(terms),
    }
    loop.step(record, graph, model)
    n_members = len(members.labels)
    reason = (
        f"all weights of {members.describe()} by {_WAYS[model.route]}; the "
        f"{len(terms)} significant ones hold {min(share, 1.0):.0%} of the variance, "
        "the dense part the rest"
    )
    coverage = [
        {
            "order": order,
            "possible": members.count(order),
            "tried": members.count(order),
            "kept": sum(len(term) == order for term in terms),
        }
        for order in range(
            1, highest_order(n_members, params.max_order, members.n_categoricals) + 1
        )
    ]
    return Solution(
        graph,
        errors,
        model.noise_std(),
        reason,
        coverage,
        model=model,
    )


def _earlier_prior(params, n_inputs, alphabets):
    """Hyper-parameters of the fit before, when a warm start is wanted and they fit."""
    earlier = getattr(params, "model_", None) if params.warm_start else None
    if earlier is None or earlier.is_listed or len(earlier.prior.rates) != n_inputs:
        return None
    if earlier.covariance.alphabets != alphabets:
        return None
    return earlier.prior


def _settle(fit, alphabets, prior):
    """The model with hyper-parameters as they are."""
    return fit(
        covariance=Covariance(prior, alphabets), noise="constant", strong_terms=False
    )


def _validation_rmse(model, task):
    if task.validation is None:
        return None
    _, y, weights = task.validation
    residual = y - model.mean(task.held_rows)
    return float(np.sqrt(np.average(residual**2, weights=weights)))


class DenseMethods:
    """What can be asked of all weights: for estimators with ``strategy="dense"``."""

    @property
    def relevance_(self):
        """Share of a weight's variance that each further input leaves: tau.

        Returns
        -------
        ndarray of shape (n_features,)
            From 0, does not matter, to 1; 0 for constant columns. Of a categorical with
            categories or levels, that of an input whose two values are as much alike as
            two of its categories are on average. Only where all weights were fitted.
        """
        of_inputs, of_categoricals = self._posterior("relevance_").relevance()
        relevance = np.zeros(self.n_features_in_)
        coding = self.coding_
        relevance[coding.usable] = of_inputs
        for columns, tau in zip(coding.categoricals, of_categoricals, strict=True):
            # A numeric column is an input as well.
            relevance[list(columns)] = np.maximum(relevance[list(columns)], tau)
        return relevance

    @property
    def log_marginal_likelihood_(self):
        """Log density of the targets under the prior, at the hyper-parameters found.

        Returns
        -------
        float
            In nats; after a fit with ``strategy="dense"`` or ``"auto"``. Infinite for
            an exact model.
        """
        return self._posterior("log_marginal_likelihood_").log_evidence()

    def sample_y(self, X, n_samples=1, random_state=0):
        """Draw observations from the posterior, jointly for all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)

        n_samples : int, default=1
            Number of draws.

        random_state : int, RandomState instance or None, default=0
            As in scikit-learn's Gaussian processes, the same draws in every call.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            One draw in each column, with noise.

        Raises
        ------
        AttributeError
            After a strategy other than ``"auto"`` and ``"dense"``.
        """
        model = self._posterior("sample_y")
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        seed = check_random_state(random_state).randint(2**31)
        rng = np.random.default_rng(seed)
        return model.draw(self._to_rows(read_table(self, X)), n_samples, rng)

    def weight(self, term):
        """Posterior of one weight, whether or not it is among `terms_`.

        After ``strategy="auto"`` chose the sparse model, others are 0 for certain.

        Parameters
        ----------
        term : sequence of int, str or pairs of them and a category
            The features that it connects, as indices or names; empty for the constant.
            Of a categorical column, the column with a category: ``[("base", "G")]``.

        Returns
        -------
        mean : float
            Posterior mean.

        std : float
            Posterior standard deviation.

        Raises
        ------
        ValueError
            When something in `term` is not a feature, is there twice, is constant, or
            lacks a category.

        AttributeError
            After a strategy other than ``"auto"`` and ``"dense"``.
        """
        model = self._posterior("weight")
        sign, term = self._members().find(term, self._names())
        mean, std = model.weight(term)
        return sign * mean, std

    def _to_rows(self, X):
        return self.coding_.encode(X, self._names())

    def _posterior(self, what):
        check_is_fitted(self)
        if not self.model_.has_posterior:
            why = f'strategy="{self.strategy}" has none'
            if self.strategy in ("auto", "dense"):
                why = "columns that do not vary, and partial_fit after the sparse "
                why += "model was chosen, leave none"
            raise NoPosteriorError(
                f"{what} needs a posterior, and {why}: fit with "
                'strategy="dense" or "auto" on columns that vary'
            )
        return self.model_
