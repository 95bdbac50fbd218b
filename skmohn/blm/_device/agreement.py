"""Agreement of an exported network with its estimator, and losses of inputs."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn._core._fitting import warn_caller
from skmohn.blm._device.inputs import InputSpec, float_steps
from skmohn.blm._device.network import Network
from skmohn.blm._labels import Labels

# Fraction of the labels, or R2 of numbers, below which there is a warning.
LEAST: Final = 0.99
# Numbers that are rounded to steps of s lose s^2 / 12 of their variance: so many
# standard deviations are a step that alone makes R2 as low.
_WIDEST = np.sqrt(12.0 * (1.0 - LEAST))


class Agreement(NamedTuple):
    """Agreement of a program's outputs with those of the estimator on some rows."""

    value: float  # fraction of the labels; in regression R2, the least of all outputs
    # In regression, in standard deviations of the estimator's outputs.
    largest_error: float | None
    n_answers: int
    # Classes, or labels, that the estimator predicts and the program never does.
    n_lost: int = 0

    def __str__(self) -> str:
        """Text of one line."""
        n = self.n_answers
        if self.largest_error is None:
            lost = f"; classes lost: {self.n_lost}" if self.n_lost else ""
            return f"{self.value:.2%} of {n} labels are those of the estimator{lost}"
        return (
            f"R2 is {self.value:.5f} for {n} predictions of the estimator, the largest "
            f"error {self.largest_error:.2g} standard deviations"
        )


def compare(
    found: NDArray | list[NDArray],  # of the program
    wanted: NDArray | list[NDArray],  # of the estimator
    network: Network,
) -> Agreement:
    """Compare predictions of a program and of the estimator."""
    if isinstance(found, list):
        found = np.concatenate(found)
    if isinstance(wanted, list):
        wanted = np.concatenate(wanted)
    if network.labels is not None:
        n_lost = _count_lost(found, wanted, network.labels)
        return Agreement(float(np.mean(found == wanted)), None, wanted.size, n_lost)
    n_outputs = network.layout.sizes[-1]
    found, wanted = (part.reshape(-1, n_outputs) for part in (found, wanted))
    # Answers that are all one differ by rounding: then those of the targets count.
    spread, usual = wanted.std(axis=0), network.output_scale
    differences = (found - wanted) / np.where(spread > 1e-9 * usual, spread, usual)
    r2 = 1.0 - np.mean(np.square(differences), axis=0).max()
    return Agreement(float(r2), float(np.abs(differences).max()), wanted.size)


def _count_lost(found: NDArray, wanted: NDArray, labels: Labels) -> int:
    """Number of classes, or labels, that the estimator alone predicts."""
    if labels.multilabel:
        axes = tuple(range(wanted.ndim - 1))
        return int(np.sum(wanted.any(axis=axes) & ~found.any(axis=axes)))
    return len(np.setdiff1d(wanted, found))


def report(
    name: str,  # of what is exported
    agreement: Agreement,
    cures: Sequence[str],  # what may raise it, the likeliest first
) -> None:
    """Print an agreement; warn if it is low, or if a class is lost."""
    print(f"{name}: {agreement}")
    if not agreement.value >= LEAST or agreement.n_lost:
        warn_caller(f"{name}: {agreement}, which is low: {'; '.join(cures)}")


def coarse_numbers(
    reader: InputSpec,
    network: Network,  # its inputs are in the order of the device
    names: Sequence[str],  # of the columns of the table
) -> list[str]:
    """Find inputs and targets that lose most to the steps of their types."""
    # Returned are messages with the cure; none where steps are fine. Networks that do
    # not standardize are not tested.
    columns, mean, spread = _numbers(reader, network, names)
    losses, steps = [], reader.steps(mean, spread) / spread
    if np.any(steps > _WIDEST):
        which = steps.argmax()
        step = f"{steps[which]:.2g} standard deviations of column {columns[which]!r}"
        losses.append(f"input_scale is {step}: make it smaller")
        if reader.kind == "float32":
            losses = [
                f"float32 has steps of {step}, which lies far from zero: subtract a "
                "number near its mean, before fit and on the device"
            ]
    # Those of classes are 0 and 1.
    mean, spread = network.output_mean, network.output_scale
    steps = float_steps(np.abs(mean) + spread) / spread
    if np.any(steps > _WIDEST):
        losses.append(
            f"float32 has steps of {steps.max():.2g} standard deviations of y, which "
            "lies far from zero: subtract a number near its mean before fit, and add "
            "it to the predictions"
        )
    return losses


def cut_inputs(reader: InputSpec, network: Network, names: Sequence[str]) -> list[str]:
    """Find columns whose range exceeds the type of the inputs; see `coarse_numbers`."""
    columns, mean, spread = _numbers(reader, network, names)
    low, high = (end * reader.unit[: len(mean)] for end in reader.ends)
    is_cut = (mean - spread < low) | (mean + spread > high)
    is_cut &= ~reader.are_indicators(len(mean))
    if not is_cut.any():
        return []
    return [
        f"input_type={reader.kind!r} clips numbers of {columns[is_cut].tolist()}, "
        "which are within a standard deviation of the mean: use another input_type, or "
        "a larger input_scale"
    ]


def _numbers(
    reader: InputSpec, network: Network, names: Sequence[str]
) -> tuple[NDArray[np.object_], NDArray[np.float64], NDArray[np.float64]]:
    """Names, means and standard deviations of inputs that are known numbers."""
    n = network.n_numbers if network.is_standardized else 0
    columns = np.array(names, dtype=object)[reader.columns[:n]]
    return columns, network.input_mean[:n], network.input_scale[:n]
