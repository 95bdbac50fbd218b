"""The input at which a model is largest or smallest."""

from skmohn.optimize._search import maximize, minimize

__all__ = ["maximize", "minimize"]
