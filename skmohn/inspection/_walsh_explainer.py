"""Explain a game, or a model at a row, by sparse interactions of any order."""

from collections.abc import Callable, Sequence
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from skmohn._core._fitting import History
from skmohn._core._optional import import_optional
from skmohn._core._sklearn import Interval, StrOptions, validate_parameter_constraints
from skmohn._core._types import TableLike, Term
from skmohn._core._units import power_of_two_scale
from skmohn._core._validation import read_names, require_memory
from skmohn.inspection._game_weights import (
    INDICES,
    GameWeights,
    count_ends,
    evaluate_game,
    fit_game,
    list_coalitions,
    make_index_map,
    read_coalitions,
    sample_coalitions,
    transform_game,
)
from skmohn.inspection._masked_model import (
    Background,
    MaskedModel,
    choose_class,
    find_predict,
    select_output,
)

Game = Callable[[NDArray[np.bool_]], ArrayLike]

# Values that deterministic games have exactly: of no player, and of all.
_N_MET: Final = 2
# Folds by which the faithfulness is measured.
_N_FOLDS: Final = 5
# An interaction has errors if it is less than so many of its standard errors.
_N_ERRORS: Final = 2.0
# Sums that are as small are rounding errors, relative to what is added.
_ROUNDING: Final = 1e-13
_AT_LEAST_ONE: Final = [Interval(Integral, 1, None, closed="left")]
_CONSTRAINTS: Final[dict[str, list[Any]]] = {
    "n_players": _AT_LEAST_ONE,
    "n_evaluations": _AT_LEAST_ONE,
    "max_order": _AT_LEAST_ONE,
    "index": [StrOptions(set(INDICES))],
    "deterministic": ["boolean"],
    "main_effects": ["boolean"],
    "variance": [Interval(Real, 0, 1, closed="right")],
    "random_state": ["random_state"],
    "response_method": [
        StrOptions({"auto", "predict_proba", "decision_function", "predict"})
    ],
}


def _validate(caller: str, **given: Any) -> None:
    constraints = {name: _CONSTRAINTS[name] for name in given}
    validate_parameter_constraints(constraints, given, caller_name=caller)


class Interactions(NamedTuple):
    """Values of sets of players under an interaction index.

    Parameters
    ----------
    sets : list of tuple of int
        Sets of players, sorted by size, then by players. Sets that are not listed have
        the value 0.
    values : ndarray of shape (n_sets,)
        Their values.
    standard_errors : ndarray of shape (n_sets,)
        Standard errors of these.

    Examples
    --------
    >>> from skmohn.inspection import explain_game
    >>> found = explain_game(lambda z: 3.0 * z[:, 0] * z[:, 1], 2).moebius()
    >>> dict(zip(found.sets, found.values.tolist()))
    {(0, 1): 3.0}
    """

    sets: list[Term]
    values: NDArray[np.float64]
    standard_errors: NDArray[np.float64]


class Evaluations(NamedTuple):
    """Coalitions, their values, and how they are to be fitted."""

    coalitions: NDArray[np.bool_]
    values: NDArray[np.float64]
    deterministic: bool
    is_complete: bool
    seed: int

    @property
    def n_met(self) -> int:
        """Number of the first values that are met exactly."""
        return _N_MET if self.deterministic else 0


class WalshExplanation:
    """Sparse interactions of a game, from few of its values.

    The result of :func:`~skmohn.inspection.explain_game` and
    :meth:`WalshExplainer.explain`. The game is written as

    .. math:: v(S) = w_0 + \\sum_j w_j \\prod_{i \\in Q_j} z_i

    where :math:`z_i` is 1 for players in the coalition S and -1 for all others.
    Shapley values and all interaction indices are sums of these weights.

    Parameters
    ----------
    game_weights : GameWeights
        Terms and weights.
    evaluations : Evaluations
        The evaluations they were fitted to.
    player_names : list of str
        Names of the players.

    Attributes
    ----------
    terms : list of tuple of int
        Players of each term, sorted by order, then by players, without the constant.
    weights : ndarray of shape (n_terms,)
        Walsh weight of each term.
    standard_errors : ndarray of shape (n_terms,)
        Standard errors of the weights: 0 if ``is_exact``. They are posterior standard
        deviations at the hyperparameters found.
    intercept : float
        The constant: the mean value over all coalitions.
    player_names : list of str
        Names of the players.
    n_evaluations : int
        Number of coalitions that were evaluated.
    is_exact : bool
        Whether the weights reproduce every evaluated value, because all coalitions were
        evaluated or few terms are enough.
    empty_value, full_value : float
        Values of the empty coalition and of all players.
    faithfulness : float
        R2 of predictions of coalitions that were not used for fitting, by
        cross-validation; it takes five fits at first access. 1 if all coalitions were
        evaluated, NaN if there are too few.

    See Also
    --------
    explain_game : Explain a function of coalitions.
    WalshExplainer : Explain a fitted model at one row.

    Examples
    --------
    >>> from skmohn.inspection import explain_game
    >>> def profit(z):
    ...     return 2.0 * z[:, 0] + 6.0 * z[:, 1] * z[:, 2] * z[:, 3]
    >>> explanation = explain_game(profit, 20, n_evaluations=100, random_state=0)
    >>> explanation.is_exact
    True
    >>> explanation.shapley_values()[:5].round(6)
    array([2., 2., 2., 2., 0.])
    """

    def __init__(
        self,
        game_weights: GameWeights,
        evaluations: Evaluations,
        player_names: list[str],
    ) -> None:
        self._weights, self._evaluations = game_weights, evaluations
        self._polynomial = game_weights.polynomial()
        self.player_names = player_names
        self.terms: list[Term] = game_weights.terms[1:]
        self.weights = game_weights.weights[1:]
        self.intercept = float(game_weights.weights[0])
        self.standard_errors = np.zeros(len(self.terms))
        if game_weights.covariance is not None:
            variances = np.diag(game_weights.covariance)[1:]
            self.standard_errors = np.sqrt(np.maximum(variances, 0.0))
        self.n_evaluations = len(evaluations.values)
        self.is_exact = game_weights.covariance is None
        n_players = len(player_names)
        ends = self.predict(np.array([[False] * n_players, [True] * n_players]))
        self.empty_value, self.full_value = ends.tolist()

    def __repr__(self) -> str:
        return (
            f"<WalshExplanation of {len(self.player_names)} players: "
            f"{len(self.terms)} terms from {self.n_evaluations} evaluations>"
        )

    def predict(self, masks: ArrayLike) -> NDArray[np.float64]:
        """Predict values of coalitions.

        Parameters
        ----------
        masks : array-like of shape (n_masks, n_players)
            True or 1 for players in the coalition.

        Returns
        -------
        ndarray of shape (n_masks,)
            Their values.
        """
        coalitions = read_coalitions(masks, len(self.player_names))
        return self._polynomial.predict(np.where(coalitions, 1.0, -1.0))

    def shapley_values(self, return_std: bool = False) -> Any:
        """Compute Shapley values, which add up to ``full_value - empty_value``.

        Parameters
        ----------
        return_std : bool, default=False
            Whether to also return standard errors.

        Returns
        -------
        values : ndarray of shape (n_players,)
            Shapley values.
        std : ndarray of shape (n_players,)
            Their standard errors, only with `return_std`.
        """
        return self._values("SII", return_std)

    def banzhaf_values(self, return_std: bool = False) -> Any:
        """Compute Banzhaf values: the average contribution of a player to coalitions.

        Parameters
        ----------
        return_std : bool, default=False
            Whether to also return standard errors.

        Returns
        -------
        values : ndarray of shape (n_players,)
            Banzhaf values.
        std : ndarray of shape (n_players,)
            Their standard errors, only with `return_std`.
        """
        return self._values("BII", return_std)

    def _values(self, index: str, return_std: bool) -> Any:
        """An index of single players, in their order."""
        found = self.interactions(1, index)
        values, errors = np.zeros((2, len(self.player_names)))
        players = [player for (player,) in found.sets]
        values[players], errors[players] = found.values, found.standard_errors
        return (values, errors) if return_std else values

    def moebius(self, max_order: int | None = None) -> Interactions:
        """Compute Moebius values (Harsanyi dividends).

        The value of a coalition is the sum of those of all its subsets, the empty set
        included.

        Parameters
        ----------
        max_order : int, default=None
            Largest set of players; None for that of the largest term.

        Returns
        -------
        Interactions
            Sets, values and standard errors.
        """
        order = max(map(len, self._weights.terms)) if max_order is None else max_order
        # A constant game has no term, but a value of the empty set.
        return self.interactions(max(order, 1), "Moebius")

    def interactions(self, max_order: int = 2, index: str = "k-SII") -> Interactions:
        """Compute an interaction index of sets of players.

        Parameters
        ----------
        max_order : int, default=2
            Largest set of players.
        index : {"k-SII", "SII", "STII", "BII", "Moebius"}, default="k-SII"
            Which index, with shapiq's names:

            - ``"SII"``: the Shapley interaction index [1]_;
            - ``"k-SII"``: its values of all orders up to `max_order`, aggregated so
              that they add up to ``full_value - empty_value`` [2]_;
            - ``"STII"``: the Shapley-Taylor interaction index [3]_, which adds up to
              the same;
            - ``"BII"``: the Banzhaf interaction index [1]_;
            - ``"Moebius"``: see :meth:`moebius`.

        Returns
        -------
        Interactions
            Sets, values and standard errors.

        References
        ----------
        .. [1] Grabisch, M. and Roubens, M. (1999). An axiomatic approach to the concept
           of interaction among players in cooperative games. International Journal of
           Game Theory 28.
        .. [2] Bordt, S. and von Luxburg, U. (2023). From Shapley values to generalized
           additive models and back. AISTATS.
        .. [3] Sundararajan, M., Dhamdhere, K. and Agarwal, A. (2020). The
           Shapley-Taylor interaction index. ICML.
        """
        _validate("interactions", max_order=max_order, index=index)
        order = min(int(max_order), len(self.player_names))
        sets, index_map = make_index_map(self._weights.terms, index, order)
        errors = np.zeros(len(sets))
        if self._weights.covariance is not None:
            spread = index_map @ self._weights.covariance
            variances = np.asarray(index_map.multiply(spread).sum(axis=1)).ravel()
            errors = np.sqrt(np.maximum(variances, 0.0))
        values = index_map @ self._weights.weights
        # What cancels but for rounding errors is not there.
        sizes = abs(index_map) @ np.abs(self._weights.weights)
        kept = np.flatnonzero((np.abs(values) > _ROUNDING * sizes) | (errors > 0.0))
        return Interactions([sets[j] for j in kept], values[kept], errors[kept])

    def records(self, max_order: int = 2, index: str = "k-SII") -> History:
        """List a record for each set of players, the largest value first.

        Parameters
        ----------
        max_order : int, default=2
            As in :meth:`interactions`.
        index : str, default="k-SII"
            As in :meth:`interactions`.

        Returns
        -------
        History
            Dictionaries with the columns of :meth:`to_frame`, without pandas.
        """
        found = self.interactions(max_order, index)
        order = np.argsort(-np.abs(found.values), kind="stable").tolist()
        names = [" x ".join(self.player_names[i] for i in s) for s in found.sets]
        return History(
            {
                "players": names[j] or "(constant)",
                "order": len(found.sets[j]),
                "value": float(found.values[j]),
                "standard_error": float(found.standard_errors[j]),
            }
            for j in order
        )

    def to_frame(self, max_order: int = 2, index: str = "k-SII") -> Any:
        """Make a table with a row for each set of players, the largest value first.

        Parameters
        ----------
        max_order : int, default=2
            As in :meth:`interactions`.
        index : str, default="k-SII"
            As in :meth:`interactions`.

        Returns
        -------
        DataFrame
            ``players``, ``order``, ``value`` and ``standard_error``.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        pandas = import_optional("pandas", "to_frame")
        columns = ["players", "order", "value", "standard_error"]
        return pandas.DataFrame(list(self.records(max_order, index)), columns=columns)

    def to_interaction_constraints(
        self, max_order: int = 3, *, variance: float = 0.99, main_effects: bool = True
    ) -> list[list[int]]:
        """List the sets of columns that interact, for models that take constraints.

        Interactions are taken in the order of their weights until they reach the given
        fraction of the variance of all interactions of these orders; those below two
        standard errors are skipped. Subsets of other sets are left out.

        Parameters
        ----------
        max_order : int, default=3
            Largest set.
        variance : float, default=0.99
            Fraction of the variance of interactions.
        main_effects : bool, default=True
            Whether to also list columns without interactions, each separately.
            HistGradientBoosting (``interaction_cst``) and LightGBM
            (``interaction_constraints``) need these; ``interactions`` of interpret's
            estimators do not.

        Returns
        -------
        list of list of int
            Column indices, in increasing order.
        """
        _validate(
            "to_interaction_constraints",
            max_order=max_order,
            variance=variance,
            main_effects=main_effects,
        )
        sizes = np.array([len(term) for term in self.terms], dtype=int)
        power = np.where((sizes > 1) & (sizes <= max_order), self.weights**2, 0.0)
        order = np.argsort(-power, kind="stable")
        before = np.cumsum(power[order]) - power[order]
        is_needed = before < variance * power.sum() * (1.0 - np.finfo(float).eps)
        is_clear = power[order] > (_N_ERRORS * self.standard_errors[order]) ** 2
        kept = [self.terms[j] for j in order[is_needed & is_clear].tolist()]
        groups: list[Term] = []
        for term in sorted(kept, key=lambda term: (-len(term), term)):
            if not any(set(term) < set(group) for group in groups):
                groups.append(term)
        if main_effects:
            listed = set().union(*groups)
            groups += [(i,) for i in range(len(self.player_names)) if i not in listed]
        return sorted(map(list, groups))

    def to_shapiq(self, max_order: int = 2, index: str = "k-SII") -> Any:
        """Convert an interaction index to shapiq's class, which draws it.

        Parameters
        ----------
        max_order : int, default=2
            As in :meth:`interactions`.
        index : str, default="k-SII"
            As in :meth:`interactions`.

        Returns
        -------
        shapiq.InteractionValues
            With `empty_value` as the value of the empty set.

        Raises
        ------
        ImportError
            If shapiq is not installed.
        """
        shapiq = import_optional("shapiq", "to_shapiq")
        found = self.interactions(max_order, index)
        values = {(): self.empty_value}
        values |= dict(zip(found.sets, found.values.tolist(), strict=True))
        return shapiq.InteractionValues(
            values=np.array(list(values.values())),
            interaction_lookup={players: j for j, players in enumerate(values)},
            index=index,
            min_order=0,
            max_order=max_order,
            n_players=len(self.player_names),
            estimated=not self.is_exact,
            estimation_budget=self.n_evaluations,
            baseline_value=self.empty_value,
        )

    @cached_property
    def faithfulness(self) -> float:
        """R2 of predictions of coalitions that were not used for fitting."""
        evaluations = self._evaluations
        if evaluations.is_complete:
            return 1.0
        n_ends = count_ends(len(self.player_names))
        # Uniform coalitions alone; with its complement, one would hardly be held out.
        fold = (np.arange(len(evaluations.values)) - n_ends) // 2 % _N_FOLDS
        fold[:n_ends] = -1
        y = evaluations.values
        if len(y) - n_ends < 2 * _N_FOLDS or np.ptp(y[n_ends:]) == 0.0:
            return float("nan")
        predicted = y.copy()
        for k in range(_N_FOLDS):
            kept = fold != k
            part = evaluations._replace(
                coalitions=evaluations.coalitions[kept], values=y[kept]
            )
            signs = np.where(evaluations.coalitions[~kept], 1.0, -1.0)
            predicted[~kept] = _fit(part).polynomial().predict(signs)
        y, predicted = (of / power_of_two_scale(y) for of in (y, predicted))
        errors = (y - predicted)[n_ends:]
        return float(1.0 - np.mean(errors**2) / np.var(y[n_ends:]))


def _fit(evaluations: Evaluations) -> GameWeights:
    """Weights of evaluated coalitions."""
    if evaluations.is_complete and evaluations.deterministic:
        return transform_game(evaluations.values)
    return fit_game(
        evaluations.coalitions, evaluations.values, evaluations.n_met, evaluations.seed
    )


def explain_game(
    game: Game,
    n_players: int,
    *,
    n_evaluations: int = 512,
    deterministic: bool = True,
    player_names: Sequence[str] | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> WalshExplanation:
    """Find the interactions of a game from the values of few coalitions.

    A game is any function of switches: columns that are known or masked, settings that
    are on or off, parts that are present or absent. All coalitions are evaluated if
    there are no more than `n_evaluations`; the result is then exact. If not, the
    coalitions that have or lack at most one player are evaluated, and random ones in
    pairs with their complements. Weights are those of few terms if these reproduce all
    values, otherwise the largest ones of a Gaussian process over all weights.

    Parameters
    ----------
    game : callable
        Function of an array of bool of shape (n_coalitions, n_players), True for
        players in the coalition, that returns a number for each row.
    n_players : int
        Number of players.
    n_evaluations : int, default=512
        Maximum number of coalitions to evaluate: at least ``2 * n_players + 2``, or
        all.
    deterministic : bool, default=True
        Whether the game returns the same value each time. If so, the values of the
        empty coalition and of all players are reproduced exactly, so that Shapley
        values add up to their difference. If not, values have noise, which standard
        errors include.
    player_names : sequence of str, default=None
        Names of the players, all different. None for x0, x1, ...
    random_state : int, RandomState instance or None, default=None
        Seed of the coalitions.

    Returns
    -------
    WalshExplanation
        Terms, weights, Shapley values and interaction indices.

    Raises
    ------
    ValueError
        For invalid input; the message names the parameter.

    See Also
    --------
    WalshExplainer : Explain a fitted model at one row.
    MOHNRegressor : The model of such functions, for data instead of a function.

    Examples
    --------
    >>> from skmohn.inspection import explain_game
    >>> def cost(z):
    ...     return 1.0 + 2.0 * z[:, 0] - 4.0 * z[:, 1] * z[:, 2]
    >>> explanation = explain_game(cost, 12, n_evaluations=60, random_state=0)
    >>> explanation.shapley_values()[:4].round(6)
    array([ 2., -2., -2.,  0.])
    >>> explanation.to_interaction_constraints(main_effects=False)
    [[1, 2]]
    """
    _validate(
        "explain_game",
        n_players=n_players,
        n_evaluations=n_evaluations,
        deterministic=deterministic,
        random_state=random_state,
    )
    if not callable(game):
        raise TypeError(f"game must be a function, got {type(game).__name__}")
    names = [f"x{i}" for i in range(n_players)]
    if player_names is not None:
        names = read_names(player_names, "player_names", of="player")
    if len(names) != n_players:
        raise ValueError(
            f"player_names must be {n_players} names, one for each player, got "
            f"{len(names)}"
        )
    return _explain(
        game,
        "game",
        names,
        n_evaluations,
        deterministic,
        check_random_state(random_state),
    )


def _explain(
    game: Game,
    game_name: str,
    player_names: list[str],
    n_evaluations: int,
    deterministic: bool,
    random: np.random.RandomState,
) -> WalshExplanation:
    """Choose and evaluate coalitions, and fit their values."""
    n_players = len(player_names)
    is_complete = n_evaluations >= 2**n_players
    if not is_complete and n_evaluations < count_ends(n_players):
        raise ValueError(
            f"n_evaluations={n_evaluations} is too few for {n_players} players: take "
            f"{count_ends(n_players)} or more"
        )
    if is_complete:
        coalitions = list_coalitions(n_players)
    else:
        # Their covariance, its factor, and one more.
        require_memory(
            8.0 * 3.0 * n_evaluations**2,
            f"covariances of {n_evaluations} coalitions",
            "take fewer n_evaluations",
        )
        coalitions = sample_coalitions(n_players, n_evaluations, random)
    values = evaluate_game(game, coalitions, game_name)
    seed = int(random.randint(2**31))
    evaluations = Evaluations(coalitions, values, deterministic, is_complete, seed)
    return WalshExplanation(_fit(evaluations), evaluations, player_names)


class WalshExplainer:
    """Explain predictions of any model by sparse interactions of its columns.

    The players of the game are the columns: those in a coalition have the values of the
    row to explain, all others those of the background rows, over which predictions are
    averaged. Categories and numbers are used as they are, never averaged. An
    explanation predicts ``n_evaluations * len(background)`` rows.

    Parameters
    ----------
    model : estimator or callable
        Fitted estimator, such as a pipeline, or a function that returns a number for
        each row of a table.
    background : array-like or DataFrame of shape (n_rows, n_features)
        Rows that replace the values of missing columns, such as 20 to 100 of the
        training rows.
    n_evaluations : int, default=512
        Maximum number of coalitions to evaluate: at least ``2 * n_features + 2``, or
        all.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, \
            default="auto"
        What is explained. "auto" is `predict` for regressors and the first of these
        methods that a classifier has.
    class_of_interest : int, float, bool or str, default=None
        Class whose response is explained. None means the second of two classes, or the
        class with the largest response at the row.
    random_state : int, RandomState instance or None, default=None
        Seed of the coalitions.

    See Also
    --------
    explain_game : Explain any function of switches.
    MOHNRegressor.explain : Terms of the prediction of a MOHN itself.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from skmohn.inspection import WalshExplainer
    >>> X = np.random.default_rng(0).uniform(size=(200, 5))
    >>> y = X[:, 0] + 4.0 * (X[:, 1] > 0.5) * (X[:, 2] > 0.5)
    >>> forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    >>> explainer = WalshExplainer(forest, X[:20])
    >>> explanation = explainer.explain([0.5, 0.9, 0.9, 0.5, 0.5])
    >>> explanation.shapley_values().round(1)
    array([-0.1,  2.3,  0.7,  0. ,  0. ])
    >>> explanation.to_interaction_constraints(2, variance=0.9, main_effects=False)
    [[1, 2]]
    """

    def __init__(
        self,
        model: Any,
        background: TableLike,
        *,
        n_evaluations: int = 512,
        response_method: str = "auto",
        class_of_interest: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        _validate(
            "WalshExplainer",
            n_evaluations=n_evaluations,
            response_method=response_method,
            random_state=random_state,
        )
        self.model, self.n_evaluations = model, n_evaluations
        self.class_of_interest, self.random_state = class_of_interest, random_state
        self._predict = find_predict(model, response_method)
        self.background, self._background = background, Background(background)

    def explain(self, x: TableLike) -> WalshExplanation:
        """Explain the prediction of one row.

        Parameters
        ----------
        x : array-like of shape (n_features,), Series, or DataFrame of one row
            The row, with the columns of the background.

        Returns
        -------
        WalshExplanation
            `empty_value` is the mean prediction of the background, and `full_value`
            that of the row.
        """
        masked = self._background.mask(x)
        column = choose_class(
            self.model, self._predict, masked.row(), self.class_of_interest
        )
        game = MaskedModel(select_output(self._predict, column), masked)
        random = check_random_state(self.random_state)
        return _explain(
            game, "model", self._background.names, self.n_evaluations, True, random
        )
