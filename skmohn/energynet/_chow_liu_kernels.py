"""Compiled parts of Chow-Liu trees: information of pairs, spanning trees, lookups.

Counts of pairs of states are in a matrix of weighted products of indicators: of the
states of columns from 1 on, then of what is known. `first` int64 (d,) is the number of
each column's indicator of state 1, `known` int64 (d,) that of what is known, the same
for all columns where nothing is missing. The first state is what is known and none of
the others. Arrays are C-contiguous.
"""

import numpy as np

from skmohn._core._numba import jit


@jit
def _joint(products, first, known, n_states, prior, i, j, joint):
    """Write probabilities of the states of two columns into (S, S)."""
    at_i, at_j, of_i, of_j = first[i] - 1, first[j] - 1, known[i], known[j]
    joint[:] = 0.0
    joint[0, 0] = products[of_i, of_j]
    for s in range(1, n_states[i]):
        joint[s, 0] = products[at_i + s, of_j]
    for t in range(1, n_states[j]):
        joint[0, t] = products[of_i, at_j + t]
        for s in range(1, n_states[i]):
            joint[s, t] = products[at_i + s, at_j + t]
            joint[0, t] -= joint[s, t]
            joint[s, 0] -= joint[s, t]
        joint[0, 0] -= products[of_i, at_j + t]
    for s in range(1, n_states[i]):
        joint[0, 0] -= joint[s, 0]
    total = 0.0
    for s in range(n_states[i]):
        for t in range(n_states[j]):
            joint[s, t] = max(joint[s, t], 0.0) + prior[i, s] * prior[j, t]
            total += joint[s, t]
    joint /= total


@jit
def information_of_pairs(products, first, known, n_states, prior, information):
    """Write mutual information in nats, in O(pairs of states).

    `prior` (d, S), what is added to counts of pairs, as the product of two rows;
    `information` (d, d), symmetric, 0 on the diagonal.
    """
    d, n_max = prior.shape
    joint, margin = np.empty((n_max, n_max)), np.empty(n_max)
    for i in range(d):
        information[i, i] = 0.0
        for j in range(i):
            _joint(products, first, known, n_states, prior, i, j, joint)
            found = 0.0
            margin[:] = 0.0
            for s in range(n_states[i]):
                total = 0.0
                for t in range(n_states[j]):
                    p = joint[s, t]
                    total += p
                    margin[t] += p
                    if p > 0.0:
                        found += p * np.log(p)
                if total > 0.0:
                    found -= total * np.log(total)
            for t in range(n_states[j]):
                if margin[t] > 0.0:
                    found -= margin[t] * np.log(margin[t])
            information[i, j] = information[j, i] = found


@jit
def transitions_of_tree(
    products, first, known, n_states, prior, order, parents, log_transition
):
    """Write log-probabilities of states given those of the parent, into (d, S, S).

    Rows of the root are all alike; of states that there are not it is minus infinity.
    """
    d, n_max = prior.shape
    joint = np.empty((n_max, n_max))
    log_transition[:] = -np.inf
    for k in range(d):
        j, parent = order[k], parents[k]
        i = j if parent < 0 else order[parent]
        _joint(products, first, known, n_states, prior, i, j, joint)
        if parent < 0:
            joint[:] = joint.sum(axis=0)
        for s in range(n_max):
            total = joint[s].sum()
            for t in range(n_max):
                if joint[s, t] > 0.0:
                    log_transition[k, s, t] = np.log(joint[s, t] / total)


@jit
def spanning_tree(weights, root, order, parents):
    """Write the tree of the largest weights, in O(d^2), by Prim (1957).

    `weights` (d, d), symmetric; `order` and `parents` int64 (d,): nodes, each after its
    parent, and the place of the parent among these, -1 of the root.
    """
    d = len(weights)
    nearest, height = np.full(d, -1), np.full(d, -np.inf)
    is_open = np.ones(d, np.bool_)
    j = root
    for k in range(d):
        order[k], parents[k] = j, nearest[j]
        is_open[j] = False
        following = -1
        for i in range(d):
            if is_open[i]:
                if nearest[i] < 0 or weights[j, i] > height[i]:
                    height[i], nearest[i] = weights[j, i], k
                if following < 0 or height[i] > height[following]:
                    following = i
        j = following


@jit
def log_likelihoods(states, order, parents, log_transition, found):
    """Log-likelihoods of known states, in O(rows (known columns + unknown ones S^2)).

    `states` int16 (n, d), -1 where unknown; `log_transition` (d, S, S),
    of each parent's state and each of the column's; `found` (n,) is written.
    """
    d, n_max = log_transition.shape[:2]
    # Of columns with an unknown state: log-likelihoods, by this, of what comes after.
    after = np.zeros((d, n_max))
    for r in range(len(states)):
        total = 0.0
        for k in range(d - 1, -1, -1):
            x, parent = states[r, order[k]], parents[k]
            y = states[r, order[parent]] if parent >= 0 else 0
            if x >= 0 and y >= 0:
                total += log_transition[k, y, x]
            elif y >= 0:
                total += _log_sum(log_transition, k, y, after)
            else:
                for s in range(n_max):
                    if x >= 0:
                        after[parent, s] += log_transition[k, s, x]
                    else:
                        after[parent, s] += _log_sum(log_transition, k, s, after)
            if x < 0:
                after[k] = 0.0
        found[r] = total


@jit
def _log_sum(log_transition, k, y, after):
    """Log-likelihood of what comes after column k, given the state of its parent."""
    n_max, highest, total = after.shape[1], -np.inf, 0.0
    for s in range(n_max):
        highest = max(highest, log_transition[k, y, s] + after[k, s])
    if highest == -np.inf:
        return highest
    for s in range(n_max):
        total += np.exp(log_transition[k, y, s] + after[k, s] - highest)
    return highest + np.log(total)
