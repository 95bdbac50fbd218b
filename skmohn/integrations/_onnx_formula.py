"""Graphs of ONNX models, and MOHN models as these in double precision."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._engine import Formula


class Graph:
    """Nodes and constants of a model."""

    def __init__(self, onnx: Any, opset: int) -> None:
        self.helper, self.types = onnx.helper, onnx.TensorProto
        self.check, self.opset = onnx.checker.check_model, opset
        self.nodes, self.constants = [], []
        self.version = 8  # that a file must have at least, by its types

    def add(
        self, operator: str, *inputs: str, name: str | None = None, **options: Any
    ) -> str:
        """Add a node; return the name of its output."""
        name = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, inputs, [name], **options))
        return name

    def constant(self, values: ArrayLike, kind: str = "FLOAT") -> str:
        """Add a constant; return its name."""
        values, name = np.asarray(values), f"constant_{len(self.constants)}"
        flat = values.ravel().tolist()
        if kind == "STRING":
            flat = [str(value).encode() for value in flat]
        made = self.helper.make_tensor(
            name, getattr(self.types, kind), values.shape, flat
        )
        self.constants.append(made)
        return name

    def model(
        self, n_inputs: int, kind: str, outputs: Sequence[tuple[str, int, int | None]]
    ) -> Any:
        """ONNX model of the input X, by names, types and columns of outputs."""
        info = self.helper.make_tensor_value_info
        graph = self.helper.make_graph(
            self.nodes,
            "skmohn",
            [info("X", getattr(self.types, kind), ["n_samples", n_inputs])],
            [
                info(name, type_, ["n_samples"] if n is None else ["n_samples", n])
                for name, type_, n in outputs
            ],
            self.constants,
        )
        model = self.helper.make_model(
            graph,
            opset_imports=[self.helper.make_opsetid("", self.opset)],
            ir_version=self.version,
            producer_name="skmohn",
        )
        self.check(model)
        return model


def as_tensor(classes: NDArray) -> tuple[NDArray, str]:
    """Classes as ONNX can hold them: numbers, or text."""
    kinds = {"b": "BOOL", "i": "INT64", "u": "INT64", "f": "DOUBLE"}
    kind = kinds.get(classes.dtype.kind)
    if kind is None:
        return classes.astype(str), "STRING"
    if kind == "INT64" and classes.max() > np.iinfo(np.int64).max:
        kind = "UINT64"
    return classes, kind


class _ONNXWriter:
    """Expressions as nodes: numbers, (1, 1), and columns, (n_rows, 1), by name."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._columns: dict[int, str] = {}
        self.codes: list[str] = []
        self.scores: list[str] = []

    def number(self, value: float) -> str:
        """Constant."""
        return self._graph.constant([[float(value)]], "DOUBLE")

    def column(self, index: int) -> str:
        """Column of the table."""
        if index not in self._columns:
            indices = self._graph.constant([index], "INT64")
            self._columns[index] = self._graph.add("Gather", "X", indices, axis=1)
        return self._columns[index]

    def code(self, index: int) -> str:
        """Coded input."""
        return self.codes[index]

    def score(self, index: int) -> str:
        """Polynomial."""
        return self.scores[index]

    def add(self, parts: Sequence[str]) -> str:
        """Sum, from left to right."""
        return self._combine("Add", parts)

    def multiply(self, parts: Sequence[str]) -> str:
        """Product, from left to right."""
        return self._combine("Mul", parts)

    def divide(self, numerator: str, denominator: str) -> str:
        """Quotient."""
        return self._graph.add("Div", numerator, denominator)

    def power(self, base: str, exponent: float) -> str:
        """Power."""
        return self._graph.add("Pow", base, self.number(exponent))

    def exp(self, exponent: str) -> str:
        """Exponential function."""
        return self._graph.add("Exp", exponent)

    def piecewise(self, cases: Sequence[tuple[str, str]], otherwise: str) -> str:
        """Value of the first case that holds."""
        for when, then in reversed(cases):
            otherwise = self._graph.add("Where", when, then, otherwise)
        return otherwise

    def is_missing(self, column: int) -> str:
        """Whether a column is NaN."""
        return self._graph.add("IsNaN", self.column(column))

    def less(self, left: str, right: str) -> str:
        """Comparison."""
        return self._graph.add("Less", left, right)

    def less_equal(self, left: str, right: str) -> str:
        """Comparison."""
        return self._graph.add("LessOrEqual", left, right)

    def is_category(self, column: int, number: int) -> str:
        """Whether a column is the number of a category."""
        return self._graph.add("Equal", self.column(column), self.number(number))

    def all(self, parts: Sequence[str]) -> str:
        """Conjunction."""
        return self._combine("And", parts)

    def _combine(self, operator: str, parts: Sequence[str]) -> str:
        return reduce(lambda one, other: self._graph.add(operator, one, other), parts)


def formula_model(onnx: Any, formula: Formula, opset: int) -> Any:
    """Make a model of a formula."""
    graph = Graph(onnx, opset)
    writer, outputs = _ONNXWriter(graph), list[tuple[str, int, int | None]]()
    n_rows = graph.add("Gather", graph.add("Shape", "X"), graph.constant([0], "INT64"))
    shape = graph.add("Concat", n_rows, graph.constant([1], "INT64"), axis=0)

    def join(values: Sequence[str], name: str | None = None) -> str:
        """Columns as one table; numbers are repeated for all rows."""
        columns = [graph.add("Expand", value, shape) for value in values]
        return graph.add("Concat", *columns, name=name, axis=1)

    writer.codes = formula.write_codes(writer)
    # The last column stands for the factors that shorter products lack.
    codes = join([*writer.codes, writer.number(1.0)])
    n_codes = len(writer.codes)
    writer.scores = [
        _add_polynomial(graph, writer, codes, n_codes, score)
        for score in formula.scores
    ]
    values = formula.write_outputs(writer)
    if formula.classes is not None:
        choices = formula.write_choices(writer)
        numbers = [writer.number(k) for k in range(len(values))]
        pairs = list(zip(choices, numbers[:-1], strict=True))
        best = graph.add("Expand", writer.piecewise(pairs, numbers[-1]), shape)
        best = graph.add("Cast", best, to=graph.types.INT64)
        best = graph.add("Squeeze", best, graph.constant([1], "INT64"))
        labels, kind = as_tensor(np.array(formula.classes))
        graph.add("Gather", graph.constant(labels, kind), best, name="label")
        outputs.append(("label", getattr(graph.types, kind), None))
    name = "predictions" if formula.classes is None else "probabilities"
    outputs.append((join(values, name), graph.types.DOUBLE, len(values)))
    return graph.model(len(formula.names), "DOUBLE", outputs)


def _add_polynomial(
    graph: Graph,
    writer: _ONNXWriter,
    codes: str,
    n_codes: int,
    polynomial: WalshPolynomial,
) -> str:
    """Add a weighted sum of products, all of them factor by factor."""
    if not polynomial.terms:
        return writer.number(polynomial.intercept)
    # The constant is a product without factors: as a sum of its own, onnxruntime would
    # drop it where it is zero in single precision.
    terms = [*polynomial.terms, ()]
    members = np.full((max(map(len, terms)), len(terms)), n_codes)
    for k, term in enumerate(terms):
        members[: len(term), k] = term
    factors = [
        graph.add("Gather", codes, graph.constant(row, "INT64"), axis=1)
        for row in members
    ]
    weights = np.append(polynomial.weights, polynomial.intercept)
    column = graph.constant(weights[:, None], "DOUBLE")
    return graph.add("MatMul", writer.multiply(factors), column)
