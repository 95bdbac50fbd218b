"""Types that annotations share, and functions of scikit-learn with types of our own."""

from collections.abc import Callable
from datetime import tzinfo
from typing import Any, Protocol, TypeAlias, TypeVar

import joblib
from scipy.linalg import lapack as _lapack
from sklearn.utils import metaestimators, validation

# A table as users pass it: arrays of several libraries, sparse matrices, data frames of
# pandas, polars and arrow, lists of rows, genotypes. No protocol is common to all.
TableLike: TypeAlias = Any
# A set of inputs whose product is a term of a model, increasing.
Term: TypeAlias = tuple[int, ...]


class TableReader(Protocol):
    """Attributes of an estimator about the table that it was fitted on."""

    n_features_in_: int
    _input_dtype: str
    _time_zones: dict[int, tzinfo | str | None]


# Routines of LAPACK are made at run time: no checker finds them.
lapack: Any = _lapack
_Method = TypeVar("_Method")

# These packages have no types; those that checkers guess of their defaults are wrong.
effective_n_jobs: Callable[..., int] = joblib.effective_n_jobs
check_array: Callable[..., Any] = validation.check_array
check_X_y: Callable[..., Any] = validation.check_X_y  # noqa: N816 - its name


def available_if(check: Callable[[Any], bool]) -> Callable[[_Method], _Method]:
    """Offer a method where a check of its estimator passes, by scikit-learn's."""
    decorate: Any = metaestimators.available_if(check)
    return decorate
