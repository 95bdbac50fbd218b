"""Pictures of fitted models as Display classes, which need matplotlib; stability."""

from skmohn.inspection._images import FiltersDisplay, SamplesDisplay
from skmohn.inspection._likelihood import LikelihoodDisplay
from skmohn.inspection._stability import selection_stability
from skmohn.inspection._traces import DescriptionLengthDisplay, GrowthDisplay

__all__ = [
    "DescriptionLengthDisplay",
    "FiltersDisplay",
    "GrowthDisplay",
    "LikelihoodDisplay",
    "SamplesDisplay",
    "selection_stability",
]
