"""EnergyNet: unsupervised layers, by energy-based models, that grow to fit the data."""

from skmohn.energynet._estimators import EnergyNetClassifier, EnergyNetRegressor
from skmohn.energynet._imputer import EnergyNetImputer
from skmohn.energynet._likelihood import (
    DescriptionLength,
    dbn_log_likelihood,
    description_length,
)
from skmohn.energynet._outlier_detector import EnergyNetOutlierDetector
from skmohn.energynet._partition import (
    LogPartition,
    annealed_importance_sampling,
    exact_log_partition,
    log_partition,
)
from skmohn.energynet._rbm import RBM
from skmohn.energynet._stack_trainer import InfiniteRBMOptions
from skmohn.energynet._transformer import EnergyNetTransformer

__all__ = [
    "RBM",
    "DescriptionLength",
    "EnergyNetClassifier",
    "EnergyNetImputer",
    "EnergyNetOutlierDetector",
    "EnergyNetRegressor",
    "EnergyNetTransformer",
    "InfiniteRBMOptions",
    "LogPartition",
    "annealed_importance_sampling",
    "dbn_log_likelihood",
    "description_length",
    "exact_log_partition",
    "log_partition",
]
