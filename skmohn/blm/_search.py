"""Local search on the bits of integer codes, for any loss.

The search proposes and decides; whoever owns the loss evaluates. It knows no data set,
no network and no meaning of its codes.

Source: Brunato and Battiti, "A telescopic binary learning machine for training neural
networks", IEEE TNNLS 28 (2017), sections III-A, III-C to III-E.
"""

from dataclasses import dataclass

import numpy as np

from skmohn.blm import _search_kernels as kernels
from skmohn.blm._codec import code_range

_TELESCOPES = {
    None: kernels.NEVER,
    "local_minimum": kernels.AT_MINIMUM,
    "threshold": kernels.AT_THRESHOLD,
}
# What a search hears of a loss that is infinite: it compares by differences.
WORST = 1e300


@dataclass(frozen=True)
class SearchControl:
    """How a search moves.

    Parameters
    ----------
    n_bits : int, default=12
        Bits of a code.

    search : {"adaptive", "gray"}, default="adaptive"
        Signed steps of adaptive size, or single bits in random order.

    neighborhood : {"first", "best"}, default="first"
        Make the first move that improves, or the best of all (with "gray" only).

    telescopic : {None, "local_minimum", "threshold"}, default=None
        Whether the search begins with few bits, and what adds one.

    start_bits : int, default=2
        Bits that move at first when `telescopic` is not None.

    phi : float, default=0.1
        With "threshold": add a bit when fewer than this share of the moves improve.

    eta : float, default=0.95
        Decay of the moving average that estimates it.

    freeze : {"binary", "gray"}, default="binary"
        Which low bits a telescopic search freezes.

    sparse : bool, default=False
        Whether codes of 0 move only when no other move improves.

    least_gain : float, default=2e-7
        Share of the loss by which a move has to improve. The default is for sums in
        single precision, where smaller gains may be rounding errors.
    """

    n_bits: int = 12
    search: str = "adaptive"
    neighborhood: str = "first"
    telescopic: str | None = None
    start_bits: int = 2
    phi: float = 0.1
    eta: float = 0.95
    freeze: str = "binary"
    sparse: bool = False
    least_gain: float = 2e-7


class Search:
    """State of a search over P codes.

    Parameters
    ----------
    codes : ndarray of shape (P,), int32

    steps : ndarray of shape (P,), int32
        Signed, of the adaptive search.

    order : ndarray of shape (P,), int32
        Weights as the adaptive search visits them.

    moves : ndarray of shape (P * n_bits,), int32
        The Gray neighbourhood, shuffled as it goes.

    state : recarray of shape (1,)
        The variables. They hold the addresses of the arrays, which are to be changed in
        place and not replaced.

    Attributes
    ----------
    address : int
        Of the state: all that the kernels take.
    """

    def __init__(self, *arrays):
        # Another process may hand them over read-only.
        arrays = [np.require(array, requirements=["C", "W"]) for array in arrays]
        self.codes, self.steps, self.order, self.moves, self.state = arrays
        self.state["n_weights"] = len(self.codes)
        for name in ("codes", "steps", "order", "moves"):
            self.state[name] = getattr(self, name).ctypes.data
        self.address = self.state.ctypes.data

    def __reduce__(self):
        """Copies have addresses of their own; what is saved has none."""
        state = self.state.copy()
        for name in ("codes", "steps", "order", "moves"):
            state[name] = 0
        return Search, (self.codes, self.steps, self.order, self.moves, state)


def draw_codes(rng, control, init, bound, step):
    """Draw codes to start from.

    Parameters
    ----------
    rng : Generator

    control : SearchControl

    init : {"uniform", "bounded", "zero_low_bits"}
        All codes alike, those of small values, or those of small values whose bits that
        do not move at first are zero.

    bound : float or ndarray of shape (n_weights,)
        Largest value, unless `init` is "uniform"; at least one step.

    step : ndarray of shape (n_weights,)
        What one unit of each code stands for.

    Returns
    -------
    codes : ndarray of shape (n_weights,), int
    """
    low, high = code_range(control.n_bits)
    if init == "uniform":
        return rng.integers(low, high + 1, len(step))
    unit = 1
    if init == "zero_low_bits":
        unit = 2 ** (control.n_bits - min(control.start_bits, control.n_bits))
    # A range below the grid's step would leave nothing but zeros.
    bound = np.maximum(bound, unit * step)
    codes = np.rint(rng.uniform(-bound, bound, len(step)) / unit / step)
    return np.clip(codes, low // unit, high // unit).astype(np.int64) * unit


def start_search(codes, loss, control, seed, first_step=1):
    """Prepare a search.

    Parameters
    ----------
    codes : ndarray of shape (n_weights,), int
        Where it starts.

    loss : float
        The loss there.

    control : SearchControl

    seed : int

    first_step : int, default=1
        First step of the adaptive search, in units of the code; rounded down to a power
        of two.

    Returns
    -------
    search : Search
        State for :func:`ask` and :func:`tell`.
    """
    codes = np.array(codes, dtype=np.int32)
    low, high = code_range(control.n_bits)
    if codes.min() < low or codes.max() > high:
        raise ValueError(f"codes of {control.n_bits} bits lie in [{low}, {high}]")
    movable = control.n_bits
    if control.telescopic is not None:
        movable = min(control.start_bits, control.n_bits)
    step = 2 ** int(np.log2(np.clip(first_step, 1, high)))
    step = max(step, 2 ** (control.n_bits - movable))
    state = np.recarray(1, dtype=kernels.STATE)
    state.fill(0)
    search = Search(
        codes,
        np.full(len(codes), step, dtype=np.int32),
        np.arange(len(codes), dtype=np.int32),
        np.zeros(len(codes) * control.n_bits, dtype=np.int32),
        state,
    )
    for name, value in {
        "rng": seed,
        "loss": loss,
        "bits": movable,
        "n_bits": control.n_bits,
        "binary": control.freeze == "binary",
        "adaptive": control.search == "adaptive",
        "best": control.neighborhood == "best",
        "sparse": control.sparse,
        "telescopic": _TELESCOPES[control.telescopic],
        "share": control.phi,
        "decay": control.eta,
        "least_gain": control.least_gain,
    }.items():
        state[name] = value
    kernels.restart(search.address)
    return search


def go_on(search, codes, loss, first_step=1):
    """Let a search that is at a local minimum go on from other codes.

    Parameters
    ----------
    search : Search

    codes : ndarray of shape (n_weights,), int
        Those that differ from the present ones get a new first step.

    loss : float
        The loss there.

    first_step : int, default=1
        As in :func:`start_search`.
    """
    changed = codes != search.codes
    search.steps[changed] = 2 ** int(np.log2(max(first_step, 1)))
    search.codes[:] = codes
    search.state[0].loss = loss
    kernels.restart(search.address)


def explored_share(search):
    """Moves tried for each success of late, as a share of the neighbourhood."""
    state = search.state[0]
    return float(state.mean_tried) / (len(search.codes) * int(state.bits))


def ask(search):
    """Name a weight and a code to try; weight -1 when no move improves. O(1)."""
    return kernels.ask(search.address)


def tell(search, loss):
    """Hear the loss of the last question; return whether its move is made. O(1)."""
    improves = kernels.improves(search.address, loss)
    (kernels.succeed if improves else kernels.fail)(search.address, loss)
    return improves
