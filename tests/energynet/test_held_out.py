"""Widths by the likelihood of samples that did not train."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from skmohn import EnergyNetTransformer
from skmohn._core._copies import number_copies
from skmohn.energynet import exact_log_partition
from skmohn.energynet._growth_held_out import (
    BELOW_REASON,
    HELD_OUT_REASON,
    SAMPLES_REASON,
    HeldOutOptions,
    Parts,
    _likely_width,
    grow_by_held_out,
    hold_out,
)
from skmohn.energynet._missing import MissingMask
from skmohn.energynet._training import Schedule

HELD_OUT = "skmohn.energynet._growth_held_out"


def net(**parameters):
    options = {"max_layers": 1, "n_temperatures": 1000}
    return EnergyNetTransformer(**options | {"random_state": 0} | parameters)


@pytest.fixture(scope="module")
def digits():
    return (load_digits().data[:200] >= 8).astype(float)


@pytest.fixture(scope="module")
def found(digits):
    return net(n_final_epochs=15, density="layers").fit(digits)


def widths_tried(fitted):
    """Held-out log-likelihood by the width of the layer, in the order of the trials."""
    key = "held_out_log_likelihood"
    return {record["units"]: record[key] for record in fitted.history_ if key in record}


def test_width_is_about_the_best_of_those_tried(found):
    assert found.width_reasons_[0] in (HELD_OUT_REASON, SAMPLES_REASON)
    tried = widths_tried(found)
    # Up from few units, to as many as samples that train at most; then fewer still.
    widths = list(tried)
    top = np.argmax(widths)
    assert widths[: top + 1] == [min(8 * 2**k, 160) for k in range(top + 1)]
    assert widths[top + 1 :] == sorted(widths[top + 1 :], reverse=True) != []
    best = max(tried, key=tried.get)
    assert best / 2 <= found.n_components_per_layer_[0] <= 2 * best


@pytest.mark.slow
def test_width_is_better_for_other_samples_than_the_shortest_description():
    X = (load_digits().data >= 8).astype(float)
    train, test = np.unique(X[::3], axis=0), X[1::3]
    found = net().fit(train)
    shortest = net(growth="description_length").fit(train)
    assert found.score(test) > shortest.score(test) + 0.5
    # Of either, one fit may be a tenth of a nat better or worse than another.
    again = net(random_state=1).fit(train)
    wide = [net(n_components=200, random_state=k).fit(train) for k in range(2)]
    nats = [np.mean([n.score(test) for n in nets]) for nets in ((found, again), wide)]
    assert nats[0] > nats[1] - 0.3
    assert found.width_reasons_ == [HELD_OUT_REASON]
    tried = widths_tried(found)
    # Up from few units, to as many as distinct samples at most; fewer still last, of
    # which the first is clearly worse.
    *widths, most, fewest = tried
    assert widths == [2**k for k in range(3, len(tried) + 1)]
    assert most == min(2 * widths[-1], len(train) - len(train) // 5)
    assert fewest == 4
    best = max(tried, key=tried.get)
    assert best / 2 <= found.n_components_per_layer_[0] <= 2 * best


def test_layer_is_one_of_the_width_that_was_found(found, digits):
    width = found.n_components_per_layer_[0]
    given = net(growth=None, n_components=width, n_final_epochs=15).fit(digits)
    assert_array_equal(found.weights_[0], given.weights_[0])


@pytest.mark.slow
def test_widths_of_two_seeds_are_alike(found, digits):
    width = found.n_components_per_layer_[0]
    again = net(n_final_epochs=15, random_state=1).fit(digits)
    assert 0.6 < again.n_components_per_layer_[0] / width < 1.6


@pytest.mark.parametrize("final_clock", [0.0, 20.0])
def test_likelihoods_are_exact_for_few_units(final_clock):
    X = (load_digits().data[:200, 2:22] >= 8).astype(np.float32)
    records, rbms = [], []

    def report(record, make_rbm):
        if "held_out_log_likelihood" in record:
            records.append(record)
            rbms.append(make_rbm())

    schedule, options = (
        Schedule(),
        HeldOutOptions(clock=20.0, final_clock=final_clock, max_units=6),
    )
    grown = grow_by_held_out(X, schedule, options, 0, report)
    parts = Parts.draw(X, schedule, 0)
    assert [record["units"] for record in records] == [6, 4, 2]
    for record, rbm in zip(records, rbms, strict=True):
        log_z = exact_log_partition(rbm).value
        expected = -rbm.free_energy(parts.data).mean() - log_z
        assert_allclose(record["held_out_log_likelihood"], expected, rtol=1e-5)
    if final_clock == 0.0:
        assert any(grown.run.rbm is rbm for rbm in rbms)


def test_without_a_final_training_the_rbm_of_the_nearest_width_stays(monkeypatch):
    """Of 6, 4 and 2 units, by their ratio to 3."""
    monkeypatch.setattr(f"{HELD_OUT}._likely_width", lambda lengths: 3)
    X = (load_digits().data[:50, 2:22] >= 8).astype(np.float32)
    options = HeldOutOptions(clock=1.0, final_clock=0.0, max_units=6)
    grown = grow_by_held_out(X, Schedule(), options, 0, lambda *_: None)
    assert grown.run.rbm.n_hidden == 4


def test_layer_is_no_wider_than_the_one_below():
    X = (load_digits().data[:200, 2:22] >= 8).astype(np.float32)
    options, tried = HeldOutOptions(final_clock=10.0, below=3), []

    def report(record, make_rbm):
        if "held_out_log_likelihood" in record:
            tried.append(record["units"])

    grown = grow_by_held_out(X, Schedule(), options, 0, report)
    assert tried == [3, 2, 1]
    assert grown.reason == BELOW_REASON
    assert grown.limit is None
    assert grown.run.rbm.n_hidden <= 3


@pytest.mark.parametrize(("gain", "widest"), [(0.2, 64), (0.26, 320)])
def test_wide_layers_must_gain_with_each_doubling(monkeypatch, gain, widest):
    X = np.random.default_rng(0).integers(2, size=(400, 20)).astype(np.float32)
    tried = []

    def take(search, width):
        tried.append(width)
        nats = 100.0 if width < 8 else -gain * np.log2(width)
        search.lengths[width] = np.full(80, nats)
        search.errors[width] = 0.0

    monkeypatch.setattr(f"{HELD_OUT}.WidthSearch.take", take)
    grown = grow_by_held_out(
        X, Schedule(), HeldOutOptions(final_clock=1.0), 0, lambda *_: None
    )
    widths = [width for width in (8, 16, 32, 64, 128, 256, 320) if width <= widest]
    assert tried == [*widths, 4]
    assert grown.reason == (SAMPLES_REASON if widest == 320 else HELD_OUT_REASON)


@pytest.mark.parametrize(("most", "limit"), [(63, "max_units"), (64, None)])
def test_narrow_layers_rise_by_standard_errors_and_wide_ones_by_nats(
    monkeypatch, most, limit
):
    """A fifth of a nat for each doubling is sure, but not worth a layer of 64 units."""

    def take(search, width):
        search.lengths[width] = np.full(80, -0.2 * np.log2(width))
        search.errors[width] = 0.0

    monkeypatch.setattr(f"{HELD_OUT}.WidthSearch.take", take)
    X = np.random.default_rng(0).integers(2, size=(400, 20)).astype(np.float32)
    options = HeldOutOptions(final_clock=1.0, max_units=most)
    grown = grow_by_held_out(X, Schedule(), options, 0, lambda *_: None)
    assert grown.limit == limit
    assert (grown.reason == HELD_OUT_REASON) == (limit is None)


def test_one_width_of_bad_luck_does_not_end_growth(monkeypatch):
    X = np.random.default_rng(0).integers(2, size=(400, 20)).astype(np.float32)
    known = {8: -17.0, 16: -18.0, 32: -18.7, 64: -18.7, 128: -18.9, 256: -18.9}
    known |= {4: -10.0}
    tried = []

    def take(search, width):
        tried.append(width)
        search.lengths[width] = np.full(80, known[width])
        search.errors[width] = 0.0

    monkeypatch.setattr(f"{HELD_OUT}.WidthSearch.take", take)
    grow_by_held_out(X, Schedule(), HeldOutOptions(final_clock=1.0), 0, lambda *_: None)
    # 64 units are no better than 32, but clearly than 8; 256 little than 32.
    assert tried == [8, 16, 32, 64, 128, 256, 4]


def lengths(mean, noise=0.0):
    """Nats of 400 samples whose differences to 0 have the standard deviation noise."""
    return mean + noise * np.tile([1.0, -1.0], 200)


def test_width_is_the_mean_of_those_that_are_about_the_best():
    assert _likely_width({4: lengths(0.0), 16: lengths(0.0)}) == 8
    # Where it is clear, the best one.
    assert _likely_width({4: lengths(50.0), 64: lengths(0.0)}) == 64
    assert _likely_width({4: lengths(0.0), 64: lengths(50.0)}) == 4


@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_distance_counts_in_nats_and_standard_errors(noise):
    worse, n_doublings = 0.3, 40
    unit = 0.05 + 0.5 * noise / 20.0
    # Each is twice itself and the other, of the latter no more than 3 units.
    far = worse / unit
    far = np.array([0.25 * min(far, 3.0), 0.75 * far])
    weight = 1.0 / (1.0 + np.exp(far[1] - far[0]))
    found = _likely_width({1: lengths(0.0), 2**n_doublings: lengths(worse, noise)})
    assert found == round(2 ** (n_doublings * weight))


def test_chance_of_one_width_is_shared_with_its_neighbors():
    tried = dict(
        zip((4, 8, 16, 32, 64), map(lengths, (0.3, 0.1, 0.15, 0.1, 0.3)), strict=True)
    )
    even = _likely_width(tried)
    assert even == 16
    # A width that had luck draws its neighbors, one without is held by them.
    lucky = _likely_width(tried | {32: lengths(0.0)})
    assert even < lucky < 32
    # What is much worse counts no more than what is worse.
    for offset in (1.0, 9.0):
        steep = {2: lengths(offset), 4: lengths(0.0), 8: lengths(0.1), 16: lengths(0.2)}
        assert _likely_width(steep) == 5


def test_the_likelihood_of_a_layer_is_by_a_narrow_rbm_too(monkeypatch):
    given = []

    def settled(rbm, X, *, reference_rbm=None, **options):
        given.append(reference_rbm and reference_rbm.n_hidden)
        return exact_log_partition(rbm)

    monkeypatch.setattr("skmohn.energynet._stack.converged_log_partition", settled)
    X = (load_digits().data[:100, 2:22] >= 8).astype(float)
    net(n_final_epochs=5, max_units=16).fit(X)
    # Of independent columns, and of the layer.
    assert given == [None, 8]


def test_fewer_units_are_tried_while_they_are_about_as_good():
    X = np.random.default_rng(0).integers(0, 2, (400, 20)).astype(float)
    found = net(n_final_epochs=20, max_units=16, density="layers").fit(X)
    tried = [r["units"] for r in found.history_ if "held_out_log_likelihood" in r]
    assert tried == [8, 16, 4, 2, 1]


@pytest.mark.parametrize(
    ("spread", "small", "n_asked"), [(0.1, 0.5, 1), (0.1, 0.0, 3), (3.0, 0.5, 3)]
)
def test_rbms_whose_partition_function_is_unknown_are_not_flattered(
    monkeypatch, replace_constants, spread, small, n_asked
):
    X = (load_digits().data[:200, 2:22] >= 8).astype(np.float32)
    weights = spread * np.linspace(-1.0, 1.0, 50) + 17.0
    weights = [weights, weights - 20.0]
    asked = []

    def annealed(rbm, X, *, reference_rbm, n_temperatures, random_state):
        assert reference_rbm.n_hidden == 8
        asked.append(n_temperatures)
        return weights

    monkeypatch.setattr(f"{HELD_OUT}.annealed_weights", annealed)
    monkeypatch.setattr(f"{HELD_OUT}.is_enumerable", lambda rbm: rbm.n_hidden <= 8)
    replace_constants(HELD_OUT, min_effective_size=40.0)
    replace_constants(HELD_OUT, n_errors_worse=np.inf)
    replace_constants(HELD_OUT, max_annealing_error=small)
    records, rbms = {}, {}

    def report(record, make_rbm):
        if "held_out_log_likelihood" in record:
            records[record["units"]] = record["held_out_log_likelihood"]
            rbms[record["units"]] = make_rbm()

    grow_by_held_out(
        X, Schedule(), HeldOutOptions(final_clock=10.0, max_units=16), 0, report
    )
    log_z = 17.0 + weights[0].var() / 2.0
    if spread < 1.0:
        log_z = logsumexp(weights[0]) - np.log(50)
    data = Parts.draw(X, Schedule(), 0).data
    expected = -rbms[16].free_energy(data).mean() - log_z
    assert records[16] == pytest.approx(expected, rel=1e-5)
    assert len(asked) == n_asked


def test_so_many_columns_that_no_rbm_is_listed(monkeypatch):
    X = (load_digits().data[:100, 2:22] >= 8).astype(np.float32)
    monkeypatch.setattr(f"{HELD_OUT}.is_enumerable", lambda rbm: False)
    options = HeldOutOptions(final_clock=2.0, max_units=16)
    grown = grow_by_held_out(X, Schedule(), options, 0, lambda *_: None)
    assert grown.reference_rbm.n_hidden == 8
    assert 1 <= grown.run.rbm.n_hidden <= 16


def test_limits_of_steps_are_told_of():
    X = (load_digits().data[:100, 18:42] >= 8).astype(float)
    with pytest.warns(ConvergenceWarning, match=r"max_steps=500: raise max_steps$"):
        found = net(max_steps=500, n_final_epochs=40, density="layers").fit(X)
    tried = [r for r in found.history_ if "held_out_log_likelihood" in r]
    assert tried
    assert tried[-1]["steps"] <= 500


@pytest.mark.parametrize(
    ("max_work", "widths"), [(0, [8]), (10 * 28 - 1, [8]), (10 * 28, [8, 16])]
)
def test_growth_ends_where_wider_layers_would_take_too_long(
    replace_constants, max_work, widths
):
    X = np.random.default_rng(0).integers(2, size=(400, 20)).astype(np.float32)
    # Ten steps with 100 samples of 20 bits, which are drawn as well.
    replace_constants(HELD_OUT, max_work=max_work * 2000.0)
    replace_constants(HELD_OUT, n_multiplications_per_draw=2)
    tried = []
    grown = grow_by_held_out(
        X, Schedule(batch_size=100), HeldOutOptions(final_clock=1.0), 0,
        lambda record, _: tried.append(record["units"]),
    )  # fmt: skip
    assert list(dict.fromkeys(tried[:-1])) == widths
    assert grown.limit == grown.reason == "max_work"


def test_the_warning_of_long_growth_names_the_cure(replace_constants):
    replace_constants(HELD_OUT, max_work=0.0)
    X = (load_digits().data[:60] >= 8).astype(float)
    with pytest.warns(
        ConvergenceWarning, match="layer 0 .* minutes: for a wider one, set n"
    ):
        net(n_final_epochs=1, density="layers").fit(X)


def test_copies_do_not_ask_for_more_units_than_there_are_samples():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.integers(0, 2, (9, 30)), 20, axis=0).astype(float)
    found = net(n_final_epochs=20, density="layers").fit(X)
    tried = [r["units"] for r in found.history_ if "held_out_log_likelihood" in r]
    assert max(tried) == 9
    assert found.width_reasons_ == [SAMPLES_REASON]
    assert found.n_components_per_layer_[0] <= 9


def test_copies_of_measured_rows_change_no_density():
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(2, 4))
    train, test = (
        rng.normal(size=(n, 2)) @ loadings + 0.5 * rng.normal(size=(n, 4))
        for n in (60, 300)
    )
    once, copied = (
        net(n_final_epochs=20).fit(np.repeat(train, n, axis=0)).score(test)
        for n in (1, 5)
    )
    assert copied > once - 0.5


def test_copies_are_held_out_together():
    copies = np.random.default_rng(0).permutation(np.repeat(np.arange(40), 5))
    held, kept = hold_out(200, copies, has_missing=False)
    assert len(held) == 40
    assert_array_equal(np.sort(np.append(held, kept)), np.arange(200))
    assert not set(copies[held]) & set(copies[kept])


@pytest.mark.parametrize("kind", ["measured", "mixed", "bits", "ages", "pairs", "same"])
def test_rows_that_are_equal_by_chance_are_no_copies(kind):
    rng = np.random.default_rng(0)
    bits, ages = rng.integers(0, 2, (300, 3)), rng.integers(20, 80, (300, 1))
    table = {
        "measured": np.repeat(rng.normal(size=(60, 3)), 5, axis=0),
        "mixed": np.repeat(np.c_[rng.normal(size=60), bits[:60]], 5, axis=0),
        "bits": bits,
        "ages": ages,
        "pairs": np.c_[ages, bits],
        # Two columns of eight values, of which one follows from the other.
        "same": (bits[:100] @ [[1], [2], [4]]) * [1, 2],
    }[kind].astype(float)
    copies = number_copies(table, np.array([8, 8, 2, 2])[: table.shape[1]])
    if kind in ("measured", "mixed"):
        assert_array_equal(copies[::5], copies[4::5])
        assert len(np.unique(copies)) == 60
    else:
        assert copies is None


def test_structure_that_is_not_there_is_not_learned():
    rng = np.random.default_rng(0)
    train, test = rng.integers(0, 2, (2, 500, 8)).astype(float)
    assert net().fit(train).score(test) > -8 * np.log(2) - 0.15


@pytest.mark.parametrize("resample", [False, True])
def test_samples_that_decide_do_not_train(resample):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (50, 20)).astype(np.float32)
    rows = {tuple(row) for row in X}
    assert len(rows) == 50
    unknown = rng.random((10, 20)) < 0.3
    index = np.where(np.arange(50) < 10, np.arange(50), -1)
    schedule = Schedule(resample=resample, missing=MissingMask(index, unknown))
    parts = Parts.draw(X, schedule, 3)
    assert (len(parts.X), len(parts.data)) == (40, 10)
    apart = {tuple(row) for row in parts.X}, {tuple(row) for row in parts.data}
    assert apart[0] | apart[1] == rows
    assert not apart[0] & apart[1]
    # Missing values go with their samples.
    for part, missing in (
        (parts.X, parts.schedule.missing),
        (parts.data, parts.missing),
    ):
        indices = missing.index if missing else np.full(len(part), -1)
        for row, k in zip(part, indices, strict=True):
            assert k == index[np.flatnonzero((row == X).all(axis=1))[0]]


def test_probabilities_are_drawn_as_bits_where_they_decide():
    X = np.full((5000, 4), 0.25, np.float32)
    parts = Parts.draw(X, Schedule(resample=True), 0)
    assert parts.data.shape == (1000, 4)
    assert set(parts.data.ravel()) == {0.0, 1.0}
    assert abs(parts.data.mean() - 0.25) < 0.03
    assert_array_equal(parts.X, X[:4000])


def test_of_very_many_samples_some_find_the_width():
    parts = Parts.draw(np.zeros((40_000, 1), np.float32), Schedule(), 0)
    assert (len(parts.X), len(parts.data)) == (20_000, 2000)


@pytest.mark.parametrize("n_samples", [2, 3, 7])
def test_few_samples(n_samples):
    X = np.random.default_rng(0).integers(0, 2, (n_samples, 4)).astype(float)
    X[0], X[1] = 0.0, 1.0
    assert np.isfinite(net().fit(X).transform(X)).all()


@pytest.mark.slow
def test_missing_values_and_categories_and_limits():
    rng = np.random.default_rng(0)
    common = rng.integers(0, 3, 300)
    X = np.column_stack([common, common, rng.normal(common)]).astype(float)
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    options = {"categorical_features": [0, 1], "n_final_epochs": 100}
    model, again = net(**options).fit(X), net(**options).fit(X[::-1])
    assert_array_equal(model.weights_[0], again.weights_[0])
    independent = net(
        categorical_features=[0, 1], n_components=1, n_final_epochs=0
    ).fit(X)
    assert model.score(X) > independent.score(X) + 0.5
    digits = (load_digits().data[:300] >= 8).astype(float)
    message = r"still growing at max_units=8: raise max_units$"
    with pytest.warns(ConvergenceWarning, match=message):
        net(max_units=8, n_final_epochs=20).fit(digits)
