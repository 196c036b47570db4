"""The folder of games in a clone of the repository.

The package imports this file before all others, so it imports the standard library
only: the program handles Ctrl-C from that import on.
"""

import pathlib

_PACKAGE = pathlib.Path(__file__).parents[1]


def games_of_checkout() -> pathlib.Path | None:
    """The folder that is `mccfr_spiel.games` in a clone of the repository.

    There it stands beside the package, as it does for an editable installation. A wheel
    has it inside the package, and then this is None.
    """
    root = _PACKAGE.parent
    if (_PACKAGE / "games").is_dir() or not (root / "pyproject.toml").is_file():
        return None
    folder = root / "games"
    return folder if (folder / "__init__.py").is_file() else None
