"""Fitted models: their interface, priors and residuals."""

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    NamedTuple,
    Protocol,
    Self,
    TypeAlias,
    cast,
)

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp
from scipy.stats import t as student

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._units import power_of_two_scale
from skmohn._core._walsh import WalshPolynomial, is_beyond_cube, within_cube
from skmohn.mohn._design.terms import with_kept
from skmohn.mohn._missing_inputs import MissingInputs
from skmohn.mohn._options import DeltaOptions
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.rows import (
    EncodedRows,
    count_observations,
    distinct_rows,
    members_of,
)
from skmohn.mohn._table.tails import (
    TAILS,
    Mixtures,
    Tails,
    fit_level,
    fit_tails,
    tails_of_few,
)
from skmohn.mohn._table.target import Transform, Unchanged, moments
from skmohn.mohn._table.variables import Contrast, Variable


@dataclass(frozen=True)
class PriorConstants:
    """Prior of a constant, of a function and of its noise."""

    # A priori variance of the constant; the target is standardized.
    constant_variance: float = tuned(1.0, "benchmarks/ablation.py")
    # Least variance of the noise.
    min_noise_variance: float = tuned(1e-6, "rounding")
    # Log-normal densities of the variance of a function and of its noise, in units of
    # the target's variance: mean and standard deviation of the logarithm.
    log_signal_variance: tuple[float, float] = tuned(
        (0.0, 1.0), "benchmarks/ablation.py"
    )
    log_noise_variance: tuple[float, float] = tuned(
        (-1.0, 1.0), "benchmarks/ablation.py"
    )


PRIOR = PriorConstants()


@dataclass(frozen=True)
class JointConstants:
    """Joint covariances."""

    # Weights of classes of which the joint covariance is kept: 8 MB.
    max_joint: int = tuned(1000, "cost")


JOINT = JointConstants()

# Fraction of the listed weights of an order that are zero, on average: where all are,
# the probability that any is listed.
FALSE_DISCOVERY_RATE: Final = 0.05


@dataclass(frozen=True)
class ListingConstants:
    """Terms that a spike-and-slab model lists."""

    # Mean probability of being zero of the weights that a spike-and-slab model lists:
    # half of the rate of tests. The probabilities are calibrated on average, but not on
    # each kind of function: in eight kinds with R2 above 0.7 (eight or sixteen tables
    # each) 0 to 3.3 % of the listed are then false, with 0.05 up to 5.6 %.
    max_mean_exclusion: float = tuned(0.025, "benchmarks/ablation.py")


LISTING = ListingConstants()


@dataclass(frozen=True)
class AveragingConstants:
    """Average over the values of R2 of an additive function."""

    # Values of R2 over which the evidence of an additive function is integrated, in
    # steps of the log odds.
    log_odds_step: float = tuned(0.05, "benchmarks/ablation.py")
    # Prior odds that any column matters. If none does, prediction errors are then those
    # of RidgeCV (60 to 300 rows, 8 to 40 columns), and of 15 public tables whose mean
    # has the shorter description none is predicted worse than by the mean; with even
    # odds one in four is.
    prior_odds: float = tuned(3.0, "benchmarks/ablation.py")


_AVERAGING = AveragingConstants()


@dataclass(frozen=True)
class ResidualConstants:
    """Residuals of training rows."""

    # Training rows whose missing values stand for those of all.
    max_rows_completed: int = tuned(200, "cost")
    # Rows of which each is left out; of more, so many stand for all.
    max_left_out: int = tuned(1600, "cost")
    # Training rows from whose errors tails are estimated.
    max_rows_tails: int = tuned(400, "cost")
    # Fraction of observations below which the widths of tails are compared.
    compared_quantile: float = tuned(0.95, "benchmarks/ablation.py")
    # Of the noise found in training that missing values may explain: some is always
    # left.
    max_missing_fraction: float = tuned(0.95, "benchmarks/ablation.py")
    # Of an error, a row's own fit leaves at least so much; less is rounding.
    min_residual_fraction: float = tuned(1e-3, "rounding")
    # Factor of least squares that a prior leaves of a weight; less is rounding error.
    min_shrinkage: float = tuned(1e-8, "rounding")


RESIDUALS = ResidualConstants()
_R2_GRID = expit(np.arange(-9.0, 12.0, _AVERAGING.log_odds_step))
# Training and test rows of each fold.
Folds: TypeAlias = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]


class NoPosteriorError(AttributeError, ValueError):
    """Request for something that needs a posterior, of a model that has none."""

    # Two bases, as of scikit-learn's NotFittedError: the one is for attributes and
    # methods that are not there, the other for parameters such as `return_std`.


class FoldPath(Protocol):
    """Models of classes along a path, learned without the held-out rows of a fold."""

    @property
    def validation(self) -> Any: ...

    def refit_losses(self, position: int, C: float) -> NDArray[np.float64]: ...


class SelectedModel(NamedTuple):
    """Model that was selected along a path, and its errors on held-out rows."""

    terms: list[Term]
    # "validation", "cv", "ebic", "lasso", "stopped", "given" or "whole": of the search
    # of all samples.
    how: str
    folds: Folds | None = None  # of a cross-validation
    limited: bool = False  # the samples allowed no larger model
    coef: np.ndarray | None = None  # (n_terms,); shrunken weights when `how` is "lasso"
    intercept: float | None = None  # of these
    # (n_folds,); mean squared error on each fold, or on the validation samples, of the
    # target in the unit of the samples. None for classes.
    errors: np.ndarray | None = None
    paths: Sequence[FoldPath] = ()  # of classes, one for each fold
    position: int = 0  # of the model on these paths


class FitResult(NamedTuple):
    """Result of a strategy: terms, and a model unless only terms were sought."""

    terms: Sequence[Term]  # listed ones, sorted by order, then by inputs
    stopping_reason: str
    # By order: how many sets there are, were tried and are kept.
    coverage: list[dict[str, Any]]
    # Of a target or of classes; None for terms alone, and for weights alone.
    model: Any = None
    warning: str | None = None
    selection: SelectedModel | None = None
    is_exact: bool = False  # the model reproduces every sample
    is_stopped: bool = False  # a callback ended the search
    # The terms were chosen, and are tested, by scores of the target's ranks.
    on_scores: bool = False
    coef: np.ndarray = np.empty(0)  # (n_terms,); of a regression, as all that follow
    intercept: float = 0.0
    standard_errors: np.ndarray = np.empty(0)  # (n_terms,)
    noise_std: float = 0.0

    @classmethod
    def of_weights(
        cls,
        graph: WalshPolynomial,
        standard_errors: NDArray[np.float64],
        noise_std: float,
        stopping_reason: str,
        coverage: list[dict[str, Any]],
        warning: str | None = None,
        **others: Any,
    ) -> Self:
        """Result of a regression, whose weights are those of a polynomial."""
        return cls(
            graph.terms,
            stopping_reason,
            coverage,
            warning=warning,
            coef=graph.weights,
            intercept=graph.intercept,
            standard_errors=standard_errors,
            noise_std=noise_std,
            **others,
        )

    @classmethod
    def of_model(
        cls,
        model: "Model",
        listed: tuple[WalshPolynomial, NDArray[np.float64]],
        stopping_reason: str,
        coverage: list[dict[str, Any]],
    ) -> Self:
        """Result of a regression by a model of all weights, some of them listed."""
        # These are with their standard deviations, as of `Model.significant_terms`.
        graph, errors = listed
        return cls.of_weights(
            graph,
            errors,
            model.noise_std(),
            stopping_reason,
            with_kept(coverage, graph.terms),
            model=model,
        )

    @property
    def graph(self) -> WalshPolynomial:
        """Listed weights of a regression."""
        return WalshPolynomial(tuple(self.terms), self.coef, self.intercept)

    def with_weights(
        self, graph: WalshPolynomial, standard_errors: NDArray[np.float64]
    ) -> Self:
        """Copy with other listed weights."""
        return self._replace(
            terms=graph.terms,
            coef=graph.weights,
            intercept=graph.intercept,
            standard_errors=standard_errors,
        )


def occam_factor(
    density: float, curvature: NDArray[np.float64], by_data: NDArray[np.float64]
) -> float:
    """Log Occam factor of hyperparameters in Laplace's approximation, 0 at most."""
    # The integral of the likelihood over normal hyperparameters is its value at the
    # best ones times this. `density` is the log density there less its maximum; the
    # others are negative Hessians of the log density and of the log likelihood.
    # Directions that the data leave open cost nothing.
    # Source: MacKay, Bayesian interpolation, Neural Computation 4, 1992, Eq 2.10.
    ratios = eigvalsh(by_data, curvature)
    return density - 0.5 * float(np.sum(np.log1p(np.maximum(ratios, 0.0))))


class AdditiveFit(NamedTuple):
    """Fit of an additive function whose columns share one variance."""

    signal: float  # variance of the function
    noise: float  # variance
    evidence: float  # log density of the target, but for the direction of the constant
    log_occam_factor: float  # deducted from it for the hyperparameters learned


def integrate_r2(
    values: NDArray[np.float64],
    along: NDArray[np.float64],
    others: float,
    n_directions: float,
    min_noise_variance: float,
) -> AdditiveFit:
    """Learn how much of a target's variance a function with a normal prior explains."""
    # This proportion, R2, is uniform a priori; the evidence is integrated over it. Its
    # posterior mean is taken, for which R2 is zero with probability 1 / (1 + odds) a
    # priori.
    # Source: Zhang, Naughton, Bondell and Reich, Bayesian regression using a prior on
    # the model fit: the R2-D2 shrinkage prior, Journal of the American Statistical
    # Association 117, 2022 (the uniform prior of R2).
    # `values` are eigenvalues of the covariance of the function at the rows, whose mean
    # variance is 1, `along` the target along their directions, `others` its sum of
    # squares in all other directions, of `n_directions` but that of the constant.

    def log_density(
        r2: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Log density of the target at its most likely variance, and that variance."""
        spread = 1.0 - r2 + r2 * values[:, None]
        square = np.sum(along[:, None] ** 2 / spread, axis=0) + others / (1.0 - r2)
        volume = np.sum(np.log(spread), axis=0)
        volume += (n_directions - len(along)) * np.log1p(-r2)
        total = np.maximum(square / n_directions, min_noise_variance / (1.0 - r2))
        volume += n_directions * np.log(2.0 * np.pi * total)
        return -0.5 * (volume + square / total), total

    densities, _ = log_density(_R2_GRID)
    # dR2 = R2 (1 - R2) d(log odds).
    log_mass = (
        densities
        + np.log(_R2_GRID * (1.0 - _R2_GRID))
        + math.log(_AVERAGING.log_odds_step)
    )
    mass: Any = logsumexp(log_mass)
    (of_nothing,), _ = log_density(np.zeros(1))
    matters = expit(math.log(_AVERAGING.prior_odds) + mass - of_nothing)
    r2 = float(matters * (np.exp(log_mass - mass) @ _R2_GRID))
    (evidence,), (total,) = log_density(np.array([r2]))
    center, deviation = PRIOR.log_noise_variance
    # The prior of the noise, for the whole variance: the same where R2 is zero.
    away = (math.log(total) - center) / deviation
    log_occam_factor = occam_factor(
        -0.5 * away**2, np.eye(1) / deviation**2, 0.5 * n_directions * np.eye(1)
    )
    return AdditiveFit(
        float(r2 * total),
        float((1.0 - r2) * total),
        float(evidence),
        float(mass - evidence) + log_occam_factor,
    )


def fit_noise_factor(
    squares: NDArray[np.float64],
    certain: NDArray[np.float64] | float,
    noise: NDArray[np.float64],
    count: NDArray[np.float64] | float = 1.0,
) -> float:
    """Maximum-likelihood factor of the noise, given squared held-out errors."""
    # `certain` is the part of their variance that the factor leaves as it is.

    def loss(log_scale: float) -> float:
        variance = certain + np.exp(log_scale) * noise
        return np.sum(count * (squares / variance + np.log(variance)))

    found: Any = minimize_scalar(loss, bounds=(-3, 3), method="bounded")
    return float(np.exp(found.x))


def standard_ratios(
    means: NDArray[np.float64],
    stds: NDArray[np.float64],
    prior_stds: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Weights over least-squares standard errors, all others under their prior."""
    # What a prior takes from a weight is no evidence against zero: least squares alone
    # has the mean over the shrinkage, and its variance as well. Where nothing is known
    # of a weight but its prior, the ratio is 0.
    spread = np.divide(stds, prior_stds, np.ones(len(means)), where=prior_stds > 0.0)
    shrinkage = 1.0 - spread**2
    is_known = (shrinkage > RESIDUALS.min_shrinkage) & (stds > 0.0)
    error = stds * np.sqrt(np.maximum(shrinkage, 0.0))
    return np.divide(means, error, np.zeros(len(means)), where=is_known)


def find_significant(
    ratios: NDArray[np.float64], n_tested: int, df: float = math.inf
) -> NDArray[np.bool_]:
    """Mask of the weights of an order that are not zero, by tests in steps up."""
    # Student's t tests of the ratios, of which the largest number is taken that has at
    # most the accepted rate of false discoveries.
    # Source: Benjamini and Hochberg, Controlling the false discovery rate, Journal of
    # the Royal Statistical Society B 57, 1995.
    # Ratios are those of `standard_ratios`; all others of the `n_tested` weights of the
    # order have smaller ones. The noise has `df` degrees of freedom.
    p_values = 2.0 * student.sf(np.abs(ratios), df)
    ranked = np.sort(p_values)
    ranks = 1.0 + np.arange(len(ranked))
    passed = ranked[ranked * n_tested <= FALSE_DISCOVERY_RATE * ranks]
    return p_values <= passed.max(initial=-1.0)


def noise_df(n_observed: float, n_fitted: float) -> float:
    """Degrees of freedom of the noise: what a fit leaves, and what its prior adds."""
    # The logarithm of an estimate by so many has a variance of about 2 / df.
    return n_observed - n_fitted + 2.0 / PRIOR.log_noise_variance[1] ** 2


def residual_fraction(
    function: NDArray[np.float64], noise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Fraction of an observation's error that its own fit leaves; 0 within rounding."""
    kept = 1.0 - np.divide(function, noise, np.ones_like(noise), where=noise > 0.0)
    return np.where(kept > RESIDUALS.min_residual_fraction, kept, 0.0)


class LeftOut(NamedTuple):
    """Errors of predictions of training rows by all other rows."""

    residual: np.ndarray  # (n_rows,); standardized targets less their predictions
    variance: np.ndarray  # (n_rows,); of the function
    noise: np.ndarray  # (n_rows,); variance of the noise
    # (n_rows,); number of observations that each row stands for.
    count: np.ndarray  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def squares(self) -> NDArray[np.float64]:
        """Squared errors."""
        return self.residual**2

    def noise_level(self, more: NDArray[np.float64] | float = 0.0) -> float:
        """Maximum-likelihood factor of the noise; `more` is variance beside it."""
        return fit_noise_factor(
            self.squares, self.variance + more, self.noise, self.count
        )


def count_and_precision(
    sample_weight: NDArray[np.float64] | None, n_samples: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numbers of observations of samples, and the precision of each."""
    weight = np.ones(n_samples) if sample_weight is None else sample_weight
    count = count_observations(weight)
    return count, weight / count


def evaluate_within_cube(
    graph: WalshPolynomial, rows: EncodedRows
) -> NDArray[np.float64]:
    """Evaluate rows, those beyond the training ranges within what these allow."""
    values = graph.predict(rows.inputs)
    inputs = rows.inputs[:, np.unique(graph.members)]
    return within_cube(values, inputs, graph.intercept, graph.weights)


@dataclass(frozen=True, kw_only=True)
class Model(ABC):
    """A function found, in coded inputs, and how far it may be off.

    Sparse and dense models have the same interface. The function is that of the target
    on its scale, see `transform`; variances are those of the standardized target.

    Attributes
    ----------
    missing_inputs : MissingInputs
        What unknown inputs of a row may hide.

    y_std : float
        What the target was divided by to standardize it.

    noise_variance : float
        Variance of the noise.

    transform : Unchanged, Logarithm or YeoJohnson
        From the target to the scale on which the function is learned.

    residual_distribution : Tails
        How new observations are distributed around the function on its scale.

    y_min, y_max : float
        Range of predictions.

    has_posterior : bool, default=True
        Whether it is known how far the function may be off.

    is_sparse : bool
        Whether all weights are in its ``polynomial``.
    """

    missing_inputs: MissingInputs = field(default_factory=MissingInputs)
    transform: Transform = field(default_factory=Unchanged)
    residual_distribution: Tails = field(default_factory=Tails)
    y_min: float = -math.inf
    y_max: float = math.inf
    has_posterior: bool = True
    is_sparse: ClassVar[bool]
    # Each model has them, as fields or otherwise.
    if TYPE_CHECKING:

        @property
        def y_std(self) -> float: ...

        @property
        def noise_variance(self) -> float: ...

    # ------------------------------------------------------- the same for all models

    @property
    def is_transformed(self) -> bool:
        """Whether the scale is another than that of the target."""
        return not isinstance(self.transform, Unchanged)

    @property
    def is_chosen(self) -> bool:
        """Whether rows chose terms, or more than one variance of weights."""
        return True

    @property
    def is_bounded(self) -> bool:
        """Whether its mean is bounded beyond the training ranges."""
        return False

    @property
    def mean_reads_terms(self) -> bool:
        """Whether predictive means read the inputs of listed terms alone."""
        return self.is_sparse and not self.is_transformed

    def predictive_mean(
        self, rows: EncodedRows, clip: bool = True
    ) -> NDArray[np.float64]:
        """Mean of new observations, within `y_min` and `y_max` if clipped."""
        mean = self._mean_around(rows, self.latent_mean(rows))
        return np.clip(mean, self.y_min, self.y_max) if clip else mean

    def _mean_around(
        self, rows: EncodedRows, center: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Mean of new observations around a center on the scale, unclipped."""
        if not self.is_transformed:
            return center
        # The noise map is too uncertain to enter the mean of a skewed target.
        around = self.latent_variance(rows) + self.noise_variance
        around = around + self.missing_inputs.variance(self._standard_mean, rows)
        return moments(self.transform, center, self.y_std * np.sqrt(around))[0]

    def _are_moved(self, rows: EncodedRows, clip: bool) -> NDArray[np.bool_]:
        """Which rows are beyond the ranges of the columns, where clipping may act."""
        if not clip or not np.isfinite([self.y_min, self.y_max]).any():
            return np.zeros(len(rows), dtype=bool)
        return is_beyond_cube(rows.inputs)

    def unbounded_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Mean of the function, also beyond its bounds."""
        return self.latent_mean(rows)

    def _center_and_distance(
        self, rows: EncodedRows, clip: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Center of new observations on the scale, and from it to the unbounded one."""
        center = self._clipped_center(rows, clip)
        if self.is_transformed:
            # A distance between logarithms is no standard deviation of the target.
            return center, np.zeros(len(rows))
        return center, self.unbounded_mean(rows) - center

    def _clipped_center(self, rows: EncodedRows, clip: bool) -> NDArray[np.float64]:
        """Center of new observations on the scale, where clipping moves far means."""
        # Quantiles, densities and draws of far rows would otherwise follow the function
        # where the mean has left it.
        center, are_moved = self.latent_mean(rows), self._are_moved(rows, clip)
        if not are_moved.any():
            return center
        std = self.std_on_scale(rows)
        mean = self._mean_around(rows, center)
        clipped = np.clip(mean, self.y_min, self.y_max)
        with np.errstate(divide="ignore", invalid="ignore"):
            at = self.transform.forward(clipped)
            ends = self.transform.forward(np.array([self.y_min, self.y_max]))
        # The mean of a skewed target is off its median, by much where the function is
        # unknown: a standard deviation keeps it inside of usual intervals.
        near = np.clip(center, at - std, at + std) if self.is_transformed else at
        return np.where(are_moved & (clipped != mean), np.clip(near, *ends), center)

    def with_range(
        self,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
    ) -> Self:
        """Clip to the range of leave-one-out predictions."""
        # It is widened by a standard deviation of the function on either side. A few
        # extreme targets, which a fit reproduces at their own rows, then do not stretch
        # it; those of equal rows, such as all of a category, support each other. With
        # many rows, that of some would be too narrow: the targets' is kept.
        if len(rows) > RESIDUALS.max_left_out:
            return self
        data, n_stds = (rows, y, sample_weight), (-1.0, 1.0)
        lower, upper = self.left_out_means(*data, n_stds, with_equals=False)
        low, high = float(np.min(lower)), float(np.max(upper))
        return replace(self, y_min=max(self.y_min, low), y_max=min(self.y_max, high))

    def release(self) -> None:  # noqa: B027 - most models have nothing to free
        """Free large matrices, which are made again where they are needed."""

    def with_targets(self, y: NDArray[np.float64]) -> Self:
        """Let predictions reach further targets."""
        low, high = float(np.min(y)), float(np.max(y))
        return replace(self, y_min=min(self.y_min, low), y_max=max(self.y_max, high))

    def left_out_error(
        self,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
    ) -> float:
        """Leave-one-out mean squared error, in units of the targets' variance."""
        (mean,) = self.left_out_means(rows, y, sample_weight)
        apart, unit = y - np.average(y, weights=sample_weight), power_of_two_scale(y)
        errors, squares = (
            np.average((part / unit) ** 2, weights=sample_weight)
            for part in (y - np.clip(mean, self.y_min, self.y_max), apart)
        )
        return errors / squares

    def left_out_means(
        self,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        n_stds: Sequence[float] = (0.0,),
        with_equals: bool = True,
    ) -> list[NDArray[np.float64]]:
        """Leave-one-out means of targets, by numbers of standard deviations off."""
        everyone = np.arange(len(rows))
        left = self.leave_out(rows, y, sample_weight, everyone, with_equals)
        mean = self.transform.forward(y) - self.y_std * left.residual
        function_std = self.y_std * np.sqrt(left.variance)
        means = [mean + n_std * function_std for n_std in n_stds]
        if self.is_transformed:
            std = self.y_std * np.sqrt(left.variance + left.noise)
            means = [moments(self.transform, mean, std)[0] for mean in means]
        return means

    def predictive_std(
        self, rows: EncodedRows, clip: bool = True
    ) -> NDArray[np.float64]:
        """Standard deviation of new observations: function, noise, missing values."""
        center, distance = self._center_and_distance(rows, clip)
        std = self._widened(self.std_on_scale(rows), distance)
        return moments(self.transform, center, std)[1] if self.is_transformed else std

    def quantiles(
        self, rows: EncodedRows, probabilities: NDArray[np.float64], clip: bool = True
    ) -> NDArray[np.float64]:
        """Quantiles of new observations at probabilities, (n_rows, n_probabilities)."""
        center, distance = self._center_and_distance(rows, clip)
        std = self._widened(self.std_on_scale(rows), distance)
        away = std[:, None] * self.residual_distribution.quantiles(probabilities)
        for incomplete, mixtures in self._mix_completions(rows, distance):
            away[incomplete] = mixtures.quantiles(probabilities)
        return self.transform.inverse(center[:, None] + away)

    def log_density(
        self, rows: EncodedRows, y: NDArray[np.float64], clip: bool = True
    ) -> NDArray[np.float64]:
        """Log density of new observations, one for each row."""
        # Infinite where the standard deviation is 0 and the target is the mean; minus
        # infinity where it cannot be.
        mean, distance = self._center_and_distance(rows, clip)
        std = self._widened(self.std_on_scale(rows), distance)
        # Values outside the transform's domain, and zero densities, give -inf.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values, slope = self.transform.forward(y), self.transform.log_slope(y)
            away = np.where(values == mean, 0.0, (values - mean) / std)
            density = self.residual_distribution.log_density(away) - np.log(std)
            for incomplete, mixtures in self._mix_completions(rows, distance):
                density[incomplete] = mixtures.log_density((values - mean)[incomplete])
            density += slope
        return np.where(np.isnan(density), -np.inf, density)

    def _mix_completions(
        self, rows: EncodedRows, distance: NDArray[np.float64]
    ) -> Iterator[tuple[NDArray[np.intp], Mixtures]]:
        """Incomplete rows, and distributions of their targets less the center."""
        # By number of completions: the bits of a row are the same beside any others.
        by_count = defaultdict(list)
        for own in self.missing_inputs.deviations(self._standard_mean, rows):
            by_count[len(own[1])].append(own)
        if not by_count:
            return
        variance = self.latent_variance(rows) + self._known_noise(rows)
        std = self._widened(self.y_std * np.sqrt(variance), distance)
        tails = self.residual_distribution
        for found in by_count.values():
            incomplete, apart, probability = map(np.array, zip(*found, strict=True))
            centers = self.y_std * apart
            yield incomplete, Mixtures(tails, std[incomplete], centers, probability)

    @staticmethod
    def _widened(
        std: NDArray[np.float64], distance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Standard deviations that include how far bounds have moved the centers."""
        # Nothing tells whether the function goes on or ends at its bounds.
        return np.hypot(std, distance)

    def std_on_scale(
        self, rows: EncodedRows, precision: NDArray[np.float64] | float = 1.0
    ) -> NDArray[np.float64]:
        """Standard deviation of new observations, on the scale of the target."""
        return self.y_std * np.sqrt(
            self.latent_variance(rows) + self._around(rows, precision)
        )

    def _around(
        self, rows: EncodedRows, precision: NDArray[np.float64] | float = 1.0
    ) -> NDArray[np.float64]:
        """Variance of observations around the function: noise and missing values."""
        noise = self._known_noise(rows) / precision
        return noise + self.missing_inputs.variance(self._standard_mean, rows)

    def sample(
        self,
        rows: EncodedRows,
        n_draws: int,
        rng: np.random.Generator | np.random.RandomState,
        clip: bool = True,
    ) -> NDArray[np.float64]:
        """Sample new observations, jointly for all rows."""
        if isinstance(rng, np.random.RandomState):
            # Several targets draw a seed each.
            rng = np.random.default_rng(rng.randint(2**31))
        draws = self.sample_latent(rows, n_draws, rng)
        center, distance = self._center_and_distance(rows, clip)
        if self._are_moved(rows, clip).any():
            draws = draws + (center - self.latent_mean(rows))[:, None]
        spread = np.sqrt(self._known_noise(rows))[:, None]
        around = spread * self.residual_distribution.draw(rng, (len(rows), n_draws))
        found = self.missing_inputs.deviations(self._standard_mean, rows)
        for i, apart, probability in found:
            around[i] += rng.choice(apart, n_draws, p=probability)
        if distance.any():
            # Drawn last, so that other rows keep their draws.
            draws = draws + np.outer(distance, rng.standard_normal(n_draws))
        return self.transform.inverse(draws + self.y_std * around)

    def noise_std(self) -> float:
        """Standard deviation of the noise, on the scale of the target."""
        return self.y_std * math.sqrt(self.noise_variance)

    def with_missing_inputs(
        self,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        coding: InputCoding,
    ) -> Self:
        """Learn known values of training rows, and the noise beside missing ones."""
        # Complete rows, and those whose missing values change little, show how much
        # noise there is beside the missing values. In an exact model there is none,
        # whatever its rows lack.
        if not self.has_posterior:
            return self
        missing_inputs = MissingInputs.of(rows, coding, sample_weight)
        chosen = np.arange(len(rows))
        if len(rows) > RESIDUALS.max_rows_completed:
            chosen = np.random.default_rng(0).permutation(len(rows))[
                : RESIDUALS.max_rows_completed
            ]
        by_missing_inputs = missing_inputs.variance(
            self._standard_mean, rows.take(chosen)
        )
        if self.noise_variance and by_missing_inputs.any():
            errors = self.leave_out(rows, y, sample_weight, chosen)
            missing_noise_fraction = (
                1.0 - errors.noise_level(by_missing_inputs) / errors.noise_level()
            )
            missing_inputs = replace(
                missing_inputs,
                missing_noise_fraction=min(
                    max(missing_noise_fraction, 0.0), RESIDUALS.max_missing_fraction
                ),
            )
        return replace(self, missing_inputs=missing_inputs)

    def with_tails(
        self,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        n_outliers: int = 0,
        squares_of_groups: NDArray[np.float64] | None = None,
    ) -> Self:
        """Learn the residual distribution from training rows that others predict."""
        # It follows `with_missing_inputs`. Squares are of `squares_of_new_groups`.
        if not (self.has_posterior and self.noise_variance):
            return self
        chosen = np.random.default_rng(0).permutation(len(rows))[
            : RESIDUALS.max_rows_tails
        ]
        data = rows, y, sample_weight, chosen
        away, count = self.left_out_distances(*data)
        found = [fit_tails(away**2, count)]
        index, first = distinct_rows(rows)
        has_groups = rows.group is not None
        if not has_groups and (sample_weight is not None or len(first) < len(rows)):
            # Repeats predict each other, which is no evidence on rows elsewhere.
            away, count = self.left_out_distances(*data, with_equals=True)
            found.append(fit_tails(away**2, count))
        n_each, precision = count_and_precision(sample_weight, len(rows))
        unit = cast(NDArray[np.intp], rows.group) if has_groups else index
        is_repeated = has_groups or len(first) < n_each.sum()
        is_repeated = is_repeated and bool(np.all(precision == 1.0))
        # Equal rows with equal targets are copies.
        own = unit if has_groups else np.column_stack([index, y])
        n_own = len(np.unique(own, axis=0))
        if squares_of_groups is not None:
            # Not even the number of terms was chosen by the group.
            found.append(tails_of_few(squares_of_groups, n_own, is_chosen=False))
        elif n_own < TAILS.few_rows or (is_repeated and math.isinf(found[-1].df)):
            # Repeats that are copies, and rows of a group, make a fit too certain.
            known = np.flatnonzero(count > 0.0)
            if not has_groups:
                known = known[np.isin(chosen[known], first)]
            squares = away[known] ** 2
            parts = members_of(unit[chosen[known]])
            squares = np.array([squares[part].mean() for part in parts])
            if n_own < TAILS.few_rows:
                found.append(tails_of_few(squares, n_own, self.is_chosen))
            else:
                is_expected = bool(has_groups or n_own < n_each.sum())
                found.append(fit_level(squares, is_expected))
        widest = max(
            found, key=lambda tails: float(tails.quantiles(RESIDUALS.compared_quantile))
        )
        if n_outliers:
            # The posterior mean, uniform a priori.
            probability = (n_outliers + 1.0) / (len(rows) + n_outliers + 2.0)
            widest = replace(widest, outliers=probability)
        return replace(self, residual_distribution=widest)

    def left_out_distances(
        self,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        chosen: NDArray[np.intp],
        with_equals: bool = False,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Leave-one-out residuals in predictive standard deviations; their counts."""
        errors = self.leave_out(rows, y, sample_weight, chosen, with_equals)
        _, precision = count_and_precision(sample_weight, len(rows))
        around = self._around(rows.take(chosen), precision[chosen])
        return errors.residual / np.sqrt(errors.variance + around), errors.count

    def leave_out(
        self,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        chosen: NDArray[np.intp],
        with_equals: bool = False,
    ) -> LeftOut:
        """Predict some training rows by all others."""
        # Rows of a group are left out together in any case, equal rows where
        # `with_equals`.
        count, precision = count_and_precision(sample_weight, len(rows))
        values = self.transform.forward(y) / self.y_std
        if rows.group is not None:
            return self._leave_groups_out(rows, chosen, values, count, precision)
        chosen_rows, known, left = rows.take(chosen), values, precision
        if with_equals:
            index, _ = distinct_rows(rows)
            weight = count * precision
            total = np.bincount(index, weight)
            known = (np.bincount(index, weight * values) / total)[index]
            left = total[index]
        function, noise, kept = self.variances_at_map(chosen_rows, left[chosen])
        # Without what is left out, its error and the variance of the function are
        # larger by one over the fraction of the error that its own fit leaves.
        count = np.where(kept > 0.0, count[chosen], 0.0)
        kept = np.where(kept > 0.0, kept, 1.0)
        residual = (known[chosen] - self._standard_mean(chosen_rows)) / kept
        residual += (values - known)[chosen]
        noise = noise * (left / precision)[chosen]
        return LeftOut(residual, function / kept, noise, count)

    def _leave_groups_out(
        self,
        rows: EncodedRows,
        chosen: NDArray[np.intp],
        values: NDArray[np.float64],
        count: NDArray[np.float64],
        precision: NDArray[np.float64],
    ) -> LeftOut:
        """Predict some training rows by those of other groups."""
        # Equal rows of other groups stay: they are what is known of a new group.
        # Values are standardized targets, `count` the observations that each is.
        weight, group = count * precision, cast(NDArray[np.intp], rows.group)
        residual, variance, noise, is_known = np.zeros((4, len(rows)))
        for members in members_of(group):
            if not np.isin(group[chosen], group[members[0]]).any():
                continue
            group_rows = rows.take(members)
            _, own_noise, _ = self.variances_at_map(group_rows, weight[members])
            # What is left out has the covariance N (N - C)^-1 N with its noise, if C is
            # that of the function given all rows, and N their noise.
            root = np.sqrt(own_noise)
            removed, vectors = np.linalg.eigh(
                self.given_covariance(group_rows) / np.multiply.outer(root, root)
            )
            kept = 1.0 - removed
            off = values[members] - self._standard_mean(group_rows)
            is_left = kept.min() > RESIDUALS.min_residual_fraction
            if is_left:
                vectors = root[:, None] * vectors
                off = vectors @ ((vectors.T @ (off / own_noise)) / kept)
                around = (vectors**2) @ (1.0 / kept) - own_noise
            else:
                around = np.diagonal(self.given_covariance(group_rows))
            residual[members], variance[members] = off, np.maximum(around, 0.0)
            noise[members], is_known[members] = own_noise, is_left
        found = residual, variance, noise * count, count * is_known
        return LeftOut(*(part[chosen] for part in found))

    def relevance_by_column(self, coding: InputCoding) -> NDArray[np.float64]:
        """Largest ``tau`` of each column among its inputs and categoricals."""
        return coding.by_column(*self.relevance())

    def fitted_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Mean of the function at training rows, as `latent_mean` but for rounding."""
        return self.latent_mean(rows)

    def _known_noise(self, rows: EncodedRows) -> NDArray[np.float64]:
        return (
            1.0 - self.missing_inputs.missing_noise_fraction
        ) * self.noise_variance_at(rows)

    def _standard_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Mean in the units of the posterior, in which variances are within range."""
        return self.latent_mean(rows) / self.y_std

    # ---------------------------------------------------------- specific to each model

    @abstractmethod
    def latent_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Mean of the function, on the scale of the target, (n_rows,)."""

    @abstractmethod
    def latent_variance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Variance of the function, (n_rows,)."""

    @abstractmethod
    def noise_variance_at(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Variance of the noise of new observations, (n_rows,)."""

    @abstractmethod
    def variances_at_map(
        self, rows: EncodedRows, precision: NDArray[np.float64] | float = 1.0
    ) -> tuple[NDArray[np.float64], ...]:
        """Variances of function and noise given hyperparameters; fraction kept."""
        # The noise is as the posterior weighs the rows. The last is the fraction of an
        # observation's error that its own fit leaves, if it was among those of the fit;
        # 0 where that is unknown.

    @abstractmethod
    def given_covariance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Covariance of the function given hyperparameters, (n_rows, n_rows)."""

    @abstractmethod
    def sample_latent(
        self, rows: EncodedRows, n_draws: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Sample the function, jointly for all rows, see :meth:`sample`."""

    @abstractmethod
    def weight_posterior(self, term: Term) -> tuple[float, float]:
        """Mean and standard deviation of one weight."""
        # Categories of categoricals are numbered after the inputs.

    @abstractmethod
    def significant_terms(
        self, max_order: int | None = None
    ) -> tuple[WalshPolynomial, NDArray[np.float64]]:
        """Significant weights up to an order and their standard deviations."""
        # These are NaN without a posterior.

    @abstractmethod
    def sobol_variances(
        self, variables: list[Variable]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Variance over independent variables; first-order and total parts."""

    @abstractmethod
    def contrasts(
        self, variables: list[Variable], wanted: Sequence[Contrast]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and standard deviations of moves of one variable, others averaged."""
        # On the scale of the target; NaN where unknown.

    @abstractmethod
    def relevance(
        self,
    ) -> tuple[NDArray[np.float64], list[float] | NDArray[np.float64]]:
        """``tau`` of inputs and of categoricals, from 0 to 1."""

    @abstractmethod
    def log_evidence(self) -> float:
        """Log density of the targets, in their own units."""

    @abstractmethod
    def description_length(self) -> float:
        """Description length of data, terms and hyperparameters, in nats."""

    @abstractmethod
    def update(
        self,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        control: DeltaOptions,
    ) -> Self:
        """Condition on further rows."""
