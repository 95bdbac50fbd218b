"""Names of blm that applications use beside its public ones."""

from skmohn.blm._device.agreement import coarse_numbers, compare, report
from skmohn.blm._device.inputs import InputSpec
from skmohn.blm._device.network import Network, network_of, read_rows

__all__ = [
    "InputSpec",
    "Network",
    "coarse_numbers",
    "compare",
    "network_of",
    "read_rows",
    "report",
    "require_policy",
]


def require_policy(policy: object) -> None:
    """Refuse estimators that cannot be evaluated step by step."""
    if not (hasattr(policy, "initial_state") and hasattr(policy, "step")):
        raise TypeError(
            "policy must have the methods initial_state and step, such as those of "
            f"skmohn.blm.make_policy, got {policy!r}"
        )
