"""Growth of a layer: fixed width, or by the shortest description of the data."""

# A growth takes inputs, a :class:`Schedule`, options of its own, a seed and a report,
# and returns a :class:`GrowthResult`. After every epoch, or some short ones, and after
# each decision it calls ``report(record, make_rbm)`` with what happened, a dictionary,
# and a function that returns the RBM as it is. What `report` raises ends the growth.

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import entropy

from skmohn._core._tuned import tuned
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._likelihood import unit_price
from skmohn.energynet._missing import MissingMask, known_free_energies
from skmohn.energynet._partition import (
    annealed_importance_sampling,
    exact_log_partition,
)
from skmohn.energynet._rbm import (
    RBM,
    RBM_LIMITS,
    draw_hidden,
    draw_visible,
    gibbs,
    random_stream,
)
from skmohn.energynet._training import (
    Run,
    Schedule,
    narrowed,
    new_rbm,
    prolonged,
    widened,
)


@dataclass(frozen=True)
class DescriptionGrowthConstants:
    """Comparison of widths by description lengths."""

    # RBMs are compared exactly up to so many states times visible units, ...
    max_enumerated_numbers: float = tuned(5e6, "cost")
    # ... and beyond by so many temperatures: they differ by a few units.
    n_temperatures: int = tuned(300, "benchmarks/ablation.py")
    # Times that fewer units may be no better before no fewer are tried.
    max_misses: int = tuned(2, "benchmarks/ablation.py")
    # Of samples with missing values, the likelihoods of so many are compared: each
    # takes annealing.
    max_samples_missing: int = tuned(500, "cost")
    # Units are valued on so many samples: chance in those of the model, which are
    # fewer, weighs more.
    max_samples_valued: int = tuned(10_000, "cost")
    # Of those with missing values, which are drawn several times.
    max_samples_valued_missing: int = tuned(2000, "cost")


_GROWTH = DescriptionGrowthConstants()

# Called with a record of what happened and a function that returns the RBM.
Report: TypeAlias = Callable[[dict[str, Any], Callable[[], RBM]], None]

PAYING_REASON = "every unit is worth its cost"
GIVEN_REASON = "the width was given"


@dataclass(frozen=True)
class GrowthResult:
    """Layer whose growth has ended."""

    run: Run  # trained RBM, as ``run.rbm``, and what is needed to train it further
    reason: str  # why it has this width
    # Limit that ended the growth early: "max_units", "max_steps" or "max_work".
    limit: str | None = None
    # RBM of few units for the same samples, where one was trained.
    reference_rbm: RBM | None = None
    # (n_held,); log-likelihoods of held-out samples by an RBM about as wide that others
    # have trained, where widths were compared by these.
    held_out: np.ndarray | None = None


def given_width(
    X: NDArray, schedule: Schedule, rbm: RBM, n_epochs: int, seed: int, report: Report
) -> GrowthResult:
    """Train a layer of fixed width, from an RBM on."""
    # Records have ``stage`` ("train"), ``units``, ``steps``, ``clock`` and ``epochs``,
    # the number of epochs since the record before.
    n_steps = schedule.steps_of_epochs(n_epochs, len(X))
    run = schedule.begin(X, rbm, n_steps, seed)
    train(run, X, schedule, "train", report)
    return GrowthResult(run, GIVEN_REASON)


def train(
    run: Run,
    X: NDArray,
    schedule: Schedule,
    stage: str,
    report: Report,
    n_steps: int = 0,
) -> None:
    """Train to the end of a run; report after every epoch or some short ones."""
    while not run.is_over:
        n_epochs = schedule.advance(run, X)
        record = _record(run, stage, n_steps + run.step)
        report(record | {"epochs": n_epochs}, lambda: run.rbm)


def decision(
    report: Report, run: Run, stage: str, n_steps: int, found: dict[str, Any]
) -> None:
    """Report a decision."""
    report(_record(run, stage, n_steps) | found, lambda: run.rbm)


def _record(run: Run, stage: str, n_steps: int) -> dict[str, Any]:
    return {
        "stage": stage,
        "units": run.rbm.n_hidden,
        "steps": n_steps,
        "clock": run.clock,
    }


@dataclass(frozen=True)
class DescriptionLengthOptions:
    """Options of growth by description length."""

    # Factor of the price of a unit; the lower, the wider the layer.
    unit_cost: float = 1.0
    # Units to begin with, or a half, a quarter and so on down to one, whichever
    # describes the data shortest.
    n_initial: int = 8
    # Fraction of its price that a unit counts while initial widths are compared:
    # training is far from its end, which more units will gain more from.
    start_fraction: float = 0.5
    clock: float = 60.0  # sum of the learning rates between two decisions
    # Sum of the learning rates after the last one, 0 for none.
    final_clock: float = 300.0
    # Fraction of the units that must be worth their price for there to be more. So the
    # final width is reached by dropping, from a layer that is too wide: fewer units
    # that are all worth it are often not the shortest description.
    worthwhile_fraction: float = 0.4
    drop_fraction: float = 0.1  # most of the units that are dropped at once
    n_chains: int = 400  # samples of the model that value units
    n_gibbs: int = 100  # steps of these chains before each decision
    max_units: int = 2000
    max_steps: int = 1_000_000  # steps of training before the final training


def unit_values(
    rbm: RBM,
    data: NDArray,  # (n_samples, n_visible); bits
    model: NDArray,  # (n_chains, n_visible); samples of the RBM's own distribution
    missing: MissingMask | None = None,
    # (n_incomplete, n_visible); completions of the incomplete samples.
    draws: Iterable[NDArray] = (),
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean log-likelihood of the data that each hidden unit adds."""
    # Dropping unit i while its mean linear effect s_i W_i goes to the visible biases
    # divides the probability of v by exp(g_i(v)), g_i = softplus(a_i) - s_i a_i, up to
    # normalization. So the loss is E_data g_i + log E_model exp(-g_i), exactly when the
    # expectations are: no partition function is needed. Of an incomplete sample -log E
    # exp(-g_i) is added, the mean being over its completions. Returned are values in
    # nats per sample, (n_hidden,), and the means s_i of the hidden probabilities on the
    # data.
    activity = rbm.hidden_probabilities(data).mean(axis=0, dtype=np.float64)
    in_data = _residual_gains(rbm, data, activity)
    if missing is not None:
        drawn = [-_residual_gains(rbm, V, activity) for V in draws]
        in_data[missing.rows] = np.log(len(drawn)) - logsumexp(drawn, axis=0)
    in_model = _residual_gains(rbm, model, activity)
    values = in_data.mean(axis=0) + logsumexp(-in_model, axis=0) - np.log(len(model))
    return values, activity


def _residual_gains(
    rbm: RBM, V: NDArray, activity: NDArray[np.float64]
) -> NDArray[np.float64]:
    """g_i of each sample, (n_samples, n_hidden)."""
    active = (V @ rbm.weights.T).astype(np.float64) + rbm.hidden_bias
    return np.logaddexp(0.0, active) - activity * active


def grow_by_description_length(
    X: NDArray,
    schedule: Schedule,
    options: DescriptionLengthOptions,
    seed: int,
    report: Report,
) -> GrowthResult:
    """Grow a layer while its units are worth their price; drop those that are not."""
    # A unit is valued beside the others, and units that share a contribution are all
    # missed when dropped one by one. So growth begins with the number of units whose
    # description of the data is the shortest, as far as these can be compared. Steps
    # are counted by the sum of their learning rates, which makes the width depend
    # little on the learning rate and the batch size. Records have ``stage`` ("start",
    # "grow", "drop" or "final"), ``units``, ``steps`` and ``clock``; at a decision also
    # ``price`` and ``paying``, the number of units worth it, else ``epochs``.
    price = unit_price(X, options.unit_cost, schedule.groups)
    growth = DescriptionLengthGrowth(X, schedule, options, seed, report)
    run = growth.start(price)
    limit = None
    while True:
        values, activity = growth.value(run.rbm)
        worthwhile = values > price
        growth.tell(run, "grow", price, worthwhile)
        n_units = run.rbm.n_hidden
        if worthwhile.mean() < options.worthwhile_fraction:
            break
        if n_units >= options.max_units:
            limit = "max_units"
            break
        if growth.is_spent(options.clock):
            limit = "max_steps"
            break
        n_new = min(n_units, options.max_units - n_units)
        further = new_rbm(growth.X, n_new, seed + n_units, schedule.groups)
        wide = growth.train(widened(run, further), "grow", options.clock)
        if not growth.is_likelier(wide.rbm, run.rbm):
            break
        run = wide
    while len(values) > 1 and not worthwhile.all():
        if growth.is_spent(growth.drop_clock):
            limit = limit or "max_steps"
            break
        run = _without_worst(run, values, activity, worthwhile, options.drop_fraction)
        run = growth.train(run, "drop", growth.drop_clock)
        values, activity = growth.value(run.rbm)
        worthwhile = values > price
        growth.tell(run, "drop", price, worthwhile)
    run = growth.descend(run, price)
    if options.final_clock > 0:
        run = growth.train(run, "final", options.final_clock)
    return GrowthResult(run, limit or PAYING_REASON, limit)


def _without_worst(
    run: Run,
    values: NDArray,
    activity: NDArray[np.float64],
    worthwhile: NDArray[np.bool_],
    drop_fraction: float,
) -> Run:
    """Drop the units worth least; their linear part goes to the visible biases."""
    n_drop = min(int(np.sum(~worthwhile)), max(int(drop_fraction * len(values)), 1))
    worst = np.argsort(values)[: min(n_drop, len(values) - 1)]
    kept = np.ones(len(values), bool)
    kept[worst] = False
    folded = run.rbm.visible_bias + activity[worst] @ run.rbm.weights[worst]
    return narrowed(run, kept, folded)


def _entropy(bits: NDArray) -> float:
    """Entropy of the fractions of distinct rows, in nats."""
    packed = np.packbits(bits > 0.5, axis=1)
    counts = np.unique(packed, axis=0, return_counts=True)[1]
    return float(entropy(counts))


def free_lengths(
    rbm: RBM,
    data: NDArray,  # (n_samples, n_visible); bits
    missing: MissingMask | None,
    seed: int,
) -> NDArray[np.float64]:
    """Description lengths of samples in nats, but for the log partition function."""
    # Of all samples, or of some where there are missing values.
    if missing is not None and len(data) > _GROWTH.max_samples_missing:
        rows = np.random.default_rng(seed).permutation(len(data))[
            : _GROWTH.max_samples_missing
        ]
        data, missing = data[rows], missing.take(rows)
    return known_free_energies(rbm, data, missing, seed)


class DescriptionLengthGrowth:
    """Training between decisions, and the samples that decisions are made on."""

    def __init__(
        self,
        X: NDArray,
        schedule: Schedule,
        options: DescriptionLengthOptions,
        seed: int,
        report: Report,
    ) -> None:
        self.X, self.schedule, self.options, self.seed = X, schedule, options, seed
        self.report = report
        self.stream = random_stream(seed + 1)
        self.n_steps = 0
        # Units that stay have little to learn when others go.
        self.drop_clock = options.clock / 3
        self.rng = np.random.default_rng(seed)
        self.data, self.missing = X, schedule.missing
        most = _GROWTH.max_samples_valued
        if self.missing is not None:
            most = _GROWTH.max_samples_valued_missing
        if len(X) > most:
            rows = np.sort(self.rng.permutation(len(X))[:most])
            self.data = X[rows]
            self.missing = self.missing and self.missing.take(rows)
        if schedule.resample:
            probabilities, self.data = self.data, np.empty_like(self.data)
            kernels.bernoulli(probabilities, self.stream, self.data)
        rows = self.rng.choice(len(self.data), options.n_chains)
        self.model = self.data[rows]

    def is_spent(self, clock: float) -> bool:
        """Whether there are not steps enough left for a stage."""
        ahead = self.schedule.steps_of_clock(clock)
        return self.n_steps + ahead > self.options.max_steps

    def start(self, price: float) -> Run:
        """Train RBMs of some few units; return the run of the best one."""
        # The fewest come first, and more are left out where even a perfect description
        # of the data would cost less than they do: no RBM describes samples in fewer
        # nats than the entropy of their empirical distribution.
        options = self.options
        n_units = min(options.n_initial, options.max_units)
        start_price = options.start_fraction * price
        # Of samples that are known.
        floor = _entropy(self.data) if self.missing is None else 0.0
        first, *others = (n_units >> k for k in reversed(range(n_units.bit_length())))
        best = self._train_new(first)
        least = self.description_length(best.rbm, start_price)
        for width in others:
            if self.is_spent(options.clock) or floor + width * start_price >= least:
                break
            run = self._train_new(width)
            length = self.description_length(run.rbm, start_price)
            if length < least:
                best, least = run, length
        return best

    def _train_new(self, width: int) -> Run:
        """Train a new RBM for the first stage."""
        rbm = new_rbm(self.X, width, self.seed, self.schedule.groups)
        run = self.schedule.begin(self.X, rbm, 0, self.seed)
        return self.train(run, "start", self.options.clock)

    def is_likelier(self, rbm: RBM, other: RBM) -> bool:
        """Whether the data are more likely by an RBM than by another."""
        # With more units they should be, and are not where modes are far apart and
        # chains stay in theirs: units that look worthwhile describe modes but not their
        # weights.
        return bool(self._lengths(other).mean() > self._lengths(rbm).mean())

    def descend(self, run: Run, price: float) -> Run:
        """Drop worthwhile units, while those that stay make up for them."""
        # A unit is valued as if the others stayed as they are. Trained further without
        # it they often gain as much, so that the description afterwards decides.
        missed = 0
        best, least = run, self.description_length(run.rbm, price)
        while run.rbm.n_hidden > 1 and missed < _GROWTH.max_misses:
            if self.is_spent(self.drop_clock):
                break
            values, activity = self.value(run.rbm)
            none = np.zeros(len(values), bool)
            fraction = self.options.drop_fraction
            run = _without_worst(run, values, activity, none, fraction)
            run = self.train(run, "drop", self.drop_clock)
            length = self.description_length(run.rbm, price)
            missed += 1
            if length < least:
                best, least, missed = run, length, 0
        return best

    def description_length(self, rbm: RBM, price: float) -> float:
        """Length of the data, in nats per sample; exact for few units of a start."""
        return float(self._lengths(rbm).mean()) + price * rbm.n_hidden

    def _lengths(self, rbm: RBM) -> NDArray[np.float64]:
        """Nats that each sample of the data takes."""
        if rbm.n_hidden <= np.log2(_GROWTH.max_enumerated_numbers / rbm.n_visible):
            log_z = exact_log_partition(rbm).value
        else:
            log_z = annealed_importance_sampling(
                rbm,
                self.data,
                n_temperatures=_GROWTH.n_temperatures,
                random_state=self.seed,
            ).value
        return free_lengths(rbm, self.data, self.missing, self.seed) + log_z

    def train(self, run: Run, stage: str, clock: float) -> Run:
        """Train for a stage."""
        n_steps = self.schedule.steps_of_clock(clock)
        if stage != "final":
            n_steps = min(n_steps, self.options.max_steps - self.n_steps)
        run = prolonged(run, n_steps)
        train(run, self.X, self.schedule, stage, self.report, self.n_steps)
        self.n_steps += run.step
        return run

    def value(self, rbm: RBM) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Value the units, on the data and on samples of the model."""
        # Samples of the model are exact for few units, else of chains that go on from
        # the last time.
        if rbm.n_hidden <= RBM_LIMITS.max_enumerated_units:
            logits = draw_hidden(rbm, len(self.model), self.rng) @ rbm.weights
            bias, groups = rbm.visible_bias, rbm.groups
            draw_visible(logits, bias, groups, self.stream, self.model)
        else:
            gibbs(rbm, self.model, self.options.n_gibbs, self.stream)
        missing = self.missing
        draws = missing.draws(rbm, self.data, self.stream) if missing else ()
        return unit_values(rbm, self.data, self.model, missing, draws)

    def tell(
        self, run: Run, stage: str, price: float, worthwhile: NDArray[np.bool_]
    ) -> None:
        """Report a decision."""
        found = {"price": price, "paying": int(worthwhile.sum())}
        decision(self.report, run, stage, self.n_steps, found)
