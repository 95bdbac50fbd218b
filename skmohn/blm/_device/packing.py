"""Codes of weights as bytes, in groups that end with a byte."""

import numpy as np
from numpy.typing import NDArray


class Packing:
    """Storage of weights of a number of bits."""

    # The bits of a weight are cut into parts of 8, 4, 2 and 1 bits, from the lowest on;
    # a group is the fewest weights whose parts fill bytes, and stores part by part. So
    # each weight takes its bits and no more, and no part lies in two bytes.

    def __init__(self, n_bits: int) -> None:
        self.n_bits = n_bits
        self.parts = [8] * (n_bits // 8) + [p for p in (4, 2, 1) if n_bits & p]
        self.group = 8 // self.parts[-1]
        self.bytes_of_group = n_bits * self.group // 8
        # Whole bytes are signed; from others the device subtracts as much as makes them
        # codes.
        self.is_signed = n_bits in (8, 16)
        self.shift = 0 if self.is_signed else 2 ** (n_bits - 1)

    def padded(self, n: int) -> int:
        """Padded number of weights of a row: whole groups, one at least."""
        return max(-(-n // self.group), 1) * self.group

    def row_bytes(self, n: int) -> int:
        """Bytes of a row of weights."""
        return self.padded(n) // self.group * self.bytes_of_group

    def pack(self, codes: NDArray[np.integer]) -> NDArray[np.uint8]:
        """Bytes of a matrix of codes, row by row."""
        # Stored is ``code + shift``, also of the zeros that fill up a row.
        n_rows, n = codes.shape
        stored = np.full((n_rows, self.padded(n)), self.shift)
        stored[:, :n] = codes + self.shift
        groups = stored.reshape(n_rows, -1, self.group)
        found, low = [], 0
        for part in self.parts:
            fields = groups >> low & 2**part - 1
            fields = fields.reshape(*groups.shape[:2], -1, 8 // part)
            found.append((fields << np.arange(0, 8, part)).sum(axis=3))
            low += part
        return np.concatenate(found, axis=2).astype(np.uint8).ravel()

    @property
    def type(self) -> str:
        """Type of a code in C."""
        bits = 8 if self.n_bits <= 8 else 16 if self.n_bits <= 16 else 32
        return f"int{bits}_t"

    def one(self) -> tuple[list[str], str]:
        """Reading code `k` of the row at `w` in C: lines, and its expression."""
        lines = [f"w += k * {self.bytes_of_group};"]
        if self.group > 1:
            lines = [
                f"const uint8_t i = (uint8_t)(k % {self.group});",
                f"w += k / {self.group} * {self.bytes_of_group};",
            ]
        fields, start, low = [], 0, 0
        for part in self.parts:
            byte = f" + i * {part} / 8" if self.group * part > 8 else ""
            field = f"@READ8(w + {start}{byte})"
            if part < 8:
                field = f"({field} >> (i * {part} % 8) & {2**part - 1})"
            fields.append(self._shifted(field, low))
            start += self.group * part // 8
            low += part
        return lines, self.code(_joined(fields))

    def unpacked(self) -> tuple[list[str], list[tuple[str, list[str]]]]:
        """C code that reads a group."""
        # Returned are lines that read the bytes; for each weight its stored value, and
        # lines before the next one.
        lines, fields, low = [], [([], []) for _ in range(self.group)], 0
        for part in self.parts:
            per_byte = 8 // part
            is_cut = "" if per_byte > 1 else "const "
            for k in range(self.group * part // 8):
                name = f"c{len(lines)}"
                lines.append(f"{is_cut}uint8_t {name} = @NEXT(w);")
                for index in range(per_byte):
                    field, after = name, []
                    if index < per_byte - 1:
                        # To shift bit by bit as they are used is short and quick.
                        field = f"({name} & {2**part - 1})"
                        after = [f"{name} = (uint8_t)({name} >> {part});"]
                    parts, lines_after = fields[k * per_byte + index]
                    parts.append(self._shifted(field, low))
                    lines_after += after
            low += part
        return lines, [(_joined(parts), after) for parts, after in fields]

    def code(self, stored: str) -> str:
        """Expression of a code, given what is stored."""
        if self.is_signed:
            return f"(int{self.n_bits}_t){stored}"
        if self.n_bits > 16:
            return f"((int32_t){stored} - {self.shift}L)"
        return f"({self.type})({stored} - {self.shift})"

    def _shifted(self, field: str, low: int) -> str:
        """Field, shifted to its bits of the weight."""
        if not low:
            return field
        kind = "uint16_t" if self.n_bits <= 16 else "uint32_t"
        return f"(({kind}){field} << {low})"


def _joined(parts: list[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    kind = parts[-1][2:].split(")")[0]
    return f"({kind})({' | '.join(parts)})"
