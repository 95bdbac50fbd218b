"""Parameters that are integers of numpy of few bits, as those of a grid may be."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmohn import BLMClassifier, EnergyNetTransformer, SearchOptions
from skmohn.datasets import make_mk_trap, make_nk
from skmohn.optimize import minimize_black_box

SHORT = [np.int8, np.uint8, np.uint64]
X = np.random.default_rng(0).integers(0, 2, (40, 4)).astype(float)
Y = X[:, 0].astype(int)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("short", SHORT)
def test_bits_of_weights(short):
    """Two to the power of 12 was 0 in a byte, and moves were written anywhere."""

    def fit(make):
        options = SearchOptions(start_bits=make(4))
        model = BLMClassifier(
            (3,), n_bits=make(12), max_flips=make(100), tol=0.1, search="gray",
            search_options=options, random_state=0,
        )  # fmt: skip
        return model.fit(X, Y).predict_proba(X)

    assert_array_equal(fit(short), fit(int))


@pytest.mark.parametrize("short", SHORT)
@pytest.mark.parametrize("name", ["batch_size", "n_final_epochs", "n_temperatures"])
def test_sizes_and_epochs(short, name):
    def fit(make):
        options = {"n_final_epochs": 3, "n_temperatures": 50, name: make(100)}
        net = EnergyNetTransformer(n_components=2, random_state=0, **options)
        return net.fit(X).score_samples(X)

    assert_array_equal(fit(short), fit(int))


@pytest.mark.parametrize("short", SHORT)
def test_generators(short):
    for make in (make_mk_trap, make_nk):
        found, wanted = (
            make(kind(8), kind(60) if make is make_mk_trap else kind(7),
                 n_samples=kind(3), random_state=0)
            for kind in (short, int)
        )  # fmt: skip
        assert_array_equal(found.y, wanted.y)


@pytest.mark.parametrize("short", SHORT)
def test_evaluations(short):
    calls = []
    minimize_black_box(
        lambda x: calls.append(1) or float(x.sum() - 3 * x[0] * x[3]),
        20,
        short(60),
        batch_size=short(7),
        noise=1,
        random_state=0,
    )
    assert len(calls) == 60


def test_long_integers_stay():
    net = EnergyNetTransformer(n_components=2, n_final_epochs=np.int64(1))
    net.fit(X)
    assert type(net.n_final_epochs) is np.int64
