"""C code that programs in integers and in single precision have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from skmohn.blm._device.c_literals import Array, counter, fill, indent
from skmohn.blm._device.categories import Categories
from skmohn.blm._device.emulate_float import FloatProgram
from skmohn.blm._device.network import Network
from skmohn.blm._device.packing import Packing
from skmohn.blm._device.quantize import IntProgram

Program = FloatProgram | IntProgram
ProgramType = TypeVar("ProgramType", FloatProgram, IntProgram)


class Writer(ABC, Generic[ProgramType]):
    """Writer of the functions of a program."""

    # Names begin with an @ that the name of the program replaces. Children have the
    # types `code` and `output`, `zero_points` of the hidden layers, further tables, the
    # `helpers` and each `layer`.

    def __init__(
        self,
        program: ProgramType,
        biases: NDArray,  # of all units, member by member
    ) -> None:
        self.program, self.network = program, program.network
        self.packing = Packing(self.network.n_bits)
        self.picks = Picks(program.kind, program.categories, self.packing)
        # Sums over inputs are over those that are numbers.
        self.sizes = self.network.n_numbers, *self.network.layout.sizes[1:]
        self.n_inputs = self.sizes[0] + self.picks.n
        self.is_recurrent = self.network.has_states
        self.n_members = len(self.network.members)
        self.counter = counter(max(self.packing.padded(n) for n in self.sizes))
        self.weights = Array("@weights", packed_weights(self.network), always=True)
        self.biases = Array("@biases", biases, always=True)

    code: str
    output: str
    zero_points: Sequence[object]

    @abstractmethod
    def helpers(self) -> list[str]:
        """Lines of the functions that a network calls."""

    @abstractmethod
    def layer(self, depth: int, x: str, to: str | None) -> list[str]:
        """Lines of a layer, from one buffer to another, or to the outputs."""

    def arrays(self) -> list[Array]:
        """All tables."""
        return [self.weights, self.biases, *self.picks.arrays]

    @property
    def state_sizes(self) -> list[int]:
        """Room of each hidden layer in the state of a member."""
        return [self.packing.padded(n) for n in self.sizes[1:-1]]

    def functions(self) -> list[str]:
        """Lines of all functions."""
        reset = self._reset() if self.is_recurrent else []
        return [*self.helpers(), *self._member(), *reset, *self._run()]

    def _buffers(self) -> tuple[list[str], dict[str, int]]:
        """Name of the buffer that each layer reads, and sizes of all buffers."""
        # Other members still need the inputs.
        names = ["q", "r" if self.n_members > 1 else "x"]
        used = ["x", *(names[k % 2] for k in range(len(self.sizes) - 2))]
        sizes = {}
        for name, size in zip(used, self.sizes[:-1], strict=True):
            sizes[name] = max(sizes.get(name, 0), self.packing.padded(size))
        return used, sizes

    def _member(self) -> list[str]:
        """One network: from its inputs to outputs."""
        used, sizes = self._buffers()
        arguments = [
            f"{'const ' if used.count('x') == 1 else ''}{self.code} *x",
            *self.picks.arguments(),
            "const uint8_t *w",
            f"const {self.biases.kind} *b",
            *([f"{self.code} *state"] if self.is_recurrent else []),
            "@output *output",
        ]
        own = [f"{self.code} {name}[{sizes[name]}];" for name in sizes if name != "x"]
        layers = []
        for depth, buffer in enumerate(used):
            to = used[depth + 1] if depth + 1 < len(used) else None
            layers += self.layer(depth, buffer, to)
        lines = fill(
            "member",
            arguments=", ".join(arguments),
            counter=self.counter,
            buffers=own,
            layers=layers,
        )
        return [*lines, ""]

    def _reset(self) -> list[str]:
        lines = [f"{counter(sum(self.state_sizes) * self.n_members)} i = 0, j;"]
        if self.n_members > 1:
            lines.append(f"{counter(self.n_members)} m;")
        resets = [
            f"for (j = 0; j < {size}; j++) state->units[i++] = {zero_point};"
            for size, zero_point in zip(self.state_sizes, self.zero_points, strict=True)
        ]
        resets = self._of_each_member(resets)
        return [*fill("reset", indices=lines, resets=resets), ""]

    def _of_each_member(self, lines: list[str]) -> list[str]:
        if self.n_members == 1:
            return lines
        return [f"for (m = 0; m < {self.n_members}; m++) {{", *indent(lines), "}"]

    def _run(self) -> list[str]:
        many = self.n_members > 1
        w, b, state = "@weights", "@biases", "state->units"
        lines = [f"{self.code} x[{self._buffers()[1]['x']}];", *self.picks.buffers()]
        picked = self.picks.names()
        if many:
            w += f" + m * {len(self.weights.values) // self.n_members}"
            b += f" + m * {len(self.biases.values) // self.n_members}"
            state += f" + m * {sum(self.state_sizes)}"
            lines += ["uint16_t m;", f"{self.counter} k;"]
            lines.append(f"for (k = 0; k < {self.sizes[-1]}; k++) output[k] = 0;")
        lines.append(f"@read({', '.join(['input', 'x', *picked])});")
        own = [state] if self.is_recurrent else []
        arguments = ", ".join(["x", *picked, w, b, *own, "output"])
        lines += self._of_each_member([f"@member({arguments});"])
        lines += self.finish()
        return [*fill("run", state=self.own_state(), body=lines), ""]

    def reader(self, lines: list[str]) -> list[str]:
        """Function that reads inputs, given the lines for a number."""
        n = self.sizes[0]
        body = []
        if n:
            body += [f"for (i = 0; i < {n}; i++) {{", *indent(lines), "}"]
        body += [*self.fill_up("x", n), *self.picks.read(n)]
        outputs = [f"{self.code} *x", *self.picks.outputs()]
        kinds = {"outputs": ", ".join(outputs), "counter": counter(self.n_inputs)}
        return [*fill("read", **kinds, body=body), ""]

    def picked(self, depth: int, start: str) -> str:
        """Expression of a sum over inputs, with that over categories added."""
        if depth or not self.picks:
            return start
        row = f"w + {self.packing.row_bytes(self.sizes[0])}"
        return f"@picked({', '.join([start, row, *self.picks.names()])})"

    def row_bytes(self, depth: int) -> int:
        """Bytes of the weights from all inputs of a layer to a unit."""
        picked = 0 if depth else self.picks.row_bytes
        return self.packing.row_bytes(self.sizes[depth]) + picked

    @property
    def bias(self) -> str:
        """Expression of the bias that `b` points at."""
        return self.biases.at("0").replace("@biases + 0", "b")

    def fill_up(self, name: str, n: int) -> list[str]:
        """Zero padding of a buffer, to the length of rows of weights."""
        return [f"{name}[{k}] = 0;" for k in range(n, self.packing.padded(n))]

    def keep(self, buffer: str | None, n: int) -> list[str]:
        """Lines after a hidden layer; none after outputs, which have no buffer."""
        if buffer is None:
            return []
        lines = self.fill_up(buffer, n)
        if self.is_recurrent:
            lines.append(f"for (j = 0; j < {n}; j++) state[j] = {buffer}[j];")
            lines.append(f"state += {self.packing.padded(n)};")
        return lines

    def own_state(self) -> str:
        """Argument before all others."""
        return "@state *state, " if self.is_recurrent else ""

    def finish(self) -> list[str]:
        """Last activation of the outputs of all members."""
        return []


def packed_weights(network: Network) -> NDArray[np.uint8]:
    """Bytes of all weights, member by member, layer by layer, unit by unit."""
    packing = Packing(network.n_bits)
    found = []
    for member in network.members:
        for codes in member:
            parts = [codes.weights]
            if network.groups and codes is member[0]:
                parts = np.split(codes.weights, [network.n_numbers], axis=1)
            rows = [packing.pack(part).reshape(len(part), -1) for part in parts]
            if codes.own is not None:
                rows.append(packing.pack(codes.own).reshape(len(codes.own), -1))
            found.append(np.hstack(rows).ravel())
    return np.concatenate(found)


# Whether a number is below n, and not below zero, by its type.
_KNOWN = {
    "uint8": "v < n",
    "int16": "(uint16_t)v < n",  # below zero is far above
    "float32": "v >= 0.0f && v < (float)n",
}


class Picks:
    """Writer of the code for categories; false, and empty, without them."""

    # Of each input that is a category ``picks`` has the index of its weights in a row,
    # ``factors`` the value of its one, and zero if there is no such category.

    def __init__(
        self,
        kind: str,  # type of the inputs
        categories: Categories,
        packing: Packing,
    ) -> None:
        groups, factors = categories
        self.kind, self.packing, self.n = kind, packing, len(groups)
        self.row_bytes = packing.row_bytes(sum(groups)) if groups else 0
        self.arrays = []
        if groups:
            self.sizes, self.factors = Array("@sizes", groups), Array("@ones", factors)
            self.arrays = [self.sizes, self.factors]
            index_type = counter(sum(groups))
            self.types = {"picks": index_type, "factors": self.factors.kind}

    def __bool__(self) -> bool:
        """Whether there are categories."""
        return self.n > 0

    def buffers(self) -> list[str]:
        """Declare the variables of the categories of one input."""
        return [f"{kind} {name}[{self.n}];" for name, kind in self._types()]

    def outputs(self) -> list[str]:
        """Arguments of the function that fills the buffers."""
        return [f"{kind} *{name}" for name, kind in self._types()]

    def arguments(self) -> list[str]:
        """Arguments of the function that reads the buffers."""
        return [f"const {kind} *{name}" for name, kind in self._types()]

    def names(self) -> list[str]:
        """Names of the buffers."""
        return [name for name, _ in self._types()]

    def _types(self) -> Iterable[tuple[str, str]]:
        return self.types.items() if self.n else ()

    def read(self, first: int) -> list[str]:
        """Lines that fill the buffers from the inputs, beginning at a number."""
        # `i` counts.
        if not self.n:
            return []
        index_type = self.types["picks"]
        return fill(
            "read_categories",
            index_type=index_type,
            n=self.n,
            first=first,
            size=self.sizes.at("i"),
            known=_KNOWN[self.kind],
            factor=self.factors.at("picks[i]"),
        )

    def helper(self) -> list[str]:
        """Find a weight in a row of weights of categories."""
        if not self.n:
            return []
        lines, weight = self.packing.one()
        kinds = {"type": self.packing.type, "index_type": self.types["picks"]}
        return [*fill("weight", **kinds, lines=lines, weight=weight), ""]

    def sum(
        self,
        kind: str,  # type of the sum
        product: str,  # of ``factors[i]`` and the code ``u``
    ) -> list[str]:
        """Add the weights of the categories of an input to a sum."""
        if not self.n:
            return []
        arguments = [f"{kind} sum", "const uint8_t *w", *self.arguments()]
        lines = fill(
            "picked",
            type=kind,
            arguments=", ".join(arguments),
            counter=counter(self.n),
            n=self.n,
            code=self.packing.type,
            product=product,
        )
        return [*lines, ""]
