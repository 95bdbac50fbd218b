"""Compiled simulation of a pendulum on a cart, under any policy."""

from typing import NamedTuple

import numpy as np

from skmohn._core._jit import jit

# Actions after which it is the turn of the next simulation.
_TOGETHER = 20


class Cart(NamedTuple):
    """Constants of the system and of its simulation, in SI units."""

    mass: float
    cart_mass: float
    length: float
    gravity: float
    time_step: float
    hold: int  # steps that a force lasts
    n_silent: int  # steps at the start that do not count
    position_weight: float
    max_angle: float
    max_position: float
    fall_cost: float
    sees_velocities: bool


@jit
def accelerations(cart, angle, angular_velocity, force):
    """Accelerations of the cart and of the angle. O(1)."""
    sine, cosine = np.sin(angle), np.cos(angle)
    mass, length, gravity = cart.mass, cart.length, cart.gravity
    pull = mass * sine * (length * angular_velocity**2 - gravity * cosine)
    linear = (force - pull) / (cart.cart_mass + mass * sine**2)
    return linear, (linear * cosine + gravity * sine) / length


@jit
def _move(cart, x, angle, velocity, angular_velocity, force):
    """Make one Euler step. O(1)."""
    linear, angular = accelerations(cart, angle, angular_velocity, force)
    step = cart.time_step
    return (
        x + step * velocity,
        angle + step * angular_velocity,
        velocity + step * linear,
        angular_velocity + step * angular,
    )


@jit(allocates=True)
def _act(policy, observation, memory, action):
    """Ask the policy. Numba would compile its method for each kernel that names it."""
    policy.step(observation, memory, action)


@jit
def _stands(cart, x, angle):
    """Whether it has not fallen; a number that is none has. O(1)."""
    return abs(angle) <= cart.max_angle and abs(x) <= cart.max_position


@jit(allocates=True)
def simulate(
    policy, cart, states, memories, observation, action, n_actions, limit, costs, falls
):
    """Let a policy balance from each start; return the sum of all costs.

    All simulations go on for a while before any goes further: a good policy has most of
    its cost at the beginning, so that a sum above the limit shows soonest.

    Parameters
    ----------
    policy : named tuple with the compiled method `step`
    cart : Cart
    states : ndarray of shape (n_simulations, 4)
        Position, angle and their velocities at the start, changed in place.
    memories : ndarray of shape (n_simulations, ...)
        Initial states of the policy, changed in place. Python makes them and all that
        kernels only need room for: numba takes long to compile that.
    observation, action : ndarrays of shape (2,) or (4,), and (1,)
        Room for both.
    n_actions : int
    limit : float
        End as soon as the sum reaches this.
    costs : ndarray of shape (n_simulations,)
        Filled with the sum over the steps of each simulation, those after a fall
        included; parts of it after an early end.
    falls : ndarray of shape (n_simulations,), int64
        Filled with the step of the fall, or -1 without one.

    Returns
    -------
    total : float
    """
    for k in range(states.shape[0]):
        costs[k], falls[k] = 0.0, -1
    total, n_done = 0.0, 0
    while n_done < n_actions and total < limit:
        n_next = n_done + _TOGETHER
        n_next = n_actions if n_actions < n_next else n_next
        for k in range(states.shape[0]):
            if falls[k] < 0 and total < limit:
                cost, falls[k] = _go_on(
                    policy,
                    cart,
                    states[k],
                    memories[k],
                    observation,
                    action,
                    n_done,
                    n_next,
                    n_actions,
                )
                costs[k] += cost
                total += cost
        n_done = n_next
    return total


@jit(allocates=True)
def _go_on(policy, cart, state, memory, observation, action, n_done, n_next, n_actions):
    """Continue a simulation; return the cost, and the step of a fall or -1."""
    x, angle, velocity, angular_velocity = state[0], state[1], state[2], state[3]
    cost, step = 0.0, n_done * cart.hold
    for _ in range(n_done, n_next):
        observation[0], observation[1] = x, angle
        if cart.sees_velocities:
            observation[2], observation[3] = velocity, angular_velocity
        _act(policy, observation, memory, action)
        for _ in range(cart.hold):
            x, angle, velocity, angular_velocity = _move(
                cart, x, angle, velocity, angular_velocity, action[0]
            )
            step += 1
            if not _stands(cart, x, angle):
                counted = step - 1 if step > cart.n_silent else cart.n_silent
                left = n_actions * cart.hold - counted
                return cost + cart.fall_cost * left, step
            if step > cart.n_silent:
                cost += angle**2 + cart.position_weight * x**2
    state[0], state[1], state[2], state[3] = x, angle, velocity, angular_velocity
    return cost, -1


@jit(allocates=True)
def trace(policy, cart, states, memory, observation, action, forces):
    """Record one simulation; return its number of steps.

    Parameters
    ----------
    policy, cart, observation, action
        As in :func:`simulate`.
    states : ndarray of shape (n_steps + 1, 4)
        The start, then filled with position, angle and velocities.
    memory : ndarray
        Initial state of the policy, changed in place.
    forces : ndarray of shape (n_steps,)
        Filled with the force on the cart.

    Returns
    -------
    n_steps : int
        Less than asked for after a fall.
    """
    for step in range(forces.shape[0]):
        x, angle = states[step, 0], states[step, 1]
        velocity, angular_velocity = states[step, 2], states[step, 3]
        if step % cart.hold == 0:
            for k in range(observation.shape[0]):
                observation[k] = states[step, k]
            _act(policy, observation, memory, action)
        forces[step] = action[0]
        x, angle, velocity, angular_velocity = _move(
            cart, x, angle, velocity, angular_velocity, action[0]
        )
        states[step + 1, 0], states[step + 1, 1] = x, angle
        states[step + 1, 2], states[step + 1, 3] = velocity, angular_velocity
        if not _stands(cart, x, angle):
            return step + 1
    return forces.shape[0]
