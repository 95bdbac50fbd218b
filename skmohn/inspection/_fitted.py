"""Access of displays to estimators and to matplotlib."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from skmohn._core._optional import import_optional
from skmohn._core._types import Term
from skmohn._core._validation import read_names, read_sets, read_vector
from skmohn.energynet import (
    EnergyNetClassifier,
    EnergyNetRegressor,
    EnergyNetTransformer,
)
from skmohn.mohn import MOHNDensity, MOHNRegressor
from skmohn.mohn._engine import require_regressor

# Estimators that have layers.
Layered: TypeAlias = EnergyNetTransformer | EnergyNetClassifier | EnergyNetRegressor
# Of the two lines that most displays have, and of what divides them.
BLUE, RED, GRAY = "#2e6f95", "#c8553d", "#b9b4a7"


class Display:
    """A display, and where it is drawn."""

    ax_: Any
    figure_: Any

    def _get_axes(self, ax: Any, figsize: tuple[float, float] | None = None) -> Any:
        """Get axes to draw on, the user's or new ones, and keep them."""
        # A new figure is of `figsize` inches, or as large as matplotlib's default.
        import_optional("matplotlib", f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt
        from matplotlib.axes import Axes

        if not isinstance(ax, Axes | None):
            raise TypeError(
                f"ax must be matplotlib Axes, such as plt.subplots()[1], got {ax!r}"
            )
        if ax is None:
            _, ax = plt.subplots(figsize=figsize, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def get_layers(estimator: object) -> EnergyNetTransformer:
    """Return the fitted layers of an EnergyNet estimator; refuse all others."""
    known = EnergyNetTransformer, EnergyNetClassifier, EnergyNetRegressor
    if not isinstance(estimator, known):
        names = ", ".join(kind.__name__ for kind in known)
        raise TypeError(
            f"estimator must be one of {names}, got {type(estimator).__name__}; from a "
            "Pipeline or a search, pass the fitted step, such as pipeline[-1]"
        )
    check_is_fitted(estimator)
    layers: Any = getattr(estimator, "transformer_", estimator)
    return layers


def get_terms(
    estimator: MOHNRegressor | MOHNDensity,
) -> tuple[list[Term], NDArray[np.float64], list[str]]:
    """Terms, weights and variable names of a fitted estimator."""
    # These are columns, or categories of columns.
    if isinstance(estimator, MOHNDensity):
        check_is_fitted(estimator)
    else:
        require_regressor(estimator, "estimator")
    vocabulary = estimator.term_names_
    return vocabulary.indices(estimator.terms_), estimator.weights_, vocabulary.names


def read_weights(display: Any) -> tuple[list[Term], NDArray[np.float64], list[str]]:
    """Read the terms, weights and names that a display is made of."""
    terms: Any = read_sets(display.terms, "terms", are_ordered=True)
    weights = read_vector(display.weights, "weights")
    names = read_names(display.names, "names")
    check_consistent_length(terms, weights)
    if not terms:
        raise ValueError("terms must have at least one weight to draw")
    return terms, weights, names


def read_numbers(display: Any, *names: str, optional: Sequence[str] = ()) -> list[Any]:
    """Read attributes of a display, numbers or NaN, as vectors of one length."""
    # Those in `optional` may be None.
    vectors = [
        None
        if name in optional and getattr(display, name) is None
        else read_vector(getattr(display, name), name, ensure_all_finite="allow-nan")
        for name in (*names, *optional)
    ]
    check_consistent_length(*vectors)
    return vectors


def plot_line(
    ax: Any, x: Any, y: Any, style: dict[str, Any], line_kw: dict[str, Any]
) -> Any:
    """Plot a line in the default style; the user's options win."""
    (line,) = ax.plot(x, y, **merge_style("line", style, line_kw))
    return line


def merge_style(
    artist: Literal["line", "text", "image"],
    defaults: dict[str, Any],
    given: dict[str, Any],
) -> dict[str, Any]:
    """Merge our keyword arguments for an artist with the user's, which win."""
    # The user's may have short names such as ``c``; a ``norm`` replaces both limits of
    # colors. Artists are "line", "text" and "image".
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.colors import Normalize
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    kind = {"line": Line2D, "text": Text, "image": AxesImage}[artist]
    defaults, given = (normalize_kwargs(kw, kind) for kw in (defaults, given))
    norm = given.get("norm")
    if not isinstance(norm, Normalize | str | None):
        raise TypeError(
            "norm must be a matplotlib Normalize, the name of a scale or None, got "
            f"{norm!r}"
        )
    if norm is not None:
        defaults = {k: v for k, v in defaults.items() if k not in ("vmin", "vmax")}
    return defaults | given
