"""scikit-learn's MLP with more: where it starts, who is told, and several targets.

A fit has two tasks, "layers" and "network". Callbacks that follow sub-estimators are
handed on to the layers; what the network does is told by the estimator itself, since
scikit-learn's MLP does not tell.
"""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from skmohn._core._fitting import FitLoop
from skmohn._core._sklearn import callback_context, watched_mlp
from skmohn._core._types import TableLike
from skmohn.energynet._rbm import RBM

# Networks are compared when this fraction of the loss is all that so many evaluations
# have taken off: those with more units than samples need thousands to come to rest.
_LEAST_PROGRESS, _EVALUATIONS = 0.01, 50

_T = TypeVar("_T", bound=Any)


class _Stopped(Exception):  # noqa: N818
    """A callback asks the network to stop."""


def initialized_mlp(mlp: Any, start: Sequence[RBM]) -> Any:
    """A network with the parameters of another one that begins as a stack.

    Parameters
    ----------
    mlp : MLPClassifier or MLPRegressor

    start : sequence of RBM
        The layers it begins as; none for random weights.

    Returns
    -------
    told : MLPClassifier or MLPRegressor
        Not fitted; see :func:`~skmohn._core._sklearn.watched_mlp`.
    """
    return watched_mlp(mlp, [(rbm.weights.T, rbm.hidden_bias) for rbm in start])


def fit_silently(told: Any, X: NDArray, y: NDArray, weights: NDArray | None) -> None:
    """Fit a network about as far as it goes, to compare it with others.

    It ends before it would warn that it has not converged.

    Parameters
    ----------
    told : MLPClassifier or MLPRegressor
        As :func:`initialized_mlp` makes it.

    X, y : ndarrays

    weights : ndarray of shape (n_samples,) or None
    """
    # Evaluations of "lbfgs" are at least as many as its iterations.
    ahead = iter(range(told.max_iter - 1))
    least = deque([np.inf], maxlen=_EVALUATIONS)

    def watch(loss: float) -> None:
        least.append(min(loss, least[-1]))
        rests = least[-1] > (1.0 - _LEAST_PROGRESS) * least[0]
        if rests or next(ahead, None) is None:
            raise _Stopped

    told.watch = watch
    with suppress(_Stopped):
        told.fit(X, y, sample_weight=weights)


class Stages:
    """The two tasks of a fit, of which scikit-learn's callbacks hear.

    Parameters
    ----------
    estimator : EnergyNetClassifier or EnergyNetRegressor

    X, y : array-like
        The training data, for callbacks that score.
    """

    def __init__(self, estimator: BaseEstimator, X: TableLike, y: ArrayLike) -> None:
        self._told: dict[str, Any] = {"estimator": estimator, "X": X, "y": y}
        self._fit = callback_context(estimator, 2)
        self._fit.call_on_fit_task_begin(**self._told)

    def fit_layers(self, transformer: _T, X: TableLike, weights: NDArray | None) -> _T:
        """Fit the layers; callbacks that follow sub-estimators follow them.

        Parameters
        ----------
        transformer : EnergyNetTransformer

        X : ndarray of shape (n_samples, n_features)

        weights : ndarray of shape (n_samples,) or None

        Returns
        -------
        transformer : EnergyNetTransformer
            The one that was given.
        """
        task = self._fit.subcontext(task_name="layers")
        with task.propagate_callback_context(transformer):
            task.call_on_fit_task_begin(**self._told)
            transformer.fit(X, sample_weight=weights)
            task.call_on_fit_task_end(**self._told)
        return transformer

    def fit_network(
        self,
        mlp: Any,
        X: NDArray,
        y: NDArray,
        weights: NDArray | None,
        start: Sequence[RBM],
    ) -> Any:
        """Fit the network; a callback may stop it after any epoch.

        Parameters
        ----------
        mlp : MLPClassifier or MLPRegressor
            Not fitted.

        X, y : ndarrays
            What it sees and what it learns.

        weights : ndarray of shape (n_samples,) or None

        start : sequence of RBM
            The layers it begins as; none for random weights.

        Returns
        -------
        mlp : MLPClassifier or MLPRegressor
            The fitted one, of scikit-learn's own class.
        """
        told = initialized_mlp(mlp, start)
        # Neither counts its iterations ahead, but epochs have a maximum.
        most = None if told.solver == "lbfgs" else told.max_iter
        task = self._fit.subcontext(
            task_name="network", max_subtasks=None if most is None else most + 1
        )
        loop = FitLoop(
            **self._told,
            metadata=None,
            max_iter=most,
            attributes=lambda: {"mlp_": told.to_plain()},
            task=task,
        )

        def watch(loss: float) -> None:
            if loop.step({"loss": float(loss)}):
                raise _Stopped

        told.watch = watch
        try:
            told.fit(X, y, sample_weight=weights)
        except _Stopped:
            told.n_iter_, told.loss_ = len(loop.history), loop.history[-1]["loss"]
            if told.early_stopping and told.solver != "lbfgs":
                told.take_best()
        loop.finish()
        fitted = told.to_plain()
        self._fit.call_on_fit_task_end(
            **self._told, reconstruction_attributes=lambda: {"mlp_": fitted}
        )
        return fitted
