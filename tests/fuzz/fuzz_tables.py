"""Tables, targets and weights as users may pass them, each drawn as a short recipe.

A recipe is a dataclass of plain values. Its representation in a report, pasted after
``from fuzz_tables import *``, builds the same data again.
"""

import tempfile
import warnings
from dataclasses import dataclass

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from hypothesis import strategies as st

# ---------------------------------------------------------------------------- columns

COLUMNS = {
    "sign": lambda rng, n: rng.choice([-1.0, 1.0], n),
    "bit": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "genotype": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "grade": lambda rng, n: rng.integers(1, 6, n).astype(float),
    "normal": lambda rng, n: rng.standard_normal(n),
    "share": lambda rng, n: rng.random(n),
    "heavy": lambda rng, n: rng.standard_cauchy(n),
    "constant": lambda rng, n: np.full(n, 3.0),
    "nearly_constant": lambda rng, n: 1e9 + 1e-3 * rng.standard_normal(n),
    "huge": lambda rng, n: 1e308 * rng.uniform(-1, 1, n),
    "tiny": lambda rng, n: 1e-310 * rng.standard_normal(n),
    "both_zeros": lambda rng, n: rng.choice([-0.0, 0.0, 1.0], n),
}
COLUMNS_WITH_GAPS = {
    "missing": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
    "bits_with_gaps": lambda rng, n: rng.choice([0.0, 1.0, np.nan], n),
    "unknown": lambda rng, n: np.full(n, np.nan),
}
COLUMNS_NOT_FINITE = {
    "infinite": lambda rng, n: rng.choice([0.0, 1.0, np.inf], n),
    "minus_infinite": lambda rng, n: np.full(n, -np.inf),
}
COLUMNS_OF_OBJECTS = {
    "category": lambda rng, n: rng.choice(np.array(["a", "b", "ç"], dtype=object), n),
    "category_with_gaps": lambda rng, n: rng.choice(
        np.array(["a", "b", None], dtype=object), n
    ),
    "names": lambda rng, n: np.array([f"name {i}" for i in range(n)], dtype=object),
    "datetime": lambda rng, n: (
        np.datetime64("2024-01-01", "ns") + rng.integers(0, 9, n).astype("m8[D]")
    ),
    "mixed": lambda rng, n: rng.choice(np.array([1, "1", 2.5], dtype=object), n),
    "numeral": lambda rng, n: rng.choice(np.array(["1", "2"], dtype=object), n),
    "lists": lambda rng, n: np.fromiter(([i] for i in range(n)), object, n),
    "truth": lambda rng, n: rng.integers(0, 2, n).astype(bool),
    "complex": lambda rng, n: rng.standard_normal(n) + 1j,
}
EVERY_COLUMN = COLUMNS | COLUMNS_WITH_GAPS | COLUMNS_NOT_FINITE | COLUMNS_OF_OBJECTS
# A copy of the first.
EVERY_COLUMN["duplicate"] = COLUMNS["normal"]

DTYPES = (
    "float64", "float32", "float16", "int64", "int8", "uint8", "bool", "object", ">f8",
)  # fmt: skip
CONTAINERS = (
    "array", "fortran", "strided", "reversed", "readonly", "memmap", "list", "csr",
    "csc", "coo", "sparse_array", "pandas", "pandas_category", "pandas_nullable",
    "polars", "strict", "one_dimensional", "three_dimensional", "no_columns",
)  # fmt: skip
SPARSE = {"csr": sp.csr_matrix, "csc": sp.csc_matrix, "coo": sp.coo_matrix}


@dataclass(frozen=True)
class Table:
    """Recipe of a table, such as ``Table(3, ("sign", "missing"), "readonly")``."""

    n_rows: int
    columns: tuple
    container: str = "array"
    dtype: str = "float64"
    seed: int = 0

    def has_only(self, *kinds):
        """Whether each column is of one of some families of kinds."""
        return set(self.columns) <= set().union(*kinds)

    @property
    def is_finite(self):
        """Whether nothing is missing, infinite or an object."""
        return self.has_only(COLUMNS, {"duplicate"}) and self.dtype != "float16"

    @property
    def varies(self):
        """Whether some column of numbers has more than one value, once it is cast."""
        return any(len(np.unique(cast(c, self.dtype))) > 1 for c in self.values())

    def values(self):
        """Its columns, one array each."""
        rng = np.random.default_rng(self.seed)
        made = []
        for kind in self.columns:
            twin = kind == "duplicate" and made
            made.append(made[0] if twin else EVERY_COLUMN[kind](rng, self.n_rows))
        return made

    def build(self):
        """The table in its container."""
        columns = self.values()
        numeric = all(column.dtype.kind in "fb" for column in columns)
        names = [f"x{j}" for j in range(len(columns))]
        if self.container.startswith("pandas"):
            return self._frame(dict(zip(names, columns, strict=True)))
        if self.container == "polars":
            as_lists = (c if c.dtype.kind != "O" else c.tolist() for c in columns)
            return pl.DataFrame(dict(zip(names, as_lists, strict=True)), strict=False)
        if numeric:
            values = cast(np.column_stack(columns), self.dtype)
        else:
            values = np.empty((self.n_rows, len(columns)), dtype=object)
            for j, column in enumerate(columns):
                values[:, j] = column
        return contain(values, self.container if numeric else "array")

    def _frame(self, columns):
        frame = pd.DataFrame(columns)
        if self.container == "pandas_nullable":
            return frame.convert_dtypes()
        if self.container == "pandas_category":
            words = [name for name in frame if isinstance(columns[name][0], str)]
            return frame.astype(dict.fromkeys(words, "category"))
        return frame


def cast(values, dtype):
    """Convert as well as a dtype allows."""
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        values = np.nan_to_num(values).clip(limits.min // 2, limits.max // 2)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return values.astype(dtype)


def contain(values, container):
    """Put numbers in a container."""
    n_rows, n_columns = values.shape
    if container == "fortran":
        return np.asfortranarray(values)
    if container == "strided":
        wide = np.zeros((2 * n_rows, 3 * n_columns), dtype=values.dtype)
        wide[::2, ::3] = values
        return wide[::2, ::3]
    if container == "reversed":
        return np.ascontiguousarray(values[::-1])[::-1]
    if container == "readonly":
        values.setflags(write=False)
        return values
    if container == "memmap" and values.dtype != object:
        with tempfile.TemporaryFile() as file:
            mapped = np.memmap(file, values.dtype, "w+", shape=values.shape)
            mapped[:] = values
            mapped.flush()
            mapped.setflags(write=False)
            return mapped
    if container == "list":
        return values.tolist()
    if container in SPARSE and values.dtype in ("f4", "f8", "i8"):
        return SPARSE[container](values)
    if container == "sparse_array" and values.dtype in ("f4", "f8", "i8"):
        return sp.csr_array(values)
    if container == "strict" and values.dtype in ("f4", "f8", "i8", "i1", "u1"):
        return array_api_strict.asarray(values)
    if container == "one_dimensional":
        return values[:, 0].copy()
    if container == "three_dimensional":
        return values[:, :, None]
    if container == "no_columns":
        return values[:, :0]
    return values


# ---------------------------------------------------------------------------- targets

NUMBERS = ("plain", "whole", "bits", "constant", "large", "small", "far", "column")
CLASSES = ("two", "three", "words", "truth", "one_class", "rare", "float_classes")
BAD_TARGETS = (
    "nan", "infinite", "huge", "two_columns", "none", "too_short", "too_long",
    "datetime", "mixed", "empty", "sparse", "scalar", "complex",
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """Recipe of a target; the first column of a table has a say in it."""

    kind: str = "plain"
    container: str = "array"
    noise: float = 0.3
    seed: int = 0

    def build(self, n_rows):
        """The target of some rows."""
        rng = np.random.default_rng(self.seed)
        numbers = np.arange(n_rows) % 3 + self.noise * rng.standard_normal(n_rows)
        made = self._make(rng, n_rows, numbers)
        if not isinstance(made, np.ndarray) or made.ndim != 1:
            return made
        if self.container == "list":
            return made.tolist()
        if self.container == "series":
            return pd.Series(made, name="y")
        if self.container == "polars":
            return pl.Series("y", made.tolist(), strict=False)
        if self.container == "readonly":
            made.setflags(write=False)
        if self.container == "strict" and made.dtype.kind == "f":
            return array_api_strict.asarray(made)
        return made

    def _make(self, rng, n, numbers):
        thirds = np.arange(n) % 3
        made = {
            "plain": lambda: numbers,
            "positive": lambda: np.exp(numbers),
            "whole": lambda: numbers.round().astype(int),
            "bits": lambda: (numbers > 1).astype(float),
            "constant": lambda: np.full(n, 2.5),
            "large": lambda: 1e150 * numbers,
            "small": lambda: 1e-150 * numbers,
            "far": lambda: 1e8 + numbers,
            "column": lambda: numbers[:, None],
            "two": lambda: np.arange(n) % 2,
            "three": lambda: thirds,
            "words": lambda: np.array(["no", "yes", "perhaps"], dtype=object)[thirds],
            "truth": lambda: thirds > 0,
            "one_class": lambda: np.ones(n, dtype=int),
            "rare": lambda: (np.arange(n) == 0).astype(int),
            "float_classes": lambda: thirds.astype(float),
            "nan": lambda: np.where(np.arange(n) == n - 1, np.nan, numbers),
            "infinite": lambda: np.where(np.arange(n) == n - 1, np.inf, numbers),
            "huge": lambda: 1e308 * rng.uniform(-1, 1, n),
            "two_columns": lambda: np.column_stack([numbers, numbers]),
            "none": lambda: None,
            "too_short": lambda: numbers[:-1],
            "too_long": lambda: np.append(numbers, 0.0),
            "datetime": lambda: np.datetime64("2024-01-01") + np.arange(n),
            "mixed": lambda: np.array([1, "a", None], dtype=object)[thirds],
            "empty": lambda: np.empty(0),
            "sparse": lambda: sp.csr_matrix(numbers[:, None]),
            "scalar": lambda: 1.0,
            "complex": lambda: numbers + 1j,
        }
        return made[self.kind]()


WEIGHTS = (
    "none", "ones", "fractional", "whole", "some_zero", "one_left", "tiny", "huge",
    "wide",
)  # fmt: skip
BAD_WEIGHTS = ("zeros", "negative", "nan", "too_short", "scalar", "words", "infinite")


@dataclass(frozen=True)
class Weights:
    """Recipe of the weights of some rows."""

    kind: str = "none"
    as_list: bool = False
    seed: int = 0

    def build(self, n_rows):
        """The weights."""
        rng = np.random.default_rng(self.seed)
        fractional = rng.uniform(0.1, 2.0, n_rows)
        first = np.arange(n_rows) == 0
        made = {
            "none": lambda: None,
            "ones": lambda: np.ones(n_rows),
            "fractional": lambda: fractional,
            "whole": lambda: rng.integers(1, 4, n_rows),
            "some_zero": lambda: fractional * (np.arange(n_rows) % 4 > 0),
            "one_left": lambda: first.astype(float),
            "tiny": lambda: 1e-300 * fractional,
            "huge": lambda: 1e300 * fractional,
            "wide": lambda: 10.0 ** rng.uniform(-30, 30, n_rows),
            "zeros": lambda: np.zeros(n_rows),
            "negative": lambda: np.where(first, -1.0, fractional),
            "nan": lambda: np.where(first, np.nan, fractional),
            "too_short": lambda: fractional[:-1],
            "scalar": lambda: 2.0,
            "words": lambda: np.full(n_rows, "a", dtype=object),
            "infinite": lambda: np.where(first, np.inf, fractional),
        }[self.kind]()
        return made.tolist() if self.as_list and np.ndim(made) else made


# ------------------------------------------------------------------------- strategies

SEEDS = st.integers(0, 999)


@st.composite
def tables(draw, columns=tuple(EVERY_COLUMN), containers=CONTAINERS, n_rows=None):
    """Tables of a few columns, or of many of one kind."""
    if n_rows is None:
        n_rows = draw(st.sampled_from([30, 12, 5, 60, 3, 2, 1]))
    kinds = st.sampled_from(columns)
    if draw(st.integers(0, 9)) == 9:
        chosen = (draw(kinds),) * draw(st.sampled_from([30, 1]))
    else:
        chosen = tuple(draw(st.lists(kinds, min_size=1, max_size=6)))
        if draw(st.booleans()):
            chosen = (*chosen, "duplicate")
    return Table(
        n_rows,
        chosen,
        draw(st.sampled_from(containers)),
        draw(st.sampled_from(DTYPES)),
        draw(SEEDS),
    )


@st.composite
def mostly_fine_tables(draw):
    """Tables that an estimator can mostly work with, of which one in four is odd."""
    if draw(st.integers(0, 3)) == 3:
        return draw(tables())
    fine = (*COLUMNS, *COLUMNS_WITH_GAPS) if draw(st.booleans()) else tuple(COLUMNS)
    return draw(tables(fine, CONTAINERS[:-3]))


def mostly(fine, odd):
    """Draw from the fine ones, once in eight times from the odd ones."""
    return st.integers(0, 7).flatmap(lambda i: st.sampled_from(odd if i == 7 else fine))


def targets(fine):
    """Targets, mostly of the kinds given."""
    odd = tuple({*NUMBERS, *CLASSES, *BAD_TARGETS} - set(fine))
    return st.builds(
        Target,
        mostly(fine, sorted(odd)),
        st.sampled_from(["array", "list", "series", "polars", "readonly", "strict"]),
        st.sampled_from([0.3, 0.0, 3.0]),
        SEEDS,
    )


def weights():
    """Weights of rows, mostly those that make sense."""
    return st.builds(Weights, mostly(WEIGHTS, BAD_WEIGHTS), st.booleans(), SEEDS)
