"""What needs a package that is not installed says which extra brings it."""

import importlib
import inspect
import pkgutil
import re
import runpy
import tomllib
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import skmohn
from skmohn import (
    EnergyNetOutlierDetector,
    EnergyNetTransformer,
    MOHNClassifier,
    MOHNDensity,
    MOHNGLMRegressor,
    MOHNRegressor,
    inspection,
)
from skmohn._core._fitting import History
from skmohn._core._optional import EXTRAS, import_optional
from skmohn.integrations import (
    GymnasiumObjective,
    from_dimod,
    to_dimod,
    to_networkx,
    to_onnx,
)
from skmohn.model_selection import Comparison
from skmohn.mohn import association_scan
from skmohn.optimize import minimize_black_box

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

HALF = np.array([0.5, 0.01, 0.2])
RECORD = {"layer": 0, "units": 3, "steps": 1}
# Of each, the least that it can draw.
DISPLAYS = {
    "CriticalDifferenceDisplay": (["a", "b"], [1.0, 2.0], 0.5),
    "DifferencesDisplay": (["a", "b"], [0.0, -1.0], [0.0, -2.0], [0.0, 0.0], 0.1),
    "ParallelCoordinatesDisplay": ([{"a": 0}, {"a": 1}], [1.0, 2.0], {"a": [0, 1]}),
    "OptimizationHistoryDisplay": ([1.0, 2.0], [1.0, 1.0], ["uniform", "uniform"]),
    "DescriptionLengthDisplay": ([2.0, 1.0], [0.0, 1.0], [-2.0, -1.0]),
    "DiscoveryErrorDisplay": ([1, 2], [1.0, 0.5]),
    "DiscoveryOrdersDisplay": ([1, 2], [[1, 0], [1, 1]]),
    "FiltersDisplay": (np.ones((2, 4, 4)),),
    "GrowthDisplay": ([RECORD],),
    "HypergraphDisplay": ([(0, 1)], [1.0], ["a", "b"]),
    "ImportancesDisplay": (["a", "b"], [0.5, 0.5], [0.5, 0.5]),
    "LikelihoodDisplay": ([0, 1], [-2.0, -1.0]),
    "ManhattanDisplay": (HALF,),
    "QQDisplay": (HALF,),
    "SamplesDisplay": (np.ones((2, 4, 4)),),
    "WeightsDisplay": ([(0, 1)], [1.0], ["a", "b"]),
}


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).choice([-1.0, 1.0], (60, 4))
    return X, X[:, 0] * X[:, 1] + 0.5 * X[:, 2]


@pytest.fixture(scope="module")
def regressor(data):
    return MOHNRegressor("pursuit").fit(*data)


@pytest.fixture(scope="module")
def regressor_of_two(data):
    X, y = data
    return MOHNRegressor("pursuit").fit(X, np.column_stack([y, -y]))


@pytest.fixture(scope="module")
def classifier(data):
    X, y = data
    return MOHNClassifier("logistic", random_state=0).fit(X, y > 0)


@pytest.fixture(scope="module")
def comparison():
    return Comparison.from_scores({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.5, 0.7]})


@pytest.fixture(scope="module")
def explanation():
    return inspection.explain_game(lambda z: z[:, 0] * z[:, 1], 3)


@pytest.fixture(scope="module")
def detector(data):
    transformer = EnergyNetTransformer(n_components=1, max_steps=10)
    return EnergyNetOutlierDetector(transformer).fit(data[0])


@pytest.fixture(scope="module")
def rates(data):
    X, y = data
    terms = [(0, 1), (2,)]
    return MOHNGLMRegressor("given", terms=terms, C=1.0).fit(X, np.exp(y))


@pytest.fixture(scope="module")
def density(data):
    return MOHNDensity(2).fit(data[0])


@pytest.fixture(scope="module")
def combined():
    return inspection.combine_estimates([[1.0], [2.0], [1.5]], [[0.1], [0.2], [0.1]])


@pytest.fixture(scope="module")
def scan(regressor, data):
    return association_scan(regressor, *data)


def assert_named(call, package, caller):
    """The error says what needs the package, and which extra brings it."""
    expected = f'{caller} needs {package}: pip install "skmohn[{EXTRAS[package]}]"'
    with pytest.raises(ImportError, match=f"^{re.escape(expected)}$"):
        call()


# ---------------------------------------------------------------------- the helper


def test_extras_are_those_of_the_package():
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    brings = {
        extra: {canonicalize_name(Requirement(line).name) for line in lines}
        for extra, lines in project["optional-dependencies"].items()
    }
    for package, extra in EXTRAS.items():
        assert canonicalize_name(package) in brings[extra]


def test_package_that_is_there_is_imported():
    assert import_optional("pandas", "me").DataFrame


def test_broken_package_has_its_own_error(tmp_path, monkeypatch):
    """It is installed: to install it would not help."""
    (tmp_path / "onnx.py").write_text("import what_onnx_needs", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(importlib.sys.modules, "onnx", raising=False)
    with pytest.raises(ModuleNotFoundError, match="what_onnx_needs"):
        import_optional("onnx", "to_onnx")


# -------------------------------------------------------------- pictures and bridges


def test_every_display_is_tried():
    displays = {name for name in inspection.__all__ if name.endswith("Display")}
    assert displays == DISPLAYS.keys()


@pytest.mark.parametrize("name", DISPLAYS)
def test_displays_need_matplotlib(name, hide):
    display = getattr(inspection, name)(*DISPLAYS[name])
    hide("matplotlib")
    assert_named(display.plot, "matplotlib", f"{name}.plot")


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("dimod", from_dimod),
        ("dimod", to_dimod),
        ("gymnasium", GymnasiumObjective),
        ("networkx", to_networkx),
        ("onnx", to_onnx),
    ],
)
def test_bridges_need_their_packages(package, use, hide):
    hide(package)
    assert_named(lambda: use("anything"), package, use.__name__)


def test_explanations_need_shapiq_to_be_its_own(explanation, hide):
    """It needs Python 3.12, and so is in no extra."""
    hide("shapiq")
    with pytest.raises(
        ImportError, match=r"^to_shapiq needs shapiq: pip install shapiq$"
    ):
        explanation.to_shapiq()


def test_the_sampler_needs_optuna(hide, monkeypatch):
    module = "skmohn.integrations._optuna"
    monkeypatch.delitem(importlib.sys.modules, module, raising=False)
    hide("optuna")
    assert_named(lambda: skmohn.integrations.MOHNSampler, "optuna", "MOHNSampler")


def test_a_star_takes_the_bridges_that_there_are(monkeypatch):
    everything = set(skmohn.integrations.__all__)
    monkeypatch.setitem(importlib.sys.modules, "optuna", None)
    without = runpy.run_path(skmohn.integrations.__file__)["__all__"]
    assert everything - set(without) == {"MOHNSampler"}


# --------------------------------------------------------------------------- tables


def documented_tables():
    """Yield the public functions and methods whose docstrings promise a DataFrame."""
    promise = re.compile(r"\n *Returns\n *-+\n *DataFrame\n")
    for info in pkgutil.iter_modules(skmohn.__path__, "skmohn."):
        package = importlib.import_module(info.name)
        for name in getattr(package, "__all__", ()):
            found = getattr(package, name)
            members = vars(found) if inspect.isclass(found) else {"": found}
            for member, value in members.items():
                if promise.search(getattr(value, "__doc__", None) or ""):
                    yield f"{name}.{member}".strip(".")


def ask_for_table(model, name, data):
    """A call that returns a table, and what it is called."""
    X, y = data
    if name == "selection_stability":
        return lambda: inspection.selection_stability(
            model, X, y, n_resamples=2, random_state=0
        )
    method = getattr(model, name)
    several = hasattr(model, "estimators_")
    if name == "reasons_table":
        return lambda: method(X[:5])
    if name == "explain":
        return lambda: method(X[0], *([1] if several else []))
    return method


TABLES = [
    (model, name)
    for model, names in {
        "regressor": (
            "terms_table", "significance_table", "collinear_terms_table", "explain",
            "sobol_indices", "effects_table", "selection_stability",
        ),
        "regressor_of_two": (
            "terms_table", "significance_table", "collinear_terms_table", "explain",
            "sobol_indices", "effects_table",
        ),
        "classifier": (
            "terms_table", "collinear_terms_table", "explain", "effects_table",
        ),
        "scan": ("to_frame",),
        "comparison": ("to_frame",),
        "explanation": ("to_frame",),
        "detector": ("reasons_table",),
        "rates": ("terms_table", "explain", "effects_table"),
        "density": ("terms_table", "explain"),
        "combined": ("to_frame",),
    }.items()
    for name in names
]  # fmt: skip


OWNERS = {
    "scan": "AssociationScan",
    "comparison": "Comparison",
    "explanation": "WalshExplanation",
    "detector": "EnergyNetOutlierDetector",
    "rates": "MOHNGLMRegressor",
    "density": "MOHNDensity",
    "combined": "CombinedEstimates",
}


def test_every_table_is_tried():
    tried = {
        name if name in inspection.__all__ else f"{owner}.{name}"
        for model, name in TABLES
        for owner in [OWNERS.get(model, f"MOHN{model.partition('_')[0].capitalize()}")]
    }
    assert tried == set(documented_tables())


@pytest.mark.parametrize(("model", "name"), TABLES)
def test_tables_are_frames_or_need_pandas(model, name, data, hide, request):
    ask = ask_for_table(request.getfixturevalue(model), name, data)
    assert type(ask()).__name__ == "DataFrame"
    hide("pandas")
    assert_named(ask, "pandas", name)


def test_histories_are_lists_without_pandas(hide):
    history = History([{"iteration": 1}])
    hide("pandas")
    assert history[-1]["iteration"] == 1
    assert_named(history.to_frame, "pandas", "to_frame")


def test_refits_do_not_start_without_pandas(regressor, data, hide, monkeypatch):
    """They take long, and would be lost."""
    monkeypatch.setattr(MOHNRegressor, "fit", lambda *args: pytest.fail("a refit"))
    hide("pandas")
    ask = ask_for_table(regressor, "selection_stability", data)
    assert_named(ask, "pandas", "selection_stability")


# ---------------------------------------------------- the same with and without pandas


@pytest.mark.needs_sklearn("1.9", "fitted attributes in the HTML")
@pytest.mark.parametrize("model", ["regressor", "regressor_of_two", "classifier"])
def test_what_is_shown_needs_no_pandas(model, hide, request):
    model = request.getfixturevalue(model)
    shown = model._repr_html_()
    hide("pandas")
    # Each diagram has a number of its own.
    number = re.compile(r"sk-(container-id|estimator-id)-[\w-]+")
    assert number.sub("", model._repr_html_()) == number.sub("", shown)
    assert "skmohn-summary" in shown


@pytest.mark.parametrize("model", ["regressor", "regressor_of_two"])
def test_importances_need_no_pandas(model, hide, request):
    model = request.getfixturevalue(model)
    importances = model.feature_importances_
    hide("pandas")
    np.testing.assert_array_equal(model.feature_importances_, importances)


def test_pictures_of_importances_need_no_pandas(regressor, hide):
    indices = regressor.sobol_indices().to_dict("list")
    hide("pandas")
    drawn = inspection.ImportancesDisplay.from_estimator(regressor)
    assert drawn.names == indices["feature"]
    assert drawn.first_order == indices["first_order"]
    assert drawn.total == indices["total"]


def test_model_of_a_black_box_has_names_without_pandas(hide):
    space = {"flag": [False, True], "level": (0, 4), "unit": ["a", None, 3]}

    def cost(point):
        return point["level"] - 3.0 * point["flag"] * (point["unit"] == 3)

    expected = minimize_black_box(cost, space, 20, noise=0, random_state=0).model
    hide("pandas")
    model = minimize_black_box(cost, space, 20, noise=0, random_state=0).model
    assert list(model.feature_names_in_) == ["flag", "level", "unit"]
    assert model.term_names_.names == expected.term_names_.names
    np.testing.assert_array_equal(model.weights_, expected.weights_)
