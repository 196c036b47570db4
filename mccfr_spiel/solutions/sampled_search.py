"""The search on games whose NashConv cannot be computed.

External sampling, with correlated chance draws if there is chance and with growing
batches, runs in stages, each as long as all stages before
together. After each stage, a response of every player is learned. The gain of the
response is a lower bound on the gain of a best response. No upper bound is known.
"""

import math

import pyspiel

from mccfr_spiel.algorithms import (
    EXTERNAL_SAMPLING,
    EXTERNAL_SAMPLING_QUASI,
    OUTCOME_SAMPLING,
    Algorithm,
)
from mccfr_spiel.arenas.infosets.walk_sizes import WalkTooLargeError
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common.budget import (
    MaxMemory,
    MemoryBudgetError,
    TimeIsOverError,
    never,
)
from mccfr_spiel.common.display import counted, short
from mccfr_spiel.evaluation.plays import sampled_returns
from mccfr_spiel.evaluation.responses import LearnedResponse, learned_response
from mccfr_spiel.kernels.compile_time import working_clock
from mccfr_spiel.solutions.solution import Solution, Step, lower_bound
from mccfr_spiel.solutions.targets import Deadline
from mccfr_spiel.solving.solver import Solver
from mccfr_spiel.solving.status_line import Status

FIRST_NODES, MOST_NODES = 2_000_000, 2_000_000_000
"""Nodes touched after the first stage, and after the last one without a time limit."""

NODES_AT_ONCE = 20_000
"""Nodes between two checks of the limit on time."""

RESPONSE_ITERATIONS, PLAYS = 2_000, 10_000
"""Iterations in which a response is learned, and plays that measure it."""

FEWEST_PLAYS = 100
"""Plays that measure a response if the time limit leaves no time for more."""

SAMPLING_SHARE = 0.75
"""Share of the remaining time for sampling; the rest is for learning responses."""

TOO_LARGE = "NashConv cannot be computed within the limits"
"""Reason why the target is not certified."""


class SampledSearch:
    """Samples until learned responses gain at most the target, or a limit is reached.

    Attributes:
        game: a game that walks can enter.
        target: NashConv.
        deadline: limit on wall-clock time.
        trace: the learned responses' gain after each stage.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        target: float,
        deadline: Deadline,
        *,
        max_memory: MaxMemory = None,
        threads: int | None = 1,
        seed: int = 0,
    ) -> None:
        """Prepares external sampling.

        Raises:
            ValueError: the game cannot be solved, see `Solver`.
        """
        self.game, self.target, self.deadline = game, target, deadline
        self.trace: list[Step] = []
        self._max_memory, self._threads, self._seed = max_memory, threads, seed
        chance = game.get_type().chance_mode
        has_chance = chance != pyspiel.GameType.ChanceMode.DETERMINISTIC
        algorithm = EXTERNAL_SAMPLING_QUASI if has_chance else EXTERNAL_SAMPLING
        self._solver = self._new_solver(algorithm._replace(batch="auto"))
        self._reason = ""

    def run(self, status: Status) -> Solution:
        """Runs the stages; `status` shows the phases.

        Raises:
            ValueError: the game cannot be solved, see `Solver`.
        """
        nodes = FIRST_NODES
        while True:
            touched = counted(self._solver.nodes_touched, "node")
            status.phase(f"sampling, {touched} touched")
            self._sample(nodes)
            status.phase("learning a response of each player")
            responses = self._responses()
            gain = lower_bound(responses)
            self._note(gain)
            self._reason = self._reason or self.deadline.reason
            if gain <= self.target or nodes >= MOST_NODES or self._reason:
                return self._solution(responses)
            status.phase(f"sampling, learned responses gain {short(gain)}")
            nodes *= 2

    def _new_solver(self, algorithm: Algorithm) -> Solver:
        # The whole tree is too large, so do not begin to expand it in advance.
        rules = GameTree(self.game).rules_for("walking")
        return Solver(
            self.game,
            algorithm,
            store="auto" if rules is None else "none",
            seed=self._seed,
            max_memory=self._max_memory,
            threads=self._threads,
        )

    def _sample(self, nodes: int) -> None:
        """Samples up to a number of nodes, or as long as limits allow.

        If one walk of external sampling is too large, outcome sampling replaces it.
        """
        try:
            self._iterate(nodes)
        except WalkTooLargeError:
            solver = self._solver
            if solver.num_iterations or solver.algorithm == OUTCOME_SAMPLING:
                raise
            self._solver = self._new_solver(OUTCOME_SAMPLING)
            self._sample(nodes)
        except MemoryBudgetError:
            self._reason = "max_memory is full"

    def _iterate(self, nodes: int) -> None:
        solver, part = self._solver, self.deadline.part(SAMPLING_SHARE)
        budget = solver.tree.budget
        budget.is_over = lambda: part.is_over
        try:
            while (done := solver.nodes_touched) < nodes and not part.is_over:
                solver.iterate_until(min(done + NODES_AT_ONCE, nodes))
        except TimeIsOverError:
            # In a long walk. As after Ctrl-C, the solver is between two updates.
            pass
        finally:
            budget.is_over = never

    def _responses(self) -> tuple[LearnedResponse, ...]:
        policy, players = self._solver.average_policy(), self.game.num_players()
        iterations: int | None = RESPONSE_ITERATIONS
        seconds, plays = 1.0, PLAYS
        left = 1.0 if self.deadline.is_over else self.deadline.left
        if left != math.inf:
            iterations, seconds = None, SAMPLING_SHARE * left / players
            began = working_clock()
            sampled_returns(self.game, policy, plays=FEWEST_PLAYS, seed=self._seed)
            each = (working_clock() - began) / FEWEST_PLAYS
            fitting = (1.0 - SAMPLING_SHARE) * left / (2 * players * each)
            plays = min(max(int(fitting), FEWEST_PLAYS), PLAYS)
        return tuple(
            learned_response(
                self.game,
                policy,
                player,
                iterations=iterations,
                seconds=seconds,
                plays=plays,
                seed=self._seed,
            )
            for player in range(players)
        )

    def _note(self, gain: float) -> None:
        solver = self._solver
        counts = solver.num_iterations, solver.nodes_touched
        seconds = self.deadline.spent
        self.trace.append(Step(str(solver.algorithm), *counts, seconds, gain))

    def _solution(self, responses: tuple[LearnedResponse, ...]) -> Solution:
        solver = self._solver
        reason = f"{TOO_LARGE}, and {self._reason}" if self._reason else TOO_LARGE
        return Solution(
            policy=solver.average_policy(),
            nash_conv=None,
            gains=None,
            value_bounds=None,
            target=self.target,
            reached=False,
            algorithm=solver.algorithm,
            iterations=solver.num_iterations,
            solver=solver,
            trace=tuple(self.trace),
            seconds=self.deadline.spent,
            responses=responses,
            reason=reason,
        )
