"""A policy as a table: for people, with the reach of each information state, and
OpenSpiel's, extended for shared strings and for use from C++."""

import importlib
import itertools
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import get_all_states

from mccfr_spiel.arenas.infosets.loading import names_anywhere, said, said_info_state
from mccfr_spiel.arenas.infosets.names import shared_by
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.rules.description import rules_of
from mccfr_spiel.common.arrays import sequences_at
from mccfr_spiel.common.display import (
    brief,
    counted,
    html_table,
    never_raises,
    one_line,
    one_lines,
    player_name,
    text_table,
    title,
)
from mccfr_spiel.policies.names import uniform_vector

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
            player_name(game, row.player, "{}"),
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


_found: weakref.WeakKeyDictionary[
    InfosetTable, tuple[weakref.ref[InfosetTable], np.ndarray]
] = weakref.WeakKeyDictionary()
"""For a policy's tree: another tree of its game, and its infosets' numbers there."""


def numbers_in(goal: InfosetTable, origin: InfosetTable, count: int) -> np.ndarray:
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
                "name, or the game's strings vary, which ms.check_game finds."
            )
        numbers = np.concatenate((numbers[:known], more))
        _found[origin] = weakref.ref(goal), numbers
    return numbers[:count]


def moved(
    goal: InfosetTable, origin: InfosetTable, count: int, vector: np.ndarray
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
        to, of = sequences_at(goal.infosets[infosets]), sequences_at(theirs)
        if (goal.actions[to] == origin.actions[of]).all():
            policy[to] = vector[of]
            return policy
    raise ValueError(
        f"The policy knows other legal actions than {brief(goal.source)} has: it was "
        "made for another game of that name."
    )


# --- OpenSpiel's table ----------------------------------------------------------------


Row = list[tuple[int, float]]

OWNED = re.compile(r"player (\d+): (.*)", re.DOTALL)
"""What `owned` returns: its groups are the player and the string."""


def owned(info_state: str, player: int) -> str:
    """The key of a player's information state whose string players share."""
    return f"player {player}: {info_state}"


class TabularPolicy(openspiel_policy.TabularPolicy):
    """OpenSpiel's TabularPolicy with two additions.

    First, each player has rows of their own. In some games, such as Goofspiel with its
    default parameters, two players have the same information-state string, and
    OpenSpiel's table has a single row for both. Here the keys of such a string in
    `state_lookup` are "player 0: " + string and so on. OpenSpiel's functions ask by
    state, so they find the right row without knowing of this.

    Second, compiled OpenSpiel accepts the object as a table, because it is a mapping
    from each key to the (action, probability) pairs of the legal actions. So
    `pyspiel.exploitability(game, policy)`, `pyspiel.nash_conv` and
    `pyspiel.TabularBestResponse` read the probabilities it has at that moment. For
    functions that take only a `pyspiel.Policy`, `pyspiel.TabularPolicy(policy)` makes a
    copy.

    Attributes:
        shared_strings: the information-state strings that several players have.
    """

    def __init__(self, game: pyspiel.Game, *, states: Any = None) -> None:
        """Makes the uniform policy of all players.

        Args:
            game: any game whose states OpenSpiel can enumerate.
            states: a dictionary from history to state, as in OpenSpiel's TabularPolicy;
                None for all states of the game.
        """
        self.shared_strings: frozenset[str] = frozenset()  # `_state_key` needs one
        self.game_type = game.get_type()
        states = states or get_all_states.get_all_states(
            game,
            depth_limit=-1,
            include_terminals=False,
            include_chance_states=False,
            include_mean_field_states=False,
            to_string=lambda state: state.history_str(),
        )
        pairs = [
            (state, player) for state in states.values() for player in _acting(state)
        ]
        strings = itertools.starmap(self._state_key, pairs)
        self.shared_strings = frozenset(shared_by(strings, (p for _, p in pairs)))
        super().__init__(game, states=states)

    def _state_key(self, state: pyspiel.State, player: int | None) -> str:
        key = super()._state_key(state, player)
        if key not in self.shared_strings:
            return key
        return owned(key, state.current_player() if player is None else player)

    def key(self, info_state: str, player: int) -> str:
        """The key in `state_lookup` of a player's information-state string."""
        if info_state in self.shared_strings:
            return owned(info_state, player)
        return info_state

    def __copy__(self, copy_action_probability_array: bool = True) -> "TabularPolicy":
        copy = type(self).__new__(type(self))
        copy.__dict__ |= self.__dict__
        copy._random_state = np.random.RandomState()
        if copy_action_probability_array:
            copy.action_probability_array = np.copy(self.action_probability_array)
        return copy

    # --- the mapping that compiled OpenSpiel reads -------------------------

    def __getitem__(self, key: str) -> Row:
        row = self.state_lookup[key]
        legal = np.flatnonzero(self.legal_actions_mask[row])
        probabilities = self.action_probability_array[row, legal]
        return list(zip(legal.tolist(), probabilities.tolist(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self.state_lookup)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self.state_lookup)

    def __len__(self) -> int:
        return len(self.state_lookup)

    def __contains__(self, key: object) -> bool:
        return key in self.state_lookup

    keys, items = Mapping.keys, Mapping.items


def _acting(state: pyspiel.State) -> Iterable[int]:
    """The players who have a decision to make at a state."""
    if not state.is_simultaneous_node():
        return (state.current_player(),)
    players = range(state.num_players())
    return (player for player in players if state.legal_actions(player))


def raise_shared(info_state: str) -> NoReturn:
    """Raises ValueError for a string that several players have."""
    raise ValueError(
        f"More than one player has the information state {info_state!r}; a pyspiel "
        "policy cannot tell them apart. Use the policy itself or its to_tabular(), "
        "which answer states."
    )


def without_turn(name: str) -> str:
    """The game's own string, given the string of its turn-based form."""
    return name.partition("\n")[2]
