"""Compiled simulation of a pendulum on a cart, under any policy."""

from typing import NamedTuple

import numpy as np

from skmohn._core._numba import jit

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


def accelerations(cart, sine, cosine, angular_velocity, force):
    """Accelerations of the cart and of the angle, given its sine and cosine. O(1).

    Not compiled.
    """
    mass, length, gravity = cart.mass, cart.length, cart.gravity
    # Python's power raises where a product overflows.
    square = angular_velocity * angular_velocity
    pull = mass * sine * (length * square - gravity * cosine)
    linear = (force - pull) / (cart.cart_mass + mass * sine**2)
    return linear, (linear * cosine + gravity * sine) / length


def stands(cart, x, angle):
    """Whether it has not fallen; a number that is none has. O(1).

    Not compiled.
    """
    return abs(angle) <= cart.max_angle and abs(x) <= cart.max_position


_accelerations = jit(accelerations, inline="always")
_stands = jit(stands, inline="always")


@jit
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
        End as soon as the sum reaches this; NaN for no limit.
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
    while n_done < n_actions and not total >= limit:
        n_next = n_done + _TOGETHER
        n_next = n_actions if n_actions < n_next else n_next
        for k in range(states.shape[0]):
            if falls[k] < 0 and not total >= limit:
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


@jit(inline="always")
def _go_on(policy, cart, state, memory, observation, action, n_done, n_next, n_actions):
    """Continue a simulation; return the cost, and the step of a fall or -1."""
    x, angle, velocity, angular_velocity = state[0], state[1], state[2], state[3]
    cost, step = 0.0, n_done * cart.hold
    for _ in range(n_done, n_next):
        observation[0], observation[1] = x, angle
        if cart.sees_velocities:
            observation[2], observation[3] = velocity, angular_velocity
        policy.step(observation, memory, action)
        for _ in range(cart.hold):
            linear, angular = _accelerations(
                cart, np.sin(angle), np.cos(angle), angular_velocity, action[0]
            )
            x += cart.time_step * velocity
            angle += cart.time_step * angular_velocity
            velocity += cart.time_step * linear
            angular_velocity += cart.time_step * angular
            step += 1
            if not _stands(cart, x, angle):
                counted = step - 1 if step > cart.n_silent else cart.n_silent
                left = n_actions * cart.hold - counted
                return cost + cart.fall_cost * left, step
            if step > cart.n_silent:
                cost += angle**2 + cart.position_weight * x**2
    state[0], state[1], state[2], state[3] = x, angle, velocity, angular_velocity
    return cost, -1
