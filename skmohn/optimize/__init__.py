"""Find the input at which a model is largest or smallest."""

from skmohn.optimize._maximize import maximize, minimize

__all__ = ["maximize", "minimize"]
