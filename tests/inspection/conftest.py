"""Fitted estimators to draw, on no screen."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from skmohn import EnergyNetTransformer, InfiniteRBMOptions, MOHNRegressor
from skmohn.datasets import make_ising


@pytest.fixture(autouse=True)
def no_screen():
    """Draw without a screen; skip where matplotlib is missing."""
    plt = pytest.importorskip("matplotlib.pyplot")
    before = plt.get_backend()
    plt.close("all")
    plt.switch_backend("Agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture(scope="session")
def bits():
    return (load_digits().data > 6).astype(float)


@pytest.fixture(scope="session")
def grown(bits):
    """Layers that grew by nats, the last of which did not stay."""
    net = EnergyNetTransformer(
        "description_length", learning_rate=0.6, n_temperatures=200, n_draws=20,
        monitor=50, random_state=0,
    )  # fmt: skip
    return net.fit(bits[:300])


@pytest.fixture(scope="session")
def by_gamma(bits):
    """Layers that grew by gamma, the last of which did not stay."""
    net = EnergyNetTransformer(
        "infinite_rbm",
        max_layers=2,
        infinite_rbm_options=InfiniteRBMOptions(threshold=0.6),
        learning_rate=0.05,
        n_final_epochs=80,
        n_temperatures=100,
        random_state=0,
    )
    return net.fit(bits[:300])


@pytest.fixture(scope="session")
def given(bits):
    """Two layers of given width."""
    return EnergyNetTransformer(None, [7, 5], n_final_epochs=5, random_state=0).fit(
        bits
    )


@pytest.fixture(scope="session")
def mixed():
    """A layer on a thermometer, a constant column, a bit and a grade: six columns."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.normal(size=(80, 2)),
            np.full(80, 3.0),
            rng.integers(0, 2, 80),
            np.clip(0.5 + 1.5 * rng.normal(size=80), 0, 1),
            rng.integers(0, 4, 80),
        ]
    )
    return EnergyNetTransformer(None, 4, n_final_epochs=5, random_state=0).fit(X)


@pytest.fixture(scope="session")
def searched():
    """A search of terms, with its discoveries."""
    glass = make_ising((4, 4), n_samples=400, random_state=0)
    model = MOHNRegressor("msda", "delta", early_stopping=True, random_state=0)
    return model.fit(glass.X, glass.y)


@pytest.fixture(scope="session")
def monitored(bits):
    """Two layers of given width, measured every third epoch."""
    net = EnergyNetTransformer(
        None, [7, 5], n_final_epochs=10, monitor=3, n_draws=20, random_state=0
    )
    return net.fit(bits[:1000], X_val=bits[1000:])
