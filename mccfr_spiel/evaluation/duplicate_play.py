"""`duplicate_returns`: the expected return of one policy against another.

The estimate has a small variance, because each deal is played twice, with the players'
seats swapped. The luck of the cards cancels in the mean of the two plays, so far fewer
plays are needed.
"""

import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.policy import UniformRandomPolicy

from mccfr_spiel.arenas.infosets import identity, loading
from mccfr_spiel.arenas.rules.declarations import declared_by
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import brief
from mccfr_spiel.evaluation.estimates import (
    CONFIDENCE,
    Estimate,
    check_confidence,
    estimate_of,
)
from mccfr_spiel.evaluation.plays import ChanceMoves, play_once
from mccfr_spiel.evaluation.poker_moves import SameMove
from mccfr_spiel.policies.adapter import (
    is_one_for_each,
)
from mccfr_spiel.policies.bots import (
    PolicyBot,
)
from mccfr_spiel.policies.policy import (
    SequencePolicy,
)
from mccfr_spiel.solving.reading import load_policy


def duplicate_returns(
    game: pyspiel.Game | str,
    first: Any,
    second: Any,
    *,
    deals: int = 1_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The expected return of `first` against `second` per play, by duplicate deals.

        ms.evaluation.duplicate_returns(game, policy, "call", deals=5_000)

    Each deal is played twice, with swapped seats. The first chance move of both plays
    uses the same random number, and so on for later chance moves. The value of a deal
    is the mean return of `first` in the two plays. The estimate is the mean of these
    values over all deals, with a confidence interval.

    Args:
        game: a two-player game with explicit chance outcomes. Simultaneous moves are
            converted to turns.
        first, second: a policy (see `sampled_returns`); the path of a policy that
            `load_policy` reads; a list of two OpenSpiel bots, one per seat; "uniform";
            or, in poker, "call" for a player who always checks or calls, or "raise" for
            a player who bets or raises whenever this is legal.
        deals: number of deals, at least 2.
        seed: seed of all draws except those of bots, at least 0.
        confidence: as in `sampled_returns`.

    Returns:
        The estimate. Its field `plays` is the number of deals.

    Raises:
        ValueError: an argument is out of range, the game does not have two players, or
            a policy is invalid or for another game.
    """
    source = loading.load_game(game)
    deals = refusals.integer(deals, "deals", 2)  # an interval needs two values
    check_confidence(confidence)
    seed = refusals.integer(seed, "seed", 0)
    loaded = loading.turn_based(source)
    bots = [bots_of(policy, source, seed) for policy in (first, second)]
    declared = declared_by(loaded)
    means, chance = np.zeros(deals), ChanceMoves()
    for deal in range(deals):
        for seat in range(2):
            seats = [bots[(seat + player) % 2][player] for player in range(2)]
            for bot in seats:
                bot.restart()
            generator = np.random.Generator(np.random.PCG64([seed, deal]))
            act = functools.partial(_step, seats)
            returns = play_once(loaded, declared, chance, generator, act)
            means[deal] += returns[seat] / 2
    return estimate_of(means, confidence)


def _step(bots: Sequence[pyspiel.Bot], state: pyspiel.State) -> None:
    """Applies the move of the acting bot, and informs the other bot of the move."""
    player = state.current_player()
    action = bots[player].step(state)
    bots[1 - player].inform_action(state, player, action)
    state.apply_action(action)


def bots_of(given: Any, game: pyspiel.Game, seed: int) -> Sequence[pyspiel.Bot]:
    """Makes a bot for each seat from an argument of `duplicate_returns`.

    Args:
        given: the argument `first` or `second`. A single bot is returned unchanged for
            both seats.
        game: the game.
        seed: seed of the bots that are made from a policy.

    Raises:
        ValueError: `given` is invalid, or the game does not have two players.
    """
    if game.num_players() != 2:
        raise ValueError(
            f"{brief(game)} has {game.num_players()} players: duplicate play needs "
            "two, who swap seats. Use sampled_returns instead."
        )
    given = [given] if isinstance(given, pyspiel.Bot) else given
    if is_one_for_each(given):
        if len(given) != 2 or not all(isinstance(bot, pyspiel.Bot) for bot in given):
            raise ValueError(f"{given!r}: expected a list of two bots, one per seat.")
        return given
    if isinstance(given, str | os.PathLike):
        if given == "uniform":
            given = UniformRandomPolicy(game)
        elif given in ("call", "raise"):
            given = SameMove(str(given))
        elif os.path.exists(given):
            given = load_policy(given)
        else:
            raise ValueError(
                f"{str(given)!r} is no file: expected a path, 'uniform', 'call' or "
                "'raise'."
            )
    its_game = given.game if isinstance(given, SequencePolicy) else game
    if not identity.same_name(*map(loading.turn_based, (its_game, game))):
        raise ValueError(
            f"The policy is for {brief(its_game)}, not for the game {brief(game)}."
        )
    return [PolicyBot(given, seat, seed=seed) for seat in range(2)]
