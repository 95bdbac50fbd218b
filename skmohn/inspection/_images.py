"""Filters and samples of a stack of layers, drawn as images."""

from math import ceil, isqrt, prod, sqrt
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._types import check_array
from skmohn._core._validation import is_integer
from skmohn.energynet import EnergyNetTransformer
from skmohn.inspection._fitted import Display, Layered, get_layers, merge_style

# Of the weights, the fraction that the scale of colors covers: a few large ones would
# leave the others pale.
_SHOWN_FRACTION: Final = 0.995


class ImageDisplay(Display):
    """Images, drawn as a single one with missing values of a pixel between them."""

    image_: Any

    def _draw(
        self,
        images: NDArray[np.float64],
        ax: Any,
        style: dict[str, Any],
        imshow_kw: dict[str, Any],
    ) -> Self:
        ax = self._get_axes(ax)
        style = merge_style("image", style, imshow_kw)
        self.image_ = ax.imshow(_mosaic(images), **style)
        ax.set_axis_off()
        return self


class FiltersDisplay(ImageDisplay):
    """Filters of the units of a layer, as images.

    A pixel shows how much the input of a unit grows when a column goes from its lowest
    to its highest value: its weight or, for a thermometer, the sum of its weights.
    Positive and negative values have different colors.

    Create it with :meth:`from_estimator`. All parameters are stored as attributes.

    Parameters
    ----------
    filters : array-like of shape (n_units, height, width)
        An image for each unit.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    image_ : matplotlib AxesImage
        All images in one, with NaN between them.

    See Also
    --------
    SamplesDisplay : Samples of the model as images.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmohn import EnergyNetTransformer
    >>> from skmohn.inspection import FiltersDisplay
    >>> X = load_digits().data / 16
    >>> net = EnergyNetTransformer(None, 25, n_final_epochs=5, random_state=0).fit(X)
    >>> display = FiltersDisplay.from_estimator(net, shape=(8, 8))
    >>> display.filters.shape
    (25, 8, 8)
    """

    def __init__(self, filters: ArrayLike) -> None:
        self.filters = filters

    @classmethod
    def from_estimator(
        cls,
        estimator: Layered,
        shape: tuple[int, int] | None = None,
        *,
        layer: int = 0,
        units: ArrayLike | None = None,
        ax: Any = None,
        **imshow_kw: Any,
    ) -> Self:
        """Draw the filters of a fitted estimator.

        Parameters
        ----------
        estimator : EnergyNetTransformer, EnergyNetClassifier or EnergyNetRegressor
            Fitted estimator.
        shape : tuple of (height, width), default=None
            Shape of the image in the columns of X, row by row. None for a square.
        layer : int, default=0
            Layer to draw: 0 is the lowest, -1 the highest. Filters of higher layers are
            weighted sums of the filters below, a linear approximation [1]_.
        units : array-like of int, default=None
            Units to draw, in this order. None for all.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **imshow_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.imshow`.

        Returns
        -------
        FiltersDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator has no layers.
        ValueError
            If the shape does not match the columns, if one holds categories,
            or if a layer or unit does not exist.

        References
        ----------
        .. [1] Lee, Ekanadham and Ng, "Sparse deep belief net model for visual area V2",
           Advances in Neural Information Processing Systems 20 (2007).
        """
        stack = get_layers(estimator)
        size = _image_shape(shape, stack)
        filters = _column_gains(stack, _read_layer(layer, len(stack.weights_)))
        if units is not None:
            filters = filters[_read_units(units, len(filters))]
        return cls(filters.reshape(-1, *size)).plot(ax=ax, **imshow_kw)

    def plot(self, ax: Any = None, **imshow_kw: Any) -> Self:
        """Draw the filters side by side.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **imshow_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.imshow`. By default, colors are
            symmetric about 0 and cover all but the most extreme half percent of the
            pixels.

        Returns
        -------
        FiltersDisplay
            The display itself.
        """
        filters = _read_images(self.filters, "filters")
        reach = np.quantile(np.abs(filters), _SHOWN_FRACTION) or 1.0
        style = {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach}
        return self._draw(filters, ax, style, imshow_kw)


class SamplesDisplay(ImageDisplay):
    """Samples of the model as images.

    Create it with :meth:`from_estimator`. All parameters are stored as
    attributes.

    Parameters
    ----------
    samples : array-like of shape (n_samples, height, width)
        The images.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    image_ : matplotlib AxesImage
        All images in one, with NaN between them.

    See Also
    --------
    FiltersDisplay : What the units of a layer look for.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmohn import EnergyNetTransformer
    >>> from skmohn.inspection import SamplesDisplay
    >>> X = load_digits().data / 16
    >>> net = EnergyNetTransformer(None, 25, n_final_epochs=5, random_state=0).fit(X)
    >>> display = SamplesDisplay.from_estimator(net, n_samples=9, random_state=0)
    >>> display.samples.shape
    (9, 8, 8)
    """

    def __init__(self, samples: ArrayLike) -> None:
        self.samples = samples

    @classmethod
    def from_estimator(
        cls,
        estimator: Layered,
        shape: tuple[int, int] | None = None,
        *,
        n_samples: int = 100,
        n_steps: int = 1000,
        probabilities: bool = False,
        random_state: int | np.random.RandomState | None = None,
        ax: Any = None,
        **imshow_kw: Any,
    ) -> Self:
        """Draw samples from a fitted estimator.

        Parameters
        ----------
        estimator : EnergyNetTransformer, EnergyNetClassifier or EnergyNetRegressor
            Fitted estimator.
        shape : tuple of (height, width), default=None
            Shape of the image in the columns of X, row by row. None for a square.
        n_samples : int, default=100
            Number of samples.
        n_steps : int, default=1000
            Gibbs steps per sample.
        probabilities : bool, default=False
            Whether to draw a reconstruction of each sample, up the stack and down
            again, in shades of gray instead of bits.
        random_state : int, RandomState instance or None, default=None
            Pass an int for reproducible samples.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **imshow_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.imshow`.

        Returns
        -------
        SamplesDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator has no layers.
        ValueError
            If the shape does not match the columns, if one holds categories,
            or if a number is too small.
        """
        stack = get_layers(estimator)
        size = _image_shape(shape, stack)
        samples = stack.sample(n_samples, n_steps, random_state=random_state)
        if probabilities:
            samples = _reconstructed(stack, samples)
        return cls(samples.reshape(-1, *size)).plot(ax=ax, **imshow_kw)

    def plot(self, ax: Any = None, **imshow_kw: Any) -> Self:
        """Draw the samples side by side.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **imshow_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.imshow`.

        Returns
        -------
        SamplesDisplay
            The display itself.
        """
        samples = _read_images(self.samples, "samples")
        return self._draw(samples, ax, {"cmap": "gray_r"}, imshow_kw)


def _image_shape(
    shape: tuple[int, int] | None, stack: EnergyNetTransformer
) -> tuple[int, ...]:
    """Height and width; those of a square if none are given."""
    n_columns = stack.n_features_in_
    categories = np.flatnonzero(stack.coding_.kind == "category")
    if len(categories):
        names = getattr(stack, "feature_names_in_", range(n_columns))
        raise ValueError(
            f"pixels are numbers, but column {names[categories[0]]} holds categories: "
            "fit the estimator without it"
        )
    if shape is None:
        side = isqrt(n_columns)
        if side**2 != n_columns:
            raise ValueError(
                f"{n_columns} columns do not make a square image: pass "
                "shape=(height, width)"
            )
        return side, side
    shape = tuple(np.atleast_1d(shape).tolist())
    if (
        len(shape) != 2
        or not all(is_integer(side) and side > 0 for side in shape)
        or prod(shape) != n_columns
    ):
        raise ValueError(
            f"shape={shape} must be (height, width) of an image of {n_columns} pixels, "
            "the columns of X"
        )
    return shape


def _read_layer(layer: int, n_layers: int) -> int:
    if not is_integer(layer) or not -n_layers <= layer < n_layers:
        raise ValueError(
            f"layer={layer!r} must be an integer from {-n_layers} to "
            f"{n_layers - 1}: the stack has {n_layers} of them"
        )
    return range(n_layers)[layer]


def _read_units(units: ArrayLike, n_units: int) -> NDArray[np.integer]:
    indices = np.asarray(units)
    if indices.ndim != 1 or not len(indices) or indices.dtype.kind not in "iu":
        raise ValueError(
            f"units must be a list of numbers of units, at least one, got {units!r}"
        )
    outside = indices[(indices < -n_units) | (indices >= n_units)]
    if len(outside):
        raise ValueError(
            f"units has {outside[0]}, which must be from {-n_units} to {n_units - 1}"
        )
    return indices


def _column_gains(stack: EnergyNetTransformer, layer: int) -> NDArray[np.float64]:
    """Gain of units from each column, (n_units, n_features)."""
    weights = stack.weights_[layer]
    for below in reversed(stack.weights_[:layer]):
        weights = weights @ below
    ends = np.cumsum(stack.coding_.n_units)
    columns = np.split(weights, ends[:-1], axis=1)
    return np.stack([column.sum(axis=1) for column in columns], axis=1)


def _reconstructed(
    stack: EnergyNetTransformer, samples: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Up the stack and down again, by probabilities."""
    states = stack.coding_.encode(samples)
    for rbm in stack.layers_:
        states = rbm.hidden_probabilities(states)
    for rbm in reversed(stack.layers_):
        states = rbm.visible_probabilities(states)
    return stack.coding_.decode(states)


def _read_images(images: ArrayLike, name: str) -> NDArray[np.float64]:
    read = check_array(images, dtype=float, allow_nd=True, input_name=name)
    if read.ndim != 3:
        raise ValueError(
            f"{name} must have the shape (n_images, height, width), got {read.shape}"
        )
    return read


def _mosaic(images: NDArray[np.float64]) -> NDArray[np.float64]:
    """Images side by side, row after row, in about a square; NaN between them."""
    n_images, height, width = images.shape
    n_columns = ceil(sqrt(n_images * height / width))
    n_columns = min(n_columns, n_images)
    n_rows = -(-n_images // n_columns)
    mosaic = np.full((n_rows, height + 1, n_columns, width + 1), np.nan)
    rows, columns = np.divmod(np.arange(n_images), n_columns)
    mosaic[rows, :height, columns, :width] = images
    return mosaic.reshape(n_rows * (height + 1), -1)[:-1, :-1]
