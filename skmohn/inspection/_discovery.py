"""Displays of structure discovery: errors and numbers of weights by round."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from skmohn._core._validation import read_vector
from skmohn.inspection._fitted import BLUE, RED, Display, plot_line, read_numbers
from skmohn.inspection._labels import add_legend
from skmohn.mohn import MOHNRegressor
from skmohn.mohn._engine import require_regressor

# Of orders 1 to 5, and of all above.
_COLORS = ("#7a8450", BLUE, RED, "#8d6a9f", "#e0a458", "#5b5b5b")


@dataclass(eq=False, repr=False)
class DiscoveryErrorDisplay(Display):
    """Error by round of discovery.

    Each round fits the weights, removes terms that do not matter and proposes others.
    If the history holds the error between fit and removal, the line drops to it and
    jumps up by the cost of the removal. A validation error that stays above the
    training error shows that terms are missing or false (Figure 2 of [1]_).

    Create it with :meth:`from_estimator` or :meth:`from_history`. All parameters are
    stored as attributes.

    Parameters
    ----------
    rounds : array-like of int of shape (n_rounds,)
        Round numbers.
    training : array-like of shape (n_rounds,)
        Root mean squared error on the training rows at the end of each round.
    validation : array-like of shape (n_rounds,), default=None
        The same on held-out rows. None for no such line.
    learned : array-like of shape (n_rounds,), default=None
        Training error before terms were removed. None if unknown.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    training_line_ : matplotlib Line2D
        Training error; with `learned`, two points per round.
    validation_line_ : matplotlib Line2D or None
        Validation error.

    See Also
    --------
    DiscoveryOrdersDisplay : Number of weights by round.

    References
    ----------
    .. [1] Swingler, K. (2020). Learning and searching pseudo-Boolean surrogate
       functions from small samples. Evolutionary Computation 28(2).

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.datasets import make_ising
    >>> from skmohn.inspection import DiscoveryErrorDisplay
    >>> glass = make_ising((4, 4), n_samples=300, random_state=0)
    >>> model = MOHNRegressor("msda", early_stopping=True, random_state=0)
    >>> model = model.fit(glass.X, glass.y)
    >>> display = DiscoveryErrorDisplay.from_estimator(model)
    >>> len(display.rounds) == model.n_iter_
    True
    """

    rounds: ArrayLike
    training: ArrayLike
    _: KW_ONLY
    validation: ArrayLike | None = None
    learned: ArrayLike | None = None
    training_line_: Any = field(init=False)
    validation_line_: Any = field(init=False)

    @classmethod
    def from_estimator(
        cls, estimator: MOHNRegressor, *, ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the errors of the last fit of an estimator.

        Parameters
        ----------
        estimator : MOHNRegressor
            Fitted estimator.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for all lines.

        Returns
        -------
        DiscoveryErrorDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator discovers no weights.
        ValueError
            If its history has no rounds of discovery.
        """
        require_regressor(estimator, "estimator")
        return cls.from_history(estimator.history_, ax=ax, **line_kw)

    @classmethod
    def from_history(
        cls, history: Iterable[Mapping[str, Any]], *, ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the errors that a history has kept.

        Parameters
        ----------
        history : History or list of dict
            As in ``history_``: rounds are the records with ``training_rmse``.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for all lines.

        Returns
        -------
        DiscoveryErrorDisplay
            The display.

        Raises
        ------
        ValueError
            If no record is a round of discovery.
        """
        records = _rounds(history, "training_rmse")
        lines = {
            name: [record.get(f"{name}_rmse") for record in records]
            for name in ("validation", "learned")
        }
        lines = {name: None if None in line else line for name, line in lines.items()}
        training = [record["training_rmse"] for record in records]
        display = cls([record["iteration"] for record in records], training, **lines)
        return display.plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the errors by round.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for all lines.

        Returns
        -------
        DiscoveryErrorDisplay
            The display itself.
        """
        rounds, training, validation, learned = read_numbers(
            self, "rounds", "training", optional=("validation", "learned")
        )
        ax = self._get_axes(ax)
        # A mark for each of few rounds.
        style = {"marker": "o", "ms": 3} if len(rounds) <= 60 else {}
        style["lw"] = 1.2
        twice, errors = rounds, training
        if learned is not None:
            twice = np.repeat(rounds, 2)
            errors = np.column_stack([learned, training]).ravel()
        own = style | {"color": BLUE, "label": "training"}
        self.training_line_ = plot_line(ax, twice, errors, own, line_kw)
        self.validation_line_ = None
        if validation is not None:
            own = style | {"color": RED, "label": "validation"}
            self.validation_line_ = plot_line(ax, rounds, validation, own, line_kw)
        ax.set(xlabel="round", ylabel="root mean squared error", ylim=(0, None))
        ax.xaxis.get_major_locator().set_params(integer=True)
        if validation is not None:
            add_legend(ax)
        return self


@dataclass(eq=False, repr=False)
class DiscoveryOrdersDisplay(Display):
    """Number of weights of each order by round of discovery.

    The top line counts all weights; the lines below show which orders were searched and
    what stayed (Figure 3 of [1]_).

    Create it with :meth:`from_estimator` or :meth:`from_history`. All parameters are
    stored as attributes.

    Parameters
    ----------
    rounds : array-like of int of shape (n_rounds,)
        Round numbers.
    weights_per_order : sequence of sequences of int
        For each round, the number of weights of orders 1, 2, ...; zero for orders
        beyond the end.
    max_order : int, default=5
        Highest order with its own line; those above share one.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    total_line_ : matplotlib Line2D
        All weights.
    lines_ : list of matplotlib Line2D
        Weights of each order that occurred, the lowest first.

    See Also
    --------
    DiscoveryErrorDisplay : Error by round.

    References
    ----------
    .. [1] Swingler, K. (2020). Learning and searching pseudo-Boolean surrogate
       functions from small samples. Evolutionary Computation 28(2).

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.datasets import make_ising
    >>> from skmohn.inspection import DiscoveryOrdersDisplay
    >>> glass = make_ising((4, 4), n_samples=300, random_state=0)
    >>> model = MOHNRegressor("msda", random_state=0).fit(glass.X, glass.y)
    >>> display = DiscoveryOrdersDisplay.from_estimator(model)
    >>> int(display.total_line_.get_ydata()[-1])
    32
    """

    rounds: ArrayLike
    weights_per_order: Sequence[Sequence[int]]
    _: KW_ONLY
    max_order: int = 5
    total_line_: Any = field(init=False)
    lines_: list = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: MOHNRegressor,
        *,
        max_order: int = 5,
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the numbers of weights of the last fit of an estimator.

        Parameters
        ----------
        estimator : MOHNRegressor
            Fitted estimator.
        max_order : int, default=5
            Highest order with its own line; those above share one.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for all lines.

        Returns
        -------
        DiscoveryOrdersDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator discovers no weights.
        ValueError
            If its history has no rounds of discovery.
        """
        require_regressor(estimator, "estimator")
        return cls.from_history(
            estimator.history_, max_order=max_order, ax=ax, **line_kw
        )

    @classmethod
    def from_history(
        cls,
        history: Iterable[Mapping[str, Any]],
        *,
        max_order: int = 5,
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the numbers of weights that a history has kept.

        Parameters
        ----------
        history : History or list of dict
            As in ``history_``: rounds are the records with ``weights_per_order``.
        max_order : int, default=5
            Highest order with its own line; those above share one.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for all lines.

        Returns
        -------
        DiscoveryOrdersDisplay
            The display.

        Raises
        ------
        ValueError
            If no record is a round of discovery.
        """
        records = _rounds(history, "weights_per_order")
        display = cls(
            [record["iteration"] for record in records],
            [record["weights_per_order"] for record in records],
            max_order=max_order,
        )
        return display.plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the numbers of weights by round.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for a new figure.
        **line_kw : dict
            Passed to :meth:`~matplotlib.axes.Axes.plot` for all lines.

        Returns
        -------
        DiscoveryOrdersDisplay
            The display itself.
        """
        if not isinstance(self.max_order, Integral) or self.max_order < 1:
            raise ValueError(
                f"max_order must be a positive integer, got {self.max_order!r}"
            )
        (rounds,) = read_numbers(self, "rounds")
        counts = self.weights_per_order
        if not np.iterable(counts):
            raise TypeError(
                "weights_per_order must be a list of lists of numbers, one for each "
                f"round, got {counts!r}"
            )
        counts = [read_vector(orders, "weights_per_order") for orders in counts]
        check_consistent_length(rounds, counts)
        ax = self._get_axes(ax)
        style = {"marker": "o", "ms": 3} if len(rounds) <= 60 else {}
        own = style | {"color": "#333333", "lw": 2.2, "label": "all"}
        totals = [orders.sum() for orders in counts]
        self.total_line_ = plot_line(ax, rounds, totals, own, line_kw)
        self.lines_ = []
        last = self.max_order
        for order in range(1, last + 2):
            stop = order if order <= last else None
            numbers = [orders[order - 1 : stop].sum() for orders in counts]
            if any(numbers):
                above = "" if order <= last else " and above"
                color = _COLORS[min(order, len(_COLORS)) - 1]
                label = f"order {order}{above}"
                own = {"color": color, "lw": 1.2, "label": label} | style
                self.lines_.append(plot_line(ax, rounds, numbers, own, line_kw))
        ax.set(xlabel="round", ylabel="weights in the model", ylim=(0, None))
        ax.xaxis.get_major_locator().set_params(integer=True)
        add_legend(ax)
        return self


def _rounds(history: Iterable[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    """Records that have an entry."""
    records = [record for record in history if record.get(key) is not None]
    if not records:
        raise ValueError(
            f'history has no rounds of discovery (records with "{key}"): '
            'strategy="pursuit" and "msda" record them, and so does "auto", unless '
            "categories leave it only the Gaussian process"
        )
    return records
