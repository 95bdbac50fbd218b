"""HTML of estimators: links to our pages, and what it does not wait for."""

from html import escape
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import MetaEstimatorMixin
from sklearn.dummy import DummyClassifier
from sklearn.utils import estimator_html_repr

import skmohn
from skmohn import (
    BlackBoxSearchCV,
    BLMClassifier,
    EnergyNetTransformer,
    MOHNClassifier,
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
    monkeypatch.setattr("skmohn._core._html.__version__", version)
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
