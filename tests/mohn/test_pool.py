"""Pairs that searches share, against all pairs and against searches without them."""

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from skmohn import MOHNRegressor
from skmohn.mohn._sparse.pool import PairPool
from skmohn.mohn._sparse.pursuit import Pursuit, PursuitControl
from skmohn.mohn._walsh.design import make_design


def small_pool(inputs, size):
    pool = PairPool(make_design(inputs))
    pool.size = size
    return pool


@settings(max_examples=30, deadline=None)
@given(st.booleans(), st.integers(1, 200), st.floats(0.0, 2.0), st.integers(0, 10**6))
def test_the_bound_never_misses(is_packed, size, change, seed):
    rng = np.random.default_rng(seed)
    inputs = rng.choice([-1.0, 1.0], (60, 25))
    if not is_packed:
        inputs = rng.uniform(-1, 1, inputs.shape)
    pool = small_pool(inputs, size)
    rows = np.sort(rng.permutation(60)[:40])
    fold = pool.view(pool.design.take(rows), rows)
    first = rng.standard_normal(60)
    for view, part in ((pool.whole, slice(None)), (fold, rows)):
        view.ask(first[part])
        view.wait()
        other = first[part] + change * rng.standard_normal(len(first[part]))
        whole = np.zeros(60)
        whole[part] = other
        whole = pool.design.round(whole)
        known, bound = set(view.screen(other, 400)), view.bound(other)
        for i, j in itertools.combinations(range(25), 2):
            if (i, j) not in known:
                product = inputs[:, i] * inputs[:, j]
                product -= product.mean()
                length = np.linalg.norm(product)
                assert length < 1e-9 or abs(product @ whole) / length <= bound + 1e-4
    assert pool.n_passes == 2


def test_waiting_searches_share_a_pass():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (60, 25))
    pool = small_pool(inputs, 10)
    views = [pool.whole] + [
        pool.view(pool.design.take(rows), rows)
        for rows in (np.arange(40), np.arange(20, 60))
    ]
    assert all(view.bound(np.ones(view.design.n_samples)) == math.inf for view in views)
    for view in views:
        view.ask(rng.standard_normal(view.design.n_samples))
    views[1].wait()
    assert pool.n_passes == 1
    assert not any(view.is_waiting for view in views)


def wide_problem(n_features=760, n_samples=500, seed=0):
    """Six inputs and six pairs, and noise of a third of their variance."""
    rng = np.random.default_rng(seed)
    X = rng.choice(np.array([-1, 1], dtype=np.int8), (n_samples, n_features))
    used = rng.permutation(n_features)[:18].tolist()
    terms = [(i,) for i in used[:6]]
    terms += [tuple(sorted(used[6 + 2 * k : 8 + 2 * k])) for k in range(6)]
    signal = sum(X[:, list(term)].prod(axis=1).astype(float) for term in terms)
    return X, signal + 2.0 * rng.standard_normal(n_samples), set(terms)


def test_a_search_finds_what_screening_all_pairs_each_time_finds():
    X, y, _ = wide_problem()
    design, found = make_design(X), []
    pool = PairPool(design)
    for pairs in (None, pool.whole):
        search = Pursuit(design, y, PursuitControl(max_order=2), pairs=pairs)
        search.run()
        descent = Pursuit(design, y, PursuitControl(max_order=2), pairs=pairs)
        for _ in descent.descend(1.0):
            pass
        found.append(set(descent.significant_terms()))
    assert found[0] == found[1]
    assert pool.n_passes <= 6


def test_folds_share_passes(monkeypatch):
    X, y, terms = wide_problem(n_samples=700)
    pools, make = [], PairPool.where_wide

    def spy(*args):
        pools.append(make(*args))
        return pools[-1]

    monkeypatch.setattr(PairPool, "where_wide", spy)
    model = MOHNRegressor(max_order=2, random_state=0).fit(X, y)
    assert {tuple(sorted(term)) for term in model.terms_} == terms
    assert 0 < pools[0].n_passes <= 12
    two = MOHNRegressor(max_order=2, random_state=0, n_jobs=2).fit(X, y)
    assert two.terms_ == model.terms_
    assert np.array_equal(two.weights_, model.weights_)
