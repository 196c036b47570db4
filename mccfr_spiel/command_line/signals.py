"""How a command ends: by a signal, by an error in words, or by its exit code."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import pyspiel

from mccfr_spiel.experiments.comparing import ComparisonError
from mccfr_spiel.experiments.single_run import warn

_IN_WORDS = (
    ValueError,
    OSError,
    MemoryError,
    ImportError,
    pyspiel.SpielError,
    ComparisonError,
)
"""Errors whose messages are for users; any other is a bug and shows where it is."""


class Stopped(KeyboardInterrupt):
    """A signal ended the program."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class Signals:
    """Handlers for SIGINT and SIGTERM.

    Attributes:
        wait: while it is True, the first signal is only noted, so that the run can end
            in order. Any other signal raises Stopped.
        received: the number of the signal that was noted, or None.
    """

    def __init__(self) -> None:
        self.wait = False
        self.received: int | None = None
        self._handle(self._receive)

    def restore(self) -> None:
        """Lets signals end the process at once, as they do without handlers."""
        self._handle(signal.SIG_DFL)

    def close(self) -> None:
        """Ignores signals from now on: all work is done and Python is about to end."""
        self._handle(signal.SIG_IGN)

    def _handle(self, handler: Callable[[int, Any], Any] | signal.Handlers) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, handler)

    def _receive(self, number: int, _frame: object) -> None:
        if not self.wait or self.received is not None:
            raise Stopped(number)
        self.received = number
        # Not by print, which may be what the signal came into.
        os.write(2, b"\nEnding in order. A second signal ends at once.\n")


def guarded(command: Callable[[Signals], int]) -> int:
    """Runs a command; returns its exit code: 1 after an error, which is told in words,
    128 + the number of the signal after one."""
    signals = Signals()
    try:
        return command(signals)
    except _IN_WORDS as error:
        notes = getattr(error, "__notes__", ())  # such as the history that led there
        warn(" ".join(["Error:", str(error) or "There is not enough memory.", *notes]))
        return 1
    except Stopped as error:
        notes = getattr(error, "__notes__", ())  # what was kept
        print(" ".join(["Interrupted.", *notes]), file=sys.stderr)
        return error.exit_code
    finally:
        signals.close()
