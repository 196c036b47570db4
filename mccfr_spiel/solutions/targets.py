"""Targets and limits of `ms.solve`."""

import math
import sys
from collections.abc import Callable
from typing import NamedTuple

import pyspiel

from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import brief
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.kernels.compile_time import working_clock

DEFAULT_RELATIVE = 1e-3
"""Target without arguments: this share of the range of payoffs."""


def payoff_range(game: pyspiel.Game) -> float:
    """Largest minus smallest payoff that the game declares for any player."""
    return float(game.max_utility() - game.min_utility())


def target_nash_conv(
    game: pyspiel.Game,
    nash_conv: float | None,
    exploitability: float | None,
    relative: float | None,
) -> float:
    """The target as a NashConv in the game's payoffs.

    Args:
        game: the game to solve.
        nash_conv: target NashConv.
        exploitability: target NashConv divided by the number of players.
        relative: target NashConv divided by the range of payoffs.

    Raises:
        ValueError: more than one target is given, a target is not positive and finite,
            or `exploitability` is given for a game that is not a two-player
            constant-sum game.
    """
    given = {
        "nash_conv": nash_conv,
        "exploitability": exploitability,
        "relative": relative,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) > 1:
        raise ValueError(f"Expected one target, got {' and '.join(given)}.")
    name, value = next(iter(given.items()), ("relative", DEFAULT_RELATIVE))
    target = refusals.number(value, name, 0, sys.float_info.max, open_low=True)
    if name == "relative":
        return target * payoff_range(game)
    if name == "exploitability":
        if not is_two_player_constant_sum(game):
            raise ValueError(
                f"exploitability={value!r}: {brief(game)} is not a two-player "
                "constant-sum game, for which alone exploitability is defined. Use "
                "nash_conv instead."
            )
        return target * game.num_players()
    return target


class Deadline(NamedTuple):
    """A limit on time without compilation, and a way to stop earlier.

    Attributes:
        end: time of `working_clock` at which the search stops; inf without a limit.
        is_stopped: function that returns whether to stop now.
        began: time of `working_clock` at the start of the search.
    """

    end: float
    is_stopped: Callable[[], bool]
    began: float

    @classmethod
    def after(
        cls, seconds: float | None, is_stopped: Callable[[], bool] = lambda: False
    ) -> "Deadline":
        """The deadline `seconds` from now; None sets no limit."""
        if seconds is None:
            seconds = math.inf
        limit = refusals.number(seconds, "seconds", 0, math.inf, open_low=True)
        began = working_clock()
        return cls(began + limit, is_stopped, began)

    def part(self, share: float, least: float = 0.0) -> "Deadline":
        """The deadline after a share of the remaining time, in seconds `least`."""
        return self._replace(end=working_clock() + max(share * self.left, least))

    @property
    def reason(self) -> str:
        """Why the search ends now; "" if it may continue."""
        if self.is_stopped():
            return "the search was interrupted"
        return "the time limit ended the search" if self.left <= 0 else ""

    @property
    def left(self) -> float:
        """Remaining seconds, possibly negative."""
        return self.end - working_clock()

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return working_clock() - self.began

    @property
    def is_over(self) -> bool:
        """Whether the search must end."""
        return bool(self.reason)
