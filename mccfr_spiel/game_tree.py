"""pyspiel.Game -> GameTree: what is learned about the states, in flat arrays.

Numbering, on which every compiled loop rests:

- a node's children are contiguous and have larger numbers than the node;
- information sets ("infosets") are numbered by first visit, so that an ancestor comes
  before its descendants;
- a *sequence* is an (infoset, action) pair or a player's empty sequence; the empty ones
  come first (sequence p is player p's), an infoset's actions are contiguous.

`GameTree.expand` is the one step by which a tree grows; it holds whether the tree is
expanded whole or where a walk happens to go.
"""

import bisect
import difflib
import hashlib
import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import pyspiel

from mccfr_spiel.randomness import infoset_place
from mccfr_spiel.rules import BoundRules, rules_of

CHANCE_NODE = -1
UNEXPANDED = -3
TERMINAL = -4

NODE = np.dtype(
    {
        "names": ["first_child", "start", "infoset", "num_children", "player"],
        "formats": ["<i4", "<i4", "<i4", "<u2", "<i2"],
    }
)
"""A node, 16 bytes.

`player` is the one who acts, or CHANCE_NODE, TERMINAL, UNEXPANDED. The children are
`first_child .. first_child + num_children - 1`, in the order of `legal_actions()` or
`chance_outcomes()`. `start` is the infoset's first sequence at a decision, the first
entry in `chance_probs` at chance, the row of `utilities` at a terminal node.
"""

INFOSET = np.dtype(
    {
        "names": ["place", "first_sequence", "parent", "num_actions", "player"],
        "formats": ["<u8", "<i4", "<i4", "<i4", "<i4"],
    }
)
"""An infoset, 24 bytes: its place (see randomness.py), its first sequence, its player's
last sequence before it (`parent`), the number of its actions, its player."""

_pack_node = struct.Struct("<iiiHh").pack_into
_unpack_node = struct.Struct("<iiiHh").unpack_from
_unpack_place = struct.Struct("<Q").unpack_from
_pack_infoset = struct.Struct("<Qiiii").pack_into

DEFAULT_MAX_NODES = 80_000_000
"""Fits 8 GiB: about 100 bytes a node at the peak of an expansion through pyspiel."""

_BYTES_OF_INT = 32

_MOST_KEPT = 1000
_BYTES_OF_KEPT = 264
"""States from which histories are played again, and what Python needs for one."""

Abstraction = Callable[[pyspiel.State, int], str]
"""What a player is to know at a state, in place of its information-state string."""

MAX_CHILDREN = np.iinfo(np.uint16).max
MAX_INDEX = np.iinfo(np.int32).max


def load_game(game: pyspiel.Game | str) -> pyspiel.Game:
    """A game from its load string; a `pyspiel.Game` is returned as it is.

    Raises:
        ValueError: no game of that name is registered (the message names near ones),
            or its parameters are refused by OpenSpiel.
    """
    if isinstance(game, pyspiel.Game):
        return game
    if not isinstance(game, str):
        raise ValueError(f"{game!r} is neither a pyspiel.Game nor the name of one.")
    name = game.split("(", 1)[0].strip()
    names = pyspiel.registered_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=5)
        near += [
            other for other in names if name and name in other and other not in near
        ]
        hint = f" Near it: {', '.join(near[:8])}." if near else ""
        raise ValueError(
            f"OpenSpiel has no game named {name!r}.{hint} If it is a Python game, "
            "import the module that registers it first."
        )
    try:
        return pyspiel.load_game(game)
    except Exception as error:  # games raise what they like
        raise ValueError(
            f"OpenSpiel cannot load {game!r}: {error}{_parameters_hint(name)}"
        ) from error


def _parameters_hint(name: str) -> str:
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    parameters = kinds[name].parameter_specification
    return f". Its parameters: {', '.join(sorted(parameters))}." if parameters else ""


def turn_based(game: pyspiel.Game) -> pyspiel.Game:
    """The game itself, or its turn-based form where players move simultaneously.

    Raises:
        ValueError: the game is of a kind that cannot be solved from its tree.
    """
    kind = game.get_type()
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise ValueError(f"{game} is a mean field game: it has no finite game tree.")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise ValueError(
            f"{game} has sampled stochastic chance: it does not list its chance "
            "outcomes, so its tree cannot be known. Use a version with explicit chance."
        )
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(game)
    return game


def reserve(store: np.ndarray, size: int) -> np.ndarray:
    """`store`, or a copy with room for `size` rows: at least half as many again."""
    if size <= len(store):
        return store
    grown = np.zeros((max(size, len(store) * 3 // 2), *store.shape[1:]), store.dtype)
    grown[: len(store)] = store
    return grown


def _moves(state: pyspiel.State) -> Sequence[Any]:
    """What leads from a state, as `GameTree.expand` returns it."""
    return state.chance_outcomes() if state.is_chance_node() else state.legal_actions()


def _with_player(info_state: str, player: int) -> str:
    return f"\0{player}\0{info_state}"


def _without_player(name: str) -> str:
    return name.split("\0", 2)[2] if name[:1] == "\0" else name


def _origins_of(nodes: np.ndarray) -> np.ndarray:
    """`GameTree._origins` of a complete tree."""
    inner = np.flatnonzero(nodes["num_children"])
    origins = np.zeros(len(nodes), np.int32)
    origins[nodes["first_child"][inner]] = inner + 1
    return origins


class TreeFullError(ValueError):
    """A tree would have more than its `max_nodes` nodes."""


class GameTree:
    """A game's tree in arrays, grown node by node.

    Attributes:
        source: the game as it was given; `game` is its turn-based form.
        max_nodes, abstraction: as given.
        num_players, num_nodes: P and N below.
    """

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        max_nodes: int = DEFAULT_MAX_NODES,
        abstraction: Abstraction | None = None,
    ) -> None:
        """A tree of one unexpanded node, the root.

        With an abstraction, a player's information sets are the histories that the
        function gives one string. The player may forget: a string reached after
        different own moves makes an infoset for each, so that infosets keep one parent,
        and those of one string are *tied*: solvers give them one policy.

        Args:
            game: a game or its load string. Simultaneous moves become turns.
            max_nodes: the expansion stops with an error beyond this many nodes.
            abstraction: (state of `self.game`, player) -> string. States that it gives
                one string must have the same legal actions and must not lie on one
                history. It must read nothing that the player does not know.

        Raises:
            ValueError: `load_game` or `turn_based` refuse the game, or it has no
                information-state strings and there is no abstraction.
        """
        if not 1 <= max_nodes <= MAX_INDEX:
            raise ValueError(f"max_nodes={max_nodes} is not in 1 .. {MAX_INDEX}.")
        self.source = load_game(game)
        self.game = turn_based(self.source)
        kind = self.source.get_type()
        if abstraction is None and not kind.provides_information_state_string:
            raise ValueError(
                f"{self.source} gives no information-state string, by which solvers "
                "tell information sets apart "
                "(GameType.provides_information_state_string). Give an abstraction: a "
                "function (state, player) -> string, such as lambda state, player: "
                "state.history_str() where players see everything."
            )
        self.max_nodes = max_nodes
        self.abstraction = abstraction
        self.num_players: int = self.game.num_players()
        self.num_nodes = 1
        self._nodes = np.zeros(1024, NODE)
        self._nodes["player"] = UNEXPANDED
        self._origins = np.zeros(1024, np.int32)  # parent + 1 at each first child
        self._infosets = np.zeros(256, INFOSET)
        self._numbers: Any = {}  # dict[str, int], or the names of a whole Expansion
        self._parents: Any = array("i")  # these three are NumPy's in a whole Expansion
        self._starts: Any = array("i")
        self._legal_actions: list[list[int]] = []
        self._actions: Any = array("q", [-1] * self.num_players)
        self._action_lists: dict[tuple[int, ...], list[int]] = {}
        self._distributions: dict[tuple[float, ...], int] = {}
        self._chance_probs, self._chance_cdf = np.zeros(16), np.zeros(16)
        self._num_chance = 0
        self._outcomes: dict[tuple[float, ...], int] = {}
        self._utilities = np.zeros((16, self.num_players))
        self._info_states: list[str] = []
        self._rules = rules_of(self.game) if abstraction is None else None
        self._is_whole = False  # known without a look at the nodes
        self._ties = np.zeros((0, 3), np.int32)
        self._joined: dict[tuple[int, int], int] = {}  # (leader, parent) -> infoset
        self._kept: dict[int, tuple[pyspiel.State, list[int]]] = {}  # see state_at
        self.passes: Any = None  # made and kept by full_pass.full_pass
        self._keep(self._nodes, self._infosets, self._origins)

    def _keep(
        self, nodes: np.ndarray, infosets: np.ndarray, origins: np.ndarray
    ) -> None:
        room = min(len(nodes), self.max_nodes)
        buffers = nodes.view(np.uint8).data, infosets.view(np.uint8).data, origins.data
        # No call in between, where Ctrl-C could come.
        self._nodes, self._infosets, self._origins = nodes, infosets, origins
        self._node_bytes, self._infoset_bytes, self._origin_of = buffers
        self._room = room

    # --- what is known -----------------------------------------------------

    @property
    def num_infosets(self) -> int:
        """The infosets met."""
        return len(self._parents)

    @property
    def num_sequences(self) -> int:
        """The sequences of all players, empty ones included."""
        return len(self._actions)

    @property
    def nodes(self) -> np.ndarray:
        """`[N]` of dtype NODE."""
        return self._nodes[: self.num_nodes]

    @property
    def infosets(self) -> np.ndarray:
        """`[I]` of dtype INFOSET."""
        return self._infosets[: self.num_infosets]

    @property
    def ties(self) -> np.ndarray:
        """`[I, 3]` for each infoset its leader, which is the first that has its string,
        the next with its string and the infoset of its parent, -1 for none. `[0, 3]`
        without abstraction."""
        return self._ties[: self.num_infosets]

    @property
    def actions(self) -> np.ndarray:
        """`[S]` OpenSpiel's action of each sequence, -1 for the empty ones."""
        if isinstance(self._actions, np.ndarray):
            return self._actions
        return np.array(self._actions, np.int64)

    @property
    def chance_probs(self) -> np.ndarray:
        """`[C]` the chance distributions met, one after the other."""
        return self._chance_probs[: self._num_chance]

    @property
    def chance_cdf(self) -> np.ndarray:
        """`[C]` their running sums, 1 from the last possible outcome on."""
        return self._chance_cdf[: self._num_chance]

    @property
    def utilities(self) -> np.ndarray:
        """`[U, P]` the different vectors of returns met."""
        return self._utilities[: len(self._outcomes)]

    @property
    def is_complete(self) -> bool:
        """Whether every node has been expanded."""
        return self._is_whole or bool((self.nodes["player"] != UNEXPANDED).all())

    @property
    def info_states(self) -> list[str]:
        """`[I]` the information-state strings."""
        if len(self._info_states) != self.num_infosets:
            self._info_states = [_without_player(name) for name in self.names]
        return self._info_states

    @property
    def names(self) -> list[str]:
        """`[I]` the keys by which infosets are told apart: their strings, marked where
        another player had the same string before."""
        if self.abstraction is None:
            return list(self._numbers)
        of_leader = {leader: name for name, leader in self._numbers.items()}
        return [of_leader[leader] for leader in self.ties[:, 0].tolist()]

    @property
    def shared_strings(self) -> set[str]:
        """The information-state strings that more than one player has."""
        return {_without_player(name) for name in self._numbers if name[:1] == "\0"}

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        if isinstance(self._numbers, dict):
            return self.info_states[infoset]
        return self._numbers.info_state(infoset)

    def find(self, info_state: str, player: int | None = None) -> int:
        """The number of the infoset with that string, -1 if it was not met.

        Args:
            info_state: the information-state string.
            player: whose; needed only where players share a string.

        With an abstraction: the first of the infosets tied by that string.
        """
        infoset = self._numbers.get(info_state, -1)
        if player is None or infoset < 0:
            return infoset
        if self._infosets[infoset]["player"] == player:
            return infoset
        return self._numbers.get(_with_player(info_state, player), -1)

    @property
    def offers_rules(self) -> bool:
        """Whether the game has compiled rules, which expand it at compiled speed."""
        return self._rules is not None

    @property
    def is_repeatable(self) -> bool:
        """Whether it was made whole, by compiled rules or from a cache: `expand_all` of
        a new tree numbers everything alike."""
        return not isinstance(self._numbers, dict)

    def memory(self) -> dict[str, int]:
        """Bytes of `nodes`, `states`, `infosets` and `names`, as memory.Memory has
        them."""
        chance = 2 * self._chance_probs.nbytes + self._utilities.nbytes
        own = self._parents, self._starts, self._legal_actions, self._actions
        own += self._ties, self._joined
        names = sys.getsizeof(self._info_states)
        if isinstance(self._numbers, dict):
            names += sys.getsizeof(self._numbers) + _BYTES_OF_INT * self.num_infosets
            names += sum(map(sys.getsizeof, self._numbers))
        else:
            names += self._numbers.nbytes
        return {
            "nodes": self._nodes.nbytes + self._origins.nbytes + chance,
            "states": sys.getsizeof(self._kept) + _BYTES_OF_KEPT * len(self._kept),
            "infosets": self._infosets.nbytes + sum(map(sys.getsizeof, own)),
            "names": names,
        }

    def digest(self) -> str:
        """A hash of the infosets met, their players, pasts, names and actions."""
        digest = hashlib.blake2b(self.infosets.view(np.uint8).data, digest_size=16)
        digest.update(self.actions.view(np.uint8).data)
        return digest.hexdigest()

    def recall(
        self, names: list[str], infosets: np.ndarray, actions: np.ndarray
    ) -> None:
        """Takes over the infosets that a tree of the same game met, but no nodes.

        Args:
            names, infosets, actions: that tree's.
        """
        self._infosets = np.array(infosets, INFOSET)
        self._numbers = {}
        for number, name in enumerate(names):
            self._numbers.setdefault(name, number)
        self._parents = array("i", infosets["parent"].tobytes())
        self._starts = array("i", infosets["first_sequence"].tobytes())
        self._actions = array("q", actions.tobytes())
        self._legal_actions = []
        for _, start, _, count, _ in infosets.tolist():
            legal = self._actions[start : start + count].tolist()
            self._legal_actions.append(
                self._action_lists.setdefault(tuple(legal), legal)
            )
        self._keep(self._nodes, self._infosets, self._origins)
        if self.abstraction is not None:
            self._ties = np.zeros((len(names), 3), np.int32)
            for infoset, name in enumerate(names):
                self._tie(infoset, self._numbers[name], self._parents[infoset])

    def string_of(self, state: pyspiel.State, player: int) -> str:
        """The string by which this tree knows a state of `game` where a player acts."""
        if self.abstraction is None:
            return state.information_state_string(player)
        info_state = self.abstraction(state, player)
        if not isinstance(info_state, str):
            raise ValueError(
                f"The abstraction gives {info_state!r}, no string, for player {player} "
                f"at the state {state.history()} of {self.game}."
            )
        return info_state

    @property
    def storage(self) -> tuple[np.ndarray, ...]:
        """What holds `nodes`, `infosets`, `chance_probs`, `chance_cdf`, `utilities` and
        `ties`, with room to spare; each is another array when it has become larger."""
        return (
            self._nodes,
            self._infosets,
            self._chance_probs,
            self._chance_cdf,
            self._utilities,
            self._ties,
        )

    # --- growing -----------------------------------------------------------

    def new_state(self) -> pyspiel.State:
        """The root's state."""
        return self.game.new_initial_state()

    def expand_all(self, *, most: int | None = None) -> "GameTree":
        """Expands every node that is not, depth first; returns itself.

        Args:
            most: stop with an error beyond so many nodes already.

        Raises:
            TreeFullError: more than `most` or `max_nodes` nodes.
            ValueError: `expand` refuses a state.
        """
        if self.is_complete:
            return self
        most = self.max_nodes if most is None else min(most, self.max_nodes)
        if self._rules is not None and self.num_nodes == 1 and not self.num_infosets:
            self._expand_by_rules(self._rules, most)
            return self
        expand = self.expand
        node, state, sequences = 0, self.new_state(), list(range(self.num_players))
        stack: list[list[Any]] = []  # the child to come, the moves, and their node's
        while True:
            if self._nodes[node]["player"] == UNEXPANDED:
                moves, player, first, start, _ = expand(node, state, sequences)
                if self.num_nodes > most:
                    raise TreeFullError(f"{self.game} has more than {most} nodes.")
            else:
                moves = _moves(state)
                first, start, _, _, player = self._nodes[node].item()
            if moves:
                stack.append([0, moves, player, first, start, state, sequences])
            if not stack:
                return self
            child, moves, player, first, start, state, sequences = stack[-1]
            move = moves[child] if player >= 0 else moves[child][0]
            if child + 1 == len(moves):  # nobody needs the parent's any more
                stack.pop()
                state.apply_action(move)
            else:
                stack[-1][0] = child + 1
                state = state.child(move)
                sequences = sequences.copy()
            if player >= 0:
                sequences[player] = start + child
            node = first + child

    def _expand_by_rules(self, rules: BoundRules, most: int) -> None:
        """`expand_all` from the root at compiled speed, with equal results."""
        from mccfr_spiel.rules_expansion import expand_rules

        self.take_over(expand_rules(rules, most))

    def take_over(self, whole: Any) -> None:
        """Becomes the whole tree of a `rules_expansion.Expansion`, not a copy of it."""
        self.num_nodes = len(whole.nodes)
        self._nodes = whole.nodes
        self._origins = np.zeros(0, np.int32)  # until somebody asks
        self._infosets = whole.infosets
        self._numbers = whole.names
        self._parents = whole.infosets["parent"]
        self._starts = whole.infosets["first_sequence"]
        self._actions = whole.actions
        self._chance_probs = np.ascontiguousarray(whole.chance_probs)
        self._chance_cdf = np.ascontiguousarray(whole.chance_cdf)
        self._num_chance = len(self._chance_probs)
        self._distributions = whole.distributions
        self._utilities = whole.utilities
        self._outcomes = {
            tuple(u): row for row, u in enumerate(whole.utilities.tolist())
        }
        self._keep(self._nodes, self._infosets, self._origins)
        self._is_whole = True

    def state_at(self, node: int) -> tuple[pyspiel.State, list[int]]:
        """A node's state, and each player's last sequence before it `[P]`.

        Its history is played again from the last state on it that is kept, or from the
        root. The next one comes to be kept, too, so that soon those are where many
        walks pass.
        """
        if len(self._origins) < self.num_nodes:  # taken over
            self._keep(self._nodes, self._infosets, _origins_of(self.nodes))
        origin_of, kept = self._origin_of, self._kept
        path = []
        while node and node not in kept:
            path.append(node)
            while not origin_of[node]:  # up to the first of its siblings
                node -= 1
            node = origin_of[node] - 1
        if node:
            state, sequences = kept[node]
            state, sequences = state.clone(), sequences.copy()
        else:  # a copy would be as dear, and of a Python game perhaps wrong
            state, sequences = self.new_state(), list(range(self.num_players))
        is_next = len(kept) < _MOST_KEPT
        for below in reversed(path):
            first, start, _, _, player = _unpack_node(self._node_bytes, 16 * node)
            child = below - first
            if player >= 0:
                sequences[player] = start + child
                state.apply_action(int(self._actions[start + child]))
            else:
                state.apply_action(state.chance_outcomes()[child][0])
            node = below
            if is_next:
                kept[node] = state.clone(), sequences.copy()
                is_next = False
        return state, sequences

    def forget_nodes(self) -> None:
        """Drops all nodes; what is known of infosets, chance and returns stays."""
        if self.num_infosets and not self._legal_actions:  # taken over
            _, start, _, count, _ = zip(*self.infosets.tolist(), strict=True)
            pairs = zip(start, count, strict=True)
            self._legal_actions = [self._actions[s : s + n].tolist() for s, n in pairs]
        self._is_whole = False
        self._kept = {}
        self._nodes["player"] = UNEXPANDED  # first: Ctrl-C may come in between
        origins = np.zeros(len(self._nodes), np.int32)
        self._keep(self._nodes, self._infosets, origins)
        self.num_nodes = 1
        self.passes = None

    def expand(
        self, node: int, state: pyspiel.State, sequences: Sequence[int]
    ) -> tuple[Sequence[Any], int, int, int, int]:
        """Writes the record of one node and reserves its children.

        Args:
            node: an unexpanded node.
            state: its state, which is only read.
            sequences: `[P]` each player's last sequence before it.

        Returns:
            What leads to its children, in order: actions, or (action, probability)
            pairs at a chance node; and of its record `player`, `first_child`, `start`,
            `infoset`.

        Raises:
            ValueError: the tree is full, or the state breaks perfect recall.
        """
        player = state.current_player()
        if player >= 0:
            if self.abstraction is None:
                info_state = state.information_state_string()
            else:
                info_state = self.string_of(state, player)
            actions = state.legal_actions()
            infoset = self._numbers.get(info_state, -1)
            parent = sequences[player]
            if infoset < 0:
                place = self.place(info_state, player, state)
                infoset = self._add_infoset(info_state, player, parent, actions, place)
            elif (
                self._parents[infoset] != parent  # which tells the player, too
                or self._legal_actions[infoset] != actions
            ):
                infoset = self._meet(info_state, state, parent, actions)
            start = self._starts[infoset]
        elif player == CHANCE_NODE:
            infoset = -1
            actions = state.chance_outcomes()
            probs = tuple([prob for _, prob in actions])
            start = self._distributions.get(probs, -1)
            if start < 0:
                start = self._add_distribution(probs)
        elif player == TERMINAL:
            returns = tuple(state.returns())
            row = self._outcomes.get(returns, -1)
            if row < 0:
                row = self._add_outcome(returns)
            _pack_node(self._node_bytes, 16 * node, 0, row, -1, 0, TERMINAL)
            return (), TERMINAL, 0, row, -1
        else:
            raise ValueError(
                f"{self.game} has a state where player {player} acts, which is "
                f"neither a player, chance nor the end: {state}"
            )
        count = len(actions)
        first = self.num_nodes
        if first + count > self._room:
            self._reserve_nodes(first + count)
        # In this order Ctrl-C may come in between.
        self._origin_of[first] = node + 1
        self.num_nodes = first + count
        _pack_node(self._node_bytes, 16 * node, first, start, infoset, count, player)
        return actions, player, first, start, infoset

    def _reserve_nodes(self, size: int) -> None:
        if size > self.max_nodes:
            raise TreeFullError(
                f"{self.game} needs more than max_nodes={self.max_nodes} nodes at "
                "once. Raise max_nodes if memory allows (16 bytes a node here, up to "
                "100 while it is expanded), or use external or outcome sampling, which "
                "keep only what they meet."
            )
        nodes = reserve(self._nodes, size)
        nodes["player"][len(self._nodes) :] = UNEXPANDED
        self._keep(nodes, self._infosets, reserve(self._origins, len(nodes)))

    def infoset_place(self, infoset: int) -> int:
        """The place (see randomness.py) of an infoset met."""
        return _unpack_place(self._infoset_bytes, INFOSET.itemsize * infoset)[0]

    def place(self, info_state: str, player: int, state: pyspiel.State) -> int:
        """The place (see randomness.py) of a state's infoset, met or not."""
        if self._rules is None:
            return infoset_place(player, info_state)
        from mccfr_spiel.rules_expansion import key_place

        return key_place(player, self._rules.info_key(state.vector, player))

    def _meet(
        self, info_state: str, state: pyspiel.State, parent: int, actions: list[int]
    ) -> int:
        """The number of an infoset that is new, or not as its string was met before."""
        player = state.current_player()
        name = info_state
        infoset = self._numbers.get(name, -1)
        if infoset >= 0 and self._infosets[infoset]["player"] != player:
            # Some of OpenSpiel's games give two players one string.
            name = _with_player(info_state, player)
            infoset = self._numbers.get(name, -1)
        if infoset < 0:
            place = self.place(info_state, player, state)
            return self._add_infoset(name, player, parent, actions, place)
        where = f"the information state {info_state!r} of {self.game}"
        if self._legal_actions[infoset] != actions:
            raise ValueError(
                f"Two states with {where} have different legal actions: "
                f"{self._legal_actions[infoset]} and {actions}."
            )
        if self._parents[infoset] != parent and self.abstraction is not None:
            joined = self._joined.get((infoset, parent), -1)
            if joined >= 0:
                return joined
            self._check_not_above(infoset, parent, where)
            place = self.infoset_place(infoset)
            return self._add_infoset(name, player, parent, actions, place)
        if self._parents[infoset] != parent:
            raise ValueError(
                f"Player {player} reaches {where} after different own pasts (own moves "
                "or what was seen between them): the game has imperfect recall, for "
                "which these solvers have no guarantee. Use information states that "
                "remember all that the player did and saw, or give the solver "
                "abstraction=pyspiel.State.information_state_string to try it all the "
                "same."
            )
        return infoset

    def _add_infoset(
        self,
        name: str,
        player: int,
        parent: int,
        actions: list[int],
        place: int,
    ) -> int:
        if not actions:
            raise ValueError(
                f"{self.game} gives player {player} no legal action at the "
                f"information state {name!r}."
            )
        count = len(actions)
        if count > MAX_CHILDREN:
            self._refuse_children(count)
        infoset, num_sequences = len(self._parents), len(self._actions)
        if infoset >= len(self._infosets):
            infosets = reserve(self._infosets, infoset + 1)
            self._keep(self._nodes, infosets, self._origins)
        _pack_infoset(
            self._infoset_bytes,
            INFOSET.itemsize * infoset,
            place,
            num_sequences,
            parent,
            count,
            player,
        )
        try:
            self._parents.append(parent)
            self._legal_actions.append(
                self._action_lists.setdefault(tuple(actions), actions)
            )
            self._actions.extend(actions)
            self._starts.append(num_sequences)
            leader = self._numbers.setdefault(name, infoset)
            if self.abstraction is not None:
                self._ties = reserve(self._ties, infoset + 1)
                self._tie(infoset, leader, parent)
        except KeyboardInterrupt:  # all of it or nothing
            del self._parents[infoset:], self._legal_actions[infoset:]
            del self._actions[num_sequences:], self._starts[infoset:]
            if self._numbers.get(name) == infoset:
                del self._numbers[name]
            if self._joined.get((self._numbers.get(name, -1), parent)) == infoset:
                self._untie(infoset, self._numbers[name], parent)
            raise
        return infoset

    def _tie(self, infoset: int, leader: int, parent: int) -> None:
        above = self._owner(parent)
        self._ties[infoset] = leader, -1, above
        if infoset != leader:
            self._joined[leader, parent] = infoset
            self._ties[infoset, 1] = self._ties[leader, 1]
            self._ties[leader, 1] = infoset

    def _untie(self, infoset: int, leader: int, parent: int) -> None:
        del self._joined[leader, parent]
        if self._ties[leader, 1] == infoset:
            self._ties[leader, 1] = self._ties[infoset, 1]

    def _owner(self, sequence: int) -> int:
        """The infoset of a sequence, -1 for an empty one."""
        return bisect.bisect_right(self._starts, sequence) - 1

    def _check_not_above(self, leader: int, parent: int, where: str) -> None:
        """Raises ValueError if one tied to `leader` is on the way to `parent`."""
        above = self._owner(parent)
        while above >= 0:
            if self._ties[above, 0] == leader:
                raise ValueError(
                    f"One history meets {where} twice (absentmindedness): the "
                    "abstraction must tell a player's earlier states from later ones."
                )
            above = self._ties[above, 2]

    def _refuse_children(self, count: int) -> NoReturn:
        raise ValueError(
            f"{self.game} has a node with {count} children; at most {MAX_CHILDREN} "
            "fit. Split the move into two."
        )

    def _add_distribution(self, probs: tuple[float, ...]) -> int:
        values = np.array(probs, np.float64)
        if not (values >= 0).all() or abs(values.sum() - 1) > 1e-6:
            raise ValueError(
                f"{self.game} has a chance node whose probabilities are no "
                f"distribution: {probs}"
            )
        if len(probs) > MAX_CHILDREN:
            self._refuse_children(len(probs))
        start = self._num_chance
        stop = self._num_chance = start + len(probs)
        self._chance_probs = reserve(self._chance_probs, stop)
        self._chance_cdf = reserve(self._chance_cdf, stop)
        self._chance_probs[start:stop] = values
        self._chance_cdf[start:stop] = np.cumsum(values)
        last = start + np.flatnonzero(values)[-1]
        self._chance_cdf[last:stop] = 1  # rounding leaves no gap
        self._distributions[probs] = start
        return start

    def _add_outcome(self, returns: tuple[float, ...]) -> int:
        if not np.isfinite(returns).all():
            raise ValueError(
                f"{self.game} has a terminal state with returns {returns}."
            )
        row = len(self._outcomes)
        self._utilities = reserve(self._utilities, row + 1)
        self._utilities[row] = returns
        self._outcomes[returns] = row
        return row
