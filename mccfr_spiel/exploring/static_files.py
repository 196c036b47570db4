"""The page's own files."""

import functools
import importlib.resources

FILES = {
    "page.html": "text/html; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "saved.js": "text/javascript; charset=utf-8",
}
"""The page's own files, which lie beside this one and go into the wheel, and what they
are."""


@functools.cache
def static_file(name: str) -> str:
    """The text of one of FILES, the only files that there are."""
    folder = importlib.resources.files("mccfr_spiel.exploring") / "static"
    return (folder / name).read_text(encoding="utf-8")
