"""Poker moves."""

import pyspiel

PASSIVE, ACTIVE = ("call", "check"), ("raise", "bet", "allin", "all-in")
"""What is in the names of moves that stay in the game, and of those that raise."""


class SameMove:
    """A policy of poker that always calls, or always raises, where it can."""

    def __init__(self, word: str) -> None:
        self._raises = word == "raise"

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """The move with probability 1."""
        if self._raises:
            for action, name in _names(state).items():
                if any(word in name for word in ACTIVE):
                    return {action: 1.0}
        return {passive_move(state): 1.0}


def _names(state: pyspiel.State) -> dict[int, str]:
    """The names of the moves of the player who acts."""
    player = state.current_player()
    legal = state.legal_actions()
    return {one: state.action_to_string(player, one).lower() for one in legal}


def passive_move(state: pyspiel.State) -> int:
    """The move that checks or calls, by its name. In Kuhn's betting that is Pass, or
    Bet after a Bet.

    Raises:
        ValueError: no move has a name of poker.
    """
    names = _names(state)
    for action, name in names.items():
        if any(word in name for word in PASSIVE):
            return action
    if sorted(names.values()) == ["bet", "pass"]:
        last = state.full_history()[-1]
        is_bet = last.player >= 0 and names.get(last.action) == "bet"
        return next(one for one in names if (names[one] == "bet") == is_bet)
    raise ValueError(
        f"No move of {[*names.values()]} has a name of poker ({', '.join(PASSIVE)}, or "
        "pass and bet), so nobody can tell what it is to call."
    )
