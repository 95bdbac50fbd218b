"""Pure parities: weights of order 3 to 5 without a part that has a weight of its own.

Each function is a sum of three products of 3, 4 or 5 of 50 variables, with standard
normal coefficients. No lower order hints at them, so a search that grows weights from
smaller ones has nothing to start from. Printed for MOHNRegressor() are the instances
whose terms and weights (to 1e-6) are right, the median and longest seconds and the mean
R2 on 2000 fresh samples; for two learners that need such hints, strategy="msda" and
PolynomialFeatures(2) + LassoCV() ("pairs"), their R2 and median seconds on the same
samples, and for msda the instances that are exact.
"""

from statistics import fmean, median

from sklearn.linear_model import LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.shared import common, results
from skmohn import MOHNRegressor
from skmohn.datasets import make_sparse_walsh

N_FEATURES, N_TERMS, N_TEST = 50, 3, 2000
N_SAMPLES = {3: 300, 4: 400, 5: 500}


def draw(order, seed):
    """Return an instance with its training samples, and test samples."""
    n_train = N_SAMPLES[order]
    data = make_sparse_walsh(
        N_FEATURES,
        {order: N_TERMS},
        heredity=None,
        n_samples=n_train + N_TEST,
        optimum=False,
        random_state=seed,
    )
    test = data.X[n_train:], data.y[n_train:]
    data.X, data.y = data.X[:n_train], data.y[:n_train]
    return data, test


def main():
    """Print one row for each order."""
    options = common.parse_options(__doc__, instances=10, quick_instances=2)
    common.warm_up()
    table = common.Table(
        f"{N_TERMS} pure parities of {N_FEATURES} variables",
        "order samples exact median max R2 msda R2 seconds pairs:R2 seconds",
        width=5,
    )
    for order, n_samples in N_SAMPLES.items():
        learners = {
            "ours": MOHNRegressor(),
            "msda": MOHNRegressor("msda", random_state=0),
            "pairs": make_pipeline(
                PolynomialFeatures(2, include_bias=False), LassoCV()
            ),
        }
        seconds = {name: [] for name in learners}
        scores = {name: [] for name in learners}
        exact, details = {"ours": 0, "msda": 0}, []
        for i in range(options.instances):
            data, test = draw(order, options.seed + i)
            for name, learner in learners.items():
                seconds[name].append(common.timed_fit(learner, data.X, data.y))
                scores[name].append(learner.score(*test))
                if name in exact:
                    exact[name] += common.is_exact(learner, data)
            if not common.is_exact(learners["ours"], data):
                what = common.what_differs(learners["ours"], data)
                details.append(f"instance {i}: {what}")
        r2 = {name: f"{fmean(values):.2f}" for name, values in scores.items()}
        middle = {name: median(values) for name, values in seconds.items()}
        table.row(
            order,
            n_samples,
            f"{exact['ours']}/{options.instances}",
            middle["ours"],
            max(seconds["ours"]),
            r2["ours"],
            f"{exact['msda']}/{options.instances}",
            r2["msda"],
            middle["msda"],
            r2["pairs"],
            middle["pairs"],
            met=exact["ours"] == options.instances,
            details=details,
        )
    table.close()


if __name__ == "__main__":
    results.record(main)
