"""Quantiles of p-values beside those expected by chance."""

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta
from sklearn.utils import check_scalar

from skmohn._core._types import TableLike
from skmohn.inspection._fitted import BLUE, GRAY, RED, Display, plot_line
from skmohn.inspection._labels import (
    MAX_VECTORS,
    PALE_BLUE,
    PALE_RED,
    add_legend,
    read_heights,
)
from skmohn.mohn import MOHNRegressor, association_scan

# Levels of the band.
_BAND: Final = 0.025, 0.975
_COLORS = {"columns": (BLUE, PALE_BLUE), "pairs": (RED, PALE_RED)}


@dataclass(eq=False, repr=False)
class QQDisplay(Display):
    """Quantiles of p-values of columns and pairs against those expected by chance.

    Dots on the line are as by chance; dots above it at the right end are columns, or
    pairs, that matter. If all dots rise above the line, the rows are not independent or
    the target is not as normal as the tests assume. For many pairs, only the tail is
    drawn: the most significant ones. Pale dots show the same given a model, for its
    residuals. Bands contain 95 % of each quantile if columns are independent.

    Create it with :meth:`from_estimator`. All parameters are stored as attributes.

    Parameters
    ----------
    columns : array-like of shape (n_columns,)
        The p-value of each column; NaN for none.
    pair_p_values : array-like of shape (n_pairs,), default=()
        Those of the most significant pairs.
    n_tried : int, default=0
        Number of all pairs.
    columns_left, pairs_left : array-like, default=None
        The same for the residuals of a model, of as many columns and pairs.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    columns_line_, pairs_line_ : matplotlib Line2D or None
        Observed against expected; None without any.
    columns_left_line_, pairs_left_line_ : matplotlib Line2D or None
        The same for the residuals of the model.
    bands_ : list of matplotlib PolyCollection
        Ranges of the quantiles by chance.

    See Also
    --------
    ManhattanDisplay : Which columns and pairs these are.

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.datasets import make_gwas
    >>> from skmohn.inspection import QQDisplay
    >>> scan = make_gwas(
    ...     200, 500, n_pairs=1, n_main_effects=1, pair_variance=0.2, random_state=0
    ... )
    >>> model = MOHNRegressor("pursuit", max_order=2, selection="ebic")
    >>> model = model.fit(scan.X, scan.y)
    >>> display = QQDisplay.from_estimator(model, scan.X, scan.y)
    >>> len(display.columns)
    200
    """

    columns: ArrayLike
    _: KW_ONLY
    pair_p_values: ArrayLike = ()
    n_tried: int = 0
    columns_left: ArrayLike | None = None
    pairs_left: ArrayLike | None = None
    columns_line_: Any = field(init=False)
    pairs_line_: Any = field(init=False)
    columns_left_line_: Any = field(init=False)
    pairs_left_line_: Any = field(init=False)
    bands_: list = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: MOHNRegressor,
        X: TableLike,
        y: ArrayLike,
        *,
        n_jobs: int | None = None,
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Test all columns and pairs, alone and given the terms of an estimator.

        Tests use Student's t of the correlation with the target, and with its residuals
        after least squares on the terms of the estimator.

        Parameters
        ----------
        estimator : MOHNRegressor
            Fitted estimator. Pairs are left out if its `max_order` is 1; for a Gaussian
            process, there are no residuals.
        X : {array-like, Genotypes} of shape (n_samples, n_features)
            Rows, such as those of `fit`.
        y : array-like of shape (n_samples,)
            Their target values.
        n_jobs : int, default=None
            Number of parts of the pairs that are compared in parallel.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for all dots.

        Returns
        -------
        QQDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator is not a MOHNRegressor.
        ValueError
            If it has several targets, or X is not as in its fit.
        """
        scan = association_scan(estimator, X, y, n_jobs=n_jobs)
        display = cls(
            scan.columns,
            pair_p_values=scan.pair_p_values,
            n_tried=scan.n_tested,
            columns_left=scan.columns_left,
            pairs_left=scan.pairs_left,
        )
        return display.plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw observed against expected quantiles.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for all dots.

        Returns
        -------
        QQDisplay
            The display itself.
        """
        series = self._read()
        ax = self._get_axes(ax, (5.0, 4.6))
        self.bands_ = []
        for name in ("columns", "columns_left", "pairs", "pairs_left"):
            line = None
            if name in series:
                expected, observed, band = series[name]
                what, _, left = name.partition("_")
                dark, pale = _COLORS[what]
                label = f"{what} beside the model" if left else what
                style = {"marker": "o", "ls": "none", "ms": 3.5, "mew": 0.0}
                style |= {"color": pale if left else dark, "label": label}
                style |= {"zorder": 2 if left else 3}
                style |= {"rasterized": len(expected) > MAX_VECTORS}
                line = plot_line(ax, expected, observed, style, line_kw)
                if not left:
                    fill = {"color": dark, "alpha": 0.13, "lw": 0.0, "zorder": 0}
                    self.bands_.append(ax.fill_between(expected, *band, **fill))
            setattr(self, f"{name}_line_", line)
        largest = max(expected[0] for expected, _, _ in series.values())
        ax.plot([0.0, largest], [0.0, largest], color=GRAY, lw=1.0, zorder=1)
        ax.set(xlabel="expected $-\\log_{10}$ p-value", xlim=(0.0, None))
        ax.set(ylabel="observed $-\\log_{10}$ p-value", ylim=(0.0, None))
        ax.spines[["top", "right"]].set_visible(False)
        add_legend(ax)
        return self

    def _read(self) -> dict[str, Any]:
        """Expected and observed heights and a band of each series, as a dict."""
        check_scalar(self.n_tried, "n_tried", Integral, min_val=0)
        given = {
            "columns": self.columns,
            "columns_left": self.columns_left,
            "pairs": self.pair_p_values,
            "pairs_left": self.pairs_left,
        }
        series = {}
        for name, p_values in given.items():
            if p_values is None or not len(p_values):
                continue
            neg_log10_p = read_heights(p_values, name)
            neg_log10_p = -np.sort(-neg_log10_p[np.isfinite(neg_log10_p)])
            number = self.n_tried if name.startswith("pairs") else len(neg_log10_p)
            if number < len(neg_log10_p):
                raise ValueError(
                    f"n_tried={number} is less than the {len(neg_log10_p)} pairs given"
                )
            if len(neg_log10_p):
                series[name] = _quantiles(neg_log10_p, number)
        if not series:
            raise ValueError("there is no p-value to draw")
        return series


def _quantiles(
    neg_log10_p: NDArray[np.float64], number: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[NDArray[np.float64]]]:
    """Expected largest order statistics under the null hypothesis, and a band."""
    # By the median of each, from the beta distribution of order statistics.
    ranks = np.arange(1, len(neg_log10_p) + 1)
    expected, *band = (
        -np.log10(beta.ppf(level, ranks, number - ranks + 1)) for level in (0.5, *_BAND)
    )
    return expected, neg_log10_p, band
