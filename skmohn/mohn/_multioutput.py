"""MultiTargetModel: a model of several targets, and how they are read and fitted."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from skmohn._core._bad_values import parse_text_targets, refuse_complex, refuse_times
from skmohn._core._categories import read_table
from skmohn._core._fitting import History, gather_warnings, table_is_read, warn_caller
from skmohn._core._names import find_column, index_names
from skmohn._core._sklearn import callback_context, with_callbacks
from skmohn._core._types import TableLike, check_array
from skmohn._core._validation import is_integer, is_pair_given, to_numpy
from skmohn.mohn._design.terms import in_order
from skmohn.mohn._genotypes import Genotypes, encode, encode_blocks
from skmohn.mohn._gp.model import GPModel
from skmohn.mohn._gp.multitask import MultitaskGP, TaskView
from skmohn.mohn._gp.shared import remember
from skmohn.mohn._gp.transform_selection import choose_transform_and_levels
from skmohn.mohn._models import Model
from skmohn.mohn._options import FitSettings, reusable
from skmohn.mohn._strategies import STRATEGIES
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._table.target import Transform
from skmohn.mohn._training_data import (
    Copies,
    join_copies,
    read_groups,
    read_training_data,
)

# A MOHNRegressor, whose module imports this one.
Regressor: TypeAlias = Any
# X, y, sample_weight, X_val, y_val and groups, as `fit` takes them.
_Data: TypeAlias = tuple[Any, Any, Any, Any, Any, Any]
# The same rows, encoded for each target.
_Rows: TypeAlias = Sequence[EncodedRows]


@dataclass(frozen=True, repr=False)
class MultiTargetModel:
    """Models of several targets: results of `Model` with a second axis, of targets."""

    # Estimators that are fitted to one target each: a model, and a coding of its own.
    # They are those of `estimators_`, whose models a user may update one by one.
    targets: tuple[Regressor, ...]

    def __repr__(self) -> str:
        return f"<MultiTargetModel of {len(self.targets)} targets>"

    @property
    def models(self) -> list[Model]:
        """Model of each target."""
        return [target.model_ for target in self.targets]

    @property
    def has_posterior(self) -> bool:
        """Whether all models have one."""
        return all(model.has_posterior for model in self.models)

    @property
    def is_sparse(self) -> bool:
        """Whether no model has more weights than are listed."""
        return all(model.is_sparse for model in self.models)

    @property
    def mean_reads_terms(self) -> bool:
        """Whether all predictive means read the inputs of listed terms alone."""
        return all(model.mean_reads_terms for model in self.models)

    @property
    def transform(self) -> list[Transform]:
        """Transform of each target."""
        return [model.transform for model in self.models]

    def encode(
        self, table: NDArray | Genotypes, names: Sequence[str] | None
    ) -> list[EncodedRows]:
        """Encode the rows of a table for each target."""
        return [encode(target.coding_, table, names) for target in self.targets]

    def encode_blocks(
        self,
        table: NDArray | Genotypes,
        names: Sequence[str] | None,
        *,
        for_terms: bool = False,
    ) -> Iterator[list[EncodedRows]]:
        """Yield the rows of :meth:`encode`, some at a time."""
        blocks = [
            encode_blocks(target.coding_, table, names, for_terms=for_terms)
            for target in self.targets
        ]
        yield from map(list, zip(*blocks, strict=True))

    def latent_mean(self, rows: _Rows) -> NDArray[np.float64]:
        """Means of the functions, on the scale of each target."""
        return self._stack(lambda model, own: model.latent_mean(own), rows)

    def latent_variance(self, rows: _Rows) -> NDArray[np.float64]:
        """Variances of the functions."""
        return self._stack(lambda model, own: model.latent_variance(own), rows)

    def predictive_mean(self, rows: _Rows, clip: bool = True) -> NDArray[np.float64]:
        """Means of new observations."""
        return self._stack(lambda model, own: model.predictive_mean(own, clip), rows)

    def predictive_std(self, rows: _Rows, clip: bool = True) -> NDArray[np.float64]:
        """Standard deviations of new observations."""
        return self._stack(lambda model, own: model.predictive_std(own, clip), rows)

    def quantiles(
        self, rows: _Rows, probabilities: NDArray[np.float64], clip: bool = True
    ) -> NDArray[np.float64]:
        """Quantiles of new observations, (n_rows, n_targets, n_probabilities)."""
        return self._stack(
            lambda model, own: model.quantiles(own, probabilities, clip), rows
        )

    def log_density(
        self, rows: _Rows, y: NDArray[np.float64], clip: bool = True
    ) -> NDArray[np.float64]:
        """Log density of new observations, for each row and target."""
        return self._stack(
            lambda model, own, y: model.log_density(own, y, clip), rows, y.T
        )

    def sample(
        self,
        rows: _Rows,
        n_draws: int,
        rng: np.random.Generator | np.random.RandomState,
        clip: bool = True,
    ) -> NDArray[np.float64]:
        """Sample new observations, (n_rows, n_targets, n_draws)."""
        found = [
            model.sample(own, n_draws, rng, clip)
            for model, own in zip(self.models, rows, strict=True)
        ]
        return np.stack(found, axis=1)

    def relevance_by_column(self, coding: InputCoding) -> NDArray[np.float64]:
        """Relevance of each column to each target, by the target's own coding."""
        return np.array([t.model_.relevance_by_column(t.coding_) for t in self.targets])

    def log_evidence(self) -> float:
        """Log density of all targets."""
        return float(sum(model.log_evidence() for model in self.models))

    def _stack(
        self, compute: Callable[..., NDArray[np.float64]], *by_target: Iterable[Any]
    ) -> NDArray[np.float64]:
        """Results of all models for what is given by target; compute in common once."""
        with remember():
            found = [
                compute(*given) for given in zip(self.models, *by_target, strict=True)
            ]
        return np.stack(found, axis=1)


# ------------------------------------------------------------------------------- reads


def is_several(y: Any) -> bool:
    """Whether targets have two dimensions."""
    if hasattr(y, "shape"):
        return len(y.shape) == 2
    try:
        return np.asarray(y).ndim == 2
    except ValueError:
        # Ragged lists are refused as a y of one dimension.
        return False


def read_observations(
    estimator: Regressor,
    X: TableLike,
    y: ArrayLike,
    read: Callable[..., Any] = read_table,
    weights: Sequence[ArrayLike | None] = (),
) -> tuple[Any, NDArray[np.float64]]:
    """Check rows and as many targets as a fitted estimator has."""
    if not isinstance(estimator.model_, MultiTargetModel):
        return read(estimator, X, y, weights=weights)
    targets, _ = _read_targets(y, "y")
    n_targets = len(estimator.model_.targets)
    if targets.shape[1] != n_targets:
        raise ValueError(
            f"y has {targets.shape[1]} columns, but fit was given {n_targets}: pass "
            "the same targets"
        )
    table = read(estimator, X, weights=weights)
    check_consistent_length(table, targets)
    return table, targets


def split_targets(y: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The columns of targets; those of one dimension are one."""
    return [y] if y.ndim == 1 else list(y.T)


def index_of_target(target: int | str | None, names: Sequence[str | int] | None) -> int:
    """Number of a target, given that or its name; without names there is only one."""
    if names is None:
        if target is not None:
            raise ValueError(
                f"target={target!r}, but the model was fitted to a one-dimensional y: "
                "leave target out"
            )
        return 0
    index = None
    if isinstance(target, str) or is_integer(target):
        index = find_column(target, index_names(names), len(names), "target")
    if index is not None:
        return index
    known = f" or one of the names {names}" if isinstance(names[0], str) else ""
    raise ValueError(
        f"target={target!r} is not one of the {len(names)} targets: use a number from "
        f"0 to {len(names) - 1}{known}"
    )


def _read_targets(y: Any, name: str) -> tuple[NDArray[np.float64], list[str | int]]:
    """Targets as numbers, and the names of the columns."""
    if not is_several(y):
        raise ValueError(
            f"{name} must have two dimensions, (n_samples, n_targets), as in fit: "
            "pass a column for each target"
        )
    if issparse(y):
        raise TypeError(f"{name} is sparse: pass an array, such as {name}.toarray()")
    refuse_times(to_numpy(y), name)
    refuse_complex(to_numpy(y), name)
    names = getattr(y, "columns", None)
    targets = check_array(
        parse_text_targets(to_numpy(y), name),
        dtype=np.float64,
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name=name,
    )
    if not targets.shape[1]:
        raise ValueError(f"{name} has no column: pass at least one target")
    names = range(targets.shape[1]) if names is None else names
    names = [part if isinstance(part, str) else k for k, part in enumerate(names)]
    bad = np.flatnonzero(~np.isfinite(targets).all(axis=0))
    if len(bad):
        column = targets[:, bad[0]]
        what = "NaN" if np.isnan(column).any() else "infinity"
        raise ValueError(
            f"Input {name} contains {what}, in column {names[bad[0]]!r}: drop these "
            "samples, or fit that target separately on those that have it"
        )
    return targets, names


def _read_validation(
    estimator: Regressor,
    X_val: TableLike | None,
    y_val: ArrayLike | None,
    n_targets: int,
) -> tuple[Any, NDArray[np.float64]] | None:
    """Validation samples, or None when there are none."""
    if not is_pair_given(X_val, y_val):
        return None
    table, (targets, _) = read_table(estimator, X_val), _read_targets(y_val, "y_val")
    check_consistent_length(table, targets)
    if targets.shape[1] != n_targets:
        raise ValueError(
            f"y_val has {targets.shape[1]} columns, but y has {n_targets}: pass the "
            "same targets"
        )
    return table, targets


# -------------------------------------------------------------------------------- fits


def forget(estimator: Regressor) -> None:
    """Drop the attributes of an earlier fit."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)


def for_each_target(
    names: Sequence[str | int] | None, do: Callable[[int], object]
) -> None:
    """Call for each target; repeat equal warnings once, with the targets of each."""
    if names is None:  # There is one target.
        do(0)
        return
    found: dict[tuple[type[Warning], str], list[str]] = {}
    for k, name in enumerate(names):
        with gather_warnings() as gathered:
            do(k)
        for warning in gathered:
            found.setdefault((type(warning), str(warning)), []).append(str(name))
    for (category, text), of_targets in found.items():
        noun = "target" if len(of_targets) == 1 else "targets"
        warn_caller(f"{noun} {', '.join(of_targets)}: {text}", category)


class _TargetFit(NamedTuple):
    """A model to fit to one target: arguments of `fit`, and what is coupled."""

    estimator: Regressor
    data: _Data
    task: TaskView | None
    copies: Copies


def fit_targets(estimator: Regressor, data: _Data, params: Mapping[str, Any]) -> None:
    """Fit a model to each column of y."""
    # Data are the arguments of `MOHNRegressor.fit` in their order, the others those of
    # the splitter.
    earlier = getattr(estimator, "estimators_", []) if estimator.warm_start else []
    y, names = _read_targets(data[1], "y")
    forget(estimator)
    fits = _prepare(estimator, (data[0], y, *data[2:]), names, earlier)
    metadata = None if data[2] is None else {"sample_weight": data[2]}
    whole = {"estimator": estimator, "X": data[0], "y": y, "metadata": metadata}
    context = callback_context(estimator, len(fits))
    context.call_on_fit_task_begin(**whole)

    def fit_one(k: int) -> None:
        part, data, task, copies = fits[k]
        own = context.subcontext(task_name="target")
        with own.propagate_callback_context(part):
            own.call_on_fit_task_begin(**whole)
            _fit_target(part, data, params, task, copies)
            own.call_on_fit_task_end(**whole)

    for_each_target(names, fit_one)
    vars(estimator).update(gather_attributes([fit.estimator for fit in fits], names))
    estimator.shared_targets_ = [
        k
        for k, (part, _, task, _) in enumerate(fits)
        if task and task.is_shared and isinstance(part.model_, GPModel)
    ]
    context.call_on_fit_task_end(
        **whole, reconstruction_attributes=lambda: vars(estimator).copy()
    )


@with_callbacks
def _fit_target(estimator: Regressor, *given: Any) -> None:
    """Fit to one target, and drop what callbacks need meanwhile, as each `fit` does."""
    estimator._fit(*given)


def _prepare(
    estimator: Regressor,
    data: _Data,
    names: Sequence[str | int],
    earlier: Sequence[Regressor],
) -> list[_TargetFit]:
    """A model to fit to each target, which goes on from an earlier one if there is."""
    X, y, sample_weight, X_val, y_val, groups = data
    # What is to be said of the table is said once, by the fits of all targets.
    with table_is_read():
        table = read_table(estimator, X, reset=True, weights=[sample_weight])
    check_consistent_length(table, y)
    validation = _read_validation(estimator, X_val, y_val, len(names))
    parts = [type(estimator)() for _ in names]
    if len(earlier) == len(names):
        parts = [copy.copy(part) for part in earlier]
    params = _params_of_target(estimator)
    for part in parts:
        own = {name: clone(value, safe=False) for name, value in params.items()}
        part.set_params(**own)
    seed = check_random_state(params["random_state"]).randint(2**31)
    read = read_groups(groups, table)
    strategy = STRATEGIES[estimator.strategy]
    copies = join_copies(table, y, sample_weight, read, strategy)
    samples = table, y, copies, read
    with table_is_read():
        tasks = _couple(estimator, samples, validation, seed)
    fits = []
    for k, part in enumerate(parts):
        held_y = None if validation is None else validation[1][:, k]
        own = X, y[:, k], sample_weight, X_val, held_y, groups
        fits.append(_TargetFit(part, own, tasks.get(k), copies))
    return fits


def _params_of_target(estimator: Regressor) -> dict[str, Any]:
    """Parameters of the model of each target: the same seed, and so the same folds."""
    params = estimator.get_params(deep=False)
    seed = params["random_state"]
    params["cv"] = reusable(params["cv"])
    if not isinstance(seed, Integral):
        params["random_state"] = check_random_state(seed).randint(2**31)
    return params


def _couple(
    estimator: Regressor,
    samples: tuple[Any, ...],
    validation: tuple[Any, NDArray[np.float64]] | None,
    seed: int,
) -> dict[int, TaskView]:
    """Targets that may be learned with others."""
    table, y, copies, groups = samples
    strategy, settings = STRATEGIES[estimator.strategy], FitSettings.of(estimator)
    vary = np.flatnonzero(np.ptp(y, axis=0) > 0.0)
    if not strategy.may_be_dense or len(vary) < 2:
        return {}
    if validation is not None:
        validation = validation[0], validation[1][:, vary]
    data = read_training_data(
        table,
        y[:, vary],
        copies.relative_weight,
        task="regression",
        strategy=strategy,
        # Nothing is searched, so that folds do not matter.
        settings=replace(settings, cv=5),
        seed=seed,
        categories=estimator._categories,
        columns=estimator._names(),
        validation=validation,
        groups=groups,
    )
    data = choose_transform_and_levels(data, settings.gp_options)
    together = MultitaskGP(data, settings)
    return {int(k): TaskView(together, index) for index, k in enumerate(vary)}


# -------------------------------------------------------------------------- attributes


def gather_attributes(
    parts: Sequence[Regressor], names: Sequence[str | int]
) -> dict[str, Any]:
    """Fitted attributes of all targets, from those of each."""
    # Levels are inputs of a target's model or not, and without its outliers a column
    # may not vary; all else follows from the columns.
    widest = max(parts, key=lambda part: len(part.coding_.categoricals))
    terms = _merge_terms([widest, *parts])
    weights, errors = np.stack([_weights(part, terms) for part in parts], axis=1)
    p_values = [dict(zip(p.terms_, p.p_values_, strict=True)) for p in parts]
    # The rows are those of all targets: equal terms have equal lists.
    collinear = {
        term: alike
        for part in parts
        if part.model_.is_sparse
        for term, alike in zip(part.terms_, part.collinear_terms_, strict=True)
    }
    reasons = [
        f"target {name}: {part.stopping_reason_}"
        for name, part in zip(names, parts, strict=True)
    ]
    return {
        "estimators_": list(parts),
        "target_names_": list(names),
        "model_": MultiTargetModel(tuple(parts)),
        "coding_": widest.coding_,
        "terms_": terms,
        "weights_": weights,
        "standard_errors_": errors,
        "intercept_": np.array([part.intercept_ for part in parts]),
        "outliers_": np.column_stack([part.outliers_ for part in parts]),
        "noise_std_": np.array([part.noise_std_ for part in parts]),
        "n_iter_": max(part.n_iter_ for part in parts),
        "stopping_reason_": "\n".join(reasons),
        "p_values_": np.array(
            [[of_part.get(term, np.nan) for term in terms] for of_part in p_values]
        ),
        "collinear_terms_": [collinear.get(term, []) for term in terms],
        "search_coverage_": _join_records(parts, names, "search_coverage_"),
        "history_": History(_join_records(parts, names, "history_")),
    }


def _merge_terms(parts: Sequence[Regressor]) -> list[tuple[Any, ...]]:
    """Terms of all models, sorted by order, then by the inputs of the first."""
    labels = [label for part in parts for label in part.term_names_.labels]
    labels = list(dict.fromkeys(labels))
    index = {label: member for member, label in enumerate(labels)}
    terms = {
        tuple(sorted(index[label] for label in term))
        for part in parts
        for term in part.terms_
    }
    return [tuple(labels[m] for m in term) for term in in_order(terms)]


def _weights(part: Regressor, terms: Sequence[tuple[Any, ...]]) -> NDArray[np.float64]:
    """Weights of one target and their standard errors; of other targets' terms too."""
    known = {
        term: (weight, error)
        for term, weight, error in zip(
            part.terms_, part.weights_, part.standard_errors_, strict=True
        )
    }
    labels = set(part.term_names_.labels)
    others = [term for term in terms if term not in known and labels.issuperset(term)]
    if others and not part.model_.is_sparse:
        numbers = part.model_.weights_of(part.term_names_.indices(others))
        known |= zip(others, zip(*numbers, strict=True), strict=True)
    found = [known.get(term, (0.0, 0.0)) for term in terms]
    return np.reshape(found, (len(terms), 2)).T


def _join_records(
    parts: Sequence[Regressor], names: Sequence[str | int], attribute: str
) -> list[dict[str, Any]]:
    """Records of all targets, each with the name of its own."""
    return [
        {"target": name, **record}
        for name, part in zip(names, parts, strict=True)
        for record in getattr(part, attribute)
    ]
