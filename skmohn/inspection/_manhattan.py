"""Significance of columns along a table, and pairs that are significant."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import groupby
from numbers import Integral
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_scalar

from skmohn._core._types import TableLike, Term
from skmohn._core._validation import read_sets
from skmohn.inspection._fitted import BLUE, RED, Display, plot_line
from skmohn.inspection._labels import (
    MAX_VECTORS,
    PALE_BLUE,
    PALE_RED,
    add_legend,
    lay_out,
    read_heights,
)
from skmohn.mohn import Genotypes, MOHNRegressor, association_scan

_LEVEL: Final = 0.05
# Height of an arc as a fraction of the axis, and points along it.
_ARC_HEIGHT: Final = 0.1
_N_ARC_POINTS: Final = 41
_MAX_NAMES: Final = 20
# Height of the data with their names.
_HEIGHT_WITH_NAMES: Final = 1.08
_DARK = "#33312e"
# Where a name may be, in points from what it names.
_ABOVE = (((0, 2), "center", "bottom"), ((0, -3), "center", "top"))
_BESIDE = (
    ((0, 6), "center", "bottom"),
    ((7, 0), "left", "center"),
    ((-7, 0), "right", "center"),
)


@dataclass(eq=False, repr=False)
class ManhattanDisplay(Display):
    """Significance of single columns along the table, and pairs that are significant.

    Each column is a dot, higher if more significant, in two shades by chromosome if
    there are any. Pairs found by the model are arcs between their members, at the
    height of the pair; other pairs beyond the line of pairs are pale dots at both
    members. Lines are at 0.05 over the number of columns, and of pairs (Bonferroni).

    Create it with :meth:`from_estimator`. All parameters are stored as attributes.

    Parameters
    ----------
    columns : array-like of shape (n_columns,)
        The p-value of each column; NaN for none.
    pairs : sequence of pairs of int, default=()
        Pairs of columns.
    pair_p_values : array-like of shape (n_pairs,), default=()
        Their p-values.
    n_tried : int, default=0
        Number of all pairs, of which these are the most significant.
    terms : sequence of tuples of int, default=()
        Columns and pairs to highlight. Pairs need a p-value.
    names : sequence of str, default=None
        Names of the columns, written at `terms`. None for no names.
    chromosomes : sequence of str of length n_columns, default=None
        Chromosome, or any other group of neighbors, of each column.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    dots_ : list of matplotlib Line2D
        Columns of each chromosome, or of all.
    pair_dots_ : matplotlib Line2D or None
        Members of the other pairs beyond their line; None without pairs.
    found_ : matplotlib Line2D or None
        Columns among `terms`.
    arcs_ : list of matplotlib Line2D
        Pairs among `terms`.
    texts_ : list of matplotlib Text
        Names that fit.

    See Also
    --------
    QQDisplay : Whether there are more small p-values than by chance.

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.datasets import make_gwas
    >>> from skmohn.inspection import ManhattanDisplay
    >>> scan = make_gwas(
    ...     200, 500, n_pairs=1, n_main_effects=1, pair_variance=0.2, random_state=0
    ... )
    >>> model = MOHNRegressor("pursuit", max_order=2, selection="ebic")
    >>> model = model.fit(scan.X, scan.y)
    >>> display = ManhattanDisplay.from_estimator(model, scan.X, scan.y)
    >>> len(display.arcs_)
    1
    """

    columns: ArrayLike
    _: KW_ONLY
    pairs: ArrayLike = ()
    pair_p_values: ArrayLike = ()
    n_tried: int = 0
    terms: Sequence[Term] = ()
    names: Sequence[str] | None = None
    chromosomes: Sequence[str] | None = None
    dots_: list = field(init=False)
    pair_dots_: Any = field(init=False)
    found_: Any = field(init=False)
    arcs_: list = field(init=False)
    texts_: list = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: MOHNRegressor,
        X: TableLike,
        y: ArrayLike,
        *,
        chromosomes: Sequence[str] | None = None,
        n_jobs: int | None = None,
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Test all columns and all pairs, and highlight the terms of an estimator.

        Each is tested separately, by Student's t of its correlation with the target, or
        given the `terms` that are always in the model of the estimator, if any.

        Parameters
        ----------
        estimator : MOHNRegressor
            Fitted estimator. Pairs are left out if its `max_order` is 1.
        X : {array-like, Genotypes} of shape (n_samples, n_features)
            Rows, such as those of `fit`.
        y : array-like of shape (n_samples,)
            Their target values.
        chromosomes : sequence of str of length n_features, default=None
            Chromosome of each column. None means those of the genotypes, if any.
        n_jobs : int, default=None
            Number of parts of the pairs that are compared in parallel.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for the columns.

        Returns
        -------
        ManhattanDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator is not a MOHNRegressor.
        ValueError
            If it has several targets, or X is not as in its fit.
        """
        scan = association_scan(estimator, X, y, n_jobs=n_jobs)
        if chromosomes is None and isinstance(X, Genotypes):
            chromosomes = X.chromosomes
            if chromosomes is not None and X.coding == "both":
                chromosomes = [*chromosomes, *chromosomes]
        # Pairs of the estimator need not be among the most significant ones.
        is_pair = np.array([len(term) == 2 for term in scan.terms], dtype=bool)
        own = [term for term in scan.terms if len(term) == 2]
        display = cls(
            scan.columns,
            pairs=np.vstack([np.reshape(own, (-1, 2)).astype(int), scan.pairs]),
            pair_p_values=np.append(scan.term_p_values[is_pair], scan.pair_p_values),
            n_tried=scan.n_tested,
            terms=scan.terms,
            names=scan.names,
            chromosomes=chromosomes,
        )
        return display.plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the columns, both lines, and the pairs.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for the columns.

        Returns
        -------
        ManhattanDisplay
            The display itself.
        """
        neg_log10_p = read_heights(self.columns, "columns")
        if not np.isfinite(neg_log10_p).any():
            raise ValueError("columns has no p-value to draw")
        pairs = self._read_pairs(len(neg_log10_p))
        terms: list[Any] = [tuple(term) for term in read_sets(self.terms, "terms")]
        self._check_terms(terms, pairs, len(neg_log10_p))
        ax = self._get_axes(ax, (8.0, 4.2))
        self._plot_columns(ax, neg_log10_p, line_kw)
        levels = [("columns", np.count_nonzero(np.isfinite(neg_log10_p)), BLUE, "--")]
        levels += [("pairs", self.n_tried, RED, ":")] if self.n_tried else []
        for what, number, color, line in levels:
            level = -np.log10(_LEVEL / number)
            label = f"{_LEVEL} / {number:,} {what}"
            ax.axhline(level, color=color, ls=line, lw=1.0, zorder=1, label=label)
        self._plot_pairs(ax, pairs, terms)
        positions = self._plot_terms(ax, neg_log10_p, pairs, terms)
        ax.set(ylabel="$-\\log_{10}$ p-value", ylim=(0.0, None))
        ax.set_xlim(-0.01 * len(neg_log10_p), 1.01 * len(neg_log10_p))
        ax.spines[["top", "right"]].set_visible(False)
        # Names need room above what they name.
        ax.update_datalim([(0.0, _HEIGHT_WITH_NAMES * ax.dataLim.y1)])
        add_legend(ax)
        self._name(ax, positions)
        return self

    def _read_pairs(self, n_columns: int) -> dict[Term, float]:
        """Heights of pairs, as a dict."""
        found = read_sets(self.pairs, "pairs", are_ordered=True)
        pairs: list[Any] = [tuple(pair) for pair in found]
        neg_log10_p: Any = []
        if pairs:
            neg_log10_p = read_heights(self.pair_p_values, "pair_p_values")
        if len(pairs) != len(neg_log10_p):
            raise ValueError(
                f"pair_p_values must have one number for each of the {len(pairs)} "
                f"pairs, got {len(neg_log10_p)}"
            )
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError("pairs must have two columns each")
        check_scalar(self.n_tried, "n_tried", Integral, min_val=len(set(pairs)))
        _check_columns(pairs, n_columns, "pairs")
        return dict(zip(pairs, neg_log10_p, strict=True))

    def _check_terms(
        self, terms: Sequence[Term], pairs: Mapping[Term, float], n_columns: int
    ) -> None:
        _check_columns(terms, n_columns, "terms")
        for term in terms:
            if len(term) > 1 and term not in pairs:
                raise ValueError(f"terms has {term}, which is not one of the pairs")
        for name in ("names", "chromosomes"):
            given = getattr(self, name)
            if given is not None and len(given) != n_columns:
                raise ValueError(
                    f"{name} must have one for each of the {n_columns} columns, got "
                    f"{len(given)}"
                )

    def _plot_columns(
        self, ax: Any, neg_log10_p: NDArray[np.float64], line_kw: dict[str, Any]
    ) -> None:
        groups = [("", 0, len(neg_log10_p))]
        if self.chromosomes is not None:
            groups = _runs(self.chromosomes)
        style = {"marker": "o", "ls": "none", "ms": 3.0, "mew": 0.0, "zorder": 2}
        if len(neg_log10_p) > MAX_VECTORS:
            # As a picture: a file of so many dots is slow to open.
            style |= {"ms": 2.0, "rasterized": True}
        self.dots_ = []
        for k, (_, start, stop) in enumerate(groups):
            own = {"color": (BLUE, PALE_BLUE)[k % 2]}
            own |= {"label": None if k else "columns"}
            data = range(start, stop), neg_log10_p[start:stop]
            self.dots_.append(plot_line(ax, *data, style | own, line_kw))
        ax.set_xlabel("column")
        if self.chromosomes is not None:
            middles = [(start + stop - 1) / 2 for _, start, stop in groups]
            names = [name for name, _, _ in groups]
            ax.set_xticks(middles, names, fontsize=8, parse_math=False)
            ax.tick_params(axis="x", length=0)
            ax.set_xlabel("chromosome")

    def _plot_pairs(
        self, ax: Any, pairs: Mapping[Term, float], terms: Sequence[Term]
    ) -> None:
        """Members of pairs that are significant and are no terms."""
        self.pair_dots_ = None
        if not self.n_tried:
            return
        level, found = -np.log10(_LEVEL / self.n_tried), set(terms)
        others = {
            pair: height
            for pair, height in pairs.items()
            if height > level and pair not in found
        }
        x = np.array(list(others), dtype=int).ravel()
        (self.pair_dots_,) = ax.plot(
            x,
            np.repeat(list(others.values()), 2),
            "o",
            color=PALE_RED,
            ms=2.5,
            mew=0.0,
            zorder=3,
            label="members of other pairs" if others else None,
        )

    def _plot_terms(
        self,
        ax: Any,
        neg_log10_p: NDArray[np.float64],
        pairs: Mapping[Term, float],
        terms: Sequence[Term],
    ) -> dict[Term, tuple[float, float]]:
        """Rings around columns, arcs between members; where their names belong."""
        terms = [t for t in terms if np.isfinite(pairs.get(t, neg_log10_p[t[0]]))]
        singles = [term[0] for term in terms if len(term) == 1]
        both = [term for term in terms if len(term) == 2]
        positions: dict[Term, Any] = {(j,): (j, neg_log10_p[j]) for j in singles}
        self.found_, self.arcs_ = None, []
        if singles:
            ring = {"mfc": "none", "mec": _DARK, "ms": 8.0, "mew": 1.2, "zorder": 5}
            (self.found_,) = ax.plot(
                singles, neg_log10_p[singles], "o", label="columns in the model", **ring
            )
        of_pairs = [pairs[term] for term in both]
        bow = _ARC_HEIGHT * max(np.nanmax(neg_log10_p), *of_pairs, 1.0) if both else 0.0
        along = np.linspace(0.0, 1.0, _N_ARC_POINTS)
        style = {"color": RED, "lw": 1.3, "ms": 5.0, "markevery": [0, -1], "zorder": 4}
        for term, height in zip(both, of_pairs, strict=True):
            x = term[0] + (term[1] - term[0]) * along
            y = height + 4.0 * bow * along * (1.0 - along)
            label = None if self.arcs_ else "pairs in the model"
            self.arcs_ += ax.plot(x, y, "-o", label=label, **style)
            positions[term] = np.mean(term), height + bow
        return positions

    def _name(self, ax: Any, positions: Mapping[Term, tuple[float, float]]) -> None:
        """Names of terms, the most significant first, where there is room."""
        self.texts_ = []
        if self.names is None:
            return
        from matplotlib.patheffects import withStroke

        halo = withStroke(linewidth=2.5, foreground=ax.get_facecolor())
        lay_out(ax)
        legend = ax.get_legend()
        taken = [] if legend is None else [legend.get_window_extent()]
        order = sorted(positions, key=lambda term: -positions[term][1])
        for term in order[:_MAX_NAMES]:
            single = len(term) == 1
            text = ax.annotate(
                " x ".join(str(self.names[j]) for j in term),
                positions[term],
                xytext=(0, 0),
                textcoords="offset points",
                fontsize=8,
                color=_DARK if single else RED,
                parse_math=False,
                path_effects=[halo],
                zorder=6,
            )
            for offset, ha, va in _BESIDE if single else _ABOVE:
                text.set(position=offset, ha=ha, va=va)
                box = text.get_window_extent()
                if not any(box.overlaps(other) for other in taken):
                    taken.append(box)
                    self.texts_.append(text)
                    break
            else:
                text.remove()


def _check_columns(sets: Iterable[Term], n_columns: int, name: str) -> None:
    for members in sets:
        if not 1 <= len(members) <= 2 or not all(0 <= j < n_columns for j in members):
            raise ValueError(
                f"{name} has {members}, but takes one or two of the {n_columns} columns"
            )


def _runs(labels: Iterable[object]) -> list[tuple[str, int, int]]:
    """Neighbors of one label: label, first and after last."""
    runs, start = [], 0
    for label, run in groupby(map(str, labels)):
        stop = start + len(list(run))
        runs.append((label, start, stop))
        start = stop
    return runs
