"""docs/looking.md: its code runs, and prints what the page shows."""

import contextlib
import io
import pathlib
import re

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "looking.md"
BLOCKS = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)


def printed(code: str, names: dict) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)
    return out.getvalue()


def without_memory(text: str) -> str:
    """Bytes differ between releases of Python."""
    return re.sub(r"(?m)^memory .*$", "memory", text)


def test_every_block_prints_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    found = BLOCKS.findall(PAGE.read_text(encoding="utf-8"))
    assert len(found) == 10
    for code, expected in found:
        assert without_memory(printed(code, names)) == without_memory(expected), code
    drawn = (tmp_path / "kuhn_poker.svg").read_text(encoding="utf-8")
    shown = PAGE.with_name("kuhn_poker.svg").read_text(encoding="utf-8")
    assert drawn == shown


if __name__ == "__main__":  # writes what is printed into the page
    with contextlib.chdir(PAGE.parent):
        names: dict = {}

        def filled(match: re.Match[str]) -> str:
            out = printed(match[1], names)
            return f"```python\n{match[1]}```\n" + (
                f"\n```text\n{out}```" if match[2] is not None else ""
            )

        PAGE.write_text(BLOCKS.sub(filled, PAGE.read_text(encoding="utf-8")))
        pathlib.Path("kuhn.solver").unlink()
