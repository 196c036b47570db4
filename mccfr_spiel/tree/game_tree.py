"""GameTree: a pyspiel.Game as flat arrays, expanded whole or where walks go.

The numbering of nodes, infosets and sequences is explained in arrays.py. The parts of a
tree lie beside this file: `nodes`, which have chance and payoffs, too, `infosets` with
their names, and `whole`, what is made of a complete tree; `readable` shows them. Here
is how they grow. `GameTree.expand` is the one step of it: it reads a state and writes
down all that solvers need of it.

Compiled rules do not come here: rules/store.py expands them with no Python per
node.
"""

import contextlib
import functools
import operator
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL, UNEXPANDED
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.folders import write_file
from mccfr_spiel.common.limits import MaxMemory, TreeFullError, resident, too_many_nodes
from mccfr_spiel.interchange.efg_writer import efg_of
from mccfr_spiel.kernels.randomness import infoset_place
from mccfr_spiel.kernels.tables import Passes
from mccfr_spiel.rules import description
from mccfr_spiel.rules.description import BoundRules, GameError, rules_of
from mccfr_spiel.rules.store import Expansion, RuleStore, expand_rules
from mccfr_spiel.tree import loading
from mccfr_spiel.tree.game_check import check_copies
from mccfr_spiel.tree.infosets import HandNames, InfosetNames, KeyNames
from mccfr_spiel.tree.lock import changes, steps
from mccfr_spiel.tree.nodes import UNCOUNTED
from mccfr_spiel.tree.readable import DEFAULT_MAX_NODES, Abstraction, ReadableTree
from mccfr_spiel.worlds import finding, public_tree
from mccfr_spiel.worlds.hand_lists import list_hands

_FIRST_CHILD = operator.itemgetter(0)
_CHECKED = 1024
"""The number of nodes between two measurements of memory that cannot be counted."""

Place = tuple[pyspiel.State, list[int]]
"""A node's state, and each player's last sequence before it."""

Opened = list[Any]
"""A node that was expanded: its first child, the number of its next one, its moves, who
acts, where the moves begin, its state, and each player's last sequence before it."""


def child_of(opened: Opened, child: int, *, is_last: bool) -> Place:
    """The place of a child.

    Args:
        opened: the parent.
        child: which one.
        is_last: whether nobody needs the parent's any more, which then becomes this.
    """
    _, _, moves, acting, start, state, sequences = opened
    move, before = moves[child] if acting >= 0 else moves[child][0], state
    try:
        if is_last:
            state.apply_action(move)
        else:
            state, sequences = state.child(move), sequences.copy()
    except Exception as error:
        description.tell_history(error, before, move)
        raise
    if acting >= 0:
        sequences[acting] = start + child
    return state, sequences


class GameTree(ReadableTree):
    """A game's tree in arrays, grown node by node.

    Attributes:
        twin: as given.
        walk_limit: about how many nodes the first walk may visit, for a solver that
            walks over compiled rules and keeps no nodes; None for no limit.
    """

    walk_limit: int | None = None

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        max_nodes: int = DEFAULT_MAX_NODES,
        max_memory: MaxMemory = None,
        abstraction: Abstraction | None = None,
        twin: bool | None = None,
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

        Raises:
            ValueError: `load_game` or `turn_based` refuse the game, or it has no
                information-state strings and there is no abstraction; or `twin` is True
                and the game has none.
        """
        super().__init__(game, max_nodes, max_memory, abstraction)
        self.twin = loading.checked_twin(twin, self.source)
        if twin and abstraction is not None:
            raise ValueError("twin=True: a tree with an abstraction has no twin.")
        self._twin: BoundRules | None = None  # found by `_rules`
        self._is_of_user = loading.may_be_of_user(self.source)
        if self._is_of_user and rules_of(self.game) is None:
            check_copies(self.game)
        self._noted: np.ndarray | None = None

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
        if self.rule_store is not None:
            raise ValueError(
                f"This tree of {brief(self.source)} is that of walks over compiled "
                "rules, which keep no nodes. Make another with GameTree(game)."
            )
        if self._expand_by_rules(most):
            return
        num_infosets, num_sequences = self.sizes()
        self.node_store.take_everything(True)
        try:
            self._expand_depth_first(most, most_memory)
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
        rules = self._rules(loading.WORTH_EXPANDING)
        if rules is None:
            return False
        is_twin = rules is not self.rules
        if is_twin and loading.estimate_of(self.game) > most / loading.NEAR:
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

    def _rules(self, least: int) -> BoundRules | None:
        """The game's compiled rules, or those of its twin, compared with it once.

        Args:
            least: how many nodes the tree must have, about, for its twin.

        Returns:
            None if there are none, or there is an abstraction.
        """
        if self.rules is not None or self.twin is False or self.abstraction is not None:
            return self.rules
        if self._twin is None:
            self._twin = loading.usable_twin(self.source, 0 if self.twin else least)
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
    def walk_rules(self) -> RuleStore:
        """Makes this the tree of solvers that walk over compiled rules.

        Such a tree has no nodes but the root. Walks add the infosets that they meet to
        the store that is returned, and `note_met` takes them over.

        Raises:
            ValueError: the game has no compiled rules nor a twin that may be used, or
                the tree has been expanded.
            MemoryBudgetError: not even a few infosets fit the budget.
        """
        return self._walk_rules()

    def _walk_rules(self) -> RuleStore:
        if self.rule_store is not None:
            return self.rule_store
        rules = self._rules_without_tree()
        self._check_new()
        self.rule_store = RuleStore(rules, self.budget)
        return self.rule_store

    def _rules_without_tree(self) -> BoundRules:
        rules = self._rules(0)
        if rules is None:
            what = "an abstraction" if self.abstraction else "no compiled rules"
            if loading.known_twin(self.game) is not None and self.abstraction is None:
                why = "twin=False refuses" if self.twin is False else "differs from it"
                what += f" but those of its twin, which {why}"
            raise ValueError(
                f"store='none' walks over compiled rules, but {brief(self.source)} has "
                f"{what}. Use store='tree' or 'auto'; docs/own_game.md says how to "
                "write the rules of a game."
            )
        return rules

    def find_worlds(self, store: str = "worlds") -> "GameTree":
        """Makes this a tree of no nodes that knows all infosets and the game's worlds;
        returns the tree itself.

        What was found of a game is kept while the process lives.

        Args:
            store: "none" finds the infosets only, by a pass over all histories, and
                passes over the tree go over all histories by the game's compiled rules.

        Raises:
            ValueError: the game declares no worlds, or, if they are not wanted, it has
                no compiled rules; or the tree has been expanded.
            MemoryBudgetError: they do not fit the budget.
            GameError: the game's rules contradict themselves or what they declare.
        """
        if self.worlds is None:
            self._find_worlds(store)
        return self

    @changes
    def _find_worlds(self, store: str) -> None:
        if self.worlds is not None:  # by another thread, while this one waited
            return
        if self.has_hands and store != "none":
            self._check_new()
            public = public_tree.read_public_tree(self.game)
            listed = list_hands(public, self.budget, brief(self.source))
            names = HandNames(public, listed)
            self.met.take_over(names, listed.records, listed.actions)
            self.worlds = listed.hands
        else:
            rules, find = self._rules_to_find(store)
            self._check_new()
            found = finding.known_worlds(rules, self.budget, find)
            names = KeyNames(rules, found.keys, found.infosets["player"])
            self.met.take_over(names, found.infosets, found.actions)
            self.worlds, self.start_pass = found.worlds, found.start_pass
        self.payoffs.take_over(self.worlds.payoffs)

    def _rules_to_find(
        self, store: str
    ) -> tuple[BoundRules, Callable[..., finding.Found]]:
        if store == "none":
            return self._rules_without_tree(), finding.find_histories
        rules = self._rules(0)
        why = finding.why_no_worlds(rules)
        if rules is None or why:
            raise ValueError(
                f"store='worlds' takes a game world by world, but {brief(self.source)} "
                f"{why}. Use store='tree', or an algorithm that samples."
            )
        return rules, finding.find_worlds

    @property
    def has_hands(self) -> bool:
        """Whether worlds are nodes of a public tree with hands of cards."""
        return self.abstraction is None and public_tree.has_public_tree(self.game)

    @property
    def declares_worlds(self) -> bool:
        """Whether `find_worlds` is possible."""
        if self.has_hands:
            return True
        rules = self.rules
        if rules is None and self.twin is not False and self.abstraction is None:
            rules = loading.known_twin(self.game)
        return finding.why_no_worlds(rules) == ""

    def make_whole(self, store: str) -> "GameTree":
        """Has the tree know all infosets; returns the tree itself.

        Args:
            store: "tree" expands all nodes, "worlds" finds the worlds, and "none" finds
                the infosets only. "auto" finds the worlds of a game that declares them
                if its nodes do not fit, or if it is always taken by hands of cards;
                otherwise it expands the nodes.

        Raises:
            TreeFullError, MemoryBudgetError, ValueError: see `expand_all` and
                `find_worlds`.
        """
        if self.has_all_infosets and store in ("auto", self.store):
            return self
        if store in ("worlds", "none"):
            return self.find_worlds(store)
        if store == "tree" or not self.declares_worlds:
            return self.expand_all()
        if self.has_hands and public_tree.needs_public_tree(self.game):
            return self.find_worlds()
        with contextlib.suppress(TreeFullError):  # it is too large by little
            if not self.is_surely_larger_than(self.max_nodes):
                return self.expand_all()
        try:
            return self.find_worlds()
        except TreeFullError:
            raise
        except ValueError:  # such as suits that are merged
            return self.expand_all()

    def histories_of_infosets(self) -> np.ndarray:
        """`[I, M + 1]` integers, of a tree with worlds: the number of moves that lead
        to a state of each infoset, and these moves."""
        rules, find = self._rules_to_find(self.store)
        return finding.known_worlds(
            rules, self.budget, find, with_histories=True
        ).histories

    def rules_for_walks(self) -> BoundRules | None:
        """The compiled rules over which walks may go: the game's own, or its twin's
        unless the tree is small, which then grows through pyspiel in less time than the
        twin's code is compiled in.

        Returns:
            None if there are none, or there is an abstraction.
        """
        return self._rules(loading.WORTH_WALKING)

    def note_met(self) -> None:
        """Takes over what walks over rules have met, for a caller under the lock."""
        store = self.rule_store
        if store is None:
            return
        if store.infosets is self._noted and store.sizes() == self.sizes():
            return
        num_infosets, num_sequences = store.sizes()
        infosets = store.infosets[:num_infosets]
        names = KeyNames(store.rules, store.keys(), infosets["player"])
        self.met.take_over(names, infosets, store.known.actions[:num_sequences])
        self._noted = store.infosets

    @changes
    def recall_rules(self, arrays: dict[str, np.ndarray]) -> bool:
        """Takes over what `RuleStore.saved` gave; returns whether it fits the game."""
        fits = self._walk_rules().recall(arrays)
        self.note_met()
        return fits

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
        if self.num_nodes > 1 or self.num_infosets:
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
        if self.rule_store is None:
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
        path = pathlib.Path(path)
        if path.suffix.lower() != ".efg":
            raise ValueError(f"path={str(path)!r} must end in .efg.")
        if not self.is_complete:  # refuses games that are too large
            limits = {"max_nodes": self.max_nodes, "max_memory": self.budget.limit}
            GameTree(self.source, abstraction=self.abstraction, **limits).expand_all()
        found = efg_of(self.game, self.string_of, loading.names_at, policy)
        write_file(path, found.efg.encode())
        if policy is not None:
            profile = path.with_name(f"{path.stem}_profile.csv")
            write_file(profile, f"{found.profile}\n".encode())
        return found.correction

    # --- growing by many nodes -----------------------------------------------

    def _expand_depth_first(self, most: int, most_memory: int | None) -> None:
        """Expands every unexpanded node, and looks at times for what no count shows.

        Raises:
            TreeFullError, MemoryBudgetError: there are more nodes than `most`, or the
                tree is by far too large, or the process has grown by more than
                `most_memory` or the budget.
            ValueError: a history is endless; or see `expand`.
        """
        nodes, budget, is_forecast = self.node_store, self.budget, False
        most_memory = budget.limit if most_memory is None else most_memory
        process, taken = resident(), budget.taken

        def look(state: pyspiel.State) -> int:
            nonlocal is_forecast
            if nodes.count > most:
                raise too_many_nodes(self.game, most)
            self.check_length(state)
            if not is_forecast:
                is_forecast = True
                self.refuse_if_larger(most)
            counted = budget.taken - budget.held(UNCOUNTED) - taken
            budget.measured(UNCOUNTED, max(resident() - process - counted, 0))
            if budget.left < 0 or budget.taken - taken > most_memory:
                raise nodes.full(", with the states on the way,")
            return min(most, nodes.count + _CHECKED)

        root = self.new_state(), list(range(self.num_players))
        follows_all = [False] * (self.num_players + 1)
        first_look = min(most, nodes.count + _CHECKED)
        self.expand_below(0, root, follows_all, first_look, look, [])

    def expand_below(
        self,
        node: int,
        place: Place,
        draws: Sequence[bool],
        look_at: int,
        look: Callable[[pyspiel.State], int],
        opens: list[Opened],
    ) -> None:
        """Expands a node and all below it that is unexpanded and surely visited, for a
        caller in the middle of a step under the lock.

        Args:
            node: where to begin.
            place: of that node.
            draws: by who acts, chance last, whether only one child is visited, which
                nobody knows yet.
            look_at: how many nodes there may be before the first look.
            look: is asked for the next such number at a node's state; -1 to stop there.
            opens: takes, by the numbers of their children, the nodes that have children
                to come.
        """
        nodes, (state, sequences) = self.node_store, place
        old, way = nodes.count, []  # some of the old nodes are expanded
        # One pass visits one node: it expands the node if need be, puts it on the way
        # if its children follow, and goes on to the next child of the lowest node on
        # the way. A node's last child takes over its state, since nobody else needs
        # that any more.
        while True:
            if node >= old or nodes.record(node)[4] == UNEXPANDED:
                moves, acting, first, start, _ = self.expand(node, state, sequences)
            else:
                first, start, _, _, acting = nodes.record(node)
                if acting == CHANCE_NODE:
                    moves = state.chance_outcomes()
                else:
                    moves = state.legal_actions()
            if moves:
                opened = [first, 0, moves, acting, start, state, sequences]
                (opens if draws[acting] else way).append(opened)
            if nodes.count > look_at:
                look_at = look(state)
            if look_at < 0:
                opens += way
                opens.sort(key=_FIRST_CHILD)
            if look_at < 0 or not way:
                return
            opened = way[-1]
            child = opened[1]
            opened[1] = child + 1
            is_last = child + 1 == len(opened[2])
            if is_last:
                way.pop()
            state, sequences = child_of(opened, child, is_last=is_last)
            node = opened[0] + child

    # --- growing by one node -------------------------------------------------

    def expand(
        self, node: int, state: pyspiel.State, sequences: Sequence[int]
    ) -> tuple[Sequence[Any], int, int, int, int]:
        """Writes the record of one node and reserves its children, for a caller in the
        middle of a step under the lock.

        Args:
            node: an unexpanded node.
            state: its state, which is only read.
            sequences: `[P]` each player's last sequence before it.

        Returns:
            What leads to its children, in order: actions, or (action, probability)
            pairs at a chance node; and of its record `player`, `first_child`, `start`,
            `infoset`.

        Raises:
            TreeFullError: the tree is full.
            GameError: the state breaks perfect recall, or what the game declares.
            Exception: what the game's own methods raise, with the history as a note.
        """
        player = 0
        try:
            player = state.current_player()
            if player >= 0:
                met, parent = self.met, sequences[player]
                if self.abstraction is None:
                    info_state = state.information_state_string(player)
                else:
                    info_state = self.string_of(state, player)
                actions = state.legal_actions()
                # Most states have a string that was met before, after the same own
                # moves and with the same actions. Only others take the long way.
                infoset = met.number_of(info_state, -1)
                if (
                    infoset < 0
                    or met.parents[infoset] != parent  # which tells the player, too
                    or met.legal_actions[infoset] != actions
                ):
                    infoset = self._meet(node, info_state, state, parent, actions)
                start = met.starts[infoset]
            elif player == CHANCE_NODE:
                infoset = -1
                actions = state.chance_outcomes()
                if self._is_of_user:
                    description.check_outcomes(self.declared.name, actions)
                # Equal distributions, like equal returns below, are stored once.
                probs = tuple([prob for _, prob in actions])
                self.node_store.keep_outcomes(node, actions)
                start = self.distributions.starts.get(probs, -1)
                if start < 0:
                    start = self.distributions.add(probs)
            elif player == TERMINAL:
                returns = description.returns_of(state)
                row = self.payoffs.rows.get(returns, -1)
                if row < 0:
                    row = self.payoffs.add(returns, state)
                self.node_store.end(node, row, TERMINAL)
                return (), TERMINAL, 0, row, -1
            else:
                raise description.no_such_player(self.declared, player)
            first = self.node_store.branch(node, start, infoset, len(actions), player)
        except TreeFullError:
            raise
        except Exception as error:
            if not isinstance(player, int) or player >= self.num_players:
                refusal = description.no_such_player(self.declared, player)
                description.tell_history(refusal, state)
                raise refusal from error
            description.tell_history(error, state)
            raise
        return actions, player, first, start, infoset

    def _meet(
        self,
        node: int,
        info_state: str,
        state: pyspiel.State,
        parent: int,
        actions: list[int],
    ) -> int:
        """The infoset of a state whose string, past or actions are new."""
        player = state.current_player()
        infoset = self.met.names.find(info_state, player)
        if infoset >= 0:
            above = functools.partial(self.node_store.infosets_above, node)
            self.met.meet_again(infoset, info_state, parent, actions, above)
            return infoset
        if self._is_of_user or not actions:
            self._check_decision(info_state, player, state, actions)
        place = self.place(info_state, player, state)
        return self.met.add(info_state, player, parent, actions, place)

    def _check_decision(
        self, info_state: str, player: int, state: pyspiel.State, actions: list[int]
    ) -> None:
        """Checks the first state of an infoset in a game whose author may be a user.

        OpenSpiel's own games pass, so they skip these checks.
        """
        name = self.declared.name
        if not isinstance(info_state, str):
            raise GameError(
                f"{name} gives player {player} the information state {info_state!r}, "
                "which is no string."
            )
        if state.is_terminal():
            raise GameError(
                f"{name} has a state that is terminal (is_terminal()), but where "
                f"player {player} acts (current_player())."
            )
        description.check_actions(self.declared, player, info_state, actions)
