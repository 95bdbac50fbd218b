"""Reading what a user passes, and refusing what cannot work."""

from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import (
    check_array,
)

from skmohn._core._memory import in_words, memory_limit


def input_dtype(estimator):
    """Type of the values of a fit; float64 where it is not known."""
    return np.dtype(getattr(estimator, "_input_dtype", "float64"))


def has_read_inputs(estimator):
    """Whether an estimator was fitted on a table, not made of what was known."""
    return hasattr(estimator, "_input_dtype")


def to_numpy(values):
    """An array of another library as one of numpy; all else as it is.

    The array API has no ``len``, no ``reshape`` method, and indices for all axes only.
    What an array masks becomes NaN: numpy drops masks without a word.
    """
    if isinstance(values, np.ma.MaskedArray):
        return _fill_masked(values)
    is_array = hasattr(values, "__array_namespace__") and not np.isscalar(values)
    return np.asarray(values) if is_array else values


def _fill_masked(values):
    """A masked array with NaN, or NaT, in the place of what is masked."""
    if not np.ma.is_masked(values):
        return np.asarray(values)
    if values.dtype.kind in "mM":
        return values.filled(np.array("NaT", values.dtype))
    kind, dtype = values.dtype.kind, values.dtype
    if kind not in "fc":
        dtype = np.float64 if kind in "biu" else object
    return values.astype(dtype).filled(np.nan)


def read_vector(values, name, ensure_all_finite=True):
    """Read a list of numbers.

    Parameters
    ----------
    values : array-like of shape (n,)

    name : str
        The parameter, for the message.

    ensure_all_finite : bool or "allow-nan", default=True
        As of :func:`~sklearn.utils.check_array`.

    Returns
    -------
    vector : ndarray of shape (n,), float64
    """
    # What is ragged and what is no list at all is an array of objects too.
    vector = np.asarray(to_numpy(values), dtype=object)
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


def is_whole(number):
    """Whether it is a whole number; True is not, though Python takes it for 1."""
    return isinstance(number, Integral) and not isinstance(number, bool)


def read_sets(sets, name, *, are_ordered=False):
    """Read a list of sets of features; a feature stands for the set of itself.

    Parameters
    ----------
    sets : sequence of int, str or sequences of them

    name : str
        The parameter, for the message.

    are_ordered : bool, default=False
        Whether each belongs to a number of a list, so that their order counts.

    Returns
    -------
    sets : list of tuples of int or str
    """
    if are_ordered:
        refuse_set(sets, name)
    if isinstance(sets, str) or not np.iterable(sets):
        raise TypeError(f"{name} must be a list of sets of features, got {sets!r}")
    found = []
    for given in sets:
        is_single = isinstance(given, str) or is_whole(given)
        if not is_single and not np.iterable(given):
            raise TypeError(f"{name} has {given!r}, which is not a set of features")
        members = (given,) if is_single else tuple(given)
        for member in members:
            if not (isinstance(member, str) or is_whole(member)):
                raise ValueError(
                    f"{name} has {given!r}, but {member!r} is not a feature: use "
                    "indices or column names"
                )
        found.append(members)
    return found


def refuse_set(values, name):
    """Refuse what has no order of its own: that of a set differs by process.

    Parameters
    ----------
    values : object

    name : str
        The parameter, for the message.

    Raises
    ------
    ValueError
    """
    if isinstance(values, set | frozenset):
        raise ValueError(
            f"{name} must be in an order, and a set has none, got {values!r}: pass a "
            "list"
        )


def read_names(names, name):
    """Read a list of strings.

    Parameters
    ----------
    names : sequence of str

    name : str
        The parameter, for the message.

    Returns
    -------
    names : list of str
    """
    if isinstance(names, str):
        raise ValueError(f"{name} must be a list of strings, got the string {names!r}")
    refuse_set(names, name)
    if not np.iterable(names):
        raise TypeError(f"{name} must be a list of strings, got {names!r}")
    names = list(names)
    for each in names:
        if not isinstance(each, str):
            raise ValueError(f"{name} must be strings, got {each!r}")
    return names


def name_dtype(X):
    """Name of the dtype that all values of a table have.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)

    Returns
    -------
    name : str
        "float64" where columns differ or are no plain numbers.
    """
    if issparse(X):
        return X.dtype.name
    some = X[:1] if hasattr(X, "__getitem__") else X
    dtype = np.asarray(some).dtype
    return dtype.name if dtype.kind in "biuf" else "float64"


def densify(X):
    """Make a sparse table dense, if there is room for it; leave others as they are."""
    if not issparse(X):
        return X
    require_memory(
        8.0 * X.shape[0] * X.shape[1],
        f"a dense copy of X, {X.shape[0]} x {X.shape[1]},",
        "select columns first",
    )
    return X.toarray()


def weighted_rows(X, weights):
    """Find the samples that have weight, before weights are checked.

    Parameters
    ----------
    X : array-like of shape (n_samples, ...)

    weights : sequence of array-like of shape (n_samples,)
        None among them, and what has another shape, has no effect.

    Returns
    -------
    rows : ndarray of int or None
        Those with a positive product of weights; None where all have it, or none has.
    """
    shape = getattr(X, "shape", None)
    if shape is None:
        shape = (len(X),) if hasattr(X, "__len__") else ()
    has_weight = np.ones(shape[:1], dtype=bool)
    for weight in weights:
        is_zero = _are_zero(to_numpy(weight))
        if is_zero.shape == has_weight.shape:
            has_weight &= ~is_zero
    return None if has_weight.all() or not has_weight.any() else has_weight.nonzero()[0]


def _are_zero(values):
    """Which values are zero; none of those that are no numbers."""
    array = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if array.dtype.kind in "biuf":
        return array == 0
    is_zero = [isinstance(value, Real) and value == 0 for value in array.ravel()]
    return np.reshape(is_zero, array.shape).astype(bool)


def weight_unit(weights):
    """What weights of samples are divided by to be numbers of samples.

    Whole numbers are taken at their word: a weight of 2 is a sample that is there
    twice. Others, and those too large for an exact sum, say how samples compare and
    nothing of how many there are: their unit is the mean of the positive ones.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,), float64
        Not negative.

    Returns
    -------
    unit : float
    """
    return 1.0 if are_counts(weights) else mean_weight(weights)


def are_counts(weights):
    """Whether weights are whole numbers with an exact sum.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,), float64
        Not negative.

    Returns
    -------
    are_counts : bool
    """
    largest = weights.max()
    if largest == 0:
        return True
    is_whole = np.array_equal(weights, np.rint(weights))
    return bool(is_whole and largest < 2.0**53 / np.count_nonzero(weights))


def mean_weight(weights, counts=None):
    """Mean of the positive weights of observations.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,), float64
        Not negative, nor all zero.

    counts : ndarray of shape (n_samples,), default=None
        How many observations share each of them; None for one.

    Returns
    -------
    mean : float
    """
    n_observations = np.count_nonzero(weights) if counts is None else counts.sum()
    largest = weights.max()
    # First to at most one: the sum of large weights may be infinite.
    return float(largest * (np.sum(weights / largest) / n_observations))


def as_counts(weights):
    """Weights of samples as numbers of samples.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,), float64
        Not negative; those of zero count as no samples.

    Returns
    -------
    counts : ndarray of shape (n_samples,), float64
    """
    return weights / weight_unit(weights)


def require_policy(policy):
    """Refuse what cannot be asked step by step."""
    if not (hasattr(policy, "initial_state") and hasattr(policy, "step")):
        raise TypeError(
            "policy must have the methods initial_state and step, such as those of "
            f"skmohn.blm.make_policy, got {policy!r}"
        )


def is_pair_given(X, y, which="_val"):
    """Whether there are samples, such as for validation; refuse one half of them."""
    if X is None and y is None:
        return False
    if X is None or y is None:
        missing = "X" if X is None else "y"
        raise ValueError(
            f"X{which} and y{which} go together, but {missing}{which} is missing"
        )
    return True


def require_memory(n_bytes, what, advice):
    """Refuse what cannot fit in memory, before it is allocated.

    Parameters
    ----------
    n_bytes : float
        What is needed.

    what : str
        What needs it, as the start of a sentence.

    advice : str
        What to do instead.

    Raises
    ------
    MemoryError
        When it is more than this process may have.
    """
    limit = memory_limit()
    if n_bytes > limit:
        raise MemoryError(
            f"{what} needs {in_words(n_bytes)} of memory and this process may have "
            f"{in_words(limit)}; {advice}"
        )


def read_shares(shares, name):
    """Check numbers between 0 and 1, both excluded.

    Parameters
    ----------
    shares : float or array-like of shape (n_shares,)

    name : str
        What they are called in the message.

    Returns
    -------
    shares : ndarray of shape (n_shares,)

    Raises
    ------
    ValueError
        If one is not, or there are none.
    """
    read = check_array(
        np.atleast_1d(shares), dtype=np.float64, ensure_2d=False, input_name=name
    )
    if read.ndim != 1 or not np.all((read > 0.0) & (read < 1.0)):
        raise ValueError(f"{name} must be numbers between 0 and 1, got {shares!r}")
    return read
