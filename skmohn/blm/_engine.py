"""Names of blm that applications use beside its public ones."""

from skmohn.blm._device.agreement import coarse_numbers, compare, report
from skmohn.blm._device.inputs import InputSpec
from skmohn.blm._device.network import (
    Network,
    coding_of,
    input_names,
    network_of,
    read_numbers,
)
from skmohn.blm._inputs import InputCoding
from skmohn.blm._kernels import ACTIVATIONS, LOSSES
from skmohn.blm._network import address_of_activation, address_of_loss

__all__ = [
    "InputCoding",
    "InputSpec",
    "Network",
    "coarse_numbers",
    "coding_of",
    "compare",
    "compile_kernels",
    "input_names",
    "network_of",
    "read_numbers",
    "report",
    "require_policy",
]


def compile_kernels() -> None:
    """Compile the kernels that are called by address, of which a fit needs few."""
    for loss in LOSSES:
        address_of_loss(loss)
    for activation in ACTIVATIONS:
        address_of_activation(activation)


def require_policy(policy: object) -> None:
    """Refuse estimators that cannot be evaluated step by step."""
    if not (hasattr(policy, "initial_state") and hasattr(policy, "step")):
        raise TypeError(
            "policy must have the methods initial_state and step, such as those of "
            f"skmohn.blm.make_policy, got {policy!r}"
        )
