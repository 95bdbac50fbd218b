"""CartPole-v1 of gymnasium with four bits a weight, beside CMA-ES and PPO.

A linear policy of 10 weights. Ours is judged in 5 episodes and, every 20 evaluations,
in 50 others; it ends when these 50 all last 500 steps. CMA-ES (the package cma) looks
for the same weights as real numbers with the same two judges. PPO (stable-baselines3,
when it is installed) has its usual network and as many steps as it takes, at most
200 000, looked at every 10 000. Printed are the medians over the seeds of evaluations
(of 5 episodes), steps of the environment, seconds, and in how many runs 100 fresh
episodes all last 500 steps.
"""

import warnings
from statistics import median

import _common as common
import _control as control
import numpy as np

from skmohn import BLMController
from skmohn.integrations import GymnasiumObjective

BEST = 500.0


class Counted(GymnasiumObjective):
    """The task, counting its evaluations and steps."""

    evaluations = steps = 0

    def __call__(self, policy, rng, incumbent=np.inf):
        """Loss of a policy."""
        self.evaluations += 1
        return super().__call__(policy, rng, incumbent)

    def _episode(self, *args):
        # Each step is worth one.
        total = super()._episode(*args)
        self.steps += int(total)
        return total


def tasks():
    """Return what trains and what decides."""
    return (
        Counted("CartPole-v1", n_episodes=5, max_reward=1.0),
        Counted("CartPole-v1", n_episodes=50, max_reward=1.0),
    )


def by_us(seed):
    """Train; return evaluations, steps and the policy."""
    train, decide = tasks()
    controller = BLMController(
        (),
        n_bits=4,
        validation_goal=-BEST,
        validate_every=20,
        max_evaluations=300,
        n_restarts=20,
        random_state=seed,
    )
    control.timed_fit(controller, train, decide)
    return train.evaluations, train.steps + decide.steps, controller.policy_


def by_cma(seed):
    """Train with CMA-ES; return evaluations, steps and the policy."""
    import cma

    train, decide = tasks()
    sizes = (train.n_inputs, train.n_outputs)
    black = control.Black(train, sizes, recurrent=False, seed=seed)
    judge = control.Black(decide, sizes, recurrent=False, seed=seed + 1000)
    options = {"seed": seed + 1, "verbose": -9, "maxfevals": 6000}
    strategy = cma.CMAEvolutionStrategy(np.zeros(10), 1.0, options)
    while not strategy.stop():
        asked = strategy.ask()
        strategy.tell(asked, [black(weights) for weights in asked])
        best = strategy.result.xbest
        if strategy.result.fbest == -BEST and judge(best) == -BEST:
            break
    judge(best)
    return train.evaluations, train.steps + decide.steps, judge.policy


SEARCHES = {"ours, 4 bits": by_us, "CMA-ES": by_cma}


def by_ppo(seed):
    """Train with PPO; return steps and the returns of 100 episodes."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.evaluation import evaluate_policy

    model = PPO("MlpPolicy", "CartPole-v1", seed=seed, device="cpu")
    for _ in range(20):
        model.learn(10_000, reset_num_timesteps=False)
        if evaluate_policy(model, model.get_env(), 50)[0] == BEST:
            break
    returns, _ = evaluate_policy(
        model, model.get_env(), 100, return_episode_rewards=True
    )
    return model.num_timesteps, np.array(returns)


def main():
    """Print one row for each search."""
    options = common.parse_options(__doc__, instances=10, quick_instances=2)
    warnings.simplefilter("ignore")
    common.warm_up()
    table = common.Table(
        f"CartPole-v1, {options.instances} seeds",
        "search perfect worst_mean evaluations steps seconds",
        width=14,
    )
    seeds = range(options.seed, options.seed + options.instances)
    for name, search in SEARCHES.items():
        times, counts, returns = [], [], []
        for seed in seeds:
            try:
                seconds, (*count, policy) = common.timed(search, seed)
            except ImportError:
                break
            times.append(seconds)
            counts.append(count)
            returns.append(tasks()[0].test(policy, 100, random_state=seed))
        else:
            perfect = sum(bool(np.all(r == BEST)) for r in returns)
            evaluations, steps = np.median(counts, axis=0)
            table.row(
                name,
                f"{perfect}/{len(seeds)}",
                float(min(r.mean() for r in returns)),
                int(evaluations),
                int(steps),
                median(times),
                met=search is not by_us or perfect >= 0.9 * len(seeds),
            )
            continue
        print(f"{name}: left out, not installed")
    try:
        runs = [common.timed(by_ppo, seed) for seed in seeds]
    except ImportError:
        print("PPO: left out, stable-baselines3 is not installed")
    else:
        perfect = sum(bool(np.all(returns == BEST)) for _, (_, returns) in runs)
        table.row(
            "PPO",
            f"{perfect}/{len(seeds)}",
            float(min(returns.mean() for _, (_, returns) in runs)),
            None,
            int(median(steps for _, (steps, _) in runs)),
            median(seconds for seconds, _ in runs),
        )
    table.close()


if __name__ == "__main__":
    main()
