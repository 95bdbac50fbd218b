"""Packages that need not be there, and models that can be exchanged."""

from importlib import import_module

from sklearn.utils.validation import check_is_fitted

from skmohn.mohn import MOHNRegressor


def require(package, caller, extra="integrations"):
    """Import a package.

    Parameters
    ----------
    package : str

    caller : str
        The function or class that needs it.

    extra : str, default="integrations"
        What to install in brackets.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        If it is not installed; the message says how to install it.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f'{caller} needs {package}, which comes with pip install "skmohn[{extra}]"'
        ) from error


def require_fitted(model):
    """Refuse all but a fitted MOHNRegressor."""
    if not isinstance(model, MOHNRegressor):
        raise TypeError(
            f"model must be a MOHNRegressor, got {type(model).__name__}; of a Pipeline "
            "or a search pass the fitted step, such as pipeline[-1]"
        )
    check_is_fitted(model)
