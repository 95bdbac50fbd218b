"""Pairs of variants that interact, by published two-locus models, beside tests of all.

Counts of alleles of --people at --variants, at random and independent. First a disease
by pure strict models, drawn as GAMETES draws them, by heritability and minor allele
frequency: one pair, none of whose variants tells anything alone, and as many cases as
controls. Then traits of EpiGEN's kinds: five pairs that interact, each with 4 % of the
variance, by random pure tables, products of counts, both variants dominant or both
recessive; "additive" pairs add up, and "null" has no effects, so that no pair is true.
The trait has normal, lognormal, contaminated or t2 noise, or is a disease. See
``benchmarks/shared/epistasis.py``.

Counted are true and false pairs over all instances. Ours are the pairs of a fit of
`MOHNRegressor` ("pursuit") or `MOHNClassifier` ("logistic") to `Genotypes`, as they
come but for ``max_order=2``, coded by counts and heterozygotes (both) or by counts
alone (counts). The others test each pair and keep those below 0.05 by Bonferroni:
BOOST's log-linear test of four degrees of freedom, of traits for the upper half against
the lower; the product of counts beside both counts (PLINK's --epistasis); and a two-way
analysis of variance with four degrees of freedom. Both are tests of a trait as it is,
and, as one would who is aware that it is not normal, of the normal scores of its
ranks (rank-product, rank-anova).

With --linkage neighbors of a trait's variants are in linkage disequilibrium, of that
squared correlation, in blocks of five. A pair is then true if it joins the blocks of a
true one: neighbors carry nearly the same information. Pairs that join blocks which
another one joins already, one signal listed several times, are counted after a further
stroke.

Aimed at: no fewer true pairs than BOOST and the product have, and no more false
discoveries than the one with the fewest, but for one in each instance.
"""

import warnings

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.exceptions import ConvergenceWarning

from benchmarks.shared import common, epistasis, results
from benchmarks.shared.epistasis import Sample
from skmohn import Genotypes, MOHNClassifier, MOHNRegressor

LEVEL, N_PAIRS, PAIR_SHARE = 0.05, 5, 0.04
# Of the usual normal scores of ranks.
BLOM = 0.375
# Heritability and minor allele frequency.
PURE = (0.03, 0.2), (0.03, 0.4), (0.05, 0.2), (0.05, 0.4)
KINDS = "pure", "multiplicative", "dominant", "recessive", "additive", "null"
NOISES = "normal", "skewed", "contaminated", "t2", "cases"
TESTS = "boost", "product", "anova", "rank-product", "rank-anova"
METHODS = "both", "counts", *TESTS


def problems(n_samples, n_variants, linkage=0.0):
    """Yield names and functions from seeds to samples."""
    for heritability, maf in PURE if not linkage else ():
        of_disease = heritability, maf, n_samples, n_variants
        name = f"disease, pure, h2 {heritability}, maf {maf}"
        yield name, lambda seed, own=of_disease: epistasis.sample_disease(*own, seed)
    for noise in NOISES:
        for kind in KINDS:
            share = 0.0 if kind == "null" else PAIR_SHARE
            of_trait = kind, share, N_PAIRS, n_samples, n_variants

            def draw(seed, own=of_trait, noise=noise):
                return epistasis.sample_trait(*own, seed, noise, linkage)

            yield f"{kind}, {noise}", draw


def is_disease(y):
    """Whether a trait is 0 and 1."""
    return np.issubdtype(y.dtype, np.integer)


def fit(sample: Sample, coding):
    """Return the pairs of variants in the terms of a fit."""
    X = Genotypes.from_counts(sample.counts, coding=coding)
    model = MOHNRegressor("pursuit", max_order=2, random_state=0)
    if is_disease(sample.y):
        model = MOHNClassifier(
            "logistic", max_order=2, include_inputs=False, random_state=0
        )
    common.timed_fit(model, X, sample.y)
    n_variants = sample.counts.shape[1]
    pairs = ({i % n_variants for i in term} for term in model.terms_)
    return {tuple(sorted(pair)) for pair in pairs if len(pair) == 2}


def test_all(sample: Sample, method):
    """Return the pairs that a test of all pairs finds."""
    counts, y = sample.counts, sample.y
    if method == "boost":
        is_case = y if is_disease(y) else y > np.median(y)
        return epistasis.boost(counts, is_case.astype(int)).below(LEVEL)
    if method.startswith("rank-"):
        y = norm.ppf((rankdata(y) - BLOM) / (len(y) + 1.0 - 2.0 * BLOM))
    test = epistasis.test_products
    if method.endswith("anova"):
        test = epistasis.test_tables
    return test(counts, y.astype(float)).below(LEVEL)


def find(sample: Sample, method):
    """Return the pairs that a method finds."""
    if method in ("both", "counts"):
        return fit(sample, "both" if method == "both" else "additive")
    return test_all(sample, method)


def count(draw, seeds):
    """Return the number of true pairs, and each method's true, false, repeated ones."""
    n_pairs, found = 0, {method: np.zeros(3, dtype=int) for method in METHODS}
    for seed in seeds:
        sample = draw(seed)
        n_pairs += len(sample.pairs)
        for method, counted in found.items():
            counted += sample.compare(find(sample, method))
    return n_pairs, {method: counted.tolist() for method, counted in found.items()}


def is_reached(found, n_instances):
    """Whether "both" has the true pairs of the peers, and no more false discoveries."""
    true, false, _ = found["both"]
    peers = [found[name] for name in ("boost", "product", "rank-product")]
    allowed = min(wrong for _, wrong, _ in peers) + n_instances
    return true >= max(right for right, *_ in peers) and false <= allowed


def add_arguments(parser):
    """Add sizes and the choice of rows."""
    parser.add_argument("--people", type=int, help="(default 1000)", default=1000)
    parser.add_argument("--variants", type=int, help="(default 100)", default=100)
    parser.add_argument(
        "--linkage", type=float, default=0.0, metavar="R2", help="of neighbors"
    )
    parser.add_argument("--only", nargs="+", metavar="WORD", help="rows with all words")
    common.add_keep(parser)


def main():
    """Print a row for each model, and a count for each method."""
    options = common.parse_options(
        __doc__, instances=6, quick_instances=1, add_arguments=add_arguments
    )
    warnings.simplefilter("ignore", ConvergenceWarning)
    common.warm_up()
    n_people, n_variants = (
        (500, 50) if options.quick else (options.people, options.variants)
    )
    counted = "True/false/repeated" if options.linkage else "True/false"
    table = common.Table(
        f"{counted} pairs, {n_people} people, {n_variants} variants, "
        f"{options.instances} instances",
        "model pairs " + " ".join(METHODS),
        width=34,
    )
    seeds = range(options.seed, options.seed + options.instances)
    for name, draw in problems(n_people, n_variants, options.linkage):
        if options.only and not all(word in name for word in options.only):
            continue
        n_pairs, found = common.kept(
            options.keep,
            ("epistasis", n_people, n_variants, options.linkage, name, *seeds),
            lambda draw=draw: count(draw, seeds),
        )
        n_counts = 3 if options.linkage else 2
        cells = ("/".join(map(str, each[:n_counts])) for each in found.values())
        met = is_reached(found, options.instances)
        table.row(name, n_pairs, *cells, met=met)
    table.close()


if __name__ == "__main__":
    results.record(main)
