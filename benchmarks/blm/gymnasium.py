"""Environments of gymnasium: low-bit controllers beside CMA-ES and PPO.

CartPole-v1 with a linear policy of 10 weights of 4 bits, and Pendulum-v1, which has to
be swung up first, with 16 hidden units and 81 weights of 8 bits. Ours is judged in some
episodes and, from time to time, in 50 others, which decide: it ends at the goal. On
Pendulum-v1 a stage of few episodes comes first, and a run that fails there is given up.
CMA-ES (the package cma) looks for the same weights as real numbers with the same two
judges. PPO (stable-baselines3, when it is installed) has its usual network, on
Pendulum-v1 settings that are known to be good, and is looked at every 10 000 steps.
Printed are the medians over the seeds of evaluations, steps of the environment and
seconds, and in how many runs 100 fresh episodes are as good as wanted: all of 500
steps, or a mean return from -250 on (chance: -1200).
"""

import warnings
from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks.shared import common, control, results
from skmohn import BLMController
from skmohn.blm import Stage
from skmohn.integrations import GymnasiumObjective

FEW_SEEDS = 3


@dataclass(frozen=True)
class Problem:
    """An environment, and how each search goes about it.

    Parameters
    ----------
    name : str
    n_episodes : int
        Of an evaluation.
    max_reward : float
        Reward that no step exceeds.
    goal : float
        Mean return in 50 episodes that ends a search.
    is_good : callable
        Whether 100 returns are as good as wanted.
    hidden : tuple of int
        Units of the hidden layers, for ours and CMA-ES.
    first : dict or None
        Of a stage that comes first, for ours: episodes, goal and most evaluations.
    ours : dict
        Parameters of the controller.
    limit : int
        Most evaluations of CMA-ES.
    ppo : dict
        Parameters of PPO.
    ppo_steps : int
        Its most steps.
    """

    name: str
    n_episodes: int
    max_reward: float
    goal: float
    is_good: object
    hidden: tuple
    first: dict | None
    ours: dict
    limit: int
    ppo: dict
    ppo_steps: int

    def task(self, n_episodes=None):
        """Return an objective; by default what trains."""
        n_episodes = n_episodes or self.n_episodes
        return Counted(self.name, n_episodes, max_reward=self.max_reward)


PROBLEMS = (
    Problem(
        "CartPole-v1",
        n_episodes=5,
        max_reward=1.0,
        goal=500.0,
        is_good=lambda returns: bool(np.all(returns == 500)),
        hidden=(),
        first=None,
        ours={
            "n_bits": 4,
            "validate_every": 20,
            "max_evaluations": 300,
            "n_restarts": 20,
        },
        limit=6000,
        ppo={},
        ppo_steps=200_000,
    ),
    Problem(
        "Pendulum-v1",
        n_episodes=20,
        max_reward=0.0,
        goal=-225.0,
        is_good=lambda returns: bool(returns.mean() >= -250),
        hidden=(16,),
        first={"n_episodes": 4, "goal": 500.0, "max_evaluations": 150},
        ours={
            "n_bits": 8,
            "w_max": 3.0,
            "init": "uniform",
            "validate_every": 50,
            "max_evaluations": 600,
            "n_restarts": 20,
        },
        limit=5000,
        ppo={
            "gamma": 0.9,
            "learning_rate": 1e-3,
            "n_steps": 1024,
            "use_sde": True,
            "sde_sample_freq": 4,
        },
        ppo_steps=200_000,
    ),
)


class Counted(GymnasiumObjective):
    """The task, counting its evaluations and steps."""

    evaluations = steps = 0

    def __call__(self, policy, rng, incumbent=np.inf):
        """Loss of a policy."""
        self.evaluations += 1
        return super().__call__(policy, rng, incumbent)

    def _environment(self):
        made = super()._environment()
        if not hasattr(made, "is_counted"):
            made.is_counted, step = True, made.step

            def counted(action):
                self.steps += 1
                return step(action)

            made.step = counted
        return made


def counts(tasks, decide):
    """Return the evaluations of tasks, and their steps with those that decide."""
    evaluations = sum(task.evaluations for task in tasks)
    return evaluations, sum(task.steps for task in (*tasks, decide))


def by_us(problem, seed):
    """Train; return evaluations, steps and the policy."""
    train, decide = problem.task(), problem.task(50)
    stages = [Stage(train)]
    if problem.first:
        first = dict(problem.first)
        stages.insert(0, Stage(problem.task(first.pop("n_episodes")), **first))
    controller = BLMController(
        problem.hidden, validation_goal=-problem.goal, random_state=seed
    )
    controller.set_params(**problem.ours)
    control.timed_fit(controller, stages, decide)
    return *counts([stage.objective for stage in stages], decide), controller.policy_


def by_cma(problem, seed):
    """Train with CMA-ES; return evaluations, steps and the policy."""
    import cma

    train, decide = problem.task(), problem.task(50)
    sizes = (train.n_inputs, *problem.hidden, train.n_outputs)
    black = control.Black(train, sizes, recurrent=False, seed=seed)
    judge = control.Black(decide, sizes, recurrent=False, seed=seed + 1000)
    options = {"seed": seed + 1, "verbose": -9, "maxfevals": problem.limit}
    start = np.zeros(black.layout.n_weights)
    strategy = cma.CMAEvolutionStrategy(start, 1.0, options)
    while not strategy.stop():
        asked = strategy.ask()
        strategy.tell(asked, [black(weights) for weights in asked])
        best = strategy.result.xbest
        # The training episodes decide first whether the others are worth their time.
        if strategy.result.fbest <= -problem.goal and judge(best) <= -problem.goal:
            break
    judge(best)
    return *counts([train], decide), judge.policy


def by_ppo(problem, seed):
    """Train with PPO; return steps and the returns of 100 episodes."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.evaluation import evaluate_policy

    model = PPO("MlpPolicy", problem.name, seed=seed, device="cpu", **problem.ppo)
    while model.num_timesteps < problem.ppo_steps:
        model.learn(10_000, reset_num_timesteps=False)
        if evaluate_policy(model, model.get_env(), 50)[0] >= problem.goal:
            break
    returns, _ = evaluate_policy(
        model, model.get_env(), 100, return_episode_rewards=True
    )
    return model.num_timesteps, np.array(returns)


def row_of_weights(table, problem, search, seeds):
    """Print a row for a search of weights."""
    times, spent, returns = [], [], []
    for seed in seeds:
        seconds, (*count, policy) = common.timed(search, problem, seed)
        times.append(seconds)
        spent.append(count)
        returns.append(problem.task().test(policy, 100, random_state=seed))
    n_good = sum(map(problem.is_good, returns))
    evaluations, steps = np.median(spent, axis=0)
    table.row(
        {by_us: "ours", by_cma: "CMA-ES"}[search],
        f"{n_good}/{len(seeds)}",
        float(median(r.mean() for r in returns)),
        float(min(r.mean() for r in returns)),
        int(evaluations),
        int(steps),
        median(times),
        met=search is not by_us or n_good >= 0.9 * len(seeds),
    )


def row_of_ppo(table, problem, seeds):
    """Print a row for PPO."""
    runs = [common.timed(by_ppo, problem, seed) for seed in seeds]
    n_good = sum(problem.is_good(returns) for _, (_, returns) in runs)
    table.row(
        "PPO",
        f"{n_good}/{len(seeds)}",
        float(median(returns.mean() for _, (_, returns) in runs)),
        float(min(returns.mean() for _, (_, returns) in runs)),
        None,
        int(median(steps for _, (steps, _) in runs)),
        median(seconds for seconds, _ in runs),
    )


def main():
    """Print a table for each environment."""
    options = common.parse_options(
        __doc__,
        instances=10,
        quick_instances=2,
        add_arguments=lambda parser: parser.add_argument(
            "--only", choices=[problem.name for problem in PROBLEMS], help="one of them"
        ),
    )
    warnings.simplefilter("ignore")
    common.warm_up()
    seeds = range(options.seed, options.seed + options.instances)
    for problem in PROBLEMS:
        if options.only not in (None, problem.name):
            continue
        table = common.Table(
            f"{problem.name}, {len(seeds)} seeds ({FEW_SEEDS} at most for PPO)",
            "search good mean worst_mean evaluations steps seconds",
            width=10,
        )
        row_of_weights(table, problem, by_us, seeds)
        try:
            row_of_weights(table, problem, by_cma, seeds)
            row_of_ppo(table, problem, seeds[:FEW_SEEDS])
        except ImportError as error:
            results.leave_out(f"{error.name}: not installed, nor what follows")
        table.close()


if __name__ == "__main__":
    results.record(main)
