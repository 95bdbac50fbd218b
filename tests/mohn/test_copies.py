"""Samples that were drawn or counted several times are copies, not measurements."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold

from skmohn import MOHNClassifier, MOHNRegressor
from skmohn.mohn._strategies import STRATEGIES
from skmohn.mohn._training_data import join_copies

GP = STRATEGIES["gp"]
RNG = np.random.default_rng(1)
NOISE = 0.5
X = np.column_stack([RNG.integers(0, 2, 80), RNG.standard_normal((80, 2))])
F = 1.5 * X[:, 0] + X[:, 1] + 0.5 * X[:, 2] ** 2
Y = F + NOISE * RNG.standard_normal(80)
COUNTS = RNG.integers(0, 4, 80)
COPIES = np.repeat(np.arange(80), COUNTS)
CUBE = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))


@pytest.mark.parametrize("strategy", ["auto", "gp", "spike_slab"])
def test_counts_and_copies_are_no_evidence_on_noise(strategy):
    """They are as precise as they are often."""
    model = MOHNRegressor(strategy, random_state=0)
    counted = model.fit(X, Y, sample_weight=COUNTS).predict(X)
    assert model.noise_std_ > 0.6 * NOISE
    copied = model.fit(X[COPIES], Y[COPIES]).predict(X)
    assert_allclose(counted, copied, atol=1e-9)
    fractions = model.fit(X, Y, sample_weight=COUNTS / 7).predict(X)
    assert_allclose(counted, fractions, atol=1e-9)


def test_a_bootstrap_sample_is_learned_without_its_noise():
    rng = np.random.default_rng(0)
    for _ in range(3):
        drawn = rng.integers(0, 80, 80)
        model = MOHNRegressor("gp", random_state=0).fit(X[drawn], Y[drawn])
        assert model.noise_std_ > 0.4 * NOISE
        assert not model.outliers_.any()


@pytest.mark.parametrize("cv", [5, KFold(4)])
def test_all_samples_twice_are_all_samples(cv):
    """Folds of the user's are those of rows as they were passed."""
    model = MOHNRegressor(cv=cv if cv == 5 else KFold(4), random_state=0)
    once = model.fit(X, Y).predict(X)
    if cv == 5:
        rows = np.tile(np.arange(80), 2)
        assert_allclose(model.fit(X[rows], Y[rows]).predict(X), once, atol=1e-9)
    fours = model.fit(X, Y, sample_weight=np.full(80, 4)).predict(X)
    assert_allclose(fours, once, atol=1e-9)
    assert model.fit(X[COPIES], Y[COPIES]).noise_std_ > 0.6 * NOISE


def test_an_outlier_is_left_out_with_its_copies():
    y = Y.copy()
    y[[7, 9]] = 40.0, -40.0
    counts = np.resize([1, 2, 0, 3], 80)
    rows = np.repeat(np.arange(80), counts)
    model = MOHNRegressor("gp", random_state=0).fit(X, y, sample_weight=counts)
    assert_array_equal(np.flatnonzero(model.outliers_), [7, 9])
    copied = MOHNRegressor("gp", random_state=0).fit(X[rows], y[rows])
    assert_array_equal(copied.outliers_, model.outliers_[rows])
    assert_allclose(copied.predict(X), model.predict(X), atol=1e-9)


def test_several_targets():
    Y2 = np.column_stack([Y, F - X[:, 1] + NOISE * RNG.standard_normal(80)])
    Y2[7, 0] = 60.0
    counts = np.resize([1, 2, 3], 80)
    rows = np.repeat(np.arange(80), counts)
    counted, copied = (MOHNRegressor("gp", random_state=0) for _ in range(2))
    counted.fit(X, Y2, sample_weight=counts)
    copied.fit(X[rows], Y2[rows])
    assert np.all(counted.noise_std_ > 0.5 * NOISE)
    assert_array_equal(np.argwhere(counted.outliers_), [[7, 0]])
    assert_array_equal(copied.outliers_, counted.outliers_[rows])
    assert_allclose(counted.predict(X), copied.predict(X), atol=1e-9)


def test_further_samples_have_the_unit_of_the_first():
    counts = np.resize([1, 2, 3], 80)
    first, more = slice(0, 60), slice(60, 80)
    model = MOHNRegressor("gp", random_state=0).fit(X[first], Y[first], counts[first])
    before = model.model_.noise_variance
    model.partial_fit(X[more], Y[more], counts[more])
    assert model.model_.noise_variance == before
    fractions = MOHNRegressor("gp", random_state=0)
    fractions.fit(X[first], Y[first], counts[first] / 7)
    fractions.partial_fit(X[more], Y[more], counts[more] / 7)
    assert_allclose(model.predict(X), fractions.predict(X), atol=1e-9)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_classes(class_weight):
    labels = np.where(F + NOISE * RNG.standard_normal(80) > 1.0, "b", "a")
    model = MOHNClassifier("gp", class_weight=class_weight, random_state=0)
    counted = model.fit(X, labels, sample_weight=COUNTS).predict_log_proba(X)
    copied = model.fit(X[COPIES], labels[COPIES]).predict_log_proba(X)
    assert_allclose(counted, copied, atol=1e-7)
    twos = model.fit(X, labels, sample_weight=np.full(80, 2)).predict_log_proba(X)
    assert_allclose(twos, model.fit(X, labels).predict_log_proba(X), atol=1e-7)


def test_classes_in_parts():
    """Copies of earlier samples are copies, too."""
    labels = np.where(F > 1.0, "b", "a")
    model = MOHNClassifier("gp", random_state=0).fit(X, labels)
    model.partial_fit(X, labels)
    twice = model.predict_log_proba(X)
    again = MOHNClassifier("gp", random_state=0).fit(X, labels)
    again.partial_fit(X[:40], labels[:40])
    again.partial_fit(X[40:], labels[40:])
    assert_allclose(again.predict_log_proba(X), twice, atol=1e-7)
    once = MOHNClassifier("gp", random_state=0).fit(X, labels)
    assert_allclose(once.predict_log_proba(X), twice, atol=1e-7)


# ----------------------------------------------------------------- what are copies


def test_weights_of_copies_are_at_the_first():
    rows = np.array([0, 1, 0, 2, 1, 0])
    weight = np.array([1.0, 2.0, 1.0, 0.0, 1.0, 3.0])
    copies = join_copies(X[rows], Y[rows], weight, None, GP)
    assert_array_equal(copies.sample_weight, [5.0, 3.0, 0.0, 0.0, 0.0, 0.0])
    assert_array_equal(copies.first, [0, 1, 0, 3, 1, 0])
    assert copies.unit == 4.0
    groups = np.array([0, 1, 0, 2, 1, 3])
    copies = join_copies(X[rows], Y[rows], weight, groups, GP)
    assert_array_equal(copies.sample_weight, [2.0, 3.0, 0.0, 0.0, 0.0, 3.0])


def test_missing_values_and_zeros_are_equal():
    table = np.array([[np.nan, 0.0], [-np.nan, -0.0], [1.0, 2.0], [3.0, 4.0]])
    copies = join_copies(table, np.array([0.0, -0.0, 1.0, 2.0]), None, None, GP)
    assert_array_equal(copies.sample_weight, [2.0, 0.0, 1.0, 1.0])


def test_weights_whose_sum_is_no_float():
    y = np.array([1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0])
    table, weight = y[:, None], np.full(8, 1e308)
    copies = join_copies(table, y, weight, None, GP)
    assert copies.sample_weight is weight
    assert np.isfinite(join_copies(table, y, weight / 4, None, GP).unit)


@pytest.mark.parametrize("weight", [None, np.ones(80), np.full(80, 0.5), F - F.min()])
def test_samples_that_are_there_once_stay(weight):
    copies = join_copies(X, Y, weight, None, GP)
    assert copies.sample_weight is weight
    assert copies.unit is None


def test_equal_targets_are_copies_unless_they_are_by_chance():
    rows, rng = np.repeat(CUBE, 5, axis=0), np.random.default_rng(0)

    def are_joined(y, are_classes=False, table=rows):
        found = join_copies(table, y, None, None, GP, "regression", are_classes)
        return found.unit is not None

    replicates = rng.standard_normal(40)
    assert not are_joined(replicates)
    # Rounding leaves many values, and few.
    assert are_joined(np.where(np.arange(40) < 2, 0.0, replicates))
    assert not are_joined(np.round(replicates))
    labels = rng.integers(0, 3, 40)
    assert not are_joined(labels, are_classes=True)
    unique = X[np.tile(np.arange(20), 2)]
    assert are_joined(np.tile(labels[:20], 2), are_classes=True, table=unique)


def test_a_table_of_all_combinations_repeats_by_itself():
    """Targets that agree wherever rows do have no noise."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 8, 200)
    values = rng.standard_normal(8)
    model = MOHNRegressor("gp", random_state=0).fit(CUBE[drawn], values[drawn])
    assert_allclose(model.predict(CUBE), values, atol=1e-5)
    # They were not drawn at random to be there twice.
    twice = join_copies(CUBE, values, np.full(8, 2), None, GP)
    assert_array_equal(twice.sample_weight, np.full(8, 2))
    assert twice.unit == 2.0


@pytest.mark.parametrize(
    ("strategy", "task"),
    [("auto", "glm"), ("full", "regression"), ("pursuit", "classification")],
)
def test_other_models_count_observations(strategy, task):
    """With exposures, by least squares, and of a likelihood with a penalty."""
    copies = join_copies(X, Y, COUNTS, None, STRATEGIES[strategy], task)
    assert copies.sample_weight is COUNTS


@pytest.mark.parametrize("strategy", ["pursuit", "msda"])
def test_sparse_models_do_not_learn_the_noise_of_copies(strategy):
    """Neither of all rows five times, nor of weights that count them."""
    rng, rows = np.random.default_rng(0), np.repeat(np.arange(80), 5)
    model = MOHNRegressor(strategy, random_state=0)
    once = model.fit(X, Y).terms_
    assert model.fit(X, Y, sample_weight=np.full(80, 5)).terms_ == once
    near = X[rows] + [0, 1e-3, 1e-3] * rng.standard_normal((400, 3))
    assert model.fit(near, Y[rows]).terms_ == once
    # Few copies are no reason to take bits as numbers with weights.
    most = np.append(np.arange(80), [3, 7])
    pursuit = STRATEGIES["pursuit"]
    assert join_copies(X[most], Y[most], None, None, pursuit).unit is None
    weight = np.where(np.arange(80) < 2, 2.0, 1.0)
    assert join_copies(X, Y, weight, None, pursuit).sample_weight is weight


def test_rows_that_are_equal_but_for_rounding_are_copies():
    near = np.tile(X, (2, 1)) * (1.0 + 1e-15 * RNG.standard_normal((160, 3)))
    copies = join_copies(near, np.tile(Y, 2), None, None, GP)
    assert_array_equal(copies.first, np.tile(np.arange(80), 2))


def test_constant_targets_are_no_copies():
    copies = join_copies(X, np.ones(80), COUNTS, None, GP)
    assert copies.sample_weight is COUNTS


@pytest.mark.parametrize("jitter", [1e-12, 1e-6, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("are_classes", [False, True])
@pytest.mark.parametrize("counts", [[5], [1, 1, 7]])
def test_rows_that_differ_by_jitter_are_copies(jitter, are_classes, counts):
    """As those of oversampled rows, all or some of them, in any order."""
    if are_classes and jitter == 1e-2 and len(counts) == 3:
        jitter = 1e-3  # further rows, of which classes may agree, are near as well
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.repeat(np.arange(80), np.resize(counts, 80)))
    near = X[rows] + [0, jitter, jitter] * rng.standard_normal((len(rows), 3))
    y = rng.integers(0, 3, 80) if are_classes else Y
    found = join_copies(near, y[rows], None, None, GP, "regression", are_classes)
    # Two of the rows are near each other, and may have the same class.
    assert np.mean(rows[found.first] != rows) <= 0.02
    assert 79 <= np.sum(np.asarray(found.sample_weight) > 0) <= 82


@pytest.mark.parametrize("strategy", ["auto", "gp", "spike_slab"])
def test_copies_with_jitter_are_no_evidence_on_noise(strategy):
    rng, rows = np.random.default_rng(0), np.repeat(np.arange(80), 5)
    near = X[rows] + 1e-3 * rng.standard_normal((400, 3))
    y = Y[rows] + 1e-8 * rng.standard_normal(400)
    model = MOHNRegressor(strategy, random_state=0).fit(near, y)
    assert model.noise_std_ > 0.6 * NOISE


def test_probabilities_of_classes_do_not_follow_from_copies_with_jitter():
    rng, rows = np.random.default_rng(0), np.repeat(np.arange(80), 5)
    labels = np.where(F + NOISE * rng.standard_normal(80) > 1.0, "b", "a")
    near = X[rows] + 1e-3 * rng.standard_normal((400, 3))
    model = MOHNClassifier(random_state=0)
    once = model.fit(X, labels).predict_log_proba(X)
    assert_allclose(model.fit(near, labels[rows]).predict_log_proba(X), once, atol=1.0)


def test_near_rows_with_equal_targets_may_be_no_copies():
    rng = np.random.default_rng(0)
    line = rng.uniform(-1, 1, (200, 1))
    plane = rng.uniform(-1, 1, (200, 2))

    def are_joined(table, y, are_classes=False):
        found = join_copies(table, y, None, None, GP, "regression", are_classes)
        return found.unit is not None

    # A plateau, few numbers, many numbers that are rounded, integers, and classes.
    assert not are_joined(line, np.maximum(line[:, 0], 0.0))
    assert not are_joined(line, rng.integers(0, 9, 200).astype(float))
    assert not are_joined(plane, np.round(50 * rng.standard_normal(200)))
    numbers = np.arange(200.0)[:, None]
    assert not are_joined(numbers, np.repeat(rng.standard_normal(100), 2))
    assert not are_joined(line, line[:, 0] > 0, are_classes=True)
    # Near rows of different classes are observations of their own.
    rows = np.repeat(np.arange(80), 5)
    near = X[rows] + [0, 1e-3, 1e-3] * rng.standard_normal((400, 3))
    assert not are_joined(near, rng.integers(0, 2, 400), are_classes=True)
