"""Odd arguments to every public function and class that is no estimator."""

import functools
import inspect
import math
from datetime import datetime
from functools import partial

import dimod
import numpy as np
import pytest
from fuzz_estimators import ESTIMATORS, reference
from fuzz_rules import attempt
from hypothesis import strategies as st
from matplotlib import pyplot
from sklearn.base import clone

from skmohn import BLMRegressor, GPOptions, MOHNRegressor, datasets, energynet
from skmohn.blm import BLMController, Stage, make_policy
from skmohn.inspection import (
    DescriptionLengthDisplay,
    DiscoveryErrorDisplay,
    DiscoveryOrdersDisplay,
    FiltersDisplay,
    GrowthDisplay,
    HypergraphDisplay,
    ImportancesDisplay,
    LikelihoodDisplay,
    OptimizationHistoryDisplay,
    SamplesDisplay,
    WeightsDisplay,
    selection_stability,
)
from skmohn.integrations import (
    GymnasiumObjective,
    from_dimod,
    to_dimod,
    to_networkx,
    to_onnx,
)
from skmohn.mohn import InteractionGraph
from skmohn.optimize import BlackBoxOptimizer, maximize, minimize, minimize_black_box

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# What may stand where something else is expected.
ODD = st.sampled_from(
    [
        None, True, -1, 0, 1, 2, 3, 0.5, -0.5, 2.5, math.nan, math.inf, -math.inf,
        1e308, 1e-308, "", "auto", "nonsense", b"x", (), [], {}, [0], (3, 4),
        [[1.0, 2.0]], np.int64(2), np.float32(0.5), np.array([1, 2]), np.bool_(True),
        object, {0: 1.0}, {(0, 1): 1.0}, 1j, [None], ["a", "b"], [(0,), (1, 2)],
    ]
)  # fmt: skip


@functools.cache
def mohn():
    """A sparse model."""
    X, y, _ = reference()
    return clone(ESTIMATORS["pursuit"]).fit(X, y)


@functools.cache
def dense():
    """A model of all weights."""
    X, y, _ = reference()
    return clone(ESTIMATORS["gp"]).fit(X, y)


@functools.cache
def categories():
    """A model of text, a date and a number with levels."""
    rng = np.random.default_rng(0)
    days = np.datetime64("2024-01-01T00") + 24 * rng.integers(0, 9, 40)
    columns = rng.choice(list("abc"), 40), days.tolist(), rng.integers(1, 9, 40)
    X = np.array([list(row) for row in zip(*columns, strict=True)], dtype=object)
    control = GPOptions(numeric="thermometer")
    y = (columns[0] == "a") + (columns[2] > 4) * 1.0
    return MOHNRegressor("gp", gp_options=control).fit(X, y)


@functools.cache
def stack():
    """Layers."""
    estimator = ESTIMATORS["EnergyNetTransformer, given"]
    return clone(estimator).set_params(monitor=1).fit(reference()[0])


@functools.cache
def grown():
    """Layers that grew."""
    return clone(ESTIMATORS["EnergyNetTransformer"]).fit(reference()[0])


@functools.cache
def network():
    """A network."""
    X, y, _ = reference()
    return clone(ESTIMATORS["BLMRegressor"]).fit(X, y)


@functools.cache
def packed():
    """A stored network."""
    return network().to_packed()


@functools.cache
def packed_controller():
    """A stored controller."""
    return controller().to_packed()


def in_c(name, X, input_type, input_scale, activation_bits, n_tests):
    """A network in C."""
    options = {"input_type": input_type, "input_scale": input_scale, "n_tests": n_tests}
    return network().to_c(name, X=X, activation_bits=activation_bits, **options)


def rows():
    """Rows for a device."""
    return reference()[0]


def records():
    """What the growth of layers left."""
    return GrowthDisplay.from_estimator(grown()).records


@functools.cache
def controller():
    """A controller that was told to answer with little."""
    estimator = BLMController(
        (2,), n_inputs=2, n_outputs=1, n_bits=4, max_evaluations=20, random_state=0
    )
    return estimator.fit(small_answers)


@functools.cache
def cartpole():
    """A pole on a cart."""
    return GymnasiumObjective(**EPISODES)


def small_answers(policy, rng, incumbent):
    """An objective."""
    action = np.zeros(1)
    policy.step(np.ones(2), policy.initial_state(), action)
    return float(action[0] ** 2)


def plotted(display, **arguments):
    """Make a display and draw it."""
    plot = {k: arguments.pop(k) for k in ("ax", "norm", "c") if k in arguments}
    try:
        return display(**arguments).plot(**plot)
    finally:
        pyplot.close("all")


def drawn(display, model):
    """A function that draws a fitted estimator."""

    def draw(ax=None, **how):
        try:
            return display.from_estimator(model(), ax=ax, **how)
        finally:
            pyplot.close("all")

    return draw


BITS = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
LAYER = energynet.RBM(np.array([[1.0, -1.0]]), np.zeros(1), np.zeros(2))
SPINS = {(0,): 1.0, (0, 1): -2.0, (1, 2): 0.5}
BLACK_BOX = {"space": 4, "n_evaluations": 9, "random_state": 0}
SEARCH = {"model": SPINS, "n_restarts": 2, "random_state": 0}
TERMS = {"terms": [(0,), (0, 1)], "weights": [1.0, -2.0], "names": ["a", "b"]}
POLICY = make_policy([2, 3, 1], np.zeros(13))
PENDULUM = datasets.InvertedPendulum("positions", n_simulations=1, duration=2.0)
BALANCE = make_policy((4, 2), [0, 0, 0, -1, -1, 0, 0.1, 0.2, 1, 1])
EPISODES = {
    "environment": "CartPole-v1",
    "n_episodes": 2,
    "max_steps": 9,
    "max_reward": 1.0,
}

# Arguments that are made when they are needed.
LATER = (mohn, packed, records, network, packed_controller, rows)
# By room: a function, and arguments with which it works.
CALLS = {
    "datasets": [
        (datasets.make_bmda_quadratic, {"n_features": 4, "n_samples": 10}),
        (datasets.make_ising, {"shape": (2, 3), "n_samples": 10}),
        (datasets.make_mk_trap, {"k": 3, "m": 2, "n_samples": 10}),
        (datasets.make_nk, {"n_features": 5, "k": 1, "n_samples": 10}),
        (datasets.make_sparse_walsh, {"n_features": 6, "n_terms": 3, "n_samples": 10}),
        (datasets.make_two_spirals, {"n_samples": 10}),
        (datasets.load_fluorescence, {"return_X_y": True, "as_frame": True}),
        (datasets.InvertedPendulum, {"n_simulations": 2, "duration": 2.0}),
    ],
    "mohn": [
        (InteractionGraph.of_terms, {"terms": [(0,), (1, 2)], "n_features": 3}),
        (MOHNRegressor.from_terms, {"terms": [(0,), (1, 2)], "weights": [1.0, 2.0]}),
        (lambda x: mohn().explain(x), {"x": [1.0, 1.0, 0.0]}),
        (lambda x: dense().explain(x), {"x": [1.0, 1.0, 0.0]}),
        (lambda term: dense().weight_posterior(term), {"term": (0,)}),
        (
            lambda table, X, keys, dialect: dense().to_sql(
                table, X, keys=keys, dialect=dialect
            ),
            {"table": "t", "X": np.ones((2, 3)), "keys": [], "dialect": "ansi"},
        ),
        (lambda X, digits: mohn().to_latex(X, digits=digits), {"X": None, "digits": 3}),
        (
            lambda name, X, arithmetic, accumulator_bits: mohn().to_c(
                name, X=X, arithmetic=arithmetic, accumulator_bits=accumulator_bits
            ),
            {"name": "m", "X": None, "arithmetic": "integer", "accumulator_bits": 32},
        ),
        (
            lambda X, n_samples, random_state: dense().sample_y(
                X, n_samples, random_state
            ),
            {"X": np.ones((2, 3)), "n_samples": 2, "random_state": 0},
        ),
    ],
    "blm": [
        (make_policy, {"sizes": [2, 3, 1], "weights": np.zeros(13)}),
        (
            lambda observation, state: controller().act(observation, state),
            {"observation": [1.0, 1.0], "state": None},
        ),
        (lambda X: controller().predict(X), {"X": np.ones((3, 2))}),
        (
            lambda objective, validation: clone(controller()).fit(
                objective, validation
            ),
            {"objective": small_answers, "validation": None},
        ),
        (
            lambda objective, goal, max_evaluations: clone(controller()).fit(
                Stage(objective, goal, max_evaluations)
            ),
            {"objective": small_answers, "goal": None, "max_evaluations": 5},
        ),
        (
            lambda loss: clone(controller()).fit(lambda policy, rng, best: loss),
            {"loss": 1.0},
        ),
        (PENDULUM, {"policy": POLICY, "rng": None}),
        (
            lambda policy, n_simulations, duration: PENDULUM.test(
                policy, n_simulations, duration, random_state=0
            ),
            {"policy": POLICY, "n_simulations": 1, "duration": 2.0},
        ),
        (
            lambda policy, start, duration: PENDULUM.trace(policy, start, duration),
            {"policy": POLICY, "start": 0.4, "duration": 2.0},
        ),
        (PENDULUM.derivative, {"state": np.ones(4), "force": 0.0}),
        (PENDULUM.energy, {"state": np.ones(4)}),
        (BLMRegressor.from_packed, {"packed": packed}),
        (BLMController.from_packed, {"packed": packed_controller}),
        (
            in_c,
            {
                "name": "net",
                "X": rows,
                "input_type": "int16",
                "input_scale": 1e-3,
                "activation_bits": 12,
                "n_tests": 3,
            },
        ),
        (GymnasiumObjective, EPISODES),
        (
            lambda policy, incumbent: cartpole()(
                policy, np.random.default_rng(0), incumbent
            ),
            {"policy": BALANCE, "incumbent": 0.0},
        ),
        (
            lambda policy, n_episodes, random_state: cartpole().test(
                policy, n_episodes, random_state
            ),
            {"policy": BALANCE, "n_episodes": 2, "random_state": 0},
        ),
    ],
    "energynet": [
        (
            energynet.RBM,
            {"weights": [[1.0]], "hidden_bias": [0.0], "visible_bias": [0.0]},
        ),
        (
            energynet.annealed_importance_sampling,
            {"rbm": LAYER, "X": BITS, "n_temperatures": 10, "n_chains": 5},
        ),
        (
            energynet.dbn_log_likelihood,
            {"layers": [LAYER], "X": BITS, "log_partition": 2.0, "n_draws": 5},
        ),
        (
            energynet.description_length,
            {"layers": [LAYER], "X": BITS, "log_partition": 2.0, "n_draws": 5},
        ),
        (energynet.exact_log_partition, {"rbm": LAYER}),
        (energynet.LogPartition, {"value": 2.0}),
        (
            lambda log_likelihood, complexity: (
                energynet.DescriptionLength(log_likelihood, complexity).total
            ),
            {"log_likelihood": -2.0, "complexity": 1.0},
        ),
        (
            energynet.log_partition,
            {"rbm": LAYER, "X": BITS, "n_temperatures": 10, "n_chains": 5},
        ),
        (LAYER.free_energy, {"V": BITS}),
        (LAYER.log_hidden_marginal, {"H": BITS[:, :1]}),
        (LAYER.hidden_probabilities, {"V": BITS}),
        (LAYER.visible_probabilities, {"H": BITS[:, :1]}),
        (LAYER.sample, {}),
        (
            lambda n_samples, n_steps, random_state: stack().sample(
                n_samples, n_steps, random_state
            ),
            {"n_samples": 2, "n_steps": 5, "random_state": 0},
        ),
        (lambda X: stack().inverse_transform(X), {"X": np.zeros((2, 8))}),
        (lambda names: stack().get_feature_names_out(names), {"names": None}),
    ],
    "optimize": [
        (maximize, SEARCH),
        (minimize, SEARCH),
        *(
            (maximize, {**SEARCH, "method": method})
            for method in ("hill_climb", "annealing", "tabu", "weight_satisfaction")
        ),
        (
            lambda fixed, x0: maximize(categories(), fixed=fixed, x0=x0),
            {"fixed": {0: "b"}, "x0": ["a", datetime(2024, 1, 2), 2]},
        ),
    ],
    "black boxes": [
        (minimize_black_box, {"f": np.sum, **BLACK_BOX}),
        (minimize_black_box, {"f": len, **BLACK_BOX, "space": {"a": [1, 2, 4]}}),
        (BlackBoxOptimizer, {"space": {"a": (1, 3), "b": ["x", "y"]}}),
        (lambda n: BlackBoxOptimizer(np.eye(3), random_state=0).ask(n), {"n": 2}),
        (
            lambda X, y: BlackBoxOptimizer(2).tell(X, y),
            {"X": [[0, 1], [1, 1]], "y": [1.0, np.nan]},
        ),
        (
            lambda f, n_evaluations: BlackBoxOptimizer(3).run(f, n_evaluations),
            {"f": np.sum, "n_evaluations": 3},
        ),
    ],
    "exchange": [
        (to_networkx, {"model": mohn}),
        (to_onnx, {"model": network, "opset": 21}),
        (to_dimod, {"model": mohn}),
        (from_dimod, {"polynomial": dimod.BinaryPolynomial(SPINS, "SPIN")}),
        (
            selection_stability,
            {
                "model": ESTIMATORS["full lasso"],
                "X": reference()[0],
                "y": reference()[1],
                "n_resamples": 2,
                "random_state": 0,
            },
        ),
    ],
    "pictures": [
        (partial(plotted, HypergraphDisplay), {**TERMS, "ax": None}),
        (partial(plotted, WeightsDisplay), {**TERMS, "ax": None}),
        (partial(plotted, FiltersDisplay), {"filters": np.ones((2, 3, 3))}),
        (partial(plotted, SamplesDisplay), {"samples": np.ones((2, 3, 3))}),
        (
            partial(plotted, LikelihoodDisplay),
            {"epoch": [1, 2], "log_likelihood": [-2.0, -1.0], "validation": None},
        ),
        (
            partial(plotted, DiscoveryErrorDisplay),
            {"rounds": [1, 2], "training": [1.0, 0.5], "validation": None},
        ),
        (
            partial(plotted, DiscoveryOrdersDisplay),
            {"rounds": [1, 2], "weights_per_order": [[0, 1], [0, 1, 1]]},
        ),
        (
            partial(plotted, DescriptionLengthDisplay),
            {
                "description_length": [3.0, 2.0],
                "complexity": [1.0, 1.0],
                "log_likelihood": [-2.0, -1.0],
            },
        ),
        (partial(plotted, GrowthDisplay), {"records": records, "threshold": None}),
        (
            partial(plotted, OptimizationHistoryDisplay),
            {
                "value": [2.0, np.nan],
                "best": [2.0, 2.0],
                "source": ["external", "local_search"],
            },
        ),
        (
            partial(plotted, ImportancesDisplay),
            {"names": ["a", "b"], "first_order": [0.5, 0.1], "total": [0.7, 0.2]},
        ),
        *(
            (drawn(display, model), {"ax": None, **how})
            for display, model, how in (
                (HypergraphDisplay, mohn, {}),
                (HypergraphDisplay, dense, {}),
                (WeightsDisplay, mohn, {"norm": None}),
                (DiscoveryErrorDisplay, mohn, {}),
                (DiscoveryOrdersDisplay, mohn, {"max_order": 2}),
                (FiltersDisplay, stack, {"shape": (1, 3), "layer": 0, "units": None}),
                (SamplesDisplay, stack, {"shape": (1, 3), "n_steps": 3}),
                (LikelihoodDisplay, stack, {}),
                (DescriptionLengthDisplay, grown, {}),
                (GrowthDisplay, grown, {}),
            )
        ),
    ],
}


@pytest.mark.parametrize("room", CALLS)
def test_odd_arguments_are_refused_in_words(room, campaign):
    pyplot.switch_backend("Agg")

    def check(number, odd):
        function, fine = CALLS[room][number]
        # Fitted when they are needed, once.
        fine = {
            key: v() if callable(v) and v in LATER else v for key, v in fine.items()
        }
        outcome = attempt(function, **fine)
        assert not isinstance(outcome, Exception), f"refused what is fine: {outcome!r}"
        attempt(function, **{**fine, **odd})

    campaign(
        check, st.integers(0, len(CALLS[room]) - 1).flatmap(partial(odd_call, room))
    )


def odd_call(room, number):
    """The number of a call, and odd values of some of its arguments."""
    function, fine = CALLS[room][number]
    try:
        known = inspect.signature(function).parameters.values()
    except ValueError:
        known = []
    names = {p.name for p in known if p.kind != p.VAR_KEYWORD} - {"display"} | set(fine)
    odd = st.dictionaries(st.sampled_from(sorted(names)), ODD, max_size=2)
    return st.tuples(st.just(number), odd)
