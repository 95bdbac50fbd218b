"""Packages that need not be there."""

from importlib import import_module


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
            f'{caller} needs {package}: pip install "skmohn[{extra}]"'
        ) from error
