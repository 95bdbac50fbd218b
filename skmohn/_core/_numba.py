"""Access to numba's private API: compilation, cache and calls of kernels."""

# Other modules use numba's public names alone. What is read here of its inside may go
# with any version: then kernels are compiled and cached as numba itself does it, bits
# are counted instead of looked up in tables, and a warning says so, once in a process.

import contextlib
import ctypes
import hashlib
import os
import pickle
import uuid
import warnings
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, overload

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# What numba gives to intrinsics, of types that are its own.
TypingContext: TypeAlias = Any
CodeContext: TypeAlias = Any
Signature: TypeAlias = Any
Builder: TypeAlias = ir.IRBuilder
Value: TypeAlias = ir.Value
# What environment variables set: documented, if not exported to checkers of types.
config: Any = numba.config  # pyright: ignore[reportPrivateImportUsage]
_Kernel = TypeVar("_Kernel", bound=Callable)
CACHE_VARIABLE = "SKMOHN_JIT_CACHE"
# What reading a name raises that another version of numba has not, or not like that.
_CHANGED = ImportError, AttributeError, LookupError, TypeError
_changes: list[Exception] = []


def _warn_of_change(error: Exception) -> None:
    """Warn, once in a process, that numba's private API has changed."""
    _changes.append(error)
    if len(_changes) == 1:
        warnings.warn(
            f"numba {numba.__version__} differs internally from the versions that "
            f"skmohn supports ({type(error).__name__}: {error}). Results are the same, "
            "but kernels start or run more slowly, and numba's own cache may fail if "
            "it is damaged or filled by several processes at once. Install a newer "
            "skmohn, or a numba released a year earlier.",
            RuntimeWarning,
            stacklevel=2,
        )


class _CacheFiles:
    """Compiled variants of one kernel on disk, each in a file of its own."""

    # Numba numbers these files and keeps an index of them. Two processes that compile
    # different variants at the same moment then take the same number, and the index of
    # one leads to the code of the other. Here the name identifies the variant, and
    # files appear whole. So any number of processes may share a folder.
    # A file begins with a digest of the code and of all that it was made from. Nothing
    # else of a file is read before the digest is found to be right: what is damaged,
    # cut off or of another version is compiled again, and replaced.

    def __init__(
        self,
        # Files are looked for in all, and written to the first.
        folders: Sequence[Path],
        name: str,  # of the kernel; files begin with it
        source: object,  # what the code depends on beside the kernel and its arguments
        # Serializer of a variant; numba's own also takes functions.
        dumps: Callable[[Any], bytes] = pickle.dumps,
    ) -> None:
        self._folders, self._name, self._dumps = folders, name, dumps
        self._source = numba.__version__, source

    def _file_name(self, key: tuple) -> str:
        variant = hashlib.sha256(repr(key[:2]).encode()).hexdigest()[:16]
        return f"{self._name}.{variant}.nbc"

    def _digest(self, key: tuple, code: bytes) -> bytes:
        origin = repr((self._source, key)).encode()
        return hashlib.sha256(hashlib.sha256(origin).digest() + code).digest()

    def load(self, key: tuple) -> Any:
        """Return the saved variant, or None."""
        for folder in self._folders:
            with contextlib.suppress(OSError):
                file = (folder / self._file_name(key)).read_bytes()
                digest, code = file[:_DIGEST_SIZE], file[_DIGEST_SIZE:]
                if digest == self._digest(key, code):
                    return pickle.loads(code)
        return None

    def save(self, key: tuple, data: object) -> None:
        """Save a variant, in place of that of an older source."""
        code = self._dumps(data)
        path = self._folders[0] / self._file_name(key)
        unfinished = path.with_suffix(f".{uuid.uuid4().hex[:16]}.tmp")
        try:
            unfinished.write_bytes(self._digest(key, code) + code)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)


_DIGEST_SIZE = hashlib.sha256().digest_size


@lru_cache
def _stamp(file: Path) -> str:
    """Digest of a kernel's file and of all kernels beside it, which it may call."""
    # From the contents of the files: those of a wheel may all have the same time.
    ours = (Path(__file__).with_name(f"{name}.py") for name in _CORE)
    files = (file, *sorted(file.parent.glob("*_kernels.py")), *ours)
    digests = (hashlib.sha256(one.read_bytes()).hexdigest() for one in files)
    return hashlib.sha256("".join(digests).encode()).hexdigest()


# Modules that compiled kernels have code of.
_CORE = "_numba", "_kernel_args"


class _Cache:
    """Numba's cache, which several processes may fill, and which may fail to."""

    def __init__(self, function: Callable) -> None:
        from numba.core.caching import FunctionCache
        from numba.core.serialize import dumps

        self._cache = FunctionCache(function)
        file = Path(function.__code__.co_filename)
        folders = [Path(self.cache_path)]
        if not config.CACHE_DIR:
            # Beside the package may be what another user has compiled: who made the
            # image of a service, for instance. It need not be writable.
            folders.append(file.parent / "__pycache__")
        name = self._cache._impl.filename_base
        files = _CacheFiles(folders, name, _stamp(file), dumps)
        _replace(self._cache, "_cache_file", files)

    def __getattr__(self, name: str) -> Any:
        """All else is as in numba's."""
        return getattr(self._cache, name)

    def load_overload(self, *variant: Any, **more: Any) -> Any:
        """Load a variant; compile it again if that fails."""
        try:
            return self._cache.load_overload(*variant, **more)
        except Exception as error:  # whatever it is: no fit needs a cache
            _warn_of_change(error)
            return None

    def save_overload(self, signature: Any, *variant: Any, **more: Any) -> None:
        """Save a variant; where that fails, the next process compiles it again."""
        try:
            # A function of the user's is another one in each process.
            if not any(isinstance(kind, types.Dispatcher) for kind in signature):
                self._cache.save_overload(signature, *variant, **more)
        except OSError:
            pass
        except Exception as error:
            _warn_of_change(error)


def _replace(owner: Any, name: str, part: Any) -> None:
    """Replace an attribute of numba; raise if there is none."""
    getattr(owner, name)
    setattr(owner, name, part)


def _common_kind(kind: Any) -> types.Type:
    """Type that a kernel's argument is cast to by another kernel's call."""
    kind = types.unliteral(kind)
    if isinstance(kind, types.Integer) and kind.bitwidth < types.int64.bitwidth:  # pyright: ignore[reportAttributeAccessIssue]
        return types.int64
    return kind


@overload
def jit(function: _Kernel, *, is_cached: bool = True, **options: Any) -> _Kernel: ...


@overload
def jit(*, is_cached: bool = True, **options: Any) -> Callable[[_Kernel], _Kernel]: ...


def jit(
    function: Callable | None = None, *, is_cached: bool = True, **options: Any
) -> Any:
    """Compile a kernel lazily in nopython mode, cached on disk where that works."""
    # A kernel whose name begins with an underscore is for other kernels: it can not be
    # called from Python and is stored as part of those that call it.
    # Every kernel releases the GIL (joblib's threads may run them side by side) and
    # follows numpy's error model (a division by zero gives inf instead of a check per
    # element, which lets loops vectorize). Where a kernel calls another one, all
    # integers are of 64 bits: else each constant and each width would be a variant of
    # its own.
    # Compiled code is stored next to the package or in numba's user-wide folder, and
    # any number of processes may do so at once; next to the package it is found where
    # no user may write, too, unless ``NUMBA_CACHE_DIR`` names another folder. It is
    # compiled anew when a kernel in the same folder has changed, and in each process
    # when no folder is writable, or when the environment variable ``SKMOHN_JIT_CACHE``
    # is ``0``. A kernel that is made of a user's function is not to be stored: that is
    # another one in each process. Further options are those of :func:`numba.njit`, such
    # as ``fastmath``.
    if function is None:
        return lambda function: jit(function, is_cached=is_cached, **options)
    # To compile wrappers that are never called takes 0.1 to 0.8 s of the first fit of a
    # family. That of C is for kernels that are called by their address.
    is_inner = function.__name__.startswith("_")
    defaults = {
        "nogil": True,
        "error_model": "numpy",
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": is_inner,
        # By itself it could be optimized to another order of sums. A call would end up
        # there, but only in the process that has compiled it.
        "forceinline": is_inner and "fastmath" in options,
    }
    options = {**defaults, **options}
    kernel = numba.njit(**options)(function)
    if kernel is function:
        # Nothing is compiled, as NUMBA_DISABLE_JIT asks for. Compiled code does not say
        # where numbers overflow: random numbers do.
        return np.errstate(all="ignore")(function)
    if is_cached and not is_inner and os.environ.get(CACHE_VARIABLE, "1") != "0":
        # Numba found no writable folder; an uncached kernel still works.
        with contextlib.suppress(RuntimeError, OSError):
            try:
                _replace(kernel, "_cache", _Cache(function))
            except _CHANGED as error:
                _warn_of_change(error)
                kernel = numba.njit(cache=True, **options)(function)
    try:
        find_template = kernel.get_call_template
    except AttributeError as error:
        _warn_of_change(error)
    else:
        kernel.get_call_template = lambda args, kws: find_template(
            tuple(_common_kind(kind) for kind in args), kws
        )
    return kernel


# ---------------------------------------------------------------- calls by address

# Functions by what stands for their addresses where nothing is compiled.
_UNCOMPILED: dict[int, Callable] = {}


@cache
def address_of(kernel: Any, signature: Any) -> int:
    """Compile a kernel as a C function, or load it; its address stays valid."""
    # The kernel is made by :func:`jit` with ``no_cfunc_wrapper=False``; the signature
    # is of numbers and pointers, and a double that is returned.
    if config.DISABLE_JIT:
        _UNCOMPILED[id(kernel)] = kernel
        return id(kernel)
    try:
        kernel.compile(signature.args)
        code = kernel.overloads[signature.args]
        return code.library.get_pointer_to_function(code.fndesc.llvm_cfunc_wrapper_name)
    except _CHANGED as error:
        _warn_of_change(error)
        return _c_function(kernel, signature).address


@cache
def _c_function(kernel: Any, signature: Any) -> Any:
    """Compile a kernel as numba does by itself; the code lives as long as its owner."""
    options = {
        name: value
        for name, value in kernel.targetoptions.items()
        if name in ("fastmath", "error_model")
    }
    return numba.cfunc(signature, **options)(kernel.py_func)


def _as_intrinsic(function: Callable) -> Any:
    """Make an intrinsic, which kernels call without the typing context."""
    return intrinsic(function)


@_as_intrinsic
def _call_compiled(
    typing_context: TypingContext, address: types.Integer, arguments: types.BaseTuple
) -> tuple[Signature, Callable[..., Value]]:
    def generate(
        context: CodeContext,
        builder: Builder,
        signature: Signature,
        values: Sequence[Value],
    ) -> Value:
        index, packed = values
        given = [builder.extract_value(packed, k) for k in range(len(arguments))]
        kind = ir.FunctionType(ir.DoubleType(), [value.type for value in given])
        return builder.call(builder.inttoptr(index, kind.as_pointer()), given)

    return types.float64(types.int64, arguments), generate


def make_callback(function: Callable[..., float], signature: Any) -> tuple[int, object]:
    """Address by which kernels call a Python function, and what keeps it valid."""
    # It gets pointers as addresses, which :func:`view_pointer` reads, takes the GIL and
    # must not raise: the error would be lost.
    if config.DISABLE_JIT:
        _UNCOMPILED[id(function)] = function
        return id(function), function
    kinds = {types.float32: ctypes.c_float, types.int64: ctypes.c_int64}
    arguments = [kinds.get(kind, ctypes.c_void_p) for kind in signature.args]
    callback = ctypes.CFUNCTYPE(ctypes.c_double, *arguments)(function)
    return ctypes.cast(callback, ctypes.c_void_p).value or 0, callback


def view_pointer(pointer: Any, dtype: Any, start: int, n: int) -> np.ndarray:
    """View numbers at a pointer that a callback gets."""
    if config.DISABLE_JIT:
        return pointer[start : start + n]
    size = np.dtype(dtype).itemsize
    memory = (ctypes.c_char * (size * n)).from_address(pointer + size * start)
    return np.frombuffer(memory, dtype)


def _call_uncompiled(address: int, arguments: tuple) -> float:
    return _UNCOMPILED[address](*arguments)


# Call a C function by its address, given a tuple of numbers and pointers, inside a
# kernel. A kernel that called the function itself would have to be compiled with it.
call_address = _call_uncompiled if config.DISABLE_JIT else _call_compiled


# ------------------------------------------------------------------ tables of bytes

# Tables that are looked up side by side: a kernel is compiled for so many.
TABLES_AT_ONCE: Final = 4


@lru_cache
def can_look_up() -> bool:
    """Whether kernels may call :func:`add_found`: it takes AVX2."""
    if config.DISABLE_JIT:
        return False
    try:
        from numba.core.registry import cpu_target

        # As numba compiles for it, which its environment variables may change.
        context: Any = cpu_target.target_context
        features = context.codegen().magic_tuple()[2]
    except _CHANGED as error:
        _warn_of_change(error)
        return False
    return "+avx2" in features.split(",")


def _generate_look_up(
    context: CodeContext,
    builder: Builder,
    signature: Signature,
    values: Sequence[Value],
) -> Value:
    """Write the instructions of `add_found`."""
    byte, index = ir.IntType(8), ir.IntType(64)
    table_kind, half = ir.VectorType(byte, 16), ir.VectorType(byte, 32)
    twice = ir.Constant(ir.VectorType(ir.IntType(32), 32), [*range(16), *range(16)])
    halves = range(2)

    def at(k: int, offset: Value) -> Value:
        array = context.make_array(signature.args[k])(context, builder, values[k])
        start = builder.bitcast(array.data, byte.as_pointer())
        return builder.gep(start, [offset])

    def load(start: Value, offset: int, kind: ir.Type) -> Value:
        return builder.load(_address(builder, start, offset, kind), align=1)

    look_up = builder.module.declare_intrinsic(
        "llvm.x86.avx2.pshuf.b", (), ir.FunctionType(half, [half, half])
    )
    first_table, first_code = at(0, values[1]), at(2, values[3])
    before, loop = builder.block, builder.append_basic_block("bytes")
    after = builder.append_basic_block("added")
    builder.branch(loop)

    builder.position_at_end(loop)
    k = builder.phi(index)
    starts = [builder.phi(half) for _ in range(2 * TABLES_AT_ONCE)]
    found: list[Any] = list(starts)
    its_codes = builder.gep(first_code, [builder.mul(k, index(64))])
    its_tables = builder.gep(
        first_table, [builder.mul(k, index(2 * 16 * TABLES_AT_ONCE))]
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
    following = builder.add(k, index(1))
    k.add_incoming(index(0), before)
    k.add_incoming(following, loop)
    for start, end in zip(starts, found, strict=True):
        start.add_incoming(half([0] * 32), before)
        start.add_incoming(end, loop)
    is_left = builder.icmp_unsigned("<", following, index(8))
    builder.cbranch(is_left, loop, after)

    builder.position_at_end(after)
    _add_to_sums(builder, found, at(4, index(0)))
    return context.get_dummy_value()


def _add_to_sums(builder: Builder, found: Sequence[Any], sums: Value) -> None:
    """Write how bytes are added to sums of two bytes, those of odd columns apart."""
    sum_kind = ir.VectorType(ir.IntType(16), 16)
    for j, bytes_found in enumerate(found):
        both = builder.bitcast(bytes_found, sum_kind)
        odd = builder.lshr(both, sum_kind([8] * 16))
        for part, offset in ((both, 64 * j), (odd, 64 * j + 32)):
            total = _address(builder, sums, offset, sum_kind)
            new = builder.add(builder.load(total, align=1), part)
            builder.store(new, total, align=1)


def _address(builder: Builder, start: Value, offset: int, kind: ir.Type) -> Value:
    """Address of a value of a kind, so many bytes after another."""
    start = builder.gep(start, [ir.IntType(64)(offset)])
    return builder.bitcast(start, kind.as_pointer())  # pyright: ignore[reportReturnType]


@_as_intrinsic
def add_found(
    typing_context: TypingContext,
    # For each byte of bits the tables of its lower four, then those of its upper four:
    # :data:`TABLES_AT_ONCE` of 16 numbers. What is found in 16 of them, as many as 64
    # bits have, may add up to no more than 255.
    tables: types.Array,
    table: types.Integer,  # where the tables of the 64 bits begin
    codes: types.Array,  # for each byte of bits those of 64 columns
    code: types.Integer,  # where the first byte of the 64 bits begins
    # Modulo 65536: of each table and half of the columns, those of even ones plus 256
    # times those of odd ones, and those of odd ones.
    sums: types.Array,
) -> tuple[Signature, Callable[..., Value]]:
    """Look 64 columns of 64 bits up, four bits at a time, and add what is found."""
    # One instruction looks up 32 columns, but compilers do not emit it. Only where
    # :func:`can_look_up` is true.
    found = types.void(tables, types.int64, codes, types.int64, sums)
    return found, _generate_look_up
