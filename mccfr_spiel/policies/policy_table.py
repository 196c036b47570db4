"""A policy as a table for people, with the reach of each information state."""

import importlib
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import names_anywhere, said, said_info_state
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.rules.description import rules_of
from mccfr_spiel.common.display import (
    counted,
    html_table,
    never_raises,
    one_line,
    one_lines,
    text_table,
    title,
)
from mccfr_spiel.policies.renumbering import moved, numbers_in

MOST_NODES = 1_000_000
"""The largest tree that is made for a table, which takes a few seconds. A larger one is
used if it is there already."""

SHOWN = 20
"""The rows that are printed."""

_HEADER = ("player", "information state", "policy", "reach")
_MOST_ACTIONS = 8
_MOST_OF_STRING = 100


class PolicyRow(NamedTuple):
    """A policy at one information state.

    Attributes:
        info_state: the information-state string.
        player: the player who acts there.
        actions: `[A]` OpenSpiel's numbers of the legal actions.
        names: `[A]` what the game calls them.
        probabilities: `[A]` of the policy.
        reach: the probability that a play reaches the information state when all
            follow the policy; None where that is not known (see `PolicyTable`).
    """

    info_state: str
    player: int
    actions: tuple[int, ...]
    names: tuple[str, ...]
    probabilities: tuple[float, ...]
    reach: float | None

    def policy_in_words(self, names: Sequence[str] = ()) -> str:
        """`Pass 0.787, Bet 0.213`; of many actions only the most probable ones.

        Args:
            names: `[A]` other names than the game's own.
        """
        pairs = list(zip(names or self.names, self.probabilities, strict=True))
        left_out = len(pairs) - _MOST_ACTIONS
        if left_out > 0:
            pairs.sort(key=lambda pair: -pair[1])
            del pairs[_MOST_ACTIONS:]
        words = [f"{one_line(name)} {value:.3f}" for name, value in pairs]
        if left_out > 0:
            words.append(f"{left_out} more")
        return ", ".join(words)


class PolicyTable(Sequence[PolicyRow]):
    """The rows of a policy in the order in which a depth-first walk meets them.

    It prints its first rows; a slice, such as `table[20:40]`, is a table, too. Reach
    and this order need the game's whole tree. If that is not there and has more than
    MOST_NODES nodes, or there is an abstraction, reach is None, and the order is that
    in which walks met the states.

    Attributes:
        title: of the game.
        rows: the rows, with OpenSpiel's strings; they are printed as people say them.
        game: the turn-based game.
    """

    def __init__(
        self, title: str, rows: Sequence[PolicyRow], game: pyspiel.Game
    ) -> None:
        """Keeps the rows."""
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
        """As `str`: the rows are what one wants to see."""
        return str(self)

    @never_raises
    def _repr_html_(self) -> str:
        note = more_rows(len(self) - SHOWN)
        return html_rows(self.game, self._heading(), self.rows[:SHOWN], note)

    def _heading(self) -> str:
        return f"{self.title}: {counted(len(self), 'information state')}"

    def to_pandas(self) -> Any:
        """A DataFrame with a line for each action at each information state.

        Its columns are info_state, player, action (OpenSpiel's number), name,
        probability and reach, which is NaN where it is not known.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise ImportError(
                "A DataFrame needs pandas, which is not installed (pip install "
                "pandas). The rows themselves are there: table.rows."
            ) from error
        lists = {"actions": "action", "names": "name", "probabilities": "probability"}
        frame = pandas.DataFrame(self.rows, columns=[*PolicyRow._fields])
        frame = frame.explode([*lists], ignore_index=True).rename(columns=lists)
        return frame.astype({"action": int, "probability": float, "reach": float})


def more_rows(number: int) -> str:
    """The line below rows that are not all; empty if no more are left."""
    return f"... and {counted(number, 'more row')}" if number > 0 else ""


def html_rows(
    game: pyspiel.Game, heading: str, rows: Sequence[PolicyRow], note: str
) -> str:
    """Rows of a table as HTML."""
    return html_table(_HEADER, _cells(game, rows), {0, 3}, caption=heading, note=note)


def _cells(
    game: pyspiel.Game, rows: Sequence[PolicyRow]
) -> list[tuple[str, str, str, str]]:
    """What is shown of rows, under `_HEADER`."""
    words = [said_info_state(game, row.player, row.info_state) for row in rows]
    strings = one_lines(words, _MOST_OF_STRING)
    return [
        (
            str(row.player),
            string,
            row.policy_in_words(said(game, row.player, row.names)),
            "-" if row.reach is None else f"{row.reach:.4g}",
        )
        for row, string in zip(rows, strings, strict=True)
    ]


# --- making the rows -----------------------------------------------------------


def table_of(table: InfosetTable, vector: np.ndarray, num_infosets: int) -> PolicyTable:
    """The table of a policy; expands the game's whole tree if that is small enough.

    Args:
        table: where the policy's names come from.
        vector: `[S]` the policy.
        num_infosets: the number of infosets it knows.
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
    """The rows of a policy, or the first `most` of them.

    Args:
        table, vector, num_infosets: as in `table_of`.
        basis: a table of the game that supplies the order, the reach and a state of
            each infoset; None for the order of `table` and no reach.
        most: how many rows; all by default.
    """
    numbers, reaches = np.arange(num_infosets), None
    if basis is not None:
        numbers = numbers_in(basis, table, num_infosets)
        reaches = basis.reaches(moved(basis, table, num_infosets, vector))
    order = np.argsort(numbers, kind="stable")[:most].tolist()
    states: Iterable[pyspiel.State | None] = itertools.repeat(None, len(order))
    if basis is not None and rules_of(table.game) is None:  # rules need no state
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
