"""The folder of games in a clone of the repository.

The package imports this module before all others, because the program handles Ctrl-C
from its first import on. It may therefore import the standard library only.
"""

import pathlib

_PACKAGE = pathlib.Path(__file__).parents[1]


def games_of_checkout() -> pathlib.Path | None:
    """Returns the folder that provides `mccfr_spiel.games` in a clone, or None.

    In a clone, and with an editable installation, the folder `games` lies beside the
    package. A wheel contains it inside the package; the result is then None.
    """
    root = _PACKAGE.parent
    if (_PACKAGE / "games").is_dir() or not (root / "pyproject.toml").is_file():
        return None
    folder = root / "games"
    return folder if (folder / "__init__.py").is_file() else None
