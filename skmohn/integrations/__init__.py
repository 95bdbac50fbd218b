"""Bridges to other packages, which are imported only when a bridge is used."""

from skmohn.integrations._gymnasium import GymnasiumObjective

__all__ = ["GymnasiumObjective"]
