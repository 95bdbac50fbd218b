"""Program in integers as C."""

from dataclasses import dataclass

import numpy as np

from skmohn._core._tuned import tuned
from skmohn.blm._device.c_literals import TYPES, Array, fill, indent, literal
from skmohn.blm._device.c_writer import Writer
from skmohn.blm._device.fixed_point import ONE, POWERS, Requantize
from skmohn.blm._device.inputs import RANGES, FloatInputs, IntInputs
from skmohn.blm._device.quantize import CURVED, IntProgram, Layer

# Bits of a sum and types of inputs and codes for which `c/` adds a product in assembler
# of an AVR. Of several bytes A is the lowest; products are in r1 and r0, and r1 has to
# be zero again.
_ASSEMBLER = {
    (16, "int8_t", "int8_t"): "add16_int8_int8",
    (32, "int16_t", "int8_t"): "add32_int16_int8",
    (32, "int16_t", "int16_t"): "add32_int16_int16",
}


@dataclass(frozen=True)
class LoopConstants:
    """Loops over weights in C."""

    # Bytes of weights up to which loops are short rather than quick; with 2 bits, a
    # loop over the weights of a byte takes a third of the time more.
    max_small_bytes: int = tuned(256, "cost")
    max_small_bytes_2_bits: int = tuned(64, "cost")


_LOOPS = LoopConstants()


class IntWriter(Writer[IntProgram]):
    """Writer of the functions of a program in integers."""

    def __init__(self, program: IntProgram) -> None:
        biases = [bias for member in program.biases for bias in member]
        super().__init__(program, np.concatenate(biases))
        self.code = TYPES[8 if program.bits <= 8 else 16]
        self.output = TYPES[program.output_bits]
        self.zero_points = [layer.answers.zero_point for layer in program.layers[:-1]]
        # Two short groups in one round of the loop, if rows have pairs of them.
        groups = [self.packing.padded(n) // self.packing.group for n in self.sizes[:-1]]
        is_short = self.packing.group <= 2 and not any(n % 2 for n in groups)
        n_bits = self.packing.n_bits
        self.is_small = self.weights.nbytes <= (
            _LOOPS.max_small_bytes_2_bits if n_bits == 2 else _LOOPS.max_small_bytes
        )
        self.at_once = 2 if is_short and not self.is_small else 1
        self.inputs = self._input_arrays()
        self.curves = self._curve_arrays()

    def arrays(self) -> list[Array]:
        """All tables."""
        return [*super().arrays(), *self.inputs.values(), *self.curves.values()]

    # --------------------------------------------------------------------- tables

    def _input_arrays(self) -> dict[str, Array]:
        inputs = self.program.inputs
        names = ("start", "inverse")
        if not self.sizes[0]:
            return {}
        if self.program.kind != "float32":
            names = ("center", "factor", "shift")
        return {name: Array(f"@{name}", getattr(inputs, name)) for name in names}

    def _curve_arrays(self) -> dict[str, Array]:
        kinds = {layer.activation for layer in self.program.layers}
        found = {}
        if kinds.intersection(CURVED):
            points = self.program.curve.points
            found["tanh"] = Array("@tanh", points, always=True)
        if "softmax" in kinds:
            found["powers"] = Array("@powers", POWERS.points, always=True)
        return found

    # ------------------------------------------------------------------ functions

    def helpers(self) -> list[str]:
        """Lines of the functions that a network calls."""
        lines = [*self.picks.helper(), *self._picked()]
        for bits in sorted({layer.accumulator_bits for layer in self.program.layers}):
            lines += [*self._add(bits), *self._dot(bits)]
        if "tanh" in self.curves:
            lines += self._curve()
        for depth, layer in enumerate(self.program.layers):
            lines += self._unit(depth, layer)
        return [*lines, *self._read()]

    def _picked(self) -> list[str]:
        bits = self.program.layers[0].accumulator_bits
        # Modulo 2 ** bits, as the whole sum.
        kind = f"u{TYPES[bits]}"
        wide = "(unsigned)" if bits == 16 else "(uint32_t)"
        product = f"({kind})({wide}factors[i] * {wide}u)"
        return self.picks.sum(kind, product)

    def _rounds(self, n: int) -> int:
        """Number of iterations of the loop over a row of weights."""
        return self.packing.padded(n) // self.packing.group // self.at_once

    def _dot(self, bits: int) -> list[str]:
        """Sum of inputs times codes, modulo 2 ** bits."""
        reads, fields = self.packing.unpacked()
        total, group = f"u{TYPES[bits]}", []
        for stored, after in fields:
            group += [f"@ADD{bits}({self.packing.code(stored)});", *after]
        if self.is_small and self.packing.n_bits == 2:
            group = ["uint8_t k = 4;", "do {", *indent(group[:2]), "} while (--k);"]
        group = [*reads, *group]
        if self.at_once > 1:
            group = ["{", *indent(group), "}"] * self.at_once
        kinds = {"total": total, "code": self.code, "counter": self.counter}
        return [*fill("dot_int", **kinds, bits=bits, group=group), ""]

    def _add(self, bits: int) -> list[str]:
        """Adding a product, modulo 2 ** bits: in C, and in assembler of an AVR."""
        n_bits, x, code = self.packing.n_bits, self.code, self.packing.type
        # Casts to types that cannot overflow.
        if bits == 32:
            kind = "(int32_t)" if n_bits <= 16 else "(uint32_t)"
        else:
            kind = "(int)" if x == "int8_t" and n_bits <= 8 else "(unsigned)"
        product = f"sum += (u{TYPES[bits]})({kind}*x++ * {kind}(u))"
        plain = [f"#define @ADD{bits}(u) {product}"]
        name = _ASSEMBLER.get((bits, x, code))
        if name is None:
            return [*plain, ""]
        return [*fill("add", assembler=fill(name), plain=plain), ""]

    def _curve(self) -> list[str]:
        points = self.program.curve.points
        most = int(np.diff(points).max())
        rise = "uint8_t" if most < 256 else "uint16_t"
        product = "uint16_t" if most * 255 + 128 < 2**16 else "uint32_t"
        at = self.curves["tanh"].at
        value = "uint8_t" if self.curves["tanh"].kind == "uint8_t" else "uint16_t"
        return fill(
            "curve",
            code=self.code,
            value=value,
            rise=rise,
            product=product,
            at=at("k"),
            at_next=at("k + 1"),
        )

    def _scaled(self, rescale: Requantize, size: str) -> str:
        """Expression of a size in other units."""
        half = literal((1 << rescale.shift) >> 1)
        if rescale.factor == 1 and not rescale.pre:
            return f"({size} + {half}) >> {rescale.shift}"
        inner = f"({size} >> {rescale.pre})" if rescale.pre else size
        product = f"(uint32_t)(uint16_t){inner} * {rescale.factor}U"
        if not rescale.shift:
            return product
        return f"({product} + {half}) >> {rescale.shift}"

    def _unit(self, depth: int, layer: Layer) -> list[str]:
        """Activation of a layer, and the scale of sums over its own units."""
        kind, bits = layer.activation, layer.accumulator_bits
        lines = []
        if layer.own_rescale is not None:
            scaled = self._scaled(layer.own_rescale, "size")
            size = self._size(bits)
            numbers = {"type": TYPES[bits], "depth": depth, "size": size}
            lines += [*fill("own", **numbers, scaled=scaled), ""]
        if layer.rescale is None or kind == "softmax":
            return lines
        rescale, curved = layer.rescale, kind in CURVED
        inner = self._scaled(rescale, "size")
        value = f"@curve((uint16_t)({inner}))" if curved else f"({self.code})({inner})"
        if rescale.limit is not None:
            top = layer.answers.high
            value = f"size >= {literal(rescale.limit)} ? {top} : {value}"
        lines += fill(
            "unit",
            code=self.code,
            depth=depth,
            type=TYPES[bits],
            size=self._size(bits),
            value=value,
            negative="0" if kind == "relu" else "-y",
        )
        return [*lines, ""]

    def _size(self, bits: int) -> str:
        kind = f"u{TYPES[bits]}"
        return f"s < 0 ? ({kind})(0U - ({kind})s) : ({kind})s"

    def _read(self) -> list[str]:
        """Convert inputs of the device to codes."""
        if not self.sizes[0]:
            return self.reader([])
        at = {name: array.at("i") for name, array in self.inputs.items()}
        inputs = self.program.inputs
        if isinstance(inputs, FloatInputs):
            top = inputs.top
            body = fill("input_code", **at, top=top, code=self.code)
        elif any(array.is_table for array in self.inputs.values()):
            body = self._scaled_input(inputs, at)
        else:
            body = self._equal_input(inputs)
        return self.reader(body)

    def _scaled_input(self, inputs: IntInputs, at: dict[str, str]) -> list[str]:
        """Lines that make a code of an input; inputs differ in center or scale."""
        shift, center = self.inputs["shift"], self.inputs["center"]
        d, top = "input[i]", inputs.top
        if center.is_table or center.values[0]:
            d = f"({d} - {at['center']})"
            if self.program.kind == "int16":
                d = f"((int32_t)input[i] - {at['center']})"
        half = f"((1L << {at['shift']}) >> 1)"
        if not shift.is_table:
            half = literal((1 << int(shift.values[0])) >> 1)
        scaled = f"(int32_t){d} * (uint16_t){at['factor']} + {half}"
        widest = max(
            np.abs(inputs.uncut(end)).max() for end in RANGES[self.program.kind]
        )
        kind = "int16_t" if widest < 2**15 else "int32_t"
        value = "v"
        if widest > top:
            value = f"v > {top} ? {top} : v < -{top} ? -{top} : v"
        return [
            f"const {kind} v = ({kind})(({scaled}) >> {at['shift']});",
            f"x[i] = ({self.code})({value});",
        ]

    def _equal_input(self, inputs: IntInputs) -> list[str]:
        """Code of inputs that are all alike: cut first, then scaled in 16 bits."""
        low, high = RANGES[self.program.kind]
        center, factor, shift = (int(array.values[0]) for array in self.inputs.values())
        # Numbers that are not cut, less the center.
        numbers = np.arange(low, high + 1)
        scaled = inputs.uncut(numbers[:, None])[:, 0]
        inner = numbers[np.abs(scaled) <= inputs.top] - center
        ends = int(inner.min(initial=0)), int(inner.max(initial=0))
        half = (1 << shift) >> 1
        is_wide = low - center < -(2**15) or high - center >= 2**15
        kind = "int32_t" if is_wide else "int16_t"
        value = "d"
        if factor != 1:
            is_short = max(-ends[0], ends[1]) * factor + half < 2**15
            value = f"d * {factor}" if is_short else f"(int32_t)d * (uint16_t){factor}"
        if shift:
            value = f"({value} + {half}) >> {shift}"
        value = f"({self.code})({value})"
        for end, sign, reached, top in (
            (ends[0], "<", low - center, -inputs.top),
            (ends[1], ">", high - center, inputs.top),
        ):
            if reached != end:
                value = f"d {sign} {literal(end)} ? {top} : {value}"
        less = f" - {literal(center)}" if center else ""
        d = f"(int32_t)input[i]{less}" if is_wide else f"({kind})(input[i]{less})"
        return [f"const {kind} d = {d};", f"x[i] = {value};"]

    # ------------------------------------------------------------------ the network

    def layer(self, depth: int, x: str, to: str | None) -> list[str]:
        """Lines of a layer, from one buffer to another, or to the outputs."""
        layer = self.program.layers[depth]
        n_in, n_out = self.sizes[depth : depth + 2]
        bits, packing = layer.accumulator_bits, self.packing
        groups = self._rounds(n_in)
        kind, signed = f"u{TYPES[bits]}", TYPES[bits]
        own, lines = layer.own_rescale is not None, []
        if layer.activation == "softmax":
            lines += [f"{signed} sums[{n_out}], most;", "uint32_t total = 0;"]
        total = f"({kind})(@dot{bits}({x}, w, {groups}) + ({kind}){self.bias})"
        inner = [
            f"{signed} s = ({signed}){self.picked(depth, total)};",
            f"w += {self.row_bytes(depth)};",
            "b++;",
        ]
        if own:
            dot = f"@dot{bits}(state, w, {self._rounds(n_out)})"
            inner += [
                f"s += @own{depth}(({signed}){dot});",
                f"w += {packing.row_bytes(n_out)};",
            ]
        target = f"{to}[j]" if to else "output[j]"
        inner.append(self._answer(depth, layer, target, to is None))
        lines += [f"for (j = 0; j < {n_out}; j++) {{", *indent(inner), "}"]
        if layer.activation == "softmax" and layer.rescale is not None:
            lines += self._softmax(layer.rescale, bits, n_out)
        lines += self.keep(to, n_out)
        title = f"{{ /* from {n_in} to {n_out}: sums fit {bits} bits */"
        return [title, *indent(lines), "}"]

    def _answer(self, depth: int, layer: Layer, target: str, is_last: bool) -> str:
        """Statement that makes an output of a sum."""
        if layer.activation == "softmax":
            return "sums[j] = s;"
        value = {
            "step": f"s > {layer.threshold}",
            "positive": "s > 0 ? s : 0",
            "raw": "s",
        }.get(layer.activation, f"@unit{depth}(s)")
        sign = "+=" if is_last and self.n_members > 1 else "="
        return f"{target} {sign} {value};"

    def _softmax(self, rescale: Requantize, bits: int, n: int) -> list[str]:
        """Softmax: fractions of the exponentials of sums."""
        kind = f"u{TYPES[bits]}"
        exponent = f"({self._scaled(rescale, 'fall')})"
        if rescale.limit is not None:
            exponent = (
                f"(fall >= {literal(rescale.limit)} ? {rescale.top}U : {exponent})"
            )
        at = self.curves["powers"].at
        return fill(
            "softmax_int",
            n=n,
            type=kind,
            exponent=exponent,
            at=at("k"),
            at_next=at("k + 1"),
            one=ONE,
        )
