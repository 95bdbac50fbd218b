"""Local search on the bits of integer codes, for any loss."""

# The search proposes and decides; whoever owns the loss evaluates. It knows no data
# set, no network and no meaning of its codes.
#
# Source: Brunato and Battiti, "A telescopic binary learning machine for training neural
# networks", IEEE TNNLS 28 (2017), sections III-A, III-C to III-E.

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._options import Control
from skmohn._core._sklearn import Interval, StrOptions
from skmohn.blm import _search_kernels as kernels
from skmohn.blm._codec import code_range
from skmohn.blm._search_kernels import Search

_TELESCOPES = {
    None: kernels.NEVER,
    "local_minimum": kernels.AT_MINIMUM,
    "threshold": kernels.AT_THRESHOLD,
}
# Replaces an infinite loss in a search, which compares by differences.
WORST: Final = 1e300


@dataclass(kw_only=True, eq=False, repr=False)
class SearchOptions(Control):
    """Options of the search on weight bits.

    Parameters
    ----------
    init : {"auto", "quantized", "bounded", "uniform", "zero_low_bits"}, \
            default="auto"
        Start. "quantized" trains the network with gradients through the rounding of its
        weights (quantization-aware training with the straight-through estimator), then
        searches from there; it needs a layered network whose loss and activation have
        gradients. The others are random ([1]_ III-F): weights up to `w_init`, over the
        whole range, or up to `w_init` with only the first `start_bits` set. "auto" is
        "quantized" for networks of at least 1000 weights if that is possible, the
        search is "adaptive" and no other option of the start is set; otherwise
        "bounded".
    w_init : float or "auto", default="auto"
        Largest weight at the start, at least one step of the grid. "auto" is 0.01 for
        :class:`BLMController`; for the others 1, or ``sqrt(20 / n_inputs)`` for units
        with more than 20 inputs.
    neighborhood : {"first", "best"}, default="first"
        Take the first move that improves or, with ``search="gray"``, the best one.
    telescopic : {"auto", "threshold", "local_minimum", None}, default="auto"
        Whether to start with only the highest bits ([1]_ III-D), and when to release
        one more bit per weight: once fewer than `phi` of the moves improve ([1]_
        III-E), or none does. None releases all bits from the start. "auto" is
        "threshold" for :class:`BLMController`, otherwise None.
    start_bits : int, default=2
        Number of high bits of each weight with which a telescopic search starts.
    phi : float, default=0.1
        For "threshold": fraction of improving moves below which a bit is added.
    eta : float, default=0.95
        Decay of the moving average that estimates this fraction.
    freeze : {"binary", "gray"}, default="binary"
        Which low bits a telescopic search freezes. "binary" leaves the low bits of the
        plain number as they are, which gives the even grid of [1]_, Figure 4. In the
        "gray" code a flip of a high bit mirrors the low ones, so that weights cannot
        return to zero.
    sparsity : float, default=0.0
        Fraction of the weights that start at zero and move only if no other move
        improves; all others start at other values ([1]_ IV).

    See Also
    --------
    BLMClassifier, BLMRegressor, BLMController : Take it as `search_options`.

    References
    ----------
    .. [1] Brunato, M. and Battiti, R. (2017). A telescopic binary learning machine for
       training neural networks. IEEE Trans. Neural Networks and Learning Systems 28(3).

    Examples
    --------
    >>> from skmohn import BLMClassifier, SearchOptions
    >>> published = SearchOptions(telescopic="local_minimum", init="zero_low_bits")
    >>> model = BLMClassifier(search="gray", search_options=published)
    >>> model.set_params(search_options__w_init=0.5).search_options
    SearchOptions(init='zero_low_bits', telescopic='local_minimum', w_init=0.5)
    """

    _parameter_constraints = {
        "init": [
            StrOptions({"auto", "quantized", "uniform", "bounded", "zero_low_bits"})
        ],
        "w_init": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "neighborhood": [StrOptions({"first", "best"})],
        "telescopic": [StrOptions({"auto", "local_minimum", "threshold"}), None],
        "start_bits": [Interval(Integral, 1, 24, closed="both")],
        "phi": [Interval(Real, 0, 1, closed="both")],
        "eta": [Interval(Real, 0, 1, closed="left")],
        "freeze": [StrOptions({"binary", "gray"})],
        "sparsity": [Interval(Real, 0, 1, closed="left")],
    }

    init: str = "auto"
    w_init: float | str = "auto"
    neighborhood: str = "first"
    telescopic: str | None = "auto"
    start_bits: int = 2
    phi: float = 0.1
    eta: float = 0.95
    freeze: str = "binary"
    sparsity: float = 0.0


@dataclass(frozen=True)
class MoveOptions:
    """Options of the moves of a search, see :class:`SearchOptions`."""

    n_bits: int = 12  # bits of a code
    # Signed steps of adaptive size ("adaptive"), or single bits in random order
    # ("gray").
    search: str = "adaptive"
    neighborhood: str = "first"
    telescopic: str | None = None  # without "auto"
    start_bits: int = 2
    phi: float = 0.1
    eta: float = 0.95
    freeze: str = "binary"
    sparse: bool = False  # codes of 0 move only when no other move improves
    # Fraction of the loss by which a move has to improve. The default is for sums in
    # single precision, where smaller gains may be rounding errors.
    min_gain: float = 2e-7

    @classmethod
    def of(
        cls,
        options: SearchOptions,
        n_bits: int,
        search: str,
        *,
        telescopic: str | None,
        min_gain: float = 2e-7,
    ) -> Self:
        """Moves by the user's options; `telescopic` is the value of "auto"."""
        if options.telescopic != "auto":
            telescopic = options.telescopic
        if options.neighborhood == "best" and search == "adaptive":
            raise ValueError('neighborhood="best" needs search="gray"')
        if telescopic is not None and options.start_bits > n_bits:
            raise ValueError(
                f"start_bits={options.start_bits} is above n_bits={n_bits}"
            )
        return cls(
            n_bits=n_bits,
            search=search,
            neighborhood=options.neighborhood,
            telescopic=telescopic,
            start_bits=options.start_bits,
            phi=options.phi,
            eta=options.eta,
            freeze=options.freeze,
            sparse=options.sparsity > 0,
            min_gain=min_gain,
        )

    @property
    def first_step(self) -> int:
        """First step of the adaptive search, a sixth of the range."""
        return max(code_range(self.n_bits)[1] // 6, 1)


@dataclass(frozen=True)
class InitOptions:
    """Options of the initial codes."""

    # (n_weights,); largest value, unless `init` is "uniform"; at least one step.
    bound: float | NDArray[np.float64] = 1.0
    # "uniform": all codes alike; "bounded": small values; "zero_low_bits": small values
    # whose bits that do not move at first are zero.
    init: str = "bounded"
    sparsity: float = 0.0  # fraction of the codes that are 0

    @classmethod
    def of(cls, options: SearchOptions, bound: float | NDArray[np.float64]) -> Self:
        """Start by the user's options; `bound` is the value of ``w_init="auto"``."""
        if not isinstance(options.w_init, str):
            bound = options.w_init
        # What is drawn anew at a local minimum is random after any start.
        init = "bounded" if options.init in ("auto", "quantized") else options.init
        return cls(bound, init, options.sparsity)


def draw_codes(
    rng: np.random.Generator,
    moves: MoveOptions,
    init: InitOptions,
    step: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Draw codes to start from; `step` is the weight of one unit of each."""
    low, high = code_range(moves.n_bits)
    unit = 1
    if init.init == "uniform":
        codes = rng.integers(low, high + 1, len(step))
    else:
        if init.init == "zero_low_bits":
            unit = 2 ** (moves.n_bits - min(moves.start_bits, moves.n_bits))
        # A range below the grid's step would leave nothing but zeros.
        bound = np.maximum(init.bound, unit * step)
        codes = np.rint(rng.uniform(-bound, bound, len(step)) / unit / step)
        codes = np.clip(codes, low // unit, high // unit).astype(np.int64) * unit
    if init.sparsity:
        drawn = rng.permutation(len(codes))
        # The others start to learn at once, however small their range.
        n_zero, zeros = round(init.sparsity * len(drawn)), np.flatnonzero(codes == 0)
        is_positive = (rng.random(len(zeros)) < 0.5) & (unit <= high)
        codes[zeros] = np.where(is_positive, unit, -unit)
        codes[drawn[:n_zero]] = 0
    return codes


def perturb(
    rng: np.random.Generator,
    codes: NDArray[np.integer],
    fraction: float,
    moves: MoveOptions,
    init: InitOptions,
    step: NDArray[np.float64],
) -> NDArray[np.integer]:
    """Copy codes with a fraction of them, at least one, drawn anew."""
    codes = codes.copy()
    # A sparse network stays sparse.
    movable = np.flatnonzero(codes) if moves.sparse else np.arange(len(codes))
    n_drawn = min(max(round(fraction * len(codes)), 1), len(movable))
    drawn = rng.choice(movable, n_drawn, replace=False)
    codes[drawn] = draw_codes(rng, moves, init, step)[drawn]
    return codes


def start_search(
    codes: ArrayLike,  # (n_weights,)
    loss: float,  # of `codes`
    moves: MoveOptions,
    seed: int,
    # First step of the adaptive search, in units of the code; rounded down to a power
    # of two.
    first_step: int = 1,
) -> Search:
    """Prepare the state of a search for :func:`ask` and :func:`tell`."""
    codes = np.array(codes, dtype=np.int32)
    low, high = code_range(moves.n_bits)
    if codes.min() < low or codes.max() > high:
        raise ValueError(f"codes of {moves.n_bits} bits lie in [{low}, {high}]")
    movable = moves.n_bits
    if moves.telescopic is not None:
        movable = min(moves.start_bits, moves.n_bits)
    step = 2 ** int(np.log2(np.clip(first_step, 1, high)))
    step = max(step, 2 ** (moves.n_bits - movable))
    state = np.recarray(1, dtype=kernels.STATE)
    state.fill(0)
    search = Search(
        codes,
        np.full(len(codes), step, dtype=np.int32),
        np.arange(len(codes), dtype=np.int32),
        np.zeros(len(codes) * moves.n_bits, dtype=np.int32),
        state,
    )
    for name, value in {
        "rng": seed,
        "loss": loss,
        "bits": movable,
        "n_bits": moves.n_bits,
        "binary": moves.freeze == "binary",
        "adaptive": moves.search == "adaptive",
        "best": moves.neighborhood == "best",
        "sparse": moves.sparse,
        "telescopic": _TELESCOPES[moves.telescopic],
        "phi": moves.phi,
        "eta": moves.eta,
        "min_gain": moves.min_gain,
    }.items():
        state[name] = value
    kernels.restart(search.address)
    return search


def resume(
    search: Search,
    # (n_weights,); those that differ from the present ones get a new first step.
    codes: NDArray[np.integer],
    loss: float,  # of `codes`
    first_step: int = 1,  # as in :func:`start_search`
) -> None:
    """Resume a search that is at a local minimum from other codes."""
    changed = codes != search.codes
    search.steps[changed] = 2 ** int(np.log2(max(first_step, 1)))
    search.codes[:] = codes
    search.state[0].loss = loss
    kernels.restart(search.address)


def explored_fraction(search: Search) -> float:
    """Moves tried for each success of late, as a fraction of the neighborhood."""
    state = search.state[0]
    return float(state.mean_tried) / (len(search.codes) * int(state.bits))


def ask(search: Search) -> tuple[int, int]:
    """Name a weight and a code to try; weight -1 when no move improves. O(1)."""
    return kernels.ask(search.address)


def tell(search: Search, loss: float) -> bool:
    """Take the loss of the move last asked for; return whether it is made. O(1)."""
    improves = kernels.improves(search.address, loss)
    (kernels.succeed if improves else kernels.fail)(search.address, loss)
    return improves
