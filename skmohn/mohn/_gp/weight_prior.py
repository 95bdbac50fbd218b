"""Product prior of values and weights, before any data are seen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn._core._types import Term
from skmohn.mohn._gp.covariance_function import (
    GramMatrix,
    Prior,
    PriorTables,
    find_alike,
)
from skmohn.mohn._gp.pairs import PairVariances
from skmohn.mohn._models import PRIOR
from skmohn.mohn._table.rows import EncodedRows, pair_blocks, sizes_of


@dataclass(frozen=True)
class Covariance:
    """Prior covariances of function values and of weights."""

    prior: Prior
    alphabets: tuple = ()  # the categories of each categorical
    # Sets of inputs whose weights have further variance, beside the product's.
    terms: tuple = ()
    variances: tuple = ()  # of these
    # Pairs with a categorical whose joint parts have further variance.
    pairs: tuple[PairVariances, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the tables, which are soon made again."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def between(
        self, left: EncodedRows, right: EncodedRows, dtype: type = np.float64
    ) -> NDArray[np.float64]:
        """Covariance of the values at rows with those at rows."""
        pairs = GramMatrix(
            left, right, self.alphabets, dtype, tables=self._prior_tables
        )
        return self.add_terms(pairs.covariance(self.prior), left, right)

    def add_terms(
        self, covariance: NDArray[np.float64], left: EncodedRows, right: EncodedRows
    ) -> NDArray[np.float64]:
        """Add the variances of single sets to a covariance, in place."""
        dtype = covariance.dtype
        for term, variance in zip(self.terms, self.variances, strict=True):
            own = (variance * parity(left.inputs, term)).astype(dtype)
            other = parity(right.inputs, term).astype(dtype)
            # Of many rows there is hardly room for two such matrices.
            for part in pair_blocks(*covariance.shape):
                covariance[part] += np.multiply.outer(own[part], other)
        for pair in self.pairs:
            pair.add_to(covariance, left, right)
        return covariance

    def own(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Variance of the value at each row."""
        tau = self.prior.tau
        squares = rows.inputs**2
        product = np.exp(np.sum(np.log1p(squares * tau) - np.log1p(tau), axis=1))
        linear = squares @ tau
        for i, (factors, centered) in enumerate(self.tables):
            category = rows.categories[:, i]
            product *= np.diagonal(factors)[category]
            linear += np.diagonal(centered)[category]
        variance = (
            self.prior.signal_variance * product
            + self.prior.main_effect_variance * linear
        )
        for term, own in zip(self.terms, self.variances, strict=True):
            variance += own * parity(rows.inputs, term) ** 2
        for pair in self.pairs:
            variance += pair.own(rows)
        return variance + PRIOR.constant_variance

    def with_weight(
        self, rows: EncodedRows, term: Term, categories: Sequence[tuple[int, int]] = ()
    ) -> NDArray[np.float64]:
        """Covariance of a weight with the function at rows."""
        # It connects the inputs of `term`, and categoricals by pairs (categorical,
        # category). With these it is the part of the function that depends on all of
        # them and on nothing else, at these categories.
        tau, chosen = self.prior.tau, dict(categories)
        product = parity(rows.inputs, term)
        values, linear = self._variance_of_signs(term) * product, 0.0
        if len(term) == 1 and not chosen:
            linear = tau[term[0]] * rows.inputs[:, term[0]]
        for i, (factors, centered) in enumerate(self.tables):
            row = factors[-1]
            if i in chosen:
                row = factors[chosen[i]] - factors[-1]
                if not term and len(chosen) == 1:
                    linear = centered[chosen[i]][rows.categories[:, i]]
            values = values * row[rows.categories[:, i]]
        extra = 0.0 if chosen else self._extra(term)
        for pair in self.pairs:
            if own := pair.values_of(term, chosen):
                values = values + pair.with_weight(rows, own)
        return values + self.prior.main_effect_variance * linear + extra * product

    def split(self, members: Term) -> tuple[Term, tuple[tuple[int, int], ...]]:
        """Split a set into its inputs, and its categoricals with their categories."""
        # Inputs are numbered first, then the categories of all categoricals.
        n_inputs = len(self.prior.ard_rates)
        term = tuple(m for m in members if m < n_inputs)
        others = [m for m in members if m >= n_inputs]
        first = n_inputs + np.cumsum([0, *sizes_of(self.alphabets)])
        indices = np.searchsorted(first, others, side="right") - 1
        return term, tuple(
            (int(categorical), int(m - first[categorical]))
            for m, categorical in zip(others, indices, strict=True)
        )

    def screening(
        self, rows: EncodedRows
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
        """Columns whose products are covariances with weights of the product part."""
        # Returned are the covariance with the constant, but for a factor; what each
        # member of a set multiplies it by, (n_rows, n_members), see :meth:`split`; and
        # the group of each member, of which no set has two.
        base, columns = np.ones(len(rows)), [rows.inputs * self.prior.tau]
        for i, (factors, _) in enumerate(self.tables):
            seen = factors[:, rows.categories[:, i]]
            base = base * seen[-1]
            columns.append((seen[:-2] / seen[-1] - 1.0).T)
        n_inputs = len(self.prior.ard_rates)
        categoricals = n_inputs + np.arange(len(self.alphabets))
        groups = np.append(
            np.arange(n_inputs), np.repeat(categoricals, sizes_of(self.alphabets))
        )
        return base, np.hstack(columns), groups.astype(int)

    def categorical_tau(self) -> list[float]:
        """``tau`` of inputs whose values are as alike as two categories on average."""
        taus = []
        for (factors, _), (size, *_) in zip(self.tables, self.alphabets, strict=True):
            plain = factors[:-2, :-2]
            alike = (plain.sum() - size) / (size * (size - 1))
            taus.append(float((1.0 - alike) / (1.0 + alike)))
        return taus

    def of_weight(
        self, term: Term, categories: Sequence[tuple[int, int]] = ()
    ) -> float:
        """Variance of one weight, see :meth:`with_weight`."""
        chosen, variance, linear = dict(categories), self._variance_of_signs(term), 0.0
        if len(term) == 1 and not chosen:
            linear = float(self.prior.tau[term[0]])
        for i, (factors, centered) in enumerate(self.tables):
            if i not in chosen:
                variance *= factors[-1, -1]
                continue
            j = chosen[i]
            variance *= factors[j, j] - 2.0 * factors[j, -1] + factors[-1, -1]
            if not term and len(chosen) == 1:
                linear = centered[j, j]
        extra = 0.0 if chosen else self._extra(term)
        for pair in self.pairs:
            if own := pair.values_of(term, chosen):
                extra += pair.variance * math.prod(float(v @ v) for v in own)
        return float(variance + self.prior.main_effect_variance * linear + extra)

    def weight_stds(self, terms: Sequence[Term]) -> NDArray[np.float64]:
        """Standard deviations of weights, numbered as by :meth:`split`."""
        return np.sqrt([self.of_weight(*self.split(term)) for term in terms])

    def all_weights(self) -> NDArray[np.float64]:
        """Variances of all 2^n weights of two-valued inputs."""
        # Bit i of an index is 1 if input i is in the set.
        variances = np.array([self.prior.signal_variance])
        for tau in self.prior.tau:
            fractions = np.array([1.0, tau]) / (1.0 + tau)
            variances = np.multiply.outer(fractions, variances).ravel()
        variances[0] += PRIOR.constant_variance
        variances[1 << np.arange(len(self.prior.tau))] += (
            self.prior.main_effect_variance * self.prior.tau
        )
        for term, variance in zip(self.terms, self.variances, strict=True):
            variances[sum(1 << i for i in term)] += variance
        return variances

    def _variance_of_signs(self, term: Term) -> float:
        """Variance that the product gives to one set of inputs."""
        tau = self.prior.tau
        log_variance = np.sum(np.log(tau[list(term)])) - np.sum(np.log1p(tau))
        return self.prior.signal_variance * float(np.exp(log_variance))

    def _extra(self, term: Term) -> float:
        """Variance of a weight beside those of product and single inputs."""
        extra = 0.0 if term else PRIOR.constant_variance
        own = zip(self.terms, self.variances, strict=True)
        return extra + sum(variance for other, variance in own if other == term)

    @cached_property
    def _prior_tables(self) -> PriorTables:
        return PriorTables(self.prior, find_alike(self.alphabets))

    @cached_property
    def tables(self) -> list[list[NDArray[np.float64]]]:
        """Factors between the categories of each, and their centered parts."""
        return self._prior_tables.by_categorical()


def parity(inputs: NDArray[np.float64], term: Term) -> NDArray[np.float64]:
    """Product of the inputs of one set, row by row; 1 for the empty set."""
    return inputs[:, list(term)].prod(axis=1)
