"""Helpers for reprs of one line, and for tables as text or HTML.

A repr must be cheap and must not raise. Debuggers and notebooks call it at any time,
also for objects whose constructor has not finished and for objects that other threads
are using.
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
"""Intervals narrower than this, relative to their middle, are shown as one number."""

_ROUNDING = 1e-6


def line(value: object, *facts: str) -> str:
    """Formats a repr such as `<Solver: Leduc Poker, 100 iterations>`.

    Args:
        value: the object; its class name comes first.
        facts: the parts of the description. Empty parts are left out.
    """
    shown = ", ".join(fact for fact in facts if fact)
    return f"<{type(value).__name__}: {shown}>"


def never_raises(method: Callable[[_Self], str]) -> Callable[[_Self], str]:
    """Decorates a `__repr__` or `_repr_html_`: after an error it returns a minimal repr
    with the class name and the address."""

    @functools.wraps(method)
    def shown(self: _Self) -> str:
        try:
            return method(self)
        except Exception:  # incomplete objects, games that raise
            return f"<{type(self).__name__} at {id(self):#x}>"

    return shown


def hides_bar(shown: bool | None = None) -> bool:
    """Whether tqdm must hide its bar.

    Args:
        shown: whether the user wants a bar; None for bars on terminals only. Bars are
            always hidden if standard error is closed.
    """
    if getattr(sys.stderr, "closed", sys.stderr is None):
        return True
    return not (sys.stderr.isatty() if shown is None else shown)


class Bar(tqdm):
    """A tqdm bar that ignores write errors of standard error, such as a full disk."""

    def display(self, msg: str | None = None, pos: int | None = None) -> Any:
        with contextlib.suppress(OSError):
            return super().display(msg, pos)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            super().close()


def counted(number: int, word: str) -> str:
    """Formats a count: `1 node`, `58 nodes`, `3,000,000 nodes`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def short(number: float) -> str:
    """Formats a number with three significant digits."""
    return f"{number:.3g}"


def plus_minus(middle: float, half_width: float) -> str:
    """Formats an interval such as `-0.0560 +- 0.0012`.

    The half width has two significant digits, and the middle has the same number of
    decimals. The half width is rounded up, so that the shown interval contains the
    exact interval. If the half width is 0, negligible or infinite, only the middle is
    shown.
    """
    if not 0 < half_width < math.inf or half_width < _LEAST_WIDTH * abs(middle):
        return f"{middle:.12g}"
    decimals = max(1 - math.floor(math.log10(half_width)), 0)
    shown = round(middle, decimals)
    unit = 10.0**-decimals
    wide = math.ceil((half_width + abs(middle - shown)) / unit - _ROUNDING) * unit
    return f"{shown + 0.0:.{decimals}f} +- {wide:.{decimals}f}"


def brief(game: object) -> str:
    """A game's load string, shortened in the middle if it is long.

    Games of files define `shown_title`, which is used instead.
    """
    return one_line(str(getattr(game, "shown_title", game)), _MOST_OF_LOAD_STRINGS)


def player_name(game: pyspiel.Game, player: int, default: str = "player {}") -> str:
    """The player's name, or a default if there is no name or the name is a number.

    Args:
        game: the game. Games of files list the names as `player_names`.
        player: number of the player.
        default: text in which `{}` stands for the number.
    """
    names = getattr(game, "player_names", ())
    name = str(names[player] if player < len(names) else player)
    return default.format(name) if name.isdecimal() else name


def title(game: pyspiel.Game) -> str:
    """The name of a game for people, such as `Leduc Poker`.

    If the load string has parameters, they are added: `Leduc Poker (players=3)`. Games
    of files define `shown_title`, which is used instead.
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
    r"""Returns a text on one line, with unprintable characters escaped.

    Args:
        text: any text, also with bytes that are not UTF-8.
        most: the largest length. Longer texts are shortened in the middle, because
            information-state strings often differ at the end.
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
    """Shortens each text to one line; different texts remain different.

    Args:
        texts: the texts.
        most: the desired length of the lines. Lines are longer if different texts would
            otherwise be shortened to the same line.
    """
    distinct = len(set(texts))
    for room in (most, 2 * most, 4 * most):
        shown = [one_line(text, room) for text in texts]
        if len(set(shown)) == distinct:
            return shown
    return [one_line(text) for text in texts]


# --- tables as text and as HTML for notebooks -----------------------------------------


Cells = Sequence[str]


def text_table(header: Cells, rows: Sequence[Cells], right: Collection[int]) -> str:
    """Formats a table with aligned columns, two spaces apart.

    Args:
        header: the column names.
        rows: for each row, one cell per column. Cells contain no line ends.
        right: the indices of the columns that are aligned to the right.
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
    """Formats a table as HTML, with a caption above and a note below.

    The first three arguments are those of `text_table`. The HTML sets no colors, so
    that the table is readable in dark notebooks.
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
    """Formats one line of text as HTML."""
    return f"<code>{_as_html(text)}</code>"


def _as_html(text: str) -> str:
    return html.escape(text, quote=False)
