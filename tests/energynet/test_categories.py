"""Columns of categories in the EnergyNet estimators, against sums and integrals."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare
from sklearn.base import clone

from skmohn import (
    EnergyNetClassifier,
    EnergyNetImputer,
    EnergyNetOutlierDetector,
    EnergyNetRegressor,
    EnergyNetTransformer,
    InfiniteRBMOptions,
)
from skmohn.energynet import log_partition

COLORS, WORDS = ["red", "green", "blue"], ["no", "yes"]


def table(n=300, seed=0):
    """Three colors that say most of a number, a word and a switch."""
    rng = np.random.default_rng(seed)
    color = rng.integers(0, 3, n)
    word = np.where(rng.random(n) < 0.9, np.minimum(color, 1), 0)
    return pd.DataFrame(
        {
            "color": pd.Categorical(np.array(COLORS)[color]),
            "size": rng.normal(2.0 * color, 0.5),
            "word": np.array(WORDS)[word],
            "switch": rng.integers(0, 2, n),
        }
    )


X = table()
KINDS = X[["color", "word", "switch"]]


def net(n_components=3, **parameters):
    options = {"n_final_epochs": 40, "n_bins": 3, "random_state": 4}
    return EnergyNetTransformer(n_components=n_components, **options | parameters)


@pytest.fixture(scope="module")
def fitted():
    return net().fit(X)


def every_kind(columns=("color", "word", "switch")):
    values = {"color": COLORS, "word": WORDS, "switch": [0, 1]}
    rows = itertools.product(*(values[name] for name in columns))
    return pd.DataFrame(list(rows), columns=list(columns))


def sizes_between(model):
    """Sizes and weights by which a sum is an integral: Gauss in each level."""
    edges, levels = model.coding_.thresholds[1], model.coding_.levels[1]
    tails = [edges[0] - levels[0], levels[-1] - edges[-1]]
    node, weight = np.polynomial.legendre.leggauss(20)
    x, w = np.polynomial.laguerre.laggauss(30)
    parts = [(edges[0] - tails[0] * x, w * np.exp(x) * tails[0])]
    for low, high in itertools.pairwise(edges):
        half = (high - low) / 2
        parts.append((low + half * (node + 1), weight * half))
    parts.append((edges[-1] + tails[1] * x, w * np.exp(x) * tails[1]))
    return (np.concatenate(part) for part in zip(*parts, strict=True))


def with_size(kinds, size):
    return kinds.assign(size=size)[list(X.columns)]


def test_density_of_a_mixed_table_sums_and_integrates_to_one(fitted):
    kinds, total = every_kind(), 0.0
    sizes, weights = sizes_between(fitted)
    for _, row in kinds.iterrows():
        rows = with_size(pd.DataFrame([row] * len(sizes)), sizes)
        total += np.exp(fitted.score_samples(rows)) @ weights
    assert total == pytest.approx(1.0, abs=1e-6)


def test_missing_values_are_summed_and_integrated_out(fitted):
    sizes, weights = sizes_between(fitted)
    known = with_size(every_kind(), 1.3)
    joint = np.exp(fitted.score_samples(known)).reshape(3, 2, 2)
    missing = every_kind(["word", "switch"]).assign(color=np.nan, size=1.3)
    found = fitted.score_samples(missing[list(X.columns)]).reshape(2, 2)
    assert_allclose(np.exp(found), joint.sum(axis=0), rtol=1e-6)
    row = with_size(every_kind().iloc[[5]], np.nan)
    rows = with_size(pd.concat([every_kind().iloc[[5]]] * len(sizes)), sizes)
    integral = np.exp(fitted.score_samples(rows)) @ weights
    assert np.exp(fitted.score_samples(row)[0]) == pytest.approx(integral, rel=1e-6)
    # The most probable color of each, given all else.
    filled = fitted.impute(missing[list(X.columns)])
    best = np.array(COLORS)[joint.argmax(axis=0)].ravel()
    assert_array_equal(filled[:, 0], best)


def test_samples_have_the_probabilities_of_the_model():
    model = net().fit(KINDS)
    kinds, n = every_kind(), 6000
    p = np.exp(model.score_samples(kinds))
    assert p.sum() == pytest.approx(1.0, abs=1e-6)
    drawn = pd.DataFrame(model.sample(n, 60, random_state=0), columns=kinds.columns)
    counts = drawn.value_counts().reindex(pd.MultiIndex.from_frame(kinds), fill_value=0)
    assert counts.sum() == n
    assert chisquare(counts, n * p / p.sum()).pvalue > 1e-3


def test_dependence_of_categories_is_learned():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 800)
    second = np.where(rng.random(800) < 0.9, first, rng.integers(0, 4, 800))
    pair = pd.DataFrame({"a": first, "b": second}).astype(str)
    alone = np.log(pair["a"].value_counts(normalize=True)[pair["a"]]).mean()
    alone += np.log(pair["b"].value_counts(normalize=True)[pair["b"]]).mean()
    best = np.log(pair.value_counts(normalize=True)[list(map(tuple, pair.values))])
    found = EnergyNetTransformer(random_state=0).fit(pair).score(pair)
    assert alone < found - 0.8 * (best.mean() - alone)
    assert found <= best.mean() + 1e-6


def test_codes_and_masks_name_the_same_columns(fitted):
    numbers = X.assign(
        color=X["color"].map(dict(zip(np.sort(COLORS), range(3), strict=True))),
        word=X["word"].map(dict(zip(WORDS, range(2), strict=True))),
    ).astype(float)
    expected = fitted.transform(X)
    for which in (["color", "word"], [0, 2], [True, False, True, False]):
        model = net(categorical_features=which).fit(numbers)
        assert_array_equal(model.transform(numbers), expected)
        assert_array_equal(model.sample(3, 5, random_state=0)[:, 1:2].shape, (3, 1))
    # As an array of objects, and as rows.
    model = net().fit(X.to_numpy(object))
    assert_array_equal(model.transform(X.to_numpy(object)), expected)
    assert_array_equal(net().fit_transform(X.to_numpy(object).tolist()), expected)
    assert_array_equal(net().fit_transform(pl.from_pandas(X)), expected)


def test_two_categories_are_a_bit():
    words = X[["word", "switch"]]
    model = net().fit(words)
    assert model.layers_[0].groups is None
    as_bits = words.assign(word=(words["word"] == "yes").astype(int))
    # The more frequent of the two has no unit.
    assert (as_bits["word"] == 1).mean() > 0.5
    as_bits["word"] = 1 - as_bits["word"]
    assert_array_equal(net().fit_transform(as_bits), model.transform(words))


def test_tables_come_back_as_they_were(fitted):
    missing = X.astype({"size": float, "switch": float, "color": object})
    missing.loc[0, "color"], missing.loc[1, "word"], missing.loc[2, "size"] = (
        None,
        None,
        np.nan,
    )
    filled = fitted.impute(missing)
    known = missing.notna().to_numpy()
    assert_array_equal(filled[known], X.to_numpy(object)[known])
    assert filled[0, 0] in COLORS
    assert filled[1, 2] in WORDS
    back = fitted.inverse_transform(fitted.transform(X))
    assert np.mean(back[:, 0] == X["color"]) > 0.95
    drawn = fitted.sample(50, 20, random_state=0)
    assert set(drawn[:, 0]) <= set(COLORS)
    assert set(drawn[:, 2]) <= set(WORDS)
    for name, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        wanted = clone(fitted).set_output(transform=name).fit(X)
        found = wanted.impute(missing)
        assert isinstance(found, frame)
        assert list(found.columns) == list(X.columns)
        assert_array_equal(np.asarray(found["size"])[3:], X["size"][3:])
        assert np.asarray(found["size"]).dtype == float


def test_appended_categories_are_indicators():
    model = net(passthrough=True, standardize=False).fit(X)
    names = model.get_feature_names_out().tolist()
    assert names[3:] == [
        "color_blue", "color_green", "color_red", "size", "word_no", "word_yes",
        "switch",
    ]  # fmt: skip
    features = model.transform(X)[:, 3:]
    expected = pd.get_dummies(X, columns=["color"])
    for k, name in enumerate(["color_blue", "color_green", "color_red"]):
        assert_array_equal(features[:, k], expected[name])
    assert_array_equal(features[:, 3], X["size"])
    assert_array_equal(features[:, 5], X["word"] == "yes")
    # Probabilities where the category is not known.
    row = X.astype({"color": object}).iloc[[0]].assign(color=None)
    probabilities = model.transform(row)[0, 3:6]
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-6)
    rows = pd.concat([row] * 3).assign(color=np.sort(COLORS))
    p = np.exp(model.score_samples(rows))
    assert_allclose(probabilities, p / p.sum(), rtol=1e-4)


def test_unknown_categories():
    new = X.astype({"color": object})
    new.loc[0, "color"] = "pink"
    with pytest.raises(ValueError, match=r"column color has 'pink', which was not"):
        net().fit(X).transform(new)
    model = net(handle_unknown="missing").fit(X)
    incomplete = new.replace("pink", np.nan)
    assert_array_equal(model.transform(new), model.transform(incomplete))
    # To the density it is no missing value, but something that was never seen.
    found, of_missing = model.score_samples(new), model.score_samples(incomplete)
    assert found[0] < of_missing[0]
    assert_array_equal(found[1:], of_missing[1:])
    with pytest.raises(ValueError, match=r"holds text, .*categorical_features"):
        net(categorical_features=None).fit(X)
    with pytest.raises(ValueError, match="categorical_features has 'shape'"):
        net(categorical_features=["shape"]).fit(X)


@pytest.mark.parametrize(
    "parameters", [{}, {"whiten": True}, {"n_components": [3, 2]}, {"n_components": 14}]
)
def test_unseen_category_is_less_likely_than_all_that_were_seen(parameters):
    rng = np.random.default_rng(0)
    n = 300
    table = pd.DataFrame(
        {
            "kind": rng.choice(["a", "b", "c"], n, p=[0.5, 0.48, 0.02]),
            "shape": rng.choice(["round", "flat"], n),
            "always": "same",
            "size": rng.normal(size=n),
        }
    )
    options = {"n_final_epochs": 60, "handle_unknown": "missing"}
    model = net(**options | parameters).fit(table)
    row = {"kind": "a", "shape": "flat", "always": "same", "size": 0.0}

    def score(**changed):
        return model.score_samples(pd.DataFrame([row | changed]))[0]

    seen = [score(kind=kind) for kind in "abc"]
    new = score(kind="new")
    assert new <= min(seen) - np.log(2.0) + 1e-6
    # Half as likely as the least likely one, where nothing else is asked.
    as_said = model.coding_.log_unseen.copy()
    model.coding_.log_unseen[:] = 0.0
    assert score(kind="new") == pytest.approx(min(seen) - np.log(2.0), abs=1e-6)
    model.coding_.log_unseen[:] = as_said
    # It counts as half a row of those that there were, though all others are many.
    half = -np.log(2.0 * n + 1.0)
    tolerance = 1e-6 if parameters != {"n_components": [3, 2]} else 0.05
    assert score(shape="new") == pytest.approx(score(shape=None) + half, abs=tolerance)
    assert score(always="new") == pytest.approx(score() + half)
    assert score(kind="new", shape="new") < min(new, score(shape="new"))
    # What is unknown is no fault of a row.
    for nothing in (None, np.nan, pd.NA):
        assert score(kind=nothing) > max(seen)
    # Nor does it matter what other rows there are.
    rows = pd.DataFrame([row, row | {"kind": "new"}, row | {"kind": None}])
    alone = [model.score_samples(rows.iloc[[k]])[0] for k in range(3)]
    assert_allclose(model.score_samples(rows), alone, rtol=1e-6)
    assert model.score(rows) == pytest.approx(np.mean(alone))


def test_unseen_codes_in_arrays_are_unseen():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 3, 200), rng.normal(size=200)])
    options = {
        "categorical_features": [0],
        "handle_unknown": "missing",
        "n_final_epochs": 20,
    }
    model = net(**options).fit(table)
    new, missing, known = model.score_samples([[7.0, 0.0], [np.nan, 0.0], [1.0, 0.0]])
    assert new < known < missing


@pytest.mark.parametrize(
    "parameters", [{"growth": "infinite_rbm"}, {"coding": "minmax"}, {}]
)
def test_every_growth_takes_categories(parameters):
    options = {
        "n_final_epochs": 20,
        "n_temperatures": 300,
        "max_layers": 1,
        "random_state": 0,
    }
    if parameters.get("growth") == "infinite_rbm":
        options |= {"infinite_rbm_options": InfiniteRBMOptions(threshold=0.8)}
    numbers = X.assign(size=(X["size"] > 1).astype(float))
    model = EnergyNetTransformer(**options | parameters).fit(numbers)
    p = np.exp(model.score_samples(with_size(every_kind(), 1.0)))
    p += np.exp(model.score_samples(with_size(every_kind(), 0.0)))
    assert p.sum() == pytest.approx(1.0, abs=1e-4)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(numbers), model.transform(numbers))
    assert "EnergyNetTransformer" in model._repr_html_()


def test_partial_fit_and_weights(fitted):
    model = net().partial_fit(X)
    for _ in range(30):
        model.partial_fit(X)
    start = net(n_final_epochs=0).fit(X)
    assert model.score(X) > start.score(X)
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    repeated = X.iloc[np.repeat(np.arange(len(X)), weights)]
    assert_array_equal(
        net().fit(X, sample_weight=weights).transform(X),
        net().fit(repeated).transform(X),
    )
    with pytest.raises(ValueError, match="which was not seen in fit"):
        model.partial_fit(X.assign(word="maybe"))


@pytest.mark.slow_cases("random")
@pytest.mark.parametrize("init", ["random", "generative"])
def test_networks_with_labels_take_categories(init):
    inputs, labels = X.drop(columns="word"), X["word"]
    model = EnergyNetClassifier(net(), init=init, random_state=0).fit(inputs, labels)
    assert model.score(inputs, labels) > 0.9
    # Three indicators, a number and a switch; or two units, two levels and a bit.
    assert model.mlp_.n_features_in_ == 5
    regressor = EnergyNetRegressor(net(8), init=init, random_state=0)
    inputs, target = X.drop(columns="size"), X["size"]
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    regressor.fit(inputs, target, sample_weight=weights)
    assert regressor.score(inputs, target) > 0.8
    assert_array_equal(regressor.transformer_.feature_names_in_, inputs.columns)
    assert regressor.n_features_in_ == 3


def test_networks_with_labels_average_over_unknown_categories():
    inputs, labels = X.drop(columns="word"), X["word"]
    new = inputs.astype({"color": object}).iloc[:5].assign(color="pink")
    with pytest.raises(ValueError, match="column color has 'pink'"):
        EnergyNetClassifier(net(), random_state=0).fit(inputs, labels).predict(new)
    layers = net(handle_unknown="missing")
    model = EnergyNetClassifier(layers, random_state=0).fit(inputs, labels)
    coding, rbm = model.transformer_.coding_, model.transformer_.layers_[0]
    parts = []
    for color in COLORS:
        codes = model.transformer_.coding_.encode(
            model._read_table(new.assign(color=color))
        )
        parts.append(-rbm.free_energy(codes))
    probabilities = np.exp(parts - np.logaddexp.reduce(parts))
    numbers = model._table(model._read_table(new))[1]
    order = np.argsort(COLORS)
    assert_allclose(numbers[:, :3], probabilities[order].T, rtol=1e-4)
    assert coding.kind[0] == "category"
    assert_array_equal(model.predict(new), model.predict(new))


def test_category_that_is_seen_as_missing_alone_has_a_small_probability():
    """Of the samples with this category another value is unknown."""
    rare = X.astype({"color": object, "size": float})
    rare.loc[:3, "color"] = "pink"
    rare.loc[:3, "size"] = np.nan
    model = net().fit(rare)
    row = rare.iloc[[5]]
    p = np.exp(model.score_samples(pd.concat([row.assign(color="pink"), row])))
    assert 0 < p[0] < 0.1 * p[1]


def test_partition_function_counts_categories(fitted):
    (rbm,) = fitted.layers_
    units = fitted.coding_.encode(fitted._read_table(X).values)
    assert log_partition(rbm, units).standard_error == 0.0
    assert rbm.groups.n_states == 3 * 3 * 2 * 2


@pytest.mark.parametrize(
    "kind", [EnergyNetImputer, EnergyNetOutlierDetector, EnergyNetClassifier]
)
def test_parameters_of_a_transformer_are_called_its_own(kind):
    y = np.arange(len(X)) % 2
    model = kind(net(n_final_epochs=1)).fit(X, y)
    predict = model.transform if kind is EnergyNetImputer else model.predict
    message = 'set handle_unknown="missing" of the transformer to treat'
    with pytest.raises(ValueError, match=message):
        predict(X.assign(word="maybe"))
    message = "not among categorical_features of the transformer: add it there"
    with pytest.raises(ValueError, match=message):
        kind(net(categorical_features=["color"])).fit(X, y)
    ordered = X.assign(color=X["color"].cat.as_ordered())
    with pytest.warns(UserWarning, match="categorical_features of the transformer if"):
        kind(net(n_final_epochs=1)).fit(ordered, y)
