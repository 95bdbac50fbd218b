"""A program in whole numbers as C."""

import numpy as np

from skmohn.blm._device.c_parts import TYPES, Array, counter, indent, literal
from skmohn.blm._device.c_writer import Writer
from skmohn.blm._device.quantize import CURVED
from skmohn.blm._device.tables import ONE, POWERS


class WholeWriter(Writer):
    """Writes the functions of a program in whole numbers.

    Parameters
    ----------
    program : WholeProgram
    """

    def __init__(self, program):
        biases = [bias for member in program.biases for bias in member]
        super().__init__(program, np.concatenate(biases))
        self.code = TYPES[8 if program.bits <= 8 else 16]
        self.output = TYPES[program.output_bits]
        self.silent = [layer.answers.silent for layer in program.layers[:-1]]
        self.inputs = self._input_arrays()
        self.curves = self._curve_arrays()

    def arrays(self):
        """All tables."""
        return [self.weights, self.biases, *self.inputs.values(), *self.curves.values()]

    # --------------------------------------------------------------------- tables

    def _input_arrays(self):
        inputs = self.program.inputs
        names = ("start", "inverse")
        if self.program.kind != "float32":
            names = ("center", "factor", "shift")
        return {name: Array(f"@{name}", getattr(inputs, name)) for name in names}

    def _curve_arrays(self):
        kinds = {layer.activation for layer in self.program.layers}
        found = {}
        if kinds.intersection(CURVED):
            points = self.program.curve.points
            found["tanh"] = Array("@tanh", points, always=True)
        if "softmax" in kinds:
            found["powers"] = Array("@powers", POWERS.points, always=True)
        return found

    # ------------------------------------------------------------------ functions

    def helpers(self):
        """Lines of the functions that a network calls."""
        lines = []
        for bits in sorted({layer.sum_bits for layer in self.program.layers}):
            lines += [*self._total(bits), *self._dot(bits)]
        if "tanh" in self.curves:
            lines += self._curve()
        for depth, layer in enumerate(self.program.layers):
            lines += self._unit(depth, layer)
        return [*lines, *self._read()]

    def _total(self, bits):
        return f"""\
static u{TYPES[bits]} @total{bits}(const {self.code} *x, {self.counter} n)
{{
    u{TYPES[bits]} sum = 0;
    do sum += (u{TYPES[bits]})*x++; while (--n);
    return sum;
}}
""".splitlines()

    def _dot(self, bits):
        """Sum of inputs times stored weights, modulo 2 ** bits."""
        reads, fields = self.packing.unpacked()
        total = f"u{TYPES[bits]}"
        products = [
            f"sum += {self._product(bits, f'x[{k}]', field)};"
            for k, field in enumerate(fields)
        ]
        return [
            f"static {total} @dot{bits}(const {self.code} *x, const uint8_t *w, "
            f"{self.counter} n)",
            "{",
            f"    {total} sum = 0;",
            "    do {",
            *indent([*reads, *products, f"x += {self.packing.group};"], 2),
            "    } while (--n);",
            "    return sum;",
            "}",
            "",
        ]

    def _product(self, bits, x, field):
        """A product modulo 2 ** bits, in types that cannot overflow."""
        n_bits = self.packing.n_bits
        if bits == 16:
            if self.program.bits <= 8 and n_bits <= 8:
                return f"(uint16_t)({x} * {field})"
            return f"(uint16_t)((unsigned){x} * (unsigned){field})"
        if n_bits <= 16:
            kind = "int16_t" if n_bits < 16 else "int32_t"
            return f"(uint32_t)((int32_t){x} * ({kind}){field})"
        return f"(uint32_t){x} * {field}"

    def _curve(self):
        points = self.program.curve.points
        most = int(np.diff(points).max())
        rise = "uint8_t" if most < 256 else "uint16_t"
        product = "uint16_t" if most * 255 + 128 < 2**16 else "uint32_t"
        at = self.curves["tanh"].at
        value = "uint8_t" if self.curves["tanh"].kind == "uint8_t" else "uint16_t"
        return f"""\
/* The hyperbolic tangent, on straight lines between points. */
static {self.code} @curve(uint16_t place)
{{
    const uint8_t k = (uint8_t)(place >> 8), part = (uint8_t)place;
    const {value} before = {at("k")};
    const {rise} rise = ({rise})({at("k + 1")} - before);
    return ({self.code})(before + (({product})(({product})rise * part + 128) >> 8));
}}
""".splitlines()

    def _scaled(self, rescale, size):
        """The expression of a size in other units."""
        inner = f"({size} >> {rescale.pre})" if rescale.pre else size
        product = f"(uint32_t)(uint16_t){inner} * {rescale.factor}U"
        if not rescale.shift:
            return product
        half = literal((1 << rescale.shift) >> 1)
        return f"({product} + {half}) >> {rescale.shift}"

    def _unit(self, depth, layer):
        """The activation of a layer, and the scale of sums over its own units."""
        kind, bits = layer.activation, layer.sum_bits
        lines = []
        if layer.own_rescale is not None:
            scaled = self._scaled(layer.own_rescale, "size")
            lines += [
                f"static {TYPES[bits]} @own{depth}({TYPES[bits]} s)",
                "{",
                f"    const u{TYPES[bits]} size = {self._size(bits)};",
                f"    const {TYPES[bits]} y = ({TYPES[bits]})({scaled});",
                "    return s < 0 ? -y : y;",
                "}",
                "",
            ]
        if layer.rescale is None or kind == "softmax":
            return lines
        rescale, curved = layer.rescale, kind in CURVED
        inner = self._scaled(rescale, "size")
        value = f"@curve((uint16_t)({inner}))" if curved else f"({self.code})({inner})"
        if rescale.limit is not None:
            top = layer.answers.high
            value = f"size >= {literal(rescale.limit)} ? {top} : {value}"
        lines += [
            f"static {self.code} @unit{depth}({TYPES[bits]} s)",
            "{",
            f"    const u{TYPES[bits]} size = {self._size(bits)};",
            f"    const {self.code} y = {value};",
            "    return s < 0 ? 0 : y;"
            if kind == "relu"
            else "    return s < 0 ? -y : y;",
            "}",
            "",
        ]
        return lines

    def _size(self, bits):
        kind = f"u{TYPES[bits]}"
        return f"s < 0 ? ({kind})(0U - ({kind})s) : ({kind})s"

    def _read(self):
        """From what the device is given to codes."""
        n, top = self.sizes[0], self.program.inputs.top
        at = {name: array.at("i") for name, array in self.inputs.items()}
        if self.program.kind == "float32":
            body = [
                f"float v = (input[i] - {at['start']}) * {at['inverse']};",
                "int16_t t;",
                "/* Also what is not a number is cut. */",
                f"if (!(v > -{top}.0f)) v = -{top}.0f;",
                f"if (v > {top}.0f) v = {top}.0f;",
                "t = (int16_t)v;",
                f"x[i] = ({self.code})((float)t > v ? t - 1 : t);",
            ]
        else:
            shift, center = self.inputs["shift"], self.inputs["center"]
            d = "input[i]"
            if center.is_table or center.values[0]:
                d = f"({d} - {at['center']})"
                if self.program.kind == "int16":
                    d = f"((int32_t)input[i] - {at['center']})"
            half = f"((1L << {at['shift']}) >> 1)"
            if not shift.is_table:
                half = literal((1 << int(shift.values[0])) >> 1)
            body = [
                f"const int32_t v = ((int32_t){d} * (int16_t){at['factor']} + {half})"
                f" >> {at['shift']};",
                f"x[i] = ({self.code})(v > {top} ? {top} : v < -{top} ? -{top} : v);",
            ]
        return [
            f"static void @read(const @input *input, {self.code} *x)",
            "{",
            f"    {counter(n)} i;",
            f"    for (i = 0; i < {n}; i++) {{",
            *indent(body, 2),
            "    }",
            *indent(self.fill_up("x", n)),
            "}",
            "",
        ]

    # ------------------------------------------------------------------ the network

    def layer(self, depth, x, to):
        """Lines of a layer, from one buffer to another, or to the outputs."""
        layer = self.program.layers[depth]
        n_in, n_out = self.sizes[depth : depth + 2]
        bits, packing = layer.sum_bits, self.packing
        groups = packing.padded(n_in) // packing.group
        half = packing.n_bits - 1
        kind, signed = f"u{TYPES[bits]}", TYPES[bits]
        lines = [f"const {kind} lack = ({kind})(@total{bits}({x}, {n_in}) << {half});"]
        own = layer.own_rescale is not None
        if own:
            total = f"@total{bits}(state, {n_out})"
            lines.append(f"const {kind} own = ({kind})({total} << {half});")
        if layer.activation == "softmax":
            lines += [f"{signed} sums[{n_out}], most;", "uint32_t total = 0;"]
        inner = [
            f"{signed} s = ({signed})(@dot{bits}({x}, w, {groups}) - lack"
            f" + ({kind}){self.bias});",
            f"w += {packing.row_bytes(n_in)};",
            "b++;",
        ]
        if own:
            dot = f"@dot{bits}(state, w, {packing.padded(n_out) // packing.group})"
            inner += [
                f"s += @own{depth}(({signed})({dot} - own));",
                f"w += {packing.row_bytes(n_out)};",
            ]
        target = f"{to}[j]" if to else "output[j]"
        inner.append(self._answer(depth, layer, target, to is None))
        lines += [f"for (j = 0; j < {n_out}; j++) {{", *indent(inner), "}"]
        if layer.activation == "softmax":
            lines += self._shares(layer, n_out)
        lines += self.keep(to, n_out)
        title = f"{{ /* from {n_in} to {n_out}: sums fit {bits} bits */"
        return [title, *indent(lines), "}"]

    def _answer(self, depth, layer, target, is_last):
        """The statement that makes an output of a sum."""
        if layer.activation == "softmax":
            return "sums[j] = s;"
        value = {
            "step": f"s > {layer.threshold}",
            "positive": "s > 0 ? s : 0",
            "raw": "s",
        }.get(layer.activation, f"@unit{depth}(s)")
        sign = "+=" if is_last and self.n_members > 1 else "="
        return f"{target} {sign} {value};"

    def _shares(self, layer, n):
        """Of sums, the shares of their exponentials."""
        bits, rescale = layer.sum_bits, layer.rescale
        kind = f"u{TYPES[bits]}"
        place = f"({self._scaled(rescale, 'fall')})"
        if rescale.limit is not None:
            place = f"(fall >= {literal(rescale.limit)} ? {rescale.top}U : {place})"
        at = self.curves["powers"].at
        return f"""\
uint16_t parts[{n}];
most = sums[0];
for (j = 1; j < {n}; j++) if (sums[j] > most) most = sums[j];
for (j = 0; j < {n}; j++) {{
    const {kind} fall = ({kind})(({kind})most - ({kind})sums[j]);
    const uint16_t place = (uint16_t){place};
    const uint8_t k = (uint8_t)(place >> 8 & 15), part = (uint8_t)place;
    const uint16_t before = {at("k")}, drop = (uint16_t)(before - {at("k + 1")});
    const uint16_t less = (uint16_t)(((uint32_t)drop * part + 128) >> 8);
    parts[j] = (uint16_t)((uint16_t)(before - less) >> (place >> 12));
    total += parts[j];
}}
for (j = 0; j < {n}; j++)
    output[j] += (@output)(((uint32_t)parts[j] * {ONE}UL + total / 2) / total);
""".splitlines()
