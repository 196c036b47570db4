"""Names and hashes of the user's functions.

Files do not contain functions. They contain the name and a hash of a function, from
which a changed function is detected when the file is loaded.
"""

import hashlib
import inspect
import types
from collections.abc import Callable
from typing import Any

import pyspiel

from mccfr_spiel.common.checkpoint import CheckpointError

OWN_STRINGS = "information_state_string"
"""Value of `saved_abstraction` if the abstraction returns the game's own strings."""


def name_of(function: types.FunctionType) -> str:
    """Returns `module:name` of a function."""
    return f"{function.__module__}:{function.__qualname__}"


def digest_of(function: types.FunctionType) -> str:
    """Returns a hash of a function's source (16 hex digits); a hash of the bytecode if
    the source is not available."""
    try:
        source = inspect.getsource(function).encode()
    except (OSError, TypeError):
        code = function.__code__
        source = code.co_code + repr(code.co_consts).encode()
    return hashlib.blake2b(source, digest_size=8).hexdigest()


def saved_abstraction(abstraction: Callable[..., str] | None) -> bool | str:
    """Returns the value that describes an abstraction in the header of a file.

    abstraction                                 returned value
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
    """Returns the abstraction to use for a loaded solver or policy; None for none.

    Args:
        saved: the value in the file, see `saved_abstraction`.
        abstraction: the function that the user has passed again; None if there is none.

    Raises:
        CheckpointError: the abstraction is missing, unnecessary, or not the saved
            function.
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
