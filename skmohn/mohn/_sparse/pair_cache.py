"""Cache of the best pairs of a wide table, for several searches."""

# A pass over all pairs costs much where columns are many, and a search has many
# residuals. So the best pairs of a pass are kept, and a search screens these first.
# Only where none of them is significant is another pass requested, unless a bound
# excludes all other pairs: between two residuals the score of a product changes by no
# more than the length of their difference (Cauchy and Schwarz). Searches on folds wait
# for each other, so that one pass serves them all.

import math
from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skmohn._core._fitting import no_progress
from skmohn._core._types import Term
from skmohn.mohn._design.design import Design
from skmohn.mohn._design.pair_screening import best_pairs, count_parts, how_many_to_keep


class _Scan(NamedTuple):
    """Result of a pass for one residual."""

    residual: np.ndarray  # (n_samples,); as it was compared with pairs
    pairs: np.ndarray  # (n_kept, 2)
    floor: float  # bound on the scores of all other pairs


class PairCache:
    """Pairs of one table, shared by all searches of a fit."""

    def __init__(
        self,
        design: Design,  # of all samples
        n_jobs: int | None = None,  # parts of the pairs that are scored at once
        # Context manager around each pass, see `FitSettings`.
        watch: Callable[..., Any] = no_progress,
    ) -> None:
        self.design = design
        self.n_jobs = n_jobs
        self.watch = watch
        self.n_passes = 0  # number of passes so far
        # Called before the second pass; returns searches, as of :func:`run_together`,
        # that begin now, so that they share it.
        self.joint_searches: Callable[[], Iterable[Search]] | None = None
        self.size = how_many_to_keep(design)
        self.whole = PairCacheView(self, design, slice(None))
        self._views = [self.whole]

    def view(self, design: Design, rows: NDArray[np.intp]) -> "PairCacheView":
        """View of the pairs in some rows, which have a design of their own."""
        view = PairCacheView(self, design, rows)
        self._views.append(view)
        return view

    def run_scans(self) -> None:
        """Score all pairs for the searches that wait."""
        if self.n_passes and self.joint_searches is not None:
            begin, self.joint_searches = self.joint_searches, None
            for search in begin():
                _goes_on(*search)
        waiting = [(view, part) for view in self._views for part in view.wanted or ()]
        residuals = np.zeros((len(waiting), self.design.n_samples))
        for residual, (view, part) in zip(residuals, waiting, strict=True):
            residual[view.rows] = part
        n_parts = count_parts(self.design.n_features)
        with self.watch("pass over all pairs", n_parts) as end_part:
            found = best_pairs(
                self.design, residuals, self.size, n_jobs=self.n_jobs, on_part=end_part
            )
        for residual, (view, _), kept in zip(residuals, waiting, found, strict=True):
            rounded = self.design.round(residual)[view.rows]
            view.receive(_Scan(rounded, kept.pairs, kept.floor))
        self.n_passes += 1


class PairCacheView:
    """Pairs of a table in some of its samples."""

    def __init__(
        self,
        pair_cache: PairCache,
        design: Design,  # of these samples
        rows: NDArray[np.intp] | slice,  # their indices in the table
    ) -> None:
        self.pair_cache, self.design, self.rows = pair_cache, design, rows
        # (n_samples,); residuals to be compared with all pairs in the next pass.
        self.wanted: tuple[NDArray[np.float64], ...] | None = None
        self._scans: list[_Scan] = []
        self._listed: tuple[Any, Any, Any] = None, None, None

    @property
    def is_waiting(self) -> bool:
        """Whether a pass is requested."""
        return self.wanted is not None

    @property
    def is_empty(self) -> bool:
        """Whether no pass has been made."""
        return not self._scans and not self.pair_cache.whole._scans

    def request(self, *residuals: NDArray[np.float64]) -> None:
        """Request a pass, now or together with other searches."""
        self.wanted = residuals
        # Other pairs come; products kept for many folds would take memory until then.
        self._listed = None, None, None

    def wait(self) -> None:
        """Make the requested pass, if no other search has."""
        if self.is_waiting:
            self.pair_cache.run_scans()

    def receive(self, scan: _Scan) -> None:
        """Store the result of a pass."""
        self._scans.append(scan)
        self.wanted = None

    def screen(self, residual: NDArray[np.float64], size: int) -> list[Term]:
        """Find the best of the cached pairs, the best first."""
        scans = self._near(residual)
        if not scans:
            return []
        # The scans live as long as the cache.
        names = [id(scan) for scan in scans]
        if self._listed[0] != names:
            pairs = _join(*(scan.pairs for scan in scans))
            products = self.design.of_products(pairs)
            self._listed = names, pairs, products
        _, pairs, products = self._listed
        found = products.screen(residual, 1, min(size, len(pairs)))
        return [tuple(pairs[j].tolist()) for (j,) in found]

    def bound(self, residual: NDArray[np.float64]) -> float:
        """Bound on the scores of pairs that :meth:`screen` does not compare."""
        # As they would be compared in a pass, in the unit of the residual.
        rounded = self._compared(residual)
        return min(
            (
                scan.floor + self._length(scan.residual - rounded)
                for scan in self._near(residual)
                if any(scan is own for own in self._scans)
            ),
            default=math.inf,
        )

    def _compared(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = np.zeros(self.pair_cache.design.n_samples)
        whole[self.rows] = residual
        return self.pair_cache.design.round(whole)[self.rows]

    def _length(self, vector: NDArray[np.float64]) -> float:
        weights = self.design.weights
        return math.sqrt(np.sum(vector**2 if weights is None else weights * vector**2))

    def _near(self, residual: NDArray[np.float64]) -> list[_Scan]:
        """First scan of all samples, and the one for the most similar residual."""
        whole = self.pair_cache.whole._scans
        known = [(scan, scan.residual) for scan in self._scans]
        if self is not self.pair_cache.whole:
            known += [(scan, scan.residual[self.rows]) for scan in whole]
        if not known:
            return []
        distances = [self._length(compared - residual) for _, compared in known]
        near = known[int(np.argmin(distances))][0]
        first = whole[0] if whole else near
        return [first] if near is first else [first, near]


# A view, and a generator that yields after each request of a pass.
Search: TypeAlias = tuple[PairCacheView, Generator[object, None, object]]


def _join(*lists: NDArray[np.int32]) -> NDArray[np.int32]:
    """Pairs of several lists, sorted and without repeats."""
    first, second = np.concatenate(lists).T.astype(np.int64)
    names = np.unique(first << 32 | second)
    return np.column_stack([names >> 32, names & (2**32 - 1)]).astype(np.int32)


def run_together(searches: Iterable[Search]) -> None:
    """Run several searches of one cache, which share their passes."""
    while searches:
        searches = [search for search in searches if _goes_on(*search)]
        if searches:
            searches[0][0].pair_cache.run_scans()


def _goes_on(view: PairCacheView, steps: Generator[object, None, object]) -> bool:
    """Run a search until it requests a pass; whether it does before its end."""
    return any(view.is_waiting for _ in steps)
