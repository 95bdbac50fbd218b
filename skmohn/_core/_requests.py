"""Metadata requests, whose methods scikit-learn writes, with a help of one line."""

from sklearn.utils._metadata_requests import RequestMethod


class _ShortRequest(RequestMethod):
    """Descriptor of a ``set_{method}_request``."""

    def __get__(self, instance, owner):
        method = super().__get__(instance, owner)
        method.__doc__ = (
            "Choose which metadata meta-estimators pass to "
            f"`{self.name}`: True, False, None or an alias for each."
        )
        return method


class ShortRequests:
    """Estimators whose help does not explain metadata routing once for each method."""

    def __init_subclass__(cls, **kwargs):
        """Write the methods that request metadata."""
        super().__init_subclass__(**kwargs)
        for name, written in list(vars(cls).items()):
            if isinstance(written, RequestMethod):
                setattr(cls, name, _ShortRequest(written.name, written.keys))
