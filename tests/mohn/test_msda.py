"""The stochastic search: its distributions, its record of used sets, what it finds."""

import contextlib
import copy
import dataclasses
import itertools
import math
from collections import Counter
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.model_selection import GridSearchCV

from skmohn import MOHNRegressor
from skmohn.mohn._design.design import DenseDesign, PackedDesign
from skmohn.mohn._options import MSDAOptions
from skmohn.mohn._sparse import msda
from skmohn.mohn._sparse.msda import _Search
from skmohn.mohn._sparse.proposals import (
    Proposals,
    first_inputs,
    laplace_orders,
    updated_orders,
)


def discover(*data, **options):
    """What a search found, its reason and coverage, and how often it iterated."""
    iterate = {"autospec": True, "side_effect": _Search.iterate}
    with patch.object(_Search, "iterate", **iterate) as counted:
        model, reason, coverage = msda.discover(*data, **options)
    return SimpleNamespace(
        **model._asdict(), reason=reason, coverage=coverage, n_iter=counted.call_count
    )


# ------------------------------------------------------------------- distributions


def test_laplace_is_equation_9_normalized():
    c, b, n = 2, 1.5, 6
    expected = np.array(
        [1 / (2 * b) * math.exp(-abs(c - o) / b) for o in range(1, n + 1)]
    )
    assert_allclose(laplace_orders(c, b, n), expected / expected.sum())


def test_orders_are_mixed_by_equation_10():
    control = MSDAOptions(order_share=0.5, mode_share=0.3, order_width=2.0)
    old = np.array([0.1, 0.2, 0.3, 0.4])
    counts = np.array([0, 6, 2, 0])
    expected = 0.2 * old + 0.5 * counts / 8 + 0.3 * laplace_orders(3, 2.0, 4)
    found = updated_orders(old, counts, 3, control)
    assert_allclose(found, expected)
    assert found.sum() == pytest.approx(1.0)


def test_orders_of_an_empty_model_are_past_and_laplace():
    control = MSDAOptions(order_share=0.6, mode_share=0.2)
    old = np.array([0.5, 0.5, 0.0])
    expected = (0.2 * old + 0.2 * laplace_orders(1, 1.0, 3)) / 0.4
    found = updated_orders(old, np.zeros(3, dtype=int), 1, control)
    assert_allclose(found, expected)


@pytest.mark.parametrize("rho", [-1.0, -0.4, 0.0, 0.7, 1.0])
def test_first_inputs_are_equation_13(rho):
    contribution = np.array([0.0, 1.0, 3.0, 4.0])
    share, n = contribution / 8, 4
    if rho > 0:
        expected = [(1 - rho) / n + rho * c for c in share]
    else:
        expected = [(1 + rho) / n - rho * (1 - c) for c in share]
    expected = np.array(expected) / sum(expected)
    found = first_inputs(np.full(n, 1 / n), contribution, rho)
    assert_allclose(found, expected)


def test_first_inputs_without_a_model_are_the_prior():
    prior = np.array([0.2, 0.8])
    assert_array_equal(first_inputs(prior, np.zeros(2), 0.9), prior)


def test_mode_is_the_lowest_order_with_unused_sets():
    search = Proposals(4, MSDAOptions(order_share=0.0, mode_share=1.0), 0)
    search.start_from([(0,), (1,), (2,), (3,)])
    search.update([(0,)])
    assert_allclose(search.orders, laplace_orders(2, 1.0, 4))
    assert_allclose(search.open_orders[0], 0.0)
    assert_allclose(search.open_orders[1:], search.orders[1:] / search.orders[1:].sum())


# ------------------------------------------------------------------------ sampling


def set_distribution(n, order, first, weights, used, delta):
    """Probability of each set, by following [S1] Eq 14 along every path."""
    chances = Counter()

    def follow(picked, inputs, chance):
        if len(picked) == order:
            chances[tuple(sorted(picked))] += chance
            return
        inputs = inputs.copy()
        inputs[picked] = 0.0
        if picked:
            clique = np.zeros(n)
            for members, size in weights.items():
                if set(members) & set(picked):
                    clique[list(members)] += size
            clique[picked] = 0.0
            if clique.sum():
                inputs = inputs / inputs.sum()
                inputs = (1 - delta) * inputs + delta * clique / clique.sum()
        allowed = inputs.copy()
        if len(picked) == order - 1:
            for i in range(n):
                if tuple(sorted([*picked, i])) in used:
                    allowed[i] = 0.0
        for i in np.flatnonzero(allowed):
            follow([*picked, int(i)], inputs, chance * allowed[i] / allowed.sum())

    follow([], first, 1.0)
    return chances


WEIGHTS = {
    (0,): -2.0,
    (0, 1): 1.0,
    (0, 5): 2.0,
    (1, 2): -0.5,
    (1, 3): 1.5,
    (3, 4): 3.0,
    (0, 1, 2): 6.0,
}
PRIOR = np.array([0.4, 0.25, 0.1, 0.1, 0.1, 0.05])


def drawn_sets(search, n_draws):
    """Draw single sets, each from the same state of the record."""
    table, used, tried = search._table.copy(), search.used.copy(), search.tried.copy()
    drawn = Counter()
    for _ in range(n_draws):
        drawn.update(search._sample(1, list(WEIGHTS), np.array(list(WEIGHTS.values()))))
        search._table[:], search.used[:], search.tried[:] = table, used, tried
    return drawn


@pytest.mark.slow_cases("(?!(1--0.6|3-0.3)$).*")
@pytest.mark.parametrize("rho", [-0.6, 0.3])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_sets_are_drawn_from_their_distribution(rho, order):
    n, discarded = 6, [(2,), (0, 4), (1, 3, 5)]
    orders = np.eye(4)[order - 1]
    control = MSDAOptions(
        exploitation=rho, initial_orders=orders, initial_inputs=PRIOR, clique_share=0.5
    )
    search = Proposals(n, control, 11, max_order=4)
    search.start_from([*WEIGHTS, *discarded])
    contribution = np.zeros(n)
    for members, weight in WEIGHTS.items():
        contribution[list(members)] += abs(weight)
    expected = set_distribution(
        n,
        order,
        first_inputs(PRIOR, contribution, rho),
        {members: abs(weight) for members, weight in WEIGHTS.items()},
        {*WEIGHTS, *discarded},
        0.5,
    )
    n_draws = 3000
    drawn = drawn_sets(search, n_draws)
    assert set(drawn) <= set(expected)
    observed = np.array([drawn[members] for members in expected])
    chances = np.array(list(expected.values()))
    enough = chances * n_draws > 5
    rest = [[x[~enough].sum()] if (~enough).any() else [] for x in (observed, chances)]
    observed = np.append(observed[enough], rest[0])
    chances = np.append(chances[enough], rest[1])
    assert stats.chisquare(observed, chances * n_draws).pvalue > 1e-3


def test_orders_are_drawn_from_their_distribution():
    orders = np.array([0.2, 0.5, 0.0, 0.3])
    search = Proposals(30, MSDAOptions(initial_orders=orders), 5, max_order=4)
    drawn = drawn_sets(search, 4000)
    counts = np.bincount([len(s) for s in drawn.elements()], minlength=5)[1:]
    assert counts[2] == 0
    observed, expected = counts[orders > 0], 4000 * orders[orders > 0]
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_prior_on_inputs_is_kept():
    prior = [0.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    search = Proposals(6, MSDAOptions(initial_inputs=prior, mopping_threshold=1.0), 0)
    proposed = search.propose(11, 11, [], np.empty(0))
    assert {i for members in proposed for i in members} == {1, 2, 3, 5}


# ------------------------------------------------------------- control parameters


@pytest.mark.parametrize("name", ["initial_orders", "initial_inputs"])
def test_prior_of_wrong_length_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} of MSDAOptions must have 3 numbers"):
        Proposals(3, MSDAOptions(**{name: [1.0, 1.0]}), 0)


@pytest.mark.parametrize("name", ["initial_orders", "initial_inputs"])
@pytest.mark.parametrize(
    "given",
    [
        [-1.0, 1.0, 1.0],
        [0.0] * 3,
        [],
        [np.nan, 1.0],
        [np.inf, 1.0],
        ["a", "b"],
        [[1.0, 2.0], [3.0]],
        np.ones((2, 2)),
    ],
)
def test_bad_prior_is_refused(name, given):
    message = f"'{name}' parameter of MSDAOptions must be None or a list of finite"
    with pytest.raises(ValueError, match=message):
        MSDAOptions(**{name: given})._validate_params()


@pytest.mark.parametrize(
    ("shares", "allowed"),
    [((0.9, 0.2), False), ((0.0, 0.0), False), ((0.9, 0.1), True), ((0.0, 1.0), True)],
)
def test_shares_leave_something_and_no_less_than_nothing_to_memory(shares, allowed):
    refused = pytest.raises(ValueError, match=r"order_share \+ mode_share .* at most 1")
    with contextlib.nullcontext() if allowed else refused:
        MSDAOptions(order_share=shares[0], mode_share=shares[1])._validate_params()


SHARE = ([0.0, 1.0], [-0.1, 1.1, np.nan, "half"], "a float in the range [0.0, 1.0]")
POSITIVE_SHARE = ([0.01, 1], [0.0, 1.1, None], "a float in the range (0.0, 1.0]")
COUNT = ([1, np.int64(7)], [0, 1.5], "an int in the range [1, inf)")
NOT_NEGATIVE = ([0, 3.5], [-0.1, np.inf], "a float in the range [0.0, inf)")
RANGES = {
    "order_share": ([0.0, 0.8], *SHARE[1:]),
    "mode_share": ([0.0, 0.4], *SHARE[1:]),
    "order_width": ([0.1, 9], [0.0, np.inf], "a float in the range (0.0, inf)"),
    "exploitation": ([-1, 1], [-1.1, 1.1], "a float in the range [-1.0, 1.0]"),
    "clique_share": SHARE,
    "batch_size": (
        [1, "third", "n_features"],
        [0, 2.5, "half"],
        "an int in the range [1, inf) or a str among",
    ),
    "max_weight_share": POSITIVE_SHARE,
    "discard_period": COUNT,
    "mopping_threshold": POSITIVE_SHARE,
    "removal": (["auto", "zero", "t_test"], ["none", None], "a str among"),
    "p_critical": POSITIVE_SHARE,
    "p_decay": POSITIVE_SHARE,
    "p_minimum": POSITIVE_SHARE,
    "t_variance": (["residual", "target"], ["y"], "a str among"),
    "initial_orders": ([None, [1, 0]], [1.0, "uniform"], "an array-like or None"),
    "initial_inputs": ([None, (2, 3)], [1.0, "uniform"], "an array-like or None"),
    "penalty_factor": NOT_NEGATIVE,
    "refit": ([True, False], [None, "yes"], "an instance of 'bool'"),
    "n_epochs": COUNT,
    "n_iter_no_change": ([1, 5, None], [0, -1, 1.5], "an int in the range [1, inf)"),
    "tol": NOT_NEGATIVE,
}


def test_every_field_has_a_range():
    fields = [field.name for field in dataclasses.fields(MSDAOptions)]
    assert fields == list(RANGES) == list(MSDAOptions._parameter_constraints)


@pytest.mark.parametrize("name", RANGES)
def test_message_names_the_field_and_its_range(name):
    allowed, refused, text = RANGES[name]
    for value in allowed:
        MSDAOptions(**{name: value})._validate_params()
    for value in refused:
        with pytest.raises(ValueError, match=name) as error:
            MSDAOptions(**{name: value})._validate_params()
        message = str(error.value)
        assert message.startswith(f"The '{name}' parameter of MSDAOptions must be ")
        assert text in message
        # Strings are listed in any order.
        options = [option for option in allowed if isinstance(option, str)]
        assert all(f"'{option}'" in message for option in options)


@pytest.mark.parametrize("name", ["max_order", "max_iter", "penalty", "learning_rate"])
def test_parameters_of_the_estimator_are_not_repeated(name):
    with pytest.raises(TypeError, match=name):
        MSDAOptions(**{name: 1})


def control_with_arrays():
    orders, inputs = np.array([0.0, 1.0, 1.0]), np.arange(12.0)
    return MSDAOptions(initial_orders=orders, initial_inputs=inputs, batch_size=5)


def test_control_is_a_parameter_to_search_over():
    inputs, y = sparse_problem()
    model = MOHNRegressor("msda", max_order=3, random_state=0)
    controls = [control_with_arrays(), MSDAOptions()]
    search = GridSearchCV(model, {"msda_options": controls}, cv=2).fit(inputs, y)
    assert search.best_params_["msda_options"] in controls


@pytest.mark.filterwarnings("ignore:msda stopped")
def test_fit_leaves_the_control_as_it_was():
    control, (inputs, y) = control_with_arrays(), sparse_problem()
    before = {name: copy.copy(value) for name, value in vars(control).items()}
    MOHNRegressor("msda", max_order=3, max_iter=30, msda_options=control).fit(inputs, y)
    assert vars(control).keys() == before.keys()
    for name, value in before.items():
        assert_array_equal(getattr(control, name), value)


def test_estimator_hands_its_parameters_to_the_search():
    inputs, y = sparse_problem(noise=1.0)
    control = MSDAOptions(removal="t_test")
    model = MOHNRegressor(
        "msda",
        "lasso",
        max_order=2,
        alpha=0.5,
        max_iter=2,
        msda_options=control,
        random_state=0,
    )
    with pytest.warns(ConvergenceWarning, match="msda stopped at max_iter=2"):
        model.fit(inputs, y)
    seed = np.random.RandomState(0).randint(2**31)
    found = discover(
        PackedDesign(inputs),
        y,
        control,
        "lasso",
        seed,
        max_order=2,
        max_iter=2,
        alpha=0.5,
    )
    assert model.n_iter_ == 2
    assert sorted(model.terms_) == sorted(found.terms)
    assert [row["order"] for row in model.search_coverage_] == [1, 2]


# ----------------------------------------------------------------- the used sets


def test_used_sets_are_never_proposed_again():
    search = Proposals(12, MSDAOptions(), 3)
    model = [(0,), (3, 7), (1, 2, 4)]
    search.start_from(model)
    seen = set(model)
    for _ in range(20):
        proposed = search.propose(100, 150, model, np.array([1.0, -2.0, 0.5]))
        assert len(proposed) >= 100
        assert all(members == tuple(sorted(set(members))) for members in proposed)
        assert len(set(proposed)) == len(proposed)
        assert not seen & set(proposed)
        seen |= set(proposed)
        search.update(model)
    assert search.used.tolist() == np.bincount([len(s) for s in seen])[1:].tolist()
    assert_array_equal(search.tried, search.used)


def test_everything_is_proposed_once_and_no_more():
    search = Proposals(6, MSDAOptions(), 0)
    seen = []
    while proposed := search.propose(10, 15, [], np.empty(0)):
        seen += proposed
        search.update([])
    everything = [s for o in range(1, 7) for s in itertools.combinations(range(6), o)]
    assert sorted(seen) == sorted(everything)
    assert not search.open_orders.any()


def test_discarded_sets_may_come_again_when_forgotten():
    search = Proposals(5, MSDAOptions(), 0, max_order=1)
    first = search.propose(5, 5, [], np.empty(0))
    search.forget_discarded([(2,)])
    assert search.used.tolist() == [1]
    second = search.propose(5, 5, [(2,)], np.ones(1))
    assert sorted(first) == [(0,), (1,), (2,), (3,), (4,)]
    assert sorted(second) == [(0,), (1,), (3,), (4,)]
    assert search.tried.tolist() == [5]


def test_mopping_up_adds_exactly_the_rest():
    pairs = list(itertools.combinations(range(20), 2))
    control = MSDAOptions(initial_orders=[0.0, 1.0], mode_share=0.4)
    search = Proposals(20, control, 0, max_order=2)
    search.start_from(pairs[:170])
    # One more makes 171 of 190: 90 %.
    proposed = search.propose(1, 100, [], np.empty(0))
    assert sorted(proposed) == pairs[170:]
    assert search.open_orders.tolist() == [0.0, 0.0]


def test_order_short_of_the_threshold_is_not_mopped_up():
    pairs = list(itertools.combinations(range(20), 2))
    control = MSDAOptions(initial_orders=[0.0, 1.0])
    search = Proposals(20, control, 0, max_order=2)
    search.start_from(pairs[:169])
    assert len(search.propose(1, 100, [], np.empty(0))) == 1


def test_mopping_up_takes_what_there_is_room_for():
    pairs = list(itertools.combinations(range(20), 2))
    control = MSDAOptions(initial_orders=[0.0, 1.0])
    search = Proposals(20, control, 0, max_order=2)
    search.start_from(pairs[:175])
    parts = [search.propose(10, 4, [], np.empty(0)) for _ in range(4)]
    assert [len(part) for part in parts] == [4, 4, 4, 3]
    assert sorted(itertools.chain(*parts)) == pairs[175:]


def test_proposals_depend_on_the_seed_alone():
    def propose(seed):
        search = Proposals(15, MSDAOptions(), seed)
        return [search.propose(30, 40, [(1, 2)], np.ones(1)) for _ in range(3)]

    assert propose(4) == propose(4)
    assert propose(4) != propose(5)


def test_many_inputs_overflow_nothing():
    search = Proposals(2000, MSDAOptions(), 0)
    proposed = search.propose(500, 500, [], np.empty(0))
    assert len(proposed) == len(set(proposed)) == 500


# ------------------------------------------------------------------------ removal


def search_for(inputs, y, rule="ols", **control):
    return _Search(
        PackedDesign(inputs),
        y,
        MSDAOptions(**control),
        rule,
        0,
        max_order=None,
        max_iter=200,
        alpha="auto",
        learning_rate="auto",
        validation=None,
        terms=[(0,), (1,)],
    )


@pytest.mark.parametrize("variance", ["residual", "target"])
@pytest.mark.parametrize("iteration", [1, 3, 60])
def test_t_test_is_equation_15(variance, iteration):
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (80, 4))
    y = inputs[:, 0] + rng.standard_normal(80)
    search = search_for(inputs, y, t_variance=variance)
    search.iteration = iteration
    fit = np.linalg.lstsq(np.column_stack([np.ones(80), inputs[:, :2]]), y)[0]
    error = y - fit[0] - inputs[:, :2] @ fit[1:]
    level = max(0.3 * 0.7 ** (iteration - 1), 0.001)
    spread = 1 - inputs[:, :2].mean(axis=0) ** 2
    se = {
        "target": np.sqrt(y.var() / 80 / spread),
        "residual": np.sqrt(error @ error / 77 / 77 / spread),
    }
    expected = stats.t.ppf(1 - level / 2, 77) * se[variance]
    assert_allclose(search._min_significant(search.coef), expected)


@pytest.mark.parametrize(
    ("rule", "removal", "message"),
    [
        ("ols", "zero", "learning_rule='ols' sets no weight to zero"),
        ("delta", "zero", "learning_rule='delta' sets no weight to zero"),
        ("ridge", "auto", "learning_rule must be"),
    ],
)
def test_impossible_removal_is_refused(rule, removal, message):
    with pytest.raises(ValueError, match=message):
        search_for(np.eye(4) * 2 - 1, np.arange(4.0), rule, removal=removal)


def test_t_test_after_the_lasso_is_about_the_weights_without_penalty():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (100, 4))
    y = inputs[:, 3] + 0.1 * rng.standard_normal(100)
    # The lasso makes the weight 0.1: a tenth of its size and of the error it leaves.
    control = MSDAOptions(removal="t_test", p_critical=0.001)
    found = discover(
        PackedDesign(inputs), y, control, max_order=1, max_iter=1, alpha=0.9
    )
    assert found.terms == [(3,)]
    assert found.coef[0] == pytest.approx(1.0, abs=0.05)


# --------------------------------------------------------------------- learning


def test_automatic_penalty_is_in_standard_errors_of_a_weight():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (100, 4))
    y = inputs[:, 0] + rng.standard_normal(100)
    search = search_for(inputs, y, "lasso", penalty_factor=2.0)
    columns = np.column_stack([np.ones(100), inputs[:, :2]])
    error = y - columns @ np.linalg.lstsq(columns, y)[0]
    spread = np.sqrt((1 - inputs[:, :2].mean(axis=0) ** 2).mean())
    expected = 2.0 * np.sqrt(error @ error / 97) * spread / 10
    assert search._penalties() == pytest.approx([expected])


def penalties_problem():
    """Two large weights, and noise that a small penalty would fit."""
    rng = np.random.default_rng(3)
    inputs = rng.choice([-1.0, 1.0], (60, 12))
    y = inputs[:, 0] - inputs[:, 1] + 0.5 * rng.standard_normal(60)
    return inputs, y


def search_with_penalties(factors, validation=None):
    inputs, y = penalties_problem()
    return _Search(
        PackedDesign(inputs),
        y,
        MSDAOptions(penalty_factor=factors),
        "lasso",
        0,
        max_order=1,
        max_iter=200,
        alpha="auto",
        learning_rate="auto",
        validation=validation,
        terms=[(i,) for i in range(12)],
    )


def lasso_at(search, factor):
    unit = search.noise * np.sqrt(np.diagonal(search.moments.gram).mean() / 60 / 60)
    inputs, y = penalties_problem()
    return Lasso(factor * unit, tol=1e-12).fit(inputs, y).coef_


@pytest.mark.parametrize("held_out", [False, True])
def test_best_of_several_penalties_is_taken(held_out):
    inputs, y = penalties_problem()
    validation = None
    if held_out:
        # Here the small weights that the largest penalty drops are real.
        search = search_with_penalties([0.1])
        real = lasso_at(search, 0.1)
        validation = PackedDesign(inputs), inputs @ real
    search = search_with_penalties([2.5, 0.1, 6.0], validation)
    # Each starts where the one before it ended.
    assert search._penalties() == sorted(search._penalties(), reverse=True)
    expected = []
    for factor in (6.0, 2.5, 0.1):
        kept = np.flatnonzero(lasso_at(search, factor))
        columns = np.column_stack([np.ones(60), inputs[:, kept]])
        solution = np.linalg.lstsq(columns, y)[0]
        if held_out:
            error = validation[1] - columns @ solution
            expected.append((error @ error, factor))
        else:
            error = y - columns @ solution
            price = len(kept) * np.log(60) + 2 * np.log(math.comb(12, len(kept)))
            expected.append((np.log(error @ error / 60) + price / 60, factor))
    best = min(expected)[1]
    assert best == (0.1 if held_out else 6.0)
    unit = lasso_at(search, best)
    search._learn()
    assert_allclose(search.coef, unit, atol=0.01)
    assert_array_equal(search.coef != 0, unit != 0)


def test_one_of_several_penalties_is_that_penalty():
    ways = []
    for factors in (2.5, [2.5]):
        search = search_with_penalties(factors)
        search._learn()
        ways.append(search.coef)
    assert_array_equal(*ways)


def test_structure_is_found_with_several_penalties():
    inputs, y = sparse_problem()
    control = MSDAOptions(penalty_factor=[5.0, 2.5, 1.0])
    assert_recovered(discover(PackedDesign(inputs), y, control))


def test_weights_stay_fewer_than_samples():
    inputs, y = sparse_problem(30, noise=1.0)
    records = []
    discover(
        PackedDesign(inputs),
        y,
        MSDAOptions(batch_size=1000),
        max_iter=5,
        alpha=1e-6,
        on_iteration=lambda record, _: records.append(record),
    )
    assert records[0]["proposed"] == 24
    assert all(r["n_weights"] <= 24 for r in records)


# --------------------------------------------------------------------- discovery

TRUE = {(0,): 1.0, (3,): -0.5, (1, 2): 2.0, (4, 7): 0.3, (0, 3, 5): -1.0}


def sparse_problem(n_samples=150, noise=0.0, n_features=12, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.choice([-1.0, 1.0], (n_samples, n_features))
    y = 4.0 + noise * rng.standard_normal(n_samples)
    for members, weight in TRUE.items():
        y += weight * inputs[:, list(members)].prod(axis=1)
    return inputs, y


def assert_recovered(found):
    assert found.reason == "exact"
    weights = dict(zip(found.terms, found.coef, strict=True))
    assert set(weights) == set(TRUE)
    assert_allclose([weights[s] for s in TRUE], list(TRUE.values()), atol=1e-9)
    assert found.intercept == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("rule", "control", "options"),
    [
        ("lasso", {}, {}),
        ("lasso", {"removal": "t_test"}, {}),
        ("lasso", {"batch_size": "n_features"}, {}),
        ("lasso", {"batch_size": 40, "exploitation": -0.5}, {}),
        ("lasso", {}, {"alpha": 0.02}),
        ("ols", {}, {}),
        ("delta", {}, {}),
        ("delta", {}, {"learning_rate": 0.004}),
    ],
)
def test_structure_is_found(rule, control, options):
    inputs, y = sparse_problem()
    control = MSDAOptions(**control)
    assert_recovered(discover(PackedDesign(inputs), y, control, rule, 1, **options))


def test_learning_rate_is_that_of_the_delta_rule():
    inputs, y = sparse_problem()
    with pytest.raises(ValueError, match="learning_rate is 5,"):
        discover(PackedDesign(inputs), y, learning_rule="delta", learning_rate=5.0)


def test_structure_is_found_from_weighted_dense_samples():
    inputs, y = sparse_problem()
    weights = np.random.default_rng(0).uniform(0.5, 1.0, len(y))
    assert_recovered(discover(DenseDesign(inputs, weights), y))


def test_weights_of_nought_hide_samples():
    inputs, y = sparse_problem(300)
    weights = np.arange(300) % 2
    y[weights == 0] = 99.0
    assert_recovered(discover(DenseDesign(inputs, weights), y))


def test_same_seed_same_result():
    inputs, y = sparse_problem(noise=0.3)
    runs = [discover(PackedDesign(inputs), y, rng_seed=seed) for seed in (3, 3, 4)]
    assert runs[0].terms == runs[1].terms
    assert_array_equal(runs[0].coef, runs[1].coef)
    assert runs[0].coverage == runs[1].coverage
    assert runs[0].coverage != runs[2].coverage


def test_record_tells_what_happened():
    inputs, y = sparse_problem(200, n_features=20, seed=4)
    held_out = sparse_problem(200, n_features=20, seed=9)
    records, models = [], []

    def on_iteration(record, model):
        records.append(record)
        models.append(model)

    control = MSDAOptions(discard_period=4)
    validation = (PackedDesign(held_out[0]), held_out[1])
    found = discover(
        PackedDesign(inputs),
        y,
        control,
        rng_seed=4,
        validation=validation,
        on_iteration=on_iteration,
    )
    assert_recovered(found)
    assert [r["iteration"] for r in records] == list(range(1, found.n_iter + 1))
    n_weights = 0
    for record, model in zip(records, models, strict=True):
        n_weights += record["proposed"] - record["removed"]
        assert record["n_weights"] == n_weights == len(model.terms) <= 0.8 * len(y)
        orders = np.bincount([len(s) for s in model.terms])[1:]
        assert record["weights_per_order"] == tuple(orders)
        predicted = model.intercept + sum(
            w * inputs[:, list(s)].prod(axis=1)
            for s, w in zip(model.terms, model.coef, strict=True)
        )
        rmse = np.sqrt(np.mean((y - predicted) ** 2))
        assert record["training_rmse"] == pytest.approx(rmse, abs=1e-12)
        assert record["validation_rmse"] >= 0.0
    assert records[0]["validation_rmse"] > 0.1
    assert records[-1]["validation_rmse"] < 1e-8
    assert records[0]["proposed"] >= len(y) // 3
    discarded = [r["discarded"] for r in records]
    assert discarded[3] < discarded[2]


def test_model_that_fails_on_validation_samples_is_not_exact():
    inputs, y = sparse_problem()
    validation = (PackedDesign(inputs[:50]), y[:50] + inputs[:50, 6])
    found = discover(PackedDesign(inputs), y, max_iter=30, validation=validation)
    assert found.reason == "max_iter"


def test_coverage_counts_sets():
    inputs, y = sparse_problem()
    found = discover(PackedDesign(inputs), y, max_order=3)
    assert [c["order"] for c in found.coverage] == [1, 2, 3]
    assert [c["possible"] for c in found.coverage] == [12, 66, 220]
    assert [c["kept"] for c in found.coverage] == [2, 2, 1]
    assert all(c["kept"] <= c["tried"] <= c["possible"] for c in found.coverage)


def test_callback_stops_the_search():
    inputs, y = sparse_problem(noise=1.0)
    found = discover(
        PackedDesign(inputs), y, on_iteration=lambda record, _: record["iteration"] == 3
    )
    assert (found.reason, found.n_iter) == ("stopped", 3)


def test_max_iter_stops_the_search():
    inputs, y = sparse_problem(noise=1.0)
    found = discover(PackedDesign(inputs), y, max_iter=2)
    assert (found.reason, found.n_iter) == ("max_iter", 2)


def test_search_ends_when_everything_was_tried():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (100, 3))
    y = inputs[:, 0] + 0.1 * rng.standard_normal(100)
    found = discover(PackedDesign(inputs), y)
    assert found.reason == "exhausted"
    assert (0,) in found.terms
    assert [c["tried"] for c in found.coverage] == [3, 3, 1]


def test_noise_is_not_modeled():
    inputs, y = sparse_problem(400, noise=0.3)
    found = discover(PackedDesign(inputs), y, MSDAOptions(removal="t_test"))
    assert found.reason == "no_improvement"
    assert set(found.terms) >= set(TRUE)
    assert len(found.terms) <= len(TRUE) + 2


def test_constant_target_needs_no_weights():
    found = discover(PackedDesign(sparse_problem()[0]), np.full(150, 0.1))
    assert (found.terms, found.reason, found.n_iter) == ([], "exact", 0)
    assert found.intercept == pytest.approx(0.1)


def test_initial_terms_are_where_the_search_starts():
    inputs, y = sparse_problem()
    found = discover(PackedDesign(inputs), y, initial_terms=[*TRUE, (5, 6)])
    assert_recovered(found)
    assert found.n_iter == 0
    with pytest.raises(ValueError, match="a term has order 3, but max_order is 2"):
        discover(PackedDesign(inputs), y, max_order=2, initial_terms=TRUE)


def test_far_target_is_recovered():
    inputs, y = sparse_problem()
    found = discover(PackedDesign(inputs), y + 1e6)
    assert found.reason == "exact"
    assert set(found.terms) == set(TRUE)


def test_repeated_rows_do_not_make_room_for_weights():
    rng = np.random.default_rng(0)
    inputs = np.repeat(rng.choice([-1.0, 1.0], (30, 10)), 10, axis=0)
    y = np.repeat(rng.standard_normal(30), 10)
    found = discover(PackedDesign(inputs), y, learning_rule="ols")
    # As many weights as there are different rows reproduce any target on them.
    assert len(found.terms) <= 0.8 * 30
    assert found.reason != "exact"


@pytest.mark.parametrize("held_out", [False, True])
def test_search_as_printed_learns_by_the_lasso_alone(held_out):
    inputs, y = sparse_problem(250, noise=0.1)
    design = PackedDesign(inputs[:150])
    held = (PackedDesign(inputs[150:]), y[150:]) if held_out else None
    control, alpha = MSDAOptions.published(), 0.05
    found = discover(
        *(design, y[:150], control), max_iter=10, alpha=alpha, validation=held
    )
    # Terms of zero weight are not needed for the others.
    columns = np.stack([inputs[:150, term].prod(axis=1) for term in found.terms], 1)
    oracle = Lasso(alpha, tol=1e-12, max_iter=10**5).fit(columns, y[:150])
    assert_allclose(found.coef, oracle.coef_, atol=2e-3)
    assert found.reason == "max_iter"
    # Least squares does not shrink.
    assert all(np.abs(found.coef) < np.abs(np.linalg.lstsq(columns, y[:150])[0]).max())


def test_penalty_as_printed_does_not_follow_the_error():
    inputs, y = sparse_problem()
    search = search_for(inputs, y, "lasso", refit=False)
    first = search._penalties()
    for _ in range(5):
        search.iterate()
    assert search._training_rmse() < 0.9 * np.std(y)
    # But for the sizes of the products.
    assert search._penalties() == pytest.approx(first, rel=0.02)


def test_search_as_printed_ends_without_a_penalty_alone():
    inputs, y = sparse_problem()
    control = MSDAOptions(refit=False, removal="t_test", n_iter_no_change=None)
    exact = discover(PackedDesign(inputs), y, control, "ols")
    assert exact.reason == "exact"
    assert set(exact.terms) >= set(TRUE)
    shrunk = discover(PackedDesign(inputs), y, MSDAOptions.published(), max_iter=60)
    assert (shrunk.reason, shrunk.n_iter) == ("max_iter", 60)


def test_estimator_takes_the_search_as_printed():
    inputs, y = sparse_problem(200)
    printed = MSDAOptions.published()
    model = MOHNRegressor("msda", msda_options=printed, max_iter=20, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=20"):
        model.fit(inputs, y)
    assert set(TRUE) <= set(model.terms_)
    # Standard errors are those of least squares.
    assert np.isnan(model.standard_errors_).all()
