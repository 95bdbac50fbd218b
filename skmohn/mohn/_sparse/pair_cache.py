"""Pairs of wide tables: what passes over all of them have found, for several searches.

A pass costs much where columns are many, and a search has many residuals. So the best
pairs of a pass are kept, and a search looks among them first. Only where none of these
is significant all pairs are asked for, unless a bound says that no other one can:
between two residuals the score of a product changes by no more than the length of their
difference (Cauchy and Schwarz). Searches on folds wait for each other, so that one pass
serves them all.
"""

import math
from typing import NamedTuple

import numpy as np

from skmohn._core._fitting import no_progress
from skmohn.mohn._design.pair_screening import best_pairs, count_parts, how_many_to_keep


class _Scan(NamedTuple):
    """What a pass has found for one residual.

    Attributes
    ----------
    residual : ndarray of shape (n_samples,)
        As it was compared with pairs.

    pairs : ndarray of shape (n_kept, 2)

    least : float
        No other pair scores more.
    """

    residual: np.ndarray
    pairs: np.ndarray
    least: float


class PairCache:
    """The pairs of one table, for all searches of a fit.

    Parameters
    ----------
    design : PackedDesign or DenseDesign
        Of all samples.

    n_jobs : int, default=None
        Parts of the pairs that are scored at once.

    watch : callable, default=unwatched
        Hears of passes, see `FitSettings`.

    Attributes
    ----------
    n_passes : int
        How often all pairs were scored.

    joint_searches : callable or None
        Called before the second pass; returns searches, as of :func:`run_together`,
        that begin now, so that they share it. None at first.
    """

    def __init__(self, design, n_jobs=None, watch=no_progress):
        self.design = design
        self.n_jobs = n_jobs
        self.watch = watch
        self.n_passes = 0
        self.joint_searches = None
        self.size = how_many_to_keep(design)
        self.whole = PairCacheView(self, design, slice(None))
        self._views = [self.whole]

    def view(self, design, rows):
        """The pairs as samples of some rows see them.

        Parameters
        ----------
        design : PackedDesign or DenseDesign
            Of these samples.

        rows : ndarray, int

        Returns
        -------
        view : PairView
        """
        view = PairCacheView(self, design, rows)
        self._views.append(view)
        return view

    def run_scans(self):
        """Score all pairs for the searches that wait."""
        if self.n_passes and self.joint_searches is not None:
            begin, self.joint_searches = self.joint_searches, None
            for search in begin():
                _goes_on(*search)
        waiting = [
            (view, part)
            for view in self._views
            if view.is_waiting
            for part in view.wanted
        ]
        residuals = np.zeros((len(waiting), self.design.n_samples))
        for residual, (view, part) in zip(residuals, waiting, strict=True):
            residual[view.rows] = part
        n_parts = count_parts(self.design.n_features)
        with self.watch("pass over all pairs", n_parts) as end_part:
            found = best_pairs(
                self.design,
                residuals,
                self.size,
                n_jobs=self.n_jobs,
                on_part=end_part,
            )
        for residual, (view, _), kept in zip(residuals, waiting, found, strict=True):
            rounded = self.design.round(residual)[view.rows]
            view.receive(_Scan(rounded, kept.pairs, kept.least))
        self.n_passes += 1


class PairCacheView:
    """The pairs of a table as some samples see them.

    Parameters
    ----------
    pair_cache : PairPool

    design : PackedDesign or DenseDesign
        Of these samples.

    rows : ndarray, int, or slice
        Where they are in the table.

    Attributes
    ----------
    wanted : tuple of ndarrays of shape (n_samples,) or None
        The residuals that are to be compared with all pairs.
    """

    def __init__(self, pair_cache, design, rows):
        self.pair_cache, self.design, self.rows = pair_cache, design, rows
        self.wanted = None
        self._scans = []
        self._listed = None, None, None

    @property
    def is_waiting(self):
        """Whether a pass was asked for."""
        return self.wanted is not None

    @property
    def is_empty(self):
        """Whether nothing is known of any pair."""
        return not self._scans and not self.pair_cache.whole._scans

    def ask(self, *residuals):
        """Ask for a pass, now or together with others."""
        self.wanted = residuals
        # Products of other pairs come; those of many folds would take room meanwhile.
        self._listed = None, None, None

    def wait(self):
        """Have the pass that was asked for, if nobody has seen to it."""
        if self.is_waiting:
            self.pair_cache.run_scans()

    def receive(self, scan):
        """Take what a pass has found."""
        self._scans.append(scan)
        self.wanted = None

    def screen(self, residual, size):
        """Find the best of the pairs that are kept.

        Parameters
        ----------
        residual : ndarray of shape (n_samples,)

        size : int
            How many of them.

        Returns
        -------
        sets : list of tuples of int
            The best first.
        """
        scans = self._near(residual)
        if not scans:
            return []
        # The scans live as long as the ensemble.
        names = [id(scan) for scan in scans]
        if self._listed[0] != names:
            pairs = _join(*(scan.pairs for scan in scans))
            products = self.design.of_products(pairs)
            self._listed = names, pairs, products
        _, pairs, products = self._listed
        found = products.screen(residual, 1, min(size, len(pairs)))
        return [tuple(pairs[j].tolist()) for (j,) in found]

    def bound(self, residual):
        """What a pair that :meth:`screen` does not look at may score at most.

        As it would be compared in a pass, in the unit of the residual.
        """
        rounded = self._compared(residual)
        return min(
            (
                scan.least + self._length(scan.residual - rounded)
                for scan in self._near(residual)
                if any(scan is own for own in self._scans)
            ),
            default=math.inf,
        )

    def _compared(self, residual):
        whole = np.zeros(self.pair_cache.design.n_samples)
        whole[self.rows] = residual
        return self.pair_cache.design.round(whole)[self.rows]

    def _length(self, vector):
        weights = self.design.weights
        return math.sqrt(np.sum(vector**2 if weights is None else weights * vector**2))

    def _near(self, residual):
        """The first scan of all samples, and the one for the most similar residual."""
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


def _join(*lists):
    """Pairs of several lists, each once and in order."""
    first, second = np.concatenate(lists).T.astype(np.int64)
    names = np.unique(first << 32 | second)
    return np.column_stack([names >> 32, names & (2**32 - 1)]).astype(np.int32)


def run_together(searches):
    """Go through several searches, which wait for each other to ask for a pass.

    Parameters
    ----------
    searches : list of (PairCacheView, generator)
        Of one cache; generators yield after they have asked.
    """
    while searches:
        searches = [search for search in searches if _goes_on(*search)]
        if searches:
            searches[0][0].pair_cache.run_scans()


def _goes_on(view, steps):
    """Go on until a search has asked for a pass; whether it has, or has ended."""
    return any(view.is_waiting for _ in steps)
