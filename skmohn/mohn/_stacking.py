"""Models of classes: few weights, or a pool of models that weighs them by what it sees.

The table of strategies of `MOHNClassifier`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import log_softmax, logsumexp

from skmohn._core._fitting import one_blas_thread
from skmohn.mohn._design.design import product_columns
from skmohn.mohn._design.plane_design import Planes
from skmohn.mohn._design.terms import with_kept
from skmohn.mohn._gp.classification import (
    LEAST_SQUARES,
    LEVELS,
    LINES,
    LOGISTIC,
    OUTPUT_SIGNS,
    Lesson,
    Link,
    Member,
    weigh,
    worth_likelihoods,
)
from skmohn.mohn._models import Gaps
from skmohn.mohn._sparse.classes import LogisticModel
from skmohn.mohn._sparse.logistic import SEARCH_C
from skmohn.mohn._sparse.ridge_logistic import fit_ridge_logistic
from skmohn.mohn._sparse.ridge_logistic import work_of as ridge_work
from skmohn.mohn._sparse.sobol import shares_of_products
from skmohn.mohn._spike_slab.probit import ProbitSample
from skmohn.mohn._spike_slab.solve import (
    BRIEF_ORDER,
    MOST_WORK,
    count_sets,
    is_affordable,
)
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.rows import Rows, member_values
from skmohn.mohn._term_search import discover, expand, expand_rows

SPARSE, ADDITIVE, SPIKE_SLAB = "sparse", "additive", "spike and slab"
# Completions of a row whose probabilities are averaged.
_MOST_COMPLETIONS = 16
# Parameters that few weights have, and how they are when nobody asks for these.
_OF_FEW = {
    "max_order": None,
    "max_terms": None,
    "include_inputs": True,
    "terms": None,
}
# Observations that a member counts for before any is seen; others count for one. Of 42
# public tables of 100 rows the log loss is flat from 5 to 100 and worse with one, and
# products are foreseen the better the less it has: with few rows, what large models say
# left out flatters them.
_PSEUDO_COUNTS = {ADDITIVE: 5.0}
# What each value of `GPOptions.numeric` makes of numeric columns.
_WAYS = {
    "auto": (LINES, LEVELS),
    "multilinear": (LINES,),
    "thermometer": (LEVELS,),
}


class ProductClasses:
    """Log-odds that are sums of products, by a model of all weights, `whole`."""

    def log_odds(self, rows):
        """Log probabilities of the classes up to a constant for each row.

        Parameters
        ----------
        rows : Rows

        Returns
        -------
        log_odds : ndarray of shape (n_rows, n_classes)
        """
        return self.whole.log_odds(expand_rows(rows, self.coding))

    def log_proba(self, rows):
        """Log probabilities of the classes."""
        return self.whole.log_proba(expand_rows(rows, self.coding))

    def importances(self, vocabulary, marginals):
        """Total Sobol index of each column, for the log-odds.

        Parameters
        ----------
        vocabulary : Vocabulary

        marginals : Marginals or None
            How columns are distributed, see `Vocabulary.columns`.

        Returns
        -------
        importances : ndarray of shape (n_features,)
        """
        vocabulary = vocabulary.without_levels()
        terms, weights = self.whole.terms, self.whole.weights
        variables, _ = vocabulary.columns(marginals)
        shares = shares_of_products(terms, weights, vocabulary, variables)
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
        inputs = np.asarray(expand_rows(rows, self.coding), dtype=float)
        values = product_columns(inputs, self.readable.terms)[0]
        return values, self.whole.log_odds(inputs)[0]


@dataclass(frozen=True)
class SparseClasses(ProductClasses):
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

    @property
    def whole(self):
        """The model of all weights: those that are shown."""
        return self.readable

    def relevance(self):
        """None: it has no prior."""
        return None

    def shares_by_name(self):
        """The share of each member, as a dict; the largest first."""
        return {self.name: 1.0}


@dataclass(frozen=True)
class PosteriorClasses(ProductClasses):
    """Posterior means of all weights, of which the likely ones are shown.

    Attributes
    ----------
    readable, whole : LogisticModel
        What is shown, and all.

    coding : InputCoding

    name : {"additive", "spike and slab"}

    learned : list
        Hyperparameters of each output: the `mass` of an additive model, or the `priors`
        of spikes and slabs.
    """

    readable: LogisticModel
    coding: InputCoding
    whole: LogisticModel
    name: str
    learned: list
    is_listed = False

    def split(self, rows, vocabulary, classes):
        """What inputs, then categoricals contribute to one row.

        Parameters
        ----------
        rows : Rows
            One row.

        vocabulary : Vocabulary
            Without levels.

        classes : ndarray of shape (n_classes,)
            Weight of the log-odds of each class in the sum that is split.

        Returns
        -------
        contributions : ndarray of shape (n_variables,)
        """
        inputs = np.asarray(expand_rows(rows, self.coding), dtype=float)
        terms, weights = self.whole.terms, self.whole.weights
        # Of two classes, there are those of the second.
        parts = product_columns(inputs, terms)[0] * (classes[-len(weights) :] @ weights)
        contributions = np.zeros(vocabulary.n_categoricals)
        for term, part in zip(terms, parts.tolist(), strict=True):
            np.add.at(contributions, vocabulary.groups[list(term)], part / len(term))
        return contributions


class Observed(NamedTuple):
    """What a pool has learned from, to learn further with more.

    Attributes
    ----------
    rows : Rows

    label : ndarray of shape (n_observations,), int

    weight : ndarray of shape (n_observations,)
        As passed, without those of the classes.

    foreseen : ndarray of shape (n_observations,), default=None
        Log probability of each by the sparse member, which had not learned from it;
        None where the pool has none.

    judge : SparseClasses, default=None
        The sparse member as it was learned first: it foresees further observations.
    """

    rows: Rows
    label: np.ndarray
    weight: np.ndarray
    foreseen: np.ndarray | None = None
    judge: SparseClasses | None = None

    def join(self, rows, label, weight):
        """These observations and others, in an order that they alone decide."""
        foreseen, keys = None, []
        if self.judge is not None:
            more = self.judge.log_proba(rows)[np.arange(len(rows)), label]
            foreseen = np.append(self.foreseen, more)
            keys.append(foreseen)
        rows = self.rows.join(rows)
        label, weight = np.append(self.label, label), np.append(self.weight, weight)
        keys += [weight, label, *rows.mask().T, *rows.categories.T, *rows.inputs.T]
        joined = Observed(rows, label, weight, foreseen, self.judge)
        return joined.take(np.lexsort(keys))

    def take(self, index):
        """Some of the observations."""
        foreseen = None if self.foreseen is None else self.foreseen[index]
        parts = self.rows.take(index), self.label[index], self.weight[index]
        return Observed(*parts, foreseen, self.judge)


@dataclass(frozen=True)
class PooledClasses:
    """Several models, each with a share of the probabilities.

    Attributes
    ----------
    members : tuple of Member, SparseClasses and PosteriorClasses

    shares : ndarray of shape (n_members,)

    gaps : Gaps
        What unknown inputs may hide.

    readable : LogisticModel
        Terms and weights to be shown: those of the member by products that has most of
        the shares, else of `dense`.

    dense : Member
        The one by least squares with the largest share.

    observed : Observed or None
        None where inducing rows carry what was learned.
    """

    members: tuple
    shares: np.ndarray
    gaps: Gaps
    readable: LogisticModel
    dense: Member
    observed: Observed | None

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
    def shown(self):
        """The member by products that is shown; None where that is `dense`."""
        for member in self.members:
            if getattr(member, "readable", None) is self.readable:
                return member
        return None

    @property
    def is_listed(self):
        """Whether all weights of the model that is shown are in its terms."""
        return self.shown is not None and self.shown.is_listed

    def parts(self, rows, vocabulary):
        """What one row is made of, see `SparseClasses.parts`."""
        if self.shown is not None:
            return self.shown.parts(rows, vocabulary)
        members = member_values(rows, vocabulary.alphabets)
        values = [np.prod(members[list(term)]) for term in self.readable.terms]
        return np.array(values), self.dense.log_odds(rows)[0]

    def share_other_weights(self, rows, vocabulary, parts, classes):
        """What each column contributes to one row by weights that are not listed.

        Parameters
        ----------
        rows : Rows
            One row.

        vocabulary : Vocabulary

        parts : ndarray of shape (n_terms,)
            What the listed weights contribute.

        classes : ndarray of shape (n_classes,)
            Weight of the log-odds of each class in the sum that is explained.

        Returns
        -------
        others : ndarray of shape (n_features,)
        """
        if self.shown is not None or self.dense.numeric == LINES:
            vocabulary = vocabulary.without_levels()
        if self.shown is None:
            contributions = self.dense.split(rows, classes)
        else:
            contributions = self.shown.split(rows, vocabulary, classes)
        terms = self.readable.terms
        return vocabulary.share_others(terms, parts, contributions)

    def importances(self, vocabulary, marginals):
        """Total Sobol indices, see `SparseClasses.importances`; of the scores."""
        if self.shown is not None:
            return self.shown.importances(vocabulary, marginals)
        if self.dense.numeric == LINES:
            vocabulary = vocabulary.without_levels()
        variables, _ = vocabulary.columns(marginals)
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


def asks_for_few(wishes):
    """Names of the parameters that are set and that few weights alone have.

    Parameters
    ----------
    wishes : Wishes or MOHNClassifier
    """
    return [name for name, usual in _OF_FEW.items() if getattr(wishes, name) != usual]


def solve_pool(samples, wishes, report, *, has_few=False):
    """Learn all weights in several ways, and perhaps few; pool what they say.

    Parameters
    ----------
    samples, wishes, report
        As of `ClassStrategy`.

    has_few : bool, default=False
        Whether few weights are a member, or all there is where a parameter asks for it.
    """
    asked = asks_for_few(wishes)
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
            C = few.readable.C
            left_out.append(-found.choice.losses_left_out(len(samples.y), C))
    ways = _WAYS[wishes.gp_options.numeric] if samples.coding.thresholds else (LINES,)
    lessons = _lessons(samples, wishes, ways)
    learned = _learn(lessons, wishes.n_jobs)
    if has_few:
        learned += learn_posteriors(samples, wishes, lessons[0])
    for lesson, member, chances in learned:
        members.append(member)
        left_out.append(chances)
        model = partial(_pool, samples, wishes, members, left_out, lessons)
        record = {"member": member.name, "validation_log_loss": lesson.loss(chances)}
        if report(record, model):
            return _conclude(model(), coverage, "a callback stopped the search: ")
    return _conclude(model(), coverage)


def learn_further(model, observed, samples, wishes):
    """Learn from further observations, by the hyperparameters that a pool has.

    Parameters
    ----------
    model : PooledClasses

    observed : Observed
        All that there are.

    samples : Samples
        The same, weighed.

    wishes : Wishes

    Returns
    -------
    solution : ClassSolution
        What a pool of all observations with these hyperparameters, terms and penalty
        would be.
    """
    members, left_out, priors, known = [], [], {}, {}
    for member in model.members:
        if isinstance(member, PosteriorClasses):
            known[member.name] = member.learned
        elif member.name == SPARSE:
            few = member.readable
            few = LogisticModel.learn(expand(samples), few.terms, few.C)
            members.append(SparseClasses(few, samples.coding))
            left_out.append(observed.foreseen)
        else:
            of_numeric = priors.setdefault(member.numeric, {})
            of_numeric[member.likelihood] = member.covariance.prior
    lessons = _lessons(samples, wishes, priors)
    for lesson in lessons:
        if not lesson.is_exact:
            raise ValueError(
                f"partial_fit needs the covariances of all {len(lesson.labels.sample)} "
                "distinct rows, more than are computed: fit again on all rows, which "
                "takes inducing rows"
            )
    learned = _learn(lessons, wishes.n_jobs, priors)
    if known:
        learned += learn_posteriors(samples, wishes, lessons[0], known)
    for _, member, chances in learned:
        members.append(member)
        left_out.append(chances)
    judge = observed.judge
    return _conclude(_pool(samples, wishes, members, left_out, lessons, judge), [])


def _find_few(samples, wishes, report):
    expanded = expand(samples)

    def learn(terms, C=SEARCH_C):
        return SparseClasses(LogisticModel.learn(expanded, terms, C), samples.coding)

    def tell(record, terms):
        return report(record, partial(learn, terms))

    found = discover(expanded, wishes, tell)
    C = SEARCH_C if wishes.C == "auto" else float(wishes.C)
    if wishes.C == "auto" and found.choice is not None:
        C = found.choice.best_penalty()
    return found, learn(found.terms, C)


def _lessons(samples, wishes, ways):
    """What is to be learned of all weights: for each way to take numeric columns."""
    lessons = []
    for numeric in ways:
        coding = samples.coding
        if numeric == LINES:
            coding = coding.without_levels()
        lessons.append(
            Lesson.read(
                samples.rows.as_float(),
                (samples.y, len(samples.classes)),
                (samples.weight, samples.count),
                coding.alphabets,
                numeric,
                memory_budget=wishes.memory_budget,
                seed=samples.seed,
            )
        )
    return lessons


def _learn(lessons, n_jobs, priors=None):
    """Learn all members, by the hyperparameters that they have if there are any.

    Returns
    -------
    learned : list of (Lesson, Member, ndarray of shape (n_observations,))
        See `Lesson.learn`.
    """
    known = [{} if priors is None else priors[part.numeric] for part in lessons]
    squares = Parallel(n_jobs=n_jobs)(
        delayed(part.learn)(LEAST_SQUARES, prior=own.get(LEAST_SQUARES))
        for part, own in zip(lessons, known, strict=True)
    )
    wanted = [LOGISTIC in own for own in known]
    if priors is None:
        wanted = worth_likelihoods(lessons, squares)
    starts = [member.covariance.prior for member, _ in squares]
    found = iter(
        Parallel(n_jobs=n_jobs)(
            delayed(part.learn)(LOGISTIC, start, own.get(LOGISTIC))
            for part, start, own in compress(
                zip(lessons, starts, known, strict=True), wanted
            )
        )
    )
    learned = []
    for lesson, own, is_wanted in zip(lessons, squares, wanted, strict=True):
        both = [own, next(found) if is_wanted else None]
        learned += [(lesson, *each) for each in both if each is not None]
    return learned


def learn_posteriors(samples, wishes, lesson, known=None):
    """Learn all weights of single inputs, and of products with spikes and slabs.

    Parameters
    ----------
    samples : Samples

    wishes : Wishes

    lesson : Lesson
        With the labels.

    known : dict, default=None
        Hyperparameters by the names of members, see `PosteriorClasses`; None to learn
        them.

    Returns
    -------
    learned : list of (Lesson, PosteriorClasses, ndarray of shape (n_observations,))
        See `Lesson.learn`. A member is left out where it would take too long.
    """
    inputs = expand(samples).inputs
    if isinstance(inputs, Planes):
        return []
    inputs = np.asarray(inputs, dtype=float)
    ways = {
        ADDITIVE: _learn_additive,
        SPIKE_SLAB: partial(_learn_products, wishes=wishes),
    }
    learned = []
    for name in ways if known is None else known:
        outputs = ways[name](inputs, lesson, None if known is None else known[name])
        if outputs:
            learned.append((lesson, *_link(name, outputs, lesson, samples.coding)))
    return learned


@one_blas_thread
def _learn_additive(inputs, lesson, known):
    """Single inputs, for each output; none where that takes too long."""
    labels, group = lesson.labels, lesson.group_of_observations
    successes = lesson.successes
    if ridge_work(*inputs.shape) * len(successes) > MOST_WORK:
        return []
    known = [None] * len(successes) if known is None else known
    return [
        fit_ridge_logistic(inputs, success, labels.weight, labels.unit, group, mass)
        for success, mass in zip(successes, known, strict=True)
    ]


@one_blas_thread
def _learn_products(inputs, lesson, known, wishes):
    """Spikes and slabs up to the order with the shortest description."""
    successes = lesson.successes
    n_rows, n_inputs = inputs.shape
    labels, group = lesson.labels, lesson.group_of_observations
    orders = range(1, BRIEF_ORDER + 1) if known is None else [len(known[0])]
    best = []
    for order in orders:
        n_sets = count_sets(n_inputs, order)
        if not is_affordable(n_rows, n_sets, wishes, len(successes)):
            break
        sample = ProbitSample.of(inputs, labels.weight, labels.unit, group, order)
        priors = [None] * len(successes) if known is None else known
        found = [
            sample.learn(success, own)
            for success, own in zip(successes, priors, strict=True)
        ]
        if None in found:
            continue
        if not best or sum(m.length for m in found) < sum(m.length for m in best):
            best = found
    return best


def _link(name, outputs, lesson, coding):
    """A member from the latent functions of all outputs, and what it says left out."""
    labels = lesson.labels
    signs = OUTPUT_SIGNS if len(outputs) == 1 else np.eye(len(outputs))
    means = np.transpose([output.left_out for output in outputs]) @ signs
    link = Link.learn(means, labels)
    weights = link.slope * np.array([output.weights for output in outputs])
    constants = link.slope * np.array([output.constant for output in outputs])
    moved = link.constants
    constants += moved[1:] - moved[:1] if len(outputs) == 1 else moved
    terms = list(outputs[0].terms)
    shown = np.any([output.is_likely for output in outputs], axis=0)
    kept = np.flatnonzero(shown)
    member = PosteriorClasses(
        LogisticModel([terms[j] for j in kept], weights[:, kept], constants, None),
        coding,
        LogisticModel(terms, weights, constants, None),
        name,
        [output.learned for output in outputs],
    )
    chances = log_softmax(link.log_odds(means), axis=1)
    return member, chances[np.arange(len(means)), labels.label]


def _pool(samples, wishes, members, left_out, lessons, judge=None):
    """Weigh the members; look at the terms of the one that counts most."""
    observed = None
    if all(lesson.is_exact for lesson in lessons):
        observed = Observed(samples.rows, samples.y, samples.given)
        if members[0].name == SPARSE:
            judge = members[0] if judge is None else judge
            observed = observed._replace(foreseen=left_out[0], judge=judge)
    left_out = np.transpose(left_out)
    known = ~np.isnan(left_out).any(axis=1)
    weight = None if samples.weight is None else samples.weight[known]
    pseudo_counts = [_PSEUDO_COUNTS.get(member.name, 1.0) for member in members]
    shares = weigh(left_out[known], np.array(pseudo_counts), weight)
    by_squares = [
        k
        for k, member in enumerate(members)
        if getattr(member, "likelihood", None) == LEAST_SQUARES
    ]
    dense = members[max(by_squares, key=lambda k: shares[k])]
    most = members[int(np.argmax(shares))]
    if isinstance(most, ProductClasses) and max(shares) > 0.5:
        readable = most.readable
    else:
        (lesson,) = [part for part in lessons if part.numeric == dense.numeric]
        readable = LogisticModel(*lesson.listed(dense, wishes.max_order), None)
    gaps = Gaps.of(samples.rows, samples.coding, samples.weight)
    return PooledClasses(tuple(members), shares, gaps, readable, dense, observed)


def _conclude(model, coverage, why=""):
    shares = model.shares_by_name()
    said = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    noun = "model" if len(shares) == 1 else "models"
    reason = f"{why}a pool of {len(shares)} {noun}: {said}"
    return ClassSolution(model, reason, with_kept(coverage, model.readable.terms))


CLASS_STRATEGIES = {
    "auto": ClassStrategy(partial(solve_pool, has_few=True), finds_all=True),
    "gp": ClassStrategy(solve_pool, finds_all=True),
    **{
        name: ClassStrategy(solve_few)
        for name in ("logistic", "pursuit", "full", "given")
    },
}
