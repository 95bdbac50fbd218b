"""Cross-validated comparisons of estimators, on one data set or on several."""

from skmohn.model_selection._comparison import Comparison
from skmohn.model_selection._cross_validation import compare_estimators, compare_on

__all__ = ["Comparison", "compare_estimators", "compare_on"]
