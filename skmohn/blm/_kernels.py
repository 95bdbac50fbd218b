"""Compiled kernels of the telescopic binary learning machine.

The network keeps, for every unit, a row with its pre-activation and one with its output
on all samples (float32), so that a changed weight costs one row and what follows from
it ([S4] III-B). There are two of each, for the present weights and for the change on
trial; to keep a change is to swap them. :func:`run` lets the network answer the
questions of a search.

[S4] Brunato and Battiti, "A telescopic binary learning machine for training neural
networks", IEEE TNNLS 28 (2017).
"""

from dataclasses import dataclass

import numpy as np
from numba import types
from numpy.typing import NDArray

from skmohn._core._kernel_args import Borrowable, borrower_of
from skmohn._core._numba import call_address, jit
from skmohn.blm._search_kernels import ask, fail, improves, succeed

# Activations of the hidden units, and losses with the activation they apply.
IDENTITY, TANH, LOGISTIC, RELU, STEP, NONE = range(6)
# The last three take all outputs together, the last of all samples as well.
SQUARED, ABSOLUTE, HUBER, PINBALL, LOGISTIC_SQUARED, CROSS_ENTROPY, HINGE = range(7)
ZERO_ONE, OWN, SOFTMAX, MISSES, OWN_OF_ALL = range(7, 12)

_FAST = {"reassoc", "nsz", "contract", "arcp"}
_0, _1, _2, _HALF = (np.float32(x) for x in (0, 1, 2, 0.5))
# A rational function that is the hyperbolic tangent to 3e-7 in float32 (least squares
# for the largest error, on squares of the argument up to the limit).
LIMIT = np.float32(8.0)
P1, P2, P3, P4 = (
    np.float32(x)
    for x in (
        0.13444481790065765,
        0.003571578999981284,
        2.1894351448281668e-05,
        1.5229986161102715e-08,
    )
)
Q1, Q2, Q3, Q4 = (
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


@dataclass(eq=False)
class Network(Borrowable):
    """A layered network on one data set; U units, P weights, D samples, K outputs.

    Unit 0 is a constant 1, the source of all biases; then come the inputs and the other
    units layer by layer, the outputs last. There are R rows: one for the constant and
    each input, two for each other unit.
    """

    layers: NDArray[np.int64]  # (n_layers + 1,), first unit of each layer, and the end
    target: NDArray[np.int64]  # (P,), unit that a weight leads to
    source: NDArray[np.int64]  # (P,), unit that it comes from
    first: NDArray[np.int64]  # (U,), first weight of each unit
    layer: NDArray[np.int64]  # (U,), of each unit, 0 for the constant and the inputs
    activation: NDArray[np.int64]  # (n_layers,), addresses of the activations
    weights: NDArray[np.float32]  # (P,)
    now: NDArray[np.int64]  # (U,), row of each unit
    trial: NDArray[np.int64]  # (U,), its row on trial
    pre: NDArray[np.float32]  # (R + 1, D), pre-activations, and a row for sums
    out: NDArray[np.float32]  # (R, D), outputs; room for the losses in the last layer
    y: NDArray[np.float32]  # (K, D)
    sample_weight: NDArray[np.float32]  # (D,)
    losses: NDArray[np.float64]  # (K,), of each output
    trial_losses: NDArray[np.float64]  # (K,), those of the trial
    picked: NDArray[np.int64]  # (K,), rows of the outputs that are judged
    penalties: NDArray[np.float64]  # (2,), price of all squares, now and on trial
    n_layers: int
    n_rows: int
    n_samples: int
    n_outputs: int
    loss: int  # its address
    together: int  # whether it takes all outputs together
    is_even: int  # whether samples weigh the same
    loss_number: np.float32  # its parameter
    divisor: float  # of the sum of the losses
    price: float  # of the square of a weight


# The kernels take the address of a network.
_net_at = borrower_of(Network)


# -------------------------------------------------------------------- activations


@jit(fastmath=_FAST)
def _tanh(x):
    x = LIMIT if x > LIMIT else x
    x = -LIMIT if x < -LIMIT else x
    z = x * x
    p = _1 + z * (P1 + z * (P2 + z * (P3 + z * P4)))
    q = _1 + z * (Q1 + z * (Q2 + z * (Q3 + z * Q4)))
    return x * p / q


@jit(fastmath=_FAST)
def _logistic(x):
    return _HALF + _HALF * _tanh(_HALF * x)


# The network calls activations and losses by their addresses, so that only those in
# use are compiled, and once: the compiler copies what a kernel calls by name into it.
# So they are C functions. An activation takes the pre-activations and outputs (R, D),
# where in them the present row of a unit begins, its new row and the row of another
# unit, D, and the change of the weight from that unit. It makes the new row. O(D).
_numbers, _rows = types.CPointer(types.float32), types.CPointer(types.int64)
ACTIVATION = types.float64(_numbers, _numbers, *4 * (types.int64,), types.float32)
BY_ADDRESS = {"no_cfunc_wrapper": False, "no_cpython_wrapper": True}
_by_address = jit(fastmath=_FAST, **BY_ADDRESS)


@_by_address
def identity(pre, out, now, new, source, n, change):
    for d in range(n):
        shifted = pre[now + d] + change * out[source + d]
        pre[new + d] = out[new + d] = shifted
    return 0.0


@_by_address
def tanh(pre, out, now, new, source, n, change):
    # In one loop, as all of them: the processor divides while it waits for memory.
    for d in range(n):
        shifted = pre[now + d] + change * out[source + d]
        pre[new + d] = shifted
        out[new + d] = _tanh(shifted)
    return 0.0


@_by_address
def logistic(pre, out, now, new, source, n, change):
    for d in range(n):
        shifted = pre[now + d] + change * out[source + d]
        pre[new + d] = shifted
        out[new + d] = _logistic(shifted)
    return 0.0


@_by_address
def relu(pre, out, now, new, source, n, change):
    for d in range(n):
        shifted = pre[now + d] + change * out[source + d]
        pre[new + d] = shifted
        out[new + d] = shifted if shifted > _0 else _0
    return 0.0


@_by_address
def step(pre, out, now, new, source, n, change):
    for d in range(n):
        shifted = pre[now + d] + change * out[source + d]
        pre[new + d] = shifted
        out[new + d] = _1 if shifted > _TIE else _0
    return 0.0


@_by_address
def no_activation(pre, out, now, new, source, n, change):
    """Identity, for outputs: the losses apply their activation themselves."""
    for d in range(n):
        pre[new + d] = pre[now + d] + change * out[source + d]
    return 0.0


ACTIVATIONS = {
    IDENTITY: identity,
    TANH: tanh,
    LOGISTIC: logistic,
    RELU: relu,
    STEP: step,
    NONE: no_activation,
}


# ------------------------------------------------------------------------- losses


# Losses are C functions of pre-activations (R, D), rows (K,) of the outputs among them,
# the output to be judged, y (K, D), weights (D,), room of shape (R, D), D, K, a
# parameter, and whether all weights are equal; they return a weighted sum over the
# samples. O(D).
LOSS = types.float64(
    *(_numbers, _rows, types.int64, _numbers, _numbers, _numbers),
    *(types.int64, types.int64, types.float32, types.int64),
)


@_by_address
def squared(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        error = t[now + d] - y[own + d]
        total += np.float64(weight[d] * _HALF * error * error)
    return total


@_by_address
def logistic_squared(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        error = _logistic(t[now + d]) - y[own + d]
        total += np.float64(weight[d] * _HALF * error * error)
    return total


@_by_address
def absolute(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        error = t[now + d] - y[own + d]
        total += np.float64(weight[d] * (error if error > _0 else -error))
    return total


@_by_address
def huber(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        error = t[now + d] - y[own + d]
        size = error if error > _0 else -error
        loss = _HALF * size * size if size <= p else p * (size - _HALF * p)
        total += np.float64(weight[d] * loss)
    return total


@_by_address
def pinball(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        error = y[own + d] - t[now + d]
        total += np.float64(weight[d] * (p * error if error > _0 else (p - _1) * error))
    return total


@_by_address
def hinge(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    now, own, total = rows[k] * n, k * n, 0.0
    for d in range(n):
        slack = _1 - (_2 * y[own + d] - _1) * t[now + d]
        total += np.float64(weight[d] * (slack if slack > _0 else _0))
    return total


@_by_address
def zero_one(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
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
        end = block + _BLOCK if block + _BLOCK < n else n
        for d in range(block, end):
            product *= np.float64(numbers[start + d])
        total += np.log(product)
    return total * weight[0]


@_by_address
def cross_entropy(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
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


@_by_address
def softmax(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
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


@jit(**BY_ADDRESS)
def misses(t, rows, k, y, weight, work, n, n_outputs, p, is_even):
    """Weight of the samples whose target is not above all others. O(D K)."""
    total = 0.0
    for d in range(n):
        own, other = -np.inf, -np.inf
        for i in range(n_outputs):
            if y[i * n + d] > _HALF:
                own = t[rows[i] * n + d]
            else:
                score = t[rows[i] * n + d]
                other = score if score > other else other
        total += weight[d] * (own - other <= _TIE)
    return total


LOSSES = {
    SQUARED: squared,
    ABSOLUTE: absolute,
    HUBER: huber,
    PINBALL: pinball,
    LOGISTIC_SQUARED: logistic_squared,
    CROSS_ENTROPY: cross_entropy,
    HINGE: hinge,
    ZERO_ONE: zero_one,
    SOFTMAX: softmax,
    MISSES: misses,
}
# Those that take all outputs together, of the package's own two at least.
TOGETHER = SOFTMAX, MISSES, OWN_OF_ALL


@jit
def sum_losses(network, is_trial, changed):
    """Keep the outputs' losses, now or on trial; return their mean.

    On trial all outputs have new rows, or the unit ``changed`` alone unless it is -1.
    """
    net = _net_at(network)
    now, trial, picked = net.now, net.trial, net.picked
    pre, y, work = net.pre, net.y, net.out
    weight, p, is_even = net.sample_weight, net.loss_number, net.is_even
    losses, n, n_outputs = net.losses, net.n_samples, net.n_outputs
    kept = net.trial_losses if is_trial else losses
    first, total = net.layers[net.n_layers - 1], 0.0
    for k in range(n_outputs):
        is_new = is_trial and (changed < 0 or changed == first + k)
        picked[k] = trial[first + k] if is_new else now[first + k]
    for k in range(1 if net.together else n_outputs):
        kept[k] = losses[k]
        if net.together or changed < 0 or changed == first + k:
            arguments = (pre, picked, k, y, weight, work, n, n_outputs, p, is_even)
            kept[k] = call_address(net.loss, arguments)
        total += kept[k]
    return total / net.divisor


# ------------------------------------------------------------------- the network


@jit(fastmath=_FAST)
def _pass_on(net, layer, start, stop):
    """New rows of a layer's units when some of the layer before have new ones.

    These are named by their first unit and the end. O(D) for each weight between them.
    """
    layers, weights = net.layers, net.weights
    rows, trial = net.now, net.trial
    pre, out, n = net.pre, net.out, net.n_samples
    address, is_hidden = net.activation[layer], layer < net.n_layers - 1
    for k in range(layers[layer], layers[layer + 1]):
        j, now, new = net.first[k] + 1 - layers[layer - 1], rows[k] * n, trial[k] * n
        # Loops over rows that are apart are vectorised.
        sums = net.n_rows * n if is_hidden else new
        before, after, weight = rows[start] * n, trial[start] * n, weights[j + start]
        for d in range(n):
            pre[sums + d] = pre[now + d] + weight * (out[after + d] - out[before + d])
        for i in range(start + 1, stop):
            before, after, weight = rows[i] * n, trial[i] * n, weights[j + i]
            for d in range(n):
                pre[sums + d] += weight * (out[after + d] - out[before + d])
        if is_hidden:
            call_address(address, (pre, out, sums, new, 0, n, _0))


@jit(fastmath=_FAST)
def compute(network, layer):
    """Rows of a layer's units from those of the layer before; sum of their squares.

    O(D) for each weight between them.
    """
    net = _net_at(network)
    layers, weights, rows = net.layers, net.weights, net.now
    pre, out, n = net.pre, net.out, net.n_samples
    address, is_hidden = net.activation[layer], layer < net.n_layers - 1
    squares = 0.0
    for k in range(layers[layer], layers[layer + 1]):
        j, row = net.first[k], rows[k] * n
        sums = net.n_rows * n if is_hidden else row
        for d in range(n):
            pre[sums + d] = weights[j]
        for i in range(layers[layer - 1], layers[layer]):
            j += 1
            source, weight = rows[i] * n, weights[j]
            squares += weight * weight
            for d in range(n):
                pre[sums + d] += weight * out[source + d]
        if is_hidden:
            call_address(address, (pre, out, sums, row, 0, n, _0))
    return squares


@jit
def _try_weight(network, j, value):
    """Loss with weight ``j`` at another value; the new rows are those on trial.

    O(D) for an output's weight, O(D fan-out) in the layer before, and from there on
    O(D) for each weight between the following layers.
    """
    net = _net_at(network)
    layers, rows, n = net.layers, net.now, net.n_samples
    pre, out, before = net.pre, net.out, net.weights[j]
    unit, source = net.target[j], net.source[j]
    layer, now, new = net.layer[unit], rows[unit] * n, net.trial[unit] * n
    net.penalties[1] = net.penalties[0]
    if source > 0:  # biases are free
        net.penalties[1] += net.price * (value * value - before * before)
    change = np.float32(value - before)
    address = net.activation[layer]
    call_address(address, (pre, out, now, new, rows[source] * n, n, change))
    changed = unit if layer == net.n_layers - 1 else -1
    start, stop = unit, unit + 1
    for following in range(layer + 1, net.n_layers):
        _pass_on(net, following, start, stop)
        start, stop = layers[following], layers[following + 1]
    return sum_losses(network, True, changed) + net.penalties[1]


@jit
def _keep_weight(network, j, value):
    """Make what :func:`_try_weight` has just tried the state of the network. O(U)."""
    net = _net_at(network)
    layers, unit = net.layers, net.target[j]
    now, trial = net.now, net.trial
    net.penalties[0] = net.penalties[1]
    net.weights[j] = value
    now[unit], trial[unit] = trial[unit], now[unit]
    for k in range(layers[net.layer[unit] + 1], layers[net.n_layers]):
        now[k], trial[k] = trial[k], now[k]
    for k in range(net.n_outputs):
        net.losses[k] = net.trial_losses[k]


@jit
def run(search, network, steps, max_moves):
    """Search for ``max_moves`` moves; return whether there are more to try.

    ``steps`` (P,) is what one unit of each code stands for.
    """
    for _ in range(max_moves):
        j, code = ask(search)
        if j < 0:
            return False
        value = np.float32(code * steps[j])
        loss = _try_weight(network, j, value)
        if improves(search, loss):
            succeed(search, loss)
            _keep_weight(network, j, value)
        else:
            fail(search, loss)
    return True
