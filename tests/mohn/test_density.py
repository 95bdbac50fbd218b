"""MOHNDensity, against enumeration by brute force, finite differences and samples."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skmohn import MOHNDensity
from skmohn.inspection import HypergraphDisplay
from skmohn.mohn._field import enumeration, sampling
from skmohn.mohn._field.enumeration import EnumeratedField, States
from skmohn.mohn._field.layout import FieldData, FieldLayout, multiply
from skmohn.mohn._field.pseudo_likelihood import (
    FieldFit,
    fit_pseudo_likelihood,
    sandwich,
)
from skmohn.mohn._field.sampling import FieldChains
from skmohn.mohn._field.term_search import TermCriterion

# Two columns of two values and two of three categories: inputs 2 to 4 and 5 to 7.
LAYOUT = FieldLayout((np.array([0]), np.array([1]), np.arange(2, 5), np.arange(5, 8)),
                     np.arange(8))  # fmt: skip
TERMS = [*((i,) for i in range(8)), (0, 1), (0, 3), (2, 6), (0, 1, 7)]
WEIGHTS = np.array([0.2, -0.3, 0.1, 0.0, 0.2, -0.1, 0.3, 0.1, 0.5, -0.4, 0.3, 0.2])


def all_signs():
    """Inputs of every state of `LAYOUT`, one by one."""
    rows = []
    for a, b, c, d in product((-1, 1), (-1, 1), range(3), range(3)):
        one_hot = [2 * (k == c) - 1 for k in range(3)]
        rows.append([a, b, *one_hot, *(2 * (k == d) - 1 for k in range(3))])
    return np.array(rows, dtype=float)


def some_data(n=15, seed=0):
    """Rows of `LAYOUT` at random, with weights."""
    rng = np.random.default_rng(seed)
    signs = all_signs()[rng.integers(36, size=n)]
    return FieldData.of(LAYOUT, signs, rng.uniform(0.5, 2.0, n))


def sample_field(terms, weights, n_columns, n, seed):
    """Exact samples of a field of columns of two values, of -1 and +1."""
    states = np.array(list(product((-1.0, 1.0), repeat=n_columns)))
    energies = multiply(states, terms) @ weights
    p = np.exp(energies - logsumexp(energies))
    rng = np.random.default_rng(seed)
    return states[rng.choice(len(p), n, p=p)]


def interactions(model):
    """Terms of a model but for main effects."""
    return {term for term in model.terms_ if len(term) > 1}


def states_of(group, signs):
    """All states of one column, beside what a row has in the others."""
    return np.array([s for s in all_signs() if np.delete(s == signs, group).all()])


def log_conditionals(signs, weights):
    """Log pseudo-likelihood of one row, by changing each column to all its values."""
    value = 0.0
    for group in LAYOUT.groups:
        energies = multiply(states_of(group, signs), TERMS) @ weights
        value += multiply(signs[None], TERMS)[0] @ weights - logsumexp(energies)
    return value


class TestPseudoLikelihood:
    """Value, gradient and information, against definitions."""

    def fit_at(self, data, weights):
        """State of a fit at any weights."""
        products, value = multiply(data.signs, TERMS), 0.0
        probabilities = np.zeros_like(data.signs)
        for r, signs in enumerate(data.signs):
            value += data.weight[r] * log_conditionals(signs, weights)
            for group in LAYOUT.groups:
                others = states_of(group, signs)
                p = np.exp(multiply(others, TERMS) @ weights)
                probabilities[r, group] = p @ (others[:, group] > 0) / p.sum()
        return FieldFit(data, TERMS, weights, products, value, probabilities)

    def test_scores_are_gradients(self):
        data = some_data()
        scores = self.fit_at(data, WEIGHTS).scores(TERMS, multiply(data.signs, TERMS))
        for r in (0, 3):
            for j, step in enumerate(1e-6 * np.eye(len(TERMS))):
                rise = log_conditionals(data.signs[r], WEIGHTS + step)
                rise -= log_conditionals(data.signs[r], WEIGHTS - step)
                assert scores[r, j] == pytest.approx(rise / 2e-6, abs=1e-6)

    def test_information_is_negative_hessian(self):
        data = some_data()
        products = multiply(data.signs, TERMS)

        def gradient(weights):
            return data.weight @ self.fit_at(data, weights).scores(TERMS, products)

        information = self.fit_at(data, WEIGHTS).information(TERMS, products)
        for j, step in enumerate(1e-5 * np.eye(len(TERMS))):
            fall = gradient(WEIGHTS - step) - gradient(WEIGHTS + step)
            assert_allclose(information[j], fall / 2e-5, atol=1e-6)

    def test_fit_is_stationary(self):
        data, l2 = some_data(), 0.5
        fit = fit_pseudo_likelihood(data, TERMS, np.zeros(len(TERMS)), l2)
        gradient = data.weight @ fit.scores(TERMS, fit.products)
        assert_allclose(gradient, l2 * fit.weights, atol=1e-5)
        expected = self.fit_at(data, fit.weights)
        assert fit.value == pytest.approx(expected.value)
        assert_allclose(fit.probabilities, expected.probabilities, atol=1e-12)

    def test_sandwich(self):
        scores, weight = np.array([[1.0, 2.0], [-2.0, 0.5]]), np.array([2.0, 1.0])
        information = np.array([[4.0, 1.0], [1.0, 3.0]])
        inverse = np.linalg.inv(information)
        spread = scores.T @ np.diag(weight) @ scores
        expected = np.sqrt(np.diag(inverse @ spread @ inverse))
        assert_allclose(sandwich(scores, weight, information), expected)


class TestEnumeration:
    """Moments and samples of all states, against brute force."""

    def test_moments(self):
        states = States.of(LAYOUT)
        assert states.n_bits == 6
        assert states.is_state.sum() == 36
        field = EnumeratedField.of(states, TERMS)
        log_partition, means, covariance = field.moments(WEIGHTS)
        products = multiply(all_signs(), TERMS)
        energies = products @ WEIGHTS
        p = np.exp(energies - logsumexp(energies))
        assert log_partition == pytest.approx(logsumexp(energies))
        assert_allclose(means, p @ products)
        centered = products - p @ products
        assert_allclose(covariance, centered.T @ (p[:, None] * centered), atol=1e-12)

    def test_states_and_signs(self):
        states = States.of(LAYOUT)
        signs = states.to_signs(np.flatnonzero(states.is_state))
        assert {*map(tuple, signs)} == {*map(tuple, all_signs())}
        probabilities, _ = EnumeratedField.of(states, TERMS).distribute(WEIGHTS)
        energies = multiply(signs, TERMS) @ WEIGHTS
        expected = np.exp(energies - logsumexp(energies))
        assert_allclose(probabilities[states.is_state], expected)
        assert not probabilities[~states.is_state].any()

    def test_likelihood_matches_moments(self):
        X = sample_field([(0, 1), (1, 2, 3)], np.array([0.5, 0.6]), 5, 2000, 0)
        model = MOHNDensity(l2=1e-6).fit(X)
        assert interactions(model) == {(0, 1), (1, 2, 3)}
        states = np.array(list(product((-1.0, 1.0), repeat=5)))
        logs = model.score_samples(states)
        assert np.exp(logs).sum() == pytest.approx(1.0)
        products = multiply(states, model.terms_)
        observed = multiply(X, model.terms_).mean(axis=0)
        assert_allclose(np.exp(logs) @ products, observed, atol=1e-6)


class TestAnnealing:
    """Fields of many columns, on fields whose constant is known."""

    def test_log_partition(self):
        rng = np.random.default_rng(0)
        chains = FieldChains.of(LAYOUT, TERMS, WEIGHTS, 0.2 * np.cos(np.arange(8.0)))
        value, error, effective = chains.estimate_log_partition(rng)
        exact = logsumexp(multiply(all_signs(), TERMS) @ WEIGHTS)
        assert 0.0 < error < 0.02
        assert effective > 150
        assert abs(value - exact) < 4.0 * error

    def test_samples_have_the_moments(self):
        rng, n = np.random.default_rng(0), 5000
        chains = FieldChains.of(LAYOUT, TERMS, WEIGHTS, np.zeros(8))
        signs = chains.sample(n, rng)
        _, means, covariance = EnumeratedField.of(States.of(LAYOUT), TERMS).moments(
            WEIGHTS
        )
        errors = np.sqrt(np.diag(covariance) / n)
        assert np.all(
            np.abs(multiply(signs, TERMS).mean(axis=0) - means) < 4.5 * errors
        )

    def test_same_as_enumerated(self, monkeypatch):
        X = sample_field([(0, 1), (2, 3, 4)], np.array([0.4, 0.5]), 6, 1500, 1)
        exact = MOHNDensity().fit(X)
        assert exact.is_normalized_exactly_
        assert exact.log_partition_error_ == 0.0
        few = enumeration.EnumerationConstants(max_bits=2)
        monkeypatch.setattr(enumeration, "_ENUMERATION", few)
        model = MOHNDensity(random_state=0).fit(X)
        assert not model.is_normalized_exactly_
        assert model.terms_ == exact.terms_
        assert_allclose(model.weights_, exact.weights_, atol=0.05)
        assert_allclose(model.standard_errors_, exact.standard_errors_, rtol=0.2)
        assert 0.0 < model.log_partition_error_ < 0.01
        assert_allclose(model.score_samples(X), exact.score_samples(X), atol=0.2)
        drawn = model.sample(3000, random_state=0)
        assert_array_equal(drawn, model.sample(3000, random_state=0))
        assert (drawn[:, 0] * drawn[:, 1]).mean() == pytest.approx(
            (X[:, 0] * X[:, 1]).mean(), abs=0.06
        )

    def test_warns_of_few_chains(self, monkeypatch):
        X = sample_field([(0, 1)], np.array([1.0]), 3, 300, 0)
        few = enumeration.EnumerationConstants(max_bits=2)
        monkeypatch.setattr(enumeration, "_ENUMERATION", few)
        all_of_them = sampling.AnnealingConstants(min_effective=200.0)
        monkeypatch.setattr("skmohn.mohn._density.ANNEALING", all_of_them)
        with pytest.warns(ConvergenceWarning, match="number of chains"):
            MOHNDensity(random_state=0).fit(X)


class TestSearch:
    """Which terms are found."""

    def test_criterion(self):
        data = some_data()
        # 2 columns of 1 input and 2 of 3: pairs 1 + 4 x 3 + 9, triples 2 x 3 + 2 x 9.
        assert LAYOUT.count(3) == [1, 8, 22, 24]
        found = TermCriterion.of(data, 3, 1.0).thresholds
        n = data.n_observations
        assert found[2] == pytest.approx(np.log(n) + 2.0 * np.log(22 * 2))
        assert found[3] == pytest.approx(np.log(n) + 2.0 * np.log(24 * 2))
        assert TermCriterion.of(data, 2, 0.5).thresholds[2] == pytest.approx(
            np.log(n) + np.log(22)
        )

    def test_chain_has_no_indirect_edges(self):
        terms = [(i, i + 1) for i in range(7)]
        X = sample_field(terms, np.full(7, 0.8), 8, 3000, 0)
        assert interactions(MOHNDensity().fit(X)) == {*terms}

    def test_pair_that_triples_explain_is_removed(self):
        # A common neighbor of three columns that are searched before it is.
        terms = [(0, 3), (1, 3), (2, 3), (0,), (1, 2, 4)]
        X = sample_field(terms, np.array([0.9, 0.9, 0.9, 0.4, 0.5]), 5, 4000, 3)
        assert interactions(MOHNDensity().fit(X)) == {t for t in terms if len(t) > 1}

    def test_terms_are_searched_again_after_a_removal(self):
        # A false pair that is taken out stood for two true ones.
        terms = [*((i, (i + 1) % 10) for i in range(10)), (0, 5)]
        X = sample_field(terms, np.full(11, 0.45), 10, 60, 1)
        assert {(7, 8), (8, 9)} <= interactions(MOHNDensity(2).fit(X))

    def test_max_order(self):
        X = sample_field([(0, 1, 2)], np.array([0.8]), 4, 1000, 0)
        assert interactions(MOHNDensity().fit(X)) == {(0, 1, 2)}
        assert interactions(MOHNDensity(2).fit(X)) == set()
        assert interactions(MOHNDensity(1).fit(X)) == set()

    def test_copies_stay_connected(self):
        # Of large weights the errors are large, too.
        rng = np.random.default_rng(0)
        X = rng.integers(2, size=(400, 4))
        X[:, 1] = X[:, 0]
        model = MOHNDensity().fit(X)
        assert interactions(model) == {(0, 1)}
        assert np.isfinite(model.weights_).all()
        assert model.score(X) > -3.3 * np.log(2.0)

    def test_nothing_in_independent_columns(self):
        found = 0
        for seed in range(60):
            rng = np.random.default_rng(seed)
            X = rng.random((200, 8)) < rng.uniform(0.1, 0.9, 8)
            found += len(interactions(MOHNDensity().fit(X))) > 0
        assert found <= 3

    def test_gamma(self):
        X = sample_field([(0, 1)], np.array([0.11]), 5, 500, 2)
        assert interactions(MOHNDensity().fit(X)) == set()
        assert (0, 1) in interactions(MOHNDensity(ebic_gamma=0.0).fit(X))

    def test_errors_cover(self):
        # Of 100 fields, how often the weight is within 1.96 errors.
        within = []
        for seed in range(100):
            X = sample_field([(0, 1), (0,)], np.array([0.5, 0.5]), 3, 400, seed)
            model = MOHNDensity(2, ebic_gamma=0.0).fit(X)
            j = model.terms_.index((0, 1))
            error = model.standard_errors_[j]
            within.append(abs(model.weights_[j] - 0.5) < 1.96 * error)
        assert 88 <= sum(within) <= 99


class TestTables:
    """Columns of other kinds, weights, and what is refused."""

    def frame(self, n=600):
        """Text of three categories, a number that depends on it, and a switch."""
        rng = np.random.default_rng(0)
        color = rng.choice(["red", "green", "blue"], n)
        number = rng.normal(size=n) + 2.0 * (color == "red")
        return pd.DataFrame(
            {"color": color, "number": number, "on": rng.integers(2, size=n)}
        )

    def test_categories_and_levels(self):
        X = self.frame()
        model = MOHNDensity(2, max_levels=2).fit(X)
        assert {label[0] for term in interactions(model) for label in term} == {0, 1}
        # Either level says what the other does.
        assert {(0, "red")} == {label for t in interactions(model) for label in t[:1]}
        middle = model.coding_.thresholds[1][0]
        for color in ("red", "green"):
            for on in (0, 1):
                is_cell = (X.color == color) & (X.on == on)
                high = (is_cell & (X.number >= middle)).mean()
                row = pd.DataFrame([[color, middle, on]], columns=X.columns)
                (log_p,) = model.score_samples(row)
                assert np.exp(log_p) == pytest.approx(high, abs=0.03)

    def test_samples_of_categories(self):
        X = self.frame()
        model = MOHNDensity(2).fit(X)
        drawn = pd.DataFrame(model.sample(4000, random_state=0), columns=X.columns)
        assert set(drawn.color) == set(X.color)
        assert set(drawn.on) == {0, 1}
        assert drawn.number.min() >= X.number.min()
        assert drawn.number.max() <= X.number.max()
        top = model.coding_.thresholds[1][-1]
        high = [(t[t.color == "red"].number >= top).mean() for t in (drawn, X)]
        assert high[0] == pytest.approx(high[1], abs=0.06)
        logs = model.score_samples(drawn.astype(X.dtypes))
        assert np.isfinite(logs).all()

    def test_integers_stay_integers(self):
        X = np.column_stack([np.arange(300) % 7, np.arange(300) % 2])
        model = MOHNDensity().fit(X)
        drawn = model.sample(3500, random_state=0).astype(float)
        assert_array_equal(drawn, np.rint(drawn))
        counts = np.bincount(drawn[:, 0].astype(int))
        assert len(counts) == 7
        # All values are as frequent as in X: none has slipped into the next level.
        assert np.all(np.abs(counts - 500) < 90)

    def test_numbers_are_drawn_as_they_were_seen(self):
        rng = np.random.default_rng(0)
        rain = np.where(rng.random(1000) < 0.7, 0.0, rng.exponential(size=1000))
        # One stray value does not fill its level up to itself.
        size = np.append(rng.normal(size=999), 1e6)
        X = np.column_stack([rain, size])
        drawn = MOHNDensity().fit(X).sample(4000, random_state=0)
        assert (drawn[:, 0] == 0.0).mean() == pytest.approx(0.7, abs=0.04)
        usual = drawn[drawn[:, 1] < 10.0, 1]
        assert len(usual) > 3900
        assert usual.std() == pytest.approx(1.0, abs=0.05)
        weight = rng.integers(0, 3, len(X))
        weighed = MOHNDensity().fit(X, sample_weight=weight)
        repeated = MOHNDensity().fit(np.repeat(X, weight, axis=0))
        assert_array_equal(
            weighed.sample(50, random_state=1), repeated.sample(50, random_state=1)
        )

    def test_weights_are_repeats(self):
        X = sample_field([(0, 1)], np.array([0.4]), 4, 200, 0)
        weight = np.random.default_rng(0).integers(0, 4, 200)
        weighed = MOHNDensity().fit(X, sample_weight=weight)
        repeated = MOHNDensity().fit(np.repeat(X, weight, axis=0))
        assert weighed.terms_ == repeated.terms_
        assert_allclose(weighed.weights_, repeated.weights_, atol=1e-10)
        assert_allclose(weighed.standard_errors_, repeated.standard_errors_)
        # Others are relative: their unit has no effect.
        part = np.random.default_rng(1).uniform(0.1, 2.0, 200)
        one, other = (MOHNDensity().fit(X, None, f * part) for f in (1.0, 3.0))
        assert_allclose(one.weights_, other.weights_, atol=1e-8)
        for size in (1.7e308, 5e-324):
            equal = MOHNDensity().fit(X, sample_weight=np.full(200, size))
            assert_array_equal(equal.weights_, MOHNDensity().fit(X).weights_)
        # So are integers whose sum is not exact: no table has so many rows.
        huge = MOHNDensity().fit(X, sample_weight=np.full(200, 1e20))
        assert_array_equal(huge.weights_, MOHNDensity().fit(X).weights_)

    def test_constant_columns_count_nothing(self):
        X = sample_field([(0, 1)], np.array([0.8]), 3, 200, 0)
        wide = np.column_stack([X, np.ones(200)])
        model = MOHNDensity().fit(X)
        assert_allclose(MOHNDensity().fit(wide).score(wide), model.score(X))
        nothing = MOHNDensity().fit(np.ones((5, 2)))
        assert nothing.terms_ == []
        assert_array_equal(nothing.score_samples(np.ones((3, 2))), np.zeros(3))
        assert_array_equal(nothing.sample(2), np.ones((2, 2)))

    def test_refuses_what_is_not_known(self):
        X = self.frame()
        model = MOHNDensity(2).fit(X)
        unseen = X.head(3).assign(color="yellow")
        with pytest.raises(ValueError, match="column color has NaN, or a category"):
            model.score_samples(unseen)
        missing = X.assign(number=X.number.where(X.number < 2.0))
        with pytest.raises(ValueError, match=r"column number has NaN.*Imputer"):
            clone(model).fit(missing)


class TestReports:
    """Tables that users read."""

    def test_tables(self):
        X = sample_field([(0, 1), (0, 1, 2)], np.array([0.5, -0.6]), 3, 2000, 0)
        X = pd.DataFrame(X, columns=["a", "b", "c"])
        model = MOHNDensity().fit(X)
        table = model.terms_table()
        assert table.term.tolist()[:2] == ["a x b x c", "a x b"]
        assert table.order.tolist() == [3, 2, 1, 1, 1]
        assert table.weight[1] == pytest.approx(0.5, abs=0.1)
        assert_allclose(table.odds_ratio[:2], np.exp(4.0 * table.weight[:2]))
        display = HypergraphDisplay.from_estimator(model)
        assert display.names == ["a", "b", "c"]
        assert display.terms == model.terms_
        parts = model.explain(X.head(1))
        assert parts.term[0] == "(constant)"
        assert parts.contribution.sum() == pytest.approx(model.score_samples(X)[0])
        assert parts.value[1:].abs().tolist() == [1.0] * 5


def test_the_row_that_is_missing_is_named_as_in_the_data():
    X = np.random.default_rng(0).integers(2, size=(30, 3)).astype(float)
    X[7, 1] = np.nan
    weight = np.r_[np.zeros(5), np.ones(25)]
    with pytest.raises(ValueError, match=r"column x1 has NaN in row 7: .*Imputer"):
        MOHNDensity().fit(X, sample_weight=weight)


class TestNumbersThatFitHasNotSeen:
    """On a line through two values a third one would be as likely as the nearer."""

    def model_and_row(self):
        rng = np.random.default_rng(0)
        X = sample_field([(0, 1)], np.array([0.6]), 3, 200, 0)
        X = np.column_stack([X * [1.0, 0.1, 1.0] + [0.0, 0.2, 0.0], np.ones(200)])
        X = np.column_stack([X, rng.normal(size=200)])
        return MOHNDensity().fit(X), X[:1]

    @pytest.mark.parametrize("value", [0.0, 5.0, -3.0, 1e300, 1.0 + 1e-6])
    def test_they_are_less_likely_than_all_that_it_has_seen(self, value):
        model, row = self.model_and_row()

        def score(column, number):
            return model.score_samples(with_number(row, column, number))[0]

        ends = [score(0, -1.0), score(0, 1.0)]
        half = -np.log(2.0 * 200 + 1.0)
        expected = min(min(ends) - np.log(2.0), logsumexp(ends) + half)
        assert score(0, value) == pytest.approx(expected)
        if value != 1.0 + 1e-6:
            assert score(3, value) == pytest.approx(score(3, 1.0) + half)
        with_both = with_number(with_number(row, 0, value), 3, 7.0)
        assert_allclose(model.score_samples(with_both), expected + half)

    def test_less_than_half_as_likely_as_a_rare_one(self):
        """One of 200 has p of about 1 / 200, more than 1 / 401: half of it is less."""
        X = np.zeros((200, 1))
        X[0] = 1.0
        model = MOHNDensity(l2=1e-6).fit(np.column_stack([X, X[::-1]]))
        usual, rare, new = model.score_samples([[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]])
        assert rare < usual - np.log(100.0)
        assert new <= rare - np.log(2.0)

    def test_explanations_add_up(self):
        model, row = self.model_and_row()
        row = with_number(with_number(row, 1, 0.5), 3, 0.0)
        parts = model.explain(row)
        assert parts.contribution.sum() == pytest.approx(model.score_samples(row)[0])
        own = parts[parts.term.str.contains("not seen in fit")]
        assert set(own.term) == {f"(x{j} was not seen in fit)" for j in (1, 3)}
        assert (own.contribution < -np.log(200.0)).all()

    def test_rounding_and_single_precision_are_no_other_numbers(self):
        model, row = self.model_and_row()
        known = model.score_samples(row)
        for other in (row * (1.0 + 1e-12), row.astype(np.float32).astype(float)):
            assert_allclose(model.score_samples(other), known)
        assert_allclose(model.score_samples(row.astype(np.float32)), known)
        single = clone(model).fit(row_pairs().astype(np.float32))
        double = clone(model).fit(row_pairs())
        for fitted in (single, double):
            assert_allclose(
                fitted.score_samples(row_pairs()),
                fitted.score_samples(row_pairs().astype(np.float32)),
            )
        # Seconds of these years are a minute apart in single precision.
        times = 1.7e9 + 60.0 * np.arange(2)[np.arange(40) % 2][:, None]
        exact = MOHNDensity(max_order=1).fit(np.hstack([times, times]))
        seen, new = exact.score_samples([[1.7e9, 1.7e9], [1.7e9 + 20.0, 1.7e9]])
        assert new < seen - np.log(40.0)

    def test_rows_of_no_weight_are_scored(self):
        X = np.tile([[0.0, 1.0], [1.0, 0.0]], (20, 1))
        X[0] = 2.0
        weight = np.r_[0.0, np.ones(39)]
        scores = MOHNDensity(max_order=1).fit(X, sample_weight=weight).score_samples(X)
        assert scores[0] < scores[1:].min() - 2.0 * np.log(2.0)

    def test_bools_and_texts_of_one_value(self):
        table = pd.DataFrame({"flag": [True] * 30, "size": [1, 2] * 15})
        model = MOHNDensity(max_order=1).fit(table)
        seen, new = model.score_samples(
            pd.DataFrame({"flag": [True, False], "size": [1, 1]})
        )
        assert new == pytest.approx(seen - np.log(61.0))


def with_number(row, column, number):
    """Copy of a row with another number."""
    row = row.copy()
    row[0, column] = number
    return row


def row_pairs():
    """Rows of numbers that single precision rounds."""
    return np.tile([[0.1, 0.7], [0.3, 1.0 / 3.0], [0.3, 0.7]], (10, 1))
