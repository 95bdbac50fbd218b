"""Gibbs sampling of the Boltzmann distribution of a sum of weighted products."""

import numpy as np
from scipy.special import expit


def gibbs(terms, weights, n_features, *, temperatures, n_chains, rng):
    """Draw points with probability proportional to ``exp(f(x) / temperature)``.

    Of a point whose other variables are held, a variable is +1 with probability
    ``expit(2 a / temperature)``, where a is the sum of the weights it is in, each times
    the product of the term's other variables.

    Parameters
    ----------
    terms : sequence of tuples of int
    weights : array-like of shape (n_terms,)
    n_features : int
    temperatures : iterable of float
        One for each sweep over the variables.
    n_chains : int
        Chains start at random points and are independent.
    rng : numpy Generator

    Returns
    -------
    points : ndarray of shape (n_chains, n_features)
        Where the chains end, -1 and +1.
    """
    weights = np.asarray(weights, dtype=float)
    own = [[j for j, term in enumerate(terms) if i in term] for i in range(n_features)]
    points = rng.choice([-1.0, 1.0], (n_chains, n_features))
    columns = [points[:, list(term)].prod(axis=1) for term in terms]
    products = np.array(columns).reshape(-1, n_chains)
    for temperature in temperatures:
        for i in range(n_features):
            pull = weights[own[i]] @ products[own[i]] * points[:, i]
            is_up = rng.random(n_chains) < expit(2.0 * pull / temperature)
            drawn = np.where(is_up, 1.0, -1.0)
            products[own[i]] *= drawn * points[:, i]
            points[:, i] = drawn
    return points
