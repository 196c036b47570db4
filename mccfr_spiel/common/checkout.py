"""Finds the folder `games` in a clone of the repository.

The package imports this module before all others. The command-line program must handle
Ctrl-C before it imports other packages, so this module imports the standard library
only.
"""

import pathlib

_PACKAGE = pathlib.Path(__file__).parents[1]


def games_of_checkout() -> pathlib.Path | None:
    """Returns the folder with the source of `mccfr_spiel.games` in a clone.

    In a clone, and with an editable installation, the folder `games` is next to the
    package. An installed wheel contains it inside the package.

    Returns:
        The folder; None if `games` is inside the package or does not exist.
    """
    root = _PACKAGE.parent
    if (_PACKAGE / "games").is_dir() or not (root / "pyproject.toml").is_file():
        return None
    folder = root / "games"
    return folder if (folder / "__init__.py").is_file() else None
