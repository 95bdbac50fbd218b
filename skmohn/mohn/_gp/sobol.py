"""Variance of the posterior mean over independent variables, and its parts."""

# The posterior mean is ``sum_r alpha_r k(x, x_r)`` with a covariance k that is a
# product over the variables. Over independent variables the mean of a product of two
# covariances is again a product, so that variances are sums over pairs of rows, without
# any sampling.
#
# The parts are those of the decomposition of a function into parts that depend on a set
# of variables and on nothing else: Sobol, Global sensitivity indices for nonlinear
# mathematical models, Mathematics and Computers in Simulation 55, 2001.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skmohn._core._fitting import tick
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._gp.covariance_function import GramMatrix, Prior
from skmohn.mohn._gp.covariance_kernels import multiply_means
from skmohn.mohn._gp.pairs import Member, PairVariances
from skmohn.mohn._gp.weight_prior import Covariance, parity
from skmohn.mohn._table.rows import EncodedRows, pair_blocks
from skmohn.mohn._table.variables import (
    Contrast,
    Variable,
    input_moments,
    make_variables,
)


@dataclass(frozen=True)
class SobolConstants:
    """Sobol indices of a Gaussian process."""

    # tanh of a large rate is 1 to the last bit, and then two rows share nothing at all.
    max_correlation: float = tuned(1.0 - 1e-15, "rounding")


_SOBOL = SobolConstants()


class PairVariance:
    """Variance of a posterior mean that has coefficients at rows."""

    def __init__(
        self,
        covariance: Covariance,
        rows: EncodedRows,
        alpha: NDArray[np.float64],  # (n_rows,)
        # Each input and categorical is in one; None: :func:`make_variables`.
        variables: list[Variable] | None = None,
    ) -> None:
        prior = covariance.prior
        if variables is None:
            variables = make_variables(len(prior.ard_rates), covariance.alphabets)
        self.covariance, self.rows, self.alpha = covariance, rows, alpha
        tau = prior.tau  # of all inputs, once
        self.factors = [_Factor(v, covariance, tau, rows) for v in variables]
        self.by_input = {f.variable.input: f for f in self.factors}
        means = np.prod([factor.mean for factor in self.factors], axis=0)
        # What each row adds to the constant, and to weights but for their own factors.
        self.constants = prior.signal_variance * alpha * means
        # Lines go by matrix products, all at once.
        self.lines = [f for f in self.factors if f.is_line]
        self.others = [f for f in self.factors if not f.is_line]
        inputs = [f.variable.input for f in self.lines if f.variable.input is not None]
        self.inputs = rows.inputs[:, inputs]
        self.by_categorical = {f.variable.categorical: f for f in self.factors}
        self.pairs = [self._find_pair(pair) for pair in covariance.pairs]

    def variance(self) -> float:
        """Variance of the whole function."""
        whole = 0.0
        for part, block in self._blocks(is_half=True):
            earlier, own = np.split(block, [part.start], axis=1)
            whole += 2.0 * float(earlier.sum()) + float(own.sum())
        whole -= float(self.constants.sum()) ** 2
        whole += sum(self._additive_variances()) + self._strong_variance(None)
        return max(whole + self._pair_variance(None), 0.0)

    def first_order(self) -> NDArray[np.float64]:
        """Variance of the parts that depend on one variable alone, by variable."""
        found = []
        for factor in self.factors:
            (constant, slope), more = self._product_line(factor), self._added(factor)
            slope = slope + more[1] + self._strong_slope(factor)
            found.append(factor.covariance(constant + more[0], slope))
        return np.array(found)

    def total(self) -> NDArray[np.float64]:
        """Variance of all parts with a variable, by variable. O(n n_rows^2)."""
        inputs, lines = self.inputs, np.zeros(len(self.lines))
        ups, downs = (inputs == 1.0).astype(float), (inputs == -1.0).astype(float)
        real = np.flatnonzero(np.any((inputs != 0.0) & (ups + downs == 0.0), axis=0))
        others = np.zeros(len(self.others))
        shared = np.array([factor.shared for factor in self.lines])
        # What a pair has of a variable, by the signs of both rows: up, down, apart.
        signed = np.array([factor.parts for factor in self.lines]).reshape(-1, 3).T
        for part, block in self._blocks():
            up, down = block @ ups, block @ downs
            by_sign = np.einsum("di,di->i", ups[part], up) * signed[0]
            by_sign += np.einsum("di,di->i", downs[part], down) * signed[1]
            apart = np.einsum("di,di->i", ups[part], down)
            apart += np.einsum("di,di->i", downs[part], up)
            by_sign += apart * signed[2]
            by_sign[real] = 0.0
            lines += by_sign
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
        added = self._additive_variances()
        found = [
            totals[id(factor)]
            + more
            + self._strong_variance(factor)
            + self._pair_variance(factor)
            for factor, more in zip(self.factors, added, strict=True)
        ]
        return np.maximum(found, 0.0)

    def contrasts(
        self, wanted: Sequence[Contrast]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Covariances with effects of moving one variable, averaged over all others."""
        # A contrast has the number of a variable, and from where to where it moves: an
        # input and a category. The product of the covariances, (n_rows, n_wanted), with
        # the coefficients of the rows is the mean; returned with the prior variances.
        covariance = self.covariance
        tau, linear = covariance.prior.tau, covariance.prior.main_effect_variance
        base = covariance.prior.signal_variance * np.prod(
            [f.mean for f in self.factors], axis=0
        )
        own = covariance.prior.signal_variance * np.prod([f.both for f in self.factors])
        cross, prior = np.empty((len(self.rows), len(wanted))), np.empty(len(wanted))
        for k, (number, start, end) in enumerate(wanted):
            factor = self.factors[number]
            moved = factor.at(*end) - factor.at(*start)
            cross[:, k] = base / factor.mean * moved
            square = factor.between(start, start) + factor.between(end, end)
            square -= 2.0 * factor.between(start, end)
            prior[k] = own / factor.both * square
            variable, step = factor.variable, end[0] - start[0]
            if variable.input is not None:
                weight = linear * tau[variable.input]
                cross[:, k] += weight * step * factor.x
                prior[k] += weight * step**2
                for factors, term, size in self._own_terms():
                    if factor in factors:
                        apart = step * _mean_product(factors, [factor])
                        cross[:, k] += size * apart * parity(self.rows.inputs, term)
                        prior[k] += size * apart**2
            if variable.categorical is not None:
                rows = factor.centered[[start[1], end[1]]]
                cross[:, k] += linear * (rows[1] - rows[0])[factor.categories]
                (a, b), (_, d) = rows[:, [start[1], end[1]]]
                prior[k] += linear * (a - 2.0 * b + d)
            for pair in self.pairs:
                if factor in pair.factors:
                    moved, square = pair.contrast(self.rows, factor, start, end)
                    cross[:, k] += moved
                    prior[k] += square
        return cross, np.maximum(prior, 0.0)

    def _blocks(
        self, is_half: bool = False
    ) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield slices of rows, and what their pairs add to the mean square."""
        # Of the product part, its constant included; with `is_half`, pairs with rows up
        # to the last of the slice alone.
        taus = np.array([factor.tau for factor in self.lines])
        shared = np.array([factor.shared for factor in self.lines])
        log_size = np.sum(np.log1p(shared)) - 2.0 * np.sum(np.log1p(taus))
        numbers = (
            self.covariance.prior.signal_variance * np.exp(0.5 * log_size) * self.alpha
        )
        for factor in self.lines:
            numbers = numbers * factor.gain
        shape = Prior(np.arctanh(shared), np.empty(0), 1.0, 0.0, 1.0)
        rows = EncodedRows(self.inputs, np.empty((len(self.inputs), 0), dtype=int))
        for part in pair_blocks(len(rows), len(rows)):
            tick()
            others = slice(part.stop) if is_half else slice(None)
            block = GramMatrix(rows.take(part), rows.take(others)).product(shape)
            for factor in self.others:
                factor.multiply(part, block)
            block *= numbers[part, None]
            block *= numbers[others]
            yield part, block

    def _product_line(
        self, factor: _Factor
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Product part along one variable: a constant and a slope by level."""
        # All other variables are averaged over.
        rest = self.constants / factor.mean / (1.0 + factor.tau)
        table = factor.table[:, factor.categories]
        return table @ rest, factor.tau * (table @ (rest * factor.x))

    def _added(
        self, factor: _Factor
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Part that depends on this variable alone a priori: a constant and a slope."""
        covariance, alpha, variable = self.covariance, self.alpha, factor.variable
        linear = covariance.prior.main_effect_variance
        constant = np.zeros(len(factor.table))
        slope = linear * factor.tau * float(alpha @ factor.x)
        if variable.categorical is not None:
            constant = linear * (factor.centered[:, factor.categories] @ alpha)
        for term, own in zip(covariance.terms, covariance.variances, strict=True):
            if term == (variable.input,):
                slope += own * float(alpha @ factor.x)
        for pair in self.pairs:
            if factor in pair.factors:
                member, own_part = pair.alone(factor)
                if member.size:
                    constant = constant + member.table[:-1] @ own_part
                else:
                    slope += float(own_part[0])
        return constant, np.full(len(factor.table), slope)

    def _additive_variances(self) -> list[float]:
        """Variance that these add to that of the product part, by variable."""
        found = []
        for factor in self.factors:
            line, more = self._product_line(factor), self._added(factor)
            whole = factor.covariance(line[0] + more[0], line[1] + more[1])
            found.append(whole - factor.covariance(*line))
        return found

    def _own_terms(self) -> Iterator[tuple[list[_Factor], Term, float]]:
        """Terms with a variance of their own, with their factors and variances."""
        covariance = self.covariance
        for term, own in zip(covariance.terms, covariance.variances, strict=True):
            yield [self.by_input[i] for i in term], term, own

    def _strong_terms(self) -> Iterator[tuple[list[_Factor], float]]:
        """Strong terms of several inputs, as factors and weights."""
        for factors, term, own in self._own_terms():
            if len(term) > 1:
                yield factors, own * float(parity(self.rows.inputs, term) @ self.alpha)

    def _strong_slope(self, factor: _Factor) -> float:
        """Slope of a line along one input, by terms of several."""
        return sum(
            weight * _mean_product(factors, [factor])
            for factors, weight in self._strong_terms()
            if factor in factors
        )

    def _strong_variance(self, factor: _Factor | None) -> float:
        """Variance by terms of several inputs, in all or of one variable."""
        # `factor` None: the whole variance.
        found, strong = 0.0, list(self._strong_terms())
        for factors, weight in strong:
            if factor is not None and factor not in factors:
                continue
            with_others = self._with_product(factors)
            if factor is None:
                with_others -= self._with_product([]) * _mean_product(factors)
            else:
                rest = [f for f in factors if f is not factor]
                with_others -= self._with_product(rest) * factor.x_mean
            for own in factors if factor is None else [factor]:
                beside = own.covariance(*self._added(own), np.zeros(1), np.ones(1))
                with_others += _mean_product(factors, [own]) * beside
            found += 2.0 * weight * with_others
            for others, other in strong:
                if factor is None:
                    joint = _joint_mean(factors, others)
                    joint -= _mean_product(factors) * _mean_product(others)
                elif factor in others:
                    joint = _joint_mean(factors, others, [factor])
                    joint *= factor.spread - factor.x_mean**2
                else:
                    joint = 0.0
                found += weight * other * joint
        return found

    def _find_pair(self, pair: PairVariances) -> _Pair:
        """Pair of columns with its factors."""
        factors = [
            (self.by_categorical if m.size else self.by_input)[m.number]
            for m in pair.members
        ]
        return _Pair(pair, factors, pair.joint(self.rows, self.alpha))

    def _pair_variance(self, factor: _Factor | None) -> float:
        """Variance by joint parts of pairs, in all or of one variable."""
        found = 0.0
        for pair in self.pairs:
            if factor is None or factor in pair.factors:
                rest = self.constants
                for own in pair.factors:
                    rest = rest / own.mean
                found += 2.0 * float(rest @ pair.with_rows()) + pair.variance()
        return found

    def _with_product(self, factors: list[_Factor]) -> float:
        """Mean of the product part times some inputs."""
        found = self.constants
        for factor in factors:
            found = found * (factor.slope / factor.mean)
        return float(found.sum())


def _mean_product(factors: list[_Factor], without: Sequence[_Factor] = ()) -> float:
    """Mean of the product of inputs but some."""
    return float(np.prod([f.x_mean for f in factors if f not in without]))


def _joint_mean(
    factors: list[_Factor], others: list[_Factor], without: Sequence[_Factor] = ()
) -> float:
    """Mean of the product of two products of inputs, but for some inputs."""
    both = [f.spread for f in factors if f in others and f not in without]
    apart = [f for f in factors if f not in others]
    apart += [f for f in others if f not in factors]
    return float(np.prod(both)) * _mean_product(apart, without)


class _Factor:
    """Variable's factor of the covariance of any value with those at rows."""

    def __init__(
        self,
        variable: Variable,
        covariance: Covariance,
        tau: NDArray[np.float64],
        rows: EncodedRows,
    ) -> None:
        self.variable = variable
        n_rows = len(rows)
        self.tau, self.x = 0.0, np.zeros(n_rows)
        if variable.input is not None:
            self.tau = float(tau[variable.input])
            self.x = rows.inputs[:, variable.input]
        self.table = np.ones((1, 1))
        self.categories = np.zeros(n_rows, dtype=int)
        if variable.categorical is not None:
            factors, centered = covariance.tables[variable.categorical]
            self.table, self.centered = factors[:-2], centered[:-2]
            self.categories = rows.categories[:, variable.categorical]
        frequency, mean, _ = variable[2:]
        self.x_mean, self.spread = variable.moments()
        self.mean = self._mean_times(frequency, frequency * mean)
        is_centered = self.x_mean == 0.0
        self.is_line = variable.categorical is None and (
            is_centered or bool(np.all(np.abs(self.x) == 1.0))
        )
        if self.is_line:
            self._find_signs()

    def _mean_times(
        self, plain: NDArray[np.float64], tilted: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Mean of the factor, weighted by category, `tilted` where times the input."""
        plain, tilted = (
            (weights @ self.table)[self.categories] / (1.0 + self.tau)
            for weights in (plain, tilted)
        )
        return plain + self.tau * self.x * tilted

    @cached_property
    def slope(self) -> NDArray[np.float64]:
        """Mean over the variable of the factor times the input."""
        frequency, mean, square = self.variable[2:]
        return self._mean_times(frequency * mean, frequency * square)

    @cached_property
    def both(self) -> float:
        """The factor between two values, averaged over both."""
        frequency, mean, _ = self.variable[2:]
        plain, weights = self.table[:, : len(frequency)], frequency * mean
        both = frequency @ plain @ frequency + self.tau * (weights @ plain @ weights)
        return float(both) / (1.0 + self.tau)

    @cached_property
    def pairs(self) -> NDArray[np.float64]:
        """Means of the products of the factors of two rows, by their categories."""
        # Of these, and times the input and its square: they are lines in either row's.
        frequency, mean, square = self.variable[2:]
        return np.array(
            [
                (self.table.T * weights) @ self.table / (1.0 + self.tau) ** 2
                for weights in (frequency, frequency * mean, frequency * square)
            ]
        )

    def _find_signs(self) -> None:
        """Write the means of products by the signs of rows as a pair of factors."""
        # The mean over the input of ``(1 + tau x x_r) (1 + tau x x_s)`` at ``x_r, x_s``
        # of -1 and +1 is ``gain_r gain_s (1 + shared x_r x_s)``. Where the mean of the
        # input is 0, the gains are 1, and it is so at all values.
        up, down = 1.0 + self.tau * self.x_mean, 1.0 - self.tau * self.x_mean
        square = min(self.tau**2 * self.spread, _SOBOL.max_correlation)
        apart = 1.0 - square
        ups, downs = 2.0 * up - apart, 2.0 * down - apart
        ratio = np.sqrt(ups) * np.sqrt(downs) / apart
        self.shared = min((ratio - 1.0) / (ratio + 1.0), _SOBOL.max_correlation)
        gains = np.sqrt(np.array([downs, ups]) / (1.0 + self.shared))
        self.gain = 1.0
        if self.x_mean != 0.0:
            self.gain = gains[(self.x > 0.0).astype(int)]
        self.parts = 1 - up**2 / ups, 1 - down**2 / downs, 1 - up * down / apart

    def moments_of(
        self, member: Member
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means of the features of a member of a pair, and of their products."""
        if not member.size:
            return np.array([self.x_mean]), np.array([[self.spread]])
        frequency, features = self.variable.frequency, member.table[:-1]
        return frequency @ features, (features.T * frequency) @ features

    def with_features(self, member: Member) -> NDArray[np.float64]:
        """Means of the factor times these features, (n_rows, n_features)."""
        if not member.size:
            return np.broadcast_to(self.slope, self.x.shape)[:, None]
        features = member.table[:-1] * self.variable.frequency[:, None]
        return (self.table.T @ features)[self.categories]

    def at(self, x: float, category: int) -> NDArray[np.float64]:
        """Factor of one value with those at rows, ndarray of shape (n_rows,)."""
        line = (1.0 + self.tau * x * self.x) / (1.0 + self.tau)
        return line * self.table[category, self.categories]

    def between(self, one: tuple[float, int], other: tuple[float, int]) -> float:
        """Factor of two values."""
        (x, c), (y, d) = one, other
        return (1.0 + self.tau * x * y) / (1.0 + self.tau) * self.table[c, d]

    def covariance(
        self,
        constant: NDArray[np.float64],
        slope: NDArray[np.float64],
        other_constant: NDArray[np.float64] | None = None,
        other_slope: NDArray[np.float64] | None = None,
    ) -> float:
        """Covariance of two functions of the variable, or variance of one."""
        # Both are lines in the input, by category.
        frequency, mean, square = self.variable[2:]
        if other_constant is None or other_slope is None:
            other_constant, other_slope = constant, slope
        center = frequency @ (constant + slope * mean)
        other = frequency @ (other_constant + other_slope * mean)
        constant, other_constant = constant - center, other_constant - other
        joint = constant * other_constant + slope * other_slope * square
        joint = joint + (constant * other_slope + other_constant * slope) * mean
        return float(frequency @ joint)

    def multiply(self, part: slice, block: NDArray[np.float64]) -> None:
        """Multiply by mean products of the factors of some rows and the first rows."""
        categories, lines = self.categories.astype(np.uint32), self.tau * self.x
        base = np.empty((2, self.pairs.shape[1]))
        multiply_means(categories, lines, self.pairs, part.start, base, block)


class _Pair:
    """Joint part of a pair of variables in the posterior mean."""

    # It is ``f_a' J f_b``, with the features f of the values of both.

    def __init__(
        self,
        pair: PairVariances,
        factors: list[_Factor],
        joint: NDArray[np.float64],  # (n_features, n_features)
    ) -> None:
        self.pair, self.factors, self.joint = pair, factors, joint
        moments = [f.moments_of(m) for f, m in zip(factors, pair.members, strict=True)]
        self.means = [mean for mean, _ in moments]
        self.squares = [square for _, square in moments]

    def alone(self, factor: _Factor) -> tuple[Member, NDArray[np.float64]]:
        """Member of a factor, and its coefficients averaged over the other."""
        if factor is self.factors[0]:
            return self.pair.members[0], self.joint @ self.means[1]
        return self.pair.members[1], self.means[0] @ self.joint

    def variance(self) -> float:
        """Variance of what depends on both and on nothing less."""
        first, second = (
            square - np.outer(mean, mean)
            for mean, square in zip(self.means, self.squares, strict=True)
        )
        return float(np.sum((first @ self.joint @ second) * self.joint))

    def with_rows(self) -> NDArray[np.float64]:
        """Its mean product with the factors of each row, (n_rows,)."""
        first, second = (
            f.with_features(m) - np.outer(f.mean, mean)
            for f, m, mean in zip(
                self.factors, self.pair.members, self.means, strict=True
            )
        )
        return np.einsum("ra,ab,rb->r", first, self.joint, second)

    def contrast(
        self,
        rows: EncodedRows,
        factor: _Factor,
        start: tuple[float, int],
        end: tuple[float, int],
    ) -> tuple[NDArray[np.float64], float]:
        """Covariances of rows with a move of one variable, and its prior variance."""
        moved, square = np.full(len(rows), self.pair.variance), self.pair.variance
        for f, member, mean in zip(
            self.factors, self.pair.members, self.means, strict=True
        ):
            step = member.at(*end) - member.at(*start) if f is factor else mean
            moved = moved * (member.features(rows) @ step)
            square *= float(step @ step)
        return moved, square


class CubeVariance:
    """Variance of a posterior mean of which all weights are known, on the cube."""

    def __init__(
        self,
        # (2 ** n_inputs,); bit i of an index: input i is in the set.
        weights: NDArray[np.float64],
        # Inputs in their order; None: -1 and +1 are equally probable.
        variables: list[Variable] | None = None,
    ) -> None:
        self.n_inputs = len(weights).bit_length() - 1
        if variables is not None:
            moments = zip(*input_moments(self.n_inputs, variables), strict=True)
            for i, (mean, variance) in enumerate(moments):
                # Of x = mean + std z the weights of z are those of orthogonal parts.
                halves = weights.reshape(-1, 2, 1 << i)
                without = halves[:, 0] + mean * halves[:, 1]
                weights = np.stack([without, np.sqrt(variance) * halves[:, 1]], axis=1)
                weights = weights.ravel()
        self.squares = weights**2
        self.squares[0] = 0.0

    def variance(self) -> float:
        """Variance of the whole function."""
        return float(self.squares.sum())

    def first_order(self) -> NDArray[np.float64]:
        """Variance by the weights of single inputs."""
        return self.squares[1 << np.arange(self.n_inputs)]

    def total(self) -> NDArray[np.float64]:
        """Variance by all weights with an input, by input."""
        halves = (self.squares.reshape(-1, 2, 1 << i) for i in range(self.n_inputs))
        return np.array([half[:, 1].sum() for half in halves])
