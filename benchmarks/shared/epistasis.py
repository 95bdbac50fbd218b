"""Two-locus models of traits, and exhaustive tests of all pairs of variants.

A two-locus model is a table of 3 x 3: what the trait is, or how likely the disease, for
each count of the rarer allele at two variants.

Sources: Urbanowicz et al., GAMETES, BioData Mining 5 (2012), pure strict models;
Blumenthal et al., EpiGEN, Bioinformatics 36 (2020), models with parameters and traits
of any kind; Wan et al., BOOST, American Journal of Human Genetics 87 (2010), the test
of log-linear models; Purcell et al., PLINK, American Journal of Human Genetics 81
(2007), the test of the product.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy
from scipy.stats import chi2, norm
from scipy.stats import f as fisher
from scipy.stats import t as student

COUNTS = np.arange(3)
# Neighbors in linkage disequilibrium.
BLOCK_SIZE = 5
# Penetrances of a random pure model that do not fit between 0 and 1 are drawn again.
_MAX_DRAWS = 100_000
_FITTING_STEPS, _FITTED = 500, 1e-8


class Sample(NamedTuple):
    """Counts of alleles, a trait, and the pairs of variants that matter together.

    `block_size` neighbors are a block, in linkage disequilibrium if they are several.
    """

    counts: NDArray
    y: NDArray
    pairs: set[tuple[int, int]]
    block_size: int = 1

    def compare(self, found: set[tuple[int, int]]) -> tuple[int, int, int]:
        """Count pairs of blocks that are true and false, and pairs that repeat one."""
        blocks = self.to_blocks(found)
        n_true = len(blocks & self.to_blocks(self.pairs))
        return n_true, len(blocks) - n_true, len(found) - len(blocks)

    def to_blocks(self, pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
        """The blocks of both variants of pairs."""
        return {(i // self.block_size, j // self.block_size) for i, j in pairs}


# ------------------------------------------------------------------------- models


def frequencies(maf: float) -> NDArray:
    """Of counts 0, 1 and 2, by Hardy and Weinberg."""
    return np.array([(1 - maf) ** 2, 2 * maf * (1 - maf), maf**2])


def pure_table(mafs: NDArray, rng: np.random.Generator) -> NDArray:
    """A random table whose rows and columns have the mean 0, and of variance 1.

    It is uniform among such directions, as GAMETES draws them. Then neither variant
    tells anything by itself.
    """
    single = []
    for share in map(frequencies, mafs):
        # Functions of one count, at right angles to a constant.
        _, _, basis = np.linalg.svd(np.sqrt(share)[None])
        single.append(basis[1:] / np.sqrt(share))
    weights = rng.standard_normal((2, 2))
    return single[0].T @ (weights / np.linalg.norm(weights)) @ single[1]


def penetrances(heritability: float, maf: float, rng: np.random.Generator) -> NDArray:
    """Probabilities of the disease under a pure strict model.

    The heritability is the variance of the table over that of the disease, whose
    prevalence is uniform among those that fit.
    """
    for _ in range(_MAX_DRAWS):
        table, prevalence = pure_table([maf, maf], rng), rng.uniform()
        table *= np.sqrt(heritability * prevalence * (1 - prevalence))
        table += prevalence
        if table.min() >= 0.0 and table.max() <= 1.0:
            return table
    raise ValueError(f"no pure model has heritability {heritability} at maf {maf}")


def interaction(kind: str) -> NDArray:
    """One of EpiGEN's interactions of two variants, but for its size."""
    first, second = np.meshgrid(COUNTS, COUNTS, indexing="ij")
    tables = {
        "additive": first + second,
        "multiplicative": first * second,
        "dominant": (first > 0) & (second > 0),
        "recessive": (first > 1) & (second > 1),
    }
    return tables[kind].astype(float)


def standardize(table: NDArray, mafs: NDArray) -> NDArray:
    """A table of mean 0 and variance 1 where its two variants have some frequencies."""
    share = np.outer(*map(frequencies, mafs))
    table = table - np.sum(share * table)
    return table / np.sqrt(np.sum(share * table**2))


# ------------------------------------------------------------------------ samples


def draw_counts(n_samples: int, mafs: NDArray, rng: np.random.Generator) -> NDArray:
    """Counts of independent variants, shape (n_samples, n_variants)."""
    return rng.binomial(2, mafs, (n_samples, len(mafs))).astype(np.int8)


def draw_linked(
    n_samples: int, mafs: NDArray, linkage: float, rng: np.random.Generator
) -> NDArray:
    """Counts of variants in blocks of neighbors, shape (n_samples, n_variants).

    On each of two chromosomes an allele is there where a normal number is below a
    quantile; along a block these are autoregressive. Neighbors have the squared
    correlation `linkage` at frequencies of a half, and nearly so at others.
    """
    # The correlation of two signs is 2 / pi times the arc sine of that of the numbers.
    correlation = np.sin(np.pi / 2.0 * np.sqrt(linkage))
    numbers = rng.standard_normal((2, n_samples, len(mafs)))
    for j in range(len(mafs)):
        if j % BLOCK_SIZE:
            numbers[..., j] *= np.sqrt(1.0 - correlation**2)
            numbers[..., j] += correlation * numbers[..., j - 1]
    return (numbers < norm.ppf(mafs)).sum(axis=0, dtype=np.int8)


def draw_pairs(
    n_pairs: int, n_variants: int, rng: np.random.Generator, block_size: int = 1
) -> list[tuple[int, int]]:
    """Pairs of variants of blocks that have none in common."""
    chosen = rng.permutation(n_variants // block_size)[: 2 * n_pairs]
    if block_size > 1:
        chosen = block_size * chosen + rng.integers(block_size, size=2 * n_pairs)
    return [(min(pair), max(pair)) for pair in chosen.reshape(-1, 2).tolist()]


def draw_noise(kind: str, n_samples: int, rng: np.random.Generator) -> NDArray:
    """Noise whose middle is as wide as that of a standard normal distribution."""
    noise = rng.standard_normal(n_samples)
    if kind == "t2":
        noise = rng.standard_t(2, n_samples) * 0.6745 / student.ppf(0.75, 2)
    if kind == "contaminated":
        noise *= np.where(rng.random(n_samples) < 0.05, 10.0, 1.0)
    return noise


def sample_disease(
    heritability: float, maf: float, n_samples: int, n_variants: int, seed: int
) -> Sample:
    """As many cases as controls, of whom one pair of variants tells something.

    The two variants have the same frequency, the others frequencies from 0.05 to 0.5.
    """
    rng = np.random.default_rng(seed)
    table = penetrances(heritability, maf, rng)
    share = np.outer(frequencies(maf), frequencies(maf))
    mafs = rng.uniform(0.05, 0.5, n_variants)
    counts = draw_counts(n_samples, mafs, rng)
    y = np.arange(n_samples) % 2
    ((first, second),) = pairs = draw_pairs(1, n_variants, rng)
    for label, of_class in enumerate((1.0 - table, table)):
        chances = (share * of_class).ravel() / np.sum(share * of_class)
        rows = np.flatnonzero(y == label)
        cells = rng.choice(9, len(rows), p=chances)
        counts[rows, first], counts[rows, second] = np.divmod(cells, 3)
    return Sample(counts, y, set(pairs))


def sample_trait(
    kind: str,
    share: float,
    n_pairs: int,
    n_samples: int,
    n_variants: int,
    seed: int,
    noise: str = "normal",
    linkage: float = 0.0,
) -> Sample:
    """A trait that is a sum of pairs of variants, each of a given variance.

    Parameters
    ----------
    kind : {"pure", "additive", "multiplicative", "dominant", "recessive", "null"}
        Of the interaction; "pure" is a random table for each. Without an interaction,
        no pair is true.

    share : float
        Of the variance of the trait under normal noise, that of each pair.

    n_pairs, n_samples, n_variants, seed : int

    noise : {"normal", "t2", "contaminated", "skewed", "cases"}, default="normal"
        Of "contaminated" noise a twentieth is ten times as wide. A "skewed" trait is
        exp of the one with normal noise in standard deviations, lognormal. Of "cases",
        the trait is the logarithm of the odds, and y is 0 and 1.

    linkage : float, default=0.0
        Squared correlation of neighbors in blocks of `BLOCK_SIZE`, whose frequencies
        are equal; 0 for independent variants.
    """
    rng = np.random.default_rng(seed)
    # Both counts of a recessive pair are 2 in 1 % of the samples at the least.
    mafs = rng.uniform(0.32 if kind == "recessive" else 0.1, 0.5, n_variants)
    block_size = BLOCK_SIZE if linkage else 1
    if linkage:
        mafs = mafs[np.arange(n_variants) // BLOCK_SIZE]
        counts = draw_linked(n_samples, mafs, linkage, rng)
    else:
        counts = draw_counts(n_samples, mafs, rng)
    pairs = draw_pairs(n_pairs, n_variants, rng, block_size)
    signal = np.zeros(n_samples)
    for pair in pairs if kind != "null" else ():
        two = mafs[list(pair)]
        if kind == "pure":
            table = pure_table(two, rng)
        else:
            table = standardize(interaction(kind), two)
        sign = rng.choice([-1.0, 1.0])
        signal += sign * table[tuple(counts[:, list(pair)].T)]
    is_joint = kind not in ("additive", "null")
    size = np.sqrt(share / (1.0 - n_pairs * share))
    if noise == "cases":
        # The logistic distribution has a variance of pi^2 / 3.
        odds = size * np.pi / np.sqrt(3.0) * signal
        y = (rng.random(n_samples) < expit(odds)).astype(int)
    else:
        y = size * signal + draw_noise(noise, n_samples, rng)
        if noise == "skewed":
            y = np.exp(y / np.sqrt(1.0 + n_pairs * size**2))
    return Sample(counts, y, set(pairs) if is_joint else set(), block_size)


# -------------------------------------------------------------------------- tests


class Tests(NamedTuple):
    """p-values of pairs of variants, shape (n_pairs,), and which pairs they are."""

    pairs: NDArray
    p_values: NDArray

    def below(self, level: float) -> set[tuple[int, int]]:
        """The pairs that are significant at a level, by Bonferroni."""
        chosen = self.p_values < level / len(self.pairs)
        return set(map(tuple, self.pairs[chosen].tolist()))


def all_pairs(n_variants: int) -> NDArray:
    """Numbers of both variants of each pair."""
    return np.column_stack(np.triu_indices(n_variants, 1))


def cells(counts: NDArray, values: NDArray, pairs: NDArray) -> NDArray:
    """Sums of values by the counts of both variants of each pair, (n_pairs, 3, 3)."""
    is_count = (COUNTS[:, None, None] == counts.T).astype(float)
    sums = np.einsum("ain,bjn->ijab", is_count * values, is_count, optimize=True)
    return sums[tuple(pairs.T)]


def _explain(
    design: NDArray, weights: NDArray, sums: NDArray
) -> tuple[NDArray, NDArray]:
    """What a linear model of the nine cells explains, and its rank.

    `design` has a row for each cell: shape (9, n_columns).
    """
    gram = np.einsum("ca,pc,cb->pab", design, weights, design)
    inner = sums @ design
    inverse = np.linalg.pinv(gram, rcond=1e-10, hermitian=True)
    explained = np.einsum("pa,pab,pb->p", inner, inverse, inner)
    return explained, np.linalg.matrix_rank(gram, tol=1e-8, hermitian=True)


def _factors(is_joint: bool) -> NDArray:
    """Cells coded by the counts of each variant as categories, or of both."""
    if is_joint:
        return np.eye(9)
    first, second = np.divmod(np.arange(9), 3)
    columns = [np.ones(9), first == 1, first == 2, second == 1, second == 2]
    return np.column_stack(columns).astype(float)


def _product() -> NDArray:
    """Cells coded by both counts, and by their product."""
    first, second = np.divmod(np.arange(9), 3)
    return np.column_stack([np.ones(9), first, second, first * second]).astype(float)


def _test_linear(counts, y, small, large) -> Tests:
    """F tests of a linear model of the cells against one that it extends."""
    pairs = all_pairs(counts.shape[1])
    y = y - y.mean()
    weights, sums = (
        cells(counts, values, pairs).reshape(-1, 9) for values in (np.ones(len(y)), y)
    )
    explained, n_small = _explain(small, weights, sums)
    further, n_large = _explain(large, weights, sums)
    n_more, n_spare = n_large - n_small, len(y) - n_large
    rest = np.maximum(y @ y - further, 1e-300) / n_spare
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.maximum(further - explained, 0.0) / n_more / rest
        p_values = fisher.sf(ratio, n_more, n_spare)
    return Tests(pairs, np.where(n_more > 0, p_values, 1.0))


def test_products(counts: NDArray, y: NDArray) -> Tests:
    """Test the product of counts beside both counts, as PLINK's --epistasis does."""
    design = _product()
    return _test_linear(counts, y, design[:, :3], design)


def test_tables(counts: NDArray, y: NDArray) -> Tests:
    """Test all four degrees of freedom of an interaction: analysis of variance."""
    return _test_linear(counts, y, _factors(False), _factors(True))


def boost(counts: NDArray, is_case: NDArray) -> Tests:
    """Test interactions by the log-linear model without them: BOOST.

    The likelihood ratio of the full table of both variants and the disease against the
    model of all its two-way tables, fitted by iterative proportional scaling, with four
    degrees of freedom.
    """
    pairs = all_pairs(counts.shape[1])
    tables = np.stack(
        [cells(counts, is_case == label, pairs) for label in (0, 1)], axis=3
    )
    fitted = np.ones_like(tables)
    for _ in range(_FITTING_STEPS):
        before = fitted
        for axis in (1, 2, 3):
            wanted = tables.sum(axis=axis, keepdims=True)
            there = fitted.sum(axis=axis, keepdims=True)
            fitted = fitted * np.divide(
                wanted, there, out=np.zeros_like(there), where=there > 0.0
            )
        if np.abs(fitted - before).max() < _FITTED * len(is_case):
            break
    ratio = xlogy(tables, tables) - xlogy(tables, np.where(fitted > 0.0, fitted, 1.0))
    return Tests(pairs, chi2.sf(2.0 * ratio.sum(axis=(1, 2, 3)), 4))
