"""``strategy="dense"``: from a prepared task to all weights."""

import math
from functools import partial

import numpy as np

from skmohn._core._control import control_of
from skmohn.mohn._dense.covariance import Covariance
from skmohn.mohn._dense.evidence import MAX_ITER
from skmohn.mohn._dense.model import fit_dense
from skmohn.mohn._dense.terms import highest_order
from skmohn.mohn._model import Solution
from skmohn.mohn._walsh.hypergraph import Hypergraph

_WAYS = {
    "cholesky": "a Cholesky factor of all rows",
    "walsh": "conjugate gradients with Walsh-Hadamard products",
    "nystroem": "inducing rows",
}
_NOTHING = Hypergraph((), np.empty(0), 0.0)


def solve_dense(params, task, vocabulary, loop):
    """Learn all weights under the product prior.

    Parameters
    ----------
    params : MOHNRegressor
        Only its parameters are read.

    task : Task

    vocabulary : Vocabulary

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
        alphabets=vocabulary.alphabets,
        max_order=params.max_order,
        memory_budget=params.memory_budget,
        seed=task.seed,
    )

    def report(height, prior):
        record = {"log_posterior": height, "noise": math.sqrt(prior.noise)}
        # Only a callback that wants to predict has the posterior computed.
        return loop.step(
            record, _NOTHING, partial(_settle, fit, vocabulary.alphabets, prior)
        )

    model = fit(
        noise=control_of(params, "dense_control").noise,
        start=_earlier_prior(params, task.inputs.shape[1], vocabulary.alphabets),
        max_iter=min(params.max_iter, MAX_ITER),
        report=report,
    )
    graph, errors = model.listed(params.max_order)
    terms = list(graph.terms)
    held = float(np.sum((graph.coef / model.scale) ** 2 * vocabulary.share(terms)))
    share = held / max(model.function_variance(vocabulary.variables()), 1e-300)
    record = {
        "log_posterior": model.log_evidence(),
        "noise": math.sqrt(model.prior.noise),
        "validation_rmse": _validation_rmse(model, task),
        "way": model.route,
        "n_weights": len(terms),
    }
    loop.step(record, graph, model)
    n_members = len(vocabulary.labels)
    reason = (
        f"all weights of {vocabulary.describe()} by {_WAYS[model.route]}; the "
        f"{len(terms)} significant ones hold {min(share, 1.0):.0%} of the variance, "
        "the dense part the rest"
    )
    coverage = [
        {
            "order": order,
            "possible": vocabulary.count(order),
            "tried": vocabulary.count(order),
            "kept": sum(len(term) == order for term in terms),
        }
        for order in range(
            1, highest_order(n_members, params.max_order, vocabulary.n_categoricals) + 1
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
