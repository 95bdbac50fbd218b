"""Compiled runs of recurrent networks through sequences."""

from skmohn._core._jit import jit


@jit
def run_sequences(policy, rows, lengths, outputs):
    """Fill the outputs at all steps; each sequence begins in silence. O(D P).

    Parameters
    ----------
    policy : named tuple with the compiled methods `initial_state` and `step`
    rows : ndarray of shape (n_rows, n_inputs), float64
        The steps of all sequences, one after the other.
    lengths : ndarray of shape (n_sequences,), int64
    outputs : ndarray of shape (n_rows, n_outputs), float64
    """
    row = 0
    for k in range(lengths.shape[0]):
        state = policy.initial_state()
        for _ in range(lengths[k]):
            policy.step(rows[row], state, outputs[row])
            row += 1
