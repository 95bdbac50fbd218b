"""MOHNSampler in studies of Optuna: spaces, states of trials, workers, its checks."""

import pickle
from importlib.util import find_spec

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.samplers import PartialFixedSampler, RandomSampler, TPESampler
from optuna.trial import TrialState, create_trial

import skmohn.integrations
from skmohn.datasets import make_ising
from skmohn.integrations import MOHNSampler

SWITCHES = {f"s{i}": CategoricalDistribution([False, True]) for i in range(6)}


@pytest.fixture(autouse=True)
def quiet():
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(level)


def make_study(sampler=None, **options):
    sampler = MOHNSampler(seed=0) if sampler is None else sampler
    return optuna.create_study(sampler=sampler, **options)


def suggest(trial, n=6):
    return [trial.suggest_categorical(f"s{i}", [False, True]) for i in range(n)]


def mismatch(trial):
    """How many of six switches are not as in the best setting."""
    return sum(s != w for s, w in zip(suggest(trial), [1, 0, 1, 1, 0, 0], strict=True))


def points_of(study):
    return [tuple(trial.params.values()) for trial in study.trials]


# ------------------------------------------------------------------------- the search


def energy_of(glass, trial):
    spins = 2.0 * np.array(suggest(trial, glass.X.shape[1])) - 1.0
    return float(glass.weights @ [np.prod(spins[list(t)]) for t in glass.terms])


@pytest.mark.slow
def test_ground_state_of_a_spin_glass_is_found_where_random_trials_do_not():
    glass = make_ising((4, 4), random_state=0)
    ours, random = make_study(), make_study(RandomSampler(seed=0))
    for study in (ours, random):
        study.optimize(lambda trial: energy_of(glass, trial), n_trials=70)
    assert ours.best_value == pytest.approx(glass.minimum)
    assert random.best_value > glass.minimum + 1.0


def test_the_largest_value_is_found():
    study = make_study(direction="maximize")
    study.optimize(mismatch, n_trials=20)
    assert study.best_value == 6


def test_same_seed_same_trials():
    first, second = (make_study(MOHNSampler(seed=3)) for _ in range(2))
    for study in (first, second):
        study.optimize(mismatch, n_trials=15)
    assert points_of(first) == points_of(second)


def test_no_point_is_tried_twice_without_noise_until_all_were_tried():
    study = make_study(MOHNSampler(seed=0, noise=0))
    study.optimize(mismatch, n_trials=64)
    assert len(set(points_of(study))) == 64
    study.optimize(mismatch, n_trials=2)
    assert len(study.trials) == 66


def test_integers_and_categories_keep_their_values():
    space = {
        "step": IntDistribution(-4, 11, step=5),
        "letter": CategoricalDistribution(["a", None, 1, True]),
        "size": CategoricalDistribution([16, 32, 64]),
        "range": IntDistribution(1, 100),
    }
    study = make_study()
    for _ in range(12):
        trial = study.ask(space)
        assert trial.params["step"] in {-4, 1, 6, 11}
        assert trial.params["size"] in {16, 32, 64}
        assert 1 <= trial.params["range"] <= 100
        assert type(trial.params["range"]) is int
        # The same objects: True equals 1, and is another choice.
        choices = space["letter"].choices
        assert any(trial.params["letter"] is choice for choice in choices)
        study.tell(trial, abs(trial.params["step"] - 6) + trial.params["range"])
    relative = study.sampler.infer_relative_search_space(study, study.trials[0])
    assert relative == space


def test_other_parameters_are_left_to_the_independent_sampler():
    asked = set()

    class Watched(RandomSampler):
        def sample_independent(self, study, trial, name, distribution):
            if trial.number > 2:
                asked.add(name)
            return super().sample_independent(study, trial, name, distribution)

    def objective(trial):
        value = mismatch(trial)
        value += trial.suggest_float("float", 0.0, 1.0)
        value += trial.suggest_float("stepped", 0.0, 1.0, step=0.5)
        value += trial.suggest_int("log", 1, 50, log=True) / 50
        value += trial.suggest_int("long", 0, 100) / 100
        value += trial.suggest_categorical("single", [0])
        if trial.params["s0"]:
            value += trial.suggest_categorical("if_s0", [0, 1])
        return value

    study = make_study(MOHNSampler(seed=0, independent_sampler=Watched(seed=0)))
    study.optimize(objective, n_trials=15)
    assert asked == {"float", "stepped", "log", "long", "if_s0"}
    assert isinstance(MOHNSampler().independent_sampler, TPESampler)


class Unreadable(TPESampler):
    """A sampler that cannot read stored trials, as TPE of some versions cannot."""

    def sample_independent(self, *where):
        raise ValueError("0.25 not in (False, True)")


def test_a_trial_that_the_independent_sampler_cannot_read_does_not_end_a_study():
    study = make_study()
    study.sampler.independent_sampler = Unreadable()
    trial = create_trial(params={}, distributions={}, value=1.0)
    where = study, trial, "s0", SWITCHES["s0"]
    with pytest.warns(UserWarning, match="s0 is drawn at random, because TPESampler"):
        assert study.sampler.sample_independent(*where) in (False, True)
    sampler = MOHNSampler(seed=0, independent_sampler=Unreadable())
    with pytest.raises(ValueError, match="not in"):
        sampler.sample_independent(*where)


def test_ranges_that_change_are_left_to_the_independent_sampler():
    study = make_study()
    for high in (5, 5, 9, 9):
        study.optimize(lambda t, high=high: t.suggest_int("x", 0, high), n_trials=2)
    assert len(study.trials) == 8


# ----------------------------------------------------------------------- known trials


def told(study, values, state=TrialState.COMPLETE, score=None, attributes=None):
    """Add a trial to a study."""
    study.add_trial(
        create_trial(
            state=state,
            value=score,
            params=dict(zip(SWITCHES, values, strict=True)),
            distributions=SWITCHES,
            system_attrs=attributes,
        )
    )


def fill(study, n=30):
    """Evaluate some points at random, not by the sampler; the best is no 63."""
    rng = np.random.default_rng(0)
    for k in rng.permutation(63)[:n]:
        bits = [bool(k >> i & 1) for i in range(6)]
        told(study, bits, score=float(6 - sum(bits)))


def test_a_study_with_trials_goes_on_where_it_is():
    study = make_study(MOHNSampler(seed=0, noise=0))
    fill(study)
    study.optimize(lambda trial: 6 - sum(suggest(trial)), n_trials=8)
    assert study.best_value == 0.0
    assert len(set(points_of(study))) == 38


@pytest.mark.slow
def test_a_new_sampler_for_each_trial_knows_what_is_known():
    glass = make_ising((4, 3), random_state=0)
    study = make_study()
    for seed in range(40):
        # As if each trial had a process of its own.
        study.sampler = MOHNSampler(seed=seed)
        study.optimize(lambda trial: energy_of(glass, trial), n_trials=1)
        if study.best_value <= glass.minimum + 1e-9:
            break
    assert study.best_value == pytest.approx(glass.minimum)
    sources = {trial.system_attrs.get("mohn:source") for trial in study.trials}
    assert sources >= {"uniform", "surrogate", "local_search"}


def test_pickled_samplers_go_on_the_same():
    study = make_study()
    study.optimize(mismatch, n_trials=12)
    copies = [pickle.loads(pickle.dumps(study)) for _ in range(2)]
    for copy in copies:
        copy.optimize(mismatch, n_trials=4)
    assert points_of(copies[0]) == points_of(copies[1])


def test_running_trials_are_not_repeated():
    study = make_study(MOHNSampler(seed=0, noise=0))
    fill(study, 20)
    trials = [study.ask(SWITCHES) for _ in range(20)]
    # Of another process, with the same seed.
    study.sampler = MOHNSampler(seed=0, noise=0)
    trials += [study.ask(SWITCHES) for _ in range(24)]
    assert len(set(points_of(study))) == 64


def test_failed_trials_are_not_repeated():
    study = make_study(MOHNSampler(seed=0, noise=0))

    def objective(trial):
        if mismatch(trial) % 2:
            raise RuntimeError
        return trial.number

    study.optimize(objective, n_trials=64, catch=RuntimeError)
    failed = study.get_trials(states=(TrialState.FAIL,))
    assert len(failed) == 32
    assert len(set(points_of(study))) == 64


@pytest.mark.parametrize("error", [RuntimeError, optuna.TrialPruned])
def test_failed_trials_are_not_repeated_before_one_succeeds(error):
    study = make_study(MOHNSampler(seed=0, noise=0))

    def objective(trial):
        mismatch(trial)
        if trial.number < 63:
            raise error
        return 0.0

    study.optimize(objective, n_trials=64, catch=RuntimeError)
    assert len(set(points_of(study))) == 64


def test_trials_that_failed_early_have_fewer_parameters():
    study = make_study()
    few = {name: SWITCHES[name] for name in ("s0", "s1")}
    told(study, ON, TrialState.FAIL)
    params = {"s0": True, "s1": False}
    study.add_trial(
        create_trial(state=TrialState.FAIL, params=params, distributions=few)
    )
    assert study.sampler.infer_relative_search_space(study, None) == few
    # Those of complete trials count, once there are any.
    told(study, OFF, score=1.0)
    assert study.sampler.infer_relative_search_space(study, None) == SWITCHES


def test_points_that_failed_elsewhere_are_not_tried():
    study = make_study(MOHNSampler(seed=0, noise=0))
    told(study, ON, score=0.0)
    for k in range(48):
        told(study, [bool(k >> i & 1) for i in range(6)], TrialState.FAIL)
    for _ in range(15):
        study.ask(SWITCHES)
    assert len(set(points_of(study))) == 64


def losses(study):
    """What the sampler takes trials for."""
    from skmohn.integrations._optuna import _losses

    return list(_losses(study.trials, study.direction).values())


ON, OFF, SOME = [True] * 6, [False] * 6, [True, False] * 3


@pytest.mark.parametrize(("direction", "sign"), [("minimize", 1), ("maximize", -1)])
def test_pruned_and_infeasible_trials_count_as_bad(direction, sign):
    study = make_study(direction=direction)
    told(study, ON, score=sign * 1.0)
    told(study, OFF, score=sign * 3.0)
    told(study, SOME, TrialState.PRUNED, score=sign * -5.0)
    told(study, ON, score=sign * -9.0, attributes={"constraints": [-3.0, 0.5]})
    told(study, OFF, score=sign * -9.0, attributes={"constraints": [1.0, 1.0]})
    told(study, SOME, score=sign * 1.5, attributes={"constraints": [-1.0, 0.0]})
    told(study, SOME, TrialState.FAIL)
    told(study, SOME, score=-np.inf)
    told(study, SOME, score=np.inf)
    study.enqueue_trial(dict(zip(SWITCHES, ON, strict=True)))
    infinite = [1.0, 3.0] if direction == "minimize" else [3.0, 1.0]
    expected = [1.0, 3.0, 3.0, 3.5, 5.0, 1.5, np.nan, *infinite]
    np.testing.assert_array_equal(losses(study), expected)


def test_trials_are_told_again_when_they_count_differently():
    study = make_study()
    told(study, ON, score=1.0)
    told(study, SOME, TrialState.PRUNED)
    study.ask(SWITCHES)
    first = study.sampler._search
    told(study, OFF, score=0.5)
    study.ask(SWITCHES)
    assert study.sampler._search is first
    # The worst one is another by now, and pruned trials count as it.
    told(study, OFF, score=9.0)
    study.ask(SWITCHES)
    assert study.sampler._search is not first


def test_without_a_feasible_trial_the_violation_counts():
    study = make_study()
    told(study, ON, score=-9.0, attributes={"constraints": [4.0]})
    told(study, OFF, score=-9.0, attributes={"constraints": [1.0]})
    assert losses(study) == [1.0, 0.25]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("value", [1e149, 1e200, 1.7e308, -1e200, np.inf, -np.inf])
def test_huge_values_do_not_end_a_study(direction, value):
    """As penalties of failed trials are; they count as the best or worst of others."""
    study = make_study(direction=direction)
    sign = 1.0 if direction == "minimize" else -1.0
    study.optimize(
        lambda t: value if t.number == 3 else sign * mismatch(t), n_trials=30
    )
    others = [t.value for t in study.trials if t.number != 3]
    assert (min if direction == "minimize" else max)(others) == 0
    if abs(value) > 1e149:
        assert sign * losses(study)[3] == np.clip(value, min(others), max(others))


LEVELS = {"c": IntDistribution(0, 9), "d": IntDistribution(-4, 11, step=5)}


def enqueued(params):
    """A study some of whose trials were told what to take, whether it fits or not."""
    study = make_study()
    study.optimize(levels, n_trials=3)
    study.enqueue_trial(params)
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(levels, n_trials=8)
    return study


def levels(trial):
    """The distance from a place among integers."""
    c, d = trial.suggest_int("c", 0, 9), trial.suggest_int("d", -4, 11, step=5)
    return abs(c - 6) + abs(d - 6)


@pytest.mark.parametrize(
    "params", [{"c": 99}, {"c": -1}, {"d": 3}, {"d": 16}, {"c": 99, "d": 0}], ids=str
)
def test_enqueued_values_out_of_range_or_between_steps_count_for_nothing(params):
    study = enqueued(params)
    odd = study.trials[3]
    assert odd.params.items() >= params.items()
    told = [record["point"] for record in study.sampler._search._optimizer.history_]
    assert len(told) == len(study.trials) - 2  # the last one, and the odd one


@pytest.mark.parametrize(
    "constraints", [[np.inf], [np.nan], [1e300, 1e300], ["a"], [None], 5], ids=str
)
def test_constraints_that_are_no_numbers_count_as_violated(constraints):
    study = make_study(MOHNSampler(seed=0, noise=0))
    told(study, ON, score=1.0)
    told(study, OFF, score=3.0)
    told(study, SOME, score=-9.0, attributes={"constraints": constraints})
    assert losses(study) == [1.0, 3.0, 5.0]
    study.optimize(mismatch, n_trials=5)


def test_sources_that_nobody_knows_count_as_told():
    study = make_study()
    for source in ("other", 3, [1], None, "local_search"):
        told(study, SOME, score=1.0, attributes={"mohn:source": source})
    study.ask(SWITCHES)
    sources = [r["source"] for r in study.sampler._search._optimizer.history_]
    assert sources == [*["external"] * 4, "local_search"]


def test_values_that_differ_without_noise_are_warned_of():
    """As where a float makes a difference, which the independent sampler chooses."""

    def objective(trial):
        return mismatch(trial) + trial.suggest_float("x", 0.0, 1.0)

    study = make_study(MOHNSampler(seed=0, noise=0))
    told(study, ON, score=1.0)
    told(study, ON, score=2.0)
    told(study, ON, TrialState.FAIL)
    with pytest.warns(UserWarning, match=r"noise=0, but trial 1 has a different value"):
        study.optimize(objective, n_trials=8)
    assert len(study.trials) == 11


def test_constraints_are_learned():
    study = make_study(
        MOHNSampler(seed=0, constraints_func=lambda trial: [2 - sum(suggest(trial))])
    )
    study.optimize(lambda trial: sum(suggest(trial)), n_trials=40)
    assert study.best_value == 2
    constraint = study.trials[5].system_attrs["constraints"]
    assert list(constraint) == [2 - sum(study.trials[5].params.values())]


def test_pruned_trials_are_learned():
    def objective(trial):
        value = mismatch(trial)
        trial.report(value - 10, step=1)
        if value > 2:
            raise optuna.TrialPruned
        return value

    study = make_study()
    study.optimize(objective, n_trials=40)
    assert study.best_value == 0
    assert study.get_trials(states=(TrialState.PRUNED,))


def test_enqueued_trials_are_run_and_known():
    study = make_study(MOHNSampler(seed=0, noise=0))
    fill(study, 10)
    study.enqueue_trial(dict(zip(SWITCHES, [True] * 6, strict=True)))
    study.optimize(lambda trial: 6 - sum(suggest(trial)), n_trials=54)
    assert points_of(study)[10] == (True,) * 6
    # The enqueued one used up no other point.
    assert len(set(points_of(study))) == 64


def test_trials_that_are_given_in_part_are_of_no_source():
    study = make_study()
    fill(study, 10)
    study.enqueue_trial({"s0": True})
    study.optimize(mismatch, n_trials=2)
    given, other = study.trials[10:]
    assert given.params["s0"]
    assert "mohn:source" not in given.system_attrs
    assert "mohn:source" in other.system_attrs


def test_part_of_the_parameters_is_fixed():
    study = make_study()
    study.optimize(mismatch, n_trials=12)
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        study.sampler = PartialFixedSampler({"s0": True}, study.sampler)
    study.optimize(mismatch, n_trials=20)
    assert all(trial.params["s0"] for trial in study.trials[12:])
    assert study.best_value == 0


def test_threads_have_one_search():
    study = make_study(MOHNSampler(seed=0, noise=0))
    study.optimize(mismatch, n_trials=60, n_jobs=3)
    # The first trials of all threads are drawn independently.
    assert len(set(points_of(study))) >= 57
    assert study.best_value == 0


@pytest.fixture
def storages(tmp_path):
    """Four connections to one file, as processes have."""
    url = f"sqlite:///{tmp_path}/study.db"
    storages = [optuna.storages.RDBStorage(url) for _ in range(4)]
    yield storages
    for storage in storages:
        storage.remove_session()
        storage.engine.dispose()


@pytest.mark.slow
def test_processes_have_one_storage(storages):
    study = make_study(storage=storages[0], study_name="shared")
    fill(study, 20)
    others = [
        optuna.load_study(
            study_name="shared", storage=each, sampler=MOHNSampler(seed=seed, noise=0)
        )
        for each, seed in zip(storages[1:], (1, 1, 2), strict=True)
    ]
    for _ in range(3):
        trials = [(other, other.ask(SWITCHES)) for other in others]
        for other, trial in trials:
            other.tell(trial, 6 - sum(trial.params.values()))
    assert len(set(points_of(study))) == 29
    assert study.best_value == 0.0


@pytest.mark.slow
def test_a_copy_in_another_process_is_reseeded(monkeypatch):
    study = make_study()
    study.optimize(mismatch, n_trials=12)
    # Two of them agree by chance in one of 25 tries.
    copies = [pickle.loads(pickle.dumps(study)) for _ in range(4)]
    monkeypatch.setattr("os.getpid", lambda: -1)
    for copy in copies:
        copy.sampler.reseed_rng()
        copy.optimize(lambda trial: 1.0 + sum(suggest(trial)), n_trials=12)
    assert any(points_of(copy) != points_of(copies[0]) for copy in copies)


# -------------------------------------------------------------------- Optuna's contract


# Optuna's own tests of samplers, where it brings them (from version 5 on).
if find_spec("optuna.testing.pytest_samplers"):
    from optuna.testing import pytest_samplers

    class TestContract(
        pytest_samplers.BasicSamplerTestCase, pytest_samplers.SingleOnlySamplerTestCase
    ):
        @pytest.fixture
        def sampler(self):
            return lambda: MOHNSampler(seed=0)

        test_trial_relative_params = (
            pytest_samplers.RelativeSamplerTestCase.test_trial_relative_params
        )


def test_several_objectives_are_refused():
    study = make_study(directions=["minimize", "maximize"])
    with pytest.raises(ValueError, match="MOHNSampler cannot be used"):
        study.ask(SWITCHES)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("noise", "some"),
        ("noise", -1.0),
        ("seed", "a"),
        ("seed", 2.0),
        ("seed", 2**32),
        ("independent_sampler", "tpe"),
        ("constraints_func", 3),
    ],
)
def test_bad_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of MOHNSampler"):
        MOHNSampler(**{name: value})


def test_optuna_is_imported_when_it_is_used():
    assert "MOHNSampler" not in vars(skmohn.integrations)
    with pytest.raises(AttributeError, match="has no attribute 'NoSampler'"):
        skmohn.integrations.NoSampler  # noqa: B018
