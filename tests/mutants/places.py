"""The places of a module at which an error can be made, and the errors."""

import ast
import copy
from dataclasses import dataclass

OTHER_OPERATOR = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
# Between integers it matters whether the bound is taken in.
AT_THE_BOUND = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OTHER_FUNCTION = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
}
# Without them only the scale or the sign is another.
TRANSPARENT = {"abs", "sqrt", "log", "exp", "log1p", "reversed"}
# What these say is for people; there is nothing to decide in it.
SILENT_CALLS = {"warn", "warn_caller", "print"}


@dataclass(frozen=True)
class Mutant:
    """A module with one error.

    Attributes
    ----------
    place : tuple of int
        Line and column.
    where : str
        The function or class that it is in, or the constant or field whose value it is.
    lines : set of int
        Where it is, without the body of a statement; for private constants where they
        are used.
    constants : set of str
        The private constants that it changes, if it is no function that it does.
    on_import : bool
        Whether what it changes is neither, and may be used anywhere.
    change : str
        What was there, and what is there now.
    tree : ast.Module
        The module with the error.
    """

    place: tuple
    where: str
    lines: frozenset
    constants: frozenset
    on_import: bool
    change: str
    tree: ast.Module


def find_mutants(source):
    """Every error that can be made in a module, in the order of its lines."""
    tree = ast.parse(source)
    mutants = []
    inside = {node for body in bodies(tree) for node in ast.walk(body)}
    for statement, where in statements(tree):
        constants, uses = private_constants(tree, statement)
        for node, changed in errors_below(statement):
            if isinstance(changed, ast.AST):
                ast.copy_location(changed, node)
            head = frozenset(range(node.lineno, end_of_head(node) + 1))
            within = node in inside
            mutants.append(
                Mutant(
                    (node.lineno, node.col_offset),
                    where,
                    head if within else uses,
                    constants,
                    not (within or constants),
                    change_shown(node, changed),
                    exchanged(tree, node, changed),
                )
            )
    return sorted(mutants, key=lambda mutant: mutant.place)


def find_changes(source):
    """Where the errors of a module are, and what they change."""
    return {
        (where, change_shown(node, changed))
        for statement, where in statements(ast.parse(source))
        for node, changed in errors_below(statement)
    }


def errors_below(statement):
    """Yield each node that decides something, with what may stand in its place."""
    for node in decisive_nodes(statement):
        for changed in errors_of(node):
            yield node, changed


def statements(tree):
    """Yield the statements of a module, methods one by one, each with its name."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                yield part, ".".join(filter(None, [node.name, name_of_statement(part)]))
        else:
            yield node, name_of_statement(node)


def name_of_statement(node):
    """The name that a function or an assignment gives, empty where it is none."""
    if isinstance(node, ast.FunctionDef):
        return node.name
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return ", ".join(ast.unparse(target) for target in targets if target)


def private_constants(tree, statement):
    """Constants of which functions alone make use, and the lines at which they do.

    Both are empty for statements that assign something else. A field of a class of
    constants changes the private instances of the class.
    """
    names = {node.id for node in ast.walk(statement) if is_name(node, ast.Store)}
    uses = {node for node in ast.walk(tree) if is_name(node, ast.Load)}
    if owner := class_of_constants(tree, statement):
        uses -= reads_of_other_fields(tree, names)
        names = instances_of(tree, owner)
    elif not isinstance(statement, ast.Assign | ast.AnnAssign):
        names = set()
    uses = {node for node in uses if node.id in names}
    inside = {node for body in bodies(tree) for node in ast.walk(body)}
    is_private = bool(names) and (owner or statement in tree.body)
    if is_private and uses <= inside and all(name.startswith("_") for name in names):
        return frozenset(names), frozenset(node.lineno for node in uses)
    return frozenset(), frozenset()


def class_of_constants(tree, statement):
    """The class of constants that a statement is a field of, or None."""
    for node in tree.body:
        is_owner = isinstance(node, ast.ClassDef) and node.name.endswith("Constants")
        if is_owner and isinstance(statement, ast.AnnAssign) and statement in node.body:
            return node
    return None


def instances_of(tree, owner):
    """Names that a module gives to instances of a class."""
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if name_of(node.value.func) == owner.name
        for target in node.targets
    }


def reads_of_other_fields(tree, fields):
    """Names of which an attribute is read that is none of some fields."""
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr not in fields
    }


def is_name(node, context):
    """Whether a node is a name that is read, or one that is given."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, context)


def decisive_nodes(node):
    """Expressions and statements below a node that decide something."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not is_silent(child):
                yield child
                yield from decisive_nodes(child)


def bodies(tree):
    """The statements that are in functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from node.body


def end_of_head(node):
    """The last line of a node, of what of it comes before its body."""
    test = getattr(node, "test", None)
    return node.end_lineno if test is None else test.end_lineno


def is_silent(node):
    """Whether a change of it can change nothing but words."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import):
        return True
    if isinstance(node, ast.FunctionDef):
        return node.name in ("__repr__", "__str__")
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    if isinstance(node, ast.Call):
        return name_of(node.func) in SILENT_CALLS
    return False


def name_of(function):
    """The last part of a dotted name."""
    return getattr(function, "attr", getattr(function, "id", None))


def errors_of(node):
    """What may stand in a node's place by mistake."""
    match node:
        case ast.Compare(ops=[op]):
            yield replaced(node, ops=[OTHER_OPERATOR[type(op)]()])
            if type(op) in AT_THE_BOUND and is_integer(node):
                yield replaced(node, ops=[AT_THE_BOUND[type(op)]()])
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                other = [*ops[:i], OTHER_OPERATOR[type(op)](), *ops[i + 1 :]]
                yield replaced(node, ops=other)
        case ast.BoolOp(op=op) | ast.BinOp(op=op) | ast.AugAssign(op=op):
            if type(op) in OTHER_OPERATOR:
                yield replaced(node, op=OTHER_OPERATOR[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1 if abs(value) < 10 else 2 * value)
        # Smaller and larger ones keep clear of rounding errors; twice them does so too.
        case ast.Constant(value=float() as value) if 1e-3 <= abs(value) <= 1e3:
            yield ast.Constant(2 * value)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if not isinstance(test, ast.Compare | ast.UnaryOp | ast.BoolOp):
                yield replaced(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Call(func=function, args=[first, *_]):
            name = name_of(function)
            if name in OTHER_FUNCTION:
                key = "attr" if isinstance(function, ast.Attribute) else "id"
                other = replaced(function, **{key: OTHER_FUNCTION[name]})
                yield replaced(node, func=other)
            elif name in TRANSPARENT:
                yield first
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def is_integer(comparison):
    """Whether one side is an integer or a length."""
    return any(
        (isinstance(side, ast.Constant) and type(side.value) is int)
        or (isinstance(side, ast.Call) and name_of(side.func) == "len")
        for side in (comparison.left, *comparison.comparators)
    )


def replaced(node, **fields):
    """A copy of a node with other fields."""
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})


def shown(node):
    """The first line of a node's source."""
    return ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split("\n")[0]


def change_shown(old, new):
    """What was there, and what is there now."""
    return f"{shown(old)}  ->  {shown(new)}"


def exchanged(tree, old, new):
    """A copy of a tree in which one node is another."""

    def copied(node):
        if node is old:
            return new
        if isinstance(node, list):
            return [copied(part) for part in node]
        if not isinstance(node, ast.AST):
            return node
        fields = {name: copied(value) for name, value in ast.iter_fields(node)}
        return ast.copy_location(type(node)(**fields), node)

    return ast.fix_missing_locations(copied(tree))
