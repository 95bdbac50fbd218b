"""PLINK's files, whole and damaged, and what is done with genotypes."""

import tempfile
from pathlib import Path

import numpy as np
from fuzz_rules import attempt
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skmohn import Genotypes, MOHNRegressor
from skmohn.integrations import read_plink

# What PLINK may put between two fields, before and after them, and between lines.
SEPARATORS = st.sampled_from(["\t", " ", "  ", " \t"])
ENDS = st.sampled_from(["\n", "\r\n", " \n", "\n\n"])
WORDS = st.text("abAB01#.:-_'é", min_size=1, max_size=3).filter(
    lambda word: word != "#"
)
ALLELES = st.sampled_from(
    [("A", "G"), ("T", "A"), ("0", "C"), ("0", "0"), ("AT", "A"), (".", "T")]
)
POSITIONS = st.integers(-1, 2**31 - 2).map(str)
PHENOTYPES = st.sampled_from(["1", "2", "0", "-9", "1.5", "-9.0", "NA", "x", "1e9"])
# The two bits of a count of 0, 1, 2 and of an unknown one.
CODES = np.array([3, 2, 0, 1], dtype=np.uint8)


@st.composite
def studies(draw):
    """Counts, and the fields of both text files."""
    n_samples, n_variants = draw(st.integers(1, 21)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counts = rng.choice([0.0, 1.0, 2.0, np.nan], (n_samples, n_variants))
    bim = [
        [draw(WORDS), draw(WORDS), "0", draw(POSITIONS), *draw(ALLELES)]
        for _ in range(n_variants)
    ]
    people = st.lists(
        st.tuples(WORDS, WORDS), min_size=n_samples, max_size=n_samples, unique=True
    )
    fam = [[*person, "0", "0", "1", draw(PHENOTYPES)] for person in draw(people)]
    return counts, bim, fam


# A file, what happens to it, where in it, and to which bit or with how many bytes.
DAMAGES = st.lists(
    st.tuples(
        st.sampled_from([".bed", ".bim", ".fam"]),
        st.sampled_from(["flip", "cut", "grow", "drop"]),
        st.floats(0.0, 1.0),
        st.integers(0, 255),
    ),
    max_size=2,
)


def written(folder, counts, bim, fam, gap, end):
    """The three files of a study."""
    path = Path(folder) / "study.bed"
    codes = CODES[np.nan_to_num(counts.T, nan=3.0).astype(int)]
    codes = np.pad(codes, ((0, 0), (0, -codes.shape[1] % 4)))
    bits = codes.reshape(len(codes), -1, 4) << np.arange(0, 8, 2, dtype=np.uint8)
    rows = bits.sum(axis=2, dtype=np.uint8)
    path.write_bytes(bytes([0x6C, 0x1B, 0x01]) + rows.tobytes())
    for ending, lines in ((".bim", bim), (".fam", fam)):
        text = end.join(gap.join(line) for line in lines) + end
        path.with_suffix(ending).write_bytes(text.encode())
    return path


def damage(path, ending, kind, where, what):
    """Change some bytes of a file."""
    file = path.with_suffix(ending)
    data = bytearray(file.read_bytes())
    at = min(int(where * len(data)), len(data) - 1)
    if kind == "flip" and data:
        data[at] ^= 1 << what % 8
    elif kind == "cut":
        del data[at:]
    elif kind == "grow":
        data[at:at] = bytes([what]) * (1 + what % 5)
    elif data:
        del data[at]
    file.write_bytes(data)


def decoded(path, n_samples):
    """Counts as they are in a .bed file, one value at a time."""
    data = path.read_bytes()[3:]
    width = -(-n_samples // 4)
    count = {0: 2.0, 1: np.nan, 2: 1.0, 3: 0.0}
    return np.array(
        [
            [
                count[data[start + i // 4] >> 2 * (i % 4) & 3]
                for start in range(0, len(data), width)
            ]
            for i in range(n_samples)
        ]
    )


def test_files_are_read_or_refused_in_words(campaign):
    def check(study, gap, end, damages):
        counts, bim, fam = study
        with tempfile.TemporaryDirectory() as folder:
            path = written(folder, counts, bim, fam, gap, end)
            for each in damages:
                damage(path, *each)
            found = attempt(read_plink, path)
            if isinstance(found, Exception):
                assert damages, f"refused what is whole: {found!r}"
                assert "study." in str(found), f"names no file: {found!r}"
                return
            assert_array_equal(found.counts(), decoded(path, len(found)))
            assert len(found.names) == len(found.alleles) == len(found.positions)
            assert len(set(zip(found.family_names, found.sample_names, strict=True)))
            assert found.phenotype.shape == (len(found),)
            assert not np.isinf(found.phenotype).any()
            if not damages:
                assert_array_equal(found.counts(), counts)
                assert found.names == [line[1] for line in bim]
                assert found.alleles == [tuple(line[4:]) for line in bim]
                assert found.sample_names == [line[1] for line in fam]

    campaign(check, st.tuples(studies(), SEPARATORS, ENDS, DAMAGES))


def test_people_and_alleles_in_any_order(campaign):
    def check(n_samples, n_variants, seed):
        rng = np.random.default_rng(seed)
        counts = rng.choice([0.0, 1.0, 2.0, np.nan], (n_samples, n_variants))
        about = {
            "names": [f"rs{j}" for j in range(n_variants)],
            "alleles": [("A", "G")] * n_variants,
            "sample_names": [str(i % 3) for i in range(n_samples)],
            "family_names": [str(i // 3) for i in range(n_samples)],
        }
        whole = Genotypes.from_counts(counts, **about)
        cuts = np.sort(rng.integers(1, n_variants, 2))
        parts = [
            whole[rng.permutation(n_samples), part]
            for part in np.split(np.arange(n_variants), cuts)
            if len(part)
        ]
        joined = attempt(Genotypes.join, [whole[:, :1], *parts])
        assert_array_equal(joined.counts()[:, 1:], counts)
        assert joined.names[1:] == whole.names

        is_turned = rng.random(n_variants) < 0.5
        alleles = [("G", "A") if turned else ("A", "G") for turned in is_turned]
        turned = np.where(is_turned, 2.0 - counts, counts)
        other = Genotypes.from_counts(turned, **about | {"alleles": alleles})
        terms = [j for j in range(n_variants) if np.unique(counts[:, j]).size > 2][:2]
        y = rng.normal(size=n_samples)
        model = attempt(MOHNRegressor("given", terms=terms).fit, whole, y)
        if not isinstance(model, Exception):
            found, expected = (attempt(model.predict, X) for X in (other, whole))
            assert_allclose(found, expected)

    campaign(
        check,
        st.tuples(st.integers(2, 70), st.integers(2, 9), st.integers(0, 2**32 - 1)),
    )
