"""Models as networkx graphs."""

from skmohn.integrations._optional import require
from skmohn.mohn._regressor import require_regressor
from skmohn.mohn._table.columns import repeated_name


def to_networkx(model):
    """Write the weights of a model as a bipartite graph.

    One kind of node are the variables, the other the weights; an edge says that the
    weight connects the variable. Weights of any order fit in this form, and networkx
    can draw it, measure it and write it to files.

    Parameters
    ----------
    model : MOHNRegressor
        A fitted one. Of all weights (``"dense"``), the significant ones are taken.

    Returns
    -------
    networkx.Graph
        Variables are called by the columns' names, or ``"x0"``, ``"x1"`` and so on, and
        have ``bipartite=0``. Categories of a categorical are variables called as in
        :meth:`~skmohn.MOHNRegressor.structure_table`. Variables without a weight are
        there, constant columns are not. Weights are called by the tuple of their
        variables and have ``bipartite=1``, ``weight``, ``order`` and
        ``standard_error``. The graph itself has ``intercept``.

    Raises
    ------
    ImportError
        If networkx is not installed.

    TypeError
        If the model is another one.

    ValueError
        If a column is called as a category of another one is.

    See Also
    --------
    skmohn.inspection.HypergraphDisplay : Draw it without networkx.

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.integrations import to_networkx
    >>> model = MOHNRegressor.from_terms([(0,), (0, 1, 2)], [1.0, -2.0])
    >>> graph = to_networkx(model)
    >>> graph.nodes["x0", "x1", "x2"]["weight"]
    -2.0
    >>> sorted(graph["x0"])
    [('x0',), ('x0', 'x1', 'x2')]
    """
    networkx = require("networkx", "to_networkx")
    require_regressor(model, "model")
    graph = networkx.Graph(intercept=float(model.intercept_))
    vocabulary = model.vocabulary_
    repeated = repeated_name(vocabulary.names)
    if repeated is not None:
        raise ValueError(
            f"{repeated!r} is the name of a column and of a category of another one: "
            "rename the column before the fit"
        )
    names = dict(zip(vocabulary.labels, vocabulary.names, strict=True))
    graph.add_nodes_from(vocabulary.names, bipartite=0)
    weights = zip(
        model.terms_,
        model.weights_.tolist(),
        model.standard_errors_.tolist(),
        strict=True,
    )
    for term, coef, error in weights:
        connected = tuple(names[label] for label in term)
        graph.add_node(
            connected,
            bipartite=1,
            weight=coef,
            order=len(term),
            standard_error=error,
        )
        graph.add_edges_from((connected, name) for name in connected)
    return graph
