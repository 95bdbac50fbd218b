"""Parameters that belong together, in an object of their own."""

from typing import TYPE_CHECKING, Any, Protocol, Self

from sklearn.base import BaseEstimator

from skmohn._core._estimator import EstimatorMixin
from skmohn._core._sklearn import check_parameters


class Control(EstimatorMixin, BaseEstimator):
    """Parameters that belong together and that few users set."""

    # A control is a parameter of an estimator, as the kernel of a Gaussian process is.
    # Its own parameters are set, cloned and searched from outside by nested names such
    # as ``msda_options__exploitation``, and checked with those of the estimator, in
    # `fit`. Subclasses are dataclasses, which write the constructor.

    _parameter_constraints: dict[str, list[Any]] = {}


if TYPE_CHECKING:
    _Owner = BaseEstimator
else:
    _Owner = object


class Nested(_Owner):
    """Owner of controls, as which estimators declare them."""

    # Subclasses name the class of each in ``_controls``. The parameter itself is None
    # by default, for a control with all its defaults.

    _controls: dict[str, type[Control]] = {}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, including those of controls, as in ``control__parameter``.

        Parameters
        ----------
        **params : dict
            A control that is None is created with its defaults.

        Returns
        -------
        estimator
            The estimator itself.
        """
        for name, kind in self._controls.items():
            is_named = any(key.startswith(f"{name}__") for key in params)
            if is_named and params.get(name, getattr(self, name)) is None:
                params[name] = kind()
        return super().set_params(**params)

    def _validate_params(self) -> None:
        super()._validate_params()
        for name in self._controls:
            check_parameters(control_of(self, name))


class HasControls(Protocol):
    """Estimator that names the classes of its controls."""

    _controls: dict[str, type[Control]]


def control_of(estimator: HasControls, name: str) -> Any:
    """Parameter that is a control; the default one for None."""
    given, kind = getattr(estimator, name), estimator._controls[name]
    if given is None:
        return kind()
    if not isinstance(given, kind):  # set after `fit`, which checks it
        raise TypeError(f"{name} must be None or a {kind.__name__}, got {given!r}")
    return given
