"""Product prior over all weights, as a covariance of function values."""

# Every set Q of inputs has a weight, and the weights are independent a priori,
#
#     w_Q ~ N(0, scale * prod_{i in Q} tau_i / prod_i (1 + tau_i)),    tau_i = tanh a_i.
#
# Summed over all 2^n sets, the covariance of two function values is a product,
#
#     k(x, x') = scale * prod_i (1 + tau_i x_i x'_i) / (1 + tau_i),
#
# which is ``scale * exp(sum_i a_i (x_i x'_i - 1))`` when all inputs are -1 or +1: one
# matrix product. An unknown input is the mean of its column, where the factor has its
# mean. Weights of single inputs may vary more, by ``linear * tau_i``, and the constant
# by its prior variance.
#
# A categorical of L categories has the factor 1 for equal categories and exp(-b_l -
# b_l') for others, which spans the generalised Walsh basis of L functions; two
# categories are the case above with 2 a = b_1 + b_2. Where categories have an order,
# the factor is exp(-b_l - b_l') for neighbors and the product of the steps between them
# for others: that of a thermometer code, an input for each step. Unknown categories are
# averages over all categories by their probabilities, exactly.

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skmohn.mohn._design.design import find_equal
from skmohn.mohn._gp.covariance_kernels import (
    fold,
    look_up,
    mirror,
    multiply_lines,
    sum_by_categories,
    sum_lines,
)
from skmohn.mohn._models import PRIOR
from skmohn.mohn._table.rows import Categorical, EncodedRows, pair_blocks, sizes_of


class Prior(NamedTuple):
    """Hyperparameters, for a target of variance 1."""

    ard_rates: np.ndarray  # (n_inputs,); ``a_i``, how much input i matters
    # (sum of their sizes,); ``b_l`` of all categories, by categorical.
    category_rates: np.ndarray
    # Of the product part: the sum of the variances of its weights.
    signal_variance: float
    main_effect_variance: float  # further variance of the weights of single inputs
    noise_variance: float  # of a row of weight 1

    @property
    def tau(self) -> NDArray[np.float64]:
        """``tanh(rates)``: each further input multiplies a weight's variance by it."""
        return np.tanh(self.ard_rates)

    def to_logs(self) -> NDArray[np.float64]:
        """Logarithms of the hyperparameters, a vector for the optimizer."""
        ends = [self.signal_variance, self.main_effect_variance, self.noise_variance]
        return np.log(np.concatenate([self.ard_rates, self.category_rates, ends]))

    @classmethod
    def from_logs(cls, logs: NDArray[np.float64], n_inputs: int) -> Self:
        """Hyperparameters from their logarithms, the inverse of :meth:`to_logs`."""
        values = np.exp(logs)
        scale, linear, noise = (float(value) for value in values[-3:])
        return cls(values[:n_inputs], values[n_inputs:-3], scale, linear, noise)


class GramMatrix:
    """Rows paired with rows, ready to be compared under any hyperparameters."""

    def __init__(
        self,
        # The same object as `right` for the covariance of rows with themselves.
        left: EncodedRows,
        right: EncodedRows,
        alphabets: tuple[Categorical, ...] = (),  # categories of each categorical
        dtype: type = np.float64,  # of all that is computed
        # Further inputs of rows paired with themselves, whose rates are not among those
        # of the hyperparameters.
        fixed: FixedInputs | None = None,
        # Of the alphabets, where there is one prior alone.
        tables: PriorTables | None = None,
    ) -> None:
        real = right.has_fractions
        if not real.all():
            real = real | left.has_fractions
        self.signs, self.reals, self.index = _split_inputs(right, real)
        self.alphabets = alphabets
        self.categoricals = tables.alike if tables else find_alike(alphabets)
        self.is_half, self.fixed = right is left, fixed
        # Columns that repeat each other are compared once, by the sum of their rates.
        distinct = self.signs
        if self.is_half and len(distinct):
            first = find_equal(np.ascontiguousarray(left.inputs[:, distinct].T))
            first, self.index = np.unique(first, return_inverse=True)
            distinct = distinct[first]
        parts = distinct, self.reals, self.categoricals, dtype
        if len(left) < len(right):
            # To take the rows apart takes longer than to compare them.
            key = _Side, real.tobytes(), alphabets, dtype
            for rows in (left, right):
                if key not in rows.prepared:
                    rows.prepared[key] = _Side(rows, *parts)
            self.left, self.right = left.prepared[key], right.prepared[key]
        else:
            self.left = _Side(left, *parts)
            self.right = self.left if self.is_half else _Side(right, *parts)
        self.any_unknown = self.left.any_unknown or self.right.any_unknown
        self._latest = tables

    def product(
        self, prior: Prior, out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Product of all factors, without `scale`."""
        # It is 1 for equal rows without unknown inputs; `out` is overwritten.
        left, right = self.left, self.right
        if out is None:
            out = np.empty((len(left), len(right)), left.signs.dtype)
        product = self._product_of_signs(prior, out)
        if len(self.reals):
            factors = self._lines(prior)
            multiply_lines(left.reals, right.reals, *factors, self.is_half, product)
        for i, part in enumerate(self._tables(prior).parts):
            self._look_up(i, part.factors, True, product)
        if self.fixed is not None:
            product *= self.fixed.product
        return self._complete(product)

    def _product_of_signs(
        self, prior: Prior, out: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Write the product of the factors of inputs that are -1, 0 or +1."""
        left, right = self.left, self.right
        if not len(self.signs):
            out.fill(1.0)
            return out
        ard_rates = prior.ard_rates
        log_cosh = np.logaddexp(ard_rates, -ard_rates)
        log_cosh -= np.log(2.0).astype(ard_rates.dtype)
        rates = self._sum_equal(ard_rates).astype(left.signs.dtype)
        damping = self._sum_equal(log_cosh).astype(rates.dtype)
        exponent = np.matmul(left.signs * rates, right.signs.T, out=out)
        if self.any_unknown:
            for part in pair_blocks(*exponent.shape):
                exponent[part] -= (left.known[part] * damping) @ right.known.T
            exponent -= np.sum(rates - damping)
        else:
            exponent -= np.sum(rates)
        return np.exp(exponent, out=exponent)

    def _sum_equal(self, values: NDArray[np.float64]) -> NDArray:
        """Sums of values of inputs over those whose signs are equal."""
        return np.bincount(self.index, values[self.signs])

    def _lines(self, prior: Prior) -> tuple[NDArray, NDArray]:
        """``level`` and ``slope`` of the factors of inputs with any values."""
        dtype = self.left.reals.dtype
        level, slope = self._tables(prior).lines(self.reals)
        return level.astype(dtype, copy=False), slope.astype(dtype, copy=False)

    def _look_up(
        self,
        i: int,
        tables: NDArray[np.float64],
        is_factor: bool,
        out: NDArray[np.float64],
    ) -> None:
        """Multiply by entries of the tables of alike categoricals, or add them."""
        left, right = self.left.categories[i], self.right.categories[i]
        tables = tables.astype(out.dtype, copy=False)
        look_up(left, right, tables, is_factor, self.is_half, out)

    def _complete(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mirror the half of a matrix, where kernels have computed no more."""
        if self.is_half:
            mirror(matrix)
        return matrix

    def covariance(self, prior: Prior) -> NDArray[np.float64]:
        """Covariance of the function values."""
        product = self.product(prior)
        product *= prior.signal_variance
        return self._add_to_product(prior, product)

    def join(
        self,
        prior: Prior,
        product: NDArray[np.float64],
        out: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Covariance of the function values from their :meth:`product`."""
        return self._add_to_product(
            prior, np.multiply(prior.signal_variance, product, out=out)
        )

    def _add_to_product(
        self, prior: Prior, covariance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Add in place what depends on one input alone, and on none."""
        left, right, tables = self.left, self.right, self._tables(prior)
        covariance += PRIOR.constant_variance
        weights = tables.linear.astype(covariance.dtype, copy=False)
        # Of many rows there is hardly room for two such matrices.
        if len(self.signs):
            of_signs = self._sum_equal(weights).astype(covariance.dtype)
            for part in pair_blocks(*covariance.shape):
                products = left.signs[part] * of_signs
                covariance[part] += products @ right.signs.T
        if len(self.reals):
            of_reals = weights[self.reals]
            for part in pair_blocks(*covariance.shape):
                products = left.reals[:, part].T * of_reals
                covariance[part] += products @ right.reals
        if self.fixed is not None:
            covariance += prior.main_effect_variance * self.fixed.linear
        for i, centered in enumerate(tables.centered):
            self._look_up(i, centered, False, covariance)
        return self._complete(covariance)

    def slope(
        self, prior: Prior, product: NDArray[np.float64], outer: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Gradient of ``sum(outer * covariance)`` with respect to the logarithms."""
        # For ``rates``, ``category_rates``, ``scale`` and ``linear``. Rows must be
        # paired with themselves; only the sum of `outer` and its transpose matters.
        side, tau = self.left, prior.tau
        outer = np.ascontiguousarray(outer, product.dtype)
        # Relative changes of the product are weighed by `weighted`.
        folded, weighted = self._folds
        fold(
            outer, product, product.dtype.type(prior.signal_variance), folded, weighted
        )
        total = float(weighted.sum())
        by_product = np.empty(len(tau))
        by_linear = np.empty(len(tau))
        # Sums over pairs of x_i x'_i, the diagonal of X' W X.
        by_product[self.signs] = _diagonal(side.signs, weighted)[self.index]
        if self.any_unknown:
            both_known = _diagonal(side.known, weighted)[self.index]
            by_product[self.signs] -= tau[self.signs] * both_known
            by_product[self.signs] -= (1.0 - tau[self.signs]) * total
        else:
            by_product[self.signs] -= total
        by_linear[self.signs] = _diagonal(side.signs, folded)[self.index]
        if len(self.reals):
            sums = np.zeros(len(self.reals))
            sum_lines(side.reals, *self._lines(prior), weighted, sums)
            # d log factor / d a, with d tau / d a = 1 - tau^2.
            by_product[self.reals] = (1.0 - tau[self.reals]) * (sums - total)
            by_linear[self.reals] = _diagonal(side.reals.T, folded)
        explained = float(tau @ by_linear)
        if self.fixed is not None:
            explained += float(np.vdot(folded, self.fixed.linear))
        by_category = np.empty(len(prior.category_rates))
        for i, part in enumerate(self._tables(prior).parts):
            on_centered, on_factors = side.sum_by_categories(i, folded, weighted)
            explained += float(np.sum(on_centered * part.centered))
            # Where a factor has vanished, so has its part of the product.
            relative = on_factors / np.where(part.factors == 0, 1.0, part.factors)
            by_category[part.indices] = part.slope(
                relative, prior.main_effect_variance * on_centered
            )
        by_rate = by_product + prior.main_effect_variance * (1.0 - tau**2) * by_linear
        return np.concatenate(
            [
                prior.ard_rates * by_rate,
                prior.category_rates * by_category,
                [total, prior.main_effect_variance * explained],
            ]
        )

    def slopes(
        self,
        prior: Prior,
        product: NDArray[np.float64],
        weights: NDArray[np.float64],
        alpha: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Gradients of ``weights @ covariance @ alpha``, (n_weights, n_logs)."""
        # As of :meth:`slope`. For signs alone two products with all weights give them.
        side, tau = self.left, prior.tau
        if self.any_unknown or len(self.reals) or self.categoricals:
            outers = (np.outer(row, alpha) for row in weights)
            return np.array([self.slope(prior, product, outer) for outer in outers])
        # A row's sum over pairs of w_a alpha_b x_a x_b is one of w_a x_a (x' alpha)_a.
        signs = side.signs
        total = prior.signal_variance * (weights @ (product @ alpha))
        near = weights @ (signs * (product @ (alpha[:, None] * signs)))
        by_product = prior.signal_variance * near[:, self.index] - total[:, None]
        by_linear = ((weights @ signs) * (alpha @ signs))[:, self.index]
        by_rate = by_product + prior.main_effect_variance * (1.0 - tau**2) * by_linear
        by_scales = np.column_stack(
            [total, prior.main_effect_variance * (by_linear @ tau)]
        )
        return np.hstack([prior.ard_rates * by_rate, by_scales])

    @cached_property
    def _folds(self) -> NDArray:
        """Memory for `fold`, which writes up to the diagonal."""
        shape = 2, len(self.left), len(self.left)
        return np.zeros(shape, self.left.signs.dtype)

    def _tables(self, prior: Prior) -> PriorTables:
        """Tables of a prior, computed once for it."""
        if self._latest is None or not self._latest.are_of(prior):
            self._latest = PriorTables(prior, self.categoricals)
        return self._latest


class FixedInputs(NamedTuple):
    """Rows paired with themselves by inputs whose rates stay as they are."""

    product: NDArray[np.float64]  # (n_rows, n_rows); of their factors
    # (n_rows, n_rows); sum of their covariances as single inputs, where
    # `main_effect_variance` is 1.
    linear: NDArray[np.float64]

    @classmethod
    def of(cls, rows: EncodedRows, prior: Prior, inputs: NDArray[np.intp]) -> Self:
        """Compute them for some of the inputs. O(n_inputs n_rows^2)."""
        projected = EncodedRows(rows.inputs[:, inputs], rows.categories[:, :0])
        pairs = GramMatrix(projected, projected)
        own = Prior(prior.ard_rates[inputs], np.empty(0), 1.0, 1.0, 1.0)
        # Less the constant, which is added.
        linear = np.full((len(rows), len(rows)), -PRIOR.constant_variance)
        return cls(pairs.product(own), pairs._add_to_product(own, linear))


class _Side:
    """Rows of one side, taken apart by kind of column."""

    def __init__(
        self,
        rows: EncodedRows,
        signs: NDArray[np.intp],
        reals: NDArray[np.intp],
        categoricals: list[CategoricalGroup],
        dtype: type,
    ) -> None:
        self.signs = np.ascontiguousarray(rows.inputs[:, signs], dtype=dtype)
        # A line for each input, as one after the other is multiplied.
        self.reals = np.ascontiguousarray(rows.inputs[:, reals].T, dtype=dtype)
        self.any_unknown = not self.signs.all()
        # Lines for the same reason, of what numba need not look for below zero.
        self.categories = [
            np.ascontiguousarray(rows.categories[:, alike.categoricals].T, np.uint32)
            for alike in categoricals
        ]
        self._sizes = [alike.indices.shape for alike in categoricals]

    def __len__(self) -> int:
        return len(self.signs)

    @cached_property
    def known(self) -> NDArray:
        """1 where an input is known, else 0; as large as the inputs."""
        return np.abs(self.signs)

    def sum_by_categories(
        self, i: int, folded: NDArray[np.float64], weighted: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Sums of two matrices by the categories of pairs of rows, tables for each."""
        n_categoricals, n_categories = self._sizes[i]
        indices = n_categoricals, n_categories + 2
        row = np.empty((*indices, 2), folded.dtype)
        sums = np.zeros((*indices, indices[1], 2))
        categories = np.ascontiguousarray(self.categories[i].T)
        sum_by_categories(categories, folded, weighted, row, sums)
        return np.moveaxis(sums, -1, 0)


class CategoricalGroup(NamedTuple):
    """Categoricals of the same size and order, whose tables are computed together."""

    categoricals: np.ndarray  # (n_categoricals,), int
    # (n_categoricals, n_categories), int; positions among all rates.
    indices: np.ndarray
    is_ordered: bool
    # (n_categoricals, n_categories); of each category where it is unknown.
    probabilities: np.ndarray


def _split_inputs(
    rows: EncodedRows, real: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], ...]:
    """Inputs that are -1, 0 or +1, others, and the numbers of the former."""
    # The same objects for the same rows: `PriorTables` finds inputs by them.
    key = _split_inputs, real.tobytes()
    if key not in rows.prepared:
        signs, reals = np.flatnonzero(~real), np.flatnonzero(real)
        rows.prepared[key] = signs, reals, np.arange(len(signs))
    return rows.prepared[key]


def find_alike(alphabets: tuple[Categorical, ...]) -> list[CategoricalGroup]:
    """Sort categoricals by size and order, as a list of `CategoricalGroup`."""
    first = np.cumsum([0, *sizes_of(alphabets)])
    found = {}
    for i, alphabet in enumerate(alphabets):
        found.setdefault(alphabet[:2], []).append(i)
    return [
        CategoricalGroup(
            np.array(categoricals),
            np.add.outer(first[categoricals], np.arange(size)),
            is_ordered,
            np.array([alphabets[i].probability for i in categoricals]),
        )
        for (size, is_ordered), categoricals in found.items()
    ]


class _AlikeTables:
    """Factors between the categories of a group of categoricals."""

    # A categorical of L categories has L + 2 rows: the last but one is that of an
    # unknown category, the last one the average of all.

    def __init__(self, rates: NDArray[np.float64], alike: CategoricalGroup) -> None:
        self.indices, self.is_ordered = alike.indices, alike.is_ordered
        self._plain = np.exp(-_distances(rates[self.indices], self.is_ordered))
        self._average = _averaging(alike.probabilities)
        self._deviation = self._average - self._average[:, -1:]
        # (n_categoricals, n_places, n_places); with ``n_places = n_categories + 2``.
        self.factors = _congruent(self._average, self._plain)
        self._mean = self.factors[:, -1:, -1:]
        # The same less their means.
        self.centered = _congruent(self._deviation, self._plain) / self._mean

    def slope(
        self, on_factors: NDArray[np.float64], on_centered: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Gradient in the rates from those in the entries of both tables."""
        upper = _congruent(self._average.transpose(0, 2, 1), on_factors)
        by_deviation = _congruent(self._deviation.transpose(0, 2, 1), on_centered)
        upper += by_deviation / self._mean
        fall = np.sum(on_centered * self.centered, axis=(1, 2), keepdims=True)
        # In the average of all, each has the weight 1 / L.
        upper -= fall / self._mean / upper.shape[1] ** 2
        by_distance = (upper + upper.transpose(0, 2, 1)) * self._plain
        return -_distance_slope(by_distance, self.is_ordered)


class PriorTables:
    """What a prior makes of inputs and categories, whatever the rows."""

    def __init__(self, prior: Prior, categoricals: list[CategoricalGroup]) -> None:
        self.prior, self.alike = prior, categoricals
        self.parts = [_AlikeTables(prior.category_rates, part) for part in categoricals]
        self._lines = np.empty(0, int), np.empty(0), np.empty(0)

    def are_of(self, prior: Prior) -> bool:
        """Whether they are those of a prior, which may differ in the noise."""
        own = self.prior
        return (
            own.ard_rates is prior.ard_rates
            and own.category_rates is prior.category_rates
            and own.main_effect_variance == prior.main_effect_variance
        )

    @cached_property
    def linear(self) -> NDArray[np.float64]:
        """Further variance of the weight of each single input."""
        return self.prior.main_effect_variance * self.prior.tau

    @cached_property
    def centered(self) -> list[NDArray[np.float64]]:
        """The same of categories, tables for each part."""
        variance = self.prior.main_effect_variance
        return [variance * part.centered for part in self.parts]

    def lines(
        self, reals: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``level`` and ``slope`` of the factors of some inputs, those of the last."""
        known = self._lines  # which another thread may replace
        if known[0] is not reals:
            tau = self.prior.tau[reals]
            known = self._lines = reals, 1.0 / (1.0 + tau), tau / (1.0 + tau)
        return known[1:]

    def by_categorical(self) -> list[list[NDArray[np.float64]]]:
        """Tables of each categorical, a list of pairs of `factors` and `centered`."""
        found = {
            categorical: tables
            for alike, part in zip(self.alike, self.parts, strict=True)
            for categorical, *tables in zip(
                alike.categoricals.tolist(), part.factors, part.centered, strict=True
            )
        }
        return [found[categorical] for categorical in range(len(found))]


def _distances(rates: NDArray[np.float64], is_ordered: bool) -> NDArray[np.float64]:
    """Minus the logarithms of the factors between categories, a table for each."""
    if is_ordered:
        steps = np.cumsum(rates[:, :-1] + rates[:, 1:], axis=1)
        steps = np.hstack([np.zeros((len(steps), 1)), steps])
        return np.abs(steps[:, :, None] - steps[:, None, :])
    distances = rates[:, :, None] + rates[:, None, :]
    distances *= 1.0 - np.eye(rates.shape[1])
    return distances


def _distance_slope(
    by_distance: NDArray[np.float64], is_ordered: bool
) -> NDArray[np.float64]:
    """Gradient in the rates from that in each pair's distance, which is symmetric."""
    if not is_ordered:
        return by_distance.sum(axis=2) - np.diagonal(by_distance, axis1=1, axis2=2)
    # A step lies between all categories up to it and all beyond.
    beyond = np.cumsum(by_distance[:, :, ::-1], axis=2)[:, :, ::-1]
    by_step = np.diagonal(np.cumsum(beyond, axis=1), 1, axis1=1, axis2=2)
    none = np.zeros((len(by_step), 1))
    return np.hstack([by_step, none]) + np.hstack([none, by_step])


def _averaging(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Categories, an unknown one, and their mean, as functionals of their values."""
    n_categoricals, size = probabilities.shape
    each = np.broadcast_to(np.eye(size), (n_categoricals, size, size))
    mean = np.full((n_categoricals, 1, size), 1.0 / size)
    return np.concatenate([each, probabilities[:, None], mean], axis=1)


def _congruent(
    left: NDArray[np.float64], middle: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``left middle left'`` of matrices, one by one."""
    return left @ middle @ left.transpose(0, 2, 1)


def _diagonal(
    columns: NDArray[np.float64], matrix: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``diag(columns' matrix columns)``."""
    return np.einsum("di,di->i", columns, matrix @ columns).astype(np.float64)
