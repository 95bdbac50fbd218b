"""Fitted models as formulas, in SQL, C, LaTeX and other languages."""
