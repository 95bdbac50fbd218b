"""Versions of skmohn that estimators were stored by."""

from typing import Any

from skmohn import __version__
from skmohn._core._fitting import warn_caller

_KEY = "_skmohn_version"


class Versioned:
    """State of an estimator with the version that has stored it."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to be stored."""
        return {**super().__getstate__(), _KEY: __version__}  # pyright: ignore[reportGeneralTypeIssues]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a state; warn where another version has stored it."""
        state = dict(state)
        version = state.pop(_KEY, __version__)
        if version != __version__:
            warn_caller(
                f"{type(self).__name__} was saved by skmohn {version} and is loaded by "
                f"{__version__}: it may fail or predict differently. Fit it again, or "
                f"load it with skmohn {version}"
            )
        super().__setstate__(state)  # pyright: ignore[reportAttributeAccessIssue]
