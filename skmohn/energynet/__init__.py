"""Unsupervised layers that grow to fit the data."""

from skmohn.energynet._rbm import RBM

__all__ = ["RBM"]
