"""Duplicate."""

import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.policy import UniformRandomPolicy

from mccfr_spiel.arenas.infosets import loading
from mccfr_spiel.arenas.rules import description
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
from mccfr_spiel.policies.policy import (
    PolicyBot,
    SequencePolicy,
    is_one_for_each,
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
    """What `first` gets against `second` a play, by duplicate deals.

        ms.evaluation.duplicate_returns(game, policy, "call", deals=5_000)

    Each deal is played twice with the seats swapped, and with the same draws for the
    first, second, ... move of chance. The interval is that of the mean over deals of
    both plays' mean.

    Args:
        game: a game of two players that lists its chance outcomes. Simultaneous moves
            become turns.
        first, second: a policy (see `sampled_returns`); the path of one, as
            `load_policy` takes it; a list of two of OpenSpiel's bots, one for each
            seat; "uniform"; or, in poker, "call" or "raise", which always do that
            where they can.
        deals: how many, at least 2.
        seed: of all draws, at least 0. Bots have their own.
        confidence: as in `sampled_returns`.

    Returns:
        The estimate; its `plays` counts deals.

    Raises:
        ValueError: an argument is out of range; the game has not two players; a policy
            is of another game, or is none.
    """
    source = loading.load_game(game)
    deals = refusals.integer(deals, "deals", 2)  # an interval needs two
    check_confidence(confidence)
    seed = refusals.integer(seed, "seed", 0)
    loaded = loading.turn_based(source)
    bots = [bots_of(one, source, seed) for one in (first, second)]
    declared = description.declared_by(loaded)
    means, chance = np.zeros(deals), ChanceMoves()
    for deal in range(deals):
        for seat in range(2):
            seats = [bots[(seat + player) % 2][player] for player in range(2)]
            for bot in seats:
                bot.restart()
            generator = np.random.Generator(np.random.PCG64([seed, deal]))
            act = functools.partial(_step, seats)
            got = play_once(loaded, declared, chance, generator, act)
            means[deal] += got[seat] / 2
    return estimate_of(means, confidence)


def _step(bots: Sequence[pyspiel.Bot], state: pyspiel.State) -> None:
    """Makes the move of the bot whose turn it is, of which the other one hears."""
    player = state.current_player()
    action = bots[player].step(state)
    bots[1 - player].inform_action(state, player, action)
    state.apply_action(action)


def bots_of(given: Any, game: pyspiel.Game, seed: int) -> Sequence[pyspiel.Bot]:
    """A bot for each seat, of whatever `duplicate_returns` takes."""
    if game.num_players() != 2:
        raise ValueError(
            f"{brief(game)} has {game.num_players()} players; in duplicate play two "
            "swap seats."
        )
    given = [given] if isinstance(given, pyspiel.Bot) else given
    if is_one_for_each(given):
        if len(given) != 2 or not all(isinstance(one, pyspiel.Bot) for one in given):
            raise ValueError(f"{given!r} is no list of two bots, one for each seat.")
        return given
    if isinstance(given, str | os.PathLike):
        if given == "uniform":
            given = UniformRandomPolicy(game)
        elif given in ("call", "raise"):
            given = SameMove(str(given))
        elif os.path.exists(given):
            given = load_policy(given)
        else:
            known = "uniform, call and raise"
            raise ValueError(f"{str(given)!r} is no file, and none of {known}.")
    its_game = given.game if isinstance(given, SequencePolicy) else game
    if not loading.same_name(*map(loading.turn_based, (its_game, game))):
        raise ValueError(
            f"The policy is for {brief(its_game)}, not for {brief(game)}, which is "
            "played."
        )
    return [PolicyBot(given, seat, seed=seed) for seat in range(2)]
