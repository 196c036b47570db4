"""What a command prints, and how it ends: by a signal, by an error in words, or by its
exit code."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from absl import flags
from tqdm import tqdm

from mccfr_spiel.experiments.runs import IN_WORDS, words_of_error
from mccfr_spiel.experiments.sweeps import ComparisonError
from mccfr_spiel.solving.files import GAME_WAY_OUT
from mccfr_spiel.tree.infosets import RECALL_WAY_OUT
from mccfr_spiel.tree.loading import IMPORT_WAY_OUT
from mccfr_spiel.tree.readable import STRINGS_WAY_OUT

_WAYS_OUT = {
    RECALL_WAY_OUT: "Use information states that remember all that the player did and "
    "saw, or add --allow_imperfect_recall to try it all the same (docs/choosing.md).",
    STRINGS_WAY_OUT: "The command line cannot solve it; in Python, mccfr_spiel.Solver "
    "can, with an abstraction that makes the strings (docs/choosing.md).",
    GAME_WAY_OUT: "A run goes on only with the game that it began with: begin anew, "
    "with --overwrite or in another --output_dir, or undo the change of the game.",
    IMPORT_WAY_OUT: "name the module that registers it with --import",
}
"""Ways out that the library names and that take an argument of a Python function -> the
ways out on the command line."""


def has_bars() -> bool:
    """Whether progress is to be shown: on a terminal, and unless it is to be quiet."""
    return sys.stderr.isatty() and not flags.FLAGS.quiet


def show(text: str) -> None:
    """Prints a line. If that fails, for example because standard output is a closed
    pipe or a file on a full disk, the work goes on all the same."""
    with contextlib.suppress(OSError, ValueError):
        tqdm.write(text)
        sys.stdout.flush()


def warn(text: str) -> None:
    """Prints a line to standard error, as `show` does to standard output, with the ways
    out that there are on the command line."""
    for library, here in _WAYS_OUT.items():
        text = text.replace(library, here)
    with contextlib.suppress(OSError, ValueError):
        tqdm.write(text, file=sys.stderr)
        sys.stderr.flush()


class Stopped(KeyboardInterrupt):
    """A signal ended the program."""

    def __init__(self, number: int) -> None:
        super().__init__("Interrupted.")
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
        self.handle(self._receive)

    def handle(self, handler: Callable[[int, Any], Any] | signal.Handlers) -> None:
        """Has both signals handled in another way."""
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
        with contextlib.ExitStack() as stack:
            if flags.FLAGS.quiet:  # nothing but errors is shown
                nothing = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
                stack.enter_context(contextlib.redirect_stdout(nothing))
            return command(signals)
    except (*IN_WORDS, ComparisonError) as error:
        warn(f"Error: {words_of_error(error)}")
        return 1
    except Stopped as error:
        print(words_of_error(error), file=sys.stderr)
        return error.exit_code
    finally:
        # All work is done and Python is about to end.
        signals.handle(signal.SIG_IGN)
