"""Decisions of a training run on black boxes, one by one, on an objective made up."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmohn.blm import Stage
from skmohn.blm._curriculum import BlackBoxProblem, BlackBoxValidation
from skmohn.blm._local_search import Evaluated, Trainer, TrainingState
from skmohn.blm._network import Layout
from skmohn.blm._search import InitOptions, MoveOptions, ask, tell

WANTED = np.array([0.5, -0.9, 0.25])
STEP = np.full(3, 2.0 / 127)


class Recorder:
    """Losses of weights, with luck set beforehand; records all calls."""

    def __init__(self, luck=()):
        self.luck, self.weights, self.losses = list(luck), [], []

    def __call__(self, policy, rng, incumbent):
        loss = 1.0 + np.sum((policy.weights - WANTED) ** 2)
        loss += self.luck.pop(0) if self.luck else 0.0
        self.weights.append(policy.weights.copy())
        self.losses.append(loss)
        return loss


def make_trainer(
    *objectives, n_bits=8, is_noisy=False, goal=None, validation=None, perturbation=0.0
):
    problem = BlackBoxProblem(
        stages=tuple(Stage(each, goal, 1000) for each in objectives),
        layout=Layout((2, 1), False),
        activation="tanh",
        out_activation="identity",
        step=STEP,
        is_noisy=is_noisy,
    )
    if validation is not None:
        validation = BlackBoxValidation(objective=validation, problem=problem, seed=0)
    return Trainer(
        problem=problem,
        validation=validation,
        moves=MoveOptions(n_bits=n_bits),
        init=InitOptions(init="uniform"),
        perturbation=perturbation,
        epoch=50,
    )


def begun(trainer, codes=(10, 20, 30)):
    """A run that stands at these codes."""
    state = TrainingState([3])
    trainer.enter_stage(state, np.array(codes, dtype=np.int32))
    return state


def test_means_are_those_of_all_evaluations():
    recorder = Recorder(luck=[0.0, 3.0, -0.5, 0.25])
    trainer = make_trainer(recorder, is_noisy=True)
    state = begun(trainer)
    mean = state.present
    for n in (2, 3, 4):
        mean = trainer.problem.reevaluate(state, mean)
        assert mean.n_evaluations == n
        assert mean.loss == pytest.approx(np.mean(recorder.losses))


@pytest.mark.parametrize(("n_bits", "first"), [(2, 1), (4, 1), (6, 5), (8, 21)])
def test_first_step_is_a_sixth_of_the_range(n_bits, first):
    assert make_trainer(Recorder(), n_bits=n_bits).moves.first_step == first


@pytest.mark.parametrize(("n_evaluations", "n_asked"), [(1, 2), (2, 2), (5, 5)])
def test_a_noisy_move_is_evaluated_as_often_as_where_it_stands(n_evaluations, n_asked):
    recorder = Recorder()
    trainer = make_trainer(recorder, is_noisy=True)
    state = begun(trainer)
    # All moves are better than a loss as high.
    state.loss, state.n_evaluations = 100.0, n_evaluations
    before = len(recorder.losses)
    trainer.problem._try_move(state)
    assert len(recorder.losses) - before == n_asked == state.n_evaluations


@pytest.mark.parametrize(("fraction", "n_drawn"), [(0.01, 1), (0.34, 1), (0.67, 2)])
@pytest.mark.parametrize("noisy", [False, True])
def test_a_fraction_of_the_weights_of_the_best_minimum_is_drawn_anew(
    fraction, n_drawn, noisy
):
    recorder = Recorder()
    trainer = make_trainer(recorder, perturbation=fraction, is_noisy=noisy)
    state = begun(trainer)
    home = np.array([32, -57, 16], dtype=np.int32)
    state.best_minimum = Evaluated(home, 1.0, 4)
    n_before = len(recorder.weights)
    trainer._perturb(state)
    asked = recorder.weights[n_before:]
    assert len(asked) == 1 + noisy
    if noisy:
        # It is evaluated once more itself.
        assert_array_equal(asked[0], home * STEP)
        assert state.best_minimum.n_evaluations == 5
    assert np.sum(state.search.codes != home) == n_drawn
    assert_array_equal(asked[-1], state.search.codes * STEP)


def test_noisy_weights_reach_a_goal_when_they_do_so_afresh():
    recorder = Recorder()
    for goal, is_reached in ((1.01, True), (0.99, False)):
        trainer = make_trainer(recorder, is_noisy=True, goal=goal)
        state = begun(trainer, np.rint(WANTED / STEP))
        state.loss = 0.5
        assert trainer.problem._reaches_goal(state) == is_reached
        assert state.n_evaluations == 10
        assert state.loss == pytest.approx(np.mean(recorder.losses[-10:]))


def test_a_noisy_minimum_reaches_a_goal_when_it_does_so_anew():
    recorder = Recorder()
    trainer = make_trainer(recorder, is_noisy=True, goal=0.99)
    state = begun(trainer)
    nearest = np.rint(WANTED / STEP).astype(np.int32)
    state.best_minimum = Evaluated(nearest, 0.5, 2)
    assert not trainer.problem._reaches_goal(state)
    assert state.best_minimum.n_evaluations == 10
    assert state.best_minimum.loss == pytest.approx(np.mean(recorder.losses[-10:]))
    # The search is where it was.
    assert_array_equal(state.network.weights, state.search.codes * STEP)


def test_validation_judges_by_what_comes_last():
    validated = Recorder()
    trainer = make_trainer(Recorder(), Recorder(), Recorder(), validation=validated)
    state = begun(trainer)
    trainer.keep_best(state)
    assert state.best_stage == 2
    assert state.best_loss == validated.losses[-1]
    trainer.keep_best(state)
    assert len(validated.losses) == 1  # the same weights are not asked twice
    trainer = make_trainer(Recorder(), Recorder())
    state = begun(trainer)
    trainer.keep_best(state)
    assert state.best_stage == 0


def test_a_stage_that_counts_more_keeps_worse_weights():
    trainer = make_trainer(Recorder(), Recorder(luck=[9.0]))
    state = begun(trainer)
    trainer.keep_best(state)
    first = state.best_loss
    trainer._end_stages(state, "max_evaluations")
    trainer.keep_best(state)
    assert (state.stage, state.best_stage) == (1, 1)
    assert state.best_loss == pytest.approx(first + 9.0)
    # Of the same stage, only better ones.
    weight, code = ask(state.search)
    changed = state.search.codes * STEP
    changed[weight] = code * STEP[weight]
    assert tell(state.search, state.best_loss - 1.0)
    trainer.keep_best(state)
    assert state.best_loss == pytest.approx(first + 8.0)
    assert_array_equal(state.best_codes * STEP, changed)
