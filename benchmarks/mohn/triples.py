"""Products of three among many columns.

The target is a sum of products of columns of -1 and +1, with weights of random sign and
size 0.5 to 1.5, and noise of a third of its variance. 1000 rows, and of

- 2000 columns three single ones matter, two pairs, three triples that hold a single one
  that matters as well, and three that hold a pair that does. To compare all 1.3 billion
  triples would take a minute for each residual; those are compared that extend what was
  found;
- 500 columns the same, but for three of the six, which are three triples of which no
  part matters. All 20.7 million triples are compared.

MOHNRegressor(max_order=3) learns them in a fresh process. Printed are the seconds of
the fit (of the processor with BENCHMARK_CLOCK=cpu), the peak memory of the process,
terms found of those that there are and false discoveries. Aimed at are 30 and 60 s, and
at most one weak term missed. No peer: as columns the triples of 500 would take 20 GB
with a byte a value.
"""

import numpy as np

from benchmarks.shared import common, results
from skmohn import MOHNRegressor

N_SAMPLES, SIGNAL_TO_NOISE = 1000, 3.0
# Columns, seconds, and how often there are singles, pairs, triples, triples with a
# single one and triples with a pair.
SIZES = ((2000, 30, (3, 2, 0, 3, 3)), (500, 60, (3, 2, 3, 2, 2)))
MAX_MISSED = 1


def draw_terms(columns, counts):
    """Take columns from a list for terms of each kind."""

    def draw(order):
        return [columns.pop() for _ in range(order)]

    singles, pairs, triples, with_single, with_pair = counts
    terms = [draw(order) for order in singles * [1] + pairs * [2] + triples * [3]]
    for order, count in ((1, with_single), (2, with_pair)):
        for _ in range(count):
            triple = draw(3)
            terms += [triple[:order], triple]
    return [tuple(sorted(term)) for term in terms]


def make(n_features, counts, seed):
    """Return inputs, targets and terms."""
    rng = np.random.default_rng(seed)
    X = rng.choice(np.array([-1, 1], dtype=np.int8), (N_SAMPLES, n_features))
    terms = draw_terms(rng.permutation(n_features).tolist(), counts)
    weights = rng.choice([-1, 1], len(terms)) * rng.uniform(0.5, 1.5, len(terms))
    columns = [X[:, term].prod(axis=1, dtype=float) for term in terms]
    signal = weights @ np.stack(columns)
    scale = signal.std() / np.sqrt(SIGNAL_TO_NOISE)
    return X, signal + scale * rng.standard_normal(N_SAMPLES), terms


def learn(n_features, counts, seed):
    """Return seconds, true terms found, true ones of order 3, and false discoveries."""
    X, y, terms = make(n_features, counts, seed)
    common.warm_up(quiet=True)
    model = MOHNRegressor(max_order=3, random_state=0)
    seconds = common.timed_fit(model, X, y)
    true = set(terms).intersection(model.terms_)
    n_triples = sum(len(term) == 3 for term in true)
    return seconds, len(true), n_triples, len(model.terms_) - len(true)


def main():
    """Print one row for each table and instance."""
    options = common.parse_options(__doc__, instances=3, quick_instances=1)
    print("One thread. Kernels compiled in each process before its timing.\n")
    table = common.Table(
        f"{N_SAMPLES} rows, terms of order 1 to 3",
        "columns instance seconds aim MB true of triples of false",
        width=8,
    )
    for n_features, aim, counts in SIZES:
        n_terms = sum(counts) + sum(counts[3:])
        for i in range(options.instances):
            found, memory = common.in_fresh_process(
                learn, n_features, counts, options.seed + i
            )
            seconds, n_true, n_triples, n_false = found
            table.row(
                str(n_features),
                i,
                seconds,
                aim,
                memory / 1e6,
                n_true,
                n_terms,
                n_triples,
                sum(counts[2:]),
                n_false,
                met=seconds <= aim and n_terms - n_true <= MAX_MISSED,
            )
    table.close()


if __name__ == "__main__":
    results.record(main)
