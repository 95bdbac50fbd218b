"""maximize and minimize: what they promise of a result."""

import itertools
import time
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from skmohn import MOHNClassifier, MOHNRegressor
from skmohn._core._walsh import WalshPolynomial
from skmohn.datasets import make_ising, make_mk_trap
from skmohn.optimize import maximize, minimize

METHODS = ["auto", "hill_climb", "annealing", "tabu", "weight_satisfaction", "exact"]
RESTARTED = METHODS[1:5]
both = pytest.mark.parametrize(
    ("search", "extreme"), [(maximize, np.max), (minimize, np.min)]
)


def torus(side, seed=0):
    """An Ising model on a torus as a dict."""
    data = make_ising(
        (side, side), couplings="gaussian", n_samples=2, optimum=False,
        random_state=seed,
    )  # fmt: skip
    return dict(zip(data.terms, data.weights, strict=True))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-200, 1e160, 1e307])
def test_weights_of_any_size(method, scale):
    weights = {(): 1.0, (0,): 2.0, (1,): 1.0, (0, 1, 2): -3.0, (2, 3): 0.5}
    plain, scaled = (
        maximize(
            {term: unit * weight for term, weight in weights.items()},
            method,
            random_state=0,
        )
        for unit in (1.0, scale)
    )
    assert scaled.success
    assert scaled.fun / scale == pytest.approx(7.5)
    np.testing.assert_array_equal(scaled.x, plain.x)


@both
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n_variables", "n_terms"), [(1, 0), (2, 1), (7, 9), (14, 20)])
def test_finds_the_optimum_of_small_functions(
    problems, search, extreme, method, n_variables, n_terms
):
    rng = np.random.default_rng(n_variables)
    terms = problems.random_terms(rng, n_variables, n_terms)
    n_restarts = 100 if method in RESTARTED else None
    result = search(terms, method, n_restarts=n_restarts, random_state=0)
    values = problems.evaluate(terms, problems.all_points(n_variables))
    assert_allclose(result.fun, extreme(values), atol=1e-9)
    assert_allclose(problems.evaluate(terms, result.x[None])[0], result.fun, atol=1e-9)
    assert result.success
    assert result.status == 0
    assert result.variables == list(range(n_variables))
    assert result.optimal == (method in ("auto", "exact"))
    assert ("no point is better" in result.message) == result.optimal


@both
@pytest.mark.parametrize("method", ["auto", "exact"])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_called_optimal_is_optimal(problems, search, extreme, method, seed):
    rng = np.random.default_rng(seed)
    n_variables = int(rng.integers(10, 17))
    max_order = int(rng.integers(1, 6))
    terms = problems.random_terms(rng, n_variables, 40, max_order)
    result = search(terms, method)
    assert result.optimal
    values = problems.evaluate(terms, problems.all_points(n_variables))
    assert_allclose(result.fun, extreme(values), atol=1e-9)


def test_exact_solves_parts_one_by_one():
    # 300 variables, of which no more than three are connected.
    terms = {}
    for i in range(0, 300, 3):
        terms.update({(i, i + 1, i + 2): -1.0, (i,): 0.4, (i + 1, i + 2): 0.3})
    result = maximize(terms, "exact")
    assert_allclose(result.fun, 100 * 1.1)
    assert result.nfev == 100 * (8 + 4 + 2)


def test_exact_uses_the_symmetry_of_even_orders():
    ring = {(i, (i + 1) % 12): -1.0 for i in range(12)}
    assert maximize(ring, "exact", options={"max_width": 1}).fun == 12
    with pytest.raises(ValueError, match=r"tables over 2 variables"):
        maximize({**ring, (0,): 0.1}, "exact", options={"max_width": 1})


def test_exact_refuses_with_the_width_found():
    clique = {pair: 1.0 for pair in itertools.combinations(range(40), 2)}
    clique[(0,)] = 0.5
    with pytest.raises(ValueError, match=r"over 39 variables .* max_width=24"):
        maximize(clique, "exact")


def test_auto_searches_what_is_too_wide_for_tables():
    terms = torus(9)
    exact = minimize(terms, "exact")
    result = minimize(
        terms, "auto", options={"max_width": 6}, n_restarts=3, random_state=0
    )
    assert not result.optimal
    assert result.nit == 3
    assert_allclose(result.fun, exact.fun)


def test_auto_searches_dense_functions():
    rng = np.random.default_rng(0)
    terms = {pair: rng.normal() for pair in itertools.combinations(range(30), 2)}
    auto = maximize(
        terms, options={"max_width": 6, "n_sweeps": 100}, n_restarts=3, random_state=0
    )
    assert not auto.optimal
    assert auto.fun >= maximize(terms, "tabu", random_state=1).fun - 1e-9


def test_auto_mixes_exact_and_searched_parts():
    hard = torus(5, seed=1)
    easy = {(25, 26): -1.0, (26, 27): 1.0, (25,): 0.5}
    options = {"max_width": 3}
    result = minimize({**hard, **easy}, options=options, random_state=0)
    assert not result.optimal
    assert_allclose(
        result.fun, minimize(hard, "exact").fun + minimize(easy, "exact").fun
    )


@pytest.mark.parametrize("k", [4, 5])
def test_one_pass_of_weight_satisfaction_solves_learned_traps(k):
    data = make_mk_trap(k, 5, n_samples=800, random_state=k)
    model = MOHNRegressor().fit(data.X, data.y)
    result = maximize(model, "weight_satisfaction", n_restarts=1, random_state=0)
    assert_allclose(result.fun, data.maximum)
    assert_array_equal(result.x, data.x_maximum)


# ------------------------------------------------------------------- what it runs on


def learned(low, high, dtype=float, names=None):
    """A fitted model of x0 x1 - 2 x1 x2 + 0.5 x3, and its data."""
    points = np.array(list(itertools.product([-1, 1], repeat=4)))
    y = points[:, 0] * points[:, 1] - 2 * points[:, 1] * points[:, 2]
    y = y + 0.5 * points[:, 3] + 1.0
    X = np.where(points < 0, low, high).astype(dtype)
    if names:
        X = pd.DataFrame(X, columns=names)
    return MOHNRegressor().fit(X, y), X, y


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 1), (3, 7.5)])
def test_estimator_is_searched_in_its_own_coding(low, high):
    model, X, y = learned(low, high)
    best, worst = maximize(model), minimize(model)
    assert_allclose([best.fun, worst.fun], [y.max(), y.min()])
    for result in (best, worst):
        assert any((row == result.x).all() for row in X)
        assert_allclose(model.predict(result.x[None])[0], result.fun)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32])
def test_values_have_the_dtype_of_the_data(dtype):
    model, X, y = learned(0, 1, dtype)
    result = maximize(model, fixed={0: dtype(1)})
    assert result.x.dtype == dtype
    assert result.x[0] == dtype(1)
    assert_allclose(result.fun, y[X[:, 0] == 1].max())
    frame = maximize(learned(0, 1, dtype, names=["a", "b", "c", "d"])[0], fixed={})
    assert frame.x.dtype == dtype


def test_integers_do_not_hold_a_value_in_between():
    X = np.array(list(itertools.product(range(4), range(3))))
    model = MOHNRegressor("full", max_order=2).fit(X, X[:, 0] * X[:, 1])
    assert maximize(model).x.dtype == X.dtype
    assert_array_equal(maximize(model, fixed={0: 1.5}).x, [1.5, 2])


def test_names_are_understood():
    model, X, y = learned(0, 1, names=["a", "b", "c", "d"])
    result = maximize(model, fixed={"a": 0, "d": 0})
    assert result.variables == ["a", "b", "c", "d"]
    rows = (X["a"] == 0) & (X["d"] == 0)
    assert_allclose(result.fun, y[rows].max())
    assert_array_equal(result.x[[0, 3]], 0)
    assert_array_equal(maximize(model, fixed={0: 0, "d": 0}).x, result.x)


def test_numbers_are_searched_at_their_ends():
    rng = np.random.default_rng(0)
    X = rng.uniform([0, 10, -3], [1, 20, 3], (200, 3))
    X[:, 2] = 5.0
    model = MOHNRegressor("full", max_order=2).fit(X, X[:, 0] * X[:, 1])
    result = maximize(model)
    assert_allclose(result.x, [X[:, 0].max(), X[:, 1].max(), 5.0])
    half = maximize(model, fixed={1: 15.0})
    assert_array_equal(half.x, [X[:, 0].max(), 15.0, 5.0])
    assert_allclose(half.fun, model.predict(half.x[None])[0])
    assert_allclose(half.fun, 15.0 * X[:, 0].max(), rtol=1e-6)
    assert maximize(model, fixed={2: 5}).fun == result.fun
    assert_allclose(maximize(model, "hill_climb", x0=[0.4, 12, 5]).fun, result.fun)


def test_model_from_terms_is_searched():
    model = MOHNRegressor.from_terms(
        [("a",), ("a", "b")], [1.0, -2.0], feature_names=["a", "b"], low=0, high=[5, 7]
    )
    result = maximize(model, fixed={"b": 7})
    assert_array_equal(result.x, [0, 7])
    assert result.fun == 1.0


def test_hypergraph_and_dict_are_the_same():
    terms = {(0, 2): 1.0, (2, 0): 0.5, (1,): -0.25, (): 3.0}
    graph = WalshPolynomial.sort([(0, 2), (1,)], [1.5, -0.25], 3.0)
    assert maximize(terms).fun == maximize(graph).fun == 4.75


def test_names_of_a_dict_are_sorted_and_its_indices_counted():
    assert maximize({("b", "a"): 1.0, ("c",): 1.0}).variables == ["a", "b", "c"]
    assert maximize({(("x", 1),): 1.0, ("c",): 1.0}).fun == 2.0
    result = minimize({(3,): 1.0})
    assert result.variables == [0, 1, 2, 3]
    assert_array_equal(result.x, [-1, -1, -1, -1])
    assert result.x.dtype == np.int8


@pytest.mark.parametrize("method", METHODS)
def test_constant_function(method):
    for terms in ({(): 2.0}, {(0, 1): 0.0, (): 2.0}, {}):
        result = maximize(terms, method)
        assert result.fun == terms.get((), 0.0)
        assert result.optimal
    assert maximize({(0,): 1.0}, method, fixed={0: -1}).fun == -1.0


# ------------------------------------------------------------------------- dimod


def random_dimod(kind, vartype, seed=0):
    dimod = pytest.importorskip("dimod")
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(9)]
    if kind == "quadratic":
        model = dimod.BinaryQuadraticModel(vartype)
        model.offset = rng.normal()
        for name in names:
            model.add_linear(name, rng.normal())
        for pair in itertools.combinations(names, 2):
            model.add_quadratic(*pair, rng.normal())
        return dimod, model
    terms = {
        tuple(rng.choice(names, size, replace=False)): rng.normal()
        for size in (1, 2, 2, 3, 3, 4, 4, 5) * 3
    }
    terms[()] = 1.5
    return dimod, dimod.BinaryPolynomial(terms, vartype)


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
@pytest.mark.parametrize("kind", ["quadratic", "polynomial"])
@pytest.mark.parametrize("method", METHODS)
def test_dimod_agrees(kind, vartype, method):
    dimod, model = random_dimod(kind, vartype)
    if kind == "quadratic":
        lowest = dimod.ExactSolver().sample(model).first.energy
    else:
        lowest = dimod.ExactPolySolver().sample_poly(model).first.energy
    n_restarts = 100 if method in RESTARTED else None
    result = minimize(model, method, n_restarts=n_restarts, random_state=0)
    assert_allclose(result.fun, lowest)
    sample = dict(zip(result.variables, result.x.tolist(), strict=True))
    assert_allclose(model.energy(sample), result.fun)


def test_variables_of_dimod_are_fixed_by_name():
    _, model = random_dimod("polynomial", "BINARY")
    result = minimize(model, fixed={"v3": 1, "v0": 0})
    sample = dict(zip(result.variables, result.x.tolist(), strict=True))
    assert (sample["v3"], sample["v0"]) == (1, 0)


def test_long_products_of_bits_are_refused():
    dimod = pytest.importorskip("dimod")
    model = dimod.BinaryPolynomial({tuple(range(40)): 1.0}, "BINARY")
    with pytest.raises(ValueError, match="terms over -1/\\+1"):
        maximize(model)
    spins = dimod.BinaryPolynomial({tuple(range(40)): 1.0}, "SPIN")
    assert maximize(spins, "hill_climb").fun == 1.0


# ------------------------------------------------------------- starts, limits, seeds


@pytest.mark.parametrize("method", RESTARTED)
def test_fixed_variables_keep_their_values(problems, method):
    rng = np.random.default_rng(5)
    terms = problems.random_terms(rng, 10, 30)
    fixed = {2: -1, 7: 1, 9: -1}
    points = problems.all_points(10)
    rows = (points[:, list(fixed)] == list(fixed.values())).all(axis=1)
    result = maximize(terms, method, fixed=fixed, n_restarts=100, random_state=0)
    assert_array_equal(result.x[list(fixed)], list(fixed.values()))
    assert_allclose(result.fun, problems.evaluate(terms, points[rows]).max())


@pytest.mark.parametrize("method", [*RESTARTED, "auto"])
def test_result_is_no_worse_than_the_start(problems, method):
    terms = torus(8)
    start = minimize(terms, "exact").x
    options = {"max_width": 3} if method == "auto" else None
    result = minimize(
        terms, method, x0=start, n_restarts=1, options=options, random_state=0
    )
    assert_allclose(result.fun, problems.evaluate(terms, start[None])[0])


def test_hill_climb_begins_at_the_start():
    # Two basins, each climbed to from where it begins.
    terms = {pair: 1.0 for pair in itertools.combinations(range(6), 2)}
    terms.update({(i,): 0.1 for i in range(6)})
    for start in (np.ones(6), -np.ones(6)):
        result = maximize(terms, "hill_climb", x0=start, n_restarts=1)
        assert_array_equal(result.x, start)


def test_unconnected_variables_are_as_in_the_start():
    result = maximize({(0,): 1.0, (3,): 1.0}, x0=[1, 1, -1, 1])
    assert_array_equal(result.x, [1, 1, -1, 1])


@pytest.mark.slow_cases("None-auto")
@pytest.mark.parametrize("method", [*RESTARTED, "auto"])
@pytest.mark.parametrize("max_evaluations", [None, 5000])
def test_same_seed_same_result_for_any_n_jobs(method, max_evaluations):
    terms = torus(10)
    options = {"max_width": 3} if method == "auto" else None
    results = [
        minimize(
            terms,
            method,
            n_restarts=5,
            max_evaluations=max_evaluations,
            random_state=3,
            n_jobs=n_jobs,
            options=options,
        )
        for n_jobs in (None, 2)
    ]
    one, other = results
    assert_array_equal(other.x, one.x)
    assert (other.nfev, other.nit) == (one.nfev, one.nit)


@pytest.mark.parametrize("method", [*RESTARTED, "auto"])
def test_limit_of_evaluations_is_kept(method):
    terms = torus(12)
    options = {"max_width": 3} if method == "auto" else None
    result = minimize(
        terms, method, n_restarts=2, max_evaluations=2000, options=options
    )
    # A sweep or pass, or the elimination of one move, ends first.
    assert result.nfev <= 2000 + 2 * 10 * 288
    if result.nfev >= 2000:
        assert (result.success, result.status) == (True, 1)
        assert "max_evaluations" in result.message


def test_pass_that_is_broken_off_is_no_end():
    terms = torus(12)
    start = minimize(terms, "weight_satisfaction", random_state=0).x
    result = minimize(
        terms, "weight_satisfaction", x0=start, n_restarts=1, max_evaluations=50
    )
    assert (result.success, result.status) == (True, 1)


def test_exact_refuses_more_evaluations_than_allowed():
    with pytest.raises(ValueError, match=r"table entries, more than max_eval.*=100"):
        minimize(torus(6), "exact", max_evaluations=100)


@pytest.mark.parametrize(
    ("method", "n_restarts"),
    [*((method, None) for method in RESTARTED), ("auto", None), ("tabu", 10**6)],
)
def test_limit_of_time_is_kept(method, n_restarts):
    terms = torus(12)
    options = {"max_width": 3} if method == "auto" else None
    minimize(terms, method, n_restarts=1, options=options)  # compiles
    start = time.perf_counter()
    result = minimize(
        terms, method, time_limit=0.15, n_restarts=n_restarts, options=options
    )
    assert 0.1 < time.perf_counter() - start < 30.0
    assert (result.success, result.status) == (True, 2)
    assert "time_limit" in result.message
    # "auto" first looks for orders of elimination.
    assert result.nit > (0 if method == "auto" else 1)


def test_long_runs_look_at_the_clock():
    for method, options in (
        ("annealing", {"n_sweeps": 10**8}),
        ("tabu", {"n_steps": 10**10}),
    ):
        start = time.perf_counter()
        result = minimize(
            torus(12), method, n_restarts=1, time_limit=0.2, options=options
        )
        assert time.perf_counter() - start < 30.0
        assert result.status == 2


def test_glances_are_as_frequent_where_a_step_changes_much(replace_constants):
    replace_constants("skmohn.optimize._methods", n_evaluations_per_call=10**5)
    # Each flip changes the gains of all others.
    terms = {pair: 1.0 for pair in itertools.combinations(range(100), 2)}
    for limit, status in ((1e-9, 2), (1000.0, 0)):
        result = minimize(
            terms, "tabu", n_restarts=1, time_limit=limit, options={"n_steps": 1500}
        )
        assert result.status == status
        assert (result.nfev < 1500) is (status == 2)


@pytest.mark.parametrize("method", METHODS)
def test_callback_sees_each_restart_and_can_stop(method):
    seen = []

    def callback(intermediate_result):
        seen.append(intermediate_result)
        if len(seen) == 2:
            raise StopIteration

    terms = torus(6)
    options = {"max_width": 3} if method == "auto" else None
    result = minimize(terms, method, callback=callback, options=options)
    assert all(set(record) == {"x", "fun", "nfev", "nit"} for record in seen)
    if method == "exact":
        assert (len(seen), result.status) == (1, 0)
        return
    assert (len(seen), result.status, result.success) == (2, 3, False)
    assert result.nit == 2
    assert seen[1].fun <= seen[0].fun
    assert result.fun == seen[1].fun


@pytest.mark.parametrize("method", RESTARTED)
def test_local_optima_are_distinct_and_sorted(problems, method):
    terms = torus(5)
    result = minimize(terms, method, n_restarts=20, return_optima=True, random_state=0)
    optima, values = result.local_optima, result.local_optima_fun
    assert len(np.unique(optima, axis=0)) == len(optima) == len(values)
    assert np.all(np.diff(values) >= 0)
    assert values[0] == result.fun
    assert_allclose(values, problems.evaluate(terms, optima))
    for optimum, value in zip(optima, values, strict=True):
        flipped = optimum * (1 - 2 * np.eye(25))
        assert np.all(problems.evaluate(terms, flipped) >= value - 1e-9)


def test_options_reach_their_methods():
    terms = torus(6)
    assert minimize(terms, "tabu", n_restarts=1, options={"n_steps": 7}).nfev < 200
    short = minimize(terms, "annealing", n_restarts=1, options={"n_sweeps": 5})
    assert short.nfev < 36 * 20
    # So cold that annealing is a climb.
    cold = minimize(
        terms,
        "annealing",
        n_restarts=1,
        x0=minimize(terms, "exact").x,
        options={"temperatures": (1e-9, 1e-9), "n_sweeps": 3},
    )
    assert_allclose(cold.fun, minimize(terms, "exact").fun)
    trap = make_mk_trap(4, 1, n_samples=2)
    terms = dict(zip(trap.terms, trap.weights, strict=True))
    start = -np.ones(4)
    for max_order, found in ((4, 1.0), (1, 0.0)):
        result = maximize(
            terms,
            "weight_satisfaction",
            x0=start,
            n_restarts=1,
            options={"max_order": max_order},
        )
        assert (result.x == 1).all() == bool(found)
    for tenure in (0, 3, 1000):
        assert minimize(terms, "tabu", options={"tenure": tenure}).fun is not None


# --------------------------------------------------------------- what may be moved


def patients(n_rows=200):
    """Columns that can be set, and such that cannot, with more names than are shown."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.choice([-1.0, 1.0], (n_rows, 10)), columns=[f"c{j}" for j in range(10)]
    )
    return X.rename(columns={"c0": "age", "c1": "dose"})


def test_columns_that_are_moved_are_named():
    X = patients()
    model = MOHNRegressor("full", max_order=1).fit(X, X["age"] + X["dose"])
    with pytest.warns(UserWarning, match=r"moved: 'age', 'dose', .*, \.\.\.\. Fix"):
        assert maximize(model).fun == pytest.approx(2.0)
    few = MOHNRegressor("given", terms=[["dose"]]).fit(X, X["dose"])
    with pytest.warns(UserWarning, match=r"every column may be moved: 'dose'\. Fix"):
        minimize(few)


@pytest.mark.parametrize("fixed", [{}, {"age": 1.0}])
def test_who_says_what_is_fixed_is_not_warned(fixed):
    X = patients()
    model = MOHNRegressor("full", max_order=1).fit(X, X["age"] + X["dose"])
    assert minimize(model, fixed=fixed).fun == pytest.approx(-2.0 + 2.0 * len(fixed))


def test_models_without_names_or_data_are_not_warned_of():
    X = patients()
    model = MOHNRegressor("full", max_order=1).fit(X.to_numpy(), X["age"])
    assert maximize(model).fun == pytest.approx(1.0)
    known = MOHNRegressor.from_terms([("a",)], [1.0], feature_names=["a"])
    assert maximize(known).fun == 1.0
    assert maximize({("a",): 1.0}).fun == 1.0


# -------------------------------------------------------------------- classifiers


def classes(seed=0):
    """Two classes by two columns of three."""
    X = np.random.default_rng(seed).choice([-1.0, 1.0], (200, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


@both
@pytest.mark.parametrize("strategy", ["logistic", "full"])
def test_log_odds_of_classifiers(search, extreme, strategy):
    X, y = classes()
    max_order = 2 if strategy == "full" else None
    model = MOHNClassifier(strategy, max_order, random_state=0).fit(X, y)
    result = search(model)
    rows = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    assert result.fun == pytest.approx(extreme(model.decision_function(rows)))
    assert result.fun == pytest.approx(model.decision_function(result.x[None])[0])
    assert model.predict(result.x[None])[0] == ("yes" if search is maximize else "no")
    assert result.optimal


def test_classifiers_that_cannot_be_searched():
    X, y = classes()
    with pytest.raises(NotFittedError):
        maximize(MOHNClassifier())
    three = MOHNClassifier("full", 1).fit(X, X[:, 0] + X[:, 1])
    with pytest.raises(ValueError, match=r"3 classes, but only .* y == label"):
        maximize(three)
    with pytest.raises(ValueError, match=r'averages log-odds .* strategy="logistic"'):
        maximize(MOHNClassifier("gp", random_state=0).fit(X, y))
    frame = pd.DataFrame({"a": X[:, 0], "g": np.tile(["x", "y", "z", "x"], 50)})
    labels = (frame["g"] == "x") ^ (frame["a"] > 0)
    model = MOHNClassifier("logistic", random_state=0).fit(frame, labels)
    with pytest.raises(ValueError, match="more than two categories"):
        maximize(model)


def test_what_was_used_as_asked_is_a_success():
    """But not what was broken off before it had an answer."""
    weights = torus(4)

    def stop(intermediate_result):
        raise StopIteration

    assert not minimize(weights, "tabu", callback=stop).success
    assert minimize(weights, "tabu", time_limit=1e-9).success
    broken = minimize(weights, "exact", time_limit=1e-9)
    assert (broken.success, broken.optimal, broken.status) == (False, False, 2)


# ----------------------------------------------------------------------- hard functions


def low_autocorrelation(n):
    """Sum of squared autocorrelations of a sequence of -1 and +1."""
    terms = defaultdict(float)
    for k in range(1, n):
        for i, j in itertools.product(range(n - k), repeat=2):
            term = set()
            for index in (i, i + k, j, j + k):
                term ^= {index}
            terms[tuple(sorted(term))] += 1.0
    return dict(terms)


@pytest.mark.slow_cases("(27|30|34|38)-.*")
@pytest.mark.parametrize(
    ("n", "lowest"), [(21, 26), (27, 37), (30, 59), (34, 65), (38, 87)]
)
def test_low_autocorrelation_binary_sequences(n, lowest):
    """Energies that are proved to be the lowest (QOBLIB, problem 02)."""
    assert minimize(low_autocorrelation(n), random_state=0).fun == lowest
