"""Genotypes in PLINK's binary files."""

import codecs
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skmohn._core._bits import row_bits, words_of
from skmohn._core._fitting import warn_caller
from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn.mohn import Genotypes
from skmohn.mohn._engine import is_same_allele

# A file whose variants follow each other, each with all samples.
_HEAD = bytes([0x6C, 0x1B, 0x01])


@dataclass(frozen=True)
class ReaderConstants:
    """Reading of genotypes."""

    n_variants_per_block: int = tuned(4096, "cost")


_READER = ReaderConstants()

# PLINK's range of positions.
_LAST_POSITION: Final = 2**31 - 2
# What the lines of both text files hold, in PLINK's words.
_OF_BIM = "chromosome, variant, centimorgans, base pair, allele 1, allele 2"
_OF_FAM = "family, individual, father, mother, sex, phenotype"
# How the header of another format begins: of PLINK 2 and of VCF, or a comment.
_HEADERS = ("#", "#FID", "#IID", "#CHROM", "#CHR")
# No number of more digits is in PLINK's range of positions.
_WHOLE = re.compile(r"-?[0-9]{1,10}")
# Endings of compressed files, which cannot be mapped.
_PACKED = (".gz", ".zst", ".bz2", ".xz", ".zip")
# Words for a phenotype that is unknown, beside the number -9.
_UNKNOWN = {"na", "nan", "n/a", "."}


def _nibbles() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Low and high bits of the four pairs in each byte, as four bits."""
    byte = np.arange(256, dtype=np.uint8)
    pairs = byte[:, None] >> np.arange(0, 8, 2, dtype=np.uint8)
    index = np.arange(4, dtype=np.uint8)
    low, high = pairs & 1, (pairs >> 1) & 1
    low, high = (np.sum(bits << index, axis=1, dtype=np.uint8) for bits in (low, high))
    return low, high


_LOW, _HIGH = _nibbles()


def read_plink(
    path: str | os.PathLike[str],
    *,
    coding: str = "additive",
    control_code: int = 1,
    planes_folder: str | os.PathLike[str] | None = None,
) -> Genotypes:
    """Read genotypes from PLINK's ``.bed``, ``.bim`` and ``.fam`` files.

    The ``.bed`` file is mapped into memory and converted directly to bit planes, in
    blocks of variants: nothing is expanded to numbers.

    Parameters
    ----------
    path : str or path-like
        The ``.bed`` file, with or without its extension. The other two are in the same
        folder.
    coding : {"additive", "dominance", "both"}, default="additive"
        What columns are: counts of the first allele of the ``.bim`` file, indicators of
        heterozygotes, or both. See :class:`~skmohn.Genotypes`.
    control_code : {0, 1}, default=1
        Phenotype of controls if there are only 0, 1, 2 and unknown ones: cases are the
        next number. With 1, as in PLINK, 0 means unknown; 0 is for files of zeros and
        ones, which PLINK reads with ``--1``.
    planes_folder : str or path-like, default=None
        An existing folder for files that hold the bit planes, which are then mapped
        instead of kept in memory. For files larger than the memory. They are named
        after the ``.bed`` file and never overwritten.

    Returns
    -------
    Genotypes
        With the names, chromosomes, positions and alleles of variants from the ``.bim``
        file, and the names of samples (individual IDs) and of their families, and
        ``phenotype``, from the ``.fam`` file. A phenotype is NaN for -9, for 0 among
        cases and controls, and if it is not a number.

    Raises
    ------
    FileNotFoundError
        If one of the files, or `planes_folder`, is missing.
    FileExistsError
        If `planes_folder` has files of that name.
    ValueError
        If the ``.bed`` file is not in variant-major order, or its length does not match
        the others; or if a line of the others, which is named, is a header, does not
        have six fields, or has a position that is not an integer, the same allele
        twice, or a person who occurred before.

    Warns
    -----
    UserWarning
        If phenotypes are words, or only zeros and ones: both may be read differently
        than intended.

    See Also
    --------
    skmohn.datasets.make_gwas : Simulated genotypes.

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
    if control_code not in (0, 1):
        raise ValueError(f"control_code must be 0 or 1, got {control_code!r}")
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise TypeError(f"path must be that of a .bed file, got {path!r}")
    path = Path(path)
    if path.suffix in _PACKED and path.is_file():
        raise ValueError(
            f"path: {path} is compressed: decompress it and the two files beside it "
            "first"
        )
    if path.suffix != ".bed":
        path = path.with_name(path.name + ".bed")
    files = [path.with_suffix(ending) for ending in (".bed", ".bim", ".fam")]
    for file in files:
        if not file.is_file():
            packed = [file.with_name(file.name + end) for end in _PACKED]
            there = next((f", but {other}" for other in packed if other.is_file()), "")
            cure = f"{there}: decompress it first" * bool(there)
            raise FileNotFoundError(f"path: there is no file {file}{cure}")
    if planes_folder is not None and not Path(planes_folder).is_dir():
        raise FileNotFoundError(f"planes_folder: there is no folder {planes_folder}")
    about = _read_bim(files[1]) | _read_fam(files[2], control_code)
    n_samples, n_variants = len(about["sample_names"]), len(about["names"])
    rows = _map_variants(path, n_samples, n_variants)
    with _planes(n_variants, n_samples, planes_folder, path.stem) as planes:
        sign, nonzero, known = planes
        is_full, whole = True, row_bits(n_samples)
        for part in equal_slices(n_variants, _READER.n_variants_per_block):
            low, high = (_bits(rows[part], half, n_samples) for half in (_LOW, _HIGH))
            # 0 is count 2, 1 unknown, 2 count 1, and 3 count 0.
            sign[part], nonzero[part] = low & high, ~(low ^ high) & whole
            known[part] = ~(low & ~high) & whole
            is_full = is_full and bool(np.all(known[part] == whole))
        if is_full:
            known = None
        return Genotypes(sign, nonzero, known, n_samples, coding=coding, **about)


def _read_lines(file: Path, columns: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the position of each line, for messages, and its six fields."""
    # As in PLINK, any number of spaces and tabs is between two of them.
    n_lines = 0
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            where = f"path: line {number} of {file}"
            line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            try:
                fields = [field.decode() for field in line.split()]
            except UnicodeDecodeError:
                raise ValueError(f"{where} is not UTF-8 text") from None
            if not fields:
                continue
            if fields[0].upper() in _HEADERS:
                raise ValueError(
                    f"{where} is a header or a comment, {fields[0]!r}: remove it, or "
                    "convert the files with plink2 --make-bed"
                )
            if len(fields) != 6:
                raise ValueError(
                    f"{where} has {len(fields)} fields, but needs 6: {columns}"
                )
            n_lines += 1
            yield where, fields
    if not n_lines:
        raise ValueError(f"path: {file} is empty, but needs lines of {columns}")


def _read_bim(file: Path) -> dict[str, Any]:
    """Read the variants."""
    names, chromosomes, positions, alleles, pairs = [], [], [], [], {}
    for where, (chromosome, name, _, position, *pair) in _read_lines(file, _OF_BIM):
        if not _WHOLE.fullmatch(position) or int(position) > _LAST_POSITION:
            raise ValueError(
                f"{where} has the position {position[:20]!r}, which is not an integer "
                f"up to {_LAST_POSITION}; fields are {_OF_BIM}"
            )
        if is_same_allele(*pair):
            raise ValueError(f"{where} has the allele {pair[0]!r} twice")
        names.append(name)
        chromosomes.append(intern(chromosome))
        positions.append(int(position))
        # There are few, which all variants share.
        alleles.append(pairs.setdefault(tuple(pair), tuple(pair)))
    return {
        "names": names,
        "chromosomes": chromosomes,
        "positions": np.array(positions),
        "alleles": alleles,
    }


def _read_fam(file: Path, control_code: int) -> dict[str, Any]:
    """Read the people."""
    people, sexes, phenotypes = {}, [], []
    for where, (family, name, *_, sex, phenotype) in _read_lines(file, _OF_FAM):
        if (family, name) in people:
            raise ValueError(
                f"{where} has {family} {name}, who is also in "
                f"{people[family, name].removeprefix('path: ')}: give each sample an "
                "ID of its own"
            )
        people[family, name] = where
        sexes.append(sex)
        phenotypes.append(phenotype)
    _refuse_header(file, sexes)
    families, names = map(list, zip(*people, strict=True))
    return {
        "sample_names": names,
        "family_names": families,
        "phenotype": _read_phenotypes(phenotypes, file, control_code),
    }


def _refuse_header(file: Path, sexes: list[str]) -> None:
    """Refuse names of columns, read as a person before all others."""
    # The .bed file, whose variants end at a byte of four people, may fit one more.
    first, *others = sexes
    if not _is_code(first) and any(map(_is_code, others)):
        raise ValueError(
            f"path: line 1 of {file} is a header, with {first!r} for the sex: remove it"
        )


def _is_code(sex: str) -> bool:
    """Whether it is a number, or unknown."""
    return bool(_WHOLE.fullmatch(sex)) or sex.lower() in _UNKNOWN


def _read_phenotypes(
    texts: list[str], file: Path, control_code: int
) -> NDArray[np.float64]:
    """Phenotypes as numbers; NaN for missing ones."""
    numbers = np.array([_number(text) for text in texts])
    words = [
        text
        for text, number in zip(texts, numbers.tolist(), strict=True)
        if math.isnan(number) and text.lower() not in _UNKNOWN
    ]
    if words:
        warn_caller(
            f"path: {len(words)} phenotypes of {file} are not numbers, such as "
            f"{words[0]!r}: they are read as unknown"
        )
    numbers[numbers == -9.0] = np.nan
    values = set(numbers[np.isfinite(numbers)].tolist())
    if not values <= {0.0, 1.0, 2.0}:
        return numbers
    if control_code == 0:
        if 2.0 in values:
            raise ValueError(
                f"control_code=0, but {file} has the phenotype 2: controls are 1"
            )
        return numbers
    if values == {0.0, 1.0}:
        warn_caller(
            f"path: phenotypes of {file} are 0 and 1, of which 0 is read as unknown: "
            "if 0 stands for controls and 1 for cases, pass control_code=0"
        )
    numbers[numbers == 0.0] = np.nan
    return numbers


def _number(text: str) -> float:
    """Finite number, or NaN; Python's own ways to write one are none of PLINK's."""
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) and "_" not in text else math.nan


def _map_variants(path: Path, n_samples: int, n_variants: int) -> NDArray[np.uint8]:
    """Bytes of each variant, shape (n_variants, bytes)."""
    width = -(-n_samples // 4)
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(3)
    if head != _HEAD:
        raise ValueError(
            f"path: {path} does not begin like a .bed file in variant-major order: "
            "convert it with plink --make-bed"
        )
    if size != 3 + width * n_variants:
        raise ValueError(
            f"path: {path} has {size} bytes, but {n_variants} variants of {n_samples} "
            f"samples take {3 + width * n_variants}: do the three files belong "
            "together?"
        )
    rows = np.memmap(path, np.uint8, "r", offset=3, shape=(n_variants, width))
    # The last byte of a variant has places for up to four samples.
    if n_samples % 4 and np.any(rows[:, -1] >> 2 * (n_samples % 4)):
        raise ValueError(
            f"path: {path} has genotypes of more than {n_samples} samples: do the "
            "three files belong together?"
        )
    return rows


@contextmanager
def _planes(
    n_variants: int, n_samples: int, folder: str | os.PathLike[str] | None, name: str
) -> Iterator[list[NDArray[np.uint64]]]:
    """Yield three empty arrays of words, in memory or in new files, kept if filled."""
    shape = n_variants, 8 * -(-n_samples // 512)
    if folder is None:
        yield [np.empty(shape, dtype=np.uint64) for _ in range(3)]
        return
    files = [Path(folder) / f"{name}.{plane}" for plane in ("sign", "nonzero", "known")]
    for file in files:
        if file.exists():
            raise FileExistsError(
                f"planes_folder: {file} exists, and genotypes in use may need it: pass "
                "another folder, or remove it first"
            )
    made = []
    try:
        for file in files:
            # Nobody else has made it since.
            file.open("xb").close()
            made.append(file)
        yield [np.memmap(file, np.uint64, "w+", shape=shape) for file in files]
    except BaseException:
        # Half-filled files would be in the way of the next call.
        for file in made:
            file.unlink()
        raise


def _bits(
    rows: NDArray[np.uint8], half: NDArray[np.uint8], n_samples: int
) -> NDArray[np.uint64]:
    """One bit of each pair, as words."""
    nibbles = half[rows]
    if nibbles.shape[1] % 2:
        nibbles = np.pad(nibbles, ((0, 0), (0, 1)))
    return words_of(nibbles[:, ::2] | (nibbles[:, 1::2] << 4), n_samples)
