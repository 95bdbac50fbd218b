"""`to_c`: from a fitted estimator to C, and to the outputs of that C."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from skmohn._core._c_names import validate_name
from skmohn._core._categories import column_names
from skmohn._core._fitting import warn_caller
from skmohn._core._names import find_columns, index_names
from skmohn._core._sklearn import Interval, StrOptions, validate_parameter_constraints
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike, check_array
from skmohn._core._validation import refuse_set, to_numpy
from skmohn.blm._device import render
from skmohn.blm._device.agreement import coarse_numbers, compare, cut_inputs, report
from skmohn.blm._device.c_writer import Program
from skmohn.blm._device.calibrate import calibrated
from skmohn.blm._device.emulate_float import FloatProgram, in_single, run_float
from skmohn.blm._device.emulate_int import run_int
from skmohn.blm._device.inputs import MAX_CATEGORIES, TYPES, InputSpec
from skmohn.blm._device.network import Network, OutputDecoder, network_of
from skmohn.blm._device.quantize import IntProgram


@dataclass(frozen=True)
class ExportConstants:
    """Choice of bits of activations; limits of single precision."""

    # Labels that have to stay the same for activations of 8 bits to be enough.
    min_agreement_8_bits: float = tuned(0.995, "benchmarks/ablation.py")
    # Units from the mean of an input, or in a standard deviation, for single precision.
    max_single: float = tuned(1e30, "rounding")


_EXPORT = ExportConstants()
_CONSTRAINTS = {
    "name": [str],
    "path": [str, Path, None],
    "arithmetic": [StrOptions({"integer", "float32"})],
    "input_type": [StrOptions(set(TYPES))],
    "one_hot": ["array-like"],
    "activation_bits": [Interval(Integral, 4, 16, closed="both"), StrOptions({"auto"})],
    "n_tests": [Interval(Integral, 0, None, closed="left")],
}


class DeviceModel:
    """A network in C, and its predictions.

    Made by the method `to_c` of :class:`~skmohn.BLMClassifier`,
    :class:`~skmohn.BLMRegressor` and :class:`~skmohn.BLMController`. Its outputs equal
    those of the compiled C code in every bit: numpy computes them in the same
    arithmetic. The C code forbids compilers to fuse products with sums. Bits of floats
    may still differ if a compiler has no IEEE 754 arithmetic in single precision (x87),
    or is set not to use it (clang's ``-ffast-math`` or ``-ffp-contract=fast``).

    Parameters
    ----------
    model : estimator
        The fitted estimator.
    name : str
        The prefix of all names.
    program : object
        The network in the arithmetic of the device.
    reader : object
        The inputs of the device.
    n_tests : int
        Number of rows in the test.
    X : array-like
        Rows to compare predictions on, or None.

    Attributes
    ----------
    name : str
        The prefix of all names.
    header, test : str
        Text of ``name.h``, and of ``name_test.c``, empty without tests.
    input_names : list of str
        What each input of the device is. Of categories it lists all, in the order of
        their numbers, from 0.
    activation_bits : int or None
        Bits of inputs and activations; None in single precision.
    accumulator_bits : tuple of int
        Bits that the sums of each layer are proven to fit; none in single precision.
    weight_bytes, table_bytes : int
        Program memory that the weights take, and all other tables.
    agreement : float or None
        Fraction of the labels of X that agree with the estimator; in regression the R2
        of the predictions, with those of the estimator as targets, and the lowest of
        all outputs. None without X.
    largest_error : float or None
        In regression the largest difference on X, in standard deviations of the
        estimator's predictions; if these are all equal, of the targets.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmohn import BLMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BLMClassifier((5,), n_bits=4, random_state=0).fit(X, y)
    >>> device = model.to_c("iris", X=X, input_type="int16", input_scale=0.1)
    iris.h: ...% of 150 labels are those of the estimator
    >>> device.agreement > 0.98
    True
    >>> device.weight_bytes
    19
    >>> print(device.header[:50])
    /*
     * iris: a 4-5-3 network, weights of 4 bits, in
    """

    def __init__(
        self,
        model: Any,
        name: str,
        program: Program,
        reader: InputSpec,
        n_tests: int,
        X: TableLike = None,
    ) -> None:
        # What a later fit sets are other attributes: this network stays.
        self._model, self._program, self._reader = copy(model), program, reader
        self._answers = _answering(program)
        writer = render.writer_of(program)
        self.name, self.input_names = name, _name_inputs(model, reader)
        self.header = render.header(name, program, self._answers)
        self.weight_bytes = writer.weights.nbytes
        tables = sum(array.nbytes for array in writer.arrays())
        self.table_bytes = tables - self.weight_bytes
        is_float = isinstance(program, FloatProgram)
        self.activation_bits = None if is_float else program.bits
        layers = [] if is_float else program.layers
        self.accumulator_bits = tuple(layer.accumulator_bits for layer in layers)
        self.test = self._test(n_tests, X) if n_tests else ""
        self._agreement = self.agreement = self.largest_error = None
        if X is not None:
            answers = self.predict(X), self._model.predict(X)
            self._agreement = compare(*answers, program.network)
            self.agreement, self.largest_error = self._agreement[:2]

    def __repr__(self) -> str:
        """Name, sizes, and the agreement with the estimator."""
        found = "" if self._agreement is None else f"; {self._agreement}"
        return (
            f"<{self.name}.h: {self.weight_bytes} bytes of weights, "
            f"{self.table_bytes} of tables{found}>"
        )

    def run(self, X: TableLike) -> NDArray:
        """Compute the outputs of ``name_run``.

        Parameters
        ----------
        X : array-like
            As for `predict` of the estimator. Inputs are rounded to the unit and cut to
            the range that the device has. If the device is given float32, numbers may
            also be infinite, which are cut, or NaN, which count as the mean of their
            column in `fit`, or as zero if the estimator does not standardize. Missing
            values of tables that had some in `fit`, or have categories, are as in
            `predict`; but a category that is none of those of `fit` is zeros.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            Integers, or numbers in single precision.
        """
        has_all = self._reader.kind == "float32"
        rows, lengths = self._model._rows_of(X, ensure_all_finite=not has_all)
        return self._run(self._reader.read(rows), lengths)

    def predict(self, X: TableLike) -> Any:
        """Predict as the device does.

        Parameters
        ----------
        X : array-like
            As for :meth:`run`.

        Returns
        -------
        ndarray
            As from `predict` of the estimator.
        """
        outputs = self.run(X)
        if self._answers.labels is None:
            # In single precision, as in C.
            values = outputs, self._program.output_scale, self._program.output_offset
            outputs, scale, offset = (value.astype(np.float32) for value in values)
            answers = (outputs * scale + offset).astype(np.float64)
        else:
            answers = self._answers.labels.decode(outputs, self._answers.threshold)
        return self._model._answers_to(answers, X)

    def _run(self, raw: NDArray, lengths: NDArray[np.int64]) -> NDArray:
        if isinstance(self._program, FloatProgram):
            return run_float(self._program, raw, lengths)
        return run_int(self._program, raw, lengths)

    def _test(self, n_tests: int, X: TableLike) -> str:
        """Rows spread over X, or drawn, and the ends of the range."""
        network, reader = self._program.network, self._reader
        n_inputs = network.layout.sizes[0]
        if X is None:
            rng = np.random.default_rng(0)
            z = rng.uniform(-3.0, 3.0, (n_tests, n_inputs))
            if not network.is_standardized and reader.kind != "float32":
                z *= reader.largest(network) / 3.0
            raw = reader.read_drawn(z * network.input_scale + network.input_mean, rng)
        else:
            rows, _ = self._model._rows_of(X)
            raw = reader.read(rows[np.linspace(0, len(rows) - 1, n_tests).astype(int)])
        ends = (raw.min(), raw.max()) if reader.kind == "float32" else reader.ends
        raw[-2:] = np.array(ends)[-len(raw[-2:]) :, None]
        expected = self._run(raw, np.array([len(raw)]))
        return render.test_file(self.name, self._program, raw, expected)


def _name_inputs(model: Any, reader: InputSpec) -> list[str]:
    """Names of the inputs of a device."""
    names = iter([model._input_names()[column] for column in reader.columns])
    numbers = [next(names) for _ in reader.unit]
    return [*numbers, *(" | ".join(islice(names, size)) for size in reader.groups)]


def _answering(program: Program) -> OutputDecoder:
    """Decoder of the outputs of a program."""
    network = program.network
    if network.labels is None:
        return OutputDecoder(None)
    has_probabilities = network.out_activation != "identity"
    has_logistic_outputs = isinstance(program, FloatProgram) and not network.answers_raw
    return OutputDecoder(
        network.labels, has_probabilities, 0.5 if has_logistic_outputs else 0.0
    )


class DeviceMixin:
    """Export of BLM estimators to devices."""

    # InputCoding of the columns as inputs of the network; None if they are these.
    _inputs: Any = None

    def _input_names(self) -> list[str]:
        """Names of the inputs of the network."""
        model: Any = self
        return column_names(model)

    def to_c(
        self,
        name: str,
        path: str | Path | None = None,
        *,
        arithmetic: str = "integer",
        X: TableLike = None,
        input_type: str = "float32",
        input_scale: ArrayLike = 1.0,
        one_hot: Sequence[Sequence[int | str]] = (),
        activation_bits: int | str = "auto",
        n_tests: int = 16,
    ) -> DeviceModel:
        """Export the network as C code, for microcontrollers.

        ``name.h`` is C99, needs no memory except its arguments and the stack, and has
        ``name_run``, which fills outputs, and ``name_predict``. On AVR, tables are in
        the program memory. ``name_test.c`` compares it with the outputs expected here.

        Parameters
        ----------
        name : str
            Name of the files, and prefix of all names in them: a C identifier.
        path : str or Path, default=None
            Folder to write both files to. None writes none: the result contains their
            text.
        arithmetic : {"integer", "float32"}, default="integer"
            Integers of `activation_bits` bits, with sums that are proven to fit 16 or
            otherwise 32 bits, or single precision.
        X : array-like, default=None
            Rows like those that the device will read, in the form of `predict`. They
            determine the ranges of inputs and units, except for a few extreme rows;
            predictions are compared with those of the estimator, the result is printed,
            and some rows make the test. Without X, inputs may reach 4 standard
            deviations, with more than 10 bits 8; if the estimator does not standardize,
            the range of the input type. Values beyond are clipped.
        input_type : {"float32", "int16", "uint8"}, default="float32"
            Type of the inputs that the device is given. "float32" takes the numbers of
            the table as they are, so it is the default: no other type has the unit of
            a sensor. Integers avoid floating point altogether.
        input_scale : float or array-like of shape (n_features,), default=1.0
            What an input of 1 stands for in the table, such as 0.1 for tenths. Those of
            columns in `one_hot`, and of categories, are not looked at.
        one_hot : sequence of sequences of int or str, default=()
            Columns that `OneHotEncoder` has made of a column of categories, by index or
            name, for each such column. The device is given the number of the category
            in their place, after all inputs that are numbers: 0 if the first of these
            columns is 1, and so on; any other number, also below 0, stands for none of
            them, as with ``handle_unknown="ignore"``. Fractions are cut off. Columns
            that the estimator reads as more than two categories are such inputs anyway,
            the last ones, with the numbers of the sorted categories, then that of
            missing ones if `fit` had any; of two categories the device is given 0 or 1.
            Where numbers were missing in `fit`, it is also given 1 if they are, else 0:
            see `input_names` of what is returned.
        activation_bits : int or "auto", default="auto"
            Bits of inputs and activations with the sign, 4 to 16. "auto" is 12, and for
            classifiers that are not recurrent 8 if at least 99.5 % of the labels of X
            stay the same, otherwise 10.
        n_tests : int, default=16
            Rows in ``name_test.c``; 0 writes none.

        Returns
        -------
        DeviceModel
            The text of the files, sizes and proven widths, and an emulator.

        Raises
        ------
        ValueError
            If the name is not a C identifier, or is that of a header of C libraries, if
            targets are too large or too small for single precision, if X has values
            that are not numbers, if nothing determines the range of the inputs, if sums
            may not fit 32 bits or single precision, or if `activation_bits` are given
            for single precision; if `one_hot` has columns that do not exist, or that
            are not 0 but for one that is 1 in X.

        Warns
        -----
        UserWarning
            If X has numbers that `input_type` cannot hold: they are clipped, as on the
            device. If less than 0.99 of the labels of X agree with the estimator, or R2
            for numbers is lower, or a class is lost. Without X, if `input_type` is too
            coarse for a column, or its range is too small. If an AVR cannot read tables
            as large as those written.
        """
        check_is_fitted(self)
        given = {
            "name": name,
            "path": path,
            "arithmetic": arithmetic,
            "input_type": input_type,
            "one_hot": one_hot,
            "activation_bits": activation_bits,
            "n_tests": n_tests,
        }
        validate_parameter_constraints(_CONSTRAINTS, given, caller_name="to_c")
        validate_name(name)
        network = network_of(self)
        _check_targets(network)
        columns, groups = _read_groups(one_hot, self, input_type)
        unit = _read_unit(input_scale, self)[columns[: len(columns) - sum(groups)]]
        indicators = () if self._inputs is None else self._inputs.indicators
        reader = InputSpec(input_type, unit, columns, groups, indicators)
        network = network.with_categories(columns, groups)
        _check_unit(reader, network)
        if X is not None:
            _warn_of_cuts(self, reader, X)
        if arithmetic == "float32":
            if activation_bits != "auto":
                raise ValueError(
                    f"activation_bits={activation_bits} is for integers: leave it "
                    'out, or use arithmetic="integer"'
                )
            program = in_single(network, reader)
        else:
            program = _in_integers(self, network, reader, activation_bits, X)
        device = DeviceModel(self, name, program, reader, int(n_tests), X)
        _report_agreement(self, device, X)
        if too_large := render.too_large_for_avr(program):
            warn_caller(
                f"{name}.h does not build on an AVR: {too_large}. If it is for one, "
                "use fewer bits (n_bits), inputs or hidden units"
            )
        if path is not None:
            folder = Path(path)
            (folder / f"{name}.h").write_text(device.header, encoding="ascii")
            if n_tests:
                test = folder / f"{name}_test.c"
                test.write_text(device.test, encoding="ascii")
        return device


def _read_unit(input_scale: ArrayLike, model: Any) -> NDArray[np.float64]:
    """Unit of each input of the network."""
    n_inputs = model.n_features_in_
    if isinstance(input_scale, Real):
        input_scale = np.full(n_inputs, float(input_scale))
    unit = check_array(
        to_numpy(input_scale),
        dtype=np.float64,
        ensure_2d=False,
        input_name="input_scale",
    )
    if unit.shape != (n_inputs,) or not np.all(unit > 0.0):
        raise ValueError(
            f"input_scale must be a positive number, or one for each of the {n_inputs} "
            f"inputs, got {unit!r}"
        )
    coding = model._inputs
    if coding is None:
        return unit
    units = np.ones(coding.n_inputs)
    units[coding.starts[coding.numbers]] = unit[coding.numbers]
    return units


def _check_targets(network: Network) -> None:
    """Refuse targets of a size that single precision does not hold."""
    scale, mean = network.output_scale, np.abs(network.output_mean)
    smallest, largest = scale.min(), max(scale.max(), mean.max())
    is_small = smallest < 1.0 / _EXPORT.max_single
    if is_small or largest > _EXPORT.max_single:
        order = smallest if is_small else largest
        raise ValueError(
            f"targets are of the order of {order:.0e}, which single precision cannot "
            "hold: fit them in another unit"
        )


def _is_flat(group: Any) -> bool:
    if isinstance(group, str | set | dict) or not np.iterable(group):
        return False
    return all(isinstance(one, str) or not np.iterable(one) for one in group)


def _read_groups(
    one_hot: Sequence[Sequence[int | str]], model: Any, kind: str
) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Inputs of the network, categories last, and how many of them each has."""
    refuse_set(one_hot, "one_hot")
    if not all(_is_flat(group) for group in one_hot):
        raise ValueError(
            "one_hot must have a sequence of columns for each input that is a "
            f"category, such as [[4, 5, 6]], got {one_hot!r}"
        )
    groups = [list(group) for group in one_hot]
    n, index = model.n_features_in_, getattr(model, "feature_names_in_", None)
    given = [column for group in groups for column in group]
    found = find_columns(given, index_names(index), n, "one_hot")
    sizes = tuple(map(len, groups))
    if 0 in sizes:
        raise ValueError(f"one_hot has a group without columns: {one_hot!r}")
    coding, what = model._inputs, "one_hot has {} columns for one input"
    if coding is not None:
        found = _find_numbers(found, model)
        own = coding.groups.values()
        found += [at for inputs in own for at in inputs.tolist()]
        sizes, n = (*sizes, *map(len, own)), coding.n_inputs
        what = "one input has {} categories"
    if max(sizes, default=0) > MAX_CATEGORIES[kind]:
        raise ValueError(
            f"{what.format(max(sizes))}, but input_type={kind!r} "
            f"can encode only {MAX_CATEGORIES[kind]} categories and none of them: use "
            'input_type="int16"'
        )
    numbers = np.setdiff1d(np.arange(n), found)
    return np.concatenate([numbers, np.array(found, dtype=np.int64)]), sizes


def _find_numbers(columns: Sequence[int], model: Any) -> list[int]:
    """Inputs that are columns of numbers, of which none was missing in `fit`."""
    coding = model._inputs
    others = [j for j in columns if coding.n_levels[j] or coding.has_missing[j]]
    if others:
        raise ValueError(
            f"one_hot has column {column_names(model)[others[0]]}, which holds "
            "categories or had missing values in fit: leave it out, since the device "
            "is given the numbers of such categories anyway"
        )
    return coding.starts[columns].tolist() if columns else []


def _check_unit(reader: InputSpec, network: Network) -> None:
    """Refuse units in which inputs are no numbers of single precision."""
    n = network.n_numbers
    with np.errstate(over="ignore"):
        sizes = np.abs([network.input_mean[:n], network.input_scale[:n]]) / reader.unit
    is_small = np.any(sizes[1] < 1.0 / _EXPORT.max_single)
    if is_small or np.any(sizes > _EXPORT.max_single):
        raise ValueError(
            "input_scale must be of the order of the numbers in the table, or of the "
            f"resolution of a sensor, got {reader.unit.min()} to {reader.unit.max()}"
        )


def _warn_of_cuts(model: Any, reader: InputSpec, X: TableLike) -> None:
    """Warn of numbers of X that the type of the inputs cannot hold."""
    cut = reader.cut(model._rows_of(X)[0])
    if len(cut):
        low, high = reader.ends
        names = [model._input_names()[column] for column in cut]
        warn_caller(
            f"X has numbers that input_type={reader.kind!r} cannot hold, in {names}: "
            f"they are clipped to {low} and {high} times input_scale. Use another "
            "input_type, or a larger input_scale"
        )


def _report_agreement(model: Any, device: DeviceModel, X: TableLike) -> None:
    """Print the agreement on X and warn if it is low; without X, of known losses."""
    reader, network = device._reader, device._program.network
    given = reader, network, model._input_names()
    if device._agreement is None:
        for loss in [*coarse_numbers(*given), *cut_inputs(*given)]:
            warn_caller(f"{loss}, or pass X to see what is lost")
        return
    cures = coarse_numbers(*given) or _cures(device)
    report(f"{device.name}.h", device._agreement, [*_find_missing(model, X), *cures])


def _find_missing(model: Any, X: TableLike) -> list[str]:
    """Find columns of categories that are missing in X, but were not in `fit`."""
    coding = model._inputs
    if coding is None or coding.is_plain:
        return []
    table, names = model._table_of(X)[0], column_names(model)
    lost = [
        names[j]
        for j in coding.groups
        if not coding.has_missing[j] and np.isnan(table[:, j]).any()
    ]
    return [
        f"column {name} of X has missing categories, all zeros on the device, but at "
        "their means in predict: fit rows in which some are missing, so that these "
        "have an index"
        for name in lost
    ]


def _cures(device: DeviceModel) -> list[str]:
    """Cures of low agreement, where no column is known to be lost."""
    cures = []
    if device._reader.kind != "float32":
        cures.append('use a smaller input_scale, or input_type="float32"')
    elif device.activation_bits is None:
        cures.append(
            "from columns that are far from zero, subtract a number near their mean, "
            "before fit and on the device"
        )
    if device.activation_bits is not None:
        cures.append(
            f"raise activation_bits={device.activation_bits}, or use "
            'arithmetic="float32"'
        )
        cures.append("drop rows of X that the device will not read: it clips them")
    return cures


def _in_integers(
    model: Any, network: Network, reader: InputSpec, bits: int | str, X: TableLike
) -> IntProgram:
    """Network in integers, of as many bits as it takes."""
    given = () if X is None else model._rows_of(X)
    if bits != "auto":
        return calibrated(network, reader, int(bits), *given)
    if network.labels is None or network.layout.recurrent:
        return calibrated(network, reader, 12, *given)
    if X is not None:
        program = calibrated(network, reader, 8, *given)
        device = DeviceModel(model, "x", program, reader, 0, X)
        if (
            device.agreement is not None
            and device.agreement >= _EXPORT.min_agreement_8_bits
        ):
            return program
    return calibrated(network, reader, 10, *given)
