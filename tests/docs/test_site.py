"""The built site, opened in a browser if one is installed."""

import functools
import http.server
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
from urllib.parse import urldefrag, urljoin

import pytest

pytest.importorskip("selenium")

from tests.exploring.test_browser import browser  # noqa: F401

ROOT = pathlib.Path(__file__).parents[2]
BUILDERS = "mkdocs", "material", "mkdocstrings", "nbconvert"
TALLEST = 9_000
"""Maximum height of a page in pixels, on a screen 1,280 wide."""
CLICKS = 3
ANSWERS = {
    "which algorithm for my game": "choosing/",
    "how do I bring my own game": "own_game/",
    "how exploitable is my network's policy": "looking/#how-exploitable",
    "how do I compare a rule of mine": "own_rule/#how-do-i-compare",
    "how do I solve a river": "poker/",
    "how do I cite it": "#how-do-i-cite-it",
}
FOUND = {"how do I solve a river": "tutorials/6_river/"}
"""Question -> page that the search may find instead."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder and address of the built site.

    `.ci/run` builds the site and passes the folder; otherwise it is built here.
    """
    folder = pathlib.Path(os.environ.get("BUILT_SITE") or built(tmp_path_factory))
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def built(tmp_path_factory):
    """Builds the site; returns the folder."""
    if missing := [name for name in BUILDERS if not importlib.util.find_spec(name)]:
        pytest.skip(f"The site is built by {', '.join(missing)}.")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir"]
    made = subprocess.run(
        [*command, folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert made.returncode == 0, made.stderr
    return folder


def pages_of(folder: pathlib.Path) -> list[str]:
    found = (file.parent.relative_to(folder) for file in folder.rglob("index.html"))
    return sorted("" if str(path) == "." else f"{path}/" for path in found)


def test_pages_are_short_and_free_of_errors(site, browser):  # noqa: F811
    folder, address = site
    browser.set_window_size(1280, 900)
    browser.get_log("browser")
    pages = pages_of(folder)
    assert len(pages) >= 32
    for page in pages:
        browser.get(address + page)
        high = browser.execute_script("return document.documentElement.scrollHeight")
        assert 300 < high <= TALLEST, (page, high)
        log = browser.get_log("browser")
        assert not [one for one in log if one["level"] == "SEVERE"], (page, log)


def links_of(folder: pathlib.Path, page: str) -> set[str]:
    """Targets of the links in the text of a page, without menus."""
    text = (folder / page / "index.html").read_text(encoding="utf-8")
    article = text[text.index("<article") : text.index("</article>")]
    return {
        urljoin(f"/{page}", to)[1:] for to in re.findall(r'href="([^"]+)"', article)
    }


def test_answers_are_at_most_three_clicks_away(site):
    folder, _ = site
    known, near, seen = set(pages_of(folder)), {""}, set()
    for _ in range(CLICKS):
        links = set().union(*(links_of(folder, page) for page in near))
        seen |= links
        near = {urldefrag(link).url for link in links} & known
    for question, answer in ANSWERS.items():
        assert any(link.startswith(answer) for link in seen), question


@pytest.mark.parametrize("question", ANSWERS)
def test_search_finds_answers(
    site,
    browser,  # noqa: F811
    question,
):
    browser.get(site[1])
    field = browser.find_element("css selector", ".md-search__input")
    browser.execute_script("arguments[0].focus()", field)
    field.send_keys(question)
    answer, links, end = FOUND.get(question, ANSWERS[question]), [], time.time() + 30
    while not links and time.time() < end:
        time.sleep(0.5)
        links = browser.execute_script(
            "return [...document.querySelectorAll('.md-search-result__item a')]"
            ".map(a => a.href.replace(/[?][^#]*/, ''))"
        )
    assert any(link.startswith(site[1] + answer) for link in links[:10]), links[:10]
