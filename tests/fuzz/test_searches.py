"""Searches that go on from whatever was stored or told before."""

import itertools
import math
import warnings

import numpy as np
import optuna
import pytest
from fuzz_rules import attempt
from hypothesis import strategies as st
from optuna.distributions import (
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState, create_trial

from skmohn.integrations import MOHNSampler
from skmohn.optimize import BlackBoxOptimizer

SEEDS = st.integers(0, 2**31 - 1)
VALUES = st.sampled_from(
    [0.0, -1.0, 2.5, 1e-300, 1e100, -1e100, 1e149, 1e150, 1e300, 1.7e308, -1.7e308,
     math.inf, -math.inf, 5e-324]
)  # fmt: skip
# The space that is searched, and what others of these names may be for Optuna, which
# refuses another kind or other choices.
SPACE = {
    "c": IntDistribution(0, 9),
    "d": IntDistribution(-4, 11, step=5),
    "g": CategoricalDistribution(["x", None, 1, True]),
    "s": CategoricalDistribution([16, 32]),
}
OTHERS = {
    "c": IntDistribution(-5, 200),
    "d": IntDistribution(0, 9, step=3),
    "extra": CategoricalDistribution([0, 1]),
    "float": FloatDistribution(0.0, 9.0),
}
# What a user may have a trial take, whether it fits or not.
WISHES = st.fixed_dictionaries(
    {},
    optional={
        "c": st.sampled_from([3, 99, -1, 2.5, 10**17]),
        "d": st.sampled_from([1, 3, 16, -4]),
        "g": st.sampled_from(["x", None, 1]),
        "s": st.sampled_from([16, 32]),
        "unknown": st.just(1),
    },
)
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "constraints": st.sampled_from(
            [[], [1.0], [-1.0, 0.5], [math.inf], [math.nan], [1e300] * 2]
        ),
        "mohn:source": st.sampled_from(
            ["local_search", "uniform", "other", 3, [1], None]
        ),
    },
)


def value_in(distribution, number):
    """One of the values of a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[number % len(distribution.choices)]
    if isinstance(distribution, FloatDistribution):
        return distribution.low + number % 1000 / 1000 * distribution.high
    n_steps = (distribution.high - distribution.low) // distribution.step + 1
    return distribution.low + number % n_steps * distribution.step


@st.composite
def stored(draw):
    """A trial as another sampler, another program or another version has left it."""
    names = draw(st.sets(st.sampled_from(sorted(OTHERS)), max_size=2))
    space = {**SPACE, **{name: OTHERS[name] for name in names}}
    if draw(st.integers(0, 9)) == 0:
        space.pop(draw(st.sampled_from(sorted(space))))
    state = draw(st.sampled_from([TrialState.COMPLETE] * 4 + list(TrialState)))
    has_value = state == TrialState.COMPLETE or (
        state == TrialState.PRUNED and draw(st.booleans())
    )
    return create_trial(
        state=state,
        value=draw(VALUES) if has_value else None,
        params={name: value_in(d, draw(SEEDS)) for name, d in space.items()},
        distributions=space,
        system_attrs=draw(ATTRIBUTES),
    )


def test_no_stored_trial_ends_a_study(campaign):
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)

    def check(trials, wishes, values, direction, noise, seed):
        sampler = MOHNSampler(seed=seed, noise=noise)
        study = optuna.create_study(sampler=sampler, direction=direction)
        study.add_trials(trials)
        for wish in wishes:
            study.enqueue_trial(wish)
        given = len(study.trials)
        left = itertools.cycle(values)

        def objective(trial):
            for name, distribution in SPACE.items():
                if isinstance(distribution, IntDistribution):
                    trial.suggest_int(
                        name, distribution.low, distribution.high,
                        step=distribution.step,
                    )  # fmt: skip
                else:
                    trial.suggest_categorical(name, distribution.choices)
            return next(left)

        with warnings.catch_warnings():
            # Those of Optuna's samplers are not ours.
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", "", RuntimeWarning, r"skmohn\.")
            study.optimize(objective, n_trials=len(wishes) + 5)
        for trial in study.trials[given:]:
            for name, value in trial.params.items():
                number = SPACE[name].to_internal_repr(value)
                assert SPACE[name]._contains(number), f"{name} is {value}"

    campaign(
        check,
        st.tuples(
            st.lists(stored(), max_size=25),
            st.lists(WISHES, max_size=2),
            st.lists(VALUES, min_size=1, max_size=7),
            st.sampled_from(["minimize", "maximize"]),
            st.sampled_from([0, "auto", 1.0]),
            SEEDS,
        ),
    )


# -------------------------------------------------------------------------------- tell

SPACES = [4, {"a": (0, 3), "b": ["x", None, 2.5], "f": [False, True]}, np.eye(4, 3)]
ODD_POINTS = st.sampled_from(
    [None, 3, "a", [], {}, [[]], [{}], [[0, 1]], [[9, 9, 9, 9]], [{"a": 0}],
     [{"a": 9, "b": "x", "f": True}], [{"a": 0, "b": math.nan, "f": True}], {(0, 1)},
     [["0", "1", "0", "1"]], np.full((1, 3), np.nan), [[1j, 0, 0, 0]], [object]]
)  # fmt: skip
ODD_VALUES = st.sampled_from(
    [None, "a", [], [None], ["1"], [1j], [math.inf], [1e200], [10**400], {1.0}, 1.0,
     [[1.0]], [math.nan], [True], [1.0, 2.0]]
)  # fmt: skip


def test_what_is_told_is_learned_or_refused_as_a_whole(campaign):
    def check(space, noise, seed, steps):
        optimizer = BlackBoxOptimizer(SPACES[space], noise=noise, random_state=seed)
        for n, values, odd_points, odd_values in steps:
            points = attempt(optimizer.ask, n)
            known = repr(list(optimizer.history_))
            outcome = attempt(
                optimizer.tell,
                points if odd_points is None else odd_points,
                values[: len(points)] if odd_values is None else odd_values,
            )
            if isinstance(outcome, Exception):
                assert repr(list(optimizer.history_)) == known
        result = attempt(optimizer.result)
        if isinstance(result, Exception):
            return
        told = {repr(record["point"]) for record in optimizer.history_}
        assert repr(result.x) in told
        assert math.isfinite(result.fun)

    values = st.lists(
        VALUES.filter(lambda v: abs(v) <= 1e150) | st.just(math.nan),
        min_size=6,
        max_size=6,
    )
    step = st.tuples(
        st.integers(1, 6), values, st.none() | ODD_POINTS, st.none() | ODD_VALUES
    )
    campaign(
        check,
        st.tuples(
            st.integers(0, len(SPACES) - 1),
            st.sampled_from([0, "auto", 0.5]),
            SEEDS,
            st.lists(step, max_size=8),
        ),
    )


N = 8


@pytest.mark.parametrize("noise", [0, "auto"])
def test_what_is_called_optimal_is_so_whatever_rows_were_told(noise, campaign):
    points = np.indices((2,) * N).reshape(N, -1).T

    def check(seed, n_rows, constant, equal, maximize):
        rng = np.random.default_rng(seed)
        pairs = rng.integers(0, N, (4, 2))
        weights = rng.integers(-5, 6, 4)
        slopes = rng.integers(-5, 6, N) * (rng.random(N) < 0.4)

        def f(x):
            return float(slopes @ x + weights @ np.prod(x[pairs], axis=1))

        X = rng.integers(0, 2, (n_rows, N))
        X[:, constant] = 0
        for i, j in equal:
            X[:, i] = X[:, j]
        optimizer = BlackBoxOptimizer(
            N, noise=noise, maximize=maximize, random_state=seed
        )
        attempt(optimizer.tell, X, [f(x) for x in X])
        result = optimizer.run(f, 60)
        best = (max if maximize else min)(map(f, points))
        assert result.success
        assert result.fun == best or not result.optimal

    index = st.integers(0, N - 1)
    campaign(
        check,
        st.tuples(
            SEEDS,
            st.integers(0, 100),
            st.lists(index, max_size=3),
            st.lists(st.tuples(index, index), max_size=3),
            st.booleans(),
        ),
    )
