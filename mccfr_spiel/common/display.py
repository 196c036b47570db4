"""How objects show themselves: reprs of one line, and tables as text or HTML.

A repr must be cheap and must never raise, since debuggers and notebooks call it at any
time, also on an object that is being made or that another thread is using.
"""

import contextlib
import functools
import html
import math
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import pyspiel
from tqdm import tqdm

_Self = TypeVar("_Self")

_MOST_OF_PARAMETERS = 80

_MOST_OF_LOAD_STRINGS = 200

_LEAST_WIDTH = 1e-13
"""An interval that is narrower, relative to its middle, is only rounding."""

_ROUNDING = 1e-6


def line(value: object, *facts: str) -> str:
    """`<Kind: fact, fact>`, a repr; facts that are empty are left out."""
    words = ", ".join(fact for fact in facts if fact)
    return f"<{type(value).__name__}: {words}>"


def never_raises(method: Callable[[_Self], str]) -> Callable[[_Self], str]:
    """Wraps a `__repr__` or `_repr_html_` so that an error leaves a bare repr."""

    @functools.wraps(method)
    def shown(self: _Self) -> str:
        try:
            return method(self)
        except Exception:  # an object that is half made, or a game that raises
            return f"<{type(self).__name__} at {id(self):#x}>"

    return shown


def hides_bar(shown: bool | None = None) -> bool:
    """Whether tqdm is not to show a bar, which by default is for terminals only, and
    which a standard error that is closed cannot show."""
    if getattr(sys.stderr, "closed", sys.stderr is None):
        return True
    return not (sys.stderr.isatty() if shown is None else shown)


class Bar(tqdm):
    """A bar of tqdm. Where standard error cannot be written, as on a full disk, the
    bar is lost and the work goes on."""

    def display(self, msg: str | None = None, pos: int | None = None) -> Any:
        with contextlib.suppress(OSError):
            return super().display(msg, pos)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            super().close()


def counted(number: int, word: str) -> str:
    """`1 node`, `58 nodes`, `3,000,000 nodes`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def short(number: float) -> str:
    """A number with three digits."""
    return f"{number:.3g}"


def plus_minus(middle: float, half_width: float) -> str:
    """`-0.0560 +- 0.0012`: two digits of the half width, and as many decimals before.

    The half width is rounded up, so that what is shown holds all of the interval.
    """
    if not 0 < half_width < math.inf or half_width < _LEAST_WIDTH * abs(middle):
        return f"{middle:.12g}"
    decimals = max(1 - math.floor(math.log10(half_width)), 0)
    shown = round(middle, decimals)
    unit = 10.0**-decimals
    wide = math.ceil((half_width + abs(middle - shown)) / unit - _ROUNDING) * unit
    return f"{shown + 0.0:.{decimals}f} +- {wide:.{decimals}f}"


def brief(game: object) -> str:
    """A game's load string as people read it: without its middle if it is long."""
    return one_line(str(game), _MOST_OF_LOAD_STRINGS)


def player_name(game: pyspiel.Game, player: int, default: str = "player {}") -> str:
    """The name that a game gives a player, or a default with the number, `player 0`."""
    names = getattr(game, "player_names", ())
    return str(names[player]) if player < len(names) else default.format(player)


def title(game: pyspiel.Game) -> str:
    """`Leduc Poker`, or `Leduc Poker (players=3)` for other than default parameters.

    A game of a file has a title of its own.
    """
    if hasattr(game, "shown_title"):
        return str(game.shown_title)
    name = game.get_type().long_name
    parameters = str(game).partition("(")[2].rpartition(")")[0]
    if not parameters:
        return name
    if len(parameters) > _MOST_OF_PARAMETERS:
        parameters = parameters[:_MOST_OF_PARAMETERS] + "..."
    return f"{name} ({parameters.replace(',', ', ')})"


def one_line(text: str, most: int | None = None) -> str:
    r"""A text on one line: what cannot be printed, line ends too, as in `"\n"`.

    Args:
        text: any text, also one with bytes that are no UTF-8.
        most: a longer text is cut in its middle, since information-state strings
            often differ at their ends.
    """
    if not text.isprintable():
        text = "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
        )
    if most is not None and len(text) > most:
        head = (most - 3) // 2
        text = f"{text[:head]}...{text[len(text) - (most - 3 - head) :]}"
    return text


def one_lines(texts: Sequence[str], most: int) -> list[str]:
    """Texts on one line each, cut to about `most` letters, or to as many more as it
    takes that different texts remain different."""
    distinct = len(set(texts))
    for room in (most, 2 * most, 4 * most):
        shown = [one_line(text, room) for text in texts]
        if len(set(shown)) == distinct:
            return shown
    return [one_line(text) for text in texts]


# --- tables as text and as HTML for notebooks -----------------------------------------


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

    def row(tag: str, cells: Cells) -> str:
        shown = "".join(
            f'<{tag} style="text-align: {"right" if column in right else "left"}; '
            f'padding: 2px 8px; white-space: pre">{_as_html(cell)}</{tag}>'
            for column, cell in enumerate(cells)
        )
        return f"<tr>{shown}</tr>"

    style = "text-align: left; font-weight: bold; white-space: nowrap"
    above = f'<caption style="{style}">{_as_html(caption)}</caption>' if caption else ""
    head = f"<thead>{row('th', header)}</thead>" if any(header) else ""
    body = "".join(row("td", cells) for cells in rows)
    below = f"<div>{_as_html(note)}</div>" if note else ""
    return f"<div><table>{above}{head}<tbody>{body}</tbody></table>{below}</div>"


def html_line(text: str) -> str:
    """A line of text as HTML."""
    return f"<code>{_as_html(text)}</code>"


def _as_html(text: str) -> str:
    return html.escape(text, quote=False)
