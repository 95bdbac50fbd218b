"""Figure 4: the values that weights reach while their low bits are frozen.

The paper draws two weights of 5 bits that start small, of which only the two highest
bits may move: the grid of values that they reach is set off from the origin. It says
of the remedy, initial weights that are multiples of the first movable bit, that all
low bits are then zero. **Left open:** whether the frozen bits are those of the Gray
code, of which alone the text speaks, or of the plain number. The figure's even grid
and the remedy are those of the plain number, which is therefore the published reading
on this page. Both are drawn here, from a start at 1 and -2 steps.

A flip of a high Gray bit mirrors what lies below it. Frozen Gray bits therefore leave
a small weight four values, two near zero and two at the ends of the range, and one that
starts at 8, a multiple of the first movable bit, never gets to zero. With frozen binary
bits (`freeze="binary"`, the default) the grid is even, and the remedy works.
Nothing depends on a seed.

**Unexplained:** nothing: the grid is that of the paper where binary bits are frozen,
and not with Gray bits.
"""

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.shared import results
from benchmarks.shared.report import Report
from skmohn.blm._codec import code_range
from skmohn.blm._search import MoveOptions, ask, start_search, tell

N_BITS, MOVABLE = 5, 2
START = (1, -2)
FREEZES = ("gray", "binary")


def reached_from(code, freeze):
    """Return all values that moves of the highest bits lead to from one value."""
    moves = MoveOptions(
        N_BITS, "gray", telescopic="local_minimum", start_bits=MOVABLE, freeze=freeze
    )
    reached, new = {code}, [code]
    while new:
        search = start_search([new.pop()], 0.0, moves, seed=0)
        # No move improves; the first ones are those of the highest bits.
        for _ in range(MOVABLE):
            _, value = ask(search)
            tell(search, 0.0)
            if value not in reached:
                reached.add(int(value))
                new.append(int(value))
    return sorted(reached)


def main():
    """List what one weight reaches, and draw it for two."""
    report = Report(instances=1, quick_instances=1)
    report.table(
        ("start, in steps", "frozen", "values it reaches", "zero is one of them"),
        (
            (start, freeze, ", ".join(map(str, values)), 0 in values)
            for start in (*START, 0, 8)
            for freeze in FREEZES
            for values in [reached_from(start, freeze)]
        ),
    )
    low, high = code_range(N_BITS)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
    for ax, freeze in zip(axes, FREEZES, strict=True):
        x, y = (reached_from(start, freeze) for start in START)
        for value in x:
            ax.axvline(value, color="#2b5b9e")
        for value in y:
            ax.axhline(value, color="#2b5b9e")
        ax.plot(*START, "ko")
        ax.plot(0, 0, "+", color="#a3202c", markersize=12)
        ax.set(
            title=f"frozen {freeze} bits",
            xlabel="first weight / step",
            ylabel="second weight / step",
            xlim=(low - 1, high + 2),
            ylim=(low - 1, high + 2),
            aspect="equal",
        )
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks(np.arange(low, high + 1), minor=True)
        ax.grid(which="both", color="#e4e0d6", linewidth=0.5)
        ax.set_axisbelow(True)
    report.picture(
        figure,
        "grid",
        "Two grids around the starting point. With frozen Gray bits their lines lie in "
        "pairs near zero and at the ends, with frozen binary bits they are even; "
        "neither passes through the origin, a cross",
    )


if __name__ == "__main__":
    results.record(main)
