"""Reading what a user passes, and refusing what cannot work."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_X_y,
    validate_data,
)

from skmohn._core._memory import memory_limit


def validate_table(estimator, X, y="no_validation", *, reset=False, check_columns=True):
    """Check a table of numbers, with NaN for unknown values.

    Parameters
    ----------
    estimator : estimator

    X : {array-like, sparse matrix} of shape (n_samples, n_features)

    y : array-like of shape (n_samples,), default="no_validation"
        Checked together with X when given.

    reset : bool, default=False
        Whether to remember the number and names of the columns, as in `fit`, or to
        compare with those remembered. The dtype is remembered in ``_input_dtype``.

    check_columns : bool, default=True
        Without, the number and names of the columns are left alone.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Dense, float64.

    y : ndarray of shape (n_samples,)
        Only when given.
    """
    source = X
    alone = isinstance(y, str) and y == "no_validation"
    options = {
        "dtype": np.float64,
        "accept_sparse": "csr",
        "ensure_all_finite": "allow-nan",
        # A single sample leaves nothing to learn from.
        "ensure_min_samples": 2 if reset else 1,
    }
    if not alone:
        options["y_numeric"] = True
    given = (X,) if alone else (X, y)
    if check_columns:
        checked = validate_data(estimator, *given, reset=reset, **options)
    else:
        check = check_array if alone else check_X_y
        checked = check(*given, estimator=estimator, **options)
    X, y = (checked, None) if alone else checked
    if reset:
        estimator._input_dtype = name_dtype(source)
    X = densify(X)
    return X if alone else (X, np.asarray(y, dtype=np.float64))


def to_numpy(values):
    """An array of another library as one of numpy; all else as it is.

    The array API has no ``len``, no ``reshape`` method, and indices for all axes only.
    """
    return np.asarray(values) if hasattr(values, "__array_namespace__") else values


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


def as_counts(weights):
    """Weights of samples as numbers of samples.

    Whole numbers are taken at their word: a weight of 2 is a sample that is there
    twice. Others say how samples compare and nothing of how many there are: they get a
    mean of one, so that their scale does not matter.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,), float64
        Not negative; those of zero count as no samples.

    Returns
    -------
    counts : ndarray of shape (n_samples,), float64
    """
    if not weights.any():
        return weights
    largest = weights.max()
    if np.array_equal(weights, np.rint(weights)) and largest < 2.0**53 / len(weights):
        return weights
    # First to at most one: the sum of large weights may be infinite.
    shares = weights / largest
    return shares * (np.count_nonzero(shares) / shares.sum())


def is_pair_given(X_val, y_val):
    """Whether there are validation samples; refuse one half of them."""
    if X_val is None and y_val is None:
        return False
    if X_val is None or y_val is None:
        missing = "X_val" if X_val is None else "y_val"
        raise ValueError(f"X_val and y_val go together, and {missing} is missing")
    return True


def validate_held_out(estimator, X_val, y_val, read=validate_table):
    """Check validation samples; return them, or None when there are none."""
    if not is_pair_given(X_val, y_val):
        return None
    X_val = read(estimator, X_val)
    y_val = np.asarray(y_val, dtype=np.float64)
    if y_val.ndim != 1 or not np.isfinite(y_val).all():
        raise ValueError("y_val must be one-dimensional and finite")
    check_consistent_length(X_val, y_val)
    return X_val, y_val


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
            f"{what} needs {n_bytes / 2**30:,.1f} GiB of memory and this process may "
            f"have {limit / 2**30:,.1f} GiB; {advice}"
        )
