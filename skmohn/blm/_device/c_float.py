"""Program in single precision as C."""

from dataclasses import dataclass

import numpy as np

from skmohn._core._tuned import tuned
from skmohn.blm import _kernels as kernels
from skmohn.blm._device.c_literals import Array, counter, fill, indent, number
from skmohn.blm._device.c_writer import Writer
from skmohn.blm._device.emulate_float import FloatProgram


@dataclass(frozen=True)
class FloatConstants:
    """Weights in C with floats."""

    # Codes of up to so many bits are in a table.
    max_table_bits: int = tuned(4, "cost")


_FLOAT = FloatConstants()


class FloatWriter(Writer[FloatProgram]):
    """Writer of the functions of a program in single precision."""

    code = output = "float"

    def __init__(self, program: FloatProgram) -> None:
        biases = [part for member in program.biases for part in member]
        super().__init__(program, np.concatenate(biases))
        self.zero_points = ["0.0f"] * (len(self.sizes) - 2)
        self.tables = {
            name: Array(f"@{name}", getattr(program, name))
            for name in ("mean", "inverse", "scale", "offset")
            if len(getattr(program, name))
        }
        n_bits = self.network.n_bits
        if n_bits <= _FLOAT.max_table_bits:
            # Where a processor knows no floats, this is quicker than to make them.
            half = 2 ** (n_bits - 1)
            codes = np.arange(-half, half, dtype=np.float32)
            self.tables["codes"] = Array("@codes", codes, always=True)
        kinds = [self.network.activation] * (len(self.sizes) - 2)
        self.kinds = [*kinds, program.last_activation]

    def arrays(self) -> list[Array]:
        """All tables."""
        return [*super().arrays(), *self.tables.values()]

    def helpers(self) -> list[str]:
        """Lines of the functions that a network calls."""
        curved = {"tanh", "logistic", "softmax"}.intersection(self.kinds)
        return [
            *self._dot(),
            *(self._tanh() if curved else []),
            *self._cut(),
            *self._read(),
        ]

    def _dot(self) -> list[str]:
        """Weighted sum, one input after the other."""
        reads, fields = self.packing.unpacked()
        products = []
        for stored, after in fields:
            value = f"(float){self.packing.code(stored)}"
            if "codes" in self.tables:
                value = self.tables["codes"].at(stored)
            products += [f"sum += *x++ * {value};", *after]
        return [
            *self.picks.helper(),
            *self.picks.sum("float", "factors[i] * (float)u"),
            *fill("dot_float", counter=self.counter, group=[*reads, *products]),
            "",
        ]

    def _tanh(self) -> list[str]:
        k = kernels
        p1, p2, p3, p4 = map(number, (k.P1, k.P2, k.P3, k.P4))
        q1, q2, q3, q4 = map(number, (k.Q1, k.Q2, k.Q3, k.Q4))
        limit = number(k.LIMIT)
        return fill(
            "tanh",
            limit=limit,
            **{"p1": p1, "p2": p2, "p3": p3, "p4": p4},
            **{"q1": q1, "q2": q2, "q3": q3, "q4": q4},
        )

    def _cut(self) -> list[str]:
        if not self.sizes[0] and not self.program.cuts_states:
            return []
        return fill("cut", limit=number(self.program.limit))

    def _read(self) -> list[str]:
        if not self.sizes[0]:
            return self.reader([])
        mean, inverse = (self.tables[name].at("i") for name in ("mean", "inverse"))
        return self.reader([f"x[i] = @cut(((float)input[i] - {mean}) * {inverse});"])

    def layer(self, depth: int, x: str, to: str | None) -> list[str]:
        """Lines of a layer, from one buffer to another, or to the outputs."""
        n_in, n_out = self.sizes[depth : depth + 2]
        packing, network = self.packing, self.network
        own = self.is_recurrent and to is not None
        groups, step = packing.padded(n_in) // packing.group, network.steps[depth]
        dot = f"@dot((float){self.bias}, {x}, w, {groups})"
        inner = [
            f"float s = {self.picked(depth, dot)} * {number(step)};",
            f"w += {self.row_bytes(depth)};",
            "b++;",
        ]
        if own:
            groups = packing.padded(n_out) // packing.group
            step = number(network.own_steps[depth])
            inner += [
                f"s += @dot(0.0f, state, w, {groups}) * {step};",
                f"w += {packing.row_bytes(n_out)};",
            ]
        kind, lines = self.kinds[depth], []
        if kind == "softmax":
            lines += [f"float sums[{n_out}], most, total = 0.0f;"]
            inner.append("sums[j] = s;")
        else:
            plain = "@cut(s)" if to and self.program.cuts_states else "s"
            value = {
                "tanh": "@tanh(s)",
                "logistic": "0.5f + 0.5f * @tanh(0.5f * s)",
                "relu": f"s > 0.0f ? {plain} : 0.0f",
                "step": f"s > {number(network.tie)} ? 1.0f : 0.0f",
            }.get(kind, plain)
            sign = "+=" if to is None and self.n_members > 1 else "="
            inner.append(f"{to or 'output'}[j] {sign} {value};")
        lines += [f"for (j = 0; j < {n_out}; j++) {{", *indent(inner), "}"]
        if kind == "softmax":
            lines += self._softmax(n_out)
        lines += self.keep(to, n_out)
        return [f"{{ /* from {n_in} to {n_out} */", *indent(lines), "}"]

    def _softmax(self, n: int) -> list[str]:
        """Softmax: fractions of the exponentials of sums."""
        return fill("softmax_float", n=n)

    def finish(self) -> list[str]:
        """Scale the outputs of all members."""
        scale, offset = self.tables["scale"], self.tables["offset"]
        if np.all(scale.values == 1.0) and not offset.values.any():
            return []
        n = self.sizes[-1]
        return fill(
            "scale_outputs",
            counter=counter(n),
            n=n,
            scale=scale.at("i"),
            offset=offset.at("i"),
        )
