"""Variance of the posterior mean over uniform inputs, and each variable's part of it.

The posterior mean is ``sum_r alpha_r k(x, x_r)`` with a covariance k that is a product
over the variables. Over independent inputs the mean of a product of two covariances is
again a product, so that variances are sums over pairs of rows, without any sampling.

The parts are those of the decomposition of a function into parts that depend on a set
of variables and on nothing else: Sobol, Global sensitivity indices for nonlinear
mathematical models, Mathematics and Computers in Simulation 55, 2001.
"""

from dataclasses import replace

import numpy as np

from skmohn.mohn._dense_kernel import CONSTANT_VARIANCE, Pairs, Prior, Rows

_ROWS_AT_ONCE = 1024
# tanh of a large rate is 1 to the last bit, and then two rows share nothing at all.
_LARGEST = 1.0 - 1e-15


class PairVariance:
    """Of a posterior mean that is known by numbers at rows.

    Variables are numbered with the inputs first and then the sites.

    Parameters
    ----------
    covariance : Covariance

    rows : Rows

    alpha : ndarray of shape (n_rows,)

    spread : ndarray of shape (n_inputs,), default=None
        Variance of each coded input; None for 1, that of -1 and +1.
    """

    def __init__(self, covariance, rows, alpha, spread=None):
        prior = covariance.prior
        self.covariance, self.rows, self.alpha = covariance, rows, alpha
        self.spread = np.ones(len(prior.rates)) if spread is None else spread
        self.product = replace(
            covariance, prior=prior._replace(linear=0.0), terms=(), variances=()
        )
        # The mean of (1 + tau x x_r) (1 + tau x x_s) over x is 1 + shared x_r x_s.
        self.shared = np.minimum(prior.tau**2 * self.spread, _LARGEST)
        self.tables = [factors for factors, _ in covariance.tables()]
        self.means = [
            table[:-1].T @ table[:-1] / (len(table) - 1) for table in self.tables
        ]

    def variance(self):
        """Of the whole function."""
        whole = sum(float(block.sum()) for _, block in self._blocks())
        constant = self.product.with_weight(self.rows, ()) - CONSTANT_VARIANCE
        extra = sum(more for _, more in self._extras())
        return max(whole - float(constant @ self.alpha) ** 2 + extra, 0.0)

    def first_order(self):
        """Of the parts that depend on one variable alone, by variable."""
        return np.array([self._main(self.covariance, k) for k in range(self._n())])

    def total(self):
        """Of all parts that depend on a variable, by variable. O(n n_rows^2)."""
        inputs, letters = self.rows.inputs, self.rows.letters
        n_inputs = len(self.shared)
        ups, downs = (inputs == 1.0).astype(float), (inputs == -1.0).astype(float)
        real = np.flatnonzero(np.any((inputs != 0.0) & (ups + downs == 0.0), axis=0))
        totals = np.zeros(self._n())
        for part, block in self._blocks():
            # A pair has a share of s / (1 + s) where both signs are the same, and of
            # -s / (1 - s) where they are not.
            up, down = block @ ups, block @ downs
            same = np.einsum("di,di->i", ups[part], up)
            same += np.einsum("di,di->i", downs[part], down)
            other = np.einsum("di,di->i", ups[part], down)
            other += np.einsum("di,di->i", downs[part], up)
            by_sign = same / (1.0 + self.shared) - other / (1.0 - self.shared)
            by_sign[real] = 0.0
            totals[:n_inputs] += self.shared * by_sign
            for i in real:
                joint = np.multiply.outer(
                    self.shared[i] * inputs[part, i], inputs[:, i]
                )
                totals[i] += np.vdot(block, joint / (1.0 + joint))
            for k, (table, mean) in enumerate(
                zip(self.tables, self.means, strict=True)
            ):
                left = 1.0 - np.outer(table[-1], table[-1]) / mean
                pairs = left[letters[part, k][:, None], letters[:, k]]
                totals[n_inputs + k] += np.vdot(block, pairs)
        for variables, more in self._extras():
            totals[list(variables)] += more
        return np.maximum(totals, 0.0)

    def _n(self):
        return len(self.shared) + len(self.tables)

    def _blocks(self):
        """Yield some rows, and what each pair of them and all adds to the mean square.

        Of the product part, its constant included.
        """
        prior = self.covariance.prior
        no_letters = np.empty((len(self.rows), 0), dtype=int)
        rows = Rows(self.rows.inputs, no_letters)
        rates = np.arctanh(self.shared)
        shape = Prior(rates, np.empty(0), 1.0, 0.0, 1.0)
        log_size = np.sum(np.log1p(self.shared)) - 2.0 * np.sum(np.log1p(prior.tau))
        numbers = prior.scale * np.exp(0.5 * log_size) * self.alpha
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            block = Pairs(rows.take(part), rows).product(shape)
            for k, mean in enumerate(self.means):
                letters = self.rows.letters[:, k]
                block *= mean[letters[part][:, None], letters]
            block *= np.multiply.outer(numbers[part], numbers)
            yield part, block

    def _extras(self):
        """Variances beyond the product part, with the variables that they belong to."""
        for k in range(self._n()):
            yield (k,), self._main(self.covariance, k) - self._main(self.product, k)
        for term in self.covariance.terms:
            if len(term) > 1:
                whole = self._square(self.covariance, term)
                yield term, whole - self._square(self.product, term)

    def _main(self, covariance, variable):
        """Variance of the part that depends on one variable alone."""
        n_inputs = len(self.shared)
        if variable < n_inputs:
            return self._square(covariance, (variable,))
        site = variable - n_inputs
        n_letters = covariance.n_letters[site]
        values = [
            covariance.with_weight(self.rows, (), ((site, letter),)) @ self.alpha
            for letter in range(n_letters)
        ]
        return float(np.mean(np.square(values)))

    def _square(self, covariance, term):
        weight = float(covariance.with_weight(self.rows, term) @ self.alpha)
        return weight**2 * float(np.prod(self.spread[list(term)]))


class CubeVariance:
    """Of a posterior mean of which all weights are known, over inputs of -1 and +1.

    Parameters
    ----------
    weights : ndarray of shape (2 ** n_inputs,)
        Bit i of an index says whether input i is in the set.
    """

    def __init__(self, weights):
        self.squares = weights**2
        self.squares[0] = 0.0

    def variance(self):
        """Of the whole function."""
        return float(self.squares.sum())

    def first_order(self):
        """Of the weights of single inputs."""
        n_inputs = len(self.squares).bit_length() - 1
        return self.squares[1 << np.arange(n_inputs)]

    def total(self):
        """Of all weights with an input, by input."""
        n_inputs = len(self.squares).bit_length() - 1
        halves = (self.squares.reshape(-1, 2, 1 << i) for i in range(n_inputs))
        return np.array([half[:, 1].sum() for half in halves])
