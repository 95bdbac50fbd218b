"""What a script about a table or figure of a paper prints: Markdown, and pictures.

The docstring of the script becomes the text above its results: what the paper did, what
it leaves open and what was chosen here, and why results differ. Its first line is the
heading.
"""

import inspect
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.shared import common, results

# A file may be written where there is no screen.
plt.switch_backend("Agg")
# Exit status of a script that cannot run because there are no data.
NO_DATA = 77


def mean_sd(values, digits=3):
    """Return mean and standard deviation of the runs as text."""
    mean = f"{np.mean(values):.{digits}g}"
    if len(values) == 1:
        return mean
    spread = float(np.std(values, ddof=1))
    return f"{mean} ± {spread:.2g}" if spread < 100 else f"{mean} ± {spread:.0f}"


def quartiles(values, digits=3):
    """Return the median of the runs and, in brackets, their quartiles as text."""
    low, middle, high = (
        f"{value:.{digits}g}" for value in np.quantile(values, [0.25, 0.5, 0.75])
    )
    return f"{middle} ({low} to {high})" if len(values) > 1 else middle


class Report:
    """A section of the report: heading and text are printed at once, results later.

    Parameters
    ----------
    instances, quick_instances : int
        How many repetitions make a row, by default and with --quick.
    budget : tuple of two ints, default=None
        Most that each run may do, by default and with --quick. None for no option
        --budget. Counts end runs, never seconds: results are the same on any machine.
    unit : str, default=""
        What the budget counts.
    paper : dict, default=None
        Sizes of the paper's experiment by names of options; None where it has none.
    defaults : dict, default=None
        Values of options that were not given, by default and with --quick.
    add_arguments : callable, default=None
        Gets the parser to add the script's own options.

    Attributes
    ----------
    options : Namespace
        With ``instances``, ``seed``, ``quick``, ``pictures``, ``seeds`` (one for each
        repetition) and, where there is one, ``budget``.
    """

    def __init__(
        self,
        *,
        instances,
        quick_instances,
        budget=None,
        unit="",
        paper=None,
        defaults=None,
        add_arguments=None,
    ):
        self.script = Path(sys.argv[0])

        def add_all(parser):
            parser.add_argument(
                "--pictures", type=Path, default=None, help="folder to write them to"
            )
            if budget:
                limits = "default {:,}, quick {:,}".format(*budget)
                parser.add_argument(
                    "--budget", type=int, help=f"{unit} of each run ({limits})"
                )
            if add_arguments:
                add_arguments(parser)

        description = inspect.getdoc(sys.modules["__main__"])
        self.options = common.parse_options(
            description,
            instances=instances,
            quick_instances=quick_instances,
            add_arguments=add_all,
        )
        options = self.options
        defaults = (defaults or {}) | ({"budget": budget} if budget else {})
        for option, values in defaults.items():
            if getattr(options, option) is None:
                setattr(options, option, values[options.quick])
        options.seeds = range(options.seed, options.seed + options.instances)
        title, _, text = description.partition("\n")
        name = f"{self.script.parent.name}/{self.script.name}"
        print(f"### {title.removesuffix('.')}\n\n{text.strip()}\n")
        results.begin(options)
        results.add(paper=paper)
        print(
            f"*Printed by `benchmarks/{name}`, {results.size(vars(options), paper)}.*\n"
        )
        if budget:
            self.text(f"Each run has at most {options.budget:,} {unit}.")

    def data(self, name):
        """Return the path of a table; without it, end the script with a message."""
        path = common.find_data(name)
        if path is None:
            raise SystemExit(NO_DATA)
        return path

    def text(self, text):
        """Print a paragraph."""
        results.add(text=text)
        print(f"{text}\n", flush=True)

    def run(self, name, seed, **values):
        """Keep what one run found, which is not printed, with its seed."""
        results.add(run=name, seed=seed, values=values)

    def table(self, columns, rows):
        """Print a table, row by row as an iterable yields them.

        Parameters
        ----------
        columns : sequence of str
            The first is aligned to the left.
        rows : iterable of sequences
            Numbers, strings, or None where there is nothing.
        """
        result = results.add(columns=columns, rows=[])
        print(f"| {' | '.join(columns)} |")
        print(f"|:--|{'--:|' * (len(columns) - 1)}", flush=True)
        for row in rows:
            result["rows"].append(row)
            print(f"| {' | '.join(map(results.as_text, row))} |", flush=True)
        print(flush=True)

    def picture(self, figure, name, alt):
        """Write a figure, if there is a folder to write to, and refer to it.

        Parameters
        ----------
        figure : matplotlib Figure
            Closed afterwards.
        name : str
            What the file's name adds to that of the script.
        alt : str
            What one sees, in a sentence.
        """
        folder = self.options.pictures
        if folder is not None:
            path = folder / f"{self.script.stem}_{name}.png"
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=100, bbox_inches="tight")
            results.add(picture=f"{folder.name}/{path.name}", alt=alt)
            print(f"![{alt}]({folder.name}/{path.name})\n", flush=True)
        plt.close(figure)
