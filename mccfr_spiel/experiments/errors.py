"""Error messages for users."""

import pyspiel

USER_ERRORS = ValueError, OSError, MemoryError, ImportError, pyspiel.SpielError
"""Errors whose messages are for users. Any other error is a bug and shows a
traceback."""


def message_of(error: BaseException) -> str:
    """The message of an error with its notes, such as the history that led to it."""
    message = str(error) or type(error).__name__
    if isinstance(error, MemoryError) and not error.args:
        message = "There is not enough memory."
    notes = getattr(error, "__notes__", ())
    if notes and not message.endswith((".", "!", "?")):
        message += "."
    return " ".join([message, *notes])
