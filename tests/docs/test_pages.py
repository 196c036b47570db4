"""The code blocks of README and of the documentation run and print the shown output.

The blocks of a page run in order and share their names:

    ```python            runs; a following ```text block is its output, or the error
                         that ends it
    ```pycon             runs as a doctest
    ```py title="x.py"   is the content of a file that later blocks can import
    ```py title="not run by the tests: ..."   is only parsed; the title gives the reason

`python tests/docs/test_pages.py gallery looking` runs pages and updates their outputs
and pictures.
"""

import contextlib
import doctest
import io
import linecache
import pathlib
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

ROOT = pathlib.Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {str(path.relative_to(DOCS)): path for path in sorted(DOCS.rglob("*.md"))}
PAGES["README.md"] = ROOT / "README.md"

FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r' title="([^"]+)"')
ERROR = re.compile(r"^\w+Error: ", re.MULTILINE)
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")
RUN_ELSEWHERE = {"README.md", "comparing.md", "reproduction.md"}  # test_readme.py
REGISTERED = {"python_cups": "python_cups_of_the_page"}
"""Names of games that other tests in the process can have registered."""


class Block(NamedTuple):
    """A fenced block: language, title, text, and position of the text."""

    language: str
    title: str
    text: str
    start: int


def blocks(page: pathlib.Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        title = TITLE.fullmatch(match[2].rstrip())
        assert title or not match[2].strip(), f"{page}: what is {match[0][:60]!r}?"
        found.append(
            Block(match[1], title[1] if title else "", match[3], match.start(3))
        )
    return found


def expected_after(found: list[Block], number: int, text: str) -> str | None:
    """The output that the page shows for a block, or None."""
    after = found[number + 1 : number + 2]
    if not after or after[0].language != "text":
        return None
    end = found[number].start + len(found[number].text)
    between = text[end : after[0].start].removeprefix("```").removesuffix("```text\n")
    return after[0].text if not between.strip() else None


def printed(code: str, names: dict[str, Any], file: pathlib.Path, fails: bool) -> str:
    """Returns the output of code; if the code can fail, the last line is the error."""
    file.write_text(code, encoding="utf-8")  # for `inspect.getsource`
    linecache.checkcache(str(file))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(code, str(file), "exec"), names)
        except Exception as error:
            if not fails:
                raise
            print(f"{type(error).__name__}: {error}")
    return out.getvalue()


def comparable(text: str) -> str:
    """Removes differences between Python releases, and joins lines.

    Pages break long error messages into lines.
    """
    text = re.sub(r"(?m)^memory .*$", "memory", text)
    if ERROR.search(text):
        text = " ".join(text.split())
    return text


def run_page(
    name: str, folder: pathlib.Path
) -> Iterator[tuple[Block, str, str | None]]:
    """Runs a page in a folder; yields blocks with actual and expected output."""
    page = PAGES[name]
    text, found = page.read_text(encoding="utf-8"), blocks(page)
    module = page.stem
    names: dict[str, Any] = {"__name__": f"page_{module}"}
    for block in found:
        if block.title.endswith(".py"):
            (folder / block.title).write_text(block.text, encoding="utf-8")
    for number, block in enumerate(found):
        for ours, theirs in REGISTERED.items():
            block = block._replace(text=block.text.replace(ours, theirs))
        if block.language == "python":
            expected = expected_after(found, number, text)
            fails = bool(expected and ERROR.search(expected))
            file = folder / f"{module}_{number}.py"
            yield block, printed(block.text, names, file, fails), expected
        elif block.language == "pycon":
            test = doctest.DocTestParser().get_doctest(block.text, names, name, name, 0)
            out = io.StringIO()
            doctest.DocTestRunner().run(test, out=out.write, clear_globs=False)
            names.update(test.globs)
            yield block, out.getvalue(), ""


@pytest.mark.parametrize("name", sorted(PAGES))
def test_code_blocks_run_or_give_a_reason(name):
    for block in blocks(PAGES[name]):
        assert block.language in {"python", "pycon", "py", "text"}, block
        if block.language == "py":
            reason = "not run by the tests: "
            assert block.title.endswith(".py") or block.title.startswith(reason), block
            compile(block.text, name, "exec")
        else:
            assert not block.title, block


def test_pages_are_few_and_short():
    ours = [page for name, page in PAGES.items() if name != "README.md"]
    assert len(ours) <= 46
    assert sum(len(page.read_text("utf-8").split()) for page in ours) <= 34_000


@pytest.mark.parametrize("name", sorted(PAGES))
def test_links_are_titles_and_pages_use_the_installed_program(name):
    text = PAGES[name].read_text(encoding="utf-8")
    assert not re.findall(r"\[[^\]\n]*\.md\]\(", text)
    assert "run_experiments.py" not in text or name == "README.md"


WITH_CODE = [
    name
    for name in sorted(PAGES.keys() - RUN_ELSEWHERE)
    if any(block.language in ("python", "pycon") for block in blocks(PAGES[name]))
]


@pytest.mark.parametrize("name", WITH_CODE)
def test_page_prints_its_shown_output(name, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "gallery").mkdir()
    for block, out, expected in run_page(name, tmp_path):
        if expected is not None:
            assert comparable(out) == comparable(expected), block.text
    for picture in (tmp_path / "gallery").iterdir():
        assert picture.stat().st_size > 1000
    drawn, shown = tmp_path / "kuhn_poker.svg", DOCS / "kuhn_poker.svg"
    if drawn.exists():
        assert drawn.read_text(encoding="utf-8") == shown.read_text(encoding="utf-8")


def test_pictures_exist_and_gallery_draws_them():
    for page in PAGES.values():
        for picture in PICTURE.findall(page.read_text(encoding="utf-8")):
            assert (page.parent / picture).is_file(), (page, picture)
    text = PAGES["gallery.md"].read_text(encoding="utf-8")
    shown = PICTURE.findall(text)
    assert len(shown) == len(set(shown)) >= 5
    for picture in shown:
        assert text.count(f'"{picture}"') == 1, picture


def write(name: str) -> None:
    """Updates the outputs and pictures of a page."""
    page = PAGES[name]
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as made, contextlib.chdir(made):
        sys.path.insert(0, made)
        folder = pathlib.Path(made)
        (folder / "gallery").mkdir()
        for block, out, expected in run_page(name, folder):
            if block.language == "python" and expected is not None:
                if ERROR.search(out):
                    out = textwrap.fill(out, 92) + "\n"
                before = f"{block.text}```\n\n```text\n"
                assert before + expected in text
                text = text.replace(before + expected, before + out)
        page.write_text(text, encoding="utf-8")
        for picture in folder.rglob("*.svg"):
            shutil.copy(picture, DOCS / picture.relative_to(folder))


if __name__ == "__main__":
    for page_name in sys.argv[1:]:
        write(f"{page_name}.md")
