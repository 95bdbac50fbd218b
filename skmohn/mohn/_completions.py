"""How far a row with unknown inputs may be from the mean over its completions."""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from skmohn.mohn._dense.kernel import Rows, has_fractions

# A row is completed in all ways where there are no more, else so many times by chance.
_MOST_WAYS = 64
# Training rows whose gaps stand for those of all.
_ROWS_ASKED = 200
# Of the noise found in training that gaps may explain: some is always left.
_LARGEST_SHARE = 0.95


@dataclass(frozen=True)
class Completions:
    """What unknown inputs of two values and unknown letters could be.

    Attributes
    ----------
    is_number : ndarray of shape (n_inputs,), bool
        Inputs of more than two values; they stay at the middle of their range.

    n_letters : tuple of int
        Of each site.

    share : float
        Share of the noise found in training that completions of the training rows
        explain.
    """

    is_number: np.ndarray
    n_letters: tuple = ()
    share: float = 0.0

    @classmethod
    def learn(cls, mean, noise, rows, n_letters=()):
        """Look at the gaps of the training rows.

        Parameters
        ----------
        mean : callable
            From `Rows` to the mean of the function.

        noise : callable
            From `Rows` to the variance of the noise.

        rows : Rows
            Those of the training data.

        n_letters : tuple of int, default=()

        Returns
        -------
        completions : Completions
        """
        found = cls(has_fractions(rows.inputs), n_letters)
        if len(rows) > _ROWS_ASKED:
            rng = np.random.default_rng(0)
            rows = rows.take(rng.permutation(len(rows))[:_ROWS_ASKED])
        usual = float(found.variance(mean, rows).mean())
        level = float(noise(rows).mean())
        # An exact model has no noise, whatever its training rows lack.
        share = usual / level if level else 0.0
        return cls(found.is_number, n_letters, min(share, _LARGEST_SHARE))

    def noise(self, mean, noise, rows):
        """Variance of observations around the mean: completions and other noise.

        Parameters
        ----------
        mean, noise : callables
            See :meth:`learn`.

        rows : Rows

        Returns
        -------
        variance : ndarray of shape (n_rows,)
        """
        return (1.0 - self.share) * noise(rows) + self.variance(mean, rows)

    def variance(self, mean, rows):
        """Variance of the mean of the function over all that rows could be.

        Parameters
        ----------
        mean : callable
            From `Rows` to the mean of the function.

        rows : Rows

        Returns
        -------
        variance : ndarray of shape (n_rows,)
            0 for complete rows.
        """
        variance = np.zeros(len(rows))
        unknown = np.hstack(
            [(rows.inputs == 0.0) & ~self.is_number, rows.letters == self.n_letters]
        )
        for i in np.flatnonzero(unknown.any(axis=1)):
            variance[i] = np.var(mean(self._complete(rows, i, unknown[i])))
        return variance

    def _complete(self, rows, i, unknown):
        """Row i with its unknown entries filled in, in all ways or some."""
        n_inputs = rows.inputs.shape[1]
        places = np.flatnonzero(unknown)
        sizes = np.append(np.full(n_inputs, 2), self.n_letters).astype(int)[places]
        if math.prod(sizes.tolist()) <= _MOST_WAYS:
            ways = np.array(list(product(*map(range, sizes))))
        else:
            ways = np.random.default_rng(0).integers(
                sizes, size=(_MOST_WAYS, len(sizes))
            )
        entries = np.tile(np.append(rows.inputs[i], rows.letters[i]), (len(ways), 1))
        is_input = places < n_inputs
        entries[:, places] = np.where(is_input, 2 * ways - 1, ways)
        return Rows(entries[:, :n_inputs], entries[:, n_inputs:].astype(int))
