"""Pairs that searches share, against all pairs and against searches without them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import traced_memory

from skmohn import MOHNRegressor
from skmohn.mohn import _strategies, _training_data
from skmohn.mohn._design import pair_screening as _pairs
from skmohn.mohn._design.design import make_design
from skmohn.mohn._sparse.pair_cache import PairCache
from skmohn.mohn._sparse.pursuit import Pursuit, PursuitControl


def small_pool(inputs, size):
    few = PairCache(make_design(inputs))
    few.size = size
    return few


@settings(max_examples=30, deadline=None)
@given(st.booleans(), st.integers(1, 200), st.floats(0.0, 2.0), st.integers(0, 10**6))
def test_the_bound_never_misses(is_packed, size, change, seed):
    rng = np.random.default_rng(seed)
    inputs = rng.choice([-1.0, 1.0], (60, 25))
    if not is_packed:
        inputs = rng.uniform(-1, 1, inputs.shape)
    small = small_pool(inputs, size)
    rows = np.sort(rng.permutation(60)[:40])
    fold = small.view(small.design.take(rows), rows)
    first = rng.standard_normal(60)
    for view, part in ((small.whole, slice(None)), (fold, rows)):
        view.request(first[part])
        view.wait()
        other = first[part] + change * rng.standard_normal(len(first[part]))
        whole = np.zeros(60)
        whole[part] = other
        whole = small.design.round(whole)
        known, bound = set(view.screen(other, 400)), view.bound(other)
        for i, j in itertools.combinations(range(25), 2):
            if (i, j) not in known:
                product = inputs[:, i] * inputs[:, j]
                product -= product.mean()
                length = np.linalg.norm(product)
                assert length < 1e-9 or abs(product @ whole) / length <= bound + 1e-4
    assert small.n_passes == 2


def test_waiting_searches_share_a_pass():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (60, 25))
    small = small_pool(inputs, 10)
    views = [small.whole] + [
        small.view(small.design.take(rows), rows)
        for rows in (np.arange(40), np.arange(20, 60))
    ]
    assert all(view.bound(np.ones(view.design.n_samples)) == math.inf for view in views)
    for view in views:
        view.request(rng.standard_normal(view.design.n_samples))
    views[1].wait()
    assert small.n_passes == 1
    assert not any(view.is_waiting for view in views)


def test_companions_begin_before_the_second_pass_and_share_it():
    rng = np.random.default_rng(0)
    few = small_pool(rng.choice([-1.0, 1.0], (60, 25)), 10)
    rows = np.arange(40)
    fold, begun = few.view(few.design.take(rows), rows), []

    def search():
        begun.append(few.n_passes)
        fold.request(rng.standard_normal(40))
        yield 1.0

    few.joint_searches = lambda: [(fold, search())]
    for n_passes in (1, 2, 3):
        few.whole.request(rng.standard_normal(60))
        few.whole.wait()
        assert few.n_passes == n_passes
        assert not fold.is_waiting
        assert begun == ([1] if n_passes > 1 else [])
        assert math.isfinite(fold.bound(np.zeros(40))) == (n_passes > 1)


def test_what_views_know():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (60, 25))
    small = small_pool(inputs, 12)
    rows = np.sort(rng.permutation(60)[:40])
    fold = small.view(small.design.take(rows), rows)
    assert fold.is_empty
    assert small.whole.is_empty
    first, other = rng.standard_normal((2, 60))
    other += first
    small.whole.request(first)
    small.whole.wait()
    # What was found in all samples is known in a fold, without a bound.
    assert not fold.is_empty
    assert set(fold.screen(first[rows], 99)) == best_by_hand(small, first, 12)
    assert fold.bound(first[rows]) == math.inf
    fold.request(other[rows])
    fold.wait()
    whole = np.zeros(60)
    whole[rows] = other[rows]
    # Its own pass comes to that, each pair once.
    expected = best_by_hand(small, first, 12) | best_by_hand(small, whole, 12)
    assert len(expected) < 24
    found = fold.screen(other[rows], 99)
    assert set(found) == expected
    assert len(found) == len(expected)
    # Nothing has changed since the pass.
    least = _pairs.best_pairs(small.design, whole, 12)[0].floor
    assert fold.bound(other[rows]) == pytest.approx(least, rel=1e-6)


def best_by_hand(small, residual, size):
    """The pairs that score most, as residuals are compared."""
    inputs = small.design.unpack(small.design.bits, np.float64)
    rounded = small.design.round(residual)
    scores = {}
    for i, j in itertools.combinations(range(len(inputs)), 2):
        product = inputs[i] * inputs[j] - np.mean(inputs[i] * inputs[j])
        scores[i, j] = abs(product @ rounded) / np.linalg.norm(product)
    return set(sorted(scores, key=scores.get)[-size:])


@pytest.fixture
def few_are_wide(replace_constants):
    """Tables of 100 columns are wide, and 100 of their pairs are kept."""
    replace_constants(_training_data, min_wide=100)
    replace_constants(_pairs, n_pairs_per_part=1, max_kept=100, min_kept=100)


class Bars:
    """A callback that counts iterations, and passes by their parts, as bars do."""

    def __init__(self):
        self.passes, self.n_iterations, self.n_parts = [], 0, 0

    def setup(self, estimator, context):
        assert context.max_subtasks is None or context.max_subtasks > 1

    teardown = setup

    def on_fit_task_begin(self, estimator, context):
        if context.task_name == "pass over all pairs":
            self.n_parts = 0

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.n_iterations += context.task_name == "iteration"
        if context.task_name == "part":
            assert context.parent.task_name == "pass over all pairs"
            assert fitted_estimator is None
            self.n_parts += 1
        if context.task_name == "pass over all pairs":
            self.passes.append((self.n_parts, context.max_subtasks))


def wide_problem(n_features=120, n_samples=300, seed=0):
    """Six inputs and six pairs, and noise of a third of their variance."""
    rng = np.random.default_rng(seed)
    X = rng.choice(np.array([-1, 1], dtype=np.int8), (n_samples, n_features))
    used = rng.permutation(n_features)[:18].tolist()
    terms = [(i,) for i in used[:6]]
    terms += [tuple(sorted(used[6 + 2 * k : 8 + 2 * k])) for k in range(6)]
    signal = sum(X[:, list(term)].prod(axis=1).astype(float) for term in terms)
    return X, signal + 2.0 * rng.standard_normal(n_samples), set(terms)


@pytest.mark.usefixtures("few_are_wide")
@pytest.mark.parametrize("seed", range(4))
def test_a_search_finds_what_screening_all_pairs_each_time_finds(seed):
    X, y, _ = wide_problem(seed=seed)
    design, found = make_design(X), []
    shared = PairCache(design)
    assert shared.size == 100
    for pairs in (None, shared.whole):
        # Message passing would weigh all pairs of a table as small as this.
        control = PursuitControl(max_order=2, memory_budget=0.0)
        search = Pursuit(design, y, control, pairs=pairs)
        search.run()
        descent = Pursuit(design, y, control, pairs=pairs)
        for _ in descent.descend(1.0):
            pass
        found.append(set(descent.significant_terms()))
    assert found[0] == found[1]
    assert shared.n_passes <= 6


def test_bytes_are_not_blown_up():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(1000, 8000), dtype=np.int8)
    y = X[:, 5] + rng.standard_normal(1000)
    model = MOHNRegressor("given", terms=[[5], [7, 3000]])
    with traced_memory() as peak:
        model.fit(X, y)
        # As numbers the table alone would be eight times as large.
        assert peak() < 3 * X.nbytes
    as_numbers = MOHNRegressor("given", terms=[[5], [7, 3000]]).fit(X.astype(float), y)
    assert np.array_equal(as_numbers.weights_, model.weights_)


@pytest.mark.slow
def test_bytes_give_the_model_of_numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(200, 12)).astype(np.int8)
    y = 3.0 * X[:, 2] * X[:, 5] + rng.standard_normal(200)
    asked = {"pursuit": ["int8", "uint8", "bool"], "auto": ["bool"], "msda": ["uint8"]}
    for strategy, dtypes in asked.items():
        expected = MOHNRegressor(strategy, random_state=0).fit(X.astype(float), y)
        for dtype in dtypes:
            given = X.astype(dtype)
            model = MOHNRegressor(strategy, random_state=0).fit(given, y)
            assert model.terms_ == expected.terms_
            assert np.array_equal(model.weights_, expected.weights_)
            assert np.array_equal(model.predict(given), expected.predict(X))


@pytest.mark.slow
def test_what_does_not_fit_steps_aside_with_a_word(monkeypatch, replace_constants):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (80, 20))
    y = X[:, 2] * X[:, 5] + 0.5 * rng.standard_normal(80)
    model = MOHNRegressor("pursuit", memory_budget=3e5, random_state=0).fit(X, y)
    assert "message passing was skipped" not in model.stopping_reason_
    small = MOHNRegressor("pursuit", memory_budget=1e5, random_state=0).fit(X, y)
    assert "message passing was skipped" in small.stopping_reason_
    assert (2, 5) in set(small.terms_).intersection(model.terms_)
    replace_constants(_training_data, min_wide=20)
    for budget, said in ((8 * X.size, False), (8 * X.size - 1, True)):
        monkeypatch.setattr(_strategies, "solve_gp", refuse)
        model = MOHNRegressor(memory_budget=budget, random_state=0).fit(X, y)
        assert ("its table needs" in model.stopping_reason_) == said
        assert "the Gaussian process does not fit" in model.stopping_reason_
    replace_constants(_training_data, min_wide=21)
    model = MOHNRegressor(memory_budget=8 * X.size - 1, random_state=0).fit(X, y)
    assert "its table needs" not in model.stopping_reason_
    X[:, 7] = -X[:, 3]
    for wide, said in ((21, True), (20, False)):
        replace_constants(_training_data, min_wide=wide)
        model = MOHNRegressor("given", terms=[[2, 5]]).fit(X, y)
        assert ("1 of 20 columns are linear" in model.stopping_reason_) == said


def refuse(*args):
    """Stand for a Gaussian process that does not fit for a reason of its own."""
    raise MemoryError("too many rows")


@pytest.mark.slow_cases("1")
@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.usefixtures("few_are_wide")
@pytest.mark.parametrize("seed", range(2))
def test_folds_share_passes(seed, replace_constants):
    X, y, terms = wide_problem(n_samples=500, seed=seed)
    bars = Bars()
    options = {"max_order": 2, "random_state": 0, "memory_budget": 1e6}
    model = MOHNRegressor(**options).set_callbacks(bars).fit(X, y)
    assert terms <= set(model.terms_)
    assert 0 < len(bars.passes) <= 12
    # Eight tiles of columns, and one task for each of their parts.
    assert set(bars.passes) == {(8, 8)}
    assert bars.n_iterations == len(model.history_) + 1
    two = MOHNRegressor(**options, n_jobs=2).fit(X, y)
    assert two.terms_ == model.terms_
    assert np.array_equal(two.weights_, model.weights_)
    replace_constants(_training_data, min_wide=1000)
    bars = Bars()
    plain = MOHNRegressor(**options).set_callbacks(bars).fit(X, y)
    assert plain.terms_ == model.terms_
    assert not bars.passes
