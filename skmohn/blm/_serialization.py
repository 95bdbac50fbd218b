"""Trained networks as bytes, and a parser that validates every value."""

# All numbers are little-endian:
#
# - ``BLM3``, and the first 8 bytes of the SHA-256 digest of all that follows;
# - a header of 6 bytes: which estimator, bits of a weight, activation, what is done
#   with the outputs, flags, layers of weights;
# - units of each layer, numbers of seven bits a byte, with the highest bit of a byte
#   set if there is more;
# - of each layer the range of its weights, in double precision; of a controller the
#   steps between layers, and within those where there are such weights;
# - means and scales of the inputs, then of the targets, if there are any;
# - if there are categories, or were missing values in `fit`: the means of the inputs
#   where they are missing, and the columns, as JSON;
# - labels, unless they are 0, 1, 2 ... as int64, and names of columns, if asked for: as
#   JSON, behind its number of bytes;
# - the weights, Gray codes of so many bits each.
#
# The digest finds damage, not forgery: whoever writes a file can write its digest. So
# each value is validated before anything of its size is allocated, all errors are
# ValueErrors, and nothing loads but what `to_packed` would write again.

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skmohn._core._categories import Categories, fit_encoder
from skmohn._core._fitting import warn_caller
from skmohn._core._names import name_columns
from skmohn._core._sklearn import is_scalar_nan
from skmohn._core._tuned import tuned
from skmohn.blm import _codec
from skmohn.blm._inputs import InputCoding
from skmohn.blm._network import FARTHEST_INPUT, Layout

_MAGIC = b"BLM3"
_DIGEST_SIZE: Final = 8
_INPUTS: Final = 1
_TARGETS: Final = 2
_COLUMNS: Final = 4
# Seven bits in each: more than any memory holds of units, or of bytes of text.
_MAX_NUMBER_BYTES: Final = 5
# Steps of a sequence for which outputs must be finite.
_N_STEPS: Final = 10


@dataclass(frozen=True)
class PackingConstants:
    """Limits of what bytes hold."""

    # Standard deviations that means may move in single precision: the finest step of
    # inputs that devices have by default, 8 of them in 12 bits, is four times as wide.
    max_shift: float = tuned(1e-3, "rounding")
    # Columns of categories, each of which takes a millisecond to restore.
    max_categorical: int = tuned(1000, "cost")


_PACKING = PackingConstants()
_HEADER = struct.Struct("<6B")
_START = len(_MAGIC) + _DIGEST_SIZE
# Their places are part of the format.
_KINDS = ("BLMRegressor", "BLMClassifier", "BLMController")
_ACTIVATIONS = ("identity", "tanh", "logistic", "relu", "step")
_BOUNDED = ("tanh", "logistic", "step")
_LOSSES = (
    *("squared", "absolute", "huber", "pinball"),
    *("cross_entropy", "hinge", "zero_one"),
)
_FLAGS = (
    *("recurrent", "sequences", "per_step", "one_dimensional"),
    *("multilabel", "labels", "columns", "single"),
)
# What an estimator may have of the losses and of the flags.
_LOSSES_OF = {
    "BLMRegressor": {"squared", "absolute", "huber", "pinball"},
    "BLMClassifier": {"squared", "cross_entropy", "hinge", "zero_one"},
}
_FLAGS_OF = {
    "BLMRegressor": {*_FLAGS} - {"multilabel", "labels"},
    "BLMClassifier": {*_FLAGS} - {"one_dimensional"},
    "BLMController": {"recurrent"},
}


def _require(condition: object, what: str) -> None:
    """Raise unless a packed file is as `to_packed` writes it."""
    if not condition:
        raise ValueError(
            f"packed is from a later version of skmohn, or damaged: {what}; store the "
            "network again"
        )


class _Bytes:
    """Bytes that are read from the front."""

    def __init__(self, packed: bytes) -> None:
        self.packed, self.offset = packed, 0

    @property
    def n_left(self) -> int:
        """Number of bytes that are still to be read."""
        return len(self.packed) - self.offset

    def take(self, n: int) -> bytes:
        """Read the next bytes."""
        self.require(n)
        self.offset += n
        return self.packed[self.offset - n : self.offset]

    def require(self, n: int) -> None:
        """Raise if there are fewer bytes left."""
        if n > self.n_left:
            raise ValueError("packed ends before the last weight: it is incomplete")

    def number(self) -> int:
        """Read the next number of seven bits a byte."""
        total = 0
        for k in range(_MAX_NUMBER_BYTES):
            byte = self.take(1)[0]
            total |= (byte & 127) << 7 * k
            if byte < 128:
                _require(byte or not k, "a number has more bytes than it needs")
                return total
        raise ValueError(
            f"packed is damaged: a number has over {_MAX_NUMBER_BYTES} bytes"
        )

    def floats(self, n: int, kind: str = "<f8") -> NDArray[np.float64]:
        """Read the next floats."""
        values = np.frombuffer(self.take(n * np.dtype(kind).itemsize), kind)
        _require(np.isfinite(values).all(), "a number is not finite")
        return values.astype(np.float64)

    def text(self) -> Any:
        """Read the next values that were written as JSON."""
        text = self.take(self.number())
        try:
            values = json.loads(text.decode())
            is_ours = _as_json(values) == text
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"packed is damaged: its text is not JSON: {error}"
            ) from error
        _require(is_ours, "its text is not as to_packed writes it")
        return values


def _number(value: int) -> bytes:
    """Number, seven bits a byte."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _as_json(values: Any) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()


def _text(values: Any) -> bytes:
    text = _as_json(values)
    return _number(len(text)) + text


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:_DIGEST_SIZE]


def _sealed(*parts: bytes) -> bytes:
    """All bytes, given those behind the digest."""
    body = b"".join(parts)
    return _MAGIC + _digest(body) + body


def _begin(
    kind: str,
    layout: Layout,
    n_bits: int,
    activation: str,
    last: int,
    flags: Mapping[str, object],
    others: int = 0,
) -> bytes:
    """Header and sizes."""
    bits = sum(1 << k for k, flag in enumerate(_FLAGS) if flags.get(flag))
    numbers = _KINDS.index(kind), n_bits, _ACTIVATIONS.index(activation)
    # What is scaled is beside the loss.
    last |= others << 4
    sizes = layout.sizes
    head = _HEADER.pack(*numbers, last, bits, len(sizes) - 1)
    return head + b"".join(map(_number, sizes))


def _read_header(
    packed: bytes, cls: type
) -> tuple[_Bytes, Layout, int, str, int, dict[str, bool]]:
    """Read the header: names of parameters, and flags; return the bytes behind it."""
    source = _Bytes(_read_body(packed))
    kind, n_bits, activation, last, bits, n_layers = _HEADER.unpack(
        source.take(_HEADER.size)
    )
    _require(kind < len(_KINDS), "its estimator is unknown")
    if _KINDS[kind] != cls.__name__:
        raise ValueError(f"packed holds a {_KINDS[kind]}, not a {cls.__name__}")
    _require(2 <= n_bits <= 24, f"weights have {n_bits} bits")
    _require(activation < len(_ACTIVATIONS), "its activation is unknown")
    _require(n_layers, "it has no layers")
    flags = {flag: bool(bits >> k & 1) for k, flag in enumerate(_FLAGS)}
    unknown = {flag for flag in flags if flags[flag]} - _FLAGS_OF[_KINDS[kind]]
    _require(not unknown, f"a {_KINDS[kind]} has no {sorted(unknown)}")
    sizes = tuple(source.number() for _ in range(n_layers + 1))
    _require(all(sizes), "a layer has no units")
    layout = Layout(sizes, flags["recurrent"])
    # All else takes memory in proportion to the weights, or to its own bytes.
    source.require(_n_bytes(layout, n_bits))
    return source, layout, n_bits, _ACTIVATIONS[activation], last, flags


def _read_body(packed: bytes) -> bytes:
    """Bytes after the digest, if that is right."""
    if not isinstance(packed, bytes):
        raise TypeError(f"packed must be bytes from to_packed, got {type(packed)}")
    if packed[: len(_MAGIC)] != _MAGIC:
        raise ValueError(
            "packed is not from to_packed, or it was stored before version 0.1.0, "
            "which added a digest: store the network again"
        )
    body = packed[_START:]
    if packed[len(_MAGIC) : _START] != _digest(body):
        raise ValueError(
            "packed is damaged or incomplete: its digest is wrong; copy or store the "
            "network again"
        )
    return body


def _n_bytes(layout: Layout, n_bits: int) -> int:
    return -(-layout.n_weights * n_bits // 8)


def _codes(source: _Bytes, layout: Layout, n_bits: int) -> NDArray[np.int32]:
    """Weights, which come last."""
    n_bytes = _n_bytes(layout, n_bits)
    _require(source.n_left <= n_bytes, "there are bytes after the last weight")
    packed = source.take(n_bytes)
    codes = _codec.unpack(packed, layout.n_weights, n_bits)
    _require(_codec.pack(codes, n_bits) == packed, "there are bits after the weights")
    return codes


def _require_steps(steps: NDArray[np.float64], n_bits: int) -> None:
    """Refuse steps of which weights are not numbers."""
    with np.errstate(over="ignore"):
        largest = steps * 2.0 ** (n_bits - 1)
    is_sound = (steps > 0.0) & np.isfinite(largest)
    _require(is_sound.all(), "the range of the weights is not a positive number")


def _has_finite_outputs(
    layout: Layout,
    weights: NDArray[np.float64],  # (n_weights,)
    activation: str,
    targets: NDArray[np.float64]
    | None = None,  # their means and scales, (2, n_outputs)
) -> bool:
    """Whether no sum overflows for inputs as far out as they may be."""
    bound = np.full(layout.sizes[0], FARTHEST_INPUT)
    own: Sequence[NDArray | None]
    coefs, intercepts, own = layout.split(np.abs(weights))
    own = [*own, *[None] * (len(coefs) - len(own))]
    with np.errstate(over="ignore", invalid="ignore"):
        for layer, (coef, intercept) in enumerate(zip(coefs, intercepts, strict=True)):
            if layer and activation in _BOUNDED:
                bound = np.minimum(bound, 1.0)
            bound = inputs = bound @ coef + intercept
            within = own[layer]
            for _ in range(0 if within is None else _N_STEPS):
                before = np.minimum(bound, 1.0) if activation in _BOUNDED else bound
                bound = inputs + before @ within
            if not np.isfinite(bound).all():
                return False
        if targets is not None:
            bound = bound * targets[1] + np.abs(targets[0])
    return bool(np.isfinite(bound).all())


def _require_storable(
    layout: Layout,
    weights: NDArray[np.float64],
    activation: str,
    targets: NDArray[np.float64] | None = None,
) -> None:
    """Raise for a network that would not be loaded."""
    if not _has_finite_outputs(layout, weights, activation, targets):
        raise ValueError(
            "the network cannot be stored, because sums of its weights overflow: "
            "fit with a smaller w_max"
        )


# ------------------------------------------------------- classifiers and regressors


def _warn_of_ensemble(model: Any) -> None:
    """Warn that the best network of an ensemble predicts other values."""
    n_networks = len(model.members_)
    if n_networks > 1:
        warn_caller(
            f"the model averages {n_networks} networks, but to_packed stores only the "
            "best, so that from_packed predicts other values: fit with ensemble=1, or "
            "save the model by pickle, joblib or skops"
        )


def _warn_of_zones(model: Any) -> None:
    """Warn of columns of times: bytes have no room for their zones."""
    zones, categorical = getattr(model, "_time_zones", {}), model._categories.encoders
    moments = [
        j
        for j, zone in zones.items()
        if not (isinstance(zone, str) or j in categorical)
    ]
    if moments:
        names = name_columns(
            getattr(model, "feature_names_in_", None), model.n_features_in_
        )
        warn_caller(
            f"column {', '.join(names[j] for j in moments)} holds times, but whether "
            "these have a zone is not stored: after from_packed, times without a zone "
            "are read as UTC; convert all of them alike, or to seconds"
        )


def write_network(
    model: Any,
    names: bool,  # whether to write the names of columns
    single: bool,  # whether means and scales are in single precision
) -> bytes:
    """Serialize a fitted classifier or regressor."""
    made_with, header = model._made_with, model._targets.to_plain()
    _warn_of_ensemble(model)
    _warn_of_zones(model)
    columns: NDArray = getattr(model, "feature_names_in_", np.array([]))
    columns = columns[: None if names else 0]
    coding = model._inputs
    sizes = coding.n_inputs, *made_with["hidden_layer_sizes"], model.n_outputs_
    plain = header.get("classes"), header.get("dtype")
    scalers = model.input_scaler_, model.target_scaler_
    layout = Layout(sizes, made_with["recurrent"])
    steps = layout.spread(_codec.grid_step(made_with["n_bits"], model.w_max_))
    tables = [
        None if scaler is None else np.stack([scaler.mean_, scaler.scale_])
        for scaler in scalers
    ]
    _require_storable(layout, model.codes_ * steps, made_with["activation"], tables[1])
    flags = {
        **made_with,
        **header,
        "sequences": model._per_step is not None,
        "per_step": model._per_step,
        "labels": plain[0] is not None and not _are_counted(*plain),
        "columns": len(columns) > 0,
        "single": single,
    }
    parts = [
        _begin(
            type(model).__name__,
            layout,
            made_with["n_bits"],
            made_with["activation"],
            _LOSSES.index(model._loss),
            flags,
            _INPUTS * (scalers[0] is not None)
            + _TARGETS * (scalers[1] is not None)
            + _COLUMNS * (not coding.is_plain),
        ),
        model.w_max_.astype("<f8").tobytes(),
    ]
    for table in tables:
        if table is None:
            continue
        parts.append((_in_single(table) if single else table.astype("<f8")).tobytes())
    if not coding.is_plain:
        parts += _write_columns(model, coding, single)
    if flags["labels"]:
        parts.append(_text(plain[::-1]))
    if flags["columns"]:
        parts.append(_text(columns.tolist()))
    return _sealed(*parts, _codec.pack(model.codes_, made_with["n_bits"]))


def _in_single(table: NDArray[np.float64]) -> NDArray[np.float32]:
    """Means and scales in single precision, with a warning where that moves them."""
    with np.errstate(over="ignore"):
        single = table.astype("<f4")
    if not (np.isfinite(single).all() and single[1].all()):
        raise ValueError(
            "means and scales are too large or too small for single precision: pass "
            "single=False"
        )
    shift = np.abs(single[0] - table[0]) / table[1]
    if shift.max() > _PACKING.max_shift:
        warn_caller(
            f"single precision moves column {shift.argmax()} by {shift.max():.2g} "
            "standard deviations, because it lies far from zero: pass single=False"
        )
    return single


def _write_columns(model: Any, coding: InputCoding, single: bool) -> list[bytes]:
    """Means of inputs, and what each column of a table holds."""
    categories: Categories = model._categories
    if len(categories.encoders) > _PACKING.max_categorical:
        raise ValueError(
            f"X has {len(categories.encoders)} categorical columns, but bytes hold at "
            f"most {_PACKING.max_categorical}: encode them before the network, in a "
            "Pipeline, or save the model by pickle, joblib or skops"
        )
    names = name_columns(
        getattr(model, "feature_names_in_", None), model.n_features_in_
    )
    # Of numbers, whether some were missing in fit; None where all were, or of text that
    # is left out; of categories these, and None for a missing one.
    columns: list[Any] = coding.has_missing.tolist()
    for j in np.flatnonzero(coding.n_levels == 1).tolist():
        columns[j] = "" if j in categories.left_out else None
    for j, encoder in categories.encoders.items():
        columns[j] = _plain_categories(encoder.categories_[0], names[j])
        columns[j] += [None] * bool(coding.has_missing[j])
    with np.errstate(over="ignore"):
        means = coding.means.astype("<f4" if single else "<f8")
    if not np.isfinite(means).all():
        raise ValueError("means are too large for single precision: pass single=False")
    return [means.tobytes(), _text([categories.handle_unknown, columns])]


def _plain_categories(values: NDArray, name: str) -> list[Any]:
    """Categories as JSON can hold them, without the missing one."""
    plain = [v.item() if isinstance(v, np.generic) else v for v in values.tolist()]
    plain = [value for value in plain if not is_scalar_nan(value)]
    if not _are_categories(plain):
        raise ValueError(
            f"column {name} has the category {plain[0]!r:.60}, and bytes hold "
            "categories that are all text, all booleans or all numbers: make text of "
            "it by astype(str), or save the model by pickle, joblib or skops"
        )
    return plain


def _are_categories(values: list[Any]) -> bool:
    """Whether values are as the categories of a column: alike, and ascending."""
    kinds = {*map(type, values)}
    if not ((len(kinds) <= 1 and kinds <= {str, bool}) or kinds <= {int, float}):
        return False
    if any(isinstance(value, float) and not np.isfinite(value) for value in values):
        return False
    return all(a < b for a, b in pairwise(values))


def _are_counted(classes: Sequence[object], dtype: str) -> bool:
    return dtype == "<i8" and classes == list(range(len(classes)))


def read_network(
    cls: type, packed: bytes
) -> tuple[dict[str, Any], Layout, NDArray[np.int32]]:
    """Restore the attributes of a network from :func:`write_network`."""
    # Returned are a header (parameters, columns, scalers and what the estimator needs),
    # the layout and the codes.
    source, layout, n_bits, activation, last, flags = _read_header(packed, cls)
    loss = _read_loss(cls, last, flags, layout.sizes[-1])
    w_max = source.floats(len(layout.sizes) - 1)
    _require_steps(_codec.grid_step(n_bits, w_max), n_bits)
    scalers = [
        _read_scaler(source, size, flags["single"]) if last >> 4 & which else None
        for which, size in ((_INPUTS, layout.sizes[0]), (_TARGETS, layout.sizes[-1]))
    ]
    coding, categories = InputCoding.plain(np.zeros(0)), Categories({}, "error")
    if last >> 4 & _COLUMNS:
        coding, categories = _read_columns(source, layout.sizes[0], flags["single"])
    n_columns = len(coding.n_levels) or layout.sizes[0]
    header = {
        "params": {
            "handle_unknown": categories.handle_unknown,
            "recurrent": flags["recurrent"],
            "activation": activation,
            "n_bits": n_bits,
            "standardize": scalers[0] is not None,
            "w_max": w_max.tolist(),
            "loss": loss,
        },
        "per_step": flags["per_step"] if flags["sequences"] else None,
        "scalers": scalers,
        "n_outputs": layout.sizes[-1],
        "one_dimensional": flags["one_dimensional"],
        "multilabel": flags["multilabel"],
        **_read_labels(source, flags, layout.sizes[-1]),
        "columns": _read_names(source, n_columns) if flags["columns"] else [],
        "coding": coding,
        "categories": categories,
    }
    codes = _codes(source, layout, n_bits)
    weights = codes * layout.spread(_codec.grid_step(n_bits, w_max))
    _require(
        _has_finite_outputs(layout, weights, activation, scalers[1]),
        "the outputs of ordinary inputs are not finite",
    )
    return header, layout, codes


def _read_loss(cls: type, last: int, flags: dict[str, bool], n_outputs: int) -> str:
    """Loss, if flags and what is scaled can be with it."""
    loss = _LOSSES[last & 15] if last & 15 < len(_LOSSES) else "unknown"
    _require(loss in _LOSSES_OF[cls.__name__], f"a {cls.__name__} has no loss {loss!r}")
    is_regressor = cls.__name__ == "BLMRegressor"
    scaled = (0, _INPUTS | _TARGETS * is_regressor)
    _require(last >> 4 & ~_COLUMNS in scaled, "it scales other columns than fit does")
    _require(
        not (last >> 4 & _COLUMNS and flags["recurrent"]),
        "its sequences have categories",
    )
    _require(
        flags["recurrent"] == flags["sequences"] >= flags["per_step"],
        "its samples are neither rows nor sequences",
    )
    _require(
        not flags["one_dimensional"] or n_outputs == 1,
        f"targets of one dimension have {n_outputs} outputs",
    )
    _require(
        is_regressor or flags["multilabel"] or n_outputs != 2,
        "two classes have two outputs",
    )
    return loss


def _read_scaler(source: _Bytes, size: int, single: bool) -> NDArray[np.float64]:
    """Means and scales of columns."""
    table = source.floats(2 * size, "<f4" if single else "<f8").reshape(2, size)
    with np.errstate(over="ignore"):
        variances = table[1] ** 2
    _require(
        np.isfinite(variances).all() and np.all((table[1] > 0.0) & (variances > 0.0)),
        "a scale is not positive, or its square not finite",
    )
    return table


def _read_labels(
    source: _Bytes, flags: dict[str, bool], n_outputs: int
) -> dict[str, Any]:
    """Classes and their type."""
    n_classes = n_outputs if flags["multilabel"] or n_outputs > 1 else 2
    if not flags["labels"]:
        return {"dtype": "<i8", "classes": list(range(n_classes))}
    labels = source.text()
    _require(
        isinstance(labels, list)
        and [type(part) for part in labels] == [str, list]
        and len(labels[1]) == n_classes,
        f"it does not have labels of {n_classes} classes",
    )
    dtype, classes = labels
    _require(not _are_counted(classes, dtype), "its labels need not be stored")
    return {"dtype": dtype, "classes": classes}


def _read_columns(
    source: _Bytes, n_inputs: int, single: bool
) -> tuple[InputCoding, Categories]:
    """Coding of columns, and their categories."""
    means = source.floats(n_inputs, "<f4" if single else "<f8")
    found = source.text()
    _require(
        isinstance(found, list)
        and len(found) == 2
        and found[0] in ("error", "missing")
        and isinstance(found[1], list)
        and all(map(_is_column, found[1])),
        "its columns are no numbers, categories or text",
    )
    _require(
        sum(isinstance(each, list) for each in found[1]) <= _PACKING.max_categorical,
        "it has too many columns of categories",
    )
    unknown, columns = found
    n_levels = [
        len(each) if isinstance(each, list) else int(not isinstance(each, bool))
        for each in columns
    ]
    has_missing = [each is True or _has_missing(each) for each in columns]
    coding = InputCoding(np.array(n_levels, np.intp), np.array(has_missing), means)
    _require(
        columns and not coding.is_plain and coding.n_inputs == n_inputs,
        f"its columns have not the {n_inputs} inputs of the network",
    )
    fractions = means[coding.indicators]
    _require(
        np.all((fractions >= 0.0) & (fractions <= 1.0)),
        "a mean of zeros and ones is none",
    )
    encoders = {
        j: fit_encoder(np.array([_or_nan(v) for v in each], object).reshape(-1, 1))
        for j, each in enumerate(columns)
        if isinstance(each, list)
    }
    left_out = tuple(j for j, each in enumerate(columns) if each == "")
    return coding, Categories(encoders, unknown, left_out=left_out)


def _is_column(each: Any) -> bool:
    """Whether it says what a column of a table holds."""
    if isinstance(each, list):
        return bool(each) and _are_categories(each[: -1 if each[-1] is None else None])
    return each is None or isinstance(each, bool) or each == ""


def _or_nan(value: Any) -> Any:
    return np.nan if value is None else value


def _has_missing(column: Any) -> bool:
    """Whether a missing value is one of the levels of a column."""
    return isinstance(column, list) and column[-1] is None


def _read_names(source: _Bytes, n: int) -> list[str]:
    """Names of columns."""
    names = source.text()
    _require(
        isinstance(names, list)
        and len(names) == n
        and all(isinstance(name, str) for name in names),
        f"it does not have names of {n} columns",
    )
    return names


# ------------------------------------------------------------------------ controllers


def write_controller(
    codes: NDArray[np.integer],  # (n_weights,)
    made_with: dict[str, Any],  # its parameters
) -> bytes:
    """Serialize a fitted controller."""
    layout = Layout(made_with["layers"], made_with["recurrent"])
    _require_storable(layout, codes * made_with["w_max"], made_with["activation"])
    steps, own_steps = layout.gather(made_with["w_max"])
    head = _begin(
        "BLMController",
        layout,
        made_with["n_bits"],
        made_with["activation"],
        _ACTIVATIONS.index(made_with["out_activation"]),
        {"recurrent": layout.recurrent},
    )
    steps = np.append(steps, own_steps[: _n_own(layout)]).astype("<f8").tobytes()
    return _sealed(head, steps, _codec.pack(codes, made_with["n_bits"]))


def _n_own(layout: Layout) -> int:
    """Number of layers with weights within them."""
    return (len(layout.sizes) - 2) * layout.recurrent


def read_controller(
    cls: type, packed: bytes
) -> tuple[NDArray[np.int32], dict[str, Any]]:
    """Codes and parameters from :func:`write_controller`."""
    source, layout, n_bits, activation, last, _ = _read_header(packed, cls)
    n_layers = len(layout.sizes) - 1
    _require(last < len(_ACTIVATIONS), "its output activation is unknown")
    steps = source.floats(n_layers)
    n_own = _n_own(layout)
    own_steps = np.append(source.floats(n_own), steps[n_own:] / 10.0)
    for each in (steps, own_steps):
        _require_steps(each, n_bits)
    is_tenth = np.allclose(own_steps, steps / 10.0, rtol=1e-9, atol=0.0)
    _require(
        is_tenth or len({*own_steps[:n_own]}) == 1,
        "weights within layers have other ranges than fit gives them",
    )
    made_with = {
        "layers": layout.sizes,
        "recurrent": layout.recurrent,
        "n_bits": n_bits,
        "w_max": layout.spread(steps, own_steps),
        "activation": activation,
        "out_activation": _ACTIVATIONS[last],
    }
    codes = _codes(source, layout, n_bits)
    _require(
        _has_finite_outputs(layout, codes * made_with["w_max"], activation),
        "the outputs of ordinary inputs are not finite",
    )
    return codes, made_with
