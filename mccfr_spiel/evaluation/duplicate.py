"""Duplicate play: each deal is played twice, with the seats swapped.

What the cards are worth is taken away by the second play, so differences between two
players show in far fewer plays than by `sampled_returns`. It needs no tree.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.policy import UniformRandomPolicy

from mccfr_spiel import refusals
from mccfr_spiel.display.lines import brief
from mccfr_spiel.evaluation.sampled import CONFIDENCE, Estimate, estimate_of
from mccfr_spiel.kernels.sampling import plain_draw_action
from mccfr_spiel.policies.bot import PolicyBot
from mccfr_spiel.policies.policy import SequencePolicy, is_one_for_each
from mccfr_spiel.reading.policies import load_policy
from mccfr_spiel.tree.loading import load_game, same_name, turn_based

PASSIVE, ACTIVE = ("call", "check"), ("raise", "bet", "allin", "all-in")
"""What is in the names of moves that stay in the game, and of those that raise."""


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
    source = load_game(game)
    deals = refusals.integer(deals, "deals", 2)  # an interval needs two
    seed = refusals.integer(seed, "seed", 0)
    if source.num_players() != 2:
        raise ValueError(
            f"{brief(source)} has {source.num_players()} players; in duplicate play "
            "two swap seats."
        )
    loaded = turn_based(source)
    bots = [_bots_of(one, source, seed) for one in (first, second)]
    means = np.zeros(deals)
    for deal in range(deals):
        for seat in range(2):
            seats = [bots[(seat + player) % 2][player] for player in range(2)]
            chance = np.random.Generator(np.random.PCG64([seed, deal]))
            means[deal] += _play(loaded, seats, chance)[seat] / 2
    return estimate_of(means, confidence)


def _play(
    game: pyspiel.Game, bots: Sequence[pyspiel.Bot], chance: np.random.Generator
) -> list[float]:
    """Plays once; chance draws one number for each of its moves."""
    state = game.new_initial_state()
    for bot in bots:
        bot.restart()
    while not state.is_terminal():
        player = state.current_player()
        if state.is_chance_node():
            actions, probs = zip(*state.chance_outcomes(), strict=True)
            drawn = plain_draw_action(probs, 0, len(probs), chance.random())
            action = int(actions[drawn])
        else:
            action = bots[player].step(state)
            bots[1 - player].inform_action(state, player, action)
        state.apply_action(action)
    return state.returns()


def _bots_of(given: Any, game: pyspiel.Game, seed: int) -> Sequence[pyspiel.Bot]:
    """A bot for each seat, of whatever `duplicate_returns` takes."""
    if is_one_for_each(given):
        if len(given) != 2 or not all(isinstance(one, pyspiel.Bot) for one in given):
            raise ValueError(f"{given!r} is no list of two bots, one for each seat.")
        return given
    if given == "uniform":
        given = UniformRandomPolicy(game)
    elif isinstance(given, str) and given in ("call", "raise"):
        given = _Always(given)
    elif isinstance(given, str | os.PathLike):
        given = load_policy(given)
    its_game = given.game if isinstance(given, SequencePolicy) else game
    if not same_name(its_game, game):
        raise ValueError(
            f"The policy is for {brief(its_game)}, not for {brief(game)}, which is "
            "played."
        )
    return [PolicyBot(given, seat, seed=seed) for seat in range(2)]


class _Always:
    """A policy of poker that always calls, or always raises, where it can."""

    def __init__(self, word: str) -> None:
        self._wanted = [PASSIVE] if word == "call" else [ACTIVE, PASSIVE]

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """The move with probability 1."""
        player = state.current_player() if player_id is None else player_id
        legal = state.legal_actions(player)
        names = [state.action_to_string(player, action).lower() for action in legal]
        for words in self._wanted:
            for action, name in zip(legal, names, strict=True):
                if any(word in name for word in words):
                    return {action: 1.0}
        raise ValueError(
            f"No move of {names} has a name of poker ({', '.join(PASSIVE + ACTIVE)}); "
            'give a policy in place of "call" or "raise".'
        )
