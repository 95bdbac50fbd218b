"""Classes of wide tables and of genotypes, against searches that screen all pairs."""

import numpy as np
import pytest

from skmohn import Genotypes, MOHNClassifier, MOHNTransformer
from skmohn.mohn import _training_data
from skmohn.mohn._design import pair_screening as _pairs
from skmohn.mohn._design.design import PackedDesign
from skmohn.mohn._sparse.pair_cache import PairCache


@pytest.fixture
def passes(monkeypatch, replace_constants):
    """Tables of 100 columns are wide; the list grows with each pass."""
    served, run_scans = [], PairCache.run_scans

    def count(pair_cache):
        served.append(sum(len(v.wanted) for v in pair_cache._views if v.is_waiting))
        return run_scans(pair_cache)

    monkeypatch.setattr(PairCache, "run_scans", count)
    replace_constants(_training_data, min_wide=100)
    replace_constants(_pairs, max_kept=200, min_kept=200)
    return served


def wide_problem(n_classes=2, n_samples=400, seed=0):
    """Classes that three single columns and three pairs tell apart."""
    rng = np.random.default_rng(seed)
    X = rng.choice(np.array([-1, 1], dtype=np.int8), (n_samples, 120))
    used = rng.permutation(120)[:9].tolist()
    terms = [(i,) for i in used[:3]]
    terms += [tuple(sorted(used[3 + 2 * k : 5 + 2 * k])) for k in range(3)]
    scores = rng.gumbel(size=(n_samples, n_classes))
    for j, term in enumerate(terms):
        weights = np.cos(np.arange(n_classes) * np.pi / 1.5 ** (j % 2))
        scores += np.outer(X[:, list(term)].prod(axis=1), weights)
    return X, scores.argmax(axis=1), set(terms)


def classifier(**options):
    return MOHNClassifier(
        "logistic", 2, include_inputs=False, random_state=0, **options
    )


@pytest.mark.slow_cases("3-False")
@pytest.mark.parametrize(("n_classes", "is_weighted"), [(2, True), (3, False)])
def test_few_passes_find_what_screening_all_pairs_finds(
    n_classes, is_weighted, passes, monkeypatch, replace_constants
):
    X, y, terms = wide_problem(n_classes)
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y)) if is_weighted else None
    screened, screen = [], PackedDesign.screen
    monkeypatch.setattr(
        PackedDesign,
        "screen",
        lambda design, residual, order, size: (
            screened.append((design.n_features, order)),
            screen(design, residual, order, size),
        )[1],
    )
    model = classifier().fit(X, y, weight)
    assert terms <= set(model.terms_)
    assert 0 < len(passes) <= 12
    # All samples, five folds, and each of more than two classes share the first.
    assert passes[0] == 6 * (1 if n_classes == 2 else n_classes)
    assert (120, 2) not in screened
    n_passes = len(passes)
    replace_constants(_training_data, min_wide=1000)
    plain = classifier().fit(X, y, weight)
    assert plain.terms_ == model.terms_
    assert len(passes) == n_passes
    assert (120, 2) in screened


def test_pairs_that_were_not_kept_are_found_by_a_further_pass(
    passes, replace_constants
):
    replace_constants(_pairs, max_kept=2, min_kept=2)
    X, y, terms = wide_problem()
    assert terms <= set(classifier(selection="ebic").fit(X, y).terms_)
    assert 1 < len(passes) <= 6


def test_passes_stop_where_chance_explains_the_rest(passes):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (300, 120))
    y = rng.integers(2, size=300)
    model = classifier().fit(X, y)
    assert model.terms_ == []
    assert len(passes) <= 4
    two = classifier(n_jobs=2).fit(X, y)
    assert (
        two.history_.to_frame()
        .drop(columns="seconds")
        .equals(model.history_.to_frame().drop(columns="seconds"))
    )


def counts_problem(n_samples=400, n_columns=130, seed=0):
    """Counts of an allele, a tenth of them unknown; two singles and a pair matter."""
    rng = np.random.default_rng(seed)
    counts = rng.binomial(2, 0.4, (n_samples, n_columns)).astype(float)
    z = (counts - 0.8) / 0.7
    scores = 1.5 * z[:, 3] - 1.5 * z[:, 60] + 1.7 * z[:, 10] * z[:, 101]
    y = np.where(scores + rng.logistic(size=n_samples) > 0, "case", "control")
    counts[rng.uniform(size=counts.shape) < 0.1] = np.nan
    return counts, y


def test_genotypes_are_searched_as_they_are(passes, replace_constants):
    counts, y = counts_problem()
    names = [f"rs{j}" for j in range(counts.shape[1])]
    X = Genotypes.from_counts(counts, names=names)
    model = classifier().fit(X, y)
    assert {(3,), (60,), (10, 101)} <= set(model.terms_)
    assert passes
    assert model.score(X, y) > 0.75
    assert model.feature_names_in_.tolist() == names
    # Numbers less their means, 0 where unknown, give the same model.
    z = np.nan_to_num(counts - np.nanmean(counts, axis=0))
    columns = np.stack([z[:, list(t)].prod(axis=1) for t in model.terms_], axis=1)
    scores = columns @ model.weights_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-9)
    chances = 1 / (1 + np.exp(-scores[:5]))
    np.testing.assert_allclose(model.predict_proba(X[:5])[:, 1], chances)
    replace_constants(_training_data, min_wide=1000)
    assert classifier().fit(X, y).terms_ == model.terms_
    total = float(np.sum(model.explain(X[[4]])["contribution"]))
    sign = 1 if model.predict(X[[4]])[0] == model.classes_[1] else -1
    np.testing.assert_allclose(total, sign * scores[4])


def test_given_products_of_genotypes():
    counts, y = counts_problem()
    counts = counts[:, :12]
    X = Genotypes.from_counts(counts)
    terms = [(3,), (1, 5)]
    model = MOHNClassifier("given", terms=terms).fit(X, y)
    assert model.terms_ == terms
    assert model.score(X, y) > 0.6
    assert model.feature_importances_.shape == (12,)
    finder = MOHNTransformer("given", terms=terms).fit(X, y)
    z = np.nan_to_num(counts - np.nanmean(counts, axis=0))
    expected = np.stack([z[:, 3], z[:, 1] * z[:, 5]], axis=1)
    np.testing.assert_allclose(finder.transform(X), expected, atol=1e-12)


@pytest.mark.parametrize("strategy", ["auto", "gp", "pursuit", "full"])
def test_other_strategies_say_what_to_use(strategy):
    counts, y = counts_problem()
    X = Genotypes.from_counts(counts[:, :5])
    estimators = [MOHNClassifier(strategy)]
    if strategy != "gp":
        estimators.append(MOHNTransformer(strategy))
    for estimator in estimators:
        with pytest.raises(
            ValueError, match=r"not take Genotypes.*'logistic', 'given'"
        ):
            estimator.fit(X, y)
        assert not hasattr(estimator, "terms_")
