"""Tables as text and as HTML for notebooks."""

from collections.abc import Collection, Sequence
from xml.etree import ElementTree

Cells = Sequence[str]


def text_table(header: Cells, rows: Sequence[Cells], right: Collection[int]) -> str:
    """Columns under their headers, two spaces apart.

    Args:
        header: the names of the columns.
        rows: as many cells each, none with a line end.
        right: the columns that are aligned to the right, as numbers are.
    """
    lines = [header, *rows]
    widths = [max(len(cells[i]) for cells in lines) for i in range(len(header))]

    def aligned(cells: Cells) -> str:
        parts = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    return "\n".join(map(aligned, lines))


def html_table(
    header: Cells,
    rows: Sequence[Cells],
    right: Collection[int],
    *,
    caption: str = "",
    note: str = "",
) -> str:
    """The same as an HTML table, with a caption above and a note below.

    Colours are left to the notebook, so that dark ones stay readable.
    """
    root = ElementTree.Element("div")
    table = ElementTree.SubElement(root, "table")
    if caption:
        above = ElementTree.SubElement(
            table,
            "caption",
            style="text-align: left; font-weight: bold; white-space: nowrap",
        )
        above.text = caption
    if any(header):
        _add_row(ElementTree.SubElement(table, "thead"), "th", header, right)
    body = ElementTree.SubElement(table, "tbody")
    for cells in rows:
        _add_row(body, "td", cells, right)
    if note:
        ElementTree.SubElement(root, "div").text = note
    return ElementTree.tostring(root, encoding="unicode", method="html")


def html_line(text: str) -> str:
    """A line of text as HTML."""
    element = ElementTree.Element("code")
    element.text = text
    return ElementTree.tostring(element, encoding="unicode", method="html")


def _add_row(
    parent: ElementTree.Element, tag: str, cells: Cells, right: Collection[int]
) -> None:
    row = ElementTree.SubElement(parent, "tr")
    for column, cell in enumerate(cells):
        side = "right" if column in right else "left"
        style = f"text-align: {side}; padding: 2px 8px; white-space: pre"
        ElementTree.SubElement(row, tag, style=style).text = cell
