"""Simulated genome scan: correlated genotypes, main effects and pairs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.utils import Bunch, check_random_state

from skmohn._core._sklearn import validate_params
from skmohn._core._types import Term
from skmohn._core._validation import require_memory
from skmohn.datasets._sampling import ROOM, Count, Number
from skmohn.mohn import Genotypes

_COUNT = [Count(0)]
_FRACTION = [Number(0.0, 1.0, closed="left")]


@validate_params(
    {
        "n_variants": [Count(1)],
        "n_samples": [Count(2)],
        "n_pairs": _COUNT,
        "n_main_effects": _COUNT,
        "n_pairs_with_main_effects": _COUNT,
        "pair_variance": _FRACTION,
        "main_effect_variance": _FRACTION,
        "block_size": [Count(1)],
        "correlation": _FRACTION,
        "min_maf": [Number(0.0, 0.5, closed="neither")],
        "missing": _FRACTION,
        "case_control": ["boolean"],
        "random_state": ["random_state"],
        "return_X_y": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def make_gwas(
    n_variants: int = 1000,
    n_samples: int = 1000,
    *,
    n_pairs: int = 5,
    n_main_effects: int = 5,
    n_pairs_with_main_effects: int = 0,
    pair_variance: float = 0.05,
    main_effect_variance: float = 0.05,
    block_size: int = 20,
    correlation: float = 0.9,
    min_maf: float = 0.1,
    missing: float = 0.01,
    case_control: bool = False,
    random_state: int | np.random.RandomState | None = None,
    return_X_y: bool = False,
) -> Any:
    """Simulate genotypes in linkage disequilibrium, and a trait with interactions.

    Neighboring variants are correlated within blocks, as they are along a chromosome.
    The trait depends on single variants, and on pairs of variants of different blocks
    whose members alone may have no effect.

    Parameters
    ----------
    n_variants : int, default=1000
        Number of variants, which are the columns.
    n_samples : int, default=1000
        Number of individuals, which are the rows.
    n_pairs : int, default=5
        Number of pairs that interact.
    n_main_effects : int, default=5
        Number of variants with a main effect, in addition to those in pairs.
    n_pairs_with_main_effects : int, default=0
        Number of pairs both of whose members also have a main effect.
    pair_variance, main_effect_variance : float, default=0.05
        Fraction of the variance of the trait that each pair and each main effect
        explains.
    block_size : int, default=20
        Number of variants in a block; blocks are independent.
    correlation : float, default=0.9
        Correlation of the latent variables of neighboring variants in a block; see
        Notes.
    min_maf : float, default=0.1
        Minimum frequency of the rarer allele; the maximum is 0.5.
    missing : float, default=0.01
        Fraction of genotypes that are unknown.
    case_control : bool, default=False
        Whether `y` is 1 for the upper half of the trait and 0 for the lower.
    random_state : int, RandomState instance or None, default=None
        Seed for effects, genotypes, noise and missing values.
    return_X_y : bool, default=False
        Whether to return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the fields

        X : Genotypes
            Counts of the rarer allele; ``X.counts()`` is the table.
        y : ndarray of shape (n_samples,)
            The trait, of mean 0 and variance 1 up to chance, or 0 and 1.
        terms : list of tuple of int
            Variants with effects, the main effects first, then the pairs.
        weights : ndarray of shape (len(terms),)
            Effect of each, for standardized counts and their products.
        blocks : ndarray of shape (n_variants,)
            Block of each variant.
        frequencies : ndarray of shape (n_variants,)
            Frequency of the counted allele in the population.
        DESCR : str
            Description of the problem.
    (X, y) : tuple if ``return_X_y=True``
        Only genotypes and targets.

    Raises
    ------
    ValueError
        If a parameter is out of range, the variances add up to 1 or more, or there are
        too few blocks: each effect has a separate block.

    Notes
    -----
    Each individual has two chromosomes. On each, normal numbers follow an
    autoregressive process along the variants of a block, and an allele is present if
    the number is below the quantile of its frequency. Frequencies are uniform over
    blocks, and within a block they differ by up to a tenth. A pair is the product of
    both counts minus their expectations, so that it is uncorrelated with all single
    variants.

    Examples
    --------
    >>> from skmohn.datasets import make_gwas
    >>> scan = make_gwas(200, 500, n_pairs=1, n_main_effects=2, random_state=0)
    >>> scan.X
    <Genotypes: 500 rows, 200 columns, additive>
    >>> [len(term) for term in scan.terms]
    [1, 1, 2]
    """
    _require_room(int(n_variants), int(n_samples), int(block_size))
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    n_blocks = -(-n_variants // block_size)
    n_all_main_effects = n_main_effects + 2 * n_pairs_with_main_effects
    n_used = n_main_effects + 2 * n_pairs
    _require_blocks(n_pairs, n_pairs_with_main_effects, n_used, n_variants, block_size)
    explained = n_pairs * pair_variance + n_all_main_effects * main_effect_variance
    _require_noise(explained, n_pairs, n_all_main_effects)
    blocks = np.arange(n_variants) // block_size
    lowest = rng.uniform(min_maf, 0.5, n_blocks)[blocks]
    frequencies = np.minimum(lowest * rng.uniform(1.0, 1.1, n_variants), 0.5)
    terms, weights = _draw_effects(
        rng,
        rng.permutation(n_blocks)[:n_used],
        block_size,
        n_variants,
        n_main_effects,
        n_pairs_with_main_effects,
        np.sqrt([main_effect_variance, pair_variance]),
    )
    used = {i for term in terms for i in term}
    shape = n_samples, block_size
    X, standard = _draw_genotypes(rng, shape, frequencies, correlation, missing, used)
    y = np.sqrt(1.0 - explained) * rng.standard_normal(n_samples)
    for term, weight in zip(terms, weights, strict=True):
        y += weight * np.prod([standard[i] for i in term], axis=0)
    if case_control:
        y = (y > np.median(y)).astype(float)
    if return_X_y:
        return X, y
    return Bunch(
        X=X,
        y=y,
        terms=terms,
        weights=weights,
        blocks=blocks,
        frequencies=frequencies,
        DESCR=(
            f"Simulated genome scan of {n_variants} variants in blocks of "
            f"{block_size}, with {n_all_main_effects} main effects and {n_pairs} pairs."
        ),
    )


def _require_room(n_variants: int, n_samples: int, block_size: int) -> None:
    """Refuse genotypes that do not fit in memory, before any are drawn."""
    # Two bits each; of a block two normal numbers, and an integer.
    block_size = min(block_size, n_variants)
    n_bytes = n_variants * n_samples // 4 + 16 * block_size * n_samples
    n_bytes += n_variants * ROOM.feature
    require_memory(
        float(min(n_bytes, 10**300)),
        "a scan of that many samples and variants",
        "lower n_samples, n_variants or block_size",
    )


def _require_blocks(
    n_pairs: int,
    n_pairs_with_main_effects: int,
    n_used: int,
    n_variants: int,
    block_size: int,
) -> None:
    """Refuse more effects than there are pairs or blocks for."""
    n_blocks = -(-n_variants // block_size)
    if n_pairs_with_main_effects > n_pairs:
        raise ValueError(
            f"n_pairs_with_main_effects={n_pairs_with_main_effects} is more than "
            f"n_pairs={n_pairs}"
        )
    if n_used > n_blocks:
        raise ValueError(
            f"n_variants={n_variants} in blocks of block_size={block_size} are "
            f"{n_blocks} blocks, fewer than the {n_used} variants "
            "with effects: each needs a block of its own"
        )


def _require_noise(explained: float, n_pairs: int, n_main_effects: int) -> None:
    """Refuse effects that leave no variance to noise."""
    if explained >= 1.0:
        raise ValueError(
            f"pair_variance and main_effect_variance: {n_pairs} pairs and "
            f"{n_main_effects} main effects explain {explained:.2f} of the "
            "variance; it must be less than 1"
        )


def _draw_genotypes(
    rng: np.random.Generator,
    shape: tuple[int, int],  # of a block
    frequencies: NDArray[np.float64],
    correlation: float,
    missing: float,
    used: set[int],
) -> tuple[Genotypes, dict[int, NDArray[np.float64]]]:
    """Draw genotypes of all blocks, and standardized counts of used variants."""
    (n_samples, block_size), n_variants = shape, len(frequencies)
    parts, standard = [], {}
    # Some blocks at a time: normal numbers take much more memory than counts.
    for start in range(0, n_variants, block_size):
        part = slice(start, min(start + block_size, n_variants))
        counts = _draw_counts(rng, n_samples, frequencies[part], correlation)
        for i in used.intersection(range(part.start, part.stop)):
            spread = np.sqrt(2.0 * frequencies[i] * (1.0 - frequencies[i]))
            standard[i] = (counts[:, i - start] - 2.0 * frequencies[i]) / spread
        known = counts.astype(np.float32)
        known[rng.random(known.shape, dtype=np.float32) < missing] = np.nan
        parts.append(Genotypes.from_counts(known))
    names = [f"rs{j}" for j in range(n_variants)]
    return Genotypes.join(parts, names=names), standard


def _draw_effects(
    rng: np.random.Generator,
    chosen: NDArray[np.intp],
    block_size: int,
    n_variants: int,
    n_main_effects: int,
    n_pairs_with_main_effects: int,
    sizes: NDArray[np.float64],
) -> tuple[list[Term], NDArray[np.float64]]:
    """Draw a variant of each chosen block; the first are singles, the others pairs."""
    low = chosen * block_size
    variants = rng.integers(low, np.minimum(low + block_size, n_variants)).tolist()
    singles = [(i,) for i in variants[:n_main_effects]]
    rest = variants[n_main_effects:]
    pairs = [tuple(sorted(pair)) for pair in zip(rest[::2], rest[1::2], strict=True)]
    singles += [(i,) for pair in pairs[:n_pairs_with_main_effects] for i in pair]
    terms = sorted(singles) + sorted(pairs)
    sign = rng.choice([-1.0, 1.0], len(terms))
    return terms, sign * [sizes[len(term) - 1] for term in terms]


def _draw_counts(
    rng: np.random.Generator,
    n_samples: int,
    frequencies: NDArray[np.float64],
    correlation: float,
) -> NDArray[np.intp]:
    """Draw counts of alleles of a block, (n_samples, n_variants)."""
    shape = len(frequencies), 2 * n_samples
    normal = rng.standard_normal(shape, dtype=np.float32)
    for j in range(1, len(normal)):
        normal[j] *= np.sqrt(1.0 - correlation**2)
        normal[j] += correlation * normal[j - 1]
    has_allele = normal < norm.ppf(frequencies)[:, None].astype(np.float32)
    return has_allele.reshape(len(frequencies), 2, n_samples).sum(axis=1).T
