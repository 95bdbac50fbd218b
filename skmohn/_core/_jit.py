"""The one place that decides how kernels are compiled and whether they are cached."""

import os

import numba
from numba.core import cgutils
from numba.extending import intrinsic

CACHE_VARIABLE = "SKMOHN_JIT_CACHE"


def jit(function=None, **options):
    """Compile ``function`` lazily in nopython mode, cached on disk where that works.

    Every kernel releases the GIL (joblib's threads may run them side by side) and
    follows numpy's error model (a division by zero gives inf instead of a check per
    element, which lets loops vectorise).

    Compiled code is stored next to the package or in numba's user-wide folder. It is
    compiled anew in each process when neither is writable, or when the environment
    variable ``SKMOHN_JIT_CACHE`` is ``0``.

    Parameters
    ----------
    function : callable, default=None
        The kernel. None when the decorator is used with options.

    **options : dict
        Further options of :func:`numba.njit`, for example ``fastmath``.

    Returns
    -------
    dispatcher : numba dispatcher or decorator
        The compiled kernel, or a decorator when ``function`` is None.
    """
    if function is None:
        return lambda function: jit(function, **options)
    options = {"nogil": True, "error_model": "numpy", **options}
    if os.environ.get(CACHE_VARIABLE, "1") != "0":
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:
            # numba found no writable folder; an uncached kernel still works.
            pass
    return numba.njit(**options)(function)


@intrinsic
def borrow(typing_context, arrays):
    """Take the arrays of a named tuple out of reference counting, inside a kernel.

    Counting references to a dozen arrays at every call costs more than the work on
    short arrays. Whoever called the kernel holds the arrays while it runs.

    Parameters
    ----------
    typing_context : numba typing context
        Given by numba.

    arrays : named tuple of arrays
        To be borrowed.

    Returns
    -------
    arrays : named tuple of arrays
        Views of the same memory; they must not outlive the kernel.
    """

    def generate(context, builder, signature, values):
        borrowed = values[0]
        for place, kind in enumerate(arrays.types):
            owner = builder.extract_value(borrowed, place)
            view = context.make_array(kind)(context, builder, owner)
            view.meminfo = cgutils.get_null_value(view.meminfo.type)
            borrowed = builder.insert_value(borrowed, view._getvalue(), place)
        return borrowed

    return arrays(arrays), generate
