"""Bridges to other packages, imported only when used."""

from skmohn.integrations._dimod import from_dimod, to_dimod
from skmohn.integrations._gymnasium import GymnasiumObjective
from skmohn.integrations._networkx import to_networkx

__all__ = ["GymnasiumObjective", "from_dimod", "to_dimod", "to_networkx"]
