"""Generalized linear models of few weights, chosen by held-out rows."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import logsumexp

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._walsh import within_cube
from skmohn.mohn._design.design import product_columns
from skmohn.mohn._design.terms import in_order, with_kept
from skmohn.mohn._missing_inputs import MissingInputs
from skmohn.mohn._models import JOINT, FitResult, SelectedModel
from skmohn.mohn._options import FitSettings, Report
from skmohn.mohn._sparse.distributions import Distribution, bounded_exp
from skmohn.mohn._sparse.glm import GLMPath, Response, covariance_root, fit_glm
from skmohn.mohn._sparse.logistic import LOGISTIC_SEARCH, ScorePath
from skmohn.mohn._sparse.logistic_selection import choose_products, learn_on_folds
from skmohn.mohn._sparse.newton import add_constant
from skmohn.mohn._sparse.sobol import sobol_variances_of_products
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._table.term_names import TermNames
from skmohn.mohn._table.variables import Marginals
from skmohn.mohn._term_search import all_terms, expand, expand_rows, read_terms
from skmohn.mohn._training_data import TrainingData


@dataclass(frozen=True)
class GLMChoiceConstants:
    """Choice of a generalized linear model by held-out rows."""

    # Penalties that are compared for C="auto".
    penalties: tuple[float, ...] = tuned(
        (0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0), "benchmarks/mohn/counts.py"
    )
    # Nats by which products that were found, which the held-out rows flatter, must
    # predict them better than models without: "strong" evidence; and single columns
    # better than the mean: less is "not worth more than a bare mention".
    min_gain_found: float = tuned(3.0, "Kass and Raftery (1995), section 3")
    min_gain: float = tuned(1.0, "Kass and Raftery (1995), section 3")
    # Rough nanoseconds that models with all columns may take on all folds.
    max_work: float = tuned(3e10, "cost")
    # Factor by which rates that products predict may be beyond the fitted ones.
    max_factor: float = tuned(4.0, "benchmarks/mohn/count_ranges.py")
    # Completions of a row: means of few depend on the order of the columns.
    max_completions: int = tuned(1024, "cost")
    # Change of all weights that ends their learning beside missing values, and rounds.
    min_change_missing: float = tuned(1e-4, "rounding")
    max_rounds_missing: int = tuned(20, "cost")


_CHOICE = GLMChoiceConstants()
# What the models are called in sentences.
_NOUNS = {
    "constant": "mean",
    "sparse": "products found",
    "additive": "single columns",
    "both": "single columns beside the products found",
}
_REASONS = {
    "cv": "k-fold validation of the likelihood chose {}",
    "ebic": "the extended BIC chose the {}",
    "stopped": "a callback stopped the search at the {}",
    "given": "the requested terms",
}


@dataclass(frozen=True)
class GLMModel:
    """Log mean that is a sum of products of inputs."""

    terms: list[Term]
    weights: NDArray[np.float64]  # (n_terms,)
    constant: float
    C: float  # inverse strength of the penalty
    dispersion: float
    distribution: Distribution
    coding: InputCoding
    # (n_terms + 1, rank); times its transpose the covariance of the weights and, last,
    # the constant; None where they are too many.
    root: NDArray[np.float64] | None
    log_rate_range: tuple[float, float]  # of predictions
    # (n_terms,); largest size of each product in the fit, at least 1. Genotypes, which
    # are coded less their means, have larger ones.
    reach: NDArray[np.float64]
    # Of the fit; None counts unknown inputs as their means.
    missing_inputs: MissingInputs | None = None
    is_sparse = True

    @classmethod
    def learn(
        cls, samples: TrainingData, terms: Sequence[Term], C: float
    ) -> "GLMModel":
        """Fit weights of products of one-hot inputs."""
        response = Response.of(samples)
        columns = product_columns(samples.inputs, terms)
        variances = _prior_variances(_first_category(samples), terms, C)
        mode, dispersion = fit_glm(columns, response, variances, is_adjusted=True)
        root = None
        if len(mode) <= JOINT.max_joint:
            root = covariance_root(columns, response, mode, dispersion, variances)
        bounds = _bound_log_rates(terms, columns @ mode[:-1] + mode[-1])
        reach = np.abs(columns).max(axis=0, initial=1.0)
        known = response.distribution, samples.coding, root, bounds, reach
        return cls(list(terms), mode[:-1], float(mode[-1]), C, dispersion, *known)

    def log_rates(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Logarithms of means for an exposure of 1."""
        return self._average_rates(rows)[0]

    def _average_rates(
        self, rows: EncodedRows
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Log means over all completions of rows; their variance if it were normal."""
        log_rates, variance = self._given_rates(rows), np.zeros(len(rows))
        for i, apart, probability in self._completions(rows):
            first, second = (
                np.asarray(logsumexp(k * apart, b=probability)) for k in (1.0, 2.0)
            )
            log_rates[i] += first
            variance[i] = second - 2.0 * first
        return log_rates, np.maximum(variance, 0.0)

    def _completions(
        self, rows: EncodedRows
    ) -> Iterable[tuple[int, NDArray[np.float64], NDArray[np.float64]]]:
        """Incomplete rows; log means of completions less theirs, and probabilities."""
        if self.missing_inputs is None:
            return ()
        if rows.unknown is not None:
            # Others change nothing, and would take up the completions that are tried.
            in_terms = np.isin(
                np.arange(rows.unknown.shape[1]),
                [j for term in self.terms for j in term],
            )
            rows = replace(rows, unknown=rows.unknown & in_terms)
        limit = _CHOICE.max_completions
        return self.missing_inputs.deviations(self._given_rates, rows, limit)

    def learn_beside_missing(self, samples: TrainingData) -> "GLMModel":
        """Learn the weights again with rates averaged over completions."""
        # What averaging adds to the log means, at the weights so far, is an exposure.
        model, whole = self, expand(samples)
        given = 1.0 if samples.exposure is None else samples.exposure
        for _ in range(_CHOICE.max_rounds_missing):
            added = model.log_rates(samples.rows) - model._given_rates(samples.rows)
            if not added.any():
                break
            whole = whole._replace(exposure=given * bounded_exp(added))
            found = GLMModel.learn(whole, model.terms, model.C)
            change = np.abs(found.weights - model.weights).max(initial=0.0)
            model = replace(found, missing_inputs=model.missing_inputs)
            if change <= _CHOICE.min_change_missing:
                break
        return model

    def _given_rates(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Log means of rows as they are coded."""
        return self._log_rates(self.columns(rows))

    def _log_rates(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log means of rows with these columns."""
        products = columns[:, :-1]
        values = products @ self.weights + self.constant
        # Means grow exponentially with products beyond the cube, and in its corners.
        parts = products / self.reach, self.constant, self.weights * self.reach
        values = within_cube(values, *parts)
        return np.clip(values, *self.log_rate_range)

    def columns(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Products and, last, ones: what weights and constant are multiplied by."""
        inputs = expand_rows(rows, self.coding)
        return add_constant(product_columns(inputs, self.terms))

    def standard_errors(self) -> NDArray[np.float64]:
        """Posterior standard deviations of the weights; NaN where they are too many."""
        if self.root is None:
            return np.full(len(self.weights), np.nan)
        return np.sqrt(np.einsum("ij,ij->i", self.root, self.root))[:-1]

    def predictive(
        self, rows: EncodedRows, exposure: NDArray[np.float64] | float
    ) -> Any:
        """Distribution of new targets, of scipy.stats."""
        # The log rate is normal: with the same mean, the moments of a target are those
        # of a larger dispersion.
        log_rates, variance = self._average_rates(rows)
        mean = bounded_exp(log_rates) * exposure
        dispersion = np.full(len(mean), self._dispersion(exposure))
        if self.root is not None:
            variance = variance + np.square(self.columns(rows) @ self.root).sum(axis=1)
        dispersion = self.distribution.widened(mean, dispersion, variance)
        return self.distribution.frozen(mean, dispersion)

    def _dispersion(self, exposure: NDArray[np.float64] | float) -> Any:
        """Dispersion of targets with exposures."""
        return self.dispersion * self.distribution.dispersion_factor(np.log(exposure))

    def sample(
        self,
        rows: EncodedRows,
        exposure: NDArray[np.float64] | float,
        n_draws: int,
        rng: np.random.RandomState,
    ) -> NDArray[np.float64]:
        """Draw targets, jointly for all rows, (n_rows, n_draws)."""
        columns = self.columns(rows)
        log_rates = np.tile(self._log_rates(columns)[:, None], n_draws)
        if self.root is not None:
            draws = rng.standard_normal((self.root.shape[1], n_draws))
            log_rates += columns @ (self.root @ draws)
        for i, apart, probability in self._completions(rows):
            log_rates[i] += rng.choice(apart, n_draws, p=probability)
        exposure = np.reshape(exposure, (-1, 1))
        means = bounded_exp(log_rates) * exposure
        dispersion = np.broadcast_to(self._dispersion(exposure), means.shape)
        found = self.distribution.frozen(means, dispersion)
        draws = found.rvs(size=means.shape, random_state=rng)
        return np.asarray(draws, dtype=float)

    def importances(
        self, term_names: TermNames, marginals: Marginals | None
    ) -> NDArray[np.float64]:
        """Total Sobol index of each column, for the log mean."""
        term_names = term_names.without_levels()
        variables, _ = term_names.columns(marginals)
        terms, weights = self.terms, self.weights[None]
        indices = sobol_variances_of_products(terms, weights, term_names, variables)
        return term_names.by_column(indices)


def _bound_log_rates(
    terms: Sequence[Term], fitted: NDArray[np.float64]
) -> tuple[float, float]:
    """Range of predicted log rates, infinite for models without products."""
    if max(map(len, terms), default=0) < 2:
        return -math.inf, math.inf
    reach = math.log(_CHOICE.max_factor)
    return float(fitted.min()) - reach, float(fitted.max()) + reach


class _Candidate(NamedTuple):
    """Model that is compared on held-out rows."""

    terms: list[Term]  # learned from all rows
    # Terms on the path of a fold, which may have found others.
    of_fold: Callable[[ScorePath], list[Term]]
    # Nats by which it must predict held-out rows better than one that needs none.
    min_gain: float = 0.0


# Of training data and settings: what was found on all rows and folds, the models to
# compare, and the coverage of the search.
Candidates: TypeAlias = tuple[
    SelectedModel, dict[str, _Candidate], list[dict[str, Any]]
]


def solve_glm(
    samples: TrainingData,
    settings: FitSettings,
    report: Report,
    *,
    find: Callable[[TrainingData, FitSettings, Report], Candidates],
) -> FitResult:
    """Find products, and learn the model that predicts held-out rows best."""
    samples = expand(samples)
    selection, candidates, coverage = find(samples, settings, report)
    chosen = next(iter(candidates))
    C = LOGISTIC_SEARCH.C if settings.C == "auto" else float(settings.C)
    if selection.how != "stopped" and selection.paths:
        chosen, C = _choose(samples, settings, report, selection, candidates)
    terms = candidates[chosen].terms
    model = GLMModel.learn(samples, terms, C)
    noun = _NOUNS.get(chosen, chosen)
    if selection.how == "cv":
        noun = f"the {noun}" if terms else "the mean: nothing predicts better"
    reason = _REASONS[selection.how].format(noun)
    coverage = with_kept(coverage, terms)
    return FitResult(terms, reason, coverage, model, selection=selection)


def find_candidates(
    samples: TrainingData, settings: FitSettings, report: Report
) -> Candidates:
    """Search for products; compare them with the mean and with single columns."""
    start = read_terms(samples, settings)
    n_inputs, max_terms = samples.inputs.shape[1], settings.max_terms
    if not n_inputs:
        return SelectedModel([], "cv"), {"constant": _fixed([])}, []

    def report_terms(record: Mapping[str, object], terms: Sequence[Term]) -> bool:
        learn = partial(GLMModel.learn, samples, terms, LOGISTIC_SEARCH.C)
        return report(record, learn)

    selection, coverage = choose_products(
        samples,
        replace(settings, selection="cv"),
        start,
        math.inf if max_terms is None else max(max_terms - len(start), 0),
        report_terms,
    )
    position = selection.position
    found = _Candidate(
        in_order(selection.terms),
        lambda path: path.model(position),
        _CHOICE.min_gain_found,
    )
    if selection.how != "cv":
        return selection, {"sparse": found}, coverage
    candidates = {"constant": _fixed(start), "sparse": found}
    inputs = in_order({*start, *((j,) for j in range(n_inputs))})
    if len(inputs) <= (max_terms or math.inf) and _is_affordable(samples, selection):
        candidates["additive"] = _fixed(inputs, _CHOICE.min_gain)
        both = in_order({*inputs, *found.terms})
        if len(both) <= (max_terms or math.inf) and len(both) > len(inputs):
            candidates["both"] = _Candidate(
                both,
                lambda path: in_order({*inputs, *found.of_fold(path)}),
                _CHOICE.min_gain_found,
            )
    return selection, candidates, coverage


def find_listed(
    samples: TrainingData, settings: FitSettings, report: Report, *, is_full: bool
) -> Candidates:
    """All products up to `max_order`, or those of the parameter `terms`."""
    if not is_full and settings.terms is None:
        raise ValueError('strategy="given" needs terms, a list of sets of columns')
    terms = (all_terms if is_full else read_terms)(samples, settings)
    selection = learn_on_folds(samples, terms, "cv", settings.cv)
    return selection, {"given": _fixed(terms)}, []


def _fixed(terms: list[Term], min_gain: float = 0.0) -> _Candidate:
    """Model of the same terms on all folds."""
    return _Candidate(terms, lambda _: terms, min_gain)


def _is_affordable(samples: TrainingData, selection: SelectedModel) -> bool:
    """Whether models with all columns take seconds."""
    n_rows, n_inputs = samples.inputs.shape
    n_fits = len(_CHOICE.penalties) * (len(selection.paths) + 1)
    return 10.0 * n_fits * n_rows * float(n_inputs) ** 2 <= _CHOICE.max_work


def _choose(
    samples: TrainingData,
    settings: FitSettings,
    report: Report,
    selection: SelectedModel,
    candidates: dict[str, _Candidate],
) -> tuple[str, float]:
    """Name and penalty of the model that predicts held-out rows best."""
    penalties = _CHOICE.penalties
    if settings.C != "auto":
        penalties = (float(settings.C),)
    paths = cast(Sequence[GLMPath], selection.paths)
    weights = np.concatenate([path.validation[1] for path in paths])
    workers: Any = Parallel(n_jobs=settings.n_jobs)
    first, losses, best = _first_category(samples), [], []
    for name, candidate in candidates.items():
        by_fold = workers(
            delayed(_held_out_losses)(path, first, candidate.of_fold(path), penalties)
            for path in paths
        )
        of_penalties = np.concatenate(by_fold, axis=1)
        means = np.average(of_penalties, axis=1, weights=weights)
        k = int(np.argmin(means))
        losses.append(float(means[k]))
        best.append(penalties[k])
        record = {"model": name, "validation_log_loss": losses[-1]}
        learn = partial(GLMModel.learn, samples, candidate.terms, penalties[k])
        if report(record, learn):
            break
    total = weights.sum()
    compared = zip(losses, candidates.values(), strict=False)
    lengths = [loss + candidate.min_gain / total for loss, candidate in compared]
    chosen = int(np.argmin(lengths))  # of equal ones, the sparsest
    return list(candidates)[chosen], best[chosen]


def _held_out_losses(
    path: GLMPath, first: int, terms: list[Term], penalties: Sequence[float]
) -> NDArray[np.float64]:
    """Log losses of the held-out rows of a fold, (n_penalties, n_rows)."""
    nothing = np.zeros(0)
    if not terms:  # no weight has a penalty
        return np.tile(path.held_out_losses(terms, nothing), (len(penalties), 1))
    variances = (_prior_variances(first, terms, C) for C in penalties)
    return np.array([path.held_out_losses(terms, own) for own in variances])


def _first_category(samples: TrainingData) -> int:
    """Number of the first input that is a category; the numbers come before."""
    n_categories = sum(alphabet.size for alphabet in samples.coding.plain_alphabets)
    return samples.inputs.shape[1] - n_categories


def _prior_variances(
    first: int, terms: Sequence[Term], C: float
) -> NDArray[np.float64]:
    """Prior variances of the weights of products; categories begin at `first`."""
    # Categories of a column are as many inputs: they are taken as 0 and 1, not as the
    # -1 and +1 that they are coded as, which would be prior variances of 4 C.
    counts = [sum(number >= first for number in term) for term in terms]
    return C * 0.25 ** np.array(counts, dtype=float)
