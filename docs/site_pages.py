"""Hooks of mkdocs: notebooks become pages, and files of the repository parts of pages.

Notebooks are kept with their outputs (tests/docs/test_tutorials.py runs them and
compares), so building the site runs nothing. The page of `tutorials/1.ipynb` is
`tutorials/1.md`, its pictures are in `tutorials/1/`, and it links to the notebook.
"""

import pathlib
import re
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter
from nbconvert.preprocessors import CoalesceStreamsPreprocessor

ROOT = pathlib.Path(__file__).parents[1]

NOTE = """
!!! note ""
    This page is a notebook: [download it]({name}.ipynb) and run it. It takes seconds,
    and needs `pip install 'mccfr_spiel[plot]' notebook`.
"""


def on_files(files: Files, config: Any) -> Files:
    """Adds a page, and its pictures, for each notebook among the files."""
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            for page in pages(file, config):
                files.append(page)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to notebooks lead to their pages, except where a notebook is offered.

    The changelog's page is the repository's `CHANGELOG.md`.
    """
    if page.file.src_uri == "changelog.md":
        return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if page.file.src_uri.startswith("tutorials/"):
        return markdown
    return re.sub(r"\]\(([\w/]+)\.ipynb\)", r"](\1.md)", markdown)


def pages(file: File, config: Any) -> list[File]:
    """The page of a notebook, and the files of its pictures."""
    path = pathlib.Path(file.abs_src_path or "")
    folder, name = pathlib.PurePosixPath(file.src_uri).parent, path.stem
    notebook = nbformat.read(path, as_version=4)
    exporter = MarkdownExporter(preprocessors=[CoalesceStreamsPreprocessor])
    text, resources = exporter.from_notebook_node(
        notebook, resources={"unique_key": name, "output_files_dir": name}
    )
    text = text.replace('<table border="1" class="dataframe">', "<table>")  # as others
    heading, _, rest = text.lstrip().partition("\n")
    note = NOTE.format(name=name)
    page = f"{folder}/{name}.md"
    made = [File.generated(config, page, content=f"{heading}\n{note}\n{rest}")]
    for output, data in resources.get("outputs", {}).items():
        made.append(File.generated(config, f"{folder}/{output}", content=data))
    return made
