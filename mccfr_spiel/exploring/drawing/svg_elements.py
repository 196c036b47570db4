"""Reads the elements of a drawing's SVG with their styles, to draw them otherwise."""

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

_RULE = re.compile(r"^\.ms-tree \.(\w+) \{ (.*) \}$", re.MULTILINE)
"""A CSS rule of the light scheme; those of the dark scheme are indented."""

_PROPERTY = re.compile(r"([\w-]+): ([^;]+);")


class StyledElement(NamedTuple):
    """An element of an SVG.

    Attributes:
        element: the element.
        down: vertical offset of the group that contains it, in pixels.
        style: properties of its classes, replaced by its own attributes.
    """

    element: ElementTree.Element
    down: float
    style: dict[str, str]


def parsed(svg: str) -> ElementTree.Element:
    """The root of an SVG, with tags that have no namespace."""
    return ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", svg, count=1))


def styled_elements(root: ElementTree.Element) -> Iterator[StyledElement]:
    """The elements of a drawing in the order in which they are drawn."""
    rules = _RULE.findall(root.findtext("style", ""))
    styles = {name: dict(_PROPERTY.findall(body)) for name, body in rules}
    for group in (root, *root.findall("g")):
        down = float(group.get("transform", "translate(0 0)")[:-1].split()[1])
        for element in group:
            style: dict[str, str] = {}
            for name in element.get("class", "").split():
                style |= styles.get(name, {})
            yield StyledElement(element, down, style | element.attrib)
