"""The page's own files, which lie beside this one and go into the wheel."""

import functools
import importlib.resources

KINDS = {
    "page.html": "text/html; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "saved.js": "text/javascript; charset=utf-8",
}
"""The files, and what they are."""


@functools.cache
def static_file(name: str) -> str:
    """The text of one of the page's files.

    Raises:
        KeyError: it is none of KINDS, the only files that there are.
    """
    if name not in KINDS:
        raise KeyError(name)
    folder = importlib.resources.files("mccfr_spiel.exploring") / "static"
    return (folder / name).read_text(encoding="utf-8")
