"""Approximate message passing with an empirical-Bayes prior."""

# Greedy pursuit compares one weight at a time with the residual. Message passing weighs
# all candidates together: it alternates between the pseudo-data ``r = w + noise`` that
# every candidate would see if all others were known as well as they are, and the
# posterior mean of ``w`` given ``r`` under a prior that is itself learned from ``r``.
# On parity columns, which are close to independent, this recovers structures from fewer
# samples than any convex method.
#
# Sources: Donoho, Maleki and Montanari, PNAS 106 (2009), for the iteration and its
# Onsager term; Koenker and Mizera, JASA 109 (2014), for the prior as a free mixture on
# a grid.

from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import Design, PackedDesign, as_tuples
from skmohn.mohn._design.terms import count_parents, count_sets, shared_children


@dataclass(frozen=True)
class MessagePassingConstants:
    """Approximate message passing."""

    # Magnitudes of the prior.
    n_magnitudes: int = tuned(30, "benchmarks/ablation.py")
    # Steps near zero are this many e-folds smaller than steps near the largest
    # magnitude.
    magnitude_stretch: float = tuned(2.0, "benchmarks/ablation.py")
    # Updates of the prior in an iteration.
    n_em_steps: int = tuned(2, "benchmarks/ablation.py")
    # Undamped, the learned prior and the iterate oscillate near the threshold.
    damping: float = tuned(0.7, "benchmarks/ablation.py")
    # Change of the weights, relative to their length, at which a run has converged.
    tolerance: float = tuned(1e-3, "benchmarks/ablation.py")
    # Exponents that neither overflow nor become subnormal.
    exponent_range: tuple[float, float] = tuned((-200.0, 600.0), "rounding")
    n_entries_per_block: int = tuned(2**18, "cost")
    # Entries from which on columns of signs stay packed, a bit each: 64 MB.
    min_entries_packed: int = tuned(2**24, "cost")
    # The posterior of many candidates is tabulated at so many sizes of pseudo-data.
    # Between them, at most this fraction of the noise apart, it is linear up to 1e-4 of
    # it.
    n_nodes: int = tuned(2**10, "benchmarks/ablation.py")
    max_spacing: float = tuned(1.0 / 64.0, "benchmarks/ablation.py")
    # Nanoseconds of an iteration, by entries and by candidates; of computing an entry.
    work_per_entry: float = tuned(1.0, "cost")
    work_per_weight: float = tuned(500.0, "cost")
    work_per_new_entry: float = tuned(8.0, "cost")
    # Bytes of a candidate beside its column: the set, its index, and its posterior.
    n_bytes_beside: int = tuned(400, "cost")
    max_iter: int = tuned(150, "cost")


_MESSAGES = MessagePassingConstants()


class MixturePrior:
    """Prior of weights: a spike at zero and a symmetric mixture on an even grid."""

    # One prior belongs to each class of candidates, such as one order; it is relearned
    # by expectation maximization whenever it is used.

    def __init__(self) -> None:
        # Before the first use there is none.
        self.grid: Any = None
        self.mixture = np.full(_MESSAGES.n_magnitudes + 1, 0.1 / _MESSAGES.n_magnitudes)
        self.mixture[0] = 0.9

    def posterior(
        self,
        pseudo_data: NDArray[np.float64],
        noise: float,
        counts: NDArray[np.float64] | NDArray[np.intp],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean, variance and inclusion probability of each candidate."""
        # `noise` is the standard deviation of the pseudo-data, `counts` the number of
        # sets that each candidate represents.
        largest = max(np.abs(pseudo_data).max(), np.finfo(float).tiny)
        # Weights below the noise are not identifiable: with components there the slab
        # would learn the noise instead.
        smallest = min(noise, 0.5 * largest)
        steps = np.expm1(
            np.linspace(0.0, _MESSAGES.magnitude_stretch, _MESSAGES.n_magnitudes)
        )
        grid = np.append(0.0, smallest + (largest - smallest) * steps / steps[-1])
        if self.grid is not None:
            self._move_to(grid)
        self.grid = grid
        sizes, signs = np.abs(pseudo_data), np.sign(pseudo_data)
        is_close = largest <= _MESSAGES.max_spacing * noise * (_MESSAGES.n_nodes - 1)
        if len(sizes) <= _MESSAGES.n_nodes or not is_close:
            mean, variance, inclusion = self._weigh(sizes, noise, counts)
        else:
            # Each candidate is split between its two neighboring nodes.
            index = sizes * ((_MESSAGES.n_nodes - 1) / largest)
            low = np.minimum(index.astype(np.intp), _MESSAGES.n_nodes - 2)
            high = index - low
            of_nodes = np.bincount(
                low, counts * (1.0 - high), minlength=_MESSAGES.n_nodes
            )
            of_nodes += np.bincount(low + 1, counts * high, minlength=_MESSAGES.n_nodes)
            nodes = np.linspace(0.0, largest, _MESSAGES.n_nodes)
            mean, variance, inclusion = (
                table[low] + high * (table[low + 1] - table[low])
                for table in self._weigh(nodes, noise, of_nodes)
            )
        return signs * mean, variance, inclusion

    def _weigh(
        self,
        sizes: NDArray[np.float64],
        noise: float,
        counts: NDArray[np.float64] | NDArray[np.intp],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Relearn the mixture, whose components are half a step wide; apply it."""
        mixture, center = self.mixture, self.grid[1:]
        variance = (0.5 * np.diff(self.grid)) ** 2
        precision = 1.0 / (noise**2 + variance)
        shrink = variance * precision
        # Log likelihood ratios to the spike of each magnitude with the sign of the
        # pseudo-data, and with the opposite sign.
        near = sizes[:, None] - center
        near *= near
        near *= -0.5 * precision
        near += 0.5 * (sizes[:, None] / noise) ** 2
        far = sizes[:, None] * (-2.0 * center * precision)
        far += near
        for part in near, far:
            np.clip(part, *_MESSAGES.exponent_range, out=part)
            np.exp(part, out=part)
            part *= 0.5 * noise * np.sqrt(precision)
        ratios = near + far
        near -= far
        for _ in range(_MESSAGES.n_em_steps):
            evidence = counts / (mixture[0] + ratios @ mixture[1:])
            mixture = mixture * np.append(evidence.sum(), evidence @ ratios)
            # One pseudo-count over all components keeps each alive.
            mixture = (mixture + 1.0 / len(mixture)) / (counts.sum() + 1.0)
        self.mixture = mixture
        evidence = mixture[0] + ratios @ mixture[1:]
        # Parts of the means from the pseudo-data and from the center, of either sign.
        weight, rest = mixture[1:] * shrink, (1.0 - shrink) * center
        first = sizes * (ratios @ weight) + near @ (mixture[1:] * rest)
        second = sizes**2 * (ratios @ (weight * shrink))
        second += 2.0 * sizes * (near @ (weight * rest))
        second += ratios @ (mixture[1:] * rest**2 + weight * noise**2)
        mean = first / evidence
        return mean, second / evidence - mean**2, 1.0 - mixture[0] / evidence

    def _move_to(self, grid: NDArray[np.float64]) -> None:
        """Interpolate the slab on a new grid; the spike keeps its probability."""
        spike = self.mixture[0]
        mixture = np.maximum(np.interp(grid, self.grid, self.mixture), 1e-9)
        mixture[0] = 0.0
        self.mixture = mixture * ((1.0 - spike) / mixture.sum())
        self.mixture[0] = spike


class UnitColumns(Protocol):
    """Centered columns of unit length."""

    def __len__(self) -> int: ...

    def project(self, residual: NDArray[np.float64]) -> NDArray:
        """Inner products with a centered vector, (n_columns,)."""
        ...

    def combine(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of columns times coefficients, (n_samples,)."""
        ...


@dataclass(frozen=True)
class StoredColumns:
    """Columns as numbers."""

    columns: NDArray[np.float32]  # (n_columns, n_samples)

    def __len__(self) -> int:
        return len(self.columns)

    def project(self, residual: NDArray[np.float64]) -> NDArray[np.float32]:
        """Inner products with a vector."""
        return self.columns @ residual.astype(np.float32)

    def combine(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of columns times coefficients."""
        return (coef.astype(np.float32) @ self.columns).astype(float)


@dataclass(frozen=True)
class PackedColumns:
    """Columns of unweighted signs as bits, which take a thirtieth of the memory."""

    design: PackedDesign
    columns: NDArray[np.uint64]  # (n_columns, n_words)
    mean: NDArray[np.float64]  # (n_columns,)
    # (n_columns,); length of the centered column, infinite where it is constant.
    norm: NDArray[np.float64]

    @classmethod
    def of_sets(cls, design: PackedDesign, *blocks: Any) -> "PackedColumns":
        """Columns of all sets of the blocks."""
        n_columns = sum(map(len, blocks))
        columns = np.empty((n_columns, design.bits.shape[1]), dtype=np.uint64)
        mean, norm = np.empty((2, n_columns))
        ones, n_samples = np.zeros_like(design.bits[:1]), design.n_samples
        for index, sets in _split_sets(blocks, n_samples):
            columns[index] = part = design.columns(sets)
            mean[index] = design.gram(part, ones)[:, 0] / n_samples
            norm[index] = np.sqrt(design.spread(part))
        return cls(design, columns, mean, norm)

    def __len__(self) -> int:
        return len(self.columns)

    def project(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inner products with a vector."""
        products = self.design.project(self.columns, residual)
        return (products - self.mean * residual.sum()) / self.norm

    def combine(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of columns times coefficients."""
        coef = coef / self.norm
        return self.design.combine(self.columns, coef) - coef @ self.mean


def pass_messages(
    columns: UnitColumns,
    y: NDArray[np.float64],
    classes: NDArray[np.intp],
    counts: NDArray[np.intp],
    n_samples: float,
) -> Generator[float, None, tuple[NDArray[np.float64], NDArray[np.float64], float]]:
    """Infer the weights of candidate columns; yields the cost of each iteration."""
    # y is centered. Candidates of a class have one prior; all classes ``0 .. max``
    # occur. `counts` are the numbers of sets with the same column, `n_samples` the
    # effective number of samples. Costs are roughly in
    # nanoseconds, from counts. Returned are posterior means, in the scale of unit-norm
    # columns, posterior probabilities that weights are not zero, and the effective
    # noise of the best iteration, per column.
    groups = [np.flatnonzero(classes == c) for c in range(classes.max() + 1)]
    priors = [MixturePrior() for _ in groups]
    coef = np.zeros(len(columns))
    residual = y.copy()
    best = (np.inf, coef, np.zeros(len(columns)))
    for _ in range(_MESSAGES.max_iter):
        noise: Any = np.sqrt(residual @ residual / n_samples)
        if not np.isfinite(noise) or noise > 10 * best[0]:
            break
        pseudo_data = coef + columns.project(residual)
        mean, variance, inclusion = np.empty((3, len(columns)))
        for group, prior in zip(groups, priors, strict=True):
            mean[group], variance[group], inclusion[group] = prior.posterior(
                pseudo_data[group], noise, counts[group]
            )
        if noise < best[0]:
            best = (noise, mean, inclusion)
        damped = coef + _MESSAGES.damping * (mean - coef)
        onsager = counts @ variance / max(noise**2, np.finfo(float).tiny) / n_samples
        target = y - columns.combine(counts * damped) + onsager * residual
        residual += _MESSAGES.damping * (target - residual)
        change, length = counts @ (damped - coef) ** 2, counts @ damped**2
        coef = damped
        yield float(
            _MESSAGES.work_per_entry * len(columns) * len(y)
            + _MESSAGES.work_per_weight * len(columns)
        )
        if change < _MESSAGES.tolerance**2 * length:
            break
    noise, mean, inclusion = best
    return mean, inclusion, noise


def bytes_of_candidate(n_samples: int) -> int:
    """Bytes of one candidate with its column."""
    return 4 * n_samples + _MESSAGES.n_bytes_beside


def infer_structure(
    design: Design,
    y: NDArray[np.float64],
    terms: Collection[Term],
    *,
    base: int,
    max_order: int,
    memory_budget: float,
    heredity: bool,
) -> Generator[float, None, list[Term] | None]:
    """Infer likely terms by message passing; yields the cost of each part."""
    # Candidates are all sets up to the order `base`, `terms` of higher order, and sets
    # that extend two terms; with their columns they take at most `memory_budget` bytes.
    # With `heredity`, candidates of the base orders, too, have priors by order and by
    # the number of their subsets among the terms. Costs are roughly in nanoseconds,
    # from counts. Returned are the likely terms, the strongest first, at most as many
    # as samples; None when the candidates do not fit in memory.
    n = design.n_features
    room = memory_budget / bytes_of_candidate(design.n_samples)
    n_lowest = count_sets(n, base)
    if n_lowest > room:
        return None
    lowest = _first_sets(n, base)
    higher = _extensions(terms, n, base, max_order)[: int(room) - n_lowest]
    classes = _classes(lowest, higher, terms, heredity)
    first, group = _merge(lowest, classes, design.first_equal)
    columns = _unit_columns(design, lowest[first[first < n_lowest]], higher)
    yield float(_MESSAGES.work_per_new_entry * len(columns) * design.n_samples)
    y = y - np.average(y, weights=design.weights)
    if design.weights is not None:
        y = y * np.sqrt(design.weights)
    coef, inclusion, _ = yield from pass_messages(
        columns, y, classes[first], np.bincount(group), design.weight_sum
    )
    likely = np.flatnonzero((inclusion > 0.5)[group])
    strongest = np.argsort(-np.abs(coef[group[likely]]), kind="stable")
    # No model has more terms. With repeated columns there are many thousands.
    likely = likely[strongest[: int(design.weight_sum)]]
    lower = iter(as_tuples(lowest[likely[likely < n_lowest]]))
    return [next(lower) if j < n_lowest else higher[j - n_lowest] for j in likely]


def _first_sets(n_features: int, base: int) -> NDArray[np.int32]:
    """All sets up to an order; shorter ones are padded with -1 in front."""
    blocks = []
    for order in range(1, base + 1):
        members = chain.from_iterable(combinations(range(n_features), order))
        sets = np.fromiter(members, dtype=np.int32).reshape(-1, order)
        blocks.append(np.pad(sets, ((0, 0), (base - order, 0)), constant_values=-1))
    return np.concatenate(blocks)


def _merge(
    lowest: NDArray[np.int32], classes: NDArray[np.intp], first_equal: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Group sets with the same column and class; those of higher orders stay apart."""
    # Where inputs repeat each other, most sets are duplicates. `classes` are those of
    # the sets of `lowest`, (n_lowest, base), then of higher ones. Returned are the
    # first set of each group, and the group of each set.
    n_lowest = len(lowest)
    names = np.sort(np.append(first_equal, -1)[lowest], axis=1) + 1
    key = np.zeros(n_lowest, dtype=np.int64)
    for members in names.T:
        key = key * (len(first_equal) + 1) + members
    key = key * (classes.max() + 1) + classes[:n_lowest]
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    higher = np.arange(n_lowest, len(classes))
    return np.append(first, higher), np.append(group, higher - n_lowest + len(first))


def _unit_columns(design: Design, *blocks: Any) -> UnitColumns:
    """Columns of all sets of the blocks, as numbers if these take little memory."""
    n_columns = sum(map(len, blocks))
    if (
        isinstance(design, PackedDesign)
        and n_columns * design.n_samples >= _MESSAGES.min_entries_packed
    ):
        return PackedColumns.of_sets(design, *blocks)
    columns = np.empty((n_columns, design.n_samples), dtype=np.float32)
    for index, sets in _split_sets(blocks, design.n_samples):
        packed: Any = design.columns(sets)
        part = design.unpack(packed, np.float32)
        part -= np.average(part, axis=1, weights=design.weights)[:, None]
        if design.weights is not None:
            part *= np.sqrt(design.weights).astype(np.float32)
        norms = np.linalg.norm(part, axis=1)
        part /= np.where(norms > 1e-3, norms, np.inf)[:, None]
        columns[index] = part
    return StoredColumns(columns)


def _split_sets(
    blocks: Sequence[Any], n_samples: int
) -> Iterator[tuple[slice, Sequence[Term] | NDArray[np.int32]]]:
    """Yield some sets of the blocks at a time, and where they are among all."""
    # Intermediate arrays of their columns are several times as large as these.
    size, filled = 1 + _MESSAGES.n_entries_per_block // n_samples, 0
    for sets in blocks:
        for part in equal_slices(len(sets), size):
            some = sets[part]
            yield slice(filled, filled + len(some)), some
            filled += len(some)


def _extensions(
    terms: Collection[Term], n_features: int, base: int, max_order: int
) -> list[Term]:
    """Sets above the base order that are in the model or extend two of its terms."""
    present = [term for term in terms if len(term) > base]
    extended = set()
    for order in range(base, min(max_order, max(map(len, terms), default=0) + 1)):
        parents = [term for term in terms if len(term) == order]
        extended.update(shared_children(parents, n_features))
    return present + sorted(extended.difference(present))


def _classes(
    lowest: NDArray[np.int32],
    higher: Sequence[Term],
    present: Collection[Term],
    heredity: bool,
) -> NDArray[np.intp]:
    """Number the classes of candidates, which share a prior: by order and support."""
    # Without heredity those of the lowest orders, up to two, are one class.
    present, n_lowest = set(present), len(lowest)
    kinds = np.zeros((n_lowest + len(higher), 2), dtype=np.int64)
    if heredity:
        order = (lowest >= 0).sum(axis=1)
        found = [i for term in present if len(term) == 1 for i in term]
        support = (order > 1) * np.isin(lowest, found).sum(axis=1)
        kinds[:n_lowest] = np.column_stack([order, support])
    for j, term in enumerate(higher, start=n_lowest):
        kinds[j] = len(term), count_parents(term, present)
    order, support = kinds.T
    return np.unique(order * (support.max() + 1) + support, return_inverse=True)[1]
