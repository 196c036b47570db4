"""GameTree: a pyspiel.Game as flat arrays, expanded as a whole or where walks go.

The numbering of nodes, infosets and sequences is explained in common/arrays.py. The
parts of a tree are in files of their own: `nodes.py` has nodes, chance and payoffs,
`infosets.py` the infosets met, `expansion.py` how nodes are expanded through pyspiel,
`whole.py` what is made of a complete tree, and `description.py` a tree in numbers.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets import loading
from mccfr_spiel.arenas.infosets.beside import kept_beside
from mccfr_spiel.arenas.infosets.lock import changes, reads, steps
from mccfr_spiel.arenas.infosets.names import InfosetNames, KeyNames
from mccfr_spiel.arenas.infosets.table import Abstraction, InfosetTable
from mccfr_spiel.arenas.rules.description import (
    BoundRules,
    GameError,
    declared_by,
    rules_of,
    tell_history,
)
from mccfr_spiel.arenas.rules.kernel import key_place
from mccfr_spiel.arenas.rules.store import Expansion, expand_rules
from mccfr_spiel.arenas.tree import whole
from mccfr_spiel.arenas.tree.description import TreeDescription, describe
from mccfr_spiel.arenas.tree.expansion import expand_depth_first
from mccfr_spiel.arenas.tree.game_check import check_copies
from mccfr_spiel.arenas.tree.infosets import Infosets, MetNames
from mccfr_spiel.arenas.tree.nodes import UNCOUNTED, Distributions, Nodes, Payoffs
from mccfr_spiel.arenas.tree.twin_choice import (
    Use,
    checked_twin,
    compiled_rules,
    estimate_of,
)
from mccfr_spiel.common import display, limits, refusals
from mccfr_spiel.common.arrays import MAX_INDEX
from mccfr_spiel.common.display import brief, counted, never_raises, title
from mccfr_spiel.common.limits import MaxMemory, TreeFullError
from mccfr_spiel.interchange.efg_writer import efg_of, write_efg
from mccfr_spiel.kernels import passes
from mccfr_spiel.kernels.randomness import infoset_place
from mccfr_spiel.kernels.regret_pruning import Ceilings
from mccfr_spiel.kernels.tables import Blocks, Passes, TreeArrays

DEFAULT_MAX_NODES = 80_000_000
"""Fits 8 GiB: about 100 bytes a node at the peak of an expansion through pyspiel."""

_FEW_NODES = 1_000_000
"""The largest tree of which a repr checks that every node is expanded."""

_NEAR = 10
"""A tree's size is estimated closely if this multiple of its nodes would not fit."""

LEAVES, BLOCKS = "the leaves of a pass", "the blocks of a pass in threads"
CEILINGS = "the ceilings of regret-based pruning"
"""Names of things made of a complete tree, under which its budget holds their bytes."""

NewState = Callable[[], Any]
"""Makes the state of the root."""


class GameTree(InfosetTable):
    """A game's tree in arrays, grown node by node.

    Any thread may call any method; it waits for its turn.

    Attributes:
        budget: the bytes that the tree and what is made of it may take.
        max_nodes, twin: as given.
        rules: the game's compiled rules, by which the tree can be expanded at compiled
            speed; None if it has none, or there is an abstraction.
        is_of_user: whether the game's author may be a user, so that it is checked.

    The stores, which only the tree changes:
        declared: what the game says of itself.
        met: the infosets.
        node_store: the nodes.
        distributions: those of chance.
        payoffs: the returns at terminal nodes.
    """

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        max_nodes: int = DEFAULT_MAX_NODES,
        max_memory: MaxMemory = None,
        abstraction: Abstraction | None = None,
        twin: bool | None = None,
        new_state: NewState | None = None,
    ) -> None:
        """Makes a tree of one unexpanded node, the root.

        With an abstraction, the histories at which the function gives a player the same
        string are one information set. The player may forget: where a string is
        reached after different own moves, the infoset's parent is the sequence before
        the first history met.

        Args:
            game: a game or its load string. Simultaneous moves become turns.
            max_nodes: the expansion stops with an error beyond this many nodes.
            max_memory: bytes, or words such as "4GiB", that the tree and what is made
                of it may take; by default half of what the machine, its container or
                the process's limit of address space has free.
            abstraction: (state of `self.game`, player) -> string. States with the same
                string must have the same legal actions and must not lie on one history.
                The function must read nothing that the player does not know.
            twin: whether `expand_all` uses the game's compiled twin, which makes the
                same tree in less time, and whether solvers that keep no nodes walk over
                the twin. By default both use it if the game has one and the tree is so
                large that this saves time. True uses it for small trees, too, and False
                for none.
            new_state: makes the state of the root in place of the game, such as one in
                which the moves of other players are moves of chance. Compiled rules are
                then not used.

        Raises:
            ValueError: `load_game` or `turn_based` refuse the game, or it has no
                information-state strings and there is no abstraction; or `twin` is True
                and the game has none.
        """
        if refusals.integer(max_nodes, "max_nodes", 1) > MAX_INDEX:
            raise ValueError(f"max_nodes={max_nodes!r} is not in 1 .. {MAX_INDEX}.")
        if abstraction is not None:
            kind = "(state, player) -> string"
            refusals.function(abstraction, "abstraction", kind)
        source = loading.load_game(game)
        super().__init__(source, loading.turn_based(source), abstraction)
        if self.read_string is loading.own_string:
            loading.check_strings(source, abstraction)
        self.twin = checked_twin(twin, source)
        if twin and abstraction is not None:
            raise ValueError("twin=True: a tree with an abstraction has no twin.")
        self.max_nodes = int(max_nodes)
        self.budget = limits.make_budget(max_memory)
        self._new_state = new_state or self.game.new_initial_state
        self._may_use_twin = abstraction is None and new_state is None
        self.rules = rules_of(self.game) if self._may_use_twin else None
        self._twin: BoundRules | None = None  # found by `rules_for`
        self.is_of_user = loading.may_be_of_user(source)
        if self.is_of_user and rules_of(self.game) is None:
            check_copies(self.game)
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
            self._kept_in_words(),
            "" if self.abstraction is None else "with an abstraction",
        )

    def _kept_in_words(self) -> str:
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
        return describe(self.source, self.nodes, self.infosets, self.budget.taken)

    # --- what is known -----------------------------------------------------

    store = "tree"
    """What passes read: the nodes of the tree."""

    @property
    def maker(self) -> Any:
        """See InfosetTable."""
        return small_whole_tree

    @property
    def num_nodes(self) -> int:
        """N, the nodes there are."""
        return self.node_store.count

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
    def infoset_names(self) -> InfosetNames:
        """The store of the infosets' names."""
        return self.met.names

    @property
    @reads
    def info_states(self) -> list[str]:
        """`[I]` the information-state strings, kept from call to call."""
        return self.met.strings()

    @property
    def num_infosets(self) -> int:
        """I, the infosets met."""
        return len(self.met.parents)

    @property
    def num_sequences(self) -> int:
        """S, the sequences of all players, empty ones included."""
        return len(self.met.actions)

    @property
    def is_new(self) -> bool:
        """Whether nothing but the root has been met."""
        return self.num_nodes == 1 and not self.num_infosets

    @property
    def is_complete(self) -> bool:
        """Whether every node has been expanded."""
        return self.node_store.are_complete

    @property
    def knows_all_infosets(self) -> bool:
        """Whether the tree is complete."""
        return self.is_complete

    @property
    def is_repeatable(self) -> bool:
        """Whether the tree was made whole, by compiled rules or from a file, so that
        `expand_all` of a new tree numbers everything alike."""
        return not isinstance(self.met.names, MetNames)  # which come one by one

    @property
    def generation(self) -> int:
        """How often all nodes were dropped, after which a number means another node."""
        return self.node_store.generation

    @property
    def nodes(self) -> np.ndarray:
        """`[N]` of dtype NODE, read-only."""
        view = self.node_store.used().view()
        view.flags.writeable = False
        return view

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
            nodes=self.node_store.used(),
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
            "another with GameTree(game), or save it with save_tree(tree, folder). "
            "Solvers and policies can be copied and pickled."
        )

    def place(self, info_state: str, player: int, state: pyspiel.State) -> int:
        """The place (see kernels/randomness.py) of a state's infoset, met or not."""
        if self.rules is None:
            return infoset_place(player, info_state)
        vector = getattr(state, "vector", None)
        if vector is None:  # a state of the game in a wrapper
            vector = self.rules.state_after(state.history())
        return key_place(player, self.rules.info_key(vector, player))

    def whole(self, max_nodes: int) -> InfosetTable | None:
        """A tree that supplies `states` and `reaches`: this one if it is complete or
        has an abstraction, else a whole tree that is kept beside it."""
        if self.abstraction is not None:
            return self
        return whole_tree_of(self, max_nodes)

    # --- states and reaches of infosets ---------------------------------------

    def new_state(self) -> pyspiel.State:
        """The root's state."""
        return self._new_state()

    def first_nodes(self) -> np.ndarray:
        """`[I]` the first node of each infoset; -1 for one that has none now."""
        nodes, found = self.nodes, np.full(self.num_infosets, -1, np.int64)
        deciding = np.flatnonzero(nodes["player"] >= 0)[::-1]
        found[nodes["infoset"][deciding]] = deciding  # the last to be written stays
        return found

    def states(self, infosets: Iterable[int]) -> Iterator[pyspiel.State | None]:
        """A state of each of the infosets; None for one that has no node now."""
        nodes = self.first_nodes().tolist()
        for infoset in infosets:
            node = nodes[infoset]
            yield self.state_at(node)[0] if node >= 0 else None

    def reaches(self, policy: np.ndarray) -> np.ndarray | None:
        """`[I]` the probability that a play by the policy `[S]` reaches each infoset;
        None if the tree is not complete, or has an abstraction."""
        if self.abstraction is not None or not self.is_complete:
            return None
        plan, reaches = np.ones_like(policy), np.zeros(self.num_infosets)
        passes.fill_plan(self.infosets, policy, plan)
        passes.add_reaches(self.arrays, plan, reaches)
        return reaches * plan[self.infosets["parent"]]

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

    # --- all at once ---------------------------------------------------------

    def expand_all(
        self, *, most: int | None = None, most_memory: int | None = None
    ) -> "GameTree":
        """Expands every unexpanded node, depth first; returns the tree itself.

        Args:
            most: the number of nodes beyond which to stop with an error.
            most_memory: how many bytes the expansion may take before it stops with an
                error. Compiled rules and twins ignore it.

        Raises:
            TreeFullError: more than `most` or `max_nodes` nodes.
            ValueError: `expand` refuses a state.
        """
        if not self.is_complete:
            most = self.max_nodes if most is None else min(most, self.max_nodes)
            self._expand_all(most, most_memory)
        return self

    @changes
    def _expand_all(self, most: int, most_memory: int | None) -> None:
        if self.is_complete:  # by another thread, while this one waited
            return
        if self._expand_by_rules(most):
            return
        num_infosets, num_sequences = self.sizes()
        self.node_store.take_everything(True)
        try:
            expand_depth_first(self, most, most_memory)
        except TreeFullError:
            self._forget_nodes()
            self.node_store.give_back()
            self.met.forget_since(num_infosets, num_sequences)
            raise
        finally:
            self.node_store.take_everything(False)

    @changes
    def expand_by_rules(self, most: int) -> bool:
        """Expands a new tree if compiled rules or a twin can; returns whether it did.

        Args:
            most: the number of nodes beyond which to stop with an error.

        Raises:
            TreeFullError: more than `most` or `max_nodes` nodes.
            GameError: the game's rules contradict themselves.
        """
        return self.is_complete or self._expand_by_rules(min(most, self.max_nodes))

    def _expand_by_rules(self, most: int) -> bool:
        if self.num_nodes > 1 or self.num_infosets:
            return False
        rules = self.rules_for("expanding")
        if rules is None:
            return False
        is_twin = rules is not self.rules
        if is_twin and estimate_of(self.game) > most / _NEAR:
            self.refuse_if_larger(most)
        try:
            whole = expand_rules(rules, most, self.budget)
        except GameError:
            if is_twin:
                return False  # pyspiel's expansion says it in the game's own words
            raise
        names = KeyNames(rules, whole.keys, whole.infosets["player"])
        if is_twin:
            places = map(infoset_place, names.players.tolist(), names)
            whole.infosets["place"] = np.fromiter(places, np.uint64, len(names))
        self._take_over(whole, names)
        return True

    def rules_for(self, use: Use) -> BoundRules | None:
        """The compiled rules to use for the game: its own, or those of its twin.

        The twin is compared with the game once.

        Returns:
            None if there are none, or there is an abstraction.
        """
        if self.rules is not None or not self._may_use_twin:
            return self.rules
        if self._twin is None:
            self._twin = compiled_rules(self.source, use, twin=self.twin)
        return self._twin

    @changes
    def take_over(self, whole: Expansion, names: InfosetNames, leaves: Passes) -> None:
        """Becomes a whole tree that was read from disk, and keeps its arrays.

        Args:
            whole: the tree.
            names: of its infosets.
            leaves: of the tree.

        Raises:
            ValueError: this tree has been expanded already.
        """
        self._check_new()
        self._take_over(whole, names)
        self.keep_leaves(leaves)

    def _take_over(self, whole: Expansion, names: InfosetNames) -> None:
        self.met.take_over(names, whole.infosets, whole.actions)
        chance = whole.chance_probs, whole.chance_cdf, whole.chance_starts
        self.distributions.take_over(*chance)
        self.payoffs.take_over(whole.utilities)
        self.node_store.take_over(whole.nodes)

    @changes
    def recall(
        self, strings: list[str], infosets: np.ndarray, actions: np.ndarray
    ) -> None:
        """Takes over the infosets that a tree of the same game met, but no nodes.

        Args:
            strings, infosets, actions: that tree's.

        Raises:
            ValueError: this tree has met some already.
            MemoryBudgetError: they do not fit `max_memory`.
        """
        self._check_new()
        self.met.recall(strings, infosets, actions)

    def _check_new(self) -> None:
        if not self.is_new:
            raise ValueError(
                f"The tree of {brief(self.source)} has {self.num_nodes} nodes and "
                f"{self.num_infosets} infosets already, by whose numbers solvers and "
                "policies go; take a new one."
            )

    # --- dropping nodes, and the states of nodes -----------------------------

    @steps
    def forget_nodes(self) -> None:
        """Drops all nodes; what is known of infosets, chance and returns stays."""
        self._forget_nodes()

    def _forget_nodes(self) -> None:
        self.met.list_actions()
        self.node_store.forget()
        self.forget_leaves()
        self.budget.measured(UNCOUNTED, 0)

    @steps
    def give_back(self) -> None:
        """Frees the memory of dropped nodes, which is otherwise kept for new nodes."""
        self.node_store.give_back()

    @steps
    def state_at(self, node: int) -> tuple[pyspiel.State, list[int]]:
        """A node's state, and each player's last sequence before it `[P]`."""
        return self.state_at_held(node)

    def state_at_held(self, node: int) -> tuple[pyspiel.State, list[int]]:
        """`state_at` for a caller in the middle of a step under the lock."""
        return self.node_store.state_at(node, self.new_state(), self.met.actions)

    def to_efg(self, path: str | os.PathLike[str], policy: Any = None) -> float:
        """Writes the game as an extensive game of Gambit (.efg).

        Payoffs and chance probabilities read back to the same doubles. Gambit demands
        that probabilities sum to exactly 1. If no fractions do both, the largest
        probability is corrected, and a comment in the file says so.

        Args:
            path: the file, whose name ends in .efg.
            policy: an OpenSpiel policy, such as `solver.average_policy()`. Its
                probabilities are written beside the file, as NAME_profile.csv: one line
                in Gambit's order by player, information set and action.

        Returns:
            The largest correction of a chance probability; 0.0 without corrections.

        Raises:
            TreeFullError: the game's whole tree is too large.
            ValueError: the path ends otherwise, or the policy lacks a state.
            OSError: the file cannot be written.
        """
        if not os.fspath(path).lower().endswith(".efg"):
            raise ValueError(f"path={os.fspath(path)!r} must end in .efg.")
        if not self.is_complete:  # refuses games that are too large
            GameTree(
                self.source,
                max_nodes=self.max_nodes,
                max_memory=self.budget.limit,
                abstraction=self.abstraction,
            ).expand_all()
        found = efg_of(self.game, self.string_of, loading.names_at, policy)
        write_efg(path, found)
        return found.correction

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


def whole_tree_of(table: Any, max_nodes: int) -> InfosetTable | None:
    """The whole tree of a table's game, kept beside the table; None if there is none.

    Args:
        table: an arena's.
        max_nodes: the most nodes of a tree that is made now.
    """

    def make() -> GameTree:
        budget = table.budget
        tree = GameTree(
            table.source,
            max_nodes=max_nodes,
            max_memory=None if budget.is_default else budget.limit,
            twin=table.twin if table.twin is False else None,
        )
        return tree.expand_all()

    def suits(other: InfosetTable) -> bool:
        return isinstance(other, GameTree) and other.is_complete

    try:
        return kept_beside(table, table.source, suits, make)
    except Exception:  # games raise what they like, and tables can do without
        return None


def small_whole_tree(game: pyspiel.Game, max_nodes: int) -> InfosetTable | None:
    """The whole tree of a game; None if it has more nodes, or cannot be expanded."""
    try:
        return GameTree(game, max_nodes=max_nodes).expand_all()
    except Exception:  # games raise what they like, and tables can do without
        return None
