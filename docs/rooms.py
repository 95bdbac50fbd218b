"""Draw the rooms of skmohn as the import statements have them, for architecture.md.

``python docs/rooms.py`` writes docs/rooms.svg; ``make docs`` calls it first.
"""

import ast
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parent
PACKAGE = DOCS.parent / "skmohn"
# From the ground to the top; rooms inside of mohn are in a box of their own.
FLOORS = [
    ["_core"],
    ["mohn", "blm", "energynet"],
    ["datasets", "inspection", "optimize"],
    ["integrations", "_warm_up"],
]
INNER_FLOORS = [
    ["_table", "_design", "_options"],
    ["_models"],
    ["_sparse", "_gp"],
    ["_spike_slab"],
    ["estimators"],
]


def room_of(module):
    """Room of a dotted name; of those inside of mohn, the inner one as well."""
    _, room, *rest = [*module.split("."), "estimators"]
    is_inner = any(rest[0] in floor for floor in INNER_FLOORS)
    inner = rest[0] if is_inner else "estimators"
    return room, inner if room == "mohn" else None


def count_imports():
    """Count import statements from room to room, and files of each room."""
    imports, files = Counter(), Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        if path.parent == PACKAGE and path.stem != "_warm_up":
            continue
        if path.stem != "__init__":
            files[room_of(module)] += 1
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "skmohn."
            ):
                source = f"{node.module}.{node.names[0].name}"
                imports[room_of(module), room_of(source)] += 1
    return imports, files


def place(floors, left, right, bottom, height):
    """Middle of each room, floor by floor."""
    middles = {}
    for level, rooms in enumerate(floors):
        width = (right - left) / len(rooms)
        for k, room in enumerate(rooms):
            y = bottom + level * height
            middles[room] = left + (k + 0.5) * width, y
    return middles


def draw(ax, middles, imports, files, size):
    """Boxes with numbers of files, arrows as wide as there are imports."""
    for (source, target), count in sorted(imports.items()):
        if source == target or not {source, target} <= middles.keys():
            continue
        (x, y), (to_x, to_y) = middles[source], middles[target]
        arrow = {"arrowstyle": "-|>", "color": "#7a8ca5", "shrinkA": 14, "shrinkB": 14}
        ax.annotate(
            "",
            (to_x, to_y),
            (x, y),
            arrowprops=arrow | {"linewidth": 0.4 + 0.06 * min(count, 40)},
        )
    for room, (x, y) in middles.items():
        count = files[room]
        label = f"{room}\n{count} file{'s' * (count != 1)}"
        box = {
            "boxstyle": "round,pad=0.45",
            "facecolor": "white",
            "edgecolor": "#1f3a5f",
        }
        ax.text(x, y, label, ha="center", va="center", fontsize=size, bbox=box)


def main():
    """Write docs/rooms.svg."""
    imports, files = count_imports()
    houses, parts = Counter(), Counter()
    n_files, n_inner = Counter(), Counter()
    for ((room, inner), (other, other_inner)), count in imports.items():
        houses[room, other] += count
        if room == other == "mohn":
            parts[inner, other_inner] += count
    for (room, inner), count in files.items():
        n_files[room] += count
        n_inner[inner] += count
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.6), width_ratios=(1.25, 1), layout="constrained"
    )
    for ax, floors, arrows, counts, title in (
        (left, FLOORS, houses, n_files, "skmohn"),
        (right, INNER_FLOORS, parts, n_inner, "inside of mohn"),
    ):
        draw(ax, place(floors, 0.0, 1.0, 0.0, 1.0), arrows, counts, 9)
        ax.set(xlim=(0, 1), ylim=(-0.5, 3.5), title=title)
        ax.set_axis_off()
    plt.rcParams.update({"svg.hashsalt": "skmohn", "svg.fonttype": "none"})
    figure.savefig(DOCS / "rooms.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
