"""Hostile bytes to what reads bytes from elsewhere."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from fuzz_estimators import reference
from fuzz_rules import attempt
from hypothesis import strategies as st
from sklearn.base import clone
from support import traced_memory

from skmohn import BLMClassifier, BLMController, BLMRegressor
from skmohn.blm._serialization import _sealed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SMALL = {"n_bits": 4, "max_flips": 100, "random_state": 0}
NETWORKS = {
    "number": BLMRegressor((3,), **SMALL),
    "step": BLMRegressor((2,), "step", recurrent="steps", **SMALL),
    "words": BLMClassifier((2,), **SMALL),
    "moments": BLMClassifier((), loss="hinge", **SMALL),
    "labels": BLMClassifier((3,), standardize=False, **SMALL),
    "kinds": BLMClassifier((2,), categorical_features=[1, 2], **SMALL),
    "end": BLMClassifier((2,), "relu", recurrent="sequences", **SMALL),
    "steers": BLMController((2,), n_inputs=3, n_outputs=1, max_evaluations=3),
    "recalls": BLMController((2, 1), True, n_inputs=3, n_outputs=1, max_evaluations=3),
}
# Of any length that is drawn here, and of what is imported on the way.
MOST_MEMORY = 2**25


def sum_of_actions(policy, rng, incumbent):
    action = np.empty(1)
    policy.step(np.ones(3), policy.initial_state(), action)
    return abs(action[0])


@cache
def stored(name, names, single):
    """A class, and bytes of one of its networks."""
    X, y, words = reference()
    model = clone(NETWORKS[name])
    if isinstance(model, BLMController):
        model.fit(sum_of_actions)
        return type(model), model.to_packed()
    targets = {
        "words": words,
        "kinds": words,
        "moments": np.array(["2020", "2021"], "datetime64[D]")[(y > 0).astype(int)],
        "labels": np.column_stack([y > 0, X[:, 1] > 0]).astype(int),
        "step": y.reshape(8, 5),
        "end": words[::5],
    }
    rows = X.reshape(8, 5, 3) if model.recurrent else X
    if name == "kinds":
        kinds = [np.digitize(X[:, 1], [0.0]), np.digitize(X[:, 2], [-0.5, 0.5])]
        rows = np.column_stack([np.where(X[:, 0] > 1.0, np.nan, X[:, 0]), *kinds])
    model.fit(rows, targets.get(name, y))
    if names:
        model.feature_names_in_ = np.array(["a", "b", "ä"], dtype=object)
    return type(model), model.to_packed(names=names, single=single)


@dataclass(frozen=True)
class Edit:
    """A change of bytes, a little one or a large one."""

    kind: str
    place: float
    n: int
    odd: bytes

    def __call__(self, data):
        k = int(self.place * len(data))
        before, after = data[:k], data[k:]
        return {
            "bit": lambda: before + bytes(b ^ 1 << self.n % 8 for b in after[:1]),
            "byte": lambda: before + self.odd[:1],
            "cut": lambda: before,
            "drop": lambda: before + after[self.n :],
            "insert": lambda: before + self.odd + after,
            "repeat": lambda: before + data[max(k - self.n, 0) : k] * 2 + after,
        }[self.kind]() + (after[1:] if self.kind in ("bit", "byte") else b"")


EDITS = st.builds(
    Edit,
    st.sampled_from(["bit", "byte", "cut", "drop", "insert", "repeat"]),
    st.floats(0, 1),
    st.integers(0, 20),
    st.binary(min_size=1, max_size=12)
    | st.sampled_from(
        [
            *(b"\xff" * 10, b"\xff" * 20_000, b"\0" * 20_000, b"[" * 50_000, b"\x80"),
            *(b"NaN", b"1e999", b'["<U999999999",["a","b"]]', b"\xff\xff\xff\xff\x7f"),
            *(np.float64(x).tobytes() for x in (np.nan, np.inf, -1.0, 0.0, 1e308)),
        ]
    ),
)


def hostile(name):
    """Bytes of a network, changed; their digest is right or not."""
    return st.tuples(
        st.just(name),
        st.booleans(),
        st.booleans(),
        st.lists(EDITS, min_size=1, max_size=4),
        st.booleans(),
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_hostile_bytes_are_refused_or_load_as_they_are(name, campaign):
    def check(name, names, single, changes, is_sealed):
        cls, data = stored(name, names, single)
        changed = data[12:] if is_sealed else data
        for change in changes:
            changed = change(changed)
        if is_sealed:
            changed = _sealed(changed)
        with traced_memory() as peak:
            found = attempt(cls.from_packed, changed)
            assert peak() < MOST_MEMORY
        if isinstance(found, Exception):
            assert isinstance(found, ValueError), repr(found)
            return
        assert is_sealed or changed == data, "bytes with a wrong digest were loaded"
        options = {}
        if cls is not BLMController:
            flags = changed[16]
            options = {"names": bool(flags & 1 << 6), "single": bool(flags & 1 << 7)}
        assert attempt(found.to_packed, **options) == changed
        n = found.n_features_in_
        X = np.ones(
            (2, 3, n) if getattr(found, "_per_step", None) is not None else (6, n)
        )
        # Numbers that are stored may be as large as numbers are.
        with np.errstate(all="ignore"):
            answers = attempt(found.predict, X)
        # Ones may be none of the categories that are stored.
        is_unseen = name == "kinds" and isinstance(answers, ValueError)
        assert is_unseen or len(answers) == len(X)

    campaign(check, hostile(name))
