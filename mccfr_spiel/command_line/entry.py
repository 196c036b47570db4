"""The entry point of the program: imports the rest where Ctrl-C is handled."""

import importlib

INTERRUPTED = 130
"""The exit code of a program that SIGINT ended: 128 + 2."""


def main() -> int:
    """Runs the program; returns the exit code."""
    try:
        program = importlib.import_module("mccfr_spiel.command_line.main")
    except KeyboardInterrupt:
        return INTERRUPTED
    return program.main()
