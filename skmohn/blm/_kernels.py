"""Compiled kernels of the telescopic binary learning machine.

The network keeps, for every unit, a row with its pre-activation and one with its output
on all samples (float32), so that a changed weight costs one row and what follows from
it ([S4] III-B). There are two of each, for the present weights and for the change on
trial; to keep a change is to swap them. :func:`run` lets the network answer the
questions of a search.

What runs often takes arrays and not the tuple of all: that alone would cost more than a
short row.

[S4] Brunato and Battiti, "A telescopic binary learning machine for training neural
networks", IEEE TNNLS 28 (2017).
"""

from typing import NamedTuple

import numpy as np
from numba import types

from skmohn._core._jit import borrow, call_address, jit
from skmohn.blm._search_kernels import ask, tell

# Activations of the hidden units, and losses with the activation they apply.
IDENTITY, TANH, LOGISTIC, RELU, STEP = range(5)
NONE = -1
# The last two take all outputs together.
SQUARED, ABSOLUTE, HUBER, PINBALL, LOGISTIC_SQUARED, CROSS_ENTROPY, HINGE = range(7)
ZERO_ONE, OWN, SOFTMAX, MISSES = range(7, 11)

_FAST = {"reassoc", "nsz", "contract", "arcp"}
_0, _1, _2, _HALF = (np.float32(x) for x in (0, 1, 2, 0.5))
# A rational function that is the hyperbolic tangent to 3e-7 in float32 (least squares
# for the largest error, on squares of the argument up to the limit).
_LIMIT = np.float32(8.0)
_P1, _P2, _P3, _P4 = (
    np.float32(x)
    for x in (
        0.13444481790065765,
        0.003571578999981284,
        2.1894351448281668e-05,
        1.5229986161102715e-08,
    )
)
_Q1, _Q2, _Q3, _Q4 = (
    np.float32(x)
    for x in (
        0.4677780866622925,
        0.02616436965763569,
        0.00034112611319869757,
        8.52227060477162e-07,
    )
)
# Samples that share a logarithm.
_BLOCK = 64
# Sums that are zero but for rounding are not above zero, and ties are misses: else a
# search would find them, and rounding would decide in the end.
_TIE = np.float32(1e-5)


class Network(NamedTuple):
    """A layered network on one data set; U units, P weights, D samples, K outputs.

    Unit 0 is a constant 1, the source of all biases; then come the inputs and the other
    units layer by layer, the outputs last. There are R rows: one for the constant and
    each input, two for each other unit.
    """

    layers: np.ndarray  # (n_layers + 1,) int64, first unit of each layer, and the end
    target: np.ndarray  # (P,) int64, unit that a weight leads to
    source: np.ndarray  # (P,) int64, unit that it comes from
    first: np.ndarray  # (U,) int64, first weight of each unit
    weights: np.ndarray  # (P,) float32
    rows: np.ndarray  # (2, U) int64, row of each unit, now and on trial
    pre: np.ndarray  # (R, D) float32, pre-activations
    out: np.ndarray  # (R, D) float32, outputs; room for the losses in the last layer
    y: np.ndarray  # (K, D) float32
    sample_weight: np.ndarray  # (D,) float32
    losses: np.ndarray  # (2, K) float64, of each output, now and on trial
    picked: np.ndarray  # (K,) int64, rows of the outputs
    # int64: hidden activation, address of the loss, whether it takes all outputs
    # together, whether samples weigh the same
    kinds: np.ndarray
    numbers: np.ndarray  # float64: parameter of the loss, divisor, price of a square
    penalty: np.ndarray  # (1,) float64, the price of all squares


# -------------------------------------------------------------------- activations


@jit(fastmath=_FAST)
def _tanh(x):
    x = _LIMIT if x > _LIMIT else x
    x = -_LIMIT if x < -_LIMIT else x
    z = x * x
    p = _1 + z * (_P1 + z * (_P2 + z * (_P3 + z * _P4)))
    q = _1 + z * (_Q1 + z * (_Q2 + z * (_Q3 + z * _Q4)))
    return x * p / q


@jit(fastmath=_FAST)
def _logistic(x):
    return _HALF + _HALF * _tanh(_HALF * x)


@jit(fastmath=_FAST)
def _activate(kind, pre, row, out):
    """Apply an activation to one row. O(D)."""
    n = pre.shape[1]
    if kind == TANH:
        for d in range(n):
            out[row, d] = _tanh(pre[row, d])
    elif kind == LOGISTIC:
        for d in range(n):
            out[row, d] = _logistic(pre[row, d])
    elif kind == RELU:
        for d in range(n):
            out[row, d] = pre[row, d] if pre[row, d] > _0 else _0
    elif kind == STEP:
        for d in range(n):
            out[row, d] = _1 if pre[row, d] > _TIE else _0
    elif kind == IDENTITY:
        for d in range(n):
            out[row, d] = pre[row, d]


# ------------------------------------------------------------------------- losses


# The network calls its loss by an address, so that only the loss in use is compiled,
# and once: the compiler copies what a kernel calls by name into it. So the losses are C
# functions of pre-activations (R, D), rows (K,) of the outputs among them, the output
# to be judged, y (K, D), weights (D,), room of shape (R, D), D, K, a parameter, and
# whether all weights are equal; they return a weighted sum over the samples. O(D).
_numbers, _rows = types.CPointer(types.float32), types.CPointer(types.int64)
LOSS = types.float64(
    *(_numbers, _rows, types.int64, _numbers, _numbers, _numbers),
    *(types.int64, types.int64, types.float32, types.int64),
)
_loss = jit(fastmath=_FAST, no_cfunc_wrapper=False)


@_loss
def _squared(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        gap = t[now + d] - y[own + d]
        total += np.float64(weight[d] * _HALF * gap * gap)
    return total


@_loss
def _logistic_squared(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        gap = _logistic(t[now + d]) - y[own + d]
        total += np.float64(weight[d] * _HALF * gap * gap)
    return total


@_loss
def _absolute(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        gap = t[now + d] - y[own + d]
        total += np.float64(weight[d] * (gap if gap > _0 else -gap))
    return total


@_loss
def _huber(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        gap = t[now + d] - y[own + d]
        size = gap if gap > _0 else -gap
        loss = _HALF * size * size if size <= p else p * (size - _HALF * p)
        total += np.float64(weight[d] * loss)
    return total


@_loss
def _pinball(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        gap = y[own + d] - t[now + d]
        total += np.float64(weight[d] * (p * gap if gap > _0 else (p - _1) * gap))
    return total


@_loss
def _hinge(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        slack = _1 - (_2 * y[own + d] - _1) * t[now + d]
        total += np.float64(weight[d] * (slack if slack > _0 else _0))
    return total


@_loss
def _zero_one(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        margin = (_2 * y[own + d] - _1) * t[now + d]
        total += np.float64(weight[d] if margin <= _TIE else _0)
    return total


@jit(fastmath=_FAST)
def _sum_of_logs(numbers, start, n, weight, is_even):
    """Weighted sum of logarithms of ``n`` numbers from 1 to 10,000. O(D).

    Logarithms are slow: where all weights are equal one serves 64 samples.
    """
    total = 0.0
    if not is_even:
        for d in range(n):
            total += weight[d] * np.log(numbers[start + d])
        return total
    for block in range(0, n, _BLOCK):
        product = 1.0
        for d in range(block, min(block + _BLOCK, n)):
            product *= np.float64(numbers[start + d])
        total += np.log(product)
    return total * weight[0]


@_loss
def _cross_entropy(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    """Cross-entropy of one logistic output: softplus(t) - y t. O(D)."""
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        positive = t[now + d] if t[now + d] > _0 else _0
        total += np.float64(weight[d] * (positive - y[own + d] * t[now + d]))
    for d in range(n):
        size = t[now + d] if t[now + d] > _0 else -t[now + d]
        # 1 + exp(-size), by the half-angle formula of the exponential.
        work[now + d] = _2 / (_1 + _tanh(_HALF * size))
    return total + _sum_of_logs(work, now, n, weight, is_even)


@_loss
def _softmax(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    """Cross-entropy of softmax outputs: log sum exp(t) - sum y t. O(D K)."""
    top, whole, total = rows[0] * n, rows[1] * n, 0.0
    for d in range(n):
        work[top + d] = t[top + d]
        work[whole + d] = _0
    for i in range(1, n_outputs):
        now = rows[i] * n
        for d in range(n):
            work[top + d] = t[now + d] if t[now + d] > work[top + d] else work[top + d]
    for i in range(n_outputs):
        now, own = rows[i] * n, i * n
        for d in range(n):
            half = _tanh(_HALF * (t[now + d] - work[top + d]))
            work[whole + d] += (_1 + half) / (_1 - half)
            total -= np.float64(weight[d] * y[own + d] * t[now + d])
    for d in range(n):
        total += np.float64(weight[d] * work[top + d])
    return total + _sum_of_logs(work, whole, n, weight, is_even)


@jit(no_cfunc_wrapper=False)
def _misses(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    """Weight of the samples whose target is not above all others. O(D K)."""
    total = 0.0
    for d in range(n):
        own, other = -np.inf, -np.inf
        for i in range(n_outputs):
            if y[i * n + d] > _HALF:
                own = t[rows[i] * n + d]
            else:
                other = max(other, t[rows[i] * n + d])
        total += weight[d] * (own - other <= _TIE)
    return total


LOSSES = {
    SQUARED: _squared,
    ABSOLUTE: _absolute,
    HUBER: _huber,
    PINBALL: _pinball,
    LOGISTIC_SQUARED: _logistic_squared,
    CROSS_ENTROPY: _cross_entropy,
    HINGE: _hinge,
    ZERO_ONE: _zero_one,
    SOFTMAX: _softmax,
    MISSES: _misses,
}
# Those that take all outputs together, two at least.
TOGETHER = SOFTMAX, MISSES


@jit(inline="always")
def _sum_losses(net, side, changed):
    """Put the outputs' losses in ``net.losses[side]``; return their mean.

    ``side`` is 0 for now and 1 for the trial, on which all outputs have new rows, or
    the unit ``changed`` alone unless that is -1.
    """
    first, kinds, p = net.layers[-2], net.kinds, np.float32(net.numbers[0])
    address, is_even = kinds[1], kinds[3]
    rows, pre, out, picked = net.rows, net.pre, net.out, net.picked
    y, weight, losses, total = net.y, net.sample_weight, net.losses, 0.0
    n_outputs, n = y.shape
    for k in range(n_outputs):
        is_new = changed < 0 or changed == first + k
        picked[k] = rows[side if is_new else 0, first + k]
    together = kinds[2] == 1
    for k in range(1 if together else n_outputs):
        losses[side, k] = losses[0, k]
        if together or changed < 0 or changed == first + k:
            losses[side, k] = call_address(
                address, (pre, picked, k, y, weight, out, n, n_outputs, p, is_even)
            )
        total += losses[side, k]
    return total / net.numbers[1]


# ------------------------------------------------------------------- the network


@jit(fastmath=_FAST)
def _shift(kind, change, source, unit, rows, pre, out):
    """New rows of a unit when its weight from another one changes. O(D)."""
    now, new, source = rows[0, unit], rows[1, unit], rows[0, source]
    if kind == TANH:
        # The usual case in one loop: the processor divides while it waits for memory.
        for d in range(pre.shape[1]):
            shifted = pre[now, d] + change * out[source, d]
            pre[new, d] = shifted
            out[new, d] = _tanh(shifted)
        return
    for d in range(pre.shape[1]):
        pre[new, d] = pre[now, d] + change * out[source, d]
    _activate(kind, pre, new, out)


@jit(fastmath=_FAST)
def _pass_on(kind, changed, units, first, begin, weights, rows, pre, out):
    """New rows of a layer's units when some of the layer before have new ones.

    Both are named by their first unit and the end; ``begin`` is the first unit of the
    layer before. O(D) for each weight between them.
    """
    n, (start, stop) = pre.shape[1], changed
    for k in range(units[0], units[1]):
        j, now, new = first[k] + 1 - begin, rows[0, k], rows[1, k]
        before, after, weight = rows[0, start], rows[1, start], weights[j + start]
        for d in range(n):
            pre[new, d] = pre[now, d] + weight * (out[after, d] - out[before, d])
        for i in range(start + 1, stop):
            before, after, weight = rows[0, i], rows[1, i], weights[j + i]
            for d in range(n):
                pre[new, d] += weight * (out[after, d] - out[before, d])
        _activate(kind, pre, new, out)


@jit(fastmath=_FAST)
def _compute(kind, sources, units, first, weights, rows, pre, out):
    """Rows of a layer's units from those of the layer before; sum of their squares.

    Both are named by their first unit and the end. O(D) for each weight between them.
    """
    n, squares = pre.shape[1], 0.0
    for k in range(units[0], units[1]):
        j, row = first[k], rows[0, k]
        for d in range(n):
            pre[row, d] = weights[j]
        for i in range(sources[0], sources[1]):
            j += 1
            source, weight = rows[0, i], weights[j]
            squares += weight * weight
            for d in range(n):
                pre[row, d] += weight * out[source, d]
        _activate(kind, pre, row, out)
    return squares


@jit(inline="always")
def _price(net, j, value):
    """How the penalty changes with a weight; biases are free."""
    if net.source[j] == 0:
        return 0.0
    return net.numbers[2] * (value * value - net.weights[j] * net.weights[j])


@jit(inline="always")
def _layer_of(layers, unit):
    layer = 1
    while layers[layer + 1] <= unit:
        layer += 1
    return layer


@jit(inline="always")
def _activation(net, layer):
    """Activation of a layer; the losses apply that of the outputs."""
    return net.kinds[0] if layer < net.layers.shape[0] - 2 else NONE


@jit
def try_weight(net, j, value):
    """Loss with weight ``j`` at another value; the new rows are those on trial.

    O(D) for an output's weight, O(D fan-out) in the layer before, and from there on
    O(D) for each weight between the following layers.
    """
    layers, first, weights = net.layers, net.first, net.weights
    rows, pre, out = net.rows, net.pre, net.out
    unit = net.target[j]
    layer = _layer_of(layers, unit)
    penalty = net.penalty[0] + _price(net, j, value)
    change = np.float32(value - weights[j])
    kind = _activation(net, layer)
    _shift(kind, change, net.source[j], unit, rows, pre, out)
    changed, is_output = (unit, unit + 1), layer == layers.shape[0] - 2
    while layer < layers.shape[0] - 2:
        begin, units = layers[layer], (layers[layer + 1], layers[layer + 2])
        layer += 1
        kind = _activation(net, layer)
        _pass_on(kind, changed, units, first, begin, weights, rows, pre, out)
        changed = units
    return _sum_losses(net, 1, unit if is_output else -1) + penalty


@jit
def keep_weight(net, j, value):
    """Make what :func:`try_weight` has just tried the state of the network. O(U)."""
    layers, rows, losses, unit = net.layers, net.rows, net.losses, net.target[j]
    net.penalty[0] += _price(net, j, value)
    net.weights[j] = value
    rows[0, unit], rows[1, unit] = rows[1, unit], rows[0, unit]
    for k in range(layers[_layer_of(layers, unit) + 1], layers[-1]):
        rows[0, k], rows[1, k] = rows[1, k], rows[0, k]
    for k in range(losses.shape[1]):
        losses[0, k] = losses[1, k]


@jit
def refresh(net):
    """Recompute all rows and the loss, free of accumulated rounding. O(P D)."""
    layers, first, weights = net.layers, net.first, net.weights
    rows, pre, out, squares = net.rows, net.pre, net.out, 0.0
    for layer in range(1, layers.shape[0] - 1):
        sources = layers[layer - 1], layers[layer]
        units, kind = (layers[layer], layers[layer + 1]), _activation(net, layer)
        squares += _compute(kind, sources, units, first, weights, rows, pre, out)
    net.penalty[0] = net.numbers[2] * squares
    return _sum_losses(net, 0, -1) + net.penalty[0]


@jit
def run(search, net, steps, max_moves):
    """Search for ``max_moves`` moves; return whether there are more to try.

    ``steps`` (P,) is what one unit of each code stands for.
    """
    search, net = borrow(search), borrow(net)
    for _ in range(max_moves):
        j, code = ask(search)
        if j < 0:
            return False
        value = np.float32(code * steps[j])
        if tell(search, try_weight(net, j, value)):
            keep_weight(net, j, value)
    return True
