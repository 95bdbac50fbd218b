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

from skmohn._core._jit import borrow, call_on_rows, jit
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
_BLOCK = np.uint64(64)
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
    # int64: hidden activation, loss, whether samples weigh the same, address of the
    # user's loss of a row or 0
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


@jit(fastmath=_FAST)
def _sum_of_row(kind, p, t, row, y, k, weight):
    """Weighted sum of the losses of an output with pre-activations ``t``. O(D)."""
    n, total = t.shape[1], 0.0
    if kind == SQUARED:
        for d in range(n):
            gap = t[row, d] - y[k, d]
            total += np.float64(weight[d] * _HALF * gap * gap)
    elif kind == LOGISTIC_SQUARED:
        for d in range(n):
            gap = _logistic(t[row, d]) - y[k, d]
            total += np.float64(weight[d] * _HALF * gap * gap)
    elif kind == ABSOLUTE:
        for d in range(n):
            size = t[row, d] - y[k, d] if t[row, d] > y[k, d] else y[k, d] - t[row, d]
            total += np.float64(weight[d] * size)
    elif kind == HUBER:
        for d in range(n):
            size = t[row, d] - y[k, d] if t[row, d] > y[k, d] else y[k, d] - t[row, d]
            loss = _HALF * size * size if size <= p else p * (size - _HALF * p)
            total += np.float64(weight[d] * loss)
    elif kind == PINBALL:
        for d in range(n):
            gap = y[k, d] - t[row, d]
            total += np.float64(weight[d] * (p * gap if gap > _0 else (p - _1) * gap))
    elif kind == HINGE:
        for d in range(n):
            slack = _1 - (_2 * y[k, d] - _1) * t[row, d]
            total += np.float64(weight[d] * (slack if slack > _0 else _0))
    else:
        for d in range(n):
            margin = (_2 * y[k, d] - _1) * t[row, d]
            total += np.float64(weight[d] if margin <= _TIE else _0)
    return total


@jit(fastmath=_FAST)
def _sum(rows, row, weight):
    """Weighted sum of a row of float32 numbers, in float64. O(D)."""
    total = 0.0
    for d in range(rows.shape[1]):
        total += np.float64(weight[d] * rows[row, d])
    return total


@jit(fastmath=_FAST)
def _sum_of_logs(rows, row, weight, is_even):
    """Weighted sum of logarithms of a row of numbers from 1 to 10,000. O(D).

    Logarithms are slow: where all weights are equal one serves 64 samples.
    """
    total = 0.0
    if not is_even:
        for d in range(rows.shape[1]):
            total += weight[d] * np.log(rows[row, d])
        return total
    n = np.uint64(rows.shape[1])
    for start in range(np.uint64(0), n, _BLOCK):
        product = 1.0
        for d in range(start, min(start + _BLOCK, n)):
            product *= np.float64(rows[row, d])
        total += np.log(product)
    return total * weight[0]


@jit(fastmath=_FAST)
def _cross_entropy(t, row, y, k, weight, is_even, work):
    """Cross-entropy of one logistic output: softplus(t) - y t. O(D)."""
    n, total = t.shape[1], 0.0
    for d in range(n):
        positive = t[row, d] if t[row, d] > _0 else _0
        total += np.float64(weight[d] * (positive - y[k, d] * t[row, d]))
    for d in range(n):
        size = t[row, d] if t[row, d] > _0 else -t[row, d]
        # 1 + exp(-size), by the half-angle formula of the exponential.
        work[row, d] = _2 / (_1 + _tanh(_HALF * size))
    return total + _sum_of_logs(work, row, weight, is_even)


@jit(fastmath=_FAST)
def _softmax(t, rows, y, weight, is_even, work, top, whole):
    """Cross-entropy of softmax outputs: log sum exp(t) - sum y t. O(D K).

    ``top`` and ``whole`` are rows of ``work``.
    """
    n, total = t.shape[1], 0.0
    for d in range(n):
        work[top, d] = t[rows[0], d]
        work[whole, d] = _0
    for k in range(1, y.shape[0]):
        row = rows[k]
        for d in range(n):
            work[top, d] = t[row, d] if t[row, d] > work[top, d] else work[top, d]
    for k in range(y.shape[0]):
        row = rows[k]
        for d in range(n):
            half = _tanh(_HALF * (t[row, d] - work[top, d]))
            work[whole, d] += (_1 + half) / (_1 - half)
            total -= np.float64(weight[d] * y[k, d] * t[row, d])
    total += _sum(work, top, weight)
    return total + _sum_of_logs(work, whole, weight, is_even)


@jit
def _misses(t, rows, y, weight):
    """Weight of the samples whose target is not above all others. O(D K)."""
    total = 0.0
    for d in range(t.shape[1]):
        own, other = -np.inf, -np.inf
        for k in range(y.shape[0]):
            if y[k, d] > _HALF:
                own = t[rows[k], d]
            else:
                other = max(other, t[rows[k], d])
        total += weight[d] * (own - other <= _TIE)
    return total


@jit
def _loss_of_row(kinds, p, t, row, y, k, weight, work):
    """Sum of the losses of output ``k``, whose pre-activations are ``t[row]``. O(D)."""
    if kinds[1] == OWN:
        return call_on_rows(kinds[3], y[k], t[row], weight)
    if kinds[1] == CROSS_ENTROPY:
        return _cross_entropy(t, row, y, k, weight, kinds[2] == 1, work)
    return _sum_of_row(kinds[1], p, t, row, y, k, weight)


@jit(inline="always")
def _sum_losses(net, side, changed):
    """Put the outputs' losses in ``net.losses[side]``; return their mean.

    ``side`` is 0 for now and 1 for the trial, on which all outputs have new rows, or
    the unit ``changed`` alone unless that is -1.
    """
    first, kinds, p = net.layers[-2], net.kinds, np.float32(net.numbers[0])
    rows, pre, out, picked = net.rows, net.pre, net.out, net.picked
    y, weight, losses, total = net.y, net.sample_weight, net.losses, 0.0
    for k in range(losses.shape[1]):
        is_new = changed < 0 or changed == first + k
        picked[k] = rows[side if is_new else 0, first + k]
    if kinds[1] == SOFTMAX:
        top, whole = rows[0, first], rows[1, first]
        total = _softmax(pre, picked, y, weight, kinds[2] == 1, out, top, whole)
    elif kinds[1] == MISSES:
        total = _misses(pre, picked, y, weight)
    else:
        for k in range(losses.shape[1]):
            losses[side, k] = losses[0, k]
            if changed < 0 or changed == first + k:
                losses[side, k] = _loss_of_row(
                    kinds, p, pre, picked[k], y, k, weight, out
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
    if layer == layers.shape[0] - 2:
        return _sum_losses(net, 1, unit) + penalty
    changed = unit, unit + 1
    while layer < layers.shape[0] - 2:
        begin, units = layers[layer], (layers[layer + 1], layers[layer + 2])
        layer += 1
        kind = _activation(net, layer)
        _pass_on(kind, changed, units, first, begin, weights, rows, pre, out)
        changed = units
    return _sum_losses(net, 1, -1) + penalty


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
