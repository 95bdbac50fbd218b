"""A trained network as bytes.

All numbers are little-endian:

- a header of 10 bytes: ``BLM2``, which estimator, bits of a weight, activation, what is
  done with the outputs, flags, layers of weights;
- units of each layer, numbers of seven bits a byte, the highest bit of a byte saying
  that there is more;
- of each layer the range of its weights, in double precision; of a controller the steps
  between and within layers;
- means and scales of the inputs, then of the targets, if there are any;
- labels, unless they are 0, 1, 2 ... as int64, and names of columns, if asked for: as
  JSON, behind its number of bytes;
- the weights, Gray codes of so many bits each.
"""

import json
import struct

import numpy as np

from skmohn.blm import _codec
from skmohn.blm._network import Layout

_MAGIC = b"BLM2"
_HEADER = struct.Struct("<4s6B")
# Their places are part of the format.
_KINDS = ("BLMRegressor", "BLMClassifier", "BLMController")
_ACTIVATIONS = ("identity", "tanh", "logistic", "relu", "step")
_LOSSES = (
    *("squared", "absolute", "huber", "pinball"),
    *("cross_entropy", "hinge", "zero_one"),
)
_FLAGS = (
    *("recurrent", "sequences", "per_step", "one_dimensional"),
    *("multilabel", "labels", "columns", "single"),
)
_INPUTS, _TARGETS = 1, 2


class _Bytes:
    """Bytes that are read from the front."""

    def __init__(self, packed):
        self.packed, self.place = packed, 0

    def take(self, n):
        """The next bytes."""
        if self.place + n > len(self.packed):
            raise ValueError("packed ends before the last weight: it is incomplete")
        self.place += n
        return self.packed[self.place - n : self.place]

    def number(self):
        """The next number of seven bits a byte."""
        total, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            total |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return total

    def floats(self, n, kind="<f8"):
        """The next floats."""
        size = n * np.dtype(kind).itemsize
        return np.frombuffer(self.take(size), kind).astype(np.float64)

    def text(self):
        """The next values that were written as JSON."""
        return json.loads(self.take(self.number()))


def _number(value):
    """A number, seven bits a byte."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _text(values):
    text = json.dumps(values, separators=(",", ":")).encode()
    return _number(len(text)) + text


def _begin(kind, layout, n_bits, activation, last, flags, others=0):
    """Header and sizes."""
    bits = sum(1 << k for k, flag in enumerate(_FLAGS) if flags.get(flag))
    numbers = _KINDS.index(kind), n_bits, _ACTIVATIONS.index(activation)
    # What is scaled is beside the loss.
    last |= others << 4
    sizes = layout.sizes
    head = _HEADER.pack(_MAGIC, *numbers, last, bits, len(sizes) - 1)
    return head + b"".join(map(_number, sizes))


def _read_header(packed, cls):
    """Bytes behind the header, and what it says: names of parameters and flags."""
    if not isinstance(packed, bytes):
        raise TypeError(f"packed must be bytes from to_packed, got {type(packed)}")
    source = _Bytes(packed)
    if packed[:4] != _MAGIC or len(packed) < _HEADER.size:
        raise ValueError("packed is not from to_packed, or it is incomplete")
    _, kind, n_bits, activation, last, bits, n_layers = _HEADER.unpack(
        source.take(_HEADER.size)
    )
    if kind >= len(_KINDS) or activation >= len(_ACTIVATIONS) or not n_layers:
        raise ValueError("packed is of a later version of skmohn, or it is damaged")
    if _KINDS[kind] != cls.__name__:
        raise ValueError(f"packed holds a {_KINDS[kind]}, not a {cls.__name__}")
    flags = {flag: bool(bits >> k & 1) for k, flag in enumerate(_FLAGS)}
    sizes = tuple(source.number() for _ in range(n_layers + 1))
    layout = Layout(sizes, flags["recurrent"])
    return source, layout, n_bits, _ACTIVATIONS[activation], last, flags


def _codes(source, layout, n_bits):
    """The weights, which come last."""
    n_bytes = -(-layout.n_weights * n_bits // 8)
    return _codec.unpack(source.take(n_bytes), layout.n_weights, n_bits)


# ------------------------------------------------------- classifiers and regressors


def write_network(model, names, single):
    """Bytes of a fitted classifier or regressor.

    Parameters
    ----------
    model : BLMClassifier or BLMRegressor
    names : bool
        Whether to write the names of columns.
    single : bool
        Whether means and scales are in single precision.

    Returns
    -------
    packed : bytes
    """
    made_with, header = model._made_with, model._header()
    columns = getattr(model, "feature_names_in_", np.array([])) if names else []
    sizes = model.n_features_in_, *made_with["hidden_layer_sizes"], model.n_outputs_
    plain = header.get("classes"), header.get("dtype")
    scalers = model.input_scaler_, model.target_scaler_
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
            Layout(sizes, made_with["recurrent"]),
            made_with["n_bits"],
            made_with["activation"],
            _LOSSES.index(model._loss),
            flags,
            _INPUTS * (scalers[0] is not None) + _TARGETS * (scalers[1] is not None),
        ),
        model.w_max_.astype("<f8").tobytes(),
    ]
    for scaler in filter(None, scalers):
        table = np.concatenate([scaler.mean_, scaler.scale_])
        parts.append(table.astype("<f4" if single else "<f8").tobytes())
    if flags["labels"]:
        parts.append(_text(plain[::-1]))
    if flags["columns"]:
        parts.append(_text(columns.tolist()))
    return b"".join([*parts, _codec.pack(model.codes_, made_with["n_bits"])])


def _are_counted(classes, dtype):
    return dtype == "<i8" and classes == list(range(len(classes)))


def read_network(cls, packed):
    """Attributes of a network that :func:`write_network` has written.

    Parameters
    ----------
    cls : type
    packed : bytes

    Returns
    -------
    header : dict
        Parameters, columns, scalers and what the estimator wants.
    layout : Layout
    codes : ndarray of shape (n_weights,)
    """
    source, layout, n_bits, activation, last, flags = _read_header(packed, cls)
    n_layers = len(layout.sizes) - 1
    w_max = source.floats(n_layers)
    kind = "<f4" if flags["single"] else "<f8"
    scalers = [
        source.floats(2 * size, kind).reshape(2, size) if last >> 4 & which else None
        for which, size in ((_INPUTS, layout.sizes[0]), (_TARGETS, layout.sizes[-1]))
    ]
    n_outputs = layout.sizes[-1]
    n_classes = n_outputs if flags["multilabel"] or n_outputs > 1 else 2
    dtype, classes = source.text() if flags["labels"] else ("<i8", range(n_classes))
    header = {
        "params": {
            "recurrent": flags["recurrent"],
            "activation": activation,
            "n_bits": n_bits,
            "standardize": scalers[0] is not None,
            "w_max": w_max.tolist(),
            "loss": _LOSSES[last & 15],
        },
        "per_step": flags["per_step"] if flags["sequences"] else None,
        "columns": source.text() if flags["columns"] else [],
        "scalers": scalers,
        "one_dimensional": flags["one_dimensional"],
        "multilabel": flags["multilabel"],
        "dtype": dtype,
        "classes": list(classes),
    }
    return header, layout, _codes(source, layout, n_bits)


# ------------------------------------------------------------------------ controllers


def write_controller(codes, made_with):
    """Bytes of a fitted controller.

    Parameters
    ----------
    codes : ndarray of shape (n_weights,)
    made_with : dict
        What it was made with.

    Returns
    -------
    packed : bytes
    """
    layout = Layout(made_with["layers"], made_with["recurrent"])
    steps, own_steps = layout.gather(made_with["w_max"])
    head = _begin(
        "BLMController",
        layout,
        made_with["n_bits"],
        made_with["activation"],
        _ACTIVATIONS.index(made_with["out_activation"]),
        {"recurrent": layout.recurrent},
    )
    steps = np.concatenate([steps, own_steps]).astype("<f8").tobytes()
    return head + steps + _codec.pack(codes, made_with["n_bits"])


def read_controller(cls, packed):
    """What :func:`write_controller` has written: codes and what they were made with."""
    source, layout, n_bits, activation, last, _ = _read_header(packed, cls)
    n_layers = len(layout.sizes) - 1
    steps = source.floats(2 * n_layers).reshape(2, n_layers)
    made_with = {
        "layers": layout.sizes,
        "recurrent": layout.recurrent,
        "n_bits": n_bits,
        "w_max": layout.spread(*steps),
        "activation": activation,
        "out_activation": _ACTIVATIONS[last],
    }
    return _codes(source, layout, n_bits), made_with
