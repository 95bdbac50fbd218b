"""Recovery of other functions than glasses: orders, heredity, traps, tails, columns.

Columns are -1 and +1, and even but where it is said. Training targets have noise at a
ratio of the variances of function and noise; all learners of an instance see the same
rows. The functions:

- poly: 24 weights of 40 columns, eight of each order from 1 to 3, Gaussian
- heredity: eight of 40 columns and 16 pairs among these, Gaussian
- trap: ten deceptive traps of four bits, 150 weights up to order 4
- dense_pairs: all 496 pairs of 32 columns, Gaussian
- glass_t2, poly_t2: an 8x8 glass with Gaussian couplings, and poly, whose noise is that
  of Student's t with two degrees of freedom times the standard deviation of the ratio
- unbalanced: 12 of 40 columns and 12 pairs, Gaussian; each column has 4 to 50 % ones
- correlated: the same of columns that are signs of an autoregressive process with a
  correlation of 0.9 between neighbors

Ours are the default and strategy="spike_slab", with no other parameter. Other learners,
and what is printed, are those of `noise_grid`: linear ones get all pairs. The second
table has noise alone on 40 even columns: in how many fits (--null sets of how many)
ours and the lasso list a term, and the mean square of predictions beside the variance
of the noise. Aimed at is that 95 of 100 of ours list nothing.

--cells chooses rows by "function:rows:ratio", --learners some of them.
"""

import itertools
import math
import warnings
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from sklearn.exceptions import ConvergenceWarning

from benchmarks.mohn.noise_grid import (
    N_TEST,
    PEERS,
    fit_ours,
    read_cell,
    sparse_reference,
)
from benchmarks.shared import common, results
from skmohn.datasets import make_ising, make_mk_trap, make_sparse_walsh

N_COLUMNS = 40
CORRELATION = 0.9
MIN_ONES = 0.04
BURN_IN = 100
OURS = {
    "MOHN": fit_ours,
    "spike_slab": lambda data: fit_ours(data, strategy="spike_slab"),
}
CELLS = [
    ("poly", 150, 10.0),
    ("poly", 200, 100.0),
    ("poly", 300, 10.0),
    ("poly", 300, 3.0),
    ("poly", 500, 3.0),
    ("heredity", 150, 10.0),
    ("heredity", 150, 3.0),
    ("heredity", 300, 3.0),
    ("trap", 300, 100.0),
    ("trap", 500, 10.0),
    ("trap", 900, 10.0),
    ("trap", 900, 3.0),
    ("dense_pairs", 300, 1.0),
    ("dense_pairs", 300, 10.0),
    ("dense_pairs", 600, 10.0),
    ("glass_t2", 600, 10.0),
    ("poly_t2", 300, 10.0),
    ("unbalanced", 300, 10.0),
    ("unbalanced", 300, 3.0),
    ("correlated", 300, 10.0),
    ("correlated", 300, 3.0),
]
QUICK_CELLS = [("heredity", 150, 10.0), ("unbalanced", 300, 10.0)]
NULL_ROWS = 100, 300
NULL_LEARNERS = "MOHN", "spike_slab", "lasso"
MAX_ENUMERATED_UNITS = 0.05


def poly(n_rows: int, seed: int):
    """Rows, values and terms of a sparse polynomial of orders 1 to 3."""
    data = make_sparse_walsh(
        N_COLUMNS,
        {1: 8, 2: 8, 3: 8},
        n_samples=n_rows,
        heredity=None,
        optimum=False,
        random_state=seed,
    )
    return data.X, data.y, data.terms


def heredity(n_rows: int, seed: int):
    """The same of pairs whose columns matter on their own, too."""
    data = make_sparse_walsh(
        N_COLUMNS,
        {1: 8, 2: 16},
        n_samples=n_rows,
        heredity="strong",
        optimum=False,
        random_state=seed,
    )
    return data.X, data.y, data.terms


def trap(n_rows: int, seed: int):
    """The same of deceptive traps."""
    data = make_mk_trap(4, 10, n_samples=n_rows, random_state=seed)
    return data.X, data.y, data.terms


def dense_pairs(n_rows: int, seed: int):
    """The same of all pairs."""
    data = make_sparse_walsh(
        32,
        {2: math.comb(32, 2)},
        n_samples=n_rows,
        heredity=None,
        optimum=False,
        random_state=seed,
    )
    return data.X, data.y, data.terms


def glass(n_rows: int, seed: int):
    """The same of a spin glass."""
    data = make_ising(
        (8, 8),
        n_samples=n_rows,
        couplings="gaussian",
        optimum=False,
        random_state=seed,
    )
    return data.X, data.y, data.terms


def draw_unbalanced(shape: tuple[int, int], rng: np.random.Generator) -> NDArray:
    """Columns of which some have few ones."""
    ones = rng.uniform(MIN_ONES, 0.5, shape[1])
    return np.where(rng.uniform(size=shape) < ones, 1.0, -1.0)


def draw_correlated(shape: tuple[int, int], rng: np.random.Generator) -> NDArray:
    """Columns of which each goes with its neighbors."""
    n_rows, n_columns = shape
    steps = rng.standard_normal((n_rows, BURN_IN + n_columns))
    return np.sign(lfilter([1.0], [1.0, -CORRELATION], steps)[:, BURN_IN:])


def pairs_of(draw, n_rows: int, seed: int):
    """Rows, values and terms of a function of columns that are not even or alone."""
    rng = np.random.default_rng(seed)
    X = draw((n_rows, N_COLUMNS), rng)
    pairs = list(itertools.combinations(range(N_COLUMNS), 2))
    singles = rng.choice(N_COLUMNS, 12, replace=False)
    terms = [(int(j),) for j in singles]
    terms += [pairs[k] for k in rng.choice(len(pairs), 12, replace=False)]
    columns = np.array([X[:, term].prod(axis=1) for term in terms])
    return X, rng.standard_normal(len(terms)) @ columns, terms


FUNCTIONS = {
    "poly": poly,
    "heredity": heredity,
    "trap": trap,
    "dense_pairs": dense_pairs,
    "glass": glass,
    "unbalanced": lambda *size: pairs_of(draw_unbalanced, *size),
    "correlated": lambda *size: pairs_of(draw_correlated, *size),
}


class Truth:
    """Noisy training rows of a function, and fresh rows with and without noise."""

    def __init__(self, name: str, n_rows: int, ratio: float, seed: int):
        name, tail, _ = name.partition("_t2")
        X, y, terms = FUNCTIONS[name](n_rows + N_TEST, seed)
        rng = np.random.default_rng([seed, 1])
        noise = rng.standard_t(2, len(y)) if tail else rng.standard_normal(len(y))
        noisy = y + math.sqrt(np.var(y) / ratio) * noise
        self.X, self.test = X[:n_rows], X[n_rows:]
        self.y, self.noisy = noisy[:n_rows], noisy[n_rows:]
        self.function, self.terms = y[n_rows:], set(terms)


class Noise:
    """Rows of which nothing can be learned, and fresh ones."""

    def __init__(self, n_rows: int, seed: int):
        rng = np.random.default_rng(seed)
        self.X, self.test = rng.choice([-1.0, 1.0], (2, n_rows, N_COLUMNS))
        self.y = rng.standard_normal(n_rows)


def add_options(parser) -> None:
    """Add the choice of cells and of learners, and the number of fits of noise."""
    parser.add_argument("--cells", nargs="*", type=read_cell, metavar="CELL")
    parser.add_argument("--learners", nargs="+", choices=OURS | PEERS)
    parser.add_argument("--null", type=int, metavar="FITS")


def main() -> None:
    """Print a row for each cell and learner, then those of noise alone."""
    options = common.parse_options(
        __doc__, instances=5, quick_instances=1, add_arguments=add_options
    )
    warnings.simplefilter("ignore", ConvergenceWarning)
    common.warm_up()
    cells = QUICK_CELLS if options.quick else CELLS
    if options.cells is not None:
        cells = options.cells
    learners = OURS | PEERS
    learners = {name: learners[name] for name in options.learners or learners}
    table = common.Table(
        "Sparse and dense functions with noise",
        "function rows ratio learner n R2 lowest precision recall held seconds",
        width=12,
    )
    for cell in cells:
        problems = [Truth(*cell, options.seed + i) for i in range(options.instances)]
        for name, learn in learners.items():
            found = [sparse_reference(learn, data) for data in problems]
            score, *others = map(fmean, zip(*found, strict=True))
            row = score, min(each[0] for each in found), *others
            table.row(*cell, name, len(problems), *row)
    table.close()
    n_fits = options.null or (5 if options.quick else 100)
    table = common.Table("Noise alone", "learner rows fits listed square", width=12)
    for name in [name for name in NULL_LEARNERS if name in learners]:
        for n_rows in NULL_ROWS:
            listed, squares = 0, []
            for seed in range(options.seed, options.seed + n_fits):
                data = Noise(n_rows, seed)
                learned = learners[name](data)
                listed += bool(learned.terms)
                mean = np.mean(data.y)
                squares.append(np.mean((learned.predict(data.test) - mean) ** 2))
            met = name not in OURS or listed <= MAX_ENUMERATED_UNITS * n_fits
            table.row(name, n_rows, n_fits, listed, fmean(squares), met=met)
    table.close()


if __name__ == "__main__":
    results.record(main)
