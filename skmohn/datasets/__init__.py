"""Problems with known structure and, where possible, known optimum; measured data."""

from skmohn.datasets._blocks import make_bmda_quadratic, make_mk_trap
from skmohn.datasets._fluorescence import load_fluorescence
from skmohn.datasets._genome import make_gwas
from skmohn.datasets._ising import make_ising
from skmohn.datasets._nk import make_nk
from skmohn.datasets._pendulum import InvertedPendulum
from skmohn.datasets._sparse import make_sparse_walsh
from skmohn.datasets._spirals import make_two_spirals

__all__ = [
    "InvertedPendulum",
    "load_fluorescence",
    "make_bmda_quadratic",
    "make_gwas",
    "make_ising",
    "make_mk_trap",
    "make_nk",
    "make_sparse_walsh",
    "make_two_spirals",
]
