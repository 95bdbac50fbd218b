"""The search on codes, for losses that have nothing to do with networks."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.testing import assert_array_equal

from skmohn.blm import _search_kernels as kernels
from skmohn.blm._search import (
    InitOptions,
    MoveOptions,
    Search,
    ask,
    draw_codes,
    explored_fraction,
    resume,
    start_search,
    tell,
)


# What is for other kernels can not be called from Python.
@njit
def neighbor(code, bit, movable, n_bits, binary):
    return kernels._neighbor(code, bit, movable, n_bits, binary)


@njit
def expected_tries(n_good, n_moves):
    return kernels._expected_tries(n_good, n_moves)


N_BITS = 5
LOW, HIGH = -16, 15


# ------------------------------------------------------------------ Gray neighbors


def gray_flip(code, bit, n_bits):
    """Flip a bit of the reflected Gray code of a number in two's complement."""
    natural = code % 2**n_bits
    gray = [(natural >> k & 1) ^ (natural >> (k + 1) & 1) for k in range(n_bits)]
    gray[bit] ^= 1
    found, above = 0, 0
    for k in reversed(range(n_bits)):
        above ^= gray[k]
        found += above << k
    return found - 2**n_bits if found >= 2 ** (n_bits - 1) else found


def neighbors(code, n_bits=N_BITS):
    return [gray_flip(code, bit, n_bits) for bit in range(n_bits)]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("n_bits", range(2, 9))
def test_neighbors_are_the_flips_of_gray_bits(n_bits, binary):
    for code in range(-(2 ** (n_bits - 1)), 2 ** (n_bits - 1)):
        for bit in range(n_bits):
            found = neighbor(code, bit, n_bits, n_bits, binary)
            assert found == gray_flip(code, bit, n_bits)


@pytest.mark.parametrize("n_bits", range(2, 8))
def test_freezing_gray_bits_changes_nothing_but_the_choice(n_bits):
    for code in range(-(2 ** (n_bits - 1)), 2 ** (n_bits - 1)):
        for movable in range(1, n_bits + 1):
            for bit in range(n_bits - movable, n_bits):
                found = neighbor(code, bit, movable, n_bits, False)
                assert found == gray_flip(code, bit, n_bits)


@pytest.mark.parametrize("n_bits", range(2, 8))
def test_freezing_binary_bits_keeps_the_low_ones(n_bits):
    for code in range(-(2 ** (n_bits - 1)), 2 ** (n_bits - 1)):
        for movable in range(1, n_bits + 1):
            unit = 2 ** (n_bits - movable)
            for bit in range(n_bits - movable, n_bits):
                found = neighbor(code, bit, movable, n_bits, True)
                assert found % unit == code % unit
                # The high bits do what a code of so few bits does.
                top = gray_flip(code // unit, bit - n_bits + movable, movable)
                assert found // unit == top


# ---------------------------------------------------------------------- expectation


@pytest.mark.parametrize("n_moves", range(1, 9))
def test_expected_tries_are_those_of_all_draws(n_moves):
    for n_good in range(1, n_moves + 1):
        subsets = itertools.combinations(range(n_moves), n_good)
        firsts = [min(subset) for subset in subsets]
        expected = sum(firsts) / len(firsts)
        assert expected_tries(n_good, n_moves) == pytest.approx(expected)


# ------------------------------------------------------------------------- searches

SEARCHES = {
    "adaptive": {},
    "gray-first": {"search": "gray"},
    "gray-best": {"search": "gray", "neighborhood": "best"},
    "local-minimum": {"search": "gray", "telescopic": "local_minimum"},
    "threshold": {"search": "gray", "telescopic": "threshold", "eta": 0.5, "phi": 0.3},
    "gray-freeze": {"search": "gray", "telescopic": "threshold", "freeze": "gray"},
    "best-telescopic": {
        "search": "gray",
        "neighborhood": "best",
        "telescopic": "local_minimum",
    },
    "adaptive-local-minimum": {"telescopic": "local_minimum"},
    "adaptive-threshold": {"telescopic": "threshold", "start_bits": 1},
    "sparse": {"sparse": True},
    "sparse-gray": {"search": "gray", "sparse": True},
    "sparse-telescopic": {"sparse": True, "telescopic": "local_minimum"},
}


class Landscape:
    """A loss of codes with a target for each, and what may happen to them."""

    def __init__(self, seed, n_codes=4, rugged=False):
        rng = np.random.default_rng(seed)
        self.target = rng.uniform(LOW, HIGH, n_codes)
        self.scale = rng.uniform(0.5, 2.0, n_codes)
        self.ripple = 15.0 if rugged else 0.0
        self.phase = rng.uniform(0, 6, n_codes)
        self.start = rng.integers(LOW, HIGH + 1, n_codes)

    def __call__(self, codes):
        differences = np.asarray(codes) - self.target
        waves = self.ripple * np.sin(2.1 * np.asarray(codes) + self.phase)
        return float(1 + (self.scale * differences**2 + waves).sum()) + 20 * self.ripple

    def around(self, codes, which=None):
        """Losses of all Gray neighbors."""
        found = {}
        for j in range(len(codes)) if which is None else which:
            for code in neighbors(codes[j]):
                changed = np.array(codes)
                changed[j] = code
                found[j, code] = self(changed)
        return found


def begin(loss, start=None, seed=0, first_step=4, **control):
    moves = MoveOptions(n_bits=N_BITS, **control)
    codes = loss.start if start is None else np.array(start)
    return start_search(codes, loss(codes), moves, seed, first_step)


def moves(search, loss, most=20_000):
    """Drive a search to its end; yield what it asks, and whether it is done."""
    for _ in range(most):
        j, code = ask(search)
        if j < 0:
            return
        changed = search.codes.copy()
        changed[j] = code
        moved_loss = loss(changed)
        yield j, code, moved_loss, tell(search, moved_loss)
    raise AssertionError("the search does not end")


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("rugged", [False, True])
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_every_search_ends_in_a_local_minimum_of_all_flips(name, rugged, seed):
    loss = Landscape(seed, rugged=rugged)
    search = begin(loss, seed=seed, **SEARCHES[name])
    for _ in moves(search, loss):
        pass
    assert search.state[0].bits == N_BITS
    assert search.state[0].loss == loss(search.codes)
    assert min(loss.around(search.codes).values()) >= search.state[0].loss * (1 - 1e-6)
    # And it says so again.
    assert ask(search)[0] == -1


@pytest.mark.parametrize(
    "copy_of", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_a_copy_goes_on_by_itself(copy_of):
    loss = Landscape(1)
    search = begin(loss)
    for _ in itertools.islice(moves(search, loss), 20):
        pass
    before, other = search.codes.copy(), copy_of(search)
    rest = list(moves(other, loss))
    assert rest
    assert not np.array_equal(other.codes, before)
    assert_array_equal(search.codes, before)
    assert list(moves(search, loss)) == rest
    assert_array_equal(other.codes, search.codes)


def test_arrays_of_another_process_may_be_read_only():
    loss = Landscape(1)
    search = begin(loss)
    _, arrays = search.__reduce__()
    for array in arrays:
        array.flags.writeable = False
    other = Search(*arrays)
    assert list(moves(other, loss))
    assert_array_equal(search.codes, loss.start)


@pytest.mark.parametrize("name", SEARCHES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_moves_are_made_just_when_they_improve(name, seed):
    loss = Landscape(seed, rugged=True)
    search = begin(loss, seed=seed, **SEARCHES[name])
    codes, now, n_made, n_tried = search.codes.copy(), search.state[0].loss, 0, 0
    for j, code, moved_loss, made in moves(search, loss):
        n_tried += 1
        assert LOW <= code <= HIGH
        assert code != codes[j]
        if made:
            assert moved_loss < now
            n_made += 1
            codes[j], now = code, moved_loss
        elif SEARCHES[name].get("neighborhood") != "best":
            assert moved_loss >= now * (1 - 1e-6)
        assert_array_equal(search.codes, codes)
        assert search.state[0].loss == now
    assert (search.state[0].tried, search.state[0].accepted) == (n_tried, n_made)


@pytest.mark.parametrize("now", [5.0, -5.0, 1e-12])
def test_gains_of_the_size_of_rounding_errors_are_none(now):
    search = begin(lambda codes: now, [3, -4], search="gray")
    for loss in (now, now - 1e-8 * abs(now), math.nan, math.inf):
        ask(search)
        assert not tell(search, loss)
    ask(search)
    assert tell(search, now - 1e-5 * abs(now))


def test_adaptive_search_shortens_its_steps_before_it_proves_a_minimum():
    search = begin(lambda codes: 1.0, [0] * 6, first_step=8)
    steps = set()
    while not search.state[0].proving:
        j, code = ask(search)
        if j >= 0 and not search.state[0].proving:
            steps.add(int(code))
        tell(search, 1e3)
    assert {8, -8, 4, -4, 2, -2, 1, -1} <= steps


def test_losses_below_zero_can_fall():
    loss = Landscape(1)

    def shifted(codes):
        return loss(codes) - 1e4

    search = start_search(
        loss.start, shifted(loss.start), MoveOptions(n_bits=N_BITS), 0, 4
    )
    for _ in moves(search, shifted):
        pass
    assert_array_equal(search.codes, np.rint(loss.target))


@pytest.mark.parametrize("seed", range(5))
def test_adaptive_search_finds_the_minimum_of_a_bowl(seed):
    loss = Landscape(seed)
    search = begin(loss, seed=seed)
    for _ in moves(search, loss):
        pass
    assert_array_equal(search.codes, np.rint(loss.target))


@pytest.mark.parametrize("seed", range(5))
def test_best_neighbor_is_the_steepest(seed):
    loss = Landscape(seed, rugged=True)
    search = begin(loss, seed=seed, search="gray", neighborhood="best")
    around, n_asked = loss.around(search.codes), 0
    for j, code, moved_loss, made in moves(search, loss):
        n_asked += 1
        if made:
            assert moved_loss == min(around.values())
            assert around[j, code] == moved_loss
            # All neighbors were looked at, and the best once more.
            assert n_asked == len(search.codes) * N_BITS + 1
            around, n_asked = loss.around(search.codes), 0
    assert search.state[0].accepted > 0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["gray-first", "gray-best", "sparse-gray"])
def test_each_neighbor_is_tried_once(name, seed):
    start = [0, 3, 0, -5]
    search = begin(lambda codes: 1.0, start, seed=seed, **SEARCHES[name])
    asked = [(j, code) for j, code, *_ in moves(search, lambda codes: 1.0)]
    assert sorted(asked) == sorted(Landscape(3).around(start))


@pytest.mark.parametrize(
    ("start", "way", "path"),
    [(-9, 1, [-8, -6, -2, 6, 15]), (8, -1, [7, 5, 1, -7, -16])],
)
def test_steps_that_succeed_are_doubled_and_keep_their_way(start, way, path):
    def loss(codes):
        return -float(way * codes[0])

    for seed in range(20):
        search = begin(loss, [start], seed=seed, first_step=1)
        ask(search)
        # One visit in ten tries a Gray bit instead.
        if search.state[0].kind == kernels.FORTH:
            break
    made = (code for _, code, _, made in moves(search, loss) if made)
    assert list(itertools.islice(made, 5)) == path


def splitmix(seed):
    """Numbers of 32 bits: the published generator, with integers of Python."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) % 2**64
        z = seed
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        yield (z ^ z >> 31) >> 32


@pytest.mark.parametrize("seed", range(40))
def test_visits_are_drawn_by_splitmix(seed):
    assert next(splitmix(1234567)) == 6457827717110365317 >> 32
    numbers = splitmix(seed)
    search = begin(lambda codes: 1.0, [3] * 7, seed=seed, search="adaptive")
    weight, code = ask(search)
    assert weight == next(numbers) * 7 >> 32
    if next(numbers) * 10 >> 32:
        assert (search.state[0].kind, code) == (kernels.FORTH, 7)
    else:
        assert search.state[0].kind == kernels.RANDOM
        assert code == gray_flip(3, N_BITS - 1 - (next(numbers) * N_BITS >> 32), N_BITS)


@pytest.mark.parametrize("name", SEARCHES)
def test_same_seed_same_path(name):
    loss = Landscape(4, rugged=True)
    paths = [
        list(moves(begin(loss, seed=seed, **SEARCHES[name]), loss))
        for seed in (5, 5, 6)
    ]
    assert paths[0] == paths[1]
    assert paths[0] != paths[2]


# --------------------------------------------------------------------------- starts


def draw(init, bound=0.0, step=1.0, start_bits=2):
    moves = MoveOptions(n_bits=N_BITS, start_bits=start_bits)
    rng, start = np.random.default_rng(0), InitOptions(bound, init)
    return draw_codes(rng, moves, start, np.full(2000, step))


def test_uniform_codes_are_all_codes_alike():
    values, counts = np.unique(draw("uniform"), return_counts=True)
    assert_array_equal(values, range(LOW, HIGH + 1))
    assert counts.min() > 0.5 * counts.mean()


@pytest.mark.parametrize(
    ("bound", "step", "expected"),
    [
        (2.0, 0.5, range(-4, 5)),
        (0.1, 0.5, [-1, 0, 1]),  # finer than the grid
        (9.0, 0.5, range(LOW, HIGH + 1)),
    ],
)
def test_bounded_codes_are_those_of_small_values(bound, step, expected):
    assert sorted(set(draw("bounded", bound, step))) == [*expected]


@pytest.mark.parametrize(
    ("start_bits", "expected"),
    [(2, [-16, -8, 0, 8]), (3, [-12, -8, -4, 0, 4, 8, 12]), (9, range(-12, 13))],
)
def test_low_bits_that_do_not_move_are_zero(start_bits, expected):
    codes = draw("zero_low_bits", 12.4, start_bits=start_bits)
    assert sorted(set(codes)) == [*expected]


@pytest.mark.parametrize(
    ("first_step", "start_bits", "step"), [(1, 3, 4), (13, 3, 8), (99, 5, 8), (1, 9, 1)]
)
def test_steps_begin_as_powers_of_two_that_can_move(first_step, start_bits, step):
    control = {"telescopic": "local_minimum", "start_bits": start_bits}
    search = begin(Landscape(0), first_step=first_step, **control)
    assert_array_equal(search.steps, step)


def test_codes_that_are_changed_at_a_minimum_have_a_new_step():
    search = begin(Landscape(0), [1, 2, 3, 4])
    search.steps[:] = 2
    resume(search, np.array([1, 5, 3, 7]), 3.0, first_step=6)
    assert_array_equal(search.steps, [2, 4, 2, 4])
    assert_array_equal(search.codes, [1, 5, 3, 7])
    assert search.state[0].loss == 3.0
    resume(search, np.array([1, 2, 3, 7]), 3.0)
    assert_array_equal(search.steps, [2, 1, 2, 4])


# ------------------------------------------------------------------------- parabola


# Of this loss a gain of 0.2 does not count yet, and sums with eighths are exact.
NOW = 2.0**20


def asked_after(forth, back, code=0, step=8, **control):
    """What a search asks after steps of 8 that cost so much; None: of other weights."""
    for seed in range(50):
        search = begin(
            lambda codes: NOW, [code] * 9, seed=seed, first_step=8, **control
        )
        search.steps[:] = step
        weight, there = ask(search)
        # One visit in ten tries a Gray bit instead.
        if search.state[0].kind != kernels.FORTH:
            continue
        assert there == min(code + step, HIGH)
        tell(search, NOW + forth)
        assert ask(search) == (weight, code - step)
        tell(search, NOW + back)
        after, asked = ask(search)
        return asked if after == weight else None
    raise AssertionError("no step was asked for")


@pytest.mark.parametrize("costs", [(1, 3), (3, 1), (0.5, 30), (80, 20), (0, 8)])
def test_the_lowest_point_of_the_parabola_is_tried(costs):
    forth, back = costs
    fit = np.polynomial.Polynomial.fit([-8, 0, 8], [back, 0, forth], 2)
    (vertex,) = fit.deriv().roots()
    assert asked_after(forth, back) == round(vertex) != 0
    assert asked_after(forth, back, step=-8) == -round(vertex)
    # With two bits that do not move yet, the nearest multiple of four.
    frozen = {"telescopic": "local_minimum", "start_bits": N_BITS - 2}
    nearest = 4 * round(round(vertex, 9) / 4)
    assert asked_after(forth, back, **frozen) == (nearest or None)


@pytest.mark.parametrize(
    "costs",
    [
        # The lowest point is here.
        (10, 10),
        # Open downwards, and level.
        (-0.125, -0.0625),
        (-0.125, 0.125),
        # The lowest point is the end of the step, and beyond it.
        (-0.125, 0.375),
        (-0.125, 0.1875),
        # Unknown.
        (np.inf, 1),
        (1, np.inf),
        (np.inf, np.inf),
        (np.nan, 1),
    ],
)
def test_a_parabola_without_a_lowest_point_between_is_not_tried(costs):
    for step in (8, -8):
        assert asked_after(*costs, step=step) is None
        assert asked_after(*costs[::-1], step=step) is None
    frozen = {"telescopic": "local_minimum", "start_bits": N_BITS - 2}
    assert asked_after(*costs, **frozen) is None


def test_a_step_that_the_range_has_cut_makes_no_parabola():
    assert asked_after(1, 30, code=HIGH - 7) is None
    assert asked_after(1, 30, code=HIGH - 8) is not None


# ------------------------------------------------------------------------ telescope


@pytest.mark.parametrize("search", ["adaptive", "gray"])
@pytest.mark.parametrize("telescopic", ["local_minimum", "threshold"])
@pytest.mark.parametrize("start_bits", [1, 2, 4, 5])
def test_telescopic_search_widens_one_bit_at_a_time(search, telescopic, start_bits):
    loss = Landscape(7, rugged=True)
    running = begin(
        loss, search=search, telescopic=telescopic, start_bits=start_bits, seed=1
    )
    assert running.state[0].bits == start_bits
    seen, codes = [start_bits], running.codes.copy()
    while True:
        j, code = ask(running)
        if running.state[0].bits != seen[-1]:
            seen.append(int(running.state[0].bits))
        if j < 0:
            break
        # Low binary bits stay as they are.
        assert (code - codes[j]) % 2 ** (N_BITS - seen[-1]) == 0
        changed = codes.copy()
        changed[j] = code
        if tell(running, loss(changed)):
            codes = changed
        if running.state[0].bits != seen[-1]:
            seen.append(int(running.state[0].bits))
    assert seen == list(range(start_bits, N_BITS + 1))


def test_telescope_widens_at_minima_of_the_movable_bits():
    loss = Landscape(8, rugged=True)
    search = begin(
        loss, search="gray", telescopic="local_minimum", start_bits=2, freeze="gray"
    )
    bits = 2
    while bits < N_BITS:
        codes = search.codes.copy()
        j, code = ask(search)
        if search.state[0].bits > bits:
            around = [
                loss([*codes[:k], gray_flip(codes[k], bit, N_BITS), *codes[k + 1 :]])
                for k in range(len(codes))
                for bit in range(N_BITS - bits, N_BITS)
            ]
            assert min(around) >= loss(codes) * (1 - 1e-6)
            bits += 1
        assert code in [
            gray_flip(codes[j], bit, N_BITS) for bit in range(N_BITS - bits, N_BITS)
        ]
        changed = codes.copy()
        changed[j] = code
        tell(search, loss(changed))


def test_threshold_widens_when_success_is_rarer_than_phi():
    loss = Landscape(9, n_codes=10)
    control = {"search": "gray", "telescopic": "threshold", "start_bits": 2}
    early = begin(loss, phi=0.9, eta=0.0, **control)
    late = begin(loss, phi=0.0, eta=0.0, **control)
    n_moves = {}
    for name, search in (("early", early), ("late", late)):
        for _ in moves(search, loss):
            if search.state[0].bits > 2:
                break
        n_moves[name] = int(search.state[0].tried)
    # phi=0 never widens before a local minimum; phi=0.9 at the first failure or so.
    assert n_moves["early"] < n_moves["late"]
    minimum = begin(loss, search="gray", telescopic="local_minimum", start_bits=2)
    for _ in moves(minimum, loss):
        if minimum.state[0].bits > 2:
            break
    assert n_moves["late"] == minimum.state[0].tried


@pytest.mark.parametrize("phi", [0.25, 0.3])
def test_threshold_uses_a_moving_average_of_failures_per_success(phi):
    loss = Landscape(10)
    search = begin(
        loss, search="gray", telescopic="threshold", start_bits=4, phi=phi, eta=0.8
    )
    average = failures = 0.0
    for *_, made in moves(search, loss):
        if search.state[0].bits > 4:
            assert made
            average = 0.8 * average + 0.2 * failures
            # Of 16 moves 4 are a fourth; five are more than three tenths.
            assert average >= (16 - 4) / 5
            break
        if made:
            average = 0.8 * average + 0.2 * failures
            assert search.state[0].mean_tried == pytest.approx(average)
            assert explored_fraction(search) == pytest.approx(average / 16)
            assert average < (16 - 4) / 5
            failures = 0
        else:
            failures += 1
    assert search.state[0].accepted > 0


def test_search_without_telescope_begins_with_all_bits():
    assert begin(Landscape(0), start_bits=2).state[0].bits == N_BITS


# -------------------------------------------------------------------------- sparsity


@pytest.mark.parametrize("search", ["gray", "adaptive"])
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_zeros_move_only_when_nothing_else_improves(search, seed):
    loss = Landscape(seed, n_codes=6, rugged=True)
    start = loss.start * np.array([0, 1, 0, 1, 0, 1])
    running = begin(loss, start, seed=seed, search=search, sparse=True)
    codes = running.codes.copy()
    for j, code, moved_loss, made in moves(running, loss):
        if made and codes[j] == 0 and search == "gray":
            others = loss.around(codes, np.flatnonzero(codes))
            assert min(others.values(), default=np.inf) >= loss(codes) * (1 - 1e-6)
        if made:
            codes[j] = code
            assert loss(codes) == moved_loss


@pytest.mark.parametrize("search", ["gray", "adaptive"])
def test_zeros_wait_for_the_others_in_a_sparse_search_only(search):
    start = [0, 3, 0, -5, 0, 9]
    asked = {}
    for sparse in (True, False):
        running = begin(lambda codes: 1.0, start, search=search, sparse=sparse)
        asked[sparse] = []
        for _ in range(15):
            asked[sparse].append(int(ask(running)[0]))
            tell(running, math.inf)
    assert set(asked[True][:3]) <= {1, 3, 5}
    assert set(asked[False]) & {0, 2, 4}
    if search == "gray":
        # All bits of the three, then those of the zeros.
        assert sorted(asked[True]) == [1] * 5 + [3] * 5 + [5] * 5


def test_zeros_wait_as_long_as_there_is_hope():
    start = [0, 4, 0, -5, 0, 3]
    for seed in range(10):
        running = begin(lambda codes: 1.0, start, seed=seed, sparse=True, first_step=8)
        asked = []
        # Steps that fail are shortened, from 8 to 1: four sweeps before the zeros.
        while not running.state[0].on_zeros:
            asked.append(int(ask(running)[0]))
            tell(running, math.inf)
        assert np.abs(running.steps[[1, 3, 5]]).max() == 1
        assert set(asked[:-1]) == {1, 3, 5}


# --------------------------------------------------------------------------- errors


def test_codes_out_of_range_are_refused():
    for code in (LOW - 1, HIGH + 1):
        with pytest.raises(ValueError, match=r"codes of 5 bits lie in \[-16, 15\]"):
            start_search([0, code], 1.0, MoveOptions(n_bits=5), 0)


def test_codes_of_the_caller_are_not_written_to():
    loss = Landscape(12)
    start = loss.start.astype(np.int32)
    kept = start.copy()
    search = start_search(start, loss(start), MoveOptions(n_bits=N_BITS), 0)
    for _ in moves(search, loss):
        pass
    assert search.state[0].accepted > 0
    assert_array_equal(start, kept)
