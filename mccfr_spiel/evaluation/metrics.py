"""Metrics: functions that measure a solver while `ms.compare` or `Solver.run` runs it.

A metric is a function of a solver that returns a number. The metrics of this module and
your own functions can be combined:

    def values_of_player_0(solver):
        return ms.expected_returns(solver.tree, solver.average_vector())[0]

    solver.run(10_000, metrics=[ms.metrics.nash_conv, values_of_player_0])

`GameValue` bounds the value of a two-player zero-sum game.
"""

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.evaluating import complete_table, full_pass, read_policy
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.policy_vectors import policy_vector
from mccfr_spiel.arenas.request import Game
from mccfr_spiel.common.budget import MaxMemory
from mccfr_spiel.common.display import brief, line, never_raises, plus_minus
from mccfr_spiel.evaluation import exact
from mccfr_spiel.evaluation.conditional_gaps import ConditionalGaps, conditional_gaps
from mccfr_spiel.evaluation.gap_metrics import cce_gap, external_regret
from mccfr_spiel.policies.vectors import uniform_vector
from mccfr_spiel.solving.history import Given, Metric, labelled, own_nash_conv
from mccfr_spiel.solving.reading import load_policy


def nash_conv(solver: Any) -> float:
    """NashConv of the average policy."""
    own = own_nash_conv(solver)
    if own is not None:
        return own
    vector = solver.average_vector()
    return exact.nash_conv(solver.tree, vector, threads=_threads(solver))


def last_iterate(solver: Any) -> float:
    """NashConv of the current policy (the last iterate).

    Raises:
        ValueError: the solver has no current policy, for example because it solves a
            linear program.
    """
    if not hasattr(solver, "current_vector"):
        raise ValueError(
            f"{type(solver).__name__} has no current policy: use nash_conv instead of "
            "last_iterate."
        )
    own = own_nash_conv(solver, is_current=True)
    if own is not None:
        return own
    vector = solver.current_vector()
    return exact.nash_conv(solver.tree, vector, threads=_threads(solver))


def trembling_nash_conv(solver: Any) -> float:
    """NashConv of the average policy within the trembles of the solver's algorithm.

    Without trembles it is NashConv.
    """
    algorithm = getattr(solver, "algorithm", None)
    tremble = 0.0 if algorithm is None else algorithm.minimizer.tremble
    vector, threads = solver.average_vector(), _threads(solver)
    return exact.nash_conv(solver.tree, vector, threads=threads, tremble=tremble)


def conditional_gap(solver: Any, tremble: float = 0.0) -> float:
    """Largest conditional gap of the average policy, see `conditional_gaps`.

        solver.run(1_000, metrics={
            "gap": ms.metrics.conditional_gap,
            "gap within": lambda solver: ms.metrics.conditional_gap(solver, 0.01),
        })

    Args:
        solver: the solver.
        tremble: smallest probability of an action.
    """
    return _gaps(solver, tremble).max


def mean_conditional_gap(solver: Any, tremble: float = 0.0) -> float:
    """Mean conditional gap of the average policy over the infosets with beliefs.

    Args:
        solver: the solver.
        tremble: smallest probability of an action.
    """
    return _gaps(solver, tremble).mean


def _gaps(solver: Any, tremble: float) -> ConditionalGaps:
    vector = solver.average_vector()
    return conditional_gaps(solver.tree, vector, tremble, threads=_threads(solver))


def _threads(solver: Any) -> int | None:
    """The number of threads of a solver; 1 for offline methods."""
    return getattr(solver, "threads", 1)


def head_to_head(opponent: Any = "uniform") -> Metric:
    """Returns a metric: the average policy's expected return against an opponent.

    For each player, one game is evaluated in which this player follows the average
    policy, and all other players follow the opponent's policy. The metric is the mean
    of the player's return over these games. In a zero-sum game it is 0 if the opponent
    has the same policy.

    Args:
        opponent: "uniform", a policy (see `nash_conv`), or the path of a file that
            `load_policy` reads.
    """
    if isinstance(opponent, str | os.PathLike) and opponent != "uniform":
        opponent = load_policy(opponent)
    return HeadToHead(opponent)


class HeadToHead:
    """The metric that `head_to_head` returns.

    Attributes:
        opponent: the opponent's policy, or "uniform".
    """

    __name__ = "head_to_head"

    def __init__(self, opponent: Any) -> None:
        self.opponent = opponent

    def __call__(self, solver: Any) -> float:
        """The value of the metric for a solver, see `head_to_head`."""
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
            each = exact.expected_returns(tree, seats, threads=_threads(solver))
            returns.append(each[seat])
        return float(np.mean(returns))


METRICS: dict[str, Metric] = {
    "nash_conv": nash_conv,
    "last_iterate": last_iterate,
    "trembling_nash_conv": trembling_nash_conv,
    "conditional_gap": conditional_gap,
    "mean_conditional_gap": mean_conditional_gap,
    "head_to_head": head_to_head(),
    "cce_gap": cce_gap,
    "external_regret": external_regret,
}
"""Name -> metric. The opponent of `head_to_head` is the uniform policy."""

Metrics = Given | None
"""The type of an argument `metrics`, see `solving.history.Given`."""


def named_metrics(metrics: Metrics, default: Iterable[str] = ()) -> dict[str, Metric]:
    """Converts an argument `metrics` to label -> metric.

    Args:
        metrics: the argument; None for `default`.
        default: names of metrics.

    Raises:
        ValueError: see `solving.history.labelled`.
    """
    return labelled(tuple(default) if metrics is None else metrics, METRICS)


_TOLERANCE = 1e-9
"""The sum of the players' payoffs counts as constant if it varies by at most this
factor times the largest payoff."""


class GameValue(NamedTuple):
    """Bounds on the value of a two-player constant-sum game to player 0.

    The value is player 0's expected return in every equilibrium. It is between `low`
    and `high` up to rounding. The difference `high - low` is the NashConv of the policy
    from which the bounds were computed.

    Attributes:
        low: return that player 0's policy guarantees, that is, its return against a
            best response of player 1.
        high: player 0's return from a best response against player 1's policy.
    """

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The middle of the bounds."""
        return (self.low + self.high) / 2

    @property
    def half_width(self) -> float:
        """The largest possible distance of the value from the middle of the bounds.

        This is half of the policy's NashConv.
        """
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
    """Bounds on the value of a two-player zero-sum game, from a policy of both players.

    The bounds are closer for better policies, and equal for an equilibrium. Arguments
    are those of `expected_returns`.

    Raises:
        ValueError: the payoffs do not have a constant sum, or there are not two
            players; or see `expected_returns`.
    """
    value = known_value(game, policy, max_memory, threads, twin)
    if value is None:
        source = game.source if isinstance(game, InfosetTable) else game
        raise ValueError(
            f"game_value needs a two-player constant-sum game, and {brief(source)} is "
            "not one: use expected_returns instead."
        )
    return value


def known_value(
    game: Game,
    policy: Any,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    twin: bool | None = None,
) -> GameValue | None:
    """Returns `game_value`, or None if the game is not a two-player constant-sum game.

    Whether the sum is constant is computed from the payoffs of all leaves. The type
    that the game declares is ignored.
    """
    tree, vector = read_policy(game, policy, max_memory, twin)
    sums = tree.utilities.sum(axis=1)
    tolerance = _TOLERANCE * np.abs(tree.utilities).max(initial=0.0)
    if tree.num_players != 2 or np.ptp(sums) > tolerance:
        return None
    _, best = full_pass(tree, threads).values(vector)
    return GameValue(float(sums[0] - best[1]), float(best[0]))
