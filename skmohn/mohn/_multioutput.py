"""Several targets: a model for each, learned together where one prior serves them.

Functions with the names of methods of `MOHNRegressor` answer in their place, once it
has been fitted to a y of two dimensions.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from numbers import Integral
from typing import (
    Any,
    Concatenate,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypeVar,
)

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from skmohn._core._bad_values import refuse_times
from skmohn._core._categories import read_table
from skmohn._core._fitting import History, gather_warnings, warn_caller
from skmohn._core._names import find_column, index_names
from skmohn._core._sklearn import callback_context
from skmohn._core._types import TableLike, check_array
from skmohn._core._validation import is_integer, is_pair_given, to_numpy
from skmohn.mohn._design.terms import in_order
from skmohn.mohn._gp.model import GPModel
from skmohn.mohn._gp.multitask import MultitaskGP, TaskView
from skmohn.mohn._gp.shared import remember
from skmohn.mohn._gp.transform_selection import choose_transform_and_levels
from skmohn.mohn._interaction_graph import InteractionGraph
from skmohn.mohn._options import FitSettings, reusable
from skmohn.mohn._reports import join_tables
from skmohn.mohn._strategies import STRATEGIES
from skmohn.mohn._table.target import Transform
from skmohn.mohn._training_data import read_groups, read_training_data

_Owner = TypeVar("_Owner")
_P = ParamSpec("_P")
_T = TypeVar("_T")
# A MOHNRegressor, whose module imports this one.
Regressor: TypeAlias = Any
# X, y, sample_weight, X_val, y_val and groups, as `fit` takes them.
_Data: TypeAlias = tuple[Any, Any, Any, Any, Any, Any]


def is_several(y: Any) -> bool:
    """Whether targets have two dimensions."""
    if hasattr(y, "shape"):
        return len(y.shape) == 2
    try:
        return np.asarray(y).ndim == 2
    except ValueError:
        # Ragged lists are refused as a y of one dimension.
        return False


def of_several(
    answer: Callable[..., Any],
) -> Callable[
    [Callable[Concatenate[_Owner, _P], _T]], Callable[Concatenate[_Owner, _P], _T]
]:
    """Decorate a method to call a function in its place for several targets."""

    def decorate(
        method: Callable[Concatenate[_Owner, _P], _T],
    ) -> Callable[Concatenate[_Owner, _P], _T]:
        @wraps(method)
        def ask(model: _Owner, *args: _P.args, **kwargs: _P.kwargs) -> _T:
            check_is_fitted(model)
            asked = answer if hasattr(model, "estimators_") else method
            return asked(model, *args, **kwargs)

        return ask

    return decorate


def refuse_target(target: object) -> None:
    """Refuse a target where there is only one."""
    if target is not None:
        raise ValueError(
            f"target={target!r}, but the model was fitted to a y of one dimension and "
            "has no others: leave target out"
        )


def forget(model: Regressor) -> None:
    """Drop the attributes of an earlier fit."""
    for name in [name for name in vars(model) if name.endswith("_")]:
        delattr(model, name)


# -------------------------------------------------------------------------------- fits


def fit(model: Regressor, data: _Data, params: Mapping[str, Any]) -> Regressor:
    """Fit a model for each column of y."""
    # Data are the arguments of `MOHNRegressor.fit` in their order, the others those of
    # the splitter.
    earlier = getattr(model, "estimators_", []) if model.warm_start else []
    targets, names = _read_targets(data[1], "y")
    forget(model)
    data = data[0], targets, *data[2:]
    lessons = _prepare(model, data, names, earlier)
    metadata = None if data[2] is None else {"sample_weight": data[2]}
    told = {"estimator": model, "X": data[0], "y": targets, "metadata": metadata}
    warnings = _learn(model, lessons, names, params, told)
    _warn(warnings, names)
    return model


class _Lesson(NamedTuple):
    """Data of one target: arguments of `fit`, and what is learned with others."""

    estimator: Regressor
    data: _Data
    together: TaskView | None


def _prepare(
    model: Regressor,
    data: _Data,
    names: Sequence[str | int],
    earlier: Sequence[Regressor],
) -> list[_Lesson]:
    """Data of each target."""
    X, targets, sample_weight, X_val, y_val, groups = data
    table = read_table(model, X, reset=True, weights=[sample_weight])
    check_consistent_length(table, targets)
    held = _read_held(model, X_val, y_val, len(names))
    if len(earlier) == len(names):
        estimators = [copy.copy(part) for part in earlier]
    else:
        estimators = [type(model)() for _ in names]
    params = _own_params(model)
    for part in estimators:
        own = {name: clone(value, safe=False) for name, value in params.items()}
        part.set_params(**own)
    seed = check_random_state(params["random_state"]).randint(2**31)
    samples = table, targets, sample_weight, read_groups(groups, table)
    together = _together(model, samples, held, seed)
    lessons = []
    for k, part in enumerate(estimators):
        held_y = None if held is None else held[1][:, k]
        held_X = None if held is None else X_val
        own = X, targets[:, k], sample_weight, held_X, held_y, groups
        lessons.append(_Lesson(part, own, together.get(k)))
    return lessons


def _learn(
    model: Regressor,
    lessons: Sequence[_Lesson],
    names: Sequence[str | int],
    params: Mapping[str, Any],
    told: Mapping[str, Any],
) -> list[list[Warning]]:
    """Fit each target and set the attributes of all; return the warnings of each."""
    task = callback_context(model, len(lessons))
    task.call_on_fit_task_begin(**told)
    warnings = []
    for part, data, together in lessons:
        own = task.subcontext(task_name="target")
        with own.propagate_callback_context(part), gather_warnings() as said:
            own.call_on_fit_task_begin(**told)
            part._fit(data, params, together)
            own.call_on_fit_task_end(**told)
        warnings.append(said)
    _expose(model, [lesson.estimator for lesson in lessons], names)
    model.shared_targets_ = [
        k
        for k, (part, _, together) in enumerate(lessons)
        if together and together.is_shared and isinstance(part.model_, GPModel)
    ]
    task.call_on_fit_task_end(
        **told, reconstruction_attributes=lambda: vars(model).copy()
    )
    return warnings


def partial_fit(
    model: Regressor, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> Regressor:
    """Update the model of each target with more samples."""
    targets, _ = _read_targets(y, "y")
    _require_targets(model, targets)
    estimators = _current(model)
    warnings = []
    with remember():
        for k, part in enumerate(estimators):
            with gather_warnings() as said:
                part.partial_fit(X, targets[:, k], sample_weight)
            warnings.append(said)
    _expose(model, estimators, model.target_names_)
    _warn(warnings, model.target_names_)
    return model


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
    names = getattr(y, "columns", None)
    targets = check_array(
        to_numpy(y),
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
            "samples, or fit that target alone on those that have it"
        )
    return targets, names


def _require_targets(model: Regressor, targets: NDArray[np.float64]) -> None:
    if targets.shape[1] != len(model.estimators_):
        raise ValueError(
            f"y has {targets.shape[1]} columns, but fit was given "
            f"{len(model.estimators_)}: pass the same targets"
        )


def _read_held(
    model: Regressor, X_val: TableLike | None, y_val: ArrayLike | None, n_targets: int
) -> tuple[Any, NDArray[np.float64]] | None:
    """Validation samples, or None when there are none."""
    if not is_pair_given(X_val, y_val):
        return None
    table, (targets, _) = read_table(model, X_val), _read_targets(y_val, "y_val")
    check_consistent_length(table, targets)
    if targets.shape[1] != n_targets:
        raise ValueError(
            f"y_val has {targets.shape[1]} columns, but y has {n_targets}: pass the "
            "same targets"
        )
    return table, targets


def _own_params(model: Regressor) -> dict[str, Any]:
    """Parameters of the model of each target: the same seed, and so the same folds."""
    params = model.get_params(deep=False)
    seed = params["random_state"]
    params["cv"] = reusable(params["cv"])
    if not isinstance(seed, Integral):
        params["random_state"] = check_random_state(seed).randint(2**31)
    return params


def _together(
    model: Regressor,
    samples: tuple[Any, ...],
    held: tuple[Any, NDArray[np.float64]] | None,
    seed: int,
) -> dict[int, TaskView]:
    """Targets that may be learned with others."""
    table, targets, sample_weight, groups = samples
    strategy, settings = STRATEGIES[model.strategy], FitSettings.of(model)
    vary = np.flatnonzero(np.ptp(targets, axis=0) > 0.0)
    if not strategy.may_be_dense or len(vary) < 2:
        return {}
    held = None if held is None else (held[0], held[1][:, vary])
    data = read_training_data(
        table,
        targets[:, vary],
        sample_weight,
        task="regression",
        strategy=strategy,
        # Nothing is searched, so that folds do not matter.
        settings=replace(settings, cv=5),
        seed=seed,
        categories=model._categories,
        columns=model._names(),
        validation=held,
        groups=groups,
    )
    data = choose_transform_and_levels(data, settings.gp_options)
    together = MultitaskGP(data, settings)
    return {int(k): TaskView(together, index) for index, k in enumerate(vary)}


def _expose(
    model: Regressor, estimators: list[Regressor], names: Sequence[str | int]
) -> None:
    """Set the attributes of all targets from those of each."""
    model.estimators_, model.target_names_ = estimators, list(names)
    # Levels are inputs of a target's model or not, and without its outliers a column
    # may not vary; all else follows from the columns.
    widest = max(estimators, key=lambda part: len(part.coding_.categoricals))
    model.coding_ = widest.coding_
    labels = [label for p in (widest, *estimators) for label in p.term_names_.labels]
    labels = list(dict.fromkeys(labels))
    index = {label: member for member, label in enumerate(labels)}
    terms = {
        tuple(sorted(index[label] for label in term))
        for part in estimators
        for term in part.terms_
    }
    model.terms_ = [tuple(labels[m] for m in term) for term in in_order(terms)]
    found = [_weights(part, model.terms_) for part in estimators]
    model.weights_ = np.array([weights for weights, _ in found])
    model.standard_errors_ = np.array([errors for _, errors in found])
    model.intercept_ = np.array([part.intercept_ for part in estimators])
    model.outliers_ = np.column_stack([part.outliers_ for part in estimators])
    model.noise_std_ = np.array([part.noise_std_ for part in estimators])
    model.n_iter_ = max(part.n_iter_ for part in estimators)
    reasons = [part.stopping_reason_ for part in estimators]
    model.stopping_reason_ = "\n".join(
        f"target {name}: {reason}" for name, reason in zip(names, reasons, strict=True)
    )
    # The rows are those of all targets: equal terms have equal lists.
    known = {
        term: alike
        for part in estimators
        for term, alike in zip(part.terms_, part.collinear_terms_, strict=True)
        if part.model_.is_sparse
    }
    model.p_values_ = np.array(
        [
            [of_part.get(term, np.nan) for term in model.terms_]
            for of_part in (
                dict(zip(part.terms_, part.p_values_, strict=True))
                for part in estimators
            )
        ]
    )
    model.collinear_terms_ = [known.get(term, []) for term in model.terms_]
    model.search_coverage_, model.history_ = (
        kind(
            {"target": name, **record}
            for name, part in zip(names, estimators, strict=True)
            for record in getattr(part, attribute)
        )
        for kind, attribute in ((list, "search_coverage_"), (History, "history_"))
    )


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


def _warn(warnings: Sequence[Sequence[Warning]], names: Sequence[str | int]) -> None:
    """Repeat the warnings of all targets, once, with the targets of each."""
    said = {}
    for name, found in zip(names, warnings, strict=True):
        for warning in found:
            said.setdefault((type(warning), str(warning)), []).append(name)
    for (category, text), of_targets in said.items():
        listed = ", ".join(str(name) for name in of_targets)
        noun = "target" if len(of_targets) == 1 else "targets"
        warn_caller(f"{noun} {listed}: {text}", category)


# ----------------------------------------------------------------------------- answers


def predict(model: Regressor, X: TableLike, return_std: bool = False) -> Any:
    """Predict all targets."""
    with remember():
        found = [part.predict(X, return_std) for part in _current(model)]
    if return_std:
        means, stds = zip(*found, strict=True)
        return np.stack(means, axis=1), np.stack(stds, axis=1)
    return np.stack(found, axis=1)


def predict_quantiles(
    model: Regressor, X: TableLike, quantiles: ArrayLike = (0.05, 0.5, 0.95)
) -> NDArray[np.float64]:
    """Predict quantiles of all targets."""
    with remember():
        found = [part.predict_quantiles(X, quantiles) for part in _current(model)]
    return np.stack(found, axis=1)


def log_density(model: Regressor, X: TableLike, y: ArrayLike) -> NDArray[np.float64]:
    """Log density of each target, which are independent given their models."""
    targets, _ = _read_targets(y, "y")
    _require_targets(model, targets)
    with remember():
        found = [
            part.log_density(X, own)
            for part, own in zip(_current(model), targets.T, strict=True)
        ]
    return np.stack(found, axis=1)


def target_transform(model: Regressor) -> list[Transform]:
    """Transform of each target."""
    return [part.target_transform_ for part in model.estimators_]


def sample_y(
    model: Regressor,
    X: TableLike,
    n_samples: int = 1,
    random_state: int | np.random.RandomState | None = 0,
) -> NDArray[np.float64]:
    """Sample all targets; given the data they are independent."""
    rng = check_random_state(random_state)
    found = [part.sample_y(X, n_samples, rng) for part in model.estimators_]
    return np.stack(found, axis=1)


def weight_posterior(
    model: Regressor, term: Any, target: int | str | None = None
) -> tuple[float, float]:
    """Return the posterior of one weight of one target."""
    return model.estimators_[_index(model, target)].weight_posterior(term)


def explain(model: Regressor, x: TableLike, target: int | str | None = None) -> Any:
    """Split the prediction of one target."""
    return _current(model)[_index(model, target)].explain(x)


def relevance(model: Regressor) -> NDArray[np.float64]:
    """Relevance of each column to each target."""
    return np.array([part.relevance_ for part in model.estimators_])


def log_marginal_likelihood(model: Regressor) -> float:
    """Log evidence of all targets, which are independent given their models."""
    return float(sum(part.log_marginal_likelihood_ for part in model.estimators_))


def terms_table(model: Regressor) -> Any:
    """List the terms of each target."""
    tables = [part.terms_table() for part in model.estimators_]
    return join_tables(tables, model.target_names_, "terms_table")


def significance_table(
    model: Regressor, X: TableLike | None = None, y: ArrayLike | None = None
) -> Any:
    """Test the terms of each target."""
    given = [(X, None)] * len(model.estimators_)
    if y is not None:
        targets, _ = _read_targets(y, "y")
        _require_targets(model, targets)
        given = [(X, own) for own in targets.T]
    tables = [
        part.significance_table(*data)
        for part, data in zip(model.estimators_, given, strict=True)
    ]
    return join_tables(tables, model.target_names_, "significance_table")


def collinear_terms_table(model: Regressor) -> Any:
    """List sets that are collinear with the terms of each target."""
    tables = [part.collinear_terms_table() for part in model.estimators_]
    return join_tables(tables, model.target_names_, "collinear_terms_table")


def sobol_indices(model: Regressor, distribution: str = "observed") -> Any:
    """Compute the indices for each target."""
    tables = [part.sobol_indices(distribution) for part in model.estimators_]
    return join_tables(tables, model.target_names_, "sobol_indices")


def effects_table(model: Regressor) -> Any:
    """List the effects on each target."""
    tables = [part.effects_table() for part in model.estimators_]
    return join_tables(tables, model.target_names_, "effects_table")


def feature_importances(model: Regressor) -> NDArray[np.float64]:
    """Mean over the targets, as forests have it."""
    return np.mean([part.feature_importances_ for part in model.estimators_], axis=0)


def linkage(model: Regressor) -> InteractionGraph:
    """InteractionGraph of the columns in the models of all targets."""
    links = [part.interaction_graph_.links for part in model.estimators_]
    n_features = model.n_features_in_
    pairs = {
        (i, j) for of_target in links for i in range(n_features) for j in of_target[i]
    }
    unused = set.intersection(
        *(set(p.interaction_graph_.unused) for p in model.estimators_)
    )
    terms = [(i,) for i in range(n_features) if i not in unused]
    terms += sorted(pair for pair in pairs if pair[0] < pair[1])
    return InteractionGraph.of_terms(terms, n_features, model._names())


def _current(model: Regressor) -> list[Regressor]:
    """Models of all targets, with the parameters that the whole has now."""
    params = model.get_params(deep=False)
    del params["cv"], params["random_state"]
    estimators = [copy.copy(part) for part in model.estimators_]
    for part in estimators:
        part.set_params(**params)
    return estimators


def _index(model: Regressor, target: int | str | None) -> int:
    """Number of a target, given that or its name."""
    names = model.target_names_
    index = None
    if isinstance(target, str) or is_integer(target):
        index = find_column(target, index_names(names), len(names), "target")
    if index is not None:
        return index
    known = f" or one of the names {names}" if isinstance(names[0], str) else ""
    raise ValueError(
        f"target={target!r} is none of the {len(names)} targets: use a number from 0 "
        f"to {len(names) - 1}{known}"
    )
