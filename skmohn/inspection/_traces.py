"""Displays of the growth of a stack of layers, and of their gains."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_scalar

from skmohn.energynet import InfiniteRBMOptions
from skmohn.inspection._fitted import (
    BLUE,
    RED,
    Display,
    Layered,
    get_layers,
    merge_style,
    plot_line,
    read_numbers,
)
from skmohn.inspection._labels import add_legend, name_above, name_layers

# What each record of a growth has.
_ENTRIES = {"layer", "units", "steps"}
# Steps, and a value at each.
_Series: TypeAlias = tuple[list[int], NDArray[np.float64]]
# Of each layer the steps of its records, and these.
_Layers: TypeAlias = list[tuple[NDArray[np.intp], list[Mapping[str, Any]]]]


@dataclass(eq=False, repr=False)
class GrowthDisplay(Display):
    """Width of the layers of a stack by training step.

    With ``growth="held_out"``, dots on a separate axis show by how much the best width
    makes held-out samples likelier than each width that was tried. With
    ``growth="description_length"``, dots show how many units were worth their cost at
    each decision. With ``growth="infinite_rbm"``, gamma (new units per step) falls to
    its threshold on a separate axis. Layers follow one another, including a last one
    that was tried and dropped.

    Create it with :meth:`from_estimator`. All parameters are stored as attributes.

    Parameters
    ----------
    records : list of dict
        Records of a fit, in order. Each has ``layer``, ``stage``, ``units`` and
        ``steps`` (of its layer so far); some have ``held_out_log_likelihood``, or
        ``price`` and ``paying``, or ``gamma``.
    threshold : float, default=None
        Gamma at which growth stops. None for no such line.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the units.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        Units of each layer.
    worthwhile_ : matplotlib Line2D or None
        Units worth their cost; None without such decisions.
    held_out_ax_ : matplotlib Axes or None
        Axes of the loss of each width in nats, if samples were held out.
    held_out_lines_ : list of matplotlib Line2D
        This loss for each layer.
    gamma_ax_ : matplotlib Axes or None
        Axes of gamma, if there is any.
    gamma_lines_ : list of matplotlib Line2D
        Gamma of each layer.

    See Also
    --------
    DescriptionLengthDisplay : What each layer is worth.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmohn import EnergyNetTransformer
    >>> from skmohn.inspection import GrowthDisplay
    >>> X = load_digits(n_class=2).data[:120] / 16
    >>> net = EnergyNetTransformer(max_layers=1, n_final_epochs=0, random_state=0).fit(
    ...     X
    ... )
    >>> display = GrowthDisplay.from_estimator(net)
    >>> len(display.lines_)
    1
    """

    records: Sequence[Mapping[str, Any]]
    _: KW_ONLY
    threshold: float | None = None
    lines_: list = field(init=False)
    worthwhile_: Any = field(init=False)
    held_out_ax_: Any = field(init=False)
    held_out_lines_: list = field(init=False)
    gamma_ax_: Any = field(init=False)
    gamma_lines_: list = field(init=False)

    @classmethod
    def from_estimator(
        cls, estimator: Layered, *, ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the growth of a fitted estimator.

        Parameters
        ----------
        estimator : EnergyNetTransformer, EnergyNetClassifier or EnergyNetRegressor
            Fitted estimator whose layers grew in its last fit.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for the units.

        Returns
        -------
        GrowthDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator has no layers.
        ValueError
            If nothing grew: the widths were given, or training continued from an
            earlier fit.
        """
        stack = get_layers(estimator)
        records = [record for record in stack.history_ if "steps" in record]
        if not any(record["stage"] in ("grow", "drop") for record in records):
            raise ValueError(
                "nothing grew in the last fit of this estimator: the widths were "
                "given (growth=None) or kept (warm_start=True)"
            )
        control = stack.infinite_rbm_options or InfiniteRBMOptions()
        threshold = control.threshold if stack.growth == "infinite_rbm" else None
        return cls(records, threshold=threshold).plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw units by training step, and what decided their number.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for the units.

        Returns
        -------
        GrowthDisplay
            The display itself.
        """
        _check_records(self.records)
        if self.threshold is not None:
            check_scalar(self.threshold, "threshold", Real)
        layers = _one_after_another(self.records)
        ax = self._get_axes(ax)
        # A record tells how many units were trained until its step.
        style = {"color": BLUE, "label": "units", "drawstyle": "steps-pre"}
        style = merge_style("line", style, line_kw)
        self.lines_ = []
        for steps, records in layers:
            units = [record["units"] for record in records]
            self.lines_ += ax.plot(steps, units, **style)
            style["label"] = None
        _separate(ax, layers)
        self._plot_paying(ax, layers)
        self._plot_held_out(ax, layers)
        self._plot_gamma(ax, layers)
        ax.set(xlabel="steps of training", ylabel="units of the layer", ylim=(0, None))
        # On top of the lines of both.
        others = [other for other in (self.held_out_ax_, self.gamma_ax_) if other]
        add_legend(*others, ax)
        return self

    def _plot_paying(self, ax: Any, layers: _Layers) -> None:
        """Plot dots at decisions, named by the price of a unit in the first layer."""
        steps, records = _records_with("paying", layers)
        self.worthwhile_ = None
        if records:
            paying = [record["paying"] for record in records]
            label = f"worth their cost ({records[0]['price']:.2g} nats in layer 0)"
            (self.worthwhile_,) = ax.plot(steps, paying, "o", color=RED, label=label)

    def _plot_held_out(self, ax: Any, layers: _Layers) -> None:
        """Dots at the widths tried, of layer after layer: each has its own best."""
        found = _values_by_layer("held_out_log_likelihood", layers)
        series = [(steps, values.max() - values) for steps, values in found]
        style = {"marker": "o", "ls": ":", "label": "held-out samples"}
        name = "nats a sample below the best width"
        self.held_out_ax_, self.held_out_lines_ = _plot_beside(ax, series, style, name)

    def _plot_gamma(self, ax: Any, layers: _Layers) -> None:
        series, name = _values_by_layer("gamma", layers), "gamma: units for each step"
        beside, lines = _plot_beside(ax, series, {"label": "gamma"}, name)
        self.gamma_ax_, self.gamma_lines_ = beside, lines
        if beside is not None and self.threshold is not None:
            style = {"color": RED, "ls": ":", "label": "threshold of gamma"}
            beside.axhline(self.threshold, **style)


@dataclass(eq=False, repr=False)
class DescriptionLengthDisplay(Display):
    """Description length by layer of a stack.

    For each layer, the lower line is minus the log-likelihood of the samples under the
    stack up to it; the step to the upper line is the complexity of that stack. The
    stack ends where the upper line is lowest; a layer that was tried and dropped is
    hollow. Numbers above the axes are log-likelihoods per sample.

    Create it with :meth:`from_estimator`. All parameters are stored as attributes.

    Parameters
    ----------
    description_length : array-like of shape (n_stacks,)
        Description length of samples and stack, up to each layer, in nats.
    complexity : array-like of shape (n_stacks,)
        The part of it that describes the stack.
    log_likelihood : array-like of shape (n_stacks,)
        Mean log-likelihood per sample under each stack, in nats.
    n_layers : int, default=None
        Number of layers that stayed. None for all.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    total_line_ : matplotlib Line2D
        Description length.
    data_line_ : matplotlib Line2D
        Description length without the complexity.
    gone_line_ : matplotlib Line2D
        Description length of layers that were dropped.
    texts_ : list of matplotlib Text
        Log-likelihoods per sample.

    See Also
    --------
    GrowthDisplay : How each layer got its width.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmohn import EnergyNetTransformer
    >>> from skmohn.inspection import DescriptionLengthDisplay
    >>> X = load_digits(n_class=2).data[:120] / 16
    >>> net = EnergyNetTransformer(
    ...     max_layers=1, n_final_epochs=5, n_temperatures=100, random_state=0
    ... )
    >>> display = DescriptionLengthDisplay.from_estimator(net.fit(X))
    >>> display.n_layers
    1
    """

    description_length: ArrayLike
    complexity: ArrayLike
    log_likelihood: ArrayLike
    _: KW_ONLY
    n_layers: ArrayLike | None = None
    total_line_: Any = field(init=False)
    data_line_: Any = field(init=False)
    gone_line_: Any = field(init=False)
    texts_: list = field(init=False)

    @classmethod
    def from_estimator(
        cls, estimator: Layered, *, ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the description lengths that a fitted estimator has found.

        Parameters
        ----------
        estimator : EnergyNetTransformer, EnergyNetClassifier or EnergyNetRegressor
            Fitted estimator that has ``description_length_``.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for both lines.

        Returns
        -------
        DescriptionLengthDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator has no layers.
        ValueError
            If it has no description lengths.
        """
        stack = get_layers(estimator)
        if not hasattr(stack, "description_length_"):
            raise ValueError(
                "this estimator has no description lengths: they need a fit whose "
                "layers grow to the end, without growth=None, warm_start=True, "
                "partial_fit or a callback that stops the fit"
            )
        # The history includes a layer that was dropped.
        tried = [record for record in stack.history_ if record["stage"] == "layer"]
        names = "description_length", "complexity", "log_likelihood"
        found = [np.array([record[name] for record in tried]) for name in names]
        display = cls(*found, n_layers=len(stack.description_length_))
        return display.plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw description lengths and their parts by layer.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for both lines.

        Returns
        -------
        DescriptionLengthDisplay
            The display itself.
        """
        total, complexity, means = read_numbers(
            self, "description_length", "complexity", "log_likelihood"
        )
        n_layers = len(total) if self.n_layers is None else self.n_layers
        check_scalar(n_layers, "n_layers", Integral, min_val=0, max_val=len(total))
        ax = self._get_axes(ax)
        layers, data = np.arange(len(total)), total - complexity
        ax.vlines(layers, data, total, color=RED, lw=6, alpha=0.3, label="complexity")
        style = {"marker": "o", "color": RED, "label": "description length"}
        self.total_line_ = plot_line(ax, layers, total, style, line_kw)
        style = {"marker": "o", "color": BLUE, "label": "minus log-likelihood"}
        self.data_line_ = plot_line(ax, layers, data, style, line_kw)
        (self.gone_line_,) = ax.plot(
            layers[n_layers:], total[n_layers:], "o", mfc="white", color=RED
        )
        self.texts_ = name_above(ax, layers, [f"{mean:.2f}" for mean in means])
        ax.child_axes[-1].set_xlabel("log-likelihood of a sample (nats)")
        ax.set(xlabel="highest layer of the stack", xticks=layers)
        ax.set(ylabel="nats", xlim=(-0.5, len(layers) - 0.5))
        add_legend(ax)
        return self


def _check_records(records: object) -> None:
    if not isinstance(records, Sequence) or not len(records):
        raise ValueError(
            f"records must have at least one record of a fit, got {records!r}"
        )
    for record in records:
        if not isinstance(record, Mapping) or not record.keys() >= _ENTRIES:
            raise ValueError(
                f"records must be dicts with {', '.join(sorted(_ENTRIES))}, got "
                f"{record!r}"
            )


def _one_after_another(records: Sequence[Mapping[str, Any]]) -> _Layers:
    """Steps and records of each layer; the steps go on where those below ended."""
    layers, before = [], 0
    for layer in sorted({record["layer"] for record in records}):
        own = [record for record in records if record["layer"] == layer]
        layers.append((np.array([before + record["steps"] for record in own]), own))
        before = layers[-1][0][-1]
    return layers


def _records_with(
    name: str, layers: _Layers
) -> tuple[list[int], list[Mapping[str, Any]]]:
    """Steps and records that have an entry."""
    found = [
        (step, record)
        for steps, records in layers
        for step, record in zip(steps, records, strict=True)
        if name in record
    ]
    return [step for step, _ in found], [record for _, record in found]


def _values_by_layer(name: str, layers: _Layers) -> list[_Series]:
    """Steps and values of an entry, of each layer whose records have it."""
    found = [_records_with(name, [layer]) for layer in layers]
    return [
        (steps, np.array([record[name] for record in records]))
        for steps, records in found
        if records
    ]


def _plot_beside(
    ax: Any, series: Sequence[_Series], style: dict[str, Any], name: str
) -> tuple[Any, list]:
    """Plot lines with an axis of their own from 0 on; return it and the lines."""
    if not series:
        return None, []
    beside, lines = ax.twinx(), []
    for steps, values in series:
        lines += beside.plot(steps, values, color=RED, **style)
        style = style | {"label": None}
    beside.set(ylabel=name, ylim=(0, None))
    return beside, lines


def _separate(ax: Any, layers: _Layers) -> None:
    """Name the layers where each starts, which is where the one below it ended."""
    starts = [0, *(steps[-1] for steps, _ in layers[:-1])]
    name_layers(ax, starts, [records[0]["layer"] for _, records in layers])
