"""A thousand variables, 3000 weights, 30,000 samples: exact in a minute and a gigabyte.

The weights are of order 1 to 3 and hereditary (every part of a weight has one of its
own). MOHNRegressor() learns them in a fresh process. Printed are whether terms and
weights (to 1e-6) are right, the seconds of the fit and the peak memory of the whole
process, samples and imports included. No peer: the explicit columns of orders 1 to 3
would need 166,667,500 x 30,000 bytes, 5 TB, with one byte each.

Coefficients are -1 and +1, uniform in [-1, 1], or standard normal; of the last two
kinds some are nearly zero.
"""

from benchmarks.shared import common, results
from skmohn import MOHNRegressor
from skmohn.datasets import make_sparse_walsh

SECONDS, BYTES = 60, 1e9
SIZES = {False: (1000, 3000, 30000), True: (300, 600, 8000)}


def learn(weight_distribution, size, seed):
    """Return whether the model is exact, what differs if not, and the seconds."""
    n_features, n_terms, n_samples = size
    data = make_sparse_walsh(
        n_features,
        n_terms,
        n_samples=n_samples,
        weight_distribution=weight_distribution,
        optimum=False,
        random_state=seed,
    )
    common.warm_up(quiet=True)
    model = MOHNRegressor()
    seconds = common.timed_fit(model, data.X, data.y)
    exact = common.is_exact(model, data)
    return exact, [] if exact else [common.what_differs(model, data)], seconds


def main():
    """Print one row for each distribution of the coefficients and instance."""
    options = common.parse_options(__doc__, instances=1, quick_instances=1)
    size = SIZES[options.quick]
    print("One thread. Kernels compiled in each process before its timing.\n")
    table = common.Table(
        "{} variables, {} weights of order 1 to 3, {} samples".format(*size),
        "coefficients instance exact seconds aim GB aim",
    )
    for weight_distribution in ("pm1", "uniform", "gaussian"):
        for i in range(options.instances):
            (exact, details, seconds), memory = common.in_fresh_process(
                learn, weight_distribution, size, options.seed + i
            )
            table.row(
                weight_distribution,
                i,
                "yes" if exact else "no",
                seconds,
                SECONDS,
                memory / 1e9,
                BYTES / 1e9,
                met=exact and seconds <= SECONDS and memory <= BYTES,
                details=details,
            )
    table.close()


if __name__ == "__main__":
    results.record(main)
