"""The search by the logistic score, against sums written out."""

from itertools import combinations
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import sem
from sklearn.linear_model import LogisticRegression
from support import multiply_columns

from skmohn.mohn._design.design import make_design
from skmohn.mohn._options import FitSettings
from skmohn.mohn._sparse import logistic as _logistic
from skmohn.mohn._sparse import logistic_selection as _logistic_selection
from skmohn.mohn._sparse.logistic import LOGISTIC_SEARCH, LogisticControl, LogisticPath
from skmohn.mohn._sparse.logistic_selection import (
    best_penalty,
    deal_folds,
    learn_on_folds,
)
from skmohn.mohn._sparse.term_screening import SCREENING
from skmohn.mohn._strategies import STRATEGIES
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._term_search import expand
from skmohn.mohn._training_data import TrainingData, read_training_data
from skmohn.mohn._transformer import MOHNTransformer

N = 6
TEMPERATURES = [0.5, 1.0, 2.0, 4.0, 8.0]


def samples(n_classes, n_samples=200, seed=0):
    """Inputs and classes that depend on a single input and on a product."""
    rng = np.random.default_rng(seed)
    inputs = rng.choice([-1, 1], (n_samples, N)).astype(np.int8)
    scores = np.outer(inputs[:, 0] * inputs[:, 1], np.arange(n_classes) - 1.0)
    scores += np.outer(inputs[:, 2], np.cos(np.arange(n_classes)))
    labels = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return inputs, labels


def control(most=3, start=(), max_order=2, **options):
    options = {"work_budget": 0.0, "groups": np.arange(N), **options}
    return LogisticControl(max_order, most, start=start, **options)


def path_of(inputs, labels, weights, n_classes, control, held=None):
    """A path on arrays."""
    if held is not None:
        held = make_design(held[0]), *held[1:]
    return LogisticPath(make_design(inputs), labels, weights, n_classes, control, held)


def gains_by_hand(columns, fitted, labels, weights):
    """Twice the rise of the penalised log-likelihood by one Newton step."""
    gains = np.zeros(columns.shape[1])
    classes = range(fitted.shape[1]) if fitted.shape[1] > 2 else [1]
    for j, column in enumerate(columns.T):
        for k in classes:
            p = fitted[:, k]
            score = np.sum(weights * column * ((labels == k) - p))
            spread = weights * p * (1 - p)
            mean = np.sum(spread * column) / spread.sum()
            fisher = np.sum(spread * (column - mean) ** 2)
            gains[j] += score**2 / (fisher + 1 / LOGISTIC_SEARCH.C)
    return gains


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_first_product_is_that_of_the_largest_gain(n_classes, is_weighted):
    inputs, labels = samples(n_classes)
    weights = np.ones(len(labels))
    if is_weighted:
        weights = np.random.default_rng(1).integers(1, 4, len(labels)).astype(float)
    start = ((3,), (0, 2))
    path = path_of(inputs, labels, weights, n_classes, control(1, start))
    path.extend([1])
    model = LogisticRegression(C=LOGISTIC_SEARCH.C, tol=1e-3, max_iter=200)
    model.fit(multiply_columns(inputs, start), labels, sample_weight=weights)
    fitted = model.predict_proba(multiply_columns(inputs, start))
    terms = [t for k in (1, 2) for t in combinations(range(N), k) if t not in start]
    gains = gains_by_hand(multiply_columns(inputs, terms), fitted, labels, weights)
    assert path.terms == [*start, terms[np.argmax(gains)]]


def test_what_heavy_samples_say_counts_more():
    inputs, _ = samples(2, 400)
    is_heavy = np.arange(400) < 150
    product = np.where(is_heavy, inputs[:, 0] * inputs[:, 1], inputs[:, 2])
    labels = (product > 0).astype(int)
    for weight, term in ((1.0, (2,)), (4.0, (0, 1))):
        weights = np.where(is_heavy, weight, 1.0)
        path = path_of(inputs, labels, weights, 2, control(1)).extend([1])
        assert path.terms == [term]


def test_models_are_logistic_regressions_on_products():
    inputs, labels = samples(3)
    held = samples(3, seed=1)
    path = path_of(inputs, labels, None, 3, control(), (*held, None))
    path.extend([1, 2, 3])
    assert path.sizes == [0, 1, 2, 3]
    assert path.is_full
    for position in (1, 2, 3):
        terms = path.model(position)
        assert len(terms) == position
        model = LogisticRegression(C=LOGISTIC_SEARCH.C, tol=1e-3, max_iter=200)
        model.fit(multiply_columns(inputs, terms), labels)
        for columns, classes, found in (
            (inputs, labels, path.deviances[position]),
            (*held, path.losses(position).mean()),
        ):
            chances = model.predict_proba(multiply_columns(columns, terms))
            chances = chances[np.arange(len(classes)), classes]
            assert_allclose(found, -np.log(chances).mean())
    assert set(path.terms[:2]) == {(0, 1), (2,)}


def test_a_path_that_ended_keeps_its_last_model():
    path = path_of(*samples(2), None, 2, control(2)).extend([1, 2, 3, 4])
    assert path.sizes == [0, 1, 2]
    assert path.model(7) == path.model(2)


@pytest.mark.parametrize("order", [3, 4, 5])
def test_pure_parities_are_found_by_screening(order):
    rng = np.random.default_rng(order)
    inputs = rng.choice([-1, 1], (150, 20)).astype(np.int8)
    members = tuple(sorted(rng.choice(20, order, replace=False).tolist()))
    labels = (inputs[:, members].prod(axis=1) > 0).astype(int)
    options = {"max_order": 5, "work_budget": 1e9, "groups": np.arange(20)}
    path = path_of(inputs, labels, None, 2, control(1, **options)).extend([1])
    assert path.terms == [members]
    assert path.frontier.highest_productive_order == order
    coverage = path.frontier.coverage()
    tried = {row["order"]: row["tried"] == row["possible"] for row in coverage}
    assert tried == {k: True for k in range(1, order + 1)}
    poor = control(1, **{**options, "work_budget": 0.0})
    assert path_of(inputs, labels, None, 2, poor).extend([1]).terms != [members]


def test_products_that_say_the_same_come_once(replace_constants):
    inputs, labels = samples(2)
    inputs = np.hstack([inputs, inputs[:, [0]]])
    groups = np.arange(N + 1)
    found = path_of(inputs, labels, None, 2, control(4, groups=groups))
    found.extend([4])
    columns = multiply_columns(inputs, found.terms)
    alike = np.abs(columns.T @ columns) / len(inputs) - np.eye(len(found.terms))
    assert alike.max() < 0.9
    replace_constants(_logistic, max_cosine=1.1)
    found = path_of(inputs, labels, None, 2, control(4, groups=groups))
    assert {(0, 1), (1, 6)} <= set(found.extend([4]).terms)


def test_no_product_has_two_categories_of_a_categorical():
    categories = np.random.default_rng(0).integers(4, size=300)
    inputs = np.where(categories[:, None] == np.arange(4), 1, -1).astype(np.int8)
    groups = np.zeros(4, dtype=int)
    path = path_of(inputs, categories, None, 4, control(9, groups=groups))
    path.extend([1, 2, 3, 4, 5])
    assert sorted(path.terms) == [(0,), (1,), (2,), (3,)]


def posed(inputs, labels, **params):
    """The problem that a transformer makes of samples."""
    estimator = MOHNTransformer(random_state=0, **params)
    estimator.fit(inputs, labels.astype(str))
    classes = np.unique(labels)
    samples = read_training_data(
        inputs.astype(float),
        labels,
        None,
        task="terms",
        strategy=STRATEGIES[estimator.strategy],
        settings=FitSettings.of(estimator),
        classes=classes,
        seed=0,
        categories=estimator._categories,
    )
    return expand(samples)


def test_folds_keep_equal_rows_together_and_shares_of_classes():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1, 1], (80, N))[rng.integers(80, size=400)]
    labels = (rng.random(400) < 0.2).astype(int)
    problem = posed(inputs, labels)
    folds = deal_folds(problem, "cv", 5)
    held = [set(map(tuple, inputs[test])) for _, test in folds]
    assert all(not a & b for a, b in combinations(held, 2))
    for train, test in folds:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(400))
    assert deal_folds(problem, "ebic", 5) == []


@pytest.mark.parametrize("jitter", [1e-6, 1e-3])
def test_folds_keep_copies_with_jitter_together(jitter):
    rng, origin = np.random.default_rng(0), np.repeat(np.arange(80), 5)
    inputs = rng.uniform(-1.0, 1.0, (80, 6))[origin]
    inputs += jitter * rng.standard_normal(inputs.shape)
    classes = (rng.random(80) < 0.4).astype(int)[origin]
    counts = rng.poisson(1.0, 80)[origin].astype(float)
    samples = posed(inputs, classes)
    samples = samples._replace(rows=EncodedRows(inputs, np.zeros((400, 0), int)))
    for data in (samples, samples._replace(y=counts, classes=None)):
        for _, test in deal_folds(data, "cv", 5):
            assert not set(origin[test]) & set(np.delete(origin, test))


def test_penalty_is_that_of_the_least_loss_on_left_out_samples():
    inputs, labels = samples(3)
    problem = posed(inputs, labels)
    terms = [(0,), (2,), (0, 1)]
    selection = learn_on_folds(problem, terms, "cv", 4)
    losses = {}
    for C in (0.01, 0.03, 0.1, 0.3, 1.0, 10.0):
        total = 0.0
        for train, test in deal_folds(problem, "cv", 4):
            columns = multiply_columns(inputs, terms)
            model = LogisticRegression(C=C).fit(columns[train], labels[train])
            chances = model.predict_proba(columns[test])
            total -= np.log(chances[np.arange(len(test)), labels[test]]).sum()
        losses[C] = total
    assert best_penalty(selection) == min(losses, key=losses.get)


@pytest.mark.parametrize(
    ("gap", "ratios", "chosen"),
    [
        # Chance explains the third product, and it is better by less than two errors.
        (1.8, [np.inf, 3.0, 2.0, 0.9, 0.8], 2),
        # By more: everything matters a little.
        (2.2, [np.inf, 3.0, 2.0, 0.9, 0.8], 4),
        # Chance explains nothing: the sparsest within one error of the best.
        (1.8, [np.inf, 3.0, 2.0, 1.5, 1.2], 4),
        (0.8, [np.inf, 3.0, 2.0, 1.5, 1.2], 2),
    ],
)
def test_products_that_chance_explains_must_lower_the_loss_beyond_doubt(
    gap, ratios, chosen
):
    apart = np.random.default_rng(0).standard_normal(400)
    apart = (apart - apart.mean()) / apart.std()
    differences = np.array([9.0, 5.0, gap, 1.5 * gap, 0.0]) / 20
    losses = 7.0 + np.outer([1, 1, 1, 1, 0], apart) + differences[:, None]
    found = _logistic_selection._judge(
        SimpleNamespace(ratios=ratios), losses, np.ones(400)
    )
    assert found == (chosen, 4)


@pytest.mark.parametrize("gap", [1.0, 0.999])
def test_what_scores_as_chance_would_is_chance_from_below(gap):
    path = SimpleNamespace(ratios=[np.inf, 3.0, gap, 0.5])
    assert _logistic_selection._last_beyond_chance(path) == (2 if gap == 1.0 else 1)
    path = SimpleNamespace(ratios=[np.inf, 3.0])
    assert _logistic_selection._last_beyond_chance(path) == 1


def test_models_grow_by_a_fourth():
    sizes = _logistic_selection._sizes_up_to
    assert sizes(13) == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13]
    assert sizes(0) == []


def test_means_are_measured_in_their_standard_errors():
    rng = np.random.default_rng(0)
    differences, weights = rng.standard_normal(30) + 0.3, rng.integers(1, 4, 30)
    rows = np.repeat(differences, weights)
    found = _logistic_selection._in_errors(differences, weights)
    assert found == pytest.approx(rows.mean() / sem(rows, ddof=0))
    assert _logistic_selection._in_errors(np.full(4, 0.5), np.ones(4)) > 1e100


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ebic_by_hand(n_classes):
    """Minus twice the log-likelihood, log n a weight, twice the choice of products."""
    inputs, labels = samples(n_classes)
    weights = np.random.default_rng(1).integers(1, 4, len(labels)).astype(float)
    start = ((3,), (0, 2))
    path = path_of(inputs, labels, weights, n_classes, control(2, start))
    path.extend([1, 2])
    terms = path.model(2)
    model = LogisticRegression(C=LOGISTIC_SEARCH.C, tol=1e-3, max_iter=200)
    columns = multiply_columns(inputs, terms)
    model.fit(columns, labels, sample_weight=weights)
    chances = model.predict_proba(columns)[np.arange(len(labels)), labels]
    n, found = weights.sum(), [len(term) for term in terms[2:]]
    # One or two of six single inputs, of 15 pairs.
    ways = comb(6, found.count(1)) * comb(15, found.count(2))
    n_weights = 2 * (n_classes - 1 if n_classes > 2 else 1)
    expected = -2 * weights @ np.log(chances)
    expected += n_weights * np.log(n) + 2 * np.log(ways)
    assert _logistic_selection._ebic(path, 2) == pytest.approx(expected)


def test_losses_are_those_of_the_best_temperature():
    rng = np.random.default_rng(0)
    tables = rng.uniform(0.0, 2.0, (2, 5, 3, 40))
    tables[:, :, :, 0] = 1e-5  # a class that is certain
    parts = [
        SimpleNamespace(
            validation=(None, rng.integers(1, 4, 40).astype(float)),
            losses=lambda k, t, table=table: table[TEMPERATURES.index(t), k],
        )
        for table in tables
    ]
    joined = np.concatenate(tables, axis=2)
    weights = np.concatenate([part.validation[1] for part in parts])
    means = joined @ weights / weights.sum()
    best = np.unravel_index(means.argmin(), means.shape)[0]
    losses, found = _logistic_selection._losses_of(parts, 3)
    assert_array_equal(found, weights)
    assert_array_equal(losses, np.maximum(joined[best], 1e-3))


def unposed(n_rows, copies=2, is_weighted=False, rare=0.3):
    """A problem of rows that come more than once, with classes that differ."""
    rng = np.random.default_rng(0)
    rows = 1 - 2 * (np.arange(n_rows)[:, None] >> np.arange(7) & 1)
    inputs = np.repeat(rows, copies, axis=0)
    labels = (rng.random(len(inputs)) < rare).astype(int)
    weights = rng.integers(1, 9, len(inputs)).astype(float) if is_weighted else None
    return SimpleNamespace(
        data=(inputs, labels, weights),
        rows=SimpleNamespace(group=None),
        classes=np.arange(2),
        folds=None,
        seed=0,
    )


@pytest.mark.parametrize("is_weighted", [False, True])
def test_folds_have_equal_shares_of_rows_by_their_heaviest_class(is_weighted):
    problem = unposed(60, 3, is_weighted)
    _, labels, weights = problem.data
    weights = np.ones(180) if weights is None else weights
    heavy = [
        np.bincount(labels[3 * i : 3 * i + 3], weights[3 * i : 3 * i + 3]).argmax()
        for i in range(60)
    ]
    for _, test in deal_folds(problem, "cv", 5):
        held = np.unique(test // 3)
        assert_array_equal(np.repeat(held, 3), test // 3)
        assert abs(np.take(heavy, held).sum() - np.sum(heavy) / 5) < 1


def test_too_few_rows_make_no_folds():
    assert deal_folds(unposed(39), "auto", 5) == []
    assert len(deal_folds(unposed(40), "auto", 5)) == 5
    assert len(deal_folds(unposed(39), "cv", 5)) == 5
    # As many as rows of the commonest class.
    few = unposed(3, copies=1)
    for labels, n_folds in (([0, 0, 1], 2), ([0, 0, 0], 3)):
        few.data = few.data[0], np.array(labels), None
        assert len(deal_folds(few, "cv", 5)) == n_folds
    few.data = few.data[0][:2], np.array([0, 1]), None
    assert deal_folds(few, "cv", 5) == []
    given = unposed(60)
    given.folds = [(np.arange(60), np.arange(60, 120))]
    assert deal_folds(given, "auto", 5) is given.folds
    assert deal_folds(given, "ebic", 5) == []


class Products:
    """A path whose mean losses fall up to one of its models and rise from there."""

    best, is_full = 0, False
    rows = ({"order": 1, "tried": 6}, {"order": 2, "tried": 15})
    frontier = SimpleNamespace(
        highest_productive_order=2, coverage=lambda: Products.rows
    )

    def __init__(self, *data, pairs=None):
        control = data[4]
        self.control, self.weights = control, np.full(100, 10.0)
        self.validation = None, self.weights
        self.sizes, self.ratios, self.deviances = [0], [np.inf], [1.0]

    def n_observations(self):
        """All rows and their repeats."""
        return self.weights.sum()

    def extend(self, sizes):
        """Models with so many products."""
        self.sizes += sizes
        self.ratios += [2.0] * len(sizes)
        self.deviances += [1.0] * len(sizes)
        return self

    def losses(self, position, temperature):
        """No two models differ clearly."""
        apart = np.random.default_rng(position).standard_normal(100)
        gap = 1e-3 * abs(position - self.best) + 1e-2 * (temperature != 1.0)
        return 9.0 + gap + apart - apart.mean()

    def model(self, position):
        """Single inputs."""
        return [(j,) for j in range(self.sizes[position])]


def choose(monkeypatch, best, most=99, start=(), memory_budget=1e9):
    """Sizes of the models that are learned, and the choice."""
    paths, shown = [], []

    def path(*data, **options):
        paths.append(Products(*data, **options))
        paths[-1].best = best
        return paths[-1]

    monkeypatch.setattr(_logistic_selection, "LogisticPath", path)
    rows = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    inputs, labels, _ = unposed(60).data
    problem = TrainingData(
        EncodedRows(inputs, np.empty((120, 0), int)), labels, folds=rows
    )
    names = SimpleNamespace(n_categoricals=N, groups=np.arange(N))
    problem = problem._replace(classes=np.arange(2), term_names=names)
    selection, coverage = _logistic_selection.choose_products(
        problem,
        FitSettings(max_order=2, work_budget=0.0, memory_budget=memory_budget),
        start,
        most,
        report=lambda record, terms: shown.append(len(terms)) and False,
    )
    assert len(paths) == 3
    assert len(shown) == len(paths[0].sizes)
    return paths[0].sizes, selection, coverage


@pytest.mark.parametrize(("best", "n_models"), [(0, 16), (3, 16), (4, 21)])
def test_twelve_models_are_learned_after_the_best(monkeypatch, best, n_models):
    sizes, selection, coverage = choose(monkeypatch, best)
    assert len(sizes) == n_models
    assert (selection.position, selection.how) == (0, "cv")
    assert [row["kept"] for row in coverage] == [0, 0]


def test_products_of_a_choice_are_counted():
    path = Products(None, None, None, 2, None).extend([3])
    _, coverage = _logistic_selection._settle(path, [], 1, "cv", [])
    assert [row["kept"] for row in coverage] == [3, 0]


@pytest.mark.parametrize(
    ("room", "start", "most", "largest"),
    [(10, 3, 99, 7), (10, 0, 99, 10), (999, 0, 999, 300), (99, 0, 5, 5), (2, 9, 99, 1)],
)
def test_paths_are_as_long_as_memory_and_samples_allow(
    monkeypatch, room, start, most, largest
):
    terms = tuple((j,) for j in range(start))
    # Three paths of 120 rows of 8 bytes.
    budget = 8.0 * 120 * 3 * room
    sizes, *_ = choose(monkeypatch, 99, most, terms, budget)
    assert sizes[-1] == largest


def test_a_batch_has_no_score_far_below_its_best():
    """Of one pass, weaker products wait for the residuals of the next model."""
    inputs, labels = samples(2)
    path = path_of(inputs, labels, None, 2, control())
    pairs = list(combinations(range(N), 2))
    residuals, spreads = path._unexplained()
    chosen, _ = path._select(pairs, residuals, spreads, len(pairs))
    columns = multiply_columns(inputs, pairs)
    around = columns - np.average(columns, axis=0, weights=spreads[:, 0])
    information = np.square(around).T @ spreads[:, 0] + 1.0 / LOGISTIC_SEARCH.C
    scores = np.abs(residuals[:, 0] @ columns) / np.sqrt(information)
    least = SCREENING.min_score_fraction * scores.max()
    expected = np.flatnonzero(scores > least)
    assert {pairs[k] for k in expected} == set(chosen)
    assert len(chosen) < len(pairs)
