"""The value of a two-player zero-sum game, as far as a policy shows it."""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.display.lines import brief, line, never_raises, plus_minus
from mccfr_spiel.evaluation.exact import Game, read_policy
from mccfr_spiel.limits.budget import MaxMemory
from mccfr_spiel.tree.full_pass import full_pass
from mccfr_spiel.tree.game_tree import GameTree

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
    value = known_value(game, policy, max_memory=max_memory, threads=threads, twin=twin)
    if value is None:
        source = game.source if isinstance(game, GameTree) else game
        raise ValueError(
            f"{brief(source)} is not a two-player constant-sum game, for which alone a "
            "value is defined; use expected_returns."
        )
    return value


def known_value(
    game: Game,
    policy: Any,
    *,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    twin: bool | None = None,
) -> GameValue | None:
    """As `game_value`, but None for a game that is not a two-player constant-sum game.

    What counts are the payoffs at the ends of the game, not what it declares.
    """
    tree, vector = read_policy(game, policy, max_memory, threads, twin)
    sums = tree.utilities.sum(axis=1)
    scale = max(1.0, float(np.abs(tree.utilities).max(initial=0.0)))
    if tree.num_players != 2 or np.ptp(sums) > _TOLERANCE * scale:
        return None
    _, best = full_pass(tree, threads).values(vector)
    return GameValue(float(sums[0] - best[1]), float(best[0]))
