"""A line on the terminal that names the current phase of a long call."""

import threading
from typing import Any

from mccfr_spiel.common.display import Bar, hides_bar
from mccfr_spiel.kernels.compile_time import compile_note

SILENT_SECONDS = 2.0
"""Phases that are shorter are not shown."""

_EVERY_SECONDS = 0.5
"""Interval between updates of the line."""


class Status:
    """A line on standard error that names the current phase.

    The line appears once a phase has lasted `SILENT_SECONDS`. A thread writes it,
    because the main thread may be compiling; then the line says so.
    """

    def __init__(self, progress: bool | None = None) -> None:
        """Shows nothing yet.

        Args:
            progress: whether to show the line; by default if standard error is a
                terminal.
        """
        self._hidden = hides_bar(progress)
        self._text = ""
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "Status":
        return self

    def __exit__(self, *error: Any) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def phase(self, text: str) -> None:
        """Begins a phase."""
        self._text = text
        if self._thread is None and not self._hidden:
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()

    def _show(self) -> None:
        if self._stopped.wait(SILENT_SECONDS):
            return
        with Bar(bar_format="{desc}", leave=False) as bar:
            while True:
                note = compile_note()
                bar.set_description_str(f"{self._text}{': ' * bool(note)}{note}")
                if self._stopped.wait(_EVERY_SECONDS):
                    return
