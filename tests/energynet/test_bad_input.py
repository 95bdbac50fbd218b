"""What cannot work is refused in clear words, and leaves a fitted estimator alone."""

from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.neural_network import MLPClassifier, MLPRegressor
from support import replaced

from skmohn import (
    EnergyNetClassifier,
    EnergyNetRegressor,
    EnergyNetTransformer,
    InfiniteRBMOptions,
)
from skmohn.energynet._training import Schedule

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
BITS = (X > 0).astype(float)
Y = X[:, 0] + X[:, 1] ** 2
LABELS = np.where(X[:, 0] > 0, "yes", "no")
QUICK = {"growth": None, "n_components": 3, "n_final_epochs": 2, "random_state": 0}


def refused(*args, match, error=ValueError, call="fit", **parameters):
    """Check that neither an unfitted nor a fitted estimator is changed by a refusal."""
    net = EnergyNetTransformer(**{**QUICK, **parameters})
    before = dict(vars(net))
    with pytest.raises(error, match=match):
        getattr(net, call)(*args)
    assert vars(net) == before
    net = EnergyNetTransformer(**QUICK).fit(BITS)
    expected, old = net.transform(BITS), dict(vars(net))
    net.set_params(**parameters)
    with pytest.raises(error, match=match):
        net.fit(*args)
    net.set_params(**EnergyNetTransformer(**QUICK).get_params())
    assert vars(net).keys() == old.keys()
    assert all(vars(net)[name] is old[name] for name in old if name.endswith("_"))
    assert_array_equal(net.transform(BITS), expected)


# ------------------------------------------------------------------------- the data


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_input_that_is_not_finite(value):
    bad = replaced(X, (3, 1), value)
    refused(bad, match="Input X contains infinity")
    net = EnergyNetTransformer(**QUICK).fit(X)
    for call in (net.transform, net.impute, net.score_samples, net.partial_fit):
        with pytest.raises(ValueError, match="Input X contains infinity"):
            call(bad)


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_samples_with_unknown_values_alone_are_nothing_to_learn_from(call):
    words = "Input X contains only NaN in all but 1 of 60 samples"
    refused(replaced(X, slice(1, None), np.nan), match=words, call=call)
    words = "Input X contains NaN in all samples of column 1: nothing can be learned"
    refused(replaced(X, (slice(None), 1), np.nan), match=words, call=call)
    # Later it is no news that a column is not known.
    net = EnergyNetTransformer(**QUICK).fit(X)
    net.partial_fit(replaced(X, (slice(None), 1), np.nan))
    assert np.isfinite(net.transform(X)).all()
    with pytest.raises(ValueError, match="only NaN in all but 0 of 60 samples"):
        net.partial_fit(np.full_like(X, np.nan))


def test_unknown_values_of_a_scaled_column():
    words = 'Input X contains NaN.*coding="minmax".*impute first.*thermometer'
    bad = replaced(X, (3, 1), np.nan)
    refused(bad, match=words, coding="minmax")
    net = EnergyNetTransformer(**QUICK, coding="minmax").fit(X)
    for call in (net.transform, net.impute, net.score_samples, net.partial_fit):
        with pytest.raises(ValueError, match=words):
            call(bad)


def test_too_many_unknown_values():
    wide = np.tile(BITS, 4)
    net = EnergyNetTransformer(**{**QUICK, "n_components": [3, 2]}).fit(wide)
    bad = replaced(wide, (7, slice(13)), np.nan)
    with pytest.raises(
        ValueError, match=r"sample 7 .* 13 columns .* 8192 ways.*impute first"
    ):
        net.score_samples(bad)


def test_validation_samples_that_nothing_is_recorded_of():
    net = EnergyNetTransformer(**QUICK)
    before = dict(vars(net))
    with pytest.raises(ValueError, match=r"X_val needs monitor.*monitor is None"):
        net.fit(BITS, X_val=BITS)
    assert vars(net) == before
    net.set_params(monitor=1)
    with pytest.raises(ValueError, match="X has 3 features"):
        net.fit(BITS, X_val=BITS[:, :3])
    with pytest.raises(ValueError, match="contains NaN"):
        net.fit(BITS, X_val=replaced(BITS, (0, 0), np.nan))
    assert not hasattr(net, "weights_")


def test_no_sample_one_sample_no_column():
    refused(X[:0], match=r"0 sample\(s\)")
    refused(X[:1], match=r"1 sample\(s\).*minimum of 2")
    refused(X[:1], match=r"1 sample\(s\).*minimum of 2", call="partial_fit")
    refused(X[:, :0], match=r"0 feature\(s\)")
    refused(X[0], match="Expected 2D array")


def test_two_samples_are_enough():
    net = EnergyNetTransformer(random_state=0).fit(X[:2])
    assert np.isfinite(net.transform(X)).all()
    assert np.isfinite(net.score(X))


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0, 7.0])
@pytest.mark.parametrize("coding", ["auto", "thermometer", "minmax"])
def test_nothing_varies(value, coding):
    refused(np.full((9, 3), value), match="no column of X varies", coding=coding)


# There are units enough.
@pytest.mark.filterwarnings("ignore:layer 0 was still growing")
@pytest.mark.parametrize("value", [0.0, 1.0, 7.0])
@pytest.mark.parametrize("growth", ["description_length", "infinite_rbm"])
def test_columns_that_are_constant(value, growth):
    table = np.column_stack([BITS, np.full((60, 2), value)])
    net = EnergyNetTransformer(growth, n_final_epochs=5, max_units=30, passthrough=True)
    net.set_params(infinite_rbm_options__threshold=0.5, random_state=0).fit(table)
    assert np.isfinite(net.transform(table)).all()
    assert np.isfinite(net.score(table))
    back = net.inverse_transform(net.transform(table))
    assert np.abs(back[:, 4:] - value).max() < 0.2


def test_columns_that_are_no_probabilities():
    words = r"column 0 has .* and 3 more columns"
    refused(X, match=words, coding="probability")
    net = EnergyNetTransformer(**QUICK, coding="probability").fit(BITS)
    for call in (net.transform, net.score, net.partial_fit):
        with pytest.raises(ValueError, match=r"column 2 has 1\.5; use coding="):
            call(replaced(BITS, (5, 2), 1.5))


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_numbers_of_any_size(scale):
    one = EnergyNetTransformer(**QUICK).fit(X)
    net = EnergyNetTransformer(**QUICK).fit(X * scale)
    assert_array_equal(net.weights_[0], one.weights_[0])


def test_words_as_numbers():
    message = "holds text, '.*', but is not among categorical_features: add it"
    refused(LABELS[:, None], match=message, categorical_features=None)


# ------------------------------------------------------------------- the parameters

RANGES = [
    ("growth", "fast"),
    ("n_components", 0),
    ("n_components", 2.5),
    ("max_layers", 0),
    ("unit_cost", 0),
    ("unit_cost", -1.0),
    ("coding", "one-hot"),
    ("n_bins", 1),
    ("layer", "top"),
    ("layer", 1.0),
    ("standardize", "yes"),
    ("passthrough", "no"),
    ("n_final_epochs", -1),
    ("n_final_epochs", 1.5),
    ("n_final_epochs", "long"),
    ("learning_rate", 0),
    ("learning_rate", "fast"),
    ("batch_size", 0),
    ("batch_size", 2.0),
    ("l2", -1),
    ("infinite_rbm_options", 0.5),
    ("max_units", 0),
    ("max_steps", 0),
    ("n_temperatures", 0),
    ("n_draws", 0),
    ("monitor", 0),
    ("monitor", 1.5),
    ("warm_start", "yes"),
    ("random_state", "seed"),
]


@pytest.mark.parametrize(("parameter", "value"), RANGES)
def test_parameter_out_of_range(parameter, value):
    words = f"The '{parameter}' parameter of EnergyNetTransformer must be"
    refused(BITS, match=words, **{parameter: value})


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("beta", 1.0), ("threshold", 0), ("p", 0.5), ("n_gibbs", 0), ("n_gibbs", 1.5),
        ("persistent", 2), ("likelihood", "sum"),
    ],
)  # fmt: skip
def test_parameter_of_the_paper_out_of_range(parameter, value):
    words = f"The '{parameter}' parameter of InfiniteRBMOptions must be"
    refused(
        BITS, match=words, infinite_rbm_options=InfiniteRBMOptions(**{parameter: value})
    )


@pytest.mark.parametrize("widths", [[], [0], [3, -1], [2.5], ["3"], [[3]], [True]])
def test_impossible_widths(widths):
    refused(BITS, match="n_components must be integers", n_components=widths)


def test_no_widths():
    refused(BITS, match="growth=None needs n_components", n_components=None)


@pytest.mark.parametrize("layer", [1, -2, 7])
def test_layer_that_is_not_there(layer):
    refused(BITS, match=f"layer={layer} does not exist: the stack has 1", layer=layer)
    net = EnergyNetTransformer(**QUICK).fit(BITS).set_params(layer=layer)
    for call in (net.transform, net.inverse_transform):
        with pytest.raises(ValueError, match=f"layer={layer} does not exist"):
            call(BITS)


# ------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize("growth", ["description_length", "infinite_rbm", None])
def test_divergence_names_the_learning_rate(growth):
    words = r"training diverged after \d+ steps.*lower learning_rate, now 1e\+06"
    refused(
        BITS, match=words, growth=growth, n_final_epochs=50,
        learning_rate=1e6, n_components=3 if growth is None else None,
    )  # fmt: skip


def test_divergence_while_going_on():
    net = EnergyNetTransformer(**QUICK).fit(BITS)
    expected = net.transform(BITS)
    net.set_params(learning_rate=1e6)
    with pytest.raises(ValueError, match="learning_rate"):
        net.partial_fit(BITS)
    assert_array_equal(net.transform(BITS), expected)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
def test_fit_that_is_interrupted(failure, monkeypatch):
    longer = {**QUICK, "n_final_epochs": 50}
    net = EnergyNetTransformer(**longer, warm_start=True).fit(BITS)
    fresh, epochs, advance = EnergyNetTransformer(**longer), [], Schedule.advance

    def interrupted(schedule, run, *args):
        epochs.append(run)
        if len(epochs) == 2:
            raise failure
        return advance(schedule, run, *args)

    monkeypatch.setattr(Schedule, "advance", interrupted)
    before = dict(vars(fresh))
    with pytest.raises(failure):
        fresh.fit(BITS)
    assert vars(fresh) == before
    expected, weights = net.transform(BITS), net.weights_[0].copy()
    for call in (net.fit, net.set_params(warm_start=False).fit):
        epochs.clear()
        with pytest.raises(failure):
            call(1 - BITS)
        assert_array_equal(net.weights_[0], weights)
        assert_array_equal(net.transform(BITS), expected)


def test_other_shapes_than_before():
    net = EnergyNetTransformer(**QUICK, warm_start=True).fit(X)
    before = dict(vars(net))
    for call in (net.fit, net.partial_fit, net.transform, net.score):
        with pytest.raises(ValueError, match=r"X has 3 features.*expecting 4"):
            call(X[:, :3])
    with pytest.raises(ValueError, match="X has 5 features, but transform returns 3"):
        net.inverse_transform(np.ones((2, 5)))
    net.set_params(n_components=4)
    for call in (net.fit, net.partial_fit):
        with pytest.raises(ValueError, match="n_components changed"):
            call(X)
    assert all(vars(net)[name] is before[name] for name in before if name[-1] == "_")


@pytest.mark.parametrize("n", [0, -1, 2.5, "many"])
def test_impossible_numbers_of_samples(n):
    net = EnergyNetTransformer(**QUICK).fit(BITS)
    with pytest.raises((TypeError, ValueError), match="n_samples"):
        net.sample(n)
    with pytest.raises((TypeError, ValueError), match="n_steps"):
        net.sample(2, n_steps=n)


# ------------------------------------------------------------- network with targets

STACK = EnergyNetTransformer(**QUICK)


@pytest.fixture(params=[EnergyNetClassifier, EnergyNetRegressor])
def network(request):
    """One of the two classes."""
    return request.param


@cache
def fitted(network):
    """A network that others are copied from."""
    y = LABELS if network is EnergyNetClassifier else Y
    return network(STACK, random_state=0).fit(X, y)


def network_refused(network, *args, match, error=ValueError, **parameters):
    net = deepcopy(fitted(network))
    expected, old = net.predict(X), dict(vars(net))
    net.set_params(**parameters)
    with pytest.raises(error, match=match):
        net.fit(*args)
    assert all(vars(net)[name] is old[name] for name in old if name.endswith("_"))
    net.set_params(**{name: old[name] for name in parameters if "__" not in name})
    assert_array_equal(net.predict(X), expected)


def test_impossible_samples_of_a_network(network):
    y = LABELS if network is EnergyNetClassifier else Y
    network_refused(network, replaced(X, (0, 0), np.inf), y, match="Input X contains")
    network_refused(network, X, y[:-1], match="inconsistent numbers of samples")
    network_refused(network, X[:1], y[:1], match="minimum of 2")
    network_refused(network, X, None, match="requires y to be passed")
    network_refused(network, np.ones((60, 4)), y, match="no column of X varies")


def test_impossible_targets():
    network_refused(EnergyNetClassifier, X, Y, match="Unknown label type: continuous")
    bad = replaced(Y, 3, np.nan)
    network_refused(EnergyNetRegressor, X, bad, match="Input y contains NaN")
    network_refused(EnergyNetRegressor, X, LABELS, match="could not convert string")


def test_impossible_parts(network):
    y = LABELS if network is EnergyNetClassifier else Y
    right = MLPClassifier if network is EnergyNetClassifier else MLPRegressor
    wrong = MLPRegressor if network is EnergyNetClassifier else MLPClassifier
    for parameters in ({"mlp": wrong()}, {"transformer": right()}, {"init": "zeros"}):
        (name,) = parameters
        words = f"The '{name}' parameter of {network.__name__} must be"
        network_refused(network, X, y, match=words, **parameters)
    network_refused(
        network, X, y, match="needs an mlp with activation=\"logistic\", got.*'relu'",
        mlp=right(), init="generative",
    )  # fmt: skip
    diverging = EnergyNetTransformer(
        **{**QUICK, "n_final_epochs": 50}, learning_rate=1e6
    )
    network_refused(
        network, X, y, match="lower learning_rate",
        transformer=diverging,
    )  # fmt: skip


def test_network_before_the_fit(network):
    with pytest.raises(NotFittedError):
        network().predict(X)
    if network is EnergyNetClassifier:
        assert not hasattr(network(), "classes_")
        with pytest.raises(NotFittedError):
            network().predict_proba(X)


@pytest.mark.slow_cases(
    "(?!(EnergyNetClassifier-max_steps|EnergyNetRegressor-max_steps)$).*"
)
@pytest.mark.parametrize("limit", ["max_units", "max_steps"])
def test_network_whose_layers_were_still_growing_says_so(network, limit):
    y = LABELS if network is EnergyNetClassifier else Y
    growing = EnergyNetTransformer(
        "description_length",
        coding="thermometer",
        unit_cost=0.1,
        n_final_epochs=2,
        max_layers=1,
        n_temperatures=20,
    )
    growing.set_params(**{limit: {"max_units": 4, "max_steps": 650}[limit]})
    with pytest.warns(ConvergenceWarning, match=f"layer 0 .* {limit}=.*raise {limit}"):
        network(growing, random_state=0).fit(X, y)


def test_network_that_is_still_learning_says_so(network):
    y = LABELS if network is EnergyNetClassifier else Y
    mlp = MLPClassifier if network is EnergyNetClassifier else MLPRegressor
    with pytest.warns(ConvergenceWarning, match="[Mm]ax"):
        network(STACK, mlp(max_iter=2), random_state=0).fit(X, y)
