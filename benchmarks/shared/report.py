"""What a script about a table or figure of a paper prints: Markdown, and pictures.

The docstring of the script becomes the text above its results: what the paper did, what
it leaves open and what was chosen here, and why results differ. Its first line is the
heading.
"""

import inspect
import sys
from pathlib import Path

import matplotlib.pyplot as plt

from benchmarks.shared import common, results

# A file may be written where there is no screen.
plt.switch_backend("Agg")
# Exit status of a script that cannot run because there are no data.
NO_DATA = 77


def _names(arguments):
    """Return the names of the options given."""
    return {name.partition("=")[0] for name in arguments if name.startswith("--")}


class Report:
    """A section of the report: heading and text are printed at once, results later.

    Parameters
    ----------
    instances, quick_instances : int
        How many repetitions make a row, by default and with --quick.
    seconds : tuple of two floats, default=None
        Limit of each run, by default and with --quick. None for no option --seconds.
    add_arguments : callable, default=None
        Gets the parser to add the script's own options.

    Attributes
    ----------
    options : Namespace
        With ``instances``, ``seed``, ``quick``, ``pictures``, ``seeds`` (one for each
        repetition) and, where there is a limit, ``seconds``.
    """

    def __init__(self, *, instances, quick_instances, seconds=None, add_arguments=None):
        self.script = Path(sys.argv[0])

        def add_all(parser):
            parser.add_argument(
                "--pictures", type=Path, default=None, help="folder to write them to"
            )
            if seconds:
                limits = "default {:g}, quick {:g}".format(*seconds)
                parser.add_argument(
                    "--seconds", type=float, help=f"limit of each run ({limits})"
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
        if seconds and options.seconds is None:
            options.seconds = seconds[options.quick]
        options.seeds = range(options.seed, options.seed + options.instances)
        title, _, text = description.partition("\n")
        name = f"{self.script.parent.name}/{self.script.name}"
        print(f"### {title.removesuffix('.')}\n\n{text.strip()}\n")
        run = "a quick run" if options.quick else "a full run"
        if not options.quick and _names(sys.argv) - {"--pictures", "--seed"}:
            run = "a shorter run"
        often = f"{options.instances} repetition{'s' * (options.instances > 1)}"
        print(f"*Printed by `benchmarks/{name}`, {run} with {often}.*\n", flush=True)

    def data(self, name):
        """Return the path of a table; without it, end the script and say so."""
        path = common.find_data(name)
        if path is None:
            raise SystemExit(NO_DATA)
        return path

    def text(self, text):
        """Print a paragraph."""
        results.add(text=text)
        print(f"{text}\n", flush=True)

    def table(self, columns, rows):
        """Print a table, row by row as an iterable yields them.

        Parameters
        ----------
        columns : sequence of str
            The first is aligned to the left.
        rows : iterable of sequences
            Numbers, strings, or None where there is nothing to say.
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
