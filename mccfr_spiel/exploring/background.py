"""Calls that run in threads of their own."""

import concurrent.futures
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

PATIENCE = 0.2
"""Seconds that an answer waits for work in another thread, before it says that the work
goes on."""


LONG = 10.0
"""That an answer waits for what most often is there: a tree of hands, or the policy
that a page begins to change."""


_Result = TypeVar("_Result")


class WorkingError(ValueError):
    """Work in another thread goes on; the page asks again, or says so."""


class Work(Generic[_Result]):
    """A call that runs in a thread, from when it is begun or first asked for; `words`
    say that it goes on."""

    def __init__(self, call: Callable[[], _Result], words: str = "") -> None:
        """Begins nothing yet."""
        self._call, self.words = call, words
        self._lock, self._began = threading.Lock(), 0.0
        self._future: concurrent.futures.Future[_Result] = concurrent.futures.Future()

    def begin(self) -> "Work[_Result]":
        """Starts the call unless it has begun; returns itself."""
        with self._lock:
            if not self._began:
                self._began = time.monotonic()
                threading.Thread(target=self._run, daemon=True).start()
        return self

    def _run(self) -> None:
        try:
            self._future.set_result(self._call())
        except Exception as error:  # games raise what they like; the page says it
            self._future.set_exception(error)
        # It may hold what holds this work, and a cycle is freed only by the garbage
        # collector, which does not notice memory of NumPy's.
        del self._call

    @property
    def is_done(self) -> bool:
        """Whether there is a result or an error."""
        return self._future.done()

    @property
    def error(self) -> BaseException | None:
        """What the call raised; None if it raised nothing, or not yet."""
        return self._future.exception() if self.is_done else None

    def result(self, seconds: float | None = PATIENCE) -> _Result:
        """What the call returned.

        Args:
            seconds: to wait, counted from the beginning of the call, so repeated
                questions do not add up; None for as long as it takes.

        Raises:
            ValueError: the call raised an error, whose words these are.
            WorkingError: it is not done yet.
        """
        self.begin()
        if seconds is not None:
            seconds = max(self._began + seconds - time.monotonic(), 0.0)
        if not concurrent.futures.wait([self._future], seconds).done:
            raise WorkingError(self.words)
        if self.error is not None:
            raise ValueError(str(self.error)) from self.error
        return self._future.result()
