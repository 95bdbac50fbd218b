"""What displays of associations share: colors, and heights of p-values."""

import numpy as np

from skmohn._core._validation import read_vector

# Paler than the two colors of most displays.
PALE_BLUE, PALE_RED = "#8fb7cf", "#e3a899"
# Dots from which a display keeps a picture of them: so many are slow to open.
MANY = 2000
# No smaller p-value is drawn, nor told from 0.
_LEAST = 1e-300


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
