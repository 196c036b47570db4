"""Where histories and infosets are in a tree, found without a pass over all of it.

A node knows its children only. But a player remembers its own moves, so all histories
of an infoset lie below the same moves of that player, and a search from the root that
follows these moves and tries all of the others' meets few nodes besides.

The policies that a page can look at, from what users give: solvers, policies, files.

A policy that a run has kept on the way is read when it is first looked at, since a run
may have kept dozens and each may take a second.
"""

import bisect
import os
import pathlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.common.folders import CHECKPOINT, kept_policies
from mccfr_spiel.evaluation.reading import load_policy
from mccfr_spiel.exploring.numbers import Origin
from mccfr_spiel.policies.names import (
    said_at,
)
from mccfr_spiel.policies.policy import Answers
from mccfr_spiel.solver import Solver
from mccfr_spiel.tree.game_tree import Abstraction, GameTree

MOST_SEARCHED = 2_000_000
"""A search gives up when so many nodes are open at once."""


class TooManyError(ValueError):
    """A search would meet too many nodes."""


class Place(NamedTuple):
    """A history.

    Attributes:
        state: the game's state.
        node: the tree's node; None without a tree.
        path: for each move the player, OpenSpiel's action and its name.
    """

    state: pyspiel.State
    node: int | None
    path: list[tuple[int, int, str]]


def moves_of(state: pyspiel.State) -> list[int]:
    """The actions at a state, or chance's outcomes, in the order of a tree's nodes."""
    if state.is_terminal():
        return []
    if state.is_chance_node():
        return [action for action, _ in state.chance_outcomes()]
    return list(state.legal_actions())


def names_of(state: pyspiel.State, moves: Sequence[int]) -> list[str]:
    """All moves at a state as people say them, or their numbers."""
    try:
        return said_at(state, int(state.current_player()), moves)
    except Exception:  # games raise what they like
        return [*map(str, moves)]


def name_of(state: pyspiel.State, action: int) -> str:
    """A move as people say it, or its number."""
    moves = moves_of(state)
    return names_of(state, moves)[moves.index(action)]


def follow(game: pyspiel.Game, tree: GameTree | None, history: Sequence[int]) -> Place:
    """The place after a history.

    Raises:
        ValueError: a move of the history is not possible.
    """
    state = game.new_initial_state()
    node = 0
    path: list[tuple[int, int, str]] = []
    for action in history:
        moves = moves_of(state)
        if action not in moves:
            before = ", ".join(name for *_, name in path) or "the beginning"
            raise ValueError(
                f"{game} has no move {action} after {before}: the link may be of "
                "another game."
            )
        path.append((state.current_player(), action, name_of(state, action)))
        if tree is not None:
            node = int(tree.nodes[node]["first_child"]) + moves.index(action)
        state.apply_action(action)
    return Place(state, None if tree is None else node, path)


class Children(NamedTuple):
    """The children of some nodes.

    Attributes:
        nodes: `[c]` their numbers.
        parents: `[c]` the place of each one's parent among the nodes.
        moves: `[c]` which of its parent's children each is.
        entries: `[c]` the sequence of the move, or the place of chance's outcome.
        odds: `[c]` the probability of the move, by chance or by the policy.
    """

    nodes: np.ndarray
    parents: np.ndarray
    moves: np.ndarray
    entries: np.ndarray
    odds: np.ndarray


def children_of(tree: GameTree, nodes: np.ndarray, policy: np.ndarray) -> Children:
    """All children of some nodes `[n]`, whose moves the policy `[S]` draws.

    Raises:
        TooManyError: they are more than MOST_SEARCHED nodes.
    """
    if len(nodes) > MOST_SEARCHED:
        raise TooManyError(
            f"More than {MOST_SEARCHED:,} histories would have to be looked at."
        )
    records = tree.nodes[nodes]
    sizes = records["num_children"].astype(np.int64)
    parents = np.repeat(np.arange(len(nodes)), sizes)
    moves = np.arange(len(parents)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    records = records[parents]
    entries = records["start"].astype(np.int64) + moves
    is_chance = records["player"] == CHANCE_NODE
    odds = np.empty(len(parents))
    odds[is_chance] = tree.chance_probs[entries[is_chance]]
    odds[~is_chance] = policy[entries[~is_chance]]
    below = records["first_child"].astype(np.int64) + moves
    return Children(below, parents, moves, entries, odds)


class History(NamedTuple):
    """A history of an infoset.

    Attributes:
        node: the tree's node.
        belief: how likely the player should take it to be; None if the others and
            chance never play to the infoset.
        moves: which child was taken at each node, from the root on.
    """

    node: int
    belief: float | None
    moves: list[int]


def histories_of(
    tree: GameTree, infoset: int, policy: np.ndarray, most: int
) -> tuple[list[History], int]:
    """The `most` probable histories of an infoset, and how many there are besides.

    Raises:
        TooManyError: the search meets too many nodes.
    """
    player = int(tree.infosets[infoset]["player"])
    way = _way_to(tree, infoset)
    goals = np.array([above for above, _ in way] + [infoset], np.int64)
    taken = np.array([sequence for _, sequence in way] + [-1], np.int64)
    at, weight = np.zeros(1, np.int64), np.ones(1)
    done = np.zeros(1, np.int64)  # own decisions that lie behind a node
    before: list[tuple[np.ndarray, np.ndarray]] = []  # of each level: parents, moves
    hits: list[tuple[float, int, int, int]] = []  # weight, node, level, place there
    # One pass goes from the nodes of a level to those of the next one. Of a node of the
    # player only the move towards the infoset is followed, of others all are.
    while len(at):
        records = tree.nodes[at]
        own = records["player"] == player
        right = own & (records["infoset"] == goals[done])
        for i in np.flatnonzero(right & (done == len(way))).tolist():
            hits.append((float(weight[i]), int(at[i]), len(before), i))
        below = children_of(tree, at, policy)
        above = below.parents
        is_on_way = right[above] & (below.entries == taken[done[above]])
        below = Children(*(one[~own[above] | is_on_way] for one in below))
        above = below.parents
        weight = weight[above] * np.where(own[above], 1.0, below.odds)
        done = done[above] + own[above]
        before.append((above, below.moves))
        at = below.nodes
    hits.sort(key=lambda hit: -hit[0])
    total = sum(hit[0] for hit in hits)
    found = [
        History(node, one / total if total > 0 else None, _moves_to(before[:level], i))
        for one, node, level, i in hits[:most]
    ]
    return found, len(hits) - len(found)


def _way_to(tree: GameTree, infoset: int) -> list[tuple[int, int]]:
    """The player's infosets before one, and the sequence taken at each."""
    infosets = tree.infosets
    way = []
    parent = int(infosets[infoset]["parent"])
    while parent >= tree.num_players:
        above = bisect.bisect_right(infosets["first_sequence"], parent) - 1
        way.append((above, parent))
        parent = int(infosets[above]["parent"])
    return way[::-1]


def _moves_to(before: list[tuple[np.ndarray, np.ndarray]], place: int) -> list[int]:
    moves = []
    for parents, taken in reversed(before):
        moves.append(int(taken[place]))
        place = int(parents[place])
    return moves[::-1]


def value_of_node(tree: GameTree, node: int, policy: np.ndarray) -> np.ndarray:
    """`[P]` what the players get on average from a node on.

    Raises:
        TooManyError: too many nodes of one level lie below it.
    """
    at, weight = np.array([node], np.int64), np.ones(1)
    total = np.zeros(tree.num_players)
    while len(at):  # one pass for each level
        ends = tree.nodes["player"][at] == TERMINAL
        total += weight[ends] @ tree.utilities[tree.nodes["start"][at[ends]]]
        below = children_of(tree, at, policy)
        weight = weight[below.parents] * below.odds
        keep = weight > 0
        at, weight = below.nodes[keep], weight[keep]
    return total


def state_of(tree: GameTree, infoset: int, policy: np.ndarray) -> pyspiel.State | None:
    """The most probable state of an infoset; None if it is not found soon."""
    try:
        found, _ = histories_of(tree, infoset, policy, 1)
    except TooManyError:
        return None
    state = tree.game.new_initial_state()
    for move in found[0].moves:
        state.apply_action(moves_of(state)[move])
    return state


def named(game: pyspiel.Game, moves: Sequence[int]) -> tuple[list[int], list[str]]:
    """The actions of a history, and what the game calls them.

    Args:
        game: the turn-based game.
        moves: at each state, which of its moves is taken.
    """
    state, names = game.new_initial_state(), []
    for move in moves:
        action = moves_of(state)[move]
        names.append(name_of(state, action))
        state.apply_action(action)
    return list(map(int, state.history())), names


def is_seen(state: pyspiel.State, action: int, seat: int) -> bool:
    """Whether a player can tell a move from another one that is possible."""
    other = next((move for move in moves_of(state) if move != action), None)
    if other is None:
        return True
    try:
        seen = [
            state.child(move).information_state_string(seat) for move in (action, other)
        ]
    except Exception:  # games without strings at some states
        return False
    return seen[0] != seen[1]


# --- the policies that a page can look at ---------------------------------------------


_LARGEST_CHECKPOINT = 2**24
"""Bytes of a checkpoint that is read beside a folder's policy. A larger one is of a
larger game, and would keep the page waiting."""


class Row(NamedTuple):
    """Numbers over the sequences that a tree had met at some moment.

    Attributes:
        tree: the tree, which may have grown since.
        num_infosets: how many infosets it had met.
        vector: `[S]` over their sequences.
    """

    tree: GameTree
    num_infosets: int
    vector: np.ndarray

    def at(self, state: pyspiel.State) -> list[float] | None:
        """Those at a state where a player acts, in the order of its legal actions; None
        if no walk had met it."""
        # Not by the string: the first search for one indexes millions in large games.
        infoset = self.tree.find_at(state, state.current_player())
        if not 0 <= infoset < self.num_infosets:
            return None
        _, start, _, size, _ = self.tree.infosets[infoset].item()
        return self.vector[start : start + size].tolist()


class Candidate:
    """A policy to look at.

    Attributes:
        label: what the page calls it.
        iteration: after which it was, if that is known.
        run: the run of whose average policy it is a step; the page's slider goes
            through the steps of one run. Empty for any other policy.
        regrets: of the solver; None if there is no solver, or if its rule keeps none.
        is_read: whether the policy is in memory.
        origin: how it was found, if that is known.
    """

    origin: Origin | None = None

    def __init__(
        self,
        label: str,
        policy: Any = None,
        iteration: int | None = None,
        *,
        run: str = "",
        regrets: Row | None = None,
        read: Callable[[], Any] | None = None,
    ) -> None:
        """Has a policy, or a function that reads it when it is first asked for."""
        self.label, self.iteration, self.run = label, iteration, run
        self.regrets = regrets
        self._policy, self._read = policy, read
        self._lock = threading.Lock()

    @property
    def is_read(self) -> bool:
        return self._read is None

    @property
    def policy(self) -> Any:
        """The policy, anything that `policy_vector` reads; errors of `load_policy`."""
        with self._lock:
            if self._read is not None:
                self._policy = self._read()
                self._read = None
            return self._policy

    def probabilities(self, state: pyspiel.State) -> dict[int, float] | None:
        """The policy's answer at a state where a player acts, by action; None if the
        policy can only be read with a tree."""
        policy = self.policy
        if isinstance(policy, np.ndarray | dict | list | tuple):
            return None
        return Answers(policy).action_probabilities(state)

    def regrets_at(self, state: pyspiel.State) -> list[float] | None:
        """The solver's cumulative regrets at a state where a player acts, if any."""
        return None if self.regrets is None else self.regrets.at(state)


def candidates_of(
    one: Any, label: str, game: pyspiel.Game | str | None, tree: GameTree | None
) -> list[Candidate]:
    """The policies of a solver, of a path, or of a policy.

    Args:
        one: what was given.
        label: what the user calls it; may be empty.
        game, tree: of `explore`.

    Raises:
        ValueError, OSError: as in `load_policy`.
    """
    if isinstance(one, str | os.PathLike):
        path = pathlib.Path(one)
        return list(_of_path(path, label or path.name or str(path), game, tree))
    if hasattr(one, "average_policy"):
        return _of_solver(one, f"{label}: " if label else "")
    return [Candidate(label or "policy", one)]


def _of_solver(solver: Any, prefix: str, ending: str = "") -> list[Candidate]:
    """A solver's policies, with its regrets if its rule keeps any."""
    regrets = None
    is_plain = isinstance(solver, Solver) and solver.tree.abstraction is None
    if is_plain and solver.keeps_regrets:
        vector = solver.regret_vector()
        regrets = Row(solver.tree, solver.tree.num_infosets, vector)
    policies = {"average policy": solver.average_policy()}
    if hasattr(solver, "current_policy"):
        policies["current policy"] = solver.current_policy()
    count = solver.num_iterations
    found = [
        Candidate(f"{prefix}{kind}{ending}", policy, count, regrets=regrets)
        for kind, policy in policies.items()
    ]
    if isinstance(solver, Solver):
        for one in found:
            one.origin = Origin(solver.algorithm, count)
    return found


def _of_path(
    path: pathlib.Path,
    name: str,
    game: pyspiel.Game | str | None,
    tree: GameTree | None,
) -> Iterator[Candidate]:
    """The policies of a file or of a folder: what it reports, what it has kept on the
    way, and its checkpoints."""
    abstraction = None if tree is None else tree.abstraction
    first = Candidate(name, load_policy(path, game, abstraction=abstraction))
    yield first
    if not path.is_dir():
        return
    steps = {one.iteration: one for one in kept_in(path, name, game, abstraction)}
    seen: set[int] = set()
    current = []
    for ending in ("", checkpoint.PREVIOUS):
        solver = _small_solver(path / (CHECKPOINT + ending), game, tree)
        # After no iterations it is the one with which the run began.
        if solver is None or not solver.num_iterations or solver.num_iterations in seen:
            continue
        count = solver.num_iterations
        average, last = _of_solver(solver, f"{name}, ", f" after {count:,}")
        average.run = name
        steps.setdefault(count, average).regrets = average.regrets
        seen.add(count)
        current.append(last)
        if not first.origin:  # of the newest checkpoint, with which the run has ended
            first.origin = average.origin
        for one in steps.values():
            one.origin = Origin(solver.algorithm, one.iteration or 0)
    yield from steps.values()
    yield from current


def _small_solver(
    file: pathlib.Path, game: pyspiel.Game | str | None, tree: GameTree | None
) -> Solver | None:
    """The solver of a checkpoint; None if there is none that can be read at once."""
    try:
        if file.stat().st_size > _LARGEST_CHECKPOINT:
            return None
        return Solver.load(file, game if tree is None else tree)
    except (OSError, ValueError):  # most folders have no checkpoint left
        return None


def kept_in(
    folder: pathlib.Path,
    name: str,
    game: pyspiel.Game | str | None,
    abstraction: Abstraction | None = None,
) -> list[Candidate]:
    """The policies that a run has kept in its folder on the way, not read yet.

    Args:
        folder: of results.
        name: of the run.
        game, abstraction: as for `load_policy`.
    """
    return [
        Candidate(
            f"{name}, average policy after {iteration:,}",
            iteration=iteration,
            run=name,
            read=lambda path=path: load_policy(path, game, abstraction=abstraction),
        )
        for iteration, path in kept_policies(folder).items()
    ]
