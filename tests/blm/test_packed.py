"""Packed networks from elsewhere: damaged, cut off, or made to do harm."""

import itertools
import json
import struct
import time
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from support import traced_memory

from skmohn import BLMClassifier, BLMController, BLMRegressor
from skmohn.blm._serialization import _number, _sealed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + 0.3 * X[:, 1]
WORDS = np.array(["a", "bb", "c"])[np.digitize(Y, [-0.5, 0.5])]
LABELS = np.column_stack([Y > 0, X[:, 2] > 0]).astype(int)
DAYS = np.array(["2020-01-01", "2021-05-05"], dtype="datetime64[D]")[
    (Y > 0).astype(int)
]
SEQUENCES = X.reshape(12, 5, 3)
KINDS = pd.DataFrame(
    {
        "kind": np.where(X[:, 2] > 1.0, None, WORDS),
        "z": np.where(X[:, 1] > 1.0, np.nan, X[:, 0]),
        "n": np.arange(60) % 3,
        "two": X[:, 2] > 0.0,
        "lost": np.nan,
    }
)
QUICK = {"hidden_layer_sizes": (3,), "max_flips": 50, "random_state": 0, "n_bits": 5}


def rate(policy, rng, incumbent):
    action = np.empty(1)
    policy.step(X[0], policy.initial_state(), action)
    return abs(action[0])


CONTROLLER = {"n_inputs": 3, "n_outputs": 1, "max_evaluations": 5, "random_state": 0}
MODELS = {
    "number": lambda: BLMRegressor(**QUICK).fit(X, Y),
    "numbers": lambda: BLMRegressor(**QUICK).fit(X, np.column_stack([Y, -Y])),
    "plain": lambda: BLMRegressor(**QUICK, standardize=False).fit(X, Y),
    "words": lambda: BLMClassifier(**QUICK).fit(X, WORDS),
    "truth": lambda: BLMClassifier(**QUICK, loss="hinge").fit(X, Y > 0),
    "objects": lambda: BLMClassifier(**QUICK).fit(X, WORDS.astype(object)),
    "days": lambda: BLMClassifier(**QUICK).fit(X, DAYS),
    "labels": lambda: BLMClassifier(**QUICK).fit(X, LABELS),
    "steps": lambda: BLMRegressor(**QUICK, recurrent="steps").fit(
        SEQUENCES, Y.reshape(12, 5)
    ),
    "ends": lambda: BLMClassifier(**QUICK, recurrent="sequences").fit(
        SEQUENCES, WORDS[::5]
    ),
    "kinds": lambda: BLMRegressor(
        **QUICK, categorical_features=["kind", "n", "two"]
    ).fit(KINDS, Y),
    "steers": lambda: BLMController((2,), **CONTROLLER).fit(rate),
    "recalls": lambda: BLMController((2, 2), True, **CONTROLLER).fit(rate),
}


@cache
def packed(name):
    """A network of a kind: its class, and its bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MODELS[name]()
    return type(model), model.to_packed()


def attempt(name, data):
    """Load; return the bytes of what was loaded, None where it was refused."""
    cls, _ = packed(name)
    try:
        model = cls.from_packed(data)
    except ValueError as error:
        if not str(error).startswith("packed "):
            raise AssertionError from error
        return None
    if cls is BLMController:
        return model.to_packed()
    return model.to_packed(
        single=bool(data[16] & 1 << 7), names=bool(data[16] & 1 << 6)
    )


@pytest.mark.parametrize("name", MODELS)
def test_no_bit_that_flips_goes_unseen(name):
    _, data = packed(name)
    for index in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[index // 8] ^= 1 << index % 8
        assert attempt(name, bytes(damaged)) is None, index


@pytest.mark.parametrize("name", MODELS)
def test_no_end_that_is_missing_goes_unseen(name):
    _, data = packed(name)
    for n in range(len(data)):
        assert attempt(name, data[:n]) is None
        assert attempt(name, data[n + 1 :]) is None
    assert attempt(name, data + b"\0") is None
    assert attempt(name, data) == data


@pytest.mark.slow_cases("recalls")
@pytest.mark.parametrize("name", MODELS)
def test_forged_bytes_are_refused_or_load_as_they_are(name):
    # Whoever writes bytes may write their digest: what the parser takes, it takes as
    # to_packed would write it.
    _, data = packed(name)
    body, rng, n_loaded = data[12:], np.random.default_rng(0), 0
    forged = [body[:n] for n in range(len(body))] + [body + b"\0", b""]
    # Every bit of each format, in one of three models.
    for index in range(list(MODELS).index(name) % 3, 8 * len(body), 3):
        one = bytearray(body)
        one[index // 8] ^= 1 << index % 8
        forged.append(one)
    for _ in range(300):
        one = bytearray(body)
        for index in rng.integers(0, len(one), rng.integers(1, 6)):
            one[index] = rng.choice([0, 1, 127, 128, 255, rng.integers(256)])
        if rng.random() < 0.3:
            start, end = np.sort(rng.integers(0, len(one), 2))
            one[start:start] = one[start:end]
        forged.append(one)
    for one in forged:
        sealed = _sealed(one)
        found = attempt(name, sealed)
        n_loaded += found is not None
        assert found in (None, sealed)
    # Other weights are as good as these.
    assert n_loaded > 20


def body_of(name, *, sizes=None, text=None):
    """A body with other sizes, or another text in place of its labels."""
    data = packed(name)[1][12:]
    if sizes is not None:
        return data[:5] + bytes([len(sizes) - 1]) + b"".join(map(_number, sizes))
    start = data.index(b"[")
    old = data[start : data.index(b"]]", start) + 2]
    return data.replace(_number(len(old)) + old, _number(len(text)) + text)


@pytest.mark.parametrize(
    "sizes",
    [
        (2**31, 2**31, 2**31),
        (3, 2**34, 3),
        (1, 1, 2**34),
        (2**34, 1, 1),
        (1,) * 256,
        (0, 3, 3),
        (3, 3, 0),
    ],
)
@pytest.mark.parametrize("rest", [b"", b"\0" * 100, b"\xff" * 100])
def test_sizes_are_no_reason_to_allocate(sizes, rest):
    data = _sealed(body_of("words", sizes=sizes) + rest)
    with traced_memory() as peak:
        assert attempt("words", data) is None
        assert peak() < 2**20


def plain_body(cls, sizes, *, n_bits=5, flags=0, n_codes=None, w_max=1.0):
    """A body of a network without scales and texts, all of its weights zero."""
    kind, loss = ((0, 0), (1, 4))[cls is BLMClassifier]
    pairs = itertools.pairwise(map(int, sizes))
    n_codes = sum((1 + n_in) * n_out for n_in, n_out in pairs) if n_codes is None else 0
    return b"".join(
        [
            bytes([kind, n_bits, 1, loss, flags, len(sizes) - 1]),
            *map(_number, sizes),
            struct.pack(f"<{len(sizes) - 1}d", *[w_max] * (len(sizes) - 1)),
            bytes(-(-n_codes * n_bits // 8)),
        ]
    )


@pytest.mark.parametrize(
    ("cls", "sizes", "options"),
    [
        # Numbers of classes, before anything is known of their weights.
        (BLMClassifier, (1, 2**24), {"n_codes": 0}),
        (BLMClassifier, (1, 2), {}),
        (BLMClassifier, (3, 2, 2), {}),
        (BLMRegressor, (3, 2), {"flags": 1 << 3}),
        (BLMRegressor, (3, 2), {"flags": 1 << 4}),
        (BLMRegressor, (3, 2), {"n_bits": 0}),
        (BLMRegressor, (3, 2), {"n_bits": 1}),
        (BLMRegressor, (3, 2), {"n_bits": 25}),
        (BLMRegressor, (3, 2), {"n_bits": 64}),
        (BLMRegressor, (3, 2), {"flags": 1 << 1}),
        (BLMRegressor, (3, 2), {"flags": 1 << 2}),
        (BLMClassifier, (3, 1), {"flags": 1 << 3}),
    ],
)
def test_networks_that_no_fit_makes(cls, sizes, options):
    for sound in (
        (BLMRegressor, (3, 2)),
        (BLMClassifier, (3, 3)),
        (BLMClassifier, (3, 1)),
    ):
        data = _sealed(plain_body(*sound))
        assert sound[0].from_packed(data).to_packed() == data
    data = _sealed(plain_body(cls, sizes, **options))
    with traced_memory() as peak:
        with pytest.raises(ValueError, match="packed "):
            cls.from_packed(data)
        assert peak() < 2**20


@pytest.mark.parametrize("n", [127, 128, 200, 255, 16_383, 16_384])
def test_layers_of_any_size_come_back(n):
    data = _sealed(plain_body(BLMRegressor, (n, 2)))
    model = BLMRegressor.from_packed(data)
    assert model.n_features_in_ == n
    assert model.to_packed() == data


@pytest.mark.parametrize("name", ["number", "plain", "words", "labels"])
def test_parameters_and_kinds_of_targets_come_back(name):
    cls, data = packed(name)
    model = cls.from_packed(data)
    assert model.standardize == (name != "plain")
    assert (model.input_scaler_ is not None) == model.standardize
    assert model.n_bits == QUICK["n_bits"]
    if cls is BLMClassifier:
        assert model._targets.multilabel == (name == "labels")
    else:
        assert model.predict(X).shape == (60,)


def test_numbers_have_as_many_bytes_as_they_need():
    body = plain_body(BLMRegressor, (3, 2))
    for longer in (b"\x83\x00", b"\x83\x80\x00", b"\x83\x80\x80\x80\x80\x00"):
        with pytest.raises(ValueError, match=r"packed .* number has"):
            BLMRegressor.from_packed(_sealed(body[:6] + longer + body[7:]))


def test_ranges_within_layers_are_a_tenth_or_one():
    # Behind the sizes there are three steps between layers, and two within.
    body, step = packed("recalls")[1][12:], 10 + 3 * 8
    other = [struct.pack("<d", 0.25)] * 2
    assert attempt("recalls", _sealed(body)) is not None
    both = body[:step] + other[0] + other[1] + body[step + 16 :]
    assert attempt("recalls", _sealed(both)) == _sealed(both)
    one = body[:step] + other[0] + body[step + 8 :]
    assert attempt("recalls", _sealed(one)) is None


@pytest.mark.parametrize(
    "text",
    [
        b'["<U500000000",["a","b","c"]]',
        b'["<U3",["a","bb","c"]]',
        b'["<U0",["a","bb","c"]]',
        b'["<U2",["a","bb","bb"]]',
        b'["<U2",["a","bb"]]',
        b'["<U2",["a","bb",3]]',
        b'["<U2",["a","bb",null]]',
        b'["<U2", ["a","bb","c"]]',
        b'["<U2","abc"]',
        b'["(3,)i4",[1,2,3]]',
        b'["i4,i4",[1,2,3]]',
        b'["V9",[1,2,3]]',
        b'["|i1",[1,2,300]]',
        b'["|i1",[1,2,true]]',
        b'["|u1",[-1,2,3]]',
        b'["|b1",[0,1,2]]',
        b'["<f8",[1.0,2.0,NaN]]',
        b'["<f8",[1.0,2.0,Infinity]]',
        b'["<f2",[1.0,2.0,1e9]]',
        b'["<f8",[1.0,2.0,1e999]]',
        b'["<f4",[0.1,0.2,0.3]]',
        b'["<M8[ns]",[1,2,-9223372036854775808]]',
        b'["<M8[ns]",[1,2,9223372036854775808]]',
        b'["<M8[1s]",[1,2,3]]',
        b'["<M8[99999999999s]",[1,2,3]]',
        b'["|O",[1,2,[3]]]',
        b'["|O",[1,true,"a"]]',
        b'["|O",[1,2,NaN]]',
        b'["|O",[1,2,' + b"9" * 5000 + b"]]",
        b'["<i8",[0,1,2]]',
        b"[" * 100_000,
        b'{"<U2":["a","bb","c"]}',
        b"[]",
        b"null",
        b"3",
        b'"<U2"',
        b"",
        b"\xff\xfe[\0]\0",
    ],
)
def test_labels_that_cannot_be(text):
    with traced_memory() as peak:
        assert attempt("words", _sealed(body_of("words", text=text))) is None
        assert peak() < 2**24
    assert attempt("words", _sealed(body_of("words", text=b'["|O",["a","c",1.5]]')))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("words", b'["<U2",["bb","a","c"]]'),
        ("words", b'["<U2",["c","bb","a"]]'),
        ("words", b'["<i8",[2,1,0]]'),
        ("words", b'["|O",[0,2,1.5]]'),
        ("days", b'["<M8[D]",[18752,18262]]'),
        ("truth", b'["|b1",[true,false]]'),
    ],
)
def test_labels_in_another_order_than_fits_have(name, text):
    assert attempt(name, _sealed(body_of(name, text=text))) is None


@pytest.mark.parametrize(
    "names", [["a", "b"], ["a", "b", 3], "abc", [["a"], "b", "c"], None, {"a": 1}]
)
def test_names_that_cannot_be(names):
    text = json.dumps(names, separators=(",", ":")).encode()
    data = packed("number")[1][12:]
    flags = bytes([data[4] | 1 << 6])
    weights = -(-16 * QUICK["n_bits"] // 8)
    body = [data[:4], flags, data[5:-weights], _number(len(text)), text]
    data = _sealed(b"".join([*body, data[-weights:]]))
    assert attempt("number", data) is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, -1.0, 1.7e308])
def test_ranges_means_and_scales_that_cannot_be(value):
    # Behind the sizes: ranges of two layers, three means and three scales, one of each.
    stored, is_refused = struct.pack("<d", value), []
    for name, n in (("number", 10), ("steers", 2), ("recalls", 5)):
        body = packed(name)[1][12:]
        start = 9 + (name == "recalls")
        for k in range(n):
            one = body[: start + 8 * k] + stored + body[start + 8 * (k + 1) :]
            is_refused.append(attempt(name, _sealed(one)) is None)
    ranges, scales = [0, 1, *range(10, 17)], [5, 6, 7, 9]
    # Means may be any number; variances are finite, too.
    wanted = sorted([*ranges, *scales]) if np.isfinite(value) else list(range(17))
    assert np.flatnonzero(is_refused).tolist() == wanted


@pytest.mark.parametrize("name", ["number", "numbers", "labels", "steers", "recalls"])
@pytest.mark.parametrize("value", [1e308, 3e307, 1e306, 1e154, 1e-154, 1e-300, 5e-324])
def test_forged_numbers_whose_sums_overflow(name, value):
    # All numbers are finite, and so is what the largest weight is: sums were not, and
    # the target's scaler refused them in predict.
    cls, data = packed(name)
    stored, n_refused = struct.pack("<d", value), 0
    for start in range(18, 66):
        one = data[12:start] + stored + data[start + 8 :]
        try:
            model = cls.from_packed(_sealed(one))
        except ValueError as error:
            n_refused += str(error).startswith("packed ")
            continue
        for rows in (np.ones((2, 3)), X[:5], -1e10 * X[:5]):
            assert np.isfinite(model.predict(rows)).all()
    assert n_refused > 0


def test_networks_whose_sums_overflow_are_not_stored():
    model = BLMClassifier(**QUICK, loss="hinge").fit(X, Y > 0)
    assert type(model).from_packed(model.to_packed()).predict(X).any()
    model.w_max_ = model.w_max_ * 1e307
    with pytest.raises(ValueError, match=r"cannot be stored.* smaller w_max"):
        model.to_packed()


@pytest.mark.parametrize("activation", ["relu", "identity", "tanh"])
@pytest.mark.parametrize("cls", [BLMClassifier, BLMRegressor])
def test_sums_of_the_largest_numbers_do_not_overflow(cls, activation):
    y = Y if cls is BLMRegressor else WORDS
    model = cls(**QUICK, activation=activation).fit(X, y)
    rows = np.array([[1.7e308, 1.7e308, -1.7e308], [-1e300, 1e300, 1e300], [0, 0, 1]])
    outputs = model.predict if cls is BLMRegressor else model.predict_proba
    assert np.isfinite(outputs(rows)).all()
    # No other row is moved.
    assert_allclose(outputs(rows)[2:], outputs(rows[2:]), rtol=1e-12)


def test_long_files_take_no_longer_than_they_are():
    took = []
    for n in (100_000, 400_000):
        start = time.process_time()
        for body in (b"\1\4\1\4\0\2" + b"\xff" * n + b"\0", b"\xff" * n):
            assert attempt("words", _sealed(body)) is None
            assert attempt("words", b"BLM2" + body) is None
        took.append(time.process_time() - start)
    # Quadratic time was 2 s for a number of 300 KB.
    assert took[1] < 0.5


def test_files_without_a_digest_say_so():
    with pytest.raises(
        ValueError, match=r"stored before version 0\.1\.0, which added a"
    ):
        BLMRegressor.from_packed(b"BLM2" + packed("number")[1][12:])


@pytest.mark.parametrize(
    ("classes", "dtype"),
    [
        (np.array(["a", "b"], dtype="U50"), "<U1"),
        (np.array([np.int64(3), np.int64(7)], dtype=object), "|O"),
        (np.array([np.float64(0.5), "b"], dtype=object), "|O"),
        (np.array([1.5, 2.5], dtype=np.float16), "<f2"),
        (np.array([1, 2], dtype=">i4"), ">i4"),
        (np.array([1, 2**63], dtype=np.uint64), "<u8"),
    ],
)
def test_labels_of_every_type_come_back(classes, dtype):
    model = BLMClassifier(**QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, classes[(Y > 0).astype(int)].astype(str))
    model.classes_, model._targets = classes, type(model._targets)(classes, False)
    again = BLMClassifier.from_packed(model.to_packed())
    assert again.classes_.dtype.str == dtype
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.to_packed() == model.to_packed()


def test_labels_that_json_does_not_hold():
    model = BLMClassifier(**QUICK).fit(X, Y > 0)
    for classes in (np.array([1.5, 2.5], np.longdouble), np.array([b"a", b"b"])):
        model._targets = type(model._targets)(classes, False)
        with pytest.raises(ValueError, match="cannot be stored"):
            model.to_packed()


def test_means_that_single_precision_moves():
    seconds = 1.7e9 + 10.0 * X[:, :1]
    model = BLMRegressor(**QUICK).fit(np.hstack([X, seconds]), Y)
    assert len(model.to_packed()) > 0
    with pytest.warns(UserWarning, match=r"moves column 3 by .* lies far from zero"):
        model.to_packed(single=True)
    model = BLMRegressor(**QUICK).fit(X, 1e60 * Y)
    with pytest.raises(ValueError, match="too large or too small for single"):
        model.to_packed(single=True)


def test_zones_of_times_are_not_stored():
    days = pd.to_datetime(np.arange(20), unit="D")
    duration = pd.to_timedelta(np.arange(20), unit="h")
    y = np.arange(20.0)
    for at in (days, days.tz_localize("Europe/Berlin")):
        X = pd.DataFrame({"z": y, "at": at, "for": duration})
        model = BLMRegressor((2,), tol=1.0, random_state=0).fit(X, y)
        with pytest.warns(UserWarning, match="column at holds times, but whether"):
            packed = model.to_packed(names=True)
        found = BLMRegressor.from_packed(packed).predict(X)
        assert_allclose(found, model.predict(X))
    BLMRegressor((2,), tol=1.0, random_state=0).fit(X[["z", "for"]], y).to_packed()


COLUMNS = b'["error",[["a","bb","c",null],true,[0,1,2],[false,true],null]]'


@pytest.mark.parametrize(
    "text",
    [
        COLUMNS.replace(b"error", b"ignore"),
        COLUMNS.replace(b'"error"', b'["error"]'),
        COLUMNS.replace(b'"bb","c"', b'"c","bb"'),
        COLUMNS.replace(b'"bb"', b'"a"'),
        COLUMNS.replace(b'"bb"', b"1"),
        COLUMNS.replace(b'"bb","c",null', b'"bb",null,null'),
        COLUMNS.replace(b"[0,1,2]", b"[0,1,true]"),
        COLUMNS.replace(b"[0,1,2]", b"[0,1,1.0]"),
        COLUMNS.replace(b"[0,1,2]", b"[0,1,Infinity]"),
        COLUMNS.replace(b"[0,1,2]", b"[0,1,NaN]"),
        COLUMNS.replace(b"[0,1,2]", b"[0,1,[2]]"),
        COLUMNS.replace(b"[0,1,2]", b"[0,1,{}]"),
        COLUMNS.replace(b"[0,1,2]", b"[0,1,2,3]"),
        COLUMNS.replace(b"[0,1,2]", b"[]"),
        COLUMNS.replace(b"[0,1,2]", b"1"),
        COLUMNS.replace(b"[0,1,2]", b'"text"'),
        COLUMNS.replace(b"true,[0", b"false,[0"),
        b'["error",[' + b"false," * 9 + b"false]]",
        b'["error",[]]',
        b'["error"]',
        b'["error",[],[]]',
        b"[" * 100_000,
        b"null",
        b"",
    ],
)
def test_columns_that_cannot_be(text):
    body = packed("kinds")[1][12:]
    assert COLUMNS in body
    old, new = (_number(len(part)) + part for part in (COLUMNS, text))
    with traced_memory() as peak:
        assert attempt("kinds", _sealed(body.replace(old, new))) is None
        assert peak() < 2**24
    for other in (
        COLUMNS.replace(b"error", b"missing"),
        COLUMNS.replace(b'"c"', b'"d"'),
        COLUMNS.replace(b"[0,1,2]", b"[0,1.5,2]"),
        COLUMNS.replace(b",null]]", b',"",["one"],[null]]]'),
    ):
        new = _number(len(other)) + other
        sealed = _sealed(body.replace(old, new))
        assert attempt("kinds", sealed) == sealed


def test_means_that_cannot_be():
    body, model = packed("kinds")[1][12:], MODELS["kinds"]()
    means = model._inputs.means
    for at, value in ((0, 1.5), (0, -0.1), (4, np.nan), (4, np.inf)):
        other = means.copy()
        other[at] = value
        sealed = _sealed(body.replace(means.tobytes(), other.tobytes()))
        assert attempt("kinds", sealed) is None
    other = means.copy()
    other[4] = 99.0
    sealed = _sealed(body.replace(means.tobytes(), other.tobytes()))
    assert attempt("kinds", sealed) == sealed


def test_sequences_have_no_columns_of_categories():
    body = bytearray(packed("steps")[1][12:])
    body[3] |= 4 << 4
    assert attempt("steps", _sealed(bytes(body))) is None
    with pytest.raises(ValueError, match="its sequences have categories"):
        BLMRegressor.from_packed(_sealed(bytes(body)))
