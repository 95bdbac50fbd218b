"""What our estimators add to scikit-learn's base: HTML, and versions of their state."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from sklearn.utils.validation import check_is_fitted

from skmohn import __version__
from skmohn._core._fitting import warn_caller
from skmohn._core._sklearn import prepend_html

_VERSION_KEY = "_skmohn_version"
_PAGES = "https://skmohn.readthedocs.io/en/"
# What of the attributes is looked through, if that is all that is done.
_LISTED: ContextVar[Literal["names", "values"] | None] = ContextVar(
    "_LISTED", default=None
)


if TYPE_CHECKING:
    # Of the type that its function returns.
    ComputedProperty = property
else:

    class ComputedProperty(property):
        """Fitted attribute that takes time, and is computed only on access."""

        # The table of all fitted attributes leaves it out; `dir` names it.

        def __get__(self, instance: object, owner: type | None = None) -> Any:
            listed = _LISTED.get()
            if instance is None or listed is None:
                return super().__get__(instance, owner)
            if listed == "values":
                raise AttributeError("computed on access")
            return check_is_fitted(instance)


class EstimatorMixin:
    """HTML without attributes that take time, and a state with its version."""

    _doc_link_module = "skmohn"
    _doc_link_template = _PAGES + "{version}/generated/skmohn.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        is_released = "dev" not in __version__
        return {
            "version": f"v{__version__}" if is_released else "latest",
            "name": type(self).__name__,
        }

    def __dir__(self) -> Iterable[str]:
        """Names of attributes, such as for completion; none is computed for it."""
        # That of scikit-learn accesses all of them.
        with _listing(_LISTED.get() or "names"):
            return super().__dir__()

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        with _listing("values"):
            table = super()._get_fitted_attr_html(doc_link)  # pyright: ignore[reportAttributeAccessIssue]
        facts = self._list_facts() if table else []
        return prepend_html(table, lambda: format_summary(facts)) if facts else table

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to be stored."""
        return {**super().__getstate__(), _VERSION_KEY: __version__}  # pyright: ignore[reportGeneralTypeIssues]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a state; warn where another version has stored it."""
        state = dict(state)
        version = state.pop(_VERSION_KEY, __version__)
        if version != __version__:
            warn_caller(
                f"{type(self).__name__} was saved by skmohn {version} and is loaded by "
                f"{__version__}: it may fail or predict differently. Fit it again, or "
                f"load it with skmohn {version}"
            )
        super().__setstate__(state)  # pyright: ignore[reportAttributeAccessIssue]

    def _list_facts(self) -> list[str]:
        """Sentences on a fitted model, to be shown above its attributes."""
        return []


@contextmanager
def _listing(listed: Literal["names", "values"]) -> Iterator[None]:
    """Look attributes through without computing any."""
    token = _LISTED.set(listed)
    try:
        yield
    finally:
        _LISTED.reset(token)


def format_summary(facts: Sequence[str], title: str = "", table: str = "") -> str:
    """Format a list of facts, with a title of the HTML table that follows it."""
    listed = "".join(f"<li>{escape(fact)}</li>" for fact in facts)
    return (
        "<details class='skmohn-summary' open style='margin-top:.5em'>"
        f"<summary>What was learned{title and ': '}{title}</summary>"
        f"<ul>{listed}</ul>{table}</details>"
    )
