"""The import rules of docs/architecture.md, read off the import statements."""

import ast
import re
import runpy
import tomllib
from collections import Counter, namedtuple
from functools import cache
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path
from pprint import pformat
from typing import get_args, get_type_hints

import pytest
import sklearn.base

import skmohn
from skmohn.mohn._models import FitResult
from skmohn.mohn._options import (
    ClassificationStrategy,
    RegressionStrategy,
    Task,
    TermsStrategy,
)
from skmohn.mohn._strategies import STRATEGIES, strategies_for
from skmohn.optimize._methods import METHODS, MethodName

PACKAGE = Path(__file__).resolve().parents[1] / "skmohn"
MODULES = sorted(PACKAGE.rglob("*.py"))
DOOR = PACKAGE / "_core" / "_sklearn.py"
# Alone import private names of other packages.
DOORS = {"skmohn._core._numba", "skmohn._core._sklearn", "skmohn.integrations._optuna"}
STRUCTURE = runpy.run_path(str(Path(__file__).with_name("structure.py")))

# The version stands in `skmohn/__init__.py`, which imports nothing at first.
CORE = {"_core", "__version__"}
FAMILIES = {"mohn", "energynet", "blm"}
APPLICATIONS = {
    *("inspection", "optimize", "datasets", "integrations", "model_selection"),
    "_warm_up",
}

# What stands on what inside of mohn; files that are not named here may import them all.
_SHARED = {"_table", "_design", "_options"}
INNER_SUBPACKAGES = {
    "_table": {"_table"},
    "_design": {"_design"},
    "_options": set(),
    "_missing_inputs": {"_table"},
    "_models": {"_missing_inputs", *_SHARED},
    "_genotypes": _SHARED,
    "_sparse": {"_sparse", "_models", "_training_data", *_SHARED},
    "_gp": {"_gp", "_models", "_missing_inputs", "_training_data", *_SHARED},
    "_spike_slab": {"_spike_slab", "_sparse", "_models", "_training_data", *_SHARED},
    # Nor do these know an estimator.
    # The reader of training data fits nothing.
    "_training_data": {"_genotypes", "_models", *_SHARED},
    "_term_search": {*("_sparse", "_models", "_genotypes", "_training_data"), *_SHARED},
    "_stacking": {
        *("_sparse", "_gp", "_spike_slab", "_models", "_missing_inputs"),
        *("_training_data", "_term_search", *_SHARED),
    },
    "_glm_solve": {
        *("_sparse", "_models", "_missing_inputs", "_training_data", "_term_search"),
        *_SHARED,
    },
    "_export": {"_export", "_genotypes", *_SHARED},
    "_field": {"_field", *_SHARED},
    "_strategies": {
        *("_sparse", "_gp", "_spike_slab", "_models", "_training_data"),
        *("_term_search", "_stacking", "_glm_solve", *_SHARED),
    },
}

KERNELS_MAY_IMPORT = (
    "dataclasses",
    "numpy",
    "numba",
    "skmohn._core._kernel_args",
    "skmohn._core._numba",
    "typing",
)
# What numba documents; all else is its inside.
PUBLIC_NUMBA = {
    "numba",
    "numba.types",
    "numba.extending.intrinsic",
    "numba.extending.overload_method",
}
# Whose attributes are a class's own; functions that read an attribute by its name.
OWNERS = {"self", "cls"}
BY_NAME = {"getattr", "hasattr", "attrgetter"}
TUPLE = namedtuple("TUPLE", "x")
# By which Optuna has its samplers write on trials: there is no public way.
OF_OPTUNA = {"_storage", "_trial_id"}
MOST_CODE_LINES = 800
# Private names of a family that applications may use, all of them in one file.
MOST_ENGINE_NAMES = 25
# The subpackages in which every argument and result has a type, but for kernels; in
# strict ones all rules of pyright hold. Of subpackages inside others the innermost
# counts.
STRICT_SUBPACKAGES = (
    "_core",
    "blm",
    "datasets",
    "energynet",
    "integrations",
    "mohn",
    "mohn._export",
    "mohn._field",
    "mohn._gp",
    "mohn._sparse",
    "mohn._spike_slab",
    "mohn._table",
    "mohn._design",
    "model_selection",
    "optimize",
)
TYPED_SUBPACKAGES = (*(*STRICT_SUBPACKAGES, "inspection"), *("_warm_up", "__init__"))
PLAIN_SOURCES = {"rounding", "cost"}
# Author (2017), equation 3.
REFERENCE = re.compile(
    r"[A-Z].* \(\d{4}\), (algorithm|appendix|equation|figure|section|table) \w+"
)
MOST_STATEMENTS = 10
# What draws by a seed that somebody gives it.
SEEDED = {"default_rng", "Generator", "RandomState", "SeedSequence"}
OTHER_CHANCES = {"random", "secrets"}
OTHER_WORKERS = {"asyncio", "concurrent", "multiprocessing", "subprocess"}


def dotted_name(path):
    """Return ``skmohn.mohn._kernels`` for ``.../skmohn/mohn/_kernels.py``."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts)


NAMES = {dotted_name(path) for path in MODULES}


@cache
def parse(source):
    """Parse a file once for all rules, which only read the tree."""
    return ast.parse(source)


@cache
def nodes_of(source):
    """List all parts of a file's tree, in the order of `ast.walk`."""
    return list(ast.walk(parse(source)))


def sources():
    """Yield each module's dotted name and its source."""
    assert len(MODULES) > 100
    for path in MODULES:
        yield dotted_name(path), path.read_text(encoding="utf-8")


def imported_modules(module, source):
    """Yield the dotted names that a module imports, relative ones resolved.

    ``from a import b`` counts as ``a.b``: whether ``b`` is a module cannot be seen
    in the statement, and both are in the same subpackage.
    """
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # One dot is the package of the module, which is one part shorter.
            above = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def subpackage_of(name):
    """Return the part after ``skmohn``, or an empty string for the package itself."""
    return name.split(".")[1] if "." in name else ""


def subpackages_allowed(subpackage):
    """Return the subpackages that one may import; None where it may import all."""
    if subpackage in CORE:
        return CORE
    if subpackage in FAMILIES:
        return CORE | {subpackage}
    if subpackage == "_warm_up":  # compiles the kernels of all
        return CORE | FAMILIES | APPLICATIONS
    # One exchanges what is searched as well, one searches.
    if subpackage in {"integrations", "model_selection"}:
        return CORE | FAMILIES | {subpackage, "optimize"}
    if subpackage in APPLICATIONS:
        return CORE | FAMILIES | {subpackage}
    raise LookupError(f"skmohn/{subpackage} is no subpackage of docs/architecture.md")


def is_kernels_import(module, name):
    """Whether a kernel file may import a name: tools, or kernels of its own folder."""
    folder = re.escape(module.rpartition(".")[0])
    return f"{name}.".startswith(
        tuple(f"{may}." for may in KERNELS_MAY_IMPORT)
    ) or bool(re.match(rf"{folder}\.\w*_kernels\.", name))


@cache
def exported(family, file="__init__"):
    """What `__all__` of a file of a family lists."""
    path = PACKAGE / family / f"{file}.py"
    tree = parse(path.read_text(encoding="utf-8") if path.exists() else "")
    lists = [
        part.value
        for part in tree.body
        if isinstance(part, ast.Assign) and name_of(part.targets[0]) == "__all__"
    ]
    return set(chain(*map(ast.literal_eval, lists)))


def is_application_import(module, name):
    """Whether an application may import a name: public, or listed by `_engine`."""
    is_application = subpackage_of(module) in APPLICATIONS
    package, family, *inside = [*name.split("."), ""]
    if not is_application or package != "skmohn" or family not in FAMILIES:
        return True
    if inside[0] == "_engine":
        return inside[1] in exported(family, "_engine")
    return inside[0] in {*exported(family), ""}


def is_inner_import(module, name):
    """Whether a file of mohn may import a name by the rule of its inner subpackage."""
    inner, others = (part.split(".")[2:3] for part in (module, name))
    if not module.startswith("skmohn.mohn.") or not name.startswith("skmohn.mohn."):
        return True
    return inner[0] not in INNER_SUBPACKAGES or others[0] in INNER_SUBPACKAGES[inner[0]]


def violations(module, source):
    """Return one sentence for each import that breaks a rule."""
    if module == "skmohn.__init__":  # gathers the public names from everywhere
        return []
    found = []
    allowed = subpackages_allowed(subpackage_of(module))
    is_kernel = module.endswith("_kernels")
    for name in imported_modules(module, source):
        inside = name.split(".")[0] == "skmohn"
        if inside and subpackage_of(name) not in allowed:
            found.append(f"{module} may not import {name}: it is another subpackage's")
        elif is_kernel and not is_kernels_import(module, name):
            found.append(f"{module} may not import {name}: kernels know no more")
        elif not is_application_import(module, name):
            found.append(
                f"{module} may not import {name}: see _engine.py of the family"
            )
        elif not is_inner_import(module, name):
            found.append(f"{module} may not import {name}: another inner subpackage's")
    return found


def test_imports_keep_the_rules():
    found = chain(*(violations(module, source) for module, source in sources()))
    assert not (broken := list(found)), "\n".join(broken)


@pytest.mark.parametrize("family", ["blm", "mohn"])
def test_an_engine_is_small_and_needed(family):
    listed, used = exported(family, "_engine"), set()
    for module, source in sources():
        if subpackage_of(module) in APPLICATIONS:
            names = [name.split(".") for name in imported_modules(module, source)]
            used |= {n[3] for n in names if n[:3] == ["skmohn", family, "_engine"]}
    assert len(listed) <= MOST_ENGINE_NAMES
    assert listed == used


def files_imported(path):
    """Names of the files of skmohn that a file imports, the package's own left out."""
    module = dotted_name(path)
    for name in imported_modules(module, path.read_text(encoding="utf-8")):
        # A name of a file, or of something in it.
        yield from NAMES.intersection((name, name.rpartition(".")[0]))


def test_imports_go_round_in_no_circle():
    graph = {dotted_name(path): set(files_imported(path)) for path in MODULES}
    assert sum(map(len, graph.values())) > 300
    assert list(TopologicalSorter(graph).static_order())


def test_each_module_has_a_summary():
    without = {
        module: summary
        for module, source in sources()
        if parse(source).body
        and not re.match(
            r"[^\n]{10,}\.$",
            summary := (ast.get_docstring(parse(source)) or "").split("\n")[0],
        )
    }
    assert not without


def insides_of_numba(module, source):
    """What a file imports or reads that only `_core/_numba.py` may."""
    reads = {
        ast.unparse(node)
        for node in nodes_of(source)
        if isinstance(node, ast.Attribute) and node.attr == "core"
    }
    return sorted(
        name
        for name in {*imported_modules(module, source), *reads}
        if re.match(r"(numba|llvmlite)\b", name) and name not in PUBLIC_NUMBA
    )


def test_one_file_reads_numbas_inside():
    found = {
        dotted_name(path): insides_of_numba(dotted_name(path), path.read_text("utf-8"))
        for path in MODULES
    }
    assert found.pop("skmohn._core._numba")
    assert not {module: names for module, names in found.items() if names}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from numba.core.caching import FunctionCache", "caching.FunctionCache"),
        ("from llvmlite import ir", "llvmlite.ir"),
        ("import numba\nx = numba.core.config.DISABLE_JIT", "numba.core"),
        ("from numba.extending import _Intrinsic", "_Intrinsic"),
        ("import numba\nfrom numba import types\nnumba.njit(f)", ""),
    ],
)
def test_a_read_of_numbas_inside_is_seen(source, expected):
    found = insides_of_numba("skmohn.mohn._kernels", source)
    assert len(found) == bool(expected)
    assert all(name.endswith(expected) for name in found)


def private_imports(module, source):
    """Private names of other packages that a file imports."""
    names = imported_modules(module, source)
    return [n for n in names if is_private(n) and n.split(".")[0] != "skmohn"]


def test_private_names_of_other_packages_pass_three_doors():
    found = {module: private_imports(module, source) for module, source in sources()}
    found = {module: names for module, names in found.items() if names}
    assert found.keys() <= DOORS, pformat(found)


@pytest.mark.parametrize(
    ("source", "n_private"),
    [
        ("from scipy._lib._util import check_random_state", 1),
        ("import matplotlib._mathtext", 1),
        ("def f():\n    from pandas import _libs", 1),
        ("from ._display import draw\nfrom skmohn._core import _walsh", 0),
        ("from scipy import sparse\nfrom numpy import __version__", 0),
    ],
)
def test_a_private_name_of_another_package_is_seen(source, n_private):
    assert len(private_imports("skmohn.inspection._qq", source)) == n_private


def private_reads(source):
    """Private attributes that a file reads, and that no class of its own has.

    What tuples with names have, such as `_replace`, is not private.
    """
    found, own = set(), set(dir(TUPLE))
    for node in nodes_of(source):
        if isinstance(node, ast.ClassDef):
            own.update(getattr(part, "name", None) for part in node.body)
        elif isinstance(node, ast.Attribute):
            of_self = isinstance(node.value, ast.Name) and node.value.id in OWNERS
            (own if of_self else found).add(node.attr)
        elif isinstance(node, ast.Call) and name_of(node.func) in BY_NAME:
            # Such as getattr(model, "_names", None).
            found.update(a.value for a in node.args[1:2] if isinstance(a, ast.Constant))
    return sorted(name for name in found - own if re.match("_.*(?<!__)$", name))


def test_applications_read_nothing_private():
    found = {
        module: names
        for module, source in sources()
        if subpackage_of(module) in APPLICATIONS
        and (names := private_reads(source))
        and not (module.endswith("._optuna") and set(names) <= OF_OPTUNA)
    }
    assert not found, pformat(found)


def test_a_private_read_is_seen():
    assert private_reads("x = model._terms + model.graph._coef") == ["_coef", "_terms"]
    assert private_reads("getattr(model, '_terms', None)") == ["_terms"]
    assert private_reads("f(model._names())") == ["_names"]
    own = "class A:\n    def _f(self):\n        self._x = 1\n"
    assert private_reads(own + "        return other._f() + other._x") == []
    assert private_reads("x._replace(a=1).__class__") == []


def documented_names():
    """Private names of scikit-learn that its door lists: of the table, and hooks.

    Hooks are what classes define because scikit-learn looks for it.
    """
    text = ast.get_docstring(parse(DOOR.read_text(encoding="utf-8")))
    table, hooks = text.split("\nClasses of skmohn also define ")
    rows = re.findall(r"^(\w+)  +\S", table.split("\n===")[2], flags=re.MULTILINE)
    return set(rows), set(re.findall(r"`(_\w+)`", hooks))


def is_private(name):
    """Whether a part of a dotted name begins with one underscore."""
    return re.search(r"(^|\.)_(?!_)", name) is not None


LISTED = set(filter(is_private, documented_names()[0]))


def private_scikit_learn(module, source, listed=frozenset()):
    """Private names of scikit-learn that a file imports, or reads off what it imports.

    Those of attributes in `listed` are scikit-learn's wherever they are read: whose
    attribute one is cannot be seen.
    """
    found = {
        name
        for name in imported_modules(module, source)
        if name.split(".")[0] == "sklearn" and is_private(name)
    }
    theirs = {"sklearn"}
    for node in nodes_of(source):
        if isinstance(node, ast.Import | ast.ImportFrom):
            of = getattr(node, "module", None)
            theirs.update(
                alias.asname or alias.name.split(".")[0]
                for alias in node.names
                if (of or alias.name).split(".")[0] == "sklearn"
            )
    for node in nodes_of(source):
        if isinstance(node, ast.Attribute):
            # To write every expression would take long.
            chain = ast.unparse(node) if is_private(node.attr) else ""
            if chain.split(".")[0] in theirs:
                found.add(chain)
            # A class that defines a hook goes on to that of its base.
            elif node.attr in listed and ast.unparse(node.value) != "super()":
                found.add(node.attr)
        elif isinstance(node, ast.Call) and name_of(node.func) in BY_NAME:
            named = {a.value for a in node.args if isinstance(a, ast.Constant)}
            found |= named & listed
    return sorted(found)


@pytest.mark.parametrize(
    "folder", ["skmohn", "tests", "benchmarks", "examples", "docs"]
)
def test_scikit_learns_private_names_pass_one_door(folder):
    found = {}
    # Tests may look behind the door.
    listed = LISTED if folder == "skmohn" else set()
    for path in (PACKAGE.parent / folder).rglob("*.py"):
        if path != DOOR and "_build" not in path.parts:
            source = path.read_text(encoding="utf-8")
            if listed or "sklearn" in source:
                found[str(path)] = private_scikit_learn("", source, listed)
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from sklearn.utils._missing import is_scalar_nan",
        "from sklearn.base import _fit_context",
        "def f():\n    import sklearn.utils._missing",
        "import sklearn.utils\nx = sklearn.utils._missing.is_scalar_nan(1)",
        "import sklearn as sk\nsk.utils._safe_indexing(X, 1)",
        "from sklearn.utils import validation as v\nv._num_features(X)",
        "from sklearn.neural_network import MLPClassifier as M\nM._fit",
        "model.mlp_._label_binarizer",
        "getattr(mlp, '_label_binarizer', None)",
        "control._validate_params()",
    ],
)
def test_a_private_name_of_scikit_learn_is_seen(source):
    assert len(private_scikit_learn("skmohn.mohn._a", source, LISTED)) == 1


def test_other_names_of_scikit_learn_are_let_through():
    source = (
        "import sklearn\nfrom sklearn.utils.validation import check_array\n"
        "sklearn.__version__\nself._fit()\nsuper()._validate_params()"
    )
    assert private_scikit_learn("skmohn.mohn._a", source, LISTED) == []


def test_the_door_lists_what_passes():
    tree = parse(DOOR.read_text(encoding="utf-8"))
    passed = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sklearn"):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            passed |= {name.rpartition(".")[2] for name in names if is_private(name)}
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            passed.add(node.attr)
    assert passed == documented_names()[0]


def overridden(kind):
    """Private names of scikit-learn's bases of a class that bases of skmohn define."""
    by_package = {"sklearn": set(), "skmohn": set()}
    for base in kind.__mro__:
        of_package = by_package.get(base.__module__.split(".")[0], set())
        of_package.update(filter(is_private, vars(base)))
    return by_package["sklearn"] & by_package["skmohn"]


def overridden_by_public_classes():
    """What `overridden` finds, by the name of each public class."""
    # Written into each class by Python and by scikit-learn.
    written = {"_abc_impl", "_sklearn_auto_wrap_output_keys"}
    public = {name: getattr(skmohn, name) for name in skmohn.__all__}
    kinds = {name: kind for name, kind in public.items() if isinstance(kind, type)}
    return {name: overridden(kind) - written for name, kind in kinds.items()}


def test_private_names_of_scikit_learn_are_not_overridden_by_accident():
    hooks = documented_names()[1]
    found = overridden_by_public_classes()
    assert {name: own - hooks for name, own in found.items() if own - hooks} == {}


@pytest.mark.needs_sklearn("1.9", "one of the hooks")
def test_what_scikit_learn_looks_for_no_more_can_go():
    found = set().union(*overridden_by_public_classes().values())
    assert found == documented_names()[1]


def test_a_private_name_that_is_overridden_is_seen():
    class Own:
        def _repr_html_(self): ...

    Own.__module__ = "skmohn.mohn._a"
    assert overridden(type("Both", (Own, sklearn.base.BaseEstimator), {})) == {
        "_repr_html_"
    }


def other_chances_and_workers(source):
    """Randomness that no `random_state` decides, and workers that are not joblib's."""
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None) or node.names[0].name
            if module.split(".")[0] in OTHER_WORKERS | OTHER_CHANCES:
                found.append(module)
        elif isinstance(node, ast.Attribute) and name_of(node.value) == "random":
            if node.attr not in SEEDED and ast.unparse(node.value) == "np.random":
                found.append(ast.unparse(node))
        elif (
            isinstance(node, ast.Call)
            and name_of(node.func) == "default_rng"
            and not (node.args or node.keywords)
        ):
            found.append(ast.unparse(node))
    return found


def test_chance_is_seeded_and_workers_are_joblibs():
    found = {
        module: others
        for module, source in sources()
        if (others := other_chances_and_workers(source))
    }
    assert not found, pformat(found)


@pytest.mark.parametrize(
    "source",
    [
        "np.random.seed(0)",
        "x = np.random.normal(size=3)",
        "rng = np.random.default_rng()",
        "import random",
        "from random import shuffle",
        "from multiprocessing import Pool",
        "import concurrent.futures",
    ],
)
def test_other_chances_and_workers_are_seen(source):
    assert len(other_chances_and_workers(source)) == 1


def strategy_tables(source):
    """Dictionaries of a module by names of strategies, with more than plain values."""

    def is_table(node):
        keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
        plain = all(
            isinstance(part, ast.Constant | ast.Tuple | ast.List | ast.expr_context)
            for value in node.values
            for part in ast.walk(value)
        )
        return len(keys & set(STRATEGIES)) > 1 and not plain

    return [
        name_of(part.targets[0] if isinstance(part, ast.Assign) else part.target)
        for part in parse(source).body
        if isinstance(part, ast.Assign | ast.AnnAssign)
        and isinstance(part.value, ast.Dict)
        and is_table(part.value)
    ]


def test_strategies_have_one_table():
    found = {
        module: tables
        for module, source in sources()
        if module.startswith("skmohn.mohn") and (tables := strategy_tables(source))
    }
    assert found == {"skmohn.mohn._strategies": ["STRATEGIES"]}


def test_types_name_all_strategies():
    for task, names in (
        ("regression", RegressionStrategy),
        ("classification", ClassificationStrategy),
        ("terms", TermsStrategy),
    ):
        assert sorted(get_args(names)) == sorted(strategies_for(task))
    assert sorted(get_args(MethodName)) == sorted(METHODS)


def test_all_strategies_have_one_type_of_result():
    for strategy in STRATEGIES.values():
        assert set(strategy.solve) <= set(get_args(Task))
        for solve in strategy.solve.values():
            function = getattr(solve, "func", solve)
            assert get_type_hints(function)["return"] is FitResult


def test_another_table_of_strategies_is_seen():
    row = 'FINDERS: dict = {"auto": find_few, "pursuit": partial(find, few)}'
    assert strategy_tables(row) == ["FINDERS"]
    assert strategy_tables('NOUNS = {"gp": ("a", "b"), "full": "c"}') == []


def second_bodies(module, source):
    """Functions that take the place of a method, such as for several targets.

    These are functions with a method's name in a module that knows estimators, methods
    whose decorator is given a function, unless it decides whether there is a method,
    and methods that go on elsewhere if `estimators_` are there. Fits begin with data,
    not with a model.
    """
    found, names = [], {"of_several", *public_methods()}
    for node in parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name in names:
            # Folders inside of mohn know no estimator.
            if module.count(".") == 2:
                found.append(node.name)
        elif isinstance(node, ast.ClassDef):
            methods = (part for part in node.body if isinstance(part, ast.FunctionDef))
            for part in methods:
                branches = (
                    "estimators_" in ast.unparse(part.body)
                    and not part.name.startswith("_")
                    and part.name != "fit"
                )
                if branches or any(map(is_given_function, part.decorator_list)):
                    found.append(part.name)
    return found


def is_given_function(decorator):
    """Whether a decorator is given a function to call in another one's place."""
    if not isinstance(decorator, ast.Call) or name_of(decorator.func) == "available_if":
        return False
    return any(isinstance(part, ast.Name | ast.Attribute) for part in decorator.args)


@cache
def public_methods():
    """Names of the public methods and properties of MOHNRegressor."""
    return {name for name in vars(skmohn.MOHNRegressor) if not name.startswith("_")}


def test_a_method_has_one_body_for_one_target_and_for_several():
    found = {
        module: bodies
        for module, source in sources()
        if module.startswith("skmohn.mohn")
        and (bodies := second_bodies(module, source))
    }
    assert not found, pformat(found)


@pytest.mark.parametrize(
    "source",
    [
        "def of_several(answer): ...",
        "def predict(model, X): ...",
        "class A:\n    @decorate(several.predict)\n    def predict(self, X): ...",
        "class A:\n    @property\n    @decorate(links)\n    def graph_(self): ...",
        "class A:\n    def predict(self, X):\n        return self.estimators_",
        "class A:\n    def f(self):\n        return hasattr(self, 'estimators_')",
    ],
)
def test_a_second_body_is_seen(source):
    assert len(second_bodies("skmohn.mohn._multioutput", source)) == 1


def test_one_body_is_let_through():
    method = "class A:\n    def {}(self):\n        return self.estimators_"
    for name in ("fit", "_targets"):
        assert second_bodies("skmohn.mohn._regressor", method.format(name)) == []
    decorated = (
        "class A:\n    @available_if(f)\n    @fit_context(x=f)\n    def f(self): ..."
    )
    assert second_bodies("skmohn.mohn._regressor", decorated) == []
    inside = "def log_density(logs): ..."
    assert second_bodies("skmohn.mohn._gp.marginal_likelihood", inside) == []


def makes_training_data(source):
    """Whether a module makes `TrainingData`, and does not only change its parts."""
    makers = ("TrainingData", "TrainingData._make")
    calls = (node for node in nodes_of(source) if isinstance(node, ast.Call))
    return any(ast.unparse(call.func).endswith(makers) for call in calls)


def test_training_data_have_one_reader():
    found = [module for module, source in sources() if makes_training_data(source)]
    assert found == ["skmohn.mohn._training_data"]


@pytest.mark.parametrize(
    "source",
    [
        "x = TrainingData(rows, y)",
        "x = data.TrainingData(*parts)",
        "TrainingData._make(x)",
    ],
)
def test_another_reader_is_seen(source):
    assert makes_training_data(source)


def test_training_data_may_be_changed():
    assert not makes_training_data("x: TrainingData = data._replace(y=y)")


def long_fits(source):
    """Methods `fit` and `_fit` with more statements than a reader wants."""
    return [
        node.name
        for node in nodes_of(source)
        if isinstance(node, ast.FunctionDef)
        and node.name in ("fit", "_fit")
        # A string is a docstring.
        and sum(not is_docstring(part) for part in node.body) > MOST_STATEMENTS
    ]


def is_docstring(statement):
    """Whether a statement is nothing but a string."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def test_a_fit_is_short_enough_to_read():
    found = {m: fits for m, source in sources() if (fits := long_fits(source))}
    assert not found, pformat(found)


def test_a_long_fit_is_seen():
    body = "    x = 1\n" * MOST_STATEMENTS
    assert long_fits(f'def fit(self):\n    """Doc."""\n{body}') == []
    assert long_fits(f"def _fit(self):\n{body}    return x\n") == ["_fit"]


def name_of(node):
    """Last part of a dotted name, None for other expressions."""
    if isinstance(node, ast.Subscript):  # such as Generic[T]
        return name_of(node.value)
    return getattr(node, "id", getattr(node, "attr", None))


def names_used(tree):
    """Classes that a tree derives, and the names that it uses otherwise.

    What a class says of itself and of its bases, such as their constraints, is no use
    of them; what `__all__` lists is used by users.

    Returns
    -------
    children : list of (str, str)
        Names of a base and of the class that it is one of.

    defined, used : set of str
    """
    children, defined, used = [], set(), set()

    def visit(node, own):
        parts = ast.iter_child_nodes(node)
        if isinstance(node, ast.ClassDef):
            bases = {name_of(base) for base in node.bases}
            children.extend((base, node.name) for base in bases)
            defined.add(node.name)
            own, parts = {node.name, *bases}, [*node.decorator_list, *node.body]
        elif isinstance(node, ast.Name | ast.Attribute):
            used.update({name_of(node)} - own)
        elif isinstance(node, ast.Assign) and name_of(node.targets[0]) == "__all__":
            used.update(ast.literal_eval(node.value))
        for part in parts:
            visit(part, own)

    visit(tree, set())
    return children, defined, used


def bases_of_one(sources):
    """Names of classes that are never used themselves, and are no base of two."""
    found = [names_used(parse(source)) for source in sources]
    pairs, defined, used = zip(*found, strict=True)
    n_children = Counter(base for base, _ in set().union(*pairs))
    unused = set().union(*defined) - set().union(*used)
    return sorted(name for name in unused if n_children[name] < 2)


def test_a_class_is_used_or_a_base_of_two():
    assert bases_of_one(source for _, source in sources()) == []


def test_a_base_of_one_is_seen():
    base = "class Base:\n    x = 1\n    def f(self) -> 'Base':\n        return Base()\n"
    child = "from a import Base\nclass {}(Base):\n    y = {{**Base.x}}\n"
    children = [child.format("A"), child.format("B")]
    names = '__all__ = ["A", "B"]'
    assert bases_of_one([base, *children, names]) == []
    assert bases_of_one([base, *children]) == ["A", "B"]
    assert bases_of_one([base, children[0], names]) == ["Base"]
    assert bases_of_one([base, children[0], names, "z = isinstance(q, Base)"]) == []


def test_a_module_is_short_enough_to_read():
    found = {
        module: len(STRUCTURE["code_lines"](source)) for module, source in sources()
    }
    too_long = {m: n_lines for m, n_lines in found.items() if n_lines > MOST_CODE_LINES}
    assert not too_long, f"do these do two things? {pformat(too_long)}"


def long_functions(source):
    """Functions with more lines of code than a reader wants."""
    lines = STRUCTURE["code_lines"](source)
    return [
        node.name
        for node in nodes_of(source)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and len(lines.intersection(range(node.lineno, node.end_lineno + 1)))
        > STRUCTURE["LONGEST"]
    ]


def test_a_function_is_short_enough_to_read():
    found = {
        module: names
        for module, source in sources()
        if not module.endswith("_kernels") and (names := long_functions(source))
    }
    assert not found, pformat(found)


def test_a_long_function_is_seen():
    body = "    x = 1\n" * (STRUCTURE["LONGEST"] - 1)
    assert long_functions(f'def f():\n    """Doc."""\n    # why\n{body}') == []
    assert long_functions(f"def f():\n{body}    return x\n") == ["f"]


def test_only_code_is_counted():
    source = '"""Doc\n\nstring."""\n\n# why\nA = """one\ntwo"""  # and why\n\n' + (
        'def f():\n    """Say."""\n    return (\n        1\n    )\n'
    )
    assert len(STRUCTURE["code_lines"](source)) == 6


def without_types(source):
    """Functions of which an argument or the result has no type."""
    found = []

    def visit(node, in_class):
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.FunctionDef):
                arguments = [*part.args.posonlyargs, *part.args.args]
                decorators = {name_of(each) for each in part.decorator_list}
                if in_class and "staticmethod" not in decorators:
                    arguments = arguments[1:]  # self or cls
                arguments += [
                    *part.args.kwonlyargs,
                    *filter(None, [part.args.vararg, part.args.kwarg]),
                ]
                types = [part.returns, *(each.annotation for each in arguments)]
                if None in types:
                    found.append(part.name)
            opens = isinstance(part, ast.FunctionDef | ast.ClassDef)
            visit(part, isinstance(part, ast.ClassDef) if opens else in_class)

    visit(parse(source), False)
    return found


def typed_subpackage(module):
    """The innermost typed subpackage of a module; every module is in one."""
    name = f"{module.removeprefix('skmohn.')}."
    subpackages = [r for r in TYPED_SUBPACKAGES if name.startswith(f"{r}.")]
    return max(subpackages, key=len)


def functions_without_types():
    """Functions that lack a type, by subpackage and module; kernels have none."""
    found = {}
    for module, source in sources():
        if not module.endswith("_kernels") and (lacking := without_types(source)):
            found.setdefault(typed_subpackage(module), {})[module] = lacking
    return found


def test_typed_subpackages_have_types():
    found = functions_without_types()
    assert not found, pformat(found)


def test_all_rules_of_pyright_hold_in_strict_subpackages():
    settings = tomllib.loads(
        (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8")
    )
    environments = settings["tool"]["basedpyright"]["executionEnvironments"]
    strict = {
        Path(own["root"]).relative_to("skmohn").as_posix().replace("/", ".")
        for own in environments
        if own["root"].startswith("skmohn") and own.keys() == {"root", "extraPaths"}
    }
    assert strict == set(STRICT_SUBPACKAGES)


@pytest.mark.parametrize(
    "source",
    [
        "def f(x) -> int: ...",
        "def f(x: int): ...",
        "def f(*x) -> int: ...",
        "def f(*, x) -> int: ...",
        "def f(**x) -> int: ...",
        "class A:\n    def f(self, x) -> int: ...",
        "class A:\n    def f(self): ...",
        "class A:\n    @staticmethod\n    def f(x) -> int: ...",
        "def g() -> int:\n    def f(x) -> int: ...",
    ],
)
def test_a_missing_type_is_seen(source):
    assert without_types(source) == ["f"]


def test_types_are_let_through():
    source = (
        "class A:\n    def f(self, x: int, *y: int) -> None: ...\n"
        "    if B:\n        def f(self) -> None: ...\n"
        "    @staticmethod\n    def g(x: int) -> None: ...\n"
        "def h(*, x: int = 1, **y: int) -> int:\n    return (lambda z: z)(x)"
    )
    assert without_types(source) == []
    assert typed_subpackage("skmohn._core._rows") == "_core"
    assert typed_subpackage("skmohn.mohn._table.rows") == "mohn._table"
    assert typed_subpackage("skmohn.mohn._regressor") == "mohn"


def is_number(node):
    """Whether an expression is of numbers alone, or a tuple or list of such."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case ast.UnaryOp(operand=part):
            return is_number(part)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts) and all(map(is_number, parts))
    return False


def numbers_of_module(tree):
    """Names that a module gives to numbers, but for those annotated as `Final`."""
    for part in tree.body:
        match part:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=of)):
                pairs = zip(names, of, strict=True)
            case ast.Assign(targets=[name], value=value):
                pairs = [(name, value)]
            case ast.AnnAssign(target=name, value=value, annotation=annotation):
                pairs = [(name, value)] if name_of(annotation) != "Final" else []
            case _:
                continue
        yield from (ast.unparse(name) for name, value in pairs if is_number(value))


def is_source(source):
    """Whether a source of a constant is one of the four kinds."""
    if source.startswith("benchmarks/"):
        return source.endswith(".py") and (PACKAGE.parent / source).is_file()
    return source in PLAIN_SOURCES or REFERENCE.fullmatch(source) is not None


def fields_without_source(tree):
    """Fields of classes of constants that `tuned` does not make, with a source."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef) or not node.name.endswith("Constants"):
            continue
        if [ast.unparse(d) for d in node.decorator_list] != ["dataclass(frozen=True)"]:
            yield node.name
        for field in node.body[1:]:
            match field:
                case ast.AnnAssign(
                    value=ast.Call(
                        func=ast.Name(id="tuned"),
                        args=[value, ast.Constant(value=str(source))],
                    )
                ) if is_number(value) and is_source(source):
                    continue
            yield f"{node.name}: {ast.unparse(field)}"


def constants_without_source(module, source):
    """Numbers of a module that have no source; kernels are exempt."""
    if module.endswith("_kernels"):
        return []
    tree = parse(source)
    return [*numbers_of_module(tree), *fields_without_source(tree)]


def test_constants_have_sources():
    found = {name: constants_without_source(name, source) for name, source in sources()}
    found = {name: those for name, those in found.items() if those}
    assert not found, pformat(found)


@pytest.mark.parametrize(
    "source",
    [
        "_MOST = 3",
        "A, _MOST = 'a', -2.0**3",
        "_MOST: int = 3",
        "_MOST = 1, 2",
        *(
            f"@dataclass(frozen=True)\nclass AConstants:\n    'A.'\n    {field}"
            for field in (
                "a: int = 3",
                "a: int = field(default=3)",
                "a: int = tuned(3)",
                "a: int = tuned(3, 'chance')",
                "a: int = tuned(b, 'cost')",
                "a: int = tuned(3, 'benchmarks/chest.py')",
                "a: int = tuned(3, 'Neal, annealed importance sampling')",
            )
        ),
        "@dataclass\nclass AConstants:\n    'A.'\n    a: int = tuned(3, 'cost')",
    ],
)
def test_a_constant_without_source_is_seen(source):
    assert len(constants_without_source("skmohn.energynet._rbm", source)) == 1


def test_constants_with_sources_are_let_through():
    source = (
        "A: Final = 2**53\nB = np.sqrt(2.0)\nC = 'a', True\n"
        "@dataclass(frozen=True)\nclass AConstants:\n    'A.'\n"
        "    a: int = tuned(3, 'cost')\n"
        "    b: tuple[float, ...] = tuned((0.5, 1.0), 'rounding')\n"
        "    c: int = tuned(3, 'benchmarks/energynet/widths.py')\n"
        "    d: int = tuned(3, 'Neal (2001), equation 11')\n"
    )
    assert constants_without_source("skmohn.energynet._rbm", source) == []
    assert constants_without_source("skmohn.energynet._rbm_kernels", "A = 3") == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("skmohn._core._coding", "from skmohn.mohn import MOHNRegressor"),
        ("skmohn._core._coding", "from ..mohn._learning import lasso"),
        ("skmohn._core.__init__", "from .. import datasets"),
        ("skmohn._core._coding", "import skmohn"),
        ("skmohn.mohn._regressor", "from skmohn import MOHNRegressor"),
        ("skmohn.mohn._regressor", "import skmohn.blm._search"),
        ("skmohn.mohn._regressor", "from ..optimize import climb"),
        ("skmohn.mohn.__init__", "from ..energynet import _irbm"),
        ("skmohn.mohn._regressor", "def f():\n    from skmohn import inspection"),
        ("skmohn.datasets._nk", "from ..optimize import climb"),
        ("skmohn.optimize._local_search", "from skmohn.integrations import to_dimod"),
        ("skmohn.integrations._dimod", "from skmohn.datasets import make_ising"),
        ("skmohn.model_selection._search", "from skmohn.inspection import plot"),
        ("skmohn.optimize._solve", "from skmohn.mohn._design.design import Design"),
        ("skmohn.inspection._qq", "from ..mohn._regressor import MOHNRegressor"),
        ("skmohn._warm_up", "from skmohn.mohn._design.design import PackedDesign"),
        ("skmohn.inspection._qq", "from skmohn.mohn import _effects"),
        ("skmohn.inspection._qq", "import skmohn.energynet._rbm"),
        ("skmohn.optimize._solve", "from skmohn.mohn._engine import MOHNRegressor"),
        ("skmohn.optimize._solve", "from skmohn.energynet._engine import RBM"),
        ("skmohn.mohn._kernels", "from ._learning import lasso"),
        ("skmohn.mohn._kernels", "from skmohn.blm._search_kernels import ask"),
        ("skmohn.mohn._kernels", "from ._design.plane_kernels import expand"),
        ("skmohn.optimize._kernels", "from .._core._walsh_kernels import transform"),
        ("skmohn.mohn._kernels", "from .._core._history import History"),
        ("skmohn.mohn._kernels", "import scipy.linalg"),
        ("skmohn.mohn._kernels", "import numbalike"),
        ("skmohn.mohn._table.rows", "from skmohn.mohn._design.terms import log_comb"),
        ("skmohn.mohn._gp.model", "from skmohn.mohn._sparse.pursuit import Pursuit"),
        ("skmohn.mohn._sparse.msda", "from .._dense import kernel"),
        (
            "skmohn.mohn._models",
            "from skmohn.mohn._gp.heteroscedastic_noise import RowNoise",
        ),
        ("skmohn.mohn._sparse.solve", "from skmohn.mohn._term_search import expand"),
        (
            "skmohn.mohn._training_data",
            "from skmohn.mohn._sparse.model_selection import PATH",
        ),
        (
            "skmohn.mohn._training_data",
            "from skmohn.mohn._gp.transform_selection import choose_scale",
        ),
        (
            "skmohn.mohn._term_search",
            "from skmohn.mohn._regressor import MOHNRegressor",
        ),
    ],
)
def test_breach_of_a_rules_is_seen(module, source):
    assert len(violations(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("skmohn.__init__", "from skmohn.mohn import MOHNRegressor"),
        ("skmohn._core._coding", "import numpy as np\nfrom ._numba import jit"),
        ("skmohn.mohn._regressor", "from .._core import History"),
        (
            "skmohn.mohn._regressor",
            "from skmohn.mohn._sparse.linear_solvers import lasso",
        ),
        ("skmohn.mohn.__init__", "from ._regressor import MOHNRegressor"),
        ("skmohn.optimize._local_search", "from ..mohn import MOHNRegressor"),
        ("skmohn.integrations._optuna", "from skmohn.optimize import maximize"),
        ("skmohn.integrations._onnx", "from skmohn.blm._engine import network_of"),
        ("skmohn.model_selection._search", "from skmohn.optimize import maximize"),
        ("skmohn.optimize._solve", "from ..mohn._engine import ExactPosterior"),
        ("skmohn.inspection._qq", "from skmohn import mohn"),
        ("skmohn._warm_up", "from skmohn.mohn._engine import compile_kernels"),
        ("skmohn.mohn._kernels", "import numpy as np\nimport numba"),
        ("skmohn.mohn._kernels", "from numba.extending import intrinsic"),
        ("skmohn.mohn._kernels", "from .._core._numba import jit"),
        ("skmohn.blm._kernels", "from skmohn.blm._search_kernels import ask"),
        ("skmohn._core._elimination_kernels", "from ._walsh_kernels import transform"),
        ("skmohn.mohn._kernels", "from skmohn._core._numba import jit"),
        ("skmohn.mohn._sparse.model", "from skmohn.mohn._models import FitResult"),
        (
            "skmohn.mohn._strategies",
            "from skmohn.mohn._gp.transform_selection import choose_scale",
        ),
    ],
)
def test_lawful_import_passes(module, source):
    assert violations(module, source) == []


def test_unknown_subpackage_is_seen():
    with pytest.raises(LookupError, match="skmohn/attic is no subpackage"):
        violations("skmohn.attic._chest", "import numpy")
