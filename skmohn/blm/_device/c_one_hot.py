"""Categories in C: the weight of the one that is given, and no other, is added."""

from collections.abc import Iterable

from skmohn.blm._device.c_literals import Array, counter, fill
from skmohn.blm._device.categories import Categories
from skmohn.blm._device.packing import Packing

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
        """Declare what the categories of one input are kept in."""
        return [f"{kind} {name}[{self.n}];" for name, kind in self._types()]

    def outputs(self) -> list[str]:
        """Arguments of what fills the buffers."""
        return [f"{kind} *{name}" for name, kind in self._types()]

    def arguments(self) -> list[str]:
        """Arguments of what reads the buffers."""
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
