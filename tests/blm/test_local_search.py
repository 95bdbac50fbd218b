"""Training runs on a loss that can be written down."""

from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal

from skmohn.blm import _kernels as kernels
from skmohn.blm._codec import auto_bound
from skmohn.blm._local_search import (
    LOCAL_MINIMUM,
    Evaluated,
    Trainer,
    TrainingState,
    train,
)
from skmohn.blm._network import DatasetProblem
from skmohn.blm._search import WORST, InitOptions, MoveOptions, ask, tell

N_BITS, STEP = 6, 1.0 / 31


class Bowl(DatasetProblem):
    """Half the squared distance of weights from wanted ones, and a price of their size.

    What stands for a network is its weights.
    """

    def __init__(self, wanted, price=0.0, shift=0.0):
        wanted = np.array(wanted)
        own = {"wanted": wanted, "size_price": price, "shift": shift}
        own |= {"step": np.full(len(wanted), STEP), "loss": kernels.SQUARED}
        vars(self).update(own)  # the class is frozen

    def price(self, weights):
        """What the weights themselves cost."""
        return self.size_price * np.abs(weights).sum()

    def connect(self, weights):
        """What stands for a network."""
        return SimpleNamespace(weights=np.array(weights))

    def refresh(self, net):
        """The loss of a network."""
        difference = net.weights - self.wanted
        return 0.5 * difference @ difference + self.price(net.weights) + self.shift

    def search(self, search, net, n_moves):
        """Try so many moves; return whether another may improve."""
        for _ in range(n_moves):
            weight, code = ask(search)
            if weight < 0:
                return False
            before = net.weights[weight]
            net.weights[weight] = code * STEP
            if not tell(search, self.refresh(net)):
                net.weights[weight] = before
        return True


WANTED = [0.5, -0.9, 0.25, 0.0]


def make_trainer(problem=None, validation=None, **options):
    options = {
        "init": InitOptions(), "perturbation": 0.0, "epoch": 40, "max_flips": 10_000,
        "tol": 1e-4, "n_iter_no_change": 5, **options,
    }  # fmt: skip
    return Trainer(
        problem=problem or Bowl(WANTED),
        validation=validation,
        moves=MoveOptions(n_bits=N_BITS, sparse=options.pop("sparse", False)),
        **options,
    )


def test_a_run_ends_at_the_local_minimum():
    trainer = make_trainer(Bowl(WANTED, price=0.1))
    state = trainer.begin([0])
    while state.stopping_reason is None:
        trainer.advance(state)
    assert state.stopping_reason == LOCAL_MINIMUM
    # By a tenth nearer to zero than wanted.
    assert_array_equal(state.best_codes, np.rint(np.array([0.4, -0.8, 0.15, 0]) / STEP))
    last, weights = state.records[-1], state.best_codes * STEP
    assert last["loss"] == state.best_loss
    assert state.best_loss == pytest.approx(trainer.problem.evaluate(state.best_codes))
    assert last["rmse"] == pytest.approx(np.linalg.norm(weights - WANTED))
    assert last["validation_loss"] is None
    assert last["flips"] == state.search.state[0].tried


def test_epochs_and_runs_have_their_moves():
    trainer = make_trainer(perturbation=0.5, max_flips=100, n_iter_no_change=99)
    state = trainer.begin([0])
    tried = [state.records[0]["flips"]]
    while state.stopping_reason is None:
        tried.append(trainer.advance(state, 30).records[-1]["flips"])
    assert tried == [0, 30, 60, 90, 100]
    assert state.stopping_reason == "max_flips"
    state = make_trainer(perturbation=0.5).begin([0])
    trainer.advance(state)
    assert state.search.state[0].tried == 40


@pytest.mark.parametrize(
    ("seconds", "asked"), [(np.inf, [200]), (0.1, [1, 2, 4, 8, 16, 32, 32, 32])]
)
def test_the_clock_is_seen_every_fiftieth_of_a_second(monkeypatch, seconds, asked):
    """A move takes a thousandth; without a limit nobody looks at the clock."""
    now, found = [0.0], []

    class Slow(Bowl):
        def search(self, search, net, n_moves):
            found.append(n_moves)
            now[0] += 1e-3 * n_moves
            return super().search(search, net, n_moves)

    clock = SimpleNamespace(perf_counter=lambda: now[0])
    for module in ("_local_search", "_network"):
        monkeypatch.setattr(f"skmohn.blm.{module}.time", clock)
    trainer = make_trainer(Slow(np.full(50, 0.5)))
    trainer.advance(trainer.begin([0]), 200, seconds)
    assert found == asked


def test_steps_begin_with_a_sixth_of_the_range():
    assert make_trainer().moves.first_step == 5
    assert_array_equal(make_trainer().begin([0]).search.steps, 4)
    assert MoveOptions(n_bits=2).first_step == 1


@pytest.mark.parametrize(
    ("losses", "patience_used"),
    [
        ([10.0, 9.1, 8.9, 8.8], [0, 1, 0, 1]),  # small gains add up
        ([-10.0, -10.9, -11.1], [0, 1, 0]),
        ([10.0, 11.0, 8.0], [0, 1, 0]),
    ],
)
def test_gains_count_from_a_tenth_on(losses, patience_used):
    trainer = make_trainer(tol=0.1)
    state = trainer.begin([0])
    state.records.clear()
    state.best_loss = state.reference_loss = np.inf
    found = []
    for loss in losses:
        state.loss = loss
        trainer._record(state)
        found.append(state.patience_used)
    assert found == patience_used
    # Another bit gives new hope.
    state.records[-1]["bits"] -= 1
    trainer._record(state)
    assert state.patience_used == 0


def test_a_run_waits_no_longer_than_asked():
    trainer = make_trainer(
        Bowl(WANTED, shift=1e3), perturbation=0.3, n_iter_no_change=3
    )
    state = trainer.begin([0])
    while state.stopping_reason is None:
        trainer.advance(state)
    assert state.stopping_reason.startswith("no improvement")
    assert state.patience_used == 3


@pytest.mark.parametrize(
    ("fraction", "sparse", "n_most"), [(0.1, False, 1), (0.5, False, 3), (1.0, True, 2)]
)
def test_some_weights_of_the_best_minimum_are_drawn_anew(fraction, sparse, n_most):
    trainer = make_trainer(Bowl([0.5] * 6), perturbation=fraction, sparse=sparse)
    changed = []
    for seed in range(10):
        state = trainer.begin(
            [seed], np.array([9, 0, 0, 0, -9, 0] if sparse else [9] * 6)
        )
        home = state.search.codes.copy()
        trainer.problem.prepare(state)
        trainer._perturb(state)
        net = state.network
        assert state.best_minimum.loss == trainer.problem.evaluate(home)
        assert_array_equal(net.weights, state.search.codes * STEP)
        assert state.search.state[0].loss == state.loss == trainer.problem.refresh(net)
        differs = state.search.codes != home
        assert not sparse or set(np.flatnonzero(differs)) <= {0, 4}
        changed.append(differs.sum())
        # A worse minimum is left for the best one.
        state.search.codes[:] = 31
        state.loss = np.inf
        trainer._perturb(state)
        assert_array_equal(state.best_minimum.codes, home)
        assert (state.search.codes != home).sum() <= n_most
    assert max(changed) == n_most


def test_validation_says_which_codes_are_best():
    trainer = make_trainer(Bowl(WANTED), Bowl([0.5, 0.0, 0.0, 0.0]))
    state = trainer.begin([1])
    while state.stopping_reason is None:
        trainer.advance(state, 10)
    judged = [record["validation_loss"] for record in state.records]
    assert state.best_loss == min(judged) < judged[-1]
    assert trainer.validation.evaluate(state.best_codes) == state.best_loss


def test_a_record_shows_the_best_minimum_so_far():
    trainer = make_trainer(Bowl(WANTED, price=0.1))
    state = trainer.begin([0])
    home = np.array([1, 2, 3, 4])
    state.best_minimum = Evaluated(home, trainer.problem.evaluate(home))
    for loss in (state.best_minimum.loss + 1.0, state.best_minimum.loss - 0.125):
        state.loss = loss
        trainer._record(state)
        assert state.records[-1]["loss"] == min(loss, state.best_minimum.loss)
    state.loss = state.best_minimum.loss + 1.0
    trainer._record(state)
    distance = np.linalg.norm(home * STEP - WANTED)
    assert state.records[-1]["rmse"] == pytest.approx(distance)
    # Rounding may leave less than nothing.
    state.best_minimum = None
    state.loss = -1.0
    trainer._record(state)
    assert state.records[-1]["rmse"] == 0.0


@pytest.mark.parametrize(("n_inputs", "largest"), [(4, 31), (20, 31), (80, 15)])
def test_automatic_bounds_follow_the_fan_in(n_inputs, largest):
    trainer = make_trainer(
        Bowl(np.zeros(500)), init=InitOptions(auto_bound((n_inputs,))[0])
    )
    codes = trainer.begin([0]).search.codes
    assert abs(codes).max() == largest


def test_a_fraction_of_the_weights_begins_at_zero():
    trainer = make_trainer(Bowl(np.zeros(500)), init=InitOptions(sparsity=0.8))
    zeros = np.count_nonzero(trainer.begin([0]).search.codes == 0)
    assert 400 <= zeros < 430


def test_a_loss_that_is_no_number_is_the_worst():
    trainer = make_trainer(Bowl([np.nan]))
    assert trainer.begin([0]).loss == WORST


def test_all_runs_are_advanced_until_each_has_ended():
    trainer = make_trainer(perturbation=0.3, max_flips=200)
    seen = []

    def report(advanced, best):
        assert len(advanced) == 3
        seen.append(best.best_loss)

    states = [trainer.begin([seed], index=seed) for seed in range(3)]
    states, reason = train(trainer, states, order="parallel", n_jobs=1, report=report)
    assert reason is None
    assert {state.stopping_reason for state in states} == {"max_flips"}
    losses = [state.best_loss for state in states]
    assert losses == sorted(losses)
    assert seen[-1] == losses[0]
    assert len(seen) == 5


@pytest.mark.parametrize(
    ("stops", "deadline", "reason", "n_moves"),
    [(True, np.inf, "a callback", 40), (False, 0.0, "max_time", 0)],
)
def test_all_runs_end_at_a_callback_or_when_time_is_up(
    stops, deadline, reason, n_moves
):
    trainer = make_trainer(perturbation=0.3)
    states, found = train(
        trainer,
        [trainer.begin([seed], index=seed) for seed in range(2)],
        order="parallel",
        n_jobs=1,
        report=lambda advanced, best: stops,
        deadline=deadline,
    )
    assert found == reason
    assert [state.search.state[0].tried for state in states] == [n_moves] * 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_runs_after_the_first_success_do_not_count(n_jobs):
    """A goal that the second of four runs reaches at once, and the first never."""

    class Even(Bowl):
        def next_stage(self, state, reason):
            if state.index % 2:
                state.succeeded, state.stopping_reason = True, "goal"
            return super().next_stage(state, state.stopping_reason or reason)

    trainer = make_trainer(Even(WANTED, shift=1.0), max_flips=120, n_iter_no_change=99)
    fresh = [TrainingState([index], index) for index in range(4)]
    with parallel_config(backend="threading"):
        states, reason = train(
            trainer,
            fresh,
            order="until_success",
            n_jobs=n_jobs,
            report=lambda advanced, best: False,
        )
    assert reason is None
    assert [state.index for state in states] == [1, 0]
    assert [state.stopping_reason for state in states] == ["goal", LOCAL_MINIMUM]


def test_states_are_plain_between_epochs():
    trainer = make_trainer()
    state = trainer.begin([0])
    assert state.network is None
    assert trainer.advance(state).network is None
    # An unbegun state has no codes, and is left out of the result.
    assert not TrainingState([0]).is_begun
