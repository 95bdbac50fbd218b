"""Warnings of work that takes long, with what takes less."""

import contextlib
import sys
import threading
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Final

# Seconds after which work without a sign of life is warned of.
LONG: Final = 30.0
# Whether work around this one, in this thread, says so.
_IS_TIMED = ContextVar("_IS_TIMED", default=False)
# What may stand between the line of a user and the work.
BETWEEN = {"skmohn", "sklearn", "joblib", "contextlib"}


@contextlib.contextmanager
def say_when_long(what: str, cure: str) -> Iterator[None]:
    """Warn of work that goes on for 30 seconds, while it does."""
    # `what` is the start of a sentence; `cure` a clause: what takes less time, or shows
    # how far the work is.
    if _IS_TIMED.get():
        yield
        return
    message = f"{what} has taken {LONG:g} s and is still running: {cure}"
    timer = threading.Timer(LONG, _warn, (message, *_line_of_user()))
    # An interrupted process does not wait for it.
    timer.daemon = True
    token = _IS_TIMED.set(True)
    try:
        # Where there are no threads, nothing is said.
        with contextlib.suppress(RuntimeError):
            timer.start()
        yield
    finally:
        timer.cancel()
        _IS_TIMED.reset(token)


def _line_of_user() -> tuple[str, int]:
    """File and line of the innermost frame of other packages."""
    frame = sys._getframe(1)
    while frame.f_back and (
        frame.f_globals.get("__name__", "").split(".")[0] in BETWEEN
    ):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _warn(message: str, file: str, line: int) -> None:
    # Filters that make an error of it would end this thread alone, with a traceback.
    with contextlib.suppress(UserWarning):
        warnings.warn_explicit(message, UserWarning, file, line)
