"""Where the weights of a controller lie, and what its user sees of it."""

from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions, validate_params

from skmohn._core._validation import require_memory
from skmohn.blm import _policy_kernels as kernels

ACTIVATIONS = {
    "identity": kernels.IDENTITY,
    "tanh": kernels.TANH,
    "logistic": kernels.LOGISTIC,
    "relu": kernels.RELU,
    "step": kernels.STEP,
}


@dataclass(frozen=True)
class PolicyLayout:
    """The weights of a controller in one vector.

    Unit by unit, the layers in order; of each unit first the bias, then a weight for
    each unit of the layer before, then one for each unit of its own layer if that is a
    hidden one of a recurrent network.

    Parameters
    ----------
    sizes : tuple of int
        Units of each layer, from the inputs to the outputs.
    recurrent : bool
    """

    sizes: tuple
    recurrent: bool

    def blocks(self):
        """Of each layer: its units, their inputs, and how many of these are its own."""
        for layer, (n_in, n_out) in enumerate(pairwise(self.sizes)):
            is_hidden = layer < len(self.sizes) - 2
            yield n_out, n_in, n_out if self.recurrent and is_hidden else 0

    @property
    def n_weights(self):
        """Number of weights, biases among them."""
        return sum(n_out * (1 + n_in + n_own) for n_out, n_in, n_own in self.blocks())

    def spread(self, values, own_values=None):
        """Give each weight the value of its layer, or that of weights within it.

        Parameters
        ----------
        values, own_values : sequences of float, one for each layer
            By default weights within a layer have a tenth of what others have.

        Returns
        -------
        spread : ndarray of shape (n_weights,)
        """
        if own_values is None:
            own_values = np.asarray(values) / 10.0
        pairs = zip(values, own_values, self.blocks(), strict=True)
        return np.concatenate(
            [
                np.tile(np.repeat([value, own], [1 + n_in, n_own]), n_out)
                for value, own, (n_out, n_in, n_own) in pairs
            ]
        )

    def split(self, weights):
        """Matrices of shape (n_in, n_out), biases, and matrices within hidden layers.

        The first two as in scikit-learn's MLP; the last ones have shape (n_out, n_out),
        rows being the units a step ago, and are none without recurrence.
        """
        coefs, intercepts, own, start = [], [], [], 0
        for n_out, n_in, n_own in self.blocks():
            n_weights = n_out * (1 + n_in + n_own)
            block = weights[start : start + n_weights].reshape(n_out, -1)
            intercepts.append(block[:, 0].copy())
            coefs.append(block[:, 1 : 1 + n_in].T.copy())
            if n_own:
                own.append(block[:, 1 + n_in :].T.copy())
            start += n_weights
        return coefs, intercepts, own

    def join(self, coefs, intercepts, own):
        """The weights in one vector: the inverse of :meth:`split`."""
        own = [*own, *[np.empty((0, len(b))) for b in intercepts[len(own) :]]]
        parts = zip(intercepts, coefs, own, strict=True)
        return np.concatenate([np.vstack(part).T.ravel() for part in parts])

    def require_memory(self, n_samples, n_bits):
        """Refuse a network that cannot be searched in this machine's memory."""
        require_memory(
            (60.0 + 4.0 * n_bits) * self.n_weights + 32.0 * self.sizes[-1] * n_samples,
            f"A {'-'.join(map(str, self.sizes))} network",
            "use fewer or smaller hidden layers (hidden_layer_sizes)",
        )


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
    sizes, weights, *, recurrent=False, activation="tanh", out_activation="identity"
):
    """Make a policy of given weights, to run them without an estimator.

    Parameters
    ----------
    sizes : sequence of int
        Units of each layer, from the inputs to the outputs.
    weights : array-like of shape (n_weights,)
        Unit by unit, as :class:`~skmohn.blm.Policy` says; they are copied.
    recurrent : bool, default=False
        Whether hidden units hear their own layer's outputs of a step ago.
    activation : {"tanh", "identity", "logistic", "relu", "step"}, default="tanh"
        Of the hidden units.
    out_activation : {"identity", "tanh", "logistic", "relu", "step"}, \
default="identity"
        Of the outputs.

    Returns
    -------
    Policy
        Ready to answer observations.

    Raises
    ------
    ValueError
        When sizes are no numbers of units, or the number of weights is not that of the
        network.

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
    layout = PolicyLayout(tuple(sizes), recurrent)
    are_counts = all(isinstance(size, Integral) and size > 0 for size in layout.sizes)
    if len(layout.sizes) < 2 or not are_counts:
        raise ValueError(
            f"sizes must be positive whole numbers, two or more, got {sizes!r}"
        )
    weights = _numbers(weights, "weights").copy()
    if weights.shape != (layout.n_weights,):
        raise ValueError(
            f"weights have shape {weights.shape}, and a network of sizes {layout.sizes}"
            f" with recurrent={recurrent} needs {(layout.n_weights,)}"
        )
    kinds = ACTIVATIONS[activation], ACTIVATIONS[out_activation], int(recurrent)
    return kernels.Policy(
        np.array(layout.sizes, dtype=np.int64), weights, np.array(kinds, dtype=np.int64)
    )


def act(policy, observation, state=None):
    """Action of a policy and its state after that; the given state stays as it is."""
    observation = _numbers(observation, "observation")
    n_inputs, n_outputs = policy.sizes[0], policy.sizes[-1]
    if observation.shape != (n_inputs,):
        raise ValueError(
            f"observation has shape {observation.shape}, and the controller takes "
            f"{(int(n_inputs),)}"
        )
    first = policy.initial_state()
    state = first if state is None else _numbers(state, "state").copy()
    if state.shape != first.shape:
        raise ValueError(
            f"state has shape {state.shape}, and that of the controller has "
            f"{first.shape}: pass what act returned, or None at the first step"
        )
    action = np.empty(n_outputs)
    policy.step(observation, state, action)
    return action, state


def _numbers(values, name):
    """Read an array of any shape; whether all are finite is nothing to care about."""
    return check_array(
        values,
        dtype=np.float64,
        ensure_all_finite=False,
        ensure_2d=False,
        allow_nd=True,
        ensure_min_samples=0,
        input_name=name,
    )
