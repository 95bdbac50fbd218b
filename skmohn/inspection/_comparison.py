"""Displays of a comparison of estimators."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from skmohn._core._validation import read_names, read_vector
from skmohn.inspection._fitted import BLUE, GRAY, RED, Display, plot_line, read_numbers
from skmohn.inspection._labels import shorten

# Characters of the name of an estimator.
_MAX_NAME_LENGTH: Final = 28


@dataclass(eq=False, repr=False)
class DifferencesDisplay(Display):
    """Differences of estimators from the best one, with their intervals.

    Estimators whose interval reaches zero cannot be told apart from the best one. The
    gray band is the region of practical equivalence.

    Create it with :meth:`from_comparison`. All parameters are stored as attributes.

    Parameters
    ----------
    names : sequence of str
        Names of the estimators, the best first.
    difference, low, high : array-like of shape (n_estimators,)
        Differences from the best and the ends of their intervals; NaN for none.
    rope : float
        Differences of at most this size do not matter.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    line_ : matplotlib Line2D
        Differences.
    intervals_ : matplotlib LineCollection
        Intervals.
    rope_ : matplotlib Polygon
        Region of practical equivalence.

    See Also
    --------
    CriticalDifferenceDisplay : Mean ranks over several data sets.

    Examples
    --------
    >>> from skmohn.inspection import DifferencesDisplay
    >>> from skmohn.model_selection import Comparison
    >>> comparison = Comparison.from_scores(
    ...     {"A": [0.9, 0.8, 0.7, 0.9, 0.8, 0.6], "B": [0.8, 0.7, 0.5, 0.7, 0.6, 0.3]}
    ... )
    >>> DifferencesDisplay.from_comparison(comparison).names
    ['A', 'B']
    """

    names: Sequence[str]
    difference: ArrayLike
    low: ArrayLike
    high: ArrayLike
    rope: float
    line_: Any = field(init=False)
    intervals_: Any = field(init=False)
    rope_: Any = field(init=False)

    @classmethod
    def from_comparison(
        cls, comparison: Any, *, ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the differences of a comparison.

        Parameters
        ----------
        comparison : Comparison
            What :func:`~skmohn.model_selection.compare_estimators` returns.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for the differences.

        Returns
        -------
        DifferencesDisplay
            The display.

        Raises
        ------
        TypeError
            If it is not a comparison.
        """
        _require_comparison(comparison)
        records = comparison.records()
        # The interval over several data sets is that of the median difference.
        is_median = "median_difference" in records[0]
        of = "median_difference" if is_median else "mean_difference"
        names, difference, low, high = (
            [record[title] for record in records]
            for title in ("estimator", of, "ci_low", "ci_high")
        )
        display = cls(names, difference, low, high, comparison.rope)
        return display.plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw differences, intervals and the region of practical equivalence.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for the differences.

        Returns
        -------
        DifferencesDisplay
            The display itself.
        """
        names = read_names(self.names, "names")
        # Intervals of few data sets are unbounded.
        low, high = (
            read_vector(getattr(self, end), end, ensure_all_finite=False)
            for end in ("low", "high")
        )
        (difference,) = read_numbers(self, "difference")
        check_consistent_length(names, difference, low, high)
        ax = self._get_axes(ax, (6.4, 1.4 + 0.35 * len(names)))
        rows = np.arange(len(names))
        self.rope_ = ax.axvspan(-self.rope, self.rope, color=GRAY, alpha=0.35, lw=0)
        ax.axvline(0.0, color=GRAY, lw=0.8)
        # Unbounded intervals reach the edges.
        drawn = np.concatenate([difference, low, high, [-self.rope, self.rope]])
        drawn = drawn[np.isfinite(drawn)]
        margin = 0.08 * np.ptp(drawn) or 1.0
        edges = drawn.min() - margin, drawn.max() + margin
        ends = np.clip(low, *edges), np.clip(high, *edges)
        self.intervals_ = ax.hlines(rows, *ends, color=BLUE, lw=2)
        style = {"marker": "o", "ls": "", "color": RED, "ms": 6}
        self.line_ = plot_line(ax, difference, rows, style, line_kw)
        ax.set_yticks(rows, shorten(names, _MAX_NAME_LENGTH), parse_math=False)
        ax.set(ylim=(len(names) - 0.5, -0.5), xlim=edges)
        ax.set_xlabel("difference in score to the best")
        return self


@dataclass(eq=False, repr=False)
class CriticalDifferenceDisplay(Display):
    """Mean ranks of estimators over data sets, and their critical difference.

    A bar joins estimators whose mean ranks differ by no more than the critical
    difference of Nemenyi's test ([1]_): these cannot be told apart.

    Create it with :meth:`from_comparison`. All parameters are stored as attributes.

    Parameters
    ----------
    names : sequence of str
        Names of the estimators.
    mean_rank : array-like of shape (n_estimators,)
        Mean ranks, 1 for the best.
    critical_difference : float
        Mean ranks that differ by more are different.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    line_ : matplotlib Line2D
        Mean ranks on the axis.
    bars_ : list of tuple (float, float)
        Lowest and highest mean rank of each group that cannot be told apart.

    See Also
    --------
    DifferencesDisplay : Differences with intervals.

    References
    ----------
    .. [1] Demsar, J. (2006). Statistical comparisons of classifiers over multiple data
       sets. Journal of Machine Learning Research 7.

    Examples
    --------
    >>> from skmohn.inspection import CriticalDifferenceDisplay
    >>> from skmohn.model_selection import Comparison
    >>> comparison = Comparison.from_scores(
    ...     {"A": [0.9, 0.8, 0.7, 0.9], "B": [0.8, 0.7, 0.5, 0.7], "C": [0, 0, 0.1, 0]}
    ... )
    >>> display = CriticalDifferenceDisplay.from_comparison(comparison)
    >>> display.bars_
    [(1.0, 2.0), (2.0, 3.0)]
    """

    names: Sequence[str]
    mean_rank: ArrayLike
    critical_difference: float
    line_: Any = field(init=False)
    bars_: list[tuple[float, float]] = field(init=False)

    @classmethod
    def from_comparison(
        cls, comparison: Any, *, ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the mean ranks of a comparison over several data sets.

        Parameters
        ----------
        comparison : Comparison
            What :func:`~skmohn.model_selection.compare_on` returns.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for the mean ranks.

        Returns
        -------
        CriticalDifferenceDisplay
            The display.

        Raises
        ------
        TypeError
            If it is not a comparison.
        ValueError
            If it is on a single data set, which has no mean ranks.
        """
        _require_comparison(comparison)
        if len(comparison.datasets) < 2:
            raise ValueError(
                "comparison must be over several data sets, as from compare_on, but is "
                "on a single one: use DifferencesDisplay"
            )
        columns = comparison.mean_ranks, comparison.critical_difference
        return cls(comparison.names, *columns).plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw mean ranks, names, and bars of those that cannot be told apart.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for the mean ranks.

        Returns
        -------
        CriticalDifferenceDisplay
            The display itself.
        """
        names = shorten(read_names(self.names, "names"), _MAX_NAME_LENGTH)
        (ranks,) = read_numbers(self, "mean_rank")
        check_consistent_length(names, ranks)
        order = np.argsort(ranks, kind="stable")
        self.bars_ = _join(ranks[order], self.critical_difference)
        half = (len(names) + 1) // 2
        ax = self._get_axes(ax, (6.8, 1.5 + 0.3 * (half + len(self.bars_))))
        ax.plot([1, len(names)], [0.0, 0.0], color="black", lw=1)
        for tick in range(1, len(names) + 1):
            ax.plot([tick, tick], [0.0, 0.2], color="black", lw=1)
            ax.text(tick, 0.3, str(tick), ha="center", va="bottom", fontsize=9)
        style = {"marker": "o", "ls": "", "color": RED, "ms": 5}
        self.line_ = plot_line(ax, ranks, np.zeros(len(ranks)), style, line_kw)
        self._draw_bars(ax, len(names))
        depth = 0.5 + 0.35 * len(self.bars_)
        for k, i in enumerate(order):
            # The better half is named at the left, from the axis down.
            is_left = k < half
            y = -depth - 0.8 * (k if is_left else len(names) - 1 - k)
            end = 0.6 if is_left else len(names) + 0.4
            ax.plot([ranks[i], ranks[i], end], [0.0, y, y], color=GRAY, lw=1, zorder=0)
            text = {"ha": "right" if is_left else "left", "va": "center"}
            ax.text(end, y, f" {names[i]} ", fontsize=9, parse_math=False, **text)
        ax.set(xlim=(0.0, len(names) + 1.0), ylim=(-depth - 0.8 * half, 2.6))
        ax.set_axis_off()
        return self

    def _draw_bars(self, ax: Any, n: int) -> None:
        """The critical difference, above the axis, and the groups below it."""
        for k, (low, high) in enumerate(self.bars_):
            y = -0.35 - 0.35 * k
            ax.plot([low - 0.04, high + 0.04], [y, y], color=BLUE, lw=4)
        width = min(self.critical_difference, n - 1.0)
        ax.plot([1.0, 1.0 + width], [1.5, 1.5], color="black", lw=2)
        label = f"critical difference {self.critical_difference:.3g}"
        ax.text(1.0, 1.7, label, ha="left", va="bottom", fontsize=9)


def _join(ranks: Any, critical_difference: float) -> list[tuple[float, float]]:
    """Longest runs of sorted mean ranks that differ by no more than a distance."""
    bars, last = [], 0
    for first, rank in enumerate(ranks):
        end = int(np.searchsorted(ranks, rank + critical_difference, side="right"))
        if end - first > 1 and end > last:
            bars.append((float(rank), float(ranks[end - 1])))
            last = end
    return bars


def _require_comparison(comparison: Any) -> None:
    needed = "records", "rope", "mean_ranks", "critical_difference"
    if not all(hasattr(comparison, name) for name in needed):
        raise TypeError(
            "comparison must be what compare_estimators or compare_on returns, got "
            f"{type(comparison).__name__}"
        )
