"""Structure discovery: exact recovery, parities, budgets, coverage."""

import itertools
import math
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import hadamard

from skmohn import MOHNRegressor
from skmohn._core import _rows
from skmohn._core._fitting import last_of
from skmohn.datasets import (
    make_bmda_quadratic,
    make_gwas,
    make_ising,
    make_mk_trap,
    make_nk,
    make_sparse_walsh,
)
from skmohn.mohn._design.design import DenseDesign, PackedDesign, make_design
from skmohn.mohn._sparse import pursuit as _pursuit
from skmohn.mohn._sparse.pursuit import Pursuit, PursuitControl
from skmohn.mohn._sparse.term_screening import chance_thresholds

EXACT = "exact: the model reproduces every sample"


def assert_recovered(model, problem, atol=1e-6):
    """Every weight is there, no other one is, and each has its value."""
    assert model.terms_ == list(problem.terms)
    assert_allclose(model.weights_, problem.weights, atol=atol)
    assert model.intercept_ == pytest.approx(problem.intercept, abs=atol)
    assert model.stopping_reason_ == EXACT
    assert model.noise_std_ == 0
    assert not model.standard_errors_.any()


# ----------------------------------------------------------------- exact recovery

PROBLEMS = {
    "ising": lambda seed: make_ising((6, 6), n_samples=500, random_state=seed),
    "gaussian ising": lambda seed: make_ising(
        (5, 5), n_samples=300, couplings="gaussian", random_state=seed
    ),
    "cube": lambda seed: make_ising((3, 3, 3), n_samples=400, random_state=seed),
    "4-traps": lambda seed: make_mk_trap(4, 6, n_samples=500, random_state=seed),
    "5-traps": lambda seed: make_mk_trap(5, 3, n_samples=500, random_state=seed),
    "quadratic": lambda seed: make_bmda_quadratic(30, n_samples=150, random_state=seed),
    "nk": lambda seed: make_nk(12, 2, n_samples=600, random_state=seed),
    "hereditary": lambda seed: make_sparse_walsh(
        40, 25, n_samples=300, weight_distribution="pm1", random_state=seed
    ),
    "pure products": lambda seed: make_sparse_walsh(
        30, {1: 3, 2: 3, 3: 4}, heredity=None, n_samples=400, random_state=seed
    ),
}


@pytest.mark.slow_cases(".*-[12]")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PROBLEMS)
def test_structure_is_recovered_exactly(name, seed):
    problem = PROBLEMS[name](seed)
    assert_recovered(MOHNRegressor("pursuit").fit(problem.X, problem.y), problem)


@pytest.mark.parametrize("name", ["ising", "4-traps", "pure products"])
def test_weighted_and_binary_samples_make_no_difference(name):
    problem = PROBLEMS[name](0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(problem.y))
    model = MOHNRegressor("pursuit").fit((problem.X + 1) / 2, problem.y, weights)
    assert_recovered(model, problem)


def walsh_transform(n_features, y):
    """All coefficients of a function given on all its inputs, by brute force."""
    coef = hadamard(2**n_features) @ y / 2**n_features
    return {
        tuple(i for i in range(n_features) if mask >> i & 1): value
        for mask, value in enumerate(coef)
    }


def all_inputs(n_features):
    return 1.0 - 2.0 * (np.arange(2**n_features)[:, None] >> np.arange(n_features) & 1)


@pytest.mark.parametrize("n_features", [1, 3, 6])
def test_full_on_all_inputs_is_the_walsh_transform(n_features):
    y = np.random.default_rng(n_features).standard_normal(2**n_features)
    expected = walsh_transform(n_features, y)
    model = MOHNRegressor("full").fit(all_inputs(n_features), y)
    assert model.intercept_ == pytest.approx(expected.pop(()))
    assert set(model.terms_) == set(expected)
    assert_allclose(model.weights_, [expected[t] for t in model.terms_], atol=1e-10)
    assert model.terms_ == sorted(model.terms_, key=lambda t: (len(t), t))


@pytest.mark.parametrize(
    "estimator",
    [
        MOHNRegressor("pursuit"),
        MOHNRegressor("msda", random_state=0),
        MOHNRegressor("full", max_order=4),
    ],
    ids=lambda estimator: estimator.strategy,
)
@pytest.mark.parametrize("n_features", [5, 8, 10])
def test_sparse_function_on_all_inputs_is_the_walsh_transform(n_features, estimator):
    rng = np.random.default_rng(n_features)
    inputs = all_inputs(n_features)
    y = np.full(len(inputs), 0.5)
    for order in (1, 1, 2, 2, 3, 4):
        chosen = rng.choice(n_features, order, replace=False)
        y += rng.uniform(1, 3) * inputs[:, chosen].prod(axis=1)
    expected = walsh_transform(n_features, y)
    model = estimator.fit(inputs, y)
    found = dict(zip(model.terms_, model.weights_, strict=True))
    assert model.intercept_ == pytest.approx(expected.pop(()))
    for term, value in expected.items():
        assert found.pop(term, 0.0) == pytest.approx(value, abs=1e-9)
    assert not found


# ----------------------------------------------------------------- higher orders


@pytest.mark.parametrize("order", [3, 4, 5])
def test_pure_parity_among_fifty_inputs(order):
    rng = np.random.default_rng(order)
    X = rng.integers(0, 2, (300, 50)).astype(float)
    term = tuple(sorted(rng.choice(50, order, replace=False).tolist()))
    y = 3 * (1 - 2 * X[:, term]).prod(axis=1) + 1
    model = MOHNRegressor("pursuit").fit(X, y)
    assert model.terms_ == [term]
    # A value of 0 is coded as -1, so an odd number of them turns the sign.
    assert_allclose(model.weights_, [3 * (-1) ** order])
    assert model.intercept_ == pytest.approx(1)


def parity_problem(n_features=20, n_samples=300):
    X = np.random.default_rng(0).choice([-1.0, 1.0], (n_samples, n_features))
    return X, X[:, [2, 3, 5]].prod(axis=1)


def test_parity_is_not_found_without_a_budget_and_coverage_says_so():
    X, y = parity_problem()
    # Folds that are dealt at random may have it warn that it is not done.
    without = MOHNRegressor("pursuit", work_budget=0, max_order=3, random_state=0)
    without.fit(X, y)
    assert (2, 3, 5) not in without.terms_
    rows = {row["order"]: row for row in without.search_coverage_}
    assert [rows[order]["tried"] for order in (1, 2)] == [20, 190]
    third = rows.get(3, {"tried": 0, "possible": 1140})
    assert third["possible"] == 1140
    assert third["tried"] < 1140
    with_budget = MOHNRegressor("pursuit", max_order=3).fit(X, y)
    assert with_budget.terms_ == [(2, 3, 5)]
    assert with_budget.search_coverage_[2] == {
        "order": 3,
        "possible": 1140,
        "tried": 1140,
        "kept": 1,
    }


def test_budget_is_spent_on_the_orders_that_it_pays_for():
    X, y = parity_problem()
    design = PackedDesign(X)
    y = y + X[:, :4].prod(axis=1)
    control = PursuitControl(max_order=4, work_budget=design.screening_cost(3) * 1.01)
    search = Pursuit(design, y, control)
    assert search.run() != "exact"
    assert search.frontier.screened.keys() == {3}
    assert (2, 3, 5) in search.model.terms
    assert 0 <= search.frontier.work_left < design.screening_cost(3) * 0.02


def test_max_order_is_kept():
    problem = make_sparse_walsh(
        12, {1: 3, 2: 3, 3: 2}, heredity=None, n_samples=300, random_state=0
    )
    for max_order in (1, 2, 3):
        model = MOHNRegressor("pursuit", max_order=max_order, random_state=0)
        model.fit(problem.X, problem.y)
        assert max(map(len, model.terms_)) <= max_order
        assert len(model.search_coverage_) <= max_order
    assert_recovered(model, problem)


# ----------------------------------------------------------------------- coverage


class Witness:
    """A design that remembers every set it was asked to score."""

    def __init__(self, *data):
        super().__init__(*data)
        self.seen = set()

    def screen(self, residual, order, size):
        """Remember all sets of the order."""
        self.seen.update(itertools.combinations(range(self.n_features), order))
        return super().screen(residual, order, size)

    def screen_children(self, residual, parents, columns, size):
        """Remember all extensions of the parents."""
        for parent in parents:
            others = set(range(self.n_features)).difference(parent)
            self.seen.update(tuple(sorted((*parent, i))) for i in others)
        return super().screen_children(residual, parents, columns, size)

    def of_products(self, sets):
        """Sets that were scored before; to compare them again says nothing new."""
        return make_design(self.unpack(self.columns(sets), float).T)


class PackedWitness(Witness, PackedDesign):
    """With packed samples."""


class DenseWitness(Witness, DenseDesign):
    """With dense samples."""


@pytest.mark.parametrize("kind", [PackedWitness, DenseWitness])
@pytest.mark.parametrize("budget", [0, 6e3, 1e6, 1e9])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_coverage_counts_the_sets_that_were_scored(kind, budget, noise, monkeypatch):
    problem = make_sparse_walsh(
        12, 15, n_samples=150, max_order=4, noise=noise, random_state=1
    )
    design = kind(problem.X)
    control = PursuitControl(max_order=12, work_budget=budget)
    search = Pursuit(design, problem.y, control)
    hold, held = search.frontier._screen_holding, []

    def screen_holding(residuals, inputs, size):
        held.extend(inputs)
        return hold(residuals, inputs, size)

    monkeypatch.setattr(search.frontier, "_screen_holding", screen_holding)
    search.run()
    if noise and budget == 6e3 and kind is PackedWitness:
        assert held
    triples = itertools.combinations(range(12), 3)
    design.seen.update(triple for triple in triples if set(held).intersection(triple))
    scored = np.bincount([len(members) for members in design.seen], minlength=13)
    coverage = {row["order"]: row for row in search.coverage}
    for order in range(1, 13):
        row = coverage.get(order, {"tried": 0, "kept": 0})
        assert row["tried"] == scored[order]
        assert row["kept"] == sum(len(term) == order for term in search.model.terms)
        assert row.get("possible", math.comb(12, order)) == math.comb(12, order)


# ------------------------------------------------------------- decisions, written out


def least_squares(X, y, terms):
    """Residual, coefficients and standard errors, the constant first; and the noise."""
    A = np.stack([X[:, list(term)].prod(axis=1) for term in [(), *terms]], axis=1)
    coef = np.linalg.lstsq(A, y)[0]
    residual = y - A @ coef
    noise = np.sqrt(residual @ residual / (len(y) - A.shape[1]))
    return residual, coef, noise * np.sqrt(np.diag(np.linalg.inv(A.T @ A))), noise


def leaning_problem(seed, n_samples=120, n_features=8):
    """Columns that lean to one side, and weights of many sizes."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n_samples, n_features)) < 0.6, 1.0, -1.0)
    terms = [(0,), (1,), (2,), (0, 3), (1, 4), (2, 5), (0, 1, 6), (3, 4, 5)]
    columns = np.stack([X[:, list(term)].prod(axis=1) for term in terms], axis=1)
    return X, columns @ rng.normal(0, 0.5, len(terms)) + rng.standard_normal(n_samples)


@pytest.mark.parametrize("bar", [0.5, 1.0])
@pytest.mark.parametrize("seed", range(12))
def test_candidates_are_chosen_by_their_scores(seed, bar):
    X, y = leaning_problem(seed)
    search = Pursuit(PackedDesign(X), 100 * y, PursuitControl(3), start=[(0, 3)])
    search.bar, search.round = bar, 5
    found = [t for k in (1, 2, 3) for t in itertools.combinations(range(8), k)]
    # May they be proposed again?
    search.tabu = {(0,): 5, (1,): 4, (2, 5): math.inf}
    allowed = [t for t in found if t not in {*search.model.terms, (0,), (2, 5)}]
    residual, *_, noise = least_squares(X, 100 * y, search.model.terms[1:])
    thresholds = chance_thresholds(allowed, set(search.model.terms), 8)
    scores = {}
    for term, threshold in zip(allowed, thresholds, strict=True):
        column = X[:, list(term)].prod(axis=1)
        length = np.linalg.norm(column - column.mean())
        scores[term] = abs(column @ residual) / (length * noise) / threshold
    least = min(0.6 * max(scores.values()), 2.0)
    expected = [t for t in scores if scores[t] > bar and scores[t] >= least]
    expected.sort(key=lambda term: -scores[term])
    for batch in (3, 20):
        assert search._select(found[::-1], batch) == expected[:batch]
    assert search._select(search.model.terms, 9) == []


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_weights_are_pruned_by_their_errors(seed, strict):
    X, y = leaning_problem(seed)
    terms = [(0,), (1,), (2,), (7,), (0, 3), (1, 4), (2, 5), (6, 7), (0, 1, 6), (3, 5)]
    search = Pursuit(PackedDesign(X), y, PursuitControl(3))
    search.bar, search.round = 0.9, 2
    search.model.add(terms)
    search.model.solve()
    kept, tabu = terms, {}
    while kept:
        _, coef, errors, _ = least_squares(X, y, kept)
        present = {(), *kept}
        least = 0.9 * chance_thresholds(kept, present, 8)
        if not strict:
            least = np.minimum(2.5, 0.8 * least)
        weak = np.abs(coef[1:]) < least * errors[1:]
        if not weak.any():
            break
        tabu |= {kept[j]: 5 for j in np.flatnonzero(weak)}
        kept = [term for term, is_weak in zip(kept, weak, strict=True) if not is_weak]
    assert search._prune(strict) == len(terms) - len(kept)
    assert search.model.terms == [(), *kept]
    assert search.tabu == tabu
    assert search.n_banned == len(tabu)
    search.round = 6
    assert search.n_banned == 0


@pytest.mark.parametrize(
    ("n_samples", "most", "batch"),
    [(40, 32, 8), (200, 160, 25), (200, 20, 19), (9000, 7200, 1000), (40, 1, 0)],
)
def test_a_round_adds_an_eighth_of_the_samples(n_samples, most, batch):
    X = np.random.default_rng(0).choice([-1.0, 1.0], (n_samples, 3))
    search = Pursuit(PackedDesign(X), X[:, 0], PursuitControl(2))
    assert search.max_weights == int(0.8 * n_samples)
    search.max_weights = most
    assert search._batch() == batch


# ----------------------------------------------------------------------- the loop


def ising_search(n_samples=400, **options):
    problem = make_ising((6, 6), n_samples=n_samples, random_state=0)
    control = PursuitControl(max_order=3, **options.pop("control", {}))
    design = PackedDesign(problem.X)
    return Pursuit(design, problem.y, control, **options), problem


def test_each_round_is_reported_and_can_stop_the_search():
    rounds = []

    def report(search):
        rounds.append(
            (search.round, search.proposed, search.removed, len(search.model))
        )
        return len(rounds) == 2

    search, _ = ising_search(on_round=report)
    assert search.run() == "stopped"
    assert [number for number, *_ in rounds] == [1, 2]
    _number, proposed, removed, size = rounds[0]
    assert size == 1 + proposed - removed
    assert proposed > 0


def test_what_is_beyond_doubt_does_not_wait_for_what_is_stronger():
    """The weight of 1 scores a tenth of that of 10, and four times its threshold."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], (10_000, 5))
    y = 10 * X[:, 0] + X[:, 1]
    search = Pursuit(PackedDesign(X), y, PursuitControl(max_order=2))
    assert search.run() == "exact"
    assert search.round == 1


def test_what_is_weak_waits_for_what_is_stronger():
    """A product of columns that lean to one side goes with each of them."""
    X = np.where(np.random.default_rng(0).random((100, 5)) < 0.65, 1.0, -1.0)
    proposed = []
    search = Pursuit(
        PackedDesign(X),
        X[:, 0] * X[:, 1],
        PursuitControl(max_order=2),
        on_round=lambda search: proposed.append(search.proposed),
    )
    assert search.run() == "exact"
    assert proposed == [1]


def saying(likely):
    """What weighs all candidates in one step and finds these likely."""

    def infer(*_, **__):
        yield 1.0
        return likely

    return infer


def test_messages_that_make_the_model_worse_are_forgotten(monkeypatch):
    search, _ = ising_search()
    search._accept(search._propose())
    before, level = set(search.model.terms), search.model.rms
    monkeypatch.setattr(_pursuit, "infer_structure", saying([(0,), (1,)]))
    assert last_of(search._pass_messages())
    assert set(search.model.terms) == before
    assert search.model.rms == pytest.approx(level)
    assert not last_of(search._pass_messages())


def test_messages_are_passed_four_times_at_most_the_first_without_heredity(monkeypatch):
    search, problem = ising_search()
    asked = []

    def infer(design, y, seeds, *, heredity, **options):
        asked.append((heredity, set(seeds)))
        yield 1.0
        return list(problem.terms[: 12 * len(asked)])

    monkeypatch.setattr(_pursuit, "infer_structure", infer)
    assert all(last_of(search._pass_messages()) for _ in range(4))
    assert [heredity for heredity, _ in asked] == [False, True, True, True]
    # What was likely last time is asked for again.
    assert asked[3][1] >= {*problem.terms[:36], *search.model.terms[:1]}
    assert not last_of(search._pass_messages())
    assert len(asked) == 4


@pytest.mark.parametrize("likely", [[], [(0,), (1,)]])
def test_messages_that_say_nothing_new_end_it(monkeypatch, likely):
    search, _ = ising_search()
    search.likely = set(likely)
    monkeypatch.setattr(_pursuit, "infer_structure", saying(likely))
    assert not last_of(search._pass_messages())
    monkeypatch.setattr(_pursuit, "infer_structure", saying([(3,)]))
    assert not last_of(search._pass_messages())


@pytest.mark.parametrize(("share", "orders"), [(0.79, [3, 4]), (0.81, [4])])
def test_an_order_is_screened_again_when_much_is_explained(monkeypatch, share, orders):
    X, y = leaning_problem(0)
    search = Pursuit(PackedDesign(X), y, PursuitControl(max_order=4))
    search.frontier.screened[3] = search.model.rms / share
    screened = []
    monkeypatch.setattr(
        search.design, "screen", lambda _, order, size: screened.append(order) or []
    )
    assert not last_of(search._raise_order(math.inf))
    assert screened == orders
    assert not last_of(search._raise_order(math.inf))
    assert screened == orders


def test_each_bar_has_ten_rounds(monkeypatch):
    search, _ = ising_search()
    accepted = []
    monkeypatch.setattr(search, "_propose", lambda: [(0,)])
    monkeypatch.setattr(search, "_accept", lambda terms: accepted.append(search.bar))
    for bar in (1.0, 0.5):
        last_of(search.descend(bar))
    assert accepted == [1.0] * 10 + [0.5] * 10


def test_sets_with_parents_in_the_model_have_fewer_rivals():
    present = {(), (9,), (0, 1), (0, 2), (1, 2), (3, 4)}
    terms = [(5,), (0, 9), (0, 1, 2), (0, 1, 5), (5, 6, 7)]
    # All of an order; all; those of the model; one more input to each; all.
    path_validation = [20, 190, 10, 20 * 6, 1140]
    found = chance_thresholds(terms, present, 20)
    assert_allclose(found, np.sqrt(2 * np.log(path_validation)))
    found = chance_thresholds(terms, present, 20, n_rivals=3)
    path_validation = [60, 570, 18, 360, 3420]
    assert_allclose(found, np.sqrt(2 * np.log(path_validation)))


def test_most_rounds():
    search, _ = ising_search(control={"max_rounds": 1})
    assert search.run() == "max_rounds"
    assert search.round == 1


def test_start_is_where_the_search_begins():
    first, problem = ising_search()
    assert first.run() == "exact"
    again, _ = ising_search(start=problem.terms)
    assert sorted(again.model.terms[1:]) == sorted(problem.terms)
    assert again.run() == "exact"
    assert again.round == 0


def test_wrong_start_is_corrected():
    wrong = [(0, 1, 2), (3, 4, 5), (7,)]
    search, problem = ising_search(start=wrong)
    assert search.run() == "exact"
    assert sorted(search.model.terms[1:]) == sorted(problem.terms)


def test_weights_stay_fewer_than_samples():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (50, 30))
    sizes = []
    search = Pursuit(
        PackedDesign(X),
        rng.standard_normal(50),
        PursuitControl(max_order=3),
        on_round=lambda search: sizes.append(len(search.model)),
    )
    assert search.run() == "stalled"
    assert max(sizes) <= 0.8 * 50


def test_falling_bar_gives_significant_terms():
    problem = make_ising((4, 4), n_samples=300, snr=5, random_state=0)
    search = Pursuit(PackedDesign(problem.X), problem.y, PursuitControl(max_order=2))
    bars = 0.9 ** np.arange(5)
    path = [last_of(search.descend(bar)) for bar in bars]
    assert len(path) == len(bars)
    sizes = [len(terms) for terms in path]
    assert sizes[0] > 0
    assert sizes == sorted(sizes)


def test_a_residual_is_screened_once(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (100, 8))
    y = X[:, 0] + 0.3 * X[:, 1] * X[:, 2] + rng.standard_normal(100)
    search = Pursuit(PackedDesign(X), y, PursuitControl(max_order=2))
    screened, screen = [], search.frontier.screen_low_orders

    def spy(residuals, size):
        screened.extend(residuals)
        return screen(residuals, size)

    monkeypatch.setattr(search.frontier, "screen_low_orders", spy)
    bars = 0.9 ** np.arange(8)
    path = [last_of(search.descend(bar)) for bar in bars]
    assert len({id(residual) for residual in screened}) == len(screened)
    # Each bar proposes once more than it accepts.
    assert len(screened) < search.round + len(bars)
    again = Pursuit(PackedDesign(X), y, PursuitControl(max_order=2))
    for bar, terms in zip(bars, path, strict=True):
        # As if each residual were new.
        again._screened = None, []
        assert last_of(again.descend(bar)) == terms


def test_small_weights_next_to_large_ones():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 20))
    y = 1e3 * X[:, 0] + X[:, 1] * X[:, 2] + 1e-2 * X[:, 4]
    model = MOHNRegressor("pursuit").fit(X, y)
    assert model.terms_ == [(0,), (4,), (1, 2)]
    assert_allclose(model.weights_, [1e3, 1e-2, 1], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_of_the_target_is_irrelevant(scale):
    problem = PROBLEMS["hereditary"](0)
    model = MOHNRegressor("pursuit").fit(problem.X, scale * problem.y)
    assert model.terms_ == problem.terms
    assert_allclose(model.weights_, scale * problem.weights, rtol=1e-6)


def test_no_more_sets_are_likely_than_a_model_may_have(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (40, 12))
    search = Pursuit(PackedDesign(X), rng.standard_normal(40), PursuitControl(3))
    everything = [*itertools.combinations(range(12), 2)]
    assert len(everything) > search.max_weights
    monkeypatch.setattr(_pursuit, "infer_structure", saying(everything))
    assert last_of(search._pass_messages())
    assert search.likely == set(everything[: search.max_weights - 1])


@pytest.mark.parametrize("seed", range(2))
def test_of_columns_that_are_alike_one_is_kept(seed):
    # Together none of twenty neighbors is significant.
    scan = make_gwas(
        100,
        400,
        n_main_effects=1,
        n_pairs=1,
        main_effect_variance=0.2,
        pair_variance=0.2,
        correlation=0.997,
        random_state=seed,
    )
    model = MOHNRegressor("pursuit", max_order=2, selection="ebic")
    model.fit(scan.X, scan.y)
    found, true = (
        [scan.blocks[list(term)].tolist() for term in terms]
        for terms in (model.terms_, scan.terms)
    )
    assert found == true


@pytest.mark.parametrize(("n_samples", "is_cheap"), [(100, True), (10**5, False)])
def test_the_lowest_bar_is_worth_a_pass_where_that_is_cheap(n_samples, is_cheap):
    bits = np.random.default_rng(0).choice([-1.0, 1.0], (200, 1500))
    search = Pursuit(PackedDesign(bits), bits[:, 0], PursuitControl(max_order=2))
    search.design.score_cost *= n_samples / len(bits)
    thorough = []
    while search._lower_bar():
        thorough.append(search.is_thorough)
    assert thorough == [False, False, is_cheap]


def test_candidates_are_scored_some_at_a_time(replace_constants):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (500, 8))
    design = DenseDesign(X)
    search = Pursuit(
        design, X[:, 0] * X[:, 1] + rng.normal(size=500), PursuitControl(2)
    )
    found = list(itertools.combinations(range(8), 2))
    expected = search._score(found, set())
    replace_constants(_rows, max_values=2000)
    columns = design.columns
    with mock.patch.object(design, "columns", side_effect=columns) as computed:
        scores = search._score(found, set())
    assert {len(call.args[0]) for call in computed.call_args_list} == {4}
    assert_allclose(scores, expected, rtol=1e-8)


@pytest.mark.parametrize("largest", [1.0, 3e7])
def test_small_weights_of_exact_models_stay(largest):
    """Beside one of 3e7, those of 1 are no rounding errors."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], (80, 12))
    y = largest * X[:, 5] + 2.0 * X[:, 0] - X[:, 1] * X[:, 2]
    model = MOHNRegressor("pursuit").fit(X, y)
    assert set(model.terms_) == {(0,), (5,), (1, 2)}
    assert_allclose(model.predict(X), y, rtol=1e-12, atol=1e-6)
