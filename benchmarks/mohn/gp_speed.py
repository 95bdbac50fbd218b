"""All weights under the product prior: seconds of a fit, and of the same fit as a GP.

The function is the fraction of a protein that is folded: a logistic function of an
energy to which every input contributes, and as many pairs as there are inputs. It has
weights of all orders. The signal-to-noise ratio is 10. First the medians of the seconds
of a whole fit of MOHNRegressor(strategy="gp"): hyperparameters, single strong terms,
noise by row. 1000 samples are aimed at 3 s up to 40 inputs, 20,000 samples at 4 s up to
16 inputs.

Then scikit-learn's GaussianProcessRegressor with one length scale for each input, which
has the same prior but for a constant factor, on 30 inputs and 1000 samples (200 with
--quick). It is aimed at 20 times the speed and an evidence (log marginal likelihood of
the targets, nats) that is no worse. Ours with noise="constant" has the same noise model
as the peer; it may still give single weights a variance of their own.
"""

import numpy as np
from scipy.special import expit

from benchmarks.shared import common, measured, results
from skmohn import GPOptions, MOHNRegressor
from skmohn.datasets import make_sparse_walsh

ROWS = (
    (20, 1000, 3),
    (30, 1000, 3),
    (40, 1000, 3),
    (12, 20_000, 4),
    (14, 20_000, 4),
    (16, 20_000, 4),
)
SPEED_UP = 20
SNR, N_TEST = 10, 2000


def landscape(n_inputs, n_samples, seed):
    """Return training inputs and targets, test inputs and targets."""
    data = make_sparse_walsh(
        n_inputs,
        {1: n_inputs, 2: n_inputs},
        n_samples=n_samples + N_TEST,
        weight_distribution="gaussian",
        optimum=False,
        random_state=seed,
    )
    X, folded = data.X, expit(3 * data.y / data.y.std())
    rng = np.random.default_rng(seed)
    y = folded + folded.std() / np.sqrt(SNR) * rng.standard_normal(len(folded))
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]


def fit_times(options):
    """Print one row for each number of inputs and samples."""
    table = common.Table(
        'Seconds of MOHNRegressor(strategy="gp").fit',
        "inputs samples seconds slowest aim R2 way",
        width=8,
    )
    for n_inputs, n_samples, aim in ROWS:
        if options.quick and n_samples > 1000:
            continue
        seconds, scores = [], []
        for i in range(options.instances):
            X, y, X_test, y_test = landscape(n_inputs, n_samples, options.seed + i)
            model = measured.ours()
            seconds.append(common.timed_fit(model, X, y))
            scores.append(model.score(X_test, y_test))
        typical = float(np.median(seconds))
        table.row(
            n_inputs,
            n_samples,
            typical,
            max(seconds),
            aim,
            f"{np.mean(scores):.3f}",
            model.history_[-1]["way"],
            met=typical <= aim,
        )
    table.close()


def beside_gaussian_process(options):
    """Print the whole fit of both, once, and both evidences."""
    n_inputs, n_samples = 30, 200 if options.quick else 1000
    X, y, X_test, y_test = landscape(n_inputs, n_samples, options.seed)
    peer = measured.gaussian_process(n_inputs)
    _, peer_seconds = measured.scored(peer, (0, X, X_test, y, y_test), lambda *_: None)
    # The peer's is that of the standardized targets.
    peer_evidence = peer.log_marginal_likelihood_value_ - n_samples * np.log(y.std())
    table = common.Table(
        f"Whole fit, {n_inputs} inputs, {n_samples} samples, once",
        "learner seconds faster aim evidence R2",
        width=34,
    )
    table.row(
        "GaussianProcessRegressor",
        peer_seconds,
        None,
        None,
        f"{peer_evidence:.2f}",
        f"{peer.score(X_test, y_test):.4f}",
    )
    for noise in ("auto", "constant"):
        model = MOHNRegressor(strategy="gp", gp_options=GPOptions(noise=noise))
        seconds = common.timed_fit(model, X, y)
        evidence = model.log_marginal_likelihood_
        table.row(
            f'MOHNRegressor, noise="{noise}"',
            seconds,
            peer_seconds / seconds,
            SPEED_UP,
            f"{evidence:.2f}",
            f"{model.score(X_test, y_test):.4f}",
            met=peer_seconds >= SPEED_UP * seconds and evidence >= peer_evidence,
        )
    table.close()


def main():
    """Print both tables."""
    options = common.parse_options(__doc__, instances=3, quick_instances=1)
    common.warm_up()
    measured.ours().fit(*landscape(6, 64, 0)[:2])
    fit_times(options)
    beside_gaussian_process(options)


if __name__ == "__main__":
    results.record(main)
