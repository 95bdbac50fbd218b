"""What the estimators share: how they name columns, route metadata, list attributes."""

import numpy as np
from sklearn import get_config
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from skmohn._core._html import HTMLRepr
from skmohn._core._options import Nested
from skmohn._core._sklearn import raise_for_params
from skmohn.mohn._table.term_names import TermNames


class BaseMOHN(HTMLRepr, Nested):
    """Base of the MOHN estimators: named and categorical columns, metadata routing."""

    _when_long = 'fewer rows or columns, or strategy="pursuit", take less time'

    @property
    def categories_(self):
        """Categories of each categorical column.

        Returns
        -------
        dict of int to ndarray
            Keyed by column index, sorted. Of two, the first is coded as -1.
        """
        check_is_fitted(self)
        return self._categories.known()

    @property
    def is_categorical_(self):
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
    def term_names_(self):
        """Names of columns, categories and levels, and their internal numbers.

        Returns
        -------
        Vocabulary
            Translates between names, `terms_` and internal numbers.
        """
        check_is_fitted(self)
        return self._vocabulary(self.coding_)

    def get_metadata_routing(self):
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

    def __sklearn_tags__(self):
        """Say what the estimator can take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def _names(self):
        return getattr(self, "feature_names_in_", None)

    def _vocabulary(self, coding):
        return TermNames(coding, self._categories, self._names())

    def _split_params(self, params, groups=None):
        """Arguments for ``cv.split``.

        Raises
        ------
        ValueError
            When there are any and metadata routing is off.
        """
        raise_for_params(params, self, "fit")
        if groups is not None:
            params = {**params, "groups": groups}
        if not get_config()["enable_metadata_routing"]:
            return params
        return process_routing(self, "fit", **params).splitter.split
