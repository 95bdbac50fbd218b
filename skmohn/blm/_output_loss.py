"""Loss of the user that takes the outputs of all samples at once."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn._core._numba import make_callback, view_pointer
from skmohn.blm import _kernels as kernels


class OutputLoss:
    """Loss of all targets and outputs, as kernels call it."""

    def __init__(
        self,
        function: Callable[..., float],
        y: NDArray[np.float32],  # (n_samples, n_outputs)
        # (n_samples,); zero where an output has no target.
        sample_weight: NDArray[np.float32],
    ) -> None:
        self._function = function
        self._kept = np.flatnonzero(sample_weight > 0)
        self._n_outputs = y.shape[1]
        self._y = self._in_form(y.T.astype(np.float64))
        self._params = _read_weights(function, sample_weight[self._kept])
        # What the function has raised: no exception passes through compiled code.
        self._error: BaseException | None = None
        # Kernels have the address alone: this object has to outlive their calls.
        self.address, self._callback = make_callback(self._evaluate, kernels.LOSS)

    def raise_error(self) -> None:
        """Raise what the function has raised, if anything."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _in_form(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows of outputs as the user sees them, a column for each of several."""
        return rows[0, self._kept] if self._n_outputs == 1 else rows[:, self._kept].T

    def _evaluate(self, t: Any, rows: Any, *arguments: Any) -> float:
        """Call the function with rows of a network: a C function as `LOSS` is."""
        n_samples = arguments[4]
        if self._error is not None:
            return np.nan
        try:
            picked = view_pointer(rows, np.int64, 0, self._n_outputs)
            outputs = [
                view_pointer(t, np.float32, int(row) * n_samples, n_samples)
                for row in picked
            ]
            outputs = self._in_form(np.array(outputs, dtype=np.float64))
            return float(self._function(self._y, outputs, **self._params))
        except BaseException as error:
            self._error = error
            return np.nan


def _read_weights(
    function: Callable[..., float], sample_weight: NDArray[np.float32]
) -> dict[str, Any]:
    """Weights of samples for a function, if they differ."""
    if np.all(sample_weight == sample_weight[0]):
        return {}
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some compiled functions have none to look at
        parameters = {"sample_weight": None}
    if "sample_weight" not in parameters:
        raise ValueError(
            "the weights of samples differ (sample_weight, class_weight): a loss of "
            "all outputs needs a parameter sample_weight then"
        )
    return {"sample_weight": sample_weight.astype(np.float64)}
