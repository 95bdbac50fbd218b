"""What programs in whole numbers and in single precision have in common as C."""

import numpy as np

from skmohn.blm._device.c_parts import Array, counter, indent
from skmohn.blm._device.packing import Packing


class Writer:
    """Writes the functions of a program.

    Names begin with an @ that the name of the program replaces. Children have the
    types `code` and `output`, what is `silent` in each hidden layer, further tables,
    the `helpers` and each `layer`.

    Parameters
    ----------
    program : WholeProgram or FloatProgram
    biases : ndarray
        Of all units, member by member.
    """

    def __init__(self, program, biases):
        self.program, self.network = program, program.network
        self.packing = Packing(self.network.n_bits)
        self.sizes = self.network.layout.sizes
        self.is_recurrent = self.network.layout.recurrent and len(self.sizes) > 2
        self.n_members = len(self.network.members)
        self.counter = counter(max(self.packing.padded(n) for n in self.sizes))
        self.weights = Array("@weights", packed_weights(self.network), always=True)
        self.biases = Array("@biases", biases, always=True)

    @property
    def state_sizes(self):
        """Room of each hidden layer in the state of a member."""
        return [self.packing.padded(n) for n in self.sizes[1:-1]]

    def functions(self):
        """Lines of all functions."""
        reset = self._reset() if self.is_recurrent else []
        return [*self.helpers(), *self._member(), *reset, *self._run()]

    def _buffers(self):
        """Name of the buffer that each layer hears, and sizes of all buffers."""
        # Other members still need the inputs.
        names = ["q", "r" if self.n_members > 1 else "x"]
        used = ["x", *(names[k % 2] for k in range(len(self.sizes) - 2))]
        sizes = {}
        for name, size in zip(used, self.sizes[:-1], strict=True):
            sizes[name] = max(sizes.get(name, 0), self.packing.padded(size))
        return used, sizes

    def _member(self):
        """One network: from its inputs to outputs."""
        used, sizes = self._buffers()
        arguments = [
            f"{'const ' if used.count('x') == 1 else ''}{self.code} *x",
            "const uint8_t *w",
            f"const {self.biases.kind} *b",
            *([f"{self.code} *state"] if self.is_recurrent else []),
            "@output *output",
        ]
        own = [f"{self.code} {name}[{sizes[name]}];" for name in sizes if name != "x"]
        lines = [f"{self.counter} j;", *own]
        for depth, buffer in enumerate(used):
            to = used[depth + 1] if depth + 1 < len(used) else None
            lines += self.layer(depth, buffer, to)
        head = f"static void @member({', '.join(arguments)})"
        return [head, "{", *indent(lines), "}", ""]

    def _reset(self):
        lines = [f"{counter(sum(self.state_sizes) * self.n_members)} i = 0, j;"]
        if self.n_members > 1:
            lines.append(f"{counter(self.n_members)} m;")
        fill = [
            f"for (j = 0; j < {size}; j++) state->units[i++] = {silent};"
            for size, silent in zip(self.state_sizes, self.silent, strict=True)
        ]
        lines += self._of_each_member(fill)
        return [
            "/* Begin a sequence: all hidden units are silent. */",
            "static inline void @reset(@state *state)",
            "{",
            *indent(lines),
            "}",
            "",
        ]

    def _of_each_member(self, lines):
        if self.n_members == 1:
            return lines
        return [f"for (m = 0; m < {self.n_members}; m++) {{", *indent(lines), "}"]

    def _run(self):
        many = self.n_members > 1
        w, b, state = "@weights", "@biases", "state->units"
        lines = [f"{self.code} x[{self._buffers()[1]['x']}];"]
        if many:
            w += f" + m * {len(self.weights.values) // self.n_members}"
            b += f" + m * {len(self.biases.values) // self.n_members}"
            state += f" + m * {sum(self.state_sizes)}"
            lines += ["uint16_t m;", f"{self.counter} k;"]
            lines.append(f"for (k = 0; k < {self.sizes[-1]}; k++) output[k] = 0;")
        lines.append("@read(input, x);")
        arguments = ["x", w, b, *([state] if self.is_recurrent else []), "output"]
        lines += self._of_each_member([f"@member({', '.join(arguments)});"])
        lines += self.finish()
        return [
            "/* Compute the outputs for one input. */",
            f"static inline void @run({self.own_state()}const @input *input, "
            "@output *output)",
            "{",
            *indent(lines),
            "}",
            "",
        ]

    @property
    def bias(self):
        """The expression of the bias that `b` points at."""
        return self.biases.at("0").replace("@biases + 0", "b")

    def fill_up(self, name, n):
        """Zeros behind the values of a buffer, up to which rows of weights go."""
        return [f"{name}[{k}] = 0;" for k in range(n, self.packing.padded(n))]

    def keep(self, buffer, n):
        """Lines after a hidden layer; none after outputs, which have no buffer."""
        if buffer is None:
            return []
        lines = self.fill_up(buffer, n)
        if self.is_recurrent:
            lines.append(f"for (j = 0; j < {n}; j++) state[j] = {buffer}[j];")
            lines.append(f"state += {self.packing.padded(n)};")
        return lines

    def own_state(self):
        """The argument before all others."""
        return "@state *state, " if self.is_recurrent else ""

    def finish(self):
        """What is done to the outputs of all members."""
        return []


def packed_weights(network):
    """Bytes of all weights, member by member, layer by layer, unit by unit."""
    packing = Packing(network.n_bits)
    found = []
    for member in network.members:
        for codes in member:
            rows = [packing.pack(codes.weights).reshape(len(codes.weights), -1)]
            if codes.own is not None:
                rows.append(packing.pack(codes.own).reshape(len(codes.own), -1))
            found.append(np.hstack(rows).ravel())
    return np.concatenate(found)
