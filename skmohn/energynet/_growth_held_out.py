"""Growth of a layer by held-out likelihood."""

# A layer that grows, unit by unit, trains long before it has its width, and learns few
# samples by heart. So RBMs of doubling width are trained here, each from the start
# and as long as the final one, and the likelihood of samples held out decides.

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import linregress

from skmohn._core._rows import n_distinct_rows
from skmohn._core._tuned import tuned
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._growth import GrowthResult, Report, decision, train
from skmohn.energynet._missing import MissingMask, known_free_energies
from skmohn.energynet._partition import (
    PARTITION,
    annealed_weights,
    conservative_log_z,
    exact_log_partition,
    is_enumerable,
    log_partition_of,
)
from skmohn.energynet._rbm import RBM, random_stream
from skmohn.energynet._training import Schedule, new_rbm


@dataclass(frozen=True)
class HeldOutGrowthConstants:
    """The search of the width by held-out likelihood."""

    # One sample of so many is held out, but no more than the next, or the one after it
    # where there are missing values: the likelihood of such a sample takes annealing.
    n_rows_per_held_out: int = tuned(5, "benchmarks/ablation.py")
    max_held_out: int = tuned(2000, "cost")
    max_held_out_missing: int = tuned(500, "cost")
    # Most samples that train before the width is found.
    max_training: int = tuned(20_000, "cost")
    # The first width that is tried, whose states can be enumerated.
    first_width: int = tuned(8, "cost")
    # Layers are tried up to this width even where narrower ones gain nothing.
    min_max_width: int = tuned(64, "benchmarks/ablation.py")
    # Wider ones are tried while twice as many units gain so many nats, by the slope of
    # the last widths.
    min_gain: float = tuned(0.24, "benchmarks/energynet/widths.py")
    n_slope_widths: int = tuned(4, "benchmarks/energynet/widths.py")
    # Most multiplications in the training of all widths, which take some minutes, and
    # how many take as long as drawing a visible unit.
    max_work: float = tuned(3e12, "cost")
    n_multiplications_per_draw: int = tuned(75, "cost")
    # Numbers of temperatures of annealing, in turn, while the standard error of the
    # annealing exceeds the next fraction of that of the samples.
    n_temperatures: tuple[int, ...] = tuned((125, 500, 2000), "cost")
    max_annealing_error: float = tuned(0.5, "benchmarks/ablation.py")
    # Standard errors that make a width better, and that rule it out as the best.
    n_errors_better: float = tuned(1.0, "benchmarks/energynet/widths.py")
    n_errors_worse: float = tuned(3.0, "benchmarks/energynet/widths.py")
    # The distance of a width from the best is counted in a sum of nats and standard
    # errors; neighbors beyond the last count no more.
    distance_nats: float = tuned(0.05, "benchmarks/energynet/widths.py")
    distance_errors: float = tuned(0.5, "benchmarks/energynet/widths.py")
    max_distance: float = tuned(3.0, "benchmarks/energynet/widths.py")


_GROWTH = HeldOutGrowthConstants()

HELD_OUT_REASON = "no other width makes held-out samples clearly more likely"
SAMPLES_REASON = "the width reached the number of distinct samples"
BELOW_REASON = "a layer is no wider than the one below"


@dataclass(frozen=True)
class Parts:
    """Samples that train, and held-out samples that decide."""

    X: np.ndarray  # (n_train, n_visible), float32
    schedule: Schedule  # how to train on `X`
    data: np.ndarray  # (n_held, n_visible), float32; bits
    missing: MissingMask | None  # what is unknown of `data`

    @classmethod
    def draw(
        cls,
        X: NDArray,
        schedule: Schedule,
        seed: int,  # of bits drawn from probabilities
        copies: NDArray[np.intp] | None = None,  # see `hold_out`
    ) -> Self:
        """Hold out a fifth of the samples: the same with all seeds."""
        missing = schedule.missing
        held, kept = hold_out(len(X), copies, has_missing=missing is not None)
        data = X[held]
        if schedule.resample:
            kernels.bernoulli(X[held], random_stream(seed + 1), data)
        if missing is not None:
            schedule, missing = (
                replace(schedule, missing=missing.take(kept)),
                missing.take(held),
            )
        return cls(X[kept], schedule, data, missing)


def hold_out(
    n_rows: int,
    # (n_rows,); rows of one number are copies, all held out or all kept.
    copies: NDArray[np.intp] | None = None,
    *,
    has_missing: bool,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Numbers of held-out rows, and of those that train beside them."""
    order = np.random.default_rng(0).permutation(n_rows)
    max_held = _GROWTH.max_held_out_missing if has_missing else _GROWTH.max_held_out
    n_held = min(max(n_rows // _GROWTH.n_rows_per_held_out, 1), max_held)
    if copies is not None:
        # Copies follow the first of them.
        first = np.unique(copies[order], return_index=True)[1][copies[order]]
        order = order[np.argsort(first, kind="stable")]
        is_last = np.diff(np.sort(first), append=n_rows) > 0
        ends = np.flatnonzero(is_last)[:-1] + 1
        n_held = ends[np.argmin(np.abs(ends - n_held))]
    kept = order[n_held:][: _GROWTH.max_training]
    return np.sort(order[:n_held]), np.sort(kept)


@dataclass(frozen=True)
class HeldOutOptions:
    """Options of growth by held-out likelihood."""

    # Sum of the learning rates of the final training, and of each RBM that is compared;
    # 0 for no final training.
    final_clock: float = 300.0
    # Sum of the learning rates of RBMs compared without a final training.
    clock: float = 60.0
    max_units: int = 2000
    max_steps: int = 1_000_000  # steps of training before the final training
    below: float = np.inf  # width of the layer below, which is not exceeded
    copies: NDArray[np.intp] | None = None  # see `hold_out`


def grow_by_held_out(
    X: NDArray, schedule: Schedule, options: HeldOutOptions, seed: int, report: Report
) -> GrowthResult:
    """Double the width of a layer while that makes held-out samples more likely."""
    # Few units come first; fewer still are tried last, while they are about as good.
    # The layer has a width between those that are about the best; it is trained on all
    # samples, or as it was if there is no final training. Records have ``stage``
    # ("grow" or "final"), ``units``, ``steps`` and ``clock``; at a decision also
    # ``held_out_log_likelihood``, else ``epochs``.
    below = options.below
    parts = Parts.draw(X, schedule, seed, options.copies)
    # Duplicates in both parts reward a unit each, and more: distinct rows count.
    n_distinct = n_distinct_rows(parts.X)
    max_width, reason = int(min(n_distinct, below)), HELD_OUT_REASON
    widths = list(_doubling(min(options.max_units, max_width)))
    first = sum(width <= _GROWTH.first_width for width in widths) - 1
    search, limit = WidthSearch(parts, options, seed, report), None
    for width in widths[first:]:
        if limit := search.limit(width):
            break
        search.take(width)
        if width >= _GROWTH.min_max_width and not search.still_improving(width):
            break
    for width in reversed(widths[:first]):
        if limit := limit or search.limit(width):
            break
        search.take(width)
        if search.gain(width) < -_GROWTH.n_errors_worse:
            break
    # Narrower ones may be as good as the widest.
    if limit is None and search.still_improving(widths[-1]):
        if max_width < options.max_units:
            reason = SAMPLES_REASON if n_distinct < below else BELOW_REASON
        else:
            limit = "max_units"
    width = _likely_width(search.lengths)
    nearest = min(search.lengths, key=lambda tried: abs(np.log(tried / width)))
    if options.final_clock > 0:
        rbm = new_rbm(X, width, seed, schedule.groups)
        run = schedule.begin(X, rbm, schedule.steps_of_clock(options.final_clock), seed)
        train(run, X, schedule, "final", report, search.n_steps)
    else:
        run = search.runs[nearest]
    held_out = -search.lengths[nearest]
    return GrowthResult(run, limit or reason, limit, search.reference_rbm, held_out)


class WidthSearch:
    """RBMs of some widths, and the nats of held-out samples by each."""

    def __init__(
        self, parts: Parts, options: HeldOutOptions, seed: int, report: Report
    ) -> None:
        self.parts, self.options = parts, options
        self.seed, self.report = seed, report
        self.n_steps, self.work, self.runs, self.lengths = 0, 0.0, {}, {}
        self.errors, self.reference_rbm = {}, None
        clock = options.final_clock or options.clock
        self.n_steps_of_run = parts.schedule.steps_of_clock(clock)

    def limit(self, width: int) -> str | None:
        """Limit that one more width would exceed; the first one is always tried."""
        if not self.runs:
            return None
        if self.n_steps + self.n_steps_of_run > self.options.max_steps:
            return "max_steps"
        is_too_much = self.work + self._work_of(width) > _GROWTH.max_work
        return "max_work" if is_too_much else None

    def _work_of(self, width: int) -> float:
        """Multiplications in the training of a width."""
        parts = self.parts
        n_samples = min(parts.schedule.batch_size, len(parts.X))
        n_visits = float(self.n_steps_of_run) * n_samples * parts.X.shape[1]
        return n_visits * (width + _GROWTH.n_multiplications_per_draw)

    def take(self, width: int) -> None:
        """Train an RBM and measure it."""
        parts = self.parts
        ahead = min(self.n_steps_of_run, self.options.max_steps - self.n_steps)
        rbm = new_rbm(parts.X, width, self.seed, parts.schedule.groups)
        run = self.runs[width] = parts.schedule.begin(parts.X, rbm, ahead, self.seed)
        train(run, parts.X, parts.schedule, "grow", self.report, self.n_steps)
        self.n_steps += ahead
        self.work += self._work_of(width)
        # The first one, whose states can be listed.
        self.reference_rbm = self.reference_rbm or run.rbm
        self.lengths[width], self.errors[width] = self._measured(run.rbm)
        found = {"held_out_log_likelihood": -float(self.lengths[width].mean())}
        decision(self.report, run, "grow", self.n_steps, found)

    def gain(self, width: int) -> float:
        """Standard errors by which a width is better than the best of the others."""
        others = [tried for tried in self.lengths if tried != width]
        if not others:
            return np.inf
        best = min(others, key=lambda tried: self.lengths[tried].mean())
        error = np.hypot(self.errors[best], self.errors[width])
        return _errors(self.lengths[best] - self.lengths[width], error)

    def still_improving(self, width: int) -> bool:
        """Whether a width was tried, and is so good that a wider one may be better."""
        # Wide ones are compared by a trend: the training of a single one varies too
        # much.
        if width not in self.lengths:
            return False
        if width < _GROWTH.min_max_width:
            return self.gain(width) > _GROWTH.n_errors_better
        widths = sorted(self.lengths)[-_GROWTH.n_slope_widths :]
        nats = [self.lengths[tried].mean() for tried in widths]
        trend: Any = linregress(np.log2(widths), nats)
        return -trend.slope > _GROWTH.min_gain

    def _measured(self, rbm: RBM) -> tuple[NDArray[np.float64], float]:
        """Nats of each held-out sample, and the error that they have in common."""
        # A few temperatures are enough where the samples are less certain, or for an
        # RBM that is worse than others even by an optimistic estimate. Where there are
        # no temperatures, it is not optimistic.
        parts, seed = self.parts, self.seed
        free = known_free_energies(rbm, parts.data, parts.missing, seed)
        # So the first one has a value that others are compared with, however many
        # columns there are.
        if not self.lengths or is_enumerable(rbm):
            return free + exact_log_partition(rbm).value, 0.0
        best = min(self.lengths.values(), key=np.mean)
        log_z = error = np.inf
        for number in _GROWTH.n_temperatures:
            weights = annealed_weights(
                rbm, parts.X, reference_rbm=self.reference_rbm, n_temperatures=number,
                random_state=seed,
            )  # fmt: skip
            found = log_partition_of(weights)
            gains, error = best - free - found.value, found.standard_error
            is_known = found.effective_sample_size >= PARTITION.min_effective_size
            is_sure = is_known and error <= _GROWTH.max_annealing_error * _error(gains)
            log_z = found.value
            if not is_known:
                log_z = max(log_z, conservative_log_z(weights))
            if is_sure or _errors(gains, error) < -_GROWTH.n_errors_worse:
                break
        return free + log_z, error


def _errors(gains: NDArray[np.float64], of_all: float = 0.0) -> float:
    """Mean, in its standard errors, where all gains have an error in common."""
    mean = gains.mean()
    error = np.hypot(_error(gains), of_all)
    if error == 0.0:
        return float(np.sign(mean)) * np.inf if mean else 0.0
    return float(mean / error)


def _error(gains: NDArray[np.float64]) -> float:
    """Standard error of a mean; 0 of one gain, of which scipy's `sem` warns."""
    return gains.std() / np.sqrt(len(gains))


def _likely_width(lengths: Mapping[int, NDArray[np.float64]]) -> int:
    """Mean of the widths, counted in doublings, by how near each is to the best."""
    # So chance, which decides between widths that are about as good, decides little.
    # Much of it is in the training of each; so distances are means over a width, twice,
    # and its neighbors. A weight falls with the distance, not with its square: whether
    # all of those that are nearly the best are in or out would be chance again.
    widths = sorted(lengths)
    best = min(lengths.values(), key=np.mean)
    worse = [lengths[width] - best for width in widths]
    far = np.array(
        [
            nats.mean()
            / (_GROWTH.distance_nats + _GROWTH.distance_errors * _error(nats))
            for nats in worse
        ]
    )
    around = np.pad(far, 1, mode="edge")
    around = np.minimum(around[:-2], far + _GROWTH.max_distance) + np.minimum(
        around[2:], far + _GROWTH.max_distance
    )
    far = (around + 2.0 * far) / 4.0
    return round(2 ** np.average(np.log2(widths), weights=np.exp(far.min() - far)))


def _doubling(max_width: int) -> Iterator[int]:
    """1, 2, 4 and so on up to a number, which ends them."""
    width = 1
    while width < max_width:
        yield width
        width *= 2
    yield max_width
