"""Likelihoods by epoch: how a stack comes to describe samples."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skmohn.inspection._fitted import (
    BLUE,
    RED,
    Display,
    Layered,
    get_layers,
    plot_line,
    read_numbers,
)
from skmohn.inspection._labels import add_legend, name_layers


@dataclass(eq=False, repr=False)
class LikelihoodDisplay(Display):
    """Log-likelihood by epoch, while a stack is trained.

    Layers are trained one after another; the line shows the stack up to the current
    one, and each new layer starts low. A validation line that falls behind the training
    line shows overfitting.

    Create it with :meth:`from_estimator`. All parameters are stored as attributes.

    Parameters
    ----------
    epoch : array-like of shape (n_records,)
        Epochs since the start of the fit, increasing.
    log_likelihood : array-like of shape (n_records,)
        Mean log-likelihood per training sample, in nats.
    validation : array-like of shape (n_records,), default=None
        The same for the validation samples. None for no such line.
    layer : array-like of int of shape (n_records,), default=None
        Layer in training. None for a single one.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    line_ : matplotlib Line2D
        Log-likelihood of the training samples.
    validation_line_ : matplotlib Line2D or None
        Log-likelihood of the validation samples, if there are any.

    See Also
    --------
    GrowthDisplay : How each layer got its width.
    DescriptionLengthDisplay : What each layer is worth.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmohn import EnergyNetTransformer
    >>> from skmohn.inspection import LikelihoodDisplay
    >>> X = load_digits().data / 16
    >>> net = EnergyNetTransformer(
    ...     None, 9, n_final_epochs=20, monitor=5, random_state=0
    ... )
    >>> net = net.fit(X[:1200], X_val=X[1200:])
    >>> display = LikelihoodDisplay.from_estimator(net)
    >>> display.epoch
    [5, 10, 15, 20]
    """

    epoch: ArrayLike
    log_likelihood: ArrayLike
    _: KW_ONLY
    validation: ArrayLike | None = None
    layer: ArrayLike | None = None
    line_: Any = field(init=False)
    validation_line_: Any = field(init=False)

    @classmethod
    def from_estimator(
        cls, estimator: Layered, *, ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the log-likelihoods that a fitted estimator has recorded.

        Parameters
        ----------
        estimator : EnergyNetTransformer, EnergyNetClassifier or EnergyNetRegressor
            Fitted estimator whose transformer has the parameter `monitor`.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for both lines.

        Returns
        -------
        LikelihoodDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator has no layers.
        ValueError
            If it has recorded no log-likelihoods.
        """
        records = [
            record
            for record in get_layers(estimator).history_
            if "epoch" in record and "log_likelihood" in record
        ]
        if not records:
            raise ValueError(
                "this estimator has recorded no log-likelihoods: fit it with "
                "EnergyNetTransformer(monitor=1), or with a longer interval between "
                "records, at most the number of epochs"
            )
        names = "epoch", "log_likelihood", "layer"
        epoch, train, layer = ([record[key] for record in records] for key in names)
        validation = None
        if "validation_log_likelihood" in records[0]:
            validation = [record["validation_log_likelihood"] for record in records]
        display = cls(epoch, train, validation=validation, layer=layer)
        return display.plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the log-likelihoods by epoch.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for both lines.

        Returns
        -------
        LikelihoodDisplay
            The display itself.
        """
        epoch, training, validation, layer = read_numbers(
            self, "epoch", "log_likelihood", optional=("validation", "layer")
        )
        layer = np.zeros(len(epoch)) if layer is None else layer
        if not len(epoch):
            raise ValueError("epoch is empty: there is no likelihood to draw")
        ax = self._get_axes(ax)
        style = {"color": BLUE, "label": "training samples"}
        self.line_ = plot_line(ax, epoch, training, style, line_kw)
        self.validation_line_ = None
        if validation is not None:
            style = {"color": RED, "label": "validation samples"}
            self.validation_line_ = plot_line(ax, epoch, validation, style, line_kw)
        starts = np.flatnonzero(np.diff(layer, prepend=-1))
        name_layers(ax, [0, *epoch[starts[1:]]], layer[starts].astype(int))
        ax.set(xlabel="epoch", ylabel="log-likelihood\nof a sample (nats)")
        add_legend(ax)
        return self
