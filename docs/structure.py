"""Tables of modules and a picture of the layers, made from the code at each build."""

import ast
from collections import Counter
from itertools import groupby
from pathlib import Path

import matplotlib.pyplot as plt
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

DOCS = Path(__file__).resolve().parent
PACKAGE = DOCS.parent / "skmohn"
# From the core up; folders inside of mohn have a picture of their own.
LAYERS = [
    ["_core"],
    ["mohn", "blm", "energynet"],
    ["datasets", "inspection", "optimize"],
    ["integrations", "model_selection", "_warm_up"],
]
INNER_LAYERS = [
    ["_table", "_design", "_options"],
    ["_models"],
    ["_sparse", "_gp"],
    ["_spike_slab", "_field", "_export"],
    ["estimators"],
]


def subpackage_of(module):
    """Subpackage of a dotted name and, in mohn, the folder inside."""
    _, name, *rest = [*module.split("."), "estimators"]
    is_inner = any(rest[0] in layer for layer in INNER_LAYERS)
    inner = rest[0] if is_inner else "estimators"
    return name, inner if name == "mohn" else None


def count_imports():
    """Count import statements between subpackages, and files of each."""
    imports, files = Counter(), Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        if path.parent == PACKAGE and path.stem != "_warm_up":
            continue
        if path.stem != "__init__":
            files[subpackage_of(module)] += 1
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "skmohn."
            ):
                source = f"{node.module}.{node.names[0].name}"
                imports[subpackage_of(module), subpackage_of(source)] += 1
    return imports, files


def arrange(layers, left, right, bottom, height):
    """Center of each subpackage, layer by layer."""
    middles = {}
    for level, names in enumerate(layers):
        width = (right - left) / len(names)
        for k, name in enumerate(names):
            y = bottom + level * height
            middles[name] = left + (k + 0.5) * width, y
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
    for name, (x, y) in middles.items():
        count = files[name]
        label = f"{name}\n{count} file{'s' * (count != 1)}"
        box = {
            "boxstyle": "round,pad=0.45",
            "facecolor": "white",
            "edgecolor": "#1f3a5f",
        }
        ax.text(x, y, label, ha="center", va="center", fontsize=size, bbox=box)


def draw_layers(path):
    """Write the picture of the layers."""
    imports, files = count_imports()
    houses, parts = Counter(), Counter()
    n_files, n_inner = Counter(), Counter()
    for ((name, inner), (other, other_inner)), count in imports.items():
        houses[name, other] += count
        if name == other == "mohn":
            parts[inner, other_inner] += count
    for (name, inner), count in files.items():
        n_files[name] += count
        n_inner[inner] += count
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.6), width_ratios=(1.25, 1), layout="constrained"
    )
    for ax, layers, arrows, counts, title in (
        (left, LAYERS, houses, n_files, "skmohn"),
        (right, INNER_LAYERS, parts, n_inner, "inside of mohn"),
    ):
        draw(ax, arrange(layers, 0.0, 1.0, 0.0, 1.0), arrows, counts, 9)
        ax.set(xlim=(0, 1), ylim=(-0.5, 3.5), title=title)
        ax.set_axis_off()
    figure.savefig(path)
    plt.close(figure)


class Modules(Directive):
    """A table of modules for each folder, with the first lines of their docstrings."""

    def run(self):
        """Parse the tables as Markdown, which the page is in."""
        lines = []
        files = [p for p in sorted(PACKAGE.rglob("*.py")) if p.stem != "__init__"]
        files = [p for p in files if p.parent != PACKAGE]
        for folder, modules in groupby(files, key=lambda path: path.parent):
            name = folder.relative_to(PACKAGE.parent).as_posix()
            lines += [f":::{{list-table}} `{name}/`", ":widths: 25 75", ""]
            for path in modules:
                summary = first_line(path)
                lines += [f"* - `{path.name}`", f"  - {summary}"]
            lines += [":::", ""]
        node = nodes.container()
        self.state.nested_parse(StringList(lines, "modules"), 0, node)
        return node.children


def first_line(path):
    """First line of a module's docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def setup(app):
    """Called by sphinx."""
    app.add_directive("modules", Modules)
    generated = DOCS / "generated"
    generated.mkdir(exist_ok=True)
    draw_layers(generated / "layers.svg")
    return {"parallel_read_safe": True}
