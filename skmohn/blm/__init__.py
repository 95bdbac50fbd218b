"""Binary learning machines: networks trained by local search on their weight bits."""

from skmohn.blm._classifier import BLMClassifier
from skmohn.blm._controller import BLMController
from skmohn.blm._curriculum import Stage
from skmohn.blm._device.export import DeviceModel
from skmohn.blm._policy import make_policy
from skmohn.blm._policy_kernels import Policy
from skmohn.blm._regressor import BLMRegressor
from skmohn.blm._search import SearchOptions

__all__ = [
    "BLMClassifier",
    "BLMController",
    "BLMRegressor",
    "DeviceModel",
    "Policy",
    "SearchOptions",
    "Stage",
    "make_policy",
]
