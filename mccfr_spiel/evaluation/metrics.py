"""Metrics: what `ms.compare` and `Solver.run` measure of a solver while it runs.

A metric is any function that takes a solver and returns a number. These are the ones
that have names; a function of your own stands beside them:

    def values_of_player_0(solver):
        return ms.expected_returns(solver.tree, solver.average_vector())[0]

    solver.run(10_000, metrics=[ms.metrics.nash_conv, values_of_player_0])

`GameValue` is the value of a two-player zero-sum game, as far as a policy shows it.
"""

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.choosing import Game
from mccfr_spiel.arenas.evaluating import complete_table, full_pass, read_policy
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.policy_vectors import policy_vector
from mccfr_spiel.common.display import brief, line, never_raises, plus_minus
from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.evaluation import exact
from mccfr_spiel.policies.names import uniform_vector
from mccfr_spiel.solving.reading import load_policy
from mccfr_spiel.solving.running import Given, Metric, labelled


def nash_conv(solver: Any) -> float:
    """NashConv of the average policy."""
    vector = solver.average_vector()
    return exact.nash_conv(solver.tree, vector, threads=_threads(solver))


def last_iterate(solver: Any) -> float:
    """NashConv of the current policy, the last iterate.

    Raises:
        ValueError: the solver has only the policy that it reports, as offline methods
            have.
    """
    if not hasattr(solver, "current_vector"):
        raise ValueError(
            f"{type(solver).__name__} has no last iterate beside the policy that it "
            "reports; use nash_conv."
        )
    vector = solver.current_vector()
    return exact.nash_conv(solver.tree, vector, threads=_threads(solver))


def _threads(solver: Any) -> int | None:
    """How many threads a solver may have; a linear program has one."""
    return getattr(solver, "threads", 1)


def head_to_head(opponent: Any = "uniform") -> Metric:
    """A metric: what the average policy wins against an opponent, on average.

    The solver's policy takes each seat in turn while the opponent's policy plays all
    the others. The metric is the mean over the seats of its expected return, so in a
    zero-sum game it is 0 against itself.

    Args:
        opponent: "uniform", a policy (see `nash_conv`), or the path of a file that
            `load_policy` reads.
    """
    if isinstance(opponent, str | os.PathLike) and opponent != "uniform":
        opponent = load_policy(opponent)
    return HeadToHead(opponent)


class HeadToHead:
    """What `head_to_head` returns.

    Attributes:
        opponent: the opponent's policy, or "uniform".
    """

    __name__ = "head_to_head"

    def __init__(self, opponent: Any) -> None:
        self.opponent = opponent

    def __call__(self, solver: Any) -> float:
        """The mean over seats of what the solver's average policy wins."""
        tree = complete_table(solver.tree, None, store="auto")
        own = policy_vector(tree, solver.average_policy())
        if isinstance(self.opponent, str):
            other = uniform_vector(tree)
        else:
            other = policy_vector(tree, self.opponent)
        returns = []
        for seat in range(tree.num_players):
            seats = [other] * tree.num_players
            seats[seat] = own
            found = exact.expected_returns(tree, seats, threads=_threads(solver))
            returns.append(found[seat])
        return float(np.mean(returns))


METRICS: dict[str, Metric] = {
    "nash_conv": nash_conv,
    "last_iterate": last_iterate,
    "head_to_head": head_to_head(),
}
"""The metrics that have names; `head_to_head` is against the uniform policy."""

Metrics = Given | None
"""What users may give, see `solving.running.Given`."""


def named_metrics(metrics: Metrics, default: Iterable[str] = ()) -> dict[str, Metric]:
    """Label -> metric for what a user has given; None stands for the default names.

    Raises:
        ValueError: see `solving.running.labelled`.
    """
    return labelled(tuple(default) if metrics is None else metrics, METRICS)


# --- the value of a two-player zero-sum game, as far as a policy shows it -------------


_TOLERANCE = 1e-9


class GameValue(NamedTuple):
    """Bounds on the value of a two-player constant-sum game to player 0.

    The value is what player 0 gets in every equilibrium. These bounds are exact but for
    rounding, no estimates: high - low is NashConv of the policy that they come from.

    Attributes:
        low: what player 0's policy gets against a best response, and so guarantees.
        high: what a best response gets against player 1's policy.
    """

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The middle of the bounds."""
        return (self.low + self.high) / 2

    @property
    def half_width(self) -> float:
        """How far from the middle the value may be: half of NashConv."""
        return max(self.high - self.low, 0.0) / 2

    def __str__(self) -> str:
        return plus_minus(self.middle, self.half_width)

    @never_raises
    def __repr__(self) -> str:
        return line(self, f"{self} for player 0")


def game_value(
    game: Game,
    policy: Any,
    *,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    twin: bool | None = None,
) -> GameValue:
    """Bounds on the value of a two-player zero-sum game, from any policy of both.

    The better the policy, the closer the bounds: in an equilibrium they are equal.
    Arguments and errors are those of `expected_returns`, and:

    Raises:
        ValueError: the game is not a two-player constant-sum game, so that it need not
            have a value.
    """
    value = known_value(game, policy, max_memory, threads, twin)
    if value is None:
        source = game.source if isinstance(game, InfosetTable) else game
        raise ValueError(
            f"{brief(source)} is not a two-player constant-sum game, for which alone a "
            "value is defined; use expected_returns."
        )
    return value


def known_value(
    game: Game,
    policy: Any,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    twin: bool | None = None,
) -> GameValue | None:
    """As `game_value`, but None for a game that is not a two-player constant-sum game.

    What counts are the payoffs at the ends of the game, not what it declares.
    """
    tree, vector = read_policy(game, policy, max_memory, twin)
    sums = tree.utilities.sum(axis=1)
    most = _TOLERANCE * np.abs(tree.utilities).max(initial=0.0)
    if tree.num_players != 2 or np.ptp(sums) > most:
        return None
    _, best = full_pass(tree, threads).values(vector)
    return GameValue(float(sums[0] - best[1]), float(best[0]))
