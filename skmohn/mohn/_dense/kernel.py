"""The product prior over all weights, as a covariance of function values.

Every set Q of inputs has a weight, and the weights are independent a priori,

    w_Q ~ N(0, scale * prod_{i in Q} tau_i / prod_i (1 + tau_i)),    tau_i = tanh a_i.

Summed over all 2^n sets, the covariance of two function values is a product,

    k(x, x') = scale * prod_i (1 + tau_i x_i x'_i) / (1 + tau_i),

which is ``scale * exp(sum_i a_i (x_i x'_i - 1))`` when all inputs are -1 or +1: one
matrix product. An unknown input is 0, its factor is that of the mean over both values.
Weights of single inputs may vary more, by ``linear * tau_i``, and the constant by
`CONSTANT_VARIANCE`.

A site of L letters has the factor 1 for equal letters and exp(-b_l - b_l') for others,
which spans the generalised Walsh basis of L functions; two letters are the case above
with 2 a = b_1 + b_2. Where letters have an order, the factor is exp(-b_l - b_l') for
neighbours and the product of the steps between them for others: that of a thermometer
code, an input for each step. Unknown letters are averages over all letters, exactly.
"""

from typing import NamedTuple

import numpy as np

from skmohn._core._coding import sizes_of

# A priori variance of the constant; the target is standardised.
CONSTANT_VARIANCE = 1.0


class Prior(NamedTuple):
    """Hyper-parameters, for a target of variance 1.

    Attributes
    ----------
    rates : ndarray of shape (n_inputs,)
        ``a_i``, how much input i matters.

    letter_rates : ndarray of shape (sum of their sizes,)
        ``b_l`` of the letters of all sites, one site after the other.

    scale : float
        Variance of the product part: the sum of the variances of its weights.

    linear : float
        Further variance of the weights of single inputs.

    noise : float
        Variance of the noise of a row of weight 1.
    """

    rates: np.ndarray
    letter_rates: np.ndarray
    scale: float
    linear: float
    noise: float

    @property
    def tau(self):
        """``tanh(rates)``: each further input multiplies a weight's variance by it."""
        return np.tanh(self.rates)

    def to_logs(self):
        """Write as the vector that the optimiser sees."""
        ends = [self.scale, self.linear, self.noise]
        return np.log(np.concatenate([self.rates, self.letter_rates, ends]))

    @classmethod
    def from_logs(cls, logs, n_inputs):
        """Read what :meth:`to_logs` has written."""
        values = np.exp(logs)
        scale, linear, noise = (float(value) for value in values[-3:])
        return cls(values[:n_inputs], values[n_inputs:-3], scale, linear, noise)


class Pairs:
    """Rows paired with rows, ready to be compared under any hyper-parameters.

    Parameters
    ----------
    left, right : Rows
        The same object for the covariance of rows with themselves.

    alphabets : tuple of Alphabet, default=()
        The letters of each site.

    dtype : dtype, default=float64
        Of all that is computed.
    """

    def __init__(self, left, right, alphabets=(), dtype=np.float64):
        real = has_fractions(left.inputs)
        if right is not left:
            real |= has_fractions(right.inputs)
        self.signs, self.reals = np.flatnonzero(~real), np.flatnonzero(real)
        self.alphabets = alphabets
        self.left = _Side(left, self.signs, self.reals, alphabets, dtype)
        self.right = self.left
        if right is not left:
            self.right = _Side(right, self.signs, self.reals, alphabets, dtype)
        self.any_unknown = self.left.any_unknown or self.right.any_unknown

    def product(self, prior):
        """The product of all factors, without `scale`.

        Returns
        -------
        product : ndarray of shape (n_left, n_right)
            1 for equal rows without unknown inputs.
        """
        left, right = self.left, self.right
        rates = prior.rates[self.signs].astype(left.signs.dtype)
        damping = _log_cosh(rates)
        exponent = (left.signs * rates) @ right.signs.T
        if self.any_unknown:
            exponent -= (left.known * damping) @ right.known.T
            exponent -= np.sum(rates - damping)
        else:
            exponent -= np.sum(rates)
        if self.alphabets:
            tables = LetterTables(prior.letter_rates, self.alphabets)
            exponent += left.spread(np.log(tables.factors)) @ right.hot.T
        product = np.exp(exponent, out=exponent)
        for j, tau in enumerate(prior.tau[self.reals].tolist()):
            product *= self._real_factor(j, tau)
        return product

    def linear(self, prior):
        """The covariance of the parts that depend on one input alone, without `linear`.

        Returns
        -------
        linear : ndarray of shape (n_left, n_right)
        """
        left, right = self.left, self.right
        tau = prior.tau.astype(left.signs.dtype)
        linear = (left.signs * tau[self.signs]) @ right.signs.T
        if len(self.reals):
            linear += (left.reals * tau[self.reals]) @ right.reals.T
        if self.alphabets:
            tables = LetterTables(prior.letter_rates, self.alphabets)
            linear += left.spread(tables.centred) @ right.hot.T
        return linear

    def covariance(self, prior):
        """Covariance of the function values."""
        return self.join(prior, self.product(prior))

    def join(self, prior, product):
        """Covariance of the function values from their :meth:`product`."""
        covariance = prior.scale * product
        covariance += prior.linear * self.linear(prior)
        covariance += CONSTANT_VARIANCE
        return covariance

    def slope(self, prior, product, outer):
        """Gradient of ``sum(outer * covariance)`` with respect to the logarithms.

        Matrix products only; rows must be paired with themselves.

        Parameters
        ----------
        prior : Prior

        product : ndarray of shape (n_rows, n_rows)
            From :meth:`product`.

        outer : ndarray of shape (n_rows, n_rows)
            Symmetric.

        Returns
        -------
        slope : ndarray of shape (n_inputs + n_all_letters + 2,)
            For ``rates``, ``letter_rates``, ``scale`` and ``linear``.
        """
        side, tau = self.left, prior.tau
        weighted = outer * product
        weighted *= prior.scale
        total = float(weighted.sum())
        by_product = np.empty(len(tau))
        by_linear = np.empty(len(tau))
        # Sums over pairs of x_i x'_i, the diagonal of X' W X.
        by_product[self.signs] = _diagonal(side.signs, weighted)
        if self.any_unknown:
            both_known = _diagonal(side.known, weighted)
            by_product[self.signs] -= tau[self.signs] * both_known
            by_product[self.signs] -= (1.0 - tau[self.signs]) * total
        else:
            by_product[self.signs] -= total
        by_linear[self.signs] = _diagonal(side.signs, outer)
        for j, i in enumerate(self.reals):
            column = side.reals[:, j]
            # d log factor / d a, with d tau / d a = 1 - tau^2.
            ratio = weighted / self._real_factor(j, float(tau[i]))
            slope = column @ ratio @ column / (1.0 + tau[i]) - total / (1.0 + tau[i])
            by_product[i] = (1.0 - tau[i] ** 2) * slope
        if len(self.reals):
            by_linear[self.reals] = _diagonal(side.reals, outer)
        explained = float(tau @ by_linear)
        by_letter = np.empty(0)
        if self.alphabets:
            tables = LetterTables(prior.letter_rates, self.alphabets)
            on_factors = side.hot.T @ (weighted @ side.hot)
            on_centred = prior.linear * (side.hot.T @ (outer @ side.hot))
            by_letter = tables.slope(on_factors / tables.factors, on_centred)
            explained += float(np.sum(on_centred * tables.centred)) / prior.linear
        by_rate = by_product + prior.linear * (1.0 - tau**2) * by_linear
        return np.concatenate(
            [
                prior.rates * by_rate,
                prior.letter_rates * by_letter,
                [total, prior.linear * explained],
            ]
        )

    def _real_factor(self, j, tau):
        """``(1 + tau x x') / (1 + tau)`` of one input with any values."""
        share = tau / (1.0 + tau)
        return (
            np.multiply.outer(share * self.left.reals[:, j], self.right.reals[:, j])
            + 1.0
            - share
        )


class _Side:
    """Rows of one side, taken apart by kind of column."""

    def __init__(self, rows, signs, reals, alphabets, dtype):
        self.signs = np.ascontiguousarray(rows.inputs[:, signs], dtype=dtype)
        self.reals = np.ascontiguousarray(rows.inputs[:, reals], dtype=dtype)
        self.any_unknown = not self.signs.all()
        self.known = np.abs(self.signs)
        self.hot = _one_hot(rows.letters, alphabets, dtype)

    def spread(self, table):
        """Rows of a block diagonal table, summed over the letters of each row."""
        return self.hot @ table.astype(self.hot.dtype)


class LetterTables:
    """Factors between the letters of each site, as block diagonal tables.

    A site of L letters takes L + 1 places; the last one is the average of all letters.
    Outside the blocks, `factors` is 1 and `centred` is 0.
    """

    def __init__(self, rates, alphabets):
        self.alphabets = alphabets
        size = sum(sizes_of(alphabets)) + len(alphabets)
        self.factors = np.ones((size, size))
        self.centred = np.zeros((size, size))
        self.parts = []
        for block, own, is_ordered in self._blocks():
            plain = np.exp(-_distances(rates[own], is_ordered))
            average = _averaging(len(plain))
            factors = average @ plain @ average.T
            mean = factors[-1, -1]
            deviation = average - average[-1]
            self.factors[block, block] = factors
            self.centred[block, block] = deviation @ plain @ deviation.T / mean
            self.parts.append((plain, average, deviation, mean))

    def slope(self, on_factors, on_centred):
        """Gradient in the rates from those in the entries of both tables."""
        slopes = []
        for (block, _, is_ordered), part in zip(
            self._blocks(), self.parts, strict=True
        ):
            plain, average, deviation, mean = part
            upper = average.T @ on_factors[block, block] @ average
            lower = on_centred[block, block]
            upper += deviation.T @ lower @ deviation / mean
            fall = np.sum(lower * self.centred[block, block]) / mean
            upper -= fall * np.outer(average[-1], average[-1])
            slopes.append(-_distance_slope((upper + upper.T) * plain, is_ordered))
        return np.concatenate(slopes)

    def sites(self):
        """Tables of each site, as a list of pairs of `factors` and `centred`."""
        return [
            (self.factors[block, block], self.centred[block, block])
            for block, _, _ in self._blocks()
        ]

    def _blocks(self):
        place = start = 0
        for size, is_ordered in self.alphabets:
            own = slice(start, start + size)
            yield slice(place, place + size + 1), own, is_ordered
            place, start = place + size + 1, start + size


def _distances(rates, is_ordered):
    """Minus the logarithm of the factors between the letters of one site."""
    if is_ordered:
        steps = np.append(0.0, np.cumsum(rates[:-1] + rates[1:]))
        return np.abs(np.subtract.outer(steps, steps))
    distances = np.add.outer(rates, rates)
    np.fill_diagonal(distances, 0.0)
    return distances


def _distance_slope(by_distance, is_ordered):
    """Gradient in the rates from that in each pair's distance, which is symmetric."""
    if not is_ordered:
        return by_distance.sum(axis=1) - np.diagonal(by_distance)
    # A step lies between all letters up to it and all beyond.
    beyond = np.cumsum(by_distance[:, ::-1], axis=1)[:, ::-1]
    by_step = np.diagonal(np.cumsum(beyond, axis=0), 1)
    return np.append(by_step, 0.0) + np.append(0.0, by_step)


def _averaging(n_letters):
    """The letters, then their mean, as functionals of values at the letters."""
    return np.vstack([np.eye(n_letters), np.full(n_letters, 1.0 / n_letters)])


def _one_hot(letters, alphabets, dtype):
    hot = np.zeros(
        (len(letters), sum(sizes_of(alphabets)) + len(alphabets)), dtype=dtype
    )
    place = 0
    for i, size in enumerate(sizes_of(alphabets)):
        hot[np.arange(len(letters)), place + letters[:, i]] = 1.0
        place += size + 1
    return hot


def has_fractions(inputs):
    """Whether columns have values besides -1, 0 and +1."""
    return np.any((inputs != 0.0) & (np.abs(inputs) != 1.0), axis=0)


def _diagonal(columns, matrix):
    """``diag(columns' matrix columns)``."""
    return np.einsum("di,di->i", columns, matrix @ columns).astype(np.float64)


def _log_cosh(x):
    return np.logaddexp(x, -x) - np.log(2.0).astype(x.dtype)
