"""Layout of the variables of a network."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path
from sklearn.decomposition import KernelPCA
from sklearn.manifold import smacof

from skmohn._core._tuned import tuned
from skmohn.mohn import InteractionGraph


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
