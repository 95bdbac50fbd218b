"""Displays of a search for the best point of a black box."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult

from skmohn._core._validation import read_names
from skmohn.inspection._fitted import (
    BLUE,
    GRAY,
    RED,
    Display,
    merge_style,
    plot_line,
    read_numbers,
)
from skmohn.inspection._labels import add_legend, shorten
from skmohn.mohn import MOHNRegressor
from skmohn.mohn._engine import require_regressor, tabulate_sobol

_COLORS = {
    "uniform": GRAY,
    "surrogate": BLUE,
    "local_search": RED,
    "verification": "#3f8f5f",
    "replicate": "#8a6fb0",
    "external": "#444444",
}
# Shares are taken over so many stretches at most, of so many evaluations at least.
_MAX_STRETCHES: Final = 25
_MIN_PER_STRETCH: Final = 5
# Characters of the name of a variable, and of a value.
_MAX_NAME_LENGTH: Final = 16
# Values of a variable that are written beside its line.
_MAX_VALUES_WRITTEN: Final = 20
# Lines that meet at a value are drawn this far from it at most: in parts of the axis,
# and of the way to the next value, to which none of them seems to belong.
_SPREAD: Final = 0.05
_MAX_SPREAD_FRACTION: Final = 0.3
# The palest color is this far behind the last point, so that its line can be seen.
_PALER: Final = 0.4


@dataclass(eq=False, repr=False)
class OptimizationHistoryDisplay(Display):
    """Values of a black box by evaluation, and the sources that proposed them.

    Dots are evaluations, in the colors of the sources that proposed them; the line is
    the best value so far. Below are the fractions of evaluations from each source.

    Create it with :meth:`from_result`. All parameters are stored as attributes.

    Parameters
    ----------
    value, best : array-like of shape (n_evaluations,)
        The value of each evaluation, and the best one so far; NaN if there is none.
    source : sequence of str
        The source that proposed each.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the values.
    figure_ : matplotlib Figure
        The figure of the axes.
    line_ : matplotlib Line2D
        The best value so far.
    dots_ : dict of str to matplotlib Line2D
        Evaluations of each source.
    shares_ax_ : matplotlib Axes
        Axes of the fractions.
    bars_ : dict of str to matplotlib BarContainer
        Fractions of each source.

    See Also
    --------
    ParallelCoordinatesDisplay : What the best points have in common.
    ImportancesDisplay : Which variables matter.

    Examples
    --------
    >>> from skmohn.inspection import OptimizationHistoryDisplay
    >>> from skmohn.optimize import minimize_black_box
    >>> result = minimize_black_box(lambda x: -x.sum(), 10, 30, random_state=0)
    >>> display = OptimizationHistoryDisplay.from_result(result)
    >>> len(display.value)
    30
    """

    value: ArrayLike
    best: ArrayLike
    source: Sequence[str]
    line_: Any = field(init=False)
    dots_: dict = field(init=False)
    shares_ax_: Any = field(init=False)
    bars_: dict = field(init=False)

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the course of a search.

        Parameters
        ----------
        result : OptimizeResult or BlackBoxOptimizer
            What :func:`~skmohn.optimize.minimize_black_box` returns, or an optimizer
            that has been told values.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for the best value so far.

        Returns
        -------
        OptimizationHistoryDisplay
            The display.

        Raises
        ------
        TypeError
            If it is neither.
        """
        history = _read_result(result).history
        columns = (
            [record[key] for record in history] for key in ("value", "best", "source")
        )
        return cls(*columns).plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw values, the best so far, and fractions of the sources.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for the best value so far.

        Returns
        -------
        OptimizationHistoryDisplay
            The display itself.
        """
        value, best = read_numbers(self, "value", "best")
        source = np.array(read_names(self.source, "source"))
        if len(source) != len(value) or not len(value):
            raise ValueError(
                "value, best and source must be of one length, at least 1: got "
                f"{len(value)} values and {len(source)} sources"
            )
        ax = self._get_axes(ax)
        number = np.arange(1, len(value) + 1)
        style = {"color": "black", "drawstyle": "steps-post", "label": "best so far"}
        self.line_ = plot_line(ax, number, best, style, line_kw)
        self.shares_ax_ = ax.inset_axes((0.0, -0.38, 1.0, 0.3), sharex=ax)
        n_stretches = int(np.clip(len(value) // _MIN_PER_STRETCH, 1, _MAX_STRETCHES))
        edges = np.linspace(0.5, len(value) + 0.5, n_stretches + 1)
        all_counts, below = np.histogram(number, edges)[0], np.zeros(n_stretches)
        self.dots_, self.bars_ = {}, {}
        present = set(source.tolist())
        known = [name for name in _COLORS if name in present]
        for name in [*known, *sorted(present.difference(known))]:
            own = source == name
            color = _COLORS.get(name)
            (dots,) = ax.plot(
                number[own], value[own], ".", color=color, label=name, ms=5, zorder=1
            )
            fraction = np.histogram(number[own], edges)[0] / all_counts
            bars = edges[:-1], fraction, np.diff(edges), below
            style = {"align": "edge", "color": dots.get_color()}
            self.bars_[name] = self.shares_ax_.bar(*bars, **style)
            self.dots_[name], below = dots, below + fraction
        ax.set(ylabel="value", xlim=(edges[0], edges[-1]))
        ax.tick_params(labelbottom=False)
        self.shares_ax_.set(
            ylim=(0, 1), xlabel="evaluation", ylabel="share", yticks=[0, 1]
        )
        add_legend(ax)
        return self


@dataclass(eq=False, repr=False)
class ImportancesDisplay(Display):
    """Which variables matter, alone and in interactions.

    The length of a bar is the total Sobol index of a variable: the fraction of the
    variance to which it contributes. The dark part is its first-order index: the
    fraction that it explains alone. The rest is interactions.

    Create it with :meth:`from_estimator` or :meth:`from_result`. All parameters are
    stored as attributes.

    Parameters
    ----------
    names : sequence of str
        Names of the variables.
    first_order, total : array-like of shape (n_variables,)
        Their Sobol indices.
    n_variables : int, default=15
        Number of variables to draw: those with the largest total indices.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    first_order_bars_, total_bars_ : matplotlib BarContainer
        The bars.

    See Also
    --------
    skmohn.MOHNRegressor.sobol_indices : The numbers.

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.datasets import make_sparse_walsh
    >>> from skmohn.inspection import ImportancesDisplay
    >>> problem = make_sparse_walsh(6, random_state=0)
    >>> model = MOHNRegressor().fit(problem.X, problem.y)
    >>> display = ImportancesDisplay.from_estimator(model)
    >>> len(display.names)
    6
    """

    names: Sequence[str]
    first_order: ArrayLike
    total: ArrayLike
    _: KW_ONLY
    n_variables: int = 15
    first_order_bars_: Any = field(init=False)
    total_bars_: Any = field(init=False)

    @classmethod
    def from_estimator(
        cls, estimator: MOHNRegressor, *, n_variables: int = 15, ax: Any = None
    ) -> Self:
        """Draw the importances of the columns of a model, from `sobol_indices`.

        Parameters
        ----------
        estimator : MOHNRegressor
            Fitted model.
        n_variables : int, default=15
            Number of columns to draw.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.

        Returns
        -------
        ImportancesDisplay
            The display.

        Raises
        ------
        TypeError
            If it is another estimator.
        """
        return cls._draw(estimator, "observed", n_variables, ax)

    @classmethod
    def from_result(cls, result: Any, *, n_variables: int = 15, ax: Any = None) -> Self:
        """Draw the importances of the variables of a black box, according to its model.

        Variables vary uniformly over the space, wherever it has been evaluated.

        Parameters
        ----------
        result : OptimizeResult or BlackBoxOptimizer
            What :func:`~skmohn.optimize.minimize_black_box` returns, or an optimizer
            that has been told values.
        n_variables : int, default=15
            Number of variables to draw.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.

        Returns
        -------
        ImportancesDisplay
            The display.

        Raises
        ------
        TypeError
            If it is neither.
        """
        # Points were chosen near the best; what matters in the space is another thing.
        return cls._draw(_read_result(result).model, "uniform", n_variables, ax)

    @classmethod
    def _draw(
        cls, estimator: MOHNRegressor, distribution: str, n_variables: int, ax: Any
    ) -> Self:
        """Draw the indices of columns that are distributed in one of two ways."""
        require_regressor(estimator, "estimator")
        indices = tabulate_sobol(estimator, distribution)
        columns = (indices[key] for key in ("feature", "first_order", "total"))
        return cls(*columns, n_variables=n_variables).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw a bar for each variable.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.

        Returns
        -------
        ImportancesDisplay
            The display itself.
        """
        first, total = read_numbers(self, "first_order", "total")
        names = read_names(self.names, "names")
        if len(names) != len(total):
            raise ValueError(
                f"names must have one for each index: got {len(names)} for {len(total)}"
            )
        ax = self._get_axes(ax)
        order = np.argsort(-total, kind="stable")[: self.n_variables]
        rows = np.arange(len(order))
        self.total_bars_ = ax.barh(
            rows, total[order], color=BLUE, alpha=0.35, label="with interactions"
        )
        self.first_order_bars_ = ax.barh(rows, first[order], color=BLUE, label="alone")
        shown = shorten([names[i] for i in order], _MAX_NAME_LENGTH)
        ax.set_yticks(rows, shown, parse_math=False)
        ax.set(xlabel="proportion of the variance", xlim=(0, None))
        ax.invert_yaxis()
        ax.legend(loc="lower right", framealpha=1.0, edgecolor="none", fontsize=9)
        return self


@dataclass(eq=False, repr=False)
class ParallelCoordinatesDisplay(Display):
    """What the best points of a black box have in common: parallel coordinates.

    Each vertical line is a variable with its values, each polyline a point, the best
    one in red. Variables that matter most are on the left. Lines that meet at a value
    are drawn a little apart.

    Create it with :meth:`from_result`. All parameters are stored as attributes.

    Parameters
    ----------
    points : list of dict
        Points, the best first: values by the names of variables.
    value : array-like of shape (n_points,)
        Their values.
    variables : dict of str to list
        The values of each variable, from the bottom to the top. Variables are drawn
        from left to right.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    lines_ : list of matplotlib Line2D
        A line for each point.
    texts_ : list of matplotlib Text
        The values of the variables.
    colorbar_ : matplotlib Colorbar
        Color scale of the values.

    See Also
    --------
    ImportancesDisplay : Which variables matter.

    Examples
    --------
    >>> from skmohn.inspection import ParallelCoordinatesDisplay
    >>> from skmohn.optimize import minimize_black_box
    >>> space = {"size": (1, 5), "kind": ["a", "b", "c"]}
    >>> result = minimize_black_box(lambda p: p["size"], space, 15, random_state=0)
    >>> display = ParallelCoordinatesDisplay.from_result(result, n_points=5)
    >>> list(display.variables)
    ['size', 'kind']
    """

    points: Sequence[dict[str, Any]]
    value: ArrayLike
    variables: Mapping[str, Sequence[Any]]
    lines_: list = field(init=False)
    texts_: list = field(init=False)
    colorbar_: Any = field(init=False)

    @classmethod
    def from_result(
        cls,
        result: Any,
        *,
        n_points: int = 20,
        n_variables: int = 12,
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the best points of a search.

        Points with a better value than the result are left out: they violate
        constraints, or are better only by noise.

        Parameters
        ----------
        result : OptimizeResult or BlackBoxOptimizer
            What :func:`~skmohn.optimize.minimize_black_box` returns, or an optimizer
            that has been told values.
        n_points : int, default=20
            Number of points.
        n_variables : int, default=12
            Number of variables: those that matter most according to the model.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for the points.

        Returns
        -------
        ParallelCoordinatesDisplay
            The display.

        Raises
        ------
        TypeError
            If it is neither.
        """
        result = _read_result(result)
        points = _best_points(result)
        names = list(points[0][0])
        if result.model is not None:
            total = np.array(tabulate_sobol(result.model, "uniform")["total"])
            names = [names[i] for i in np.argsort(-total, kind="stable")]
        variables = {
            name: _in_order({point[name] for point, _ in points})
            for name in names[:n_variables]
        }
        drawn, value = zip(*points[:n_points], strict=True)
        return cls(list(drawn), list(value), variables).plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw a line for each point.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for the points.

        Returns
        -------
        ParallelCoordinatesDisplay
            The display itself.
        """
        (value,) = read_numbers(self, "value")
        names = list(self.variables)
        if not len(value) or len(value) != len(self.points):
            raise ValueError(
                f"value must have one for each point, at least one: got {len(value)} "
                f"for {len(self.points)} points"
            )
        wide = (max(6.4, 0.95 * len(names) + 1.5), 4.0)
        ax = self._get_axes(ax, figsize=wide)
        from matplotlib import colormaps
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        # The better, the darker.
        shades = colormaps["Blues" if value[0] > value[-1] else "Blues_r"]
        pale = value[-1] + _PALER * (value[-1] - value[0])
        colors = ScalarMappable(Normalize(*sorted((value[0], pale))), shades)
        apart = np.linspace(-1.0, 1.0, len(value)) if len(value) > 1 else [0.0]
        self.lines_ = []
        for rank, point in enumerate(self.points):
            heights = [
                _height(values, point[name]) + apart[rank] * _spread(values)
                for name, values in self.variables.items()
            ]
            shade = {"color": colors.to_rgba(value[rank]), "lw": 1.2, "alpha": 0.8}
            if rank == 0:
                shade = {"color": RED, "lw": 2.5, "label": "the best"}
            style = merge_style("line", {**shade, "zorder": 2.5 - rank / 1e3}, line_kw)
            self.lines_ += ax.plot(range(len(names)), heights, **style)
        self.texts_ = []
        for x, name in enumerate(names):
            ax.axvline(x, color=GRAY, lw=1.0, zorder=1)
            for written in _written(self.variables[name]):
                height = _height(self.variables[name], written)
                self.texts_.append(_write(ax, x, height, written))
        shown = shorten(names, _MAX_NAME_LENGTH)
        ax.set_xticks(range(len(names)), shown, parse_math=False)
        if max(map(len, names)) > 6:
            ax.tick_params("x", rotation=30)
            for label in ax.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
        ax.set(yticks=[], ylim=(-0.12, 1.12), xlim=(-0.3, len(names) - 0.3))
        for side in ("left", "right", "top"):
            ax.spines[side].set_visible(False)
        self.colorbar_ = ax.figure.colorbar(colors, ax=ax, label="value")
        if value[0] != value[-1]:
            self.colorbar_.ax.set_ylim(*sorted((value[0], value[-1])))
        return self


def _read_result(result: Any) -> OptimizeResult:
    """Result of a search, from a result or an optimizer."""
    if hasattr(result, "ask"):
        result = result.result()
    if not isinstance(result, OptimizeResult) or "history" not in result:
        raise TypeError(
            "result must be what minimize_black_box returns, or a "
            f"BlackBoxOptimizer, got {type(result).__name__}"
        )
    return result


def _best_points(result: OptimizeResult) -> list[tuple[dict[str, Any], float]]:
    """Different points and their mean values, from that of the result downward."""
    found = {}
    for record in result.history:
        point = _named(record["point"])
        if np.isfinite(record["value"]):
            found.setdefault(repr(point), (point, []))[1].append(record["value"])
    points = [(point, float(np.mean(values))) for point, values in found.values()]
    points.sort(key=lambda pair: -pair[1] if result.maximize else pair[1])
    best = _named(result.x)
    return points[[point for point, _ in points].index(best) :]


def _named(point: Any) -> dict[str, Any]:
    """Point as a dict, also where variables have no names."""
    if not isinstance(point, dict):
        point = {f"x{i}": value for i, value in enumerate(point.tolist())}
    return {str(name): value for name, value in point.items()}


def _in_order(values: Iterable[Any]) -> list[Any]:
    """Values in order; as text where they cannot be compared."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=str)


def _height(values: Sequence[Any], value: Any) -> float:
    """Position of a value on the line of its variable, from 0 to 1."""
    return values.index(value) / (len(values) - 1) if len(values) > 1 else 0.5


def _spread(values: Sequence[Any]) -> float:
    """Distance from its value at which a line may be drawn."""
    return min(_SPREAD, _MAX_SPREAD_FRACTION / max(1, len(values) - 1))


def _written(values: Sequence[Any]) -> Sequence[Any]:
    """Values that there is room for."""
    if len(values) <= _MAX_VALUES_WRITTEN:
        return values
    indices = np.linspace(0, len(values) - 1, 5).round().astype(int)
    return [values[i] for i in indices]


def _write(ax: Any, x: float, height: float, value: Any) -> Any:
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    return ax.annotate(
        shorten([shown], _MAX_NAME_LENGTH)[0],
        (x, height),
        (4, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        parse_math=False,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.5},
        zorder=3,
    )
