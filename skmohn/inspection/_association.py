"""Colors, and heights of p-values, of the displays of associations."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._validation import read_vector

# Paler than the two colors of most displays.
PALE_BLUE, PALE_RED = "#8fb7cf", "#e3a899"
# Dots from which a display keeps a picture of them: so many are slow to open.
MAX_VECTORS: Final = 2000
# No smaller p-value is drawn, nor told from 0.
_MIN_P_VALUE: Final = 1e-300


def read_heights(p_values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Minus the logarithms to base 10 of p-values; NaN for none."""
    p_values = read_vector(p_values, name, ensure_all_finite="allow-nan")
    if np.any((p_values < 0.0) | (p_values > 1.0)):
        raise ValueError(f"{name} must be p-values, between 0 and 1")
    return -np.log10(np.maximum(p_values, _MIN_P_VALUE))
