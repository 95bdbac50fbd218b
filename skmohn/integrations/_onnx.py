"""MOHN models, and BLM networks with weights of a few bits, as ONNX models."""

import importlib
from numbers import Integral
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skmohn._core._fitting import warn_caller
from skmohn._core._optional import import_optional
from skmohn._core._types import TableLike
from skmohn.blm import BLMClassifier, BLMController, BLMRegressor
from skmohn.blm._engine import (
    InputCoding,
    InputSpec,
    Network,
    coarse_numbers,
    coding_of,
    compare,
    input_names,
    network_of,
    read_numbers,
    report,
)
from skmohn.integrations._onnx_formula import Graph, as_tensor, formula_model
from skmohn.mohn import MOHNClassifier, MOHNRegressor
from skmohn.mohn._engine import Formula

# Types of weights: their bits, the first opset that dequantizes them, and what a file
# must say that it is at least.
_TYPES = {"INT2": (2, 25, 13), "INT4": (4, 21, 10), "INT8": (8, 13, 8)}
_TYPES |= {"INT16": (16, 21, 10), "INT32": (24, 13, 8)}
# Versions of the operators.
_MIN_OPSET: Final = 13
_MAX_OPSET: Final = 25
_ACTIVATIONS = {
    "tanh": "Tanh",
    "logistic": "Sigmoid",
    "relu": "Relu",
    "softmax": "Softmax",
    "identity": "Identity",
}


def to_onnx(
    model: BLMClassifier
    | BLMRegressor
    | BLMController
    | MOHNClassifier
    | MOHNRegressor,
    X: TableLike | None = None,
    *,
    opset: int = 21,
    quantized: bool = True,
) -> Any:
    """Convert a BLM network or a MOHN model to an ONNX model.

    Weights of a network are stored as integers of 2, 4, 8, 16 or 32 bits, the fewest
    that hold `n_bits` and that the opset has, each layer with a ``DequantizeLinear``. A
    MOHN computes `predict` in double precision, up to rounding.

    Parameters
    ----------
    model : BLMClassifier, BLMRegressor, BLMController, MOHNClassifier or MOHNRegressor
        Fitted estimator, not a recurrent one. MOHNs as in
        :meth:`skmohn.MOHNRegressor.to_sql`.
    X : array-like of shape (n_samples, n_features), default=None
        Rows on which predictions of the ONNX model and `model` are compared, since
        inputs of a network are in single precision; the result is printed. None
        compares nothing; a MOHN with more weights than it lists needs X.
    opset : int, default=21
        Version of ONNX's operators, 13 to 25. Integers of 4 and 16 bits need 21, those
        of 2 bits 25.
    quantized : bool, default=True
        Whether weights of a network are integers; False writes floats, for runtimes
        without small integers.

    Returns
    -------
    onnx.ModelProto
        With the input ``X``, float32 of shape (n_samples, n_features). Categories are
        their indices in sorted order, from 0; NaN, and what is no such index, is
        missing; for a controller NaN is zero. For a classifier the outputs are
        ``label`` and ``probabilities``, those of `predict_proba`, or without these
        ``scores``: a column for each class or label, also for two classes, whose scores
        have opposite signs. Otherwise the output is ``predictions``, (n_samples,
        n_outputs). For a MOHN the input is float64, with NaN for missing values;
        categories are their indices in `categories_`.

    Raises
    ------
    ImportError
        If onnx is not installed.
    TypeError
        If `model` is another estimator.
    ValueError
        If the network is recurrent, for other opsets, if `model` cannot predict X, and
        for anything that :meth:`skmohn.MOHNRegressor.to_sql` refuses.

    Warns
    -----
    UserWarning
        If less than 0.99 of the labels of X agree with `model`, or R2 for numbers is
        lower, or a class is lost. Without X, if a column lies so far from zero that
        single precision is too coarse for it, as seconds since 1970 do.

    See Also
    --------
    skmohn.BLMClassifier.to_c : C for microcontrollers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmohn import BLMClassifier
    >>> from skmohn.integrations import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BLMClassifier((5,), n_bits=4, random_state=0).fit(X, y)
    >>> [output.name for output in to_onnx(model, X).graph.output]
    ONNX: ...% of 150 labels are those of the estimator
    ['label', 'probabilities']
    """
    onnx = import_optional("onnx", "to_onnx")
    is_network = isinstance(model, BLMClassifier | BLMRegressor | BLMController)
    if not is_network and not isinstance(model, MOHNClassifier | MOHNRegressor):
        raise TypeError(
            "model must be a BLMClassifier, BLMRegressor, BLMController, MOHNRegressor "
            f"or MOHNClassifier, got {type(model).__name__}; from a Pipeline or a "
            "search, pass the fitted step"
        )
    check_is_fitted(model)
    if not isinstance(opset, Integral) or not _MIN_OPSET <= opset <= _MAX_OPSET:
        raise ValueError(
            f"opset must be from {_MIN_OPSET} to {_MAX_OPSET}, got {opset!r}"
        )
    if not is_network:
        return formula_model(onnx, Formula.read(model, X, "ONNX"), int(opset))
    network = network_of(model)
    if network.layout.recurrent:
        raise ValueError("to_onnx writes no recurrent networks: to_c does")
    coding = coding_of(model)
    made = _NetworkGraph(onnx, network, coding, int(opset), quantized).write()
    _compare(onnx, model, network, int(opset), X)
    return made


def _compare(onnx: Any, model: Any, network: Network, opset: int, X: TableLike) -> None:
    """Compare predictions in single precision with those of the estimator."""
    losses = coarse_numbers(
        _in_single(network.layout.sizes[0]), network, input_names(model)
    )
    if X is None:
        for loss in losses:
            warn_caller(f"{loss}, or pass X to see what is lost")
        return
    # The evaluator has small integers of late opsets alone; floats are their values.
    coding = coding_of(model)
    floats = _NetworkGraph(onnx, network, coding, opset, quantized=False).write()
    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(floats)
    wanted, rows = model.predict(X), read_numbers(model, X)
    given = {"X": _in_single(rows.shape[1]).read(rows)}
    found = np.asarray(evaluator.run(None, given)[0])
    if network.labels is not None:
        wanted, _ = as_tensor(wanted)
    other = "subtract from columns that are far from zero a number near their mean"
    report("ONNX", compare(found, wanted, network), losses or [f"{other}, before fit"])


def _in_single(n_columns: int) -> InputSpec:
    """Columns of a table in single precision."""
    return InputSpec("float32", np.ones(n_columns), np.arange(n_columns))


class _NetworkGraph(Graph):
    """Nodes and constants of a network."""

    def __init__(
        self,
        onnx: Any,
        network: Network,
        coding: InputCoding | None,  # None: inputs are those of a controller
        opset: int,
        quantized: bool,
    ) -> None:
        super().__init__(onnx, opset)
        self.network, self.coding = network, coding
        kinds = [
            kind
            for kind, (bits, first, _) in _TYPES.items()
            if network.n_bits <= bits and first <= opset
        ]
        self.kind = kinds[0] if quantized else None

    def weights(self, codes: NDArray[np.integer], step: Any) -> str:
        """Add weights, given their codes."""
        if self.kind is None:
            return self.constant(codes * step)
        self.version = max(self.version, _TYPES[self.kind][2])
        stored = self.constant(codes, self.kind)
        return self.add("DequantizeLinear", stored, self.constant(step))

    def activate(self, sums: str, kind: str) -> str:
        """Add an activation."""
        if kind == "step":
            above = self.add("Greater", sums, self.constant(self.network.tie))
            return self.add("Cast", above, to=self.types.FLOAT)
        return self.add(_ACTIVATIONS[kind], sums)

    def inputs(self) -> str:
        """Add the inputs of the network, made of the columns of the table."""
        coding, means = self.coding, self.network.input_mean
        if coding is None or coding.is_plain:
            # Comparisons would take NaN for small: a step would be off, a class the
            # first.
            if coding is not None:
                means = np.where(np.isnan(coding.means), means, coding.means)
            return self.known("X", means)
        parts, flags = [], []
        for j, start in enumerate(coding.starts.tolist()):
            column = self.add("Gather", "X", self.constant([j], "INT64"), axis=1)
            if coding.n_levels[j] > 1:
                parts.append(self.levels(column, j, coding))
            elif coding.n_levels[j] == 0:
                parts.append(self.known(column, coding.means[start : start + 1]))
                if coding.has_missing[j]:
                    is_missing = self.add("IsNaN", column)
                    flags.append(self.add("Cast", is_missing, to=self.types.FLOAT))
        return self.add("Concat", *parts, *flags, axis=1)

    def known(self, numbers: str, means: NDArray[np.float64]) -> str:
        """Add numbers, with means in place of missing ones."""
        unknown = self.add("IsNaN", numbers)
        return self.add("Where", unknown, self.constant(means), numbers)

    def levels(self, column: str, j: int, coding: InputCoding) -> str:
        """Add the inputs of a column of categories."""
        inputs = coding.level_inputs(j)
        n = len(inputs) - 1
        none, end = self.constant(0.0), self.constant(float(n))
        is_category = self.add(
            "And",
            self.add("GreaterOrEqual", column, none),
            self.add("Less", column, end),
        )
        number = self.add("Where", is_category, column, end)
        number = self.add("Cast", number, to=self.types.INT64)
        found = self.add("Gather", self.constant(inputs), number, axis=0)
        return self.add("Squeeze", found, self.constant([1], "INT64"))

    def values(self) -> str:
        """Add the network: from inputs to the mean of all members' outputs."""
        network, start = self.network, self.inputs()
        if network.is_standardized:
            start = self.add("Sub", start, self.constant(network.input_mean))
            start = self.add("Div", start, self.constant(network.input_scale))
        outputs = []
        for member in network.members:
            last = start
            kinds = [network.activation] * (network.n_layers - 1)
            kinds.append(network.out_activation)
            for codes, step, kind in zip(member, network.steps, kinds, strict=True):
                parts = [self.weights(part, step) for part in codes[:2]]
                last = self.add("Gemm", last, *parts, transB=1)
                last = self.activate(last, kind)
            outputs.append(last)
        return outputs[0] if len(outputs) == 1 else self.add("Mean", *outputs)

    def outputs(self) -> list[tuple[str, int, int | None]]:
        """Add the outputs of a model; return names, types and shapes."""
        network, values = self.network, self.values()
        n_outputs = network.layout.sizes[-1]
        if network.labels is None:
            values = self.add("Mul", values, self.constant(network.output_scale))
            mean = self.constant(network.output_mean)
            self.add("Add", values, mean, name="predictions")
            return [("predictions", self.types.FLOAT, n_outputs)]
        has_probabilities = network.out_activation != "identity"
        what = "probabilities" if has_probabilities else "scores"
        label = self._label(network.labels, values, 0.5 if has_probabilities else 0.0)
        if network.labels.one_of_many and network.out_activation == "logistic":
            axis = self.constant([1], "INT64")
            values = self.add("Div", values, self.add("ReduceSum", values, axis))
        elif n_outputs == 1 and not network.labels.multilabel:
            one = self.constant(1.0 if has_probabilities else 0.0)
            other = self.add("Sub", one, values)
            values, n_outputs = self.add("Concat", other, values, axis=1), 2
        self.add("Identity", values, name=what)
        return [label, (what, self.types.FLOAT, n_outputs)]

    def _label(
        self, labels: Any, values: str, threshold: float
    ) -> tuple[str, int, int | None]:
        """Add the labels."""
        n_outputs = self.network.layout.sizes[-1]
        if labels.one_of_many:
            best = self.add("ArgMax", values, axis=1, keepdims=0)
        else:
            above = self.add("Greater", values, self.constant(threshold))
            whole = {"to": self.types.INT64}
            if labels.multilabel:
                self.add("Cast", above, name="label", **whole)
                return "label", self.types.INT64, n_outputs
            axes = self.constant([1], "INT64")
            best = self.add("Squeeze", self.add("Cast", above, **whole), axes)
        classes, kind = as_tensor(labels.classes)
        self.add("Gather", self.constant(classes, kind), best, name="label")
        return "label", getattr(self.types, kind), None

    def write(self) -> Any:
        """ONNX model of inputs and outputs."""
        n = self.network.layout.sizes[0]
        n = n if self.coding is None else len(self.coding.n_levels)
        return self.model(n, "FLOAT", self.outputs())
