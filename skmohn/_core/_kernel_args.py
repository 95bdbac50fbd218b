"""Arguments of kernels: many arrays and numbers by one address."""

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from skmohn._core._numba import (
    Builder,
    CodeContext,
    Signature,
    TypingContext,
    Value,
    config,
)


class Borrowable:
    """Base of dataclasses whose arrays and numbers kernels take by one address."""

    # An array is seven numbers or more to the compiler, and has references to be
    # counted: kernels of many functions on many arrays compile in half the time when
    # they get pointers, and run faster on short arrays. Arrays are C-contiguous, may be
    # changed in place but not replaced, and must be alive while a kernel runs. A
    # dataclass declares arrays as ``NDArray[type]``; numbers that kernels only read as
    # ``int``, ``float`` or a type of numpy's; a record of numbers that kernels change,
    # which is an array of shape (1,), as ``Annotated[np.recarray, dtype]``.

    @cached_property
    def _indices(self) -> np.ndarray:
        """Indices of the arrays, and of the numbers."""
        fields, layout = _declared(type(self))
        indices = []
        for name, dtype, is_number in fields:
            value = getattr(self, name)
            if not is_number:
                # A kernel would take its memory for something else.
                if value.dtype != dtype or not value.flags.c_contiguous:
                    raise TypeError(f"{name} must be a C-contiguous array of {dtype}")
                value = value.ctypes.data
            indices.append(value)
        return np.array([tuple(indices)], layout)

    @cached_property
    def address(self) -> Any:
        """Address for kernels, an int; where nothing is compiled, the object itself."""
        return self if config.DISABLE_JIT else self._indices.ctypes.data

    def __reduce__(self) -> tuple:
        """Copies have addresses of their own."""
        fields, _ = _declared(type(self))
        return type(self), tuple(getattr(self, field.name) for field in fields)


class _Field(NamedTuple):
    """Field of a dataclass: a number, or an array or record of a type."""

    name: str
    dtype: np.dtype
    is_number: bool

    def as_numba(self) -> Any:
        """Type of the field in kernels: pointers to arrays, records, numbers."""
        kind = numba.from_dtype(self.dtype)
        is_value = self.is_number or self.dtype.names is not None
        return kind if is_value else types.CPointer(kind)

    def uncompiled(self, value: Any) -> Any:
        """Substitute where nothing is compiled: pointers have no shapes."""
        if self.is_number:
            return value
        return value.reshape(-1) if self.dtype.names is None else value[0]


@lru_cache
def _declared(borrowable: type) -> tuple[tuple[_Field, ...], np.dtype]:
    """Fields of a dataclass, and how they lie in memory: as in a struct of C."""
    fields = []
    for name, hint in get_type_hints(borrowable, include_extras=True).items():
        is_number = isinstance(hint, type)
        fields.append(_Field(name, _dtype_of(hint), is_number))
    layout = [(name, dtype if is_it else np.intp) for name, dtype, is_it in fields]
    return tuple(fields), np.dtype(layout, align=True)


def _dtype_of(hint: Any) -> np.dtype:
    """Type of a number, of a record or of the numbers in an ``NDArray[type]``."""
    if get_origin(hint) is Annotated:
        return hint.__metadata__[0]
    # Since numpy 2.5 the type is the argument of a named alias; before, the alias stood
    # for an ndarray whose last argument was a dtype of it.
    while arguments := get_args(hint):
        hint = arguments[-1]
    return np.dtype(hint)


def borrower_of(borrowable: type[Borrowable]) -> Callable:
    """Make an intrinsic that turns an address into a named tuple of the fields."""
    fields, _ = _declared(borrowable)
    kind = namedtuple(borrowable.__name__, [field.name for field in fields])
    found = types.NamedTuple([field.as_numba() for field in fields], kind)

    @intrinsic
    def borrow(
        typing_context: TypingContext, address: types.Integer
    ) -> tuple[Signature, Callable[..., Value]]:
        def generate(
            context: CodeContext,
            builder: Builder,
            signature: Signature,
            values: Sequence[Value],
        ) -> Value:
            index = context.get_value_type(found).as_pointer()
            return builder.load(builder.inttoptr(values[0], index))

        return found(types.int64), generate

    def borrow_uncompiled(given: Borrowable) -> tuple:
        return kind(*(field.uncompiled(getattr(given, field.name)) for field in fields))

    return borrow_uncompiled if config.DISABLE_JIT else borrow
