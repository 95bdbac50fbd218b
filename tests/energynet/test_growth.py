"""How wide and how deep: the worth of a unit, widths on known data, stacks."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

import skmohn.energynet._stack
from skmohn.energynet import (
    RBM,
    _growth,
    description_length,
    exact_log_partition,
    log_partition,
)
from skmohn.energynet._groups import Groups, list_states
from skmohn.energynet._growth import (
    GIVEN_REASON,
    PAYING_REASON,
    DescriptionLengthGrowth,
    DescriptionLengthOptions,
    _entropy,
    _without_worst,
    given_width,
    grow_by_description_length,
    unit_values,
)
from skmohn.energynet._infinite_rbm import (
    GAMMA_REASON,
    InfiniteGrowthOptions,
    grow_infinite_rbm,
)
from skmohn.energynet._likelihood import unit_price
from skmohn.energynet._stack import (
    ALL_LAYERS,
    DEEP_ENOUGH,
    StackOptions,
    _Judge,
    grow_stack,
)
from skmohn.energynet._stack_trainer import are_bits
from skmohn.energynet._training import Schedule, new_rbm, trained

FAST = Schedule(learning_rate=0.2, batch_size=64)
WIDTH_ONLY = DescriptionLengthOptions(final_clock=1.0)


def with_records(grow, *args):
    """Records that a growth reports, and what it returns."""
    records = []
    grown = grow(*args, lambda record, make_rbm: records.append(record))
    return records, grown


def no_report(record, make_rbm):
    """A report that keeps nothing."""


def width(X, schedule=FAST, options=WIDTH_ONLY, seed=0):
    _, grown = with_records(grow_by_description_length, X, schedule, options, seed)
    return grown.run.rbm.n_hidden


def clusters(k, n_samples=1300, n_columns=64, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.random((k, n_columns)) < 0.5
    noise = rng.random((n_samples, n_columns)) < 0.05
    return (centers[rng.integers(k, size=n_samples)] ^ noise).astype(np.float32)


@pytest.fixture(scope="module")
def digits():
    return (load_digits().data > 7).astype(np.float32)


@pytest.fixture(scope="module")
def growth(digits):
    """What a growth reports and returns; the final training comes after its width."""
    return with_records(
        grow_by_description_length,
        digits,
        FAST,
        replace(WIDTH_ONLY, final_clock=5.0),
        0,
    )


# ------------------------------------------------------------------ worth of a unit


def test_value_of_a_unit_is_what_is_lost_without_it(list_states):
    exact = list_states(6, 4, seed=1)
    rbm, p = exact.rbm, exact.joint.sum(axis=1)
    rng = np.random.default_rng(0)
    data = exact.V[rng.choice(64, 300)].astype(np.float32)
    # As many of each state as the RBM asks for, with the fractions rounded.
    model = np.repeat(exact.V, np.round(p * 200_000).astype(int), axis=0)
    values, activity = unit_values(rbm, data, model.astype(np.float32))

    def log_likelihood(rbm):
        return -rbm.free_energy(data).mean() - exact_log_partition(rbm).value

    assert_allclose(activity, rbm.hidden_probabilities(data).mean(axis=0), rtol=1e-5)
    for i in range(4):
        kept = np.arange(4) != i
        folded = rbm.visible_bias + activity[i] * rbm.weights[i]
        without = RBM(rbm.weights[kept], rbm.hidden_bias[kept], folded)
        lost = log_likelihood(rbm) - log_likelihood(without)
        assert values[i] == pytest.approx(lost, abs=1e-3)


@pytest.mark.parametrize(("n_paying", "kept"), [(4, [0, 1, 2, 4]), (0, [0, 1, 2, 4])])
def test_the_worst_units_are_folded_into_the_visible_biases(digits, n_paying, kept):
    run = FAST.begin(digits, new_rbm(digits, 5, 0), 1, 0)
    values = np.array([0.5, 0.2, 0.3, 0.1, 0.4])
    activity = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    worthwhile = values > np.sort(values)[4 - n_paying] if n_paying else values > 1
    fewer = _without_worst(run, values, activity, worthwhile, drop_fraction=0.2).rbm
    assert_array_equal(fewer.weights, run.rbm.weights[kept])
    folded = run.rbm.visible_bias + 0.6 * run.rbm.weights[3]
    assert_allclose(fewer.visible_bias, folded, rtol=1e-6)


# --------------------------------------------------------------------------- widths


@pytest.mark.slow
def test_width_on_digits_depends_little_on_how_one_trains(digits):
    widths = [
        width(digits, Schedule(learning_rate=rate, batch_size=size))
        for rate, size in ((0.1, 64), (0.2, 16), (0.3, 256))
    ]
    assert np.abs(np.array(widths) / np.mean(widths) - 1).max() <= 0.25
    assert 13 <= np.mean(widths) <= 24


@pytest.mark.slow
def test_growth_ends_by_dropping_since_that_describes_the_data_in_fewer_nats(digits):
    def described(seed, fraction):
        options = replace(WIDTH_ONLY, final_clock=100.0, worthwhile_fraction=fraction)
        _, grown = with_records(grow_by_description_length, digits, FAST, options, seed)
        rbm = grown.run.rbm
        z = log_partition(rbm, digits, n_temperatures=200, random_state=0)
        return description_length([rbm], digits, z).total / len(digits)

    early, late = (
        np.mean([described(seed, fraction) for seed in range(2)])
        for fraction in (0.8, 0.5)
    )
    assert late < early


@pytest.mark.slow
def test_width_on_digits_depends_little_on_the_seed(digits, growth):
    widths = [growth[1].run.rbm.n_hidden, width(digits, seed=1), width(digits, seed=2)]
    assert np.std(widths) / np.mean(widths) < 0.15


def test_independent_bits_need_one_unit():
    rng = np.random.default_rng(0)
    X = (rng.random((1300, 64)) < rng.random(64)).astype(np.float32)
    assert width(X) == 1


@pytest.mark.parametrize(
    "sizes", [(2, 8), pytest.param((2, 8, 32), marks=pytest.mark.slow)]
)
def test_width_rises_with_the_number_of_clusters(sizes):
    widths = [width(clusters(k)) for k in sizes]
    assert (np.diff(widths) > 0).all()
    assert widths[0] <= 8


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))]
)
def test_two_clusters_need_fewer_units_than_growth_begins_with(seed):
    assert width(clusters(2, seed=seed), seed=seed) <= 4


def test_growth_begins_with_the_units_that_describe_the_data_shortest(digits):
    def initialized_mlp(X, options=WIDTH_ONLY, seed=0):
        tried, decided = {}, []

        def report(record, make_rbm):
            if record["stage"] == "start":
                tried[record["units"]] = make_rbm()
            elif "price" in record:
                decided.append(record["units"])
                raise InterruptedError

        with pytest.raises(InterruptedError):
            grow_by_description_length(X, FAST, options, seed, report)
        lengths = [described(rbm, X, options.start_fraction) for rbm in tried.values()]
        assert decided == [list(tried)[np.argmin(lengths)]]
        return list(tried), *decided

    assert initialized_mlp(clusters(2)) == ([1, 2, 4, 8], 2)
    assert initialized_mlp(digits) == ([1, 2, 4, 8], 8)
    assert initialized_mlp(digits, replace(WIDTH_ONLY, max_units=3)) == ([1, 3], 3)
    # No steps are left for others.
    assert initialized_mlp(digits, replace(WIDTH_ONLY, max_steps=700)) == ([1], 1)


@pytest.mark.slow
@pytest.mark.parametrize(("n_samples", "between"), [(300, 8), (1797, 25)])
def test_cheaper_units_make_wider_layers(digits, n_samples, between):
    cheap, dear = (
        width(digits[:n_samples], options=replace(WIDTH_ONLY, unit_cost=k))
        for k in (0.3, 3)
    )
    assert cheap > between > dear


def test_growth_by_nats_says_what_it_does(growth):
    records, grown = growth
    assert (grown.reason, grown.limit) == (PAYING_REASON, None)
    assert 10 <= grown.run.rbm.n_hidden <= 28
    decisions = [r for r in records if "price" in r]
    assert decisions[0]["units"] == 8
    assert decisions[1]["units"] == 16
    assert decisions[-1]["paying"] == decisions[-1]["units"]
    # Fewer are tried, as long as that shortens the description.
    dropped = [r["units"] for r in records if r["stage"] == "drop"]
    assert dropped == sorted(dropped, reverse=True)
    assert dropped[-1] < grown.run.rbm.n_hidden <= decisions[-1]["units"]
    stages = [r["stage"] for r in records]
    assert stages == sorted(stages, key=["start", "grow", "drop", "final"].index)
    steps, clock = ([r[name] for r in records] for name in ("steps", "clock"))
    assert steps == sorted(steps)
    n_start = stages.count("start")
    # Each start counts from zero.
    assert max(clock[:n_start]) == pytest.approx(60, rel=0.01)
    assert np.sum(np.diff(clock[:n_start]) < 0) == 3
    # What was tried in vain does not count: a third of the clock for each drop.
    tried = dict.fromkeys(units for units in dropped if units < grown.run.rbm.n_hidden)
    n_drop = len(dict.fromkeys(dropped)) - len(tried)
    n_grow = sum(r["stage"] == "grow" for r in decisions)
    expected = 60 * n_grow + 20 * n_drop + 5
    assert clock[-1] == pytest.approx(expected, rel=0.01)
    assert 1 <= len(tried) <= 2


def test_growth_by_nats_can_be_repeated(digits):
    X, dear = digits[:200], replace(WIDTH_ONLY, unit_cost=3)
    _, grown = with_records(grow_by_description_length, X, FAST, dear, 3)
    _, again = with_records(grow_by_description_length, X, FAST, dear, 3)
    assert_array_equal(grown.run.rbm.weights, again.run.rbm.weights)


@pytest.mark.parametrize(("n_samples", "n_left_out"), [(16, 1), (400, 0)])
def test_starts_that_are_left_out_would_not_have_been_the_best(
    n_samples, n_left_out, monkeypatch
):
    X = clusters(4, n_samples, n_columns=6)

    def initialized_mlp():
        records, ladder = with_records(DescriptionLengthGrowth, X, FAST, WIDTH_ONLY, 0)
        run = ladder.start(unit_price(X))
        return len(dict.fromkeys(r["units"] for r in records)), run.rbm.weights

    n_trained, weights = initialized_mlp()
    monkeypatch.setattr("skmohn.energynet._growth._entropy", lambda bits: -np.inf)
    n_all, best = initialized_mlp()
    assert (n_all, n_all - n_trained) == (4, n_left_out)
    assert_array_equal(weights, best)


def test_entropy_of_rows_is_that_of_their_numbers():
    X = np.random.default_rng(0).integers(0, 2, (50, 3)).astype(np.float32)
    fraction = np.bincount(X.astype(int) @ [1, 2, 4]) / 50
    assert _entropy(X) == pytest.approx(-np.sum(fraction * np.log(fraction)))


@pytest.mark.parametrize(
    ("options", "limit"),
    [({"max_units": 10}, "max_units"), ({"max_steps": 700}, "max_steps")],
)
def test_growth_by_nats_ends_at_its_limits(options, limit):
    limited = replace(WIDTH_ONLY, **options)
    records, grown = with_records(
        grow_by_description_length, clusters(32), FAST, limited, 0
    )
    assert (grown.limit, grown.reason) == (limit, limit)
    assert grown.run.rbm.n_hidden <= 10
    growing = [r["steps"] for r in records if r["stage"] != "final"]
    assert max(growing) <= options.get("max_steps", np.inf)


def test_growth_by_gamma_converts_and_trains_on():
    X = clusters(4, n_samples=400, n_columns=12)
    options = InfiniteGrowthOptions(learning_rate=0.1, threshold=0.2)
    raw_records, raw = with_records(grow_infinite_rbm, X, Schedule(), options, 0)
    options = replace(options, n_final_epochs=30)
    records, polished = with_records(grow_infinite_rbm, X, Schedule(), options, 0)
    assert (raw.reason, raw.limit) == (GAMMA_REASON, None)
    assert raw_records[-1]["gamma"] <= 0.2
    assert raw_records[-1]["units"] == raw.run.rbm.n_hidden
    assert polished.run.rbm.n_hidden == raw.run.rbm.n_hidden
    assert sum(r["epochs"] for r in records if r["stage"] == "final") == 30
    found = [
        -rbm.free_energy(X).mean() - exact_log_partition(rbm).value
        for rbm in (raw.run.rbm, polished.run.rbm)
    ]
    assert found[1] > found[0] + 1.0


def test_growth_by_gamma_ends_at_its_limits():
    options = InfiniteGrowthOptions(learning_rate=0.1, max_units=5, n_final_epochs=1)
    _, grown = with_records(grow_infinite_rbm, clusters(4), Schedule(), options, 0)
    assert (grown.reason, grown.limit) == ("max_units", "max_units")
    assert grown.run.rbm.n_hidden == 5


def test_given_width_trains_for_the_epochs_asked(digits):
    start = new_rbm(digits, 7, 0)
    records, grown = with_records(given_width, digits, FAST, start, 3, 0)
    assert [r["stage"] for r in records] == ["train"] * 3
    assert grown.reason == GIVEN_REASON
    assert grown.run.rbm.weights.shape == (7, 64)
    assert grown.run.is_over


# --------------------------------------------------------------------------- stacks


def by_nats(inputs, seed, report, groups=None, missing=None):
    schedule = replace(FAST, resample=not are_bits(inputs))
    return grow_by_description_length(
        inputs, schedule, replace(WIDTH_ONLY, final_clock=20.0), seed, report
    )


@pytest.mark.slow
def test_stack_keeps_the_layers_that_shorten_the_description():
    X = clusters(8)[:600]
    records, stack = with_records(grow_stack, X, by_nats, StackOptions(), 0)
    totals = [r["description_length"] for r in records if r["stage"] == "layer"]
    kept = [layer.description.total for layer in stack.layers]
    assert stack.reason == DEEP_ENOUGH
    assert kept == totals[: len(kept)]
    assert len(totals) == len(kept) + 1
    assert totals[-1] >= kept[-1]
    assert kept == sorted(kept, reverse=True)
    assert kept[0] < stack.without.total
    rbms = [layer.rbm for layer in stack.layers]
    again = description_length(
        rbms, X, stack.layers[-1].log_partition, n_draws=300, random_state=0
    )
    assert again.total == pytest.approx(kept[-1], rel=1e-3)


@pytest.mark.slow
def test_a_layer_that_is_clearly_not_worth_it_is_found_out_by_few_samples(
    digits, monkeypatch
):
    X, seen = digits[:600], []
    full = skmohn.energynet._stack.known_log_likelihoods

    def watched(rbms, bits, *args, **kwargs):
        seen.append((len(rbms), len(bits)))
        return full(rbms, bits, *args, **kwargs)

    monkeypatch.setattr("skmohn.energynet._stack.known_log_likelihoods", watched)
    ends = []

    def report(record, make_rbms):
        if record["stage"] == "layer":
            ends.append((record, make_rbms()))

    grow_stack(X, by_nats, StackOptions(), 0, report)
    assert seen == [(1, 600), (1, 600), (2, 200)]
    (first, _), (second, rbms) = ends
    z = log_partition(rbms[-1], rbms[0].hidden_probabilities(X), random_state=0)
    found = description_length(rbms, X, z, random_state=0)
    assert found.total > first["description_length"]
    assert second["complexity"] == pytest.approx(found.complexity)
    assert second["log_likelihood"] == pytest.approx(
        found.log_likelihood / len(X), abs=0.2
    )


def test_a_layer_that_may_be_worth_it_is_measured_in_full():
    X = clusters(4)[:500]
    judge = _Judge(X, StackOptions(unit_cost=0.0), 0)
    lower = new_rbm(X, 10, 0)
    best = judge.measure([lower], X)
    # As it leaves the model as it is, it is neither better nor worse.
    rbms = [lower, lower.transposed()]
    inputs = lower.hidden_probabilities(X)
    assert judge.look(rbms, inputs, best) is None
    found = judge.measure(rbms, inputs).description.total
    assert found == pytest.approx(best.description.total, rel=1e-3)
    dear = _Judge(X, StackOptions(unit_cost=1.0), 0)
    assert dear.look(rbms, inputs, dear.measure([lower], X)) is not None


def test_a_first_layer_that_is_not_worth_it_stays_and_is_told_of():
    rng = np.random.default_rng(0)
    X = (rng.random((500, 20)) < 0.5).astype(np.float32)
    _, stack = with_records(grow_stack, X, by_nats, StackOptions(), 0)
    assert stack.reason == DEEP_ENOUGH
    assert len(stack.layers) == 1
    assert stack.layers[0].description.total >= stack.without.total


def test_layers_see_the_probabilities_of_those_below():
    X = clusters(4)[:300]
    seen = []

    def layer(inputs, seed, report, groups=None, missing=None):
        seen.append((inputs, seed))
        schedule, width = replace(FAST, resample=not are_bits(inputs)), 7 - len(seen)
        start = new_rbm(inputs, width, 0)
        return given_width(inputs, schedule, start, 2, seed, report)

    # Layers of no price and ever better likelihood: all that are asked for stay.
    options = StackOptions(max_layers=3, unit_cost=0.0, n_temperatures=100)
    gains = {0: -30.0, 6: -20.0, 5: -10.0, 4: 0.0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "skmohn.energynet._stack.known_log_likelihoods",
            lambda rbms, bits, *args, **kwargs: np.full(
                len(bits), gains[rbms[-1].n_hidden]
            ),
        )
        records, stack = with_records(grow_stack, X, layer, options, 5)
    shapes = [layer.rbm.weights.shape for layer in stack.layers]
    assert shapes == [(6, 64), (5, 6), (4, 5)]
    assert stack.reason == ALL_LAYERS
    assert [seed for _, seed in seen] == [5, 6, 7]
    assert seen[0][0] is X
    inputs = X
    for (given, _), below in zip(seen[1:], stack.layers, strict=False):
        inputs = below.rbm.hidden_probabilities(inputs)
        assert_array_equal(given, inputs)
    assert [r["layer"] for r in records] == sorted(r["layer"] for r in records)


def test_stack_by_the_rademacher_bound():
    X = clusters(4, n_columns=12)[:300]

    def layer(inputs, seed, report, groups=None, missing=None):
        resample = not are_bits(inputs)
        schedule = Schedule(resample=resample)
        options = InfiniteGrowthOptions(
            learning_rate=0.1, max_units=6, n_final_epochs=30
        )
        return grow_infinite_rbm(inputs, schedule, options, seed, report)

    options = StackOptions(max_layers=2, complexity="rademacher")
    _, stack = with_records(grow_stack, X, layer, options, 0)
    assert stack.layers[0].description.total < stack.without.total
    assert stack.layers[0].grown.limit == "max_units"
    bound = stack.layers[0].description.complexity
    assert (
        bound
        == description_length(
            [stack.layers[0].rbm], X, 0.0, complexity="rademacher"
        ).complexity
    )


# ------------------------------------------------------- the shortest description


def described(rbm, X, unit_cost=1.0):
    z = log_partition(rbm, X, n_temperatures=1000, random_state=0)
    return description_length([rbm], X, z, unit_cost=unit_cost).total


def described_shortly(X, seed):
    """RBM that grew by description length in batches of 50."""
    schedule, options = Schedule(batch_size=50), DescriptionLengthOptions()
    _, grown = with_records(grow_by_description_length, X, schedule, options, seed)
    return grown.run.rbm


@pytest.mark.slow_cases(r"1-16-1\.03")
@pytest.mark.parametrize(
    ("n_seeds", "most", "longest"),
    [(1, 16, 1.03), pytest.param(8, 12, 1.015, marks=pytest.mark.slow)],
)
def test_copies_of_columns_need_a_unit_each(n_seeds, most, longest):
    X = np.random.default_rng(0).integers(2, size=(400, 6)).astype(np.float32)
    X = np.hstack([X, X])
    widths, lengths = [], []
    # One draw moves by a few units with the order in which a processor adds.
    for seed in range(n_seeds):
        rbm = described_shortly(X, seed)
        # As good as nothing is left to say: six bits for each sample, and the units.
        ideal = 400 * 6 * np.log(2) + description_length([rbm], X, 0.0).complexity
        widths.append(rbm.n_hidden)
        lengths.append(described(rbm, X) / ideal)
    # All take one for each bit, and half of them at most another one.
    assert min(widths) >= 6
    assert np.median(widths) <= most
    assert np.median(lengths) < longest


@pytest.mark.parametrize(
    ("k", "n_seeds", "n_more"),
    [
        (2, 1, 2),
        pytest.param(2, 5, 0, marks=pytest.mark.slow),
        pytest.param(4, 5, 0, marks=pytest.mark.slow),
    ],
)
def test_clusters_are_described_nearly_as_shortly_as_by_what_made_them(
    k, n_seeds, n_more
):
    X = clusters(k)
    noise = -64 * (0.05 * np.log(0.05) + 0.95 * np.log(0.95))
    made_by = len(X) * (noise + np.log(k))
    units_more = []
    for seed in range(n_seeds):
        rbm = described_shortly(X, seed)
        price = description_length([rbm], X, 0.0).complexity / rbm.n_hidden
        units_more.append((described(rbm, X) - made_by) / price)
    # One growth may stop with a unit or two too many.
    assert np.median(units_more) < k + 2 + n_more


def test_modes_that_chains_do_not_leave_get_their_probabilities():
    rng = np.random.default_rng(0)
    first = rng.random(600) < 0.3
    X = (first[:, None] ^ (rng.random((600, 40)) < 0.02)).astype(np.float32)
    schedule = Schedule(batch_size=50)
    run = schedule.begin(X, new_rbm(X, 2, 0), 2000, 0)
    while not run.is_over:
        schedule.advance(run, X)
    states = list_states(Groups.bits(2), 0, 4)
    p = np.exp(run.rbm.log_hidden_marginal(states))
    on = run.rbm.visible_probabilities(states).mean(axis=1) > 0.5
    assert p[on].sum() / p.sum() == pytest.approx(first.mean(), abs=0.03)


def test_new_units_do_not_start_as_others_did(digits, monkeypatch):
    seeds = []

    def watched(X, n_hidden, seed, groups=None):
        seeds.append(seed)
        return new_rbm(X, n_hidden, seed, groups)

    monkeypatch.setattr("skmohn.energynet._growth.new_rbm", watched)
    options = replace(WIDTH_ONLY, max_steps=3300)
    with_records(grow_by_description_length, digits, FAST, options, 0)
    # Four starts, then units beside those there are.
    assert len(seeds) == 5
    assert seeds[4] not in seeds[:4]


def test_units_are_dropped_after_a_third_of_the_clock():
    records, _ = with_records(
        grow_by_description_length, clusters(4), FAST, WIDTH_ONLY, 0
    )
    steps = [r["steps"] for r in records if r["stage"] == "drop" and "price" not in r]
    widths = [r["units"] for r in records if r["stage"] == "drop" and "price" not in r]
    first = [steps[widths.index(units)] for units in dict.fromkeys(widths)]
    assert len(first) > 1
    # 20 by rates of 0.1 on average, counted from the first epochs of two stages.
    assert_array_equal(np.diff(first), 200)


# ---------------------------------------------------------------------- the ladder


def make_ladder(n_columns=6, report=no_report, **options):
    X = (np.random.default_rng(0).random((50, n_columns)) < 0.5).astype(np.float32)
    schedule = Schedule(learning_rate=0.2, batch_size=25)
    return DescriptionLengthGrowth(
        X, schedule, DescriptionLengthOptions(**options), 0, report
    )


def test_a_stage_needs_its_steps():
    ladder = make_ladder(max_steps=1000)
    for n_steps, is_spent in ((900, False), (901, True)):
        ladder.n_steps = n_steps
        assert ladder.is_spent(10.0) == is_spent


def test_steps_are_counted_and_limited_but_for_the_final_training():
    records = []
    ladder = make_ladder(report=lambda r, make_rbm: records.append(r), max_steps=150)
    run = ladder.schedule.begin(ladder.X, new_rbm(ladder.X, 2, 0), 0, 0)
    for stage, n_steps, total in (("grow", 100, 100), ("drop", 50, 150)):
        run = ladder.train(run, stage, 10.0)
        assert (run.step, ladder.n_steps) == (n_steps, total)
        assert records[-1]["steps"] == total
    run = ladder.train(run, "final", 10.0)
    assert run.step == 100
    assert records[-1]["steps"] == 250


@pytest.mark.parametrize(("n_hidden", "is_exact"), [(4, True), (19, True), (20, False)])
def test_rbms_are_compared_by_the_nats_they_need(n_hidden, is_exact):
    ladder = make_ladder()
    rng = np.random.default_rng(0)
    parts = [0.3 * rng.standard_normal(shape) for shape in ((n_hidden, 6), n_hidden, 6)]
    rbm = RBM(*parts)
    log_z = exact_log_partition(rbm).value
    expected = rbm.free_energy(ladder.data).mean() + log_z + 0.25 * n_hidden
    found = ladder.description_length(rbm, 0.25)
    assert found == pytest.approx(expected, abs=0.05)
    assert (found == pytest.approx(expected, abs=1e-5)) == is_exact
    assert ladder.is_likelier(rbm, replace(rbm, visible_bias=9.0 + rbm.visible_bias))
    assert not ladder.is_likelier(rbm, rbm)


def test_data_are_drawn_where_they_are_probabilities():
    X = np.full((4000, 2), 0.25, np.float32)
    drawn = DescriptionLengthGrowth(
        X, Schedule(resample=True), DescriptionLengthOptions(), 0, no_report
    ).data
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert_allclose(drawn.mean(axis=0), 0.25, atol=0.03)
    assert (
        DescriptionLengthGrowth(
            X, Schedule(), DescriptionLengthOptions(), 0, no_report
        ).data
        is X
    )


def test_of_many_samples_some_value_the_units(digits, monkeypatch, replace_constants):
    rbm = trained(FAST, digits, new_rbm(digits, 12, 0), 1500, 0).rbm
    replace_constants(_growth, max_samples_valued=600)
    some = DescriptionLengthGrowth(digits, FAST, WIDTH_ONLY, 0, no_report)
    assert some.X is digits
    rows = {row.tobytes() for row in digits}
    assert len(some.data) == 600
    assert all(row.tobytes() in rows for row in some.data)
    bits = DescriptionLengthGrowth(
        digits / 4, Schedule(resample=True), WIDTH_ONLY, 0, no_report
    ).data
    assert bits.shape == (600, digits.shape[1])
    assert set(bits.ravel()) == {0.0, 1.0}
    # The chance of the samples of the model weighs more.
    monkeypatch.undo()
    found = some.value(rbm)[0]
    every = [
        DescriptionLengthGrowth(digits, FAST, WIDTH_ONLY, k, no_report).value(rbm)[0]
        for k in range(5)
    ]
    error = np.std(every, axis=0).mean()
    assert np.abs(found - np.mean(every, axis=0)).mean() < 3 * error


def lengths_by_width(ladder, lengths, monkeypatch):
    """Have RBMs described in nats that follow from their widths; return widths."""
    tried = []

    def train(run, stage, clock):
        tried.append(run.rbm.n_hidden)
        ladder.n_steps += 100
        return run

    def length(rbm, price):
        return lengths[rbm.n_hidden] + price * rbm.n_hidden

    monkeypatch.setattr(ladder, "train", train)
    monkeypatch.setattr(ladder, "description_length", length)
    return tried


@pytest.mark.parametrize(
    ("lengths", "options", "tried", "best"),
    [
        # Half of the price counts: 9 + 0.5, 8 + 1, 7.9 + 2, 2.5 + 4.
        ({1: 9.0, 2: 8.0, 4: 7.9, 8: 2.5}, {}, [1, 2, 4, 8], 8),
        ({1: 9.0, 2: 8.0, 4: 7.9, 8: 6.0}, {}, [1, 2, 4, 8], 2),
        ({1: 9.0, 2: 8.0, 4: 7.9}, {"max_units": 4}, [1, 2, 4], 2),
        # The entropy of 50 rows is 3.9 nats at most; with eight units that is too much.
        ({1: 9.0, 2: 6.0, 4: 7.0}, {}, [1, 2, 4], 2),
        ({1: 9.0, 2: 8.0}, {"max_steps": 209}, [1, 2], 2),
        ({1: 9.0}, {"max_steps": 1}, [1], 1),
    ],
)
def test_growth_begins_with_the_shortest_of_few(
    monkeypatch, lengths, options, tried, best
):
    ladder = make_ladder(clock=1.0, **options)
    found = lengths_by_width(ladder, lengths, monkeypatch)
    run = ladder.start(1.0)
    assert run.rbm.n_hidden == best
    assert found == tried


@pytest.mark.parametrize(
    ("lengths", "max_steps", "tried", "best"),
    [
        # Two misses end it, and one that is made up for does not.
        ({5: 9.0, 4: 7.0, 3: 7.5, 2: 8.0, 1: 0.0}, 9999, [4, 3, 2], 4),
        ({5: 9.0, 4: 9.5, 3: 6.0, 2: 8.0, 1: 8.0}, 9999, [4, 3, 2, 1], 3),
        ({5: 9.0, 4: 9.25, 3: 9.75}, 9999, [4, 3], 5),
        ({5: 9.0, 4: 7.0, 3: 5.0}, 202, [4, 3], 3),
    ],
)
def test_units_are_dropped_while_the_description_gets_shorter(
    monkeypatch, lengths, max_steps, tried, best
):
    ladder = make_ladder(clock=1.0, max_steps=max_steps)
    found = lengths_by_width(ladder, lengths, monkeypatch)
    run = ladder.schedule.begin(ladder.X, new_rbm(ladder.X, 5, 0), 0, 0)
    run = ladder.descend(run, 0.25)
    assert run.rbm.n_hidden == best
    assert found == tried


class Rungs(DescriptionLengthGrowth):
    """A ladder on which as many units pay as is said; it trains nothing."""

    def start(self, price):
        """Two units."""
        return self.schedule.begin(self.X, new_rbm(self.X, 2, 0), 0, 0)

    def train(self, run, stage, clock):
        """Say so."""
        self.log.append((stage, run.rbm.n_hidden, clock))
        self.n_steps += 100
        return run

    def value(self, rbm):
        """The first units are worth a hundred nats."""
        values = np.where(np.arange(rbm.n_hidden) < self.n_paying, 100.0, 0.0)
        return values, np.full(rbm.n_hidden, 0.5)

    def is_likelier(self, rbm, other):
        """Up to a width."""
        return rbm.n_hidden <= self.widest

    def descend(self, run, price):
        """No further."""
        return run


@pytest.mark.parametrize(
    ("n_paying", "widest", "options", "widths", "limit"),
    [
        # Three of eight are less than two fifths; one unit in ten is dropped at once.
        (3, 99, {}, "grow 4, grow 8, drop 7, drop 6, drop 5, drop 4, drop 3", None),
        (99, 99, {"max_units": 5}, "grow 4, grow 5", "max_units"),
        (99, 4, {}, "grow 4, grow 8", None),
        (99, 99, {"max_steps": 1}, "", "max_steps"),
        (99, 99, {"max_steps": 120}, "grow 4, grow 8", "max_steps"),
        # Steps for a stage of growth are not left, those for dropping are.
        (1, 99, {"max_steps": 5}, "drop 1", "max_steps"),
        (3, 99, {"max_steps": 304}, "grow 4, grow 8, drop 7, drop 6", "max_steps"),
        (0, 99, {}, "drop 1", None),
    ],
)
@pytest.mark.parametrize("final_clock", [0.0, 2.0])
def test_growth_doubles_while_units_pay_and_drops_those_that_do_not(
    monkeypatch, n_paying, widest, options, widths, limit, final_clock
):
    log = []
    for name, value in (("n_paying", n_paying), ("widest", widest), ("log", log)):
        monkeypatch.setattr(Rungs, name, value, raising=False)
    monkeypatch.setattr("skmohn.energynet._growth.DescriptionLengthGrowth", Rungs)
    X = (np.random.default_rng(0).random((50, 6)) < 0.5).astype(np.float32)
    schedule = Schedule(learning_rate=0.2, batch_size=25)
    options = DescriptionLengthOptions(clock=0.9, final_clock=final_clock, **options)
    records, grown = with_records(grow_by_description_length, X, schedule, options, 0)
    found = ", ".join(f"{stage} {width}" for stage, width, _ in log if stage != "final")
    assert found == widths
    clocks = {"grow": 0.9, "drop": pytest.approx(0.3), "final": final_clock}
    assert all(clock == clocks[stage] for stage, _, clock in log)
    assert [stage for stage, *_ in log].count("final") == bool(final_clock)
    assert grown.limit == limit
    assert grown.reason == (limit or PAYING_REASON)
    width = grown.run.rbm.n_hidden
    assert records[-1]["paying"] == min(width, n_paying)
