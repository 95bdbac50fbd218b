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
def _activate(kind, pre, out):
    """Apply an activation to one row. O(D)."""
    if kind == TANH:
        for d in range(pre.shape[0]):
            out[d] = _tanh(pre[d])
    elif kind == LOGISTIC:
        for d in range(pre.shape[0]):
            out[d] = _logistic(pre[d])
    elif kind == RELU:
        for d in range(pre.shape[0]):
            out[d] = pre[d] if pre[d] > _0 else _0
    elif kind == STEP:
        for d in range(pre.shape[0]):
            out[d] = _1 if pre[d] > _TIE else _0
    else:
        out[:] = pre


# ------------------------------------------------------------------------- losses


@jit(fastmath=_FAST)
def _sum_of_row(kind, p, t, y, weight):
    """Weighted sum of the losses of an output with pre-activations ``t``. O(D)."""
    n, total = t.shape[0], 0.0
    if kind == SQUARED:
        for d in range(n):
            gap = t[d] - y[d]
            total += np.float64(weight[d] * _HALF * gap * gap)
    elif kind == LOGISTIC_SQUARED:
        for d in range(n):
            gap = _logistic(t[d]) - y[d]
            total += np.float64(weight[d] * _HALF * gap * gap)
    elif kind == ABSOLUTE:
        for d in range(n):
            size = t[d] - y[d] if t[d] > y[d] else y[d] - t[d]
            total += np.float64(weight[d] * size)
    elif kind == HUBER:
        for d in range(n):
            size = t[d] - y[d] if t[d] > y[d] else y[d] - t[d]
            loss = _HALF * size * size if size <= p else p * (size - _HALF * p)
            total += np.float64(weight[d] * loss)
    elif kind == PINBALL:
        for d in range(n):
            gap = y[d] - t[d]
            total += np.float64(weight[d] * (p * gap if gap > _0 else (p - _1) * gap))
    elif kind == HINGE:
        for d in range(n):
            slack = _1 - (_2 * y[d] - _1) * t[d]
            total += np.float64(weight[d] * (slack if slack > _0 else _0))
    else:
        for d in range(n):
            missed = (t[d] > _TIE) != (y[d] > _HALF)
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
    top[:] = t[0]
    whole[:] = _0
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


@jit
def _loss_of_row(net, own, pre, k):
    """Sum of the losses of output ``k``."""
    row = net.layers[-2] + k
    kind, t, y, weight = net.kinds[1], pre[row], net.y[k], net.sample_weight
    if kind == CROSS_ENTROPY:
        return _cross_entropy(t, y, weight, net.kinds[2] == 1, net.trial_out[row])
    if own is not None:
        return _own_sum(own, t, y, weight)
    return _sum_of_row(kind, np.float32(net.numbers[0]), t, y, weight)


@jit
def _sum_losses(net, own, pre, changed, place):
    """Put the outputs' losses in ``net.losses[place]``; return their mean.

    ``changed`` is the row of the one output that is new, or -1 for all.
    """
    first, kind, is_even = net.layers[-2], net.kinds[1], net.kinds[2] == 1
    losses = net.losses[place]
    if kind in (SOFTMAX, MISSES):
        if changed >= 0:
            for row in range(first, pre.shape[0]):
                if row != changed:
                    pre[row] = net.pre[row]
        if kind == SOFTMAX:
            losses[0] = _softmax(
                pre[first:], net.y, net.sample_weight, is_even, net.trial_out[first:]
            )
        else:
            losses[0] = _misses(pre[first:], net.y, net.sample_weight)
    else:
        for k in range(losses.shape[0]):
            if changed < 0 or changed == first + k:
                losses[k] = _loss_of_row(net, own, pre, k)
            else:
                losses[k] = net.losses[0, k]
    return losses.sum() / net.numbers[1]


# ------------------------------------------------------------------- the network


@jit(fastmath=_FAST)
def _shift(base, weight, row, out):
    """``out = base + weight * row``. O(D)."""
    for d in range(out.shape[0]):
        out[d] = base[d] + weight * row[d]


@jit(fastmath=_FAST)
def _shift_by_change(base, weight, new, old, out):
    """``out = base + weight * (new - old)``. O(D)."""
    for d in range(out.shape[0]):
        out[d] = base[d] + weight * (new[d] - old[d])


@jit
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
    unit, source = net.target[j], net.source[j]
    change = np.float32(value - net.weights[j])
    kind = net.kinds[0]
    last = net.layers[-2]
    penalty = net.penalty[0] + _price(net, j, value)
    pre, out = net.trial_pre[unit], net.trial_out[unit]
    _shift(net.pre[unit], change, net.out[source], pre)
    if unit >= last:
        return _sum_losses(net, own, net.trial_pre, unit, 1) + penalty
    _activate(kind, pre, out)
    start, stop = unit, unit + 1
    layer = 1
    while net.layers[layer + 1] <= unit:
        layer += 1
    while layer < net.layers.shape[0] - 2:
        # Rows start to stop have changed; what follows are all rows of the next layer.
        for k in range(net.layers[layer + 1], net.layers[layer + 2]):
            base, row = net.pre[k], net.trial_pre[k]
            weights = net.weights[net.first[k] + 1 - net.layers[layer] :]
            for i in range(start, stop):
                _shift_by_change(base, weights[i], net.trial_out[i], net.out[i], row)
                base = row
            if k < last:
                _activate(kind, row, net.trial_out[k])
        layer += 1
        start, stop = net.layers[layer], net.layers[layer + 1]
    return _sum_losses(net, own, net.trial_pre, -1, 1) + penalty


@jit
def keep_weight(net, j, value):
    """Make what :func:`try_weight` has just tried the state of the network."""
    unit, last = net.target[j], net.layers[-2]
    layer = 1
    while net.layers[layer + 1] <= unit:
        layer += 1
    net.penalty[0] += _price(net, j, value)
    net.weights[j] = value
    net.pre[unit] = net.trial_pre[unit]
    if unit < last:
        net.out[unit] = net.trial_out[unit]
        for k in range(net.layers[layer + 1], net.layers[-1]):
            net.pre[k] = net.trial_pre[k]
            if k < last:
                net.out[k] = net.trial_out[k]
    net.losses[0] = net.losses[1]


@jit
def refresh(net, own):
    """Recompute all rows and the loss, free of accumulated rounding. O(P D)."""
    squares = 0.0
    for layer in range(1, net.layers.shape[0] - 1):
        begin, end = net.layers[layer - 1], net.layers[layer]
        for k in range(end, net.layers[layer + 1]):
            weights = net.weights[net.first[k] :]
            row = net.pre[k]
            row[:] = weights[0]
            for i in range(begin, end):
                weight = weights[1 + i - begin]
                squares += weight * weight
                _shift(row, weight, net.out[i], row)
            if k < net.layers[-2]:
                _activate(net.kinds[0], row, net.out[k])
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
