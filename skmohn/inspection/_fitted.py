"""What displays ask of an estimator and of matplotlib."""

from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from skmohn._core._optional import import_optional
from skmohn._core._validation import read_names, read_sets, read_vector
from skmohn.energynet import (
    EnergyNetClassifier,
    EnergyNetRegressor,
    EnergyNetTransformer,
)
from skmohn.mohn._engine import require_regressor

# Of the two lines that most displays have, and of what divides them.
BLUE, RED, GRAY = "#2e6f95", "#c8553d", "#b9b4a7"


def get_layers(estimator):
    """Return the fitted layers of an estimator.

    Parameters
    ----------
    estimator : EnergyNetTransformer, EnergyNetClassifier or EnergyNetRegressor

    Returns
    -------
    EnergyNetTransformer

    Raises
    ------
    TypeError
        If it is another one.

    NotFittedError
        If it has not been fitted.
    """
    known = EnergyNetTransformer, EnergyNetClassifier, EnergyNetRegressor
    if not isinstance(estimator, known):
        names = ", ".join(kind.__name__ for kind in known)
        raise TypeError(
            f"estimator must be one of {names}, got {type(estimator).__name__}; from a "
            "Pipeline or a search, pass the fitted step, such as pipeline[-1]"
        )
    check_is_fitted(estimator)
    return getattr(estimator, "transformer_", estimator)


def structure_of(estimator):
    """Return the weights of an estimator.

    Parameters
    ----------
    estimator : MOHNRegressor
        Fitted estimator.

    Returns
    -------
    terms : list of tuples of int
        What each weight connects: columns, or categories of columns.

    weights : ndarray of shape (n_terms,)

    names : list of str
        Of columns and categories.

    Raises
    ------
    TypeError
        If it is another one.

    NotFittedError
        If it has not been fitted.
    """
    require_regressor(estimator, "estimator")
    vocabulary = estimator.term_names_
    return vocabulary.indices(estimator.terms_), estimator.weights_, vocabulary.names


def weights_of(display):
    """Read what a display of weights is made of.

    Parameters
    ----------
    display : object
        Has ``terms``, ``weights`` and ``names``.

    Returns
    -------
    terms : list of tuples of int

    weights : ndarray of shape (n_terms,)

    names : list of str
    """
    terms = read_sets(display.terms, "terms", are_ordered=True)
    weights = read_vector(display.weights, "weights")
    names = read_names(display.names, "names")
    check_consistent_length(terms, weights)
    if not terms:
        raise ValueError("terms must have at least one weight to draw")
    return terms, weights, names


def numbers_of(display, *names, optional=()):
    """Read lists of numbers that a display is made of, all of one length.

    Parameters
    ----------
    display : object

    *names : str
        Attributes.

    optional : sequence of str, default=()
        Further ones, which may be None.

    Returns
    -------
    vectors : list of ndarray of shape (n,) or None
        NaN is a gap.
    """
    vectors = [
        None
        if name in optional and getattr(display, name) is None
        else read_vector(getattr(display, name), name, ensure_all_finite="allow-nan")
        for name in (*names, *optional)
    ]
    check_consistent_length(*vectors)
    return vectors


def get_axes(display, ax, figsize=None):
    """Return axes to draw on, those given or new ones; the display keeps them.

    Parameters
    ----------
    display : object
        Gets ``ax_`` and ``figure_``.

    ax : matplotlib Axes or None

    figsize : tuple of float, default=None
        Inches of a new figure; None for matplotlib's default.

    Returns
    -------
    matplotlib Axes
    """
    import_optional("matplotlib", f"{type(display).__name__}.plot")
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes | None):
        raise TypeError(
            f"ax must be matplotlib Axes, such as plt.subplots()[1], got {ax!r}"
        )
    if ax is None:
        _, ax = plt.subplots(figsize=figsize, layout="constrained")
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def merge_style(artist, defaults, given):
    """Join keyword arguments for matplotlib.

    Parameters
    ----------
    artist : {"line", "text", "image"}
        What they are for.

    defaults, given : dict
        Ours, and those of the user, which may have short names such as ``c``.

    Returns
    -------
    dict
        Ours where the user has given none. A user's ``norm`` takes the place of both
        limits of colors.
    """
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.colors import Normalize
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    kind = {"line": Line2D, "text": Text, "image": AxesImage}[artist]
    defaults, given = (normalize_kwargs(kw, kind) for kw in (defaults, given))
    norm = given.get("norm")
    if not isinstance(norm, Normalize | str | None):
        raise TypeError(
            "norm must be a matplotlib Normalize, the name of a scale or None, got "
            f"{norm!r}"
        )
    if norm is not None:
        defaults = {k: v for k, v in defaults.items() if k not in ("vmin", "vmax")}
    return defaults | given
