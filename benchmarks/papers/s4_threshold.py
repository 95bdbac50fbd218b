"""Section III-E: how many moves fail before one improves.

The telescopic search adds a bit once fewer than a fraction phi of the N moves improve.
It compares a moving average of the moves that failed before each success with the
number to be expected if k = phi N moves improve, which Eq 4 and 5 compute by recursion.

Two things are misprinted: N is the number of weights times the movable bits, not a
power of two; and the factor of E for N - 1 in Eq 5 should be (N - k) / N instead of
(N + k) / N, as follows from the line above it, Eq 3. Corrected, the recursion has the
closed form (N - k) / (k + 1), which `SearchOptions(telescopic="threshold")` uses. The
table shows both recursions beside the closed form and the mean of random draws, for the
control task's phi of 0.1 and others, with the numbers of moves of 2-20-20-1 networks
(501 weights) of 2 and 12 movable bits among them.

As printed, the threshold grows with N until no moving average can reach it, and bits
are added at local minima only.

**Unexplained:** nothing: the recursion is misprinted, and corrected it is the closed
form.
"""

import numpy as np

from benchmarks.shared import results
from benchmarks.shared.report import Report

# Moves, and the fraction of them that improves.
CASES = ((10, 0.1), (100, 0.1), (1002, 0.1), (1002, 0.02), (6012, 0.1), (6012, 0.5))
DRAWS, QUICK_DRAWS = 20_000, 2_000


def recursion(k, n, sign):
    """Compute Eq 4 and 5; ``sign`` is 1 as printed, and -1 as it should be."""
    alpha = expected = 0.0
    for m in range(k + 1, n + 1):
        alpha = (m - k) / m * (k / (m - 1) + alpha)
        expected = alpha + (m + sign * k) / m * expected
    return expected


def simulated(k, n, draws, rng):
    """Mean and standard error of the place of the first good move in random order."""
    places = [rng.choice(n, k, replace=False).min() for _ in range(draws)]
    return np.mean(places), np.std(places, ddof=1) / np.sqrt(draws)


def main():
    """Print a row for each number of moves."""
    report = Report(instances=DRAWS, quick_instances=QUICK_DRAWS)
    rng = np.random.default_rng(report.options.seed)

    def rows():
        for n, phi in CASES:
            k = int(phi * n)
            mean, error = simulated(k, n, report.options.instances, rng)
            yield (
                n,
                k,
                f"{recursion(k, n, 1):.4g}",
                f"{recursion(k, n, -1):.4f}",
                f"{(n - k) / (k + 1):.4f}",
                f"{mean:.3f} ± {error:.3f}",
            )

    report.table(
        (
            "moves N",
            "improving k",
            "recursion as printed",
            "corrected",
            "closed form",
            "simulated",
        ),
        rows(),
    )


if __name__ == "__main__":
    results.record(main)
