"""Graphs of ONNX models, while they grow."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


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
