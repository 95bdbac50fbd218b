"""scikit-learn's MLP with more: where it starts, who is told, and several targets.

A fit has two tasks, "layers" and "network". Callbacks that follow sub-estimators are
handed on to the layers; what the network does is told by the estimator itself, since
scikit-learn's MLP does not tell.
"""

from collections import deque
from contextlib import suppress

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skmohn._core._fitting import FitLoop

# Networks are compared when this share of the loss is all that so many evaluations have
# taken off: those with more units than samples need thousands to come to rest.
_SHARE, _EVALUATIONS = 0.01, 50


class _Stopped(Exception):  # noqa: N818
    """A callback asks the network to stop."""


class _Told:
    """A network whose hidden layers may begin as a stack, and that can be watched.

    Attributes
    ----------
    _start : sequence of RBM
        The layers it begins as; none for scikit-learn's random weights.

    _watch : callable
        Called with the loss after every epoch or, of ``solver="lbfgs"``, every
        evaluation.
    """

    @staticmethod
    def _watch(loss):
        """Nobody wants to know."""

    def _initialize(self, y, layer_units, dtype):
        super()._initialize(y, layer_units, dtype)
        # A layer may have further units, whose weights are random.
        for k, rbm in enumerate(self._start):
            self.coefs_[k][: rbm.n_visible, : rbm.n_hidden] = rbm.weights.T
            self.intercepts_[k][: rbm.n_hidden] = rbm.hidden_bias
        self._best_coefs = [coef.copy() for coef in self.coefs_]
        self._best_intercepts = [intercept.copy() for intercept in self.intercepts_]

    def _loss_grad_lbfgs(self, *args):
        loss, gradient = super()._loss_grad_lbfgs(*args)
        self._watch(loss)
        return loss, gradient

    def _update_no_improvement_count(self, *args):
        super()._update_no_improvement_count(*args)
        self._watch(self.loss_)


class _ToldClassifier(_Told, MLPClassifier):
    """MLPClassifier that is told where to start and tells how it goes."""


class _ToldRegressor(_Told, MLPRegressor):
    """MLPRegressor that is told where to start and tells how it goes."""

    def _backprop(self, X, y, sample_weight, activations, *memory):
        found = super()._backprop(X, y, sample_weight, activations, *memory)
        if self.loss != "squared_error" or y.shape[1] == 1:
            return found
        # Of several targets scikit-learn 1.9 computes the mean loss with the gradient
        # of its sum, and L-BFGS comes to a halt (its issue 8349).
        squares = np.square(activations[-1] - y).sum(axis=1)
        n_samples = len(y) if sample_weight is None else sample_weight.sum()
        penalty = self.alpha * sum(np.vdot(coef, coef) for coef in self.coefs_)
        loss = np.average(squares, weights=sample_weight) + penalty / n_samples
        return loss / 2, *found[1:]


def started(mlp, start):
    """A network with the parameters of another one that begins as a stack.

    Parameters
    ----------
    mlp : MLPClassifier or MLPRegressor

    start : sequence of RBM
        The layers it begins as; none for random weights.

    Returns
    -------
    told : MLPClassifier or MLPRegressor
        Not fitted.
    """
    kind = _ToldClassifier if isinstance(mlp, MLPClassifier) else _ToldRegressor
    told = kind(**mlp.get_params())
    told._start = start
    return told


def fit_untold(told, X, y, weights):
    """Fit a network about as far as it goes, to compare it with others.

    It ends before it would warn that it has not converged.

    Parameters
    ----------
    told : MLPClassifier or MLPRegressor
        As :func:`started` makes it.

    X, y : ndarrays

    weights : ndarray of shape (n_samples,) or None
    """
    # Evaluations of "lbfgs" are at least as many as its iterations.
    ahead = iter(range(told.max_iter - 1))
    least = deque([np.inf], maxlen=_EVALUATIONS)

    def watch(loss):
        least.append(min(loss, least[-1]))
        rests = least[-1] > (1.0 - _SHARE) * least[0]
        if rests or next(ahead, None) is None:
            raise _Stopped

    told._watch = watch
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

    def __init__(self, estimator, X, y):
        self._told = {"estimator": estimator, "X": X, "y": y}
        self._fit = estimator._init_callback_context(max_subtasks=2)
        self._fit.call_on_fit_task_begin(**self._told)

    def fit_layers(self, transformer, X, weights):
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

    def fit_network(self, mlp, X, y, weights, start):
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
        told = started(mlp, start)
        # Neither counts its iterations ahead, but epochs have a maximum.
        most = None if told.solver == "lbfgs" else told.max_iter
        task = self._fit.subcontext(
            task_name="network", max_subtasks=None if most is None else most + 1
        )
        loop = FitLoop(
            *self._told.values(), None, most, lambda: {"mlp_": _plain(told)}, task=task
        )

        def watch(loss):
            if loop.step({"loss": float(loss)}):
                raise _Stopped

        told._watch = watch
        try:
            told.fit(X, y, sample_weight=weights)
        except _Stopped:
            told.n_iter_, told.loss_ = len(loop.history), loop.history[-1]["loss"]
            if told.early_stopping and told.solver != "lbfgs":
                told.coefs_, told.intercepts_ = told._best_coefs, told._best_intercepts
        loop.finish()
        fitted = _plain(told)
        self._fit.call_on_fit_task_end(
            **self._told, reconstruction_attributes=lambda: {"mlp_": fitted}
        )
        return fitted


def _plain(told):
    """A copy of a network as one of scikit-learn's, fitted as far as it is."""
    kind = MLPClassifier if isinstance(told, MLPClassifier) else MLPRegressor
    plain = kind(**told.get_params())
    state = vars(told).copy()
    del state["_start"], state["_watch"]
    vars(plain).update(state)
    plain.coefs_ = [coef.copy() for coef in told.coefs_]
    plain.intercepts_ = [intercept.copy() for intercept in told.intercepts_]
    return plain
