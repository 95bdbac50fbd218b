"""How many proposals a second, and what a proposal costs when there are more variables.

First table: annealing and tabu search on the same functions of order 2 as the samplers
of dwave-samplers, one thread, the same temperatures and sweeps, the same tenure. For
annealing a proposal is a flip that is accepted or not, n of them a sweep. For tabu it
is a flip compared with others; of the peer these are bounded by its `lower_bound_z`,
and a step compares all flips but the tabu ones; ours compares all, in a tree. Printed
are the proposals a second of both, their ratio, and the values reached. Aimed at is a
ratio of 1.

Second table: annealing on functions of order 3 with 3 weights for each variable; aimed
at are 1e7 proposals a second at n=1000, and a cost per proposal that does not grow
from n=100 to n=10,000. Tabu steps are listed beside it: their cost may grow with the
logarithm of n.
"""

import numpy as np

from benchmarks.shared import common, results
from skmohn._core._walsh import WalshPolynomial
from skmohn.datasets import make_sparse_walsh
from skmohn.optimize import minimize
from skmohn.optimize._methods import temperatures_of
from skmohn.optimize._polynomial import make_polynomial

PROPOSALS = 1e7
# Growth of the cost per proposal that is taken for none: caches and noise.
FLAT = 1.5


def quadratic(rng, n_variables, degree):
    """Random couplings of +-1; each variable has about so many."""
    terms = {}
    while len(terms) < n_variables * degree // 2:
        i, j = sorted(rng.choice(n_variables, 2, replace=False).tolist())
        terms[i, j] = rng.choice([-1.0, 1.0])
    return terms


def torus(rng, side):
    """Random couplings of +-1 on a two-dimensional torus."""
    terms = {}
    for row in range(side):
        for column in range(side):
            here = row * side + column
            for other in (
                row * side + (column + 1) % side,
                (row + 1) % side * side + column,
            ):
                terms[tuple(sorted((here, other)))] = rng.choice([-1.0, 1.0])
    return terms


def cubic(n_variables, seed):
    """Three weights of order at most three for each variable."""
    data = make_sparse_walsh(
        n_variables,
        dict.fromkeys((1, 2, 3), n_variables),
        heredity=None,
        n_samples=2,
        optimum=False,
        random_state=seed,
    )
    return dict(zip(data.terms, data.weights.tolist(), strict=True))


def temperatures(terms):
    """Hot and cold, as annealing would choose them."""
    graph = WalshPolynomial.sort(list(terms), list(terms.values()), 0.0)
    return temperatures_of(make_polynomial(graph, int(graph.members.max()) + 1))


def seconds_of(function, size, repeats):
    """Seconds that a search takes beyond what reading its function takes.

    ``function`` searches for a number of sweeps or steps; returns its last result too.
    """
    reading, _ = common.timed(function, 1, repeats=repeats)
    spent, result = common.timed(function, size, repeats=repeats)
    return spent - reading, result


def ours(terms, method, **options):
    """A search of ours for a number of sweeps or steps."""
    size = {"annealing": "n_sweeps", "tabu": "n_steps"}[method]
    return lambda count: minimize(
        terms, method, n_restarts=1, options={size: count, **options}, random_state=0
    )


def against_peer(options):
    """Annealing and tabu against dwave-samplers."""
    try:
        import dimod
        from dwave.samplers import SimulatedAnnealingSampler, TabuSampler
    except ImportError:
        results.leave_out("no dwave-samplers")
        return
    proposals, steps = (2 * 10**7, 10**5) if options.quick else (10**8, 10**6)
    repeats, tenure = min(options.instances, 3), 20
    table = common.Table(
        "Against dwave-samplers", "problem ours peer ratio ours_value peer_value", 33
    )
    rng = np.random.default_rng(options.seed)
    problems = {
        "torus 28x28": torus(rng, 28),
        "degree 6, n=1000": quadratic(rng, 1000, 6),
        "degree 50, n=800": quadratic(rng, 800, 50),
    }
    for name, terms in problems.items():
        bqm = dimod.BinaryQuadraticModel({}, terms, 0.0, "SPIN")
        n = bqm.num_variables
        hot, cold = temperatures(terms)

        def anneal(count, bqm=bqm, betas=(1 / hot, 1 / cold)):
            return SimulatedAnnealingSampler().sample(
                bqm, beta_range=betas, num_sweeps=count, num_reads=1, seed=0
            )

        def tabu(count, bqm=bqm, compared=n - tenure):
            return TabuSampler().sample(
                bqm,
                num_restarts=0,
                timeout=None,
                tenure=tenure,
                coefficient_z_first=0,
                lower_bound_z=count * compared,
                seed=0,
            )

        rows = (
            ("annealing", {"temperatures": (hot, cold)}, anneal, proposals // n, n, n),
            ("tabu", {"tenure": tenure}, tabu, steps, n, n - tenure),
        )
        for method, setting, peer, size, per_size, peer_per_size in rows:
            spent, result = seconds_of(ours(terms, method, **setting), size, repeats)
            peer_spent, sampled = seconds_of(peer, size, repeats)
            rate, peer_rate = size * per_size / spent, size * peer_per_size / peer_spent
            table.row(
                f"{method}, {name}",
                f"{rate:.2g}",
                f"{peer_rate:.2g}",
                rate / peer_rate,
                result.fun,
                sampled.first.energy,
                met=rate >= peer_rate,
            )
    table.close()


def by_size(options):
    """Cost per proposal and per tabu step, at equal sparsity."""
    table = common.Table(
        "Order 3, 3 weights a variable", "n proposals/s ns ns_tabu growth"
    )
    proposals, steps = (2 * 10**7, 10**6) if options.quick else (10**8, 5 * 10**6)
    first = None
    for n in (100, 300, 1000, 3000, 10_000):
        terms = cubic(n, options.seed)
        cost, tabu_cost = (
            seconds_of(ours(terms, method), size, min(options.instances, 3))[0] / count
            for method, size, count in (
                ("annealing", proposals // n, proposals),
                ("tabu", steps, steps),
            )
        )
        first = first or cost
        enough = n != 1000 or cost <= 1 / PROPOSALS
        table.row(
            n,
            f"{1 / cost:.2g}",
            1e9 * cost,
            1e9 * tabu_cost,
            cost / first,
            met=enough and cost <= FLAT * first,
        )
    table.close()


def main():
    """Print both tables."""
    options = common.parse_options(__doc__, instances=3, quick_instances=1)
    common.warm_up()
    against_peer(options)
    by_size(options)


if __name__ == "__main__":
    results.record(main)
