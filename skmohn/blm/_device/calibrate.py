"""Calibration: ranges of inputs and of hidden units."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn.blm._device.emulate_float import in_single, run_float
from skmohn.blm._device.emulate_int import run_int
from skmohn.blm._device.inputs import InputSpec
from skmohn.blm._device.network import UNBOUNDED, Network
from skmohn.blm._device.quantize import IntProgram, quantize


@dataclass(frozen=True)
class CalibrationConstants:
    """Ranges of inputs, sums and outputs of units."""

    # Of classes, squared errors may be so many times as large for shorter code.
    max_error_ratio: float = tuned(1.2, "benchmarks/ablation.py")
    # Rows that decide.
    max_rows: int = tuned(1000, "cost")
    # Inputs, and outputs of hidden units, may be so many times as large as those seen.
    margin: float = tuned(1.25, "benchmarks/ablation.py")
    # With more bits, steps are so fine that inputs need not be clipped for them.
    max_clipped_bits: int = tuned(10, "benchmarks/ablation.py")
    # Standard deviations of inputs, with few bits and with more, and of sums.
    n_stds: float = tuned(4.0, "benchmarks/ablation.py")
    n_stds_fine: float = tuned(8.0, "benchmarks/ablation.py")
    # Where rows are far away, inputs may be clipped as near as this.
    min_n_stds: float = tuned(2.0, "benchmarks/ablation.py")
    # Standard deviations beyond which X is no table of what was learned.
    max_n_stds: float = tuned(1e6, "rounding")


_CALIBRATION = CalibrationConstants()


def calibrated(
    network: Network,
    reader: InputSpec,
    bits: int,
    # (n_rows, n_inputs); in the units of the table. Without them inputs may reach as
    # many standard deviations, or as far as the type does.
    rows: NDArray[np.float64] | None = None,
    lengths: NDArray[np.int64] | None = None,  # (n_sequences,); rows of each
) -> IntProgram:
    """Integer program for the rows that the network will meet."""
    if rows is None:
        clip_range = _rounded(
            _clip_range_unseen(network, reader, bits), network, reader, bits
        )
        return quantize(
            network,
            reader,
            bits,
            clip_range,
            _activation_ranges_unseen(network, clip_range),
        )
    rows, lengths = _first(rows, lengths)
    raw = reader.read(rows)
    expected = run_float(in_single(network, reader), raw, lengths)
    # A row that is off by more than rows differ is lost, by however much it is.
    low, high = np.quantile(expected, [0.05, 0.95], axis=0)
    lost = np.square(np.maximum(high - low, 1e-30))
    best: Any = None
    least = np.inf
    is_short = network.labels is not None and network.activation in UNBOUNDED
    ways = (True, False) if is_short else (False,)
    clip_ranges = _clip_ranges(rows, reader, network, bits)
    for clip_range, by_shifts in itertools.product(clip_ranges, ways):
        activation_ranges = _activation_ranges_seen(
            network, reader, rows, lengths, clip_range
        )
        try:
            program = quantize(
                network, reader, bits, clip_range, activation_ranges, by_shifts
            )
        except ValueError:
            if best is None and clip_range == clip_ranges[-1]:
                raise
            # With finer steps biases and ones of categories are larger still.
            continue
        found = run_int(program, raw, lengths) * program.output_scale
        differences = np.square(found + program.output_offset - expected)
        error = np.mean(np.minimum(differences, lost)) * (
            1.0 if by_shifts else _CALIBRATION.max_error_ratio
        )
        if error < least:
            best, least = program, error
    assert best is not None  # the last range raises otherwise
    return best


def _clip_ranges(
    rows: NDArray, reader: InputSpec, network: Network, bits: int
) -> NDArray[np.floating]:
    """Ranges of the inputs to try: that of all rows, or that of ordinary ones."""
    # What is cut off costs as much as coarse steps do somewhere between.
    inputs = (rows[:, reader.columns] - network.input_mean) / network.input_scale
    # Ones of categories are not cut: only where there is nothing else they decide.
    numbers = inputs[:, : network.n_numbers] if network.n_numbers else network.ones
    _refuse_far(inputs[:, : network.n_numbers], reader, network)
    # Rows that hardly differ have no range of their own.
    least = 1.0 if network.is_standardized else 1e-6
    most = max(float(np.abs(numbers).max()), least)
    most, n, near = (
        (most, 9, _CALIBRATION.min_n_stds)
        if bits <= _CALIBRATION.max_clipped_bits
        else (_CALIBRATION.margin * most, 1, _CALIBRATION.n_stds_fine)
    )
    if network.is_standardized:
        n = max(n, 1 + int(np.ceil(2.0 * np.log2(most / near))))
    clip_ranges = _rounded(most, network, reader, bits) * 2.0 ** (-0.5 * np.arange(n))
    return clip_ranges[::2] if _is_plain(network, reader) else clip_ranges


def _is_plain(network: Network, reader: InputSpec) -> bool:
    """Whether all inputs are numbers of one unit, which no mean is subtracted from."""
    unit = reader.unit / network.input_scale[: network.n_numbers]
    return (
        reader.kind != "float32"
        and network.n_numbers > 0
        and not network.input_mean.any()
        and bool(np.all(unit == unit[0]))
    )


def _rounded(
    clip_range: float, network: Network, reader: InputSpec, bits: int
) -> float:
    """Range, or a larger one for which the device need only shift its inputs."""
    if not _is_plain(network, reader):
        return clip_range
    step = reader.unit[0] / network.input_scale[0] * (2 ** (bits - 1) - 1)
    # A hundredth less does no harm.
    return step * 2.0 ** np.ceil(np.log2(0.99 * clip_range / step))


def _activation_ranges_seen(
    network: Network,
    reader: InputSpec,
    rows: NDArray,
    lengths: NDArray[np.int64],
    clip_range: float,
) -> NDArray[np.float64]:
    """Largest outputs of hidden units on rows that are cut so far from their means."""
    activation_ranges = np.zeros(network.n_layers - 1)
    if network.activation not in UNBOUNDED:
        return activation_ranges + 1.0
    near, columns = rows.copy(), reader.columns[: network.n_numbers]
    mean, width = network.input_mean, network.input_scale * clip_range
    near[:, columns] = np.clip(
        rows[:, columns],
        *((mean + sign * width)[: network.n_numbers] for sign in (-1, 1)),
    )
    run_float(in_single(network, reader), reader.read(near), lengths, activation_ranges)
    # Units that no row wakes may be of any size.
    return np.where(
        activation_ranges > 0.0,
        np.maximum(activation_ranges * _CALIBRATION.margin, 1e-6),
        1.0,
    )


def _refuse_far(
    numbers: NDArray[np.floating], reader: InputSpec, network: Network
) -> None:
    """Refuse numbers so large that ordinary ones round to zero."""
    farthest = np.abs(numbers).max(axis=0)
    is_far = farthest > (_CALIBRATION.max_n_stds if network.is_standardized else 1e30)
    if is_far.any():
        columns = reader.columns[: network.n_numbers][is_far].tolist()
        raise ValueError(
            f"X is up to {farthest.max():.3g} standard deviations away from the mean "
            f"in fit, in columns {columns}, so that integers cannot resolve ordinary "
            "inputs: pass rows like those that the device will read, in the units of "
            "the table"
        )


def _first(
    rows: NDArray, lengths: NDArray[np.int64] | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Select the first rows, of whole sequences as far as possible."""
    n = len(rows) if len(rows) <= _CALIBRATION.max_rows else _CALIBRATION.max_rows
    ends = np.minimum(np.cumsum([len(rows)] if lengths is None else lengths), n)
    lengths = np.diff(ends, prepend=0)
    return rows[:n], lengths[lengths > 0]


def _clip_range_unseen(network: Network, reader: InputSpec, bits: int) -> float:
    if not network.n_numbers:
        return float(network.ones.max())
    if network.is_standardized:
        is_coarse = bits <= _CALIBRATION.max_clipped_bits
        return _CALIBRATION.n_stds if is_coarse else _CALIBRATION.n_stds_fine
    if reader.kind == "float32":
        raise ValueError(
            "the range of the inputs is not known: pass X, rows like those that the "
            'device will read, or use input_type="int16" with an input_scale'
        )
    return reader.largest(network)


def _activation_ranges_unseen(
    network: Network, clip_range: float
) -> NDArray[np.float64]:
    """Largest outputs of hidden units, if inputs are independent."""
    if network.activation not in UNBOUNDED:
        return np.ones(network.n_layers - 1)
    if network.layout.recurrent:
        raise ValueError(
            f'the range of units with activation="{network.activation}" depends on the '
            "sequences that a recurrent network reads: pass X, some of them"
        )
    size, activation_ranges = 1.0 if network.is_standardized else clip_range / 2.0, []
    for depth in range(network.n_layers - 1):
        squares = [
            np.square(member[depth].biases / size)
            + np.square(member[depth].weights).sum(axis=1)
            for member in network.members
        ]
        size *= network.steps[depth] * np.sqrt(np.max(squares))
        activation_ranges.append(max(_CALIBRATION.n_stds * size, 1e-6))
        size = max(size, 1e-6)
    return np.array(activation_ranges)
