"""Explanations of ensembles of models of classes: what each column changes, by name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from skmohn import GPOptions, MOHNClassifier
from skmohn.mohn import _stacking
from skmohn.mohn._effects import _average_slopes, split_ensemble

TWO = np.array([-1.0, 1.0])


def draw(n_rows=80):
    """Two numbers, a category and a bit, with labels that follow three of them."""
    rng = np.random.default_rng(0)
    numbers, category = rng.normal(size=(n_rows, 2)), rng.integers(3, size=n_rows)
    X = np.column_stack([numbers, category, rng.integers(2, size=n_rows)])
    score = 2.0 * X[:, 0] - X[:, 1] ** 2 + (X[:, 2] == 1) + 0.5
    return X, (score + rng.logistic(size=n_rows) > 0).astype(int)


@pytest.fixture(scope="module")
def fitted():
    return MOHNClassifier(categorical_features=[2], random_state=0).fit(*draw())


@pytest.mark.parametrize("classes", [TWO, np.array([0.0, 1.0, 0.0])])
def test_slopes_add_up_to_the_score(classes):
    weights = np.array([0.5, 0.3, 0.2, 0.0])
    log_odds = 4.0 * np.random.default_rng(0).normal(size=(4, len(classes)))
    slopes, score = _average_slopes(log_odds, weights, classes)

    def averaged(log_odds):
        return np.log(weights @ softmax(log_odds, axis=1)) @ classes

    assert score == pytest.approx(averaged(log_odds))
    assert np.sum(slopes * log_odds) == pytest.approx(score - averaged(0.0 * log_odds))
    # What the classes have in common moves no probability, nor does what has no share.
    assert_allclose(slopes.sum(axis=1), 0.0, atol=1e-12)
    assert_array_equal(slopes[3], 0.0)
    # The same by differences at many places of the path.
    moved = np.zeros(log_odds.shape)
    moved[2, 0] = 1e-5
    path = (np.arange(500) + 0.5) / 500
    found = [
        (averaged(t * log_odds + moved) - averaged(t * log_odds - moved)) / 2e-5
        for t in path
    ]
    assert slopes[2, 0] == pytest.approx(np.mean(found), abs=1e-5)


def test_slopes_of_one_model_are_those_of_its_log_odds():
    slopes, score = _average_slopes(np.array([[0.0, 3.0]]), np.ones(1), TWO)
    assert_allclose(slopes, [TWO], atol=1e-12)
    assert score == pytest.approx(3.0)


@pytest.mark.parametrize("unknown", [[], [0], [2], [1, 2]])
def test_other_models_are_split_by_column(fitted, unknown):
    row = draw()[0][3]
    row[unknown] = np.nan
    table = fitted.explain(row, 1)
    score = fitted.decision_function(row[None])[0]
    assert table["contribution"].sum() == pytest.approx(score)
    parts = dict(zip(table["term"], table["contribution"], strict=True))
    assert table["term"].iloc[-1] == "(other models)"
    assert ("(missing values)" in parts) == bool(unknown)
    rows = fitted._to_rows(row[None])
    changes, _ = split_ensemble(fitted.model_, fitted.term_names_, rows, TWO)
    names = [f"(other models of x{j})" for j in range(4)]
    assert [parts.get(name, 0.0) for name in names] == changes.tolist()
    assert {name for name in parts if name.startswith("(other models of")} <= set(names)


def test_each_column_has_what_every_model_says_of_it(fitted):
    """One by one: slopes of the ensemble times contributions of its members."""
    model, rows = fitted.model_, fitted._to_rows(draw()[0][5:6])
    log_odds = np.array([member.log_odds(rows)[0] for member in model.members])
    slopes, _ = _average_slopes(log_odds, model.ensemble_weights, TWO)
    sparse, *others = model.members
    assert sparse.name == "sparse"
    assert {"additive", "least squares, lines"} < {member.name for member in others}

    def split(member, slope):
        coding = fitted.coding_
        columns = [*coding.usable, *(own[0] for own in coding.categoricals)]
        if hasattr(member, "whole"):
            lines = fitted.term_names_.without_levels()
            parts = member.split(rows, lines, slope)
        else:
            parts = member.split(rows, slope)
        return np.bincount(columns[: len(parts)], parts, minlength=4)

    expected = sum(map(split, others, slopes[1:])) - split(model.shown or model.gp, TWO)
    values, _ = sparse.parts(rows, fitted.term_names_)
    parts = slopes[0, 1] * sparse.listed_model.weights[0] * values
    for term, part in zip(sparse.listed_model.terms, parts, strict=True):
        for member in fitted.term_names_.label(term):
            j = member[0] if isinstance(member, tuple) else member
            expected[j] += part / len(term)
    changes, _ = split_ensemble(model, fitted.term_names_, rows, TWO)
    assert not model.is_sparse
    assert_allclose(changes, expected, atol=1e-9)
    assert np.abs(expected).max() > 0.01


def test_a_gaussian_process_alone_of_three_classes_is_normalized(monkeypatch):
    monkeypatch.setattr(
        _stacking, "needs_logistic_likelihood", lambda member_fits, _: [False]
    )
    X, y = draw(60)
    y[X[:, 1] > 1.0] = 2
    lines = GPOptions(numeric="multilinear")
    model = MOHNClassifier("gp", gp_options=lines, random_state=0)
    model.fit(X[:, [0, 1, 3]], y)
    assert len(model.ensemble_weights_) == 1
    scores = model.decision_function(X[:1, [0, 1, 3]])[0]
    for k, label in enumerate(model.classes_):
        table = model.explain(X[0, [0, 1, 3]], label)
        assert table["contribution"].sum() == pytest.approx(scores[k])
        assert table["term"].iloc[-1] == "(normalization)"
