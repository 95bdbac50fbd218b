"""Prior of single inputs and categoricals alone, which share one variance."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skmohn._core._fitting import one_blas_thread
from skmohn._core._tuned import tuned
from skmohn.mohn._gp.covariance_function import Prior
from skmohn.mohn._gp.marginal_likelihood import HYPERPRIOR
from skmohn.mohn._gp.model import GPModel, fit_gp
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._models import PRIOR, integrate_r2
from skmohn.mohn._table.rows import (
    Categorical,
    EncodedRows,
    count_observations,
    sizes_of,
    standardize,
)
from skmohn.mohn._table.target import UNCHANGED, Transform


@dataclass(frozen=True)
class AdditiveConstants:
    """Hyperparameters of an additive model."""

    # Rates of what does not vary, and of levels, whose numbers have a line.
    min_rate: float = tuned(1e-9, "rounding")
    # Most that a rate makes of a variance of 1: rates are arguments of functions that
    # reach 1 at infinity.
    max_variance_fraction: float = tuned(0.9, "rounding")
    # Eigenvalues below this fraction of the largest one are rounding errors.
    rounding: float = tuned(1e-8, "rounding")


_ADDITIVE = AdditiveConstants()


@one_blas_thread
def fit_additive(
    rows: EncodedRows,
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    alphabets: tuple[Categorical, ...],
    transform: Transform = UNCHANGED,
    memory_budget: float = 1e9,
) -> GPModel:
    """Learn one variance of what each input and categorical explains alone."""
    # A priori these are as large for each in the rows of the fit, as those of
    # standardized columns in ridge regression. What they explain of the target is
    # learned as in `integrate_r2`. Levels of numeric columns are left out.
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    prior = _even_prior(rows, weight, alphabets)
    standard, _, _ = standardize(transform.forward(y), sample_weight)
    columns = np.sqrt(weight)[:, None] * _columns(prior, rows, weight, alphabets)
    vectors, roots, _ = np.linalg.svd(columns, full_matrices=False)
    values = roots**2
    is_kept = values > _ADDITIVE.rounding * max(values.max(initial=0.0), 1e-300)
    values, vectors = values[is_kept], vectors[:, is_kept]
    target = np.sqrt(weight) * standard
    # The mean variance; 1 where no column varies.
    along, level = vectors.T @ target, float(values.sum() / weight.sum()) or 1.0
    found = integrate_r2(
        values / level,
        along,
        max(float(target @ target - along @ along), 0.0),
        float(count_observations(weight).sum()) - 1.0,
        PRIOR.min_noise_variance,
    )
    prior = prior._replace(
        # Of products, next to none: logarithms are asked for.
        signal_variance=HYPERPRIOR.min_signal_variance,
        main_effect_variance=found.signal / level,
        noise_variance=found.noise,
    )
    model = fit_gp(
        rows,
        y,
        sample_weight,
        transform=transform,
        covariance=Covariance(prior, alphabets),
        noise="constant",
        strong_terms=False,
        memory_budget=memory_budget,
    )
    return replace(model, log_occam_factor=found.log_occam_factor)


def _even_prior(
    rows: EncodedRows, weight: NDArray[np.float64], alphabets: tuple[Categorical, ...]
) -> Prior:
    """Rates with which all inputs and categoricals explain as much, for `linear` 1."""
    # ``tanh(rate)`` is the variance of a weight of an input. Values at k categories,
    # less their mean, have the covariance of independent ones of variance ``(1 - f) /
    # m``, where ``f = exp(-2 rate)`` and ``m = 1 / k + (1 - 1 / k) f``.
    total = weight.sum()
    mean = weight @ rows.inputs / total
    of_inputs = weight @ (rows.inputs - mean) ** 2 / total
    of_categoricals = np.zeros(len(alphabets))
    for k, (size, is_ordered, _) in enumerate(alphabets):
        if not is_ordered:
            counts = np.bincount(rows.categories[:, k], weight, size + 1)[:size]
            of_categoricals[k] = 1.0 - np.sum((counts / max(counts.sum(), 1e-300)) ** 2)
    variances = np.concatenate([of_inputs, of_categoricals])
    varies = variances > _ADDITIVE.rounding
    threshold = _ADDITIVE.max_variance_fraction * variances[varies].min(initial=1.0)
    parts = np.zeros(len(variances))
    parts[varies] = threshold / variances[varies]
    of_inputs, of_categoricals = np.split(parts, [len(of_inputs)])
    sizes = np.array(sizes_of(alphabets), dtype=int)
    rest = of_categoricals / np.maximum(sizes, 1)
    rates = 0.5 * (np.log1p(of_categoricals - rest) - np.log1p(-rest))
    category_rates = np.repeat(rates, sizes)
    return Prior(
        np.maximum(np.arctanh(of_inputs), _ADDITIVE.min_rate),
        np.maximum(category_rates, _ADDITIVE.min_rate),
        0.0,
        1.0,
        1.0,
    )


def _columns(
    prior: Prior,
    rows: EncodedRows,
    weight: NDArray[np.float64],
    alphabets: tuple[Categorical, ...],
) -> NDArray[np.float64]:
    """Columns whose products are the prior covariance of the rows, less their means."""
    blocks = [np.sqrt(prior.tau) * rows.inputs]
    for k, (_, centered) in enumerate(Covariance(prior, alphabets).tables):
        values, vectors = np.linalg.eigh(centered)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))
        blocks.append(roots[rows.categories[:, k]])
    columns = np.hstack(blocks)
    return columns - weight @ columns / weight.sum()
