"""Detection of anomalies, also among the rows of a fit."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from scipy.stats import false_discovery_control, norm, rankdata
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmohn import EnergyNetOutlierDetector, EnergyNetTransformer
from skmohn.energynet import _anomaly_scores
from skmohn.energynet._anomaly_scores import (
    AnomalyConstants,
    NeighborDistances,
    TailProbabilities,
    alarm_threshold,
    gross_rows,
    trimming_scores,
)

MIX = np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.3, 0.0, 1.0]])


def detector(**parameters):
    return EnergyNetOutlierDetector(**{"random_state": 0, **parameters})


def cheap(**parameters):
    stack = EnergyNetTransformer(n_components=2, n_final_epochs=3)
    return detector(transformer=stack, **parameters)


def clean(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)) @ MIX


def with_cluster(n=300, n_odd=30):
    """Ordinary rows, and after them a cluster far from these."""
    rng = np.random.default_rng(1)
    return np.vstack([clean(n), [5.0, -5.0, 5.0] + 0.2 * rng.normal(size=(n_odd, 3))])


def flags(rng):
    """Noisy copies of three bits, but for five rows."""
    hidden = rng.integers(0, 2, (500, 3))
    X = np.repeat(hidden, 3, axis=1) ^ (rng.random((500, 9)) < 0.03)
    X[:5, ::2] = 1 - X[:5, ::2]
    return X.astype(float)


def categories(rng):
    """The last column follows from the first, but for five rows."""
    a, c, d = (rng.choice(list(of), 500) for of in ("xyz", "pq", "mno"))
    X = np.column_stack([a, c, d, a]).astype(object)
    X[:5, 3] = [{"x": "y", "y": "z", "z": "x"}[of] for of in a[:5]]
    return X


@pytest.mark.parametrize("table", [flags, categories])
def test_broken_relations_of_few_values_are_anomalies(table):
    # The penalty for whitened numbers would not let flags and categories be learned.
    X, is_broken = table(np.random.default_rng(0)), np.arange(500) < 5
    found = detector().fit(X)
    assert roc_auc_score(is_broken, -found.score_samples(X)) > 0.9


@pytest.fixture(scope="module")
def fitted():
    return detector().fit(with_cluster())


def test_a_cluster_among_the_rows_of_fit_is_not_learned(fitted):
    X, is_odd = with_cluster(), np.arange(330) >= 300
    assert not fitted.support_[is_odd].any()
    assert fitted.support_.sum() == 264
    assert fitted.score_samples(X)[is_odd].max() < fitted.score_samples(X)[:300].min()
    assert_array_equal(fitted.predict(X[is_odd]), -1)
    all_kept = detector(trimmed_fraction=0).fit(X)
    assert all_kept.support_.all()
    assert np.median(all_kept.score_samples(X)[is_odd]) > np.median(
        fitted.score_samples(X)[is_odd]
    )


def test_as_many_clean_rows_are_flagged_as_promised(fitted):
    new = clean(2000, seed=5)
    assert 0.002 < np.mean(fitted.predict(new) < 0) < 0.025
    model = detector(false_alarm_rate=0.1).fit(clean(400))
    assert 0.03 < np.mean(model.predict(new) < 0) < 0.2


def one_column(n, rng):
    return rng.normal(size=(n, 1))


def on_a_line(n, rng):
    hidden = rng.normal(size=(n, 1))
    return hidden * [1.0, 2.0] + 0.01 * rng.normal(size=(n, 2))


@pytest.mark.parametrize("draw", [one_column, on_a_line])
def test_clean_rows_beyond_those_that_were_kept_are_no_anomalies(draw):
    # They are many times as far from these as these are from each other.
    rng = np.random.default_rng(0)
    X, new = draw(1000, rng), draw(5000, rng)
    odd = np.full(X.shape, 8.0)[:50] + 0.2 * rng.normal(size=(50, X.shape[1]))
    for train in (X, np.vstack([X, odd])):
        model = detector().fit(train)
        assert 0.002 < np.mean(model.predict(new) < 0) < 0.02
        assert (model.predict(odd) == -1).all()
        # No probability is far lower than that of the lowest of so many rows.
        distance = model._neighbors.measure(new)
        assert model._tails[1].log_survival(distance).min() > 3.0 * np.log(1 / 5000)


def test_contamination_is_the_fraction_found_in_fit():
    X = clean(200)
    model = cheap(contamination=0.1).fit(X)
    assert np.sum(model.predict(X) < 0) == 20
    assert_allclose(model.decision_function(X), model.score_samples(X) - model.offset_)
    assert_array_equal(model.predict(X), cheap(contamination=0.1).fit_predict(X))


def test_a_cluster_that_the_density_learns_is_seen_in_single_columns():
    # A sixth of the rows: trimmed by the density alone, half of them would stay.
    rng = np.random.default_rng(0)
    ordinary = rng.exponential(size=(300, 6))
    odd = 4.0 + 0.3 * rng.normal(size=(60, 6))
    model = detector().fit(np.vstack([ordinary, odd]))
    assert model.support_[300:].mean() < 0.1


@pytest.mark.parametrize(("n_columns", "n_odd"), [(12, 36), (12, 60), (30, 60)])
def test_a_dense_cluster_far_in_many_columns_is_not_learned(n_columns, n_odd):
    # The first density is the highest there.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, n_columns))
    X[:n_odd] = 3.0 * rng.choice([-1, 1], n_columns)
    X[:n_odd] += 0.1 * rng.normal(size=(n_odd, n_columns))
    model = detector().fit(X)
    assert not model.support_[:n_odd].any()
    scores = model.score_samples(X)
    assert scores[:n_odd].max() < scores[n_odd:].min()


def test_no_more_than_half_of_the_rows_are_left_out():
    X = clean(100)
    model = detector(trimmed_fraction=0.4)
    scores = np.array([np.linspace(-3, 3, 100), np.roll(np.linspace(-3, 3, 100), 50)])
    assert model._rows_to_keep(scores, is_last=False).sum() == 50
    assert model._rows_to_keep(scores, is_last=True).sum() >= 60
    assert model.fit(X).support_.sum() == 60


def test_a_cluster_in_one_of_two_related_columns_is_not_learned():
    # Rows that are far in both columns are farther in their tails taken together.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1)) @ np.ones((1, 2)) + 0.5 * rng.normal(size=(300, 2))
    X[:20, 1] = 10.0
    model = detector().fit(X)
    assert not model.support_[:20].any()
    assert (model.predict(X)[:20] == -1).all()


def test_trimming_is_by_ranks_of_densities_and_of_tails():
    rng = np.random.default_rng(0)
    numbers = np.column_stack([rng.exponential(size=40), -rng.exponential(size=40)])
    # The typing error is far to the right, and the tail is the left one.
    numbers[0, 1] = 1e300
    kinds = rng.choice([0.0, 1.0, np.nan], 40, p=[0.7, 0.2, 0.1])
    values = np.column_stack([numbers, kinds])
    net = EnergyNetTransformer(n_components=2, n_final_epochs=1, random_state=0)
    with pytest.warns(UserWarning, match="column 1 has 1e.300, far from all other"):
        net.set_params(categorical_features=[2]).fit(values)
    low = np.log([np.mean(numbers <= row, axis=0) for row in numbers])
    high = np.log([np.mean(numbers >= row, axis=0) for row in numbers])
    labels = np.nan_to_num(kinds, nan=2.0).astype(int)
    counts = np.bincount(labels)
    rare = np.log([counts[counts <= counts[k]].sum() / 40 for k in labels])
    sums = high[:, 0] + low[:, 1], low[:, 0] + high[:, 1]
    tails = np.max([-part - rare for part in sums], axis=0)
    density = rng.normal(size=40)
    found = trimming_scores(density, values, net.coding_)
    ranks = [rankdata(density), rankdata(-tails)]
    expected = norm.ppf((np.array(ranks) - 0.5) / 40)
    assert_allclose(found, expected, atol=1e-12)
    order = rng.permutation(40)
    again = trimming_scores(density[order], values[order], net.coding_)
    assert_array_equal(again, found[:, order])


def test_scores_do_not_depend_on_the_signs_of_columns():
    rng = np.random.default_rng(0)
    X = with_cluster(100, 10)
    # The last column is symmetric, and none of its tails the longer one.
    symmetric = np.tile([-3.0, -1.0, 0.0, 1.0, 3.0], 22)
    X = np.column_stack([X, np.exp(rng.normal(size=110)), symmetric])
    found = cheap().fit(X)
    for j in range(X.shape[1]):
        sign = np.where(np.arange(X.shape[1]) == j, -1.0, 1.0)
        turned = cheap().fit(sign * X)
        assert_array_equal(turned.support_, found.support_)
        scores = turned.score_samples(sign * X)
        assert_allclose(scores, found.score_samples(X), rtol=1e-3)


def test_rows_of_fit_are_scored_as_new_ones_are(fitted):
    # Neither the rows beside a row count, nor that it was there in fit.
    X = with_cluster()
    scores = fitted.score_samples(X)
    assert_array_equal(fitted.score_samples(X[::-1])[::-1], scores)
    assert_allclose(fitted.score_samples(X[7:8]), scores[7], rtol=1e-12)
    nudged = fitted.score_samples(X + 1e-10)
    assert_allclose(nudged[~fitted.support_], scores[~fitted.support_], atol=1e-5)
    # Where the neighbors are others than the row itself, they are closer in the mean.
    assert np.all(nudged[fitted.support_] >= scores[fitted.support_] - 1e-5)


def test_distances_are_those_to_the_nearest_other_rows():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=(30, 2)), rng.integers(0, 3, 30)])
    values[:3] = values[3:6] = values[0]
    net = EnergyNetTransformer(n_components=2, n_final_epochs=1, random_state=0)
    net.set_params(categorical_features=[2]).fit(values)
    kept = np.arange(30) < 25
    neighbors = NeighborDistances.learn(values, kept, net.coding_, 4, 0)
    scale = values[kept, :2].std(axis=0)
    coded = np.hstack([values[:, :2] / scale, values[:, 2:] == np.arange(3)])
    apart = np.sort(cdist(coded, coded[kept]), axis=1)
    itself = apart[:, :1] == 0.0
    expected = np.where(itself, apart[:, 1:5], apart[:, :4]).mean(axis=1)
    # Six rows are equal: of five others, four are as near as can be.
    assert expected[0] == 0.0
    assert itself[:25].all()
    assert not itself[25:].any()
    assert_allclose(neighbors.measure(values), expected, rtol=1e-9, atol=1e-12)


def test_neighbors_are_sought_among_some_of_many_rows(monkeypatch):
    monkeypatch.setattr(
        _anomaly_scores, "ANOMALY", AnomalyConstants(max_neighbor_rows=50)
    )
    X = clean(200)
    model = cheap().fit(X)
    assert model._neighbors.index.n_samples_fit_ == 50
    order = np.random.default_rng(0).permutation(200)
    again = cheap().fit(X[order])
    assert_allclose(again.score_samples(X), model.score_samples(X), rtol=1e-6)


def test_tails_are_those_of_the_bulk_continued():
    scores = np.random.default_rng(0).exponential(3.0, 20_000) + 5.0
    # An eleventh has other scores: it hardly changes the tail, and makes it longer.
    odd = np.append(scores, np.full(2000, 1000.0))
    at = np.array([5.5, 7.0, 14.0, 35.0])
    for sample, tolerance in ((scores, 0.02), (odd, 0.3)):
        tails = TailProbabilities.learn(sample, 0.2)
        expected = -(at - 5.0) / 3.0
        assert_allclose(tails.log_survival(at), expected, rtol=tolerance, atol=0.1)
    assert tails.log_survival(np.array([0.0])) == pytest.approx(0.0, abs=1e-4)
    equal = TailProbabilities.learn(np.ones(10), 0.2)
    assert_array_equal(np.sign(equal.log_survival(np.array([1.0, 3.0]))), [-1, -1])
    assert np.isfinite(equal.log_survival(np.array([1e6]))).all()


def test_tails_reach_the_rows_beyond_the_bulk():
    rng = np.random.default_rng(0)
    bulk, beyond = rng.exponential(0.01, 8000), 0.05 + rng.exponential(3.0, 2000)
    tails = TailProbabilities.learn(np.append(bulk, beyond), 0.2)
    at = np.array([1.0, 5.0, 20.0])
    expected = np.log(0.2) - (at - 0.05) / 3.0
    assert np.all(tails.log_survival(at) < 5.0 * expected)
    assert_allclose(tails.reach(beyond).log_survival(at), expected, rtol=0.05)
    # However far the half that is farther may be; and a tail does not become shorter.
    far = np.where(beyond > np.quantile(beyond, 0.6), 1e9, beyond)
    assert tails.reach(far).decay == tails.reach(beyond).decay
    assert tails.reach(0.01 * beyond + 0.03).decay >= tails.decay
    assert tails.reach(bulk).decay == tails.reach(bulk[:0]).decay == tails.decay


def test_gross_rows_are_those_that_keep_to_a_false_discovery_rate():
    rng = np.random.default_rng(0)
    clean = np.log(rng.random(1000))
    assert not gross_rows(clean).any()
    # A row that is low enough among others as low, and not alone.
    for n_odd, is_found in ((1, False), (100, True)):
        scores = np.append(clean, np.full(n_odd, -10.0))
        found = gross_rows(scores)
        assert_array_equal(found, false_discovery_control(np.exp(scores)) <= 0.001)
        assert found[-1] == is_found


def test_threshold_is_the_conformal_quantile_without_gross_anomalies():
    scores = -np.random.default_rng(0).exponential(size=999)
    assert alarm_threshold(scores, 0.01) == np.sort(scores)[9]
    # Of few rows the last.
    assert alarm_threshold(scores[:50], 0.01) == scores[:50].min()
    gross = np.append(scores, np.full(100, -40.0))
    assert alarm_threshold(gross, 0.01) == np.sort(scores)[9]
    mild = np.append(scores, np.full(100, -8.0))
    assert alarm_threshold(mild, 0.01) <= -8.0


def test_reasons_are_conditional_densities():
    # Of bits all states can be counted.
    rng = np.random.default_rng(0)
    bits = rng.random((200, 3)) < 0.5
    bits[:, 2] = bits[:, 0] ^ (rng.random(200) < 0.1)
    X = bits.astype(float)
    net = EnergyNetTransformer(n_components=3, n_final_epochs=100, random_state=0)
    model = detector(transformer=net, trimmed_fraction=0).fit(X)
    states = np.array(list(product([0.0, 1.0], repeat=3)))
    conditional = np.empty(states.shape)
    for j in range(3):
        flipped = states.copy()
        flipped[:, j] = 1.0 - flipped[:, j]
        score = model.transformer_.score_samples
        conditional[:, j] = -np.logaddexp(0.0, score(flipped) - score(states))
    found = model.explain(states)
    index = (X @ [4, 2, 1]).astype(int)[::2]
    assert_allclose(
        found, np.median(conditional[index], axis=0) - conditional, atol=1e-5
    )
    assert_array_equal(found[1].argsort()[:1], [1])
    # Explained alone, a row has the same reasons, and no attribute is another.
    fresh = detector(transformer=net, trimmed_fraction=0).fit(X)
    before = vars(fresh).copy()
    assert_allclose(fresh.explain(states[3:4]), found[3:4], atol=1e-9)
    assert all(vars(fresh)[name] is value for name, value in before.items())


def test_reasons_name_the_column_that_is_off(fitted):
    row = np.array([[0.1, 0.0, 6.0], [0.0, 0.0, 0.0]])
    reasons = fitted.explain(row)
    assert reasons[0].argmax() == 2
    assert reasons[0, 2] > 3.0 > np.abs(reasons[1]).max()
    row[0, 0] = np.nan
    assert fitted.explain(row)[0, 0] == 0.0


def test_a_new_category_of_a_constant_column_is_a_reason():
    X = pd.DataFrame({"x": np.random.default_rng(0).normal(size=60), "site": "A"})
    model = detector().fit(X)
    rows = X[:2].assign(site=["B", "A"])
    reasons = model.explain(rows)
    # It lowers the score by itself: the other columns are as they were.
    lost = -np.diff(model.transformer_.score_samples(pd.concat([X[:1], rows[:1]])))
    assert_allclose(reasons[:, 1], [lost[0], 0.0])
    assert lost[0] > 3.0
    assert model.reasons_table(rows)["column"][0] == "site"


def mixed(n=300):
    rng = np.random.default_rng(0)
    height = rng.normal(170.0, 8.0, n)
    return pd.DataFrame(
        {
            "height": height,
            "weight": 0.9 * height - 85.0 + rng.normal(0, 5.0, n),
            "sport": np.where(height > 172, "volleyball", "judo"),
        }
    )


def test_tables_of_numbers_and_categories():
    X = mixed(150)
    X.loc[::10, "weight"] = np.nan
    X.loc[::17, "sport"] = None
    # Rows that are left out have a category alone.
    X.loc[1, ["height", "sport"]] = 120.0, "chess"
    model = detector().fit(X)
    new = pd.DataFrame(
        {
            "height": [165.0, 165.0, 165.0, 165.0],
            "weight": [63.0, 63.0, np.nan, 110.0],
            "sport": ["judo", "curling", "judo", "judo"],
        }
    )
    plain, unseen, unknown, heavy = model.score_samples(new)
    assert unseen < plain - 0.5
    assert heavy < plain - 2.0
    assert abs(unknown - plain) < 1.0
    assert model.predict(new)[[0, 2, 3]].tolist() == [1, 1, -1]
    reasons = model.reasons_table(new, max_reasons=1)
    assert list(reasons.columns) == ["row", "column", "value", "nats"]
    found = reasons.set_index("row").loc[[1, 3]]
    assert found["column"].tolist() == ["sport", "weight"]
    assert found["value"].tolist() == ["curling", 110.0]
    assert np.all(reasons["nats"] > 0.0)


def test_scores_do_not_depend_on_units():
    X = with_cluster(90, 6)
    X[::7, 1] = np.nan
    scale = np.array([1.0, 1e-6, 1e3])
    scores = detector().fit(X).score_samples(X)
    others = detector().fit(X * scale).score_samples(X * scale)
    assert np.corrcoef(scores, others)[0, 1] > 0.99
    # Nor is a row suspect, or above suspicion, by what is not known of it.
    is_unknown = np.isnan(X[:90, 1])
    medians = [np.median(scores[:90][mask]) for mask in (is_unknown, ~is_unknown)]
    assert abs(medians[0] - medians[1]) < 0.4


def test_searches_pipelines_and_other_containers():
    X = with_cluster(100, 8)
    y = np.where(np.arange(108) < 100, 1, -1)
    model = make_pipeline(StandardScaler(), cheap())
    name = "energynetoutlierdetector__n_neighbors"
    # Folds of an outlier detector are not stratified by themselves.
    folds = StratifiedKFold(3)
    search = GridSearchCV(model, {name: [2, 5]}, scoring="roc_auc", cv=folds).fit(X, y)
    assert search.best_score_ > 0.95
    order = np.random.default_rng(0).permutation(108)
    out_of_fold = cross_val_predict(cheap(), X[order], cv=3, method="decision_function")
    assert roc_auc_score(y[order], out_of_fold) > 0.95
    fitted = cheap().fit(X)
    expected = fitted.score_samples(X)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).score_samples(X), expected)
    assert_array_equal(cheap().fit(csr_matrix(X)).score_samples(X), expected)
    assert_array_equal(cheap().fit(X.tolist()).score_samples(X.tolist()), expected)
    again = cheap().fit(X[order])
    assert_allclose(again.score_samples(X), expected, rtol=1e-6)
    assert_array_equal(again.support_, fitted.support_[order])


def test_rows_without_which_nothing_can_be_learned_stay():
    # Nine rows in ten are equal, or the only ones of which a column is known.
    equal = np.zeros((40, 2))
    equal[:4] = np.random.default_rng(0).normal(size=(4, 2))
    assert cheap().fit(equal).support_.all()
    X = clean(60)
    X[:, 0] = np.where(np.abs(X[:, 1]) > np.sort(np.abs(X[:, 1]))[-4], 50.0, np.nan)
    model = cheap().fit(X)
    assert not np.isnan(X[model.support_, 0]).all()
    assert np.isfinite(model.score_samples(X)).all()
    two = cheap().fit([[0.0, 1.0], [1.0, 0.0]])
    assert two.predict([[0.0, 1.0], [1.0, 0.0]]).tolist() == [1, 1]


def test_numbers_of_any_size_have_scores():
    X = clean(60)
    X[:, 1] *= 1e100
    model = cheap().fit(X)
    far = X[:3].copy()
    far[:, 1] = [1e300, -1e308, 1e101]
    assert np.isfinite(model.score_samples(far)).all()
    assert model.predict(far)[:2].tolist() == [-1, -1]
    X[0, 2] = 1e300
    assert np.isfinite(cheap().fit(X).score_samples(X)).all()


def test_the_size_of_a_typing_error_moves_no_score():
    scores = []
    for wild in (1e3, 1e300):
        X = clean(60)
        X[0, 2] = wild
        scores.append(cheap().fit(X).score_samples(X[1:]))
    assert_allclose(scores[1], scores[0], atol=1e-6)


def test_categories_unknown_to_all_rows_are_refused_if_the_transformer_does():
    net = EnergyNetTransformer(n_components=2, n_final_epochs=3)
    X = mixed(80)
    X.loc[0, ["height", "sport"]] = 20.0, "chess"
    model = detector(transformer=net).fit(X)
    assert model.transformer_.handle_unknown == "missing"
    assert model.predict(X.iloc[:1]).tolist() == [-1]
    with pytest.raises(ValueError, match="curling"):
        model.predict(X.iloc[:1].assign(sport="curling"))
