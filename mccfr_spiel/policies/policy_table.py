"""A policy as a printable table.

The reach of an information state is the probability that a play reaches it if all
players follow the policy.
"""

import importlib
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.action_names import (
    names_anywhere,
)
from mccfr_spiel.arenas.infosets.phrases import (
    said,
    said_info_state,
)
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.rules.bound_rules import (
    rules_of,
)
from mccfr_spiel.common.display import (
    counted,
    html_table,
    never_raises,
    one_line,
    one_lines,
    player_name,
    text_table,
    title,
)
from mccfr_spiel.policies.renumbering import moved, numbers_in

MOST_NODES = 1_000_000
"""The largest number of nodes of a tree that is expanded for a table; this takes a few
seconds. A larger tree is used if it exists already."""

SHOWN = 20
"""The largest number of rows that a printed table shows."""

_HEADER = ("player", "information state", "policy", "reach")
_MOST_ACTIONS = 8
_MOST_OF_STRING = 100


class PolicyRow(NamedTuple):
    """A policy at one information state.

    Attributes:
        info_state: the information-state string.
        player: the acting player.
        actions: `[A]` OpenSpiel's numbers of the legal actions.
        names: `[A]` the game's names of the actions.
        probabilities: `[A]` the probabilities.
        reach: the probability that a play reaches the information state if all players
            follow the policy; None if unknown, see `PolicyTable`.
    """

    info_state: str
    player: int
    actions: tuple[int, ...]
    names: tuple[str, ...]
    probabilities: tuple[float, ...]
    reach: float | None

    def policy_in_words(self, names: Sequence[str] = ()) -> str:
        """Formats the policy, such as `Pass 0.787, Bet 0.213`.

        If there are many actions, only the most probable actions are shown.

        Args:
            names: `[A]` names to show in place of the game's names.
        """
        pairs = list(zip(names or self.names, self.probabilities, strict=True))
        left_out = len(pairs) - _MOST_ACTIONS
        if left_out > 0:
            pairs.sort(key=lambda pair: -pair[1])
            del pairs[_MOST_ACTIONS:]
        parts = [f"{one_line(name)} {value:.3f}" for name, value in pairs]
        if left_out > 0:
            parts.append(f"{left_out} more")
        return ", ".join(parts)


class PolicyTable(Sequence[PolicyRow]):
    """The rows of a policy, in the order in which a depth-first walk visits infosets.

    Printing the table shows its first rows. A slice, such as `table[20:40]`, is a
    PolicyTable, too. The order and the reaches need the game's whole tree, which is not
    available if it has more than MOST_NODES nodes or if the policy has an abstraction.
    Rows are then in the order of the first visits, and reaches are None.

    Attributes:
        title: the title of the game.
        rows: the rows. They contain OpenSpiel's information-state strings; for some
            games, readable strings are printed instead.
        game: the turn-based form of the game.
    """

    def __init__(
        self, title: str, rows: Sequence[PolicyRow], game: pyspiel.Game
    ) -> None:
        """Stores the arguments, see the attributes."""
        self.title, self.game = title, game
        self.rows = list(rows)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> PolicyRow: ...
    @overload
    def __getitem__(self, index: slice) -> "PolicyTable": ...
    def __getitem__(self, index: int | slice) -> "PolicyRow | PolicyTable":
        if isinstance(index, slice):
            return PolicyTable(self.title, self.rows[index], self.game)
        return self.rows[index]

    def __str__(self) -> str:
        """The first rows as text."""
        rows = _cells(self.game, self.rows[:SHOWN])
        table, note = text_table(_HEADER, rows, {0, 3}), more_rows(len(self) - SHOWN)
        return "\n".join(filter(None, (self._heading(), table, note)))

    @never_raises
    def __repr__(self) -> str:
        """Returns the same text as `str`, so that notebooks and debuggers show rows."""
        return str(self)

    @never_raises
    def _repr_html_(self) -> str:
        note = more_rows(len(self) - SHOWN)
        return html_rows(self.game, self._heading(), self.rows[:SHOWN], note)

    def _heading(self) -> str:
        return f"{self.title}: {counted(len(self), 'information state')}"

    def to_pandas(self) -> Any:
        """Converts the table to a DataFrame with one line per action and information
        state.

        The columns are info_state, player, action (OpenSpiel's number), name,
        probability and reach (NaN if unknown).

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise ImportError(
                "to_pandas needs pandas: pip install pandas. The rows are also "
                "available as table.rows."
            ) from error
        lists = {"actions": "action", "names": "name", "probabilities": "probability"}
        frame = pandas.DataFrame(self.rows, columns=[*PolicyRow._fields])
        frame = frame.explode([*lists], ignore_index=True).rename(columns=lists)
        return frame.astype({"action": int, "probability": float, "reach": float})


def more_rows(number: int) -> str:
    """The line below a table that says how many rows are not shown.

    Args:
        number: the number of rows that are not shown; the line is empty if it is not
            positive.
    """
    return f"... and {counted(number, 'more row')}" if number > 0 else ""


def html_rows(
    game: pyspiel.Game, heading: str, rows: Sequence[PolicyRow], note: str
) -> str:
    """Formats rows as an HTML table, with a heading above and a note below."""
    return html_table(_HEADER, _cells(game, rows), {0, 3}, caption=heading, note=note)


def _cells(
    game: pyspiel.Game, rows: Sequence[PolicyRow]
) -> list[tuple[str, str, str, str]]:
    """Returns the texts of some rows, one text for each column of `_HEADER`."""
    texts = [said_info_state(game, row.player, row.info_state) for row in rows]
    strings = one_lines(texts, _MOST_OF_STRING)
    return [
        (
            player_name(game, row.player, "{}"),
            string,
            row.policy_in_words(said(game, row.player, row.names)),
            "-" if row.reach is None else f"{row.reach:.4g}",
        )
        for row, string in zip(rows, strings, strict=True)
    ]


# --- making the rows -----------------------------------------------------------


def table_of(table: InfosetTable, vector: np.ndarray, num_infosets: int) -> PolicyTable:
    """Makes the printable table of a policy.

    The game's whole tree is expanded first if it has at most MOST_NODES nodes.

    Args:
        table: the infosets of the policy.
        vector: `[S]` the policy.
        num_infosets: the number of infosets of the policy.
    """
    basis = table.whole(MOST_NODES)
    rows = rows_of(table, vector, num_infosets, basis)
    return PolicyTable(title(table.source), rows, table.game)


def rows_of(
    table: InfosetTable,
    vector: np.ndarray,
    num_infosets: int,
    basis: InfosetTable | None,
    most: int | None = None,
) -> list[PolicyRow]:
    """Makes the rows of a policy.

    Args:
        table, vector, num_infosets: as in `table_of`.
        basis: an infoset table of the whole tree of the game. It determines the order
            of the rows and the reaches, and provides a state of each infoset for the
            names of actions. None for rows in the order of `table` without reaches.
        most: the largest number of rows; None for all.
    """
    numbers, reaches = np.arange(num_infosets), None
    if basis is not None:
        numbers = numbers_in(basis, table, num_infosets)
        reaches = basis.reaches(moved(basis, table, num_infosets, vector))
    order = np.argsort(numbers, kind="stable")[:most].tolist()
    states: Iterable[pyspiel.State | None] = itertools.repeat(None, len(order))
    if (
        basis is not None and rules_of(table.game) is None
    ):  # games with compiled rules name their actions without a state
        states = basis.states(numbers[order].tolist())
    actions, rows = table.actions, []
    for infoset, state in zip(order, states, strict=True):
        _, start, _, size, player = table.infosets[infoset].item()
        legal = actions[start : start + size].tolist()
        names = names_anywhere(table.game, player, legal, state)
        rows.append(
            PolicyRow(
                table.info_state(infoset),
                player,
                tuple(legal),
                tuple(names),
                tuple(vector[start : start + size].tolist()),
                None if reaches is None else float(reaches[numbers[infoset]]),
            )
        )
    return rows
