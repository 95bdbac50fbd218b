"""Training runs on a loss that can be written down."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmohn.blm import _kernels as kernels
from skmohn.blm._codec import auto_bound
from skmohn.blm._search import WORST, Moves, Start, ask, tell
from skmohn.blm._training import MOVES_PER_EPOCH, Plan, train

N_BITS, STEP = 6, 1.0 / 31


class Bowl:
    """Half the squared distance of weights from wanted ones, and a price of their size.

    It is asked as a :class:`~skmohn.blm._network.Problem` is.
    """

    loss = kernels.SQUARED

    def __init__(self, wanted, price=0.0, sizes=(3, 1), shift=0.0):
        self.wanted, self.size_price, self.shift = np.array(wanted), price, shift
        self.layout = SimpleNamespace(
            sizes=sizes,
            n_weights=len(wanted),
            spread=lambda values: np.full(len(wanted), np.asarray(values).flat[0]),
        )

    def price(self, weights):
        """What the weights themselves cost."""
        return self.size_price * np.abs(weights).sum()

    def evaluate(self, weights):
        """The loss."""
        gaps = np.asarray(weights) - self.wanted
        return 0.5 * gaps @ gaps + self.price(weights) + self.shift

    def connect(self, weights):
        """What stands for a network."""
        return SimpleNamespace(weights=np.array(weights))

    def refresh(self, net):
        """The loss of a network."""
        return self.evaluate(net.weights)

    def search(self, search, net, step, n_moves):
        """Try so many moves; return whether another may improve."""
        for _ in range(n_moves):
            weight, code = ask(search)
            if weight < 0:
                return False
            changed = net.weights.copy()
            changed[weight] = code * step[weight]
            if tell(search, self.evaluate(changed)):
                net.weights[:] = changed
        return True


WANTED = [0.5, -0.9, 0.25, 0.0]


def make_plan(problem=None, validation=None, **options):
    options = {
        "start": Start(), "perturbation": 0.0, "max_flips": 10_000, "tol": 1e-4,
        "n_iter_no_change": 5, **options,
    }  # fmt: skip
    moves = Moves(n_bits=N_BITS, sparse=options.pop("sparse", False))
    return Plan(
        problem=problem or Bowl(WANTED),
        validation=validation,
        moves=moves,
        w_max=np.ones(1),
        **options,
    )


def test_a_run_ends_at_the_local_minimum():
    plan = make_plan(Bowl(WANTED, price=0.1))
    run = plan.begin(0)
    while run.reason is None:
        plan.advance(run)
    assert run.reason == "local minimum: no move improves"
    # By a tenth nearer to zero than wanted.
    assert_array_equal(run.best_codes, np.rint(np.array([0.4, -0.8, 0.15, 0]) / STEP))
    last, weights = run.records[-1], run.best_codes * STEP
    assert last["loss"] == run.best_loss
    assert run.best_loss == pytest.approx(plan.problem.evaluate(weights))
    assert last["rmse"] == pytest.approx(np.linalg.norm(weights - WANTED))
    assert last["validation_loss"] is None
    assert last["flips"] == run.search.state[0].tried


def test_epochs_and_runs_have_their_moves():
    plan = make_plan(perturbation=0.5, max_flips=100, n_iter_no_change=99)
    run = plan.begin(0)
    tried = [run.records[0]["flips"]]
    while run.reason is None:
        tried.append(plan.advance(run, 30).records[-1]["flips"])
    assert tried == [0, 30, 60, 90, 100]
    assert run.reason == "max_flips"
    run = make_plan(perturbation=0.5).begin(0)
    plan.advance(run)
    assert run.search.state[0].tried == 4 * MOVES_PER_EPOCH


@pytest.mark.parametrize(
    ("seconds", "asked"), [(np.inf, [200]), (0.1, [1, 2, 4, 8, 16, 32, 32, 32])]
)
def test_the_clock_is_seen_every_fiftieth_of_a_second(monkeypatch, seconds, asked):
    """A move takes a thousandth; without a limit nobody looks at the clock."""
    now, found = [0.0], []

    class Slow(Bowl):
        def search(self, search, net, step, n_moves):
            found.append(n_moves)
            now[0] += 1e-3 * n_moves
            return super().search(search, net, step, n_moves)

    clock = SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr("skmohn.blm._training.time", clock)
    plan = make_plan(Slow(np.full(50, 0.5)))
    plan.advance(plan.begin(0), 200, seconds)
    assert found == asked


def test_steps_begin_with_a_sixth_of_the_range():
    assert make_plan().moves.first_step == 5
    assert_array_equal(make_plan().begin(0).search.steps, 4)
    assert Moves(n_bits=2).first_step == 1


@pytest.mark.parametrize(
    ("losses", "patience_used"),
    [
        ([10.0, 9.1, 8.9, 8.8], [0, 1, 0, 1]),  # small gains add up
        ([-10.0, -10.9, -11.1], [0, 1, 0]),
        ([10.0, 11.0, 8.0], [0, 1, 0]),
    ],
)
def test_gains_count_from_a_tenth_on(losses, patience_used):
    plan = make_plan(tol=0.1)
    run = plan.begin(0)
    run.records.clear()
    run.best_loss = run.reference = np.inf
    found = []
    for loss in losses:
        run.loss = loss
        plan._record(run)
        found.append(run.patience_used)
    assert found == patience_used
    # Another bit gives new hope.
    run.records[-1]["bits"] -= 1
    plan._record(run)
    assert run.patience_used == 0


def test_a_run_waits_no_longer_than_asked():
    plan = make_plan(Bowl(WANTED, shift=1e3), perturbation=0.3, n_iter_no_change=3)
    run = plan.begin(0)
    while run.reason is None:
        plan.advance(run)
    assert run.reason.startswith("no improvement")
    assert run.patience_used == 3


@pytest.mark.parametrize(
    ("share", "sparse", "n_most"), [(0.1, False, 1), (0.5, False, 3), (1.0, True, 2)]
)
def test_some_weights_of_the_best_minimum_are_drawn_anew(share, sparse, n_most):
    plan = make_plan(Bowl([0.5] * 6), perturbation=share, sparse=sparse)
    changed = []
    for seed in range(10):
        run = plan.begin(seed, np.array([9, 0, 0, 0, -9, 0] if sparse else [9] * 6))
        home = run.search.codes.copy()
        net = plan.problem.connect(home * STEP)
        plan._perturb(run, net)
        assert run.home[1] == plan.problem.evaluate(home * STEP)
        assert_array_equal(net.weights, run.search.codes * STEP)
        assert run.search.state[0].loss == run.loss == plan.problem.refresh(net)
        differs = run.search.codes != home
        assert not sparse or set(np.flatnonzero(differs)) <= {0, 4}
        changed.append(differs.sum())
        # A worse minimum is left for the best one.
        run.search.codes[:] = 31
        run.loss = np.inf
        plan._perturb(run, net)
        assert_array_equal(run.home[0], home)
        assert (run.search.codes != home).sum() <= n_most
    assert max(changed) == n_most


def test_validation_says_which_codes_are_best():
    plan = make_plan(Bowl(WANTED), Bowl([0.5, 0.0, 0.0, 0.0]))
    run = plan.begin(1)
    while run.reason is None:
        plan.advance(run, 10)
    judged = [record["validation_loss"] for record in run.records]
    assert run.best_loss == min(judged) < judged[-1]
    assert plan.validation.evaluate(run.best_codes * STEP) == run.best_loss


def test_a_record_shows_the_best_minimum_so_far():
    plan = make_plan(Bowl(WANTED, price=0.1))
    run = plan.begin(0)
    home = np.array([1, 2, 3, 4])
    run.home = home, plan.problem.evaluate(home * STEP)
    for loss in (run.home[1] + 1.0, run.home[1] - 0.125):
        run.loss = loss
        plan._record(run)
        assert run.records[-1]["loss"] == min(loss, run.home[1])
    run.loss = run.home[1] + 1.0
    plan._record(run)
    distance = np.linalg.norm(home * STEP - WANTED)
    assert run.records[-1]["rmse"] == pytest.approx(distance)
    # Rounding may leave less than nothing.
    run.home = None
    run.loss = -1.0
    plan._record(run)
    assert run.records[-1]["rmse"] == 0.0


@pytest.mark.parametrize(("n_inputs", "largest"), [(4, 31), (20, 31), (80, 15)])
def test_automatic_bounds_follow_the_fan_in(n_inputs, largest):
    plan = make_plan(Bowl(np.zeros(500)), start=Start(auto_bound((n_inputs,))[0]))
    codes = plan.begin(0).search.codes
    assert abs(codes).max() == largest


def test_a_share_of_the_weights_begins_at_zero():
    plan = make_plan(Bowl(np.zeros(500)), start=Start(sparsity=0.8))
    zeros = np.count_nonzero(plan.begin(0).search.codes == 0)
    assert 400 <= zeros < 430


def test_a_loss_that_is_no_number_is_the_worst():
    plan = make_plan(Bowl([np.nan]))
    assert plan.begin(0).loss == WORST


def test_all_runs_go_on_until_each_has_ended():
    plan = make_plan(perturbation=0.3, max_flips=200)
    seen = []

    def report(best):
        seen.append(best.best_loss)

    runs = [plan.begin(seed) for seed in range(3)]
    runs = train(plan, runs, 1, report)
    assert {run.reason for run in runs} == {"max_flips"}
    losses = [run.best_loss for run in runs]
    assert losses == sorted(losses)
    assert seen[-1] == losses[0]
    assert len(seen) == 5


def test_all_runs_end_at_a_callback_or_when_time_is_up():
    plan = make_plan(perturbation=0.3)
    for report, deadline, reason in (
        (lambda best: True, np.inf, "a callback"),
        (lambda best: False, 0.0, "max_time"),
    ):
        runs = [plan.begin(seed) for seed in range(2)]
        runs = train(plan, runs, 1, report, deadline)
        assert [run.reason for run in runs] == [reason] * 2
        n_moves = 0 if reason == "max_time" else 4 * MOVES_PER_EPOCH
        assert [run.search.state[0].tried for run in runs] == [n_moves] * 2
