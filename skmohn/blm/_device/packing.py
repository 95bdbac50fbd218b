"""Codes of weights as bytes, in groups that end with a byte."""

import numpy as np


class Packing:
    """How weights of so many bits are stored.

    The bits of a weight are cut into parts of 8, 4, 2 and 1 bits, from the lowest on; a
    group is the fewest weights whose parts fill bytes, and stores part by part. So each
    weight takes its bits and no more, and no part lies in two bytes.

    Parameters
    ----------
    n_bits : int
    """

    def __init__(self, n_bits):
        self.n_bits = n_bits
        self.parts = [8] * (n_bits // 8) + [p for p in (4, 2, 1) if n_bits & p]
        self.group = 8 // self.parts[-1]
        self.bytes_of_group = n_bits * self.group // 8
        # Whole bytes are signed; to others the largest code is added, so that none is
        # negative.
        self.is_signed = n_bits in (8, 16)
        self.shift = 0 if self.is_signed else 2 ** (n_bits - 1)

    def padded(self, n):
        """Number of weights that a row of so many is filled up to, a group at least."""
        return max(-(-n // self.group), 1) * self.group

    def row_bytes(self, n):
        """Bytes of a row of so many weights."""
        return self.padded(n) // self.group * self.bytes_of_group

    def pack(self, codes):
        """Bytes of a matrix of codes, row by row.

        Stored is ``code + shift``, and zero where there is no weight.
        """
        n_rows, n = codes.shape
        stored = np.zeros((n_rows, self.padded(n)), dtype=np.int64)
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
    def stored_type(self):
        """Type of a stored weight in C."""
        bits = 8 if self.n_bits <= 8 else 16 if self.n_bits <= 16 else 32
        return f"{'' if self.is_signed else 'u'}int{bits}_t"

    def one(self):
        """Reading weight `k` of the row at `w` in C: lines, and its expression."""
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
        return lines, self._signed(_joined(fields))

    def unpacked(self):
        """Reading a group in C: lines, and the expression of each weight."""
        lines, fields, low = [], [[] for _ in range(self.group)], 0
        for part in self.parts:
            per_byte = 8 // part
            for k in range(self.group * part // 8):
                name = f"c{len(lines)}"
                lines.append(f"const uint8_t {name} = @NEXT(w);")
                for place in range(per_byte):
                    field = _field(name, place * part, part)
                    fields[k * per_byte + place].append(self._shifted(field, low))
            low += part
        return lines, [self._signed(_joined(parts)) for parts in fields]

    def _shifted(self, field, low):
        """A field in its place in the weight."""
        if not low:
            return field
        kind = "uint16_t" if self.n_bits <= 16 else "uint32_t"
        return f"(({kind}){field} << {low})"

    def _signed(self, stored):
        return f"(int{self.n_bits}_t){stored}" if self.is_signed else stored


def _field(name, low, width):
    """Some bits of a byte."""
    if width == 8:
        return name
    if low == 0:
        return f"({name} & {2**width - 1})"
    if low + width == 8:
        return f"({name} >> {low})"
    return f"({name} >> {low} & {2**width - 1})"


def _joined(parts):
    if len(parts) == 1:
        return parts[0]
    kind = parts[-1][2:].split(")")[0]
    return f"({kind})({' | '.join(parts)})"
