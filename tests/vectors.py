"""Between the textbook's dictionaries and the solvers' vectors over sequences, and what
solvers are compared by."""

from collections.abc import Callable
from typing import Any

import numpy as np

import mccfr_spiel as ms
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.solving.solver import Solver
from tests.reference import EMPTY, Gradient, Policy, Textbook

KUHN_3 = "kuhn_poker(players=3)"
LEDUC = "leduc_poker(suit_isomorphism=True)"  # chance is not uniform
GOOFSPIEL = (  # simultaneous moves, general sum
    "goofspiel(num_cards=3,imp_info=True,points_order=random,returns_type=total_points)"
)


def names_of_sequences(tree: GameTree) -> list:
    """`[S]` the textbook's name of each sequence; `EMPTY` for the empty ones."""
    names: list = [EMPTY] * tree.num_sequences
    for infoset, (_, start, _, count, _) in enumerate(tree.infosets.tolist()):
        for s in range(start, start + count):
            names[s] = (tree.info_state(infoset), int(tree.actions[s]))
    return names


def vector_of(tree: GameTree, policy: Policy) -> np.ndarray:
    """`[S]` a textbook's policy as a policy vector."""
    names = names_of_sequences(tree)
    return np.array([policy[n[0]][n[1]] if n != EMPTY else 1.0 for n in names])


def gradient_of(tree: GameTree, player: int, gradient: np.ndarray) -> Gradient:
    """The player's part of a gradient `[S]`, by the textbook's names."""
    named: Gradient = {EMPTY: float(gradient[player])}
    names = names_of_sequences(tree)
    for _, start, _, count, acting in tree.infosets.tolist():
        if acting == player:
            for s in range(start, start + count):
                named[names[s]] = float(gradient[s])
    return named


def start_together(solver: Solver, textbook: Textbook) -> None:
    """Gives the textbook the solver's memories and policies, before it has run."""
    tree, tables = solver.tree, solver.state.tables
    for infoset, (_, start, _, count, player) in enumerate(tree.infosets.tolist()):
        key = player, tree.info_state(infoset)
        textbook.memory[key] = tables.memory[start : start + count].tolist()
        textbook.policy[key] = tables.policy[start : start + count].tolist()


def largest_difference(policy: Policy, other: Policy) -> float:
    """Over all probabilities; a state that only `other` has must be uniform there."""
    assert policy.keys() <= other.keys()
    differences = [0.0]
    for info_state, probs in other.items():
        mine = policy.get(info_state, dict.fromkeys(probs, 1 / len(probs)))
        assert mine.keys() == probs.keys()
        differences.extend(abs(probs[action] - mine[action]) for action in probs)
    return max(differences)


def assert_same(solver: Solver, other: Any) -> None:
    """The policies of two solvers, or of a solver and a textbook, and their work."""
    for policy in ("average_policy", "current_policy"):
        mine, theirs = getattr(solver, policy)(), getattr(other, policy)()
        theirs = getattr(theirs, "to_dict", lambda same=theirs: same)()
        assert largest_difference(mine.to_dict(), theirs) < 1e-12
    assert solver.nodes_touched == other.nodes_touched


def follow_textbook(
    game: Any,
    algorithm: ms.Algorithm,
    *pieces: int,
    seed: int = 5,
    kind: type[Textbook] = Textbook,
    start: Callable[[Solver], None] = lambda solver: None,
) -> tuple[Solver, Any]:
    """A solver with a whole tree and a textbook, found the same after each piece.

    `start` may change what the solver begins with.
    """
    solver = Solver(GameTree(game).expand_all(), algorithm, seed=seed)
    textbook = kind(game, *algorithm, seed=seed)
    start(solver)
    start_together(solver, textbook)
    for more in pieces:
        solver.iterate(more)
        textbook.run(more)
        assert_same(solver, textbook)
    return solver, textbook


def bits(solver: Solver) -> dict[str, bytes]:
    """All that a solver has learned, and where it is."""
    return {name: array.tobytes() for name, array in solver.state.saved().items()}


def tables_by_name(solver: Solver) -> dict[str, list[bytes]]:
    """The bytes of all tables of each state that was met, by OpenSpiel's strings."""
    solver.average_policy()
    tables = solver.state.saved()
    rows = zip(solver.tree.info_states, solver.tree.infosets.tolist(), strict=True)
    return {
        name: [
            tables[one][start : start + count].tobytes()
            for one in ("policy", "memory", "average", "baseline")
        ]
        for name, (_, start, _, count, _) in rows
    }


def batched(
    sampling: Any = ms.EXTERNAL,
    batch: Any = 10,
    rule: Any = None,
    *,
    alternating: bool = True,
) -> ms.Algorithm:
    """A batch of walks with linear averaging, by default of regret matching."""
    rule = ms.regret_matching() if rule is None else rule
    return ms.Algorithm(sampling, rule, ms.LINEAR, alternating, batch)
