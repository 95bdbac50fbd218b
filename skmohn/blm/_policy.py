"""Networks that go step by step: policies, and recurrent networks on sequences."""

# Source: Elman, "Finding structure in time", Cognitive Science 14 (1990).

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._sklearn import StrOptions, validate_params
from skmohn._core._types import check_array
from skmohn._core._validation import is_integer
from skmohn.blm import _policy_kernels as kernels
from skmohn.blm._kernels import Network
from skmohn.blm._network import ACTIVATIONS, DatasetProblem, Layout, activate
from skmohn.blm._policy_kernels import Policy
from skmohn.blm._search import ask, tell
from skmohn.blm._search_kernels import Search


@validate_params(
    {
        "sizes": ["array-like"],
        "weights": ["array-like"],
        "recurrent": ["boolean"],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "out_activation": [StrOptions(set(ACTIVATIONS))],
    },
    prefer_skip_nested_validation=True,
)
def make_policy(
    sizes: Sequence[int],
    weights: ArrayLike,
    *,
    recurrent: bool = False,
    activation: str = "tanh",
    out_activation: str = "identity",
) -> Policy:
    """Make a policy from given weights, without an estimator.

    Parameters
    ----------
    sizes : sequence of int
        Units of each layer, from inputs to outputs.
    weights : array-like of shape (n_weights,)
        Weights in the order of :class:`~skmohn.blm.Policy`; they are copied.
    recurrent : bool, default=False
        Whether hidden units also receive the previous outputs of their layer.
    activation : {"tanh", "identity", "logistic", "relu", "step"}, default="tanh"
        Activation of the hidden units.
    out_activation : {"identity", "tanh", "logistic", "relu", "step"}, \
            default="identity"
        Activation of the outputs.

    Returns
    -------
    Policy
        Ready to act on observations.

    Raises
    ------
    ValueError
        If sizes are invalid or the number of weights does not match them.

    Examples
    --------
    >>> import numpy as np
    >>> from skmohn.blm import make_policy
    >>> policy = make_policy((2, 1), [0.5, 1.0, -1.0])
    >>> action = np.empty(1)
    >>> policy.step(np.array([3.0, 1.0]), policy.initial_state(), action)
    >>> float(action[0])
    2.5
    """
    layout = Layout(tuple(sizes), recurrent)
    are_counts = all(is_integer(size) and size > 0 for size in layout.sizes)
    if len(layout.sizes) < 2 or not are_counts:
        raise ValueError(f"sizes must be two or more positive integers, got {sizes!r}")
    weights = _numbers(weights, "weights").copy()
    if weights.shape != (layout.n_weights,):
        raise ValueError(
            f"weights have shape {weights.shape}, but a network of sizes {layout.sizes}"
            f" with recurrent={recurrent} needs {(layout.n_weights,)}"
        )
    kinds = ACTIVATIONS[activation], ACTIVATIONS[out_activation], int(recurrent)
    return kernels.Policy(
        np.array(layout.sizes, dtype=np.int64), weights, np.array(kinds, dtype=np.int64)
    )


def act(
    policy: Policy, observation: ArrayLike, state: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Action of a policy and its state after that; the given state stays as it is."""
    observation = _numbers(observation, "observation")
    n_inputs, n_outputs = policy.sizes[0], policy.sizes[-1]
    if observation.shape != (n_inputs,):
        raise ValueError(
            f"observation has shape {observation.shape}, but the controller takes "
            f"{(int(n_inputs),)}"
        )
    first = policy.initial_state()
    state = first if state is None else _numbers(state, "state").copy()
    if state.shape != first.shape:
        raise ValueError(
            f"state has shape {state.shape}, but that of the controller has "
            f"{first.shape}: pass what act returned, or None at the first step"
        )
    action = np.empty(n_outputs)
    policy.step(observation, state, action)
    return action, state


def _numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Read an array of any shape, without a check for finite numbers."""
    return check_array(
        values,
        dtype=np.float64,
        ensure_all_finite=False,
        ensure_2d=False,
        allow_nd=True,
        ensure_min_samples=0,
        input_name=name,
    )


def outputs_of(
    rows: NDArray[np.float64],  # (n_rows, n_inputs)
    lengths: NDArray[np.int64],  # (n_sequences,)
    coefs: Sequence[NDArray],  # weights between layers
    intercepts: Sequence[NDArray],
    own: Sequence[NDArray],  # weights within layers
    activation: str,
    out_activation: str,
) -> NDArray[np.float64]:
    """Outputs of a network at all steps, (n_rows, n_outputs), in double precision."""
    sizes = (len(coefs[0]), *(len(intercept) for intercept in intercepts))
    weights = Layout(sizes, recurrent=True).join(coefs, intercepts, own)
    policy = make_policy(sizes, weights, recurrent=True, activation=activation)
    outputs = np.empty((len(rows), sizes[-1]))
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    kernels.run_sequences(policy, rows, lengths, policy.initial_state(), outputs)
    return activate(outputs, out_activation)


class SequenceNet(NamedTuple):
    """Recurrent network on its sequences."""

    policy: kernels.Policy
    weights: np.ndarray  # of the policy
    rows: np.ndarray  # (n_rows, n_inputs) float64, as the policy takes them
    state: np.ndarray  # of the policy
    outputs: np.ndarray  # (n_rows, n_outputs)
    loss_network: Network  # takes these outputs as they are, and has the losses


@dataclass(frozen=True, kw_only=True)
class SequenceProblem(DatasetProblem):
    """Problem of a recurrent network: rows that follow one another."""

    # `sample_weight` is zero where an output has no target. A move computes all steps
    # anew.

    lengths: np.ndarray  # (n_sequences,), int64; rows of each sequence

    def connect(self, weights: NDArray[np.float64]) -> SequenceNet:
        """Network with these weights, its outputs still to be computed."""
        policy = make_policy(
            self.layout.sizes, weights, recurrent=True, activation=self.activation
        )
        n_outputs = self.layout.sizes[-1]
        unchanged = np.column_stack([np.zeros(n_outputs), np.eye(n_outputs)]).ravel()
        loss_network = self._loss_problem.connect(unchanged)
        outputs = np.empty((len(self.X), n_outputs))
        rows = self.X.astype(np.float64)
        state = policy.initial_state()
        return SequenceNet(policy, policy.weights, rows, state, outputs, loss_network)

    @cached_property
    def _loss_problem(self) -> DatasetProblem:
        """Problem whose inputs are the outputs, and whose network has the losses."""
        n_outputs = self.layout.sizes[-1]
        layout = Layout((n_outputs, n_outputs))
        return DatasetProblem(
            layout=layout,
            step=np.ones(layout.n_weights),
            activation="identity",
            loss=self.loss,
            loss_number=self.loss_number,
            own_loss=self.own_loss,
            X=np.zeros((len(self.X), n_outputs), dtype=np.float32),
            y=self.y,
            sample_weight=self.sample_weight,
        )

    def refresh(self, net: SequenceNet) -> float:
        """Compute all steps; return the loss."""
        kernels.run_sequences(
            net.policy, net.rows, self.lengths, net.state, net.outputs
        )
        net.loss_network.out[1 : 1 + net.outputs.shape[1]] = net.outputs.T
        loss = self._loss_problem.refresh(net.loss_network)
        return loss + self.price(net.weights) if self.alpha else loss

    def search(self, search: Search, net: SequenceNet, n_moves: int) -> bool:
        """Try moves of a search; return whether there may be further ones."""
        for _ in range(n_moves):
            weight, code = ask(search)
            if weight < 0:
                return False
            net.weights[weight] = code * self.step[weight]
            if not tell(search, self.refresh(net)):
                net.weights[weight] = search.codes[weight] * self.step[weight]
        return True
