"""Models as dimod's polynomials over spins or bits, and back."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from skmohn._core._optional import import_optional
from skmohn._core._tuned import tuned
from skmohn.mohn import MOHNRegressor
from skmohn.mohn._engine import read_polynomial, require_regressor


@dataclass(frozen=True)
class ModelConstants:
    """Limits of memory."""

    # Up to this many, integers are indices of columns.
    max_columns: int = tuned(10**6, "cost")
    # A product of k bits has 2^k terms over spins, and the other way round.
    max_terms: int = tuned(10**7, "cost")


_LIMITS = ModelConstants()


def to_dimod(model: MOHNRegressor, vartype: Any = "SPIN") -> Any:
    """Convert a model to a dimod polynomial, whose energies are its predictions.

    Samplers look for the smallest prediction; for the largest one, call
    ``polynomial.scale(-1)``.

    Parameters
    ----------
    model : MOHNRegressor
        Fitted estimator, not a Gaussian process, which has too many weights.
    vartype : {"SPIN", "BINARY"} or dimod.Vartype, default="SPIN"
        Whether the values ``coding_.low`` and ``coding_.high`` of a column become -1
        and +1, as in the model, or 0 and 1, which may take many more terms.

    Returns
    -------
    dimod.BinaryPolynomial
        Variables are column names, or indices without names. Columns without a weight
        have a linear term of 0; constant columns are left out. Numeric columns take the
        two ends of their range.

    Raises
    ------
    ImportError
        If dimod is not installed.
    TypeError
        If `model` is not a MOHNRegressor.
    ValueError
        If the model is dense or the polynomial would be too large.

    See Also
    --------
    skmohn.optimize.minimize : Search without dimod.

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.integrations import to_dimod
    >>> model = MOHNRegressor.from_terms(
    ...     [("a",), ("a", "b")], [1.0, -2.0], feature_names=["a", "b"]
    ... )
    >>> float(to_dimod(model).energy({"a": 1, "b": -1}))
    3.0
    """
    dimod = import_optional("dimod", "to_dimod")
    require_regressor(model, "model")
    vartype = getattr(vartype, "name", vartype)
    if not isinstance(vartype, str) or vartype not in ("SPIN", "BINARY"):
        raise ValueError(f'vartype must be "SPIN" or "BINARY", got {vartype!r}')
    known = read_polynomial(model)
    if known is None:
        has_many = any(len(known) > 2 for known in model.categories_.values())
        first = ", after OneHotEncoder for columns of categories" if has_many else ""
        raise ValueError(
            "model has all weights, too many to list in a polynomial: fit a sparse one "
            f'with strategy="pursuit"{first}'
        )
    names = range(model.n_features_in_)
    if hasattr(model, "feature_names_in_"):
        names = list(map(str, model.feature_names_in_))
    weights: dict[Any, Any] = {(names[i],): 0.0 for i in model.coding_.usable.tolist()}
    weights[()] = known.intercept
    for term, coef in zip(known.terms, known.weights.tolist(), strict=True):
        weights[tuple(names[i] for i in term)] = coef
    polynomial = dimod.BinaryPolynomial(weights, "SPIN")
    if vartype == "SPIN":
        return polynomial
    _require_few(polynomial)
    return polynomial.to_binary(copy=True)


def from_dimod(polynomial: Any) -> MOHNRegressor:
    """Make a fitted model from a dimod polynomial, whose energies it predicts.

    Parameters
    ----------
    polynomial : dimod.BinaryPolynomial or dimod.BinaryQuadraticModel
        Its variables are strings, which become column names in sorted order, or
        integers from 0, which become column indices; if any is a million or more, all
        become names.

    Returns
    -------
    MOHNRegressor
        On columns of -1 and +1 (``SPIN``) or 0 and 1 (``BINARY``), without terms of
        weight 0.

    Raises
    ------
    ImportError
        If dimod is not installed.
    TypeError
        If `polynomial` is of another type.
    ValueError
        If variables are neither strings nor integers, if there are none, or if there
        would be too many terms.

    Examples
    --------
    >>> import dimod
    >>> from skmohn.integrations import from_dimod
    >>> model = from_dimod(dimod.BinaryPolynomial({(0, 1): 2.0}, "BINARY"))
    >>> model.predict([[1, 1], [1, 0]])
    array([2., 0.])
    """
    dimod = import_optional("dimod", "from_dimod")
    if isinstance(polynomial, dimod.BinaryQuadraticModel):
        weights: dict[Any, Any] = {(): polynomial.offset}
        weights.update(((i,), bias) for i, bias in polynomial.linear.items())
        weights.update(polynomial.quadratic.items())
        polynomial = dimod.BinaryPolynomial(weights, polynomial.vartype)
    if not isinstance(polynomial, dimod.BinaryPolynomial):
        raise TypeError(
            "polynomial must be dimod's BinaryPolynomial or BinaryQuadraticModel, got "
            f"{type(polynomial).__name__}"
        )
    variables = list(polynomial.variables)
    if not variables:
        raise ValueError("polynomial has no variables: it is a constant")
    names, n_features = None, None
    if all(isinstance(variable, str) for variable in variables):
        names = sorted(variables)
        index = {name: i for i, name in enumerate(names)}
    elif all(isinstance(v, Integral) and int(v) >= 0 for v in variables):
        index = {variable: int(variable) for variable in variables}
        n_features = max(index.values()) + 1
        if n_features > _LIMITS.max_columns:
            index = {variable: i for i, variable in enumerate(sorted(variables))}
            names, n_features = list(map(str, index)), None
    else:
        raise ValueError(
            "polynomial must have only strings or only integers from 0 as "
            "variables: use its relabel_variables"
        )
    low = -1.0
    if polynomial.vartype is dimod.BINARY:
        _require_few(polynomial)
        polynomial, low = polynomial.to_spin(copy=True), 0.0
    weights = {
        tuple(sorted(index[variable] for variable in term)): float(weight)
        for term, weight in polynomial.items()
        if weight
    }
    intercept = weights.pop((), 0.0)
    return MOHNRegressor.from_terms(
        list(weights),
        list(weights.values()),
        intercept=intercept,
        n_features=n_features,
        feature_names=names,
        low=low,
    )


def _require_few(polynomial: Iterable[Collection]) -> None:
    n_terms = sum(2 ** len(term) for term in polynomial)
    if n_terms > _LIMITS.max_terms:
        raise ValueError(
            f"converting between spins and bits makes up to {n_terms:,} terms of this "
            f"polynomial, more than {_LIMITS.max_terms:,}"
        )
