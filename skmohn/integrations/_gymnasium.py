"""Environments of gymnasium as black boxes to train controllers on."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from threading import get_ident
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, check_scalar

from skmohn._core._optional import import_optional
from skmohn._core._tuned import tuned
from skmohn._core._validation import is_integer
from skmohn.blm._engine import require_policy


@dataclass(frozen=True)
class GymnasiumConstants:
    """Rewards of environments."""

    # Of rewards in single precision.
    rounding: float = tuned(1e-6, "rounding")


_GYMNASIUM = GymnasiumConstants()


class GymnasiumObjective:
    """Minus the mean return of a policy in a gymnasium environment, as an objective.

    Pass it to :meth:`BLMController.fit <skmohn.BLMController.fit>`. Observations must
    flatten to numbers; actions must be Discrete (the largest output picks one) or a Box
    (outputs of -1 and 1 are the ends of the range, values beyond are clipped, and
    integers rounded). An episode with an observation or a reward of NaN, or an infinite
    return, has the return NaN, so that its controller is never chosen.

    Parameters
    ----------
    environment : str or callable
        An id for ``gymnasium.make``, or a function that returns an environment. With
        `n_jobs`, the function must be defined in a module.
    n_episodes : int, default=10
        Number of episodes per evaluation, seeded by the `rng` of the call.
    max_steps : int, default=None
        Maximum number of steps per episode. None for the environment's own limit.
    max_reward : float, default=None
        Upper bound of the reward per step, if you know one. Evaluations then end as
        soon as they cannot beat the incumbent. A larger reward is an error.
    **options : dict
        Passed to ``gymnasium.make``.

    Attributes
    ----------
    n_inputs : int
        Size of an observation.
    n_outputs : int
        Size of the policy's output.

    Raises
    ------
    ImportError
        Without gymnasium (``pip install skmohn[gymnasium]``).
    ValueError
        If observations or actions are of a different kind, or episodes have no limit.

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("gymnasium")
    >>> from skmohn import BLMController
    >>> from skmohn.integrations import GymnasiumObjective
    >>> cartpole = GymnasiumObjective("CartPole-v1", n_episodes=5, max_reward=1.0)
    >>> controller = BLMController((), n_bits=4, goal=-500.0, random_state=0)
    >>> controller = controller.fit(cartpole)
    >>> controller.loss_
    -500.0
    """

    def __init__(
        self,
        environment: str | Callable[..., Any],
        n_episodes: int = 10,
        *,
        max_steps: int | None = None,
        max_reward: float | None = None,
        **options: Any,
    ) -> None:
        _require_count(n_episodes, "n_episodes")
        if max_steps is not None:
            _require_count(max_steps, "max_steps")
        is_number = isinstance(max_reward, Real) and np.isfinite(max_reward)
        if max_reward is not None and not is_number:
            raise ValueError(
                f"max_reward must be a finite number or None, got {max_reward!r}"
            )
        if not (isinstance(environment, str) or callable(environment)):
            raise TypeError(
                "environment must be an environment id or a function that makes one, "
                f"got {environment!r}"
            )
        self.environment = environment
        self.n_episodes = n_episodes
        self.max_reward = max_reward
        self.options = options
        self._made = {}
        made = self._environment()
        spec = getattr(made, "spec", None)
        limit = spec.max_episode_steps if spec else None
        if max_steps is None and limit is None:
            raise ValueError(
                f"nothing limits the episodes of {made}: pass max_steps, because an "
                "endless evaluation cannot be stopped"
            )
        self.max_steps = min(n for n in (max_steps, limit) if n is not None)
        self.n_inputs = _n_numbers(made.observation_space)
        self.n_outputs = _n_outputs(made.action_space)

    def __call__(
        self,
        policy: Any,
        rng: np.random.Generator,  # draws the seeds of the episodes
        incumbent: float = np.inf,
    ) -> float:
        """Compute the loss of a policy: minus its mean return."""
        # Once the loss is certain to reach `incumbent`, it is a number no less than
        # that, see `max_reward`.
        require_policy(policy)
        check_scalar(incumbent, "incumbent", Real)
        seeds = rng.integers(2**31, size=self.n_episodes).tolist()
        # What the sum of returns must exceed, and what it can still gain.
        wanted = -incumbent * self.n_episodes
        hope, total = np.inf, 0.0
        for left, seed in zip(range(self.n_episodes)[::-1], seeds, strict=True):
            if self.max_reward is not None:
                hope = left * max(self.max_reward, 0.0) * self.max_steps
            total += self._episode(policy, seed, wanted - total - hope)
            if total + hope <= wanted:
                return incumbent
        return -total / self.n_episodes

    def test(
        self,
        policy: Any,
        n_episodes: int = 100,
        random_state: int | np.random.RandomState | None = None,
    ) -> NDArray[np.float64]:
        """Run a policy in new episodes.

        Parameters
        ----------
        policy : Policy
            The policy.
        n_episodes : int, default=100
            Number of episodes.
        random_state : int, RandomState instance or None, default=None
            Seed for the episodes.

        Returns
        -------
        ndarray of shape (n_episodes,)
            Return of each episode: the sum of its rewards.
        """
        require_policy(policy)
        _require_count(n_episodes, "n_episodes")
        seeds = check_random_state(random_state).randint(2**31, size=n_episodes)
        return np.array([self._episode(policy, int(seed)) for seed in seeds])

    def describe_loss(self, loss: float) -> str:
        """Describe a loss as a return, for notebooks.

        Parameters
        ----------
        loss : float
            Minus the mean return.

        Returns
        -------
        str
            A sentence with the mean return.
        """
        n_episodes = f"{self.n_episodes:,} episode{'s' * (self.n_episodes > 1)}"
        return f"mean return (reward per episode) of {n_episodes}: {-loss:.4g}"

    def _episode(self, policy: Any, seed: int, wanted: float = -np.inf) -> float:
        """Return of an episode, or a value below `wanted` once that is certain."""
        environment = self._environment()
        to_numbers, to_action = self._codings(environment)
        observation, _ = _unpack(environment.reset(seed=seed), 2, "reset")
        state, outputs = policy.initial_state(), np.empty(self.n_outputs)
        total = 0.0
        for left in range(self.max_steps)[::-1]:
            numbers = to_numbers(observation)
            if len(numbers) != self.n_inputs:
                raise ValueError(
                    f"environment has an observation of {len(numbers)} numbers, but "
                    f"its observation_space has {self.n_inputs}"
                )
            if np.isnan(numbers).any():
                return np.nan
            policy.step(numbers, state, outputs)
            found = environment.step(to_action(outputs))
            observation, reward, is_end, is_cut, _ = _unpack(found, 5, "step")
            total += self._read_reward(reward)
            if is_end or is_cut:
                break
            if self.max_reward is None or wanted == -np.inf:
                continue
            if total + max(self.max_reward, 0.0) * left <= wanted:
                break
        return total if total < np.inf else np.nan

    def _read_reward(self, reward: Any) -> float:
        """Reward as a float, also of an array of one number."""
        try:
            found = float(np.asarray(reward).item())
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"environment has the reward {reward!r:.60}, which is not a number"
            ) from error
        high = self.max_reward
        if high is not None and found > high + _GYMNASIUM.rounding * abs(high):
            raise ValueError(
                f"max_reward={high}, but a step was rewarded {found:g}: raise it, or "
                "pass None"
            )
        return found

    def _codings(
        self, environment: Any
    ) -> tuple[
        Callable[[Any], NDArray[np.float64]], Callable[[NDArray[np.float64]], Any]
    ]:
        """Functions from observations to numbers and from outputs to actions."""
        spaces = _gymnasium().spaces
        seen, acted = environment.observation_space, environment.action_space
        if isinstance(seen, spaces.Box):

            def to_numbers(observation: Any) -> np.ndarray:
                return np.asarray(observation, dtype=np.float64).ravel()

        else:

            def to_numbers(observation: Any) -> np.ndarray:
                return np.asarray(spaces.flatten(seen, observation), dtype=np.float64)

        if isinstance(acted, spaces.Discrete):
            first = int(acted.start)
            return to_numbers, lambda outputs: first + int(outputs.argmax())
        low, high = (np.asarray(bound, np.float64) for bound in (acted.low, acted.high))
        is_bounded = np.isfinite(low) & np.isfinite(high)
        # Halves: the range may be wider than a float.
        half_low = np.where(is_bounded, low / 2, -0.5)
        half_high = np.where(is_bounded, high / 2, 0.5)
        middle, half = half_low + half_high, half_high - half_low
        are_integers = acted.dtype.kind in "iu"

        def to_action(outputs: NDArray[np.float64]) -> NDArray:
            action = middle + half * outputs.reshape(acted.shape)
            if not are_integers:
                return np.clip(action, low, high).astype(acted.dtype)
            # An end may be no float, and its float no such integer.
            inside = (low < np.rint(action)) & (np.rint(action) < high)
            rounded = np.where(inside, np.rint(action), 0.0).astype(acted.dtype)
            ends = np.where(action > middle, acted.high, acted.low)
            return np.where(inside, rounded, ends)

        return to_numbers, to_action

    def _environment(self) -> Any:
        """Environment of this thread, made when it is first needed."""
        thread = get_ident()
        if thread not in self._made:
            make = self.environment
            if isinstance(make, str):
                try:
                    made = _gymnasium().make(make, **self.options)
                except _gymnasium().error.Error as error:
                    raise ValueError(f"environment={make!r}: {error}") from error
            else:
                made = make(**self.options)
                parts = ("observation_space", "action_space", "reset", "step")
                if not all(hasattr(made, part) for part in parts):
                    raise TypeError(
                        "environment must be a function that returns an environment of "
                        f"gymnasium, but it returns {made!r:.60}"
                    )
            self._made[thread] = made
        return self._made[thread]

    def __getstate__(self) -> dict[str, Any]:
        """Leave environments behind: others are made elsewhere."""
        return {**vars(self), "_made": {}}


def _gymnasium() -> ModuleType:
    return import_optional("gymnasium", "GymnasiumObjective")


def _require_count(value: object, name: str) -> None:
    if not is_integer(value) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")


def _unpack(found: Any, length: int, name: str) -> tuple[Any, ...]:
    """Check what `reset` or `step` of an environment returns."""
    if not isinstance(found, tuple) or len(found) != length:
        n_found = len(found) if isinstance(found, tuple) else 1
        raise TypeError(
            f"{name} of environment returns {n_found} values where gymnasium has "
            f"{length}: is it an environment of gym? Wrap it with the package shimmy"
        )
    return found


def _n_numbers(space: Any) -> int:
    """Numbers of an observation that is laid out in a row."""
    if not space.is_np_flattenable:
        raise ValueError(
            f"observations of {space} cannot be flattened to numbers: wrap the "
            "environment (gymnasium.ObservationWrapper)"
        )
    n_numbers = _gymnasium().spaces.flatdim(space)
    if not n_numbers:
        raise ValueError(f"observations of {space} have no numbers")
    return n_numbers


def _n_outputs(space: Any) -> int:
    """Outputs that an action needs."""
    spaces = _gymnasium().spaces
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.Box) and np.prod(space.shape):
        return int(np.prod(space.shape))
    raise ValueError(
        f"actions must be Discrete or Box, got {space}: wrap the environment "
        "(gymnasium.ActionWrapper)"
    )
