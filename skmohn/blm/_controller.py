"""Estimator of black-box objectives."""

import time
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmohn._core._estimator import EstimatorMixin
from skmohn._core._fitting import FitLoop, History, all_or_nothing, warn_caller
from skmohn._core._options import Nested, control_of
from skmohn._core._sklearn import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
    with_callbacks,
)
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike, check_array
from skmohn._core._validation import to_numpy
from skmohn.blm._base import BaseBLM
from skmohn.blm._codec import grid_step
from skmohn.blm._conversion import controller_attributes, restore_controller
from skmohn.blm._curriculum import (
    BlackBoxProblem,
    BlackBoxValidation,
    Objective,
    Stage,
    is_consistent,
    read_size,
    read_stages,
    restart_stage,
)
from skmohn.blm._device.export import DeviceMixin
from skmohn.blm._device.network import Network, of_controller
from skmohn.blm._local_search import Trainer, train
from skmohn.blm._network import ACTIVATIONS, Layout, read_hidden_sizes, read_w_max
from skmohn.blm._policy import act
from skmohn.blm._policy_kernels import Policy
from skmohn.blm._search import WORST, InitOptions, MoveOptions, SearchOptions
from skmohn.blm._serialization import write_controller
from skmohn.blm._training_state import TrainingState

_SHARED = (
    "hidden_layer_sizes",
    "activation",
    "n_bits",
    "search",
    "search_options",
    "perturbation",
    "n_restarts",
    "max_time",
    "warm_start",
    "random_state",
    "n_jobs",
)
_POSITIVE = Interval(Real, 0, None, closed="neither")


@dataclass(frozen=True)
class ControllerConstants:
    """The first weights of a controller."""

    max_first_weight: float = tuned(0.01, "benchmarks/ablation.py")


_CONTROLLER = ControllerConstants()
_COUNT = Interval(Integral, 1, None, closed="left")


class BLMController(
    DeviceMixin, Nested, EstimatorMixin, CallbackSupportMixin, BaseEstimator
):
    """Neural network with low-bit weights that learns to control a black box.

    The black box is any function that scores the network by a number, the lower the
    better: a simulator, a game, a device. There are no samples, targets or gradients.
    Networks are feed-forward or recurrent (hidden units receive the previous outputs of
    their layer, a short memory).

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(10,)
        Units in each hidden layer; empty for a linear controller.
    recurrent : bool, default=False
        Whether hidden units also receive the previous outputs of their layer ([2]_).
    n_inputs, n_outputs : int, default=None
        Sizes of an observation and of an action. None means the attributes of the
        objective with these names.
    activation : {"tanh", "identity", "logistic", "relu", "step"}, default="tanh"
        Activation of the hidden units.
    out_activation : {"identity", "tanh", "logistic", "relu", "step"}, \
            default="identity"
        Activation of the outputs.
    n_bits : int, default=16
        Bits per weight, 2 to 24.
    w_max : float or sequence of float, default=10.0
        Largest weight, overall or per layer.
    w_max_recurrent : float or "auto", default="auto"
        Largest weight between hidden units of a layer. "auto" is a tenth of the layer's
        `w_max`: larger ones make the state jump, and no search recovers from that.
    search : {"adaptive", "gray"}, default="adaptive"
        Which moves to try: signed steps whose size adapts to each weight, or single
        bits in random order.
    search_options : SearchOptions, default=None
        Options of the search, such as its random start; None for the defaults.
    perturbation : float, default=0.1
        Fraction of the weights to redraw at a local minimum, before the search
        continues from the best one. 0 ends the stage there.
    noisy : bool, default=False
        Whether the objective returns a different loss each time for the same weights.
        Losses are then averaged: new weights are evaluated as often as those they
        replace, the current ones once more every `validate_every` evaluations. Weights
        that reach a goal or are chosen are evaluated ten more times, so that `loss_` is
        unbiased.
    goal : float, default=None
        Loss at which a run ends and no restart follows, unless the objective is a
        :class:`~skmohn.blm.Stage`.
    validation_goal : float, default=None
        The same for the validation objective, which is then the only criterion.
    validate_every : int, default=100
        Number of evaluations between calls of the validation objective.
    n_restarts : int, default=1
        Maximum number of runs from new random weights. The first success ends them.
    max_evaluations : int, default=5000
        Maximum number of evaluations per run, for each stage without its own limit.
    max_time : float, default=None
        Seconds after which the fit ends, once the current evaluation has returned.
    warm_start : bool, default=False
        Whether `fit` resumes the restarts that were stopped or, if all have ended,
        gives the best one the same number of evaluations again. If the objective or the
        search has changed, weights are evaluated anew and the stage restarts from the
        best. Layers, bits, ranges and activations must not change.
    random_state : int, RandomState instance or None, default=None
        Seed for the search and for the objectives' generators.
    n_jobs : int, default=None
        Number of restarts to run in parallel. It does not affect the controller.

    Attributes
    ----------
    policy_ : Policy
        The network, for use in simulators.
    codes_ : ndarray of shape (n_weights,), int32
        Weights as integers, in units of their steps.
    coefs_ : list of ndarrays of shape (n_in, n_out)
        Weights between layers.
    intercepts_ : list of ndarrays of shape (n_out,)
        Biases.
    recurrent_coefs_ : list of ndarrays of shape (n_units, n_units)
        Weights within each hidden layer, from rows (previous step) to columns; empty
        without recurrence.
    nbytes_ : int
        Bytes of all weights at `n_bits` each.
    loss_ : float
        Loss that chose the weights, on the validation objective or the last stage
        reached. With ``noisy=True`` and no validation, the mean of ten further
        evaluations.
    succeeded_ : bool
        Whether the goal was reached; False without one.
    n_stages_done_ : int
        Number of stages completed.
    n_restarts_ : int
        Number of runs started, up to the one that succeeded.
    n_evaluations_ : int
        Number of training evaluations in all these runs.
    history_ : History
        One dict for every `validate_every` evaluations of each run.
    n_iter_ : int
        Length of the history.
    stopping_reason_ : str
        Why the chosen run ended, or what stopped it.
    n_features_in_ : int
        Size of an observation.

    See Also
    --------
    BLMRegressor : The same search on samples and targets.
    skmohn.datasets.InvertedPendulum : A black box to start with.

    Notes
    -----
    An objective is called as ``objective(policy, rng, incumbent)`` and returns the
    loss. ``policy`` is a :class:`~skmohn.blm.Policy`, the same object each time with
    other weights. ``rng`` is a numpy Generator in the same state at each call of a
    stage (unless ``noisy=True``), so that all weights are compared on the same draws.
    ``incumbent`` is the loss to beat: an objective that sums nonnegative parts may
    return as soon as it exceeds that. NaN counts as an infinite loss. A call that never
    returns cannot be stopped, so give simulations a time limit. If the objective has a
    method ``describe_loss(loss)`` that returns a sentence, such as the reward per
    episode, notebooks show it instead of the loss.

    References
    ----------
    .. [1] Brunato, M. and Battiti, R. (2017). A telescopic binary learning machine for
       training neural networks. IEEE Trans. Neural Networks and Learning Systems 28(3),
       sections III and V.
    .. [2] Elman, J. (1990). Finding structure in time. Cognitive Science 14.

    Examples
    --------
    >>> from skmohn.blm import BLMController
    >>> from skmohn.datasets import InvertedPendulum
    >>> pendulum = InvertedPendulum(duration=20.0, n_simulations=5)
    >>> controller = BLMController((3,), goal=1e-3, n_restarts=5, random_state=0)
    >>> controller = controller.fit(pendulum)
    >>> controller.succeeded_
    True
    >>> errors, falls = pendulum.test(controller.policy_, random_state=0)
    >>> bool(errors.max() < 0.01)
    True
    """

    policy_: Policy
    codes_: np.ndarray
    coefs_: list[np.ndarray]
    intercepts_: list[np.ndarray]
    recurrent_coefs_: list[np.ndarray]
    nbytes_: int
    loss_: float
    succeeded_: bool
    n_stages_done_: int
    n_restarts_: int
    n_evaluations_: int
    history_: History
    n_iter_: int
    stopping_reason_: str
    n_features_in_: int

    _made_with: dict[str, Any]
    _outcome: str  # the loss in the words of its objective
    _when_long = "set max_time to end it earlier"
    _controls = {"search_options": SearchOptions}
    _parameter_constraints = {
        **{name: BaseBLM._parameter_constraints[name] for name in _SHARED},
        "recurrent": ["boolean"],
        "n_inputs": [_COUNT, None],
        "n_outputs": [_COUNT, None],
        "out_activation": [StrOptions(set(ACTIVATIONS))],
        "w_max": [_POSITIVE, "array-like"],
        "w_max_recurrent": [_POSITIVE, StrOptions({"auto"})],
        "noisy": ["boolean"],
        "goal": [Real, None],
        "validation_goal": [Real, None],
        "validate_every": [_COUNT],
        "max_evaluations": [_COUNT],
    }

    def __init__(
        self,
        hidden_layer_sizes: ArrayLike = (10,),
        recurrent: bool = False,
        *,
        n_inputs: int | None = None,
        n_outputs: int | None = None,
        activation: str = "tanh",
        out_activation: str = "identity",
        n_bits: int = 16,
        w_max: ArrayLike = 10.0,
        w_max_recurrent: float | str = "auto",
        search: str = "adaptive",
        search_options: SearchOptions | None = None,
        perturbation: float = 0.1,
        noisy: bool = False,
        goal: float | None = None,
        validation_goal: float | None = None,
        validate_every: int = 100,
        n_restarts: int = 1,
        max_evaluations: int = 5000,
        max_time: float | None = None,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.recurrent = recurrent
        self.n_inputs = n_inputs
        self.n_outputs = n_outputs
        self.activation = activation
        self.out_activation = out_activation
        self.n_bits = n_bits
        self.w_max = w_max
        self.w_max_recurrent = w_max_recurrent
        self.search = search
        self.search_options = search_options
        self.perturbation = perturbation
        self.noisy = noisy
        self.goal = goal
        self.validation_goal = validation_goal
        self.validate_every = validate_every
        self.n_restarts = n_restarts
        self.max_evaluations = max_evaluations
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        objective: Objective | Stage | Sequence[Objective | Stage],
        validation: Objective | None = None,
    ) -> Self:
        """Train the network.

        Parameters
        ----------
        objective : callable, Stage or sequence of these
            Scores the network (see Notes); or a curriculum, in which each stage starts
            from the weights found by the previous one.
        validation : callable, default=None
            A second objective that decides which weights and which restart to keep.

        Returns
        -------
        BLMController
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError, MemoryError
            For invalid input, and if an objective does not return a finite number.
            Errors raised by an objective are passed on, with a note on where they
            occurred.

        Warns
        -----
        ConvergenceWarning
            If no restart reached the goal.
        """
        return self._fit(objective, validation)

    @with_callbacks
    def _fit(
        self,
        objective: Objective | Stage | Sequence[Objective | Stage],
        validation: Objective | None,
    ) -> Self:
        stages = read_stages(objective, self.goal, self.max_evaluations)
        self._search(self._trainer(stages, validation))
        self._warn_if_missed(stages)
        return self

    def _warn_if_missed(self, stages: Sequence[Stage]) -> None:
        goals = [self.validation_goal, *(stage.goal for stage in stages)]
        missed = self.n_stages_done_ < len(stages) or goals[0] is not None
        if not self.succeeded_ and missed and any(goal is not None for goal in goals):
            warn_caller(
                f"no goal was reached in {self.n_restarts_} runs; the best loss is "
                f"{self.loss_:.4g} after {self.n_stages_done_} of {len(stages)} stages:"
                " raise n_restarts or max_evaluations",
                ConvergenceWarning,
            )

    def act(
        self, observation: ArrayLike, state: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute the action for one observation.

        Parameters
        ----------
        observation : array-like of shape (n_features,)
            The observation.
        state : ndarray of shape (2, n_hidden_units), default=None
            The state returned by the last call; None at the first step. Only recurrent
            networks use it.

        Returns
        -------
        action : ndarray of shape (n_outputs,)
            The outputs.
        state : ndarray of shape (2, n_hidden_units)
            To pass with the next observation.

        Raises
        ------
        ValueError
            If a shape does not match the network.
        """
        check_is_fitted(self)
        return act(self.policy_, observation, state)

    def predict(self, X: TableLike) -> NDArray[np.float64]:
        """Compute the actions for a sequence of observations.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features)
            Observations in time order. A recurrent network starts with hidden units at
            zero; others treat each row separately.

        Returns
        -------
        ndarray of shape (n_steps, n_outputs)
            The outputs.
        """
        check_is_fitted(self)
        X, _ = self._rows_of(X)
        actions = np.empty((len(X), self.policy_.sizes[-1]))
        state = self.policy_.initial_state()
        for observation, action in zip(X, actions, strict=True):
            self.policy_.step(observation, state, action)
        return actions

    def to_packed(self) -> bytes:
        """Store the controller in `n_bits` bits per weight.

        Returns
        -------
        bytes
            Everything needed to act, then the weights, `nbytes_` bytes: about 40 more
            with one hidden layer.
        """
        check_is_fitted(self)
        return write_controller(self.codes_, self._made_with)

    @classmethod
    def from_packed(cls, packed: bytes) -> Self:
        """Load a controller stored by :meth:`to_packed`.

        Parameters
        ----------
        packed : bytes
            The bytes from `to_packed`. They may come from elsewhere; see
            :meth:`BLMClassifier.from_packed`.

        Returns
        -------
        BLMController
            Ready to act. Results of training, such as `loss_`, are not stored.

        Raises
        ------
        TypeError
            If `packed` is not bytes.
        ValueError
            If the bytes are not those of a controller, or not all as they were stored.
        """
        return restore_controller(cls, packed)

    def _rows_of(
        self, X: TableLike, **options: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Observations, and the length of their only sequence."""
        X = check_array(to_numpy(X), dtype=np.float64, input_name="X", **options)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has shape {X.shape}, but the controller takes observations of "
                f"shape {(self.n_features_in_,)}"
            )
        return X, np.array([len(X)])

    def _answers_to(self, rows: NDArray, X: TableLike) -> NDArray:
        return rows

    def _list_facts(self) -> list[str]:
        """Layers, bits and bytes, the loss, evaluations, and the end."""
        sizes = ", ".join(map(str, self.policy_.sizes))
        kind = "recurrent layers" if self._made_with["recurrent"] else "layers"
        n_bits = self._made_with["n_bits"]
        facts = [
            f"{kind} of {sizes} units, inputs first",
            f"{len(self.codes_):,} weights of {n_bits} bits: {self.nbytes_:,} bytes",
        ]
        # Those that were loaded have no loss.
        if not hasattr(self, "stopping_reason_"):
            return facts
        runs = f"{self.n_restarts_:,} run{'s' * (self.n_restarts_ > 1)}"
        return [
            *facts,
            self._outcome,
            f"evaluations: {self.n_evaluations_:,} in {runs}",
            f"end of the search: {self.stopping_reason_}",
        ]

    def _device_network(self) -> Network:
        return of_controller(self.codes_, self._made_with)

    def _trainer(
        self, stages: tuple[Stage, ...], validation: Objective | None
    ) -> Trainer[BlackBoxProblem]:
        if validation is not None and not callable(validation):
            raise TypeError(f"validation must be callable, got {validation!r}")
        if validation is None and self.validation_goal is not None:
            raise ValueError(
                "validation_goal needs a validation objective: fit(objective, "
                "validation=...)"
            )
        control = control_of(self, "search_options")
        if control.init == "quantized":
            raise ValueError(
                'init="quantized" needs gradients, which an objective does not have: '
                'set init="bounded"'
            )
        moves = MoveOptions.of(
            control,
            self.n_bits,
            self.search,
            telescopic="threshold",
            # Whatever is added to all losses must not hide what weights gain.
            min_gain=0.0,
        )
        hidden = read_hidden_sizes(self.hidden_layer_sizes)
        n_inputs, n_outputs = (
            read_size(name, getattr(self, name), stages)
            for name in ("n_inputs", "n_outputs")
        )
        layout = Layout((n_inputs, *hidden, n_outputs), self.recurrent)
        layout.require_memory(0, self.n_bits)
        problem = BlackBoxProblem(
            stages=stages,
            layout=layout,
            activation=self.activation,
            out_activation=self.out_activation,
            step=grid_step(self.n_bits, self._ranges(layout)),
            is_noisy=self.noisy,
        )
        # The same for all runs.
        seed = int(check_random_state(self.random_state).randint(2**31))
        held_out = None
        if validation is not None:
            held_out = BlackBoxValidation(
                objective=validation, problem=problem, seed=seed
            )
        return Trainer(
            problem=problem,
            validation=held_out,
            moves=moves,
            init=InitOptions.of(control, _CONTROLLER.max_first_weight),
            perturbation=self.perturbation,
            epoch=self.validate_every,
            validation_goal=self.validation_goal,
        )

    def _ranges(self, layout: Layout) -> NDArray[np.float64]:
        """Largest value of each weight."""
        n_layers = len(layout.sizes) - 1
        own = None
        if self.w_max_recurrent != "auto":
            own = np.full(n_layers, float(self.w_max_recurrent))
        # A list of one number is one for all layers.
        w_max = self.w_max
        if np.size(w_max) == 1:
            w_max = np.repeat(w_max, n_layers)
        return layout.spread(read_w_max(w_max, n_layers), own)

    def _search(self, trainer: Trainer[BlackBoxProblem]) -> None:
        is_resumed = self.warm_start and hasattr(self, "_runs")
        states = self._reopened(trainer) if is_resumed else []
        random = check_random_state(self.random_state)
        seeds = random.randint(2**31, size=self.n_restarts).tolist()
        states += [
            TrainingState([seed], index)
            for index, seed in enumerate(seeds)
            if index >= len(states)
        ]
        loop = FitLoop(
            self,
            attributes=lambda state, best: self._fitted([best], trainer),
            history=list(self.history_) if is_resumed else [],
        )

        def report(advanced: list[TrainingState], best: TrainingState) -> bool:
            # All of them go into the history.
            stops = [loop.step(one.records[-1], one, best) for one in advanced]
            return any(stops)

        deadline = time.perf_counter() + (self.max_time or inf)
        states, reason = train(
            trainer,
            states,
            order="until_success",
            n_jobs=self.n_jobs,
            report=report,
            deadline=deadline,
        )
        best = states[0]
        loop.finish(best, best)
        if best.best_loss >= WORST:
            raise ValueError(
                f"the objective returned no finite loss in {best.evaluations} "
                "evaluations: it must be finite for some of the initial weights "
                "(w_init, init)"
            )
        vars(self).update(self._fitted(states, trainer))
        if trainer.validation is None:
            self.loss_ = float(trainer.problem.expected_loss(best))
        self._outcome = _describe_loss(trainer, best, self.loss_)
        self._runs = sorted(states, key=lambda state: state.index)
        self.stopping_reason_ = str(best.stopping_reason or reason)
        self.history_ = _in_order(loop.history, {state.index for state in states})
        self.n_iter_ = len(self.history_)

    def _reopened(self, trainer: Trainer[BlackBoxProblem]) -> list[TrainingState]:
        """States of the last fit; the best is resumed when all have ended."""
        # A fit that fails leaves them as they were.
        states, before, now = deepcopy(self._runs), self._made_with, _made_with(trainer)
        same_search = now.pop("search") == before["search"]
        changed = [name for name in now if not np.array_equal(now[name], before[name])]
        if changed:
            raise ValueError(
                "warm_start cannot continue, because the network has changed since the "
                f"last fit ({' and '.join(changed)}): restore it or fit anew"
            )
        stage, n_stages = max(s.stage for s in states), len(trainer.problem.stages)
        if stage >= n_stages:
            raise ValueError(
                f"warm_start continues in stage {stage + 1}, but objective has "
                f"{n_stages} stages"
            )
        for state in states:
            if not (same_search and is_consistent(trainer, state)):
                restart_stage(trainer, state)
        if all(state.stopping_reason is not None for state in states):
            best = min(states, key=lambda state: (not state.succeeded, state.rank))
            best.stopping_reason, best.stage_evaluations = None, 0
            best.succeeded = False
        return states

    def _fitted(
        self, states: list[TrainingState], trainer: Trainer[BlackBoxProblem]
    ) -> dict[str, Any]:
        """Fitted attributes, given the best run and all others."""
        best = states[0]
        return {
            **controller_attributes(best.best_codes, _made_with(trainer)),
            "loss_": float(best.best_loss),
            "succeeded_": bool(best.succeeded),
            "n_stages_done_": best.n_stages_done,
            "n_restarts_": len(states),
            "n_evaluations_": sum(state.evaluations for state in states),
        }


def _describe_loss(
    trainer: Trainer[BlackBoxProblem], best: TrainingState, loss: float
) -> str:
    """Describe a loss in the words of the objective that returned it, if it has any."""
    chosen_by: Any = trainer.validation or trainer.problem.stages[best.best_stage]
    describe = getattr(chosen_by.objective, "describe_loss", None)
    return f"loss: {loss:.4g}" if describe is None else str(describe(loss))


def _made_with(trainer: Trainer[BlackBoxProblem]) -> dict[str, Any]:
    """Parameters that a later fit must share to resume these weights."""
    problem = trainer.problem
    return {
        "layers": problem.layout.sizes,
        "recurrent": bool(problem.layout.recurrent),
        "n_bits": trainer.moves.n_bits,
        "w_max": problem.step,
        "activation": problem.activation,
        "out_activation": problem.out_activation,
        "search": trainer.moves,
    }


def _in_order(history: History, indices: set[int]) -> History:
    """Records of these restarts, one after the other."""
    kept = [record for record in history if record["restart"] in indices]
    kept.sort(key=lambda record: record["restart"])
    return History({**record, "iteration": k + 1} for k, record in enumerate(kept))
