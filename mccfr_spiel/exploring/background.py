"""`Work`: a call that runs in a thread, for whose result a request can wait a
little."""

import concurrent.futures
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

PATIENCE = 0.2
"""Seconds that a request waits for a thread before it answers "working"."""

LONG = 10.0
"""Seconds that a request waits for results that are usually available soon: a tree of
hands, or the policy that a page begins to change."""

_Result = TypeVar("_Result")


class WorkingError(ValueError):
    """The result is not available yet; the page asks again or shows the message."""


class Work(Generic[_Result]):
    """A call that runs in a thread, started by `begin` or by the first call of
    `result`.

    Attributes:
        message: text of the WorkingError while the call is running.
    """

    def __init__(self, call: Callable[[], _Result], message: str = "") -> None:
        """Stores the call; `begin` starts it."""
        self._call, self.message = call, message
        self._lock, self._began = threading.Lock(), 0.0
        self._future: concurrent.futures.Future[_Result] = concurrent.futures.Future()

    def begin(self) -> "Work[_Result]":
        """Starts the call unless it has been started; returns `self`."""
        with self._lock:
            if not self._began:
                self._began = time.monotonic()
                threading.Thread(target=self._run, daemon=True).start()
        return self

    def _run(self) -> None:
        try:
            self._future.set_result(self._call())
        except Exception as error:  # a game's code may raise any; the page shows it
            self._future.set_exception(error)
        # Breaks reference cycles through the call: only the garbage collector would
        # free them, and NumPy's memory does not trigger the garbage collector.
        del self._call

    @property
    def is_done(self) -> bool:
        """Whether the call has returned or raised an error."""
        return self._future.done()

    @property
    def error(self) -> BaseException | None:
        """The exception that the call raised; None if it returned or is still
        running."""
        return self._future.exception() if self.is_done else None

    def result(self, seconds: float | None = PATIENCE) -> _Result:
        """Waits for the call and returns its result.

        Args:
            seconds: timeout, measured from the start of the call, so that repeated
                requests do not add up; None waits as long as necessary.

        Raises:
            ValueError: the call raised an error; the message is the error's.
            WorkingError: the call is still running.
        """
        self.begin()
        if seconds is not None:
            seconds = max(self._began + seconds - time.monotonic(), 0.0)
        if not concurrent.futures.wait([self._future], seconds).done:
            raise WorkingError(self.message)
        if self.error is not None:
            raise ValueError(str(self.error)) from self.error
        return self._future.result()
