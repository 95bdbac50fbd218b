"""Further samples of classes: batches, what they equal, what is refused."""

import copy
import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skmohn import GPOptions, MOHNClassifier
from skmohn.mohn._gp import classification as dense_classes
from skmohn.mohn._gp import model as gaussian_process
from skmohn.mohn._table.coding import InputCoding

N_FIRST, N_ROWS = 60, 150
FIRST, REST = slice(N_FIRST), slice(N_FIRST, None)
NUMBERS = np.arange(5.0)


def table(seed=0):
    """Bits, categories and numbers, a tenth of them unknown."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(2, size=(N_ROWS, 3)), columns=list("abc"))
    frame["site"] = rng.choice(["n", "s", "w"], N_ROWS)
    # All five among the first: levels and range are those of all rows.
    frame["dose"] = np.append(NUMBERS, rng.choice(NUMBERS, N_ROWS - 5))
    score = frame["a"] * frame["dose"] - frame["b"] + 2.0 * (frame["site"] == "w")
    score += rng.normal(size=N_ROWS)
    hidden = rng.random(frame.shape) < 0.1
    hidden[:5] = False
    return frame.mask(hidden), score


FRAME, SCORE = table()
LABELS = {
    2: np.where(SCORE > 1.5, "high", "low"),
    3: np.array(["c", "a", "b"])[np.digitize(SCORE, [0.5, 2.5])],
}


def started(estimator, y, weights=None):
    """What a first call leaves."""
    weights = None if weights is None else weights[FIRST]
    return clone(estimator).partial_fit(FRAME[FIRST], y[FIRST], np.unique(y), weights)


def go_on(model, y, batches, weights=None):
    """Learn further, a batch at a time."""
    model = copy.deepcopy(model)
    for rows in batches:
        weight = None if weights is None else weights[rows]
        model.partial_fit(FRAME.iloc[rows], y[rows], sample_weight=weight)
    return model


def hold_means(model, monkeypatch):
    """Let missing values of later fits be what they are in this one."""
    learn = InputCoding.center_missing

    def center_missing(coding, rows, sample_weight):
        coding, _ = learn(coding, rows, sample_weight)
        coding = replace(coding, centers=model.coding_.centers)
        means = coding._centers[coding.usable]
        inputs = np.where(rows.mask(), means, rows.inputs)
        return coding, replace(rows, inputs=inputs)

    monkeypatch.setattr(InputCoding, "center_missing", center_missing)


def fit_at(model, y, weights, monkeypatch):
    """Fit all rows by the hyperparameters of a model."""
    hold_means(model, monkeypatch)
    # Those of least squares are learned first.
    members = sorted(model.model_.members, key=lambda m: m.likelihood == "logistic")
    given = iter([member.covariance.prior for member in members])

    def take(*args, **kwargs):
        return SimpleNamespace(prior=next(given))

    monkeypatch.setattr(dense_classes, "learn_prior", take)
    monkeypatch.setattr(dense_classes, "maximize_evidence", take)
    return clone(model).fit(FRAME, y, weights)


WEIGHTS = {
    "none": None,
    "whole": np.random.default_rng(1).integers(0, 3, N_ROWS),
    "fractional": np.random.default_rng(2).uniform(0.2, 3.0, N_ROWS),
}


@pytest.mark.slow_cases("(?!(2-balanced-whole|3-balanced-fractional)$).*")
@pytest.mark.parametrize(
    ("n_classes", "class_weight", "weights"),
    [
        (2, None, "none"),
        (2, "balanced", "whole"),
        (3, {"a": 0.5, "b": 1.2, "c": 2.0}, "whole"),
        (3, "balanced", "fractional"),
    ],
)
def test_batches_are_a_fit_of_all_at_the_same_hyperparameters(
    n_classes, class_weight, weights, monkeypatch
):
    y, weights = LABELS[n_classes], WEIGHTS[weights]
    model = MOHNClassifier("gp", class_weight=class_weight, random_state=0)
    first = started(model, y, weights)
    halves = np.array_split(np.arange(N_FIRST, N_ROWS), 2)
    found = go_on(first, y, halves, weights)
    expected = fit_at(first, y, weights, monkeypatch)
    assert [member.name for member in found.model_.members] == [
        "least squares, lines", "logistic, lines",
        "least squares, levels", "logistic, levels",
    ]  # fmt: skip
    rows = found._to_rows(FRAME)
    for own, other in zip(found.model_.members, expected.model_.members, strict=True):
        tolerance = 1e-8 if own.likelihood == "least squares" else 1e-6
        assert_allclose(own.log_odds(rows), other.log_odds(rows), atol=tolerance)
    assert_allclose(
        found.predict_proba(FRAME), expected.predict_proba(FRAME), atol=1e-6
    )
    assert_allclose(
        list(found.ensemble_weights_.values()),
        list(expected.ensemble_weights_.values()),
        atol=1e-6,
    )
    assert found.terms_ == expected.terms_
    assert_allclose(found.weights_, expected.weights_, atol=1e-6)
    assert_allclose(found.intercept_, expected.intercept_, atol=1e-6)
    assert found.stopping_reason_ == expected.stopping_reason_
    assert not np.allclose(found.predict_proba(FRAME), first.predict_proba(FRAME))


@pytest.mark.slow
def test_size_and_order_of_batches_do_not_matter():
    y, weights = LABELS[3], WEIGHTS["fractional"]
    model = MOHNClassifier(class_weight="balanced", random_state=0)
    first = started(model, y, weights)
    assert "sparse" in first.ensemble_weights_
    at_once = go_on(first, y, [np.arange(N_FIRST, N_ROWS)], weights)
    shuffled = np.random.default_rng(0).permutation(np.arange(N_FIRST, N_ROWS))
    few = go_on(first, y, np.split(shuffled, [20, 85]), weights)
    assert_array_equal(few.predict_proba(FRAME), at_once.predict_proba(FRAME))
    assert few.ensemble_weights_ == at_once.ensemble_weights_


@pytest.fixture(scope="module")
def averaged():
    return started(MOHNClassifier(random_state=0), LABELS[2])


def test_few_weights_are_those_of_a_fit_of_all_with_the_same_products(
    averaged, monkeypatch
):
    y, first = LABELS[2], averaged
    hold_means(first, monkeypatch)
    model = go_on(first, y, [np.arange(N_FIRST, N_ROWS)])
    before, after = (part.model_.members[0].listed_model for part in (first, model))
    terms = [first.term_names_.label(term) for term in before.terms]
    given = MOHNClassifier("given", terms=terms, C=before.C).fit(FRAME, y)
    assert after.terms == before.terms
    assert after.C == before.C
    assert_allclose(after.weights, given.weights_, atol=1e-4)
    assert_allclose(after.constants, given.intercept_, atol=1e-4)


def test_few_weights_are_judged_by_what_they_had_not_seen(averaged):
    y, first = LABELS[2], averaged
    model = go_on(first, y, [np.arange(N_FIRST, 100), np.arange(100, N_ROWS)])
    known, observed = first.model_.observed, model.model_.observed
    few = first.model_.members[0]
    places = (y[REST] == first.classes_[1]).astype(int)
    more = few.log_proba(first._to_rows(FRAME[REST]))[np.arange(len(places)), places]
    expected = np.append(known.held_out_log_likelihood, more)
    assert_allclose(np.sort(observed.held_out_log_likelihood), np.sort(expected))
    # The ensemble hardly moves by one sample, though its weights knew all others.
    again = go_on(first, y, [[N_FIRST]])
    shares = [part.ensemble_weights_["sparse"] for part in (first, again)]
    assert shares[1] == pytest.approx(shares[0], abs=0.02)


def test_a_fit_can_be_gone_on_from_and_so_can_its_pickle(averaged):
    y = LABELS[2]
    fitted = MOHNClassifier(random_state=0).fit(FRAME[FIRST], y[FIRST])
    restored = pickle.loads(pickle.dumps(fitted))
    expected = go_on(averaged, y, [np.arange(N_FIRST, N_ROWS)]).predict_proba(FRAME)
    for model in (fitted, restored):
        model.partial_fit(FRAME[REST], y[REST], classes=["low", "high"])
        assert_array_equal(model.predict_proba(FRAME), expected)
        assert model.explain(FRAME[:1], "low")["contribution"].sum() == pytest.approx(
            model.decision_function(FRAME[:1])[0]
        )


def test_gaps_are_filled_with_values_of_all_samples():
    X = np.random.default_rng(0).integers(3, size=(60, 3)).astype(float)
    X[:30, 2] = 0.0
    X[0, 2], X[1, 2] = 1.0, 2.0
    y = X[:, 1] > 0
    model = MOHNClassifier("gp", random_state=0).fit(X[:30], y[:30])
    model.partial_fit(X[30:], y[30:])
    values = model.model_.missing_inputs.numbers[2].inputs
    assert_allclose(np.mean(values > -1.0), np.mean(X[:, 2] > 0), atol=0.1)


def test_unknown_categories_are_refused_or_gaps():
    y = LABELS[2]
    new = FRAME[REST].assign(site="nowhere")
    missing = FRAME[REST].assign(site=None)
    model = started(MOHNClassifier("gp", random_state=0), y)
    before = model.predict_proba(FRAME)
    with pytest.raises(ValueError, match=r"site.*nowhere"):
        model.partial_fit(new, y[REST])
    assert_array_equal(model.predict_proba(FRAME), before)
    lenient = MOHNClassifier("gp", handle_unknown="missing", random_state=0)
    found, expected = (
        started(lenient, y).partial_fit(part, y[REST]).predict_proba(FRAME)
        for part in (new, missing)
    )
    assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("y", "options", "match"),
    [
        (LABELS[2], {}, "classes must be passed on the first call"),
        (LABELS[2], {"classes": ["high", "low", "mid"]}, "'mid', but the first"),
        (LABELS[2], {"classes": ["high", "mid"]}, "'low', which is not among"),
        (LABELS[2], {"classes": ["high"]}, "'low', which is not among"),
        (np.full(N_ROWS, "low"), {"classes": ["low"]}, "only one class"),
        (
            LABELS[3],
            {"classes": list("abc"), "sample_weight": LABELS[3] != "b"},
            "'b', but the first",
        ),
        (LABELS[2][1:], {"classes": ["high", "low"]}, "inconsistent numbers"),
        (None, {"classes": ["high", "low"]}, "requires y"),
    ],
)
def test_first_samples_show_all_classes(y, options, match):
    model = MOHNClassifier("gp")
    with pytest.raises(ValueError, match=match):
        model.partial_fit(FRAME, y, **options)
    assert not hasattr(model, "classes_")


@pytest.fixture(scope="module")
def second():
    return started(MOHNClassifier("gp", random_state=0), LABELS[2])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"y": np.full(9, "mid")}, "'mid', which is not among the classes"),
        ({"classes": ["high", "mid"]}, "not the same as on last call"),
        ({"y": np.full(8, "low")}, "inconsistent numbers"),
        ({"y": None}, "y"),
        ({"y": np.linspace(0, 1, 9)}, "Unknown label type"),
        ({"X": FRAME[:9].drop(columns="dose")}, "feature names"),
        ({"sample_weight": np.zeros(9)}, "zero"),
        ({"sample_weight": -np.ones(9)}, r"[Nn]egative"),
        ({"sample_weight": np.ones(8)}, r"sample_weight\.shape"),
    ],
)
def test_what_fails_changes_nothing(second, change, match):
    model = copy.deepcopy(second)
    given = {"X": FRAME[:9], "y": LABELS[2][:9]} | change
    before = vars(model).copy()
    with pytest.raises(ValueError, match=match):
        model.partial_fit(**given)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"class_weight": {"high": 1.0, "low": 0.0}}, "no weight to 'low'"),
        ({"class_weight": "none"}, "'class_weight' parameter"),
        ({"memory_budget": 1e4}, "memory_budget"),
    ],
)
def test_parameters_that_are_set_meanwhile_are_checked(second, parameters, match):
    model = copy.deepcopy(second).set_params(**parameters)
    with pytest.raises((ValueError, MemoryError), match=match):
        model.partial_fit(FRAME[60:69], LABELS[2][60:69])


def test_samples_without_weight_may_be_anything(second):
    labels = np.append(LABELS[2][60:68], "mid")
    weights = np.append(np.ones(8), 0)
    found, expected = (copy.deepcopy(second) for _ in range(2))
    found.partial_fit(FRAME[60:69], labels, sample_weight=weights)
    expected.partial_fit(FRAME[60:68], labels[:8])
    assert_array_equal(found.predict_proba(FRAME), expected.predict_proba(FRAME))


def test_more_rows_than_have_exact_models_are_refused(second, replace_constants):
    model = copy.deepcopy(second)
    replace_constants(gaussian_process, max_rows_inverted=70)
    model.partial_fit(FRAME[60:65], LABELS[2][60:65])
    before = model.predict_proba(FRAME)
    with pytest.raises(ValueError, match="fit again on all rows, which uses inducing"):
        model.partial_fit(FRAME[65:], LABELS[2][65:])
    assert_array_equal(model.predict_proba(FRAME), before)
    many = clone(model).fit(FRAME, LABELS[2])
    with pytest.raises(
        ValueError, match=r"did not keep them .*fit again on all samples"
    ):
        many.partial_fit(FRAME, LABELS[2])


def test_logistic_likelihoods_are_left_out_where_they_would_take_long(
    second, replace_constants
):
    model = copy.deepcopy(second)
    replace_constants(dense_classes, max_work=6.0 * 70**3)
    model.partial_fit(FRAME[60:65], LABELS[2][60:65])
    assert len(model.ensemble_weights_) == 4
    model.partial_fit(FRAME[REST], LABELS[2][REST])
    assert sorted(model.ensemble_weights_) == [
        "least squares, levels",
        "least squares, lines",
    ]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"strategy": "logistic"}, 'strategy="logistic" does not keep'),
        ({"strategy": "given"}, 'strategy="given" does not keep'),
        ({"max_order": 2}, "max_order requires a sparse model"),
    ],
)
def test_sparse_models_do_not_go_on(options, match):
    model = MOHNClassifier(**options)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as error:
        model.partial_fit(FRAME, LABELS[2], ["high", "low"])
    with pytest.raises(AttributeError, match=match):
        raise error.value.__cause__


def test_nor_do_tables_without_a_column_that_varies():
    X, y = np.ones((10, 2)), [0, 1] * 5
    model = MOHNClassifier().partial_fit(X, y, [0, 1])
    with pytest.raises(ValueError, match=r"no column of X varies.*fit again"):
        model.partial_fit(X, y)


def test_ways_to_take_numbers_stay(second):
    control = GPOptions(numeric="multilinear")
    model = copy.deepcopy(second).set_params(gp_options=control)
    assert len(model.partial_fit(FRAME[:9], LABELS[2][:9]).ensemble_weights_) == 4
