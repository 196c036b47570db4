"""Work in a thread of its own, for which a page can wait a little."""

import threading
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
        """What the call returned; None if it raised, or after so many seconds.

        Args:
            seconds: how long to wait; None for as long as it takes.
        """
        if not self.is_done:
            self._thread.join(seconds)
        return self._found[0] if self._found else None
