"""`ms.solve`, and the race between algorithms whose NashConv can be computed.

One algorithm starts. If its forecast exceeds `JOIN_NODES`, the other contenders join,
and each of them runs for a tenth of that forecast. From then on the algorithm with the
smallest forecast continues, so that another one takes over if the leader stalls. If
all forecasts exceed that of the linear program, the program is solved instead. Only
nodes touched and NashConv decide, never a clock, so searches without `seconds` are
reproducible.
"""

import contextlib
import math
import statistics
from typing import Any

from mccfr_spiel.arenas.choosing import (
    choose_arena,
)
from mccfr_spiel.arenas.evaluating import complete_table
from mccfr_spiel.arenas.hand_arena import HandArena
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.needs import EVALUATION
from mccfr_spiel.arenas.request import (
    Game,
    Limits,
)
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.budget import (
    Budget,
    MaxMemory,
    MemoryBudgetError,
    TimeIsOverError,
    TreeFullError,
    make_budget,
    never,
)
from mccfr_spiel.common.display import counted, short
from mccfr_spiel.offline.linear_program import (
    LinearProgramError,
    LPSolution,
    solve_lp,
)
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.solutions.contenders import contenders, features_of
from mccfr_spiel.solutions.racers import Evaluated, Racer, evaluated
from mccfr_spiel.solutions.sampled_search import SampledSearch
from mccfr_spiel.solutions.solution import LINEAR_PROGRAM, Solution, Step
from mccfr_spiel.solutions.targets import Deadline, target_nash_conv
from mccfr_spiel.solving.status_line import Status

JOIN_NODES = 2e8
"""Other contenders join if the first one has more nodes ahead; about half a second."""

TRIAL_SHARE = 0.1
"""Share of the leader's forecast that each contender runs when it joins."""

NODES_OF_A_LEAF = 10_000
"""Forecast of the linear program in nodes of a pass, for each leaf of the tree. HiGHS
needs 0.5 to 40 us a leaf on the games of the league, a pass 2 ns a node."""

MOST_LEAVES_OF_A_PROGRAM = 400_000
"""Linear programs of larger trees take minutes and gigabytes."""

WORLDS_MEMORY = "1GiB"
"""Memory after which a search that lists worlds gives up. Searching this far takes
half a minute."""

READING_SHARE, READING_SECONDS = 0.5, 1.0
"""Share of the time for reading a game, and the least number of seconds. The rest is
for sampling, if reading the game takes longer."""

MOST_HISTORY_NODES = 2_000_000_000
"""Games with more nodes are sampled rather than passed over history by history."""


def solve(
    game: Game,
    *,
    nash_conv: float | None = None,
    exploitability: float | None = None,
    relative: float | None = None,
    seconds: float | None = None,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    seed: int = 0,
    progress: bool | None = None,
) -> Solution:
    """Solves a game to a target and certifies the result.

        solution = ms.solve("leduc_poker", nash_conv=1e-3)
        print(solution)
        solution.policy

    The algorithm is chosen by features of the game and by the measured progress, see
    `mccfr_spiel.solutions`. On games whose NashConv cannot be computed, external
    sampling runs until learned responses gain no more than the target, which is only a
    lower bound on NashConv; `reached` is False there.

    Args:
        game: a game, its load string, or its tree.
        nash_conv: target NashConv in the game's payoffs.
        exploitability: target NashConv divided by the number of players.
        relative: target NashConv divided by the range of payoffs. Without any target,
            0.001.
        seconds: limit on the time of the search, without compilation. The best policy
            so far is returned if the limit ends the search. If reading the game takes
            more than half of it, the game is sampled. With a limit, results may differ
            between runs.
        max_memory: limit on memory, in bytes or as a string such as "4GiB"; see
            `Solver`.
        threads: number of threads; None for one per core.
        seed: seed of algorithms that sample.
        progress: whether to show a progress line on standard error; by default if that
            is a terminal.

    Returns:
        The policy of the algorithm with the smallest NashConv, with bounds.

    Raises:
        ValueError: more than one target, or an argument out of range; or the game
            cannot be solved, see `Solver`.
    """
    if isinstance(game, InfosetTable):
        source = game.source
    else:
        source = game = load_game(game)
    target = target_nash_conv(source, nash_conv, exploitability, relative)
    seed = refusals.integer(seed, "seed")
    with Status(progress) as status:
        return searched(
            game,
            target,
            Deadline.after(seconds),
            status,
            max_memory=max_memory,
            threads=threads,
            seed=seed,
        )


def searched(
    game: Game,
    target: float,
    deadline: Deadline,
    status: Status,
    *,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    seed: int = 0,
) -> Solution:
    """Solves a game to a NashConv; see `solve` for arguments, results and errors."""
    status.phase("reading the game")
    table = None
    with contextlib.suppress(TimeIsOverError):
        reading = deadline.part(READING_SHARE, READING_SECONDS)
        table = _arena(game, max_memory, reading)
    if table is None:
        source = game.source if isinstance(game, InfosetTable) else load_game(game)
        sampled = SampledSearch(
            source,
            target,
            deadline,
            max_memory=max_memory,
            threads=threads,
            seed=seed,
        )
        return sampled.run(status)
    search = Search(target, deadline, threads=threads, seed=seed)
    search.run(table, status)
    return search.solution()


def _arena(game: Game, max_memory: MaxMemory, deadline: Deadline) -> Any:
    """An arena that knows all information sets of a game; None if none fits.

    A search that lists worlds one by one gives up when it has taken `WORLDS_MEMORY`,
    because nothing can forecast how long it takes; `max_memory` replaces this limit.
    Searches by positions are short, and hands of cards are not searched.

    Raises:
        TimeIsOverError: the game cannot be read before the deadline.
    """

    def timed(limit: MaxMemory) -> Budget:
        budget = make_budget(limit)
        budget.is_over = lambda: deadline.is_over
        return budget

    tree = game if isinstance(game, GameTree) else GameTree(game, max_memory=max_memory)
    rules, attempts = tree.rules_for("any"), [("auto", max_memory)]
    has_worlds = rules is not None and rules.description.world_key is not None
    if rules is not None and has_worlds and rules.description.position_key is None:
        attempts = [("tree", max_memory), ("worlds", max_memory or WORLDS_MEMORY)]
    for store, limit in attempts:
        with contextlib.suppress(TreeFullError):
            return _untimed(complete_table(game, timed(limit), store=store))
    if isinstance(game, InfosetTable):
        game = game.source
    forecast = tree.forecast(4 * MOST_HISTORY_NODES)
    if statistics.fmean(forecast.nodes) > MOST_HISTORY_NODES:
        return None
    try:
        limits = Limits(max_memory=timed(max_memory))
        return _untimed(choose_arena(game, EVALUATION, "none", limits).table)
    except ValueError:  # no compiled rules, or too many information sets
        return None


def _untimed(table: Any) -> Any:
    """An arena that has been read, whose budget no longer has a time limit."""
    table.budget.is_over = never
    return table


class Search:
    """A race of algorithms on one game.

    Attributes:
        target: NashConv at which the race ends.
        deadline: wall-clock limit.
        racers: algorithms that have started.
        trace: evaluations so far.
        program: solution of the linear program; None unless it was solved.
        reason: why the race ended without the target; empty otherwise.
    """

    def __init__(
        self, target: float, deadline: Deadline, *, threads: int | None, seed: int
    ) -> None:
        self.target, self.deadline = target, deadline
        self.racers: list[Racer] = []
        self.trace: list[Step] = []
        self.program: tuple[LPSolution, Evaluated] | None = None
        self.reason = ""
        self._options = {"threads": threads, "seed": seed}
        self._table: Any = None
        self._has_value = False

    def run(self, table: Any, status: Status) -> None:
        """Races until the target or a limit is reached.

        Args:
            table: an arena that knows all information sets.
            status: shows the phases.
        """
        self._table = table
        features = features_of(table.game, isinstance(table, HandArena))
        self._has_value = features.has_value
        first, *others = contenders(features)
        self._start(first)
        cost_of_program = self._forecast_of_program()
        while True:
            racer, ahead = self._next()
            if ahead > cost_of_program:
                cost_of_program = math.inf
                if self._solve_program(status):
                    return
            elif others and ahead > JOIN_NODES:
                for algorithm in others:
                    self._start(algorithm, TRIAL_SHARE * ahead)
                others = []
            else:
                status.phase(self._text_of(racer, ahead))
                racer.advance(self.target, self.deadline)
                self._note(racer)
            if racer.nash_conv <= self.target:
                return
            if self.deadline.is_over:
                self.reason = self.deadline.reason
                return
            if not others and all(racer.has_stalled for racer in self.racers):
                self.reason = "NashConv stopped falling"
                return

    def _next(self) -> tuple[Racer, float]:
        """The racer with the smallest forecast, and the forecast in nodes."""
        running = [racer for racer in self.racers if not racer.has_stalled]
        forecasts = [racer.nodes_to(self.target) for racer in running or self.racers]
        ahead = min(forecasts)
        return (running or self.racers)[forecasts.index(ahead)], ahead

    def _start(self, algorithm: Any, trial: float = 0.0) -> None:
        """Adds a racer. Contenders that do not fit in memory beside others stay out."""
        try:
            racer = Racer(
                self._table,
                algorithm,
                self._has_value,
                threads=self._options["threads"],
                seed=self._options["seed"],
                trial=trial,
            )
        except MemoryBudgetError:
            if not self.racers:
                raise
            return
        self.racers.append(racer)

    def _note(self, racer: Racer) -> None:
        last, solver = racer.last, racer.solver
        assert last is not None
        ends = last.value or (math.nan, math.nan)
        self.trace.append(
            Step(
                str(racer.algorithm),
                solver.num_iterations,
                solver.nodes_touched,
                self.deadline.spent,
                last.nash_conv,
                *ends,
            )
        )

    def _text_of(self, racer: Racer, ahead: float) -> str:
        text = f"solving with {racer.algorithm}"
        if racer.last is None:
            return text
        done = counted(racer.solver.num_iterations, "iteration")
        text += f", {done}, NashConv {short(racer.nash_conv)}"
        if racer.last.value is not None:
            text += f", value {racer.last.value}"
        rate = racer.solver.seconds / max(racer.solver.nodes_touched, 1)
        left = min(ahead * rate, self.deadline.left)
        return f"{text}, about {left:.0f} s left" if left >= 1 else text

    # --- the linear program --------------------------------------------------

    def _forecast_of_program(self) -> float:
        """Cost of the linear program in nodes; inf if it is not applicable."""
        table = self._table
        if not (self._has_value and isinstance(table, GameTree)):
            return math.inf
        leaves = len(table.list_leaves().payoffs) // 2  # a row for each player
        if leaves > MOST_LEAVES_OF_A_PROGRAM:
            return math.inf
        return float(NODES_OF_A_LEAF * leaves)

    def _solve_program(self, status: Status) -> bool:
        """Solves the linear program; returns whether that ended the search."""
        status.phase("solving the linear program")
        left = self.deadline.left
        try:
            limit = None if left == math.inf else left
            solved = solve_lp(self._table, time_limit=limit)
        except (LinearProgramError, MemoryBudgetError):
            return False
        result = evaluated(
            self._table, solved.policy.vector, True, self._options["threads"]
        )
        self.program = solved, result
        seconds = self.deadline.spent
        ends = result.value or (math.nan, math.nan)
        self.trace.append(Step(LINEAR_PROGRAM, 0, 0, seconds, result.nash_conv, *ends))
        if result.nash_conv > self.target:
            self.reason = "the linear program is exact only up to rounding"
        return True

    # --- the result ----------------------------------------------------------

    def solution(self) -> Solution:
        """The best policy so far. At least one evaluation must have happened."""
        racer = min(self.racers, key=lambda racer: racer.nash_conv)
        if self.program is not None and self.program[1].nash_conv <= racer.nash_conv:
            solved, last = self.program
            policy, found, cce_gap = solved.policy, (None, 0, None), None
        else:
            last, solver = racer.last, racer.solver
            policy = SequencePolicy(solver.tree, solver.average_vector())
            found = racer.algorithm, solver.num_iterations, solver
            cce_gap = racer.cce_gap()
        assert last is not None
        algorithm, iterations, solver = found
        is_reached = last.nash_conv <= self.target
        return Solution(
            policy=policy,
            nash_conv=last.nash_conv,
            gains=tuple(float(gain) for gain in last.gains),
            cce_gap=cce_gap,
            value_bounds=last.value,
            target=self.target,
            reached=is_reached,
            algorithm=algorithm,
            iterations=iterations,
            solver=solver,
            trace=tuple(self.trace),
            seconds=self.deadline.spent,
            reason="" if is_reached else self.reason,
        )
