"""scikit-learn's MLP: which network is selected, where it starts, who watches it."""

# A network without hidden layers is a linear model: logistic regression or ridge, of
# one target or several. So all candidates are networks of scikit-learn, compared by
# their losses on samples that they have not learned from.
#
# A fit has two tasks, "layers" and "network". Callbacks that follow sub-estimators are
# handed on to the layers; what the network does is reported by the estimator itself,
# since scikit-learn's MLP has no callbacks.

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone, is_classifier

from skmohn._core._copies import join_near_rows
from skmohn._core._fitting import FitLoop, History, max_subtasks
from skmohn._core._rows import number_rows
from skmohn._core._sklearn import callback_context, watched_mlp
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn.energynet._rbm import RBM


@dataclass(frozen=True)
class SelectionConstants:
    """Choice of a network by cross-validation."""

    # Precisions of the normal priors of all weights, the largest first.
    alphas: tuple[float, ...] = tuned(
        (100.0, 30.0, 10.0, 3.0, 1.0), "benchmarks/ablation.py"
    )
    # Those of networks with hidden layers for classes. A number shows more of them than
    # a class does: with few samples of classes a network of larger ones is constant.
    class_alphas: tuple[float, ...] = tuned((3.0, 1.0), "benchmarks/ablation.py")
    # Layers that were found are compared with layers of so many units, which some
    # targets need.
    min_wide_units: int = tuned(100, "benchmarks/ablation.py")
    n_folds: int = tuned(5, "benchmarks/ablation.py")
    # With more distinct samples the choice would be the same.
    max_samples: int = tuned(4000, "cost")
    # The simpler may be worse by so many standard errors of the difference.
    n_errors_simpler: float = tuned(0.5, "benchmarks/ablation.py")
    # That of a class without training samples.
    min_probability: float = tuned(1e-6, "rounding")
    # Training for comparisons ends when so many evaluations have reduced the loss by no
    # more than this fraction: networks of more units than samples need thousands to
    # converge.
    min_progress: float = tuned(0.01, "benchmarks/ablation.py")
    n_progress_evaluations: int = tuned(50, "benchmarks/ablation.py")


_SELECTION = SelectionConstants()
# Linear models have nothing to overfit by when they learn on; networks have.
_LINEAR = {"hidden_layer_sizes": (), "tol": 1e-4}

_T = TypeVar("_T", bound=Any)


class _Stopped(Exception):  # noqa: N818
    """Request of a callback to stop the network."""


def initialized_mlp(
    mlp: Any,
    start: Sequence[RBM],  # layers it begins as; none for random weights
) -> Any:
    """Unfitted network with the parameters of another one, which begins as a stack."""
    # See :func:`~skmohn._core._sklearn.watched_mlp`.
    return watched_mlp(mlp, [(rbm.weights.T, rbm.hidden_bias) for rbm in start])


def fit_silently(
    watched: Any,  # of :func:`initialized_mlp`
    X: NDArray,
    y: NDArray,
    weights: NDArray | None,
) -> None:
    """Fit a network about as far as it goes, to compare it with others."""
    # Fitting ends before a warning that it has not converged.
    # Evaluations of "lbfgs" are at least as many as its iterations.
    ahead = iter(range(watched.max_iter - 1))
    least = deque([np.inf], maxlen=_SELECTION.n_progress_evaluations)

    def watch(loss: float) -> None:
        least.append(min(loss, least[-1]))
        rests = least[-1] > (1.0 - _SELECTION.min_progress) * least[0]
        if rests or next(ahead, None) is None:
            raise _Stopped

    watched.watch = watch
    with suppress(_Stopped):
        watched.fit(X, y, sample_weight=weights)


class Stages:
    """Two tasks of a fit, as scikit-learn's callbacks see them."""

    def __init__(
        self,
        estimator: BaseEstimator,
        X: TableLike,  # training data, for callbacks that score
        y: ArrayLike,
    ) -> None:
        self._task_data: dict[str, Any] = {"estimator": estimator, "X": X, "y": y}
        self._fit = callback_context(estimator, 2)
        self._fit.call_on_fit_task_begin(**self._task_data)

    def fit_layers(self, transformer: _T, X: TableLike, weights: NDArray | None) -> _T:
        """Fit the layers; callbacks that follow sub-estimators follow them."""
        task = self._fit.subcontext(task_name="layers")
        with task.propagate_callback_context(transformer):
            task.call_on_fit_task_begin(**self._task_data)
            transformer.fit(X, sample_weight=weights)
            task.call_on_fit_task_end(**self._task_data)
        return transformer

    def fit_network(
        self,
        mlp: Any,  # not fitted
        X: NDArray,
        y: NDArray,
        weights: NDArray | None,
        start: Sequence[RBM],  # layers it begins as; none for random weights
    ) -> Any:
        """Fit the network; a callback may stop it after any epoch."""
        # The result is of scikit-learn's own class.
        watched = initialized_mlp(mlp, start)
        # Neither counts its iterations ahead, but epochs have a maximum.
        max_iter = None if watched.solver == "lbfgs" else watched.max_iter
        n_tasks = max_subtasks(max_iter)
        task = self._fit.subcontext(task_name="network", max_subtasks=n_tasks)
        loop = FitLoop(
            **self._task_data,
            metadata=None,
            max_iter=max_iter,
            attributes=lambda: {"mlp_": watched.to_plain()},
            task=task,
        )

        def watch(loss: float) -> None:
            if loop.step({"loss": float(loss)}):
                raise _Stopped

        watched.watch = watch
        try:
            watched.fit(X, y, sample_weight=weights)
        except _Stopped:
            watched.n_iter_, watched.loss_ = len(loop.history), loop.history[-1]["loss"]
            if watched.early_stopping and watched.solver != "lbfgs":
                watched.take_best()
        loop.finish()
        fitted = watched.to_plain()
        self._fit.call_on_fit_task_end(
            **self._task_data, reconstruction_attributes=lambda: {"mlp_": fitted}
        )
        return fitted


def candidates(
    mlp: Any,  # has the training options of networks with hidden layers
    sizes: tuple[int, ...],  # widths of the hidden layers
    is_found: bool,  # widths were found without targets, and may be too small for them
) -> list[Any]:
    """Networks to choose from, simpler ones first, not fitted."""
    # Of each shape there is a range of `alpha`.
    of_layers = _SELECTION.class_alphas if is_classifier(mlp) else _SELECTION.alphas
    shapes: list[dict[str, Any]] = [_LINEAR, {"hidden_layer_sizes": sizes}]
    if is_found and sizes[0] < _SELECTION.min_wide_units:
        shapes.append({"hidden_layer_sizes": (_SELECTION.min_wide_units, *sizes[1:])})
    copy: Any = clone
    return [
        copy(mlp).set_params(**shape, alpha=alpha)
        for shape in shapes
        for alpha in (of_layers if shape["hidden_layer_sizes"] else _SELECTION.alphas)
    ]


def folds_of(
    table: NDArray, y: NDArray, are_classes: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Samples to compare networks on, in folds over which the targets are spread."""
    # They follow from the data: samples that are equal, or copies with jitter, are in
    # one fold, so that it makes no difference whether they are repeated or have a
    # weight, nor in which order they are. Returned are their rows, of all samples or of
    # some that are spread over the targets, and the fold of each. Targets are class
    # labels, label indicators, or numbers.
    targets = np.unique(y, return_inverse=True)[1].reshape(len(y), -1)
    table = join_near_rows(table, number_rows(targets), are_classes)
    keys = np.column_stack([table, targets])
    order = np.lexsort(keys.T)
    keys = keys[order]
    is_new = np.any(keys[1:] != keys[:-1], axis=1)
    which = np.concatenate([[0], np.cumsum(is_new)])
    step = which[-1] // _SELECTION.max_samples + 1
    chosen = which % step == 0
    return order[chosen], which[chosen] // step % _SELECTION.n_folds


def choose(
    mlps: Iterable[Any],
    inputs: Callable[[bool], NDArray],
    y: NDArray,
    weights: NDArray | None,
    folds: NDArray[np.intp],
    start: Sequence[RBM],
) -> tuple[Any, History]:
    """Find the simplest network whose out-of-fold loss is about the least."""
    # Of one shape, smaller values of `alpha` are tried as long as they help: training
    # takes longer with each. Candidates are not fitted, simpler ones first. `inputs` is
    # called with whether a network has hidden layers and returns its inputs; hidden
    # layers begin as those of `start`, if any. Also returned is a dict for each
    # candidate that was tried: ``hidden_layer_sizes``, ``alpha``, ``loss``, and
    # ``error``, the standard error of the difference to the least loss.
    inputs = cache(inputs)
    tried, losses, means = [], [], []
    for sizes, of_shape in groupby(mlps, attrgetter("hidden_layer_sizes")):
        least, has_layers = np.inf, bool(sizes)
        for mlp in of_shape:
            network = initialized_mlp(mlp, start if has_layers else ())
            table = inputs(has_layers)
            tried.append(mlp)
            losses.append(_out_of_fold_losses(network, table, y, weights, folds))
            means.append(np.average(losses[-1], weights=weights))
            if means[-1] > least:
                break
            least = means[-1]
    best = np.argmin(means)
    worse = np.array(means) - means[best]
    n_samples = len(y) if weights is None else weights.sum()
    spread = np.square(losses - losses[best] - worse[:, None])
    errors = np.sqrt(np.average(spread, axis=1, weights=weights) / n_samples)
    compared = History(
        {
            "hidden_layer_sizes": mlp.hidden_layer_sizes,
            "alpha": mlp.alpha,
            "loss": float(mean),
            "error": float(error),
        }
        for mlp, mean, error in zip(tried, means, errors, strict=True)
    )
    is_near = worse <= _SELECTION.n_errors_simpler * errors
    # Of linear models only the best: of few samples the strongest prior that is about
    # as good is that of a constant.
    is_linear = np.array([not mlp.hidden_layer_sizes for mlp in tried])
    best_linear = np.min(means, where=is_linear, initial=np.inf)
    is_near &= ~is_linear | (means == best_linear)
    return tried[np.argmax(is_near)], compared


def _out_of_fold_losses(
    mlp: Any, X: NDArray, y: NDArray, weights: NDArray | None, folds: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Loss of each sample by a network that has learned from the other folds."""
    losses = np.zeros(len(y))
    for fold in np.unique(folds):
        out, rest = folds == fold, folds != fold
        if out.all():
            break
        # The network that answers in the end speaks for itself.
        fit_silently(mlp, X[rest], y[rest], None if weights is None else weights[rest])
        loss = _log_losses if is_classifier(mlp) else _squared_losses
        losses[out] = loss(mlp, X[out], y[out])
    return losses


def _log_losses(mlp: Any, X: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Minus the log-probability of the class, or of all labels, of each sample."""
    p = mlp.predict_proba(X)
    if y.ndim > 1:
        return -np.log(np.where(y, p, 1.0 - p).clip(_SELECTION.min_probability)).sum(
            axis=1
        )
    at = np.searchsorted(mlp.classes_, y).clip(max=len(mlp.classes_) - 1)
    p = np.where(mlp.classes_[at] == y, p[np.arange(len(y)), at], 0.0)
    return -np.log(p.clip(_SELECTION.min_probability))


def _squared_losses(mlp: Any, X: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Squared error of each sample, the mean over targets."""
    errors = (mlp.predict(X) - y).reshape(len(y), -1)
    return np.square(errors).mean(axis=1)
