"""Compiled kernels of the telescopic binary learning machine.

The network keeps, for every unit, a row with its pre-activation and one with its output
on all samples (float32), so that a changed weight costs one row and what follows from
it ([S4] III-B). :func:`run` lets it answer the questions of a search.

[S4] Brunato and Battiti, "A telescopic binary learning machine for training neural
networks", IEEE TNNLS 28 (2017).
"""

from typing import NamedTuple

import numpy as np

from skmohn._core._jit import jit
from skmohn.blm._search_kernels import ask, tell

# Activations of the hidden units, and losses with the activation they apply.
IDENTITY, TANH, LOGISTIC, RELU, STEP = range(5)
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
# Sums that are zero but for rounding are not above zero: steps take this for none.
_TIE = np.float32(1e-5)


class Network(NamedTuple):
    """A layered network on one data set; R rows, P weights, D samples, K outputs.

    Row 0 is a constant 1, the source of all biases; then come the inputs and the units
    layer by layer, the outputs last.
    """

    layers: np.ndarray  # (n_layers + 1,) int64, first row of each layer, and the end
    target: np.ndarray  # (P,) int64, row of the unit that a weight leads to
    source: np.ndarray  # (P,) int64, row that it comes from
    first: np.ndarray  # (R,) int64, first weight of each unit
    weights: np.ndarray  # (P,) float32
    pre: np.ndarray  # (R, D) float32, pre-activations
    out: np.ndarray  # (R, D) float32, outputs; the last layer has losses there
    trial_pre: np.ndarray  # (R, D) float32
    trial_out: np.ndarray  # (R, D) float32
    y: np.ndarray  # (K, D) float32
    sample_weight: np.ndarray  # (D,) float32
    losses: np.ndarray  # (2, K) float64, of each output, now and on trial
    kinds: np.ndarray  # int64: hidden activation, loss, whether samples weigh the same
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
    else:
        for d in range(n):
            out[row, d] = pre[row, d]


@jit
def _copy(row, source, target):
    """Copy one row. O(D)."""
    for d in range(source.shape[1]):
        target[row, d] = source[row, d]


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
            missed = (t[row, d] > _TIE) != (y[k, d] > _HALF)
            total += np.float64(weight[d] if missed else _0)
    return total


@jit(fastmath=_FAST)
def _sum(row, weight):
    """Weighted sum of float32 numbers, in float64. O(D)."""
    total = 0.0
    for d in range(row.shape[0]):
        total += np.float64(weight[d] * row[d])
    return total


@jit(fastmath=_FAST)
def _sum_of_logs(row, weight, is_even):
    """Weighted sum of logarithms of numbers from 1 to 10,000. O(D).

    Logarithms are slow: where all weights are equal one serves 64 samples.
    """
    total = 0.0
    if not is_even:
        for d in range(row.shape[0]):
            total += weight[d] * np.log(row[d])
        return total
    for start in range(0, row.shape[0], 64):
        part = row[start : start + 64]
        product = 1.0
        for d in range(part.shape[0]):
            product *= np.float64(part[d])
        total += np.log(product)
    return total * weight[0]


@jit(fastmath=_FAST)
def _cross_entropy(t, y, weight, is_even, work):
    """Cross-entropy of one logistic output: softplus(t) - y t. O(D)."""
    total = 0.0
    for d in range(t.shape[0]):
        positive = t[d] if t[d] > _0 else _0
        total += np.float64(weight[d] * (positive - y[d] * t[d]))
    for d in range(t.shape[0]):
        size = t[d] if t[d] > _0 else -t[d]
        # 1 + exp(-size), by the half-angle formula of the exponential.
        work[d] = _2 / (_1 + _tanh(_HALF * size))
    return total + _sum_of_logs(work, weight, is_even)


@jit(fastmath=_FAST)
def _softmax(t, y, weight, is_even, work):
    """Cross-entropy of softmax outputs: log sum exp(t) - sum y t. O(D K).

    ``work`` (at least 2, D).
    """
    top, whole = work[0], work[1]
    total = 0.0
    for d in range(top.shape[0]):
        top[d] = t[0, d]
        whole[d] = _0
    for k in range(1, t.shape[0]):
        for d in range(top.shape[0]):
            top[d] = t[k, d] if t[k, d] > top[d] else top[d]
    for k in range(t.shape[0]):
        for d in range(top.shape[0]):
            half = _tanh(_HALF * (t[k, d] - top[d]))
            whole[d] += (_1 + half) / (_1 - half)
            total -= np.float64(weight[d] * y[k, d] * t[k, d])
    return total + _sum(top, weight) + _sum_of_logs(whole, weight, is_even)


@jit
def _misses(t, y, weight):
    """Weight of the samples whose largest output is not the target. O(D K)."""
    total = 0.0
    for d in range(t.shape[1]):
        best = 0
        for k in range(1, t.shape[0]):
            if t[k, d] > t[best, d] + _TIE:
                best = k
        total += weight[d] * (y[best, d] < _HALF)
    return total


@jit
def _own_sum(element, t, y, weight):
    """Weighted sum of a loss that the user has written. O(D)."""
    total = 0.0
    for d in range(t.shape[0]):
        total += weight[d] * element(y[d], t[d])
    return total


@jit(inline="always")
def _loss_of_row(net, own, pre, k):
    """Sum of the losses of output ``k``."""
    row, kind, weight = net.layers[-2] + k, net.kinds[1], net.sample_weight
    if own is not None:
        return _own_sum(own, pre[row], net.y[k], weight)
    if kind == CROSS_ENTROPY:
        is_even = net.kinds[2] == 1
        return _cross_entropy(pre[row], net.y[k], weight, is_even, net.trial_out[row])
    p = np.float32(net.numbers[0])
    return _sum_of_row(kind, p, pre, row, net.y, k, weight)


@jit(inline="always")
def _loss_of_all(net, pre, changed):
    """Sum of the losses of all outputs together."""
    first, n_rows = net.layers[-2], pre.shape[0]
    if changed >= 0:
        for row in range(first, n_rows):
            if row != changed:
                _copy(row, net.pre, pre)
    if net.kinds[1] == MISSES:
        return _misses(pre[first:], net.y, net.sample_weight)
    is_even, work = net.kinds[2] == 1, net.trial_out[first:]
    return _softmax(pre[first:], net.y, net.sample_weight, is_even, work)


@jit(inline="always")
def _sum_losses(net, own, pre, changed, place):
    """Put the outputs' losses in ``net.losses[place]``; return their mean.

    ``changed`` is the row of the one output that is new, or -1 for all.
    """
    first, kind, losses = net.layers[-2], net.kinds[1], net.losses
    if kind in (SOFTMAX, MISSES):
        losses[place, 0] = _loss_of_all(net, pre, changed)
        return losses[place, 0] / net.numbers[1]
    total = 0.0
    for k in range(losses.shape[1]):
        if changed < 0 or changed == first + k:
            losses[place, k] = _loss_of_row(net, own, pre, k)
        else:
            losses[place, k] = losses[0, k]
        total += losses[place, k]
    return total / net.numbers[1]


# ------------------------------------------------------------------- the network


@jit(fastmath=_FAST)
def _shift(base, unit, weight, rows, source, out):
    """Row ``unit`` of ``out``: that of ``base`` plus a weight times a row. O(D)."""
    for d in range(out.shape[1]):
        out[unit, d] = base[unit, d] + weight * rows[source, d]


@jit(fastmath=_FAST)
def _shift_by_change(base, unit, weight, new, old, source, out):
    """Row ``unit`` of ``out``: that of ``base`` and a row's weighted change. O(D)."""
    for d in range(out.shape[1]):
        out[unit, d] = base[unit, d] + weight * (new[source, d] - old[source, d])


@jit(inline="always")
def _price(net, j, value):
    """How the penalty changes with a weight; biases are free."""
    if net.source[j] == 0:
        return 0.0
    return net.numbers[2] * (value * value - net.weights[j] * net.weights[j])


@jit
def try_weight(net, own, j, value):
    """Loss with weight ``j`` at another value; the new rows go to the trial arrays.

    O(D) for an output's weight, O(D fan-out) in the layer before, and from there on
    O(D) for each weight between the following layers.
    """
    kind, layers = net.kinds[0], net.layers
    pre, out, trial_pre, trial_out = net.pre, net.out, net.trial_pre, net.trial_out
    unit, source, last = net.target[j], net.source[j], layers[-2]
    penalty = net.penalty[0] + _price(net, j, value)
    _shift(pre, unit, np.float32(value - net.weights[j]), out, source, trial_pre)
    if unit >= last:
        return _sum_losses(net, own, trial_pre, unit, 1) + penalty
    _activate(kind, trial_pre, unit, trial_out)
    layer, start, stop = 1, unit, unit + 1
    while layers[layer + 1] <= unit:
        layer += 1
    while layer < layers.shape[0] - 2:
        # Rows start to stop have changed; what follows are all rows of the next layer.
        for k in range(layers[layer + 1], layers[layer + 2]):
            first = net.first[k] + 1 - layers[layer]
            base = pre
            for i in range(start, stop):
                weight = net.weights[first + i]
                _shift_by_change(base, k, weight, trial_out, out, i, trial_pre)
                base = trial_pre
            if k < last:
                _activate(kind, trial_pre, k, trial_out)
        layer += 1
        start, stop = layers[layer], layers[layer + 1]
    return _sum_losses(net, own, trial_pre, -1, 1) + penalty


@jit
def keep_weight(net, j, value):
    """Make what :func:`try_weight` has just tried the state of the network."""
    layers, unit = net.layers, net.target[j]
    net.penalty[0] += _price(net, j, value)
    net.weights[j] = value
    layer = 1
    while layers[layer + 1] <= unit:
        layer += 1
    _copy(unit, net.trial_pre, net.pre)
    if unit < layers[-2]:
        _copy(unit, net.trial_out, net.out)
    for k in range(layers[layer + 1], layers[-1]):
        _copy(k, net.trial_pre, net.pre)
        if k < layers[-2]:
            _copy(k, net.trial_out, net.out)
    for k in range(net.losses.shape[1]):
        net.losses[0, k] = net.losses[1, k]


@jit
def refresh(net, own):
    """Recompute all rows and the loss, free of accumulated rounding. O(P D)."""
    layers, squares = net.layers, 0.0
    for layer in range(1, layers.shape[0] - 1):
        begin, end = layers[layer - 1], layers[layer]
        for k in range(end, layers[layer + 1]):
            first = net.first[k]
            for d in range(net.pre.shape[1]):
                net.pre[k, d] = net.weights[first]
            for i in range(begin, end):
                weight = net.weights[first + 1 + i - begin]
                squares += weight * weight
                _shift(net.pre, k, weight, net.out, i, net.pre)
            if k < layers[-2]:
                _activate(net.kinds[0], net.pre, k, net.out)
    net.penalty[0] = net.numbers[2] * squares
    return _sum_losses(net, own, net.pre, -1, 0) + net.penalty[0]


@jit
def run(search, net, own, step, max_moves):
    """Search for ``max_moves`` moves; return whether there are more to try.

    ``step`` is the weight that one unit of a code stands for.
    """
    for _ in range(max_moves):
        j, code = ask(search)
        if j < 0:
            return False
        value = np.float32(code * step)
        if tell(search, try_weight(net, own, j, value)):
            keep_weight(net, j, value)
    return True
