"""Exchange of models with other packages, which are imported when asked for."""

from skmohn.integrations._dimod import from_dimod, to_dimod
from skmohn.integrations._networkx import to_networkx

__all__ = ["from_dimod", "to_dimod", "to_networkx"]
