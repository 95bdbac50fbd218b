"""Compiled kernels of the learning rules: coordinate descent and the delta rule."""

import numpy as np

from skmohn._core._numba import jit


@jit
def cholesky_in_order(gram, tol, factor, kept):
    """Cholesky factor of the columns that those before them do not explain.

    ``gram`` and ``factor`` (p, p) float64, the latter written below its diagonal;
    ``kept`` (p,) int64: the indices of the columns. A column is left out when no more
    than ``tol`` of its square remains. Returns the number of columns kept. O(p^3).
    """
    rank = 0
    for j in range(gram.shape[0]):
        left = gram[j, j]
        for i in range(rank):
            link = gram[j, kept[i]]
            for k in range(i):
                link -= factor[i, k] * factor[rank, k]
            link /= factor[i, i]
            factor[rank, i] = link
            left -= link * link
        if left > tol:
            factor[rank, rank] = np.sqrt(left)
            kept[rank] = j
            rank += 1
    return rank


# ------------------------------------------------------------------------- lasso


@jit
def _violation(n, threshold, scale, coef, gradient):
    """Largest breach of the lasso's optimality conditions, each in units of scale.

    Of the first ``n`` columns; one with ``scale`` 0 is constant: left out. O(n).
    """
    worst = 0.0
    for j in range(n):
        if scale[j] > 0.0:
            if coef[j] > 0.0:
                breach = abs(gradient[j] - threshold)
            elif coef[j] < 0.0:
                breach = abs(gradient[j] + threshold)
            else:
                breach = abs(gradient[j]) - threshold
            breach /= scale[j]
            worst = breach if breach > worst else worst
    return worst


@jit
def _sweep(gram, n, threshold, scale, coef, gradient):
    """Minimize the lasso's objective in each of ``n`` coordinates once.

    ``gram`` (n^2,) float64. ``gradient`` is kept equal to ``projection - gram @ coef``.
    O(n) and O(n) more for each coefficient that moves.
    """
    for j in range(n):
        if scale[j] > 0.0:
            old, square = coef[j], gram[j * n + j]
            target = gradient[j] + square * old
            if target > threshold:
                new = (target - threshold) / square
            elif target < -threshold:
                new = (target + threshold) / square
            else:
                new = 0.0
            change = new - old
            if change != 0.0:
                coef[j] = new
                for k in range(n):
                    gradient[k] -= change * gram[j * n + k]


@jit
def lasso_descent(
    gram,
    threshold,
    scale,
    coef,
    gradient,
    tol,
    max_iter,
    active,
    part,
    part_scale,
    part_coef,
    part_gradient,
):
    """Descend by coordinates to the minimum of the lasso's objective in Gram form.

    Sweeps over all columns alternate with sweeps over those that are not zero, on a
    copy of their part of the Gram matrix, which is small enough to stay in the cache.

    ``gram`` (p^2,) float64, the rows of a symmetric matrix; ``scale``, ``coef`` and
    ``gradient`` (p,) float64. On entry ``gradient`` is ``projection - gram @ coef``;
    ``coef`` and ``gradient`` are updated in place. ``active`` (p,) int64, ``part``
    (p^2,) and the last three, (p,) float64, are scratch. Returns the number of sweeps
    and the remaining violation. O(p^2) for a sweep at most.
    """
    n, n_iter = coef.shape[0], 0
    violation = _violation(n, threshold, scale, coef, gradient)
    while violation > tol and n_iter < max_iter:
        _sweep(gram, n, threshold, scale, coef, gradient)
        n_iter += 1
        size = 0
        for j in range(n):
            if coef[j] != 0.0:
                active[size] = j
                part_scale[size], part_coef[size] = scale[j], coef[j]
                part_gradient[size] = gradient[j]
                size += 1
        for i in range(size):
            start = active[i] * n
            for j in range(size):
                part[i * size + j] = gram[start + active[j]]
        while (
            n_iter < max_iter
            and _violation(size, threshold, part_scale, part_coef, part_gradient) > tol
        ):
            _sweep(part, size, threshold, part_scale, part_coef, part_gradient)
            n_iter += 1
        for i in range(size):
            change = part_coef[i] - coef[active[i]]
            if change != 0.0:
                coef[active[i]] = part_coef[i]
                start = active[i] * n
                for k in range(n):
                    gradient[k] -= change * gram[start + k]
        violation = _violation(n, threshold, scale, coef, gradient)
    return n_iter, violation


# -------------------------------------------------------------------- delta rule


@jit
def delta_epoch(
    inputs,
    y,
    weights,
    rows,
    indptr,
    members,
    learning_rate,
    max_rate,
    coef,
    intercept,
    products,
):
    """Correct the coefficients after each row once, in the order of ``rows``.

    A step is ``learning_rate`` times the row's weight, but no longer than ``max_rate``.

    ``inputs`` (D, n) float64, ``y`` and ``weights`` (D,), ``rows`` integer row
    numbers, sets in compressed form ``indptr, members``, ``coef`` (p,) and
    ``intercept`` (1,) float64, both updated in place; ``products`` (p,) float64 is
    scratch. Returns the weighted sum of the squared errors, each met before its
    correction; stops at the first that is not finite. O(number of members) per row.
    """
    squares = 0.0
    for d in rows:
        row = inputs[d]
        output = intercept[0]
        for j in range(coef.shape[0]):
            product = 1.0
            for e in range(indptr[j], indptr[j + 1]):
                product *= row[members[e]]
            products[j] = product
            output += coef[j] * product
        error = y[d] - output
        squares += weights[d] * error * error
        if not np.isfinite(squares):
            return squares
        rate = learning_rate * weights[d]
        step = (max_rate if max_rate < rate else rate) * error
        intercept[0] += step
        for j in range(coef.shape[0]):
            coef[j] += step * products[j]
    return squares
