"""networkx graphs: nodes, edges and attributes are those of the weights."""

import io

import networkx
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from skmohn import MOHNRegressor
from skmohn.datasets import make_sparse_walsh
from skmohn.integrations import to_networkx


def test_graph_is_the_hypergraph():
    data = make_sparse_walsh(
        15, {1: 3, 2: 5, 3: 2}, heredity=None, snr=20, n_samples=300, random_state=0
    )
    model = MOHNRegressor("pursuit", selection="ebic").fit(data.X, data.y)
    assert np.isfinite(model.standard_errors_).all()
    graph = to_networkx(model)
    variables = {node for node, kind in graph.nodes("bipartite") if kind == 0}
    assert variables == {f"x{i}" for i in range(15)}
    assert networkx.is_bipartite(graph)
    assert graph.number_of_edges() == sum(map(len, model.terms_))
    assert graph.graph["intercept"] == model.intercept_
    weights = set(graph) - variables
    assert len(weights) == len(model.terms_)
    for j, term in enumerate(model.terms_):
        name = tuple(f"x{i}" for i in term)
        assert set(graph[name]) == set(name)
        assert graph.nodes[name] == {
            "bipartite": 1,
            "weight": model.weights_[j],
            "order": len(term),
            "standard_error": model.standard_errors_[j],
        }
    parts = [
        {int(node[1:]) for node in part & variables}
        for part in networkx.connected_components(graph)
    ]
    linkage = model.interaction_graph_
    lone = [{i} for i in linkage.unused]
    assert sorted(map(sorted, parts)) == sorted(
        [*map(sorted, linkage.components), *map(sorted, lone)]
    )


def test_graph_of_categories_and_its_file():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"base": rng.choice(["A", "C", "G"], 90), "flag": rng.integers(0, 2, 90)}
    )
    y = 2.0 * (frame["base"] == "G") * frame["flag"] + 0.05 * rng.standard_normal(90)
    graph = to_networkx(MOHNRegressor("gp").fit(frame, y))
    assert ("flag", "base=G") in graph
    assert {"flag", "base=A", "base=C", "base=G"} <= set(graph)
    networkx.write_graphml(graph, io.BytesIO())


def test_column_called_as_a_category_is_another_node():
    frame = pd.DataFrame({"sex": list("fmfm"), "sex=m": [0, 0, 1, 1]})
    model = MOHNRegressor("full", max_order=1).fit(frame, [1.0, 2.0, 4.0, 5.0])
    nodes = to_networkx(model).nodes
    assert set(nodes) == {"sex=m", "sex=m (2)", ("sex=m",), ("sex=m (2)",)}


def test_bad_models_are_refused():
    with pytest.raises(TypeError, match="model must be a MOHNRegressor, got list"):
        to_networkx([])
    with pytest.raises(NotFittedError):
        to_networkx(MOHNRegressor())
