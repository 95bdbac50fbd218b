"""Names of mohn that applications use beside its public ones."""

import numpy as np
from numpy.typing import NDArray

from skmohn._core._bits import pack_bits
from skmohn.mohn._association import require_regressor
from skmohn.mohn._design.design import PackedDesign, make_design
from skmohn.mohn._design.pair_screening import best_pairs
from skmohn.mohn._design.plane_design import PlaneDesign, Planes
from skmohn.mohn._design.products import ProductSum
from skmohn.mohn._effects import tabulate_sobol
from skmohn.mohn._export.formula import Formula
from skmohn.mohn._from_terms import read_polynomial
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.marginal_likelihood import (
    Evidence,
    join_equal_rows,
    learn_prior,
    start_prior,
)
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._sparse.exact_fit import ExactFitTest
from skmohn.mohn._sparse.pursuit import Pursuit, PursuitControl
from skmohn.mohn._stacking import SparseClassModel
from skmohn.mohn._table.coding import CATEGORIES, NUMERIC, ONE_HOT, InputCoding
from skmohn.mohn._table.level_kernels import find_levels
from skmohn.mohn._table.rows import Categorical, EncodedRows, standardize
from skmohn.mohn._table.target import Logarithm, Unchanged
from skmohn.mohn._table.variants import is_same_allele

__all__ = [
    "CATEGORIES",
    "NUMERIC",
    "ONE_HOT",
    "Categorical",
    "Covariance",
    "EncodedRows",
    "ExactFitTest",
    "ExactPosterior",
    "Formula",
    "InputCoding",
    "Logarithm",
    "ProductSum",
    "Pursuit",
    "PursuitControl",
    "SparseClassModel",
    "Unchanged",
    "compile_kernels",
    "is_same_allele",
    "join_equal_rows",
    "learn_prior",
    "make_design",
    "read_polynomial",
    "require_regressor",
    "standardize",
    "tabulate_sobol",
]


def compile_kernels(
    signs: NDArray[np.float64],  # (n_samples, n_features), of -1 and 1
    numbers: NDArray[np.float64],  # the same shape, of other values, too
    y: NDArray[np.float64],  # (n_samples,)
) -> None:
    """Compile the kernels that only large tables reach."""
    # Tables of many columns, and counts of alleles.
    n_samples, n_features = signs.shape
    sign, nonzero = (pack_bits(bits.T) for bits in (signs < 0, signs != 0))
    planes = Planes.around(sign, nonzero, nonzero, np.zeros(n_features), n_samples)
    for design in (PackedDesign(signs), PlaneDesign(planes)):
        best_pairs(design, np.ones((1, design.n_samples)), 1)
        design.screen(y, 1, 1)
        design.columns([(0, 1)])
    # All weights of numbers and categories, also of levels, in both precisions.
    categories = np.arange(n_samples)[:, None] % 3
    column = numbers[:, :1].copy()
    find_levels(column, np.arange(2), np.array([0.5, 1.5]), 0, categories.copy())
    sample = join_equal_rows(EncodedRows(numbers, categories), y)
    prior, alphabets = start_prior(n_features, (Categorical(3),)), (Categorical(3),)
    for dtype in (np.float64, np.float32):
        Evidence(sample, alphabets, dtype).value_and_slope(prior)
    covariance = Covariance(prior, alphabets)
    ExactPosterior.condition(covariance, sample).mean_variance().variance()
