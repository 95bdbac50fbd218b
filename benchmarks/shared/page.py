"""Results as Markdown, for the pages of the documentation, with their ages.

A result is older than the code when the code of a module that its script imports,
itself or through others, has changed since the commit that it is of. Docstrings,
comments and annotations are no code.
"""

import ast
import hashlib
import inspect
import subprocess
from functools import cache

from benchmarks.shared import results

HEADING = """```{list-table}
:header-rows: 1
:widths: 32 46 22

* - problem
  - figure
  - script
"""


def section(scripts):
    """Markdown of the results of these scripts.

    Those transcribed from earlier pages are rows of one table, problem and figure in
    words; the tables of the others follow.
    """
    rows, tables = [], []
    for script in scripts:
        for result in results_of(script):
            if result.get("transcribed"):
                rows += transcribed(result)
            else:
                tables += measured(result)
    return "\n".join([*([HEADING + "\n".join(rows) + "\n```\n"] * bool(rows)), *tables])


def papers(scripts):
    """Markdown of what scripts about a paper found, and of what is unexplained."""
    parts = []
    for script in scripts:
        parts.append(f"{unexplained(script)}\n")
        if not found_files(script):
            parts.append(f"No run of `{script}` is stored.\n")
            continue
        for result in results_of(script):
            parts += measured(result, size_of(result))
    return "\n".join(parts)


def docstring(script):
    """The docstring of a script."""
    source = results.source_of(script).read_text(encoding="utf-8")
    return inspect.cleandoc(ast.get_docstring(ast.parse(source)))


def unexplained(script):
    """The paragraph of a docstring that begins with that word."""
    paragraphs = docstring(script).split("\n\n")
    return next(part for part in paragraphs if part.startswith("**Unexplained:**"))


def size_of(result):
    """How large a run was, beside the paper's."""
    given = [part["paper"] for part in result["parts"] if "paper" in part]
    if not given:
        return f"{results.often(result['options'])}, of which only the table was kept"
    return results.size(result["options"], given[0])


def results_of(script):
    """Results of a script, the full one first."""
    found = found_files(script)
    if not found:
        raise FileNotFoundError(f"{script} has no result in {results.FOLDER}")
    return [results.read(path) for path in found]


def found_files(script):
    """Files with results of a script, the full one first."""
    full = results.path_of(script)
    parts = sorted(full.parent.glob(f"{full.stem}--*.json"))
    return [path for path in (full, *parts) if path.exists()]


def command(result):
    """How a script was run."""
    given = f"{result['script']} {result['arguments']}".strip()
    return result.get("command", f"`{given}`")


def transcribed(result):
    """Rows of a list-table."""
    return [
        f"* - {row['problem']}\n  - {row['figure']}\n"
        f"  - {command(result)}; {age(row | {'script': result['script']})}"
        for row in result["rows"]
    ]


def measured(result, size=None):
    """A table for each one that the script printed, and where it is from."""
    clock = {"wall": "wall seconds", "cpu": "processor seconds"}[result["clock"]]
    processor = result["processor"] or "processor not recorded"
    source = f"{command(result)}; {age(result)}; {processor}, {clock}"
    if hours := result.get("processor_hours"):
        source += f"; {hours:.2f} processor hours"
    source += f"; {size}" * (size is not None)
    if result["left_out"]:
        source += f"; left out: {'; '.join(result['left_out'])}"
    lines = [f"{source}.\n"]
    for part in result["parts"]:
        if "columns" in part:
            lines += table(part)
        elif "text" in part:
            lines.append(f"{part['text']}\n")
        elif "picture" in part:
            lines.append(f"![{part['alt']}]({part['picture']})\n")
    return lines


def table(part):
    """A table in Markdown, its title above it and what missed its aim below."""
    # Long names are broken at spaces alone.
    names = [name.replace("_", " ").replace(":", ": ") for name in part["columns"]]
    columns = [in_a_cell(name) for name in names]
    align = [":--", *["--:"] * (len(columns) - 1)]
    rows = [[in_a_cell(cell) for cell in row] for row in part["rows"]]
    lines = [" | ".join(cells) for cells in (columns, align, *rows)]
    lines = [*(f"| {line} |" for line in lines), ""]
    if part.get("title"):
        lines.insert(0, f"**{part['title']}**\n")
    if part.get("missed"):
        lines.append(f"**Missed:** {', '.join(part['missed'])}.\n")
    return lines


def in_a_cell(cell):
    """A value as text that does not end its cell."""
    return results.as_text(cell).replace("|", "\\|")


def age(result):
    """Date of a result, and whether the code has changed since."""
    old = is_older_than_code(result["commit"], result["script"])
    return f"{result['date']}{', *older than the code*' * bool(old)}"


@cache
def is_older_than_code(commit, script):
    """Whether code that the script runs has changed; None where git cannot tell."""
    if commit is None or commit.endswith("-dirty"):
        return None if commit is None else True
    listed = git("ls-tree", "-r", commit, "skmohn")
    if listed is None:
        return None
    # Mode, type, hash, tab, path.
    before = dict(line.split("\t")[::-1] for line in listed.splitlines())
    for path in measured_files(script):
        entry = before.get(path.relative_to(results.ROOT).as_posix())
        if entry is None:
            return True
        content = path.read_bytes()
        if entry.split()[2] != git_hash(content):
            earlier = git("cat-file", "blob", entry.split()[2])
            if path.suffix != ".py" or code(earlier) != code(content):
                return True
    return False


def git(*arguments):
    """What git prints; None where it fails or there is none."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=results.ROOT, capture_output=True, encoding="utf-8"
        )
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


@cache
def git_hash(content):
    """The name that git gives to a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@cache
def code(source):
    """What Python runs of a module: no docstrings, comments or annotations."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            node.body = node.body[ast.get_docstring(node) is not None :]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return ast.dump(tree)


@cache
def measured_files(script):
    """Files of skmohn that a script imports, itself or through others, C included."""
    todo, found = [results.source_of(script)], set()
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += imported(path)
    package = results.ROOT / "skmohn"
    ours = {path for path in found if package in path.parents}
    # A script that runs Python in processes of its own imports nothing here.
    ours = ours or set(package.rglob("*.py"))
    return sorted(ours.union(*(path.parent.glob("c/*.h") for path in ours)))


@cache
def imported(path):
    """Files of skmohn and of benchmarks that a file imports."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                module = node.module
                if module == "skmohn":
                    module = homes().get(alias.name, module)
                found += [file_of(f"{module}.{alias.name}") or file_of(module)]
        elif isinstance(node, ast.Import):
            found += [file_of(alias.name) for alias in node.names]
    # What the package itself imports is for type checkers.
    return [file for file in found if file and file.parent.name != "skmohn"]


@cache
def homes():
    """Subpackages of the public names of skmohn."""
    source = (results.ROOT / "skmohn" / "__init__.py").read_text(encoding="utf-8")
    return next(
        ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES"
    )


def file_of(module):
    """File of a module of ours; None for others."""
    first, *_ = parts = module.split(".")
    path = results.ROOT.joinpath(*parts)
    files = path / "__init__.py", path.with_suffix(".py")
    if first not in {"skmohn", "benchmarks"}:
        return None
    return next((file for file in files if file.is_file()), None)
