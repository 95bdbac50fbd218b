"""MOHN models as expressions of sympy."""

from collections.abc import Sequence
from functools import reduce
from operator import add, mul
from typing import Any, Final

import numpy as np

from skmohn._core._optional import import_optional
from skmohn._core._types import TableLike
from skmohn.mohn import MOHNClassifier, MOHNRegressor
from skmohn.mohn._engine import Formula

# Half of the exponent up to which powers of e and 1 / e are floats with all digits: of
# a sum within it, so are those of a constant within it, and of the rest.
_MAX_EXPONENT: Final = -float(np.log(np.finfo(np.float64).tiny)) / 2.0


def to_sympy(model: MOHNRegressor | MOHNClassifier, X: TableLike | None = None) -> Any:
    """Convert a MOHN model to an expression of sympy.

    Parameters
    ----------
    model : MOHNRegressor or MOHNClassifier
        Fitted estimator, as in :meth:`skmohn.MOHNRegressor.to_sql`.
    X : array-like of shape (n_samples, n_features), default=None
        Rows on which predictions of the expression and `model` are compared; the result
        is printed. Needed by models with more weights than they list.

    Returns
    -------
    sympy.Expr or list of sympy.Expr
        The prediction, whose symbols are names of columns; a list with one for each of
        several targets, or with the probability of each class. For categories, symbols
        stand for indices in `categories_`. Missing values are not supported. Sympy
        reorders sums: in floating point, columns far from zero lose digits, and powers
        of their sums use the number 2.718..., not sympy's own e. Before ``lambdify``,
        rename columns that have names of functions of numpy, such as "select":
        ``expression.subs("select", "other")``.

    Raises
    ------
    ImportError
        If sympy is not installed.
    TypeError
        If `model` is another estimator.
    ValueError
        For anything that :meth:`skmohn.MOHNRegressor.to_sql` refuses.

    Warns
    -----
    UserWarning
        If R2 of predictions of X is below 0.99.

    See Also
    --------
    skmohn.MOHNRegressor.to_latex : Equations, without sympy.

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.integrations import to_sympy
    >>> model = MOHNRegressor.from_terms([(0,), (0, 1)], [2.0, -0.5])
    >>> to_sympy(model)  # doctest: +SKIP
    -0.5*x0*x1 + 2.0*x0
    """
    sympy = import_optional("sympy", "to_sympy")
    if not isinstance(model, MOHNRegressor | MOHNClassifier):
        raise TypeError(
            "model must be a MOHNRegressor or MOHNClassifier, got "
            f"{type(model).__name__}; from a Pipeline or a search, pass the fitted step"
        )
    formula = Formula.read(model, X, "sympy")
    writer = _SympyWriter(sympy, formula.names)
    writer.codes = formula.write_codes(writer)
    writer.scores = formula.write_scores(writer)
    outputs = formula.write_outputs(writer)
    is_alone = formula.classes is None and not hasattr(model, "estimators_")
    return outputs[0] if is_alone else outputs


class _SympyWriter:
    """Expressions of sympy, without missing values."""

    def __init__(self, sympy: Any, names: Sequence[str]) -> None:
        self._sympy, self._symbols = sympy, list(map(sympy.Symbol, names))
        self.codes: list[Any] = []
        self.scores: list[Any] = []

    def number(self, value: float) -> Any:
        """Float with all of its digits."""
        return self._sympy.Float(value, 17)

    def column(self, index: int) -> Any:
        """Symbol of a column."""
        return self._symbols[index]

    def code(self, index: int) -> Any:
        """Coded input."""
        return self.codes[index]

    def score(self, index: int) -> Any:
        """Polynomial."""
        return self.scores[index]

    def add(self, parts: Sequence[Any]) -> Any:
        """Sum."""
        return reduce(add, parts)

    def multiply(self, parts: Sequence[Any]) -> Any:
        """Product."""
        return reduce(mul, parts)

    def divide(self, numerator: Any, denominator: Any) -> Any:
        """Quotient."""
        return numerator / denominator

    def power(self, base: Any, exponent: float) -> Any:
        """Power; of numbers that do not count, too."""
        if base.is_number:
            base = self._sympy.Max(base, 0)
        return base ** self.number(exponent)

    def exp(self, exponent: Any) -> Any:
        """Exponential function."""
        # Sympy makes a factor of its own of the constant of a sum, which may be no
        # float where columns are far from zero; not so of another base than its own e.
        constant, rest = exponent.as_coeff_Add()
        if rest and abs(constant) > _MAX_EXPONENT:
            return self.number(np.e) ** exponent
        return self._sympy.exp(exponent)

    def piecewise(self, cases: Sequence[tuple[Any, Any]], otherwise: Any) -> Any:
        """Value of the first case that holds."""
        is_nested = any(when.has(self._sympy.Piecewise) for when, _ in cases)
        bounds = {self.less(otherwise, then): self._sympy.Max for _, then in cases} | {
            self.less(then, otherwise): self._sympy.Min for _, then in cases
        }
        if is_nested and all(when in bounds for when, _ in cases):
            # Of conditions that have cases themselves sympy makes one for each of
            # their combinations, and bounds need no condition.
            for when, then in cases:
                otherwise = bounds[when](otherwise, then)
            return otherwise
        pairs = [(then, when) for when, then in cases]
        return self._sympy.Piecewise(*pairs, (otherwise, True))

    def is_missing(self, column: int) -> Any:
        """Condition that never holds."""
        return self._sympy.false

    def less(self, left: Any, right: Any) -> Any:
        """Comparison."""
        return left < right

    def less_equal(self, left: Any, right: Any) -> Any:
        """Comparison."""
        return left <= right

    def is_category(self, column: int, number: int) -> Any:
        """Whether a column is the number of a category."""
        return self._sympy.Eq(self.column(column), number)

    def all(self, parts: Sequence[Any]) -> Any:
        """Conjunction."""
        return self._sympy.And(*parts)
