"""What a tree tells about itself: its parts, its arrays, its limits.

A `ReadableTree` can be asked but not grown, which `game_tree.GameTree` adds.
What it consists of, in numbers, is a `TreeDescription`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyspiel

from mccfr_spiel.common import display, limits, refusals
from mccfr_spiel.common.arrays import CHANCE_NODE, MAX_INDEX, TERMINAL, UNEXPANDED
from mccfr_spiel.common.display import brief, counted, never_raises, title
from mccfr_spiel.kernels.randomness import infoset_place
from mccfr_spiel.kernels.regret_pruning import Ceilings
from mccfr_spiel.kernels.tables import Blocks, Passes, TreeArrays
from mccfr_spiel.rules.description import (
    BoundRules,
    declared_by,
    rules_of,
    tell_history,
)
from mccfr_spiel.rules.game import RulesState
from mccfr_spiel.rules.kernel import key_place
from mccfr_spiel.rules.store import RuleStore
from mccfr_spiel.tree import loading, whole
from mccfr_spiel.tree.infosets import InfosetNames, Infosets, KeyNames, MetNames
from mccfr_spiel.tree.lock import TreeLock, reads
from mccfr_spiel.tree.nodes import Distributions, Nodes, Payoffs
from mccfr_spiel.worlds.histories import Histories, SlicedPass
from mccfr_spiel.worlds.passes import AnyWorlds
from mccfr_spiel.worlds.places import Places

# --- what a tree consists of, in numbers: `GameTree.describe` returns it --------------


class TreeDescription(NamedTuple):
    """The parts of a tree, as far as it is expanded.

    Attributes:
        game: the title of the game.
        num_nodes: all nodes; the next three and `unexpanded_nodes` add up to them.
        decision_nodes: where a player acts.
        chance_nodes: where chance acts.
        terminal_nodes: where the game ends.
        unexpanded_nodes: known to be there, but not looked at yet; 0 in a whole tree.
        depth: the moves in the longest history, chance's included.
        infosets: the number of each player's infosets met.
        sequences: the number of each player's sequences, the empty one included.
        memory: the bytes that the tree, and what is made of it, have taken of
            `max_memory`.
        players: names of the players.
    """

    game: str
    num_nodes: int
    decision_nodes: int
    chance_nodes: int
    terminal_nodes: int
    unexpanded_nodes: int
    depth: int
    infosets: tuple[int, ...]
    sequences: tuple[int, ...]
    memory: int
    players: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every node has been expanded."""
        return self.unexpanded_nodes == 0

    def __str__(self) -> str:
        """The title of the game and a line for each number."""
        return (
            f"{self._heading()}\n{display.text_table(('', ''), self._rows(), {1})[1:]}"
        )

    @never_raises
    def __repr__(self) -> str:
        """The same as `str`, which shows the numbers."""
        return str(self)

    @never_raises
    def _repr_html_(self) -> str:
        return display.html_table(("", ""), self._rows(), {1}, caption=self._heading())

    def _heading(self) -> str:
        return (
            f"{brief(self.game)}: "
            f"{'the whole tree' if self.is_complete else 'as far as met'}"
        )

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("nodes", f"{self.num_nodes:,}"),
            ("  decision nodes", f"{self.decision_nodes:,}"),
            ("  chance nodes", f"{self.chance_nodes:,}"),
            ("  terminal nodes", f"{self.terminal_nodes:,}"),
        ]
        if self.unexpanded_nodes:
            rows.append(("  not expanded yet", f"{self.unexpanded_nodes:,}"))
        rows.append(("depth", counted(self.depth, "move")))
        for name, counts in (
            ("infosets", self.infosets),
            ("sequences", self.sequences),
        ):
            rows.append((name, f"{sum(counts):,}"))
            pairs = zip(self.players, counts, strict=True)
            rows += [(f"  {player}", f"{count:,}") for player, count in pairs]
        rows.append(("memory", limits.in_words(self.memory)))
        return rows


# --- what a tree tells about itself: its parts, its arrays, its limits ----------------


DEFAULT_MAX_NODES = 80_000_000
"""Fits 8 GiB: about 100 bytes a node at the peak of an expansion through pyspiel."""

Abstraction = Callable[[pyspiel.State, int], str]
"""A function that gives what a player shall know at a state, as a string that replaces
the information-state string."""

_FEW_NODES = 1_000_000
"""The largest tree of which a repr checks that every node is expanded."""


def completed_rounds(state: pyspiel.State, player: int) -> str:
    """The moves of all completed rounds, as an abstraction for games without strings.

        ms.Solver("markov_soccer", abstraction=ms.completed_rounds)

    It is right where players see everything except the simultaneous moves of the
    current round, and all moves where players move in turn. `state.history_str()` is
    not: a turn-based form also lists the moves that others made in the current round.

    Args:
        state: a state of the game, or of its turn-based form.
        player: ignored, because all players see the same.

    Raises:
        ValueError: a wrapper hides the turn-based form, whose rounds are then unknown.
    """
    if hasattr(state, "simultaneous_game_state"):
        return state.simultaneous_game_state().history_str()
    if "turn_based_simultaneous_game(" in str(state.get_game()):
        raise ValueError(
            f"completed_rounds cannot tell the rounds of {brief(state.get_game())}. "
            "Wrap the game before it becomes turn-based."
        )
    return state.history_str()


def reader_of(abstraction: Abstraction | None) -> Abstraction:
    """The function that gives the strings of a tree with this abstraction.

    `pyspiel.State.information_state_string` stands for a game's own strings.
    """
    if abstraction in (None, pyspiel.State.information_state_string):
        return loading.own_string
    return abstraction


LEAVES, BLOCKS = "the leaves of a pass", "the blocks of a pass in threads"
CEILINGS = "the ceilings of regret-based pruning"
"""Names of things made of a complete tree, under which its budget holds their bytes."""


class ReadableTree:
    """A game's tree in arrays, as far as it has been expanded.

    Any thread may call any method; it waits for its turn.

    Attributes:
        source: the game as it was given; `game` is its turn-based form.
        budget: the bytes that the tree and what is made of it may take.
        max_nodes, abstraction: as given.
        num_players: P.
        lock: the lock that every method takes while it runs.
        rules: the game's compiled rules, by which the tree can be expanded at compiled
            speed; None if it has none, or there is an abstraction.
        rule_store: where walks over these rules keep the infosets that they meet; None
            if no solver makes such walks, see `GameTree.walk_rules`.
        worlds: the worlds of the game, or what is known of its histories, for a tree
            that keeps no nodes but knows all infosets, see `GameTree.find_worlds`; else
            None.
        start_pass: begins a pass in slices, if passes go over its histories or make
            worlds again, see `worlds.finding.Found`; else None.

    The stores, which nothing but the tree changes:
        declared: what the game says of itself.
        met: the infosets.
        node_store: the nodes.
        distributions: those of chance.
        payoffs: the returns at terminal nodes.
    """

    def __init__(
        self,
        game: pyspiel.Game | str,
        max_nodes: int,
        max_memory: limits.MaxMemory,
        abstraction: Abstraction | None,
    ) -> None:
        """Makes a tree of one unexpanded node, as `GameTree` describes it."""
        if refusals.integer(max_nodes, "max_nodes", 1) > MAX_INDEX:
            raise ValueError(f"max_nodes={max_nodes!r} is not in 1 .. {MAX_INDEX}.")
        if abstraction is not None:
            kind = "(state, player) -> string"
            refusals.function(abstraction, "abstraction", kind)
        self.source = loading.load_game(game)
        self.game = loading.turn_based(self.source)
        self._read = reader_of(abstraction)
        if self._read is loading.own_string:
            loading.check_strings(self.source, abstraction)
        self.max_nodes = int(max_nodes)
        self.budget = limits.make_budget(max_memory)
        self.abstraction = abstraction
        self.num_players: int = self.game.num_players()
        self.lock = TreeLock()
        self.rules: BoundRules | None = None
        if abstraction is None:
            self.rules = rules_of(self.game)
        self.rule_store: RuleStore | None = None
        self.worlds: AnyWorlds | Histories | Places | None = None
        self.start_pass: Callable[[np.ndarray, range], SlicedPass] | None = None
        self.declared = declared_by(self.game)
        self.met = Infosets(
            self.game,
            self.num_players,
            self.budget,
            may_forget=abstraction is not None,
        )
        self.node_store = Nodes(self.game, self.max_nodes, self.budget, self.met)
        self.distributions = Distributions(self.declared.name, self.budget)
        self.payoffs = Payoffs(self.declared, self.budget)
        self._kept: dict[str, Any] = {}  # made of the complete tree, by its name

    # --- how it looks --------------------------------------------------------

    @never_raises
    def __repr__(self) -> str:
        return display.line(
            self,
            title(self.source),
            counted(self.num_nodes, "node"),
            counted(self.num_infosets, "infoset"),
            self._completeness(),
            "" if self.abstraction is None else "with an abstraction",
        )

    def _completeness(self) -> str:
        if isinstance(self.worlds, Histories):
            return f"{self.worlds.size[1]:,} histories"
        if self.worlds is not None:
            return f"{self.worlds.num_worlds:,} worlds"
        if self.rule_store is not None:
            return "no nodes kept"
        if not self.num_infosets:
            return "nothing expanded yet"
        if self.num_nodes > _FEW_NODES:
            return ""
        return "complete" if self.is_complete else "as far as met"

    @never_raises
    def _repr_html_(self) -> str:
        if self.num_nodes > _FEW_NODES:
            return display.html_line(repr(self))
        return self.describe()._repr_html_()

    @reads
    def describe(self) -> TreeDescription:
        """The tree in numbers: nodes by kind, depth, each player's infosets and
        sequences, memory. It takes about a tenth of a second for a million nodes.
        """
        nodes, infosets = self.nodes, self.infosets
        players, acting = range(self.num_players), nodes["player"]
        owners, sizes = infosets["player"], infosets["num_actions"]
        return TreeDescription(
            game=title(self.source),
            num_nodes=len(nodes),
            decision_nodes=int((acting >= 0).sum()),
            chance_nodes=int((acting == CHANCE_NODE).sum()),
            terminal_nodes=int((acting == TERMINAL).sum()),
            unexpanded_nodes=int((acting == UNEXPANDED).sum()),
            depth=whole.depth_of(nodes),
            infosets=tuple(int((owners == p).sum()) for p in players),
            sequences=tuple(1 + int(sizes[owners == p].sum()) for p in players),
            memory=self.budget.taken,
            players=tuple(display.player_name(self.game, p) for p in players),
        )

    # --- what is known -----------------------------------------------------

    @property
    def num_nodes(self) -> int:
        """N, the nodes there are."""
        return self.node_store.count

    @property
    def num_infosets(self) -> int:
        """I, the infosets met."""
        return len(self.met.parents)

    @property
    def num_sequences(self) -> int:
        """S, the sequences of all players, empty ones included."""
        return len(self.met.actions)

    @property
    def generation(self) -> int:
        """How often all nodes were dropped, after which a number means another node."""
        return self.node_store.generation

    def sizes(self) -> tuple[int, int]:
        """`num_infosets` and `num_sequences`."""
        met = self.met
        return len(met.parents), len(met.actions)

    @property
    def nodes(self) -> np.ndarray:
        """`[N]` of dtype NODE."""
        return self.node_store.used()

    @property
    def infosets(self) -> np.ndarray:
        """`[I]` of dtype INFOSET."""
        return self.met.used()

    @property
    @reads
    def actions(self) -> np.ndarray:
        """`[S]` OpenSpiel's action of each sequence, -1 for the empty ones."""
        return self.met.action_array()

    @property
    def chance_probs(self) -> np.ndarray:
        """`[C]` the chance distributions met, one after the other."""
        count = self.distributions.count  # first: another thread may enlarge both
        return self.distributions.probs[:count]

    @property
    def chance_cdf(self) -> np.ndarray:
        """`[C]` their running sums, 1 from the last possible outcome on."""
        count = self.distributions.count
        return self.distributions.cdf[:count]

    @property
    @reads
    def chance_starts(self) -> np.ndarray:
        """`[D]` where each distribution begins in `chance_probs`, ascending."""
        return np.array(sorted(self.distributions.starts.values()), np.int64)

    @property
    def utilities(self) -> np.ndarray:
        """`[U, P]` the different vectors of returns met."""
        count = len(self.payoffs.rows)
        return self.payoffs.values[:count]

    @property
    def arrays(self) -> TreeArrays:
        """What kernels read of the tree, as it is now."""
        return TreeArrays(
            nodes=self.nodes,
            infosets=self.met.used(),
            chance_probs=self.chance_probs,
            chance_cdf=self.chance_cdf,
            utilities=self.utilities,
        )

    @property
    def storage(self) -> tuple[np.ndarray, ...]:
        """The same arrays with room to spare, not trimmed to what is used; an array
        that has become larger is another one."""
        met, chance = self.met, self.distributions
        return (
            self.node_store.records,
            met.records,
            chance.probs,
            chance.cdf,
            self.payoffs.values,
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuses `copy` and `pickle`.

        Raises:
            TypeError: always. A copy would share what the tree writes its nodes into.
        """
        raise TypeError(
            f"A GameTree (of {brief(self.source)}) is neither copied nor pickled. Make "
            "another with GameTree(game), or take it from disk with cached_tree(game). "
            "Solvers and policies can be copied and pickled."
        )

    @property
    def is_complete(self) -> bool:
        """Whether every node has been expanded."""
        return self.node_store.are_complete

    @property
    def store(self) -> str:
        """What passes read: "tree", its nodes; "worlds"; or "none", the rules."""
        if self.worlds is None:
            return "tree"
        return "none" if isinstance(self.worlds, Histories) else "worlds"

    @property
    def has_all_infosets(self) -> bool:
        """Whether the tree knows every infoset: it is complete, or has worlds."""
        return self.worlds is not None or self.is_complete

    @property
    @reads
    def info_states(self) -> list[str]:
        """`[I]` the information-state strings."""
        return self.met.strings()

    @property
    def infoset_names(self) -> InfosetNames:
        """The store of the infosets' names."""
        return self.met.names

    @property
    @reads
    def shared_strings(self) -> set[str]:
        """The information-state strings that more than one player has."""
        return self.met.names.shared()

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        if not 0 <= infoset < self.num_infosets:
            raise IndexError(
                f"There is no infoset {infoset} among {self.num_infosets}."
            )
        return self.met.names.info_state(infoset)

    def find(self, info_state: str, player: int | None = None) -> int:
        """The number of the infoset with that string, -1 if it was not met.

        Args:
            info_state: the information-state string.
            player: whose; needed only where players share a string.
        """
        return self.met.names.find(info_state, player)

    def find_at(self, state: pyspiel.State, player: int) -> int:
        """The number of the infoset of a state where a player acts, -1 if not met.

        As `find` of the state's string, but infosets of compiled rules are found by
        their keys, which needs no index of strings.
        """
        names = self.met.names
        if isinstance(state, RulesState) and isinstance(names, KeyNames):
            return names.find_key(player, state.rules.info_key(state.vector, player))
        return self.find(self.string_of(state, player), player)

    @property
    def is_repeatable(self) -> bool:
        """Whether the tree was made whole, by compiled rules or from a cache, so that
        `expand_all` of a new tree numbers everything alike."""
        is_met = isinstance(self.met.names, MetNames)  # one by one
        return not is_met and self.rule_store is None

    @reads
    def digest(self) -> str:
        """A hash of the infosets met, their players, pasts, names and actions."""
        return self.met.digest()

    def first_nodes(self) -> np.ndarray:
        """`[I]` the first node of each infoset; -1 for one that has none now."""
        nodes, found = self.nodes, np.full(self.num_infosets, -1, np.int64)
        deciding = np.flatnonzero(nodes["player"] >= 0)[::-1]
        found[nodes["infoset"][deciding]] = deciding  # the last to be written stays
        return found

    def new_state(self) -> pyspiel.State:
        """The root's state."""
        return self.game.new_initial_state()

    def string_of(self, state: pyspiel.State, player: int) -> str:
        """The string by which this tree knows a state of `game` where a player acts."""
        if self.abstraction is None:
            player = refusals.player(player, self.num_players)
            return self._read(state, player)
        info_state = self._read(state, player)
        if not isinstance(info_state, str):
            raise ValueError(
                f"The abstraction gives {info_state!r}, no string, for player {player} "
                f"at the state {state.history()} of {brief(self.game)}."
            )
        return info_state

    def place(self, info_state: str, player: int, state: pyspiel.State) -> int:
        """The place (see kernels/randomness.py) of a state's infoset, met or not."""
        rules = self.rules if self.rule_store is None else self.rule_store.rules
        if rules is None:
            return infoset_place(player, info_state)
        vector = getattr(state, "vector", None)
        if vector is None:  # a state of OpenSpiel's game, over whose twin walks go
            vector = rules.state_after(state.history())
        return key_place(player, rules.info_key(vector, player))

    # --- how large it may become -------------------------------------------

    @property
    def declared_length(self) -> int:
        """The most moves in a history, chance's included, by the game's own words."""
        return loading.declared_length(self.game)

    @property
    def longest_history(self) -> int:
        """The moves beyond which a history is taken for endless."""
        return loading.longest_history(self.game)

    def check_length(self, state: pyspiel.State) -> None:
        """Raises ValueError if a history is far longer than the game says it can be."""
        loading.check_length(self.game, len(state.history()), brief(self.source))

    def is_surely_larger_than(self, most: int) -> bool:
        """Whether random histories leave no doubt that the whole tree has more nodes
        than that; it is found out in at most about half a second."""
        try:
            self.refuse_if_larger(most)
        except limits.TreeFullError:
            return True
        return False

    def refuse_if_larger(self, most: int) -> None:
        """Raises TreeFullError or MemoryBudgetError if there is no such doubt, and
        ValueError if a history does not end."""
        fit = min(most, self.max_nodes, self.budget.limit / limits.NODE_BYTES)
        error = limits.refusal(self.forecast(fit), str(self.source), most, self.budget)
        if error is not None:
            raise error

    def forecast(self, most: float | None = None) -> limits.Forecast:
        """Estimates the whole tree by some random histories, in about half a second.

        Args:
            most: how many nodes fit, see `limits.forecast`; None: as many as
                `max_nodes` and `max_memory` allow.

        Raises:
            ValueError: a history does not end.
        """
        if most is None:
            most = min(self.max_nodes, self.budget.limit / limits.NODE_BYTES)
        found = limits.forecast(
            self.new_state,
            self.string_of,
            tell_history,
            longest=self.longest_history,
            per_infoset=self.budget.per_infoset,
            most_nodes=most,
        )
        if found.endless is not None:
            self.check_length(found.endless)
        return found

    # --- leaves --------------------------------------------------------------

    def keep_leaves(self, leaves: Passes) -> None:
        """Keeps leaves that were read from disk, with the tree."""
        self._kept[LEAVES] = leaves

    def _keep(self, name: str, size: int, make: Callable[..., Any], *of: Any) -> Any:
        """What is made of the complete tree once, for which the budget has room."""
        if name not in self._kept:
            self.budget.hold(name, size)
            self._kept[name] = make(*of)
        return self._kept[name]

    @reads
    def list_leaves(self) -> Passes:
        """The leaves of the complete tree, made at the first call and kept.

        Raises:
            MemoryBudgetError: they do not fit `max_memory`.
            ValueError: the tree is not complete.
        """
        if LEAVES in self._kept:
            return self._kept[LEAVES]
        if not self.is_complete:
            raise ValueError(
                f"The tree of {brief(self.game)} was only grown where walks went; call "
                "its expand_all() first."
            )
        of = self.arrays, self.num_sequences
        return self._keep(LEAVES, whole.bytes_of_leaves(*of), whole.list_leaves, *of)

    @reads
    def list_blocks(self) -> Blocks:
        """The pieces of a pass for threads, made at the first call and kept.

        Errors are those of `list_leaves`.
        """
        of = self.infosets, self.list_leaves()
        return self._keep(
            BLOCKS, whole.bytes_of_blocks(*self.sizes()), whole.cut_into_blocks, *of
        )

    @reads
    def list_ceilings(self) -> Ceilings:
        """What regret-based pruning knows of a complete tree of two players, made at
        the first call and kept.

        Errors are those of `list_leaves`.
        """
        self.list_leaves()
        of = self.arrays, self.num_sequences
        size = whole.bytes_of_ceilings(self.num_nodes, self.num_sequences)
        return self._keep(CEILINGS, size, whole.list_ceilings, *of)

    def forget_leaves(self) -> None:
        """Drops them, with all that is made of the complete tree."""
        self._kept = {}
        for name in CEILINGS, LEAVES, BLOCKS:
            self.budget.measured(name, 0)
