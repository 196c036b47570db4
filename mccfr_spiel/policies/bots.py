"""Bots that play a policy in OpenSpiel's match runners."""

from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import counted, line, never_raises, one_line
from mccfr_spiel.kernels.sampling import plain_draw_action
from mccfr_spiel.policies.adapter import PolicyAdapter
from mccfr_spiel.policies.vectors import MOST_OFF


class SeatBot(pyspiel.Bot):
    """Base class of bots that do not observe the moves of other players.

    It implements methods that OpenSpiel's match runners call.

    Attributes:
        player: the index of the player whose moves the bot makes.
    """

    player: int

    def player_id(self) -> int:
        """The index of the player whose moves the bot makes."""
        return self.player

    def provides_policy(self) -> bool:
        """Whether `get_policy` and `step_with_policy` work; always True."""
        return True

    def restart_at(self, state: pyspiel.State) -> None:
        """Begins a new match, as `restart` does. The state is not needed."""
        self.restart()


class PolicyBot(SeatBot):
    """A bot that samples one player's actions from a policy. Call `bot` to make one.

    The bot remembers nothing except its random generator, so it can continue from any
    state of the game.
    """

    def __init__(self, policy: Any, player: int, *, seed: int = 0) -> None:
        """Makes a bot; arguments and errors are those of `bot`."""
        pyspiel.Bot.__init__(self)
        self._adapter = PolicyAdapter(policy)
        game: Any = getattr(self._adapter.policy, "game", None)
        num_players = 2**31  # unknown, because the policy has no game
        if hasattr(game, "num_players"):
            num_players = game.num_players()
        self.player = refusals.player(player, num_players)
        seed = refusals.integer(seed, "seed", 0)
        self._generator = np.random.Generator(np.random.PCG64([seed, self.player]))

    @property
    def policy(self) -> Any:
        """The policy of the bot."""
        return self._adapter.policy

    @never_raises
    def __repr__(self) -> str:
        summary = one_line(str(self.policy), 100)
        if isinstance(self.policy, dict):
            summary = f"a dictionary of {counted(len(self.policy), 'state')}"
        return line(self, f"player {self.player}", summary)

    def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """The (action, probability) pairs of the policy at a state.

        Raises:
            ValueError: the policy has no probabilities for the state, or does not
                return a distribution over the legal actions.
        """
        policy = self._adapter.action_probabilities(state, self.player)
        legal = state.legal_actions(self.player)
        pairs = [(action, float(policy.get(action, 0.0))) for action in legal]
        values = [value for _, value in pairs]
        if legal and not (abs(sum(values) - 1) < MOST_OFF and min(values) >= 0):
            raise ValueError(
                f"The policy of player {self.player} returned {policy} at the state "
                f"{state}, expected a distribution over the legal actions {legal}."
            )
        return pairs

    def step(self, state: pyspiel.State) -> int:
        """Samples an action from the policy."""
        return self.step_with_policy(state)[1]

    def step_with_policy(
        self, state: pyspiel.State
    ) -> tuple[list[tuple[int, float]], int]:
        """Returns the result of `get_policy`, and an action sampled from this policy.

        If moves are simultaneous and the player has no legal action, returns an empty
        list and `pyspiel.INVALID_ACTION`.
        """
        if not state.legal_actions(self.player):
            return [], pyspiel.INVALID_ACTION
        pairs = self.get_policy(state)
        values = [value for _, value in pairs]
        draw = self._generator.random()
        return pairs, pairs[plain_draw_action(values, 0, len(values), draw)][0]


def bot(policy: Any, player: int, *, seed: int = 0) -> PolicyBot:
    """Makes a bot that plays a policy in OpenSpiel's match runners.

        bots = [ms.bot(policy, 0), ms.bot(other, 1)]
        pyspiel.evaluate_bots(game.new_initial_state(), bots, seed=7)

    Args:
        policy: a SequencePolicy, an OpenSpiel policy, or a dictionary information-state
            string -> action -> probability.
        player: the index of the player whose moves the bot makes.
        seed: a nonnegative integer. Seed and player determine the draws of the bot.

    Raises:
        ValueError: an argument is out of range, or `policy` is not a policy.
    """
    return PolicyBot(policy, player, seed=seed)
