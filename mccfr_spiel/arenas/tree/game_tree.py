"""GameTree: the tree of a pyspiel.Game as flat arrays.

The whole tree can be expanded at once (`expand_all`), or walks expand the nodes that
they visit (growth.py). common/arrays.py explains how nodes, infosets and sequences are
numbered. A GameTree combines these parts:

    nodes.py               node records and the path from each node to the root
    met_infosets.py        records, strings, actions and parents of infosets
    chance_and_returns.py  chance distributions and returns
    expansion.py           expansion through pyspiel
    size_forecast.py       estimated size of the whole tree
    derived.py             lists of a complete tree: leaves, blocks of infosets for
                           threads, and upper bounds of payoffs ("ceilings")
    tree_description.py    counts for display

interchange/efg_writer.py writes a tree as a Gambit file (`to_efg`).

The class itself has two files: tree_table.py reads the arrays, this file expands nodes.
"""

import os
from typing import Any, NoReturn

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.action_names import names_at
from mccfr_spiel.arenas.infosets.companions import kept_beside
from mccfr_spiel.arenas.infosets.identity import may_be_of_user
from mccfr_spiel.arenas.infosets.loading import load_game, turn_based
from mccfr_spiel.arenas.infosets.lock import changes, reads, steps
from mccfr_spiel.arenas.infosets.names import InfosetNames, KeyNames
from mccfr_spiel.arenas.infosets.string_checks import (
    check_length,
    check_strings,
    longest_history,
    own_string,
)
from mccfr_spiel.arenas.infosets.table import Abstraction, InfosetTable, reader_of
from mccfr_spiel.arenas.rules.bound_rules import BoundRules, rules_of
from mccfr_spiel.arenas.rules.declarations import GameError
from mccfr_spiel.arenas.rules.rule_expansion import Expansion, expand_rules
from mccfr_spiel.arenas.tree.copy_check import check_copies
from mccfr_spiel.arenas.tree.derived import DerivedLists
from mccfr_spiel.arenas.tree.expansion import expand_depth_first
from mccfr_spiel.arenas.tree.nodes import UNCOUNTED
from mccfr_spiel.arenas.tree.size_forecast import forecast_size, refuse_larger_tree
from mccfr_spiel.arenas.tree.tree_table import NewState, TreeTable
from mccfr_spiel.arenas.tree.twin_choice import (
    Use,
    checked_twin,
    compiled_rules,
    estimate_of,
)
from mccfr_spiel.common import refusals
from mccfr_spiel.common.arrays import MAX_INDEX
from mccfr_spiel.common.budget import MaxMemory, TreeFullError
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.forecasts import Forecast
from mccfr_spiel.interchange.efg_writer import write_efg
from mccfr_spiel.kernels.randomness import infoset_place
from mccfr_spiel.kernels.regret_pruning import Ceilings
from mccfr_spiel.kernels.tables import Blocks, Passes

DEFAULT_MAX_NODES = 80_000_000
"""Default limit on nodes. A tree of so many nodes fits 8 GiB, because an expansion
through pyspiel needs about 100 bytes per node at its peak."""

_NEAR = 10
"""Before an expansion by a twin, the size of the tree is forecast if `_NEAR` times a
rough estimate of its nodes exceeds the limit on nodes."""


class GameTree(TreeTable):
    """The tree of a game in arrays, expanded node by node or as a whole.

    All methods are thread-safe: they run under the tree's lock.

    Attributes:
        twin: argument `twin` of the constructor.
        is_of_user: whether the game may contain user code. Then states are checked more
            thoroughly.

    TreeTable documents the other attributes.
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
        """Creates a tree with one unexpanded node, the root.

        An abstraction merges all histories with the same string into one information
        set. It may make players forget: a player may reach a string after different own
        moves. The parent of such an infoset is the player's last sequence before the
        history that was visited first.

        Args:
            game: game or load string. A game with simultaneous moves is converted to
                its turn-based form.
            max_nodes: maximum number of nodes; exceeding it raises an error.
            max_memory: maximum number of bytes, or a string such as "4GiB", for the
                tree and everything derived from it. By default half of the free memory
                of the machine, the container or the process's address space.
            abstraction: function (state of `self.game`, player) -> string. States with
                the same string must have the same legal actions and must not lie on one
                history. The function must not read information that is hidden from the
                player.
            twin: whether to use the game's compiled twin (compiled rules of this
                package for a game of OpenSpiel), both to expand the tree and for walks
                of solvers that store no nodes. The resulting tree is the same. None
                uses a twin if there is one and the tree is so large that it saves time;
                True uses the twin for trees of any size; False never uses it.
            new_state: function without arguments that returns the root state, in place
                of the game's initial state. For example, the moves of some players may
                be chance moves in it. Compiled rules are not used then.

        Raises:
            ValueError: an argument is invalid; `load_game` or `turn_based` refuses the
                game; the game has no information-state strings and there is no
                abstraction; or `twin` is True and the game has no twin or there is an
                abstraction.
        """
        if refusals.integer(max_nodes, "max_nodes", 1) > MAX_INDEX:
            raise ValueError(
                f"max_nodes={max_nodes!r} must be an integer in 1 .. {MAX_INDEX}."
            )
        if abstraction is not None:
            signature = "(state, player) -> string"
            refusals.function(abstraction, "abstraction", signature)
        source = load_game(game)
        turn_based(source)  # raises ValueError for games without a finite tree
        if reader_of(abstraction) is own_string:
            check_strings(source, abstraction)
        self.twin = checked_twin(twin, source)
        if twin and abstraction is not None:
            raise ValueError(
                "twin=True cannot be combined with abstraction=, because a tree with "
                "an abstraction has no twin; drop one of them."
            )
        super().__init__(
            source,
            abstraction,
            new_state,
            max_nodes=int(max_nodes),
            max_memory=max_memory,
        )
        self._twin: BoundRules | None = None  # set by `rules_for`
        self.is_of_user = may_be_of_user(source)
        if self.is_of_user and rules_of(self.game) is None:
            check_copies(self.game)
        self._derived = DerivedLists(self.budget)

    @property
    def maker(self) -> Any:
        """The function that builds a whole tree of the game, see InfosetTable."""
        return small_whole_tree

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuses `copy` and `pickle`.

        Raises:
            TypeError: always, because a copy would share the memory of node records.
        """
        raise TypeError(
            f"A GameTree (of {brief(self.source)}) cannot be copied or pickled. Create "
            "another tree with GameTree(game), or use save_tree(tree, folder). "
            "Solvers and policies can be copied and pickled."
        )

    def whole(self, max_nodes: int) -> InfosetTable | None:
        """The tree itself if it is complete or has an abstraction. Otherwise a complete
        tree of the same game that is cached for the lifetime of this tree; None if it
        cannot be built."""
        if self.abstraction is not None:
            return self
        return whole_tree_of(self, max_nodes)

    # --- size forecast -------------------------------------------------------

    @property
    def longest_history(self) -> int:
        """Number of moves beyond which a history counts as endless."""
        return longest_history(self.game)

    def check_length(self, state: pyspiel.State) -> None:
        """Raises ValueError if a history is far longer than the game declares."""
        check_length(self.game, len(state.history()), brief(self.source))

    def forecast(self, most: float | None = None) -> Forecast:
        """Estimates the size of the whole tree from random histories in half a second.

        Args:
            most: the largest acceptable number of nodes; by default the number that
                `max_nodes` and `max_memory` allow. The forecast stops early once the
                tree is clearly smaller or larger.

        Raises:
            ValueError: a history does not end.
        """
        return forecast_size(self, most)

    # --- expansion of the whole tree -----------------------------------------

    def expand_all(
        self, *, most: int | None = None, most_memory: int | None = None
    ) -> "GameTree":
        """Expands every unexpanded node, depth first.

        Args:
            most: maximum number of nodes, if less than `max_nodes`.
            most_memory: maximum number of bytes for the expansion, if less than
                `max_memory`. Expansions by compiled rules ignore it.

        Returns:
            The tree itself.

        Raises:
            TreeFullError: the tree has more than `most` or `max_nodes` nodes.
            MemoryBudgetError: the tree does not fit `most_memory` or `max_memory`.
            ValueError: a state of the game is invalid.
        """
        if not self.is_complete:
            most = self.max_nodes if most is None else min(most, self.max_nodes)
            self._expand_all(most, most_memory)
        return self

    @changes
    def _expand_all(self, most: int, most_memory: int | None) -> None:
        if self.is_complete:  # a concurrent call has expanded the tree
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
        """Expands the whole tree by compiled rules of the game or of its twin.

        Args:
            most: maximum number of nodes, if less than `max_nodes`.

        Returns:
            Whether the tree is complete. False if there are no suitable rules, if the
            rules of a twin fail, or if nodes have been expanded otherwise.

        Raises:
            TreeFullError: the tree has more than `most` or `max_nodes` nodes.
            GameError: the game's own compiled rules contradict themselves.
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
            refuse_larger_tree(self, most)
        try:
            expansion = expand_rules(rules, most, self.budget)
        except GameError:
            if is_twin:
                # The caller expands the tree through pyspiel instead, which reports
                # errors of the game itself.
                return False
            raise
        names = KeyNames(rules, expansion.keys, expansion.infosets["player"])
        if is_twin:
            # `place` seeds the draws at an infoset. Here it becomes the same hash as in
            # a tree expanded through pyspiel, so that solvers draw the same actions.
            places = map(infoset_place, names.players.tolist(), names)
            expansion.infosets["place"] = np.fromiter(places, np.uint64, len(names))
        self._take_over(expansion, names)
        return True

    def rules_for(self, use: Use) -> BoundRules | None:
        """The compiled rules of the game or of its twin.

        Before a twin is used for the first time, it is compared with the game.

        Args:
            use: purpose of the rules. It determines how large a tree must be for
                compiling a twin to save time.

        Returns:
            None if there are no rules, if the tree is too small for the twin or the
            twin differs from the game, or if the tree has an abstraction or an argument
            `new_state`.
        """
        if self.rules is not None or not self.may_use_twin:
            return self.rules
        if self._twin is None:
            self._twin = compiled_rules(self.source, use, twin=self.twin)
        return self._twin

    @changes
    def take_over(
        self, expansion: Expansion, names: InfosetNames, leaves: Passes
    ) -> None:
        """Adopts the arrays of a complete tree that was read from disk.

        Args:
            expansion: arrays of the complete tree.
            names: names of its infosets.
            leaves: list of its leaves.

        Raises:
            ValueError: this tree is already expanded.
        """
        self._check_new()
        self._take_over(expansion, names)
        self._derived.keep_leaves(leaves)

    def _take_over(self, expansion: Expansion, names: InfosetNames) -> None:
        self.met.take_over(names, expansion.infosets, expansion.actions)
        self.distributions.take_over(
            expansion.chance_probs, expansion.chance_cdf, expansion.chance_starts
        )
        self.payoffs.take_over(expansion.utilities)
        self.node_store.take_over(expansion.nodes)

    @changes
    def recall(
        self, strings: list[str], infosets: np.ndarray, actions: np.ndarray
    ) -> None:
        """Adds the infosets of a checkpoint to this tree, which must be new; it keeps
        its single unexpanded node.

        Args:
            strings: `[I]` information-state strings.
            infosets: `[I]` records of dtype INFOSET.
            actions: `[S]` actions.

        Raises:
            ValueError: this tree is already expanded.
            MemoryBudgetError: the infosets do not fit `max_memory`.
        """
        self._check_new()
        self.met.recall(strings, infosets, actions)

    def _check_new(self) -> None:
        if not self.is_new:
            raise ValueError(
                f"The tree of {brief(self.source)} has {self.num_nodes} nodes and "
                f"{self.num_infosets} infosets already, and solvers or policies may "
                "depend on the numbering; use a new GameTree."
            )

    # --- files of other programs ---------------------------------------------

    def to_efg(self, path: str | os.PathLike[str], policy: Any = None) -> float:
        """Writes the game as an extensive game of Gambit (.efg).

        Payoffs and chance probabilities read back to the same doubles. Gambit requires
        probabilities that sum to exactly 1. If no fractions satisfy both, the largest
        probability is corrected, and a comment in the file reports the correction.

        Args:
            path: the file, whose name ends in .efg.
            policy: an OpenSpiel policy, such as `solver.average_policy()`. Its
                probabilities are written into NAME_profile.csv in the same folder: one
                line in Gambit's order by player, information set and action.

        Returns:
            The largest correction of a chance probability; 0.0 without corrections.

        Raises:
            TreeFullError: the whole tree exceeds `max_nodes` or `max_memory`.
            ValueError: the path does not end in .efg; `policy` is not an OpenSpiel
                policy; or it lacks a state.
            OSError: a file cannot be written.
        """
        if not os.fspath(path).lower().endswith(".efg"):
            raise ValueError(f"path={os.fspath(path)!r} must end in .efg.")
        if policy is not None and not hasattr(policy, "action_probabilities"):
            raise ValueError(
                f"policy={policy!r} must be an OpenSpiel policy, such as "
                "solver.average_policy()."
            )
        if not self.is_complete:
            # The writer has no limit of its own. A second tree checks the size and
            # leaves this one, which solvers may share, as it is.
            GameTree(
                self.source,
                max_nodes=self.max_nodes,
                max_memory=self.budget.limit,
                abstraction=self.abstraction,
            ).expand_all()
        return write_efg(path, self.game, self.string_of, names_at, policy)

    # --- dropping nodes, states of nodes -------------------------------------

    @steps
    def forget_nodes(self) -> None:
        """Drops all nodes except the root, which becomes unexpanded. Infosets, chance
        distributions and returns remain."""
        self._forget_nodes()

    def _forget_nodes(self) -> None:
        self.met.list_actions()
        self.node_store.forget()
        self._derived.forget()
        self.budget.record(UNCOUNTED, 0)

    @steps
    def give_back(self) -> None:
        """Frees the memory of dropped nodes; otherwise new nodes reuse it."""
        self.node_store.give_back()

    # --- lists derived from a complete tree ----------------------------------

    @reads
    def list_leaves(self) -> Passes:
        """The leaves of a complete tree, see `DerivedLists.leaves`."""
        return self._derived.leaves(self)

    @reads
    def list_blocks(self) -> Blocks:
        """The blocks of infosets that threads process in parallel, see
        `DerivedLists.blocks`."""
        return self._derived.blocks(self)

    @reads
    def list_chance(self) -> np.ndarray:
        """The probabilities of chance at the leaves, see `DerivedLists.chance`."""
        return self._derived.chance(self)

    @reads
    def list_ceilings(self) -> Ceilings:
        """The upper bounds on payoffs for regret-based pruning, see
        `DerivedLists.ceilings`."""
        return self._derived.ceilings(self)


def whole_tree_of(table: Any, max_nodes: int) -> InfosetTable | None:
    """A complete tree of a table's game.

    Args:
        table: table of infosets of an arena.
        max_nodes: maximum number of nodes if the tree has to be built.

    Returns:
        The table itself if it is such a tree; otherwise a tree that is built once and
        cached for the lifetime of the table; None if the tree cannot be built.
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
    except Exception:  # games raise arbitrary exceptions
        return None


def small_whole_tree(game: pyspiel.Game, max_nodes: int) -> InfosetTable | None:
    """A new, completely expanded tree; None if it has more than `max_nodes` nodes or
    cannot be expanded."""
    try:
        return GameTree(game, max_nodes=max_nodes).expand_all()
    except Exception:  # games raise arbitrary exceptions
        return None
