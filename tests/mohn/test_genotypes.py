"""Packed genotypes: there and back, and estimators that search them as they are."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from skmohn import (
    BLMRegressor,
    EnergyNetTransformer,
    Genotypes,
    MOHNClassifier,
    MOHNRegressor,
    MOHNTransformer,
)
from skmohn.datasets import make_gwas
from skmohn.optimize import maximize


@pytest.fixture(scope="module")
def scan():
    return make_gwas(
        60,
        400,
        n_pairs=2,
        n_main_effects=2,
        pair_variance=0.15,
        main_effect_variance=0.15,
        block_size=5,
        random_state=0,
    )


@pytest.fixture(scope="module")
def model(scan):
    return MOHNRegressor("pursuit", max_order=2, random_state=0).fit(scan.X, scan.y)


def test_counts_there_and_back():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (70, 5)).astype(float)
    assert Genotypes.from_counts(counts).known is None
    counts[rng.random(counts.shape) < 0.2] = np.nan
    genotypes = Genotypes.from_counts(counts, names=list("abcde"))
    assert_array_equal(genotypes.counts(), counts)
    assert_array_equal(genotypes[[5, 5, 2]].counts([4]), counts[[5, 5, 2]][:, [4]])
    assert_array_equal(genotypes[counts[:, 0] == 2].counts(), counts[counts[:, 0] == 2])
    joined = Genotypes.join([genotypes, Genotypes.from_counts(counts[:, :2])])
    assert_array_equal(joined.counts(), np.hstack([counts, counts[:, :2]]))
    assert repr(joined) == "<Genotypes: 70 rows, 7 columns, additive>"


def test_a_fit_finds_singles_and_pairs(scan, model):
    assert model.terms_ == scan.terms
    assert model.feature_names_in_[3] == "rs3"
    # Weights are of counts less their means.
    spread = np.sqrt(2 * scan.frequencies * (1 - scan.frequencies))
    weights = scan.weights / [np.prod(spread[list(term)]) for term in scan.terms]
    assert_allclose(model.weights_, weights, atol=0.35)


def test_predictions_are_those_of_centered_counts(scan, model):
    counts = scan.X.counts()
    centered = np.nan_to_num(counts - np.nanmean(counts, axis=0))
    expected = model.intercept_ + sum(
        weight * centered[:, list(term)].prod(axis=1)
        for term, weight in zip(model.terms_, model.weights_, strict=True)
    )
    assert_allclose(model.predict(scan.X), expected)
    assert_allclose(model.predict(scan.X[:7]), expected[:7])
    by_least_squares = np.column_stack(
        [np.ones(400), *(centered[:, list(t)].prod(axis=1) for t in model.terms_)]
    )
    weights = np.linalg.lstsq(by_least_squares, scan.y)[0]
    assert_allclose(model.weights_, weights[1:])


def test_indicators_of_heterozygotes():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (300, 8)).astype(float)
    y = (counts[:, 2] == 1) * 2.0 + counts[:, 5] + 0.2 * rng.standard_normal(300)
    both = Genotypes.from_counts(counts, coding="both", names=list("abcdefgh"))
    assert both.shape == (300, 16)
    model = MOHNRegressor("pursuit", max_order=1).fit(both, y)
    assert model.terms_table()["term"].tolist()[:2] == ["c (het)", "f"]
    weights = dict(zip(model.terms_, model.weights_, strict=True))
    assert_allclose([weights[5,], weights[10,]], [1.0, 2.0], atol=0.1)
    dominance = Genotypes.from_counts(counts, coding="dominance")
    assert MOHNRegressor("pursuit", max_order=1).fit(dominance, y).terms_.count((2,))


def test_columns_that_do_not_vary_and_given_terms(scan):
    counts = scan.X.counts()
    counts[:, 7] = 1.0
    counts[:, 9] = np.nan
    genotypes = Genotypes.from_counts(counts)
    model = MOHNRegressor("given", terms=[(8,), (8, 10)]).fit(genotypes, scan.y)
    assert model.coding_.kind[[7, 8, 9]].tolist() == ["constant", "numeric", "constant"]
    assert model.terms_ == [(8,), (8, 10)]
    assert np.isfinite(model.predict(genotypes)).all()


def test_held_out_genotypes(scan):
    model = MOHNRegressor("pursuit", max_order=2)
    model.fit(scan.X[:300], scan.y[:300], X_val=scan.X[300:], y_val=scan.y[300:])
    assert set(scan.terms[2:]) <= set(model.terms_)
    assert "validation" in model.stopping_reason_


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0, 3]], r"counts has 3 in row 0 of column 1"),
        ([[0.5, 1]], r"counts has 0.5 in row 0 of column 0"),
        ([0, 1, 2], r"must be a table of samples by variants"),
        ([[0.9999999999]], r"counts has 0.9999999999 in row 0"),
        (
            [["A"]],
            r"not a number in columns 0 to 0 .*: counts of an allele are 0, 1 or",
        ),
        ([[0, 10**400]], r"not a number in columns 0 to 1"),
        ([[1j]], r"not a number in columns 0 to 0"),
        ([[0, 1], [2]], r"counts is not a table"),
        (csr_array([[0, 1]]), r"counts is a sparse matrix: pass counts.toarray"),
    ],
)
def test_tables_that_are_no_counts(given, message):
    with pytest.raises(ValueError, match=message):
        Genotypes.from_counts(given)


def test_what_cannot_be_done(scan, model):
    with pytest.raises(ValueError, match="coding must be one of"):
        Genotypes.from_counts([[0, 1]], coding="recessive")
    with pytest.raises(ValueError, match="names has 1 names for 2 variants"):
        Genotypes.from_counts([[0, 1]], names=["a"])
    with pytest.raises(ValueError, match="strategy='auto' does not take Genotypes"):
        MOHNRegressor().fit(scan.X, scan.y)
    with pytest.raises(ValueError, match="sample_weight: Genotypes take only"):
        MOHNRegressor("pursuit").fit(scan.X, scan.y, np.arange(400) + 1.0)
    with pytest.raises(ValueError, match="X has 1, and MOHNRegressor needs two"):
        MOHNRegressor("pursuit").fit(scan.X[:1], [0.0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MOHNRegressor("pursuit").fit(scan.X, scan.y[:5])
    with pytest.raises(ValueError, match="X has 5 columns, but MOHNRegressor was"):
        model.predict(Genotypes.from_counts(np.zeros((3, 5))))
    others = Genotypes.from_counts(scan.X.counts(), names=[f"v{j}" for j in range(60)])
    with pytest.raises(ValueError, match="X has other column names"):
        model.predict(others)
    with pytest.raises(ValueError, match="same rows"):
        Genotypes.join([scan.X, scan.X[:3]])


# ------------------------------------------------------------------------ identity


def cohort(n_samples=200, seed=0, **about):
    """Genotypes of eight variants with all that can be known of them, and counts."""
    counts = np.random.default_rng(seed).binomial(2, 0.4, (n_samples, 8)).astype(float)
    known = {
        "names": [f"rs{j}" for j in range(8)],
        "chromosomes": ["1"] * 4 + ["X"] * 4,
        "positions": np.arange(100, 108),
        "alleles": [("A", "G"), ("A", "T")] * 4,
        "sample_names": [f"i{i}" for i in range(n_samples)],
        "family_names": [f"f{i}" for i in range(n_samples)],
        "phenotype": counts[:, 2] - counts[:, 6],
    }
    return Genotypes.from_counts(counts, **known | about), counts


@pytest.fixture(scope="module")
def known_model():
    genotypes, _ = cohort()
    return MOHNRegressor("pursuit", max_order=1).fit(genotypes, genotypes.phenotype)


def test_slices_keep_all_that_is_known():
    genotypes, counts = cohort()
    part = genotypes[[7, 3, 3], [6, 1]]
    assert_array_equal(part.counts(), counts[[7, 3, 3]][:, [6, 1]])
    assert part.names == ["rs6", "rs1"]
    assert part.chromosomes == ["X", "1"]
    assert_array_equal(part.positions, [106, 101])
    assert part.alleles == [("A", "G"), ("A", "T")]
    assert part.sample_names == ["i7", "i3", "i3"]
    assert part.family_names == ["f7", "f3", "f3"]
    assert_array_equal(part.phenotype, genotypes.phenotype[[7, 3, 3]])
    mask = np.arange(8) % 2 == 1
    assert_array_equal(genotypes[:, mask].counts(), counts[:, mask])
    assert_array_equal(genotypes[::-1].counts(), counts[::-1])
    assert genotypes[::-1, []].counts().shape == (200, 0)
    with pytest.raises(ValueError, match="take lists of rows and of variants"):
        genotypes[3]


def test_what_is_known_must_fit_the_table():
    for name in ("names", "chromosomes", "positions", "alleles"):
        with pytest.raises(ValueError, match=f"{name} has 1 {name} for 8 variants"):
            cohort(**{name: [("A", "G")] if name == "alleles" else [1]})
    with pytest.raises(ValueError, match="sample_names has 2 sample names for 200"):
        cohort(sample_names=["a", "b"])
    with pytest.raises(ValueError, match="phenotype has 1 phenotype for 200 samples"):
        cohort(phenotype=[1.0])
    for positions in ([1.5] * 8, [2**40] * 8, ["a"] * 8, [np.inf] * 8):
        with pytest.raises(ValueError, match=r"positions (has .* for variant 0|must)"):
            cohort(positions=positions)
    for pair in (("A", "A"), ("a", "A"), (b"A", "A "), ("A", "G", "T"), ("A",), 3):
        with pytest.raises(ValueError, match="for variant 7: they are two, and differ"):
            cohort(alleles=[("A", "G")] * 7 + [pair])
    assert cohort(alleles=[("0", "0")] * 8)[0].alleles[3] == ("0", "0")
    read = cohort(alleles=[(None, b"G")] * 8, positions=["7", np.nan] * 4)[0]
    assert read.alleles[3] == ("0", "G")
    assert_array_equal(read.positions, [7, 0] * 4)


def test_counts_of_swapped_alleles_are_turned(known_model):
    genotypes, counts = cohort(seed=1)
    counts[::3] = np.nan
    same = Genotypes.from_counts(counts, names=genotypes.names)
    counts[:, [2, 4]] = 2.0 - counts[:, [2, 4]]
    alleles = list(genotypes.alleles)
    alleles[2] = alleles[4] = ("G", "A")
    other = Genotypes.from_counts(counts, alleles=alleles, names=genotypes.names)
    assert_allclose(known_model.predict(other), known_model.predict(same))
    assert_allclose(
        known_model.predict(other)[1::3], known_model.predict(genotypes)[1::3]
    )
    # Those of the user are as they were.
    assert_array_equal(other.counts(), counts)
    assert other.alleles == alleles


@pytest.mark.parametrize(
    ("here", "is_turned"),
    [
        (("A", "0"), False),
        ((".", "G"), False),
        (("0", "0"), False),
        (("0", "A"), True),
        (("G", "."), True),
    ],
)
def test_alleles_that_nobody_has_are_unknown(known_model, here, is_turned):
    """PLINK writes 0 for the allele that nobody of a cohort has."""
    genotypes, counts = cohort(seed=1)
    expected = known_model.predict(genotypes)
    alleles = list(genotypes.alleles)
    alleles[2] = here
    if is_turned:
        counts[:, 2] = 2.0 - counts[:, 2]
    other = Genotypes.from_counts(counts, alleles=alleles)
    assert_allclose(known_model.predict(other), expected)


@pytest.mark.parametrize(
    ("fitted", "here"),
    [(("0", "G"), ("A", "G")), (("A", "0"), ("0", "A")), (("0", "0"), ("C", "T"))],
)
def test_alleles_that_nobody_had_in_fit_are_unknown(fitted, here):
    counts = np.random.default_rng(0).binomial(2, 0.4, (50, 2)).astype(float)
    alleles = [("A", "G"), fitted]
    genotypes = Genotypes.from_counts(counts, alleles=alleles, positions=[5, 0])
    model = MOHNRegressor("given", terms=[0, 1]).fit(genotypes, counts.sum(axis=1))
    if here == fitted[::-1]:
        counts[:, 1] = 2.0 - counts[:, 1]
    other = Genotypes.from_counts(counts, alleles=[("A", "G"), here], positions=[5, 7])
    assert_allclose(model.predict(other), model.predict(genotypes))
    if fitted != ("0", "0"):
        other.alleles[1] = ("0", "C")
        with pytest.raises(ValueError, match=r"x1 .* has alleles 0/C"):
            model.predict(other)


def test_swapped_palindromes_are_warned_of(known_model):
    genotypes, counts = cohort(seed=1)
    counts[:, 1] = 2.0 - counts[:, 1]
    alleles = list(genotypes.alleles)
    alleles[1] = ("T", "A")
    with pytest.warns(UserWarning, match="for 1 of them, which are A/T or C/G"):
        found = known_model.predict(Genotypes.from_counts(counts, alleles=alleles))
    assert_allclose(found, known_model.predict(genotypes))


@pytest.mark.parametrize("coding", ["additive", "dominance", "both"])
def test_every_coding_is_turned(coding):
    genotypes, counts = cohort(coding=coding)
    model = MOHNRegressor("pursuit", max_order=1).fit(genotypes, genotypes.phenotype)
    swapped = [("G", "A") if pair == ("A", "G") else pair for pair in genotypes.alleles]
    counts[:, ::2] = 2.0 - counts[:, ::2]
    other = Genotypes.from_counts(counts, coding=coding, alleles=swapped)
    assert_allclose(model.predict(other), model.predict(genotypes))


def test_held_out_rows_and_classes_are_turned():
    genotypes, counts = cohort()
    y = genotypes.phenotype
    swapped = [("G", "A") if pair == ("A", "G") else pair for pair in genotypes.alleles]
    counts[:, ::2] = 2.0 - counts[:, ::2]
    other = Genotypes.from_counts(counts, alleles=swapped)
    fits = [
        MOHNRegressor("pursuit", max_order=1).fit(
            genotypes[:150], y[:150], X_val=held[150:], y_val=y[150:]
        )
        for held in (genotypes, other)
    ]
    assert fits[0].terms_ == fits[1].terms_
    assert_allclose(fits[0].weights_, fits[1].weights_)
    assert_allclose(
        fits[0].significance_table(other, y)["p_value"],
        fits[0].significance_table(genotypes, y)["p_value"],
    )
    for kind in (MOHNClassifier, MOHNTransformer):
        model = kind("logistic", max_order=1, include_inputs=False)
        model.fit(genotypes, y > 0)
        method = "predict_proba" if kind is MOHNClassifier else "transform"
        found, expected = (getattr(model, method)(X) for X in (other, genotypes))
        assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"alleles": [("C", "T")] * 8},
            r"rs0 \(number 0\) has alleles C/T, and had A/G",
        ),
        (
            {"alleles": [("A", "G")] * 8},
            r"rs1 \(number 1\) has alleles A/G, and had A/T",
        ),
        ({"alleles": [("0", "C")] * 8}, "another variant, or on the other strand"),
        (
            {"chromosomes": ["2"] * 8},
            "rs0 .* is on chromosome 2, and was on chromosome 1",
        ),
        (
            {"positions": np.arange(101, 109)},
            "rs0 .* is at position 101, and was at .*100",
        ),
        (
            {"coding": "dominance"},
            "'dominance', but MOHNRegressor .* coding='additive'",
        ),
        ({"coding": "both"}, "coded as 'both'"),
        (
            {"names": [f"rs{j}" for j in (0, 2, 1, *range(3, 8))]},
            "1 is 'rs2' and was 'rs1'",
        ),
    ],
)
def test_other_variants_are_refused(known_model, change, message):
    with pytest.raises(ValueError, match=message):
        known_model.predict(cohort(seed=1, **change)[0])


def test_the_same_variants_may_be_written_otherwise(known_model):
    genotypes, _ = cohort(seed=1)
    expected = known_model.predict(genotypes)
    for change in (
        {"chromosomes": ["chr1"] * 4 + ["23"] * 4},
        {"chromosomes": ["0"] * 8, "positions": np.zeros(8, int)},
        {"names": None, "alleles": None, "positions": None, "chromosomes": None},
        {"chromosomes": [1.0] * 4 + ["chrX"] * 4},
        {"chromosomes": ["01"] * 4 + [None] * 4},
        {"positions": [f"{float(p)}" for p in genotypes.positions]},
        {"alleles": [(a.lower(), b) for a, b in genotypes.alleles]},
    ):
        assert_array_equal(known_model.predict(cohort(seed=1, **change)[0]), expected)


def test_tables_and_genotypes_are_not_mixed_up(known_model):
    genotypes, counts = cohort()
    expected = known_model.predict(genotypes)
    # Also what is imputed lies between counts.
    assert_allclose(
        known_model.predict(pd.DataFrame(counts, columns=genotypes.names)), expected
    )
    for odd, name in ((-9.0, "-9"), (2.5, "2.5")):
        table = pd.DataFrame(counts.copy(), columns=genotypes.names)
        table.loc[3, "rs5"] = odd
        with pytest.raises(ValueError, match=f"X has {name} in row 3 of column 5"):
            known_model.predict(table)
    both = MOHNRegressor("pursuit", max_order=1).fit(
        Genotypes.from_counts(counts, coding="both"), genotypes.phenotype
    )
    with pytest.raises(ValueError, match=r"X has 2 in row 0 of column 8.*0 to 1"):
        both.predict(np.full((1, 16), 2.0))
    indicators = MOHNRegressor("pursuit", max_order=1).fit(
        Genotypes.from_counts(counts, coding="dominance"), genotypes.phenotype
    )
    with pytest.raises(ValueError, match=r"X has 2 in row 0 of column 0.*0 to 1"):
        indicators.predict(np.full((1, 8), 2.0))
    # Of a table, what a column is coded as depends on its values.
    bits = np.minimum(counts, 1.0)
    model = MOHNRegressor("pursuit", max_order=1).fit(bits, bits[:, 2])
    with pytest.raises(ValueError, match="was fitted to a table"):
        model.predict(Genotypes.from_counts(bits))
    model.fit(genotypes, genotypes.phenotype).fit(bits - 5.0, bits[:, 2])
    assert_allclose(model.predict(bits - 5.0), bits[:, 2], atol=1e-9)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_genotypes_are_not_expanded_unasked():
    genotypes, _ = cohort()
    model = MOHNRegressor("pursuit", max_order=1).fit(genotypes, genotypes.phenotype)
    targets = np.column_stack([genotypes.phenotype] * 2)
    for use in (
        lambda: np.asarray(genotypes),
        lambda: model.partial_fit(genotypes, genotypes.phenotype),
        lambda: model.fit(genotypes, targets),
        lambda: model.explain(genotypes[:1]),
        lambda: BLMRegressor().fit(genotypes, genotypes.phenotype),
        lambda: EnergyNetTransformer().fit(genotypes),
    ):
        with pytest.raises(
            TypeError, match=r"Genotypes are not an array.*pass X.counts"
        ):
            use()
    with pytest.raises(ValueError, match="model was fitted to Genotypes"):
        maximize(model)


def test_a_name_of_two_variants_is_refused():
    _, counts = cohort()
    twice = Genotypes.from_counts(counts, names=["rs3", "rs3", *"abcdef"])
    with pytest.raises(ValueError, match=r"terms has 'rs3'.*columns \[0, 1\]"):
        MOHNRegressor("given", terms=["rs3"]).fit(twice, counts[:, 1])
    model = MOHNRegressor("given", terms=[1]).fit(twice, counts[:, 1])
    assert_allclose(model.predict(twice), counts[:, 1], atol=1e-9)


def test_names_of_indicators_are_no_other_variants():
    both = Genotypes.from_counts(
        [[0, 1], [1, 2]], coding="both", names=["a", "a (het)"]
    )
    assert both.columns == ["a", "a (het)", "a (het) (2)", "a (het) (het)"]


# ------------------------------------------------------------------------- joining


def test_joined_people_are_put_in_one_order():
    genotypes, counts = cohort()
    order = np.random.default_rng(1).permutation(200)
    first, second = genotypes[:, :3], genotypes[order, 3:]
    second.phenotype[5] = np.nan
    unknown = np.where(np.arange(200) == order[7], np.nan, first.phenotype)
    first.phenotype = unknown
    whole = Genotypes.join([first, second])
    assert_array_equal(whole.counts(), counts)
    for name in ("names", "chromosomes", "alleles", "sample_names", "family_names"):
        assert getattr(whole, name) == getattr(genotypes, name)
    assert_array_equal(whole.positions, genotypes.positions)
    assert_array_equal(whole.phenotype, genotypes.phenotype)
    # The order is that of the first that knows people.
    nameless = Genotypes.from_counts(counts[:, :3])
    other = Genotypes.join([nameless, second, genotypes[:, :1]])
    assert_array_equal(other.counts()[:, 3:8], second.counts())
    assert_array_equal(other.counts()[:, 8], counts[order, 0])
    # A family has several members, and names are used again in other families.
    people = {
        "sample_names": ["1", "2"] * 100,
        "family_names": np.repeat(range(100), 2),
    }
    a = Genotypes.from_counts(counts, **people)
    assert_array_equal(
        Genotypes.join([a, a[order]]).counts(), np.hstack([counts, counts])
    )
    a.family_names = None
    with pytest.raises(ValueError, match=r"has 1 more than once.*cannot be matched"):
        Genotypes.join([a, a[order]])
    assert Genotypes.join([a, a]).shape == (200, 16)


def test_joined_variants_that_nothing_is_known_of():
    genotypes, counts = cohort()
    genotypes.names[1] = "x8"
    nameless = Genotypes.from_counts(counts[:, :2])
    whole = Genotypes.join([genotypes, nameless])
    assert whole.names[6:] == ["rs6", "rs7", "x8 (2)", "x9"]
    assert whole.chromosomes[7:] == ["X", "0", "0"]
    assert whole.positions[7:].tolist() == [107, 0, 0]
    assert whole.alleles[7:] == [("A", "T"), ("0", "0"), ("0", "0")]
    assert Genotypes.join([nameless, nameless]).names is None


def test_what_cannot_be_joined():
    genotypes, counts = cohort()
    with pytest.raises(ValueError, match="must be Genotypes, at least one"):
        Genotypes.join([])
    with pytest.raises(ValueError, match="must be Genotypes, at least one"):
        Genotypes.join([genotypes, counts])
    with pytest.raises(ValueError, match=r"that of parts\[1\] is 'both' and"):
        Genotypes.join([genotypes, cohort(coding="both")[0]])
    for part, where in ((genotypes[1:], 0), (genotypes[:-1], 0)):
        with pytest.raises(
            ValueError, match=rf"are in only one of .* this one in parts\[{where}\]"
        ):
            Genotypes.join([genotypes, part])
    with pytest.raises(
        ValueError, match=r"\('f199', 'i199'\) and 0 more .* parts\[1\]"
    ):
        Genotypes.join([genotypes[:-1], genotypes])
    other, _ = cohort(phenotype=np.arange(200.0))
    other.phenotype[0] = np.nan
    with pytest.raises(ValueError, match=r"phenotype of i1 is 1 in parts\[1\] and"):
        Genotypes.join([genotypes, other])


def test_joined_phenotypes_may_be_words():
    words = np.array(["ill", None] * 100, dtype=object)
    parts = [cohort(phenotype=phenotype)[0] for phenotype in (words, ["other"] * 200)]
    with pytest.raises(ValueError, match="phenotype of i0 is other in parts"):
        Genotypes.join(parts)
    parts[1].phenotype[::2] = ["ill"]
    assert Genotypes.join(parts).phenotype.tolist() == ["ill", "other"] * 100


def test_the_index_of_a_frame_names_people():
    _, counts = cohort(4)
    frame = pd.DataFrame(counts, index=list("abcd"), columns=list("stuvwxyz"))
    genotypes = Genotypes.from_counts(frame)
    assert genotypes.sample_names == ["a", "b", "c", "d"]
    other = Genotypes.from_counts(frame[::-1])
    assert_array_equal(Genotypes.join([genotypes, other]).counts()[:, 8:], counts)
    assert Genotypes.from_counts(pd.DataFrame(counts)).sample_names is None


# ----------------------------------------------------------- indices, names and planes


def test_a_mask_of_variants_is_no_list_of_numbers():
    counts = np.random.default_rng(0).integers(0, 3, (20, 5)).astype(float)
    genotypes = Genotypes.from_counts(counts)
    mask = np.array([False, True, False, False, True])
    for given in (mask, mask.tolist(), pd.Series(mask)):
        assert_array_equal(genotypes.counts(given), counts[:, mask])
        assert_array_equal(genotypes[:, given].counts(), counts[:, mask])
    assert_array_equal(genotypes.counts([-1, 0]), counts[:, [4, 0]])
    for odd in ([1.7], ["rs1"], [5], mask[:3]):
        with pytest.raises(
            IndexError, match="genotypes have 5 variants: select them by"
        ):
            genotypes.counts(odd)
        with pytest.raises(
            IndexError, match="genotypes have 5 variants: select them by"
        ):
            genotypes[:, odd]
    with pytest.raises(IndexError, match="genotypes have 20 rows: select them by"):
        genotypes[1, 2, 3]


def test_names_have_an_order_and_are_texts():
    for name in ("names", "sample_names", "family_names", "chromosomes"):
        for odd, message in (({"a", "b"}, "have an order"), ("ab", "be a list of str")):
            with pytest.raises(ValueError, match=f"{name} must {message}"):
                Genotypes.from_counts([[0, 2], [1, 1]], **{name: odd})
        found = Genotypes.from_counts([[0, 2], [1, 1]], **{name: np.array([7, 8])})
        assert getattr(found, name) == ["7", "8"]


def test_a_masked_phenotype_is_unknown():
    phenotype = np.ma.array([1.0, 2.0], mask=[False, True])
    found = Genotypes.from_counts([[0, 2], [1, 1]], phenotype=phenotype)
    assert_array_equal(found.phenotype, [1.0, np.nan])


def test_planes_have_the_words_of_their_samples():
    planes = np.zeros((3, 8), np.uint64)
    assert Genotypes(planes, planes, None, np.int8(100)).shape == (100, 3)
    for n_samples in (-1, 5.0, True, None):
        with pytest.raises(ValueError, match="n_samples must be an integer from 0"):
            Genotypes(planes, planes, None, n_samples)
    odd = [planes[:2], planes[:, :7], planes[0], planes.astype(np.int64)]
    for plane in odd:
        with pytest.raises(ValueError, match=r"nonzero must hold uint64 of shape \(3,"):
            Genotypes(planes, plane, None, 100)
        with pytest.raises(ValueError, match=r"known must hold uint64 of shape \(3, 8"):
            Genotypes(planes, planes, plane, 100)
    with pytest.raises(ValueError, match=r"sign must hold uint64 of shape \(3, 80\)"):
        Genotypes(planes, planes, None, 5000)


@pytest.mark.parametrize("dtypes", [("Int8", "int64"), (object, object)])
def test_tables_of_values_without_a_common_type(dtypes):
    """Several columns with NA have none; None stays in the table of a user."""
    columns = zip(([0, None, 2], [0, 1, 2]), dtypes, strict=True)
    table = pd.DataFrame(
        {
            f"rs{k}": pd.Series(values, dtype=dtype)
            for k, (values, dtype) in enumerate(columns)
        }
    )
    before = table.copy()
    found = Genotypes.from_counts(table)
    assert table.iloc[1, 0] is before.iloc[1, 0]
    expected = Genotypes.from_counts(np.array([[0, 0], [np.nan, 1], [2, 2]]))
    for name in ("sign", "nonzero", "known"):
        assert_array_equal(getattr(found, name), getattr(expected, name))
