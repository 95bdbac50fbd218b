"""Weights of a model as a network."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import shortest_path
from sklearn.decomposition import KernelPCA
from sklearn.manifold import smacof

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.inspection._fitted import (
    BLUE,
    GRAY,
    RED,
    Display,
    get_terms,
    merge_style,
    read_weights,
)
from skmohn.inspection._labels import fit_legend, lay_out, shorten
from skmohn.mohn import InteractionGraph, MOHNDensity, MOHNRegressor

# More names than this cannot be read, nor smaller ones (in points), nor shorter ones.
_MAX_NAMES: Final = 130
_MIN_FONT_SIZE: Final = 4.0
_MIN_NAME_LENGTH: Final = 3
# What a box adds to a name on each side, in units of the size of the font.
_PADDING: Final = 0.15
_EDGE = "#55534d"


@dataclass(eq=False, repr=False)
class HypergraphDisplay(Display):
    """Network of the variables that the weights connect.

    Circles are variables, colored by their main effect. A weight of order 2 is a line;
    one of higher order is a square with a line to each of its variables. Red is
    positive, blue negative; width and size grow with the weight. Distances follow the
    number of weights on the path between two variables (multidimensional scaling).
    Separate parts lie side by side, and variables without a weight are left out.

    Create it with :meth:`from_estimator`. All parameters are stored as attributes.

    Parameters
    ----------
    terms : sequence of tuples of int
        Variables of each weight.
    weights : array-like of shape (n_terms,)
        The weights.
    names : sequence of str
        Names of all variables.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    variables_ : list of int
        Variables drawn.
    positions_ : ndarray of shape (n_drawn, 2)
        Their positions.
    nodes_ : matplotlib PathCollection
        The circles. Hidden if wide names are in boxes instead.
    pairs_ : matplotlib LineCollection
        Weights of order 2.
    squares_ : matplotlib PathCollection
        Weights of order 3 and up.
    texts_ : list of matplotlib Text
        Names, if there is room for them.

    See Also
    --------
    WeightsDisplay : The same as a heat map.

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.inspection import HypergraphDisplay
    >>> model = MOHNRegressor.from_terms([(0, 1), (1, 2, 3), (4,)], [1.0, -2.0, 0.5])
    >>> display = HypergraphDisplay.from_estimator(model)
    >>> len(display.variables_)
    5
    """

    terms: Sequence[Term]
    weights: ArrayLike
    names: Sequence[str]
    variables_: list[int] = field(init=False)
    positions_: np.ndarray = field(init=False)
    nodes_: Any = field(init=False)
    pairs_: Any = field(init=False)
    squares_: Any = field(init=False)
    texts_: list = field(init=False)

    @classmethod
    def from_estimator(
        cls, estimator: MOHNRegressor | MOHNDensity, *, ax: Any = None, **text_kw: Any
    ) -> Self:
        """Draw the network of a fitted estimator.

        Parameters
        ----------
        estimator : MOHNRegressor or MOHNDensity
            Fitted estimator. For a Gaussian process, the significant weights are drawn.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **text_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.text` for the names.

        Returns
        -------
        HypergraphDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator has no such weights.
        ValueError
            If it has none at all.
        """
        return cls(*get_terms(estimator)).plot(ax=ax, **text_kw)

    def plot(self, ax: Any = None, **text_kw: Any) -> Self:
        """Draw the network.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **text_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.text` for the names.

        Returns
        -------
        HypergraphDisplay
            The display itself.
        """
        terms, weights, names = read_weights(self)
        positions = position_components(InteractionGraph.of_terms(terms, len(names)))
        self.variables_ = sorted(positions)
        self.positions_ = np.array([positions[i] for i in self.variables_])
        n_drawn = len(self.variables_)
        size = 1.0 / np.sqrt(max(n_drawn / 40.0, 1.0))
        side = float(np.clip(5.0 + 0.02 * n_drawn, 5.0, 10.0))
        ax = self._get_axes(ax, (1.2 * side, side))
        from matplotlib.collections import LineCollection

        strength = np.abs(weights) / (np.abs(weights).max() or 1.0)
        color = np.where(weights > 0, RED, BLUE)
        points = [np.array([positions[i] for i in term]) for term in terms]
        orders = np.array([len(term) for term in terms])
        two, more = np.flatnonzero(orders == 2), np.flatnonzero(orders > 2)
        centers = np.array([points[j].mean(axis=0) for j in more]).reshape(-1, 2)
        spokes = [
            (center, point)
            for center, j in zip(centers, more, strict=True)
            for point in points[j]
        ]
        shades = np.repeat(color[more], orders[more])
        ax.add_collection(LineCollection(spokes, colors=shades, lw=size, alpha=0.4))
        self.pairs_ = LineCollection(
            [points[j] for j in two],
            colors=color[two],
            lw=size * (0.7 + 3.0 * strength[two]),
        )
        ax.add_collection(self.pairs_)
        self.squares_ = ax.scatter(
            *centers.T, marker="s", c=color[more], zorder=3,
            s=size**2 * (15.0 + 60.0 * strength[more]),
        )  # fmt: skip
        self._draw_variables(ax, terms, names, strength, color, size, text_kw)
        ax.set_aspect("equal")
        ax.margins(0.06)
        ax.axis("off")
        for text in self.texts_:
            text.set_in_layout(False)  # long ones would leave no room for the network
        _add_legend(ax, has_squares=len(more) > 0)
        lay_out(ax)  # places are final after it
        if self.texts_:
            _keep_apart(self.texts_)
            _put_in_boxes(self.texts_, self.nodes_)
        return self

    def _draw_variables(
        self,
        ax: Any,
        terms: Sequence[Term],
        names: Sequence[str],
        strength: NDArray[np.float64],
        color: NDArray,
        size: float,
        text_kw: dict[str, Any],
    ) -> None:
        """Circles, filled where the variable has a weight of its own, and names."""
        from matplotlib.colors import to_rgb

        fill = dict.fromkeys(self.variables_, (1.0, 1.0, 1.0))
        for term, s, c in zip(terms, strength, color, strict=True):
            if len(term) == 1:
                # White is no weight: the smallest has a color, on any a name is read.
                opacity = 0.15 + 0.45 * s
                red, green, blue = (1.0 - opacity * (1.0 - part) for part in to_rgb(c))
                fill[term[0]] = red, green, blue
        self.nodes_ = ax.scatter(
            *self.positions_.T, s=230.0 * size**2, zorder=4, linewidths=0.9,
            c=list(fill.values()), edgecolors=_EDGE,
        )  # fmt: skip
        self.texts_ = []
        if len(self.variables_) <= _MAX_NAMES:
            style = {"ha": "center", "va": "center", "zorder": 5, "parse_math": False}
            style["fontsize"] = max(8.0 * size**0.5, 5.0)
            style = merge_style("text", style, text_kw)
            for i, position in zip(self.variables_, self.positions_, strict=True):
                self.texts_.append(ax.text(*position, names[i], **style))


def _put_in_boxes(texts: Sequence[Any], nodes: Any) -> None:
    """Replace circles that are narrower than their names by boxes."""
    diameter = np.sqrt(nodes.get_sizes()[0]) / 72.0 * texts[0].figure.dpi
    if max(text.get_window_extent().width for text in texts) <= diameter:
        return
    nodes.set_visible(False)
    for text, fill in zip(texts, nodes.get_facecolors(), strict=True):
        box = {"boxstyle": f"round,pad={_PADDING}", "facecolor": fill, "linewidth": 0.7}
        text.set_bbox(box | {"edgecolor": _EDGE})


def _keep_apart(texts: Sequence[Any]) -> None:
    """Write names so small that all can be read; cut those too long for that."""
    # Step by step, as widths of small categories are whole pixels.
    size = texts[0].get_fontsize()
    while (room := _room(texts)) < 1.0 and size > _MIN_FONT_SIZE:
        size = max(size * min(room, 0.95), _MIN_FONT_SIZE)
        for text in texts:
            text.set_fontsize(size)
    names = [text.get_text() for text in texts]
    length = max(map(len, names))
    while (room := _room(texts)) < 1.0 and length > _MIN_NAME_LENGTH:
        length = max(int(length * room), _MIN_NAME_LENGTH)
        for text, name in zip(texts, shorten(names, length), strict=True):
            text.set_text(name)


def _room(texts: Sequence[Any]) -> float:
    """Factor by which to shrink texts so that they fit without overlap."""
    boxes = np.array([text.get_window_extent().bounds for text in texts])
    padding = 2.0 * _PADDING * texts[0].get_fontsize() / 72.0 * texts[0].figure.dpi
    centers, sizes = boxes[:, :2] + boxes[:, 2:] / 2.0, boxes[:, 2:] + padding
    i, j = np.triu_indices(len(texts), 1)
    # Two boxes are apart if they are in one of the directions.
    apart = 2.0 * np.abs(centers[i] - centers[j]) / (sizes[i] + sizes[j])
    left, width = centers[:, 0], texts[0].figure.bbox.width
    inside = 2.0 * np.minimum(left, width - left) / sizes[:, 0]
    return min(apart.max(axis=1).min(initial=np.inf), inside.min())


def _add_legend(ax: Any, has_squares: bool) -> None:
    from matplotlib.lines import Line2D

    entries = [
        Line2D([], [], color=RED, lw=2, label="positive"),
        Line2D([], [], color=BLUE, lw=2, label="negative"),
    ]
    if has_squares:
        square = {"color": GRAY, "marker": "s", "lw": 0}
        entries.append(Line2D([], [], **square, label="three variables or more"))
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "frameon": False}
    fit_legend(ax, ax.figure.bbox.width, handles=entries, **below)


@dataclass(frozen=True)
class LayoutConstants:
    """Stress of a layout."""

    # More of them than this in a component are put on a circle: distances of all pairs
    # cost their square.
    max_nodes: int = tuned(1500, "cost")
    # Steps of the layout; it changes little after them.
    max_iter: int = tuned(100, "cost")
    # Of the stress, in an iteration: scikit-learn's own since 1.8.
    tolerance: float = tuned(1e-6, "cost")


_LAYOUT = LayoutConstants()


def position_components(graph: InteractionGraph) -> dict[int, NDArray[np.float64]]:
    """Positions with distances of about the numbers of links on the shortest path."""
    # Components are laid out one by one and put side by side, the largest first.
    # Columns that are in none have no position.
    parts = [_position(nodes, graph.links) for nodes in graph.components]
    return {
        column: position + corner
        for nodes, part, corner in zip(
            graph.components, parts, _corners(parts), strict=True
        )
        for column, position in zip(nodes, part, strict=True)
    }


def _position(
    nodes: Sequence[int], links: Sequence[Sequence[int]]
) -> NDArray[np.float64]:
    """Positions of one component, the lower left corner at zero."""
    n_nodes = len(nodes)
    index = {node: k for k, node in enumerate(nodes)}
    is_ring = n_nodes > _LAYOUT.max_nodes or all(
        len(links[node]) == n_nodes - 1 for node in nodes
    )
    if is_ring:
        angle = 2.0 * np.pi * np.arange(n_nodes) / n_nodes
        radius = 0.5 / np.sin(np.pi / n_nodes) if n_nodes > 1 else 0.0
        positions = radius * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    else:
        linked = np.zeros((n_nodes, n_nodes))
        for node in nodes:
            linked[index[node], [index[other] for other in links[node]]] = 1.0
        distances = shortest_path(linked, unweighted=True)
        # Classical scaling: the principal components of what has these distances.
        scaling = KernelPCA(2, kernel="precomputed", random_state=0)
        start = scaling.fit_transform(-0.5 * distances**2)
        options = {"n_init": 1, "max_iter": _LAYOUT.max_iter, "eps": _LAYOUT.tolerance}
        positions = np.asarray(smacof(distances, init=start, **options)[0])
    return positions - positions.min(axis=0)


def _corners(parts: Sequence[NDArray[np.float64]]) -> list[tuple[float, float]]:
    """Put boxes side by side in lines, about as wide as all are high."""
    sizes = np.array([part.max(axis=0) + 1.0 for part in parts])
    width = max(1.3 * np.sqrt(np.sum(sizes[:, 0] * sizes[:, 1])), sizes[:, 0].max())
    corners, x, y, line = [], 0.0, 0.0, 0.0
    for size_x, size_y in sizes:
        if x + size_x > width * (1.0 + 1e-9):
            x, y, line = 0.0, y - line, 0.0
        corners.append((x, y - size_y))
        x, line = x + size_x, max(line, size_y)
    return corners
