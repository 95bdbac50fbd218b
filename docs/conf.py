"""Settings of the documentation; `make docs` builds it."""

import sys
import warnings
from pathlib import Path

from cycler import cycler
from sphinx_gallery.sorting import ExplicitOrder

import skmohn

sys.path.insert(0, str(Path(__file__).parent))

project = "skmohn"
author = "The skmohn developers"
copyright = f"2026, {author}"
version = release = skmohn.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    # MathJax out of a package of PyPI, so that formulas need no network.
    "sphinx-mathjax-offline",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "structure",
    "benchmark_tables",
]
exclude_patterns = ["_build", "templates"]
templates_path = ["templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# A reference to one of our own objects that leads nowhere is an error.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!skmohn\.).*")]

default_role = "literal"
autosummary_generate = True
# Docstrings say the types, in words.
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
# The templates list the members; numpydoc would list them a second time.
numpydoc_show_class_members = False
# Types of parameters lead to their documentation, where a name says what they are.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
# numpydoc's own aliases are labels and terms, which are errors without a network; what
# Python's domain does not know is plain text.
numpydoc_xref_aliases = {
    "None": "None",
    "True": "True",
    "False": "False",
    "numpy": "numpy",
    **{
        name: f":class:`{name}`"
        for name in ("bool", "int", "float", "str", "dict", "list", "tuple")
    },
    "array": "numpy.ndarray",
    "array-like": "numpy.typing.ArrayLike",
    "array_like": "numpy.typing.ArrayLike",
    "boolean": ":class:`bool`",
    "callable": "collections.abc.Callable",
    "estimator": "sklearn.base.BaseEstimator",
    "generator": "collections.abc.Generator",
    "iterable": "collections.abc.Iterable",
    "scalar": ":class:`float`",
    "sequence": "collections.abc.Sequence",
    **{
        name: f"skmohn.{name}"
        for name in (
            *("GPOptions", "DeltaOptions", "MSDAOptions"),
            *("InfiniteRBMOptions", "SearchOptions", "MOHNRegressor"),
        )
    },
    "DataFrame": "pandas.DataFrame",
    "Generator": "numpy.random.Generator",
    "OptimizeResult": "scipy.optimize.OptimizeResult",
}

# Links into the documentation of other projects. One that cannot be reached, without a
# network for instance, is replaced by an empty inventory: its links become plain text,
# and there is nothing to warn of.
intersphinx_mapping = {
    name: (address, (None, str(Path(__file__).with_name("no_network.inv"))))
    for name, address in {
        "dask": "https://docs.dask.org/en/stable/",
        "joblib": "https://joblib.readthedocs.io/en/stable/",
        "matplotlib": "https://matplotlib.org/stable/",
        "numba": "https://numba.readthedocs.io/en/stable/",
        "numpy": "https://numpy.org/doc/stable/",
        "pandas": "https://pandas.pydata.org/docs/",
        "python": "https://docs.python.org/3/",
        "scipy": "https://docs.scipy.org/doc/scipy/",
        "shap": "https://shap.readthedocs.io/en/latest/",
        "sklearn": "https://scikit-learn.org/stable/",
    }.items()
}
intersphinx_timeout = 5

# How long a fit takes is the building machine's, and no output of an example.
warnings.filterwarnings(
    "ignore", r"[\s\S]* has taken \d+ s and is still running", UserWarning
)

# From easy to special.
EXAMPLES = {
    "mohn": [
        "first_steps",
        "small_table",
        "read_a_model",
        "noise",
        "experiment",
        "genotype",
        "gaussian_process",
        "missing_values",
        "genome_scan",
        "discovery",
    ],
    "optimize": [
        "best_input",
        "configurations",
        "protein",
        "ask_and_tell",
        "feature_selection",
    ],
    "blm": [
        "low_bits",
        "quantiles",
        "sequences",
        "pendulum",
        "pendulum_restarts",
        "spirals_by_bits",
    ],
    "energynet": ["digits", "mixed_table", "few_labels"],
}
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": ExplicitOrder(f"../examples/{name}" for name in EXAMPLES),
    "within_subsection_order": ExplicitOrder(
        f"plot_{name}.py" for names in EXAMPLES.values() for name in names
    ),
    "ignore_pattern": r"^(?!plot_)",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    # Names in the code lead to the API, and pages of the API to the examples.
    "doc_module": ("skmohn",),
    "backreferences_dir": "generated/backreferences",
}

# The pictures of the user guide; their code is in the pages.
plot_formats = ["svg"]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = True
plot_apply_rcparams = True
plot_rcparams = {
    "axes.prop_cycle": cycler(color=["#2e6f95", "#c8553d", "#7a8450", "#8d6a9f"]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.figsize": (5.4, 3.2),
    "svg.fonttype": "path",
}

# Of a doctest only the code is copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "skmohn"
html_show_sourcelink = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["skmohn.css"]
# Pages that have none below them have nothing to show on the left.
html_sidebars = {
    page: []
    for page in (
        *("index", "getting_started", "install", "choose", "cheat_sheet", "benchmarks"),
        *("papers", "papers_report", "glossary", "faq", "changelog", "contributing"),
        "architecture",
    )
}
html_theme_options = {
    "logo": {"text": "skmohn", "alt_text": "skmohn, home"},
    "icon_links": [
        {
            "name": "GitHub",
            "url": "https://github.com/skmohn/skmohn",
            "icon": "fa-brands fa-github",
        }
    ],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "use_edit_page_button": False,
    "show_toc_level": 2,
    # Examples need the width for their code. A page may match one pattern only, so that
    # theirs are names.
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        "index": [],
        "auto_examples/index": [],
        **{
            f"auto_examples/{folder}/{page}": []
            for folder, names in EXAMPLES.items()
            for page in ("index", *(f"plot_{name}" for name in names))
        },
    },
    "footer_start": ["copyright"],
    "footer_end": [],
}

linkcheck_ignore = [
    # From the first release on.
    r"https://github\.com/skmohn/.*",
    r"https://skmohn\.readthedocs\.io.*",
]


def setup(app):
    """Called by sphinx."""
    app.connect("autodoc-skip-member", skip_what_scikit_learn_gives)


def skip_what_scikit_learn_gives(app, what, name, member, skip, options):
    """List the members written in skmohn, inherited ones too, and no others.

    The docstrings of scikit-learn's have links that lead nowhere in these pages.
    """
    module = getattr(member, "__module__", None) or "skmohn"
    return None if module.split(".")[0] == "skmohn" else True
