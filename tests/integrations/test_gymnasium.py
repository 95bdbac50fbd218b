"""Real environments of gymnasium: returns, spaces, ends, training."""

import pickle

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal

from skmohn.blm import BLMController, make_policy
from skmohn.integrations import GymnasiumObjective

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")

# Push to where the pole falls: a good policy, and one that does the opposite.
GOOD = make_policy((4, 2), [0, 0, 0, -1, -1, 0, 0.1, 0.2, 1, 1])
BAD = make_policy((4, 2), -GOOD.weights)


class Endless(gymnasium.Env):
    """No step ends it; it shows what it was told to do."""

    def __init__(self, observation_space=None, action_space=None):
        box = gymnasium.spaces.Box(-1.0, 1.0, (2,))
        self.observation_space = observation_space or box
        self.action_space = action_space or box
        self.actions = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        self.actions.append(action)
        return self.observation_space.sample(), 1.0, False, False, {}


def plain_return(policy, name, seed, choose):
    """Return of an episode, with nothing but gymnasium."""
    environment = gymnasium.make(name)
    observation, _ = environment.reset(seed=seed)
    state, total, is_over = policy.initial_state(), 0.0, False
    while not is_over:
        outputs = np.empty(policy.sizes[-1])
        policy.step(np.array(observation, dtype=float), state, outputs)
        observation, reward, is_end, is_cut, _ = environment.step(choose(outputs))
        total += reward
        is_over = is_end or is_cut
    environment.close()
    return total


@pytest.mark.parametrize("policy", [GOOD, BAD], ids=["good", "bad"])
def test_returns_are_those_of_a_plain_loop_with_discrete_actions(policy):
    objective = GymnasiumObjective("CartPole-v1", n_episodes=3)
    assert (objective.n_inputs, objective.n_outputs) == (4, 2)
    found = objective.test(policy, 3, random_state=0)
    seeds = np.random.RandomState(0).randint(2**31, size=3).tolist()
    plain = [plain_return(policy, "CartPole-v1", s, np.argmax) for s in seeds]
    assert_array_equal(found, plain)
    seeds = np.random.default_rng(5).integers(2**31, size=3).tolist()
    plain = [plain_return(policy, "CartPole-v1", s, np.argmax) for s in seeds]
    assert objective(policy, np.random.default_rng(5)) == -np.mean(plain)


def test_returns_are_those_of_a_plain_loop_with_box_actions():
    policy = make_policy((3, 1), [0.1, 0.3, -0.5, 0.9])
    objective = GymnasiumObjective("Pendulum-v1", n_episodes=1)
    seed = int(np.random.RandomState(0).randint(2**31, size=1)[0])

    def choose(outputs):
        return np.clip(2 * outputs, -2, 2).astype(np.float32)

    expected = plain_return(policy, "Pendulum-v1", seed, choose)
    assert objective.test(policy, 1, random_state=0) == [expected]


@pytest.mark.parametrize(
    ("name", "max_reward", "policies"),
    [
        ("CartPole-v1", 1.0, (GOOD, BAD)),
        # All rewards are losses.
        (
            "Pendulum-v1",
            0.0,
            [make_policy((3, 1), [0.1, 0.3, b, 0.9]) for b in (-0.5, 0.5)],
        ),
    ],
)
def test_giving_up_early_is_certain(name, max_reward, policies):
    whole = GymnasiumObjective(name, n_episodes=4, max_steps=12)
    early = GymnasiumObjective(name, n_episodes=4, max_steps=12, max_reward=max_reward)
    for policy in policies:
        for seed in range(3):
            loss = whole(policy, np.random.default_rng(seed))
            for incumbent in (np.inf, loss + 1e-6, loss, loss - 1.0, -12.0):
                found = early(policy, np.random.default_rng(seed), incumbent)
                assert found == loss if loss < incumbent else found >= incumbent


def test_same_controller_with_and_without_early_ends():
    model = BLMController((), n_bits=4, max_evaluations=25, random_state=0)
    codes = [
        model.fit(
            GymnasiumObjective("CartPole-v1", n_episodes=2, max_reward=max_reward)
        ).codes_
        for max_reward in (None, 1.0)
    ]
    assert_array_equal(*codes)


def test_cartpole_is_solved_with_four_bits():
    task = GymnasiumObjective("CartPole-v1", n_episodes=5, max_reward=1.0)
    fresh = GymnasiumObjective("CartPole-v1", n_episodes=30, max_reward=1.0)
    model = BLMController(
        (),
        n_bits=4,
        validation_goal=-500.0,
        validate_every=20,
        max_evaluations=200,
        n_restarts=10,
        random_state=0,
    ).fit(task, fresh)
    assert model.succeeded_
    assert_array_equal(task.test(model.policy_, 20, random_state=1), 500.0)


@pytest.mark.slow
def test_acrobot_learns_to_swing():
    task = GymnasiumObjective("Acrobot-v1", n_episodes=2)
    model = BLMController((4,), n_bits=4, goal=100.0, max_evaluations=100)
    model.set_params(random_state=0, n_restarts=3).fit(task)
    assert model.succeeded_
    assert task.test(model.policy_, 5, random_state=0).mean() > -200


def test_numbers_of_episodes_are_checked():
    for n_episodes in (True, 0, 2.5):
        words = f"n_episodes must be a positive integer, got {n_episodes}"
        with pytest.raises(ValueError, match=words):
            GymnasiumObjective("CartPole-v1", n_episodes)
        with pytest.raises(ValueError, match=words):
            GymnasiumObjective("CartPole-v1").test(GOOD, n_episodes)


def test_it_can_be_sent_to_other_threads_and_processes():
    task = GymnasiumObjective("CartPole-v1", n_episodes=2)
    again = pickle.loads(pickle.dumps(task))
    loss = task(GOOD, np.random.default_rng(0))
    assert again(GOOD, np.random.default_rng(0)) == loss
    model = BLMController((), n_bits=4, max_evaluations=10, n_restarts=2)
    model.set_params(random_state=0).fit(task)
    codes = model.codes_
    with parallel_config(backend="threading"):
        assert_array_equal(model.set_params(n_jobs=2).fit(task).codes_, codes)


# ------------------------------------------------------------------------- spaces


def test_environment_that_never_ends_needs_a_limit():
    with pytest.raises(ValueError, match=r"nothing limits the episodes.*max_steps"):
        GymnasiumObjective(Endless)
    task = GymnasiumObjective(Endless, n_episodes=3, max_steps=7)
    policy = make_policy((2, 2), np.zeros(6))
    assert task(policy, np.random.default_rng(0)) == -7.0
    assert GymnasiumObjective("CartPole-v1", max_steps=9).max_steps == 9
    assert GymnasiumObjective("CartPole-v1", max_steps=9999).max_steps == 500


def test_outputs_are_scaled_to_the_range_of_actions():
    box = gymnasium.spaces.Box(
        np.array([[0.0, -4.0, -np.inf]]), np.array([[1.0, 4.0, np.inf]]), dtype=float
    )
    environment = Endless(action_space=box)
    task = GymnasiumObjective(lambda: environment, n_episodes=1, max_steps=1)
    for outputs, action in (
        ([-1.0, 0.5, 9.0], [0.0, 2.0, 9.0]),
        ([3.0, -7.0, -9.0], [1.0, -4.0, -9.0]),
    ):
        weights = np.zeros((3, 3))
        weights[:, 0] = outputs
        task(make_policy((2, 3), weights.ravel()), np.random.default_rng(0))
        assert_array_equal(environment.actions[-1], [action])


def test_discrete_spaces_may_start_anywhere_and_observations_are_laid_out():
    spaces = gymnasium.spaces
    seen = spaces.Dict({"place": spaces.Discrete(3), "speed": spaces.Box(0, 1, (2, 2))})
    environment = Endless(seen, spaces.Discrete(4, start=-1))
    task = GymnasiumObjective(lambda: environment, n_episodes=1, max_steps=1)
    assert (task.n_inputs, task.n_outputs) == (7, 4)
    weights = np.zeros((4, 8))
    weights[3, 0] = 1.0
    task(make_policy((7, 4), weights.ravel()), np.random.default_rng(0))
    assert environment.actions == [2]


def test_spaces_that_do_not_fit_are_refused():
    spaces = gymnasium.spaces
    odd = Endless(action_space=spaces.MultiDiscrete([2, 2]))
    with pytest.raises(ValueError, match=r"actions must be Discrete or Box, got Multi"):
        GymnasiumObjective(lambda: odd, max_steps=1)
    odd = Endless(spaces.Sequence(spaces.Discrete(2)))
    with pytest.raises(ValueError, match=r"cannot be flattened to numbers"):
        GymnasiumObjective(lambda: odd, max_steps=1)
    for name in ("n_episodes", "max_steps"):
        with pytest.raises(ValueError, match=f"{name} must be a positive integer"):
            GymnasiumObjective("CartPole-v1", **{name: 0})
    for max_reward in (np.nan, np.inf, "1"):
        with pytest.raises(ValueError, match=r"max_reward must be a finite number"):
            GymnasiumObjective("CartPole-v1", max_reward=max_reward)
    with pytest.raises(ValueError, match=r"environment='nonsense': .*doesn't exist"):
        GymnasiumObjective("nonsense")
    with pytest.raises(TypeError, match=r"environment must be an environment id"):
        GymnasiumObjective(["CartPole-v1"])
    task = GymnasiumObjective("CartPole-v1")
    for call in (task.test, lambda policy: task(policy, np.random.default_rng(0))):
        with pytest.raises(
            TypeError, match=r"policy must have the methods initial_state and step"
        ):
            call(None)
    with pytest.raises(ValueError, match=r"shape \(4,\), but .*\(3,\): change n_inp"):
        BLMController(n_inputs=3).fit(task)


class Rewarded(Endless):
    """Its second step is rewarded with something else."""

    def __init__(self, reward=1.0, observation=None):
        super().__init__()
        self.reward, self.observation = reward, observation

    def step(self, action):
        observation, reward, *rest = super().step(action)
        if len(self.actions) == 2:
            reward = self.reward
            if self.observation is not None:
                observation = self.observation
        return observation, reward, *rest


STILL = make_policy((2, 2), np.zeros(6))


def returns(environment, **options):
    """Return of one episode of three steps."""
    task = GymnasiumObjective(lambda: environment, max_steps=3, **options)
    return task.test(STILL, 1, random_state=0).tolist()


@pytest.mark.parametrize(
    ("reward", "expected"),
    [(np.array([4.0]), 6.0), (np.nan, np.nan), (np.inf, np.nan), (-np.inf, -np.inf)],
)
def test_returns_that_are_not_finite_are_none_that_wins(reward, expected):
    assert_array_equal(returns(Rewarded(reward)), [expected])


def test_observations_of_nan_end_an_episode():
    assert_array_equal(returns(Rewarded(observation=[0.0, np.nan])), [np.nan])
    with pytest.raises(ValueError, match=r"observation of 3 numbers, but its .* has 2"):
        returns(Rewarded(observation=np.zeros(3)))


@pytest.mark.parametrize("reward", [None, "x", 1j, [1.0, 2.0]])
def test_rewards_that_are_no_numbers(reward):
    with pytest.raises(
        TypeError, match=r"environment has the reward .* is not a number"
    ):
        returns(Rewarded(reward))


def test_larger_rewards_than_the_largest():
    assert returns(Rewarded(np.float32(0.1)), max_reward=1.0) == pytest.approx([2.1])
    assert returns(Rewarded(np.float32(1.0 + 1e-7)), max_reward=1.0)
    with pytest.raises(ValueError, match=r"max_reward=1.0, but a step was rewarded 4"):
        returns(Rewarded(4.0), max_reward=1.0)


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("int64", 0, 9), ("uint8", 0, 255), ("int8", -128, 127), ("int64", None, None)],
)
def test_integer_actions_are_rounded(dtype, low, high):
    limits = np.iinfo(dtype)
    low, high = (limits.min, limits.max) if low is None else (low, high)
    box = gymnasium.spaces.Box(low, high, (6,), dtype)
    environment = Endless(action_space=box)
    task = GymnasiumObjective(lambda: environment, n_episodes=1, max_steps=1)
    outputs = np.array([-7.0, -1.0, -0.25, 0.6, 1.0, 2.0])
    weights = np.zeros((6, 3))
    weights[:, 0] = outputs
    task(make_policy((2, 6), weights.ravel()), np.random.default_rng(0))
    (action,) = environment.actions
    assert box.contains(action)
    span = float(high) - float(low)
    wanted = [low, low, low + 0.375 * span, low + 0.8 * span, high, high]
    assert action[[0, 1, 4, 5]].tolist() == [low, low, high, high]
    assert np.abs(action[2:4] - np.array(wanted[2:4])).max() <= 0.5 + 1e-15 * span


def test_ranges_wider_than_a_float():
    box = gymnasium.spaces.Box(-1.7e308, 1.7e308, (1,), np.float64)
    environment = Endless(action_space=box)
    task = GymnasiumObjective(lambda: environment, n_episodes=1, max_steps=1)
    task(make_policy((2, 1), [0.5, 0.0, 0.0]), np.random.default_rng(0))
    assert environment.actions[0] == pytest.approx(0.85e308)


class Old(Endless):
    """An environment of gym."""

    def __init__(self, is_reset_old):
        super().__init__()
        self.is_reset_old = is_reset_old

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        return observation if self.is_reset_old else (observation, info)

    def step(self, action):
        return super().step(action)[1:]


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: None, "environment must be a function that returns .* returns None"),
        (dict, "environment must be a function that returns an env"),
        (lambda: Old(True), "reset of environment returns 1 values .* has 2"),
        (lambda: Old(False), "step of environment returns 4 values .* has 5"),
    ],
)
def test_what_is_no_environment(make, match):
    with pytest.raises(TypeError, match=match):
        GymnasiumObjective(make, max_steps=3).test(STILL, 1)


def test_spaces_without_numbers():
    nothing = gymnasium.spaces.Box(0.0, 1.0, (0,))
    for spaces in ((nothing, None), (None, nothing)):
        odd = Endless(*spaces)
        with pytest.raises(
            ValueError, match=r"have no numbers|must be Discrete or Box"
        ):
            GymnasiumObjective(lambda odd=odd: odd, max_steps=1)
