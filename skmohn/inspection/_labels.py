"""Legends and names beside a picture; colors and heights of associations."""

from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._validation import read_vector
from skmohn.inspection._fitted import GRAY

# Points between a legend and the data below it.
_LEGEND_DISTANCE: Final = 6.0
# Points that axes lose to a title that is set later.
_TITLE_HEIGHT: Final = 26.0
# A legend may have no more than this fraction of the height of its axes.
_MAX_LEGEND_FRACTION: Final = 0.7


def add_legend(ax: Any, *sharing: Any) -> None:
    """Add a legend above the data: the vertical axis grows to make room for it."""
    # It also has the entries of further axes, which are behind `ax`.
    entries = [
        entry
        for axes in (*sharing, ax)
        for entry in zip(*axes.get_legend_handles_labels(), strict=True)
    ]
    handles, labels = zip(*entries, strict=True)
    lay_out(ax)
    point = ax.figure.dpi / 72.0
    height = ax.get_window_extent().height
    if not ax.get_title():
        height -= _TITLE_HEIGHT * point
    style = {"loc": "upper left", "framealpha": 1.0, "edgecolor": "none"}
    legend = fit_legend(ax, ax.bbox.width, handles=handles, labels=labels, **style)
    taken = legend.get_window_extent().height + _LEGEND_DISTANCE * point
    fraction = min(taken / height, _MAX_LEGEND_FRACTION)
    for axes in (ax, *sharing):
        siblings = axes.get_shared_y_axes().get_siblings(axes)
        bottom, top = axes.get_ylim()
        highest = max(sibling.dataLim.y1 for sibling in siblings)
        if np.isfinite(highest):
            needed = bottom + (highest - bottom) / (1.0 - fraction)
            axes.set_ylim(top=max(top, needed))


def fit_legend(
    ax: Any, width: float, *, handles: Sequence[Any], **legend_kw: Any
) -> Any:
    """Add a legend with as many columns as a width in pixels has room for."""
    legend = None
    for fontsize in (9, 8, 7):
        for ncols in range(len(handles), 0, -1):
            legend = ax.legend(
                handles=handles, ncols=ncols, fontsize=fontsize, **legend_kw
            )
            if legend.get_window_extent().width <= width:
                return legend
    return legend


def lay_out(ax: Any) -> None:
    """Set the final positions of the axes and their artists."""
    # Of a subfigure, the figure that it is a part of.
    figure = ax.figure.figure
    engine = figure.get_layout_engine()
    if engine is None:
        figure.draw_without_rendering()
    else:
        # What drawing begins with, in half the time.
        engine.execute(figure)
        ax.apply_aspect()


def shorten(names: Sequence[str], length: int) -> list[str]:
    """Cut long names to a length, 3 or more, such that they still differ."""
    # What is longer loses its middle or, where names would become the same, its end and
    # most of its beginning if all have these in common.
    cut = [_without_middle(name, length) for name in names]
    if len(set(cut)) == len(set(names)):
        return cut
    start = _common_start(names)
    end = _common_start([name[::-1] for name in names])
    own = [name[start : max(len(name) - end, start)] for name in names]
    room = max(length - max(map(len, own)), 1)
    common = names[0][:start]
    first = common if start <= room else f"{common[: room - 1]}…"
    return [_without_middle(first + name, length) for name in own]


def _common_start(names: Sequence[str]) -> int:
    """Number of characters that all begin with."""
    together = takewhile(
        lambda letters: len(set(letters)) == 1, zip(*names, strict=False)
    )
    return len(list(together))


def _without_middle(name: str, length: int) -> str:
    if len(name) <= length:
        return name
    # Names that begin alike often end in a number.
    end = length // 2
    return f"{name[: length - 1 - end]}…{name[-end:]}"


def name_layers(
    ax: Any, starts: Sequence[float], layers: Sequence[int] | NDArray
) -> None:
    """Write numbers of layers where they start, with lines between them."""
    for start in starts:
        if start:
            ax.axvline(start, color=GRAY, lw=0.8, zorder=0)
    # A title makes way for the labels of an axis, not for other text.
    labels = name_above(ax, starts, [f"layer {layer}" for layer in layers], ha="left")
    lay_out(ax)
    boxes = [label.get_window_extent() for label in labels]
    if any(left.x1 > right.x0 for left, right in pairwise(boxes)):
        names = [f"layer {layers[0]}", *map(str, layers[1:])]
        ax.child_axes[-1].set_xticks(starts, names, ha="left")


def name_above(
    ax: Any, x: Sequence[float] | NDArray, names: Sequence[str], **text_kw: Any
) -> list[Any]:
    """Write names above the axes, at some points of the horizontal one."""
    axis = ax.secondary_xaxis("top")
    axis.set_xticks(x, names, **text_kw)
    axis.tick_params(length=0, pad=2)
    axis.spines["top"].set_visible(False)
    return axis.get_xticklabels()


# Paler than the two colors of most displays.
PALE_BLUE, PALE_RED = "#8fb7cf", "#e3a899"
# Dots from which a display keeps a picture of them: so many are slow to open.
MAX_VECTORS: Final = 2000
# No smaller p-value is drawn, nor told from 0.
_MIN_P_VALUE: Final = 1e-300


def read_heights(p_values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Minus the logarithms to base 10 of p-values; NaN for none."""
    p_values = read_vector(p_values, name, ensure_all_finite="allow-nan")
    if np.any((p_values < 0.0) | (p_values > 1.0)):
        raise ValueError(f"{name} must be p-values, between 0 and 1")
    return -np.log10(np.maximum(p_values, _MIN_P_VALUE))
