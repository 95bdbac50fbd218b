"""Variance of the posterior mean over uniform inputs, and each variable's part of it.

The posterior mean is ``sum_r alpha_r k(x, x_r)`` with a covariance k that is a product
over the variables. Over independent variables the mean of a product of two covariances
is again a product, so that variances are sums over pairs of rows, without any sampling.

The parts are those of the decomposition of a function into parts that depend on a set
of variables and on nothing else: Sobol, Global sensitivity indices for nonlinear
mathematical models, Mathematics and Computers in Simulation 55, 2001.
"""

import numpy as np

from skmohn.mohn._dense.covariance import parity
from skmohn.mohn._dense.kernel import Pairs, Prior
from skmohn.mohn._dense.pair_kernels import multiply_means
from skmohn.mohn._table.rows import Rows
from skmohn.mohn._table.variables import make_variables

_ROWS_AT_ONCE = 1024
# tanh of a large rate is 1 to the last bit, and then two rows share nothing at all.
_LARGEST = 1.0 - 1e-15


class PairVariance:
    """Of a posterior mean that is known by numbers at rows.

    Parameters
    ----------
    covariance : Covariance

    rows : Rows

    alpha : ndarray of shape (n_rows,)

    variables : list of Variable, default=None
        Each input and categorical is in one. None for :func:`make_variables`.
    """

    def __init__(self, covariance, rows, alpha, variables=None):
        prior = covariance.prior
        if variables is None:
            variables = make_variables(len(prior.rates), covariance.alphabets)
        self.covariance, self.rows, self.alpha = covariance, rows, alpha
        self.factors = [_Factor(v, covariance, rows) for v in variables]
        self.by_input = {f.variable.input: f for f in self.factors}
        means = np.prod([factor.mean for factor in self.factors], axis=0)
        # What each row adds to the constant, and to weights but for their own factors.
        self.constants = prior.scale * alpha * means
        # Inputs without categories go by matrix products, all at once.
        self.lines = [f for f in self.factors if f.variable.categorical is None]
        self.others = [f for f in self.factors if f.variable.categorical is not None]
        # The mean of (1 + tau x x_r) (1 + tau x x_s) over x is 1 + shared x_r x_s.
        shared = [f.tau**2 * f.variable.square[0] for f in self.lines]
        self.shared = np.minimum(np.array(shared, dtype=float), _LARGEST)
        self.inputs = rows.inputs[:, [f.variable.input for f in self.lines]]

    def variance(self):
        """Of the whole function."""
        whole = 0.0
        for part, block in self._blocks(is_half=True):
            earlier, own = np.split(block, [part.start], axis=1)
            whole += 2.0 * float(earlier.sum()) + float(own.sum())
        extra = sum(more for _, more in self._extras())
        return max(whole - float(self.constants.sum()) ** 2 + extra, 0.0)

    def first_order(self):
        """Of the parts that depend on one variable alone, by variable."""
        return np.array([self._main(factor) for factor in self.factors])

    def total(self):
        """Of all parts that depend on a variable, by variable. O(n n_rows^2)."""
        inputs, shared = self.inputs, self.shared
        ups, downs = (inputs == 1.0).astype(float), (inputs == -1.0).astype(float)
        real = np.flatnonzero(np.any((inputs != 0.0) & (ups + downs == 0.0), axis=0))
        lines, others = np.zeros(len(self.lines)), np.zeros(len(self.others))
        for part, block in self._blocks():
            # A pair has a share of s / (1 + s) where both signs are the same, and of
            # -s / (1 - s) where they are not.
            up, down = block @ ups, block @ downs
            same = np.einsum("di,di->i", ups[part], up)
            same += np.einsum("di,di->i", downs[part], down)
            other = np.einsum("di,di->i", ups[part], down)
            other += np.einsum("di,di->i", downs[part], up)
            by_sign = same / (1.0 + shared) - other / (1.0 - shared)
            by_sign[real] = 0.0
            lines += shared * by_sign
            for i in real:
                joint = np.multiply.outer(shared[i] * inputs[part, i], inputs[:, i])
                lines[i] += np.vdot(block, joint / (1.0 + joint))
            for k, factor in enumerate(self.others):
                alike = np.multiply.outer(factor.mean[part], factor.mean)
                second = np.ones_like(block)
                factor.multiply(part, second)
                others[k] += np.vdot(block, 1.0 - alike / second)
        totals = dict(zip(map(id, self.lines), lines.tolist(), strict=True))
        totals |= zip(map(id, self.others), others.tolist(), strict=True)
        for factors, more in self._extras():
            for factor in factors:
                totals[id(factor)] += more
        return np.maximum([totals[id(factor)] for factor in self.factors], 0.0)

    def _blocks(self, is_half=False):
        """Yield some rows, and what each pair of them and all adds to the mean square.

        Of the product part, its constant included; with `is_half` not of all, but of
        those up to the last of them.
        """
        taus = np.array([factor.tau for factor in self.lines])
        log_size = np.sum(np.log1p(self.shared)) - 2.0 * np.sum(np.log1p(taus))
        numbers = self.covariance.prior.scale * np.exp(0.5 * log_size) * self.alpha
        shape = Prior(np.arctanh(self.shared), np.empty(0), 1.0, 0.0, 1.0)
        rows = Rows(self.inputs, np.empty((len(self.inputs), 0), dtype=int))
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            others = slice(part.stop) if is_half else slice(None)
            block = Pairs(rows.take(part), rows.take(others)).product(shape)
            for factor in self.others:
                factor.multiply(part, block)
            block *= numbers[part, None]
            block *= numbers[others]
            yield part, block

    def _extras(self):
        """Variances beyond the product part, with the factors that they belong to."""
        for factor in self.factors:
            yield (factor,), self._main(factor) - self._main(factor, extra=False)
        for term, size in self._strong_terms():
            factors = [self.by_input[i] for i in term]
            with_product = self.constants.copy()
            for factor in factors:
                with_product *= factor.slope / factor.mean
            spread = np.prod([factor.spread for factor in factors])
            yield factors, size**2 * spread + 2.0 * size * float(with_product.sum())

    def _strong_terms(self):
        """Terms of several inputs with a variance of their own, and these weights."""
        covariance = self.covariance
        for term, own in zip(covariance.terms, covariance.variances, strict=True):
            if len(term) > 1:
                yield term, own * float(parity(self.rows.inputs, term) @ self.alpha)

    def _main(self, factor, extra=True):
        """Variance of the part that depends on one variable alone.

        In each level that part is a constant and a slope along the input; `extra` adds
        to the product's those of the single inputs and categories.
        """
        variable, covariance, alpha = factor.variable, self.covariance, self.alpha
        rest = self.constants / factor.mean / (1.0 + factor.tau)
        constant = factor.table[:, factor.categories] @ rest
        slope = factor.tau * (factor.table[:, factor.categories] @ (rest * factor.x))
        if extra:
            linear = covariance.prior.linear
            slope = slope + linear * factor.tau * float(alpha @ factor.x)
            if variable.categorical is not None:
                constant += linear * (factor.centred[:, factor.categories] @ alpha)
            for term, own in zip(covariance.terms, covariance.variances, strict=True):
                if term == (variable.input,):
                    slope = slope + own * float(alpha @ factor.x)
        mean = variable.share @ (constant + slope * variable.mean)
        constant = constant - mean
        squares = constant**2 + 2.0 * constant * slope * variable.mean
        squares += slope**2 * variable.square
        return float(variable.share @ squares)


class _Factor:
    """A variable's factor of the covariance of any value with those at rows."""

    def __init__(self, variable, covariance, rows):
        self.variable = variable
        n_rows = len(rows)
        self.tau, self.x = 0.0, np.zeros(n_rows)
        if variable.input is not None:
            self.tau = float(covariance.prior.tau[variable.input])
            self.x = rows.inputs[:, variable.input]
        self.table = np.ones((1, 1))
        self.categories = np.zeros(n_rows, dtype=int)
        if variable.categorical is not None:
            factors, centred = covariance.tables[variable.categorical]
            self.table, self.centred = factors[:-1], centred[:-1]
            self.categories = rows.categories[:, variable.categorical]
        share, mean, square = variable[2:]
        self.spread = float(share @ square)
        # Means over the variable of the factor, and of its product with the input.
        flat, tilted, curved = (
            (weights @ self.table)[self.categories] / (1.0 + self.tau)
            for weights in (share, share * mean, share * square)
        )
        self.mean = flat + self.tau * self.x * tilted
        self.slope = tilted + self.tau * self.x * curved
        # By the categories of two rows: means of the products of their factors, which
        # are lines in either row's input.
        self.pairs = np.array(
            [
                (self.table.T * weights) @ self.table / (1.0 + self.tau) ** 2
                for weights in (share, share * mean, share * square)
            ]
        )

    def multiply(self, part, block):
        """Multiply by the means of the products of the factors of some rows and others.

        Parameters
        ----------
        part : slice

        block : ndarray of shape (n_rows, n_others)
            The others are the first ones of all. Written in place.
        """
        categories, lines = self.categories.astype(np.uint32), self.tau * self.x
        base = np.empty((2, self.pairs.shape[1]))
        multiply_means(categories, lines, self.pairs, part.start, base, block)


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
