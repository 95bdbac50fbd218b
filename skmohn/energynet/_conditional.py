"""Samples with unknown values: means over all that the values could be."""

# An unknown value could be any state of the visible units of its column: both of a bit,
# each level of a thermometer, each category. Given the known units of a sample, the
# first layer is an RBM of the unknown ones, whose hidden biases hold what the known
# ones say: means and sums over all completions are those of this RBM. Numbers that are
# whitened are drawn given one another instead, and the draws weighed by the RBM.

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import check_random_state, check_scalar

from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._validation import require_memory
from skmohn.energynet._coding import UnitCoding
from skmohn.energynet._features import batches
from skmohn.energynet._groups import list_states, unit_probabilities
from skmohn.energynet._missing import (
    MissingMask,
    MissingValueChains,
    enumerated_exponents,
    have_few_completions,
    known_free_energies,
)
from skmohn.energynet._rbm import RBM, RBM_LIMITS, draw_visible, hidden_means, sides_of
from skmohn.energynet._table import Encoded, Table
from skmohn.energynet._whitening import WHITENING, ImportanceSamples


@dataclass(frozen=True)
class ConditionalConstants:
    """Sums over what is unknown of a sample, and chains where they are too long."""

    # Completions of a sample, or states of the hidden units, that are summed over.
    max_completions: int = tuned(4096, "cost")
    # Where there are more of both: chains of each sample, their steps before and
    # between states that are averaged, and the number of these.
    n_chains: int = tuned(10, "benchmarks/ablation.py")
    n_burn_in: int = tuned(50, "benchmarks/ablation.py")
    n_thinning: int = tuned(5, "benchmarks/ablation.py")
    n_averaged: int = tuned(20, "benchmarks/ablation.py")
    # Completions to choose each draw from: few would be drawn again and again.
    n_completions_per_draw: int = tuned(5, "benchmarks/ablation.py")
    # Numbers that are in memory at once.
    max_numbers: int = tuned(5_000_000, "cost")


_CONDITIONAL = ConditionalConstants()


def condition_on(
    rbm: RBM,  # the first layer
    units: NDArray,  # (n_units,); values of unknown ones are ignored
    unknown: NDArray[np.bool_],
) -> RBM:
    """RBM of the unknown visible units of a sample, given the others."""
    known = np.where(unknown, 0.0, units)
    groups = rbm.groups and rbm.groups.within(unknown)
    return RBM(
        rbm.weights[:, unknown],
        rbm.hidden_bias + rbm.weights.astype(np.float64) @ known,
        rbm.visible_bias[unknown],
        groups,
    )


def enumerate_means(rbm: RBM) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means of the units of an RBM that has few states on either side."""
    sides = sides_of(rbm)
    n_visible, n_hidden = (side.n_states for side in sides)
    if n_visible <= n_hidden:
        visible = list_states(sides[0], 0, n_visible)
        hidden = rbm.hidden_probabilities(visible)
        weights = softmax(-rbm.free_energy(visible))
    else:
        hidden = list_states(sides[1], 0, n_hidden)
        visible = rbm.visible_probabilities(hidden)
        weights = softmax(rbm.log_hidden_marginal(hidden))
    return weights @ visible, weights @ hidden


def _means_of_chains(
    rbm: RBM, units: NDArray, unknown: NDArray[np.bool_], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means of the units of incomplete samples, by chains over their missing values."""
    # The chains of each sample use the same random numbers, so that its means do not
    # depend on the other samples.
    n_samples = len(units)
    streams: NDArray = np.random.SeedSequence(seed).generate_state(
        _CONDITIONAL.n_chains, np.uint64
    )
    chains = MissingValueChains(
        rbm, units, unknown, np.tile(streams, n_samples), _CONDITIONAL.n_chains
    )
    chains.step(_CONDITIONAL.n_burn_in)
    visible, hidden = np.zeros(units.shape), np.zeros((n_samples, rbm.n_hidden))
    for _ in range(_CONDITIONAL.n_averaged):
        chains.step(_CONDITIONAL.n_thinning)
        for total, mean in zip((visible, hidden), chains.means(), strict=True):
            of_samples = mean.reshape(n_samples, _CONDITIONAL.n_chains, -1)
            total += of_samples.mean(axis=1) / _CONDITIONAL.n_averaged
    return visible, hidden


def expect_missing(
    rbm: RBM, coding: UnitCoding, encoded: Encoded, seed: int
) -> tuple[NDArray, NDArray, dict[int, NDArray]]:
    """Means over completions of whitened values, of visible and of hidden units."""
    # Returned are the values, in which only those that are whitened are filled; the
    # units; and for each incomplete row its mean hidden probabilities. `rbm` is the
    # first layer, the seed that of chains where both sides have too many states for a
    # sum.
    if not np.isnan(encoded.values).any():
        return encoded.values, encoded.units, {}
    if coding.whitening is not None:
        return _expect_numbers(rbm, coding, encoded, seed)
    return encoded.values, *_expect_units(rbm, encoded, seed)


def _expect_units(
    rbm: RBM, encoded: Encoded, seed: int
) -> tuple[NDArray, dict[int, NDArray]]:
    """Visible units with means of those that are missing, and hidden means."""
    visible, hidden = encoded.units.astype(np.float64), {}
    missing = encoded.missing
    if missing is not None:
        rows = missing.rows
        unknown = missing.unknown_at(rows)
        known = np.where(unknown, np.float32(0.0), encoded.units[rows])
        means, of_hidden = _means_of_missing(rbm, known, unknown, seed)
        visible[rows] = np.where(unknown, means, visible[rows])
        hidden = dict(zip(rows.tolist(), of_hidden, strict=True))
    return visible, hidden


def _expect_numbers(
    rbm: RBM, coding: UnitCoding, encoded: Encoded, seed: int
) -> tuple[NDArray, NDArray, dict[int, NDArray]]:
    """Expect values by draws of whitened numbers, whose means they then have."""
    X, hidden = encoded.values.astype(np.float64), {}
    visible = encoded.units.astype(np.float64)
    for rows, drawn, log_density in importance_sample(rbm, coding, X, seed):
        weights = drawn.normalized_weights(log_density)
        of_draws, known = _expect_units(rbm, Encoded.of(drawn.table, coding), seed)
        states = hidden_means(rbm, of_draws.astype(np.float32)).astype(np.float64)
        if known:
            states[list(known)] = list(known.values())
        visible[rows] = drawn.means(of_draws, weights)
        means = drawn.means(states, weights)
        hidden |= dict(zip(rows.tolist(), means, strict=True))
        # Other columns may be missing in the draws, too. Powers take draws far out, by
        # which means over few would go.
        table, columns = X[rows], coding.whitened_columns
        plausible = coding.within_range(drawn.table)[:, columns]
        table[:, columns] = drawn.means(plausible, weights)
        X[rows] = np.where(np.isnan(X[rows]), table, X[rows])
    return X, visible, hidden


def importance_sample(
    rbm: RBM,  # the first layer
    coding: UnitCoding,  # with a whitening
    X: NDArray,
    seed: int,
    n_completions: int = WHITENING.n_completions,  # draws of each row
) -> Iterator[tuple[NDArray[np.intp], ImportanceSamples, NDArray[np.float64]]]:
    """Draw whitened numbers in incomplete rows, some rows at once."""
    # Yielded are some of the rows with NaN; their draws, in which other columns still
    # have NaN; and the log-densities of the draws by the RBM, up to a constant,
    # (n_draws,).
    whitening = coding.whitening
    if whitening is None:
        return
    incomplete = np.flatnonzero(np.isnan(X).any(axis=1))
    for part in _in_parts(len(incomplete), n_completions * X.shape[1]):
        rows = incomplete[part]
        drawn = ImportanceSamples.of(whitening, X[rows], n_completions, seed)
        encoded = Encoded.of(drawn.table, coding)
        energies = known_free_energies(
            rbm, np.rint(encoded.units), encoded.missing, seed,
            common_random_numbers=True,
        )  # fmt: skip
        yield rows, drawn, coding.log_density(drawn.table) - energies


def _means_of_missing(
    rbm: RBM, known: NDArray, unknown: NDArray[np.bool_], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means of the visible and of the hidden units, each way where it can be gone."""
    visible, hidden = np.empty(known.shape), np.empty((len(known), rbm.n_hidden))
    if rbm.n_hidden <= RBM_LIMITS.max_enumerated_units:
        for part in _in_parts(len(known), 2**rbm.n_hidden):
            visible[part], hidden[part] = _listed(rbm, known[part], unknown[part])
        return visible, hidden
    is_short = have_few_completions(rbm, unknown, _CONDITIONAL.max_completions)
    for row in np.flatnonzero(is_short):
        conditional = condition_on(rbm, known[row], unknown[row])
        visible[row, unknown[row]], hidden[row] = enumerate_means(conditional)
    (rest,) = np.nonzero(~is_short)
    for part in _in_parts(len(rest), _CONDITIONAL.n_chains * rbm.n_visible):
        at = rest[part]
        visible[at], hidden[at] = _means_of_chains(rbm, known[at], unknown[at], seed)
    return visible, hidden


def _listed(
    rbm: RBM, known: NDArray, unknown: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means over all states of the hidden units."""
    exponent, states, logits = enumerated_exponents(rbm, known, unknown)
    weights = softmax(exponent, axis=1)
    groups = sides_of(rbm)[0]
    return weights @ unit_probabilities(logits, groups), weights @ states


def _in_parts(n_rows: int, width: int) -> Iterator[slice]:
    """Rows that are worked on at once."""
    n_at_once = max(_CONDITIONAL.max_numbers // width, 1)
    return equal_slices(n_rows, n_at_once)


def impute(
    rbm: RBM, coding: UnitCoding, table: Table, strategy: str, seed: int
) -> NDArray:
    """Fill missing values of a table with expected or most probable ones."""
    # The strategy is "mean" or "mode", the seed as of :func:`expect_missing`.
    if strategy not in ("mean", "mode"):
        raise ValueError(f'strategy must be "mean" or "mode", got {strategy!r}')
    blocks = []
    for rows in batches(table):
        values = table.values[rows]
        if strategy == "mode" and coding.whitening is not None:
            values = _likeliest_numbers(rbm, coding, values, seed)
        encoded = Encoded.of(values, coding, table.names)
        completed, visible, _ = expect_missing(rbm, coding, encoded, seed)
        if strategy == "mode":
            visible = coding.modes(visible)
        completed = coding.within_range(coding.complete(completed, visible))
        # Means may be out of the range by a rounding.
        blocks.append(np.where(np.isnan(values), completed, values))
    return np.concatenate(blocks)


def _likeliest_numbers(rbm: RBM, coding: UnitCoding, X: NDArray, seed: int) -> NDArray:
    """Fill whitened numbers of a table with the most probable of draws."""
    X = X.astype(np.float64)
    for rows, found, density in importance_sample(rbm, coding, X, seed):
        likeliest = coding.within_range(found.table[found.largest(density)])
        X[rows] = np.where(np.isnan(X[rows]), likeliest, X[rows])
    return X


def sample_missing(
    rbm: RBM,
    coding: UnitCoding,
    table: Table,
    n_draws: int,
    random_state: int | np.random.RandomState | None,
) -> NDArray:
    """Draw missing values given the known ones, (n_draws, n_samples, n_features)."""
    X = table.values
    check_scalar(n_draws, "n_draws", Integral, min_val=1)
    require_memory(
        8.0 * n_draws * X.size, f"{n_draws} completed tables", "draw fewer at once"
    )
    seed = check_random_state(random_state).randint(2**31 - 1)
    rng = np.random.default_rng(seed)
    tables = np.repeat(X[None], n_draws, axis=0)
    if coding.whitening is not None:
        tables = tables.astype(np.float64)
        n_drawn = max(
            WHITENING.n_completions, _n_to_choose_from(rbm, coding, X, n_draws)
        )
        for rows, found, log_density in importance_sample(
            rbm, coding, X, seed, n_drawn
        ):
            weights = found.normalized_weights(log_density)
            uniforms = _spread_uniforms((len(rows), n_draws), rng)
            for filled, uniform in zip(tables, uniforms.T, strict=True):
                filled[rows] = found.table[found.chosen(weights, uniform)]
    flat = tables.reshape(-1, X.shape[1])
    missing = MissingMask.of(flat, coding.n_units)
    if missing is not None:
        is_listed = rbm.n_hidden <= RBM_LIMITS.max_enumerated_units
        width = max(rbm.n_visible, 2**rbm.n_hidden if is_listed else 0)
        incomplete = missing.rows
        for part in _in_parts(len(incomplete), width):
            rows = incomplete[part]
            unknown = missing.unknown_at(rows)
            units = coding.encode(flat[rows], table.names)
            bits = (rng.random(units.shape) < units).astype(np.float32)
            known = np.where(unknown, np.float32(0.0), bits)
            values = coding.draw(_draw_missing(rbm, known, unknown, rng), rng)
            flat[rows] = np.where(np.isnan(flat[rows]), values, flat[rows])
    # What never varies is known.
    constant = coding.decode(np.zeros((1, rbm.n_visible)))
    tables = np.where(np.isnan(tables), constant, tables)
    return np.where(np.isnan(X), coding.within_range(tables), tables)


def _n_to_choose_from(rbm: RBM, coding: UnitCoding, X: NDArray, n_draws: int) -> int:
    """Candidate completions of a row."""
    others = np.delete(X, coding.whitened_columns, axis=1)
    if rbm.n_hidden > RBM_LIMITS.max_enumerated_units and np.isnan(others).any():
        # Each is weighed by annealing.
        return n_draws
    return _CONDITIONAL.n_completions_per_draw * n_draws


def _spread_uniforms(
    shape: tuple[int, int], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Uniform random numbers, those of a row spread evenly."""
    # So what they choose repeats no more than it must.
    order = rng.permuted(np.broadcast_to(np.arange(shape[1]), shape), axis=1)
    return (order + rng.random(shape)) / shape[1]


def _draw_missing(
    rbm: RBM, known: NDArray, unknown: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray:
    """Visible units of incomplete samples, (n_samples, n_visible)."""
    streams = rng.integers(0, 2**63, len(known)).astype(np.uint64)
    if rbm.n_hidden <= RBM_LIMITS.max_enumerated_units:
        exponent, states, _ = enumerated_exponents(rbm, known, unknown)
        cumulative = np.cumsum(softmax(exponent, axis=1), axis=1)
        uniform = rng.random((len(known), 1)) * cumulative[:, -1:]
        chosen = states[np.minimum((cumulative < uniform).sum(axis=1), len(states) - 1)]
        logits = chosen.astype(np.float32) @ rbm.weights
        V = np.empty_like(logits)
        draw_visible(logits, rbm.visible_bias, rbm.groups, streams, V)
        return V
    is_short = have_few_completions(rbm, unknown, _CONDITIONAL.max_completions)
    V = known.copy()
    V[is_short] = _draw_completions(rbm, known[is_short], unknown[is_short], rng)
    if not is_short.all():
        long = known[~is_short], unknown[~is_short], streams[~is_short]
        chains = MissingValueChains(rbm, *long, 1)
        chains.step(_CONDITIONAL.n_burn_in)
        V[~is_short] = chains.V
    return V


def _draw_completions(
    rbm: RBM, known: NDArray, unknown: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray:
    """Visible units of samples with few completions, by the probabilities of these."""
    # They are listed once for all draws of a sample.
    V, table = known.copy(), np.hstack([known, unknown])
    _, copy_of, counts = np.unique(
        table, axis=0, return_inverse=True, return_counts=True
    )
    order = np.argsort(copy_of.ravel(), kind="stable")
    for copies in np.split(order, np.cumsum(counts)[:-1]) if len(known) else ():
        of_copies = unknown[copies[0]]
        conditional = condition_on(rbm, known[copies[0]], of_copies)
        groups = sides_of(conditional)[0]
        states = list_states(groups, 0, groups.n_states)
        p = softmax(-conditional.free_energy(states))
        V[np.ix_(copies, of_copies)] = states[rng.choice(len(p), len(copies), p=p)]
    return V


def enumerate_completions(
    coding: UnitCoding,
    units: NDArray,  # (n_units,); values of unknown ones are ignored
    unknown: NDArray[np.bool_],
    row: int,  # number of the sample, for errors
) -> NDArray:
    """List the possible states of the visible units of an incomplete sample."""
    # Returned are (n_completions, n_units). More than 4096 raise a ValueError.
    groups = coding.groups.within(unknown)
    n_completions = groups.n_states
    if n_completions > _CONDITIONAL.max_completions:
        raise ValueError(
            f"sample {row} of X has NaN in {len(groups.sizes)} columns that vary, "
            f"which could be completed in {n_completions} ways, but the likelihood of "
            f"several layers sums over at most {_CONDITIONAL.max_completions}: impute "
            "first or lower n_bins"
        )
    states = np.repeat(units[None], n_completions, axis=0)
    states[:, unknown] = list_states(groups, 0, n_completions)
    return states
