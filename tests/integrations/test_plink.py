"""PLINK's files, written and read by bed-reader."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmohn import Genotypes
from skmohn.integrations import _plink, read_plink

bed_reader = pytest.importorskip("bed_reader")


def written(folder, n_samples, n_variants=9, missing=0.1, **properties):
    """A .bed file with random counts, and the counts."""
    rng = np.random.default_rng(n_samples)
    counts = rng.integers(0, 3, (n_samples, n_variants)).astype(float)
    counts[rng.random(counts.shape) < missing] = np.nan
    path = folder / "study.bed"
    bed_reader.to_bed(path, counts, properties)
    return path, counts


@pytest.mark.parametrize("n_samples", [1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 511, 515])
def test_counts_are_those_of_bed_reader(tmp_path, n_samples, monkeypatch):
    monkeypatch.setattr(_plink, "_VARIANTS_AT_ONCE", 4)
    path, _ = written(tmp_path, n_samples)
    with bed_reader.open_bed(path) as bed:
        expected = bed.read(dtype="float64")
    genotypes = read_plink(path)
    assert genotypes.shape == expected.shape
    assert_array_equal(genotypes.counts(), expected)
    same = Genotypes.from_counts(expected)
    assert_array_equal(genotypes.sign, same.sign)
    assert_array_equal(genotypes.nonzero, same.nonzero)
    assert_array_equal(genotypes.known_bits(), same.known_bits())


def test_complete_files_need_no_bits_of_known_values(tmp_path):
    path, counts = written(tmp_path, 20, missing=0.0)
    genotypes = read_plink(path.with_suffix(""))
    assert genotypes.known is None
    assert_array_equal(genotypes.counts([2, 0]), counts[:, [2, 0]])


def test_names_and_phenotypes(tmp_path):
    path, _ = written(
        tmp_path,
        4,
        3,
        iid=["a", "b", "c", "d"],
        sid=["rs1", "rs2", "rs3"],
        chromosome=["1", "1", "X"],
        bp_position=[10, 20, 5],
        pheno=["1.5", "-9", "2", "what"],
    )
    genotypes = read_plink(str(path), coding="both")
    assert genotypes.names == ["rs1", "rs2", "rs3"]
    assert genotypes.columns[3:] == ["rs1 (het)", "rs2 (het)", "rs3 (het)"]
    assert genotypes.sample_names == ["a", "b", "c", "d"]
    assert genotypes.chromosomes == ["1", "1", "X"]
    assert_array_equal(genotypes.positions, [10, 20, 5])
    assert_array_equal(genotypes.phenotype, [1.5, np.nan, 2.0, np.nan])
    last = genotypes[[3, 2]]
    assert last.sample_names == ["d", "c"]
    assert_array_equal(last.counts(), genotypes.counts()[[3, 2]])


def test_planes_in_files(tmp_path):
    path, _ = written(tmp_path, 70)
    genotypes = read_plink(path, planes_folder=tmp_path)
    assert isinstance(genotypes.sign, np.memmap)
    assert_array_equal(genotypes.counts(), read_plink(path).counts())
    assert (tmp_path / "study.known").stat().st_size == 9 * 8 * 8


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.bed"):
        read_plink(tmp_path / "none")
    path, _ = written(tmp_path, 20)
    with pytest.raises(FileNotFoundError, match="planes_folder: there is no folder"):
        read_plink(path, planes_folder=tmp_path / "gone")
    whole = path.read_bytes()
    path.write_bytes(whole[:-2])
    with pytest.raises(ValueError, match=r"has 46 bytes, but 9 variants of 20 samples"):
        read_plink(path)
    path.write_bytes(b"\x6c\x1b\x00" + whole[3:])
    with pytest.raises(ValueError, match="does not begin as a"):
        read_plink(path)
