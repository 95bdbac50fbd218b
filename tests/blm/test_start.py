"""Starts of the search on bits: by gradients, and by a smooth loss."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from skmohn import BLMClassifier, BLMController, BLMRegressor, SearchOptions
from skmohn.blm import _kernels as kernels
from skmohn.blm import _start
from skmohn.blm._codec import encode, grid_step
from skmohn.blm._network import DatasetProblem, Layout, refresh
from skmohn.blm._start import compute_gradients, quantize, train_quantized

pytestmark = pytest.mark.filterwarnings("ignore:the loss was still falling")

QUANTIZED = SearchOptions(init="quantized")
LOSSES = {
    "squared": (kernels.SQUARED, 0.0),
    "absolute": (kernels.ABSOLUTE, 0.0),
    "huber": (kernels.HUBER, 0.7),
    "pinball": (kernels.PINBALL, 0.8),
    "logistic squared": (kernels.LOGISTIC_SQUARED, 0.0),
    "cross-entropy": (kernels.CROSS_ENTROPY, 0.0),
    "hinge": (kernels.HINGE, 0.0),
    "softmax": (kernels.SOFTMAX, 0.0),
}


def problem(loss="squared", activation="tanh", sizes=(3, 5, 4, 3), **options):
    """Network on random samples of unequal weights."""
    rng = np.random.default_rng(0)
    layout = Layout(sizes)
    kind, number = LOSSES[loss]
    y = rng.integers(0, 2, (40, sizes[-1]))
    if loss == "softmax":
        y = np.eye(sizes[-1])[rng.integers(0, sizes[-1], 40)]
    if loss in ("squared", "absolute", "huber", "pinball"):
        y = rng.normal(size=(40, sizes[-1]))
    options = {
        "step": layout.spread(grid_step(4, np.full(len(sizes) - 1, 1.5))),
        "loss_number": number,
        "alpha": 2.0,
    } | options
    return DatasetProblem(
        layout=layout,
        activation=activation,
        loss=kind,
        X=rng.normal(size=(40, sizes[0])).astype(np.float32),
        y=y.astype(np.float32),
        sample_weight=rng.uniform(0.5, 2.0, 40).astype(np.float32),
        **options,
    )


def layers_of(problem, weights):
    """Weights by layer, the biases first."""
    coefs, intercepts, _ = problem.layout.split(weights)
    return [np.vstack(pair) for pair in zip(intercepts, coefs, strict=True)]


def joined(problem, layers):
    """Layers in one vector."""
    coefs, intercepts = [each[1:] for each in layers], [each[0] for each in layers]
    return problem.layout.join(coefs, intercepts, [])


@pytest.mark.parametrize("activation", ["tanh", "logistic", "relu", "identity"])
@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_those_of_the_loss_of_the_search(loss, activation):
    own = problem(loss, activation)
    weights = np.random.default_rng(1).normal(size=own.layout.n_weights)
    gradient = joined(own, compute_gradients(own, layers_of(own, weights)))
    size, differences = 1e-3, []
    for shift in size * np.eye(len(weights)):
        above, below = (
            refresh(own.connect(weights + sign * shift)) for sign in (1, -1)
        )
        differences.append((above - below) / (2 * size))
    # The search computes in single precision.
    assert np.allclose(gradient, differences, rtol=1e-2, atol=2e-3)
    assert np.abs(gradient).max() > 0.05


def test_gradients_of_a_batch_are_those_of_all_samples_in_the_mean():
    own = problem()
    layers = layers_of(own, np.random.default_rng(1).normal(size=own.layout.n_weights))
    whole = joined(own, compute_gradients(own, layers))
    total, parts = own.total_weight, np.array_split(np.arange(40), 5)
    mean = sum(
        own.sample_weight[part].sum()
        / total
        * joined(own, compute_gradients(own, layers, part))
        for part in parts
    )
    assert np.allclose(mean, whole)


@pytest.mark.parametrize("n_bits", [2, 3, 4, 8, 12])
def test_the_network_that_is_trained_is_that_of_its_codes(n_bits, monkeypatch):
    seen = []

    def watched(layer, step):
        found = quantize(layer, step)
        seen.append(found[1])
        return found

    monkeypatch.setattr(_start, "quantize", watched)
    layout = Layout((3, 5, 2))
    w_max = np.array([1.7, 0.9])
    step = layout.spread(grid_step(n_bits, w_max))
    own = problem(sizes=layout.sizes, step=step)
    codes = train_quantized(own, n_bits, np.random.default_rng(0))
    # What rounding gives at the end is what the search begins with, in every bit.
    assert np.array_equal(own.connect(codes * step).weights, joined(own, seen[-2:]))
    assert np.array_equal(encode(codes * step, n_bits, layout.spread(w_max)), codes)
    assert np.abs(codes).max() <= 2 ** (n_bits - 1)


def test_training_lowers_the_loss_of_the_rounded_network():
    own = problem("softmax", sizes=(3, 8, 3), alpha=0.0)
    codes = train_quantized(own, 4, np.random.default_rng(0))
    assert own.evaluate(codes) < 0.8 * own.evaluate(np.zeros_like(codes))


def test_large_networks_start_quantized():
    X, y = (part[::4] for part in load_digits(return_X_y=True))
    options = {"n_bits": 4, "max_flips": 2000, "random_state": 0}
    large, small = (20,), (10,)
    fits = {
        (hidden, init): BLMClassifier(
            hidden, search_options=SearchOptions(init=init), **options
        ).fit(X, y)
        for hidden in (large, small)
        for init in ("auto", "quantized", "bounded")
    }
    for hidden, same, other in (
        (large, "quantized", "bounded"),
        (small, "bounded", "quantized"),
    ):
        codes = fits[hidden, "auto"].codes_
        assert np.array_equal(codes, fits[hidden, same].codes_)
        assert not np.array_equal(codes, fits[hidden, other].codes_)
    quantized, bounded = fits[large, "quantized"], fits[large, "bounded"]
    assert quantized.loss_curve_[0] < bounded.loss_
    assert quantized.loss_ <= quantized.loss_curve_[0]


@pytest.mark.parametrize(
    "options",
    [
        {"search": "gray"},
        {"search_options": SearchOptions(telescopic="local_minimum")},
        {"search_options": SearchOptions(w_init=0.5)},
        {"search_options": SearchOptions(sparsity=0.5)},
        {"activation": "step"},
        {"loss": lambda y, output: (y - output) ** 2},
    ],
    ids=["gray", "telescopic", "w_init", "sparse", "steps", "own loss"],
)
def test_what_is_published_or_asked_for_starts_at_random(options, monkeypatch):
    def trained(*args):
        raise AssertionError("gradients have chosen the start")

    monkeypatch.setattr(_start, "train_quantized", trained)
    X, y = load_digits(return_X_y=True)
    options = {"max_flips": 100, "random_state": 0, **options}
    BLMClassifier((20,), **options).fit(X[:100], y[:100])
    part = BLMClassifier((20,), random_state=0)
    part.partial_fit(X[:20], y[:20], classes=range(10))


@pytest.mark.parametrize("ensemble", [1, 3])
def test_restarts_start_apart_for_every_number_of_jobs(ensemble):
    X = load_iris().data
    options = {"n_restarts": 3, "ensemble": ensemble, "max_flips": 300}
    fits = [
        BLMRegressor(
            (6,), search_options=QUANTIZED, n_jobs=n, random_state=1, **options
        ).fit(X[:, :3], X[:, 3])
        for n in (1, 2)
    ]
    one, two = (fit.predict(X[:, :3]) for fit in fits)
    assert np.array_equal(one, two)
    if ensemble > 1:
        first, second = (coefs[0] for coefs, _ in fits[0].members_[:2])
        assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    "options",
    [
        {"activation": "step"},
        {"loss": lambda y, output: (y - output) ** 2},
        {"recurrent": "sequences"},
    ],
    ids=["steps", "own loss", "sequences"],
)
def test_starts_without_gradients_are_refused(options):
    X, y = load_iris(return_X_y=True)
    if "recurrent" in options:
        X = X.reshape(150, 2, 2)
    with pytest.raises(ValueError, match='set init="bounded"'):
        BLMClassifier(search_options=QUANTIZED, **options).fit(X, y)


def test_controllers_have_no_gradients():
    model = BLMController(n_inputs=2, n_outputs=1, search_options=QUANTIZED)
    with pytest.raises(ValueError, match='set init="bounded"'):
        model.fit(lambda policy: 0.0)


def test_a_limit_of_time_holds_for_the_start():
    X, y = load_digits(return_X_y=True)
    model = BLMClassifier((50,), n_bits=4, max_time=0.02, random_state=0).fit(X, y)
    assert model.stopping_reason_ == "max_time"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_error_rate_starts_from_cross_entropy(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes, :2], y[y < n_classes]
    options = {"random_state": 0, "n_iter_no_change": 10**6}
    errors = BLMClassifier((4,), loss="zero_one", max_flips=4000, **options).fit(X, y)
    smooth = BLMClassifier((4,), max_flips=2000, **options).fit(X, y)
    assert errors.loss_curve_[0] == pytest.approx(1.0 - smooth.score(X, y), abs=1e-9)
    assert errors.loss_ <= errors.loss_curve_[0]
    assert errors.history_[-1]["flips"] <= 2000


def test_the_error_rate_goes_on_from_any_weights():
    X, y = load_iris(return_X_y=True)
    model = BLMClassifier((4,), max_flips=500, warm_start=True, random_state=0)
    before = model.fit(X, y).score(X, y)
    model.set_params(loss="zero_one").fit(X, y)
    assert model.loss_curve_[0] == pytest.approx(1.0 - before, abs=1e-9)


def test_restarts_of_the_error_rate_keep_their_order():
    X, y = load_iris(return_X_y=True)
    options = {"loss": "zero_one", "max_flips": 1000, "random_state": 3}
    one = BLMClassifier((3,), n_restarts=3, n_jobs=1, **options).fit(X, y)
    two = BLMClassifier((3,), n_restarts=3, n_jobs=2, **options).fit(X, y)
    assert np.array_equal(one.codes_, two.codes_)
