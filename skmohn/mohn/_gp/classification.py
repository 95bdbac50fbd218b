"""Classes by all weights: several models, each judged without the rows it predicts.

Members learn the classes by least squares or by logistic likelihoods, with numeric
columns as lines or as levels beside them. What a member says of each observation
without having seen it, which is exact for least squares, is turned into probabilities
by a link that is learned from it, and says how much the member counts.

Source: Sundararajan and Keerthi, Predictive approaches for choosing hyperparameters in
Gaussian processes, Neural Computation 13, 2001, for predictions left out; Wolpert,
Stacked generalization, Neural Networks 5, 1992, for the ensemble.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from skmohn._core._fitting import one_blas_thread
from skmohn.mohn._design.terms import in_order
from skmohn.mohn._gp.exact import ExactPosterior, draw_normal
from skmohn.mohn._gp.laplace import (
    LEAST_CURVATURE,
    LaplaceEvidence,
    leave_groups_out,
    leave_one_out,
)
from skmohn.mohn._gp.marginal_likelihood import (
    AggregatedData,
    index_of_rows,
    join_equal_rows,
    learn_prior,
    maximize_evidence,
)
from skmohn.mohn._gp.model import choose_inducing
from skmohn.mohn._gp.nystroem import NystroemPosterior
from skmohn.mohn._gp.products import write_products
from skmohn.mohn._gp.sobol import PairVariance
from skmohn.mohn._gp.term_variances import find_significant_terms
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._table.rows import EncodedRows, count_observations, row_blocks

LEAST_SQUARES, LOGISTIC = "least squares", "logistic"
LINES, LEVELS = "lines", "levels"
# What the latent function of the second of two classes adds to the score of each.
OUTPUT_SIGNS = np.array([[-0.5, 0.5]])
# Of labels there is some noise: without it, equal rows leave none at all.
_LEAST_NOISE = 0.05
# Of a class whose weights are next to nothing.
_LEAST_PRIOR = 1e-12
# Rows and steps by which the logistic likelihood learns its hyperparameters.
_LEARNED = 400
_MOST_STEPS, _MOST_STEPS_OF_MANY = 25, 15
# A latent function varies more than an indicator.
_WIDER = 10.0
_LATENT_ENDS = np.array([np.log(_WIDER), 0.0, 0.0]), np.array([1.5, np.inf, 1.0])
# Operations that the logistic likelihood of all rows may take, and those for each
# output and cube of the number of rows.
_MOST_WORK = 5e11
# Operations that those of all ways to take numeric columns may take together.
_MOST_WORK_TOGETHER = 4e11
_OPERATIONS = 6.0
# Normal densities of the link: mean and variance of the logarithm of the slope, and
# variance of each class's constant.
_LOG_SLOPE, _LOG_SLOPE_VARIANCE = 1.0, 100.0
_CONSTANT_VARIANCE = 2.0
_MOST_ROUNDS = 1000
_CONVERGED = 1e-6


class Labels(NamedTuple):
    """Classes observed at rows, equal rows joined.

    Attributes
    ----------
    sample : Sample
        Indicators of the classes, in coordinates in which they are uncorrelated and
        have variance 1.

    axes : ndarray of shape (n_classes - 1, n_classes)
        From these coordinates to the indicators less their means.

    codes : ndarray of shape (n_classes, n_classes - 1)
        The coordinates of each class.

    counts : ndarray of shape (n_rows, n_classes)
        Weights of the observations of each class in each row.

    ensemble_weights : ndarray of shape (n_classes,)

    row, label : ndarrays of shape (n_observations,), int
        Of each observation as it was given.

    weight, unit : ndarrays of shape (n_observations,)
        Its weight, and that of what is left out with it: one of its repeats.
    """

    sample: AggregatedData
    axes: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    ensemble_weights: np.ndarray
    row: np.ndarray
    label: np.ndarray
    weight: np.ndarray
    unit: np.ndarray

    @classmethod
    def join(cls, rows, label, n_classes, sample_weight=None, count=None):
        """Join equal rows.

        Parameters
        ----------
        rows : Rows

        label : ndarray of shape (n_observations,), int

        n_classes : int
            Each has an observation.

        sample_weight, count : ndarrays of shape (n_observations,), default=None
            As of `join_equal_rows`.

        Returns
        -------
        labels : Labels
        """
        weight = np.ones(len(label)) if sample_weight is None else sample_weight
        ensemble_weights = np.bincount(label, weight, n_classes) / weight.sum()
        ensemble_weights = np.maximum(ensemble_weights, _LEAST_PRIOR)
        # The constant direction has no variance; others may have next to none.
        values, vectors = np.linalg.eigh(
            np.diag(ensemble_weights) - np.outer(ensemble_weights, ensemble_weights)
        )
        values, vectors = np.maximum(values[1:], _LEAST_PRIOR), vectors[:, 1:]
        codes = (np.eye(n_classes) - ensemble_weights) @ vectors / np.sqrt(values)
        count = count_observations(weight) if count is None else count
        sample = join_equal_rows(rows, codes[label], weight, count)
        row = index_of_rows(rows)
        counts = np.zeros((len(sample), n_classes))
        np.add.at(counts, (row, label), weight)
        return cls(
            sample,
            np.sqrt(values)[:, None] * vectors.T,
            codes,
            counts,
            ensemble_weights,
            row,
            label,
            weight,
            weight / count,
        )

    def leave_out(self, noise, residual, variance):
        """Means of the coordinates at each observation, without it; exact.

        Without its row first, then with what else was observed there.

        Parameters
        ----------
        noise : float
            Variance of the noise of a weight of 1.

        residual, variance : ndarrays
            What the targets of the sample are off by without their rows, and how far
            they may be, see `ExactPosterior.leave_one_out`.

        Returns
        -------
        means : ndarray of shape (n_observations, n_classes - 1)
        """
        sample = self.sample
        if sample.rows.group is not None:
            # Whatever else was observed there belongs to it.
            return (sample.target - residual)[self.row]
        cavity = np.maximum(variance - noise / sample.weight, 0.0)[self.row, None]
        left = (sample.weight[self.row] - self.unit)[:, None]
        others = sample.weight[:, None] * sample.target
        others = others[self.row] - self.unit[:, None] * self.codes[self.label]
        alone = (sample.target - residual)[self.row]
        return (noise * alone + cavity * others) / (noise + cavity * left)


class CalibrationLink(NamedTuple):
    """Probabilities from what a member says.

    Attributes
    ----------
    slope : float

    constants : ndarray of shape (n_classes,)
    """

    slope: float
    constants: np.ndarray

    @classmethod
    def learn(cls, means, labels):
        """The most likely link, given what was said of observations left out.

        Parameters
        ----------
        means : ndarray of shape (n_observations, n_classes)

        labels : Labels

        Returns
        -------
        link : Link
        """
        n_rows, n_classes = means.shape
        seen = np.arange(n_rows), labels.label
        log_priors = np.log(labels.ensemble_weights)

        def loss(parameters):
            log_slope, moved = parameters[0], parameters[1:]
            scores = np.exp(log_slope) * means
            chances = log_softmax(scores + log_priors + moved, axis=1)
            away = (log_slope - _LOG_SLOPE) / _LOG_SLOPE_VARIANCE
            value = 0.5 * (log_slope - _LOG_SLOPE) * away
            value += 0.5 * moved @ moved / _CONSTANT_VARIANCE
            value -= labels.weight @ chances[seen]
            pull = labels.weight[:, None] * np.exp(chances)
            pull[seen] -= labels.weight
            slope = np.append(away + np.sum(pull * scores), moved / _CONSTANT_VARIANCE)
            slope[1:] += pull.sum(axis=0)
            return value, slope

        start = np.append(_LOG_SLOPE, np.zeros(n_classes))
        found = minimize(loss, start, jac=True, method="L-BFGS-B").x
        return cls(float(np.exp(found[0])), log_priors + found[1:])

    def log_odds(self, means):
        """Log probabilities up to a constant, ndarray of shape (n_rows, n_classes)."""
        return self.slope * means + self.constants


class EnsembleMember(NamedTuple):
    """One model of the ensemble.

    Attributes
    ----------
    likelihood : {"least squares", "logistic"}

    numeric : {"lines", "levels"}

    covariance : Covariance

    rows : Rows
        Of the training data, distinct.

    weights : ndarray of shape (n_rows, n_classes)
        The score of each class is the sum of these times the covariances with the rows.

    link : Link

    posteriors : tuple of ExactPosterior or NystroemPosterior
        Of each output, or one of which all have the covariance.

    axes : ndarray of shape (n_outputs, n_classes)
        What a latent function adds to the score of each class.
    """

    likelihood: str
    numeric: str
    covariance: Covariance
    rows: EncodedRows
    weights: np.ndarray
    link: CalibrationLink
    posteriors: tuple
    axes: np.ndarray

    @property
    def name(self):
        """What it is called in messages and tables."""
        return f"{self.likelihood}, {self.numeric}"

    def log_proba(self, rows):
        """Log probabilities of the classes, see :meth:`log_odds`."""
        return log_softmax(self.log_odds(rows), axis=1)

    def log_odds(self, rows):
        """Log probabilities of the classes up to a constant for each row.

        Parameters
        ----------
        rows : Rows
            Levels may follow the categoricals that it knows.

        Returns
        -------
        log_odds : ndarray of shape (n_rows, n_classes)
        """
        rows = _known_to(self.covariance.alphabets, rows)
        scores = np.empty((len(rows), self.weights.shape[1]))
        for part in row_blocks(len(rows)):
            cross = self.covariance.between(rows.take(part), self.rows)
            scores[part] = cross @ self.weights
        return self.link.log_odds(scores)

    def sampler(self):
        """What draws log-odds from the posterior, at fixed hyperparameters and link.

        Returns
        -------
        draw : callable
            Of rows, a number of draws and a random generator; returns an ndarray of
            shape (n_rows, n_draws, n_classes).
        """
        # Copies, whose Cholesky factors are dropped with them.
        posteriors = [replace(posterior) for posterior in self.posteriors]
        n_outputs = len(self.axes)

        def draw(rows, n_draws, rng):
            known = _known_to(self.covariance.alphabets, rows)
            nothing, each = np.zeros(len(rows)), n_outputs // len(posteriors)
            drawn = [
                draw_normal(
                    nothing, posterior.covariance_at(known), each * n_draws, rng
                )
                for posterior in posteriors
            ]
            drawn = np.hstack(drawn).reshape(len(rows), n_outputs, n_draws)
            moved = self.link.slope * np.einsum("rod,ok->rdk", drawn, self.axes)
            return self.log_odds(rows)[:, None] + moved

        return draw

    def split(self, rows, weights):
        """What inputs, then categoricals contribute to one row's log-odds.

        Parameters
        ----------
        rows : Rows
            One row.

        weights : ndarray of shape (n_classes,)
            Of the classes in the sum that is split.

        Returns
        -------
        contributions : ndarray of shape (n_variables,)
            See `Model.split`.
        """
        rows = _known_to(self.covariance.alphabets, rows)
        alpha = self.link.slope * (self.weights @ weights)
        return write_products(self.covariance, self.rows, alpha).split(rows)

    def sobol_variances(self, variables):
        """Split the variance of the scores over independent variables, by all classes.

        Parameters
        ----------
        variables : list of Variable

        Returns
        -------
        variance : float

        total : ndarray of shape (n_variables,)
            All that each variable takes part in.
        """
        variance, total = 0.0, np.zeros(len(variables))
        # Of two classes the scores are opposite.
        for weights in self.weights.T[1 if self.weights.shape[1] == 2 else 0 :]:
            parts = PairVariance(self.covariance, self.rows, weights, variables)
            variance += parts.variance()
            total += parts.total()
        return variance, total


def _known_to(alphabets, rows):
    """Rows within the range of the training data, without levels if there are none."""
    categories = rows.categories[:, : len(alphabets)]
    inputs = np.clip(rows.inputs, -1.0, 1.0)
    return replace(rows, inputs=inputs, categories=categories, unknown=None)


class MemberFit(NamedTuple):
    """What there is to learn for the members of one way to take numeric columns.

    Attributes
    ----------
    labels : Labels

    alphabets : tuple of Alphabet

    numeric : {"lines", "levels"}

    memory_budget : float
        Bytes for covariances of all rows; where there are more, inducing rows do.

    seed : int
    """

    labels: Labels
    alphabets: tuple
    numeric: str
    memory_budget: float
    seed: int

    @classmethod
    def read(cls, rows, classes, weights, alphabets, numeric, **others):
        """Join equal rows; levels are left out where `alphabets` has none.

        Classes are their numbers and how many there are, weights those of the
        observations and how many each stands for, as of `Labels.join`.
        """
        rows = _known_to(alphabets, rows)
        labels = Labels.join(rows, *classes, *weights)
        return cls(labels, alphabets, numeric, **others)

    @property
    def is_exact(self):
        """Whether the covariances of all rows are taken, and not inducing rows."""
        n_rows = len(self.labels.sample)
        return not choose_inducing(n_rows, self.memory_budget, is_inverted=True)

    @property
    def successes(self):
        """Of each latent function, which observations are of its class."""
        label, n_classes = self.labels.label, len(self.labels.ensemble_weights)
        return [
            label == k for k in (range(1, 2) if n_classes == 2 else range(n_classes))
        ]

    @property
    def group_of_observations(self):
        """What each observation is left out with; None for itself."""
        group = self.labels.sample.rows.group
        return None if group is None else group[self.labels.row]

    @property
    def work(self):
        """Operations that a logistic likelihood takes, about."""
        n_classes = len(self.labels.ensemble_weights)
        n_outputs = 1 if n_classes == 2 else n_classes
        return _OPERATIONS * n_outputs * len(self.labels.sample) ** 3

    @one_blas_thread
    def learn(self, likelihood, start=None, prior=None):
        """Learn a member, the same in all processes.

        Parameters
        ----------
        likelihood : {"least squares", "logistic"}

        start : Prior, default=None
            Where hyperparameters begin: for "logistic", those of least squares.

        prior : Prior, default=None
            Hyperparameters to be taken as they are; None to learn them.

        Returns
        -------
        found : tuple of (Member, ndarray of shape (n_observations,)), or None
            With the log probability of what was observed, left out. None where it would
            take too long, or has no mode.
        """
        is_squares = likelihood == LEAST_SQUARES
        learn = self._by_least_squares if is_squares else self._by_likelihood
        learned = learn(start, prior)
        if learned is None:
            return None
        prior, rows, (alpha, axes), posteriors, means = learned
        link = CalibrationLink.learn(means, self.labels)
        covariance = Covariance(prior, self.alphabets)
        function = covariance, rows, alpha @ axes, link, posteriors, axes
        member = EnsembleMember(likelihood, self.numeric, *function)
        label = self.labels.label
        chances = log_softmax(link.log_odds(means), axis=1)
        return member, chances[np.arange(len(label)), label]

    def loss(self, chances):
        """Log loss of what was observed, from its log probabilities."""
        return -float(np.average(chances, weights=self.labels.weight))

    def listed(self, member, max_order=None):
        """The significant weights of a member by least squares.

        Parameters
        ----------
        member : Member

        max_order : int, default=None

        Returns
        -------
        terms : list of tuples of int
            Those that are significant for any class.

        weights : ndarray of shape (1, n_terms) or (n_classes, n_terms)
            What they add to the log-odds by the member's link; of two classes, to those
            of the second.

        constants : ndarray of shape (1,) or (n_classes,)
        """
        posterior, _ = self._condition(member.covariance.prior)
        slope, axes = member.link.slope, self.labels.axes
        found = set()
        for axis in axes.T[1 if axes.shape[1] == 2 else 0 :]:
            terms, *_ = find_significant_terms(_Scores(posterior, axis), max_order)
            found.update(terms)
        terms = in_order(found)
        means, _ = posterior.weights_of([(), *terms])
        weights = slope * (means @ axes).T
        weights[:, 0] += member.link.constants
        if len(weights) == 2:
            weights = weights[1:] - weights[:1]
        return terms, weights[:, 1:], weights[:, 0]

    def _condition(self, prior):
        """The posterior by least squares, and what left-out targets are off by."""
        sample, covariance = self.labels.sample, Covariance(prior, self.alphabets)
        n_inducing = choose_inducing(len(sample), self.memory_budget, is_inverted=True)
        if not n_inducing:
            posterior = ExactPosterior.condition(covariance, sample)
            return posterior, posterior.leave_one_out
        if sample.rows.group is not None:
            raise ValueError(
                f"groups need the covariances of all {len(sample)} distinct rows, more "
                "than are computed: raise memory_budget, pass fewer rows, or fit with "
                'strategy="logistic"'
            )
        posterior = NystroemPosterior.condition(
            covariance, sample, n_inducing, self.seed
        )
        return posterior, partial(posterior.leave_one_out, sample)

    def _by_least_squares(self, start, prior=None):
        labels = self.labels
        if prior is None:
            prior = learn_prior(
                labels.sample,
                self.alphabets,
                start,
                seed=self.seed,
                least_noise=_LEAST_NOISE,
            ).prior
        posterior, leave_one_out = self._condition(prior)
        means = labels.leave_out(prior.noise, *leave_one_out())
        rows, alpha = posterior.support()
        # A copy has no Cholesky factor yet.
        posteriors = (replace(posterior),)
        axes = labels.axes
        return prior, rows, (alpha, axes), posteriors, means @ axes

    def _by_likelihood(self, start, prior=None):
        """None where it would take too long, or has no mode."""
        labels, rows = self.labels, self.labels.sample.rows
        if self.work > _MOST_WORK:
            return None
        n_classes = len(labels.ensemble_weights)
        n_outputs = 1 if n_classes == 2 else n_classes
        if prior is None:
            prior = self._latent_prior(start)
        whole = LaplaceEvidence(rows, labels.counts, self.alphabets)
        covariance = whole.pairs.covariance(prior)
        posteriors, means = [], []
        for k in range(n_outputs):
            mode = whole.mode(k, covariance)
            if mode is None:
                return None
            is_success = labels.label == (1 if n_outputs == 1 else k)
            posteriors.append(self._latent_posterior(prior, mode, whole.totals))
            if rows.group is None:
                left_out = leave_one_out(mode, labels.row, is_success, labels.unit)
            else:
                totals = labels.counts.sum(axis=1)
                left_out = leave_groups_out(mode, totals, rows.group)[labels.row]
            means.append(left_out)
        signs = OUTPUT_SIGNS if n_outputs == 1 else np.eye(n_classes)
        alpha = np.transpose([posterior.alpha for posterior in posteriors])
        means = np.transpose(means) @ signs
        return prior, rows, (alpha, signs), tuple(posteriors), means

    def _latent_posterior(self, prior, mode, totals):
        """That of normal observations, with the curvature at the mode for precision."""
        curvature = totals * mode.probability * (1.0 - mode.probability)
        sample = replace(
            self.labels.sample,
            target=mode.latent,
            weight=prior.noise * np.maximum(curvature, LEAST_CURVATURE),
            excess=np.ones(len(totals)),
        )
        return ExactPosterior(Covariance(prior, self.alphabets), sample, mode.alpha)

    def _latent_prior(self, start):
        """The hyperparameters of the latent functions, learned from some rows."""
        labels, rows = self.labels, self.labels.sample.rows
        prior = start._replace(scale=_WIDER * start.scale, linear=_WIDER * start.linear)
        drawn = np.random.default_rng(self.seed).permutation(len(rows))
        drawn = np.sort(drawn[:_LEARNED])
        counts = labels.counts[drawn]
        counts = counts[:, counts.sum(axis=0) > 0]
        n_classes = counts.shape[1]
        if n_classes < 2:
            return prior
        evidence = LaplaceEvidence(rows.take(drawn), counts, self.alphabets)
        is_single = len(labels.ensemble_weights) == 2
        steps = _MOST_STEPS if is_single else _MOST_STEPS_OF_MANY
        return maximize_evidence(evidence, prior, steps, ends=_LATENT_ENDS).prior


class _Scores(NamedTuple):
    """The scores of one class, as `find_significant_terms` asks for them."""

    posterior: object
    axis: np.ndarray

    @property
    def covariance(self):
        return self.posterior.covariance

    def weights_of(self, terms, given):
        """Means and standard deviations of weights; hyperparameters are given."""
        means, variances = self.posterior.weights_of(terms)
        return means @ self.axis, np.sqrt(variances) * np.linalg.norm(self.axis)

    def prior_stds(self, terms):
        """A priori standard deviations of weights."""
        return self.covariance.weight_stds(terms) * np.linalg.norm(self.axis)

    def support(self):
        """Rows and numbers whose covariances with a weight sum to its mean."""
        rows, alpha = self.posterior.support()
        return rows, alpha @ self.axis


def needs_logistic_likelihood(lessons, squares):
    """Which lessons are to have a logistic likelihood, too.

    Where these take long, that is the one whose least squares predict best: the others
    hardly add to it.

    Parameters
    ----------
    lessons : list of Lesson

    squares : list of tuples
        What `MemberFit.learn` has found by least squares.

    Returns
    -------
    are_worth : list of bool
    """
    pairs = zip(lessons, squares, strict=True)
    losses = [lesson.loss(chances) for lesson, (_, chances) in pairs]
    is_cheap = sum(lesson.work for lesson in lessons) <= _MOST_WORK_TOGETHER
    return [is_cheap or loss == min(losses) for loss in losses]


def stacking_weights(left_out, pseudo_counts, sample_weight=None):
    """How much each member counts, by expectation maximization.

    Parameters
    ----------
    left_out : ndarray of shape (n_observations, n_members)
        Log probabilities of what was observed.

    pseudo_counts : ndarray of shape (n_members,)
        Observations that each is the source of before any is seen.

    sample_weight : ndarray of shape (n_observations,), default=None

    Returns
    -------
    ensemble_weights : ndarray of shape (n_members,)
        Positive; their sum is 1.
    """
    weight = np.ones(len(left_out)) if sample_weight is None else sample_weight
    ensemble_weights = pseudo_counts / pseudo_counts.sum()
    for _ in range(_MOST_ROUNDS):
        joint = left_out + np.log(ensemble_weights)
        parts = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        before, ensemble_weights = ensemble_weights, weight @ parts + pseudo_counts
        ensemble_weights /= ensemble_weights.sum()
        if np.abs(ensemble_weights - before).max() < _CONVERGED:
            break
    return ensemble_weights
