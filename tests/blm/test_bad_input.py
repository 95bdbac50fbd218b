"""What cannot work is refused, or done as well as it can be, in clear words."""

import re
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support import replaced

from skmohn import BLMClassifier, BLMController, BLMRegressor, SearchOptions
from skmohn.blm._local_search import Trainer

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X[:, 0] + X[:, 1] ** 2
LABELS = np.where(X[:, 0] > 0, "yes", "no")
QUICK = {"hidden_layer_sizes": (2,), "max_flips": 200, "random_state": 0}
TARGETS = {BLMRegressor: Y, BLMClassifier: LABELS}


@pytest.fixture(params=[BLMRegressor, BLMClassifier])
def network(request):
    """One of the two classes."""
    return request.param


def refused(
    network, *args, match, error=ValueError, call="fit", fit=None, **parameters
):
    """Check that neither an unfitted nor a fitted estimator is changed by a refusal."""
    more = fit or {}
    model = network(**{**QUICK, **parameters})
    before = dict(vars(model))
    with pytest.raises(error, match=match):
        getattr(model, call)(*args, **more)
    assert vars(model) == before
    model = network(**QUICK).fit(X, TARGETS[network])
    expected, old = model.predict(X), dict(vars(model))
    model.set_params(**parameters)
    with pytest.raises(error, match=match):
        model.fit(*args, **more)
    model.set_params(**network(**QUICK).get_params())
    assert all(vars(model)[name] is old[name] for name in old if name.endswith("_"))
    assert vars(model).keys() == old.keys()
    assert_array_equal(model.predict(X), expected)


# ------------------------------------------------------------------------- the data


@pytest.mark.slow_cases("BLMRegressor-inf")
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_input_that_is_infinite(network, value):
    bad = replaced(X, (3, 1), value)
    refused(network, bad, TARGETS[network], match="Input X contains infinity")
    model = network(**QUICK).fit(X, TARGETS[network])
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.predict(bad)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_target_that_is_not_finite(network, value):
    word = "NaN" if np.isnan(value) else "infinity"
    bad = replaced(Y > 0, 3, value)
    refused(network, X, bad, match=f"Input y contains {word}")


def test_no_sample_no_column_no_target(network):
    y = TARGETS[network]
    refused(network, X[:0], y[:0], match=r"0 sample\(s\)")
    refused(network, X[:, :0], y, match=r"0 feature\(s\)")
    refused(network, X, None, match="requires y to be passed")
    refused(network, X, y[:-1], match="inconsistent numbers of samples")
    refused(network, X[0], y, match="Expected 2D array")


def test_one_class(network):
    if network is BLMClassifier:
        refused(network, X, np.full(60, "yes"), match="only one class, .?yes")
    else:
        found = network(**QUICK).fit(X, np.ones(60)).predict(X)
        assert_allclose(found, 1, atol=0.2)


def test_target_that_is_no_class():
    refused(BLMClassifier, X, Y, match="Unknown label type: continuous")


def test_words_as_numbers():
    refused(BLMRegressor, X, LABELS, match="could not convert string to float")


def test_all_columns_of_words_are_named(network):
    table = X.astype(object)
    table[:, 1], table[3, 0] = "1.5", "2024-01-31"
    table[4, 2] = "b"
    found = "column 0 holds text, '2024-01-31', column 2 holds text, 'b', but "
    times = "; pandas.to_datetime converts 0 to times"
    expected = f"{found}are not among categorical_features: add them there{times}"
    y = TARGETS[network]
    match = re.escape(expected)
    refused(network, table, y, match=match, categorical_features=None)
    expected = f"{found}numbers are needed: OneHotEncoder converts them{times}"
    match = re.escape(expected)
    refused(network, table.reshape(60, 1, 4), y, match=match, recurrent="sequences")
    model = network(**QUICK).fit(X, TARGETS[network])
    with pytest.raises(ValueError, match=r"column 0 holds .* column 2 holds text, 'b'"):
        model.predict(table)


@pytest.mark.parametrize("value", [0.0, -7.0, 1e6])
@pytest.mark.parametrize("standardize", [True, False])
def test_constant_target(value, standardize):
    model = BLMRegressor((2,), w_max=8, n_bits=16, random_state=0, alpha=0)
    model.set_params(standardize=standardize).fit(X, np.full(60, value))
    if standardize:
        assert_allclose(model.predict(X), value, atol=0.05)
    assert np.isfinite(model.predict(X)).all()


def test_columns_that_are_constant(network):
    y = TARGETS[network]
    model = network(**QUICK).fit(np.full_like(X, 3.0), y)
    assert len(np.unique(model.predict(np.full_like(X, 3.0)))) == 1


@pytest.mark.parametrize("n_samples", [1, 2, 3])
def test_very_few_samples(n_samples):
    model = BLMRegressor(**QUICK).fit(X[:n_samples], Y[:n_samples])
    assert np.isfinite(model.predict(X)).all()
    if n_samples > 1:
        labels = ["a", "b", "b"][:n_samples]
        found = BLMClassifier(**QUICK).fit(X[:n_samples], labels).predict(X)
        assert set(found) <= {"a", "b"}


def test_one_sample_of_a_classifier():
    refused(BLMClassifier, X[:1], LABELS[:1], match="only one class")


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_numbers_of_any_size(scale):
    model = BLMRegressor(**{**QUICK, "max_flips": 2000}).fit(X * scale, Y * scale)
    assert model.score(X * scale, Y * scale) > 0.1


def test_numbers_beyond_single_precision():
    refused(
        BLMRegressor, X * 1e200, Y, match="float32|large|infinit", standardize=False
    )


# -------------------------------------------------------------------- the parameters

RANGES = [
    ("n_bits", 1), ("n_bits", 25), ("n_bits", 8.0), ("w_max", 0), ("w_max", -1.0),
    ("w_max", "big"), ("activation", "sin"), ("loss", "log"), ("search", "random"),
    ("search_options", "gray"), ("search_options", {"phi": 0.1}), ("alpha", -1),
    ("standardize", "yes"), ("n_restarts", 0), ("ensemble", 0), ("max_flips", 0),
    ("max_flips", None), ("max_time", 0), ("tol", -1), ("n_iter_no_change", 0),
    ("early_stopping", "yes"), ("validation_fraction", 1.0), ("warm_start", 2),
    ("random_state", "seed"), ("n_jobs", 1.5), ("hidden_layer_sizes", 0),
    ("hidden_layer_sizes", None), ("perturbation", -0.1), ("perturbation", 1.5),
]  # fmt: skip


@pytest.mark.parametrize(("parameter", "value"), RANGES)
def test_parameter_out_of_range(network, parameter, value):
    words = f"The '{parameter}' parameter of {network.__name__} must be"
    refused(network, X, TARGETS[network], match=words, **{parameter: value})


SEARCH_RANGES = [
    ("w_init", 0), ("w_init", "small"), ("init", "zeros"), ("neighborhood", "all"),
    ("telescopic", "yes"), ("phi", 1.5), ("eta", 1.0), ("freeze", "none"),
    ("start_bits", 0), ("sparsity", 1.0), ("sparsity", -0.1),
]  # fmt: skip


@pytest.mark.parametrize(("parameter", "value"), SEARCH_RANGES)
def test_parameter_of_the_search_out_of_range(network, parameter, value):
    control = SearchOptions(**{parameter: value})
    words = f"The '{parameter}' parameter of SearchOptions must be"
    refused(network, X, TARGETS[network], match=words, search_options=control)
    with pytest.raises(ValueError, match=words):
        BLMController((), n_inputs=2, n_outputs=1, search_options=control).fit(max)


@pytest.mark.parametrize(
    "w_max", [[1.0], [1.0, 2.0, 3.0], [1.0, 0.0], [1.0, np.nan], ["a", "b"], [[1], [2]]]
)
def test_ranges_that_are_not_those_of_two_layers(network, w_max):
    refused(network, X, TARGETS[network], match="w_max|could not convert", w_max=w_max)


@pytest.mark.parametrize(
    ("network_class", "parameter", "value"),
    [
        (BLMRegressor, "quantile", 0.0),
        (BLMRegressor, "quantile", 1.0),
        (BLMRegressor, "epsilon", 0),
        (BLMRegressor, "loss", "cross_entropy"),
        (BLMClassifier, "loss", "pinball"),
        (BLMClassifier, "class_weight", "even"),
    ],
)
def test_parameter_of_one_of_them(network_class, parameter, value):
    words = f"The '{parameter}' parameter of {network_class.__name__} must be"
    y = TARGETS[network_class]
    refused(network_class, X, y, match=words, **{parameter: value})


@pytest.mark.parametrize(
    "sizes",
    [[0], (3, 0), [-1], [2.5], (3.0,), ["3"], [[3]], [None], [True], [[2], [2, 3]]],
)
def test_impossible_hidden_layers(network, sizes):
    words = "hidden_layer_sizes"
    refused(network, X, TARGETS[network], match=words, hidden_layer_sizes=sizes)


def test_parameters_that_contradict_each_other(network):
    y = TARGETS[network]
    refused(
        network,
        X,
        y,
        match='neighborhood="best".*search="gray"',
        search_options=SearchOptions(neighborhood="best"),
    )
    refused(network, X, y, match="ensemble=3.*n_restarts=2", ensemble=3, n_restarts=2)
    refused(
        network,
        X,
        y,
        match="start_bits=9 is above n_bits=8",
        search_options=SearchOptions(start_bits=9, telescopic="threshold"),
        n_bits=8,
    )
    # Nobody asks for the bits of a telescope that is not there.
    network(**QUICK, search_options=SearchOptions(start_bits=9), n_bits=8).fit(X, y)


def no_function_of_two(output):
    return output


def words_for_numbers(target, output):
    return "high" if output > target else "low"


def beyond_the_compiler(target, output):
    return {target: output}[target] + __import__("math").pi


def never_a_number(target, output):
    return np.nan * output


class Callable:
    def __call__(self, target, output):
        return abs(target - output)


@pytest.mark.parametrize(
    "loss",
    [
        no_function_of_two,
        words_for_numbers,
        beyond_the_compiler,
        never_a_number,
        partial(no_function_of_two, 1.0),
        Callable(),
        max,
    ],
)
def test_losses_that_do_not_work(network, loss):
    refused(network, X, TARGETS[network], match="^loss must", loss=loss)


def no_number_where_it_is_used(target, output):
    return np.nan if output < 0.5 or output > 0.5 else 0.0


def raises_where_it_is_used(target, output):
    if output != 0.5:
        raise ValueError
    return 0.0


@pytest.mark.slow_cases("BLMRegressor-no_number_where_it_is_used")
@pytest.mark.parametrize("loss", [no_number_where_it_is_used, raises_where_it_is_used])
def test_losses_that_are_never_finite(network, loss):
    refused(network, X, TARGETS[network], match="no weights with a finite", loss=loss)


def nan_below_zero(target, output):
    return np.nan if output < 0 else (output - 1.0) ** 2


def test_a_loss_that_is_no_number_somewhere_leads_elsewhere():
    model = BLMRegressor(
        (),
        loss=nan_below_zero,
        search_options=SearchOptions(w_init=0.1),
        alpha=0,
        random_state=0,
    )
    outputs = model.set_params(standardize=False).fit(X, Y).predict(X)
    assert outputs.min() >= 0
    assert model.loss_ == pytest.approx(np.mean((outputs - 1) ** 2), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.zeros(60), "at least one non-zero|zero for every sample"),
        (-np.ones(60), "[Nn]egative"),
        (np.ones(59), "sample_weight.shape"),
        (np.full(60, np.nan), "sample_weight contains NaN"),
    ],
)
def test_impossible_weights(network, weights, words):
    refused(network, X, TARGETS[network], weights, match=words)


# ------------------------------------------------------------------- validation data


def test_validation_samples_come_in_pairs(network):
    y = TARGETS[network]
    refused(network, X, y, fit={"X_val": X}, match="y_val is missing")
    refused(network, X, y, fit={"y_val": y}, match="X_val is missing")


def test_impossible_validation_samples(network):
    y = TARGETS[network]
    for X_val, y_val, words in (
        (X[:, :3], y, "3 features.*expecting 4"),
        (X, y[:-1], "inconsistent numbers of samples"),
        (replaced(X, (0, 0), np.inf), y, "infinity"),
    ):
        refused(network, X, y, fit={"X_val": X_val, "y_val": y_val}, match=words)


def test_validation_targets_of_another_kind():
    refused(
        BLMRegressor, X, Y, fit={"X_val": X, "y_val": np.column_stack([Y, Y])},
        match="y has 2 outputs|y_val has 2 outputs",
    )  # fmt: skip
    refused(
        BLMClassifier, X, LABELS, fit={"X_val": X[:1], "y_val": ["perhaps"]},
        match="perhaps",
    )  # fmt: skip


def test_too_few_samples_to_hold_some_out(network):
    y = TARGETS[network]
    words = "validation_fraction=0.1 of"
    refused(network, X[:5], y[:5], early_stopping=True, match=words)


# -------------------------------------------------------------------------- going on


def test_other_shapes_than_before(network):
    y = TARGETS[network]
    model = network(**QUICK, warm_start=True).fit(X, y)
    before = dict(vars(model))
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"X has 3 features.*expecting 4"):
            call(X[:, :3], y)
    assert all(vars(model)[name] is before[name] for name in before)


def test_other_number_of_outputs_than_before():
    model = BLMRegressor(**QUICK, warm_start=True).fit(X, Y)
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="y has 2 outputs, but fit saw 1"):
            call(X, np.column_stack([Y, Y]))
    # Without warm_start a new fit begins anew.
    model.set_params(warm_start=False).fit(X, np.column_stack([Y, Y]))
    assert model.predict(X).shape == (60, 2)


def test_other_labels_than_before():
    model = BLMClassifier(**QUICK, warm_start=True).fit(X, LABELS)
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"unknown classes: \['perhaps'\]"):
            call(X[:2], ["yes", "perhaps"])
        with pytest.raises(ValueError, match="same kind as in the first fit"):
            call(X, np.ones((60, 2), dtype=int))
    several = (X[:, :3] > 0).astype(int)
    model = BLMClassifier(**QUICK, warm_start=True).fit(X, several)
    with pytest.raises(ValueError, match="2 labels, but 3 are expected"):
        model.fit(X, several[:, :2])
    with pytest.raises(ValueError, match="same kind as in the first fit"):
        model.fit(X, several[:, 0])


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_layer_sizes": (5,)},
        {"n_bits": 4},
        {"w_max": 3.0},
        {"activation": "relu"},
        {"standardize": False},
    ],
)
def test_other_network_than_before(network, changes):
    y = TARGETS[network]
    model = network(**QUICK, warm_start=True).fit(X, y)
    expected = model.codes_
    model.set_params(**changes)
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=next(iter(changes))):
            call(X, y)
    assert_array_equal(model.codes_, expected)


def test_other_network_of_as_many_weights(network):
    y = TARGETS[network]
    model = network((3,), warm_start=True, max_flips=200).fit(X, y)
    assert len(model.codes_) == 5 * 3 + 4
    assert len(model.codes_) == 5 * 2 + 3 * 2 + 3
    model.set_params(hidden_layer_sizes=(2, 2))
    with pytest.raises(ValueError, match="hidden_layer_sizes changed"):
        model.fit(X, y)


# ------------------------------------------------------------------------ prediction


def test_use_before_the_fit(network):
    for use in ("predict", "to_packed", "to_mlp", "score"):
        call = getattr(network(), use)
        arguments = {"predict": [X], "score": [X, TARGETS[network]]}.get(use, [])
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call(*arguments)


def test_number_of_columns_at_predict(network):
    model = network(**QUICK).fit(X, TARGETS[network])
    for wrong in (X[:, :3], np.hstack([X, X])):
        words = rf"X has {wrong.shape[1]} features.*expecting 4"
        with pytest.raises(ValueError, match=words):
            model.predict(wrong)


# -------------------------------------------------------------------------- failures


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
def test_fit_that_is_interrupted(network, failure, monkeypatch):
    y, epochs = TARGETS[network], []
    advance = Trainer.advance

    def interrupted(trainer, state, *args):
        epochs.append(state)
        if len(epochs) == 2:
            raise failure
        return advance(trainer, state, *args)

    fresh = network(**{**QUICK, "max_flips": 5000}, tol=0)
    model = clone(fresh).fit(X, y)
    monkeypatch.setattr(Trainer, "advance", interrupted)
    before = dict(vars(fresh))
    with pytest.raises(failure):
        fresh.fit(X, y)
    assert vars(fresh) == before
    expected, before, codes = model.predict(X), dict(vars(model)), model.codes_.copy()
    for call in (model.fit, model.set_params(warm_start=True).fit):
        epochs.clear()
        with pytest.raises(failure):
            call(X * 2, y)
        assert vars(model).keys() == before.keys()
        assert model.codes_ is before["codes_"]
        assert_array_equal(model.codes_, codes)
        assert_array_equal(model.predict(X), expected)


# Of the sums that scikit-learn looks for infinite values with, and of its scaler.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_columns_too_large_to_standardize_are_refused():
    X = np.column_stack([np.arange(8.0), np.tile([1e308, -1e308], 4)])
    with pytest.raises(ValueError, match=r"X has values too large .* columns \[1\]"):
        BLMRegressor((2,), max_flips=10).fit(X, np.arange(8.0))


def test_sizes_of_layers_are_in_an_order(network):
    words = "hidden_layer_sizes must have an order, but a set has none"
    refused(network, X, TARGETS[network], hidden_layer_sizes={4, 3}, match=words)
