"""How files tell a user's function from another one of its name."""

import hashlib
import inspect
import types


def name_of(function: types.FunctionType) -> str:
    """A function's name with that of its module, `module:name`."""
    return f"{function.__module__}:{function.__qualname__}"


def digest_of(function: types.FunctionType) -> str:
    """A hash of a function's source, or of its bytecode if there is no source."""
    try:
        source = inspect.getsource(function).encode()
    except (OSError, TypeError):
        code = function.__code__
        source = code.co_code + repr(code.co_consts).encode()
    return hashlib.blake2b(source, digest_size=8).hexdigest()
