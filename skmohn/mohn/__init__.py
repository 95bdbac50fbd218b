"""Sparse Walsh models: mixed order hyper networks."""

from skmohn.mohn._linkage import Linkage
from skmohn.mohn._msda_control import MSDAControl
from skmohn.mohn._regressor import MOHNRegressor

__all__ = ["Linkage", "MOHNRegressor", "MSDAControl"]
