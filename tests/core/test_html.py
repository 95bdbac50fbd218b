"""HTML of estimators: links to our pages, and what it does not wait for."""

from html import escape, unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import estimator_html_repr

import skmohn
from skmohn import (
    BlackBoxSearchCV,
    BLMClassifier,
    BLMController,
    BLMRegressor,
    EnergyNetImputer,
    EnergyNetOutlierDetector,
    EnergyNetTransformer,
    MOHNClassifier,
    MOHNDensity,
    MOHNRegressor,
)

DOCS = Path(__file__).resolve().parents[2] / "docs"
X = np.random.default_rng(0).choice([-1.0, 1.0], (40, 3))
MODELS = [
    (MOHNRegressor("pursuit"), "feature_importances_"),
    (MOHNClassifier(max_order=1), "feature_importances_"),
    (EnergyNetTransformer(None, 2, n_final_epochs=1), "log_partition_"),
]


@pytest.mark.needs_sklearn("1.9", "fitted attributes in the HTML")
@pytest.mark.parametrize(("model", "name"), MODELS)
def test_what_takes_time_is_not_computed_for_the_html(model, name, monkeypatch):
    model.fit(X, np.where(X[:, 0] > 0, 1, 2))
    assert len(getattr(model, name)) > 0
    asked = []
    attribute = getattr(type(model), name)
    slow = type(attribute)(lambda self: asked.append(self) or attribute.fget(self))
    monkeypatch.setattr(type(model), name, slow)
    html = estimator_html_repr(model)
    assert name not in html
    assert not asked
    assert "n_features_in_" in html
    getattr(model, name)
    assert asked == [model]


@pytest.mark.parametrize(
    ("model", "name"), [*MODELS, (MOHNRegressor("gp"), "interaction_graph_")]
)
def test_names_of_attributes_are_listed_without_computing_any(model, name, monkeypatch):
    model.fit(X, np.where(X[:, 0] > 0, 1, 2))
    attribute = getattr(type(model), name)

    def fail(self):
        raise AssertionError("computed")

    monkeypatch.setattr(type(model), name, type(attribute)(fail))
    assert name in dir(model)
    with pytest.raises(AssertionError, match="computed"):
        getattr(model, name)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in skmohn.__all__
        # What has parameters; a table and a search have none.
        if hasattr(getattr(skmohn, name), "get_params") or name.endswith("Control")
    ],
)
@pytest.mark.parametrize(
    ("version", "folder"), [("0.2.0", "v0.2.0"), ("0.2.0.dev0", "latest")]
)
def test_html_links_to_the_page_of_the_class(name, version, folder, monkeypatch):
    monkeypatch.setattr("skmohn._core._estimator.__version__", version)
    page = f"https://skmohn.readthedocs.io/en/{folder}/generated/skmohn.{name}.html"
    kind = getattr(skmohn, name)
    parts = [DummyClassifier()] if issubclass(kind, MetaEstimatorMixin) else []
    parts += [{}] if kind is BlackBoxSearchCV else []
    assert f'href="{page}"' in estimator_html_repr(kind(*parts))
    pages = [path.read_text(encoding="utf-8") for path in DOCS.glob("api/*.rst")]
    (listing,) = (text for text in pages if f"\n   {name}\n" in text)
    assert ":toctree: ../generated/" in listing


@pytest.mark.needs_sklearn("1.9", "fitted attributes in the HTML")
def test_html_of_networks_states_what_was_learned():
    columns, y = X.astype(float), np.where(X[:, 0] > 0, 1, 2)
    model = BLMClassifier((2,), n_bits=3, random_state=0)
    assert "What was learned" not in estimator_html_repr(model)
    html = estimator_html_repr(model.fit(columns, y))
    n_weights = len(model.codes_)
    for fact in (
        "layers of 3, 2, 1 units, inputs first",
        f"{n_weights} weights of 3 bits: {model.nbytes_} bytes",
        f"loss (cross_entropy): {model.loss_:.4g}; epochs: {model.n_iter_}",
        f"end of the search: {escape(model.stopping_reason_)}",
    ):
        assert f"<li>{fact}</li>" in html
    net = EnergyNetTransformer(random_state=0).fit(columns)
    html = estimator_html_repr(net)
    (width,), (likelihood,) = net.n_components_per_layer_, net.log_likelihood_
    for fact in (
        "3 columns as 3 visible units",
        f"widths of the layers, from bottom to top: {width}",
        escape(net.width_reasons_[0]),
        f"mean log-likelihood of the rows: {likelihood:.4g} nats",
    ):
        assert f"<li>{fact}</li>" in html
    assert estimator_html_repr(EnergyNetTransformer(None, 2).fit(columns))


def list_facts(model):
    """Sentences that a notebook shows of a fitted model."""
    summary = model._repr_html_().split("class='skmohn-summary'")[1]
    parts = summary.split("</ul>")[0].split("<li>")[1:]
    return [unescape(part.removesuffix("</li>")) for part in parts]


shown_since = pytest.mark.needs_sklearn("1.9", "fitted attributes in the HTML")


@shown_since
def test_facts_are_those_of_the_fit_whatever_is_set_later():
    model = BLMRegressor((2,), n_bits=3, random_state=0)
    facts = list_facts(model.fit(X, X[:, 0]))
    assert list_facts(model.set_params(n_bits=8, loss="absolute")) == facts


class Reward:
    """Objective with one input and output, described by its reward."""

    n_inputs = n_outputs = 1

    def __call__(self, policy, rng, incumbent):
        return float((policy.weights.sum() - 1.0) ** 2) - 3.0

    def describe_loss(self, loss):
        return f"reward per episode: {-loss:.4g}"


@shown_since
def test_html_of_controllers_has_the_reward_bytes_and_evaluations():
    model = BLMController((2,), n_bits=4, max_evaluations=60, random_state=0)
    facts = list_facts(model.fit(Reward()))
    assert facts == [
        "layers of 1, 2, 1 units, inputs first",
        f"7 weights of 4 bits: {model.nbytes_} bytes",
        f"reward per episode: {-model.loss_:.4g}",
        f"evaluations: {model.n_evaluations_} in 1 run",
        f"end of the search: {model.stopping_reason_}",
    ]
    model = clone(model).set_params(recurrent=True)
    model.set_params(n_inputs=1, n_outputs=1)
    facts = list_facts(model.fit(Reward().__call__, validation=Reward()))
    assert facts[0].startswith("recurrent layers of 1, 2, 1 units")
    assert f"reward per episode: {-model.loss_:.4g}" in facts
    model.fit(Reward().__call__)
    assert f"loss: {model.loss_:.4g}" in list_facts(model)


@shown_since
def test_html_of_loaded_networks_has_no_loss():
    controller = BLMController((), n_bits=4, max_evaluations=5, random_state=0)
    packed = controller.fit(Reward()).to_packed()
    assert len(list_facts(BLMController.from_packed(packed))) == 2
    classifier = BLMClassifier((2,), n_bits=3, random_state=0)
    packed = classifier.fit(X, X[:, 0]).to_packed()
    assert len(list_facts(BLMClassifier.from_packed(packed))) == 2


@shown_since
def test_html_of_detectors_has_the_anomalies_and_their_reasons(monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=["heat", "acid", "<b>"])
    table["kind"] = np.where(rng.random(80) < 0.5, "x", "y")
    table.loc[7, "acid"], table.loc[30, "<b>"] = 40.0, -60.0
    net = EnergyNetTransformer(None, 3, max_layers=1, handle_unknown="missing")
    model = EnergyNetOutlierDetector(net, random_state=0).fit(table)

    def fail(*args, **options):
        raise AssertionError("computed")

    scores = model.score_samples(table)
    monkeypatch.setattr(EnergyNetTransformer, "_score_table", fail)
    facts = list_facts(model)
    n_anomalies = int(np.sum(scores < model.offset_))
    assert facts[:2] == [
        f"anomalies: {n_anomalies} of the 80 rows of fit ({n_anomalies / 80:.2%})",
        f"threshold of the score: {model.offset_:.4g}; about 1.00% of clean new rows "
        "are below",
    ]
    lowest = {
        30: f"row 30: score {scores[30]:.4g}; <b> = -60 makes up 100% of its squared ",
        7: f"row 7: score {scores[7]:.4g}; acid = 40 makes up 100% of its squared ",
    }
    for fact, row in zip(facts[2:4], np.argsort(scores)[:2].tolist(), strict=True):
        assert fact.startswith(lowest[row])
    assert facts[-1] == "reasons by the density: reasons_table(X)"
    monkeypatch.undo()
    calm = EnergyNetOutlierDetector(net, random_state=0).fit(np.eye(4)[[0, 1] * 20])
    assert list_facts(calm)[0] == "anomalies: 0 of the 40 rows of fit (0.00%)"
    assert len(list_facts(calm)) == 2
    facts = list_facts(model.set_params(contamination=0.1).fit(table))
    assert facts[1].endswith("; contamination=0.1 set it")
    assert list_facts(model.set_params(contamination=0.3)) == facts
    assert facts[2] == "the 5 lowest, rows numbered from 0:"
    assert len(facts) == 9


@shown_since
def test_html_of_imputers_has_the_missing_values_by_column():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (20, 7)).astype(float)).add_prefix("q")
    for j, n in enumerate([0, 3, 2, 1, 4, 1, 1]):
        table.iloc[:n, j] = np.nan
    net = EnergyNetTransformer(None, 2, max_layers=1, n_final_epochs=1)
    facts = list_facts(EnergyNetImputer(net, random_state=0).fit(table))
    assert facts == [
        "missing values in fit: 12 (8.57%), in 6 of 7 columns",
        "missing by column, of 20 rows: q4 4, q1 3, q2 2, q3 1, q5 1, others 1",
        "uncertainty of single values: the spread of "
        "transformer_.impute(X, n_draws=20)",
    ]
    table = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 15))
    table[rng.random(table.shape) < 0.1] = np.nan
    model = EnergyNetImputer(net, random_state=0).fit(table)
    fact = list_facts(model)[2]
    assert fact == (
        f"error of means of held-out values: {model._factors.error:.2g} standard "
        f"deviations of their columns; weight of factors {model.factor_weight_:.0%}"
    )


@shown_since
def test_html_of_fields_has_odds_ratios_of_the_strongest_interactions():
    rng = np.random.default_rng(0)
    flu = rng.integers(0, 2, 400)
    table = pd.DataFrame({"flu": flu, "age": rng.choice(["old", "young"], 400)})
    for k, rate in enumerate([0.05, 0.1, 0.15, 0.2, 0.25, 0.3]):
        table[f"sign{k}"] = flu ^ (rng.random(400) < rate)
    model = MOHNDensity(2).fit(table)
    facts = list_facts(model)
    assert facts[0] == "columns: 8 with two values"
    assert facts[1] == f"terms: 8 of order 1, {len(model.terms_) - 8} of order 2"
    pairs = model.terms_table().query("order == 2").iloc[:5]
    for fact, row in zip(facts[2:7], pairs.to_dict("records"), strict=True):
        assert fact.startswith(f"{row['term']}: odds ratio {row['odds_ratio']:.3g} (")
        reach = 1.96 * 4.0 * row["standard_error"]
        low, high = np.exp(4.0 * row["weight"] + np.array([-reach, reach]))
        assert fact.endswith(f" (95% interval {low:.3g} to {high:.3g})")
    assert facts[7] == f"all {len(model.terms_) - 8} interactions: terms_table()"
    assert facts[8].endswith(" (exact, over all states)")
    facts = list_facts(model.fit(table[["flu", "age"]]))
    assert facts[2] == "no interactions: the columns are independent"


@shown_since
def test_html_of_searches_has_the_best_setting_and_its_score():
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, 2)
    grid = {"strategy": ["prior", "uniform"], "random_state": [0, 1]}
    search = BlackBoxSearchCV(DummyClassifier(), grid, random_state=0).fit(X, y)
    n_run = search.cv_results_["n_splits_run"].sum()
    std = search.cv_results_["std_test_score"][search.best_index_]
    best = ", ".join(f"{k}={v!r}" for k, v in search.best_params_.items())
    facts = list_facts(search)
    assert facts == [
        f"best setting: {best}",
        f"best score: {search.best_score_:.4g}, the mean of 5 folds (standard "
        f"deviation over folds {std:.2g})",
        f"4 settings in {n_run} fits; without racing 20",
        "end of the search: every setting was tried",
    ]
    parts = search.interactions_
    name, fraction = parts[0]["parameters"], parts[0]["variance_fraction"]
    first = f"{' x '.join(name)} {fraction:.0%}"
    (added,) = list_facts(search)[4:]
    assert added.startswith(f"variance of the score: {first}, ")
    search = clone(search).set_params(refit="f1", scoring=["accuracy", "f1"])
    assert f"best score: {search.fit(X, y).best_score_:.4g}, " in list_facts(search)[1]
    assert len(list_facts(clone(search).set_params(refit=False).fit(X, y))) == 2
