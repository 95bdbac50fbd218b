"""Nothing half-written is taken for a model, and no fit needs a disk."""

import pickle
from contextlib import contextmanager

import joblib
import numba
import numpy as np
import pytest
import skops.io
from sklearn.base import clone

from skmohn._core._numba import jit

resource = pytest.importorskip("resource")  # Not on Windows.

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@contextmanager
def full_disk():
    """No file can grow beyond 200 bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def write_pickle(model, path):
    path.write_bytes(pickle.dumps(model))


@pytest.mark.parametrize(
    ("save", "load"),
    [
        (write_pickle, lambda path: pickle.loads(path.read_bytes())),
        (joblib.dump, joblib.load),
        (skops.io.dump, lambda path: skops.io.load(path, trusted=[])),
    ],
    ids=["pickle", "joblib", "skops"],
)
def test_half_a_model_is_not_saved_without_a_word(
    fits, save, load, are_equal, tmp_path
):
    estimator, args, _ = fits
    model = clone(estimator).fit(*args)
    path = tmp_path / "model"
    with full_disk(), pytest.raises(OSError, match="File too large"):
        save(model, path)
    assert are_equal(model, clone(estimator).fit(*args))
    # Whatever a loader says of half a file, it does not say that it is a model.
    with pytest.raises(Exception, match=r".*"):
        load(path)


def add_two(x):
    return x + 2


def test_kernels_work_where_the_cache_has_no_room(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    with full_disk():
        assert jit(add_two)(np.float64(2.0)) == 4.0
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
