"""The notebooks of the documentation run and reproduce their outputs.

`python tests/docs/test_tutorials.py 1_by_hand` updates the outputs of a notebook.
"""

import os
import pathlib
import re
import sys
import tempfile
from typing import Any

import pytest

TUTORIALS = pathlib.Path(__file__).parents[2] / "docs" / "tutorials"
NAMES = sorted(path.stem for path in TUTORIALS.glob("*.ipynb"))

ADDRESS = re.compile(r"0x[0-9a-f]+")


def run(name: str, folder: str) -> tuple[Any, Any]:
    """Returns the stored notebook and the notebook after running it in a new kernel."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("pandas")
    kept = nbformat.read(TUTORIALS / f"{name}.ipynb", as_version=4)
    fresh = nbformat.read(TUTORIALS / f"{name}.ipynb", as_version=4)
    client = nbclient.NotebookClient(
        fresh,
        timeout=300,
        coalesce_streams=True,
        resources={"metadata": {"path": folder}},
    )
    environment = {k: v for k, v in os.environ.items() if k != "MPLBACKEND"}
    client.execute(env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)})
    return kept, fresh


def shown(cell: Any) -> list[str]:
    """The texts of a cell's outputs, and the types of pictures.

    Pictures themselves differ between releases of matplotlib.
    """
    lines = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        text = output.get("text") or data.get("text/plain", "")
        lines += [ADDRESS.sub("", text), *sorted(data)]
        if "image/svg+xml" in data:
            lines.append(data["image/svg+xml"])
    return lines


def test_six_tutorials_have_executed_cells():
    nbformat = pytest.importorskip("nbformat")
    assert len(NAMES) == 6
    for name in NAMES:
        notebook = nbformat.read(TUTORIALS / f"{name}.ipynb", as_version=4)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        numbers = [cell.execution_count for cell in cells]
        assert numbers == list(range(1, len(cells) + 1)), name


@pytest.mark.parametrize("name", NAMES)
def test_tutorial_reproduces_its_page(name, tmp_path):
    kept, fresh = run(name, str(tmp_path))
    for before, after in zip(kept.cells, fresh.cells, strict=True):
        assert shown(after) == shown(before), before.source
    assert not [*tmp_path.iterdir()], "a notebook leaves files behind"


if __name__ == "__main__":
    import nbformat

    for tutorial in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as made:
            nbformat.write(run(tutorial, made)[1], TUTORIALS / f"{tutorial}.ipynb")
