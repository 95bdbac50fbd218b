"""Models as networkx graphs."""

from typing import Any

from skmohn._core._optional import import_optional
from skmohn.mohn import MOHNRegressor
from skmohn.mohn._engine import require_regressor


def to_networkx(model: MOHNRegressor) -> Any:
    """Convert a model to a bipartite graph of variables and weights.

    An edge connects a weight to each of its variables, whatever its order. networkx can
    draw, measure and store such a graph.

    Parameters
    ----------
    model : MOHNRegressor
        Fitted estimator. For a Gaussian process, the significant weights are used.

    Returns
    -------
    networkx.Graph
        Variables (``bipartite=0``) are column names, ``"x0"`` and so on without names,
        or categories as in :meth:`~skmohn.MOHNRegressor.terms_table`; constant
        columns are left out. Weights (``bipartite=1``) are the tuples of their
        variables, with ``weight``, ``order`` and ``standard_error``. The graph has the
        attribute ``intercept``.

    Raises
    ------
    ImportError
        If networkx is not installed.
    TypeError
        If `model` is not a MOHNRegressor.

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
    networkx = import_optional("networkx", "to_networkx")
    require_regressor(model, "model")
    graph = networkx.Graph(intercept=float(model.intercept_))
    vocabulary = model.term_names_
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
            connected, bipartite=1, weight=coef, order=len(term), standard_error=error
        )
        graph.add_edges_from((connected, name) for name in connected)
    return graph
