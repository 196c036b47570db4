"""Moves of poker, recognized by name, and a policy that repeats the same move."""

import pyspiel

PASSIVE, ACTIVE = ("call", "check"), ("raise", "bet", "allin", "all-in")
"""Words in the names of moves that check or call, and of moves that bet or raise."""


class SameMove:
    """A poker policy that always checks or calls, or bets or raises whenever it can."""

    def __init__(self, word: str) -> None:
        self._raises = word == "raise"

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """A dictionary with the policy's move, which has probability 1."""
        if self._raises:
            for action, name in _names(state).items():
                if any(word in name for word in ACTIVE):
                    return {action: 1.0}
        return {passive_move(state): 1.0}


def _names(state: pyspiel.State) -> dict[int, str]:
    """Action -> name in lower case, for the legal moves of the acting player."""
    player = state.current_player()
    legal = state.legal_actions()
    return {action: state.action_to_string(player, action).lower() for action in legal}


def passive_move(state: pyspiel.State) -> int:
    """The legal move that checks or calls, recognized by its name.

    In Kuhn poker, whose moves are Pass and Bet, it is Bet after a Bet, else Pass.

    Raises:
        ValueError: no legal move has such a name.
    """
    names = _names(state)
    for action, name in names.items():
        if any(word in name for word in PASSIVE):
            return action
    if sorted(names.values()) == ["bet", "pass"]:
        last = state.full_history()[-1]
        is_bet = last.player >= 0 and names.get(last.action) == "bet"
        return next(action for action in names if (names[action] == "bet") == is_bet)
    raise ValueError(
        f"Moves {[*names.values()]} contain no check or call: expected a name with "
        f"{' or '.join(map(repr, PASSIVE))}, or the moves Pass and Bet."
    )
