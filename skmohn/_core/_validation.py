"""Reading what a user passes, and refusing what cannot work."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Final, Literal, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from skmohn._core._memory import format_bytes, memory_limit
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike, check_array


@dataclass(frozen=True)
class WeightConstants:
    """Weights of very different size."""

    # Sum of all weights but the largest, over it: with less, variances cancel.
    min_others: float = tuned(1e-8, "rounding")


_WEIGHTS = WeightConstants()
# Bytes that every process has.
_SMALL: Final = 2**20
# Of these numpy makes an array of a single object.
_NO_ARRAYS: Final = Mapping, Set, Iterator


def input_dtype(estimator: object) -> np.dtype:
    """Type of the values of a fit; float64 where it is not known."""
    return np.dtype(getattr(estimator, "_input_dtype", "float64"))


def require_fitted(estimator: object, attribute: str) -> None:
    """Refuse an estimator that is not fitted; where it is, `fit` sets the attribute."""
    # Scikit-learn looks at all attributes and tags.
    if attribute not in vars(estimator):
        check_is_fitted(estimator)


def has_read_inputs(estimator: object) -> bool:
    """Whether an estimator was fitted on a table, not made from terms or bytes."""
    return hasattr(estimator, "_input_dtype")


def to_numpy(values: Any) -> Any:
    """Convert an array of another library to numpy, and tables without column types."""
    # The array API has no ``len``, no ``reshape`` method, and indices for all axes
    # only. What an array masks becomes NaN: numpy drops masks without a word.
    if isinstance(values, np.ma.MaskedArray):
        return _fill_masked(values)
    if hasattr(values, "collect_schema") and hasattr(values, "collect"):
        raise TypeError(
            f"got a {type(values).__name__}, which is not computed yet: pass its "
            ".collect()"
        )
    if _is_no_array(values):
        raise TypeError(
            f"got a {type(values).__name__}, which is not an array with a value for "
            "each row: pass a list, an array or a data frame"
        )
    if hasattr(values, "to_native") and hasattr(values, "implementation"):
        # What narwhals stands in front of.
        return to_numpy(values.to_native())
    if hasattr(values, "column_names") and hasattr(values, "to_pandas"):
        # Columns of Arrow's tables have no names that scikit-learn selects by.
        return values.to_pandas()
    is_array = hasattr(values, "__array_namespace__") and not np.isscalar(values)
    return np.asarray(values) if is_array else values


def _is_no_array(values: object) -> bool:
    """Whether numpy would make an array of a single object."""
    # A sparse matrix by keys is a dict, too.
    return isinstance(values, _NO_ARRAYS) and not issparse(values)


def _fill_masked(values: Any) -> NDArray:
    """Fill a masked array with NaN, or NaT."""
    if not np.ma.is_masked(values):
        return np.asarray(values)
    if values.dtype.kind in "mM":
        return values.filled(np.array("NaT", values.dtype))
    kind, dtype = values.dtype.kind, values.dtype
    if kind not in "fc":
        dtype = np.float64 if kind in "biu" else object
    return values.astype(dtype).filled(np.nan)


def read_vector(
    values: ArrayLike, name: str, ensure_all_finite: bool | Literal["allow-nan"] = True
) -> NDArray[np.float64]:
    """Read a list of numbers."""
    # What is ragged and what is no list at all is an array of objects too.
    vector = np.asarray(
        None if _is_no_array(values) else to_numpy(values), dtype=object
    )
    if vector.ndim != 1 or not all(isinstance(v, Real | np.bool_) for v in vector):
        raise ValueError(f"{name} must be a list of numbers, got {values!r}")
    try:
        vector = vector.astype(np.float64)
    except OverflowError:
        raise ValueError(
            f"{name} has an integer beyond the largest float, 1.8e308"
        ) from None
    return check_array(
        vector,
        ensure_all_finite=ensure_all_finite,
        ensure_2d=False,
        ensure_min_samples=0,
        input_name=name,
    )


def is_integer(number: object) -> TypeGuard[int]:
    """Whether it is an integer; True is not, though Python takes it for 1."""
    return isinstance(number, Integral) and not isinstance(number, bool)


def read_sets(
    sets: Any, name: str, *, are_ordered: bool = False
) -> list[tuple[int | str, ...]]:
    """Read a list of sets of features; a feature is the set of itself."""
    # With `are_ordered` each belongs to a number of a list, so that their order counts.
    if are_ordered:
        refuse_set(sets, name)
    if isinstance(sets, str) or not np.iterable(sets):
        raise TypeError(f"{name} must be a list of sets of features, got {sets!r}")
    found = []
    for given in sets:
        is_single = isinstance(given, str) or is_integer(given)
        if not is_single and not np.iterable(given):
            raise TypeError(f"{name} has {given!r}, which is not a set of features")
        members = (given,) if is_single else tuple(given)  # pyright: ignore[reportArgumentType]
        for member in members:
            if not (isinstance(member, str) or is_integer(member)):
                raise ValueError(
                    f"{name} has {given!r}, but {member!r} is not a feature: use "
                    "indices or column names"
                )
        found.append(members)
    return found


def refuse_set(values: object, name: str) -> None:
    """Refuse what has no order of its own: that of a set differs by process."""
    if isinstance(values, set | frozenset):
        raise ValueError(
            f"{name} must have an order, but a set has none, got {values!r}: pass a "
            "list"
        )


def read_names(names: Iterable[str], name: str, of: str = "") -> list[str]:
    """Read a list of strings, all different if they are names `of` something."""
    if isinstance(names, str):
        raise ValueError(f"{name} must be a list of strings, got the string {names!r}")
    refuse_set(names, name)
    if not np.iterable(names):
        raise TypeError(f"{name} must be a list of strings, got {names!r}")
    names = list(names)
    for each in names:
        if not isinstance(each, str):
            raise ValueError(f"{name} must be strings, got {each!r}")
    if of and len(set(names)) < len(names):
        twin = next(each for each in names if names.count(each) > 1)
        raise ValueError(
            f"{name} has {twin!r} more than once: give each {of} a name of its own"
        )
    return names


def name_dtype(X: TableLike) -> str:
    """Name of the dtype that all values of a table have."""
    # "float64" where columns differ or are no plain numbers.
    if issparse(X):
        return X.dtype.name
    first = X[:1] if hasattr(X, "__getitem__") else X
    dtype = np.asarray(first).dtype
    return dtype.name if dtype.kind in "biuf" else "float64"


def densify(X: TableLike) -> TableLike:
    """Make a sparse table dense, if there is room for it; leave others as they are."""
    if not issparse(X):
        return X
    require_memory(
        8.0 * X.shape[0] * X.shape[1],
        f"a dense copy of X, {X.shape[0]} x {X.shape[1]},",
        "select columns first",
    )
    return X.toarray()


def weighted_rows(
    X: TableLike, weights: Sequence[ArrayLike | None]
) -> NDArray[np.intp] | None:
    """Find the samples that have weight, before weights are checked."""
    # Those with a positive product of weights; None where all have it, or none has.
    # Weights of another shape have no effect.
    if not weights:
        return None
    shape = getattr(X, "shape", None)
    if shape is None:
        shape = (len(X),) if hasattr(X, "__len__") else ()
    has_weight = np.ones(shape[:1], dtype=bool)
    for weight in weights:
        is_zero = _are_zero(to_numpy(weight))
        if is_zero.shape == has_weight.shape:
            has_weight &= ~is_zero
    return None if has_weight.all() or not has_weight.any() else has_weight.nonzero()[0]


def _are_zero(values: ArrayLike | None) -> NDArray[np.bool_]:
    """Mask of values that are zero; False for those that are no numbers."""
    array = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if array.dtype.kind in "biuf":
        return array == 0
    if array.dtype.kind in "mM":  # which have no zero without a unit
        return np.zeros(array.shape, dtype=bool)
    is_zero = [isinstance(value, Real) and value == 0 for value in array.ravel()]
    return np.reshape(is_zero, array.shape).astype(bool)


def refuse_dominant_weight(weights: NDArray[np.float64]) -> None:
    """Refuse a weight beside which all others are rounding errors."""
    heaviest = int(np.argmax(weights))
    others = float(np.sum(np.delete(weights / weights[heaviest], heaviest)))
    if 0.0 < others < _WEIGHTS.min_others:
        raise ValueError(
            f"the largest sample_weight, {weights[heaviest]:.6g}, is "
            f"{1.0 / others:.3g} times the sum of all others, which would not count: "
            "reduce it, or drop the sample"
        )


def weight_unit(weights: NDArray[np.float64]) -> float:
    """Divisor that makes weights of samples numbers of samples."""
    # Integers are taken literally: a weight of 2 is a sample that is there twice.
    # Others, and those too large for an exact sum, are relative: their unit is the mean
    # of the positive ones.
    return 1.0 if are_counts(weights) else mean_weight(weights)


def are_counts(weights: NDArray[np.float64]) -> bool:
    """Whether weights are integers with an exact sum."""
    largest = weights.max()
    if largest == 0:
        return True
    is_integer = np.array_equal(weights, np.rint(weights))
    return bool(is_integer and largest < 2.0**53 / np.count_nonzero(weights))


def mean_weight(weights: NDArray, counts: NDArray | None = None) -> float:
    """Mean of the positive weights of observations."""
    # `counts` are how many observations share each of them; None for one.
    n_observations = np.count_nonzero(weights) if counts is None else counts.sum()
    largest = weights.max()
    # First to at most one: the sum of large weights may be infinite.
    return float(largest * (np.sum(weights / largest) / n_observations))


def as_counts(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of samples as numbers of samples; those of zero count as none."""
    return weights / weight_unit(weights)


def is_pair_given(X: object, y: object, which: str = "_val") -> bool:
    """Whether there are samples, such as for validation; refuse one half of them."""
    if X is None and y is None:
        return False
    if X is None or y is None:
        missing = "X" if X is None else "y"
        raise ValueError(
            f"X{which} and y{which} go together, but {missing}{which} is missing"
        )
    return True


def require_memory(n_bytes: float, what: str, advice: str) -> None:
    """Refuse arrays that do not fit in memory, before they are allocated."""
    # `what` is the start of a sentence. To read the limits costs more than what is
    # computed of one row.
    if n_bytes <= _SMALL:
        return
    limit = memory_limit()
    if n_bytes > limit:
        raise MemoryError(
            f"{what} needs {format_bytes(n_bytes)} of memory, but this process may use "
            f"only {format_bytes(limit)}; {advice}"
        )


def read_quantiles(quantiles: ArrayLike) -> NDArray[np.float64]:
    """Check numbers between 0 and 1, both excluded."""
    refuse_set(quantiles, "quantiles")
    given = np.atleast_1d(to_numpy(quantiles))
    read = check_array(given, dtype=np.float64, ensure_2d=False, input_name="quantiles")
    if read.ndim != 1 or not np.all((read > 0.0) & (read < 1.0)):
        raise ValueError(
            f"quantiles must be numbers between 0 and 1, got {quantiles!r}"
        )
    return read
