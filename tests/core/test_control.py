"""Controls: parameters that belong together, beside the others of an estimator."""

import copy
import pickle

import numpy as np
import pytest
import skops.io
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import skmohn
from skmohn import GPOptions, MOHNRegressor

# An estimator that uses the control, a parameter of it, and a value other than its own.
USED = {
    "BLMClassifier.search_options": (
        skmohn.BLMClassifier((2,), max_flips=5),
        "sparsity",
        0.9,
    ),
    "BLMController.search_options": (
        skmohn.BLMController((), n_inputs=5, n_outputs=1, max_evaluations=50),
        "sparsity",
        0.5,
    ),
    "BLMRegressor.search_options": (
        skmohn.BLMRegressor((2,), max_flips=300),
        "init",
        "uniform",
    ),
    "MOHNRegressor.delta_options": (
        MOHNRegressor("full", "delta", max_order=1, max_iter=3),
        "learning_rate",
        0.01,
    ),
    "MOHNRegressor.gp_options": (MOHNRegressor("gp"), "clip", False),
    "MOHNRegressor.msda_options": (
        MOHNRegressor("msda", max_order=2, max_iter=3),
        "batch_size",
        1,
    ),
    "MOHNClassifier.gp_options": (
        skmohn.MOHNClassifier("gp"),
        "numeric",
        "thermometer",
    ),
    "EnergyNetTransformer.infinite_rbm_options": (
        skmohn.EnergyNetTransformer(
            "infinite_rbm",
            max_layers=1,
            max_units=9,
            n_final_epochs=2,
            n_temperatures=10,
        ),
        "beta",
        1.5,
    ),
}


def controls():
    """Each control of each public estimator, as name and class."""
    return {
        f"{name}.{control}": kind
        for name in skmohn.__all__
        for control, kind in getattr(getattr(skmohn, name), "_controls", {}).items()
    }


def from_skops(model):
    """A model that skops has written and read."""
    data = skops.io.dumps(model)
    return skops.io.loads(data, skops.io.get_untrusted_types(data=data))


def problem(estimator=None):
    """Classes or, for a regressor that would warn of them, numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    y = X @ [1.0, 2.0, -1.0, 0.0, 0.5] + rng.normal(size=40)
    return X, np.rint(y) if isinstance(estimator, MOHNRegressor) else 1.0 * (y > 0)


def black_box(policy, rng, incumbent):
    """Squared error of a controller on the rows of the problem."""
    X, y = problem()
    state, action = policy.initial_state(), np.empty(1)
    total = 0.0
    for row, target in zip(X, y, strict=True):
        policy.step(row, state, action)
        total += (action[0] - target) ** 2
    return total


def test_every_control_is_tried_here():
    assert controls().keys() == USED.keys()


@pytest.mark.parametrize("where", USED)
def test_a_control_is_none_and_takes_nested_names(where):
    estimator, parameter, value = USED[where]
    name, kind = where.partition(".")[2], controls()[where]
    assert getattr(estimator, name) is None
    changed = clone(estimator).set_params(**{f"{name}__{parameter}": value})
    control = getattr(changed, name)
    assert type(control) is kind
    assert control.get_params() == {**kind().get_params(), parameter: value}
    assert changed.get_params()[f"{name}__{parameter}"] == value
    # A control that is there is changed, one that is given with it as well.
    assert changed.set_params(**{f"{name}__{parameter}": value}).get_params()[name] is (
        control
    )
    own = kind()
    changed.set_params(**{name: own, f"{name}__{parameter}": value})
    assert getattr(changed, name) is own
    assert getattr(own, parameter) == value
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        changed.set_params(**{f"{name}__nonsense": 1})


@pytest.mark.parametrize("where", USED)
@pytest.mark.parametrize(
    "copied",
    [clone, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), from_skops],
    ids=["clone", "deepcopy", "pickle", "skops"],
)
def test_a_control_is_copied_with_its_estimator(where, copied):
    estimator, parameter, value = USED[where]
    name = where.partition(".")[2]
    model = clone(estimator).set_params(**{f"{name}__{parameter}": value})
    twin = copied(model)
    assert getattr(twin, name) is not getattr(model, name)
    assert getattr(twin, name).get_params() == getattr(model, name).get_params()
    assert repr(twin) == repr(model)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("where", USED)
def test_a_fit_reads_its_control(where):
    estimator, parameter, value = USED[where]
    name = f"{where.partition('.')[2]}__{parameter}"
    X, y = problem(estimator)
    is_controller = isinstance(estimator, skmohn.BLMController)
    given = (black_box,) if is_controller else (X, y)
    uses = ("transform", "predict_proba", "predict")
    use = next(name for name in uses if hasattr(estimator, name))
    models = [clone(estimator).set_params(random_state=0).fit(*given) for _ in range(2)]
    models += [clone(models[0]).set_params(**{name: value}).fit(*given)]
    answers = [np.asarray(getattr(m, use)(2 * X)) for m in models]
    assert_array_equal(answers[0], answers[1])
    changed = answers[2]
    assert changed.shape != answers[0].shape or not np.allclose(changed, answers[0])


@pytest.mark.slow_cases("MOHNClassifier.gp_options")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# A controller is fitted to a black box, not to a table.
@pytest.mark.parametrize("where", [w for w in USED if "Controller" not in w])
def test_grids_search_controls_inside_of_pipelines(where):
    estimator, parameter, value = USED[where]
    control, kind = where.partition(".")[2], controls()[where]
    pipeline = make_pipeline(MinMaxScaler(), clone(estimator))
    name = f"{type(estimator).__name__.lower()}__{control}__{parameter}"
    default = getattr(kind(), parameter)

    def is_found(fitted, X, y=None):
        return float(getattr(getattr(fitted[-1], control), parameter) == value)

    search = GridSearchCV(pipeline, {name: [default, value]}, cv=2, scoring=is_found)
    X, y = problem(estimator)
    search.fit(X, y)
    assert search.best_params_ == {name: value}
    assert getattr(getattr(search.best_estimator_[-1], control), parameter) == value
    assert getattr(pipeline[-1], control) is None


def test_repr_names_what_is_not_the_default():
    model = MOHNRegressor(gp_options=GPOptions(clip=False))
    assert repr(model) == "MOHNRegressor(gp_options=GPOptions(clip=False))"


def test_what_is_no_control_is_named_also_after_a_fit():
    model = MOHNRegressor("gp").fit(np.eye(4), np.arange(4.0)).set_params(gp_options=3)
    with pytest.raises(
        TypeError, match="gp_options must be None or a GPOptions, got 3"
    ):
        model.predict(np.eye(4))
