"""Pendulum on a cart, to be balanced: a black box to train controllers on."""

import math
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_random_state, check_scalar

from skmohn._core._tuned import tuned
from skmohn._core._types import check_array
from skmohn._core._validation import require_memory
from skmohn.blm._engine import require_policy
from skmohn.datasets import _pendulum_kernels as kernels

_LARGEST = float(np.finfo(float).max)


@dataclass(frozen=True)
class PendulumConstants:
    """Limits of states."""

    # Squares of larger numbers would be infinite.
    max_start: float = tuned(1e150, "rounding")


_PENDULUM = PendulumConstants()

# Of which floats hold each.
_MAX_STEPS: Final = 2**53


@dataclass(frozen=True)
class InvertedPendulum:
    """Balance a pendulum on a cart: an objective for controllers.

    Called with a policy, it simulates the system from several starts and returns the
    mean of angle^2 + `position_weight` * position^2 over time. Angles are positive to
    the left, positions and forces to the right. It takes Euler steps and holds each
    force for several of them. A simulation ends when the pendulum has fallen.

    A policy is any object with methods ``initial_state`` and ``step`` that numba can
    compile, such as :class:`~skmohn.blm.Policy`. It observes position, angle and, with
    ``observe="all"``, their velocities (m, rad, m/s, rad/s), and returns a force (N).

    Parameters
    ----------
    observe : {"all", "positions"}, default="all"
        What the policy observes: all four numbers, or position and angle.
    n_simulations : int, default=50
        Number of starts, over which the error is averaged.
    duration : float, default=100.0
        Simulated seconds per start.
    transient : float, default=1.0
        Seconds at the start that do not count.
    starts : {"grid", "random"}, default="grid"
        Starting angles: evenly spaced, or drawn with the `rng` of the call.
    max_start : float, default=0.4
        Largest starting angle to either side, in rad; all else starts at zero.
    mass, cart_mass : float, default=1.0
        Masses of pendulum and cart, in kg.
    length : float, default=1.0
        Length of the pendulum, in m.
    gravity : float, default=9.81
        Gravity, in m/s^2.
    time_step : float, default=0.01
        Time step of the simulation, in s.
    hold : int, default=10
        Number of time steps that a force lasts.
    position_weight : float, default=0.01
        Weight of the squared position, in 1/m^2.
    max_angle : float, default=1.6
        Angle beyond which the pendulum has fallen, in rad. With `numpy.inf` here and in
        `max_position`, simulations run to the end, whatever happens; the error is
        infinite if numbers overflow.
    max_position : float, default=20.0
        Position beyond which it counts as fallen, in m.
    fall_cost : float, default=6.5
        Error at each time after a fall, about that at the fall.

    Attributes
    ----------
    n_inputs : int
        Size of an observation.
    n_outputs : int
        Size of an action: 1.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    .. [1] Brunato, M. and Battiti, R. (2017). A telescopic binary learning machine for
       training neural networks. IEEE Trans. Neural Networks and Learning Systems 28(3),
       section V: the equations of Fig. 15 and Eq 7.

    Examples
    --------
    A linear controller with gains chosen by hand:

    >>> from skmohn.blm import make_policy
    >>> from skmohn.datasets import InvertedPendulum
    >>> pendulum = InvertedPendulum(n_simulations=10)
    >>> policy = make_policy((4, 1), [0.0, 1.0, -40.0, 2.0, -12.0])
    >>> errors, falls = pendulum.test(policy, duration=1000.0, random_state=0)
    >>> bool(errors.mean() < 0.01)
    True
    """

    observe: str = "all"
    n_simulations: int = 50
    duration: float = 100.0
    _: KW_ONLY
    transient: float = 1.0
    starts: str = "grid"
    max_start: float = 0.4
    mass: float = 1.0
    cart_mass: float = 1.0
    length: float = 1.0
    gravity: float = 9.81
    time_step: float = 0.01
    hold: int = 10
    position_weight: float = 0.01
    max_angle: float = 1.6
    max_position: float = 20.0
    fall_cost: float = 6.5

    def __post_init__(self) -> None:
        """Refuse values that make no system."""
        for name, allowed in {
            "observe": ("all", "positions"),
            "starts": ("grid", "random"),
        }.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} must be one of {allowed}, got {getattr(self, name)!r}"
                )
        for field in fields(self)[1:]:
            name, value = field.name, getattr(self, field.name)
            kind = {"str": None, "int": Integral, "float": Real}[
                cast(type, field.type).__name__
            ]
            if kind is None:
                continue
            may_be_zero = name in ("transient", "max_start", "position_weight")
            may_be_infinite = name in ("max_angle", "max_position") and value == np.inf
            # True is no number, though Python takes it for 1.
            is_right = isinstance(value, kind) and not isinstance(value, bool)
            maximum = _PENDULUM.max_start if name == "max_start" else _LARGEST
            is_right = is_right and (_is_at_most(value, maximum) or may_be_infinite)
            if not is_right or value < 0 or (value == 0 and not may_be_zero):
                what = "integer" if kind is Integral else "number"
                sign = "a nonnegative" if may_be_zero else "a positive"
                raise ValueError(f"{name} must be {sign} {what}, got {value!r}")
            # In numbers of few bytes, products would overflow.
            object.__setattr__(self, name, (int if kind is Integral else float)(value))
        if max(self.duration, self.transient) / self.time_step > _MAX_STEPS:
            raise ValueError(
                f"duration={self.duration} and transient={self.transient} are too many "
                f"steps of time_step={self.time_step}"
            )
        # Whole forces make up a simulation, so that its end may be rounded off.
        if self._n_counted < 1:
            raise ValueError(
                f"duration={self.duration} must be longer than transient="
                f"{self.transient}, also when rounded to whole forces of "
                f"{self.hold * self.time_step:g} s"
            )

    @property
    def n_inputs(self) -> int:
        """Size of an observation."""
        return 4 if self.observe == "all" else 2

    @property
    def n_outputs(self) -> int:
        """Size of an action."""
        return 1

    @property
    def n_actions(self) -> int:
        """Forces of a simulation."""
        return round(self.duration / (self.time_step * self.hold))

    @property
    def _n_silent(self) -> int:
        """Steps at the start that do not count."""
        return round(self.transient / self.time_step)

    @property
    def _n_counted(self) -> int:
        """Steps of a simulation that count."""
        return self.n_actions * self.hold - self._n_silent

    def __call__(
        self,
        policy: Any,
        rng: np.random.Generator,  # draws the starts, if these are random
        incumbent: float = np.inf,
    ) -> float:
        """Compute the error of a policy (Eq 7), the mean over all simulations."""
        # When the error is certain to reach `incumbent`, the result is a lower bound of
        # it that is not below `incumbent`.
        angles = self._angles(self.n_simulations, rng)
        return self._simulate(policy, angles, incumbent)[0]

    def test(
        self,
        policy: Any,
        n_simulations: int = 50,
        duration: float = 1000.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Run a policy from new random starts.

        Parameters
        ----------
        policy : policy
            The policy.
        n_simulations : int, default=50
            Number of starts.
        duration : float, default=1000.0
            Simulated seconds per start.
        random_state : int, RandomState instance or None, default=None
            Seed for the starts.

        Returns
        -------
        errors : ndarray of shape (n_simulations,)
            Error of each simulation.
        falls : ndarray of shape (n_simulations,)
            Second at which the pendulum fell; infinite if it did not.
        """
        require_policy(policy)
        test = replace(self, duration=duration, n_simulations=n_simulations)
        _require_room(test.n_simulations)
        random = check_random_state(random_state)
        angles = random.uniform(-self.max_start, self.max_start, test.n_simulations)
        _, errors, falls = test._simulate(policy, angles, np.inf)
        return errors, np.where(falls >= 0, falls * self.time_step, np.inf)

    def trace(
        self, policy: Any, start: ArrayLike = 0.4, duration: float | None = None
    ) -> Any:
        """Record one simulation.

        Parameters
        ----------
        policy : policy
            The policy.
        start : float or array-like of shape (4,), default=0.4
            Starting angle, or position, angle and their velocities.
        duration : float, default=None
            Simulated seconds; None for that of the pendulum.

        Returns
        -------
        Bunch
            Arrays of shape (n_steps,): ``time``, ``x``, ``angle``, ``velocity``,
            ``angular_velocity`` and ``force``, at the start of each step, up to a fall.
        """
        require_policy(policy)
        made = self if duration is None else replace(self, duration=duration)
        start = _read_state([0.0, start, 0.0, 0.0] if np.isscalar(start) else start)
        cart = made._cart()
        observation, action = made._room()
        memory = np.array(policy.initial_state(), dtype=float)
        states, forces = [start.tolist()], []
        for step in range(made.n_actions * made.hold):
            if step % cart.hold == 0:
                observation[:] = states[step][: len(observation)]
                policy.step(observation, memory, action)
            forces.append(float(action[0]))
            slopes = _slopes(cart, states[step], forces[step])
            pairs = zip(states[step], slopes, strict=True)
            states.append([value + cart.time_step * slope for value, slope in pairs])
            if not kernels.stands(cart, *states[-1][:2]):
                break
        names = "x", "angle", "velocity", "angular_velocity"
        columns = dict(zip(names, np.array(states[:-1]).T.copy(), strict=True))
        times = np.arange(len(forces)) * self.time_step
        return Bunch(time=times, **columns, force=np.array(forces))

    def derivative(self, state: ArrayLike, force: float = 0.0) -> NDArray[np.float64]:
        """Compute the right-hand side of the differential equations.

        Parameters
        ----------
        state : array-like of shape (4,)
            Position, angle and their velocities.
        force : float, default=0.0
            Force on the cart.

        Returns
        -------
        ndarray of shape (4,)
            Velocities and accelerations.
        """
        state = _read_state(state)
        check_scalar(force, "force", Real)
        # Infinite where numbers overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.array(_slopes(self._cart(), state, force))

    def energy(self, state: ArrayLike) -> Any:
        """Compute the kinetic plus potential energy, constant without a force.

        Parameters
        ----------
        state : array-like of shape (4, ...)
            Positions, angles and their velocities.

        Returns
        -------
        float or ndarray
            In J; zero at rest with the pendulum horizontal.
        """
        _, angle, velocity, angular_velocity = _read_state(state)
        # Infinite where numbers overflow.
        with np.errstate(over="ignore"):
            arc = self.length * angular_velocity
            square = (velocity - arc * np.cos(angle)) ** 2 + (arc * np.sin(angle)) ** 2
            kinetic = 0.5 * (self.cart_mass * velocity**2 + self.mass * square)
        return kinetic + self.mass * self.gravity * self.length * np.cos(angle)

    def _angles(
        self, n_simulations: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        _require_room(n_simulations)
        if self.starts == "random":
            angles = rng.uniform(-self.max_start, self.max_start, n_simulations)
            return _hardest_first(angles)
        return _even_angles(self.max_start, n_simulations)

    def _simulate(
        self, policy: Any, angles: NDArray[np.float64], incumbent: float
    ) -> tuple[float, NDArray[np.float64], NDArray[np.intp]]:
        """Mean error, errors and steps of the falls."""
        require_policy(policy)
        check_scalar(incumbent, "incumbent", Real)
        starts = np.zeros((len(angles), 4))
        starts[:, 1] = angles
        cart = self._cart()
        n_counted = self._n_counted
        n_all = n_counted * len(starts)
        costs, falls = np.empty(len(starts)), np.empty(len(starts), dtype=np.int64)
        memory = policy.initial_state()
        memories = np.empty((len(starts), *memory.shape))
        memories[:] = memory
        # So that a sum that has reached the limit is a mean that has, when rounded. No
        # limit is NaN, which an infinite sum does not reach.
        limit = (
            np.nextafter(incumbent * n_all, np.inf) if incumbent < np.inf else np.nan
        )
        total = kernels.simulate(
            policy,
            cart,
            starts,
            memories,
            *self._room(),
            self.n_actions,
            limit,
            costs,
            falls,
        )
        return total / n_all, costs / n_counted, falls

    def _room(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Arrays for an observation and an action."""
        return np.empty(4 if self.observe == "all" else 2), np.zeros(1)

    def _cart(self) -> kernels.Cart:
        """Arguments of the kernels."""
        # A number that overflows ends any simulation.
        max_angle = min(float(self.max_angle), _LARGEST)
        max_position = min(float(self.max_position), _LARGEST)
        is_endless = max_angle == max_position == _LARGEST
        return kernels.Cart(
            mass=float(self.mass),
            cart_mass=float(self.cart_mass),
            length=float(self.length),
            gravity=float(self.gravity),
            time_step=float(self.time_step),
            hold=int(self.hold),
            n_silent=self._n_silent,
            position_weight=float(self.position_weight),
            max_angle=max_angle,
            max_position=max_position,
            fall_cost=np.inf if is_endless else float(self.fall_cost),
            sees_velocities=self.observe == "all",
        )


def _require_room(n_simulations: int) -> None:
    """Refuse starts that do not fit in memory: a state of four numbers each."""
    require_memory(
        32.0 * n_simulations,
        f"n_simulations={n_simulations:,}",
        "simulate fewer starts",
    )


def _is_at_most(value: Any, maximum: float) -> bool:
    """Whether a number is no larger than one, nor is minus infinite."""
    try:
        return -_LARGEST <= float(value) <= maximum
    except OverflowError:  # an integer that no float can be
        return False


def _slopes(cart: kernels.Cart, state: Any, force: float) -> tuple[Any, ...]:
    """Velocities and accelerations."""
    _, angle, *velocities = state
    # As compiled, to the last digit: numpy's sine is another one.
    sine, cosine = math.sin(angle), math.cos(angle)
    pair = kernels.accelerations(cart, sine, cosine, velocities[1], force)
    return *velocities, *pair


def _read_state(state: ArrayLike) -> NDArray[np.float64]:
    """Positions, angles and their velocities as rows of an array."""
    values: Any = state
    try:
        values = check_array(
            state, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name="state"
        )
        is_one = len(values) == 4
    except (TypeError, OverflowError):  # a number or no list of numbers
        is_one = False
    if not is_one:
        raise ValueError(
            "a state is four numbers, position, angle and their velocities, got "
            f"{values!r}"
        )
    return values


def _hardest_first(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Order angles so that evaluations that may end early end soonest."""
    return angles[np.argsort(-np.abs(angles), kind="stable")]


@lru_cache
def _even_angles(max_start: float, n_simulations: int) -> NDArray[np.float64]:
    """Equally spaced angles, cached: an evaluation may take no longer than they do."""
    return _hardest_first(np.linspace(-max_start, max_start, n_simulations))
