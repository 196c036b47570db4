"""The progress line of `ms.solve`."""

import threading
from typing import Any

from mccfr_spiel.common.display import Bar, hides_bar

SILENT_SECONDS = 2.0
"""Phases that are shorter are not shown."""


class Status:
    """A line on standard error that names the current phase.

    The line appears once a phase has lasted `SILENT_SECONDS`, from a timer, because the
    main thread may be compiling. Later phases replace the text at once.
    """

    def __init__(self, progress: bool | None = None) -> None:
        """Shows nothing yet.

        Args:
            progress: whether to show the line; by default if standard error is a
                terminal.
        """
        self._hidden = hides_bar(progress)
        self._bar: Bar | None = None
        self._timer: threading.Timer | None = None
        self._text = ""
        self._lock = threading.Lock()

    def __enter__(self) -> "Status":
        return self

    def __exit__(self, *error: Any) -> None:
        self._stop_timer()
        with self._lock:
            if self._bar is not None:
                self._bar.close()
                self._bar = None

    def phase(self, text: str) -> None:
        """Begins a phase."""
        if self._hidden:
            return
        self._text = text
        if self._bar is not None:
            self._show()
        elif self._timer is None:
            self._timer = threading.Timer(SILENT_SECONDS, self._show)
            self._timer.daemon = True
            self._timer.start()

    def _show(self) -> None:
        with self._lock:
            if self._bar is None:
                self._bar = Bar(bar_format="{desc}", leave=False)
            self._bar.set_description_str(self._text)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
