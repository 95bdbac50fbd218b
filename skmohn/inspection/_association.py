"""What displays of associations share: tests of all columns and pairs with a target."""

import numpy as np

from skmohn._core._units import power_of_two_scale
from skmohn._core._validation import read_vector
from skmohn.mohn._design.design import make_design
from skmohn.mohn._findings import always_of
from skmohn.mohn._genotypes import encode, read_inputs
from skmohn.mohn._require import require_regressor
from skmohn.mohn._sparse.active_set import ActiveSet

# Paler than the two colors of most displays.
PALE_BLUE, PALE_RED = "#8fb7cf", "#e3a899"
# Dots from which a display keeps a picture of them: so many are slow to open.
MANY = 2000
# No smaller p-value is drawn, nor told from 0.
_LEAST = 1e-300


def null_model(estimator, X, y):
    """The model of the mean, and of terms that are always there, for a test of others.

    Parameters
    ----------
    estimator : MOHNRegressor
        Fitted.

    X : array-like or Genotypes of shape (n_samples, n_features)

    y : array-like of shape (n_samples,)

    Returns
    -------
    model : ActiveSet

    usable : ndarray of int
        The column of each of its inputs.
    """
    require_regressor(estimator, "estimator")
    X, y = read_inputs(estimator, X, y)
    coding = estimator.coding_
    names = getattr(estimator, "feature_names_in_", None)
    rows = encode(coding, X, names)
    if not len(coding.usable):
        raise ValueError("X has no column that varies in fit: there is nothing to draw")
    if not np.ptp(y):
        raise ValueError("y does not vary: there is nothing to draw")
    always = always_of(estimator)
    # Squares of tiny and of huge numbers would be lost.
    y = y / power_of_two_scale(y)
    return ActiveSet(make_design(rows.inputs), y, always), coding.usable


def by_column(p_values, usable, n_columns):
    """p-values of all columns, of which some are inputs; NaN for the others."""
    found = np.full(n_columns, np.nan)
    found[usable] = p_values
    return found


def read_heights(p_values, name):
    """How significant p-values are: minus their logarithms to base 10.

    Parameters
    ----------
    p_values : array-like of shape (n,)
        NaN for none.

    name : str
        What they are, for messages.

    Returns
    -------
    neg_log10_p : ndarray of shape (n,)
    """
    p_values = read_vector(p_values, name, ensure_all_finite="allow-nan")
    if np.any((p_values < 0.0) | (p_values > 1.0)):
        raise ValueError(f"{name} must be p-values, between 0 and 1")
    return -np.log10(np.maximum(p_values, _LEAST))
