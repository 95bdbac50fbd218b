"""Settings of the documentation; `make docs` builds it."""

from sphinx_gallery.sorting import ExplicitOrder

import skmohn

project = "skmohn"
author = "The skmohn developers"
copyright = f"2026, {author}"
version = release = skmohn.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "templates"]
templates_path = ["templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}

autosummary_generate = True
# The templates list the members; numpydoc would list them a second time.
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    # From easy to special.
    "subsection_order": ExplicitOrder(
        [f"../examples/{name}" for name in ("mohn", "optimize", "blm", "energynet")]
    ),
    "within_subsection_order": ExplicitOrder(
        [
            "plot_read_a_model.py",
            "plot_noise.py",
            "plot_experiment.py",
            "plot_genotype.py",
            "plot_dense_landscape.py",
            "plot_missing_values.py",
            "plot_discovery.py",
            "plot_configurations.py",
            "plot_low_bits.py",
            "plot_quantiles.py",
            "plot_sequences.py",
            "plot_pendulum.py",
            "plot_pendulum_restarts.py",
            "plot_spirals_by_bits.py",
            "plot_digits.py",
            "plot_few_labels.py",
        ]
    ),
    "ignore_pattern": r"^(?!plot_)",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
}

# The pictures of the user guide; their code is in the pages.
plot_formats = ["svg"]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = True
plot_apply_rcparams = True
plot_rcparams = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.figsize": (6.4, 3.6),
    "svg.fonttype": "path",
}

html_theme = "pydata_sphinx_theme"
html_title = f"skmohn {version}"
html_show_sourcelink = False


def setup(app):
    """Called by sphinx."""
    app.connect("autodoc-skip-member", skip_what_scikit_learn_gives)


def skip_what_scikit_learn_gives(app, what, name, member, skip, options):
    """List the members written in skmohn, inherited ones too, and no others.

    The docstrings of scikit-learn's have links that lead nowhere in these pages.
    """
    module = getattr(member, "__module__", None) or "skmohn"
    return None if module.split(".")[0] == "skmohn" else True
