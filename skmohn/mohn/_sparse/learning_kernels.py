"""Compiled kernels of the learning rules: coordinate descent and the delta rule."""

import numpy as np

from skmohn._core._jit import jit


@jit
def centre(gram, sums, means):
    """Subtract ``outer(sums, means)`` in place.

    ``gram`` (a, b), ``sums`` (a,), ``means`` (b,) float64. O(a b).
    """
    for i in range(gram.shape[0]):
        for j in range(gram.shape[1]):
            gram[i, j] -= sums[i] * means[j]


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
def _violation(threshold, scale, coef, gradient):
    """Largest breach of the lasso's optimality conditions, each in units of scale.

    All arrays have shape (p,). A column with ``scale`` 0 is constant: left out. O(p).
    """
    worst = 0.0
    for j in range(coef.shape[0]):
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
def _sweep(gram, threshold, scale, coef, gradient):
    """Minimise the lasso's objective in each coordinate once.

    ``gram`` (p, p) float64, the rest (p,). ``gradient`` is kept equal to
    ``projection - gram @ coef``. O(p) and O(p) more for each coefficient that moves.
    """
    for j in range(coef.shape[0]):
        if scale[j] > 0.0:
            old = coef[j]
            target = gradient[j] + gram[j, j] * old
            if target > threshold:
                new = (target - threshold) / gram[j, j]
            elif target < -threshold:
                new = (target + threshold) / gram[j, j]
            else:
                new = 0.0
            change = new - old
            if change != 0.0:
                coef[j] = new
                row = gram[j]
                for k in range(row.shape[0]):
                    gradient[k] -= change * row[k]


@jit(allocates=True)
def lasso_descent(gram, threshold, scale, coef, gradient, tol, max_iter):
    """Descend by coordinates to the minimum of the lasso's objective in Gram form.

    Sweeps over all columns alternate with sweeps over those that are not zero, on a
    copy of their part of the Gram matrix, which is small enough to stay in the cache.

    ``gram`` (p, p) float64, C-contiguous and symmetric; ``scale``, ``coef`` and
    ``gradient`` (p,) float64. On entry ``gradient`` is ``projection - gram @ coef``;
    ``coef`` and ``gradient`` are updated in place. Returns the number of sweeps and
    the remaining violation. O(p^2) for a sweep at most.
    """
    n_iter, active = 0, np.empty(coef.shape[0], np.int64)
    violation = _violation(threshold, scale, coef, gradient)
    while violation > tol and n_iter < max_iter:
        _sweep(gram, threshold, scale, coef, gradient)
        n_iter += 1
        size = 0
        for j in range(coef.shape[0]):
            if coef[j] != 0.0:
                active[size] = j
                size += 1
        # Plain loops: numba takes seconds to compile what numpy has for it.
        part, vectors = np.empty((size, size)), np.empty((3, size))
        part_scale, part_coef, part_gradient = vectors[0], vectors[1], vectors[2]
        for i in range(size):
            k = active[i]
            part_scale[i], part_coef[i] = scale[k], coef[k]
            part_gradient[i] = gradient[k]
            for j in range(size):
                part[i, j] = gram[k, active[j]]
        while (
            n_iter < max_iter
            and _violation(threshold, part_scale, part_coef, part_gradient) > tol
        ):
            _sweep(part, threshold, part_scale, part_coef, part_gradient)
            n_iter += 1
        for i in range(size):
            change = part_coef[i] - coef[active[i]]
            if change != 0.0:
                coef[active[i]] = part_coef[i]
                row = gram[active[i]]
                for k in range(row.shape[0]):
                    gradient[k] -= change * row[k]
        violation = _violation(threshold, scale, coef, gradient)
    return n_iter, violation


# -------------------------------------------------------------------- delta rule


@jit(allocates=True)
def delta_epoch(
    inputs, y, weights, rows, indptr, members, learning_rate, most, coef, intercept
):
    """Correct the coefficients after each row once, in the order of ``rows``.

    A step is ``learning_rate`` times the row's weight, but no longer than ``most``.

    ``inputs`` (D, n) float64, ``y`` and ``weights`` (D,), ``rows`` integer row
    numbers, sets in compressed form ``indptr, members``, ``coef`` (p,) and
    ``intercept`` (1,) float64, both updated in place. Returns the weighted sum of the
    squared errors, each met before its correction; stops at the first that is not
    finite. O(number of members) per row.
    """
    products = np.empty(coef.shape[0])
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
        step = (most if most < rate else rate) * error
        intercept[0] += step
        for j in range(coef.shape[0]):
            coef[j] += step * products[j]
    return squares
