"""Models of noisy data: criterion, folds, precision and recall."""

import math
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betaln
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LassoCV
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from skmohn import MOHNRegressor, MOHNTransformer
from skmohn._core._sklearn import lasso_cv
from skmohn._core._units import power_of_two_scale
from skmohn.datasets import make_ising, make_sparse_walsh
from skmohn.mohn._design.design import DenseDesign, PackedDesign
from skmohn.mohn._design.terms import log_comb
from skmohn.mohn._options import FitSettings
from skmohn.mohn._sparse import model_selection as _selection
from skmohn.mohn._sparse import solve as _solve
from skmohn.mohn._sparse.pursuit import PursuitControl
from skmohn.mohn._sparse.solve import solve_pursuit
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._training_data import TrainingData

# ----------------------------------------------------------------------- criterion


@pytest.mark.parametrize(("n", "k"), [(5, 0), (5, 5), (5, 2), (4950, 17)])
def test_logarithm_of_binomials(n, k):
    assert log_comb(n, k) == pytest.approx(-math.log(n + 1) - betaln(n - k + 1, k + 1))


def test_binomials_of_more_sets_than_floats_count():
    n_sets = math.comb(1000, 20)
    assert log_comb(n_sets, 2) == pytest.approx(2 * math.log(n_sets) - math.log(2))


def test_ebic_by_hand():
    """n log(RSS / n) + (weights + 1) log n + 2 sum over orders log(sets, chosen)."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (80, 10))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(80)
    terms = [(0,), (1, 2), (3, 4), (5, 6, 7)]
    A = np.stack([X[:, list(term)].prod(axis=1) for term in [(), *terms]], axis=1)
    rss = np.linalg.lstsq(A, y)[1][0]
    # One of ten single inputs, two of 45 pairs, one of 120 triples.
    code = math.log(10) + math.log(45 * 44 / 2) + math.log(120)
    expected = 80 * math.log(rss / 80) + 5 * math.log(80) + 2 * code
    assert _selection._ebic(PackedDesign(X), y, terms) == pytest.approx(expected)
    weighted = _selection._ebic(DenseDesign(X, np.full(80, 2.0)), y, terms)
    assert weighted == pytest.approx(
        160 * math.log(rss / 80) + 5 * math.log(160) + 2 * code
    )


def test_ebic_of_the_constant_alone():
    y = np.arange(10.0)
    X = np.resize([-1.0, 1.0], (10, 3))
    expected = 10 * math.log(np.var(y)) + math.log(10)
    assert _selection._ebic(PackedDesign(X), y, []) == pytest.approx(expected)


def test_ebic_of_what_is_explained_to_the_last_bit():
    """A target of steps of 1 / 2 has at least the variance of rounding, 1 / 48."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], (20, 4))
    y = 0.25 * X[:, 0] * X[:, 1]
    expected = 20 * math.log(1 / 48) + 2 * math.log(20) + 2 * math.log(6)
    assert _selection._ebic(PackedDesign(X), y, [(0, 1)]) == pytest.approx(expected)


@pytest.mark.parametrize("weights", [np.ones(400), np.repeat([1.0, 3.0], 200)])
@pytest.mark.parametrize(("gap", "sparsest"), [(0.9, 0), (1.1, 2)])
def test_sparsest_within_one_standard_error_of_the_best(weights, gap, sparsest):
    """The error of a mean is the deviation over the root of the number of samples."""
    apart = np.random.default_rng(0).standard_normal(400)
    apart -= np.average(apart, weights=weights)
    apart /= np.sqrt(np.average(apart**2, weights=weights))
    best = np.full(400, 5.0)
    excess = gap / np.sqrt(weights.sum())
    errors = [best + apart + excess, best + apart + 1.2 * gap, best]
    found = _selection.sparsest_of_the_best(np.array(errors), weights)
    assert found == (sparsest, 2)


@pytest.mark.filterwarnings("ignore:the samples are too few")
@pytest.mark.parametrize("seed", [69, 79, 147, 200])
def test_whole_weights_are_repeated_rows(seed):
    """Few rows have many columns that say the same, and ways to screen them differ."""
    rng = np.random.default_rng(seed)
    n, n_features = int(rng.integers(5, 40)), int(rng.integers(2, 9))
    X = rng.choice([-1.0, 1.0], (n, n_features))
    y = X[:, 0] + X[:, 1] * X[:, -1]
    y += rng.standard_normal(n) * rng.choice([0.1, 0.5, 1, 3])
    weights = rng.integers(1, 4, n)
    rows = np.repeat(np.arange(n), weights)
    model = MOHNRegressor("pursuit", selection="ebic", random_state=0)
    weighted = model.fit(X, y, weights)
    repeated = clone(model).fit(X[rows], y[rows])
    assert weighted.terms_ == repeated.terms_
    assert weighted.weights_ == pytest.approx(repeated.weights_)
    assert weighted.noise_std_ == pytest.approx(repeated.noise_std_)


class Path:
    """A path whose errors fall up to one of its models and rise from there."""

    best, max_weights = 0, 99

    def __init__(self, design, y, control, validation=None, **options):
        self.terms, self.errors, self.validation = [], [], validation
        self.is_full = False

    def extend(self, bars):
        """Another model for each bar, while there are samples for more weights."""
        for _ in bars:
            if not self.is_full:
                self.errors.append(np.full(30, 1.0 + abs(len(self.terms) - self.best)))
                self.terms.append([(j,) for j in range(len(self.terms) + 1)])
                self.is_full = len(self.terms) == self.max_weights
        return self

    def error(self, position):
        """Squared error of each sample."""
        return self.errors[position]

    def mean_error(self, position):
        """Its mean."""
        return self.errors[position].mean()


@pytest.mark.parametrize(
    ("best", "most", "n_bars"),
    [
        (0, 99, 4),
        (2, 99, 4),
        # The last bar so far: the next four are tried.
        (3, 99, 8),
        (4, 99, 8),
        (7, 99, 12),
        (11, 99, 12),
        # As many weights as the samples support.
        (3, 4, 4),
        (4, 6, 6),
        (5, 6, 6),
    ],
)
@pytest.mark.parametrize("how", ["validation", "ebic"])
def test_lower_bars_are_tried_while_the_last_is_the_best(
    monkeypatch, best, most, n_bars, how
):
    paths = []

    def path(*data, **options):
        paths.append(Path(*data, **options))
        paths[-1].best, paths[-1].max_weights = best, most
        return paths[-1]

    def pursuit(design, y, control, start):
        return SimpleNamespace(significant_terms=lambda: [*start, "significant"])

    def ebic(design, y, terms):
        return abs(len(terms) - 1 - best)

    monkeypatch.setattr(_selection, "RegularizationPath", path)
    monkeypatch.setattr(_selection, "Pursuit", pursuit)
    monkeypatch.setattr(_selection, "_ebic", ebic)
    X = np.random.default_rng(0).choice([-1.0, 1.0], (30, 8))
    held = SimpleNamespace(data=(X, X[:, 0], None)) if how == "validation" else None
    samples = SimpleNamespace(
        inputs=X,
        rows=SimpleNamespace(group=None),
        y=X[:, 0],
        data=(X, X[:, 0], None),
        validation=held,
        folds=None,
        seed=0,
    )
    choice = _selection.choose_model(_selection.PathValidation(None, samples, None))
    assert {len(path.terms) for path in paths} == {n_bars}
    terms = [(j,) for j in range(best + 1)]
    if held and best < 4:
        # What is significant of all samples is kept where few weights are the best.
        terms.append("significant")
    assert choice.terms == terms
    assert choice.limited == (best == most - 1)
    assert choice.how == how


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([4.0, 3.0, 2.0, 1.0], [True, False, False, True]),
        # The third bar predicts worse than the second: lower ones fit noise.
        ([4.0, 2.0, 3.0, 1.0], [True, False, False, False]),
        ([4.0, 2.0, 2.0, 1.0], [True, False, False, True]),
        (None, [True, False, False, True]),
    ],
)
def test_a_stage_ends_with_all_pairs_where_lower_bars_have_helped(
    monkeypatch, errors, expected
):
    asked = []

    class Search(SimpleNamespace):
        def __init__(self, *data, start, pairs):
            super().__init__(design=design, model=[], is_exact=lambda: False)

        def descend(self, bar, is_thorough):
            yield from ()
            asked.append(is_thorough)
            return []

    design = PackedDesign(np.ones((30, 2)))
    validation = None if errors is None else (design, np.zeros(30), np.ones(30))
    path = _selection.RegularizationPath(design, np.zeros(30), None, validation)
    monkeypatch.setattr(_selection, "Pursuit", Search)
    monkeypatch.setattr(
        path, "_squared_errors", lambda _: np.full(30, errors[len(asked) - 1])
    )
    path.extend(0.9 ** np.arange(4))
    assert asked == expected


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([[4.0, 3.0, 2.0, 1.0], [2.0, 1.0, 2.0, 2.0]], True),
        ([[4.0, 3.0, 2.0, 3.0], [2.0, 1.0, 2.0, 2.0]], False),
        # The second path has ended early.
        ([[4.0, 3.0, 2.0, 1.5], [2.0, 1.0]], True),
        ([], True),
    ],
)
def test_a_path_that_is_not_validated_follows_those_that_are(errors, expected):
    guides = []
    for means in errors:
        validation = None, np.zeros(30), np.ones(30)
        guides.append(_selection.RegularizationPath(None, None, None, validation))
        guides[-1].errors = [np.full(30, mean) for mean in means]
    assert (
        _selection.RegularizationPath(None, None, None, guides=guides)._gains()
        == expected
    )


# -------------------------------------------------------------------- noisy data


def precision_and_recall(model, problem):
    found, true = set(model.terms_), set(problem.terms)
    return len(found & true) / max(len(found), 1), len(found & true) / len(true)


@pytest.mark.slow_cases(r"3-800-0\.85")
@pytest.mark.parametrize(
    ("snr", "n_samples", "min_recall"),
    [(3, 800, 0.85), pytest.param(10, 500, 0.97, marks=pytest.mark.slow)],
)
def test_noisy_ising(snr, n_samples, min_recall):
    problem = make_ising((5, 5), n_samples=n_samples, snr=snr, random_state=0)
    model = MOHNRegressor("pursuit", random_state=0).fit(problem.X, problem.y)
    assert model.stopping_reason_.startswith("noise: ")
    assert model.noise_std_ == pytest.approx(problem.noise, rel=0.25)
    precision, recall = precision_and_recall(model, problem)
    assert precision >= 0.95
    assert recall >= min_recall


@pytest.mark.slow_cases("3-300")
@pytest.mark.parametrize(
    ("order", "n_samples"), [(3, 300), pytest.param(5, 500, marks=pytest.mark.slow)]
)
def test_noisy_parities_without_parents(order, n_samples):
    """What only an exhaustive screening finds must survive the validation."""
    problem = make_sparse_walsh(
        30, {order: 3}, heredity=None, n_samples=n_samples, snr=10, random_state=0
    )
    model = MOHNRegressor("pursuit", random_state=0).fit(problem.X, problem.y)
    precision, recall = precision_and_recall(model, problem)
    assert recall == 1
    assert precision >= 0.5
    assert model.noise_std_ == pytest.approx(problem.noise, rel=0.2)


@pytest.mark.slow_cases("1")
@pytest.mark.parametrize("seed", [0, 1])
def test_what_all_rows_recover_is_kept_where_folds_recover_nothing(seed):
    """With 480 rows no search finds the couplings, with 600 it finds them all."""
    problem = make_ising(
        (8, 8), n_samples=600, snr=1e4, optimum=False, random_state=seed
    )
    model = MOHNRegressor("pursuit", max_order=2, random_state=0)
    model.fit(problem.X, problem.y)
    precision, recall = precision_and_recall(model, problem)
    assert recall == 1
    assert precision >= 0.98
    assert "the search of all samples" in model.stopping_reason_
    strict = model.set_params(selection="cv").fit(problem.X, problem.y)
    assert precision_and_recall(strict, problem)[1] < 0.2


def test_errors_of_the_search_of_all_rows_are_those_of_its_terms():
    problem = make_ising((6, 6), n_samples=250, snr=1e3, random_state=0)
    X, y = problem.X, problem.y
    samples = TrainingData(EncodedRows(X, np.empty((250, 0), dtype=int)), y)
    settings = FitSettings(max_order=2)
    choice = solve_pursuit(samples, settings, lambda *record: False).selection
    assert choice.how == "whole"
    assert set(choice.terms) == set(problem.terms)
    columns = [X[:, list(term)].prod(axis=1) for term in choice.terms]
    A = np.column_stack([np.ones(250), *columns])
    for (train, test), error in zip(choice.folds, choice.errors, strict=True):
        coef = np.linalg.lstsq(A[train], y[train])[0]
        unit = power_of_two_scale(y)
        assert error * unit**2 == pytest.approx(
            np.mean((y[test] - A[test] @ coef) ** 2)
        )


def test_noise_is_never_called_exact():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (100, 10))
    model = MOHNRegressor("pursuit", selection="cv", random_state=0)
    model.fit(X, rng.standard_normal(100))
    assert len(model.terms_) <= 3
    assert model.stopping_reason_.startswith("noise: ")
    assert model.noise_std_ == pytest.approx(1, rel=0.25)


def test_errors_of_significant_weights_are_those_of_least_squares():
    problem = make_ising((4, 4), n_samples=600, snr=10, random_state=0)
    model = MOHNRegressor("pursuit", selection="cv", random_state=0).fit(
        problem.X, problem.y
    )
    columns = [problem.X[:, list(term)].prod(axis=1) for term in model.terms_]
    A = np.column_stack([np.ones(600), *columns])
    coef, rss = np.linalg.lstsq(A, problem.y)[:2]
    assert model.weights_ == pytest.approx(coef[1:])
    noise = math.sqrt(rss[0] / (600 - A.shape[1]))
    assert model.noise_std_ == pytest.approx(noise)
    errors = noise * np.sqrt(np.diag(np.linalg.inv(A.T @ A)))
    assert model.standard_errors_ == pytest.approx(errors[1:])


@pytest.mark.parametrize("selection", ["cv", "ebic", "lasso"])
def test_selection_is_as_asked_for(selection):
    problem = make_ising((3, 3), n_samples=200, snr=5, random_state=0)
    model = MOHNRegressor("pursuit", selection=selection, random_state=0)
    model.fit(problem.X, problem.y)
    words = {"cv": "k-fold", "ebic": "extended BIC", "lasso": "lasso"}
    assert words[selection] in model.stopping_reason_
    assert np.isnan(model.standard_errors_).all() == (selection == "lasso")
    assert set(problem.terms) <= set(model.terms_)


def test_few_rows_are_judged_by_the_extended_bic():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (30, 4))
    y = 3 * X[:, 0] + 0.1 * rng.standard_normal(30)
    model = MOHNRegressor("pursuit").fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert "extended BIC" in model.stopping_reason_
    assert (0,) in model.terms_


@pytest.mark.parametrize(
    ("n_rows", "criterion"), [(39, "extended BIC"), (40, "k-fold")]
)
def test_distinct_rows_alone_make_folds(n_rows, criterion):
    rng = np.random.default_rng(0)
    X = np.unique(rng.choice([-1.0, 1.0], (60, 12)), axis=0)[:n_rows]
    X = np.repeat(X, 2, axis=0)
    y = 3 * X[:, 0] + 0.1 * rng.standard_normal(2 * n_rows)
    model = MOHNRegressor("pursuit", max_order=1, random_state=0).fit(X, y)
    assert criterion in model.stopping_reason_


@pytest.mark.parametrize(
    ("n_features", "n_samples", "best", "is_worth"),
    [
        (19, 2000, 0, True),  # 190 columns of all pairs and single inputs
        (19, 2200, 0, False),
        (19, 2200, 3, False),  # the last bar of the first stage
        (19, 2200, 4, True),  # by chance weights help: what costs more is affordable
        (99, 1000, 4, True),
        (99, 1020, 4, False),
    ],
)
def test_the_lasso_is_tried_where_it_is_cheap(n_features, n_samples, best, is_worth):
    design = SimpleNamespace(n_features=n_features, n_samples=n_samples)
    assert _selection._worth_shrinking(design, best) == is_worth


def test_dense_functions_are_predicted_as_well_as_by_the_lasso():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (400, 10))
    pairs = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    columns = pairs.fit_transform(X)
    y = columns @ rng.standard_normal(columns.shape[1]) + 3 * rng.standard_normal(400)
    ours = MOHNRegressor("pursuit", random_state=0).fit(X[:200], y[:200])
    lasso = LassoCV(random_state=0).fit(columns[:200], y[:200])
    assert ours.score(X[200:], y[200:]) >= lasso.score(columns[200:], y[200:]) - 0.05


def make_pairs(n_samples=120):
    """All products of two of eight columns matter."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n_samples, 8))
    pairs = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    columns = pairs.fit_transform(X)
    noise = 3 * rng.standard_normal(n_samples)
    return X, columns @ rng.standard_normal(columns.shape[1]) + noise


@pytest.mark.parametrize("max_order", [1, 2])
def test_the_lasso_is_on_all_products_that_are_allowed(max_order):
    model = MOHNRegressor("pursuit", max_order=max_order, random_state=0)
    model.set_params(selection="lasso").fit(*make_pairs())
    assert {len(term) for term in model.terms_} == set(range(1, max_order + 1))


def test_the_lasso_is_on_products_of_more_columns_that_stand_out():
    X, y = make_pairs()
    model = MOHNRegressor("pursuit", selection="lasso", random_state=0)
    model.fit(X, y + 9 * X[:, 0] * X[:, 1] * X[:, 2])
    assert (0, 1, 2) in model.terms_


def test_the_lasso_is_that_of_scikit_learn_with_its_errors():
    X, y = make_pairs()
    folds = list(KFold(3).split(X))
    path = SimpleNamespace(terms=[], control=PursuitControl(2))
    choice = _selection._shrink(PackedDesign(X), y, path, folds, None)
    terms = [t for k in (1, 2) for t in combinations(range(8), k)]
    columns = np.stack([X[:, list(term)].prod(axis=1) for term in terms], axis=1)
    search = lasso_cv(40, eps=1e-2, cv=folds).fit(columns, y)
    assert search.alphas_[-1] < search.alpha_ < search.alphas_[0]
    model, errors = Lasso(search.alpha_, tol=1e-10), []
    for train, test in folds:
        model.fit(columns[train], y[train])
        errors.append(np.mean((y[test] - model.predict(columns[test])) ** 2))
    assert_allclose(choice.errors, errors, rtol=1e-3)
    model.fit(columns, y)
    assert choice.terms == [terms[j] for j in np.flatnonzero(model.coef_)]
    assert_allclose(choice.coef, model.coef_[model.coef_ != 0], rtol=1e-5)
    assert choice.intercept == pytest.approx(model.intercept_)


@pytest.mark.parametrize("make_design", [PackedDesign, DenseDesign])
def test_the_lasso_has_one_of_equal_products(make_design):
    X, y = make_pairs()
    folds = list(KFold(3).split(X))
    path = SimpleNamespace(terms=[], control=PursuitControl(2))
    choice = _selection._shrink(make_design(X), y, path, folds, None)
    repeated = make_design(X[:, [0, 1, 2, 3, 4, 5, 6, 7, 2, 0]])
    found = _selection._shrink(repeated, y, path, folds, None)
    assert found.terms == choice.terms
    assert_allclose(found.coef, choice.coef, rtol=1e-5)
    assert_allclose(found.errors, choice.errors, rtol=1e-5)


def test_two_folds_may_say_that_the_lasso_is_clearly_better():
    model = MOHNRegressor("pursuit", cv=2, random_state=0).fit(*make_pairs())
    assert "lasso" in model.stopping_reason_


# ------------------------------------------------------------------------- folds


def test_equal_rows_share_a_fold(monkeypatch):
    """Copies in another fold would praise the model that learns them by heart."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.choice([-1.0, 1.0], (60, 8)), 3, axis=0)
    y = X[:, 0] + rng.standard_normal(180)
    folds = []
    make_fold = _selection.PathValidation._fold

    def spy(path_validation, train, test):
        folds.append((train, test))
        return make_fold(path_validation, train, test)

    monkeypatch.setattr(_selection.PathValidation, "_fold", spy)
    MOHNRegressor("pursuit", selection="cv", max_order=2, random_state=0).fit(X, y)
    assert len(folds) == 5
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), range(180))
    for train, test in folds:
        assert len(test) >= 30
        assert not set(map(tuple, X[train])) & set(map(tuple, X[test]))


@pytest.mark.parametrize(("term", "most"), [((0,), 2), ((0, 1, 2), 3)])
def test_folds_leave_alone_orders_that_gave_nothing(monkeypatch, term, most):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 8))
    y = X[:, term].prod(axis=1) + 0.3 * rng.standard_normal(200)
    asked, choose = [], _solve.choose_model

    def spy(path_validation, **options):
        choice = choose(path_validation, **options)
        controls = [path.control for path in path_validation.paths[1]]
        asked.extend(control.max_screened for control in controls)
        return choice

    monkeypatch.setattr(_solve, "choose_model", spy)
    MOHNRegressor("pursuit", selection="cv", max_order=3, random_state=0).fit(X, y)
    assert asked == 5 * [most]


# The lasso shrinks what it keeps.
@pytest.mark.parametrize(("learning_rule", "least"), [("ols", 0.9), ("lasso", 0.6)])
def test_samples_that_are_too_few_are_a_warning(learning_rule, least):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.choice([-1.0, 1.0], (60, 12)), 5, axis=0)
    y = np.repeat(rng.standard_normal(60), 5)
    # Folds that copies can cross let the search go on until it has no more samples.
    split = KFold(5, shuffle=True, random_state=0)
    model = MOHNRegressor("pursuit", learning_rule, cv=split, random_state=0)
    model.set_params(selection="cv")
    with pytest.warns(ConvergenceWarning, match="the samples are too few"):
        # Samples of different groups are no copies.
        model.fit(X, y, groups=np.arange(300))
    assert model.score(X, y) > least


@pytest.mark.parametrize("cv", [3, KFold(4), ShuffleSplit(3, random_state=0), None])
def test_folds_may_be_chosen(cv):
    problem = make_ising((4, 4), n_samples=300, snr=10, random_state=0)
    model = MOHNRegressor("pursuit", selection="cv", cv=cv, random_state=0)
    precision, recall = precision_and_recall(model.fit(problem.X, problem.y), problem)
    assert recall == 1
    assert precision > 0.9


def test_folds_keep_their_rows_when_some_have_no_weight():
    problem = make_ising((4, 4), n_samples=300, snr=10, random_state=0)
    X = np.vstack([problem.X, -problem.X[:60]])
    y = np.append(problem.y, np.full(60, 1e3))
    weights = np.append(np.ones(300), np.zeros(60))
    order = np.random.default_rng(0).permutation(360)
    X, y, weights = X[order], y[order], weights[order]
    cv = list(KFold(4).split(X))
    model = MOHNRegressor("pursuit", selection="cv", cv=cv, random_state=0).fit(
        X, y, weights
    )
    precision, recall = precision_and_recall(model, problem)
    assert recall == 1
    assert precision > 0.9


@pytest.mark.parametrize("selection", ["cv", "lasso"])
def test_folds_without_weight_are_left_out(selection):
    problem = make_sparse_walsh(8, 6, n_samples=120, snr=4, random_state=0)
    X, y = problem.X, problem.y
    weights = np.where(np.arange(120) < 30, 0.0, 1.0)
    model = MOHNRegressor("pursuit", selection=selection, random_state=0)
    model.set_params(cv=list(KFold(4).split(X))).fit(X, y, weights)
    alone = clone(model).set_params(cv=list(KFold(3).split(X[30:])))
    assert model.terms_ == alone.fit(X[30:], y[30:]).terms_
    assert_array_equal(model.weights_, alone.weights_)
    only = [(np.arange(30, 120), np.arange(30)), (np.arange(30), np.arange(30, 120))]
    with pytest.raises(ValueError, match="cv has no fold"):
        model.set_params(cv=only).fit(X, y, weights)


@pytest.mark.parametrize("selection", ["cv", "lasso", "auto"])
def test_one_fold_may_be_all(selection):
    problem = make_sparse_walsh(8, 6, n_samples=100, snr=4, random_state=0)
    split = [(np.arange(70), np.arange(70, 100))]
    model = MOHNRegressor("pursuit", selection=selection, cv=split)
    model.fit(problem.X, problem.y)
    kind = "lasso" if selection == "lasso" else "k-fold"
    assert kind in model.stopping_reason_


@pytest.mark.parametrize("estimator", [MOHNRegressor("pursuit"), MOHNTransformer()])
def test_groups_reach_the_splitter(estimator):
    problem = make_sparse_walsh(8, 6, n_samples=120, snr=4, random_state=0)
    groups = np.random.default_rng(0).integers(9, size=120)
    given = list(GroupKFold(3).split(problem.X, problem.y, groups))
    known = clone(estimator).set_params(cv=given, random_state=0, selection="cv")
    known.fit(problem.X, problem.y)
    routed = clone(known).set_params(cv=GroupKFold(3))
    routed.fit(problem.X, problem.y, groups=groups)
    assert routed.terms_ == known.terms_
    routed.set_params(cv=KFold(3))
    with pytest.raises(ValueError, match="rows of one group in both parts of fold 0"):
        routed.fit(problem.X, problem.y, groups=groups)
    routed.set_params(cv=GroupKFold(3))
    with config_context(enable_metadata_routing=True):
        routed.set_fit_request(groups=True).fit(problem.X, problem.y, groups=groups)
        assert routed.terms_ == known.terms_
        pipeline = make_pipeline(clone(routed)).fit(problem.X, problem.y, groups=groups)
    assert pipeline[-1].terms_ == known.terms_


@pytest.mark.parametrize("selection", ["cv", "lasso", "auto"])
def test_number_of_jobs_is_irrelevant(selection):
    problem = make_sparse_walsh(8, 6, n_samples=100, snr=4, random_state=0)
    model = MOHNRegressor("pursuit", selection=selection, random_state=0)
    serial = clone(model).fit(problem.X, problem.y)
    with parallel_config(backend="threading"):
        parallel = model.set_params(n_jobs=2).fit(problem.X, problem.y)
    assert parallel.terms_ == serial.terms_
    assert_array_equal(parallel.weights_, serial.weights_)
    assert parallel.noise_std_ == serial.noise_std_


def test_validation_samples_take_the_place_of_the_folds():
    problem = make_ising((4, 4), n_samples=400, snr=10, random_state=0)
    model = MOHNRegressor("pursuit").fit(
        problem.X[:300], problem.y[:300], X_val=problem.X[300:], y_val=problem.y[300:]
    )
    assert "validation samples" in model.stopping_reason_
    precision, recall = precision_and_recall(model, problem)
    assert recall == 1
    assert precision > 0.9
