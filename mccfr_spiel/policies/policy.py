"""A vector over sequences as an OpenSpiel policy.

Any other policy can be wrapped so that it answers states, too, and both can be made
into bots. Where several players have the same infoset string, the player tells them
apart.
"""

import difflib
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.arenas.infosets.loading import same_name
from mccfr_spiel.arenas.infosets.names import shared_by
from mccfr_spiel.arenas.infosets.table import Abstraction, InfosetTable
from mccfr_spiel.common import checkpoint, refusals
from mccfr_spiel.common.display import (
    brief,
    counted,
    line,
    never_raises,
    one_line,
    title,
)
from mccfr_spiel.kernels.sampling import plain_draw_action
from mccfr_spiel.policies.names import (
    MOST_OFF,
    check_shape,
    checked_vector,
    digest_of,
    from_contents,
    from_json,
    is_of_file,
    names_of,
    to_contents,
    with_int_actions,
)
from mccfr_spiel.policies.table import (
    OWNED,
    PolicyTable,
    TabularPolicy,
    html_rows,
    more_rows,
    owned,
    raise_shared,
    rows_of,
    table_of,
    without_turn,
)

# --- A vector over sequences as an OpenSpiel policy -----------------------------------


_SEARCHED = 5_000
"""The most strings among which to look for some that resemble a missing one."""

_MADE_OF_VECTOR = ("action_probability_array", "legal_actions_mask", "state_lookup")
"""Attributes that are made when they are first read, and that users may change."""

_ROWS_IN_NOTEBOOK = 10

_FEW_NODES = 100_000
"""The number of nodes in which a notebook looks for the names of actions."""


class SequencePolicy(openspiel_policy.Policy):
    """A snapshot of a policy vector, as an OpenSpiel policy of all players.

    It answers for states of the game it was made for. If that game has simultaneous
    moves, it answers both for its states and for those of its turn-based form. At a
    state that was never met the answer is the uniform policy. `state_lookup`,
    `action_probability_array` and `legal_actions_mask` are as in OpenSpiel's
    TabularPolicy, but hold only the states met.

    A policy with an abstraction passes every state to that function. If moves are
    simultaneous, it then answers only for states of the turn-based form. `info_states`,
    and everything in the same order, lists a string once for each way in which the
    player's own moves lead to it.

    A policy is also like a read-only dictionary of the states met: `policy[info_state]`
    is a dictionary action -> probability, and `len`, `in` and iteration go by the same
    strings, those of `to_dict`. Unlike an empty dictionary a policy is always true.

    Attributes:
        tree: the source of the names of infosets and actions.
        vector: `[S]` the probability of each sequence's action at its infoset.
        turn_based_game: the game with its moves in turn, the game itself if they are.
    """

    def __init__(self, tree: InfosetTable, vector: np.ndarray) -> None:
        """Copies the vector.

        Args:
            tree: where the names of infosets and actions come from; it may go on
                growing.
            vector: `[S]` the probability of each sequence's action at its infoset.

        Raises:
            ValueError: this is no tree, or no vector over its sequences.
        """
        if not isinstance(tree, InfosetTable):
            raise ValueError(f"tree={tree!r} is no GameTree; give ms.GameTree(game).")
        super().__init__(tree.source, list(range(tree.num_players)))
        self.tree = tree
        self.vector = refusals.numbers(vector, "vector")
        check_shape(tree, self.vector, vector)
        self._num_infosets = tree.num_infosets
        self._infosets = tree.infosets
        self.turn_based_game = tree.game
        self._last_game: pyspiel.Game | None = None

    @functools.cached_property
    def _actions(self) -> np.ndarray:
        return self.tree.actions

    # --- saving ------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy, of any size, into a file that `load` reads.

        The file appears whole or not at all, and it replaces an older one. It takes 24
        bytes for each infoset, 16 for each sequence, and 8 more than its text for each
        string. Measured with the 3.3 million infosets of Goofspiel with 7 cards: the
        file has 577 MB, saving it takes 47 s and loading it 1.2 s, and then a state is
        looked up in 6 us. Saving spends most of its time on making the strings, which
        compiled rules do without until then.

        Raises:
            ValueError: the vector is no policy.
            OSError: the file cannot be written; an older file is left as it was.
        """
        names = names_of(self.tree, self._num_infosets, len(self.vector))
        checked_vector(names, self.vector)
        contents = to_contents(names, self.vector)
        checkpoint.save(path, contents, checkpoint.POLICY)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        game: pyspiel.Game | str | None = None,
        *,
        abstraction: Abstraction | None = None,
    ) -> "SequencePolicy":
        """Reads what `save` wrote. No code in a file is ever run.

        A policy is a table of information-state strings and knows no payoffs. A game
        with the same load string and other payoffs is therefore not refused.

        Args:
            path: the file.
            game: the game, if its load string is not enough to make it.
            abstraction: the abstraction that the policy had, if it had one.

        Raises:
            CheckpointError: the file is damaged, or is not a policy's.
            ValueError: the game cannot be loaded.
            OSError: the file cannot be read.
        """
        contents = checkpoint.load(path, checkpoint.POLICY)
        return cls(*from_contents(contents, game, abstraction))

    # --- looking at it -------------------------------------------------------

    def table(self) -> PolicyTable:
        """The policy as a table that prints: a row for each information state met.

        A row has the string, the player, the actions by name, their probabilities, and
        the probability that a play reaches the state when all follow the policy. Rows
        come in the order of the game's tree. A tree that is not there yet is made, if
        the game has no more than a million nodes.

        Raises:
            ValueError: the policy was made for another game of the same name.
        """
        return table_of(self.tree, self.vector, self._num_infosets)

    def __str__(self) -> str:
        """The game and the number of information states met."""
        abstracted = self.tree.abstraction is not None
        met = counted(self._num_infosets, "information state")
        return f"{title(self.game)}, {met}{', with an abstraction' * abstracted}"

    @never_raises
    def __repr__(self) -> str:
        return line(self, str(self))

    @never_raises
    def _repr_html_(self) -> str:
        tree = self.tree
        basis = tree if 1 < getattr(tree, "num_nodes", 0) <= _FEW_NODES else None
        most = _ROWS_IN_NOTEBOOK
        rows = rows_of(tree, self.vector, self._num_infosets, basis, most)
        hidden = self._num_infosets - len(rows)
        note = f"{more_rows(hidden)}; see policy.table()" if hidden else ""
        return html_rows(tree.game, str(self), rows, note)

    # Not by inheritance: two policies are not equal because their numbers are.
    keys, values, items, get = Mapping.keys, Mapping.values, Mapping.items, Mapping.get

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return self._num_infosets

    def __iter__(self) -> Iterator[str]:
        return iter(self._unique)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._unique)

    def __contains__(self, info_state: object) -> bool:
        return isinstance(info_state, str) and self._number_of(info_state) is not None

    def __getitem__(self, info_state: str) -> dict[int, float]:
        """The probability of every legal action at an information state met.

        Args:
            info_state: the string. One that several players have is spelled as in
                `to_dict`: "player 0: " + string.

        Raises:
            KeyError: it was never met, or several players have it.
        """
        if not isinstance(info_state, str):
            raise KeyError(
                f"{info_state!r} is no information-state string; a state is looked up "
                "by policy.action_probabilities(state)."
            )
        infoset = self._number_of(info_state)
        if infoset is None:
            raise KeyError(self._why_missing(info_state))
        return self._row(infoset)

    def _row(self, infoset: int) -> dict[int, float]:
        _, start, _, size, _ = self._infosets[infoset].item()
        row = slice(start, start + size)
        actions, values = self._actions[row].tolist(), self.vector[row].tolist()
        return dict(zip(actions, values, strict=True))

    # A string that several players have stands for none of their infosets. Theirs are
    # "player 0: " + string, "player 1: " + string, and so on.

    @functools.cached_property
    def _shared(self) -> set[str]:
        """The strings that several players have at the infosets of the policy.

        The tree may have met more of them since.
        """
        if not self.tree.shared_strings:
            return set()
        return shared_by(self.info_states, self._infosets["player"])

    @functools.cached_property
    def _unique(self) -> list[str]:
        """`[I]` the strings, with their players where they are shared."""
        shared = self._shared
        if not shared:
            return self.info_states
        players = self._infosets["player"].tolist()
        return [
            owned(name, player) if name in shared else name
            for name, player in zip(self.info_states, players, strict=True)
        ]

    def _number_of(self, info_state: str) -> int | None:
        """The infoset that `_unique` has under a string; None if there is none."""
        owners = self._owners(info_state)
        if len(owners) == 1:
            return next(iter(owners.values()))
        owned_string = OWNED.fullmatch(info_state)
        if owners or owned_string is None:
            return None
        owners = self._owners(owned_string[2])
        return owners.get(int(owned_string[1])) if len(owners) > 1 else None

    def _owners(self, info_state: str) -> dict[int, int]:
        """The infosets with a string, by their players."""
        found = {
            player: self.tree.find(info_state, player)
            for player in range(self.tree.num_players)
        }
        return {p: n for p, n in found.items() if 0 <= n < self._num_infosets}

    def _why_missing(self, info_state: str) -> str:
        """Says why `_number_of` finds no infoset, and what was perhaps meant."""
        owners = self._owners(info_state)
        if owners:
            spelled = " or ".join(repr(owned(info_state, player)) for player in owners)
            return (
                f"More than one player has the information state {info_state!r}; ask "
                f"for {spelled}."
            )
        near = difflib.get_close_matches(info_state, self._unique[:_SEARCHED], n=3)
        hint = f" Near it: {', '.join(map(repr, near))}." if near else ""
        return (
            f"The policy for {brief(self.game)} has met no information state "
            f"{info_state!r}.{hint}"
        )

    # --- asking ------------------------------------------------------------

    @property
    def num_infosets(self) -> int:
        """The number of infosets met."""
        return self._num_infosets

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """The probability of every legal action at a state.

        Args:
            state: a state in which a player is to act.
            player_id: the player whose policy is asked for; needed if moves are
                simultaneous.

        Raises:
            ValueError: the state belongs to another game, no player acts there, or
                there is no such player.
        """
        self._check_game(state)
        if player_id is not None:
            player_id = refusals.player(player_id, self.tree.num_players, "player_id")
        if self.tree.abstraction is not None and not same_name(
            state.get_game(), self.turn_based_game
        ):
            raise ValueError(
                "The policy's abstraction reads states of "
                f"{brief(self.turn_based_game)}: ask with those, see "
                "pyspiel.convert_to_turn_based."
            )
        if state.is_simultaneous_node():
            if player_id is None:
                raise ValueError(
                    "All players act at this state; say whose policy is asked for "
                    "(player_id)."
                )
            acting, legal_actions = player_id, state.legal_actions(player_id)
        else:
            acting, legal_actions = state.current_player(), state.legal_actions()
            if acting < 0:
                raise ValueError(f"No player acts at the state {state.history()}.")
            if player_id not in (None, acting):
                return {0: 1.0}  # OpenSpiel's TabularPolicy answers the same
        if self.game is self.turn_based_game or _is_turn_based(state.get_game()):
            infoset = self.tree.find_at(state, acting)
        else:
            # The turn-based form asks a Python game's observer, not its own method.
            info_state = pyspiel.State.information_state_string(state, acting)
            info_state = _in_turn(acting, info_state)
            infoset = self.tree.find(info_state, acting)
        if not 0 <= infoset < self._num_infosets:
            return dict.fromkeys(legal_actions, 1 / len(legal_actions))
        row = self._row(infoset)
        if list(row) != list(legal_actions):
            raise ValueError(
                f"The policy knows {len(row)} legal actions at the information state "
                f"{self.tree.info_state(infoset)!r} of {brief(self.game)}, which has "
                f"{len(legal_actions)} ({[*row]} and {legal_actions}): the game's "
                "rules are not those that it was made for."
            )
        return row

    def to_tabular(self, states: Any = None) -> TabularPolicy:
        """The policy as OpenSpiel's TabularPolicy of all states of the game.

        OpenSpiel's own conversion fails for games with simultaneous moves. If several
        players have the same string, each has a row, see `table.TabularPolicy`.

        Args:
            states: a dictionary from history to state, as in TabularPolicy; None for
                all states of the game.
        """
        table = TabularPolicy(self.game, states=states)
        rows = table.action_probability_array
        rows[:] = 0
        for player, keys in enumerate(table.states_per_player):
            for row in map(table.state_lookup.__getitem__, keys):
                found = self.action_probabilities(table.states[row], player)
                rows[row, [*found]] = [*found.values()]
        return table

    def to_pyspiel(self) -> pyspiel.PartialTabularPolicy:
        """The policy for C++: a table of the states met, uniform at all others.

        C++ can answer uniformly for a state, not for its string alone:
        `pyspiel.nash_conv(game, policy, True)` asks by states.

        If the game has simultaneous moves, the table has both the game's strings and
        those of its turn-based form.

        Raises:
            ValueError: players share an information-state string, or the policy has an
                abstraction.
        """
        if self.tree.abstraction is not None:
            raise ValueError(
                "A C++ policy is a table of information states, which this policy does "
                "not go by: it has an abstraction. Use to_tabular()."
            )
        if self._shared:
            raise_shared(min(self._shared))
        table = {name: [*row.items()] for name, row in self.to_dict().items()}
        if self.game is not self.turn_based_game:
            for name, row in [*table.items()]:
                own = without_turn(name)
                if table.setdefault(own, row) is not row:
                    raise_shared(own)
        return pyspiel.PartialTabularPolicy(table)

    def policy_for_key(self, info_state: str) -> np.ndarray:
        """`[A]` the probabilities of all the game's actions at a string that was met.

        Raises:
            KeyError: the string was never met; the message says which are near it.
        """
        if info_state not in self.state_lookup:
            raise KeyError(self._why_missing(info_state))
        return self.action_probability_array[self.state_lookup[info_state]]

    def to_dict(self) -> dict[str, dict[int, float]]:
        """A dictionary information-state string -> action -> probability.

        It has the states that were met. A string that several players have becomes
        "player 0: " + string, "player 1: " + string, and so on.
        """
        return dict(zip(self._unique, map(self._row, range(len(self))), strict=True))

    @property
    def info_states(self) -> list[str]:
        """`[I]` the information-state strings met."""
        return self.tree.info_states[: self._num_infosets]

    @functools.cached_property
    def state_lookup(self) -> dict[str, int]:
        """A dictionary information-state string -> row of `action_probability_array`.

        Strings that players share are told apart as in `to_dict`.
        """
        return {name: number for number, name in enumerate(self._unique)}

    @functools.cached_property
    def legal_actions_mask(self) -> np.ndarray:
        """`[I, actions of the game]` 1 where an action is legal, else 0."""
        return (self._dense(np.ones_like(self.vector)) > 0).astype(int)

    @functools.cached_property
    def action_probability_array(self) -> np.ndarray:
        """`[I, actions of the game]` the probabilities; illegal actions have 0."""
        return self._dense(self.vector)

    def _dense(self, vector: np.ndarray) -> np.ndarray:
        table = np.zeros(
            (self._num_infosets, self.turn_based_game.num_distinct_actions())
        )
        counts = self._infosets["num_actions"]
        rows = np.repeat(np.arange(self._num_infosets), counts)
        sequences = np.arange(self.tree.num_players, len(vector))
        table[rows, self._actions[sequences]] = vector[sequences]
        return table

    def _check_game(self, state: pyspiel.State) -> None:
        if not isinstance(state, pyspiel.State):
            raise ValueError(f"{state!r} is not a state of {brief(self.game)}.")
        game = state.get_game()
        if game is self._last_game:
            return
        if not any(same_name(game, ours) for ours in (self.game, self.turn_based_game)):
            raise ValueError(
                f"This is a policy for {brief(self.game)}; the state is one of "
                f"{brief(game)}."
            )
        self._last_game = game

    def __copy__(self) -> "SequencePolicy":
        """Another policy of the same infosets with a vector of its own.

        Both share the tree, which is only a source of names.
        """
        copy = type(self).__new__(type(self))
        copy.__dict__ |= self.__dict__
        for name in _MADE_OF_VECTOR:
            copy.__dict__.pop(name, None)
        copy.vector = self.vector.copy()
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> "SequencePolicy":
        """Copies as `__copy__` does."""
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        names = names_of(self.tree, self._num_infosets, len(self.vector))
        return type(self), (names, self.vector)


def to_json(policy: SequencePolicy) -> dict[str, Any]:
    """A policy in the form that is written into a file, see `names.from_json`."""
    players: list[dict[str, Any]] = [{} for _ in range(policy.tree.num_players)]
    owners = policy._infosets["player"].tolist()
    for infoset, info_state in enumerate(policy.info_states):
        players[owners[infoset]][info_state] = policy._row(infoset)
    value = {"game": str(policy.game), "players": players}
    return value | {"sha256": digest_of(value)}


def _in_turn(player: int, info_state: str) -> str:
    """The string as OpenSpiel's turn-based form of the game spells it."""
    return f"Current player: {player}\n{info_state}"


def _is_turn_based(game: pyspiel.Game) -> bool:
    return game.get_type().short_name == "turn_based_simultaneous_game"


# --- any policy as something that answers states, and one policy for each player ------


class Answers:
    """Any policy, asked as OpenSpiel asks its policies in Python.

    Attributes:
        policy: an object with `action_probabilities`, or a dictionary
            information-state string -> action -> probability.
    """

    def __init__(self, policy: Any, game: pyspiel.Game | None = None) -> None:
        """Takes a policy of OpenSpiel's (Python's or pyspiel's), such as a
        SequencePolicy, or a dictionary, such as json.load makes of a `policy.json`:
        states that are missing in such a file were never met.

        Args:
            policy: any of these.
            game: what a file's policy must be for; by default what the file names.

        Raises:
            ValueError: it is none of these.
        """
        if isinstance(policy, Answers):
            policy = policy.policy
        policy = policy_of(policy)
        if is_of_file(policy):
            policy = SequencePolicy(*from_json(policy, game))
        elif isinstance(policy, dict):
            policy = with_int_actions(policy)
        elif isinstance(policy, np.ndarray):
            raise ValueError(
                f"{policy!r} is a vector over the sequences of a tree, which answers "
                "no states; give ms.SequencePolicy(tree, vector)."
            )
        elif not hasattr(policy, "action_probabilities"):
            raise ValueError(f"{policy!r} is not a policy that answers states.")
        self.policy = policy

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """The probability of every action at a state where a player acts.

        Raises:
            ValueError: the policy lacks the state.
        """
        player = state.current_player() if player_id is None else player_id
        if _is_turn_based(state.get_game()) and self._needs_simultaneous_states():
            state = state.simultaneous_game_state()
        if isinstance(self.policy, dict):
            # The dictionary may have the strings of a game with simultaneous moves or
            # those of its turn-based form.
            name = state.information_state_string(player)
            names = name, _in_turn(player, name), without_turn(name)
            return row_in(self.policy, names, player)
        if not isinstance(self.policy, pyspiel.Policy):
            try:
                return self.policy.action_probabilities(state, player)
            except KeyError as error:  # OpenSpiel's TabularPolicy
                raise ValueError(f"The policy lacks the state {error}.") from error
        if state.is_simultaneous_node():
            name = state.information_state_string(player)
            return dict(self.policy.action_probabilities(name))
        return dict(self.policy.action_probabilities(state))

    def needs_turns(self) -> bool:
        """Whether the policy answers only states of a turn-based form."""
        game, tree = (getattr(self.policy, name, None) for name in ("game", "tree"))
        is_of_turns = isinstance(game, pyspiel.Game) and _is_turn_based(game)
        return is_of_turns or getattr(tree, "abstraction", None) is not None

    def _needs_simultaneous_states(self) -> bool:
        """Whether the policy answers only states of a game with simultaneous moves."""
        game: Any = getattr(self.policy, "game", None)
        simultaneous = pyspiel.GameType.Dynamics.SIMULTANEOUS
        return (
            isinstance(game, pyspiel.Game)
            and game.get_type().dynamics == simultaneous
            and not hasattr(self.policy, "turn_based_game")
        )


def row_in(
    table: dict[str, dict[int, float]], names: Sequence[str], player: int
) -> dict[int, float]:
    """A player's row of a table, which may have the string of its state in several
    forms, told apart by player or not, and rows of pairs in place of dictionaries.

    Raises:
        ValueError: the table lacks the state, or its row is none.
    """
    for name in names:
        for key in (owned(name, player), name):
            if key in table:
                try:
                    return dict(table[key])
                except (TypeError, ValueError):
                    raise ValueError(
                        f"The policy has {table[key]!r} at the state {name!r}, in "
                        "place of a dictionary action -> probability."
                    ) from None
    raise ValueError(f"The policy lacks the state {names[0]!r}.")


def policy_of(solution: Any) -> Any:
    """The policy of a solution, such as `solve_lp` returns; other values unchanged."""
    policy = getattr(solution, "policy", None)
    return policy if isinstance(policy, SequencePolicy) else solution


def is_one_for_each(policies: Any) -> bool:
    """Whether a value is a list of policies, not a single policy."""
    return isinstance(policies, list | tuple)


def check_one_for_each(policies: Sequence[Any], game: pyspiel.Game) -> None:
    """Raises ValueError unless there are as many policies as players."""
    if len(policies) != game.num_players():
        raise ValueError(
            f"{len(policies)} policies for the {game.num_players()} players of "
            f"{brief(game)}: give one policy for all players, or a list with one for "
            "each."
        )


def of_each_player(policies: Any, game: pyspiel.Game) -> list[Answers]:
    """`[P]` the policy of each player.

    Args:
        policies: one policy for all players, or a list `[P]` with one for each.
        game: the game.

    Raises:
        ValueError: there are too many or too few, or one is no policy.
    """
    policies = policy_of(policies)
    if not is_one_for_each(policies):
        return [Answers(policies)] * game.num_players()
    check_one_for_each(policies, game)
    return [Answers(policy) for policy in policies]


# --- a policy as a bot, for OpenSpiel's own programs that play matches --------------


class SeatBot(pyspiel.Bot):
    """What OpenSpiel asks of every bot, for those that keep nothing of the others'
    moves.

    Attributes:
        player: the seat.
    """

    player: int

    def player_id(self) -> int:
        """The seat that the bot plays."""
        return self.player

    def provides_policy(self) -> bool:
        """Whether `get_policy` and `step_with_policy` work; always True."""
        return True

    def restart_at(self, state: pyspiel.State) -> None:
        """Begins a new match, as `restart` does, whatever the state."""
        self.restart()


class PolicyBot(SeatBot):
    """Plays one seat by drawing from a policy; `bot` makes one.

    It keeps nothing of a match but its generator, so it can be restarted at any state.
    """

    def __init__(self, policy: Any, player: int, *, seed: int = 0) -> None:
        """Makes a bot; arguments and errors are those of `bot`."""
        pyspiel.Bot.__init__(self)
        self._answers = Answers(policy)
        game: Any = getattr(self._answers.policy, "game", None)
        num_players = 2**31  # if the policy does not say for which game it is
        if hasattr(game, "num_players"):
            num_players = game.num_players()
        self.player = refusals.player(player, num_players)
        seed = refusals.integer(seed, "seed", 0)
        self._generator = np.random.Generator(np.random.PCG64([seed, self.player]))

    @property
    def policy(self) -> Any:
        """The policy that the bot plays by."""
        return self._answers.policy

    @never_raises
    def __repr__(self) -> str:
        words = one_line(str(self.policy), 100)
        if isinstance(self.policy, dict):
            words = f"a dictionary of {counted(len(self.policy), 'state')}"
        return line(self, f"player {self.player}", words)

    def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """The (action, probability) pairs of the policy at a state.

        Raises:
            ValueError: the policy gives no distribution over the legal actions.
        """
        found = self._answers.action_probabilities(state, self.player)
        legal = state.legal_actions(self.player)
        pairs = [(action, float(found.get(action, 0.0))) for action in legal]
        values = [value for _, value in pairs]
        if legal and not (abs(sum(values) - 1) < MOST_OFF and min(values) >= 0):
            raise ValueError(
                f"The policy of player {self.player} gives {found} at the state "
                f"{state}, whose legal actions are {legal}."
            )
        return pairs

    def step(self, state: pyspiel.State) -> int:
        """An action drawn from the policy."""
        return self.step_with_policy(state)[1]

    def step_with_policy(
        self, state: pyspiel.State
    ) -> tuple[list[tuple[int, float]], int]:
        """What `get_policy` returns, and an action drawn from it.

        The action is `pyspiel.INVALID_ACTION` where the player has nothing to do, at a
        node with simultaneous moves.
        """
        if not state.legal_actions(self.player):
            return [], pyspiel.INVALID_ACTION
        pairs = self.get_policy(state)
        values = [value for _, value in pairs]
        draw = self._generator.random()
        return pairs, pairs[plain_draw_action(values, 0, len(values), draw)][0]


def bot(policy: Any, player: int, *, seed: int = 0) -> PolicyBot:
    """A bot that plays a policy, for OpenSpiel's match runners.

        bots = [ms.bot(policy, 0), ms.bot(other, 1)]
        pyspiel.evaluate_bots(game.new_initial_state(), bots, seed=7)

    Args:
        policy: any policy that answers states: a SequencePolicy, OpenSpiel's policies,
            or a dictionary information-state string -> action -> probability.
        player: the seat.
        seed: an integer of at least 0. With the seat it determines the bot's draws.

    Raises:
        ValueError: an argument is out of range, or this is no policy.
    """
    return PolicyBot(policy, player, seed=seed)
