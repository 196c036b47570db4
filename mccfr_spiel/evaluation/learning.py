"""Learns a response of one player to fixed policies of the other players."""

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyspiel

from mccfr_spiel.algorithms import CFR_PLUS, EXTERNAL, OUTCOME, Sampling
from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.arenas.infosets.walk_sizes import WalkTooLargeError
from mccfr_spiel.arenas.rule_arena import RuleArena
from mccfr_spiel.arenas.rules.bound_rules import (
    BoundRules,
)
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.common.budget import (
    MaxMemory,
    MemoryBudgetError,
    TimeIsOverError,
    make_budget,
    never,
)
from mccfr_spiel.kernels.compile_time import working_clock
from mccfr_spiel.policies.adapter import PolicyAdapter
from mccfr_spiel.solving.solver import Solver


class _FixedState:
    """Wraps a state; moves of all players except one appear as chance moves.

    The probabilities of these chance moves are those of the players' fixed policies.
    Attributes that are not defined here, such as `returns`, are those of the state.
    """

    __slots__ = ("_asked", "_player", "_state")

    def __init__(
        self, state: pyspiel.State, asked: Sequence[PolicyAdapter], player: int
    ) -> None:
        self._state = state
        self._asked = asked
        self._player = player

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def current_player(self) -> int:
        acting = self._state.current_player()
        return acting if acting < 0 or acting == self._player else CHANCE_NODE

    def is_chance_node(self) -> bool:
        return self.current_player() == CHANCE_NODE

    def chance_outcomes(self) -> list[tuple[int, float]]:
        if self._state.is_chance_node():
            return self._state.chance_outcomes()
        acting = self._asked[self._state.current_player()]
        probs = acting.action_probabilities(self._state)
        legal = self._state.legal_actions()
        return [(action, probs.get(action, 0.0)) for action in legal]

    def clone(self) -> "_FixedState":
        return _FixedState(self._state.clone(), self._asked, self._player)

    def child(self, action: int) -> "_FixedState":
        return _FixedState(self._state.child(action), self._asked, self._player)

    def __str__(self) -> str:
        return str(self._state)


class Opponents(NamedTuple):
    """A game in which all players except one follow fixed policies.

    Attributes:
        game: the game.
        each: `[P]` the policies of the players. The policy of `player` is ignored.
        player: the player who learns a response to the fixed policies.
        max_nodes, max_memory: limits of the tree, see `Solver`.
    """

    game: pyspiel.Game
    each: Sequence[PolicyAdapter]
    player: int
    max_nodes: int
    max_memory: MaxMemory

    def new_state(self) -> Any:
        """The initial state, in which moves of other players appear as chance moves."""
        state = turn_based(self.game).new_initial_state()
        return _FixedState(state, self.each, self.player)

    def arena(self, rules: BoundRules | None) -> GameTree | RuleArena:
        """A new arena (representation of the game in which a solver runs).

        Args:
            rules: the compiled rules, with the fixed policies, that walks follow; None
                for a tree that grows during walks through pyspiel.
        """
        limits = {"max_nodes": self.max_nodes, "twin": False}
        if rules is None:
            return GameTree(
                self.game,
                max_memory=self.max_memory,
                new_state=self.new_state,
                **limits,
            )
        return RuleArena(
            self.game,
            rules,
            make_budget(self.max_memory),
            new_state=self.new_state,
            walk_limit=self.max_nodes,
            **limits,
        )


def learn(
    faced: Opponents,
    rules: BoundRules | None,
    until: tuple[int | None, float],
    seed: int,
) -> Solver:
    """Learns a response by external sampling, or by outcome sampling if walks are too
    large.

    Args:
        faced: the game and the fixed policies.
        rules: see `Opponents.arena`.
        until: (number of iterations, ignored), or (None, number of seconds).
        seed: seed of the walks.

    Returns:
        The solver, whose average policy is the response.
    """
    with contextlib.suppress(WalkTooLargeError):
        return _run(EXTERNAL, faced.arena(rules), until, seed)
    # This line is not in an `except` clause, because the error would keep the first
    # tree in memory.
    return _run(OUTCOME, faced.arena(rules), until, seed)


def _run(
    sampling: Sampling,
    arena: GameTree | RuleArena,
    until: tuple[int | None, float],
    seed: int,
) -> Solver:
    """Runs a new solver for a number of iterations or seconds; returns the solver.

    It ends earlier if the infosets fill the memory limit.
    """
    iterations, seconds = until
    algorithm = CFR_PLUS._replace(sampling=sampling)
    solver = Solver(arena, algorithm, seed=seed, store=arena.store)
    if iterations is not None:
        with contextlib.suppress(MemoryBudgetError):
            solver.iterate(iterations)
        return solver
    end, budget = working_clock() + seconds, solver.tree.budget
    budget.is_over = lambda: working_clock() >= end
    with contextlib.suppress(MemoryBudgetError, TimeIsOverError):
        while not budget.is_over():
            solver.iterate(max(solver.num_iterations // 8, 1))
    budget.is_over = never
    return solver
