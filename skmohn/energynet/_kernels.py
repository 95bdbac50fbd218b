"""Compiled kernels of restricted Boltzmann machines.

Matrix products are BLAS's and happen outside; a kernel does all that follows for each
element in one pass. Arrays are float32 and C-contiguous unless said otherwise. What is
written should not overlap what is read: loops would no longer vectorise, and take five
times as long.

Chance comes from SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): draw number i of a
stream is a hash of its state plus i times a constant, so that draws do not wait for one
another and loops vectorise. A state is an array of one uint64, moved on in place; some
kernels also take a state for each row.
"""

import numpy as np

from skmohn._core._numba import jit

_FAST = {"reassoc", "nsz", "contract", "arcp"}
_0, _1, _2, _HALF = (np.float32(x) for x in (0, 1, 2, 0.5))

# exp(y) for y <= 0 is 2^k exp(f), |f| <= log(2) / 2, with exp(f) by the polynomial of
# Cephes' expf. Below the limit it would no longer be a normal number.
_LOWEST = np.float32(-87.0)
_LOG2_E = np.float32(1.4426950408889634)
# log 2 in two parts, the first with few bits: its multiples are exact.
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_E2, _E3, _E4, _E5, _E6, _E7 = (
    np.float32(x)
    for x in (
        5.0000001201e-1,
        1.6666665459e-1,
        4.1665795894e-2,
        8.3334519073e-3,
        1.3981999507e-3,
        1.9875691500e-4,
    )
)
_EXPONENT_BIAS, _MANTISSA_BITS = np.int32(127), np.int32(23)
# log(1 + t) is 2 atanh(s), s = t / (2 + t); for t in [0, 1] this polynomial in the
# square of s is atanh(s) / s to 4e-9 (Chebyshev interpolation).
_L0, _L1, _L2, _L3, _L4 = (
    np.float32(x)
    for x in (
        1.0000000039388743,
        0.33333157967540694,
        0.2001242686173093,
        0.1398070941739767,
        0.14087328631750926,
    )
)

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S40 = (np.uint64(x) for x in (27, 30, 31, 40))
_ULP = np.float32(2.0**-24)
_ONE = np.uint64(1)


# ---------------------------------------------------------------- for one element


@jit(fastmath=_FAST)
def _decay(x):
    """exp(-|x|), to 2e-7 of its value."""
    y = -abs(x)
    y = y if y > _LOWEST else _LOWEST
    k = np.int32(y * _LOG2_E - _HALF)
    f = y - np.float32(k) * _LN2_HIGH
    f = f - np.float32(k) * _LN2_LOW
    tail = _E2 + f * (_E3 + f * (_E4 + f * (_E5 + f * (_E6 + f * _E7))))
    power = np.int32((k + _EXPONENT_BIAS) << _MANTISSA_BITS).view(np.float32)
    return (_1 + f + f * f * tail) * power


@jit(fastmath=_FAST)
def _logistic(x):
    t = _decay(x)
    s = _1 / (_1 + t)
    return s if x >= _0 else t * s


@jit(fastmath=_FAST)
def _softplus(x):
    t = _decay(x)
    s = t / (_2 + t)
    z = s * s
    log = _2 * s * (_L0 + z * (_L1 + z * (_L2 + z * (_L3 + z * _L4))))
    return log + (x if x > _0 else _0)


@jit
def _uniform(z):
    """Number in [0, 1) that a position of a stream hashes to: 24 bits."""
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    z = z ^ (z >> _S31)
    return np.float32(np.int32(z >> _S40)) * _ULP


# -------------------------------------------------------------------- whole tables


@jit(fastmath=_FAST)
def bernoulli(probabilities, state, out):
    """Draw bits (R, n) with probabilities (P, n), each row of them R / P times. O(R n).

    The state is (S,): one stream for all rows, or for each R / S of them.
    """
    n_rows, n = out.shape
    n_draws = n_rows // max(len(probabilities), 1)
    n_of_state = n_rows // len(state)
    for r in range(n_rows):
        i, k = r // n_draws, r // n_of_state
        start = state[k]
        for j in range(n):
            u = _uniform(start + _STEP * np.uint64(j + 1))
            out[r, j] = _1 if u < probabilities[i, j] else _0
        state[k] = start + _STEP * np.uint64(n)


@jit(fastmath=_FAST)
def logistic(logits, bias, out):
    """Probabilities of logits (R, n) plus a bias (n,), into (R, n). O(R n)."""
    for r in range(logits.shape[0]):
        for j in range(logits.shape[1]):
            out[r, j] = _logistic(logits[r, j] + bias[j])


@jit(fastmath=_FAST)
def sample(logits, bias, state, out):
    """Draw bits from logits (R, n) plus a bias (n,), into (R, n). O(R n).

    The state is (1,) or (R,), a stream for all rows or one for each.
    """
    n = logits.shape[1]
    for r in range(logits.shape[0]):
        k = r if len(state) > 1 else 0
        start = state[k]
        for j in range(n):
            u = _uniform(start + _STEP * np.uint64(j + 1))
            out[r, j] = _1 if u < _logistic(logits[r, j] + bias[j]) else _0
        state[k] = start + _STEP * np.uint64(n)


@jit(fastmath=_FAST)
def sample_states(logits, bias, sizes, is_ordered, state, out, scratch):
    """Draw groups of units from logits (R, n) plus a bias (n,), into (R, n). O(R n).

    Each column of `sizes` units, (G,) int64 with the sum n, takes a level with the
    probability in proportion to exp(sum of the logits of the units up to it) where it
    `is_ordered`, (G,) bool, else a category, with that of its own logit. The state is
    (1,) or (R,), a stream for all rows or one for each; scratch is (2, G).
    """
    n_columns, n = len(sizes), logits.shape[1]
    lowest, chance = scratch[0], scratch[1]
    for r in range(logits.shape[0]):
        k = r if len(state) > 1 else 0
        start = state[k]
        # Unsigned: for an index that could be negative each access asks whether it is.
        first = np.uint64(0)
        for g in range(n_columns):
            height, top, j = _0, _0, first
            kept = _1 if is_ordered[g] else _0
            for _ in range(sizes[g]):
                height = kept * height + (logits[r, j] + bias[j])
                out[r, j] = height
                top = height if height > top else top
                j += _ONE
            lowest[g] = top
            j = first
            for _ in range(sizes[g]):
                out[r, j] -= top
                j += _ONE
            first = j
        # All exponentials at once, several of which the processor takes in a step.
        for i in range(n):
            out[r, i] = _decay(out[r, i])
        for g in range(n_columns):
            lowest[g] = _decay(lowest[g])
            chance[g] = _uniform(start + _STEP * np.uint64(g + 1))
        first = np.uint64(0)
        for g in range(n_columns):
            total, j = lowest[g], first
            for _ in range(sizes[g]):
                total += out[r, j]
                j += _ONE
            # A level is reached where the number drawn lies beyond all below it.
            left, j = chance[g] * total - lowest[g], first
            # Of categories only the last one that is reached is taken.
            n_passed = 0 if is_ordered[g] else sizes[g] - 1
            for i in range(sizes[g]):
                reached = left >= _0
                left -= out[r, j]
                passed = (left >= _0) & (i < n_passed)
                out[r, j] = _1 if reached and not passed else _0
                j += _ONE
            first = j
        state[k] = start + _STEP * np.uint64(n_columns)


@jit(fastmath=_FAST)
def softplus_sums(logits, bias, out):
    """Sums over rows of softplus(logits + bias), (R, n), into float64 (R,). O(R n)."""
    for r in range(logits.shape[0]):
        total = 0.0
        for j in range(logits.shape[1]):
            total += np.float64(_softplus(logits[r, j] + bias[j]))
        out[r] = total


# ------------------------------------------------------------------------ training


@jit(fastmath=_FAST)
def hidden_pass(
    logits, bias, offset, row_weight, n_chains, state, residual, sample, lead
):
    """Everything a step of training needs of the hidden units. O(R n).

    Parameters
    ----------
    logits : (R, n), with the chains in the first rows and then the data
    bias, offset : (n,), the offset being what activities are centered by
    row_weight : (R,), weight of each row in the gradient: negative for chains
    n_chains : int
    state : (1,) uint64
    residual : (R + 1, n), set to weight times centered activity from its second row
        on, and to the sum of those rows in its first
    sample : (n_chains, n), set to bits drawn for the chains
    lead : (n,), set to the sum of the residuals of the data alone
    """
    n = logits.shape[1]
    for j in range(n):
        residual[0, j] = _0
        lead[j] = _0
    for r in range(n_chains):
        start = state[0]
        for j in range(n):
            p = _logistic(logits[r, j] + bias[j])
            u = _uniform(start + _STEP * np.uint64(j + 1))
            sample[r, j] = _1 if u < p else _0
            q = row_weight[r] * (p - offset[j])
            residual[r + 1, j] = q
            residual[0, j] += q
        state[0] = start + _STEP * np.uint64(n)
    for r in range(n_chains, logits.shape[0]):
        for j in range(n):
            q = row_weight[r] * (_logistic(logits[r, j] + bias[j]) - offset[j])
            residual[r + 1, j] = q
            lead[j] += q
    for j in range(n):
        residual[0, j] += lead[j]


@jit(fastmath=_FAST)
def descend(
    gradient, visible, row_weight, total, lead, rate, l2, follow, weights, hidden_bias,
    visible_bias, hidden_mean, visible_step,
):  # fmt: skip
    """Change an RBM along its centered gradient. O(R m + n m).

    Parameters
    ----------
    gradient : (n, m), of the weights
    visible : (R, m), minus what visible units are centered by in the first row
    row_weight : (R,), weight of each row in the gradient: 0 in the first row
    total, lead : (n,), sums of the residuals of all rows, and of the data alone
    rate, l2, follow : float, the learning rate, what weights shrink by for each unit of
        it, and how fast the hidden mean follows the data
    weights, hidden_bias, visible_bias, hidden_mean : (n, m), (n,), (m,), (n,), changed
    visible_step : (m,), set to the gradient of the visible biases
    """
    rate, l2, follow = np.float32(rate), np.float32(l2), np.float32(follow)
    n, m = weights.shape
    for i in range(m):
        visible_step[i] = _0
    for r in range(1, visible.shape[0]):
        for i in range(m):
            visible_step[i] += row_weight[r] * visible[r, i]
    for j in range(n):
        hidden_step = total[j]
        for i in range(m):
            g = gradient[j, i] - l2 * weights[j, i]
            hidden_step += g * visible[0, i]
            visible_step[i] -= hidden_mean[j] * g
            weights[j, i] += rate * g
        hidden_bias[j] += rate * hidden_step
        hidden_mean[j] += follow * lead[j]
    for i in range(m):
        visible_bias[i] += rate * visible_step[i]


@jit
def ordered_pass(
    logits, bias, penalty, log_tail, row_weight, state, residual, sample, reach, weight
):
    """Hidden units of an infinite RBM: z, then the units up to z. O(R n).

    Parameters
    ----------
    logits : (R, n)
    bias : (n,)
    penalty : (n,), what each unit costs
    log_tail : float, logarithm of the weight of all orders past n, over that of n
    row_weight : float32, weight of each row in the gradient
    state : (1,) uint64
    residual : (R, n), grows by row_weight q_i sigma(a_i), q_i = P(z >= i | v)
    sample : (R, n), set to bits drawn for the units up to the z drawn, 0 after it
    reach : (n,), grows by the sum over rows of row_weight q_i
    weight : (n + 1,), scratch

    Returns
    -------
    n_past : int
        Rows whose z fell past n.
    """
    n, n_past = logits.shape[1], 0
    for r in range(logits.shape[0]):
        start = state[0]
        height, top = 0.0, -np.inf
        for j in range(n):
            height += np.float64(_softplus(logits[r, j] + bias[j]) - penalty[j])
            weight[j] = height
            top = height if height > top else top
        height += log_tail
        weight[n] = height
        top = height if height > top else top
        total = 0.0
        for j in range(n + 1):
            weight[j] = np.exp(weight[j] - top)
            total += weight[j]
        # The orders are met from the last to the first: z is the first that brings
        # the fraction of the orders from it on above a uniform number.
        level = np.float64(_uniform(start + _STEP)) * total
        reached = weight[n]
        inside = reached > level
        n_past += inside
        for j in range(n - 1, -1, -1):
            reached += weight[j]
            inside = inside or reached > level
            p = _logistic(logits[r, j] + bias[j])
            u = _uniform(start + _STEP * np.uint64(j + 2))
            sample[r, j] = _1 if inside and u < p else _0
            q = row_weight * np.float32(reached / total)
            residual[r, j] += q * p
            reach[j] += q
        state[0] = start + _STEP * np.uint64(n + 1)
    return n_past


# ------------------------------------------------------ annealed importance sampling


@jit(fastmath=_FAST)
def anneal(logits, bias, base, before, after, state, log_weight, sample):
    """Go from one temperature to the next: weigh, then draw hidden units. O(R n).

    Hidden unit j has the logit (1 - t) base_j + t (logits_j + bias_j) at the inverse
    temperature t.

    Parameters
    ----------
    logits : (R, n)
    bias, base : (n,)
    before, after : float32, inverse temperatures
    state : (1,) uint64
    log_weight : (R,) float64, grows by the difference of the sums of softplus
    sample : (R, n), set to bits drawn at `after`
    """
    n = logits.shape[1]
    for r in range(logits.shape[0]):
        start, gain = state[0], 0.0
        for j in range(n):
            slope = logits[r, j] + bias[j] - base[j]
            old, new = base[j] + before * slope, base[j] + after * slope
            gain += np.float64(_softplus(new) - _softplus(old))
            u = _uniform(start + _STEP * np.uint64(j + 1))
            sample[r, j] = _1 if u < _logistic(new) else _0
        log_weight[r] += gain
        state[0] = start + _STEP * np.uint64(n)
