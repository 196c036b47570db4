"""The ground floor: what every other room stands on, and what knows none of them.

    arrays.py          how nodes, infosets and sequences are numbered, and their records
    refusals.py        checks of arguments that public functions share
    limits.py          the budget of bytes, and forecasts of what a task needs
    display.py         how objects look: a line, a table of text, a table in a notebook
    folders.py         atomic writes, locks, rows, the names of the files of a run
    checkpoint.py      the format of saved objects

Here is only how a package lists its public names: once, in its stub `__init__.pyi`,
which type checkers and editors read as well. A line of a stub names the file that
defines a name; where it names a package instead, the name is a module of that package.
"""

import ast
import importlib
import pathlib
from collections.abc import Callable
from typing import Any

_ROOT = pathlib.Path(__file__).parents[2]


def listed_names(
    package: str, file: str
) -> tuple[list[str], tuple[str, ...], Callable[[str], Any], Callable[[], list[str]]]:
    """The names in a package's stub, and functions that import one and list them.

    Args:
        package: its `__name__`.
        file: its `__file__`, beside which the stub lies.

    Returns:
        The names that are no modules, and those that are, both sorted; a `__getattr__`
        for the package, which raises AttributeError for any other name; and a `__dir__`
        for one of the former only.
    """
    stub = ast.parse(pathlib.Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    origins = {
        alias.asname: (str(node.module), alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname is not None
    }
    modules = {
        name
        for name, (path, _) in origins.items()
        if (_ROOT / path.replace(".", "/")).is_dir()
    }

    def find(name: str) -> Any:
        if name not in origins:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        path, original = origins[name]
        if name in modules:
            value = importlib.import_module(f"{path}.{original}")
        else:
            value = getattr(importlib.import_module(path), original)
        setattr(importlib.import_module(package), name, value)
        return value

    names = sorted(origins.keys() - modules)
    return names, tuple(sorted(modules)), find, lambda: names


def names_defined(package: dict[str, Any]) -> list[str]:
    """For the `__dir__` of a package without a stub: of its globals, constants and what
    its modules define, without what they import."""
    home = package["__name__"]
    return [
        name
        for name, value in package.items()
        if name.isupper() or getattr(value, "__module__", "").startswith(home)
    ]
