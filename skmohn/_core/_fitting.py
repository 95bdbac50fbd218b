"""Surroundings of the loop of a fit: history, callbacks, warnings, and rollback."""

import contextlib
import functools
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skmohn._core._long import BETWEEN, say_when_long
from skmohn._core._optional import import_optional
from skmohn._core._sklearn import callback_context, threadpool_controller
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike

_Owner = TypeVar("_Owner")
_P = ParamSpec("_P")
_T = TypeVar("_T")

# What shows how far a fit is.
_TO_CALLBACKS = "callbacks, such as sklearn.callback.ProgressBar, show the progress"


@dataclass(frozen=True)
class ThreadConstants:
    """Threads of BLAS."""

    # Matrices of this many rows keep more than one thread of BLAS busy.
    min_rows: int = tuned(500, "cost")


_THREADS = ThreadConstants()
# What is gathered instead of said, in this thread; None where it is said.
_GATHERED: ContextVar[list[Warning] | None] = ContextVar("_GATHERED", default=None)
# Whether the table of a fit in this thread was read before, under its own names.
_IS_READ = ContextVar("_IS_READ", default=False)
# Innermost fit in this thread that reports to callbacks.
_LOOP: ContextVar["FitLoop | None"] = ContextVar("_LOOP", default=None)
# Seconds without a report after which there is one.
_QUIET: Final = 2.0


class History(list[dict[str, Any]]):
    """Records of a fit: a list with one dict per iteration."""

    def __repr__(self) -> str:
        # Hundreds of records would bury whatever they are part of.
        names = ", ".join(dict.fromkeys(name for record in self for name in record))
        return f"<History of {len(self):,} records{names and ': '}{names}>"

    def to_frame(self) -> Any:
        """Return the records as a pandas DataFrame, one row per iteration."""
        return import_optional("pandas", "to_frame").DataFrame(list(self))


def all_or_nothing(
    fit: Callable[Concatenate[_Owner, _P], _T],
) -> Callable[Concatenate[_Owner, _P], _T]:
    """Decorate a method that restores its estimator if it fails; warn if it is long."""
    # Whatever ends the method early, a bad input as much as a keyboard interrupt, the
    # attributes return to what they were when it was called. The cure for long runs is
    # in the attribute ``_when_long``, if the estimator has one.

    @functools.wraps(fit)
    def guarded(estimator: _Owner, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        before = vars(estimator).copy()
        what = f"{type(estimator).__name__}.{fit.__name__.removeprefix('_')}"
        # What is no estimator has no callbacks.
        shows = _TO_CALLBACKS if hasattr(estimator, "get_params") else None
        cures = getattr(estimator, "_when_long", None), shows
        try:
            # At the end of a fit within, the loop is that of the fit around again.
            with (
                _holding(_LOOP, _LOOP.get()),
                say_when_long(what, ", and ".join(filter(None, cures))),
            ):
                return fit(estimator, *args, **kwargs)
        except BaseException:
            # One assignment is atomic: a second interrupt cannot leave it half
            # restored.
            estimator.__dict__ = before
            raise

    return guarded


def warn_caller(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, from however deep inside."""
    # The warning belongs to the innermost frame of other packages than this one and
    # those that call it: the line that Python shows, and counts repetitions by.
    gathered = _GATHERED.get()
    if gathered is not None:
        gathered.append(message if isinstance(message, Warning) else category(message))
        return
    level, frame = 2, sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").split(".")[0] in BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_of_table(message: str) -> None:
    """Warn of what a table holds, once in a fit that has others inside."""
    if not _IS_READ.get():
        warn_caller(message)


@contextlib.contextmanager
def _holding(variable: ContextVar[_T], value: _T) -> Iterator[_T]:
    """Give a variable of this thread a value for a while."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def table_is_read() -> AbstractContextManager[object]:
    """Suppress warnings about a table in fits inside of the one that has read it."""
    return _holding(_IS_READ, True)


def last_of(steps: Generator[object, None, _T]) -> _T:
    """Go through a generator; return what it returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


@contextlib.contextmanager
def gather_warnings() -> Iterator[list[Warning]]:
    """Collect the warnings of :func:`warn_caller` in this thread."""
    # The filters of the module ``warnings`` are those of all threads: one that fits
    # meanwhile would show what is to be ignored, or hide what is to be shown.
    gathered: list[Warning] = []
    with _holding(_GATHERED, gathered):
        yield gathered


def tick() -> None:
    """Report to the callbacks of the fit around, if it is long, that work goes on."""
    loop = _LOOP.get()
    if loop is not None:
        loop.tick()


_LOCK = threading.Lock()


class _Locked(contextlib.ContextDecorator):
    """Lock for the functions that it decorates: one thread at a time."""

    # A `with` in their own code would be left by a line of its own. A keyboard
    # interrupt that arrives there would leave the lock closed, and the next fit waiting
    # for ever.

    __enter__ = staticmethod(_LOCK.__enter__)
    __exit__ = staticmethod(_LOCK.__exit__)


class _OneBlasThread(contextlib.ContextDecorator):
    """Limit of one BLAS thread, for functions that make many small matrix products."""

    # Threads that wait for one another cost more than they bring there: many times as
    # much on a computer that has other work to do. BLAS has one limit for all threads
    # that fit, so the first to come sets it and the last to leave takes it back. Each
    # call of a function has a context of its own, which leaves at the latest when it is
    # garbage: an interrupt may prevent an earlier exit.

    _inside: weakref.WeakSet["_OneBlasThread"] = weakref.WeakSet()
    _limiter: Any = None

    def _recreate_cm(self) -> Self:
        return type(self)()

    @_Locked()
    def __enter__(self) -> None:
        if _OneBlasThread._limiter is None:
            threadpools = threadpool_controller()
            _OneBlasThread._limiter = threadpools.limit(limits=1, user_api="blas")
        self._inside.add(self)

    @_Locked()
    def __exit__(self, *exception: object) -> None:
        self._inside.discard(self)
        if not self._inside and self._limiter is not None:
            self._limiter.restore_original_limits()
            _OneBlasThread._limiter = None


one_blas_thread = _OneBlasThread()


def blas_threads_for(n_rows: int) -> AbstractContextManager[None]:
    """Context with all threads of BLAS for square matrices of many rows, else one."""
    return contextlib.nullcontext() if n_rows >= _THREADS.min_rows else _OneBlasThread()


@contextlib.contextmanager
def no_progress(name: str, n_parts: int) -> Iterator[Callable[[], None]]:
    """Report no progress; replaces :meth:`FitLoop.watch`."""
    yield lambda: None


def _no_attributes(*state: object) -> dict[str, object]:
    return {}


def max_subtasks(max_iter: int | None) -> int | None:
    """Maximum number of subtasks of up to `max_iter` iterations; None if unknown."""
    # Two more: the iteration that notices there is nothing to do, and long work.
    return None if max_iter is None else max_iter + 2


class FitLoop:
    """Recorder of the iterations of a fit, which runs scikit-learn's callbacks."""

    def __init__(
        self,
        estimator: BaseEstimator,
        X: TableLike = None,  # training data, for callbacks that score
        y: ArrayLike | None = None,
        # Further arguments of a scorer, such as sample weights.
        metadata: Mapping[str, object] | None = None,
        max_iter: int | None = None,  # most iterations there can be; None: unknown
        # Maps the state of :meth:`step` to the fitted attributes that make an estimator
        # ready to predict as if the fit had stopped there. None if it is set before the
        # first step.
        attributes: Callable[..., Mapping[str, object]] | None = None,
        # Records of an earlier fit that this one goes on from.
        history: Iterable[dict[str, Any]] = (),
        # Task whose iterations these are, with `max_subtasks(max_iter)`. None for the
        # fit itself.
        task: Any = None,
    ) -> None:
        self.history = History(history)
        self.started = time.perf_counter()
        self._estimator = estimator
        self._data = {"X": X, "y": y, "metadata": metadata}
        self.attributes = attributes or _no_attributes
        if task is None:
            task = callback_context(estimator, max_subtasks(max_iter))
        self._task = task
        self._task.call_on_fit_task_begin(estimator=estimator, **self._data)
        # Parent of the reports of :meth:`tick` and :meth:`watch`, if there were any.
        self._work: Any = None
        self._open()
        _LOOP.set(self)

    def tick(self) -> None:
        """Report a part of long work, after a while without any report."""
        if time.perf_counter() - self._reported < _QUIET:
            return
        self._end_part(self._open_work(), "step")

    def step(self, record: Mapping[str, object], *state: object) -> bool:
        """End an iteration; return whether a callback requests to stop."""
        # The time is added to the record. `attributes` gets the state, if a callback
        # wants a fitted estimator.
        seconds = time.perf_counter() - self.started
        self.history.append(
            {"iteration": len(self.history) + 1, **record, "seconds": seconds}
        )
        stop = self._close(state)
        self._open()
        return stop

    @contextlib.contextmanager
    def watch(self, name: str, n_parts: int) -> Iterator[Callable[[], None]]:
        """Report long work within the fit to callbacks; see `FitSettings.watch`."""
        # No estimator is ready to predict meanwhile.
        task = self._begin(self._open_work(), name, n_parts)
        yield lambda: self._end_part(task)
        task.call_on_fit_task_end(estimator=self._estimator, **self._data)

    def _open_work(self) -> Any:
        """Task of all long work, one of `max_subtasks`."""
        if self._work is None:
            self._work = self._begin(self._task, "work", None)
        return self._work

    def _begin(self, parent: Any, name: str, max_subtasks: int | None) -> Any:
        task = parent.subcontext(task_name=name, max_subtasks=max_subtasks)
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        self._reported = time.perf_counter()
        return task

    def _end_part(self, task: Any, name: str = "part") -> None:
        part = self._begin(task, name, 0)
        part.call_on_fit_task_end(estimator=self._estimator, **self._data)

    def finish(self, *state: object) -> None:
        """End the task."""
        # There is nothing more to report.
        self._reported = float("inf")
        self._close(state)
        if self._work is not None:
            self._work.call_on_fit_task_end(estimator=self._estimator, **self._data)
        self._task.call_on_fit_task_end(
            estimator=self._estimator,
            reconstruction_attributes=lambda: self.attributes(*state),
            **self._data,
        )

    def _open(self) -> None:
        self._iteration = self._begin(self._task, "iteration", 0)

    def _close(self, state: tuple[object, ...]) -> bool:
        return self._iteration.call_on_fit_task_end(
            estimator=self._estimator,
            reconstruction_attributes=lambda: self.attributes(*state),
            **self._data,
        )
