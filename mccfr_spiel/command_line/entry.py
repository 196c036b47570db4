"""The entry point of the program: imports the rest where Ctrl-C is handled."""

import importlib
import os
import signal

INTERRUPTED = 130
"""The exit code of a program that SIGINT ended: 128 + 2."""


def main() -> int:
    """Runs the program; returns the exit code."""
    # A KeyboardInterrupt could be lost in a callback of the import system. The program
    # installs its own handlers, see `terminal.Signals`, once it is imported.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit_at_once)
    return importlib.import_module("mccfr_spiel.command_line.main").main()


def _exit_at_once(_number: int, _frame: object) -> None:
    """Ends the process. Nothing is lost, because no work has begun."""
    os._exit(INTERRUPTED)
