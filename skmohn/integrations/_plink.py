"""Genotypes in PLINK's binary files."""

from pathlib import Path

import numpy as np

from skmohn._core._optional import import_optional
from skmohn.mohn import Genotypes
from skmohn.mohn._walsh.bits import row_bits, words_of

# A file whose variants follow each other, each with all samples.
_HEAD = bytes([0x6C, 0x1B, 0x01])
_VARIANTS_AT_ONCE = 4096
# Phenotypes that mean unknown.
_UNKNOWN = ("-9", "NA", "nan", "")


def _nibbles():
    """The low and the high bits of the four pairs in each byte, as four bits."""
    byte = np.arange(256, dtype=np.uint8)
    pairs = byte[:, None] >> np.arange(0, 8, 2, dtype=np.uint8)
    place = np.arange(4, dtype=np.uint8)
    low, high = pairs & 1, (pairs >> 1) & 1
    return (np.sum(bits << place, axis=1, dtype=np.uint8) for bits in (low, high))


_LOW, _HIGH = _nibbles()


def read_plink(path, *, coding="additive", planes_folder=None):
    """Read genotypes from PLINK's ``.bed``, ``.bim`` and ``.fam`` files.

    The ``.bed`` file is mapped into memory and goes straight into bit planes, some
    variants at a time: nothing is expanded to numbers.

    Parameters
    ----------
    path : str or path-like
        The ``.bed`` file, with or without its ending. The two others lie beside it.
    coding : {"additive", "dominance", "both"}, default="additive"
        What columns are: counts of the first allele of the ``.bim`` file, indicators of
        heterozygotes, or both. See :class:`~skmohn.Genotypes`.
    planes_folder : str or path-like, default=None
        An existing folder for files that hold the bit planes, which are then mapped
        instead of kept in memory. For files larger than the memory.

    Returns
    -------
    Genotypes
        With the names, chromosomes and positions of variants from the ``.bim`` file,
        and the names (individual IDs) and ``phenotype`` of samples from the ``.fam``
        file: NaN for -9 and for what is no number.

    Raises
    ------
    ImportError
        If bed-reader is not installed.
    FileNotFoundError
        If one of the files is missing.
    ValueError
        If the ``.bed`` file is none whose variants follow each other, or has another
        length than the others say.

    See Also
    --------
    skmohn.datasets.make_genome_scan : Simulated genotypes.

    References
    ----------
    .. [1] Chang, C. C. et al. (2015). Second-generation PLINK: rising to the challenge
       of larger and richer datasets. GigaScience 4.

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.integrations import read_plink
    >>> genotypes = read_plink("study.bed")  # doctest: +SKIP
    >>> model = MOHNRegressor("pursuit", max_order=2)  # doctest: +SKIP
    >>> model.fit(genotypes, genotypes.phenotype)  # doctest: +SKIP
    """
    open_bed = import_optional("bed_reader", "read_plink").open_bed
    path = Path(path)
    if path.suffix != ".bed":
        path = path.with_name(path.name + ".bed")
    files = [path.with_suffix(ending) for ending in (".bed", ".bim", ".fam")]
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(f"path: there is no file {file}")
    if planes_folder is not None and not Path(planes_folder).is_dir():
        raise FileNotFoundError(f"planes_folder: there is no folder {planes_folder}")
    with open_bed(path, num_threads=1) as bed:
        n_samples, n_variants = bed.iid_count, bed.sid_count
        about = {
            "names": [str(name) for name in bed.sid],
            "sample_names": [str(name) for name in bed.iid],
            "chromosomes": [str(name) for name in bed.chromosome],
            "positions": np.asarray(bed.bp_position),
            "phenotype": _numbers(bed.pheno),
        }
    rows = _map_variants(path, n_samples, n_variants)
    planes = _planes(n_variants, n_samples, planes_folder, path.stem)
    is_full, whole = True, row_bits(n_samples)
    for start in range(0, n_variants, _VARIANTS_AT_ONCE):
        part = slice(start, start + _VARIANTS_AT_ONCE)
        low, high = (_bits(rows[part], half, n_samples) for half in (_LOW, _HIGH))
        # 0 is count 2, 1 unknown, 2 count 1, and 3 count 0.
        sign, nonzero, known = planes
        sign[part], nonzero[part] = low & high, ~(low ^ high) & whole
        known[part] = ~(low & ~high) & whole
        is_full = is_full and bool(np.all(known[part] == whole))
    if is_full:
        planes[2] = None
    return Genotypes(*planes, n_samples, coding=coding, **about)


def _map_variants(path, n_samples, n_variants):
    """The bytes of each variant, shape (n_variants, bytes)."""
    width = -(-n_samples // 4)
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(3)
    if head != _HEAD:
        raise ValueError(
            f"path: {path} does not begin as a .bed file whose variants follow each "
            "other: convert it by plink --make-bed"
        )
    if size != 3 + width * n_variants:
        raise ValueError(
            f"path: {path} has {size} bytes, but {n_variants} variants of {n_samples} "
            f"samples take {3 + width * n_variants}: do the three files belong "
            "together?"
        )
    return np.memmap(path, np.uint8, "r", offset=3, shape=(n_variants, width))


def _planes(n_variants, n_samples, folder, name):
    """Three empty arrays of words, in memory or in files."""
    shape = n_variants, 8 * -(-n_samples // 512)
    if folder is None:
        return [np.empty(shape, dtype=np.uint64) for _ in range(3)]
    return [
        np.memmap(Path(folder) / f"{name}.{plane}", np.uint64, "w+", shape=shape)
        for plane in ("sign", "nonzero", "known")
    ]


def _bits(rows, half, n_samples):
    """One bit of each pair, as words."""
    nibbles = half[rows]
    if nibbles.shape[1] % 2:
        nibbles = np.pad(nibbles, ((0, 0), (0, 1)))
    return words_of(nibbles[:, ::2] | (nibbles[:, 1::2] << 4), n_samples)


def _numbers(texts):
    """Phenotypes as numbers; NaN for what means unknown."""
    numbers = np.full(len(texts), np.nan)
    for i, text in enumerate(map(str, texts)):
        if text not in _UNKNOWN:
            try:
                numbers[i] = float(text)
            except ValueError:
                continue
    return numbers
