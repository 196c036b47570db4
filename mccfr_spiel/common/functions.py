"""Identity of the user's functions, which files describe but do not contain."""

import hashlib
import inspect
import types
from collections.abc import Callable
from typing import Any

import pyspiel

from mccfr_spiel.common.checkpoint import CheckpointError

OWN_STRINGS = "information_state_string"
"""Header entry for an abstraction that returns the game's own strings."""


def name_of(function: types.FunctionType) -> str:
    """Returns `module:name` of a function."""
    return f"{function.__module__}:{function.__qualname__}"


def digest_of(function: types.FunctionType) -> str:
    """Returns a hash of a function's source, or of the bytecode if there is no
    source."""
    try:
        source = inspect.getsource(function).encode()
    except (OSError, TypeError):
        code = function.__code__
        source = code.co_code + repr(code.co_consts).encode()
    return hashlib.blake2b(source, digest_size=8).hexdigest()


def saved_abstraction(abstraction: Callable[..., str] | None) -> bool | str:
    """Returns the header entry for an abstraction.

    argument                                    entry
    None                                        False
    pyspiel.State.information_state_string      OWN_STRINGS
    a Python function                           the name and a hash of the source
    any other callable                          True
    """
    if abstraction == pyspiel.State.information_state_string:
        return OWN_STRINGS
    if isinstance(abstraction, types.FunctionType):
        return f"{name_of(abstraction)} {digest_of(abstraction)}"
    return abstraction is not None


def loaded_abstraction(
    saved: Any, abstraction: Callable[..., str] | None
) -> Callable[..., str] | None:
    """Returns the abstraction for loaded contents.

    Args:
        saved: the header entry, see `saved_abstraction`.
        abstraction: the user's argument; None if not given.

    Raises:
        CheckpointError: the abstraction is missing, unnecessary, or changed.
    """
    if saved == OWN_STRINGS and abstraction is None:
        return pyspiel.State.information_state_string
    if saved and abstraction is None:
        raise CheckpointError(
            "The solver or policy in the file uses an abstraction, but functions are "
            "not saved. Pass the same function (abstraction=..., on the command line "
            "--abstraction=module:function)."
        )
    if abstraction is not None and not saved:
        raise CheckpointError(
            "The solver or policy in the file is without abstraction; drop abstraction."
        )
    given = saved_abstraction(abstraction)
    if isinstance(saved, str) and saved.split()[-1] != str(given).split()[-1]:
        raise CheckpointError(
            f"The file was written with the abstraction {saved.split()[0]}, but "
            f"{str(given).split()[0]} is another function or its source has changed. "
            "Undo the change, or start a new run."
        )
    return abstraction
