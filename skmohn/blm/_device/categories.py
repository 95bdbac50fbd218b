"""Categories by number, as a device is given them; to the network they are ones."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Categories(NamedTuple):
    """Categories of inputs, and the values of their ones in the first layer."""

    sizes: tuple  # categories of each input
    # (n_categories,); a one in units of the first layer, for each category of each
    # input in turn.
    factors: np.ndarray

    def expand(
        self,
        # (n_rows, n_inputs); any that is below 0, or not below the number of
        # categories, stands for none.
        numbers: NDArray,
    ) -> NDArray:
        """Convert numbers of categories to inputs, (n_rows, n_categories)."""
        # They are zeros, but for the factor of a row's category.
        inputs, first = np.zeros((len(numbers), len(self.factors))), 0
        inputs = inputs.astype(self.factors.dtype)
        for given, size in zip(numbers.T, self.sizes, strict=True):
            known = np.flatnonzero((given >= 0) & (given < size))
            picked = first + given[known].astype(np.int64)
            inputs[known, picked] = self.factors[picked]
            first += size
        return inputs


def numbers_of(
    table: NDArray,  # (n_rows, n_categories)
    columns: NDArray[np.integer],  # (n_categories,); column numbers for a message
    sizes: Sequence[int],
) -> NDArray[np.int64]:
    """Convert ones and zeros to numbers of categories, (n_rows, n_inputs)."""
    # The number of categories where a row has none.
    numbers, first = np.empty((len(table), len(sizes)), dtype=np.int64), 0
    for column, size in enumerate(sizes):
        group = table[:, first : first + size]
        wrong = np.any((group != 0.0) & (group != 1.0), axis=1) | (group.sum(1) > 1.0)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"columns {columns[first : first + size].tolist()} of one_hot must be "
                f"0, except for one that is 1; in row {row} of X they are "
                f"{group[row].tolist()}"
            )
        numbers[:, column] = np.where(group.any(axis=1), group.argmax(axis=1), size)
        first += size
    return numbers
