"""The page's HTML, CSS and JavaScript, which are part of the wheel."""

import functools
import importlib.resources

FILES = {
    "page.html": "text/html; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "poker.js": "text/javascript; charset=utf-8",
    "saved.js": "text/javascript; charset=utf-8",
}
"""Content type of each file in static/."""


@functools.cache
def static_file(name: str) -> str:
    """The text of a file in `FILES`. Other names must not be passed."""
    folder = importlib.resources.files("mccfr_spiel.exploring") / "static"
    return (folder / name).read_text(encoding="utf-8")
