"""What the estimators share: how they name columns, route metadata, list attributes."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from numbers import Integral, Real
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.model_selection import check_cv
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from skmohn._core._categories import Categories
from skmohn._core._estimator import EstimatorMixin
from skmohn._core._options import Nested
from skmohn._core._sklearn import N_JOBS, Interval, StrOptions, raise_for_params
from skmohn.mohn._genotypes import GenotypeReader
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.term_names import TermNames
from skmohn.mohn._table.variants import Variants

# Columns by their names, all of one length.
Table: TypeAlias = dict[str, list[Any]]


class FittedTerms(GenotypeReader, Protocol):
    """What reports read of a fitted estimator."""

    terms_: list[tuple[Any, ...]]
    weights_: np.ndarray
    coding_: InputCoding
    stopping_reason_: str

    @property
    def categories_(self) -> dict[int, NDArray]: ...

    @property
    def intercept_(self) -> Any: ...

    @property
    def model_(self) -> Any: ...

    @property
    def term_names_(self) -> TermNames: ...


class FittedRegressor(FittedTerms, Protocol):
    """What the interaction graph reads of a model of one target."""

    @property
    def one_hot_groups_(self) -> list[tuple[int, ...]]: ...


class BaseMOHN(EstimatorMixin, Nested):
    """Base of the MOHN estimators: named and categorical columns, metadata routing."""

    categorical_features: ArrayLike | None
    cv: Any
    handle_unknown: str
    random_state: Any
    strategy: str
    coding_: InputCoding
    feature_names_in_: np.ndarray
    n_features_in_: int
    _categories: Categories
    _genotype_strategies: tuple[str, ...]
    _input_dtype: str
    _time_zones: dict[int, tzinfo | str | None]
    _variants: Variants

    # Of parameters that all have.
    _parameter_constraints = {
        "max_order": [Interval(Integral, 1, None, closed="left"), None],
        "terms": ["array-like", None],
        "cv": ["cv_object"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "work_budget": [Interval(Real, 0, None, closed="left")],
        "memory_budget": [Interval(Real, 0, None, closed="left")],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "handle_unknown": [StrOptions({"error", "missing"})],
        "random_state": ["random_state"],
        "n_jobs": [*N_JOBS],
    }

    @property
    def _when_long(self) -> str:
        """What takes less time."""
        (strategies,) = self._parameter_constraints["strategy"]
        is_slow = self.strategy in ("auto", "gp", "spike_slab")
        if is_slow and "pursuit" in strategies.options:
            return 'use fewer rows or columns, or strategy="pursuit"'
        return "use fewer rows or columns, or a lower max_order"

    @property
    def categories_(self) -> dict[int, NDArray]:
        """Categories of each categorical column.

        Returns
        -------
        dict of int to ndarray
            Keyed by column index, sorted. Of two, the first is coded as -1.
        """
        check_is_fitted(self)
        return self._categories.known()

    @property
    def is_categorical_(self) -> NDArray[np.bool_]:
        """Mask of the categorical columns.

        Returns
        -------
        ndarray of shape (n_features,), bool
            True for categorical columns.
        """
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[list(self._categories.encoders)] = True
        return mask

    @property
    def term_names_(self) -> TermNames:
        """Names of columns, categories and levels, and their internal numbers.

        Returns
        -------
        TermNames
            Translates between names, `terms_` and internal numbers.
        """
        check_is_fitted(self)
        return self._vocabulary(self.coding_)

    def get_metadata_routing(self) -> MetadataRouter:
        """Route arguments of `fit` to the estimator and to the splitter `cv`.

        Returns
        -------
        MetadataRouter
            See scikit-learn's user guide, "Metadata Routing".
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=check_cv(self.cv),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )

    def __sklearn_tags__(self) -> Tags:
        """Describe the inputs that the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def _names(self) -> Sequence[str] | None:
        return getattr(self, "feature_names_in_", None)

    def _vocabulary(self, coding: InputCoding) -> TermNames:
        return TermNames(coding, self._categories, self._names())

    def _split_params(
        self, params: Mapping[str, Any], groups: ArrayLike | None = None
    ) -> Mapping[str, Any]:
        """Arguments for ``cv.split``; refused where metadata routing is off."""
        raise_for_params(params, self)
        if groups is not None:
            params = {**params, "groups": groups}
        if not get_config()["enable_metadata_routing"]:
            return params
        return process_routing(self, "fit", **params).splitter.split
