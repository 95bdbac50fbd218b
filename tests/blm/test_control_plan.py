"""Decisions of a training run on black boxes, one by one, on an objective made up."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmohn.blm import Stage
from skmohn.blm._control import ControlPlan, ControlRun
from skmohn.blm._network import Layout
from skmohn.blm._search import Moves, Start, ask, tell

WANTED = np.array([0.5, -0.9, 0.25])
STEP = np.full(3, 2.0 / 127)


class Heard:
    """Losses of weights, with luck told beforehand; remembers what was asked."""

    def __init__(self, luck=()):
        self.luck, self.weights, self.losses = list(luck), [], []

    def __call__(self, policy, rng, incumbent):
        loss = 1.0 + np.sum((policy.weights - WANTED) ** 2)
        loss += self.luck.pop(0) if self.luck else 0.0
        self.weights.append(policy.weights.copy())
        self.losses.append(loss)
        return loss


def make_plan(*objectives, n_bits=8, **options):
    options = {
        "validation": None, "validation_goal": None, "validation_seed": 0,
        "perturbation": 0.0, "noisy": False, "epoch": 50, "goal": None, **options,
    }  # fmt: skip
    goal = options.pop("goal")
    return ControlPlan(
        stages=tuple(Stage(each, goal, 1000) for each in objectives),
        layout=Layout((2, 1), False),
        activation="tanh",
        out_activation="identity",
        moves=Moves(n_bits=n_bits),
        start=Start(init="uniform"),
        step=STEP,
        **options,
    )


def begun(plan, codes=(10, 20, 30)):
    """A run that stands at these codes, and its policy."""
    run = ControlRun(0, seed=3)
    plan._enter(run, np.array(codes, dtype=np.int32))
    return run, plan.policy(run.search.codes)


def test_means_are_those_of_all_that_was_heard():
    heard = Heard(luck=[0.0, 3.0, -0.5, 0.25])
    plan = make_plan(heard, noisy=True)
    run, policy = begun(plan)
    mean, n_evaluations = heard.losses[0], 1
    for n in (2, 3, 4):
        mean, n_evaluations = plan._mean(run, policy, mean, n_evaluations)
        assert n_evaluations == n
        assert mean == pytest.approx(np.mean(heard.losses))


@pytest.mark.parametrize(("n_bits", "first"), [(2, 1), (4, 1), (6, 5), (8, 21)])
def test_first_step_is_a_sixth_of_the_range(n_bits, first):
    assert make_plan(Heard(), n_bits=n_bits).moves.first_step == first


@pytest.mark.parametrize(("n_evaluations", "n_asked"), [(1, 2), (2, 2), (5, 5)])
def test_a_noisy_move_is_heard_as_often_as_where_it_stands(n_evaluations, n_asked):
    heard = Heard()
    plan = make_plan(heard, noisy=True)
    run, policy = begun(plan)
    # All moves are better than a loss as high.
    run.search.state[0].loss, run.n_evaluations = 100.0, n_evaluations
    before = len(heard.losses)
    plan._try_one(run, policy)
    assert len(heard.losses) - before == n_asked == run.n_evaluations


@pytest.mark.parametrize(("share", "n_drawn"), [(0.01, 1), (0.34, 1), (0.67, 2)])
@pytest.mark.parametrize("noisy", [False, True])
def test_a_share_of_the_weights_of_the_best_minimum_is_drawn_anew(
    share, n_drawn, noisy
):
    heard = Heard()
    plan = make_plan(heard, perturbation=share, noisy=noisy)
    run, policy = begun(plan)
    home = np.array([32, -57, 16], dtype=np.int32)
    run.home = home, 1.0, 4
    n_before = len(heard.weights)
    plan._leave_minimum(run, policy)
    asked = heard.weights[n_before:]
    assert len(asked) == 1 + noisy
    if noisy:
        # It is heard once more itself.
        assert_array_equal(asked[0], home * STEP)
        assert run.home[2] == 5
    assert np.sum(run.search.codes != home) == n_drawn
    assert_array_equal(asked[-1], run.search.codes * STEP)


def test_noisy_weights_reach_a_goal_when_they_do_so_afresh():
    heard = Heard()
    plan = make_plan(heard, noisy=True, goal=1.0)
    run, policy = begun(plan, np.rint(WANTED / STEP))
    run.search.state[0].loss = 0.5
    reached = plan._reaches(run, policy, 1.01)
    assert reached
    assert run.n_evaluations == 10
    fresh = heard.losses[-10:]
    assert run.search.state[0].loss == pytest.approx(np.mean(fresh))
    assert not plan._reaches(run, policy, 0.99)


def test_validation_judges_by_what_comes_last():
    validated = Heard()
    plan = make_plan(Heard(), Heard(), Heard(), validation=validated)
    run, _ = begun(plan)
    plan._keep_best(run)
    assert run.best_stage == 2
    assert run.best_loss == validated.losses[-1]
    plan._keep_best(run)
    assert len(validated.losses) == 1  # the same weights are not asked twice
    plan = make_plan(Heard(), Heard())
    run, _ = begun(plan)
    plan._keep_best(run)
    assert run.best_stage == 0


def test_a_stage_that_counts_more_keeps_worse_weights():
    plan = make_plan(Heard(), Heard(luck=[9.0]))
    run, policy = begun(plan)
    plan._keep_best(run)
    first = run.best_loss
    plan._end_stage(run, policy, "max_evaluations")
    plan._keep_best(run)
    assert (run.stage, run.best_stage) == (1, 1)
    assert run.best_loss == pytest.approx(first + 9.0)
    # Of the same stage, only better ones.
    weight, code = ask(run.search)
    changed = run.search.codes * STEP
    changed[weight] = code * STEP[weight]
    assert tell(run.search, run.best_loss - 1.0)
    plan._keep_best(run)
    assert run.best_loss == pytest.approx(first + 8.0)
    assert_array_equal(run.best_codes * STEP, changed)
