"""A policy as a table for people: a row for each information state, with its reach."""

import importlib
import itertools
import math
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
import pyspiel

from mccfr_spiel.common.display import (
    brief,
    counted,
    html_table,
    never_raises,
    one_line,
    one_lines,
    text_table,
    title,
)
from mccfr_spiel.kernels.passes import add_reaches
from mccfr_spiel.policies.names import (
    Names,
    names_at,
    names_without_state,
    plain_names,
    said,
    said_info_state,
    uniform_vector,
)
from mccfr_spiel.tree.cache import whole_tree_beside
from mccfr_spiel.tree.full_pass import FullPass
from mccfr_spiel.tree.game_tree import GameTree

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
        player: who acts there.
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
        rows: the rows, with OpenSpiel's strings; printed are they as people say them.
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

    def __iter__(self) -> Iterator[PolicyRow]:
        return iter(self.rows)

    def __str__(self) -> str:
        """The first rows as text."""
        rows = _cells(self.game, self.rows[:SHOWN])
        lines = [self._heading(), text_table(_HEADER, rows, {0, 3})]
        if len(self) > SHOWN:
            lines.append(more_rows(len(self) - SHOWN))
        return "\n".join(lines)

    @never_raises
    def __repr__(self) -> str:
        """As `str`: the rows are what one wants to see."""
        return str(self)

    @never_raises
    def _repr_html_(self) -> str:
        note = more_rows(len(self) - SHOWN) if len(self) > SHOWN else ""
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
        return pandas.DataFrame(
            [
                (row.info_state, row.player, action, name, probability, reach)
                for row in self.rows
                for reach in (math.nan if row.reach is None else row.reach,)
                for action, name, probability in zip(
                    row.actions, row.names, row.probabilities, strict=True
                )
            ],
            columns=["info_state", "player", "action", "name", "probability", "reach"],
        )


def more_rows(number: int) -> str:
    """The line below rows that are not all."""
    return f"... and {counted(number, 'more row')}"


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


def table_of(
    tree: GameTree | Names, vector: np.ndarray, num_infosets: int
) -> PolicyTable:
    """The table of a policy; makes the game's whole tree if that is small enough.

    Args:
        tree: where the policy's names come from.
        vector: `[S]` the policy.
        num_infosets: the number of infosets it knows.
    """
    rows = rows_of(tree, vector, num_infosets, _basis(tree))
    return PolicyTable(title(tree.source), rows, tree.game)


def rows_of(
    tree: GameTree | Names,
    vector: np.ndarray,
    num_infosets: int,
    basis: GameTree | None,
    most: int | None = None,
) -> list[PolicyRow]:
    """The rows of a policy, or the first `most` of them.

    Args:
        tree, vector, num_infosets: as in `table_of`.
        basis: a tree of the game with nodes, from which order, reach and names are
            taken; None for the order of `tree` and no reach.
        most: how many rows; all by default.
    """
    seen = None if basis is None else _Seen(basis, tree, vector, num_infosets)
    order = range(num_infosets) if seen is None else seen.order.tolist()
    actions = tree.actions
    rows = []
    for infoset in list(order)[:most]:
        _, start, _, size, player = tree.infosets[infoset].item()
        legal = actions[start : start + size].tolist()
        names = names_without_state(tree.game, player, legal)
        if names is None and seen is not None:
            names = seen.names(infoset, player, legal)
        if names is None:
            names = plain_names(tree.game, player, legal)
        rows.append(
            PolicyRow(
                tree.info_state(infoset),
                player,
                tuple(legal),
                tuple(names),
                tuple(vector[start : start + size].tolist()),
                None if seen is None else seen.reach(infoset),
            )
        )
    return rows


def _basis(tree: GameTree | Names) -> GameTree | None:
    """A tree of a policy's game in which to look its infosets up; None for none."""
    if isinstance(tree, GameTree):
        if tree.abstraction is not None or tree.is_complete:
            return tree
    elif tree.abstraction is not None:
        return None
    try:
        if isinstance(tree, GameTree):
            return whole_tree_beside(tree, tree.source, max_nodes=MOST_NODES)
        return GameTree(tree.source, max_nodes=MOST_NODES).expand_all()
    except Exception:  # games raise what they like, and the table can do without
        return None


class _Seen:
    """A policy's infosets as nodes of a tree.

    Attributes:
        order: `[num_infosets]` the policy's infosets in the order of the tree's.
    """

    def __init__(
        self,
        basis: GameTree,
        tree: GameTree | Names,
        vector: np.ndarray,
        num_infosets: int,
    ) -> None:
        self._basis = basis
        self._numbers = numbers_in(basis, tree, num_infosets)
        self.order = np.argsort(self._numbers, kind="stable")
        self._first = basis.first_nodes()
        self._reach: np.ndarray | None = None
        if basis.is_complete and basis.abstraction is None:
            plan = FullPass(basis).plan(moved(basis, tree, num_infosets, vector))
            self._reach = np.zeros(basis.num_infosets)
            add_reaches(basis.arrays, plan, self._reach)
            self._reach *= plan[basis.infosets["parent"]]

    def reach(self, infoset: int) -> float | None:
        """The probability that play reaches an infoset; None if it is not known."""
        if self._reach is None:
            return None
        return float(self._reach[self._numbers[infoset]])

    def names(self, infoset: int, player: int, actions: list[int]) -> list[str] | None:
        """The names of the actions at an infoset; None if it has no node."""
        node = int(self._first[self._numbers[infoset]])
        if node < 0:
            return None
        return names_at(self._basis.state_at(node)[0], player, actions)


_found: weakref.WeakKeyDictionary[
    GameTree | Names, tuple[weakref.ref[GameTree], np.ndarray]
] = weakref.WeakKeyDictionary()
"""For a policy's tree: another tree of its game, and its infosets' numbers there."""


def numbers_in(goal: GameTree, origin: GameTree | Names, count: int) -> np.ndarray:
    """`[count]` the numbers that a policy's infosets have in another tree of its game.

    They are kept for the next call with the same trees, when the policy's may have met
    more.

    Raises:
        ValueError: the other tree lacks one of them.
    """
    if goal is origin:
        return np.arange(count)
    tree, numbers = _found.get(origin, (lambda: None, np.zeros(0, np.int64)))
    known = len(numbers) if tree() is goal else 0
    if count > known:
        names = itertools.islice(origin.infoset_names, known, count)
        players = origin.infosets["player"][known:count].tolist()
        more = np.array(list(map(goal.find, names, players)), np.int64)
        if (more < 0).any():
            name = origin.info_state(known + int(np.argmin(more)))
            raise ValueError(
                f"The policy knows the information state {name!r}, which "
                f"{brief(goal.source)} has not: it was made for another game of that "
                "name."
            )
        numbers = np.concatenate((numbers[:known], more))
        _found[origin] = weakref.ref(goal), numbers
    return numbers[:count]


def moved(
    goal: GameTree, origin: GameTree | Names, count: int, vector: np.ndarray
) -> np.ndarray:
    """`[S]` a policy over another tree's sequences, uniform where it knows nothing.

    Args:
        goal: the other tree.
        origin: where the policy's names come from.
        count: how many infosets it knows.
        vector: the policy, over the sequences of `origin`.

    Raises:
        ValueError: the other tree lacks an infoset, or has other legal actions.
    """
    infosets, theirs = numbers_in(goal, origin, count), origin.infosets[:count]
    sizes = goal.infosets["num_actions"][infosets]
    policy = uniform_vector(goal)
    if (theirs["num_actions"] == sizes).all():
        to = _ranges(goal.infosets["first_sequence"][infosets], sizes)
        of = _ranges(theirs["first_sequence"], sizes)
        if (goal.actions[to] == origin.actions[of]).all():
            policy[to] = vector[of]
            return policy
    raise ValueError(
        f"The policy knows other legal actions than {brief(goal.source)} has: it was "
        "made for another game of that name."
    )


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The ranges `starts[k] .. starts[k] + sizes[k] - 1`, one after the other."""
    before = np.cumsum(sizes, dtype=np.int64) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum(dtype=np.int64))
