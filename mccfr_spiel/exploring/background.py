"""Work in a thread of its own, for which a page can wait a little."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

_Result = TypeVar("_Result")


class Work(Generic[_Result]):
    """A call that runs in a thread, and what has become of it.

    Attributes:
        error: what the call raised; None if it raised nothing, or not yet.
    """

    def __init__(self, call: Callable[[], _Result]) -> None:
        """Starts the call."""
        self.error: Exception | None = None
        self._began = time.monotonic()
        self._found: list[_Result] = []
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._found.append(self._call())
        except Exception as error:  # games raise what they like; the page says it
            self.error = error

    @property
    def is_done(self) -> bool:
        """Whether there is a result or an error."""
        return bool(self._found) or self.error is not None

    def result(self, seconds: float | None = 0.0) -> _Result | None:
        """What the call returned; None if it is not done yet.

        Args:
            seconds: to wait, counted from the beginning of the call, so repeated
                questions do not add up; None for as long as it takes.

        Raises:
            ValueError: the call raised an error, whose words these are.
        """
        if not self.is_done:
            if seconds is not None:
                seconds = max(self._began + seconds - time.monotonic(), 0.0)
            self._thread.join(seconds)
        if self.error is not None:
            raise ValueError(str(self.error)) from self.error
        return self._found[0] if self._found else None
