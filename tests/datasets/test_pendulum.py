"""The pendulum: equations against energies and scipy, errors against a plain loop."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

from skmohn._core import _validation
from skmohn.blm import make_policy
from skmohn.datasets import InvertedPendulum

SYSTEM = InvertedPendulum(
    n_simulations=6, duration=5.0, mass=0.7, cart_mass=1.3, length=0.8
)
GAINS = make_policy((4, 1), [0.1, 1.0, -40.0, 2.0, -12.0])
NOTHING = make_policy((4, 1), np.zeros(5))


def noisy_gains(seed):
    rng = np.random.default_rng(seed)
    return make_policy((4, 1), GAINS.weights * rng.uniform(0.2, 1.5, 5))


# ------------------------------------------------------------------------- equations


def test_equations_are_those_of_the_lagrangian():
    # Masses at x and at (x - l sin, l cos); d/dt of the momenta, by differences.
    rng = np.random.default_rng(0)
    m, M, length, g = SYSTEM.mass, SYSTEM.cart_mass, SYSTEM.length, SYSTEM.gravity

    def momenta(x, a, v, w):
        return np.array(
            [
                (M + m) * v - m * length * np.cos(a) * w,
                m * length**2 * w - m * length * np.cos(a) * v,
            ]
        )

    for state, force in zip(rng.normal(size=(20, 4)), rng.normal(size=20), strict=True):
        _, a, v, w = state
        change = np.array([0.0, m * length * np.sin(a) * w * v])
        change += [force, m * g * length * np.sin(a)]
        slope, h = SYSTEM.derivative(state, force), 1e-6
        ahead, back = (momenta(*(state + s * h * slope)) for s in (1, -1))
        assert_allclose((ahead - back) / (2 * h), change, rtol=1e-6, atol=1e-6)


@given(seed=st.integers(0, 1000))
@settings(max_examples=20)
def test_energy_is_the_work_of_the_force(seed):
    rng = np.random.default_rng(seed)
    state, force, h = rng.normal(size=4), rng.normal(), 1e-6
    slope = SYSTEM.derivative(state, force)
    ahead, back = (SYSTEM.energy(state + s * h * slope) for s in (1, -1))
    assert (ahead - back) / (2 * h) == pytest.approx(force * state[2], abs=1e-5)


def test_energy_stays_without_a_force_as_steps_get_smaller():
    drifts = []
    for time_step in (1e-3, 1e-4):
        system = replace(SYSTEM, time_step=time_step, max_angle=10.0, duration=3.0)
        path = system.trace(NOTHING)
        energy = system.energy(
            [path.x, path.angle, path.velocity, path.angular_velocity]
        )
        drifts.append(np.abs(energy - energy[0]).max())
    assert drifts[1] < drifts[0] / 8
    assert drifts[1] < 0.05


def test_small_euler_steps_approach_the_exact_solution():
    # The same forces, each held for 0.1 s.
    errors = []
    for time_step, hold in ((1e-2, 10), (1e-3, 100), (1e-4, 1000)):
        system = replace(
            SYSTEM, time_step=time_step, hold=hold, duration=0.5, transient=0.0
        )
        path = system.trace(GAINS, start=0.3)
        state = np.array([0.0, 0.3, 0.0, 0.0])
        for force in path.force[::hold]:
            solved = solve_ivp(
                lambda t, y, force=force: SYSTEM.derivative(y, force),
                (0.0, 0.1),
                state,
                rtol=1e-10,
                atol=1e-12,
            )
            state = solved.y[:, -1]
        last = [path[n][-1] for n in ("x", "angle", "velocity", "angular_velocity")]
        last = np.array(last) + time_step * system.derivative(last, path.force[-1])
        errors.append(np.abs(last - state).max())
    assert errors[2] < 1e-3
    assert_allclose(errors[1] / errors[2], 10, rtol=0.1)  # a method of order one
    assert errors[0] > errors[1]


# ---------------------------------------------------------------------------- errors


def plain_error(system, policy, angle):
    """Eq 7 by a plain loop, and the time of the fall."""
    state = np.array([0.0, angle, 0.0, 0.0])
    inner, action = policy.initial_state(), np.zeros(1)
    n_steps = round(system.duration / system.time_step)
    n_silent = round(system.transient / system.time_step)
    total = 0.0
    for step in range(n_steps):
        if step % system.hold == 0:
            policy.step(state[: system.n_inputs], inner, action)
        state = state + system.time_step * system.derivative(state, action[0])
        if abs(state[1]) > system.max_angle or abs(state[0]) > system.max_position:
            left = n_steps - max(step, n_silent)
            total += left * system.fall_cost
            return total / (n_steps - n_silent), (step + 1) * system.time_step
        if step >= n_silent:
            total += state[1] ** 2 + system.position_weight * state[0] ** 2
    return total / (n_steps - n_silent), np.inf


@pytest.mark.slow_cases("[12]-1.0|[03]-0.0")
@pytest.mark.parametrize("transient", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_errors_are_those_of_a_plain_loop(seed, transient):
    system = replace(SYSTEM, duration=2.0, transient=transient)
    policy, angles = noisy_gains(seed), np.linspace(-0.4, 0.4, 6)
    found = np.mean([plain_error(system, policy, angle)[0] for angle in angles])
    assert system(policy, None) == pytest.approx(found, rel=1e-9)


def test_positions_alone_reach_a_recurrent_policy():
    system = replace(SYSTEM, observe="positions", duration=2.0)
    rng = np.random.default_rng(0)
    policy = make_policy((2, 3, 1), rng.normal(size=22), recurrent=True)
    expected = [plain_error(system, policy, a)[0] for a in np.linspace(-0.4, 0.4, 6)]
    assert system(policy, None) == pytest.approx(np.mean(expected), rel=1e-9)


def test_falls_are_found_where_they_happen():
    errors, falls = SYSTEM.test(NOTHING, 5, duration=5.0, random_state=0)
    angles = np.random.RandomState(0).uniform(-0.4, 0.4, 5)
    expected = [plain_error(SYSTEM, NOTHING, angle) for angle in angles]
    assert_allclose(np.column_stack([errors, falls]), expected, rtol=1e-9)
    assert np.all(falls < 5.0)
    assert np.all(SYSTEM.test(GAINS, 5, random_state=0)[1] == np.inf)


def test_simulations_without_limits_go_on_to_the_end():
    system = replace(SYSTEM, max_angle=np.inf, max_position=np.inf)
    angles = np.linspace(-0.4, 0.4, 6)
    expected = [plain_error(system, NOTHING, angle)[0] for angle in angles]
    assert system(NOTHING, None) == pytest.approx(np.mean(expected), rel=1e-9)
    assert np.mean(expected) > SYSTEM.fall_cost
    assert np.all(system.test(NOTHING, 3, duration=5.0, random_state=0)[1] == np.inf)
    assert len(system.trace(NOTHING).time) == 500


def test_a_simulation_without_limits_ends_where_numbers_do():
    system = replace(SYSTEM, max_angle=np.inf, max_position=np.inf)
    # Euler steps blow up once a step is a good part of a turn.
    for spin in (1e4, 1e200):
        path = system.trace(NOTHING, start=[0.0, 0.4, 0.0, spin])
        assert len(path.time) < 500
        assert np.all(np.isfinite([path.x, path.angle]))
    violent = make_policy((4, 1), [1e9, 0.0, 0.0, 0.0, 0.0])
    errors, falls = system.test(violent, 3, duration=5.0, random_state=0)
    assert_array_equal(errors, np.inf)
    assert np.all(falls < 1.0)
    assert system(violent, None) == np.inf


def test_a_policy_that_answers_nan_has_fallen():
    policy = make_policy((4, 1), np.full(5, np.nan))
    _, falls = SYSTEM.test(policy, 3, duration=5.0, random_state=0)
    assert_allclose(falls, 0.02)  # a force shows in the position after two steps
    assert SYSTEM(policy, None) == pytest.approx(SYSTEM.fall_cost)


@given(seed=st.integers(0, 100), fraction=st.floats(0.0, 1.5))
@settings(max_examples=50)
def test_giving_up_early_is_certain(seed, fraction):
    policy = noisy_gains(seed)
    error = SYSTEM(policy, None)
    found = SYSTEM(policy, None, fraction * error)
    if fraction > 1:
        assert found == error
    else:
        assert found >= fraction * error
    assert SYSTEM(policy, None, error) >= error


def test_starts_are_a_grid_or_drawn():
    system = replace(SYSTEM, starts="random")
    errors = [system(GAINS, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert errors[0] == errors[1] != errors[2]
    angles = np.random.default_rng(0).uniform(-0.4, 0.4, 6)
    expected = np.mean([plain_error(system, GAINS, angle)[0] for angle in angles])
    assert errors[0] == pytest.approx(expected, rel=1e-9)


def test_trace_begins_at_the_start_and_holds_forces():
    path = SYSTEM.trace(GAINS, start=[1.0, 0.2, 0.0, 0.1], duration=2.0)
    assert [len(column) for column in path.values()] == [200] * 6
    assert (path.x[0], path.angle[0], path.angular_velocity[0]) == (1.0, 0.2, 0.1)
    assert_array_equal(
        path.force.reshape(-1, 10), path.force[::10, None] + np.zeros(10)
    )
    fallen = SYSTEM.trace(NOTHING)
    assert len(fallen.time) < 500
    assert np.all(np.abs(fallen.angle) <= SYSTEM.max_angle)


# ------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"observe": "angles"}, "observe must be one of .* got 'angles'"),
        ({"starts": "edge"}, "starts must be one of"),
        ({"n_simulations": 2.5}, "n_simulations must be a positive integer"),
        ({"length": 0.0}, "length must be a positive number, got 0.0"),
        ({"gravity": np.nan}, "gravity must be a positive number"),
        ({"gravity": np.inf}, "gravity must be a positive number"),
        ({"max_angle": np.nan}, "max_angle must be a positive number, got nan"),
        ({"max_position": -np.inf}, "max_position must be a positive number"),
        ({"transient": -1.0}, "transient must be a nonnegative number"),
        ({"transient": 1e308}, r"transient=1e\+308 are too many steps"),
        ({"duration": 1.0}, "duration=1.0 must be longer than transient=1.0"),
        ({"duration": 1.04}, r"duration=1.04 must be longer.*whole forces of 0.1 s"),
        ({"n_simulations": True}, "n_simulations must be a positive integer"),
        ({"gravity": True}, "gravity must be a positive number, got True"),
        ({"length": 10**330}, "length must be a positive number"),
        ({"max_start": 1e308}, "max_start must be a nonnegative number"),
        ({"duration": 1e30}, "duration=1e.30 and .* are too many steps"),
        ({"duration": 0.04, "transient": 0.0}, "duration=0.04 must be longer"),
    ],
)
def test_values_that_make_no_system_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        InvertedPendulum(**wrong)


def test_a_policy_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="shapes") as raised:
        SYSTEM(make_policy((2, 1), np.zeros(3)), None)
    assert raised.value.args[1:] == ((4,), (2,))


def test_what_is_no_policy_is_refused():
    with pytest.raises(
        TypeError, match="policy must have the methods initial_state and step"
    ):
        InvertedPendulum(n_simulations=1)(None, None)


@pytest.mark.parametrize("n_simulations", [True, 2.5, 0, -1, None])
def test_numbers_of_tests_are_named(n_simulations):
    pendulum = InvertedPendulum("positions", n_simulations=1, duration=2.0)
    policy = make_policy([2, 3, 1], np.zeros(13))
    with pytest.raises(ValueError, match="n_simulations must be a positive integer"):
        pendulum.test(policy, n_simulations=n_simulations)


def test_numbers_of_few_bytes_are_those_of_many():
    """Whose products would overflow."""
    few = InvertedPendulum(
        n_simulations=np.int8(3), duration=np.float32(9), hold=np.int8(100)
    )
    assert few == InvertedPendulum(n_simulations=3, duration=9.0, hold=100)
    assert few.n_actions == 9


@pytest.mark.parametrize("state", [1.0, {}, 1j, [1.0, 2.0], 10**330])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(ValueError, match=r"a state is four numbers|[Cc]omplex"):
        InvertedPendulum().energy(state)


def test_energies_of_huge_numbers_are_infinite():
    pendulum, state = InvertedPendulum(), np.full(4, 1e200)
    assert pendulum.energy(state) == np.inf
    assert not np.isfinite(pendulum.derivative(state)[2:]).all()


def test_starts_without_room_are_refused_before_they_are_made(monkeypatch):
    for n_simulations in (10**5, 10**15):
        system = InvertedPendulum(n_simulations=n_simulations, duration=2.0)
        monkeypatch.setattr(_validation, "memory_limit", lambda: 2.0**20)
        match = r"n_simulations=1.*may use only 1\.0 MiB; simulate fewer"
        with pytest.raises(MemoryError, match=match):
            system(NOTHING, np.random.default_rng(0))
        with pytest.raises(MemoryError, match=match):
            SYSTEM.test(NOTHING, n_simulations, duration=2.0)
