"""Output, signals and exit codes of commands."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

from absl import flags
from tqdm import tqdm

from mccfr_spiel.common.display import hides_bar
from mccfr_spiel.experiments.comparing import ComparisonError
from mccfr_spiel.experiments.errors import USER_ERRORS, message_of


def has_bars() -> bool:
    """Whether to show progress bars: on a terminal, without --quiet."""
    return not (hides_bar() or flags.FLAGS.quiet)


def show(text: str) -> None:
    """Prints a line to standard output.

    Errors are ignored: a closed pipe or a full disk must not end the work.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):  # stdout can be None
        tqdm.write(text)
        sys.stdout.flush()


def warn(text: str) -> None:
    """Prints a line to standard error; ignores errors like `show`."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        tqdm.write(text, file=sys.stderr)
        sys.stderr.flush()


class Stopped(KeyboardInterrupt):
    """A signal ended the program."""

    def __init__(self, number: int) -> None:
        super().__init__("Interrupted.")
        self.exit_code = 128 + number


class OverdueError(Stopped):
    """An iteration did not end within GRACE seconds after a signal."""


GRACE = 2.0
"""Seconds for which an iteration may continue after the first signal."""


class Signals:
    """Handlers of SIGINT and SIGTERM.

    Attributes:
        wait: if True, the first signal is only recorded, so that the run can end in
            order. Otherwise, and for later signals, Stopped is raised.
        received: number of the recorded signal, or None.
        was_overdue: True if OverdueError has been raised.
    """

    def __init__(self) -> None:
        self.wait = self.was_overdue = self._interrupts = False
        self.received: int | None = None
        self.handle(self._receive)

    @contextlib.contextmanager
    def interrupting(self) -> Iterator[None]:
        """Raises OverdueError in the block, GRACE seconds after the first signal.

        Windows lacks timers: the block ends by itself.
        """
        self._interrupts = hasattr(signal, "setitimer")
        if self._interrupts:
            signal.signal(signal.SIGALRM, self._end)
            if self.received is not None:
                signal.setitimer(signal.ITIMER_REAL, GRACE)
        try:
            yield
        finally:
            self._interrupts = False

    def _end(self, _number: int, _frame: object) -> None:
        if self._interrupts and self.received is not None:
            self._interrupts, self.was_overdue = False, True
            raise OverdueError(self.received)

    def handle(self, handler: Callable[[int, Any], Any] | signal.Handlers) -> None:
        """Installs a handler for both signals."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, handler)

    def _receive(self, number: int, _frame: object) -> None:
        if not self.wait or self.received is not None:
            raise Stopped(number)
        self.received = number
        if self._interrupts:
            signal.setitimer(signal.ITIMER_REAL, GRACE)
        # If standard error is closed, descriptor 2 can belong to the file of rows.
        if sys.__stderr__ is None:
            return
        # Not print, because the signal can interrupt a print.
        with contextlib.suppress(OSError):
            os.write(2, b"\nStopping after this iteration. Repeat to stop at once.\n")


def guarded(command: Callable[[Signals], int]) -> int:
    """Runs a command and returns its exit code.

    An error is printed as a message and gives 1. A signal gives 128 + the number of the
    signal.
    """
    signals = Signals()
    with contextlib.suppress(AttributeError):  # standard output can be None
        # Escape characters that the encoding lacks, as standard error does.
        sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore
    try:
        with contextlib.ExitStack() as stack:
            if flags.FLAGS.quiet:
                null = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
                stack.enter_context(contextlib.redirect_stdout(null))
            return command(signals)
    except (*USER_ERRORS, ComparisonError) as error:
        warn(f"Error: {message_of(error)}")
        return 1
    except Stopped as error:
        print(message_of(error), file=sys.stderr)
        return error.exit_code
    finally:
        # The work is done, and a signal must not disturb the exit of Python.
        signals.handle(signal.SIG_IGN)
