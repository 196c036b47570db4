"""Entry point of the program; handles Ctrl-C during the import of the other modules."""

import importlib
import os
import signal

INTERRUPTED = 130
"""Exit code of SIGINT: 128 + 2."""


def main() -> int:
    """Runs the program; returns the exit code."""
    # A callback of the import system could swallow a KeyboardInterrupt. After the
    # import, the program installs the handlers of `terminal.Signals`.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit_at_once)
    return importlib.import_module("mccfr_spiel.command_line.main").main()


def _exit_at_once(_number: int, _frame: object) -> None:
    """Ends the process, which has nothing to save yet."""
    os._exit(INTERRUPTED)
