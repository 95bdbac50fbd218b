"""Products by tables of bytes against numpy's, and against counted bits."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from skmohn._core import _numba
from skmohn._core._bits import pack_bits
from skmohn.mohn._design import design as _design
from skmohn.mohn._design import plane_design as _plane_design
from skmohn.mohn._design.design import PackedDesign
from skmohn.mohn._design.lookup import Stems, lay_out
from skmohn.mohn._design.pair_screening import best_pairs
from skmohn.mohn._design.plane_design import PlaneDesign, Planes

# Both sides of half-bytes, bytes, words of 64 and blocks of 512 samples.
SIZES = [
    *range(1, 10),
    *(16 * n + i for n in (1, 2, 3, 4) for i in (-1, 0, 1)),
    127,
    128,
    129,
    *range(510, 515),
    1025,
]

needs_look_up = pytest.mark.skipif(
    not _numba.can_look_up(), reason="this machine counts bits"
)


def padded(numbers):
    """Rows of numbers up to whole blocks of 512."""
    return np.pad(numbers, ((0, 0), (0, -numbers.shape[1] % 512))).astype(np.int8)


@needs_look_up
@settings(max_examples=20, deadline=None)
@given(
    n_samples=st.integers(1, 1100),
    n_stems=st.integers(1, 9),
    before=st.integers(1, 18),
    n_columns=st.integers(1, 140),
    n_factors=st.integers(1, 4),
    with_squares=st.booleans(),
    seed=st.integers(0, 99),
)
def test_products_are_those_of_numbers(
    n_samples, n_stems, before, n_columns, n_factors, with_squares, seed
):
    rng = np.random.default_rng(seed)
    stems = rng.integers(-1, 2, (n_stems, n_samples))
    factors = rng.integers(-3, 4, (n_factors, n_samples))
    bits = [rng.random((n_columns, n_samples)) < share for share in (0.5, 0.2)]
    planes = [pack_bits(part) for part in bits]
    packed = pack_bits(stems < 0), pack_bits(stems != 0)
    found = Stems(padded(factors), with_squares=with_squares)
    # What was held before, more or fewer columns, leaves nothing behind.
    found.hold(*(plane[::-1].repeat(2, axis=0)[:before] for plane in packed))
    found.hold(*packed)
    numbers = stems[:, None] * factors
    if with_squares:
        numbers = np.concatenate([numbers, stems[:, None] ** 2], axis=1)
    assert_array_equal(found.sums, numbers.sum(axis=2))
    expected = [numbers @ part.T for part in bits]
    one = found.multiply(lay_out(planes[0]))
    assert_array_equal(one[:, :, :n_columns], expected[0])
    assert not one[:, :, n_columns:].any()
    # Two planes stand beside each other, 32 columns of each.
    both = found.multiply(lay_out(*planes)).reshape(*numbers.shape[:2], -1, 2, 32)
    for k in range(2):
        own = both[:, :, :, k].reshape(*numbers.shape[:2], -1)
        assert_array_equal(own[:, :, :n_columns], expected[k])
        assert not own[:, :, n_columns:].any()


@needs_look_up
@pytest.mark.parametrize("factor", [3, -3])
def test_the_largest_sums_have_room(factor):
    n_samples = 64 * 350
    bits = pack_bits(np.ones((64, n_samples), dtype=bool))
    factors = padded(np.full((2, n_samples), factor))
    found = Stems(factors)
    found.hold(np.zeros_like(bits[:1]), bits[:1])
    assert (found.multiply(lay_out(bits)) == factor * n_samples).all()


@needs_look_up
@pytest.mark.parametrize("n_samples", SIZES)
@pytest.mark.parametrize("kind", ["signs", "counts"])
def test_tables_and_counted_bits_give_the_same_pairs(monkeypatch, kind, n_samples):
    rng = np.random.default_rng(n_samples)
    residuals = rng.standard_normal((3, n_samples))
    residuals[1, ::3] = 0.0
    roads = []
    for road in (True, False):
        for module in (_design, _plane_design):
            monkeypatch.setattr(module, "can_look_up", lambda road=road: road)
        roads.append(best_pairs(table(kind, n_samples), residuals, 2000))
    for looked_up, counted in zip(*roads, strict=True):
        assert_array_equal(looked_up.pairs, counted.pairs)
        assert_array_equal(looked_up.scores, counted.scores)
        assert looked_up.floor == counted.floor


@needs_look_up
@pytest.mark.parametrize("n_samples", [3, 70, 700, 5000])
def test_scores_that_are_wanted_are_computed(n_samples):
    rng = np.random.default_rng(n_samples)
    frequency = rng.choice([0.5, 0.9, 1.0], 200)
    design = PackedDesign(np.where(rng.random((n_samples, 200)) < frequency, 1.0, -1.0))
    residuals = rng.standard_normal((2, n_samples))
    residuals[1] += 2.0
    compared = design.compare(residuals)
    score_pairs = design.scorer(compared)(range(16))

    def score(wanted):
        scores = np.empty((2, 16, 256), dtype=np.float32)
        score_pairs(range(200), np.array(wanted, dtype=np.float32), scores)
        return scores[:, :, :200]

    every = score([0.0, 0.0])
    levels = np.quantile(every, [0.5, 0.9, 0.999, 1.0], axis=(1, 2)).astype(np.float32)
    for wanted in levels:
        some = score(wanted)
        is_wanted = every >= wanted[:, None, None]
        assert_array_equal(some[is_wanted], every[is_wanted])
        assert np.isin(some[some != every], 0.0).all()
    # Where few are wanted, most are not computed. Of three samples most products are
    # constant, or nearly.
    assert n_samples == 3 or (some != every).mean() > 0.3


@pytest.mark.parametrize("kind", ["signs", "counts"])
@pytest.mark.parametrize(("n_samples", "n_words"), [(200, 4), (64, 1), (65, 2)])
def test_words_without_samples_are_not_looked_up(kind, n_samples, n_words):
    design = table(kind, n_samples)
    compared = design.compare(np.ones((2, n_samples)))
    assert compared.factors.shape == (3, 64 * n_words)
    assert design._codes.shape[1] == 8 * n_words


def table(kind, n_samples):
    """Seventy columns of two or three values, of which some are often the same."""
    rng = np.random.default_rng([1, n_samples])
    counts = rng.binomial(2, rng.uniform(0.05, 0.5, 70), (n_samples, 70)) - 1
    if kind == "signs":
        return PackedDesign(np.where(counts < 0, -1.0, 1.0))
    sign, nonzero = (pack_bits(part.T) for part in (counts < 0, counts != 0))
    centers = rng.uniform(-1, 1, 70)
    return PlaneDesign(Planes(n_samples, sign, nonzero, centers))


@pytest.mark.parametrize(
    ("features", "disabled", "expected"),
    [
        ("+avx,+avx2,+fma", False, True),
        ("+avx,-avx2,+fma", False, False),
        ("", False, False),
        ("+avx2", True, False),
    ],
)
def test_tables_are_for_machines_with_the_instruction(
    monkeypatch, features, disabled, expected
):
    codegen = SimpleNamespace(magic_tuple=lambda: ("x86_64", "some", features))
    context = SimpleNamespace(codegen=lambda: codegen)
    target = SimpleNamespace(target_context=context)
    monkeypatch.setattr("numba.core.registry.cpu_target", target)
    monkeypatch.setattr(_numba.numba.config, "DISABLE_JIT", disabled)
    assert _numba.can_look_up.__wrapped__() == expected
