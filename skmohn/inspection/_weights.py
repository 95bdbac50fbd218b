"""Weights of a model as a heat map of variables by weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from skmohn._core._types import Term
from skmohn.inspection._fitted import (
    GRAY,
    Display,
    get_terms,
    merge_style,
    read_weights,
)
from skmohn.inspection._labels import lay_out, shorten
from skmohn.mohn import InteractionGraph, MOHNDensity, MOHNRegressor

# More names than this in a row, or weights in a line, cannot be read.
_MAX_NAMES: Final = 60
_MAX_LINES: Final = 80
# Fraction of the width of the figure that names may take; none is made shorter than
# this.
_NAMES_FRACTION: Final = 0.3
_MIN_NAME_LENGTH: Final = 5
# Columns that a figure as wide as these get has pixels for.
_MAX_COLUMNS: Final = 1000


@dataclass(eq=False, repr=False)
class WeightsDisplay(Display):
    """Heat map of variables (rows) by weights (columns).

    Each column is a weight, colored in the rows of its variables. Connected variables
    are adjacent, as are their weights, sorted by order, so that a sum of separate
    functions shows as blocks (Figure 5 of [1]_). Variables without a weight are left
    out.

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
    image_ : matplotlib AxesImage
        The heat map, masked where a weight lacks a variable.
    rows_ : list of int
        Variable of each row, from the top.
    columns_ : list of int
        Weight of each column, from the left.
    colorbar_ : matplotlib Colorbar
        The color scale.

    See Also
    --------
    HypergraphDisplay : The same as a network.

    References
    ----------
    .. [1] Swingler, K. (2020). Learning and searching pseudo-Boolean surrogate
       functions from small samples. Evolutionary Computation 28(2).

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.datasets import make_mk_trap
    >>> from skmohn.inspection import WeightsDisplay
    >>> traps = make_mk_trap(5, 2, n_samples=600, random_state=0)
    >>> model = MOHNRegressor().fit(traps.X, traps.y)
    >>> display = WeightsDisplay.from_estimator(model)
    >>> display.image_.get_array().shape
    (10, 62)
    """

    terms: Sequence[Term]
    weights: ArrayLike
    names: Sequence[str]
    image_: Any = field(init=False)
    rows_: list[int] = field(init=False)
    columns_: list[int] = field(init=False)
    colorbar_: Any = field(init=False)

    @classmethod
    def from_estimator(
        cls, estimator: MOHNRegressor | MOHNDensity, *, ax: Any = None, **im_kw: Any
    ) -> Self:
        """Draw the weights of a fitted estimator.

        Parameters
        ----------
        estimator : MOHNRegressor or MOHNDensity
            Fitted estimator. For a Gaussian process, the significant weights are drawn.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure, as large as the weights need.
        **im_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.imshow`.

        Returns
        -------
        WeightsDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator has no such weights.
        ValueError
            If it has none at all.
        """
        return cls(*get_terms(estimator)).plot(ax=ax, **im_kw)

    def plot(self, ax: Any = None, **im_kw: Any) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure, as large as the weights need.
        **im_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.imshow`.

        Returns
        -------
        WeightsDisplay
            The display itself.
        """
        terms, weights, names = read_weights(self)
        components = InteractionGraph.of_terms(terms, len(names)).components
        part = {i: k for k, component in enumerate(components) for i in component}
        self.rows_ = [i for component in components for i in component]
        self.columns_ = sorted(
            range(len(terms)),
            key=lambda j: (part[terms[j][0]], len(terms[j]), terms[j]),
        )
        row = {variable: r for r, variable in enumerate(self.rows_)}
        shape = len(self.rows_), len(terms)
        values = np.ma.masked_array(np.zeros(shape), mask=True)
        for column, j in enumerate(self.columns_):
            values[[row[i] for i in terms[j]], column] = weights[j]
        width = np.clip(3.0 + 0.13 * len(terms), 5.0, 16.0)
        height = np.clip(1.6 + 0.21 * len(row), 2.6, 12.0)
        ax = self._get_axes(ax, (width, height))
        largest = np.abs(weights).max() or 1.0
        style = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest, "aspect": "auto"}
        if len(terms) <= _MAX_COLUMNS:
            style["interpolation"] = "nearest"
        self.image_ = ax.imshow(values, **merge_style("image", style, im_kw))
        ax.set_facecolor("#efede6")
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, label="weight")
        lay_out(ax)
        self._separate(ax, [len(component) for component in components], terms, part)
        self._name(ax, names, [len(terms[j]) for j in self.columns_])
        return self

    def _separate(
        self,
        ax: Any,
        heights: Sequence[int],
        terms: Sequence[Term],
        part: Mapping[int, int],
    ) -> None:
        """Lines between the components."""
        if not 1 < len(heights) <= _MAX_LINES:
            return
        widths = np.bincount([part[term[0]] for term in terms])
        # Thin beside a cell, however many there are: a line must not hide a weight.
        box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
        cell = 72.0 * min(box.width / len(terms), box.height / len(self.rows_))
        style = {"color": GRAY, "lw": min(0.8, cell / 8.0)}
        for x, y in zip(np.cumsum(widths)[:-1], np.cumsum(heights)[:-1], strict=True):
            ax.axvline(x - 0.5, **style)
            ax.axhline(y - 0.5, **style)

    def _name(self, ax: Any, names: Sequence[str], orders: Sequence[int]) -> None:
        """Names of rows, and orders of columns, as far as there is room."""
        # Room for labels of 8 points, which are about as wide as one of two digits.
        extent, scale = ax.get_window_extent(), 72.0 / ax.figure.dpi
        step = -(-len(self.rows_) // min(_MAX_NAMES, int(extent.height * scale / 9.0)))
        shown = range(0, len(self.rows_), step)
        self._name_rows(ax, shown, [names[self.rows_[r]] for r in shown])
        unused = len(names) - len(self.rows_)
        without = f"\n({unused} more have no weight)" if unused else ""
        ax.set_ylabel(f"variable{without}")
        ax.tick_params(length=0)
        lay_out(ax)
        if len(orders) <= min(_MAX_NAMES, ax.get_window_extent().width * scale / 9.0):
            ax.set_xticks(range(len(orders)), orders, fontsize=8)
            ax.set_xlabel("order of the weight")
        else:
            ax.set_xlabel("weights, sorted by\ncomponent and order")

    def _name_rows(self, ax: Any, shown: Sequence[int], names: Sequence[str]) -> None:
        """Names that leave most of the width of the figure to the map."""
        style = {"fontsize": 8, "parse_math": False}
        ax.set_yticks(shown, names, **style)
        widest = max(label.get_window_extent().width for label in ax.get_yticklabels())
        room = _NAMES_FRACTION * ax.figure.bbox.width / widest
        if room < 1.0:
            length = max(int(room * max(map(len, names))), _MIN_NAME_LENGTH)
            ax.set_yticks(shown, shorten(names, length), **style)
