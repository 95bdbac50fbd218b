"""What scikit-learn's HTML of an estimator lists, and what it need not wait for."""

from contextvars import ContextVar

# Whether the attributes are only looked through.
_LISTING = ContextVar("_LISTING", default=False)


class ComputedProperty(property):
    """A fitted attribute that takes time: it is computed for those who ask for it.

    The table of all fitted attributes does without.
    """

    def __get__(self, instance, owner=None):
        if instance is not None and _LISTING.get():
            raise AttributeError("computed when it is asked for")
        return super().__get__(instance, owner)


class ListedAttributes:
    """Leaves such attributes out of the HTML of an estimator."""

    def _get_fitted_attr_html(self, doc_link=""):
        token = _LISTING.set(True)
        try:
            return super()._get_fitted_attr_html(doc_link)
        finally:
            _LISTING.reset(token)
