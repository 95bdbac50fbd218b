"""What scikit-learn's metadata routing brings to the folds of a fit."""

from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)


class FoldsRouting:
    """Hands what `fit` is given for the splitter `cv` on to it, as LassoCV does."""

    def get_metadata_routing(self):
        """Say which arguments of `fit` go where.

        Returns
        -------
        MetadataRouter
            Routes to the estimator itself and, as ``splitter``, to `cv`.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=check_cv(self.cv),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )

    def _split_params(self, params):
        """Arguments for ``cv.split``, such as groups.

        Raises
        ------
        ValueError
            When there are any and metadata routing is off.
        """
        _raise_for_params(params, self, "fit")
        if not _routing_enabled():
            return {}
        return process_routing(self, "fit", **params).splitter.split
