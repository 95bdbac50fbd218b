"""Compiled networks that control something: one observation in, one action out.

A simulator that numba compiles calls ``policy.step(observation, state, action)`` as
Python does. Kernels of other packages need not import this file for that: numba finds
the method by the type of the policy.

Source: Brunato and Battiti, "A telescopic binary learning machine for training neural
networks", IEEE TNNLS 28 (2017), section V; Elman, "Finding structure in time",
Cognitive Science 14 (1990).
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload_method

from skmohn._core._numba import jit
from skmohn.blm._kernels import IDENTITY, LOGISTIC, RELU, TANH


class Policy(NamedTuple):
    """Network that a simulator can call, from Python or from compiled code.

    A named tuple of three arrays: numba accepts and caches it, and both methods work in
    compiled functions. Training changes `weights` in place, so copy what you want to
    keep.

    Parameters
    ----------
    sizes : ndarray of shape (n_layers,), int64
        Units of each layer, from inputs to outputs.
    weights : ndarray of shape (n_weights,), float64
        Layer by layer and unit by unit: the bias, a weight for each unit of the layer
        before and, in hidden layers of recurrent networks, a weight for each unit of
        the same layer one step ago.
    kinds : ndarray of shape (3,), int64
        Activation of the hidden units, of the outputs, and whether the network is
        recurrent.

    Notes
    -----
    The state has shape (2, n_hidden_units): outputs of the hidden units after the
    latest step and, in recurrent networks, after the one before.

    Examples
    --------
    >>> import numba
    >>> import numpy as np
    >>> from skmohn.blm import make_policy
    >>> policy = make_policy((2, 3, 1), np.ones(13), recurrent=False)
    >>> @numba.njit
    ... def push_twice(policy, observation):
    ...     state, action = policy.initial_state(), np.empty(1)
    ...     for _ in range(2):
    ...         policy.step(observation, state, action)
    ...     return action[0]
    >>> push_twice(policy, np.zeros(2))
    3.28...
    """

    sizes: np.ndarray
    weights: np.ndarray
    kinds: np.ndarray

    def step(self, observation, state, action):
        """Compute the action for an observation, in place.

        Parameters
        ----------
        observation : ndarray of shape (n_inputs,)
            The observation.
        state : ndarray of shape (2, n_hidden_units), float64
            Starts as :meth:`initial_state`; changed in place.
        action : ndarray of shape (n_outputs,), float64
            Filled with the outputs.

        Raises
        ------
        ValueError
            If an array has the wrong shape.
        """
        step(self, observation, state, action)

    def initial_state(self):
        """Return the state before the first step: all hidden units are silent.

        Returns
        -------
        ndarray of shape (2, n_hidden_units), float64
            Zeros.
        """
        return np.zeros((2, sum(self.sizes[1:-1].tolist())))


def _initial_state(policy):
    """Zeros of shape (2, n_hidden_units). O(n_hidden_units)."""
    n_hidden = 0
    for layer in range(1, policy.sizes.shape[0] - 1):
        n_hidden += policy.sizes[layer]
    return np.zeros((2, n_hidden))


@jit
def _activate(kind, total):
    """Output of a unit. O(1)."""
    if kind == TANH:
        return np.tanh(total)
    if kind == IDENTITY:
        return total
    if kind == LOGISTIC:
        return 0.5 + 0.5 * np.tanh(0.5 * total)
    if kind == RELU:
        return 0.0 if total < 0.0 else total
    return 1.0 if total > 0.0 else 0.0


@jit
def step(policy, observation, state, action):
    """Compute the hidden units, then the outputs, in place. O(n_weights).

    Shapes (n_inputs,), (2, n_hidden_units) and (n_outputs,).
    """
    sizes, weights = policy.sizes, policy.weights
    hidden, output, recurrent = policy.kinds
    n_layers = sizes.shape[0]
    n_hidden = 0
    for layer in range(1, n_layers - 1):
        n_hidden += sizes[layer]
    # Of other shapes numba would read and write memory that is not theirs.
    if observation.shape[0] != sizes[0]:
        raise ValueError(
            "the observation and the inputs of the network have shapes",
            observation.shape,
            (sizes[0],),
        )
    if state.shape[0] != 2 or state.shape[1] != n_hidden:
        raise ValueError(
            "the state and that of the network have shapes", state.shape, (2, n_hidden)
        )
    if action.shape[0] != sizes[n_layers - 1]:
        raise ValueError(
            "the action and the outputs of the network have shapes",
            action.shape,
            (sizes[n_layers - 1],),
        )
    if recurrent:
        for unit in range(n_hidden):
            state[1, unit] = state[0, unit]
    weight = first = before = 0  # first units of a layer, and of the one before
    for layer in range(1, n_layers):
        n_inputs, is_last = sizes[layer - 1], layer == n_layers - 1
        for unit in range(sizes[layer]):
            total = weights[weight]
            weight += 1
            if layer == 1:
                for k in range(n_inputs):
                    total += weights[weight + k] * observation[k]
            else:
                for k in range(n_inputs):
                    total += weights[weight + k] * state[0, before + k]
            weight += n_inputs
            if recurrent and not is_last:
                for k in range(sizes[layer]):
                    total += weights[weight + k] * state[1, first + k]
                weight += sizes[layer]
            value = _activate(output if is_last else hidden, total)
            if is_last:
                action[unit] = value
            else:
                state[0, first + unit] = value
        before = first
        first += sizes[layer]


@overload_method(types.NamedTuple, "step")
def _compiled_step(policy, observation, state, action):
    if policy.instance_class is Policy:
        return lambda policy, observation, state, action: step(
            policy, observation, state, action
        )


@overload_method(types.NamedTuple, "initial_state")
def _compiled_initial_state(policy):
    if policy.instance_class is Policy:
        return _initial_state


@jit
def run_sequences(policy, rows, lengths, state, outputs):
    """Fill the outputs at all steps; each sequence begins in silence. O(D P).

    Parameters
    ----------
    policy : Policy
    rows : ndarray of shape (n_rows, n_inputs), float64
        The steps of all sequences, one after the other.
    lengths : ndarray of shape (n_sequences,), int64
    state : ndarray of shape (2, n_hidden_units), float64
        Room for that of the policy.
    outputs : ndarray of shape (n_rows, n_outputs), float64
    """
    row = 0
    for k in range(lengths.shape[0]):
        for unit in range(state.shape[1]):
            state[0, unit] = state[1, unit] = 0.0
        for _ in range(lengths[k]):
            step(policy, rows[row], state, outputs[row])
            row += 1
