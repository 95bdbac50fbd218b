"""Names of mohn that applications use beside its public ones."""

from skmohn.mohn._design.design import make_design
from skmohn.mohn._design.products import ProductSum
from skmohn.mohn._effects import tabulate_sobol
from skmohn.mohn._from_terms import read_polynomial
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.marginal_likelihood import join_equal_rows, learn_prior
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._require import require_regressor
from skmohn.mohn._sparse.exact_fit import ExactFitTest
from skmohn.mohn._sparse.message_passing import bytes_of_candidate
from skmohn.mohn._sparse.pursuit import Pursuit, PursuitControl
from skmohn.mohn._stacking import SparseClassModel
from skmohn.mohn._table.coding import (
    CATEGORIES,
    CONSTANT,
    NUMERIC,
    ONE_HOT,
    InputCoding,
)
from skmohn.mohn._table.rows import Categorical, EncodedRows, standardize
from skmohn.mohn._table.target import Logarithm, Unchanged
from skmohn.mohn._table.variants import UNKNOWN_ALLELES

__all__ = [
    "CATEGORIES",
    "CONSTANT",
    "NUMERIC",
    "ONE_HOT",
    "UNKNOWN_ALLELES",
    "Categorical",
    "Covariance",
    "EncodedRows",
    "ExactFitTest",
    "ExactPosterior",
    "InputCoding",
    "Logarithm",
    "ProductSum",
    "Pursuit",
    "PursuitControl",
    "SparseClassModel",
    "Unchanged",
    "bytes_of_candidate",
    "join_equal_rows",
    "learn_prior",
    "make_design",
    "read_polynomial",
    "require_regressor",
    "standardize",
    "tabulate_sobol",
]
