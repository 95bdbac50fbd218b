"""Classes by all weights: an ensemble, weighted by leave-one-out predictions."""

# Members learn the classes by least squares or by logistic likelihoods, with numeric
# columns as lines or as levels beside them. A link learned from a member's
# leave-one-out predictions, which are exact for least squares, turns them into
# probabilities. These determine the weight of the member.
#
# Source: Sundararajan and Keerthi, Predictive approaches for choosing hyperparameters
# in Gaussian processes, Neural Computation 13, 2001, for leave-one-out predictions;
# Wolpert, Stacked generalization, Neural Networks 5, 1992, for the ensemble.

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from skmohn._core._fitting import one_blas_thread
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.terms import in_order
from skmohn.mohn._gp.covariance_function import Prior
from skmohn.mohn._gp.exact import ExactPosterior, draw_normal
from skmohn.mohn._gp.laplace import (
    LAPLACE,
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
from skmohn.mohn._table.rows import (
    Categorical,
    EncodedRows,
    count_observations,
    row_blocks,
)
from skmohn.mohn._table.variables import Variable

# Rows, a number of draws and a random generator.
Sampler: TypeAlias = Callable[
    [EncodedRows, int, np.random.Generator], NDArray[np.float64]
]

LEAST_SQUARES, LOGISTIC = "least squares", "logistic"
LINES, LEVELS = "lines", "levels"
# What the latent function of the second of two classes adds to the score of each.
OUTPUT_SIGNS = np.array([[-0.5, 0.5]])


@dataclass(frozen=True)
class ClassConstants:
    """Gaussian processes for classes."""

    # Of labels there is some noise: without it, equal rows leave none at all.
    min_noise: float = tuned(0.05, "benchmarks/ablation.py")
    # Of a class whose weights are next to nothing.
    min_class_prior: float = tuned(1e-12, "rounding")
    # Rows and steps by which the logistic likelihood learns its hyperparameters.
    max_rows_learned: int = tuned(400, "cost")
    max_iter: int = tuned(25, "cost")
    max_iter_many: int = tuned(15, "cost")
    # A latent function varies more than an indicator.
    latent_variance_ratio: float = tuned(10.0, "benchmarks/ablation.py")
    # Operations that the logistic likelihood of all rows may take, and those for each
    # output and cube of the number of rows.
    max_work: float = tuned(5e11, "cost")
    # Operations that those of all ways to take numeric columns may take together.
    max_work_together: float = tuned(4e11, "cost")
    work_per_cube: float = tuned(6.0, "cost")


_CLASSES = ClassConstants()


@dataclass(frozen=True)
class LinkConstants:
    """Normal densities of the calibration link."""

    # Mean and variance of the logarithm of the slope, and variance of each class's
    # constant.
    log_slope_mean: float = tuned(1.0, "benchmarks/ablation.py")
    log_slope_variance: float = tuned(100.0, "benchmarks/ablation.py")
    constant_variance: float = tuned(2.0, "benchmarks/ablation.py")


_LINK = LinkConstants()


@dataclass(frozen=True)
class MixtureConstants:
    """Expectation maximization of ensemble weights."""

    max_iter: int = tuned(1000, "rounding")
    tolerance: float = tuned(1e-6, "rounding")


_MIXTURE = MixtureConstants()


class Labels(NamedTuple):
    """Classes observed at rows, equal rows joined."""

    # Class indicators, in coordinates that are uncorrelated, of variance 1.
    sample: AggregatedData
    # (n_classes - 1, n_classes); from these coordinates to the indicators less their
    # means.
    axes: np.ndarray
    codes: np.ndarray  # (n_classes, n_classes - 1); the coordinates of each class
    # (n_rows, n_classes); weights of the observations of each class in each row.
    counts: np.ndarray
    class_priors: np.ndarray  # (n_classes,)
    row: np.ndarray  # (n_observations,), int; row of each observation
    label: np.ndarray  # (n_observations,), int; class of each observation
    weight: np.ndarray  # (n_observations,); weight of each observation
    # (n_observations,); weight of what is left out with it: one of its repeats.
    unit: np.ndarray

    @classmethod
    def join(
        cls,
        rows: EncodedRows,
        label: NDArray[np.intp],
        n_classes: int,
        sample_weight: NDArray[np.float64] | None = None,
        count: NDArray[np.float64] | None = None,
    ) -> Self:
        """Join equal rows; each class has an observation."""
        # Weights and counts are those of `join_equal_rows`.
        weight = np.ones(len(label)) if sample_weight is None else sample_weight
        class_priors = np.bincount(label, weight, n_classes) / weight.sum()
        class_priors = np.maximum(class_priors, _CLASSES.min_class_prior)
        # The constant direction has no variance; others may have next to none.
        values, vectors = np.linalg.eigh(
            np.diag(class_priors) - np.outer(class_priors, class_priors)
        )
        values = np.maximum(values[1:], _CLASSES.min_class_prior)
        vectors = vectors[:, 1:]
        codes = (np.eye(n_classes) - class_priors) @ vectors / np.sqrt(values)
        count = count_observations(weight) if count is None else count
        sample = join_equal_rows(rows, codes[label], weight, count)
        row = index_of_rows(rows)
        counts = np.zeros((len(sample), n_classes))
        np.add.at(counts, (row, label), weight)
        axes = np.sqrt(values)[:, None] * vectors.T
        observations = row, label, weight, weight / count
        return cls(sample, axes, codes, counts, class_priors, *observations)

    @property
    def n_outputs(self) -> int:
        """Number of latent functions: one for two classes."""
        n_classes = len(self.class_priors)
        return 1 if n_classes == 2 else n_classes

    def leave_out(
        self, noise: float, residual: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Exact means of the coordinates at each observation, by all others."""
        # First without its row, then with what else was observed there. The noise is
        # that of a weight of 1; residuals and variances are those of the targets
        # without their rows, see `ExactPosterior.leave_one_out`.
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
    """Map from the latent functions of a member to probabilities."""

    slope: float
    constants: np.ndarray  # (n_classes,)

    @classmethod
    def learn(cls, means: NDArray[np.float64], labels: Labels) -> Self:
        """Fit the most likely link, given held-out means of observations."""
        n_rows, n_classes = means.shape
        seen = np.arange(n_rows), labels.label
        log_priors = np.log(labels.class_priors)

        def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            log_slope, moved = parameters[0], parameters[1:]
            scores = np.exp(log_slope) * means
            chances = log_softmax(scores + log_priors + moved, axis=1)
            away = (log_slope - _LINK.log_slope_mean) / _LINK.log_slope_variance
            value = 0.5 * (log_slope - _LINK.log_slope_mean) * away
            value += 0.5 * moved @ moved / _LINK.constant_variance
            value -= labels.weight @ chances[seen]
            pull = labels.weight[:, None] * np.exp(chances)
            pull[seen] -= labels.weight
            slopes = moved / _LINK.constant_variance + pull.sum(axis=0)
            return value, np.append(away + np.sum(pull * scores), slopes)

        start = np.append(_LINK.log_slope_mean, np.zeros(n_classes))
        found = minimize(loss, start, jac=True, method="L-BFGS-B").x
        return cls(float(np.exp(found[0])), log_priors + found[1:])

    def log_odds(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log probabilities up to a constant, (n_rows, n_classes)."""
        return self.slope * means + self.constants


class EnsembleMember(NamedTuple):
    """One model of the ensemble."""

    likelihood: str  # {"least squares", "logistic"}
    numeric: str  # {"lines", "levels"}
    covariance: Covariance
    rows: EncodedRows  # of the training data, distinct
    # (n_rows, n_classes); the score of each class is the sum of these times the
    # covariances with the rows.
    weights: np.ndarray
    link: CalibrationLink
    posteriors: tuple  # one for each output, or one whose covariance all share
    # (n_outputs, n_classes); what a latent function adds to the score of each class.
    axes: np.ndarray

    @property
    def name(self) -> str:
        """Name in messages and tables."""
        return f"{self.likelihood}, {self.numeric}"

    def log_proba(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Log probabilities of the classes, see :meth:`log_odds`."""
        return log_softmax(self.log_odds(rows), axis=1)

    def log_odds(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Log probabilities up to a constant for each row, (n_rows, n_classes)."""
        # In the rows, levels may follow the categoricals of the member.
        rows = _known_to(self.covariance.alphabets, rows)
        scores = np.empty((len(rows), self.weights.shape[1]))
        for part in row_blocks(len(rows)):
            cross = self.covariance.between(rows.take(part), self.rows)
            scores[part] = cross @ self.weights
        return self.link.log_odds(scores)

    def compact(self) -> Self:
        """Copy of which no more is learned, whose posteriors give variances alone."""
        return self._replace(posteriors=tuple(p.compact() for p in self.posteriors))

    def sampler(self) -> Sampler:
        """Function that samples log odds, at fixed hyperparameters and link."""
        # Copies, whose Cholesky factors are dropped with them.
        posteriors = [replace(posterior) for posterior in self.posteriors]
        n_outputs = len(self.axes)

        def draw(
            rows: EncodedRows, n_draws: int, rng: np.random.Generator
        ) -> NDArray[np.float64]:
            known = _known_to(self.covariance.alphabets, rows)
            nothing, each = np.zeros(len(rows)), n_outputs // len(posteriors)
            covariances = (posterior.covariance_at(known) for posterior in posteriors)
            drawn = [
                draw_normal(nothing, covariance, each * n_draws, rng)
                for covariance in covariances
            ]
            values = np.hstack(drawn).reshape(len(rows), n_outputs, n_draws)
            moved = self.link.slope * np.einsum("rod,ok->rdk", values, self.axes)
            return self.log_odds(rows)[:, None] + moved

        return draw

    def split(
        self, rows: EncodedRows, weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Contributions of inputs, then of categoricals, to one row's log-odds."""
        # `weights` are those of the classes in the sum that is split; see
        # `Model.split`.
        rows = _known_to(self.covariance.alphabets, rows)
        alpha = self.link.slope * (self.weights @ weights)
        return write_products(self.covariance, self.rows, alpha).split(rows)

    def sobol_variances(
        self, variables: list[Variable]
    ) -> tuple[float, NDArray[np.float64]]:
        """Variance of all scores over independent variables; total parts."""
        variance, total = 0.0, np.zeros(len(variables))
        # Of two classes the scores are opposite.
        for weights in self.weights.T[1 if self.weights.shape[1] == 2 else 0 :]:
            parts = PairVariance(self.covariance, self.rows, weights, variables)
            variance += parts.variance()
            total += parts.total()
        return variance, total


def _known_to(alphabets: tuple[Categorical, ...], rows: EncodedRows) -> EncodedRows:
    """Rows within the range of the training data, without levels if there are none."""
    key = _known_to, len(alphabets)
    if key not in rows.prepared:
        categories = rows.categories[:, : len(alphabets)]
        # Of one row, faster than `numpy.clip`.
        inputs = np.minimum(np.maximum(rows.inputs, -1.0), 1.0)
        rows.prepared[key] = EncodedRows(inputs, categories, None, rows.group)
    return rows.prepared[key]


# Hyperparameters, distinct rows, their weights, and held-out means.
_Found: TypeAlias = tuple[
    Prior,
    EncodedRows,
    tuple[NDArray[np.float64], NDArray[np.float64]],
    tuple[Any, ...],
    NDArray[np.float64],
]


class MemberFit(NamedTuple):
    """Learning problem of the members with one treatment of numeric columns."""

    labels: Labels
    alphabets: tuple[Categorical, ...]
    numeric: str  # {"lines", "levels"}
    memory_budget: float  # bytes for covariances of all rows; beyond, inducing rows
    seed: int

    @classmethod
    def read(
        cls,
        rows: EncodedRows,
        classes: tuple[NDArray[np.intp], int],
        weights: tuple[NDArray[np.float64] | None, NDArray[np.float64] | None],
        alphabets: tuple[Categorical, ...],
        numeric: str,
        **others: Any,
    ) -> Self:
        """Join equal rows; levels are dropped where `alphabets` has none."""
        # Classes are their numbers and how many there are, weights those of the
        # observations and how many each stands for, as of `Labels.join`.
        rows = _known_to(alphabets, rows)
        labels = Labels.join(rows, *classes, *weights)
        return cls(labels, alphabets, numeric, **others)

    @property
    def is_exact(self) -> bool:
        """Whether the covariances of all rows are taken, and not inducing rows."""
        n_rows = len(self.labels.sample)
        return not choose_inducing(n_rows, self.memory_budget, is_inverted=True)

    @property
    def successes(self) -> list[NDArray[np.bool_]]:
        """Mask of the observations of the class, for each latent function."""
        n_outputs = self.labels.n_outputs
        outputs = [1] if n_outputs == 1 else range(n_outputs)
        return [self.labels.label == k for k in outputs]

    @property
    def group_of_observations(self) -> NDArray[np.intp] | None:
        """Group that each observation is left out with; None for itself."""
        group = self.labels.sample.rows.group
        return None if group is None else group[self.labels.row]

    @property
    def work(self) -> float:
        """Approximate number of operations of a logistic likelihood."""
        n_outputs = self.labels.n_outputs
        return _CLASSES.work_per_cube * n_outputs * len(self.labels.sample) ** 3

    @one_blas_thread
    def learn(
        self, likelihood: str, start: Prior | None = None, prior: Prior | None = None
    ) -> tuple[EnsembleMember, NDArray[np.float64]] | None:
        """Fit a member, the same in all processes; held-out log probabilities."""
        # Hyperparameters begin at `start`, for "logistic" those of least squares, or
        # are those of `prior`. None where it would take too long, or has no mode.
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

    def loss(self, chances: NDArray[np.float64]) -> float:
        """Log loss of what was observed, from its log probabilities."""
        return -float(np.average(chances, weights=self.labels.weight))

    def significant_terms(
        self, member: EnsembleMember, max_order: int | None = None
    ) -> tuple[list[Term], NDArray[np.float64], NDArray[np.float64]]:
        """Significant weights of a member by least squares, and the constants."""
        # Terms are significant for any class. Weights are those of the log-odds by the
        # member's link, (n_classes, n_terms), for two classes those of the second
        # alone.
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

    def _condition(
        self, prior: Prior
    ) -> tuple[Any, Callable[[], tuple[NDArray[np.float64], NDArray[np.float64]]]]:
        """Posterior by least squares, and its leave-one-out residuals."""
        sample, covariance = self.labels.sample, Covariance(prior, self.alphabets)
        n_inducing = choose_inducing(len(sample), self.memory_budget, is_inverted=True)
        if not n_inducing:
            posterior = ExactPosterior.condition(covariance, sample)
            return posterior, posterior.leave_one_out
        data = covariance, sample, n_inducing, self.seed
        posterior = NystroemPosterior.condition(*data)
        if (group := sample.rows.group) is not None:
            return posterior, partial(posterior.leave_groups_out, sample, group)
        return posterior, partial(posterior.leave_one_out, sample)

    def _by_least_squares(
        self, start: Prior | None, prior: Prior | None = None
    ) -> _Found:
        labels = self.labels
        if prior is None:
            prior = learn_prior(
                labels.sample,
                self.alphabets,
                start,
                seed=self.seed,
                min_noise_variance=_CLASSES.min_noise,
            ).prior
        posterior, leave_one_out = self._condition(prior)
        means = labels.leave_out(prior.noise_variance, *leave_one_out())
        rows, alpha = posterior.dual_coefficients()
        # A copy has no Cholesky factor yet.
        posteriors = (replace(posterior),)
        axes = labels.axes
        return prior, rows, (alpha, axes), posteriors, means @ axes

    def _by_likelihood(
        self, start: Prior | None, prior: Prior | None = None
    ) -> _Found | None:
        """Posterior by likelihood; None if it takes too long, or has no mode."""
        labels, rows = self.labels, self.labels.sample.rows
        if self.work > _CLASSES.max_work:
            return None
        n_outputs = labels.n_outputs
        if prior is None:
            prior = self._latent_prior(cast(Prior, start))
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
        signs = OUTPUT_SIGNS if n_outputs == 1 else np.eye(n_outputs)
        alpha = np.transpose([posterior.alpha for posterior in posteriors])
        means = np.transpose(means) @ signs
        return prior, rows, (alpha, signs), tuple(posteriors), means

    def _latent_posterior(
        self, prior: Prior, mode: Any, totals: NDArray[np.float64]
    ) -> ExactPosterior:
        """Posterior of normal observations, with the curvature for precision."""
        curvature = totals * mode.probability * (1.0 - mode.probability)
        precision = np.maximum(curvature, LAPLACE.min_observed_curvature)
        sample = replace(
            self.labels.sample,
            target=mode.latent,
            weight=prior.noise_variance * precision,
            excess=np.ones(len(totals)),
        )
        return ExactPosterior(Covariance(prior, self.alphabets), sample, mode.alpha)

    def _latent_prior(self, start: Prior) -> Prior:
        """Hyperparameters of the latent functions, learned from some rows."""
        labels, rows = self.labels, self.labels.sample.rows
        ratio = _CLASSES.latent_variance_ratio
        prior = start._replace(
            signal_variance=ratio * start.signal_variance,
            main_effect_variance=ratio * start.main_effect_variance,
        )
        drawn = np.random.default_rng(self.seed).permutation(len(rows))
        drawn = np.sort(drawn[: _CLASSES.max_rows_learned])
        counts = labels.counts[drawn]
        counts = counts[:, counts.sum(axis=0) > 0]
        n_classes = counts.shape[1]
        if n_classes < 2:
            return prior
        evidence = LaplaceEvidence(rows.take(drawn), counts, self.alphabets)
        steps = _CLASSES.max_iter if labels.n_outputs == 1 else _CLASSES.max_iter_many
        ends = np.array([np.log(ratio), 0.0, 0.0]), np.array([1.5, np.inf, 1.0])
        return maximize_evidence(evidence, prior, steps, ends=ends).prior


class _Scores(NamedTuple):
    """Scores of one class, as `find_significant_terms` reads them."""

    posterior: Any
    axis: np.ndarray

    @property
    def covariance(self) -> Covariance:
        return self.posterior.covariance

    def weights_of(
        self, terms: Sequence[Term], given: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and standard deviations of weights; hyperparameters are given."""
        means, variances = self.posterior.weights_of(terms)
        return means @ self.axis, np.sqrt(variances) * np.linalg.norm(self.axis)

    def prior_stds(self, terms: Sequence[Term]) -> NDArray[np.float64]:
        """Prior standard deviations of weights."""
        return self.covariance.weight_stds(terms) * np.linalg.norm(self.axis)

    def dual_coefficients(self) -> tuple[EncodedRows, NDArray[np.float64]]:
        """Rows and dual coefficients: E[w_Q] = sum_d a_d Cov(w_Q, f(x_d))."""
        rows, alpha = self.posterior.dual_coefficients()
        return rows, alpha @ self.axis


def needs_logistic_likelihood(
    member_fits: Sequence[MemberFit],
    squares: Sequence[tuple[EnsembleMember, NDArray[np.float64]]],
) -> list[bool]:
    """Whether each member is worth a logistic likelihood, too."""
    # Where these take long, that is the one whose least squares predict best: the
    # others hardly add to it.
    pairs = zip(member_fits, squares, strict=True)
    losses = [member_fit.loss(chances) for member_fit, (_, chances) in pairs]
    work = sum(member_fit.work for member_fit in member_fits)
    is_cheap = work <= _CLASSES.max_work_together
    return [is_cheap or loss == min(losses) for loss in losses]


def stacking_weights(
    left_out: NDArray[np.float64],
    pseudo_counts: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Stacking weights of members by expectation maximization; they sum to 1."""
    # Held-out log probabilities are (n_observations, n_members). Pseudo-counts are the
    # observations that each member generates before any is seen.
    weight = np.ones(len(left_out)) if sample_weight is None else sample_weight
    ensemble_weights = pseudo_counts / pseudo_counts.sum()
    # Relative to the most likely member, so that no observation underflows.
    odds = np.exp(left_out - left_out.max(axis=1, keepdims=True))
    for _ in range(_MIXTURE.max_iter):
        joint = ensemble_weights * (weight / (odds @ ensemble_weights) @ odds)
        before, ensemble_weights = ensemble_weights, joint + pseudo_counts
        ensemble_weights /= ensemble_weights.sum()
        if np.abs(ensemble_weights - before).max() < _MIXTURE.tolerance:
            break
    return ensemble_weights
