"""Training on black boxes: what the search may rely on, and what it must not."""

import itertools
import pickle
from collections import Counter
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from support import Callback

from skmohn import BLMRegressor, SearchOptions
from skmohn.blm import BLMController, Policy, Stage
from skmohn.datasets import InvertedPendulum

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

WANTED = np.array([0.5, -0.9, 0.25])
PENDULUM = InvertedPendulum(n_simulations=6, duration=5.0)


def distance(policy, rng, incumbent, wanted=WANTED):
    """Squared distance of the weights from wanted ones, part by part."""
    total = 0.0
    for difference in policy.weights - wanted:
        total += difference**2
        if total >= incumbent:
            break
    return total


def linear(**parameters):
    """A controller of three weights."""
    options = {"n_inputs": 2, "n_outputs": 1, "n_bits": 8, "w_max": 2.0}
    return BLMController((), **{**options, "random_state": 0, **parameters})


def small(**parameters):
    options = {"max_evaluations": 300, "n_bits": 8, "random_state": 0}
    return BLMController((4,), **{**options, **parameters})


def assert_same(one, other):
    assert_array_equal(one.codes_, other.codes_)
    assert one.loss_ == other.loss_
    assert one.stopping_reason_ == other.stopping_reason_
    assert one.n_evaluations_ == other.n_evaluations_
    plain = [
        [{k: v for k, v in r.items() if k != "seconds"} for r in model.history_]
        for model in (one, other)
    ]
    assert plain[0] == plain[1]


# ----------------------------------------------------------------------------- search


@pytest.mark.slow_cases("threshold-.*|None-gray")
@pytest.mark.parametrize("search", ["gray", "adaptive"])
@pytest.mark.parametrize("telescopic", [None, "threshold", "local_minimum"])
def test_nearest_weights_of_the_grid_are_found(search, telescopic):
    model = linear(
        search=search, search_options=SearchOptions(telescopic=telescopic)
    ).fit(distance)
    step = 2.0 / 127
    assert_array_equal(model.codes_, np.rint(WANTED / step))
    assert model.loss_ == distance(model.policy_, None, np.inf)
    assert_array_equal(model.policy_.weights, model.codes_ * step)
    assert isinstance(model.policy_, Policy)


@given(
    seed=st.integers(0, 10_000),
    search=st.sampled_from(["gray", "adaptive"]),
    perturbation=st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=20)
def test_best_loss_never_rises(seed, search, perturbation):
    model = linear(
        search=search,
        perturbation=perturbation,
        validate_every=3,
        max_evaluations=120,
        random_state=seed,
    ).fit(distance)
    losses = [record["loss"] for record in model.history_]
    assert np.all(np.diff(losses) <= 0)
    assert model.loss_ == losses[-1]


@pytest.mark.parametrize(
    ("search", "neighborhood"),
    [("gray", "first"), ("gray", "best"), ("adaptive", "first")],
)
def test_giving_up_early_changes_nothing(search, neighborhood):
    def whole(policy, rng, incumbent):
        return PENDULUM(policy, rng, np.inf)

    model = small(
        search=search,
        search_options=SearchOptions(neighborhood=neighborhood),
        n_inputs=4,
        n_outputs=1,
    )
    assert_same(clone(model).fit(PENDULUM), clone(model).fit(whole))


def test_what_an_objective_returns_when_it_gives_up_does_not_matter():
    def liar(policy, rng, incumbent):
        loss = distance(policy, rng, np.inf)
        return loss if loss < incumbent else incumbent + 7.0 * rng.random()

    for search in ("gray", "adaptive"):
        model = linear(search=search, max_evaluations=150)
        assert_same(clone(model).fit(distance), clone(model).fit(liar))


def test_objectives_get_the_same_draws_each_time():
    seen = []

    def watch(policy, rng, incumbent):
        seen.append(rng.random())
        return distance(policy, rng, incumbent)

    linear(max_evaluations=20).fit([watch, watch])
    assert len(set(seen[:20])) == len(set(seen[20:])) == 1
    assert seen[0] != seen[20]
    seen.clear()
    linear(max_evaluations=20, noisy=True).fit(watch)
    assert len(set(seen)) == len(seen)


def test_incumbent_is_the_loss_to_beat():
    recorded = []

    def watch(policy, rng, incumbent):
        loss = distance(policy, rng, np.inf)
        recorded.append((incumbent, loss))
        return loss

    linear(max_evaluations=60, perturbation=0.0).fit(watch)
    assert recorded[0][0] == np.inf
    best = recorded[0][1]
    for incumbent, loss in recorded[1:]:
        assert incumbent == best
        best = min(best, loss)


@pytest.mark.parametrize("n_jobs", [2, 3])
@pytest.mark.parametrize("goal", [None, 0.3])
def test_controller_is_the_same_for_every_number_of_jobs(n_jobs, goal):
    model = small(n_restarts=5, goal=goal, validate_every=50, max_evaluations=85)
    model.set_params(random_state=2)
    serial = clone(model).fit(PENDULUM)
    if goal is not None:
        assert 1 < serial.n_restarts_ < 5
    with parallel_config(backend="threading"):
        assert_same(clone(model).set_params(n_jobs=n_jobs).fit(PENDULUM), serial)


def test_controllers_begin_near_zero_with_few_bits():
    said = SearchOptions(w_init=0.01, telescopic="threshold")
    model = small().fit(PENDULUM)
    assert_same(model, small(search_options=said).fit(PENDULUM))
    for control in (SearchOptions(w_init=1.0), SearchOptions(telescopic=None)):
        other = small(search_options=control).fit(PENDULUM)
        assert np.any(other.codes_ != model.codes_)


def test_weights_of_a_sparse_controller_are_zero_while_others_improve():
    recorded = []

    def steep(policy, rng, incumbent):
        recorded.append(policy.weights.copy())
        return -np.abs(policy.weights).sum()

    control = SearchOptions(init="uniform", sparsity=0.5, telescopic=None)
    linear(n_inputs=19, search_options=control, max_evaluations=11).fit(steep)
    kept = recorded[0] == 0
    assert kept.sum() == 10
    assert not np.any(np.array(recorded)[:, kept])
    assert len({weights.tobytes() for weights in recorded}) > 2


# ----------------------------------------------------------------------------- stages


def test_stages_follow_one_another_at_their_goals():
    near = partial(distance, wanted=np.zeros(3))
    stages = [Stage(near, goal=1e-3), Stage(distance, goal=1e-2, max_evaluations=400)]
    model = linear(search_options=SearchOptions(w_init=2.0), validate_every=1).fit(
        stages
    )
    assert model.succeeded_
    assert model.stopping_reason_ == "goal in stage 2"
    assert model.n_stages_done_ == 2
    reached = [r["stage"] for r in model.history_]
    assert set(reached) == {0, 1}
    assert np.all(np.diff(reached) >= 0)
    assert model.loss_ <= 1e-2
    # The second stage begins where the first has ended.
    index = reached.index(1)
    assert model.history_[index]["loss"] == pytest.approx(np.sum(WANTED**2), abs=0.2)


def test_a_run_that_misses_a_goal_ends_and_a_later_stage_counts_more():
    hopeless = Stage(lambda p, r, i: 1.0 + distance(p, r, i), 0.5, 50)
    with pytest.warns(ConvergenceWarning, match="no goal was reached in 3 runs"):
        model = linear(n_restarts=3).fit([hopeless, distance])
    assert model.stopping_reason_ == "max_evaluations in stage 1"
    assert model.n_restarts_ == 3
    assert model.n_stages_done_ == 0
    assert model.n_evaluations_ == 150
    assert not model.succeeded_
    losses = {}
    for record in model.history_:
        losses[record["restart"]] = record["loss"]
    assert model.loss_ == min(losses.values())


def test_a_stage_without_goal_uses_its_evaluations():
    model = linear(max_evaluations=30).fit([Stage(distance, None, 20), distance])
    assert model.n_evaluations_ == 50
    assert model.stopping_reason_ == "max_evaluations in stage 2"
    assert model.n_stages_done_ == 2


@pytest.mark.parametrize("n_evaluations", range(150, 400, 25))
def test_a_stage_begins_with_the_best_weights_of_the_one_before(n_evaluations):
    recorded = []

    def first(policy, rng, incumbent):
        recorded.append((distance(policy, rng, np.inf), tuple(policy.weights)))
        return recorded[-1][0]

    def second(policy, rng, incumbent):
        recorded.append((0.0, tuple(policy.weights)))
        return 0.0

    model = linear(perturbation=0.4, max_evaluations=1)
    model.fit([Stage(first, None, n_evaluations), second])
    assert recorded[n_evaluations][1] == min(recorded[:n_evaluations])[1]


@pytest.mark.parametrize("recurrent", [False, True])
def test_restarts_begin_at_different_points(recurrent):
    recorded = []

    def watch(policy, rng, incumbent):
        recorded.append(policy.weights.copy())
        return distance(policy, rng, incumbent)

    linear(
        n_restarts=4,
        max_evaluations=1,
        search_options=SearchOptions(init="uniform"),
        recurrent=recurrent,
    ).fit(watch)
    for one, other in itertools.combinations(recorded, 2):
        assert np.all(one != other)


def test_a_local_minimum_ends_a_run_that_does_not_perturb():
    model = linear(perturbation=0.0).fit(distance)
    assert model.stopping_reason_ == "local minimum: no move improves"
    assert model.n_evaluations_ < 5000


def test_restarts_end_with_the_first_that_succeeds():
    model = small(goal=0.3, n_restarts=50, max_evaluations=100).fit(PENDULUM)
    assert model.succeeded_
    assert model.n_restarts_ < 50
    assert model.history_[-1]["restart"] == model.n_restarts_ - 1
    assert model.loss_ <= 0.3


# ------------------------------------------------------------------------- validation


def test_validation_keeps_the_weights_that_it_likes_best():
    # On the way from zero to what is wanted, validation is best at a quarter.
    seen = []

    def validation(policy, rng, incumbent):
        loss = distance(policy, rng, np.inf, WANTED / 4)
        seen.append((loss, policy.weights.copy()))
        return loss

    model = linear(validate_every=1, max_evaluations=200).fit(distance, validation)
    best = min(seen, key=lambda pair: pair[0])
    assert model.loss_ == best[0]
    assert_array_equal(model.policy_.weights, best[1])
    assert model.loss_ < seen[-1][0]
    found = [record["validation_loss"] for record in model.history_]
    assert np.all(np.diff(found) <= 0)
    assert found[-1] == best[0]


def test_validation_goal_ends_the_run():
    model = linear(validation_goal=0.5, n_restarts=9, validate_every=1)
    model.fit(distance, distance)
    assert model.stopping_reason_ == "validation_goal"
    assert model.succeeded_
    assert model.n_restarts_ == 1
    assert model.loss_ <= 0.5


# ------------------------------------------------------------------------------ noise


def test_noise_does_not_fool_the_search():
    noise = np.random.default_rng(0)

    def noisy(policy, rng, incumbent):
        return distance(policy, rng, np.inf) + 0.3 * noise.standard_normal()

    differences = []
    for is_noisy in (True, False):
        model = linear(noisy=is_noisy, max_evaluations=2000, validate_every=10)
        model.fit(noisy)
        differences.append(abs(model.loss_ - distance(model.policy_, None, np.inf)))
    # With noisy=False it keeps the luckiest of many evaluations.
    assert differences[0] < 0.25 < 0.5 < differences[1]


def noisy_fits(**parameters):
    """Controllers of ten seeds, and the losses that noise has hidden from them."""
    for seed in range(10):
        noise = np.random.default_rng(seed)

        def noisy(policy, rng, incumbent, noise=noise):
            return distance(policy, rng, np.inf) + 0.3 * noise.standard_normal()

        model = linear(noisy=True, validate_every=10, random_state=seed, **parameters)
        model.set_params(max_evaluations=2000).fit(noisy)
        yield model, distance(model.policy_, None, np.inf)


@pytest.mark.slow
def test_a_noisy_loss_owes_nothing_to_the_choice():
    differences = [model.loss_ - truth for model, truth in noisy_fits()]
    # Each is a mean of ten; those by which the weights were chosen are 0.27 too low.
    assert abs(np.mean(differences)) < 0.1
    assert np.std(differences) < 0.2


def test_the_best_of_noisy_moves_is_not_asked_for_ever():
    noise, asked = np.random.default_rng(0), []

    def nothing_but_noise(policy, rng, incumbent):
        asked.append(tuple(policy.weights))
        return noise.standard_normal()

    model = linear(
        noisy=True,
        search="gray",
        search_options=SearchOptions(neighborhood="best"),
        max_evaluations=400,
    )
    model.fit(nothing_but_noise)
    assert asked.count(asked[350]) < 50


def test_noisy_moves_are_judged_twice_at_least():
    times = Counter()

    def lucky_at_first(policy, rng, incumbent):
        weights = tuple(policy.weights)
        times[weights] += 1
        luck = {1: -10.0, 2: 10.0}.get(times[weights], 0.0)
        return luck + distance(policy, rng, np.inf)

    model = linear(noisy=True, validate_every=4, perturbation=0.0)
    model.fit(lucky_at_first)
    assert_array_equal(model.codes_, np.rint(WANTED / (2.0 / 127)))


def test_noisy_runs_move_in_every_epoch():
    model = linear(noisy=True, validate_every=1, max_evaluations=300).fit(distance)
    assert model.history_[-1]["accepted"] > 0


def test_luck_does_not_reach_a_goal():
    fits = list(noisy_fits(goal=0.2))
    assert all(model.succeeded_ for model, _ in fits)
    # Of runs that believe the first low mean, eight end above.
    assert sum(truth > 0.2 for _, truth in fits) <= 3


# ---------------------------------------------------------------------------- limits


class StopAfter(Callback):
    """A callback that stops a fit after some epochs."""

    def __init__(self, n_epochs):
        self.n_epochs = n_epochs

    def setup(self, estimator, context):
        self.count = 0

    def on_fit_task_end(self, estimator, context, **kwargs):
        if context.task_name == "iteration":
            self.count += 1
        return self.count >= self.n_epochs


@pytest.fixture(scope="module", params=[False, True], ids=["exact", "noisy"])
def whole(request):
    """A fit that is not stopped, and its stages."""
    model = small(
        n_restarts=3, validate_every=40, max_evaluations=150, noisy=request.param
    )
    stages = [replace(PENDULUM, duration=2.0), PENDULUM]
    return model.fit(stages), stages


@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.parametrize("n_epochs", [1, 3, 7])
def test_a_stopped_fit_goes_on_as_if_it_had_not_been(n_epochs, whole):
    whole, stages = whole
    stopped = clone(whole).set_callbacks(StopAfter(n_epochs)).fit(stages)
    assert stopped.stopping_reason_ == "a callback"
    assert stopped.n_iter_ == n_epochs
    # It can be stored in between.
    stopped = pickle.loads(pickle.dumps(stopped)).set_callbacks()
    assert_same(stopped.set_params(warm_start=True).fit(stages), whole)


def test_a_fit_that_has_ended_gets_as_many_evaluations_again():
    model = small(warm_start=True, max_evaluations=100).fit(PENDULUM)
    before = model.loss_
    model.fit(PENDULUM)
    assert model.n_evaluations_ == 200
    assert model.loss_ <= before
    losses = [record["loss"] for record in model.history_]
    assert np.all(np.diff(losses) <= 0)
    assert [r["iteration"] for r in model.history_] == [1, 2]


def raised(policy, rng, incumbent):
    return 5.0 + distance(policy, rng, np.inf)


def elsewhere(policy, rng, incumbent):
    return distance(policy, rng, incumbent, -WANTED)


@cache
def found_before(perturbation, noisy):
    """What is fitted to one objective, stored."""
    model = linear(warm_start=True, perturbation=perturbation, noisy=noisy)
    return pickle.dumps(model.fit(distance))


@pytest.mark.slow_cases(".*-0.1-False")
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("perturbation", [0.0, 0.1])
@pytest.mark.parametrize("other", [raised, elsewhere])
def test_another_objective_is_judged_anew(other, perturbation, noisy):
    model = pickle.loads(found_before(perturbation, noisy))
    found = model.policy_.weights.copy()
    model.fit(other)
    assert model.loss_ == pytest.approx(other(model.policy_, None, np.inf))
    assert model.loss_ < (5.1 if other is raised else 0.01)
    if other is raised:
        assert_array_equal(model.policy_.weights, found)


def test_runs_that_another_objective_finds_are_compared_by_it():
    stages = [Stage(raised, 0.0, 30), distance]
    model = linear(
        n_restarts=3, search_options=SearchOptions(init="uniform"), warm_start=True
    ).fit(stages)
    codes = [run.best_codes * 2.0 / 127 for run in model._runs]
    best = min(np.sum((weights + WANTED) ** 2) for weights in codes)
    model.set_params(max_evaluations=1).fit([Stage(elsewhere, 0.0, 1), distance])
    assert model.loss_ <= best


@pytest.mark.parametrize("second", [elsewhere, None])
def test_another_validation_is_judged_anew(second):
    model = linear(warm_start=True, max_evaluations=100, validate_every=5)
    model.fit(distance, distance)
    model.fit(distance, second)
    truth = distance if second is None else second
    assert model.loss_ == truth(model.policy_, None, np.inf)
    # And one that there has not been.
    model.fit(distance).fit(distance, elsewhere)
    assert model.loss_ == elsewhere(model.policy_, None, np.inf)


def test_another_search_begins_at_the_weights():
    model = linear(warm_start=True, max_evaluations=40).fit(distance)
    before = model.loss_
    model.set_params(search="gray", max_evaluations=1).fit(distance)
    assert not model._runs[0].search.state[0].adaptive
    assert model.loss_ <= before


@pytest.mark.parametrize(
    "changes",
    [
        {"w_max": 1.0},
        {"w_max_recurrent": 0.3},
        {"activation": "relu"},
        {"out_activation": "tanh"},
        {"recurrent": False},
        {"hidden_layer_sizes": (3,)},
    ],
)
def test_weights_that_would_mean_something_else_do_not_go_on(changes):
    model = small(recurrent=True, warm_start=True, max_evaluations=30).fit(PENDULUM)
    model.set_params(**changes)
    with pytest.raises(ValueError, match="the network has changed since the last fit"):
        model.fit(PENDULUM)


def test_a_fit_that_fails_leaves_the_runs_to_the_next():
    model = linear(warm_start=True, max_evaluations=30).fit(distance)
    expected = pickle.loads(pickle.dumps(model)).fit(distance)
    calls = []

    def breaks(policy, rng, incumbent):
        calls.append(policy)
        if len(calls) > 20:
            raise OSError("the device is off")
        return distance(policy, rng, incumbent)

    with pytest.raises(OSError, match="the device is off"):
        model.fit(breaks)
    assert_same(model.fit(distance), expected)


@pytest.mark.parametrize("offset", [1e6, -1e6])
def test_what_is_added_to_all_losses_changes_little(offset):
    model = linear().fit(lambda p, r, i: offset + distance(p, r, np.inf))
    assert_array_equal(model.codes_, np.rint(WANTED / (2.0 / 127)))


def test_time_ends_a_fit_between_evaluations():
    import time

    def slow(policy, rng, incumbent):
        time.sleep(0.01)
        return distance(policy, rng, incumbent)

    model = linear(max_time=0.2, n_restarts=3).fit(slow)
    assert model.stopping_reason_ == "max_time"
    assert 1 <= model.n_evaluations_ < 60


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_progress_bar_follows_a_fit():
    from sklearn.callback import ProgressBar

    small(max_evaluations=100).set_callbacks(ProgressBar()).fit(PENDULUM)


# -------------------------------------------------------------------------------- use


@pytest.mark.parametrize("recurrent", [False, True])
def test_predictions_are_those_of_acting_step_by_step(recurrent):
    model = small(recurrent=recurrent, max_evaluations=50).fit(PENDULUM)
    X = np.random.default_rng(0).normal(size=(7, 4))
    state, actions = None, []
    for row in X:
        action, state = model.act(row, state)
        actions.append(action)
    assert_array_equal(model.predict(X), actions)
    assert len(model.recurrent_coefs_) == recurrent
    n_own = 16 * recurrent
    assert len(model.codes_) == 4 * 5 + n_own + 5
    assert model.nbytes_ == len(model.codes_)


def test_recurrent_weights_have_a_range_of_their_own():
    model = small(
        recurrent=True, search_options=SearchOptions(init="uniform"), max_evaluations=1
    )
    for w_max_recurrent, bound in (("auto", 1.0), (0.5, 0.5)):
        model.set_params(w_max_recurrent=w_max_recurrent).fit(PENDULUM)
        assert 0.8 * bound < np.abs(model.recurrent_coefs_[0]).max() < 1.01 * bound
        assert np.abs(model.coefs_[0]).max() > 5.0


# -------------------------------------------------------------------------- bad input


def test_nan_is_the_worst_loss():
    def patchy(policy, rng, incumbent):
        if policy.weights[0] < 0:
            return np.nan
        return distance(policy, rng, incumbent)

    model = linear(search_options=SearchOptions(init="uniform"), random_state=1).fit(
        patchy
    )
    assert model.policy_.weights[0] >= 0
    assert model.loss_ < 1e-3
    with pytest.raises(ValueError, match="no finite loss in 5 evaluations"):
        linear(max_evaluations=5).fit(lambda policy, rng, incumbent: np.nan)


@pytest.mark.parametrize("returned", [None, "low", np.zeros(2)])
def test_an_objective_has_to_return_a_number(returned):
    with pytest.raises(TypeError, match=r"must return a number, got.*stage 1, eval"):
        linear().fit(lambda policy, rng, incumbent: returned)


def test_what_an_objective_raises_comes_through_and_leaves_a_fitted_model():
    model = linear(max_evaluations=30).fit(distance)
    before = model.codes_.copy()

    def broken(policy, rng, incumbent):
        raise OSError("the device is off")

    with pytest.raises(OSError, match="the device is off") as raised:
        model.fit([distance, broken])
    assert "stage 2, evaluation 1" in raised.value.__notes__[0]
    assert_array_equal(model.codes_, before)
    assert model.n_evaluations_ == 30


@pytest.mark.parametrize(
    ("parameters", "objective", "kind", "message"),
    [
        ({}, 3.0, TypeError, "objective must be callable, a Stage or a sequence"),
        ({}, [], ValueError, "objective has no stages"),
        ({}, [distance, 1], TypeError, "objective of stage 2 must be callable"),
        ({}, Stage(distance, 1.0, 0), ValueError, "max_evaluations of stage 1"),
        ({"n_inputs": None}, distance, ValueError, "n_inputs=None, but the objective"),
        (
            {},
            PENDULUM,
            ValueError,
            r"observations of stage 1 have shape \(4,\), but .* \(2,\): change n_inp",
        ),
        ({"validation_goal": 1.0}, distance, ValueError, "validation_goal needs a val"),
        ({"w_max": [1.0, 2.0]}, distance, ValueError, "w_max must be a positive"),
        (
            {"search_options": SearchOptions(start_bits=9)},
            distance,
            ValueError,
            "start_bits=9 is above n_bits=8",
        ),
        ({"hidden_layer_sizes": (0,)}, distance, ValueError, "hidden_layer_sizes must"),
        (
            {"search_options": SearchOptions(neighborhood="best")},
            distance,
            ValueError,
            'needs search="gray"',
        ),
        ({"n_bits": 1}, distance, ValueError, "n_bits"),
        ({"hidden_layer_sizes": (10**6, 10**6)}, distance, MemoryError, "GiB"),
    ],
)
def test_bad_input_is_refused(parameters, objective, kind, message):
    with pytest.raises(kind, match=message):
        linear().set_params(**parameters).fit(objective)


def test_validation_has_to_be_callable():
    with pytest.raises(TypeError, match=r"validation must be callable, got 1\.0"):
        linear().fit(distance, 1.0)


def test_shapes_that_do_not_fit_are_named():
    model = linear(max_evaluations=5).fit(distance)
    with pytest.raises(ValueError, match=r"shape \(3,\), but the controller .*\(2,\)"):
        model.act(np.zeros(3))
    with pytest.raises(ValueError, match=r"X has shape \(4, 3\), but .*\(2,\)"):
        model.predict(np.zeros((4, 3)))


def test_another_network_cannot_go_on():
    model = linear(max_evaluations=5, warm_start=True).fit([distance, distance])
    with pytest.raises(ValueError, match="objective has 1 stages"):
        model.fit(distance)
    with pytest.raises(ValueError, match=r"the network has changed.*n_bits"):
        model.set_params(n_bits=4).fit([distance, distance])


# --------------------------------------------------------------------------- storage


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"recurrent": True},
        {"recurrent": True, "w_max_recurrent": 3.0, "hidden_layer_sizes": (3, 2)},
        {"hidden_layer_sizes": (), "n_bits": 2},
        {"activation": "relu", "out_activation": "tanh", "w_max": [0.3, 7.0]},
        {"hidden_layer_sizes": (3, 2), "n_bits": 24},
    ],
)
def test_packed_controller_comes_back(options):
    model = small(max_evaluations=30).set_params(**options).fit(PENDULUM)
    packed = model.to_packed()
    assert 0 < len(packed) - model.nbytes_ <= 64
    back = BLMController.from_packed(packed)
    rows = np.random.default_rng(0).normal(size=(20, PENDULUM.n_inputs))
    assert_array_equal(back.predict(rows), model.predict(rows))
    assert_array_equal(back.act(rows[0])[0], model.act(rows[0])[0])
    assert_array_equal(back.policy_.weights, model.policy_.weights)
    for name in ("codes_", "nbytes_", "n_features_in_"):
        assert_array_equal(getattr(back, name), getattr(model, name))
    assert back.to_packed() == packed
    # It can be trained anew as it was.
    again = back.set_params(max_evaluations=30, random_state=0).fit(PENDULUM)
    assert_array_equal(again.coefs_[0].shape, model.coefs_[0].shape)
    np.testing.assert_allclose(again.policy_.weights, model.policy_.weights, rtol=1e-12)


def test_bytes_that_are_no_controller():
    packed = small(max_evaluations=30).fit(PENDULUM).to_packed()
    for kept in (0, 4, 9, 14, 30, -1):
        with pytest.raises(ValueError, match="packed"):
            BLMController.from_packed(packed[:kept])
    with pytest.raises(TypeError, match="packed must be bytes"):
        BLMController.from_packed("BLM2")
    with pytest.raises(ValueError, match="holds a BLMController, not a BLMRegressor"):
        BLMRegressor.from_packed(packed)
    with pytest.raises(NotFittedError):
        small().to_packed()
