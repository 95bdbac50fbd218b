"""PLINK's files, written and read by bed-reader."""

from unittest.mock import Mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn import Genotypes, MOHNRegressor
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
def test_counts_are_those_of_bed_reader(tmp_path, n_samples, replace_constants):
    replace_constants(_plink, n_variants_per_block=4)
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
    with pytest.warns(UserWarning, match=r"1 phenotypes of .*study\.fam.* 'what'"):
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


def test_planes_are_never_overwritten(tmp_path):
    planes = tmp_path / "planes"
    planes.mkdir()
    path, _ = written(tmp_path, 70)
    genotypes = read_plink(path, planes_folder=planes)
    counts = genotypes.counts()
    other = tmp_path / "other"
    other.mkdir()
    path, _ = written(other, 71)
    for name in ("sign", "nonzero", "known"):
        files = {file.name for file in planes.iterdir()}
        with pytest.raises(
            FileExistsError, match=r"planes_folder: .*study\.\w+ exists"
        ):
            read_plink(path, planes_folder=planes)
        # Nothing new beside what was refused.
        assert {file.name for file in planes.iterdir()} == files
        assert_array_equal(genotypes.counts(), counts)
        (planes / f"study.{name}").unlink()
    assert read_plink(path, planes_folder=planes).n_samples == 71


def test_planes_of_a_failed_call_are_removed(tmp_path, monkeypatch):
    planes = tmp_path / "planes"
    planes.mkdir()
    path, _ = written(tmp_path, 70)
    with pytest.raises(ValueError, match="coding must be one of"):
        read_plink(path, coding="counts", planes_folder=planes)
    monkeypatch.setattr(_plink, "_bits", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        read_plink(path, planes_folder=planes)
    assert not list(planes.iterdir())


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.bed"):
        read_plink(tmp_path / "none")
    for odd in ("", 3, None):
        with pytest.raises(TypeError, match=rf"path must be .*got {odd!r}"):
            read_plink(odd)
    path, _ = written(tmp_path, 20)
    with pytest.raises(FileNotFoundError, match="planes_folder: there is no folder"):
        read_plink(path, planes_folder=tmp_path / "gone")
    whole = path.read_bytes()
    for odd, n_bytes in ((whole[:-2], 46), (whole + b"\0", 49), (whole + whole, 96)):
        path.write_bytes(odd)
        with pytest.raises(
            ValueError, match=rf"{n_bytes} bytes, but 9 variants of 20 samples take 48"
        ):
            read_plink(path)
    # Nineteen people take as many bytes.
    fam = path.with_suffix(".fam").read_text()
    path.write_bytes(whole[:-1] + b"\xc0")
    path.with_suffix(".fam").write_text("\n".join(fam.splitlines()[:19]))
    with pytest.raises(ValueError, match="has genotypes of more than 19 samples"):
        read_plink(path)
    path.write_bytes(whole[:2])
    with pytest.raises(ValueError, match="does not begin like a"):
        read_plink(path)
    path.write_bytes(b"\x6c\x1b\x00" + whole[3:])
    with pytest.raises(ValueError, match="does not begin like a"):
        read_plink(path)


# ---------------------------------------------------------------------- text files


def rewritten(folder, bim=None, fam=None, n_samples=3, n_variants=2):
    """A .bed file whose text files are given, as str or bytes."""
    path, _ = written(folder, n_samples, n_variants)
    for ending, text in ((".bim", bim), (".fam", fam)):
        if text is not None:
            text = text.encode() if isinstance(text, str) else text
            path.with_suffix(ending).write_bytes(text)
    return path


BIM = "1\trs1\t0\t10\tA\tG\nX\trs2\t0\t20\tC\tTA\n"
FAM = "f a 0 0 1 -9\nf b 0 0 1 -9\ng a 0 0 2 -9\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("\t", " "),
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace("\t", "   ").replace(" ", " \t "),
        lambda text: text.rstrip(),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n" + text.replace("\n", "\n \n\n"),
        lambda text: "\n".join(f"  {line} " for line in text.split("\n")),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
    ],
)
def test_fields_are_between_any_white_space(tmp_path, change):
    genotypes = read_plink(rewritten(tmp_path, change(BIM), change(FAM)))
    assert genotypes.names == ["rs1", "rs2"]
    assert genotypes.chromosomes == ["1", "X"]
    assert_array_equal(genotypes.positions, [10, 20])
    assert genotypes.alleles == [("A", "G"), ("C", "TA")]
    assert genotypes.sample_names == ["a", "b", "a"]
    assert genotypes.family_names == ["f", "f", "g"]
    assert np.isnan(genotypes.phenotype).all()


def test_ids_may_have_any_letters(tmp_path):
    path = rewritten(
        tmp_path,
        BIM.replace("rs1", "#1:a'\"").replace("rs2", "."),
        FAM.replace("f a", "#1 é#").replace("g", "#"),
    )
    with pytest.raises(
        ValueError, match=r"line 3 of .*study\.fam is a header or a com"
    ):
        read_plink(path)
    path.with_suffix(".fam").write_text(
        FAM.replace("f a", "#1 é#").replace("g", "1#"), encoding="utf-8"
    )
    genotypes = read_plink(path)
    assert genotypes.names == ["#1:a'\"", "."]
    assert genotypes.family_names == ["#1", "f", "1#"]
    assert genotypes.sample_names == ["é#", "b", "a"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bim": ""}, r"study\.bim is empty, but needs lines of chromosome, variant"),
        ({"fam": " \n\n"}, r"study\.fam is empty, but needs lines of family, indiv"),
        (
            {"fam": FAM.replace(" 2 -9", " -9")},
            r"line 3 of .*\.fam has 5 fields, but ne",
        ),
        (
            {"fam": FAM.replace("f b", "f b c")},
            r"line 2 of .*\.fam has 7 fields, but n",
        ),
        (
            {"bim": BIM.replace("\t0", "")},
            r"line 1 of .*\.bim has 5 fields, but needs 6",
        ),
        (
            {"bim": BIM.replace("20", "2e1")},
            r"line 2 of .*\.bim has the position '2e1'",
        ),
        (
            {"bim": BIM.replace("20", "1_0")},
            r"line 2 of .*\.bim has the position '1_0'",
        ),
        ({"bim": BIM.replace("20", "9" * 5000)}, r"not an integer up to 2147483646"),
        (
            {"bim": BIM.replace("TA", "C")},
            r"line 2 of .*\.bim has the allele 'C' twice",
        ),
        (
            {"bim": BIM.replace("TA", "c")},
            r"line 2 of .*\.bim has the allele 'C' twice",
        ),
        (
            {"fam": FAM.replace("g a", "f a")},
            r"line 3 of .*\.fam has f a, who is also in",
        ),
        ({"bim": "#CHROM ID X POS A C\n" + BIM}, r"line 1 of .*\.bim is a header or a"),
        (
            {"fam": "#FID IID P M S X\n" + FAM},
            r"line 1 of .*\.fam is a header or a com",
        ),
        # Without the #, it would be a person, and all others would move by one.
        (
            {"fam": "FID IID PAT MAT SEX PHENO\n" + FAM},
            r"line 1 of .*\.fam is a header, with 'SEX' for the sex: remove it",
        ),
        ({"fam": FAM.encode("utf-16")}, r"line 1 of .*\.fam is not UTF-8 text"),
        ({"bim": BIM.encode() + b"1 \xff 0 3 A C"}, r"line 3 of .*\.bim is not UTF-8"),
        (
            {"fam": FAM + "h a 0 0 1 -9\nh b 0 0 1 -9\n"},
            "2 variants of 5 samples take 7",
        ),
    ],
)
def test_what_is_wrong_in_a_text_file_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        read_plink(rewritten(tmp_path, **change))


def phenotypes(folder, texts, **how):
    """What is read of phenotypes."""
    fam = "".join(f"f {i} 0 0 1 {text}\n" for i, text in enumerate(texts))
    return read_plink(rewritten(folder, fam=fam, n_samples=len(texts)), **how).phenotype


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "2", "0", "-9", "2"], [1, 2, np.nan, np.nan, 2]),
        (["1.0", "2.0", "0.0", "-9.0"], [1, 2, np.nan, np.nan]),
        (["0", "0", "0"], [np.nan] * 3),
        (["2", "NA", "0", "."], [2, np.nan, np.nan, np.nan]),
        # Numbers that are measured: 0 is one of them.
        (["1.5", "0", "-9", "-9.000", "nan"], [1.5, 0, np.nan, np.nan, np.nan]),
        (["0", "1", "2", "3"], [0, 1, 2, 3]),
    ],
)
def test_unknown_phenotypes(tmp_path, texts, expected):
    assert_array_equal(phenotypes(tmp_path, texts), expected)


def test_controls_that_are_zero(tmp_path):
    texts = ["0", "1", "-9", "0"]
    with pytest.warns(UserWarning, match=r"0 is read as unknown.*pass control_code=0"):
        assert_array_equal(phenotypes(tmp_path, texts), [np.nan, 1, np.nan, np.nan])
    found = phenotypes(tmp_path, texts, control_code=0)
    assert_array_equal(found, [0, 1, np.nan, 0])
    found = phenotypes(tmp_path, ["0", "1", "2.5"], control_code=0)
    assert_array_equal(found, [0, 1, 2.5])
    with pytest.raises(ValueError, match=r"control_code=0, but .* has the phenotype 2"):
        phenotypes(tmp_path, ["0", "1", "2"], control_code=0)
    with pytest.raises(ValueError, match="control_code must be 0 or 1, got 2"):
        phenotypes(tmp_path, texts, control_code=2)


def test_phenotypes_that_are_words(tmp_path):
    for word in ("case", "inf", "1e999", "1_0"):
        with pytest.warns(UserWarning, match=f"1 phenotypes of .*such as '{word}'"):
            found = phenotypes(tmp_path, ["1.5", word, "2.5"])
        assert_array_equal(found, [1.5, np.nan, 2.5])


def test_cohorts_whose_minor_alleles_differ(tmp_path):
    """PLINK lists first the allele that is rarer in the file."""
    rng = np.random.default_rng(0)
    counts = rng.binomial(2, 0.3, (100, 4)).astype(float)
    models, expected = None, counts[:, 1] * 2.0
    for k, alleles in enumerate((("A", "G"), ("G", "A"))):
        path = tmp_path / f"cohort{k}.bed"
        ids = {
            "iid": [f"i{i}" for i in range(100)],
            "allele_1": [alleles[0]] * 4,
            "allele_2": [alleles[1]] * 4,
        }
        bed_reader.to_bed(path, counts if k == 0 else 2.0 - counts, ids)
        genotypes = read_plink(path)
        models = models or MOHNRegressor("pursuit").fit(genotypes, expected)
        assert_allclose(models.predict(genotypes), expected, atol=1e-9)


def test_chromosomes_whose_people_are_in_another_order(tmp_path):
    rng = np.random.default_rng(0)
    counts, order = rng.integers(0, 3, (40, 6)).astype(float), rng.permutation(40)
    parts = []
    for k, rows in enumerate((np.arange(40), order)):
        path = tmp_path / f"chr{k}.bed"
        # Individuals are called alike in all families.
        about = {
            "fid": [f"f{i // 2}" for i in rows],
            "iid": [str(i % 2) for i in rows],
            "sid": [f"rs{3 * k + j}" for j in range(3)],
        }
        bed_reader.to_bed(path, counts[rows, 3 * k : 3 * k + 3], about)
        parts.append(read_plink(path))
    whole = Genotypes.join(parts)
    assert_array_equal(whole.counts(), counts)
    assert whole.names == [f"rs{j}" for j in range(6)]


def test_compressed_files_are_to_be_decompressed(tmp_path):
    path, _ = written(tmp_path, 20)
    bim = path.with_suffix(".bim")
    bim.rename(tmp_path / "study.bim.gz")
    with pytest.raises(
        FileNotFoundError, match=r"no file .*study\.bim, but .*\.bim\.gz: decompress"
    ):
        read_plink(path)
    packed = path.rename(tmp_path / "study.bed.gz")
    with pytest.raises(ValueError, match=r"study\.bed\.gz is compressed: decompress"):
        read_plink(packed)
