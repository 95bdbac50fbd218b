"""Networks trained by the one-step secant method (Battiti 1992), a peer of S4.

R. Battiti, "First- and second-order methods for learning: between steepest descent and
Newton's method", Neural Computation 4, 1992.
"""

from itertools import pairwise

import numpy as np
from scipy.special import expit, xlog1py, xlogy

# A step has to gain this fraction of what the slope promises.
SUFFICIENT = 1e-4
# By how much the step grows after a success, and at most and at least shrinks else.
GROWTH, MAX_SHRUNK, MIN_SHRUNK = 2.0, 0.1, 0.5


def secant_direction(gradient, step, change):
    """Return minus the inverse of a memoryless BFGS Hessian times the gradient.

    It takes the dot products of three vectors: no matrix is built.

    Parameters
    ----------
    gradient, step, change : ndarray of shape (n_weights,)
        The gradient, the last step, and by how much that changed the gradient.
    """
    curvature = step @ change
    if curvature <= 0:
        return -gradient
    b = step @ gradient / curvature
    a = change @ gradient / curvature - (1 + change @ change / curvature) * b
    return -gradient + a * step + b * change


def one_step_secant(function, weights, rate=1e-3):
    """Minimize a function; yield the weights and the value after each step.

    The length of a step is searched for by backtracking: a length that fails gives way
    to the lowest point of a parabola through what is known, one that succeeds to a
    longer one in the next step.

    Parameters
    ----------
    function : callable
        Takes weights, returns a value and its gradient.
    weights : ndarray of shape (n_weights,)
    rate : float, default=1e-3
        First length, in units of the gradient.
    """
    value, gradient = function(weights)
    direction = -gradient
    while np.any(gradient):
        slope = direction @ gradient
        while True:
            step = rate * direction
            after, gradient_after = function(weights + step)
            gap = after - value - rate * slope
            if gap <= (SUFFICIENT - 1) * rate * slope:
                break
            shrunk = -rate * slope / (2 * gap)
            rate *= np.clip(shrunk, MAX_SHRUNK, MIN_SHRUNK)
            if rate < np.finfo(float).eps:
                return
        direction = secant_direction(gradient_after, step, gradient_after - gradient)
        weights, value, gradient = weights + step, after, gradient_after
        rate *= GROWTH
        yield weights, value


class Network:
    """Layers of tanh units, with a loss that is summed over the samples.

    Parameters
    ----------
    sizes : tuple of int
        Units of each layer, from the inputs to the outputs.
    out_activation : {"identity", "logistic"}
    loss : {"squared", "cross_entropy"}
        Half the squared error, or the cross-entropy of each logistic output.
    """

    def __init__(self, sizes, out_activation="identity", loss="squared"):
        self.sizes = sizes
        self.loss = loss
        self.out_activation = out_activation
        self.shapes = [(n_in + 1, n_out) for n_in, n_out in pairwise(sizes)]
        self.n_weights = sum(n_in * n_out for n_in, n_out in self.shapes)

    def layers(self, weights):
        """Split a vector of weights into a matrix for each layer, biases first."""
        ends = np.cumsum([n_in * n_out for n_in, n_out in self.shapes])
        parts = np.split(weights, ends[:-1])
        return [p.reshape(s) for p, s in zip(parts, self.shapes, strict=True)]

    def outputs(self, weights, X):
        """Compute the outputs, shape (n_samples, n_outputs)."""
        return self._units(self.layers(weights), X)[-1]

    def loss_and_gradient(self, weights, X, y):
        """Compute the loss over all samples and its gradient, by back-propagation."""
        layers = self.layers(weights)
        units = self._units(layers, X)
        outputs = units[-1]
        gap = outputs - y
        if self.loss == "cross_entropy":
            loss = -np.sum(xlogy(y, outputs) + xlog1py(1 - y, -outputs))
        else:
            loss = 0.5 * np.sum(gap**2)
            if self.out_activation == "logistic":
                gap = gap * outputs * (1 - outputs)
        gradients = []
        for layer, below in zip(layers[::-1], units[-2::-1], strict=True):
            gradients.append(np.vstack([gap.sum(axis=0), below.T @ gap]).ravel())
            gap = gap @ layer[1:].T * (1 - below**2)
        return loss, np.concatenate(gradients[::-1])

    def _units(self, layers, X):
        """Outputs of every layer, the inputs first."""
        units = [X]
        for layer in layers[:-1]:
            units.append(np.tanh(layer[0] + units[-1] @ layer[1:]))
        sums = layers[-1][0] + units[-1] @ layers[-1][1:]
        units.append(expit(sums) if self.out_activation == "logistic" else sums)
        return units
