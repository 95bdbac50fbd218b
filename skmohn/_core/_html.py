"""HTML of estimators: links to documentation, and attributes not to wait for."""

from contextvars import ContextVar
from typing import Any

from skmohn import __version__

_PAGES = "https://skmohn.readthedocs.io/en/"
# Whether the attributes are only looked through.
_LISTING = ContextVar("_LISTING", default=False)


class ComputedProperty(property):
    """Fitted attribute that takes time, and is computed only on access."""

    # The table of all fitted attributes leaves it out.

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is not None and _LISTING.get():
            raise AttributeError("computed when it is asked for")
        return super().__get__(instance, owner)


class HTMLRepr:
    """HTML of an estimator: links to our pages, no attribute that takes time."""

    _doc_link_module = "skmohn"
    _doc_link_template = _PAGES + "{version}/generated/skmohn.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        is_released = "dev" not in __version__
        return {
            "version": f"v{__version__}" if is_released else "latest",
            "name": type(self).__name__,
        }

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        token = _LISTING.set(True)
        try:
            return super()._get_fitted_attr_html(doc_link)  # pyright: ignore[reportAttributeAccessIssue]
        finally:
            _LISTING.reset(token)
