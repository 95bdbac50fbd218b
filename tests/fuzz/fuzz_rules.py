"""What every call must keep to, whatever it is given."""

import ast
import contextlib
import copy
import functools
import linecache
import pickle
import signal
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
import sklearn

import skmohn

OURS = Path(skmohn.__file__).parent
# Their errors name the parameter or the column.
VALIDATION = tuple(
    str(Path(sklearn.__file__).parents[1] / name)
    for name in (
        "sklearn/utils/validation.py",
        "sklearn/utils/_param_validation.py",
        "sklearn/utils/multiclass.py",
        "sklearn/utils/metadata_routing.py",
        "sklearn/utils/_metadata_requests.py",
        "sklearn/utils/_response.py",
        "sklearn/utils/_available_if.py",
        "sklearn/utils/_set_output.py",
        "sklearn/utils/_array_api.py",
        "sklearn/utils/class_weight.py",
        "sklearn/model_selection/_split.py",
        "sklearn/preprocessing/_label.py",
        "sklearn/metrics/",
        "sklearn/base.py",
    )
)
# Of processor time: all that is drawn here takes less than one.
SECONDS = 20.0


class HangError(Exception):
    """A call that did not end."""


@contextlib.contextmanager
def time_limit():
    """Raise where a call takes more processor time than any of these should."""

    def give_up(number, frame):
        raise HangError(f"more than {SECONDS} seconds of processor time")

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@functools.cache
def raise_lines(path):
    """The lines of a file that are part of a ``raise`` statement."""
    source = "".join(linecache.getlines(path))
    return {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Raise)
        for line in range(node.lineno, node.end_lineno + 1)
    }


def is_explained(error):
    """Whether somebody wrote the error for the user, rather than stumbled.

    It is raised by a ``raise`` of ours, or by the validation of scikit-learn.
    """
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        i for i, frame in enumerate(frames) if Path(frame.filename).is_relative_to(OURS)
    ]
    start = ours[0] if ours else 0
    if any(frame.filename.startswith(VALIDATION) for frame in frames[start:]):
        return True
    last = frames[-1]
    by_us = Path(last.filename).is_relative_to(OURS)
    return by_us and last.lineno in raise_lines(last.filename)


def attempt(function, *args, **kwargs):
    """Call; return its value, or the error by which it explains itself.

    Anything else is a failure: another error, one that nobody wrote, a warning of
    numpy's, a hang, an argument that is not what it was.
    """
    before = copy.deepcopy(args), copy.deepcopy(kwargs)
    outcome = None
    with warnings.catch_warnings(), time_limit():
        warnings.simplefilter("error")
        # Advice to users, of ours and of scikit-learn's.
        for advice in (UserWarning, FutureWarning, np.exceptions.ComplexWarning):
            warnings.simplefilter("ignore", advice)
        # Sums of infinite numbers, on the way to refusing them.
        warnings.filterwarnings("ignore", module=r"(numpy|sklearn)\.")
        try:
            outcome = function(*args, **kwargs)
        # AttributeError: a method that this model does not have.
        except (ValueError, TypeError, AttributeError) as error:
            if not is_explained(error) or len(str(error)) < 15:
                raise AssertionError(
                    f"an error that nobody wrote: {error!r}"
                ) from error
            outcome = error
    assert same((args, kwargs), before), "an argument has changed"
    return outcome


def same(one, other):
    """Whether two values are alike, with NaN equal to NaN, down to the dtype."""
    if type(one) is not type(other):
        return False
    if isinstance(one, pd.DataFrame | pd.Series):
        return one.equals(other) and np.array_equal(one.index, other.index)
    if isinstance(one, pl.DataFrame | pl.Series):
        return same(one.to_numpy().tolist(), other.to_numpy().tolist())
    if sp.issparse(one):
        parts = ("row", "col") if one.format == "coo" else ("indices", "indptr")
        return all(same(getattr(one, p), getattr(other, p)) for p in ("data", *parts))
    if isinstance(one, np.ndarray):
        if one.dtype == object:
            return same(one.tolist(), other.tolist())
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    if isinstance(one, dict):
        return list(one) == list(other) and same(
            list(one.values()), list(other.values())
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return one == other or (one != one and other != other)
    if type(one).__module__.startswith("array_api_strict"):
        return same(np.asarray(one), np.asarray(other))
    if type(one).__eq__ is object.__eq__:
        return pickle.dumps(one) == pickle.dumps(other)
    return one == other


def is_finite(value):
    """Whether all numbers in an output are finite; words are."""
    if isinstance(value, tuple | list):
        return all(map(is_finite, value))
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    if sp.issparse(value):
        value = value.data
    if isinstance(value, pl.DataFrame | pl.Series):
        value = value.to_numpy()
    array = np.asarray(value)
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())
