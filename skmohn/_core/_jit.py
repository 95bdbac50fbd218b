"""The one place that decides how kernels are compiled and whether they are cached."""

import contextlib
import ctypes
import gc
import hashlib
import io
import os
import pickle
import uuid
from collections import namedtuple
from functools import cached_property, lru_cache, wraps
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.caching import FunctionCache
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.registry import cpu_target
from numba.core.serialize import dumps
from numba.extending import intrinsic

CACHE_VARIABLE = "SKMOHN_JIT_CACHE"


class _CacheFiles:
    """Compiled variants of one kernel on disk, each in a file of its own.

    Numba numbers these files and keeps an index of them. Two processes that compile
    different variants at the same moment then take the same number, and the index of
    one leads to the code of the other. Here the name says which variant a file holds,
    and its head what it was made from; files appear whole. So any number of processes
    may share a folder.

    Parameters
    ----------
    folders : list of Path
        Files are looked for in all, and written to the first.

    name : str
        Of the kernel; files begin with it.

    source : tuple
        What the code depends on beside the kernel and its arguments.
    """

    def __init__(self, folders, name, source):
        self._folders, self._name = folders, name
        self._source = numba.__version__, source

    def _file_name(self, key):
        variant = hashlib.sha256(repr(key[:2]).encode()).hexdigest()[:16]
        return f"{self._name}.{variant}.nbc"

    def load(self, key):
        """Return what was saved, or None."""
        for folder in self._folders:
            # What is damaged, or gone since, counts as never saved.
            with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
                file = io.BytesIO((folder / self._file_name(key)).read_bytes())
                # Of another version, only the head can be read.
                if pickle.load(file) == self._source and pickle.load(file) == key:
                    return pickle.load(file)
        return None

    def save(self, key, data):
        """Save a variant, in place of what an older source gave."""
        code = b"".join(dumps(part) for part in (self._source, key, data))
        path = self._folders[0] / self._file_name(key)
        unfinished = path.with_suffix(f".{uuid.uuid4().hex[:16]}.tmp")
        try:
            unfinished.write_bytes(code)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)


@lru_cache
def _stamps(folder):
    """Sizes and times of all kernels of a folder, which may call one another."""
    files = [Path(__file__), *sorted(folder.glob("*_kernels.py"))]
    return tuple((f.name, f.stat().st_mtime_ns, f.stat().st_size) for f in files)


class _Cache(FunctionCache):
    """Numba's cache, which several processes may fill, and which may fail to."""

    def __init__(self, function):
        super().__init__(function)
        package = Path(function.__code__.co_filename).parent
        folders = [Path(self.cache_path)]
        if not numba.core.config.CACHE_DIR:
            # Beside the package may be what somebody else has compiled: who made the
            # image of a service, for instance. It need not be writable.
            folders.append(package / "__pycache__")
        source = self._impl.locator.get_source_stamp(), _stamps(package)
        self._cache_file = _CacheFiles(folders, self._impl.filename_base, source)

    def save_overload(self, sig, data):
        """Save a variant; where that fails, the next process compiles it again."""
        # A function of the user's is another one in each process.
        if not any(isinstance(kind, types.Dispatcher) for kind in sig):
            with contextlib.suppress(OSError):
                super().save_overload(sig, data)


def _common_kind(kind):
    """The type that a kernel's argument is cast to by another kernel's call."""
    kind = types.unliteral(kind)
    if isinstance(kind, types.Integer) and kind.bitwidth < types.int64.bitwidth:
        return types.int64
    return kind


# Passes of numba's that kernels can do without: closures, whole arrays as operands, and
# names of types beside the lines of the source.
_NEEDLESS = {"inline_closure_likes", "nopython_rewrites", "annotate_types"}


class _Flags(Flags):
    """Numba's options of a compilation, which are compared at every call in a kernel.

    Numba gathers the values of all options for that, also those at their defaults.
    Where the same ones are set to the same values, this is not needed.
    """

    __slots__ = ()
    _HASH = hash(Flags())

    def __hash__(self):
        # That of the names of all options, whatever their values.
        return self._HASH

    def __eq__(self, other):
        if isinstance(other, _Flags) and self._values == other._values:
            return True
        return super().__eq__(other)


class _Compiler(CompilerBase):
    """Numba's compiler without the passes that no kernel needs."""

    def __init__(
        self, typingctx, targetctx, library, args, return_type, flags, local_types
    ):
        flags = _Flags(flags)
        super().__init__(
            typingctx, targetctx, library, args, return_type, flags, local_types
        )

    def define_pipelines(self):
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [one for one in passes.passes if one[0]._name not in _NEEDLESS]
        return [passes]


def _without_collector(compile_variant):
    """Let the collector of garbage rest while a kernel is compiled.

    A compiler makes a great many objects, of which few are garbage before it has
    finished: to look for them took a tenth of its time.
    """

    @wraps(compile_variant)
    def compile_at_once(signature):
        if not gc.isenabled():
            return compile_variant(signature)
        gc.disable()
        try:
            return compile_variant(signature)
        finally:
            gc.enable()

    return compile_at_once


def jit(function=None, *, allocates=False, **options):
    """Compile ``function`` lazily in nopython mode, cached on disk where that works.

    A kernel whose name begins with an underscore is for other kernels: it can not be
    called from Python and is stored as part of those that call it.

    Every kernel releases the GIL (joblib's threads may run them side by side) and
    follows numpy's error model (a division by zero gives inf instead of a check per
    element, which lets loops vectorise). Where a kernel calls another one, all integers
    are of 64 bits: else each constant and each width would be a variant of its own.

    Compiled code is stored next to the package or in numba's user-wide folder, and any
    number of processes may do so at once; next to the package it is found where nobody
    may write, too, unless ``NUMBA_CACHE_DIR`` names another folder. It is compiled anew
    when a kernel in the same folder has changed, and in each process when no folder is
    writable, or when the environment variable ``SKMOHN_JIT_CACHE`` is ``0``.

    Parameters
    ----------
    function : callable, default=None
        The kernel. None when the decorator is used with options.

    allocates : bool, default=False
        Whether arrays are made in it, or code of others is called that might. All other
        kernels borrow the arrays of their caller and count no references, which takes
        long to compile.

    **options : dict
        Further options of :func:`numba.njit`, for example ``fastmath``.

    Returns
    -------
    dispatcher : numba dispatcher or decorator
        The compiled kernel, or a decorator when ``function`` is None.
    """
    if function is None:
        return lambda function: jit(function, allocates=allocates, **options)
    # The other wrapper is for kernels that are called by their address.
    is_inner = function.__name__.startswith("_")
    defaults = {
        "nogil": True,
        "error_model": "numpy",
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": is_inner,
        "pipeline_class": _Compiler,
        "_nrt": allocates,
        # By itself it could be optimised to another order of sums. A call would end up
        # there, but only in the process that has compiled it.
        "forceinline": is_inner and "fastmath" in options,
    }
    kernel = numba.njit(**{**defaults, **options})(function)
    if kernel is function:
        return function  # nothing is compiled, as NUMBA_DISABLE_JIT asks for
    kernel.compile = _without_collector(kernel.compile)
    if not is_inner and os.environ.get(CACHE_VARIABLE, "1") != "0":
        # Numba found no writable folder; an uncached kernel still works.
        with contextlib.suppress(RuntimeError):
            kernel._cache = _Cache(function)
    find_template = kernel.get_call_template
    kernel.get_call_template = lambda args, kws: find_template(
        tuple(_common_kind(kind) for kind in args), kws
    )
    return kernel


_NOTHING = ctypes.c_char * 0


def _place_of(array):
    """Address of a contiguous array."""
    try:
        # Four times as fast as numpy's own way, which read-only arrays have to go.
        return ctypes.addressof(_NOTHING.from_buffer(array))
    except TypeError:
        return array.ctypes.data


class Borrowable:
    """Arrays and ints whose addresses kernels take; for dataclasses to inherit.

    An array is seven numbers or more to the compiler, and has references to be counted:
    kernels of many functions on many arrays compile in half the time when they get
    pointers, and run faster on short arrays. A dataclass declares its arrays as
    ``NDArray[type]``. They are C-contiguous, may be changed in place but not replaced,
    and must be alive while a kernel runs.
    """

    @cached_property
    def addresses(self):
        """What kernels take, an ndarray of int64: where the arrays are, and the ints.

        Where nothing is compiled, they take the arrays themselves.
        """
        if numba.core.config.DISABLE_JIT:
            return self
        places = []
        for name, dtype in _declared(type(self)):
            field = getattr(self, name)
            if dtype is None:
                places.append(field)
                continue
            # A kernel would take its memory for something else.
            if field.dtype != dtype or not field.flags.c_contiguous:
                raise TypeError(f"{name} must be a C-contiguous array of {dtype}")
            places.append(_place_of(field))
        return np.array(places)

    def __getstate__(self):
        """Copies have addresses of their own."""
        return {name: part for name, part in vars(self).items() if name != "addresses"}


@lru_cache
def _declared(borrowable):
    """Names of the fields and types of their arrays, None for an int."""
    return tuple(
        (name, None if hint is int else _dtype_of(hint))
        for name, hint in get_type_hints(borrowable).items()
    )


def _dtype_of(hint: Any) -> np.dtype:
    """Type of the numbers in an ``NDArray[type]``."""
    # Since numpy 2.5 the type is the argument of a named alias; before, the alias stood
    # for an ndarray whose last argument was a dtype of it.
    while arguments := get_args(hint):
        hint = arguments[-1]
    return np.dtype(hint)


def borrower_of(borrowable):
    """Make a function that turns addresses into pointers, inside a kernel.

    Parameters
    ----------
    borrowable : class
        A dataclass that inherits :class:`Borrowable`.

    Returns
    -------
    borrow : numba intrinsic
        Of `addresses`; returns a named tuple with the fields of the dataclass.
    """
    names, dtypes = zip(*_declared(borrowable), strict=True)
    fields = [
        types.int64 if dtype is None else types.CPointer(numba.from_dtype(dtype))
        for dtype in dtypes
    ]
    found = types.NamedTuple(fields, namedtuple(borrowable.__name__, names))

    @intrinsic
    def borrow(typing_context, addresses):
        def generate(context, builder, signature, values):
            array = context.make_array(addresses)(context, builder, values[0])
            kind = context.get_value_type(found)
            return builder.load(builder.bitcast(array.data, kind.as_pointer()))

        return found(addresses), generate

    return (lambda given: given) if numba.core.config.DISABLE_JIT else borrow


def address_of(kernel, signature):
    """Compile a kernel as a C function, or load it; return its address.

    Parameters
    ----------
    kernel : numba dispatcher
        Made by :func:`jit` with ``no_cfunc_wrapper=False``.

    signature : numba signature
        Of numbers and pointers.

    Returns
    -------
    address : int
        For :func:`call_address`, as long as the kernel lives.
    """
    kernel.compile(signature.args)
    code = kernel.overloads[signature.args]
    return code.library.get_pointer_to_function(code.fndesc.llvm_cfunc_wrapper_name)


def reader_of(dtype):
    """Make a function that reads an address, inside a kernel.

    An array is seven numbers or more to the compiler, and has references to be counted.
    Kernels of many functions on many arrays compile in half the time when all they take
    is the address of a record that holds the addresses of the arrays. Whoever calls
    them sees to it that the arrays live and are writable and contiguous.

    Parameters
    ----------
    dtype : numpy dtype
        That of the numbers of an array, or a structured one: of a single record.

    Returns
    -------
    reader : numba intrinsic
        Of an int64.
    """
    dtype = np.dtype(dtype)
    kind = numba.from_dtype(dtype)
    found = types.CPointer(kind) if dtype.names is None else kind

    @lru_cache
    def read_uncompiled(address):
        if dtype.names is None:
            pointer = ctypes.POINTER(np.ctypeslib.as_ctypes_type(dtype))
            return ctypes.cast(int(address), pointer)
        memory = (ctypes.c_byte * dtype.itemsize).from_address(int(address))
        return np.frombuffer(memory, dtype).view(np.recarray)[0]

    @intrinsic
    def read(typing_context, address):
        def generate(context, builder, signature, values):
            return builder.inttoptr(values[0], context.get_value_type(found))

        return found(types.int64), generate

    return read_uncompiled if numba.core.config.DISABLE_JIT else read


int32s, int64s, float32s, float64s = map(
    reader_of, (np.int32, np.int64, np.float32, np.float64)
)


@intrinsic
def call_address(typing_context, address, arguments):
    """Call a C function by its address, inside a kernel.

    A kernel that called the function itself would have to be compiled with it.

    Parameters
    ----------
    typing_context : numba typing context
        Given by numba.

    address : int64
        Of a C function that returns a double.

    arguments : tuple of numbers and C-contiguous arrays
        The function takes the numbers, in the same types, and pointers to the arrays.

    Returns
    -------
    value : float64
        What the function returns.
    """

    def generate(context, builder, signature, values):
        place, packed = values
        given = []
        for kind, value in zip(
            signature.args[1], cgutils.unpack_tuple(builder, packed), strict=True
        ):
            if isinstance(kind, types.Array):
                value = context.make_array(kind)(context, builder, value).data
            given.append(value)
        kind = ir.FunctionType(ir.DoubleType(), [value.type for value in given])
        return builder.call(builder.inttoptr(place, kind.as_pointer()), given)

    return types.float64(types.int64, arguments), generate


# ------------------------------------------------------------------ tables of bytes

# Tables that are looked up side by side.
TABLES_AT_ONCE = 4


@lru_cache
def can_look_up():
    """Whether kernels may call :func:`add_found`: it takes AVX2."""
    if numba.core.config.DISABLE_JIT:
        return False
    # As numba compiles for it, which its environment variables may change.
    features = cpu_target.target_context.codegen().magic_tuple()[2]
    return "+avx2" in features.split(",")


@intrinsic
def add_found(typing_context, tables, table, codes, code, sums):
    """Look 64 columns of 64 bits up, four bits at a time, and add what is found.

    One instruction looks up 32 columns, but compilers do not think of it. Only where
    :func:`can_look_up` says so.

    Parameters
    ----------
    typing_context : numba typing context
        Given by numba.

    tables : array of uint8
        For each byte of bits the tables of its lower four, then those of its upper
        four: :data:`TABLES_AT_ONCE` of 16 numbers. What is found in 16 of them, as many
        as 64 bits have, may add up to no more than 255.

    table : int64
        Where the tables of the 64 bits begin.

    codes : array of uint8
        For each byte of bits those of 64 columns.

    code : int64
        Where the first byte of the 64 bits begins.

    sums : array of uint16, shape (TABLES_AT_ONCE, 2, 2, 16)
        What is added to, modulo 65536: of each table and half of the columns, those of
        even ones plus 256 times those of odd ones, and those of odd ones.
    """
    byte, word, place = ir.IntType(8), ir.IntType(16), ir.IntType(64)
    table_kind, half = ir.VectorType(byte, 16), ir.VectorType(byte, 32)
    sum_kind = ir.VectorType(word, 16)
    twice = ir.Constant(ir.VectorType(ir.IntType(32), 32), [*range(16), *range(16)])
    halves = range(2)

    def generate(context, builder, signature, values):
        def at(k, offset):
            array = context.make_array(signature.args[k])(context, builder, values[k])
            start = builder.bitcast(array.data, byte.as_pointer())
            return builder.gep(start, [offset])

        def address(start, offset, kind):
            start = builder.gep(start, [place(offset)])
            return builder.bitcast(start, kind.as_pointer())

        def load(start, offset, kind):
            return builder.load(address(start, offset, kind), align=1)

        look_up = builder.module.declare_intrinsic(
            "llvm.x86.avx2.pshuf.b", (), ir.FunctionType(half, [half, half])
        )
        first_table, first_code = at(0, values[1]), at(2, values[3])
        before, loop = builder.block, builder.append_basic_block("bytes")
        after = builder.append_basic_block("added")
        builder.branch(loop)

        builder.position_at_end(loop)
        k = builder.phi(place)
        starts = [builder.phi(half) for _ in range(2 * TABLES_AT_ONCE)]
        found = list(starts)
        its_codes = builder.gep(first_code, [builder.mul(k, place(64))])
        its_tables = builder.gep(
            first_table, [builder.mul(k, place(2 * 16 * TABLES_AT_ONCE))]
        )
        bits = [load(its_codes, 32 * h, half) for h in halves]
        lower = [builder.and_(part, half([15] * 32)) for part in bits]
        upper = [builder.lshr(part, half([4] * 32)) for part in bits]
        for n, nibbles in enumerate((lower, upper)):
            for t in range(TABLES_AT_ONCE):
                numbers = load(its_tables, 16 * (n * TABLES_AT_ONCE + t), table_kind)
                numbers = builder.shuffle_vector(
                    numbers, ir.Constant(table_kind, ir.Undefined), twice
                )
                for h in halves:
                    one = builder.call(look_up, [numbers, nibbles[h]])
                    found[2 * t + h] = builder.add(found[2 * t + h], one)
        following = builder.add(k, place(1))
        k.add_incoming(place(0), before)
        k.add_incoming(following, loop)
        for start, end in zip(starts, found, strict=True):
            start.add_incoming(half([0] * 32), before)
            start.add_incoming(end, loop)
        is_left = builder.icmp_unsigned("<", following, place(8))
        builder.cbranch(is_left, loop, after)

        builder.position_at_end(after)
        for j, bytes_found in enumerate(found):
            both = builder.bitcast(bytes_found, sum_kind)
            odd = builder.lshr(both, sum_kind([8] * 16))
            for part, offset in ((both, 64 * j), (odd, 64 * j + 32)):
                total = address(at(4, place(0)), offset, sum_kind)
                new = builder.add(builder.load(total, align=1), part)
                builder.store(new, total, align=1)
        return context.get_dummy_value()

    found = types.void(tables, types.int64, codes, types.int64, sums)
    return found, generate
