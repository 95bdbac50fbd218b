"""Models of classes: few weights, or a pool of models that weighs them by what it sees.

The table of strategies of `MOHNClassifier`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import logsumexp

from skmohn.mohn._dense.classes import (
    LEAST_SQUARES,
    LEVELS,
    LINES,
    Lesson,
    Member,
    weigh,
)
from skmohn.mohn._model import Gaps
from skmohn.mohn._products import discover, expand, expand_rows
from skmohn.mohn._sparse.classes import LogisticModel
from skmohn.mohn._sparse.logistic import SEARCH_C
from skmohn.mohn._sparse.logistic_selection import deal_folds
from skmohn.mohn._sparse.sobol import shares_of_products
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.rows import member_values
from skmohn.mohn._walsh.design import product_columns
from skmohn.mohn._walsh.terms import with_kept

SPARSE = "sparse"
# Completions of a row whose probabilities are averaged.
_MOST_COMPLETIONS = 16
# Parameters that few weights have, and how they are when nobody asks for these.
_OF_FEW = {"max_order": None, "max_columns": None, "include_inputs": True}
# What each value of `DenseControl.numeric` makes of numeric columns.
_WAYS = {
    "auto": (LINES, LEVELS),
    "multilinear": (LINES,),
    "thermometer": (LEVELS,),
}


@dataclass(frozen=True)
class SparseClasses:
    """Logistic regression on products.

    Attributes
    ----------
    readable : LogisticModel

    coding : InputCoding
    """

    readable: LogisticModel
    coding: InputCoding
    name = SPARSE
    is_listed = True

    @classmethod
    def learn(cls, samples, terms, C=SEARCH_C):
        """Learn the weights of products, see `LogisticModel.learn`."""
        return cls(LogisticModel.learn(expand(samples), terms, C), samples.coding)

    def log_odds(self, rows):
        """Log probabilities of the classes up to a constant for each row.

        Parameters
        ----------
        rows : Rows

        Returns
        -------
        log_odds : ndarray of shape (n_rows, n_classes)
        """
        return self.readable.log_odds(expand_rows(rows, self.coding))

    def log_proba(self, rows):
        """Log probabilities of the classes."""
        return self.readable.log_proba(expand_rows(rows, self.coding))

    def importances(self, vocabulary):
        """Total Sobol index of each column, for the log-odds over uniform inputs.

        Parameters
        ----------
        vocabulary : Vocabulary

        Returns
        -------
        importances : ndarray of shape (n_features,)
        """
        vocabulary = vocabulary.without_levels()
        terms, weights = self.readable.terms, self.readable.weights
        shares = shares_of_products(terms, weights, vocabulary)
        return _by_column(vocabulary, shares)

    def parts(self, rows, vocabulary):
        """What one row multiplies each weight by, and its log-odds by the terms' model.

        Parameters
        ----------
        rows : Rows
            One row.

        vocabulary : Vocabulary

        Returns
        -------
        values : ndarray of shape (n_terms,)

        log_odds : ndarray of shape (n_classes,)
        """
        inputs = expand_rows(rows, self.coding).astype(float)
        values = product_columns(inputs, self.readable.terms)[0]
        return values, self.readable.log_odds(inputs)[0]

    def relevance(self):
        """None: it has no prior."""
        return None

    def shares_by_name(self):
        """The share of each member, as a dict; the largest first."""
        return {self.name: 1.0}


@dataclass(frozen=True)
class PooledClasses:
    """Several models, each with a share of the probabilities.

    Attributes
    ----------
    members : tuple of Member and SparseClasses

    shares : ndarray of shape (n_members,)

    gaps : Gaps
        What unknown inputs may hide.

    readable : LogisticModel
        Terms and weights to be shown: of few weights where these have most of the
        shares, else of `dense`.

    dense : Member
        The one by least squares with the largest share.
    """

    members: tuple
    shares: np.ndarray
    gaps: Gaps
    readable: LogisticModel
    dense: Member

    def log_odds(self, rows):
        """Log probabilities of the classes; see `SparseClasses.log_odds`."""
        return self.log_proba(rows)

    def log_proba(self, rows):
        """Log probabilities of the classes, averaged over what gaps could be."""
        log_proba = self._of_complete(rows)
        for some, completed, ends in self.gaps.completions(rows, _MOST_COMPLETIONS):
            parts = np.split(self._of_complete(completed), ends)
            log_proba[some] = [
                logsumexp(part, axis=0) - np.log(len(part)) for part in parts
            ]
        return log_proba

    @property
    def few(self):
        """The sparse member, where `readable` is its model; else None."""
        first = self.members[0]
        is_few = first.name == SPARSE and first.readable is self.readable
        return first if is_few else None

    @property
    def is_listed(self):
        """Whether all weights of the model that is shown are in its terms."""
        return self.few is not None

    def parts(self, rows, vocabulary):
        """What one row is made of, see `SparseClasses.parts`."""
        if self.few is not None:
            return self.few.parts(rows, vocabulary)
        members = member_values(rows, vocabulary.alphabets)
        values = [np.prod(members[list(term)]) for term in self.readable.terms]
        return np.array(values), self.dense.log_odds(rows)[0]

    def importances(self, vocabulary):
        """Total Sobol indices, see `SparseClasses.importances`; of the scores."""
        if self.few is not None:
            return self.few.importances(vocabulary)
        if self.dense.numeric == LINES:
            vocabulary = vocabulary.without_levels()
        variables, _ = vocabulary.columns()
        variance, total = self.dense.shares(variables)
        return _by_column(vocabulary, total / (variance or 1.0))

    def relevance(self):
        """``tau`` of inputs and of categoricals, by the prior of `dense`."""
        covariance = self.dense.covariance
        return covariance.prior.tau, covariance.categorical_tau()

    def shares_by_name(self):
        """The share of each member, as a dict; the largest first."""
        order = np.argsort(-self.shares, kind="stable")
        return {self.members[k].name: float(self.shares[k]) for k in order}

    def _of_complete(self, rows):
        parts = np.array([member.log_proba(rows) for member in self.members])
        return np.asarray(logsumexp(parts + np.log(self.shares)[:, None, None], axis=0))


def _by_column(vocabulary, shares):
    """Shares of variables as shares of columns."""
    found = np.zeros(vocabulary.n_features)
    for columns, share in zip(vocabulary.columns()[1], shares, strict=True):
        found[list(columns)] = share
    return found


class ClassSolution(NamedTuple):
    """A fitted model of classes and what is to be said about it.

    Attributes
    ----------
    model : SparseClasses or PooledClasses

    reason : str
        Why this one, in plain words.

    coverage : list of dict
    """

    model: object
    reason: str
    coverage: list

    @property
    def result(self):
        """What a search reports last."""
        return self.model


class ClassStrategy(NamedTuple):
    """What `MOHNClassifier.fit` has to know of a strategy.

    Attributes
    ----------
    solve : callable
        Of `Samples`, `Wishes` and a function to report to, which is called with a
        record and the model so far or what makes it; returns a `ClassSolution`.

    finds_all : bool, default=False
        Whether it may end with all weights, those of levels too.
    """

    solve: Callable
    finds_all: bool = False


def solve_few(samples, wishes, report):
    """Find products and learn their weights; see `ClassStrategy`."""
    found, model = _find_few(samples, wishes, report)
    return ClassSolution(model, found.reason, found.coverage)


def solve_pool(samples, wishes, report, *, has_few=False):
    """Learn all weights in several ways, and perhaps few; pool what they say.

    Parameters
    ----------
    samples, wishes, report
        As of `ClassStrategy`.

    has_few : bool, default=False
        Whether few weights are a member, or all there is where a parameter asks for it.
    """
    asked = [name for name, usual in _OF_FEW.items() if getattr(wishes, name) != usual]
    if not samples.vocabulary.labels or (has_few and asked):
        why = f"{asked[0]} asks for it" if asked else "no column of X varies"
        found = solve_few(samples, replace(wishes, strategy="logistic"), report)
        reason = f"the sparse model, because {why}; {found.reason}"
        return found._replace(reason=reason)
    members, left_out, coverage = [], [], []
    if has_few:
        found, few = _find_few(samples, replace(wishes, strategy="logistic"), report)
        coverage = found.coverage
        if found.choice.how == "stopped":
            return ClassSolution(few, found.reason, coverage)
        if found.choice.folds:
            members.append(few)
            left_out.append(_left_out_by_few(samples, wishes, found, few))
    lessons = _lessons(samples, wishes)
    learnt = Parallel(n_jobs=wishes.n_jobs)(delayed(part.learn)() for part in lessons)
    for lesson, found in zip(lessons, learnt, strict=True):
        for member, chances in found:
            members.append(member)
            left_out.append(chances)
            model = partial(_pool, samples, wishes, members, left_out, lessons)
            loss = -float(np.average(chances, weights=lesson.labels.weight))
            record = {"member": member.name, "validation_log_loss": loss}
            if report(record, model):
                return _conclude(model(), coverage, "a callback stopped the search: ")
    return _conclude(model(), coverage)


def _find_few(samples, wishes, report):
    def tell(record, terms):
        return report(record, partial(SparseClasses.learn, samples, terms))

    found = discover(expand(samples), wishes, tell)
    C = SEARCH_C if wishes.C == "auto" else float(wishes.C)
    if wishes.C == "auto" and found.choice is not None:
        C = found.choice.best_penalty()
    return found, SparseClasses.learn(samples, found.terms, C)


def _left_out_by_few(samples, wishes, found, few):
    """Log probability of each observation, by the fold that leaves it out.

    NaN where none does.
    """
    folds = deal_folds(expand(samples), wishes.selection, wishes.cv)
    chances = np.full(len(samples.y), np.nan)
    for (_, test), path in zip(folds, found.choice.folds, strict=True):
        chances[test] = -path.refit_losses(found.choice.position, few.readable.C)
    return chances


def _lessons(samples, wishes):
    """What is to be learnt of all weights: for each way to take numeric columns."""
    lessons = []
    ways = _WAYS[wishes.dense_control.numeric]
    for numeric in ways if samples.coding.thresholds else (LINES,):
        coding = samples.coding
        if numeric == LINES:
            coding = coding.without_levels()
        lessons.append(
            Lesson.read(
                samples.rows.as_float(),
                samples.y,
                len(samples.classes),
                samples.weight,
                coding.alphabets,
                numeric,
                memory_budget=wishes.memory_budget,
                seed=samples.seed,
            )
        )
    return lessons


def _pool(samples, wishes, members, left_out, lessons):
    """Weigh the members; look at the terms of the one that counts most."""
    left_out = np.transpose(left_out)
    known = ~np.isnan(left_out).any(axis=1)
    weight = None if samples.weight is None else samples.weight[known]
    shares = weigh(left_out[known], weight)
    by_squares = [
        k
        for k, member in enumerate(members)
        if getattr(member, "likelihood", None) == LEAST_SQUARES
    ]
    dense = members[max(by_squares, key=lambda k: shares[k])]
    if members[0].name == SPARSE and shares[0] > 0.5:
        readable = members[0].readable
    else:
        (lesson,) = [part for part in lessons if part.numeric == dense.numeric]
        readable = LogisticModel(*lesson.listed(dense, wishes.max_order), None)
    gaps = Gaps.of(samples.rows, samples.coding, samples.weight)
    return PooledClasses(tuple(members), shares, gaps, readable, dense)


def _conclude(model, coverage, why=""):
    shares = model.shares_by_name()
    said = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    noun = "model" if len(shares) == 1 else "models"
    reason = f"{why}a pool of {len(shares)} {noun}: {said}"
    return ClassSolution(model, reason, with_kept(coverage, model.readable.terms))


CLASS_STRATEGIES = {
    "auto": ClassStrategy(partial(solve_pool, has_few=True), finds_all=True),
    "dense": ClassStrategy(solve_pool, finds_all=True),
    **{
        name: ClassStrategy(solve_few)
        for name in ("logistic", "pursuit", "msda", "full", "given")
    },
}
