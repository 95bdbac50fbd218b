"""Tables of benchmarks, made at each build from the results of the scripts."""

import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.shared import page


class Results(Directive):
    """What the scripts that are named, a line each, have found."""

    has_content = True
    optional_arguments = 1
    markdown_of = staticmethod(page.section)

    def run(self):
        """Parse the tables as Markdown."""
        text = self.markdown_of([*self.arguments, *self.content])
        node = nodes.container()
        self.state.nested_parse(StringList(text.splitlines(), "results"), 0, node)
        for table in node.findall(nodes.table):
            table["classes"].append("results")
        return node.children


class Papers(Results):
    """The same of a script about a paper, and what is unexplained."""

    markdown_of = staticmethod(page.papers)


def setup(app):
    """Called by sphinx."""
    app.add_directive("results", Results)
    app.add_directive("papers", Papers)
    return {"parallel_read_safe": True}
