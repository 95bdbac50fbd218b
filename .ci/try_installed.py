"""Fail unless the skmohn that is installed is whole and fits a model of each family.

Usage: python try_installed.py, by a Python that has skmohn and what it depends on.
"""

import importlib
import importlib.metadata
import pkgutil
from pathlib import Path

import numpy as np

import skmohn


def check_files() -> None:
    """Nothing is missing, and there is nothing but skmohn."""
    files = importlib.metadata.files("skmohn") or []
    strays = {f.parts[0] for f in files if not f.parts[0].startswith("skmohn")}
    assert not strays, f"more than skmohn is installed: {strays}"
    names = {f.name for f in files}
    missing = {"py.typed", "LICENSE"} - names
    assert not missing, f"not installed: {missing}"
    folder = Path(skmohn.__file__).parent
    assert "site-packages" in folder.parts, f"imported from the sources in {folder}"


def check_names() -> None:
    """Every public name of every public module can be had."""
    for module in ("skmohn", *public_modules()):
        package = importlib.import_module(module)
        for name in package.__all__:
            # It derives from a class of Optuna, which need not be there.
            if name != "MOHNSampler":
                getattr(package, name)


def public_modules() -> list[str]:
    """Subpackages of skmohn that users import."""
    found = pkgutil.iter_modules(skmohn.__path__, "skmohn.")
    return [info.name for info in found if not info.name.startswith("skmohn._")]


def check_fits() -> None:
    """One estimator of each family learns, and a black box is minimized."""
    from skmohn.optimize import minimize_black_box

    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 8))
    y = 2.0 * X[:, 0] - 3.0 * (X[:, 1] ^ X[:, 2] ^ X[:, 3])
    score = skmohn.MOHNRegressor().fit(X, y).score(X, y)
    assert score > 0.99, f"MOHNRegressor: R2 {score}"
    labels = X[:, 0] | X[:, 1]
    network = skmohn.BLMClassifier((4,), random_state=0).fit(X, labels)
    score = network.score(X, labels)
    assert score > 0.9, f"BLMClassifier: accuracy {score}"
    layers = skmohn.EnergyNetTransformer(random_state=0).fit(np.repeat(X, 2, axis=1))
    likelihoods = layers.score_samples(np.repeat(X, 2, axis=1))
    assert np.isfinite(likelihoods).all(), "EnergyNetTransformer: infinite likelihoods"
    found = minimize_black_box(lambda x: float(np.sum(x)), 6, 40, random_state=0)
    assert found.fun == 0, f"minimize_black_box: {found.fun}, not 0"


if __name__ == "__main__":
    check_files()
    check_names()
    check_fits()
    print("skmohn", skmohn.__version__, "works in", Path(skmohn.__file__).parent)
