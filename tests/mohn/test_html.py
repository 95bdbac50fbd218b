"""What a notebook shows: scikit-learn's diagram, and what was learned."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from skmohn import GPOptions, MOHNClassifier, MOHNRegressor
from skmohn.mohn import _effects

shown_since = pytest.mark.needs_sklearn("1.9", "fitted attributes in the HTML")


class Reader(HTMLParser):
    """Cells of tables and items of lists inside of our part; balance of tags."""

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.inside, self.n_parts = [], [], False, 0

    def handle_starttag(self, tag, attrs):
        if tag == "details" and ("class", "skmohn-summary") in attrs:
            self.inside = True
            self.n_parts += 1
        if self.inside:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.inside:
            assert self.open.pop() == tag
            self.inside = bool(self.open)

    def handle_data(self, data):
        if self.inside:
            self.texts.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


def model_of(n_terms, names):
    terms = [(i, i + 1) for i in range(n_terms - 1)] + [(0,)]
    return MOHNRegressor.from_terms(
        terms, np.arange(n_terms, 0, -1.0), intercept=7.25, feature_names=names
    )


@shown_since
def test_names_weights_and_orders_are_shown():
    model = model_of(3, ["dose", "sex", "age"])
    reader = read(model._repr_html_())
    assert reader.n_parts == 1
    cells = reader.texts
    assert cells[0] == "What was learned: all terms"
    assert "columns: 3 with two values" in cells
    assert "weights: 1 of order 1, 2 of order 2; constant 7.25" in cells
    assert "none: made from known terms" in cells
    start = cells.index("dose x sex")
    assert cells[start : start + 5] == ["dose x sex", "2", "3", "0", "64.3%"]
    order = [cells.index(name) for name in ("dose x sex", "sex x age", "dose")]
    assert order == sorted(order)


@shown_since
def test_effects_are_in_the_unit_of_the_target():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (100, 3)), columns=["heat", "acid", "base"])
    signs = 2 * X - 1
    y = 2 * signs.heat + 4 * signs.acid * signs.base
    texts = read(MOHNRegressor("pursuit").fit(X, y)._repr_html_()).texts
    acid, heat = (
        next(text for text in texts if text.startswith(f"{name} from 0 to 1: "))
        for name in ("acid", "heat")
    )
    change = 2 * 4 * signs.base.mean()
    assert f": {change:+.3g} on average (standard error 0); " in acid
    assert acid.endswith(" of the variance, most of it in interactions")
    assert ": +4 on average (standard error 0); " in heat
    assert heat.endswith("% of the variance")


@shown_since
def test_only_the_strongest_of_many_effects_are_shown():
    reader = read(model_of(30, [f"v{i}" for i in range(31)])._repr_html_())
    shown = [text.split()[0] for text in reader.texts if " from -1 to 1: " in text]
    assert shown == ["v1", "v2", "v3", "v4", "v5"]


@shown_since
def test_effects_of_a_transformed_target_are_not_waited_for():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 3))
    y = np.exp(X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(60))
    options = GPOptions(target_transform="log")
    model = MOHNRegressor("gp", gp_options=options).fit(X, y)
    assert not [text for text in read(model._repr_html_()).texts if " from 0" in text]


@shown_since
def test_effects_of_many_rows_and_columns_are_not_waited_for(replace_constants):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(60)
    replace_constants(_effects, n_easy_operations=60**2 * 3 - 1)
    for model, n_shown in (MOHNRegressor("gp"), 0), (MOHNRegressor("pursuit"), 3):
        texts = read(model.fit(X, y)._repr_html_()).texts
        assert sum(" from 0 to 1: " in text for text in texts) == n_shown


@shown_since
def test_standard_diagram_is_kept():
    model = model_of(3, ["a", "b", "c"])
    html = model._repr_html_()
    assert html.index("sk-top-container") < html.index("skmohn-summary")
    assert html.index("skmohn-summary") < html.index("Fitted attributes")
    assert html.rstrip().endswith("</body>")
    assert model._repr_mimebundle_()["text/html"].count("skmohn-summary") == 1
    assert model._repr_mimebundle_()["text/plain"] == repr(model)


@shown_since
@pytest.mark.parametrize("kind", ["pipeline", "search", "ensemble"])
def test_summary_is_shown_inside_of_other_estimators(kind):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 4))
    y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2]
    outer = {
        "pipeline": make_pipeline(StandardScaler(), MOHNRegressor("pursuit")),
        "search": GridSearchCV(MOHNRegressor("pursuit"), {"max_order": [2]}, cv=2),
        "ensemble": BaggingRegressor(MOHNRegressor("pursuit"), n_estimators=2),
    }[kind]
    assert "skmohn-summary" not in estimator_html_repr(outer)
    reader = read(estimator_html_repr(outer.fit(X, y)))
    # An ensemble shows the model that it has copied, which is not fitted.
    assert reader.n_parts == (kind != "ensemble")
    assert ("x0 x x1" in reader.texts) == (kind != "ensemble")


@shown_since
def test_only_the_strongest_of_many_terms_are_shown():
    reader = read(model_of(30, [f"v{i}" for i in range(31)])._repr_html_())
    assert reader.texts[0] == "What was learned: strongest of 30 terms"
    assert sum(" x " in text for text in reader.texts) == 10


@shown_since
def test_names_are_escaped():
    names = ["<script>alert(1)</script>", "a&b", "</td></table>"]
    html = model_of(3, names)._repr_html_()
    own = html[html.index("skmohn-summary") :]
    assert "<script>alert" not in own
    assert "&lt;script&gt;alert(1)&lt;/script&gt; x a&amp;b" in own
    assert f"{names[0]} x a&b" in read(html).texts


def test_unfitted_estimator_has_the_diagram_alone():
    assert "skmohn-summary" not in clone(model_of(2, ["a", "b"]))._repr_html_()


def test_display_of_text_has_no_html():
    with sklearn.config_context(display="text"):
        assert not hasattr(MOHNRegressor(), "_repr_html_")


@shown_since
def test_coding_of_all_kinds_is_told():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "base": rng.choice(["A", "C", "G"], 90),
            "flag": rng.integers(0, 2, 90),
            "dose": rng.random(90),
            "same": np.ones(90),
        }
    )
    y = 2.0 * (frame["base"] == "G") + frame["flag"] + 0.05 * rng.standard_normal(90)
    cells = read(MOHNRegressor("gp").fit(frame, y)._repr_html_()).texts
    told = (
        "columns: 1 with two values, 1 numeric, 1 with categories, 1 constant (ignored)"
    )
    assert told in cells
    assert any(cell.startswith("significant weights: ") for cell in cells)


@shown_since
def test_model_without_terms_is_shown():
    X = np.random.default_rng(0).integers(0, 2, (30, 3))
    cells = read(MOHNRegressor().fit(X, np.ones(30))._repr_html_()).texts
    assert "weights: none; constant 1" in cells


@pytest.mark.slow_cases("gp-9|logistic-9")
@shown_since
@pytest.mark.parametrize("n_classes", [2, 3, 9])
@pytest.mark.parametrize("strategy", ["gp", "logistic"])
def test_classes_are_shown(strategy, n_classes):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (270, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    y[: n_classes - 2] = np.arange(2, n_classes)
    model = MOHNClassifier(strategy, random_state=0).fit(X, y)
    texts = read(model._repr_html_()).texts
    weights = [f"weight of {k}" for k in range(n_classes)]
    weights = {2: ["weight"], 3: weights, 9: []}[n_classes]
    heads = ["term", "order", "proportion of squared weights", *weights]
    start = texts.index("term")
    assert texts[start : start + len(heads) + 2] == [*heads, "x0 x x1", "2"]
    assert model.stopping_reason_ in texts
    noun = "constant" if n_classes == 2 else "constants"
    first = "significant weights" if strategy == "gp" else "weights"
    (said,) = [text for text in texts if "of order 2" in text]
    assert said.startswith(f"{first}: ")
    assert f"; {noun} {model.intercept_[0]:.4g}" in said


@shown_since
def test_lengths_of_rejected_models_are_not_shown():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (60, 4))
    model = MOHNRegressor(random_state=0).fit(X, X[:, 0] + 0.5 * rng.normal(size=60))
    reason, _, rest = model.stopping_reason_.partition(" (description lengths:")
    assert rest
    html = estimator_html_repr(model)
    shown = [text for text in read(html).texts if text.startswith(reason)]
    assert shown == [reason + rest.partition(")")[2]]
