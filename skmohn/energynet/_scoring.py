"""Log-likelihoods of samples, each the same whatever samples are beside it."""

import numpy as np

from skmohn._core._fitting import one_blas_thread
from skmohn.energynet._likelihood import dbn_log_likelihood

# Draws of the bits of a sample that is given as probabilities.
_N_BIT_DRAWS = 10


@one_blas_thread
def log_likelihoods(rbms, units, log_z, n_draws, seed):
    """Estimate the log-likelihood of samples under a stack.

    Parameters
    ----------
    rbms : list of RBM
        From the bottom to the top.

    units : ndarray of shape (n_samples, n_units), float32
        In [0, 1]. Of samples that are not bits the mean is taken over bits drawn with
        these probabilities.

    log_z : float
        Log partition function of the top machine.

    n_draws : int
        Draws of hidden units for each sample; a single layer needs none.

    seed : int
        The same one gives the same estimates.

    Returns
    -------
    ndarray of shape (n_samples,)
        In nats.
    """
    uncertain = ((units > 0.0) & (units < 1.0)).any(axis=1)
    found = np.empty(len(units))
    arguments = log_z, n_draws, seed
    found[~uncertain] = _of_bits(rbms, units[~uncertain], *arguments)
    if uncertain.any():
        # Draws that are spread evenly, with the same numbers for all samples.
        first = np.random.default_rng(seed).random(units.shape[1])
        draws = (first + np.arange(_N_BIT_DRAWS)[:, None] / _N_BIT_DRAWS) % 1.0
        found[uncertain] = np.mean(
            [
                _of_bits(rbms, (units[uncertain] > draw).astype("f4"), *arguments)
                for draw in draws
            ],
            axis=0,
        )
    return found


def _of_bits(rbms, bits, log_z, n_draws, seed):
    if len(rbms) > 1:
        # One by one, since each gets the next random numbers.
        estimates = [
            dbn_log_likelihood(
                rbms, row[None], log_z, n_draws=n_draws, random_state=seed
            )
            for row in bits
        ]
        return np.concatenate([*estimates, np.empty(0)])
    (rbm,) = rbms
    # In double precision: the order of the samples does not show.
    bits = bits.astype(np.float64)
    active = bits @ rbm.weights.T.astype(np.float64) + rbm.hidden_bias
    return bits @ rbm.visible_bias + np.logaddexp(0.0, active).sum(axis=1) - log_z
