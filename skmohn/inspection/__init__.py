"""Displays of fitted models, stability selection, games, and imputations."""

from skmohn.inspection._black_box import (
    ImportancesDisplay,
    OptimizationHistoryDisplay,
    ParallelCoordinatesDisplay,
)
from skmohn.inspection._comparison import CriticalDifferenceDisplay, DifferencesDisplay
from skmohn.inspection._discovery import DiscoveryErrorDisplay, DiscoveryOrdersDisplay
from skmohn.inspection._hypergraph import HypergraphDisplay
from skmohn.inspection._images import FiltersDisplay, SamplesDisplay
from skmohn.inspection._imputations import (
    CombinedEstimates,
    analyze_imputations,
    combine_estimates,
)
from skmohn.inspection._likelihood import LikelihoodDisplay
from skmohn.inspection._manhattan import ManhattanDisplay
from skmohn.inspection._qq import QQDisplay
from skmohn.inspection._stability import selection_stability
from skmohn.inspection._traces import DescriptionLengthDisplay, GrowthDisplay
from skmohn.inspection._walsh_explainer import (
    Interactions,
    WalshExplainer,
    WalshExplanation,
    explain_game,
)
from skmohn.inspection._weights import WeightsDisplay

__all__ = [
    "CombinedEstimates",
    "CriticalDifferenceDisplay",
    "DescriptionLengthDisplay",
    "DifferencesDisplay",
    "DiscoveryErrorDisplay",
    "DiscoveryOrdersDisplay",
    "FiltersDisplay",
    "GrowthDisplay",
    "HypergraphDisplay",
    "ImportancesDisplay",
    "Interactions",
    "LikelihoodDisplay",
    "ManhattanDisplay",
    "OptimizationHistoryDisplay",
    "ParallelCoordinatesDisplay",
    "QQDisplay",
    "SamplesDisplay",
    "WalshExplainer",
    "WalshExplanation",
    "WeightsDisplay",
    "analyze_imputations",
    "combine_estimates",
    "explain_game",
    "selection_stability",
]
