"""Models of classes: few weights, or an ensemble stacked by held-out rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any, Final, NamedTuple, Self, TypeAlias, cast

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from skmohn._core._fitting import one_blas_thread
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import product_columns
from skmohn.mohn._design.plane_design import Planes
from skmohn.mohn._design.terms import count_sets, with_kept
from skmohn.mohn._gp.classification import (
    LEAST_SQUARES,
    LEVELS,
    LINES,
    LOGISTIC,
    OUTPUT_SIGNS,
    CalibrationLink,
    EnsembleMember,
    MemberFit,
    Sampler,
    needs_logistic_likelihood,
    stacking_weights,
)
from skmohn.mohn._gp.covariance_function import Prior
from skmohn.mohn._gp.exact import draw_normal
from skmohn.mohn._missing_inputs import MissingInputs
from skmohn.mohn._models import FitResult, SelectedModel
from skmohn.mohn._options import FitSettings, Report
from skmohn.mohn._sparse.classes import LogisticModel
from skmohn.mohn._sparse.exact_fit import CHANCE_ODDS
from skmohn.mohn._sparse.logistic import LOGISTIC_SEARCH
from skmohn.mohn._sparse.logistic_selection import best_penalty, held_out_losses
from skmohn.mohn._sparse.ridge_logistic import fit_ridge_logistic
from skmohn.mohn._sparse.ridge_logistic import work_of as ridge_work
from skmohn.mohn._sparse.sobol import sobol_variances_of_products
from skmohn.mohn._spike_slab.probit import ProbitSample
from skmohn.mohn._spike_slab.solve import SPIKE_SLAB_WORK, is_affordable
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.rows import EncodedRows, member_values
from skmohn.mohn._table.term_names import TermNames
from skmohn.mohn._table.variables import Marginals
from skmohn.mohn._term_search import (
    TermSearch,
    expand,
    expand_rows,
    find_by_score,
    find_exact_or_by_score,
)
from skmohn.mohn._training_data import TrainingData

SPARSE, ADDITIVE, SPIKE_SLAB = "sparse", "additive", "spike and slab"


@dataclass(frozen=True)
class StackingConstants:
    """Ensembles of class models."""

    # Completions of a row whose probabilities are averaged.
    max_imputations: int = tuned(16, "cost")


_STACKING = StackingConstants()
# Parameters that only sparse models have, and their defaults.
_OF_FEW = {"max_order": None, "max_terms": None, "include_inputs": True, "terms": None}
# Observations that a member counts for before any is seen; others count for one. Of 42
# public tables of 100 rows the log loss is flat from 5 to 100 and worse with one, and
# products are predicted the better the less it has: with few rows, held-out
# predictions flatter large models.
_PSEUDO_COUNTS = {ADDITIVE: 5.0}
# Beside an exact description of the classes, which has passed a test at these odds, the
# others count for less by this factor.
_BESIDE_EXACT: Final = 1.0 / CHANCE_ODDS
# The inverse strength of the penalty of models with a prior, which have none.
_NO_PENALTY: Any = None
# What each value of `GPOptions.numeric` makes of numeric columns.
_WAYS = {"auto": (LINES, LEVELS), "multilinear": (LINES,), "thermometer": (LEVELS,)}


class ProductClassModel:
    """Log-odds that are sums of products, by a model of all weights, `whole`."""

    coding: InputCoding
    listed_model: LogisticModel
    whole: LogisticModel

    def log_odds(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Log probabilities up to a constant for each row, (n_rows, n_classes)."""
        return self.whole.log_odds(expand_rows(rows, self.coding))

    def log_proba(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Log probabilities of the classes."""
        return self.whole.log_proba(expand_rows(rows, self.coding))

    def importances(
        self, term_names: TermNames, marginals: Marginals | None
    ) -> NDArray[np.float64]:
        """Total Sobol index of each column, for the log-odds."""
        term_names = term_names.without_levels()
        terms, weights = self.whole.terms, self.whole.weights
        variables, _ = term_names.columns(marginals)
        indices = sobol_variances_of_products(terms, weights, term_names, variables)
        return term_names.by_column(indices)

    def parts(
        self, rows: EncodedRows, term_names: TermNames
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Factors of each weight in one row, and the row's log-odds."""
        inputs = np.asarray(expand_rows(rows, self.coding), dtype=float)
        values = product_columns(inputs, self.listed_model.terms)[0]
        return values, self.whole.log_odds(inputs)[0]


@dataclass(frozen=True)
class SparseClassModel(ProductClassModel):
    """Logistic regression on products."""

    listed_model: LogisticModel
    coding: InputCoding
    is_exact: bool = False  # the classes are a function of its products
    name = SPARSE
    is_sparse = True

    @property
    def whole(  # pyright: ignore[reportIncompatibleVariableOverride]
        self,
    ) -> LogisticModel:
        """Model of all weights: those that are shown."""
        return self.listed_model

    @property
    def members(self) -> tuple[Self]:
        """Members, as of an ensemble: itself."""
        return (self,)

    @property
    def ensemble_weights(self) -> NDArray[np.float64]:
        """Weights, as of an ensemble: 1 for itself."""
        return np.ones(1)

    def sampler(self) -> Sampler:
        """Function that samples log odds, see `EnsembleMember.sampler`."""

        def draw(
            rows: EncodedRows, n_draws: int, rng: np.random.Generator
        ) -> NDArray[np.float64]:
            inputs = np.asarray(expand_rows(rows, self.coding), dtype=float)
            return self.listed_model.draw(inputs, n_draws, rng)

        return draw

    def relevance(self) -> None:
        """Return None: there is no prior."""
        return None

    def weights_by_name(self) -> dict[str, float]:
        """Weight of each member in the ensemble, the largest first."""
        return {self.name: 1.0}


@dataclass(frozen=True)
class SpikeSlabClassModel(ProductClassModel):
    """Posterior means of all weights, of which the likely ones are shown."""

    listed_model: LogisticModel  # shown
    coding: InputCoding
    whole: LogisticModel
    name: str
    # Hyperparameters of each output: the `mass` of an additive model, or the `priors`
    # of spikes and slabs.
    learned: list[Any]
    # (n_terms, rank); by output, what times its transpose is the covariance of all
    # weights, or the standard deviations of weights that are too many for it.
    roots: list[NDArray[np.float64]]
    is_sparse = False

    def sampler(self) -> Sampler:
        """Function that samples log odds by a normal posterior."""

        def draw(
            rows: EncodedRows, n_draws: int, rng: np.random.Generator
        ) -> NDArray[np.float64]:
            inputs = np.asarray(expand_rows(rows, self.coding), dtype=float)
            columns = product_columns(inputs, self.whole.terms)
            log_odds = self.whole.log_odds(inputs)[:, None].repeat(n_draws, axis=1)
            for output, root in enumerate(self.roots, start=-len(self.roots)):
                part = columns * root if root.ndim == 1 else columns @ root
                mean = log_odds[:, 0, output]
                log_odds[..., output] = draw_normal(mean, part @ part.T, n_draws, rng)
            return log_odds

        return draw

    def split(
        self, rows: EncodedRows, term_names: TermNames, classes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Contributions of inputs, then of categoricals, to one row."""
        # The names are without levels; `classes` are weights of the log-odds of
        # each class in the sum that is split.
        inputs = np.asarray(expand_rows(rows, self.coding), dtype=float)
        terms, weights = self.whole.terms, self.whole.weights
        # Of two classes, there are those of the second.
        parts = product_columns(inputs, terms)[0] * (classes[-len(weights) :] @ weights)
        contributions = np.zeros(term_names.n_categoricals)
        for term, part in zip(terms, parts.tolist(), strict=True):
            np.add.at(contributions, term_names.groups[list(term)], part / len(term))
        return contributions


class Observed(NamedTuple):
    """Data of an ensemble, to which more can be added."""

    rows: EncodedRows
    label: np.ndarray  # (n_observations,), int
    weight: np.ndarray  # (n_observations,); as passed, without those of the classes
    # (n_observations,); log probability of each by the sparse member, which had not
    # learned from it; None where the ensemble has none.
    held_out_log_likelihood: np.ndarray | None = None
    # Sparse member as it was learned first: it predicts further observations.
    sparse_reference: SparseClassModel | None = None

    def join(
        self, rows: EncodedRows, label: NDArray[np.intp], weight: NDArray[np.float64]
    ) -> "Observed":
        """Join further observations, in an order that depends on them all alone."""
        held_out_log_likelihood, keys = None, []
        if self.sparse_reference is not None:
            more = self.sparse_reference.log_proba(rows)[np.arange(len(rows)), label]
            held_out_log_likelihood = np.append(self.held_out_log_likelihood, more)
            keys.append(held_out_log_likelihood)
        rows = self.rows.join(rows)
        label, weight = np.append(self.label, label), np.append(self.weight, weight)
        # Of copies the first is kept, which does not depend on how they were weighed.
        inputs = *rows.mask().T, *rows.categories.T, *rows.inputs.T
        keys = [weight, *keys, label, *inputs]
        parts = rows, label, weight, held_out_log_likelihood
        joined = Observed(*parts, self.sparse_reference)
        return joined.take(np.lexsort(keys))

    def take(self, index: NDArray) -> "Observed":
        """Some of the observations."""
        held_out = self.held_out_log_likelihood
        return self._replace(
            rows=self.rows.take(index),
            label=self.label[index],
            weight=self.weight[index],
            held_out_log_likelihood=None if held_out is None else held_out[index],
        )


@dataclass(frozen=True)
class StackedClassModel:
    """Mixture of models: averages their probabilities by their weights."""

    members: tuple[EnsembleMember | SparseClassModel | SpikeSlabClassModel, ...]
    ensemble_weights: np.ndarray  # (n_members,)
    missing_inputs: MissingInputs  # distributions of unknown inputs
    # Terms and weights to be shown: those of the member by products that has most of
    # the weight, else of `gp`.
    listed_model: LogisticModel
    gp: EnsembleMember  # the one by least squares with the largest weight
    observed: Observed | None  # none where inducing rows carry what was learned

    def log_odds(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Log probabilities of the classes; see `SparseClassModel.log_odds`."""
        return self.log_proba(rows)

    def log_proba(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Log probabilities of the classes, averaged over missing values."""
        log_proba = self._of_complete(rows)
        for index, completed, ends, probability in self.missing_inputs.imputations(
            rows, _STACKING.max_imputations
        ):
            parts, chances = (
                np.split(part, ends)
                for part in (self._of_complete(completed), probability[:, None])
            )
            log_proba[index] = [
                logsumexp(part, axis=0, b=chance)
                for part, chance in zip(parts, chances, strict=True)
            ]
        return log_proba

    @property
    def shown(self) -> SparseClassModel | SpikeSlabClassModel | None:
        """Member by products that is shown; None where that is `gp`."""
        for member in self.members:
            is_product = isinstance(member, ProductClassModel)
            if is_product and member.listed_model is self.listed_model:
                return member
        return None

    @property
    def is_sparse(self) -> bool:
        """Whether all weights of the model that is shown are in its terms."""
        return self.shown is not None and self.shown.is_sparse

    def parts(
        self, rows: EncodedRows, term_names: TermNames
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Factors of one row, see `SparseClassModel.parts`."""
        if self.shown is not None:
            return self.shown.parts(rows, term_names)
        members = member_values(rows, term_names.alphabets)
        values = [np.prod(members[list(term)]) for term in self.listed_model.terms]
        return np.array(values), self.gp.log_odds(rows)[0]

    def distribute_other_weights(
        self,
        rows: EncodedRows,
        term_names: TermNames,
        parts: NDArray[np.float64],
        classes: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Contributions of columns to one row by weights that are not listed."""
        # `parts` are those of the listed weights, `classes` the weights of the log-odds
        # of each class in the sum that is explained.
        shown = cast(SpikeSlabClassModel | None, self.shown)
        if shown is not None or self.gp.numeric == LINES:
            term_names = term_names.without_levels()
        if shown is None:
            contributions = self.gp.split(rows, classes)
        else:
            contributions = shown.split(rows, term_names, classes)
        terms = self.listed_model.terms
        return term_names.distribute_others(terms, parts, contributions)

    def importances(
        self, term_names: TermNames, marginals: Marginals | None
    ) -> NDArray[np.float64]:
        """Total Sobol indices, see `SparseClassModel.importances`; of the scores."""
        if self.shown is not None:
            return self.shown.importances(term_names, marginals)
        if self.gp.numeric == LINES:
            term_names = term_names.without_levels()
        variables, _ = term_names.columns(marginals)
        variance, total = self.gp.sobol_variances(variables)
        return term_names.by_column(total / (variance or 1.0))

    def relevance(self) -> tuple[NDArray[np.float64], list[float]]:
        """``tau`` of inputs and of categoricals, by the prior of `gp`."""
        covariance = self.gp.covariance
        return covariance.prior.tau, covariance.categorical_tau()

    def weights_by_name(self) -> dict[str, float]:
        """Weight of each member in the ensemble, the largest first."""
        order = np.argsort(-self.ensemble_weights, kind="stable")
        return {self.members[k].name: float(self.ensemble_weights[k]) for k in order}

    def _of_complete(self, rows: EncodedRows) -> NDArray[np.float64]:
        # One softmax for all, by numpy: of a row scipy's takes longer than a member.
        log_odds = np.array([member.log_odds(rows) for member in self.members])
        log_odds -= np.logaddexp.reduce(log_odds, axis=2, keepdims=True)
        log_odds += np.log(self.ensemble_weights)[:, None, None]
        return np.logaddexp.reduce(log_odds, axis=0)


# A member with its data, and its held-out log probability of each observation.
Learned: TypeAlias = tuple[
    MemberFit, EnsembleMember | SpikeSlabClassModel, NDArray[np.float64]
]


def solve_few(
    samples: TrainingData, settings: FitSettings, report: Report, *, find: TermSearch
) -> FitResult:
    """Find products and learn their weights."""
    found, model = _find_few(samples, settings, report, find)
    return found._replace(model=model)


def list_sparse_parameters(settings: Any) -> list[str]:
    """Names of the parameters that are set and that only sparse models have."""
    # The settings are `FitSettings` or a MOHNClassifier, which imports this module.
    return [name for name, usual in _OF_FEW.items() if getattr(settings, name) != usual]


def solve_ensemble(
    samples: TrainingData,
    settings: FitSettings,
    report: Report,
    *,
    has_few: bool = False,
) -> FitResult:
    """Fit all weights in several ways, and perhaps few; stack the models."""
    # `has_few` is whether few weights are a member, or all there is where a parameter
    # asks for it.
    asked = list_sparse_parameters(settings)
    if not samples.term_names.labels or (has_few and asked):
        why = f"{asked[0]} requires it" if asked else "no column of X varies"
        found = solve_few(samples, settings, report, find=find_by_score)
        reason = f"the sparse model, because {why}; {found.stopping_reason}"
        return found._replace(stopping_reason=reason)
    members, left_out, coverage = [], [], []
    if has_few:
        found, few = _find_few(samples, settings, report, find_exact_or_by_score)
        coverage, selection = found.coverage, cast(SelectedModel, found.selection)
        if selection.how == "stopped":
            return found._replace(model=few)
        if selection.paths:
            members.append(few)
            C, n_samples = few.listed_model.C, len(samples.y)
            left_out.append(-held_out_losses(selection, n_samples, C))
    ways = _WAYS[settings.gp_options.numeric] if samples.coding.thresholds else (LINES,)
    member_fits = _read_member_fits(samples, settings, ways)
    learned = _learn(member_fits, settings.n_jobs)
    if has_few:
        learned += learn_posteriors(samples, settings, member_fits[0])
    # Of the members so far.
    model = partial(_combine, samples, settings, members, left_out, member_fits)
    for member_fit, member, chances in learned:
        members.append(member)
        left_out.append(chances)
        record = {
            "member": member.name,
            "validation_log_loss": member_fit.loss(chances),
        }
        if report(record, model):
            return _conclude(model(), coverage, "a callback stopped the search: ")
    return _conclude(model(), coverage)


def learn_further(
    model: StackedClassModel,
    observed: Observed,
    samples: TrainingData,
    settings: FitSettings,
) -> FitResult:
    """Learn from all observations by the hyperparameters and terms of an ensemble."""
    # The samples are the observations, weighed.
    members, left_out, priors, known = [], [], {}, {}
    for member in model.members:
        if isinstance(member, SpikeSlabClassModel):
            known[member.name] = member.learned
        elif isinstance(member, SparseClassModel):
            few = member.listed_model
            few = LogisticModel.learn(expand(samples), few.terms, few.C)
            members.append(SparseClassModel(few, samples.coding, member.is_exact))
            left_out.append(observed.held_out_log_likelihood)
        else:
            of_numeric = priors.setdefault(member.numeric, {})
            of_numeric[member.likelihood] = member.covariance.prior
    member_fits = _read_member_fits(samples, settings, priors)
    for member_fit in member_fits:
        if not member_fit.is_exact:
            raise ValueError(
                "partial_fit needs the covariances of all "
                f"{len(member_fit.labels.sample)} distinct rows, too many to compute: "
                "fit again on all rows, which uses inducing rows"
            )
    learned = _learn(member_fits, settings.n_jobs, priors)
    if known:
        learned += learn_posteriors(samples, settings, member_fits[0], known)
    for _, member, chances in learned:
        members.append(member)
        left_out.append(chances)
    parts = members, left_out, member_fits, observed.sparse_reference
    return _conclude(_combine(samples, settings, *parts), [])


def _find_few(
    samples: TrainingData, settings: FitSettings, report: Report, find: TermSearch
) -> tuple[FitResult, SparseClassModel]:
    expanded = expand(samples)

    def learn(terms: Sequence[Term], C: float = LOGISTIC_SEARCH.C) -> SparseClassModel:
        return SparseClassModel(
            LogisticModel.learn(expanded, list(terms), C), samples.coding
        )

    def report_terms(record: Mapping[str, object], terms: Sequence[Term]) -> bool:
        return report(record, partial(learn, terms))

    found = find(expanded, settings, report_terms)
    C = LOGISTIC_SEARCH.C if settings.C == "auto" else float(settings.C)
    if settings.C == "auto" and found.selection is not None:
        C = best_penalty(found.selection)
    few = learn(found.terms, C)
    return found, replace(few, is_exact=found.is_exact)


def _read_member_fits(
    samples: TrainingData, settings: FitSettings, ways: Iterable[str]
) -> list[MemberFit]:
    """Data of the models of all weights, for each way to take numeric columns."""
    member_fits = []
    for numeric in ways:
        coding = samples.coding
        if numeric == LINES:
            coding = coding.without_levels()
        member_fits.append(
            MemberFit.read(
                samples.rows.as_float(),
                (samples.y, len(samples.classes)),
                (samples.sample_weight, samples.counts),
                coding.alphabets,
                numeric,
                memory_budget=settings.memory_budget,
                seed=samples.seed,
            )
        )
    return member_fits


def _learn(
    member_fits: Sequence[MemberFit],
    n_jobs: int | None,
    priors: Mapping[str, Mapping[str, Prior]] | None = None,
) -> list[Learned]:
    """Fit all members, by the hyperparameters that they have if there are any."""
    known = [{} if priors is None else priors[part.numeric] for part in member_fits]
    squares: Any = Parallel(n_jobs=n_jobs)(
        delayed(part.learn)(LEAST_SQUARES, prior=own.get(LEAST_SQUARES))
        for part, own in zip(member_fits, known, strict=True)
    )
    wanted = [LOGISTIC in own for own in known]
    if priors is None:
        wanted = needs_logistic_likelihood(member_fits, squares)
    starts = [member.covariance.prior for member, _ in squares]
    found = iter(
        Parallel(n_jobs=n_jobs)(
            delayed(part.learn)(LOGISTIC, start, own.get(LOGISTIC))
            for part, start, own in compress(
                zip(member_fits, starts, known, strict=True), wanted
            )
        )
    )
    learned = []
    for member_fit, own, is_wanted in zip(member_fits, squares, wanted, strict=True):
        both = [own, next(found) if is_wanted else None]
        learned += [(member_fit, *each) for each in both if each is not None]
    return learned


def learn_posteriors(
    samples: TrainingData,
    settings: FitSettings,
    member_fit: MemberFit,
    known: Mapping[str, list[Any]] | None = None,
) -> list[Learned]:
    """Fit all weights of single inputs, and of products with spikes and slabs."""
    # The member fit has the labels. Known are hyperparameters by the names of members,
    # see `SpikeSlabClassModel`; None to learn them. A member is absent where it would
    # take too long.
    inputs = expand(samples).inputs
    if isinstance(inputs, Planes):
        return []
    inputs = np.asarray(inputs, dtype=float)
    sizes = [alphabet.size for alphabet in samples.coding.plain_alphabets]
    ways = {
        ADDITIVE: partial(_learn_additive, sizes=sizes),
        SPIKE_SLAB: partial(_learn_products, settings=settings),
    }
    learned = []
    for name, hyperparameters in (known or dict.fromkeys(ways)).items():
        outputs = ways[name](inputs, member_fit, hyperparameters)
        if outputs:
            linked = _link(name, outputs, member_fit, samples.coding)
            learned.append((member_fit, *linked))
    return learned


@one_blas_thread
def _learn_additive(
    inputs: NDArray[np.float64],
    member_fit: MemberFit,
    known: list[Any] | None,
    sizes: Sequence[int],  # of the columns of categories
) -> list[Any]:
    """Fit single inputs, for each output; none where that takes too long."""
    labels, group = member_fit.labels, member_fit.group_of_observations
    successes = np.array(member_fit.successes)
    n_rows, n_inputs = inputs.shape
    if ridge_work(n_rows, n_inputs, len(successes)) > SPIKE_SLAB_WORK.max_work:
        return []
    mass = None if known is None else known[0]
    return list(
        fit_ridge_logistic(
            inputs, successes, labels.weight, labels.unit, group, mass, sizes
        )
    )


@one_blas_thread
def _learn_products(
    inputs: NDArray[np.float64],
    member_fit: MemberFit,
    known: list[Any] | None,
    settings: FitSettings,
) -> list[Any]:
    """Fit spikes and slabs up to the order with the shortest description."""
    successes = member_fit.successes
    n_rows, n_inputs = inputs.shape
    labels, group = member_fit.labels, member_fit.group_of_observations
    orders = range(1, SPIKE_SLAB_WORK.max_order_brief + 1)
    if known is not None:
        orders = [len(known[0])]
    best = []
    for order in orders:
        n_sets = count_sets(n_inputs, order)
        if not is_affordable(n_rows, n_sets, settings, len(successes)):
            break
        sample = ProbitSample.of(inputs, labels.weight, labels.unit, group, order)
        priors = [None] * len(successes) if known is None else known
        found: list[Any] = [
            sample.learn(success, own)
            for success, own in zip(successes, priors, strict=True)
        ]
        if None in found:
            continue
        if not best or sum(m.length for m in found) < sum(m.length for m in best):
            best = found
    return best


def _link(
    name: str, outputs: list[Any], member_fit: MemberFit, coding: InputCoding
) -> tuple[SpikeSlabClassModel, NDArray[np.float64]]:
    """Member from latent functions of all outputs, and held-out log probabilities."""
    labels = member_fit.labels
    signs = OUTPUT_SIGNS if len(outputs) == 1 else np.eye(len(outputs))
    means = np.transpose([output.left_out for output in outputs]) @ signs
    link = CalibrationLink.learn(means, labels)
    weights = link.slope * np.array([output.weights for output in outputs])
    constants = link.slope * np.array([output.constant for output in outputs])
    moved = link.constants
    constants += moved[1:] - moved[:1] if len(outputs) == 1 else moved
    terms = list(outputs[0].terms)
    shown = np.any([output.is_likely for output in outputs], axis=0)
    kept = np.flatnonzero(shown)
    whole = LogisticModel(terms, weights, constants, _NO_PENALTY)
    member = SpikeSlabClassModel(
        replace(whole, terms=[terms[j] for j in kept], weights=weights[:, kept]),
        coding,
        whole,
        name,
        [output.learned for output in outputs],
        [link.slope * output.root for output in outputs],
    )
    chances = log_softmax(link.log_odds(means), axis=1)
    return member, chances[np.arange(len(means)), labels.label]


def _combine(
    samples: TrainingData,
    settings: FitSettings,
    members: Sequence[Any],
    left_out: Sequence[NDArray[np.float64]],
    member_fits: Sequence[MemberFit],
    sparse_reference: SparseClassModel | None = None,
) -> StackedClassModel:
    """Weigh the members; show the terms of the one that counts most."""
    observed = None
    if all(member_fit.is_exact for member_fit in member_fits):
        observed = Observed(samples.rows, samples.y, cast(NDArray, samples.raw_weight))
        if members[0].name == SPARSE:
            observed = observed._replace(
                held_out_log_likelihood=left_out[0],
                sparse_reference=sparse_reference or members[0],
            )
    chances = np.transpose(left_out)
    known = ~np.isnan(chances).any(axis=1)
    weight = None if samples.sample_weight is None else samples.sample_weight[known]
    pseudo_counts = [_PSEUDO_COUNTS.get(member.name, 1.0) for member in members]
    if getattr(members[0], "is_exact", False):
        pseudo_counts[1:] = [_BESIDE_EXACT * count for count in pseudo_counts[1:]]
    ensemble_weights = stacking_weights(chances[known], np.array(pseudo_counts), weight)
    by_squares = [
        k
        for k, member in enumerate(members)
        if getattr(member, "likelihood", None) == LEAST_SQUARES
    ]
    index = max(by_squares, key=ensemble_weights.__getitem__)
    gp = members[index]
    heaviest = members[int(np.argmax(ensemble_weights))]
    if isinstance(heaviest, ProductClassModel) and max(ensemble_weights) > 0.5:
        readable = heaviest.listed_model
    else:
        (member_fit,) = [part for part in member_fits if part.numeric == gp.numeric]
        significant = member_fit.significant_terms(gp, settings.max_order)
        readable = LogisticModel(*significant, _NO_PENALTY)
    data = samples.rows, samples.coding, samples.sample_weight
    members = [m.compact() if isinstance(m, EnsembleMember) else m for m in members]
    missing_inputs, gp = MissingInputs.of(*data), members[index]
    parts = tuple(members), ensemble_weights, missing_inputs, readable, gp
    return StackedClassModel(*parts, observed)


def _conclude(
    model: StackedClassModel, coverage: list[dict[str, Any]], why: str = ""
) -> FitResult:
    weights = model.weights_by_name()
    listed = ", ".join(f"{name} {weight:.0%}" for name, weight in weights.items())
    noun = "model" if len(weights) == 1 else "models"
    reason = f"{why}an ensemble of {len(weights)} {noun}: {listed}"
    terms = model.listed_model.terms
    return FitResult(terms, reason, with_kept(coverage, terms), model)
