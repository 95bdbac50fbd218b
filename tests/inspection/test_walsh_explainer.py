"""Explanations of games, against definitions by enumeration of all coalitions."""

import pickle
import re
import types
from itertools import chain, combinations, permutations
from math import comb, factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.svm import SVC

from skmohn.inspection import WalshExplainer, explain_game
from skmohn.inspection._game_weights import (
    GameWeights,
    fit_game,
    make_index_map,
    sample_coalitions,
)

# ------------------------------------------------------------------- definitions


def subsets(players, max_size=None):
    """All subsets of some players."""
    sizes = range((len(players) if max_size is None else max_size) + 1)
    return list(chain(*(combinations(sorted(players), size) for size in sizes)))


def moebius_game(dividends):
    """Game of unanimity games: {set: value}."""

    def game(z):
        values = np.zeros(len(z))
        for players, value in dividends.items():
            values += value * np.all(z[:, list(players)], axis=1)
        return values

    return game


def tabulate(game, n):
    """Values of all coalitions, by sets of players."""
    sets = subsets(range(n))
    rows = np.zeros((len(sets), n), dtype=bool)
    for row, players in zip(rows, sets, strict=True):
        row[list(players)] = True
    return {frozenset(s): v for s, v in zip(sets, game(rows), strict=True)}


def derivative(v, players, coalition):
    """Discrete derivative of a game at a coalition without the players."""
    return sum(
        (-1) ** (len(players) - len(part)) * v[frozenset(coalition) | set(part)]
        for part in subsets(players)
    )


def shapley_by_permutations(v, n):
    values = np.zeros(n)
    for order in permutations(range(n)):
        before = set()
        for player in order:
            values[player] += v[frozenset(before | {player})] - v[frozenset(before)]
            before.add(player)
    return values / factorial(n)


def sii(v, n, players):
    size = len(players)
    others = [i for i in range(n) if i not in players]
    return sum(
        factorial(n - len(t) - size)
        * factorial(len(t))
        / factorial(n - size + 1)
        * derivative(v, players, t)
        for t in subsets(others)
    )


def bii(v, n, players):
    others = [i for i in range(n) if i not in players]
    return np.mean([derivative(v, players, t) for t in subsets(others)])


def stii(v, n, players, k):
    if len(players) < k:
        return derivative(v, players, ())
    others = [i for i in range(n) if i not in players]
    return (
        k
        / n
        * sum(derivative(v, players, t) / comb(n - 1, len(t)) for t in subsets(others))
    )


def k_sii(v, n, k):
    """Aggregate order by order, by the recursion of Bordt and von Luxburg (2023)."""
    bernoulli = [1.0, -1 / 2, 1 / 6, 0.0, -1 / 30]
    found = {}
    for order in range(1, k + 1):
        new = {s: sii(v, n, s) for s in combinations(range(n), order)}
        for players in found:
            rest = [i for i in range(n) if i not in players]
            found[players] += bernoulli[order - len(players)] * sum(
                new[tuple(sorted((*players, *more)))]
                for more in combinations(rest, order - len(players))
            )
        found |= new
    return found


def as_dict(found):
    return dict(zip(found.sets, found.values.tolist(), strict=True))


@st.composite
def sparse_games(draw, max_players=6):
    n = draw(st.integers(1, max_players))
    sets = draw(st.lists(st.sets(st.integers(0, n - 1)), min_size=1, max_size=6))
    values = draw(
        st.lists(st.floats(-4, 4, width=16), min_size=len(sets), max_size=len(sets))
    )
    dividends = {}
    for players, value in zip(sets, values, strict=True):
        key = tuple(sorted(players))
        dividends[key] = dividends.get(key, 0.0) + value
    return n, dividends


# ------------------------------------------------------------------ closed forms


@settings(max_examples=40, deadline=None)
@given(sparse_games())
def test_values_are_those_of_the_definitions(data):
    n, dividends = data
    game = moebius_game(dividends)
    v = tabulate(game, n)
    found = explain_game(game, n)
    assert found.is_exact
    assert_allclose(found.shapley_values(), shapley_by_permutations(v, n), atol=1e-9)
    banzhaf = [bii(v, n, (i,)) for i in range(n)]
    assert_allclose(found.banzhaf_values(), banzhaf, atol=1e-9)
    moebius = as_dict(found.moebius())
    for players in subsets(range(n)):
        expected = dividends.get(players, 0.0)
        assert moebius.get(players, 0.0) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(sparse_games(5), st.integers(1, 4))
def test_indices_are_those_of_the_definitions(data, k):
    n, dividends = data
    game = moebius_game(dividends)
    v, found = tabulate(game, n), explain_game(game, n)
    k = min(k, n)
    aggregated = k_sii(v, n, k)
    for index, define in {
        "SII": lambda s: sii(v, n, s),
        "BII": lambda s: bii(v, n, s),
        "STII": lambda s: stii(v, n, s, k),
        "k-SII": aggregated.__getitem__,
        "Moebius": lambda s: derivative(v, s, ()),
    }.items():
        values = as_dict(found.interactions(k, index))
        for players in subsets(range(n), k)[1:]:
            assert values.get(players, 0.0) == pytest.approx(define(players), abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(sparse_games(), sparse_games(), st.integers(1, 3))
def test_axioms_hold(first, second, k):
    n = max(first[0], second[0])
    one, two = moebius_game(first[1]), moebius_game(second[1])
    found = explain_game(one, n)
    total = found.full_value - found.empty_value
    assert found.shapley_values().sum() == pytest.approx(total, abs=1e-9)
    for index in ("k-SII", "STII"):
        values = found.interactions(k, index).values
        assert values.sum() == pytest.approx(total, abs=1e-8)
    # Null players.
    used = set(chain(*first[1]))
    nobody = [i for i in range(n) if i not in used]
    assert_allclose(found.shapley_values()[nobody], 0.0, atol=1e-9)
    # Linearity.
    both = explain_game(lambda z: 2.0 * one(z) - 3.0 * two(z), n)
    parts = explain_game(two, n)
    for method in ("shapley_values", "banzhaf_values"):
        expected = 2.0 * getattr(found, method)() - 3.0 * getattr(parts, method)()
        assert_allclose(getattr(both, method)(), expected, atol=1e-8)


def test_symmetric_players_have_equal_values():
    found = explain_game(lambda z: z.sum(axis=1) ** 3, 7)
    assert_allclose(found.shapley_values(), 7**3 / 7, rtol=1e-9)
    assert np.ptp(found.banzhaf_values()) < 1e-9


def test_large_terms_have_no_rounding_errors():
    """Sums over t with alternating signs would lose all digits."""
    term = tuple(range(40))
    _, index_map = make_index_map([term], "STII", 2)
    # k 2^k times the integral of (1 - t)^(k - 1) (2 t - 1)^38 over t from 0 to 1.
    assert_allclose(index_map.toarray()[-1], 4.0 / 39.0, rtol=1e-12)


# ------------------------------------------------------------------- evaluations


@pytest.mark.parametrize("n", [5, 9, 20])
def test_coalitions_are_distinct_and_begin_with_the_ends(n):
    n_ends = 2 * n + 2
    drawn = sample_coalitions(n, n_ends + 9, np.random.RandomState(0))
    assert len(np.unique(drawn, axis=0)) == len(drawn) == n_ends + 9
    sizes = drawn[:n_ends].sum(axis=1)
    assert_array_equal(np.sort(sizes), [0] + [1] * n + [n - 1] * n + [n])
    assert_array_equal(drawn[n_ends:-1:2], ~drawn[n_ends + 1 :: 2])


def test_no_more_is_evaluated_than_allowed():
    counted = []

    def game(z):
        counted.append(len(z))
        return z[:, 0] * 1.0

    explain_game(game, 10, n_evaluations=101, random_state=0)
    assert sum(counted) == 101
    counted.clear()
    assert explain_game(game, 4, n_evaluations=101).n_evaluations == 16


def test_seeds_decide():
    game = moebius_game({(0, 1, 2): 1.0, (3, 4): 2.0, (5, 6, 7, 8, 9): -1.0})
    one, two = (explain_game(game, 11, n_evaluations=60, random_state=3) for _ in "ab")
    assert one.terms == two.terms
    assert_array_equal(one.weights, two.weights)


def test_sparse_games_are_found_exactly_from_few_values():
    dividends = {(0,): 2.0, (1, 2): -1.0, (3, 4, 5): 4.0, (): 0.5}
    game = moebius_game(dividends)
    found = explain_game(game, 40, n_evaluations=300, random_state=0)
    assert found.is_exact
    assert not found.standard_errors.any()
    values = as_dict(found.moebius())
    assert {s: round(v, 6) for s, v in values.items() if abs(v) > 1e-6} == {**dividends}


@pytest.fixture(scope="module")
def smooth():
    """A game with all weights, which few evaluations cannot determine."""
    weights = np.random.default_rng(0).uniform(size=10)

    def game(z):
        return np.tanh(z @ weights - 2.0) + 0.3 * z[:, 0] * z[:, 1]

    return game, explain_game(game, 10, n_evaluations=200, random_state=0)


def test_dense_games_are_predicted_and_their_ends_are_met(smooth):
    game, found = smooth
    complete = explain_game(game, 10, n_evaluations=2**10)
    assert not found.is_exact
    z = sample_coalitions(10, 2**10, np.random.RandomState(0))
    values = game(z)
    r2 = 1.0 - np.mean((values - found.predict(z)) ** 2) / np.var(values)
    assert r2 > 0.95
    assert found.faithfulness == pytest.approx(r2, abs=0.03)
    assert_allclose([found.empty_value, found.full_value], values[:2], rtol=1e-6)
    total = values[1] - values[0]
    assert found.shapley_values().sum() == pytest.approx(total, rel=1e-6)
    exact = complete.shapley_values()
    assert np.max(np.abs(found.shapley_values() - exact)) < 0.1 * np.ptp(exact)


def test_what_is_met_has_no_error(smooth):
    coalitions = sample_coalitions(10, 60, np.random.RandomState(0))
    values = smooth[0](coalitions)
    ends = []
    for n_met in (2, 0):
        found = fit_game(coalitions, values, n_met, seed=0)
        signs = np.where(coalitions[:2], 1.0, -1.0)
        products = np.array([signs[:, list(t)].prod(axis=1) for t in found.terms])
        ends.append(np.diag(products.T @ found.covariance @ products))
    met, free = ends
    assert_allclose(met, 0.0, atol=1e-9)
    assert np.all(free > 1e-6)


def test_faithfulness_of_what_cannot_be_predicted_is_low():
    noise = np.random.default_rng(0).normal(size=2**10)

    def game(z):
        return noise[z @ (1 << np.arange(10))]

    found = explain_game(game, 10, n_evaluations=150, random_state=0)
    assert found.faithfulness < 0.2
    assert explain_game(game, 10, n_evaluations=2**10).faithfulness == 1.0
    assert np.isnan(explain_game(game, 10, n_evaluations=30).faithfulness)


def coverage(n_games, n=8, n_evaluations=120):
    """Fractions of weights and Shapley values within two errors, over noisy games."""
    dividends = {(0,): 2.0, (1,): -1.0, (1, 2): 2.0, (3, 4): -2.0, (5, 6, 7): 3.0}
    truth = explain_game(moebius_game(dividends), n)
    by_term = dict(zip(truth.terms, truth.weights, strict=True))
    hits = {"weights": [], "shapley": [], "k-SII": []}
    for seed in range(n_games):
        rng = np.random.default_rng(seed)

        def game(z, rng=rng):
            return moebius_game(dividends)(z) + rng.normal(scale=0.5, size=len(z))

        found = explain_game(
            game, n, n_evaluations=n_evaluations, deterministic=False, random_state=seed
        )
        true = np.array([by_term.get(term, 0.0) for term in found.terms])
        listed = np.array([len(term) == 1 for term in found.terms])
        off = np.abs(found.weights - true) <= 2.0 * found.standard_errors
        hits["weights"] += off[listed].tolist()
        values, std = found.shapley_values(return_std=True)
        off = np.abs(values - truth.shapley_values()) <= 2.0 * std
        hits["shapley"] += off.tolist()
        pairs, true = found.interactions(2), as_dict(truth.interactions(2))
        off = [true.get(s, 0.0) for s in pairs.sets] - pairs.values
        hits["k-SII"] += (np.abs(off) <= 2.0 * pairs.standard_errors).tolist()
    return {name: np.mean(each) for name, each in hits.items()}


def test_standard_errors_cover_noisy_games():
    found = coverage(12)
    assert all(fraction > 0.85 for fraction in found.values()), found


@pytest.mark.slow
def test_standard_errors_have_their_level():
    found = coverage(100)
    assert all(0.90 < fraction < 0.99 for fraction in found.values()), found


def test_noise_is_not_taken_for_the_game():
    rng = np.random.default_rng(0)

    def game(z):
        return z[:, 0] + rng.normal(size=len(z))

    found = explain_game(game, 6, deterministic=False, random_state=0)
    assert not found.is_exact
    values, std = found.shapley_values(return_std=True)
    assert 0.05 < std[0] < 1.0
    assert abs(values[0] - 1.0) < 3.0 * std[0]


@pytest.mark.parametrize("n", [1, 3, 12])
def test_constant_games_have_no_terms(n):
    found = explain_game(lambda z: np.full(len(z), 3.0), n, n_evaluations=40)
    assert found.terms == []
    assert (found.empty_value, found.full_value) == (3.0, 3.0)
    assert_array_equal(found.shapley_values(), np.zeros(n))
    assert as_dict(found.moebius()) == {(): 3.0}
    assert found.to_interaction_constraints() == [[i] for i in range(n)]
    assert found.to_frame().empty


def test_explanations_can_be_pickled(smooth):
    found = smooth[1]
    again = pickle.loads(pickle.dumps(found))
    assert again.terms == found.terms
    assert "10 players" in repr(again)


# ------------------------------------------------------------- constraints, tables


def test_constraints_are_the_interactions():
    dividends = {(0, 1): 3.0, (2, 3, 4): 4.0, (2, 5): 0.001, (6,): 9.0}
    found = explain_game(moebius_game(dividends), 8)
    assert found.to_interaction_constraints() == [[0, 1], [2, 3, 4], [5], [6], [7]]
    assert found.to_interaction_constraints(main_effects=False) == [[0, 1], [2, 3, 4]]
    pairs = found.to_interaction_constraints(2, main_effects=False)
    assert pairs == [[0, 1], [2, 3], [2, 4], [3, 4]]
    everything = found.to_interaction_constraints(variance=1.0, main_effects=False)
    assert [2, 5] in everything


def test_boosting_takes_constraints():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    found = WalshExplainer(forest, X[:10]).explain([0.9, 0.9, 0.5, 0.5])
    constraints = found.to_interaction_constraints()
    booster = HistGradientBoostingRegressor(interaction_cst=constraints).fit(X, y)
    assert booster.score(X, y) > 0.9


def test_unclear_interactions_are_no_constraints(smooth):
    found = smooth[1]
    constraints = found.to_interaction_constraints(variance=1.0, main_effects=False)
    clear = {
        term
        for term, w, e in zip(
            found.terms, found.weights, found.standard_errors, strict=True
        )
        if 1 < len(term) <= 3 and abs(w) > 2.0 * e
    }
    assert set(map(tuple, constraints)) <= clear
    assert len(clear) < sum(1 < len(term) <= 3 for term in found.terms)


def test_tables_name_the_players():
    names = ["a", "b", "c"]
    game = moebius_game({(): 1.0, (0,): 2.0, (1, 2): -4.0})
    found = explain_game(game, 3, player_names=names)
    table = found.to_frame(3, "Moebius")
    assert table["players"].tolist() == ["b x c", "a", "(constant)"]
    assert table["value"].round(9).tolist() == [-4.0, 2.0, 1.0]
    assert table["order"].tolist() == [2, 1, 0]
    assert found.records(3, "Moebius")[0]["players"] == "b x c"


def test_shapiq_gets_values_by_its_own_names(monkeypatch):
    stub = types.SimpleNamespace(InteractionValues=lambda **given: given)
    monkeypatch.setitem(__import__("sys").modules, "shapiq", stub)
    found = explain_game(moebius_game({(): 1.0, (0,): 2.0, (1, 2): -4.0}), 3)
    given = found.to_shapiq(2, "STII")
    lookup = given["interaction_lookup"]
    assert given["values"][lookup[1, 2]] == pytest.approx(-4.0)
    assert given["values"][lookup[()]] == pytest.approx(given["baseline_value"]) == 1.0
    assert (given["index"], given["n_players"], given["max_order"]) == ("STII", 3, 2)
    assert (given["min_order"], given["estimated"]) == (0, False)


def test_shapiq_agrees():
    shapiq = pytest.importorskip("shapiq")
    rng = np.random.default_rng(0)
    values = rng.normal(size=2**5)

    def game(z):
        return values[np.asarray(z, dtype=int) @ (1 << np.arange(5))]

    exact = shapiq.ExactComputer(game, n_players=5)
    found = explain_game(game, 5)
    for index in ("k-SII", "SII", "STII", "BII", "Moebius"):
        theirs, ours = exact(index, 3).dict_values, found.to_shapiq(3, index)
        for players, value in ours.dict_values.items():
            if players:
                assert theirs[players] == pytest.approx(value, abs=1e-9), index


# ------------------------------------------------------------------------- models


@pytest.fixture(scope="module")
def linear():
    X = np.random.default_rng(0).normal(size=(60, 4))
    return X, LinearRegression().fit(X, X @ [1.0, -2.0, 3.0, 0.0])


def test_linear_models_have_their_own_values(linear):
    X, model = linear
    found = WalshExplainer(model, X[:30]).explain(X[40])
    expected = model.coef_ * (X[40] - X[:30].mean(axis=0))
    assert_allclose(found.shapley_values(), expected, atol=1e-9)
    assert found.empty_value == pytest.approx(model.predict(X[:30]).mean())
    assert found.full_value == pytest.approx(model.predict(X[40:41])[0])
    assert found.player_names == ["x0", "x1", "x2", "x3"]


def test_functions_and_batches_are_explained(linear, monkeypatch):
    X, model = linear
    expected = WalshExplainer(model, X[:30]).explain(X[40]).shapley_values()
    name = "skmohn.inspection._masked_model._CONSTANTS"
    monkeypatch.setattr(name, types.SimpleNamespace(max_rows=70))
    sizes = []

    def predict(rows):
        sizes.append(len(rows))
        return model.predict(rows)[:, None]

    found = WalshExplainer(predict, X[:30].tolist()).explain(X[40:41])
    assert_allclose(found.shapley_values(), expected, atol=1e-9)
    assert max(sizes) == 60
    assert sum(sizes) == 16 * 30 + 1


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": rng.uniform(size=80),
            "color": rng.choice(["red", "blue", "green"], 80),
            "kind": pd.Categorical(rng.choice(["a", "b"], 80)),
        }
    )
    y = X["size"] * (X["color"] == "red") + (X["kind"] == "a")
    encoder = OrdinalEncoder().set_output(transform="pandas")
    model = make_pipeline(encoder, RandomForestRegressor(10, random_state=0))
    return X, model.fit(X, y)


def test_frames_keep_names_types_and_categories(mixed):
    X, model = mixed
    seen = []

    def predict(table):
        seen.append(table)
        return model.predict(table)

    found = WalshExplainer(predict, X[:20]).explain(X[30:31])
    assert found.player_names == ["size", "color", "kind"]
    for table in seen:
        assert table.dtypes.to_dict() == X.dtypes.to_dict()
        assert list(table.columns) == list(X.columns)
    assert found.full_value == pytest.approx(model.predict(X[30:31])[0])
    alone = X[:20].assign(color=X["color"][30])
    v = found.predict([[False, True, False]])
    assert v[0] == pytest.approx(model.predict(alone).mean())
    # A series, and a list, are the same row; order and further columns do not matter.
    expected = found.shapley_values()
    for x in (X.iloc[30], X.iloc[30].tolist(), X[30:31].assign(more=1)[::-1]):
        again = WalshExplainer(model, X[:20]).explain(x)
        assert_allclose(again.shapley_values(), expected, atol=1e-12)


def test_classes_are_chosen():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=500).fit(X, y)
    explainer = WalshExplainer(model, X[::10])
    assert explainer.explain(X[0]).full_value == pytest.approx(
        model.predict_proba(X[:1])[0, 0]
    )
    chosen = WalshExplainer(model, X[::10], class_of_interest=2).explain(X[0])
    assert chosen.full_value == pytest.approx(model.predict_proba(X[:1])[0, 2])
    two = SVC().fit(X[:100], y[:100])
    for label, sign in ((None, 1), (1, 1), (0, -1)):
        explainer = WalshExplainer(two, X[:100:10], class_of_interest=label)
        found = pickle.loads(pickle.dumps(explainer)).explain(X[0])
        assert found.full_value == pytest.approx(sign * two.decision_function(X[:1])[0])
    second = LogisticRegression().fit(X[:100], y[:100])
    found = WalshExplainer(second, X[:100:10]).explain(X[0])
    assert found.full_value == pytest.approx(second.predict_proba(X[:1])[0, 1])


# ---------------------------------------------------------------------- bad input


def first(z):
    return z[:, 0] * 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((first, 0), "'n_players'"),
        ((first, 12, {"n_evaluations": 20}), "n_evaluations=20 is too few for 12"),
        ((first, 3, {"player_names": ["a"]}), "player_names must be 3 names"),
        ((first, 3, {"player_names": ["a", "b", "a"]}), "player_names has 'a' more"),
        ((first, 3, {"deterministic": "no"}), "'deterministic'"),
        ((first, 3, {"random_state": "a"}), "'random_state'"),
        ((lambda z: z, 3), re.escape("game must return one number for each row")),
        ((lambda z: 1.0, 3), "game must return one number for each row"),
        ((lambda z: np.full(len(z), "a"), 3), "game must return numbers"),
        ((lambda z: np.full(len(z), np.nan), 3), "game must return finite numbers"),
        (
            (lambda z: 1e160 * z[:, 0], 3),
            "numbers that game returns must be from -1e.1",
        ),
    ],
)
def test_bad_games_are_refused(given, message):
    game, n_players, *options = given
    with pytest.raises(ValueError, match=message):
        explain_game(game, n_players, **dict(*options))


def test_tiny_games_are_as_faithful_as_others():
    found = explain_game(lambda z: 1e-300 * z[:, 0], 10, n_evaluations=100)
    assert found.faithfulness == 1.0


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="game must be a function"):
        explain_game("game", 3)
    with pytest.raises(TypeError, match="model must be a fitted estimator"):
        WalshExplainer("model", np.ones((2, 2)))


def test_bad_arguments_of_results_are_refused(smooth):
    found = smooth[1]
    with pytest.raises(ValueError, match="'max_order'"):
        found.interactions(0)
    with pytest.raises(ValueError, match="'index'"):
        found.interactions(2, "Shapley")
    with pytest.raises(ValueError, match="'variance'"):
        found.to_interaction_constraints(variance=0.0)
    with pytest.raises(ValueError, match="masks must have shape"):
        found.predict([[1, 0]])
    with pytest.raises(ValueError, match="masks must have only True and False"):
        found.predict(np.full((1, 10), 2))


def test_too_many_subsets_are_refused():
    terms = [tuple(range(25))]
    with pytest.raises(ValueError, match="max_order=25 needs 33,554,432 subsets"):
        make_index_map(terms, "Moebius", 25)
    assert GameWeights(terms, np.ones(1), None, "sparse").polynomial().terms == (
        terms[0],
    )


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0], "x must be one row of 4 values"),
        (np.ones((2, 4)), "x must be one row of 4 values"),
    ],
)
def test_bad_rows_are_refused(linear, x, message):
    X, model = linear
    with pytest.raises(ValueError, match=message):
        WalshExplainer(model, X[:5]).explain(x)


def test_bad_frames_are_refused(mixed):
    X, model = mixed
    explainer = WalshExplainer(model, X[:20])
    with pytest.raises(ValueError, match="without color, kind"):
        explainer.explain(X[:1][["size"]])
    with pytest.raises(ValueError, match="got 2 rows"):
        explainer.explain(X[:2])
    with pytest.raises(ValueError, match="the category 'c' in column 'kind'"):
        explainer.explain([0.5, "red", "c"])


def test_bad_models_are_refused(linear):
    X, model = linear
    with pytest.raises(ValueError, match="background must have at least one row"):
        WalshExplainer(model, X[:0])
    with pytest.raises(ValueError, match="background must have at least one row"):
        WalshExplainer(model, X[0])
    with pytest.raises(
        ValueError, match="response_method='predict_proba' is not a method"
    ):
        WalshExplainer(model, X, response_method="predict_proba")
    with pytest.raises(ValueError, match="class_of_interest=1 needs"):
        WalshExplainer(model, X[:5], class_of_interest=1).explain(X[0])
    two = LinearRegression().fit(X, X[:, :2])
    with pytest.raises(ValueError, match="model has 2 outputs"):
        WalshExplainer(two, X[:5]).explain(X[0])
    labels = LogisticRegression().fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="class_of_interest must be one of"):
        WalshExplainer(labels, X[:5], class_of_interest="yes").explain(X[0])
    with pytest.raises(ValueError, match="model must return one number for each row"):
        WalshExplainer(lambda X: X[:, 0].astype(str), X[:5]).explain(X[0])
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"background.to_pandas\(\)"):
        WalshExplainer(model, polars.DataFrame(X))


def test_small_weights_beside_a_large_constant():
    """An exact model loses none of its weights as zeros."""
    for constant in (0.0, 1e7, 1e10):
        game = explain_game(
            lambda z, constant=constant: constant + 2 * z[:, 0] - z[:, 1] * z[:, 2],
            12, n_evaluations=80, random_state=0,
        )  # fmt: skip
        expected = np.zeros(12)
        expected[:3] = 2.0, -0.5, -0.5
        assert_allclose(game.shapley_values(), expected, atol=1e-5)
        assert game.is_exact


def test_backgrounds_that_no_row_can_be_put_into():
    table = np.random.default_rng(0).normal(size=(9, 3))
    with pytest.raises(TypeError, match=r"sparse matrix.*background\.toarray\(\)"):
        WalshExplainer(lambda X: X[:, 0], csr_array(table))
    named = pd.DataFrame(table, columns=list("aab"))
    with pytest.raises(ValueError, match="several columns named 'a': rename"):
        WalshExplainer(lambda X: X[:, 0], named)


def test_numbers_beside_text_in_lists_stay_numbers():
    """A model gets the row as it is, with no number as text."""
    rows = [[1, "a"], [2, "b"], [3, "b"]]

    def model(table):
        assert {type(number) for number in table[:, 0]} == {int}
        return (table[:, 0] + 2 * (table[:, 1] == "a")).astype(float)

    for background in (rows, np.array(rows, dtype=object)):
        explainer = WalshExplainer(model, background)
        for x in ([5, "a"], (5, "a"), [[5, "a"]], np.array([5, "a"], dtype=object)):
            values = explainer.explain(x).shapley_values()
            assert_allclose(values, [3.0, 4 / 3])
