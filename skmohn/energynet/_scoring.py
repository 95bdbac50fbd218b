"""Log-likelihoods of samples, by fitted layers and by layers in training."""

# Those of fitted layers are the same whatever samples are beside them.

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from skmohn._core._fitting import one_blas_thread
from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._coding import UnitCoding
from skmohn.energynet._conditional import enumerate_completions
from skmohn.energynet._likelihood import known_log_likelihoods, stack_log_likelihood
from skmohn.energynet._missing import MISSING, MissingMask, known_free_energies
from skmohn.energynet._partition import LogPartition, log_partition
from skmohn.energynet._portfolio import LAYERS, DensityPortfolio, read_states
from skmohn.energynet._rbm import RBM, draw_stream, random_stream
from skmohn.energynet._stack import MakeStack
from skmohn.energynet._table import Encoded
from skmohn.energynet._tree_mixture import TreeMixture
from skmohn.energynet._whitening import WHITENING, ImportanceSamples


@dataclass(frozen=True)
class ScoringConstants:
    """Draws by which samples are scored."""

    # Draws of the bits of a sample that is given as probabilities.
    n_bit_draws: int = tuned(10, "benchmarks/ablation.py")
    # Annealing over the missing values of a sample: chains and temperatures.
    n_chains: int = tuned(20, "benchmarks/ablation.py")
    n_temperatures: int = tuned(300, "benchmarks/ablation.py")
    # Samples whose unknown numbers are drawn at once.
    n_rows_per_batch: int = tuned(256, "cost")
    # Of a monitor: samples that stand for all, and most temperatures.
    n_monitored: int = tuned(2000, "cost")
    max_monitor_temperatures: int = tuned(1000, "cost")


_SCORING = ScoringConstants()


@one_blas_thread
def log_likelihoods(
    rbms: Sequence[RBM],
    # (n_samples, n_units), float32; in [0, 1]; of probabilities the mean is taken over
    # bits drawn with them.
    units: NDArray,
    log_z: float,  # log partition function of the top RBM
    n_draws: int,  # of hidden units for each sample; a single layer needs none
    seed: int,
) -> NDArray[np.float64]:
    """Estimate the log-likelihood of samples under a stack, in nats."""
    uncertain = _are_uncertain(units)
    found = np.empty(len(units))
    arguments = log_z, n_draws, seed
    found[~uncertain] = _of_bits(rbms, units[~uncertain], *arguments)
    if uncertain.any():
        found[uncertain] = np.mean(
            [
                _of_bits(rbms, bits, *arguments)
                for bits in _drawn(units[uncertain], seed)
            ],
            axis=0,
        )
    return found


@one_blas_thread
def marginal_log_likelihood(
    rbms: Sequence[RBM],
    states: NDArray,  # (n_completions, n_units), float32
    log_z: float,
    n_draws: int,
    seed: int,
) -> float:
    """Estimate the log-likelihood of the known values of an incomplete sample."""
    # The logarithm of the sum of the probabilities of all completions, in nats. See
    # :func:`log_likelihoods` for the other parameters.
    drawn = _drawn(states, seed) if _are_uncertain(states).any() else [states]
    found: list[Any] = [
        logsumexp(_of_bits(rbms, bits, log_z, n_draws, seed)) for bits in drawn
    ]
    return float(np.mean(found))


@dataclass(frozen=True)
class Scorer:
    """Scorer of samples, complete or not, by a fitted stack."""

    rbms: list[RBM]  # from the bottom to the top
    coding: UnitCoding
    n_draws: int  # for stacks, and for missing values, as `seed`
    seed: int
    log_partition: LogPartition | None  # of the top RBM; None where it does not count
    portfolio: DensityPortfolio | None  # members beside the layers; None for none

    def score(
        self, encoded: Encoded, first: int, unseen: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Estimate the log-likelihood of known values of rows, in the units of X."""
        # The number of the first row is for errors. `unseen` is where a value is NaN
        # for a category that was not there in fit.
        known = self._of_known(encoded, first)
        found = known.copy()
        for j in np.flatnonzero(unseen.any(axis=0)).tolist():
            rows = np.flatnonzero(unseen[:, j])
            least = np.full(len(rows), np.inf)
            for category in self.coding.levels[j]:
                values = encoded.values[rows]
                values[:, j] = category
                of_category = Encoded.of(values, self.coding)
                least = np.minimum(least, self._of_known(of_category, first))
            # At most half as likely as any that was seen.
            least -= known[rows] + np.log(2.0)
            found[rows] += np.minimum(least, self.coding.log_unseen[j])
        return found

    def _of_known(self, encoded: Encoded, first: int) -> NDArray[np.float64]:
        """Score known values, except categories that were not there in fit."""
        X, whitening = encoded.values, self.coding.whitening
        if whitening is None or not np.isnan(X).any():
            return self._score(encoded, np.arange(first, first + len(X)))
        found = np.empty(len(X))
        for rows in equal_slices(len(X), _SCORING.n_rows_per_batch):
            drawn = ImportanceSamples.of(
                whitening, X[rows], WHITENING.n_completions, self.seed
            )
            numbers = first + rows.start + drawn.rows
            of_draws = Encoded.of(drawn.table, self.coding)
            found[rows] = drawn.log_means(self._score(of_draws, numbers))
        return found

    def _score(
        self, encoded: Encoded, numbers: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Score rows without missing whitened numbers; rows have numbers."""
        density = self.coding.log_density(encoded.values)
        if self.portfolio is None or not self.portfolio.trees:
            return self._by_layers(encoded, numbers) + density
        found = self._by_trees(self.portfolio.trees, encoded)
        if self.portfolio.has_layers:
            found[LAYERS] = self._by_layers(encoded, numbers)
        return self.portfolio.mix(found) + density

    @one_blas_thread
    def _by_trees(
        self, trees: dict[str, TreeMixture], encoded: Encoded
    ) -> dict[str, NDArray[np.float64]]:
        """Log-likelihoods of the known units of rows by each member of trees."""
        arranged = replace(encoded, units=encoded.units.copy()).arrange(self.coding)
        units, groups = arranged.units, arranged.groups
        drawn = _drawn(units, self.seed) if _are_uncertain(units).any() else [units]
        states = [read_states(bits, arranged.missing, groups) for bits in drawn]
        return {
            name: np.mean([tree.log_likelihood(of) for of in states], axis=0)
            for name, tree in trees.items()
        }

    def _by_layers(
        self, encoded: Encoded, numbers: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Log-likelihoods of the known units of rows by the stack."""
        units, missing = encoded.units, encoded.missing
        assert self.log_partition is not None
        log_z = self.log_partition.value
        options = log_z, self.n_draws, self.seed
        if missing is None:
            return log_likelihoods(self.rbms, units, *options)
        found, rows = np.empty(len(units)), missing.rows
        complete = missing.index < 0
        found[complete] = log_likelihoods(self.rbms, units[complete], *options)
        unknown = missing.unknown_at(rows)
        if len(self.rbms) == 1:
            known = np.where(unknown, np.float32(0.0), units[rows])
            found[rows] = -log_z - self._free_energies(known, missing.take(rows))
        else:
            for row, of_row in zip(rows.tolist(), unknown, strict=True):
                states = enumerate_completions(
                    self.coding, units[row], of_row, int(numbers[row])
                )
                found[row] = marginal_log_likelihood(self.rbms, states, *options)
        return found

    def _free_energies(
        self, known: NDArray, missing: MissingMask | None
    ) -> NDArray[np.float64]:
        """Free energies of the known values, averaged over uncertain bits."""
        is_uncertain = _are_uncertain(known).any()
        drawn = _drawn(known, self.seed) if is_uncertain else [known]
        energies = [
            known_free_energies(
                self.rbms[0], bits, missing, self.seed, n_chains=_SCORING.n_chains,
                n_temperatures=_SCORING.n_temperatures, common_random_numbers=True,
            )
            for bits in drawn
        ]  # fmt: skip
        return np.mean(energies, axis=0)


def _are_uncertain(units: NDArray) -> NDArray[np.bool_]:
    """Mask of samples that are probabilities rather than bits."""
    return ((units > 0.0) & (units < 1.0)).any(axis=1)


def _drawn(units: NDArray, seed: int) -> Iterator[NDArray]:
    """Bits, drawn several times with numbers that are the same for all samples."""
    # They are spread evenly.
    first = np.random.default_rng(seed).random(units.shape[1])
    for k in range(_SCORING.n_bit_draws):
        draw = (first + k / _SCORING.n_bit_draws) % 1.0
        yield (units > draw).astype(np.float32)


def _of_bits(
    rbms: Sequence[RBM], bits: NDArray, log_z: float, n_draws: int, seed: int
) -> NDArray[np.float64]:
    if len(rbms) > 1:
        stream = draw_stream(seed)
        return stack_log_likelihood(
            rbms, bits, log_z, n_draws, stream, common_random_numbers=True
        )
    (rbm,) = rbms
    # In double precision: the order of the samples does not show.
    bits = bits.astype(np.float64)
    active = bits @ rbm.weights.T.astype(np.float64) + rbm.hidden_bias
    return bits @ rbm.visible_bias + np.logaddexp(0.0, active).sum(axis=1) - log_z


class Monitor:
    """Measurements that complete the records of layers while they are trained."""

    def __init__(
        self,
        # Added to the entries of records with these names, which are then in the units
        # of the columns.
        within: dict[str, float],
        every: int | None,  # epochs between measurements; None for none
        # Visible units of samples, (n_samples, n_units), float32 in [0, 1], and their
        # missing values; by the name of their log-likelihood. Where there are more than
        # 2000 samples, some stand for all; of probabilities bits are drawn once.
        tables: Mapping[str, tuple[NDArray, MissingMask | None]],
        n_temperatures: int,  # for partition functions; at most 1000 are taken
        n_draws: int,  # for stacks
        seed: int,
    ) -> None:
        self.within, self.every = within, every
        if every is not None:
            self.bits = {n: _some_bits(*table, seed) for n, table in tables.items()}
        self.n_temperatures = min(n_temperatures, _SCORING.max_monitor_temperatures)
        self.n_draws, self.seed = n_draws, seed

    @classmethod
    def of(
        cls,
        net: Any,
        coding: UnitCoding,
        tables: Mapping[str, Encoded],
        weight: float,
        seed: int,
    ) -> Self:
        """Make a monitor for a transformer, of which only parameters are read."""
        # Tables are in the layout to learn from, by the name of their log-likelihood;
        # `weight` is the factor of the mean log-likelihood in a description length.
        if len(tables) > 1 and net.monitor is None:
            raise ValueError(
                "X_val needs monitor, the number of epochs between recorded "
                "log-likelihoods, but monitor is None"
            )
        within = {
            name: float(coding.log_density(table.values).mean())
            for name, table in tables.items()
        }
        within["description_length"] = -weight * within["log_likelihood"]
        units = {name: (table.units, table.missing) for name, table in tables.items()}
        options = net.n_temperatures, net.n_draws, seed
        return cls(within, net.monitor, units, *options)

    def watch(self, report: Callable[..., bool]) -> Callable[..., bool]:
        """Wrap a report, as of `StackTrainer.build`, to complete its records."""
        # Added are the number of the ``epoch``, if anything is measured, now and then
        # the mean log-likelihoods; all are in the units of the columns.
        epoch = 0

        def tell(record: dict[str, Any], make_rbms: MakeStack) -> bool:
            nonlocal epoch
            # Neither a decision nor the sum of a layer.
            if self.every is not None and "epochs" in record:
                before, epoch = epoch, epoch + record["epochs"]
                record = record | {"epoch": epoch}
                if epoch // self.every > before // self.every:
                    record |= self.measure(make_rbms())
            further = {
                name: float(record[name] + shift)
                for name, shift in self.within.items()
                if name in record
            }
            return report(record | further, make_rbms)

        return tell

    def measure(self, rbms: Sequence[RBM]) -> dict[str, float]:
        """Mean log-likelihood of the samples of each table."""
        inputs = next(iter(self.bits.values()))[0]
        for rbm in rbms[:-1]:
            inputs = rbm.hidden_probabilities(inputs)
        log_z = log_partition(
            rbms[-1], inputs, n_temperatures=self.n_temperatures, random_state=self.seed
        )
        found = {}
        for name, (bits, missing) in self.bits.items():
            if missing is not None:
                missing.burn_in(
                    rbms[0], bits, MISSING.n_burn_in, random_stream(self.seed)
                )
            options = log_z, self.n_draws, self.seed
            found[name] = float(
                known_log_likelihoods(rbms, bits, missing, *options).mean()
            )
        return found


def _some_bits(
    X: NDArray, missing: MissingMask | None, seed: int
) -> tuple[NDArray, MissingMask | None]:
    rows = np.sort(
        np.random.default_rng(seed).permutation(len(X))[: _SCORING.n_monitored]
    )
    probabilities = X[rows]
    bits = np.empty_like(probabilities)
    kernels.bernoulli(probabilities, random_stream(seed), bits)
    return bits, missing and missing.take(rows)
